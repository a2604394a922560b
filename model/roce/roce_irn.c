/* SPDX-License-Identifier: GPL-2.0-only */
/* IRN, "Revisiting Network Support for RDMA" (Mittal et al., SIGCOMM'18): selective repeat with a cap on packets in flight. This file: requests at both
 * ends, and the policy's place in the table; roce_irn_read.c: responses.
 *
 * Each packet that arrives is acknowledged: in order by an ACK, else by a NACK that carries both the cumulative acknowledgement and the
 * number that has arrived (3.1). The sender repeats what its scoreboard takes for lost (roce_bits.h). Its timeout is RTO_low with few packets
 * in flight, else RTO_high. No more than the cap (window-bytes, else the path's bandwidth-delay product) are in flight, counted from
 * the cumulative acknowledgement (3.2). Requests and responses are numbered apart (5.2); what the headers carry for that: roce_opcode.h.
 * The paper does not say when a sender gives up: here after retry_cnt + 1 local ACK timeouts without progress, as with the other policies. */
#include "roce_internal.h"

#include <stdio.h>
#include <stdlib.h>

void roce_sacks_push(struct roce_sacks *s, uint64_t n)
{
    s->number = rnic_ring_room(s->number, &s->cap, sizeof *s->number, s->head, s->tail);
    s->number[s->tail++ & (s->cap - 1)] = n;
}

/* --- life --- */

bool roce_irn_new(struct roce_qp *q)
{
    q->irn = calloc(1, sizeof *q->irn);
    if (q->irn == NULL)
        return false;
    roce_board_init(&q->irn->requests);
    roce_board_init(&q->irn->responses);
    return true;
}

void roce_irn_stop(struct roce_qp *q)
{
    struct roce_irn *x = q->irn;
    roce_board_stop(&x->requests);
    roce_board_stop(&x->responses);
    x->nacks.head = x->nacks.tail;
    x->read_nacks.head = x->read_nacks.tail;
    x->read_ack = false;
    x->reads_head = x->reads_tail;
    x->expected = x->issued;
    x->responses.una = x->sent = x->end;
}

void roce_irn_free(struct roce_qp *q)
{
    struct roce_irn *x = q->irn;
    if (x == NULL)
        return;
    roce_bits_free(&x->requests.sacked);
    roce_bits_free(&x->responses.sacked);
    roce_bits_free(&x->arrived);
    free(x->nacks.number);
    free(x->read_nacks.number);
    free(x->reads);
    free(x);
    q->irn = NULL;
}

/* --- the policy --- */

static uint64_t lost(const struct roce_qp *q) { return q->irn->requests.lost; }
static void resent(struct roce_qp *q) { roce_board_resent(&q->irn->requests); }
static void rewound(struct roce_qp *q) { roce_board_stop(&q->irn->requests); } /* after an RNR NAK: go-back-N (paper, B.3) */

static void timeout(struct roce_qp *q, int64_t now_ps)
{
    (void)now_ps;
    roce_board_timeout(&q->irn->requests, q->req.max);
}

int64_t roce_irn_rto_ps(const struct roce_qp *q, uint64_t in_flight)
{
    return in_flight <= (uint64_t)q->params->irn_rto_low_packets ? q->params->irn_rto_low_ps : q->params->irn_rto_high_ps;
}

static int64_t timeout_ps(const struct roce_qp *q) { return roce_irn_rto_ps(q, q->req.max - q->req.una); }

const struct roce_retry_ops roce_irn = { .name = "irn", .holds = true, .nak = roce_back_to, .timeout = timeout, .gap = roce_gap_stays, .lost = lost,
    .resent = resent, .rewound = rewound, .timeout_ps = timeout_ps };

/* --- requester --- */

