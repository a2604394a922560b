/* SPDX-License-Identifier: GPL-2.0-only */
#include "bytes.h"
#include "frame.h"
#include "roce_opcode.h"

#include <string.h>

const char *wire_status_name(enum wire_status s)
{
    static const char *const names[WIRE_STATUS_COUNT] = {
        [WIRE_OK] = "ok", [WIRE_TRUNCATED] = "truncated", [WIRE_UNKNOWN_ETHERTYPE] = "unknown Ethertype",
        [WIRE_UNKNOWN_PROTOCOL] = "unknown protocol", [WIRE_BAD_IP_HEADER] = "bad IP header",
        [WIRE_BAD_IP_CHECKSUM] = "bad IP checksum", [WIRE_FRAGMENT] = "IP fragment", [WIRE_BAD_UDP_LENGTH] = "bad UDP length",
        [WIRE_BAD_UDP_CHECKSUM] = "bad UDP checksum", [WIRE_BAD_TCP_HEADER] = "bad TCP header",
        [WIRE_BAD_TCP_CHECKSUM] = "bad TCP checksum", [WIRE_BAD_TCP_OPTION] = "bad TCP option",
        [WIRE_BAD_OPCODE] = "undefined RoCE opcode", [WIRE_BAD_PAD] = "bad RoCE pad", [WIRE_BAD_ICRC] = "bad ICRC",
        [WIRE_BAD_PFC] = "bad PFC frame",
    };
    return (unsigned)s < WIRE_STATUS_COUNT ? names[s] : "unknown status";
}

/* One frame being decoded. */
struct decoder {
    struct pkt     *p;
    struct wire_l3 *l3;
    const uint8_t  *ip;         /* IP header */
    size_t          head_len;   /* its length, or that of a MAC control frame's body */
    const uint8_t  *l4;
    size_t          l4_len;
    uint8_t         proto;
    enum wire_status fault;     /* the first that did not stop the decoding */
};

static void note(struct decoder *d, enum wire_status fault)
{
    if (d->fault == WIRE_OK)
        d->fault = fault;
}

static void take_payload(struct pkt *p, const uint8_t *b, size_t len)
{
    if (len <= PKT_LITERAL_MAX)
        (void)pkt_add_literal(p, b, (uint32_t)len);
    else
        (void)pkt_add_bytes(p, b, (uint32_t)len);
}

static enum wire_status decode_pfc(struct decoder *d, const uint8_t *frame, const uint8_t *b, size_t len)
{
    static const uint8_t pause_group[6] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
    struct pkt *p = d->p;
    if (len < FRAME_PAUSE_BYTES)
        return WIRE_TRUNCATED;
    uint16_t opcode = wire_get16(b);
    if (opcode != FRAME_PFC_OPCODE && opcode != FRAME_PAUSE_OPCODE)
        return WIRE_UNKNOWN_PROTOCOL;
    d->head_len = opcode == FRAME_PFC_OPCODE ? FRAME_PFC_BYTES : FRAME_PAUSE_BYTES;
    if (len < d->head_len)
        return WIRE_TRUNCATED;
    p->kind = PKT_PFC;
    p->pfc.link_wide = opcode == FRAME_PAUSE_OPCODE;
    if (p->pfc.link_wide) {
        p->pfc.quanta[0] = wire_get16(b + 2);
    } else {
        p->pfc.class_vector = wire_get16(b + 2);
        for (unsigned i = 0; i < 8; i++)
            p->pfc.quanta[i] = wire_get16(b + 4 + 2 * i);
    }
    if (frame[6] == 2 && !frame[7] && !frame[8])
        p->src = pkt_addr_of_node(wire_get24(frame + 9));
    if (memcmp(frame, pause_group, 6) || p->pfc.class_vector >> 8 || p->flags & PKT_F_VLAN)
        note(d, WIRE_BAD_PFC);
    return d->fault;
}

