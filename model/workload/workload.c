/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine below all generators: channels by pair, the book of messages, progress. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload_internal.h"

/* Order of posting among a host's other events at one time. */
#define POST_SUB 0xfffffe

void *wl_alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p) {
        fprintf(stderr, "rnicsim: out of memory\n");
        abort();
    }
    return p;
}

/* --- channels --- */

static size_t pair_slot(const struct wl *w, uint64_t key)
{
    uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(h ^ h >> 32) & (w->pair_cap - 1);
    while (w->pairs[i].chans && w->pairs[i].key != key)
        i = (i + 1) & (w->pair_cap - 1);
    return i;
}

/* Hosts number less than 2^24. The transport's own priority comes first. */
static uint64_t pair_key(uint32_t src, uint32_t dst, uint8_t prio)
{
    return (uint64_t)src << 40 | (uint64_t)dst << 16 | (uint8_t)(prio + 1);
}

static struct wl_pair *pair_get(struct wl *w, uint64_t key)
{
    if (2 * (w->npairs + 1) > w->pair_cap) {
        struct wl_pair *old = w->pairs;
        size_t old_cap = w->pair_cap;
        w->pair_cap = old_cap ? old_cap * 2 : 64;
        w->pairs = wl_alloc(w->pair_cap, sizeof *w->pairs);
        for (size_t i = 0; i < old_cap; i++)
            if (old[i].chans)
                w->pairs[pair_slot(w, old[i].key)] = old[i];
        free(old);
    }
    struct wl_pair *p = &w->pairs[pair_slot(w, key)];
    if (!p->chans) {
        p->key = key;
        p->chans = wl_alloc(w->conf.per_pair, sizeof *p->chans);
        w->npairs++;
    }
    return p;
}

static void on_delivered(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps);
static void on_completed(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps, enum rnic_wc_status status);
static const struct wl_sink book = { on_delivered, on_completed };

static struct wl_chan *pair_chan(struct wl *w, struct wl_pair *p, uint32_t which)
{
    if (!p->chans[which])
        p->chans[which] = w->conf.ops->connect(w->conf.ctx, (uint32_t)(p->key >> 40), (uint32_t)(p->key >> 16) & 0xffffff,
                                               (uint8_t)(p->key - 1), which, &book, w);
    return p->chans[which];
}

static struct wl_chan *chan_for(struct wl *w, uint32_t src, uint32_t dst, uint8_t prio)
{
    if (w->conf.per_message)
        return w->conf.ops->connect(w->conf.ctx, src, dst, prio, 0, &book, w);
    struct wl_pair *p = pair_get(w, pair_key(src, dst, prio));
    uint32_t which = p->turn;
    p->turn = which + 1 == w->conf.per_pair ? 0 : which + 1;
    return pair_chan(w, p, which);
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void note_pair(struct wl *w, uint32_t src, uint32_t dst, uint8_t prio) { (void)pair_get(w, pair_key(src, dst, prio)); }

uint64_t wl_connect_all(struct wl *w)
{
    if (w->conf.per_message)
        return 0;
    for (uint32_t i = 0; i < w->conf.nspecs; i++)
        w->streams[i].gen->pairs(&w->streams[i], note_pair);
    uint64_t *keys = wl_alloc(w->npairs, sizeof *keys);
    size_t n = 0;
    for (size_t i = 0; i < w->pair_cap; i++)
        if (w->pairs[i].chans)
            keys[n++] = w->pairs[i].key;
    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < w->conf.per_pair; k++)
            (void)pair_chan(w, pair_get(w, keys[i]), k);
    free(keys);
    return (uint64_t)n * w->conf.per_pair;
}

/* A channel that served one message is given back from an event of its own, never from its callbacks. */
static void give_back(struct sim *s, void *ctx, void *arg)
{
    struct wl *w = ctx;
    struct wl_gone *g = arg, **at = &w->gone;
    (void)s;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    w->conf.ops->disconnect(w->conf.ctx, g->c);
    free(g);
}

static void give_back_later(struct wl *w, struct wl_chan *c, uint32_t node)
{
    if (!w->conf.ops->disconnect)
        return;
    struct wl_gone *g = wl_alloc(1, sizeof *g);
    *g = (struct wl_gone){ w->gone, w, c };
    w->gone = g;
    sim_at(w->sim, sim_now(w->sim), sim_key_node(node, SIM_KIND_WAKE, POST_SUB), give_back, w, g);
}

/* --- the book --- */

static void check_done(struct wl *w)
{
    w->progress.all_posted = true;
    for (uint32_t i = 0; i < w->conf.nspecs; i++)
        if (w->streams[i].live > 0)
            w->progress.all_posted = false;
    if (!wl_done(w) || w->done_told)
        return;
    w->done_told = true;
    if (w->conf.ops->done)
        w->conf.ops->done(w->conf.ctx);
}

