/* SPDX-License-Identifier: GPL-2.0-only */
/* The base of a QP: life, state machine, completions in order, flushes, the receive queue. */
#include "rnic_internal.h"
#include "../sim/trace.h"
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 65536

int rnic_qp_init(struct rnic_qp *qp, const struct rnic_qp_ops *ops, struct rnic_dev *dev, struct rnic_pd *pd, struct rnic_cq *send_cq,
                 struct rnic_cq *recv_cq, uint32_t sq_depth, uint32_t rq_depth, uint32_t id)
{
    if (dev == NULL || pd == NULL || pd->dev != dev || send_cq == NULL || send_cq->dev != dev || recv_cq == NULL || recv_cq->dev != dev ||
        sq_depth == 0 || sq_depth > MAX_DEPTH || rq_depth == 0 || rq_depth > MAX_DEPTH)
        return SIM_ERR_PARAM;
    if (dev->nqps == dev->max_qps || dev->next_qpn > UINT32_C(0xfffffe))
        return SIM_ERR_FULL;
    qp->ops = ops;
    qp->dev = dev;
    qp->pd = pd;
    qp->send_cq = send_cq;
    qp->recv_cq = recv_cq;
    qp->sq_depth = sq_depth;
    qp->rq_depth = rq_depth;
    qp->state = RNIC_QP_INIT;
    qp->qpn = dev->next_qpn++;
    qp->ep.id = id;
    dev->nqps++;
    qp->next = dev->qps;
    qp->link = &dev->qps;
    if (qp->next != NULL)
        qp->next->link = &qp->next;
    dev->qps = qp;
    return SIM_OK;
}

static void unlink_qp(struct rnic_qp *qp)
{
    if (qp->link == NULL)
        return;
    *qp->link = qp->next;
    if (qp->next != NULL)
        qp->next->link = qp->link;
    qp->link = NULL;
    qp->dev->nqps--;
}

static void drop_sends(struct rnic_qp *qp)
{
    for (; qp->sq_head != qp->sq_tail; qp->sq_head++)
        free(rnic_sq_wqe(qp, qp->sq_head)->inline_data);
    qp->sq_visible = qp->sq_tail;
    qp->stale_doorbells = qp->doorbells;
}

void rnic_qp_fini(struct rnic_qp *qp)
{
    unlink_qp(qp);
    drop_sends(qp);
    free(qp->sq);
    free(qp->rq);
}

void rnic_qp_destroy(struct rnic_qp *qp)
{
    unlink_qp(qp);
    if (qp->doorbells > 0) {
        if (!qp->dying) {
            qp->dying = 1;
            qp->state = RNIC_QP_RESET;
            drop_sends(qp);
            if (qp->ops->error != NULL)
                qp->ops->error(qp);
        }
        return;
    }
    qp->ops->destroy(qp);
}

void *rnic_ring_room(void *ring, uint32_t *cap, size_t size, uint32_t head, uint32_t tail)
{
    if (tail - head < *cap)
        return ring;
    uint32_t to = *cap ? *cap * 2 : 4;
    uint8_t *bigger = malloc(to * size);
    if (bigger == NULL)
        abort();
    for (uint32_t i = head; i != tail; i++)
        memcpy(bigger + (i & (to - 1)) * size, (uint8_t *)ring + (i & (*cap - 1)) * size, size);
    free(ring);
    *cap = to;
    return bigger;
}

int64_t rnic_qp_now(const struct rnic_qp *qp, int64_t fallback_ps)
{
    return qp->dev->host != NULL ? host_now(qp->dev->host) : fallback_ps;
}

/* --- state (IBTA vol. 1, 10.3.1; RTS to SQE is the NIC's own) --- */

#define TO(s) (1u << RNIC_QP_##s)
static const uint8_t allowed[RNIC_QP_STATES] = {
    [RNIC_QP_RESET] = TO(RESET) | TO(INIT),
    [RNIC_QP_INIT] = TO(RESET) | TO(INIT) | TO(RTR) | TO(ERROR),
    [RNIC_QP_RTR] = TO(RESET) | TO(RTS) | TO(ERROR),
    [RNIC_QP_RTS] = TO(RESET) | TO(RTS) | TO(SQD) | TO(SQE) | TO(ERROR),
    [RNIC_QP_SQD] = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERROR),
    [RNIC_QP_SQE] = TO(RESET) | TO(RTS) | TO(ERROR),
    [RNIC_QP_ERROR] = TO(RESET) | TO(ERROR),
};
#undef TO

