/* SPDX-License-Identifier: GPL-2.0-only */
/* Every shape: its nodes and links counted, the length of every path, rates, lengths and buffers where they belong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../helper/topology.h"

struct net { struct sim *s; struct fabric *f; uint32_t hosts; char err[300]; };

static bool build(struct net *n, const struct topology_params *t, const struct switch_params *sw)
{
    struct link_params link;
    param_defaults(&link_params_table, &link);
    memset(n, 0, sizeof *n);
    n->s = sim_new(1);
    n->f = topology_build(n->s, t, NULL, &(struct topology_behaviour){ .sw = sw, .link = &link }, &n->hosts, n->err, sizeof n->err);
    return n->f != NULL;
}

static void done(struct net *n)
{
    fabric_free(n->f);
    sim_free(n->s);
}

static uint32_t links(const struct net *n)
{
    uint32_t ports = 0;
    for (uint32_t v = 0; v < fabric_nodes(n->f); v++)
        ports += fabric_ports(n->f, v);
    return ports / 2;
}

static uint32_t path(const struct net *n, uint32_t a, uint32_t b, struct fabric_hop *hop) { return fabric_path(n->f, a, b, hop, 64); }

/* Links from host a to host b, by the shape's own arithmetic. */
typedef uint32_t length_fn(const struct topology_params *t, uint32_t a, uint32_t b);

static uint32_t tiers(uint32_t a, uint32_t b, uint32_t low, uint32_t high) { return a / low == b / low ? 2 : a / high == b / high ? 4 : 6; }
static uint32_t distance(uint32_t a, uint32_t b) { return a < b ? b - a : a - b; }
static uint32_t at(const struct topology_params *t, uint32_t h) { return h / (uint32_t)t->hosts; }

static uint32_t star_length(const struct topology_params *t, uint32_t a, uint32_t b) { (void)t; (void)a; (void)b; return 2; }
static uint32_t row_length(const struct topology_params *t, uint32_t a, uint32_t b) { return 2 + distance(at(t, a), at(t, b)); }
static uint32_t ring_length(const struct topology_params *t, uint32_t a, uint32_t b)
{
    uint32_t d = distance(at(t, a), at(t, b)), round = (uint32_t)t->switches - d;
    return 2 + (d < round ? d : round);
}
static uint32_t leaf_length(const struct topology_params *t, uint32_t a, uint32_t b) { return tiers(a, b, (uint32_t)t->hosts_per_leaf, UINT32_MAX); }
static uint32_t fat_length(const struct topology_params *t, uint32_t a, uint32_t b) { return tiers(a, b, (uint32_t)t->k / 2, (uint32_t)(t->k * t->k / 4)); }
static uint32_t tier_length(const struct topology_params *t, uint32_t a, uint32_t b)
{
    return tiers(a, b, (uint32_t)t->hosts_per_edge, (uint32_t)(t->hosts_per_edge * t->edges));
}
static uint32_t wan_length(const struct topology_params *t, uint32_t a, uint32_t b)
{
    uint32_t l = tiers(a, b, (uint32_t)t->hosts_per_leaf, (uint32_t)(t->hosts_per_leaf * t->leaves));
    return l == 6 ? 7 : l;
}

struct shape_case {
    const char *name;
    int64_t kind, hosts, switches, leaves, spines, per_leaf, k, per_edge, pods, edges, aggs, cores, lag;
    uint32_t want_hosts, want_switches, want_links;
    length_fn *length;
};

