/* SPDX-License-Identifier: GPL-2.0-only */
/* Selective retransmission on the standard's wire, as vendors describe it in a sentence: the responder keeps what comes out of order, a
 * sequence NAK names one missing packet, and the requester sends that one alone. (NVIDIA: "selective repeat", register ROCE_ACCL; the packets of
 * their scheme are not published, so nothing here goes beyond IBTA's.) When the hole is filled and there is another, it is NAKed at
 * once: a hole a round trip. Where READ responses are missing just those are asked for again. After a timeout nobody knows what has arrived,
 * and all that is unacknowledged is sent again. */
#include "roce_internal.h"

static uint64_t lost(const struct roce_qp *q) { return q->req.want; }
static void forget(struct roce_qp *q) { q->req.want = ROCE_NONE; }

static void nak(struct roce_qp *q, int64_t now_ps, uint64_t want)
{
    roce_req_loss(q, now_ps);
    if (want < q->req.nxt)
        q->req.want = want;
}

void roce_selective_response(struct roce_qp *q, int64_t now_ps, const struct pkt *p)
{
    struct roce_req *r = &q->req;
    uint64_t n = roce_number(r->una, q->psn0, p->roce.psn);
    uint32_t i = roce_req_wqe_of(q, n), len;
    if (i == r->wqe_end)
        return;
    const struct rnic_wqe *w = rnic_sq_wqe(&q->base, i);
    if (!roce_has_response(w->wr.op) || roce_is_atomic(w->wr.op) != (p->roce.opcode == ROCE_ATOMIC_ACK)) {
        rnic_fail(&q->base, i, RNIC_WC_BAD_RESP_ERR);
        return;
    }
    if (roce_bits_test(&r->arrived, r->una, n))
        return;
    enum rnic_wc_status s = roce_req_place(q, w, (n - roce_first_of(w)) << q->mtu_shift, p, &len);
    if (s != RNIC_WC_SUCCESS) {
        rnic_fail(&q->base, i, s);
        return;
    }
    uint64_t before = r->una;
    roce_bits_set(&r->arrived, r->una, n);
    if (n >= r->arrived_high)
        r->arrived_high = n + 1;
    if (roce_first_of(w) > r->implied)
        r->implied = roce_first_of(w); /* executed in order: all before it has been */
    (void)roce_req_advance(q, now_ps, r->implied);
    if (!roce_alive(q))
        return;
    if (r->una > before)
        r->gap_seen = false;
    if (r->arrived_high > r->una)
        roce_req_response_gap(q, now_ps);
}

const struct roce_retry_ops roce_selective = { .name = "selective", .holds = true, .nak = nak, .timeout = roce_back_to_una, .gap = roce_gap_stays,
    .lost = lost, .resent = forget, .rewound = forget };
