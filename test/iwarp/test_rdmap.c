/* SPDX-License-Identifier: GPL-2.0-only */
/* DDP and RDMAP (RFC 5040, 5041): messages on the wire, checks of each queue, every Terminate code, ordering, invalidation, flushes. */
#include "raw.h"

/* --- on the wire --- */

/* RFC 5040 figures 3 to 5, 5041 figures 4 and 5: opcode, queue, MSN and the rest of each message; segments of a long one. */
static void messages_on_the_wire(void **state)
{
    (void)state;
    static const struct { enum rnic_opcode op; unsigned flags; uint8_t opcode, tagged, qn; uint32_t stag; } t[] = {
        { RNIC_OP_SEND, 0, RDMAP_SEND, 0, 0, 0 }, { RNIC_OP_SEND, RNIC_SEND_SOLICITED, RDMAP_SEND_SE, 0, 0, 0 },
        { RNIC_OP_SEND_INV, 0, RDMAP_SEND_INV, 0, 0, 0x1234 }, { RNIC_OP_SEND_INV, RNIC_SEND_SOLICITED, RDMAP_SEND_SE_INV, 0, 0, 0x1234 },
        { RNIC_OP_WRITE, 0, RDMAP_WRITE, 1, 0, 0xabcd }, { RNIC_OP_READ, 0, RDMAP_READ_REQUEST, 0, 1, 0 },
    };
    struct raw *r = raw_up();
    static const uint32_t len[] = { 0, 1, 1424, 1425, 5000 };
    uint32_t msn[2] = { 1, 1 };
    static uint8_t b[65536];
    for (size_t l = 0; l < 5; l++)
        for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
            raw_post(r, t[i].op, 100, len[l], t[i].flags, 0x1234);
            raw_run_us(r, 200);
            uint32_t done = 0, n;
            struct ddp_hdr h;
            do {
                assert_true(raw_heard(r, &h, b, &n));
                assert_int_equal(h.opcode, t[i].opcode);
                assert_int_equal(h.tagged, t[i].tagged);
                assert_int_equal(h.stag, t[i].stag);
                assert_int_equal(h.ddp_version, 1);
                assert_int_equal(h.rdmap_version, 1);
                assert_int_equal(h.resv | h.resv2, 0);
                if (h.tagged) {
                    assert_int_equal(h.to, 0x7064 + done);
                } else {
                    assert_int_equal(h.qn, t[i].qn);
                    assert_int_equal(h.msn, msn[h.qn]);
                    assert_int_equal(h.mo, done);
                }
                if (t[i].op != RNIC_OP_READ) {
                    assert_memory_equal(b, r->s.mem + 100 + done, n);
                    assert_true(n + ddp_hdr_bytes(&h) <= mpa_mulpdu(tcp_emss(r->peer), false));
                }
                done += n;
            } while (!h.last);
            if (!t[i].tagged)
                msn[t[i].qn]++;
            if (t[i].op == RNIC_OP_READ) {
                struct rdmap_read_request rr;
                assert_int_equal(done, RDMAP_READ_REQUEST_BYTES);
                rdmap_read_request_decode(b, &rr);
                assert_true(rr.sink_stag == raw_key(r) && rr.sink_to == VA + 100 && rr.size == len[l] && rr.src_stag == 0xabcd && rr.src_to == 0x7064);
            } else {
                assert_int_equal(done, len[l]);
            }
            assert_int_equal(r->in_used, r->in_len); /* a zero-length message is one segment, and only one */
        }
    raw_free(r);
}

