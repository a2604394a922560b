/* SPDX-License-Identifier: GPL-2.0-only */
/* FPDUs in the TCP stream (RFC 5044 sections 4 to 6, 8): sizes, packing, alignment, any segmentation, markers, errors. */
#include "raw.h"

static struct iwarp_params plain(bool crc, bool markers)
{
    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1;
    p.crc = crc;
    p.markers = markers;
    return p;
}

/* A raw peer that has started up; markers in either direction. */
static struct raw *started(bool crc, bool tx_markers, bool rx_markers)
{
    struct iwarp_params p = plain(crc, tx_markers); /* what the QP asks for stands in what the peer sends */
    struct raw *r = raw_new(&p, false);
    r->crc = crc;
    r->tx_markers = tx_markers;
    r->rx_markers = rx_markers;
    raw_start(r);
    return r;
}

/* Twenty FPDUs of odd sizes in segments of n bytes each. */
static void segments_of_any_size(void **state)
{
    (void)state;
    for (int markers = 0; markers < 2; markers++)
        for (uint32_t size = 1; size < 1448; size += size < 40 ? 1 : 97) {
            struct raw *r = started(true, markers, false);
            uint8_t data[1500];
            uint64_t off = 0, from = r->out_len;
            for (uint32_t i = 0; i < sizeof data; i++)
                data[i] = (uint8_t)(i * 7);
            for (uint32_t k = 0; k < 20; k++) {
                uint32_t len = k * k * 3 % 700;
                struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA + off);
                raw_ddp(r, &h, data + k, len);
                off += len;
            }
            for (uint64_t at = from + size; at < r->out_len && r->ncuts < 4096; at += size)
                r->cut[r->ncuts++] = at;
            raw_send(r);
            raw_run_us(r, 20000);
            off = 0;
            for (uint32_t k = 0; k < 20; k++) {
                uint32_t len = k * k * 3 % 700;
                assert_memory_equal(r->s.mem + off, data + k, len);
                off += len;
            }
            assert_int_equal(iwarp_qp_stats(r->s.qp)->fpdus_in, 20);
            raw_free(r);
        }
}

/* Section 4.1: the pad is zero as sent and ignored as received, but for the CRC; every length mod 4. */
static void pads_of_every_length(void **state)
{
    (void)state;
    for (uint32_t len = 1; len <= 8; len++) {
        struct raw *r = started(true, false, false);
        struct rnic_send_wr wr = { .op = RNIC_OP_WRITE, .sge = { VA, len, rnic_mr_key(r->s.mr) }, .remote_va = 0, .rkey = 5 };
        assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
        raw_run_us(r, 100);
        uint32_t n = 2 + 14 + len, pad = (4 - n % 4) % 4;
        assert_int_equal(r->in_len - r->in_used, n + pad + 4);
        for (uint32_t i = 0; i < pad; i++)
            assert_int_equal(r->in[r->in_used + n + i], 0);
        uint8_t b[64]; /* a peer whose pad is not zero */
        struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA + 50);
        uint32_t head = (uint32_t)ddp_hdr_encode(&h, b + 2);
        b[0] = 0;
        b[1] = (uint8_t)(head + len);
        memset(b + 2 + head, 0x5a, len);
        memset(b + n, 0xee, pad);
        uint32_t crc = wire_crc32c(0, b, n + pad);
        for (unsigned i = 0; i < 4; i++)
            b[n + pad + i] = (uint8_t)(crc >> 8 * i);
        raw_say(r, b, n + pad + 4);
        for (uint32_t i = 0; i < len; i++)
            assert_int_equal(r->s.mem[50 + i], 0x5a);
        raw_free(r);
    }
}

/* Section 4.4: the CRC field is there also where CRC is off, and then anything goes. */
static void crc_off_is_not_checked(void **state)
{
    (void)state;
    struct raw *r = started(false, false, false);
    struct raw_fault f = { .bad_crc = true };
    uint8_t b[64];
    struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA);
    size_t n = ddp_hdr_encode(&h, b);
    memcpy(b + n, "abcd", 4);
    raw_ulpdu(r, b, (uint32_t)n + 4, &f);
    raw_send(r);
    raw_run_us(r, 100);
    assert_memory_equal(r->s.mem, "abcd", 4);
    raw_free(r);
}

static void expect_terminate(struct raw *r, int code, bool headers)
{
    struct rdmap_terminate t;
    raw_heard_terminate(r, &t);
    assert_int_equal(t.layer << 16 | t.etype << 8 | t.code, code);
    assert_int_equal(t.d, headers);
    assert_false(r->reset); /* section 8: the connection is not broken off, the Terminate gets through and the stream then ends */
    assert_true(r->closed);
    assert_int_equal(iwarp_qp_local_error(r->s.qp), code);
    assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
}

