/* SPDX-License-Identifier: GPL-2.0-only */
/* A port: it sends what its owner or PFC has, one frame at a time, and hands over what arrives. */
#include <stdlib.h>

#include "../sim/trace.h"
#include "fabric_internal.h"
#include "fabric_params.h"
#include "loss_rules.h"

static void arrive_event(struct sim *s, void *ctx, void *arg);
static inline sim_fn *arrive_event_of(const struct port *port) { return port->ops && port->ops->arrive_event ? port->ops->arrive_event : arrive_event; }
static void free_event(struct sim *s, void *ctx, void *arg);

static COLD void trace(const struct port *port, enum sim_trace_point point, const struct pkt *p, uint64_t a, uint64_t b)
{
    struct sim *s = port->cls->sim;
    struct sim_trace t = { .now_ps = sim_now(s), .point = point, .node = port->node, .id = port->index, .a = a, .b = b, .obj = p };
    sim_trace_emit(s, &t);
}

/* --- transmit --- */

/* What only some runs want to see. True when the frame is lost on the way. */
static COLD bool begin_watched(struct port *port, struct pkt *p)
{
    struct fabric *f = port->fabric;
    if ((f->watch & FABRIC_WATCH_TAP) && f->tap)
        f->tap(f->tap_ctx, sim_now(f->sim), port, p);
    if ((f->watch & FABRIC_WATCH_RULES) && loss_rules_lose(f, port, p))
        return true;
    return (f->watch & FABRIC_WATCH_LOSS) && f->loss(f->loss_ctx, port, p);
}

static COLD void lose(struct port *port, struct pkt *p, enum fabric_drop_cause cause)
{
    port->stats.link_drops++;
    if (p->kind == PKT_PFC) {
        port->fabric->pfc_live--;
        fabric_pkt_free(port->fabric, p);
        return;
    }
    fabric_drop(port->fabric, port->node, port->index, p, cause);
}

static void push_free_event(struct port *port, const struct link_lane *l)
{
    port->flags |= PORT_F_FREE_EVENT;
    if (LIKELY(l && l->free))
        sim_lane_push(port->cls->sim, l->free, port->free_key, port->free_fn, port, NULL);
    else
        sim_at(port->cls->sim, port->free_at_ps, port->free_key, free_event, port, NULL);
}

static void transmit(struct port *port, struct pkt *p)
{
    struct link_class *c = port->cls;
    struct link_lane *l = link_lane(c, p->frame_len);
    int64_t now_ps = sim_now(c->sim), at_ps = now_ps + l->arrive_ps;
    bool pfc = p->kind == PKT_PFC;

    port->free_at_ps = now_ps + l->free_ps;
    port->stats.tx_packets++;
    port->stats.tx_bytes += p->frame_len;
    if (port->more || (port->flags & (PORT_F_BUSY_KICKS | PORT_F_PFC_WAITS)))
        push_free_event(port, l);
    if (UNLIKELY(sim_tracing(c->sim)))
        trace(port, SIM_TRACE_FRAME_TX, p, p->frame_len, p->prio);
    c->fabric->audit.packet_hops++;
    if (UNLIKELY(c->fabric->watch) && begin_watched(port, p)) {
        lose(port, p, FABRIC_DROP_INJECTED);
        return;
    }
    if (UNLIKELY(port->impair != NULL)) {
        enum link_fate fate = link_impair_frame(port->impair, p);
        if (fate != LINK_PASSES) {
            lose(port, p, fate == LINK_LOSES ? FABRIC_DROP_INJECTED : FABRIC_DROP_LINK_DOWN);
            return;
        }
    }
    if (UNLIKELY(pfc))
        at_ps = now_ps + l->whole_ps; /* the MAC takes it at once */
    if (LIKELY(l->arrive && (!pfc || l->whole_ps == l->arrive_ps)))
        sim_lane_push(c->sim, l->arrive, port->arrive_key, port->arrive_fn, port->peer, p);
    else
        sim_at(c->sim, at_ps, port->arrive_key, arrive_event_of(port->peer), port->peer, p);
}

