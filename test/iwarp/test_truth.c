/* SPDX-License-Identifier: GPL-2.0-only */
/* What peers get wrong, one test each, named after the clause. */
#include "raw.h"

static struct raw *started(int64_t ord)
{
    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1;
    p.ord = ord;
    struct raw *r = raw_new(&p, false);
    raw_start(r);
    return r;
}

static uint32_t key(const struct raw *r) { return rnic_mr_key(r->s.mr); }

/* A ULPDU of 0 to 13 bytes holds no tagged header: no RFC has a code for it; ours is RDMAP, remote operation, unspecified. 14 is an empty Write. */
static void rfc5041_4_2_ulpdu_shorter_than_its_header(void **state)
{
    (void)state;
    for (uint32_t len = 0; len <= 14; len++) {
        struct raw *r = started(32);
        uint8_t b[64], *was = malloc(MEM);
        struct ddp_hdr h = tagged(RDMAP_WRITE, key(r), VA);
        struct rdmap_terminate t;
        memcpy(was, r->s.mem, MEM);
        ddp_hdr_encode(&h, b);
        raw_ulpdu(r, b, len, NULL);
        raw_send(r);
        raw_run_us(r, 1000);
        assert_memory_equal(was, r->s.mem, MEM);
        if (len < 14) {
            raw_heard_terminate(r, &t);
            assert_int_equal(t.layer << 16 | t.etype << 8 | t.code, 0x002ff);
            assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
        } else {
            assert_int_equal(r->in_used, r->in_len);
            assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_RTS);
        }
        free(was);
        raw_free(r);
    }
}

/* Payload of 1 mod 4, so three pad bytes; the segment ends after them, the CRC comes in the next. */
static void rfc5044_4_1_crc_in_the_next_segment(void **state)
{
    (void)state;
    struct raw *r = started(32);
    struct ddp_hdr h = tagged(RDMAP_WRITE, key(r), VA);
    uint64_t from = r->out_len;
    raw_ddp(r, &h, "x", 1); /* 2 + 14 + 1 + 3 | 4 */
    uint64_t whole = r->out_len;
    assert_int_equal(whole - from, 24);
    r->out_len = whole - 4;
    raw_send(r);
    raw_run_us(r, 500);
    uint8_t before = r->s.mem[0];
    assert_int_not_equal(before, 'x');
    r->out_len = whole;
    raw_send(r);
    raw_run_us(r, 500);
    assert_int_equal(r->s.mem[0], 'x');
    assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_RTS);
    raw_free(r);
}

static bool look_at_reply(void *ctx, int from, const struct pkt *p)
{
    uint32_t *most = ctx;
    if (from == 1 && p->payload_len > *most)
        *most = p->payload_len;
    return true;
}

/* A reply and the first FPDU in one segment is taken; ours, with work already posted and no RTR to wait for, sends the reply alone. */
static void rfc5044_7_1_2_reply_and_fpdu_in_one_segment(void **state)
{
    (void)state;
    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1;
    struct raw *r = raw_new(&p, false);
    uint8_t b[64];
    raw_run_us(r, 100);
    raw_add(r, b, raw_frame(r, (struct mpa_start){ .revision = 1, .flags = MPA_F_CRC }, NULL, 0, b));
    r->tx_base = r->out_len;
    struct ddp_hdr h = tagged(RDMAP_WRITE, key(r), VA);
    raw_say_ddp(r, &h, "joined", 6);
    assert_int_equal(r->s.status, SIM_OK);
    assert_memory_equal(r->s.mem, "joined", 6);
    raw_free(r);

    uint32_t most = 0;
    struct pair *w = pair_new(&p, &p, ALL);
    w->l.tap = look_at_reply;
    w->l.tap_ctx = &most;
    pair_open(w);
    post(w, 1, RNIC_OP_WRITE, 1, 0, 100);
    pair_run_us(w, 1000);
    assert_int_equal(most, MPA_START_BYTES); /* the Write waits for the initiator's first FPDU */
    post(w, 0, RNIC_OP_WRITE, 1, 5000, 100);
    pair_run_us(w, 1000);
    assert_memory_equal(w->s[0].mem, w->s[1].mem, 100);
    pair_free(w);
}

