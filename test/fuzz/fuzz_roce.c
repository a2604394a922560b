/* SPDX-License-Identifier: GPL-2.0-only */
/* BTH and extended headers against a QP of every service and loss recovery. The input is a short program: what kind of QP, then packets as bytes (their
 * IP, UDP and ICRC are made right, their PSN may be moved near what the QP expects), posts, waiting. Whatever comes, all that the QP sends must
 * survive its bytes, and every request posted must complete once. Another kind of input is datagrams for a connection manager. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/roce/roce_cm.h"
#include "../../model/roce/roce_internal.h"
#include "../../model/wire/bytes.h"

#define VA UINT64_C(0x10000)
#define REGION 65536
#define STEPS_MAX 200

struct in { const uint8_t *at, *end; };
static uint8_t byte(struct in *in) { return in->at < in->end ? *in->at++ : 0; }

struct world {
    struct rnic_dev *dev;
    struct rnic_mr *mr;
    struct rnic_qp *qp;
    struct roce_cm *cm;
    int64_t now_ps;
    uint32_t posted, completed;
    uint8_t mem[REGION];
};

static void on_wc(void *ctx, const struct rnic_wc *wc)
{
    (void)wc;
    ((struct world *)ctx)->completed++;
}

/* A frame around n bytes that begin with a BTH. */
static size_t frame_of(const uint8_t *bth, size_t n, uint8_t tos, uint8_t *f)
{
    memset(f, 0, 42);
    f[12] = 0x08;
    uint8_t *ip = f + 14;
    ip[0] = 0x45;
    ip[1] = tos;
    wire_put16(ip + 2, (uint32_t)(28 + n + 4));
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = 17;
    wire_put32(ip + 12, pkt_addr_of_node(1));
    wire_put32(ip + 16, pkt_addr_of_node(0));
    uint32_t sum = 0;
    for (unsigned i = 0; i < 20; i += 2)
        sum += wire_get16(ip + i);
    sum = (sum & 0xffff) + (sum >> 16);
    wire_put16(ip + 10, (uint16_t)~((sum & 0xffff) + (sum >> 16)));
    wire_put16(ip + 20, 0xc000);
    wire_put16(ip + 22, WIRE_ROCE_PORT);
    wire_put16(ip + 24, (uint32_t)(8 + n + 4));
    memcpy(ip + 28, bth, n);
    wire_put32le(ip + 28 + n, wire_icrc(ip, 28 + n));
    return 14 + 28 + n + 4;
}

static void drain(struct world *w)
{
    struct endpoint *ep = w->cm != NULL ? roce_cm_endpoint(w->cm) : &w->qp->ep;
    for (int i = 0; i < 300 && ep->ops->ready_ps(ep) <= w->now_ps; i++) {
        struct pkt p, back;
        uint8_t f[5000];
        memset(&p, 0, sizeof p);
        if (!ep->ops->tx(ep, w->now_ps, &p))
            break;
        size_t n = wire_encode(&p, NULL, f, sizeof f);
        assert(n > 0 && wire_decode(f, n, &back, NULL) == WIRE_OK && pkt_equal(&p, &back));
        pkt_release_payload(&p);
        pkt_release_payload(&back);
    }
}

static void wait_for(struct world *w, int64_t ps)
{
    struct endpoint *ep = w->cm != NULL ? roce_cm_endpoint(w->cm) : &w->qp->ep;
    int64_t until = w->now_ps + ps;
    for (int i = 0; i < 50; i++) {
        int64_t next = ep->ops->next_wake_ps(ep);
        if (next > until)
            break;
        w->now_ps = next > w->now_ps ? next : w->now_ps;
        ep->ops->wake(ep, w->now_ps);
        drain(w);
    }
    w->now_ps = until;
}

/* A packet from the input: a byte of length in words, a byte of how, then its bytes. */
static void deliver(struct world *w, struct in *in)
{
    uint8_t bth[12 + 4 * 255 + 1024], f[4096];
    const struct roce_qp *q = w->qp != NULL ? (const struct roce_qp *)(const void *)w->qp : NULL;
    size_t n = 12 + 4 * (size_t)byte(in);
    uint8_t how = byte(in);
    for (size_t i = 0; i < n; i++)
        bth[i] = byte(in);
    if (how & 1) /* a full packet */
        n = n < 60 ? n + (1024 - n % 4) : n;
    if (n > 2000)
        n = 2000;
    bth[1] &= 0xf0;
    if (q != NULL && how & 2) { /* nearly right */
        bool request = wire_roce_op[bth[0]].flags & ROCE_OP_REQUEST;
        uint32_t near = request ? roce_psn(q->resp.psn0, q->resp.expected) : roce_psn(q->psn0, q->req.una);
        wire_put24(bth + 9, (near + (bth[11] & 7u) - (how & 4 ? 3 : 0)) & 0xffffff);
    }
    if (q != NULL && how & 8 && n >= 28) { /* a RETH for our region */
        wire_put64(bth + 12, VA + (bth[19] & 0x7f) * 64u);
        wire_put32(bth + 20, rnic_mr_key(w->mr));
        wire_put32(bth + 24, wire_get16(bth + 26));
    }
    struct pkt p;
    size_t len = frame_of(bth, n, (uint8_t)(how >> 6), f);
    enum wire_status s = wire_decode(f, len, &p, NULL);
    if (s == WIRE_OK) {
        uint8_t again[4096];
        struct pkt back;
        size_t m = wire_encode(&p, NULL, again, sizeof again);
        assert(m > 0 && wire_decode(again, m, &back, NULL) == WIRE_OK && pkt_equal(&p, &back));
        pkt_release_payload(&back);
        struct endpoint *ep = w->cm != NULL ? roce_cm_endpoint(w->cm) : &w->qp->ep;
        ep->ops->rx(ep, w->now_ps, &p);
    }
    pkt_release_payload(&p);
}

