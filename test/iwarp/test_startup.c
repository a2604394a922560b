/* SPDX-License-Identifier: GPL-2.0-only */
/* MPA start-up: RFC 5044 7.1 and RFC 6581, against another QP and against a peer of bytes. */
#include "raw.h"

#define REQ "MPA ID Req Frame"
#define REP "MPA ID Rep Frame"

static void every_combination_comes_up(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2 * 5 * 16 * 2; k++) {
        struct iwarp_params a = iwarp_defaults(), b;
        a.mpa_revision = 1 + (k & 1);
        a.rtr = k / 2 % 5;
        b = a;
        unsigned bits = k / 10 % 16;
        a.crc = bits & 1;
        b.crc = bits >> 1 & 1;
        a.markers = bits >> 2 & 1;
        b.markers = bits >> 3 & 1;
        struct pair *w = pair_new(&a, &b, ALL);
        w->l.bytes = k / 160;
        pair_open(w);
        if (w->s[0].status || w->s[1].status)
            fail_msg("case %u: %d %d", k, w->s[0].status, w->s[1].status);
        for (int i = 0; i < 2; i++) { /* CRC if either asks; markers towards the side that asks */
            struct iwarp_agreed g = iwarp_qp_agreed(w->s[i].qp);
            assert_int_equal(g.crc, a.crc || b.crc);
            assert_int_equal(g.rx_markers, i ? b.markers : a.markers);
            assert_int_equal(g.tx_markers, i ? a.markers : b.markers);
            assert_int_equal(g.revision, a.mpa_revision);
        }
        post(w, 0, RNIC_OP_WRITE, 1, 0, 10000);
        pair_run_us(w, 1000);
        post(w, 1, RNIC_OP_WRITE, 1, 20000, 10000);
        pair_run_us(w, 1000);
        assert_memory_equal(w->s[0].mem, w->s[1].mem, 10000);
        assert_memory_equal(w->s[0].mem + 20000, w->s[1].mem + 20000, 10000);
        pair_free(w);
    }
}

static struct raw *opened(const struct iwarp_params *p, bool peer_is_initiator)
{
    struct raw *r = raw_new(p, peer_is_initiator);
    raw_run_us(r, 100);
    assert_true(r->established);
    return r;
}

/* The request of an initiator, byte by byte. */
static void request_frame_on_the_wire(void **state)
{
    (void)state;
    assert_true(iwarp_defaults().crc); /* RFC 5044 4.4: the default is CRC on */
    for (int rev = 1; rev <= 2; rev++)
        for (int crc = 0; crc < 2; crc++) {
            struct iwarp_params p = iwarp_defaults();
            p.mpa_revision = rev;
            p.crc = crc;
            p.markers = 1;
            p.ird = 32;
            p.ord = 1;
            struct raw *r = raw_make(&p, false);
            assert_int_equal(iwarp_qp_set_private_data(r->s.qp, "hello", 5), SIM_OK);
            raw_open(r);
            raw_run_us(r, 100);
            uint32_t pd = rev == 2 ? 9 : 5;
            assert_int_equal(r->in_len, 20 + pd);
            assert_memory_equal(r->in, REQ, 16);
            assert_int_equal(r->in[16], 0x80 | (crc ? 0x40 : 0) | (rev == 2 ? 0x10 : 0)); /* no reject, reserved bits zero */
            assert_int_equal(r->in[17], rev);
            assert_int_equal(r->in[18] << 8 | r->in[19], pd);
            if (rev == 2) { /* A and B, IRD; C and D, ORD: all RTR kinds offered; most significant byte first */
                const uint8_t enhanced[4] = { 0xc0, 0x20, 0xc0, 0x01 };
                assert_memory_equal(r->in + 20, enhanced, 4);
            }
            assert_memory_equal(r->in + 20 + pd - 5, "hello", 5);
            raw_free(r);
        }
}

static void flags_follow_the_model(void **state)
{
    (void)state;
    static const struct { int64_t rtr; uint8_t ird_byte, ord_byte; } t[] = {
        { IWARP_RTR_NONE, 0x00, 0x00 }, { IWARP_RTR_SEND, 0xc0, 0x00 }, { IWARP_RTR_WRITE, 0x80, 0x80 }, { IWARP_RTR_READ, 0x80, 0x40 }, { IWARP_RTR_ANY, 0xc0, 0xc0 } };
    for (size_t i = 0; i < 5; i++) {
        struct iwarp_params p = iwarp_defaults();
        p.rtr = t[i].rtr;
        struct raw *r = opened(&p, false);
        assert_int_equal(r->in[20] & 0xc0, t[i].ird_byte);
        assert_int_equal(r->in[22] & 0xc0, t[i].ord_byte);
        raw_free(r);
    }
}

