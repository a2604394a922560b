/* SPDX-License-Identifier: GPL-2.0-only */
/* RFC 7306: Immediate Data and atomic operations. Atomics are performed when their turn among the answers comes, so that Reads and
 * atomics take effect in the order they were asked for (5.4 rules 5 and 8, section 7). */
#include "iwarp_internal.h"
#include <string.h>

/* --- Immediate Data: the verbs' 32 bits are the last of the 64 that the RFC carries --- */

void iwarp_ext_frame_immediate(struct iwarp_qp *q, uint32_t wqe, const struct rnic_send_wr *wr)
{
    enum rdmap_opcode op = wr->flags & RNIC_SEND_SOLICITED ? RDMAP_IMMEDIATE_SE : RDMAP_IMMEDIATE;
    struct ddp_hdr h = iwarp_tx_untagged(q, op, IWARP_QN_SEND, 0);
    uint8_t body[IWARP_IMMEDIATE_BYTES] = { 0 };
    for (unsigned i = 0; i < 4; i++)
        body[4 + i] = (uint8_t)(wr->imm_or_inv >> (24 - 8 * i));
    iwarp_tx_ends_wqe(iwarp_stream_add_small(q, &h, body, sizeof body), wqe);
}

/* It takes a receive and is delivered with the completion; the receive's buffer is not touched. Its length is that of the Write before
 * it, as InfiniBand reports a Write with immediate. */
void iwarp_ext_immediate(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    uint32_t written = q->write_before;
    if (!iwarp_rdmap_single(q, IWARP_QN_SEND, s, IWARP_IMMEDIATE_BYTES))
        return;
    if (q->base.recv_open) { /* a Send of this MSN is not over */
        iwarp_rdmap_opcode(q, s);
        return;
    }
    if (!rnic_recv_begin(&q->base)) {
        q->base.count.out_of_buffer++;
        iwarp_term_send(q, IWARP_LAYER_DDP, 2, 2, IWARP_TERM_DDP, s);
        return;
    }
    uint8_t body[IWARP_IMMEDIATE_BYTES];
    iwarp_segment_read(s, 0, sizeof body, body);
    struct rnic_recv_info info = { .byte_len = written, .has_imm = 1, .solicited = s->hdr.opcode == RDMAP_IMMEDIATE_SE,
                                   .imm = (uint32_t)body[4] << 24 | (uint32_t)body[5] << 16 | (uint32_t)body[6] << 8 | body[7] };
    q->rx_msn[IWARP_QN_SEND]++;
    rnic_complete_recv(&q->base, RNIC_WC_SUCCESS, &info);
}

/* --- atomics, as requester --- */

void iwarp_ext_frame_atomic(struct iwarp_qp *q, uint32_t wqe, const struct rnic_send_wr *wr)
{
    bool add = wr->op == RNIC_OP_FETCH_ADD;
    struct rdmap_atomic_request r = {
        .aop = add ? RDMAP_FETCH_ADD : RDMAP_CMP_SWAP, .request_id = q->request_id++, .stag = wr->rkey, .to = wr->remote_va, .add_swap = wr->swap_add,
        .add_swap_mask = add ? 0 : UINT64_MAX, .compare = add ? 0 : wr->compare, .compare_mask = UINT64_MAX,
    };
    struct ddp_hdr h = iwarp_tx_untagged(q, RDMAP_ATOMIC_REQUEST, IWARP_QN_READ, 0);
    uint8_t body[RDMAP_ATOMIC_REQUEST_BYTES];
    rdmap_atomic_request_encode(&r, body);
    (void)iwarp_stream_add_small(q, &h, body, sizeof body);
    struct iwarp_read wait = { .to = wr->sge.va, .wqe = wqe, .stag = wr->sge.lkey, .len = 8, .has_wqe = 1, .atomic = 1, .request_id = r.request_id };
    iwarp_tx_await(q, &wait);
}