static void get_roce_headers(struct pkt_roce *r, const uint8_t *b)
{
    unsigned f = wire_roce_op[b[0]].flags;
    r->opcode = b[0];
    r->se = b[1] >> 7;
    r->m = b[1] >> 6 & 1;
    r->pad = b[1] >> 4 & 3;
    r->tver = b[1] & 15;
    r->pkey = wire_get16(b + 2);
    r->fecn = b[4] >> 7;
    r->becn = b[4] >> 6 & 1;
    r->resv6 = b[4] & 0x3f;
    r->dqpn = wire_get24(b + 5);
    r->ack_req = b[8] >> 7;
    r->resv8a = b[8] & 0x7f;
    r->psn = wire_get24(b + 9);
    b += ROCE_BTH_BYTES;
    if (f & ROCE_OP_DETH) {
        r->x.deth.qkey = wire_get32(b);
        r->resv_deth = b[4];
        r->x.deth.sqpn = wire_get24(b + 5);
        b += ROCE_DETH_BYTES;
    }
    if (f & ROCE_OP_RETH) {
        r->x.reth.va = wire_get64(b);
        r->x.reth.rkey = wire_get32(b + 8);
        r->x.reth.len = wire_get32(b + 12);
        b += ROCE_RETH_BYTES;
    }
    if (f & ROCE_OP_ATOMICETH) {
        r->x.atomic.va = wire_get64(b);
        r->x.atomic.rkey = wire_get32(b + 8);
        r->x.atomic.swap_add = wire_get64(b + 12);
        r->x.atomic.compare = wire_get64(b + 20);
        b += ROCE_ATOMICETH_BYTES;
    }
    if (f & ROCE_OP_AETH) {
        r->syndrome = b[0];
        r->msn = wire_get24(b + 1);
        b += ROCE_AETH_BYTES;
    }
    if (f & ROCE_OP_ATOMICACK) {
        r->x.atomic_ack.orig = wire_get64(b);
        b += ROCE_ATOMICACK_BYTES;
    }
    if (f & (ROCE_OP_IMM | ROCE_OP_IETH)) {
        r->imm_or_rkey = wire_get32(b);
        b += ROCE_IMM_BYTES;
    }
    if (f & ROCE_OP_IRN_SN) {
        *(f & ROCE_OP_ATOMICETH ? &r->x.atomic.irn_sn : &r->x.reth.irn_sn) = wire_get32(b);
        b += ROCE_IRN_SN_BYTES;
    }
    if (f & ROCE_OP_IRN_OFFSET) {
        r->x.reth.irn_offset = wire_get32(b);
        b += ROCE_IRN_OFFSET_BYTES;
    }
    if (f & ROCE_OP_IRN_SACK)
        r->x.irn_sack.psn = wire_get24(b + 1);
}

static void get_telemetry(struct pkt *p, const uint8_t *b)
{
    uint16_t head = wire_get16(b);
    pkt_add_telemetry(p);
    p->telemetry.nhops = (uint8_t)(head >> 12);
    p->telemetry.path_id = head & 0xfff;
    for (unsigned i = 0; i < PKT_INT_HOPS; i++)
        p->telemetry.hop[i] = wire_get64(b + 2 + 8 * i);
}

