/* SPDX-License-Identifier: GPL-2.0-only */
/* The requester: WQEs become request packets, acknowledgements and responses become progress (IBTA vol. 1 9.7.3 to 9.7.7). */
#include "roce_internal.h"

#define PROTO_UDP 17
#define PSN_SPAN (UINT64_C(1) << 23) /* unacknowledged PSNs at most (IBTA 9.7.2) */

enum { POS_FIRST, POS_MIDDLE, POS_LAST, POS_ONLY };
static const uint8_t request_opcode[RNIC_OP_RECV][4] = {
    [RNIC_OP_SEND]      = { ROCE_SEND_FIRST, ROCE_SEND_MIDDLE, ROCE_SEND_LAST, ROCE_SEND_ONLY },
    [RNIC_OP_SEND_IMM]  = { ROCE_SEND_FIRST, ROCE_SEND_MIDDLE, ROCE_SEND_LAST_IMM, ROCE_SEND_ONLY_IMM },
    [RNIC_OP_SEND_INV]  = { ROCE_SEND_FIRST, ROCE_SEND_MIDDLE, ROCE_SEND_LAST_INV, ROCE_SEND_ONLY_INV },
    [RNIC_OP_WRITE]     = { ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, ROCE_WRITE_LAST, ROCE_WRITE_ONLY },
    [RNIC_OP_WRITE_IMM] = { ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, ROCE_WRITE_LAST_IMM, ROCE_WRITE_ONLY_IMM },
    [RNIC_OP_READ]      = { ROCE_READ_REQUEST, ROCE_READ_REQUEST, ROCE_READ_REQUEST, ROCE_READ_REQUEST },
    [RNIC_OP_CMP_SWAP]  = { ROCE_CMP_SWAP, ROCE_CMP_SWAP, ROCE_CMP_SWAP, ROCE_CMP_SWAP },
    [RNIC_OP_FETCH_ADD] = { ROCE_FETCH_ADD, ROCE_FETCH_ADD, ROCE_FETCH_ADD, ROCE_FETCH_ADD },
};

static bool is_atomic(enum rnic_opcode op) { return op == RNIC_OP_CMP_SWAP || op == RNIC_OP_FETCH_ADD; }
static bool has_response(enum rnic_opcode op) { return op == RNIC_OP_READ || is_atomic(op); }

static bool alive(const struct roce_qp *q) { return q->base.state == RNIC_QP_RTS || q->base.state == RNIC_QP_SQD; }

/* Packet numbers that a WQE takes; a READ takes one per response packet (IBTA 9.7.3.1). */
static uint64_t count_packets(const struct roce_qp *q, const struct rnic_send_wr *wr)
{
    if (wr->op == RNIC_OP_LOCAL_INV)
        return 0;
    return wr->sge.len <= q->mtu || is_atomic(wr->op) ? 1 : ((uint64_t)wr->sge.len + q->mtu - 1) >> q->mtu_shift;
}

static inline uint64_t first_of(const struct rnic_wqe *w) { return w->scratch[0]; }
static inline uint64_t end_of(const struct rnic_wqe *w) { return w->scratch[0] + w->scratch[1]; }

/* Give WQE wqe_nxt its packet numbers if it has none yet. */
static struct rnic_wqe *current_wqe(struct roce_qp *q)
{
    struct roce_req *r = &q->req;
    struct rnic_wqe *w = rnic_sq_wqe(&q->base, r->wqe_nxt);
    if (r->wqe_nxt == r->wqe_end) {
        w->scratch[0] = r->nxt;
        w->scratch[1] = count_packets(q, &w->wr);
        w->scratch[2] = w->scratch[1] ? ++r->ssn : r->ssn;
        r->wqe_end++;
    }
    return w;
}

/* --- what may go --- */

static uint64_t window(const struct roce_qp *q)
{
    uint64_t limit = q->req.limit;
    if (q->cc.cwnd_bytes != CC_NO_WINDOW) {
        uint64_t w = (uint64_t)q->cc.cwnd_bytes >> q->mtu_shift;
        if (w < limit)
            limit = w ? w : 1;
    }
    return limit;
}

