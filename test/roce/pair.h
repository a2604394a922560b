/* SPDX-License-Identifier: GPL-2.0-only */
/** Two RoCE QPs back to back in virtual time, without hosts or fabric: a wire of a rate and a delay each way, and a function that
 *  decides the fate of each packet. */
#ifndef RNICSIM_TEST_ROCE_PAIR_H
#define RNICSIM_TEST_ROCE_PAIR_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/rnic/qp.h"
#include "../../model/roce/roce.h"
#include "../../model/sim/rng.h"
#include "../../model/wire/codec.h"

#define PAIR_LOG_MAX 16384
#define PAIR_WC_MAX 4096
#define PAIR_MEM_VA UINT64_C(0x100000)

enum pair_fate { PAIR_PASS, PAIR_DROP, PAIR_CORRUPT, PAIR_TWICE, PAIR_MARK, PAIR_LATE };

struct pair;
typedef enum pair_fate pair_fate_fn(void *ctx, struct pair *pr, int from, const struct pkt *p);

struct pair_event { int64_t at_ps; uint8_t from, opcode, syndrome, ack_req, retx; uint32_t psn, len, frame_len; };

struct pair_flight { struct pair_flight *next; int64_t at_ps; struct pkt p; };

struct pair_side {
    struct rnic_dev *dev;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_mr *mr;
    struct roce_params params;
    uint8_t *mem;
    struct rnic_wc wc[PAIR_WC_MAX];
    int64_t wc_ps[PAIR_WC_MAX];
    uint32_t nwc;
    void (*on_wc)(struct pair *pr, int side, const struct rnic_wc *wc);
    struct pair *pair;
    int64_t free_ps;                     /* the wire is free to take a packet */
    struct pair_flight *head, *tail;     /* packets that this side sent and that have not arrived */
    uint64_t sent, arrived;
};

struct pair {
    struct pair_side side[2];
    int64_t now_ps, rate_bps, delay_ps, late_ps;
    pair_fate_fn *fate;
    void *ctx;
    struct pair_flight *spare;
    struct pair_event log[PAIR_LOG_MAX];
    uint32_t nlog;
    bool stop;
};

static inline void pair_wc(void *ctx, const struct rnic_wc *wc)
{
    struct pair_side *s = ctx;
    if (s->nwc < PAIR_WC_MAX) {
        s->wc_ps[s->nwc] = s->pair->now_ps;
        s->wc[s->nwc++] = *wc;
    }
    if (s->on_wc)
        s->on_wc(s->pair, (int)(s - s->pair->side), wc);
}

struct pair_config {
    struct roce_params params;           /* both sides, changed after pair_defaults as a test likes */
    struct roce_params params1;          /* side 1's, if its mtu is not 0 */
    const struct cc_ops *cc;
    const void *cc_params;
    size_t mem_bytes;                    /* of the region of each side */
    bool memory;                         /* real bytes */
    unsigned access;
    int64_t rate_bps, delay_ps;
    uint32_t psn[2];
};

static inline struct pair_config pair_defaults(void)
{
    struct pair_config c = { .mem_bytes = 1 << 20, .memory = true, .rate_bps = INT64_C(100000000000), .delay_ps = SIM_PS_PER_US,
        .access = RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE | RNIC_REMOTE_READ | RNIC_REMOTE_ATOMIC, .psn = { 100, 7000 } };
    param_defaults(&roce_params_table, &c.params);
    return c;
}

