/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages into FPDUs into the TCP stream. */
#include "iwarp_internal.h"
#include "../wire/codec.h"
#include <stdlib.h>
#include <string.h>

#define AHEAD_SEGMENTS 4 /* how far TCP sees ahead of what it has taken; more delays a Terminate and Read Responses */

static struct iwarp_msg *msg(const struct iwarp_qp *q, uint32_t i) { return &q->msgs[i & (q->msg_cap - 1)]; }

static uint32_t fpdu_bytes(uint32_t ulpdu_len) { return 2 + ulpdu_len + mpa_pad(ulpdu_len) + 4; }

struct iwarp_msg *iwarp_tx_add(struct iwarp_qp *q, const struct ddp_hdr *hdr, uint32_t len)
{
    q->msgs = rnic_ring_room(q->msgs, &q->msg_cap, sizeof *q->msgs, q->msg_head, q->msg_tail);
    struct iwarp_msg *m = msg(q, q->msg_tail++);
    uint32_t h = (uint32_t)ddp_hdr_bytes(hdr), mulpdu = mpa_mulpdu(tcp_emss(q->tcp), false);
    *m = (struct iwarp_msg){ .start = q->framed, .len = len, .hdr = *hdr, .seg = mulpdu - h, .fpdu = fpdu_bytes(mulpdu) };
    uint32_t full = len == 0 ? 0 : (len - 1) / m->seg; /* FPDUs before the last */
    m->end = m->start + (uint64_t)full * m->fpdu + fpdu_bytes(h + (len - full * m->seg));
    q->framed = m->end;
    return m;
}

/* The payload's bytes: a pattern is named; memory is copied, since the application may reuse it once the WQE has completed
 * while TCP may still have to send it again. */
void iwarp_tx_own_source(struct iwarp_msg *m, const struct rnic_span *src)
{
    m->src = *src;
    if (src->mem == NULL || m->len == 0)
        return;
    m->copy = malloc(m->len);
    if (m->copy == NULL)
        abort();
    memcpy(m->copy, src->mem, m->len);
    m->src.mem = NULL;
}

/* --- the send queue and Read Responses into messages --- */

static struct ddp_hdr tagged(enum rdmap_opcode op, uint32_t stag, uint64_t to)
{
    return (struct ddp_hdr){ .tagged = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = (uint8_t)op, .stag = stag, .to = to };
}

static struct ddp_hdr untagged(struct iwarp_qp *q, enum rdmap_opcode op, enum iwarp_rx_class qn, uint32_t inv)
{
    return (struct ddp_hdr){ .ddp_version = 1, .rdmap_version = 1, .opcode = (uint8_t)op, .stag = inv, .qn = qn, .msn = q->tx_msn[qn]++ };
}

static void frame_source(struct iwarp_qp *q, uint32_t i, const struct ddp_hdr *h, const struct rnic_span *src, uint32_t len)
{
    struct iwarp_msg *m = iwarp_tx_add(q, h, len);
    iwarp_tx_own_source(m, src);
    m->wqe = i;
    m->has_wqe = 1;
}

static void frame_read(struct iwarp_qp *q, uint32_t i, const struct rnic_send_wr *wr)
{
    struct ddp_hdr h = untagged(q, RDMAP_READ_REQUEST, IWARP_QN_READ, 0);
    struct rdmap_read_request rr = { wr->sge.lkey, wr->sge.va, wr->sge.len, wr->rkey, wr->remote_va };
    struct iwarp_msg *m = iwarp_tx_add(q, &h, RDMAP_READ_REQUEST_BYTES);
    m->literal = 1;
    rdmap_read_request_encode(&rr, m->small);
    q->reads = rnic_ring_room(q->reads, &q->read_cap, sizeof *q->reads, q->read_head, q->read_tail);
    q->reads[q->read_tail++ & (q->read_cap - 1)] =
        (struct iwarp_read){ .to = wr->sge.va, .wqe = i, .stag = wr->sge.lkey, .len = wr->sge.len, .has_wqe = i != IWARP_NO_WQE };
    if (q->read_tail - q->read_head > q->reads_in_wire)
        q->reads_in_wire = q->read_tail - q->read_head;
}

/* What iWARP has no message for fails locally: RFC 5040 7.1 case 1. */
static void unsupported(struct iwarp_qp *q, uint32_t i, enum rnic_wc_status status)
{
    iwarp_term_send_for(q, i, status, IWARP_LAYER_RDMAP, 0, 0, IWARP_TERM_PLAIN, NULL);
}

