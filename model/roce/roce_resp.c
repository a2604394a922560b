/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder: request packets in PSN order become placements, receives and responses; gaps become NAKs (IBTA vol. 1 9.7.4, 9.7.5,
 * 9.7.7). Its output is one pending ACK or NAK, which the newest replaces, and a queue of READ and atomic responses; an ACK never
 * overtakes the response to an earlier request. */
#include "roce_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* --- the pending ACK or NAK --- */

static void set_ack(struct roce_resp *r, uint64_t number, unsigned syndrome)
{
    r->ack_pending = 1;
    r->ack_syndrome = (uint8_t)syndrome;
    r->ack_number = number;
    r->ack_msn = r->msn;
    r->ack_packets = r->ack_bytes = 0;
}

static void acknowledge_to(struct roce_resp *r, uint64_t number) { set_ack(r, number, ROCE_AETH_ACK); }
static void acknowledge(struct roce_resp *r) { acknowledge_to(r, r->expected - 1); }
void roce_resp_acknowledge(struct roce_qp *q) { acknowledge(&q->resp); }

/* The syndrome of a positive acknowledgement that leaves now. */
unsigned roce_resp_syndrome(const struct roce_qp *q)
{
    if (!q->params->credits)
        return ROCE_AETH_ACK | ROCE_AETH_NO_CREDITS;
    return ROCE_AETH_ACK | roce_credit_code(rnic_recv_posted(&q->base) + q->base.recv_open); /* that of the message under way counts */
}

/* The request with packet number n is at fault: NAK it, and the QP is done. */
void roce_resp_refuse_at(struct roce_qp *q, uint64_t n, unsigned syndrome)
{
    struct roce_resp *r = &q->resp;
    if (syndrome == ROCE_NAK_ACCESS)
        q->base.count.remote_access_err++;
    set_ack(r, n, syndrome);
    r->fatal = true;
    (void)rnic_qp_modify(&q->base, RNIC_QP_ERROR);
}

static void refuse(struct roce_qp *q, unsigned syndrome) { roce_resp_refuse_at(q, q->resp.expected, syndrome); }

static void receiver_not_ready(struct roce_qp *q)
{
    struct roce_resp *r = &q->resp;
    q->base.count.out_of_buffer++;
    set_ack(r, r->expected, ROCE_AETH_RNR | (unsigned)q->params->rnr_timer);
    r->nak_sent = 1;
    r->gap_last = r->expected; /* what is in flight behind it is no sign of a lost resend */
}

bool roce_resp_ack_ready(const struct roce_qp *q)
{
    const struct roce_resp *r = &q->resp;
    return r->ack_pending && (q->irn != NULL || r->queue_head == r->queue_tail || roce_ahead(roce_resp_at(q, r->queue_head)->number, r->ack_number) > 0);
}

void roce_resp_news(struct roce_qp *q, struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    p->roce.becn = r->ack_marked;
    r->ack_marked = false;
    if (q->telemetry) {
        p->telemetry = r->telemetry;
        r->telemetry = (struct pkt_int){ 0 };
    }
}

void roce_resp_ack_tx(struct roce_qp *q, struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    roce_start_packet(q, p, (uint8_t)(ROCE_ACK + q->opcode_base), roce_psn(r->psn0, r->ack_number));
    p->roce.syndrome = (uint8_t)(r->ack_syndrome == ROCE_AETH_ACK ? roce_resp_syndrome(q) : r->ack_syndrome);
    p->roce.msn = r->ack_msn & ROCE_PSN_MASK;
    roce_resp_news(q, p);
    r->ack_pending = 0;
    if (r->ack_syndrome < ROCE_AETH_RNR)
        q->base.count.acks_sent++;
    else
        q->base.count.naks_sent++;
}

/* --- responses that take packets --- */

struct roce_response *roce_resp_push(struct roce_qp *q)
{
    struct roce_resp *r = &q->resp;
    if (r->queue == NULL) {
        r->queue = calloc(2 * (size_t)q->params->ird, sizeof *r->queue); /* twice: selective repetitions of parts */
        r->results = calloc((size_t)q->params->ird, sizeof *r->results);
        if (r->queue == NULL || r->results == NULL) {
            fprintf(stderr, "rnicsim: out of memory for READ responses\n");
            abort();
        }
        for (uint32_t i = 0; i < (uint32_t)q->params->ird; i++)
            r->results[i].number = UINT64_MAX;
    }
    if (r->queue_tail - r->queue_head >= 2 * (uint32_t)q->params->ird)
        return NULL;
    struct roce_response *e = roce_resp_at(q, r->queue_tail++);
    *e = (struct roce_response){ 0 };
    return e;
}

