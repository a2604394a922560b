/* SPDX-License-Identifier: GPL-2.0-only */
/* Our connection manager in place of one side's. Its user asks, accepts, refuses and disconnects when the captured one did, with the
 * same private data; what follows from that by itself (RTU, DREP, repetitions) must come by itself. Communication IDs, transactions, QP
 * numbers and first PSNs are the captured side's. */
#include "replay_roce.h"

#include "../model/roce/roce_cm.h"
#include "testbed.h"

#include <stdlib.h>
#include <string.h>

/* A connection of ours and the captured one that it stands for. */
struct card {
    struct roce_params params;
    struct testbed_rnic rnic;
    struct roce_conn *conn;
    uint32_t peer_id;                /* the peer's communication ID */
    uint32_t captured_id, own_id;    /* ours: as captured, as our connection manager calls it */
    bool     own_known;
    uint32_t qpn;                    /* as captured */
};

struct run {
    struct replay_case c;
    struct replay_flow *f;
    struct rnic_dev *dev;
    struct roce_cm *cm;
    struct endpoint *ep;
    struct wire_l3 l3;
    struct card **card;
    uint32_t ncards;
    const struct wire_cm *choices;   /* the captured REQ or REP that is being made */
    struct card *making;
    uint32_t next;                   /* item: the captured message that is due */
    bool     begun;
    uint32_t first_psn, own_psn;     /* of the datagrams */
    int64_t  ahead_ps;
};

static void nothing(void *ctx, const struct rnic_wc *wc) { (void)ctx; (void)wc; }

static bool mad_of(const struct pkt *p, struct wire_cm *m)
{
    uint8_t mad[WIRE_MAD_BYTES];
    if (p->payload_len != sizeof mad)
        return false;
    pkt_payload_read(p, 0, sizeof mad, mad);
    return wire_cm_decode(mad, sizeof mad, m);
}

static void set_mad(struct pkt *p, const struct wire_cm *m)
{
    uint8_t mad[WIRE_MAD_BYTES];
    wire_cm_encode(m, mad);
    pkt_release_payload(p);
    p->nchunks = 0;
    p->payload_len = 0;
    (void)pkt_add_bytes(p, mad, sizeof mad);
}

static struct card *add_card(struct run *u)
{
    u->card = replay_alloc(realloc(u->card, (u->ncards + 1) * sizeof *u->card));
    return u->card[u->ncards++] = replay_alloc(calloc(1, sizeof(struct card)));
}

static struct card *card_of_captured(const struct run *u, uint32_t id)
{
    for (uint32_t i = 0; i < u->ncards; i++)
        if (u->card[i]->own_known && u->card[i]->captured_id == id)
            return u->card[i];
    return NULL;
}

static struct card *card_of_own(const struct run *u, uint32_t id)
{
    for (uint32_t i = 0; i < u->ncards; i++)
        if (u->card[i]->own_known && u->card[i]->own_id == id)
            return u->card[i];
    return NULL;
}

/* --- our connection manager's callbacks --- */

/* What a requester or its peer is free to choose is as captured; what is negotiated is ours. */
static void amend(void *ctx, struct wire_cm *m)
{
    struct run *u = ctx;
    if (u->choices == NULL || m->kind != u->choices->kind)
        return;
    if (m->kind == CM_REQ) {
        struct wire_cm_req r = u->choices->u.req;
        r.service_id = m->u.req.service_id;
        r.responder_resources = m->u.req.responder_resources;
        r.initiator_depth = m->u.req.initiator_depth;
        r.service_type = m->u.req.service_type;
        r.retry_cnt = m->u.req.retry_cnt;
        r.rnr_retry = m->u.req.rnr_retry;
        r.mtu = m->u.req.mtu;
        r.pkey = m->u.req.pkey;
        r.ca_guid = m->u.req.ca_guid;
        m->u.req = r;
        m->transaction = u->choices->transaction;
    } else if (m->kind == CM_REP) {
        struct wire_cm_rep r = u->choices->u.rep;
        r.responder_resources = m->u.rep.responder_resources;
        r.initiator_depth = m->u.rep.initiator_depth;
        r.ca_guid = m->u.rep.ca_guid;
        m->u.rep = r;
    }
}

