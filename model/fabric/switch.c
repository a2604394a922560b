/* SPDX-License-Identifier: GPL-2.0-only */
/* A switch: a frame comes in, finds its route, priority and room in the buffer, waits in an egress queue, is
 * pulled by the port. */
#include <stdlib.h>

#include "../sim/trace.h"
#include "../wire/telemetry.h"
#include "deadlock.h"
#include "switch_internal.h"

#define TAG_BYTES 4             /* of IEEE 802.1Q: no part of the IP packet */

static COLD void trace(const struct fabric_switch *sw, enum sim_trace_point point, uint32_t port, uint64_t a, uint64_t b, const struct pkt *p)
{
    struct sim_trace t = { .now_ps = sim_now(sw->sim), .point = point, .node = sw->node, .id = port, .a = a, .b = b, .obj = p };
    sim_trace_emit(sw->sim, &t);
}

void switch_mark(struct fabric_switch *sw, uint32_t port, uint64_t queue_bytes, struct pkt *p)
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

/* A lossy queue that marks drops what is not ECN-capable; q_bytes: the length that RED looks at. True: drop. */
static bool aqm_drops(struct fabric_switch *sw, struct switch_port *o, const struct switch_queue *q, uint64_t q_bytes, const struct pkt *p)
{
    if (sw->wred)
        return chance(o, mmu_red(q_bytes, sw->wred_kmin, sw->wred_kmax, sw->wred_pmax_32));
    return sw->non_ect_limit && q->bytes + p->charged > sw->non_ect_limit;
}

static inline __attribute__((always_inline)) void count_peaks(struct fabric_switch *sw, const struct port *to, const struct pkt *p, uint64_t queue,
                                                              uint64_t used, uint64_t shared)
{
    if (UNLIKELY(queue > sw->peak_queue)) {
        sw->peak_queue = queue;
        sw->peak_port = to->index;
        sw->peak_prio = p->prio;
    }
    if (UNLIKELY(used > sw->peak_used))
        sw->peak_used = used;
    if (UNLIKELY(shared > sw->peak_shared))
        sw->peak_shared = shared;
    if (UNLIKELY(queue > sw->fabric->window_peak_bytes))
        sw->fabric->window_peak_bytes = queue;
}

static inline __attribute__((always_inline)) void count_fullest(struct fabric_switch *sw, const struct switch_port *in, unsigned prio, uint32_t held, uint64_t shared)
{
    if (LIKELY(held <= sw->peak_pg[prio]))
        return;
    sw->peak_pg[prio] = held;
    sw->peak_pg_at[prio].port = in->port->index;
    sw->peak_pg_at[prio].xoff = mmu_xoff_limit(&sw->limits, shared);
}

static inline __attribute__((always_inline)) void enqueue(struct fabric_switch *sw, struct port *to, struct switch_queue *q, struct pkt *p)
{
    p->next = NULL;
    *(q->head ? &q->tail->next : &q->head) = p;
    q->tail = p;
    q->bytes += p->charged;
    q->packets++;
    to->queued |= (uint8_t)(1u << p->prio);
    sw->used += p->charged;
    count_peaks(sw, to, p, q->bytes, sw->used, sw->shared_used);
    if (UNLIKELY(sim_tracing(sw->sim)))
        trace(sw, SIM_TRACE_QUEUE, to->index, q->bytes, p->prio, NULL);
}

/* --- the buffer --- */

static const enum fabric_limit limit_of[] = {
    [MMU_DROP_QUEUE] = FABRIC_LIMIT_QUEUE, [MMU_DROP_SHARED] = FABRIC_LIMIT_SHARED, [MMU_DROP_INGRESS] = FABRIC_LIMIT_INGRESS,
    [MMU_DROP_HEADROOM] = FABRIC_LIMIT_HEADROOM, [MMU_DROP_HEADROOM_POOL] = FABRIC_LIMIT_HEADROOM_POOL };

