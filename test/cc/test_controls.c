/* SPDX-License-Identifier: GPL-2.0-only */
/* TIMELY, HPCC, Swift and DCTCP for RoCE by hand-computed steps of their papers' algorithms; presets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "../../model/cc/cc_list.h"
#include "../../model/cc/dcqcn_params.h"
#include "../../model/cc/dctcp_roce_params.h"
#include "../../model/cc/hpcc_params.h"
#include "../../model/cc/swift_params.h"
#include "../../model/cc/timely_params.h"

#define G INT64_C(1000000000)
#define US SIM_PS_PER_US

static void start(struct cc *c, const struct cc_ops *ops, const void *params)
{
    memset(c, 0, sizeof *c);
    c->link_bps = 10 * G;
    c->mss_bytes = 1024;
    c->wire_mss_bytes = 1106;
    c->base_rtt_ps = 10 * US;
    c->initial_window_bytes = 12500;
    cc_start(c, ops, params, 0);
}

static void near(double got, double want) { assert_true(fabs(got - want) <= 1e-9 * fabs(want) + 1); }

/* --- TIMELY --- */

static void rtt(struct cc *c, int64_t rtt_ps, uint64_t bytes)
{
    struct cc_ack a = { .now_ps = 0, .acked_bytes = bytes, .rtt_ps = rtt_ps };
    c->ops->ack(c, &a);
}

static struct timely_params timely_half(void)
{
    struct timely_params p;
    param_defaults(&timely_params_table, &p);
    p.initial_rate = .5;
    return p;
}

/* SIGCOMM'15 algorithm 1, with alpha .875, beta .8, thresholds 50 and 500 us, minRTT 20 us, delta 10 Mb/s. */
static void timely_steps(void **state)
{
    (void)state;
    struct cc c;
    struct timely_params p = timely_half();
    start(&c, &cc_timely, &p);
    assert_int_equal(c.ack_every, 16);
    double rate = 5e9;
    rtt(&c, 40 * US, 16384); /* below T_low */
    near((double)c.rate_bps, rate += 10e6);
    rtt(&c, 60 * US, 8192);  /* half a segment: no decision */
    near((double)c.rate_bps, rate);
    rtt(&c, 60 * US, 8192);  /* diff 20: average 17.5 us, gradient .875 */
    near((double)c.rate_bps, rate *= 1 - .8 * .875);
    double avg = 17.5;
    rtt(&c, 60 * US, 16384); /* diff 0 */
    avg *= .125;
    near((double)c.rate_bps, rate *= 1 - .8 * avg / 20);
    rtt(&c, 55 * US, 16384);
    avg = .125 * avg - .875 * 5;
    near((double)c.rate_bps, rate += 10e6);
    for (int i = 2; i <= 7; i++) { /* the fifth in a row without a positive gradient is hyperactive */
        rtt(&c, 55 * US, 16384);
        near((double)c.rate_bps, rate += i >= 5 ? 50e6 : 10e6);
    }
    rtt(&c, 1000 * US, 16384);
    near((double)c.rate_bps, rate *= 1 - .8 * (1 - 500. / 1000));
    for (int i = 0; i < 100; i++)
        rtt(&c, 5000 * US, 16384);
    assert_int_equal(c.rate_bps, p.min_rate_bps);
}

/* CoNEXT'16 algorithm 2: weight (g + 1/4) * 2 between -1/4 and 1/4, decrease by the distance from T_low. */
static void timely_patched_steps(void **state)
{
    (void)state;
    struct cc c;
    struct timely_params p;
    assert_true(cc_preset_apply(&cc_timely, "patched", &p));
    assert_int_equal(p.variant, TIMELY_PATCHED);
    near(p.beta * 1e6, 8000);
    p.initial_rate = .5;
    start(&c, &cc_timely, &p);
    double rate = 5e9, avg = 0, w;
    rtt(&c, 100 * US, 16384); /* gradient 0: weight 1/2, error 1 */
    near((double)c.rate_bps, rate = 10e6 * .5 + rate * (1 - .008 * .5 * 1));
    rtt(&c, 104 * US, 16384);
    avg = .875 * 4;
    w = 2 * avg / 20 + .5;
    near((double)c.rate_bps, rate = 10e6 * (1 - w) + rate * (1 - .008 * w * 54 / 50));
    rtt(&c, 124 * US, 16384); /* steep: weight 1 */
    near((double)c.rate_bps, rate = rate * (1 - .008 * 74 / 50));
    rtt(&c, 60 * US, 16384);  /* steeply down: weight 0 */
    near((double)c.rate_bps, rate = rate + 10e6);
}

