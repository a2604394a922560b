/* SPDX-License-Identifier: GPL-2.0-only */
/* What a switch tells the senders at its ingress ports. A pause is renewed at half its time, so it never runs out by itself. */
#include "switch_internal.h"

static void say(struct fabric_switch *sw, struct switch_port *in, uint8_t vector, bool stop)
{
    if (sw->params.pause == SWITCH_PAUSE_GLOBAL) {
        port_send_pause(in->port, stop ? (uint16_t)sw->params.pfc_quanta : 0);
        return;
    }
    uint16_t quanta[PORT_PRIOS];
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        quanta[i] = stop ? (uint16_t)sw->params.pfc_quanta : 0;
    port_send_pfc(in->port, vector, quanta);
}

static void arm(struct fabric_switch *sw, struct switch_port *in)
{
    int64_t at_ps = sim_now(sw->sim) + pfc_quanta_ps(in->port, (uint32_t)sw->params.pfc_quanta) / 2;
    sim_timer_set(sw->sim, &in->refresh, at_ps);
}

static void refresh_event(struct sim *s, void *ctx, void *arg)
{
    struct switch_port *in = ctx;
    (void)s;
    (void)arg;
    if (!in->port->xoff)
        return;
    say(in->sw, in, in->port->xoff, true);
    arm(in->sw, in);
}

void switch_pfc_init(struct switch_port *in)
{
    sim_timer_init(&in->refresh, sim_key_port(in->sw->node, in->port->index, SIM_KIND_WAKE) | 8, refresh_event, in);
}

void switch_pfc_xoff(struct fabric_switch *sw, struct switch_port *in, unsigned prio)
{
    bool stands = sw->params.pause == SWITCH_PAUSE_GLOBAL && in->port->xoff;
    in->port->xoff |= (uint8_t)(1u << prio);
    if (!stands)
        say(sw, in, (uint8_t)(1u << prio), true);
    if (in->refresh.at_ps == SIM_NEVER_PS)
        arm(sw, in);
}

void switch_pfc_xon(struct fabric_switch *sw, struct switch_port *in, unsigned prio)
{
    in->port->xoff &= (uint8_t)~(1u << prio);
    if (sw->params.pause == SWITCH_PAUSE_PRIORITY || !in->port->xoff)
        say(sw, in, (uint8_t)(1u << prio), false);
    if (!in->port->xoff)
        sim_timer_cancel(sw->sim, &in->refresh);
}