/* A packet that found no room. In a lossless class it is an error in the settings; what was short is counted. */
static COLD void refused(struct fabric_switch *sw, struct switch_port *in, enum mmu_verdict verdict, uint32_t headroom, unsigned prio, bool lossless)
{
    struct fabric_audit *books = &sw->fabric->audit;
    books->refused[limit_of[verdict]]++;
    if (!lossless)
        return;
    books->lossless_buffer_drops++;
    if (verdict == MMU_DROP_QUEUE)
        return;
    in->missed[prio] += headroom;
    uint64_t had = verdict == MMU_DROP_HEADROOM ? in->headroom : in->pg[prio].headroom;
    uint64_t short_bytes = (uint64_t)in->pg[prio].headroom + in->missed[prio] - had;
    if (short_bytes > books->headroom_short_bytes)
        books->headroom_short_bytes = short_bytes;
}

static inline __attribute__((always_inline)) void charge_full(struct fabric_switch *sw, struct switch_port *in, struct switch_port *o, struct pkt *p,
                                                              const struct mmu_answer *a, bool lossless)
{
    in->extra->port_reserved += a->port;
    if (lossless) {
        in->pg[p->prio].port += a->port;
        sw->headroom_used[p->prio] += a->headroom;
        return;
    }
    o->extra->queue_reserved[p->prio] += a->queue;
    in->pg[p->prio].shared += a->shared;
    assert(p->charged <= UINT16_MAX);
    p->tag = a->queue | a->port << 16; /* what it must give back elsewhere than to the shared part */
}

/* Takes room in the buffer. True when there was room. */
static inline __attribute__((always_inline)) bool admit(struct fabric_switch *sw, struct switch_port *in, struct switch_port *o, struct pkt *p, bool lossless,
                                                        const bool full)
{
    struct mmu_pg *pg = &in->pg[p->prio];
    struct mmu_use u = { .lossless = lossless, .shared = sw->shared_used, .queue = o->queue[p->prio].bytes };
    if (lossless || full) {
        u.pg = *pg;
        u.headroom_limit = in->headroom;
    }
    if (full) {
        u.port_reserved = in->extra->port_reserved;
        u.queue_reserved = o->extra->queue_reserved[p->prio];
        u.headroom_pool = sw->headroom_used[p->prio];
    }
    struct mmu_answer a = mmu_admit(&sw->limits, &u, p->charged, full);
    if (UNLIKELY(a.verdict != MMU_ADMIT)) {
        if (a.verdict != MMU_ADMIT_XOFF)
            refused(sw, in, a.verdict, a.headroom, p->prio, lossless);
        if (lossless && a.headroom && !(in->port->xoff >> p->prio & 1))
            switch_pfc_xoff(sw, in, p->prio);
        if (a.verdict != MMU_ADMIT_XOFF)
            return false;
    }
    sw->shared_used += a.shared;
    if (full)
        charge_full(sw, in, o, p, &a, lossless);
    if (!lossless)
        return true;
    pg->reserved += a.reserved;
    pg->shared += a.shared;
    pg->headroom += a.headroom;
    count_fullest(sw, in, p->prio, pg->reserved + pg->shared, sw->shared_used - a.shared);
    if (a.headroom && in->headroom - pg->headroom < in->least_headroom)
        in->least_headroom = in->headroom - pg->headroom;
    return true;
}

