/* SPDX-License-Identifier: GPL-2.0-only */
/* What the replaced side of a RoCE connection must have done and had, from what it sent and what came back. */
#include "replay_roce.h"

#include "../model/wire/cm.h"

#include <stdlib.h>
#include <string.h>

#define SYNDROME_KIND 0x60
#define SYNDROME_RNR 0x20
#define NAK_SEQUENCE 0x60
#define NAK_ACCESS 0x62
#define RNR_FOREVER 7
#define GAP_MAX 65536 /* packets that a capture may have missed in a row */

static bool is_ack(const struct replay_item *it) { return it->f->p.roce.opcode == ROCE_ACK; }
static bool is_positive(const struct replay_item *it) { return !is_ack(it) || (it->f->p.roce.syndrome & SYNDROME_KIND) == 0; }
static bool is_rnr(const struct replay_item *it) { return is_ack(it) && (it->f->p.roce.syndrome & SYNDROME_KIND) == SYNDROME_RNR; }

uint32_t replay_span(const struct replay_item *it, uint32_t mtu)
{
    const struct pkt_roce *h = &it->f->p.roce;
    if (!(replay_op_flags(it) & ROCE_OP_READ) || !replay_is_request(it) || h->x.reth.len <= mtu)
        return 1;
    return (uint32_t)(((uint64_t)h->x.reth.len + mtu - 1) / mtu);
}

const struct replay_item *replay_outcome(const struct replay_flow *f, const struct replay_deeds *d, unsigned side, uint32_t i, int64_t n)
{
    for (i++; i < f->n; i++) {
        const struct replay_item *it = &f->item[i];
        if (it->side != side || replay_is_request(it) || it->f->p.roce.opcode == ROCE_CNP)
            continue;
        int64_t m = replay_number(it->f->p.roce.psn, d->psn[!side]);
        if (m == n || (m > n && is_positive(it)))
            return it;
    }
    return NULL;
}

static int64_t number_of(const struct replay_deeds *d, const struct replay_item *it)
{
    return replay_number(it->f->p.roce.psn, d->psn[replay_is_request(it) ? it->side : !it->side]);
}

/* --- what a connection manager has told --- */

/* A REQ of either side that made this connection. */
static bool find_req(const struct replay *r, const struct replay_flow *f, struct wire_cm *m)
{
    uint8_t mad[WIRE_MAD_BYTES];
    for (uint32_t i = 0; i < r->nframes; i++) {
        const struct pkt *p = &r->frame[i].p;
        if (p->kind != PKT_ROCE || p->roce.opcode != ROCE_UD_SEND_ONLY || p->roce.dqpn != WIRE_CM_QPN || p->payload_len != sizeof mad)
            continue;
        pkt_payload_read(p, 0, sizeof mad, mad);
        if (!wire_cm_decode(mad, sizeof mad, m) || m->kind != CM_REQ)
            continue;
        for (unsigned side = 0; side < 2; side++)
            if (p->src == f->addr[side] && p->dst == f->addr[!side] && m->u.req.qpn == f->qpn[side])
                return true;
    }
    return false;
}

static uint32_t mtu_for(uint32_t payload, uint32_t least)
{
    while (least < payload && least < 4096)
        least *= 2;
    return least;
}

static uint32_t mtu_of(const struct replay *r, const struct replay_flow *f, struct replay_deeds *d)
{
    uint32_t longest = 0;
    struct wire_cm m;
    bool told = find_req(r, f, &m);
    if (told)
        d->timeout = m.u.req.path[0].ack_timeout;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct pkt *p = &f->item[i].f->p;
        unsigned flags = replay_op_flags(&f->item[i]);
        if (f->item[i].f->status != WIRE_OK)
            continue;
        if ((flags & ROCE_OP_PAYLOAD) && !(flags & ROCE_OP_LAST))
            return mtu_for(p->payload_len, 256); /* not a message's last packet: full */
        longest = p->payload_len > longest ? p->payload_len : longest;
    }
    uint32_t mtu = told ? wire_cm_mtu_bytes(m.u.req.mtu) : 0;
    return mtu ? mtu : mtu_for(longest, 1024);
}

/* --- losses behind the capture's point --- */

