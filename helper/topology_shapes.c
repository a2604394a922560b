/* SPDX-License-Identifier: GPL-2.0-only */
/* The shapes that have parameters of their own: how many nodes, and which links. */
#include <stdarg.h>
#include <stdio.h>

#include "topology_internal.h"

static bool refuse(char *err, size_t errlen, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool refuse(char *err, size_t errlen, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(err, errlen, format, ap);
    va_end(ap);
    return false;
}

static void host_link(struct builder *b, uint32_t host, uint32_t sw)
{
    const struct topology_params *t = b->t;
    bool slow = t->slow_every > 0 && (host + 1) % t->slow_every == 0;
    topology_link_up(b, host, sw, slow ? t->slow_rate_bps : t->host_rate_bps, topology_wires(t).host_ps, -1);
}

static void host_links(struct builder *b, uint32_t first_switch, uint32_t per_switch)
{
    for (uint32_t h = 0; h < first_switch; h++)
        host_link(b, h, first_switch + h / per_switch);
}

static void fabric_link(struct builder *b, uint32_t x, uint32_t y)
{
    const struct topology_wires w = topology_wires(b->t);
    for (int64_t i = 0; i < b->t->lag; i++)
        topology_link_up(b, x, y, w.fabric_bps, w.fabric_ps, -1);
}

static void trunk_link(struct builder *b, uint32_t x, uint32_t y)
{
    const struct topology_wires w = topology_wires(b->t);
    for (int64_t i = 0; i < b->t->lag; i++)
        topology_link_up(b, x, y, w.trunk_bps, w.trunk_ps, -1);
}

/* --- star, dumbbell, rows and rings of switches --- */

static struct shape star_size(const struct topology_params *t) { return (struct shape){ (uint64_t)t->hosts, 1 }; }
static void star_build(struct builder *b, uint32_t first_switch) { host_links(b, first_switch, first_switch); }

static struct shape dumbbell_size(const struct topology_params *t) { return (struct shape){ 2 * (uint64_t)t->hosts, 2 }; }
static void dumbbell_build(struct builder *b, uint32_t first_switch)
{
    host_links(b, first_switch, first_switch / 2);
    fabric_link(b, first_switch, first_switch + 1);
}

static struct shape row_size(const struct topology_params *t) { return (struct shape){ (uint64_t)(t->hosts * t->switches), (uint64_t)t->switches }; }
static void row_build(struct builder *b, uint32_t first_switch)
{
    host_links(b, first_switch, (uint32_t)b->t->hosts);
    for (uint32_t i = 0; i + 1 < b->t->switches; i++)
        fabric_link(b, first_switch + i, first_switch + i + 1);
}

static bool ring_check(const struct topology_params *t, char *err, size_t errlen)
{
    return t->switches >= 3 || refuse(err, errlen, "a ring needs at least 3 switches, not %lld", (long long)t->switches);
}
static void ring_build(struct builder *b, uint32_t first_switch)
{
    row_build(b, first_switch);
    fabric_link(b, first_switch + (uint32_t)b->t->switches - 1, first_switch);
}

/* --- two tiers --- */

static struct shape leaf_spine_size(const struct topology_params *t)
{
    return (struct shape){ (uint64_t)(t->leaves * t->hosts_per_leaf), (uint64_t)(t->leaves + t->spines) };
}

/* Each of n switches from `lower` on to each of m from `upper` on. */
static void mesh(struct builder *b, uint32_t lower, uint32_t n, uint32_t upper, uint32_t m)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++)
            fabric_link(b, lower + i, upper + j);
}

static void leaf_spine_build(struct builder *b, uint32_t first_switch)
{
    uint32_t leaves = (uint32_t)b->t->leaves;
    host_links(b, first_switch, (uint32_t)b->t->hosts_per_leaf);
    mesh(b, first_switch, leaves, first_switch + leaves, (uint32_t)b->t->spines);
}

/* --- wan: leaves, spines and border of site 0, then of site 1 --- */

static uint32_t site_switches(const struct topology_params *t) { return (uint32_t)(t->leaves + t->spines + 1); }
static struct shape wan_size(const struct topology_params *t)
{
    return (struct shape){ 2 * (uint64_t)(t->leaves * t->hosts_per_leaf), 2 * (uint64_t)site_switches(t) };
}

static bool wan_is_border(const struct topology_params *t, uint32_t i) { return i % site_switches(t) == site_switches(t) - 1; }

static void wan_build(struct builder *b, uint32_t first_switch)
{
    uint32_t leaves = (uint32_t)b->t->leaves, spines = (uint32_t)b->t->spines, per = (uint32_t)b->t->hosts_per_leaf, site = site_switches(b->t);
    for (uint32_t h = 0; h < first_switch; h++)
        host_link(b, h, first_switch + h / per % leaves + h / (per * leaves) * site);
    for (uint32_t s = 0; s < 2; s++) {
        uint32_t leaf = first_switch + s * site, spine = leaf + leaves;
        mesh(b, leaf, leaves, spine, spines);
        mesh(b, spine, spines, spine + spines, 1);
    }
    trunk_link(b, first_switch + site - 1, first_switch + 2 * site - 1);
}

/* --- three tiers --- */

static uint64_t edge_hosts(const struct topology_params *t) { return (uint64_t)(t->hosts_per_edge ? t->hosts_per_edge : t->k / 2); }