static inline __attribute__((always_inline)) void release(struct fabric_switch *sw, struct switch_port *o, const struct pkt *p, const bool full)
{
    struct switch_port *in = &sw->port[p->in_port];
    struct mmu_pg *pg = &in->pg[p->prio];
    sw->used -= p->charged;
    if (!((full ? in->lossless : sw->lossless) >> p->prio & 1)) {
        uint32_t queue = full ? p->tag & 0xffff : 0, port = full ? p->tag >> 16 : 0, shared = p->charged - queue - port;
        sw->shared_used -= shared;
        if (full) {
            o->extra->queue_reserved[p->prio] -= queue;
            in->extra->port_reserved -= port;
            pg->shared -= shared;
        }
        return;
    }
    struct mmu_answer freed;
    mmu_release(pg, p->charged, &freed);
    sw->shared_used -= freed.shared;
    if (full) {
        in->extra->port_reserved -= freed.port;
        sw->headroom_used[p->prio] -= freed.headroom;
    }
    if (UNLIKELY(in->port->xoff >> p->prio & 1) && mmu_xon(&sw->limits, sw->shared_used, pg)) {
        in->missed[p->prio] = 0;
        switch_pfc_xon(sw, in, p->prio);
    }
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

/* --- in --- */

/* A packet whose egress port is known: it is dropped, or waits. */
static inline __attribute__((always_inline)) void accept(struct fabric_switch *sw, const struct port *from, struct port *to, struct pkt *p, const bool full)
{
    struct switch_port *in = &sw->port[from->index], *o = &sw->port[to->index];
    struct switch_queue *q = &o->queue[p->prio];
    bool lossless = (full ? in->lossless : sw->lossless) >> p->prio & 1, marking = sw->ecn >> p->prio & 1;
    uint64_t red_bytes = full ? switch_aqm_average(sw, o, p->prio) : q->bytes;
    if (full && UNLIKELY(o->extra->storm >> p->prio & 1) && sw->params.watchdog.action == SWITCH_WATCHDOG_DROP) {
        fabric_drop(sw->fabric, sw->node, to->index, p, FABRIC_DROP_WATCHDOG);
        return;
    }
    if ((marking && !PKT_ECT(p) && !lossless && UNLIKELY(aqm_drops(sw, o, q, red_bytes, p))) || (full && !lossless && switch_pie_drops(sw, o, p))) {
        fabric_drop(sw->fabric, sw->node, to->index, p, FABRIC_DROP_AQM);
        return;
    }
    if (UNLIKELY(!admit(sw, in, o, p, lossless, full))) {
        fabric_drop(sw->fabric, sw->node, to->index, p, FABRIC_DROP_BUFFER);
        return;
    }
    /* RED looks at the queue that the packet meets, its own bytes excluded. */
    if (marking && UNLIKELY(red_bytes > sw->kmin) && PKT_ECT(p) && p->ecn != 3 && !sw->ecn_dequeue
        && chance(o, mmu_red(red_bytes, sw->kmin, sw->kmax, sw->pmax_32)))
        switch_mark(sw, to->index, q->bytes, p);
    if (full) {
        p->stamp_ps = sim_now(sw->sim);
        if (!q->head)
            switch_watchdog_waits(o, p->prio);
    }
    enqueue(sw, to, q, p);
    port_kick(to);
}

static NOINLINE void wait_turn(struct fabric_switch *sw, const struct port *from, struct port *to, struct pkt *p)
{
    accept(sw, from, to, p, false);
}

/* A packet that finds its port idle goes through: what it takes of the buffer it would give back at once, so it only shows in what is counted. */
static NOINLINE void go_through(struct fabric_switch *sw, const struct port *from, struct port *to, struct pkt *p)
{
    bool lossless = sw->lossless >> p->prio & 1;
    struct switch_port *in = &sw->port[from->index];
    struct mmu_use u = { .lossless = lossless, .shared = sw->shared_used };
    if (lossless)
        u.pg = in->pg[p->prio];
    struct mmu_answer a = mmu_admit(&sw->limits, &u, p->charged, false);
    if (UNLIKELY(a.verdict != MMU_ADMIT)) {
        wait_turn(sw, from, to, p);
        return;
    }
    count_peaks(sw, to, p, p->charged, sw->used + p->charged, sw->shared_used + a.shared);
    if (lossless)
        count_fullest(sw, in, p->prio, u.pg.reserved + u.pg.shared + p->charged, sw->shared_used);
    if (UNLIKELY(p->flags & PKT_F_INT))
        tell(sw, to, 0, p);
    port_send_now(to, p);
}

/* May it? What leaves an ingress in its headroom, or one that has paused its sender, changes that; an unmarkable packet may be dropped. */
static inline bool may_go_through(const struct fabric_switch *sw, const struct port *from, const struct port *to, const struct pkt *p)
{
    bool held = (from->xoff | (PKT_ECT(p) ? 0 : sw->ecn & ~sw->lossless)) >> p->prio & 1;
    return !(to->queued | sw->dwrr | held) && port_is_idle(to, p->prio) && LIKELY(!sim_tracing(sw->sim));
}

static inline uint32_t charge_of(const struct fabric_switch *sw, uint32_t len)
{
    return LIKELY(sw->cell == 1) ? len : (uint32_t)mmu_in_cells(len, sw->cell);
}

static void arrive_event(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    struct fabric_switch *sw = port->owner;
    struct pkt *p = port_arrived(s, port, arg);
    if (UNLIKELY(!p))
        return;
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
    p->charged = charge_of(sw, p->frame_len);
    struct port *to = sw->link[out];
    if (may_go_through(sw, port, to, p))
        go_through(sw, port, to, p);
    else
        wait_turn(sw, port, to, p);
}

/* --- in, with the rarer features --- */

static unsigned priority_of(const struct fabric_switch *sw, const struct pkt *p)
{
    const struct classes_params *c = &sw->params.classes;
    if (c->trust == SWITCH_TRUST_DSCP)
        return sw->prio_of[p->dscp & 63];
    return c->trust == SWITCH_TRUST_PCP && (p->flags & PKT_F_VLAN) ? sw->prio_of_pcp[p->pcp & 7] : (unsigned)c->port_prio;
}

static void arrive_through(struct sim *s, void *ctx, void *arg);

/* A frame that cuts through is here when its head is; one for a faster link must first be here whole. */
static bool must_store(struct fabric_switch *sw, struct port *port, const struct pkt *p, int out)
{
    return sw->params.forwarding == SWITCH_CUT_THROUGH && sw->port[out].port->cls->rate_bps > port->cls->rate_bps && p->frame_len > sw->params.cut_through_bytes;
}

static void route_full(struct fabric_switch *sw, struct port *port, struct pkt *p, bool whole)
{
    p->prio = (uint8_t)priority_of(sw, p);
    int out = switch_paths_choose(sw, p, p->prio);
    if (UNLIKELY(out < 0)) {
        fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_NO_ROUTE);
        return;
    }
    if (!whole && must_store(sw, port, p, out)) {
        const struct link_lane *l = link_lane(port->peer->cls, p->frame_len);
        int64_t at_ps = sim_now(sw->sim) + l->whole_ps + port->peer->cls->pipeline_ps - l->arrive_ps;
        sim_at(sw->sim, at_ps, sim_key_port(sw->node, port->index, SIM_KIND_RX), arrive_through, port, p);
        return;
    }
    if (whole && (p->flags & PKT_F_CORRUPT)) {
        port->stats.rx_crc_errors++;
        fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_BIT_ERROR);
        return;
    }
    uint32_t tag = p->flags & PKT_F_VLAN ? TAG_BYTES : 0;
    if (UNLIKELY(p->frame_len - tag > sw->longest)) {
        fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_MTU);
        return;
    }
    if (sw->params.layer == SWITCH_ROUTED) {
        if (UNLIKELY(p->ttl <= 1)) {
            fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_TTL);
            return;
        }
        p->ttl--;
        if (p->flags & PKT_F_VLAN)
            p->pcp = p->prio;
    }
    if (sw->params.remark_dscp[p->prio] != SWITCH_KEEP)
        fabric_remark(sw->fabric, p, sw->params.remark_dscp[p->prio]);
    if (sw->params.remark_pcp[p->prio] != SWITCH_KEEP && (p->flags & PKT_F_VLAN))
        p->pcp = sw->params.remark_pcp[p->prio];
    p->charged = charge_of(sw, p->frame_len);
    accept(sw, port, sw->link[out], p, true);
}

