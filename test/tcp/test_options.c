/* SPDX-License-Identifier: GPL-2.0-only */
/* What the handshake agrees on: MSS, window scaling, timestamps and PAWS (RFC 9293 3.7.1, RFC 6691, RFC 7323). */
#include "lone.h"

struct offer { unsigned opt; uint16_t mss; uint8_t wscale; };

static void open_with(struct lone *l, const struct offer *o)
{
    struct pkt p;
    lone_make(l);
    assert_int_equal(tcp_connect(l->c, l->now), SIM_OK);
    assert_true(lone_tx(l, &p));
    assert_true(p.tcp.opt & TCP_OPT_MSS);
    assert_int_equal(p.tcp.mss, 1460);
    l->now += MS;
    p = lone_seg(l, TCP_SYN | TCP_ACK, 0, 1, 0);
    p.tcp.opt = (uint8_t)o->opt;
    p.tcp.mss = o->mss;
    p.tcp.wscale = o->wscale;
    p.tcp.ts_val = l->ts;
    lone_rx_pkt(l, &p);
    lone_drain(l);
    assert_int_equal(tcp_state(l->c), TCP_ESTABLISHED);
}

static void rfc9293_3_7_1_mss(void **state)
{
    static const struct { struct offer o; int timestamps; uint32_t emss; } t[] = {
        { { TCP_OPT_MSS, 1460, 0 }, 0, 1460 }, { { TCP_OPT_MSS, 9000, 0 }, 0, 1460 }, { { TCP_OPT_MSS, 1000, 0 }, 0, 1000 },
        { { 0, 0, 0 }, 0, 536 },                                       /* none said */
        { { TCP_OPT_MSS | TCP_OPT_TS, 1000, 0 }, 1, 988 },             /* RFC 6691: options come out of it */
        { { TCP_OPT_MSS, 1000, 0 }, 1, 1000 },                         /* not agreed on */
        { { TCP_OPT_MSS | TCP_OPT_TS, 4, 0 }, 1, 52 },                 /* absurd: something is still sent */
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct lone l;
        lone_new(&l, "reno");
        l.params.timestamps = t[i].timestamps;
        l.ts = 5;
        open_with(&l, &t[i].o);
        assert_int_equal(tcp_emss(l.c), t[i].emss);
        lone_write(&l, 5000);
        struct pkt p;
        assert_true(lone_tx(&l, &p));
        assert_int_equal(p.payload_len, t[i].emss);
        lone_free(&l);
    }
}

