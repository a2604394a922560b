/* SPDX-License-Identifier: GPL-2.0-only */
/* Every shipped scenario at its ci size: the same digest in all engines, through bytes and again; the audit holds; no slowdown below 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shipped.h"

static uint64_t digest_of(const struct scenario *sc, const struct variant *v, enum run_engine engine, bool through_bytes)
{
    char err[300] = "";
    struct result r;
    struct run_options o = { .engine = engine, .through_bytes = through_bytes };
    if (run_variant(sc, v, &o, &r, err, sizeof err) != 0)
        fail_msg("%s", err);
    uint64_t d = r.digest;
    result_fini(&r);
    return d;
}

static void check_result(const struct scenario *sc, const struct result *r)
{
    if (strcmp(r->audit, "ok") != 0)
        fail_msg("%s %s: audit: %s", sc->path, r->name, r->audit);
    assert_true(r->nmessages > 0);
    if (r->faster_than_alone * 20 > r->nmessages)
        fail_msg("%s %s: %llu of %zu messages faster than alone", sc->path, r->name, (unsigned long long)r->faster_than_alone, r->nmessages);
    for (size_t i = 0; i < r->nmessages; i++) {
        const struct result_message *m = &r->messages[i];
        if (!sc->expect_failures && m->outcome != RESULT_OK)
            fail_msg("%s %s: message %zu: %s", sc->path, r->name, i, m->status);
        if (!m->measured || m->outcome != RESULT_OK)
            continue;
        if (m->latency_ps < m->ideal_ps || m->ideal_ps <= 0)
            fail_msg("%s %s: message %zu of %llu B: %lld ps, ideal %lld", sc->path, r->name, i, (unsigned long long)m->bytes, (long long)m->latency_ps, (long long)m->ideal_ps);
        if (sc->measure->self_slowdown && (m->latency_ps < m->self_ideal_ps || m->self_ideal_ps <= 0))
            fail_msg("%s %s: message %zu of %llu B: %lld ps, alone %lld", sc->path, r->name, i, (unsigned long long)m->bytes, (long long)m->latency_ps, (long long)m->self_ideal_ps);
    }
}

static void check_scenario(const char *path)
{
    char err[300];
    /* The slowdown's calibration runs do not touch the digest; once is enough. */
    static const char *const off[] = { "measure.self-slowdown=off" };
    struct scenario *sc = shipped_load(path, "ci", NULL, 0), *bare = shipped_load(path, "ci", off, 1);
    bool ns3 = run_engine_available(RUN_NS3, err, sizeof err);
    for (size_t i = 0; i < sc->nvariants; i++) {
        struct result r;
        struct run_options o = { .engine = RUN_NATIVE };
        if (run_variant(sc, &sc->variants[i], &o, &r, err, sizeof err) != 0)
            fail_msg("%s: %s", path, err);
        check_result(sc, &r);
        const struct { const char *what; enum run_engine engine; bool bytes; } again[] = {
            { "natively again", RUN_NATIVE, false }, { "through bytes", RUN_NATIVE, true }, { "in ns-3", RUN_NS3, false }, { "in stock ns-3", RUN_NS3_STOCK, false } };
        /* Sanitizers are slow; what they look for is in the way through bytes. */
        bool sanitized = getenv("RNICSIM_SANITIZED") != NULL;
        for (size_t k = sanitized ? 1 : 0; k < (ns3 && !sanitized ? 4u : 2u); k++)
            if (digest_of(bare, &bare->variants[i], again[k].engine, again[k].bytes) != r.digest)
                fail_msg("%s %s: another digest %s", path, r.name, again[k].what);
        result_fini(&r);
    }
    scenario_free(sc);
    scenario_free(bare);
}

static void routed_vs_lossless(void **state) { (void)state; check_scenario("scenarios/routed-vs-lossless.xml"); }
static void ping_pong(void **state) { (void)state; check_scenario("scenarios/ping-pong.xml"); }
static void spraying(void **state) { (void)state; check_scenario("scenarios/spraying.xml"); }
static void pod_boundary(void **state) { (void)state; check_scenario("scenarios/pod-boundary.xml"); }
static void wan_middlebox(void **state) { (void)state; check_scenario("scenarios/wan-middlebox.xml"); }
static void incast(void **state) { (void)state; check_scenario("scenarios/incast.xml"); }
static void direct_placement(void **state) { (void)state; check_scenario("scenarios/direct-placement.xml"); }

