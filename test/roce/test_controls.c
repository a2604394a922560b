/* SPDX-License-Identifier: GPL-2.0-only */
/* Congestion controls on the real fabric: DCQCN's fixed point beside a slot model, DCTCP's queue bound, TIMELY's idle path, HPCC's queue and
 * utilisation, Swift's target, fairness, priorities of control packets; each of PFC, ECN, control and window switched apart. */
#include "star.h"

#include <math.h>

#include "../../model/cc/cc_list.h"
#include "../../model/cc/dcqcn_params.h"
#include "../../model/cc/dctcp_roce_params.h"
#include "../../model/cc/hpcc_params.h"
#include "../../model/cc/swift_params.h"
#include "../../model/cc/timely_params.h"
#include "../../model/sim/rng.h"

struct setup {
    struct link_params link;
    struct switch_params sw;
    struct roce_params roce;
    struct host_params host;
    const struct cc_ops *cc;
    const void *cc_params;
    uint32_t flows, bytes;               /* message size */
    int64_t warm_ps, end_ps;
};

struct seen {
    struct star *s;
    double queue_sum;
    uint64_t samples, queue_max, idle;
    int64_t until_ps;
    uint64_t sent0[HOSTS_MAX];
    double mean_kb, carried_bps, jain, share_idle;
};

static struct setup setup(uint32_t flows, int64_t rate_bps)
{
    struct setup u = { .flows = flows, .bytes = 1 << 20 };
    star_defaults(&u.link, &u.sw, &u.roce, &u.host);
    u.link.rate_bps = rate_bps;
    return u;
}

static void sample(struct sim *sim, void *ctx, void *arg)
{
    struct seen *w = ctx;
    (void)arg;
    uint64_t bytes = fabric_queue_bytes(w->s->fabric, w->s->sw, w->s->n - 1, 3);
    w->queue_sum += (double)bytes;
    w->samples++;
    w->idle += bytes == 0;
    w->queue_max = bytes > w->queue_max ? bytes : w->queue_max;
    if (sim_now(sim) < w->until_ps)
        sim_at(sim, sim_now(sim) + 1237 * SIM_PS_PER_NS, sim_key_node(w->s->sw, SIM_KIND_FOREIGN, 1), sample, w, NULL);
}

static uint32_t message_bytes;
static void again(struct star *s, const struct rnic_wc *wc)
{
    star_write(s, s->flow[wc->wr_id], (uint32_t)wc->wr_id, s->n - 1, message_bytes, wc->wr_id);
}

/* Greedy flows into one port, from warm to end. The star is the caller's to free. */
static struct seen run(const struct setup *u)
{
    struct star *s = star_new(u->flows + 1, &u->link, &u->sw, &u->host);
    struct seen w = { .s = s, .until_ps = u->end_ps };
    s->on_wc = again;
    message_bytes = u->bytes;
    for (uint32_t f = 0; f < u->flows; f++) {
        s->flow[f] = star_connect(s, f, u->flows, &u->roce, u->cc, u->cc_params, NULL);
        for (int i = 0; i < (u->bytes < 10000 ? 64 : 2); i++)
            star_write(s, s->flow[f], f, u->flows, u->bytes, f);
    }
    sim_run(s->sim, u->warm_ps);
    const struct port_stats *sink = port_stats(fabric_port(s->fabric, u->flows, 0));
    uint64_t before = sink->rx_bytes;
    for (uint32_t f = 0; f < u->flows; f++)
        w.sent0[f] = port_stats(fabric_port(s->fabric, f, 0))->tx_bytes;
    sim_at(s->sim, u->warm_ps, sim_key_node(s->sw, SIM_KIND_FOREIGN, 1), sample, &w, NULL);
    sim_run(s->sim, u->end_ps);
    double sum = 0, squares = 0;
    for (uint32_t f = 0; f < u->flows; f++) {
        double x = (double)(port_stats(fabric_port(s->fabric, f, 0))->tx_bytes - w.sent0[f]);
        sum += x;
        squares += x * x;
    }
    w.jain = sum * sum / (u->flows * squares);
    w.mean_kb = w.queue_sum / (double)w.samples / 1e3;
    w.share_idle = (double)w.idle / (double)w.samples;
    w.carried_bps = (double)(sink->rx_bytes - before) * 8e12 / (double)(u->end_ps - u->warm_ps);
    return w;
}

