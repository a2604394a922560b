/* SPDX-License-Identifier: GPL-2.0-only */
/* DDP segments and RDMAP messages in stream order: checks, placement unless that is done already, completions. */
#include "iwarp_internal.h"

void iwarp_rdmap_short(struct iwarp_qp *q)
{
    /* No code of RFC 5040, 5041 or 5044 fits a ULPDU shorter than its header. Ours: RDMAP, remote operation, unspecified. */
    iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 0xff, IWARP_TERM_PLAIN, NULL);
}

void iwarp_rdmap_opcode(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 6, IWARP_TERM_DDP, s);
}

static void bad_untagged(struct iwarp_qp *q, unsigned code, const struct iwarp_segment *s)
{
    iwarp_term_send(q, IWARP_LAYER_DDP, 2, code, IWARP_TERM_DDP, s);
}

bool iwarp_rdmap_single(struct iwarp_qp *q, enum iwarp_rx_class qn, const struct iwarp_segment *s, uint32_t len)
{
    if (s->hdr.msn != q->rx_msn[qn])
        bad_untagged(q, 3, s);
    else if (s->hdr.mo != 0)
        bad_untagged(q, 4, s);
    else if (s->len > len)
        bad_untagged(q, 5, s);
    else if (s->len < len || !s->hdr.last)
        iwarp_rdmap_short(q);
    else
        return true;
    return false;
}

/* --- tagged --- */

static enum rnic_fault place(struct iwarp_qp *q, const struct iwarp_segment *s, unsigned need)
{
    if (s->placed) /* the right may have gone since */
        return rnic_check(&q->base, s->hdr.stag, s->hdr.to, s->len, need);
    return s->p != NULL ? rnic_place(&q->base, s->hdr.stag, s->hdr.to, s->len, need, s->p, s->from)
                        : rnic_place_bytes(&q->base, s->hdr.stag, s->hdr.to, s->len, need, s->bytes);
}

/* Bytes still on their way to memory when the message completes. */
static uint32_t dma_bytes(const struct iwarp_segment *s) { return s->placed ? 0 : s->len; }

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
        q->write_before = q->write_bytes;
        rnic_write_done(&q->base, q->write_stag, q->write_to, q->write_bytes, dma_bytes(s));
    }
}

static void read_response(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    struct iwarp_read *r = q->read_head != q->read_tail ? &q->reads[q->read_head & (q->read_cap - 1)] : NULL;
    if (r == NULL || r->atomic) {
        iwarp_rdmap_opcode(q, s); /* no Read is the oldest that waits */
        return;
    }
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
            rnic_complete_send(&q->base, done.wqe, RNIC_WC_SUCCESS, dma_bytes(s));
    }
}

/* --- untagged --- */

static void send_done(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    bool inv = s->hdr.opcode == RDMAP_SEND_INV || s->hdr.opcode == RDMAP_SEND_SE_INV;
    struct rnic_recv_info info = { .byte_len = q->recv_bytes, .dma_bytes = dma_bytes(s),
        .solicited = s->hdr.opcode == RDMAP_SEND_SE || s->hdr.opcode == RDMAP_SEND_SE_INV };
    if (inv) {
        enum rnic_fault f = rnic_remote_inv(&q->base, s->hdr.stag);
        if (f != RNIC_FAULT_NONE) { /* RFC 5040 5.3: one code, whatever keeps it from being invalidated; so siw */
            iwarp_term_protection(q, RNIC_FAULT_SHARED, s);
            return;
        }
        info.has_inv = 1;
        info.invalidated_key = s->hdr.stag;
    }
    q->rx_msn[IWARP_QN_SEND]++;
    q->recv_bytes = 0;
    rnic_complete_recv(&q->base, RNIC_WC_SUCCESS, &info);
}