/* Sections 6 and 8: nothing of an FPDU with a wrong CRC is placed, nor of what follows it. */
static void wrong_crc_ends_the_stream(void **state)
{
    (void)state;
    for (int markers = 0; markers < 2; markers++) {
        struct raw *r = started(true, markers, false);
        struct raw_fault f = { .bad_crc = true };
        uint8_t b[64], was[8];
        memcpy(was, r->s.mem, 8);
        struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA);
        size_t n = ddp_hdr_encode(&h, b);
        memcpy(b + n, "abcd", 4);
        raw_ulpdu(r, b, (uint32_t)n + 4, &f);
        h.to = VA + 4;
        raw_ddp(r, &h, "efgh", 4);
        raw_send(r);
        raw_run_us(r, 1000);
        assert_memory_equal(r->s.mem, was, 8);
        assert_int_equal(iwarp_qp_stats(r->s.qp)->crc_errors, 1);
        expect_terminate(r, 0x20002, false);
        raw_free(r);
    }
}

/* Section 8, code 3: a marker that does not point to the FPDU that the lengths give; with CRC where the CRC is right, without it at once. */
static void lost_alignment_is_found(void **state)
{
    (void)state;
    for (int crc = 0; crc < 2; crc++) {
        struct raw *r = started(crc, true, false);
        struct raw_fault f = { .bad_marker = true };
        uint8_t b[1200] = { 0 };
        struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA);
        raw_ddp(r, &h, b, 300);
        size_t n = ddp_hdr_encode(&h, b);
        raw_ulpdu(r, b, (uint32_t)n + 1000, &f);
        raw_send(r);
        raw_run_us(r, 1000);
        assert_int_equal(iwarp_qp_stats(r->s.qp)->marker_errors, 1);
        expect_terminate(r, 0x20003, false);
        raw_free(r);
    }
    /* A wrong length: its FPDU would end far beyond what comes. The next marker tells. */
    struct raw *r = started(false, true, false);
    struct raw_fault f = { .length = 60000 };
    uint8_t b[600] = { 0 };
    struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA);
    size_t n = ddp_hdr_encode(&h, b);
    raw_ulpdu(r, b, (uint32_t)n + 200, &f);
    for (int k = 0; k < 3; k++)
        raw_ddp(r, &h, b, 200);
    raw_send(r);
    raw_run_us(r, 1000);
    expect_terminate(r, 0x20003, false);
    raw_free(r);
}

/* Section 4.2: the two lowest bits of a pointer, and the marker's reserved half, are not looked at. */
static void reserved_marker_bits_are_ignored(void **state)
{
    (void)state;
    for (int crc = 0; crc < 2; crc++) {
        struct raw *r = started(crc, true, false);
        uint8_t b[1200] = { 0 };
        struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA);
        uint64_t at = r->out_len;
        raw_ddp(r, &h, b, 700);
        uint64_t end = r->out_len;
        for (uint64_t k = at; k < end; k += 512) {
            r->out[k] = 0x12;
            r->out[k + 3] |= 3;
        }
        uint32_t sum = crc ? wire_crc32c(0, r->out + at, (uint32_t)(end - at - 4)) : 0;
        for (unsigned i = 0; i < 4; i++)
            r->out[end - 4 + i] = (uint8_t)(sum >> 8 * i);
        raw_send(r);
        raw_run_us(r, 1000);
        assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_RTS);
        for (int i = 0; i < 700; i++)
            assert_int_equal(r->s.mem[i], 0);
        raw_free(r);
    }
}

/* Section 4.3: what we send with markers: each at a multiple of 512 from the first byte of full operation, pointing to the length field of
 * its FPDU, or zero between FPDUs; raw_heard checks each FPDU by the dissector's code, this looks at the bytes. */
