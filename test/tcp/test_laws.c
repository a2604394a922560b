/* SPDX-License-Identifier: GPL-2.0-only */
/* Throughput under loss against closed forms: Mathis et al. 1997 for Reno, RFC 9438 5.1 for CUBIC. No delayed acknowledgements. */
#include "pair.h"

#include <math.h>

static void rare_timeouts(struct tcp_params *p)
{
    *p = defaults();
    p->delayed_ack_count = 1;
    p->rto_min_ps = 200 * MS;
    p->tlp = p->rack = 0;
}

/* Packets a round trip from `warm_s` on, `measured_s` long; the round trip is 2 * delay. */
static double packets_per_round_trip(const char *cc, int64_t delay_ps, uint64_t every, double loss, double warm_s, double measured_s)
{
    struct tcp_params p;
    rare_timeouts(&p);
    struct pair *w = pair_new_cc(&p, &p, delay_ps, 0, cc_find(cc), NULL);
    sim_rng_init(&w->rng, 7, every, SIM_RNG_TEST);
    run(w, 10 * delay_ps);
    w->drop_every = every;
    w->data_loss = loss;
    send_to(w, UINT64_C(100000000) * 1448);
    run(w, w->now + (int64_t)(warm_s * SIM_PS_PER_S));
    uint64_t from = w->e[1].got;
    run(w, w->now + (int64_t)(measured_s * SIM_PS_PER_S));
    double packets = (double)(w->e[1].got - from) / 1448 / (measured_s * SIM_PS_PER_S / (double)(2 * delay_ps));
    pair_free(w);
    return packets;
}

static void near(double packets, double law, double within, double loss)
{
    print_message("p = %.6f: %.2f packets a round trip, the law says %.2f (%+.1f %%)\n", loss, packets, law, (packets / law - 1) * 100);
    if (fabs(packets / law - 1) > within)
        fail_msg("p = %g: %.2f packets a round trip, the law says %.2f", loss, packets, law);
}

static void mathis_periodic_loss(void **state)
{
    static const uint64_t every[] = { 1000, 4000, 10000 };
    (void)state;
    for (size_t i = 0; i < sizeof every / sizeof every[0]; i++)
        near(packets_per_round_trip("reno", 5 * MS, every[i], 0, 10, 40), sqrt(1.5 * (double)every[i]), 0.05, 1. / (double)every[i]);
}

static void mathis_iid_loss(void **state)
{
    static const struct { double p, measured_s; } t[] = { { 1e-3, 150 }, { 3e-4, 200 }, { 1e-4, 300 } };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        near(packets_per_round_trip("reno", 5 * MS, 0, t[i].p, 20, t[i].measured_s), 1.31 / sqrt(t[i].p), 0.10, t[i].p);
}

static void rfc9438_5_1_response_function(void **state)
{
    (void)state;
    double law = 1.054 * pow(0.1, 0.75) / pow(1e-4, 0.75);
    near(packets_per_round_trip("cubic", 50 * MS, 10000, 0, 60, 120), law, 0.10, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mathis_periodic_loss), cmocka_unit_test(mathis_iid_loss), cmocka_unit_test(rfc9438_5_1_response_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
