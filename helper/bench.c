/* SPDX-License-Identifier: GPL-2.0-only */
/* `rnicsim bench`: packet-hops per second of the product's own path, scenario to result, beside what an event of stock ns-3 costs in
 * the same minutes on the same machine. Each case runs in a process of its own, so that its peak memory is its own. */
#include "run.h"

#include "cli.h"
#include "engine.h"
#include "scenario_elements.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_case { const char *name; int k; int mtu; bool incast; const char *size; };

static const struct bench_case cases[] = {
    { "permutation-128-mtu1024",  8,  1024, false, "2MB" },
    { "permutation-128-mtu4096",  8,  4096, false, "2MB" },
    { "incast-127-mtu1024",       8,  1024, true,  "2MB" },
    { "permutation-1024-mtu1024", 16, 1024, false, "2MB" },
    { "permutation-1024-mtu4096", 16, 4096, false, "2MB" },
};
#define CASES (sizeof cases / sizeof cases[0])

struct outcome {
    bool ok;
    uint64_t hops, events;
    double wall_s;
    long peak_kb;
    struct run_memory memory;
    char error[200];
};

struct bench_options { bool json, quick; enum run_engine engines[3]; unsigned nengines; const char *only; };

static int scenario_text(const struct bench_case *c, bool quick, char *out, size_t len)
{
    char workload[200];
    const char *size = quick ? "100kB" : c->size;
    if (c->incast)
        snprintf(workload, sizeof workload, "<workload name='w' kind='incast' size='%s' rounds='1'/>", size);
    else
        snprintf(workload, sizeof workload, "<workload name='w' kind='permutation' size='%s' messages='1'/>", size);
    return snprintf(out, len,
        "<scenario name='bench'>\n"
        "<topology kind='fat-tree' k='%d'/>\n"
        "<fabric name='lossless'><switch pfc='on' ecn='on'/></fabric>\n"
        "<transport name='roce' kind='roce' prio='3' dscp='26' operation='write'><host profile='ideal'/><roce mtu='%dB'/><cc algorithm='dcqcn'/></transport>\n"
        "%s\n"
        "<measure warmup='0s' duration='100ms' drain='1s' self-slowdown='off' sample-interval='1ms'/>\n"
        "</scenario>\n", c->k, c->mtu, workload);
}

static void run_case(const struct bench_case *c, enum run_engine engine, bool quick, struct outcome *o)
{
    char xml[2000];
    struct result r;
    memset(o, 0, sizeof *o);
    int n = scenario_text(c, quick, xml, sizeof xml);
    struct scenario *sc = scenario_load_memory(xml, (size_t)n, "bench", NULL, o->error, sizeof o->error);
    if (!sc)
        return;
    struct run_options opt = { .engine = engine, .memory = &o->memory };
    if (run_variant(sc, &sc->variants[0], &opt, &r, o->error, sizeof o->error) == SIM_OK) {
        o->ok = strcmp(r.audit, "ok") == 0;
        for (size_t i = 0; i < r.nmessages; i++)
            o->ok = o->ok && r.messages[i].outcome == RESULT_OK;
        if (!o->ok)
            snprintf(o->error, sizeof o->error, "messages did not all arrive, or the audit failed: %.120s", r.audit);
        o->hops = r.packet_hops;
        o->events = r.events;
        o->wall_s = r.wall_s;
        result_fini(&r);
    }
    scenario_free(sc);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    o->peak_kb = u.ru_maxrss;
}