static inline struct pair *pair_new(const struct pair_config *c)
{
    struct pair *pr = calloc(1, sizeof *pr);
    assert_non_null(pr);
    pr->rate_bps = c->rate_bps;
    pr->delay_ps = c->delay_ps;
    pr->late_ps = 20 * SIM_PS_PER_US;
    for (int i = 0; i < 2; i++) {
        struct pair_side *s = &pr->side[i];
        s->pair = pr;
        s->params = i == 1 && c->params1.mtu_bytes ? c->params1 : c->params;
        s->dev = rnic_dev_new(NULL, 4);
        s->pd = rnic_pd_new(s->dev);
        s->cq = rnic_cq_new(s->dev, 65536, 0, pair_wc, s);
        if (c->memory) {
            s->mem = malloc(c->mem_bytes);
            for (size_t b = 0; b < c->mem_bytes; b++)
                s->mem[b] = pkt_pattern_byte((uint64_t)i + 1, b);
        }
        s->mr = rnic_mr_reg(s->pd, PAIR_MEM_VA, c->mem_bytes, c->access, s->mem);
        s->qp = roce_qp_new(s->dev, s->pd, s->cq, s->cq, &s->params, c->cc, c->cc_params, c->rate_bps, 10 + (uint32_t)i, 1);
        assert_non_null(s->qp);
        roce_qp_set_first_psn(s->qp, c->psn[i]);
    }
    for (int i = 0; i < 2; i++) {
        struct roce_peer peer = { .local_addr = pkt_addr_of_node((uint32_t)i), .remote_addr = pkt_addr_of_node((uint32_t)!i),
            .remote_qpn = rnic_qp_num(pr->side[!i].qp), .remote_psn = roce_qp_first_psn(pr->side[!i].qp),
            .path_mtu_bytes = (uint32_t)pr->side[!i].params.mtu_bytes, .base_rtt_ps = 2 * c->delay_ps };
        assert_int_equal(roce_qp_connect(pr->side[i].qp, &peer), SIM_OK);
    }
    return pr;
}

