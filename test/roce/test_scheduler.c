/* SPDX-License-Identifier: GPL-2.0-only */
/* The NIC's scheduler among QPs: round robin and weighted shares, per-QP rate limits with bursts; and the slow receiver of Guo et al. */
#include "star.h"

#include <math.h>

#define QPS 4
#define MESSAGE 65536
#define GBPS(n) (INT64_C(1000000000) * (n))

struct setup {
    struct link_params link;
    struct switch_params sw;
    struct host_params host;
    struct roce_params roce[QPS];
};

static struct setup setup(void)
{
    struct setup u;
    star_defaults(&u.link, &u.sw, &u.roce[0], &u.host);
    for (int i = 1; i < QPS; i++)
        u.roce[i] = u.roce[0];
    return u;
}

static void again(struct star *s, const struct rnic_wc *wc)
{
    star_write(s, s->flow[wc->wr_id], 0, 1, MESSAGE, wc->wr_id);
}

/* Bytes of each of n greedy QPs of one host, from 50 us to end_ps. */
static void carry(const struct setup *u, uint32_t n, int64_t end_ps, double *bytes)
{
    struct star *s = star_new(2, &u->link, &u->sw, &u->host);
    uint64_t before[QPS], acked, sent;
    s->on_wc = again;
    for (uint32_t i = 0; i < n; i++) {
        s->flow[i] = star_connect(s, 0, 1, &u->roce[i], NULL, NULL, NULL);
        for (int k = 0; k < 32; k++)
            star_write(s, s->flow[i], 0, 1, MESSAGE, i);
    }
    sim_run(s->sim, 50 * SIM_PS_PER_US);
    for (uint32_t i = 0; i < n; i++)
        roce_qp_progress(s->flow[i], &acked, &before[i]);
    sim_run(s->sim, end_ps);
    for (uint32_t i = 0; i < n; i++) {
        roce_qp_progress(s->flow[i], &acked, &sent);
        bytes[i] = (double)(sent - before[i]);
    }
    star_free(s);
}

/* At no cost, where the port asks, and with costs, where an engine asks. */
static void shares_follow_weights(void **state)
{
    (void)state;
    static const int64_t weight[][QPS] = { { 1, 1, 1, 1 }, { 1, 2, 3, 4 }, { 1, 1, 8, 2 }, { 64, 16, 4, 1 } };
    for (int costs = 0; costs < 2; costs++)
        for (size_t k = 0; k < sizeof weight / sizeof weight[0]; k++) {
            struct setup u = setup();
            double bytes[QPS], sum = 0, weights = 0;
            u.host.tx_packet_ps = costs ? 20000 : 0;
            for (int i = 0; i < QPS; i++)
                u.roce[i].weight = weight[k][i];
            carry(&u, QPS, 2 * SIM_PS_PER_MS, bytes);
            for (int i = 0; i < QPS; i++) {
                sum += bytes[i];
                weights += (double)weight[k][i];
            }
            for (int i = 0; i < QPS; i++) {
                double share = bytes[i] / sum, due = (double)weight[k][i] / weights;
                if (fabs(share / due - 1) > .02)
                    fail_msg("costs %d, weights %zu: QP %d has %.4f, due %.4f", costs, k, i, share, due);
            }
            assert_true(sum * 8e12 / (1950 * (double)SIM_PS_PER_US) > 90e9); /* 92.6 % of 100 Gb/s are payload */
        }
}

/* Three limited QPs get their limits (wire bytes), the fourth the rest; a weight does not lift a limit. */
static void limits_beside_each_other(void **state)
{
    (void)state;
    static const int64_t limit[QPS] = { 5, 10, 30, 0 };
    for (int weighted = 0; weighted < 2; weighted++) {
        struct setup u = setup();
        double bytes[QPS], wire = (1024 + 14 + 20 + 8 + 12 + 4 + 4 + 8 + 12 + 16. / 64) / 1024.; /* a RETH in 64 packets */
        for (int i = 0; i < QPS; i++) {
            u.roce[i].rate_limit_bps = limit[i] * GBPS(1);
            u.roce[i].weight = weighted && i == 0 ? 16 : 1;
        }
        carry(&u, QPS, 2 * SIM_PS_PER_MS, bytes);
        for (int i = 0; i < QPS; i++) {
            double rate = bytes[i] * wire * 8e12 / (1950 * (double)SIM_PS_PER_US), due = (double)(limit[i] ? limit[i] : 55) * 1e9;
            if (fabs(rate / due - 1) > .01)
                fail_msg("weighted %d: QP %d sends at %.3f Gb/s, due %.3f", weighted, i, rate / 1e9, due / 1e9);
        }
    }
}