/* The requester has gone back to packet n: it will ask again for what comes after. */
static void drop_responses_from(struct roce_qp *q, uint64_t n)
{
    struct roce_resp *r = &q->resp;
    while (r->queue_tail != r->queue_head && roce_ahead(roce_resp_at(q, r->queue_tail - 1)->number, n) >= 0)
        r->queue_tail--;
    if (r->queue_tail != r->queue_head) {
        struct roce_response *last = roce_resp_at(q, r->queue_tail - 1);
        if (roce_ahead(last->end, n) > 0) {
            last->left = (n - last->number) << q->mtu_shift;
            last->end = n;
        }
    }
}

bool roce_resp_source(struct roce_qp *q, const struct roce_response *e, uint64_t off, uint32_t len, struct pkt *p)
{
    if (e->span.mem != NULL) /* the region may have gone since: checked each time */
        return rnic_source(&q->base, e->rkey, e->va + off, len, RNIC_REMOTE_READ, p) == RNIC_FAULT_NONE;
    if (len > 0)
        (void)pkt_add_pattern(p, len, e->span.seed, e->span.off + off);
    return true;
}

bool roce_resp_data_tx(struct roce_qp *q, int64_t now_ps, struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    if (q->irn != NULL)
        return roce_irn_data_tx(q, now_ps, p);
    struct roce_response *e = roce_resp_at(q, r->queue_head);
    uint32_t len = e->left < q->mtu ? (uint32_t)e->left : q->mtu;
    bool last = e->number + 1 == e->end;
    unsigned op = e->atomic ? ROCE_ATOMIC_ACK : e->begun ? (last ? ROCE_READ_RESP_LAST : ROCE_READ_RESP_MIDDLE)
                                              : (last ? ROCE_READ_RESP_ONLY : ROCE_READ_RESP_FIRST);
    roce_start_packet(q, p, (uint8_t)op, roce_psn(r->psn0, e->number));
    if (wire_roce_op[op].flags & ROCE_OP_AETH) {
        p->roce.syndrome = (uint8_t)roce_resp_syndrome(q);
        p->roce.msn = e->msn & ROCE_PSN_MASK;
    }
    if (e->atomic) {
        p->roce.x.atomic_ack.orig = e->orig;
    } else if (!roce_resp_source(q, e, 0, len, p)) {
        r->queue_tail = r->queue_head;
        roce_resp_refuse_at(q, e->number, ROCE_NAK_ACCESS);
        return false;
    }
    e->begun = 1;
    e->number++;
    e->va += len;
    e->span.off += len;
    e->left -= len;
    if (last)
        r->queue_head++;
    return true;
}

/* --- READ and atomics --- */

/* A place for a request not seen before; NULL: it is more than ird together (IBTA 9.7.4.1.5). Answers that are given once more do not count:
 * the requester may have had them meanwhile. */
static struct roce_response *push_new(struct roce_qp *q)
{
    struct roce_resp *r = &q->resp;
    uint32_t together = r->queue_tail - r->queue_head;
    if (together >= (uint32_t)q->params->ird)
        for (uint32_t i = r->queue_head; i != r->queue_tail; i++)
            together -= roce_resp_at(q, i)->again;
    return together < (uint32_t)q->params->ird ? roce_resp_push(q) : NULL;
}

/* Of the response packets [n, end) that are asked for again, how far those go that will not be sent as it is: n, if all are queued. The requester that
 * asks has not gone back: it has timed out before their turn came. */
static uint64_t not_queued(const struct roce_qp *q, uint64_t n, uint64_t end)
{
    const struct roce_resp *r = &q->resp;
    for (uint32_t i = r->queue_tail; i != r->queue_head; i--) {
        const struct roce_response *e = roce_resp_at(q, i - 1);
        if (roce_ahead(e->end, end) >= 0 && roce_ahead(e->number, end) < 0)
            end = roce_ahead(e->number, n) > 0 ? e->number : n;
    }
    return end;
}

/* The answer queued last is given again: before what comes after it, where the requester takes answers in any order. Behind them it would wait for all
 * that is queued, perhaps for longer than the requester does, and be asked for again and again. */
