/* SPDX-License-Identifier: GPL-2.0-only */
/* Connection management: the datagrams of captured kernels byte for byte, and two connection managers with their QPs on a wire that loses what a
 * test says. */
#include "pair.h"
#include "../../model/roce/roce_cm.h"
#include "../../model/wire/pcap.h"
#include "../host/two_hosts.h"
#include "../wire/golden.h"

#define SERVICE UINT64_C(0x1061234)
#define DELAY_PS (5 * SIM_PS_PER_US)

/* --- bytes --- */

static unsigned cm_frames_of(const char *name, unsigned seen[8])
{
    size_t len;
    uint8_t *file = golden_read(name, &len);
    struct pcap_reader in;
    struct pcap_frame f;
    unsigned n = 0;
    assert_int_equal(pcap_open(&in, file, len), PCAP_OK);
    while (pcap_next(&in, &f) == PCAP_OK) {
        struct pkt p;
        struct wire_cm m;
        uint8_t mad[WIRE_MAD_BYTES], out[WIRE_MAD_BYTES];
        if (wire_decode(f.bytes, f.captured, &p, NULL) == WIRE_OK && p.kind == PKT_ROCE && p.roce.dqpn == 1) {
            assert_int_equal(p.payload_len, sizeof mad);
            pkt_payload_read(&p, 0, sizeof mad, mad);
            assert_true(wire_cm_decode(mad, sizeof mad, &m));
            wire_cm_encode(&m, out);
            assert_memory_equal(mad, out, sizeof mad);
            seen[m.kind - CM_REQ]++;
            n++;
        }
        pkt_release_payload(&p);
    }
    free(file);
    return n;
}

static void captured_datagrams_come_back_to_the_byte(void **state)
{
    (void)state;
#define X(name) name,
    static const char *const good[] = { GOLDEN_GOOD(X) };
#undef X
    unsigned n = 0, seen[8] = { 0 };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (strncmp(good[i], "rxe/", 4) == 0)
            n += cm_frames_of(good[i], seen);
    assert_true(n >= 50);
    for (unsigned kind = CM_REQ; kind <= CM_DREP; kind++)
        assert_true(seen[kind - CM_REQ] > 0 || kind == CM_MRA);
}

static void fill(void *p, size_t n) { memset(p, 0xff, n); }

static void every_field_at_its_maximum(void **state)
{
    (void)state;
    for (unsigned kind = CM_REQ; kind <= CM_DREP; kind++) {
        struct wire_cm m, back, again;
        uint8_t mad[WIRE_MAD_BYTES], mad2[WIRE_MAD_BYTES];
        fill(&m, sizeof m);
        m.kind = (uint8_t)kind;
        wire_cm_encode(&m, mad);
        assert_true(wire_cm_decode(mad, sizeof mad, &back));
        wire_cm_encode(&back, mad2);
        assert_memory_equal(mad, mad2, sizeof mad);
        assert_int_equal(back.local_id, UINT32_MAX);
        assert_memory_equal(back.private_data, m.private_data, wire_cm_private_bytes(kind));
        if (kind == CM_REQ) {
            assert_int_equal(back.u.req.qpn, 0xffffff);
            assert_int_equal(back.u.req.retry_cnt, 7);
            assert_int_equal(back.u.req.local_response_timeout, 31);
            assert_int_equal(back.u.req.service_type, 3);
            assert_int_equal(back.u.req.path[0].flow_label, 0xfffff);
            assert_int_equal(back.u.req.path[1].ack_timeout, 31);
        }
        mad[1] = 3; /* of another class */
        assert_false(wire_cm_decode(mad, sizeof mad, &again));
    }
}

/* --- two nodes --- */

struct net;
struct cnode {
    struct net *net;
    struct rnic_dev *dev;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_mr *mr;
    struct roce_params params;
    struct rnic_qp *qp;
    struct roce_cm *cm;
    struct roce_conn *conn;
    uint32_t requests, established, rejected, unreachable, disconnected, completions;
    unsigned reason;
    bool refuse;
    const struct wire_cm *like;
    char priv[12];
};
struct flight { int64_t at_ps; int to; struct pkt p; };
struct net {
    struct cnode node[2];
    int64_t now_ps;
    struct flight f[256];
    unsigned nf, sent[2][8], drop[2][8];   /* by side and kind: how many of the first are lost */
};

