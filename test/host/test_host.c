/* SPDX-License-Identifier: GPL-2.0-only */
/* Hosts: the NIC's scheduler, pacing, receive buffer, cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/wire/codec.h"
#include "two_hosts.h"

#define EPS 1100

/* Sends `left` packets to qpn at the other host, the next not before ready_ps. */
struct dummy { struct endpoint ep; uint32_t qpn, dst, left; int64_t ready_ps, gap_ps; uint64_t sent, got; int64_t last_ps, least_gap_ps; };

struct world { struct two_hosts n; struct dummy *d; };

static bool dummy_tx(struct endpoint *ep, int64_t now_ps, struct pkt *out)
{
    struct dummy *d = (struct dummy *)ep;
    if (!d->left || now_ps < d->ready_ps)
        return false;
    out->kind = PKT_ROCE;
    out->src = host_addr(ep->host);
    out->dst = pkt_addr_of_node(d->dst);
    out->dport = WIRE_ROCE_PORT;
    out->ttl = 64;
    out->roce.opcode = ROCE_SEND_ONLY;
    out->roce.dqpn = d->qpn;
    pkt_add_pattern(out, 1000, 1, 0);
    pkt_set_len(out);
    d->left--;
    d->sent++;
    if (d->sent > 1 && now_ps - d->last_ps < d->least_gap_ps)
        d->least_gap_ps = now_ps - d->last_ps;
    d->last_ps = now_ps;
    d->ready_ps = now_ps + d->gap_ps;
    return true;
}

static void dummy_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    (void)now_ps;
    (void)p;
    ((struct dummy *)ep)->got++;
}

static void dummy_wake(struct endpoint *ep, int64_t now_ps) { (void)ep; (void)now_ps; }
static int64_t dummy_ready(const struct endpoint *ep) { return ((const struct dummy *)ep)->left ? ((const struct dummy *)ep)->ready_ps : SIM_NEVER_PS; }
static int64_t dummy_next(const struct endpoint *ep) { (void)ep; return SIM_NEVER_PS; }
static const struct endpoint_ops dummy_ops = { .rx = dummy_rx, .tx = dummy_tx, .wake = dummy_wake, .ready_ps = dummy_ready, .next_wake_ps = dummy_next };

/* Endpoints 1 .. n at host 0 and as many at host 1, with the QPN of their number. */
static struct world *world(const struct host_params *hp, uint32_t n)
{
    struct world *w = calloc(1, sizeof *w);
    two_hosts_open(&w->n, hp, hp);
    w->d = calloc(2 * EPS, sizeof *w->d);
    for (uint32_t k = 0; k < 2 * n; k++) {
        struct dummy *d = &w->d[k];
        uint32_t side = k >= n;
        *d = (struct dummy){ .ep = { .ops = &dummy_ops, .id = k }, .qpn = k % n + 1, .dst = !side, .least_gap_ps = SIM_NEVER_PS };
        host_set_offloaded(w->n.h[side], &d->ep, true);
        host_attach(w->n.h[side], &d->ep);
        assert_int_equal(host_bind_roce(w->n.h[side], d->qpn, &d->ep), SIM_OK);
    }
    return w;
}

static void world_free(struct world *w)
{
    two_hosts_close(&w->n);
    free(w->d);
    free(w);
}

static struct host_params ideal(void)
{
    struct host_params p;
    host_profile_apply(host_profile_find("ideal"), &p);
    return p;
}

static void round_robin_is_fair(void **state)
{
    (void)state;
    for (int costs = 0; costs < 2; costs++) {
        struct host_params p = ideal();
        if (costs)
            host_profile_apply(host_profile_find("rnic-roce"), &p);
        struct world *w = world(&p, 3);
        for (int k = 0; k < 3; k++) {
            w->d[k].left = 1000;
            endpoint_changed(&w->d[k].ep);
        }
        sim_run(w->n.s, 100 * SIM_PS_PER_US);
        for (int k = 0; k < 3; k++) {
            assert_in_range(w->d[k].sent, w->d[0].sent - 2, w->d[0].sent + 2); /* the first one starts alone */
            assert_true(w->d[k].sent > 300);
        }
        sim_run(w->n.s, SIM_NEVER_PS);
        for (int k = 0; k < 3; k++)
            assert_int_equal(w->d[3 + k].got, 1000);
        world_free(w);
    }
}

