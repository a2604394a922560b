/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine as a whole: transfers, losses, timers, random wires. */
#include "pair.h"

#include <stdio.h>

static void clean_transfer_and_close(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    open_up(w);
    assert_int_equal(tcp_emss(w->e[0].c), 1448);           /* 1460 less 12 of timestamps */
    send_to(w, 3000000);
    run(w, w->now + 100 * MS);
    assert_int_equal(w->e[1].got, 3000000);
    assert_int_equal(w->e[0].acked, 3000000);
    assert_int_equal(w->resent, 0);
    tcp_close(w->e[0].c, w->now);
    run(w, w->now + 10 * MS);
    assert_int_equal(tcp_state(w->e[1].c), TCP_CLOSE_WAIT);
    assert_int_equal(tcp_state(w->e[0].c), TCP_FIN_WAIT_2);
    tcp_close(w->e[1].c, w->now);
    run(w, w->now + 10 * MS);
    assert_int_equal(tcp_state(w->e[1].c), TCP_CLOSED);
    assert_int_equal(tcp_state(w->e[0].c), TCP_TIME_WAIT);
    run(w, w->now + 70 * SIM_PS_PER_S);
    assert_int_equal(tcp_state(w->e[0].c), TCP_CLOSED);
    assert_int_equal(w->e[0].error, 0);
    pair_free(w);
}

static void simultaneous_close(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    open_up(w);
    tcp_close(w->e[0].c, w->now);
    tcp_close(w->e[1].c, w->now);
    run(w, w->now + MS);
    assert_int_equal(tcp_state(w->e[0].c), TCP_TIME_WAIT);
    assert_int_equal(tcp_state(w->e[1].c), TCP_TIME_WAIT);
    pair_free(w);
}

static void lost_syn_is_sent_again(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    w->loss = 1;
    sim_rng_init(&w->rng, 1, 0, SIM_RNG_TEST);
    run(w, MS);
    w->loss = 0;
    run(w, SIM_PS_PER_S - 1);
    assert_int_equal(tcp_state(w->e[0].c), TCP_SYN_SENT);
    run(w, SIM_PS_PER_S + MS);                              /* RFC 6298 2.1: 1 s */
    assert_int_equal(tcp_state(w->e[0].c), TCP_ESTABLISHED);
    pair_free(w);
}

/* truth.md section 4, item 33; RFC 6298 5.3. */
static void rfc6298_5_3_last_of_ten_lost_without_probe(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    p.tlp = 0;
    p.delayed_ack_count = 1;
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    static const uint64_t drop[] = { 9 };
    int64_t rtt = 20 * US;
    open_up(w);
    w->drops = drop;
    w->ndrops = 1;
    int64_t from = w->now;
    send_to(w, 10 * 1448);
    run(w, w->now + 100 * MS);
    assert_int_equal(w->e[1].got, 14480);
    assert_int_equal(w->e[0].acked_ps - from, p.rto_min_ps + 2 * rtt);
    assert_int_equal(w->e[1].got_ps - from, p.rto_min_ps + rtt + rtt / 2);
    assert_int_equal(tcp_counters(w->e[0].c)->timeouts, 1);
    pair_free(w);
}

/* RFC 8985 7: the probe finds the loss of the tail in about two round trips. */
static void rfc8985_7_tail_loss_probe(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    p.delayed_ack_count = 1;
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    static const uint64_t drop[] = { 9 };
    open_up(w);
    w->drops = drop;
    w->ndrops = 1;
    int64_t from = w->now;
    send_to(w, 10 * 1448);
    run(w, w->now + 100 * MS);
    assert_int_equal(w->e[1].got, 14480);
    assert_true(w->e[0].acked_ps - from < 2 * MS);
    assert_int_equal(tcp_counters(w->e[0].c)->timeouts, 0);
    assert_int_equal(tcp_counters(w->e[0].c)->tlp_probes, 1);
    pair_free(w);
}

/* truth.md section 4, item 31; RFC 6298 5.5 and section 3. */
static void rfc6298_3_timeout_is_recomputed_after_two(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    p.tlp = 0;
    p.timestamps = 0;
    p.delayed_ack_count = 1;
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    static const uint64_t drop[] = { 0, 1 };
    open_up(w);
    w->drops = drop;
    w->ndrops = 2;
    int64_t rto = tcp_rto_ps(w->e[0].c);
    send_to(w, 100);
    run(w, w->now + 14 * MS);                               /* 5 and 10 ms after */
    assert_int_equal(tcp_counters(w->e[0].c)->timeouts, 1);
    run(w, w->now + 5 * MS);
    assert_int_equal(tcp_counters(w->e[0].c)->timeouts, 2);
    assert_int_equal(w->e[1].got, 100);
    assert_int_equal(tcp_rto_ps(w->e[0].c), 4 * rto);       /* Karn: the answer to a resent segment is no sample */
    send_to(w, 200);
    run(w, w->now + MS);
    assert_int_equal(tcp_rto_ps(w->e[0].c), rto);
    pair_free(w);
}

