/* SPDX-License-Identifier: GPL-2.0-only */
/* Work requests and the answers to the peer's requests, into messages. */
#include "iwarp_internal.h"

static struct ddp_hdr tagged(enum rdmap_opcode op, uint32_t stag, uint64_t to)
{
    return (struct ddp_hdr){ .tagged = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = (uint8_t)op, .stag = stag, .to = to };
}

struct ddp_hdr iwarp_tx_untagged(struct iwarp_qp *q, enum rdmap_opcode op, enum iwarp_rx_class qn, uint32_t inv)
{
    return (struct ddp_hdr){ .ddp_version = 1, .rdmap_version = 1, .opcode = (uint8_t)op, .stag = inv, .qn = qn, .msn = q->tx_msn[qn]++ };
}

void iwarp_tx_ends_wqe(struct iwarp_msg *m, uint32_t wqe)
{
    m->wqe = wqe;
    m->has_wqe = 1;
}

void iwarp_tx_await(struct iwarp_qp *q, const struct iwarp_read *r)
{
    q->reads = rnic_ring_room(q->reads, &q->read_cap, sizeof *q->reads, q->read_head, q->read_tail);
    q->reads[q->read_tail++ & (q->read_cap - 1)] = *r;
    if (q->read_tail - q->read_head > q->stats.reads_peak)
        q->stats.reads_peak = q->read_tail - q->read_head;
}

static struct iwarp_msg *frame_source(struct iwarp_qp *q, const struct ddp_hdr *h, const struct rnic_span *src, uint32_t len)
{
    struct iwarp_msg *m = iwarp_stream_add(q, h, len);
    iwarp_stream_own_source(m, src);
    return m;
}

static void frame_read(struct iwarp_qp *q, uint32_t i, const struct rnic_send_wr *wr)
{
    struct ddp_hdr h = iwarp_tx_untagged(q, RDMAP_READ_REQUEST, IWARP_QN_READ, 0);
    struct rdmap_read_request rr = { wr->sge.lkey, wr->sge.va, wr->sge.len, wr->rkey, wr->remote_va };
    uint8_t body[RDMAP_READ_REQUEST_BYTES];
    rdmap_read_request_encode(&rr, body);
    (void)iwarp_stream_add_small(q, &h, body, sizeof body);
    struct iwarp_read r = { .to = wr->sge.va, .wqe = i, .stag = wr->sge.lkey, .len = wr->sge.len, .has_wqe = 1 };
    iwarp_tx_await(q, &r);
}

/* What iWARP has no message for fails locally: RFC 5040 7.1 case 1. */
static void unsupported(struct iwarp_qp *q, uint32_t i, enum rnic_wc_status status)
{
    iwarp_term_send_for(q, i, status, IWARP_LAYER_RDMAP, 0, 0, IWARP_TERM_PLAIN, NULL);
}

static bool is_atomic(enum rnic_opcode op) { return op == RNIC_OP_CMP_SWAP || op == RNIC_OP_FETCH_ADD; }

/* RFC 5040 6.1, RFC 7306 5.2: Reads and atomics share the agreed depth. */
static bool may_start(const struct iwarp_qp *q, const struct rnic_wqe *w)
{
    uint32_t reads = q->read_tail - q->read_head;
    if ((w->wr.flags & RNIC_SEND_FENCE) && reads > 0)
        return false;
    return (w->wr.op != RNIC_OP_READ && !is_atomic(w->wr.op)) || reads < q->agreed.ord || q->agreed.ord == 0;
}

/* What this connection has no message for. */
static bool has_no_message(const struct iwarp_qp *q, enum rnic_opcode op)
{
    return op == RNIC_OP_SEND_IMM || (op == RNIC_OP_WRITE_IMM && !q->params->immediate) || (is_atomic(op) && !q->params->atomics) ||
           ((op == RNIC_OP_READ || is_atomic(op)) && q->agreed.ord == 0);
}

static void frame_send(struct iwarp_qp *q, uint32_t i, const struct rnic_send_wr *wr, const struct rnic_span *src)
{
    static const uint8_t opcode[2][2] = { { RDMAP_SEND, RDMAP_SEND_SE }, { RDMAP_SEND_INV, RDMAP_SEND_SE_INV } };
    bool inv = wr->op == RNIC_OP_SEND_INV, solicited = wr->flags & RNIC_SEND_SOLICITED;
    struct ddp_hdr h = iwarp_tx_untagged(q, (enum rdmap_opcode)opcode[inv][solicited], IWARP_QN_SEND, inv ? wr->imm_or_inv : 0);
    iwarp_tx_ends_wqe(frame_source(q, &h, src, wr->sge.len), i);
}

