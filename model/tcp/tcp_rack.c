/* SPDX-License-Identifier: GPL-2.0-only */
/** RACK: loss by time of sending rather than by counting (RFC 8985 section 6). */
#include "tcp_internal.h"

static bool sent_after(int64_t t1, uint64_t end1, int64_t t2, uint64_t end2)
{
    return t1 > t2 || (t1 == t2 && end1 > end2);
}

/* Steps 1 to 3: the minimum round trip, the most recently sent segment delivered, reordering. */
/* Was an acknowledgement of what was sent more than once for its first copy (RFC 8985 6.2 step 2)? */
static bool for_earlier_copy(const struct tcp_conn *c, const struct pkt *p, int64_t sent_ps, int64_t rtt_ps)
{
    if (c->ts_ok && p->tcp.opt & TCP_OPT_TS && (int32_t)(p->tcp.ts_ecr - (c->ts_base + (uint32_t)(sent_ps / c->params->timestamp_tick_ps))) < 0)
        return true;
    return rtt_ps < c->rack.min_rtt_ps;
}

void tcp_rack_update(struct tcp_conn *c, int64_t now_ps, const struct pkt *p, const struct tcp_acked *a)
{
    if (a->rack_sent_ps >= 0) {
        int64_t rtt = now_ps - a->rack_sent_ps;
        if (!a->rack_again && rtt < c->rack.min_rtt_ps)
            c->rack.min_rtt_ps = rtt;
        if (!(a->rack_again && for_earlier_copy(c, p, a->rack_sent_ps, rtt))) {
            c->rack.rtt_ps = rtt;
            if (sent_after(a->rack_sent_ps, a->rack_end, c->rack.sent_ps, c->rack.end)) {
                c->rack.sent_ps = a->rack_sent_ps;
                c->rack.end = a->rack_end;
            }
        }
    }
    if (a->low_once < c->rack.fack)
        c->rack.reordering = true;
    if (a->high_end > c->rack.fack)
        c->rack.fack = a->high_end;
}

/* Step 4: each round with a DSACK widens the window for reordering. */
void tcp_rack_dsack(struct tcp_conn *c)
{
    if (c->una < c->rack.dsack_round)
        return;
    c->rack.dsack_round = c->nxt;
    c->rack.reo_mult++;
    c->rack.reo_persist = 16;
}

void tcp_rack_recovered(struct tcp_conn *c)
{
    if (c->rack.reo_persist && --c->rack.reo_persist == 0)
        c->rack.reo_mult = 1;
}

static int64_t reordering_window(const struct tcp_conn *c)
{
    if (!c->rack.reordering && (c->ca != TCP_CA_OPEN || c->board.sacked_segs >= (uint32_t)c->params->dup_ack_threshold))
        return 0;
    if (c->rack.min_rtt_ps == SIM_NEVER_PS)
        return 0;
    int64_t w = c->rack.min_rtt_ps / 4 * c->rack.reo_mult;
    return w < c->srtt_ps ? w : c->srtt_ps;
}

void tcp_rack_detect(struct tcp_conn *c, int64_t now_ps)
{
    struct tcp_board *b = &c->board;
    int64_t window = reordering_window(c), wait = 0;
    c->rack_at = SIM_NEVER_PS;
    if (c->rack.sent_ps < 0)
        return;
    for (uint64_t i = b->head; i < b->tail; i++) {
        const struct tcp_seg *s = tcp_board_at(b, i);
        bool later = !sent_after(c->rack.sent_ps, c->rack.end, s->sent_ps, s->from + s->len);
        if (later && !(s->flags & SEG_EVER))
            break;                               /* what was sent once was sent in order: the rest is later still */
        if (later || s->flags & SEG_SACKED || (s->flags & (SEG_LOST | SEG_RETX)) == SEG_LOST)
            continue;
        int64_t left = s->sent_ps + c->rack.rtt_ps + window - now_ps;
        if (left <= 0)
            tcp_board_mark_lost(b, i);
        else if (left > wait)
            wait = left;
    }
    if (wait)
        c->rack_at = now_ps + wait;
}

/* RFC 8985 6.3: the first segment, and all that has been out for longer than a round trip and the window. */
void tcp_rack_on_rto(struct tcp_conn *c, int64_t now_ps)
{
    struct tcp_board *b = &c->board;
    int64_t window = reordering_window(c);
    for (uint64_t i = b->head; i < b->tail; i++)
        if (i == b->head || tcp_board_at(b, i)->sent_ps + c->rack.rtt_ps + window <= now_ps)
            tcp_board_mark_lost(b, i);
    c->rack_at = SIM_NEVER_PS;
}
