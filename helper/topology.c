/* SPDX-License-Identifier: GPL-2.0-only */
#include "topology_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define PARAM_STRUCT struct topology_params
PARAM_TABLE(topology_params, TOPOLOGY_PARAMS)
#undef PARAM_STRUCT

#define NODES_MAX ((UINT64_C(1) << 24) - 2)

static struct shape shape_of(const struct topology_params *t, const struct topology_list *list)
{
    const struct topology_shape *s = &topology_shapes[t->kind];
    if (s->size)
        return s->size(t);
    return list ? (struct shape){ list->nhosts, list->nswitches } : (struct shape){ 0, 0 };
}

uint32_t topology_hosts(const struct topology_params *t, const struct topology_list *list, char *err, size_t errlen)
{
    char none[8];
    const struct topology_shape *s = &topology_shapes[t->kind];
    if (!err) {
        err = none;
        errlen = sizeof none;
    }
    if (s->check && !s->check(t, err, errlen))
        return 0;
    struct shape n = shape_of(t, list);
    if (n.hosts == 0)
        snprintf(err, errlen, "the topology has no hosts");
    else if (n.hosts + n.switches > NODES_MAX)
        snprintf(err, errlen, "%llu nodes are more than 2^24 - 2", (unsigned long long)(n.hosts + n.switches));
    else
        return (uint32_t)n.hosts;
    return 0;
}

uint32_t topology_nodes(const struct topology_params *t)
{
    struct shape n = shape_of(t, NULL);
    return topology_hosts(t, NULL, NULL, 0) ? (uint32_t)(n.hosts + n.switches) : 0;
}

static int64_t metres_or(int64_t mm, int64_t ps) { return mm ? mm * TOPOLOGY_PS_PER_MM : ps; }

struct topology_wires topology_wires(const struct topology_params *t)
{
    struct topology_wires w = { .host_ps = metres_or(t->host_length_mm, t->host_propagation_ps), .fabric_ps = metres_or(t->fabric_length_mm, t->fabric_propagation_ps),
                                .fabric_bps = t->fabric_rate_bps };
    int64_t per = t->hosts_per_leaf, up = t->spines;
    if (t->kind == TOPOLOGY_THREE_TIER) {
        per = t->hosts_per_edge ? t->hosts_per_edge : t->k / 2;
        up = t->aggregations;
    }
    if (t->oversubscription > 0 && (t->kind == TOPOLOGY_LEAF_SPINE || t->kind == TOPOLOGY_WAN || t->kind == TOPOLOGY_THREE_TIER))
        w.fabric_bps = (int64_t)((double)t->host_rate_bps * (double)per / t->oversubscription / (double)up / (double)t->lag);
    w.trunk_bps = t->trunk_rate_bps ? t->trunk_rate_bps : w.fabric_bps;
    if (t->trunk_oversubscription > 0 && t->kind == TOPOLOGY_THREE_TIER)
        w.trunk_bps = (int64_t)((double)w.fabric_bps * (double)t->edges / t->trunk_oversubscription / (double)(t->cores / t->aggregations));
    w.trunk_ps = metres_or(t->trunk_length_mm, t->trunk_propagation_ps ? t->trunk_propagation_ps : w.fabric_ps);
    return w;
}

void topology_link_up(struct builder *b, uint32_t x, uint32_t y, int64_t rate_bps, int64_t propagation_ps, double loss)
{
    struct link_params p = *b->link;
    p.rate_bps = rate_bps;
    p.propagation_ps = propagation_ps;
    if (loss >= 0)
        p.loss = loss;
    if (b->rc == SIM_OK)
        b->rc = fabric_connect(b->f, x, y, &p, NULL, NULL);
}

static void build_list(struct builder *b, const struct topology_list *list)
{
    const struct topology_wires w = topology_wires(b->t);
    for (size_t i = 0; i < list->nlinks; i++) {
        const struct topology_link *l = &list->links[i];
        bool host = l->a < list->nhosts || l->b < list->nhosts;
        int64_t rate = l->rate_bps ? l->rate_bps : host ? b->t->host_rate_bps : w.fabric_bps;
        topology_link_up(b, l->a, l->b, rate, l->propagation_ps >= 0 ? l->propagation_ps : host ? w.host_ps : w.fabric_ps, l->loss);
    }
}

/* Union of nodes by links, paths halved on the way. Hosts forward nothing: each joins its neighbours only if it is host 0 or they are. */
static uint32_t root_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

