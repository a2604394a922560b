/* SPDX-License-Identifier: GPL-2.0-only */
/* The device, protection domains, and what an application may post. */
#include "rnic_internal.h"
#include <stdlib.h>
#include <string.h>

#define FIRST_QPN 17          /* 0 and 1 are the management QPs; the rest below are kept free, as drivers do */
#define LAST_QPN  UINT32_C(0xfffffe)
#define MAX_MESSAGE_BYTES (UINT32_C(1) << 31)
#define MAX_INLINE_BYTES  512

struct rnic_dev *rnic_dev_new(struct host *h, uint32_t max_qps)
{
    struct rnic_dev *d = max_qps > 0 && max_qps <= LAST_QPN - FIRST_QPN ? calloc(1, sizeof *d) : NULL;
    if (d == NULL)
        return NULL;
    d->host = h;
    d->max_qps = max_qps;
    d->next_qpn = FIRST_QPN;
    return d;
}

void rnic_dev_free(struct rnic_dev *d)
{
    if (d == NULL)
        return;
    while (d->qps != NULL) {
        struct rnic_qp *qp = d->qps;
        qp->doorbells = 0; /* the simulation runs no more */
        rnic_qp_destroy(qp);
    }
    rnic_mr_free_all(d);
    while (d->cqs != NULL) {
        struct rnic_cq *cq = d->cqs;
        d->cqs = cq->next;
        rnic_cq_free(cq);
    }
    while (d->pds != NULL) {
        struct rnic_pd *pd = d->pds;
        d->pds = pd->next;
        free(pd);
    }
    free(d);
}

struct host *rnic_dev_host(const struct rnic_dev *d) { return d->host; }

struct rnic_pd *rnic_pd_new(struct rnic_dev *d)
{
    struct rnic_pd *pd = calloc(1, sizeof *pd);
    if (pd == NULL)
        return NULL;
    pd->dev = d;
    pd->next = d->pds;
    d->pds = pd;
    return pd;
}

const char *rnic_wc_status_name(enum rnic_wc_status s)
{
    static const char *const names[RNIC_WC_STATUS_COUNT] = {
        [RNIC_WC_SUCCESS] = "success", [RNIC_WC_LOC_LEN_ERR] = "local length error", [RNIC_WC_LOC_QP_OP_ERR] = "local QP operation error",
        [RNIC_WC_LOC_PROT_ERR] = "local protection error", [RNIC_WC_WR_FLUSH_ERR] = "flushed", [RNIC_WC_BAD_RESP_ERR] = "bad response",
        [RNIC_WC_LOC_ACCESS_ERR] = "local access error", [RNIC_WC_REM_INV_REQ_ERR] = "remote invalid request",
        [RNIC_WC_REM_ACCESS_ERR] = "remote access error", [RNIC_WC_REM_OP_ERR] = "remote operation error",
        [RNIC_WC_RETRY_EXC_ERR] = "transport retries exceeded", [RNIC_WC_RNR_RETRY_EXC_ERR] = "receiver-not-ready retries exceeded",
        [RNIC_WC_FATAL_ERR] = "fatal error" };
    return (unsigned)s < RNIC_WC_STATUS_COUNT ? names[s] : "?";
}

/* --- posting --- */

static bool states_take_sends(unsigned state)
{
    return state == RNIC_QP_RTS || state == RNIC_QP_SQD || state == RNIC_QP_SQE || state == RNIC_QP_ERROR;
}

static int check_send(const struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    bool to_local = wr->op == RNIC_OP_READ || wr->op == RNIC_OP_CMP_SWAP || wr->op == RNIC_OP_FETCH_ADD;
    bool atomic = to_local && wr->op != RNIC_OP_READ;
    if ((unsigned)wr->op >= RNIC_OP_RECV || wr->sge.len > MAX_MESSAGE_BYTES || (atomic && wr->sge.len != 8))
        return SIM_ERR_PARAM;
    if ((wr->flags & RNIC_SEND_INLINE) && (to_local || wr->sge.len > MAX_INLINE_BYTES))
        return SIM_ERR_PARAM;
    if (qp->ops->check_send != NULL && qp->ops->check_send(qp, wr) != SIM_OK)
        return SIM_ERR_PARAM;
    if (wr->op == RNIC_OP_LOCAL_INV)
        return SIM_OK;
    return rnic_check(qp, wr->sge.lkey, wr->sge.va, wr->sge.len, to_local ? RNIC_LOCAL_WRITE : 0) == RNIC_FAULT_NONE ? SIM_OK : SIM_ERR_PARAM;
}

