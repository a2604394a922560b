/* SPDX-License-Identifier: GPL-2.0-only */
/** Segments that arrive (RFC 9293 3.10.7), in the order of its checks. */
#include "tcp_internal.h"

/* The peer's SYN: its sequence number and what it offers. */
static void take_syn(struct tcp_conn *c, int64_t now_ps, const struct pkt *p)
{
    const struct pkt_tcp *t = &p->tcp;
    const struct tcp_params *pp = c->params;
    c->irs = t->seq;
    c->rcv_nxt = 1;
    c->last_ack_sent = 0;
    uint32_t mss = t->opt & TCP_OPT_MSS ? t->mss : TCP_DEFAULT_MSS;
    if (mss > (uint32_t)pp->mss_bytes)
        mss = (uint32_t)pp->mss_bytes;
    if (mss < TCP_LEAST_MSS)
        mss = TCP_LEAST_MSS;
    c->sack_ok = pp->sack && t->opt & TCP_OPT_SACK_PERM;
    c->ts_ok = pp->timestamps && t->opt & TCP_OPT_TS;
    c->ws_ok = pp->window_scale && t->opt & TCP_OPT_WSCALE;
    c->snd_wscale = c->ws_ok ? (t->wscale > 14 ? 14 : t->wscale) : 0;   /* RFC 7323 2.3 */
    if (!c->ws_ok)
        c->rcv_wscale = 0;
    if (c->ts_ok) {
        c->ts_recent = t->ts_val;
        c->ts_recent_ps = now_ps;
    }
    c->agreed_mss = mss;
    c->emss = mss - (c->ts_ok ? 12 : 0);
    bool offer = (t->flags & (TCP_ECE | TCP_CWR)) == (TCP_ECE | TCP_CWR) && !(t->flags & TCP_ACK);
    bool accept = (t->flags & (TCP_ECE | TCP_CWR | TCP_ACK)) == (TCP_ECE | TCP_ACK);
    c->ecn_ok = c->cc_ops->ecn && (offer || accept);                   /* RFC 3168 6.1.1 */
    c->ecn_exact = c->ecn_ok && c->cc_ops->ecn_exact;
    c->wnd = c->max_wnd = t->window;                                    /* never scaled in a SYN */
    c->wl1 = 0;
    c->wl2 = 0;
}

static void syn_acked(struct tcp_conn *c, int64_t now_ps)
{
    struct tcp_acked a;
    tcp_board_acked_init(&a);
    tcp_board_ack(&c->board, 1, &a);
    c->una = 1;
    c->rto_at = SIM_NEVER_PS;
    if (a.first_sent_ps >= 0 && !a.again_acked)
        tcp_timer_sample(c, now_ps - a.first_sent_ps);
}

/* A reset for a segment that belongs to no connection (RFC 9293 3.10.7.1). */
static void answer_by_reset(struct tcp_conn *c, const struct pkt *p)
{
    const struct pkt_tcp *t = &p->tcp;
    if (t->flags & TCP_RST)
        return;
    c->rst_wanted = true;
    c->rst_acks = !(t->flags & TCP_ACK);
    c->rst_seq = c->rst_acks ? 0 : t->ack;
    c->rst_ack = t->seq + p->payload_len + (t->flags & TCP_SYN ? 1 : 0) + (t->flags & TCP_FIN ? 1 : 0);
}

static void in_listen(struct tcp_conn *c, int64_t now_ps, const struct pkt *p)
{
    if (p->tcp.flags & TCP_ACK)
        answer_by_reset(c, p);
    if (p->tcp.flags & (TCP_RST | TCP_ACK) || !(p->tcp.flags & TCP_SYN))
        return;
    take_syn(c, now_ps, p);
    tcp_set_state(c, now_ps, TCP_SYN_RECEIVED);
    c->syn_wanted = true;
}

static void in_syn_sent(struct tcp_conn *c, int64_t now_ps, const struct pkt *p)
{
    uint8_t flags = p->tcp.flags;
    bool acks = flags & TCP_ACK && c->nxt == 1 && p->tcp.ack == tcp_wire_seq(c, 1);
    if (flags & TCP_ACK && !acks) {
        answer_by_reset(c, p);
        return;
    }
    if (flags & TCP_RST) {
        if (acks)
            tcp_fail(c, now_ps, SIM_ERR_STATE);
        return;
    }
    if (!(flags & TCP_SYN))
        return;
    take_syn(c, now_ps, p);
    if (!acks) {                                 /* both opened at once */
        tcp_set_state(c, now_ps, TCP_SYN_RECEIVED);
        c->syn_wanted = true;
        return;
    }
    syn_acked(c, now_ps);
    c->syn_wanted = false;
    c->ack_now = true;
    tcp_established(c, now_ps);
}