/* truth.md section 4, item 32. */
static void rfc9293_3_6_fin_during_sack_recovery(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    static const uint64_t drop[] = { 2, 3 };
    open_up(w);
    w->drops = drop;
    w->ndrops = 2;
    send_to(w, 20 * 1448);
    run(w, w->now + 25 * US);
    tcp_close(w->e[0].c, w->now);
    tcp_close(w->e[1].c, w->now);
    run(w, w->now + 100 * MS);
    assert_int_equal(w->e[1].got, 20 * 1448);
    assert_int_equal(tcp_counters(w->e[0].c)->timeouts, 0);
    for (int i = 0; i < 2; i++)
        assert_true(tcp_state(w->e[i].c) == TCP_TIME_WAIT || tcp_state(w->e[i].c) == TCP_CLOSED);
    pair_free(w);
}

/* RFC 5681 3.2, RFC 6675, RFC 6582: one loss in a window costs one retransmission and no timeout. */
static void fast_retransmit(void **state)
{
    (void)state;
    static const struct { int sack, rack, ts; } t[] = { { 1, 1, 1 }, { 1, 0, 1 }, { 0, 0, 1 }, { 0, 0, 0 }, { 1, 1, 0 } };
    static const uint64_t drop[] = { 30 };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct tcp_params p = defaults();
        p.sack = t[i].sack;
        p.rack = t[i].rack;
        p.timestamps = t[i].ts;
        struct pair *w = pair_new(&p, &p, 10 * US, 0);
        open_up(w);
        w->gap_ps = 123000;                                 /* RACK tells by time: packets of one instant look reordered */
        w->drops = drop;
        w->ndrops = 1;
        send_to(w, 200 * 1448);
        run(w, w->now + 100 * MS);
        assert_int_equal(w->e[1].got, 200 * 1448);
        if (w->resent != 1 || tcp_counters(w->e[0].c)->timeouts)
            fail_msg("case %zu: %llu sent again, %llu timeouts", i, (unsigned long long)w->resent, (unsigned long long)tcp_counters(w->e[0].c)->timeouts);
        pair_free(w);
    }
}

static void sequence_numbers_wrap(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    static const uint64_t drop[] = { 3, 40, 41 };
    struct pair *w = pair_new(&p, &p, 10 * US, 0xffffff00u);
    open_up(w);
    w->drops = drop;
    w->ndrops = 3;
    send_to(w, 400000);
    run(w, w->now + 100 * MS);
    assert_int_equal(w->e[1].got, 400000);
    assert_int_equal(w->e[0].acked, 400000);
    pair_free(w);
}

/* RFC 9293 3.8.6.3: an acknowledgement for each second segment; item 29's kind. */
static void delayed_acknowledgements(void **state)
{
    (void)state;
    static const int64_t count[] = { 1, 2, 4 };
    for (size_t i = 0; i < 3; i++) {
        struct tcp_params p = defaults();
        p.delayed_ack_count = count[i];
        p.initial_window_count = 100;
        struct pair *w = pair_new(&p, &p, 10 * US, 0);
        open_up(w);
        uint64_t before = tcp_counters(w->e[1].c)->acks_sent;
        send_to(w, 100 * 1448);
        run(w, w->now + MS / 2);
        /* One more may tell of the window, which opens beyond the SYN's 64 KiB. */
        uint64_t acks = tcp_counters(w->e[1].c)->acks_sent - before, want = (uint64_t)(100 / count[i]);
        assert_true(acks == want || acks == want + 1);
        pair_free(w);
    }
}

/* RFC 9293 3.8.6.1: a closed window is probed, and opens again. */
static void zero_window(void **state)
{
    (void)state;
    struct tcp_params p = defaults(), small = defaults();
    small.receive_buffer_bytes = 20000;
    struct pair *w = pair_new(&p, &small, 10 * US, 0);
    open_up(w);
    w->e[1].lazy = true;
    send_to(w, 100000);
    run(w, w->now + 200 * MS);
    assert_true(w->e[1].got <= 20000 && w->e[1].got > 15000);
    assert_true(tcp_counters(w->e[0].c)->window_probes > 0);
    w->e[1].lazy = false;
    tcp_consumed(w->e[1].c, w->now, w->e[1].got);
    run(w, w->now + 2 * SIM_PS_PER_S);
    assert_int_equal(w->e[1].got, 100000);
    pair_free(w);
}

static void reset_tells_the_user(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    open_up(w);
    tcp_abort(w->e[0].c, w->now);
    run(w, w->now + MS);
    assert_int_equal(tcp_state(w->e[1].c), TCP_CLOSED);
    assert_true(w->e[1].error != 0);
    pair_free(w);
}