/* What the scenario is for: placed FPDUs take no reassembly memory and the run is, packet for packet, that with plenty of it; with little memory
 * and no placement segments are dropped and sent again. The four transports come one after the other, each with its seeds. */
static void direct_placement_spares_memory(void **state)
{
    (void)state;
    bool whole = getenv("RNICSIM_TEST_LONG") != NULL;
    struct scenario *sc = shipped_load("scenarios/direct-placement.xml", whole ? NULL : "ci", NULL, 0);
    struct result r[12];
    size_t n = sc->nvariants, reps = n / 4;
    assert_int_equal(n, whole ? 12 : 4);
    for (size_t i = 0; i < n; i++) {
        char err[300] = "";
        struct run_options o = { .engine = RUN_NATIVE };
        if (run_variant(sc, &sc->variants[i], &o, &r[i], err, sizeof err) != 0)
            fail_msg("%s", err);
    }
    for (size_t i = 0; i < reps; i++) {
        const struct result *ordered = &r[i], *little = &r[reps + i], *placed = &r[2 * reps + i], *markers = &r[3 * reps + i];
        assert_true(ordered->seed == markers->seed && strcmp(ordered->transport, "ordered") == 0 && strcmp(markers->transport, "placed-markers") == 0);
        assert_true(ordered->reassembly_peak_bytes > 32000 && ordered->reassembly_drops == 0 && ordered->placed_early == 0);
        assert_true(little->reassembly_peak_bytes <= 32000 && little->reassembly_drops > 0 && little->retransmitted_packets > ordered->retransmitted_packets);
        assert_true(placed->reassembly_peak_bytes == 0 && placed->reassembly_drops == 0 && placed->placed_early > 0 && placed->digest == ordered->digest);
        assert_true(markers->reassembly_peak_bytes == 0 && markers->placed_early > 0 && markers->wire_bytes > placed->wire_bytes);
    }
    for (size_t i = 0; i < n; i++)
        result_fini(&r[i]);
    scenario_free(sc);
}

static void load_sweep(void **state) { (void)state; check_scenario("scenarios/load-sweep.xml"); }
static void dcqcn_convergence(void **state) { (void)state; check_scenario("scenarios/dcqcn-convergence.xml"); }
static void join_and_leave(void **state) { (void)state; check_scenario("scenarios/join-and-leave.xml"); }
static void dctcp_two_bottlenecks(void **state) { (void)state; check_scenario("scenarios/dctcp-two-bottlenecks.xml"); }
static void hpcc_incast(void **state) { (void)state; check_scenario("scenarios/hpcc-incast.xml"); }
static void pfc_victim(void **state) { (void)state; check_scenario("scenarios/pfc-victim.xml"); }
static void slow_receiver(void **state) { (void)state; check_scenario("scenarios/slow-receiver.xml"); }
static void pause_storm(void **state) { (void)state; check_scenario("scenarios/pause-storm.xml"); }
static void head_of_line(void **state) { (void)state; check_scenario("scenarios/head-of-line.xml"); }
static void buffer_sharing(void **state) { (void)state; check_scenario("scenarios/buffer-sharing.xml"); }
static void deadlock(void **state) { (void)state; check_scenario("scenarios/deadlock.xml"); }
static void tuning_mistakes(void **state) { (void)state; check_scenario("scenarios/tuning-mistakes.xml"); }

static void connection_scaling(void **state) { (void)state; check_scenario("scenarios/connection-scaling.xml"); }

static void self_slowdown_is_exactly_one_alone(void **state)
{
    (void)state;
    char err[300];
    /* Kernel TCP's first messages find a small window: warm means that it has opened. */
    static const char *const warm = "measure.warmup=1ms";
    static const char *const sizes[] = { "workload.ping-pong.size=1B", "workload.ping-pong.size=1500B", "workload.ping-pong.size=64KiB" };
    for (size_t k = 0; k < 3; k++) {
        const char *const sets[] = { sizes[k], warm, "ping-pong.rounds=400" };
        struct scenario *sc = shipped_load("scenarios/ping-pong.xml", "ci", sets, 3);
        for (size_t i = 0; i < sc->nvariants; i++) {
            struct result r;
            struct run_options o = { .engine = RUN_NATIVE };
            assert_int_equal(run_variant(sc, &sc->variants[i], &o, &r, err, sizeof err), 0);
            size_t n = 0;
            for (size_t m = 0; m < r.nmessages; m++) {
                if (!r.messages[m].measured)
                    continue;
                n++;
                if (r.messages[m].latency_ps != r.messages[m].self_ideal_ps)
                    fail_msg("%s, %s: %lld ps, alone %lld ps", r.name, sizes[k], (long long)r.messages[m].latency_ps, (long long)r.messages[m].self_ideal_ps);
            }
            assert_true(n > 50);
            result_fini(&r);
        }
        scenario_free(sc);
    }
}

