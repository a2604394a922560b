/* SPDX-License-Identifier: GPL-2.0-only */
/* Which way packets take: hashes and their collisions, polarisation, weights, flowlets, spraying, routes by hand, TTL. */
#include "net.h"

#define US SIM_PS_PER_US

/* Host 0 at the first leaf, host 1 at the second, m spines between; spine k is switch 4 + k and port 1 + k of either leaf. */
static struct net *two_leaves(uint32_t m, const struct switch_params *sw, const int64_t *rate, const struct fabric_params *fp)
{
    struct link_params edge = net_cable(), link = edge;
    struct net *n = net_new(2, 2 + m, 5, fp);
    for (uint32_t k = 0; k < 2 + m; k++)
        fabric_add_switch(n->f, sw);
    net_link(n, 0, 2, &edge);
    net_link(n, 1, 3, &edge);
    for (uint32_t k = 0; k < m; k++) {
        link.rate_bps = rate ? rate[k] : edge.rate_bps;
        net_link(n, 2, 4 + k, &link);
        net_link(n, 3, 4 + k, &link);
    }
    return n;
}

static uint64_t sent_to(const struct net *n, uint32_t node, uint32_t port) { return port_stats(fabric_port(n->f, node, port))->tx_packets; }

static void shares_fit(const char *what, const uint64_t *got, const double *share, uint32_t m)
{
    double sum = 0, chi = 0;
    for (uint32_t k = 0; k < m; k++)
        sum += (double)got[k];
    for (uint32_t k = 0; k < m; k++)
        chi += ((double)got[k] - share[k] * sum) * ((double)got[k] - share[k] * sum) / (share[k] * sum);
    if (chi > net_chi_square(m - 1, 3.09))
        fail_msg("%s: chi-square %.1f of %u degrees", what, chi, m - 1);
}

static const double alike[16] = { 1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16,
                                  1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16, 1. / 16 };

/* --- ECMP --- */

/* n flows over m equal paths use 1 - (1 - 1/m)^n of them: 65.6 % (8/8), 64.4 % (16/16). */
static void collisions_are_those_of_chance(void **state)
{
    static const struct { uint32_t m, n; double used; } t[] = { { 8, 8, 0.656 }, { 16, 16, 0.644 }, { 4, 8, 0.900 } };
    enum { TRIALS = 3000 };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct switch_params sw = net_switch();
        struct net *n = two_leaves(t[i].m, &sw, NULL, NULL);
        struct sim_rng r;
        double sum = 0, squares = 0;
        uint64_t before[16] = { 0 };
        sim_rng_init(&r, 5, i, SIM_RNG_TEST);
        net_finish(n);
        for (int trial = 0; trial < TRIALS; trial++) {
            uint32_t used = 0;
            for (uint32_t k = 0; k < t[i].n; k++) {
                n->raw[0].sport = (uint16_t)sim_rng_u32(&r);
                net_post(&n->raw[0]);
            }
            sim_run(n->s, sim_now(n->s) + 10 * US);
            for (uint32_t k = 0; k < t[i].m; k++) {
                used += sent_to(n, 2, 1 + k) > before[k];
                before[k] = sent_to(n, 2, 1 + k);
            }
            double share = (double)used / t[i].m;
            sum += share;
            squares += share * share;
        }
        double mean = sum / TRIALS, deviation = sqrt((squares / TRIALS - mean * mean) / TRIALS);
        assert_true(fabs(1 - pow(1 - 1.0 / t[i].m, t[i].n) - t[i].used) < 0.001);
        if (fabs(mean - t[i].used) > 4 * deviation + 0.001)
            fail_msg("%u flows over %u paths used %.4f of them, %.4f expected", t[i].n, t[i].m, mean, t[i].used);
        if (t[i].m == 16)
            shares_fit("16 paths", before, alike, 16);
        sim_run(n->s, SIM_NEVER_PS);
        net_free(n);
    }
}