static void on_event(void *ctx, const struct roce_cm_event *e)
{
    struct cnode *n = ctx;
    switch (e->kind) {
    case ROCE_CM_REQUEST:
        n->requests++;
        n->conn = e->conn;
        memcpy(n->priv, e->mad->private_data, sizeof n->priv - 1);
        if (n->refuse)
            assert_int_equal(roce_conn_reject(e->conn, n->net->now_ps, CM_REJ_CONSUMER, &(struct roce_conn_options){ .private_data = "no", .private_len = 2 }), SIM_OK);
        else
            (void)roce_conn_accept(e->conn, n->net->now_ps, n->qp, &(struct roce_conn_options){ .private_data = "hello", .private_len = 5 });
        break;
    case ROCE_CM_ESTABLISHED: n->established++; break;
    case ROCE_CM_REJECTED: n->rejected++; n->reason = e->mad->u.rej.reason; break;
    case ROCE_CM_UNREACHABLE: n->unreachable++; break;
    case ROCE_CM_DISCONNECTED: n->disconnected++; break;
    }
}

static void on_wc(void *ctx, const struct rnic_wc *wc) { ((struct cnode *)ctx)->completions += wc->status == RNIC_WC_SUCCESS; }

static struct net *net_of(int64_t mtu0, int64_t mtu1, int64_t service0, int64_t service1)
{
    struct net *t = calloc(1, sizeof *t);
    for (int i = 0; i < 2; i++) {
        struct cnode *n = &t->node[i];
        n->net = t;
        param_defaults(&roce_params_table, &n->params);
        n->params.mtu_bytes = i ? mtu1 : mtu0;
        n->params.service = i ? service1 : service0;
        n->dev = rnic_dev_new(NULL, 4);
        n->pd = rnic_pd_new(n->dev);
        n->cq = rnic_cq_new(n->dev, 100, 0, on_wc, n);
        n->mr = rnic_mr_reg(n->pd, PAIR_MEM_VA, 65536, RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE, NULL);
        n->qp = roce_qp_new(n->dev, n->pd, n->cq, n->cq, &n->params, NULL, NULL, INT64_C(100000000000), (uint32_t)i, 1);
        struct roce_cm_config c = roce_cm_defaults();
        c.local_addr = pkt_addr_of_node((uint32_t)i);
        c.seed = 1;
        c.on_event = on_event;
        c.ctx = n;
        n->cm = roce_cm_new(n->dev, &c);
        assert_non_null(n->cm);
    }
    assert_int_equal(roce_cm_listen(t->node[1].cm, SERVICE), SIM_OK);
    return t;
}

static struct net *net_new(int64_t mtu0, int64_t mtu1) { return net_of(mtu0, mtu1, ROCE_SERVICE_RC, ROCE_SERVICE_RC); }

static void net_free(struct net *t)
{
    for (unsigned i = 0; i < t->nf; i++)
        pkt_release_payload(&t->f[i].p);
    for (int i = 0; i < 2; i++) {
        roce_cm_free(t->node[i].cm);
        rnic_dev_free(t->node[i].dev);
    }
    free(t);
}

static struct endpoint *at(struct net *t, int side, int which) { return which ? &t->node[side].qp->ep : roce_cm_endpoint(t->node[side].cm); }

static bool lost(struct net *t, int from, const struct pkt *p)
{
    uint8_t mad[WIRE_MAD_BYTES];
    struct wire_cm m;
    if (p->roce.dqpn != 1)
        return false;
    pkt_payload_read(p, 0, sizeof mad, mad);
    assert_true(wire_cm_decode(mad, sizeof mad, &m));
    unsigned k = m.kind - CM_REQ;
    return t->sent[from][k]++ < t->drop[from][k];
}

