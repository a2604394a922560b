/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes and links, put together once; and the packets' pool. */
#include "fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadlock.h"
#include "headroom.h"
#include "loss_rules.h"
#include "route.h"
#include "switch_internal.h"

#define PORTS_MAX 4094

struct fabric *fabric_new(struct sim *s, uint32_t max_nodes)
{
    struct fabric *f;
    if (max_nodes == 0 || max_nodes > 0xffffff)
        return NULL;
    f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    if (!f)
        return NULL;
    memset(f, 0, sizeof *f);
    f->sim = s;
    f->max_nodes = max_nodes;
    f->node = calloc(max_nodes, sizeof *f->node);
    if (!f->node) {
        free(f);
        return NULL;
    }
    for (unsigned d = 0; d < 64; d++)
        f->class_of[d] = (uint8_t)(d >> 3);
    param_defaults(&fabric_params_table, &f->params);
    deadlock_init(f);
    if (sim_packets(s)->object_bytes == 0)
        sim_pool_init(sim_packets(s), sizeof(struct pkt));
    return f;
}

void fabric_set_params(struct fabric *f, const struct fabric_params *params)
{
    f->params = *params;
    f->encapsulation = (uint8_t)params->encapsulation;
}

static bool free_carried(void *to, void *ctx, void *arg)
{
    if (((struct port *)ctx)->fabric != to)
        return false;
    fabric_pkt_free(to, arg);
    return true;
}

void fabric_free_carried(struct fabric *f, sim_fn *fn)
{
    sim_take_pending(f->sim, fn, free_carried, f);
}

void fabric_free(struct fabric *f)
{
    if (!f)
        return;
    sim_timer_cancel(f->sim, &f->deadlock_timer);
    port_free_in_flight(f);
    switch_free_inside(f);
    loss_rules_free(f);
    free(f->fixed);
    route_free(f);
    for (uint32_t v = 0; v < f->nnodes; v++) {
        switch_free(f->node[v].sw);
        for (uint32_t i = 0; i < f->node[v].nports; i++)
            port_fini(f->node[v].port[i]);
        free(f->node[v].port);
    }
    while (f->arena) {
        struct fabric_arena *next = f->arena->next;
        free(f->arena);
        f->arena = next;
    }
    while (f->classes) {
        struct link_class *next = f->classes->next;
        free(f->classes);
        f->classes = next;
    }
    free(f->node);
    free(f);
}

static uint32_t add_node(struct fabric *f)
{
    assert(!f->finished && f->nnodes < f->max_nodes);
    return f->nnodes++;
}

uint32_t fabric_add_host(struct fabric *f) { return add_node(f); }

uint32_t fabric_add_switch(struct fabric *f, const struct switch_params *params)
{
    uint32_t v = add_node(f);
    f->node[v].sw = switch_new(f, v, params);
    if (!f->node[v].sw) {
        fputs("rnicsim: out of memory for a switch\n", stderr);
        abort();
    }
    if (!f->class_map_set) {
        f->class_map_set = 1;
        for (unsigned d = 0; d < 64; d++)
            f->class_of[d] = (uint8_t)switch_params_prio(params, d);
    }
    return v;
}

/* --- links --- */

static struct port *arena_port(struct fabric *f)
{
    const size_t head = 64, bytes = head + FABRIC_ARENA_PORTS * ((sizeof(struct port) + 63) / 64 * 64);
    if (!f->arena || f->arena->used == FABRIC_ARENA_PORTS) {
        struct fabric_arena *a = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (!a)
            return NULL;
        memset(a, 0, bytes);
        a->next = f->arena;
        f->arena = a;
    }
    return (struct port *)(void *)((char *)f->arena + head + f->arena->used++ * ((sizeof(struct port) + 63) / 64 * 64));
}

