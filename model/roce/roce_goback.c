/* SPDX-License-Identifier: GPL-2.0-only */
/* Go-back-N: from the lost packet on everything is sent again (IBTA vol. 1 9.7.5.2.2). */
#include "roce_internal.h"

void roce_back_to(struct roce_qp *q, int64_t now_ps, uint64_t want)
{
    roce_req_loss(q, now_ps);
    roce_req_rewind(q, want);
}

void roce_back_to_una(struct roce_qp *q, int64_t now_ps)
{
    (void)now_ps;
    roce_req_rewind(q, q->req.una);
}

void roce_gap_stays(struct roce_qp *q, uint64_t got)
{
    (void)q;
    (void)got;
}

const struct roce_retry_ops roce_go_back_n = { .name = "go-back-n", .nak = roce_back_to, .timeout = roce_back_to_una, .gap = roce_gap_stays };