/* The next packet of w needs a receive that the peer has not told of: it may go only alone (a limited packet, IBTA 9.7.7.2.3). */
static bool limited(const struct roce_qp *q, const struct rnic_wqe *w)
{
    const struct roce_req *r = &q->req;
    bool numbered = r->wqe_nxt != r->wqe_end;
    if (!r->credits_known || wire_psn_diff(numbered ? (uint32_t)w->scratch[2] : r->ssn + 1, r->lsn) <= 0)
        return false;
    switch (w->wr.op) {
    case RNIC_OP_SEND: case RNIC_OP_SEND_IMM: case RNIC_OP_SEND_INV: return true;
    case RNIC_OP_WRITE_IMM: return numbered ? r->nxt + 1 == end_of(w) : w->wr.sge.len <= q->mtu;
    default: return false;
    }
}

int64_t roce_req_ready_ps(const struct roce_qp *q)
{
    const struct roce_req *r = &q->req;
    if (!alive(q) || r->wqe_nxt == q->base.sq_visible)
        return SIM_NEVER_PS;
    if (r->nxt - r->acked >= window(q))
        return SIM_NEVER_PS;
    const struct rnic_wqe *w = rnic_sq_wqe((struct rnic_qp *)(uintptr_t)&q->base, r->wqe_nxt);
    if (!(w->tflags & ROCE_WQE_STARTED)) {
        if (q->base.state != RNIC_QP_RTS)
            return SIM_NEVER_PS;
        if ((w->wr.flags & RNIC_SEND_FENCE) && r->reads_out > 0)
            return SIM_NEVER_PS;
        if (has_response(w->wr.op) &&
            (r->reads_out >= r->ord || r->nxt - r->una + count_packets(q, &w->wr) > PSN_SPAN))
            return SIM_NEVER_PS;
    }
    if (r->credits_known && r->nxt != r->una && limited(q, w))
        return SIM_NEVER_PS;
    return r->rnr_until_ps;
}

/* --- sending --- */

static bool ask_for_ack(struct roce_qp *q, const struct rnic_wqe *w, uint64_t next)
{
    struct roce_req *r = &q->req;
    const struct roce_params *par = q->params;
    bool ask = r->force_ack_req || has_response(w->wr.op) || next - r->acked >= window(q);
    if (next == end_of(w))
        ask |= par->ack_request == ROCE_ACK_REQ_MESSAGE || r->wqe_nxt + 1 == q->base.sq_visible;
    ask |= par->ack_request_packets > 0 && r->since_ack_req + 1 >= (uint64_t)par->ack_request_packets;
    ask |= q->cc.ack_every > 0 && r->since_ack_req + 1 >= q->cc.ack_every;
    ask |= r->credits_known && limited(q, w);
    r->since_ack_req = ask ? 0 : r->since_ack_req + 1;
    if (ask)
        r->force_ack_req = false;
    return ask;
}

static enum rnic_fault add_payload(struct roce_qp *q, const struct rnic_wqe *w, uint64_t off, uint32_t len, struct pkt *p)
{
    struct roce_req *r = &q->req;
    if (len == 0)
        return RNIC_FAULT_NONE;
    if (!r->span_valid || r->span_wqe != r->wqe_nxt) {
        enum rnic_fault f = rnic_describe_wqe(&q->base, w, &r->span);
        if (f != RNIC_FAULT_NONE)
            return f;
        r->span_wqe = r->wqe_nxt;
        r->span_valid = true;
    }
    if (r->span.mem != NULL) /* the region may have gone since: checked each time */
        return rnic_source_wqe(&q->base, w, (uint32_t)off, len, p);
    (void)pkt_add_pattern(p, len, r->span.seed, r->span.off + off);
    return RNIC_FAULT_NONE;
}

static void fill_remote(struct pkt *p, const struct rnic_send_wr *wr, uint64_t off)
{
    if (is_atomic(wr->op)) {
        p->roce.x.atomic.va = wr->remote_va;
        p->roce.x.atomic.rkey = wr->rkey;
        p->roce.x.atomic.swap_add = wr->swap_add;
        p->roce.x.atomic.compare = wr->op == RNIC_OP_CMP_SWAP ? wr->compare : 0;
    } else {
        p->roce.x.reth.va = wr->remote_va + off;
        p->roce.x.reth.rkey = wr->rkey;
        p->roce.x.reth.len = (uint32_t)(wr->sge.len - off);
    }
}

