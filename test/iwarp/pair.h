/* SPDX-License-Identifier: GPL-2.0-only */
/** Two iWARP QPs on a line (line.h), each with a region of real memory at VA. */
#ifndef RNICSIM_TEST_IWARP_PAIR_H
#define RNICSIM_TEST_IWARP_PAIR_H

#include "line.h"
#include "../../model/iwarp/iwarp_internal.h"

#define VA UINT64_C(0x100000)
#ifndef MEM
#define MEM (1u << 20)
#endif
#ifndef WC_MAX
#define WC_MAX 4096
#endif
#define ALL (RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE | RNIC_REMOTE_READ | RNIC_REMOTE_ATOMIC)

struct side {
    struct rnic_dev *dev;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_mr *mr;
    uint8_t *mem;
    struct rnic_wc wc[WC_MAX];
    uint32_t nwc;
    int status;                  /* of connecting; 1 until told */
};

static inline void side_on_wc(void *ctx, const struct rnic_wc *wc)
{
    struct side *s = ctx;
    assert_true(s->nwc < WC_MAX);
    s->wc[s->nwc++] = *wc;
}

static inline void side_on_up(void *ctx, struct rnic_qp *qp, int status)
{
    (void)qp;
    ((struct side *)ctx)->status = status;
}

static inline struct iwarp_params iwarp_defaults(void)
{
    struct iwarp_params p;
    param_defaults(&iwarp_params_table, &p);
    return p;
}

static inline struct tcp_params toe(void)
{
    struct tcp_params p;
    assert_int_equal(tcp_params_preset(&p, "toe"), SIM_OK);
    return p;
}

static inline void side_init(struct side *s, int i, const struct iwarp_params *par, const struct tcp_params *tcp, unsigned access)
{
    s->dev = rnic_dev_new(NULL, 4);
    s->pd = rnic_pd_new(s->dev);
    s->cq = rnic_cq_new(s->dev, 65536, 0, side_on_wc, s);
    s->mem = malloc(MEM);
    for (size_t k = 0; k < MEM; k++)
        s->mem[k] = pkt_pattern_byte((uint64_t)i + 1, k);
    s->mr = rnic_mr_reg(s->pd, VA, MEM, access, s->mem);
    s->status = 1;
    s->qp = iwarp_qp_new(s->dev, s->pd, s->cq, s->cq, par, tcp, cc_find("reno"), NULL, INT64_C(100000000000), (uint32_t)i, 1);
    assert_non_null(s->qp);
}

static inline void side_fini(struct side *s)
{
    rnic_dev_free(s->dev);
    free(s->mem);
}

static inline struct iwarp_peer peer_of(int i)
{
    return (struct iwarp_peer){ .addr = { pkt_addr_of_node((uint32_t)i), pkt_addr_of_node((uint32_t)!i), i ? 5001 : 10000, i ? 10000 : 5001 }, .ttl = 64 };
}

static inline struct iwarp_qp *inside(const struct side *s) { return (struct iwarp_qp *)s->qp; }

struct pair {
    struct side s[2];            /* 0 connects, 1 accepts */
    struct iwarp_params par[2];
    struct tcp_params tcp;
    struct line l;
};

/** Not connected yet. */
static inline struct pair *pair_new(const struct iwarp_params *a, const struct iwarp_params *b, unsigned access)
{
    struct pair *w = calloc(1, sizeof *w);
    w->par[0] = *a;
    w->par[1] = *b;
    w->tcp = toe();
    for (int i = 0; i < 2; i++)
        side_init(&w->s[i], i, &w->par[i], &w->tcp, access);
    line_init(&w->l, &w->s[0].qp->ep, &w->s[1].qp->ep, 3);
    return w;
}

static inline void pair_open(struct pair *w)
{
    for (int i = 1; i >= 0; i--) {
        struct iwarp_peer peer = peer_of(i);
        assert_int_equal(i ? iwarp_qp_accept(w->s[1].qp, &peer, side_on_up, &w->s[1]) : iwarp_qp_connect(w->s[0].qp, &peer, side_on_up, &w->s[0]), SIM_OK);
    }
    line_run_for(&w->l, 5 * SIM_PS_PER_MS);
}

static inline void pair_free(struct pair *w)
{
    line_audit(&w->l);
    line_fini(&w->l);
    side_fini(&w->s[0]);
    side_fini(&w->s[1]);
    free(w);
}

/** Connected, both told so. */
static inline struct pair *pair_up(const struct iwarp_params *a, const struct iwarp_params *b, bool bytes)
{
    struct pair *w = pair_new(a, b, ALL);
    w->l.bytes = bytes;
    pair_open(w);
    assert_int_equal(w->s[0].status, 0);
    assert_int_equal(w->s[1].status, 0);
    return w;
}

static inline struct pair *connected(bool bytes)
{
    struct iwarp_params p = iwarp_defaults();
    return pair_up(&p, &p, bytes);
}

static inline struct rnic_send_wr work(const struct pair *w, int from, enum rnic_opcode op, uint64_t id, uint64_t off, uint32_t len)
{
    return (struct rnic_send_wr){ .wr_id = id, .op = op, .flags = RNIC_SEND_SIGNALED, .sge = { VA + off, len, rnic_mr_key(w->s[from].mr) },
                                  .remote_va = VA + off, .rkey = rnic_mr_key(w->s[!from].mr) };
}

static inline void post_wr(struct pair *w, int from, const struct rnic_send_wr *wr)
{
    assert_int_equal(rnic_post_send(w->s[from].qp, wr), SIM_OK);
}

static inline void post(struct pair *w, int from, enum rnic_opcode op, uint64_t id, uint64_t off, uint32_t len)
{
    struct rnic_send_wr wr = work(w, from, op, id, off, len);
    post_wr(w, from, &wr);
}

static inline void post_recv(struct side *s, uint64_t id, uint64_t off, uint32_t len)
{
    struct rnic_recv_wr wr = { id, { VA + off, len, rnic_mr_key(s->mr) } };
    assert_int_equal(rnic_post_recv(s->qp, &wr), SIM_OK);
}

static inline void pair_run_us(struct pair *w, int64_t us) { line_run_for(&w->l, us * SIM_PS_PER_US); }

#endif
