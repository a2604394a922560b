/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults that peers have had and ours must not: the RoCE rows of the project's list of known answers, one test each, named after
 * its number there. The wire is 100 Gb/s with 1 us each way; drops are scripted. */
#include "pair.h"
#include "../../model/cc/dcqcn_params.h"

extern const struct cc_ops cc_dcqcn;

/* Drops the packets whose place among side `from`'s packets is listed. */
struct script { int from; uint64_t drop[8]; unsigned ndrop; };
static enum pair_fate scripted(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    const struct script *s = ctx;
    (void)p;
    if (from == s->from)
        for (unsigned i = 0; i < s->ndrop; i++)
            if (pr->side[from].sent == s->drop[i])
                return PAIR_DROP;
    return PAIR_PASS;
}

static void expect_success(const struct pair *pr, int side, uint32_t n)
{
    assert_int_equal(pr->side[side].nwc, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pr->side[side].wc[i].status, RNIC_WC_SUCCESS);
}

static void item_10_psn_wrap(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.psn[0] = 0xfffffe;
    struct pair *pr = pair_new(&c);
    struct script s = { 0, { 2 }, 1 };
    pr->fate = scripted;
    pr->ctx = &s;
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 4096);
    pair_run(pr, SIM_NEVER_PS);
    static const uint32_t psn[] = { 0xfffffe, 0xffffff, 0, 1, 0xffffff, 0, 1 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < pr->nlog; i++) {
        if (pr->log[i].from == 0) {
            assert_int_equal(pr->log[i].psn, psn[n]);
            assert_int_equal(pr->log[i].retx, n >= 4);
            n++;
        } else if (pr->log[i].syndrome == 0x60) {
            assert_int_equal(pr->log[i].psn, 0xffffff);
        }
    }
    assert_int_equal(n, 7);
    assert_int_equal(PAIR_COUNTER(pr, 1, naks_sent), 1);
    assert_int_equal(PAIR_COUNTER(pr, 0, packet_seq_err), 1);
    expect_success(pr, 0, 1);
    assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 4096);
    pair_free(pr);
}

static void item_11_final_ack_lost(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    struct script s = { 1, { 1 }, 1 };
    pr->fate = scripted;
    pr->ctx = &s;
    pair_recv(pr, 1, 70, 0, 4096);
    pair_recv(pr, 1, 71, 0, 4096);
    pair_post(pr, 0, RNIC_OP_SEND, 1, 8192, 3000);
    pair_run(pr, SIM_NEVER_PS);
    expect_success(pr, 0, 1);
    expect_success(pr, 1, 1); /* delivered once */
    assert_int_equal(pr->side[1].wc[0].wr_id, 70);
    assert_int_equal(pr->side[1].wc[0].byte_len, 3000);
    assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 1);
    assert_int_equal(PAIR_COUNTER(pr, 0, timer_waits), 1);
    assert_int_equal(PAIR_COUNTER(pr, 1, duplicate_request), 3);
    assert_memory_equal(pr->side[0].mem + 8192, pr->side[1].mem, 3000);
    pair_free(pr);
}

static void item_12_atomic_reply_lost(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    struct script s = { 1, { 1 }, 1 };
    pr->fate = scripted;
    pr->ctx = &s;
    memcpy(pr->side[1].mem + 64, "\5\0\0\0\0\0\0\0", 8);
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_FETCH_ADD, 1, 64, 8);
    wr.swap_add = 3;
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    pair_run(pr, SIM_NEVER_PS);
    expect_success(pr, 0, 1);
    assert_int_equal(pair_count(pr, 0, ROCE_FETCH_ADD), 2);
    assert_memory_equal(pr->side[0].mem + 64, "\5\0\0\0\0\0\0\0", 8);
    assert_memory_equal(pr->side[1].mem + 64, "\10\0\0\0\0\0\0\0", 8);
    pair_free(pr);
}

