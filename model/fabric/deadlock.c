/* SPDX-License-Identifier: GPL-2.0-only */
/* Who pauses whom. A stopped egress queue stands for good if the buffer of the ingress that stopped it holds packets of egress queues only
 * that stand for good themselves. Begin with all stopped queues and strike out those that may yet go, until none is struck: what is left waits in
 * a circle, or for one. (Coffman et al. 1971; for PFC: Hu et al., HotNets'16.) */
#include "deadlock.h"

#include <stdlib.h>

#include "switch_internal.h"

struct standing { uint32_t sw; uint16_t port; uint8_t prio; bool out; };
struct graph { const struct fabric *f; struct standing *q; uint32_t n; };

/* The ingress that stops egress queue (sw, port, prio): at its neighbour; NULL if that is a host or does not stop it. */
static const struct switch_port *stopper(const struct fabric *f, const struct standing *e)
{
    const struct port *peer = f->node[e->sw].port[e->port]->peer;
    const struct fabric_switch *sw = f->node[peer->node].sw;
    const struct switch_port *in = sw ? &sw->port[peer->index] : NULL;
    if (!in)
        return NULL;
    uint8_t stops = sw->params.pause == SWITCH_PAUSE_GLOBAL && peer->xoff ? 0xff : peer->xoff;
    return stops >> e->prio & 1 ? in : NULL;
}

static int find(const struct graph *g, uint32_t sw, uint32_t port, unsigned prio)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->q[i].sw == sw && g->q[i].port == port && g->q[i].prio == prio)
            return (int)i;
    return -1;
}

/* Does the ingress wait only for queues that stand? *next: one of them. */
static bool waits_only(const struct graph *g, const struct switch_port *in, int *next)
{
    const struct fabric_switch *sw = in->sw;
    *next = -1;
    for (uint32_t k = 0; k < sw->nports; k++)
        for (uint8_t m = sw->link[k]->queued & in->port->xoff; m; m &= (uint8_t)(m - 1)) {
            unsigned prio = (unsigned)__builtin_ctz(m);
            const struct pkt *p = sw->port[k].queue[prio].head;
            while (p && p->in_port != in->port->index)
                p = p->next;
            if (!p)
                continue;
            int i = find(g, sw->node, k, prio);
            if (i < 0 || g->q[i].out)
                return false;
            *next = i;
        }
    return *next >= 0;
}

static bool collect(struct graph *g)
{
    uint32_t room = 0;
    for (uint32_t v = 0; v < g->f->nnodes; v++) {
        const struct fabric_switch *sw = g->f->node[v].sw;
        for (uint32_t k = 0; sw && sw->port && k < sw->nports; k++)
            for (uint8_t m = sw->link[k]->queued & port_paused_mask(sw->link[k]); m; m &= (uint8_t)(m - 1)) {
                struct standing e = { v, (uint16_t)k, (uint8_t)__builtin_ctz(m), false };
                if (!stopper(g->f, &e))
                    continue;
                if (g->n == room) {
                    room = room ? 2 * room : 64;
                    struct standing *q = realloc(g->q, room * sizeof *q);
                    if (!q)
                        return false;
                    g->q = q;
                }
                g->q[g->n++] = e;
            }
    }
    return true;
}

static void report(const struct graph *g, struct fabric_deadlock *out)
{
    uint32_t steps = 0;
    int i = 0, next;
    *out = (struct fabric_deadlock){ .at_ps = 0 };
    for (uint32_t k = 0; k < g->n; k++)
        out->queues += !g->q[k].out;
    while (g->q[i].out)
        i++;
    for (; steps < g->n; steps++) { /* after so many steps we are in the circle */
        waits_only(g, stopper(g->f, &g->q[i]), &next);
        i = next;
    }
    int first = i;
    do {
        const struct standing *e = &g->q[i];
        const struct port *port = g->f->node[e->sw].port[e->port];
        int64_t since_ps = port->pause->since_ps[e->prio];
        out->at_ps = since_ps > out->at_ps ? since_ps : out->at_ps;
        if (out->length < FABRIC_CYCLE_MAX) {
            out->queue[out->length].node = e->sw;
            out->queue[out->length].port = e->port;
            out->queue[out->length].prio = e->prio;
        }
        out->length++;
        waits_only(g, stopper(g->f, e), &next);
        i = next;
    } while (i != first);
}

bool fabric_deadlock_find(const struct fabric *f, struct fabric_deadlock *out)
{
    struct graph g = { .f = f };
    bool struck = collect(&g), any = false;
    while (struck) {
        struck = false;
        any = false;
        for (uint32_t i = 0; i < g.n; i++) {
            int next;
            if (g.q[i].out)
                continue;
            if (waits_only(&g, stopper(f, &g.q[i]), &next))
                any = true;
            else
                struck = g.q[i].out = true;
        }
    }
    if (any)
        report(&g, out);
    free(g.q);
    return any;
}

/* --- looking regularly --- */

static bool anything_paused(const struct fabric *f)
{
    for (uint32_t v = 0; v < f->nnodes; v++)
        for (uint32_t k = 0; f->node[v].sw && k < f->node[v].nports; k++)
            if (f->node[v].port[k]->blocked)
                return true;
    return false;
}

static void look_event(struct sim *s, void *ctx, void *arg)
{
    struct fabric *f = ctx;
    (void)s;
    (void)arg;
    if (f->deadlock.at_ps >= 0)
        return;
    if (fabric_deadlock_find(f, &f->deadlock))
        return;
    f->deadlock.at_ps = -1;
    if (anything_paused(f))
        sim_timer_set(f->sim, &f->deadlock_timer, sim_now(f->sim) + f->params.deadlock_check_ps);
}

void deadlock_init(struct fabric *f)
{
    f->deadlock.at_ps = -1;
    /* Of no node, after all nodes' events at its time. */
    sim_timer_init(&f->deadlock_timer, sim_key_node(0xffffff, SIM_KIND_WAKE, 1), look_event, f);
}

void deadlock_watch(struct fabric *f)
{
    if (f->params.deadlock_check_ps > 0 && f->deadlock.at_ps < 0 && f->deadlock_timer.at_ps == SIM_NEVER_PS)
        sim_timer_set(f->sim, &f->deadlock_timer, sim_now(f->sim) + f->params.deadlock_check_ps);
}

const struct fabric_deadlock *fabric_deadlock(const struct fabric *f) { return &f->deadlock; }
