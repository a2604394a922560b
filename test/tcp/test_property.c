/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine alone on random wires: loss, reordering, duplication, marks, near the wrap of sequence numbers, both directions, any settings.
 * Each byte arrives once and in order, both sides close, and nothing grows without bound. */
#include "pair.h"

#include <stdio.h>

static bool mark(struct pair *w, int from, struct pkt *p)
{
    double share = *(const double *)w->see_ctx;
    (void)from;
    if (p->ecn && sim_rng_unit(&w->rng) < share)
        p->ecn = 3;
    return false;
}

static void settings(struct sim_rng *r, struct tcp_params *p)
{
    *p = defaults();
    p->sack = sim_rng_below(r, 4) > 0;
    p->dsack = sim_rng_below(r, 2);
    p->rack = sim_rng_below(r, 2);
    p->tlp = sim_rng_below(r, 2);
    p->prr = sim_rng_below(r, 3);
    p->pacing = sim_rng_below(r, 2);
    p->timestamps = sim_rng_below(r, 2);
    p->window_scale = sim_rng_below(r, 2);
    p->delayed_ack_count = 1 + sim_rng_below(r, 4);
    p->limited_transmit = sim_rng_below(r, 2);
    p->nagle = sim_rng_below(r, 2);
    p->ect_all = sim_rng_below(r, 2);
    p->idle_restart = sim_rng_below(r, 3);
    p->mss_bytes = 200 + sim_rng_below(r, 1300);
    p->receive_buffer_bytes = 4000 + sim_rng_below(r, 200000);
    p->reassembly_limit_bytes = sim_rng_below(r, 4) ? 6291456 : sim_rng_below(r, 20000);
}

static void one(int k)
{
    static const char *const algorithms[] = { "reno", "cubic", "dctcp" };
    struct tcp_params p[2];
    struct sim_rng r;
    sim_rng_init(&r, 11, (uint64_t)k, SIM_RNG_TEST);
    settings(&r, &p[0]);
    settings(&r, &p[1]);
    struct cc_ops cc = *cc_find(algorithms[sim_rng_below(&r, 3)]);
    cc.ecn = cc.ecn || sim_rng_below(&r, 2);
    uint32_t isn = 0u - sim_rng_below(&r, 300000);         /* wraps in the handshake or soon after */
    struct pair *w = pair_new_cc(&p[0], &p[1], 10 * US, isn ? isn : 1, &cc, NULL);
    double marks = 0.01 * sim_rng_below(&r, 60);
    w->rng = r;
    w->see = mark;
    w->see_ctx = &marks;
    w->jitter_ps = sim_rng_below(&w->rng, 3) * 30 * US;
    w->gap_ps = sim_rng_below(&w->rng, 2) * 123000;
    run(w, w->now + 10 * MS);
    assert_int_equal(tcp_state(w->e[1].c), TCP_ESTABLISHED);
    w->loss = 0.002 * sim_rng_below(&w->rng, 50);
    w->dup = 0.002 * sim_rng_below(&w->rng, 30);
    uint64_t bytes[2] = { 1 + sim_rng_below(&w->rng, 300000), sim_rng_below(&w->rng, 100000) };
    for (int part = 1; part <= 3; part++) {                /* in pieces, both ways */
        for (int i = 0; i < 2; i++)
            tcp_stream_end(w->e[i].c, w->now, bytes[i] * (unsigned)part / 3);
        run(w, w->now + sim_rng_below(&w->rng, 20) * MS);
    }
    run(w, w->now + 4000 * SIM_PS_PER_S);
    for (int i = 0; i < 2; i++)
        if (w->e[!i].got != bytes[i] || w->e[i].acked != bytes[i])
            fail_msg("run %d, direction %d: %llu of %llu bytes came, %llu acknowledged; state %d error %d", k, i, (unsigned long long)w->e[!i].got,
                     (unsigned long long)bytes[i], (unsigned long long)w->e[i].acked, tcp_state(w->e[i].c), w->e[i].error);
    w->loss = w->dup = 0;
    int first = (int)sim_rng_below(&w->rng, 2);
    tcp_close(w->e[first].c, w->now);
    run(w, w->now + sim_rng_below(&w->rng, 100) * US);
    tcp_close(w->e[!first].c, w->now);
    run(w, w->now + 200 * SIM_PS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tcp_state(w->e[i].c), TCP_CLOSED);
        assert_int_equal(w->e[i].error, 0);
        assert_int_equal(tcp_pipe(w->e[i].c), 0);
    }
    assert_true(w->n == 0);
    pair_free(w);
}

static void random_wires_at_the_wrap(void **state)
{
    int runs = getenv("RNICSIM_TEST_LONG") ? 5000 : 400;
    (void)state;
    for (int k = 0; k < runs; k++)
        one(k);
}

/* More than 2^32 bytes: the numbers go round in full with a window open all the time. */
static void sequence_numbers_go_round(void **state)
{
    (void)state;
    struct tcp_params p = defaults();
    p.mss_bytes = 60000;
    struct pair *w = pair_new(&p, &p, 10 * US, 0x80000000u);
    open_up(w);
    w->drop_every = 5000;
    uint64_t bytes = (UINT64_C(1) << 32) + 123456;
    send_to(w, bytes);
    run(w, w->now + 100 * SIM_PS_PER_S);
    assert_int_equal(w->e[1].got, bytes);
    assert_int_equal(w->e[0].acked, bytes);
    pair_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_wires_at_the_wrap), cmocka_unit_test(sequence_numbers_go_round) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
