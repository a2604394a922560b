/* SPDX-License-Identifier: GPL-2.0-only */
#include "roce_cm.h"

#include <stdlib.h>
#include <string.h>

#include "../rnic/qp.h"
#include "../sim/rng.h"
#include "../wire/codec.h"

#define TIMEOUT_UNIT_PS INT64_C(4096000)
#define SERVICES_MAX 16
#define PROTO_UDP 17
#define PKEY_DEFAULT 0xffff
#define PERMISSIVE_LID 0xffff
#define RATE_100GBPS 16            /* IBTA vol. 1 table 224; nothing depends on it */

struct outgoing { uint32_t dst; uint8_t mad[WIRE_MAD_BYTES]; };

struct roce_cm {
    struct endpoint ep;            /* first */
    struct roce_cm_config config;
    struct rnic_dev *dev;
    struct roce_conn *conns;
    uint64_t service[SERVICES_MAX];
    uint32_t nservices;
    uint32_t next_id, psn;
    uint64_t next_transaction;
    struct outgoing *out;          /* ring: [head, tail) */
    uint32_t out_cap, out_head, out_tail;
};

struct roce_conn {
    struct roce_conn *next;
    struct roce_cm *cm;
    struct rnic_qp *qp;
    enum roce_conn_state state;
    uint32_t remote_addr, local_id, remote_id;
    uint32_t remote_qpn;
    uint32_t mtu;                  /* asked for */
    int64_t  deadline_ps;          /* SIM_NEVER_PS: waits for nothing */
    int64_t  base_rtt_ps;
    uint8_t  retries_left;
    struct wire_cm request;        /* sent or received */
    struct wire_cm last;           /* what is sent again */
};

static struct roce_cm *of_endpoint(struct endpoint *ep) { return (struct roce_cm *)(void *)ep; }

/* --- sending --- */

static void send_to(struct roce_cm *cm, uint32_t dst, const struct wire_cm *m)
{
    cm->out = rnic_ring_room(cm->out, &cm->out_cap, sizeof *cm->out, cm->out_head, cm->out_tail);
    struct outgoing *o = &cm->out[cm->out_tail++ & (cm->out_cap - 1)];
    o->dst = dst;
    wire_cm_encode(m, o->mad);
    endpoint_changed(&cm->ep);
}

static bool set_private(struct wire_cm *m, const struct roce_conn_options *o)
{
    if (o == NULL || o->private_len == 0)
        return true;
    if (o->private_len > wire_cm_private_bytes(m->kind))
        return false;
    memcpy(m->private_data, o->private_data, o->private_len);
    return true;
}

static void amend(struct roce_cm *cm, struct wire_cm *m)
{
    if (cm->config.amend != NULL)
        cm->config.amend(cm->config.ctx, m);
}

/* Send m for the first time; wait: an answer is due. */
static void send_first(struct roce_conn *c, int64_t now_ps, const struct wire_cm *m, bool wait)
{
    c->last = *m;
    amend(c->cm, &c->last);
    c->retries_left = c->cm->config.max_retries;
    c->deadline_ps = wait ? now_ps + (TIMEOUT_UNIT_PS << c->cm->config.response_timeout) : SIM_NEVER_PS;
    send_to(c->cm, c->remote_addr, &c->last);
}

static struct wire_cm message(const struct roce_conn *c, enum wire_cm_kind kind)
{
    return (struct wire_cm){ .kind = (uint8_t)kind, .transaction = c->request.transaction, .local_id = c->local_id, .remote_id = c->remote_id };
}

/* To whom no connection belongs. */
static void reject_stray(struct roce_cm *cm, uint32_t dst, const struct wire_cm *m, unsigned rejected, unsigned reason)
{
    struct wire_cm rej = { .kind = CM_REJ, .transaction = m->transaction, .local_id = m->kind == CM_REQ ? 0 : m->remote_id, .remote_id = m->local_id };
    rej.u.rej.rejected = (uint8_t)rejected;
    rej.u.rej.reason = (uint16_t)reason;
    amend(cm, &rej);
    send_to(cm, dst, &rej);
}