static void arrive_through(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    (void)s;
    route_full(port->owner, port, arg, true);
}

static void leave_middlebox(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    (void)s;
    route_full(port->owner, port, arg, false);
}

static void arrive_full(void *owner, struct port *port, struct pkt *p)
{
    struct fabric_switch *sw = owner;
    const struct middlebox_params *m = &sw->params.middlebox;
    if (m->policy == SWITCH_POLICY_TCP && p->kind != PKT_TCP) {
        fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_POLICY);
        return;
    }
    if (m->delay_ps == 0 && m->jitter_ps == 0) {
        route_full(sw, port, p, false);
        return;
    }
    struct switch_extra *x = sw->port[port->index].extra;
    int64_t at_ps = sim_now(sw->sim) + m->delay_ps;
    if (m->jitter_ps)
        at_ps += (int64_t)(sim_rng_unit(&x->jitter) * (double)m->jitter_ps);
    if (at_ps < x->released_ps)
        at_ps = x->released_ps;
    x->released_ps = at_ps;
    sim_at(sw->sim, at_ps, sim_key_port(sw->node, port->index, SIM_KIND_RX), leave_middlebox, port, p);
}

/* --- out --- */

static inline __attribute__((always_inline)) struct pkt *take(struct port *port, struct switch_queue *q, unsigned prio)
{
    struct pkt *p = q->head;
    q->head = p->next;
    q->bytes -= p->charged;
    q->packets--;
    if (!q->head) {
        port->queued &= (uint8_t)~(1u << prio);
        q->deficit = 0;
    } else {
        __builtin_prefetch(q->head);
    }
    return p;
}