static bool may_start(const struct iwarp_qp *q, const struct rnic_wqe *w)
{
    uint32_t reads = q->read_tail - q->read_head;
    if ((w->wr.flags & RNIC_SEND_FENCE) && reads > 0)
        return false;
    return w->wr.op != RNIC_OP_READ || reads < q->agreed.ord;
}

static bool frame_wqe(struct iwarp_qp *q)
{
    static const uint8_t send_op[2][2] = { { RDMAP_SEND, RDMAP_SEND_SE }, { RDMAP_SEND_INV, RDMAP_SEND_SE_INV } };
    if (q->base.state != RNIC_QP_RTS || q->sq_next == q->base.sq_visible)
        return false;
    uint32_t i = q->sq_next;
    struct rnic_wqe *w = rnic_sq_wqe(&q->base, i);
    if (!may_start(q, w))
        return false;
    q->sq_next++;
    const struct rnic_send_wr *wr = &w->wr;
    struct rnic_span src = { 0 };
    struct ddp_hdr h;
    if (wr->op != RNIC_OP_LOCAL_INV && wr->op != RNIC_OP_READ && rnic_describe_wqe(&q->base, w, &src) != RNIC_FAULT_NONE) {
        unsupported(q, i, RNIC_WC_LOC_PROT_ERR); /* the region has gone since the post */
        return true;
    }
    switch (wr->op) {
    case RNIC_OP_LOCAL_INV:
        rnic_local_inv(&q->base, i);
        break;
    case RNIC_OP_SEND:
    case RNIC_OP_SEND_INV:
        h = untagged(q, (enum rdmap_opcode)send_op[wr->op == RNIC_OP_SEND_INV][(wr->flags & RNIC_SEND_SOLICITED) != 0], IWARP_QN_SEND,
                     wr->op == RNIC_OP_SEND_INV ? wr->imm_or_inv : 0);
        frame_source(q, i, &h, &src, wr->sge.len);
        break;
    case RNIC_OP_WRITE:
        h = tagged(RDMAP_WRITE, wr->rkey, wr->remote_va);
        frame_source(q, i, &h, &src, wr->sge.len);
        break;
    case RNIC_OP_READ:
        if (q->agreed.ord == 0)
            unsupported(q, i, RNIC_WC_LOC_QP_OP_ERR);
        else
            frame_read(q, i, wr);
        break;
    default: /* immediate data and atomics: RFC 7306, which this card does not implement */
        unsupported(q, i, RNIC_WC_LOC_QP_OP_ERR);
        break;
    }
    return true;
}

static bool frame_response(struct iwarp_qp *q)
{
    if (q->inread_head == q->inread_tail)
        return false;
    struct iwarp_inread r = q->inreads[q->inread_head++ & (q->inread_cap - 1)];
    struct ddp_hdr h = tagged(RDMAP_READ_RESPONSE, r.rr.sink_stag, r.rr.sink_to);
    struct rnic_span src;
    enum rnic_fault f = rnic_describe(&q->base, r.rr.src_stag, r.rr.src_to, r.rr.size, RNIC_REMOTE_READ, &src);
    if (f != RNIC_FAULT_NONE) { /* good when it came, gone since */
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 0, 0, IWARP_TERM_PLAIN, NULL);
        return true;
    }
    iwarp_tx_own_source(iwarp_tx_add(q, &h, r.rr.size), &src);
    return true;
}

bool iwarp_tx_frame_next(struct iwarp_qp *q)
{
    if (q->phase != IWARP_FULL)
        return false;
    q->response_turn = !q->response_turn;
    if (q->response_turn)
        return frame_response(q) || frame_wqe(q);
    return frame_wqe(q) || frame_response(q);
}

/* --- the stream's end as TCP sees it --- */

/* The message that holds stream offset off, startup_len <= off < framed. */
static struct iwarp_msg *find(const struct iwarp_qp *q, uint64_t off)
{
    uint32_t lo = q->msg_head, hi = q->msg_tail - q->msg_head - 1;
    uint32_t a = 0;
    if (off >= q->given && q->msg_sent != q->msg_tail && msg(q, q->msg_sent)->start <= off && off < msg(q, q->msg_sent)->end)
        return msg(q, q->msg_sent);
    while (a < hi) { /* the first whose end lies beyond off */
        uint32_t mid = a + (hi - a) / 2;
        if (msg(q, lo + mid)->end <= off)
            a = mid + 1;
        else
            hi = mid;
    }
    return msg(q, lo + a);
}

bool iwarp_tx_announce(struct iwarp_qp *q)
{
    uint64_t want = q->given + (uint64_t)AHEAD_SEGMENTS * tcp_emss(q->tcp), was = q->announced;
    if (was >= q->framed || was >= want)
        return false;
    if (want >= q->framed) {
        q->announced = q->framed;
    } else {
        struct iwarp_msg *m = find(q, want);
        uint64_t end = m->start + ((want - m->start) / m->fpdu + 1) * m->fpdu;
        q->announced = end < m->end ? end : m->end;
    }
    return q->announced > was;
}

