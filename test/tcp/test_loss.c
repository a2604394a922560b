/* SPDX-License-Identifier: GPL-2.0-only */
/* Loss recovery, acknowledging and the window, clause by clause. The peer is played by the test; the round trip of the handshake is 1 ms. */
#include "lone.h"

#define MSS 1460

/* Old-style recovery: no tail-loss probe, no RACK; sack as said. */
static void plain(struct lone *l, int sack, int64_t iw, int64_t prr)
{
    lone_new(l, "reno");
    l->params.tlp = l->params.rack = 0;
    l->params.sack = sack;
    l->params.prr = prr;
    l->params.initial_window_count = iw;
    lone_make(l);
    lone_open(l);
}

static void dup(struct lone *l, uint32_t ack) { lone_rx(l, TCP_ACK, 1, ack, 0); }

/* 3.2 step 3: the window is ssthresh after the acknowledgement that ends recovery; that acknowledgement does not grow it. */
static void rfc6582_3_2_full_acknowledgement(void **state)
{
    struct lone l;
    (void)state;
    for (int sack = 0; sack < 2; sack++) {
        plain(&l, sack, 10, 2);
        lone_write(&l, 10 * MSS);
        assert_int_equal(lone_drain(&l), 10 * MSS);        /* RFC 6928: ten segments */
        l.now += MS;
        for (uint32_t k = 1; k <= 3; k++) {
            if (sack)
                lone_sack(&l, 1, 1 + MSS, 1 + (k + 1) * MSS);
            else
                dup(&l, 1);
        }
        assert_int_equal(tcp_cc(l.c)->ssthresh_bytes, 5 * MSS);
        assert_int_equal(lone_drain(&l), MSS);
        l.now += MS;
        lone_rx(&l, TCP_ACK, 1, 1 + 10 * MSS, 0);
        assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 5 * MSS);
        lone_write(&l, 30 * MSS);
        assert_int_equal(lone_drain(&l), 5 * MSS);
        for (uint32_t k = 11; k <= 15; k++) {
            lone_rx(&l, TCP_ACK, 1, 1 + k * MSS, 0);
            lone_drain(&l);
        }
        assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 6 * MSS);
        lone_free(&l);
    }
}

/* 3.2 step 3, partial: the next hole at once, the window less what was acknowledged, plus one segment. */
static void rfc6582_3_2_partial_acknowledgement(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    plain(&l, 0, 10, 0);
    lone_write(&l, 40 * MSS);
    lone_drain(&l);
    for (int k = 0; k < 3; k++)
        dup(&l, 1);
    assert_true(lone_tx(&l, &p));
    if (p.tcp.seq != 1)                                    /* Limited Transmit's two came first */
        while (lone_tx(&l, &p) && p.tcp.seq != 1)
            ;
    assert_int_equal(p.tcp.seq, 1);
    lone_drain(&l);
    lone_rx(&l, TCP_ACK, 1, 1 + 4 * MSS, 0);               /* the fifth is missing as well */
    lone_expect(&l, TCP_ACK, 1 + 4 * MSS, 1, MSS);
    assert_int_equal(tcp_counters(l.c)->fast_retransmits, 1);
    lone_free(&l);
}

/* 3.2 step 1: duplicates that go back to what was sent before the timeout start no fast retransmit. */
static void rfc6582_3_2_recover_guards(void **state)
{
    struct lone l;
    (void)state;
    plain(&l, 0, 10, 0);
    lone_write(&l, 60 * MSS);
    lone_drain(&l);
    lone_wait(&l, l.now + SIM_PS_PER_S);
    assert_int_equal(tcp_counters(l.c)->timeouts, 1);
    lone_drain(&l);
    lone_rx(&l, TCP_ACK, 1, 1 + 10 * MSS, 0);              /* all of it was there */
    lone_drain(&l);
    for (int k = 0; k < 4; k++)
        dup(&l, 1 + 10 * MSS);
    assert_int_equal(tcp_counters(l.c)->fast_retransmits, 0);
    lone_drain(&l);
    lone_rx(&l, TCP_ACK, 1, 1 + 11 * MSS, 0);
    lone_drain(&l);
    for (int k = 0; k < 3; k++)
        dup(&l, 1 + 11 * MSS);
    assert_int_equal(tcp_counters(l.c)->fast_retransmits, 1);
    lone_free(&l);
}

