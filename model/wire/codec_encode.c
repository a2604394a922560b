/* SPDX-License-Identifier: GPL-2.0-only */
#include "bytes.h"
#include "frame.h"
#include "roce_opcode.h"

#include <string.h>

uint16_t frame_l4_checksum(const uint8_t *ip, bool ipv6, uint8_t proto, const uint8_t *segment, size_t len)
{
    uint32_t sum = ipv6 ? frame_sum(0, ip + 8, 32) : frame_sum(0, ip + 12, 8);
    sum += proto + (uint32_t)len;
    return (uint16_t)~frame_fold(frame_sum(sum, segment, len));
}

size_t frame_tcp_options(const struct pkt_tcp *t, uint8_t out[60])
{
    uint8_t *b = out;
    enum { NOP = 1, MSS = 2, WSCALE = 3, SACK_PERM = 4, SACK = 5, TS = 8 };
    if (t->opt & TCP_OPT_MSS) {
        *b++ = MSS, *b++ = 4;
        wire_put16(b, t->mss);
        b += 2;
    }
    if (t->opt & TCP_OPT_SACK_PERM) {
        if (!(t->opt & TCP_OPT_TS))
            *b++ = NOP, *b++ = NOP;
        *b++ = SACK_PERM, *b++ = 2;
    } else if (t->opt & TCP_OPT_TS) {
        *b++ = NOP, *b++ = NOP;
    }
    if (t->opt & TCP_OPT_TS) {
        *b++ = TS, *b++ = 10;
        wire_put32(b, t->ts_val);
        wire_put32(b + 4, t->ts_ecr);
        b += 8;
    }
    if (t->opt & TCP_OPT_WSCALE)
        *b++ = NOP, *b++ = WSCALE, *b++ = 3, *b++ = t->wscale;
    if (t->opt & TCP_OPT_SACK && t->nsack) {
        *b++ = NOP, *b++ = NOP, *b++ = SACK, *b++ = (uint8_t)(2 + 8 * t->nsack);
        for (unsigned i = 0; i < t->nsack && i < PKT_TCP_SACK_MAX; i++, b += 8) {
            wire_put32(b, t->sack[i].from);
            wire_put32(b + 4, t->sack[i].to);
        }
    }
    return (size_t)(b - out);
}

static void put_node_mac(uint8_t *b, uint32_t addr)
{
    b[0] = 2, b[1] = 0, b[2] = 0;
    wire_put24(b + 3, pkt_node_of_addr(addr) & 0xffffff);
}

static size_t put_ethernet(const struct pkt *p, const struct wire_l3 *l3, uint8_t *b)
{
    static const uint8_t pause_group[6] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
    size_t n = 12;
    if (l3) {
        memcpy(b, l3->dmac, 6);
        memcpy(b + 6, l3->smac, 6);
    } else {
        put_node_mac(b, p->dst);
        if (p->kind == PKT_PFC)
            memcpy(b, pause_group, 6);
        put_node_mac(b + 6, p->src);
    }
    if (p->kind == PKT_PFC) { /* link-local: never tagged */
        wire_put16(b + n, FRAME_ETHERTYPE_MAC_CONTROL);
        return n + 2;
    }
    if (p->flags & PKT_F_VLAN) {
        wire_put16(b + n, FRAME_ETHERTYPE_VLAN);
        wire_put16(b + n + 2, (p->pcp & 7u) << 13 | (l3 ? l3->vlan_id & 0x1fffu : 0));
        n += 4;
    }
    wire_put16(b + n, p->flags & PKT_F_IPV6 ? FRAME_ETHERTYPE_IPV6 : FRAME_ETHERTYPE_IPV4);
    return n + 2;
}

static size_t put_pfc(const struct pkt *p, uint8_t *b)
{
    if (p->pfc.link_wide) {
        wire_put16(b, FRAME_PAUSE_OPCODE);
        wire_put16(b + 2, p->pfc.quanta[0]);
        return FRAME_PAUSE_BYTES;
    }
    wire_put16(b, FRAME_PFC_OPCODE);
    wire_put16(b + 2, p->pfc.class_vector);
    for (unsigned i = 0; i < 8; i++)
        wire_put16(b + 4 + 2 * i, p->pfc.quanta[i]);
    return FRAME_PFC_BYTES;
}

