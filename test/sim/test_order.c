/* SPDX-License-Identifier: GPL-2.0-only */
/* The queue against the plainest model there is: an unsorted list whose least (time, key, insertion) is looked for. */
#include "../../model/sim/rng.h"
#include "../../model/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { TIMERS = 24, LANES = 9, LIST_MAX = 4096 };

struct item { int64_t at_ps; uint64_t key, order; uintptr_t id; };

struct bed {
    struct sim      *s;
    struct sim_rng   rng;
    struct sim_lane *lanes[LANES];
    struct sim_timer timers[TIMERS];
    struct item      list[LIST_MAX];
    size_t           count, want;
    uint64_t         order, ran;
    uintptr_t        next_id;
    int64_t          grain_ps;
    unsigned         keys;
};

static const int64_t delays[LANES] = { 0, 1, 2, 3, 5, 8, 40, 41, 1000 };

static void add(struct bed *b, int64_t at_ps, uint64_t key, uintptr_t id)
{
    assert_true(b->count < LIST_MAX);
    b->list[b->count++] = (struct item){ at_ps, key, b->order++, id };
}

static void forget(struct bed *b, uintptr_t id)
{
    for (size_t i = 0; i < b->count; i++) {
        if (b->list[i].id == id) {
            b->list[i] = b->list[--b->count];
            return;
        }
    }
}

static size_t least(const struct bed *b)
{
    size_t m = 0;

    for (size_t i = 1; i < b->count; i++) {
        const struct item *x = &b->list[i], *y = &b->list[m];

        uint64_t kx = sim_key_at(x->key, x->at_ps), ky = sim_key_at(y->key, y->at_ps);

        if (x->at_ps != y->at_ps ? x->at_ps < y->at_ps : kx != ky ? kx < ky : x->order < y->order)
            m = i;
    }
    return m;
}

static void act(struct bed *b);

static void ran(struct bed *b, uintptr_t id)
{
    size_t m = least(b);

    assert_true(b->count > 0);
    assert_int_equal(b->list[m].id, id);
    assert_int_equal(b->list[m].at_ps, sim_now(b->s));
    b->list[m] = b->list[--b->count];
    b->ran++;
    assert_int_equal(sim_events_pending(b->s), b->count);
    act(b);
}

static void on_event(struct sim *s, void *ctx, void *arg)
{
    struct bed *b = ctx;

    assert_ptr_equal(s, b->s);
    ran(b, (uintptr_t)arg);
}

/* A second function, so that records keep theirs. */
static void on_other(struct sim *s, void *ctx, void *arg)
{
    on_event(s, ctx, (void *)((uintptr_t)arg - 1));
}

struct timer_ctx { struct bed *b; uintptr_t id; };

static void on_timer(struct sim *s, void *ctx, void *arg)
{
    struct timer_ctx *t = ctx;

    assert_ptr_equal(s, t->b->s);
    assert_null(arg);
    assert_int_equal(t->b->timers[t->id - 1].at_ps, SIM_NEVER_PS);
    ran(t->b, t->id);
}

/* Of few nodes and ports, or a node's own. */
static uint64_t some_key(struct bed *b)
{
    uint32_t k = sim_rng_below(&b->rng, b->keys), node = k % 5;

    return k % 3 ? sim_key_port(node, k / 5, k % 2 ? SIM_KIND_RX : SIM_KIND_TX) : sim_key_node(node, SIM_KIND_WAKE, k / 5);
}

