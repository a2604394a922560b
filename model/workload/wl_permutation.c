/* SPDX-License-Identifier: GPL-2.0-only */
/* Each host sends to one other, keeping a number of messages under way. */
#include <stdlib.h>

#include "workload_internal.h"

struct source {
    struct wl_stream *st;
    uint32_t host, partner;
    int64_t  posted, under_way;
    bool     failed, retired, filling;
    struct sim_rng size;
};
struct permutation { struct source *sources; };

static int check(const struct wl_spec *spec, const struct wl_config *c, char *err, size_t errlen)
{
    const struct wl_permutation_params *p = &spec->u.permutation;
    if (p->pattern == WL_PATTERN_SHIFT && p->shift % c->nhosts == 0)
        return wl_refuse(err, errlen, "permutation: a shift of %lld among %u hosts sends to itself", (long long)p->shift, c->nhosts);
    return SIM_OK;
}

static void init(struct wl_stream *st)
{
    const struct wl_permutation_params *p = &st->spec.u.permutation;
    struct permutation *g = wl_alloc(1, sizeof *g);
    uint32_t n = wl_nhosts(st), *perm = wl_alloc(n, sizeof *perm);
    struct sim_rng r;
    wl_rng(st, UINT32_MAX, SIM_RNG_PEER, &r);
    wl_cyclic_permutation(perm, n, &r);
    g->sources = wl_alloc(n, sizeof *g->sources);
    for (uint32_t i = 0; i < n; i++) {
        struct source *so = &g->sources[i];
        so->st = st;
        so->host = i;
        so->partner = p->pattern == WL_PATTERN_SHIFT ? (uint32_t)((i + (uint64_t)p->shift) % n) : perm[i];
        wl_rng(st, i, SIM_RNG_SIZE, &so->size);
    }
    free(perm);
    st->state = g;
    st->live = n;
}

static void pairs(struct wl_stream *st, wl_pair_fn *fn)
{
    const struct permutation *g = st->state;
    for (uint32_t i = 0; i < wl_nhosts(st); i++)
        fn(st->w, g->sources[i].host, g->sources[i].partner, WL_PRIO_OWN);
}

static bool may_post(const struct source *so)
{
    const struct wl_permutation_params *p = &so->st->spec.u.permutation;
    return !so->failed && (p->messages ? so->posted < p->messages : !wl_window_over(so->st));
}

static void fill(struct sim *s, void *ctx, void *arg)
{
    struct source *so = ctx;
    struct wl_stream *st = so->st;
    const struct wl_permutation_params *p = &st->spec.u.permutation;
    (void)s;
    (void)arg;
    if (so->filling)
        return;
    so->filling = true;
    while (so->under_way < p->outstanding && may_post(so)) {
        so->posted++;
        so->under_way++;
        (void)wl_post(st, so->host, so->partner, wl_draw_size(st, p->size_bytes, &so->size), so->host);
    }
    so->filling = false;
    if (!so->retired && !may_post(so)) {
        so->retired = true;
        wl_retire(st, 1);
    }
}

static void start(struct wl_stream *st)
{
    const struct wl_permutation_params *p = &st->spec.u.permutation;
    struct permutation *g = st->state;
    for (uint32_t i = 0; i < wl_nhosts(st); i++) {
        struct sim_rng r;
        wl_rng(st, i, SIM_RNG_JITTER, &r);
        int64_t late = p->jitter_ps ? (int64_t)(sim_rng_unit(&r) * (double)p->jitter_ps) : 0;
        wl_at(st, st->w->start_ps + p->start_ps + late, i, fill, &g->sources[i], NULL);
    }
}

/* The sender learns of completions; it posts the next on one, and no more after a failure. */
static void completed(struct wl_stream *st, uint64_t id, bool failed)
{
    struct source *so = &((struct permutation *)st->state)->sources[wl_cookie(st, id)];
    so->under_way--;
    so->failed |= failed;
    fill(st->w->sim, so, NULL);
}

static void fini(struct wl_stream *st)
{
    struct permutation *g = st->state;
    free(g->sources);
    free(g);
}

static uint64_t expected(const struct wl_stream *st)
{
    return (uint64_t)st->spec.u.permutation.messages * wl_nhosts(st);
}

const struct wl_generator wl_permutation_generator = { check, init, pairs, start, NULL, completed, fini, expected };
