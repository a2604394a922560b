/* SPDX-License-Identifier: GPL-2.0-only */
/* The debug mode in which every hop goes through bytes: nothing may cross a link that is not on the wire. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wire/codec.h"
#include "fabric_internal.h"

static void refuse(const struct pkt *p, const char *why)
{
    fprintf(stderr, "rnicsim: packet %08x to %08x, kind %d, %u B, does not survive its bytes: %s\n", p->src, p->dst, p->kind, p->frame_len, why);
    abort();
}

struct pkt *bytes_hop(struct fabric *f, struct pkt *p)
{
    if (p->kind == PKT_RAW)
        return p; /* has no wire format */
    uint8_t *frame = malloc(WIRE_FRAME_MAX);
    struct pkt *q = fabric_pkt_new(f);
    if (!frame)
        refuse(p, "out of memory");
    size_t len = wire_encode(p, NULL, frame, WIRE_FRAME_MAX);
    if (len + 4 != p->frame_len)
        refuse(p, "its bytes are not as many as frame_len says");
    enum wire_status st = wire_decode(frame, len, q, NULL);
    free(frame);
    if (st != WIRE_OK)
        refuse(p, wire_status_name(st));
    if (!pkt_equal(p, q))
        refuse(p, "a field differs");
    if (q->frame_len != p->frame_len)
        refuse(p, "frame_len differs");
    if (p->kind != PKT_PFC) {
        q->flow_hash = pkt_flow_hash(q->src, q->dst, p->kind == PKT_TCP ? 6 : 17, q->sport, q->dport);
        if (q->flow_hash != p->flow_hash)
            refuse(p, "flow_hash is not of its addresses and ports");
    }
    fabric_pkt_free(f, p);
    return q;
}
