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

/* Packet numbers that a WQE takes; a READ takes one per response packet (IBTA 9.7.3.1), in IRN one for its request. */
static uint64_t count_packets(const struct roce_qp *q, const struct rnic_send_wr *wr)
{
    if (wr->op == RNIC_OP_LOCAL_INV)
        return 0;
    return wr->sge.len <= q->mtu || roce_is_atomic(wr->op) || (q->irn != NULL && wr->op == RNIC_OP_READ) ? 1 : ((uint64_t)wr->sge.len + q->mtu - 1) >> q->mtu_shift;
}

/* Give WQE wqe_nxt its packet numbers if it has none yet. */
static struct rnic_wqe *current_wqe(struct roce_qp *q)
{
    struct roce_req *r = &q->req;
    struct rnic_wqe *w = rnic_sq_wqe(&q->base, r->wqe_nxt);
    if (r->wqe_nxt == r->wqe_end) {
        w->scratch[0] = r->nxt;
        w->scratch[1] = count_packets(q, &w->wr);
        w->scratch[2] = w->scratch[1] ? ++r->ssn : r->ssn;
        if (q->irn != NULL && roce_has_response(w->wr.op))
            w->scratch[3] = q->irn->read_sn++;
        else if (q->irn != NULL && roce_takes_receive(w->wr.op))
            w->scratch[3] = q->irn->recv_sn++;
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

int64_t roce_req_ready_ps(const struct roce_qp *q)
{
    const struct roce_req *r = &q->req;
    if (!roce_alive(q))
        return SIM_NEVER_PS;
    if (q->retry->lost != NULL && q->retry->lost(q) != ROCE_NONE)
        return r->rnr_until_ps;
    if (r->wqe_nxt == q->base.sq_visible)
        return SIM_NEVER_PS;
    if (r->nxt - r->acked >= window(q))
        return SIM_NEVER_PS;
    const struct rnic_wqe *w = rnic_sq_wqe((struct rnic_qp *)(uintptr_t)&q->base, r->wqe_nxt);
    if (!(w->tflags & ROCE_WQE_STARTED)) {
        if (q->base.state != RNIC_QP_RTS)
            return SIM_NEVER_PS;
        if ((w->wr.flags & RNIC_SEND_FENCE) && r->reads_out > 0)
            return SIM_NEVER_PS;
        if (roce_has_response(w->wr.op) &&
            (r->reads_out >= r->ord || r->nxt - r->una + count_packets(q, &w->wr) > PSN_SPAN))
            return SIM_NEVER_PS;
    }
    if (roce_limited_in_flight(r) && roce_limited(q, w))
        return SIM_NEVER_PS;
    return r->rnr_until_ps;
}

/* --- sending --- */

/* Behind this WQE's last packet nothing may go before something is heard: this is where to ask for an ACK if nowhere else. */
static bool nothing_follows(struct roce_qp *q, uint64_t next)
{
    struct roce_req *r = &q->req;
    uint64_t nxt = r->nxt;
    uint32_t wqe = r->wqe_nxt;
    r->nxt = next;
    do
        r->wqe_nxt++;
    while (r->wqe_nxt != q->base.sq_visible && rnic_sq_wqe(&q->base, r->wqe_nxt)->wr.op == RNIC_OP_LOCAL_INV);
    bool none = roce_req_ready_ps(q) == SIM_NEVER_PS;
    r->nxt = nxt;
    r->wqe_nxt = wqe;
    return none;
}

static bool ask_for_ack(struct roce_qp *q, const struct rnic_wqe *w, uint64_t next)
{
    struct roce_req *r = &q->req;
    const struct roce_params *par = q->params;
    bool ask = q->irn != NULL || r->force_ack_req || roce_has_response(w->wr.op) || next - r->acked >= window(q);
    if (next == roce_end_of(w))
        ask = ask || par->ack_request == ROCE_ACK_REQ_MESSAGE || nothing_follows(q, next);
    ask |= par->ack_request_packets > 0 && r->since_ack_req + 1 >= (uint64_t)par->ack_request_packets;
    ask |= q->cc.ack_every > 0 && r->since_ack_req + 1 >= q->cc.ack_every;
    if (r->credits_known && roce_limited(q, w)) {
        r->limited_at = r->nxt;
        ask = true;
    }
    r->since_ack_req = ask ? 0 : r->since_ack_req + 1;
    if (ask)
        r->force_ack_req = false;
    return ask;
}

static enum rnic_fault add_payload(struct roce_qp *q, uint32_t i, const struct rnic_wqe *w, uint64_t off, uint32_t len, struct pkt *p)
{
    struct roce_req *r = &q->req;
    if (len == 0)
        return RNIC_FAULT_NONE;
    if (!r->span_valid || r->span_wqe != i) {
        enum rnic_fault f = rnic_describe_wqe(&q->base, w, &r->span);
        if (f != RNIC_FAULT_NONE)
            return f;
        r->span_wqe = i;
        r->span_valid = true;
    }
    if (r->span.mem != NULL) /* the region may have gone since: checked each time */
        return rnic_source_wqe(&q->base, w, (uint32_t)off, len, p);
    (void)pkt_add_pattern(p, len, r->span.seed, r->span.off + off);
    return RNIC_FAULT_NONE;
}

static void fill_remote(struct pkt *p, const struct rnic_send_wr *wr, uint64_t off, uint64_t len)
{
    if (roce_is_atomic(wr->op)) {
        p->roce.x.atomic.va = wr->remote_va;
        p->roce.x.atomic.rkey = wr->rkey;
        p->roce.x.atomic.swap_add = wr->swap_add;
        p->roce.x.atomic.compare = wr->op == RNIC_OP_CMP_SWAP ? wr->compare : 0;
    } else {
        p->roce.x.reth.va = wr->remote_va + off;
        p->roce.x.reth.rkey = wr->rkey;
        p->roce.x.reth.len = (uint32_t)len;
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

static void count_again(struct roce_qp *q, int64_t now_ps, struct pkt *p)
{
    p->flags |= PKT_F_RETX;
    q->base.count.retransmitted_packets++;
    q->base.count.retransmitted_bytes += p->payload_len;
    roce_trace(q, now_ps, SIM_TRACE_RETRANSMIT, p->roce.psn, p->payload_len);
}

static void count_sent(struct roce_qp *q, int64_t now_ps, struct pkt *p, uint64_t next)
{
    struct roce_req *r = &q->req;
    if (r->nxt < r->max) {
        count_again(q, now_ps, p);
    }
    roce_cc_sent(q, now_ps, next - 1, p);
    if (r->max == r->una)
        r->progress_ps = r->proven_ps = now_ps;
}

/* Packet number n of WQE i; a READ asks for what lies before number end. false: the WQE is at fault and has failed. */
static bool build(struct roce_qp *q, uint32_t i, uint64_t n, uint64_t end, struct pkt *p)
{
    const struct rnic_wqe *w = rnic_sq_wqe(&q->base, i);
    const struct rnic_send_wr *wr = &w->wr;
    uint64_t index = n - roce_first_of(w), off = index << q->mtu_shift, left = wr->sge.len - off;
    bool last = end == roce_end_of(w);
    unsigned pos = last ? (index > 0 ? POS_LAST : POS_ONLY) : index > 0 ? POS_MIDDLE : POS_FIRST;
    roce_start_packet(q, p, request_opcode[wr->op][pos] + q->opcode_base, roce_psn(q->psn0, n));
    unsigned flags = wire_roce_op[p->roce.opcode].flags;
    if (flags & (ROCE_OP_RETH | ROCE_OP_ATOMICETH))
        fill_remote(p, wr, off, wr->op != RNIC_OP_READ || last ? left : (end - n) << q->mtu_shift);
    if (flags & (ROCE_OP_IMM | ROCE_OP_IETH))
        p->roce.imm_or_rkey = wr->imm_or_inv;
    if (flags & ROCE_OP_DETH)
        address_datagram(q, wr, p);
    if (flags & ROCE_OP_IRN_SN)
        roce_irn_headers(q, w, index, p);
    if (roce_has_response(wr->op))
        return true;
    p->roce.se = last && (wr->flags & RNIC_SEND_SOLICITED);
    if (add_payload(q, i, w, off, left < q->mtu ? (uint32_t)left : q->mtu, p) == RNIC_FAULT_NONE)
        return true;
    rnic_fail(&q->base, i, RNIC_WC_LOC_PROT_ERR);
    return false;
}

/* Packet n alone, once more; of a READ what is missing from n on. */
static bool send_again(struct roce_qp *q, int64_t now_ps, uint64_t n, struct pkt *p)
{
    struct roce_req *r = &q->req;
    uint32_t i = roce_req_wqe_of(q, n);
    const struct rnic_wqe *w = rnic_sq_wqe(&q->base, i);
    uint64_t end = n + 1;
    if (roce_has_response(w->wr.op))
        while (end < roce_end_of(w) && !roce_bits_test(&r->arrived, r->una, end))
            end++;
    if (!build(q, i, n, end, p))
        return false;
    p->roce.ack_req = 1;
    count_again(q, now_ps, p);
    roce_cc_sent(q, now_ps, n, p);
    if (r->timed_ps >= 0 && r->timed == n)
        r->timed_ps = -1; /* which of the two is acknowledged cannot be told */
    q->retry->resent(q);
    return true;
}

/* Pass over what takes no packets. false: what follows may not go yet. */
static bool pass_local(struct roce_qp *q, int64_t now_ps)
{
    struct roce_req *r = &q->req;
    struct rnic_wqe *w;
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
    return true;
}

/* The first packet of w leaves for the first time. */
static void begin(struct roce_qp *q, int64_t now_ps, struct rnic_wqe *w)
{
    struct roce_req *r = &q->req;
    w->tflags |= ROCE_WQE_STARTED;
    if (r->credits_known && !roce_takes_receive(w->wr.op)) /* it is counted in SSNs and takes none of the receives that the peer has told of */
        r->lsn = (r->lsn + 1) & ROCE_PSN_MASK;
    if (!roce_has_response(w->wr.op))
        return;
    r->reads_out++;
    if (q->irn != NULL)
        roce_irn_read_posted(q, now_ps, w, r->wqe_nxt);
}

bool roce_req_tx(struct roce_qp *q, int64_t now_ps, struct pkt *p)
{
    struct roce_req *r = &q->req;
    uint64_t again = q->retry->lost != NULL ? q->retry->lost(q) : ROCE_NONE;
    r->rnr_until_ps = 0;
    if (again != ROCE_NONE)
        return send_again(q, now_ps, again, p);
    if (!pass_local(q, now_ps))
        return false;
    uint32_t i = r->wqe_nxt;
    struct rnic_wqe *w = current_wqe(q);
    uint64_t next = roce_has_response(w->wr.op) ? roce_end_of(w) : r->nxt + 1;
    if (!build(q, i, r->nxt, next, p))
        return false;
    if (!(w->tflags & ROCE_WQE_STARTED))
        begin(q, now_ps, w);
    if (q->service == ROCE_SERVICE_RC) {
        p->roce.ack_req = ask_for_ack(q, w, next);
        count_sent(q, now_ps, p, next);
    }
    r->nxt = next;
    if (r->max < next)
        r->max = next;
    if (next == roce_end_of(w))
        r->wqe_nxt++;
    if (q->service != ROCE_SERVICE_RC)
        roce_unreliable_sent(q, w, i);
    return true;
}

uint32_t roce_req_wqe_of(struct roce_qp *q, uint64_t n)
{
    struct roce_req *r = &q->req;
    uint32_t lo = 0, hi = r->wqe_end - r->wqe_una;
    if (hi == 0 || n >= roce_end_of(rnic_sq_wqe(&q->base, r->wqe_end - 1)))
        return r->wqe_end;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (roce_first_of(rnic_sq_wqe(&q->base, r->wqe_una + mid)) <= n)
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
    r->wqe_nxt = roce_req_wqe_of(q, to);
    r->since_ack_req = 0;
    r->timed_ps = -1;
    if (q->retry->rewound != NULL)
        q->retry->rewound(q);
}

/* --- progress --- */

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
    q->req.progress_ps = q->req.proven_ps = now_ps;
    q->req.retries_left = q->retry_cnt;
    q->req.rnr_left = q->rnr_retry;
}

/* Move una through the response packets of w that have arrived; true if that was all of them. */
static bool pass_arrived(struct roce_req *r, const struct rnic_wqe *w)
{
    while (r->una < roce_end_of(w) && roce_bits_test(&r->arrived, r->una, r->una))
        roce_bits_clear(&r->arrived, r->una++);
    return r->una == roce_end_of(w);
}

/* Find the first WQE that is not done if everything before `to` is, moving una. *stopped: at a READ or atomic under way. */
static uint32_t pass_done(struct roce_qp *q, uint64_t to, bool *stopped)
{
    struct roce_req *r = &q->req;
    uint32_t done = r->wqe_una;
    for (; done != r->wqe_end; done++) {
        const struct rnic_wqe *w = rnic_sq_wqe(&q->base, done);
        bool own = roce_has_response(w->wr.op) && q->irn == NULL;
        if (own && (roce_first_of(w) <= to || roce_first_of(w) <= r->una)) {
            if (roce_first_of(w) > r->una)
                r->una = roce_first_of(w);
            if (pass_arrived(r, w))
                continue;
            *stopped = to > r->una;
            break;
        }
        if (to < roce_end_of(w) && r->una < roce_end_of(w)) {
            uint64_t at = roce_first_of(w) > r->una ? roce_first_of(w) : r->una;
            if (!own && !q->retry->whole_messages && to > at)
                at = to;
            r->una = at;
            break;
        }
        if (roce_end_of(w) > r->una)
            r->una = roce_end_of(w);
    }
    return done;
}

/* WQEs [i, done) are done; completing may call the application, which may fail the QP. */
static void complete(struct roce_qp *q, uint32_t i, uint32_t done)
{
    for (; i != done && roce_alive(q); i++) {
        if ((int32_t)(i - q->base.sq_head) < 0)
            continue;
        const struct rnic_wqe *w = rnic_sq_wqe(&q->base, i);
        bool response = roce_has_response(w->wr.op);
        if (w->done || (response && q->irn != NULL))
            continue;
        uint32_t tail = response ? w->wr.sge.len & (q->mtu - 1) : 0;
        if (response)
            q->req.reads_out--;
        rnic_complete_send(&q->base, i, RNIC_WC_SUCCESS, tail || !response || w->wr.sge.len == 0 ? tail : q->mtu);
    }
}

bool roce_req_advance(struct roce_qp *q, int64_t now_ps, uint64_t to)
{
    struct roce_req *r = &q->req;
    uint64_t before = r->una;
    bool stopped = false;
    uint32_t i = r->wqe_una, done = pass_done(q, to, &stopped);
    assert(r->una <= r->max);
    if (q->irn != NULL)
        roce_board_ack(&q->irn->requests, r->una);
    if (r->una > r->nxt)
        roce_req_rewind(q, r->una);
    if (r->want < r->una)
        r->want = ROCE_NONE;
    uint64_t told = to > r->una && !stopped ? to : r->una;
    if (told > r->acked || r->una > before)
        note_progress(q, now_ps);
    if (told > r->acked)
        r->acked = told;
    if (r->una > before)
        tell_cc(q, now_ps, r->una - before);
    r->wqe_una = done;
    complete(q, i, done);
    return !stopped;
}

void roce_req_fail_oldest(struct roce_qp *q, enum rnic_wc_status status)
{
    rnic_fail(&q->base, q->irn != NULL ? q->base.sq_head : q->req.wqe_una, status);
}

/* A retry without progress uses up one of retry_cnt; where timeouts are shorter than the local ACK timeout, the time that those would take. */
static bool may_retry(struct roce_qp *q, int64_t now_ps)
{
    struct roce_req *r = &q->req;
    bool by_time = q->retry->timeout_ps != NULL;
    if (by_time ? q->timeout_ps != 0 && now_ps - r->proven_ps >= q->timeout_ps * (q->retry_cnt + 1) : r->retries_left == 0) {
        roce_req_fail_oldest(q, RNIC_WC_RETRY_EXC_ERR);
        return false;
    }
    if (!by_time)
        r->retries_left--;
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
void roce_req_response_gap(struct roce_qp *q, int64_t now_ps)
{
    struct roce_req *r = &q->req;
    if ((r->gap_seen && r->gap_una == r->una) || r->nxt <= r->una)
        return;
    r->gap_seen = true;
    r->gap_una = r->una;
    q->base.count.packet_seq_err++;
    if (may_retry(q, now_ps))
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
            roce_req_fail_oldest(q, RNIC_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        r->rnr_left--;
    }
    roce_req_rewind(q, number);
    r->rnr_until_ps = now_ps + roce_rnr_timer_ps(timer);
    r->progress_ps = r->proven_ps = r->rnr_until_ps; /* the ACK timeout starts when sending does */
}

void roce_req_ack(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_req *r = &q->req;
    unsigned syndrome = p->roce.syndrome;
    uint64_t n = roce_number(r->una, q->psn0, p->roce.psn);
    bool positive = (syndrome & 0x60) == ROCE_AETH_ACK;
    roce_req_take_credits(q, p);
    if (!roce_alive(q) || n - r->una >= r->max - r->una)
        return; /* of something acknowledged already, or never sent */
    roce_cc_heard(q, now_ps, n, p);
    bool reached = roce_req_advance(q, now_ps, positive ? n + 1 : n);
    q->heard.pkt = NULL;
    if (!roce_alive(q))
        return;
    if (syndrome > ROCE_NAK_SEQUENCE) {
        if (syndrome == ROCE_NAK_ACCESS)
            q->base.count.remote_access_err++;
        rnic_fail(&q->base, roce_req_wqe_of(q, n), nak_status(syndrome));
    } else if (!reached) {
        roce_req_response_gap(q, now_ps);
    } else if ((syndrome & 0x60) == ROCE_AETH_RNR) {
        not_ready(q, now_ps, n, syndrome & 0x1f);
    } else if (syndrome == ROCE_NAK_SEQUENCE) {
        q->base.count.packet_seq_err++;
        if (may_retry(q, now_ps))
            q->retry->nak(q, now_ps, n > r->una ? n : r->una);
    }
}

/* --- responses --- */

enum rnic_wc_status roce_req_place(struct roce_qp *q, const struct rnic_wqe *w, uint64_t off, const struct pkt *p, uint32_t *len)
{
    enum rnic_fault fault;
    *len = p->payload_len;
    if (roce_is_atomic(w->wr.op)) {
        uint8_t b[8];
        for (unsigned i = 0; i < 8; i++)
            b[i] = (uint8_t)(p->roce.x.atomic_ack.orig >> 8 * i);
        *len = 8;
        fault = rnic_place_bytes(&q->base, w->wr.sge.lkey, w->wr.sge.va, 8, RNIC_LOCAL_WRITE, b);
    } else {
        uint64_t left = w->wr.sge.len - off;
        if (*len != (left < q->mtu ? left : q->mtu))
            return RNIC_WC_BAD_RESP_ERR;
        fault = rnic_place(&q->base, w->wr.sge.lkey, w->wr.sge.va + off, *len, RNIC_LOCAL_WRITE, p, 0);
    }
    return fault == RNIC_FAULT_NONE ? RNIC_WC_SUCCESS : RNIC_WC_LOC_PROT_ERR;
}

static void response_in_order(struct roce_qp *q, int64_t now_ps, const struct pkt *p, const struct rnic_wqe *w)
{
    struct roce_req *r = &q->req;
    uint32_t len;
    enum rnic_wc_status s = roce_req_place(q, w, (r->una - roce_first_of(w)) << q->mtu_shift, p, &len);
    if (s != RNIC_WC_SUCCESS) {
        roce_req_fail_oldest(q, s);
        return;
    }
    r->gap_seen = false;
    roce_bits_set(&r->arrived, r->una, r->una);
    (void)roce_req_advance(q, now_ps, r->una);
}

void roce_req_response(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_req *r = &q->req;
    uint64_t n = roce_number(r->una, q->psn0, p->roce.psn);
    if (wire_roce_op[p->roce.opcode].flags & ROCE_OP_AETH)
        roce_req_take_credits(q, p);
    if (!roce_alive(q) || n - r->una >= r->max - r->una)
        return; /* of a READ that has been answered already, or none of ours */
    if (q->retry->holds) {
        roce_selective_response(q, now_ps, p);
        return;
    }
    bool reached = n == r->una || roce_req_advance(q, now_ps, n);
    if (!roce_alive(q))
        return;
    if (!reached || r->una != n) {
        roce_req_response_gap(q, now_ps);
        return;
    }
    const struct rnic_wqe *w = rnic_sq_wqe(&q->base, r->wqe_una);
    bool atomic = p->roce.opcode == ROCE_ATOMIC_ACK;
    if (r->wqe_una == r->wqe_end || !roce_has_response(w->wr.op) || roce_is_atomic(w->wr.op) != atomic) {
        if (r->wqe_una != r->wqe_end)
            roce_req_fail_oldest(q, RNIC_WC_BAD_RESP_ERR);
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
    if (!may_retry(q, now_ps))
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
