/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages in the TCP stream: where each begins and ends, how far TCP knows of them, what is acknowledged. */
#include "iwarp_internal.h"
#include <stdlib.h>
#include <string.h>

#define AHEAD_SEGMENTS 4 /* how far TCP sees ahead of what it has taken; more delays a Terminate and Read Responses */

/* Put a record that is new or is cut anew at the stream's end: its len is known, its place and its FPDUs' size are not. */
static struct iwarp_msg *push(struct iwarp_qp *q, const struct iwarp_msg *what)
{
    uint32_t h = (uint32_t)ddp_hdr_bytes(&what->hdr), mulpdu = mpa_mulpdu(q->emss, q->agreed.tx_markers);
    q->msgs = rnic_ring_room(q->msgs, &q->msg_cap, sizeof *q->msgs, q->msg_head, q->msg_tail);
    struct iwarp_msg *m = iwarp_stream_msg(q, q->msg_tail++);
    *m = *what;
    m->start = q->framed;
    m->seg = mulpdu - h;
    m->fpdu = iwarp_fpdu_bytes(mulpdu);
    uint32_t full = m->len == 0 ? 0 : (m->len - 1) / m->seg; /* FPDUs before the last */
    m->end = m->start + (uint64_t)full * m->fpdu + iwarp_fpdu_bytes(h + (m->len - full * m->seg));
    q->framed = m->end;
    return m;
}

struct iwarp_msg *iwarp_stream_add(struct iwarp_qp *q, const struct ddp_hdr *hdr, uint32_t len)
{
    struct iwarp_msg m = { .len = len, .hdr = *hdr };
    iwarp_stream_resize(q);
    return push(q, &m);
}

struct iwarp_msg *iwarp_stream_add_small(struct iwarp_qp *q, const struct ddp_hdr *hdr, const void *bytes, uint32_t len)
{
    struct iwarp_msg *m = iwarp_stream_add(q, hdr, len);
    assert(len <= sizeof m->small);
    m->literal = 1;
    memcpy(m->small, bytes, len);
    return m;
}

/* The payload's bytes: a pattern is named; memory is copied, since the application may reuse it once the WQE has completed
 * while TCP may still have to send it again. */
void iwarp_stream_own_source(struct iwarp_msg *m, const struct rnic_span *src)
{
    m->src = *src;
    if (src->mem == NULL || m->len == 0)
        return;
    m->copy = malloc(m->len);
    if (m->copy == NULL)
        abort();
    memcpy(m->copy, src->mem, m->len);
    m->src.mem = NULL;
}

struct iwarp_msg *iwarp_stream_find(const struct iwarp_qp *q, uint64_t off)
{
    uint32_t lo = q->msg_head, hi = q->msg_tail - q->msg_head - 1;
    uint32_t a = 0;
    if (off >= q->given && q->msg_sent != q->msg_tail && iwarp_stream_msg(q, q->msg_sent)->start <= off && off < iwarp_stream_msg(q, q->msg_sent)->end)
        return iwarp_stream_msg(q, q->msg_sent);
    while (a < hi) { /* the first whose end lies beyond off */
        uint32_t mid = a + (hi - a) / 2;
        if (iwarp_stream_msg(q, lo + mid)->end <= off)
            a = mid + 1;
        else
            hi = mid;
    }
    return iwarp_stream_msg(q, lo + a);
}

bool iwarp_stream_announce(struct iwarp_qp *q)
{
    iwarp_stream_resize(q);
    uint64_t want = q->given + (uint64_t)AHEAD_SEGMENTS * q->emss, was = q->announced;
    if (was >= q->framed || was >= want)
        return false;
    if (want >= q->framed) {
        q->announced = q->framed;
    } else {
        struct iwarp_msg *m = iwarp_stream_find(q, want);
        uint64_t end = m->start + ((want - m->start) / m->fpdu + 1) * m->fpdu;
        q->announced = end < m->end ? end : m->end;
    }
    return q->announced > was;
}

/* Take the records that begin at announced or later off the ring into out (of n entries), oldest first; the record that announced lies in
 * is ended there, and its rest is *rest (rest->len 0: none). */
