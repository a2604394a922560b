/* SPDX-License-Identifier: GPL-2.0-only */
/* flows.csv: what control did over time, without disturbing it; and what the shipped time traces show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shipped.h"

static struct result run_of(struct scenario *sc, size_t variant)
{
    char err[1000] = "";
    struct result r;
    struct run_options o = { .engine = RUN_NATIVE };
    if (run_variant(sc, &sc->variants[variant], &o, &r, err, sizeof err) != 0)
        fail_msg("%s", err);
    assert_string_equal(r.audit, "ok");
    return r;
}

static struct result run_xml(const char *transport, const char *measure)
{
    char xml[2000], err[1000] = "";
    snprintf(xml, sizeof xml, "<scenario name='s'><topology kind='star' hosts='3' host-rate='40Gbps'/>"
             "<fabric name='f'><switch ecn='on' ecn-kmin='5kB' ecn-kmax='200kB' ecn-pmax='1%%'/></fabric>%s"
             "<workload kind='flows'><flow src='0' dst='2' size='4MB'/><flow src='1' dst='2' size='4MB' start='100us'/></workload>"
             "<measure duration='5ms' self-slowdown='no' %s/></scenario>", transport, measure);
    struct scenario *sc = scenario_load_memory(xml, strlen(xml), "t.xml", NULL, err, sizeof err);
    if (!sc)
        fail_msg("%s", err);
    struct result r = run_of(sc, 0);
    scenario_free(sc);
    return r;
}

#define ROCE "<transport name='t' kind='roce' operation='write' prio='3' dscp='26'><cc algorithm='%s'/></transport>"

static void samples_tell_and_do_not_disturb(void **state)
{
    (void)state;
    char transport[300];
    static const struct { const char *cc; bool rate, window, alpha, rtt; } row[] = {
        { "dcqcn", true, false, true, true }, { "hpcc", true, true, true, true }, { "swift", false, true, false, true },
        { "timely", true, false, false, true }, { "dctcp-roce", false, true, true, true }, { "none", false, false, false, true },
    };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        snprintf(transport, sizeof transport, ROCE, row[k].cc);
        struct result off = run_xml(transport, ""), on = run_xml(transport, "flow-interval='10us'"), again = run_xml(transport, "flow-interval='10us'");
        assert_int_equal(off.nflows, 0);
        assert_true(off.digest == on.digest);
        assert_int_equal(on.nflows, again.nflows);
        for (size_t i = 0; i < on.nflows; i++) {
            const struct result_flow_sample *a = &on.flows[i], *b = &again.flows[i];
            assert_true(a->at_ps == b->at_ps && a->flow == b->flow && a->rate_bps == b->rate_bps && a->window_bytes == b->window_bytes && a->rtt_ps == b->rtt_ps &&
                        a->goodput_bps == b->goodput_bps && memcmp(&a->alpha, &b->alpha, sizeof a->alpha) == 0);
        }
        bool rate = false, window = false, alpha = false, rtt = false;
        double bytes[2] = { 0 };
        for (size_t i = 0; i < on.nflows; i++) {
            const struct result_flow_sample *s = &on.flows[i];
            assert_true(i == 0 || s->at_ps > s[-1].at_ps || (s->at_ps == s[-1].at_ps && s->flow > s[-1].flow));
            assert_int_equal(s->at_ps % 10000000, 0);
            assert_int_equal(s->src, s->flow);
            assert_int_equal(s->dst, 2);
            assert_true(s->rate_bps <= INT64_C(40000000000));
            rate |= s->rate_bps >= 0;
            window |= s->window_bytes >= 0;
            alpha |= s->alpha > 0;
            rtt |= s->rtt_ps > 0;
            bytes[s->flow] += (double)s->goodput_bps * 10e-6 / 8;
        }
        assert_true(rate == row[k].rate && window == row[k].window && alpha == row[k].alpha && rtt == row[k].rtt);
        for (int i = 0; i < 2; i++) /* all that was acknowledged, in full packets, but for what came after the last sample */
            assert_true(bytes[i] < 4e6 + 1100 && bytes[i] > 4e6 - 10e-6 * 40e9 / 8);
        result_fini(&off);
        result_fini(&on);
        result_fini(&again);
    }
}

static void tcp_and_iwarp_have_windows(void **state)
{
    (void)state;
    static const char *const kind[] = { "tcp", "iwarp" };
    for (int k = 0; k < 2; k++) {
        char transport[200];
        snprintf(transport, sizeof transport, "<transport name='t' kind='%s' prio='3' dscp='26'/>", kind[k]);
        struct result r = run_xml(transport, "flow-interval='20us'");
        assert_true(r.nflows > 20);
        for (size_t i = 0; i < r.nflows; i++)
            assert_true(r.flows[i].window_bytes > 0 && r.flows[i].rtt_ps != 0);
        result_fini(&r);
    }
}

/* Mean goodput of a flow, Gb/s, and of alpha, over a stretch of time. */
static double mean_of(const struct result *r, uint32_t flow, double from_ms, double to_ms, bool alpha)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < r->nflows; i++) {
        const struct result_flow_sample *s = &r->flows[i];
        double ms = (double)s->at_ps / 1e9;
        if (s->flow != flow || ms < from_ms || ms >= to_ms)
            continue;
        sum += alpha ? s->alpha : (double)s->goodput_bps / 1e9;
        n++;
    }
    return n > 0 ? sum / n : 0;
}

/* DCQCN 2:1 as its paper draws it: alone at line rate with alpha 1; both cut; fair shares and alpha near the fluid model's fixed point for two
 * flows, .10, within 40 ms. */
