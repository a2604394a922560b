/* SPDX-License-Identifier: GPL-2.0-only */
/** Virtual time and the event queue.
 *
 *  One `struct sim` is one simulation: int64 picoseconds, no globals, any number in a process.
 *  Nearly every event of a packet network is scheduled a constant delay ahead, so constant delays go
 *  through lanes (a FIFO per delay, already sorted); everything else goes through a heap.
 *
 *  Order: (time, key), then order of insertion. The key holds (node, shuffled port, kind, sub), so that
 *  no partition of the nodes over processes can change it and no port is always first.
 */
#ifndef RNICSIM_SIM_SIM_H
#define RNICSIM_SIM_SIM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_NEVER_PS INT64_MAX
#define SIM_PS_PER_NS INT64_C(1000)
#define SIM_PS_PER_US INT64_C(1000000)
#define SIM_PS_PER_MS INT64_C(1000000000)
#define SIM_PS_PER_S  INT64_C(1000000000000)

#define SIM_MUST_CHECK __attribute__((warn_unused_result))

/** Failures of arguments and resources, in every room. Bad packets are counters, NAKs or completions
 *  instead; broken invariants assert. */
enum sim_status { SIM_OK = 0, SIM_ERR_PARAM = -1, SIM_ERR_STATE = -2, SIM_ERR_FULL = -3, SIM_ERR_NOMEM = -4 };

struct sim;
struct sim_lane;

/** An event's action. It runs with sim_now() equal to its time. */
typedef void sim_fn(struct sim *s, void *ctx, void *arg);

/** What happens first at one node and port at one time: arrivals, then timers, then transmissions. */
enum sim_kind { SIM_KIND_RX = 0, SIM_KIND_WAKE = 1, SIM_KIND_TX = 2, SIM_KIND_FOREIGN = 15 };

/** Key of a node's timer or any event that belongs to no port. sub (< 2^24) tells apart the node's own
 *  timers, for example a QP number. */
static inline uint64_t sim_key_node(uint32_t node, enum sim_kind kind, uint32_t sub)
{
    return (uint64_t)(node & 0xffffff) << 40 | (uint64_t)0xfff << 28 | (uint64_t)kind << 24 | (sub & 0xffffff);
}

/** Key of an event at a port. The low 8 bits are free for the port's own timers. */
static inline uint64_t sim_key_port(uint32_t node, uint32_t port, enum sim_kind kind)
{
    return (uint64_t)(node & 0xffffff) << 40 | (uint64_t)kind << 24 | (uint64_t)(port & 0xffff) << 8;
}

/** What events of one node at one time go by: a port's key with its place of that time, 12 bits under the node. Ports are shuffled by a
 *  hash of node and time, each two of them in either order alike, before the node's own events. Other keys are as they are. */
static inline uint64_t sim_key_at(uint64_t key, int64_t at_ps)
{
    uint64_t h = ((uint64_t)at_ps ^ key >> 40 << 32) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t z = (uint32_t)(h >> 32) ^ (uint32_t)(key >> 8 & 0xffff) * UINT32_C(0x85ebca6b);
    z = (z ^ z >> 16) * UINT32_C(0xc2b2ae35);
    uint32_t place = z >> 20;
    place -= place == 0xfff;
    return key >> 28 & 0xfff ? key : key | (uint64_t)place << 28;
}

/** Foreign events (ns-3's own) come after ours at the same time. */
#define SIM_KEY_FOREIGN UINT64_MAX

/** What a trace hook is told; see trace.h. */
struct sim_trace;

/** A new simulation at time 0 whose random streams derive from seed. NULL if out of memory. */
struct sim *sim_new(uint64_t seed) SIM_MUST_CHECK;
void sim_free(struct sim *s);

int64_t sim_now(const struct sim *s);
uint64_t sim_seed(const struct sim *s);

/** The lane for a constant delay >= 0; equal delays share one. Called at set-up, cheap enough to be
 *  called by a port when it first meets a frame length. NULL when the simulation has as many lanes as
 *  it takes (then use sim_at). Lives as long as the simulation. */
struct sim_lane *sim_lane_get(struct sim *s, int64_t delay_ps);

