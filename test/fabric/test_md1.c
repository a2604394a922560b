/* SPDX-License-Identifier: GPL-2.0-only */
/* M/D/1 at a host's port: Poisson posts of equal packets; the mean wait and its 99th percentile. */
#include "net.h"

#define PAYLOAD 1024
#define RATE 100000000000

struct poisson { struct net *n; struct sim_rng rng; double mean_ps; uint64_t left; };

static void post(struct sim *s, void *ctx, void *arg)
{
    struct poisson *a = ctx;
    (void)arg;
    net_post(&a->n->raw[0]);
    if (--a->left)
        sim_at(s, sim_now(s) + (int64_t)(sim_rng_exponential(&a->rng, a->mean_ps) + 0.5), sim_key_node(0, SIM_KIND_WAKE, 1), post, a, NULL);
}

/* Behind the host's port all links are equal, so all waiting is at it. */
static double *wait_ps;
static void on_arrive(struct raw *r, struct pkt *p)
{
    int64_t unloaded_ps = 2 * (port_wire_time_ps(PAYLOAD + 62, RATE) - 12 * 80) + 2 * SIM_PS_PER_US;
    wait_ps[r->got - 1] = (double)(sim_now(r->net->s) - (int64_t)p->chunk[0].u.pattern.seed - unloaded_ps);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void md1(double rho, double p99_services, uint64_t packets, double mean_tolerance, double p99_tolerance)
{
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    struct net *n = net_star(2, &link, &sw, NULL);
    double service = (double)port_wire_time_ps(PAYLOAD + 62, RATE), sum = 0;
    struct poisson a = { .n = n, .mean_ps = service / rho, .left = packets };
    wait_ps = malloc(packets * sizeof *wait_ps);
    n->raw[0].payload = PAYLOAD;
    n->raw[1].on_arrive = on_arrive;
    sim_rng_init(&a.rng, 11, 0, SIM_RNG_TEST);
    sim_at(n->s, 0, sim_key_node(0, SIM_KIND_WAKE, 1), post, &a, NULL);
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(n->raw[1].got, packets);
    for (uint64_t i = 0; i < packets; i++)
        sum += wait_ps[i];
    qsort(wait_ps, packets, sizeof *wait_ps, ascending);
    double mean = sum / (double)packets / service, want = rho / (2 * (1 - rho)), p99 = wait_ps[(packets * 99 + 99) / 100 - 1] / service;
    assert_true(wait_ps[0] == 0);
    if (fabs(mean / want - 1) > mean_tolerance)
        fail_msg("rho %.2f: mean wait %.4f services, M/D/1 says %.4f", rho, mean, want);
    if (fabs(p99 / p99_services - 1) > p99_tolerance)
        fail_msg("rho %.2f: p99 %.3f services, M/D/1 says %.3f", rho, p99, p99_services);
    free(wait_ps);
    net_free(n);
}

/* rho / 2(1 - rho); percentiles by the M/D/1 distribution. */
static void md1_at_one_port(void **state)
{
    bool longer = getenv("RNICSIM_TEST_LONG") != NULL;
    (void)state;
    md1(0.5, 3.34, 1000000, 0.02, 0.05);
    md1(0.7, 6.49, 1000000, 0.02, 0.05);
    md1(0.8, 10.36, 2000000, 0.02, 0.05);
    /* At .9 the wait stays correlated over a thousand packets: 1e7 packets hold 2 %, fewer only more. */
    md1(0.9, 21.9, longer ? 10000000 : 2000000, longer ? 0.02 : 0.04, longer ? 0.05 : 0.08);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(md1_at_one_port) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
