/* SPDX-License-Identifier: GPL-2.0-only */
/* Parallel runs: the same results whatever --jobs is, crashes and errors told, Ctrl-C keeps what ended. Runs are stand-ins here. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../helper/jobs.h"

static const char xml[] =
    "<scenario name=\"s\"><topology kind=\"star\" hosts=\"4\"/><fabric name=\"f\"/><fabric name=\"g\"/><transport name=\"t\" kind=\"roce\"/>"
    "<workload kind=\"poisson\"/><measure reps=\"4\"/></scenario>";

static struct scenario *scenario(void)
{
    char err[512];
    struct scenario *sc = scenario_load_memory(xml, sizeof xml - 1, "t.xml", NULL, err, sizeof err);
    if (!sc)
        fail_msg("%s", err);
    assert_int_equal(sc->nvariants, 8);
    return sc;
}

static void nap_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&t, NULL);
}

/* A result that tells its variant, of a size that tells it too. */
static void make_result(const struct variant *v, struct result *out)
{
    out->seed = v->seed;
    out->digest = v->seed * 1000 + v->fabric;
    out->nmessages = 1000 * (size_t)v->seed;
    out->messages = calloc(out->nmessages, sizeof *out->messages);
    for (size_t i = 0; i < out->nmessages; i++)
        out->messages[i] = (struct result_message){ .id = i, .bytes = v->seed, .status = i % 2 ? "ok" : "flushed" };
    out->nqueue = 3;
    out->queue = calloc(3, sizeof *out->queue);
    out->queue[2].peak_bytes = 77;
    out->nflows = 2;
    out->flows = calloc(2, sizeof *out->flows);
    out->flows[1].rate_bps = (int64_t)v->seed;
    strcpy(out->audit, "ok");
}

static int run_well(const struct scenario *sc, const struct variant *v, const struct run_options *o, struct result *out, char *err, size_t errlen)
{
    (void)sc; (void)err; (void)errlen;
    o->progress(o->progress_ctx, 0.5);
    nap_ms((long)(v->seed % 3) * 10);
    make_result(v, out);
    return 0;
}

static int run_third_badly(const struct scenario *sc, const struct variant *v, const struct run_options *o, struct result *out, char *err, size_t errlen)
{
    if (v->seed == 3 && v->fabric == 0) {
        snprintf(err, errlen, "no route from host 0 to host 1");
        return SIM_ERR_PARAM;
    }
    return run_well(sc, v, o, out, err, errlen);
}

static int run_third_into_a_crash(const struct scenario *sc, const struct variant *v, const struct run_options *o, struct result *out, char *err, size_t errlen)
{
    if (v->seed == 3 && v->fabric == 0) {
        signal(SIGABRT, SIG_DFL);
        raise(SIGKILL);
    }
    return run_well(sc, v, o, out, err, errlen);
}

/* The first two end; the third is interrupted as from a terminal and obeys. */
static int run_until_interrupted(const struct scenario *sc, const struct variant *v, const struct run_options *o, struct result *out, char *err, size_t errlen)
{
    if (v->seed < 3 && v->fabric == 0)
        return run_well(sc, v, o, out, err, errlen);
    kill(getppid(), SIGINT);
    for (int i = 0; i < 500 && !*o->stop; i++)
        nap_ms(10);
    return *o->stop ? RUN_STOPPED : SIM_ERR_STATE;
}

struct order { size_t ended; size_t refuse_after; };
static int on_done(void *ctx, size_t variant, struct result *r)
{
    struct order *o = ctx;
    (void)variant;
    assert_true(r->nmessages > 0);
    return o->refuse_after && ++o->ended >= o->refuse_after ? -1 : 0;
}

static int run(const struct scenario *sc, unsigned parallel, void *run_one, struct order *order, struct jobs_result *out, char *err, size_t errlen)
{
    struct jobs_options o = { .parallel = parallel, .done = on_done, .ctx = order };
    memcpy(&o.run_one, &run_one, sizeof run_one);
    return jobs_run(sc, &o, out, err, errlen);
}

static void results_do_not_depend_on_jobs(void **state)
{
    (void)state;
    char err[512];
    struct scenario *sc = scenario();
    for (unsigned jobs = 1; jobs <= 16; jobs *= 2) {
        struct jobs_result r;
        struct order order = { 0, 0 };
        assert_int_equal(run(sc, jobs, (void *)run_well, &order, &r, err, sizeof err), 0);
        assert_int_equal(r.nhave, 8);
        for (size_t i = 0; i < 8; i++) {
            const struct result *one = &r.results[i];
            assert_true(r.have[i]);
            assert_int_equal(one->digest, sc->variants[i].seed * 1000 + sc->variants[i].fabric);
            assert_int_equal(one->nmessages, 1000 * sc->variants[i].seed);
            assert_int_equal(one->messages[999].id, 999);
            assert_string_equal(one->messages[998].status, "flushed");
            assert_string_equal(one->messages[999].status, "ok");
            assert_int_equal(one->queue[2].peak_bytes, 77);
            assert_int_equal(one->flows[1].rate_bps, one->seed);
        }
        assert_string_equal(r.results[6].name, "t-g-seed3");
        jobs_result_fini(&r);
    }
    scenario_free(sc);
}

static void an_error_is_told_with_its_variant(void **state)
{
    (void)state;
    char err[512];
    struct scenario *sc = scenario();
    struct jobs_result r;
    struct order order = { 0, 0 };
    assert_true(run(sc, 1, (void *)run_third_badly, &order, &r, err, sizeof err) < 0);
    assert_string_equal(err, "t-f-seed3: no route from host 0 to host 1");
    assert_true(r.failed && !r.interrupted);
    assert_int_equal(r.nhave, 2);
    jobs_result_fini(&r);
    scenario_free(sc);
}

static void a_crash_is_told(void **state)
{
    (void)state;
    char err[512];
    struct scenario *sc = scenario();
    struct jobs_result r;
    struct order order = { 0, 0 };
    assert_true(run(sc, 2, (void *)run_third_into_a_crash, &order, &r, err, sizeof err) < 0);
    assert_non_null(strstr(err, "t-f-seed3: the run ended by signal 9"));
    jobs_result_fini(&r);
    scenario_free(sc);
}

static void an_interrupt_keeps_what_ended(void **state)
{
    (void)state;
    char err[512];
    struct scenario *sc = scenario();
    struct jobs_result r;
    struct order order = { 0, 0 };
    assert_true(run(sc, 1, (void *)run_until_interrupted, &order, &r, err, sizeof err) < 0);
    assert_true(r.interrupted && !r.failed);
    assert_int_equal(r.nhave, 2);
    assert_true(r.have[0] && r.have[1] && !r.have[2]);
    jobs_result_fini(&r);
    scenario_free(sc);
}

static void a_refusal_to_take_results_stops_the_rest(void **state)
{
    (void)state;
    char err[512];
    struct scenario *sc = scenario();
    struct jobs_result r;
    struct order order = { 0, 3 };
    assert_true(run(sc, 1, (void *)run_well, &order, &r, err, sizeof err) < 0);
    assert_true(r.failed);
    assert_int_equal(r.nhave, 3);
    jobs_result_fini(&r);
    scenario_free(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_jobs),
        cmocka_unit_test(an_error_is_told_with_its_variant),
        cmocka_unit_test(a_crash_is_told),
        cmocka_unit_test(an_interrupt_keeps_what_ended),
        cmocka_unit_test(a_refusal_to_take_results_stops_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