/* A datagram's own destination, or the one that the QP was given. */
static void address_datagram(const struct roce_qp *q, const struct rnic_send_wr *wr, struct pkt *p)
{
    p->roce.x.deth.qkey = q->qkey;
    p->roce.x.deth.sqpn = q->base.qpn;
    if (!wr->ud.qpn)
        return;
    p->dst = wr->ud.addr;
    p->roce.dqpn = wr->ud.qpn & ROCE_PSN_MASK;
    p->roce.x.deth.qkey = wr->ud.qkey;
    p->flow_hash = pkt_flow_hash(p->src, p->dst, PROTO_UDP, p->sport, WIRE_ROCE_PORT);
}

static void count_sent(struct roce_qp *q, int64_t now_ps, struct pkt *p, uint64_t next)
{
    struct roce_req *r = &q->req;
    if (r->nxt < r->max) {
        p->flags |= PKT_F_RETX;
        q->base.count.retransmitted_packets++;
        q->base.count.retransmitted_bytes += p->payload_len;
        roce_trace(q, now_ps, SIM_TRACE_RETRANSMIT, p->roce.psn, p->payload_len);
    }
    roce_cc_sent(q, now_ps, next - 1, p);
    if (r->max == r->una)
        r->progress_ps = now_ps;
}

bool roce_req_tx(struct roce_qp *q, int64_t now_ps, struct pkt *p)
{
    struct roce_req *r = &q->req;
    struct rnic_wqe *w;
    r->rnr_until_ps = 0;
    while ((w = current_wqe(q))->scratch[1] == 0) {
        uint32_t i = r->wqe_nxt++;
        bool first = !(w->tflags & ROCE_WQE_STARTED);
        w->tflags |= ROCE_WQE_STARTED;
        if (r->una == r->max && r->wqe_una == i)
            r->wqe_una++;
        if (first)
            rnic_local_inv(&q->base, i);
        if (roce_req_ready_ps(q) > now_ps)
            return false;
    }
    const struct rnic_send_wr *wr = &w->wr;
    uint64_t index = r->nxt - first_of(w), off = index << q->mtu_shift;
    uint64_t next = has_response(wr->op) ? end_of(w) : r->nxt + 1;
    unsigned pos = (index > 0 ? POS_MIDDLE : POS_FIRST);
    if (next == end_of(w))
        pos = index > 0 ? POS_LAST : POS_ONLY;
    roce_start_packet(q, p, request_opcode[wr->op][pos] + q->opcode_base, roce_psn(q->psn0, r->nxt));
    unsigned flags = wire_roce_op[p->roce.opcode].flags;
    if (flags & (ROCE_OP_RETH | ROCE_OP_ATOMICETH))
        fill_remote(p, wr, off);
    if (flags & (ROCE_OP_IMM | ROCE_OP_IETH))
        p->roce.imm_or_rkey = wr->imm_or_inv;
    if (flags & ROCE_OP_DETH)
        address_datagram(q, wr, p);
    if (!has_response(wr->op)) {
        uint64_t left = wr->sge.len - off;
        if (add_payload(q, w, off, left < q->mtu ? (uint32_t)left : q->mtu, p) != RNIC_FAULT_NONE) {
            rnic_fail(&q->base, r->wqe_nxt, RNIC_WC_LOC_PROT_ERR);
            return false;
        }
        p->roce.se = next == end_of(w) && (wr->flags & RNIC_SEND_SOLICITED);
    } else if (!(w->tflags & ROCE_WQE_STARTED)) {
        r->reads_out++;
    }
    w->tflags |= ROCE_WQE_STARTED;
    if (q->service == ROCE_SERVICE_RC) {
        p->roce.ack_req = ask_for_ack(q, w, next);
        count_sent(q, now_ps, p, next);
    }
    r->nxt = next;
    if (r->max < next)
        r->max = next;
    uint32_t i = r->wqe_nxt;
    if (next == end_of(w))
        r->wqe_nxt++;
    if (q->service != ROCE_SERVICE_RC)
        roce_unreliable_sent(q, w, i);
    return true;
}

