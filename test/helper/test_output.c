/* SPDX-License-Identifier: GPL-2.0-only */
/* Result directories: unwritable places, a full disk, earlier results; and the command line's own output. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../helper/cli.h"
#include "../../helper/output.h"

static const char xml[] =
    "<scenario name=\"s\"><topology kind=\"star\" hosts=\"4\"/><fabric name=\"f\"/><transport name=\"t\" kind=\"roce\"/>"
    "<workload kind=\"poisson\"/><measure reps=\"2\"/></scenario>";

static char dir[64];

static struct scenario *scenario(const char *text)
{
    char err[512];
    struct scenario *sc = scenario_load_memory(text, strlen(text), "t.xml", NULL, err, sizeof err);
    if (!sc)
        fail_msg("%s", err);
    return sc;
}

static const char *in_dir(const char *name)
{
    static char path[8][256];
    static int turn;
    char *p = path[turn++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static bool there(const char *name) { return access(in_dir(name), F_OK) == 0; }

static int shell(const char *format, const char *arg)
{
    char command[512];
    snprintf(command, sizeof command, format, arg);
    return system(command);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/rnicsim-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return shell("rm -rf '%s'", dir);
}

static void make_results(const struct scenario *sc, struct jobs_result *jobs, size_t nmessages)
{
    *jobs = (struct jobs_result){ .n = sc->nvariants, .nhave = sc->nvariants };
    jobs->results = calloc(jobs->n, sizeof *jobs->results);
    jobs->have = calloc(jobs->n, sizeof *jobs->have);
    for (size_t i = 0; i < jobs->n; i++) {
        struct result *r = &jobs->results[i];
        jobs->have[i] = true;
        scenario_variant_name(sc, &sc->variants[i], r->name, sizeof r->name);
        strcpy(r->audit, "ok");
        strcpy(r->transport, "t");
        strcpy(r->fabric, "f");
        r->seed = sc->variants[i].seed;
        r->load = 0.5;
        r->measure_to_ps = 1000000;
        r->nmessages = nmessages;
        r->messages = calloc(nmessages, sizeof *r->messages);
        for (size_t k = 0; k < nmessages; k++)
            r->messages[k] = (struct result_message){ .id = k, .dst = 1, .measured = 1, .bytes = 64, .latency_ps = 5000, .completion_ps = 6000,
                .ideal_ps = 4000, .self_ideal_ps = 5000, .status = "ok" };
    }
}

static void a_run_leaves_its_files(void **state)
{
    (void)state;
    char err[512];
    struct scenario *sc = scenario(xml);
    struct jobs_result jobs;
    assert_int_equal(output_begin(in_dir("a/b"), sc, err, sizeof err), 0);
    make_results(sc, &jobs, 10);
    for (size_t i = 0; i < jobs.n; i++)
        assert_int_equal(output_run(in_dir("a/b"), &jobs.results[i], err, sizeof err), 0);
    assert_int_equal(output_end(in_dir("a/b"), sc, &jobs, err, sizeof err), 0);
    assert_true(there("a/b/summary.json") && there("a/b/variants.csv") && there("a/b/t-f-seed1/messages.csv") && there("a/b/t-f-seed2/queue.csv"));
    assert_int_equal(shell("test -z \"$(find '%s' -name '*.part')\"", dir), 0);

    /* another scenario into the same directory: nothing old stays, a foreign file does */
    assert_int_equal(shell("cd '%s/a/b' && echo mine > notes.txt && echo mine > t-f-seed2/notes.txt", dir), 0);
    struct scenario *other = scenario("<scenario name=\"o\"><topology kind=\"star\" hosts=\"4\"/><fabric name=\"g\"/><transport name=\"u\" kind=\"roce\"/>"
                                      "<workload kind=\"poisson\"/></scenario>");
    assert_int_equal(output_begin(in_dir("a/b"), other, err, sizeof err), 0);
    assert_false(there("a/b/summary.json") || there("a/b/variants.csv") || there("a/b/t-f-seed1") || there("a/b/t-f-seed2/messages.csv"));
    assert_true(there("a/b/notes.txt") && there("a/b/t-f-seed2/notes.txt") && there("a/b/u-g"));
    jobs_result_fini(&jobs);
    scenario_free(other);
    scenario_free(sc);
}

static void runs_that_did_not_end_leave_nothing(void **state)
{
    (void)state;
    char err[512];
    struct scenario *sc = scenario(xml);
    struct jobs_result jobs;
    assert_int_equal(output_begin(dir, sc, err, sizeof err), 0);
    make_results(sc, &jobs, 10);
    assert_int_equal(output_run(dir, &jobs.results[0], err, sizeof err), 0);
    result_fini(&jobs.results[1]);
    jobs.have[1] = false;
    assert_int_equal(output_end(dir, sc, &jobs, err, sizeof err), 0);
    assert_true(there("summary.json") && there("t-f-seed1/messages.csv"));
    assert_false(there("t-f-seed2"));
    assert_int_not_equal(shell("grep -q seed2 '%s/summary.json'", dir), 0);
    jobs_result_fini(&jobs);
    scenario_free(sc);
}

