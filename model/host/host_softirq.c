/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving in the kernel: interrupt, then softirq passes that take up to napi_budget frames, merge what GRO may merge, and pay the
 * driver per frame and the stack per merged segment. A pass's segments reach TCP at its end, before TCP is asked to send, so
 * a merged segment is acknowledged once. */
#include "host_internal.h"

/* Connections that GRO holds open at once in a pass. */
#define GRO_FLOWS 8

struct gro_flow { uint32_t src, next_seq; uint16_t sport, dport; uint32_t bytes; };

static bool gro_may_merge(const struct pkt *p)
{
    return p->kind == PKT_TCP && p->payload_len > 0 && !(p->tcp.flags & (TCP_SYN | TCP_FIN | TCP_RST | TCP_URG)) && p->ecn != 3;
}

/* Cost of the stack for a pass's frames. */
static int64_t stack_cost(struct host *h, const struct host_fifo *batch)
{
    struct gro_flow flow[GRO_FLOWS];
    unsigned nflows = 0, victim = 0;
    int64_t cost = 0;
    for (const struct pkt *p = batch->head; p; p = p->next) {
        if (!gro_may_merge(p)) {
            cost += p->payload_len ? h->par.tcp_rx_ps : h->par.tcp_ack_ps;
            continue;
        }
        unsigned i = 0;
        while (i < nflows && (flow[i].src != p->src || flow[i].sport != p->sport || flow[i].dport != p->dport))
            i++;
        if (i < nflows && flow[i].next_seq == p->tcp.seq && flow[i].bytes + p->payload_len <= (uint64_t)h->par.gro_bytes) {
            flow[i].bytes += p->payload_len;
        } else {
            cost += h->par.tcp_rx_ps;
            h->stats.gro_segments++;
            if (i == GRO_FLOWS)
                i = victim++ % GRO_FLOWS;           /* the oldest goes up the stack */
            else if (i == nflows)
                nflows++;
            flow[i] = (struct gro_flow){ p->src, 0, p->sport, p->dport, p->payload_len };
        }
        flow[i].next_seq = p->tcp.seq + p->payload_len;
        if (p->tcp.flags & TCP_PSH)
            flow[i].bytes = UINT32_MAX / 2;         /* a push ends the merged segment */
    }
    return cost;
}

static void pass_done(struct sim *s, void *ctx, void *arg);

static void pass_begin(struct host_core *c, int64_t extra_ps)
{
    struct host *h = c->h;
    while (c->ring.head && c->batch.frames < (uint32_t)h->par.napi_budget)
        host_fifo_push(&c->batch, host_fifo_pop(&c->ring));
    int64_t cost = extra_ps + (int64_t)c->batch.frames * h->par.napi_packet_ps + stack_cost(h, &c->batch);
    h->stats.softirq_passes++;
    c->napi = HOST_NAPI_RUNNING;
    host_cpu_run(h, c->id, cost, pass_done, c, NULL);
}

static void pass_done(struct sim *s, void *ctx, void *arg)
{
    struct host_core *c = ctx;
    struct host *h = c->h;
    (void)s;
    (void)arg;
    while (c->batch.head)
        host_rx_deliver(h, host_fifo_pop(&c->batch), c->id);
    c->napi = HOST_NAPI_IDLE;
    if (c->ring.head)
        pass_begin(c, 0);
    host_tx_kick(h);
}

static void interrupt(struct sim *s, void *ctx, void *arg)
{
    struct host_core *c = ctx;
    (void)s;
    (void)arg;
    pass_begin(c, c->h->par.irq_ps);
}

bool host_softirq_rx(struct host *h, struct pkt *p, uint32_t core)
{
    struct host_core *c = host_core_at(h, core);
    if (c->ring.frames >= (uint32_t)h->par.rx_ring_frames)
        return false;
    host_fifo_push(&c->ring, p);
    if (c->napi != HOST_NAPI_IDLE)
        return true;
    int64_t now = sim_now(h->sim), fires = now;
    if (c->last_rx_irq_ps != SIM_NEVER_PS)
        fires = host_max_ps(now, c->last_rx_irq_ps + h->par.irq_gap_ps);
    c->last_rx_irq_ps = fires;
    c->napi = HOST_NAPI_IRQ;
    h->stats.interrupts++;
    sim_at(h->sim, fires + h->par.dma_latency_ps + h->par.irq_latency_ps, h->key_cpu, interrupt, c, NULL);
    return true;
}
