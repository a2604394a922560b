/* SPDX-License-Identifier: GPL-2.0-only */
/* What applications meet on iWARP: empty messages, invalidation, solicited events, the longest message, flushes, work that has no message. */
#include "raw.h"
#include "../../model/rnic/rnic_internal.h"

/* RFC 5041 5.2: STag and TO of an empty tagged message are not looked at. */
static void empty_messages(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    struct ddp_hdr h = tagged(RDMAP_WRITE, 0xdeadbeef, UINT64_MAX);
    raw_say_ddp(r, &h, NULL, 0);
    assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_RTS);
    post_recv(&r->s, 1, 0, 0);
    h = untagged(RDMAP_SEND, 0, 1);
    raw_say_ddp(r, &h, NULL, 0);
    assert_int_equal(r->s.nwc, 1);
    assert_true(r->s.wc[0].status == RNIC_WC_SUCCESS && r->s.wc[0].byte_len == 0);
    raw_post(r, RNIC_OP_READ, 9, 0, 0, 0);
    raw_run_us(r, 100);
    h = tagged(RDMAP_READ_RESPONSE, 0x11, 0x22);
    raw_say_ddp(r, &h, NULL, 0);
    assert_int_equal(r->s.nwc, 2);
    assert_int_equal(r->s.wc[1].status, RNIC_WC_SUCCESS);
    raw_free(r);
}

/* RFC 5040 5.3: when delivered the STag is invalid: the completion names it, and no one reaches the region any more. */
static void send_with_invalidate(void **state)
{
    (void)state;
    for (int se = 0; se < 2; se++) {
        struct pair *w = connected(se);
        post_recv(&w->s[1], 7, 0, 100);
        struct rnic_mr *other = rnic_mr_reg(w->s[1].pd, VA, MEM, ALL, w->s[1].mem);
        struct rnic_send_wr wr = work(w, 0, RNIC_OP_SEND_INV, 1, 0, 10);
        wr.imm_or_inv = rnic_mr_key(other);
        wr.flags |= se ? RNIC_SEND_SOLICITED : 0;
        post_wr(w, 0, &wr);
        pair_run_us(w, 1000);
        assert_int_equal(w->s[1].nwc, 1);
        assert_true(w->s[1].wc[0].has_inv && w->s[1].wc[0].invalidated_key == rnic_mr_key(other));
        assert_int_equal(w->s[1].wc[0].solicited, se);
        wr = work(w, 0, RNIC_OP_WRITE, 2, 0, 10);
        wr.rkey = rnic_mr_key(other);
        post_wr(w, 0, &wr);
        pair_run_us(w, 1000);
        assert_int_equal(iwarp_qp_terminate_sent(w->s[1].qp), 0x10100);
        pair_free(w);
    }
}

static void local_invalidate(void **state)
{
    (void)state;
    struct pair *w = connected(false);
    struct rnic_mr *other = rnic_mr_reg(w->s[0].pd, VA, MEM, ALL, w->s[0].mem);
    struct rnic_send_wr wr = work(w, 0, RNIC_OP_LOCAL_INV, 1, 0, 0);
    wr.imm_or_inv = rnic_mr_key(other);
    post_wr(w, 0, &wr);
    pair_run_us(w, 100);
    assert_int_equal(w->s[0].wc[0].status, RNIC_WC_SUCCESS);
    wr = work(w, 1, RNIC_OP_READ, 2, 0, 10);
    wr.rkey = rnic_mr_key(other);
    post_wr(w, 1, &wr);
    pair_run_us(w, 1000);
    assert_int_equal(iwarp_qp_terminate_sent(w->s[0].qp), 0x00100);
    assert_int_equal(w->s[1].wc[0].status, RNIC_WC_REM_ACCESS_ERR);
    pair_free(w);
}

