/* SPDX-License-Identifier: GPL-2.0-only */
#include "pkt.h"
#include "codec.h"
#include "roce_opcode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))

enum { ETHERNET_BYTES = 14, VLAN_BYTES = 4, FCS_BYTES = 4, IPV4_BYTES = 20, IPV6_BYTES = 40, UDP_BYTES = 8, TCP_BYTES = 20,
       PFC_BYTES = 20, MPA_CRC_BYTES = 4 };

uint32_t pkt_tcp_opt_bytes(const struct pkt_tcp *t)
{
    uint32_t n = 0;
    if (t->opt & TCP_OPT_MSS)
        n += 4;
    if (t->opt & TCP_OPT_TS)
        n += 12; /* SACK-permitted takes the place of its two NOPs */
    else if (t->opt & TCP_OPT_SACK_PERM)
        n += 4;
    if (t->opt & TCP_OPT_WSCALE)
        n += 4;
    if (t->opt & TCP_OPT_SACK && t->nsack)
        n += 4 + 8u * t->nsack;
    return n;
}

uint32_t pkt_overhead_bytes(const struct pkt *p)
{
    uint32_t ip = p->flags & PKT_F_IPV6 ? IPV6_BYTES : IPV4_BYTES;
    switch (p->kind) {
    case PKT_ROCE:
        return ip + UDP_BYTES + (p->flags & PKT_F_INT ? PKT_INT_BYTES : 0) + wire_roce_op[p->roce.opcode].header_bytes + (-p->payload_len & 3) + ROCE_ICRC_BYTES;
    case PKT_TCP:
        return ip + TCP_BYTES + (p->tcp.opt_len ? p->tcp.opt_len : pkt_tcp_opt_bytes(&p->tcp));
    case PKT_PFC:
        return PFC_BYTES;
    default:
        return ip;
    }
}

void pkt_set_len(struct pkt *p)
{
    if (p->kind == PKT_ROCE)
        p->roce.pad = -p->payload_len & 3;
    else if (p->kind == PKT_TCP)
        p->tcp.opt_len = (uint16_t)pkt_tcp_opt_bytes(&p->tcp);
    uint32_t n = ETHERNET_BYTES + (p->flags & PKT_F_VLAN ? VLAN_BYTES : 0) + (p->flags & PKT_F_VXLAN ? PKT_VXLAN_BYTES : 0) + pkt_overhead_bytes(p) + p->payload_len + FCS_BYTES;
    assert(n <= UINT16_MAX);
    p->frame_len = (uint16_t)(n < PKT_FRAME_MIN_BYTES ? PKT_FRAME_MIN_BYTES : n);
}

/* Room for `slots` more chunks holding len bytes? */
static bool has_room(const struct pkt *p, uint32_t len, uint32_t slots)
{
    return p->nchunks + slots <= (p->flags & PKT_F_INT ? sizeof p->room / sizeof p->room[0] : PKT_CHUNK_MAX) && len <= (uint32_t)(UINT16_MAX - p->payload_len);
}

void pkt_add_telemetry(struct pkt *p)
{
    assert(p->kind == PKT_ROCE && p->nchunks == 0);
    p->flags |= PKT_F_INT;
    p->dport = WIRE_ROCE_INT_PORT;
    p->telemetry = (struct pkt_int){ 0 };
}

static struct pkt_chunk *add_chunk(struct pkt *p, enum pkt_chunk_kind kind, uint32_t len)
{
    struct pkt_chunk *c = &p->chunk[p->nchunks++];
    memset(c, 0, sizeof *c);
    c->kind = (uint8_t)kind;
    c->len = len;
    p->payload_len = (uint16_t)(p->payload_len + len);
    return c;
}

