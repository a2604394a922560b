/* SPDX-License-Identifier: GPL-2.0-only */
/* Pauses, to the ps where a clause gives the time: IEEE 802.1Qbb and 802.3 annex 31B; the watchdog. */
#include "net.h"

#define US SIM_PS_PER_US
#define QUANTUM_PS INT64_C(5120)  /* 512 bit times at 100 Gb/s */

struct order { struct net *n; uint8_t vector; uint16_t quanta; int64_t again_ps; uint32_t left; bool link; };

/* The switch's port to host 0 says it. */
static void give(struct sim *s, void *ctx, void *arg)
{
    struct order *o = ctx;
    uint16_t q[8];
    (void)arg;
    for (int i = 0; i < 8; i++)
        q[i] = o->quanta;
    if (o->link)
        port_send_pause(fabric_port(o->n->f, o->n->hosts, 0), o->quanta);
    else
        port_send_pfc(fabric_port(o->n->f, o->n->hosts, 0), o->vector, q);
    if (o->left && --o->left)
        sim_at(s, sim_now(s) + o->again_ps, sim_key_node(o->n->hosts, SIM_KIND_WAKE, 7), give, o, NULL);
}

static void order_at(struct order *o, int64_t at_ps) { sim_at(o->n->s, at_ps, sim_key_node(o->n->hosts, SIM_KIND_WAKE, 7), give, o, NULL); }

/* When host 0's link began and ended its standstill, from the trace of frames. */
struct seen { int64_t stop_ps[64], go_ps[64]; uint32_t n; int64_t last_tx_ps; uint32_t node; };
static void watch(void *ctx, const struct sim_trace *t)
{
    struct seen *s = ctx;
    if (t->node != s->node)
        return;
    if (t->point == SIM_TRACE_PAUSED && t->b == 3 && t->a && s->n < 64)
        s->stop_ps[s->n] = t->now_ps;
    if (t->point == SIM_TRACE_PAUSED && t->b == 3 && !t->a && s->n < 64)
        s->go_ps[s->n++] = t->now_ps;
    if (t->point == SIM_TRACE_FRAME_TX)
        s->last_tx_ps = t->now_ps;
}

static struct net *one_sender(struct seen *seen, const struct switch_params *params, int64_t reaction_quanta)
{
    struct link_params link = net_cable();
    struct switch_params sw = params ? *params : net_switch();
    link.pfc_reaction_quanta = reaction_quanta;
    struct net *n = net_star(2, &link, &sw, NULL);
    memset(seen, 0, sizeof *seen);
    sim_trace_set(n->s, watch, seen);
    net_greedy(&n->raw[0], 1, SIM_PS_PER_MS);
    return n;
}

/* PAUSE of 64 B, preamble and 1 us of cable after it is sent; the switch's port is idle. */
#define PAUSE_IN_PS (72 * 80 + US)

/* Item 23, the exact times: a stop begins a reaction after the last bit, and ends by cancel or when the quanta, counted from that bit, are over. */
static void pause_ends_by_cancel_or_expiry(void **state)
{
    (void)state;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        struct seen seen;
        struct net *n = one_sender(&seen, NULL, 394);
        struct order stop = { .n = n, .vector = 8, .quanta = 65535 }, go = { .n = n, .vector = 8 };
        order_at(&stop, 100 * US);
        if (cancelled)
            order_at(&go, 110 * US);
        sim_run(n->s, 2 * SIM_PS_PER_MS);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.stop_ps[0], 100 * US + PAUSE_IN_PS + 394 * QUANTUM_PS);
        assert_int_equal(seen.go_ps[0], cancelled ? 110 * US + PAUSE_IN_PS : 100 * US + PAUSE_IN_PS + 65535 * QUANTUM_PS);
        if (!cancelled)
            assert_true(65535 * QUANTUM_PS / 1000 == 335539); /* 335.5 us */
        net_free(n);
    }
}

