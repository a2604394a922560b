/* SPDX-License-Identifier: GPL-2.0-only */
/* RoCE QPs in hosts on a fabric: latency to the picosecond, loss, traces, DCQCN's fixed point. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/cc/dcqcn_params.h"
#include "../../model/fabric/fabric.h"
#include "../../model/fabric/link_params.h"
#include "../../model/fabric/switch_params.h"
#include "../../model/host/host.h"
#include "../../model/roce/roce.h"
#include "../../model/sim/trace.h"
#include "../../model/wire/codec.h"

extern const struct cc_ops cc_dcqcn;

#define HOSTS_MAX 12
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
    int64_t rate_bps;
    int64_t completed_ps;
    uint32_t completions;
    struct rnic_qp *flow[HOSTS_MAX];
    void (*on_wc)(struct star *s, const struct rnic_wc *wc);
};

static void wc_of(void *ctx, const struct rnic_wc *wc)
{
    struct star *s = ctx;
    assert_int_equal(wc->status, RNIC_WC_SUCCESS);
    s->completed_ps = sim_now(s->sim);
    s->completions++;
    if (s->on_wc)
        s->on_wc(s, wc);
}

static struct star *star_new(uint32_t n, const struct link_params *link, const struct switch_params *sp, const struct host_params *hp)
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
        s->host[i] = host_new(s->sim, fabric_port(s->fabric, i, 0), hp);
        s->dev[i] = rnic_dev_new(s->host[i], 64);
        s->pd[i] = rnic_pd_new(s->dev[i]);
        s->cq[i] = rnic_cq_new(s->dev[i], 4096, 0, wc_of, s);
        s->mr[i] = rnic_mr_reg(s->pd[i], VA, 1 << 24, 0xf, NULL);
    }
    return s;
}

static void star_free(struct star *s)
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
static struct rnic_qp *connect(struct star *s, uint32_t a, uint32_t b, const struct roce_params *rp, const struct cc_ops *cc, const void *ccp, struct rnic_qp **peer)
{
    struct rnic_qp *q[2];
    uint32_t at[2] = { a, b };
    for (int i = 0; i < 2; i++)
        q[i] = roce_qp_new(s->dev[at[i]], s->pd[at[i]], s->cq[at[i]], s->cq[at[i]], rp, cc, ccp, s->rate_bps, a * 100 + b * 2 + (uint32_t)i, 1);
    for (int i = 0; i < 2; i++) {
        struct roce_peer p = { .local_addr = host_addr(s->host[at[i]]), .remote_addr = host_addr(s->host[at[!i]]), .remote_qpn = rnic_qp_num(q[!i]),
            .remote_psn = roce_qp_first_psn(q[!i]), .path_mtu_bytes = (uint32_t)rp->mtu_bytes, .prio = 3, .dscp = 24, .base_rtt_ps = 4 * SIM_PS_PER_US };
        assert_int_equal(roce_qp_connect(q[i], &p), SIM_OK);
    }
    if (peer)
        *peer = q[1];
    return q[0];
}

static void post_write(struct star *s, struct rnic_qp *qp, uint32_t from, uint32_t to, uint32_t len, uint64_t id)
{
    struct rnic_send_wr wr = { .wr_id = id, .op = RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED, .sge = { VA, len, rnic_mr_key(s->mr[from]) },
        .remote_va = VA, .rkey = rnic_mr_key(s->mr[to]) };
    assert_int_equal(rnic_post_send(qp, &wr), SIM_OK);
}

/* Host, switch, host at 100 Gb/s and 1 us a link: WRITE ONLY of 1024 B (1102 B with FCS), ACK 66 B, 8 B of preamble each. */
static void unloaded_write_is_exact(void **state)
{
    (void)state;
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct host_params hp;
    param_defaults(&link_params_table, &link);
    param_defaults(&roce_params_table, &rp);
    param_defaults(&host_params_table, &hp);
    switch_params_init(&sp);
    for (int through_bytes = 0; through_bytes < 2; through_bytes++) {
        struct star *s = star_new(2, &link, &sp, &hp);
        fabric_through_bytes(s->fabric, through_bytes);
        struct rnic_qp *qp = connect(s, 0, 1, &rp, NULL, NULL, NULL);
        post_write(s, qp, 0, 1, 1024, 1);
        sim_run(s->sim, SIM_PS_PER_S);
        assert_int_equal(s->completions, 1);
        assert_int_equal(s->completed_ps, 4189440);
        star_free(s);
    }
}

/* --- many QPs over links that lose --- */

struct outcome { uint64_t digest, hops, retx, timeouts, naks, cnps; int64_t end_ps; };

static void read_or_write(struct star *s, uint32_t from, uint32_t to, struct rnic_qp *qp, uint64_t i)
{
    struct rnic_send_wr wr = { .wr_id = i, .op = i % 3 ? RNIC_OP_WRITE : RNIC_OP_READ, .flags = RNIC_SEND_SIGNALED,
        .sge = { VA, (uint32_t)(i * 7919 % 70000), rnic_mr_key(s->mr[from]) }, .remote_va = VA, .rkey = rnic_mr_key(s->mr[to]) };
    assert_int_equal(rnic_post_send(qp, &wr), SIM_OK);
}