/* --- HPCC --- */

static void told(struct cc *c, const struct cc_hop *hop, unsigned n, uint64_t una, uint64_t nxt)
{
    struct cc_ack a = { .acked_bytes = 1024, .rtt_ps = -1, .snd_una = una, .snd_nxt = nxt, .hop = hop, .nhops = (uint8_t)n, .path_id = 5 };
    c->ops->ack(c, &a);
}

/* 10 Gb/s and T = 10 us: W is 12,500 B. */
static void hpcc_steps(void **state)
{
    (void)state;
    struct cc c;
    start(&c, &cc_hpcc, NULL);
    assert_true(cc_hpcc.telemetry);
    assert_int_equal(c.ack_every, 1);
    assert_int_equal(c.rate_bps, 10 * G);
    assert_int_equal(c.cwnd_bytes, 12 * 1024);     /* 12,500 B are 11.3 packets of 1106: 12, payload counted */
    struct cc_hop h[2] = { { 10 * G, 0, CC_HOP_TS_WRAP - 2000, 0 }, { 10 * G, 5000, 7, CC_HOP_BYTES_WRAP - 1000 } };
    told(&c, h, 2, 1024, 10240);                   /* the first sample only sets the mark */
    assert_int_equal(c.rate_bps, 10 * G);
    /* Half of T later: the first link carried 3125 B (50 %), the second 6250 B (100 %) with 5000 B and then 8000 B queued: the smaller
     * queue counts, u = 5000 / 12,500 + 1. Clock and count of bytes have wrapped. */
    h[0].ts_ns = 3000;
    h[0].tx_bytes = 3125;
    h[1].ts_ns = 5007;
    h[1].tx_bytes = 5250;
    h[1].queue_bytes = 8000;
    told(&c, h, 2, 2048, 20480);
    double u = .5 * 1 + .5 * 1.4, w = 12500 / (u / .95) + 80, ref = w;
    near((double)c.rate_bps, w * 8 / 10e-6);
    near(cc_alpha(&c, 0) * 1e9, u * 1e9);
    /* before the mark of 20480 is acknowledged the same reference is corrected, not compounded */
    h[1].ts_ns += 10000;
    h[1].tx_bytes += 12500;
    told(&c, h, 2, 3072, 20480);
    near((double)c.rate_bps, (ref / (1.4 < .95 ? 1 : (8000. / 12500 + 1) / .95) + 80) * 8 / 10e-6);
    /* an idle path: five additive steps, one a round trip, then U's quotient */
    h[0].queue_bytes = h[1].queue_bytes = 0;
    uint64_t una = 20480;
    for (int i = 1; i <= 5; i++) {
        h[0].ts_ns += 20000;
        h[1].ts_ns += 20000;
        h[1].tx_bytes += 12500;                    /* u = .5 over more than T */
        una += 1024;
        told(&c, h, 2, una, una);
        near((double)c.rate_bps, (ref += 80) * 8 / 10e-6);
    }
    h[0].ts_ns += 20000;
    h[1].ts_ns += 20000;
    h[1].tx_bytes += 12500;
    told(&c, h, 2, una + 1024, una + 1024);
    ref = ref / (.5 / .95) + 80;
    near((double)c.rate_bps, (ref < 12500 ? ref : 12500) * 8 / 10e-6);
    /* another path: nothing can be compared */
    int64_t before = c.rate_bps;
    struct cc_ack a = { .acked_bytes = 1024, .rtt_ps = -1, .snd_una = una + 9999, .snd_nxt = una + 9999, .hop = h, .nhops = 1, .path_id = 5 };
    c.ops->ack(&c, &a);
    assert_int_equal(c.rate_bps, before);
}

/* --- Swift --- */

static void swift_steps(void **state)
{
    (void)state;
    struct cc c;
    struct swift_params p;
    param_defaults(&swift_params_table, &p);
    p.fs_range_ps = 0;
    start(&c, &cc_swift, &p);
    assert_int_equal(c.cwnd_bytes, 12500);
    double w = 12500. / 1024;
    struct cc_ack a = { .now_ps = 100 * US, .acked_bytes = 1024, .rtt_ps = 20 * US, .cwnd_limited = true, .path_hops = 3 };
    c.ops->ack(&c, &a); /* 20 < 25 + 3 */
    near((double)c.cwnd_bytes, floor((w += 1 / w) * 1024));
    a.rtt_ps = 56 * US; /* twice the target: beta * (56 - 28) / 56 = .4 */
    c.ops->ack(&c, &a);
    near((double)c.cwnd_bytes, floor((w *= .6) * 1024));
    a.now_ps += 55 * US; /* within a round trip: not again */
    c.ops->ack(&c, &a);
    near((double)c.cwnd_bytes, floor(w * 1024));
    a.now_ps += 2801 * US; /* the round trip that counts is the newest */
    a.rtt_ps = 2800 * US; /* at most max-mdf at once */
    c.ops->ack(&c, &a);
    near((double)c.cwnd_bytes, floor((w *= .5) * 1024));
    for (int i = 0; i < 4; i++) {
        a.now_ps += 2801 * US;
        c.ops->ack(&c, &a);
        w *= .5;
    }
    assert_true(w < 1);
    assert_int_equal(c.cwnd_bytes, 1024);
    near((double)c.rate_bps, 1106 * 8 * w / 2800e-6); /* a packet each RTT / w */
}