/* RFC 5040 5.2.2: the response copies the sink's STag and offset; answers in the order of requests; an empty Read needs no valid source. */
static void read_responses_on_the_wire(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    static const struct { uint32_t size; bool bad; } t[] = { { 10, false }, { 0, true }, { 4000, false }, { 0, false }, { 1, false } };
    static uint8_t b[65536];
    for (uint32_t i = 0; i < 5; i++) {
        struct rdmap_read_request rr = { .sink_stag = 0x77 + i, .sink_to = 0x123456789abcdef0u + i, .size = t[i].size, .src_stag = t[i].bad ? 0x999 : raw_key(r), .src_to = t[i].bad ? 1 : VA + 5 * i };
        struct ddp_hdr h = untagged(RDMAP_READ_REQUEST, 1, r->msn[1]++);
        rdmap_read_request_encode(&rr, b);
        raw_ddp(r, &h, b, RDMAP_READ_REQUEST_BYTES);
    }
    raw_send(r);
    raw_run_us(r, 500);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t done = 0, n;
        struct ddp_hdr h;
        do {
            assert_true(raw_heard(r, &h, b, &n));
            assert_int_equal(h.opcode, RDMAP_READ_RESPONSE);
            assert_true(h.tagged && h.stag == 0x77 + i);
            assert_true(h.to == 0x123456789abcdef0u + i + done);
            assert_memory_equal(b, r->s.mem + 5 * i + done, n);
            done += n;
        } while (!h.last);
        assert_int_equal(done, t[i].size);
    }
    assert_int_equal(r->s.nwc, 0); /* a Read Request and its response are not the application's business */
    raw_free(r);
}

/* RFC 5041 4.3: MSN counts on from 2^32 - 1 to 0. */
static void msn_wraps(void **state)
{
    (void)state;
    struct pair *w = connected(true);
    for (int i = 0; i < 2; i++) {
        inside(&w->s[i])->tx_msn[0] = inside(&w->s[i])->rx_msn[0] = UINT32_MAX;
        inside(&w->s[i])->tx_msn[1] = inside(&w->s[i])->rx_msn[1] = UINT32_MAX;
    }
    for (uint32_t k = 0; k < 4; k++) {
        post_recv(&w->s[1], k, 1000 * k, 100);
        post(w, 0, RNIC_OP_SEND, k, 1000 * k, 100);
        post(w, 0, RNIC_OP_READ, 10 + k, 50000 + 1000 * k, 100);
    }
    pair_run_us(w, 1000);
    assert_int_equal(w->s[1].nwc, 4);
    assert_int_equal(w->s[0].nwc, 8);
    assert_int_equal(inside(&w->s[0])->tx_msn[0], 3);
    assert_int_equal(inside(&w->s[1])->rx_msn[1], 3);
    for (uint32_t k = 0; k < 4; k++)
        assert_memory_equal(w->s[0].mem + 1000 * k, w->s[1].mem + 1000 * k, 100);
    pair_free(w);
}

/* --- what is refused, and with which Terminate --- */

enum what { W_HEADER, W_READ, W_SHORT, W_LOCAL };
struct wrong {
    const char *name;
    int code;                    /* layer << 16 | etype << 8 | code */
    enum what what;
    struct ddp_hdr h;            /* stag: 0 is replaced by the region's key where tagged */
    uint32_t len;
    struct rdmap_read_request rr;
    int parts;                   /* M and D, R: 0, 1, 2 */
    uint32_t local;
};

#define U(op, q, m, o, l) { .last = l, .ddp_version = 1, .rdmap_version = 1, .opcode = op, .qn = q, .msn = m, .mo = o }
#define T(op, s, t) { .tagged = 1, .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = op, .stag = s, .to = t }
/* Each row against a QP whose region `key` is [VA, VA + MEM), with a second region without remote rights (BARE), one of another
 * protection domain (OTHER), one limited to another QP (LIMITED), one shared (SHARED), one 100 bytes long receive, IRD 2. */