static void tell(struct roce_conn *c, enum roce_cm_event_kind kind, const struct wire_cm *m)
{
    struct roce_cm_event e = { kind, c, m };
    if (c->cm->config.on_event != NULL)
        c->cm->config.on_event(c->cm->config.ctx, &e);
}

static void close_conn(struct roce_conn *c, enum roce_cm_event_kind why, const struct wire_cm *m)
{
    c->state = ROCE_CONN_CLOSED;
    c->deadline_ps = SIM_NEVER_PS;
    if (c->qp != NULL && rnic_qp_state(c->qp) > RNIC_QP_INIT)
        (void)rnic_qp_set_error(c->qp);
    tell(c, why, m);
}

/* --- asking --- */

static struct roce_conn *new_conn(struct roce_cm *cm, uint32_t remote_addr)
{
    struct roce_conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->cm = cm;
    c->remote_addr = remote_addr;
    c->local_id = cm->next_id++;
    c->deadline_ps = SIM_NEVER_PS;
    c->next = cm->conns;
    cm->conns = c;
    return c;
}

static struct wire_cm_path path_to(const struct roce_cm *cm, uint32_t remote_addr, const struct roce_params *p)
{
    struct wire_cm_path path = { .local_lid = PERMISSIVE_LID, .remote_lid = PERMISSIVE_LID, .rate = RATE_100GBPS,
        .traffic_class = (uint8_t)(cm->config.dscp << 2 | cm->config.ecn), .hop_limit = cm->config.ttl, .ack_timeout = (uint8_t)p->local_ack_timeout };
    wire_cm_gid_of_ipv4(cm->config.local_addr, path.local_gid);
    wire_cm_gid_of_ipv4(remote_addr, path.remote_gid);
    return path;
}

static void ask(struct roce_conn *c, int64_t now_ps)
{
    struct wire_cm *m = &c->request;
    m->local_id = c->local_id;
    m->transaction = c->cm->next_transaction++;
    m->u.req.mtu = (uint8_t)wire_cm_mtu_code(c->mtu);
    c->state = ROCE_CONN_REQ_SENT;
    send_first(c, now_ps, m, true);
    c->request = c->last;
}

struct roce_conn *roce_cm_connect(struct roce_cm *cm, int64_t now_ps, struct rnic_qp *qp, uint32_t remote_addr, uint64_t service_id,
                                  const struct roce_conn_options *options)
{
    const struct roce_params *p = roce_qp_params(qp);
    struct wire_cm m = { .kind = CM_REQ };
    if (rnic_qp_state(qp) != RNIC_QP_INIT || p->service == ROCE_SERVICE_UD || !set_private(&m, options))
        return NULL;
    struct roce_conn *c = new_conn(cm, remote_addr);
    if (c == NULL)
        return NULL;
    m.u.req = (struct wire_cm_req){ .service_id = service_id, .ca_guid = cm->config.ca_guid, .qpn = rnic_qp_num(qp), .psn = roce_qp_first_psn(qp),
        .responder_resources = (uint8_t)p->ird, .initiator_depth = (uint8_t)p->ord, .remote_response_timeout = cm->config.response_timeout,
        .local_response_timeout = cm->config.response_timeout, .service_type = p->service == ROCE_SERVICE_UC, .flow_control = p->credits != 0,
        .retry_cnt = (uint8_t)p->retry_cnt, .rnr_retry = (uint8_t)p->rnr_retry, .max_cm_retries = cm->config.max_retries, .pkey = PKEY_DEFAULT };
    m.u.req.path[0] = path_to(cm, remote_addr, p);
    c->request = m;
    c->qp = qp;
    c->mtu = (uint32_t)p->mtu_bytes;
    c->base_rtt_ps = options != NULL ? options->base_rtt_ps : 0;
    ask(c, now_ps);
    return c;
}

/* --- answering --- */

static struct roce_peer peer_of(const struct roce_conn *c)
{
    const struct roce_cm_config *f = &c->cm->config;
    return (struct roce_peer){ .local_addr = f->local_addr, .remote_addr = c->remote_addr, .path_mtu_bytes = c->mtu, .prio = f->prio, .dscp = f->dscp, .ecn = f->ecn,
        .ttl = f->ttl, .base_rtt_ps = c->base_rtt_ps, .limits_given = true };
}

