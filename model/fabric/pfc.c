/* SPDX-License-Identifier: GPL-2.0-only */
/* Priority flow control at a port (IEEE 802.1Qbb, 802.3 annex 31B): frames out, frames in, reaction, expiry.
 *
 * A class is stopped from a reaction time after the PFC frame's last bit, until the quanta (counted from that bit) run out; a
 * frame that has begun is finished. A frame of 0 quanta resumes at once. Each new frame sets the time anew. */
#include <stdio.h>
#include <stdlib.h>

#include "../sim/trace.h"
#include "fabric_internal.h"

#define QUANTUM_BITS 512

static void timer_event(struct sim *s, void *ctx, void *arg);

int64_t pfc_quanta_ps(const struct port *port, uint32_t quanta)
{
    __uint128_t n = (__uint128_t)quanta * QUANTUM_BITS * (uint64_t)SIM_PS_PER_S;
    uint64_t rate = (uint64_t)port->cls->rate_bps;
    return (int64_t)((n + rate - 1) / rate);
}

static struct port_pause *state(struct port *port)
{
    if (port->pause)
        return port->pause;
    struct port_pause *a = calloc(1, sizeof *a);
    if (!a) {
        fputs("rnicsim: out of memory for PFC state\n", stderr);
        abort();
    }
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        sim_timer_init(&a->timer[i], sim_key_port(port->node, port->index, SIM_KIND_WAKE) | i, timer_event, port);
    a->reaction_ps = pfc_quanta_ps(port, port->reaction_quanta);
    port->pause = a;
    return a;
}

/* --- out --- */

void port_send_pfc(struct port *port, uint8_t vector, const uint16_t quanta[8])
{
    struct port_pause *a = state(port);
    if (!(port->flags & PORT_F_PFC_WAITS)) {
        a->tx_vector = 0;
        for (unsigned i = 0; i < PORT_PRIOS; i++)
            a->tx_quanta[i] = 0;
    }
    a->tx_vector |= vector; /* joins the frame that waits: the latest word on a class counts */
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        if (vector >> i & 1)
            a->tx_quanta[i] = quanta[i];
    port->flags |= PORT_F_PFC_WAITS;
    port_kick(port);
}

void port_send_pause(struct port *port, uint16_t quanta)
{
    struct port_pause *a = state(port);
    a->tx_link = true;
    a->tx_vector = 0xff;
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        a->tx_quanta[i] = quanta;
    port->flags |= PORT_F_PFC_WAITS;
    port_kick(port);
}

struct pkt *pfc_take(struct port *port)
{
    struct fabric *f = port->fabric;
    struct port_pause *a = port->pause;
    struct pkt *p = fabric_pkt_new(f);
    bool stops = false;
    p->kind = PKT_PFC;
    p->src = p->dst = pkt_addr_of_node(port->node);
    p->pfc.link_wide = a->tx_link;
    p->pfc.class_vector = a->tx_link ? 0 : a->tx_vector;
    for (unsigned i = 0; i < PORT_PRIOS; i++) {
        if (!(a->tx_vector >> i & 1))
            continue;
        if (!a->tx_link || i == 0)
            p->pfc.quanta[i] = a->tx_quanta[i];
        if (a->tx_quanta[i]) {
            port->stats.tx_prio_pause[i]++;
            stops = true;
        } else {
            port->stats.tx_prio_resume[i]++;
        }
    }
    pkt_set_len(p);
    f->pfc_live++;
    if (stops)
        f->audit.pause_frames++;
    else
        f->audit.resume_frames++;
    if (sim_tracing(f->sim)) {
        uint16_t most = 0;
        for (unsigned i = 0; i < PORT_PRIOS; i++)
            most = a->tx_quanta[i] > most ? a->tx_quanta[i] : most;
        struct sim_trace t = { .now_ps = sim_now(f->sim), .point = SIM_TRACE_PAUSE_TX, .node = port->node, .id = port->index,
                               .a = a->tx_vector, .b = most, .obj = p };
        sim_trace_emit(f->sim, &t);
    }
    return p;
}

/* --- in --- */

static void tell(struct port *port, unsigned prio, bool stop)
{
    struct sim *s = port->cls->sim;
    sim_note(s, port->node, SIM_NOTE_PAUSE, (uint64_t)port->index << 8 | prio << 1 | stop);
    if (sim_tracing(s)) {
        struct sim_trace t = { .now_ps = sim_now(s), .point = SIM_TRACE_PAUSED, .node = port->node, .id = port->index, .a = stop, .b = prio };
        sim_trace_emit(s, &t);
    }
    if (port->ops && port->ops->paused)
        port->ops->paused(port->owner, port, prio, stop);
}

static void arm(struct port *port, unsigned prio, int64_t at_ps)
{
    sim_timer_set(port->cls->sim, &port->pause->timer[prio], at_ps);
}

static void block(struct port *port, unsigned prio)
{
    port->blocked |= (uint8_t)(1u << prio);
    port->pause->since_ps[prio] = sim_now(port->cls->sim);
    arm(port, prio, port->pause->until_ps[prio]);
    tell(port, prio, true);
}

static void resume(struct port *port, unsigned prio)
{
    sim_timer_cancel(port->cls->sim, &port->pause->timer[prio]);
    if (!(port->blocked >> prio & 1))
        return;
    port->blocked &= (uint8_t)~(1u << prio);
    port->stats.paused_ps[prio] += sim_now(port->cls->sim) - port->pause->since_ps[prio];
    tell(port, prio, false);
}

static void timer_event(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    struct port_pause *a = port->pause;
    int64_t now_ps = sim_now(s);
    uint8_t resumed = 0;
    (void)arg;
    /* One function for eight timers: those that have just fired are not pending though their class has a time. */
    for (unsigned i = 0; i < PORT_PRIOS; i++) {
        if (a->until_ps[i] == 0 || a->timer[i].at_ps != SIM_NEVER_PS)
            continue;
        if (a->until_ps[i] > now_ps) {
            if (port->blocked >> i & 1)
                arm(port, i, a->until_ps[i]); /* renewed meanwhile */
            else
                block(port, i);
        } else {
            a->until_ps[i] = 0;
            resume(port, i);
            resumed = 1;
        }
    }
    if (resumed)
        port_kick(port);
}

/* True when the class resumes. */
static bool heed(struct port *port, unsigned prio, uint16_t quanta)
{
    struct port_pause *a = port->pause;
    int64_t now_ps = sim_now(port->cls->sim);
    if (quanta == 0) {
        a->until_ps[prio] = 0;
        resume(port, prio);
        return true;
    }
    port->stats.rx_prio_pause[prio]++;
    bool waiting = a->until_ps[prio] != 0;
    a->until_ps[prio] = now_ps + pfc_quanta_ps(port, quanta);
    if (port->blocked >> prio & 1) {
        if (a->until_ps[prio] < a->timer[prio].at_ps)
            arm(port, prio, a->until_ps[prio]);
    } else if (a->reaction_ps == 0) {
        block(port, prio);
    } else if (!waiting) {
        arm(port, prio, now_ps + a->reaction_ps);
    }
    return false;
}

void pfc_receive(struct port *port, struct pkt *p)
{
    bool link = p->pfc.link_wide, resumed = false;
    uint8_t vector = link ? port->heeds_link ? 0xff : 0 : (uint8_t)p->pfc.class_vector & port->heeds;
    state(port);
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        if (vector >> i & 1)
            resumed |= heed(port, i, p->pfc.quanta[link ? 0 : i]);
    port->fabric->pfc_live--;
    fabric_pkt_free(port->fabric, p);
    if (resumed)
        port_kick(port);
}