/* --- DCQCN's fixed point --- */

/* An independent model in slots of one packet's time: N reaction points that pace, one queue that marks what leaves it, one mark in each
 * window of 50 us answered. It shares no code with the simulator. */
struct slot_flow { double next, rate, target, alpha, timer, decay, bytes, window; int timer_steps, byte_steps; };

static void slot_increase(struct slot_flow *f, int timer_steps, int byte_steps)
{
    if (timer_steps >= 5 || byte_steps >= 5)
        f->target += timer_steps > 5 && byte_steps > 5 ? 200e6 : 40e6;
    if (f->target > 40e9)
        f->target = 40e9;
    f->rate = (f->rate + f->target) / 2;
}

static double slot_model(int n, double packet, double seconds)
{
    static int ring[1 << 16], marked_at[64];
    static struct slot_flow flow[16];
    struct sim_rng rng;
    unsigned head = 0, tail = 0;
    double slot = packet * 8 / 40e9, sum = 0, count = 0;
    sim_rng_init(&rng, 99, (uint64_t)n, 1);
    for (int i = 0; i < 64; i++)
        marked_at[i] = -1;
    for (int i = 0; i < n; i++)
        flow[i] = (struct slot_flow){ .rate = 40e9 / n, .target = 41e9 / n, .alpha = .15, .next = 1e-5 * sim_rng_unit(&rng), .window = -1,
            .timer = 55e-6 * sim_rng_unit(&rng), .decay = 55e-6 * sim_rng_unit(&rng) };
    for (long k = 0; (double)k * slot < seconds; k++) {
        double now = (double)k * slot;
        for (int i = 0; i < n; i++) {
            struct slot_flow *f = &flow[i];
            while (f->next <= now) {
                double gap = packet * 8 / f->rate;
                ring[tail++ & 0xffff] = i;
                f->next = (f->next < now - gap ? now - gap : f->next) + gap;
                f->bytes += packet;
                if (f->bytes >= 10e6) {
                    f->bytes = 0;
                    slot_increase(f, f->timer_steps, f->byte_steps++);
                }
            }
            if (now >= f->timer) {
                f->timer += 55e-6;
                slot_increase(f, f->timer_steps++, f->byte_steps);
            }
            if (now >= f->decay) {
                f->decay += 55e-6;
                f->alpha *= 255. / 256;
            }
            double window = floor(now / 50e-6 + .1 * i);
            if (marked_at[k & 63] != i || window <= f->window)
                continue;
            f->window = window;
            f->target = f->rate;
            f->rate *= 1 - f->alpha / 2;
            f->alpha = 255. / 256 * f->alpha + 1. / 256;
            f->timer = f->decay = now + 55e-6;
            f->timer_steps = f->byte_steps = 0;
            f->bytes = 0;
        }
        marked_at[k & 63] = -1;
        if (tail != head) {
            int i = ring[head++ & 0xffff];
            double queue = (tail - head) * packet, p = queue < 5e3 ? 0 : queue > 200e3 ? 1 : (queue - 5e3) / 195e3 * .01;
            if (p > 0 && sim_rng_unit(&rng) < p)
                marked_at[(k + 20) & 63] = i; /* back at the sender 4 us later */
        }
        if (now > seconds / 4) {
            sum += (tail - head) * packet;
            count++;
        }
    }
    return sum / count / 1e3;
}

/* The fluid model's fixed point (Zhu et al., SIGCOMM'15 section 5, CoNEXT'16) for 1000 B packets is 20.2, 41.8, 93.8, 122.6 KB. Two things
 * must be as the fluid has them for packets to rest there. The mark must tell of the queue when the packet leaves: a mark on arrival is
 * a queueing time (25 us at 122 KB) older when it reaches the sender, and from about 20 us of delay on the fluid, too, swings at N = 10.
 * And CNPs must come with the probability that a window of 50 us has a mark: spacing CNPs by 50 us from the last one sends fewer (the
 * queue rises by a fifth), making up for them at the interval's end sends more and later (it swings at N = 10). Packets of 902 B are
 * 1002 B on the wire. */