static void send_all(struct net *t)
{
    for (int side = 0; side < 2; side++)
        for (int which = 0; which < 2; which++) {
            struct endpoint *ep = at(t, side, which);
            struct pkt p;
            while (memset(&p, 0, sizeof p), ep->ops->ready_ps(ep) <= t->now_ps && ep->ops->tx(ep, t->now_ps, &p)) {
                if (lost(t, side, &p)) {
                    pkt_release_payload(&p);
                    continue;
                }
                assert_true(t->nf < 256);
                t->f[t->nf++] = (struct flight){ t->now_ps + DELAY_PS, !side, p };
            }
        }
}

static void net_run(struct net *t, int64_t until_ps)
{
    for (;;) {
        send_all(t);
        int64_t next = SIM_NEVER_PS;
        for (unsigned i = 0; i < t->nf; i++)
            next = pair_min(next, t->f[i].at_ps);
        for (int side = 0; side < 2; side++)
            for (int which = 0; which < 2; which++)
                next = pair_min(next, at(t, side, which)->ops->next_wake_ps(at(t, side, which)));
        if (next > until_ps)
            break;
        t->now_ps = pair_max(next, t->now_ps);
        while (t->nf && t->f[0].at_ps <= t->now_ps) {
            struct flight f = t->f[0];
            memmove(t->f, t->f + 1, --t->nf * sizeof f);
            struct endpoint *ep = at(t, f.to, f.p.roce.dqpn != 1);
            if (f.p.roce.dqpn == 1 || f.p.roce.dqpn == t->node[f.to].qp->qpn)
                ep->ops->rx(ep, t->now_ps, &f.p);
            pkt_release_payload(&f.p);
        }
        for (int side = 0; side < 2; side++)
            for (int which = 0; which < 2; which++)
                if (at(t, side, which)->ops->next_wake_ps(at(t, side, which)) <= t->now_ps)
                    at(t, side, which)->ops->wake(at(t, side, which), t->now_ps);
    }
    t->now_ps = until_ps;
}

static void ask(struct net *t)
{
    struct roce_conn_options o = { .private_data = "please", .private_len = 6 };
    t->node[0].conn = roce_cm_connect(t->node[0].cm, t->now_ps, t->node[0].qp, pkt_addr_of_node(1), SERVICE, &o);
    assert_non_null(t->node[0].conn);
}

static void expect_connected(struct net *t)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(t->node[i].established, 1);
        assert_int_equal(roce_conn_state(t->node[i].conn), ROCE_CONN_ESTABLISHED);
        assert_int_equal(rnic_qp_state(t->node[i].qp), RNIC_QP_RTS);
    }
    assert_int_equal(t->node[1].requests, 1);
    assert_string_equal(t->node[1].priv, "please");
    struct rnic_send_wr wr = { .op = RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED, .sge = { PAIR_MEM_VA, 5000, rnic_mr_key(t->node[0].mr) },
        .remote_va = PAIR_MEM_VA, .rkey = rnic_mr_key(t->node[1].mr) };
    assert_int_equal(rnic_post_send(t->node[0].qp, &wr), SIM_OK);
    net_run(t, t->now_ps + SIM_PS_PER_MS);
    assert_int_equal(t->node[0].completions, 1);
}

static void disconnect_from(struct net *t, int side)
{
    assert_int_equal(roce_conn_disconnect(t->node[side].conn, t->now_ps, NULL), SIM_OK);
    net_run(t, t->now_ps + 100 * SIM_PS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(t->node[i].disconnected, 1);
        assert_int_equal(roce_conn_state(t->node[i].conn), ROCE_CONN_CLOSED);
        assert_int_equal(rnic_qp_state(t->node[i].qp), RNIC_QP_ERROR);
    }
}

static void request_reply_ready_to_use_and_the_end(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        struct net *t = net_new(1024, 1024);
        ask(t);
        net_run(t, SIM_PS_PER_MS);
        expect_connected(t);
        disconnect_from(t, side);
        for (unsigned k = 0; k < 7; k++) { /* one of each, from whom it is of */
            static const unsigned sent[2][7] = { { 1, 0, 0, 0, 1, 0, 0 }, { 0, 0, 0, 1, 0, 0, 0 } };
            unsigned dreq = CM_DREQ - CM_REQ, drep = CM_DREP - CM_REQ;
            for (int i = 0; i < 2; i++)
                assert_int_equal(t->sent[i][k], k == dreq ? i == side : k == drep ? i != side : sent[i][k]);
        }
        net_free(t);
    }
}

