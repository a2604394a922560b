/* SPDX-License-Identifier: GPL-2.0-only */
/* A RoCE QP as an endpoint: life, dispatch of what arrives, arbitration of what leaves. */
#include "roce_internal.h"
#include "../sim/rng.h"

#include <stdlib.h>

#define ACK_TIMEOUT_UNIT_PS INT64_C(4096000) /* 4.096 us (IBTA vol. 1 9.7.6.1.3) */
#define PKEY_DEFAULT 0xffff
#define PROTO_UDP 17
#define CE 3

static struct roce_qp *of_endpoint(struct endpoint *ep) { return (struct roce_qp *)(void *)ep; }
static const struct roce_qp *of_endpoint_const(const struct endpoint *ep) { return (const struct roce_qp *)(const void *)ep; }

void roce_trace(struct roce_qp *q, int64_t now_ps, enum sim_trace_point point, uint64_t a, uint64_t b)
{
    struct host *h = q->base.ep.host;
    if (h == NULL || !sim_tracing(host_sim(h)))
        return;
    struct sim_trace t = { .now_ps = now_ps, .point = point, .node = host_node(h), .id = q->base.qpn, .a = a, .b = b, .obj = q };
    sim_trace_emit(host_sim(h), &t);
}

void roce_start_packet(struct roce_qp *q, struct pkt *p, uint8_t opcode, uint32_t psn)
{
    p->kind = PKT_ROCE;
    p->src = q->src;
    p->dst = q->dst;
    p->sport = q->sport;
    p->dport = WIRE_ROCE_PORT;
    p->flow_hash = q->flow_hash;
    p->dscp = q->dscp;
    p->ecn = q->ecn;
    p->ttl = q->ttl;
    p->roce.opcode = opcode;
    p->roce.pkey = PKEY_DEFAULT;
    p->roce.dqpn = q->dqpn;
    p->roce.psn = psn;
    if (q->telemetry) /* all of them: with two ports they could take two ways and overtake each other */
        pkt_add_telemetry(p);
}

/* --- the endpoint --- */

/* A header of another version or partition is dropped without a word (IBTA 9.6.1.1.1, 9.6.1.1.3); this end is a full member of its own. */
static bool header_fits(struct roce_qp *q, const struct pkt_roce *h)
{
    bool version = h->tver == 0, partition = ((h->pkey ^ PKEY_DEFAULT) & 0x7fff) == 0;
    q->base.count.bad_version += !version;
    q->base.count.bad_pkey += version && !partition;
    return version && partition;
}

static void roce_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct roce_qp *q = of_endpoint(ep);
    if (p->kind != PKT_ROCE || !q->connected)
        return;
    unsigned op = p->roce.opcode, flags = wire_roce_op[op].flags;
    q->base.count.received_packets++;
    if (q->base.state == RNIC_QP_ERROR || !header_fits(q, &p->roce))
        return;
    if (op == ROCE_CNP) {
        roce_cc_cnp(q, now_ps);
        return;
    }
    if (q->service != ROCE_SERVICE_RC) {
        if (p->ecn == CE && q->service == ROCE_SERVICE_UC && p->payload_len > 0)
            roce_cc_marked(q, now_ps);
        roce_unreliable_rx(q, p);
        return;
    }
    unsigned base = q->opcode_base;
    if (op < base || (q->irn == NULL && op > ROCE_SEND_ONLY_INV) || wire_roce_op[op].name == NULL)
        return; /* not of a reliable connection, or of another loss recovery */
    if (p->ecn == CE && p->payload_len > 0)
        roce_cc_marked(q, now_ps);
    if (flags & ROCE_OP_REQUEST)
        roce_resp_rx(q, now_ps, p);
    else if (flags & ROCE_OP_ACK && q->irn == NULL)
        roce_req_ack(q, now_ps, p);
    else if (flags & ROCE_OP_ACK)
        (flags & ROCE_OP_READ ? roce_irn_read_ack : roce_irn_ack)(q, now_ps, p);
    else
        (q->irn == NULL ? roce_req_response : roce_irn_response)(q, now_ps, p);
}

static bool control_ready(const struct roce_qp *q)
{
    return q->cnp_pending || roce_resp_ack_ready(q) || (q->irn != NULL && roce_irn_control_ready(q));
}

static bool finish_packet(struct roce_qp *q, struct pkt *p)
{
    pkt_set_len(p);
    q->base.count.sent_packets++;
    return true;
}

