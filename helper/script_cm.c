/* SPDX-License-Identifier: GPL-2.0-only */
/* Connection management in scripts (`set cm=on`): the QP is connected by datagrams between QPs 1, which read as messages with fields. */
#include "script_internal.h"

#include "../model/roce/roce_cm.h"

#include <stdlib.h>
#include <string.h>

#define SERVICE UINT64_C(0x5255)
#define PEER_ID 0x5000u
#define LINUX_TRANSACTION 0x77u

/* What a message may carry: bits of script_field.need. */
#define HAS(kind) (1u << ((kind) - CM_REQ))
#define REPLIES (HAS(CM_REP) | HAS(CM_RTU) | HAS(CM_REJ) | HAS(CM_MRA) | HAS(CM_DREQ) | HAS(CM_DREP))
#define MAD(m) offsetof(struct wire_cm, m), sizeof(((struct wire_cm *)0)->m)
#define NUM(n, m, kinds) { n, MAD(m), SCRIPT_NUM, 0, false, kinds },
static const struct script_field rows[] = {
    NUM("local-id", local_id, 0)
    NUM("remote-id", remote_id, REPLIES)
    { "transaction", MAD(transaction), SCRIPT_NUM, 0, true, 0 },
    { "service", MAD(u.req.service_id), SCRIPT_NUM, 0, true, HAS(CM_REQ) },
    NUM("qpn", u.req.qpn, HAS(CM_REQ))
    NUM("psn", u.req.psn, HAS(CM_REQ))
    NUM("ird", u.req.responder_resources, HAS(CM_REQ))
    NUM("ord", u.req.initiator_depth, HAS(CM_REQ))
    NUM("mtu-code", u.req.mtu, HAS(CM_REQ))
    NUM("service-type", u.req.service_type, HAS(CM_REQ))
    NUM("retry", u.req.retry_cnt, HAS(CM_REQ))
    NUM("rnr-retry", u.req.rnr_retry, HAS(CM_REQ))
    NUM("ack-timeout", u.req.path[0].ack_timeout, HAS(CM_REQ))
    NUM("cm-retries", u.req.max_cm_retries, HAS(CM_REQ))
    NUM("response-timeout", u.req.remote_response_timeout, HAS(CM_REQ))
    NUM("qpn", u.rep.qpn, HAS(CM_REP))
    NUM("psn", u.rep.psn, HAS(CM_REP))
    NUM("ird", u.rep.responder_resources, HAS(CM_REP))
    NUM("ord", u.rep.initiator_depth, HAS(CM_REP))
    NUM("rnr-retry", u.rep.rnr_retry, HAS(CM_REP))
    NUM("rejected", u.rej.rejected, HAS(CM_REJ))
    NUM("reason", u.rej.reason, HAS(CM_REJ))
    NUM("info-len", u.rej.info_len, HAS(CM_REJ))
    { "info", MAD(u.rej.ari[0]), SCRIPT_NUM, 0, true, HAS(CM_REJ) },
    NUM("answered", u.mra.answered, HAS(CM_MRA))
    NUM("service-timeout", u.mra.service_timeout, HAS(CM_MRA))
    NUM("qpn", u.dreq.qpn, HAS(CM_DREQ))
    { "bytes", 0, 0, SCRIPT_BYTES, 0, true, 0 },
};

static bool head(const char *word, uint32_t *kind, uint32_t *mask, uint32_t *has)
{
    for (unsigned k = CM_REQ; k <= CM_DREP; k++)
        if (strcmp(wire_cm_name(k), word) == 0) {
            *kind = k;
            *mask = 0xff;
            *has = HAS(k);
            return true;
        }
    return false;
}
static void print(const struct script_view *v, char *out, size_t len) { snprintf(out, len, "%s", wire_cm_name(((const struct wire_cm *)v->base)->kind)); }
static uint32_t head_of(const struct script_view *v) { return ((const struct wire_cm *)v->base)->kind; }
const struct script_form script_cm_form = { "message", { rows, sizeof rows / sizeof rows[0] }, head, print, head_of };

/* --- one endpoint of two: the connection manager and its QP --- */

struct script_cm {
    struct endpoint ep;                  /* first */
    struct script_run *run;
    struct roce_cm *cm;
    struct endpoint *part[2];            /* the connection manager, the QP */
    struct roce_conn *conn;
    bool reject;
    uint8_t private_data[WIRE_CM_PRIVATE_MAX];
    uint32_t private_len;
    uint32_t our_id, our_qpn;            /* as our messages told */
    uint64_t transaction;
};

