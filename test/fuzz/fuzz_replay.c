/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures of anything fed to our endpoints in either side's place. */
#include "../../helper/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *none = fopen("/dev/null", "w");
    if (!none)
        return 0;
    (void)replay_bytes("fuzz.pcap", data, size, REPLAY_BOTH, none, none);
    fclose(none);
    return 0;
}