#define BARE 1
#define OTHER 2
#define LIMITED 3
#define SHARED 4
#define HIGH 5
static const struct wrong wrongs[] = {
    { "RDMAP local catastrophic", 0x00000, W_LOCAL, { 0 }, 0, { 0 }, 0, IWARP_BROKEN_RDMAP },
    { "Read, invalid STag", 0x00100, W_READ, { 0 }, 28, { .src_stag = 0x9900, .src_to = VA, .size = 1 }, 2, 0 },
    { "Read, base below", 0x00101, W_READ, { 0 }, 28, { .src_to = VA - 1, .size = 1 }, 2, 0 },
    { "Read, beyond the end", 0x00101, W_READ, { 0 }, 28, { .src_to = VA + MEM - 1, .size = 2 }, 2, 0 },
    { "Read, no right", 0x00102, W_READ, { 0 }, 28, { .src_stag = BARE, .src_to = VA, .size = 1 }, 2, 0 },
    { "Read, other protection domain", 0x00103, W_READ, { 0 }, 28, { .src_stag = OTHER, .src_to = VA, .size = 1 }, 2, 0 },
    { "Read, limited to another stream", 0x00103, W_READ, { 0 }, 28, { .src_stag = LIMITED, .src_to = VA, .size = 1 }, 2, 0 },
    { "Read, TO wraps", 0x00104, W_READ, { 0 }, 28, { .src_stag = HIGH, .src_to = UINT64_MAX - 9, .size = 100 }, 2, 0 },
    { "Send with Invalidate, invalid STag", 0x00109, W_HEADER, { .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_SEND_INV, .msn = 1, .stag = 0x9900 }, 4, { 0 }, 1, 0 },
    { "Send with Invalidate, other protection domain", 0x00109, W_HEADER, { .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_SEND_INV, .msn = 1, .stag = OTHER }, 4, { 0 }, 1, 0 },
    { "Send with Invalidate, limited to another stream", 0x00109, W_HEADER, { .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_SEND_SE_INV, .msn = 1, .stag = LIMITED }, 4, { 0 }, 1, 0 },
    { "Send with Invalidate, shared", 0x00109, W_HEADER, { .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_SEND_INV, .msn = 1, .stag = SHARED }, 4, { 0 }, 1, 0 },
    { "Write, no right", 0x00102, W_HEADER, T(RDMAP_WRITE, BARE, VA), 4, { 0 }, 1, 0 },
    { "RDMAP version, tagged", 0x00205, W_HEADER, { .tagged = 1, .last = 1, .ddp_version = 1, .rdmap_version = 2, .opcode = RDMAP_WRITE, .to = VA }, 4, { 0 }, 1, 0 },
    { "RDMAP version, untagged", 0x00205, W_HEADER, { .last = 1, .ddp_version = 1, .rdmap_version = 0, .opcode = RDMAP_SEND, .msn = 1 }, 4, { 0 }, 1, 0 },
    { "opcode unknown", 0x00206, W_HEADER, U(15, 0, 1, 0, 1), 4, { 0 }, 1, 0 },
    { "tagged Send", 0x00206, W_HEADER, T(RDMAP_SEND, 0, VA), 4, { 0 }, 1, 0 },
    { "untagged Write", 0x00206, W_HEADER, U(RDMAP_WRITE, 0, 1, 0, 1), 4, { 0 }, 1, 0 },
    { "Send in the Read queue", 0x00206, W_HEADER, U(RDMAP_SEND, 1, 1, 0, 1), 4, { 0 }, 1, 0 },
    { "Read Request in the Send queue", 0x00206, W_HEADER, U(RDMAP_READ_REQUEST, 0, 1, 0, 1), 28, { 0 }, 1, 0 },
    { "Read Response that nobody asked for", 0x00206, W_HEADER, T(RDMAP_READ_RESPONSE, 0, VA), 4, { 0 }, 1, 0 },
    { "Immediate Data where it is off", 0x00206, W_HEADER, U(RDMAP_IMMEDIATE, 0, 1, 0, 1), 8, { 0 }, 1, 0 },
    { "Atomic Request where it is off", 0x00206, W_HEADER, U(RDMAP_ATOMIC_REQUEST, 1, 1, 0, 1), 52, { 0 }, 1, 0 },
    { "catastrophic, this stream", 0x00207, W_LOCAL, { 0 }, 0, { 0 }, 0, IWARP_BROKEN_STREAM },
    { "catastrophic, global", 0x00208, W_LOCAL, { 0 }, 0, { 0 }, 0, IWARP_BROKEN_GLOBAL },
    { "ULPDU shorter than its header", 0x002ff, W_SHORT, { 0 }, 5, { 0 }, 0, 0 },
    { "Read Request too short", 0x002ff, W_HEADER, U(RDMAP_READ_REQUEST, 1, 1, 0, 1), 27, { 0 }, 0, 0 },
    { "DDP local catastrophic", 0x10000, W_LOCAL, { 0 }, 0, { 0 }, 0, IWARP_BROKEN_DDP },
    { "Write, invalid STag", 0x10100, W_HEADER, T(RDMAP_WRITE, 0x9900, VA), 4, { 0 }, 1, 0 },
    { "Write, base", 0x10101, W_HEADER, T(RDMAP_WRITE, 0, VA - 1), 4, { 0 }, 1, 0 },
    { "Write, bounds", 0x10101, W_HEADER, T(RDMAP_WRITE, 0, VA + MEM - 3), 4, { 0 }, 1, 0 },
    { "Write, other protection domain", 0x10102, W_HEADER, T(RDMAP_WRITE, OTHER, VA), 4, { 0 }, 1, 0 },
    { "Write, limited to another stream", 0x10102, W_HEADER, T(RDMAP_WRITE, LIMITED, VA), 4, { 0 }, 1, 0 },
    { "Write, TO wraps", 0x10103, W_HEADER, T(RDMAP_WRITE, HIGH, UINT64_MAX - 1), 4, { 0 }, 1, 0 },
    { "DDP version, tagged", 0x10104, W_HEADER, { .tagged = 1, .last = 1, .ddp_version = 2, .rdmap_version = 1, .opcode = RDMAP_WRITE, .to = VA }, 4, { 0 }, 1, 0 },
    { "queue unknown", 0x10201, W_HEADER, U(RDMAP_SEND, 4, 1, 0, 1), 4, { 0 }, 1, 0 },
    { "queue 3 where atomics are off", 0x10201, W_HEADER, U(RDMAP_ATOMIC_RESPONSE, 3, 1, 0, 1), 12, { 0 }, 1, 0 },
    { "MSN ahead", 0x10203, W_HEADER, U(RDMAP_SEND, 0, 2, 0, 1), 4, { 0 }, 1, 0 },
    { "MSN behind", 0x10203, W_HEADER, U(RDMAP_SEND, 0, 0, 0, 1), 4, { 0 }, 1, 0 },
    { "Read queue's MSN", 0x10203, W_HEADER, U(RDMAP_READ_REQUEST, 1, 2, 0, 1), 28, { 0 }, 1, 0 },
    { "MO not where the message is", 0x10204, W_HEADER, U(RDMAP_SEND, 0, 1, 4, 1), 4, { 0 }, 1, 0 },
    { "Read Request with an MO", 0x10204, W_HEADER, U(RDMAP_READ_REQUEST, 1, 1, 4, 1), 28, { 0 }, 1, 0 },
    { "Send longer than the receive", 0x10205, W_HEADER, U(RDMAP_SEND, 0, 1, 0, 1), 101, { 0 }, 1, 0 },
    { "Read Request too long", 0x10205, W_HEADER, U(RDMAP_READ_REQUEST, 1, 1, 0, 1), 29, { 0 }, 1, 0 },
    { "DDP version, untagged", 0x10206, W_HEADER, { .last = 1, .ddp_version = 0, .rdmap_version = 1, .opcode = RDMAP_SEND, .msn = 1 }, 4, { 0 }, 1, 0 },
    { "MPA local catastrophic", 0x20005, W_LOCAL, { 0 }, 0, { 0 }, 0, IWARP_BROKEN_MPA },
};

