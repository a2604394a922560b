/* SPDX-License-Identifier: GPL-2.0-only */
/* The NIC's receive side: buffer, pipeline, PCIe; then the endpoint, or for kernel TCP the softirq. */
#include "host_internal.h"

static uint64_t tcp_key(uint32_t remote_addr, uint16_t remote_port, uint16_t local_port)
{
    return (uint64_t)remote_addr << 32 | (uint64_t)remote_port << 16 | local_port;
}

int host_bind_roce(struct host *h, uint32_t qpn, struct endpoint *ep)
{
    ep->offloaded = 1;
    return host_map_put(&h->roce, qpn, ep);
}

int host_bind_tcp(struct host *h, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port, struct endpoint *ep)
{
    return host_map_put(&h->tcp, tcp_key(remote_addr, remote_port, local_port), ep);
}

void host_unbind_tcp(struct host *h, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port)
{
    host_map_del(&h->tcp, tcp_key(remote_addr, remote_port, local_port));
}

/* Of a connection that there is already. */
static struct endpoint *connected(const struct host *h, const struct pkt *p)
{
    if (p->dst != h->addr)
        return NULL;
    if (p->kind == PKT_ROCE)
        return host_map_find(&h->roce, p->roce.dqpn);
    return p->kind == PKT_TCP ? host_map_find(&h->tcp, tcp_key(p->src, p->sport, p->dport)) : NULL;
}

struct endpoint *host_rx_lookup(struct host *h, const struct pkt *p)
{
    struct endpoint *ep = connected(h, p);
    if (ep || p->kind != PKT_TCP || p->dst != h->addr || (p->tcp.flags & (TCP_SYN | TCP_ACK)) != TCP_SYN)
        return ep;
    for (struct host_listener *l = h->listeners; l; l = l->next)
        if (l->port == p->dport)
            return l->accept(l->ctx, h, p);
    return NULL;
}

static void drop(struct host *h, struct pkt *p, enum fabric_drop_cause cause)
{
    h->stats.rx_drops++;
    fabric_drop(h->fabric, h->node, port_index(h->port), p, cause);
}

void host_rx_deliver(struct host *h, struct pkt *p, uint32_t core)
{
    struct endpoint *ep = host_rx_lookup(h, p);
    if (!ep) {
        drop(h, p, FABRIC_DROP_NO_ENDPOINT);
        return;
    }
    h->stats.rx_packets++;
    fabric_count_delivered(h->fabric, p);
    h->current = ep;
    ep->ops->rx(ep, sim_now(h->sim), p);
    bool gone = h->current != ep;                   /* detached in its own rx */
    h->current = NULL;
    pkt_release_payload(p);
    fabric_pkt_free(h->fabric, p);
    if (!gone)
        host_tx_review(h, ep, core);
}

/* Out of the NIC: to the endpoint, or to the softirq of its core. */
static void classify(struct host *h, struct pkt *p)
{
    if (p->kind == PKT_TCP && !h->napi_direct) {
        struct endpoint *ep = host_rx_lookup(h, p);
        if (ep && !ep->offloaded) {
            uint32_t core = ep->core + (h->par.softirq_core == HOST_SOFTIRQ_NEXT ? 1u : 0u);
            if (!host_softirq_rx(h, p, core))
                drop(h, p, FABRIC_DROP_NIC_RX);
            return;
        }
    }
    host_rx_deliver(h, p, 0);
    host_tx_kick(h);
}

/* --- receive buffer and PFC --- */

static void send_pause(struct host *h, uint16_t quanta)
{
    uint16_t q[8];
    for (unsigned i = 0; i < 8; i++)
        q[i] = h->lossless >> i & 1u ? quanta : 0;
    port_send_pfc(h->port, h->lossless, q);
    if (quanta)
        h->stats.pause_frames++;
}

/* A pause of 65535 quanta is renewed at half its time for as long as the buffer stays above the resume threshold. */
static void pause_again(struct sim *s, void *ctx, void *arg)
{
    struct host *h = ctx;
    (void)arg;
    send_pause(h, UINT16_MAX);
    sim_timer_set(s, &h->pause_timer, sim_now(s) + host_bytes_ps(UINT16_MAX * 64u / 2u, h->rate_bps));
}