static uint8_t lesser(int64_t ours, unsigned theirs) { return (uint8_t)(ours < (int64_t)theirs ? ours : (int64_t)theirs); }

int roce_conn_reject(struct roce_conn *c, int64_t now_ps, unsigned reason, const struct roce_conn_options *options)
{
    struct wire_cm m = message(c, CM_REJ);
    if (c->state != ROCE_CONN_REQ_RECEIVED)
        return SIM_ERR_STATE;
    if (!set_private(&m, options))
        return SIM_ERR_PARAM;
    m.u.rej.reason = (uint16_t)reason;
    if (reason == CM_REJ_INVALID_MTU) { /* table 107: the additional information is the largest possible, in the upper four bits */
        m.u.rej.info_len = 1;
        m.u.rej.ari[0] = (uint8_t)(wire_cm_mtu_code(c->mtu) << 4);
    }
    c->state = ROCE_CONN_CLOSED;
    send_first(c, now_ps, &m, false);
    return SIM_OK;
}

int roce_conn_accept(struct roce_conn *c, int64_t now_ps, struct rnic_qp *qp, const struct roce_conn_options *options)
{
    const struct roce_params *p = roce_qp_params(qp);
    const struct wire_cm_req *req = &c->request.u.req;
    struct wire_cm m = message(c, CM_REP);
    if (c->state != ROCE_CONN_REQ_RECEIVED || rnic_qp_state(qp) != RNIC_QP_INIT)
        return SIM_ERR_STATE;
    if (!set_private(&m, options))
        return SIM_ERR_PARAM;
    if (p->service == ROCE_SERVICE_UD || req->service_type != (p->service == ROCE_SERVICE_UC)) {
        (void)roce_conn_reject(c, now_ps, CM_REJ_INVALID_TRANSPORT, NULL);
        return SIM_ERR_PARAM;
    }
    if (c->mtu == 0 || c->mtu > (uint32_t)p->mtu_bytes) {
        c->mtu = (uint32_t)p->mtu_bytes;
        (void)roce_conn_reject(c, now_ps, CM_REJ_INVALID_MTU, NULL);
        return SIM_ERR_PARAM;
    }
    c->base_rtt_ps = options != NULL ? options->base_rtt_ps : 0;
    struct roce_peer peer = peer_of(c);
    peer.remote_qpn = c->remote_qpn = req->qpn;
    peer.remote_psn = req->psn;
    peer.ird = req->responder_resources;
    peer.retry_cnt = req->retry_cnt;
    peer.rnr_retry = req->rnr_retry;
    peer.local_ack_timeout = req->path[0].ack_timeout;
    int bad = roce_qp_ready_to_receive(qp, &peer);
    if (bad)
        return bad;
    c->qp = qp;
    m.u.rep = (struct wire_cm_rep){ .ca_guid = c->cm->config.ca_guid, .qpn = rnic_qp_num(qp), .psn = roce_qp_first_psn(qp),
        .responder_resources = lesser(p->ird, req->initiator_depth), .initiator_depth = lesser(p->ord, req->responder_resources),
        .target_ack_delay = c->cm->config.target_ack_delay, .flow_control = p->credits != 0, .rnr_retry = (uint8_t)p->rnr_retry };
    c->state = ROCE_CONN_REP_SENT;
    send_first(c, now_ps, &m, true);
    return SIM_OK;
}

int roce_conn_disconnect(struct roce_conn *c, int64_t now_ps, const struct roce_conn_options *options)
{
    struct wire_cm m = message(c, CM_DREQ);
    if (c->state != ROCE_CONN_ESTABLISHED)
        return SIM_ERR_STATE;
    if (!set_private(&m, options))
        return SIM_ERR_PARAM;
    m.u.dreq.qpn = c->remote_qpn;
    c->state = ROCE_CONN_DREQ_SENT;
    (void)rnic_qp_set_error(c->qp);
    send_first(c, now_ps, &m, true);
    return SIM_OK;
}

/* --- arrivals --- */

