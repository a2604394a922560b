/* SPDX-License-Identifier: GPL-2.0-only */
/* Terminate messages: RFC 5040 4.8 and 7, RFC 5041 7.2, RFC 5044 8, RFC 6581 8. */
#include "iwarp_internal.h"
#include <string.h>

void iwarp_term_note(struct iwarp_qp *q, unsigned layer, unsigned etype, unsigned code)
{
    if (q->local_error < 0)
        q->local_error = (int32_t)(layer << 16 | etype << 8 | code);
}

void iwarp_term_send_for(struct iwarp_qp *q, uint32_t wqe, enum rnic_wc_status status, unsigned layer, unsigned etype, unsigned code,
                         enum iwarp_term_parts parts, const struct iwarp_segment *s)
{
    if (q->phase == IWARP_TERMINATING || q->phase == IWARP_CLOSED)
        return; /* the first error counts (7.1 rule 4) */
    q->term = (struct rdmap_terminate){ .layer = (uint8_t)layer, .etype = (uint8_t)etype, .code = (uint8_t)code };
    if (parts != IWARP_TERM_PLAIN) {
        q->term.m = q->term.d = 1;
        q->term.ddp_seg_len = (uint16_t)s->ulpdu_len;
        q->term.ddp_hdr_len = (uint8_t)ddp_hdr_encode(&s->hdr, q->term.ddp_hdr);
        if (parts == IWARP_TERM_DDP_RDMAP) {
            q->term.r = 1;
            iwarp_segment_read(s, 0, s->len < RDMAP_READ_REQUEST_BYTES ? s->len : RDMAP_READ_REQUEST_BYTES, q->term.rdmap_hdr);
        }
    }
    iwarp_term_note(q, layer, etype, code);
    q->term_sent = (int32_t)(layer << 16 | etype << 8 | code);
    q->base.count.naks_sent++;
    q->phase = IWARP_TERMINATING;
    q->close_pending = 1; /* after the Terminate the stream ends */
    iwarp_stream_terminate(q);
    rnic_fail(&q->base, wqe, status);
}

void iwarp_term_send(struct iwarp_qp *q, unsigned layer, unsigned etype, unsigned code, enum iwarp_term_parts parts, const struct iwarp_segment *s)
{
    iwarp_term_send_for(q, q->base.sq_tail, RNIC_WC_WR_FLUSH_ERR, layer, etype, code, parts, s); /* no WQE of ours is to blame */
}

void iwarp_term_tagged(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s)
{
    static const uint8_t code[] = { [RNIC_FAULT_KEY] = 0, [RNIC_FAULT_BOUNDS] = 1, [RNIC_FAULT_PD] = 2, [RNIC_FAULT_WRAP] = 3 };
    if (f == RNIC_FAULT_ACCESS)
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 1, 2, IWARP_TERM_DDP, s);
    else
        iwarp_term_send(q, IWARP_LAYER_DDP, 1, code[f], IWARP_TERM_DDP, s);
}

void iwarp_term_read(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s)
{
    static const uint8_t code[] = { [RNIC_FAULT_KEY] = 0, [RNIC_FAULT_BOUNDS] = 1, [RNIC_FAULT_ACCESS] = 2, [RNIC_FAULT_PD] = 3, [RNIC_FAULT_WRAP] = 4 };
    iwarp_term_send(q, IWARP_LAYER_RDMAP, 1, code[f], IWARP_TERM_DDP_RDMAP, s);
}

void iwarp_term_protection(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s)
{
    static const uint8_t code[] = { [RNIC_FAULT_KEY] = 0, [RNIC_FAULT_BOUNDS] = 1, [RNIC_FAULT_ACCESS] = 2, [RNIC_FAULT_PD] = 3, [RNIC_FAULT_WRAP] = 4,
                                    [RNIC_FAULT_SHARED] = 9 };
    if (f == RNIC_FAULT_ALIGN)
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 2, 7, IWARP_TERM_DDP, s); /* RFC 7306 8.2 */
    else
        iwarp_term_send(q, IWARP_LAYER_RDMAP, 1, code[f], IWARP_TERM_DDP, s);
}

/* The Read or atomic that a Terminate names, by the MSN of the Read Request that it quotes; NULL if it names none. */
static const struct iwarp_read *blamed(const struct iwarp_qp *q, const struct rdmap_terminate *t)
{
    struct ddp_hdr h;
    if (!t->d || !ddp_hdr_decode(t->ddp_hdr, t->ddp_hdr_len, &h) || h.tagged || (h.opcode != RDMAP_READ_REQUEST && h.opcode != RDMAP_ATOMIC_REQUEST))
        return NULL;
    uint32_t back = q->tx_msn[IWARP_QN_READ] - h.msn; /* 1: the latest */
    if (back == 0 || back > q->read_tail - q->read_head)
        return NULL;
    return &q->reads[(q->read_tail - back) & (q->read_cap - 1)];
}

void iwarp_term_received(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    uint8_t body[IWARP_SMALL_MAX];
    struct rdmap_terminate t;
    uint32_t len = s->len < sizeof body ? s->len : sizeof body;
    uint32_t wqe = q->base.sq_tail;
    enum rnic_wc_status status = RNIC_WC_WR_FLUSH_ERR;
    iwarp_segment_read(s, 0, len, body);
    q->term_received = 0;
    if (rdmap_terminate_decode(body, len, &t)) {
        q->term_received = t.layer << 16 | t.etype << 8 | t.code;
        bool protection = (t.layer == IWARP_LAYER_RDMAP || t.layer == IWARP_LAYER_DDP) && t.etype == 1;
        if (protection)
            q->base.count.remote_access_err++;
        const struct iwarp_read *r = blamed(q, &t);
        if (r != NULL && r->has_wqe) {
            wqe = r->wqe;
            status = protection ? RNIC_WC_REM_ACCESS_ERR : RNIC_WC_REM_OP_ERR;
        }
    }
    q->phase = IWARP_CLOSED;
    q->close_pending = 1;
    rnic_fail(&q->base, wqe, status);
}