static uint8_t *copy_inline(const struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    struct rnic_span s;
    if (!(wr->flags & RNIC_SEND_INLINE) || wr->sge.len == 0 || wr->op == RNIC_OP_LOCAL_INV ||
        rnic_describe(qp, wr->sge.lkey, wr->sge.va, wr->sge.len, 0, &s) != RNIC_FAULT_NONE || s.mem == NULL)
        return NULL; /* a pattern needs no copy: it never changes */
    uint8_t *copy = malloc(wr->sge.len);
    if (copy == NULL)
        abort();
    memcpy(copy, s.mem, wr->sge.len);
    return copy;
}

static void doorbell(struct sim *s, void *ctx, void *arg)
{
    struct rnic_qp *qp = ctx;
    (void)s;
    (void)arg;
    qp->doorbells--;
    if (qp->dying) {
        if (qp->doorbells == 0)
            qp->ops->destroy(qp);
        return;
    }
    if (qp->stale_doorbells > 0) {
        qp->stale_doorbells--;
        return;
    }
    qp->sq_visible++;
    if (qp->ops->kick != NULL)
        qp->ops->kick(qp);
    endpoint_changed(&qp->ep);
}

int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    if (!states_take_sends(qp->state))
        return SIM_ERR_STATE;
    if (qp->sq_tail - qp->sq_head >= qp->sq_depth)
        return SIM_ERR_FULL;
    int bad = check_send(qp, wr);
    if (bad)
        return bad;
    qp->sq = rnic_ring_room(qp->sq, &qp->sq_cap, sizeof *qp->sq, qp->sq_head, qp->sq_tail);
    uint32_t i = qp->sq_tail++;
    *rnic_sq_wqe(qp, i) = (struct rnic_wqe){ .wr = *wr, .inline_data = copy_inline(qp, wr) };
    if (qp->state == RNIC_QP_ERROR || qp->state == RNIC_QP_SQE) { /* IBTA 10.3.1: accepted and flushed */
        qp->sq_visible = qp->sq_tail;
        rnic_complete_send(qp, i, RNIC_WC_WR_FLUSH_ERR, 0);
        return SIM_OK;
    }
    if (qp->dev->host != NULL) {
        qp->doorbells++;
        host_doorbell(qp->dev->host, qp->send_cq->core, doorbell, qp, NULL);
        return SIM_OK;
    }
    qp->sq_visible = qp->sq_tail;
    if (qp->ops->kick != NULL)
        qp->ops->kick(qp);
    return SIM_OK;
}

int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *wr)
{
    if (qp->state == RNIC_QP_RESET)
        return SIM_ERR_STATE;
    if (qp->rq_tail - qp->rq_head >= qp->rq_depth)
        return SIM_ERR_FULL;
    if (wr->sge.len > MAX_MESSAGE_BYTES || rnic_check(qp, wr->sge.lkey, wr->sge.va, wr->sge.len, RNIC_LOCAL_WRITE) != RNIC_FAULT_NONE)
        return SIM_ERR_PARAM;
    if (qp->state == RNIC_QP_ERROR) {
        struct rnic_wc wc = { .wr_id = wr->wr_id, .status = RNIC_WC_WR_FLUSH_ERR, .op = RNIC_OP_RECV, .qpn = qp->qpn };
        (void)rnic_cq_push(qp->recv_cq, &wc, 0);
        return SIM_OK;
    }
    qp->rq = rnic_ring_room(qp->rq, &qp->rq_cap, sizeof *qp->rq, qp->rq_head, qp->rq_tail);
    qp->rq[qp->rq_tail++ & (qp->rq_cap - 1)] = *wr;
    if (qp->ops->recv_posted != NULL)
        qp->ops->recv_posted(qp);
    return SIM_OK;
}

uint32_t rnic_qp_num(const struct rnic_qp *qp) { return qp->qpn; }
enum rnic_qp_state rnic_qp_state(const struct rnic_qp *qp) { return (enum rnic_qp_state)qp->state; }
int rnic_qp_set_error(struct rnic_qp *qp) { return rnic_qp_modify(qp, RNIC_QP_ERROR); }
void rnic_qp_set_ctx(struct rnic_qp *qp, void *ctx) { qp->ctx = ctx; }
void *rnic_qp_ctx(const struct rnic_qp *qp) { return qp->ctx; }

const struct rnic_counters *rnic_qp_counters(const struct rnic_qp *qp)
{
    if (qp->ops->count != NULL)
        qp->ops->count((struct rnic_qp *)qp); /* a cache of what the transport knows */
    return &qp->count;
}
