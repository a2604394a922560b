/* SPDX-License-Identifier: GPL-2.0-only */
/* Queues against queueing theory, and schedulers, shapers and cut-through against their definitions. */
#include "net.h"

#define US SIM_PS_PER_US
#define RATE 100000000000

/* Poisson packets into a slow port. Senders on equal links would smooth them, so each comes over one of many fast links (1.6 Tb/s) whose own
 * serialisation hardly matters. A wait is what is left of the time from post to arrival without the unloaded time of that size. */
enum { SOURCES = 24 };

struct poisson {
    struct net *n;
    struct sim_rng rng, size;
    double mean_ps;
    bool exponential;            /* sizes: wire bytes, 1,000 on average; else always that */
    uint64_t left;
    uint8_t dscp, prio;
    uint32_t next, key;
};

#define WIRE_MEAN 1000
#define HEADERS (62 + 20)       /* of a RoCE SEND with FCS, preamble and gap */

static struct { double wait, service, squares; uint64_t n; } seen[8];

static double mean(unsigned prio, double sum) { return sum / (double)seen[prio].n; }
static double wait_in_services(unsigned prio) { return seen[prio].wait / seen[prio].service; }

static void on_arrive(struct raw *r, struct pkt *p)
{
    unsigned prio = p->dscp >> 3;
    double service = (double)port_wire_time_ps(p->frame_len, RATE);
    double unloaded = (service - 12 * 80) * (1 + 1.0 / 16); /* both links, up to the last bit */
    seen[prio].wait += (double)(sim_now(r->net->s) - (int64_t)p->chunk[0].u.pattern.seed) - unloaded;
    seen[prio].service += service;
    seen[prio].squares += service * service;
    seen[prio].n++;
}

static void post(struct sim *s, void *ctx, void *arg)
{
    struct poisson *a = ctx;
    struct raw *r = &a->n->raw[2 + a->next++ % SOURCES];
    (void)arg;
    r->dst = 1;
    r->dscp = a->dscp;
    r->prio = a->prio;
    r->payload = WIRE_MEAN - HEADERS;
    if (a->exponential) {
        double x = sim_rng_exponential(&a->size, WIRE_MEAN) - HEADERS;
        r->payload = x < 4 ? 4 : x > 9000 ? 9000 : (uint32_t)x;
    }
    net_post(r);
    if (--a->left)
        sim_at(s, sim_now(s) + (int64_t)(sim_rng_exponential(&a->rng, a->mean_ps) + 0.5), sim_key_node(2, SIM_KIND_WAKE, a->key), post, a, NULL);
}

static struct net *fast_star(void)
{
    struct link_params slow = net_cable(), fast = net_cable();
    struct switch_params sw = net_switch();
    fast.rate_bps = 16 * RATE;
    fast.propagation_ps = slow.propagation_ps = 0;
    sw.buffer_bytes = 4000000000;
    sw.queue_limit_bytes = 3000000000;
    struct net *n = net_new(2 + SOURCES, 1, 9, NULL);
    uint32_t s = fabric_add_switch(n->f, &sw);
    for (uint32_t i = 0; i < 2 + SOURCES; i++)
        net_link(n, i, s, i < 2 ? &slow : &fast);
    net_finish(n);
    n->raw[1].on_arrive = on_arrive;
    memset(seen, 0, sizeof seen);
    return n;
}

static void near_formula(const char *what, double got, double want, double tolerance)
{
    if (fabs(got / want - 1) > tolerance)
        fail_msg("%s: %.4f, formula %.4f", what, got, want);
}

static bool longer(void) { return getenv("RNICSIM_TEST_LONG") != NULL; }
/* A mean wait's relative deviation falls with the root of the count. */
static uint64_t count(void) { return longer() ? 8000000 : 400000; }
static double tolerance(void) { return longer() ? 0.015 : 0.05; }

static void start(struct poisson *a, struct net *n, uint32_t key, double rho, bool exponential, unsigned prio)
{
    *a = (struct poisson){ .n = n, .mean_ps = WIRE_MEAN * 80 / rho, .exponential = exponential, .left = count(), .dscp = (uint8_t)(8 * prio),
                           .prio = (uint8_t)prio, .key = key, .next = key };
    sim_rng_init(&a->rng, 77, key, SIM_RNG_TEST);
    sim_rng_init(&a->size, 78, key, SIM_RNG_TEST);
    sim_at(n->s, 0, sim_key_node(2, SIM_KIND_WAKE, key), post, a, NULL);
}

/* M/D/1: rho / 2(1 - rho) services. */
static void m_d_1_at_a_switch_port(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        double rho = i ? 0.8 : 0.5;
        struct net *n = fast_star();
        struct poisson a;
        start(&a, n, 1, rho, false, 0);
        sim_run(n->s, SIM_NEVER_PS);
        near_formula("M/D/1", wait_in_services(0), rho / (2 * (1 - rho)), tolerance());
        net_free(n);
    }
}

