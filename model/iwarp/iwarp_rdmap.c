/* SPDX-License-Identifier: GPL-2.0-only */
/* DDP segments and RDMAP messages as they arrive, in stream order: checks, placement, completions. */
#include "iwarp_internal.h"

void iwarp_rdmap_short(struct iwarp_qp *q)
{
    /* No code of RFC 5040, 5041 or 5044 fits a ULPDU shorter than its header. Ours: RDMAP, remote operation, unspecified. */
    iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 0xff, IWARP_TERM_PLAIN, NULL);
}

static void bad_opcode(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 6, IWARP_TERM_DDP, s);
}

static void bad_untagged(struct iwarp_qp *q, unsigned code, const struct iwarp_segment *s)
{
    iwarp_term_send(q, IWARP_LAYER_DDP, 2, code, IWARP_TERM_DDP, s);
}

static enum rnic_fault place(struct iwarp_qp *q, const struct iwarp_segment *s, unsigned need)
{
    return s->p != NULL ? rnic_place(&q->base, s->hdr.stag, s->hdr.to, s->len, need, s->p, s->from)
                        : rnic_place_bytes(&q->base, s->hdr.stag, s->hdr.to, s->len, need, s->bytes);
}

/* --- tagged --- */

static void write_segment(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    enum rnic_fault f = place(q, s, RNIC_REMOTE_WRITE);
    if (f != RNIC_FAULT_NONE) {
        iwarp_term_tagged(q, f, s);
        return;
    }
    if (!q->write_open) {
        q->write_open = 1;
        q->write_stag = s->hdr.stag;
        q->write_to = s->hdr.to;
        q->write_bytes = 0;
    }
    q->write_bytes += s->len;
    if (s->hdr.last) {
        q->write_open = 0;
        rnic_write_done(&q->base, q->write_stag, q->write_to, q->write_bytes, s->len);
    }
}

static void read_response(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (q->read_head == q->read_tail) {
        bad_opcode(q, s); /* nothing was asked for */
        return;
    }
    struct iwarp_read *r = &q->reads[q->read_head & (q->read_cap - 1)];
    enum rnic_fault f = RNIC_FAULT_NONE;
    if (s->len > 0 && s->hdr.stag != r->stag)
        f = RNIC_FAULT_KEY;
    else if (s->len > r->len - r->got || (s->len > 0 && s->hdr.to != r->to + r->got) || (s->hdr.last != 0) != (s->len == r->len - r->got))
        f = RNIC_FAULT_BOUNDS;
    else
        f = place(q, s, RNIC_REMOTE_WRITE); /* the sink of a Read needs remote write access: RFC 5040 7.2, 5041 7.1 */
    if (f != RNIC_FAULT_NONE) {
        uint32_t wqe = r->has_wqe ? r->wqe : q->base.sq_tail;
        static const uint8_t code[] = { [RNIC_FAULT_KEY] = 0, [RNIC_FAULT_BOUNDS] = 1, [RNIC_FAULT_PD] = 2, [RNIC_FAULT_WRAP] = 3, [RNIC_FAULT_ACCESS] = 2 };
        bool access = f == RNIC_FAULT_ACCESS;
        iwarp_term_send_for(q, wqe, RNIC_WC_LOC_ACCESS_ERR, access ? IWARP_LAYER_RDMAP : IWARP_LAYER_DDP, 1, code[f], IWARP_TERM_DDP, s);
        return;
    }
    r->got += s->len;
    if (s->hdr.last) {
        struct iwarp_read done = *r;
        q->read_head++;
        if (done.has_wqe)
            rnic_complete_send(&q->base, done.wqe, RNIC_WC_SUCCESS, s->len);
    }
}

/* --- untagged --- */

static bool is_send(unsigned opcode) { return opcode >= RDMAP_SEND && opcode <= RDMAP_SEND_SE_INV; }

static void send_done(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    bool inv = s->hdr.opcode == RDMAP_SEND_INV || s->hdr.opcode == RDMAP_SEND_SE_INV;
    struct rnic_recv_info info = { .byte_len = q->recv_bytes, .dma_bytes = s->len,
        .solicited = s->hdr.opcode == RDMAP_SEND_SE || s->hdr.opcode == RDMAP_SEND_SE_INV };
    if (inv) {
        enum rnic_fault f = rnic_remote_inv(&q->base, s->hdr.stag);
        if (f != RNIC_FAULT_NONE) {
            iwarp_term_send(q, IWARP_LAYER_RDMAP, 1, f == RNIC_FAULT_PD ? 3 : 0, IWARP_TERM_DDP, s);
            return;
        }
        info.has_inv = 1;
        info.invalidated_key = s->hdr.stag;
    }
    q->rx_msn[IWARP_QN_SEND]++;
    q->recv_bytes = 0;
    rnic_complete_recv(&q->base, RNIC_WC_SUCCESS, &info);
}

