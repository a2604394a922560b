/* SPDX-License-Identifier: GPL-2.0-only */
/* Size distributions and generators: means, gaps, loads, determinism. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../helper/run.h"
#include "../../model/workload/workload.h"

static struct scenario *load(const char *xml)
{
    char err[1000] = "";
    struct scenario *sc = scenario_load_memory(xml, strlen(xml), "test/workload/t.xml", NULL, err, sizeof err);
    if (!sc)
        fail_msg("%s", err);
    return sc;
}

static void run(const struct scenario *sc, size_t variant, struct result *r)
{
    char err[300] = "";
    struct run_options o = { .engine = RUN_NATIVE };
    if (run_variant(sc, &sc->variants[variant], &o, r, err, sizeof err) != 0)
        fail_msg("%s", err);
    assert_string_equal(r->audit, "ok");
}

static void cdf_faults(void **state)
{
    (void)state;
    static const struct { struct wl_cdf_point p[3]; size_t n; enum wl_cdf_fault want; } t[] = {
        { { { 0, 0 }, { 100, 0.5 }, { 200, 1 } }, 3, WL_CDF_OK },       { { { 0, 0 } }, 0, WL_CDF_EMPTY },
        { { { 0, 0 }, { 100, 0.5 }, { 50, 1 } }, 3, WL_CDF_BYTES_ORDER }, { { { 0, 0.5 }, { 100, 0.2 }, { 200, 1 } }, 3, WL_CDF_FRACTION_ORDER },
        { { { 0, 0 }, { 100, 0.5 }, { 200, 0.9 } }, 3, WL_CDF_END },    { { { 0, 0 }, { 100, 0.5 }, { 200, 1.5 } }, 3, WL_CDF_RANGE },
        { { { -1, 0 }, { 100, 0.5 }, { 200, 1 } }, 3, WL_CDF_RANGE },
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct wl_cdf c = { t[i].p, t[i].n };
        if (wl_cdf_check(&c, NULL) != t[i].want)
            fail_msg("case %zu: %s", i, wl_cdf_fault_text(wl_cdf_check(&c, NULL)));
    }
    struct wl_cdf c = { t[0].p, 3 };
    assert_true(fabs(wl_cdf_mean(&c) - 100) < 1e-9);
    assert_int_equal(wl_cdf_sample(&c, 0.25), 50);
    assert_int_equal(wl_cdf_sample(&c, 0.75), 150);
    assert_int_equal(wl_cdf_sample(&c, 1e-12), 1);
}

/* truth.md section 3. */
static void published_means(void **state)
{
    (void)state;
    static const struct { const char *file, *name; double mean; } t[] = {
        { "websearch", "websearch", 1711250 }, { "fb-hadoop", "fb-hadoop", 120421 }, { "ali-storage", "ali-storage", 40870 }, { "google-rpc", "google-rpc", 2892 } };
    for (size_t i = 0; i < 4; i++) {
        char xml[1000];
        snprintf(xml, sizeof xml,
                 "<scenario name='t' xmlns:xi='http://www.w3.org/2001/XInclude'><topology kind='star' hosts='2'/><fabric name='f'/><transport name='r' kind='roce'/>"
                 "<xi:include href='../../scenarios/cdf/%s.xml'/><workload kind='poisson' sizes='%s'/></scenario>", t[i].file, t[i].name);
        struct scenario *sc = load(xml);
        double mean = wl_cdf_mean(&sc->workloads[0].spec->cdf);
        if (fabs(mean / t[i].mean - 1) > 0.001)
            fail_msg("%s: mean %.1f B, published %.1f", t[i].name, mean, t[i].mean);
        scenario_free(sc);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct result_message *x = a, *y = b;
    return x->src != y->src ? (x->src > y->src) - (x->src < y->src) : (x->posted_ps > y->posted_ps) - (x->posted_ps < y->posted_ps);
}

/* Each source's gaps are exponential (Kolmogorov and Smirnov, 1 %), and payload makes the load. */
static void poisson_posts(void **state)
{
    (void)state;
    struct scenario *sc = load("<scenario name='t'><topology kind='star' hosts='4'/><fabric name='f'/><transport name='r' kind='roce'/>"
                               "<workload kind='poisson' load='30%' size='2000B'/><measure duration='2ms' self-slowdown='off'/></scenario>");
    struct result r;
    run(sc, 0, &r);
    double bits = 0;
    for (size_t i = 0; i < r.nmessages; i++)
        bits += (double)r.messages[i].bytes * 8;
    double load_seen = bits / (4 * 100e9 * 2e-3), sigma = 1 / sqrt((double)r.nmessages);
    if (fabs(load_seen / 0.3 - 1) > 3.5 * sigma)
        fail_msg("load %.4f of 0.3", load_seen);
    qsort(r.messages, r.nmessages, sizeof *r.messages, by_time);
    double mean = 2000 * 8 / (0.3 * 100e9) * 1e12, worst = 0;
    double *gap = malloc(r.nmessages * sizeof *gap);
    size_t n = 0;
    for (size_t i = 1; i < r.nmessages; i++)
        if (r.messages[i].src == r.messages[i - 1].src)
            gap[n++] = 1 - exp(-(double)(r.messages[i].posted_ps - r.messages[i - 1].posted_ps) / mean);
    /* The share of gaps below each of 200 quantiles. */
    size_t bins[201] = { 0 }, below = 0;
    for (size_t i = 0; i < n; i++)
        bins[(size_t)(gap[i] * 200)]++;
    for (size_t b = 0; b < 200; b++) {
        below += bins[b];
        worst = fmax(worst, fabs((double)below / (double)n - (double)(b + 1) / 200));
    }
    if (worst > 1.63 / sqrt((double)n))
        fail_msg("gaps are not exponential: D = %.4f over %zu", worst, n);
    free(gap);
    result_fini(&r);
    scenario_free(sc);
}

/* What is posted depends on the seed alone, not on the transport or the fabric. */
static void the_same_messages_for_every_transport(void **state)
{
    (void)state;
    struct scenario *sc = load("<scenario name='t'><topology kind='star' hosts='4'/><fabric name='f'/><fabric name='g'><links loss='1e-3'/></fabric>"
                               "<transport name='r' kind='roce'/><transport name='i' kind='iwarp'/><transport name='k' kind='tcp'/>"
                               "<workload kind='poisson' load='20%' size='5kB'/><measure duration='300us' self-slowdown='off'/></scenario>");
    struct result first;
    run(sc, 0, &first);
    qsort(first.messages, first.nmessages, sizeof *first.messages, by_time);
    for (size_t v = 1; v < sc->nvariants; v++) {
        struct result r;
        run(sc, v, &r);
        assert_int_equal(r.nmessages, first.nmessages);
        qsort(r.messages, r.nmessages, sizeof *r.messages, by_time);
        for (size_t i = 0; i < r.nmessages; i++) {
            assert_int_equal(r.messages[i].posted_ps, first.messages[i].posted_ps);
            assert_int_equal(r.messages[i].dst, first.messages[i].dst);
        }
        result_fini(&r);
    }
    result_fini(&first);
    scenario_free(sc);
}

static void incast_rounds(void **state)
{
    (void)state;
    struct scenario *sc = load("<scenario name='t'><topology kind='star' hosts='9'/><fabric name='f'/><transport name='r' kind='roce'/>"
                               "<workload kind='incast' size='4kB' receiver='3' fan-in='8' rounds='5' interval='100us'/><measure duration='1ms' self-slowdown='off'/></scenario>");
    struct result r;
    run(sc, 0, &r);
    assert_int_equal(r.nmessages, 40);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(r.messages[i].dst, 3);
        assert_int_equal(r.messages[i].posted_ps, (int64_t)(i / 8) * 100 * SIM_PS_PER_US);
    }
    result_fini(&r);
    scenario_free(sc);
}

static void per_message_connections_pay_the_handshake(void **state)
{
    (void)state;
    struct scenario *sc = load("<scenario name='t'><topology kind='star' hosts='2'/><fabric name='f'/><transport name='k' kind='tcp'/>"
                               "<transport name='p' kind='tcp' connections='per-message'/><workload kind='ping-pong' size='100B' rounds='20'/>"
                               "<measure duration='10ms' self-slowdown='off'/></scenario>");
    struct result warm, cold;
    struct result_stats a, b;
    run(sc, 0, &warm);
    run(sc, 1, &cold);
    result_metric_stats(&warm, RESULT_LATENCY_NS, &a);
    result_metric_stats(&cold, RESULT_LATENCY_NS, &b);
    assert_true(b.p50 > a.p50 + 4000);                        /* a round trip of the fabric at least */
    result_fini(&warm);
    result_fini(&cold);
    scenario_free(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cdf_faults), cmocka_unit_test(published_means), cmocka_unit_test(poisson_posts), cmocka_unit_test(the_same_messages_for_every_transport),
        cmocka_unit_test(incast_rounds), cmocka_unit_test(per_message_connections_pay_the_handshake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