/* The region goes between a Read Request and its answer: RFC 5040 4.8 quotes the request. */
static void region_gone_before_the_answer(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    struct rnic_mr *other = rnic_mr_reg(r->s.pd, VA, MEM, ALL, r->s.mem);
    static uint8_t body[RDMAP_READ_REQUEST_BYTES];
    struct rdmap_read_request rr = { .size = 200000, .src_stag = raw_key(r), .src_to = VA };
    struct ddp_hdr h = untagged(RDMAP_READ_REQUEST, 1, 1);
    rdmap_read_request_encode(&rr, body);
    raw_ddp(r, &h, body, sizeof body);
    rr.src_stag = rnic_mr_key(other);
    rr.size = 10;
    rdmap_read_request_encode(&rr, body);
    h.msn = 2;
    raw_ddp(r, &h, body, sizeof body);
    raw_send(r);
    raw_run_us(r, 8); /* the second waits for the first */
    rnic_mr_dereg(other);
    raw_run_us(r, 2000);
    assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), 0x00100);
    static uint8_t b[65536];
    struct rdmap_terminate t;
    uint32_t len;
    while (raw_heard(r, &h, b, &len) && h.opcode == RDMAP_READ_RESPONSE)
        ;
    assert_true(rdmap_terminate_decode(b, len, &t));
    assert_true(t.m && t.d && t.r);
    assert_memory_equal(t.rdmap_hdr, body, sizeof body);
    raw_free(r);
}

/* Events only for solicited receives (RFC 5040 5.3): the others are seen with the next of them. */
static void solicited_events(void **state)
{
    (void)state;
    struct pair *w = connected(false);
    rnic_cq_notify_solicited(w->s[1].cq, true);
    for (uint64_t k = 0; k < 5; k++) {
        struct rnic_send_wr wr = work(w, 0, RNIC_OP_SEND, k, 100 * k, 50);
        post_recv(&w->s[1], k, 100 * k, 50);
        wr.flags |= k == 3 ? RNIC_SEND_SOLICITED : 0;
        post_wr(w, 0, &wr);
        pair_run_us(w, 100);
        assert_int_equal(w->s[1].nwc, k < 3 ? 0 : 4);
    }
    rnic_cq_notify_solicited(w->s[1].cq, false);
    assert_int_equal(w->s[1].nwc, 5);
    for (uint32_t k = 0; k < 5; k++)
        assert_true(w->s[1].wc[k].wr_id == k && w->s[1].wc[k].solicited == (k == 3));
    pair_free(w);
}

/* The application's own end: everything queued is flushed in order, the peer sees a reset. */
static void flush_in_order(void **state)
{
    (void)state;
    struct pair *w = connected(false);
    post_recv(&w->s[0], 100, 0, 10);
    for (uint64_t k = 0; k < 5; k++)
        post(w, 0, RNIC_OP_READ, k, 1000 * k, 1000);
    pair_run_us(w, 3);
    assert_int_equal(rnic_qp_set_error(w->s[0].qp), SIM_OK);
    assert_int_equal(w->s[0].nwc, 6);
    for (uint32_t k = 0; k < 6; k++)
        assert_true(w->s[0].wc[k].wr_id == (k < 5 ? k : 100) && w->s[0].wc[k].status == RNIC_WC_WR_FLUSH_ERR);
    pair_run_us(w, 1000);
    assert_int_equal(rnic_qp_state(w->s[1].qp), RNIC_QP_ERROR);
    assert_int_equal(iwarp_qp_local_error(w->s[1].qp), 0x20001);
    pair_free(w);
}

