/* SPDX-License-Identifier: GPL-2.0-only */
/* Percentiles, CDFs and result files: the figures rules of the design. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../analysis/load_internal.h"
#include "../../analysis/result.h"

static void near(double seen, double want)
{
    if (!(fabs(seen - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g, expected %.12g", seen, want);
}

static void percentiles_by_nearest_rank(void **state)
{
    static const struct { size_t n; double q, want; } t[] = {
        { 100, 0.50, 50 }, { 100, 0.90, 90 }, { 100, 0.99, 99 }, { 100, 1.0, 100 }, { 100, 0.001, 1 }, { 1, 0.5, 1 }, { 1, 0.99, 1 },
        { 2, 0.5, 1 }, { 2, 0.51, 2 }, { 10, 0.5, 5 }, { 1000, 0.999, 999 }, { 1000, 0.99, 990 }, { 20, 0.95, 19 }, { 3, 0.99, 3 },
    };
    (void)state;
    double v[1000];
    for (int i = 0; i < 1000; i++)
        v[i] = i + 1;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        near(result_percentile(v, t[i].n, t[i].q), t[i].want);
    assert_true(isnan(result_percentile(v, 0, 0.5)));
}

/* Ten samples in a buffer of 2048: the median is theirs, not the rest's; of 1 to 100 the median is 50 and the 99th percentile 99; one is all. */
static void percentiles_are_of_the_samples_alone(void **state)
{
    (void)state;
    static double v[2048];
    static const double ten[] = { 7, 3, 9, 1, 5, 10, 2, 8, 6, 4 };
    struct result_stats s;
    memcpy(v, ten, sizeof ten);
    result_stats_of(v, 10, 0, &s);
    near(s.p50, 5);
    near(s.max, 10);
    assert_true(s.has[1]);
    for (int i = 0; i < 100; i++)
        v[i] = 100 - i;
    result_stats_of(v, 100, 0, &s);
    near(s.p50, 50);
    near(s.p99, 99);
    v[0] = 3;
    result_stats_of(v, 1, 0, &s);
    near(s.mean, 3);
    near(s.max, 3);
    near(result_percentile(v, 1, 0.5), 3);
}

static void unsupported_percentiles_are_not_numbers(void **state)
{
    static const struct { size_t n; bool p99, p999; } t[] = { { 99, false, false }, { 100, true, false }, { 500, true, false }, { 999, true, false }, { 1000, true, true } };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        double v[1000];
        struct result_stats s;
        for (size_t k = 0; k < t[i].n; k++)
            v[k] = (double)(t[i].n - k); /* unsorted on purpose */
        result_stats_of(v, t[i].n, 0, &s);
        assert_int_equal(s.has[3], t[i].p99);
        assert_int_equal(s.has[4], t[i].p999);
        near(s.max, (double)t[i].n);
        near(s.mean, (double)(t[i].n + 1) / 2);
    }
}

static void failed_messages_count_as_infinite(void **state)
{
    (void)state;
    double v[98];
    struct result_stats s;
    for (int i = 0; i < 98; i++)
        v[i] = i + 1;
    result_stats_of(v, 98, 2, &s); /* of 100, ranks 99 and 100 are infinite */
    near(s.p50, 50);
    near(s.p90, 90);
    assert_false(s.has[3]);
    assert_true(isinf(s.p99));
    assert_false(s.has[0]);
    assert_false(s.has[5]);
}

static struct result a_result(size_t n)
{
    struct result r = { .load = 0.5, .seed = 7, .nmessages = n, .measure_to_ps = INT64_C(1000000000), .payload_bytes = 1250000, .wire_bytes = 200, .all_payload_bytes = 150, .digest = 1 };
    strcpy(r.name, "roce-lossless");
    strcpy(r.transport, "roce");
    strcpy(r.fabric, "loss\"less");
    strcpy(r.scenario, "s");
    strcpy(r.audit, "ok");
    r.messages = calloc(n, sizeof *r.messages);
    for (size_t i = 0; i < n; i++)
        r.messages[i] = (struct result_message){ .id = i, .bytes = 100 + i, .posted_ps = (int64_t)i * 1000, .latency_ps = 1500500 + (int64_t)i, .completion_ps = -1,
                                                 .ideal_ps = 1000000, .self_ideal_ps = 1500500, .measured = i > 0, .status = "ok" };
    r.nqueue = 2;
    r.queue = calloc(2, sizeof *r.queue);
    r.queue[1] = (struct result_queue_sample){ 5000000, 777 };
    return r;
}