void roce_irn_headers(struct roce_qp *q, const struct rnic_wqe *w, uint64_t index, struct pkt *p)
{
    unsigned flags = wire_roce_op[p->roce.opcode].flags;
    if (flags & ROCE_OP_ATOMICETH) {
        p->roce.x.atomic.irn_sn = (uint32_t)w->scratch[3];
        return;
    }
    p->roce.x.reth.irn_sn = (uint32_t)w->scratch[3];
    if (flags & ROCE_OP_IRN_OFFSET)
        p->roce.x.reth.irn_offset = (uint32_t)(index << q->mtu_shift);
}

/* What the cumulative part of an acknowledgement says; ROCE_NONE: it is of something acknowledged already, or never sent. */
static void take_cumulative(struct roce_qp *q, int64_t now_ps, uint64_t to)
{
    struct roce_req *r = &q->req;
    if (to - r->una <= r->max - r->una && to != r->una)
        (void)roce_req_advance(q, now_ps, to);
}

static void take_nack(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_req *r = &q->req;
    uint64_t to = roce_number(r->una, q->psn0, p->roce.psn);
    uint64_t n = roce_number(r->una, q->psn0, p->roce.x.irn_sack.psn);
    q->base.count.packet_seq_err++;
    roce_cc_heard(q, now_ps, n, p);
    take_cumulative(q, now_ps, to);
    q->heard.pkt = NULL;
    if (!roce_alive(q))
        return;
    if (n - r->una >= r->max - r->una)
        return;
    if (!q->irn->requests.recovering)
        roce_req_loss(q, now_ps);
    roce_board_enter(&q->irn->requests, r->max);
    roce_board_sack(&q->irn->requests, n);
}

void roce_irn_ack(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    if (p->roce.opcode != ROCE_IRN_NACK) {
        roce_req_ack(q, now_ps, p);
        return;
    }
    roce_req_take_credits(q, p);
    if (roce_alive(q))
        take_nack(q, now_ps, p);
}

/* --- responder --- */

void roce_irn_nack(struct roce_qp *q, uint64_t n) { roce_sacks_push(&q->irn->nacks, n); }

bool roce_irn_control_ready(const struct roce_qp *q)
{
    const struct roce_irn *x = q->irn;
    return roce_sacks_any(&x->nacks) || x->read_ack || roce_sacks_any(&x->read_nacks);
}

static void start_ack(struct roce_qp *q, struct pkt *p, unsigned opcode, uint32_t psn)
{
    roce_start_packet(q, p, (uint8_t)opcode, psn);
    p->roce.syndrome = ROCE_AETH_ACK | ROCE_AETH_NO_CREDITS;
}

bool roce_irn_control_tx(struct roce_qp *q, struct pkt *p)
{
    struct roce_irn *x = q->irn;
    struct roce_resp *r = &q->resp;
    while (roce_sacks_any(&x->nacks)) {
        uint64_t n = roce_sacks_pop(&x->nacks);
        if (n < r->expected)
            continue; /* in order by now: the ACK tells it */
        start_ack(q, p, ROCE_IRN_NACK, roce_psn(r->psn0, r->expected));
        p->roce.syndrome = (uint8_t)roce_resp_syndrome(q);
        p->roce.msn = r->msn & ROCE_PSN_MASK;
        p->roce.x.irn_sack.psn = roce_psn(r->psn0, n);
        roce_resp_news(q, p);
        q->base.count.naks_sent++;
        return true;
    }
    while (roce_sacks_any(&x->read_nacks)) {
        uint64_t n = roce_sacks_pop(&x->read_nacks);
        if (n < x->expected)
            continue;
        start_ack(q, p, ROCE_IRN_READ_NACK, roce_psn(q->psn0, x->expected));
        p->roce.x.irn_sack.psn = roce_psn(q->psn0, n);
        q->base.count.naks_sent++;
        return true;
    }
    if (!x->read_ack)
        return false;
    x->read_ack = false;
    start_ack(q, p, ROCE_IRN_READ_ACK, roce_psn(q->psn0, x->expected - 1));
    q->base.count.acks_sent++;
    return true;
}
