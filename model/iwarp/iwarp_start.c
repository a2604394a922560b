/* SPDX-License-Identifier: GPL-2.0-only */
/* MPA start-up: RFC 5044 7.1, enhanced by RFC 6581. The initiator sends its request when TCP is established; the responder
 * answers and is silent until the initiator's first FPDU. */
#include "iwarp_internal.h"
#include <stdlib.h>
#include <string.h>

#define AUTO_DEPTH 0x3fff /* RFC 6581 9.1: this depth is not negotiated */

static bool offers(const struct iwarp_qp *q, enum iwarp_rtr r)
{
    int64_t own = q->params->rtr;
    return own == r || own == IWARP_RTR_ANY || (own == IWARP_RTR_WRITE_READ && r != IWARP_RTR_SEND);
}

static uint8_t wishes(const struct iwarp_qp *q)
{
    return (uint8_t)((q->params->crc ? MPA_F_CRC : 0) | (q->params->markers ? MPA_F_MARKERS : 0));
}

/* RFC 5044 7.1.1: one side's wish turns CRC on for both; markers stand in what goes to the side that asks for them. */
static void agree(struct iwarp_qp *q, const struct mpa_start *m)
{
    q->agreed.revision = m->revision;
    q->agreed.crc = q->params->crc || (m->flags & MPA_F_CRC);
    q->agreed.tx_markers = (m->flags & MPA_F_MARKERS) != 0;
    q->agreed.rx_markers = q->params->markers != 0;
}

static void send_frame(struct iwarp_qp *q, const struct mpa_start *m)
{
    q->startup = malloc(MPA_START_BYTES + MPA_PRIVATE_MAX);
    if (q->startup == NULL)
        abort();
    q->startup_len = (uint32_t)mpa_start_encode(m, q->own_pd, q->own_pd_len, q->startup);
    q->framed = q->announced = q->startup_len;
}

/* RFC 5044 section 8, code 4: the connection is closed at once and no Terminate can tell why. */
static void bad_frame(struct iwarp_qp *q)
{
    iwarp_term_note(q, IWARP_LAYER_MPA, 0, 4);
    q->phase = IWARP_CLOSED;
    q->abort_pending = 1;
    iwarp_qp_up(q, SIM_ERR_STATE);
}

/* A request rejected, here or there: the stream ends (RFC 5044 7.1.2 would leave it to the application, which here has no other use for it). */
static void give_up(struct iwarp_qp *q)
{
    q->phase = IWARP_CLOSED;
    q->close_pending = 1;
    iwarp_qp_up(q, SIM_ERR_STATE);
}

void iwarp_start_established(struct iwarp_qp *q)
{
    q->phase = IWARP_START;
    if (!q->initiator)
        return;
    struct mpa_start m = { .revision = (uint8_t)q->params->mpa_revision, .flags = wishes(q) };
    if (m.revision >= 2) {
        m.flags |= MPA_F_ENHANCED;
        m.ird = (uint16_t)q->params->ird;
        m.ord = (uint16_t)q->params->ord;
        m.p2p_a = q->params->rtr != IWARP_RTR_NONE;
        m.rtr_send = offers(q, IWARP_RTR_SEND);
        m.rtr_write = offers(q, IWARP_RTR_WRITE);
        m.rtr_read = offers(q, IWARP_RTR_READ);
    }
    send_frame(q, &m);
}

static void keep_private_data(struct iwarp_qp *q, const struct mpa_start *m, const uint8_t *frame)
{
    uint32_t skip = MPA_START_BYTES + (m->flags & MPA_F_ENHANCED ? 4 : 0);
    q->peer_pd_len = MPA_START_BYTES + m->pd_len - skip;
    q->peer_pd = malloc(q->peer_pd_len + 1);
    if (q->peer_pd == NULL)
        abort();
    memcpy(q->peer_pd, frame + skip, q->peer_pd_len);
}

static uint16_t at_most(int64_t own, uint16_t peers) { return (uint16_t)(own < peers ? own : peers); }

/* --- responder --- */