void iwarp_tx_terminate(struct iwarp_qp *q)
{
    struct ddp_hdr h = untagged(q, RDMAP_TERMINATE, IWARP_QN_TERM, 0);
    uint8_t body[IWARP_SMALL_MAX];
    uint32_t len = (uint32_t)rdmap_terminate_encode(&q->term, body);
    while (q->msg_tail != q->msg_head && msg(q, q->msg_tail - 1)->start >= q->announced)
        free(msg(q, --q->msg_tail)->copy);
    if (q->msg_tail != q->msg_head && msg(q, q->msg_tail - 1)->end > q->announced)
        msg(q, q->msg_tail - 1)->end = q->announced;
    if (q->msg_tail - q->msg_head < q->msg_sent - q->msg_head)
        q->msg_sent = q->msg_tail;
    q->framed = q->announced;
    struct iwarp_msg *m = iwarp_tx_add(q, &h, len);
    m->literal = 1;
    memcpy(m->small, body, len);
}

void iwarp_tx_complete_sent(struct iwarp_qp *q)
{
    while (q->msg_sent != q->msg_tail && msg(q, q->msg_sent)->end <= q->given) {
        struct iwarp_msg *m = msg(q, q->msg_sent++);
        if (m->has_wqe && q->params->complete == IWARP_COMPLETE_SENT) {
            m->has_wqe = 0;
            if (q->base.state == RNIC_QP_RTS || q->base.state == RNIC_QP_SQD)
                rnic_complete_send(&q->base, m->wqe, RNIC_WC_SUCCESS, 0);
        }
    }
}

void iwarp_tx_acked(void *user, int64_t now_ps, uint64_t off)
{
    struct iwarp_qp *q = user;
    (void)now_ps;
    if (q->startup != NULL && off >= q->startup_len) {
        free(q->startup);
        q->startup = NULL;
    }
    while (q->msg_head != q->msg_sent && msg(q, q->msg_head)->end <= off) {
        struct iwarp_msg m = *msg(q, q->msg_head++);
        free(m.copy);
        if (m.has_wqe && (q->base.state == RNIC_QP_RTS || q->base.state == RNIC_QP_SQD))
            rnic_complete_send(&q->base, m.wqe, RNIC_WC_SUCCESS, 0);
    }
}

void iwarp_tx_free(struct iwarp_qp *q)
{
    for (; q->msg_head != q->msg_tail; q->msg_head++)
        free(msg(q, q->msg_head)->copy);
    free(q->msgs);
    free(q->reads);
    free(q->startup);
}

/* --- FPDUs --- */

/* FPDU number n of a message. */
struct fpdu { uint64_t start; uint32_t wire, ulpdu, pay_off, pay_len; struct ddp_hdr hdr; };

static struct fpdu fpdu_at(const struct iwarp_msg *m, uint64_t off)
{
    uint32_t n = (uint32_t)((off - m->start) / m->fpdu);
    struct fpdu f = { .start = m->start + (uint64_t)n * m->fpdu, .pay_off = n * m->seg, .hdr = m->hdr };
    uint32_t left = m->len - f.pay_off;
    f.pay_len = left < m->seg ? left : m->seg;
    f.ulpdu = (uint32_t)ddp_hdr_bytes(&m->hdr) + f.pay_len;
    f.wire = fpdu_bytes(f.ulpdu);
    f.hdr.last = f.pay_len == left;
    if (f.hdr.tagged)
        f.hdr.to = m->hdr.to + f.pay_off;
    else
        f.hdr.mo = f.pay_off;
    return f;
}

static uint32_t encode_head(const struct fpdu *f, uint8_t *out)
{
    out[0] = (uint8_t)(f->ulpdu >> 8);
    out[1] = (uint8_t)f->ulpdu;
    return 2 + (uint32_t)ddp_hdr_encode(&f->hdr, out + 2);
}

/* The FPDU as bytes with its real CRC. */
static void materialise(const struct iwarp_qp *q, const struct iwarp_msg *m, const struct fpdu *f, uint8_t *out)
{
    uint32_t n = encode_head(f, out);
    if (m->literal)
        memcpy(out + n, m->small + f->pay_off, f->pay_len);
    else if (m->copy != NULL)
        memcpy(out + n, m->copy + f->pay_off, f->pay_len);
    else
        for (uint32_t i = 0; i < f->pay_len; i++)
            out[n + i] = pkt_pattern_byte(m->src.seed, m->src.off + f->pay_off + i);
    n += f->pay_len;
    for (uint32_t pad = mpa_pad(f->ulpdu); pad > 0; pad--)
        out[n++] = 0;
    uint32_t crc = q->agreed.crc ? wire_crc32c(0, out, n) : 0;
    for (unsigned i = 0; i < 4; i++, crc >>= 8)
        out[n++] = (uint8_t)crc;
}

