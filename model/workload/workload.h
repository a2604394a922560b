/* SPDX-License-Identifier: GPL-2.0-only */
/** Workloads: who sends what to whom and when, over channels that a callback makes; and the book of all messages.
 *
 *  One struct wl runs any number of streams (specifications) at once over the same hosts. Every source draws from streams keyed by
 *  (seed, stream, source), so what is posted depends on nothing that the network does, but for the closed loops: ping-pong,
 *  permutation with a window, incast in rounds. Flows are listed one by one.
 */
#ifndef RNICSIM_WORKLOAD_WORKLOAD_H
#define RNICSIM_WORKLOAD_WORKLOAD_H

#include "../sim/param.h"
#include "cdf.h"
#include "chan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WL_BYTES_MAX INT64_C(2147483647)
#define WL_TIME_MAX INT64_C(1000000000000000)
#define WL_HOSTS_MAX 16777214

#define WL_SIZE_PARAM(X) \
    X(size_bytes, BYTES, 1024, 1, WL_BYTES_MAX, NULL, "message size, unless a size CDF is given", "rnicsim")
#define WL_START_PARAM(X) \
    X(start_ps, TIME, 0, 0, WL_TIME_MAX, NULL, "when the stream begins, from the start of the workload", "rnicsim")
/* Hosts are numbered as in the topology; a count of 0 means all from there on. */
#define WL_HOST_RANGE_PARAMS(X) \
    X(source_from, COUNT, 0, 0, WL_HOSTS_MAX, NULL, "first host that sends", "rnicsim") \
    X(sources, COUNT, 0, 0, WL_HOSTS_MAX, NULL, "how many hosts send; 0: all from the first on", "rnicsim") \
    X(destination_from, COUNT, 0, 0, WL_HOSTS_MAX, NULL, "first host that receives", "rnicsim") \
    X(destinations, COUNT, 0, 0, WL_HOSTS_MAX, NULL, "how many hosts receive; 0: all from the first on", "rnicsim")

/** Ping-pong: each pair has one message under way, there and back in turn, as netperf TCP_RR and ib_write_lat do. The pairs are
 *  the sources and, in order, the destinations after them (or sources in twos when both ranges are the same). */
#define WL_PINGPONG_PARAMS(X) \
    WL_SIZE_PARAM(X) WL_START_PARAM(X) WL_HOST_RANGE_PARAMS(X) \
    X(pairs, COUNT, 1, 0, WL_HOSTS_MAX, NULL, "pairs that play; 0: as many as there are hosts for", "rnicsim") \
    X(rounds, COUNT, 0, 0, INT64_C(1000000000), NULL, "round trips per pair; 0: until the measurement ends", "rnicsim") \
    X(think_ps, TIME, 0, 0, WL_TIME_MAX, NULL, "time between a message's arrival and the answer's post", "rnicsim")

/** Open loop, Poisson: each source posts at exponential gaps so that payload alone makes `load` of its link's rate. */
#define WL_DESTINATIONS "uniform|permutation"
enum wl_destination { WL_DEST_UNIFORM, WL_DEST_PERMUTATION };
#define WL_POISSON_PARAMS(X) \
    WL_SIZE_PARAM(X) WL_START_PARAM(X) WL_HOST_RANGE_PARAMS(X) \
    X(load, FRACTION, 0.5, 1e-6, 1, NULL, "payload offered per source over its link's rate", "as HPCC (SIGCOMM'19) counts load") \
    X(destination, ENUM, 0, 0, 1, WL_DESTINATIONS, "of each message: any other destination host alike, or one partner for each source", "rnicsim") \
    X(messages, COUNT, 0, 0, INT64_C(100000000), NULL, "messages per source; 0: until the measurement ends", "rnicsim")

