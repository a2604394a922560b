/* SPDX-License-Identifier: GPL-2.0-only */
/* Congestion: CNPs by the receiver, the rate obeyed by the sender, round-trip samples for the algorithms that want them. */
#include "pair.h"
#include "../../model/cc/dcqcn_params.h"

extern const struct cc_ops cc_dcqcn;

static enum pair_fate mark_all(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    (void)pr;
    (void)from;
    return p->ecn ? PAIR_MARK : PAIR_PASS;
}

/* At most one CNP an interval per QP, the first at once; with the algorithm off nothing is ECN-capable. */
static void cnp_interval(void **state)
{
    (void)state;
    static const int64_t interval_us[] = { 50, 4, 200 };
    for (size_t k = 0; k < 3; k++)
        for (int read = 0; read < 2; read++) {
            struct pair_config c = pair_defaults();
            c.memory = false;
            c.mem_bytes = 16 << 20;
            c.cc = &cc_dcqcn;
            c.params.cnp_interval_ps = interval_us[k] * SIM_PS_PER_US;
            struct pair *pr = pair_new(&c);
            pr->fate = mark_all;
            pair_post(pr, 0, read ? RNIC_OP_READ : RNIC_OP_WRITE, 1, 0, 4 << 20);
            pair_run(pr, SIM_PS_PER_MS);
            int64_t last = -1;
            uint32_t cnps = 0;
            int np = read ? 0 : 1; /* the end that receives data */
            for (uint32_t i = 0; i < pr->nlog; i++) {
                if (pr->log[i].opcode != ROCE_CNP)
                    continue;
                assert_int_equal(pr->log[i].from, np);
                assert_int_equal(pr->log[i].frame_len, 78); /* IP 60, Ethernet 14, FCS 4 */
                if (last >= 0)
                    assert_true(pr->log[i].at_ps - last >= c.params.cnp_interval_ps);
                last = pr->log[i].at_ps;
                cnps++;
            }
            assert_true(cnps > 2);
            assert_int_equal(PAIR_COUNTER(pr, np, np_cnp_sent), cnps);
            assert_in_range(cnps - PAIR_COUNTER(pr, !np, rp_cnp_handled), 0, 1);
            assert_true(PAIR_COUNTER(pr, np, np_ecn_marked_roce_packets) > cnps);
            const struct pair_side *rp = &pr->side[!np], *who = &pr->side[0];
            assert_true(who->nwc == 0 || who->wc_ps[0] > 400 * SIM_PS_PER_US); /* 372 us at line rate */
            assert_true(roce_qp_cc(rp->qp)->alpha > 0);
            assert_int_equal(roce_qp_cc(pr->side[np].qp)->rate_bps, pr->rate_bps);
            pair_free(pr);
        }
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    pr->fate = mark_all;
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 1 << 19);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(PAIR_COUNTER(pr, 1, np_cnp_sent), 0);
    pair_free(pr);
    c.cc = &cc_dcqcn;
    c.params.cnp = 0; /* marks are counted and not answered */
    pr = pair_new(&c);
    pr->fate = mark_all;
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 1 << 19);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(PAIR_COUNTER(pr, 1, np_cnp_sent), 0);
    assert_true(PAIR_COUNTER(pr, 1, np_ecn_marked_roce_packets) > 0);
    pair_free(pr);
}

/* A paced QP sends at its rate to the last bit on the wire, preamble and gap counted. */
static const struct cc_ops *fixed_rate(struct cc_ops *ops);
static void set_fixed(struct cc *c, int64_t now_ps) { (void)now_ps; c->rate_bps = *(const int64_t *)c->params; }
static const struct cc_ops *fixed_rate(struct cc_ops *ops)
{
    *ops = (struct cc_ops){ .name = "fixed", .init = set_fixed };
    return ops;
}

static void rate_is_obeyed(void **state)
{
    (void)state;
    struct cc_ops ops;
    static const int64_t rate[] = { INT64_C(40000000), INT64_C(7000000000), INT64_C(33333333333), INT64_C(99000000000), INT64_C(100000000000) };
    for (size_t k = 0; k < sizeof rate / sizeof rate[0]; k++)
        for (int read = 0; read < 2; read++) {
            struct pair_config c = pair_defaults();
            c.memory = false;
            c.cc = fixed_rate(&ops);
            c.cc_params = &rate[k];
            struct pair *pr = pair_new(&c);
            pair_post(pr, 0, read ? RNIC_OP_READ : RNIC_OP_WRITE, 1, 0, 1 << 20);
            pair_run(pr, SIM_NEVER_PS);
            uint64_t bits = 0;
            int64_t first = -1, last = 0;
            for (uint32_t i = 0; i < pr->nlog; i++) {
                if (pr->log[i].len == 0)
                    continue;
                bits += first < 0 ? 0 : 8 * (pr->log[i].frame_len + 20u);
                first = first < 0 ? pr->log[i].at_ps : first;
                last = pr->log[i].at_ps;
            }
            double got = (double)bits / (double)(last - first) * 1e12, burst = 1 + 2. / 1024;
            assert_true(got <= (double)rate[k] * burst);
            assert_true(got >= (double)rate[k] * .997);
            assert_int_equal(PAIR_COUNTER(pr, 0, timeouts), 0);
            pair_free(pr);
        }
}