static void post(struct world *w, struct in *in)
{
    uint8_t b = byte(in);
    struct rnic_sge sge = { VA + 64u * byte(in), 16u * byte(in) * (b >> 7 ? 13u : 1u), rnic_mr_key(w->mr) };
    if (b & 8) {
        struct rnic_recv_wr r = { 1, sge };
        w->posted += rnic_post_recv(w->qp, &r) == SIM_OK;
        return;
    }
    static const enum rnic_opcode op[] = { RNIC_OP_SEND, RNIC_OP_WRITE, RNIC_OP_READ, RNIC_OP_FETCH_ADD, RNIC_OP_WRITE_IMM, RNIC_OP_SEND_IMM, RNIC_OP_CMP_SWAP, RNIC_OP_SEND };
    struct rnic_send_wr s = { .op = op[b & 7], .flags = RNIC_SEND_SIGNALED | (b & 16 ? RNIC_SEND_FENCE : 0), .sge = sge, .remote_va = VA, .rkey = 7 };
    if (s.op == RNIC_OP_FETCH_ADD || s.op == RNIC_OP_CMP_SWAP)
        s.sge.len = 8;
    w->posted += rnic_post_send(w->qp, &s) == SIM_OK;
}

static void on_event(void *ctx, const struct roce_cm_event *e)
{
    struct world *w = ctx;
    if (e->kind == ROCE_CM_REQUEST && roce_conn_accept(e->conn, w->now_ps, w->qp, NULL) != SIM_OK)
        (void)roce_conn_reject(e->conn, w->now_ps, CM_REJ_CONSUMER, NULL);
}

static void run(struct world *w, struct in *in)
{
    for (int i = 0; i < STEPS_MAX && in->at < in->end; i++) {
        uint8_t b = byte(in);
        switch (b & 3) {
        case 0: case 1: deliver(w, in); break;
        case 2:
            if (w->cm == NULL)
                post(w, in);
            break;
        default: wait_for(w, (int64_t)(b >> 2) * 4 * SIM_PS_PER_US); break;
        }
        if (b & 0x80 || w->cm != NULL)
            drain(w);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct in in = { data, data + size };
    struct roce_params par;
    struct world *w = calloc(1, sizeof *w);
    uint8_t kind = byte(&in), more = byte(&in);
    param_defaults(&roce_params_table, &par);
    par.service = kind % 3;
    par.retry = kind / 3 % 4;
    par.ooo_placement = par.retry != ROCE_GO_BACK_0 && (more & 1);
    par.reorder_ps = more & 2 ? 5 * SIM_PS_PER_US : 0;
    par.ird = 1 + (more >> 2 & 3);
    par.credits = more >> 4 & 1;
    par.local_ack_timeout = more & 32 ? 4 : 0;
    par.nak_rule = par.retry <= ROCE_GO_BACK_0 && !par.ooo_placement && (more & 64) ? ROCE_NAK_REWIND : ROCE_NAK_ONCE;
    w->dev = rnic_dev_new(NULL, 4);
    struct rnic_pd *pd = rnic_pd_new(w->dev);
    struct rnic_cq *cq = rnic_cq_new(w->dev, 4096, 0, on_wc, w);
    w->mr = rnic_mr_reg(pd, VA, REGION, 15, more & 128 ? w->mem : NULL);
    w->qp = roce_qp_new(w->dev, pd, cq, cq, &par, NULL, NULL, INT64_C(100000000000), 1, 1);
    if (kind >= 240) {
        struct roce_cm_config c = roce_cm_defaults();
        c.local_addr = pkt_addr_of_node(0);
        c.on_event = on_event;
        c.ctx = w;
        w->cm = roce_cm_new(w->dev, &c);
        (void)roce_cm_listen(w->cm, 0);
    } else {
        struct roce_peer peer = { .local_addr = pkt_addr_of_node(0), .remote_addr = pkt_addr_of_node(1), .remote_qpn = 17, .remote_psn = 0xfffffe, .base_rtt_ps = 8 * SIM_PS_PER_US };
        (void)roce_qp_connect(w->qp, &peer);
    }
    run(w, &in);
    (void)rnic_qp_set_error(w->qp);
    if (w->cm == NULL) {
        drain(w);
        assert(w->posted == w->completed);
    }
    roce_cm_free(w->cm);
    rnic_dev_free(w->dev);
    free(w);
    return 0;
}