void wl_retire(struct wl_stream *st, uint64_t sources)
{
    assert(st->live >= sources);
    st->live -= sources;
    if (st->live == 0)
        check_done(st->w);
}

static void end_message(struct wl *w, struct wl_chan *c, uint64_t id, enum wl_outcome outcome)
{
    struct wl_message *m = &w->msg[id];
    uint32_t src = m->src;
    m->outcome = (uint8_t)outcome;
    w->progress.ended++;
    if (outcome == WL_FAILED)
        w->progress.failed++;
    if (c && w->conf.per_message)
        give_back_later(w, c, src);
}

static void on_delivered(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps)
{
    struct wl *w = ctx;
    struct wl_message *m = &w->msg[id];
    struct wl_stream *st = &w->streams[m->stream];
    if (m->delivered_ps >= 0 || m->outcome != WL_UNFINISHED)
        return;
    m->delivered_ps = now_ps;
    m->waited_timer = wl_chan_timeouts(c) != w->row[id].waits;
    w->progress.payload_bytes += m->bytes;
    if (m->completed_ps >= 0)
        end_message(w, c, id, WL_OK);
    if (st->gen->delivered)
        st->gen->delivered(st, id);
    check_done(w);
}

static void on_completed(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps, enum rnic_wc_status status)
{
    struct wl *w = ctx;
    struct wl_message *m = &w->msg[id];
    struct wl_stream *st = &w->streams[m->stream];
    bool failed = status != RNIC_WC_SUCCESS;
    if (m->outcome != WL_UNFINISHED)
        return;
    bool again = m->completed_ps >= 0;
    m->completed_ps = now_ps;
    if (failed) {
        m->status = (uint8_t)status;
        m->waited_timer = c && wl_chan_timeouts(c) != w->row[id].waits;
        end_message(w, c, id, WL_FAILED);
    } else if (m->delivered_ps >= 0) {
        end_message(w, c, id, WL_OK);
    }
    if (st->gen->completed && (!again || failed))
        st->gen->completed(st, id, failed);
    check_done(w);
}

static uint64_t new_message(struct wl *w)
{
    if (w->nmsg == w->cap) {
        w->cap = w->cap ? w->cap * 2 : 1024;
        w->msg = realloc(w->msg, w->cap * sizeof *w->msg);
        w->row = realloc(w->row, w->cap * sizeof *w->row);
        if (!w->msg || !w->row) {
            fprintf(stderr, "rnicsim: out of memory\n");
            abort();
        }
    }
    return w->nmsg++;
}

uint64_t wl_post_prio(struct wl_stream *st, uint32_t src, uint32_t dst, uint8_t prio, uint64_t bytes, uint64_t cookie)
{
    struct wl *w = st->w;
    int64_t now = sim_now(w->sim), from = w->start_ps + w->conf.window.warmup_ps;
    uint64_t id = new_message(w);
    struct wl_chan *c = chan_for(w, src, dst, prio);
    w->msg[id] = (struct wl_message){ .src = w->hosts[src].node, .dst = w->hosts[dst].node, .flow = c ? wl_chan_id(c) : UINT32_MAX,
        .stream = st->index, .outcome = WL_UNFINISHED, .measured = now >= from && now < w->end_ps, .bytes = bytes, .posted_ps = now,
        .delivered_ps = -1, .completed_ps = -1 };
    w->row[id] = (struct wl_row){ c ? wl_chan_timeouts(c) : 0, cookie, c };
    w->progress.posted++;
    w->progress.last_post_ps = now;
    if (c)
        wl_chan_send(c, id, bytes);
    else
        on_completed(w, NULL, id, now, RNIC_WC_FATAL_ERR);
    return id;
}

/* --- posts that are due later --- */

void wl_at(struct wl_stream *st, int64_t at_ps, uint32_t host, sim_fn *fn, void *ctx, void *arg)
{
    sim_at(st->w->sim, at_ps, sim_key_node(st->w->hosts[host].node, SIM_KIND_WAKE, POST_SUB), fn, ctx, arg);
}

static void due(struct sim *s, void *ctx, void *arg)
{
    struct wl *w = ctx;
    struct wl_due *d = arg, copy = *d;
    (void)s;
    d->next = w->due_spare;
    w->due_spare = d;
    (void)wl_post(copy.st, copy.src, copy.dst, copy.bytes, copy.cookie);
    wl_retire(copy.st, 1);
}

