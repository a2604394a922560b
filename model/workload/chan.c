/* SPDX-License-Identifier: GPL-2.0-only */
/* What channels share: the queue of messages and its bookkeeping. */
#include <stdlib.h>

#include "chan_internal.h"

void chan_init(struct wl_chan *c, const struct chan_ops *ops, uint32_t id, const struct wl_sink *sink, void *ctx)
{
    c->ops = ops;
    c->id = id;
    c->sink = sink;
    c->ctx = ctx;
}

void chan_fini(struct wl_chan *c) { free(c->ring); }

static void push(struct wl_chan *c, uint64_t id, uint64_t bytes)
{
    uint64_t oldest = c->deliver_seq < c->complete_seq ? c->deliver_seq : c->complete_seq;
    if (c->tail_seq - oldest >= c->cap) {
        uint32_t cap = c->cap ? c->cap * 2 : 4;
        struct chan_entry *ring = malloc(cap * sizeof *ring);
        if (!ring)
            abort();
        for (uint64_t s = oldest; s < c->tail_seq; s++)
            ring[s & (cap - 1)] = *chan_at(c, s);
        free(c->ring);
        c->ring = ring;
        c->cap = cap;
    }
    *chan_at(c, c->tail_seq++) = (struct chan_entry){ id, bytes };
}

void wl_chan_send(struct wl_chan *c, uint64_t id, uint64_t bytes)
{
    push(c, id, bytes);
    if (c->broken)
        chan_break(c, c->why);
    else
        c->ops->send(c);
}

bool wl_chan_broken(const struct wl_chan *c) { return c->broken; }

bool chan_delivered(struct wl_chan *c)
{
    if (c->deliver_seq >= c->post_seq)
        return false;
    uint64_t id = chan_at(c, c->deliver_seq++)->id;
    c->sink->delivered(c->ctx, c, id, c->now(c));
    return true;
}

void chan_completed(struct wl_chan *c, enum rnic_wc_status status)
{
    assert(c->complete_seq < c->tail_seq);
    uint64_t id = chan_at(c, c->complete_seq++)->id;
    if (c->post_seq < c->complete_seq)
        c->post_seq = c->complete_seq;
    c->sink->completed(c->ctx, c, id, c->now(c), status);
}

void chan_break(struct wl_chan *c, enum rnic_wc_status why)
{
    if (!c->broken) {
        c->broken = true;
        c->why = why;
    }
    if (c->draining)
        return;                                       /* a sink posted from within: the loop below gets to it */
    c->draining = true;
    while (c->complete_seq == c->post_seq && c->complete_seq < c->tail_seq)
        chan_completed(c, c->why);
    c->draining = false;
}

void chan_break_all(struct wl_chan *c, enum rnic_wc_status why)
{
    if (c->broken)
        return;
    uint64_t lost = c->deliver_seq, known = c->complete_seq;
    c->deliver_seq = UINT64_MAX;                      /* late arrivals of these count no more */
    c->post_seq = known;
    c->broken = true;
    c->why = why;
    for (; lost < known; lost++)                      /* they had completed locally and cannot arrive any more */
        c->sink->completed(c->ctx, c, chan_at(c, lost)->id, c->now(c), why);
    chan_break(c, why);
}

void wl_chan_up(struct wl_chan *c) { c->ops->up(c); }
void wl_chan_fail(struct wl_chan *c, enum rnic_wc_status status) { c->ops->fail(c, status); }
uint64_t wl_chan_timeouts(const struct wl_chan *c) { return c->ops->timeouts(c); }
uint32_t wl_chan_id(const struct wl_chan *c) { return c->id; }
void wl_chan_free(struct wl_chan *c)
{
    if (c)
        c->ops->free(c);
}
