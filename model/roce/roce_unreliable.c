/* SPDX-License-Identifier: GPL-2.0-only */
/* Unreliable connection and datagram (IBTA vol. 1 9.8): nothing is acknowledged, so a request is done when it has left, and what arrives wrong,
 * unannounced or without a receive is dropped. A UC message with a hole is lost as a whole; the receive that it had taken serves the
 * next (9.8.2.2, as Linux rxe does it). */
#include "roce_internal.h"

#include "../wire/bytes.h"
#include "../wire/frame.h"

void roce_unreliable_sent(struct roce_qp *q, const struct rnic_wqe *w, uint32_t index)
{
    struct roce_req *r = &q->req;
    bool last = r->wqe_nxt != index;
    r->una = r->acked = r->nxt;
    if (!last)
        return;
    r->wqe_una = r->wqe_nxt;
    if (!w->done)
        rnic_complete_send(&q->base, index, RNIC_WC_SUCCESS, 0);
}

int roce_check_send(const struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    const struct roce_params *p = ((const struct roce_qp *)(const void *)qp)->params;
    bool send = wr->op == RNIC_OP_SEND || wr->op == RNIC_OP_SEND_IMM, write = wr->op == RNIC_OP_WRITE || wr->op == RNIC_OP_WRITE_IMM;
    switch (p->service) {
    case ROCE_SERVICE_UC: return send || write || wr->op == RNIC_OP_LOCAL_INV ? SIM_OK : SIM_ERR_PARAM;
    case ROCE_SERVICE_UD: return send && wr->sge.len <= p->mtu_bytes ? SIM_OK : SIM_ERR_PARAM;
    default:              return SIM_OK;
    }
}

/* --- UC --- */

/* What there is of the message under way is of no use. */
static void abandon(struct roce_qp *q)
{
    if (q->resp.op != ROCE_RESP_IDLE)
        q->base.count.dropped_messages++;
    q->resp.op = ROCE_RESP_IDLE;
}

static void uc_rx(struct roce_qp *q, const struct pkt *p, unsigned flags)
{
    struct roce_resp *r = &q->resp;
    uint64_t n = roce_number(r->expected, r->psn0, p->roce.psn);
    bool gap = n != r->expected, first = flags & ROCE_OP_FIRST;
    uint8_t op = flags & ROCE_OP_SEND ? ROCE_RESP_SEND : ROCE_RESP_WRITE;
    r->expected = n + 1;
    q->base.count.out_of_sequence += gap;
    if (first || gap || r->op != op)
        abandon(q);
    if (!first && r->op != op)
        return; /* the rest of a message that is lost already */
    unsigned bad = roce_message_fits(q, flags, p->payload_len) ? 0 : ROCE_NAK_INVALID;
    if (!bad && (flags & (ROCE_OP_SEND | ROCE_OP_IMM)) && !q->base.recv_open && !rnic_recv_begin(&q->base)) {
        q->base.count.out_of_buffer++;
        bad = ROCE_AETH_RNR;
    }
    if (!bad && first)
        bad = roce_message_begin(q, p, flags);
    if (!bad)
        bad = op == ROCE_RESP_SEND ? roce_message_place_send(q, p) : roce_message_place_write(q, p, flags);
    r->op = bad || !(flags & ROCE_OP_LAST) ? op : ROCE_RESP_IDLE;
    if (bad)
        abandon(q);
    else if (flags & ROCE_OP_LAST)
        roce_message_finish(q, p, flags);
}

/* --- UD --- */

/* The 40 bytes before a datagram's payload: over IPv4 the second half is the IP header (annex A17.4.5), the first is not defined. */
static void place_ip_header(struct roce_qp *q, const struct pkt *p)
{
    uint8_t b[RNIC_GRH_BYTES] = { 0 }, *ip = b + RNIC_GRH_BYTES - FRAME_IPV4_BYTES;
    ip[0] = 0x45;
    ip[1] = (uint8_t)(p->dscp << 2 | (p->ecn & 3));
    wire_put16(ip + 2, pkt_overhead_bytes(p) + p->payload_len);
    wire_put16(ip + 4, p->ip_id);
    ip[6] = 0x40;
    ip[8] = p->ttl;
    ip[9] = FRAME_PROTO_UDP;
    wire_put32(ip + 12, p->src);
    wire_put32(ip + 16, p->dst);
    wire_put16(ip + 10, (uint16_t)~frame_fold(frame_sum(0, ip, FRAME_IPV4_BYTES)));
    (void)rnic_recv_place_bytes(&q->base, 0, sizeof b, b);
}

static void ud_rx(struct roce_qp *q, const struct pkt *p, unsigned flags)
{
    if (p->roce.x.deth.qkey != q->qkey) { /* 9.8.3.1: dropped silently */
        q->base.count.qkey_viol++;
        return;
    }
    if (!q->base.recv_open && !rnic_recv_begin(&q->base)) {
        q->base.count.out_of_buffer++;
        return;
    }
    if (p->payload_len > q->mtu || rnic_recv_place(&q->base, RNIC_GRH_BYTES, p->payload_len, p, 0) != RNIC_FAULT_NONE ||
        q->base.cur_recv.sge.len < RNIC_GRH_BYTES) {
        q->base.count.dropped_messages++;
        return;
    }
    place_ip_header(q, p);
    struct rnic_recv_info info = { .byte_len = RNIC_GRH_BYTES + p->payload_len, .solicited = p->roce.se, .dma_bytes = p->payload_len,
        .src_addr = p->src, .src_qpn = p->roce.x.deth.sqpn };
    if (flags & ROCE_OP_IMM) {
        info.has_imm = 1;
        info.imm = p->roce.imm_or_rkey;
    }
    rnic_complete_recv(&q->base, RNIC_WC_SUCCESS, &info);
}

void roce_unreliable_rx(struct roce_qp *q, const struct pkt *p)
{
    unsigned op = p->roce.opcode, flags = wire_roce_op[op].flags;
    if (q->base.state != RNIC_QP_RTS && q->base.state != RNIC_QP_RTR && q->base.state != RNIC_QP_SQD)
        return;
    if (q->service == ROCE_SERVICE_UD ? flags & ROCE_OP_DETH : op >= ROCE_UC && op <= ROCE_UC + ROCE_WRITE_ONLY_IMM) {
        if (q->service == ROCE_SERVICE_UD)
            ud_rx(q, p, flags);
        else
            uc_rx(q, p, flags);
    }
}
