/* SPDX-License-Identifier: GPL-2.0-only */
/** An iWARP QP opposite a peer that speaks TCP properly and above it whatever bytes a test wants, cut into segments where it wants. */
#ifndef RNICSIM_TEST_IWARP_RAW_H
#define RNICSIM_TEST_IWARP_RAW_H

#include "pair.h"

#ifndef RAW_MAX
#define RAW_MAX (1u << 20)
#endif

struct raw {
    struct side s;               /* the QP under test */
    struct iwarp_params par;
    struct tcp_params tcp;
    struct line l;               /* 0: the QP, 1: the peer */
    struct tcp_conn *peer;
    bool initiator;              /* the peer is */
    uint8_t *out;                /* the peer's stream */
    uint64_t out_len;
    uint64_t cut[4096];
    uint32_t ncuts;
    uint8_t *in;                 /* what the QP has sent */
    uint64_t in_len, in_used;
    uint64_t tx_base, rx_base;   /* where full operation begins in out and in */
    bool deaf;                   /* what the QP sends is not kept */
    bool established, closed, reset;
    bool crc, tx_markers, rx_markers; /* of the peer's FPDUs and of the QP's */
    uint32_t msn[4];
};

static inline uint32_t raw_fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    struct raw *r = user;
    uint64_t end = off + len < r->out_len ? off + len : r->out_len;
    for (uint32_t i = 0; i < r->ncuts; i++)
        if (r->cut[i] > off && r->cut[i] < end)
            end = r->cut[i];
    if (end <= off || !pkt_add_bytes(p, r->out + off, (uint32_t)(end - off)))
        return 0;
    return (uint32_t)(end - off);
}

static inline void raw_deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct raw *r = user;
    if (!r->deaf) {
        assert_true(r->in_len + len <= RAW_MAX && off == r->in_len);
        pkt_payload_read(p, from, len, r->in + r->in_len);
        r->in_len += len;
    }
    tcp_consumed(r->peer, now_ps, off + len);
}

static inline void raw_acked(void *user, int64_t now_ps, uint64_t off) { (void)user, (void)now_ps, (void)off; }

static inline void raw_state(void *user, int64_t now_ps, enum tcp_state state, int error)
{
    struct raw *r = user;
    (void)now_ps;
    r->established |= state == TCP_ESTABLISHED;
    r->closed |= state == TCP_CLOSE_WAIT || state == TCP_CLOSED;
    r->reset |= error != 0;
}

/** Not opened yet. */
static inline struct raw *raw_make(const struct iwarp_params *par, bool peer_is_initiator)
{
    static const struct tcp_user_ops ops = { .fill = raw_fill, .deliver = raw_deliver, .acked = raw_acked, .state = raw_state };
    struct raw *r = calloc(1, sizeof *r);
    r->par = *par;
    r->tcp = toe();
    r->initiator = peer_is_initiator;
    r->crc = true;
    r->out = malloc(RAW_MAX);
    r->in = malloc(RAW_MAX);
    for (int i = 0; i < 4; i++)
        r->msn[i] = 1;
    side_init(&r->s, 0, &r->par, &r->tcp, ALL);
    struct iwarp_peer it = peer_of(1);
    r->peer = tcp_new(&r->tcp, cc_find("reno"), NULL, &it.addr, 7, 1, INT64_C(100000000000));
    tcp_set_user(r->peer, &ops, r);
    line_init(&r->l, &r->s.qp->ep, tcp_endpoint(r->peer), 5);
    return r;
}

static inline void raw_open(struct raw *r)
{
    struct iwarp_peer me = peer_of(0);
    assert_int_equal(r->initiator ? iwarp_qp_accept(r->s.qp, &me, side_on_up, &r->s) : iwarp_qp_connect(r->s.qp, &me, side_on_up, &r->s), SIM_OK);
    assert_int_equal(r->initiator ? tcp_connect(r->peer, 0) : tcp_accept(r->peer, 0), SIM_OK);
}

static inline struct raw *raw_new(const struct iwarp_params *par, bool peer_is_initiator)
{
    struct raw *r = raw_make(par, peer_is_initiator);
    raw_open(r);
    return r;
}

static inline void raw_free(struct raw *r)
{
    line_fini(&r->l);
    side_fini(&r->s);
    tcp_free(r->peer);
    free(r->out);
    free(r->in);
    free(r);
}

static inline void raw_run_us(struct raw *r, int64_t us) { line_run_for(&r->l, us * SIM_PS_PER_US); }

/** Append to the peer's stream; it leaves when the line runs. */
static inline void raw_add(struct raw *r, const void *bytes, size_t len)
{
    assert_true(r->out_len + len <= RAW_MAX);
    memcpy(r->out + r->out_len, bytes, len);
    r->out_len += len;
}

/** A segment ends here. */
static inline void raw_cut(struct raw *r)
{
    assert_true(r->ncuts < sizeof r->cut / sizeof r->cut[0]);
    r->cut[r->ncuts++] = r->out_len;
}

static inline void raw_send(struct raw *r) { tcp_stream_end(r->peer, r->l.now, r->out_len); }

static inline void raw_say(struct raw *r, const void *bytes, size_t len)
{
    raw_add(r, bytes, len);
    raw_send(r);
    raw_run_us(r, 100);
}

/** The peer's start-up frame. */
static inline size_t raw_frame(const struct raw *r, struct mpa_start m, const void *pd, size_t pd_len, uint8_t *out)
{
    m.reply = !r->initiator;
    return mpa_start_encode(&m, pd, pd_len, out);
}

