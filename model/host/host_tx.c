/* SPDX-License-Identifier: GPL-2.0-only */
/* The NIC's transmit side. Endpoints that may send stand in a ring per priority; idle ones stand nowhere and cost nothing.
 *
 * At no cost (`direct`) the port's pull asks an endpoint, so pause and pacing act exactly at the wire. With costs an engine takes a
 * packet every service time and puts it through the pipeline into a short FIFO per priority, from which the port pulls. */
#include "host_internal.h"
#include "../wire/codec.h"

const struct port_ops host_port_ops = { .pull = host_tx_pull, .arrive = host_rx_arrive, .paused = host_tx_paused };

static bool is_control(const struct pkt *p)
{
    if (p->kind == PKT_ROCE)
        return (wire_roce_op[p->roce.opcode].flags & ROCE_OP_ACK) || p->roce.opcode == ROCE_CNP;
    return p->kind == PKT_TCP && p->payload_len == 0 && !(p->tcp.flags & (TCP_SYN | TCP_FIN | TCP_RST));
}

static uint8_t control_prio(const struct endpoint *ep, const struct pkt *p)
{
    return p->kind == PKT_ROCE && p->roce.opcode == ROCE_CNP && ep->cnp_prio ? ep->cnp_prio - 1 : ep->urgent_prio;
}

static int64_t wire_ps(struct host *h, uint32_t frame_len)
{
    unsigned slot = (frame_len ^ frame_len >> 3) & 7u;
    if (h->wire_cache[slot].frame_len != frame_len) {
        h->wire_cache[slot].frame_len = frame_len;
        h->wire_cache[slot].wire_ps = port_wire_time_ps(frame_len, h->rate_bps);
    }
    return h->wire_cache[slot].wire_ps;
}

/* --- rings --- */

static void ring_add(struct host *h, struct endpoint *ep)
{
    struct endpoint **last = &h->ring[ep->prio];
    if (*last) {
        ep->next_ready = (*last)->next_ready;
        (*last)->next_ready = ep;
    } else {
        ep->next_ready = ep;
        h->ring_mask |= (uint8_t)(1u << ep->prio);
    }
    if (ep->turn_left == 0 || *last == NULL) /* else it is asked again before the others */
        *last = ep;
    ep->in_ring = 1;
    ep->ring_prio = ep->prio;
}

static struct endpoint *ring_take(struct host *h, unsigned prio)
{
    struct endpoint *last = h->ring[prio], *ep = last->next_ready;
    if (ep == last) {
        h->ring[prio] = NULL;
        h->ring_mask &= (uint8_t)~(1u << prio);
    } else {
        last->next_ready = ep->next_ready;
    }
    ep->next_ready = NULL;
    ep->in_ring = 0;
    return ep;
}

static void ring_remove(struct host *h, struct endpoint *ep)
{
    unsigned prio = ep->ring_prio;
    struct endpoint *last = h->ring[prio], *before = last;
    while (before->next_ready != ep)
        before = before->next_ready;
    h->ring[prio] = before;
    (void)ring_take(h, prio);
    if (ep != last)
        h->ring[prio] = last;
}

/* --- the transmit path of kernel TCP: passes of up to tso_bytes, each paid on a core before it sends --- */

static bool needs_pass(const struct host *h, const struct endpoint *ep)
{
    return !ep->offloaded && h->par.tcp_tx_ps > 0;
}

static void pass_done(struct sim *s, void *ctx, void *arg)
{
    struct host_job *job = arg;
    struct host *h = ctx;
    struct endpoint *ep = job->arg;
    uint32_t core = job->core;
    (void)s;
    host_job_free(h, job);
    if (!ep)
        return;                                     /* detached meanwhile */
    ep->pass = NULL;
    ep->credit_bytes = h->par.tso_bytes;
    host_tx_review(h, ep, core);
    host_tx_kick(h);
}

static void pass_begin(struct host *h, struct endpoint *ep, uint32_t core)
{
    struct host_job *job = host_job_new(h, core, h->par.tcp_tx_ps, NULL, NULL, ep);
    ep->pass = job;
    h->stats.tx_passes++;
    host_cpu_run(h, core, h->par.tcp_tx_ps, pass_done, h, job);
}

/* --- review: where an endpoint belongs now --- */

static void arm(struct host *h, struct endpoint *ep, int64_t at_ps)
{
    if (at_ps >= ep->armed_ps)
        return;                                     /* lazily: the earlier alarm will look again */
    ep->armed_ps = host_max_ps(at_ps, sim_now(h->sim));
    sim_timer_set(h->sim, &ep->timer, ep->armed_ps);
}

static void fifo_add(struct host *h, struct pkt *p, int64_t out_ps)
{
    p->stamp_ps = out_ps;
    fabric_count_waiting(h->fabric, 1);
    host_fifo_push(&h->fifo[p->prio], p);
    h->fifo_mask |= (uint8_t)(1u << p->prio);
}

static void emerge(struct sim *s, void *ctx, void *arg)
{
    struct host *h = ctx;
    (void)s;
    (void)arg;
    port_kick(h->port);
}