static struct roce_conn *find_local(const struct roce_cm *cm, uint32_t local_id, uint32_t remote_addr)
{
    struct roce_conn *c = cm->conns;
    while (c != NULL && (c->local_id != local_id || c->remote_addr != remote_addr))
        c = c->next;
    return c;
}

static void take_req(struct roce_cm *cm, uint32_t src, const struct wire_cm *m)
{
    for (struct roce_conn *c = cm->conns; c != NULL; c = c->next)
        if (c->remote_addr == src && c->remote_id == m->local_id && c->state != ROCE_CONN_CLOSED) {
            if (c->state == ROCE_CONN_REP_SENT)
                send_to(cm, src, &c->last); /* it has not come through */
            return;
        }
    uint32_t i = 0;
    while (i < cm->nservices && cm->service[i] != m->u.req.service_id)
        i++;
    if (i == cm->nservices) {
        reject_stray(cm, src, m, 0, CM_REJ_INVALID_SERVICE);
        return;
    }
    struct roce_conn *c = m->u.req.service_type < 2 ? new_conn(cm, src) : NULL;
    if (c == NULL) {
        reject_stray(cm, src, m, 0, m->u.req.service_type < 2 ? CM_REJ_NO_RESOURCES : CM_REJ_INVALID_TRANSPORT);
        return;
    }
    c->state = ROCE_CONN_REQ_RECEIVED;
    c->remote_id = m->local_id;
    c->request = *m;
    c->mtu = wire_cm_mtu_bytes(m->u.req.mtu);
    tell(c, ROCE_CM_REQUEST, m);
}

static void take_rep(struct roce_cm *cm, struct roce_conn *c, int64_t now_ps, uint32_t src, const struct wire_cm *m)
{
    if (c == NULL) {
        reject_stray(cm, src, m, 1, CM_REJ_INVALID_COMM_ID);
        return;
    }
    if (c->state == ROCE_CONN_ESTABLISHED && c->remote_id == m->local_id) {
        send_to(cm, src, &c->last); /* the RTU has been lost */
        return;
    }
    if (c->state != ROCE_CONN_REQ_SENT)
        return;
    const struct roce_params *p = roce_qp_params(c->qp);
    struct roce_peer peer = peer_of(c);
    peer.remote_qpn = c->remote_qpn = m->u.rep.qpn;
    peer.remote_psn = m->u.rep.psn;
    peer.ird = m->u.rep.responder_resources;
    peer.retry_cnt = (uint8_t)p->retry_cnt;
    peer.rnr_retry = m->u.rep.rnr_retry;
    peer.local_ack_timeout = (uint8_t)p->local_ack_timeout;
    c->remote_id = m->local_id;
    if (roce_qp_connect(c->qp, &peer) != SIM_OK) {
        close_conn(c, ROCE_CM_UNREACHABLE, m);
        return;
    }
    struct wire_cm rtu = message(c, CM_RTU);
    c->state = ROCE_CONN_ESTABLISHED;
    send_first(c, now_ps, &rtu, false);
    tell(c, ROCE_CM_ESTABLISHED, m);
}

static void take_rtu(struct roce_conn *c, const struct wire_cm *m)
{
    if (c == NULL || c->state != ROCE_CONN_REP_SENT || roce_qp_ready_to_send(c->qp) != SIM_OK)
        return;
    c->state = ROCE_CONN_ESTABLISHED;
    c->deadline_ps = SIM_NEVER_PS;
    endpoint_changed(&c->qp->ep);
    tell(c, ROCE_CM_ESTABLISHED, m);
}

static void take_rej(struct roce_conn *c, int64_t now_ps, const struct wire_cm *m)
{
    if (c == NULL || (c->state != ROCE_CONN_REQ_SENT && c->state != ROCE_CONN_REP_SENT))
        return;
    uint32_t mtu = m->u.rej.reason == CM_REJ_INVALID_MTU && m->u.rej.info_len > 0 ? wire_cm_mtu_bytes(m->u.rej.ari[0] >> 4) : 0;
    if (c->state == ROCE_CONN_REQ_SENT && mtu != 0 && mtu < c->mtu) {
        c->mtu = mtu;
        c->local_id = c->cm->next_id++;
        ask(c, now_ps);
        return;
    }
    close_conn(c, ROCE_CM_REJECTED, m);
}