static void act(struct bed *b)
{
    unsigned n = b->count < b->want ? 1 + sim_rng_below(&b->rng, 3) : sim_rng_below(&b->rng, 2);

    while (n-- && b->count < LIST_MAX - 1) {
        unsigned what = sim_rng_below(&b->rng, 8), t = sim_rng_below(&b->rng, TIMERS);
        int64_t at_ps = sim_now(b->s) + sim_rng_below(&b->rng, 50) * b->grain_ps;
        uint64_t key = some_key(b);

        if (what < 4) {
            unsigned l = sim_rng_below(&b->rng, LANES);
            uintptr_t id = b->next_id += 2;

            add(b, sim_now(b->s) + delays[l] * b->grain_ps, key, id);
            sim_lane_push(b->s, b->lanes[l], key, sim_fn_number(b->s, what & 1 ? on_other : on_event), b, (void *)(id + (what & 1)));
        } else if (what == 4) {
            uintptr_t id = b->next_id += 2;

            add(b, at_ps, key, id);
            sim_at(b->s, at_ps, key, on_event, b, (void *)id);
        } else if (what < 7) {
            forget(b, t + 1);
            add(b, at_ps, b->timers[t].key, t + 1);
            sim_timer_set(b->s, &b->timers[t], at_ps);
        } else {
            forget(b, t + 1);
            sim_timer_cancel(b->s, &b->timers[t]);
        }
    }
    assert_int_equal(sim_next_ps(b->s), b->count ? b->list[least(b)].at_ps : SIM_NEVER_PS);
}

static void one(uint64_t seed, unsigned keys, int64_t grain_ps, size_t want)
{
    struct bed *b = calloc(1, sizeof *b);
    struct timer_ctx tc[TIMERS];

    b->s = sim_new(seed);
    b->keys = keys;
    b->grain_ps = grain_ps;
    b->want = want;
    b->next_id = 1000;
    sim_rng_init(&b->rng, seed, keys, SIM_RNG_TEST);
    for (unsigned i = 0; i < LANES; i++)
        b->lanes[i] = sim_lane_get(b->s, delays[i] * grain_ps);
    for (unsigned i = 0; i < TIMERS; i++) {
        tc[i] = (struct timer_ctx){ b, i + 1 };
        sim_timer_init(&b->timers[i], some_key(b), on_timer, &tc[i]);
    }
    for (int i = 0; i < 300; i++) {
        int64_t until_ps = sim_now(b->s) + sim_rng_below(&b->rng, 20) * grain_ps;

        act(b);
        if (grain_ps == 0 || sim_rng_below(&b->rng, 2)) {
            sim_step(b->s);
        } else if (b->ran < 4000) {
            sim_run(b->s, until_ps);
            assert_int_equal(sim_now(b->s), until_ps);
        }
    }
    b->want = 0;
    assert_true(b->ran >= 200);
    for (int i = 0; i < 20000 && sim_step(b->s); i++)
        ;
    sim_free(b->s);
    free(b);
}

static void agrees_with_a_list(void **state)
{
    uint64_t seeds = getenv("RNICSIM_TEST_LONG") ? 2000 : 40;

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        one(seed, 1, 1, 40);           /* nothing but insertion order */
        one(seed, 6, 1, 300);          /* long runs of equal times */
        one(seed, 4000, 1, 300);
        one(seed, 8, 1000003, 100);
        one(seed, 3, 0, 30);           /* time never moves */
    }
}

struct seen { uint64_t last_key; int64_t last_ps; unsigned n; };

static void in_order(struct sim *s, void *ctx, void *arg)
{
    struct seen *seen = ctx;
    uint64_t key = sim_key_at((uintptr_t)arg, sim_now(s));

    assert_true(sim_now(s) > seen->last_ps || key >= seen->last_key);
    seen->last_key = key;
    seen->last_ps = sim_now(s);
    seen->n++;
}

