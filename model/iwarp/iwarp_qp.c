/* SPDX-License-Identifier: GPL-2.0-only */
/* An iWARP QP: life, its endpoint around the TCP connection's, connection set-up and end. */
#include "iwarp_internal.h"
#include <stdlib.h>
#include <string.h>

static struct iwarp_qp *of(struct rnic_qp *qp) { return (struct iwarp_qp *)qp; }
static const struct iwarp_qp *of_const(const struct rnic_qp *qp) { return (const struct iwarp_qp *)qp; }
static struct iwarp_qp *of_ep(struct endpoint *ep) { return (struct iwarp_qp *)ep; }

/* --- up and down --- */

void iwarp_qp_up(struct iwarp_qp *q, int status)
{
    if (q->up_told)
        return;
    q->up_told = 1;
    q->start_deadline_ps = SIM_NEVER_PS;
    if (status == SIM_OK) {
        q->agreed.up = 1;
        int bad = rnic_qp_modify(&q->base, RNIC_QP_RTR);
        bad |= rnic_qp_modify(&q->base, RNIC_QP_RTS);
        assert(bad == SIM_OK);
        (void)bad;
    } else {
        (void)rnic_qp_modify(&q->base, RNIC_QP_ERROR);
    }
    if (q->up != NULL)
        q->up(q->up_ctx, &q->base, status);
}

/* TCP tells: a handshake that ended, a FIN, a reset. */
static void tcp_moved(void *user, int64_t now_ps, enum tcp_state state, int error)
{
    struct iwarp_qp *q = user;
    (void)now_ps;
    if (state == TCP_ESTABLISHED) {
        if (q->phase == IWARP_CONNECTING)
            iwarp_start_established(q);
        return;
    }
    if (q->phase != IWARP_TERMINATING && q->phase != IWARP_CLOSED)
        iwarp_term_note(q, IWARP_LAYER_MPA, 0, 1);
    if (state == TCP_CLOSE_WAIT && q->phase != IWARP_TERMINATING) {
        q->phase = IWARP_CLOSED; /* no more FPDUs will come: RFC 5044 7.2 */
        q->close_pending = 1;
    } else if (state == TCP_CLOSED || error != SIM_OK) {
        q->phase = IWARP_CLOSED;
        q->close_pending = 0;
    } else {
        return;
    }
    if (!q->up_told)
        iwarp_qp_up(q, SIM_ERR_STATE);
    else
        (void)rnic_qp_modify(&q->base, RNIC_QP_ERROR);
}

static const struct tcp_user_ops user_ops = { .fill = iwarp_fpdu_fill, .deliver = iwarp_rx_deliver, .acked = iwarp_stream_acked,
                                              .state = tcp_moved, .early = iwarp_early_rx };

static bool tcp_alive(const struct iwarp_qp *q) { return q->tcp != NULL && tcp_state(q->tcp) != TCP_CLOSED; }

void iwarp_qp_settle(struct iwarp_qp *q, int64_t now_ps)
{
    q->now_ps = now_ps;
    if (q->tcp == NULL)
        return;
    q->dirty = 0;
    if (q->open_pending) {
        q->open_pending = 0;
        q->start_deadline_ps = now_ps + q->params->startup_timeout_ps;
        int bad = q->initiator ? tcp_connect(q->tcp, now_ps) : tcp_accept(q->tcp, now_ps);
        if (bad)
            iwarp_qp_up(q, bad);
    }
    do {
        iwarp_tx_complete_sent(q);
        while (iwarp_stream_announce(q))
            ;
    } while (q->announced == q->framed && q->framed - q->given < 4 * (uint64_t)tcp_emss(q->tcp) && iwarp_tx_frame_next(q));
    if (q->closing && q->phase == IWARP_FULL && q->sq_next == q->base.sq_visible && q->read_head == q->read_tail && q->inread_head == q->inread_tail) {
        q->closing = 0;
        q->phase = IWARP_CLOSED;
        q->close_pending = 1;
        (void)rnic_qp_modify(&q->base, RNIC_QP_ERROR);
    }
    if (tcp_alive(q) && !q->abort_pending)
        tcp_stream_end(q->tcp, now_ps, iwarp_stream_off(q, q->announced));
    if (q->abort_pending) {
        q->abort_pending = q->close_pending = 0;
        if (tcp_alive(q))
            tcp_abort(q->tcp, now_ps);
    } else if (q->close_pending && q->announced == q->framed) {
        q->close_pending = 0;
        if (tcp_alive(q))
            tcp_close(q->tcp, now_ps);
    }
}