/* A new PAUSE sets the time anew, longer or shorter (annex 31B: pause_timer is replaced). */
static void each_pause_replaces_the_last(void **state)
{
    static const struct { uint16_t first, second; int64_t second_us; int64_t end_from_second_quanta; } t[] = { { 1000, 65535, 3, 65535 }, { 65535, 2000, 3, 2000 } };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct seen seen;
        struct net *n = one_sender(&seen, NULL, 10);
        struct order a = { .n = n, .vector = 8, .quanta = t[i].first }, b = { .n = n, .vector = 8, .quanta = t[i].second };
        order_at(&a, 100 * US);
        order_at(&b, (100 + t[i].second_us) * US);
        sim_run(n->s, 2 * SIM_PS_PER_MS);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.go_ps[0], (100 + t[i].second_us) * US + PAUSE_IN_PS + t[i].end_from_second_quanta * QUANTUM_PS);
        net_free(n);
    }
}

/* The frame that has begun is finished: a pause that comes within it stops the next one. The standstill is longer than the pause by
 * no more than that frame. */
static void the_frame_begun_is_finished(void **state)
{
    (void)state;
    for (int64_t phase = 0; phase < 8; phase++) {
        struct seen seen;
        struct net *n = one_sender(&seen, NULL, 0);
        struct order stop = { .n = n, .vector = 8, .quanta = 1000 };
        order_at(&stop, 100 * US + phase * 11000);
        sim_run(n->s, 100 * US + phase * 11000 + PAUSE_IN_PS + 500 * QUANTUM_PS);
        int64_t frame_ps = port_wire_time_ps(1024 + 62, 100000000000);
        assert_true(seen.last_tx_ps < seen.stop_ps[0]);                 /* nothing begins after it */
        assert_true(seen.stop_ps[0] - seen.last_tx_ps <= frame_ps);     /* up to it the link was full */
        sim_run(n->s, 2 * SIM_PS_PER_MS);
        assert_int_equal(n->raw[1].got, n->raw[0].sent);                /* and what began has arrived whole */
        net_free(n);
    }
}

/* A priority's pause stops that priority only; the whole link's stops all. */
static void priorities_are_apart_and_global_pause_is_not(void **state)
{
    (void)state;
    for (int global = 0; global < 2; global++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        struct net *n = net_star(2, &link, &sw, NULL);
        struct order stop = { .n = n, .vector = 8, .quanta = 65535, .link = global };
        order_at(&stop, 0);
        sim_run(n->s, 20 * US);
        n->raw[0].prio = 5;
        n->raw[0].dscp = 40;
        net_post(&n->raw[0]);
        sim_run(n->s, 100 * US);
        assert_int_equal(n->raw[1].got, global ? 0 : 1);
        n->raw[0].prio = 3;
        n->raw[0].dscp = 26;
        net_post(&n->raw[0]);
        sim_run(n->s, 200 * US);
        assert_int_equal(n->raw[1].got, global ? 0 : 1);
        sim_run(n->s, SIM_PS_PER_MS);
        assert_int_equal(n->raw[1].got, 2);
        net_free(n);
    }
}

/* Item 27: two flows in a paused priority, both resume. */
static void both_flows_of_a_priority_resume(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    struct net *n = net_star(4, &link, &sw, NULL);
    struct order stop = { .n = n, .vector = 8, .quanta = 65535 }, go = { .n = n, .vector = 8 };
    order_at(&stop, 0);
    sim_run(n->s, 10 * US);
    for (int i = 0; i < 20; i++) {
        n->raw[0].dst = 1 + (uint32_t)i % 2;
        net_post(&n->raw[0]);
    }
    sim_run(n->s, 50 * US);
    assert_int_equal(n->raw[1].got + n->raw[2].got, 0);
    order_at(&go, 50 * US);
    sim_run(n->s, SIM_PS_PER_MS);
    assert_int_equal(n->raw[1].got, 10);
    assert_int_equal(n->raw[2].got, 10);
    net_free(n);
}