/* Thousands of ports in lockstep fill one lane at one time in any order of keys. */
static void a_long_run_is_sorted_once(void **state)
{
    struct sim *s = sim_new(1);
    struct sim_lane *lane = sim_lane_get(s, 81920);
    struct seen seen = { 0, -1, 0 };
    struct sim_rng rng;

    (void)state;
    sim_rng_init(&rng, 5, 0, SIM_RNG_TEST);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 50000; i++) {
            uint64_t key = sim_rng_below(&rng, 1u << 30);

            sim_lane_push(s, lane, key, sim_fn_number(s, in_order), &seen, (void *)(uintptr_t)key);
        }
        sim_advance(s, sim_now(s) + 1000);
    }
    sim_run(s, SIM_NEVER_PS);
    assert_int_equal(seen.n, 200000);
    sim_free(s);
}

struct burst { struct sim_lane *lane; struct seen *seen; struct sim_rng rng; };

static void fill_at_random(struct sim *s, void *ctx, void *arg)
{
    struct burst *b = ctx;

    (void)arg;
    for (int i = 0; i < 300; i++) {
        uint64_t key = (uint64_t)sim_rng_below(&b->rng, 20) << 40 | sim_rng_below(&b->rng, 1u << 24) << 8;

        sim_lane_push(s, b->lane, key, sim_fn_number(s, in_order), b->seen, (void *)(uintptr_t)key);
    }
}

/* Runs far out of order that wait behind others in their lanes, at one time in two lanes and the heap. */
static void long_runs_of_two_lanes_mix(void **state)
{
    struct sim *s = sim_new(1);
    struct seen seen = { 0, -1, 0 };
    struct burst early = { .lane = sim_lane_get(s, 2000), .seen = &seen }, late = { .lane = sim_lane_get(s, 1000), .seen = &seen };

    (void)state;
    sim_rng_init(&early.rng, 6, 0, SIM_RNG_TEST);
    sim_rng_init(&late.rng, 7, 0, SIM_RNG_TEST);
    for (int64_t at = 0; at < 900; at += 10) {
        sim_at(s, at, 0, fill_at_random, &early, NULL);
        sim_at(s, at + 1000, 0, fill_at_random, &late, NULL);
        for (uint64_t node = 0; node < 20; node++)
            sim_at(s, at + 2000, node << 40 | 77 << 8, in_order, &seen, (void *)(uintptr_t)(node << 40 | 77 << 8));
    }
    sim_run(s, SIM_NEVER_PS);
    assert_int_equal(seen.n, 90 * 620);
    sim_free(s);
}

static void nop(struct sim *s, void *ctx, void *arg)
{
    (void)s;
    (void)ctx;
    (void)arg;
}

static void stop(struct sim *s, void *ctx, void *arg)
{
    (void)ctx;
    (void)arg;
    sim_stop(s);
}

static void run_ends_where_it_says(void **state)
{
    struct sim *s = sim_new(1);

    (void)state;
    sim_run(s, 500);
    assert_int_equal(sim_now(s), 500);
    sim_at(s, 700, 0, nop, NULL, NULL);
    sim_at(s, 701, 0, nop, NULL, NULL);
    sim_run(s, 700);
    assert_int_equal(sim_events_run(s), 1);
    assert_int_equal(sim_next_ps(s), 701);
    sim_run(s, SIM_NEVER_PS);
    assert_int_equal(sim_now(s), 701);
    assert_false(sim_step(s));
    sim_at(s, 800, 0, stop, NULL, NULL);
    sim_at(s, 800, 1, nop, NULL, NULL);
    sim_run(s, 900);
    assert_true(sim_stopped(s));
    assert_int_equal(sim_now(s), 800);
    assert_int_equal(sim_events_pending(s), 1);
    sim_run(s, 900);
    assert_false(sim_stopped(s));
    assert_int_equal(sim_now(s), 900);
    sim_interrupt(s, true);
    sim_at(s, 901, 0, nop, NULL, NULL);
    sim_run(s, 1000);
    assert_int_equal(sim_now(s), 900);
    assert_false(sim_stopped(s));
    sim_interrupt(s, false);
    sim_run(s, 1000);
    assert_int_equal(sim_now(s), 1000);
    assert_int_equal(sim_events_run(s), 5);
    sim_free(s);
}

