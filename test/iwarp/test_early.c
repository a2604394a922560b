/* SPDX-License-Identifier: GPL-2.0-only */
/* Segments that come out of order, placed at once (RFC 5044 sections 3 and 6, RFC 5041 5.3, 5.4): bytes are there before the hole is filled,
 * completions are not; TCP holds no bytes; each byte is placed once; what is not known to be an FPDU is not placed. */
#include "raw.h"

static struct iwarp_params placing(int64_t how, bool markers)
{
    struct iwarp_params p = iwarp_defaults();
    p.direct_placement = how;
    p.markers = markers;
    return p;
}

struct hole { uint32_t at, seen; int from; };

/* Loses the at-th data segment of a side, once. */
static bool lose_one(void *ctx, int from, const struct pkt *p)
{
    struct hole *h = ctx;
    return from != h->from || p->payload_len == 0 || ++h->seen != h->at;
}

static uint64_t held(const struct pair *w, int side) { return tcp_counters(iwarp_qp_tcp(w->s[side].qp))->reassembly_peak_bytes; }

/* A Write, a Send and a Read whose second segment is lost; `side` receives the data. Looks before the retransmission and after. */
static void placed_before_completed(void **state)
{
    (void)state;
    static const enum rnic_opcode op[] = { RNIC_OP_WRITE, RNIC_OP_SEND, RNIC_OP_READ };
    for (int how = 0; how < 3; how++)
        for (int markers = 0; markers < 2; markers++)
            for (int bytes = 0; bytes < 2; bytes++)
                for (size_t i = 0; i < 3; i++) {
                    struct iwarp_params p = placing(how, markers);
                    struct pair *w = pair_up(&p, &p, bytes);
                    w->tcp.rto_min_ps = 10 * SIM_PS_PER_S;
                    bool read = op[i] == RNIC_OP_READ, early = how == IWARP_PLACEMENT_ALIGNED || (how == IWARP_PLACEMENT_MARKERS && markers);
                    int to = read ? 0 : 1, from = !to;
                    struct hole hole = { .at = 2, .from = from };
                    w->l.tap = lose_one;
                    w->l.tap_ctx = &hole;
                    if (op[i] == RNIC_OP_SEND)
                        post_recv(&w->s[1], 9, 0, 20000);
                    post(w, 0, op[i], 1, 0, 10000);
                    pair_run_us(w, read ? 11 + 1 : 6 + 1); /* the segments after the hole have come, no acknowledgement has gone back */
                    uint32_t seg = mpa_mulpdu(tcp_emss(iwarp_qp_tcp(w->s[0].qp)), markers) - (op[i] == RNIC_OP_SEND ? 18 : 14);
                    assert_int_equal(memcmp(w->s[to].mem + 2 * seg, w->s[from].mem + 2 * seg, seg) == 0, early);
                    assert_true(memcmp(w->s[to].mem + seg, w->s[from].mem + seg, seg) != 0);
                    assert_int_equal(w->s[to].nwc, 0);
                    pair_run_us(w, 200000);
                    assert_memory_equal(w->s[to].mem, w->s[from].mem, 10000);
                    assert_int_equal(w->s[0].nwc, 1);
                    assert_int_equal(w->s[0].wc[0].status, RNIC_WC_SUCCESS);
                    assert_int_equal(w->s[1].nwc, op[i] == RNIC_OP_SEND);
                    if (early)
                        assert_int_equal(held(w, to), 0);
                    else
                        assert_true(held(w, to) > 5000);
                    assert_true(early == (iwarp_qp_stats(w->s[to].qp)->fpdus_early > 0));
                    pair_free(w);
                }
}

/* RFC 5041 5.3, 5.4: messages are delivered once and in order, whatever is there first. Sends of one segment each; the first is lost. */
static void delivered_in_order(void **state)
{
    (void)state;
    struct iwarp_params p = placing(IWARP_PLACEMENT_ALIGNED, false);
    p.pack = 0;
    struct pair *w = pair_up(&p, &p, false);
    struct hole hole = { .at = 1 };
    w->l.tap = lose_one;
    w->l.tap_ctx = &hole;
    for (uint64_t k = 0; k < 8; k++)
        post_recv(&w->s[1], k, 2000 * k, 1000);
    for (uint64_t k = 0; k < 8; k++)
        post(w, 0, RNIC_OP_SEND, k, 2000 * k, 1000);
    pair_run_us(w, 8);
    assert_int_equal(w->s[1].nwc, 0);
    for (uint32_t k = 0; k < 8; k++)
        assert_int_equal(memcmp(w->s[0].mem + 2000 * k, w->s[1].mem + 2000 * k, 1000) == 0, k > 0);
    pair_run_us(w, 100000);
    assert_int_equal(w->s[1].nwc, 8);
    for (uint32_t k = 0; k < 8; k++)
        assert_true(w->s[1].wc[k].wr_id == k && w->s[1].wc[k].byte_len == 1000);
    assert_int_equal(iwarp_qp_stats(w->s[1].qp)->fpdus_early, 7);
    pair_free(w);
}

