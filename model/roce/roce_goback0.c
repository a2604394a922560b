/* SPDX-License-Identifier: GPL-2.0-only */
/* Go-back-0, as early firmware did it: the message is sent again from its first packet and the responder forgets its beginning (Guo et al.,
 * SIGCOMM'16, section 4.1). */
#include "roce_internal.h"

static void forget_message(struct roce_qp *q, uint64_t got)
{
    (void)got;
    if (q->resp.op == ROCE_RESP_IDLE)
        return;
    q->resp.op = ROCE_RESP_IDLE; /* a receive already taken stays taken for the repetition */
    q->resp.expected = q->resp.message_first;
}

const struct roce_retry_ops roce_go_back_0 = { .name = "go-back-0", .whole_messages = true, .nak = roce_back_to, .timeout = roce_back_to_una, .gap = forget_message };
