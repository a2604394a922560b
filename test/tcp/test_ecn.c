/* SPDX-License-Identifier: GPL-2.0-only */
/* ECN by RFC 3168 and DCTCP's echo by RFC 8257: who is ECN-capable, who echoes what, who reacts and how often. */
#include "../../model/sim/rng.h"
#include "lone.h"

#define MSS 1460
#define CE 3
#define ECT 2

static const struct cc_ops *reno_with_ecn(struct cc_ops *copy)
{
    *copy = *cc_find("reno");
    copy->ecn = true;
    return copy;
}

static void open_ecn(struct lone *l, struct cc_ops *copy)
{
    lone_new(l, "reno");
    l->cc = reno_with_ecn(copy);
    lone_make(l);
    lone_open(l);
}

static void rfc3168_6_1_1_negotiation_active(void **state)
{
    static const struct { unsigned answer; int ect; } t[] = { { TCP_ECE, ECT }, { TCP_ECE | TCP_CWR, 0 }, { 0, 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct lone l;
        struct cc_ops ops;
        lone_new(&l, "reno");
        l.cc = reno_with_ecn(&ops);
        lone_make(&l);
        assert_int_equal(tcp_connect(l.c, l.now), SIM_OK);
        assert_int_equal(lone_expect(&l, TCP_SYN | TCP_ECE | TCP_CWR, 0, 0, 0).ecn, 0);
        struct pkt p = lone_seg(&l, TCP_SYN | TCP_ACK | t[i].answer, 0, 1, 0);
        lone_offer(&p);
        lone_rx_pkt(&l, &p);
        assert_int_equal(lone_expect(&l, TCP_ACK, 1, 1, 0).ecn, 0);
        lone_write(&l, 100);
        assert_int_equal(lone_expect(&l, TCP_ACK | TCP_PSH, 1, 1, 100).ecn, t[i].ect);
        lone_free(&l);
    }
}

static void rfc3168_6_1_1_negotiation_passive(void **state)
{
    static const struct { unsigned offer, answer; } t[] = { { TCP_ECE | TCP_CWR, TCP_ECE }, { TCP_ECE, 0 }, { 0, 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct lone l;
        struct cc_ops ops;
        lone_new(&l, "reno");
        l.cc = reno_with_ecn(&ops);
        lone_make(&l);
        assert_int_equal(tcp_accept(l.c, l.now), SIM_OK);
        lone_rx(&l, TCP_SYN | t[i].offer, 0, 0, 0);
        assert_int_equal(lone_expect(&l, TCP_SYN | TCP_ACK | t[i].answer, 0, 1, 0).ecn, 0);
        lone_free(&l);
    }
}

/* 6.1.4 pure acknowledgements, 6.1.5 retransmissions, 6.1.6 window probes. */
static void rfc3168_6_1_only_new_data_is_ect(void **state)
{
    struct lone l;
    struct cc_ops ops;
    struct pkt p;
    (void)state;
    open_ecn(&l, &ops);
    lone_rx(&l, TCP_ACK, 1, 1, 100);
    assert_int_equal(lone_expect(&l, TCP_ACK, 1, 101, 0).ecn, 0);
    lone_write(&l, MSS);
    assert_int_equal(lone_expect(&l, TCP_ACK | TCP_PSH, 1, 101, MSS).ecn, ECT);
    lone_wait(&l, l.now + SIM_PS_PER_S);                   /* the tail-loss probe */
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.payload_len, MSS);
    assert_int_equal(p.ecn, 0);
    lone_wait(&l, l.now + SIM_PS_PER_S);                   /* the timeout */
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.payload_len, MSS);
    assert_int_equal(p.ecn, 0);
    p = lone_seg(&l, TCP_ACK, 101, 1 + MSS, 0);
    p.tcp.window = 0;
    lone_rx_pkt(&l, &p);
    lone_write(&l, 2 * MSS);
    lone_wait(&l, l.now + SIM_PS_PER_S);
    assert_true(lone_tx(&l, &p));
    assert_int_equal(tcp_counters(l.c)->window_probes, 1);
    assert_int_equal(p.ecn, 0);
    lone_free(&l);
}

