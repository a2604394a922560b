/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection's life, by the steps of RFC 9293 3.10 and RFC 5961. Flags, then sequence and acknowledgement numbers from each side's SYN. */
#include "lone.h"

static void rfc9293_3_10_7_1_closed_answers_by_reset(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    lone_rx(&l, TCP_SYN, 0, 0, 0);
    struct pkt p;
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.tcp.flags, TCP_RST | TCP_ACK);
    assert_int_equal(p.tcp.seq + LONE_ISS, 0);
    assert_int_equal(p.tcp.ack, 1);
    lone_rx(&l, TCP_ACK, 500, 700, 10);
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.tcp.flags, TCP_RST);
    assert_int_equal(p.tcp.seq, 700);
    lone_rx(&l, TCP_RST, 500, 0, 0);
    lone_quiet(&l);
    lone_free(&l);
}

static void rfc9293_3_10_7_2_listen(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    assert_int_equal(tcp_accept(l.c, l.now), SIM_OK);
    lone_rx(&l, TCP_ACK, 5, 9, 0);
    lone_expect(&l, TCP_RST, 9, 0, 0);
    lone_rx(&l, TCP_RST, 5, 0, 0);
    lone_quiet(&l);
    assert_int_equal(tcp_state(l.c), TCP_LISTEN);
    lone_rx(&l, TCP_SYN, 0, 0, 0);
    lone_expect(&l, TCP_SYN | TCP_ACK, 0, 1, 0);
    /* SYN-RECEIVED: the SYN again is answered again, what acknowledges something else is reset, a reset leads back. */
    lone_rx(&l, TCP_SYN, 0, 0, 0);
    lone_expect(&l, TCP_SYN | TCP_ACK, 0, 1, 0);
    lone_rx(&l, TCP_ACK, 1, 77, 0);
    lone_expect(&l, TCP_RST, 77, 0, 0);
    assert_int_equal(tcp_state(l.c), TCP_SYN_RECEIVED);
    lone_rx(&l, TCP_RST, 1, 0, 0);
    assert_int_equal(tcp_state(l.c), TCP_LISTEN);
    assert_int_equal(l.told_times, 0);
    lone_wait(&l, l.now + 10 * SIM_PS_PER_S);
    lone_quiet(&l);
    lone_rx(&l, TCP_SYN, 0, 0, 0);
    lone_expect(&l, TCP_SYN | TCP_ACK, 0, 1, 0);
    lone_rx(&l, TCP_ACK, 1, 1, 100);
    assert_int_equal(tcp_state(l.c), TCP_ESTABLISHED);
    assert_int_equal(l.got, 100);
    lone_free(&l);
}

static void rfc9293_3_10_7_4_syn_in_window_returns_to_listen(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    assert_int_equal(tcp_accept(l.c, l.now), SIM_OK);
    lone_rx(&l, TCP_SYN, 0, 0, 0);
    lone_expect(&l, TCP_SYN | TCP_ACK, 0, 1, 0);
    lone_rx(&l, TCP_SYN, 400, 0, 0);
    assert_int_equal(tcp_state(l.c), TCP_LISTEN);
    lone_rx(&l, TCP_SYN, 400, 0, 0);
    lone_expect(&l, TCP_SYN | TCP_ACK, 0, 401, 0);
    lone_free(&l);
}

static void rfc9293_3_10_7_3_syn_sent(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    assert_int_equal(tcp_connect(l.c, l.now), SIM_OK);
    lone_expect(&l, TCP_SYN, 0, 0, 0);
    lone_rx(&l, TCP_ACK, 0, 5, 0);                         /* acknowledges what was never sent */
    lone_expect(&l, TCP_RST, 5, 0, 0);
    lone_rx(&l, TCP_RST | TCP_ACK, 0, 5, 0);
    lone_rx(&l, TCP_RST, 0, 0, 0);
    lone_quiet(&l);
    assert_int_equal(tcp_state(l.c), TCP_SYN_SENT);
    lone_rx(&l, TCP_RST | TCP_ACK, 0, 1, 0);               /* refused */
    assert_int_equal(tcp_state(l.c), TCP_CLOSED);
    assert_int_equal(l.error, SIM_ERR_STATE);
    lone_free(&l);
}

