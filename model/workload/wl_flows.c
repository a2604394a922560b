/* SPDX-License-Identifier: GPL-2.0-only */
/* Flows that are listed one by one. Each source host posts its own in order of their start, with one event pending. */
#include <stdlib.h>

#include "workload_internal.h"

/* A source's part of the sorted list. */
struct source { struct wl_stream *st; const struct wl_flow *next, *end; };
struct flows {
    struct wl_flow *flow;        /* those that run, by (src, start, place in the list) */
    size_t n;
    struct source *sources;
    uint32_t nsources;
    int64_t origin_ps;           /* taken off each start */
};

static struct wl_flow scaled(const struct wl_spec *spec, size_t i)
{
    const struct wl_flows_params *p = &spec->u.flows;
    struct wl_flow f = spec->flows.flow[i];
    double bytes = (double)f.bytes * p->size_scale, start = (double)f.start_ps * p->time_scale;
    f.bytes = p->size_scale == 1 ? f.bytes : bytes < 1 ? 1 : bytes > 2.0 * (double)WL_BYTES_MAX ? 2 * WL_BYTES_MAX : (int64_t)bytes;
    f.start_ps = p->time_scale == 1 ? f.start_ps : start > 2.0 * (double)WL_TIME_MAX ? 2 * WL_TIME_MAX : (int64_t)start;
    return f;
}

int64_t wl_flows_max_bytes(const struct wl_spec *spec)
{
    int64_t max = 0;
    for (size_t i = 0; i < spec->flows.n; i++)
        max = scaled(spec, i).bytes > max ? scaled(spec, i).bytes : max;
    return max;
}

static int check(const struct wl_spec *spec, const struct wl_config *c, char *err, size_t errlen)
{
    if (spec->flows.n == 0)
        return wl_refuse(err, errlen, "flows: none is listed");
    if (spec->cdf.n)
        return wl_refuse(err, errlen, "flows: each has a size of its own, a distribution of sizes has no use");
    for (size_t i = 0; i < spec->flows.n; i++) {
        const struct wl_flow flow = scaled(spec, i), *f = &flow;
        if (f->src >= c->nhosts || f->dst >= c->nhosts)
            return wl_refuse(err, errlen, "flow %zu: host %u, but hosts are 0 to %u", i + 1, f->src >= c->nhosts ? f->src : f->dst, c->nhosts - 1);
        if (f->src == f->dst)
            return wl_refuse(err, errlen, "flow %zu: host %u sends to itself", i + 1, f->src);
        if (f->bytes < 1 || f->bytes > WL_BYTES_MAX)
            return wl_refuse(err, errlen, "flow %zu: %lld bytes, but a message has 1 to %lld", i + 1, (long long)f->bytes, (long long)WL_BYTES_MAX);
        if (f->start_ps < 0 || f->start_ps > WL_TIME_MAX)
            return wl_refuse(err, errlen, "flow %zu: its start is not between 0 and 1000 s", i + 1);
        if (f->prio > 7 && f->prio != WL_PRIO_OWN)
            return wl_refuse(err, errlen, "flow %zu: priority %u, but priorities are 0 to 7", i + 1, f->prio);
    }
    return SIM_OK;
}

struct sorted { struct wl_flow flow; size_t at; };

static int by_start(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    if (x->flow.start_ps != y->flow.start_ps)
        return x->flow.start_ps < y->flow.start_ps ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_source(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    return x->flow.src != y->flow.src ? (x->flow.src < y->flow.src ? -1 : 1) : by_start(a, b);
}

static void make_sources(struct wl_stream *st, struct flows *g)
{
    for (size_t i = 0; i < g->n; i++)
        g->nsources += i == 0 || g->flow[i].src != g->flow[i - 1].src;
    g->sources = wl_alloc(g->nsources, sizeof *g->sources);
    uint32_t s = 0;
    for (size_t i = 0; i < g->n; i++) {
        if (i && g->flow[i].src != g->flow[i - 1].src)
            s++;
        struct source *so = &g->sources[s];
        so->st = st;
        if (!so->next)
            so->next = &g->flow[i];
        so->end = &g->flow[i] + 1;
    }
}

static void init(struct wl_stream *st)
{
    const struct wl_flows_params *p = &st->spec.u.flows;
    const struct wl_flow_list *l = &st->spec.flows;
    struct flows *g = wl_alloc(1, sizeof *g);
    struct sorted *all = wl_alloc(l->n, sizeof *all);
    for (size_t i = 0; i < l->n; i++)
        all[i] = (struct sorted){ scaled(&st->spec, i), i };
    qsort(all, l->n, sizeof *all, by_start);
    g->n = p->limit && (uint64_t)p->limit < l->n ? (size_t)p->limit : l->n;
    g->origin_ps = p->from_first ? all[0].flow.start_ps : 0;
    qsort(all, g->n, sizeof *all, by_source);
    g->flow = wl_alloc(g->n, sizeof *g->flow);
    for (size_t i = 0; i < g->n; i++)
        g->flow[i] = all[i].flow;
    free(all);
    make_sources(st, g);
    st->state = g;
    st->live = g->nsources;
}

static void pairs(struct wl_stream *st, wl_pair_fn *fn)
{
    const struct flows *g = st->state;
    for (size_t i = 0; i < g->n; i++)
        fn(st->w, g->flow[i].src, g->flow[i].dst, g->flow[i].prio);
}

static int64_t due_ps(const struct source *so)
{
    const struct wl_stream *st = so->st;
    return st->w->start_ps + st->spec.u.flows.start_ps + so->next->start_ps - ((const struct flows *)st->state)->origin_ps;
}

static void post_due(struct sim *s, void *ctx, void *arg)
{
    struct source *so = ctx;
    struct wl_stream *st = so->st;
    uint32_t host = so->next->src;
    (void)arg;
    while (so->next < so->end && due_ps(so) <= sim_now(s)) {
        const struct wl_flow *f = so->next++;
        (void)wl_post_prio(st, f->src, f->dst, f->prio, (uint64_t)f->bytes, 0);
    }
    if (so->next < so->end)
        wl_at(st, due_ps(so), host, post_due, so, NULL);
    else
        wl_retire(st, 1);
}

static void start(struct wl_stream *st)
{
    struct flows *g = st->state;
    for (uint32_t i = 0; i < g->nsources; i++)
        wl_at(st, due_ps(&g->sources[i]), g->sources[i].next->src, post_due, &g->sources[i], NULL);
}

static void fini(struct wl_stream *st)
{
    struct flows *g = st->state;
    free(g->flow);
    free(g->sources);
    free(g);
}

static uint64_t expected(const struct wl_stream *st) { return ((const struct flows *)st->state)->n; }

const struct wl_generator wl_flows_generator = { check, init, pairs, start, NULL, NULL, fini, expected };