static struct script_cm *of(struct endpoint *ep) { return (struct script_cm *)(void *)ep; }
static const struct script_cm *of_const(const struct endpoint *ep) { return (const struct script_cm *)(const void *)ep; }

static void both_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct endpoint *to = of(ep)->part[p->roce.dqpn != WIRE_CM_QPN];
    to->ops->rx(to, now_ps, p);
}
static bool both_tx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    for (int i = 0; i < 2; i++) {
        struct endpoint *e = of(ep)->part[i];
        if (e->ops->ready_ps(e) <= now_ps && e->ops->tx(e, now_ps, p))
            return true;
    }
    return false;
}
static void both_wake(struct endpoint *ep, int64_t now_ps)
{
    for (int i = 0; i < 2; i++) {
        struct endpoint *e = of(ep)->part[i];
        if (e->ops->next_wake_ps(e) <= now_ps)
            e->ops->wake(e, now_ps);
    }
}
static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t both_ready(const struct endpoint *ep)
{
    struct endpoint *const *e = of_const(ep)->part;
    return earlier(e[0]->ops->ready_ps(e[0]), e[1]->ops->ready_ps(e[1]));
}
static int64_t both_next_wake(const struct endpoint *ep)
{
    struct endpoint *const *e = of_const(ep)->part;
    return earlier(e[0]->ops->next_wake_ps(e[0]), e[1]->ops->next_wake_ps(e[1]));
}
static const struct endpoint_ops both_ops = { .rx = both_rx, .tx = both_tx, .wake = both_wake, .ready_ps = both_ready, .next_wake_ps = both_next_wake };

/* --- life --- */

static struct roce_conn_options options(const struct script_cm *c) { return (struct roce_conn_options){ .private_data = c->private_data, .private_len = c->private_len }; }

/* The application: it answers a request at once as `listen` said. */
static void on_event(void *ctx, const struct roce_cm_event *e)
{
    struct script_cm *c = ctx;
    struct roce_conn_options o = options(c);
    if (e->kind != ROCE_CM_REQUEST)
        return;
    c->conn = e->conn;
    if (c->reject)
        (void)roce_conn_reject(e->conn, c->run->bed.now_ps, CM_REJ_CONSUMER, &o);
    else
        (void)roce_conn_accept(e->conn, c->run->bed.now_ps, c->run->rnic.qp, &o);
}

bool script_cm_open(struct script_run *r)
{
    struct script_cm *c = r->cm = calloc(1, sizeof *c);
    struct roce_cm_config config = roce_cm_defaults();
    c->run = r;
    c->ep.ops = &both_ops;
    config.local_addr = pkt_addr_of_node(0);
    config.seed = 1;
    config.response_timeout = (uint8_t)r->script->params.cm_timeout;
    config.max_retries = (uint8_t)r->script->params.cm_retries;
    config.on_event = on_event;
    config.ctx = c;
    c->cm = roce_cm_new(r->rnic.dev, &config);
    if (!c->cm)
        return script_mismatch(r, "no connection manager can be made");
    c->part[0] = roce_cm_endpoint(c->cm);
    c->part[1] = &r->rnic.qp->ep;
    testbed_init(&r->bed, &c->ep, NULL, NULL);
    return true;
}

void script_cm_free(struct script_run *r)
{
    if (r->cm && r->cm->cm)
        roce_cm_free(r->cm->cm);
    free(r->cm);
}

uint64_t script_cm_state(const struct script_run *r) { return r->cm && r->cm->conn ? (uint64_t)roce_conn_state(r->cm->conn) : UINT64_MAX; }

bool script_cm_call(struct script_run *r, const struct script_line *l, const struct script_args *a)
{
    struct script_cm *c = r->cm;
    const struct script_set *bytes = script_find_set(l, "bytes");
    if (!c)
        return script_mismatch(r, "connect, listen and close need: set cm=on");
    c->reject = a->reject;
    c->private_len = bytes ? bytes->value.nbytes : 0;
    if (c->private_len > sizeof c->private_data)
        return script_mismatch(r, "private data has at most %u bytes", (unsigned)sizeof c->private_data);
    if (bytes)
        memcpy(c->private_data, bytes->value.bytes, c->private_len);
    struct roce_conn_options o = options(c);
    if (l->call == SCRIPT_CALL_listen)
        return roce_cm_listen(c->cm, SERVICE) == SIM_OK ? true : script_mismatch(r, "this endpoint listens already");
    if (l->call == SCRIPT_CALL_close)
        return c->conn && roce_conn_disconnect(c->conn, r->bed.now_ps, &o) == SIM_OK ? true : script_mismatch(r, "there is no connection to close");
    c->conn = roce_cm_connect(c->cm, r->bed.now_ps, r->rnic.qp, pkt_addr_of_node(1), SERVICE, &o);
    return c->conn ? true : script_mismatch(r, "no connection can be asked for from here");
}

