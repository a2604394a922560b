/* SPDX-License-Identifier: GPL-2.0-only */
/* End-to-end flow control: acknowledgements tell of how many receives are posted, and who has no credit sends one packet and asks (IBTA vol. 1
 * 9.7.7.2). */
#include "roce_internal.h"

/* 0, 1, 2, 3, 4, 6, 8, 12, ...: each second code doubles. */
uint32_t roce_credit_count(unsigned code)
{
    return code < 2 ? code : (2u + (code & 1)) << (code / 2 - 1);
}

unsigned roce_credit_code(uint32_t receives)
{
    unsigned code = 30;
    while (roce_credit_count(code) > receives)
        code--;
    return code;
}

void roce_req_take_credits(struct roce_qp *q, const struct pkt *p)
{
    struct roce_req *r = &q->req;
    const struct pkt_roce *h = &p->roce;
    unsigned code = h->syndrome & 0x1f;
    if ((h->syndrome & 0x60) != ROCE_AETH_ACK || code == ROCE_AETH_NO_CREDITS)
        return;
    uint32_t lsn = (h->msn + roce_credit_count(code)) & ROCE_PSN_MASK;
    if (r->credits_known && wire_psn_diff(lsn, r->lsn) <= 0)
        return;
    r->lsn = lsn;
    r->credits_known = true;
}

bool roce_limited(const struct roce_qp *q, const struct rnic_wqe *w)
{
    const struct roce_req *r = &q->req;
    bool numbered = (int32_t)(r->wqe_end - r->wqe_nxt) > 0;
    if (!r->credits_known || wire_psn_diff(numbered ? (uint32_t)w->scratch[2] : r->ssn + 1, r->lsn) <= 0)
        return false;
    if (w->wr.op == RNIC_OP_WRITE_IMM)
        return numbered ? r->nxt + 1 == roce_end_of(w) : w->wr.sge.len <= q->mtu;
    return roce_takes_receive(w->wr.op);
}