static void put_in_turn(struct roce_qp *q)
{
    struct roce_resp *r = &q->resp;
    for (uint32_t i = r->queue_tail - 1; q->retry->holds && i != r->queue_head; i--) {
        struct roce_response *before = roce_resp_at(q, i - 1), *e = roce_resp_at(q, i), swap = *e;
        if (roce_ahead(before->number, e->number) <= 0)
            return;
        *e = *before;
        *before = swap;
    }
}

/* Queue the answer to a READ request for packet number n; false: refused. */
static bool answer_read(struct roce_qp *q, const struct pkt *p, uint64_t n, bool again)
{
    const struct pkt_roce *h = &p->roce;
    struct rnic_span span;
    uint32_t len = h->x.reth.len;
    if (len > UINT32_C(1) << 31) {
        roce_resp_refuse_at(q, n, ROCE_NAK_INVALID);
        return false;
    }
    if (rnic_describe(&q->base, h->x.reth.rkey, h->x.reth.va, len, RNIC_REMOTE_READ, &span) != RNIC_FAULT_NONE) {
        roce_resp_refuse_at(q, n, ROCE_NAK_ACCESS);
        return false;
    }
    struct roce_response *e = again ? roce_resp_push(q) : push_new(q);
    if (e == NULL) {
        if (!again) /* else too much at once is asked for: the requester's timeout */
            roce_resp_refuse_at(q, n, ROCE_NAK_INVALID);
        return false;
    }
    *e = (struct roce_response){ .number = n, .end = n + roce_response_packets(q, len), .va = h->x.reth.va,
        .left = len, .rkey = h->x.reth.rkey, .span = span, .again = again };
    return true;
}

static void read_request(struct roce_qp *q, const struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    if (!answer_read(q, p, r->expected, false))
        return;
    struct roce_response *e = roce_resp_at(q, r->queue_tail - 1);
    r->expected = r->reads_end = e->end;
    e->msn = ++r->msn;
    r->ack_packets = r->ack_bytes = 0;
}

static void atomic_request(struct roce_qp *q, const struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    const struct pkt_roce *h = &p->roce;
    uint64_t orig;
    struct roce_response *e = push_new(q);
    if (e == NULL) {
        refuse(q, ROCE_NAK_INVALID);
        return;
    }
    enum rnic_fault f = rnic_atomic(&q->base, h->x.atomic.rkey, h->x.atomic.va, h->opcode == ROCE_CMP_SWAP ? RNIC_OP_CMP_SWAP : RNIC_OP_FETCH_ADD,
                                    h->x.atomic.compare, h->x.atomic.swap_add, &orig);
    if (f != RNIC_FAULT_NONE) {
        r->queue_tail--;
        refuse(q, f == RNIC_FAULT_ALIGN ? ROCE_NAK_INVALID : ROCE_NAK_ACCESS);
        return;
    }
    r->results[r->results_tail++ % (uint32_t)q->params->ird] = (struct roce_atomic_result){ r->expected, orig };
    *e = (struct roce_response){ .number = r->expected, .end = r->expected + 1, .orig = orig, .atomic = 1, .msn = ++r->msn };
    r->reads_end = ++r->expected;
    r->ack_packets = r->ack_bytes = 0;
}

/* --- SEND and WRITE --- */

/* A SEND's bytes do not fit where its receive says: the receive fails as the request does. */
static void refuse_send(struct roce_qp *q, unsigned syndrome)
{
    struct rnic_recv_info none = { 0 };
    rnic_complete_recv(&q->base, syndrome == ROCE_NAK_INVALID ? RNIC_WC_LOC_LEN_ERR : RNIC_WC_LOC_PROT_ERR, &none);
    refuse(q, syndrome);
}

/* A key that cannot be invalidated: the request itself was right, so it is acknowledged, but its message does not count, its receive fails
 * and so does the QP (IBTA vol. 1 9.9.3 responder class J as Linux rxe has it; test/golden/rxe/roce_sinv.pcap). */
static void invalidation_failed(struct roce_qp *q)
{
    struct rnic_recv_info none = { 0 };
    rnic_complete_recv(&q->base, RNIC_WC_REM_INV_REQ_ERR, &none);
    roce_resp_refuse_at(q, q->resp.expected, ROCE_AETH_ACK);
}

