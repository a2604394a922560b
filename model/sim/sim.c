/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim *sim_new(uint64_t seed)
{
    struct sim *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->seed = seed;
    s->line[0] = SIM_HEAD_NEVER;
    s->heap.head_order = UINT64_MAX;
    return s;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->lane_count; i++) {
        free(s->lanes[i]->ring);
        free(s->lanes[i]);
    }
    sim_heap_free(&s->heap);
    sim_pool_fini(&s->packets);
    free(s->sort_records);
    free(s->sort_pairs);
    free(s->digests);
    free(s);
}

int64_t sim_now(const struct sim *s)
{
    return s->now_ps;
}

uint64_t sim_seed(const struct sim *s)
{
    return s->seed;
}

#define JOIN_STEPS 32 /* most records are one or two from their place; many far ones are cheaper sorted together */

/* The lane's last record has joined a run: it goes to its place there, or JOIN_STEPS towards it. */
static SIM_NOINLINE void join_run(struct sim *s, struct sim_lane *lane)
{
    struct sim_record *ring = lane->ring;
    uint32_t mask = lane->mask, last = lane->tail - 1, first = lane->last_run, at = last;
    struct sim_record r = ring[last & mask];
    struct sim_head v = { r.at_ps, r.key, r.order, lane };
    uint64_t key = sim_key_at(r.key, r.at_ps);
    uint32_t steps = ring[first & mask].order & SIM_UNSORTED ? 0 : JOIN_STEPS;

    for (; at != first && last - at < steps; at--) {
        const struct sim_record *before = &ring[(at - 1) & mask];

        if (before->key >> 40 < key >> 40 || (before->key >> 40 == key >> 40 && sim_key_at(before->key, before->at_ps) <= key))
            break;
        ring[at & mask] = *before;
    }
    ring[at & mask] = r;
    lane->last_key = ring[last & mask].key;
    if (SIM_UNLIKELY(last - at == steps && at != first))
        ring[first & mask].order |= SIM_UNSORTED;
    if (first == lane->head && sim_head_less(&v, &s->line[sim_line_place(s, lane)]))
        sim_line_earlier(s, &v, false);
}

static SIM_NOINLINE void fill_lane(struct sim *s, struct sim_lane *lane)
{
    const struct sim_record *r = &lane->ring[lane->head & lane->mask];
    struct sim_head v = { r->at_ps, r->key, r->order, lane };

    sim_line_earlier(s, &v, true);
}

/* What an empty lane had last is in the past, so a run never seems to go on there. */
static inline __attribute__((always_inline)) void append(struct sim *s, struct sim_lane *lane, uint64_t key, uint32_t fn, void *ctx, void *arg)
{
    uint32_t at = lane->tail++;
    struct sim_record *r = &lane->ring[at & lane->mask];
    uint64_t last_key = lane->last_key;

    r->key = lane->last_key = key;
    r->ctx = ctx;
    r->arg = arg;
    s->order += UINT64_C(1) << 16;
    r->order = s->order | fn;
    r->at_ps = s->now_ps + lane->delay_ps;
    if (lane->last_ps == r->at_ps) {
        if (SIM_UNLIKELY(key >> 40 <= last_key >> 40))
            join_run(s, lane);
        return;
    }
    lane->last_ps = r->at_ps;
    lane->last_run = at;
    if (SIM_UNLIKELY(at == lane->head))
        fill_lane(s, lane);
}

static inline bool is_full(const struct sim_lane *lane) { return (int32_t)(lane->tail - lane->head) > (int32_t)lane->mask; }

static SIM_NOINLINE void push_unusual(struct sim *s, struct sim_lane *lane, uint64_t key, uint32_t fn, void *ctx, void *arg)
{
    if (lane->delay_ps == 0) {
        sim_at(s, s->now_ps, key, s->fns[fn], ctx, arg);
        return;
    }
    sim_lane_grow(lane);
    append(s, lane, key, fn, ctx, arg);
}