bool rnic_qp_may_modify(enum rnic_qp_state from, enum rnic_qp_state to)
{
    return (unsigned)from < RNIC_QP_STATES && (unsigned)to < RNIC_QP_STATES && (allowed[from] >> to & 1u);
}

static void trace_state(const struct rnic_qp *qp, unsigned from, unsigned to)
{
    struct host *h = qp->dev->host;
    if (h == NULL || !sim_tracing(host_sim(h)))
        return;
    struct sim_trace t = { .now_ps = host_now(h), .point = SIM_TRACE_STATE, .node = host_node(h), .id = qp->qpn, .a = from, .b = to, .obj = qp };
    sim_trace_emit(host_sim(h), &t);
}

static void drain(struct rnic_qp *qp);

static void flush(struct rnic_qp *qp)
{
    qp->sq_visible = qp->sq_tail;
    qp->stale_doorbells = qp->doorbells;
    for (uint32_t i = qp->sq_head; i != qp->sq_tail; i++) {
        struct rnic_wqe *w = rnic_sq_wqe(qp, i);
        if (!w->done) {
            w->done = 1;
            w->status = RNIC_WC_WR_FLUSH_ERR;
            w->dma_bytes = 0;
        }
    }
    drain(qp);
    struct rnic_recv_info none = { 0 };
    if (qp->recv_open)
        rnic_complete_recv(qp, RNIC_WC_WR_FLUSH_ERR, &none);
    while (rnic_recv_begin(qp))
        rnic_complete_recv(qp, RNIC_WC_WR_FLUSH_ERR, &none);
}

int rnic_qp_modify(struct rnic_qp *qp, enum rnic_qp_state to)
{
    unsigned from = qp->state;
    if (!rnic_qp_may_modify((enum rnic_qp_state)from, to))
        return SIM_ERR_STATE;
    qp->state = (uint8_t)to;
    if (from == to)
        return SIM_OK;
    trace_state(qp, from, to);
    if (to == RNIC_QP_ERROR) {
        flush(qp);
        if (qp->ops->error != NULL)
            qp->ops->error(qp);
        endpoint_changed(&qp->ep);
    } else if (to == RNIC_QP_RESET) {
        drop_sends(qp);
        qp->rq_head = qp->rq_tail;
        qp->recv_open = 0;
    }
    return SIM_OK;
}

/* --- send completions --- */

static void overrun(struct rnic_qp *qp)
{
    qp->cq_overrun = 1;
    (void)rnic_qp_modify(qp, RNIC_QP_ERROR);
}

/* Show what is done at the head, in order. The head moves before the application is called, which may post or fail. */
static void drain(struct rnic_qp *qp)
{
    while (qp->sq_head != qp->sq_tail && rnic_sq_wqe(qp, qp->sq_head)->done) {
        struct rnic_wqe *w = rnic_sq_wqe(qp, qp->sq_head);
        bool show = w->status != RNIC_WC_SUCCESS || (w->wr.flags & RNIC_SEND_SIGNALED);
        struct rnic_wc wc = { .wr_id = w->wr.wr_id, .status = (enum rnic_wc_status)w->status, .op = w->wr.op, .byte_len = w->wr.sge.len, .qpn = qp->qpn };
        uint32_t dma_bytes = w->dma_bytes;
        free(w->inline_data);
        w->inline_data = NULL;
        qp->sq_head++;
        if (show && !rnic_cq_push(qp->send_cq, &wc, dma_bytes))
            overrun(qp);
    }
}

void rnic_complete_send(struct rnic_qp *qp, uint32_t i, enum rnic_wc_status status, uint32_t dma_bytes)
{
    assert(i - qp->sq_head < qp->sq_tail - qp->sq_head);
    struct rnic_wqe *w = rnic_sq_wqe(qp, i);
    assert(!w->done);
    w->done = 1;
    w->status = (uint8_t)status;
    w->dma_bytes = dma_bytes;
    if (i == qp->sq_head)
        drain(qp);
}

void rnic_fail(struct rnic_qp *qp, uint32_t i, enum rnic_wc_status status)
{
    if (i - qp->sq_head < qp->sq_tail - qp->sq_head) {
        struct rnic_wqe *w = rnic_sq_wqe(qp, i);
        if (!w->done) {
            w->done = 1;
            w->status = (uint8_t)status;
            w->dma_bytes = 0;
        }
    }
    (void)rnic_qp_modify(qp, RNIC_QP_ERROR);
}

