/* SPDX-License-Identifier: GPL-2.0-only */
/* MPA start-up frames, FPDUs with and without CRC and markers, DDP headers, Terminates. The first byte picks. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/wire/iwarp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint8_t pick = data[0], out[1024];
    data++;
    size--;
    switch (pick & 3) {
    case 0: {
        struct mpa_start m;
        size_t used = 0;
        if (mpa_start_decode(data, size, &m, &used) == MPA_START_OK)
            assert(used <= size && used >= MPA_START_BYTES && used <= MPA_START_BYTES + MPA_PRIVATE_MAX);
        break;
    }
    case 1: {
        struct mpa_fpdu f;
        uint8_t *ulpdu = malloc(65536);
        if (mpa_fpdu_check(data, size, pick & 4, pick & 8, pick >> 4, &f, ulpdu) == MPA_FPDU_OK)
            assert(f.wire_len <= size && f.ulpdu_len <= f.wire_len);
        free(ulpdu);
        break;
    }
    case 2: {
        struct ddp_hdr h, again;
        if (ddp_hdr_decode(data, size, &h)) {
            size_t n = ddp_hdr_encode(&h, out);
            assert(n == ddp_hdr_bytes(&h) && ddp_hdr_decode(out, n, &again));
        }
        break;
    }
    default: {
        struct rdmap_terminate t;
        if (rdmap_terminate_decode(data, size, &t))
            assert(rdmap_terminate_encode(&t, out) <= sizeof out);
    }
    }
    return 0;
}