/* A packet goes through the pipeline and into its FIFO; the port hears of it when it comes out. */
static void pipeline(struct host *h, struct pkt *p, int64_t out_ps)
{
    fifo_add(h, p, out_ps);
    if (out_ps <= host_max_ps(h->port_free_ps, sim_now(h->sim))) {
        if (!h->in_pull)
            port_kick(h->port);
    } else {
        sim_at(h->sim, out_ps, h->key_tx, emerge, h, NULL);
    }
}

static void take_control(struct host *h, struct endpoint *ep)
{
    int64_t now = sim_now(h->sim);
    struct endpoint *outer = h->current;
    h->current = ep;
    for (;;) {
        struct pkt *p = fabric_pkt_new(h->fabric);
        if (!ep->ops->tx_control(ep, now, p)) {
            fabric_pkt_free(h->fabric, p);
            break;
        }
        p->ip_id = h->ip_id++;
        p->prio = control_prio(ep, p);
        h->stats.tx_packets++;
        if (h->direct)
            fifo_add(h, p, now);
        else
            pipeline(h, p, now + h->par.tx_packet_ps + h->par.tx_latency_ps);
    }
    h->current = outer;
}

/* horizon_ps: nobody asks before then anyway, so who is ready by then may as well stand in the ring. */
static void review(struct host *h, struct endpoint *ep, uint32_t core, int64_t horizon_ps, bool had_none)
{
    int64_t now = sim_now(h->sim), ready = ep->ops->ready_ps(ep), wake = ep->ops->next_wake_ps(ep);
    if (ready <= horizon_ps) {
        if (ep->in_ring || ep->pass || (had_none && ready <= now))
            ;
        else if (needs_pass(h, ep) && ep->credit_bytes <= 0)
            pass_begin(h, ep, core);
        else
            ring_add(h, ep);
    } else if (!ep->in_ring) {
        ep->credit_bytes = 0;
        ep->turn_left = 0;
        wake = host_min_ps(wake, ready);
    }
    if (wake != SIM_NEVER_PS)
        arm(h, ep, wake);
}

static int64_t horizon(const struct host *h)
{
    return host_max_ps(sim_now(h->sim), h->direct ? h->port_free_ps : h->engine_free_ps);
}

void host_tx_review(struct host *h, struct endpoint *ep, uint32_t core)
{
    if (h->par.separate_control && ep->ops->tx_control && (ep->urgent_prio != ep->prio || ep->cnp_prio))
        take_control(h, ep);
    review(h, ep, core, horizon(h), false);
}

void host_tx_timer(struct sim *s, void *ctx, void *arg)
{
    struct endpoint *ep = ctx;
    struct host *h = ep->host;
    int64_t now = sim_now(s);
    (void)arg;
    ep->armed_ps = SIM_NEVER_PS;
    if (ep->ops->next_wake_ps(ep) <= now) {
        h->current = ep;
        ep->ops->wake(ep, now);
        bool gone = h->current != ep;               /* detached in its own wake */
        h->current = NULL;
        if (gone) {
            host_tx_kick(h);
            return;
        }
        assert(ep->ops->next_wake_ps(ep) > now);    /* else time would stand still */
    }
    host_tx_review(h, ep, ep->core);
    host_tx_kick(h);
}

void host_tx_forget(struct host *h, struct endpoint *ep)
{
    if (ep->in_ring)
        ring_remove(h, ep);
    if (ep->pass)
        ((struct host_job *)ep->pass)->arg = NULL;
    ep->pass = NULL;
    sim_timer_cancel(h->sim, &ep->timer);
}

/* --- asking --- */

static unsigned choose_prio(struct host *h, unsigned mask)
{
    if (h->par.prio_schedule == HOST_PRIO_STRICT)
        return 31u - (unsigned)__builtin_clz(mask);
    unsigned later = mask >> h->next_prio << h->next_prio;
    unsigned prio = (unsigned)__builtin_ctz(later ? later : mask);
    h->next_prio = (uint8_t)((prio + 1) % PORT_PRIOS);
    return prio;
}

/* The engine takes a packet: its payload crosses PCIe meanwhile. Returns when it comes out of the pipeline, later if the context must be fetched
 * or the payload be read once more, the doorbell's reads being long past. */
static int64_t serve(struct host *h, struct endpoint *ep, const struct pkt *p)
{
    int64_t begin = sim_now(h->sim), wait = 0;
    if (h->contexts && ep->offloaded) {
        struct context_use use = host_context(h, ep);
        wait = use.ready_ps - use.begin_ps;
        begin = use.begin_ps;
    }
    if (p->flags & PKT_F_RETX && p->payload_len && ep->offloaded) {
        h->stats.refetches++;
        wait += h->par.dma_read_ps;
    }
    h->engine_free_ps = host_max_ps(begin + h->par.tx_packet_ps, pcie_move(&h->pcie, PCIE_READ, begin, p->payload_len));
    return h->engine_free_ps + wait + h->par.tx_latency_ps;
}