static void dcqcn_fixed_point(void **state)
{
    (void)state;
    static const struct { uint32_t n; double fluid_kb; } row[] = { { 2, 20.2 }, { 4, 41.8 }, { 8, 93.8 }, { 10, 122.6 } };
    bool whole = getenv("RNICSIM_TEST_LONG") != NULL;
    struct dcqcn_params dp;
    assert_true(cc_preset_apply(&cc_dcqcn, "paper", &dp));
    for (size_t i = 0; i < 4; i++) {
        struct setup u = setup(row[i].n, INT64_C(40000000000));
        u.sw.ecn = 1;
        u.sw.ecn_kmin_bytes = 5000;
        u.sw.ecn_kmax_bytes = 200000;
        u.sw.ecn_pmax = .01;
        u.sw.ecn_at = SWITCH_ECN_DEQUEUE;
        u.roce.cnp_interval_ps = 50 * SIM_PS_PER_US;
        u.roce.ack_packets = u.roce.ack_request_packets = 64;
        u.roce.ack_request = ROCE_ACK_REQ_DRAIN;
        u.cc = &cc_dcqcn;
        u.cc_params = &dp;
        u.bytes = 902;
        u.warm_ps = 60 * SIM_PS_PER_MS;
        u.end_ps = (whole ? 1000 : 260) * SIM_PS_PER_MS;
        struct seen w = run(&u);
        double slots = slot_model((int)row[i].n, 1002, whole ? 2 : .5);
        print_message("DCQCN, N %u: mean queue %.1f KB; fluid %.1f, slots %.1f; Jain %.4f; carried %.1f Gb/s\n", row[i].n, w.mean_kb, row[i].fluid_kb, slots,
                      w.jain, w.carried_bps / 1e9);
        assert_true(fabs(w.mean_kb / row[i].fluid_kb - 1) < .2);
        assert_true(fabs(w.mean_kb / slots - 1) < (whole ? .08 : .15));
        assert_true(w.jain > .95);
        assert_true(w.carried_bps > .95 * 40e9 * 978 / 998);
        star_free(w.s);
    }
}

/* --- DCTCP --- */

/* SIGMETRICS'11 and SIGCOMM'10 section 3.3: with the threshold K above a seventh of the bandwidth-delay product the queue never rises above
 * K + N packets and never runs empty. K counts what waits: the packet on the wire has left, and the one that meets K comes on top. */
static void dctcp_queue_bound(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 8; n *= 2) {
        struct setup u = setup(n, INT64_C(10000000000));
        const uint32_t frame = 1086, k = 12; /* C * RTT / 7: 10 Gb/s and 6 us of propagation, 1 packet; DCTCP's own advice is more, for bursts */
        u.link.propagation_ps = 10 * SIM_PS_PER_US;
        u.sw.ecn = 1;
        u.sw.ecn_kmin_bytes = u.sw.ecn_kmax_bytes = (int64_t)k * frame;
        u.cc = &cc_dctcp_roce;
        u.warm_ps = 30 * SIM_PS_PER_MS;
        u.end_ps = 60 * SIM_PS_PER_MS;
        struct seen w = run(&u);
        print_message("DCTCP, N %u: queue up to %.1f packets (K %u), mean %.1f, Jain %.4f, carried %.2f Gb/s\n", n, (double)w.queue_max / frame, k,
                      w.mean_kb * 1e3 / frame, w.jain, w.carried_bps / 1e9);
        assert_true(w.queue_max <= (uint64_t)(k + n + 1) * 1102);
        assert_true(w.carried_bps > .98 * 10e9 * 1086 / 1106);
        assert_true(w.jain > .95);
        star_free(w.s);
    }
}

/* --- TIMELY --- */

struct rtts { int64_t first_ps; uint32_t n, others; };
static struct rtts *rtt_book; /* the vtable below has no place of its own for it */
static void watch_ack(struct cc *c, const struct cc_ack *a)
{
    if (a->rtt_ps >= 0) {
        rtt_book->first_ps = rtt_book->n ? rtt_book->first_ps : a->rtt_ps;
        rtt_book->others += a->rtt_ps != rtt_book->first_ps;
        rtt_book->n++;
    }
    cc_timely.ack(c, a);
}