bool pkt_add_pattern(struct pkt *p, uint32_t len, uint64_t seed, uint64_t off)
{
    if (!len)
        return true;
    if (p->nchunks && len <= (uint32_t)(UINT16_MAX - p->payload_len)) { /* a run that goes on needs no slot */
        struct pkt_chunk *last = &p->chunk[p->nchunks - 1];
        if (last->kind == CHUNK_PATTERN && last->u.pattern.seed == seed && last->u.pattern.off + last->len == off) {
            last->len += len;
            p->payload_len = (uint16_t)(p->payload_len + len);
            return true;
        }
    }
    if (!has_room(p, len, 1))
        return false;
    struct pkt_chunk *c = add_chunk(p, CHUNK_PATTERN, len);
    c->u.pattern.seed = seed;
    c->u.pattern.off = off;
    return true;
}

bool pkt_add_literal(struct pkt *p, const void *bytes, uint32_t len)
{
    const uint8_t *from = bytes;
    struct pkt_chunk *last = p->nchunks ? &p->chunk[p->nchunks - 1] : NULL;
    uint32_t fits = last && last->kind == CHUNK_LITERAL ? MIN(PKT_LITERAL_MAX - last->len, len) : 0;
    if (!has_room(p, len, (len - fits + PKT_LITERAL_MAX - 1) / PKT_LITERAL_MAX))
        return false;
    if (fits) {
        memcpy(last->u.literal + last->len, from, fits);
        last->len += fits;
        p->payload_len = (uint16_t)(p->payload_len + fits);
    }
    for (uint32_t done = fits; done < len;) {
        uint32_t n = MIN(len - done, PKT_LITERAL_MAX);
        memcpy(add_chunk(p, CHUNK_LITERAL, n)->u.literal, from + done, n);
        done += n;
    }
    return true;
}

static uint8_t *buffer_of(const void *bytes, uint32_t len)
{
    uint8_t *b = malloc(len);
    if (!b) {
        fprintf(stderr, "rnicsim: out of memory for %u payload bytes\n", len);
        abort();
    }
    return memcpy(b, bytes, len);
}

bool pkt_add_bytes(struct pkt *p, const void *bytes, uint32_t len)
{
    if (!len)
        return true;
    if (!has_room(p, len, 1))
        return false;
    add_chunk(p, CHUNK_BYTES, len)->u.bytes = buffer_of(bytes, len);
    p->flags |= PKT_F_OWNS;
    return true;
}

bool pkt_add_mpa_tail(struct pkt *p, uint32_t pad, uint32_t span, bool crc_off)
{
    assert(pad < 4 && span <= p->payload_len);
    if (!has_room(p, pad + MPA_CRC_BYTES, 1))
        return false;
    struct pkt_chunk *c = add_chunk(p, CHUNK_MPA_TAIL, pad + MPA_CRC_BYTES);
    c->crc_off = crc_off;
    c->u.span = span;
    return true;
}

static void pattern_read(uint64_t seed, uint64_t off, uint32_t len, uint8_t *out)
{
    for (; len && (off & 7); len--)
        *out++ = pkt_pattern_byte(seed, off++);
    for (; len >= 8; len -= 8, off += 8, out += 8) {
        uint64_t z = pkt_pattern_word(seed, off >> 3);
        for (unsigned i = 0; i < 8; i++)
            out[i] = (uint8_t)(z >> 8 * i);
    }
    for (; len; len--)
        *out++ = pkt_pattern_byte(seed, off++);
}

/* The pad and CRC that end an FPDU whose last span bytes before the chunk begin at payload offset `at - span`. */
static void mpa_tail(const struct pkt *p, const struct pkt_chunk *c, uint32_t at, uint8_t out[8])
{
    uint8_t buf[512];
    uint32_t crc = 0;
    memset(out, 0, 8);
    if (c->crc_off)
        return;
    for (uint32_t from = at - c->u.span; from < at;) {
        uint32_t n = MIN(at - from, sizeof buf);
        pkt_payload_read(p, from, n, buf);
        crc = wire_crc32c(crc, buf, n);
        from += n;
    }
    crc = wire_crc32c(crc, out, c->len - MPA_CRC_BYTES);
    for (unsigned i = 0; i < 4; i++)
        out[c->len - MPA_CRC_BYTES + i] = (uint8_t)(crc >> 8 * i);
}