static inline __attribute__((always_inline)) void mark_leaving(struct fabric_switch *sw, struct switch_port *o, unsigned prio, struct pkt *p, uint64_t red_bytes)
{
    if (UNLIKELY(sw->ecn_dequeue) && (sw->ecn >> prio & 1) && PKT_ECT(p) && p->ecn != 3
        && chance(o, mmu_red(red_bytes, sw->kmin, sw->kmax, sw->pmax_32)))
        switch_mark(sw, o->port->index, o->queue[prio].bytes, p);
}

static struct pkt *pull(void *owner, struct port *port, uint8_t blocked)
{
    struct fabric_switch *sw = owner;
    struct switch_port *o = &sw->port[port->index];
    uint8_t mask = port->queued & (uint8_t)~blocked;
    if (!mask)
        return NULL;
    unsigned prio = LIKELY(!sw->dwrr) ? 31u - (unsigned)__builtin_clz(mask) : switch_sched_pick(sw, o, mask);
    struct pkt *p = take(port, &o->queue[prio], prio);

    port->more = (port->queued & (uint8_t)~blocked) != 0;
    mark_leaving(sw, o, prio, p, o->queue[prio].bytes);
    if (UNLIKELY(p->flags & PKT_F_INT))
        tell(sw, port, o->queue[prio].bytes, p);
    release(sw, o, p, false);
    if (UNLIKELY(sim_tracing(sw->sim)))
        trace(sw, SIM_TRACE_QUEUE, port->index, o->queue[prio].bytes, prio, NULL);
    return p;
}

