/* SPDX-License-Identifier: GPL-2.0-only */
/* Pauses that wait in a circle: a ring that locks, found with its circle and its time; what only looks like it; what prevents and what breaks it. */
#include "net.h"

#define US SIM_PS_PER_US
#define RING 5

/* Frames with payload that begin on links from switch to switch. */
struct watch { uint32_t hosts; int64_t last_ps; uint64_t since; int64_t from_ps; const struct fabric *f; };
static void watch_links(void *ctx, const struct sim_trace *t)
{
    struct watch *w = ctx;
    if (t->point != SIM_TRACE_FRAME_TX || t->node < w->hosts || fabric_is_host(w->f, port_peer_node(fabric_port(w->f, t->node, t->id))))
        return;
    if (((const struct pkt *)t->obj)->kind == PKT_PFC)
        return;
    w->last_ps = t->now_ps;
}

static struct switch_params lossless_switch(void)
{
    struct switch_params sw = net_switch();
    sw.pfc = 1;
    sw.pfc_xoff_bytes = 50000;
    sw.max_frame_bytes = 1086;
    return sw;
}

/* A circle of five switches, a host each, which sends to the next but one, clockwise: every link between switches is wanted twice. */
static struct net *ring(const struct switch_params *sw, int64_t routing, int64_t until_ps)
{
    struct link_params link = net_cable();
    struct fabric_params fp = net_fabric();
    fp.routing = routing;
    struct net *n = net_new(RING, RING, 5, &fp);
    for (int k = 0; k < RING; k++)
        fabric_add_switch(n->f, sw);
    for (uint32_t k = 0; k < RING; k++)
        net_link(n, k, RING + k, &link);
    for (uint32_t k = 0; k < RING; k++)
        net_link(n, RING + k, RING + (k + 1) % RING, &link);
    net_finish(n);
    for (uint32_t k = 0; k < RING; k++)
        net_greedy(&n->raw[k], (k + 2) % RING, until_ps);
    return n;
}

static uint64_t sum_got(const struct net *n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n->hosts; i++)
        sum += n->raw[i].got;
    return sum;
}

static uint64_t sum_sent(const struct net *n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n->hosts; i++)
        sum += n->raw[i].sent;
    return sum;
}

/* The circle is all five links in their order. Its time is that of the last queue to stop: up to a frame before it something still moved, after it
 * nothing does, though the senders have not finished. The detector says so within its period. */
static void a_ring_locks_and_is_named(void **state)
{
    (void)state;
    for (int global = 0; global < 2; global++) {
        struct switch_params sw = lossless_switch();
        sw.pause = global;
        struct net *n = ring(&sw, FABRIC_SHORTEST, 2 * SIM_PS_PER_MS);
        struct watch w = { .hosts = RING, .f = n->f };
        const struct fabric_deadlock *d = fabric_deadlock(n->f);
        sim_trace_set(n->s, watch_links, &w);
        int64_t found_ps = 0;
        while (d->at_ps < 0 && sim_now(n->s) < SIM_PS_PER_MS)
            sim_run(n->s, found_ps = sim_now(n->s) + US);
        assert_true(d->at_ps > 0);
        assert_int_equal(d->length, RING);
        assert_true(d->queues >= RING);
        for (uint32_t i = 0; i < RING; i++) {
            uint32_t here = d->queue[i].node - RING, next = d->queue[(i + 1) % RING].node - RING;
            assert_int_equal(next, (here + 1) % RING);
            assert_int_equal(port_peer_node(fabric_port(n->f, d->queue[i].node, d->queue[i].port)), RING + next);
            assert_int_equal(d->queue[i].prio, 3);
        }
        if (found_ps > d->at_ps + 100 * US + 2 * US)
            fail_msg("stands since %.1f us, found at %.1f us", (double)d->at_ps / 1e6, (double)found_ps / 1e6);
        uint64_t got = sum_got(n);
        int64_t last_ps = w.last_ps;
        assert_true(last_ps <= d->at_ps && last_ps > d->at_ps - 20 * US);
        sim_run(n->s, 30 * SIM_PS_PER_MS); /* pauses are renewed for ever */
        assert_int_equal(w.last_ps, last_ps);
        assert_int_equal(sum_got(n), got);
        assert_true(fabric_deadlock_find(n->f, &(struct fabric_deadlock){ 0 }));
        assert_int_equal(fabric_audit(n->f)->lossless_buffer_drops, 0);
        net_free(n);
    }
}

