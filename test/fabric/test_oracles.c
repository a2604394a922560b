/* SPDX-License-Identifier: GPL-2.0-only */
/* Closed forms of a fabric, with raw sources and sinks: M/D/1 at a port, PFC headroom, ECN's curve, pause expiry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/fabric/fabric.h"
#include "../../model/fabric/headroom.h"
#include "../../model/fabric/link_params.h"
#include "../../model/fabric/switch_params.h"
#include "../../model/wire/codec.h"

#define NODES 40

/* A host that sends what it is told to, or without end, and counts what comes. */
struct raw {
    struct net *net;
    uint32_t node, dst, payload;
    bool greedy;                 /* always has another frame */
    int64_t stop_ps;
    uint64_t sent, got, marked;
    int64_t last_ps, longest_gap_ps; /* between two frames given to the port */
    struct pkt *head, *tail;
};

struct net {
    struct sim *s;
    struct fabric *f;
    struct raw raw[NODES];
    uint32_t hosts;
    double *wait;                /* of raw[0]'s packets in the NIC, in ps */
    uint64_t nwait, want;
};

static struct pkt *frame(struct raw *r)
{
    struct pkt *p = fabric_pkt_new(r->net->f);
    p->kind = PKT_ROCE;
    p->src = pkt_addr_of_node(r->node);
    p->dst = pkt_addr_of_node(r->dst);
    p->sport = 0xc000;
    p->dport = WIRE_ROCE_PORT;
    p->ttl = 64;
    p->dscp = 26;
    p->ecn = 2;
    p->prio = 3;
    p->roce.opcode = ROCE_SEND_ONLY;
    p->roce.pkey = 0xffff;
    p->roce.psn = (uint32_t)(r->sent & 0xffffff);
    pkt_add_pattern(p, r->payload, 1, 0);
    pkt_set_len(p);
    p->flow_hash = pkt_flow_hash(p->src, p->dst, 17, p->sport, p->dport);
    return p;
}

static struct pkt *raw_pull(void *owner, struct port *port, uint8_t blocked)
{
    struct raw *r = owner;
    (void)port;
    if (blocked >> 3 & 1)
        return NULL;
    struct pkt *p = r->head;
    if (p) {
        r->head = p->next;
        if (r->net->wait && r->node == 0)
            r->net->wait[r->net->nwait++] = (double)(sim_now(r->net->s) - p->stamp_ps);
        r->sent++;
        return p;
    }
    if (!r->greedy || sim_now(r->net->s) >= r->stop_ps)
        return NULL;
    p = frame(r);
    r->sent++;
    int64_t now = sim_now(r->net->s);
    if (r->last_ps && now - r->last_ps > r->longest_gap_ps)
        r->longest_gap_ps = now - r->last_ps;
    r->last_ps = now;
    return p;
}

static void raw_arrive(void *owner, struct port *port, struct pkt *p)
{
    struct raw *r = owner;
    (void)port;
    r->got++;
    r->marked += p->ecn == 3;
    fabric_count_delivered(r->net->f, p);
    fabric_pkt_free(r->net->f, p);
}

static const struct port_ops raw_ops = { raw_pull, raw_arrive, NULL };

static struct net *star(uint32_t hosts, const struct link_params *link, const struct switch_params *sw, uint32_t payload)
{
    struct net *n = calloc(1, sizeof *n);
    char err[300];
    n->s = sim_new(7);
    n->f = fabric_new(n->s, hosts + 1);
    n->hosts = hosts;
    for (uint32_t i = 0; i < hosts; i++)
        fabric_add_host(n->f);
    uint32_t s = fabric_add_switch(n->f, sw);
    for (uint32_t i = 0; i < hosts; i++)
        assert_int_equal(fabric_connect(n->f, i, s, link, NULL, NULL), SIM_OK);
    if (fabric_finish(n->f, err, sizeof err) != SIM_OK)
        fail_msg("%s", err);
    for (uint32_t i = 0; i < hosts; i++) {
        n->raw[i] = (struct raw){ .net = n, .node = i, .dst = 1, .payload = payload, .stop_ps = SIM_NEVER_PS };
        port_attach(fabric_port(n->f, i, 0), &raw_ops, &n->raw[i]);
    }
    return n;
}

static void star_free(struct net *n)
{
    char audit[200];
    if (!fabric_audit_check(n->f, audit, sizeof audit) && !strstr(audit, "lossless"))
        fail_msg("%s", audit);
    for (uint32_t i = 0; i < n->hosts; i++)
        for (struct pkt *p = n->raw[i].head, *next; p; p = next) {
            next = p->next;
            fabric_pkt_free(n->f, p);
        }
    fabric_free(n->f);
    sim_free(n->s);
    free(n->wait);
    free(n);
}