/* --- the endpoint --- */

static void ep_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct iwarp_qp *q = of_ep(ep);
    if (q->tcp == NULL)
        return;
    iwarp_qp_settle(q, now_ps);
    q->tcp_ep->ops->rx(q->tcp_ep, now_ps, p);
    iwarp_qp_settle(q, now_ps);
}

static bool ep_tx(struct endpoint *ep, int64_t now_ps, struct pkt *out)
{
    struct iwarp_qp *q = of_ep(ep);
    if (q->tcp == NULL)
        return false;
    if (q->dirty || q->open_pending)
        iwarp_qp_settle(q, now_ps);
    bool sent = q->tcp_ep->ops->tx(q->tcp_ep, now_ps, out);
    if (sent)
        iwarp_qp_settle(q, now_ps);
    return sent;
}

static bool ep_tx_control(struct endpoint *ep, int64_t now_ps, struct pkt *out)
{
    struct iwarp_qp *q = of_ep(ep);
    return q->tcp != NULL && q->tcp_ep->ops->tx_control != NULL && q->tcp_ep->ops->tx_control(q->tcp_ep, now_ps, out);
}

static void ep_wake(struct endpoint *ep, int64_t now_ps)
{
    struct iwarp_qp *q = of_ep(ep);
    if (q->tcp == NULL)
        return;
    if (now_ps >= q->start_deadline_ps && !q->up_told) {
        q->phase = IWARP_CLOSED;
        q->abort_pending = 1;
        iwarp_qp_up(q, SIM_ERR_STATE);
    }
    if (q->tcp_ep->ops->next_wake_ps(q->tcp_ep) <= now_ps)
        q->tcp_ep->ops->wake(q->tcp_ep, now_ps);
    iwarp_qp_settle(q, now_ps);
}

static int64_t ep_ready_ps(const struct endpoint *ep)
{
    const struct iwarp_qp *q = (const struct iwarp_qp *)ep;
    if (q->tcp == NULL)
        return SIM_NEVER_PS;
    return q->dirty || q->open_pending ? q->now_ps : q->tcp_ep->ops->ready_ps(q->tcp_ep);
}

static int64_t ep_next_wake_ps(const struct endpoint *ep)
{
    const struct iwarp_qp *q = (const struct iwarp_qp *)ep;
    if (q->tcp == NULL)
        return SIM_NEVER_PS;
    int64_t t = q->tcp_ep->ops->next_wake_ps(q->tcp_ep);
    return t < q->start_deadline_ps ? t : q->start_deadline_ps;
}

static const struct endpoint_ops ep_ops = { .rx = ep_rx, .tx = ep_tx, .wake = ep_wake, .ready_ps = ep_ready_ps,
                                            .next_wake_ps = ep_next_wake_ps, .tx_control = ep_tx_control };

/* --- what the verbs call --- */

static void kick(struct rnic_qp *qp)
{
    struct iwarp_qp *q = of(qp);
    if (rnic_dev_host(qp->dev) != NULL)
        iwarp_qp_settle(q, host_now(rnic_dev_host(qp->dev)));
    else
        q->dirty = 1;
}

static void error(struct rnic_qp *qp)
{
    struct iwarp_qp *q = of(qp);
    q->inread_head = q->inread_tail;
    q->read_head = q->read_tail;
    if (q->phase == IWARP_FULL && qp->cq_overrun) { /* RFC 5040 7.1, 1: an error of this side's */
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 7, IWARP_TERM_PLAIN, NULL);
    } else if (q->phase != IWARP_TERMINATING && q->phase != IWARP_CLOSED) {
        q->phase = IWARP_CLOSED; /* the application's wish: nothing to tell the peer but a reset */
        q->abort_pending = 1;
    }
    if (rnic_dev_host(qp->dev) == NULL)
        q->dirty = 1;
    else if (q->abort_pending || q->close_pending)
        iwarp_qp_settle(q, host_now(rnic_dev_host(qp->dev)));
}