static void dcqcn_converges(void **state)
{
    (void)state;
    struct scenario *sc = shipped_load("scenarios/dcqcn-convergence.xml", NULL, NULL, 0);
    struct result r = run_of(sc, 0);
    double line = 40 * 1024. / 1106;
    assert_true(mean_of(&r, 0, 1, 10, false) > .99 * line);
    assert_true(fabs(mean_of(&r, 0, 1, 10, true) - 1) < 1e-9);
    double a = mean_of(&r, 0, 50, 90, false), b = mean_of(&r, 1, 50, 90, false);
    print_message("DCQCN 2:1, 50 to 90 ms: %.2f and %.2f Gb/s, alpha %.3f and %.3f\n", a, b, mean_of(&r, 0, 50, 90, true), mean_of(&r, 1, 50, 90, true));
    assert_true(fabs(a - b) < .1 * line && a + b > .95 * line);
    assert_true(fabs(mean_of(&r, 0, 50, 90, true) - .101) < .03);
    result_fini(&r);
    scenario_free(sc);
}

/* 16:1: HPCC drains the first round trip's burst and keeps the queue below it; DCQCN's first burst without a window is several times that. */
static void hpcc_against_dcqcn(void **state)
{
    (void)state;
    struct scenario *sc = shipped_load("scenarios/hpcc-incast.xml", NULL, NULL, 0);
    uint64_t peak[3], late[3];
    for (size_t v = 0; v < 3; v++) {
        struct result r = run_of(sc, v);
        peak[v] = late[v] = 0;
        for (size_t i = 0; i < r.nqueue; i++) {
            peak[v] = r.queue[i].peak_bytes > peak[v] ? r.queue[i].peak_bytes : peak[v];
            if (r.queue[i].at_ps > INT64_C(150000000) && r.queue[i].peak_bytes > late[v])
                late[v] = r.queue[i].peak_bytes;
        }
        print_message("16:1 %s: queue up to %.0f KB, after 150 us up to %.0f KB\n", r.transport, (double)peak[v] / 1e3, (double)late[v] / 1e3);
        result_fini(&r);
    }
    assert_true(peak[0] > 3 * peak[2]);
    assert_true(peak[1] < 16 * 55000 && peak[2] < 16 * 55000); /* sixteen windows of about 52 KB */
    assert_true(late[2] < 50000 && late[0] > 1000000 && late[1] > 100000);
    scenario_free(sc);
}

/* Joining and leaving: with HPCC, fair shares of four between 20 and 24 ms, and of one at the end. */
static void shares_follow(void **state)
{
    (void)state;
    struct scenario *sc = shipped_load("scenarios/join-and-leave.xml", NULL, NULL, 0);
    size_t hpcc = sc->nvariants - 1;
    assert_string_equal(sc->transports[sc->variants[hpcc].transport].name, "hpcc");
    struct result r = run_of(sc, hpcc);
    double alone = mean_of(&r, 0, 1, 5, false), four[4], sum = 0, squares = 0;
    for (uint32_t f = 0; f < 4; f++) {
        four[f] = mean_of(&r, f, 20, 24, false);
        sum += four[f];
        squares += four[f] * four[f];
    }
    assert_true(alone > .9 * .95 * 100 * 1024 / 1148);
    assert_true(sum > .9 * alone);
    assert_true(sum * sum / (4 * squares) > .95);
    assert_true(mean_of(&r, 0, 31, 34, false) > .9 * alone);
    result_fini(&r);
    scenario_free(sc);
}

/* DCTCP over two bottlenecks: SIGCOMM'10 figure 17 has 46, 475 and 54 Mb/s a flow in its three groups, within 10 % of fair, Jain .99: of the
 * wire, since R1's add up to its link. ns-3's dctcp-example has 23, 471 and 74 Mb/s, of PPP frames of 1502 B, under its own marking. */
static void dctcp_over_two_bottlenecks(void **state)
{
    (void)state;
    static const struct { double s1, s2, s3, wire, within_s1, within; } published[] = { { 46, 475, 54, 1538, .05, .05 }, { 23, 471, 74, 1448 * 1538. / 1502, .25, .1 } };
    struct scenario *sc = shipped_load("scenarios/dctcp-two-bottlenecks.xml", NULL, NULL, 0);
    for (size_t v = 0; v < 2; v++) {
        struct result r = run_of(sc, v);
        double sum[3] = { 0 }, squares[3] = { 0 }, n[3] = { 10, 20, 10 }, jain[3];
        for (uint32_t f = 0; f < 40; f++) {
            int group = f < 10 ? 0 : f < 30 ? 1 : 2;
            double x = 1e3 * mean_of(&r, f, 200, 450, false);
            sum[group] += x;
            squares[group] += x * x;
        }
        const double want[] = { published[v].s1, published[v].s2, published[v].s3 };
        for (int g = 0; g < 3; g++) {
            double law = want[g] * 1448 / published[v].wire, got = sum[g] / n[g];
            jain[g] = sum[g] * sum[g] / (n[g] * squares[g]);
            print_message("%s, S%d: %.1f Mb/s a flow, published %.1f of payload; Jain %.3f\n", r.fabric, g + 1, got, law, jain[g]);
            assert_true(fabs(got / law - 1) < (g == 0 ? published[v].within_s1 : published[v].within));
            assert_true(jain[g] > (v == 0 ? .99 : .9)); /* of a quarter of a second; few packets a window under ns-3's queues */
        }
        result_fini(&r);
    }
    scenario_free(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(samples_tell_and_do_not_disturb), cmocka_unit_test(tcp_and_iwarp_have_windows),
        cmocka_unit_test(dcqcn_converges), cmocka_unit_test(hpcc_against_dcqcn), cmocka_unit_test(shares_follow),
        cmocka_unit_test(dctcp_over_two_bottlenecks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
