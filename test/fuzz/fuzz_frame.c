/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames: whatever decodes without complaint encodes back to the same packet. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/wire/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pkt p, q;
    struct wire_l3 l3;
    memset(&p, 0, sizeof p);
    memset(&q, 0, sizeof q);
    if (size > 16384)
        return 0;
    enum wire_status st = wire_decode(data, size, &p, &l3);
    if (st == WIRE_OK && p.kind != PKT_RAW) {
        uint8_t *out = malloc(WIRE_FRAME_MAX);
        size_t n = wire_encode(&p, &l3, out, WIRE_FRAME_MAX);
        if (n && wire_decode(out, n, &q, NULL) == WIRE_OK)
            assert(pkt_equal(&p, &q));
        pkt_release_payload(&q);
        free(out);
    }
    pkt_release_payload(&p);
    return 0;
}
