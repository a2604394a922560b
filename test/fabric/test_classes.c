/* SPDX-License-Identifier: GPL-2.0-only */
/* From DSCP and PCP to queue and class, and what hops change on the way: remarking, bridges, middleboxes, tags and tunnels. */
#include "net.h"

#define US SIM_PS_PER_US
#define RATE 100000000000

static const uint16_t hold[8] = { 65535, 65535, 65535, 65535, 65535, 65535, 65535, 65535 };

static struct net *tagged_star(const struct switch_params *sw, int64_t encapsulation)
{
    struct link_params link = net_cable();
    struct fabric_params fp = net_fabric();
    fp.encapsulation = encapsulation;
    return net_star(3, &link, sw, &fp);
}

/* The queue that a packet of host 0 waits in, when the receiver holds all. */
static unsigned queue_of(const struct switch_params *sw, int64_t encapsulation, unsigned dscp, unsigned prio)
{
    struct net *n = tagged_star(sw, encapsulation);
    unsigned at = 8;
    port_send_pfc(fabric_port(n->f, 1, 0), 0xff, hold);
    sim_run(n->s, 10 * US);
    n->raw[0].dscp = (uint8_t)dscp;
    n->raw[0].prio = (uint8_t)prio;
    net_post(&n->raw[0]);
    sim_run(n->s, 20 * US);
    for (unsigned q = 0; q < 8; q++)
        if (fabric_queue_bytes(n->f, 3, 1, q)) {
            assert_int_equal(at, 8);
            at = q;
        }
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(n->raw[1].got, 1);
    net_free(n);
    return at;
}

static void trust_picks_the_queue(void **state)
{
    static const struct { int trust, encapsulation; unsigned dscp, pcp, port_prio, want; } t[] = {
        { SWITCH_TRUST_DSCP, FABRIC_PLAIN, 26, 0, 0, 3 },  { SWITCH_TRUST_DSCP, FABRIC_PLAIN, 40, 0, 0, 5 },  /* a map's entry; the class selector */
        { SWITCH_TRUST_DSCP, FABRIC_PLAIN, 10, 0, 7, 6 },  { SWITCH_TRUST_DSCP, FABRIC_VLAN, 26, 1, 0, 3 },   /* an entry against the selector; a tag ignored */
        { SWITCH_TRUST_PCP, FABRIC_VLAN, 26, 6, 0, 6 },    { SWITCH_TRUST_PCP, FABRIC_VLAN, 26, 2, 0, 5 },    /* the tag; a map of its own */
        { SWITCH_TRUST_PCP, FABRIC_PLAIN, 26, 6, 4, 4 },   { SWITCH_TRUST_PORT, FABRIC_VLAN, 26, 6, 2, 2 },   /* no tag; neither trusted */
        { SWITCH_TRUST_DSCP, FABRIC_VXLAN, 26, 0, 0, 3 },                                                     /* the outer header's */
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct switch_params sw = net_switch();
        switch_params_map_dscp(&sw, 10, 6);
        switch_params_map_pcp(&sw, 2, 5);
        sw.classes.trust = t[i].trust;
        sw.classes.port_prio = t[i].port_prio;
        unsigned got = queue_of(&sw, t[i].encapsulation, t[i].dscp, t[i].pcp);
        if (got != t[i].want)
            fail_msg("case %zu: queue %u, not %u", i, got, t[i].want);
    }
}

static struct pkt last;
static void keep(struct raw *r, struct pkt *p)
{
    (void)r;
    pkt_copy(&last, p);
    pkt_release_payload(&last);
}