static void markers_as_sent(void **state)
{
    (void)state;
    for (uint32_t len = 1; len < 3000; len += 211) {
        struct raw *r = started(true, false, true);
        uint64_t wire[400], n = 0, at = r->rx_base;
        uint8_t payload[65536];
        struct ddp_hdr h;
        uint32_t got, bytes = 0;
        for (int k = 0; k < 12; k++) {
            struct rnic_send_wr wr = { .op = RNIC_OP_WRITE, .sge = { VA, len, rnic_mr_key(r->s.mr) }, .remote_va = 0, .rkey = 5 };
            assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
        }
        raw_run_us(r, 5000);
        while (raw_heard(r, &h, payload, &got)) {
            assert_memory_equal(payload, r->s.mem + h.to, got);
            wire[n++] = r->in_used;
            bytes += got;
        }
        assert_int_equal(bytes, 12 * len);
        assert_int_equal(r->in_used, r->in_len);
        for (uint64_t m = r->rx_base; m + 4 <= r->in_len; m += 512) {
            uint64_t i = 0, start;
            while (wire[i] <= m)
                i++;
            start = i ? wire[i - 1] : at;
            uint64_t field = (start - r->rx_base) % 512 == 0 ? start + 4 : start;
            assert_int_equal(r->in[m] << 8 | r->in[m + 1], 0);
            assert_int_equal(r->in[m + 2] << 8 | r->in[m + 3], m < field ? 0 : m - field);
        }
        raw_free(r);
    }
}

/* RFC 5044 figure 6: the second FPDU of a stream whose first took 492 bytes, the marker inside it and its CRC. */
static void figure_6(void **state)
{
    (void)state;
    static const uint8_t want[] = { 0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x14 };
    static const uint8_t crc[] = { 0x84, 0x92, 0x58, 0x98 };
    struct raw *r = started(true, false, true);
    memset(r->s.mem, 0, 1000);
    /* 0x1ec bytes of stream before it, a leading marker among them: 488 of FPDU, so a ULPDU of 482, 464 of them payload */
    static const uint32_t len[2] = { 464, 24 };
    for (int k = 0; k < 2; k++) {
        struct rnic_send_wr wr = { .op = RNIC_OP_SEND, .sge = { VA, len[k], rnic_mr_key(r->s.mr) } };
        assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
    }
    raw_run_us(r, 1000);
    const uint8_t *f = r->in + r->rx_base + 0x1ec;
    assert_int_equal(r->in_len - r->rx_base, 0x220);
    assert_memory_equal(f, want, sizeof want);
    assert_memory_equal(f + 0x30, crc, 4);
    raw_free(r);
}

/* Section 4.3: the distance holds where TCP's sequence numbers wrap between marker and length field. */
static void markers_across_the_wrap(void **state)
{
    (void)state;
    for (uint32_t before = 0; before < 3000; before += 100) {
        struct iwarp_params p = iwarp_defaults();
        p.markers = 1;
        struct pair *w = pair_new(&p, &p, ALL);
        for (int i = 1; i >= 0; i--) {
            struct iwarp_peer peer = peer_of(i);
            assert_int_equal(i ? iwarp_qp_accept(w->s[1].qp, &peer, side_on_up, &w->s[1]) : iwarp_qp_connect(w->s[0].qp, &peer, side_on_up, &w->s[0]), SIM_OK);
            tcp_set_isn(inside(&w->s[i])->tcp, UINT32_MAX - before);
        }
        pair_run_us(w, 1000);
        post(w, 0, RNIC_OP_WRITE, 1, 0, 5000);
        pair_run_us(w, 100);
        post(w, 1, RNIC_OP_WRITE, 1, 10000, 5000);
        pair_run_us(w, 100);
        assert_memory_equal(w->s[0].mem, w->s[1].mem, 5000);
        assert_memory_equal(w->s[0].mem + 10000, w->s[1].mem + 10000, 5000);
        assert_int_equal(iwarp_qp_stats(w->s[0].qp)->marker_errors + iwarp_qp_stats(w->s[1].qp)->marker_errors, 0);
        pair_free(w);
    }
}

/* Section 4.5: MULPDU from EMSS, exactly; never below 128. */
static void mulpdu_from_emss(void **state)
{
    (void)state;
    for (uint32_t emss = 1; emss < 9500; emss++)
        for (int markers = 0; markers < 2; markers++) {
            int64_t want = (int64_t)emss - (6 + emss % 4) - (markers ? 4 * ((emss + 511) / 512) : 0);
            assert_int_equal(mpa_mulpdu(emss, markers), want < 128 ? 128 : want);
        }
    assert_int_equal(mpa_mulpdu(65535, false), 64768); /* section 3 */
}

/* Section 4.5, RFC 5041 section 3: FPDUs after a change of the path's MTU are of the new size, whole FPDUs fill segments again; what TCP had
 * is not cut anew by us. Bytes arrive all the same. */
