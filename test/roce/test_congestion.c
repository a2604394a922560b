/* SPDX-License-Identifier: GPL-2.0-only */
/* Congestion: CNPs by the receiver, the rate obeyed by the sender, round-trip samples for the algorithms that want them. */
#include "pair.h"
#include "../../model/cc/cc_list.h"
#include "../../model/cc/dcqcn_params.h"

static enum pair_fate mark_all(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    (void)pr;
    (void)from;
    return p->ecn ? PAIR_MARK : PAIR_PASS;
}

/* The first mark brings a CNP at once, then: one in each window of the QP's clock; one only after the interval; one at each interval's
 * end. With the algorithm off nothing is ECN-capable. */
static void check_spacing(const struct pair *pr, int64_t interval_ps, int64_t rule, int np, uint32_t *cnps)
{
    int64_t last = -1;
    for (uint32_t i = 0; i < pr->nlog; i++) {
        if (pr->log[i].opcode != ROCE_CNP)
            continue;
        assert_int_equal(pr->log[i].from, np);
        assert_int_equal(pr->log[i].frame_len, 78); /* IP 60, Ethernet 14, FCS 4 */
        int64_t gap = pr->log[i].at_ps - last;
        if (last >= 0 && rule == ROCE_CNP_WINDOW && *cnps >= 2) /* every packet is marked: the first of each window, give or take a packet's time */
            assert_in_range(gap, interval_ps - 3 * SIM_PS_PER_US, interval_ps + 3 * SIM_PS_PER_US);
        if (last >= 0 && rule == ROCE_CNP_SPACING)
            assert_true(gap >= interval_ps);
        if (last >= 0 && rule == ROCE_CNP_OWED)
            assert_in_range(gap, interval_ps, interval_ps + 200 * SIM_PS_PER_NS); /* at its end: the wire may be busy */
        last = pr->log[i].at_ps;
        ++*cnps;
    }
}

static void cnp_interval(void **state)
{
    (void)state;
    static const int64_t interval_us[] = { 50, 4, 200 };
    for (size_t k = 0; k < 9; k++)
        for (int read = 0; read < 2; read++) {
            struct pair_config c = pair_defaults();
            struct dcqcn_params dp;
            param_defaults(&dcqcn_params_table, &dp);
            dp.min_rate_bps = 4 * INT64_C(1000000000);
            c.memory = false;
            c.mem_bytes = 16 << 20;
            c.cc = &cc_dcqcn;
            c.cc_params = &dp;
            c.params.cnp_interval_ps = interval_us[k % 3] * SIM_PS_PER_US;
            c.params.cnp_rule = (int64_t)(k / 3);
            struct pair *pr = pair_new(&c);
            pr->fate = mark_all;
            pair_post(pr, 0, read ? RNIC_OP_READ : RNIC_OP_WRITE, 1, 0, 4 << 20);
            pair_run(pr, SIM_PS_PER_MS);
            uint32_t cnps = 0;
            int np = read ? 0 : 1; /* the end that receives data */
            check_spacing(pr, c.params.cnp_interval_ps, c.params.cnp_rule, np, &cnps);
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
    cnp.roce.pkey = 0xffff;
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
        assert_int_equal(pair_most_in_flight(pr), row[k].most);
        pair_free(pr);
    }
}

/* --- rate limiters --- */

/* A limit holds whatever control says, and with it the burst: over any stretch of the log no more than rate times time, burst packets
 * and one. */
static void rate_limit_and_burst(void **state)
{
    (void)state;
    struct cc_ops ops;
    static const int64_t line = INT64_C(100000000000);
    static const struct { int64_t limit, burst; } row[] = { { 10, 0 }, { 10, 1 }, { 10, 8 }, { 50, 4 }, { 0, 1 } };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        struct pair_config c = pair_defaults();
        c.memory = false;
        c.cc = fixed_rate(&ops);
        c.cc_params = &line;
        c.params.rate_limit_bps = row[k].limit * INT64_C(1000000000);
        c.params.pace_burst_packets = row[k].burst;
        struct pair *pr = pair_new(&c);
        for (uint32_t i = 0; i < 6; i++) { /* idle between, so that credit could gather */
            pair_post(pr, 0, RNIC_OP_WRITE, i, 0, 60 * 1024);
            pair_run(pr, (int64_t)(i + 1) * 200 * SIM_PS_PER_US);
        }
        assert_int_equal(pr->side[0].nwc, 6);
        double rate = row[k].limit ? (double)row[k].limit * 1e9 : 100e9, most = 0;
        for (uint32_t i = 0; i < pr->nlog; i++) {
            double bits = 0;
            for (uint32_t j = i; j < pr->nlog && pr->log[i].len; j++) {
                if (pr->log[j].len == 0)
                    continue;
                bits += 8 * (pr->log[j].frame_len + 20.);
                double over = (bits - rate * (double)(pr->log[j].at_ps - pr->log[i].at_ps) * 1e-12) / (8 * (1102 + 20.));
                most = over > most ? over : most;
            }
        }
        assert_true(most <= (double)row[k].burst + 1 + 1e-3);
        if (row[k].limit)
            assert_true(most > (double)row[k].burst + .9); /* and the burst is there */
        pair_free(pr);
    }
}