struct regions { uint32_t key[6]; struct rnic_mr *mr[6]; };

static void make_regions(struct raw *r, struct regions *g)
{
    struct rnic_pd *other = rnic_pd_new(r->s.dev);
    struct rnic_qp *qp = iwarp_qp_new(r->s.dev, r->s.pd, r->s.cq, r->s.cq, &r->par, &r->tcp, cc_find("reno"), NULL, INT64_C(100000000000), 9, 1);
    g->mr[0] = r->s.mr;
    g->mr[BARE] = rnic_mr_reg(r->s.pd, VA, MEM, RNIC_LOCAL_WRITE, r->s.mem);
    g->mr[OTHER] = rnic_mr_reg(other, VA, MEM, ALL, r->s.mem);
    g->mr[LIMITED] = rnic_mr_reg(r->s.pd, VA, MEM, ALL, r->s.mem);
    rnic_mr_limit(g->mr[LIMITED], qp);
    g->mr[SHARED] = rnic_mr_reg(r->s.pd, VA, MEM, ALL, r->s.mem);
    rnic_mr_set_shared(g->mr[SHARED], true);
    g->mr[HIGH] = rnic_mr_reg(r->s.pd, UINT64_MAX - 4095, 4096, ALL, NULL);
    for (int i = 0; i < 6; i++)
        g->key[i] = rnic_mr_key(g->mr[i]);
}