void wl_post_at(struct wl_stream *st, int64_t at_ps, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t cookie)
{
    struct wl *w = st->w;
    struct wl_due *d = w->due_spare;
    if (d) {
        w->due_spare = d->next;
    } else {
        d = wl_alloc(1, sizeof *d);
        d->all = w->due_all;
        w->due_all = d;
    }
    st->live++;
    d->st = st;
    d->src = src;
    d->dst = dst;
    d->bytes = bytes;
    d->cookie = cookie;
    wl_at(st, at_ps, src, due, w, d);
}

/* --- drawing --- */

void wl_rng(const struct wl_stream *st, uint32_t who, enum sim_rng_purpose purpose, struct sim_rng *r)
{
    sim_rng_init(r, st->w->conf.seed, (uint64_t)st->index << 32 | who, purpose);
}

uint64_t wl_draw_size(const struct wl_stream *st, int64_t fixed_bytes, struct sim_rng *r)
{
    return (uint64_t)(st->spec.cdf.n ? wl_cdf_sample(&st->spec.cdf, sim_rng_unit(r)) : fixed_bytes);
}

double wl_mean_size(const struct wl_spec *spec, int64_t fixed_bytes)
{
    return spec->cdf.n ? wl_cdf_mean(&spec->cdf) : (double)fixed_bytes;
}

bool wl_range(int64_t from, int64_t *count, uint32_t nhosts)
{
    if (from >= nhosts)
        return false;
    if (*count == 0)
        *count = nhosts - from;
    return from + *count <= nhosts;
}

void wl_cyclic_permutation(uint32_t *perm, uint32_t n, struct sim_rng *r)
{
    for (uint32_t i = 0; i < n; i++)
        perm[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = sim_rng_below(r, i), t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
}

/* --- life --- */

struct wl *wl_new(struct sim *s, const struct wl_config *c)
{
    char err[160];
    if (wl_check(c, err, sizeof err) != SIM_OK)
        return NULL;
    struct wl *w = wl_alloc(1, sizeof *w);
    w->sim = s;
    w->conf = *c;
    if (w->conf.per_pair == 0)
        w->conf.per_pair = 1;
    w->hosts = wl_alloc(c->nhosts, sizeof *w->hosts);
    memcpy(w->hosts, c->hosts, c->nhosts * sizeof *w->hosts);
    w->conf.hosts = w->hosts;
    w->conf.specs = NULL;
    w->streams = wl_alloc(c->nspecs, sizeof *w->streams);
    w->progress.last_post_ps = -1;
    bool known = true;
    for (uint32_t i = 0; i < c->nspecs; i++) {
        struct wl_stream *st = &w->streams[i];
        *st = (struct wl_stream){ .w = w, .spec = c->specs[i], .index = (uint16_t)i, .gen = wl_generators[c->specs[i].kind] };
        st->gen->init(st);
        uint64_t expected = st->gen->expected(st);
        known = known && expected > 0;
        w->progress.expected += expected;
    }
    if (!known)
        w->progress.expected = 0;
    return w;
}

void wl_free(struct wl *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; i < w->conf.nspecs; i++)
        w->streams[i].gen->fini(&w->streams[i]);
    for (size_t i = 0; i < w->pair_cap; i++)
        free(w->pairs[i].chans);
    while (w->due_all) {
        struct wl_due *d = w->due_all;
        w->due_all = d->all;
        free(d);
    }
    while (w->gone) {
        struct wl_gone *g = w->gone;
        w->gone = g->next;
        free(g);
    }
    free(w->pairs);
    free(w->streams);
    free(w->hosts);
    free(w->msg);
    free(w->row);
    free(w);
}

void wl_start(struct wl *w, int64_t at_ps)
{
    w->start_ps = at_ps;
    w->end_ps = at_ps + w->conf.window.warmup_ps + w->conf.window.duration_ps;
    for (uint32_t i = 0; i < w->conf.nspecs; i++)
        w->streams[i].gen->start(&w->streams[i]);
    check_done(w);
}

void wl_finish(struct wl *w)
{
    for (size_t id = 0; id < w->nmsg; id++) {
        struct wl_message *m = &w->msg[id];
        if (m->outcome != WL_UNFINISHED || !w->row[id].chan || !wl_chan_broken(w->row[id].chan))
            continue;
        m->status = RNIC_WC_RETRY_EXC_ERR;
        end_message(w, NULL, id, WL_FAILED);
    }
}

void wl_progress(const struct wl *w, struct wl_progress *out) { *out = w->progress; }
bool wl_done(const struct wl *w) { return w->progress.all_posted && w->progress.ended == w->progress.posted; }
const struct wl_message *wl_messages(const struct wl *w, size_t *n)
{
    *n = w->nmsg;
    return w->msg;
}
