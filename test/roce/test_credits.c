/* SPDX-License-Identifier: GPL-2.0-only */
/* End-to-end credits, and that a requester which may not go on has always asked for an acknowledgement: it waits for no timeout. */
#include "pair.h"
#include "../../model/roce/roce_internal.h"

/* IBTA vol. 1 table 46 and 9.7.7.2: what credits say, and that a SEND beyond them goes a packet at a time. */
static void credit_codes(void **state)
{
    (void)state;
    static const uint32_t count[31] = { 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
        6144, 8192, 12288, 16384, 24576, 32768 };
    for (unsigned i = 0; i < 31; i++) {
        assert_int_equal(roce_credit_count(i), count[i]);
        assert_int_equal(roce_credit_code(count[i]), i);
        if (i >= 5)
            assert_int_equal(roce_credit_code(count[i] - 1), i - 1);
    }
    assert_int_equal(roce_credit_code(1000000), 30);
}

static void credits_hold_sends_back(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.params.credits = 1;
    struct pair *pr = pair_new(&c);
    for (uint32_t i = 0; i < 5; i++)
        pair_recv(pr, 1, i, 4096 * i, 4096);
    pair_post(pr, 0, RNIC_OP_SEND, 0, 0, 3000);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->log[pr->nlog - 1].syndrome, 4);
    for (uint32_t i = 1; i < 10; i++)
        pair_post(pr, 0, i == 3 ? RNIC_OP_WRITE : RNIC_OP_SEND, i, 65536 + 4096 * i, 3000);
    uint32_t first = pr->nlog;
    pair_run(pr, pr->now_ps + 100 * SIM_PS_PER_US);
    assert_int_equal(pr->side[0].nwc, 6); /* 1, 2, the WRITE 3, 4, 5 */
    uint32_t beyond = 0, rnr = 0;
    for (uint32_t i = first; i < pr->nlog; i++) { /* 1..5 are 15 packets; of 6 one packet goes, alone, and is refused */
        beyond += pr->log[i].from == 0 && wire_psn_diff(pr->log[i].psn, 100 + 18) >= 0;
        rnr += (pr->log[i].syndrome & 0x60) == 0x20;
    }
    assert_int_equal(beyond, 1);
    assert_int_equal(rnr, 1);
    for (uint32_t i = 5; i < 10; i++)
        pair_recv(pr, 1, i, 4096 * i, 4096);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 10);
    assert_int_equal(pr->side[1].nwc, 9);
    assert_int_equal(PAIR_COUNTER(pr, 0, rnr_nak_retry_err), 1);
    pair_free(pr);
}

static const int policies[] = { ROCE_GO_BACK_N, ROCE_GO_BACK_0, ROCE_IRN_RETRY, ROCE_SELECTIVE };

/* A pair whose side 0 has heard from side 1, of `posted` receives left after one SEND; ACKs come only when asked for. */
static struct pair *pair_with_credits(int retry, int ack_request, uint32_t posted)
{
    struct pair_config c = pair_defaults();
    c.params.retry = retry;
    c.params.credits = 1;
    c.params.ack_request = ack_request;
    c.params.ack_request_packets = c.params.ack_packets = 0;
    struct pair *pr = pair_new(&c);
    for (uint32_t i = 0; i <= posted; i++)
        pair_recv(pr, 1, i, 4096 * i, 4096);
    pair_post(pr, 0, RNIC_OP_SEND, 0, 0, 8);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 1);
    pr->nlog = 0;
    return pr;
}

/* All n operations of side 0 have ended well, without a timeout and without a receiver that was not ready. */
static void assert_done(const struct pair *pr, uint32_t n)
{
    assert_int_equal(pr->side[0].nwc, 1 + n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pr->side[0].wc[1 + i].status, RNIC_WC_SUCCESS);
    assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
    assert_int_equal(PAIR_COUNTER(pr, 0, rnr_nak_retry_err), 0);
    assert_int_equal(PAIR_COUNTER(pr, 0, retransmitted_packets), 0);
}

/* A WRITE with immediate takes its receive with its last packet. Without credit that one is a limited packet, and it follows the others at
 * once: they have asked for no ACK that it could wait for. */