void sim_lane_push(struct sim *s, struct sim_lane *lane, uint64_t key, uint32_t fn, void *ctx, void *arg)
{
    if (SIM_UNLIKELY(is_full(lane)))
        push_unusual(s, lane, key, fn, ctx, arg);
    else
        append(s, lane, key, fn, ctx, arg);
}

#define LANE_AHEAD 3 /* one event is shorter than a cache miss, so not the next but a later one of the lane */

/* While an event runs, the objects of a later one come from memory. (Records come in order, as processors foresee.) No function: gcc takes one
 * that only prefetches for one without effect and drops its calls. */
#define LOOK_AHEAD(ring, mask, head, tail) \
    do { \
        if ((tail) - (head) > LANE_AHEAD) { \
            const struct sim_record *ahead = &(ring)[((head) + LANE_AHEAD) & (mask)]; \
            __builtin_prefetch(ahead->arg); \
            __builtin_prefetch((const char *)ahead->arg + 64); \
            __builtin_prefetch(ahead->ctx); \
            __builtin_prefetch((const char *)ahead->ctx + 64); \
        } \
    } while (0)

/* A run is out of order, or the lane becomes empty. */
static SIM_NOINLINE void lane_step_slow(struct sim *s, struct sim_lane *lane)
{
    struct sim_record r;
    struct sim_head v = SIM_HEAD_NEVER;

    if (lane->ring[lane->head & lane->mask].order & SIM_UNSORTED)
        sim_lane_sort_run(s, lane);
    r = lane->ring[lane->head & lane->mask];
    if (++lane->head != lane->tail) {
        const struct sim_record *n = &lane->ring[lane->head & lane->mask];

        if (n->order & SIM_UNSORTED)
            sim_lane_sort_run(s, lane);
        v = (struct sim_head){ n->at_ps, n->key, n->order, lane };
    }
    sim_line_later(s, 0, &v);
    s->line_count -= v.at_ps == SIM_NEVER_PS;
    LOOK_AHEAD(lane->ring, lane->mask, lane->head, lane->tail);
    s->fns[r.order & (SIM_FN_SLOTS - 1)](s, r.ctx, r.arg);
}

/* Most often the lane's next record takes the lane's place in the line or one of the next. */
static inline __attribute__((always_inline)) void lane_step(struct sim *s, struct sim_lane *lane)
{
    const struct sim_record *ring = lane->ring;
    uint32_t mask = lane->mask, head = lane->head, next = head + 1, tail = lane->tail;
    const struct sim_record *r = &ring[head & mask], *n = &ring[next & mask];
    struct sim_head v = { n->at_ps, n->key, n->order, lane };

    if (SIM_UNLIKELY(next == tail) || SIM_UNLIKELY((r->order | n->order) & SIM_UNSORTED)) {
        lane_step_slow(s, lane);
        return;
    }
    lane->head = next;
    sim_line_later(s, 0, &v);
    LOOK_AHEAD(ring, mask, next, tail);
    s->fns[r->order & (SIM_FN_SLOTS - 1)](s, r->ctx, r->arg);
}

static inline __attribute__((always_inline)) void step(struct sim *s)
{
    struct sim_lane *lane = s->line[0].lane;

    s->now_ps = s->line[0].at_ps;
    s->events++;
    if (SIM_LIKELY(lane != NULL))
        lane_step(s, lane);
    else
        sim_heap_step(s);
}

static inline uint8_t halted(const struct sim *s)
{
    return __atomic_load_n(&s->halt, __ATOMIC_RELAXED);
}

int64_t sim_next_ps(const struct sim *s)
{
    return s->line[0].at_ps;
}

bool sim_step(struct sim *s)
{
    bool outer = s->stepping;

    if (s->line[0].at_ps == SIM_NEVER_PS)
        return false;
    s->stepping = true;
    step(s);
    s->stepping = outer;
    return true;
}

void sim_run(struct sim *s, int64_t until_ps)
{
    int64_t last_ps = until_ps == SIM_NEVER_PS ? SIM_NEVER_PS - 1 : until_ps;
    bool outer = s->stepping;

    __atomic_and_fetch(&s->halt, (uint8_t)~SIM_HALT_STOP, __ATOMIC_RELAXED);
    s->stepping = true;
    while (!halted(s) && s->line[0].at_ps <= last_ps)
        step(s);
    s->stepping = outer;
    if (!halted(s) && until_ps != SIM_NEVER_PS && until_ps > s->now_ps)
        s->now_ps = until_ps;
}

