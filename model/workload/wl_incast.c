/* SPDX-License-Identifier: GPL-2.0-only */
/* N to 1, in rounds at an interval, or each when the one before has ended. */
#include <stdlib.h>

#include "workload_internal.h"

struct incast {
    uint32_t *senders;                              /* of the round being begun: the first fan_in */
    uint32_t receiver, fan_in;
    int64_t  round;                                 /* the next to begin */
    uint64_t under_way;                             /* of the round, when rounds follow each other */
    bool     failed;
};

static int check(const struct wl_spec *spec, const struct wl_config *c, char *err, size_t errlen)
{
    const struct wl_incast_params *p = &spec->u.incast;
    if (p->receiver >= c->nhosts)
        return wl_refuse(err, errlen, "incast: receiver %lld, but hosts are 0 to %u", (long long)p->receiver, c->nhosts - 1);
    if (p->fan_in >= c->nhosts)
        return wl_refuse(err, errlen, "incast: %lld senders, but only %u other hosts", (long long)p->fan_in, c->nhosts - 1);
    return SIM_OK;
}

static void init(struct wl_stream *st)
{
    const struct wl_incast_params *p = &st->spec.u.incast;
    struct incast *g = wl_alloc(1, sizeof *g);
    g->receiver = (uint32_t)p->receiver;
    g->fan_in = p->fan_in ? (uint32_t)p->fan_in : wl_nhosts(st) - 1;
    g->senders = wl_alloc(wl_nhosts(st), sizeof *g->senders);
    st->state = g;
    st->live = 1;
}

/* Who sends in a round: a function of the round alone. */
static void choose_senders(struct wl_stream *st, int64_t round)
{
    struct incast *g = st->state;
    uint32_t others = wl_nhosts(st) - 1;
    for (uint32_t i = 0; i < others; i++)
        g->senders[i] = (uint32_t)(((uint64_t)g->receiver + 1 + i) % wl_nhosts(st));
    if (st->spec.u.incast.senders == WL_SENDERS_NEXT)
        return;
    struct sim_rng r;
    wl_rng(st, (uint32_t)round, SIM_RNG_PEER, &r);
    for (uint32_t i = 0; i < g->fan_in; i++) {
        uint32_t j = i + sim_rng_below(&r, others - i), t = g->senders[i];
        g->senders[i] = g->senders[j];
        g->senders[j] = t;
    }
}

static int64_t rounds_in_window(const struct wl_stream *st)
{
    const struct wl_incast_params *p = &st->spec.u.incast;
    const struct wl_window *win = &st->w->conf.window;
    int64_t length = win->warmup_ps + win->duration_ps - p->start_ps;
    return length <= 0 ? 0 : p->interval_ps ? (length + p->interval_ps - 1) / p->interval_ps : INT64_MAX;
}

static bool round_is_due(const struct wl_stream *st, int64_t round)
{
    const struct wl_incast_params *p = &st->spec.u.incast;
    if (p->rounds)
        return round < p->rounds;
    return p->interval_ps ? round < rounds_in_window(st) : !wl_window_over(st);
}

static void pairs(struct wl_stream *st, wl_pair_fn *fn)
{
    const struct wl_incast_params *p = &st->spec.u.incast;
    struct incast *g = st->state;
    int64_t rounds = p->rounds ? p->rounds : rounds_in_window(st);
    uint32_t senders = g->fan_in;
    if (p->senders == WL_SENDERS_NEXT && rounds > 1)
        rounds = 1;
    if (p->senders == WL_SENDERS_RANDOM && rounds > 4096) {
        rounds = 1;                                 /* anybody may be drawn */
        senders = wl_nhosts(st) - 1;
    }
    for (int64_t round = 0; round < rounds; round++) {
        choose_senders(st, round);
        for (uint32_t i = 0; i < senders; i++)
            fn(st->w, g->senders[i], g->receiver, WL_PRIO_OWN);
    }
}

static void begin_round(struct sim *s, void *ctx, void *arg)
{
    struct wl_stream *st = ctx;
    struct incast *g = st->state;
    const struct wl_incast_params *p = &st->spec.u.incast;
    struct sim_rng jitter, size;
    (void)arg;
    if (g->failed || !round_is_due(st, g->round)) {
        wl_retire(st, 1);
        return;
    }
    int64_t now = sim_now(s), round = g->round++;
    choose_senders(st, round);
    wl_rng(st, (uint32_t)round, SIM_RNG_JITTER, &jitter);
    wl_rng(st, (uint32_t)round, SIM_RNG_SIZE, &size);
    g->under_way = g->fan_in;
    for (uint32_t i = 0; i < g->fan_in; i++) {
        int64_t late = p->jitter_ps ? (int64_t)(sim_rng_unit(&jitter) * (double)p->jitter_ps) : 0;
        wl_post_at(st, now + late, g->senders[i], g->receiver, wl_draw_size(st, p->size_bytes, &size), 0);
    }
    if (p->interval_ps == 0)
        return;
    if (round_is_due(st, g->round))
        wl_at(st, now + p->interval_ps, g->receiver, begin_round, st, NULL);
    else
        wl_retire(st, 1);
}

static void start(struct wl_stream *st)
{
    struct incast *g = st->state;
    wl_at(st, st->w->start_ps + st->spec.u.incast.start_ps, g->receiver, begin_round, st, NULL);
}

static void one_ended(struct wl_stream *st)
{
    struct incast *g = st->state;
    if (st->spec.u.incast.interval_ps > 0 || --g->under_way > 0)
        return;
    if (!g->failed && round_is_due(st, g->round))
        wl_at(st, wl_now(st), g->receiver, begin_round, st, NULL);
    else
        wl_retire(st, 1);
}

static void delivered(struct wl_stream *st, uint64_t id)
{
    (void)id;
    one_ended(st);
}

/* After a failure no further round begins where rounds follow each other. */
static void completed(struct wl_stream *st, uint64_t id, bool failed)
{
    if (!failed || st->w->msg[id].delivered_ps >= 0)
        return;
    ((struct incast *)st->state)->failed = st->spec.u.incast.interval_ps == 0;
    one_ended(st);
}

static void fini(struct wl_stream *st)
{
    struct incast *g = st->state;
    free(g->senders);
    free(g);
}

static uint64_t expected(const struct wl_stream *st)
{
    return (uint64_t)st->spec.u.incast.rounds * ((const struct incast *)st->state)->fan_in;
}

const struct wl_generator wl_incast_generator = { check, init, pairs, start, delivered, completed, fini, expected };