/* A copy of a segment that has been placed is not placed again: what the application has written there since stays. */
static void placed_once(void **state)
{
    (void)state;
    struct iwarp_params p = placing(IWARP_PLACEMENT_ALIGNED, false);
    struct pair *w = pair_up(&p, &p, false);
    struct hole hole = { .at = 1 };
    w->l.tap = lose_one;
    w->l.tap_ctx = &hole;
    post(w, 0, RNIC_OP_WRITE, 1, 0, 4 * 1428);
    pair_run_us(w, 7);
    assert_int_equal(iwarp_qp_stats(w->s[1].qp)->fpdus_early, 3);
    memset(w->s[1].mem + 1428, 0x77, 3 * 1428);
    w->l.dup = 1;
    pair_run_us(w, 100000);
    assert_memory_equal(w->s[0].mem, w->s[1].mem, 1428);
    for (uint32_t i = 1428; i < 4 * 1428; i++)
        assert_int_equal(w->s[1].mem[i], 0x77);
    assert_int_equal(iwarp_qp_stats(w->s[1].qp)->fpdus_in, 4 + 1); /* and the RTR message */
    pair_free(w);
}

/* Out of order no error is found: it waits for its turn, and then ends the stream as ever (RFC 5041 7.1). */
static void errors_wait_for_their_turn(void **state)
{
    (void)state;
    struct iwarp_params p = placing(IWARP_PLACEMENT_ALIGNED, false);
    p.pack = 0;
    struct pair *w = pair_up(&p, &p, false);
    struct hole hole = { .at = 1 };
    w->l.tap = lose_one;
    w->l.tap_ctx = &hole;
    post(w, 0, RNIC_OP_WRITE, 1, 0, 1000);
    struct rnic_send_wr wr = work(w, 0, RNIC_OP_WRITE, 2, 2000, 1000);
    wr.rkey ^= 0x5500;
    post_wr(w, 0, &wr);
    post(w, 0, RNIC_OP_SEND, 3, 4000, 1000); /* no receive is posted */
    post(w, 0, RNIC_OP_WRITE, 4, 6000, 1000);
    pair_run_us(w, 8);
    assert_int_equal(rnic_qp_state(w->s[1].qp), RNIC_QP_RTS);
    assert_int_equal(iwarp_qp_stats(w->s[1].qp)->fpdus_early, 1); /* the fourth; placement before an error is the sender's to bear */
    pair_run_us(w, 100000);
    assert_int_equal(iwarp_qp_terminate_sent(w->s[1].qp), 0x10100);
    assert_memory_equal(w->s[0].mem, w->s[1].mem, 1000);
    pair_free(w);
}

/* A right that goes between placement and the message's turn: the message is refused then. */
static void right_revoked_before_its_turn(void **state)
{
    (void)state;
    struct iwarp_params p = placing(IWARP_PLACEMENT_ALIGNED, false);
    p.pack = 0;
    struct pair *w = pair_up(&p, &p, false);
    struct rnic_mr *other = rnic_mr_reg(w->s[1].pd, VA, MEM, ALL, w->s[1].mem);
    struct hole hole = { .at = 1 };
    w->l.tap = lose_one;
    w->l.tap_ctx = &hole;
    post_recv(&w->s[1], 1, 0, 100);
    struct rnic_send_wr wr = work(w, 0, RNIC_OP_SEND_INV, 1, 0, 100);
    wr.imm_or_inv = rnic_mr_key(other);
    post_wr(w, 0, &wr);
    wr = work(w, 0, RNIC_OP_WRITE, 2, 2000, 1000);
    wr.rkey = rnic_mr_key(other);
    post_wr(w, 0, &wr);
    pair_run_us(w, 100000);
    assert_int_equal(iwarp_qp_stats(w->s[1].qp)->fpdus_early, 1);
    assert_int_equal(iwarp_qp_terminate_sent(w->s[1].qp), 0x10100);
    assert_int_equal(w->s[1].wc[0].status, RNIC_WC_SUCCESS);
    pair_free(w);
}

/* RFC 5044 section 6: pieces of FPDUs, and payload that looks like one, are not placed out of order by markers. The peer sends an FPDU whose
 * payload holds an FPDU of its own, cut so that a segment begins with the inner one. */