void sim_stop(struct sim *s)
{
    __atomic_or_fetch(&s->halt, SIM_HALT_STOP, __ATOMIC_RELAXED);
}

bool sim_stopped(const struct sim *s)
{
    return halted(s) & SIM_HALT_STOP;
}

void sim_interrupt(struct sim *s, bool on)
{
    if (on)
        __atomic_or_fetch(&s->halt, SIM_HALT_INTERRUPT, __ATOMIC_RELEASE);
    else
        __atomic_and_fetch(&s->halt, (uint8_t)~SIM_HALT_INTERRUPT, __ATOMIC_ACQUIRE);
}

void sim_advance(struct sim *s, int64_t at_ps)
{
    assert(at_ps >= s->now_ps && at_ps <= s->line[0].at_ps);
    s->now_ps = at_ps;
}

void sim_on_earlier(struct sim *s, void (*fn)(void *ctx, int64_t next_ps), void *ctx)
{
    s->earlier = fn;
    s->earlier_ctx = ctx;
}

uint64_t sim_events_run(const struct sim *s)
{
    return s->events;
}

size_t sim_events_pending(const struct sim *s)
{
    size_t n = s->heap.count;

    for (uint32_t i = 0; i < s->lane_count; i++)
        n += s->lanes[i]->tail - s->lanes[i]->head;
    return n;
}

void sim_take_pending(struct sim *s, sim_fn *fn, bool (*take)(void *to, void *ctx, void *arg), void *to)
{
    for (uint32_t i = 0; i < s->lane_count; i++) {
        const struct sim_lane *lane = s->lanes[i];

        for (uint32_t at = lane->head; at != lane->tail; at++) {
            struct sim_record *r = &lane->ring[at & lane->mask];

            if (s->fns[r->order & (SIM_FN_SLOTS - 1)] == fn && r->ctx && take(to, r->ctx, r->arg))
                r->ctx = r->arg = NULL;
        }
    }
    sim_heap_take(&s->heap, fn, take, to);
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static void digests_grow(struct sim *s, uint32_t node)
{
    uint32_t n = s->digest_nodes ? s->digest_nodes : 64;
    uint64_t *d;

    assert(node < 1u << 24);
    while (n <= node)
        n *= 2;
    d = realloc(s->digests, n * sizeof *d);
    if (!d) {
        fputs("rnicsim: out of memory for digests\n", stderr);
        abort();
    }
    memset(d + s->digest_nodes, 0, (n - s->digest_nodes) * sizeof *d);
    s->digests = d;
    s->digest_nodes = n;
}

/* The odd step constant keeps two swapped notes apart; a node's hash 0 means that nothing happened there. */
void sim_note(struct sim *s, uint32_t node, enum sim_note what, uint64_t value)
{
    uint64_t h;

    if (SIM_UNLIKELY(node >= s->digest_nodes))
        digests_grow(s, node);
    h = s->digests[node];
    h = (h ^ ((uint64_t)s->now_ps * 8 + (uint64_t)what)) * UINT64_C(0x9e3779b97f4a7c15);
    h = ((h << 29 | h >> 35) ^ value) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 31;
    s->digests[node] = h ? h : 1;
}

uint64_t sim_digest(const struct sim *s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s->digest_nodes; i++)
        if (s->digests[i])
            sum += mix(s->digests[i] ^ mix((uint64_t)i + 1));
    return sum;
}

void sim_trace_set(struct sim *s, sim_trace_fn *fn, void *ctx)
{
    s->trace = fn;
    s->trace_ctx = ctx;
}

bool sim_tracing(const struct sim *s)
{
    return s->trace != NULL;
}

void sim_trace_emit(struct sim *s, const struct sim_trace *t)
{
    if (s->trace)
        s->trace(s->trace_ctx, t);
}

struct sim_pool *sim_packets(struct sim *s)
{
    return &s->packets;
}