/* The same traffic by up-down routes: pauses, but no circle, and everything arrives. */
static void up_down_routes_never_lock(void **state)
{
    (void)state;
    struct switch_params sw = lossless_switch();
    struct net *n = ring(&sw, FABRIC_UP_DOWN, 2 * SIM_PS_PER_MS);
    struct fabric_deadlock found;
    for (int64_t at = 7 * US; at < 5 * SIM_PS_PER_MS; at += 20 * US) {
        sim_run(n->s, at);
        assert_false(fabric_deadlock_find(n->f, &found));
    }
    sim_run(n->s, SIM_NEVER_PS);
    assert_true(fabric_audit(n->f)->pause_frames > 10);
    assert_int_equal(sum_got(n), sum_sent(n));
    assert_true(fabric_deadlock(n->f)->at_ps < 0);
    net_free(n);
}

/* The watchdog that drops breaks the circle, each time that it closes, at the price of packets; once the senders have stopped, all that is left drains. */
static void the_watchdog_breaks_it(void **state)
{
    uint64_t got[2];
    (void)state;
    for (int watched = 0; watched < 2; watched++) {
        struct switch_params sw = lossless_switch();
        sw.watchdog.detection_ps = watched ? 500 * US : 0;
        sw.watchdog.restoration_ps = 200 * US;
        struct net *n = ring(&sw, FABRIC_SHORTEST, 5 * SIM_PS_PER_MS);
        sim_run(n->s, 50 * SIM_PS_PER_MS);
        const struct fabric_audit *a = fabric_audit(n->f);
        assert_true(fabric_deadlock(n->f)->at_ps > 0);
        assert_int_equal(a->storms > 0, watched);
        assert_int_equal(sum_got(n) + a->dropped[FABRIC_DROP_WATCHDOG][3] == sum_sent(n), watched);
        got[watched] = sum_got(n);
        net_free(n);
    }
    if (got[1] < 4 * got[0])
        fail_msg("%llu packets arrived with a watchdog, %llu without", (unsigned long long)got[1], (unsigned long long)got[0]);
}

/* A link of the circle that fails breaks it too: its packets are lost, the rest goes round the other way. */
static void a_failed_link_breaks_it(void **state)
{
    (void)state;
    struct switch_params sw = lossless_switch();
    struct net *n = ring(&sw, FABRIC_SHORTEST, SIM_PS_PER_MS);
    sim_run(n->s, 2 * SIM_PS_PER_MS);
    assert_true(fabric_deadlock(n->f)->at_ps > 0);
    uint64_t got = sum_got(n);
    fabric_link_set(n->f, RING, 1, false);
    sim_run(n->s, 200 * SIM_PS_PER_MS);
    assert_true(sum_got(n) > got);
    assert_int_equal(sum_got(n) + fabric_audit(n->f)->dropped[FABRIC_DROP_LINK_DOWN][3], sum_sent(n));
    net_free(n);
}

