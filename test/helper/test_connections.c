/* SPDX-License-Identifier: GPL-2.0-only */
/* What connection-scaling.xml claims, at its ci size; what a scenario is told that wants more connections than its NICs take; retransmissions and
 * kept payload as a run counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "shipped.h"

static const struct variant *variant_of(const struct scenario *sc, const char *transport)
{
    for (size_t i = 0; i < sc->nvariants; i++)
        if (strcmp(sc->transports[sc->variants[i].transport].name, transport) == 0)
            return &sc->variants[i];
    fail_msg("no transport %s", transport);
    return NULL;
}

static uint64_t counter(const struct result *r, const char *name)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, name) == 0)
            return r->counters[i].value;
    return 0;
}

static struct result run(const struct scenario *sc, const char *transport)
{
    char err[300] = "";
    struct result r;
    struct run_options o = { .engine = RUN_NATIVE };
    if (run_variant(sc, variant_of(sc, transport), &o, &r, err, sizeof err) != 0)
        fail_msg("%s", err);
    assert_string_equal(r.audit, "ok");
    return r;
}

/* Messages measured are those posted in a window of the same length: their number is the rate. */
static void the_message_rate_falls_as_connections_grow(void **state)
{
    (void)state;
    static const char *const off[] = { "measure.self-slowdown=off" };
    static const char *const names[2][3] = { { "roce-32", "roce-256", "roce-1024" }, { "iwarp-32", "iwarp-256", "iwarp-1024" } };
    struct scenario *sc = shipped_load("scenarios/connection-scaling.xml", "ci", off, 1);
    for (int k = 0; k < 2; k++) {
        size_t measured[3];
        for (int i = 0; i < 3; i++) {
            struct result r = run(sc, names[k][i]);
            uint64_t hits = counter(&r, "context_hits"), misses = counter(&r, "context_misses");
            measured[i] = 0;
            for (size_t m = 0; m < r.nmessages; m++)
                measured[i] += r.messages[m].measured;
            if (i == 0)
                assert_int_equal(misses, 2 * 64);                /* each context once at each NIC */
            else
                assert_true(misses > 2 * 512);
            if (i == 2)
                assert_true(misses > hits / 4);
            result_fini(&r);
        }
        assert_true(measured[0] > measured[1] && measured[1] > 2 * measured[2]);
    }
    scenario_free(sc);
}

static void too_many_connections_are_told(void **state)
{
    (void)state;
    static const char *const limit[] = { "measure.self-slowdown=off", "transport.roce-32.host.max-connections=63", "transport.iwarp-32.host.max-connections=40" };
    struct scenario *sc = shipped_load("scenarios/connection-scaling.xml", "ci", limit, 3);
    static const char *const names[] = { "roce-32", "iwarp-32" };
    for (int k = 0; k < 2; k++) {
        char err[500] = "";
        struct result r;
        struct run_options o = { .engine = RUN_NATIVE };
        assert_int_not_equal(run_variant(sc, variant_of(sc, names[k]), &o, &r, err, sizeof err), 0);
        if (!strstr(err, names[k]) || !strstr(err, k ? "the 40 connections" : "the 63 connections") || (strstr(err, "software") != NULL) != k)
            fail_msg("%s", err);
    }
    scenario_free(sc);
    static const char *const software[] = { "measure.self-slowdown=off", "transport.iwarp-32.host.max-connections=40", "transport.iwarp-32.host.beyond=software" };
    sc = shipped_load("scenarios/connection-scaling.xml", "ci", software, 3);
    struct result r = run(sc, "iwarp-32");
    assert_int_equal(counter(&r, "connections_in_software"), 2 * 24);
    result_fini(&r);
    scenario_free(sc);
}

/* Each retransmitted packet is read again; what the card keeps crosses PCIe once more; a run without loss has neither. */
static void loss_costs_dma(void **state)
{
    (void)state;
    static const char *const sets[] = { "measure.self-slowdown=off", "transport.ordered.host.reassembly-memory=card", "transport.ordered.host.dma-read=700ns" };
    struct scenario *sc = shipped_load("scenarios/direct-placement.xml", "ci", sets, 3);
    struct result r = run(sc, "ordered");
    assert_true(r.retransmitted_packets > 0 && counter(&r, "kept_bytes") > 0);
    assert_int_equal(counter(&r, "dma_refetches"), r.retransmitted_packets);
    result_fini(&r);
    scenario_free(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_message_rate_falls_as_connections_grow), cmocka_unit_test(too_many_connections_are_told), cmocka_unit_test(loss_costs_dma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