/* --- the slow receiver --- */

struct outcome { uint64_t nic_pauses, switch_pauses, drops, slow_bytes, innocent_bytes; };

static void either_again(struct star *s, const struct rnic_wc *wc)
{
    star_write(s, s->flow[wc->wr_id], 0, (uint32_t)wc->wr_id + 1, MESSAGE, wc->wr_id);
}

/* Host 0 writes to host 1, whose NIC may be slow, and to host 2, which has nothing to do with it. */
static struct outcome slow_receiver(int64_t pcie_rate_bps, bool pfc)
{
    struct setup u = setup();
    struct host_params slow = u.host;
    const struct host_params *each[] = { &u.host, &slow, &u.host };
    struct outcome o = { 0 };
    uint64_t sent;
    u.sw.pfc = pfc;
    u.sw.pfc_xoff_bytes = 220000; /* less than what the sender has in flight */
    slow.pcie_rate_bps = pcie_rate_bps;
    struct star *s = star_new_each(3, &u.link, &u.sw, each);
    for (uint32_t i = 0; pfc && i < 3; i++)
        host_set_lossless(s->host[i], 1 << 3);
    s->on_wc = either_again;
    for (uint32_t i = 0; i < 2; i++) {
        s->flow[i] = star_connect(s, 0, i + 1, &u.roce[i], NULL, NULL, NULL);
        for (int k = 0; k < 32; k++)
            star_write(s, s->flow[i], 0, i + 1, MESSAGE, i);
    }
    sim_run(s->sim, 8 * SIM_PS_PER_MS);
    roce_qp_progress(s->flow[0], &o.slow_bytes, &sent);
    roce_qp_progress(s->flow[1], &o.innocent_bytes, &sent);
    o.nic_pauses = host_stats(s->host[1])->pause_frames;
    o.drops = host_stats(s->host[1])->rx_drops;
    o.switch_pauses = port_stats(fabric_port(s->fabric, 0, 0))->rx_prio_pause[3];
    star_free(s);
    return o;
}

/* Guo et al. (SIGCOMM'16, 4.4): a NIC that cannot pass on what comes in fills its buffer and pauses its switch, which pauses whoever sends through it. One
 * parameter of one host makes it: its PCIe rate. The sender's QPs take turns, so the innocent one gets no more than the slow one. */
static void slow_receiver_pauses_the_innocent(void **state)
{
    (void)state;
    double time_s = 8e-3, slow_bps = 20e9;
    struct outcome fast = slow_receiver(0, true), slow = slow_receiver((int64_t)slow_bps, true), lossy = slow_receiver((int64_t)slow_bps, false);
    assert_int_equal(fast.nic_pauses + fast.switch_pauses + fast.drops, 0);
    assert_true((double)fast.innocent_bytes * 8 / time_s > 45e9);
    assert_true(slow.nic_pauses > 0 && slow.switch_pauses > 0);
    assert_int_equal(slow.drops, 0);
    assert_true(fabs((double)slow.slow_bytes * 8 / time_s / slow_bps - 1) < .02);
    assert_true((double)slow.innocent_bytes * 8 / time_s < 1.3 * slow_bps);
    assert_true(lossy.drops > 0 && lossy.nic_pauses == 0);
    print_message("innocent: %.2f Gb/s beside a fast receiver, %.2f beside a slow one with PFC, %.2f without\n", (double)fast.innocent_bytes * 8 / time_s / 1e9,
                  (double)slow.innocent_bytes * 8 / time_s / 1e9, (double)lossy.innocent_bytes * 8 / time_s / 1e9);
    assert_true(lossy.innocent_bytes > slow.innocent_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(shares_follow_weights), cmocka_unit_test(limits_beside_each_other),
        cmocka_unit_test(slow_receiver_pauses_the_innocent) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