static void send_or_write(struct roce_qp *q, const struct pkt *p, unsigned flags)
{
    struct roce_resp *r = &q->resp;
    bool takes_recv = (flags & (ROCE_OP_SEND | ROCE_OP_IMM)) != 0, last = flags & ROCE_OP_LAST;
    uint8_t op = flags & ROCE_OP_SEND ? ROCE_RESP_SEND : ROCE_RESP_WRITE;
    if (r->op != ((flags & ROCE_OP_FIRST) ? ROCE_RESP_IDLE : op) || !roce_message_fits(q, flags, p->payload_len)) {
        refuse(q, ROCE_NAK_INVALID); /* out of sequence (IBTA 9.7.4.1.2) */
        return;
    }
    if (takes_recv && !q->base.recv_open && !rnic_recv_begin(&q->base)) {
        receiver_not_ready(q);
        return;
    }
    unsigned bad = flags & ROCE_OP_FIRST ? roce_message_begin(q, p, flags) : 0;
    if (!bad && op == ROCE_RESP_WRITE)
        bad = roce_message_place_write(q, p, flags);
    if (bad) {
        refuse(q, bad);
        return;
    }
    if (op == ROCE_RESP_SEND && (bad = roce_message_place_send(q, p)) != 0) {
        refuse_send(q, bad);
        return;
    }
    if ((flags & ROCE_OP_IETH) && rnic_remote_inv(&q->base, p->roce.imm_or_rkey) != RNIC_FAULT_NONE) {
        invalidation_failed(q);
        return;
    }
    r->op = last ? ROCE_RESP_IDLE : op;
    r->expected++;
    r->msn += last;
    r->nak_sent = 0;
    r->ack_packets++;
    r->ack_bytes += p->payload_len;
    const struct roce_params *par = q->params;
    if (p->roce.ack_req || (par->ack_packets > 0 && r->ack_packets >= (uint64_t)par->ack_packets) ||
        (par->ack_bytes > 0 && r->ack_bytes >= (uint64_t)par->ack_bytes))
        acknowledge(r);
    else if (r->ack_pending && r->ack_syndrome >= ROCE_AETH_RNR)
        acknowledge(r); /* the NAK that waits to be sent is out of date */
    if (last)
        roce_message_finish(q, p, flags);
}

/* --- order --- */

static void duplicate_atomic(struct roce_qp *q, uint64_t n)
{
    struct roce_resp *r = &q->resp;
    for (uint32_t i = 0; r->results != NULL && i < (uint32_t)q->params->ird; i++) {
        if (r->results[i].number != n)
            continue;
        if (!q->retry->holds)
            drop_responses_from(q, n);
        else if (not_queued(q, n, n + 1) == n)
            return;
        struct roce_response *e = roce_resp_push(q);
        if (e == NULL)
            return; /* more are asked for than ird: not of a peer that keeps to it */
        *e = (struct roce_response){ .number = n, .end = n + 1, .orig = r->results[i].orig, .atomic = 1, .again = 1, .msn = r->msn };
        put_in_turn(q);
        return;
    }
}

/* A request seen before: WRITE and SEND are acknowledged again, READs read again, atomics answered from memory (IBTA 9.7.5.1). */
static void duplicate(struct roce_qp *q, const struct pkt *p, uint64_t n, unsigned flags)
{
    struct roce_resp *r = &q->resp;
    q->base.count.duplicate_request++;
    if (q->irn != NULL) {
        if (!r->ack_pending)
            acknowledge(r);
        return;
    }
    if (flags & ROCE_OP_READ) {
        uint64_t end = n + roce_response_packets(q, p->roce.x.reth.len);
        if (roce_ahead(end, r->expected) > 0)
            return; /* not what was asked for before */
        if (!q->retry->holds)
            drop_responses_from(q, n);
        else if ((end = not_queued(q, n, end)) == n)
            return;
        if (!answer_read(q, p, n, true))
            return;
        struct roce_response *e = roce_resp_at(q, r->queue_tail - 1);
        e->msn = r->msn;
        if (e->end != end) {
            e->left = (end - n) << q->mtu_shift;
            e->end = end;
        }
        put_in_turn(q);
    } else if (flags & ROCE_OP_ATOMIC) {
        duplicate_atomic(q, n);
    } else if (!r->ack_pending || r->ack_syndrome < ROCE_AETH_RNR) {
        /* not past a READ that the requester may be about to repeat: it would take the response for lost */
        acknowledge_to(r, roce_ahead(n, r->reads_end) < 0 ? n : r->expected - 1);
    }
}

/* What is missing is asked for: by the NAK that names the expected packet, in IRN by NACKs of all that has come beyond. */
static void ask_for_missing(struct roce_qp *q)
{
    struct roce_resp *r = &q->resp;
    r->gap_deadline_ps = SIM_NEVER_PS;
    if (q->irn == NULL) {
        set_ack(r, r->expected, ROCE_NAK_SEQUENCE);
        r->nak_sent = 1;
        return;
    }
    for (const struct roce_held *h = r->held; h != NULL; h = h->next)
        roce_irn_nack(q, h->number);
}