/* M/M/1: rho / (1 - rho) services. A frame is no shorter than its headers nor longer than 9,062 B, which moves the formula by less than 0.5 %. */
static void m_m_1_with_exponential_sizes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        double rho = i ? 0.7 : 0.4;
        struct net *n = fast_star();
        struct poisson a;
        start(&a, n, 1, rho, true, 0);
        sim_run(n->s, SIM_NEVER_PS);
        double load = mean(0, seen[0].service) / a.mean_ps;
        near_formula("load", load, rho, 0.01);
        near_formula("M/M/1", wait_in_services(0), load / (1 - load), tolerance());
        /* Pollaczek and Khinchine with the moments as they came */
        near_formula("M/G/1", mean(0, seen[0].wait), mean(0, seen[0].squares) / a.mean_ps / (2 * (1 - load)), tolerance());
        net_free(n);
    }
}

/* Strict priority without preemption (Cobham 1954): W_high = R / (1 - rho_h), W_low = R / ((1 - rho_h)(1 - rho_h - rho_l)) with R = rho E[S^2] / 2E[S]. */
static void strict_priority_waits(void **state)
{
    (void)state;
    double high = 0.4, low = 0.35, residual = (high + low) / 2;
    struct net *n = fast_star();
    struct poisson a, b;
    start(&a, n, 1, high, false, 6);
    start(&b, n, 2, low, false, 0);
    sim_run(n->s, (int64_t)(count() * (uint64_t)a.mean_ps)); /* while both send */
    near_formula("high", wait_in_services(6), residual / (1 - high), tolerance());
    near_formula("low", wait_in_services(0), residual / ((1 - high) * (1 - high - low)), tolerance());
    sim_run(n->s, SIM_NEVER_PS);
    net_free(n);
}

/* --- shares --- */

static double frame_bytes(const struct raw *r, int prio) { return (double)(r->prio_bytes[prio] - 20 * r->prio_got[prio]); }