static size_t put_ipv4(const struct pkt *p, const struct wire_l3 *l3, uint8_t proto, size_t l4_len, uint8_t *b)
{
    size_t n = FRAME_IPV4_BYTES + (l3 ? l3->ip_opt_len : 0);
    b[0] = (uint8_t)(0x40 | n / 4);
    b[1] = (uint8_t)(p->dscp << 2 | (p->ecn & 3));
    wire_put16(b + 2, (uint32_t)(n + l4_len));
    wire_put16(b + 4, p->ip_id);
    wire_put16(b + 6, !l3 || l3->ip_df ? 0x4000 : 0);
    b[8] = p->ttl;
    b[9] = proto;
    wire_put16(b + 10, 0);
    wire_put32(b + 12, p->src);
    wire_put32(b + 16, p->dst);
    if (l3)
        memcpy(b + FRAME_IPV4_BYTES, l3->ip_opt, l3->ip_opt_len);
    wire_put16(b + 10, (uint16_t)~frame_fold(frame_sum(0, b, n)));
    return n;
}

static size_t put_ipv6(const struct pkt *p, const struct wire_l3 *l3, uint8_t proto, size_t l4_len, uint8_t *b)
{
    wire_put32(b, 6u << 28 | (uint32_t)(p->dscp << 2 | (p->ecn & 3)) << 20 | (l3 ? l3->flow_label & 0xfffff : 0));
    wire_put16(b + 4, (uint32_t)l4_len);
    b[6] = proto;
    b[7] = p->ttl;
    memset(b + 8, 0, 32);
    if (l3) {
        memcpy(b + 8, l3->src6, 16);
        memcpy(b + 24, l3->dst6, 16);
    } else {
        b[8] = b[24] = 0xfd;
        wire_put32(b + 20, p->src);
        wire_put32(b + 36, p->dst);
    }
    return FRAME_IPV6_BYTES;
}

static size_t put_roce_headers(const struct pkt_roce *r, uint8_t *b)
{
    const uint8_t *begin = b;
    unsigned f = wire_roce_op[r->opcode].flags;
    b[0] = r->opcode;
    b[1] = (uint8_t)((r->se & 1) << 7 | (r->m & 1) << 6 | (r->pad & 3) << 4 | (r->tver & 15));
    wire_put16(b + 2, r->pkey);
    b[4] = (uint8_t)((r->fecn & 1) << 7 | (r->becn & 1) << 6 | (r->resv6 & 0x3f));
    wire_put24(b + 5, r->dqpn);
    b[8] = (uint8_t)((r->ack_req & 1) << 7 | (r->resv8a & 0x7f));
    wire_put24(b + 9, r->psn);
    b += ROCE_BTH_BYTES;
    if (f & ROCE_OP_DETH) {
        wire_put32(b, r->x.deth.qkey);
        b[4] = r->resv_deth;
        wire_put24(b + 5, r->x.deth.sqpn);
        b += ROCE_DETH_BYTES;
    }
    if (f & ROCE_OP_RETH) {
        wire_put64(b, r->x.reth.va);
        wire_put32(b + 8, r->x.reth.rkey);
        wire_put32(b + 12, r->x.reth.len);
        b += ROCE_RETH_BYTES;
    }
    if (f & ROCE_OP_ATOMICETH) {
        wire_put64(b, r->x.atomic.va);
        wire_put32(b + 8, r->x.atomic.rkey);
        wire_put64(b + 12, r->x.atomic.swap_add);
        wire_put64(b + 20, r->x.atomic.compare);
        b += ROCE_ATOMICETH_BYTES;
    }
    if (f & ROCE_OP_AETH) {
        b[0] = r->syndrome;
        wire_put24(b + 1, r->msn);
        b += ROCE_AETH_BYTES;
    }
    if (f & ROCE_OP_ATOMICACK) {
        wire_put64(b, r->x.atomic_ack.orig);
        b += ROCE_ATOMICACK_BYTES;
    }
    if (f & (ROCE_OP_IMM | ROCE_OP_IETH)) {
        wire_put32(b, r->imm_or_rkey);
        b += ROCE_IMM_BYTES;
    }
    if (f & ROCE_OP_IRN_SN) {
        wire_put32(b, f & ROCE_OP_ATOMICETH ? r->x.atomic.irn_sn : r->x.reth.irn_sn);
        b += ROCE_IRN_SN_BYTES;
    }
    if (f & ROCE_OP_IRN_OFFSET) {
        wire_put32(b, r->x.reth.irn_offset);
        b += ROCE_IRN_OFFSET_BYTES;
    }
    if (f & ROCE_OP_IRN_SACK) {
        wire_put32(b, r->x.irn_sack.psn & 0xffffff);
        b += ROCE_IRN_SACK_BYTES;
    }
    if (r->opcode == ROCE_CNP) {
        memset(b, 0, ROCE_CNP_RESERVED_BYTES);
        b += ROCE_CNP_RESERVED_BYTES;
    }
    return (size_t)(b - begin);
}