static void on_event(void *ctx, const struct roce_cm_event *e)
{
    struct run *u = ctx;
    if (e->kind != ROCE_CM_REQUEST)
        return;
    struct card *k = add_card(u);
    k->conn = e->conn;
    k->peer_id = e->mad->local_id;
}

/* --- what ours sends --- */

static bool pull(struct run *u, int64_t now_ps, struct replay_frame *out)
{
    struct pkt p;
    struct wire_cm m;
    memset(&p, 0, sizeof p);
    if (!u->ep->ops->tx(u->ep, now_ps, &p))
        return false;
    if (mad_of(&p, &m)) {
        if (u->making != NULL && !u->making->own_known) {
            u->making->own_known = true;
            u->making->own_id = m.local_id;
        }
        const struct card *k = card_of_own(u, m.local_id);
        if (k != NULL)
            m.local_id = k->captured_id;
        set_mad(&p, &m);
    }
    if (!u->begun)
        u->own_psn = p.roce.psn;
    u->begun = true;
    p.roce.psn = (u->first_psn + p.roce.psn - u->own_psn) & 0xffffff;
    replay_as_seen(&u->c, &p, &u->l3, (u->f->item[0].f->p.flags & PKT_F_IPV6) != 0, out);
    return true;
}

static void next_captured(struct run *u)
{
    while (u->next < u->f->n && u->f->item[u->next].side != u->c.side)
        u->next++;
}

/* Everything that ours has to say now. */
static void collect(struct run *u, int64_t now_ps, uint32_t to)
{
    struct replay_frame ours;
    struct wire_cm m;
    while (pull(u, now_ps, &ours)) {
        next_captured(u);
        if (u->next < u->f->n)
            (void)replay_roce_compare(&u->c, u->f->item[u->next++].f, &ours.p, &ours.l3);
        else
            replay_differs(&u->c, to, "message after it", "none", mad_of(&ours.p, &m) ? wire_cm_name(m.kind) : "not of connection management");
        pkt_release_payload(&ours.p);
    }
}

/* --- its user --- */

static bool make_qp(struct card *k, bool uc, uint32_t mtu, unsigned resources, unsigned depth)
{
    struct roce_params *p = &k->params;
    param_defaults(&roce_params_table, p);
    p->service = uc ? ROCE_SERVICE_UC : ROCE_SERVICE_RC;
    p->mtu_bytes = mtu ? mtu : p->mtu_bytes;
    p->ird = resources ? resources : 1;
    p->ord = depth ? depth : 1;
    struct testbed_spec spec = { .roce = p, .on_wc = nothing };
    return testbed_roce(&k->rnic, &spec) == SIM_OK;
}

static void ask(struct run *u, const struct wire_cm *m, int64_t now_ps)
{
    const struct wire_cm_req *q = &m->u.req;
    struct card *k = u->making = add_card(u);
    struct roce_conn_options o = { .private_data = m->private_data, .private_len = wire_cm_private_bytes(CM_REQ) };
    k->captured_id = m->local_id;
    k->qpn = q->qpn;
    if (!make_qp(k, q->service_type == 1, wire_cm_mtu_bytes(q->mtu), q->responder_resources, q->initiator_depth))
        return;
    k->params.retry_cnt = q->retry_cnt;
    k->params.rnr_retry = q->rnr_retry;
    k->params.local_ack_timeout = q->path[0].ack_timeout;
    k->conn = roce_cm_connect(u->cm, now_ps, k->rnic.qp, u->f->addr[!u->c.side], q->service_id, &o);
}