void rnic_local_inv(struct rnic_qp *qp, uint32_t i)
{
    /* The owner may invalidate what it shares. */
    uint32_t key = rnic_sq_wqe(qp, i)->wr.imm_or_inv;
    enum rnic_fault f = rnic_remote_inv(qp, key);
    if (f == RNIC_FAULT_SHARED)
        rnic_mr_find(qp->dev, key)->invalid = true;
    if (f == RNIC_FAULT_NONE || f == RNIC_FAULT_SHARED)
        rnic_complete_send(qp, i, RNIC_WC_SUCCESS, 0);
    else
        rnic_fail(qp, i, RNIC_WC_LOC_PROT_ERR);
}

/* --- receive queue --- */

bool rnic_recv_begin(struct rnic_qp *qp)
{
    assert(!qp->recv_open);
    if (qp->rq_head == qp->rq_tail)
        return false;
    qp->cur_recv = qp->rq[qp->rq_head++ & (qp->rq_cap - 1)];
    qp->recv_open = 1;
    return true;
}

enum rnic_fault rnic_recv_place(struct rnic_qp *qp, uint32_t off, uint32_t len, const struct pkt *p, uint32_t from)
{
    const struct rnic_sge *s = &qp->cur_recv.sge;
    assert(qp->recv_open);
    if ((uint64_t)off + len > s->len)
        return RNIC_FAULT_BOUNDS;
    return rnic_place(qp, s->lkey, s->va + off, len, RNIC_LOCAL_WRITE, p, from);
}

enum rnic_fault rnic_recv_place_bytes(struct rnic_qp *qp, uint32_t off, uint32_t len, const uint8_t *bytes)
{
    const struct rnic_sge *s = &qp->cur_recv.sge;
    assert(qp->recv_open);
    if ((uint64_t)off + len > s->len)
        return RNIC_FAULT_BOUNDS;
    return rnic_place_bytes(qp, s->lkey, s->va + off, len, RNIC_LOCAL_WRITE, bytes);
}

static const struct rnic_recv_wr *recv_ahead(const struct rnic_qp *qp, uint32_t ahead)
{
    if (qp->recv_open && ahead == 0)
        return &qp->cur_recv;
    ahead -= qp->recv_open;
    return ahead < rnic_recv_posted(qp) ? &qp->rq[(qp->rq_head + ahead) & (qp->rq_cap - 1)] : NULL;
}

bool rnic_recv_fits(const struct rnic_qp *qp, uint32_t ahead, uint32_t off, uint32_t len)
{
    const struct rnic_recv_wr *r = recv_ahead(qp, ahead);
    return r != NULL && (uint64_t)off + len <= r->sge.len && rnic_check(qp, r->sge.lkey, r->sge.va + off, len, RNIC_LOCAL_WRITE) == RNIC_FAULT_NONE;
}

enum rnic_fault rnic_recv_place_ahead(struct rnic_qp *qp, uint32_t ahead, uint32_t off, uint32_t len, const struct pkt *p, uint32_t from,
                                      const uint8_t *bytes)
{
    const struct rnic_recv_wr *r = recv_ahead(qp, ahead);
    if (r == NULL || (uint64_t)off + len > r->sge.len)
        return RNIC_FAULT_BOUNDS;
    return bytes != NULL ? rnic_place_bytes(qp, r->sge.lkey, r->sge.va + off, len, RNIC_LOCAL_WRITE, bytes)
                         : rnic_place(qp, r->sge.lkey, r->sge.va + off, len, RNIC_LOCAL_WRITE, p, from);
}

void rnic_complete_recv(struct rnic_qp *qp, enum rnic_wc_status status, const struct rnic_recv_info *info)
{
    assert(qp->recv_open);
    qp->recv_open = 0;
    struct rnic_wc wc = { .wr_id = qp->cur_recv.wr_id, .status = status, .op = RNIC_OP_RECV, .byte_len = info->byte_len, .imm = info->imm,
                          .qpn = qp->qpn, .invalidated_key = info->invalidated_key, .has_imm = info->has_imm, .has_inv = info->has_inv,
                          .solicited = info->solicited, .src_addr = info->src_addr, .src_qpn = info->src_qpn };
    if (!rnic_cq_push(qp->recv_cq, &wc, info->dma_bytes))
        overrun(qp);
}