static void idle_endpoints_are_not_scanned(void **state)
{
    (void)state;
    struct host_params p = ideal();
    struct world *w = world(&p, EPS);
    w->d[7].left = 2000;
    endpoint_changed(&w->d[7].ep);
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(w->d[EPS + 7].got, 2000);
    assert_true(host_stats(w->n.h[0])->tx_asked <= 2010);
    world_free(w);
}

static void pacing_is_honoured(void **state)
{
    (void)state;
    for (int costs = 0; costs < 2; costs++) {
        struct host_params p = ideal();
        if (costs)
            host_profile_apply(host_profile_find("rnic-roce"), &p);
        struct world *w = world(&p, 2);
        w->d[0].left = w->d[1].left = 200;
        w->d[0].gap_ps = 10 * SIM_PS_PER_US;
        endpoint_changed(&w->d[0].ep);
        endpoint_changed(&w->d[1].ep);
        sim_run(w->n.s, SIM_NEVER_PS);
        assert_int_equal(w->d[2].got, 200);
        assert_true(w->d[0].least_gap_ps >= 10 * SIM_PS_PER_US);
        assert_true(sim_now(w->n.s) < 199 * 11 * SIM_PS_PER_US);   /* and not slower for it */
        world_free(w);
    }
}

static void nobody_there_is_counted(void **state)
{
    (void)state;
    struct host_params p = ideal();
    struct world *w = world(&p, 1);
    w->d[0].left = 5;
    w->d[0].qpn = 77;
    endpoint_changed(&w->d[0].ep);
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(fabric_audit(w->n.f)->dropped[FABRIC_DROP_NO_ENDPOINT][0], 5);
    world_free(w);
}

static void slow_nic_drops_what_its_buffer_cannot_hold(void **state)
{
    (void)state;
    struct host_params p = ideal();
    p.rx_packet_ps = 500 * SIM_PS_PER_NS;                        /* frames come each 86 ns */
    p.rx_buffer_bytes = 20000;
    p.rx_xoff_bytes = 20000;
    struct world *w = world(&p, 1);
    w->d[0].left = 500;
    endpoint_changed(&w->d[0].ep);
    sim_run(w->n.s, SIM_NEVER_PS);
    uint64_t dropped = fabric_audit(w->n.f)->dropped[FABRIC_DROP_NIC_RX][0];
    assert_int_equal(w->d[1].got + dropped, 500);
    assert_in_range(dropped, 300, 450);
    world_free(w);
}

struct job { struct world *w; int64_t done_ps; };
static void job_done(struct sim *s, void *ctx, void *arg)
{
    (void)arg;
    ((struct job *)ctx)->done_ps = sim_now(s);
}

static void cores_serve_first_come_first_served(void **state)
{
    (void)state;
    struct host_params p = ideal();
    p.cores = 2;
    struct world *w = world(&p, 1);
    struct job j[4];
    static const int64_t cost[4] = { 5, 3, 2, 4 }, done[4] = { 5, 8, 2, 12 };
    static const uint32_t core[4] = { 0, 0, 1, 2 };              /* core numbers wrap: 2 is 0 */
    for (int i = 0; i < 4; i++) {
        j[i].w = w;
        host_cpu_run(w->n.h[0], core[i], cost[i] * SIM_PS_PER_US, job_done, &j[i], NULL);
    }
    sim_run(w->n.s, SIM_NEVER_PS);
    for (int i = 0; i < 4; i++)
        assert_int_equal(j[i].done_ps, done[i] * SIM_PS_PER_US);
    assert_int_equal(host_cpu_busy_ps(w->n.h[0]), 14 * SIM_PS_PER_US);
    world_free(w);
}

static void every_profile_is_within_its_ranges(void **state)
{
    (void)state;
    for (size_t i = 0; i < host_profile_count; i++) {
        struct host_params p;
        const struct param *bad = NULL;
        host_profile_apply(&host_profiles[i], &p);
        if (param_check(&host_params_table, &p, &bad) != SIM_OK)
            fail_msg("%s: %s", host_profiles[i].name, bad->field);
        assert_true(strlen(host_profiles[i].about) > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin_is_fair), cmocka_unit_test(idle_endpoints_are_not_scanned), cmocka_unit_test(pacing_is_honoured),
        cmocka_unit_test(nobody_there_is_counted), cmocka_unit_test(slow_nic_drops_what_its_buffer_cannot_hold),
        cmocka_unit_test(cores_serve_first_come_first_served), cmocka_unit_test(every_profile_is_within_its_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
