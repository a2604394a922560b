/* SPDX-License-Identifier: GPL-2.0-only */
/* PFC watchdog, after SONiC's: a lossless egress queue that is paused, not empty, and has sent nothing for the detection time is in a storm.
 * What waits in it and comes for it is then dropped, or sent in spite of the pause, until it has not been paused for the restoration time. */
#include "switch_internal.h"

static void arm(struct switch_port *o, unsigned prio, int64_t in_ps)
{
    sim_timer_set(o->sw->sim, &o->extra->watch[prio].timer, sim_now(o->sw->sim) + in_ps);
}

static void rest(struct switch_port *o, unsigned prio)
{
    sim_timer_cancel(o->sw->sim, &o->extra->watch[prio].timer);
    o->extra->watch[prio].state = SWITCH_WATCH_IDLE;
}

static void storm_begins(struct switch_port *o, unsigned prio)
{
    struct fabric_switch *sw = o->sw;
    o->extra->watch[prio].state = SWITCH_WATCH_STORM;
    o->extra->storm |= (uint8_t)(1u << prio);
    sw->storms++;
    sw->fabric->audit.storms++;
    if (sw->params.watchdog.action == SWITCH_WATCHDOG_DROP)
        switch_drain(sw, o, prio, FABRIC_DROP_WATCHDOG);
    else
        port_kick(o->port);
}

static void watch_event(struct sim *s, void *ctx, void *arg)
{
    struct switch_port *o = ctx;
    (void)s;
    (void)arg;
    /* One function for eight timers: a state whose timer is not pending has fired. */
    for (unsigned prio = 0; prio < PORT_PRIOS; prio++) {
        if (o->extra->watch[prio].timer.at_ps != SIM_NEVER_PS)
            continue;
        if (o->extra->watch[prio].state == SWITCH_WATCH_STANDS) {
            storm_begins(o, prio);
        } else if (o->extra->watch[prio].state == SWITCH_WATCH_STORM && !(port_paused_mask(o->port) >> prio & 1)) {
            o->extra->watch[prio].state = SWITCH_WATCH_IDLE;
            o->extra->storm &= (uint8_t)~(1u << prio);
        }
    }
}

void switch_watchdog_init(struct switch_port *o)
{
    for (unsigned prio = 0; prio < PORT_PRIOS; prio++)
        sim_timer_init(&o->extra->watch[prio].timer, sim_key_port(o->sw->node, o->port->index, SIM_KIND_WAKE) | (16 + prio), watch_event, o);
}

static bool watched(const struct switch_port *o, unsigned prio)
{
    return o->sw->params.watchdog.detection_ps > 0 && (o->sw->lossless >> prio & 1);
}

static void stands(struct switch_port *o, unsigned prio)
{
    o->extra->watch[prio].state = SWITCH_WATCH_STANDS;
    arm(o, prio, o->sw->params.watchdog.detection_ps);
}

void switch_watchdog_paused(struct switch_port *o, unsigned prio, bool stop)
{
    if (!watched(o, prio))
        return;
    if (o->extra->watch[prio].state == SWITCH_WATCH_STORM) {
        if (stop)
            sim_timer_cancel(o->sw->sim, &o->extra->watch[prio].timer);
        else
            arm(o, prio, o->sw->params.watchdog.restoration_ps);
    } else if (stop && o->queue[prio].head) {
        if (o->extra->watch[prio].state == SWITCH_WATCH_IDLE)
            stands(o, prio);
    }
    /* A resume that lets nothing go does not end the standstill: the packet that is sent does. */
}

void switch_watchdog_waits(struct switch_port *o, unsigned prio)
{
    if (watched(o, prio) && (port_paused_mask(o->port) >> prio & 1) && o->extra->watch[prio].state == SWITCH_WATCH_IDLE)
        stands(o, prio);
}

void switch_watchdog_sent(struct switch_port *o, unsigned prio)
{
    if (o->extra->watch[prio].state != SWITCH_WATCH_STANDS)
        return;
    if ((port_paused_mask(o->port) >> prio & 1) && o->queue[prio].head)
        stands(o, prio);
    else
        rest(o, prio);
}
