/* SPDX-License-Identifier: GPL-2.0-only */
/* A QP and its congestion control: pacing, the notification point's CNPs, what acknowledgements tell (round trips by the card's
 * timestamps, marks, telemetry). */
#include "roce_internal.h"
#include "../wire/telemetry.h"

#include <stdlib.h>

#define ECT0 2
#define STAMPS_FIRST 64
#define STAMPS_MAX 4096

_Static_assert(CC_HOP_TS_WRAP == 1u << TELEMETRY_TS_BITS && CC_HOP_BYTES_WRAP == TELEMETRY_TX_UNIT << TELEMETRY_TX_BITS && CC_HOPS_MAX == PKT_INT_HOPS,
               "what control is told is what the wire can say");

/* --- pacing --- */

static int64_t pace_bps(const struct roce_qp *q, int64_t cc_bps)
{
    int64_t limit = q->params->rate_limit_bps;
    return limit && limit < cc_bps ? limit : cc_bps;
}

/* Control has set another rate or window: what is left of the wait for the next packet shrinks or grows with the rate. */
static void changed(struct roce_qp *q, int64_t now_ps, int64_t rate_before_bps, int64_t cwnd_before_bytes)
{
    const struct cc *c = &q->cc;
    if (c->rate_bps != rate_before_bps) {
        if (q->pace_ps > now_ps)
            q->pace_ps = now_ps + (int64_t)((__int128)(q->pace_ps - now_ps) * pace_bps(q, rate_before_bps) / pace_bps(q, c->rate_bps));
        roce_trace(q, now_ps, SIM_TRACE_RATE, (uint64_t)c->rate_bps, (uint64_t)(c->alpha * 1e6));
    }
    if (c->cwnd_bytes != cwnd_before_bytes)
        roce_trace(q, now_ps, SIM_TRACE_CWND, (uint64_t)c->cwnd_bytes, (uint64_t)c->ssthresh_bytes);
}

void roce_cc_charge(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    uint32_t wire_bytes = (uint32_t)p->frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES;
    struct cc *c = &q->cc;
    if (c->ops->sent) {
        int64_t rate = c->rate_bps, cwnd = c->cwnd_bytes;
        c->ops->sent(c, now_ps, wire_bytes);
        changed(q, now_ps, rate, cwnd);
    }
    int64_t bps = pace_bps(q, c->rate_bps);
    if (bps >= c->link_bps)
        return;
    int64_t gap = (int64_t)(wire_bytes * UINT64_C(8) * (uint64_t)SIM_PS_PER_S / (uint64_t)bps);
    int64_t earliest = now_ps - gap * q->params->pace_burst_packets;
    q->pace_ps = (q->pace_ps > earliest ? q->pace_ps : earliest) + gap;
}

/* --- CNPs --- */

void roce_cc_cnp(struct roce_qp *q, int64_t now_ps)
{
    struct cc *c = &q->cc;
    int64_t rate = c->rate_bps, cwnd = c->cwnd_bytes;
    q->base.count.rp_cnp_handled++;
    if (!c->ops->cnp)
        return;
    c->ops->cnp(c, now_ps);
    changed(q, now_ps, rate, cwnd);
}

static int64_t cnp_interval_ps(const struct roce_qp *q)
{
    return q->cc.cnp_interval_ps ? q->cc.cnp_interval_ps : q->params->cnp_interval_ps;
}

static void notify(struct roce_qp *q, int64_t now_ps)
{
    int64_t interval = cnp_interval_ps(q);
    q->cnp_pending = true;
    q->cnp_owed = false;
    if (q->params->cnp_rule == ROCE_CNP_WINDOW && interval > 0) {
        /* each QP's clock ticks at its own times */
        int64_t phase = (int64_t)(((uint64_t)q->base.ep.id << 32 | q->base.qpn) * UINT64_C(0x9e3779b97f4a7c15) >> 1) % interval;
        q->cnp_next_ps = now_ps + interval - (now_ps + phase) % interval;
    } else {
        q->cnp_next_ps = now_ps + interval;
    }
}