static struct pkt *pull(struct port *port)
{
    struct pkt *p;
    do {
        port->flags = (uint8_t)((port->flags & ~PORT_F_KICKED) | PORT_F_PULLING);
        port->more = 1;
        p = port->ops->pull(port->owner, port, port->blocked);
    } while (!p && (port->flags & PORT_F_KICKED));
    port->flags &= (uint8_t)~(PORT_F_PULLING | PORT_F_KICKED);
    return p;
}

static COLD void encapsulate(const struct fabric *f, struct pkt *p)
{
    p->flags |= f->encapsulation == FABRIC_VLAN ? PKT_F_VLAN : PKT_F_VXLAN;
    if (f->encapsulation == FABRIC_VLAN)
        p->pcp = p->prio;
    pkt_set_len(p);
}

static void send_next(struct port *port)
{
    struct pkt *p;
    if (UNLIKELY(port->flags & PORT_F_PFC_WAITS)) {
        port->flags &= (uint8_t)~PORT_F_PFC_WAITS;
        port->more = 1;
        p = pfc_take(port);
        transmit(port, p);
        return;
    }
    if (UNLIKELY(!port->ops))
        return;
    p = pull(port);
    if (!p) {
        port->flags &= (uint8_t)~PORT_F_BUSY_KICKS;
        return;
    }
    if (port->flags & PORT_F_HOST) {
        if (UNLIKELY(port->fabric->encapsulation != FABRIC_PLAIN))
            encapsulate(port->fabric, p);
        fabric_count_sent(port->fabric, p);
    }
    transmit(port, p);
}

static void free_event(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    (void)s;
    (void)arg;
    port->flags &= (uint8_t)~PORT_F_FREE_EVENT;
    send_next(port);
}

void port_send_now(struct port *port, struct pkt *p)
{
    assert(port_is_idle(port, p->prio));
    port->more = 0;
    transmit(port, p);
}

void port_kick(struct port *port)
{
    if (port->flags & (PORT_F_FREE_EVENT | PORT_F_PULLING)) {
        if (port->flags & PORT_F_PULLING)
            port->flags |= PORT_F_KICKED;
        return;
    }
    assert(port->flags & PORT_F_READY);
    if (sim_now(port->cls->sim) < port->free_at_ps) {
        port->flags |= PORT_F_BUSY_KICKS;
        push_free_event(port, NULL);
        return;
    }
    send_next(port);
}

/* --- receive --- */

static uint64_t delivery_note(const struct pkt *p)
{
    uint64_t seq = p->kind == PKT_ROCE ? (uint64_t)p->roce.psn << 8 | p->roce.opcode
                 : p->kind == PKT_TCP ? (uint64_t)p->tcp.seq << 32 | p->tcp.ack : p->ip_id;
    uint64_t z = (seq ^ (uint64_t)p->frame_len << 48 ^ (uint64_t)p->ecn << 46) * UINT64_C(0x9e3779b97f4a7c15);
    return z ^ (uint64_t)p->flow_hash << 16 ^ p->src;
}

static COLD void corrupt(struct port *port, struct pkt *p)
{
    port->stats.rx_crc_errors++;
    if (p->kind == PKT_PFC) {
        port->fabric->pfc_live--;
        fabric_pkt_free(port->fabric, p);
        return;
    }
    fabric_drop(port->fabric, port->node, port->index, p, FABRIC_DROP_BIT_ERROR);
}

/* NULL: it was lost with its link. */
static COLD struct pkt *arrive_watched(struct port *port, struct pkt *p)
{
    struct fabric *f = port->fabric;
    const struct link_impair *i = port->impair;
    if (i && i->cut_ps >= 0) {
        struct link_class *c = port->peer->cls;
        const struct link_lane *l = link_lane(c, p->frame_len);
        int64_t began_ps = sim_now(f->sim) - (p->kind == PKT_PFC ? l->whole_ps : l->arrive_ps);
        if (i->down || i->cut_ps > began_ps) {
            lose(port, p, FABRIC_DROP_LINK_DOWN);
            return NULL;
        }
    }
    return (f->watch & FABRIC_WATCH_BYTES) && !(p->flags & PKT_F_CORRUPT) ? bytes_hop(f, p) : p;
}