static struct port *add_port(struct fabric *f, uint32_t node, const struct link_params *params)
{
    struct fabric_node *n = &f->node[node];
    if (n->nports == n->cap) {
        uint32_t cap = n->cap ? 2u * n->cap : 4;
        struct port **p = realloc(n->port, cap * sizeof(struct port *));
        if (!p)
            return NULL;
        n->port = p;
        n->cap = (uint16_t)cap;
    }
    struct port *port = arena_port(f);
    if (!port)
        return NULL;
    port->fabric = f;
    port->node = node;
    port->index = n->nports;
    port->flags = n->sw ? 0 : PORT_F_HOST;
    port->reaction_quanta = (uint16_t)(params->pfc_reaction_quanta);
    port->heeds = 0xff;
    port->heeds_link = 1;
    if (params->loss > 0 || params->loss_every > 0 || params->ber > 0 || params->burst_begin > 0) {
        port->impair = link_impair_new(params, sim_seed(f->sim), node, port->index);
        if (!port->impair)
            return NULL;
    }
    n->port[n->nports++] = port;
    return port;
}

/* The pipeline of a switch delays what it receives. */
static int64_t pipeline_ps(const struct fabric *f, uint32_t node)
{
    return f->node[node].sw ? f->node[node].sw->params.pipeline_latency_ps : 0;
}

/* A switch that cuts through hears of a frame early. */
static uint32_t cut_bytes(const struct fabric *f, uint32_t node)
{
    const struct fabric_switch *sw = f->node[node].sw;
    return sw && sw->params.forwarding == SWITCH_CUT_THROUGH ? (uint32_t)sw->params.cut_through_bytes : 0;
}

int fabric_fix_route(struct fabric *f, uint32_t sw, uint32_t host, uint32_t via)
{
    bool near = false;
    if (f->finished || sw >= f->nnodes || host >= f->nnodes || !f->node[sw].sw || f->node[host].sw)
        return SIM_ERR_PARAM;
    for (uint32_t i = 0; i < f->node[sw].nports; i++)
        near |= f->node[sw].port[i]->peer->node == via;
    if (!near)
        return SIM_ERR_PARAM;
    struct fabric_fixed *fixed = realloc(f->fixed, (f->nfixed + 1) * sizeof *fixed);
    if (!fixed)
        return SIM_ERR_NOMEM;
    f->fixed = fixed;
    f->fixed[f->nfixed++] = (struct fabric_fixed){ sw, host, via };
    return SIM_OK;
}

int fabric_connect(struct fabric *f, uint32_t a, uint32_t b, const struct link_params *params, uint32_t *port_a, uint32_t *port_b)
{
    const struct param *bad;
    if (f->finished)
        return SIM_ERR_STATE;
    if (a >= f->nnodes || b >= f->nnodes || a == b || param_check(&link_params_table, params, &bad) != SIM_OK)
        return SIM_ERR_PARAM;
    if (f->node[a].nports >= PORTS_MAX || f->node[b].nports >= PORTS_MAX)
        return SIM_ERR_FULL;
    struct port *x = add_port(f, a, params), *y = add_port(f, b, params);
    if (!x || !y)
        return SIM_ERR_NOMEM;
    x->cls = link_class_get(f, params->rate_bps, params->propagation_ps, pipeline_ps(f, b), cut_bytes(f, b));
    y->cls = link_class_get(f, params->rate_bps, params->propagation_ps, pipeline_ps(f, a), cut_bytes(f, a));
    if (!x->cls || !y->cls)
        return SIM_ERR_NOMEM;
    x->peer = y;
    y->peer = x;
    if (port_a)
        *port_a = x->index;
    if (port_b)
        *port_b = y->index;
    return SIM_OK;
}

static void finish_port(struct port *p)
{
    if (p->reaction_quanta == LINK_REACTION_BY_RATE)
        p->reaction_quanta = (uint16_t)headroom_reaction_quanta(p->cls->rate_bps);
    port_finish(p);
    if (cut_bytes(p->fabric, p->node))
        p->flags |= PORT_F_CUT;
}

