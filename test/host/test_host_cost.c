/* SPDX-License-Identifier: GPL-2.0-only */
/* What hosts charge: completions by mode, interrupts, softirq and GRO, transmit passes, pipelines, priorities, the NIC's own pauses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "flows.h"

/* --- completions --- */

struct seen { int64_t at_ps; };
static void see(struct sim *s, void *ctx, void *arg) { (void)arg; ((struct seen *)ctx)->at_ps = sim_now(s); }
struct later { struct host *h; struct seen *seen; };
static void complete_later(struct sim *s, void *ctx, void *arg)
{
    struct later *l = ctx;
    (void)s;
    (void)arg;
    host_complete(l->h, 0, 64, see, l->seen, NULL);
}

#define FIRST_PS (10 * SIM_PS_PER_US)

/* Two completions, the second `gap` after the first: when each is seen, and what the core has burnt by 200 us. */
static void completion_modes(void **state)
{
    (void)state;
    struct host_params p = profile("ideal");
    p.dma_latency_ps = 100 * NS;
    p.cqe_ps = 40 * NS;
    p.irq_latency_ps = 600 * NS;
    p.irq_ps = 500 * NS;
    p.wakeup_cpu_ps = 700 * NS;
    p.wakeup_ps = 1500 * NS;
    p.spin_ps = 20 * SIM_PS_PER_US;
    const int64_t poll = 140 * NS, sleep = poll + 3300 * NS, moderated = 30 * SIM_PS_PER_US;
    const int64_t cqe = 40 * NS, wake = 1200 * NS, end = 200 * SIM_PS_PER_US;
    const struct { int64_t mode, gap_ps, irq_gap_ps, first_ps, second_ps, busy_ps; uint64_t interrupts, wakeups; } row[] = {
        { HOST_POLL, 5 * SIM_PS_PER_US, 0, poll, poll, end - FIRST_PS - 100 * NS, 0, 0 },
        { HOST_EVENT, 10 * SIM_PS_PER_US, 0, sleep, sleep, 2 * (wake + cqe), 2, 2 },
        { HOST_EVENT, 1 * NS, 0, sleep, sleep + 39 * NS, wake + 2 * cqe, 1, 1 },        /* comes while it wakes */
        { HOST_EVENT, 10 * SIM_PS_PER_US, moderated, sleep, sleep + 20 * SIM_PS_PER_US, 2 * (wake + cqe), 2, 2 },
        { HOST_ADAPTIVE, 10 * SIM_PS_PER_US, 0, sleep, poll, wake + 2 * cqe + (10 * SIM_PS_PER_US - 3340 * NS) + 20 * SIM_PS_PER_US, 1, 1 },
        { HOST_ADAPTIVE, 40 * SIM_PS_PER_US, 0, sleep, sleep, 2 * (wake + cqe) + 40 * SIM_PS_PER_US, 2, 2 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        p.completion = row[i].mode;
        p.irq_gap_ps = row[i].irq_gap_ps;
        struct world *w = world(&p, &p, PKT_ROCE);
        struct seen seen[2] = { { -1 }, { -1 } };
        struct later l[2] = { { w->n.h[0], &seen[0] }, { w->n.h[0], &seen[1] } };
        for (int k = 0; k < 2; k++)
            sim_at(w->n.s, FIRST_PS + k * row[i].gap_ps, 0, complete_later, &l[k], NULL);
        sim_run(w->n.s, end);
        if (seen[0].at_ps != FIRST_PS + row[i].first_ps || seen[1].at_ps != FIRST_PS + row[i].gap_ps + row[i].second_ps ||
            host_cpu_busy_ps(w->n.h[0]) != row[i].busy_ps || host_stats(w->n.h[0])->interrupts != row[i].interrupts ||
            host_stats(w->n.h[0])->wakeups != row[i].wakeups)
            fail_msg("row %zu: seen after %lld and %lld ps, busy %lld not %lld ps, %llu interrupts, %llu wake-ups", i,
                     (long long)(seen[0].at_ps - FIRST_PS), (long long)(seen[1].at_ps - FIRST_PS - row[i].gap_ps),
                     (long long)host_cpu_busy_ps(w->n.h[0]), (long long)row[i].busy_ps, (unsigned long long)host_stats(w->n.h[0])->interrupts,
                     (unsigned long long)host_stats(w->n.h[0])->wakeups);
        world_free(w);
    }
}

static void doorbells_cost_and_stay_in_order(void **state)
{
    (void)state;
    struct host_params p = profile("ideal");
    p.post_ps = 50 * NS;
    p.doorbell_latency_ps = 200 * NS;
    p.wqe_ps = 100 * NS;                                         /* slower than the core posts: 10 M messages a second */
    struct world *w = world(&p, &p, PKT_ROCE);
    struct seen seen[3];
    for (int k = 0; k < 3; k++)
        host_doorbell(w->n.h[0], 0, see, &seen[k], NULL);
    sim_run(w->n.s, SIM_NEVER_PS);
    for (int k = 0; k < 3; k++)
        assert_int_equal(seen[k].at_ps, (350 + 100 * k) * NS);
    assert_int_equal(host_cpu_busy_ps(w->n.h[0]), 150 * NS);
    world_free(w);
}

/* --- kernel --- */

static void system_calls_and_copies(void **state)
{
    (void)state;
    struct host_params p = profile("ideal");
    p.syscall_ps = 350 * NS;
    p.copy_rate_bps = INT64_C(80000000000);                      /* 10 bytes a ns */
    p.completion = HOST_EVENT;
    p.wakeup_cpu_ps = 500 * NS;
    p.wakeup_ps = 1300 * NS;
    struct world *w = world(&p, &p, PKT_TCP);
    struct seen sent = { -1 }, got[2] = { { -1 }, { -1 } };
    host_syscall_send(w->n.h[0], 0, 10000, see, &sent, NULL);
    host_syscall_recv(w->n.h[1], 0, 10000, see, &got[0], NULL);
    host_syscall_recv(w->n.h[1], 0, 10000, see, &got[1], NULL);   /* while the reader wakes: no second wake-up */
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(sent.at_ps, 1350 * NS);
    assert_int_equal(got[0].at_ps, (1800 + 1350) * NS);
    assert_int_equal(got[1].at_ps, (1800 + 2 * 1350) * NS);
    assert_int_equal(host_stats(w->n.h[1])->wakeups, 1);
    world_free(w);
}

/* Each frame pays the driver, each merged segment the stack: the books must close to the ps, and merging must pay. */
static void gro_amortises(void **state)
{
    (void)state;
    static const int64_t gro_bytes[] = { 1, 4000, 65536 };
    int64_t busy[3];
    uint32_t n = 640;
    struct host_params sender = profile("ideal"), p = profile("ideal");
    p.irq_latency_ps = 600 * NS;
    p.irq_ps = 500 * NS;
    p.napi_packet_ps = 40 * NS;
    p.tcp_rx_ps = 650 * NS;
    for (int i = 0; i < 3; i++) {
        p.gro_bytes = gro_bytes[i];
        struct world *w = world(&sender, &p, PKT_TCP);
        send_segments(w, 0, n);
        sim_run(w->n.s, SIM_NEVER_PS);
        const struct host_stats *st = host_stats(w->n.h[1]);
        assert_int_equal(w->flow[2].got, n);
        busy[i] = host_cpu_busy_ps(w->n.h[1]);
        assert_int_equal(busy[i], (int64_t)st->interrupts * p.irq_ps + n * p.napi_packet_ps + (int64_t)st->gro_segments * p.tcp_rx_ps);
        if (i == 0)
            assert_int_equal(st->gro_segments, n);
        else
            assert_true(st->gro_segments <= n / 2);
        assert_true(st->softirq_passes >= n / 64);
        world_free(w);
    }
    assert_true(busy[1] < busy[0] / 2);
    assert_true(busy[2] < busy[1]);
}

static void gro_keeps_connections_apart_and_merges_both(void **state)
{
    (void)state;
    struct host_params sender = profile("ideal"), p = profile("ideal");
    p.irq_latency_ps = 20 * SIM_PS_PER_US;                       /* all 32 frames are there when the pass begins */
    p.tcp_rx_ps = 650 * NS;
    struct world *w = world(&sender, &p, PKT_TCP);
    send_segments(w, 0, 16);
    send_segments(w, 1, 16);                                     /* alternate on the wire */
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(w->flow[2].got + w->flow[3].got, 32);
    assert_int_equal(host_stats(w->n.h[1])->gro_segments, 2);
    assert_int_equal(host_stats(w->n.h[1])->interrupts, 1);
    world_free(w);
}

static void moderation_spaces_interrupts(void **state)
{
    (void)state;
    struct host_params sender = profile("ideal"), p = profile("ideal");
    p.irq_latency_ps = 100 * NS;
    uint64_t interrupts[2];
    int64_t last_ps = 0;
    for (int i = 0; i < 2; i++) {
        p.irq_gap_ps = i ? 8 * SIM_PS_PER_US : 0;
        struct world *w = world(&sender, &p, PKT_TCP);
        send_segments(w, 0, 1000);
        sim_run(w->n.s, SIM_NEVER_PS);
        interrupts[i] = host_stats(w->n.h[1])->interrupts;
        last_ps = w->flow[2].last_ps;
        world_free(w);
    }
    assert_true(interrupts[0] > 200);
    assert_true(interrupts[1] <= (uint64_t)(last_ps / (8 * SIM_PS_PER_US)) + 1);
}

/* One pass of the transmit path carries up to tso_bytes. */
static void transmit_passes_carry_tso_bytes(void **state)
{
    (void)state;
    struct host_params p = profile("ideal"), receiver = profile("ideal");
    p.tcp_tx_ps = 700 * NS;
    p.tso_bytes = 10 * BODY;
    struct world *w = world(&p, &receiver, PKT_TCP);
    send_segments(w, 0, 100);
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(w->flow[2].got, 100);
    assert_int_equal(host_stats(w->n.h[0])->tx_passes, 10);
    assert_int_equal(host_cpu_busy_ps(w->n.h[0]), 10 * 700 * NS);
    world_free(w);
}

/* A connection that is detached while a pass for it is under way must not be touched again. */
static void detach_during_a_pass(void **state)
{
    (void)state;
    struct host_params p = profile("ideal");
    p.tcp_tx_ps = 700 * NS;
    struct world *w = world(&p, &p, PKT_TCP);
    send_segments(w, 0, 5);
    host_detach(w->n.h[0], &w->flow[0].ep);
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(w->flow[2].got, 0);
    world_free(w);
}

/* --- the NIC --- */

/* What costs add to arrivals, against the same flow at no cost. */
static void pipelines_add_exactly(void **state)
{
    (void)state;
    uint32_t n = 200;
    struct host_params none = profile("ideal"), p;
    struct world *w = world(&none, &none, PKT_ROCE);
    send_segments(w, 0, n);
    sim_run(w->n.s, SIM_NEVER_PS);
    const int64_t first = w->flow[2].first_ps, last = w->flow[2].last_ps, wire = (last - first) / (n - 1);
    world_free(w);
    const struct { int64_t tx_latency_ps, tx_packet_ps, rx_latency_ps, rx_packet_ps, pcie_bps, first_ps, gap_ps; } row[] = {
        { 300 * NS, 0, 0, 0, 0, 300 * NS, wire },                /* latency does not cost throughput */
        { 0, 0, 300 * NS, 0, 0, 300 * NS, wire },
        { 0, 200 * NS, 0, 0, 0, 200 * NS, 200 * NS },            /* 5 M packets a second */
        { 0, 0, 0, 200 * NS, 0, 200 * NS, 200 * NS },
        { 160 * NS, 10 * NS, 160 * NS, 10 * NS, 0, 340 * NS, wire },
        { 0, 0, 0, 0, INT64_C(40000000000), 400 * NS, 200 * NS }, /* PCIe slower than the link, at both ends */
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        p = none;
        p.tx_latency_ps = row[i].tx_latency_ps;
        p.tx_packet_ps = row[i].tx_packet_ps;
        p.rx_latency_ps = row[i].rx_latency_ps;
        p.rx_packet_ps = row[i].rx_packet_ps;
        p.pcie_rate_bps = row[i].pcie_bps;
        w = world(&p, &p, PKT_ROCE);
        send_segments(w, 0, n);
        sim_run(w->n.s, SIM_NEVER_PS);
        assert_int_equal(w->flow[2].got, n);
        if (w->flow[2].first_ps != first + row[i].first_ps || w->flow[2].last_ps - w->flow[2].first_ps != (n - 1) * row[i].gap_ps)
            fail_msg("row %zu: first %lld ps late, %lld ps between packets", i, (long long)(w->flow[2].first_ps - first),
                     (long long)((w->flow[2].last_ps - w->flow[2].first_ps) / (n - 1)));
        world_free(w);
    }
}

static void priorities_strict_or_in_turn(void **state)
{
    (void)state;
    for (int rr = 0; rr < 2; rr++)
        for (int costs = 0; costs < 2; costs++) {
            struct host_params p = profile("ideal");
            p.prio_schedule = rr ? HOST_PRIO_RR : HOST_PRIO_STRICT;
            p.tx_packet_ps = costs ? 10 * NS : 0;
            struct world *w = world(&p, &p, PKT_ROCE);
            w->flow[0].ep.prio = 1;
            w->flow[1].ep.prio = 5;
            send_segments(w, 0, 300);
            send_segments(w, 1, 300);
            sim_run(w->n.s, SIM_NEVER_PS);
            int64_t low = w->flow[2].last_ps, high = w->flow[3].last_ps, begin = w->flow[2].first_ps;
            if (rr)
                assert_true(low - high < (low - begin) / 20);
            else
                assert_true(high - begin < (low - begin) * 11 / 20);
            world_free(w);
        }
}

/* A slow receiver in a lossless class pauses the fabric instead of dropping. */
static void slow_nic_pauses_lossless_classes(void **state)
{
    (void)state;
    for (int lossless = 0; lossless < 2; lossless++) {
        struct host_params sender = profile("ideal"), p = profile("ideal");
        p.rx_packet_ps = 500 * NS;
        p.rx_buffer_bytes = 262144;
        p.rx_xoff_bytes = 65536;
        struct world *w = world(&sender, &p, PKT_ROCE);
        host_set_lossless(w->n.h[1], lossless ? 1 : 0);
        send_segments(w, 0, 600);
        sim_run(w->n.s, SIM_NEVER_PS);
        if (lossless) {
            assert_int_equal(w->flow[2].got, 600);
            assert_true(host_stats(w->n.h[1])->pause_frames > 0);
            /* it resumes early enough never to run dry */
            assert_int_equal(w->flow[2].last_ps - w->flow[2].first_ps, 599 * p.rx_packet_ps);
        } else {
            assert_true(host_stats(w->n.h[1])->rx_drops > 0);
            assert_int_equal(w->flow[2].got + host_stats(w->n.h[1])->rx_drops, 600);
        }
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completion_modes), cmocka_unit_test(doorbells_cost_and_stay_in_order), cmocka_unit_test(system_calls_and_copies),
        cmocka_unit_test(gro_amortises), cmocka_unit_test(gro_keeps_connections_apart_and_merges_both),
        cmocka_unit_test(moderation_spaces_interrupts), cmocka_unit_test(transmit_passes_carry_tso_bytes),
        cmocka_unit_test(detach_during_a_pass), cmocka_unit_test(pipelines_add_exactly), cmocka_unit_test(priorities_strict_or_in_turn),
        cmocka_unit_test(slow_nic_pauses_lossless_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