static void rfc9293_3_5_simultaneous_open(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    assert_int_equal(tcp_connect(l.c, l.now), SIM_OK);
    lone_expect(&l, TCP_SYN, 0, 0, 0);
    lone_rx(&l, TCP_SYN, 0, 0, 0);
    lone_expect(&l, TCP_SYN | TCP_ACK, 0, 1, 0);
    assert_int_equal(tcp_state(l.c), TCP_SYN_RECEIVED);
    lone_rx(&l, TCP_SYN | TCP_ACK, 0, 1, 0);
    assert_int_equal(tcp_state(l.c), TCP_ESTABLISHED);
    assert_int_equal(l.told, TCP_ESTABLISHED);
    lone_expect(&l, TCP_ACK, 1, 1, 0);
    lone_quiet(&l);
    lone_free(&l);
}

static void open_one(struct lone *l)
{
    lone_new(l, "reno");
    lone_make(l);
    lone_open(l);
}

static void rfc5961_3_only_the_exact_number_resets(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    lone_rx(&l, TCP_RST, 200, 0, 0);                       /* in the window: a challenge */
    lone_expect(&l, TCP_ACK, 1, 1, 0);
    lone_rx(&l, TCP_RST, 100000000, 0, 0);                 /* outside: nothing */
    lone_quiet(&l);
    assert_int_equal(tcp_state(l.c), TCP_ESTABLISHED);
    lone_rx(&l, TCP_RST, 1, 0, 0);
    assert_int_equal(tcp_state(l.c), TCP_CLOSED);
    assert_int_equal(l.error, SIM_ERR_STATE);
    lone_free(&l);
}

static void rfc5961_4_syn_is_challenged_and_7_throttled(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    lone_rx(&l, TCP_SYN, 1, 0, 0);
    lone_expect(&l, TCP_ACK, 1, 1, 0);
    lone_rx(&l, TCP_SYN, 1, 0, 0);
    lone_quiet(&l);
    l.now += l.params.challenge_gap_ps;
    lone_rx(&l, TCP_SYN, 1, 0, 0);
    lone_expect(&l, TCP_ACK, 1, 1, 0);
    assert_int_equal(tcp_counters(l.c)->challenge_acks, 2);
    assert_int_equal(tcp_state(l.c), TCP_ESTABLISHED);
    lone_free(&l);
}

static void rfc5961_5_acknowledgements_out_of_range(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    lone_rx(&l, TCP_ACK, 1, 500, 10);                      /* of what was never sent: its data is dropped too */
    lone_expect(&l, TCP_ACK, 1, 1, 0);
    assert_int_equal(l.got, 0);
    l.now += SIM_PS_PER_S;
    lone_rx(&l, TCP_ACK, 1, (uint32_t)-(60000 << 7) - 100, 10);
    lone_expect(&l, TCP_ACK, 1, 1, 0);
    assert_int_equal(l.got, 0);
    lone_rx(&l, TCP_ACK, 1, (uint32_t)-1000, 10);          /* old, yet within the largest window: the data counts */
    assert_int_equal(l.got, 10);
    lone_free(&l);
}