/* --- payload --- */

/* RFC 8257 3.2: what came before CE changed is acknowledged with the old state at once. RFC 3168: CE latches the echo until CWR. */
static void take_ecn(struct tcp_conn *c, const struct pkt *p)
{
    bool ce = p->ecn == 3;
    if (!c->ecn_ok)
        return;
    c->counters.ce_in += ce;
    if (!c->ecn_exact) {
        if (p->tcp.flags & TCP_CWR)
            c->ece_latched = false;
        if (ce)
            c->ece_latched = true;
        return;
    }
    if (ce == c->ce_state)
        return;
    if (c->unacked_segs) {
        if (c->nprior == TCP_PRIOR_MAX)
            c->nprior--;                         /* the port has been busy all that time: the last two become one */
        c->prior[c->nprior].ack = c->rcv_nxt;
        c->prior[c->nprior++].ece = c->ce_state;
        c->unacked_segs = 0;
    }
    c->ce_state = ce;
}

static void hand_over(struct tcp_conn *c, int64_t now_ps, const struct pkt *p, uint32_t at, uint32_t len)
{
    uint64_t off = c->rcv_nxt - 1;
    c->rcv_nxt += len;                           /* before the user hears: it may say it has consumed it */
    c->counters.delivered_bytes += len;
    if (c->ops && c->ops->deliver)
        c->ops->deliver(c->user, now_ps, off, p, at, len);
}

static void acknowledge_data(struct tcp_conn *c, int64_t now_ps, bool at_once)
{
    c->unacked_segs++;
    if (at_once || c->unacked_segs >= (uint32_t)c->params->delayed_ack_count)
        c->ack_now = true;
    else if (c->delack_at == SIM_NEVER_PS)
        c->delack_at = now_ps + c->params->delayed_ack_time_ps;
}

static void take_payload(struct tcp_conn *c, int64_t now_ps, struct pkt *p, uint64_t seq, uint32_t len)
{
    uint32_t skip = 0;
    take_ecn(c, p);
    if (seq < c->rcv_nxt) {                      /* partly old */
        skip = (uint32_t)(c->rcv_nxt - seq);
        if (c->params->dsack)
            c->dsack = (struct tcp_range){ seq, c->rcv_nxt };
        seq = c->rcv_nxt;
        len -= skip;
    }
    uint64_t edge = c->rcv_adv;
    if (seq + len > edge)
        len = edge > seq ? (uint32_t)(edge - seq) : 0;
    if (len == 0) {
        c->ack_now = true;
        return;
    }
    if (seq > c->rcv_nxt) {
        struct tcp_range dup = { 0, 0 };
        c->counters.out_of_order_in++;
        if (c->ops && c->ops->early && c->ops->early(c->user, now_ps, seq - 1, p, skip, len))
            pkt_release_payload(p);
        enum tcp_reasm_result r = tcp_reasm_add(&c->reasm, p, skip, seq, seq + len, (uint64_t)c->params->reassembly_limit_bytes, &dup);
        if (c->reasm.bytes > c->counters.reassembly_peak_bytes)
            c->counters.reassembly_peak_bytes = c->reasm.bytes;
        c->counters.reassembly_drops += r == TCP_REASM_FULL;
        c->counters.duplicates_in += r == TCP_REASM_DUPLICATE;
        if (c->params->dsack && dup.from != dup.to)
            c->dsack = dup;
        acknowledge_data(c, now_ps, true);       /* RFC 5681 4.2: at once, out of order */
        return;
    }
    bool hole = !tcp_reasm_empty(&c->reasm);
    hand_over(c, now_ps, p, skip, len);
    for (struct tcp_piece *piece; (piece = tcp_reasm_take(&c->reasm, c->rcv_nxt)) != NULL;) {
        if (piece->held)
            c->counters.reassembled_bytes += piece->to - piece->from;
        hand_over(c, now_ps, piece->held ? &piece->pkt : NULL, piece->at, (uint32_t)(piece->to - piece->from));
        tcp_reasm_done(&c->reasm, piece);
    }
    acknowledge_data(c, now_ps, hole);           /* RFC 5681 4.2: at once, fills a gap */
}

/* --- the ends --- */