/* Each sample on an idle path is the path's own time: two links of 1 us, WRITE ONLY of 1024 B (1102 B and 8 B of preamble) one way, ACK
 * (66 B and 8 B) the other, both stored and forwarded: 4189.44 ns. Coalesced or not makes no difference: the card samples the packet that
 * caused the ACK. */
static void item_30_timely_idle_rtt(void **state)
{
    (void)state;
    struct cc_ops ops = cc_timely;
    ops.ack = watch_ack;
    for (int64_t coalesce = 1; coalesce <= 16; coalesce *= 16) {
        struct setup u = setup(1, INT64_C(100000000000));
        struct rtts book = { 0 };
        struct timely_params tp;
        param_defaults(&timely_params_table, &tp);
        rtt_book = &book;
        u.cc = &ops;
        u.cc_params = &tp;
        u.roce.ack_packets = coalesce;
        u.roce.ack_request = ROCE_ACK_REQ_DRAIN;
        u.bytes = 1024;
        u.warm_ps = SIM_PS_PER_US;
        u.end_ps = 3 * SIM_PS_PER_MS;
        struct seen w = run(&u);
        assert_true(book.n > 1000);
        assert_int_equal(book.others, 0);
        assert_int_equal(book.first_ps, 4189440);
        assert_int_equal(roce_qp_cc(w.s->flow[0])->rate_bps, u.link.rate_bps);
        assert_int_equal(roce_qp_cc(w.s->flow[0])->rtt_ps, 4189440);
        star_free(w.s);
    }
}

/* The patched form's fixed point (CoNEXT'16): at gradient 0 the weight is a half, and increase and decrease balance where
 * delta / 2 = rate * beta / 2 * (RTT - T_low) / T_low, so RTT = T_low * (1 + delta N / (beta C)). */
static void timely_patched_fixed_point(void **state)
{
    (void)state;
    struct timely_params tp;
    assert_true(cc_preset_apply(&cc_timely, "patched", &tp));
    for (uint32_t n = 2; n <= 8; n *= 2) {
        struct setup u = setup(n, INT64_C(10000000000));
        u.cc = &cc_timely;
        u.cc_params = &tp;
        u.warm_ps = 300 * SIM_PS_PER_MS;
        u.end_ps = 500 * SIM_PS_PER_MS;
        struct seen w = run(&u);
        double rtt_us = 50 * (1 + 10e6 * n / (.008 * 10e9)), base_us = 4 + 2 * 1.11 * .8 + .12, want_kb = (rtt_us - base_us) * 10e9 / 8e6 / 1e3 * 1086 / 1106;
        print_message("patched TIMELY, N %u: mean queue %.1f KB, fixed point %.1f, Jain %.4f, carried %.2f Gb/s\n", n, w.mean_kb, want_kb, w.jain, w.carried_bps / 1e9);
        assert_true(fabs(w.mean_kb / want_kb - 1) < .1);
        assert_true(w.carried_bps > .97 * 10e9 * 1086 / 1106);
        assert_true(w.jain > .95);
        star_free(w.s);
    }
}

/* --- HPCC --- */

/* Near-empty queues at eta of the line (SIGCOMM'19 section 5): telemetry's 42 bytes a packet count on the wire, and the wire is what eta is of. */
static void hpcc_keeps_queues_short(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n *= 2) {
        struct setup u = setup(n, INT64_C(100000000000));
        u.cc = &cc_hpcc;
        u.warm_ps = 8 * SIM_PS_PER_MS;
        u.end_ps = 16 * SIM_PS_PER_MS;
        struct seen w = run(&u);
        print_message("HPCC, N %u: mean queue %.1f KB, most %.1f, Jain %.4f, carried %.1f Gb/s\n", n, w.mean_kb, (double)w.queue_max / 1e3, w.jain, w.carried_bps / 1e9);
        double wire = w.carried_bps * (1128 + 20) / 1128;
        assert_true(wire > .9 * 100e9 && wire < .99 * 100e9);
        assert_true(w.mean_kb < 25);             /* half a bandwidth-delay product */
        assert_true(w.jain > .95);
        star_free(w.s);
    }
}