static void rfc6581_9_2_one_rtr_of_two_then_silence(void **state)
{
    (void)state;
    struct iwarp_params p = iwarp_defaults();
    struct raw *r = raw_new(&p, true);
    uint8_t b[64];
    struct mpa_start m = { .revision = 2, .flags = MPA_F_ENHANCED | MPA_F_CRC, .p2p_a = 1, .rtr_send = 1, .rtr_read = 1, .ird = 4, .ord = 4 }, got;
    size_t used = 0;
    raw_run_us(r, 100);
    raw_say(r, b, raw_frame(r, m, NULL, 0, b));
    assert_int_equal(mpa_start_decode(r->in, (size_t)r->in_len, &got, &used), MPA_START_OK);
    assert_int_equal(got.rtr_send + got.rtr_write + got.rtr_read, 1);
    assert_true(got.rtr_send || got.rtr_read);
    raw_run_us(r, 1000);
    assert_int_equal(r->in_len, used);
    assert_int_equal(r->s.status, 1); /* not up before the RTR */
    r->tx_base = r->out_len;
    r->rx_base = r->in_used = used;
    struct ddp_hdr h = untagged(got.rtr_send ? RDMAP_SEND : RDMAP_READ_REQUEST, got.rtr_send ? 0 : 1, 1);
    uint8_t nothing[RDMAP_READ_REQUEST_BYTES] = { 0 }, payload[64];
    raw_say_ddp(r, &h, nothing, got.rtr_send ? 0 : sizeof nothing);
    assert_int_equal(r->s.status, SIM_OK);
    assert_int_equal(r->s.nwc, 0); /* the application does not see it */
    uint32_t len;
    if (got.rtr_read) {
        assert_true(raw_heard(r, &h, payload, &len));
        assert_true(h.opcode == RDMAP_READ_RESPONSE && len == 0);
    }
    raw_free(r);
}

static void rfc6581_9_ird_and_ord_big_endian(void **state)
{
    (void)state;
    struct iwarp_params p = iwarp_defaults();
    p.ird = 32;
    p.ord = 1;
    p.rtr = IWARP_RTR_NONE;
    struct raw *r = raw_new(&p, false);
    static const uint8_t want[4] = { 0, 32, 0, 1 };
    struct mpa_start m;
    size_t used;
    raw_run_us(r, 100);
    assert_memory_equal(r->in + MPA_START_BYTES, want, 4);
    assert_int_equal(mpa_start_decode(r->in, (size_t)r->in_len, &m, &used), MPA_START_OK);
    assert_true(m.ird == 32 && m.ord == 1);
    raw_free(r);
}

struct seen { int64_t write_ps; const struct raw *r; };

static bool see_write(void *ctx, int from, const struct pkt *p)
{
    struct seen *s = ctx;
    uint8_t head[4];
    if (from == 0 && p->payload_len > 4) {
        pkt_payload_read(p, 0, 4, head);
        if ((head[3] & 15) == RDMAP_WRITE)
            s->write_ps = s->r->l.now;
    }
    return true;
}

/* Two Reads answered 10 and 20 us after they were asked for; the fenced Write leaves no earlier than the second answer. */
static void rfc5040_5_5_fence_waits_for_both_reads(void **state)
{
    (void)state;
    struct raw *r = started(32);
    struct seen s = { -1, r };
    r->l.tap = see_write;
    r->l.tap_ctx = &s;
    int64_t t0 = r->l.now;
    for (uint32_t k = 0; k < 3; k++) {
        struct rnic_send_wr wr = { .wr_id = k, .op = k < 2 ? RNIC_OP_READ : RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED | (k == 2 ? RNIC_SEND_FENCE : 0),
                                   .sge = { VA + 100 * k, 4, key(r) }, .remote_va = 0x1000, .rkey = 5 };
        assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
    }
    for (uint32_t k = 0; k < 2; k++) { /* answers leave at 5 and 15 us and take 5 */
        struct ddp_hdr h = tagged(RDMAP_READ_RESPONSE, key(r), VA + 100 * k);
        line_run(&r->l, t0 + (int64_t)(5 + 10 * k) * SIM_PS_PER_US + 1);
        raw_ddp(r, &h, "read", 4);
        raw_send(r);
    }
    line_run(&r->l, t0 + 19 * SIM_PS_PER_US);
    assert_int_equal(s.write_ps, -1);
    raw_run_us(r, 100);
    assert_true(s.write_ps >= t0 + 20 * SIM_PS_PER_US);
    assert_int_equal(r->s.nwc, 3);
    raw_free(r);
}