static void buffer_grow(struct host *h, uint32_t bytes)
{
    h->rx_bytes += bytes;
    if (h->lossless && !h->rx_paused && h->rx_bytes >= (uint64_t)h->par.rx_xoff_bytes) {
        h->rx_paused = 1;
        sim_timer_init(&h->pause_timer, h->key_cpu, pause_again, h);
        pause_again(h->sim, h, NULL);
    }
}

static void buffer_shrink(struct host *h, uint32_t bytes)
{
    h->rx_bytes -= bytes;
    if (h->rx_paused && h->rx_bytes <= (uint64_t)h->par.rx_xoff_bytes / 2) {
        h->rx_paused = 0;
        sim_timer_cancel(h->sim, &h->pause_timer);
        send_pause(h, 0);
    }
}

static void pipeline_done(struct sim *s, void *ctx, void *arg)
{
    struct host *h = ctx;
    struct pkt *p = arg;
    (void)s;
    buffer_shrink(h, p->frame_len);
    classify(h, p);
}

static bool free_in_pipeline(void *to, void *ctx, void *arg)
{
    if (ctx != to)
        return false;
    fabric_pkt_free(((struct host *)to)->fabric, arg);
    return true;
}

void host_rx_free(struct host *h)
{
    sim_take_pending(h->sim, pipeline_done, free_in_pipeline, h);
}

/* The pipeline takes a packet at begin_ps; it is through when its payload has crossed PCIe, wait_ps later if its context or translation must come first. */
static void serve(struct host *h, struct endpoint *ep, struct pkt *p, int64_t begin_ps, int64_t wait_ps)
{
    h->rx_free_ps = host_max_ps(begin_ps + h->par.rx_packet_ps, pcie_move(&h->pcie, PCIE_WRITE, begin_ps, p->payload_len));
    int64_t done_ps = h->rx_free_ps + wait_ps + h->par.rx_latency_ps;
    if (ep)                                         /* a packet that misses is not overtaken by the connection's next */
        ep->placed_ps = done_ps = host_max_ps(done_ps, ep->placed_ps);
    sim_at(h->sim, done_ps, h->key_rx, pipeline_done, h, p);
}

/* --- with contexts or translations: what is in the cache counts when a packet's turn comes, so packets wait in a queue --- */

static void queue_event(struct sim *s, void *ctx, void *arg);

static void queue_run(struct host *h)
{
    while (h->rx_queue.head && h->rx_free_ps <= sim_now(h->sim)) {
        struct pkt *p = host_fifo_pop(&h->rx_queue);
        struct endpoint *ep = connected(h, p);
        struct context_use use = { .begin_ps = sim_now(h->sim), .ready_ps = sim_now(h->sim), .hit = true };
        if (h->contexts && ep && ep->offloaded)
            use = host_context(h, ep);
        if (h->translations && ep && p->kind == PKT_ROCE)
            use = host_translate(h, ep, p, use);
        serve(h, ep, p, use.begin_ps, use.ready_ps - use.begin_ps);
    }
    if (h->rx_queue.head && !h->rx_armed) {
        h->rx_armed = true;
        sim_at(h->sim, h->rx_free_ps, h->key_rx, queue_event, h, NULL);
    }
}

static void queue_event(struct sim *s, void *ctx, void *arg)
{
    struct host *h = ctx;
    (void)s;
    (void)arg;
    h->rx_armed = false;
    queue_run(h);
}

void host_rx_arrive(void *owner, struct port *port, struct pkt *p)
{
    struct host *h = owner;
    (void)port;
    if (h->rx_direct) {
        classify(h, p);
        return;
    }
    if (h->rx_bytes + p->frame_len > (uint64_t)h->par.rx_buffer_bytes) {
        drop(h, p, FABRIC_DROP_NIC_RX);
        return;
    }
    buffer_grow(h, p->frame_len);
    if (h->contexts || h->translations) {
        host_fifo_push(&h->rx_queue, p);
        queue_run(h);
    } else {
        serve(h, NULL, p, host_max_ps(sim_now(h->sim), h->rx_free_ps), 0);
    }
}