static size_t put_telemetry(const struct pkt_int *t, uint8_t *b)
{
    wire_put16(b, (uint32_t)t->nhops << 12 | (t->path_id & 0xfffu));
    for (unsigned i = 0; i < PKT_INT_HOPS; i++)
        wire_put64(b + 2 + 8 * i, t->hop[i]);
    return PKT_INT_BYTES;
}

static void put_roce(const struct pkt *p, const struct wire_l3 *l3, const uint8_t *ip, size_t ip_len, size_t l4_len, uint8_t *b)
{
    bool telemetry = p->flags & PKT_F_INT;
    size_t n = FRAME_UDP_BYTES;
    if (telemetry)
        n += put_telemetry(&p->telemetry, b + n);
    n += put_roce_headers(&p->roce, b + n);
    pkt_payload_read(p, 0, p->payload_len, b + n);
    n += p->payload_len;
    for (unsigned i = 0; i < (-p->payload_len & 3u); i++)
        b[n++] = l3 ? l3->roce_pad[i] : 0;
    wire_put16(b, p->sport);
    wire_put16(b + 2, p->dport);
    wire_put16(b + 4, (uint32_t)l4_len);
    wire_put16(b + 6, 0);
    wire_put32le(b + n, telemetry ? wire_icrc_telemetry(ip, ip_len + n) : wire_icrc(ip, ip_len + n));
    if (l3 && l3->udp_checksum) {
        uint16_t sum = frame_l4_checksum(ip, p->flags & PKT_F_IPV6, FRAME_PROTO_UDP, b, l4_len);
        wire_put16(b + 6, sum ? sum : 0xffff);
    }
}

static void put_tcp(const struct pkt *p, const struct wire_l3 *l3, const uint8_t *options, size_t opt_len, const uint8_t *ip, uint8_t *b)
{
    const struct pkt_tcp *t = &p->tcp;
    size_t n = FRAME_TCP_BYTES + opt_len;
    wire_put16(b, p->sport);
    wire_put16(b + 2, p->dport);
    wire_put32(b + 4, t->seq);
    wire_put32(b + 8, t->ack);
    b[12] = (uint8_t)(n / 4 << 4 | (l3 ? l3->tcp_resv & 15 : 0));
    b[13] = t->flags;
    wire_put16(b + 14, t->window);
    wire_put16(b + 16, 0);
    wire_put16(b + 18, t->urgent);
    memcpy(b + FRAME_TCP_BYTES, options, opt_len);
    pkt_payload_read(p, 0, p->payload_len, b + n);
    wire_put16(b + 16, frame_l4_checksum(ip, p->flags & PKT_F_IPV6, FRAME_PROTO_TCP, b, n + p->payload_len));
}

