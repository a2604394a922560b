/* SPDX-License-Identifier: GPL-2.0-only */
/* IRN's responses to READs and atomics (SIGCOMM'18, 5.2): numbered apart from requests in the order of execution, acknowledged by the requester
 * with read (N)ACKs, and repeated by the responder from a scoreboard and a timeout of its own. A response packet's number tells the
 * requester which READ and which bytes it holds, so it is placed at once. */
#include "roce_internal.h"

static int64_t give_up_ps(const struct roce_qp *q) { return q->timeout_ps * (q->retry_cnt + 1); }

/* --- requester: taking responses --- */

static uint64_t packets_of(const struct roce_qp *q, const struct rnic_send_wr *wr)
{
    return roce_is_atomic(wr->op) ? 1 : roce_response_packets(q, wr->sge.len);
}

void roce_irn_read_posted(struct roce_qp *q, int64_t now_ps, const struct rnic_wqe *w, uint32_t index)
{
    struct roce_irn *x = q->irn;
    x->reads = rnic_ring_room(x->reads, &x->reads_cap, sizeof *x->reads, x->reads_head, x->reads_tail);
    struct roce_irn_read *e = &x->reads[x->reads_tail++ & (x->reads_cap - 1)];
    *e = (struct roce_irn_read){ .first = x->issued, .end = x->issued + packets_of(q, &w->wr), .wqe = index };
    if (x->issued == x->expected)
        x->read_progress_ps = now_ps;
    x->issued = e->end;
}

static const struct roce_irn_read *read_of(const struct roce_irn *x, uint64_t n)
{
    for (uint32_t i = x->reads_head; i != x->reads_tail; i++)
        if (n < x->reads[i & (x->reads_cap - 1)].end)
            return &x->reads[i & (x->reads_cap - 1)];
    return NULL;
}

/* Those whose last response has come, in order. The books are settled before the application hears of any. */
static void complete_reads(struct roce_qp *q)
{
    struct roce_irn *x = q->irn;
    while (x->reads_head != x->reads_tail && x->reads[x->reads_head & (x->reads_cap - 1)].end <= x->expected) {
        uint32_t i = x->reads[x->reads_head++ & (x->reads_cap - 1)].wqe;
        const struct rnic_send_wr *wr = &rnic_sq_wqe(&q->base, i)->wr;
        uint32_t tail = wr->sge.len & (q->mtu - 1);
        q->req.reads_out--;
        rnic_complete_send(&q->base, i, RNIC_WC_SUCCESS, wr->sge.len == 0 ? 0 : tail ? tail : q->mtu);
        if (!roce_alive(q))
            return;
    }
}

void roce_irn_response(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_irn *x = q->irn;
    uint64_t n = roce_number(x->expected, q->psn0, p->roce.psn);
    uint32_t len;
    if (wire_roce_op[p->roce.opcode].flags & ROCE_OP_AETH)
        roce_req_take_credits(q, p);
    if (!roce_alive(q))
        return;
    if (roce_ahead(n, x->expected) < 0) {
        x->read_ack = x->expected > 0; /* again: its acknowledgement was lost */
        return;
    }
    const struct roce_irn_read *e = read_of(x, n);
    if (e == NULL)
        return; /* none of ours */
    if (roce_bits_test(&x->arrived, x->expected, n)) {
        roce_sacks_push(&x->read_nacks, n);
        return;
    }
    const struct rnic_wqe *w = rnic_sq_wqe(&q->base, e->wqe);
    enum rnic_wc_status s = RNIC_WC_BAD_RESP_ERR;
    if (roce_is_atomic(w->wr.op) == (p->roce.opcode == ROCE_IRN + ROCE_ATOMIC_ACK))
        s = roce_req_place(q, w, (n - e->first) << q->mtu_shift, p, &len);
    if (s != RNIC_WC_SUCCESS) {
        rnic_fail(&q->base, e->wqe, s);
        return;
    }
    x->read_progress_ps = now_ps;
    if (roce_end_of(w) > q->req.una) { /* requests are executed in order: this one and all before it have arrived */
        (void)roce_req_advance(q, now_ps, roce_end_of(w));
        if (!roce_alive(q))
            return;
    }
    if (n > x->expected) {
        roce_bits_set(&x->arrived, x->expected, n);
        q->base.count.out_of_sequence++;
        roce_sacks_push(&x->read_nacks, n);
        return;
    }
    x->expected++;
    while (roce_bits_test(&x->arrived, x->expected, x->expected))
        roce_bits_clear(&x->arrived, x->expected++);
    x->read_ack = true;
    complete_reads(q);
}