static bool fat_tree_check(const struct topology_params *t, char *err, size_t errlen)
{
    return t->k % 2 == 0 || refuse(err, errlen, "k must be even, not %lld", (long long)t->k);
}

static struct shape fat_tree_size(const struct topology_params *t)
{
    uint64_t k = (uint64_t)t->k;
    return (struct shape){ k * k / 2 * edge_hosts(t), k * k + k * k / 4 };
}

/* Edges pod by pod, then aggregations pod by pod, then the core; core switch i * k/2 + j hangs on aggregation i of each pod. */
static void fat_tree_build(struct builder *b, uint32_t first_switch)
{
    uint32_t k = (uint32_t)b->t->k, half = k / 2;
    uint32_t edge = first_switch, agg = edge + k * half, core = agg + k * half;
    host_links(b, first_switch, (uint32_t)edge_hosts(b->t));
    for (uint32_t pod = 0; pod < k; pod++)
        for (uint32_t i = 0; i < half; i++) {
            for (uint32_t j = 0; j < half; j++)
                fabric_link(b, edge + pod * half + j, agg + pod * half + i);
            for (uint32_t j = 0; j < half; j++)
                fabric_link(b, agg + pod * half + i, core + i * half + j);
        }
}

static bool three_tier_check(const struct topology_params *t, char *err, size_t errlen)
{
    return t->cores % t->aggregations == 0 ||
           refuse(err, errlen, "%lld cores cannot be shared among %lld aggregations of a pod: give a multiple", (long long)t->cores, (long long)t->aggregations);
}

static struct shape three_tier_size(const struct topology_params *t)
{
    uint64_t edges = (uint64_t)(t->pods * t->edges);
    return (struct shape){ edges * edge_hosts(t), edges + (uint64_t)(t->pods * t->aggregations + t->cores) };
}

static void three_tier_build(struct builder *b, uint32_t first_switch)
{
    const struct topology_params *t = b->t;
    uint32_t pods = (uint32_t)t->pods, edges = (uint32_t)t->edges, aggs = (uint32_t)t->aggregations, share = (uint32_t)(t->cores / t->aggregations);
    uint32_t edge = first_switch, agg = edge + pods * edges, core = agg + pods * aggs;
    host_links(b, first_switch, (uint32_t)edge_hosts(t));
    for (uint32_t pod = 0; pod < pods; pod++) {
        mesh(b, edge + pod * edges, edges, agg + pod * aggs, aggs);
        for (uint32_t i = 0; i < aggs; i++)
            for (uint32_t j = 0; j < share; j++)
                trunk_link(b, agg + pod * aggs + i, core + i * share + j);
    }
}

/* --- dragonfly --- */

static bool dragonfly_check(const struct topology_params *t, char *err, size_t errlen)
{
    return t->groups <= t->routers * t->global_links + 1 ||
           refuse(err, errlen, "a dragonfly of %lld groups needs %lld links of each group to others; %lld routers x %lld global-links are %lld", (long long)t->groups,
                  (long long)t->groups - 1, (long long)t->routers, (long long)t->global_links, (long long)(t->routers * t->global_links));
}

static struct shape dragonfly_size(const struct topology_params *t)
{
    uint64_t routers = (uint64_t)(t->groups * t->routers);
    return (struct shape){ routers * (uint64_t)t->hosts_per_router, routers };
}

/* Port n of a group leads to the other groups in turn; it belongs to router n / global-links. */
static void dragonfly_build(struct builder *b, uint32_t first_switch)
{
    const struct topology_params *t = b->t;
    uint32_t groups = (uint32_t)t->groups, routers = (uint32_t)t->routers, h = (uint32_t)t->global_links, others = groups - 1;
    host_links(b, first_switch, (uint32_t)t->hosts_per_router);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t first = first_switch + g * routers;
        for (uint32_t i = 0; i < routers; i++)
            for (uint32_t j = i + 1; j < routers; j++)
                fabric_link(b, first + i, first + j);
        for (uint32_t to = g + 1; to < groups; to++)
            for (uint32_t i = 0; i < routers * h / others; i++) {
                uint32_t here = to - 1 + i * others, there = g + i * others;
                trunk_link(b, first + here / h, first_switch + to * routers + there / h);
            }
    }
}

const struct topology_shape topology_shapes[TOPOLOGY_KIND_COUNT] = {
    [TOPOLOGY_STAR] = { NULL, star_size, star_build, NULL },
    [TOPOLOGY_DUMBBELL] = { NULL, dumbbell_size, dumbbell_build, NULL },
    [TOPOLOGY_LEAF_SPINE] = { NULL, leaf_spine_size, leaf_spine_build, NULL },
    [TOPOLOGY_FAT_TREE] = { fat_tree_check, fat_tree_size, fat_tree_build, NULL },
    [TOPOLOGY_EXPLICIT] = { NULL, NULL, NULL, NULL },
    [TOPOLOGY_PARKING_LOT] = { NULL, row_size, row_build, NULL },
    [TOPOLOGY_RING] = { ring_check, row_size, ring_build, NULL },
    [TOPOLOGY_THREE_TIER] = { three_tier_check, three_tier_size, three_tier_build, NULL },
    [TOPOLOGY_DRAGONFLY] = { dragonfly_check, dragonfly_size, dragonfly_build, NULL },
    [TOPOLOGY_WAN] = { NULL, wan_size, wan_build, wan_is_border },
};