/* A control that wants marks but no CNPs has them in acknowledgements. */
static bool echoes(const struct roce_qp *q) { return q->cc.ops->ecn && !q->cc.ops->cnp; }

void roce_cc_marked(struct roce_qp *q, int64_t now_ps)
{
    q->base.count.np_ecn_marked_roce_packets++;
    if (echoes(q))
        q->resp.ack_marked = true;
    else if (!q->params->cnp)
        ;
    else if (now_ps >= q->cnp_next_ps)
        notify(q, now_ps);
    else if (q->params->cnp_rule == ROCE_CNP_OWED)
        q->cnp_owed = true;
}

/* --- time --- */

int64_t roce_cc_next_wake_ps(const struct roce_qp *q)
{
    int64_t at = q->cc.next_wake_ps;
    return q->cnp_owed && q->cnp_next_ps < at ? q->cnp_next_ps : at;
}

void roce_cc_wake(struct roce_qp *q, int64_t now_ps)
{
    struct cc *c = &q->cc;
    if (q->cnp_owed && q->cnp_next_ps <= now_ps)
        notify(q, now_ps);
    if (c->next_wake_ps > now_ps)
        return;
    int64_t rate = c->rate_bps, cwnd = c->cwnd_bytes;
    c->next_wake_ps = SIM_NEVER_PS;
    c->ops->wake(c, now_ps);
    changed(q, now_ps, rate, cwnd);
}

/* --- round trips --- */

/* Stamps stand at their packet's number modulo the ring's size, which grows with what is in flight. */
static bool make_room(struct roce_qp *q, uint64_t number)
{
    struct roce_stamps *s = &q->stamps;
    if (s->at && (number - q->req.una <= s->mask || s->mask + 1 >= STAMPS_MAX))
        return true;
    uint32_t size = s->at ? 2 * (s->mask + 1) : STAMPS_FIRST;
    struct roce_stamp *grown = calloc(size, sizeof *grown);
    if (!grown)
        return s->at != NULL;
    for (uint32_t i = 0; s->at && i <= s->mask; i++)
        grown[s->at[i].number & (size - 1)] = s->at[i];
    free(s->at);
    s->at = grown;
    s->mask = size - 1;
    return true;
}

/* Karn's rule: what has been sent twice gives no sample. */
void roce_cc_sent(struct roce_qp *q, int64_t now_ps, uint64_t number, const struct pkt *p)
{
    bool again = p->flags & PKT_F_RETX;
    struct roce_req *r = &q->req;
    if (p->payload_len == 0)
        return;
    if (q->cc.ops->ack) {
        if (make_room(q, number))
            q->stamps.at[number & q->stamps.mask] = (struct roce_stamp){ number, again ? -1 : now_ps };
    } else if (p->roce.ack_req && r->timed_ps < 0 && !again) { /* only for traces: one packet at a time */
        r->timed = number;
        r->timed_ps = now_ps;
    }
}

static int64_t round_trip(struct roce_qp *q, int64_t now_ps, uint64_t number)
{
    struct roce_req *r = &q->req;
    int64_t sent_ps = -1;
    if (q->stamps.at) {
        const struct roce_stamp *s = &q->stamps.at[number & q->stamps.mask];
        if (s->number == number)
            sent_ps = s->at_ps;
    } else if (r->timed_ps >= 0 && number >= r->timed) {
        if (number == r->timed)
            sent_ps = r->timed_ps;
        r->timed_ps = -1;
    }
    return sent_ps >= 0 ? now_ps - sent_ps : -1;
}

void roce_cc_heard(struct roce_qp *q, int64_t now_ps, uint64_t number, const struct pkt *p)
{
    q->heard = (struct roce_heard){ .rtt_ps = -1, .pkt = p };
    if (p->roce.syndrome < ROCE_AETH_RNR) /* of a NAK nothing is known of when its cause was sent */
        q->heard.rtt_ps = round_trip(q, now_ps, number);
    if (q->heard.rtt_ps > 0)
        q->cc.rtt_ps = q->heard.rtt_ps;
}

/* --- acknowledgements --- */

