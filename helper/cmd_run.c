/* SPDX-License-Identifier: GPL-2.0-only */
/* `rnicsim run` and `rnicsim check`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "jobs.h"
#include "output.h"
#include "topology.h"
#include "trace_file.h"

#define ERR_LEN 8192

/* What only building the network tells, such as headroom that the buffer cannot hold, at the fabric that asks for it. */
bool cmd_check_networks(const struct scenario *sc)
{
    char err[ERR_LEN];
    if (run_check(sc, err, sizeof err) == SIM_OK)
        return true;
    for (size_t i = 0; i < sc->nvariants; i++) {
        struct scenario one = *sc;
        one.variants = &sc->variants[i];
        one.nvariants = 1;
        const struct scenario_fabric *f = &sc->fabrics[sc->variants[i].fabric];
        if (run_check(&one, err, sizeof err) != SIM_OK) {
            fprintf(stderr, "%s:%d: fabric \"%s\": %s\n", f->file, f->line, f->name, err);
            return false;
        }
    }
    fprintf(stderr, "%s: %s\n", sc->path, err);
    return false;
}

struct scenario_options cli_scenario_options(const struct cli *c)
{
    return (struct scenario_options){ .size = c->size, .sets = c->sets, .nsets = c->nsets, .has_seed = c->has_seed, .seed = c->seed, .reps = c->reps };
}

static struct scenario *load(const struct cli *c)
{
    char err[ERR_LEN];
    struct scenario_options o = cli_scenario_options(c);
    struct scenario *sc = scenario_load(c->args[0], &o, err, sizeof err);
    if (!sc) {
        fprintf(stderr, "%s\n", err);
        return NULL;
    }
    if (!cmd_check_networks(sc)) {
        scenario_free(sc);
        return NULL;
    }
    return sc;
}

static bool quiet(const struct cli *c) { return c->given & CLI_QUIET; }

int cmd_check(const struct cli *c)
{
    char name[SCENARIO_VARIANT_NAME_MAX];
    struct scenario *sc = load(c);
    if (!sc)
        return CLI_BAD;
    if (!quiet(c)) {
        printf("%s: %u hosts, %zu runs\n", sc->name, sc->topology.nhosts, sc->nvariants);
        for (size_t i = 0; i < sc->nvariants; i++)
            printf("  %s\n", scenario_variant_name(sc, &sc->variants[i], name, sizeof name));
    }
    scenario_free(sc);
    return CLI_OK;
}

static int width_of_terminal(void)
{
    struct winsize w;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 120;
}

static int choose_engine(const struct cli *c, enum run_engine *engine)
{
    char why[400];
    *engine = c->has_engine ? c->engine : RUN_NS3;
    if (run_engine_available(*engine, why, sizeof why))
        return CLI_OK;
    if (c->has_engine) {
        fprintf(stderr, "rnicsim run: that engine is not to be had: %s\n", why);
        return CLI_BAD;
    }
    *engine = RUN_NATIVE;
    if (!quiet(c))
        fprintf(stderr, "rnicsim run: without ns-3 (%s): running natively, with the same results\n", why);
    return CLI_OK;
}

/* --- files as runs end --- */

struct writer { const char *dir; char err[ERR_LEN]; bool failed; };

static int write_run(void *ctx, size_t variant, struct result *r)
{
    struct writer *w = ctx;
    (void)variant;
    if (output_run(w->dir, r, w->err, sizeof w->err) == 0)
        return 0;
    w->failed = true;
    return -1;
}

/* --- what the exit status says --- */

static bool result_is_right(const struct result *r)
{
    bool right = strcmp(r->audit, "ok") == 0;
    size_t failed = 0, unfinished = 0;
    for (size_t i = 0; i < r->nmessages; i++) {
        failed += r->messages[i].outcome == RESULT_FAILED;
        unfinished += r->messages[i].outcome == RESULT_UNFINISHED;
    }
    if (!right)
        fprintf(stderr, "%s: audit: %s\n", r->name, r->audit);
    if (r->expected_failures)
        return right;
    if (failed)
        fprintf(stderr, "%s: %zu messages failed\n", r->name, failed);
    if (unfinished)
        fprintf(stderr, "%s: %zu messages did not finish before the end of the drain\n", r->name, unfinished);
    return right && !failed && !unfinished;
}