static struct pkt *pull_full(void *owner, struct port *port, uint8_t blocked)
{
    struct fabric_switch *sw = owner;
    struct switch_port *o = &sw->port[port->index];
    struct switch_extra *x = o->extra;
    if (sw->params.watchdog.action == SWITCH_WATCHDOG_FORWARD)
        blocked &= (uint8_t)~x->storm;
    for (;;) {
        uint8_t mask = port->queued & (uint8_t)~blocked;
        if (mask && sw->shaped)
            mask = switch_shaper_mask(sw, o, mask);
        if (!mask)
            return NULL;
        unsigned prio = !sw->dwrr ? 31u - (unsigned)__builtin_clz(mask) : switch_sched_pick(sw, o, mask);
        struct pkt *p = take(port, &o->queue[prio], prio);
        bool dropped = switch_aqm_leaves(sw, o, prio, p);
        if (!dropped)
            mark_leaving(sw, o, prio, p, sw->params.aqm.ecn_weight < 1 ? (uint64_t)x->average[prio] : o->queue[prio].bytes);
        if (!dropped && UNLIKELY(p->flags & PKT_F_INT))
            tell(sw, port, o->queue[prio].bytes, p);
        release(sw, o, p, true);
        if (!o->queue[prio].head)
            x->empty_since_ps[prio] = sim_now(sw->sim);
        if (UNLIKELY(sim_tracing(sw->sim)))
            trace(sw, SIM_TRACE_QUEUE, port->index, o->queue[prio].bytes, prio, NULL);
        if (dropped) {
            fabric_drop(sw->fabric, sw->node, port->index, p, FABRIC_DROP_AQM);
            continue;
        }
        if (sw->shaped)
            switch_shaper_sent(sw, o, prio, p->frame_len);
        if (sw->params.aqm.phantom_threshold_bytes)
            switch_phantom(sw, o, p);
        switch_watchdog_sent(o, prio);
        port->more = (port->queued & (uint8_t)~blocked) != 0;
        return p;
    }
}

void switch_drain(struct fabric_switch *sw, struct switch_port *o, unsigned prio, enum fabric_drop_cause cause)
{
    while (o->queue[prio].head) {
        struct pkt *p = take(o->port, &o->queue[prio], prio);
        release(sw, o, p, true);
        fabric_drop(sw->fabric, sw->node, o->port->index, p, cause);
    }
    o->extra->empty_since_ps[prio] = sim_now(sw->sim);
}

static void paused(void *owner, struct port *port, unsigned prio, bool stop)
{
    struct fabric_switch *sw = owner;
    if (sw->full)
        switch_watchdog_paused(&sw->port[port->index], prio, stop);
    if (stop)
        deadlock_watch(sw->fabric);
}

const struct port_ops switch_port_ops = { .pull = pull, .paused = paused, .arrive_event = arrive_event };
const struct port_ops switch_full_ops = { .pull = pull_full, .arrive = arrive_full, .paused = paused };

void switch_free_inside(struct fabric *f)
{
    fabric_free_carried(f, arrive_event);
    fabric_free_carried(f, arrive_through);
    fabric_free_carried(f, leave_middlebox);
}

void switch_free(struct fabric_switch *sw)
{
    if (!sw)
        return;
    for (uint32_t i = 0; sw->port && i < sw->nports; i++) {
        sim_timer_cancel(sw->sim, &sw->port[i].refresh);
        struct switch_extra *x = sw->port[i].extra;
        if (x) {
            sim_timer_cancel(sw->sim, &x->shaper);
            sim_timer_cancel(sw->sim, &x->pie_timer);
            for (unsigned prio = 0; prio < PORT_PRIOS; prio++)
                sim_timer_cancel(sw->sim, &x->watch[prio].timer);
        }
        for (unsigned prio = 0; prio < PORT_PRIOS; prio++)
            for (struct pkt *p = sw->port[i].queue[prio].head, *next; p; p = next) {
                next = p->next;
                fabric_pkt_free(sw->fabric, p);
            }
    }
    if (sw->port)
        free(sw->port[0].extra); /* one block for all ports */
    free(sw->port);
    free(sw->flowlet);
    free(sw->turn);
    free(sw->fixed);
    free(sw->table.group);
    free(sw->table.port);
    free(sw);
}