static struct outcome all_to_all(double loss, bool through_bytes, bool separate_control)
{
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct host_params hp;
    param_defaults(&link_params_table, &link);
    param_defaults(&roce_params_table, &rp);
    param_defaults(&host_params_table, &hp);
    switch_params_init(&sp);
    link.loss = loss;
    sp.ecn = 1;
    rp.local_ack_timeout = 6;
    if (separate_control) {
        hp.separate_control = 1;
        rp.control_prio = 6;
        rp.control_dscp = 48;
    }
    struct star *s = star_new(5, &link, &sp, &hp);
    fabric_through_bytes(s->fabric, through_bytes);
    struct rnic_qp *qp[40];
    uint32_t n = 0, posted = 0;
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 5; b++)
            if (a != b) {
                qp[n] = connect(s, a, b, &rp, &cc_dcqcn, NULL, &qp[n + 1]);
                for (uint32_t i = 0; i < 30; i++, posted++)
                    read_or_write(s, a, b, qp[n], 100 * n + i);
                n += 2;
            }
    sim_run(s->sim, 2 * SIM_PS_PER_S);
    assert_int_equal(s->completions, posted);
    char why[200];
    assert_true(fabric_audit_check(s->fabric, why, sizeof why));
    struct outcome o = { .digest = sim_digest(s->sim), .hops = fabric_audit(s->fabric)->packet_hops, .end_ps = s->completed_ps };
    for (uint32_t i = 0; i < n; i++) {
        const struct rnic_counters *c = rnic_qp_counters(qp[i]);
        o.retx += c->retransmitted_packets;
        o.timeouts += c->local_ack_timeout_err;
        o.naks += c->naks_sent;
        o.cnps += c->np_cnp_sent;
    }
    const uint64_t *sent = fabric_audit(s->fabric)->sent;
    assert_int_equal(sent[6] > 0, separate_control);
    star_free(s);
    return o;
}

static void lossy_fabric_delivers_all(void **state)
{
    (void)state;
    struct outcome clean = all_to_all(0, false, false), a = all_to_all(1e-3, false, false), b = all_to_all(1e-3, false, false),
                   bytes = all_to_all(1e-3, true, false), apart = all_to_all(1e-3, false, true);
    print_message("clean %.1f us, %llu CNPs; lossy %.1f us: %llu retransmitted, %llu NAKs, %llu timeouts\n", (double)clean.end_ps / 1e6,
                  (unsigned long long)clean.cnps, (double)a.end_ps / 1e6, (unsigned long long)a.retx, (unsigned long long)a.naks, (unsigned long long)a.timeouts);
    assert_int_equal(clean.retx + clean.timeouts + clean.naks, 0);
    assert_true(a.retx > 0 && a.naks > 0);
    assert_memory_equal(&a, &b, sizeof a);     /* the same run twice */
    assert_memory_equal(&a, &bytes, sizeof a); /* and with each packet through its bytes at each hop */
    assert_true(apart.digest != a.digest);
}

/* --- traces --- */

struct seen { uint32_t rate, timeout, retransmit; uint64_t last_rate; };
static void watch_trace(void *ctx, const struct sim_trace *t)
{
    struct seen *w = ctx;
    w->rate += t->point == SIM_TRACE_RATE;
    w->timeout += t->point == SIM_TRACE_TIMEOUT;
    w->retransmit += t->point == SIM_TRACE_RETRANSMIT;
    if (t->point == SIM_TRACE_RATE)
        w->last_rate = t->a;
}
static bool lose_first_acks(void *ctx, const struct port *from, const struct pkt *p)
{
    (void)from;
    return p->roce.opcode == ROCE_ACK && (*(int *)ctx)-- > 0;
}

static void traces(void **state)
{
    (void)state;
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct host_params hp;
    param_defaults(&link_params_table, &link);
    param_defaults(&roce_params_table, &rp);
    param_defaults(&host_params_table, &hp);
    switch_params_init(&sp);
    sp.ecn = 1;
    sp.ecn_kmin_bytes = 2000;
    sp.ecn_kmax_bytes = 3000;
    rp.local_ack_timeout = 6;
    rp.ack_packets = 0;
    struct star *s = star_new(3, &link, &sp, &hp);
    struct seen seen = { 0 };
    int lose = 1;
    sim_trace_set(s->sim, watch_trace, &seen);
    fabric_loss_set(s->fabric, lose_first_acks, &lose);
    for (uint32_t h = 0; h < 2; h++) {
        s->flow[h] = connect(s, h, 2, &rp, &cc_dcqcn, NULL, NULL);
        post_write(s, s->flow[h], h, 2, 40000, h);
    }
    sim_run(s->sim, 400 * SIM_PS_PER_US);
    assert_int_equal(s->completions, 2);
    const struct rnic_counters *a = rnic_qp_counters(s->flow[0]), *b = rnic_qp_counters(s->flow[1]);
    assert_int_equal(seen.timeout, 1);
    assert_int_equal(seen.retransmit, a->retransmitted_packets + b->retransmitted_packets);
    assert_true(seen.retransmit > 0);
    assert_true(seen.rate >= 2);
    star_free(s);
}