static void send_segment(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (s->hdr.msn != q->rx_msn[IWARP_QN_SEND]) {
        bad_untagged(q, 3, s);
        return;
    }
    if (s->hdr.mo != q->recv_bytes) {
        bad_untagged(q, 4, s);
        return;
    }
    if (!q->base.recv_open) {
        if (!rnic_recv_begin(&q->base)) {
            q->base.count.out_of_buffer++;
            bad_untagged(q, 2, s);
            return;
        }
        q->recv_opcode = s->hdr.opcode;
    } else if (q->recv_opcode != s->hdr.opcode) {
        bad_opcode(q, s);
        return;
    }
    enum rnic_fault f = s->p != NULL ? rnic_recv_place(&q->base, s->hdr.mo, s->len, s->p, s->from)
                                     : rnic_recv_place_bytes(&q->base, s->hdr.mo, s->len, s->bytes);
    if (f == RNIC_FAULT_BOUNDS) {
        struct rnic_recv_info info = { .byte_len = q->recv_bytes };
        rnic_complete_recv(&q->base, RNIC_WC_LOC_LEN_ERR, &info);
        bad_untagged(q, 5, s);
        return;
    }
    if (f != RNIC_FAULT_NONE) { /* the receive's own region has gone */
        struct rnic_recv_info info = { .byte_len = q->recv_bytes };
        rnic_complete_recv(&q->base, RNIC_WC_LOC_PROT_ERR, &info);
        iwarp_term_send(q, IWARP_LAYER_DDP, 0, 0, IWARP_TERM_DDP, s);
        return;
    }
    q->recv_bytes += s->len;
    if (s->hdr.last)
        send_done(q, s);
}

static void read_request(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (s->hdr.msn != q->rx_msn[IWARP_QN_READ])
        bad_untagged(q, 3, s);
    else if (s->hdr.mo != 0)
        bad_untagged(q, 4, s);
    else if (s->len > RDMAP_READ_REQUEST_BYTES)
        bad_untagged(q, 5, s);
    else if (s->len < RDMAP_READ_REQUEST_BYTES || !s->hdr.last)
        iwarp_rdmap_short(q);
    else if (q->inread_tail - q->inread_head >= q->agreed.ird)
        bad_untagged(q, 2, s); /* more than the IRD that was agreed on */
    else {
        uint8_t body[RDMAP_READ_REQUEST_BYTES];
        struct iwarp_inread in = { .msn = s->hdr.msn };
        iwarp_segment_read(s, 0, sizeof body, body);
        rdmap_read_request_decode(body, &in.rr);
        enum rnic_fault f = rnic_check(&q->base, in.rr.src_stag, in.rr.src_to, in.rr.size, RNIC_REMOTE_READ);
        if (f != RNIC_FAULT_NONE) {
            iwarp_term_read(q, f, s);
            return;
        }
        q->rx_msn[IWARP_QN_READ]++;
        q->inreads = rnic_ring_room(q->inreads, &q->inread_cap, sizeof *q->inreads, q->inread_head, q->inread_tail);
        q->inreads[q->inread_tail++ & (q->inread_cap - 1)] = in;
    }
}

static void tagged_segment(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (s->hdr.ddp_version != 1)
        iwarp_term_send(q, IWARP_LAYER_DDP, 1, 4, IWARP_TERM_DDP, s);
    else if (s->hdr.rdmap_version != 1)
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 5, IWARP_TERM_DDP, s);
    else if (s->hdr.opcode == RDMAP_WRITE)
        write_segment(q, s);
    else if (s->hdr.opcode == RDMAP_READ_RESPONSE)
        read_response(q, s);
    else
        bad_opcode(q, s);
}

static void untagged_segment(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (s->hdr.ddp_version != 1)
        bad_untagged(q, 6, s);
    else if (s->hdr.qn >= IWARP_QUEUES)
        bad_untagged(q, 1, s);
    else if (s->hdr.rdmap_version != 1)
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 5, IWARP_TERM_DDP, s);
    else if (s->hdr.qn == IWARP_QN_SEND && is_send(s->hdr.opcode))
        send_segment(q, s);
    else if (s->hdr.qn == IWARP_QN_READ && s->hdr.opcode == RDMAP_READ_REQUEST)
        read_request(q, s);
    else if (s->hdr.qn == IWARP_QN_TERM && s->hdr.opcode == RDMAP_TERMINATE)
        iwarp_term_received(q, s);
    else
        bad_opcode(q, s);
}

void iwarp_rdmap_segment(struct iwarp_qp *q, struct iwarp_segment *s)
{
    if (q->phase == IWARP_WAIT_FIRST) {
        bool taken = iwarp_start_rtr(q, s);
        if (taken)
            return;
    }
    if (s->hdr.tagged)
        tagged_segment(q, s);
    else
        untagged_segment(q, s);
}