static uint8_t read_telemetry(const struct pkt_int *t, struct cc_hop hop[CC_HOPS_MAX])
{
    uint8_t n = t->nhops < CC_HOPS_MAX ? t->nhops : CC_HOPS_MAX;
    for (unsigned i = 0; i < n; i++) {
        struct telemetry_hop h = telemetry_read(t->hop[i]);
        hop[i] = (struct cc_hop){ .rate_bps = h.rate_bps, .queue_bytes = h.queue_bytes, .ts_ns = (uint32_t)h.ts_ns, .tx_bytes = (uint32_t)h.tx_bytes };
    }
    return n;
}

void roce_cc_ack(struct roce_qp *q, struct cc_ack *a)
{
    struct cc *c = &q->cc;
    const struct pkt *p = q->heard.pkt;
    struct cc_hop hop[CC_HOPS_MAX];
    if (!c->ops->ack)
        return;
    a->rtt_ps = -1;
    if (p) {
        a->rtt_ps = q->heard.rtt_ps;
        a->ece_bytes = p->roce.becn ? a->acked_bytes : 0;
        a->path_hops = p->ttl <= 64 ? 64 - p->ttl : 0; /* 64 is where our TTLs begin, and what RFC 1700 recommends */
        if (p->flags & PKT_F_INT) {
            a->nhops = read_telemetry(&p->telemetry, hop);
            a->hop = hop;
            a->path_id = p->telemetry.path_id;
        }
    }
    int64_t rate = c->rate_bps, cwnd = c->cwnd_bytes;
    c->ops->ack(c, a);
    changed(q, a->now_ps, rate, cwnd);
}

/* --- start --- */

static uint64_t bdp_bytes(int64_t rtt_ps, int64_t bps)
{
    return (uint64_t)((unsigned __int128)(uint64_t)rtt_ps * (uint64_t)bps / 8 / (uint64_t)SIM_PS_PER_S);
}

static uint64_t window_limit(const struct roce_qp *q)
{
    const struct roce_params *par = q->params;
    uint64_t limit = ROCE_OUTSTANDING_MAX, bytes = (uint64_t)par->window_bytes >> q->mtu_shift, packets = (uint64_t)par->window_packets;
    if (packets && packets < limit)
        limit = packets;
    if (par->window_bytes && bytes < limit)
        limit = bytes;
    double bdps = q->irn != NULL && !packets && !par->window_bytes && par->window_bdp <= 0 ? 1 : par->window_bdp; /* IRN never goes without a cap */
    if (bdps > 0 && q->cc.base_rtt_ps > 0) {
        double cap = (double)bdp_bytes(q->cc.base_rtt_ps, q->cc.link_bps) * bdps / q->cc.wire_mss_bytes;
        uint64_t whole = (uint64_t)cap + ((double)(uint64_t)cap < cap); /* a part of a packet is one */
        if (whole < limit)
            limit = whole;
    }
    return limit ? limit : 1;
}

void roce_cc_start(struct roce_qp *q, int64_t base_rtt_ps)
{
    struct cc *c = &q->cc;
    struct pkt full = { .kind = PKT_ROCE, .roce.opcode = (uint8_t)(ROCE_WRITE_MIDDLE + (q->irn != NULL ? ROCE_IRN : 0)), .flags = q->telemetry ? PKT_F_INT : 0, .payload_len = (uint16_t)q->mtu };
    pkt_set_len(&full);
    c->base_rtt_ps = base_rtt_ps;
    c->mss_bytes = q->mtu;
    c->wire_mss_bytes = (uint32_t)full.frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES;
    q->req.limit = window_limit(q);
    uint64_t initial = q->req.limit < ROCE_OUTSTANDING_MAX ? q->req.limit << q->mtu_shift : bdp_bytes(base_rtt_ps, c->link_bps);
    if (initial < 10 * (uint64_t)q->mtu)
        initial = 10 * (uint64_t)q->mtu; /* RFC 6928's ten segments where the path is not known */
    c->initial_window_bytes = initial < UINT32_MAX ? (uint32_t)initial : UINT32_MAX;
    cc_start(c, c->ops, c->params, rnic_qp_now(&q->base, 0));
    if (c->ops->ecn)
        q->ecn = ECT0;
}