static struct card *asked_by(const struct run *u, uint32_t peer_id)
{
    for (uint32_t i = u->ncards; i-- > 0;)
        if (u->card[i]->conn != NULL && u->card[i]->peer_id == peer_id && roce_conn_state(u->card[i]->conn) == ROCE_CONN_REQ_RECEIVED)
            return u->card[i];
    return NULL;
}

static void answer(struct run *u, const struct wire_cm *m, int64_t now_ps)
{
    struct card *k = u->making = asked_by(u, m->remote_id);
    struct roce_conn_options o = { .private_data = m->private_data, .private_len = wire_cm_private_bytes(m->kind) };
    if (k == NULL)
        return;
    const struct wire_cm_req *q = &roce_conn_request(k->conn)->u.req;
    k->captured_id = m->local_id;
    if (m->kind == CM_REJ) {
        (void)roce_conn_reject(k->conn, now_ps, m->u.rej.reason, &o);
        return;
    }
    k->qpn = m->u.rep.qpn;
    if (make_qp(k, q->service_type == 1, wire_cm_mtu_bytes(q->mtu), m->u.rep.responder_resources, m->u.rep.initiator_depth))
        (void)roce_conn_accept(k->conn, now_ps, k->rnic.qp, &o);
}

/* The captured user's call that made message m, unless the message follows from what came. */
static void act(struct run *u, const struct wire_cm *m, int64_t now_ps)
{
    struct card *k = card_of_captured(u, m->local_id);
    u->choices = m;
    if (m->kind == CM_REQ && k == NULL)
        ask(u, m, now_ps);
    else if (m->kind == CM_REP || (m->kind == CM_REJ && m->u.rej.rejected == 0))
        answer(u, m, now_ps);
    else if (m->kind == CM_DREQ && k != NULL && roce_conn_state(k->conn) == ROCE_CONN_ESTABLISHED) {
        struct roce_conn_options o = { .private_data = m->private_data, .private_len = wire_cm_private_bytes(CM_DREQ) };
        (void)roce_conn_disconnect(k->conn, now_ps, &o);
    }
}

/* --- the run --- */

static void wake_until(struct run *u, int64_t now_ps)
{
    for (int64_t at; (at = u->ep->ops->next_wake_ps(u->ep)) <= now_ps;)
        u->ep->ops->wake(u->ep, at);
}

static void own_message(struct run *u, uint32_t i, int64_t now_ps)
{
    const struct replay_frame *f = u->f->item[i].f;
    struct wire_cm m;
    if (u->next > i)
        return; /* ours has said it */
    if (mad_of(&f->p, &m))
        act(u, &m, now_ps);
    collect(u, now_ps, f->no);
    u->choices = NULL;
    u->making = NULL;
    int64_t wake = u->ep->ops->next_wake_ps(u->ep);
    if (u->next <= i && wake != SIM_NEVER_PS && wake > now_ps && wake <= REPLAY_TIME_MAX_PS) { /* the captured side's timer had run out */
        u->ahead_ps += wake - now_ps;
        u->c.early_timeouts++;
        wake_until(u, wake);
        collect(u, wake, f->no);
    }
    if (u->next > i)
        return;
    replay_differs(&u->c, f->no, "message", wire_cm_name(m.kind), "none");
    u->next = i + 1;
}

static void feed(struct run *u, uint32_t i, int64_t now_ps)
{
    struct pkt p;
    struct wire_cm m;
    const struct replay_frame *f = u->f->item[i].f;
    if (f->status != WIRE_OK) {
        u->c.malformed++;
        return;
    }
    pkt_copy(&p, &f->p);
    if (mad_of(&p, &m) && m.kind != CM_REQ) {
        const struct card *k = card_of_captured(u, m.remote_id);
        if (k != NULL)
            m.remote_id = k->own_id;
        if (k != NULL && m.kind == CM_DREQ && m.u.dreq.qpn == k->qpn && k->rnic.qp != NULL)
            m.u.dreq.qpn = rnic_qp_num(k->rnic.qp);
        set_mad(&p, &m);
    }
    u->ep->ops->rx(u->ep, now_ps, &p);
    pkt_release_payload(&p);
    collect(u, now_ps, f->no);
}