static void item_13_rnr_outlasts_ack_timeout(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.params.rnr_timer = 20;
    c.params.local_ack_timeout = 8;
    struct pair *pr = pair_new(&c);
    pair_post(pr, 0, RNIC_OP_SEND, 1, 0, 100);
    pair_run(pr, 5 * SIM_PS_PER_MS);
    assert_int_equal(pair_count(pr, 0, ROCE_SEND_ONLY), 1);
    assert_int_equal(PAIR_COUNTER(pr, 0, rnr_nak_retry_err), 1);
    pair_recv(pr, 1, 70, 8192, 100);
    pair_run(pr, SIM_NEVER_PS);
    expect_success(pr, 0, 1);
    expect_success(pr, 1, 1);
    assert_int_equal(pair_count(pr, 0, ROCE_SEND_ONLY), 2);
    int64_t again = 0, nak = 0;
    for (uint32_t i = 0; i < pr->nlog; i++) {
        if (pr->log[i].from == 0)
            again = pr->log[i].at_ps;
        else if (pr->log[i].syndrome == (0x20 | 20))
            nak = pr->log[i].at_ps + pair_wire_ps(pr, pr->log[i].frame_len) + pr->delay_ps;
    }
    assert_int_equal(again - nak, 10240 * SIM_PS_PER_US);
    assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
    pair_free(pr);
}

static void item_14_write_needs_no_receive(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 5000);
    pair_run(pr, SIM_NEVER_PS);
    expect_success(pr, 0, 1);
    assert_int_equal(PAIR_COUNTER(pr, 0, rnr_nak_retry_err), 0);
    pair_free(pr);
}

static void item_15_end_of_address_space(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_WRITE, 1, 0, 0x400);
    wr.remote_va = UINT64_C(0xfffffffffffffc00);
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 1);
    assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_REM_ACCESS_ERR);
    assert_int_equal(rnic_qp_state(pr->side[0].qp), RNIC_QP_ERROR);
    assert_int_equal(rnic_qp_state(pr->side[1].qp), RNIC_QP_ERROR);
    assert_int_equal(pr->log[pr->nlog - 1].syndrome, 0x62);
    /* later requests go unanswered */
    uint32_t before = pr->nlog;
    struct pkt p;
    memset(&p, 0, sizeof p);
    p.kind = PKT_ROCE;
    p.roce = (struct pkt_roce){ .opcode = ROCE_WRITE_ONLY, .pkey = 0xffff, .psn = 101, .ack_req = 1, .dqpn = rnic_qp_num(pr->side[1].qp) };
    pr->side[1].qp->ep.ops->rx(&pr->side[1].qp->ep, pr->now_ps, &p);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->nlog, before);
    pair_free(pr);
}

static void item_16_empty_write_any_key(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    struct script s = { 1, { 1 }, 1 };
    pr->fate = scripted;
    pr->ctx = &s;
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_WRITE, 1, 0, 0);
    wr.rkey = 0xdeadbeef;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
        pair_run(pr, SIM_NEVER_PS);
    }
    expect_success(pr, 0, 2);
    assert_int_equal(PAIR_COUNTER(pr, 1, duplicate_request), 1); /* the first was sent twice */
    pair_free(pr);
}

/* Sends go on all the time: a WRITE as soon as one completes, and ten at once at the start. */
static void post_again(struct pair *pr, int side, const struct rnic_wc *wc)
{
    if (wc->status == RNIC_WC_SUCCESS)
        pair_post(pr, side, RNIC_OP_WRITE, wc->wr_id + 1, 0, 65536);
}
static enum pair_fate acks_vanish(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)p;
    return from == 1 && pr->now_ps >= *(int64_t *)ctx ? PAIR_DROP : PAIR_PASS;
}

static void item_17_timeout_from_last_progress(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.memory = false;
    c.params.local_ack_timeout = 8; /* 1.048576 ms */
    int64_t vanish = 5 * SIM_PS_PER_MS, last_arrival = 0;
    for (int with_timeout = 1; with_timeout >= 0; with_timeout--) {
        c.params.local_ack_timeout = with_timeout ? 8 : 0;
        struct pair *pr = pair_new(&c);
        pr->fate = acks_vanish;
        pr->ctx = &vanish;
        pr->side[0].on_wc = post_again;
        for (uint32_t i = 0; i < 120; i++) /* 7.9 MB: 0.67 ms of sending are queued at any time */
            pair_post(pr, 0, RNIC_OP_WRITE, i, 0, 65536);
        pair_run(pr, vanish);
        assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
        uint64_t sent = PAIR_COUNTER(pr, 0, sent_packets);
        /* the last ACK that still flies is the last progress */
        last_arrival = pr->side[1].tail ? pr->side[1].tail->at_ps : vanish;
        pair_run(pr, last_arrival + 1048576 * SIM_PS_PER_NS - 1);
        assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
        assert_true(PAIR_COUNTER(pr, 0, sent_packets) > sent + 1000); /* sending went on meanwhile */
        pair_run(pr, last_arrival + 1048576 * SIM_PS_PER_NS);
        assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), with_timeout);
        pair_run(pr, last_arrival + 100 * SIM_PS_PER_MS);
        if (with_timeout) { /* retry_cnt 7: the eighth is the end */
            assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 8);
            assert_int_equal(pr->side[0].wc_ps[pr->side[0].nwc - 1], last_arrival + 8 * 1048576 * SIM_PS_PER_NS);
            assert_int_equal(rnic_qp_state(pr->side[0].qp), RNIC_QP_ERROR);
        } else {
            assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
            assert_int_equal(rnic_qp_state(pr->side[0].qp), RNIC_QP_RTS);
        }
        pair_free(pr);
    }
}

