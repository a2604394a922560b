/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *sim_must(void *p)
{
    if (!p) {
        fputs("rnicsim: out of memory for events\n", stderr);
        abort();
    }
    return p;
}

struct sim_lane *sim_lane_get(struct sim *s, int64_t delay_ps)
{
    uint32_t h = (uint32_t)(((uint64_t)delay_ps * UINT64_C(0x9e3779b97f4a7c15)) >> 57);
    struct sim_lane *lane;

    assert(delay_ps >= 0);
    for (; s->lane_hash[h]; h = (h + 1) % SIM_LANE_HASH)
        if (s->lanes[s->lane_hash[h] - 1]->delay_ps == delay_ps)
            return s->lanes[s->lane_hash[h] - 1];
    if (s->lane_count == SIM_LANES_MAX)
        return NULL;
    lane = sim_must(calloc(1, sizeof *lane));
    if (delay_ps > 0)
        lane->ring = sim_must(malloc(16 * sizeof *lane->ring));
    lane->mask = delay_ps > 0 ? 15 : UINT32_MAX;
    lane->delay_ps = delay_ps;
    s->lanes[s->lane_count++] = lane;
    s->lane_hash[h] = (uint16_t)s->lane_count;
    return lane;
}

void sim_lane_grow(struct sim_lane *lane)
{
    uint32_t old = lane->mask + 1, mask = 2 * old - 1;
    struct sim_record *ring = sim_must(malloc((size_t)(mask + 1) * sizeof *ring));

    assert(old < UINT32_C(1) << 30);
    for (uint32_t i = lane->head; i != lane->tail; i++)
        ring[i & mask] = lane->ring[i & lane->mask];
    free(lane->ring);
    lane->ring = ring;
    lane->mask = mask;
}

uint32_t sim_fn_number(struct sim *s, sim_fn *fn)
{
    uint32_t i = (uint32_t)(((uintptr_t)fn * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SIM_FN_BITS));

    for (; s->fns[i]; i = (i + 1) % SIM_FN_SLOTS)
        if (s->fns[i] == fn)
            return i;
    if (++s->fn_count > SIM_FN_SLOTS / 2) {
        fputs("rnicsim: too many distinct event functions\n", stderr);
        abort();
    }
    s->fns[i] = fn;
    return i;
}

/* Merge two neighbouring ascending stretches, the first winning ties. Each step takes without a branch. */
static void merge(const struct sim_pair *a, uint32_t na, uint32_t nb, struct sim_pair *out)
{
    const struct sim_pair *b = a + na, *a_end = b, *b_end = b + nb;

    while (a != a_end && b != b_end) {
        bool second = b->key < a->key;

        *out++ = *(second ? b : a);
        b += second;
        a += !second;
    }
    while (a != a_end)
        *out++ = *a++;
    while (b != b_end)
        *out++ = *b++;
}

static uint32_t ascending(const struct sim_pair *p, uint32_t from, uint32_t n)
{
    uint32_t i = from + 1;

    while (i < n && p[i - 1].key <= p[i].key)
        i++;
    return i;
}

/* Natural merge sort. */
static struct sim_pair *sort_pairs(struct sim_pair *p, struct sim_pair *q, uint32_t n)
{
    while (ascending(p, 0, n) != n) {
        for (uint32_t i = 0; i < n;) {
            uint32_t mid = ascending(p, i, n), end = mid < n ? ascending(p, mid, n) : n;

            merge(p + i, mid - i, end - mid, q + i);
            i = end;
        }
        struct sim_pair *t = p;

        p = q;
        q = t;
    }
    return p;
}

static SIM_NOINLINE void sort_room(struct sim *s, uint32_t n)
{
    uint32_t c = 64;

    while (c < n)
        c *= 2;
    free(s->sort_records);
    free(s->sort_pairs);
    s->sort_records = sim_must(malloc(c * sizeof *s->sort_records));
    s->sort_pairs = sim_must(malloc(2 * (size_t)c * sizeof *s->sort_pairs));
    s->sort_capacity = c;
}

void sim_lane_sort_run(struct sim *s, struct sim_lane *lane)
{
    struct sim_record *first = &lane->ring[lane->head & lane->mask];
    uint32_t n = 1;
    struct sim_pair *p;

    first->order &= ~SIM_UNSORTED;
    while (lane->head + n != lane->tail && lane->ring[(lane->head + n) & lane->mask].at_ps == first->at_ps)
        n++;
    if (n > s->sort_capacity)
        sort_room(s, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct sim_record *r = &lane->ring[(lane->head + i) & lane->mask];

        s->sort_records[i] = *r;
        s->sort_pairs[i] = (struct sim_pair){ sim_key_at(r->key, r->at_ps), i };
    }
    p = sort_pairs(s->sort_pairs, s->sort_pairs + s->sort_capacity, n);
    for (uint32_t i = 0; i < n; i++)
        lane->ring[(lane->head + i) & lane->mask] = s->sort_records[p[i].at];
}

bool sim_key_less(int64_t at_ps, uint64_t key_a, uint64_t order_a, uint64_t key_b, uint64_t order_b)
{
    uint64_t a = sim_key_at(key_a, at_ps), b = sim_key_at(key_b, at_ps);

    return a < b || (a == b && order_a < order_b);
}