/* The WQE that packet number n >= una belongs to: the last one that begins at or before n; wqe_end if n is of none so far. */
static uint32_t wqe_of(struct roce_qp *q, uint64_t n)
{
    struct roce_req *r = &q->req;
    uint32_t lo = 0, hi = r->wqe_end - r->wqe_una;
    if (hi == 0 || n >= end_of(rnic_sq_wqe(&q->base, r->wqe_end - 1)))
        return r->wqe_end;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (first_of(rnic_sq_wqe(&q->base, r->wqe_una + mid)) <= n)
            lo = mid;
        else
            hi = mid;
    }
    return r->wqe_una + lo;
}

void roce_req_rewind(struct roce_qp *q, uint64_t to)
{
    struct roce_req *r = &q->req;
    assert(to >= r->una && to <= r->max);
    r->nxt = to;
    if (q->retry->whole_messages)
        r->acked = to; /* the peer forgets it, so it is progress once more */
    r->wqe_nxt = wqe_of(q, to);
    r->since_ack_req = 0;
    r->timed_ps = -1;
}

/* --- progress --- */

/* An AETH's credits: the peer has receives for so many messages after the last it completed. */
static void take_credits(struct roce_req *r, const struct pkt_roce *h)
{
    unsigned code = h->syndrome & 0x1f;
    if ((h->syndrome & 0x60) != ROCE_AETH_ACK || code == ROCE_AETH_NO_CREDITS)
        return;
    uint32_t lsn = (h->msn + roce_credit_count(code)) & ROCE_PSN_MASK;
    if (r->credits_known && wire_psn_diff(lsn, r->lsn) <= 0)
        return;
    r->lsn = lsn;
    r->credits_known = true;
}

static void tell_cc(struct roce_qp *q, int64_t now_ps, uint64_t packets)
{
    struct roce_req *r = &q->req;
    if (!q->cc.ops->ack && !r->in_recovery)
        return;
    struct cc_ack a = { .now_ps = now_ps, .acked_bytes = packets << q->mtu_shift, .in_flight_bytes = (r->max - r->una) << q->mtu_shift,
        .snd_nxt = r->max << q->mtu_shift, .snd_una = r->una << q->mtu_shift, .in_recovery = r->in_recovery,
        .cwnd_limited = r->nxt - r->una + packets >= window(q) };
    if (r->in_recovery && r->una >= r->recover) {
        r->in_recovery = false;
        if (q->cc.ops->recovered)
            q->cc.ops->recovered(&q->cc, now_ps);
    }
    roce_cc_ack(q, &a);
}

static void note_progress(struct roce_qp *q, int64_t now_ps)
{
    q->req.progress_ps = now_ps;
    q->req.retries_left = q->retry_cnt;
    q->req.rnr_left = q->rnr_retry;
}

/* Everything before packet number `to` has arrived, says the peer; a READ or atomic under way is done only by its responses and stops
 * the advance. Returns false if it was stopped so. */
static bool advance(struct roce_qp *q, int64_t now_ps, uint64_t to)
{
    struct roce_req *r = &q->req;
    uint64_t before = r->una;
    uint32_t done = r->wqe_una;
    bool stopped = false;
    while (done != r->wqe_end) {
        const struct rnic_wqe *w = rnic_sq_wqe(&q->base, done);
        if (to < end_of(w) || has_response(w->wr.op)) {
            uint64_t at = first_of(w) > r->una ? first_of(w) : r->una;
            if (has_response(w->wr.op))
                stopped = to > at;
            else if (!q->retry->whole_messages && to > at)
                at = to;
            r->una = at;
            break;
        }
        if (end_of(w) > r->una)
            r->una = end_of(w);
        done++;
    }
    if (r->una > r->nxt)
        roce_req_rewind(q, r->una);
    if (to > r->acked && !stopped) {
        r->acked = to;
        note_progress(q, now_ps);
    } else if (r->una > before) {
        r->acked = r->una > r->acked ? r->una : r->acked;
        note_progress(q, now_ps);
    }
    if (r->una > before)
        tell_cc(q, now_ps, r->una - before);
    uint32_t i = r->wqe_una;
    r->wqe_una = done; /* completing may call the application, which may fail the QP */
    for (; i != done && alive(q); i++)
        if ((int32_t)(i - q->base.sq_head) >= 0 && !rnic_sq_wqe(&q->base, i)->done)
            rnic_complete_send(&q->base, i, RNIC_WC_SUCCESS, 0);
    return !stopped;
}