/** N to 1: in each round all senders post one message to the receiver. */
#define WL_SENDER_CHOICES "next|random"
enum wl_sender_choice { WL_SENDERS_NEXT, WL_SENDERS_RANDOM };
#define WL_INCAST_PARAMS(X) \
    WL_SIZE_PARAM(X) WL_START_PARAM(X) \
    X(receiver, COUNT, 0, 0, WL_HOSTS_MAX, NULL, "the receiving host", "rnicsim") \
    X(fan_in, COUNT, 0, 0, WL_HOSTS_MAX, NULL, "senders; 0: all other hosts", "rnicsim") \
    X(senders, ENUM, 0, 0, 1, WL_SENDER_CHOICES, "the hosts after the receiver, or others drawn for each round", "rnicsim") \
    X(rounds, COUNT, 1, 0, INT64_C(100000000), NULL, "rounds; 0: until the measurement ends", "rnicsim") \
    X(interval_ps, TIME, 0, 0, WL_TIME_MAX, NULL, "between rounds; 0: a round begins when the one before has ended", "rnicsim") \
    X(jitter_ps, TIME, 0, 0, WL_TIME_MAX, NULL, "each sender posts up to this later than the round begins, uniformly", "rnicsim")

/** Each host sends to one other and receives from one other. */
#define WL_PATTERNS "random|shift"
enum wl_pattern { WL_PATTERN_RANDOM, WL_PATTERN_SHIFT };
#define WL_PERMUTATION_PARAMS(X) \
    WL_SIZE_PARAM(X) WL_START_PARAM(X) \
    X(pattern, ENUM, 0, 0, 1, WL_PATTERNS, "a random permutation without fixed points, or host i sends to i + shift", "rnicsim") \
    X(shift, COUNT, 1, 1, WL_HOSTS_MAX, NULL, "of the shift pattern, modulo the number of hosts", "rnicsim") \
    X(messages, COUNT, 1, 0, INT64_C(100000000), NULL, "messages per host; 0: until the measurement ends", "rnicsim") \
    X(outstanding, COUNT, 1, 1, 1000000, NULL, "messages that each host keeps under way", "rnicsim") \
    X(jitter_ps, TIME, 0, 0, WL_TIME_MAX, NULL, "each host starts up to this later, uniformly", "rnicsim")

/** A list of messages, each with its own hosts, size, time and priority. */
#define WL_PRIO_OWN 255          /* a flow's priority: the transport's */
struct wl_flow { uint32_t src, dst; uint8_t prio; /* 0..7 or WL_PRIO_OWN */ int64_t bytes /* 1 .. WL_BYTES_MAX */, start_ps; };
struct wl_flow_list { const struct wl_flow *flow; size_t n; };
#define WL_FLOWS_PARAMS(X) \
    WL_START_PARAM(X) \
    X(from_first, BOOL, 0, 0, 1, NULL, "count the flows' start times from the earliest of them", "HPCC's traces begin at 2 s") \
    X(size_scale, NUMBER, 1, 1e-6, 1e6, NULL, "sizes times this, at least a byte", "to shrink a trace") \
    X(time_scale, NUMBER, 1, 0, 1e6, NULL, "start times times this", "to shrink a trace") \
    X(limit, COUNT, 0, 0, INT64_C(100000000), NULL, "only so many flows, the earliest; 0: all", "rnicsim")

struct wl_pingpong_params    { PARAM_FIELDS(WL_PINGPONG_PARAMS) };
struct wl_poisson_params     { PARAM_FIELDS(WL_POISSON_PARAMS) };
struct wl_incast_params      { PARAM_FIELDS(WL_INCAST_PARAMS) };
struct wl_permutation_params { PARAM_FIELDS(WL_PERMUTATION_PARAMS) };
struct wl_flows_params       { PARAM_FIELDS(WL_FLOWS_PARAMS) };
extern const struct param_table wl_pingpong_params_table, wl_poisson_params_table, wl_incast_params_table, wl_permutation_params_table,
                                wl_flows_params_table;

enum wl_kind { WL_PINGPONG, WL_POISSON, WL_INCAST, WL_PERMUTATION, WL_FLOWS, WL_KIND_COUNT };

struct wl_spec {
    enum wl_kind kind;
    struct wl_cdf cdf;           /* n 0: every message has size_bytes; checked by wl_new */
    struct wl_flow_list flows;   /* kind WL_FLOWS; not copied: it must outlive the workload */
    union {
        struct wl_pingpong_params    pingpong;
        struct wl_poisson_params     poisson;
        struct wl_incast_params      incast;
        struct wl_permutation_params permutation;
        struct wl_flows_params       flows;
    } u;
};