static void reassembly_limit_drops_and_recovers(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    p.reassembly_limit_bytes = 5 * 1448;
    static const uint64_t drop[] = { 20 };
    struct pair *w = pair_new(&p, &p, 10 * US, 0);
    open_up(w);
    w->drops = drop;
    w->ndrops = 1;
    send_to(w, 100 * 1448);
    run(w, w->now + SIM_PS_PER_S);
    assert_int_equal(w->e[1].got, 100 * 1448);
    assert_true(tcp_counters(w->e[1].c)->reassembly_drops > 0);
    pair_free(w);
}

/* Whatever the wire does: each byte once, in order. */
static void random_wires(void **state)
{
    (void)state;
    int runs = getenv("RNICSIM_TEST_LONG") ? 3000 : 300;
    for (int k = 0; k < runs; k++) {
        struct tcp_params p = defaults();
        struct sim_rng r;
        sim_rng_init(&r, 5, (uint64_t)k, SIM_RNG_TEST);
        p.sack = sim_rng_below(&r, 4) > 0;
        p.rack = sim_rng_below(&r, 2);
        p.tlp = sim_rng_below(&r, 2);
        p.timestamps = sim_rng_below(&r, 2);
        p.delayed_ack_count = 1 + sim_rng_below(&r, 3);
        p.limited_transmit = sim_rng_below(&r, 2);
        p.receive_buffer_bytes = 10000 + sim_rng_below(&r, 200000);
        struct pair *w = pair_new(&p, &p, 10 * US, sim_rng_u32(&r));
        w->rng = r;
        open_up(w);
        w->loss = 0.002 * sim_rng_below(&w->rng, 50);
        w->dup = 0.002 * sim_rng_below(&w->rng, 20);
        w->jitter_ps = sim_rng_below(&w->rng, 3) * 20 * US;
        uint64_t bytes = 1 + sim_rng_below(&w->rng, 200000);
        send_to(w, bytes);
        run(w, w->now + 3000 * SIM_PS_PER_S);
        if (w->e[1].got != bytes || w->e[0].acked != bytes)
            fail_msg("run %d: %llu of %llu bytes came, %llu acknowledged; state %d error %d", k, (unsigned long long)w->e[1].got, (unsigned long long)bytes,
                     (unsigned long long)w->e[0].acked, tcp_state(w->e[0].c), w->e[0].error);
        w->loss = w->dup = 0;
        tcp_close(w->e[0].c, w->now);
        tcp_close(w->e[1].c, w->now);
        run(w, w->now + 200 * SIM_PS_PER_S);
        assert_int_equal(tcp_state(w->e[0].c), TCP_CLOSED);
        assert_int_equal(tcp_state(w->e[1].c), TCP_CLOSED);
        pair_free(w);
    }
}

/* RFC 6675 section 4, NextSeg rules 3 and 4: the hole near the tail goes again without a timeout. */
static void rfc6675_4_hole_near_the_tail(void **state)
{
    (void)state;
    static const struct { uint64_t drop[3]; size_t n; } t[] = { { { 4, 8 }, 2 }, { { 4, 9 }, 2 }, { { 3, 7, 8 }, 3 } };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct tcp_params p;
        assert_int_equal(tcp_params_preset(&p, "toe"), SIM_OK);
        p.delayed_ack_count = 1;
        struct pair *w = pair_new(&p, &p, 10 * US, 0);
        open_up(w);
        w->drops = t[i].drop;
        w->ndrops = t[i].n;
        int64_t from = w->now;
        send_to(w, 10 * 1448);
        run(w, w->now + 100 * MS);
        assert_int_equal(w->e[1].got, 14480);
        assert_int_equal(tcp_counters(w->e[0].c)->timeouts, 0);
        assert_true(w->e[0].acked_ps - from <= 80 * US);
        pair_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_transfer_and_close), cmocka_unit_test(simultaneous_close), cmocka_unit_test(lost_syn_is_sent_again),
        cmocka_unit_test(rfc6298_5_3_last_of_ten_lost_without_probe), cmocka_unit_test(rfc8985_7_tail_loss_probe), cmocka_unit_test(rfc6298_3_timeout_is_recomputed_after_two),
        cmocka_unit_test(rfc9293_3_6_fin_during_sack_recovery), cmocka_unit_test(fast_retransmit), cmocka_unit_test(rfc6675_4_hole_near_the_tail), cmocka_unit_test(sequence_numbers_wrap),
        cmocka_unit_test(delayed_acknowledgements), cmocka_unit_test(zero_window), cmocka_unit_test(reset_tells_the_user),
        cmocka_unit_test(reassembly_limit_drops_and_recovers), cmocka_unit_test(random_wires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
