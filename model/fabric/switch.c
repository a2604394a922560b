/* SPDX-License-Identifier: GPL-2.0-only */
/* A store-and-forward switch: a frame comes in, finds its route, priority and room in the buffer, waits in an egress queue, is
 * pulled by the port. */
#include <stdlib.h>

#include "../sim/trace.h"
#include "../wire/telemetry.h"
#include "switch_internal.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static void trace(const struct fabric_switch *sw, enum sim_trace_point point, uint32_t port, uint64_t a, uint64_t b, const struct pkt *p)
{
    struct sim_trace t = { .now_ps = sim_now(sw->sim), .point = point, .node = sw->node, .id = port, .a = a, .b = b, .obj = p };
    sim_trace_emit(sw->sim, &t);
}

static void mark(struct fabric_switch *sw, uint32_t port, uint64_t queue_bytes, struct pkt *p)
{
    p->ecn = 3;
    sw->fabric->audit.marks++;
    sim_note(sw->sim, sw->node, SIM_NOTE_MARK, (uint64_t)p->flow_hash << 16 ^ p->ip_id);
    if (UNLIKELY(sim_tracing(sw->sim)))
        trace(sw, SIM_TRACE_MARK, port, queue_bytes, p->prio, p);
}

/* Draws only where chance decides. */
static bool chance(struct switch_port *o, uint64_t p_32)
{
    if (p_32 == 0 || p_32 >> 32)
        return p_32 != 0;
    return sim_rng_u32(&o->mark) < p_32;
}

/* A lossy queue that marks drops what is not ECN-capable. True: drop. */
static bool aqm_drops(struct fabric_switch *sw, struct switch_port *o, const struct switch_queue *q, const struct pkt *p)
{
    if (sw->lossless >> p->prio & 1)
        return false;
    if (sw->wred)
        return chance(o, mmu_red(q->bytes, sw->wred_kmin, sw->wred_kmax, sw->wred_pmax_32));
    return sw->non_ect_limit && q->bytes + p->charged > sw->non_ect_limit;
}

static void enqueue(struct fabric_switch *sw, struct switch_port *o, struct switch_queue *q, struct pkt *p)
{
    p->next = NULL;
    if (q->head)
        q->tail->next = p;
    else
        q->head = p;
    q->tail = p;
    q->bytes += p->charged;
    q->packets++;
    o->nonempty |= (uint8_t)(1u << p->prio);
    sw->used += p->charged;
    if (UNLIKELY(q->bytes > sw->peak_queue)) {
        sw->peak_queue = q->bytes;
        sw->peak_port = o->port->index;
        sw->peak_prio = p->prio;
    }
    if (UNLIKELY(sw->used > sw->peak_used))
        sw->peak_used = sw->used;
    if (UNLIKELY(sw->shared_used > sw->peak_shared))
        sw->peak_shared = sw->shared_used;
    if (UNLIKELY(q->bytes > sw->fabric->window_peak_bytes))
        sw->fabric->window_peak_bytes = q->bytes;
    if (UNLIKELY(sim_tracing(sw->sim)))
        trace(sw, SIM_TRACE_QUEUE, o->port->index, q->bytes, p->prio, NULL);
}

/* A lossless packet that found no room: an error in the settings, with what was short. */
static void lossless_drop(struct fabric_switch *sw, struct switch_port *in, struct mmu_pg *pg, uint32_t wanted)
{
    struct fabric_audit *a = &sw->fabric->audit;
    pg->missed += wanted;
    a->lossless_buffer_drops++;
    uint64_t short_bytes = (uint64_t)pg->headroom + pg->missed - in->headroom;
    if (short_bytes > a->headroom_short_bytes)
        a->headroom_short_bytes = short_bytes;
}

/* Takes room in the buffer. True when there was room. */
static bool admit(struct fabric_switch *sw, struct switch_port *in, const struct switch_queue *q, struct pkt *p)
{
    if (!(sw->lossless >> p->prio & 1)) {
        struct mmu_answer a = mmu_admit_lossy(&sw->limits, sw->shared_used, q->bytes, p->charged);
        if (a.verdict != MMU_ADMIT)
            return false;
        sw->shared_used += a.shared;
        return true;
    }
    struct mmu_pg *pg = &in->pg[p->prio];
    struct mmu_answer a = mmu_admit_lossless(&sw->limits, sw->shared_used, pg, in->headroom, p->charged);
    if (UNLIKELY(a.verdict != MMU_ADMIT)) {
        bool first = !(in->xoff >> p->prio & 1);
        if (a.verdict == MMU_DROP_HEADROOM)
            lossless_drop(sw, in, pg, a.headroom);
        if (first)
            switch_pfc_xoff(sw, in, p->prio);
        if (a.verdict == MMU_DROP_HEADROOM)
            return false;
    }
    pg->reserved += a.reserved;
    pg->shared += a.shared;
    pg->headroom += a.headroom;
    if (UNLIKELY(pg->reserved + pg->shared > sw->peak_pg[p->prio])) {
        sw->peak_pg[p->prio] = pg->reserved + pg->shared;
        sw->peak_pg_at[p->prio].port = in->port->index;
        sw->peak_pg_at[p->prio].xoff = mmu_xoff_limit(&sw->limits, sw->shared_used);
    }
    sw->shared_used += a.shared;
    if (a.headroom && in->headroom - pg->headroom < in->least_headroom)
        in->least_headroom = in->headroom - pg->headroom;
    return true;
}