static void rfc3042_limited_transmit(void **state)
{
    struct lone l;
    (void)state;
    for (int on = 0; on < 2; on++)
        for (int sack = 0; sack < 2; sack++) {
            lone_new(&l, "reno");
            l.params.tlp = l.params.rack = 0;
            l.params.sack = sack;
            l.params.limited_transmit = on;
            lone_make(&l);
            lone_open(&l);
            lone_write(&l, 40 * MSS);
            lone_drain(&l);
            for (uint32_t k = 1; k <= 2; k++) {
                if (sack)
                    lone_sack(&l, 1, 1 + MSS, 1 + (k + 1) * MSS);
                else
                    dup(&l, 1);
                assert_int_equal(lone_drain(&l), on ? MSS : 0);
            }
            lone_free(&l);
        }
}

/* 3.1: while more is in the network than ssthresh, delivered * ssthresh / RecoverFS is sent, in whole segments, the first at once. */
static void rfc6937_3_1_proportional_part(void **state)
{
    struct lone l;
    (void)state;
    plain(&l, 1, 20, 2);
    lone_write(&l, 200 * MSS);
    assert_int_equal(lone_drain(&l), 20 * MSS);
    l.now += MS;
    for (uint32_t k = 1; k <= 2; k++) {
        lone_sack(&l, 1, 1 + MSS, 1 + (k + 1) * MSS);
        assert_int_equal(lone_drain(&l), MSS);             /* Limited Transmit: 22 in flight */
    }
    uint32_t sent = 0;
    for (uint32_t k = 1; k <= 13; k++) {
        lone_sack(&l, 1, 1 + MSS, 1 + (k + 3) * MSS);
        sent += lone_drain(&l) / MSS;
        assert_int_equal(tcp_cc(l.c)->ssthresh_bytes, 10 * MSS);
        assert_int_equal(sent, k * 10 / 22 > 1 ? k * 10 / 22 : 1);
    }
    lone_rx(&l, TCP_ACK, 1, 1 + 22 * MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 10 * MSS);
    lone_free(&l);
}

/* 3.1: below ssthresh the conservative bound sends what was delivered, slow start's one more, and without PRR the pipe fills at once. */
static void rfc6937_3_1_reduction_bounds(void **state)
{
    static const uint32_t first[] = { 6, 1, 2 };
    (void)state;
    for (int64_t prr = 0; prr < 3; prr++) {
        struct lone l;
        plain(&l, 1, 20, prr);
        lone_write(&l, 200 * MSS);
        lone_drain(&l);
        for (uint32_t k = 1; k <= 2; k++) {
            lone_sack(&l, 1, 1 + 15 * MSS, 1 + (15 + k) * MSS);
            lone_drain(&l);
        }
        lone_sack(&l, 1, 1 + 15 * MSS, 1 + 18 * MSS);      /* 15 lost, 3 here: 4 are in the network */
        assert_int_equal(lone_drain(&l), first[prr] * MSS);
        lone_free(&l);
    }
}

/* Section 8: what the receiver reported and let go of is sent again, and a new report of it counts. */
static void rfc2018_8_reneging(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    plain(&l, 1, 10, 0);
    lone_write(&l, 10 * MSS);
    lone_drain(&l);
    lone_sack(&l, 1, 1 + MSS, 1 + 6 * MSS);
    lone_drain(&l);
    lone_rx(&l, TCP_ACK, 1, 1 + MSS, 0);                   /* and no more: the second has been let go */
    lone_drain(&l);
    lone_wait(&l, l.now + SIM_PS_PER_S);
    lone_expect(&l, TCP_ACK, 1 + MSS, 1, MSS);
    lone_sack(&l, 1 + MSS, 1 + 3 * MSS, 1 + 6 * MSS);      /* what was reported before is here again, but for the third */
    lone_rx(&l, TCP_ACK, 1, 1 + 2 * MSS, 0);
    lone_expect(&l, TCP_ACK, 1 + 2 * MSS, 1, MSS);
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.tcp.seq, 1 + 6 * MSS);
    lone_free(&l);
}

static void take(struct lone *l, uint32_t seq, uint32_t len) { lone_rx(l, TCP_ACK, seq, 1, len); }

