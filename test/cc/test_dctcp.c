/* SPDX-License-Identifier: GPL-2.0-only */
/* DCTCP's sender by RFC 8257 3.3 and 3.4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "../../model/cc/cc.h"
#include "../../model/cc/dctcp_params.h"

#define MSS 1000

struct flow { struct cc c; uint64_t una, nxt; };

static void start(struct flow *f, const struct dctcp_params *p, int64_t segments)
{
    memset(f, 0, sizeof *f);
    f->c.mss_bytes = MSS;
    f->c.initial_window_bytes = (uint32_t)(segments * MSS);
    cc_start(&f->c, cc_find("dctcp"), p, 0);
    f->una = 1;
    f->nxt = 1 + (uint64_t)f->c.cwnd_bytes;
}

static void ack(struct flow *f, bool marked, bool in_recovery)
{
    f->una += MSS;
    struct cc_ack a = { .acked_bytes = MSS, .ece_bytes = marked ? MSS : 0, .snd_una = f->una, .snd_nxt = f->nxt, .rtt_ps = -1,
                        .in_recovery = in_recovery, .cwnd_limited = true };
    f->c.ops->ack(&f->c, &a);
    uint64_t may = f->una + (uint64_t)f->c.cwnd_bytes;
    f->nxt = may > f->nxt ? may : f->nxt;
}

static void rfc8257_4_2_constants(void **state)
{
    struct flow f;
    (void)state;
    start(&f, NULL, 10);
    assert_true(f.c.alpha == 1);
    assert_true(f.c.ops->ecn && f.c.ops->ecn_exact);
    struct dctcp_params p;
    param_defaults(&dctcp_params_table, &p);
    assert_true(p.g == 1. / 16);
}

/* Steps 4 to 6: alpha moves once a window, by g towards the share that was marked. */
static void rfc8257_3_3_alpha(void **state)
{
    static const unsigned every[] = { 0, 1, 2, 5 };        /* one in so many is marked */
    (void)state;
    for (size_t i = 0; i < sizeof every / sizeof every[0]; i++) {
        struct flow f;
        start(&f, NULL, 100);
        f.c.ssthresh_bytes = 100 * MSS;
        unsigned changes = 0, n = 0;
        double last = f.c.alpha, share = every[i] ? 1. / every[i] : 0;
        for (; changes < 400 && n < 1000000; n++) {
            ack(&f, every[i] && n % every[i] == 0, false);
            if (f.c.alpha != last)
                changes++;
            last = f.c.alpha;
            if (every[i] == 1 && n > 3000)
                break;
        }
        if (every[i] == 1)
            assert_true(f.c.alpha == 1);
        else
            assert_true(fabs(f.c.alpha - share) < 0.15 * share + 1e-6);
    }
}

/* Step 9: (1 - alpha / 2) once a window, however many marks. */
static void rfc8257_3_3_reduction(void **state)
{
    (void)state;
    static const double alpha[] = { 1, .5, .1 };
    for (size_t i = 0; i < 3; i++) {
        struct flow f;
        struct dctcp_params p = { .g = 1e-6, .initial_alpha = alpha[i] };
        start(&f, &p, 100);
        f.c.ssthresh_bytes = 100 * MSS;
        uint64_t window_end = f.nxt;
        ack(&f, true, false);
        double want = 100 * MSS * (1 - alpha[i] / 2);
        assert_true(fabs((double)f.c.cwnd_bytes - want) < 2);
        assert_int_equal(f.c.ssthresh_bytes, f.c.cwnd_bytes);
        while (f.una < window_end - MSS) {
            int64_t before = f.c.cwnd_bytes;
            ack(&f, true, false);
            assert_int_equal(f.c.cwnd_bytes, before);
        }
        ack(&f, true, false);
        ack(&f, true, false);
        assert_true(fabs((double)f.c.cwnd_bytes - want * (1 - alpha[i] / 2)) < 4);
    }
}

/* Acknowledgements of what was sent before the reduction grow nothing, marked or not; the next window grows by a segment, as Reno's. */
static void rfc8257_3_3_no_growth_in_the_window_of_a_reduction(void **state)
{
    struct flow f;
    struct dctcp_params p = { .g = 1e-6, .initial_alpha = .2 };
    (void)state;
    start(&f, &p, 100);
    f.c.ssthresh_bytes = 100 * MSS;
    uint64_t window_end = f.nxt;
    ack(&f, true, false);
    int64_t reduced = f.c.cwnd_bytes;
    while (f.una < window_end) {
        ack(&f, false, false);
        assert_int_equal(f.c.cwnd_bytes, reduced);
    }
    for (int i = 0; i < 91; i++)
        ack(&f, false, false);
    assert_int_equal(f.c.cwnd_bytes, reduced + MSS);
}

/* But slow start after a timeout (RFC 5681 3.1) does not wait for that window. */
static void timeout_ends_the_wait_for_growth(void **state)
{
    struct flow f;
    struct dctcp_params p = { .g = 1e-6, .initial_alpha = .2 };
    (void)state;
    start(&f, &p, 100);
    f.c.ssthresh_bytes = 100 * MSS;
    ack(&f, true, false);
    f.c.ops->timeout(&f.c, 0, 90 * MSS);
    assert_int_equal(f.c.cwnd_bytes, MSS);
    ack(&f, false, false);
    assert_int_equal(f.c.cwnd_bytes, 2 * MSS);
}

static void never_below_two_segments(void **state)
{
    struct flow f;
    (void)state;
    start(&f, NULL, 10);
    for (int i = 0; i < 1000; i++)
        ack(&f, true, false);
    assert_int_equal(f.c.cwnd_bytes, 2 * MSS);
}

/* 3.4: a loss halves, whatever alpha is, a timeout leaves one segment, and marks during recovery reduce nothing further. */
static void rfc8257_3_4_losses(void **state)
{
    struct flow f;
    struct dctcp_params p = { .g = 1. / 16, .initial_alpha = 0 };
    (void)state;
    start(&f, &p, 100);
    f.c.ops->loss(&f.c, 0, 100 * MSS);
    assert_int_equal(f.c.cwnd_bytes, 50 * MSS);
    ack(&f, true, true);
    assert_int_equal(f.c.cwnd_bytes, 50 * MSS);
    f.c.ops->timeout(&f.c, 0, 50 * MSS);
    assert_int_equal(f.c.cwnd_bytes, MSS);
    assert_int_equal(f.c.ssthresh_bytes, 25 * MSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc8257_4_2_constants), cmocka_unit_test(rfc8257_3_3_alpha), cmocka_unit_test(rfc8257_3_3_reduction),
        cmocka_unit_test(rfc8257_3_3_no_growth_in_the_window_of_a_reduction), cmocka_unit_test(timeout_ends_the_wait_for_growth),
        cmocka_unit_test(never_below_two_segments), cmocka_unit_test(rfc8257_3_4_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