void pkt_payload_read(const struct pkt *p, uint32_t from, uint32_t len, uint8_t *out)
{
    uint32_t at = 0; /* payload offset of the chunk */
    assert(from + len <= p->payload_len);
    for (unsigned i = 0; i < p->nchunks && len; at += p->chunk[i].len, i++) {
        const struct pkt_chunk *c = &p->chunk[i];
        if (from >= at + c->len)
            continue;
        uint32_t skip = from - at, n = MIN(c->len - skip, len);
        uint8_t tail[8];
        switch (c->kind) {
        case CHUNK_PATTERN: pattern_read(c->u.pattern.seed, c->u.pattern.off + skip, n, out); break;
        case CHUNK_LITERAL: memcpy(out, c->u.literal + skip, n); break;
        case CHUNK_BYTES:   memcpy(out, c->u.bytes + skip, n); break;
        case CHUNK_MPA_TAIL:
            mpa_tail(p, c, at, tail);
            memcpy(out, tail + skip, n);
            break;
        default: memset(out, 0, n); break;
        }
        from += n;
        out += n;
        len -= n;
    }
}

void pkt_copy(struct pkt *dst, const struct pkt *src)
{
    *dst = *src;
    dst->next = NULL;
    for (unsigned i = 0; i < dst->nchunks && (dst->flags & PKT_F_OWNS); i++)
        if (dst->chunk[i].kind == CHUNK_BYTES)
            dst->chunk[i].u.bytes = buffer_of(src->chunk[i].u.bytes, src->chunk[i].len);
}

void pkt_release_payload(struct pkt *p)
{
    if (p->flags & PKT_F_OWNS)
        for (unsigned i = 0; i < p->nchunks; i++)
            if (p->chunk[i].kind == CHUNK_BYTES)
                free(p->chunk[i].u.bytes);
    p->flags &= (uint8_t)~PKT_F_OWNS;
    p->nchunks = 0;
    p->payload_len = 0;
}

static bool equal_payload(const struct pkt *a, const struct pkt *b)
{
    uint8_t x[512], y[512];
    if (a->payload_len != b->payload_len)
        return false;
    for (uint32_t at = 0; at < a->payload_len;) {
        uint32_t n = MIN(a->payload_len - at, sizeof x);
        pkt_payload_read(a, at, n, x);
        pkt_payload_read(b, at, n, y);
        if (memcmp(x, y, n))
            return false;
        at += n;
    }
    return true;
}

static bool equal_roce(const struct pkt_roce *a, const struct pkt_roce *b)
{
    if (a->opcode != b->opcode || a->se != b->se || a->m != b->m || a->pad != b->pad || a->tver != b->tver || a->fecn != b->fecn ||
        a->becn != b->becn || a->ack_req != b->ack_req || a->pkey != b->pkey || a->resv8a != b->resv8a || a->resv6 != b->resv6 ||
        a->dqpn != b->dqpn || a->psn != b->psn)
        return false;
    unsigned f = wire_roce_op[a->opcode].flags;
    if (f & ROCE_OP_RETH && (a->x.reth.va != b->x.reth.va || a->x.reth.rkey != b->x.reth.rkey || a->x.reth.len != b->x.reth.len))
        return false;
    if (f & ROCE_OP_ATOMICETH && (a->x.atomic.va != b->x.atomic.va || a->x.atomic.rkey != b->x.atomic.rkey ||
                                  a->x.atomic.swap_add != b->x.atomic.swap_add || a->x.atomic.compare != b->x.atomic.compare))
        return false;
    if (f & ROCE_OP_AETH && (a->syndrome != b->syndrome || a->msn != b->msn))
        return false;
    if (f & ROCE_OP_IRN_SN && (f & ROCE_OP_ATOMICETH ? a->x.atomic.irn_sn != b->x.atomic.irn_sn : a->x.reth.irn_sn != b->x.reth.irn_sn))
        return false;
    if ((f & ROCE_OP_IRN_OFFSET && a->x.reth.irn_offset != b->x.reth.irn_offset) || (f & ROCE_OP_IRN_SACK && a->x.irn_sack.psn != b->x.irn_sack.psn))
        return false;
    if (f & ROCE_OP_ATOMICACK && a->x.atomic_ack.orig != b->x.atomic_ack.orig)
        return false;
    if (f & ROCE_OP_DETH && (a->x.deth.qkey != b->x.deth.qkey || a->x.deth.sqpn != b->x.deth.sqpn || a->resv_deth != b->resv_deth))
        return false;
    return !(f & (ROCE_OP_IMM | ROCE_OP_IETH)) || a->imm_or_rkey == b->imm_or_rkey;
}