/* Section 4: the duplicate comes first, below the acknowledgement or inside the block that follows. */
static void rfc2883_4_duplicates_are_reported(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    plain(&l, 1, 10, 0);
    take(&l, 1, 500);
    lone_drain(&l);
    take(&l, 1, 500);
    p = lone_expect(&l, TCP_ACK, 1, 501, 0);
    assert_int_equal(p.tcp.nsack, 1);
    assert_int_equal(p.tcp.sack[0].from - LONE_IRS, 1);
    assert_int_equal(p.tcp.sack[0].to - LONE_IRS, 501);
    take(&l, 1001, 500);
    p = lone_expect(&l, TCP_ACK, 1, 501, 0);
    assert_int_equal(p.tcp.nsack, 1);                      /* reported once */
    take(&l, 1501, 500);
    lone_drain(&l);
    take(&l, 1501, 500);
    p = lone_expect(&l, TCP_ACK, 1, 501, 0);
    assert_int_equal(p.tcp.nsack, 2);
    assert_int_equal(p.tcp.sack[0].from - LONE_IRS, 1501);
    assert_int_equal(p.tcp.sack[0].to - LONE_IRS, 2001);
    assert_int_equal(p.tcp.sack[1].from - LONE_IRS, 1001);
    assert_int_equal(p.tcp.sack[1].to - LONE_IRS, 2001);
    lone_free(&l);
}

/* 6.2 step 2: an acknowledgement whose timestamp is the first copy's says nothing about the second. */
static void rfc8985_6_2_acknowledgement_of_the_first_copy(void **state)
{
    (void)state;
    for (int second = 0; second < 2; second++) {
        struct lone l;
        struct pkt p;
        lone_new(&l, "reno");
        l.params.timestamps = 1;
        l.params.tlp = 0;
        l.ts = 7;
        lone_make(&l);
        lone_open(&l);
        lone_write(&l, 10 * 1448);
        assert_true(lone_tx(&l, &p));
        uint32_t first_ts = p.tcp.ts_val;
        lone_drain(&l);
        l.now += MS;
        for (uint32_t k = 1; k <= 3; k++) {
            p = lone_seg(&l, TCP_ACK, 1, 1, 0);
            p.tcp.ts_ecr = first_ts;
            p.tcp.opt |= TCP_OPT_SACK;
            p.tcp.nsack = 1;
            p.tcp.sack[0].from = LONE_ISS + 1 + 1448;
            p.tcp.sack[0].to = LONE_ISS + 1 + (k + 1) * 1448;
            lone_rx_pkt(&l, &p);
            l.now += US;
        }
        assert_true(lone_tx(&l, &p));
        assert_int_equal(p.tcp.seq, 1);
        lone_drain(&l);
        l.now += MS + 100 * US;
        uint64_t before = tcp_counters(l.c)->retransmitted_segments;
        p = lone_seg(&l, TCP_ACK, 1, 1 + 4 * 1448, 0);
        p.tcp.ts_ecr = second ? first_ts + 1003 : first_ts;
        lone_rx_pkt(&l, &p);
        lone_drain(&l);
        assert_int_equal(tcp_counters(l.c)->retransmitted_segments - before > 0, second);
        lone_free(&l);
    }
}

/* 7.2: two round trips, and the acknowledgement delay where one segment is out. 7.4: a loss that only the probe repaired costs window. */
static void rfc8985_7_probe(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    lone_open(&l);
    lone_write(&l, 10 * MSS);
    lone_drain(&l);
    int64_t from = l.now;
    lone_wait(&l, l.now + SIM_PS_PER_S);
    assert_int_equal(l.now - from, 2 * MS);
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.tcp.seq, 1 + 9 * MSS);
    lone_quiet(&l);
    lone_rx(&l, TCP_ACK, 1, 1 + 10 * MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 20 * MSS);   /* not yet judged: the first copy may have been acknowledged */
    lone_write(&l, 11 * MSS);
    lone_drain(&l);
    from = l.now;
    lone_rx(&l, TCP_ACK, 1, 1 + 11 * MSS, 0);              /* beyond the probe, and no duplicate was reported: it was a loss */
    assert_true(tcp_cc(l.c)->cwnd_bytes < 20 * MSS);
    lone_write(&l, 11 * MSS + 100);
    lone_drain(&l);
    from = l.now;
    int64_t srtt = tcp_srtt_ps(l.c);
    lone_wait(&l, l.now + SIM_PS_PER_S);
    assert_int_equal(l.now - from, 2 * srtt + l.params.delayed_ack_time_ps);
    lone_free(&l);
}