/* Pauses that reach far but end at a receiver that only is slow are no circle; nor is a queue that a host holds for ever. */
static void slowness_is_no_circle(void **state)
{
    (void)state;
    struct link_params link = net_cable(), slow = link;
    struct switch_params sw = lossless_switch();
    struct fabric_deadlock found;
    slow.rate_bps = 1000000000;
    struct net *n = net_new(6, 3, 5, NULL);
    for (int k = 0; k < 3; k++)
        fabric_add_switch(n->f, &sw);
    for (uint32_t i = 0; i < 6; i++)
        net_link(n, i, 6 + i / 2, i == 5 ? &slow : &link);
    net_link(n, 6, 7, &link);
    net_link(n, 7, 8, &link);
    net_finish(n);
    for (uint32_t i = 0; i < 5; i++)
        net_greedy(&n->raw[i], i == 1 ? 4 : 5, 500 * US);
    const uint16_t hold[8] = { [3] = 65535 };
    for (int64_t at = 5 * US; at < SIM_PS_PER_MS; at += 5 * US) {
        sim_run(n->s, at);
        if (at >= 500 * US && at % (100 * US) == 0)
            port_send_pfc(fabric_port(n->f, 5, 0), 8, hold);
        assert_false(fabric_deadlock_find(n->f, &found));
    }
    assert_true(port_stats(fabric_port(n->f, 6, 2))->rx_prio_pause[3] > 0); /* as far as the first switch */
    sim_run(n->s, SIM_NEVER_PS);
    assert_true(fabric_deadlock(n->f)->at_ps < 0);
    assert_int_equal(sum_got(n), sum_sent(n));
    net_free(n);
}

/* Random networks, random flows: by up-down routes none locks and all arrives; what the detector calls a circle by shortest paths never moves
 * again, and where it finds none everything arrives. */
static void random_networks(void **state)
{
    int nets = getenv("RNICSIM_TEST_LONG") ? 600 : 40, locked = 0;
    (void)state;
    for (int i = 0; i < 2 * nets; i++) {
        struct sim_rng r;
        struct link_params link = net_cable();
        struct switch_params sw = lossless_switch();
        struct fabric_params fp = net_fabric();
        sim_rng_init(&r, 6, (uint64_t)i / 2, SIM_RNG_TEST);
        uint32_t switches = 3 + sim_rng_below(&r, 6);
        fp.routing = i % 2 ? FABRIC_UP_DOWN : FABRIC_SHORTEST;
        struct net *n = net_new(switches, switches, 5, &fp);
        for (uint32_t k = 0; k < switches; k++)
            fabric_add_switch(n->f, &sw);
        for (uint32_t k = 0; k < switches; k++)
            net_link(n, k, switches + k, &link);
        for (uint32_t k = 0; k < switches; k++) /* a circle, so that all are joined, and chords */
            net_link(n, switches + k, switches + (k + 1) % switches, &link);
        for (uint32_t k = sim_rng_below(&r, 3); k > 0; k--) {
            uint32_t a = sim_rng_below(&r, switches), b = sim_rng_below(&r, switches);
            if (a != b)
                net_link(n, switches + a, switches + b, &link);
        }
        net_finish(n);
        uint32_t shift = 1 + sim_rng_below(&r, switches - 1);
        for (uint32_t k = 0; k < switches; k++)
            net_greedy(&n->raw[k], sim_rng_below(&r, 2) ? (k + shift) % switches : (k + 1 + sim_rng_below(&r, switches - 1)) % switches, 400 * US);
        sim_run(n->s, 2 * SIM_PS_PER_MS);
        bool stands = fabric_deadlock(n->f)->at_ps >= 0;
        uint64_t got = sum_got(n);
        sim_run(n->s, 4 * SIM_PS_PER_MS);
        if (stands ? i % 2 != 0 || sum_got(n) != got || got == sum_sent(n) : sum_got(n) != sum_sent(n))
            fail_msg("network %d, %s: %s, %llu of %llu packets arrived, %llu by 2 ms", i / 2, i % 2 ? "up-down" : "shortest", stands ? "locked" : "not locked",
                     (unsigned long long)sum_got(n), (unsigned long long)sum_sent(n), (unsigned long long)got);
        locked += stands;
        net_free(n);
    }
    assert_true(locked > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_locks_and_is_named), cmocka_unit_test(up_down_routes_never_lock), cmocka_unit_test(the_watchdog_breaks_it),
        cmocka_unit_test(a_failed_link_breaks_it), cmocka_unit_test(slowness_is_no_circle), cmocka_unit_test(random_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