static struct mpa_start enhanced(uint16_t ird, uint16_t ord)
{
    return (struct mpa_start){ .revision = 2, .flags = MPA_F_ENHANCED | MPA_F_CRC, .ird = ird, .ord = ord };
}

/* Decode the QP's start-up frame. */
static struct mpa_start heard_start(struct raw *r)
{
    struct mpa_start m;
    size_t used = 0;
    assert_int_equal(mpa_start_decode(r->in, (size_t)r->in_len, &m, &used), MPA_START_OK);
    r->in_used = r->rx_base = used;
    r->tx_base = r->out_len;
    return m;
}

/* RFC 6581 9.1 and 9.2: what the responder answers to each request. */
static void reply_to_each_request(void **state)
{
    (void)state;
    static const struct { uint16_t ird, ord; uint8_t a, b, c, d; uint16_t want_ird, want_ord; int own_rtr, want_b, want_c, want_d; } t[] = {
        { 16, 16, 0, 0, 0, 0, 32, 16, IWARP_RTR_ANY, 0, 0, 0 },
        { 64, 64, 0, 0, 0, 0, 32, 32, IWARP_RTR_ANY, 0, 0, 0 },
        { 0, 4, 0, 0, 0, 0, 32, 0, IWARP_RTR_ANY, 0, 0, 0 },
        { 8, 8, 0, 1, 1, 1, 32, 8, IWARP_RTR_ANY, 0, 0, 0 },    /* A is 0: B, C, D are ignored and answered with 0 */
        { 8, 8, 1, 1, 1, 0, 32, 8, IWARP_RTR_ANY, 0, 1, 0 },    /* exactly one of those offered */
        { 8, 8, 1, 1, 0, 0, 32, 8, IWARP_RTR_ANY, 1, 0, 0 },
        { 8, 8, 1, 0, 0, 1, 32, 8, IWARP_RTR_ANY, 0, 0, 1 },
        { 8, 8, 1, 1, 0, 0, 32, 8, IWARP_RTR_READ, 0, 0, 1 },   /* none in common: one that it supports */
        { 0x3fff, 8, 0, 0, 0, 0, 32, 0x3fff, IWARP_RTR_ANY, 0, 0, 0 },
        { 8, 0x3fff, 0, 0, 0, 0, 0x3fff, 8, IWARP_RTR_ANY, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct iwarp_params p = iwarp_defaults();
        p.rtr = t[i].own_rtr;
        struct raw *r = opened(&p, true);
        struct mpa_start m = enhanced(t[i].ird, t[i].ord);
        uint8_t b[64];
        m.p2p_a = t[i].a;
        m.rtr_send = t[i].b;
        m.rtr_write = t[i].c;
        m.rtr_read = t[i].d;
        raw_say(r, b, raw_frame(r, m, NULL, 0, b));
        struct mpa_start got = heard_start(r);
        assert_memory_equal(r->in, REP, 16);
        assert_int_equal(got.revision, 2);
        assert_true(got.flags & MPA_F_ENHANCED);
        assert_int_equal(got.p2p_a, t[i].a);
        if (got.rtr_send != t[i].want_b || got.rtr_write != t[i].want_c || got.rtr_read != t[i].want_d)
            fail_msg("case %zu: B %d C %d D %d", i, got.rtr_send, got.rtr_write, got.rtr_read);
        assert_int_equal(got.ird, t[i].want_ird);
        assert_int_equal(got.ord, t[i].want_ord);
        struct iwarp_agreed g = iwarp_qp_agreed(r->s.qp);
        assert_int_equal(g.peer_ird, t[i].ird); /* the application may see what the peer gave */
        assert_int_equal(g.peer_ord, t[i].ord);
        assert_int_equal(g.ird, 32);            /* also where the peer does not want it negotiated */
        assert_int_equal(g.ord, t[i].ird == 0x3fff ? 32 : t[i].want_ord);
        raw_free(r);
    }
}

/* RFC 6581 9.1: what the initiator makes of each reply. -1: no Terminate. */
static void initiator_takes_each_reply(void **state)
{
    (void)state;
    static const struct { uint16_t ird, ord; int64_t own_ird; int want_ord, terminate; } t[] = {
        { 8, 8, 32, 8, -1 }, { 64, 32, 32, 32, -1 }, { 8, 33, 32, 8, 0x20006 }, { 0x3fff, 8, 32, 32, -1 }, { 8, 0x3fff, 32, 8, -1 }, { 0, 0, 32, 0, -1 } };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct iwarp_params p = iwarp_defaults();
        p.rtr = IWARP_RTR_NONE;
        p.ird = t[i].own_ird;
        struct raw *r = opened(&p, false);
        heard_start(r);
        uint8_t b[64];
        raw_say(r, b, raw_frame(r, enhanced(t[i].ird, t[i].ord), NULL, 0, b));
        assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), t[i].terminate);
        assert_int_equal(iwarp_qp_agreed(r->s.qp).ord, t[i].want_ord);
        assert_int_equal(iwarp_qp_agreed(r->s.qp).ird, 32);
        if (t[i].terminate >= 0) { /* layer 2, type 0, code 6, and nothing else in it */
            struct rdmap_terminate term;
            raw_heard_terminate(r, &term);
            assert_int_equal(term.layer << 16 | term.etype << 8 | term.code, t[i].terminate);
            assert_false(term.m || term.d || term.r);
            assert_int_equal(r->s.status, SIM_ERR_STATE);
            assert_true(r->closed && !r->reset);
        } else {
            assert_int_equal(r->s.status, SIM_OK);
        }
        raw_free(r);
    }
}