/* A switch renews its pause for as long as it lasts: a receiver that stands still for 10 ms, 30 times the longest pause, costs no packet and
 * the sender sends nothing meanwhile; after it, XON within a round trip. */
static void pause_is_renewed_until_xon(void **state)
{
    (void)state;
    for (int global = 0; global < 2; global++) {
        struct seen seen;
        struct switch_params sw = net_switch();
        sw.pfc = 1;
        sw.pfc_xoff_bytes = 50000;
        sw.pause = global;
        struct net *n = one_sender(&seen, &sw, LINK_REACTION_BY_RATE);
        struct port *out = fabric_port(n->f, 1, 0); /* the receiver holds the switch */
        const uint16_t stop[8] = { [3] = 65535 }, go[8] = { 0 };
        int64_t held_ps = 0, at_ps = 20 * US;
        for (; at_ps < 10 * SIM_PS_PER_MS; at_ps += 150 * US) {
            sim_run(n->s, at_ps);
            if (global)
                port_send_pause(out, 65535);
            else
                port_send_pfc(out, 8, stop);
            if (at_ps > 100 * US && !held_ps)
                held_ps = seen.last_tx_ps;
            if (held_ps)
                assert_int_equal(seen.last_tx_ps, held_ps);
        }
        n->raw[0].stop_ps = 11 * SIM_PS_PER_MS;
        if (global)
            port_send_pause(out, 0);
        else
            port_send_pfc(out, 8, go);
        sim_run(n->s, 12 * SIM_PS_PER_MS);
        assert_int_equal(n->raw[1].got, n->raw[0].sent);
        assert_true(n->raw[0].sent > 10000);
        const struct fabric_audit *a = fabric_audit(n->f);
        assert_int_equal(a->lossless_buffer_drops, 0);
        assert_true(a->pause_frames > 2 * 10000 / 336 && a->pause_frames < 400);
        net_free(n);
    }
}

/* Hysteresis: thousands of packets over XOFF must not mean a PAUSE each (truth of the field: XON storm). */
static void hysteresis_spares_pauses(void **state)
{
    (void)state;
    uint64_t frames[2], packets = 0;
    for (int none = 0; none < 2; none++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        sw.pfc = 1;
        sw.pfc_xoff_bytes = 100000;
        sw.pfc_xon_offset_bytes = none ? 0 : 50000;
        struct net *n = net_star(4, &link, &sw, NULL);
        net_greedy(&n->raw[2], 1, 2 * SIM_PS_PER_MS);
        net_greedy(&n->raw[3], 1, 2 * SIM_PS_PER_MS);
        sim_run(n->s, 4 * SIM_PS_PER_MS);
        frames[none] = fabric_audit(n->f)->pause_frames;
        packets = n->raw[1].got;
        assert_int_equal(fabric_audit(n->f)->lossless_buffer_drops, 0);
        net_free(n);
    }
    assert_true(frames[0] * 50 < packets);
    assert_true(frames[0] < frames[1]);
}

/* A static XON level works as one: it resumes there, and not above. */
static void xon_level(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    sw.pfc = 1;
    sw.pfc_xoff_bytes = 100000;
    sw.pfc_xon_bytes = 10000;
    struct net *n = net_star(4, &link, &sw, NULL);
    net_greedy(&n->raw[2], 1, SIM_PS_PER_MS);
    net_greedy(&n->raw[3], 1, SIM_PS_PER_MS);
    uint64_t least = UINT64_MAX;
    while (sim_now(n->s) < SIM_PS_PER_MS && sim_step(n->s)) {
        uint64_t q = fabric_queue_bytes(n->f, 4, 1, 3);
        if (sim_now(n->s) > 200 * US && q < least)
            least = q;
    }
    assert_true(least < 22000); /* both ports' levels and what comes by then */
    sim_run(n->s, 2 * SIM_PS_PER_MS);
    assert_int_equal(n->raw[1].got, n->raw[2].sent + n->raw[3].sent);
    net_free(n);
}