static void commit_wrong(struct raw *r, const struct wrong *w, const struct regions *g, uint8_t *sent)
{
    struct ddp_hdr h = w->h;
    switch (w->what) {
    case W_LOCAL: iwarp_qp_break(r->s.qp, (enum iwarp_scope)w->local); break;
    case W_SHORT: raw_ulpdu(r, sent, w->len, NULL); break;
    case W_READ: {
        struct rdmap_read_request rr = w->rr;
        rr.src_stag = rr.src_stag < 6 ? g->key[rr.src_stag] : rr.src_stag;
        h = untagged(RDMAP_READ_REQUEST, 1, 1);
        rdmap_read_request_encode(&rr, sent);
        raw_ddp(r, &h, sent, 28);
        break;
    }
    default:
        if (h.tagged || h.opcode == RDMAP_SEND_INV || h.opcode == RDMAP_SEND_SE_INV)
            h.stag = h.stag < 6 ? g->key[h.stag] : h.stag;
        raw_ddp(r, &h, sent, w->len);
    }
}

/* Each code of RFC 5040 figure 9, RFC 5041 7.2, RFC 5044 section 8 and RFC 6581 section 8 that can be sent (2/0/2, 3, 6, 7: test_segmentation,
 * test_startup): the Terminate says it and quotes what figure 10 asks for; nothing is placed or delivered, then or later; the stream ends. */
static void every_terminate_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        const struct wrong *w = &wrongs[i];
        struct raw *r = raw_up();
        struct regions g;
        uint8_t sent[300], *was = malloc(MEM);
        make_regions(r, &g);
        memset(sent, 0x41, sizeof sent);
        post_recv(&r->s, 77, 500, 100);
        struct rnic_send_wr wr = raw_wr(r, RNIC_OP_READ, 5000, 10); /* one that waits, to be flushed */
        if (strcmp(w->name, "Read Response that nobody asked for") != 0)
            assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
        raw_run_us(r, 100);
        r->in_used = r->in_len;
        memcpy(was, r->s.mem, MEM);
        uint64_t at = r->out_len;
        commit_wrong(r, w, &g, sent);
        uint64_t ulpdu_at = at + 2, ulpdu_len = r->out_len > at ? (uint64_t)r->out[at] << 8 | r->out[at + 1] : 0;
        struct ddp_hdr good = tagged(RDMAP_WRITE, raw_key(r), VA);
        raw_ddp(r, &good, "late", 4); /* after the error: dropped in silence */
        raw_send(r);
        raw_run_us(r, 1000);
        struct rdmap_terminate t;
        raw_heard_terminate(r, &t);
        if ((t.layer << 16 | t.etype << 8 | t.code) != w->code || iwarp_qp_terminate_sent(r->s.qp) != w->code)
            fail_msg("%s: %d/%d/%02x", w->name, t.layer, t.etype, t.code);
        if (t.m != (w->parts > 0) || t.d != (w->parts > 0) || t.r != (w->parts > 1))
            fail_msg("%s: M %d D %d R %d", w->name, t.m, t.d, t.r);
        if (w->parts > 0) {
            assert_int_equal(t.ddp_seg_len, ulpdu_len);
            assert_memory_equal(t.ddp_hdr, r->out + ulpdu_at, t.ddp_hdr_len);
        }
        if (w->parts > 1)
            assert_memory_equal(t.rdmap_hdr, r->out + ulpdu_at + DDP_UNTAGGED_BYTES, 28);
        bool too_long = w->code == 0x10205 && w->len == 101, after_placement = w->code >> 8 == 0x001 && w->h.msn == 1 && w->what == W_HEADER;
        if (!after_placement && memcmp(was, r->s.mem, MEM) != 0)
            fail_msg("%s: memory has changed", w->name);
        assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
        assert_true(r->closed && !r->reset);
        bool flushed_recv = false;
        for (uint32_t k = 0; k < r->s.nwc; k++) {
            assert_int_not_equal(r->s.wc[k].status, RNIC_WC_SUCCESS);
            flushed_recv |= r->s.wc[k].wr_id == 77 && r->s.wc[k].status == (too_long ? RNIC_WC_LOC_LEN_ERR : RNIC_WC_WR_FLUSH_ERR);
        }
        if (!flushed_recv)
            fail_msg("%s: the receive was not flushed", w->name);
        assert_non_null(rdmap_terminate_text(t.layer, t.etype, t.code));
        free(was);
        raw_free(r);
    }
}