/** The kinds by name ("ping-pong", "poisson", "incast", "permutation", "flows"), with their parameter tables, for schema and describe. */
struct wl_kind_info { const char *name, *about; const struct param_table *table; bool has_load; };
extern const struct wl_kind_info wl_kinds[WL_KIND_COUNT];
/** The union's member as its table knows it (all start at the same address). */
static inline void *wl_spec_params(struct wl_spec *s) { return &s->u; }
/** A kind with its defaults and no CDF. */
void wl_spec_init(struct wl_spec *s, enum wl_kind kind);

struct wl_host { uint32_t node; int64_t link_bps; };

/** When messages are posted, from the start of the workload: all of it [0, warmup + duration), measured from warmup on. A stream that
 *  is bounded by a count may also end earlier; ping-pong rounds, incast rounds and messages that are given as counts are carried to the
 *  end even if that is after the window, and are then not measured. */
struct wl_window { int64_t warmup_ps, duration_ps; };

struct wl;

struct wl_connect_ops {
    /** A channel from hosts[src] to hosts[dst] in priority prio (WL_PRIO_OWN: the transport's) whose sink is given; number `which`
     *  (< per_pair) of that pair and priority, or a fresh one if per_message. It may still be connecting. NULL aborts the run: the message
     *  fails with RNIC_WC_FATAL_ERR. */
    struct wl_chan *(*connect)(void *ctx, uint32_t src, uint32_t dst, uint8_t prio, uint32_t which, const struct wl_sink *sink, void *sink_ctx);
    /** The channel's only message has ended (per_message); may be NULL. Never called from within the channel's own callbacks. */
    void (*disconnect)(void *ctx, struct wl_chan *c);
    /** All streams have posted all and all messages have ended; may be NULL. */
    void (*done)(void *ctx);
};

struct wl_config {
    const struct wl_spec *specs; uint32_t nspecs;   /* copied; at most 65535 */
    const struct wl_host *hosts; uint32_t nhosts;   /* copied */
    struct wl_window window;
    uint64_t seed;
    uint32_t per_pair;           /* channels per pair of hosts, used in turn; 0 means 1 */
    bool     per_message;        /* a new channel for each message, connecting included in its latency */
    const struct wl_connect_ops *ops; void *ctx;
};

/** 0, or SIM_ERR_PARAM with one sentence in err: a bad CDF, hosts out of range, fewer than two hosts, ... */
int wl_check(const struct wl_config *c, char *err, size_t errlen);
/** NULL on what wl_check refuses. */
struct wl *wl_new(struct sim *s, const struct wl_config *c) SIM_MUST_CHECK;
/** Does not free the channels: they are the connect callback's. */
void wl_free(struct wl *w);

/** Largest message that any stream may send, of flows the largest of the list. */
uint64_t wl_max_bytes(const struct wl *w);
/** Ask the callback for every channel that will be used, in order of (src, dst, prio, which); Poisson streams are rehearsed to know
 *  their pairs. Returns how many. With per_message: none. Before wl_start. */
uint64_t wl_connect_all(struct wl *w);
/** Begin at at_ps >= now. */
void wl_start(struct wl *w, int64_t at_ps);

struct wl_progress {
    uint64_t posted, ended, failed;
    uint64_t expected;           /* posts in all where counts bound every stream, else 0: not known */
    bool     all_posted;
    int64_t  last_post_ps;       /* -1: none yet */
    uint64_t payload_bytes;      /* delivered */
};
void wl_progress(const struct wl *w, struct wl_progress *out);
bool wl_done(const struct wl *w);
/** The book, by id = order of posting; the pointer is good until the next event. */
const struct wl_message *wl_messages(const struct wl *w, size_t *n);
/** The run is over: messages that have neither arrived nor failed on a broken channel now count as failed, so that only what
 *  more time could have delivered stays unfinished. */
void wl_finish(struct wl *w);

#ifdef __cplusplus
}
#endif
#endif