/* A flow keeps its path and its order. */
static void a_flow_keeps_its_path(void **state)
{
    (void)state;
    struct switch_params sw = net_switch();
    struct net *n = two_leaves(8, &sw, NULL, NULL);
    net_finish(n);
    net_greedy(&n->raw[0], 1, 200 * US);
    sim_run(n->s, SIM_NEVER_PS);
    uint32_t used = 0;
    for (uint32_t k = 0; k < 8; k++)
        used += sent_to(n, 2, 1 + k) > 0;
    assert_int_equal(used, 1);
    assert_int_equal(n->raw[1].misordered, 0);
    net_free(n);
}

/* Two tiers of four choices each. With a seed each, flows spread over all sixteen ways; with one seed for all, the second tier decides as the first has
 * and four ways carry everything: polarisation. */
static void equal_seeds_polarise(void **state)
{
    (void)state;
    for (int equal = 0; equal < 2; equal++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        struct fabric_params fp = net_fabric();
        fp.seeds = equal ? FABRIC_SEED_EQUAL : FABRIC_SEED_EACH;
        struct net *n = net_new(2, 22, 5, &fp);
        for (int k = 0; k < 22; k++)
            fabric_add_switch(n->f, &sw); /* 2: first, 3 .. 6: second tier, 7 .. 22: third, 23: last */
        net_link(n, 0, 2, &link);
        net_link(n, 1, 23, &link);
        for (uint32_t a = 0; a < 4; a++) {
            net_link(n, 2, 3 + a, &link);
            for (uint32_t c = 0; c < 4; c++) {
                net_link(n, 3 + a, 7 + 4 * a + c, &link);
                net_link(n, 7 + 4 * a + c, 23, &link);
            }
        }
        net_finish(n);
        for (int k = 0; k < 4000; k++) {
            n->raw[0].sport = (uint16_t)(k * 7);
            net_post(&n->raw[0]);
        }
        sim_run(n->s, SIM_NEVER_PS);
        uint64_t got[16];
        uint32_t used = 0;
        for (uint32_t c = 0; c < 16; c++) {
            got[c] = sent_to(n, 7 + c, 1);
            used += got[c] > 0;
        }
        assert_int_equal(n->raw[1].got, 4000);
        assert_int_equal(used, equal ? 4 : 16);
        if (!equal)
            shares_fit("two tiers", got, alike, 16);
        net_free(n);
    }
}

/* Weights by rate: flows, and packets sprayed at random, in proportion to the links; equal weights: alike. */
static void weights_follow_rates(void **state)
{
    static const int64_t rate[4] = { 100000000000, 25000000000, 50000000000, 25000000000 };
    static const double by_rate[4] = { 0.5, 0.125, 0.25, 0.125 }, equal[4] = { 0.25, 0.25, 0.25, 0.25 };
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct switch_params sw = net_switch();
        uint64_t got[4];
        sw.paths.weights = k % 2;
        sw.paths.balance = k / 2 ? SWITCH_SPRAY_RANDOM : SWITCH_ECMP;
        struct net *n = two_leaves(4, &sw, rate, NULL);
        net_finish(n);
        for (int i = 0; i < 8000; i++) {
            n->raw[0].sport = (uint16_t)(k / 2 ? 1 : i * 5);
            net_post(&n->raw[0]);
        }
        sim_run(n->s, SIM_NEVER_PS);
        for (uint32_t i = 0; i < 4; i++)
            got[i] = sent_to(n, 2, 1 + i);
        shares_fit(k / 2 ? "spraying" : "flows", got, k % 2 ? by_rate : equal, 4);
        net_free(n);
    }
}