static void what_looks_like_an_fpdu(void **state)
{
    (void)state;
    struct iwarp_params p = placing(IWARP_PLACEMENT_MARKERS, true);
    p.mpa_revision = 1;
    struct raw *r = raw_new(&p, false);
    r->tx_markers = true;
    raw_start(r);
    uint8_t inner[64], ulpdu[400], was[8];
    struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA + 1000);
    memcpy(was, r->s.mem + 1000, 8);
    inner[0] = 0;
    inner[1] = 14 + 8;
    size_t n = ddp_hdr_encode(&h, inner + 2);
    memcpy(inner + 2 + n, "forged!!", 8);
    uint32_t crc = wire_crc32c(0, inner, 24);
    for (int i = 0; i < 4; i++)
        inner[24 + i] = (uint8_t)(crc >> 8 * i);
    h.to = VA;
    n = ddp_hdr_encode(&h, ulpdu); /* 14: the payload begins at 16 of the FPDU, 20 of the stream */
    memset(ulpdu + n, 0, 300);
    memcpy(ulpdu + n + 40, inner, 28);
    raw_ulpdu(r, ulpdu, (uint32_t)n + 300, NULL);
    uint64_t at = r->tx_base + 4 + 2 + n + 40;
    assert_memory_equal(r->out + at, inner, 28);
    r->cut[r->ncuts++] = at;
    r->cut[r->ncuts++] = at + 28;
    struct hole hole = { .at = 1, .from = 1 };
    r->l.tap = lose_one;
    r->l.tap_ctx = &hole;
    raw_send(r);
    raw_run_us(r, 7);
    assert_memory_equal(r->s.mem + 1000, was, 8);
    raw_run_us(r, 100000);
    assert_memory_equal(r->s.mem + 1000, was, 8);
    assert_memory_equal(r->s.mem + 40, inner, 28);
    assert_int_equal(iwarp_qp_stats(r->s.qp)->fpdus_early, 0);
    raw_free(r);
}

/* Small FPDUs between markers: found as those that follow an FPDU that is known (RFC 5044 section 6, 3). */
static void those_that_follow_a_known_one(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct iwarp_params p = placing(IWARP_PLACEMENT_MARKERS, true);
        p.mpa_revision = 1;
        struct raw *r = raw_new(&p, false);
        r->tx_markers = true;
        raw_start(r);
        uint8_t data[600];
        memset(data, 0x33, sizeof data);
        /* stream: [marker] 100 | 500, which holds the marker at 512 | 40 | 40 */
        static const uint32_t len[] = { 100, 500, 40, 40 };
        for (int k = 0; k < 4; k++) {
            struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA + 1000 * (uint64_t)k);
            raw_ddp(r, &h, data, len[k]);
            raw_cut(r);
        }
        struct hole hole = { .at = known ? 1 : 2, .from = 1 }; /* the first is lost; or the one with the marker, so that the last two are not known */
        r->l.tap = lose_one;
        r->l.tap_ctx = &hole;
        raw_send(r);
        raw_run_us(r, 7);
        assert_int_equal(iwarp_qp_stats(r->s.qp)->fpdus_early, known ? 3 : 0);
        raw_run_us(r, 100000);
        for (int k = 0; k < 4; k++)
            assert_memory_equal(r->s.mem + 1000 * k, data, len[k]);
        raw_free(r);
    }
}

/* Where the CRC is wrong nothing is placed, and where CRC is off alignment is not believed. */
static void crc_decides(void **state)
{
    (void)state;
    for (int crc = 0; crc < 2; crc++) {
        struct iwarp_params p = placing(IWARP_PLACEMENT_ALIGNED, false);
        p.mpa_revision = 1;
        p.crc = crc;
        struct raw *r = raw_new(&p, false);
        r->crc = crc;
        raw_start(r);
        uint8_t b[64];
        struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA);
        struct raw_fault bad = { .bad_crc = crc };
        size_t n = ddp_hdr_encode(&h, b);
        raw_ddp(r, &h, "first", 5);
        raw_cut(r);
        memcpy(b + n, "second", 6);
        raw_ulpdu(r, b, (uint32_t)n + 6, &bad);
        struct hole hole = { .at = 1, .from = 1 };
        r->l.tap = lose_one;
        r->l.tap_ctx = &hole;
        raw_send(r);
        raw_run_us(r, 100000);
        assert_int_equal(iwarp_qp_stats(r->s.qp)->fpdus_early, 0);
        assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), crc ? 0x20002 : -1);
        raw_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placed_before_completed), cmocka_unit_test(delivered_in_order), cmocka_unit_test(placed_once),
        cmocka_unit_test(errors_wait_for_their_turn), cmocka_unit_test(right_revoked_before_its_turn), cmocka_unit_test(what_looks_like_an_fpdu),
        cmocka_unit_test(those_that_follow_a_known_one), cmocka_unit_test(crc_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