static bool roce_tx_control(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct roce_qp *q = of_endpoint(ep);
    (void)now_ps;
    if (q->cnp_pending) {
        q->cnp_pending = false;
        q->base.count.np_cnp_sent++;
        roce_start_packet(q, p, ROCE_CNP, 0);
        p->roce.becn = 1;
        p->dscp = q->cnp_dscp;
    } else if (q->irn != NULL && roce_irn_control_tx(q, p)) {
        ;
    } else if (roce_resp_ack_ready(q)) {
        roce_resp_ack_tx(q, p);
        p->dscp = q->control_dscp;
    } else {
        return false;
    }
    return finish_packet(q, p);
}

static bool roce_tx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct roce_qp *q = of_endpoint(ep);
    if (roce_tx_control(ep, now_ps, p))
        return true;
    if (now_ps < q->pace_ps)
        return false;
    bool respond = roce_resp_data_ready(q), request = roce_req_ready_ps(q) <= now_ps;
    bool sent = false;
    if (respond && (q->resp_turn || !request))
        sent = roce_resp_data_tx(q, now_ps, p);
    else if (request)
        sent = roce_req_tx(q, now_ps, p);
    q->resp_turn = !q->resp_turn;
    if (!sent) { /* a fault on the way: its NAK may be due */
        pkt_release_payload(p);
        p->flags = 0;
        p->roce = (struct pkt_roce){ 0 };
        return roce_tx_control(ep, now_ps, p);
    }
    (void)finish_packet(q, p);
    roce_cc_charge(q, now_ps, p);
    return true;
}

static int64_t roce_ready_ps(const struct endpoint *ep)
{
    const struct roce_qp *q = of_endpoint_const(ep);
    if (control_ready(q))
        return 0;
    int64_t at = roce_resp_data_ready(q) ? 0 : roce_req_ready_ps(q);
    return at > q->pace_ps ? at : q->pace_ps;
}

void roce_draw_timeout(struct roce_qp *q)
{
    struct sim_rng rng;
    if (q->params->ack_timeout_spread <= 0)
        return;
    sim_rng_init(&rng, q->seed + q->base.count.timeouts, q->base.ep.id, SIM_RNG_ACK_TIMEOUT);
    q->timeout_extra_ps = (int64_t)((double)q->timeout_ps * q->params->ack_timeout_spread * sim_rng_unit(&rng));
}

/* The local ACK timeout runs from the last progress while something is unacknowledged; sending never pushes it back. */
static int64_t ack_deadline_ps(const struct roce_qp *q)
{
    if (q->req.una == q->req.max)
        return SIM_NEVER_PS;
    if (q->retry->timeout_ps != NULL)
        return q->req.progress_ps + q->retry->timeout_ps(q);
    if (q->timeout_ps == 0)
        return SIM_NEVER_PS;
    return q->req.progress_ps + q->timeout_ps + q->timeout_extra_ps;
}

static int64_t roce_next_wake_ps(const struct endpoint *ep)
{
    const struct roce_qp *q = of_endpoint_const(ep);
    int64_t at = ack_deadline_ps(q);
    int64_t control = roce_cc_next_wake_ps(q);
    if (control < at)
        at = control;
    if (q->holds && q->resp.gap_deadline_ps < at)
        at = q->resp.gap_deadline_ps;
    if (q->irn != NULL) {
        int64_t read = roce_irn_read_wake_ps(q);
        at = read < at ? read : at;
    }
    return at;
}

static void roce_wake(struct endpoint *ep, int64_t now_ps)
{
    struct roce_qp *q = of_endpoint(ep);
    roce_cc_wake(q, now_ps);
    if (q->holds && q->resp.gap_deadline_ps <= now_ps)
        roce_resp_gap_expired(q, now_ps);
    if (ack_deadline_ps(q) <= now_ps)
        roce_req_timeout(q, now_ps);
    if (q->irn != NULL)
        roce_irn_read_wake(q, now_ps);
}

static const struct endpoint_ops roce_endpoint_ops = {
    .rx = roce_rx, .tx = roce_tx, .wake = roce_wake, .ready_ps = roce_ready_ps, .next_wake_ps = roce_next_wake_ps,
    .tx_control = roce_tx_control,
};

/* --- under the verbs --- */

static void roce_error(struct rnic_qp *qp)
{
    struct roce_qp *q = roce_of(qp);
    struct roce_req *r = &q->req;
    r->una = r->acked = r->nxt = r->max;
    r->wqe_una = r->wqe_nxt = r->wqe_end = qp->sq_tail;
    r->reads_out = 0;
    r->span_valid = false;
    r->want = ROCE_NONE;
    roce_bits_free(&r->arrived);
    roce_hold_drop_all(q);
    q->resp.gap_deadline_ps = SIM_NEVER_PS;
    if (q->irn != NULL)
        roce_irn_stop(q);
    q->cc.next_wake_ps = SIM_NEVER_PS;
    q->cnp_pending = q->cnp_owed = false;
    if (!q->resp.fatal) { /* else what was asked for before the fault is answered, then the NAK is the last word */
        q->resp.ack_pending = 0;
        q->resp.queue_head = q->resp.queue_tail;
    }
}

