/* SPDX-License-Identifier: GPL-2.0-only */
/* Workloads of a scenario: sizes found by name, hosts in range, loads that links can carry. */
#include <stdio.h>
#include <string.h>

#include "../model/workload/workload.h"
#include "scenario_internal.h"
#include "topology.h"

static void find_sizes(struct scenario *sc, struct scenario_workload *w, struct scenario_errors *e)
{
    const char *near = NULL;
    unsigned least = ~0u;
    for (uint32_t i = 0; w->sizes && i < sc->ncdfs; i++) {
        unsigned d = param_edit_distance(w->sizes, sc->cdfs[i]->name);
        if (d == 0)
            w->cdf = sc->cdfs[i];
        if (d < least) {
            least = d;
            near = sc->cdfs[i]->name;
        }
    }
    if (w->sizes && !w->cdf)
        scenario_error(e, w->file, w->line, "<workload> sizes: there is no <cdf> called \"%s\"%s%s", w->sizes, near ? "; nearest: " : ", and none at all", near ? near : "");
    if (w->cdf)
        w->spec->cdf = (struct wl_cdf){ w->cdf->points, w->cdf->npoints };
}

static bool sources_meet(const struct wl_poisson_params *a, const struct wl_poisson_params *b)
{
    int64_t a_end = a->sources ? a->source_from + a->sources : INT64_MAX, b_end = b->sources ? b->source_from + b->sources : INT64_MAX;
    return a->source_from < b_end && b->source_from < a_end;
}

static double load_in(const struct scenario *sc, const struct scenario_workload *w, double swept)
{
    (void)sc;
    return swept > 0 ? swept : w->spec->u.poisson.load;
}

/* Several Poisson streams from the same hosts add up. */
static void check_sum(struct scenario *sc, struct scenario_errors *e, double swept)
{
    for (uint32_t i = 0; i < sc->nworkloads; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < sc->nworkloads; k++)
            if (sc->workloads[i].has_load && sc->workloads[k].has_load && sources_meet(&sc->workloads[i].spec->u.poisson, &sc->workloads[k].spec->u.poisson))
                sum += load_in(sc, &sc->workloads[k], swept);
        if (sum > 1 + 1e-9) {
            scenario_error(e, sc->workloads[i].file, sc->workloads[i].line, "workloads of the same hosts add up to a load of %g%%: links carry 100%%", sum * 100);
            return;
        }
    }
}

static struct wl_chan *no_channel(void *ctx, uint32_t src, uint32_t dst, uint8_t prio, uint32_t which, const struct wl_sink *sink, void *sink_ctx)
{
    (void)ctx; (void)src; (void)dst; (void)prio; (void)which; (void)sink; (void)sink_ctx;
    return NULL;
}

/* The workload room's own check, one stream at a time so that the message names it. */
static void check_stream(struct scenario *sc, const struct scenario_workload *w, struct scenario_errors *e)
{
    static const struct wl_connect_ops ops = { .connect = no_channel };
    char err[300];
    uint32_t n = sc->topology.nhosts;
    struct wl_host *hosts = scenario_memory_get(sc->memory, n, sizeof *hosts);
    for (uint32_t i = 0; i < n; i++)
        hosts[i] = (struct wl_host){ i, sc->topology.params->host_rate_bps };
    struct wl_config c = { .specs = w->spec, .nspecs = 1, .hosts = hosts, .nhosts = n,
                           .window = { sc->measure->warmup_ps, sc->measure->duration_ps }, .seed = 1, .per_pair = 1, .ops = &ops };
    if (wl_check(&c, err, sizeof err) != SIM_OK)
        scenario_error(e, w->file, w->line, "workload \"%s\": %s", w->name, err);
}

/* Flows in other priorities than a transport's have the class selector for DSCP, which then must not be the transport's own DSCP. */
static void check_classes(const struct scenario *sc, const struct scenario_workload *w, struct scenario_errors *e)
{
    unsigned used = 0;
    for (size_t i = 0; i < w->spec->flows.n; i++)
        if (w->spec->flows.flow[i].prio != WL_PRIO_OWN)
            used |= 1u << w->spec->flows.flow[i].prio;
    for (uint32_t t = 0; t < sc->ntransports; t++) {
        const struct transport_params *p = sc->transports[t].params;
        if (p->dscp % 8 == 0 && p->dscp / 8 != p->prio && (used >> p->dscp / 8 & 1))
            scenario_error(e, w->file, w->line, "workload \"%s\" has flows of priority %lld, whose DSCP is %lld; transport \"%s\" has this DSCP in priority %lld",
                           w->name, (long long)p->dscp / 8, (long long)p->dscp, sc->transports[t].name, (long long)p->prio);
    }
}

void scenario_check_workloads(struct scenario *sc, struct scenario_errors *e, double *own_load, bool *have_load)
{
    for (uint32_t i = 0; i < sc->nworkloads; i++) {
        struct scenario_workload *w = &sc->workloads[i];
        find_sizes(sc, w, e);
        if (w->has_load) {
            *have_load = true;
            *own_load = w->spec->u.poisson.load > *own_load ? w->spec->u.poisson.load : *own_load;
        }
    }
    for (uint32_t i = 0; i < sc->nworkloads && !e->count; i++) {
        check_stream(sc, &sc->workloads[i], e);
        check_classes(sc, &sc->workloads[i], e);
    }
    if (!sc->nloads)
        check_sum(sc, e, -1);
    for (size_t i = 0; i < sc->nloads; i++)
        check_sum(sc, e, sc->loads[i]);
}

void scenario_variant_spec(const struct scenario *sc, const struct variant *v, uint32_t w, struct wl_spec *out)
{
    *out = *sc->workloads[w].spec;
    if (sc->loads_swept && sc->workloads[w].has_load)
        out->u.poisson.load = v->load;
}
