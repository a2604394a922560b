/* SPDX-License-Identifier: GPL-2.0-only */
/** What the kinds of channel share; chan*.c only. */
#ifndef RNICSIM_WORKLOAD_CHAN_INTERNAL_H
#define RNICSIM_WORKLOAD_CHAN_INTERNAL_H

#include "chan.h"

struct chan_ops {
    void (*send)(struct wl_chan *c);                  /* messages have been queued */
    void (*up)(struct wl_chan *c);
    void (*fail)(struct wl_chan *c, enum rnic_wc_status status);
    uint64_t (*timeouts)(const struct wl_chan *c);
    void (*free)(struct wl_chan *c);
};

struct chan_entry { uint64_t id, bytes; };

/** A channel's messages lie in one ring by sequence number: complete and deliver move in order, each at its own pace. */
struct wl_chan {
    const struct chan_ops *ops;
    const struct wl_sink *sink;
    void    *ctx;
    uint32_t id;
    uint32_t cap;                                     /* of the ring, a power of two */
    struct chan_entry *ring;
    uint64_t deliver_seq, complete_seq, post_seq, tail_seq;
    int64_t (*now)(const struct wl_chan *c);
    bool     broken, draining;
    enum rnic_wc_status why;                          /* broken: what later messages fail with */
};

void chan_init(struct wl_chan *c, const struct chan_ops *ops, uint32_t id, const struct wl_sink *sink, void *ctx);
void chan_fini(struct wl_chan *c);
static inline struct chan_entry *chan_at(const struct wl_chan *c, uint64_t seq) { return &c->ring[seq & (c->cap - 1)]; }
/** The oldest message not yet delivered has been; false when there is none under way (a stray). */
bool chan_delivered(struct wl_chan *c);
/** The oldest message not yet completed has completed. */
void chan_completed(struct wl_chan *c, enum rnic_wc_status status);
/** Mark broken and complete everything that was never given to the transport, once what was given has completed. */
void chan_break(struct wl_chan *c, enum rnic_wc_status why);
/** Complete all that is under way or queued as failed (the transport will not tell any more). */
void chan_break_all(struct wl_chan *c, enum rnic_wc_status why);

#endif