static void start_time_wait(struct tcp_conn *c, int64_t now_ps)
{
    if (c->state != TCP_TIME_WAIT)
        tcp_set_state(c, now_ps, TCP_TIME_WAIT);
    c->rto_at = c->rack_at = SIM_NEVER_PS;
    tcp_timer_stop_tlp(c);
    c->wait_at = now_ps + c->params->time_wait_ps;
}

/* Our FIN is acknowledged. */
static void fin_acked(struct tcp_conn *c, int64_t now_ps)
{
    if (c->state == TCP_FIN_WAIT_1) {
        tcp_set_state(c, now_ps, TCP_FIN_WAIT_2);
    } else if (c->state == TCP_CLOSING) {
        start_time_wait(c, now_ps);
    } else if (c->state == TCP_LAST_ACK) {
        tcp_set_state(c, now_ps, TCP_CLOSED);
        tcp_tell_state(c, now_ps);
    }
}

static void take_fin(struct tcp_conn *c, int64_t now_ps)
{
    if (c->rcv_fin == 0 || c->rcv_nxt != c->rcv_fin)
        return;
    c->rcv_nxt++;
    c->ack_now = true;
    switch (c->state) {
    case TCP_ESTABLISHED:
        tcp_set_state(c, now_ps, TCP_CLOSE_WAIT);
        tcp_tell_state(c, now_ps);
        break;
    case TCP_FIN_WAIT_1:                         /* our FIN is not acknowledged, else this were FIN_WAIT_2 */
        tcp_set_state(c, now_ps, TCP_CLOSING);
        tcp_tell_state(c, now_ps);
        break;
    case TCP_FIN_WAIT_2:
        start_time_wait(c, now_ps);
        tcp_tell_state(c, now_ps);
        break;
    default:
        break;
    }
}

/* --- a segment in a synchronised state --- */

/* RFC 7323 5.3; what was heard half the clock's circle ago (5.5) refuses nothing. */
static bool paws_refuses(const struct tcp_conn *c, int64_t now_ps, const struct pkt *p)
{
    return c->ts_ok && p->tcp.opt & TCP_OPT_TS && !(p->tcp.flags & TCP_RST) && (int32_t)(p->tcp.ts_val - c->ts_recent) < 0 &&
           (now_ps - c->ts_recent_ps) / c->params->timestamp_tick_ps < INT32_MAX;
}

/* An answer to what is not acceptable. Answers to bare acknowledgements are throttled, or two ends that disagree
 * would answer each other for ever; a window probe (one below the window) is always answered. */
static void answer(struct tcp_conn *c, int64_t now_ps, int64_t d, uint64_t units)
{
    if (units == 0 && d != -1) {
        if (c->answered_ps >= 0 && now_ps - c->answered_ps < c->params->challenge_gap_ps)
            return;
        c->answered_ps = now_ps;
    }
    c->ack_now = true;
}

/* RFC 9293 3.10.7.4, first check. d: distance of the segment's first byte from rcv_nxt. */
static bool acceptable(const struct tcp_conn *c, int64_t d, uint64_t units)
{
    int64_t window = c->rcv_adv > c->rcv_nxt ? (int64_t)(c->rcv_adv - c->rcv_nxt) : 0;
    if (units == 0)
        return d == 0 || (d > 0 && d < window);
    return d + (int64_t)units > 0 && (d <= 0 || d < window) && (window > 0 || d == 0);
}

/* Whether the acknowledgement in what is not acceptable may still be read: the segment is old, from within the last window. Without
 * that an acknowledgement that data overtook, or that rides on data sent again, would be lost. */
static bool only_old(const struct tcp_conn *c, int64_t d, uint64_t units)
{
    return c->state != TCP_SYN_RECEIVED && d + (int64_t)units <= 0 && d < 0 && -d <= (int64_t)c->params->receive_buffer_bytes + 1;
}

static void refuse(struct tcp_conn *c, int64_t now_ps, int64_t d, uint32_t len, bool fin)
{
    if (len && d + (int64_t)len <= 0) {
        c->counters.duplicates_in++;
        if (c->params->dsack && d + (int64_t)c->rcv_nxt > 0)
            c->dsack = (struct tcp_range){ c->rcv_nxt + (uint64_t)d, c->rcv_nxt + (uint64_t)d + len };
    }
    answer(c, now_ps, d, len + fin);
    if (c->state == TCP_TIME_WAIT && fin)
        start_time_wait(c, now_ps);
}