/* One of what both support, cheapest for the peer first; else one that we support (RFC 6581 9.2). */
static enum iwarp_rtr choose_rtr(const struct iwarp_qp *q, const struct mpa_start *m)
{
    bool any = q->params->rtr == IWARP_RTR_NONE; /* a responder must support one: we can take all */
    if (m->rtr_write && (any || offers(q, IWARP_RTR_WRITE)))
        return IWARP_RTR_WRITE;
    if (m->rtr_read && (any || offers(q, IWARP_RTR_READ)))
        return IWARP_RTR_READ;
    if (m->rtr_send && (any || offers(q, IWARP_RTR_SEND)))
        return IWARP_RTR_SEND;
    return offers(q, IWARP_RTR_READ) ? IWARP_RTR_READ : offers(q, IWARP_RTR_SEND) ? IWARP_RTR_SEND : IWARP_RTR_WRITE;
}

static void agree_enhanced(struct iwarp_qp *q, const struct mpa_start *m, struct mpa_start *reply)
{
    reply->flags |= MPA_F_ENHANCED;
    q->agreed.ird = reply->ird = (uint16_t)q->params->ird;
    q->agreed.ord = reply->ord = at_most(q->params->ord, m->ird);
    if (m->ird == AUTO_DEPTH) {
        q->agreed.ord = (uint16_t)q->params->ord;
        reply->ord = AUTO_DEPTH;
    }
    if (m->ord == AUTO_DEPTH)
        reply->ird = AUTO_DEPTH;
    if (!m->p2p_a)
        return;
    enum iwarp_rtr r = choose_rtr(q, m);
    reply->p2p_a = 1;
    reply->rtr_send = r == IWARP_RTR_SEND;
    reply->rtr_write = r == IWARP_RTR_WRITE;
    reply->rtr_read = r == IWARP_RTR_READ;
    if (r == IWARP_RTR_READ && q->agreed.ird == 0)
        q->agreed.ird = reply->ird = 1; /* RFC 6581 9.1 */
    q->agreed.rtr = (uint8_t)r;
    q->expect_rtr = 1;
}

static void request(struct iwarp_qp *q, const struct mpa_start *m)
{
    struct mpa_start reply = { .reply = 1, .revision = m->revision, .flags = wishes(q) };
    agree(q, m);
    if (m->flags & MPA_F_ENHANCED)
        agree_enhanced(q, m, &reply);
    if (q->reject) {
        reply.flags |= MPA_F_REJECT;
        send_frame(q, &reply);
        give_up(q);
        return;
    }
    send_frame(q, &reply);
    q->phase = IWARP_WAIT_FIRST;
    if (!q->expect_rtr)
        iwarp_qp_up(q, SIM_OK); /* it may post; what it posts leaves after the first FPDU has come */
}

/* --- initiator --- */

static void send_rtr(struct iwarp_qp *q, enum iwarp_rtr r)
{
    struct ddp_hdr h = { .ddp_version = 1, .rdmap_version = 1 };
    if (r == IWARP_RTR_WRITE) {
        h.tagged = 1;
        h.opcode = RDMAP_WRITE;
        h.stag = 1; /* any will do where there are no bytes; this is siw's */
        (void)iwarp_stream_add(q, &h, 0);
    } else if (r == IWARP_RTR_SEND) {
        h.opcode = RDMAP_SEND;
        h.msn = q->tx_msn[IWARP_QN_SEND]++;
        (void)iwarp_stream_add(q, &h, 0);
    } else {
        h.opcode = RDMAP_READ_REQUEST;
        h.qn = IWARP_QN_READ;
        h.msn = q->tx_msn[IWARP_QN_READ]++;
        static const uint8_t nothing[RDMAP_READ_REQUEST_BYTES] = { 0 }; /* no bytes from nowhere */
        struct iwarp_read r = { 0 };
        (void)iwarp_stream_add_small(q, &h, nothing, sizeof nothing);
        iwarp_tx_await(q, &r);
    }
}