/* DCQCN with the paper's parameters at 40 Gb/s: N greedy flows into one port, marked between 5 and 200 KB up to 1 %. The fixed point of
 * the fluid model (Zhu et al., "ECN or Delay", CoNEXT'16) for packets of 1122 B on the wire is 22.0, 46.3, 104.6, 136.9 KB at N = 2, 4, 8,
 * 10 (20.2, 41.8, 93.8, 122.6 for 1000 B). At 2 and 4 the packets' mean queue is above it, as single CNPs are noise that a
 * fluid has not. At 8 and 10 the packet system does not rest there: timers act once in 55 us, and it swings between empty and beyond
 * Kmax. So do the fluid equations when they are given 54 us of delay and started off the fixed point (mean 62.5, peak 225 KB at N = 10). */
struct watch { struct star *s; int64_t every_ps, until_ps; double sum; uint64_t n, over; };
static void sample(struct sim *sim, void *ctx, void *arg)
{
    struct watch *w = ctx;
    (void)arg;
    uint64_t bytes = fabric_queue_bytes(w->s->fabric, w->s->sw, w->s->n - 1, 3);
    w->sum += (double)bytes;
    w->n++;
    w->over += bytes > 200000;
    if (sim_now(sim) < w->until_ps)
        sim_at(sim, sim_now(sim) + w->every_ps, sim_key_node(w->s->sw, SIM_KIND_FOREIGN, 1), sample, w, NULL);
}

static void again(struct star *s, const struct rnic_wc *wc)
{
    post_write(s, s->flow[wc->wr_id], (uint32_t)wc->wr_id, s->n - 1, 1 << 20, wc->wr_id);
}

static void dcqcn_fixed_point(void **state)
{
    (void)state;
    static const struct { uint32_t n; double fluid_kb, low_kb, high_kb; } row[] = { { 2, 22.0, 20, 30 }, { 4, 46.3, 44, 65 }, { 8, 104.6, 55, 105 }, { 10, 136.9, 55, 137 } };
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct dcqcn_params dp;
    struct host_params hp;
    param_defaults(&host_params_table, &hp);
    param_defaults(&link_params_table, &link);
    param_defaults(&roce_params_table, &rp);
    param_defaults(&dcqcn_params_table, &dp);
    switch_params_init(&sp);
    link.rate_bps = INT64_C(40000000000);
    sp.ecn = 1;
    sp.ecn_kmin_bytes = 5000;
    sp.ecn_kmax_bytes = 200000;
    sp.ecn_pmax = .01;
    bool whole = getenv("RNICSIM_TEST_LONG") != NULL;
    for (size_t i = 0; i < (whole ? 4 : 1); i++) {
        struct star *s = star_new(row[i].n + 1, &link, &sp, &hp);
        s->on_wc = again;
        for (uint32_t f = 0; f < row[i].n; f++) {
            s->flow[f] = connect(s, f, row[i].n, &rp, &cc_dcqcn, &dp, NULL);
            post_write(s, s->flow[f], f, row[i].n, 1 << 20, f);
            post_write(s, s->flow[f], f, row[i].n, 1 << 20, f);
        }
        int64_t warm = 100 * SIM_PS_PER_MS, end = (whole ? 400 : 200) * SIM_PS_PER_MS;
        struct watch w = { .s = s, .every_ps = 1237 * SIM_PS_PER_NS, .until_ps = end };
        sim_at(s->sim, warm, 0, sample, &w, NULL);
        sim_run(s->sim, warm);
        uint64_t before = fabric_audit(s->fabric)->delivered_bytes[3];
        sim_run(s->sim, end);
        double low = 1e18, high = 0, total = 0;
        for (uint32_t f = 0; f < row[i].n; f++) {
            double r = (double)roce_qp_cc(s->flow[f])->rate_bps;
            low = r < low ? r : low;
            high = r > high ? r : high;
            total += r;
        }
        double mean_kb = w.sum / (double)w.n / 1e3, carried = (double)(fabric_audit(s->fabric)->delivered_bytes[3] - before) * 8e12 / (double)(end - warm);
        print_message("N %u: mean queue %.1f KB (fluid fixed point %.1f), above Kmax %.2f%%, rates %.1f to %.1f of %.1f Gb/s, carried %.1f\n", row[i].n, mean_kb,
                      row[i].fluid_kb, 100. * (double)w.over / (double)w.n, low / 1e9, high / 1e9, total / 1e9, carried / 1e9);
        assert_true(mean_kb > row[i].low_kb && mean_kb < row[i].high_kb);
        assert_true(high < 1.5 * low);
        assert_true(carried > .9 * 40e9);
        assert_int_equal(fabric_audit(s->fabric)->dropped[FABRIC_DROP_BUFFER][3], 0);
        star_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(unloaded_write_is_exact), cmocka_unit_test(lossy_fabric_delivers_all),
        cmocka_unit_test(traces), cmocka_unit_test(dcqcn_fixed_point) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