/* 1/2/2: nothing posted; also for an empty Send, which takes a receive (RFC 5040 5.3). */
static void no_buffer_for_a_send(void **state)
{
    (void)state;
    for (uint32_t len = 0; len < 2; len++) {
        struct raw *r = raw_up();
        struct ddp_hdr h = untagged(RDMAP_SEND, 0, 1);
        raw_say_ddp(r, &h, "x", len);
        struct rdmap_terminate t;
        raw_heard_terminate(r, &t);
        assert_int_equal(t.layer << 16 | t.etype << 8 | t.code, 0x10202);
        raw_free(r);
    }
}

/* RFC 5040 7.1 rule 4 and 5.4: the first error is told, once, and nothing more is sent. */
static void first_error_wins(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    struct ddp_hdr a = tagged(RDMAP_WRITE, 0x9900, VA), b = untagged(RDMAP_SEND, 7, 1);
    raw_ddp(r, &a, "x", 1);
    raw_ddp(r, &b, "x", 1);
    struct rnic_send_wr wr = raw_wr(r, RNIC_OP_WRITE, 0, 100);
    raw_send(r);
    raw_run_us(r, 1000);
    assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
    raw_run_us(r, 1000);
    struct rdmap_terminate t;
    raw_heard_terminate(r, &t);
    assert_int_equal(t.layer << 16 | t.etype << 8 | t.code, 0x10100);
    assert_int_equal(r->s.wc[r->s.nwc - 1].status, RNIC_WC_WR_FLUSH_ERR);
    raw_free(r);
}

/* A Terminate that comes: the application's work ends in errors; the WQE that it names says why. */
static void terminate_received(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    static uint8_t b[100];
    uint8_t body[64];
    uint32_t len;
    struct ddp_hdr h;
    post_recv(&r->s, 5, 0, 100);
    for (uint64_t k = 0; k < 3; k++)
        raw_post(r, RNIC_OP_READ, k, 10, 0, 0);
    raw_run_us(r, 100);
    struct rdmap_terminate t = { .layer = 0, .etype = 1, .code = 2, .m = 1, .d = 1, .r = 1, .ddp_hdr_len = 18 };
    for (int k = 0; k < 2; k++)
        assert_true(raw_heard(r, &h, b, &len));
    ddp_hdr_encode(&h, t.ddp_hdr); /* the second Read is refused */
    size_t n = rdmap_terminate_encode(&t, body);
    h = untagged(RDMAP_TERMINATE, 2, 1);
    raw_say_ddp(r, &h, body, (uint32_t)n);
    raw_run_us(r, 1000);
    assert_int_equal(iwarp_qp_terminate_received(r->s.qp), 0x00102);
    assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
    assert_int_equal(r->s.nwc, 4);
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(r->s.wc[k].wr_id, k);
        assert_int_equal(r->s.wc[k].status, k == 1 ? RNIC_WC_REM_ACCESS_ERR : RNIC_WC_WR_FLUSH_ERR);
    }
    assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), -1);
    raw_free(r);
}