/* The peer's requests that never came: the replaced side asked for them by a sequence NAK. */
static void requests_lost(struct replay_flow *f, const struct replay_deeds *d, unsigned side)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct replay_item *nak = &f->item[i];
        if (nak->side != side || !is_ack(nak) || nak->f->p.roce.syndrome != NAK_SEQUENCE)
            continue;
        for (uint32_t k = i; k-- > 0;) {
            struct replay_item *it = &f->item[k];
            if (it->side == side || !replay_is_request(it) || number_of(d, it) != number_of(d, nak))
                continue;
            it->lost = true;
            break;
        }
    }
}

/* A request that asked for an answer, got none and was sent again: lost, if the answers to it are too few for all its copies. */
static void tails_lost(struct replay_flow *f, const struct replay_deeds *d, unsigned side)
{
    for (uint32_t i = 0; i < f->n; i++) {
        struct replay_item *it = &f->item[i];
        if (it->side == side || it->lost || !replay_is_request(it) || !it->f->p.roce.ack_req)
            continue;
        int64_t n = number_of(d, it);
        uint32_t answers = 0, copies = 1;
        bool answered = false; /* or refused for what is missing before it */
        for (uint32_t k = i + 1; k < f->n; k++) {
            const struct replay_item *x = &f->item[k];
            if (x->side != side && replay_is_request(x) && number_of(d, x) == n)
                copies += !x->lost;
            if (x->side == side && is_ack(x) && x->f->p.roce.syndrome == NAK_SEQUENCE && number_of(d, x) <= n) {
                answered |= copies == 1;
            } else if (x->side == side && !replay_is_request(x) && number_of(d, x) >= n) {
                answered |= copies == 1;
                answers += number_of(d, x) == n;
            }
        }
        it->lost = !answered && copies > 1 && answers < copies;
    }
}

/* Answers that never came: the replaced side asked again for what they told. */
static void answers_lost(struct replay_flow *f, const struct replay_deeds *d, unsigned side)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct replay_item *again = &f->item[i];
        if (again->side != side || !replay_is_request(again))
            continue;
        int64_t n = number_of(d, again);
        for (uint32_t k = i; k-- > 0;) {
            struct replay_item *it = &f->item[k];
            if (it->side == side) {
                if (replay_is_request(it) && number_of(d, it) == n)
                    break; /* the copy before this one */
            } else if (!replay_is_request(it) && is_positive(it) && number_of(d, it) >= n) {
                it->lost = true;
            }
        }
    }
}

/* --- what it posted --- */

static uint64_t payload_room(struct replay_deeds *d, uint64_t len)
{
    uint64_t at = d->payload_len;
    d->payload_len += len;
    if (d->payload_len > d->payload_cap) {
        d->payload = replay_alloc(realloc(d->payload, 2 * d->payload_len));
        memset(d->payload + d->payload_cap, 0, 2 * d->payload_len - d->payload_cap);
        d->payload_cap = 2 * d->payload_len;
    }
    return at;
}

static struct replay_message *begin_message(struct replay_deeds *d, uint32_t i, int64_t n, const struct pkt_roce *h, unsigned flags)
{
    d->message = replay_alloc(realloc(d->message, (d->nmessages + 1) * sizeof *d->message));
    struct replay_message *m = &d->message[d->nmessages++];
    *m = (struct replay_message){ .first = i, .number = n, .at = payload_room(d, 0) };
    m->wr.flags = RNIC_SEND_SIGNALED;
    m->wr.op = flags & ROCE_OP_READ ? RNIC_OP_READ : flags & ROCE_OP_WRITE ? RNIC_OP_WRITE : h->opcode == ROCE_CMP_SWAP ? RNIC_OP_CMP_SWAP
             : h->opcode == ROCE_FETCH_ADD ? RNIC_OP_FETCH_ADD : RNIC_OP_SEND;
    if (flags & ROCE_OP_RETH) {
        m->wr.remote_va = h->x.reth.va;
        m->wr.rkey = h->x.reth.rkey;
    } else if (flags & ROCE_OP_ATOMICETH) {
        m->wr.remote_va = h->x.atomic.va;
        m->wr.rkey = h->x.atomic.rkey;
        m->wr.swap_add = h->x.atomic.swap_add;
        m->wr.compare = h->x.atomic.compare;
    }
    if (flags & (ROCE_OP_READ | ROCE_OP_ATOMIC))
        m->len = flags & ROCE_OP_READ ? h->x.reth.len : 8;
    return m;
}