/* 7.2: an acknowledgement that comes while the probe waits for the CPU or the wire begins the timer anew; nothing that has arrived is sent again. */
static void rfc8985_7_2_acknowledgement_overtakes_the_probe(void **state)
{
    static const struct { uint32_t ack, sack_from, sack_to; bool again; } row[] = {
        { 1 + 10 * MSS, 0, 0, false },
        { 1 + 5 * MSS, 0, 0, true },
        { 1, 1 + 9 * MSS, 1 + 10 * MSS, false },           /* RACK's timer now */
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct lone l;
        lone_new(&l, "reno");
        lone_make(&l);
        lone_open(&l);
        lone_write(&l, 10 * MSS);
        lone_drain(&l);
        lone_wait(&l, l.now + SIM_PS_PER_S);               /* the probe is wanted, and not asked for */
        if (row[i].sack_to)
            lone_sack(&l, row[i].ack, row[i].sack_from, row[i].sack_to);
        else
            lone_rx(&l, TCP_ACK, 1, row[i].ack, 0);
        lone_quiet(&l);
        assert_int_equal(tcp_counters(l.c)->tlp_probes, 0);
        if (row[i].again) {
            int64_t from = l.now;
            lone_wait(&l, l.now + SIM_PS_PER_S);
            assert_int_equal(l.now - from, 2 * tcp_srtt_ps(l.c));
            assert_int_equal(lone_drain(&l), MSS);
            assert_int_equal(tcp_counters(l.c)->tlp_probes, 1);
        }
        lone_free(&l);
    }
}

/* A timeout comes while the probe waits: what goes first is the first that is missing, not the probe. */
static void rfc8985_7_timeout_overtakes_the_probe(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    lone_open(&l);
    lone_write(&l, 10 * MSS);
    lone_drain(&l);
    struct endpoint *ep = tcp_endpoint(l.c);
    while (tcp_counters(l.c)->timeouts == 0) {
        l.now = ep->ops->next_wake_ps(ep);
        ep->ops->wake(ep, l.now);
    }
    lone_expect(&l, TCP_ACK, 1, 1, MSS);
    assert_int_equal(tcp_counters(l.c)->tlp_probes, 0);
    lone_free(&l);
}

static void rfc6298_5_minimum_can_be_set(void **state)
{
    (void)state;
    static const int64_t least[] = { 10 * US, 5 * MS, 200 * MS };
    for (size_t i = 0; i < 3; i++) {
        struct lone l;
        lone_new(&l, "reno");
        l.params.tlp = 0;
        l.params.rto_min_ps = least[i];
        lone_make(&l);
        lone_open(&l);
        int64_t rto = MS + 2 * MS;                         /* SRTT + 4 RTTVAR of the first sample (2.2) */
        rto = rto > least[i] ? rto : least[i];
        assert_int_equal(tcp_rto_ps(l.c), rto);
        lone_write(&l, MSS);
        lone_drain(&l);
        for (int k = 0; k < 4; k++, rto *= 2) {            /* 5.5 */
            int64_t from = l.now;
            lone_wait(&l, l.now + 100 * SIM_PS_PER_S);
            assert_int_equal(l.now - from, rto);
            assert_int_equal(lone_drain(&l), MSS);
        }
        lone_free(&l);
    }
}

static void rfc9293_3_8_6_3_delayed_acknowledgement(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    l.params.delayed_ack_count = 2;
    lone_make(&l);
    lone_open(&l);
    int64_t from = l.now;
    take(&l, 1, 100);
    lone_quiet(&l);
    lone_wait(&l, l.now + SIM_PS_PER_S);
    assert_int_equal(l.now - from, l.params.delayed_ack_time_ps);
    lone_expect(&l, TCP_ACK, 1, 101, 0);
    take(&l, 101, 100);
    take(&l, 201, 100);
    lone_expect(&l, TCP_ACK, 1, 301, 0);
    take(&l, 301, 100);
    lone_write(&l, 50);
    lone_expect(&l, TCP_ACK | TCP_PSH, 1, 401, 50);        /* data carries it */
    lone_wait(&l, l.now + l.params.delayed_ack_time_ps);
    lone_quiet(&l);
    take(&l, 501, 100);                                    /* RFC 5681 4.2: out of order, at once */
    lone_expect(&l, TCP_ACK, 51, 401, 0);
    take(&l, 401, 100);                                    /* and what fills the gap */
    lone_expect(&l, TCP_ACK, 51, 601, 0);
    lone_free(&l);
}

/* RFC 3465: bytes count, not acknowledgements. */
static void stretched_acknowledgement(void **state)
{
    struct lone l;
    (void)state;
    plain(&l, 1, 10, 2);
    lone_write(&l, 100 * MSS);
    lone_drain(&l);
    l.now += MS;
    lone_rx(&l, TCP_ACK, 1, 1 + 10 * MSS, 0);
    assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 20 * MSS);
    assert_int_equal(lone_drain(&l), 20 * MSS);
    lone_free(&l);
}