/* truth: 100 messages of 1000 B, an ACK each 20,000 B: 5 ACKs. */
static void acks_by_bytes(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.memory = false;
    c.params.sq_depth = 100;
    c.params.ack_packets = c.params.ack_request_packets = 0;
    c.params.ack_bytes = 20000;
    c.params.ack_request = ROCE_ACK_REQ_DRAIN;
    struct pair *pr = pair_new(&c);
    for (uint32_t i = 0; i < 100; i++)
        pair_post(pr, 0, RNIC_OP_WRITE, i, 0, 1000);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 100);
    assert_int_equal(pair_count(pr, 1, ROCE_ACK), 5);
    pair_free(pr);
}

/* --- what acknowledgements tell --- */

struct told { uint64_t acked, marked, acks, with_hops; uint8_t path_hops; };
static void want_every(struct cc *c, int64_t now_ps) { (void)now_ps; c->ack_every = 1; }
static void listen_ack(struct cc *c, const struct cc_ack *a)
{
    struct told *t = (struct told *)(uintptr_t)c->params;
    t->acked += a->acked_bytes;
    t->marked += a->ece_bytes;
    t->acks++;
    t->with_hops += a->nhops > 0;
    t->path_hops = a->path_hops;
}
static enum pair_fate mark_third(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    (void)pr;
    (void)from;
    return p->ecn && p->payload_len && p->roce.psn % 3 == 0 ? PAIR_MARK : PAIR_PASS;
}

/* A control that wants marks in acknowledgements has each mark told once, and no CNP is sent. */
static void marks_come_back_in_acks(void **state)
{
    (void)state;
    static const struct cc_ops ops = { .name = "listen", .ecn = true, .ecn_exact = true, .init = want_every, .ack = listen_ack };
    struct told told = { 0 };
    struct pair_config c = pair_defaults();
    c.cc = &ops;
    c.cc_params = &told;
    struct pair *pr = pair_new(&c);
    pr->fate = mark_third;
    pair_post(pr, 0, RNIC_OP_WRITE, 0, 0, 300 * 1024);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(told.acks, 300);
    assert_int_equal(told.acked, 300 * 1024);
    assert_int_equal(told.marked, 100 * 1024);
    assert_int_equal(told.path_hops, 0); /* back to back */
    assert_int_equal(PAIR_COUNTER(pr, 1, np_cnp_sent), 0);
    pair_free(pr);
}

/* --- caps of what is in flight --- */

/* The cap by bandwidth-delay products: whole packets of what they are on the wire. */
static void window_by_bdp(void **state)
{
    (void)state;
    static const struct { double bdp; uint32_t most; } row[] = { { .01, 1 }, { .5, 12 }, { 1, 23 }, { 1.1, 25 } }; /* 25,000 B by 1106 */
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        struct pair_config c = pair_defaults();
        c.params.window_bdp = row[k].bdp;
        struct pair *pr = pair_new(&c);
        pair_post(pr, 0, RNIC_OP_WRITE, 0, 0, 400 * 1024);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pair_most_in_flight(pr), row[k].most);
        pair_free(pr);
    }
}

/* Each cap holds under each control, the least of several rules, and one that nothing reaches changes no packet's time. */
static void window_with_each_control(void **state)
{
    (void)state;
    static const struct cc_ops *const control[] = { &cc_none, &cc_dcqcn, &cc_timely, &cc_hpcc, &cc_swift, &cc_dctcp_roce };
    static const struct { int64_t packets, bytes; double bdp; uint32_t most; } row[] = {
        { 5, 0, 0, 5 }, { 0, 7 * 1024 + 1023, 0, 7 }, { 0, 0, .25, 6 }, { 9, 7 * 1024, .25, 6 }, { 4, 6 * 1024, .25, 4 }, { 9, 3 * 1024, 1, 3 },
    };
    for (size_t i = 0; i < sizeof control / sizeof control[0]; i++) {
        struct pair *free_run = NULL;
        for (size_t k = 0; k <= sizeof row / sizeof row[0] + 1; k++) {
            struct pair_config c = pair_defaults();
            bool uncapped = k == 0, loose = k == 1;
            c.memory = false;
            c.cc = control[i];
            c.params.window_packets = uncapped ? 0 : loose ? 100000 : row[k - 2].packets;
            c.params.window_bytes = uncapped ? 0 : loose ? 100000000 : row[k - 2].bytes;
            c.params.window_bdp = uncapped ? 0 : loose ? 900 : row[k - 2].bdp;
            struct pair *pr = pair_new(&c);
            pair_post(pr, 0, RNIC_OP_WRITE, 0, 0, 400 * 1024);
            pair_run(pr, SIM_NEVER_PS);
            assert_int_equal(pr->side[0].nwc, 1);
            if (uncapped) {
                assert_true(pair_most_in_flight(pr) > 9);
                free_run = pr;
                continue;
            }
            if (loose) {
                assert_int_equal(pr->nlog, free_run->nlog);
                for (uint32_t n = 0; n < pr->nlog; n++)
                    assert_true(pr->log[n].at_ps == free_run->log[n].at_ps && pr->log[n].psn == free_run->log[n].psn);
            } else {
                assert_int_equal(pair_most_in_flight(pr), row[k - 2].most);
            }
            pair_free(pr);
        }
        pair_free(free_run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cnp_interval), cmocka_unit_test(rate_is_obeyed), cmocka_unit_test(control_is_not_paced),
        cmocka_unit_test(change_of_rate_reaches_the_waiting_packet), cmocka_unit_test(round_trip_samples), cmocka_unit_test(window_is_obeyed),
        cmocka_unit_test(rate_limit_and_burst), cmocka_unit_test(acks_by_bytes), cmocka_unit_test(marks_come_back_in_acks), cmocka_unit_test(window_by_bdp), cmocka_unit_test(window_with_each_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