/* The RTR message to send; NONE if none is wanted; -1 if the reply names none that we can make. */
static int reply_rtr(const struct iwarp_qp *q, const struct mpa_start *m)
{
    if (q->params->rtr == IWARP_RTR_NONE || !m->p2p_a)
        return IWARP_RTR_NONE;
    if (m->rtr_write && offers(q, IWARP_RTR_WRITE))
        return IWARP_RTR_WRITE;
    if (m->rtr_read && offers(q, IWARP_RTR_READ))
        return IWARP_RTR_READ;
    if (m->rtr_send && offers(q, IWARP_RTR_SEND))
        return IWARP_RTR_SEND;
    return -1;
}

/* Errors of start-up that the initiator tells by a Terminate: the responder is in full operation by then. */
static void terminate(struct iwarp_qp *q, unsigned code)
{
    iwarp_term_send(q, IWARP_LAYER_MPA, 0, code, IWARP_TERM_PLAIN, NULL);
    iwarp_qp_up(q, SIM_ERR_STATE);
}

static void reply(struct iwarp_qp *q, const struct mpa_start *m)
{
    if (m->flags & MPA_F_REJECT) {
        give_up(q);
        return;
    }
    bool asked_enhanced = q->params->mpa_revision >= 2;
    if (m->revision != q->params->mpa_revision || asked_enhanced != ((m->flags & MPA_F_ENHANCED) != 0)) {
        bad_frame(q); /* RFC 6581 section 10: an answer in kind is required */
        return;
    }
    agree(q, m);
    q->phase = IWARP_FULL;
    if (asked_enhanced) {
        if (m->ird != AUTO_DEPTH)
            q->agreed.ord = at_most(q->params->ord, m->ird);
        if (m->ord != AUTO_DEPTH && m->ord > q->agreed.ird) {
            terminate(q, 6);
            return;
        }
        int r = reply_rtr(q, m);
        if (r < 0) {
            terminate(q, 7);
            return;
        }
        q->agreed.rtr = (uint8_t)r;
        if (r != IWARP_RTR_NONE)
            send_rtr(q, (enum iwarp_rtr)r);
    }
    iwarp_qp_up(q, SIM_OK);
}

uint32_t iwarp_start_rx(struct iwarp_qp *q, const uint8_t *bytes, uint32_t len)
{
    struct mpa_start m;
    size_t used = 0;
    enum mpa_start_status s = mpa_start_decode(bytes, len, &m, &used);
    if (s == MPA_START_MORE)
        return 0;
    if (s != MPA_START_OK || m.reply != q->initiator || (!q->initiator && m.revision > q->params->mpa_revision)) {
        bad_frame(q);
        return 0;
    }
    keep_private_data(q, &m, bytes);
    q->agreed.peer_ird = m.ird;
    q->agreed.peer_ord = m.ord;
    q->agreed.ird = (uint16_t)q->params->ird;
    q->agreed.ord = (uint16_t)q->params->ord;
    if (q->initiator)
        reply(q, &m);
    else
        request(q, &m);
    return (uint32_t)used;
}

bool iwarp_start_rtr(struct iwarp_qp *q, const struct iwarp_segment *s)
{
    bool expected = q->expect_rtr;
    q->phase = IWARP_FULL;
    q->expect_rtr = 0;
    if (!expected)
        return false;
    bool sound = s->hdr.ddp_version == 1 && s->hdr.rdmap_version == 1 && s->hdr.last && s->len == 0;
    bool taken = false;
    if (q->agreed.rtr == IWARP_RTR_WRITE && s->hdr.tagged && s->hdr.opcode == RDMAP_WRITE && sound) {
        taken = true;
    } else if (q->agreed.rtr == IWARP_RTR_SEND && !s->hdr.tagged && s->hdr.opcode == RDMAP_SEND && s->hdr.qn == IWARP_QN_SEND &&
               s->hdr.msn == q->rx_msn[IWARP_QN_SEND] && sound) {
        q->rx_msn[IWARP_QN_SEND]++; /* it takes a number but no receive: the application did not ask for it (RFC 6581 4.4.2) */
        taken = true;
    }
    iwarp_qp_up(q, SIM_OK); /* an empty Read is answered as any Read; another first message does as well */
    return taken;
}