/* Codes that come are kept and have a name, also those that we never send (RDMAP unspecified protection error, 0/2/09 as Linux siw sends it, the
 * two of MPA that only the finder knows); one that nobody defined ends the stream too. */
static void every_code_is_understood(void **state)
{
    (void)state;
    static const int codes[] = { 0x00000, 0x00100, 0x00101, 0x00102, 0x00103, 0x00104, 0x00109, 0x001ff, 0x00205, 0x00206, 0x00207, 0x00208, 0x00209, 0x002ff, 0x10000,
                                 0x10100, 0x10101, 0x10102, 0x10103, 0x10104, 0x10201, 0x10202, 0x10203, 0x10204, 0x10205, 0x10206, 0x20001, 0x20002, 0x20003,
                                 0x20004, 0x20005, 0x20006, 0x20007, 0x3f7aa };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct raw *r = raw_up();
        struct rdmap_terminate t = { .layer = (uint8_t)(codes[i] >> 16), .etype = (uint8_t)(codes[i] >> 8 & 15), .code = (uint8_t)codes[i] };
        struct ddp_hdr h = untagged(RDMAP_TERMINATE, 2, 1);
        uint8_t body[64];
        size_t n = rdmap_terminate_encode(&t, body);
        raw_say_ddp(r, &h, body, (uint32_t)n);
        raw_run_us(r, 1000);
        assert_int_equal(iwarp_qp_terminate_received(r->s.qp), t.layer << 16 | t.etype << 8 | t.code);
        assert_int_equal(rdmap_terminate_text(t.layer, t.etype, t.code) != NULL, codes[i] != 0x3f7aa);
        assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
        assert_true(r->closed);
        raw_free(r);
    }
}

/* RFC 5044 section 8, code 1: a lost connection is an error here; what the peer's FIN leaves unfinished too (RFC 5041 6.2.1). */
static void lost_connection(void **state)
{
    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        struct raw *r = raw_up();
        post_recv(&r->s, 5, 0, 100);
        if (reset)
            tcp_abort(r->peer, r->l.now);
        else
            tcp_close(r->peer, r->l.now);
        raw_run_us(r, 1000);
        assert_int_equal(iwarp_qp_local_error(r->s.qp), 0x20001);
        assert_int_equal(rnic_qp_state(r->s.qp), RNIC_QP_ERROR);
        assert_int_equal(r->s.wc[0].status, RNIC_WC_WR_FLUSH_ERR);
        raw_free(r);
    }
}

/* --- ordering --- */

/* RFC 5040 6.1, truth item 7: at most what was agreed on, in flight at once; beyond the IRD a request is refused (1/2/2). */
static void read_depths_are_kept(void **state)
{
    (void)state;
    struct iwarp_params a = iwarp_defaults(), b = a;
    b.ird = 8;
    struct pair *w = pair_up(&a, &b, false);
    for (uint64_t k = 0; k < 31; k++)
        post(w, 0, RNIC_OP_READ, k, 1000 * k, 1000);
    pair_run_us(w, 10000);
    assert_int_equal(iwarp_qp_stats(w->s[0].qp)->reads_peak, 8);
    assert_int_equal(w->s[0].nwc, 31);
    for (uint32_t k = 0; k < 31; k++)
        assert_true(w->s[0].wc[k].wr_id == k && w->s[0].wc[k].status == RNIC_WC_SUCCESS);
    assert_memory_equal(w->s[0].mem, w->s[1].mem, 31000);
    pair_free(w);

    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1;
    p.ird = 2;
    struct raw *r = raw_new(&p, false);
    raw_start(r);
    static uint8_t body[RDMAP_READ_REQUEST_BYTES];
    struct rdmap_read_request rr = { .size = 60000, .src_stag = raw_key(r), .src_to = VA };
    rdmap_read_request_encode(&rr, body);
    for (uint32_t k = 1; k <= 8; k++) {
        struct ddp_hdr h = untagged(RDMAP_READ_REQUEST, 1, k);
        raw_ddp(r, &h, body, sizeof body);
    }
    raw_send(r);
    raw_run_us(r, 1000);
    assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), 0x10202);
    raw_free(r);
}