/* RFC 6581 9.2: one of the RTR messages that the reply allows goes out; none possible: Terminate 2/0/7. */
static void initiator_makes_the_rtr(void **state)
{
    (void)state;
    static const struct { int64_t own; uint8_t b, c, d; int opcode; } t[] = {
        { IWARP_RTR_ANY, 1, 0, 0, RDMAP_SEND }, { IWARP_RTR_ANY, 0, 1, 0, RDMAP_WRITE }, { IWARP_RTR_ANY, 0, 0, 1, RDMAP_READ_REQUEST },
        { IWARP_RTR_SEND, 0, 1, 1, -1 }, { IWARP_RTR_READ, 1, 1, 1, RDMAP_READ_REQUEST } };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct iwarp_params p = iwarp_defaults();
        p.rtr = t[i].own;
        struct raw *r = opened(&p, false);
        heard_start(r);
        struct mpa_start m = enhanced(32, 32);
        m.p2p_a = 1;
        m.rtr_send = t[i].b;
        m.rtr_write = t[i].c;
        m.rtr_read = t[i].d;
        uint8_t b[64], payload[64];
        assert_int_equal(r->in_used, r->in_len); /* no FPDU before the reply */
        raw_say(r, b, raw_frame(r, m, NULL, 0, b));
        struct ddp_hdr h;
        uint32_t len;
        if (t[i].opcode < 0) {
            struct rdmap_terminate term;
            raw_heard_terminate(r, &term);
            assert_int_equal(term.layer << 16 | term.etype << 8 | term.code, 0x20007);
            assert_int_equal(r->s.status, SIM_ERR_STATE);
        } else {
            assert_true(raw_heard(r, &h, payload, &len));
            assert_int_equal(h.opcode, t[i].opcode);
            assert_int_equal(len, t[i].opcode == RDMAP_READ_REQUEST ? RDMAP_READ_REQUEST_BYTES : 0);
            struct rdmap_read_request rr = { .size = 1 };
            if (len)
                rdmap_read_request_decode(payload, &rr);
            assert_int_equal(rr.size, len ? 0 : 1); /* a zero-length Read */
        }
        raw_free(r);
    }
}

/* RFC 5044 7.1.2, RFC 6581 section 5: the responder sends neither FPDUs nor markers before the first FPDU has come and is sound. */
static void responder_waits_for_the_first_fpdu(void **state)
{
    (void)state;
    for (int markers = 0; markers < 2; markers++) {
        struct iwarp_params p = iwarp_defaults();
        struct raw *r = opened(&p, true);
        uint8_t b[64];
        struct mpa_start m = { .revision = 1, .flags = (uint8_t)(MPA_F_CRC | (markers ? MPA_F_MARKERS : 0)) };
        raw_say(r, b, raw_frame(r, m, NULL, 0, b));
        heard_start(r);
        r->rx_markers = markers;
        struct rnic_send_wr wr = { .op = RNIC_OP_WRITE, .sge = { VA, 100, rnic_mr_key(r->s.mr) }, .remote_va = 0x1000, .rkey = 5 };
        assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
        raw_run_us(r, 1000);
        assert_int_equal(r->in_len, r->in_used);
        struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA), got;
        raw_say_ddp(r, &h, "x", 1);
        uint8_t payload[200];
        uint32_t len;
        assert_true(raw_heard(r, &got, payload, &len));
        assert_int_equal(got.opcode, RDMAP_WRITE);
        raw_free(r);
    }
}