/* A completion without room in its CQ: the application is told by that entry, the peer by a Terminate (RFC 5040 7.1 rule 1). */
static void full_cq_ends_the_stream(void **state)
{
    (void)state;
    for (int recv = 0; recv < 2; recv++) {
        struct raw *r = raw_up();
        post_recv(&r->s, 9, 100, 100);
        r->s.cq->depth = 0;
        if (recv) {
            struct ddp_hdr h = untagged(RDMAP_SEND, 0, 1);
            raw_say_ddp(r, &h, "Send", 4);
        } else {
            raw_post(r, RNIC_OP_WRITE, 0, 0, 0, 0);
            raw_run_us(r, 100);
            struct ddp_hdr h;
            uint8_t b[8];
            uint32_t len;
            assert_true(raw_heard(r, &h, b, &len)); /* the Write itself has left */
        }
        raw_run_us(r, 1000);
        struct rdmap_terminate t;
        raw_heard_terminate(r, &t);
        assert_int_equal(t.layer << 16 | t.etype << 8 | t.code, 0x00207);
        assert_int_equal(r->s.wc[0].status, RNIC_WC_FATAL_ERR);
        assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
        assert_true(r->closed && !r->reset);
        raw_free(r);
    }
}

/* What iWARP has no message for fails here, with a Terminate in its place (RFC 5040 7.1 rule 1). */
static void no_such_message(void **state)
{
    (void)state;
    static const enum rnic_opcode op[] = { RNIC_OP_SEND_IMM, RNIC_OP_WRITE_IMM, RNIC_OP_CMP_SWAP, RNIC_OP_FETCH_ADD };
    for (size_t i = 0; i < 4; i++) {
        struct raw *r = raw_up();
        raw_post(r, op[i], 0, 8, 0, 0);
        raw_run_us(r, 1000);
        assert_int_equal(r->s.wc[0].status, RNIC_WC_LOC_QP_OP_ERR);
        struct rdmap_terminate t;
        raw_heard_terminate(r, &t);
        assert_int_equal(t.layer << 16 | t.etype << 8, 0);
        assert_false(t.m || t.d || t.r);
        raw_free(r);
    }
}

/* RFC 5040 4.1, RFC 5041 4.1: reserved bits, and the Invalidate STag field of a plain Send, are not looked at. */
static void reserved_fields_are_ignored(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    post_recv(&r->s, 1, 100, 100);
    struct ddp_hdr h = tagged(RDMAP_WRITE, raw_key(r), VA);
    h.resv = 0x3c;
    h.resv2 = 0x30;
    raw_say_ddp(r, &h, "Write", 5);
    h = untagged(RDMAP_SEND, 0, 1);
    h.resv = 0x3c;
    h.resv2 = 0x30;
    h.stag = raw_key(r);
    raw_say_ddp(r, &h, "Send", 4);
    assert_memory_equal(r->s.mem, "Write", 5);
    assert_memory_equal(r->s.mem + 100, "Send", 4);
    assert_true(r->s.nwc == 1 && r->s.wc[0].status == RNIC_WC_SUCCESS && !r->s.wc[0].has_inv);
    h = tagged(RDMAP_WRITE, raw_key(r), VA);
    raw_say_ddp(r, &h, "again", 5);
    assert_memory_equal(r->s.mem, "again", 5);
    raw_free(r);
}

/* RFC 5041 5.2: a message is shorter than 2^32; the verbs end at 2^31 as InfiniBand's. */
static void longest_message(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    struct rnic_mr *large = rnic_mr_reg(r->s.pd, 0, UINT64_C(1) << 40, ALL, NULL);
    struct rnic_send_wr wr = { .op = RNIC_OP_WRITE, .sge = { 0, UINT32_C(0x80000001), rnic_mr_key(large) }, .remote_va = 0, .rkey = 5 };
    assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_ERR_PARAM);
    wr.op = RNIC_OP_READ;
    assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_ERR_PARAM);
    wr.sge.len = UINT32_C(0x80000000);
    assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
    raw_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_messages), cmocka_unit_test(send_with_invalidate), cmocka_unit_test(local_invalidate),
        cmocka_unit_test(region_gone_before_the_answer), cmocka_unit_test(solicited_events), cmocka_unit_test(flush_in_order),
        cmocka_unit_test(no_such_message), cmocka_unit_test(full_cq_ends_the_stream), cmocka_unit_test(reserved_fields_are_ignored), cmocka_unit_test(longest_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
