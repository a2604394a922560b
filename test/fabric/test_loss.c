/* SPDX-License-Identifier: GPL-2.0-only */
/* What links lose: at random, in bursts, by bit errors, by list, while they are down. */
#include "net.h"

#define US SIM_PS_PER_US

static struct net *line(const struct link_params *link, uint64_t packets, uint32_t payload)
{
    struct link_params clean = net_cable();
    struct switch_params sw = net_switch();
    struct net *n = net_new(2, 1, 11, NULL);
    uint32_t s = fabric_add_switch(n->f, &sw);
    net_link(n, 0, s, link);
    net_link(n, 1, s, &clean);
    net_finish(n);
    n->raw[0].payload = payload;
    net_greedy(&n->raw[0], 1, (int64_t)packets * port_wire_time_ps(payload + 62 + (-payload & 3), 100000000000));
    return n;
}

/* Which of host 0's packets came. */
static uint8_t *came;
static void note(struct raw *r, struct pkt *p)
{
    (void)r;
    came[p->roce.psn] = 1;
}

/* Gilbert-Elliott: the share lost is pi_bad x loss in bad, with pi_bad = begin / (begin + end); bursts of loss in a fully bad state have the mean
 * length 1 / end, and their lengths are geometric. */
static void bursts_have_gilbert_and_elliotts_rates(void **state)
{
    static const struct { double begin, end, loss; } t[] = { { 0.001, 0.1, 1 }, { 0.01, 0.25, 1 }, { 0.002, 0.05, 0.5 } };
    enum { N = 1000000 };
    (void)state;
    came = malloc(N + 16);
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct link_params link = net_cable();
        link.burst_begin = t[i].begin;
        link.burst_end = t[i].end;
        link.burst_loss = t[i].loss;
        struct net *n = line(&link, N, 64);
        memset(came, 0, N + 16);
        n->raw[1].on_arrive = note;
        sim_run(n->s, SIM_NEVER_PS);
        uint64_t sent = n->raw[0].sent, lost = 0, bursts = 0, twos = 0;
        for (uint64_t k = 0; k < sent; k++) {
            lost += !came[k];
            bursts += !came[k] && (k == 0 || came[k - 1]);
            twos += !came[k] && k > 0 && !came[k - 1];
        }
        assert_int_equal(lost, fabric_audit(n->f)->dropped[FABRIC_DROP_INJECTED][3]);
        double bad = t[i].begin / (t[i].begin + t[i].end), share = bad * t[i].loss, got = (double)lost / (double)sent;
        if (fabs(got / share - 1) > 0.05)
            fail_msg("case %zu: %.5f lost, %.5f expected", i, got, share);
        /* The next one is lost too if the state stays bad and loses again (bad losing state: 1 - end). */
        double again = (double)twos / (double)lost, want = (1 - t[i].end) * t[i].loss;
        if (fabs(again / want - 1) > 0.03)
            fail_msg("case %zu: after a loss another in %.4f, %.4f expected", i, again, want);
        if (t[i].loss >= 1 && fabs((double)lost / (double)bursts * t[i].end - 1) > 0.05)
            fail_msg("case %zu: bursts of %.2f, %.2f expected", i, (double)lost / (double)bursts, 1 / t[i].end);
        net_free(n);
    }
    free(came);
}

/* Bit errors: a frame survives with (1 - ber)^bits, so long ones are lost more; counted where the FCS is checked, at the receiver of that link. */
static void bit_errors_hit_by_size(void **state)
{
    static const uint32_t payload[] = { 64, 1024, 8192 };
    const double ber = 1e-6;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct link_params link = net_cable();
        link.ber = ber;
        uint64_t packets = i == 2 ? 100000 : 400000;
        struct net *n = line(&link, packets, payload[i]);
        sim_run(n->s, SIM_NEVER_PS);
        double sent = (double)n->raw[0].sent, p = 1 - exp(8.0 * (payload[i] + 62) * log1p(-ber)), lost = (double)fabric_audit(n->f)->dropped[FABRIC_DROP_BIT_ERROR][3];
        if (fabs(lost - sent * p) > 4 * sqrt(sent * p))
            fail_msg("%u B: %.0f of %.0f lost, %.0f expected", payload[i], lost, sent, sent * p);
        assert_int_equal(port_stats(fabric_port(n->f, 2, 0))->rx_crc_errors, (uint64_t)lost); /* the switch's port, not the host's */
        assert_int_equal(port_stats(fabric_port(n->f, 1, 0))->rx_crc_errors, 0);
        net_free(n);
    }
}

