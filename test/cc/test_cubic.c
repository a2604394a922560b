/* SPDX-License-Identifier: GPL-2.0-only */
/* CUBIC against RFC 9438's formulas, a segment an acknowledgement. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "../../model/cc/cc.h"
#include "../../model/cc/cubic_params.h"

#define MSS 1000
#define MS SIM_PS_PER_MS

struct flow { struct cc c; int64_t now, rtt_ps; };

static void start(struct flow *f, const struct cubic_params *p, int64_t rtt_ps)
{
    memset(f, 0, sizeof *f);
    f->c.mss_bytes = MSS;
    f->c.initial_window_bytes = 10 * MSS;
    f->rtt_ps = rtt_ps;
    cc_start(&f->c, cc_find("cubic"), p, 0);
}

static void ack(struct flow *f, uint64_t bytes, bool limited)
{
    struct cc_ack a = { .now_ps = f->now, .acked_bytes = bytes, .rtt_ps = f->rtt_ps, .cwnd_limited = limited };
    f->c.ops->ack(&f->c, &a);
}

/* One window's acknowledgements, evenly over a round trip. */
static void round_trip(struct flow *f)
{
    int64_t n = f->c.cwnd_bytes / MSS;
    for (int64_t i = 0; i < n; i++) {
        f->now += f->rtt_ps / n;
        ack(f, MSS, true);
    }
}

/* To congestion avoidance from a loss at this window; returns the window before. */
static double lose_at(struct flow *f, int64_t segments)
{
    f->c.cwnd_bytes = segments * MSS;
    f->c.ops->loss(&f->c, f->now, (uint64_t)f->c.cwnd_bytes);
    f->c.ops->recovered(&f->c, f->now);
    return (double)segments;
}

static double window(const struct flow *f) { return (double)f->c.cwnd_bytes / MSS; }

static void rfc9438_4_6_decrease(void **state)
{
    struct flow f;
    (void)state;
    start(&f, NULL, 100 * MS);
    lose_at(&f, 100);
    assert_int_equal(f.c.cwnd_bytes, 70 * MSS);
    assert_int_equal(f.c.ssthresh_bytes, 70 * MSS);
    lose_at(&f, 2);
    assert_int_equal(f.c.ssthresh_bytes, 2 * MSS);         /* never below two segments */
}

/* 4.2: cwnd follows C (t - K)^3 + W_max, with K = cbrt(W_max (1 - beta) / C). */
static void rfc9438_4_2_cubic_function(void **state)
{
    struct flow f;
    (void)state;
    start(&f, NULL, 100 * MS);
    double w_max = lose_at(&f, 1000), k = cbrt(300 / 0.4);
    round_trip(&f);
    int64_t from = f.now - f.rtt_ps;
    while (f.now - from < (int64_t)(2 * k * SIM_PS_PER_S)) {
        round_trip(&f);
        double t = (double)(f.now - from) / SIM_PS_PER_S, law = 0.4 * pow(t - k, 3) + w_max;
        /* 4.4: each round trip aims at where the function is at its end */
        if (fabs(window(&f) / law - 1) > 0.01)
            fail_msg("at %.2f s the window is %.2f, the function says %.2f", t, window(&f), law);
    }
}

/* 4.3: at a small round trip the window is Reno's with alpha = 3 (1 - beta) / (1 + beta), and with 1 from the old window on. */
static void rfc9438_4_3_reno_friendly(void **state)
{
    struct flow f;
    (void)state;
    start(&f, NULL, 1 * MS);
    lose_at(&f, 40);
    double before = window(&f);
    for (int i = 0; i < 10; i++)
        round_trip(&f);
    assert_true(fabs((window(&f) - before) / 10 - 3 * 0.3 / 1.7) < 0.02);
    while (window(&f) < 41)
        round_trip(&f);
    before = window(&f);
    for (int i = 0; i < 10; i++)
        round_trip(&f);
    assert_true(fabs((window(&f) - before) / 10 - 1) < 0.05);
}

/* 4.7: a loss below the last maximum lowers the aim to cwnd (1 + beta) / 2; seen by where the plateau lies. */
static void rfc9438_4_7_fast_convergence(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct flow f;
        struct cubic_params p;
        param_defaults(&cubic_params_table, &p);
        p.fast_convergence = on;
        start(&f, &p, 100 * MS);
        lose_at(&f, 1000);
        lose_at(&f, 800);
        double w_max = on ? 800 * 0.85 : 800, k = cbrt((w_max - 560) / 0.4);
        round_trip(&f);
        int64_t from = f.now - f.rtt_ps;
        while (f.now - from < (int64_t)(k * SIM_PS_PER_S))
            round_trip(&f);
        assert_true(fabs(window(&f) / w_max - 1) < 0.01);
    }
}

/* 4.8: after a timeout slow start, and then the function from its middle: K is 0. */
static void rfc9438_4_8_timeout(void **state)
{
    struct flow f;
    (void)state;
    start(&f, NULL, 100 * MS);
    f.c.cwnd_bytes = 100 * MSS;
    f.c.ops->timeout(&f.c, 0, 100 * MSS);
    assert_int_equal(f.c.cwnd_bytes, MSS);
    assert_int_equal(f.c.ssthresh_bytes, 70 * MSS);
    while (f.c.cwnd_bytes < f.c.ssthresh_bytes)
        round_trip(&f);
    int64_t from = f.now;
    round_trip(&f);
    while (f.now - from < 3 * SIM_PS_PER_S)
        round_trip(&f);
    double t = (double)(f.now - from) / SIM_PS_PER_S, cubic = 0.4 * t * t * t + 70, reno = 70 + 3 * 0.3 / 1.7 * t / 0.1;
    assert_true(fabs(window(&f) / (cubic > reno ? cubic : reno) - 1) < 0.03);
}

/* 4.4: never more than half again a round trip. */
static void rfc9438_4_4_target_is_bounded(void **state)
{
    struct flow f;
    struct cubic_params p;
    (void)state;
    param_defaults(&cubic_params_table, &p);
    p.c = 100;
    start(&f, &p, 100 * MS);
    lose_at(&f, 100);
    for (int i = 0; i < 40; i++) {
        double before = window(&f);
        round_trip(&f);
        assert_true(window(&f) <= before * exp(0.5) + 1);
        assert_true(window(&f) >= before);
    }
}

/* 5.8: what the application left unused is no growth, neither then nor after. */
static void rfc9438_5_8_application_limited(void **state)
{
    struct flow f, g;
    (void)state;
    start(&f, NULL, 100 * MS);
    lose_at(&f, 1000);
    for (int i = 0; i < 10; i++)
        round_trip(&f);
    g = f;
    for (int i = 0; i < 1000; i++) {
        g.now += 10 * MS;
        ack(&g, MSS, false);
    }
    assert_int_equal(g.c.cwnd_bytes, f.c.cwnd_bytes);
    round_trip(&f);
    round_trip(&g);
    assert_true(fabs(window(&g) - window(&f)) < 0.01 * window(&f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc9438_4_6_decrease), cmocka_unit_test(rfc9438_4_2_cubic_function), cmocka_unit_test(rfc9438_4_3_reno_friendly),
        cmocka_unit_test(rfc9438_4_7_fast_convergence), cmocka_unit_test(rfc9438_4_8_timeout), cmocka_unit_test(rfc9438_4_4_target_is_bounded),
        cmocka_unit_test(rfc9438_5_8_application_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