/** Start-up with a peer that does nothing special: revision 1, CRC as r->crc, markers as the two sides want them. */
static inline void raw_start(struct raw *r)
{
    uint8_t b[600];
    struct mpa_start m = { .revision = 1, .flags = (uint8_t)((r->crc ? MPA_F_CRC : 0) | (r->rx_markers ? MPA_F_MARKERS : 0)) };
    raw_run_us(r, 100);
    assert_true(r->established);
    raw_say(r, b, raw_frame(r, m, NULL, 0, b));
    r->tx_base = r->out_len;
    r->rx_base = r->in_used = r->in_len;
}

struct raw_fault { bool bad_crc, bad_marker; int length; /* not 0: what the length field says */ };

/** An FPDU of these ULPDU bytes on the peer's stream. */
static inline void raw_ulpdu(struct raw *r, const uint8_t *ulpdu, uint32_t len, const struct raw_fault *fault)
{
    static uint8_t plain[70000], marked[72000];
    uint32_t says = fault && fault->length ? (uint32_t)fault->length : len, n = 2 + len, at = 0;
    plain[0] = (uint8_t)(says >> 8);
    plain[1] = (uint8_t)says;
    memcpy(plain + 2, ulpdu, len);
    while (n % 4)
        plain[n++] = 0;
    n += 4;
    uint8_t *b = plain;
    uint64_t here = r->out_len - r->tx_base;
    if (r->tx_markers) {
        n = mpa_put_markers(plain, n, mpa_unmarked(here), marked);
        b = marked;
        at = here % 512 == 0 ? 0 : (uint32_t)(512 - here % 512);
        if (fault && fault->bad_marker && at + 4 <= n)
            b[at + 3] ^= 8;
    }
    uint32_t crc = r->crc ? wire_crc32c(0, b, n - 4) : 0;
    if (fault && fault->bad_crc)
        crc ^= 1;
    for (unsigned i = 0; i < 4; i++)
        b[n - 4 + i] = (uint8_t)(crc >> 8 * i);
    raw_add(r, b, n);
}

static inline struct ddp_hdr untagged(enum rdmap_opcode op, uint32_t qn, uint32_t msn)
{
    return (struct ddp_hdr){ .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = (uint8_t)op, .qn = qn, .msn = msn };
}

static inline struct ddp_hdr tagged(enum rdmap_opcode op, uint32_t stag, uint64_t to)
{
    return (struct ddp_hdr){ .tagged = 1, .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = (uint8_t)op, .stag = stag, .to = to };
}

/** A DDP segment on the peer's stream. */
static inline void raw_ddp(struct raw *r, const struct ddp_hdr *h, const void *payload, uint32_t len)
{
    static uint8_t b[70000];
    size_t n = ddp_hdr_encode(h, b);
    if (len)
        memcpy(b + n, payload, len);
    raw_ulpdu(r, b, (uint32_t)n + len, NULL);
}

static inline void raw_say_ddp(struct raw *r, const struct ddp_hdr *h, const void *payload, uint32_t len)
{
    raw_ddp(r, h, payload, len);
    raw_send(r);
    raw_run_us(r, 100);
}

/** A QP that has started up, its peer of bytes the responder. */
static inline struct raw *raw_up(void)
{
    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1;
    struct raw *r = raw_new(&p, false);
    raw_start(r);
    return r;
}

static inline uint32_t raw_key(const struct raw *r) { return rnic_mr_key(r->s.mr); }

static inline struct rnic_send_wr raw_wr(const struct raw *r, enum rnic_opcode op, uint64_t off, uint32_t len)
{
    return (struct rnic_send_wr){ .wr_id = off, .op = op, .flags = RNIC_SEND_SIGNALED, .sge = { VA + off, len, raw_key(r) }, .remote_va = 0x7000 + off, .rkey = 0xabcd };
}

static inline void raw_post(struct raw *r, enum rnic_opcode op, uint64_t off, uint32_t len, unsigned flags, uint32_t inv)
{
    struct rnic_send_wr wr = raw_wr(r, op, off, len);
    wr.flags |= flags;
    wr.imm_or_inv = inv;
    assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
}

/** The QP's next FPDU: false if none has come whole. Pads, CRC and markers are checked. */
static inline bool raw_heard(struct raw *r, struct ddp_hdr *h, uint8_t *payload, uint32_t *len)
{
    static uint8_t ulpdu[65536];
    struct mpa_fpdu f;
    *len = 0;
    memset(h, 0, sizeof *h);
    enum mpa_fpdu_status s = mpa_fpdu_check(r->in + r->in_used, (size_t)(r->in_len - r->in_used), r->crc, r->rx_markers, r->in_used - r->rx_base, &f, ulpdu);
    if (s == MPA_FPDU_MORE)
        return false;
    assert_int_equal(s, MPA_FPDU_OK);
    assert_true(ddp_hdr_decode(ulpdu, f.ulpdu_len, h));
    *len = f.ulpdu_len - (uint32_t)ddp_hdr_bytes(h);
    memcpy(payload, ulpdu + ddp_hdr_bytes(h), *len);
    r->in_used += f.wire_len;
    return true;
}

/** The Terminate that is the QP's next and last message; *t as decoded. */
static inline void raw_heard_terminate(struct raw *r, struct rdmap_terminate *t)
{
    struct ddp_hdr h;
    static uint8_t b[65536];
    uint32_t len;
    assert_true(raw_heard(r, &h, b, &len));
    assert_false(h.tagged);
    assert_int_equal(h.opcode, RDMAP_TERMINATE);
    assert_int_equal(h.qn, 2);
    assert_int_equal(h.msn, 1);
    assert_true(rdmap_terminate_decode(b, len, t));
    assert_int_equal((b[2] & 0x1f) | b[3], 0); /* reserved */
    assert_int_equal(r->in_used, r->in_len);
}

#endif