/* A switch that cuts through has sent the head before the FCS is in: the frame goes on and the next that stores it drops it. */
static void cut_through_passes_corruption_on(void **state)
{
    (void)state;
    struct link_params link = net_cable(), clean = net_cable();
    struct switch_params sw = net_switch();
    link.ber = 1e-6;
    sw.forwarding = SWITCH_CUT_THROUGH;
    struct net *n = net_new(2, 1, 11, NULL);
    uint32_t s = fabric_add_switch(n->f, &sw);
    net_link(n, 0, s, &link);
    net_link(n, 1, s, &clean);
    net_finish(n);
    net_greedy(&n->raw[0], 1, 10 * SIM_PS_PER_MS);
    sim_run(n->s, SIM_NEVER_PS);
    uint64_t lost = fabric_audit(n->f)->dropped[FABRIC_DROP_BIT_ERROR][3];
    assert_true(lost > 100);
    assert_int_equal(port_stats(fabric_port(n->f, 1, 0))->rx_crc_errors, lost);
    assert_int_equal(port_stats(fabric_port(n->f, 2, 0))->rx_crc_errors, 0);
    net_free(n);
}

static void lose(struct net *n, struct fabric_loss_rule r) { assert_int_equal(fabric_add_loss(n->f, &r), SIM_OK); }

/* The list: the n-th of a flow, each k-th, all in a window; each exactly. */
static void listed_losses_are_exact(void **state)
{
    enum { N = 1000 };
    (void)state;
    came = calloc(1, N + 600);
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    struct net *n = net_star(2, &link, &sw, NULL);
    n->raw[1].on_arrive = note;
    lose(n, (struct fabric_loss_rule){ .src = 0, .dst = 1, .nth = 5, .until_ps = SIM_NEVER_PS });
    lose(n, (struct fabric_loss_rule){ .src = FABRIC_ANY, .dst = FABRIC_ANY, .every = 100, .until_ps = SIM_NEVER_PS });
    lose(n, (struct fabric_loss_rule){ .src = 0, .dst = 1, .from_ps = 50 * US, .until_ps = 51 * US });
    lose(n, (struct fabric_loss_rule){ .src = 1, .dst = FABRIC_ANY, .until_ps = SIM_NEVER_PS });                             /* not host 1 */
    lose(n, (struct fabric_loss_rule){ .src = 0, .dst = 1, .kind = FABRIC_LOSE_CONTROL, .until_ps = SIM_NEVER_PS });         /* has payload */
    int64_t frame_ps = port_wire_time_ps(1086, 100000000000);
    net_greedy(&n->raw[0], 1, N * frame_ps);
    sim_run(n->s, SIM_NEVER_PS);
    uint64_t lost = 0;
    assert_true(n->raw[0].sent == N);
    for (int64_t k = 0; k < N; k++) {
        int64_t begins_ps = k * frame_ps;
        bool want = k == 4 || (k + 1) % 100 == 0 || (begins_ps >= 50 * US && begins_ps < 51 * US);
        if (came[k] == want)
            fail_msg("packet %lld %s", (long long)k, want ? "came" : "was lost");
        lost += want;
    }
    assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_INJECTED][3], lost);
    net_free(n);
    free(came);
}

/* "nth" counts each flow by itself. */
static void nth_is_of_each_flow(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    struct net *n = net_star(3, &link, &sw, NULL);
    lose(n, (struct fabric_loss_rule){ .src = 0, .dst = FABRIC_ANY, .nth = 3, .until_ps = SIM_NEVER_PS });
    for (int i = 0; i < 200; i++) {
        n->raw[0].sport = (uint16_t)(0xc000 + i % 20); /* 20 flows of 10 packets */
        net_post(&n->raw[0]);
    }
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_INJECTED][3], 20);
    net_free(n);
}

/* --- links that fail --- */