/* The first hop sets DSCP and PCP anew by priority; the second takes what it finds. */
static void remarking_moves_to_another_class(void **state)
{
    (void)state;
    for (int remark = 0; remark < 2; remark++) {
        struct link_params link = net_cable();
        struct switch_params first = net_switch(), second = net_switch();
        struct fabric_params fp = net_fabric();
        fp.encapsulation = FABRIC_VLAN;
        if (remark) {
            first.remark_dscp[3] = 8;
            first.remark_pcp[3] = 7;
        }
        second.layer = SWITCH_BRIDGED; /* it leaves the tag */
        struct net *n = net_new(2, 2, 1, &fp);
        fabric_add_switch(n->f, &first);
        fabric_add_switch(n->f, &second);
        net_link(n, 0, 2, &link);
        net_link(n, 2, 3, &link);
        net_link(n, 3, 1, &link);
        net_finish(n);
        n->raw[1].on_arrive = keep;
        port_send_pfc(fabric_port(n->f, 1, 0), 0xff, hold);
        sim_run(n->s, 10 * US);
        net_post(&n->raw[0]);
        sim_run(n->s, 20 * US);
        assert_true(fabric_queue_bytes(n->f, 3, 1, remark ? 1 : 3) > 0);
        sim_run(n->s, SIM_NEVER_PS);
        assert_int_equal(last.dscp, remark ? 8 : 26);
        assert_int_equal(last.pcp, remark ? 7 : 3);
        assert_int_equal(fabric_audit(n->f)->sent[remark ? 1 : 3], 1); /* in the books of the class that it ended in */
        net_free(n);
    }
}

/* A router sets a tag's PCP by its own classes, a bridge leaves it. */
static void routers_set_the_tag_anew(void **state)
{
    (void)state;
    for (int bridged = 0; bridged < 2; bridged++) {
        struct switch_params sw = net_switch();
        sw.layer = bridged ? SWITCH_BRIDGED : SWITCH_ROUTED;
        struct net *n = tagged_star(&sw, FABRIC_VLAN);
        n->raw[0].prio = 6; /* DSCP 26 is priority 3 at the switch */
        n->raw[1].on_arrive = keep;
        net_post(&n->raw[0]);
        sim_run(n->s, SIM_NEVER_PS);
        assert_int_equal(last.pcp, bridged ? 6 : 3);
        net_free(n);
    }
}

/* PFC protects priority 3; who comes with a DSCP that leads elsewhere is lossy, and pauses nobody. */
static void a_mismatched_class_is_lossy(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        sw.pfc = 1;
        sw.pfc_xoff_bytes = 50000;
        sw.queue_limit_bytes = 100000;
        struct net *n = net_star(4, &link, &sw, NULL);
        for (uint32_t i = 2; i < 4; i++) {
            n->raw[i].dscp = wrong ? 12 : 26;
            net_greedy(&n->raw[i], 1, 200 * US);
        }
        sim_run(n->s, SIM_NEVER_PS);
        const struct fabric_audit *a = fabric_audit(n->f);
        assert_int_equal(a->pause_frames > 0, !wrong);
        assert_int_equal(a->dropped[FABRIC_DROP_BUFFER][1] > 0, wrong);
        assert_int_equal(a->dropped[FABRIC_DROP_BUFFER][3], 0);
        assert_int_equal(a->lossless_buffer_drops, 0);
        net_free(n);
    }
}

/* --- middlebox --- */

static int64_t delay_least_ps, delay_most_ps;
static void note_delay(struct raw *r, struct pkt *p)
{
    int64_t d = sim_now(r->net->s) - (int64_t)p->chunk[0].u.pattern.seed;
    delay_least_ps = d < delay_least_ps ? d : delay_least_ps;
    delay_most_ps = d > delay_most_ps ? d : delay_most_ps;
}

