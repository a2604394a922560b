/* SPDX-License-Identifier: GPL-2.0-only */
/* DCQCN's reaction point by tables: cuts, alpha's decay, the stages of recovery, limits (DCQCN paper, SIGCOMM'15, section 3). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "../../model/cc/cc.h"
#include "../../model/cc/dcqcn_params.h"

extern const struct cc_ops cc_dcqcn;

#define G INT64_C(1000000000)
#define US SIM_PS_PER_US

static struct dcqcn_params params(void)
{
    struct dcqcn_params p;
    param_defaults(&dcqcn_params_table, &p);
    return p;
}

static void start(struct cc *c, const struct dcqcn_params *p, int64_t link_bps)
{
    memset(c, 0, sizeof *c);
    c->link_bps = link_bps;
    c->mss_bytes = 1024;
    cc_start(c, &cc_dcqcn, p, 0);
}

static void near(double got, double want) { assert_true(fabs(got - want) <= 1e-9 * fabs(want) + 1); }

static void starts_at_line_rate_without_events(void **state)
{
    (void)state;
    struct cc c;
    start(&c, NULL, 100 * G); /* NULL: the defaults */
    assert_int_equal(c.rate_bps, 100 * G);
    assert_int_equal(c.cwnd_bytes, CC_NO_WINDOW);
    assert_int_equal(c.next_wake_ps, SIM_NEVER_PS);
    assert_true(cc_dcqcn.ecn);
    cc_dcqcn.sent(&c, 0, 1u << 31); /* the byte counter sleeps until a cut */
    assert_int_equal(c.rate_bps, 100 * G);
}