static void rfc9293_3_8_6_1_zero_window_probes_back_off(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    plain(&l, 1, 10, 2);
    p = lone_seg(&l, TCP_ACK, 1, 1, 0);
    p.tcp.window = 0;
    lone_rx_pkt(&l, &p);
    lone_write(&l, 1000);
    lone_quiet(&l);
    int64_t gap = tcp_rto_ps(l.c);
    for (int k = 0; k < 5; k++, gap *= 2) {
        int64_t from = l.now;
        lone_wait(&l, l.now + 100 * SIM_PS_PER_S);
        assert_int_equal(l.now - from, gap);
        lone_expect(&l, TCP_ACK, 0, 1, 0);                 /* below the window: the peer must answer */
        p = lone_seg(&l, TCP_ACK, 1, 1, 0);
        p.tcp.window = 0;
        lone_rx_pkt(&l, &p);
        lone_quiet(&l);
    }
    lone_rx(&l, TCP_ACK, 1, 1, 0);
    lone_expect(&l, TCP_ACK | TCP_PSH, 1, 1, 1000);
    assert_int_equal(tcp_state(l.c), TCP_ESTABLISHED);
    lone_free(&l);
}

static void idle_restart_by_kind(void **state)
{
    static const int64_t segments[] = { 40, 10, 10 };
    (void)state;
    for (int64_t kind = 0; kind < 3; kind++) {
        struct lone l;
        lone_new(&l, "reno");
        l.params.idle_restart = kind;
        lone_make(&l);
        lone_open(&l);
        lone_write(&l, 30 * MSS);
        lone_drain(&l);
        lone_rx(&l, TCP_ACK, 1, 1 + 10 * MSS, 0);
        lone_drain(&l);
        lone_rx(&l, TCP_ACK, 1, 1 + 30 * MSS, 0);
        assert_int_equal(tcp_cc(l.c)->cwnd_bytes, 40 * MSS);
        l.now += 10 * tcp_rto_ps(l.c);
        lone_write(&l, 100 * MSS);
        assert_int_equal(lone_drain(&l), segments[kind] * MSS);   /* RFC 5681 4.1, RFC 2861 */
        lone_free(&l);
    }
}

static void rfc9293_3_7_4_nagle(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct lone l;
        lone_new(&l, "reno");
        l.params.nagle = on;
        lone_make(&l);
        lone_open(&l);
        lone_write(&l, 100);
        assert_int_equal(lone_drain(&l), 100);
        lone_write(&l, 200);
        assert_int_equal(lone_drain(&l), on ? 0 : 100);
        lone_rx(&l, TCP_ACK, 1, 101, 0);
        assert_int_equal(lone_drain(&l), on ? 100 : 0);
        lone_free(&l);
    }
}

/* Window over round trip, twice that in slow start: ten segments in 1 ms leave in half of it. */
static void pacing_spaces_a_window(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    lone_new(&l, "reno");
    l.params.pacing = 1;
    lone_make(&l);
    lone_open(&l);
    lone_write(&l, 10 * MSS);
    int64_t last = -1;
    for (int k = 0; k < 10; k++) {
        int64_t at = tcp_endpoint(l.c)->ops->ready_ps(tcp_endpoint(l.c));
        l.now = at > l.now ? at : l.now;
        assert_true(lone_tx(&l, &p));
        lone_quiet(&l);
        if (last >= 0) {                                   /* headers are not charged: tcp_update_skb_after_send of Linux */
            int64_t gap = MS / 20;
            assert_true(l.now - last >= gap - 2 && l.now - last <= gap + 2);
        }
        last = l.now;
    }
    lone_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc6582_3_2_full_acknowledgement), cmocka_unit_test(rfc6582_3_2_partial_acknowledgement),
        cmocka_unit_test(rfc6582_3_2_recover_guards), cmocka_unit_test(rfc3042_limited_transmit), cmocka_unit_test(rfc6937_3_1_proportional_part),
        cmocka_unit_test(rfc6937_3_1_reduction_bounds), cmocka_unit_test(rfc2018_8_reneging), cmocka_unit_test(rfc2883_4_duplicates_are_reported),
        cmocka_unit_test(rfc8985_6_2_acknowledgement_of_the_first_copy), cmocka_unit_test(rfc8985_7_probe),
        cmocka_unit_test(rfc8985_7_2_acknowledgement_overtakes_the_probe), cmocka_unit_test(rfc8985_7_timeout_overtakes_the_probe),
        cmocka_unit_test(rfc6298_5_minimum_can_be_set),
        cmocka_unit_test(rfc9293_3_8_6_3_delayed_acknowledgement), cmocka_unit_test(stretched_acknowledgement),
        cmocka_unit_test(rfc9293_3_8_6_1_zero_window_probes_back_off), cmocka_unit_test(idle_restart_by_kind), cmocka_unit_test(rfc9293_3_7_4_nagle),
        cmocka_unit_test(pacing_spaces_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