static void rfc3168_6_1_2_once_a_window_and_cwr_on_new_data(void **state)
{
    struct lone l;
    struct cc_ops ops;
    struct pkt p;
    (void)state;
    open_ecn(&l, &ops);
    lone_write(&l, 100 * MSS);
    assert_int_equal(lone_drain(&l), 10 * MSS);
    l.now += MS;
    lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 9 * MSS / 2);  /* half of what was in flight, and no growth */
    for (uint32_t k = 2; k <= 5; k++)                      /* the same window: nothing more, nor growth */
        lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + k * MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 9 * MSS / 2);
    lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + 6 * MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 9 * MSS / 2);
    lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + 7 * MSS, 0);
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.tcp.seq, 1 + 10 * MSS);
    assert_true(p.tcp.flags & TCP_CWR);
    lone_rx(&l, TCP_ACK, 1, 1 + 8 * MSS, 0);
    assert_true(lone_tx(&l, &p));
    assert_false(p.tcp.flags & TCP_CWR);
    int64_t before = tcp_cc(l.c)->cwnd_bytes;
    lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + 11 * MSS, 0);     /* past the window of the reduction: the next one */
    assert_true(tcp_cc(l.c)->cwnd_bytes < before);
    lone_free(&l);
}

/* 6.1.2: after a reduction for whatever reason the first new data says CWR. */
static void rfc3168_6_1_2_cwr_after_loss(void **state)
{
    struct lone l;
    struct cc_ops ops;
    struct pkt p;
    (void)state;
    for (int timeout = 0; timeout < 2; timeout++) {
        lone_new(&l, "reno");
        l.cc = reno_with_ecn(&ops);
        l.params.tlp = l.params.rack = 0;
        lone_make(&l);
        lone_open(&l);
        lone_write(&l, 100 * MSS);
        lone_drain(&l);
        if (timeout)
            lone_wait(&l, l.now + SIM_PS_PER_S);
        else
            for (uint32_t k = 1; k <= 3; k++)
                lone_sack(&l, 1, 1 + MSS, 1 + (1 + k) * MSS);
        bool seen = false;
        for (bool more = true; more;) {
            while ((more = lone_tx(&l, &p)) && !seen) {
                assert_int_equal(p.ecn, p.flags & PKT_F_RETX ? 0 : ECT);
                seen = p.tcp.flags & TCP_CWR;
                assert_false(seen && p.flags & PKT_F_RETX);
            }
        }
        if (!seen) {
            lone_rx(&l, TCP_ACK, 1, 1 + 10 * MSS, 0);
            assert_true(lone_tx(&l, &p));
            assert_true(p.tcp.flags & TCP_CWR);
        }
        lone_free(&l);
    }
}

/* A loss in the window that an echo has already reduced is repaired without a second reduction. */
static void rfc3168_6_1_2_echo_and_loss_in_one_window(void **state)
{
    struct lone l;
    struct cc_ops ops;
    (void)state;
    lone_new(&l, "reno");
    l.cc = reno_with_ecn(&ops);
    l.params.tlp = l.params.rack = l.params.prr = 0;
    lone_make(&l);
    lone_open(&l);
    lone_write(&l, 10 * MSS);
    lone_drain(&l);
    lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + MSS, 0);
    int64_t once = tcp_cc(l.c)->cwnd_bytes;
    for (uint32_t k = 1; k <= 3; k++)
        lone_sack(&l, 1 + MSS, 1 + 2 * MSS, 1 + (2 + k) * MSS);
    assert_int_equal(tcp_counters(l.c)->fast_retransmits, 1);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, once);
    assert_int_equal(lone_drain(&l), MSS);
    lone_free(&l);
}