static void equal_delays_share_a_lane(void **state)
{
    struct sim *s = sim_new(1);
    struct sim_lane *first = sim_lane_get(s, 7), *lane = first;
    unsigned n = 0;

    (void)state;
    assert_ptr_equal(sim_lane_get(s, 7), first);
    for (int64_t d = 8; lane && d < 100000; d++, n++)
        lane = sim_lane_get(s, d);
    assert_null(lane);
    assert_in_range(n, 16, 4096);
    assert_ptr_equal(sim_lane_get(s, 7), first);
    sim_free(s);
}

struct earlier { int64_t at_ps; unsigned calls; };

static void note_earlier(void *ctx, int64_t next_ps)
{
    *(struct earlier *)ctx = (struct earlier){ next_ps, ((struct earlier *)ctx)->calls + 1 };
}

static void push_sooner(struct sim *s, void *ctx, void *arg)
{
    (void)arg;
    sim_lane_push(s, ctx, 0, sim_fn_number(s, nop), NULL, NULL);
}

static void the_driver_hears_of_earlier_events(void **state)
{
    struct sim *s = sim_new(1);
    struct sim_lane *lane = sim_lane_get(s, 100);
    struct earlier e = { 0, 0 };
    struct sim_timer t;

    (void)state;
    sim_timer_init(&t, 0, nop, NULL);
    sim_on_earlier(s, note_earlier, &e);
    sim_at(s, 1000, 0, nop, NULL, NULL);
    assert_true(e.at_ps == 1000 && e.calls == 1);
    sim_at(s, 1001, 0, nop, NULL, NULL);
    sim_at(s, 1000, 0, nop, NULL, NULL);
    assert_int_equal(e.calls, 1);
    sim_lane_push(s, lane, 0, sim_fn_number(s, push_sooner), lane, NULL);
    assert_true(e.at_ps == 100 && e.calls == 2);
    sim_timer_set(s, &t, 50);
    assert_true(e.at_ps == 50 && e.calls == 3);
    sim_timer_set(s, &t, 60); /* later is not earlier */
    assert_int_equal(e.calls, 3);
    assert_int_equal(sim_next_ps(s), 60);
    sim_timer_cancel(s, &t);
    assert_int_equal(sim_next_ps(s), 100);
    assert_true(sim_step(s)); /* what an event itself schedules the driver sees when it returns */
    assert_int_equal(e.calls, 3);
    assert_int_equal(sim_next_ps(s), 200);
    sim_on_earlier(s, NULL, NULL);
    sim_timer_set(s, &t, 150);
    assert_int_equal(e.calls, 3);
    sim_timer_cancel(s, &t);
    sim_free(s);
}

struct churn { struct sim_lane *lane[2]; struct sim_timer timer[64]; struct sim_rng rng; };

static void churn_timer(struct sim *s, void *ctx, void *arg)
{
    (void)s;
    (void)ctx;
    (void)arg;
}

static void churn(struct sim *s, void *ctx, void *arg)
{
    struct churn *c = ctx;
    uint32_t r = sim_rng_below(&c->rng, 4);

    if (r < 2)
        sim_lane_push(s, c->lane[r], sim_rng_below(&c->rng, 100), sim_fn_number(s, churn), c, arg);
    else
        sim_at(s, sim_now(s) + sim_rng_below(&c->rng, 1000), 0, churn, c, arg);
    sim_timer_set(s, &c->timer[sim_rng_below(&c->rng, 64)], sim_now(s) + 5000 + r);
}