static void bad_frames_close_the_connection(void **state)
{
    (void)state;
    for (int initiator = 0; initiator < 2; initiator++)
        for (int k = 0; k < 6; k++) {
            struct iwarp_params p = iwarp_defaults();
            p.mpa_revision = 1;
            struct raw *r = opened(&p, initiator);
            uint8_t b[600] = { 0 };
            struct mpa_start m = { .revision = 1, .flags = MPA_F_CRC };
            size_t n = raw_frame(r, m, "12345678", 8, b);
            switch (k) {
            case 0: b[3] = 'x'; break;                                       /* key */
            case 1: memcpy(b, initiator ? REP : REQ, 16); break;             /* two of a kind */
            case 2: b[17] = 0; break;                                        /* revisions that do not exist or that we do not speak */
            case 3: b[17] = 3; break;
            case 4: b[18] = 2, b[19] = 1, n = 20 + 513; break;               /* 513 bytes of private data */
            default: b[17] = 2; break;                                       /* we speak revision 1 */
            }
            raw_say(r, b, n);
            raw_run_us(r, 1000);
            assert_int_equal(r->s.status, SIM_ERR_STATE);
            assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
            assert_int_equal(iwarp_qp_local_error(r->s.qp), 0x20004);
            assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), -1);
            assert_true(r->closed);
            raw_free(r);
        }
}

/* RFC 6581 section 10: in kind. A responder of revision 2 takes revision 1 and answers with it; reserved bits are not looked at (RFC 5044). */
static void answers_in_kind(void **state)
{
    (void)state;
    struct iwarp_params p = iwarp_defaults();
    struct raw *r = opened(&p, true);
    uint8_t b[64];
    struct mpa_start m = { .revision = 1, .flags = MPA_F_CRC | 0x1f };
    raw_say(r, b, raw_frame(r, m, NULL, 0, b));
    assert_int_equal(r->in[16], 0x40);
    assert_int_equal(r->in[17], 1);
    assert_int_equal(r->in[18] << 8 | r->in[19], 0);
    raw_free(r);
    r = opened(&p, false); /* an unenhanced answer to an enhanced request is none */
    m.flags = MPA_F_CRC;
    raw_say(r, b, raw_frame(r, m, NULL, 0, b));
    assert_int_equal(r->s.status, SIM_ERR_STATE);
    assert_int_equal(iwarp_qp_local_error(r->s.qp), 0x20004);
    raw_free(r);
}

static void private_data_reaches_both_sides(void **state)
{
    (void)state;
    for (int rev = 1; rev <= 2; rev++)
        for (uint32_t n = 0; n <= 512; n += 64) {
            struct iwarp_params p = iwarp_defaults();
            p.mpa_revision = rev;
            uint8_t a[520], b[520];
            uint32_t len = rev == 2 && n > 508 ? 508 : n, got;
            for (uint32_t i = 0; i < sizeof a; i++)
                a[i] = (uint8_t)i, b[i] = (uint8_t)~i;
            struct pair *w = pair_new(&p, &p, ALL);
            assert_int_equal(iwarp_qp_set_private_data(w->s[0].qp, a, (rev == 2 ? 508 : 512) + 1), SIM_ERR_PARAM);
            assert_int_equal(iwarp_qp_set_private_data(w->s[0].qp, a, len), SIM_OK);
            assert_int_equal(iwarp_qp_set_private_data(w->s[1].qp, b, len), SIM_OK);
            pair_open(w);
            assert_int_equal(w->s[0].status, SIM_OK);
            assert_memory_equal(iwarp_qp_peer_private_data(w->s[1].qp, &got), a, len);
            assert_int_equal(got, len);
            assert_memory_equal(iwarp_qp_peer_private_data(w->s[0].qp, &got), b, len);
            assert_int_equal(got, len);
            pair_free(w);
        }
}