/* RFC 5040 5.5: completions in the order of posting, though the Read's answer is outstanding when the Write has left. */
static void completions_in_order(void **state)
{
    (void)state;
    struct raw *r = raw_up();
    raw_post(r, RNIC_OP_WRITE, 0, 10, 0, 0);
    raw_post(r, RNIC_OP_READ, 1, 10, 0, 0);
    raw_post(r, RNIC_OP_WRITE, 2, 10, 0, 0);
    raw_run_us(r, 500);
    assert_int_equal(r->s.nwc, 1);
    struct ddp_hdr h = tagged(RDMAP_READ_RESPONSE, raw_key(r), VA + 1);
    raw_say_ddp(r, &h, "0123456789", 10);
    assert_int_equal(r->s.nwc, 3);
    for (uint32_t k = 0; k < 3; k++)
        assert_true(r->s.wc[k].wr_id == k && r->s.wc[k].status == RNIC_WC_SUCCESS);
    assert_memory_equal(r->s.mem + 1, "0123456789", 10);
    raw_free(r);
}

/* RFC 5040 5.5 rule 14: a Write or Send completes once the LLP has it; by parameter, once it is acknowledged. */
static void completion_of_writes(void **state)
{
    (void)state;
    for (int acked = 0; acked < 2; acked++) {
        struct iwarp_params p = iwarp_defaults();
        p.complete = acked ? IWARP_COMPLETE_ACKED : IWARP_COMPLETE_SENT;
        struct pair *w = pair_up(&p, &p, false);
        post(w, 0, RNIC_OP_WRITE, 1, 0, 10000);
        assert_int_equal(w->s[0].nwc, 0);
        pair_run_us(w, 4); /* one way is 5 us */
        assert_int_equal(w->s[0].nwc, !acked);
        pair_run_us(w, 2000);
        assert_int_equal(w->s[0].nwc, 1);
        pair_free(w);
    }
}

/* A Read's sink must be what the Read asked for: key, place, length and end. */
static void response_must_fit_the_read(void **state)
{
    (void)state;
    static const struct { int64_t to; uint32_t len; bool other_key, last; int code; } t[] = {
        { 0, 10, true, true, 0x10100 }, { 1, 10, false, true, 0x10101 }, { 0, 11, false, true, 0x10101 }, { 0, 9, false, true, 0x10101 }, { 0, 10, false, false, 0x10101 } };
    for (size_t i = 0; i < 5; i++) {
        struct raw *r = raw_up();
        struct rnic_mr *other = rnic_mr_reg(r->s.pd, VA, MEM, ALL, r->s.mem);
        raw_post(r, RNIC_OP_READ, 50, 10, 0, 0);
        raw_run_us(r, 100);
        struct ddp_hdr h = tagged(RDMAP_READ_RESPONSE, t[i].other_key ? rnic_mr_key(other) : raw_key(r), VA + 50 + (uint64_t)t[i].to);
        h.last = t[i].last;
        raw_say_ddp(r, &h, "0123456789a", t[i].len);
        assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), t[i].code);
        assert_int_equal(r->s.wc[0].status, RNIC_WC_LOC_ACCESS_ERR);
        raw_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_on_the_wire), cmocka_unit_test(read_responses_on_the_wire), cmocka_unit_test(msn_wraps),
        cmocka_unit_test(every_terminate_code), cmocka_unit_test(no_buffer_for_a_send), cmocka_unit_test(first_error_wins),
        cmocka_unit_test(terminate_received), cmocka_unit_test(every_code_is_understood), cmocka_unit_test(lost_connection), cmocka_unit_test(read_depths_are_kept),
        cmocka_unit_test(completions_in_order), cmocka_unit_test(completion_of_writes), cmocka_unit_test(response_must_fit_the_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