static inline void pair_free(struct pair *pr)
{
    for (int i = 0; i < 2; i++) {
        struct pair_side *s = &pr->side[i];
        for (struct pair_flight *f = s->head, *next; f; f = next) {
            next = f->next;
            pkt_release_payload(&f->p);
            free(f);
        }
        rnic_dev_free(s->dev);
        free(s->mem);
    }
    for (struct pair_flight *f = pr->spare, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(pr);
}

static inline struct pair_flight *pair_flight_new(struct pair *pr)
{
    struct pair_flight *f = pr->spare;
    if (f)
        pr->spare = f->next;
    else
        f = malloc(sizeof *f);
    assert_non_null(f);
    f->next = NULL;
    memset(&f->p, 0, offsetof(struct pkt, chunk));
    return f;
}

static inline void pair_flight_drop(struct pair *pr, struct pair_flight *f)
{
    pkt_release_payload(&f->p);
    f->next = pr->spare;
    pr->spare = f;
}

static inline void pair_fly(struct pair_side *s, struct pair_flight *f)
{
    struct pair_flight **at = &s->head;
    if (s->tail && s->tail->at_ps <= f->at_ps)
        at = &s->tail->next;
    while (*at && (*at)->at_ps <= f->at_ps)
        at = &(*at)->next;
    f->next = *at;
    *at = f;
    if (!f->next)
        s->tail = f;
}

static inline int64_t pair_wire_ps(const struct pair *pr, uint32_t frame_len)
{
    return (int64_t)(((uint64_t)frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES) * 8 * (uint64_t)SIM_PS_PER_S / (uint64_t)pr->rate_bps);
}

/* Side i puts one packet on its wire. false: it had none. */
static inline bool pair_tx(struct pair *pr, int i)
{
    struct pair_side *s = &pr->side[i];
    struct endpoint *ep = &s->qp->ep;
    struct pair_flight *f = pair_flight_new(pr);
    if (!ep->ops->tx(ep, pr->now_ps, &f->p)) {
        pair_flight_drop(pr, f);
        return false;
    }
    const struct pkt *p = &f->p;
    if (pr->nlog < PAIR_LOG_MAX)
        pr->log[pr->nlog++] = (struct pair_event){ .at_ps = pr->now_ps, .from = (uint8_t)i, .opcode = p->roce.opcode, .syndrome = p->roce.syndrome,
            .ack_req = p->roce.ack_req, .retx = (p->flags & PKT_F_RETX) != 0, .psn = p->roce.psn, .len = p->payload_len, .frame_len = p->frame_len };
    s->sent++;
    s->free_ps = pr->now_ps + pair_wire_ps(pr, p->frame_len);
    f->at_ps = s->free_ps + pr->delay_ps;
    enum pair_fate fate = pr->fate ? pr->fate(pr->ctx, pr, i, p) : PAIR_PASS;
    if (fate == PAIR_DROP || fate == PAIR_CORRUPT) {
        pair_flight_drop(pr, f);
        return true;
    }
    if (fate == PAIR_MARK)
        f->p.ecn = 3;
    if (fate == PAIR_LATE)
        f->at_ps += pr->late_ps;
    if (fate == PAIR_TWICE) {
        struct pair_flight *copy = pair_flight_new(pr);
        pkt_copy(&copy->p, &f->p);
        copy->at_ps = f->at_ps + 100 * SIM_PS_PER_NS;
        pair_fly(s, copy);
    }
    pair_fly(s, f);
    return true;
}

static inline int64_t pair_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t pair_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* One step: everything of the earliest time, arrivals first, then timers, then transmissions. false: nothing left to do. */
static inline bool pair_step(struct pair *pr, int64_t until_ps)
{
    int64_t next = SIM_NEVER_PS;
    for (int i = 0; i < 2; i++) {
        struct pair_side *s = &pr->side[i];
        struct endpoint *ep = &s->qp->ep;
        if (s->head)
            next = pair_min(next, s->head->at_ps);
        next = pair_min(next, pair_max(ep->ops->next_wake_ps(ep), pr->now_ps));
        int64_t ready = ep->ops->ready_ps(ep);
        if (ready != SIM_NEVER_PS)
            next = pair_min(next, pair_max(pair_max(ready, s->free_ps), pr->now_ps));
    }
    if (next == SIM_NEVER_PS || next > until_ps)
        return false;
    pr->now_ps = next;
    for (int i = 0; i < 2; i++)
        while (pr->side[i].head && pr->side[i].head->at_ps <= next) {
            struct pair_flight *f = pr->side[i].head;
            struct endpoint *ep = &pr->side[!i].qp->ep;
            pr->side[i].head = f->next;
            if (!f->next)
                pr->side[i].tail = NULL;
            pr->side[i].arrived++;
            ep->ops->rx(ep, next, &f->p);
            pair_flight_drop(pr, f);
        }
    for (int i = 0; i < 2; i++) {
        struct endpoint *ep = &pr->side[i].qp->ep;
        if (ep->ops->next_wake_ps(ep) <= next)
            ep->ops->wake(ep, next);
        if (pr->side[i].free_ps <= next && ep->ops->ready_ps(ep) <= next)
            (void)pair_tx(pr, i);
    }
    return true;
}

static inline void pair_run(struct pair *pr, int64_t until_ps)
{
    while (!pr->stop && pair_step(pr, until_ps))
        ;
    if (until_ps != SIM_NEVER_PS && !pr->stop)
        pr->now_ps = until_ps;
}

/* --- posting and looking --- */

static inline struct rnic_send_wr pair_wr(struct pair *pr, int from, enum rnic_opcode op, uint64_t wr_id, uint64_t off, uint32_t len)
{
    return (struct rnic_send_wr){ .wr_id = wr_id, .op = op, .flags = RNIC_SEND_SIGNALED,
        .sge = { PAIR_MEM_VA + off, len, rnic_mr_key(pr->side[from].mr) }, .remote_va = PAIR_MEM_VA + off, .rkey = rnic_mr_key(pr->side[!from].mr) };
}

static inline void pair_post(struct pair *pr, int from, enum rnic_opcode op, uint64_t wr_id, uint64_t off, uint32_t len)
{
    struct rnic_send_wr wr = pair_wr(pr, from, op, wr_id, off, len);
    assert_int_equal(rnic_post_send(pr->side[from].qp, &wr), SIM_OK);
}

static inline void pair_recv(struct pair *pr, int at, uint64_t wr_id, uint64_t off, uint32_t len)
{
    struct rnic_recv_wr wr = { wr_id, { PAIR_MEM_VA + off, len, rnic_mr_key(pr->side[at].mr) } };
    assert_int_equal(rnic_post_recv(pr->side[at].qp, &wr), SIM_OK);
}

static inline uint64_t pair_count(const struct pair *pr, int from, unsigned opcode)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < pr->nlog; i++)
        n += pr->log[i].from == from && pr->log[i].opcode == opcode;
    return n;
}

#define PAIR_COUNTER(pr, i, name) (rnic_qp_counters((pr)->side[i].qp)->name)

/* Most packets of side 0 that were sent and not yet acknowledged; for a QP whose first PSN is 100. */
static inline uint32_t pair_most_in_flight(const struct pair *pr)
{
    uint32_t sent = 0, acked = 0, most = 0;
    for (uint32_t i = 0; i < pr->nlog; i++) {
        if (pr->log[i].from == 0)
            sent = pr->log[i].psn - 99;
        else
            acked = pr->log[i].psn - 99;
        most = sent - acked > most ? sent - acked : most;
    }
    return most;
}

#endif