/* Nothing is learned but from bytes: the digest is the same when each hop goes through them; with switches that do not tell, or with
 * another path's words, windows stay as they began. */
static void telemetry_is_all_it_has(void **state)
{
    (void)state;
    struct { uint64_t digest; int64_t rate; } o[3];
    for (int k = 0; k < 3; k++) {
        struct setup u = setup(4, INT64_C(100000000000));
        u.cc = &cc_hpcc;
        u.sw.telemetry = k < 2;
        struct star *s = star_new(5, &u.link, &u.sw, &u.host);
        fabric_through_bytes(s->fabric, k == 1);
        for (uint32_t f = 0; f < 4; f++) {
            s->flow[f] = star_connect(s, f, 4, &u.roce, u.cc, NULL, NULL);
            star_write(s, s->flow[f], f, 4, 300000, f);
        }
        sim_run(s->sim, SIM_PS_PER_S);
        assert_int_equal(s->completions, 4);
        o[k].digest = sim_digest(s->sim);
        o[k].rate = roce_qp_cc(s->flow[0])->rate_bps;
        star_free(s);
    }
    assert_true(o[0].digest == o[1].digest && o[0].rate == o[1].rate);
    assert_true(o[0].rate < INT64_C(100000000000));
    assert_int_equal(o[2].rate, INT64_C(100000000000));
}

/* --- Swift --- */

/* The delay rests at the target of base + hop: with flow scaling off and windows above one. */
static void swift_rests_at_its_target(void **state)
{
    (void)state;
    struct swift_params sp;
    param_defaults(&swift_params_table, &sp);
    sp.fs_range_ps = 0;
    for (uint32_t n = 2; n <= 8; n *= 2) {
        struct setup u = setup(n, INT64_C(100000000000));
        u.cc = &cc_swift;
        u.cc_params = &sp;
        u.warm_ps = 20 * SIM_PS_PER_MS;
        u.end_ps = 40 * SIM_PS_PER_MS;
        struct seen w = run(&u);
        double want_kb = (26 - 4.18) * 100e9 / 8e6 / 1e3 * 1086 / 1106;
        print_message("Swift, N %u: mean queue %.1f KB, at the target %.1f, Jain %.4f, carried %.1f Gb/s\n", n, w.mean_kb, want_kb, w.jain, w.carried_bps / 1e9);
        assert_true(w.mean_kb > .8 * want_kb && w.mean_kb < 1.1 * want_kb);
        assert_true(w.jain > .95);
        assert_true(w.carried_bps > .97 * 100e9 * 1086 / 1106);
        star_free(w.s);
    }
}

/* --- switched apart --- */

/* PFC, ECN, control and window each on or off: each combination delivers, marks only with ECN, pauses only with PFC, and keeps the window. */
static void switches_are_independent(void **state)
{
    (void)state;
    static const struct cc_ops *const control[] = { &cc_none, &cc_dcqcn, &cc_dctcp_roce, &cc_timely, &cc_swift, &cc_hpcc };
    for (size_t c = 0; c < sizeof control / sizeof control[0]; c++)
        for (unsigned bits = 0; bits < 8; bits++) {
            struct setup u = setup(4, INT64_C(100000000000));
            bool pfc = bits & 1, ecn = bits & 2, window = bits & 4;
            u.sw.pfc = pfc;
            u.sw.ecn = ecn;
            u.sw.buffer_bytes = 2000000;
            u.sw.ecn_kmin_bytes = 20000;
            u.sw.ecn_kmax_bytes = 80000;
            u.sw.pfc_xoff_bytes = 60000;
            u.roce.local_ack_timeout = 6;
            u.roce.window_bdp = window ? 1 : 0;
            struct star *s = star_new(5, &u.link, &u.sw, &u.host);
            for (uint32_t f = 0; f < 4; f++) {
                s->flow[f] = star_connect(s, f, 4, &u.roce, control[c], NULL, NULL);
                star_write(s, s->flow[f], f, 4, 2000000, f);
            }
            sim_run(s->sim, SIM_PS_PER_S);
            const struct fabric_audit *a = fabric_audit(s->fabric);
            struct fabric_queue_peak peak;
            char why[200];
            fabric_queue_peaks(s->fabric, &peak);
            assert_int_equal(s->completions, 4);
            assert_true(fabric_audit_check(s->fabric, why, sizeof why));
            assert_true(pfc || a->pause_frames == 0);
            assert_true((ecn && control[c]->ecn) || a->marks == 0);
            assert_int_equal(a->lossless_buffer_drops, 0);
            if (control[c] == &cc_none && !window) {
                assert_int_equal(a->pause_frames > 0, pfc);
            }
            if (window) /* four windows of a bandwidth-delay product, 4 us by 100 Gb/s and a packet's rounding */
                assert_true(peak.peak_queue_bytes <= 4 * (50000 + 1168));
            star_free(s);
        }
}

