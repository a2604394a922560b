/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion queues. An entry waits in the ring until the application sees it, at the host's cost; entries of one CQ are
 * seen in the order in which they were made. */
#include "rnic_internal.h"
#include <stdlib.h>

struct rnic_cq *rnic_cq_new(struct rnic_dev *d, uint32_t depth, uint32_t core, void (*on_wc)(void *ctx, const struct rnic_wc *wc), void *ctx)
{
    if (d == NULL || depth == 0 || depth > UINT32_C(1) << 24)
        return NULL;
    struct rnic_cq *cq = calloc(1, sizeof *cq);
    if (cq == NULL)
        return NULL;
    cq->dev = d;
    cq->depth = depth;
    cq->core = core;
    cq->on_wc = on_wc;
    cq->ctx = ctx;
    cq->next = d->cqs;
    d->cqs = cq;
    return cq;
}

void rnic_cq_free(struct rnic_cq *cq)
{
    free(cq->ring);
    free(cq);
}

/* The application takes the oldest entry. */
static void see(struct rnic_cq *cq)
{
    struct rnic_wc wc = cq->ring[cq->head++ & (cq->cap - 1)];
    struct host *h = cq->dev->host;
    if (h != NULL) {
        uint64_t v = wc.wr_id * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)wc.qpn << 40 ^ (uint64_t)wc.status << 32 ^ wc.byte_len;
        sim_note(host_sim(h), host_node(h), SIM_NOTE_COMPLETION, v);
    }
    if (cq->on_wc != NULL)
        cq->on_wc(cq->ctx, &wc);
}

static void seen(struct sim *s, void *ctx, void *arg)
{
    (void)s;
    (void)arg;
    see(ctx);
}

/* The application learns of the n oldest entries that it has not been told of. */
static void announce(struct rnic_cq *cq, uint32_t n, uint32_t dma_bytes)
{
    if (cq->dev->host != NULL) {
        for (; n > 0; n--)
            host_complete(cq->dev->host, cq->core, n == 1 ? dma_bytes : 0, seen, cq, NULL);
    } else if (!cq->delivering) {
        cq->delivering = true;
        while (cq->tail - cq->head > cq->quiet)
            see(cq);
        cq->delivering = false;
    }
}

bool rnic_cq_push(struct rnic_cq *cq, const struct rnic_wc *wc, uint32_t dma_bytes)
{
    bool fits = cq->tail - cq->head < cq->depth;
    cq->ring = rnic_ring_room(cq->ring, &cq->cap, sizeof *cq->ring, cq->head, cq->tail);
    struct rnic_wc *slot = &cq->ring[cq->tail++ & (cq->cap - 1)];
    *slot = *wc;
    if (!fits && wc->status == RNIC_WC_SUCCESS)
        slot->status = RNIC_WC_FATAL_ERR;
    bool overrun = slot->status != wc->status;
    if (cq->solicited_only && slot->status == RNIC_WC_SUCCESS && !wc->solicited) {
        cq->quiet++;
        return true;
    }
    uint32_t n = cq->quiet + 1;
    cq->quiet = 0;
    announce(cq, n, dma_bytes);
    return !overrun;
}

void rnic_cq_notify_solicited(struct rnic_cq *cq, bool only)
{
    uint32_t n = cq->quiet;
    cq->solicited_only = only;
    if (only || n == 0)
        return;
    cq->quiet = 0;
    announce(cq, n, 0);
}