static void marked(struct lone *l, uint32_t seq, uint32_t len, unsigned flags, unsigned ecn)
{
    struct pkt p = lone_seg(l, TCP_ACK | flags, seq, 1, len);
    p.ecn = (uint8_t)ecn;
    lone_rx_pkt(l, &p);
}

static void rfc3168_6_1_3_echo_until_cwr(void **state)
{
    struct lone l;
    struct cc_ops ops;
    (void)state;
    open_ecn(&l, &ops);
    marked(&l, 1, 100, 0, ECT);
    lone_expect(&l, TCP_ACK, 1, 101, 0);
    marked(&l, 101, 100, 0, CE);
    lone_expect(&l, TCP_ACK | TCP_ECE, 1, 201, 0);
    marked(&l, 201, 100, 0, ECT);
    lone_expect(&l, TCP_ACK | TCP_ECE, 1, 301, 0);
    marked(&l, 301, 100, TCP_CWR, ECT);
    lone_expect(&l, TCP_ACK, 1, 401, 0);
    marked(&l, 401, 100, TCP_CWR, CE);                     /* the same packet is marked again */
    lone_expect(&l, TCP_ACK | TCP_ECE, 1, 501, 0);
    marked(&l, 1, 100, 0, CE);                             /* 6.1.5: outside the window, ignored */
    marked(&l, 501, 100, TCP_CWR, ECT);
    lone_drain(&l);
    marked(&l, 1, 100, 0, CE);
    lone_expect(&l, TCP_ACK, 1, 601, 0);
    lone_free(&l);
}

static void rfc8257_3_5_syn_and_reset_are_ect(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct lone l;
        struct pkt p;
        lone_new(&l, "dctcp");
        l.params.ect_all = all;
        lone_make(&l);
        assert_int_equal(tcp_connect(l.c, l.now), SIM_OK);
        assert_int_equal(lone_expect(&l, TCP_SYN | TCP_ECE | TCP_CWR, 0, 0, 0).ecn, ECT);
        p = lone_seg(&l, TCP_SYN | TCP_ACK | TCP_ECE, 0, 1, 0);
        p.ecn = CE;                                        /* 3.5: a mark on it is ignored */
        lone_offer(&p);
        lone_rx_pkt(&l, &p);
        assert_int_equal(lone_expect(&l, TCP_ACK, 1, 1, 0).ecn, all ? ECT : 0);
        lone_rx(&l, TCP_ACK, 1, 1, 100);
        assert_int_equal(lone_expect(&l, TCP_ACK, 1, 101, 0).ecn, all ? ECT : 0);
        lone_write(&l, 100);
        assert_int_equal(lone_expect(&l, TCP_ACK | TCP_PSH, 1, 101, 100).ecn, ECT);
        lone_wait(&l, l.now + SIM_PS_PER_S);
        assert_true(lone_tx(&l, &p) && p.flags & PKT_F_RETX);
        assert_int_equal(p.ecn, all ? ECT : 0);
        tcp_abort(l.c, l.now);
        assert_true(lone_tx(&l, &p) && p.tcp.flags & TCP_RST);
        assert_int_equal(p.ecn, ECT);
        lone_free(&l);
        lone_new(&l, "dctcp");
        lone_make(&l);
        assert_int_equal(tcp_accept(l.c, l.now), SIM_OK);
        lone_rx(&l, TCP_SYN | TCP_ECE | TCP_CWR, 0, 0, 0);
        assert_int_equal(lone_expect(&l, TCP_SYN | TCP_ACK | TCP_ECE, 0, 1, 0).ecn, ECT);
        lone_free(&l);
    }
}

