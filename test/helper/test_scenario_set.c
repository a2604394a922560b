/* SPDX-License-Identifier: GPL-2.0-only */
/* --set paths, sizes, seeds: what they reach, and how they are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../helper/scenario.h"
#include "../../model/cc/cc.h"
#include "../../model/workload/workload.h"

static const char xml[] =
    "<scenario name=\"s\"><topology kind=\"star\" hosts=\"4\"/>\n"
    "<fabric name=\"routed\"><links loss=\"1e-5\"/></fabric><fabric name=\"lossless\"><switch pfc=\"on\"/></fabric>\n"
    "<transport name=\"iwarp\" kind=\"iwarp\"/><transport name=\"roce\" kind=\"roce\"/><transport name=\"roce4k\" kind=\"roce\"><roce mtu=\"4096B\"/></transport>\n"
    "<transport name=\"tcp\" kind=\"tcp\"><host post=\"7ns\"/></transport>\n"
    "<workload kind=\"poisson\" load=\"40%\"/><workload name=\"burst\" kind=\"incast\" size=\"64KiB\"/>\n"
    "<measure duration=\"1ms\" seeds=\"5 9\"/>\n"
    "<size name=\"ci\"><set name=\"measure.duration\" value=\"10us\"/>\n<set name=\"poisson.load\" value=\"10%\"/></size></scenario>";

static struct scenario *load(const char *const *sets, size_t n, const char *size, char *err, size_t errlen)
{
    struct scenario_options o = { .sets = sets, .nsets = n, .size = size };
    return scenario_load_memory(xml, sizeof xml - 1, "t.xml", &o, err, errlen);
}

/* The value of a parameter as text, by owner and element. */
static const char *value(const struct scenario *sc, const char *owner_name, const char *element, const char *name, char *buf, size_t len)
{
    for (size_t i = 0; i < sc->nparams; i++) {
        const struct scenario_params *p = sc->params[i];
        const struct param *row = param_find(p->table, name);
        if (strcmp(p->owner_name, owner_name) == 0 && strcmp(p->element, element) == 0 && row)
            return param_format(row, p->values, buf, len);
    }
    return "(none)";
}

struct expect { const char *owner_name, *element, *name, *value; };
static const struct good { const char *set; struct expect want[4]; } good[] = {
    { "measure.duration=3us", { { "", "measure", "duration", "3us" } } },
    { "topology.hosts=6", { { "", "topology", "hosts", "6" } } },
    { "roce.mtu=2048B", { { "roce", "roce", "mtu", "2048B" }, { "roce4k", "roce", "mtu", "2048B" } } },
    { "transport.roce.roce.mtu=2048B", { { "roce", "roce", "mtu", "2048B" }, { "roce4k", "roce", "mtu", "4096B" } } },
    { "transport.roce.mtu=2048B", { { "roce", "roce", "mtu", "2048B" }, { "roce4k", "roce", "mtu", "4096B" } } },
    { "roce4k.mtu=256B", { { "roce", "roce", "mtu", "1024B" }, { "roce4k", "roce", "mtu", "256B" } } },
    { "roce.dscp=26", { { "roce", "transport", "dscp", "26" }, { "roce4k", "transport", "dscp", "0" } } },
    { "transport.prio=3", { { "iwarp", "transport", "prio", "3" }, { "tcp", "transport", "prio", "3" } } },
    { "tcp.rto-min=9ms", { { "iwarp", "tcp", "rto-min", "9ms" }, { "tcp", "tcp", "rto-min", "9ms" } } },
    { "transport.tcp.rto-min=9ms", { { "iwarp", "tcp", "rto-min", "5ms" }, { "tcp", "tcp", "rto-min", "9ms" } } },
    { "fabric.loss=1e-3", { { "routed", "links", "loss", "0.001" }, { "lossless", "links", "loss", "0.001" } } },
    { "fabric.routed.loss=1e-3", { { "routed", "links", "loss", "0.001" }, { "lossless", "links", "loss", "0" } } },
    { "fabric.lossless.switch.buffer=2MB", { { "routed", "switch", "buffer", "32MiB" }, { "lossless", "switch", "buffer", "2MB" } } },
    { "lossless.pfc=off", { { "lossless", "switch", "pfc", "no" } } },
    { "workload.load=20%", { { "poisson", "workload", "load", "0.2" } } },
    { "workload.burst.size=1KiB", { { "burst", "workload", "size", "1024B" }, { "poisson", "workload", "size", "1024B" } } },
    { "cc.g=0.5", { { "roce", "cc", "g", "0.5" }, { "roce4k", "cc", "g", "0.5" } } },
    { "transport.iwarp.host.profile=kernel", { { "iwarp", "host", "completion", "event" } } },
    { "host.profile=ideal", { { "tcp", "host", "post", "7ns" }, { "roce", "host", "doorbell-latency", "0ps" } } },
    { "tcp.profile=linux", { { "iwarp", "tcp", "rto-min", "200ms" } } },
};

static void paths_reach_what_they_name(void **state)
{
    (void)state;
    int wrong = 0;
    char err[2048], buf[80];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct scenario *sc = load(&good[i].set, 1, NULL, err, sizeof err);
        if (!sc) {
            print_error("%s: %s\n", good[i].set, err);
            wrong++;
        }
        for (int k = 0; sc && k < 4 && good[i].want[k].value; k++) {
            const struct expect *w = &good[i].want[k];
            const char *got = value(sc, w->owner_name, w->element, w->name, buf, sizeof buf);
            if (strcmp(got, w->value) != 0) {
                print_error("%s: %s.%s.%s is %s, wanted %s\n", good[i].set, w->owner_name, w->element, w->name, got, w->value);
                wrong++;
            }
        }
        scenario_free(sc);
    }
    assert_int_equal(wrong, 0);
}