/* Chunks that a whole FPDU takes in symbolic form. */
static unsigned slots_needed(const struct iwarp_msg *m, const struct fpdu *f)
{
    uint32_t head = f->ulpdu - f->pay_len + 2;
    if (m->literal)
        return (head + f->pay_len + PKT_LITERAL_MAX - 1) / PKT_LITERAL_MAX + 1;
    return f->pay_len == 0 ? 2 : 3;
}

static void put_symbolic(const struct iwarp_qp *q, const struct iwarp_msg *m, const struct fpdu *f, struct pkt *p)
{
    uint8_t head[20 + IWARP_SMALL_MAX];
    uint32_t n = encode_head(f, head);
    bool ok = true;
    if (m->literal) {
        memcpy(head + n, m->small + f->pay_off, f->pay_len);
        n += f->pay_len;
    }
    ok &= pkt_add_literal(p, head, n);
    if (!m->literal && f->pay_len > 0)
        ok &= m->copy != NULL ? pkt_add_bytes(p, m->copy + f->pay_off, f->pay_len)
                              : pkt_add_pattern(p, f->pay_len, m->src.seed, m->src.off + f->pay_off);
    ok &= pkt_add_mpa_tail(p, mpa_pad(f->ulpdu), 2 + f->ulpdu, !q->agreed.crc);
    assert(ok);
    (void)ok;
}

/* Bytes [off, off + len) of one FPDU: what TCP sends when it cannot take it whole. */
static void put_cut(struct iwarp_qp *q, const struct iwarp_msg *m, const struct fpdu *f, uint32_t from, uint32_t len, struct pkt *p)
{
    uint8_t *b = malloc(f->wire);
    if (b == NULL)
        abort();
    materialise(q, m, f, b);
    bool ok = pkt_add_bytes(p, b + from, len);
    assert(ok);
    (void)ok;
    free(b);
    q->stats.fpdus_cut++;
}

/* Several small FPDUs as bytes: more chunks than a packet has. */
static void put_packed(const struct iwarp_qp *q, uint64_t off, uint32_t len, struct pkt *p)
{
    uint8_t *b = malloc(len);
    if (b == NULL)
        abort();
    for (uint32_t n = 0; n < len;) {
        struct iwarp_msg *m = find(q, off + n);
        struct fpdu f = fpdu_at(m, off + n);
        materialise(q, m, &f, b + n);
        n += f.wire;
    }
    bool ok = pkt_add_bytes(p, b, len);
    assert(ok);
    (void)ok;
    free(b);
}

/* How many bytes of whole FPDUs fit from off on, and how many chunks they need. */
static uint32_t whole_fpdus(const struct iwarp_qp *q, uint64_t off, uint32_t len, unsigned *slots)
{
    uint32_t n = 0;
    *slots = 0;
    while (off + n < q->announced) {
        struct iwarp_msg *m = find(q, off + n);
        struct fpdu f = fpdu_at(m, off + n);
        if (f.wire > len - n)
            break;
        n += f.wire;
        *slots += slots_needed(m, &f);
        if (!q->params->pack)
            break;
    }
    return n;
}

uint32_t iwarp_tx_fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    struct iwarp_qp *q = user;
    uint32_t n;
    unsigned slots;
    if (off < q->startup_len) {
        n = q->startup_len - off < len ? q->startup_len - (uint32_t)off : len;
        if (q->startup == NULL || !pkt_add_bytes(p, q->startup + off, n))
            return 0;
    } else {
        if (off >= q->announced)
            return 0;
        struct iwarp_msg *m = find(q, off);
        struct fpdu f = fpdu_at(m, off);
        uint32_t in = (uint32_t)(off - f.start);
        n = in == 0 ? whole_fpdus(q, off, len, &slots) : 0;
        if (n == 0) {
            n = f.wire - in < len ? f.wire - in : len;
            put_cut(q, m, &f, in, n, p);
        } else if (slots > PKT_CHUNK_MAX) {
            put_packed(q, off, n, p);
        } else {
            for (uint32_t done = 0; done < n; done += f.wire) {
                m = find(q, off + done);
                f = fpdu_at(m, off + done);
                put_symbolic(q, m, &f, p);
                q->stats.fpdus_out++;
            }
        }
    }
    if (off + n > q->given)
        q->given = off + n;
    return n;
}