static void take_back(struct iwarp_qp *q, struct iwarp_msg *out, uint32_t n, struct iwarp_msg *rest)
{
    for (uint32_t i = n; i-- > 0;)
        out[i] = *iwarp_stream_msg(q, --q->msg_tail);
    *rest = (struct iwarp_msg){ 0 };
    struct iwarp_msg *m = q->msg_tail != q->msg_head ? iwarp_stream_msg(q, q->msg_tail - 1) : NULL;
    q->framed = q->announced;
    if (m == NULL || m->end <= q->announced)
        return;
    uint32_t keep = (uint32_t)((q->announced - m->start) / m->fpdu) * m->seg;
    *rest = *m;
    rest->first = m->first + keep;
    rest->len = m->len - keep;
    m->len = keep;
    m->end = q->announced;
    m->goes_on = m->lends = 1;
    m->has_wqe = 0;
}

/* RFC 5044 4.5: with the EMSS the MULPDU changes. What TCP knows of stays as it is (RFC 5041 section 3: no segment is cut again once it
 * has been handed down). */
void iwarp_stream_resize(struct iwarp_qp *q)
{
    uint32_t emss = tcp_emss(q->tcp), n = 0;
    if (emss == q->emss)
        return;
    q->emss = emss;
    if (q->framed == q->announced)
        return;
    while (n < q->msg_tail - q->msg_head && iwarp_stream_msg(q, q->msg_tail - 1 - n)->start >= q->announced)
        n++;
    struct iwarp_msg rest, *later = malloc((n + 1) * sizeof *later);
    if (later == NULL)
        abort();
    take_back(q, later, n, &rest);
    if (rest.len > 0)
        (void)push(q, &rest);
    for (uint32_t i = 0; i < n; i++)
        (void)push(q, &later[i]);
    free(later);
}

static void free_copy(const struct iwarp_msg *m)
{
    if (!m->lends)
        free(m->copy);
}

void iwarp_stream_terminate(struct iwarp_qp *q)
{
    struct ddp_hdr h = { .ddp_version = 1, .rdmap_version = 1, .opcode = RDMAP_TERMINATE, .qn = IWARP_QN_TERM, .msn = q->tx_msn[IWARP_QN_TERM]++ };
    uint8_t body[IWARP_SMALL_MAX];
    uint32_t len = (uint32_t)rdmap_terminate_encode(&q->term, body);
    struct iwarp_msg *last;
    while (q->msg_tail != q->msg_head && (last = iwarp_stream_msg(q, q->msg_tail - 1))->start >= q->announced) {
        q->msg_tail--;
        if (q->msg_tail != q->msg_head && iwarp_stream_msg(q, q->msg_tail - 1)->lends)
            iwarp_stream_msg(q, q->msg_tail - 1)->lends = 0;
        else
            free_copy(last);
    }
    if (q->msg_tail != q->msg_head && iwarp_stream_msg(q, q->msg_tail - 1)->end > q->announced)
        iwarp_stream_msg(q, q->msg_tail - 1)->end = q->announced;
    if (q->msg_tail - q->msg_head < q->msg_sent - q->msg_head)
        q->msg_sent = q->msg_tail;
    q->framed = q->announced;
    (void)iwarp_stream_add_small(q, &h, body, len);
}

void iwarp_stream_acked(void *user, int64_t now_ps, uint64_t off)
{
    struct iwarp_qp *q = user;
    (void)now_ps;
    if (q->startup != NULL && off >= q->startup_len) {
        free(q->startup);
        q->startup = NULL;
    }
    uint64_t plain = iwarp_stream_plain(q, off);
    while (q->msg_head != q->msg_sent && iwarp_stream_msg(q, q->msg_head)->end <= plain) {
        struct iwarp_msg m = *iwarp_stream_msg(q, q->msg_head++);
        free_copy(&m);
        if (m.has_wqe && (q->base.state == RNIC_QP_RTS || q->base.state == RNIC_QP_SQD))
            rnic_complete_send(&q->base, m.wqe, RNIC_WC_SUCCESS, 0);
    }
}

void iwarp_stream_free(struct iwarp_qp *q)
{
    for (; q->msg_head != q->msg_tail; q->msg_head++)
        free_copy(iwarp_stream_msg(q, q->msg_head));
    free(q->msgs);
    free(q->reads);
    free(q->startup);
}