static void count(struct rnic_qp *qp)
{
    struct iwarp_qp *q = of(qp);
    if (q->tcp == NULL)
        return;
    const struct tcp_counters *t = tcp_counters(q->tcp);
    qp->count.sent_packets = t->sent_segments;
    qp->count.received_packets = t->received_segments;
    qp->count.retransmitted_packets = t->retransmitted_segments;
    qp->count.retransmitted_bytes = t->retransmitted_bytes;
    qp->count.timeouts = t->timeouts;
    qp->count.timer_waits = t->timer_waits;
    qp->count.out_of_sequence = t->out_of_order_in;
    qp->count.acks_sent = t->acks_sent;
}

static void destroy(struct rnic_qp *qp)
{
    struct iwarp_qp *q = of(qp);
    struct host *h = rnic_dev_host(qp->dev);
    if (h != NULL) {
        if (q->tcp != NULL)
            host_unbind_tcp(h, q->peer.addr.remote_addr, q->peer.addr.remote_port, q->peer.addr.local_port);
        host_detach(h, &qp->ep);
    }
    iwarp_stream_free(q);
    if (q->tcp != NULL)
        tcp_free(q->tcp);
    free(q->rbuf);
    free(q->inreads);
    free(q->early);
    free(q->peer_pd);
    free(q->own_pd);
    rnic_qp_fini(qp);
    free(q);
}

static const struct rnic_qp_ops qp_ops = { .name = "iWARP", .kick = kick, .error = error, .count = count, .destroy = destroy };

/* --- making and connecting --- */

struct rnic_qp *iwarp_qp_new(struct rnic_dev *dev, struct rnic_pd *pd, struct rnic_cq *send_cq, struct rnic_cq *recv_cq,
                             const struct iwarp_params *params, const struct tcp_params *tcp, const struct cc_ops *cc, const void *cc_params,
                             int64_t link_bps, uint32_t id, uint64_t seed)
{
    const struct param *bad;
    if (params == NULL || tcp == NULL || cc == NULL || param_check(&iwarp_params_table, params, &bad) != SIM_OK)
        return NULL;
    struct iwarp_qp *q = calloc(1, sizeof *q);
    if (q == NULL)
        return NULL;
    q->base.ep.ops = &ep_ops;
    if (rnic_qp_init(&q->base, &qp_ops, dev, pd, send_cq, recv_cq, (uint32_t)params->sq_depth, (uint32_t)params->rq_depth, id) != SIM_OK) {
        free(q);
        return NULL;
    }
    q->params = params;
    q->tcp_params = tcp;
    q->cc = cc;
    q->cc_params = cc_params;
    q->link_bps = link_bps;
    q->seed = seed;
    q->start_deadline_ps = SIM_NEVER_PS;
    q->term_sent = q->term_received = q->local_error = -1;
    for (unsigned i = 0; i < IWARP_QUEUES; i++)
        q->tx_msn[i] = q->rx_msn[i] = 1; /* RFC 5041 5.1 */
    if (rnic_dev_host(dev) != NULL) {
        host_set_offloaded(rnic_dev_host(dev), &q->base.ep, true);
        host_attach(rnic_dev_host(dev), &q->base.ep);
    }
    return &q->base;
}

static int open_tcp(struct rnic_qp *qp, const struct iwarp_peer *peer, bool initiator, void (*up)(void *, struct rnic_qp *, int), void *ctx)
{
    struct iwarp_qp *q = of(qp);
    if (q->phase != IWARP_IDLE || qp->state != RNIC_QP_INIT)
        return SIM_ERR_STATE;
    q->tcp = tcp_new(q->tcp_params, q->cc, q->cc_params, &peer->addr, qp->ep.id, q->seed, q->link_bps);
    if (q->tcp == NULL)
        return SIM_ERR_PARAM;
    q->tcp_ep = tcp_endpoint(q->tcp);
    tcp_set_ip(q->tcp, peer->dscp, peer->ttl);
    tcp_set_user(q->tcp, &user_ops, q);
    q->peer = *peer;
    qp->ep.prio = peer->prio;
    q->initiator = initiator;
    q->up = up;
    q->up_ctx = ctx;
    q->phase = IWARP_CONNECTING;
    q->open_pending = 1;
    struct host *h = rnic_dev_host(qp->dev);
    if (h == NULL)
        return SIM_OK; /* opened by the first call that brings the time */
    int bad = host_claim_connection(h, &qp->ep, true);
    if (!bad)
        bad = host_bind_tcp(h, peer->addr.remote_addr, peer->addr.remote_port, peer->addr.local_port, &qp->ep);
    if (bad) {
        tcp_free(q->tcp);
        q->tcp = NULL;
        q->phase = IWARP_IDLE;
        return bad;
    }
    iwarp_qp_settle(q, host_now(h));
    endpoint_changed(&qp->ep);
    return SIM_OK;
}