static void roce_destroy(struct rnic_qp *qp)
{
    struct roce_qp *q = roce_of(qp);
    if (qp->ep.host != NULL)
        host_detach(qp->ep.host, &qp->ep);
    rnic_qp_fini(qp);
    free(q->resp.queue);
    free(q->resp.results);
    free(q->stamps.at);
    roce_bits_free(&q->req.arrived);
    roce_hold_free(q);
    roce_irn_free(q);
    free(q);
}

static const struct rnic_qp_ops roce_qp_ops = { .name = "RoCEv2", .check_send = roce_check_send, .error = roce_error, .destroy = roce_destroy };

static bool valid_mtu(int64_t mtu) { return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0; }

struct rnic_qp *roce_qp_new(struct rnic_dev *dev, struct rnic_pd *pd, struct rnic_cq *send_cq, struct rnic_cq *recv_cq,
                            const struct roce_params *params, const struct cc_ops *cc, const void *cc_params,
                            int64_t link_bps, uint32_t id, uint64_t seed)
{
    if (params == NULL || roce_params_check(params, NULL, 0) != SIM_OK || link_bps <= 0)
        return NULL;
    struct roce_qp *q = calloc(1, sizeof *q);
    if (q == NULL)
        return NULL;
    q->base.ep.ops = &roce_endpoint_ops;
    if (rnic_qp_init(&q->base, &roce_qp_ops, dev, pd, send_cq, recv_cq, (uint32_t)params->sq_depth, (uint32_t)params->rq_depth, id) != SIM_OK) {
        free(q);
        return NULL;
    }
    q->params = params;
    static const uint8_t base[] = { [ROCE_SERVICE_RC] = 0, [ROCE_SERVICE_UC] = ROCE_UC, [ROCE_SERVICE_UD] = ROCE_UD_SEND_ONLY - ROCE_SEND_ONLY };
    q->service = (uint8_t)params->service;
    q->opcode_base = base[params->service];
    static const struct roce_retry_ops *const policy[] = { [ROCE_GO_BACK_N] = &roce_go_back_n, [ROCE_GO_BACK_0] = &roce_go_back_0,
        [ROCE_IRN_RETRY] = &roce_irn, [ROCE_SELECTIVE] = &roce_selective };
    q->retry = policy[params->service == ROCE_SERVICE_RC ? params->retry : ROCE_GO_BACK_N]; /* the others repeat nothing */
    q->holds = q->retry->holds || params->ooo_placement;
    q->req.want = q->req.limited_at = ROCE_NONE;
    q->resp.gap_deadline_ps = SIM_NEVER_PS;
    if (params->service == ROCE_SERVICE_RC && params->retry == ROCE_IRN_RETRY) {
        q->opcode_base = ROCE_IRN;
        if (!roce_irn_new(q)) {
            roce_destroy(&q->base);
            return NULL;
        }
    }
    q->seed = seed;
    q->cc.link_bps = link_bps;
    q->cc.ops = cc != NULL ? cc : cc_find("none");
    q->cc.params = cc_params;
    q->cc.next_wake_ps = SIM_NEVER_PS;
    struct sim_rng rng;
    sim_rng_init(&rng, seed, id, SIM_RNG_PSN);
    q->psn0 = sim_rng_u32(&rng) & ROCE_PSN_MASK;
    return &q->base;
}

static void set_limits(struct roce_qp *q, const struct roce_peer *peer)
{
    const struct roce_params *own = q->params;
    unsigned timeout = peer->limits_given ? peer->local_ack_timeout : (unsigned)own->local_ack_timeout;
    q->timeout_ps = timeout ? ACK_TIMEOUT_UNIT_PS << timeout : 0;
    q->retry_cnt = peer->limits_given ? peer->retry_cnt : (uint8_t)own->retry_cnt;
    q->rnr_retry = peer->limits_given ? peer->rnr_retry : (uint8_t)own->rnr_retry;
    q->req.retries_left = q->retry_cnt;
    q->req.rnr_left = q->rnr_retry;
    roce_draw_timeout(q);
}

