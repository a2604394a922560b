/* SPDX-License-Identifier: GPL-2.0-only */
/* A 4-ary heap of timers and single events. A timer that is set later keeps its place; it moves when it
 * comes to the top. So every entry but the top may be earlier than its timer; the top is always exact. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#define ONCE 1u /* in order's low bits */

static inline bool less(const struct sim_heap_entry *a, const struct sim_heap_entry *b)
{
    unsigned __int128 x = (unsigned __int128)(uint64_t)a->at_ps << 64 | a->key;
    unsigned __int128 y = (unsigned __int128)(uint64_t)b->at_ps << 64 | b->key;

    if (SIM_UNLIKELY(((uint64_t)(a->at_ps ^ b->at_ps) | (a->key ^ b->key) >> 40) == 0)) /* one node at one time */
        return sim_key_less(a->at_ps, a->key, a->order, b->key, b->order);
    return x < y;
}

static inline void place(struct sim_heap *h, uint32_t i, const struct sim_heap_entry *e)
{
    h->e[i] = *e;
    if (!(e->order & ONCE))
        h->places[e->slot] = i;
}

static void sift_up(struct sim_heap *h, uint32_t i, struct sim_heap_entry e)
{
    while (i > 0) {
        uint32_t up = (i - 1) / 4;

        if (!less(&e, &h->e[up]))
            break;
        place(h, i, &h->e[up]);
        i = up;
    }
    place(h, i, &e);
}

static void sift_down(struct sim_heap *h, uint32_t i, struct sim_heap_entry e)
{
    for (;;) {
        uint32_t c = 4 * i + 1, best = c;

        if (c >= h->count)
            break;
        for (uint32_t k = c + 1; k < c + 4 && k < h->count; k++)
            best = less(&h->e[k], &h->e[best]) ? k : best;
        if (!less(&h->e[best], &e))
            break;
        place(h, i, &h->e[best]);
        i = best;
    }
    place(h, i, &e);
}

static void grow(struct sim_heap *h)
{
    uint32_t capacity = h->capacity ? 2 * h->capacity : 64;
    void *memory = sim_must(capacity > h->capacity ? aligned_alloc(128, ((size_t)capacity + 4) * sizeof *h->e) : NULL);
    struct sim_heap_entry *e = (struct sim_heap_entry *)memory + 3;

    if (h->count)
        memcpy(e, h->e, h->count * sizeof *e);
    free(h->memory);
    h->memory = memory;
    h->e = e;
    h->capacity = capacity;
    h->timers = sim_must(realloc(h->timers, (capacity + 1u) * sizeof *h->timers));
    h->places = sim_must(realloc(h->places, (capacity + 1u) * sizeof *h->places));
}

static inline void make_room(struct sim_heap *h)
{
    if (SIM_UNLIKELY(h->count == h->capacity))
        grow(h);
}

static uint32_t slot_get(struct sim_heap *h, struct sim_timer *t)
{
    uint32_t slot = h->free_slot;

    if (slot)
        h->free_slot = h->places[slot];
    else
        slot = ++h->slots;
    h->timers[slot] = t;
    return slot;
}

static void slot_put(struct sim_heap *h, struct sim_timer *t)
{
    h->places[t->slot] = h->free_slot;
    h->free_slot = t->slot;
    t->slot = 0;
}

/* Take the entry at i out. */
static void take(struct sim_heap *h, uint32_t i)
{
    struct sim_heap_entry last = h->e[--h->count];

    if (i == h->count)
        return;
    if (i > 0 && less(&last, &h->e[(i - 1) / 4]))
        sift_up(h, i, last);
    else
        sift_down(h, i, last);
}

/* Bring the top to its timer's time, then find the heap's place in the line. */
static void settle(struct sim *s)
{
    struct sim_heap *h = &s->heap;
    uint64_t was = h->head_order;
    struct sim_head v = SIM_HEAD_NEVER;

    while (h->count) {
        struct sim_heap_entry e = h->e[0];
        const struct sim_timer *t;

        if ((e.order & ONCE) || e.order == (t = h->timers[e.slot])->seq) {
            v = (struct sim_head){ e.at_ps, e.key, e.order, NULL };
            break;
        }
        e.at_ps = t->at_ps;
        e.order = t->seq;
        sift_down(h, 0, e);
    }
    h->head_order = v.order;
    if (was == v.order)
        return;
    if (was == UINT64_MAX) {
        sim_line_earlier(s, &v, true);
        return;
    }

    uint32_t at = sim_line_place(s, NULL);

    if (sim_head_less(&v, &s->line[at])) {
        sim_line_earlier(s, &v, false);
    } else {
        sim_line_later(s, at, &v);
        s->line_count -= v.at_ps == SIM_NEVER_PS;
    }
}