static bool equal_tcp(const struct pkt_tcp *a, const struct pkt_tcp *b)
{
    unsigned na = a->opt & TCP_OPT_SACK ? a->nsack : 0, nb = b->opt & TCP_OPT_SACK ? b->nsack : 0;
    if (a->seq != b->seq || a->ack != b->ack || a->window != b->window || a->urgent != b->urgent || a->flags != b->flags ||
        a->opt_len != b->opt_len || na != nb || (a->opt & ~TCP_OPT_SACK) != (b->opt & ~TCP_OPT_SACK))
        return false;
    if (a->opt & TCP_OPT_MSS && a->mss != b->mss)
        return false;
    if (a->opt & TCP_OPT_WSCALE && a->wscale != b->wscale)
        return false;
    if (a->opt & TCP_OPT_TS && (a->ts_val != b->ts_val || a->ts_ecr != b->ts_ecr))
        return false;
    for (unsigned i = 0; i < na; i++)
        if (a->sack[i].from != b->sack[i].from || a->sack[i].to != b->sack[i].to)
            return false;
    return true;
}

bool pkt_equal(const struct pkt *a, const struct pkt *b)
{
    unsigned on_wire = PKT_F_VLAN | PKT_F_IPV6 | PKT_F_INT | PKT_F_VXLAN;
    if (a->kind != b->kind || a->frame_len != b->frame_len || (a->flags & on_wire) != (b->flags & on_wire))
        return false;
    if (a->flags & PKT_F_VLAN && a->pcp != b->pcp)
        return false;
    if (a->kind == PKT_PFC)
        return a->pfc.link_wide == b->pfc.link_wide && a->pfc.class_vector == b->pfc.class_vector &&
               !memcmp(a->pfc.quanta, b->pfc.quanta, a->pfc.link_wide ? sizeof a->pfc.quanta[0] : sizeof a->pfc.quanta);
    if (a->src != b->src || a->dst != b->dst || a->dscp != b->dscp || a->ecn != b->ecn || a->ttl != b->ttl ||
        (!(a->flags & PKT_F_IPV6) && a->ip_id != b->ip_id))
        return false;
    if (a->kind != PKT_RAW && (a->sport != b->sport || a->dport != b->dport))
        return false;
    if (a->kind == PKT_ROCE && !equal_roce(&a->roce, &b->roce))
        return false;
    if (a->flags & PKT_F_INT && (a->telemetry.path_id != b->telemetry.path_id || a->telemetry.nhops != b->telemetry.nhops ||
                                 memcmp(a->telemetry.hop, b->telemetry.hop, sizeof a->telemetry.hop) != 0))
        return false;
    if (a->kind == PKT_TCP && !equal_tcp(&a->tcp, &b->tcp))
        return false;
    return equal_payload(a, b);
}