static void set_path(struct roce_qp *q, const struct roce_peer *peer, uint32_t mtu)
{
    q->mtu = mtu;
    q->mtu_shift = (uint32_t)__builtin_ctz(mtu);
    q->src = peer->local_addr;
    q->dst = peer->remote_addr;
    q->dqpn = peer->remote_qpn & ROCE_PSN_MASK;
    q->qkey = peer->qkey;
    q->dscp = peer->dscp;
    q->ecn = peer->ecn;
    q->control_dscp = q->params->control_dscp < 64 ? (uint8_t)q->params->control_dscp : peer->dscp;
    q->cnp_dscp = q->params->cnp_dscp < 64 ? (uint8_t)q->params->cnp_dscp : q->control_dscp;
    q->ttl = peer->ttl ? peer->ttl : 64;
    uint64_t mixed = ((uint64_t)q->base.ep.id << 32 | q->base.qpn) * UINT64_C(0x9e3779b97f4a7c15);
    q->sport = (uint16_t)(0xc000 | mixed >> 50);
    q->telemetry = q->cc.ops->telemetry && q->service == ROCE_SERVICE_RC;
    q->flow_hash = pkt_flow_hash(q->src, q->dst, PROTO_UDP, q->sport, q->telemetry ? WIRE_ROCE_INT_PORT : WIRE_ROCE_PORT);
}

static int attach(struct roce_qp *q)
{
    struct host *h = rnic_dev_host(q->base.dev);
    if (h == NULL)
        return SIM_OK;
    int bad = host_claim_connection(h, &q->base.ep, false);
    if (!bad)
        bad = host_bind_roce(h, q->base.qpn, &q->base.ep);
    if (!bad) {
        host_attach(h, &q->base.ep);
        host_set_offloaded(h, &q->base.ep, true);
    }
    return bad;
}

int roce_qp_ready_to_receive(struct rnic_qp *qp, const struct roce_peer *peer)
{
    struct roce_qp *q = roce_of(qp);
    uint32_t mtu = (uint32_t)q->params->mtu_bytes;
    if (peer->path_mtu_bytes && peer->path_mtu_bytes < mtu)
        mtu = peer->path_mtu_bytes;
    if (!valid_mtu(mtu) || peer->prio >= PORT_PRIOS || peer->dscp > 63 || peer->ecn > CE || peer->base_rtt_ps < 0 || peer->retry_cnt > 7 || peer->rnr_retry > 7 ||
        peer->local_ack_timeout > 31)
        return SIM_ERR_PARAM;
    if (qp->state != RNIC_QP_INIT)
        return SIM_ERR_STATE;
    set_path(q, peer, mtu);
    set_limits(q, peer);
    q->resp.psn0 = peer->remote_psn & ROCE_PSN_MASK;
    q->req.ord = peer->ird && peer->ird < (uint32_t)q->params->ord ? peer->ird : (uint32_t)q->params->ord;
    q->req.timed_ps = -1;
    roce_cc_start(q, peer->base_rtt_ps);
    qp->ep.prio = peer->prio;
    qp->ep.more_a_turn = (uint8_t)(q->params->weight - 1);
    qp->ep.urgent_prio = q->params->control_prio < PORT_PRIOS ? (uint8_t)q->params->control_prio : peer->prio;
    qp->ep.cnp_prio = q->params->cnp_prio < PORT_PRIOS ? (uint8_t)(q->params->cnp_prio + 1) : 0;
    int bad = rnic_qp_modify(qp, RNIC_QP_RTR);
    if (!bad)
        bad = attach(q);
    q->connected = !bad;
    return bad;
}

int roce_qp_ready_to_send(struct rnic_qp *qp)
{
    return qp->state == RNIC_QP_RTR ? rnic_qp_modify(qp, RNIC_QP_RTS) : SIM_ERR_STATE;
}

int roce_qp_connect(struct rnic_qp *qp, const struct roce_peer *peer)
{
    int bad = roce_qp_ready_to_receive(qp, peer);
    return bad ? bad : roce_qp_ready_to_send(qp);
}

const struct roce_params *roce_qp_params(const struct rnic_qp *qp) { return ((const struct roce_qp *)(const void *)qp)->params; }
uint32_t roce_qp_first_psn(const struct rnic_qp *qp) { return ((const struct roce_qp *)(const void *)qp)->psn0; }
void roce_qp_set_first_psn(struct rnic_qp *qp, uint32_t psn) { roce_of(qp)->psn0 = psn & ROCE_PSN_MASK; }
const struct cc *roce_qp_cc(const struct rnic_qp *qp) { return &((const struct roce_qp *)(const void *)qp)->cc; }

void roce_qp_progress(const struct rnic_qp *qp, uint64_t *acked_bytes, uint64_t *sent_bytes)
{
    const struct roce_qp *q = (const struct roce_qp *)(const void *)qp;
    *acked_bytes = q->req.una << q->mtu_shift;
    *sent_bytes = q->req.max << q->mtu_shift;
}