static NOINLINE void arrive_at_host(struct port *port, struct pkt *p)
{
    sim_note(port->cls->sim, port->node, SIM_NOTE_DELIVER, delivery_note(p));
    if (UNLIKELY(!port->ops || !port->ops->arrive)) {
        fabric_drop(port->fabric, port->node, port->index, p, FABRIC_DROP_NO_ENDPOINT);
        return;
    }
    port->ops->arrive(port->owner, port, p);
}

/* NULL: somebody has taken it already. */
COLD struct pkt *port_arrive_unusual(struct port *port, struct pkt *p)
{
    if (sim_tracing(port->cls->sim))
        trace(port, SIM_TRACE_FRAME_RX, p, p->frame_len, p->prio);
    if ((p->flags & PKT_F_CORRUPT) && (!(port->flags & PORT_F_CUT) || p->kind == PKT_PFC)) {
        corrupt(port, p);
        return NULL;
    }
    if ((port->fabric->watch & FABRIC_WATCH_ARRIVAL) && !(p = arrive_watched(port, p)))
        return NULL;
    if (p->kind == PKT_PFC) {
        pfc_receive(port, p);
        return NULL;
    }
    return p;
}

static void arrive_event(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    struct pkt *p = port_arrived(s, port, arg);

    if (!p)
        return;
    if (port->flags & PORT_F_HOST)
        arrive_at_host(port, p);
    else
        port->ops->arrive(port->owner, port, p);
}

/* --- the rest --- */

void port_attach(struct port *port, const struct port_ops *ops, void *owner)
{
    port->ops = ops;
    port->owner = owner;
    port->peer->arrive_fn = sim_fn_number(port->cls->sim, arrive_event_of(port));
}

void port_finish(struct port *port)
{
    port->free_key = sim_key_port(port->node, port->index, SIM_KIND_TX);
    port->arrive_key = sim_key_port(port->peer->node, port->peer->index, SIM_KIND_RX);
    port->free_fn = sim_fn_number(port->cls->sim, free_event);
    port->arrive_fn = sim_fn_number(port->cls->sim, arrive_event_of(port->peer));
    port->flags |= PORT_F_READY;
}

uint32_t port_node(const struct port *port) { return port->node; }
uint32_t port_index(const struct port *port) { return port->index; }
uint32_t port_peer_node(const struct port *port) { return port->peer->node; }
int64_t port_rate_bps(const struct port *port) { return port->cls->rate_bps; }
int64_t port_propagation_ps(const struct port *port) { return port->cls->propagation_ps; }
uint8_t port_paused_mask(const struct port *port) { return port->blocked; }
const struct port_stats *port_stats(const struct port *port) { return &port->stats; }
struct sim *port_sim(const struct port *port) { return port->cls->sim; }
struct fabric *port_fabric(const struct port *port) { return port->fabric; }

int64_t port_paused_ps(const struct port *port, unsigned prio)
{
    assert(prio < PORT_PRIOS);
    int64_t total = port->stats.paused_ps[prio];
    if (port->blocked >> prio & 1)
        total += sim_now(port->cls->sim) - port->pause->since_ps[prio];
    return total;
}

void port_free_in_flight(struct fabric *f)
{
    fabric_free_carried(f, arrive_event);
}

void port_fini(struct port *port)
{
    if (port->pause)
        for (unsigned i = 0; i < PORT_PRIOS; i++)
            sim_timer_cancel(port->cls->sim, &port->pause->timer[i]);
    free(port->pause);
    free(port->impair);
    port->pause = NULL;
    port->impair = NULL;
}
