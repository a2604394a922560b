/* SPDX-License-Identifier: GPL-2.0-only */
/* One endpoint alone: what it sends, when it wakes, what it makes of packets that a test writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../../helper/testbed.h"
#include "../../model/wire/codec.h"

struct seen { struct { int64_t at_ps; struct pkt p; } e[32]; uint32_t n; struct rnic_wc wc[8]; uint32_t nwc; };

static void wire(void *ctx, struct testbed *b, struct pkt *p)
{
    struct seen *s = ctx;
    assert_true(s->n < 32);
    s->e[s->n].at_ps = b->now_ps;
    s->e[s->n++].p = *p; /* payload is not looked at */
}

static void on_wc(void *ctx, const struct rnic_wc *wc)
{
    struct seen *s = ctx;
    assert_true(s->nwc < 8);
    s->wc[s->nwc++] = *wc;
}

static const struct tcp_addr addr = { 0x0a000001, 0x0a000002, 10000, 7 };

/* RFC 6298 2.1 and 5.5: a SYN that nobody answers goes again after 1 s, then after 2 s more. */
static void syn_goes_again(void **state)
{
    (void)state;
    struct tcp_params tcp;
    struct seen s = { .n = 0 };
    struct testbed_stream t;
    struct testbed b;
    param_defaults(&tcp_params_table, &tcp);
    struct testbed_spec spec = { .tcp = &tcp };
    assert_int_equal(testbed_tcp(&t, &spec, &addr), SIM_OK);
    testbed_init(&b, tcp_endpoint(t.conn), wire, &s);
    assert_int_equal(testbed_next_ps(&b), SIM_NEVER_PS);
    assert_int_equal(tcp_connect(t.conn, b.now_ps), SIM_OK);
    assert_int_equal(testbed_next_ps(&b), 0);
    assert_true(testbed_run(&b, 4 * SIM_PS_PER_S));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.e[0].at_ps, 0);
    assert_int_equal(s.e[1].at_ps, SIM_PS_PER_S);
    assert_int_equal(s.e[2].at_ps, 3 * SIM_PS_PER_S);
    assert_int_equal(s.e[2].p.tcp.flags, TCP_SYN);
    assert_int_equal(b.now_ps, 4 * SIM_PS_PER_S);
    testbed_tcp_free(&t);
}

/* A port of 10 Gbit/s: the second packet begins when the first and the gap have left. */
static void packets_follow_at_the_rate_of_the_port(void **state)
{
    (void)state;
    struct roce_params roce;
    struct seen s = { .n = 0 };
    struct testbed_rnic r;
    struct testbed b;
    param_defaults(&roce_params_table, &roce);
    struct testbed_spec spec = { .roce = &roce, .on_wc = on_wc, .ctx = &s };
    assert_int_equal(testbed_roce(&r, &spec), SIM_OK);
    struct roce_peer peer = { .local_addr = addr.local_addr, .remote_addr = addr.remote_addr, .remote_qpn = 9, .remote_psn = 5 };
    assert_int_equal(roce_qp_connect(r.qp, &peer), SIM_OK);
    testbed_init(&b, &r.qp->ep, wire, &s);
    b.rate_bps = INT64_C(10000000000);
    struct rnic_mr *mr = rnic_mr_reg(r.pd, 0, 4096, RNIC_LOCAL_WRITE, NULL);
    struct rnic_send_wr wr = { .wr_id = 1, .op = RNIC_OP_SEND, .flags = RNIC_SEND_SIGNALED, .sge = { 0, 2048, rnic_mr_key(mr) } };
    assert_int_equal(rnic_post_send(r.qp, &wr), SIM_OK);
    assert_true(testbed_run(&b, 10 * SIM_PS_PER_US));
    assert_int_equal(s.n, 2);
    assert_int_equal(s.e[1].at_ps, (s.e[0].p.frame_len + 20) * 800);
    struct pkt ack = { .kind = PKT_ROCE, .src = addr.remote_addr, .dst = addr.local_addr };
    ack.roce = (struct pkt_roce){ .opcode = ROCE_ACK, .pkey = 0xffff, .syndrome = 0x1f, .psn = s.e[1].p.roce.psn, .msn = 1, .dqpn = rnic_qp_num(r.qp) };
    testbed_rx(&b, &ack);
    assert_int_equal(s.nwc, 1);
    assert_int_equal(s.wc[0].status, RNIC_WC_SUCCESS);
    testbed_rnic_free(&r);
}

static void parameters_that_a_qp_refuses(void **state)
{
    (void)state;
    struct roce_params roce;
    struct testbed_rnic r;
    param_defaults(&roce_params_table, &roce);
    roce.mtu_bytes = 1000;
    struct testbed_spec spec = { .roce = &roce };
    assert_int_equal(testbed_roce(&r, &spec), SIM_ERR_PARAM);
    assert_null(r.dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(syn_goes_again), cmocka_unit_test(packets_follow_at_the_rate_of_the_port),
        cmocka_unit_test(parameters_that_a_qp_refuses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