/* With a spread no two waits are alike, none shorter than the code says, none longer than that and the spread; without, all are exact. */
static enum pair_fate nothing_arrives(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    (void)pr;
    (void)from;
    (void)p;
    return PAIR_DROP;
}

static void item_17_spread_of_the_timeout(void **state)
{
    (void)state;
    for (int spread = 0; spread < 2; spread++) {
        struct pair_config c = pair_defaults();
        c.params.local_ack_timeout = 8;
        c.params.ack_timeout_spread = spread;
        struct pair *pr = pair_new(&c);
        pr->fate = nothing_arrives;
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 100);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_RETRY_EXC_ERR);
        assert_int_equal(pr->nlog, 8);
        const int64_t t = INT64_C(4096000) << 8;
        for (uint32_t i = 1; i < 8; i++) {
            int64_t wait = pr->log[i].at_ps - pr->log[i - 1].at_ps;
            assert_true(spread ? wait >= t && wait < 2 * t : wait == t);
            assert_true(!spread || i < 2 || wait != pr->log[i - 1].at_ps - pr->log[i - 2].at_ps);
        }
        pair_free(pr);
    }
}

static void item_18_smaller_path_mtu(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.params.mtu_bytes = 4096;
    c.params1 = c.params;
    c.params1.mtu_bytes = 1024;
    struct pair *pr = pair_new(&c);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 8192);
    pair_run(pr, SIM_NEVER_PS);
    expect_success(pr, 0, 1);
    assert_int_equal(pr->side[0].sent, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(pr->log[i].len, 1024);
    pair_free(pr);
}

static void item_19_one_nak_a_gap(void **state)
{
    (void)state;
    for (int rule = 0; rule < 2; rule++) {
        struct pair_config c = pair_defaults();
        c.params.nak_rule = rule;
        struct pair *pr = pair_new(&c);
        struct script s = { 0, { 10 }, 1 };
        pr->fate = scripted;
        pr->ctx = &s;
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 102400);
        pair_run(pr, SIM_NEVER_PS);
        expect_success(pr, 0, 1);
        assert_int_equal(PAIR_COUNTER(pr, 1, naks_sent), 1);
        assert_true(PAIR_COUNTER(pr, 1, out_of_sequence) > 10); /* though that many came out of order */
        assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
        pair_free(pr);
    }
    /* the resent packet is lost too: rule `rewind` asks again, rule `once` waits for the timeout */
    for (int rule = 0; rule < 2; rule++) {
        struct pair_config c = pair_defaults();
        c.params.nak_rule = rule;
        struct pair *pr = pair_new(&c);
        struct script s = { 0, { 10 }, 1 };
        pr->fate = scripted;
        pr->ctx = &s;
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 102400);
        while (PAIR_COUNTER(pr, 0, packet_seq_err) == 0)
            assert_true(pair_step(pr, SIM_NEVER_PS));
        s = (struct script){ 0, { pr->side[0].free_ps > pr->now_ps ? pr->side[0].sent + 1 : pr->side[0].sent }, 1 };
        pair_run(pr, SIM_NEVER_PS);
        expect_success(pr, 0, 1);
        assert_int_equal(PAIR_COUNTER(pr, 1, naks_sent), rule == ROCE_NAK_REWIND ? 2 : 1);
        assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), rule == ROCE_NAK_REWIND ? 0 : 1);
        pair_free(pr);
    }
}