static void take_dreq(struct roce_cm *cm, struct roce_conn *c, int64_t now_ps, uint32_t src, const struct wire_cm *m)
{
    struct wire_cm drep = { .kind = CM_DREP, .transaction = m->transaction, .local_id = m->remote_id, .remote_id = m->local_id };
    if (c == NULL || c->qp == NULL || c->state == ROCE_CONN_CLOSED) {
        send_to(cm, src, &drep); /* a repetition: the first answer was lost */
        return;
    }
    if (m->u.dreq.qpn != rnic_qp_num(c->qp))
        return;
    send_first(c, now_ps, &drep, false);
    close_conn(c, ROCE_CM_DISCONNECTED, m);
}

static void take(struct roce_cm *cm, int64_t now_ps, uint32_t src, const struct wire_cm *m)
{
    struct roce_conn *c = m->kind == CM_REQ ? NULL : find_local(cm, m->remote_id, src);
    switch (m->kind) {
    case CM_REQ: take_req(cm, src, m); break;
    case CM_REP: take_rep(cm, c, now_ps, src, m); break;
    case CM_RTU: take_rtu(c, m); break;
    case CM_REJ: take_rej(c, now_ps, m); break;
    case CM_MRA: /* it needs so long */
        if (c != NULL && (c->state == ROCE_CONN_REQ_SENT || c->state == ROCE_CONN_REP_SENT))
            c->deadline_ps = now_ps + (TIMEOUT_UNIT_PS << m->u.mra.service_timeout) + (TIMEOUT_UNIT_PS << cm->config.response_timeout);
        break;
    case CM_DREQ: take_dreq(cm, c, now_ps, src, m); break;
    case CM_DREP:
        if (c != NULL && c->state == ROCE_CONN_DREQ_SENT)
            close_conn(c, ROCE_CM_DISCONNECTED, m);
        break;
    default: break;
    }
}

/* --- the endpoint --- */

static void cm_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    uint8_t mad[WIRE_MAD_BYTES];
    struct wire_cm m;
    if (p->kind != PKT_ROCE || p->roce.opcode != ROCE_UD_SEND_ONLY || p->roce.x.deth.qkey != WIRE_CM_QKEY || p->payload_len != sizeof mad)
        return;
    pkt_payload_read(p, 0, sizeof mad, mad);
    if (wire_cm_decode(mad, sizeof mad, &m))
        take(of_endpoint(ep), now_ps, p->src, &m);
}

static bool cm_tx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct roce_cm *cm = of_endpoint(ep);
    (void)now_ps;
    if (cm->out_head == cm->out_tail)
        return false;
    const struct outgoing *o = &cm->out[cm->out_head++ & (cm->out_cap - 1)];
    p->kind = PKT_ROCE;
    p->src = cm->config.local_addr;
    p->dst = o->dst;
    p->sport = cm->config.sport;
    p->dport = WIRE_ROCE_PORT;
    p->flow_hash = pkt_flow_hash(p->src, p->dst, PROTO_UDP, p->sport, p->dport);
    p->dscp = cm->config.dscp;
    p->ecn = cm->config.ecn;
    p->ttl = cm->config.ttl;
    p->roce.opcode = ROCE_UD_SEND_ONLY;
    p->roce.pkey = PKEY_DEFAULT;
    p->roce.dqpn = WIRE_CM_QPN;
    p->roce.ack_req = 1; /* as Linux sets it; a datagram is never acknowledged */
    p->roce.psn = cm->psn++ & 0xffffff;
    p->roce.x.deth.qkey = WIRE_CM_QKEY;
    p->roce.x.deth.sqpn = WIRE_CM_QPN;
    (void)pkt_add_bytes(p, o->mad, WIRE_MAD_BYTES);
    pkt_set_len(p);
    return true;
}

static int64_t cm_ready_ps(const struct endpoint *ep)
{
    const struct roce_cm *cm = (const struct roce_cm *)(const void *)ep;
    return cm->out_head == cm->out_tail ? SIM_NEVER_PS : 0;
}