static enum wire_status decode_roce(struct decoder *d)
{
    struct pkt *p = d->p;
    size_t telemetry = p->dport == WIRE_ROCE_INT_PORT ? PKT_INT_BYTES : 0;
    const uint8_t *bth = d->l4 + FRAME_UDP_BYTES + telemetry;
    if (d->l4_len < FRAME_UDP_BYTES + telemetry + ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
        return WIRE_BAD_UDP_LENGTH;
    size_t len = d->l4_len - FRAME_UDP_BYTES - telemetry - ROCE_ICRC_BYTES, covered = d->head_len + FRAME_UDP_BYTES + telemetry + len; /* len: BTH to pad */
    if ((telemetry ? wire_icrc_telemetry(d->ip, covered) : wire_icrc(d->ip, covered)) != wire_get32le(bth + len))
        note(d, WIRE_BAD_ICRC);
    const struct wire_roce_op *op = &wire_roce_op[bth[0]];
    if (!op->name) {
        note(d, WIRE_BAD_OPCODE);
        return d->fault;
    }
    if (len < op->header_bytes) {
        note(d, WIRE_BAD_UDP_LENGTH);
        return d->fault;
    }
    p->kind = PKT_ROCE;
    if (telemetry)
        get_telemetry(p, d->l4 + FRAME_UDP_BYTES);
    get_roce_headers(&p->roce, bth);
    size_t body = len - op->header_bytes;
    if (!(op->flags & ROCE_OP_PAYLOAD) && body)
        note(d, WIRE_BAD_UDP_LENGTH);
    if (body & 3 || p->roce.pad > body) {
        note(d, WIRE_BAD_PAD);
        return d->fault;
    }
    take_payload(p, bth + op->header_bytes, body - p->roce.pad);
    if (d->l3)
        memcpy(d->l3->roce_pad, bth + len - p->roce.pad, p->roce.pad);
    return d->fault;
}

static enum wire_status decode_udp(struct decoder *d)
{
    struct pkt *p = d->p;
    if (d->l4_len < FRAME_UDP_BYTES || wire_get16(d->l4 + 4) != d->l4_len)
        return WIRE_BAD_UDP_LENGTH;
    p->sport = wire_get16(d->l4);
    p->dport = wire_get16(d->l4 + 2);
    uint16_t sum = wire_get16(d->l4 + 6);
    if (d->l3)
        d->l3->udp_checksum = sum;
    if (sum && frame_l4_checksum(d->ip, p->flags & PKT_F_IPV6, FRAME_PROTO_UDP, d->l4, d->l4_len))
        note(d, WIRE_BAD_UDP_CHECKSUM);
    if (p->dport != WIRE_ROCE_PORT && p->dport != WIRE_ROCE_INT_PORT) {
        note(d, WIRE_UNKNOWN_PROTOCOL);
        return d->fault;
    }
    return decode_roce(d);
}

/* One option of kind b[0], len bytes in all; false if its length is none that it can have. */
static bool take_option(struct pkt_tcp *t, const uint8_t *b, unsigned len)
{
    switch (b[0]) {
    case 2:
        if (len != 4)
            return false;
        t->opt |= TCP_OPT_MSS;
        t->mss = wire_get16(b + 2);
        return true;
    case 3:
        if (len != 3)
            return false;
        t->opt |= TCP_OPT_WSCALE;
        t->wscale = b[2];
        return true;
    case 4:
        t->opt |= TCP_OPT_SACK_PERM;
        return len == 2;
    case 5:
        if (len < 10 || (len - 2) % 8)
            return false;
        t->opt |= TCP_OPT_SACK;
        t->nsack = (uint8_t)((len - 2) / 8);
        for (unsigned i = 0; i < t->nsack; i++) {
            t->sack[i].from = wire_get32(b + 2 + 8 * i);
            t->sack[i].to = wire_get32(b + 6 + 8 * i);
        }
        return true;
    case 8:
        if (len != 10)
            return false;
        t->opt |= TCP_OPT_TS;
        t->ts_val = wire_get32(b + 2);
        t->ts_ecr = wire_get32(b + 6);
        return true;
    default:
        return true;
    }
}

static bool get_options(struct pkt_tcp *t, const uint8_t *b, size_t len)
{
    for (size_t at = 0; at < len && b[at] != 0;) {
        if (b[at] == 1) {
            at++;
            continue;
        }
        if (at + 2 > len || b[at + 1] < 2 || at + b[at + 1] > len)
            return false;
        if (!take_option(t, b + at, b[at + 1]))
            return false;
        at += b[at + 1];
    }
    return true;
}

static enum wire_status decode_tcp(struct decoder *d)
{
    struct pkt *p = d->p;
    struct pkt_tcp *t = &p->tcp;
    const uint8_t *b = d->l4;
    size_t head = d->l4_len < FRAME_TCP_BYTES ? 0 : (size_t)(b[12] >> 4) * 4;
    if (head < FRAME_TCP_BYTES || head > d->l4_len)
        return WIRE_BAD_TCP_HEADER;
    p->kind = PKT_TCP;
    p->sport = wire_get16(b);
    p->dport = wire_get16(b + 2);
    t->seq = wire_get32(b + 4);
    t->ack = wire_get32(b + 8);
    t->flags = b[13];
    t->window = wire_get16(b + 14);
    t->urgent = wire_get16(b + 18);
    t->opt_len = (uint16_t)(head - FRAME_TCP_BYTES);
    if (frame_l4_checksum(d->ip, p->flags & PKT_F_IPV6, FRAME_PROTO_TCP, b, d->l4_len))
        note(d, WIRE_BAD_TCP_CHECKSUM);
    if (!get_options(t, b + FRAME_TCP_BYTES, t->opt_len))
        note(d, WIRE_BAD_TCP_OPTION);
    uint8_t ours[60];
    if (d->l3) {
        d->l3->tcp_resv = b[12] & 15;
        if (frame_tcp_options(t, ours) != t->opt_len || memcmp(ours, b + FRAME_TCP_BYTES, t->opt_len)) {
            d->l3->tcp_opt_len = (uint8_t)t->opt_len;
            memcpy(d->l3->tcp_opt, b + FRAME_TCP_BYTES, t->opt_len);
        }
    }
    take_payload(p, b + head, d->l4_len - head);
    return d->fault;
}

/* Fills head_len, l4, l4_len, proto from the IP header at d->ip with len bytes of frame left. */
static enum wire_status decode_ipv4(struct decoder *d, size_t len)
{
    const uint8_t *b = d->ip;
    struct pkt *p = d->p;
    if (len < FRAME_IPV4_BYTES)
        return WIRE_TRUNCATED;
    size_t head = (size_t)(b[0] & 15) * 4, total = wire_get16(b + 2);
    if (b[0] >> 4 != 4 || head < FRAME_IPV4_BYTES || total < head)
        return WIRE_BAD_IP_HEADER;
    if (total > len)
        return WIRE_TRUNCATED;
    if (frame_fold(frame_sum(0, b, head)) != 0xffff)
        note(d, WIRE_BAD_IP_CHECKSUM);
    p->dscp = b[1] >> 2;
    p->ecn = b[1] & 3;
    p->ip_id = wire_get16(b + 4);
    p->ttl = b[8];
    p->src = wire_get32(b + 12);
    p->dst = wire_get32(b + 16);
    d->proto = b[9];
    d->head_len = head;
    d->l4 = b + head;
    d->l4_len = total - head;
    if (d->l3) {
        d->l3->have_ip = 1;
        d->l3->ip_df = b[6] >> 6 & 1;
        d->l3->ip_opt_len = (uint8_t)(head - FRAME_IPV4_BYTES);
        memcpy(d->l3->ip_opt, b + FRAME_IPV4_BYTES, d->l3->ip_opt_len);
    }
    return b[6] & 0x80 ? WIRE_BAD_IP_HEADER : wire_get16(b + 6) & 0x3fff ? WIRE_FRAGMENT : WIRE_OK;
}

static enum wire_status decode_ipv6(struct decoder *d, size_t len)
{
    const uint8_t *b = d->ip;
    struct pkt *p = d->p;
    if (len < FRAME_IPV6_BYTES)
        return WIRE_TRUNCATED;
    if (b[0] >> 4 != 6)
        return WIRE_BAD_IP_HEADER;
    if (wire_get16(b + 4) > len - FRAME_IPV6_BYTES)
        return WIRE_TRUNCATED;
    uint32_t word = wire_get32(b);
    p->flags |= PKT_F_IPV6;
    p->dscp = word >> 22 & 0x3f;
    p->ecn = word >> 20 & 3;
    p->ttl = b[7];
    p->src = wire_get32(b + 20);
    p->dst = wire_get32(b + 36);
    d->proto = b[6];
    d->head_len = FRAME_IPV6_BYTES;
    d->l4 = b + FRAME_IPV6_BYTES;
    d->l4_len = wire_get16(b + 4);
    if (d->l3) {
        d->l3->have_ip = 1;
        d->l3->flow_label = word & 0xfffff;
        memcpy(d->l3->src6, b + 8, 16);
        memcpy(d->l3->dst6, b + 24, 16);
    }
    return WIRE_OK;
}

static enum wire_status decode_ip(struct decoder *d, bool ipv6, size_t len)
{
    enum wire_status s = ipv6 ? decode_ipv6(d, len) : decode_ipv4(d, len);
    if (s != WIRE_OK) {
        note(d, s);
        return d->fault;
    }
    switch (d->proto) {
    case FRAME_PROTO_UDP: s = decode_udp(d); break;
    case FRAME_PROTO_TCP: s = decode_tcp(d); break;
    case FRAME_PROTO_EXPERIMENT: take_payload(d->p, d->l4, d->l4_len); s = WIRE_OK; break;
    default: s = WIRE_UNKNOWN_PROTOCOL; break;
    }
    note(d, s);
    d->p->flow_hash = pkt_flow_hash(d->p->src, d->p->dst, d->proto, d->p->sport, d->p->dport);
    return d->fault;
}

/* A packet in VXLAN as ours are: its outer headers say nothing that the inner packet does not. Else false, and nothing is changed. */
static bool decode_vxlan(struct decoder *d, size_t len, enum wire_status *status)
{
    const uint8_t *outer = d->ip;
    uint8_t ours[PKT_VXLAN_BYTES];
    if (len < PKT_VXLAN_BYTES + FRAME_IPV4_BYTES || outer[0] != 0x45 || outer[9] != FRAME_PROTO_UDP || wire_get16(outer + FRAME_IPV4_BYTES + 2) != FRAME_VXLAN_PORT)
        return false;
    struct pkt *p = d->p, before = *p;
    struct decoder inner = { .p = p, .l3 = d->l3, .ip = outer + PKT_VXLAN_BYTES };
    struct wire_l3 l3 = { .vlan_id = 0 };
    if (d->l3)
        l3 = *d->l3;
    *status = decode_ip(&inner, false, len - PKT_VXLAN_BYTES);
    uint8_t ttl = p->ttl, ecn = p->ecn;
    p->ttl = outer[8];
    p->ecn = outer[1] & 3;
    frame_vxlan(p, inner.head_len + inner.l4_len, ours);
    if (ttl == FRAME_INNER_TTL && ecn == frame_inner_ecn(p) && memcmp(ours, outer, sizeof ours) == 0 && p->kind != PKT_PFC) {
        p->flags |= PKT_F_VXLAN;
        *d = inner;
        d->head_len += PKT_VXLAN_BYTES;
        return true;
    }
    pkt_release_payload(p);
    *p = before;
    if (d->l3)
        *d->l3 = l3;
    return false;
}

/* What follows the network packet, unless it is just the zeros that fill a frame. */
static void keep_trailer(struct wire_l3 *l3, const uint8_t *b, size_t len, size_t frame_len)
{
    bool zeros = true;
    for (size_t i = 0; i < len; i++)
        zeros = zeros && !b[i];
    if ((zeros && frame_len == FRAME_BODY_MIN) || len > sizeof l3->trailer)
        return;
    l3->trailer_len = (uint8_t)len;
    memcpy(l3->trailer, b, len);
}

enum wire_status wire_decode(const uint8_t *frame, size_t len, struct pkt *p, struct wire_l3 *l3)
{
    struct decoder d = { .p = p, .l3 = l3 };
    size_t n = FRAME_ETHERNET_BYTES;
    memset(p, 0, sizeof *p);
    p->kind = PKT_RAW;
    if (l3)
        memset(l3, 0, sizeof *l3);
    if (len < n)
        return WIRE_TRUNCATED;
    if (l3) {
        memcpy(l3->dmac, frame, 6);
        memcpy(l3->smac, frame + 6, 6);
    }
    uint16_t type = wire_get16(frame + 12);
    if (type == FRAME_ETHERTYPE_VLAN) {
        if (len < n + FRAME_VLAN_BYTES)
            return WIRE_TRUNCATED;
        p->flags |= PKT_F_VLAN;
        p->pcp = frame[14] >> 5;
        if (l3)
            l3->vlan_id = wire_get16(frame + 14) & 0x1fff;
        type = wire_get16(frame + 16);
        n += FRAME_VLAN_BYTES;
    }
    enum wire_status s;
    if (type == FRAME_ETHERTYPE_MAC_CONTROL) {
        s = decode_pfc(&d, frame, frame + n, len - n);
    } else if (type == FRAME_ETHERTYPE_IPV4 || type == FRAME_ETHERTYPE_IPV6) {
        d.ip = frame + n;
        if (type != FRAME_ETHERTYPE_IPV4 || !decode_vxlan(&d, len - n, &s))
            s = decode_ip(&d, type == FRAME_ETHERTYPE_IPV6, len - n);
    } else {
        return WIRE_UNKNOWN_ETHERTYPE;
    }
    size_t end = n + d.head_len + d.l4_len;
    if (end + FRAME_FCS_BYTES <= UINT16_MAX)
        p->frame_len = (uint16_t)(end + FRAME_FCS_BYTES < PKT_FRAME_MIN_BYTES ? PKT_FRAME_MIN_BYTES : end + FRAME_FCS_BYTES);
    if (l3)
        l3->unpadded = len < FRAME_BODY_MIN;
    if (l3 && end < len)
        keep_trailer(l3, frame + end, len - end, len);
    return s;
}