/* Figure 2 of RFC 8257: one acknowledgement for two segments; a change of CE first acknowledges what was held back, with the old state. */
static void rfc8257_3_2_receiver(void **state)
{
    static const struct { int ce; struct { uint32_t ack; bool ece; } out[2]; } t[] = {
        { 0, { { 0, 0 } } },                      { 0, { { 201, 0 } } },
        { 0, { { 0, 0 } } },                      { 1, { { 301, 0 } } },        /* held back unmarked: at once; the marked one is held back */
        { 1, { { 501, 1 } } },                    { 0, { { 0, 0 } } },          /* nothing was held back */
        { 1, { { 601, 0 } } },                    { 0, { { 701, 1 } } },
        { 0, { { 901, 0 } } },
    };
    struct lone l;
    struct pkt p;
    (void)state;
    lone_new(&l, "dctcp");
    l.params.delayed_ack_count = 2;
    lone_make(&l);
    lone_open(&l);
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        marked(&l, 1 + 100 * (uint32_t)i, 100, 0, t[i].ce ? CE : ECT);
        for (int k = 0; k < 2 && t[i].out[k].ack; k++)
            lone_expect(&l, TCP_ACK | (t[i].out[k].ece ? TCP_ECE : 0), 1, t[i].out[k].ack, 0);
        if (lone_tx(&l, &p))
            fail_msg("segment %zu: a further ACK %u, ECE %d", i, p.tcp.ack, p.tcp.flags & TCP_ECE);
    }
    lone_free(&l);
}

/* Whatever comes and however late the port lets acknowledgements go: bytes echoed are the bytes marked. */
static void rfc8257_3_2_echo_is_exact(void **state)
{
    struct sim_rng r;
    (void)state;
    sim_rng_init(&r, 3, 0, SIM_RNG_TEST);
    for (int run = 0; run < 200; run++) {
        struct lone l;
        struct pkt p;
        uint32_t seq = 1, una = 1, marked_bytes = 0, echoed = 0, busy = 1 + sim_rng_below(&r, 8);
        lone_new(&l, "dctcp");
        l.params.delayed_ack_count = 1 + sim_rng_below(&r, 4);
        lone_make(&l);
        lone_open(&l);
        for (int i = 0; i < 200; i++) {
            uint32_t len = 1 + sim_rng_below(&r, 1000);
            bool ce = sim_rng_below(&r, 2);
            marked(&l, seq, len, 0, ce ? CE : ECT);
            seq += len;
            marked_bytes += ce ? len : 0;
            if (i % (int)busy == 0 || i == 199) {
                if (i == 199)
                    lone_wait(&l, l.now + SIM_PS_PER_S);
                while (lone_tx(&l, &p)) {
                    echoed += p.tcp.flags & TCP_ECE ? p.tcp.ack - una : 0;
                    una = p.tcp.ack;
                }
            }
        }
        assert_int_equal(una, seq);
        assert_int_equal(echoed, marked_bytes);
        lone_free(&l);
    }
}

static void rfc8257_3_3_reduction_sets_cwr(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    lone_new(&l, "dctcp");
    lone_make(&l);
    lone_open(&l);
    lone_write(&l, 100 * MSS);
    lone_drain(&l);
    l.now += MS;
    lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + 2 * MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 5 * MSS);    /* alpha is 1 */
    lone_rx(&l, TCP_ACK | TCP_ECE, 1, 1 + 8 * MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 5 * MSS);
    assert_true(lone_tx(&l, &p));
    assert_true(p.tcp.flags & TCP_CWR);
    lone_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc3168_6_1_1_negotiation_active), cmocka_unit_test(rfc3168_6_1_1_negotiation_passive),
        cmocka_unit_test(rfc3168_6_1_only_new_data_is_ect), cmocka_unit_test(rfc3168_6_1_2_once_a_window_and_cwr_on_new_data),
        cmocka_unit_test(rfc3168_6_1_2_cwr_after_loss), cmocka_unit_test(rfc3168_6_1_2_echo_and_loss_in_one_window),
        cmocka_unit_test(rfc3168_6_1_3_echo_until_cwr), cmocka_unit_test(rfc8257_3_5_syn_and_reset_are_ect),
        cmocka_unit_test(rfc8257_3_2_receiver), cmocka_unit_test(rfc8257_3_2_echo_is_exact), cmocka_unit_test(rfc8257_3_3_reduction_sets_cwr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