void iwarp_qp_break(struct rnic_qp *qp, enum iwarp_scope scope)
{
    static const struct { uint8_t layer, etype, code; } row[] = {
        [IWARP_BROKEN_RDMAP] = { IWARP_LAYER_RDMAP, 0, 0 }, [IWARP_BROKEN_STREAM] = { IWARP_LAYER_RDMAP, 2, 7 }, [IWARP_BROKEN_GLOBAL] = { IWARP_LAYER_RDMAP, 2, 8 },
        [IWARP_BROKEN_DDP] = { IWARP_LAYER_DDP, 0, 0 }, [IWARP_BROKEN_MPA] = { IWARP_LAYER_MPA, 0, 5 },
    };
    struct iwarp_qp *q = of(qp);
    if (q->phase == IWARP_FULL) {
        iwarp_term_send(q, row[scope].layer, row[scope].etype, row[scope].code, IWARP_TERM_PLAIN, NULL);
    } else {
        iwarp_term_note(q, row[scope].layer, row[scope].etype, row[scope].code); /* no FPDU may be sent yet, or none any more */
        (void)rnic_qp_set_error(qp);
    }
    if (!q->up_told && q->up != NULL)
        iwarp_qp_up(q, SIM_ERR_STATE);
    q->dirty = 1;
    endpoint_changed(&qp->ep);
}

void iwarp_qp_path_mss(struct rnic_qp *qp, uint32_t mss)
{
    struct iwarp_qp *q = of(qp);
    if (q->tcp == NULL)
        return;
    tcp_set_path_mss(q->tcp, mss);
    iwarp_stream_resize(q);
}

int iwarp_qp_connect(struct rnic_qp *qp, const struct iwarp_peer *peer, void (*up)(void *ctx, struct rnic_qp *qp, int status), void *ctx)
{
    return open_tcp(qp, peer, true, up, ctx);
}

int iwarp_qp_accept(struct rnic_qp *qp, const struct iwarp_peer *peer, void (*up)(void *ctx, struct rnic_qp *qp, int status), void *ctx)
{
    return open_tcp(qp, peer, false, up, ctx);
}

int iwarp_qp_set_private_data(struct rnic_qp *qp, const void *bytes, uint32_t len)
{
    struct iwarp_qp *q = of(qp);
    if (q->phase != IWARP_IDLE)
        return SIM_ERR_STATE;
    if (len > MPA_PRIVATE_MAX - (q->params->mpa_revision >= 2 ? 4 : 0))
        return SIM_ERR_PARAM;
    uint8_t *copy = malloc(len + 1);
    if (copy == NULL)
        return SIM_ERR_NOMEM;
    memcpy(copy, bytes, len);
    free(q->own_pd);
    q->own_pd = copy;
    q->own_pd_len = len;
    return SIM_OK;
}

const uint8_t *iwarp_qp_peer_private_data(const struct rnic_qp *qp, uint32_t *len)
{
    *len = of_const(qp)->peer_pd_len;
    return of_const(qp)->peer_pd;
}

void iwarp_qp_set_reject(struct rnic_qp *qp) { of(qp)->reject = 1; }
struct iwarp_agreed iwarp_qp_agreed(const struct rnic_qp *qp) { return of_const(qp)->agreed; }
int32_t iwarp_qp_terminate_sent(const struct rnic_qp *qp) { return of_const(qp)->term_sent; }
int32_t iwarp_qp_local_error(const struct rnic_qp *qp) { return of_const(qp)->local_error; }
const struct iwarp_stats *iwarp_qp_stats(const struct rnic_qp *qp) { return &of_const(qp)->stats; }
int32_t iwarp_qp_terminate_received(const struct rnic_qp *qp) { return of_const(qp)->term_received; }
const struct tcp_conn *iwarp_qp_tcp(const struct rnic_qp *qp) { return of_const(qp)->tcp; }

int iwarp_qp_close(struct rnic_qp *qp)
{
    struct iwarp_qp *q = of(qp);
    if (q->phase != IWARP_FULL && q->phase != IWARP_WAIT_FIRST)
        return SIM_ERR_STATE;
    q->closing = 1;
    kick(qp);
    endpoint_changed(&qp->ep);
    return SIM_OK;
}