/* --- watchdog --- */

static struct net *stormy(struct order *storm, int64_t detection_ps, int64_t restoration_ps, int action)
{
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    sw.pfc = 1;
    sw.watchdog.detection_ps = detection_ps;
    sw.watchdog.restoration_ps = restoration_ps;
    sw.watchdog.action = action;
    struct net *n = net_star(4, &link, &sw, NULL);
    *storm = (struct order){ .n = n, .vector = 8, .quanta = 65535, .again_ps = 100 * US, .left = 1 };
    return n;
}

/* Host 1 speaks: its own port pauses the switch. */
static void host_gives(struct sim *s, void *ctx, void *arg)
{
    struct order *o = ctx;
    uint16_t q[8] = { [3] = o->quanta };
    (void)arg;
    port_send_pfc(fabric_port(o->n->f, 1, 0), 8, q);
    if (o->left && --o->left)
        sim_at(s, sim_now(s) + o->again_ps, sim_key_node(1, SIM_KIND_WAKE, 9), host_gives, o, NULL);
}

/* Detection time exactly, drops then with their own cause, and after the restoration time all is as before. Item 26: the storm of XOFF turns into
 * XON frames: the queue resumes, the watchdog clears. */
static void watchdog_detects_drops_and_restores(void **state)
{
    (void)state;
    for (int forward = 0; forward < 2; forward++) {
        struct order storm;
        struct net *n = stormy(&storm, 2 * SIM_PS_PER_MS, SIM_PS_PER_MS, forward ? SWITCH_WATCHDOG_FORWARD : SWITCH_WATCHDOG_DROP);
        const struct fabric_audit *a = fabric_audit(n->f);
        storm.left = 50; /* 5 ms */
        sim_at(n->s, 0, sim_key_node(1, SIM_KIND_WAKE, 9), host_gives, &storm, NULL);
        sim_run(n->s, 100 * US);
        int64_t stands_ps = sim_now(n->s);
        for (int i = 0; i < 10; i++)
            net_post(&n->raw[2]);
        /* The first packet meets a stopped queue: the time runs from there. */
        int64_t in_ps = stands_ps + (1086 + 8) * 80 + US;
        sim_run(n->s, in_ps + 2 * SIM_PS_PER_MS - 1);
        assert_int_equal(a->storms, 0);
        assert_int_equal(a->dropped[FABRIC_DROP_WATCHDOG][3], 0);
        sim_run(n->s, in_ps + 2 * SIM_PS_PER_MS);
        assert_int_equal(a->storms, 1);
        sim_run(n->s, 4 * SIM_PS_PER_MS);
        net_post(&n->raw[3]);
        sim_run(n->s, 4 * SIM_PS_PER_MS + 100 * US);
        assert_int_equal(a->dropped[FABRIC_DROP_WATCHDOG][3], forward ? 0 : 11);
        assert_int_equal(n->raw[1].got, forward ? 11 : 0);
        sim_run(n->s, 5 * SIM_PS_PER_MS);
        storm.quanta = 0;
        storm.left = 1;
        host_gives(n->s, &storm, NULL); /* XON */
        sim_run(n->s, 5 * SIM_PS_PER_MS + 900 * US);
        net_post(&n->raw[2]); /* not yet restored */
        sim_run(n->s, 5 * SIM_PS_PER_MS + 990 * US);
        assert_int_equal(a->dropped[FABRIC_DROP_WATCHDOG][3], forward ? 0 : 12);
        sim_run(n->s, 6 * SIM_PS_PER_MS + 10 * US);
        net_post(&n->raw[2]);
        sim_run(n->s, 7 * SIM_PS_PER_MS);
        assert_int_equal(a->dropped[FABRIC_DROP_WATCHDOG][3], forward ? 0 : 12);
        assert_int_equal(n->raw[1].got, forward ? 13 : 1);
        assert_int_equal(a->storms, 1);
        net_free(n);
    }
}