/* Each message lost once, twice: it comes again after the response timeout, and all else is as before. */
static void every_message_survives_loss(void **state)
{
    (void)state;
    static const struct { int from; unsigned kind; } row[] = { { 0, CM_REQ }, { 1, CM_REP }, { 0, CM_RTU }, { 0, CM_DREQ }, { 1, CM_DREP } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        for (unsigned times = 1; times <= 2; times++) {
            struct net *t = net_new(1024, 1024);
            t->drop[row[i].from][row[i].kind - CM_REQ] = times;
            ask(t);
            net_run(t, 4 * SIM_PS_PER_S); /* a response timeout is 4.295 s */
            assert_int_equal(t->node[1].established, row[i].kind >= CM_DREQ);
            net_run(t, 20 * SIM_PS_PER_S);
            expect_connected(t);
            disconnect_from(t, 0);
            unsigned sent = t->sent[row[i].from][row[i].kind - CM_REQ];
            /* a lost REP is repeated for its own timer and for the REQ that comes again */
            assert_true(sent == times + 1 || (row[i].kind == CM_REP && sent <= 2 * times + 1));
            net_free(t);
        }
}

/* Before the RTU has come the passive side serves requests but sends none. */
static void requests_are_served_before_the_rtu(void **state)
{
    (void)state;
    struct net *t = net_new(1024, 1024);
    t->drop[0][CM_RTU - CM_REQ] = 1;
    ask(t);
    net_run(t, SIM_PS_PER_MS);
    assert_int_equal(rnic_qp_state(t->node[0].qp), RNIC_QP_RTS);
    assert_int_equal(rnic_qp_state(t->node[1].qp), RNIC_QP_RTR);
    struct rnic_send_wr wr = { .op = RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED, .sge = { PAIR_MEM_VA, 3000, rnic_mr_key(t->node[0].mr) },
        .remote_va = PAIR_MEM_VA, .rkey = rnic_mr_key(t->node[1].mr) };
    assert_int_equal(rnic_post_send(t->node[0].qp, &wr), SIM_OK);
    assert_int_equal(rnic_post_send(t->node[1].qp, &wr), SIM_ERR_STATE);
    net_run(t, 2 * SIM_PS_PER_MS);
    assert_int_equal(t->node[0].completions, 1);
    net_free(t);
}

static void no_answer_is_unreachable(void **state)
{
    (void)state;
    struct net *t = net_new(1024, 1024);
    t->drop[0][0] = 100;
    ask(t);
    net_run(t, 68 * SIM_PS_PER_S); /* 16 times 4.295 s */
    assert_int_equal(t->node[0].unreachable, 0);
    net_run(t, 69 * SIM_PS_PER_S);
    assert_int_equal(t->node[0].unreachable, 1);
    assert_int_equal(t->sent[0][0], 16);
    assert_int_equal(rnic_qp_state(t->node[0].qp), RNIC_QP_INIT);
    net_free(t);
}

static void refusals(void **state)
{
    (void)state;
    struct net *t = net_new(1024, 1024);
    t->node[1].refuse = true;
    ask(t);
    net_run(t, SIM_PS_PER_MS);
    assert_int_equal(t->node[0].rejected, 1);
    assert_int_equal(t->node[0].reason, CM_REJ_CONSUMER);
    assert_int_equal(rnic_qp_state(t->node[0].qp), RNIC_QP_INIT);
    struct roce_conn *c = roce_cm_connect(t->node[0].cm, t->now_ps, t->node[0].qp, pkt_addr_of_node(1), SERVICE + 1, NULL);
    assert_non_null(c);
    net_run(t, 2 * SIM_PS_PER_MS);
    assert_int_equal(t->node[0].rejected, 2);
    assert_int_equal(t->node[0].reason, CM_REJ_INVALID_SERVICE);
    assert_int_equal(t->node[1].requests, 1);
    net_free(t);
}

/* IBTA vol. 1 table 107: a REQ for another service than the QP's is answered with reason 9; both QPs stay for a next attempt. */
static void another_service_is_rejected(void **state)
{
    (void)state;
    static const int64_t service[][2] = { { ROCE_SERVICE_RC, ROCE_SERVICE_UC }, { ROCE_SERVICE_UC, ROCE_SERVICE_RC }, { ROCE_SERVICE_RC, ROCE_SERVICE_UD } };
    for (size_t i = 0; i < sizeof service / sizeof service[0]; i++) {
        struct net *t = net_of(1024, 1024, service[i][0], service[i][1]);
        ask(t);
        net_run(t, SIM_PS_PER_MS);
        assert_int_equal(t->node[0].rejected, 1);
        assert_int_equal(t->node[0].reason, CM_REJ_INVALID_TRANSPORT);
        assert_int_equal(t->sent[1][CM_REJ - CM_REQ], 1);
        for (int side = 0; side < 2; side++) {
            assert_int_equal(t->node[side].established, 0);
            assert_int_equal(rnic_qp_state(t->node[side].qp), RNIC_QP_INIT);
        }
        net_free(t);
    }
}

/* Either end's smaller path MTU is that of the connection: item 18's 8 KB Write takes eight packets. */
static void the_smaller_mtu_is_agreed(void **state)
{
    (void)state;
    for (int small = 0; small < 2; small++) {
        struct net *t = net_new(small == 0 ? 1024 : 4096, small == 1 ? 1024 : 4096);
        ask(t);
        net_run(t, SIM_PS_PER_MS);
        assert_int_equal(t->sent[0][0], small == 1 ? 2 : 1); /* the REJ names the largest, and the second REQ asks for it */
        assert_int_equal(t->sent[1][CM_REJ - CM_REQ], small == 1);
        struct rnic_send_wr wr = { .op = RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED, .sge = { PAIR_MEM_VA, 8192, rnic_mr_key(t->node[0].mr) },
            .remote_va = PAIR_MEM_VA, .rkey = rnic_mr_key(t->node[1].mr) };
        for (int i = 0; i < 2; i++)
            assert_int_equal(rnic_qp_state(t->node[i].qp), RNIC_QP_RTS);
        assert_int_equal(rnic_post_send(t->node[0].qp, &wr), SIM_OK);
        net_run(t, 2 * SIM_PS_PER_MS);
        assert_int_equal(t->node[0].completions, 1);
        assert_int_equal(rnic_qp_counters(t->node[0].qp)->sent_packets, 8);
        net_free(t);
    }
}

/* --- a captured kernel's request, answered as the captured kernel did --- */

static void as_captured(void *ctx, struct wire_cm *m)
{
    const struct wire_cm *rep = ((const struct cnode *)ctx)->like;
    if (m->kind != CM_REP)
        return;
    m->local_id = rep->local_id; /* free choices */
    m->u.rep.qpn = rep->u.rep.qpn;
    m->u.rep.psn = rep->u.rep.psn;
    memcpy(m->private_data, rep->private_data, wire_cm_private_bytes(CM_REP));
}

static void next_cm(struct pcap_reader *in, struct pkt *p, struct wire_cm *m)
{
    struct pcap_frame f;
    uint8_t mad[WIRE_MAD_BYTES];
    while (pcap_next(in, &f) == PCAP_OK) {
        if (wire_decode(f.bytes, f.captured, p, NULL) == WIRE_OK && p->roce.dqpn == 1) {
            pkt_payload_read(p, 0, sizeof mad, mad);
            assert_true(wire_cm_decode(mad, sizeof mad, m));
            return;
        }
        pkt_release_payload(p);
    }
    fail_msg("no further datagram");
}

/* What the peer of `ep` sends next is `want` to the byte. */
static void expect_mad(struct endpoint *ep, const struct wire_cm *want)
{
    struct pkt out;
    uint8_t ours[WIRE_MAD_BYTES], theirs[WIRE_MAD_BYTES];
    memset(&out, 0, sizeof out);
    assert_true(ep->ops->tx(ep, 0, &out));
    assert_int_equal(out.payload_len, sizeof ours);
    pkt_payload_read(&out, 0, sizeof ours, ours);
    wire_cm_encode(want, theirs);
    assert_memory_equal(ours, theirs, sizeof ours);
    pkt_release_payload(&out);
}

static void kernels_request_is_answered_alike(void **state)
{
    (void)state;
    size_t len;
    uint8_t *file = golden_read("rxe/roce_basic.pcap", &len);
    struct pcap_reader in;
    struct pkt p[5];
    struct wire_cm m[5];
    assert_int_equal(pcap_open(&in, file, len), PCAP_OK);
    for (int i = 0; i < 5; i++) /* REQ, REP, RTU, DREQ, DREP */
        next_cm(&in, &p[i], &m[i]);
    struct net *t = net_new(1024, 1024);
    struct cnode *n = &t->node[1];
    struct roce_cm_config c = roce_cm_defaults();
    roce_cm_free(n->cm);
    n->params.ird = n->params.ord = 4;
    n->params.rnr_retry = 2;
    n->like = &m[1];
    c.local_addr = p[0].dst;
    c.ca_guid = m[1].u.rep.ca_guid;
    c.on_event = on_event;
    c.amend = as_captured;
    c.ctx = n;
    n->cm = roce_cm_new(n->dev, &c);
    assert_int_equal(roce_cm_listen(n->cm, m[0].u.req.service_id), SIM_OK);
    struct endpoint *ep = roce_cm_endpoint(n->cm);
    ep->ops->rx(ep, 0, &p[0]);
    expect_mad(ep, &m[1]);
    net_free(t);
    for (int i = 0; i < 5; i++)
        pkt_release_payload(&p[i]);
    free(file);
}

/* --- in a simulated network --- */

struct inside { struct two_hosts w; struct roce_cm *cm[2]; struct rnic_qp *qp[2]; unsigned up; };

static void on_event_inside(void *ctx, const struct roce_cm_event *e)
{
    struct inside *s = ctx;
    s->up += e->kind == ROCE_CM_ESTABLISHED;
    if (e->kind == ROCE_CM_REQUEST)
        assert_int_equal(roce_conn_accept(e->conn, sim_now(s->w.s), s->qp[1], NULL), SIM_OK);
}

static void over_a_fabric(void **state)
{
    (void)state;
    struct inside s = { .up = 0 };
    struct host_params hp;
    struct roce_params params;
    struct rnic_dev *dev[2];
    param_defaults(&host_params_table, &hp);
    param_defaults(&roce_params_table, &params);
    two_hosts_open(&s.w, &hp, &hp);
    for (int i = 0; i < 2; i++) {
        dev[i] = rnic_dev_new(s.w.h[i], 4);
        struct rnic_cq *cq = rnic_cq_new(dev[i], 100, 0, NULL, NULL);
        s.qp[i] = roce_qp_new(dev[i], rnic_pd_new(dev[i]), cq, cq, &params, NULL, NULL, INT64_C(100000000000), (uint32_t)i, 1);
        struct roce_cm_config c = roce_cm_defaults();
        c.local_addr = host_addr(s.w.h[i]);
        c.on_event = on_event_inside;
        c.ctx = &s;
        s.cm[i] = roce_cm_new(dev[i], &c);
        assert_null(roce_cm_new(dev[i], &c)); /* there is one QP 1 */
    }
    assert_int_equal(roce_cm_listen(s.cm[1], SERVICE), SIM_OK);
    assert_non_null(roce_cm_connect(s.cm[0], 0, s.qp[0], host_addr(s.w.h[1]), SERVICE, NULL));
    sim_run(s.w.s, SIM_PS_PER_MS);
    assert_int_equal(s.up, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rnic_qp_state(s.qp[i]), RNIC_QP_RTS);
        roce_cm_free(s.cm[i]);
        rnic_dev_free(dev[i]);
    }
    two_hosts_close(&s.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_datagrams_come_back_to_the_byte), cmocka_unit_test(every_field_at_its_maximum),
        cmocka_unit_test(request_reply_ready_to_use_and_the_end), cmocka_unit_test(every_message_survives_loss),
        cmocka_unit_test(requests_are_served_before_the_rtu), cmocka_unit_test(no_answer_is_unreachable), cmocka_unit_test(refusals), cmocka_unit_test(another_service_is_rejected),
        cmocka_unit_test(the_smaller_mtu_is_agreed), cmocka_unit_test(kernels_request_is_answered_alike), cmocka_unit_test(over_a_fabric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