static void frame_write(struct iwarp_qp *q, uint32_t i, const struct rnic_send_wr *wr, const struct rnic_span *src)
{
    struct ddp_hdr h = tagged(RDMAP_WRITE, wr->rkey, wr->remote_va);
    bool immediate = wr->op == RNIC_OP_WRITE_IMM;
    struct iwarp_msg *m = immediate && wr->sge.len == 0 ? NULL : frame_source(q, &h, src, wr->sge.len);
    if (immediate)
        iwarp_ext_frame_immediate(q, i, wr);
    else
        iwarp_tx_ends_wqe(m, i);
}

static bool frame_wqe(struct iwarp_qp *q)
{
    if (q->base.state != RNIC_QP_RTS || q->sq_next == q->base.sq_visible)
        return false;
    uint32_t i = q->sq_next;
    struct rnic_wqe *w = rnic_sq_wqe(&q->base, i);
    if (!may_start(q, w))
        return false;
    q->sq_next++;
    const struct rnic_send_wr *wr = &w->wr;
    bool sends_bytes = wr->op != RNIC_OP_LOCAL_INV && wr->op != RNIC_OP_READ && !is_atomic(wr->op);
    struct rnic_span src = { 0 };
    if (has_no_message(q, wr->op)) {
        unsupported(q, i, RNIC_WC_LOC_QP_OP_ERR);
        return true;
    }
    if (sends_bytes && rnic_describe_wqe(&q->base, w, &src) != RNIC_FAULT_NONE) {
        unsupported(q, i, RNIC_WC_LOC_PROT_ERR); /* the region has gone since the post */
        return true;
    }
    switch (wr->op) {
    case RNIC_OP_LOCAL_INV: rnic_local_inv(&q->base, i); break;
    case RNIC_OP_SEND:
    case RNIC_OP_SEND_INV:  frame_send(q, i, wr, &src); break;
    case RNIC_OP_READ:      frame_read(q, i, wr); break;
    case RNIC_OP_CMP_SWAP:
    case RNIC_OP_FETCH_ADD: iwarp_ext_frame_atomic(q, i, wr); break;
    default:                frame_write(q, i, wr, &src); break;
    }
    return true;
}

static void frame_response(struct iwarp_qp *q, const struct iwarp_inread *in)
{
    struct rdmap_read_request rr;
    struct rnic_span src;
    rdmap_read_request_decode(in->body, &rr);
    enum rnic_fault f = rnic_describe(&q->base, rr.src_stag, rr.src_to, rr.size, RNIC_REMOTE_READ, &src);
    if (f != RNIC_FAULT_NONE) { /* good when it came, gone since */
        struct iwarp_segment s = { .hdr = in->hdr, .bytes = in->body, .len = RDMAP_READ_REQUEST_BYTES, .ulpdu_len = DDP_UNTAGGED_BYTES + RDMAP_READ_REQUEST_BYTES };
        iwarp_term_read(q, f, &s);
        return;
    }
    struct ddp_hdr h = tagged(RDMAP_READ_RESPONSE, rr.sink_stag, rr.sink_to);
    (void)frame_source(q, &h, &src, rr.size);
}

/* The oldest request of the peer's. */
static bool answer(struct iwarp_qp *q)
{
    if (q->inread_head == q->inread_tail)
        return false;
    struct iwarp_inread in = q->inreads[q->inread_head++ & (q->inread_cap - 1)];
    if (in.hdr.opcode == RDMAP_ATOMIC_REQUEST)
        iwarp_ext_answer(q, &in);
    else
        frame_response(q, &in);
    return true;
}

bool iwarp_tx_frame_next(struct iwarp_qp *q)
{
    if (q->phase != IWARP_FULL)
        return false;
    q->response_turn = !q->response_turn;
    if (q->response_turn)
        return answer(q) || frame_wqe(q);
    return frame_wqe(q) || answer(q);
}

void iwarp_tx_complete_sent(struct iwarp_qp *q)
{
    while (q->msg_sent != q->msg_tail && iwarp_stream_msg(q, q->msg_sent)->end <= q->given) {
        struct iwarp_msg *m = iwarp_stream_msg(q, q->msg_sent++);
        if (m->has_wqe && q->params->complete == IWARP_COMPLETE_SENT) {
            m->has_wqe = 0;
            if (q->base.state == RNIC_QP_RTS || q->base.state == RNIC_QP_SQD)
                rnic_complete_send(&q->base, m->wqe, RNIC_WC_SUCCESS, 0);
        }
    }
}