/* RoCE beats iWARP beats kernel TCP unloaded; go-back-N without PFC is the one that collapses under loss. */
static void known_orders(void **state)
{
    (void)state;
    char err[300];
    double p50[3] = { 0 };
    struct scenario *sc = shipped_load("scenarios/ping-pong.xml", "ci", NULL, 0);
    for (size_t i = 0; i < sc->nvariants; i++) {
        struct result r;
        struct result_stats s;
        struct run_options o = { .engine = RUN_NATIVE };
        assert_int_equal(run_variant(sc, &sc->variants[i], &o, &r, err, sizeof err), 0);
        result_metric_stats(&r, RESULT_LATENCY_NS, &s);
        p50[sc->transports[sc->variants[i].transport].kind] = s.p50;
        result_fini(&r);
    }
    scenario_free(sc);
    assert_true(p50[SCENARIO_ROCE] < p50[SCENARIO_IWARP]);
    assert_true(p50[SCENARIO_IWARP] < p50[SCENARIO_TCP]);
}

/* Where the heap happens to lie decides whether an aligned block of the packet pool is mapped by itself; then its slack counts too. */
#define SLACK_BYTES ((size_t)2 << 20)

/* No allocation per packet in steady state: once windows are full, three times the packets (400,000 more hops) take no more of the heap. */
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    static const char form[] = "<scenario name='t'><topology kind='star' hosts='8'/><fabric name='f'><switch pfc='on' ecn='on'/></fabric>"
        "<transport name='t' kind='%s' prio='3' dscp='26'/><workload kind='permutation' size='%s'/><measure duration='100ms' self-slowdown='off' sample-interval='50ms'/></scenario>";
    static const char *const kind[] = { "roce", "iwarp", "tcp" };
    for (int k = 0; k < 3; k++) {
        size_t grown[2];
        for (int big = 0; big < 2; big++) {
            char xml[1000], err[300] = "";
            struct run_memory mem;
            struct result r;
            int n = snprintf(xml, sizeof xml, form, kind[k], big ? "60MB" : "20MB");
            struct scenario *sc = scenario_load_memory(xml, (size_t)n, "t.xml", NULL, err, sizeof err);
            if (!sc)
                fail_msg("%s", err);
            struct run_options o = { .engine = RUN_NATIVE, .memory = &mem };
            assert_int_equal(run_variant(sc, &sc->variants[0], &o, &r, err, sizeof err), 0);
            assert_true(r.packet_hops > (big ? 600000u : 200000u));
            grown[big] = mem.grown_bytes;
            result_fini(&r);
            scenario_free(sc);
        }
        if (getenv("RNICSIM_SANITIZED") == NULL && grown[1] > grown[0] + grown[0] / 4 + SLACK_BYTES + 65536)
            fail_msg("%s: %zu bytes for 20 MB messages, %zu for 60 MB", kind[k], grown[0], grown[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spraying), cmocka_unit_test(pod_boundary), cmocka_unit_test(wan_middlebox),
        cmocka_unit_test(ping_pong), cmocka_unit_test(incast), cmocka_unit_test(routed_vs_lossless), cmocka_unit_test(load_sweep),
        cmocka_unit_test(dcqcn_convergence), cmocka_unit_test(join_and_leave), cmocka_unit_test(hpcc_incast), cmocka_unit_test(dctcp_two_bottlenecks),
        cmocka_unit_test(direct_placement),
        cmocka_unit_test(direct_placement_spares_memory),
        cmocka_unit_test(pfc_victim), cmocka_unit_test(pause_storm), cmocka_unit_test(slow_receiver), cmocka_unit_test(head_of_line), cmocka_unit_test(buffer_sharing), cmocka_unit_test(deadlock), cmocka_unit_test(connection_scaling),
        cmocka_unit_test(tuning_mistakes),
        cmocka_unit_test(self_slowdown_is_exactly_one_alone), cmocka_unit_test(known_orders), cmocka_unit_test(steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