/* --- packets --- */

/* A packet of ours to QP 1 is a message; NULL: it is not one. */
struct wire_cm *script_cm_take(struct script_run *r, const struct pkt *p)
{
    uint8_t mad[WIRE_MAD_BYTES];
    if (p->roce.dqpn != WIRE_CM_QPN || p->payload_len != sizeof mad)
        return NULL;
    struct wire_cm *m = calloc(1, sizeof *m);
    pkt_payload_read(p, 0, sizeof mad, mad);
    if (!wire_cm_decode(mad, sizeof mad, m)) {
        free(m);
        return NULL;
    }
    r->cm->our_id = m->local_id;
    r->cm->transaction = m->transaction;
    if (m->kind == CM_REQ || m->kind == CM_REP)
        r->cm->our_qpn = m->kind == CM_REQ ? m->u.req.qpn : m->u.rep.qpn;
    return m;
}

void script_cm_view(struct script_seen *e, struct script_view *v)
{
    *v = (struct script_view){ .base = e->mad, .has = HAS(e->mad->kind), .from_us = true, .len = (uint32_t)wire_cm_private_bytes(e->mad->kind),
        .payload = e->mad->private_data };
    while (v->len && !v->payload[v->len - 1]) /* how much of it means something only the applications know */
        v->len--;
}

/* What a peer like ours would say. */
static void defaults(const struct script_run *r, struct wire_cm *m)
{
    const struct script_params *p = &r->script->params;
    *m = (struct wire_cm){ .kind = m->kind, .transaction = r->cm->transaction ? r->cm->transaction : LINUX_TRANSACTION, .local_id = PEER_ID, .remote_id = r->cm->our_id };
    switch (m->kind) {
    case CM_REQ:
        m->u.req = (struct wire_cm_req){ .service_id = SERVICE, .qpn = SCRIPT_PEER_QPN, .psn = (uint32_t)p->peer_psn, .responder_resources = 16, .initiator_depth = 16,
            .remote_response_timeout = 20, .local_response_timeout = 20, .retry_cnt = 7, .rnr_retry = 7, .max_cm_retries = 15, .mtu = 3, .pkey = 0xffff };
        m->u.req.path[0].ack_timeout = 14;
        wire_cm_gid_of_ipv4(pkt_addr_of_node(1), m->u.req.path[0].local_gid);
        wire_cm_gid_of_ipv4(pkt_addr_of_node(0), m->u.req.path[0].remote_gid);
        break;
    case CM_REP:
        m->u.rep = (struct wire_cm_rep){ .qpn = SCRIPT_PEER_QPN, .psn = (uint32_t)p->peer_psn, .responder_resources = 16, .initiator_depth = 16, .rnr_retry = 7 };
        break;
    case CM_REJ:
        m->u.rej.reason = CM_REJ_CONSUMER;
        break;
    case CM_DREQ:
        m->u.dreq.qpn = r->cm->our_qpn;
        break;
    default:
        break;
    }
}

bool script_cm_send(struct script_run *r, const struct script_line *l)
{
    struct wire_cm m = { .kind = (uint8_t)l->head };
    uint8_t mad[WIRE_MAD_BYTES];
    struct pkt p;
    if (!r->cm)
        return script_mismatch(r, "connection management needs: set cm=on");
    defaults(r, &m);
    struct script_view v = { .base = &m, .has = HAS(l->head) };
    if (!script_fill(r, l, &v))
        return false;
    (void)script_payload(r, l, m.private_data, (uint32_t)wire_cm_private_bytes(m.kind));
    wire_cm_encode(&m, mad);
    script_roce_packet(r, ROCE_UD_SEND_ONLY, &p);
    p.roce.dqpn = p.roce.x.deth.sqpn = WIRE_CM_QPN;
    p.roce.x.deth.qkey = WIRE_CM_QKEY;
    if (!pkt_add_bytes(&p, mad, sizeof mad))
        return false;
    pkt_set_len(&p);
    script_deliver(r, l, &p);
    return true;
}