static void an_unwritable_place_is_told_at_once(void **state)
{
    (void)state;
    static const char *const places[] = { "/dev/full/x", "/dev/null", "/proc/rnicsim", "" };
    char err[512];
    struct scenario *sc = scenario(xml);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(output_begin(places[i], sc, err, sizeof err), -1);
        if (!strstr(err, ": cannot write: ") || strchr(err, '\n'))
            fail_msg("%s: %s", places[i], err);
    }
    scenario_free(sc);
}

/* A disk that takes 20 KB a file and then no more, in a child. */
static void a_full_disk_leaves_nothing_half_written(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        char err[512] = "";
        struct rlimit limit = { 20000, 20000 };
        struct scenario *sc = scenario(xml);
        struct jobs_result jobs;
        signal(SIGXFSZ, SIG_IGN);
        if (output_begin(dir, sc, err, sizeof err) != 0)
            _exit(2);
        make_results(sc, &jobs, 5000);
        setrlimit(RLIMIT_FSIZE, &limit);
        if (output_run(dir, &jobs.results[0], err, sizeof err) == 0)
            _exit(3);
        if (!strstr(err, "t-f-seed1/messages.csv") || strchr(err, '\n'))
            _exit(4);
        output_discard(dir, sc);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(shell("test -z \"$(find '%s' -type f)\"", dir), 0);
}

/* --- the command, in a child with its output where we say --- */

static int command(const char *out, const char *const *argv)
{
    int argc = 0, status;
    while (argv[argc])
        argc++;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen(out, "w", stdout) || !freopen(in_dir("stderr"), "w", stderr))
            _exit(99);
        int rc = cli_main(argc, (char **)argv);
        fflush(stderr);
        _exit(rc);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool said(const char *what)
{
    char text[4096];
    FILE *f = fopen(in_dir("stderr"), "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    if (!strstr(text, what))
        print_error("wanted \"%s\", got: %s\n", what, text);
    return strstr(text, what) != NULL;
}

#define ARGS(...) ((const char *const[]){ "rnicsim", __VA_ARGS__, NULL })

static void exit_statuses(void **state)
{
    (void)state;
    const char *null = "/dev/null";
    static const char *const names[] = { "run", "check", "describe", "plot", "dissect" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(command(null, ARGS(names[i], "--help")), 0);
        assert_int_equal(command(null, ARGS(names[i], "--version")), 0);
    }
    assert_int_equal(command(null, ARGS("--help")), 0);
    assert_int_equal(command(null, ARGS("--version")), 0);
    assert_int_equal(command(null, ARGS("describe")), 0);
    assert_int_equal(command(null, ARGS("rnu")), 2);
    assert_true(said("nearest: run"));
    assert_int_equal(command(null, ARGS("run")), 2);
    assert_int_equal(command(null, ARGS("run", "--engin", "native", "x.xml")), 2);
    assert_true(said("nearest: --engine"));
    assert_int_equal(command(null, ARGS("run", "--engine", "ns4", "x.xml")), 2);
    assert_true(said("ns3, ns3-stock or native"));
    assert_int_equal(command(null, ARGS("run", "--jobs", "0", "x.xml")), 2);
    assert_int_equal(command(null, ARGS("run", "--seed")), 2);
    assert_true(said("--seed needs a value"));
    assert_int_equal(command(null, ARGS("run", "no-such.xml")), 2);
    assert_true(said("no-such.xml: cannot be read: No such file or directory"));
    assert_int_equal(command(null, ARGS("plot", "/no/such/dir")), 2);
    assert_int_equal(command(null, ARGS("describe", "roce.mtuu")), 2);
    assert_true(said("nearest: roce.mtu"));
}

/* Headroom larger than the buffer: refused with the bytes short, at the fabric's line. */
static void impossible_buffers_are_refused(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", in_dir("s.xml"));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("<scenario name=\"s\"><topology kind=\"star\" hosts=\"32\"/>\n<fabric name=\"f\">"
          "<switch pfc=\"on\" buffer=\"1MiB\" headroom=\"33000B\" reserved=\"4096B\"/></fabric>\n"
          "<transport name=\"t\" kind=\"roce\" dscp=\"26\" prio=\"3\"/><workload kind=\"poisson\"/></scenario>", f);
    fclose(f);
    assert_int_equal(command("/dev/null", ARGS("check", path)), 2);
    assert_true(said("s.xml:2: fabric \"f\": "));
    assert_true(said("138,496 B short"));
    assert_int_equal(command("/dev/null", ARGS("run", path, "--out", in_dir("out"))), 2);
    assert_false(there("out"));
    assert_int_equal(command("/dev/null", ARGS("check", path, "--set", "f.buffer=4MiB")), 0);
}

static void a_full_standard_output_is_no_success(void **state)
{
    (void)state;
    assert_int_equal(command("/dev/full", ARGS("describe", "--schema")), 2);
    assert_true(said("standard output: No space left on device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_leaves_its_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_that_did_not_end_leave_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unwritable_place_is_told_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_nothing_half_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exit_statuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_buffers_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_standard_output_is_no_success, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
