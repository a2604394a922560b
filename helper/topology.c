/* SPDX-License-Identifier: GPL-2.0-only */
#include "topology.h"

#include <stdio.h>

#define PARAM_STRUCT struct topology_params
PARAM_TABLE(topology_params, TOPOLOGY_PARAMS)
#undef PARAM_STRUCT

/* What a builder adds to; the first failure stays. */
struct builder {
    const struct topology_params *t;
    struct fabric *f;
    const struct link_params *link;
    int rc;
};

struct shape { uint64_t hosts, switches; };

static uint64_t edge_hosts(const struct topology_params *t) { return (uint64_t)(t->hosts_per_edge ? t->hosts_per_edge : t->k / 2); }

static struct shape shape_of(const struct topology_params *t, const struct topology_list *list)
{
    uint64_t k = (uint64_t)t->k;
    switch (t->kind) {
    case TOPOLOGY_STAR:       return (struct shape){ (uint64_t)t->hosts, 1 };
    case TOPOLOGY_DUMBBELL:   return (struct shape){ 2 * (uint64_t)t->hosts, 2 };
    case TOPOLOGY_LEAF_SPINE: return (struct shape){ (uint64_t)(t->leaves * t->hosts_per_leaf), (uint64_t)(t->leaves + t->spines) };
    case TOPOLOGY_FAT_TREE:   return k % 2 ? (struct shape){ 0, 0 } : (struct shape){ k * k / 2 * edge_hosts(t), k * k + k * k / 4 };
    default:                  return list ? (struct shape){ list->nhosts, list->nswitches } : (struct shape){ 0, 0 };
    }
}

uint32_t topology_hosts(const struct topology_params *t, const struct topology_list *list)
{
    struct shape s = shape_of(t, list);
    return s.hosts + s.switches < (UINT64_C(1) << 24) - 2 ? (uint32_t)s.hosts : 0;
}

static void link_up(struct builder *b, uint32_t a, uint32_t c, int64_t rate_bps, int64_t propagation_ps)
{
    struct link_params p = *b->link;
    p.rate_bps = rate_bps;
    p.propagation_ps = propagation_ps;
    if (b->rc == SIM_OK)
        b->rc = fabric_connect(b->f, a, c, &p, NULL, NULL);
}

static void host_link(struct builder *b, uint32_t host, uint32_t sw) { link_up(b, host, sw, b->t->host_rate_bps, b->t->host_propagation_ps); }

static void fabric_link(struct builder *b, uint32_t x, uint32_t y) { link_up(b, x, y, b->t->fabric_rate_bps, b->t->fabric_propagation_ps); }

static void build_star(struct builder *b, uint32_t first_switch)
{
    for (uint32_t h = 0; h < first_switch; h++)
        host_link(b, h, first_switch);
}

static void build_dumbbell(struct builder *b, uint32_t first_switch)
{
    for (uint32_t h = 0; h < first_switch; h++)
        host_link(b, h, first_switch + (h >= first_switch / 2));
    fabric_link(b, first_switch, first_switch + 1);
}

static void build_leaf_spine(struct builder *b, uint32_t first_switch)
{
    const struct topology_params *t = b->t;
    uint32_t leaves = (uint32_t)t->leaves, spines = (uint32_t)t->spines, per = (uint32_t)t->hosts_per_leaf;
    int64_t uplink = t->fabric_rate_bps;
    if (t->oversubscription > 0)
        uplink = (int64_t)((double)t->host_rate_bps * (double)per / t->oversubscription / (double)spines);
    for (uint32_t h = 0; h < first_switch; h++)
        host_link(b, h, first_switch + h / per);
    for (uint32_t l = 0; l < leaves; l++)
        for (uint32_t s = 0; s < spines; s++)
            link_up(b, first_switch + l, first_switch + leaves + s, uplink, t->fabric_propagation_ps);
}

/* Edges pod by pod, then aggregations pod by pod, then the core; core switch i * k/2 + j hangs on aggregation i of each pod. */
static void build_fat_tree(struct builder *b, uint32_t first_switch)
{
    uint32_t k = (uint32_t)b->t->k, half = k / 2, per = (uint32_t)edge_hosts(b->t);
    uint32_t edge = first_switch, agg = edge + k * half, core = agg + k * half;
    for (uint32_t h = 0; h < first_switch; h++)
        host_link(b, h, edge + h / per);
    for (uint32_t pod = 0; pod < k; pod++)
        for (uint32_t i = 0; i < half; i++) {
            for (uint32_t j = 0; j < half; j++)
                fabric_link(b, edge + pod * half + j, agg + pod * half + i);
            for (uint32_t j = 0; j < half; j++)
                fabric_link(b, agg + pod * half + i, core + i * half + j);
        }
}

static void build_list(struct builder *b, const struct topology_list *list)
{
    for (size_t i = 0; i < list->nlinks; i++) {
        const struct topology_link *l = &list->links[i];
        bool host = l->a < list->nhosts || l->b < list->nhosts;
        int64_t rate = l->rate_bps ? l->rate_bps : host ? b->t->host_rate_bps : b->t->fabric_rate_bps;
        int64_t prop = l->propagation_ps >= 0 ? l->propagation_ps : host ? b->t->host_propagation_ps : b->t->fabric_propagation_ps;
        link_up(b, l->a, l->b, rate, prop);
    }
}

static void build(struct builder *b, const struct topology_list *list, uint32_t first_switch)
{
    switch (b->t->kind) {
    case TOPOLOGY_STAR:       build_star(b, first_switch); break;
    case TOPOLOGY_DUMBBELL:   build_dumbbell(b, first_switch); break;
    case TOPOLOGY_LEAF_SPINE: build_leaf_spine(b, first_switch); break;
    case TOPOLOGY_FAT_TREE:   build_fat_tree(b, first_switch); break;
    default:                  build_list(b, list); break;
    }
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

struct fabric *topology_build(struct sim *s, const struct topology_params *t, const struct topology_list *list, const struct switch_params *sw,
                              const struct link_params *link, uint32_t *nhosts, char *err, size_t errlen)
{
    struct shape shape = shape_of(t, list);
    *nhosts = topology_hosts(t, list);
    if (*nhosts == 0) {
        if (t->kind == TOPOLOGY_FAT_TREE && t->k % 2)
            snprintf(err, errlen, "a fat tree's k must be even, not %lld", (long long)t->k);
        else
            snprintf(err, errlen, "the topology has no hosts, or more than 2^24 nodes");
        return NULL;
    }
    if (switch_params_check(sw, err, errlen) != SIM_OK)
        return NULL;
    struct builder b = { .t = t, .f = fabric_new(s, (uint32_t)(shape.hosts + shape.switches)), .link = link };
    if (!b.f) {
        snprintf(err, errlen, "out of memory for %llu nodes", (unsigned long long)(shape.hosts + shape.switches));
        return NULL;
    }
    for (uint64_t i = 0; i < shape.hosts; i++)
        fabric_add_host(b.f);
    for (uint64_t i = 0; i < shape.switches; i++)
        fabric_add_switch(b.f, sw);
    build(&b, list, *nhosts);
    if (b.rc != SIM_OK)
        snprintf(err, errlen, "a link of the topology is refused: a rate or propagation out of range, or a node with more than 4,094 ports");
    else if (hosts_linked(b.f, *nhosts, err, errlen))
        b.rc = fabric_finish(b.f, err, errlen);
    else
        b.rc = SIM_ERR_PARAM;
    if (b.rc == SIM_OK)
        return b.f;
    fabric_free(b.f);
    return NULL;
}