static void release(struct fabric_switch *sw, const struct pkt *p)
{
    sw->used -= p->charged;
    if (!(sw->lossless >> p->prio & 1)) {
        sw->shared_used -= p->charged;
        return;
    }
    struct switch_port *in = &sw->port[p->in_port];
    struct mmu_pg *pg = &in->pg[p->prio];
    sw->shared_used -= mmu_release(pg, p->charged);
    if (UNLIKELY(in->xoff >> p->prio & 1) && mmu_xon(&sw->limits, sw->shared_used, pg)) {
        pg->missed = 0;
        switch_pfc_xon(sw, in, p->prio);
    }
}

static void arrive(void *owner, struct port *port, struct pkt *p)
{
    struct fabric_switch *sw = owner;
    int out = route_lookup(sw->route, &sw->table, sw->node, pkt_node_of_addr(p->dst), p->flow_hash);

    p->prio = sw->prio_of[p->dscp & 63];
    if (UNLIKELY(out < 0)) {
        fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_NO_ROUTE);
        return;
    }
    if (UNLIKELY(p->ttl <= 1)) {
        fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_TTL);
        return;
    }
    if (UNLIKELY(p->frame_len > sw->longest)) {
        fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_MTU);
        return;
    }
    p->ttl--;
    struct switch_port *o = &sw->port[out];
    struct switch_queue *q = &o->queue[p->prio];
    p->charged = LIKELY(sw->cell == 1) ? p->frame_len : (p->frame_len + sw->cell - 1) / sw->cell * sw->cell;
    bool marking = sw->ecn >> p->prio & 1;
    if (marking && !PKT_ECT(p) && UNLIKELY(aqm_drops(sw, o, q, p))) {
        fabric_drop(sw->fabric, sw->node, (uint32_t)out, p, FABRIC_DROP_AQM);
        return;
    }
    if (UNLIKELY(!admit(sw, &sw->port[port->index], q, p))) {
        fabric_drop(sw->fabric, sw->node, (uint32_t)out, p, FABRIC_DROP_BUFFER);
        return;
    }
    /* RED looks at the queue that the packet meets, its own bytes excluded. */
    if (marking && UNLIKELY(q->bytes > sw->kmin) && PKT_ECT(p) && p->ecn != 3 && !sw->ecn_dequeue
        && chance(o, mmu_red(q->bytes, sw->kmin, sw->kmax, sw->pmax_32)))
        mark(sw, (uint32_t)out, q->bytes, p);
    enqueue(sw, o, q, p);
    port_kick(o->port);
}

/* In-band telemetry (HPCC, SIGCOMM'19, section 4.1): what the port has sent before this packet and what queue stays behind it. An
 * acknowledgement, which has no payload, brings its data's words back unchanged. */
static void tell(const struct fabric_switch *sw, const struct port *port, uint32_t queue_bytes, struct pkt *p)
{
    struct pkt_int *t = &p->telemetry;
    if (!sw->params.telemetry || p->payload_len == 0 || t->nhops >= PKT_INT_HOPS)
        return;
    struct telemetry_hop h = { .rate_bps = port_rate_bps(port), .ts_ns = (uint64_t)sim_now(sw->sim) / SIM_PS_PER_NS, .queue_bytes = queue_bytes,
        .tx_bytes = port->stats.tx_bytes + port->stats.tx_packets * (PKT_PREAMBLE_BYTES + PKT_IFG_BYTES) };
    t->hop[t->nhops++] = telemetry_word(&h);
    t->path_id ^= (uint16_t)((sw->node + 1) & 0xfff);
}

static struct pkt *pull(void *owner, struct port *port, uint8_t blocked)
{
    struct fabric_switch *sw = owner;
    struct switch_port *o = &sw->port[port->index];
    uint8_t mask = o->nonempty & (uint8_t)~blocked;
    if (!mask)
        return NULL;
    unsigned prio = LIKELY(!sw->dwrr) ? 31u - (unsigned)__builtin_clz(mask) : switch_sched_pick(sw, o, mask);
    struct switch_queue *q = &o->queue[prio];
    struct pkt *p = q->head;

    q->head = p->next;
    q->bytes -= p->charged;
    q->packets--;
    if (!q->head) {
        o->nonempty &= (uint8_t)~(1u << prio);
        q->deficit = 0;
    } else {
        __builtin_prefetch(q->head);
    }
    port->more = (o->nonempty & (uint8_t)~blocked) != 0;
    if (UNLIKELY(sw->ecn_dequeue) && (sw->ecn >> prio & 1) && PKT_ECT(p) && p->ecn != 3
        && chance(o, mmu_red(q->bytes, sw->kmin, sw->kmax, sw->pmax_32)))
        mark(sw, port->index, q->bytes, p);
    if (UNLIKELY(p->flags & PKT_F_INT))
        tell(sw, port, q->bytes, p);
    release(sw, p);
    if (UNLIKELY(sim_tracing(sw->sim)))
        trace(sw, SIM_TRACE_QUEUE, port->index, q->bytes, prio, NULL);
    return p;
}

const struct port_ops switch_port_ops = { pull, arrive, NULL };

void switch_free(struct fabric_switch *sw)
{
    if (!sw)
        return;
    for (uint32_t i = 0; sw->port && i < sw->nports; i++) {
        sim_timer_cancel(sw->sim, &sw->port[i].refresh);
        for (unsigned prio = 0; prio < PORT_PRIOS; prio++)
            for (struct pkt *p = sw->port[i].queue[prio].head, *next; p; p = next) {
                next = p->next;
                fabric_pkt_free(sw->fabric, p);
            }
    }
    free(sw->port);
    free(sw->table.group);
    free(sw->table.port);
    free(sw);
}