void iwarp_ext_atomic_response(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (!iwarp_rdmap_single(q, IWARP_QN_ATOMIC, s, RDMAP_ATOMIC_RESPONSE_BYTES))
        return;
    struct iwarp_read *r = q->read_head != q->read_tail ? &q->reads[q->read_head & (q->read_cap - 1)] : NULL;
    uint8_t body[RDMAP_ATOMIC_RESPONSE_BYTES], value[8];
    struct rdmap_atomic_response a;
    iwarp_segment_read(s, 0, sizeof body, body);
    rdmap_atomic_response_decode(body, &a);
    if (r == NULL || !r->atomic) {
        iwarp_rdmap_opcode(q, s); /* no atomic is the oldest that waits */
        return;
    }
    if (a.request_id != r->request_id) {
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 0xff, IWARP_TERM_DDP, s);
        return;
    }
    for (unsigned i = 0; i < 8; i++)
        value[i] = (uint8_t)(a.original >> 8 * i);
    enum rnic_fault f = rnic_place_bytes(&q->base, r->stag, r->to, sizeof value, RNIC_LOCAL_WRITE, value);
    struct iwarp_read done = *r;
    if (f != RNIC_FAULT_NONE) { /* our own buffer has gone */
        iwarp_term_send_for(q, done.wqe, RNIC_WC_LOC_PROT_ERR, IWARP_LAYER_RDMAP, 0, 0, IWARP_TERM_PLAIN, NULL);
        return;
    }
    q->rx_msn[IWARP_QN_ATOMIC]++;
    q->read_head++;
    rnic_complete_send(&q->base, done.wqe, RNIC_WC_SUCCESS, sizeof value);
}

/* --- atomics, as responder --- */

static enum rnic_opcode operation(const struct rdmap_atomic_request *r)
{
    return r->aop == RDMAP_FETCH_ADD ? RNIC_OP_FETCH_ADD : RNIC_OP_CMP_SWAP;
}

void iwarp_ext_atomic_request(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (!iwarp_rdmap_single(q, IWARP_QN_READ, s, RDMAP_ATOMIC_REQUEST_BYTES))
        return;
    if (q->inread_tail - q->inread_head >= q->agreed.ird) {
        iwarp_term_send(q, IWARP_LAYER_DDP, 2, 2, IWARP_TERM_DDP, s);
        return;
    }
    struct iwarp_inread in = { .hdr = s->hdr };
    struct rdmap_atomic_request r;
    iwarp_segment_read(s, 0, sizeof in.body, in.body);
    rdmap_atomic_request_decode(in.body, &r);
    if (r.aop != RDMAP_FETCH_ADD && r.aop != RDMAP_CMP_SWAP) {
        iwarp_rdmap_opcode(q, s); /* RFC 7306 names no code for it: ours */
        return;
    }
    enum rnic_fault f = rnic_atomic_check(&q->base, r.stag, r.to);
    if (f != RNIC_FAULT_NONE) {
        iwarp_term_protection(q, f, s);
        return;
    }
    q->rx_msn[IWARP_QN_READ]++;
    q->inreads = rnic_ring_room(q->inreads, &q->inread_cap, sizeof *q->inreads, q->inread_head, q->inread_tail);
    q->inreads[q->inread_tail++ & (q->inread_cap - 1)] = in;
}

void iwarp_ext_answer(struct iwarp_qp *q, const struct iwarp_inread *in)
{
    struct rdmap_atomic_request r;
    struct rdmap_atomic_response a;
    uint8_t body[RDMAP_ATOMIC_RESPONSE_BYTES];
    rdmap_atomic_request_decode(in->body, &r);
    struct rnic_atomic_args args = { .compare = r.compare, .compare_mask = r.compare_mask, .swap_add = r.add_swap, .mask = r.add_swap_mask };
    enum rnic_fault f = rnic_atomic_masked(&q->base, r.stag, r.to, operation(&r), &args, &a.original);
    if (f != RNIC_FAULT_NONE) { /* good when it came, gone since */
        struct iwarp_segment s = { .hdr = in->hdr, .bytes = in->body, .len = RDMAP_ATOMIC_REQUEST_BYTES,
                                   .ulpdu_len = DDP_UNTAGGED_BYTES + RDMAP_ATOMIC_REQUEST_BYTES };
        iwarp_term_protection(q, f, &s);
        return;
    }
    a.request_id = r.request_id;
    rdmap_atomic_response_encode(&a, body);
    struct ddp_hdr h = iwarp_tx_untagged(q, RDMAP_ATOMIC_RESPONSE, IWARP_QN_ATOMIC, 0);
    (void)iwarp_stream_add_small(q, &h, body, sizeof body);
}