/* RFC 9293 3.10.7.4, second check, for a reset inside the window; RFC 5961 section 3: only the exact number resets. */
static void take_rst(struct tcp_conn *c, int64_t now_ps, int64_t d)
{
    if (d != 0) {
        tcp_ack_challenge(c, now_ps);
    } else if (c->state == TCP_SYN_RECEIVED && c->passive) {
        tcp_listen_again(c, now_ps);
    } else if (c->state == TCP_CLOSING || c->state == TCP_LAST_ACK || c->state == TCP_TIME_WAIT) {
        tcp_set_state(c, now_ps, TCP_CLOSED);
        tcp_tell_state(c, now_ps);
    } else {
        tcp_fail(c, now_ps, SIM_ERR_STATE);
    }
}

/* A SYN in a synchronised state. */
static void take_late_syn(struct tcp_conn *c, int64_t now_ps, const struct pkt *p, int64_t d)
{
    const uint8_t flags = p->tcp.flags;
    if (c->state == TCP_SYN_RECEIVED && d == -1 && !(flags & TCP_ACK)) {
        c->syn_wanted = true;                    /* our answer was lost */
    } else if (c->state == TCP_SYN_RECEIVED && flags & TCP_ACK && p->tcp.ack == tcp_wire_seq(c, 1)) {
        syn_acked(c, now_ps);                    /* both opened at once */
        c->syn_wanted = false;
        c->ack_now = true;
        tcp_established(c, now_ps);
    } else if (c->state == TCP_SYN_RECEIVED && c->passive && acceptable(c, d, 1)) {
        tcp_listen_again(c, now_ps);
    } else {
        tcp_ack_challenge(c, now_ps);            /* RFC 5961 section 4 */
    }
}

static void in_synchronised(struct tcp_conn *c, int64_t now_ps, struct pkt *p)
{
    const uint8_t flags = p->tcp.flags;
    uint32_t len = p->payload_len;
    int64_t d = tcp_wire_seq_diff(c, p->tcp.seq);
    uint64_t units = len + (flags & TCP_FIN);
    if (flags & TCP_SYN) {
        take_late_syn(c, now_ps, p, d);
        return;
    }
    if (c->ts_ok && !(p->tcp.opt & TCP_OPT_TS) && !(flags & TCP_RST))
        return;                                  /* RFC 7323 3.2 */
    if (paws_refuses(c, now_ps, p)) {
        c->counters.paws_drops++;
        answer(c, now_ps, d, units);
        return;
    }
    bool fits = acceptable(c, d, units);
    if (flags & TCP_RST) {
        if (fits)
            take_rst(c, now_ps, d);
        return;
    }
    if (!fits) {
        refuse(c, now_ps, d, len, flags & TCP_FIN);
        if (!only_old(c, d, units))
            return;
    }
    uint64_t seq = c->rcv_nxt + (uint64_t)d;
    if (fits && c->ts_ok && seq <= c->last_ack_sent) {
        c->ts_recent = p->tcp.ts_val;            /* RFC 7323 4.3 */
        c->ts_recent_ps = now_ps;
    }
    if (!(flags & TCP_ACK))
        return;
    if (c->state == TCP_SYN_RECEIVED) {
        if (p->tcp.ack != tcp_wire_seq(c, 1)) {
            answer_by_reset(c, p);
            return;
        }
        syn_acked(c, now_ps);
        c->syn_wanted = false;
        tcp_established(c, now_ps);
    }
    if (!tcp_ack_in(c, now_ps, p, seq, len))
        return;
    if (c->fin_sent && c->una == c->nxt)
        fin_acked(c, now_ps);
    if (c->state == TCP_CLOSED || !fits)
        return;
    bool receives = c->state == TCP_ESTABLISHED || c->state == TCP_FIN_WAIT_1 || c->state == TCP_FIN_WAIT_2;
    uint64_t fin_at = seq + len;
    if (len && receives)
        take_payload(c, now_ps, p, seq, len);
    if (flags & TCP_FIN && receives)
        c->rcv_fin = fin_at;
    take_fin(c, now_ps);
}

void tcp_in_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct tcp_conn *c = (struct tcp_conn *)ep;
    c->counters.received_segments++;
    switch (c->state) {
    case TCP_CLOSED:   answer_by_reset(c, p); return;
    case TCP_LISTEN:   in_listen(c, now_ps, p); break;
    case TCP_SYN_SENT: in_syn_sent(c, now_ps, p); break;
    default:           in_synchronised(c, now_ps, p); break;
    }
    if (c->state != TCP_CLOSED)
        tcp_timer_settle(c, now_ps);
}