static void reject_tells_the_initiator(void **state)
{
    (void)state;
    for (int rev = 1; rev <= 2; rev++) {
        struct iwarp_params p = iwarp_defaults();
        p.mpa_revision = rev;
        struct pair *w = pair_new(&p, &p, ALL);
        uint32_t len;
        w->par[1].ird = 5;
        w->par[1].ord = 3;
        assert_int_equal(iwarp_qp_set_private_data(w->s[1].qp, "no", 2), SIM_OK);
        iwarp_qp_set_reject(w->s[1].qp);
        pair_open(w);
        assert_int_equal(w->s[0].status, SIM_ERR_STATE);
        assert_int_equal(w->s[1].status, SIM_ERR_STATE);
        assert_memory_equal(iwarp_qp_peer_private_data(w->s[0].qp, &len), "no", 2);
        assert_int_equal(iwarp_qp_agreed(w->s[0].qp).peer_ird, rev == 2 ? 5 : 0); /* also of a reject: RFC 6581 9.1 */
        assert_int_equal(iwarp_qp_agreed(w->s[0].qp).peer_ord, rev == 2 ? 3 : 0);
        assert_int_equal(iwarp_qp_terminate_sent(w->s[0].qp), -1);
        pair_free(w);
    }
    struct iwarp_params p = iwarp_defaults(); /* the R bit itself, in an enhanced reply */
    struct raw *r = raw_new(&p, true);
    uint8_t b[64];
    iwarp_qp_set_reject(r->s.qp);
    raw_run_us(r, 100);
    raw_say(r, b, raw_frame(r, enhanced(1, 1), NULL, 0, b));
    assert_int_equal(heard_start(r).flags, MPA_F_REJECT | MPA_F_ENHANCED | MPA_F_CRC);
    raw_free(r);
}

/* Start-up frames may be split or joined with what follows in any way: RFC 5044 7.1.2, 7.1.4.2. */
static void start_up_split_at_any_byte(void **state)
{
    (void)state;
    struct mpa_start m = { .revision = 1, .flags = MPA_F_CRC };
    for (int initiator = 0; initiator < 2; initiator++)
        for (uint32_t at = 1; at < 20 + 6 + 28; at++) {
            struct iwarp_params p = iwarp_defaults();
            p.mpa_revision = 1;
            struct raw *r = opened(&p, initiator);
            uint8_t b[64], all[200];
            size_t n = raw_frame(r, m, "secret", 6, b);
            struct ddp_hdr h = tagged(RDMAP_WRITE, rnic_mr_key(r->s.mr), VA + 100);
            raw_add(r, b, n);
            r->tx_base = r->out_len;
            raw_ddp(r, &h, "payload!", 8); /* together with the frame: truth item 3 for the reply */
            uint64_t whole = r->out_len;
            assert_true(whole < sizeof all);
            memcpy(all, r->out, (size_t)whole);
            r->out_len = at;
            raw_cut(r);
            raw_send(r);
            raw_run_us(r, 100);
            r->out_len = whole;
            raw_send(r);
            raw_run_us(r, 100);
            uint32_t len;
            assert_int_equal(r->s.status, SIM_OK);
            assert_memory_equal(iwarp_qp_peer_private_data(r->s.qp, &len), "secret", 6);
            if (memcmp(r->s.mem + 100, "payload!", 8) != 0)
                fail_msg("cut at %u: not placed", at);
            raw_free(r);
        }
}

/* RFC 5044 7.1.2: a timeout on the peer's frame, so that two responders or a silent peer are found out. */
static void silence_ends_start_up(void **state)
{
    (void)state;
    for (int initiator = 0; initiator < 2; initiator++) {
        struct iwarp_params p = iwarp_defaults();
        p.startup_timeout_ps = 2 * SIM_PS_PER_S;
        struct raw *r = opened(&p, initiator);
        raw_run_us(r, 1900000);
        assert_int_equal(r->s.status, 1);
        raw_run_us(r, 200000);
        assert_int_equal(r->s.status, SIM_ERR_STATE);
        raw_free(r);
    }
}

/* RFC 6581 9.3: an error that no other code names is told by 2/0/5, where the peer may be told. */
static void local_error_is_told(void **state)
{
    (void)state;
    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1;
    struct raw *r = raw_new(&p, false);
    raw_start(r);
    iwarp_qp_break(r->s.qp, IWARP_BROKEN_MPA);
    raw_run_us(r, 1000);
    struct rdmap_terminate t;
    raw_heard_terminate(r, &t);
    assert_int_equal(t.layer << 16 | t.etype << 8 | t.code, 0x20005);
    raw_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_comes_up), cmocka_unit_test(request_frame_on_the_wire), cmocka_unit_test(flags_follow_the_model),
        cmocka_unit_test(reply_to_each_request), cmocka_unit_test(initiator_takes_each_reply), cmocka_unit_test(initiator_makes_the_rtr),
        cmocka_unit_test(responder_waits_for_the_first_fpdu), cmocka_unit_test(bad_frames_close_the_connection), cmocka_unit_test(answers_in_kind),
        cmocka_unit_test(private_data_reaches_both_sides), cmocka_unit_test(reject_tells_the_initiator), cmocka_unit_test(start_up_split_at_any_byte),
        cmocka_unit_test(silence_ends_start_up), cmocka_unit_test(local_error_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
