/* SPDX-License-Identifier: GPL-2.0-only */
/* Go-back-N under loss. With independent loss p and N packets sent between a lost packet and its repetition, of each packet
 * 1 + N p / (1 - p) are sent: efficiency (1 - p) / (1 - p + N p). It holds where a lost resend is NAKed again; with one NAK until
 * the expected PSN arrives a lost resend waits for the timeout instead, N' packets' time counted from the last progress. */
#include "pair.h"
#include <math.h>

#define WRITE_BYTES 65536

struct lossy { struct sim_rng rng; double p; uint64_t goal, done; };

static enum pair_fate iid(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    struct lossy *l = ctx;
    (void)pr;
    if (from != 0 || p->payload_len == 0)
        return PAIR_PASS;
    return sim_rng_unit(&l->rng) < l->p ? PAIR_DROP : PAIR_PASS;
}

static void again(struct pair *pr, int side, const struct rnic_wc *wc)
{
    struct lossy *l = pr->ctx;
    assert_int_equal(wc->status, RNIC_WC_SUCCESS);
    l->done++;
    if (l->done >= l->goal)
        pr->stop = true;
    else
        pair_post(pr, side, RNIC_OP_WRITE, wc->wr_id, 0, WRITE_BYTES);
}

/* Slots from the start of a lost packet to the start of its repetition: the next packet's end, propagation, the NAK, and
 * propagation back, to the next start of a packet. */
static double packets_in_round_trip(const struct pair *pr, uint32_t frame, uint32_t nak_frame)
{
    int64_t slot = pair_wire_ps(pr, frame), t = 2 * slot + 2 * pr->delay_ps + pair_wire_ps(pr, nak_frame);
    return (double)((t + slot - 1) / slot);
}

struct outcome { double efficiency, n, law, timeouts_per_packet; uint64_t timeouts; int64_t slot_ps; };

static struct outcome run(double p, int nak_rule, unsigned timeout_code, uint64_t messages, uint64_t seed)
{
    struct pair_config c = pair_defaults();
    c.memory = false;
    c.delay_ps = 4 * SIM_PS_PER_US;
    c.params.nak_rule = nak_rule;
    c.params.local_ack_timeout = timeout_code;
    c.params.ack_packets = 1; /* progress is known as it is made */
    struct pair *pr = pair_new(&c);
    struct lossy l = { .p = p, .goal = messages };
    sim_rng_init(&l.rng, seed, 1, SIM_RNG_TEST);
    pr->fate = iid;
    pr->ctx = &l;
    pr->side[0].on_wc = again;
    for (uint32_t i = 0; i < 8; i++)
        pair_post(pr, 0, RNIC_OP_WRITE, i, 0, WRITE_BYTES);
    pair_run(pr, SIM_NEVER_PS);
    const uint32_t frame = 14 + 20 + 8 + 12 + 1024 + 4 + 4, nak = 66;
    struct outcome o = { .slot_ps = pair_wire_ps(pr, frame), .n = packets_in_round_trip(pr, frame, nak) };
    double packets = (double)(messages * (WRITE_BYTES / 1024));
    o.efficiency = packets * (double)o.slot_ps / (double)pr->now_ps;
    o.law = (1 - p) / (1 - p + o.n * p);
    o.timeouts = PAIR_COUNTER(pr, 0, local_ack_timeout_err);
    o.timeouts_per_packet = (double)o.timeouts / packets;
    pair_free(pr);
    return o;
}

static bool long_mode(void) { return getenv("RNICSIM_TEST_LONG") != NULL; }

/* Rule rewind: the law itself. */
static void efficiency_law_where_lost_resends_are_naked_again(void **state)
{
    (void)state;
    static const struct { double p; uint64_t messages; } row[] = { { 1e-4, 40000 }, { 1e-3, 8000 }, { 1. / 256, 6000 }, { 1e-2, 6000 } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct outcome o = run(row[i].p, ROCE_NAK_REWIND, 14, row[i].messages * (long_mode() ? 20 : 1), 7 + i);
        print_message("p %.5f N %.0f efficiency %.4f law %.4f timeouts %llu\n", row[i].p, o.n, o.efficiency, o.law, (unsigned long long)o.timeouts);
        assert_true(o.efficiency > o.law * .98 && o.efficiency < o.law * 1.02);
        assert_int_equal(o.timeouts, 0);
    }
}

/* Rule once: a lost resend, probability p of each loss, waits for the local ACK timeout T packets long on top, and each loss of that
 * again: 1 + N p + T p^2 / (1 - p) sent for each. The timeouts are few, so their number is held to p^2 / (1 - p) a packet loosely
 * and the efficiency to their number tightly. */
static void one_nak_adds_timeouts(void **state)
{
    (void)state;
    static const struct { double p; unsigned code; uint64_t messages; } row[] = {
        { 1e-3, 14, 40000 }, { 1. / 256, 14, 8000 }, { 1e-2, 14, 4000 }, { 1. / 256, 8, 8000 }, { 1e-2, 8, 8000 } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint64_t messages = row[i].messages * (long_mode() ? 20 : 1);
        struct outcome o = run(row[i].p, ROCE_NAK_ONCE, row[i].code, messages, 7 + i);
        double p = row[i].p, timeout = 4.096e6 * (double)(1u << row[i].code) / (double)o.slot_ps;
        double expected = p * p / (1 - p) * (double)messages * (WRITE_BYTES / 1024), law = 1 / (1 + o.n * p + timeout * o.timeouts_per_packet);
        print_message("p %.5f N %.0f T %.0f packets: efficiency %.4f law %.4f, %llu timeouts of %.1f expected\n", p, o.n, timeout, o.efficiency, law,
                      (unsigned long long)o.timeouts, expected);
        assert_true(fabs((double)o.timeouts - expected) < 4 * sqrt(expected));
        assert_true(o.efficiency > law * .98 && o.efficiency < law * 1.02);
    }
}