static void mulpdu_follows_the_path(void **state)
{
    (void)state;
    for (int markers = 0; markers < 2; markers++)
        for (uint32_t mss = 100; mss < 1500; mss += 333) {
            struct iwarp_params a = iwarp_defaults(), b = a;
            b.markers = markers;
            struct pair *w = pair_up(&a, &b, false);
            post(w, 0, RNIC_OP_WRITE, 1, 0, 400000);
            post(w, 0, RNIC_OP_WRITE, 2, 400000, 50000);
            pair_run_us(w, 25);
            iwarp_qp_path_mss(w->s[0].qp, mss);
            pair_run_us(w, 12); /* what was announced before has left */
            uint64_t cut = iwarp_qp_stats(w->s[0].qp)->fpdus_cut;
            w->l.largest_payload = 0;
            pair_run_us(w, 20000);
            uint32_t emss = tcp_emss(iwarp_qp_tcp(w->s[0].qp)), mulpdu = mpa_mulpdu(emss, markers);
            assert_int_equal(emss, mss - 12);
            assert_memory_equal(w->s[0].mem, w->s[1].mem, 450000);
            assert_int_equal(w->s[0].nwc, 2);
            assert_true(w->l.largest_payload <= emss);
            if (emss > 150) {
                assert_true(w->l.largest_payload >= mulpdu + 6);
                assert_int_equal(iwarp_qp_stats(w->s[0].qp)->fpdus_cut, cut); /* aligned again */
            }
            pair_free(w);
        }
}

/* Timestamps take 12 bytes of each segment: EMSS is after options. */
static void emss_is_after_options(void **state)
{
    (void)state;
    for (int ts = 0; ts < 2; ts++) {
        struct iwarp_params p = iwarp_defaults();
        struct pair *w = pair_new(&p, &p, ALL);
        w->tcp.timestamps = ts;
        pair_open(w);
        post(w, 0, RNIC_OP_WRITE, 1, 0, 65536);
        pair_run_us(w, 10000);
        assert_int_equal(w->l.largest_payload, ts ? 1448 : 1460);
        pair_free(w);
    }
}

/* Section 5.1: several FPDUs may share a segment if they lie in it whole. */
static void small_fpdus_are_packed(void **state)
{
    (void)state;
    for (int pack = 0; pack < 2; pack++) {
        struct iwarp_params p = iwarp_defaults();
        p.pack = pack;
        struct pair *w = pair_up(&p, &p, false);
        uint64_t before = w->l.sent[0];
        for (uint32_t k = 0; k < 100; k++)
            post(w, 0, RNIC_OP_WRITE, k, 64 * k, 64);
        pair_run_us(w, 10000);
        assert_memory_equal(w->s[0].mem, w->s[1].mem, 6400);
        assert_int_equal(iwarp_qp_stats(w->s[0].qp)->fpdus_cut, 0);
        if (pack)
            assert_true(iwarp_qp_stats(w->s[0].qp)->fpdus_packed > 80 && w->l.sent[0] - before < 30);
        else
            assert_true(iwarp_qp_stats(w->s[0].qp)->fpdus_packed == 0 && w->l.sent[0] - before >= 100);
        pair_free(w);
    }
}

static bool lose_third(void *ctx, int from, const struct pkt *p)
{
    uint32_t *n = ctx;
    return from != 0 || p->payload_len < 1000 || ++*n != 3;
}

/* A narrower path found out by a loss: what goes again is cut (RFC 8201), the receiver puts it together. */
static void resegmented_after_loss(void **state)
{
    (void)state;
    struct pair *w = connected(false);
    uint32_t n = 0;
    w->l.tap = lose_third;
    w->l.tap_ctx = &n;
    post(w, 0, RNIC_OP_WRITE, 1, 0, 14280); /* ten FPDUs */
    pair_run_us(w, 9);
    iwarp_qp_path_mss(w->s[0].qp, 700);
    pair_run_us(w, 100000);
    assert_true(iwarp_qp_stats(w->s[0].qp)->fpdus_cut >= 3);
    assert_memory_equal(w->s[0].mem, w->s[1].mem, 14280);
    assert_int_equal(w->s[0].wc[0].status, RNIC_WC_SUCCESS);
    pair_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_of_any_size), cmocka_unit_test(pads_of_every_length), cmocka_unit_test(crc_off_is_not_checked),
        cmocka_unit_test(wrong_crc_ends_the_stream), cmocka_unit_test(lost_alignment_is_found), cmocka_unit_test(reserved_marker_bits_are_ignored),
        cmocka_unit_test(markers_as_sent), cmocka_unit_test(figure_6), cmocka_unit_test(markers_across_the_wrap), cmocka_unit_test(mulpdu_from_emss), cmocka_unit_test(mulpdu_follows_the_path),
        cmocka_unit_test(emss_is_after_options), cmocka_unit_test(small_fpdus_are_packed), cmocka_unit_test(resegmented_after_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
