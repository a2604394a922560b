/* SPDX-License-Identifier: GPL-2.0-only */
/* A host's life, its endpoints, and what it tells about itself. */
#include <stdlib.h>

#include "host_internal.h"

struct host *host_new(struct sim *s, struct port *port, const struct host_params *params)
{
    struct host *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->cores = calloc((size_t)params->cores, sizeof *h->cores);
    if (params->contexts > 0)
        h->contexts = context_cache_new((uint32_t)params->contexts, params->context_replacement == HOST_CONTEXT_RANDOM, (uint32_t)params->context_fetches,
                                        sim_seed(s), port_node(port), SIM_RNG_CONTEXT);
    if (params->translations > 0)
        h->translations = translation_cache_new((uint32_t)params->translations, (uint64_t)params->page_size_bytes,
                                                params->translation_replacement == HOST_CONTEXT_RANDOM, (uint32_t)params->translation_fetches, sim_seed(s), port_node(port));
    if (!h->cores || (params->contexts > 0 && !h->contexts) || (params->translations > 0 && !h->translations)) {
        context_cache_free(h->contexts);
        translation_cache_free(h->translations);
        free(h->cores);
        free(h);
        return NULL;
    }
    h->sim = s;
    h->port = port;
    h->fabric = port_fabric(port);
    h->node = port_node(port);
    h->addr = pkt_addr_of_node(h->node);
    h->rate_bps = port_rate_bps(port);
    h->par = *params;
    h->key_cpu = sim_key_node(h->node, SIM_KIND_WAKE, 0xffffff);
    h->key_rx = sim_key_node(h->node, SIM_KIND_RX, 0xffffff);
    h->key_tx = sim_key_node(h->node, SIM_KIND_TX, 0xffffff);
    h->pcie = (struct pcie){ .rate_bps = params->pcie_rate_bps, .max_payload_bytes = (uint32_t)params->pcie_max_payload_bytes };
    h->direct = params->tx_latency_ps == 0 && params->tx_packet_ps == 0 && params->pcie_rate_bps == 0 && params->dma_read_ps == 0 && params->contexts == 0;
    h->rx_direct = params->rx_latency_ps == 0 && params->rx_packet_ps == 0 && params->pcie_rate_bps == 0 && params->contexts == 0 &&
                   params->translations == 0;
    h->napi_direct = params->irq_latency_ps == 0 && params->irq_ps == 0 && params->irq_gap_ps == 0 && params->tcp_rx_ps == 0 &&
                     params->tcp_ack_ps == 0 && params->napi_packet_ps == 0 && params->dma_latency_ps == 0;
    sim_timer_init(&h->pause_timer, h->key_cpu, NULL, NULL);
    for (int64_t i = 0; i < params->cores; i++) {
        struct host_core *c = &h->cores[i];
        c->h = h;
        c->id = (uint32_t)i;
        c->jobs_tail = &c->jobs;
        c->poll_since_ps = c->last_cq_irq_ps = c->last_rx_irq_ps = SIM_NEVER_PS;
    }
    port_attach(port, &host_port_ops, h);
    return h;
}

static void free_packets(struct host *h, struct host_fifo *f)
{
    while (f->head) {
        struct pkt *p = host_fifo_pop(f);
        pkt_release_payload(p);
        fabric_pkt_free(h->fabric, p);
    }
}

static void free_jobs(struct host_job *job)
{
    while (job) {
        struct host_job *next = job->made;
        free(job);
        job = next;
    }
}

void host_free(struct host *h)
{
    if (!h)
        return;
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        free_packets(h, &h->fifo[i]);
    for (int64_t i = 0; i < h->par.cores; i++) {
        free_packets(h, &h->cores[i].ring);
        free_packets(h, &h->cores[i].batch);
    }
    free_packets(h, &h->rx_queue);
    host_rx_free(h);
    context_cache_free(h->contexts);
    translation_cache_free(h->translations);
    free_jobs(h->made_jobs);
    while (h->listeners) {
        struct host_listener *l = h->listeners;
        h->listeners = l->next;
        free(l);
    }
    host_map_fini(&h->roce);
    host_map_fini(&h->tcp);
    free(h->cores);
    free(h);
}

struct sim *host_sim(const struct host *h) { return h->sim; }
uint32_t host_node(const struct host *h) { return h->node; }
uint32_t host_addr(const struct host *h) { return h->addr; }
const struct host_params *host_params(const struct host *h) { return &h->par; }
int64_t host_now(const struct host *h) { return sim_now(h->sim); }
int64_t host_link_bps(const struct host *h) { return port_rate_bps(h->port); }
const struct host_stats *host_stats(const struct host *h) { return &h->stats; }

void host_attach(struct host *h, struct endpoint *ep)
{
    assert(!ep->host && ep->prio < PORT_PRIOS && ep->urgent_prio < PORT_PRIOS);
    ep->host = h;
    ep->next_ready = NULL;
    ep->credit_bytes = 0;
    ep->pass = NULL;
    ep->armed_ps = SIM_NEVER_PS;
    ep->in_ring = 0;
    ep->context = 0;
    ep->placed_ps = 0;
    sim_timer_init(&ep->timer, sim_key_node(h->node, SIM_KIND_WAKE, ep->id), host_tx_timer, ep);
    endpoint_changed(ep);
}

void host_detach(struct host *h, struct endpoint *ep)
{
    if (ep->host != h)
        return;
    host_tx_forget(h, ep);
    host_map_del_endpoint(&h->roce, ep);
    host_map_del_endpoint(&h->tcp, ep);
    if (h->current == ep)
        h->current = NULL;
    if (h->contexts)
        context_cache_drop(h->contexts, &ep->context);
    h->stats.connections -= ep->claimed;
    ep->claimed = 0;
    ep->host = NULL;
}

int host_listen_tcp(struct host *h, uint16_t local_port, struct endpoint *(*accept)(void *ctx, struct host *h, const struct pkt *syn), void *ctx)
{
    for (const struct host_listener *l = h->listeners; l; l = l->next)
        if (l->port == local_port)
            return SIM_ERR_STATE;
    struct host_listener *l = malloc(sizeof *l);
    if (!l)
        return SIM_ERR_NOMEM;
    *l = (struct host_listener){ h->listeners, local_port, accept, ctx };
    h->listeners = l;
    return SIM_OK;
}

void host_set_offloaded(struct host *h, struct endpoint *ep, bool offloaded)
{
    (void)h;
    ep->offloaded = offloaded;
}

void host_set_core(struct host *h, struct endpoint *ep, uint32_t core)
{
    ep->core = (uint16_t)(core % (uint32_t)h->par.cores);
}

void host_set_lossless(struct host *h, uint8_t prios) { h->lossless = prios; }

void endpoint_changed(struct endpoint *ep)
{
    struct host *h = ep->host;
    if (!h || h->current == ep)
        return;                                     /* outside a simulation, or looked at again in a moment */
    host_tx_review(h, ep, ep->core);
    host_tx_kick(h);
}