static struct sim_once *once_get(struct sim_heap *h)
{
    struct sim_once *o;

    if (SIM_UNLIKELY(!h->once_free)) {
        struct sim_once_block *b = sim_must(malloc(sizeof *b));

        b->next = h->once_blocks;
        h->once_blocks = b;
        for (size_t i = sizeof b->events / sizeof b->events[0]; i-- > 0;) {
            b->events[i].next = h->once_free;
            h->once_free = &b->events[i];
        }
    }
    o = h->once_free;
    h->once_free = o->next;
    return o;
}

void sim_at(struct sim *s, int64_t at_ps, uint64_t key, sim_fn *fn, void *ctx, void *arg)
{
    struct sim_once *o = once_get(&s->heap);

    assert(at_ps >= s->now_ps && at_ps != SIM_NEVER_PS);
    *o = (struct sim_once){ fn, ctx, arg, NULL };
    s->order += UINT64_C(1) << 16;
    make_room(&s->heap);
    sift_up(&s->heap, s->heap.count++, (struct sim_heap_entry){ at_ps, key, s->order | ONCE, { .once = o } });
    if (s->heap.e[0].order == (s->order | ONCE))
        settle(s);
}

void sim_timer_init(struct sim_timer *t, uint64_t key, sim_fn *fn, void *ctx)
{
    *t = (struct sim_timer){ .at_ps = SIM_NEVER_PS, .key = key, .fn = fn, .ctx = ctx };
}

void sim_timer_set(struct sim *s, struct sim_timer *t, int64_t at_ps)
{
    struct sim_heap *h = &s->heap;
    struct sim_heap_entry e;

    if (at_ps == SIM_NEVER_PS) {
        sim_timer_cancel(s, t);
        return;
    }
    assert(at_ps >= s->now_ps);
    t->at_ps = at_ps;
    t->seq = s->order += UINT64_C(1) << 16;
    e = (struct sim_heap_entry){ at_ps, t->key, t->seq, { 0 } };
    if (!t->slot) {
        make_room(h);
        e.slot = t->slot = slot_get(h, t);
        sift_up(h, h->count++, e);
    } else if (at_ps < h->e[h->places[t->slot]].at_ps) {
        e.slot = t->slot;
        sift_up(h, h->places[t->slot], e);
    }
    if (h->places[t->slot] == 0)
        settle(s);
}

void sim_timer_cancel(struct sim *s, struct sim_timer *t)
{
    struct sim_heap *h = &s->heap;
    uint32_t at;

    t->at_ps = SIM_NEVER_PS;
    if (!t->slot)
        return;
    at = h->places[t->slot];
    slot_put(h, t);
    take(h, at);
    if (at == 0)
        settle(s);
}

void sim_heap_step(struct sim *s)
{
    struct sim_heap *h = &s->heap;
    struct sim_heap_entry e = h->e[0];

    if (e.order & ONCE) {
        struct sim_once *o = e.once, event = *o;

        o->next = h->once_free;
        h->once_free = o;
        take(h, 0);
        settle(s);
        event.fn(s, event.ctx, event.arg);
    } else {
        struct sim_timer *t = h->timers[e.slot];

        slot_put(h, t);
        t->at_ps = SIM_NEVER_PS;
        take(h, 0);
        settle(s);
        t->fn(s, t->ctx, NULL);
    }
}

void sim_heap_take(struct sim_heap *h, sim_fn *fn, bool (*take)(void *to, void *ctx, void *arg), void *to)
{
    for (uint32_t i = 0; i < h->count; i++) {
        struct sim_once *o = h->e[i].order & ONCE ? h->e[i].once : NULL;

        if (o && o->fn == fn && o->ctx && take(to, o->ctx, o->arg))
            o->ctx = o->arg = NULL;
    }
}

void sim_heap_free(struct sim_heap *h)
{
    while (h->once_blocks) {
        struct sim_once_block *b = h->once_blocks;

        h->once_blocks = b->next;
        free(b);
    }
    free(h->memory);
    free(h->timers);
    free(h->places);
}