/* Flow scaling: nothing at fs-max-cwnd and above, all of fs-range at fs-min-cwnd. */
static void swift_target_scales(void **state)
{
    (void)state;
    static const struct { double cwnd; int64_t target_us; } row[] = { { 100, 25 }, { 400, 25 }, { 1, 25 + 29 }, { .1, 125 }, { .01, 125 } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        for (int above = 0; above < 2; above++) {
            struct cc c;
            struct swift_params p;
            param_defaults(&swift_params_table, &p);
            start(&c, &cc_swift, &p);
            c.initial_window_bytes = (uint32_t)(row[i].cwnd * 1024 + .5);
            if (row[i].cwnd < 1)
                p.min_cwnd = row[i].cwnd; /* initial windows are whole bytes */
            cc_start(&c, &cc_swift, &p, 0);
            int64_t before = c.cwnd_bytes, rate = c.rate_bps;
            /* alpha = 100 / (1 / sqrt .1 - 1 / sqrt 100) = 32.66 us, beta = -3.27 us: 29.4 us at a window of 1 */
            struct cc_ack a = { .now_ps = US, .acked_bytes = 1024, .rtt_ps = (row[i].target_us + above) * US - (above ? 0 : US / 10), .cwnd_limited = true };
            c.ops->ack(&c, &a);
            if (row[i].cwnd >= 2)
                assert_true(above ? c.cwnd_bytes < before : c.cwnd_bytes > before);
            else
                assert_true(above ? c.rate_bps < CC_NO_RATE : c.rate_bps != rate || c.cwnd_bytes > before);
        }
}

/* --- DCTCP --- */

static void dctcp_steps(void **state)
{
    (void)state;
    struct cc c;
    struct dctcp_roce_params p;
    param_defaults(&dctcp_roce_params_table, &p);
    p.initial_alpha = .5;
    start(&c, &cc_dctcp_roce, &p);
    double w = 12500, alpha = .5;
    struct cc_ack a = { .acked_bytes = 1024, .ece_bytes = 0, .snd_una = 0, .snd_nxt = 12288, .cwnd_limited = true };
    c.ops->ack(&c, &a); /* begins the first round trip */
    w += 1024 * 1024. / w;
    alpha *= 15. / 16;
    near((double)c.cwnd_bytes, floor(w));
    near(c.alpha * 1e9, alpha * 1e9);
    a.ece_bytes = 1024;
    a.snd_una = 2048;
    c.ops->ack(&c, &a); /* one cut a round trip, by the alpha before it */
    w *= 1 - alpha / 2;
    c.ops->ack(&c, &a);
    near((double)c.cwnd_bytes, floor(w));
    a.ece_bytes = 0;
    a.snd_una = a.snd_nxt;
    c.ops->ack(&c, &a); /* it ends: 2 of 3 marked, nothing grew after the cut */
    near((double)c.cwnd_bytes, floor(w));
    alpha = alpha * 15 / 16 + 2. / 3 / 16;
    near(c.alpha * 1e9, alpha * 1e9);
    c.ops->timeout(&c, 0, 0);
    near((double)c.cwnd_bytes, floor(w / 2));
}

/* --- DCQCN's vendor parameters --- */

static void dcqcn_vendor_rows(void **state)
{
    (void)state;
    struct dcqcn_params p;
    struct cc c;
    param_defaults(&dcqcn_params_table, &p);
    p.min_decrease = .75; /* alpha 1: half would go */
    start(&c, &cc_dcqcn, &p);
    cc_dcqcn.cnp(&c, 0);
    near((double)c.rate_bps, 7.5e9);
    param_defaults(&dcqcn_params_table, &p);
    p.decrease_factor = 1;
    p.initial_alpha = .25;
    p.max_rate_bps = 8 * G;
    start(&c, &cc_dcqcn, &p);
    near((double)c.rate_bps, 8e9);
    cc_dcqcn.cnp(&c, 0);
    near((double)c.rate_bps, 6e9);
    for (int i = 0; i < 100 && c.next_wake_ps != SIM_NEVER_PS; i++)
        cc_dcqcn.wake(&c, c.next_wake_ps);
    assert_int_equal(c.rate_bps, 8 * G);
    assert_int_equal(c.next_wake_ps, SIM_NEVER_PS);
    /* clamp_tgt_rate off: after an increase by the timer the target moves only if clamp_tgt_rate_after_time_inc says so; after one by the
     * byte counter always */
    for (int by_timer = 0; by_timer < 2; by_timer++)
        for (int after = 0; after < 2; after++) {
            param_defaults(&dcqcn_params_table, &p);
            p.clamp_target = 0;
            p.clamp_after_timer = after;
            p.byte_counter_bytes = 1000;
            start(&c, &cc_dcqcn, &p);
            cc_dcqcn.cnp(&c, 0);             /* 5, target 10 */
            if (by_timer)
                cc_dcqcn.wake(&c, c.next_wake_ps);
            else
                cc_dcqcn.sent(&c, 1, 1000);  /* 7.5 */
            near((double)c.rate_bps, 7.5e9);
            cc_dcqcn.cnp(&c, 60 * US);       /* 3.75 or so: alpha has decayed once */
            double cut = (double)c.rate_bps;
            cc_dcqcn.wake(&c, c.next_wake_ps);
            near((double)c.rate_bps, (cut + (by_timer && !after ? 10e9 : 7.5e9)) / 2);
        }
}

/* Alpha is kept lazily; a trace sees it as a card that ticks would show it. */
static void dcqcn_alpha_as_of_now(void **state)
{
    (void)state;
    struct cc c;
    start(&c, &cc_dcqcn, NULL);
    near(cc_alpha(&c, 100 * US) * 1e9, 1e9); /* no CNP yet: as at the start */
    cc_dcqcn.cnp(&c, 100 * US);
    near(cc_alpha(&c, 154 * US) * 1e9, 1e9);
    near(cc_alpha(&c, 155 * US) * 1e9, 1e9 * 255 / 256);
    near(cc_alpha(&c, 100 * US + 550 * US) * 1e9, 1e9 * pow(255. / 256, 10));
    near(c.alpha * 1e9, 1e9);
}

static void presets(void **state)
{
    (void)state;
    static union { uint64_t align; uint8_t bytes[4096]; } buf;
    int n = 0;
    for (size_t i = 0; cc_registry[i]; i++) {
        const struct cc_ops *ops = cc_registry[i];
        for (const struct cc_preset *p = ops->presets; p && p->name; p++, n++) {
            assert_true(ops->params->struct_bytes <= sizeof buf);
            assert_true(cc_preset_apply(ops, p->name, &buf));
            assert_int_equal(param_check(ops->params, &buf, NULL), SIM_OK);
            assert_true(strlen(p->about) > 10);
        }
        if (ops->params) {
            assert_false(cc_preset_apply(ops, "no-such", &buf));
            assert_int_equal(param_check(ops->params, &buf, NULL), SIM_OK);
            for (size_t k = 0; k < ops->params->count; k++)
                assert_true(strlen(ops->params->rows[k].source) > 4);
        }
    }
    assert_true(n >= 9);
    struct dcqcn_params p;
    assert_true(cc_preset_apply(&cc_dcqcn, "connectx", &p)); /* what mlxconfig prints */
    near(p.g * 1024e6, 5e6);
    assert_int_equal(p.increase_timer_ps, 300 * US);
    assert_int_equal(p.byte_counter_bytes, 32767);
    assert_int_equal(p.fast_recovery, 1);
    assert_int_equal(p.rai_bps, 5000000);
    assert_int_equal(p.rhai_bps, 50000000);
    assert_int_equal(p.decrease_interval_ps, 4 * US);
    assert_int_equal(p.alpha_timer_ps, US);
    assert_int_equal(p.clamp_target, 0);
    assert_int_equal(p.clamp_after_timer, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timely_steps), cmocka_unit_test(timely_patched_steps), cmocka_unit_test(hpcc_steps), cmocka_unit_test(swift_steps),
        cmocka_unit_test(swift_target_scales), cmocka_unit_test(dctcp_steps), cmocka_unit_test(dcqcn_vendor_rows),
        cmocka_unit_test(dcqcn_alpha_as_of_now), cmocka_unit_test(presets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