/* --- responder: sending them --- */

static void forget_acknowledged(struct roce_qp *q, uint64_t una)
{
    struct roce_resp *r = &q->resp;
    while (r->queue_head != r->queue_tail && roce_resp_at(q, r->queue_head)->end <= una)
        r->queue_head++;
}

static void response_progress(struct roce_qp *q, int64_t now_ps)
{
    q->irn->response_progress_ps = now_ps;
    q->irn->response_give_up_ps = q->timeout_ps ? now_ps + give_up_ps(q) : SIM_NEVER_PS;
}

static void all_before(struct roce_qp *q, int64_t now_ps, uint64_t una)
{
    struct roce_irn *x = q->irn;
    if (una <= x->responses.una || una > x->sent)
        return;
    roce_board_ack(&x->responses, una);
    forget_acknowledged(q, una);
    response_progress(q, now_ps);
}

void roce_irn_read_ack(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_irn *x = q->irn;
    bool nack = p->roce.opcode == ROCE_IRN_READ_NACK;
    uint64_t n = roce_number(x->responses.una, q->resp.psn0, p->roce.psn);
    if (roce_ahead(n, x->responses.una) >= 0 || !nack)
        all_before(q, now_ps, nack ? n : n + 1);
    if (!nack)
        return;
    uint64_t sack = roce_number(x->responses.una, q->resp.psn0, p->roce.x.irn_sack.psn);
    if (roce_ahead(sack, x->responses.una) < 0 || sack >= x->sent)
        return;
    roce_board_enter(&x->responses, x->sent);
    roce_board_sack(&x->responses, sack);
}

/* A place for a new READ or atomic: a peer that keeps to ird has finished the oldest when it asks for one more, though its word of that is lost. */
static struct roce_response *push(struct roce_qp *q, int64_t now_ps)
{
    struct roce_resp *r = &q->resp;
    if (r->queue_tail - r->queue_head >= (uint32_t)q->params->ird) {
        const struct roce_response *oldest = roce_resp_at(q, r->queue_head);
        if (oldest->end > q->irn->sent)
            return NULL;
        all_before(q, now_ps, oldest->end);
    }
    return roce_resp_push(q);
}

void roce_irn_read_request(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_irn *x = q->irn;
    struct roce_resp *r = &q->resp;
    const struct pkt_roce *h = &p->roce;
    struct roce_response new = { .number = x->end, .end = x->end + 1 };
    unsigned bad = 0;
    if (wire_roce_op[h->opcode].flags & ROCE_OP_READ) {
        uint32_t len = h->x.reth.len;
        new.end = x->end + roce_response_packets(q, len);
        new.va = h->x.reth.va;
        new.rkey = h->x.reth.rkey;
        new.left = len;
        if (len > UINT32_C(1) << 31)
            bad = ROCE_NAK_INVALID;
        else if (rnic_describe(&q->base, new.rkey, new.va, len, RNIC_REMOTE_READ, &new.span) != RNIC_FAULT_NONE)
            bad = ROCE_NAK_ACCESS;
    }
    struct roce_response *e = bad ? NULL : push(q, now_ps);
    if (!bad && e == NULL)
        bad = ROCE_NAK_INVALID; /* more than ird together */
    if (!bad && !(wire_roce_op[h->opcode].flags & ROCE_OP_READ)) {
        enum rnic_fault f = rnic_atomic(&q->base, h->x.atomic.rkey, h->x.atomic.va, h->opcode == ROCE_IRN + ROCE_CMP_SWAP ? RNIC_OP_CMP_SWAP : RNIC_OP_FETCH_ADD,
                                        h->x.atomic.compare, h->x.atomic.swap_add, &new.orig);
        new.atomic = 1;
        bad = f == RNIC_FAULT_NONE ? 0 : f == RNIC_FAULT_ALIGN ? ROCE_NAK_INVALID : ROCE_NAK_ACCESS;
    }
    if (bad) {
        if (e != NULL)
            r->queue_tail--;
        roce_resp_refuse_at(q, r->expected, bad);
        return;
    }
    if (x->responses.una == x->sent)
        response_progress(q, now_ps);
    new.msn = ++r->msn;
    *e = new;
    x->end = new.end;
    r->expected++;
    roce_resp_acknowledge(q);
}