/** The number by which lanes know an event function, the same each time. Aborts when there are more than 512. */
uint32_t sim_fn_number(struct sim *s, sim_fn *fn);

/** Schedule fn(s, ctx, arg), given by its number, at now + the lane's delay. Never fails: the queue grows or the process aborts. */
void sim_lane_push(struct sim *s, struct sim_lane *lane, uint64_t key, uint32_t fn, void *ctx, void *arg);

/** Schedule fn(s, ctx, arg) at any time at_ps >= now. Cannot be cancelled; use a timer for that. */
void sim_at(struct sim *s, int64_t at_ps, uint64_t key, sim_fn *fn, void *ctx, void *arg);

/** A cancellable event embedded in its owner. Zero-initialised plus sim_timer_init. Setting a pending
 *  timer moves it. The owner cancels before it is freed. */
struct sim_timer {
    int64_t  at_ps;    /* SIM_NEVER_PS when not pending */
    uint64_t key;
    sim_fn  *fn;       /* called with arg NULL */
    void    *ctx;
    uint64_t seq;
    uint32_t slot;     /* 0 when not pending */
};
void sim_timer_init(struct sim_timer *t, uint64_t key, sim_fn *fn, void *ctx);
void sim_timer_set(struct sim *s, struct sim_timer *t, int64_t at_ps);
void sim_timer_cancel(struct sim *s, struct sim_timer *t);

/** Time of the earliest pending event, SIM_NEVER_PS if none. */
int64_t sim_next_ps(const struct sim *s);

/** Run the earliest event. false if there was none. */
bool sim_step(struct sim *s);

/** Run events until none is left at or before until_ps, or sim_stop(). Then now is until_ps unless
 *  stopped (or unless until_ps is SIM_NEVER_PS: then the last event's time). */
void sim_run(struct sim *s, int64_t until_ps);
void sim_stop(struct sim *s);
/** True after sim_stop() until the next sim_run(). */
bool sim_stopped(const struct sim *s);

/** For drivers: on makes sim_run return after the event it is in, and at once when called again, without counting as
 *  sim_stop(), until off. The one function that another thread may call. */
void sim_interrupt(struct sim *s, bool on);

/** For drivers (ns-3): move the clock forward to at_ps <= sim_next_ps(), as an outer loop's time passes. */
void sim_advance(struct sim *s, int64_t at_ps);

/** For drivers: fn(ctx, t) is called whenever the earliest pending time becomes t, earlier than before,
 *  from outside sim_step. NULL removes it. */
void sim_on_earlier(struct sim *s, void (*fn)(void *ctx, int64_t next_ps), void *ctx);

uint64_t sim_events_run(const struct sim *s);
size_t sim_events_pending(const struct sim *s);
/** take(to, ctx, arg) for each pending event of function fn, in no order: what it carries is freed by its owner, which goes. Where take returns
 *  true the event must not come any more; take schedules nothing. */
void sim_take_pending(struct sim *s, sim_fn *fn, bool (*take)(void *to, void *ctx, void *arg), void *to);

/** Digest: one hash per node over what happened there, in its order; nodes combine order-independently.
 *  what is an enum sim_note value. Also mixes in the current time. Nodes are 0 .. 2^24-1, grown on use. */
enum sim_note { SIM_NOTE_DELIVER = 1, SIM_NOTE_DROP, SIM_NOTE_MARK, SIM_NOTE_PAUSE, SIM_NOTE_COMPLETION };
void sim_note(struct sim *s, uint32_t node, enum sim_note what, uint64_t value);
uint64_t sim_digest(const struct sim *s);

/** Tracing: NULL (default) costs one test. The hook must not schedule, post or free. */
typedef void sim_trace_fn(void *ctx, const struct sim_trace *t);
void sim_trace_set(struct sim *s, sim_trace_fn *fn, void *ctx);
bool sim_tracing(const struct sim *s);
void sim_trace_emit(struct sim *s, const struct sim_trace *t);

/** The simulation's packet pool (fixed-size objects, see pool.h); the fabric room gives it its size. */
struct sim_pool *sim_packets(struct sim *s);

#ifdef __cplusplus
}
#endif
#endif
