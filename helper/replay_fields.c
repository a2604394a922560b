/* SPDX-License-Identifier: GPL-2.0-only */
/* RoCE packets field by field. Not compared, as each end may choose: UDP source port, IP ID, TTL (hop limit), and what the way changes: CE
 * where the sender said ECT. */
#include "replay_internal.h"

#include <stdlib.h>
#include <string.h>

#define ECN_CE 3

struct field { const char *name; uint16_t needs /* enum wire_roce_op_flag, 0: always */, at; uint8_t size; bool hex; };
#define F(name, needs, member, hex) { name, needs, offsetof(struct pkt, member), sizeof(((struct pkt *)0)->member), hex }

static const struct field fields[] = {
    F("opcode", 0, roce.opcode, true), F("DSCP", 0, dscp, false), F("UDP destination port", 0, dport, false),
    F("BTH solicited event", 0, roce.se, false), F("BTH migration state", 0, roce.m, false), F("BTH pad count", 0, roce.pad, false),
    F("BTH transport version", 0, roce.tver, false), F("BTH P_Key", 0, roce.pkey, true), F("BTH FECN", 0, roce.fecn, false),
    F("BTH BECN", 0, roce.becn, false), F("BTH reserved 6 bits", 0, roce.resv6, true), F("BTH destination QP", 0, roce.dqpn, true),
    F("BTH acknowledge request", 0, roce.ack_req, false), F("BTH reserved 7 bits", 0, roce.resv8a, true), F("BTH PSN", 0, roce.psn, false),
    F("RETH virtual address", ROCE_OP_RETH, roce.x.reth.va, true), F("RETH R_Key", ROCE_OP_RETH, roce.x.reth.rkey, true),
    F("RETH DMA length", ROCE_OP_RETH, roce.x.reth.len, false),
    F("AtomicETH virtual address", ROCE_OP_ATOMICETH, roce.x.atomic.va, true), F("AtomicETH R_Key", ROCE_OP_ATOMICETH, roce.x.atomic.rkey, true),
    F("AtomicETH swap or add", ROCE_OP_ATOMICETH, roce.x.atomic.swap_add, true), F("AtomicETH compare", ROCE_OP_ATOMICETH, roce.x.atomic.compare, true),
    F("AETH syndrome", ROCE_OP_AETH, roce.syndrome, true), F("AETH MSN", ROCE_OP_AETH, roce.msn, false),
    F("AtomicAckETH original value", ROCE_OP_ATOMICACK, roce.x.atomic_ack.orig, true),
    F("immediate data", ROCE_OP_IMM, roce.imm_or_rkey, true), F("IETH R_Key", ROCE_OP_IETH, roce.imm_or_rkey, true),
    F("DETH Q_Key", ROCE_OP_DETH, roce.x.deth.qkey, true), F("DETH source QP", ROCE_OP_DETH, roce.x.deth.sqpn, true),
    F("DETH reserved byte", ROCE_OP_DETH, roce.resv_deth, true),
    F("payload length", 0, payload_len, false),
};

static uint64_t value(const struct pkt *p, const struct field *f)
{
    const char *at = (const char *)p + f->at;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (f->size) {
    case 1:  memcpy(&u8, at, 1); return u8;
    case 2:  memcpy(&u16, at, 2); return u16;
    case 4:  memcpy(&u32, at, 4); return u32;
    default: memcpy(&u64, at, 8); return u64;
    }
}

static void compare_addresses(struct replay_case *c, const struct replay_frame *want, const struct pkt *ours, const struct wire_l3 *l3)
{
    struct replay_frame mine = { .p = *ours, .l3 = *l3 };
    for (int source = 0; source < 2; source++) {
        char a[46], b[46];
        if (strcmp(replay_addr(want, source, a), replay_addr(&mine, source, b)))
            replay_differs(c, want->no, source ? "IP source" : "IP destination", a, b);
    }
}

static void compare_payload(struct replay_case *c, const struct replay_frame *want, const struct pkt *ours)
{
    uint32_t len = ours->payload_len;
    uint8_t *a = replay_alloc(malloc(2 * (size_t)len + 1)), *b = a + len;
    pkt_payload_read(&want->p, 0, len, a);
    pkt_payload_read(ours, 0, len, b);
    if (memcmp(a, b, len))
        replay_differs_bytes(c, want->no, "payload", a, b, len);
    free(a);
}

void replay_as_seen(struct replay_case *c, struct pkt *p, const struct wire_l3 *l3, bool ipv6, struct replay_frame *out)
{
    uint8_t *bytes = replay_alloc(malloc(WIRE_FRAME_MAX));
    if (ipv6)
        p->flags |= PKT_F_IPV6;
    pkt_set_len(p);
    memset(out, 0, sizeof *out);
    out->status = wire_decode(bytes, wire_encode(p, l3, bytes, WIRE_FRAME_MAX), &out->p, &out->l3);
    if (out->status != WIRE_OK)
        replay_differs(c, 0, "a packet of ours", "well formed", wire_status_name(out->status));
    pkt_release_payload(p);
    free(bytes);
}

bool replay_roce_compare(struct replay_case *c, const struct replay_frame *want, const struct pkt *ours, const struct wire_l3 *l3)
{
    uint32_t before = c->differ;
    unsigned flags = wire_roce_op[want->p.roce.opcode].flags;
    c->compared++;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const struct field *f = &fields[i];
        if (f->needs && (!(flags & f->needs) || want->p.roce.opcode != ours->roce.opcode))
            continue;
        uint64_t a = value(&want->p, f), b = value(ours, f);
        if (a != b)
            replay_differs_u64(c, want->no, f->name, a, b, f->hex);
    }
    bool marked = want->p.ecn == ECN_CE && ours->ecn != 0;
    if (want->p.ecn != ours->ecn && !marked)
        replay_differs_u64(c, want->no, "ECN", want->p.ecn, ours->ecn, false);
    if (want->l3.ip_df != l3->ip_df && !(want->p.flags & PKT_F_IPV6))
        replay_differs_u64(c, want->no, "IP don't fragment", want->l3.ip_df, l3->ip_df, false);
    if (want->l3.udp_checksum != l3->udp_checksum)
        replay_differs_u64(c, want->no, "UDP checksum", want->l3.udp_checksum, l3->udp_checksum, true);
    if (want->l3.flow_label != l3->flow_label)
        replay_differs_u64(c, want->no, "IPv6 flow label", want->l3.flow_label, l3->flow_label, true);
    compare_addresses(c, want, ours, l3);
    if (want->p.payload_len == ours->payload_len)
        compare_payload(c, want, ours);
    return c->differ == before;
}