static void item_20_write_with_immediate_length(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    pair_recv(pr, 1, 70, 0, 0);
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_WRITE_IMM, 1, 0, 5000);
    wr.imm_or_inv = 0x11223344;
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    pair_run(pr, SIM_NEVER_PS);
    expect_success(pr, 1, 1);
    assert_int_equal(pr->side[1].wc[0].byte_len, 5000);
    assert_int_equal(pr->side[1].wc[0].has_imm, 1);
    assert_int_equal(pr->side[1].wc[0].imm, 0x11223344);
    pair_free(pr);
}

static void item_21_pad(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    struct endpoint *ep = &pr->side[0].qp->ep;
    uint8_t frame[256];
    struct pkt p, back;
    memset(&p, 0, sizeof p);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 5);
    assert_true(ep->ops->tx(ep, 0, &p));
    assert_int_equal(p.payload_len, 5);
    assert_int_equal(p.roce.pad, 3);
    assert_int_equal(p.frame_len, 14 + 20 + 8 + 12 + 16 + 5 + 3 + 4 + 4);
    size_t n = wire_encode(&p, NULL, frame, sizeof frame);
    assert_int_equal(n, p.frame_len - 4);
    assert_int_equal(wire_decode(frame, n, &back, NULL), WIRE_OK);
    assert_true(pkt_equal(&p, &back));
    pkt_release_payload(&back);
    frame[n - 5] ^= 1; /* the last pad byte is under the ICRC */
    assert_int_equal(wire_decode(frame, n, &back, NULL), WIRE_BAD_ICRC);
    pkt_release_payload(&back);
    pkt_release_payload(&p);
    pair_free(pr);
}

static void item_28_dcqcn_one_cnp(void **state)
{
    (void)state;
    struct dcqcn_params dp;
    param_defaults(&dcqcn_params_table, &dp);
    dp.initial_alpha = .5;
    dp.g = 1. / 16;
    struct pair_config c = pair_defaults();
    c.rate_bps = INT64_C(40000000000);
    c.cc = &cc_dcqcn;
    c.cc_params = &dp;
    struct pair *pr = pair_new(&c);
    struct pkt cnp;
    memset(&cnp, 0, sizeof cnp);
    cnp.kind = PKT_ROCE;
    cnp.roce.opcode = ROCE_CNP;
    cnp.roce.pkey = 0xffff;
    cnp.roce.becn = 1;
    pr->side[0].qp->ep.ops->rx(&pr->side[0].qp->ep, 0, &cnp);
    assert_int_equal(roce_qp_cc(pr->side[0].qp)->rate_bps, INT64_C(30000000000));
    assert_int_equal(PAIR_COUNTER(pr, 0, rp_cnp_handled), 1);
    pair_free(pr);
}

static void item_29_coalesced_acks(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.params.ack_request = ROCE_ACK_REQ_DRAIN;
    c.params.ack_request_packets = 0;
    c.params.ack_packets = 0;
    c.params.ack_bytes = 20000;
    struct pair *pr = pair_new(&c);
    for (uint32_t i = 0; i < 100; i++)
        pair_post(pr, 0, RNIC_OP_WRITE, i, 0, 1000);
    pair_run(pr, SIM_NEVER_PS);
    expect_success(pr, 0, 100);
    assert_int_equal(pair_count(pr, 0, ROCE_WRITE_ONLY), 100);
    assert_int_equal(pair_count(pr, 1, ROCE_ACK), 5);
    pair_free(pr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_10_psn_wrap), cmocka_unit_test(item_11_final_ack_lost), cmocka_unit_test(item_12_atomic_reply_lost),
        cmocka_unit_test(item_13_rnr_outlasts_ack_timeout), cmocka_unit_test(item_14_write_needs_no_receive),
        cmocka_unit_test(item_15_end_of_address_space), cmocka_unit_test(item_16_empty_write_any_key),
        cmocka_unit_test(item_17_timeout_from_last_progress), cmocka_unit_test(item_17_spread_of_the_timeout), cmocka_unit_test(item_18_smaller_path_mtu),
        cmocka_unit_test(item_19_one_nak_a_gap), cmocka_unit_test(item_20_write_with_immediate_length), cmocka_unit_test(item_21_pad),
        cmocka_unit_test(item_28_dcqcn_one_cnp), cmocka_unit_test(item_29_coalesced_acks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