static void end_message(struct replay_message *m, const struct pkt_roce *h, unsigned flags)
{
    m->whole = true;
    if (h->se)
        m->wr.flags |= RNIC_SEND_SOLICITED;
    if (flags & (ROCE_OP_IMM | ROCE_OP_IETH))
        m->wr.imm_or_inv = h->imm_or_rkey;
    if (flags & ROCE_OP_IMM)
        m->wr.op = m->wr.op == RNIC_OP_WRITE ? RNIC_OP_WRITE_IMM : RNIC_OP_SEND_IMM;
    else if (flags & ROCE_OP_IETH)
        m->wr.op = RNIC_OP_SEND_INV;
}

static void messages(const struct replay_flow *f, unsigned side, struct replay_deeds *d)
{
    struct replay_message *m = NULL;
    int64_t next = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct replay_item *it = &f->item[i];
        unsigned flags = replay_op_flags(it);
        if (it->side != side || !(flags & ROCE_OP_REQUEST) || number_of(d, it) < next)
            continue;
        int64_t n = number_of(d, it);
        if (it->f->status != WIRE_OK || n - next > GAP_MAX)
            continue; /* no packet of this connection's */
        next = n + replay_span(it, d->mtu);
        if (flags & ROCE_OP_FIRST)
            m = begin_message(d, i, n, &it->f->p.roce, flags);
        if (m == NULL)
            continue; /* the capture begins within a message */
        if (flags & ROCE_OP_PAYLOAD) {
            uint64_t off = (uint64_t)(n - m->number) * d->mtu, end = off + it->f->p.payload_len;
            if (end > m->len) {
                (void)payload_room(d, end - m->len);
                m->len = end;
            }
            pkt_payload_read(&it->f->p, 0, it->f->p.payload_len, d->payload + m->at + off);
        }
        if (flags & ROCE_OP_LAST) {
            end_message(m, &it->f->p.roce, flags);
            m = NULL;
        }
    }
    if (m != NULL) { /* the capture ends within it: it was longer */
        (void)payload_room(d, d->mtu);
        m->len += d->mtu;
    }
    for (uint32_t k = 0; k < d->nmessages; k++)
        d->message[k].wr.sge.len = (uint32_t)d->message[k].len;
}

/* --- what its peer was allowed --- */

static void grants(struct replay_flow *f, unsigned side, struct replay_deeds *d)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct replay_item *it = &f->item[i];
        const struct pkt_roce *h = &it->f->p.roce;
        unsigned flags = replay_op_flags(it);
        if (it->side == side || it->lost || it->f->status != WIRE_OK)
            continue;
        const struct replay_item *o = replay_outcome(f, d, side, i, number_of(d, it));
        bool refused = o != NULL && is_ack(o) && o->f->p.roce.syndrome == NAK_ACCESS && number_of(d, o) == number_of(d, it);
        if (refused)
            continue;
        if (flags & ROCE_OP_RETH)
            replay_granted(&d->memory, h->x.reth.rkey, h->x.reth.va, h->x.reth.len, flags & ROCE_OP_READ ? RNIC_REMOTE_READ : RNIC_REMOTE_WRITE);
        else if (flags & ROCE_OP_ATOMICETH)
            replay_granted(&d->memory, h->x.atomic.rkey, h->x.atomic.va, 8, RNIC_REMOTE_ATOMIC);
        if ((flags & ROCE_OP_SEND) && d->recv_len < it->f->p.payload_len)
            d->recv_len = it->f->p.payload_len;
    }
}

/* The peer's latest request before item i that an answer with packet number n belongs to. */
static const struct replay_item *request_of(const struct replay_flow *f, const struct replay_deeds *d, unsigned peer, uint32_t i, int64_t n)
{
    while (i-- > 0) {
        const struct replay_item *it = &f->item[i];
        if (it->side == peer && replay_is_request(it) && (replay_op_flags(it) & (ROCE_OP_READ | ROCE_OP_ATOMIC)) && n >= number_of(d, it) &&
            n < number_of(d, it) + replay_span(it, d->mtu))
            return it;
    }
    return NULL;
}

static void shown(struct replay_flow *f, unsigned side, struct replay_deeds *d, uint32_t i)
{
    const struct replay_item *it = &f->item[i];
    int64_t n = number_of(d, it);
    const struct replay_item *q = request_of(f, d, !side, i, n);
    if (q == NULL)
        return;
    if (it->f->p.roce.opcode == ROCE_ATOMIC_ACK) {
        uint8_t b[8];
        for (unsigned k = 0; k < 8; k++)
            b[k] = (uint8_t)(it->f->p.roce.x.atomic_ack.orig >> 8 * k);
        replay_shown(&d->memory, q->f->p.roce.x.atomic.rkey, q->f->p.roce.x.atomic.va, b, 8);
    } else if (replay_op_flags(q) & ROCE_OP_READ) {
        uint8_t b[4096];
        uint32_t len = it->f->p.payload_len < sizeof b ? it->f->p.payload_len : sizeof b;
        pkt_payload_read(&it->f->p, 0, len, b);
        replay_shown(&d->memory, q->f->p.roce.x.reth.rkey, q->f->p.roce.x.reth.va + (uint64_t)(n - number_of(d, q)) * d->mtu, b, len);
    }
}