/* --- priorities of ACKs and CNPs --- */

struct control_seen { uint64_t ack[8], cnp[8]; int64_t worst_cnp_ps; };
static void watch_tap(void *ctx, int64_t now_ps, const struct port *from, const struct pkt *p)
{
    struct control_seen *w = ctx;
    (void)now_ps;
    if (port_node(from) >= HOSTS_MAX || p->kind != PKT_ROCE)
        return;
    w->ack[p->prio] += p->roce.opcode == ROCE_ACK;
    w->cnp[p->prio] += p->roce.opcode == ROCE_CNP;
}

/* A host apart sends ACKs and CNPs each in their own priority; without separate-control both go with the data. */
static void control_priorities(void **state)
{
    (void)state;
    static const struct { int64_t apart, control, cnp; unsigned ack_at, cnp_at; } row[] = {
        { 0, 5, 6, 3, 3 }, { 1, 8, 8, 3, 3 }, { 1, 5, 8, 5, 5 }, { 1, 8, 6, 3, 6 }, { 1, 5, 6, 5, 6 },
    };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        struct setup u = setup(3, INT64_C(100000000000));
        struct control_seen w = { 0 };
        u.sw.ecn = 1;
        u.sw.ecn_kmin_bytes = 5000;
        u.sw.ecn_kmax_bytes = 50000;
        u.host.separate_control = row[k].apart;
        u.roce.control_prio = row[k].control;
        u.roce.cnp_prio = row[k].cnp;
        u.roce.control_dscp = 40;
        u.roce.cnp_dscp = 48;
        struct star *s = star_new(4, &u.link, &u.sw, &u.host);
        fabric_tap_set(s->fabric, watch_tap, &w);
        for (uint32_t f = 0; f < 3; f++) {
            struct rnic_qp *back;
            s->flow[f] = star_connect(s, f, 3, &u.roce, &cc_dcqcn, NULL, &back);
            star_write(s, s->flow[f], f, 3, 1000000, f);
            star_write(s, back, 3, f, 1000000, 10 + f);
        }
        sim_run(s->sim, SIM_PS_PER_S);
        assert_int_equal(s->completions, 6);
        uint64_t acks = 0, cnps = 0;
        for (unsigned i = 0; i < 8; i++)
            if (i != 5) { /* the switch puts them by their DSCP: 40 is priority 5, 48 is 6, and there the tap sees them again */
                acks += w.ack[i];
                cnps += w.cnp[i];
            }
        assert_true(acks + w.ack[5] > 0 && cnps + w.cnp[5] > 0);
        assert_true(w.ack[row[k].ack_at] > 0);
        assert_true(w.cnp[row[k].cnp_at] > 0);
        star_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dcqcn_fixed_point), cmocka_unit_test(dctcp_queue_bound), cmocka_unit_test(item_30_timely_idle_rtt), cmocka_unit_test(timely_patched_fixed_point),
        cmocka_unit_test(hpcc_keeps_queues_short), cmocka_unit_test(telemetry_is_all_it_has), cmocka_unit_test(swift_rests_at_its_target),
        cmocka_unit_test(switches_are_independent), cmocka_unit_test(control_priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