static void steady_state_allocates_nothing(void **state)
{
    struct sim *s = sim_new(1);
    struct churn c = { .lane = { sim_lane_get(s, 100), sim_lane_get(s, 777) } };
    size_t before;

    (void)state;
    sim_rng_init(&c.rng, 1, 0, SIM_RNG_TEST);
    for (int i = 0; i < 64; i++)
        sim_timer_init(&c.timer[i], 0, churn_timer, NULL);
    for (int i = 0; i < 1000; i++)
        sim_at(s, i % 7, 0, churn, &c, NULL);
    while (sim_events_run(s) < 100000)
        sim_step(s);
    before = mallinfo2().uordblks + mallinfo2().hblkhd;
    while (sim_events_run(s) < 500000)
        sim_step(s);
    assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, before);
    assert_in_range(sim_events_pending(s), 1000, 1064);
    sim_free(s);
}

/* Arrivals, timers, transmissions of one port, then the node's own events. */
static void keys_order_by_node_port_and_kind(void **state)
{
    (void)state;
    for (int64_t at_ps = 0; at_ps < 20000; at_ps++) {
        uint32_t port = (uint32_t)at_ps % 4095;
        uint64_t rx = sim_key_port(3, port, SIM_KIND_RX), wake = sim_key_port(3, port, SIM_KIND_WAKE), tx = sim_key_port(3, port, SIM_KIND_TX);
        assert_true(sim_key_at(rx, at_ps) < sim_key_at(wake | 1, at_ps));
        assert_true(sim_key_at(wake | 255, at_ps) < sim_key_at(tx, at_ps));
        assert_true(sim_key_at(tx | 255, at_ps) < sim_key_at(sim_key_node(3, SIM_KIND_RX, 0), at_ps));
        assert_true(sim_key_at(sim_key_node(3, SIM_KIND_TX, 0xffffff), at_ps) < sim_key_at(sim_key_port(4, port, SIM_KIND_RX), at_ps));
        assert_true(sim_key_at(SIM_KEY_FOREIGN, at_ps) == SIM_KEY_FOREIGN);
    }
    assert_true(sim_key_node(0xffffff, SIM_KIND_TX, 0xffffff) < SIM_KEY_FOREIGN);
}

/* No port is always first, whichever ports have something: of each set each is first as often, and no two keys are equal. */
static void keys_shuffle_ports(void **state)
{
    static const struct { uint32_t n, port[8]; } set[] = { { 2, { 0, 1 } }, { 2, { 2, 3 } }, { 3, { 2, 3, 4 } }, { 3, { 0, 1, 31 } }, { 4, { 0, 8, 16, 24 } },
                                                            { 8, { 0, 1, 2, 3, 4, 5, 6, 7 } }, { 5, { 100, 7, 2000, 4094, 513 } } };
    (void)state;
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        unsigned first[8] = { 0 }, times = 0;
        for (int64_t at_ps = 0; at_ps < INT64_C(16000) * 86880; at_ps += 86880, times++) { /* frames of 1,086 B at 100 Gb/s */
            unsigned best = 0;
            for (unsigned p = 1; p < set[i].n; p++) {
                uint64_t k = sim_key_at(sim_key_port(9, set[i].port[p], SIM_KIND_RX), at_ps), b = sim_key_at(sim_key_port(9, set[i].port[best], SIM_KIND_RX), at_ps);
                assert_true(k != b);
                best = k < b ? p : best;
            }
            first[best]++;
        }
        double want = (double)times / set[i].n;
        for (unsigned p = 0; p < set[i].n; p++)
            if (first[p] < want * 0.93 || first[p] > want * 1.07)
                fail_msg("set %zu: port %u first %u times, %.0f expected", i, set[i].port[p], first[p], want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_list),     cmocka_unit_test(a_long_run_is_sorted_once), cmocka_unit_test(long_runs_of_two_lanes_mix),
        cmocka_unit_test(run_ends_where_it_says), cmocka_unit_test(equal_delays_share_a_lane),
        cmocka_unit_test(the_driver_hears_of_earlier_events), cmocka_unit_test(keys_order_by_node_port_and_kind), cmocka_unit_test(keys_shuffle_ports),
        cmocka_unit_test(steady_state_allocates_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