static const struct { const char *set, *want; } bad[] = {
    { "roce.mt=1KiB", "--set roce.mt: there is no such parameter in this scenario; nearest: roce.mtu" },
    { "fabric.rooted.loss=1", "nearest: fabric.routed.loss" },
    { "measure.duration=5", "--set measure.duration: duration: \"5\" has no unit" },
    { "workload.load=120%", "--set workload.load: load: \"120%\" is out of range" },
    { "fabric.routed.rate=1Gbps", "there is no such parameter" },
    { "measure", "is not NAME=VALUE" },
    { "=5", "is not NAME=VALUE" },
    { "measure..duration=5us", "is not NAME=VALUE" },
    { "duration=5us", "is not NAME=VALUE" },
    { "a.b.c.d.e=1", "is not NAME=VALUE" },
    { "transport.roce.cc=timly", "there is no congestion control \"timly\"" },
    { "host.profile=fast", "\"fast\" is none of ideal|rnic-roce" },
    { "compare.loads=30% x", "--set compare.loads: \"x\"" },
    { "compare.loads=0%", "compare loads: 0% is not a load" },
    { "measure.seeds=", "the list is empty" },
    { "expect.failures=maybe", "\"maybe\" is none of yes|no" },
    { "topology.kind=explicit", "kind explicit needs a file, or <host>" },
};

static void bad_paths_are_refused(void **state)
{
    (void)state;
    int wrong = 0;
    char err[2048];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct scenario *sc = load(&bad[i].set, 1, NULL, err, sizeof err);
        if (sc || !strstr(err, bad[i].want)) {
            print_error("%s: wanted \"%s\", got: %s\n", bad[i].set, bad[i].want, sc ? "no error" : err);
            wrong++;
        }
        scenario_free(sc);
    }
    assert_int_equal(wrong, 0);
}

static void sizes_come_before_sets(void **state)
{
    (void)state;
    static const char *const sets[] = { "poisson.load=30%" };
    char err[2048], buf[80];
    struct scenario *sc = load(sets, 1, "ci", err, sizeof err);
    assert_non_null(sc);
    assert_string_equal(value(sc, "", "measure", "duration", buf, sizeof buf), "10us");
    assert_string_equal(value(sc, "poisson", "workload", "load", buf, sizeof buf), "0.3");
    scenario_free(sc);
    sc = load(NULL, 0, "full", err, sizeof err);
    assert_non_null(sc);
    assert_string_equal(value(sc, "", "measure", "duration", buf, sizeof buf), "1ms");
    scenario_free(sc);
    assert_null(load(NULL, 0, "huge", err, sizeof err));
    assert_string_equal(err, "t.xml: there is no size \"huge\"; the scenario has: full, ci");
}

static void algorithms_and_ecn_follow(void **state)
{
    (void)state;
    static const char *const sets[] = { "transport.roce.cc=none", "tcp.ecn=yes" };
    char err[2048];
    struct scenario *sc = load(NULL, 0, NULL, err, sizeof err);
    assert_non_null(sc);
    assert_string_equal(sc->transports[1].cc->name, "dcqcn");
    assert_true(sc->transports[1].ecn);
    assert_false(sc->transports[3].ecn);
    scenario_free(sc);
    sc = load(sets, 2, NULL, err, sizeof err);
    assert_non_null(sc);
    assert_string_equal(sc->transports[1].cc->name, "none");
    assert_string_equal(sc->transports[2].cc->name, "dcqcn");
    assert_false(sc->transports[1].ecn);
    assert_true(sc->transports[3].ecn);
    scenario_free(sc);
}

static void variants_are_the_product(void **state)
{
    (void)state;
    static const char *const sets[] = { "compare.loads=30% 60%" };
    char err[2048], name[SCENARIO_VARIANT_NAME_MAX];
    struct wl_spec spec;
    struct scenario *sc = load(sets, 1, NULL, err, sizeof err);
    assert_non_null(sc);
    assert_int_equal(sc->nvariants, 4 * 2 * 2 * 2);
    const struct variant *v = &sc->variants[6];
    assert_string_equal(scenario_variant_name(sc, v, name, sizeof name), "iwarp-lossless-load60-seed5");
    scenario_variant_spec(sc, v, 0, &spec);
    assert_true(spec.u.poisson.load == 0.6);
    scenario_free(sc);
}

static void seed_and_reps_replace_listed_seeds(void **state)
{
    (void)state;
    char err[2048];
    struct scenario_options o = { .has_seed = true, .seed = 70, .reps = 3 };
    struct scenario *sc = scenario_load_memory(xml, sizeof xml - 1, "t.xml", &o, err, sizeof err);
    assert_non_null(sc);
    assert_int_equal(sc->nseeds, 3);
    assert_int_equal(sc->seeds[0], 70);
    assert_int_equal(sc->seeds[2], 72);
    scenario_free(sc);
    o = (struct scenario_options){ .reps = 1 };
    sc = scenario_load_memory(xml, sizeof xml - 1, "t.xml", &o, err, sizeof err);
    assert_non_null(sc);
    assert_int_equal(sc->nseeds, 1);
    assert_int_equal(sc->seeds[0], 5);
    scenario_free(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_reach_what_they_name),
        cmocka_unit_test(bad_paths_are_refused),
        cmocka_unit_test(sizes_come_before_sets),
        cmocka_unit_test(algorithms_and_ecn_follow),
        cmocka_unit_test(variants_are_the_product),
        cmocka_unit_test(seed_and_reps_replace_listed_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