static void rfc9293_3_6_half_close(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    tcp_close(l.c, l.now);
    lone_expect(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
    lone_rx(&l, TCP_ACK, 1, 2, 0);
    assert_int_equal(tcp_state(l.c), TCP_FIN_WAIT_2);
    lone_rx(&l, TCP_ACK, 1, 2, 1000);                      /* the peer goes on */
    assert_int_equal(l.got, 1000);
    lone_expect(&l, TCP_ACK, 2, 1001, 0);
    unsigned before = l.told_times;
    lone_rx(&l, TCP_ACK | TCP_FIN, 1001, 2, 500);
    assert_int_equal(l.got, 1500);
    assert_int_equal(tcp_state(l.c), TCP_TIME_WAIT);
    assert_int_equal(l.told, TCP_TIME_WAIT);               /* who closed first hears of the peer's close as well */
    assert_int_equal(l.told_times, before + 1);
    lone_expect(&l, TCP_ACK, 2, 1502, 0);
    lone_free(&l);
}

static void rfc9293_3_6_peer_closes_first(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    lone_rx(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
    assert_int_equal(l.told, TCP_CLOSE_WAIT);
    lone_expect(&l, TCP_ACK, 1, 2, 0);
    lone_write(&l, 100);
    lone_expect(&l, TCP_ACK | TCP_PSH, 1, 2, 100);
    tcp_close(l.c, l.now);
    lone_expect(&l, TCP_ACK | TCP_FIN, 101, 2, 0);
    assert_int_equal(tcp_state(l.c), TCP_LAST_ACK);
    lone_rx(&l, TCP_ACK, 2, 102, 0);
    assert_int_equal(tcp_state(l.c), TCP_CLOSED);
    assert_int_equal(l.error, 0);
    lone_free(&l);
}

static void rfc9293_3_6_simultaneous_close(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    tcp_close(l.c, l.now);
    lone_expect(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
    lone_rx(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
    assert_int_equal(tcp_state(l.c), TCP_CLOSING);
    assert_int_equal(l.told, TCP_CLOSING);
    lone_expect(&l, TCP_ACK, 2, 2, 0);
    lone_rx(&l, TCP_ACK, 2, 2, 0);
    assert_int_equal(tcp_state(l.c), TCP_TIME_WAIT);
    lone_free(&l);
}

static void rfc9293_3_6_fin_that_acknowledges_ours(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    tcp_close(l.c, l.now);
    lone_expect(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
    lone_rx(&l, TCP_ACK | TCP_FIN, 1, 2, 0);
    assert_int_equal(tcp_state(l.c), TCP_TIME_WAIT);
    lone_expect(&l, TCP_ACK, 2, 2, 0);
    /* RFC 9293 3.10.7.4, eighth: the FIN again is acknowledged again and the wait begins anew. */
    l.now += 30 * SIM_PS_PER_S;
    lone_rx(&l, TCP_ACK | TCP_FIN, 1, 2, 0);
    lone_expect(&l, TCP_ACK, 2, 2, 0);
    lone_wait(&l, l.now + l.params.time_wait_ps - 1);
    assert_int_equal(tcp_state(l.c), TCP_TIME_WAIT);
    lone_wait(&l, l.now + 1);
    assert_int_equal(tcp_state(l.c), TCP_CLOSED);
    assert_int_equal(l.error, 0);
    lone_free(&l);
}

/* RFC 9293 3.10.7.4, second check: in the last states a reset ends the connection without an error. */
static void rfc9293_3_10_7_4_reset_of_a_finished_connection(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct lone l;
        open_one(&l);
        if (k == 2) {
            lone_rx(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
            tcp_close(l.c, l.now);
            lone_expect(&l, TCP_ACK | TCP_FIN, 1, 2, 0);
        } else {
            tcp_close(l.c, l.now);
            lone_expect(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
            lone_rx(&l, TCP_ACK | TCP_FIN, 1, k ? 2 : 1, 0);
            lone_expect(&l, TCP_ACK, 2, 2, 0);
        }
        assert_int_equal(tcp_state(l.c), k == 0 ? TCP_CLOSING : k == 1 ? TCP_TIME_WAIT : TCP_LAST_ACK);
        lone_rx(&l, TCP_RST, 2, 0, 0);
        assert_int_equal(tcp_state(l.c), TCP_CLOSED);
        assert_int_equal(l.told, TCP_CLOSED);
        assert_int_equal(l.error, 0);
        lone_free(&l);
    }
}

static void rfc9293_3_10_5_abort(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    lone_write(&l, 100);
    lone_drain(&l);
    tcp_abort(l.c, l.now);
    lone_expect(&l, TCP_RST | TCP_ACK, 101, 1, 0);
    lone_quiet(&l);
    lone_free(&l);
    lone_new(&l, "reno");
    lone_make(&l);
    assert_int_equal(tcp_connect(l.c, l.now), SIM_OK);
    lone_drain(&l);
    tcp_abort(l.c, l.now);
    lone_quiet(&l);                                        /* nothing to reset yet */
    lone_free(&l);
    open_one(&l);
    tcp_close(l.c, l.now);
    lone_drain(&l);
    lone_rx(&l, TCP_ACK | TCP_FIN, 1, 1, 0);
    lone_drain(&l);
    tcp_abort(l.c, l.now);                                 /* CLOSING: both have closed */
    lone_quiet(&l);
    lone_free(&l);
}

/* The acknowledgement on old data counts: here what was sent again brings the only word that all has arrived. */
static void acknowledgement_of_an_old_segment_is_read(void **state)
{
    struct lone l;
    (void)state;
    open_one(&l);
    lone_rx(&l, TCP_ACK, 1, 1, 500);
    lone_expect(&l, TCP_ACK, 1, 501, 0);
    lone_write(&l, 1000);
    lone_expect(&l, TCP_ACK | TCP_PSH, 1, 501, 1000);
    lone_rx(&l, TCP_ACK, 1, 1001, 500);                    /* wholly old */
    assert_int_equal(l.acked, 1000);
    lone_expect(&l, TCP_ACK, 1001, 501, 0);                /* RFC 9293 3.10.7.4: answered all the same */
    assert_int_equal(l.got, 500);
    lone_write(&l, 1500);
    lone_expect(&l, TCP_ACK | TCP_PSH, 1001, 501, 500);
    lone_rx(&l, TCP_ACK, 300, 1501, 0);                    /* a bare one that data overtook */
    assert_int_equal(l.acked, 1500);
    lone_free(&l);
}

/* RFC 9293 3.10.7.4: with a closed window nothing is acceptable, but acknowledgements and resets are heeded. */
static void acknowledgement_into_a_closed_window_is_read(void **state)
{
    struct lone l;
    (void)state;
    lone_new(&l, "reno");
    l.params.receive_buffer_bytes = 2048;
    l.params.window_scale = 0;
    lone_make(&l);
    lone_open(&l);
    lone_write(&l, 500);
    lone_expect(&l, TCP_ACK | TCP_PSH, 1, 1, 500);
    struct pkt p = lone_seg(&l, TCP_ACK, 2049, 501, 100);  /* at the right edge: not acceptable */
    lone_rx_pkt(&l, &p);
    assert_int_equal(l.acked, 0);
    p = lone_seg(&l, TCP_ACK, 1, 501, 2048);
    lone_rx_pkt(&l, &p);
    assert_int_equal(l.acked, 500);
    lone_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc9293_3_10_7_1_closed_answers_by_reset), cmocka_unit_test(rfc9293_3_10_7_2_listen),
        cmocka_unit_test(rfc9293_3_10_7_4_syn_in_window_returns_to_listen), cmocka_unit_test(rfc9293_3_10_7_3_syn_sent),
        cmocka_unit_test(rfc9293_3_5_simultaneous_open), cmocka_unit_test(rfc5961_3_only_the_exact_number_resets),
        cmocka_unit_test(rfc5961_4_syn_is_challenged_and_7_throttled), cmocka_unit_test(rfc5961_5_acknowledgements_out_of_range),
        cmocka_unit_test(rfc9293_3_6_half_close), cmocka_unit_test(rfc9293_3_6_peer_closes_first), cmocka_unit_test(rfc9293_3_6_simultaneous_close),
        cmocka_unit_test(rfc9293_3_6_fin_that_acknowledges_ours), cmocka_unit_test(rfc9293_3_10_7_4_reset_of_a_finished_connection),
        cmocka_unit_test(rfc9293_3_10_5_abort), cmocka_unit_test(acknowledgement_of_an_old_segment_is_read),
        cmocka_unit_test(acknowledgement_into_a_closed_window_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