/* Two leaves, two spines, one flow: its link fails. Everything on the link and everything sent into it until the routes know is lost, with the link as
 * the cause; afterwards nothing is, and it goes by the other spine; when the link is back, it may be used again. */
static void a_failed_link_loses_until_routes_know(void **state)
{
    (void)state;
    struct fabric_params fp = net_fabric();
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    fp.reroute_ps = 100 * US;
    struct net *n = net_new(2, 4, 5, &fp);
    for (int i = 0; i < 4; i++)
        fabric_add_switch(n->f, &sw); /* leaves 2, 3, spines 4, 5 */
    net_link(n, 0, 2, &link);
    net_link(n, 1, 3, &link);
    for (uint32_t l = 2; l < 4; l++)
        for (uint32_t s = 4; s < 6; s++)
            net_link(n, l, s, &link);
    net_finish(n);
    net_greedy(&n->raw[0], 1, SIM_PS_PER_MS);
    sim_run(n->s, 50 * US);
    uint32_t used = port_stats(fabric_port(n->f, 2, 1))->tx_packets ? 1 : 2; /* leaf 2's port to a spine */
    fabric_link_set_at(n->f, 2, used, false, 200 * US);
    fabric_link_set_at(n->f, 2, used, true, 600 * US);
    sim_run(n->s, 200 * US);
    assert_true(!fabric_link_is_up(n->f, 2, used));
    sim_run(n->s, 290 * US);
    uint64_t got = n->raw[1].got;
    sim_run(n->s, 320 * US);
    uint64_t lost = fabric_audit(n->f)->dropped[FABRIC_DROP_LINK_DOWN][3];
    double want = (100.0 + 1.0) * 1e6 / (double)port_wire_time_ps(1086, 100000000000); /* the delay, and what was on 1 us of cable */
    if (fabs((double)lost - want) > 3)
        fail_msg("%llu lost, %.1f expected", (unsigned long long)lost, want);
    sim_run(n->s, 590 * US);
    assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_LINK_DOWN][3], lost);
    assert_true(n->raw[1].got > got + 2000);
    assert_true(port_stats(fabric_port(n->f, 2, 3 - used))->tx_packets > 2000);
    uint64_t before = port_stats(fabric_port(n->f, 2, used))->tx_packets;
    sim_run(n->s, SIM_NEVER_PS);
    assert_true(port_stats(fabric_port(n->f, 2, used))->tx_packets > before + 2000); /* hashed to it again */
    assert_int_equal(n->raw[1].got + lost, n->raw[0].sent);
    net_free(n);
}

/* With no other way the packets have no route, and that is their cause; when the link returns they go again. */
static void a_cut_network_has_no_route(void **state)
{
    (void)state;
    struct fabric_params fp = net_fabric();
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    fp.reroute_ps = 10 * US;
    struct net *n = net_new(2, 2, 5, &fp);
    uint32_t a = fabric_add_switch(n->f, &sw), b = fabric_add_switch(n->f, &sw);
    net_link(n, 0, a, &link);
    net_link(n, a, b, &link);
    net_link(n, b, 1, &link);
    net_finish(n);
    net_greedy(&n->raw[0], 1, 300 * US);
    fabric_link_set_at(n->f, a, 1, false, 100 * US);
    fabric_link_set_at(n->f, b, 1, false, 250 * US); /* the receiver's own, for good */
    fabric_link_set_at(n->f, a, 1, true, 200 * US);
    sim_run(n->s, SIM_NEVER_PS);
    const struct fabric_audit *k = fabric_audit(n->f);
    double frame_us = (double)port_wire_time_ps(1086, 100000000000) / 1e6;
    assert_true(fabs((double)k->dropped[FABRIC_DROP_NO_ROUTE][3] - (100 + 40) / frame_us) < 60);
    assert_true(k->dropped[FABRIC_DROP_LINK_DOWN][3] > 200);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_have_gilbert_and_elliotts_rates), cmocka_unit_test(bit_errors_hit_by_size), cmocka_unit_test(cut_through_passes_corruption_on),
        cmocka_unit_test(listed_losses_are_exact), cmocka_unit_test(nth_is_of_each_flow), cmocka_unit_test(a_failed_link_loses_until_routes_know),
        cmocka_unit_test(a_cut_network_has_no_route),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