/* c NULL: the stock event with `pending` pending; its cost is in wall_s. A process of its own leaves the next one a clean heap. */
static bool run_apart(const struct bench_case *c, enum run_engine engine, unsigned pending, bool quick, struct outcome *o)
{
    int fd[2];
    memset(o, 0, sizeof *o);
    if (pipe(fd) != 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct outcome mine;
        close(fd[0]);
        if (c)
            run_case(c, engine, quick, &mine);
        else
            mine = (struct outcome){ .ok = true, .wall_s = engine_stock_event_ns(pending, quick ? 200000 : 2000000) };
        _exit(write(fd[1], &mine, sizeof mine) == (ssize_t)sizeof mine ? 0 : 1);
    }
    close(fd[1]);
    ssize_t got = pid > 0 ? read(fd[0], o, sizeof *o) : -1;
    close(fd[0]);
    if (pid > 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    if (got != (ssize_t)sizeof *o) {
        o->ok = false;
        snprintf(o->error, sizeof o->error, "the run died");
    }
    return o->ok;
}

/* The faster of two runs; stock events are measured as often as ours. */
static bool run_twice(const struct bench_case *c, enum run_engine engine, unsigned pending, bool quick, struct outcome *o)
{
    struct outcome second;
    if (!run_apart(c, engine, pending, quick, o))
        return false;
    if (!quick && run_apart(c, engine, pending, quick, &second) && second.wall_s < o->wall_s)
        *o = second;
    return true;
}

static void print_outcome(const struct bench_options *b, const struct bench_case *c, enum run_engine e, const struct outcome *o, double stock_ns, bool first)
{
    char engine[16];
    param_format_value(PARAM_ENUM, RUN_ENGINES, e, engine, sizeof engine);
    double ns = o->hops ? o->wall_s * 1e9 / (double)o->hops : 0;
    double per_hop = o->hops ? (double)o->events / (double)o->hops : 0;
    size_t qp = o->memory.conns ? o->memory.conn_bytes / (2 * o->memory.conns) : 0, host = o->memory.hosts ? o->memory.net_bytes / o->memory.hosts : 0;
    if (b->json) {
        printf("%s    { \"case\": \"%s\", \"engine\": \"%s\", \"packet_hops\": %llu, \"packet_hops_per_s\": %.0f, \"ns_per_hop\": %.1f, \"stock_events_per_hop_cost\": %.3f, "
               "\"events_per_hop\": %.3f, \"peak_memory_bytes\": %lld, \"bytes_per_packet\": %zu, \"bytes_per_qp\": %zu, \"bytes_per_host\": %zu, \"grown_bytes\": %zu }",
               first ? "" : ",\n", c->name, engine, (unsigned long long)o->hops, ns > 0 ? 1e9 / ns : 0, ns, stock_ns > 0 ? ns / stock_ns : 0, per_hop,
               (long long)o->peak_kb * 1024, o->memory.packet_bytes, qp, host, o->memory.grown_bytes);
        return;
    }
    printf("%-26s %-9s %8.2f M/s %7.1f ns %6.2f %9.2f %8.1f MB %6zu B %6zu B %7zu B\n", c->name, engine, ns > 0 ? 1e3 / ns : 0, ns,
           stock_ns > 0 ? ns / stock_ns : 0, per_hop, (double)o->peak_kb / 1024, o->memory.packet_bytes, qp, host);
    fflush(stdout);
}

static int usage(FILE *f, int rc)
{
    fputs("usage: rnicsim bench [--json] [--quick] [--engine ns3|ns3-stock|native] [--only CASE]\n"
          "Packet-hops (a packet crossing one link, control packets included) per second of RoCE permutations of 2 MB messages on\n"
          "1:1 fat trees of 100 Gb/s and 1 us links, and of a 127:1 incast, the faster of two runs each; and the cost of a stock ns-3 event.\n"
          "  --json         one JSON object instead of a table\n"
          "  --quick        small messages: a smoke test, not a measurement\n"
          "  --engine E     only this engine (default: native and ns3)\n"
          "  --only CASE    only cases whose name contains CASE\n", f);
    return rc;
}

static int parse(int argc, char **argv, struct bench_options *b)
{
    static const struct option longs[] = { { "json", no_argument, NULL, 'j' }, { "quick", no_argument, NULL, 'q' }, { "engine", required_argument, NULL, 'e' },
                                           { "only", required_argument, NULL, 'o' }, { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
    char err[200];
    int word;
    *b = (struct bench_options){ .engines = { RUN_NATIVE, RUN_NS3 }, .nengines = run_engine_available(RUN_NS3, err, sizeof err) ? 2 : 1, .only = "" };
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;)
        switch (c) {
        case 'j': b->json = true; break;
        case 'q': b->quick = true; break;
        case 'o': b->only = optarg; break;
        case 'h': return usage(stdout, 0);
        case 'e':
            b->nengines = 1;
            if ((word = scenario_word_index(RUN_ENGINES, optarg)) < 0) {
                fprintf(stderr, "rnicsim bench: --engine %s: one of " RUN_ENGINES "\n", optarg);
                return 2;
            }
            b->engines[0] = (enum run_engine)word;
            break;
        default: return usage(stderr, 2);
        }
    if (optind < argc) {
        fprintf(stderr, "rnicsim bench: takes no argument \"%s\"\n", argv[optind]);
        return 2;
    }
    return -1;
}

int bench_main(int argc, char **argv)
{
    struct bench_options b;
    int rc = parse(argc, argv, &b), bad = 0;
    if (rc >= 0)
        return rc;
    struct outcome stock;
    double stock1k = run_twice(NULL, RUN_NS3_STOCK, 1000, b.quick, &stock) ? stock.wall_s : -1;
    double stock10k = run_twice(NULL, RUN_NS3_STOCK, 10000, b.quick, &stock) ? stock.wall_s : -1;
    if (b.json)
        printf("{\n  \"stock_ns3_event_ns\": { \"pending_1000\": %.1f, \"pending_10000\": %.1f },\n  \"cases\": [\n", stock1k, stock10k);
    else if (stock10k > 0)
        printf("stock ns-3 event (DefaultSimulatorImpl, MapScheduler): %.1f ns at 1,000 pending, %.1f ns at 10,000\n", stock1k, stock10k);
    if (!b.json)
        printf("%-26s %-9s %12s %10s %6s %9s %11s %8s %8s %9s\n", "case", "engine", "packet-hops", "a hop", "/stock", "events/hop", "peak", "packet", "QP", "host");
    bool first = true;
    for (size_t i = 0; i < CASES; i++)
        for (unsigned e = 0; e < b.nengines; e++) {
            struct outcome o;
            if (!strstr(cases[i].name, b.only))
                continue;
            if (!run_twice(&cases[i], b.engines[e], 0, b.quick, &o) || !o.ok) {
                fprintf(stderr, "rnicsim bench: %s: %s\n", cases[i].name, o.error);
                bad = 1;
                continue;
            }
            print_outcome(&b, &cases[i], b.engines[e], &o, stock10k, first);
            first = false;
        }
    if (b.json)
        printf("\n  ]\n}\n");
    return bad;
}
