/* SPDX-License-Identifier: GPL-2.0-only */
/* `rnicsim hpcc`: the HPCC family's topology, flow and trace files, run without a scenario file. A scenario is written in memory, with that
 * simulator's published settings at 100 Gb/s. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/workload/workload.h"
#include "cli.h"
#include "flows_file.h"
#include "network_file.h"

#define ERR_LEN 8192

static int complain(const char *path, int line, const char *text)
{
    if (line)
        fprintf(stderr, "%s:%d: %s\n", path, line, text);
    else
        fprintf(stderr, "%s: %s\n", path, text);
    return -1;
}

/* What the flows ask of the rest: when the last begins after the first, and their priorities. */
struct demand { int64_t span_ps; unsigned prios, prio; };

static void remark(const char *path, int line, const char *what, size_t n, bool quiet)
{
    if (line && !quiet)
        fprintf(stderr, "%s:%d: from here on the file is taken for a remark: its first line announces %zu %s\n", path, line, n, what);
}

static int read_demand(const char *const path[2], bool quiet, struct demand *d)
{
    struct network_file net;
    struct network_file_error ne;
    struct flows_file_error fe = { 0 };
    struct host_names names;
    struct wl_flow *flow;
    size_t n;
    if (!network_file_read(path[0], &net, &ne))
        return complain(path[0], ne.line, ne.text);
    if (!host_names_init(&names, (const char *const *)net.names, net.nhosts + net.nswitches, net.nhosts))
        abort();
    bool ok = flows_file_read(path[1], &names, &flow, &n, &fe);
    host_names_fini(&names);
    remark(path[0], ne.note_line, "links", net.nlinks, quiet);
    network_file_fini(&net);
    if (!ok)
        return complain(path[1], fe.line, fe.text);
    remark(path[1], fe.note_line, "flows", n, quiet);
    int64_t first = INT64_MAX, last = 0;
    *d = (struct demand){ .prio = flow[0].prio > 7 ? 3 : flow[0].prio };
    d->prios = 1u << d->prio;
    for (size_t i = 0; i < n; i++) {
        first = flow[i].start_ps < first ? flow[i].start_ps : first;
        last = flow[i].start_ps > last ? flow[i].start_ps : last;
        if (flow[i].prio <= 7)
            d->prios |= 1u << flow[i].prio;
    }
    d->span_ps = last - first;
    free(flow);
    return 0;
}

static void put_escaped(FILE *f, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '<': fputs("&lt;", f); break;
        case '&': fputs("&amp;", f); break;
        case '"': fputs("&quot;", f); break;
        default:  fputc(*s, f); break;
        }
}

static void write_scenario(FILE *f, const char *const path[2], const struct demand *d)
{
    fputs("<scenario name=\"hpcc\">\n<topology file=\"", f);
    put_escaped(f, path[0]);
    fprintf(f, "\"/>\n<fabric name=\"pfc-ecn\"><switch buffer=\"32MB\" pfc=\"on\" lossless-prios=\"%u\" pfc-alpha=\"0.125\" pfc-xon-offset=\"3kB\" "
               "ecn=\"on\" ecn-kmin=\"400kB\" ecn-kmax=\"1600kB\" ecn-pmax=\"20%%\"/></fabric>\n", d->prios);
    fprintf(f, "<transport name=\"roce\" kind=\"roce\" operation=\"write\" prio=\"%u\" dscp=\"%u\" connections=\"per-message\"><host profile=\"ideal\"/>"
               "<roce mtu=\"1024B\"/></transport>\n<workload kind=\"flows\" from-first=\"yes\" file=\"", d->prio, d->prio == 3 ? 26 : d->prio << 3);
    put_escaped(f, path[1]);
    fprintf(f, "\"/>\n<measure duration=\"%lldps\" drain=\"10s\"/>\n</scenario>\n", (long long)d->span_ps + 1000000000000); /* the flows end by themselves */
}

int cmd_hpcc(const struct cli *c)
{
    char err[ERR_LEN], *xml = NULL;
    size_t len = 0;
    struct demand d;
    const char *const path[2] = { c->args[0], c->args[1] };
    if (read_demand(path, c->given & CLI_QUIET, &d) != 0)
        return CLI_BAD;
    FILE *f = open_memstream(&xml, &len);
    if (!f)
        abort();
    write_scenario(f, path, &d);
    fclose(f);
    struct scenario_options o = cli_scenario_options(c);
    struct scenario *sc = scenario_load_memory(xml, len, "hpcc", &o, err, sizeof err);
    free(xml);
    if (!sc)
        fprintf(stderr, "%s\n", err);
    if (sc && !cmd_check_networks(sc)) {
        scenario_free(sc);
        sc = NULL;
    }
    struct cli with_trace = *c;
    with_trace.trace = c->nargs > 2 ? c->args[2] : NULL;
    return cmd_run_scenario(&with_trace, sc);
}