static void goodput_and_efficiency(void **state)
{
    (void)state;
    struct result r = a_result(3);
    near(result_goodput_bps(&r), 1e10);
    near(result_wire_efficiency(&r), 0.75);
    near(result_message_rate(&r), 2000);
    result_fini(&r);
}

static void files_round_trip(void **state)
{
    (void)state;
    char dir[] = "/tmp/rnicsim-test-XXXXXX", path[256], err[256];
    assert_non_null(mkdtemp(dir));
    struct result r = a_result(20);
    strcpy(r.fabric, "lossless");
    const struct result *rp = &r;
    snprintf(path, sizeof path, "%s/variants.csv", dir);
    assert_int_equal(result_write_index(&rp, 1, path, err, sizeof err), 0);
    snprintf(path, sizeof path, "%s/roce-lossless", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/roce-lossless/messages.csv", dir);
    assert_int_equal(result_write_messages(&r, path, err, sizeof err), 0);
    snprintf(path, sizeof path, "%s/roce-lossless/queue.csv", dir);
    assert_int_equal(result_write_queue(&r, path, err, sizeof err), 0);
    struct result_flow_sample flows[3] = {
        { .at_ps = 1000, .flow = 0, .src = 1, .dst = 2, .rate_bps = 40000000000, .window_bytes = -1, .rtt_ps = 4189440, .goodput_bps = 37, .alpha = .25 },
        { .at_ps = 1000, .flow = 7, .src = 3, .dst = 2, .rate_bps = -1, .window_bytes = 5000, .rtt_ps = -1, .goodput_bps = 0, .alpha = 0 },
        { .at_ps = 2000, .flow = 0, .src = 1, .dst = 2, .rate_bps = 20000000000, .window_bytes = -1, .rtt_ps = 4189441, .goodput_bps = 38, .alpha = .5 } };
    r.flows = flows;
    r.nflows = 3;
    snprintf(path, sizeof path, "%s/roce-lossless/flows.csv", dir);
    assert_int_equal(result_write_flows(&r, path, err, sizeof err), 0);
    r.flows = NULL;
    struct result *back;
    size_t n;
    assert_int_equal(result_load_dir(dir, &back, &n, err, sizeof err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(back[0].nmessages, 20);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(back[0].messages[i].latency_ps, r.messages[i].latency_ps);
        assert_int_equal(back[0].messages[i].measured, r.messages[i].measured);
        assert_int_equal(back[0].messages[i].bytes, r.messages[i].bytes);
    }
    assert_int_equal(back[0].queue[1].peak_bytes, 777);
    near(back[0].load, 0.5);
    assert_int_equal(back[0].nflows, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct result_flow_sample *a = &flows[i], *b = &back[0].flows[i];
        assert_true(a->at_ps == b->at_ps && a->flow == b->flow && a->src == b->src && a->dst == b->dst && a->rate_bps == b->rate_bps &&
                    a->window_bytes == b->window_bytes && a->rtt_ps == b->rtt_ps && a->goodput_bps == b->goodput_bps);
        near(a->alpha, b->alpha);
    }
    static const char *const plot[] = { "rate", "alpha", "window", "rtt" };
    if (system("gnuplot --version >/dev/null 2>&1") == 0) {
        assert_int_equal(result_plot_dir(dir, NULL, err, sizeof err), 0);
        for (size_t i = 0; i < 4; i++) {
            snprintf(path, sizeof path, "%s/plots/%s-roce-lossless.svg", dir, plot[i]);
            assert_int_equal(access(path, R_OK), 0);
        }
        snprintf(path, sizeof path, "grep -qxF 'set xrange [0:0.005000]' %s/plots/queue.gp", dir); /* to the last sample, long after the last post */
        assert_int_equal(system(path), 0);
    }
    result_fini(&back[0]);
    free(back);
    snprintf(path, sizeof path, "rm -r %s", dir);
    assert_int_equal(system(path), 0);
    result_fini(&r);
}

static void full_disk_and_unwritable_leave_nothing(void **state)
{
    (void)state;
    char err[256] = "";
    struct result r = a_result(2000);
    assert_int_equal(result_write_messages(&r, "/dev/full", err, sizeof err), -1);
    assert_non_null(strstr(err, "No space left"));
    err[0] = 0;
    assert_int_equal(result_write_messages(&r, "/nonexistent/dir/messages.csv", err, sizeof err), -1);
    assert_non_null(strstr(err, "/nonexistent/dir/messages.csv"));
    result_fini(&r);
}

static void summary_is_json_with_nulls(void **state)
{
    (void)state;
    char path[] = "/tmp/rnicsim-sum-XXXXXX", err[256], text[8192];
    int fd = mkstemp(path);
    struct result r = a_result(50);
    const struct result *rp = &r;
    assert_int_equal(result_write_summary(&rp, 1, path, err, sizeof err), 0);
    FILE *f = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    assert_non_null(strstr(text, "\"fabric\": \"loss\\\"less\""));
    assert_non_null(strstr(text, "\"p99\": null"));
    assert_non_null(strstr(text, "\"p50\": 1500."));
    assert_null(strstr(text, "nan"));
    close(fd);
    unlink(path);
    result_fini(&r);
}

static void cdf_has_a_point_a_flow_and_ends_at_one(void **state)
{
    (void)state;
    char dir[] = "/tmp/rnicsim-plot-XXXXXX", path[256], err[512] = "", line[256];
    assert_non_null(mkdtemp(dir));
    struct result r = a_result(21); /* 20 measured */
    strcpy(r.fabric, "lossless");
    const struct result *rp = &r;
    snprintf(path, sizeof path, "%s/variants.csv", dir);
    result_write_index(&rp, 1, path, err, sizeof err);
    snprintf(path, sizeof path, "%s/roce-lossless", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/roce-lossless/messages.csv", dir);
    result_write_messages(&r, path, err, sizeof err);
    if (result_plot_dir(dir, NULL, err, sizeof err) != 0)
        fail_msg("%s", err);
    snprintf(path, sizeof path, "%s/plots/latency-cdf.gp", dir);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int points = 0, in = 0;
    double last = 0;
    while (fgets(line, sizeof line, f)) {
        double x;
        if (strncmp(line, "$d", 2) == 0)
            in = 1;
        else if (strncmp(line, "EOD", 3) == 0)
            in = 0;
        else if (in && sscanf(line, "%lf,%lf", &x, &last) == 2)
            points++;
    }
    fclose(f);
    assert_int_equal(points, 20);
    near(last, 1);
    /* Of one size there is no line: its points must show; of 20 messages there is no 99th percentile, nor a key for it. */
    snprintf(path, sizeof path, "%s/plots/slowdown-size.gp", dir);
    f = fopen(path, "r");
    assert_non_null(f);
    bool dots = false, p99 = false;
    while (fgets(line, sizeof line, f)) {
        dots |= strstr(line, "linespoints") != NULL;
        p99 |= strstr(line, "p99") != NULL;
    }
    fclose(f);
    assert_true(dots && !p99);
    static const char *const made[] = { "latency-cdf", "latency-tail", "slowdown-size" };
    for (size_t i = 0; i < 3; i++) {
        struct stat st;
        snprintf(path, sizeof path, "%s/plots/%s.png", dir, made[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 1000);
        snprintf(path, sizeof path, "%s/plots/%s.svg", dir, made[i]);
        assert_int_equal(stat(path, &st), 0);
    }
    snprintf(path, sizeof path, "rm -r %s", dir);
    assert_int_equal(system(path), 0);
    result_fini(&r);
}

/* A value and its interval are in one unit. */
static void intervals_share_their_unit(void **state)
{
    (void)state;
    struct result r[2] = { a_result(200), a_result(200) };
    for (size_t i = 0; i < 200; i++) {
        r[0].messages[i].latency_ps = INT64_C(1500000000);
        r[1].messages[i].latency_ps = INT64_C(1600000000);
    }
    const struct result *rp[2] = { &r[0], &r[1] };
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    result_print_table(rp, 2, 100, f);
    fclose(f);
    assert_non_null(strstr(text, "1.60+-0.64 ms"));   /* the pooled p99; Student t of two seeds: 12.7 * 0.05 */
    free(text);
    result_fini(&r[0]);
    result_fini(&r[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_by_nearest_rank), cmocka_unit_test(percentiles_are_of_the_samples_alone), cmocka_unit_test(unsupported_percentiles_are_not_numbers),
        cmocka_unit_test(failed_messages_count_as_infinite), cmocka_unit_test(goodput_and_efficiency), cmocka_unit_test(files_round_trip),
        cmocka_unit_test(full_disk_and_unwritable_leave_nothing), cmocka_unit_test(summary_is_json_with_nulls),
        cmocka_unit_test(cdf_has_a_point_a_flow_and_ends_at_one), cmocka_unit_test(intervals_share_their_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