static enum rnic_fault recv_place(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (s->placed)
        return rnic_recv_fits(&q->base, 0, s->hdr.mo, s->len) ? RNIC_FAULT_NONE : RNIC_FAULT_KEY; /* it fitted: its region has gone */
    return s->p != NULL ? rnic_recv_place(&q->base, s->hdr.mo, s->len, s->p, s->from) : rnic_recv_place_bytes(&q->base, s->hdr.mo, s->len, s->bytes);
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
        iwarp_rdmap_opcode(q, s);
        return;
    }
    enum rnic_fault f = recv_place(q, s);
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
    if (!iwarp_rdmap_single(q, IWARP_QN_READ, s, RDMAP_READ_REQUEST_BYTES))
        return;
    if (q->inread_tail - q->inread_head >= q->agreed.ird) {
        bad_untagged(q, 2, s); /* more than the IRD that was agreed on */
        return;
    }
    struct iwarp_inread in = { .hdr = s->hdr };
    struct rdmap_read_request rr;
    iwarp_segment_read(s, 0, RDMAP_READ_REQUEST_BYTES, in.body);
    rdmap_read_request_decode(in.body, &rr);
    enum rnic_fault f = rnic_check(&q->base, rr.src_stag, rr.src_to, rr.size, RNIC_REMOTE_READ);
    if (f != RNIC_FAULT_NONE) {
        iwarp_term_read(q, f, s);
        return;
    }
    q->rx_msn[IWARP_QN_READ]++;
    q->inreads = rnic_ring_room(q->inreads, &q->inread_cap, sizeof *q->inreads, q->inread_head, q->inread_tail);
    q->inreads[q->inread_tail++ & (q->inread_cap - 1)] = in;
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
        iwarp_rdmap_opcode(q, s);
}

/* What may come in each queue, in the order of opcodes; what a connection does not support is not expected. */
static const struct { uint8_t opcode, qn; void (*take)(struct iwarp_qp *q, const struct iwarp_segment *s); } untagged_rows[] = {
    { RDMAP_READ_REQUEST, IWARP_QN_READ, read_request }, { RDMAP_SEND, IWARP_QN_SEND, send_segment },
    { RDMAP_SEND_INV, IWARP_QN_SEND, send_segment }, { RDMAP_SEND_SE, IWARP_QN_SEND, send_segment },
    { RDMAP_SEND_SE_INV, IWARP_QN_SEND, send_segment }, { RDMAP_TERMINATE, IWARP_QN_TERM, iwarp_term_received },
    { RDMAP_IMMEDIATE, IWARP_QN_SEND, iwarp_ext_immediate }, { RDMAP_IMMEDIATE_SE, IWARP_QN_SEND, iwarp_ext_immediate },
    { RDMAP_ATOMIC_REQUEST, IWARP_QN_READ, iwarp_ext_atomic_request }, { RDMAP_ATOMIC_RESPONSE, IWARP_QN_ATOMIC, iwarp_ext_atomic_response },
};

static bool supported(const struct iwarp_qp *q, unsigned opcode)
{
    if (opcode == RDMAP_IMMEDIATE || opcode == RDMAP_IMMEDIATE_SE)
        return q->params->immediate;
    return (opcode != RDMAP_ATOMIC_REQUEST && opcode != RDMAP_ATOMIC_RESPONSE) || q->params->atomics;
}

static void untagged_segment(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    if (s->hdr.ddp_version != 1) {
        bad_untagged(q, 6, s);
        return;
    }
    if (s->hdr.qn >= (q->params->atomics ? IWARP_QUEUES : IWARP_QN_ATOMIC)) {
        bad_untagged(q, 1, s);
        return;
    }
    if (s->hdr.rdmap_version != 1) {
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 5, IWARP_TERM_DDP, s);
        return;
    }
    for (size_t i = 0; i < sizeof untagged_rows / sizeof untagged_rows[0]; i++)
        if (untagged_rows[i].opcode == s->hdr.opcode && untagged_rows[i].qn == s->hdr.qn && supported(q, s->hdr.opcode)) {
            untagged_rows[i].take(q, s);
            return;
        }
    iwarp_rdmap_opcode(q, s);
}

void iwarp_rdmap_segment(struct iwarp_qp *q, struct iwarp_segment *s)
{
    if (q->phase == IWARP_WAIT_FIRST && iwarp_start_rtr(q, s))
        return;
    if (s->hdr.tagged) {
        tagged_segment(q, s);
    } else {
        untagged_segment(q, s);
        q->write_before = 0;
    }
}