/* A timeout of at most 2 N packets costs about what a second NAK would: the plain law within 2 % again. */
static void short_timeout_is_as_good_as_a_second_nak(void **state)
{
    (void)state;
    static const double p[] = { 1e-3, 1. / 256, 1e-2 };
    for (size_t i = 0; i < sizeof p / sizeof p[0]; i++) {
        struct outcome o = run(p[i], ROCE_NAK_ONCE, 2, 8000 * (long_mode() ? 20 : 1), 7 + i); /* 16.4 us are 186 packets */
        print_message("p %.5f N %.0f efficiency %.4f law %.4f timeouts %llu\n", p[i], o.n, o.efficiency, o.law, (unsigned long long)o.timeouts);
        assert_true(o.efficiency > o.law * .98 && o.efficiency < o.law * 1.02);
        assert_true(o.timeouts > 0);
    }
}

/* Guo et al. (SIGCOMM'16), section 4.1: every 256th packet is dropped, messages of 4 MB. */
static enum pair_fate every_256th(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    (void)p;
    return from == 0 && pr->side[0].sent % 256 == 255 ? PAIR_DROP : PAIR_PASS;
}

static void livelock_of_go_back_0(void **state)
{
    (void)state;
    static const enum rnic_opcode op[] = { RNIC_OP_SEND, RNIC_OP_WRITE };
    for (int retry = 0; retry < 2; retry++)
        for (int i = 0; i < 2; i++) {
            struct pair_config c = pair_defaults();
            c.memory = false;
            c.mem_bytes = 1 << 23;
            c.params.retry = retry;
            struct pair *pr = pair_new(&c);
            pr->fate = every_256th;
            for (uint32_t m = 0; m < 8; m++) {
                pair_recv(pr, 1, m, 0, 4 << 20);
                pair_post(pr, 0, op[i], m, 0, 4 << 20);
            }
            pair_run(pr, 20 * SIM_PS_PER_MS);
            assert_true(pr->side[0].sent > 200000 || retry == ROCE_GO_BACK_N);
            uint32_t done = op[i] == RNIC_OP_SEND ? 16 : 8, seen = pr->side[0].nwc + pr->side[1].nwc;
            assert_int_equal(seen, retry == ROCE_GO_BACK_N ? done : 0);
            pair_free(pr);
        }
}

/* Without scripted losses go-back-0 delivers, and a message that fits between two drops gets through. */
static void go_back_0_delivers_short_messages(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.params.retry = ROCE_GO_BACK_0;
    struct pair *pr = pair_new(&c);
    pr->fate = every_256th;
    for (uint32_t m = 0; m < 16; m++) {
        pair_recv(pr, 1, m, 0, 65536);
        pair_post(pr, 0, RNIC_OP_SEND, m, 131072, 65000);
    }
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 16);
    assert_int_equal(pr->side[1].nwc, 16);
    for (uint32_t m = 0; m < 16; m++)
        assert_int_equal(pr->side[1].wc[m].byte_len, 65000);
    assert_memory_equal(pr->side[0].mem + 131072, pr->side[1].mem, 65000);
    assert_true(PAIR_COUNTER(pr, 1, naks_sent) >= 3);
    pair_free(pr);
}

/* However bad the wire, what the responder has acknowledged stays acknowledged. */
static void progress_is_never_lost(void **state)
{
    (void)state;
    for (int rule = 0; rule < 2; rule++) {
        struct pair_config c = pair_defaults();
        c.params.nak_rule = rule;
        c.params.local_ack_timeout = 4;
        c.params.ack_packets = 1;
        struct pair *pr = pair_new(&c);
        struct lossy l = { .p = .3 };
        sim_rng_init(&l.rng, 3, 1, SIM_RNG_TEST);
        pr->fate = iid;
        pr->ctx = &l;
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 50 * 1024);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_SUCCESS);
        uint32_t acked = 0;
        for (uint32_t i = 0; i < pr->nlog; i++)
            if (pr->log[i].from == 1 && pr->log[i].opcode == ROCE_ACK) {
                uint32_t to = pr->log[i].psn + (pr->log[i].syndrome < 0x20);
                assert_true(to >= acked);
                acked = to;
            }
        assert_true(pr->nlog < PAIR_LOG_MAX);
        assert_int_equal(acked, 150);
        pair_free(pr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(efficiency_law_where_lost_resends_are_naked_again), cmocka_unit_test(one_nak_adds_timeouts),
        cmocka_unit_test(short_timeout_is_as_good_as_a_second_nak), cmocka_unit_test(livelock_of_go_back_0),
        cmocka_unit_test(go_back_0_delivers_short_messages), cmocka_unit_test(progress_is_never_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