/* Quanta are bytes of frames (Shreedhar and Varghese, SIGCOMM'95, section 3): weights share bytes, whatever the sizes. */
static void dwrr_shares_follow_the_weights(void **state)
{
    static const struct { int64_t w[3]; uint32_t payload[3]; bool strict; } t[] = {
        { { 1, 1, 1 }, { 1024, 1024, 1024 }, false }, { { 1, 2, 5 }, { 1024, 1024, 1024 }, false },
        { { 1, 1, 1 }, { 64, 1024, 4096 }, false },   /* by bytes, not by packets */
        { { 3, 7, 2 }, { 9000, 200, 1500 }, false }, { { 1, 4, 1 }, { 1024, 512, 64 }, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        sw.scheduler = SWITCH_DWRR;
        sw.weight_0 = t[i].w[0];
        sw.weight_1 = t[i].w[1];
        sw.weight_2 = t[i].w[2];
        sw.queue_limit_bytes = 300000;
        struct net *n = net_star(8, &link, &sw, NULL);
        for (uint32_t k = 0; k < 6; k++) {
            n->raw[2 + k].prio = (uint8_t)(k % 3);
            n->raw[2 + k].dscp = (uint8_t)(k % 3 * 8);
            n->raw[2 + k].payload = t[i].payload[k % 3];
            net_greedy(&n->raw[2 + k], 1, 20 * SIM_PS_PER_MS);
        }
        if (t[i].strict) { /* a strict queue on top takes what it offers, the others share the rest */
            n->raw[0].prio = 7;
            n->raw[0].dscp = 56;
            for (int k = 0; k < 5000; k++)
                net_post(&n->raw[0])->dst = pkt_addr_of_node(1);
        }
        double before[3], frames[3], sum = 0, weights = 0;
        sim_run(n->s, 200 * US);
        for (int k = 0; k < 3; k++)
            before[k] = frame_bytes(&n->raw[1], k);
        sim_run(n->s, 19 * SIM_PS_PER_MS);
        for (int k = 0; k < 3; k++) {
            sum += frames[k] = frame_bytes(&n->raw[1], k) - before[k];
            weights += (double)t[i].w[k];
        }
        for (int k = 0; k < 3; k++)
            if (fabs(frames[k] / sum / ((double)t[i].w[k] / weights) - 1) > 0.01)
                fail_msg("case %zu, queue %d: %.4f of the bytes, weight %.4f", i, k, frames[k] / sum, (double)t[i].w[k] / weights);
        if (t[i].strict)
            assert_int_equal(n->raw[1].prio_got[7], 5000);
        net_free(n);
    }
}

/* A shaper holds its queue to its rate on the wire, and no burst is longer than it may be; the rest is for the others. */
static void shapers_hold_their_rate(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    sw.shaper.rate_5_bps = 20000000000;
    sw.shaper.burst_bytes = 20000;
    sw.queue_limit_bytes = 200000;
    struct net *n = net_star(5, &link, &sw, NULL);
    n->raw[2].prio = 5; /* above the other: only the shaper can hold it */
    n->raw[2].dscp = 40;
    net_greedy(&n->raw[2], 1, 10 * SIM_PS_PER_MS);
    net_greedy(&n->raw[3], 1, 10 * SIM_PS_PER_MS);
    for (int64_t window = 0; window < 90; window++) {
        uint64_t from = n->raw[1].prio_bytes[5];
        sim_run(n->s, (window + 1) * 100 * US);
        double bytes = (double)(n->raw[1].prio_bytes[5] - from);
        if (bytes > 20e9 / 8 * 100e-6 + 20000 + 1106)
            fail_msg("%.0f B in 100 us", bytes);
    }
    double rate = (double)n->raw[1].prio_bytes[5] * 8 / 9e-3, rest = (double)n->raw[1].prio_bytes[3] * 8 / 9e-3;
    near_formula("shaped", rate, 20e9, 0.005);
    near_formula("the rest", rest, 80e9, 0.005);
    sim_run(n->s, SIM_NEVER_PS);
    net_free(n);
}

/* --- cut-through --- */

static int64_t one_way(const struct switch_params *sw, int64_t in_bps, int64_t out_bps, uint32_t payload)
{
    struct link_params a = net_cable(), b = net_cable();
    a.rate_bps = in_bps;
    b.rate_bps = out_bps;
    struct net *n = net_new(2, 1, 1, NULL);
    uint32_t s = fabric_add_switch(n->f, sw);
    net_link(n, 0, s, &a);
    net_link(n, 1, s, &b);
    net_finish(n);
    n->raw[0].payload = payload;
    net_post(&n->raw[0]);
    sim_run(n->s, SIM_NEVER_PS);
    int64_t t = n->raw[1].first_ps;
    net_free(n);
    return t;
}

static void unloaded_times_are_exact(void **state)
{
    (void)state;
    struct switch_params sw = net_switch();
    sw.pipeline_latency_ps = 300000;
    int64_t frame = (4096 + 62 + 8) * 80, head = (64 + 8) * 80, cable = 2 * US, pipe = 300000;
    assert_int_equal(one_way(&sw, RATE, RATE, 4096), 2 * frame + cable + pipe);
    sw.forwarding = SWITCH_CUT_THROUGH;
    assert_int_equal(one_way(&sw, RATE, RATE, 4096), head + frame + cable + pipe);
    assert_int_equal(one_way(&sw, RATE, RATE / 2, 4096), head + 2 * frame + cable + pipe);      /* a slower way out may begin as well */
    assert_int_equal(one_way(&sw, RATE / 2, RATE, 4096), 2 * frame + frame + cable + pipe);     /* a faster one may not: it would run dry */
    sw.cut_through_bytes = 512;
    assert_int_equal(one_way(&sw, RATE, RATE, 4096), (512 + 8) * 80 + frame + cable + pipe);
    assert_int_equal(one_way(&sw, RATE, RATE, 64), 2 * (126 + 8) * 80 + cable + pipe);          /* shorter than the head */
}

/* PFC at a switch that cuts through: still no loss at the headroom computed. */
static void cut_through_keeps_lossless(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    sw.pfc = 1;
    sw.pfc_xoff_bytes = 20000;
    sw.reserved_bytes = 0;
    sw.max_frame_bytes = 1086;
    sw.forwarding = SWITCH_CUT_THROUGH;
    struct net *n = net_star(18, &link, &sw, NULL);
    for (uint32_t i = 2; i < 18; i++)
        net_greedy(&n->raw[i], 1, SIM_PS_PER_MS);
    sim_run(n->s, 3 * SIM_PS_PER_MS);
    assert_true(fabric_audit(n->f)->pause_frames > 0);
    assert_int_equal(fabric_audit(n->f)->lossless_buffer_drops, 0);
    sim_run(n->s, SIM_NEVER_PS);
    uint64_t sent = 0;
    for (uint32_t i = 2; i < 18; i++)
        sent += n->raw[i].sent;
    assert_int_equal(n->raw[1].got, sent);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m_d_1_at_a_switch_port), cmocka_unit_test(m_m_1_with_exponential_sizes), cmocka_unit_test(strict_priority_waits),
        cmocka_unit_test(dwrr_shares_follow_the_weights), cmocka_unit_test(shapers_hold_their_rate), cmocka_unit_test(unloaded_times_are_exact),
        cmocka_unit_test(cut_through_keeps_lossless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