/* Its user listens to the services whose requests the captured one decided on. */
static struct roce_cm_config learn(struct run *u)
{
    struct roce_cm_config g = roce_cm_defaults();
    bool first = true;
    g.local_addr = u->f->addr[u->c.side];
    g.amend = amend;
    g.on_event = on_event;
    g.ctx = u;
    for (uint32_t i = 0; i < u->f->n; i++) {
        const struct replay_item *it = &u->f->item[i];
        struct wire_cm m;
        if (it->side != u->c.side || !mad_of(&it->f->p, &m))
            continue;
        if (first) {
            u->first_psn = it->f->p.roce.psn;
            g.dscp = it->f->p.dscp;
            g.ecn = it->f->p.ecn == 3 ? 2 : it->f->p.ecn;
        }
        first = false;
        if (m.kind == CM_REQ) {
            g.ca_guid = m.u.req.ca_guid;
            g.response_timeout = m.u.req.remote_response_timeout;
            g.max_retries = m.u.req.max_cm_retries;
        } else if (m.kind == CM_REP) {
            g.ca_guid = m.u.rep.ca_guid;
        }
    }
    return g;
}

static void listen_as_captured(struct run *u)
{
    for (uint32_t i = 0; i < u->f->n; i++) {
        struct wire_cm q, a;
        if (u->f->item[i].side == u->c.side || !mad_of(&u->f->item[i].f->p, &q) || q.kind != CM_REQ)
            continue;
        for (uint32_t k = i + 1; k < u->f->n; k++) {
            if (u->f->item[k].side != u->c.side || !mad_of(&u->f->item[k].f->p, &a) || a.remote_id != q.local_id)
                continue;
            if (a.kind == CM_REP || (a.kind == CM_REJ && a.u.rej.reason != CM_REJ_INVALID_SERVICE))
                (void)roce_cm_listen(u->cm, q.u.req.service_id); /* more services than it takes are refused, and that is seen */
            break;
        }
    }
}

static void replay_all(struct run *u)
{
    int64_t now_ps = 0;
    for (uint32_t i = 0; i < u->f->n; i++) {
        const struct replay_item *it = &u->f->item[i];
        now_ps = it->f->at_ps + u->ahead_ps;
        wake_until(u, now_ps);
        if (it->side == u->c.side)
            own_message(u, i, now_ps);
        else
            feed(u, i, now_ps);
    }
    for (next_captured(u); u->next < u->f->n; next_captured(u))
        replay_differs(&u->c, u->f->item[u->next++].f->no, "message", "one", "none");
}

void replay_cm_run(struct replay *r, struct replay_flow *f, unsigned side)
{
    struct run *u = replay_alloc(calloc(1, sizeof *u));
    *u = (struct run){ .c = { .r = r, .what = f->what, .side = side }, .f = f };
    struct roce_cm_config g = learn(u);
    replay_l3(f, side, &u->l3);
    u->dev = rnic_dev_new(NULL, 1);
    u->cm = u->dev ? roce_cm_new(u->dev, &g) : NULL;
    if (u->cm == NULL) {
        replay_differs(&u->c, 0, "our connection manager", "made", "out of memory");
    } else {
        u->ep = roce_cm_endpoint(u->cm);
        listen_as_captured(u);
        replay_all(u);
    }
    replay_end(&u->c, "%u messages", u->c.compared);
    roce_cm_free(u->cm);
    for (uint32_t i = 0; i < u->ncards; i++) {
        testbed_rnic_free(&u->card[i]->rnic);
        free(u->card[i]);
    }
    free(u->card);
    if (u->dev)
        rnic_dev_free(u->dev);
    free(u);
}
