/* SPDX-License-Identifier: GPL-2.0-only */
/* Open-loop Poisson arrivals. What a source posts depends on its random streams alone. */
#include <stdlib.h>

#include "workload_internal.h"

struct source {
    struct wl_stream *st;
    uint32_t host, partner;
    int64_t  left;                                  /* messages to post; -1: until the window ends */
    int64_t  next_ps;                               /* of the next post */
    double   mean_gap_ps;
    struct sim_rng gap, size, peer;
};
struct poisson { struct source *sources; uint32_t n; uint32_t dest_from, ndest; };

static int check(const struct wl_spec *spec, const struct wl_config *c, char *err, size_t errlen)
{
    const struct wl_poisson_params *p = &spec->u.poisson;
    int64_t ns = p->sources, nd = p->destinations;
    if (!wl_range(p->source_from, &ns, c->nhosts) || !wl_range(p->destination_from, &nd, c->nhosts))
        return wl_refuse(err, errlen, "poisson: there are only %u hosts", c->nhosts);
    bool only_self = nd == 1 && p->destination_from >= p->source_from && p->destination_from < p->source_from + ns;
    if (only_self)
        return wl_refuse(err, errlen, "poisson: host %lld could only send to itself", (long long)p->destination_from);
    for (int64_t i = 0; i < ns; i++)
        if (c->hosts[p->source_from + i].link_bps <= 0)
            return wl_refuse(err, errlen, "poisson: host %lld has no link to load", (long long)(p->source_from + i));
    return SIM_OK;
}

/* Partners for the sources: a permutation of the destinations as far as they go, none with itself. */
static void draw_partners(struct wl_stream *st, struct poisson *g)
{
    struct sim_rng r;
    uint32_t n = g->ndest, *perm = wl_alloc(n, sizeof *perm);
    wl_rng(st, UINT32_MAX, SIM_RNG_PEER, &r);
    if (n > 1)
        wl_cyclic_permutation(perm, n, &r);
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t host = g->sources[i].host, at = host - g->dest_from;
        if (at >= n)
            at = i % n;                             /* not a destination itself: any will do */
        g->sources[i].partner = g->dest_from + perm[at];
    }
    free(perm);
}

static void rewind_source(struct source *so, uint32_t index)
{
    struct wl_stream *st = so->st;
    wl_rng(st, index, SIM_RNG_ARRIVAL, &so->gap);
    wl_rng(st, index, SIM_RNG_SIZE, &so->size);
    wl_rng(st, index, SIM_RNG_PEER, &so->peer);
    so->left = st->spec.u.poisson.messages ? st->spec.u.poisson.messages : -1;
    so->next_ps = st->spec.u.poisson.start_ps;      /* from the start of the workload */
}

static void init(struct wl_stream *st)
{
    const struct wl_poisson_params *p = &st->spec.u.poisson;
    struct poisson *g = wl_alloc(1, sizeof *g);
    int64_t ns = p->sources, nd = p->destinations;
    (void)wl_range(p->source_from, &ns, wl_nhosts(st));
    (void)wl_range(p->destination_from, &nd, wl_nhosts(st));
    g->n = (uint32_t)ns;
    g->dest_from = (uint32_t)p->destination_from;
    g->ndest = (uint32_t)nd;
    g->sources = wl_alloc(g->n, sizeof *g->sources);
    for (uint32_t i = 0; i < g->n; i++) {
        struct source *so = &g->sources[i];
        so->st = st;
        so->host = (uint32_t)p->source_from + i;
        so->mean_gap_ps = wl_mean_size(&st->spec, p->size_bytes) * 8.0 * (double)SIM_PS_PER_S /
                          (p->load * (double)st->w->hosts[so->host].link_bps);
        rewind_source(so, i);
    }
    if (p->destination == WL_DEST_PERMUTATION)
        draw_partners(st, g);
    st->state = g;
    st->live = g->n;
}

/* Move to the next post. false: there is none. */
static bool advance(struct source *so)
{
    const struct wl_window *win = &so->st->w->conf.window;
    if (so->left == 0)
        return false;
    double gap = sim_rng_exponential(&so->gap, so->mean_gap_ps);
    if (gap > (double)WL_TIME_MAX)
        gap = (double)WL_TIME_MAX;
    so->next_ps += (int64_t)(gap + 0.5);
    if (so->left > 0)
        so->left--;
    else if (so->next_ps >= win->warmup_ps + win->duration_ps)
        return false;
    return true;
}

static uint32_t draw_peer(struct source *so)
{
    const struct poisson *g = so->st->state;
    if (so->st->spec.u.poisson.destination == WL_DEST_PERMUTATION)
        return so->partner;
    uint32_t self = so->host - g->dest_from;        /* wraps when it is below: then not among them either */
    if (self >= g->ndest)
        return g->dest_from + sim_rng_below(&so->peer, g->ndest);
    uint32_t d = sim_rng_below(&so->peer, g->ndest - 1);
    return g->dest_from + (d >= self ? d + 1 : d);
}

static void pairs(struct wl_stream *st, wl_pair_fn *fn)
{
    struct poisson *g = st->state;
    for (uint32_t i = 0; i < g->n; i++) {
        struct source *so = &g->sources[i];
        while (advance(so))
            fn(st->w, so->host, draw_peer(so), WL_PRIO_OWN);
        rewind_source(so, i);
    }
}

static void post(struct sim *s, void *ctx, void *arg);

static void schedule(struct source *so)
{
    if (advance(so))
        wl_at(so->st, so->st->w->start_ps + so->next_ps, so->host, post, so, NULL);
    else
        wl_retire(so->st, 1);
}

static void post(struct sim *s, void *ctx, void *arg)
{
    struct source *so = ctx;
    struct wl_stream *st = so->st;
    (void)s;
    (void)arg;
    uint64_t bytes = wl_draw_size(st, st->spec.u.poisson.size_bytes, &so->size);
    (void)wl_post(st, so->host, draw_peer(so), bytes, 0);
    schedule(so);
}

static void start(struct wl_stream *st)
{
    struct poisson *g = st->state;
    for (uint32_t i = 0; i < g->n; i++)
        schedule(&g->sources[i]);
}

static void fini(struct wl_stream *st)
{
    struct poisson *g = st->state;
    free(g->sources);
    free(g);
}

static uint64_t expected(const struct wl_stream *st)
{
    return (uint64_t)st->spec.u.poisson.messages * ((const struct poisson *)st->state)->n;
}

const struct wl_generator wl_poisson_generator = { check, init, pairs, start, NULL, NULL, fini, expected };
