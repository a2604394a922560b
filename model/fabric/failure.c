/* SPDX-License-Identifier: GPL-2.0-only */
/* Links that fail and return: what is on them is lost at once, routes learn of it later. */
#include <stdio.h>
#include <stdlib.h>

#include "route.h"
#include "switch_internal.h"

static uint64_t link_key(const struct port *port, uint32_t sub) { return sim_key_node(port->node, SIM_KIND_WAKE, 0x800000u | sub << 16 | port->index); }

static struct link_impair *impairs(struct port *port)
{
    static const struct link_params none = { .rate_bps = 1 };
    if (!port->impair)
        port->impair = link_impair_new(&none, sim_seed(port->fabric->sim), port->node, port->index);
    if (!port->impair) {
        fputs("rnicsim: out of memory for a link's state\n", stderr);
        abort();
    }
    return port->impair;
}

static void reroute_event(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    (void)s;
    (void)arg;
    if (route_rebuild(port->fabric) == SIM_OK)
        return;
    fputs("rnicsim: out of memory for routes\n", stderr);
    abort();
}

void fabric_link_set(struct fabric *f, uint32_t node, uint32_t port, bool up)
{
    struct port *end[2] = { f->node[node].port[port], f->node[node].port[port]->peer };
    f->watch |= FABRIC_WATCH_LINKS;
    if (!impairs(end[0])->down == up)
        return;
    for (int e = 0; e < 2; e++) {
        impairs(end[e])->down = !up;
        if (!up)
            end[e]->impair->cut_ps = sim_now(f->sim);
    }
    int64_t at_ps = sim_now(f->sim) + f->params.reroute_ps;
    sim_at(f->sim, at_ps, link_key(end[0], 1), reroute_event, end[0], NULL);
}

static void down_event(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    (void)s;
    (void)arg;
    fabric_link_set(port->fabric, port->node, port->index, false);
}

static void up_event(struct sim *s, void *ctx, void *arg)
{
    struct port *port = ctx;
    (void)s;
    (void)arg;
    fabric_link_set(port->fabric, port->node, port->index, true);
}

void fabric_link_set_at(struct fabric *f, uint32_t node, uint32_t port, bool up, int64_t at_ps)
{
    struct port *p = f->node[node].port[port];
    f->watch |= FABRIC_WATCH_LINKS;
    sim_at(f->sim, at_ps, link_key(p, 0), up ? up_event : down_event, p, NULL);
}

bool fabric_link_is_up(const struct fabric *f, uint32_t node, uint32_t port)
{
    const struct link_impair *i = f->node[node].port[port]->impair;
    return !i || !i->down;
}