/* A queue that is paused again and again but moves between is in no storm; nor is an empty one. */
static void watchdog_leaves_ordinary_pauses_alone(void **state)
{
    (void)state;
    struct order storm;
    struct net *n = stormy(&storm, SIM_PS_PER_MS, SIM_PS_PER_MS, SWITCH_WATCHDOG_DROP);
    storm.quanta = 60000; /* 307 us of each 320 */
    storm.again_ps = 320 * US;
    storm.left = 40;
    sim_at(n->s, 0, sim_key_node(1, SIM_KIND_WAKE, 9), host_gives, &storm, NULL);
    net_greedy(&n->raw[2], 1, 10 * SIM_PS_PER_MS);
    sim_run(n->s, 15 * SIM_PS_PER_MS);
    assert_int_equal(fabric_audit(n->f)->storms, 0);
    storm.left = 40;
    storm.quanta = 65535;
    storm.again_ps = 100 * US;
    host_gives(n->s, &storm, NULL); /* 4 ms, but nobody waits */
    sim_run(n->s, 30 * SIM_PS_PER_MS);
    assert_int_equal(fabric_audit(n->f)->storms, 0);
    assert_int_equal(n->raw[1].got, n->raw[2].sent);
    net_free(n);
}

/* Where PFC is kept to the links of hosts, pauses do not cross between switches. */
static void pfc_ends_at_a_boundary(void **state)
{
    (void)state;
    for (int boundary = 0; boundary < 2; boundary++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        sw.pfc = 1;
        sw.pfc_xoff_bytes = 60000;
        sw.queue_limit_bytes = 200000;
        sw.pfc_ports = boundary ? SWITCH_PFC_HOSTS : SWITCH_PFC_ALL;
        struct net *n = net_new(6, 2, 3, NULL);
        uint32_t a = fabric_add_switch(n->f, &sw), b = fabric_add_switch(n->f, &sw);
        for (uint32_t i = 0; i < 6; i++)
            net_link(n, i, i == 1 || i == 2 ? b : a, &link);
        net_link(n, a, b, &link);
        net_finish(n);
        net_greedy(&n->raw[2], 1, SIM_PS_PER_MS); /* at b, with the receiver */
        net_greedy(&n->raw[3], 1, SIM_PS_PER_MS); /* across */
        sim_run(n->s, 3 * SIM_PS_PER_MS);
        const struct fabric_audit *k = fabric_audit(n->f);
        const struct port_stats *st = port_stats(fabric_port(n->f, b, fabric_ports(n->f, b) - 1));
        assert_int_equal(st->tx_prio_pause[3] > 0, !boundary);
        assert_int_equal(k->dropped[FABRIC_DROP_BUFFER][3] > 0, boundary);
        assert_int_equal(k->lossless_buffer_drops, 0); /* between pods it is no lossless class */
        assert_true(port_stats(fabric_port(n->f, 2, 0))->rx_prio_pause[3] > 0);
        net_free(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_ends_by_cancel_or_expiry), cmocka_unit_test(each_pause_replaces_the_last), cmocka_unit_test(the_frame_begun_is_finished),
        cmocka_unit_test(priorities_are_apart_and_global_pause_is_not), cmocka_unit_test(both_flows_of_a_priority_resume),
        cmocka_unit_test(pause_is_renewed_until_xon), cmocka_unit_test(hysteresis_spares_pauses), cmocka_unit_test(xon_level),
        cmocka_unit_test(watchdog_detects_drops_and_restores), cmocka_unit_test(watchdog_leaves_ordinary_pauses_alone), cmocka_unit_test(pfc_ends_at_a_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