/* Parallel links between two switches are equal paths too. */
static void parallel_links_share(void **state)
{
    static const double quarter[4] = { 0.25, 0.25, 0.25, 0.25 };
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    struct net *n = net_new(2, 2, 5, NULL);
    uint64_t got[4];
    fabric_add_switch(n->f, &sw);
    fabric_add_switch(n->f, &sw);
    net_link(n, 0, 2, &link);
    net_link(n, 1, 3, &link);
    for (int k = 0; k < 4; k++)
        net_link(n, 2, 3, &link);
    net_finish(n);
    for (int i = 0; i < 8000; i++) {
        n->raw[0].sport = (uint16_t)i;
        net_post(&n->raw[0]);
    }
    sim_run(n->s, SIM_NEVER_PS);
    for (uint32_t k = 0; k < 4; k++)
        got[k] = sent_to(n, 2, 1 + k);
    shares_fit("parallel links", got, quarter, 4);
    net_free(n);
}

/* --- flowlets, spraying --- */

/* A flow that pauses longer than the gap may change its path, and then takes any of them alike; one that does not, may not. */
static void flowlets_change_path_after_a_gap(void **state)
{
    static const double eighth[8] = { .125, .125, .125, .125, .125, .125, .125, .125 };
    (void)state;
    for (int paused = 0; paused < 2; paused++) {
        struct switch_params sw = net_switch();
        uint64_t got[8];
        uint32_t used = 0;
        sw.paths.balance = SWITCH_FLOWLET;
        sw.paths.flowlet_gap_ps = 20 * US;
        struct net *n = two_leaves(8, &sw, NULL, NULL);
        net_finish(n);
        for (int burst = 0; burst < 2000; burst++) {
            net_post(&n->raw[0]);
            net_post(&n->raw[0]);
            sim_run(n->s, (burst + 1) * (paused ? 21 * US : 19 * US));
        }
        sim_run(n->s, SIM_NEVER_PS);
        for (uint32_t k = 0; k < 8; k++) {
            got[k] = sent_to(n, 2, 1 + k);
            assert_int_equal(got[k] % 2, 0); /* the two of a burst stay together */
            got[k] /= 2;
            used += got[k] > 0;
        }
        assert_int_equal(used, paused ? 8 : 1);
        if (paused)
            shares_fit("flowlets", got, eighth, 8);
        assert_int_equal(n->raw[1].misordered, 0); /* the gap is longer than any difference of the paths */
        net_free(n);
    }
}

static void spraying_uses_every_path(void **state)
{
    static const double eighth[8] = { .125, .125, .125, .125, .125, .125, .125, .125 };
    static const int how[] = { SWITCH_SPRAY_RANDOM, SWITCH_SPRAY_ROUND_ROBIN, SWITCH_SPRAY_ADAPTIVE };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct switch_params sw = net_switch();
        uint64_t got[8];
        sw.paths.balance = how[i];
        struct net *n = two_leaves(8, &sw, NULL, NULL);
        net_finish(n);
        for (int k = 0; k < 8000; k++)
            net_post(&n->raw[0]); /* one flow */
        sim_run(n->s, SIM_NEVER_PS);
        for (uint32_t k = 0; k < 8; k++) {
            got[k] = sent_to(n, 2, 1 + k);
            if (how[i] != SWITCH_SPRAY_RANDOM)
                assert_int_equal(got[k], 1000); /* in turn; and with all queues empty adaptive takes turns as well */
        }
        shares_fit("spraying", got, eighth, 8);
        net_free(n);
    }
}

/* Adaptive spraying passes a path by that stands; round robin does not. */
static void adaptive_spraying_avoids_a_long_queue(void **state)
{
    (void)state;
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        struct switch_params sw = net_switch();
        const uint16_t hold[8] = { [3] = 65535 };
        sw.paths.balance = adaptive ? SWITCH_SPRAY_ADAPTIVE : SWITCH_SPRAY_ROUND_ROBIN;
        struct net *n = two_leaves(4, &sw, NULL, NULL);
        net_finish(n);
        port_send_pfc(fabric_port(n->f, 4, 0), 8, hold); /* the first spine holds the leaf for 335 us */
        sim_run(n->s, 10 * US);
        for (int k = 0; k < 1000; k++)
            net_post(&n->raw[0]);
        sim_run(n->s, 200 * US);
        uint64_t stuck = fabric_queue_bytes(n->f, 2, 1, 3) / 1086;
        if (adaptive)
            assert_true(stuck <= 2);
        else
            assert_int_equal(stuck, 250);
        sim_run(n->s, SIM_NEVER_PS);
        assert_int_equal(n->raw[1].got, 1000);
        net_free(n);
    }
}