static void shapes(void **state)
{
    (void)state;
    static const struct shape_case cases[] = {
        { "star", .kind = TOPOLOGY_STAR, .hosts = 7, .want_hosts = 7, .want_switches = 1, .want_links = 7, .length = star_length },
        { "dumbbell", .kind = TOPOLOGY_DUMBBELL, .hosts = 3, .lag = 2, .want_hosts = 6, .want_switches = 2, .want_links = 8, .length = row_length },
        { "parking lot", .kind = TOPOLOGY_PARKING_LOT, .hosts = 2, .switches = 5, .want_hosts = 10, .want_switches = 5, .want_links = 14, .length = row_length },
        { "ring", .kind = TOPOLOGY_RING, .hosts = 2, .switches = 5, .want_hosts = 10, .want_switches = 5, .want_links = 15, .length = ring_length },
        { "ring of LAGs", .kind = TOPOLOGY_RING, .hosts = 1, .switches = 6, .lag = 3, .want_hosts = 6, .want_switches = 6, .want_links = 24, .length = ring_length },
        { "leaf-spine", .kind = TOPOLOGY_LEAF_SPINE, .leaves = 3, .spines = 2, .per_leaf = 4, .want_hosts = 12, .want_switches = 5, .want_links = 18, .length = leaf_length },
        { "leaf-spine of LAGs", .kind = TOPOLOGY_LEAF_SPINE, .leaves = 3, .spines = 2, .per_leaf = 4, .lag = 4, .want_hosts = 12, .want_switches = 5, .want_links = 36, .length = leaf_length },
        { "fat tree 4", .kind = TOPOLOGY_FAT_TREE, .k = 4, .want_hosts = 16, .want_switches = 20, .want_links = 48, .length = fat_length },
        { "fat tree 6, IRN's", .kind = TOPOLOGY_FAT_TREE, .k = 6, .want_hosts = 54, .want_switches = 45, .want_links = 162, .length = fat_length },
        { "three tiers, HPCC's", .kind = TOPOLOGY_THREE_TIER, .pods = 5, .edges = 4, .aggs = 4, .cores = 16, .per_edge = 16,
          .want_hosts = 320, .want_switches = 56, .want_links = 320 + 80 + 80, .length = tier_length },
        { "three thin tiers", .kind = TOPOLOGY_THREE_TIER, .pods = 3, .edges = 3, .aggs = 2, .cores = 2, .per_edge = 5,
          .want_hosts = 45, .want_switches = 17, .want_links = 45 + 18 + 6, .length = tier_length },
        { "wan", .kind = TOPOLOGY_WAN, .leaves = 3, .spines = 2, .per_leaf = 2, .want_hosts = 12, .want_switches = 12, .want_links = 12 + 12 + 4 + 1, .length = wan_length },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct shape_case *c = &cases[i];
        struct topology_params t;
        struct switch_params sw;
        struct net n;
        struct fabric_hop hop[64];
        param_defaults(&topology_params_table, &t);
        switch_params_init(&sw);
        t.kind = c->kind;
        int64_t *field[] = { &t.hosts, &t.switches, &t.leaves, &t.spines, &t.hosts_per_leaf, &t.k, &t.hosts_per_edge, &t.pods, &t.edges, &t.aggregations, &t.cores, &t.lag };
        const int64_t value[] = { c->hosts, c->switches, c->leaves, c->spines, c->per_leaf, c->k, c->per_edge, c->pods, c->edges, c->aggs, c->cores, c->lag };
        for (size_t k = 0; k < sizeof field / sizeof field[0]; k++)
            if (value[k])
                *field[k] = value[k];
        if (!build(&n, &t, &sw))
            fail_msg("%s: %s", c->name, n.err);
        assert_int_equal(topology_hosts(&t, NULL, NULL, 0), c->want_hosts);
        if (n.hosts != c->want_hosts || fabric_nodes(n.f) != c->want_hosts + c->want_switches || links(&n) != c->want_links)
            fail_msg("%s: %u hosts, %u nodes, %u links", c->name, n.hosts, fabric_nodes(n.f), links(&n));
        for (uint32_t a = 0; a < n.hosts; a++)
            for (uint32_t b = 0; b < n.hosts; b++)
                if (a != b && path(&n, a, b, hop) != c->length(&t, a, b))
                    fail_msg("%s: %u links from host %u to %u, not %u", c->name, path(&n, a, b, hop), a, b, c->length(&t, a, b));
        done(&n);
    }
}

