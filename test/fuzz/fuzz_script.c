/* SPDX-License-Identifier: GPL-2.0-only */
/* Packet scripts: any text is read or refused, and what is read runs to its end. */
#include <stdint.h>
#include <stdio.h>

#include "../../helper/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (size > 512)
        return 0;
    (void)script_run_text("fuzz", (const char *)data, size, NULL, nowhere);
    return 0;
}