/* --- routes by hand, TTL --- */

static void routes_by_hand_may_be_asymmetric(void **state)
{
    (void)state;
    struct switch_params sw = net_switch();
    struct net *n = two_leaves(2, &sw, NULL, NULL);
    assert_int_equal(fabric_fix_route(n->f, 2, 1, 4), SIM_OK);
    assert_int_equal(fabric_fix_route(n->f, 3, 0, 5), SIM_OK);
    assert_int_equal(fabric_fix_route(n->f, 2, 1, 3), SIM_ERR_PARAM); /* no neighbour */
    net_finish(n);
    for (int k = 0; k < 100; k++) {
        n->raw[0].sport = n->raw[1].sport = (uint16_t)k;
        n->raw[1].dst = 0;
        net_post(&n->raw[0]);
        net_post(&n->raw[1]);
    }
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(sent_to(n, 2, 1), 100);
    assert_int_equal(sent_to(n, 2, 2), 0);
    assert_int_equal(sent_to(n, 3, 1), 0);
    assert_int_equal(sent_to(n, 3, 2), 100);
    assert_int_equal(n->raw[0].got + n->raw[1].got, 200);
    net_free(n);
}

static unsigned ttl_seen;
static void note_ttl(struct raw *r, struct pkt *p)
{
    (void)r;
    ttl_seen = p->ttl;
}

/* A router takes one from the TTL and drops at 1 (RFC 1812 5.3.1): three routers need 4. A bridge leaves it. */
static void ttl_expires_at_routers_only(void **state)
{
    (void)state;
    for (int bridged = 0; bridged < 2; bridged++)
        for (uint8_t ttl = 1; ttl <= 5; ttl++) {
            struct switch_params sw = net_switch();
            sw.layer = bridged ? SWITCH_BRIDGED : SWITCH_ROUTED;
            struct net *n = two_leaves(1, &sw, NULL, NULL);
            net_finish(n);
            n->raw[0].ttl = ttl;
            n->raw[1].on_arrive = note_ttl;
            ttl_seen = 0;
            net_post(&n->raw[0]);
            sim_run(n->s, SIM_NEVER_PS);
            bool passes = bridged || ttl >= 4;
            assert_int_equal(n->raw[1].got, passes);
            assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_TTL][3], !passes);
            if (passes)
                assert_int_equal(ttl_seen, bridged ? ttl : ttl - 3);
            net_free(n);
        }
}

/* Routes that lead in a circle: a packet crosses as many links as its TTL and is gone, and counted. */
static void a_loop_of_routes_ends_by_ttl(void **state)
{
    (void)state;
    struct switch_params sw = net_switch();
    struct net *n = two_leaves(2, &sw, NULL, NULL);
    assert_int_equal(fabric_fix_route(n->f, 2, 1, 4), SIM_OK);
    assert_int_equal(fabric_fix_route(n->f, 4, 1, 2), SIM_OK);
    net_finish(n);
    for (int k = 0; k < 10; k++)
        net_post(&n->raw[0]);
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_TTL][3], 10);
    assert_int_equal(fabric_audit(n->f)->packet_hops, 640);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collisions_are_those_of_chance), cmocka_unit_test(a_flow_keeps_its_path), cmocka_unit_test(equal_seeds_polarise),
        cmocka_unit_test(weights_follow_rates), cmocka_unit_test(parallel_links_share), cmocka_unit_test(flowlets_change_path_after_a_gap),
        cmocka_unit_test(spraying_uses_every_path), cmocka_unit_test(adaptive_spraying_avoids_a_long_queue),
        cmocka_unit_test(routes_by_hand_may_be_asymmetric), cmocka_unit_test(ttl_expires_at_routers_only), cmocka_unit_test(a_loop_of_routes_ends_by_ttl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
