/* SPDX-License-Identifier: GPL-2.0-only */
/** Inside of struct sim; for the sim room's own files only.
 *
 *  A lane is a ring of records in order of time. Records of equal time form a run. A record that joins a run out of order marks its first
 *  record; the run is then sorted when it comes to the front, or before its first record is taken if that came while it was there.
 *  A positive delay makes that complete: when a run's time has come, nothing joins it.
 *
 *  The lanes that hold records, and the heap, stand in a line in order of their earliest records (heads): the first has
 *  the next event. A line, not a tree: the lane of the last event is most often the next one's too, and few lanes
 *  are busy at once, so a new head finds its place in one or two comparisons.
 *
 *  Events of one time are compared by their nodes; only those of one node go by sim_key_at, which is not worked out before.
 */
#ifndef RNICSIM_SIM_QUEUE_H
#define RNICSIM_SIM_QUEUE_H

#include "pool.h"
#include "sim.h"
#include "trace.h"

#define SIM_LANES_MAX 63
#define SIM_FN_BITS 10
#define SIM_FN_SLOTS (1 << SIM_FN_BITS) /* distinct event functions: at most half of that */
#define SIM_LANE_HASH 128
#define SIM_UNSORTED (UINT64_C(1) << SIM_FN_BITS) /* with a run's first record: the run is out of order */

#define SIM_HALT_STOP 1
#define SIM_HALT_INTERRUPT 2

#define SIM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SIM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SIM_NOINLINE __attribute__((noinline)) /* kept out of functions that mostly do without its registers */

/** order: insertion number << 16 | SIM_UNSORTED | number of the function. */
struct sim_record { int64_t at_ps; uint64_t key, order; void *ctx, *arg; };
_Static_assert(sizeof(struct sim_record) == 40, "records are what the queue's memory traffic consists of");

struct sim_lane {
    struct sim_record *ring;
    uint32_t mask, head, tail;  /* free running; tail - head records. A lane without delay has no ring, and UINT32_MAX for a mask */
    uint32_t last_run;          /* where the last run begins */
    int64_t  delay_ps;
    int64_t  last_ps;           /* of the record that came last, also if it is gone */
    uint64_t last_key;
};

/** The earliest record of a lane, or of the heap (lane NULL). */
struct sim_head { int64_t at_ps; uint64_t key, order; struct sim_lane *lane; };
#define SIM_HEAD_NEVER ((struct sim_head){ SIM_NEVER_PS, UINT64_MAX, UINT64_MAX, NULL })

/** A timer's slot or, with bit 0 of order set, a single event. */
struct sim_heap_entry { int64_t at_ps; uint64_t key, order; union { uint64_t slot; struct sim_once *once; }; };
struct sim_once { sim_fn *fn; void *ctx, *arg; struct sim_once *next; };
struct sim_once_block { struct sim_once_block *next; struct sim_once events[255]; };

struct sim_heap {
    struct sim_heap_entry *e;   /* e[1] is aligned, so the four children of a node share two cache lines */
    void    *memory;
    uint32_t count, capacity;
    struct sim_timer **timers;  /* by slot, from 1 on */
    uint32_t *places;           /* of a timer's entry in e; of a free slot, the next free one. Here and not in the timers, which are far apart */
    uint32_t slots, free_slot;
    struct sim_once *once_free;
    struct sim_once_block *once_blocks;
    uint64_t head_order;        /* its head's in the line, UINT64_MAX: it has none */
};

struct sim_pair { uint64_t key; uint32_t at; };

struct sim {
    int64_t  now_ps;
    uint64_t order;             /* insertions, << 16 */
    uint32_t line_count, lane_count;
    struct sim_head line[SIM_LANES_MAX + 2]; /* of those that have an event, the earliest first; then never */
    uint8_t  halt;              /* SIM_HALT_ bits, atomic */
    bool     stepping;
    uint64_t events;
    void   (*earlier)(void *ctx, int64_t next_ps);
    void    *earlier_ctx;
    struct sim_heap heap;
    sim_fn  *fns[SIM_FN_SLOTS]; /* by number: a hash of the address, or the next free */
    uint32_t fn_count;
    struct sim_lane *lanes[SIM_LANES_MAX];
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

/** The order of events of one node at one time. */
bool sim_key_less(int64_t at_ps, uint64_t key_a, uint64_t order_a, uint64_t key_b, uint64_t order_b);

static inline bool sim_less(int64_t at_a, uint64_t key_a, uint64_t order_a, int64_t at_b, uint64_t key_b, uint64_t order_b)
{
    if (at_a != at_b)
        return at_a < at_b;
    if (SIM_UNLIKELY((key_a ^ key_b) >> 40 == 0))
        return sim_key_less(at_a, key_a, order_a, key_b, order_b);
    return key_a < key_b;
}

static inline bool sim_head_less(const struct sim_head *a, const struct sim_head *b)
{
    return sim_less(a->at_ps, a->key, a->order, b->at_ps, b->key, b->order);
}

/** The place in the line of one that has an event. */
static inline uint32_t sim_line_place(const struct sim *s, const struct sim_lane *who)
{
    uint32_t at = 0;

    while (s->line[at].lane != who)
        at++;
    return at;
}

/** The one at place `at` of the line has a later head, or none: SIM_HEAD_NEVER. */
static inline void sim_line_later(struct sim *s, uint32_t at, const struct sim_head *v)
{
    struct sim_head *l = &s->line[at];

    for (; sim_head_less(l + 1, v); l++)
        *l = l[1];
    *l = *v;
}

/** A lane or the heap has an earlier head, or its first. */
static inline void sim_line_earlier(struct sim *s, const struct sim_head *v, bool first)
{
    int64_t was_ps = s->line[0].at_ps;
    uint32_t at;

    if (first) {
        at = s->line_count++;
        s->line[at + 1] = SIM_HEAD_NEVER;
    } else {
        at = sim_line_place(s, v->lane);
    }
    for (; at > 0 && sim_head_less(v, &s->line[at - 1]); at--)
        s->line[at] = s->line[at - 1];
    s->line[at] = *v;
    if (at == 0 && SIM_UNLIKELY(s->earlier && !s->stepping) && v->at_ps < was_ps)
        s->earlier(s->earlier_ctx, v->at_ps);
}

/** Put the first run in order; the lane is not empty. */
void sim_lane_sort_run(struct sim *s, struct sim_lane *lane);
void sim_lane_grow(struct sim_lane *lane);
/** The memory, or the end of the process with a word where there is none. */
void *sim_must(void *p);

/** Run the heap's earliest event, which is the next one. */
void sim_heap_step(struct sim *s);
void sim_heap_free(struct sim_heap *h);
void sim_heap_take(struct sim_heap *h, sim_fn *fn, bool (*take)(void *to, void *ctx, void *arg), void *to);

#endif