/* Whatever ended is written and shown, also when something else went wrong. */
static int finish(const struct cli *c, const struct scenario *sc, const struct jobs_result *jobs, const char *dir)
{
    char err[ERR_LEN];
    int rc = CLI_OK;
    if (output_end(dir, sc, jobs, err, sizeof err) != 0) {
        fprintf(stderr, "%s\n", err);
        return CLI_BAD;
    }
    const struct result **list = calloc(jobs->n, sizeof *list);
    size_t n = 0;
    if (!list)
        abort();
    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->have[i])
            list[n++] = &jobs->results[i];
    if (n && !quiet(c)) {
        result_print_table(list, n, width_of_terminal(), stdout);
        printf("\nResults: %s/summary.json and %zu director%s with messages.csv and queue.csv%s\n", dir, n, n == 1 ? "y" : "ies", list[0]->nflows ? ", and flows.csv" : "");
        fflush(stdout);
    }
    if (n && !(c->given & CLI_NO_PLOTS) && result_plot_dir(dir, quiet(c) ? NULL : stdout, err, sizeof err) != 0)
        fprintf(stderr, "rnicsim run: %s\n", err);
    for (size_t i = 0; i < n; i++)
        if (!result_is_right(list[i]))
            rc = CLI_WRONG;
    free(list);
    return rc;
}

static int run_all(const struct cli *c, const struct scenario *sc, const struct trace_file *trace, const char *dir, enum run_engine engine)
{
    char err[ERR_LEN];
    struct writer w = { .dir = dir };
    struct jobs_result jobs;
    struct jobs_options o = {
        .run = { .engine = engine, .through_bytes = c->given & CLI_THROUGH_BYTES, .pcap_nodes = trace->nodes, .npcap_nodes = trace->n }, .parallel = c->jobs,
        .progress = !quiet(c) && isatty(STDERR_FILENO), .pcap_dir = c->given & CLI_PCAP || trace->n ? dir : NULL, .done = write_run, .ctx = &w,
        .run_one = run_variant };
    int rc = jobs_run(sc, &o, &jobs, err, sizeof err), status;
    if (w.failed) {
        fprintf(stderr, "%s\n", w.err);
        output_discard(dir, sc);
        status = CLI_BAD;
    } else {
        if (rc != 0 && jobs.failed)
            fprintf(stderr, "%s\n", err);
        if (jobs.interrupted)
            fprintf(stderr, "rnicsim run: interrupted; %zu of %zu runs had ended%s\n", jobs.nhave, jobs.n, jobs.nhave ? " and are kept" : "");
        status = finish(c, sc, &jobs, dir);
        if (jobs.failed)
            status = CLI_BAD;
        if (jobs.interrupted)
            status = CLI_INTERRUPTED;
    }
    jobs_result_fini(&jobs);
    return status;
}

static bool read_trace(const struct cli *c, const struct scenario *sc, struct trace_file *trace)
{
    const struct scenario_topology *t = &sc->topology;
    struct host_names names;
    uint32_t nodes = t->list ? t->list->nhosts + t->list->nswitches : topology_nodes(t->params);
    *trace = (struct trace_file){ 0 };
    if (!c->trace)
        return true;
    if (!host_names_init(&names, t->node_names, t->list ? nodes : 0, nodes))
        abort();
    bool ok = trace_file_read(c->trace, &names, trace);
    if (!ok && trace->err_line)
        fprintf(stderr, "%s:%d: %s\n", c->trace, trace->err_line, trace->err);
    else if (!ok)
        fprintf(stderr, "%s: %s\n", c->trace, trace->err);
    if (ok && trace->unknown && !quiet(c))
        fprintf(stderr, "%s: %zu nodes that the network does not have are passed over\n", c->trace, trace->unknown);
    host_names_fini(&names);
    return ok;
}

int cmd_run(const struct cli *c) { return cmd_run_scenario(c, load(c)); }

int cmd_run_scenario(const struct cli *c, struct scenario *sc)
{
    char err[ERR_LEN], dir[4096];
    enum run_engine engine;
    struct trace_file trace;
    if (!sc)
        return CLI_BAD;
    int rc = choose_engine(c, &engine);
    if (!read_trace(c, sc, &trace))
        rc = CLI_BAD;
    if (rc == CLI_OK) {
        if (c->out)
            snprintf(dir, sizeof dir, "%s", c->out);
        else
            snprintf(dir, sizeof dir, "out/%s", sc->name);
        if (output_begin(dir, sc, err, sizeof err) != 0) {
            fprintf(stderr, "%s\n", err);
            rc = CLI_BAD;
        } else {
            rc = run_all(c, sc, &trace, dir, engine);
        }
    }
    free(trace.nodes);
    scenario_free(sc);
    return rc;
}