static int64_t cm_next_wake_ps(const struct endpoint *ep)
{
    int64_t at = SIM_NEVER_PS;
    for (const struct roce_conn *c = ((const struct roce_cm *)(const void *)ep)->conns; c != NULL; c = c->next)
        at = c->deadline_ps < at ? c->deadline_ps : at;
    return at;
}

/* No answer: once more, or the end of it. */
static void expired(struct roce_conn *c, int64_t now_ps)
{
    if (c->retries_left > 0) {
        c->retries_left--;
        c->deadline_ps = now_ps + (TIMEOUT_UNIT_PS << c->cm->config.response_timeout);
        send_to(c->cm, c->remote_addr, &c->last);
        return;
    }
    enum roce_conn_state was = c->state;
    if (was != ROCE_CONN_DREQ_SENT) { /* 12.9.8.3.1: the peer is told, should it be there after all */
        struct wire_cm rej = message(c, CM_REJ);
        rej.u.rej.rejected = was == ROCE_CONN_REP_SENT ? 1 : 2;
        rej.u.rej.reason = CM_REJ_TIMEOUT;
        send_first(c, now_ps, &rej, false);
    }
    close_conn(c, was == ROCE_CONN_DREQ_SENT ? ROCE_CM_DISCONNECTED : ROCE_CM_UNREACHABLE, NULL);
}

static void cm_wake(struct endpoint *ep, int64_t now_ps)
{
    for (struct roce_conn *c = of_endpoint(ep)->conns; c != NULL; c = c->next)
        if (c->deadline_ps <= now_ps)
            expired(c, now_ps);
}

static const struct endpoint_ops cm_endpoint_ops = { .rx = cm_rx, .tx = cm_tx, .wake = cm_wake, .ready_ps = cm_ready_ps, .next_wake_ps = cm_next_wake_ps };

/* --- life --- */

struct roce_cm_config roce_cm_defaults(void) { return (struct roce_cm_config){ .response_timeout = 20, .max_retries = 15, .target_ack_delay = 15 }; }

struct roce_cm *roce_cm_new(struct rnic_dev *dev, const struct roce_cm_config *config)
{
    struct roce_cm *cm = calloc(1, sizeof *cm);
    struct host *h = rnic_dev_host(dev);
    struct sim_rng rng;
    if (cm == NULL)
        return NULL;
    cm->ep.ops = &cm_endpoint_ops;
    cm->ep.id = config->local_addr;
    cm->ep.prio = cm->ep.urgent_prio = config->prio;
    cm->config = *config;
    cm->dev = dev;
    if (cm->config.ttl == 0)
        cm->config.ttl = 64;
    sim_rng_init(&rng, config->seed, config->local_addr, SIM_RNG_PSN);
    cm->next_id = sim_rng_u32(&rng);
    cm->next_transaction = sim_rng_u32(&rng);
    if (cm->config.sport == 0)
        cm->config.sport = (uint16_t)(0xc000 | sim_rng_u32(&rng) >> 18);
    if (h != NULL) {
        if (host_bind_roce(h, WIRE_CM_QPN, &cm->ep) != SIM_OK) {
            free(cm);
            return NULL;
        }
        host_attach(h, &cm->ep);
    }
    return cm;
}

void roce_cm_free(struct roce_cm *cm)
{
    if (cm == NULL)
        return;
    if (cm->ep.host != NULL)
        host_detach(cm->ep.host, &cm->ep);
    for (struct roce_conn *c = cm->conns, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    free(cm->out);
    free(cm);
}

struct endpoint *roce_cm_endpoint(struct roce_cm *cm) { return &cm->ep; }

int roce_cm_listen(struct roce_cm *cm, uint64_t service_id)
{
    if (cm->nservices == SERVICES_MAX)
        return SIM_ERR_FULL;
    cm->service[cm->nservices++] = service_id;
    return SIM_OK;
}

enum roce_conn_state roce_conn_state(const struct roce_conn *c) { return c->state; }
struct rnic_qp *roce_conn_qp(const struct roce_conn *c) { return c->qp; }
uint32_t roce_conn_remote_addr(const struct roce_conn *c) { return c->remote_addr; }
const struct wire_cm *roce_conn_request(const struct roce_conn *c) { return &c->request; }