/* IP header and what follows it; 0 if cap is too small. */
static size_t put_ip_packet(const struct pkt *p, const struct wire_l3 *l3, uint8_t *b, size_t cap)
{
    uint8_t ours[60];
    const uint8_t *options = ours;
    size_t opt_len = 0, l4_len = p->payload_len;
    uint8_t proto = FRAME_PROTO_EXPERIMENT;
    if (p->kind == PKT_TCP) {
        opt_len = frame_tcp_options(&p->tcp, ours);
        if (l3 && l3->tcp_opt_len)
            options = l3->tcp_opt, opt_len = l3->tcp_opt_len;
        proto = FRAME_PROTO_TCP;
        l4_len += FRAME_TCP_BYTES + opt_len;
    } else if (p->kind == PKT_ROCE) {
        proto = FRAME_PROTO_UDP;
        l4_len += FRAME_UDP_BYTES + (p->flags & PKT_F_INT ? PKT_INT_BYTES : 0) + wire_roce_op[p->roce.opcode].header_bytes + (-p->payload_len & 3u) + ROCE_ICRC_BYTES;
        if (!wire_roce_op[p->roce.opcode].name)
            return 0;
    }
    bool ipv6 = p->flags & PKT_F_IPV6;
    size_t ip_len = ipv6 ? FRAME_IPV6_BYTES : FRAME_IPV4_BYTES + (size_t)(l3 ? l3->ip_opt_len : 0);
    if (opt_len > FRAME_TCP_OPT_MAX || ip_len + l4_len > cap || l4_len + (ipv6 ? 0 : ip_len) > UINT16_MAX)
        return 0;
    if (ipv6)
        put_ipv6(p, l3, proto, l4_len, b);
    else
        put_ipv4(p, l3, proto, l4_len, b);
    if (p->kind == PKT_TCP)
        put_tcp(p, l3, options, opt_len, b, b + ip_len);
    else if (p->kind == PKT_ROCE)
        put_roce(p, l3, b, ip_len, l4_len, b + ip_len);
    else
        pkt_payload_read(p, 0, p->payload_len, b + ip_len);
    return ip_len + l4_len;
}

/* The source port tells flows apart (RFC 7348 5); no UDP checksum; network 1. */
void frame_vxlan(const struct pkt *p, size_t ip_len, uint8_t out[PKT_VXLAN_BYTES])
{
    size_t udp_len = FRAME_UDP_BYTES + FRAME_VXLAN_BYTES + FRAME_ETHERNET_BYTES + ip_len;
    uint32_t flow = p->kind == PKT_RAW ? pkt_flow_hash(p->src, p->dst, FRAME_PROTO_EXPERIMENT, 0, 0)
                  : pkt_flow_hash(p->src, p->dst, p->kind == PKT_TCP ? FRAME_PROTO_TCP : FRAME_PROTO_UDP, p->sport, p->dport);
    uint8_t *b = out + put_ipv4(p, NULL, FRAME_PROTO_UDP, udp_len, out);
    wire_put16(b, 0xc000u | (flow & 0x3fff));
    wire_put16(b + 2, FRAME_VXLAN_PORT);
    wire_put16(b + 4, (uint32_t)udp_len);
    wire_put16(b + 6, 0);
    b += FRAME_UDP_BYTES;
    wire_put32(b, UINT32_C(0x08000000));
    wire_put32(b + 4, 1u << 8);
    b += FRAME_VXLAN_BYTES;
    put_node_mac(b, p->dst);
    put_node_mac(b + 6, p->src);
    wire_put16(b + 12, FRAME_ETHERTYPE_IPV4);
}

static size_t put_vxlan(const struct pkt *p, const struct wire_l3 *l3, uint8_t *b, size_t cap)
{
    struct pkt inner = *p;
    inner.ttl = FRAME_INNER_TTL;
    inner.ecn = frame_inner_ecn(p);
    size_t ip_len = cap > PKT_VXLAN_BYTES && !(p->flags & PKT_F_IPV6) ? put_ip_packet(&inner, l3, b + PKT_VXLAN_BYTES, cap - PKT_VXLAN_BYTES) : 0;
    if (!ip_len || ip_len + PKT_VXLAN_BYTES > UINT16_MAX)
        return 0;
    frame_vxlan(p, ip_len, b);
    return PKT_VXLAN_BYTES + ip_len;
}

size_t wire_encode(const struct pkt *p, const struct wire_l3 *l3, uint8_t *out, size_t cap)
{
    size_t trailer = l3 ? l3->trailer_len : 0;
    if (cap < FRAME_BODY_MIN)
        return 0;
    size_t n = put_ethernet(p, l3, out);
    size_t body = p->kind == PKT_PFC ? put_pfc(p, out + n)
                : p->flags & PKT_F_VXLAN ? put_vxlan(p, l3, out + n, cap - n) : put_ip_packet(p, l3, out + n, cap - n);
    if (!body || n + body + trailer > cap)
        return 0;
    n += body;
    if (trailer)
        memcpy(out + n, l3->trailer, trailer);
    n += trailer;
    if (n < FRAME_BODY_MIN && !(l3 && l3->unpadded)) {
        memset(out + n, 0, FRAME_BODY_MIN - n);
        n = FRAME_BODY_MIN;
    }
    return n;
}
