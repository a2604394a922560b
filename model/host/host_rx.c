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

struct endpoint *host_rx_lookup(struct host *h, const struct pkt *p)
{
    if (p->dst != h->addr)
        return NULL;
    if (p->kind == PKT_ROCE)
        return host_map_find(&h->roce, p->roce.dqpn);
    if (p->kind != PKT_TCP)
        return NULL;
    struct endpoint *ep = host_map_find(&h->tcp, tcp_key(p->src, p->sport, p->dport));
    if (ep || (p->tcp.flags & (TCP_SYN | TCP_ACK)) != TCP_SYN)
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
    int64_t service = host_max_ps(h->par.rx_packet_ps, host_bytes_ps(p->payload_len, h->par.pcie_rate_bps));
    h->rx_free_ps = host_max_ps(sim_now(h->sim), h->rx_free_ps) + service;
    sim_at(h->sim, h->rx_free_ps + h->par.rx_latency_ps, h->key_rx, pipeline_done, h, p);
}