/* Bytes that somebody saw before anybody wrote them were there from the start. */
static void contents(struct replay_flow *f, unsigned side, struct replay_deeds *d)
{
    uint64_t va = 0;
    uint32_t rkey = 0;
    int64_t next = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct replay_item *it = &f->item[i];
        unsigned flags = replay_op_flags(it);
        if (it->side == side) {
            if (!(flags & ROCE_OP_REQUEST) && flags & (ROCE_OP_READ | ROCE_OP_ATOMIC))
                shown(f, side, d, i);
            continue;
        }
        if (it->lost || it->f->status != WIRE_OK || !(flags & ROCE_OP_REQUEST) || number_of(d, it) != next)
            continue;
        next += replay_span(it, d->mtu);
        if (!(flags & ROCE_OP_WRITE))
            continue;
        if (flags & ROCE_OP_RETH) {
            va = it->f->p.roce.x.reth.va;
            rkey = it->f->p.roce.x.reth.rkey;
        }
        replay_written(&d->memory, rkey, va, it->f->p.payload_len);
        va += it->f->p.payload_len;
    }
}

/* --- its settings --- */

static void settings(const struct replay_flow *f, unsigned side, struct replay_deeds *d)
{
    uint32_t rnr_naks = 0, unasked = 0;
    int64_t rnr_number = -1;
    bool first = true;
    d->rnr_retry = RNR_FOREVER;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct replay_item *it = &f->item[i];
        const struct pkt *p = &it->f->p;
        if (replay_op_flags(it) & ROCE_OP_DETH)
            d->qkey = p->roce.x.deth.qkey;
        if (it->side == side) {
            if (first) {
                d->dscp = p->dscp;
                d->ecn = p->ecn == 3 ? 2 : p->ecn;
            }
            first = false;
            if (p->roce.opcode == ROCE_CNP)
                d->cnp = true;
            if (is_rnr(it))
                d->rnr_timer = p->roce.syndrome & 0x1f;
            if (!replay_is_request(it))
                continue;
            if (rnr_number == number_of(d, it))
                rnr_number = -1; /* asked again */
            unasked++;
            if (p->roce.ack_req) {
                if (!(replay_op_flags(it) & ROCE_OP_LAST) && !d->ack_request_packets)
                    d->ack_request_packets = unasked;
                unasked = 0;
            }
        } else if (is_rnr(it)) {
            rnr_naks = number_of(d, it) == d->rnr_last ? rnr_naks + 1 : 1;
            d->rnr_last = rnr_number = number_of(d, it);
        }
    }
    if (rnr_number >= 0) /* the last word: no retry came */
        d->rnr_retry = (uint8_t)(rnr_naks - 1 < RNR_FOREVER ? rnr_naks - 1 : RNR_FOREVER);
}

void replay_learn(struct replay *r, struct replay_flow *f, unsigned side, struct replay_deeds *d)
{
    *d = (struct replay_deeds){ .timeout = -1, .rnr_last = -1 };
    d->mtu = mtu_of(r, f, d);
    for (uint32_t i = f->n; i-- > 0;)
        if (replay_is_request(&f->item[i])) {
            d->psn[f->item[i].side] = f->item[i].f->p.roce.psn;
            d->sends[f->item[i].side] = true;
        }
    if (f->service == ROCE_SERVICE_RC) {
        requests_lost(f, d, side);
        tails_lost(f, d, side);
        answers_lost(f, d, side);
    }
    messages(f, side, d);
    grants(f, side, d);
    settings(f, side, d);
}

bool replay_learn_memory(struct replay_flow *f, unsigned side, struct replay_deeds *d)
{
    if (!replay_memory_fill(&d->memory))
        return false;
    contents(f, side, d);
    return true;
}

void replay_deeds_free(struct replay_deeds *d)
{
    free(d->message);
    free(d->payload);
    replay_memory_free(&d->memory);
}