static void last_packet_of_a_write_goes_without_credit(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof policies / sizeof policies[0]; i++)
        for (int ack_request = 0; ack_request < 2; ack_request++) {
            struct pair *pr = pair_with_credits(policies[i], ack_request, 0);
            int64_t start = pr->now_ps;
            pair_recv(pr, 1, 1, 0, 0); /* side 0 is not told */
            pair_post(pr, 0, RNIC_OP_WRITE_IMM, 1, 65536, 8000);
            pair_run(pr, SIM_NEVER_PS);
            assert_done(pr, 1);
            assert_int_equal(pair_count(pr, 0, policies[i] == ROCE_IRN_RETRY ? ROCE_IRN + ROCE_WRITE_LAST_IMM : ROCE_WRITE_LAST_IMM), 1);
            assert_in_range(pr->side[0].wc_ps[1] - start, 2 * pr->delay_ps, 3 * pr->delay_ps);
            pair_free(pr);
        }
}

/* What needs no receive goes ahead of a limited packet and behind it, a second limited packet waits for the first one's answer. */
static void one_limited_packet_in_flight(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        static const struct { enum rnic_opcode op; bool waits; } row[] = { { RNIC_OP_WRITE, false }, { RNIC_OP_SEND, false }, { RNIC_OP_WRITE, false },
            { RNIC_OP_READ, false }, { RNIC_OP_SEND, true } };
        struct pair *pr = pair_with_credits(policies[i], ROCE_ACK_REQ_DRAIN, 0);
        int64_t start = pr->now_ps;
        pair_recv(pr, 1, 1, 4096, 4096);
        for (uint32_t k = 0; k < 5; k++)
            pair_post(pr, 0, row[k].op, k, 65536 + 8192 * k, 1000);
        pair_run(pr, pr->now_ps + pr->delay_ps);
        pair_recv(pr, 1, 2, 8192, 4096);
        pair_run(pr, SIM_NEVER_PS);
        assert_done(pr, 5);
        for (uint32_t k = 0, seen = 0; k < pr->nlog; k++) {
            if (pr->log[k].from == 0 && seen < 5) {
                assert_int_equal(pr->log[k].at_ps > start + 2 * pr->delay_ps, row[seen].waits);
                seen++;
            }
        }
        pair_free(pr);
    }
}

/* WRITEs, READs and atomics are numbered as messages but take none of the receives that the peer has told of. */
static void only_receives_take_credit(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct pair *pr = pair_with_credits(policies[i], ROCE_ACK_REQ_MESSAGE, 2);
        int64_t start = pr->now_ps, rtt = 2 * pr->delay_ps;
        for (uint32_t k = 0; k < 3; k++)
            pair_post(pr, 0, k == 2 ? RNIC_OP_READ : RNIC_OP_WRITE, k, 65536 + 8192 * k, 8);
        pair_post(pr, 0, RNIC_OP_FETCH_ADD, 3, 262144, 8);
        pair_post(pr, 0, RNIC_OP_SEND, 4, 131072, 4096);
        pair_post(pr, 0, RNIC_OP_SEND, 5, 135168, 4096);
        pair_run(pr, SIM_NEVER_PS);
        assert_done(pr, 6);
        for (uint32_t k = 0; k < pr->nlog; k++)
            if (pr->log[k].from == 0 && wire_roce_op[pr->log[k].opcode].flags & ROCE_OP_REQUEST)
                assert_in_range(pr->log[k].at_ps - start, 0, rtt - 1);
        pair_free(pr);
    }
}

/* ack-request drain: the last packet behind which nothing may go asks, though something waits: a Local Invalidate, which sends nothing. */
static void nothing_may_follow(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct pair_config c = pair_defaults();
        c.params.retry = policies[i];
        c.params.ack_request = ROCE_ACK_REQ_DRAIN;
        c.params.ack_request_packets = c.params.ack_packets = 0;
        struct pair *pr = pair_new(&c);
        struct rnic_send_wr wr = { .wr_id = 1, .op = RNIC_OP_LOCAL_INV, .flags = RNIC_SEND_SIGNALED,
            .imm_or_inv = rnic_mr_key(rnic_mr_reg(pr->side[0].pd, 0x90000000, 10, 0, NULL)) };
        pair_post(pr, 0, RNIC_OP_WRITE, 0, 0, 3000);
        assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 2);
        assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
        pair_free(pr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credit_codes), cmocka_unit_test(credits_hold_sends_back), cmocka_unit_test(last_packet_of_a_write_goes_without_credit),
        cmocka_unit_test(one_limited_packet_in_flight), cmocka_unit_test(only_receives_take_credit), cmocka_unit_test(nothing_may_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
