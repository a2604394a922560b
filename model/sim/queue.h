/* SPDX-License-Identifier: GPL-2.0-only */
/** Inside of struct sim; for the sim room's own files only.
 *
 *  A lane is a ring of records in order of time. Records of equal time form a run. Only the first run of a lane
 *  need be in key order: it is sorted when it comes to the front, and again before its first record is taken if
 *  records came to it meanwhile. A positive delay makes that complete: when a run's time has come, nothing joins it.
 *
 *  A tournament tree holds the earliest record of every lane (leaf i) and of the heap (leaf 0); its root
 *  is the next event.
 */
#ifndef RNICSIM_SIM_QUEUE_H
#define RNICSIM_SIM_QUEUE_H

#include "pool.h"
#include "sim.h"
#include "trace.h"

#define SIM_LANES_MAX 63        /* and the heap: a tree of six levels */
#define SIM_FN_SLOTS 1024       /* distinct event functions: at most half of that */
#define SIM_LANE_HASH 128

#define SIM_HALT_STOP 1
#define SIM_HALT_INTERRUPT 2

#define SIM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SIM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/** order: insertion number << 16 | slot of the function in sim.fns. */
struct sim_record { int64_t at_ps; uint64_t key, order; void *ctx, *arg; };
_Static_assert(sizeof(struct sim_record) == 40, "records are what the queue's memory traffic consists of");

struct sim_lane {
    struct sim_record *ring;
    uint32_t mask, head, tail;  /* free running; tail - head records */
    uint32_t run_end;           /* end of the first run */
    int64_t  delay_ps;
    uint32_t leaf;
    bool     dirty;             /* the first run is out of order; the leaf still holds its least */
};

struct sim_leaf { int64_t at_ps; uint64_t key, order; uint64_t leaf; };

/** item: struct sim_timer or, with bit 0 of order set, struct sim_once. */
struct sim_heap_entry { int64_t at_ps; uint64_t key, order; void *item; };
struct sim_once { sim_fn *fn; void *ctx, *arg; struct sim_once *next; };
struct sim_once_block { struct sim_once_block *next; struct sim_once events[255]; };

struct sim_heap {
    struct sim_heap_entry *e;   /* e[1] is aligned, so the four children of a node share two cache lines */
    void    *memory;
    uint32_t count, capacity;
    struct sim_once *once_free;
    struct sim_once_block *once_blocks;
};

struct sim_pair { uint64_t key; uint32_t at; };

struct sim {
    int64_t  now_ps;
    uint64_t order;             /* insertions, << 16 */
    struct sim_leaf *tree;      /* 1 .. 2 * leaves - 1; leaf i at leaves + i */
    uint32_t leaves, lane_count;
    uint8_t  halt;              /* SIM_HALT_ bits, atomic */
    bool     stepping;
    uint64_t events;
    void   (*earlier)(void *ctx, int64_t next_ps);
    void    *earlier_ctx;
    struct sim_heap heap;
    sim_fn  *fns[SIM_FN_SLOTS];
    uint32_t fn_count;
    struct sim_lane *lanes[SIM_LANES_MAX + 1];
    uint16_t lane_hash[SIM_LANE_HASH];
    struct sim_record *sort_records;
    struct sim_pair   *sort_pairs;
    uint32_t sort_capacity;
    sim_trace_fn *trace;
    void    *trace_ctx;
    uint64_t *digests;
    uint32_t digest_nodes;
    uint64_t seed;
    struct sim_pool packets;
};

static inline bool sim_leaf_less(const struct sim_leaf *a, const struct sim_leaf *b)
{
    unsigned __int128 x = (unsigned __int128)(uint64_t)a->at_ps << 64 | a->key;
    unsigned __int128 y = (unsigned __int128)(uint64_t)b->at_ps << 64 | b->key;

    if (SIM_UNLIKELY(x == y))
        return a->order < b->order;
    return x < y;
}

/** A leaf came earlier. */
static inline void sim_tree_lower(struct sim *s, const struct sim_leaf *v)
{
    uint32_t i = s->leaves + (uint32_t)v->leaf;
    int64_t was_ps = s->tree[1].at_ps;

    s->tree[i] = *v;
    for (i >>= 1; i > 0 && sim_leaf_less(v, &s->tree[i]); i >>= 1)
        s->tree[i] = *v;
    if (i == 0 && SIM_UNLIKELY(s->earlier && !s->stepping) && v->at_ps < was_ps)
        s->earlier(s->earlier_ctx, v->at_ps);
}

/** A leaf came later. */
static inline void sim_tree_raise(struct sim *s, const struct sim_leaf *v)
{
    struct sim_leaf *tree = s->tree;
    uint32_t i = s->leaves + (uint32_t)v->leaf;
    struct sim_leaf w = *v;

    tree[i] = w;
    for (; i > 1; i >>= 1) {
        const struct sim_leaf *other = &tree[i ^ 1];

        if (sim_leaf_less(other, &w))
            w = *other;
        if (tree[i >> 1].leaf != v->leaf)
            break;
        tree[i >> 1] = w;
    }
}

/** Put the lane's first run in order and set run_end; the lane is not empty. */
void sim_lane_open_run(struct sim *s, struct sim_lane *lane);
void sim_lane_sort_run(struct sim *s, struct sim_lane *lane);
void sim_lane_grow(struct sim_lane *lane);
uint64_t sim_fn_add(struct sim *s, sim_fn *fn);

static inline uint32_t sim_fn_hash(sim_fn *fn)
{
    return (uint32_t)(((uintptr_t)fn * UINT64_C(0x9e3779b97f4a7c15)) >> 54);
}
_Static_assert(SIM_FN_SLOTS == 1 << (64 - 54), "the hash gives a slot");

/** Run the heap's earliest event, which is the next one. */
void sim_heap_step(struct sim *s);
void sim_heap_free(struct sim_heap *h);

#endif
