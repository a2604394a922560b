/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages over a pair of QPs, whatever transport is below them. */
#include <stdlib.h>

#include "chan_internal.h"

#define RECVS_MAX 1024
/* Both ends' buffers lie at the same address; it only has to be none that a peer could guess by being zero. */
#define BUFFER_VA UINT64_C(0x100000000)

struct chan_verbs {
    struct wl_chan base;
    struct rnic_qp *data, *sink_qp;                   /* where the data comes from, where it goes */
    struct rnic_qp *requester;
    struct rnic_mr *source_mr, *sink_mr;
    struct wl_cq_link *data_link, *sink_link;
    enum wl_operation op;
    uint32_t max_bytes, recvs;
    bool pumping;
};

static struct chan_verbs *verbs_of(const struct wl_chan *c) { return (struct chan_verbs *)c; }

static int64_t verbs_now(const struct wl_chan *c) { return host_now(verbs_of(c)->data_link->host); }

static void top_up_receives(struct chan_verbs *v)
{
    struct rnic_recv_wr wr = { .sge = { BUFFER_VA, v->max_bytes, rnic_mr_key(v->sink_mr) } };
    while (v->recvs < RECVS_MAX && rnic_post_recv(v->sink_qp, &wr) == SIM_OK)
        v->recvs++;
}

static void make_wr(const struct chan_verbs *v, uint64_t seq, uint64_t bytes, struct rnic_send_wr *wr)
{
    *wr = (struct rnic_send_wr){ .wr_id = seq, .flags = RNIC_SEND_SIGNALED };
    struct rnic_mr *local = v->source_mr, *remote = v->sink_mr;
    switch (v->op) {
    case WL_OP_SEND:
        wr->op = RNIC_OP_SEND;
        break;
    case WL_OP_WRITE:
        wr->op = RNIC_OP_WRITE;
        break;
    case WL_OP_READ:
        wr->op = RNIC_OP_READ;
        local = v->sink_mr;
        remote = v->source_mr;
        break;
    }
    wr->sge = (struct rnic_sge){ BUFFER_VA, (uint32_t)bytes, rnic_mr_key(local) };
    if (wr->op != RNIC_OP_SEND) {
        wr->remote_va = BUFFER_VA;
        wr->rkey = rnic_mr_key(remote);
    }
}

static void verbs_send(struct wl_chan *c)
{
    struct chan_verbs *v = verbs_of(c);
    if (v->pumping)
        return;
    v->pumping = true;
    while (!c->broken && c->post_seq < c->tail_seq) {
        enum rnic_qp_state state = rnic_qp_state(v->requester);
        if (state != RNIC_QP_RTS && state != RNIC_QP_ERROR)
            break;                                    /* still connecting */
        struct rnic_send_wr wr;
        make_wr(v, c->post_seq, chan_at(c, c->post_seq)->bytes, &wr);
        int status = state == RNIC_QP_ERROR ? SIM_ERR_STATE : rnic_post_send(v->requester, &wr);
        if (status == SIM_ERR_FULL)
            break;
        if (status == SIM_OK)
            c->post_seq++;
        else
            chan_break(c, status == SIM_ERR_STATE ? RNIC_WC_WR_FLUSH_ERR : RNIC_WC_LOC_QP_OP_ERR);
    }
    v->pumping = false;
}

static void verbs_fail(struct wl_chan *c, enum rnic_wc_status status)
{
    struct chan_verbs *v = verbs_of(c);
    if (rnic_qp_state(v->requester) == RNIC_QP_RTS)
        (void)rnic_qp_set_error(v->requester);        /* its flushed completions come; the rest fails after them */
    chan_break(c, status);
}

/* A completion at the QP that posts the messages. */
static void request_done(struct chan_verbs *v, const struct rnic_wc *wc)
{
    struct wl_chan *c = &v->base;
    if (c->complete_seq >= c->post_seq)
        return;
    assert(wc->wr_id == c->complete_seq);
    if (wc->status == RNIC_WC_SUCCESS && v->op == WL_OP_READ)
        (void)chan_delivered(c);
    if (wc->status != RNIC_WC_SUCCESS && !c->broken)
        chan_break(c, RNIC_WC_WR_FLUSH_ERR);
    chan_completed(c, wc->status);
    if (c->broken)
        chan_break(c, c->why);
    else
        verbs_send(c);
}

void wl_cq_on_wc(void *link_ctx, const struct rnic_wc *wc)
{
    struct wl_cq_link *link = link_ctx;
    if (!link->chan)
        return;
    struct chan_verbs *v = verbs_of(link->chan);
    if (wc->op == RNIC_OP_RECV) {
        v->recvs--;
        if (wc->status == RNIC_WC_SUCCESS) {
            top_up_receives(v);
            (void)chan_delivered(&v->base);
        }
    } else {
        request_done(v, wc);
    }
}

static void write_seen(void *ctx, uint64_t va, uint32_t len)
{
    (void)va;
    (void)len;
    (void)chan_delivered(ctx);
}

static uint64_t verbs_timeouts(const struct wl_chan *c)
{
    const struct chan_verbs *v = verbs_of(c);
    return rnic_qp_counters(v->data)->timer_waits + rnic_qp_counters(v->sink_qp)->timer_waits;
}

static void verbs_free(struct wl_chan *c)
{
    struct chan_verbs *v = verbs_of(c);
    v->data_link->chan = NULL;
    v->sink_link->chan = NULL;
    if (v->source_mr)
        rnic_mr_dereg(v->source_mr);
    if (v->sink_mr)
        rnic_mr_dereg(v->sink_mr);
    chan_fini(c);
    free(v);
}

static const struct chan_ops verbs_ops = { verbs_send, verbs_send, verbs_fail, verbs_timeouts, verbs_free };

struct wl_chan *wl_chan_verbs(uint32_t id, struct rnic_pd *pd, struct rnic_qp *qp, struct rnic_pd *peer_pd, struct rnic_qp *peer, enum wl_operation op,
                              uint64_t max_message_bytes, const struct wl_sink *sink, void *ctx)
{
    struct chan_verbs *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    assert(max_message_bytes > 0 && max_message_bytes <= INT32_MAX);
    chan_init(&v->base, &verbs_ops, id, sink, ctx);
    v->base.now = verbs_now;
    v->data = qp;
    v->sink_qp = peer;
    v->requester = op == WL_OP_READ ? peer : qp;
    v->op = op;
    v->max_bytes = (uint32_t)max_message_bytes;
    v->data_link = rnic_qp_ctx(qp);
    v->sink_link = rnic_qp_ctx(peer);
    assert(v->data_link && v->sink_link);
    v->data_link->chan = v->sink_link->chan = &v->base;
    v->source_mr = rnic_mr_reg(pd, BUFFER_VA, max_message_bytes, RNIC_REMOTE_READ, NULL);
    v->sink_mr = rnic_mr_reg(peer_pd, BUFFER_VA, max_message_bytes, RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE, NULL);
    if (!v->source_mr || !v->sink_mr) {
        verbs_free(&v->base);
        return NULL;
    }
    if (op == WL_OP_SEND)
        top_up_receives(v);
    else if (op == WL_OP_WRITE)
        rnic_mr_watch(v->sink_mr, v->sink_link->core, write_seen, &v->base);
    return &v->base;
}