static void rfc5040_6_1_eight_reads_of_31_at_once(void **state)
{
    (void)state;
    struct iwarp_params a = iwarp_defaults(), b = a;
    b.ird = 8;
    struct pair *w = pair_up(&a, &b, true);
    for (uint64_t k = 0; k < 31; k++)
        post(w, 0, RNIC_OP_READ, k, 1000 * k, 1000);
    pair_run_us(w, 100000);
    assert_int_equal(w->s[0].nwc, 31);
    for (uint32_t k = 0; k < 31; k++)
        assert_true(w->s[0].wc[k].wr_id == k && w->s[0].wc[k].status == RNIC_WC_SUCCESS);
    assert_int_equal(iwarp_qp_stats(w->s[0].qp)->reads_peak, 8);
    assert_memory_equal(w->s[0].mem, w->s[1].mem, 31000);
    pair_free(w);
}

struct shape { uint32_t aligned, other, largest; bool markers; uint64_t base; };

static bool see_shape(void *ctx, int from, const struct pkt *p)
{
    struct shape *s = ctx;
    uint8_t b[2000];
    struct mpa_fpdu f;
    if (from != 0 || p->payload_len < 100)
        return true;
    pkt_payload_read(p, 0, p->payload_len, b);
    enum mpa_fpdu_status st = mpa_fpdu_check(b, p->payload_len, true, s->markers, p->tcp.seq - s->base, &f, NULL);
    if (st == MPA_FPDU_OK && f.wire_len == p->payload_len)
        s->aligned++;
    else
        s->other++;
    if (f.ulpdu_len > s->largest)
        s->largest = f.ulpdu_len;
    return true;
}

/* EMSS 1460, a Write of 64 KiB: each segment is one FPDU from its beginning; ULPDUs of 1454, with markers 1442. */
static void rfc5044_4_5_segments_begin_with_fpdus(void **state)
{
    (void)state;
    for (int markers = 0; markers < 2; markers++) {
        struct iwarp_params a = iwarp_defaults(), b = a;
        b.markers = markers;
        struct pair *w = pair_new(&a, &b, ALL);
        w->tcp.timestamps = 0;
        pair_open(w);
        struct shape s = { .markers = markers };
        struct iwarp_qp *q = inside(&w->s[0]);
        w->l.tap = see_shape;
        w->l.tap_ctx = &s;
        uint64_t off = iwarp_stream_off(q, q->given);
        post(w, 0, RNIC_OP_WRITE, 1, 0, 65536);
        struct pkt first;
        memset(&first, 0, sizeof first);
        assert_true(w->s[0].qp->ep.ops->tx(&w->s[0].qp->ep, w->l.now, &first));
        /* the sequence number of the first byte of full operation */
        s.base = (uint32_t)(first.tcp.seq - (uint32_t)(off - q->startup_len));
        see_shape(&s, 0, &first);
        line_put(&w->l, 1, &first, 0);
        w->l.copies++;
        pkt_release_payload(&first);
        pair_run_us(w, 10000);
        uint32_t payload = (markers ? 1442 : 1454) - 14;
        assert_int_equal(s.largest, payload + 14);
        assert_int_equal(s.aligned, (65536 + payload - 1) / payload);
        assert_int_equal(s.other, 0);
        assert_memory_equal(w->s[0].mem, w->s[1].mem, 65536);
        pair_free(w);
    }
}

/* The sink of a Read needs remote write access on iWARP (it does not on RoCE: test/rnic/test_access). */
static void rfc5040_5_2_read_into_a_region_without_remote_write(void **state)
{
    (void)state;
    struct iwarp_params p = iwarp_defaults();
    struct pair *w = pair_new(&p, &p, RNIC_LOCAL_WRITE | RNIC_REMOTE_READ);
    pair_open(w);
    uint8_t was = w->s[0].mem[0];
    post(w, 0, RNIC_OP_READ, 1, 0, 1000);
    pair_run_us(w, 100000);
    assert_int_equal(w->s[0].nwc, 1);
    assert_int_equal(w->s[0].wc[0].status, RNIC_WC_LOC_ACCESS_ERR);
    assert_int_equal(iwarp_qp_terminate_sent(w->s[0].qp), 0x00102);
    assert_int_equal(w->s[0].mem[0], was);
    pair_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc5041_4_2_ulpdu_shorter_than_its_header), cmocka_unit_test(rfc5044_4_1_crc_in_the_next_segment),
        cmocka_unit_test(rfc5044_7_1_2_reply_and_fpdu_in_one_segment), cmocka_unit_test(rfc6581_9_2_one_rtr_of_two_then_silence),
        cmocka_unit_test(rfc6581_9_ird_and_ord_big_endian), cmocka_unit_test(rfc5040_5_5_fence_waits_for_both_reads),
        cmocka_unit_test(rfc5040_6_1_eight_reads_of_31_at_once), cmocka_unit_test(rfc5044_4_5_segments_begin_with_fpdus),
        cmocka_unit_test(rfc5040_5_2_read_into_a_region_without_remote_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
