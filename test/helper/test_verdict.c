/* SPDX-License-Identifier: GPL-2.0-only */
/* What a run says of its lossless classes: no pauses and how near they were, pauses and the headroom left, or that it was not lossless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../helper/run.h"

#define XOFF 220000u

static void run(const char *sw, const char *workload, struct result *r)
{
    static const char form[] = "<scenario name='t'><topology kind='star' hosts='9'/><fabric name='f'><switch pfc='on' pfc-xoff='220kB' %s/></fabric>"
        "<transport name='r' kind='roce' operation='write' prio='3' dscp='26'><host profile='ideal'/><roce mtu='1024B'/><cc algorithm='none'/></transport>"
        "<workload kind='incast' %s/><measure duration='1ms' drain='1s' self-slowdown='off'/></scenario>";
    char xml[1000], err[500] = "";
    int n = snprintf(xml, sizeof xml, form, sw, workload);
    struct scenario *sc = scenario_load_memory(xml, (size_t)n, "t.xml", NULL, err, sizeof err);
    if (!sc)
        fail_msg("%s", err);
    struct run_options o = { .engine = RUN_NATIVE };
    if (run_variant(sc, &sc->variants[0], &o, r, err, sizeof err) != 0)
        fail_msg("%s", err);
    scenario_free(sc);
}

static void near_but_no_pause(void **state)
{
    (void)state;
    struct result r;
    char verdict[200], want[200];
    run("", "size='100kB'", &r);
    assert_int_equal(r.nclasses, 1);
    const struct result_class *k = &r.classes[0];
    assert_int_equal(k->prio, 3);
    assert_int_equal(k->xoff_bytes, XOFF);
    /* Eight senders of 100 kB: the port gives one eighth to each while it comes in, so seven eighths stay. */
    assert_true(k->peak_bytes > 80000 && k->peak_bytes < 110000);
    assert_true(k->least_headroom_bytes == k->headroom_bytes && k->headroom_bytes > 0);
    assert_int_equal(r.pause_frames, 0);
    snprintf(want, sizeof want, "no pauses: peak queue %.1f KB of 220.0 KB", (double)k->peak_bytes / 1e3);
    assert_string_equal(result_verdict(&r, verdict, sizeof verdict), want);
    assert_true(r.peak_shared_bytes > 500000 && r.peak_shared_bytes < r.shared_bytes);
    assert_true((r.memory_bytes > 0 || getenv("RNICSIM_SANITIZED")) && r.nodes == 10); /* sanitizers have a heap of their own */
    result_fini(&r);
}

static void pauses_and_headroom(void **state)
{
    (void)state;
    struct result r;
    char verdict[200];
    run("", "size='1MB'", &r);
    const struct result_class *k = &r.classes[0];
    assert_true(r.pause_frames > 0);
    assert_true(k->peak_bytes <= XOFF && k->peak_bytes > XOFF - 1200);    /* within a frame of it */
    assert_true(k->least_headroom_bytes > 0 && k->least_headroom_bytes < k->headroom_bytes);
    assert_int_equal(r.lossless_drops, 0);
    result_verdict(&r, verdict, sizeof verdict);
    assert_non_null(strstr(verdict, " pause frames: peak queue 2"));
    assert_non_null(strstr(verdict, " KB of 220.0 KB; least headroom left "));
    assert_string_equal(r.audit, "ok");
    result_fini(&r);
}

static void not_lossless(void **state)
{
    (void)state;
    struct result r;
    char verdict[200];
    run("headroom='1B'", "size='1MB'", &r);
    assert_true(r.lossless_drops > 0 && r.headroom_short_bytes > 0);
    assert_non_null(strstr(result_verdict(&r, verdict, sizeof verdict), "NOT LOSSLESS: "));
    assert_string_not_equal(r.audit, "ok");
    result_fini(&r);
}

static void lossy_says_nothing(void **state)
{
    (void)state;
    struct result r;
    char verdict[200] = "x";
    run("lossless-prios='0'", "size='10kB'", &r);
    assert_int_equal(r.nclasses, 0);
    assert_string_equal(result_verdict(&r, verdict, sizeof verdict), "");
    result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(near_but_no_pause), cmocka_unit_test(pauses_and_headroom), cmocka_unit_test(not_lossless), cmocka_unit_test(lossy_says_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