/* ACKs and CNPs are not paced: a QP that may send data once in 200 us answers at once. */
static void control_is_not_paced(void **state)
{
    (void)state;
    static const int64_t slow = 40000000;
    struct cc_ops ops;
    struct pair_config c = pair_defaults();
    c.cc = fixed_rate(&ops);
    c.cc_params = &slow;
    struct pair *pr = pair_new(&c);
    pair_post(pr, 1, RNIC_OP_WRITE, 1, 0, 100 * 1024);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 1024);
    pair_run(pr, SIM_NEVER_PS);
    assert_true(pr->side[0].wc_ps[0] < 3 * SIM_PS_PER_US);
    assert_true(pr->side[1].wc_ps[0] > 20 * SIM_PS_PER_MS);
    pair_free(pr);
}

/* A rate that changes while a packet waits changes the rest of its wait. */
static void change_of_rate_reaches_the_waiting_packet(void **state)
{
    (void)state;
    struct dcqcn_params dp;
    param_defaults(&dcqcn_params_table, &dp);
    struct pair_config c = pair_defaults();
    c.cc = &cc_dcqcn;
    c.cc_params = &dp;
    dp.initial_rate = .01; /* 1 Gb/s: a packet of 1102 + 20 bytes each 8.976 us */
    c.params.pace_burst_packets = 0;
    struct pair *pr = pair_new(&c);
    struct endpoint *ep = &pr->side[0].qp->ep;
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 100 * 1024);
    pair_run(pr, 10 * SIM_PS_PER_NS);
    int64_t gap = (int64_t)(pr->log[0].frame_len + 20u) * 8 * 1000;
    assert_int_equal(ep->ops->ready_ps(ep), gap);
    struct pkt cnp;
    memset(&cnp, 0, sizeof cnp);
    cnp.kind = PKT_ROCE;
    cnp.roce.opcode = ROCE_CNP;
    ep->ops->rx(ep, gap / 2, &cnp);
    assert_int_equal(roce_qp_cc(pr->side[0].qp)->rate_bps, 500000000);
    assert_int_equal(ep->ops->ready_ps(ep), gap / 2 + gap);
    pair_free(pr);
}

/* Round-trip samples on an idle path: all equal, never of a packet sent twice. */
struct samples { int64_t rtt[4096]; uint32_t n; uint32_t losses, recoveries, timeouts; };
static void take_sample(struct cc *c, const struct cc_ack *a)
{
    struct samples *s = (struct samples *)(uintptr_t)c->params;
    if (a->rtt_ps >= 0 && s->n < 4096)
        s->rtt[s->n++] = a->rtt_ps;
}
static void take_loss(struct cc *c, int64_t now_ps, uint64_t in_flight)
{
    (void)now_ps;
    (void)in_flight;
    ((struct samples *)(uintptr_t)c->params)->losses++;
}
static void take_recovered(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    ((struct samples *)(uintptr_t)c->params)->recoveries++;
}
static enum pair_fate drop_50th(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    return from == 0 && pr->side[0].sent % 500 == 50 && p->payload_len ? PAIR_DROP : PAIR_PASS;
}

static void round_trip_samples(void **state)
{
    (void)state;
    static const struct cc_ops ops = { .name = "watch", .ack = take_sample, .loss = take_loss, .recovered = take_recovered };
    for (int lossy = 0; lossy < 2; lossy++) {
        struct samples s = { 0 };
        struct pair_config c = pair_defaults();
        c.cc = &ops;
        c.cc_params = &s;
        struct pair *pr = pair_new(&c);
        if (lossy)
            pr->fate = drop_50th;
        for (uint32_t i = 0; i < 60; i++)
            pair_post(pr, 0, RNIC_OP_WRITE, i, 0, 16384);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 60);
        assert_true(s.n > 20);
        int64_t base = 2 * pr->delay_ps + pair_wire_ps(pr, pr->log[1].frame_len) + pair_wire_ps(pr, 66);
        for (uint32_t i = 0; i < s.n; i++)
            assert_int_equal(s.rtt[i], base);
        assert_int_equal(s.losses > 0, lossy);
        assert_int_equal(s.losses, s.recoveries);
        assert_int_equal(s.losses, PAIR_COUNTER(pr, 0, packet_seq_err)); /* each loss here is a window of its own */
        pair_free(pr);
    }
}

/* A window algorithm's cwnd, in full packets, at least one. */
static void set_window(struct cc *c, int64_t now_ps) { (void)now_ps; c->cwnd_bytes = *(const int64_t *)c->params; }

static void window_is_obeyed(void **state)
{
    (void)state;
    static const struct cc_ops ops = { .name = "window", .init = set_window };
    static const struct { int64_t cwnd; uint32_t most; } row[] = { { 100, 1 }, { 5 * 1024, 5 }, { 6 * 1024 - 1, 5 }, { 20000, 19 } };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        struct pair_config c = pair_defaults();
        c.cc = &ops;
        c.cc_params = &row[k].cwnd;
        struct pair *pr = pair_new(&c);
        for (uint32_t i = 0; i < 4; i++)
            pair_post(pr, 0, RNIC_OP_WRITE, i, 0, 50 * 1024);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 4);
        assert_int_equal(PAIR_COUNTER(pr, 0, timeouts), 0);
        uint32_t sent = 0, acked = 0, most = 0;
        for (uint32_t i = 0; i < pr->nlog; i++) {
            if (pr->log[i].from == 0)
                sent = pr->log[i].psn - 99;
            else
                acked = pr->log[i].psn - 99;
            most = sent - acked > most ? sent - acked : most;
        }
        assert_int_equal(most, row[k].most);
        pair_free(pr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cnp_interval), cmocka_unit_test(rate_is_obeyed), cmocka_unit_test(control_is_not_paced),
        cmocka_unit_test(change_of_rate_reaches_the_waiting_packet), cmocka_unit_test(round_trip_samples), cmocka_unit_test(window_is_obeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