bool roce_irn_data_ready(const struct roce_qp *q)
{
    const struct roce_irn *x = q->irn;
    return x->responses.lost != ROCE_NONE || (x->sent < x->end && x->sent - x->responses.una < q->req.limit);
}

bool roce_irn_data_tx(struct roce_qp *q, int64_t now_ps, struct pkt *p)
{
    struct roce_irn *x = q->irn;
    struct roce_resp *r = &q->resp;
    bool again = x->responses.lost != ROCE_NONE;
    uint64_t n = again ? x->responses.lost : x->sent;
    uint32_t i = r->queue_head;
    while (roce_resp_at(q, i)->end <= n)
        i++;
    const struct roce_response *e = roce_resp_at(q, i);
    uint64_t off = (n - e->number) << q->mtu_shift;
    uint32_t len = e->left - off < q->mtu ? (uint32_t)(e->left - off) : q->mtu;
    bool first = n == e->number, last = n + 1 == e->end;
    unsigned op = e->atomic ? ROCE_ATOMIC_ACK : first ? (last ? ROCE_READ_RESP_ONLY : ROCE_READ_RESP_FIRST) : last ? ROCE_READ_RESP_LAST : ROCE_READ_RESP_MIDDLE;
    roce_start_packet(q, p, (uint8_t)(op + ROCE_IRN), roce_psn(r->psn0, n));
    if (wire_roce_op[p->roce.opcode].flags & ROCE_OP_AETH) {
        p->roce.syndrome = (uint8_t)roce_resp_syndrome(q);
        p->roce.msn = e->msn & ROCE_PSN_MASK;
    }
    if (e->atomic) {
        p->roce.x.atomic_ack.orig = e->orig;
    } else if (!roce_resp_source(q, e, off, len, p)) {
        roce_irn_stop(q);
        r->queue_head = r->queue_tail;
        roce_resp_refuse_at(q, r->expected, ROCE_NAK_ACCESS);
        return false;
    }
    if (again) {
        p->flags |= PKT_F_RETX;
        q->base.count.retransmitted_packets++;
        q->base.count.retransmitted_bytes += p->payload_len;
        roce_board_resent(&x->responses);
        return true;
    }
    if (x->responses.una == x->sent)
        response_progress(q, now_ps);
    x->sent = n + 1;
    return true;
}

/* --- time, at both ends --- */

static bool waits_for_responses(const struct roce_qp *q) { return q->irn->expected != q->irn->issued && q->timeout_ps != 0 && q->req.una == q->req.max; }

int64_t roce_irn_read_wake_ps(const struct roce_qp *q)
{
    const struct roce_irn *x = q->irn;
    int64_t at = SIM_NEVER_PS;
    if (x->responses.una != x->sent)
        at = x->response_progress_ps + roce_irn_rto_ps(q, x->sent - x->responses.una);
    if (waits_for_responses(q) && x->read_progress_ps + give_up_ps(q) < at)
        at = x->read_progress_ps + give_up_ps(q);
    return at;
}

void roce_irn_read_wake(struct roce_qp *q, int64_t now_ps)
{
    struct roce_irn *x = q->irn;
    if (waits_for_responses(q) && x->read_progress_ps + give_up_ps(q) <= now_ps) {
        roce_req_fail_oldest(q, RNIC_WC_RETRY_EXC_ERR);
        return;
    }
    if (x->responses.una == x->sent || x->response_progress_ps + roce_irn_rto_ps(q, x->sent - x->responses.una) > now_ps)
        return;
    if (now_ps >= x->response_give_up_ps) { /* nobody is there who wants them */
        x->responses.una = x->sent = x->end;
        roce_board_stop(&x->responses);
        q->resp.queue_head = q->resp.queue_tail;
        return;
    }
    q->base.count.timeouts++;
    q->base.count.timer_waits++;
    x->response_progress_ps = now_ps;
    roce_board_timeout(&x->responses, x->sent);
}