int fabric_finish(struct fabric *f, char *err, size_t errlen)
{
    int st;
    if (f->finished) {
        snprintf(err, errlen, "fabric_finish was called twice");
        return SIM_ERR_STATE;
    }
    f->finished = 1;
    for (uint32_t v = 0; v < f->nnodes; v++)
        for (uint32_t i = 0; i < f->node[v].nports; i++)
            finish_port(f->node[v].port[i]);
    for (uint32_t v = 0; v < f->nnodes; v++) {
        struct fabric_switch *sw = f->node[v].sw;
        if (!sw)
            continue;
        st = switch_params_check(&sw->params, err, errlen);
        if (st == SIM_OK)
            st = switch_finish(sw, err, errlen);
        if (st != SIM_OK)
            return st;
    }
    return route_build(f, err, errlen);
}

/* --- questions --- */

uint32_t fabric_nodes(const struct fabric *f) { return f->nnodes; }
bool fabric_is_host(const struct fabric *f, uint32_t node) { return !f->node[node].sw; }
uint32_t fabric_ports(const struct fabric *f, uint32_t node) { return f->node[node].nports; }
struct port *fabric_port(const struct fabric *f, uint32_t node, uint32_t port) { return f->node[node].port[port]; }
struct sim *fabric_sim(const struct fabric *f) { return f->sim; }

static struct port *first_hop(const struct fabric *f, uint32_t a, uint32_t b)
{
    const struct route *r = f->route;
    for (uint32_t i = 0; i < f->node[a].nports; i++) {
        struct port *p = f->node[a].port[i];
        const struct fabric_switch *sw = f->node[p->peer->node].sw;
        if (p->peer->node == b)
            return p;
        if (sw && b < r->nhosts && r->host[b].links && route_lookup(r, &sw->table, sw->node, b, 0) >= 0)
            return p;
    }
    return NULL;
}

uint32_t fabric_path(const struct fabric *f, uint32_t a, uint32_t b, struct fabric_hop *hops, uint32_t max)
{
    uint32_t n = 0;
    if (!f->route || a == b || a >= f->nnodes || b >= f->nnodes || f->node[a].sw || f->node[b].sw)
        return 0;
    const struct port *p = first_hop(f, a, b);
    while (p) {
        if (n < max)
            hops[n] = (struct fabric_hop){ p->cls->rate_bps, p->cls->propagation_ps, p->cls->pipeline_ps, p->cls->cut_bytes };
        n++;
        if (p->peer->node == b)
            return n;
        const struct fabric_switch *sw = f->node[p->peer->node].sw;
        int out = sw ? route_lookup(f->route, &sw->table, sw->node, b, 0) : -1;
        p = out < 0 || n > f->nnodes ? NULL : f->node[sw->node].port[out];
    }
    return 0;
}

/* --- watching --- */

static void watch(struct fabric *f, enum fabric_watch what, bool on)
{
    f->watch = (uint8_t)(on ? f->watch | what : f->watch & ~what);
}

void fabric_tap_set(struct fabric *f, fabric_tap *tap, void *ctx)
{
    f->tap = tap;
    f->tap_ctx = ctx;
    watch(f, FABRIC_WATCH_TAP, tap != NULL);
}

void fabric_loss_set(struct fabric *f, fabric_loss_fn *lose, void *ctx)
{
    f->loss = lose;
    f->loss_ctx = ctx;
    watch(f, FABRIC_WATCH_LOSS, lose != NULL);
}

void fabric_through_bytes(struct fabric *f, bool on) { watch(f, FABRIC_WATCH_BYTES, on); }

/* --- packets --- */

struct pkt *fabric_pkt_new(struct fabric *f)
{
    struct pkt *p = sim_pool_get(sim_packets(f->sim));
    memset(p, 0, offsetof(struct pkt, chunk));
    return p;
}

void fabric_pkt_free(struct fabric *f, struct pkt *p)
{
    if (p->nchunks)
        pkt_release_payload(p);
    sim_pool_put(sim_packets(f->sim), p);
}
