/* SPDX-License-Identifier: GPL-2.0-only */
/* Go-back-N: from the lost packet on everything is sent again (IBTA vol. 1 9.7.5.2.2). Go-back-0, as early firmware did it: the
 * message is sent again from its first packet and the responder forgets its beginning (Guo et al., SIGCOMM'16, section 4.1). */
#include "roce_internal.h"

static void back_to(struct roce_qp *q, int64_t now_ps, uint64_t want)
{
    roce_req_loss(q, now_ps);
    roce_req_rewind(q, want);
}

static void back_n_timeout(struct roce_qp *q, int64_t now_ps)
{
    (void)now_ps;
    roce_req_rewind(q, q->req.una);
}

static void back_n_gap(struct roce_qp *q, uint64_t got)
{
    (void)q;
    (void)got;
}

static void back_0_gap(struct roce_qp *q, uint64_t got)
{
    (void)got;
    if (q->resp.op == ROCE_RESP_IDLE)
        return;
    q->resp.op = ROCE_RESP_IDLE; /* a receive already taken stays taken for the repetition */
    q->resp.expected = q->resp.message_first;
}

static const struct roce_retry_ops go_back_n = { "go-back-n", false, back_to, back_n_timeout, back_n_gap };
static const struct roce_retry_ops go_back_0 = { "go-back-0", true, back_to, back_n_timeout, back_0_gap };
const struct roce_retry_ops *const roce_retry_kinds[2] = { &go_back_n, &go_back_0 };
