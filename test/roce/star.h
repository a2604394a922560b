/* SPDX-License-Identifier: GPL-2.0-only */
/** Hosts with RoCE QPs around one switch, on the real fabric. */
#ifndef RNICSIM_TEST_ROCE_STAR_H
#define RNICSIM_TEST_ROCE_STAR_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/fabric/fabric.h"
#include "../../model/fabric/link_params.h"
#include "../../model/fabric/switch_params.h"
#include "../../model/host/host.h"
#include "../../model/roce/roce.h"
#include "../../model/sim/trace.h"
#include "../../model/wire/codec.h"

#define HOSTS_MAX 20
#define VA UINT64_C(0x1000)

/* Hosts around one switch. */
struct star {
    struct sim *sim;
    struct fabric *fabric;
    struct host *host[HOSTS_MAX];
    struct rnic_dev *dev[HOSTS_MAX];
    struct rnic_pd *pd[HOSTS_MAX];
    struct rnic_cq *cq[HOSTS_MAX];
    struct rnic_mr *mr[HOSTS_MAX];
    uint32_t n, sw;
    int64_t rate_bps, base_rtt_ps;
    int64_t completed_ps;
    uint32_t completions;
    struct rnic_qp *flow[HOSTS_MAX];
    void (*on_wc)(struct star *s, const struct rnic_wc *wc);
};

static inline void wc_of(void *ctx, const struct rnic_wc *wc)
{
    struct star *s = ctx;
    assert_int_equal(wc->status, RNIC_WC_SUCCESS);
    s->completed_ps = sim_now(s->sim);
    s->completions++;
    if (s->on_wc)
        s->on_wc(s, wc);
}

static inline void star_defaults(struct link_params *link, struct switch_params *sp, struct roce_params *rp, struct host_params *hp)
{
    param_defaults(&link_params_table, link);
    param_defaults(&roce_params_table, rp);
    param_defaults(&host_params_table, hp);
    switch_params_init(sp);
}

/* Host i with hp[i]. */
static inline struct star *star_new_each(uint32_t n, const struct link_params *link, const struct switch_params *sp, const struct host_params *const *hp)
{
    struct star *s = calloc(1, sizeof *s);
    char err[200];
    s->n = n;
    s->rate_bps = link->rate_bps;
    s->sim = sim_new(1);
    s->fabric = fabric_new(s->sim, n + 1);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(fabric_add_host(s->fabric), i);
    s->sw = fabric_add_switch(s->fabric, sp);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(fabric_connect(s->fabric, i, s->sw, link, NULL, NULL), SIM_OK);
    assert_int_equal(fabric_finish(s->fabric, err, sizeof err), SIM_OK);
    for (uint32_t i = 0; i < n; i++) {
        s->host[i] = host_new(s->sim, fabric_port(s->fabric, i, 0), hp[i]);
        s->dev[i] = rnic_dev_new(s->host[i], 64);
        s->pd[i] = rnic_pd_new(s->dev[i]);
        s->cq[i] = rnic_cq_new(s->dev[i], 4096, 0, wc_of, s);
        s->mr[i] = rnic_mr_reg(s->pd[i], VA, 1 << 24, 0xf, NULL);
    }
    return s;
}

static inline struct star *star_new(uint32_t n, const struct link_params *link, const struct switch_params *sp, const struct host_params *hp)
{
    const struct host_params *each[HOSTS_MAX];
    for (uint32_t i = 0; i < n; i++)
        each[i] = hp;
    return star_new_each(n, link, sp, each);
}

static inline void star_free(struct star *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        rnic_dev_free(s->dev[i]);
    for (uint32_t i = 0; i < s->n; i++)
        host_free(s->host[i]);
    fabric_free(s->fabric);
    sim_free(s->sim);
    free(s);
}

/* A connection from a to b; *peer is b's QP. */
static inline struct rnic_qp *star_connect(struct star *s, uint32_t a, uint32_t b, const struct roce_params *rp, const struct cc_ops *cc, const void *ccp, struct rnic_qp **peer)
{
    struct rnic_qp *q[2];
    uint32_t at[2] = { a, b };
    for (int i = 0; i < 2; i++)
        q[i] = roce_qp_new(s->dev[at[i]], s->pd[at[i]], s->cq[at[i]], s->cq[at[i]], rp, cc, ccp, s->rate_bps, a * 100 + b * 2 + (uint32_t)i, 1);
    for (int i = 0; i < 2; i++) {
        struct roce_peer p = { .local_addr = host_addr(s->host[at[i]]), .remote_addr = host_addr(s->host[at[!i]]), .remote_qpn = rnic_qp_num(q[!i]),
            .remote_psn = roce_qp_first_psn(q[!i]), .path_mtu_bytes = (uint32_t)rp->mtu_bytes, .prio = 3, .dscp = 24, .base_rtt_ps = s->base_rtt_ps ? s->base_rtt_ps : 4 * SIM_PS_PER_US };
        assert_int_equal(roce_qp_connect(q[i], &p), SIM_OK);
    }
    if (peer)
        *peer = q[1];
    return q[0];
}

static inline void star_write(struct star *s, struct rnic_qp *qp, uint32_t from, uint32_t to, uint32_t len, uint64_t id)
{
    struct rnic_send_wr wr = { .wr_id = id, .op = RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED, .sge = { VA, len, rnic_mr_key(s->mr[from]) },
        .remote_va = VA, .rkey = rnic_mr_key(s->mr[to]) };
    assert_int_equal(rnic_post_send(qp, &wr), SIM_OK);
}

#endif