/* 2.2: never in a SYN, only if both said so; 2.3: at most 14. */
static void rfc7323_2_window_scaling(void **state)
{
    static const struct { struct offer o; int offered; uint64_t window; } t[] = {
        { { TCP_OPT_MSS | TCP_OPT_WSCALE, 1460, 3 }, 1, 800 }, { { TCP_OPT_MSS | TCP_OPT_WSCALE, 1460, 14 }, 1, 100 << 14 },
        { { TCP_OPT_MSS | TCP_OPT_WSCALE, 1460, 20 }, 1, 100 << 14 }, { { TCP_OPT_MSS, 1460, 0 }, 1, 100 },
        { { TCP_OPT_MSS | TCP_OPT_WSCALE, 1460, 3 }, 0, 100 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct lone l;
        lone_new(&l, "reno");
        l.params.window_scale = t[i].offered;
        l.params.initial_window_count = 1000;
        l.params.rto_min_ps = 10 * SIM_PS_PER_S;
        open_with(&l, &t[i].o);
        struct pkt p = lone_seg(&l, TCP_ACK, 1, 1, 0);
        p.tcp.window = 100;
        lone_rx_pkt(&l, &p);
        lone_write(&l, 100000);
        uint64_t sent = lone_drain(&l);
        if (t[i].window > 100000)
            assert_int_equal(sent, 100000);
        else
            assert_true(sent <= t[i].window);
        lone_free(&l);
    }
}

static void rfc7323_2_2_window_of_a_syn_is_not_scaled(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    lone_new(&l, "reno");
    lone_make(&l);
    assert_int_equal(tcp_connect(l.c, l.now), SIM_OK);
    assert_true(lone_tx(&l, &p));
    assert_int_equal(p.tcp.window, 65535);
    assert_int_equal(p.tcp.wscale, 7);                     /* 6 MiB in 16 bits */
    lone_free(&l);
}

static void open_ts(struct lone *l)
{
    lone_new(l, "reno");
    l->params.timestamps = 1;
    l->ts = 1000;
    struct offer o = { TCP_OPT_MSS | TCP_OPT_TS, 1460, 0 };
    open_with(l, &o);
}

static void take(struct lone *l, uint32_t seq, uint32_t len) { lone_rx(l, TCP_ACK, seq, 1, len); }

static void rfc7323_3_2_timestamps_in_every_segment(void **state)
{
    struct lone l;
    (void)state;
    open_ts(&l);
    l.ts = 0;                                              /* without the option: dropped without a word */
    take(&l, 1, 100);
    lone_quiet(&l);
    assert_int_equal(l.got, 0);
    l.ts = 1001;
    take(&l, 1, 100);
    struct pkt p = lone_expect(&l, TCP_ACK, 1, 101, 0);
    assert_true(p.tcp.opt & TCP_OPT_TS);
    assert_int_equal(p.tcp.ts_ecr, 1001);
    l.ts = 0;
    lone_rx(&l, TCP_RST, 101, 0, 0);                       /* a reset needs none */
    assert_int_equal(tcp_state(l.c), TCP_CLOSED);
    lone_free(&l);
}

/* 4.3: the timestamp echoed is that of the earliest segment not yet acknowledged. */
static void rfc7323_4_3_what_is_echoed(void **state)
{
    struct lone l;
    struct pkt p;
    (void)state;
    open_ts(&l);
    l.ts = 1010;
    take(&l, 1, 100);
    lone_drain(&l);
    l.ts = 1020;
    take(&l, 201, 100);                                    /* out of order: not its timestamp */
    p = lone_expect(&l, TCP_ACK, 1, 101, 0);
    assert_int_equal(p.tcp.ts_ecr, 1010);
    l.ts = 1030;
    take(&l, 101, 100);
    p = lone_expect(&l, TCP_ACK, 1, 301, 0);
    assert_int_equal(p.tcp.ts_ecr, 1030);
    lone_free(&l);
}

static void rfc7323_5_3_paws(void **state)
{
    struct lone l;
    (void)state;
    open_ts(&l);
    l.ts = 2000;
    take(&l, 1, 100);
    lone_drain(&l);
    l.ts = 1999;                                           /* in the window, but from before the numbers wrapped */
    take(&l, 101, 100);
    assert_int_equal(l.got, 100);
    assert_int_equal(tcp_counters(l.c)->paws_drops, 1);
    lone_expect(&l, TCP_ACK, 1, 101, 0);
    l.ts = 2000;                                           /* equal is not older */
    take(&l, 101, 100);
    assert_int_equal(l.got, 200);
    lone_drain(&l);
    l.now += 25LL * 86400 * SIM_PS_PER_S;                  /* 5.5: idle for over 24 days, the old value refuses nothing */
    l.ts = 5;
    take(&l, 201, 100);
    assert_int_equal(l.got, 300);
    lone_free(&l);
}

static void rfc7323_5_timestamps_wrap(void **state)
{
    struct lone l;
    (void)state;
    open_ts(&l);
    l.ts = 0x7fffffff;
    take(&l, 1, 100);
    lone_drain(&l);
    l.ts = 0xfffffff0u;
    take(&l, 101, 100);
    lone_drain(&l);
    l.ts = 10;
    take(&l, 201, 100);
    assert_int_equal(l.got, 300);
    assert_int_equal(tcp_counters(l.c)->paws_drops, 0);
    lone_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc9293_3_7_1_mss), cmocka_unit_test(rfc7323_2_window_scaling), cmocka_unit_test(rfc7323_2_2_window_of_a_syn_is_not_scaled),
        cmocka_unit_test(rfc7323_3_2_timestamps_in_every_segment), cmocka_unit_test(rfc7323_4_3_what_is_echoed), cmocka_unit_test(rfc7323_5_3_paws),
        cmocka_unit_test(rfc7323_5_timestamps_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