int64_t topology_unreachable(const struct topology_list *list)
{
    uint32_t n = list->nhosts + list->nswitches;
    uint32_t *up = malloc((n ? n : 1) * sizeof *up);
    bool *near = calloc(list->nhosts ? list->nhosts : 1, sizeof *near);
    int64_t found = 0;
    if (!up || !near) {
        free(up);
        free(near);
        return -1;
    }
    for (uint32_t v = 0; v < n; v++)
        up[v] = v;
    for (size_t i = 0; i < list->nlinks; i++) {
        uint32_t a = list->links[i].a, b = list->links[i].b;
        bool switches = a >= list->nhosts && b >= list->nhosts, first = a == 0 || b == 0;
        if (switches || (first && (a >= list->nhosts || b >= list->nhosts)))
            up[root_of(up, a)] = root_of(up, b);
    }
    for (size_t i = 0; i < list->nlinks; i++)
        for (int end = 0; end < 2; end++) {
            uint32_t h = end ? list->links[i].b : list->links[i].a, other = end ? list->links[i].a : list->links[i].b;
            if (h < list->nhosts && (other == 0 || (other >= list->nhosts && root_of(up, other) == root_of(up, 0))))
                near[h] = true;
        }
    for (uint32_t h = 1; h < list->nhosts && !found; h++)
        if (!near[h])
            found = h;
    free(up);
    free(near);
    return found;
}

/* A host without a link has no port to attach to; one with several is not modelled above the fabric. */
static bool hosts_linked(const struct fabric *f, uint32_t nhosts, char *err, size_t errlen)
{
    for (uint32_t h = 0; h < nhosts; h++)
        if (fabric_ports(f, h) != 1) {
            snprintf(err, errlen, "host %u has %u links: each host needs exactly one", h, fabric_ports(f, h));
            return false;
        }
    return true;
}

static void add_switches(struct builder *b, uint64_t n, const struct switch_params *sw, const struct topology_exception *ex, size_t nex)
{
    const struct topology_shape *s = &topology_shapes[b->t->kind];
    struct switch_params border = *sw;
    if (b->t->border_buffer_bytes)
        border.buffer_bytes = b->t->border_buffer_bytes;
    for (uint64_t i = 0; i < n; i++) {
        const struct switch_params *p = s->is_border && s->is_border(b->t, (uint32_t)i) ? &border : sw;
        for (size_t k = 0; k < nex; k++)
            if (ex[k].number == i)
                p = &ex[k].sw;
        fabric_add_switch(b->f, p);
    }
}

static int fix_routes(struct fabric *f, const struct topology_behaviour *how, char *err, size_t errlen)
{
    for (size_t i = 0; i < how->nroutes; i++)
        if (fabric_fix_route(f, how->routes[i].at, how->routes[i].to, how->routes[i].via) != SIM_OK)
            return snprintf(err, errlen, "a route by hand: node %u is no neighbour of switch node %u", how->routes[i].via, how->routes[i].at), SIM_ERR_PARAM;
    return SIM_OK;
}

struct fabric *topology_build(struct sim *s, const struct topology_params *t, const struct topology_list *list, const struct topology_behaviour *how,
                              uint32_t *nhosts, char *err, size_t errlen)
{
    *nhosts = topology_hosts(t, list, err, errlen);
    if (*nhosts == 0 || switch_params_check(how->sw, err, errlen) != SIM_OK)
        return NULL;
    struct shape shape = shape_of(t, list);
    struct builder b = { .t = t, .f = fabric_new(s, (uint32_t)(shape.hosts + shape.switches)), .link = how->link };
    if (!b.f) {
        snprintf(err, errlen, "out of memory for %llu nodes", (unsigned long long)(shape.hosts + shape.switches));
        return NULL;
    }
    if (how->fabric)
        fabric_set_params(b.f, how->fabric);
    for (uint64_t i = 0; i < shape.hosts; i++)
        fabric_add_host(b.f);
    add_switches(&b, shape.switches, how->sw, how->ex, how->nex);
    if (topology_shapes[t->kind].build)
        topology_shapes[t->kind].build(&b, *nhosts);
    else
        build_list(&b, list);
    if (b.rc != SIM_OK)
        snprintf(err, errlen, "a link of the topology is refused: a rate or propagation out of range, or a node with more than 4,094 ports");
    else if (hosts_linked(b.f, *nhosts, err, errlen) && fix_routes(b.f, how, err, errlen) == SIM_OK)
        b.rc = fabric_finish(b.f, err, errlen);
    else
        b.rc = SIM_ERR_PARAM;
    if (b.rc == SIM_OK)
        return b.f;
    fabric_free(b.f);
    return NULL;
}