/* Delay to the ps; jitter from 0 to its bound, and order kept all the same. */
static void middlebox_delays(void **state)
{
    (void)state;
    const int64_t unloaded_ps = 2 * (1086 + 8) * 80 + 2 * US;
    for (int jitter = 0; jitter < 2; jitter++) {
        struct switch_params sw = net_switch();
        sw.middlebox.delay_ps = 7 * US;
        sw.middlebox.jitter_ps = jitter ? 3 * US : 0;
        struct net *n = tagged_star(&sw, FABRIC_PLAIN);
        delay_least_ps = SIM_NEVER_PS;
        delay_most_ps = 0;
        n->raw[1].on_arrive = note_delay;
        for (int k = 0; k < 2000; k++) {
            net_post(&n->raw[0]);
            sim_run(n->s, (k + 1) * 5 * US); /* apart: none waits for another */
        }
        sim_run(n->s, SIM_NEVER_PS);
        int64_t base_ps = unloaded_ps + 7 * US;
        assert_int_equal(n->raw[1].got, 2000);
        if (jitter) {
            assert_true(delay_least_ps >= base_ps && delay_least_ps < base_ps + US / 50);
            assert_true(delay_most_ps <= base_ps + 3 * US && delay_most_ps > base_ps + 3 * US - US / 50);
        } else {
            assert_true(delay_least_ps == base_ps && delay_most_ps == base_ps);
        }
        net_greedy(&n->raw[2], 1, sim_now(n->s) + 100 * US); /* back to back */
        sim_run(n->s, SIM_NEVER_PS);
        assert_int_equal(n->raw[1].misordered, 0);
        net_free(n);
    }
}

/* A firewall that knows TCP only: iWARP passes where RoCE does not. */
static void middlebox_policy(void **state)
{
    (void)state;
    struct switch_params sw = net_switch();
    sw.middlebox.policy = SWITCH_POLICY_TCP;
    struct net *n = tagged_star(&sw, FABRIC_PLAIN);
    n->raw[2].tcp = true;
    for (int k = 0; k < 10; k++) {
        net_post(&n->raw[0]);
        net_post(&n->raw[2]);
    }
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(n->raw[1].from[0], 0);
    assert_int_equal(n->raw[1].from[2], 10);
    assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_POLICY][3], 10);
    net_free(n);
}

/* --- tags and tunnels --- */

/* 4 B of a tag (IEEE 802.1Q), 50 B of VXLAN (RFC 7348) on each frame: in the time of one frame, the rate of many, and a switch's MTU. */
static void encapsulation_is_charged(void **state)
{
    static const struct { int64_t how; uint32_t bytes; } t[] = { { FABRIC_PLAIN, 0 }, { FABRIC_VLAN, 4 }, { FABRIC_VXLAN, 50 } };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct switch_params sw = net_switch();
        struct net *n = tagged_star(&sw, t[i].how);
        net_post(&n->raw[0]);
        sim_run(n->s, SIM_NEVER_PS);
        assert_int_equal(n->raw[1].first_ps, 2 * (1086 + t[i].bytes + 8) * 80 + 2 * US);
        int64_t from_ps = sim_now(n->s);
        net_greedy(&n->raw[0], 1, from_ps + 500 * US);
        sim_run(n->s, SIM_NEVER_PS);
        double want = 500e6 / ((1086.0 + t[i].bytes + 20) * 80);
        assert_true(fabs((double)(n->raw[1].got - 1) - want) <= 1);
        assert_int_equal(n->raw[1].got_bytes, n->raw[1].got * (1086 + t[i].bytes));
        net_free(n);

        sw.mtu_bytes = 1086 - 18; /* just enough for the plain packet */
        n = tagged_star(&sw, t[i].how);
        net_post(&n->raw[0]);
        sim_run(n->s, SIM_NEVER_PS);
        assert_int_equal(n->raw[1].got, t[i].how != FABRIC_VXLAN); /* a tag is not of the IP packet */
        assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_MTU][3], t[i].how == FABRIC_VXLAN);
        net_free(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust_picks_the_queue), cmocka_unit_test(remarking_moves_to_another_class), cmocka_unit_test(routers_set_the_tag_anew),
        cmocka_unit_test(a_mismatched_class_is_lossy), cmocka_unit_test(middlebox_delays), cmocka_unit_test(middlebox_policy),
        cmocka_unit_test(encapsulation_is_charged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