void roce_resp_gap_expired(struct roce_qp *q, int64_t now_ps)
{
    (void)now_ps;
    ask_for_missing(q);
}

/* There is a gap before what is held: a loss, unless packets may just be late. fresh: another gap than before. */
static void gap_found(struct roce_qp *q, int64_t now_ps, bool fresh)
{
    struct roce_resp *r = &q->resp;
    if (q->params->reorder_ps > 0) {
        if (fresh || (r->gap_deadline_ps == SIM_NEVER_PS && !r->nak_sent))
            r->gap_deadline_ps = now_ps + q->params->reorder_ps;
    } else if (!r->nak_sent) {
        ask_for_missing(q);
    }
}

static void out_of_order(struct roce_qp *q, int64_t now_ps, const struct pkt *p, uint64_t n)
{
    struct roce_resp *r = &q->resp;
    q->base.count.out_of_sequence++;
    if (q->holds) {
        bool new = roce_hold(q, p, n);
        if (q->irn != NULL && q->params->reorder_ps == 0)
            roce_irn_nack(q, n); /* of each packet that arrives, also of one that is held already */
        else if (new)
            gap_found(q, now_ps, false);
        return;
    }
    bool again = q->params->nak_rule == ROCE_NAK_REWIND && n <= r->gap_last;
    if (!r->nak_sent || again) {
        q->retry->gap(q, n);
        set_ack(r, r->expected, ROCE_NAK_SEQUENCE);
        r->nak_sent = 1;
    }
    r->gap_last = n;
}

/* The packet that is expected. */
static void execute(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    unsigned flags = wire_roce_op[p->roce.opcode].flags;
    if (!(flags & (ROCE_OP_READ | ROCE_OP_ATOMIC))) {
        send_or_write(q, p, flags);
        return;
    }
    if (r->op != ROCE_RESP_IDLE) {
        refuse(q, ROCE_NAK_INVALID);
        return;
    }
    r->nak_sent = 0;
    if (q->irn != NULL)
        roce_irn_read_request(q, now_ps, p);
    else if (flags & ROCE_OP_READ)
        read_request(q, p);
    else
        atomic_request(q, p);
}

static bool serves(const struct roce_qp *q)
{
    return q->base.state == RNIC_QP_RTS || q->base.state == RNIC_QP_RTR || q->base.state == RNIC_QP_SQD;
}

/* The expected packet has been executed: what was held behind it follows, up to the next gap. */
static void execute_held(struct roce_qp *q, int64_t now_ps, uint64_t before)
{
    struct roce_resp *r = &q->resp;
    struct roce_held *h;
    while (serves(q) && (h = roce_hold_take(q, r->expected)) != NULL) {
        if (h->number < r->expected) { /* it came twice */
            roce_hold_spare(q, h);
            continue;
        }
        r->placed = h->placed;
        execute(q, now_ps, &h->p);
        r->placed = false;
        if (r->expected == h->number && serves(q)) { /* receiver not ready: it stays */
            roce_hold_back(q, h);
            return;
        }
        roce_hold_spare(q, h);
    }
    if (r->expected == before || !serves(q))
        return;
    r->gap_deadline_ps = SIM_NEVER_PS;
    if (r->held != NULL && (q->irn == NULL || q->params->reorder_ps > 0)) /* else each has been NACKed when it came */
        gap_found(q, now_ps, true);
}

void roce_resp_rx(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    unsigned flags = wire_roce_op[p->roce.opcode].flags;
    if (!serves(q))
        return;
    if (p->flags & PKT_F_INT && p->payload_len > 0)
        r->telemetry = p->telemetry;
    uint64_t n = roce_number(r->expected, r->psn0, p->roce.psn), before = r->expected;
    int64_t ahead = roce_ahead(n, r->expected);
    if (ahead > 0) {
        out_of_order(q, now_ps, p, n);
        return;
    }
    if (ahead < 0) {
        bool restart = q->retry->whole_messages && r->op != ROCE_RESP_IDLE && n == r->message_first;
        if (!restart) {
            duplicate(q, p, n, flags);
            return;
        }
        q->retry->gap(q, n); /* go-back-0: the message begins anew */
    }
    execute(q, now_ps, p);
    if (q->holds)
        execute_held(q, now_ps, before);
}