static void fail_oldest(struct roce_qp *q, enum rnic_wc_status status)
{
    rnic_fail(&q->base, q->req.wqe_una, status);
}

/* A retry without progress uses up one of retry_cnt. */
static bool may_retry(struct roce_qp *q)
{
    if (q->req.retries_left == 0) {
        fail_oldest(q, RNIC_WC_RETRY_EXC_ERR);
        return false;
    }
    q->req.retries_left--;
    return true;
}

void roce_req_loss(struct roce_qp *q, int64_t now_ps)
{
    struct roce_req *r = &q->req;
    if (r->in_recovery)
        return;
    r->in_recovery = true;
    r->recover = r->max;
    if (q->cc.ops->loss)
        q->cc.ops->loss(&q->cc, now_ps, (r->max - r->una) << q->mtu_shift);
}

/* Responses from una on are missing: as good as a NAK (IBTA 9.7.5.2.3), heeded once until there is progress. What still flies from
 * before looks like the next gap, so a repeated request that is lost too waits for the timeout. */
static void response_gap(struct roce_qp *q, int64_t now_ps)
{
    struct roce_req *r = &q->req;
    if ((r->gap_seen && r->gap_una == r->una) || r->nxt <= r->una)
        return;
    r->gap_seen = true;
    r->gap_una = r->una;
    q->base.count.packet_seq_err++;
    if (may_retry(q))
        q->retry->nak(q, now_ps, r->una);
}

static enum rnic_wc_status nak_status(unsigned syndrome)
{
    switch (syndrome) {
    case ROCE_NAK_INVALID: return RNIC_WC_REM_INV_REQ_ERR;
    case ROCE_NAK_ACCESS:  return RNIC_WC_REM_ACCESS_ERR;
    default:               return RNIC_WC_REM_OP_ERR;
    }
}

