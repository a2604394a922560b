/* SPDX-License-Identifier: GPL-2.0-only */
/* SEND and WRITE packets as messages: what begins one, where its bytes go, what its end tells. Used in order by RC and UC. */
#include "roce_internal.h"

/* Is this packet's length right for its place in its message? */
bool roce_message_fits(const struct roce_qp *q, unsigned flags, uint32_t len)
{
    if (!(flags & ROCE_OP_LAST))
        return len == q->mtu;
    return len <= q->mtu && (len > 0 || (flags & ROCE_OP_FIRST));
}

unsigned roce_message_begin(struct roce_qp *q, const struct pkt *p, unsigned flags)
{
    struct roce_resp *r = &q->resp;
    const struct pkt_roce *h = &p->roce;
    r->message_first = r->expected;
    r->total = 0;
    if (flags & ROCE_OP_SEND)
        return 0;
    uint32_t len = h->x.reth.len;
    if ((flags & ROCE_OP_LAST) ? len != p->payload_len : len <= q->mtu || len > UINT32_C(1) << 31)
        return ROCE_NAK_INVALID;
    if (rnic_check(&q->base, h->x.reth.rkey, h->x.reth.va, len, RNIC_REMOTE_WRITE) != RNIC_FAULT_NONE)
        return ROCE_NAK_ACCESS;
    r->va = r->start_va = h->x.reth.va;
    r->rkey = h->x.reth.rkey;
    r->left = r->total = len;
    return 0;
}

unsigned roce_message_place_send(struct roce_qp *q, const struct pkt *p)
{
    struct roce_resp *r = &q->resp;
    enum rnic_fault f = rnic_recv_place(&q->base, r->total, p->payload_len, p, 0);
    if (f == RNIC_FAULT_NONE) {
        r->total += p->payload_len;
        return 0;
    }
    bool too_long = f == RNIC_FAULT_BOUNDS && (uint64_t)r->total + p->payload_len > q->base.cur_recv.sge.len;
    return too_long ? ROCE_NAK_INVALID : ROCE_NAK_OPERATION;
}

unsigned roce_message_place_write(struct roce_qp *q, const struct pkt *p, unsigned flags)
{
    struct roce_resp *r = &q->resp;
    uint32_t len = p->payload_len;
    if ((flags & ROCE_OP_LAST) ? len != r->left : len >= r->left)
        return ROCE_NAK_INVALID;
    if (!r->placed && rnic_place(&q->base, r->rkey, r->va, len, RNIC_REMOTE_WRITE, p, 0) != RNIC_FAULT_NONE)
        return ROCE_NAK_ACCESS;
    r->va += len;
    r->left -= len;
    return 0;
}

/* A message is complete; the responder's own state is settled before the application hears of it. */
void roce_message_finish(struct roce_qp *q, const struct pkt *p, unsigned flags)
{
    struct roce_resp *r = &q->resp;
    struct rnic_recv_info info = { .byte_len = r->total, .solicited = p->roce.se, .dma_bytes = p->payload_len };
    if (flags & ROCE_OP_IMM) {
        info.has_imm = 1;
        info.imm = p->roce.imm_or_rkey;
    }
    if (flags & ROCE_OP_IETH) {
        info.has_inv = 1;
        info.invalidated_key = p->roce.imm_or_rkey;
    }
    uint64_t va = r->start_va;
    uint32_t rkey = r->rkey, total = r->total;
    if (flags & ROCE_OP_WRITE)
        rnic_write_done(&q->base, rkey, va, total, p->payload_len);
    if (q->base.recv_open)
        rnic_complete_recv(&q->base, RNIC_WC_SUCCESS, &info);
}