/* The rate is cut before alpha is raised: alpha .5, g 1/16, 40G gives 30.0, not 39.4 or 29.4 Gb/s. */
static void cut_comes_before_alpha(void **state)
{
    (void)state;
    static const struct { double alpha, g; int64_t link, rate; double after; } row[] = {
        { .5, 1. / 16, 40 * G, 30 * G, .5 * 15 / 16 + 1. / 16 },
        { 1, 1. / 256, 100 * G, 50 * G, 1 },
        { 0, 1. / 256, 100 * G, 100 * G, 1. / 256 },
        { .25, .5, 40 * G, 35 * G, .625 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct cc c;
        struct dcqcn_params p = params();
        p.initial_alpha = row[i].alpha;
        p.g = row[i].g;
        start(&c, &p, row[i].link);
        cc_dcqcn.cnp(&c, 10 * US);
        assert_int_equal(c.rate_bps, row[i].rate);
        assert_true(fabs(c.alpha - row[i].after) < 1e-12);
    }
}

/* Alpha settled at the next CNP equals alpha decayed at each tick. */
static void lazy_alpha_equals_ticks(void **state)
{
    (void)state;
    for (int rule = 0; rule < 2; rule++)
        for (int gap = 1; gap < 3000; gap = gap * 3 / 2 + 7) {
            struct cc c;
            struct dcqcn_params p = params();
            p.alpha_rule = rule;
            p.increase_timer_ps = SIM_PS_PER_S;
            start(&c, &p, 100 * G);
            double alpha = 1;
            int64_t tick = 0;
            bool seen = false;
            for (int64_t t = 5 * US; t < 20000 * US; t += gap * US) {
                if (t == 5 * US)
                    tick = t;
                for (; t - tick >= p.alpha_timer_ps; tick += p.alpha_timer_ps) {
                    alpha = (1 - p.g) * alpha + (rule && seen ? p.g : 0);
                    seen = false;
                }
                if (rule)
                    seen = true;
                else
                    alpha = (1 - p.g) * alpha + p.g, tick = t;
                cc_dcqcn.cnp(&c, t);
                assert_true(fabs(c.alpha - alpha) < 1e-9);
            }
        }
}

/* Timer alone: F steps of fast recovery halve the way to the target, then it grows by R_AI; hyper increase needs both counters. */
static void stages_of_recovery(void **state)
{
    (void)state;
    struct cc c;
    struct dcqcn_params p = params();
    start(&c, &p, 40 * G);
    cc_dcqcn.cnp(&c, 0);
    double target = 40e9, rate = 20e9;
    target = 40e9;
    cc_dcqcn.cnp(&c, 0); /* a second cut, so that the target is below the line: 20 and 10 Gb/s */
    target = 20e9;
    rate = 10e9;
    assert_int_equal(c.rate_bps, 10 * G);
    for (int step = 0; step < 12; step++) {
        assert_int_equal(c.next_wake_ps, (step + 1) * p.increase_timer_ps);
        cc_dcqcn.wake(&c, c.next_wake_ps);
        target += step < 5 ? 0 : 40e6;
        rate = (rate + target) / 2;
        near((double)c.rate_bps, rate);
    }
    /* the byte counter's steps: 0..4 fast (timer is beyond F already: additive), from 6 on both are beyond F: hyper */
    for (int step = 0; step < 9; step++) {
        for (int i = 0; i < 10000; i++)
            cc_dcqcn.sent(&c, 700 * US, 1000);
        target += step > 5 ? 200e6 : 40e6;
        rate = (rate + target) / 2;
        near((double)c.rate_bps, rate);
    }
}

/* With the byte counter off the timer's own steps choose: below F, at F, above F, as HPCC's ns-3 has it. */
static void hpcc_rule_without_byte_counter(void **state)
{
    (void)state;
    struct cc c;
    struct dcqcn_params p = params();
    p.byte_counter_bytes = 0;
    p.fast_recovery = 1;
    start(&c, &p, 40 * G);
    cc_dcqcn.cnp(&c, 0);
    cc_dcqcn.cnp(&c, 0);
    double target = 20e9, rate = 10e9;
    static const double grow[] = { 0, 40e6, 200e6, 200e6 };
    for (int step = 0; step < 4; step++) {
        cc_dcqcn.wake(&c, c.next_wake_ps);
        target += grow[step];
        rate = (rate + target) / 2;
        near((double)c.rate_bps, rate);
    }
}

static void returns_to_line_rate_and_sleeps(void **state)
{
    (void)state;
    struct cc c;
    struct dcqcn_params p = params();
    start(&c, &p, 40 * G);
    cc_dcqcn.cnp(&c, 0);
    int wakes = 0;
    while (c.next_wake_ps != SIM_NEVER_PS && wakes < 10000) {
        cc_dcqcn.wake(&c, c.next_wake_ps);
        assert_true(c.rate_bps <= c.link_bps);
        wakes++;
    }
    assert_int_equal(c.rate_bps, 40 * G);
    assert_true(wakes < 60); /* half the way each time: 35 steps to the last bit/s */
}

static void limits(void **state)
{
    (void)state;
    struct cc c;
    struct dcqcn_params p = params();
    start(&c, &p, 40 * G);
    for (int i = 0; i < 100; i++)
        cc_dcqcn.cnp(&c, i * US);
    assert_int_equal(c.rate_bps, p.min_rate_bps);
    start(&c, &p, 10000000); /* a line slower than min-rate */
    cc_dcqcn.cnp(&c, 0);
    assert_int_equal(c.rate_bps, 10000000);
}

/* Cuts in a row: the target follows the rate (paper) or stays where the first cut found it (vendor's option). */
static void clamp_target(void **state)
{
    (void)state;
    for (int clamp = 0; clamp < 2; clamp++) {
        struct cc c;
        struct dcqcn_params p = params();
        p.clamp_target = clamp;
        start(&c, &p, 40 * G);
        cc_dcqcn.cnp(&c, 0);
        cc_dcqcn.cnp(&c, US);
        cc_dcqcn.wake(&c, c.next_wake_ps);
        near((double)c.rate_bps, (10e9 + (clamp ? 20e9 : 40e9)) / 2);
    }
}

static void decrease_interval_holds_cuts_back(void **state)
{
    (void)state;
    struct cc c;
    struct dcqcn_params p = params();
    p.decrease_interval_ps = 4 * US;
    p.alpha_rule = 1;
    start(&c, &p, 40 * G);
    cc_dcqcn.cnp(&c, 10 * US);
    assert_int_equal(c.rate_bps, 20 * G);
    cc_dcqcn.cnp(&c, 11 * US);
    cc_dcqcn.cnp(&c, 13 * US);
    assert_int_equal(c.rate_bps, 20 * G);
    assert_int_equal(c.next_wake_ps, 14 * US);
    cc_dcqcn.wake(&c, 14 * US);
    assert_int_equal(c.rate_bps, 10 * G); /* one cut for both */
    assert_int_equal(c.next_wake_ps, 14 * US + p.increase_timer_ps);
}

static void first_cnp_rate(void **state)
{
    (void)state;
    struct cc c;
    struct dcqcn_params p = params();
    p.first_cnp_rate = .5;
    start(&c, &p, 40 * G);
    cc_dcqcn.cnp(&c, 0);
    assert_int_equal(c.rate_bps, 10 * G);
    cc_dcqcn.cnp(&c, 0);
    assert_int_equal(c.rate_bps, 5 * G);
}

static void every_parameter_has_a_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < dcqcn_params_table.count; i++)
        assert_true(strlen(dcqcn_params_table.rows[i].source) > 4);
    struct dcqcn_params p = params();
    assert_int_equal(param_check(&dcqcn_params_table, &p, NULL), SIM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_at_line_rate_without_events), cmocka_unit_test(cut_comes_before_alpha), cmocka_unit_test(lazy_alpha_equals_ticks),
        cmocka_unit_test(stages_of_recovery), cmocka_unit_test(hpcc_rule_without_byte_counter), cmocka_unit_test(returns_to_line_rate_and_sleeps),
        cmocka_unit_test(limits), cmocka_unit_test(clamp_target), cmocka_unit_test(decrease_interval_holds_cuts_back),
        cmocka_unit_test(first_cnp_rate), cmocka_unit_test(every_parameter_has_a_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