/* The next packet of a priority's ring; who has none leaves the ring. */
static struct pkt *ask_ring(struct host *h, unsigned prio)
{
    int64_t now = sim_now(h->sim);
    while (h->ring[prio]) {
        struct endpoint *ep = ring_take(h, prio);
        struct pkt *p = fabric_pkt_new(h->fabric);
        struct endpoint *outer = h->current;
        h->current = ep;
        bool got = ep->ops->tx(ep, now, p);
        h->current = outer;
        h->stats.tx_asked++;
        if (!got) {
            fabric_pkt_free(h->fabric, p);
            ep->credit_bytes = 0;
            ep->turn_left = 0;
            review(h, ep, ep->core, now, true);
            continue;
        }
        p->ip_id = h->ip_id++;
        p->prio = h->par.separate_control && is_control(p) ? control_prio(ep, p) : ep->prio;
        h->stats.tx_packets++;
        ep->credit_bytes -= p->payload_len ? p->payload_len : 1;
        ep->turn_left = ep->turn_left ? ep->turn_left - 1 : ep->more_a_turn;
        if (h->direct)
            h->port_free_ps = now + wire_ps(h, p->frame_len);
        else
            p->stamp_ps = serve(h, ep, p);
        review(h, ep, ep->core, horizon(h), false);
        return p;
    }
    return NULL;
}

/* --- with costs: the engine --- */

static void engine_event(struct sim *s, void *ctx, void *arg);

static void engine_run(struct host *h)
{
    int64_t now = sim_now(h->sim);
    for (;;) {
        unsigned mask = h->ring_mask;
        for (unsigned m = mask; m; m &= m - 1) {
            unsigned prio = (unsigned)__builtin_ctz(m);
            if (h->fifo[prio].bytes >= (uint64_t)h->par.tx_fifo_bytes)
                mask &= ~(1u << prio);
        }
        if (!mask)
            return;
        if (now < h->engine_free_ps) {
            if (!h->engine_armed) {
                h->engine_armed = true;
                sim_at(h->sim, h->engine_free_ps, h->key_tx, engine_event, h, NULL);
            }
            return;
        }
        struct pkt *p = ask_ring(h, choose_prio(h, mask));
        if (p)
            pipeline(h, p, p->stamp_ps);
    }
}

static void engine_event(struct sim *s, void *ctx, void *arg)
{
    struct host *h = ctx;
    (void)s;
    (void)arg;
    h->engine_armed = false;
    engine_run(h);
}

void host_tx_kick(struct host *h)
{
    if (h->in_pull)
        return;
    if (!h->direct)
        engine_run(h);
    else if (h->ring_mask | h->fifo_mask)
        port_kick(h->port);
}

/* --- the port asks --- */

static struct pkt *fifo_take(struct host *h, unsigned prio)
{
    struct pkt *p = host_fifo_pop(&h->fifo[prio]);
    fabric_count_waiting(h->fabric, -1);
    if (!h->fifo[prio].head)
        h->fifo_mask &= (uint8_t)~(1u << prio);
    return p;
}

static struct pkt *pull_direct(struct host *h, uint8_t blocked)
{
    unsigned mask;
    while ((mask = (unsigned)(h->ring_mask | h->fifo_mask) & ~(unsigned)blocked) != 0) {
        unsigned prio = choose_prio(h, mask);
        if (h->fifo_mask >> prio & 1u)
            return fifo_take(h, prio);
        struct pkt *p = ask_ring(h, prio);
        if (p && blocked >> p->prio & 1u)
            fifo_add(h, p, sim_now(h->sim));        /* a control packet whose own priority is paused */
        else if (p)
            return p;
    }
    return NULL;
}

static struct pkt *pull_fifo(struct host *h, uint8_t blocked)
{
    int64_t now = sim_now(h->sim);
    unsigned mask = (unsigned)h->fifo_mask & ~(unsigned)blocked;
    for (unsigned m = mask; m; m &= m - 1) {
        unsigned prio = (unsigned)__builtin_ctz(m);
        if (h->fifo[prio].head->stamp_ps > now)
            mask &= ~(1u << prio);                  /* still in the pipeline */
    }
    return mask ? fifo_take(h, choose_prio(h, mask)) : NULL;
}

struct pkt *host_tx_pull(void *owner, struct port *port, uint8_t blocked)
{
    struct host *h = owner;
    if (h->in_pull)
        return NULL;
    h->in_pull = true;
    struct pkt *p = h->direct ? pull_direct(h, blocked) : pull_fifo(h, blocked);
    if (p)
        h->port_free_ps = sim_now(h->sim) + wire_ps(h, p->frame_len);
    if (p && !h->direct)
        engine_run(h);
    h->in_pull = false;
    if (p && (h->direct ? h->ring_mask | h->fifo_mask : h->fifo_mask))
        port_kick(port);                            /* busy with p, it notes that more waits */
    return p;
}

void host_tx_paused(void *owner, struct port *port, unsigned prio, bool stop)
{
    struct host *h = owner;
    (void)prio;
    if (!stop && (h->ring_mask | h->fifo_mask))
        port_kick(port);
}
