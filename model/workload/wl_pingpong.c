/* SPDX-License-Identifier: GPL-2.0-only */
/* Ping-pong: one message under way per pair. */
#include <stdlib.h>

#include "workload_internal.h"

struct pair { struct wl_stream *st; uint32_t host[2]; int64_t round; uint8_t turn; struct sim_rng size; };
struct pingpong { struct pair *pairs; uint32_t n; };

/* Pair i's hosts, or false when there are no more. */
static bool hosts_of(const struct wl_pingpong_params *p, uint32_t nhosts, int64_t i, uint32_t host[2])
{
    int64_t ns = p->sources, nd = p->destinations;
    (void)wl_range(p->source_from, &ns, nhosts);
    (void)wl_range(p->destination_from, &nd, nhosts);
    if (p->source_from == p->destination_from && ns == nd) {
        if (2 * i + 1 >= ns)
            return false;
        host[0] = (uint32_t)(p->source_from + 2 * i);
        host[1] = host[0] + 1;
        return true;
    }
    if (i >= ns || i >= nd)
        return false;
    host[0] = (uint32_t)(p->source_from + i);
    host[1] = (uint32_t)(p->destination_from + i);
    return true;
}

static int check(const struct wl_spec *spec, const struct wl_config *c, char *err, size_t errlen)
{
    const struct wl_pingpong_params *p = &spec->u.pingpong;
    int64_t ns = p->sources, nd = p->destinations, n = 0;
    uint32_t host[2];
    if (!wl_range(p->source_from, &ns, c->nhosts) || !wl_range(p->destination_from, &nd, c->nhosts))
        return wl_refuse(err, errlen, "ping-pong: there are only %u hosts", c->nhosts);
    while ((p->pairs == 0 || n < p->pairs) && hosts_of(p, c->nhosts, n, host)) {
        if (host[0] == host[1])
            return wl_refuse(err, errlen, "ping-pong: pair %lld is host %u with itself", (long long)n + 1, host[0]);
        n++;
    }
    if (n == 0 || n < p->pairs)
        return wl_refuse(err, errlen, "ping-pong: the hosts make only %lld pairs, %lld are asked for", (long long)n, (long long)p->pairs);
    return SIM_OK;
}

static void init(struct wl_stream *st)
{
    const struct wl_pingpong_params *p = &st->spec.u.pingpong;
    struct pingpong *g = wl_alloc(1, sizeof *g);
    uint32_t host[2];
    while ((p->pairs == 0 || g->n < p->pairs) && hosts_of(p, wl_nhosts(st), g->n, host))
        g->n++;
    g->pairs = wl_alloc(g->n, sizeof *g->pairs);
    for (uint32_t i = 0; i < g->n; i++) {
        struct pair *pr = &g->pairs[i];
        pr->st = st;
        (void)hosts_of(p, wl_nhosts(st), i, pr->host);
        wl_rng(st, i, SIM_RNG_SIZE, &pr->size);
    }
    st->state = g;
    st->live = g->n;
}

static void pairs(struct wl_stream *st, wl_pair_fn *fn)
{
    const struct pingpong *g = st->state;
    for (uint32_t i = 0; i < g->n; i++) {
        fn(st->w, g->pairs[i].host[0], g->pairs[i].host[1], WL_PRIO_OWN);
        fn(st->w, g->pairs[i].host[1], g->pairs[i].host[0], WL_PRIO_OWN);
    }
}

static void serve(struct sim *s, void *ctx, void *arg)
{
    struct pair *pr = ctx;
    struct wl_stream *st = pr->st;
    const struct wl_pingpong_params *p = &st->spec.u.pingpong;
    (void)s;
    (void)arg;
    if (p->rounds ? pr->round == p->rounds : wl_window_over(st)) {
        wl_retire(st, 1);
        return;
    }
    unsigned from = pr->turn;
    pr->turn ^= 1;
    pr->round += from;                              /* the answer ends the round */
    (void)wl_post(st, pr->host[from], pr->host[from ^ 1], wl_draw_size(st, p->size_bytes, &pr->size),
                  (uint64_t)(pr - ((struct pingpong *)st->state)->pairs));
}

static void start(struct wl_stream *st)
{
    struct pingpong *g = st->state;
    for (uint32_t i = 0; i < g->n; i++)
        wl_at(st, st->w->start_ps + st->spec.u.pingpong.start_ps, g->pairs[i].host[0], serve, &g->pairs[i], NULL);
}

static void delivered(struct wl_stream *st, uint64_t id)
{
    struct pair *pr = &((struct pingpong *)st->state)->pairs[wl_cookie(st, id)];
    int64_t think = st->spec.u.pingpong.think_ps;
    if (think > 0)
        wl_at(st, wl_now(st) + think, pr->host[pr->turn], serve, pr, NULL);
    else
        serve(st->w->sim, pr, NULL);
}

/* A pair whose message fails before it arrives stops. */
static void completed(struct wl_stream *st, uint64_t id, bool failed)
{
    if (failed && st->w->msg[id].delivered_ps < 0)
        wl_retire(st, 1);
}

static void fini(struct wl_stream *st)
{
    struct pingpong *g = st->state;
    free(g->pairs);
    free(g);
}

static uint64_t expected(const struct wl_stream *st)
{
    const struct pingpong *g = st->state;
    return 2 * (uint64_t)st->spec.u.pingpong.rounds * g->n;
}

const struct wl_generator wl_pingpong_generator = { check, init, pairs, start, delivered, completed, fini, expected };