static void not_ready(struct roce_qp *q, int64_t now_ps, uint64_t number, unsigned timer)
{
    struct roce_req *r = &q->req;
    q->base.count.rnr_nak_retry_err++;
    if (q->rnr_retry != 7) {
        if (r->rnr_left == 0) {
            fail_oldest(q, RNIC_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        r->rnr_left--;
    }
    roce_req_rewind(q, number);
    r->rnr_until_ps = now_ps + roce_rnr_timer_ps(timer);
    r->progress_ps = r->rnr_until_ps; /* the ACK timeout starts when sending does */
}

void roce_req_ack(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_req *r = &q->req;
    unsigned syndrome = p->roce.syndrome;
    uint64_t n = roce_number(r->una, q->psn0, p->roce.psn);
    bool positive = (syndrome & 0x60) == ROCE_AETH_ACK;
    take_credits(r, &p->roce);
    if (!alive(q) || n - r->una >= r->max - r->una)
        return; /* of something acknowledged already, or never sent */
    roce_cc_heard(q, now_ps, n, p);
    bool reached = advance(q, now_ps, positive ? n + 1 : n);
    q->heard.pkt = NULL;
    if (!alive(q))
        return;
    if (syndrome > ROCE_NAK_SEQUENCE) {
        if (syndrome == ROCE_NAK_ACCESS)
            q->base.count.remote_access_err++;
        rnic_fail(&q->base, wqe_of(q, n), nak_status(syndrome));
    } else if (!reached) {
        response_gap(q, now_ps);
    } else if ((syndrome & 0x60) == ROCE_AETH_RNR) {
        not_ready(q, now_ps, n, syndrome & 0x1f);
    } else if (syndrome == ROCE_NAK_SEQUENCE) {
        q->base.count.packet_seq_err++;
        if (may_retry(q))
            q->retry->nak(q, now_ps, n > r->una ? n : r->una);
    }
}

/* --- responses --- */

static void response_in_order(struct roce_qp *q, int64_t now_ps, const struct pkt *p, struct rnic_wqe *w)
{
    struct roce_req *r = &q->req;
    enum rnic_fault fault;
    uint32_t len = p->payload_len;
    if (is_atomic(w->wr.op)) {
        uint8_t b[8];
        for (unsigned i = 0; i < 8; i++)
            b[i] = (uint8_t)(p->roce.x.atomic_ack.orig >> 8 * i);
        len = 8;
        fault = rnic_place_bytes(&q->base, w->wr.sge.lkey, w->wr.sge.va, 8, RNIC_LOCAL_WRITE, b);
    } else {
        uint64_t off = (r->una - first_of(w)) << q->mtu_shift, left = w->wr.sge.len - off;
        if (len != (left < q->mtu ? left : q->mtu)) {
            fail_oldest(q, RNIC_WC_BAD_RESP_ERR);
            return;
        }
        fault = rnic_place(&q->base, w->wr.sge.lkey, w->wr.sge.va + off, len, RNIC_LOCAL_WRITE, p, 0);
    }
    if (fault != RNIC_FAULT_NONE) {
        fail_oldest(q, RNIC_WC_LOC_PROT_ERR);
        return;
    }
    r->una++;
    r->acked = r->una > r->acked ? r->una : r->acked;
    r->gap_seen = false;
    if (r->una > r->nxt)
        roce_req_rewind(q, r->una);
    note_progress(q, now_ps);
    bool complete = r->una == end_of(w);
    uint32_t i = r->wqe_una;
    if (complete) {
        r->reads_out--;
        do /* and what takes no packets, so was done when the cursor passed it */
            r->wqe_una++;
        while (r->wqe_una != r->wqe_end && rnic_sq_wqe(&q->base, r->wqe_una)->scratch[1] == 0);
    }
    tell_cc(q, now_ps, 1);
    if (complete)
        rnic_complete_send(&q->base, i, RNIC_WC_SUCCESS, len);
}

void roce_req_response(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_req *r = &q->req;
    uint64_t n = roce_number(r->una, q->psn0, p->roce.psn);
    if (wire_roce_op[p->roce.opcode].flags & ROCE_OP_AETH)
        take_credits(r, &p->roce);
    if (!alive(q) || n - r->una >= r->max - r->una)
        return; /* of a READ that has been answered already, or none of ours */
    bool reached = n == r->una || advance(q, now_ps, n);
    if (!alive(q))
        return;
    if (!reached || r->una != n) {
        response_gap(q, now_ps);
        return;
    }
    struct rnic_wqe *w = rnic_sq_wqe(&q->base, r->wqe_una);
    bool atomic = p->roce.opcode == ROCE_ATOMIC_ACK;
    if (r->wqe_una == r->wqe_end || !has_response(w->wr.op) || is_atomic(w->wr.op) != atomic) {
        if (r->wqe_una != r->wqe_end)
            fail_oldest(q, RNIC_WC_BAD_RESP_ERR);
        return;
    }
    response_in_order(q, now_ps, p, w);
}

void roce_req_timeout(struct roce_qp *q, int64_t now_ps)
{
    struct roce_req *r = &q->req;
    q->base.count.local_ack_timeout_err++;
    q->base.count.timeouts++;
    q->base.count.timer_waits++;
    roce_trace(q, now_ps, SIM_TRACE_TIMEOUT, (uint64_t)q->retry_cnt - r->retries_left, 0);
    if (!may_retry(q))
        return;
    if (q->cc.ops->timeout)
        q->cc.ops->timeout(&q->cc, now_ps, (r->max - r->una) << q->mtu_shift);
    r->in_recovery = true;
    r->recover = r->max;
    r->gap_seen = false;
    r->progress_ps = now_ps;
    roce_draw_timeout(q);
    r->force_ack_req = q->params->ack_request == ROCE_ACK_REQ_DRAIN; /* else the message's end asks anyway */
    q->retry->timeout(q, now_ps);
}