static struct switch_params plain_switch(void)
{
    struct switch_params sw;
    switch_params_init(&sw);
    switch_params_map_dscp(&sw, 26, 3);
    return sw;
}

static struct link_params plain_link(void)
{
    struct link_params link;
    param_defaults(&link_params_table, &link);
    return link;
}

/* --- M/D/1 --- */

struct poisson { struct net *n; struct sim_rng rng; double mean_ps; uint64_t left; };

static void poisson_post(struct sim *s, void *ctx, void *arg)
{
    struct poisson *a = ctx;
    struct raw *r = &a->n->raw[0];
    struct pkt *p = frame(r);
    (void)arg;
    p->stamp_ps = sim_now(s);
    p->next = NULL;
    if (r->head)
        r->tail->next = p;
    else
        r->head = p;
    r->tail = p;
    fabric_count_waiting(a->n->f, 1);
    port_kick(fabric_port(a->n->f, 0, 0));
    if (--a->left)
        sim_at(s, sim_now(s) + (int64_t)(sim_rng_exponential(&a->rng, a->mean_ps) + 0.5), sim_key_node(0, SIM_KIND_WAKE, 1), poisson_post, a, NULL);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void md1(double rho, double p99_services, uint64_t packets, double mean_tolerance, double p99_tolerance)
{
    struct link_params link = plain_link();
    struct switch_params sw = plain_switch();
    struct net *n = star(2, &link, &sw, 1000);
    struct raw *r = &n->raw[0];
    struct pkt *p = frame(r);
    double service = (double)port_wire_time_ps(p->frame_len, link.rate_bps);
    fabric_pkt_free(n->f, p);
    n->wait = malloc(packets * sizeof *n->wait);
    struct poisson a = { .n = n, .mean_ps = service / rho, .left = packets };
    sim_rng_init(&a.rng, 11, 0, SIM_RNG_TEST);
    sim_at(n->s, 0, sim_key_node(0, SIM_KIND_WAKE, 1), poisson_post, &a, NULL);
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(n->nwait, packets);
    double sum = 0;
    for (uint64_t i = 0; i < packets; i++)
        sum += n->wait[i];
    qsort(n->wait, packets, sizeof *n->wait, ascending);
    double mean = sum / (double)packets / service, want = rho / (2 * (1 - rho)), p99 = n->wait[(uint64_t)((double)packets * 0.99) - 1] / service;
    if (fabs(mean / want - 1) > mean_tolerance)
        fail_msg("rho %.2f: mean wait %.4f services, M/D/1 says %.4f", rho, mean, want);
    if (fabs(p99 / p99_services - 1) > p99_tolerance)
        fail_msg("rho %.2f: p99 %.3f services, M/D/1 says %.3f", rho, p99, p99_services);
    fabric_count_waiting(n->f, -(int)packets);
    star_free(n);
}

static void md1_at_one_port(void **state)
{
    (void)state;
    bool longer = getenv("RNICSIM_TEST_LONG") != NULL;
    md1(0.5, 3.34, 1000000, 0.02, 0.05);
    md1(0.7, 6.49, 1000000, 0.02, 0.05);
    md1(0.8, 10.36, 2000000, 0.02, 0.05);
    /* At .9 the wait stays correlated over a thousand packets: 1e7 packets hold 2 %, fewer only more. */
    md1(0.9, 21.9, longer ? 10000000 : 2000000, longer ? 0.02 : 0.04, longer ? 0.05 : 0.08);
}

/* --- PFC headroom --- */

static void begin(struct sim *s, void *ctx, void *arg)
{
    struct raw *r = ctx;
    (void)s;
    (void)arg;
    r->greedy = true;
    port_kick(fabric_port(r->net->f, r->node, 0));
}

/* Senders without end into one host, and another's traffic back to one of them, begun at phase_ps, so that its PAUSE frame waits for a
 * frame just begun at the worst phase; returns the drops. headroom 0: computed. */
static uint64_t incast_drops(uint32_t senders, int64_t rate_bps, int64_t propagation_ps, uint32_t payload, uint64_t headroom, int64_t phase_ps)
{
    struct link_params link = plain_link();
    struct switch_params sw = plain_switch();
    link.rate_bps = rate_bps;
    link.propagation_ps = propagation_ps;
    sw.pfc = 1;
    sw.pfc_xoff_bytes = 20000;
    sw.reserved_bytes = 0;
    sw.buffer_bytes = 400000000;
    sw.max_frame_bytes = payload + 62;
    sw.headroom_bytes = (int64_t)headroom;
    struct net *n = star(senders + 2, &link, &sw, payload);
    for (uint32_t i = 0; i < senders + 2; i++) {
        struct raw *r = &n->raw[i];
        r->greedy = i != 1 && i != 0;
        r->stop_ps = 300 * SIM_PS_PER_US + 10 * propagation_ps;
    }
    n->raw[0].dst = 2;
    for (uint32_t i = 2; i < senders + 2; i++)
        port_kick(fabric_port(n->f, i, 0));
    sim_at(n->s, phase_ps, sim_key_node(0, SIM_KIND_WAKE, 0), begin, &n->raw[0], NULL);
    sim_run(n->s, n->raw[0].stop_ps + 100 * propagation_ps + 2 * SIM_PS_PER_MS);
    const struct fabric_audit *a = fabric_audit(n->f);
    uint64_t drops = a->lossless_buffer_drops;
    assert_true(a->pause_frames > 0);
    if (drops)
        assert_true(a->headroom_short_bytes > 0);
    star_free(n);
    return drops;
}

#define PHASES 8
static void no_loss_at_the_headroom_and_loss_below(void **state)
{
    (void)state;
    static const struct { uint32_t senders; int64_t rate, prop; uint32_t payload; } t[] = {
        { 2, 100000000000, 1000000, 1024 }, { 16, 100000000000, 1000000, 1024 }, { 16, 100000000000, 500000, 4096 }, { 8, 25000000000, 5000000, 1024 },
        { 8, 400000000000, 1000000, 4096 }, { 12, 10000000000, 50000, 256 }, { 2, 40000000000, 50000000, 1024 },
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct headroom_link l = { .rate_bps = t[i].rate, .propagation_ps = t[i].prop, .reaction_quanta = headroom_reaction_quanta(t[i].rate),
                                   .max_frame_bytes = t[i].payload + 62, .cell_bytes = 1 };
        struct headroom_terms terms;
        headroom_compute(&l, &terms);
        uint64_t exact = headroom_exact_bytes(&l);
        assert_true(exact <= terms.total);
        uint64_t below = exact - 2 * (t[i].payload + 62), lost = 0;
        for (int k = 0; k < PHASES; k++) {
            int64_t phase = port_wire_time_ps(t[i].payload + 62, t[i].rate) * k / PHASES;
            if (incast_drops(t[i].senders, t[i].rate, t[i].prop, t[i].payload, k ? 0 : terms.total, phase))
                fail_msg("case %zu: drops at the computed headroom of %llu B", i, (unsigned long long)terms.total);
            lost += incast_drops(t[i].senders, t[i].rate, t[i].prop, t[i].payload, below, phase);
        }
        /* Few senders drain what waits in the headroom while it fills; many hold it. */
        if (!lost && t[i].senders >= 8)
            fail_msg("case %zu: no drops at %llu B, two frames below the worst phase's need of %llu B", i, (unsigned long long)below, (unsigned long long)exact);
    }
}

/* truth.md section 4, item 24. */
static void headroom_larger_than_the_buffer_is_refused(void **state)
{
    (void)state;
    struct switch_params sw = plain_switch();
    struct link_params link = plain_link();
    char err[300] = "";
    sw.pfc = 1;
    sw.buffer_bytes = 1048576;
    sw.headroom_bytes = 33000;
    sw.reserved_bytes = 4096;
    struct sim *s = sim_new(1);
    struct fabric *f = fabric_new(s, 33);
    for (int i = 0; i < 32; i++)
        fabric_add_host(f);
    uint32_t sn = fabric_add_switch(f, &sw);
    for (uint32_t i = 0; i < 32; i++)
        fabric_connect(f, i, sn, &link, NULL, NULL);
    assert_int_equal(fabric_finish(f, err, sizeof err), SIM_ERR_PARAM);
    if (!strstr(err, "138496") && !strstr(err, "138,496"))
        fail_msg("\"%s\" does not say 138496", err);
    fabric_free(f);
    sim_free(s);
}

/* --- ECN --- */

/* Two greedy senders on one port hold its queue at any depth we like: marking by depth follows Kmin, Kmax, Pmax. */
static void ecn_marks_by_the_curve(void **state)
{
    (void)state;
    static const struct { int64_t kmin, kmax; double pmax, low, high; } t[] = {
        { 1000000000, 2000000000, 1, 0, 0 },      /* never deep enough */
        { 0, 1, 1, 0.99, 1 },                     /* always */
    };
    for (size_t i = 0; i < 2; i++) {
        struct link_params link = plain_link();
        struct switch_params sw = plain_switch();
        sw.ecn = 1;
        sw.ecn_kmin_bytes = t[i].kmin;
        sw.ecn_kmax_bytes = t[i].kmax;
        sw.ecn_pmax = t[i].pmax;
        sw.queue_limit_bytes = 200000;
        struct net *n = star(4, &link, &sw, 1024);
        for (uint32_t k = 2; k < 4; k++) {
            n->raw[k].greedy = true;
            n->raw[k].stop_ps = SIM_PS_PER_MS;
            port_kick(fabric_port(n->f, k, 0));
        }
        sim_run(n->s, 2 * SIM_PS_PER_MS);
        double share = (double)n->raw[1].marked / (double)n->raw[1].got;
        assert_true(n->raw[1].got > 5000);
        if (share < t[i].low || share > t[i].high)
            fail_msg("case %zu: %.3f of packets marked", i, share);
        star_free(n);
    }
}

/* truth.md section 4, item 35: two synchronised senders overload a port; losses are roughly equal. */
static void two_synchronised_senders_lose_alike(void **state)
{
    (void)state;
    struct link_params link = plain_link();
    struct switch_params sw = plain_switch();
    sw.queue_limit_bytes = 50000;
    struct net *n = star(4, &link, &sw, 1024);
    for (uint32_t k = 2; k < 4; k++) {
        n->raw[k].greedy = true;
        n->raw[k].stop_ps = SIM_PS_PER_MS;
        n->raw[k].dst = 1;
        port_kick(fabric_port(n->f, k, 0));
    }
    n->raw[3].payload = 1024;
    sim_run(n->s, 2 * SIM_PS_PER_MS);
    const struct fabric_audit *a = fabric_audit(n->f);
    uint64_t lost = a->dropped[FABRIC_DROP_BUFFER][3], sent = n->raw[2].sent + n->raw[3].sent;
    assert_true(lost > sent / 3);
    assert_int_equal(n->raw[1].got + lost, sent);
    star_free(n);
}

struct pause { struct net *n; uint16_t quanta; };
static void send_pause(struct sim *s, void *ctx, void *arg)
{
    const struct pause *p = ctx;
    const uint16_t q[8] = { [3] = p->quanta };
    (void)s;
    (void)arg;
    port_send_pfc(fabric_port(p->n->f, p->n->hosts, 0), 1 << 3, q);
}

static bool lose_resumes(void *ctx, const struct port *from, const struct pkt *p)
{
    (void)ctx;
    (void)from;
    return p->kind == PKT_PFC && p->pfc.quanta[3] == 0;
}

/* truth.md section 4, item 23: 65535 quanta cancelled after 10 us stop for 10 us; with the cancel lost, for 335.5 us at 100 Gb/s. */
static void pause_ends_by_cancel_or_by_itself(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct link_params link = plain_link();
        struct switch_params sw = plain_switch();
        struct net *n = star(2, &link, &sw, 1024);
        struct pause stop = { n, 65535 }, go = { n, 0 };
        n->raw[0].greedy = true;
        n->raw[0].stop_ps = SIM_PS_PER_MS;
        if (lost)
            fabric_loss_set(n->f, lose_resumes, NULL);
        port_kick(fabric_port(n->f, 0, 0));
        sim_at(n->s, 100 * SIM_PS_PER_US, sim_key_node(2, SIM_KIND_WAKE, 0), send_pause, &stop, NULL);
        sim_at(n->s, 110 * SIM_PS_PER_US, sim_key_node(2, SIM_KIND_WAKE, 0), send_pause, &go, NULL);
        sim_run(n->s, 2 * SIM_PS_PER_MS);
        double gap = (double)n->raw[0].longest_gap_ps / 1e6, want = lost ? 335.5 : 10;
        /* The reaction time begins the stop later than the PAUSE, not its end; a frame is finished. */
        if (gap < want - 3 || gap > want + 0.3)
            fail_msg("%s: stood still for %.3f us, expected about %.1f", lost ? "cancel lost" : "cancelled", gap, want);
        star_free(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(md1_at_one_port), cmocka_unit_test(no_loss_at_the_headroom_and_loss_below),
        cmocka_unit_test(headroom_larger_than_the_buffer_is_refused), cmocka_unit_test(ecn_marks_by_the_curve),
        cmocka_unit_test(two_synchronised_senders_lose_alike), cmocka_unit_test(pause_ends_by_cancel_or_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