/* Kim et al.: at most local, global, local; each two groups are joined by the same number of links. */
static void dragonflies(void **state)
{
    (void)state;
    static const struct { int64_t groups, routers, per, global; uint32_t between; } cases[] = { { 9, 4, 2, 2, 1 }, { 3, 4, 1, 2, 4 }, { 6, 3, 2, 4, 2 }, { 2, 1, 3, 1, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct topology_params t;
        struct switch_params sw;
        struct net n;
        struct fabric_hop hop[64];
        param_defaults(&topology_params_table, &t);
        switch_params_init(&sw);
        t.kind = TOPOLOGY_DRAGONFLY;
        t.groups = cases[i].groups;
        t.routers = cases[i].routers;
        t.hosts_per_router = cases[i].per;
        t.global_links = cases[i].global;
        t.trunk_rate_bps = INT64_C(400000000000);
        if (!build(&n, &t, &sw))
            fail_msg("%s", n.err);
        uint32_t g = (uint32_t)t.groups, r = (uint32_t)t.routers, per = (uint32_t)t.hosts_per_router, between[16][16] = { { 0 } };
        assert_int_equal(n.hosts, g * r * per);
        assert_int_equal(links(&n), n.hosts + g * (r * (r - 1) / 2) + g * (g - 1) / 2 * cases[i].between);
        for (uint32_t v = n.hosts; v < fabric_nodes(n.f); v++) {
            uint32_t global = 0;
            for (uint32_t p = 0; p < fabric_ports(n.f, v); p++) {
                uint32_t to = port_peer_node(fabric_port(n.f, v, p)), here = (v - n.hosts) / r;
                if (to < n.hosts || (to - n.hosts) / r == here)
                    continue;
                global++;
                between[here][(to - n.hosts) / r]++;
                assert_int_equal(port_rate_bps(fabric_port(n.f, v, p)), t.trunk_rate_bps);
            }
            assert_true(global <= t.global_links);
        }
        for (uint32_t a = 0; a < g; a++)
            for (uint32_t b = 0; b < g; b++)
                assert_int_equal(between[a][b], a == b ? 0 : cases[i].between);
        for (uint32_t a = 0; a < n.hosts; a++)
            for (uint32_t b = 0; b < n.hosts; b++) {
                if (a == b)
                    continue;
                uint32_t l = path(&n, a, b, hop);
                if (a / per == b / per)
                    assert_int_equal(l, 2);
                else if (a / per / r == b / per / r)
                    assert_int_equal(l, 3);
                else
                    assert_true(l >= 3 && l <= 5);
            }
        done(&n);
    }
}

static void rates_and_lengths(void **state)
{
    (void)state;
    struct topology_params t;
    struct switch_params sw;
    struct net n;
    struct fabric_hop hop[64];
    switch_params_init(&sw);

    /* a WAN: 1G and 800G hosts, 80 km between the sites */
    param_defaults(&topology_params_table, &t);
    t.kind = TOPOLOGY_WAN;
    t.host_rate_bps = INT64_C(800000000000);
    t.slow_every = 2;
    t.slow_rate_bps = 1000000000;
    t.host_length_mm = 3000;
    t.fabric_length_mm = 100000;
    t.trunk_length_mm = 80000000;
    t.trunk_rate_bps = INT64_C(400000000000);
    t.oversubscription = 4;
    if (!build(&n, &t, &sw))
        fail_msg("%s", n.err);
    assert_int_equal(path(&n, 0, 31, hop), 7);
    const int64_t ps[] = { 15000, 500000, 500000, INT64_C(400000000), 500000, 500000, 15000 };
    const int64_t bps[] = { 800, 400, 400, 400, 400, 400, 1 };   /* 4 x 800G / 4 / 2 spines */
    for (int i = 0; i < 7; i++) {
        assert_int_equal(hop[i].propagation_ps, ps[i]);
        assert_int_equal(hop[i].rate_bps, bps[i] * 1000000000);
    }
    done(&n);

    /* three tiers: 16 x 100G down, 4 up at 2:1 is 200G each; an aggregation's 4 x 200G down, 4 up at 4:1 is 50G each */
    param_defaults(&topology_params_table, &t);
    t.kind = TOPOLOGY_THREE_TIER;
    t.hosts_per_edge = 16;
    t.oversubscription = 2;
    t.trunk_oversubscription = 4;
    if (!build(&n, &t, &sw))
        fail_msg("%s", n.err);
    assert_int_equal(path(&n, 0, 319, hop), 6);
    assert_int_equal(hop[1].rate_bps, INT64_C(200000000000));
    assert_int_equal(hop[2].rate_bps, INT64_C(50000000000));
    done(&n);

    /* A LAG shares what oversubscription leaves. */
    param_defaults(&topology_params_table, &t);
    t.kind = TOPOLOGY_LEAF_SPINE;
    t.oversubscription = 1;
    t.lag = 4;
    if (!build(&n, &t, &sw))
        fail_msg("%s", n.err);
    assert_int_equal(path(&n, 0, 4, hop), 4);
    assert_int_equal(hop[1].rate_bps, INT64_C(50000000000));
    done(&n);
}

/* 80 km at 400G: 800 us of what is under way is headroom, 40 MB; the borders need a buffer for it, the others do not. */
static void a_long_link_has_its_own_buffer(void **state)
{
    (void)state;
    struct topology_params t;
    struct switch_params sw;
    struct net n;
    param_defaults(&topology_params_table, &t);
    switch_params_init(&sw);
    sw.pfc = 1;
    sw.buffer_bytes = 16000000;
    t.kind = TOPOLOGY_WAN;
    t.trunk_rate_bps = INT64_C(400000000000);
    t.trunk_length_mm = 80000000;
    assert_false(build(&n, &t, &sw));
    assert_non_null(strstr(n.err, "short"));
    assert_non_null(strstr(n.err, "switch 38")); /* 32 hosts, 4 leaves, 2 spines, then the border */
    done(&n);
    t.border_buffer_bytes = 64000000;
    if (!build(&n, &t, &sw))
        fail_msg("%s", n.err);
    done(&n);
    t.border_buffer_bytes = 40000000;
    assert_false(build(&n, &t, &sw));
    done(&n);
}

static void refusals(void **state)
{
    (void)state;
    static const struct { int64_t kind; const char *field; int64_t value; const char *says; } cases[] = {
        { TOPOLOGY_FAT_TREE, "k", 5, "k must be even, not 5" }, { TOPOLOGY_RING, "switches", 2, "at least 3 switches" },
        { TOPOLOGY_THREE_TIER, "cores", 15, "15 cores cannot be shared among 4" }, { TOPOLOGY_DRAGONFLY, "groups", 10, "dragonfly of 10 groups needs 9 links" },
        { TOPOLOGY_EXPLICIT, "hosts", 5, "no hosts" }, { TOPOLOGY_PARKING_LOT, "hosts", 100000000, "more than 2^24" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct topology_params t;
        char err[200] = "";
        param_defaults(&topology_params_table, &t);
        t.kind = cases[i].kind;
        memcpy((char *)&t + param_find(&topology_params_table, cases[i].field)->offset, &cases[i].value, 8);
        assert_int_equal(topology_hosts(&t, NULL, err, sizeof err), 0);
        if (!strstr(err, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err, cases[i].says);
    }
}


static void a_lag_has_its_members(void **state)
{
    (void)state;
    struct topology_params t;
    struct switch_params sw;
    struct net n;
    param_defaults(&topology_params_table, &t);
    switch_params_init(&sw);
    t.kind = TOPOLOGY_DUMBBELL;
    t.lag = 4;
    if (!build(&n, &t, &sw))
        fail_msg("%s", n.err);
    uint32_t members = 0;
    for (uint32_t p = 0; p < fabric_ports(n.f, n.hosts); p++)
        members += port_peer_node(fabric_port(n.f, n.hosts, p)) == n.hosts + 1;
    assert_int_equal(members, 4);
    done(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes), cmocka_unit_test(dragonflies), cmocka_unit_test(rates_and_lengths), cmocka_unit_test(a_long_link_has_its_own_buffer),
        cmocka_unit_test(refusals), cmocka_unit_test(a_lag_has_its_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
