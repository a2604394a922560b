/* SPDX-License-Identifier: GPL-2.0-only */
/** What an acknowledgement says: windows, round trips, losses, congestion (RFC 5681, 6582, 6675, 8985). */
#include "tcp_internal.h"

/* One SACK block; what an earlier report of the same block covered is not looked at again. */
static void take_block(struct tcp_conn *c, uint64_t from, uint64_t to, unsigned slot, struct tcp_acked *a)
{
    uint64_t begin = from;
    for (unsigned k = 0; c->board.sacked_segs && k < PKT_TCP_SACK_MAX; k++)
        if (c->sack_seen[k].from <= begin && begin < c->sack_seen[k].to)
            begin = c->sack_seen[k].to;
    if (begin < to)
        tcp_board_sack(&c->board, begin, to, a);
    c->sack_seen[slot] = (struct tcp_range){ from, to };
}

/* All blocks; true if the first reports a duplicate (RFC 2883 section 4). */
static bool take_sacks(struct tcp_conn *c, const struct pkt *p, uint64_t ack, struct tcp_acked *a)
{
    const struct pkt_tcp *t = &p->tcp;
    bool dsack = false;
    uint64_t from[PKT_TCP_SACK_MAX], to[PKT_TCP_SACK_MAX];
    unsigned n = t->nsack < PKT_TCP_SACK_MAX ? t->nsack : PKT_TCP_SACK_MAX;
    if (!c->sack_ok || !(t->opt & TCP_OPT_SACK))
        return false;
    for (unsigned i = 0; i < n; i++) {
        from[i] = c->una + (uint64_t)tcp_wire_ack_diff(c, t->sack[i].from);
        to[i] = c->una + (uint64_t)tcp_wire_ack_diff(c, t->sack[i].to);
    }
    for (unsigned i = 0; i < n; i++) {
        int64_t below = (int64_t)(to[i] - ack);
        if (i == 0 && (below <= 0 || (n > 1 && from[0] >= from[1] && to[0] <= to[1]))) {
            dsack = true;
            continue;
        }
        if (below > 0 && (int64_t)(to[i] - from[i]) > 0 && to[i] <= c->nxt && (int64_t)(from[i] - c->una) >= 0)
            take_block(c, from[i], to[i], i, a);
    }
    return dsack;
}

static int64_t sample_of(const struct tcp_conn *c, int64_t now_ps, const struct pkt *p, const struct tcp_acked *a)
{
    /* RFC 6298 section 3: nothing from what was sent again, unless timestamps tell the copies apart. */
    if (a->again_acked) {
        if (!c->ts_ok || !(p->tcp.opt & TCP_OPT_TS))
            return -1;
        int64_t sent = (int64_t)(int32_t)(p->tcp.ts_ecr - c->ts_base);
        int64_t now_ticks = now_ps / c->params->timestamp_tick_ps;
        int64_t rtt = (int64_t)(uint32_t)((uint32_t)now_ticks - (uint32_t)sent) * c->params->timestamp_tick_ps;
        return rtt <= now_ps ? rtt : -1;
    }
    if (a->first_sent_ps >= 0)
        return now_ps - a->first_sent_ps;
    return a->first_sacked_ps >= 0 ? now_ps - a->first_sacked_ps : -1;
}

/* RFC 9293 3.10.7.4: the window of the newest segment counts. true if it changed. */
static bool take_window(struct tcp_conn *c, const struct pkt *p, uint64_t seq, uint64_t ack)
{
    if (!(c->wl1 < seq || (c->wl1 == seq && c->wl2 <= ack)))
        return false;
    uint64_t wnd = (uint64_t)p->tcp.window << c->snd_wscale;
    bool changed = wnd != c->wnd;
    c->wl1 = seq;
    c->wl2 = ack;
    c->wnd = wnd;
    if (wnd > c->max_wnd)
        c->max_wnd = wnd;
    return changed;
}

void tcp_ack_challenge(struct tcp_conn *c, int64_t now_ps)
{
    if (c->challenged_ps >= 0 && now_ps - c->challenged_ps < c->params->challenge_gap_ps)
        return;
    c->challenged_ps = now_ps;
    c->counters.challenge_acks++;
    c->ack_now = true;
}

uint64_t tcp_ack_flight(const struct tcp_conn *c)
{
    uint64_t flight = c->nxt - c->una - c->limited;
    int64_t window = c->cc.cwnd_bytes;
    if (c->prr.on && window < c->cc.ssthresh_bytes)
        window = c->cc.ssthresh_bytes;
    return flight < (uint64_t)window ? flight : (uint64_t)window;
}

void tcp_ack_enter_recovery(struct tcp_conn *c, int64_t now_ps)
{
    int64_t before = c->cc.cwnd_bytes;
    bool answered = c->ecn_ok && !c->ecn_exact && c->una < c->cwr_until; /* the window has come down for this round trip's congestion */
    c->counters.fast_retransmits++;
    c->ca = TCP_CA_RECOVERY;
    c->recover = c->nxt;
    c->force_retx = true;
    c->rescued = false;
    tcp_timer_stop_tlp(c);
    c->tlp_end = 0;
    if (c->cc.ops->loss && !answered)
        c->cc.ops->loss(&c->cc, now_ps, tcp_ack_flight(c));
    c->cwr_until = c->nxt;
    c->cwr_wanted = c->ecn_ok;                   /* RFC 3168 6.1.2: for whatever reason the window came down */
    tcp_prr_enter(c);
    c->inflate = c->sack_ok ? 0 : (int64_t)c->params->dup_ack_threshold * c->emss;
    c->limited = 0;
    tcp_trace_cwnd(c, now_ps, before);
}

static void leave_recovery(struct tcp_conn *c, int64_t now_ps)
{
    int64_t before = c->cc.cwnd_bytes;
    bool fast = c->ca == TCP_CA_RECOVERY;
    c->ca = TCP_CA_OPEN;
    c->dup_acks = 0;
    c->inflate = 0;
    c->limited = 0;
    tcp_rack_recovered(c);
    tcp_prr_leave(c);
    if (fast && c->cc.ops->recovered)
        c->cc.ops->recovered(&c->cc, now_ps);
    tcp_trace_cwnd(c, now_ps, before);
}

/* RFC 8985 7.4: did the probe repair a loss that nothing else told of? */
static void judge_probe(struct tcp_conn *c, int64_t now_ps, bool dsack, bool duplicate)
{
    if (!c->tlp_end || c->una < c->tlp_end)
        return;
    if (!c->tlp_again || dsack || duplicate) {
        c->tlp_end = 0;
    } else if (c->una > c->tlp_end) {
        int64_t before = c->cc.cwnd_bytes;
        c->tlp_end = 0;
        if (c->cc.ops->loss)
            c->cc.ops->loss(&c->cc, now_ps, tcp_ack_flight(c));
        if (c->cc.ops->recovered)
            c->cc.ops->recovered(&c->cc, now_ps);
        tcp_trace_cwnd(c, now_ps, before);
    }
}

/* RFC 6582 3.2 step 1, without SACK: duplicates of what a recovery sent needlessly mean no new loss until more than `recover` is
 * acknowledged. */
static bool duplicates_count(const struct tcp_conn *c) { return c->sack_ok || !c->recover || c->una > c->recover; }

static void detect_loss(struct tcp_conn *c, int64_t now_ps, const struct pkt *p, const struct tcp_acked *a)
{
    struct tcp_board *b = &c->board;
    uint32_t threshold = (uint32_t)c->params->dup_ack_threshold;
    if (c->sack_ok && c->params->rack) {
        tcp_rack_update(c, now_ps, p, a);
        tcp_rack_detect(c, now_ps);
    } else if (c->sack_ok) {
        tcp_board_judge(b, threshold, c->emss);
    }
    if (!(c->sack_ok && c->params->rack) && c->ca == TCP_CA_OPEN && c->dup_acks >= threshold && duplicates_count(c) && !tcp_board_empty(b) &&
        !(tcp_board_at(b, b->head)->flags & (SEG_LOST | SEG_SACKED)))
        tcp_board_mark_lost(b, b->head);
    if (c->ca == TCP_CA_OPEN && b->lost > b->retx)
        tcp_ack_enter_recovery(c, now_ps);
}

/* RFC 6675 section 4, NextSeg rules 3 and 4, for when a recovery has neither losses nor new data left to send, so that it need not end
 * in a timeout: first what lies below something SACKed; then, once a recovery, the highest that is not SACKed. The latter only on a
 * partial acknowledgement, when all that was sent before has had the time to arrive. */
static void mend_tail(struct tcp_conn *c, bool advance)
{
    struct tcp_board *b = &c->board;
    if (!c->sack_ok || c->params->rack || c->ca != TCP_CA_RECOVERY || b->lost > b->retx || tcp_out_has_new(c))
        return;
    for (uint64_t i = b->head; i < b->tail && tcp_board_at(b, i)->from < b->high_sacked; i++)
        if (!(tcp_board_at(b, i)->flags & (SEG_SACKED | SEG_EVER))) {
            tcp_board_mark_lost(b, i);
            return;
        }
    if (!advance || c->rescued)
        return;
    for (uint64_t i = b->tail; i-- > b->head;) {
        uint32_t flags = tcp_board_at(b, i)->flags;
        if (flags & SEG_SACKED)
            continue;
        if (!(flags & SEG_EVER)) {
            tcp_board_mark_lost(b, i);
            c->rescued = true;
        }
        return;
    }
}

/* The cumulative acknowledgement advanced by `units` of sequence space. */
static void advanced(struct tcp_conn *c, int64_t now_ps, uint64_t units)
{
    struct tcp_board *b = &c->board;
    c->backoff = 0;
    c->rto_una_set = false;
    c->rto_at = tcp_board_empty(b) ? SIM_NEVER_PS : now_ps + c->rto_ps; /* RFC 6298 5.2, 5.3 */
    if (c->ca != TCP_CA_OPEN && c->una >= c->recover) {
        leave_recovery(c, now_ps);
    } else if (c->ca == TCP_CA_RECOVERY && !c->sack_ok) {
        /* RFC 6582 3.2 step 3, a partial acknowledgement: the next hole, and the window shrinks by what left the network. */
        if (!tcp_board_empty(b))
            tcp_board_mark_lost(b, b->head);
        c->force_retx = true;
        c->inflate -= (int64_t)units;
        if (units >= c->emss)
            c->inflate += c->emss;
        if (c->cc.cwnd_bytes != CC_NO_WINDOW && c->cc.cwnd_bytes + c->inflate < (int64_t)c->emss)
            c->inflate = (int64_t)c->emss - c->cc.cwnd_bytes;
    } else if (c->ca == TCP_CA_OPEN) {
        c->dup_acks = 0;
        c->inflate = 0;
        c->limited = 0;
    }
}

static void duplicate_ack(struct tcp_conn *c)
{
    c->counters.dup_acks_in++;
    c->dup_acks++;
    if (c->sack_ok)
        return;
    if (c->ca == TCP_CA_RECOVERY)
        c->inflate += c->emss;                   /* RFC 6582 3.2 step 2 */
    else if (c->ca == TCP_CA_OPEN && c->params->limited_transmit && c->dup_acks < (uint32_t)c->params->dup_ack_threshold)
        c->inflate = (int64_t)c->dup_acks * c->emss;
}

/* RFC 3168 6.1.2: a latched echo halves the window once a round trip. */
static void latched_echo(struct tcp_conn *c, int64_t now_ps)
{
    int64_t before = c->cc.cwnd_bytes;
    if (c->ca != TCP_CA_OPEN || c->una < c->cwr_until)
        return;
    if (c->cc.ops->loss)
        c->cc.ops->loss(&c->cc, now_ps, tcp_ack_flight(c));
    c->cwr_until = c->nxt;
    c->cwr_wanted = true;
    tcp_trace_cwnd(c, now_ps, before);
}

/* held: the window does not grow, since a recovery is under way or the acknowledgement says congestion (RFC 3168 6.1.2). */
static void tell_cc(struct tcp_conn *c, int64_t now_ps, const struct tcp_acked *a, int64_t rtt_ps, bool ece, uint64_t flight_before, bool held)
{
    int64_t before = c->cc.cwnd_bytes;
    bool slow_start = before < c->cc.ssthresh_bytes;
    struct cc_ack ack = {
        .now_ps = now_ps, .acked_bytes = a->bytes, .in_flight_bytes = tcp_board_pipe(&c->board), .rtt_ps = rtt_ps,
        .ece_bytes = c->ecn_exact && ece ? a->bytes : 0, .snd_nxt = c->nxt, .snd_una = c->una, .in_recovery = held,
        .cwnd_limited = before == CC_NO_WINDOW || (slow_start ? (int64_t)(2 * flight_before) > before : (int64_t)(flight_before + c->emss) > before),
    };
    if (c->cc.ops->ack)
        c->cc.ops->ack(&c->cc, &ack);
    if (ack.ece_bytes && c->cc.cwnd_bytes < before) {
        c->cwr_until = c->nxt;
        c->cwr_wanted = true;                    /* RFC 8257 3.3: as RFC 3168 has it */
    }
    tcp_trace_cwnd(c, now_ps, before);
}

bool tcp_ack_in(struct tcp_conn *c, int64_t now_ps, const struct pkt *p, uint64_t seq, uint32_t len)
{
    struct tcp_acked a;
    int64_t diff = tcp_wire_ack_diff(c, p->tcp.ack);
    uint64_t ack = c->una + (uint64_t)diff;
    bool ece = p->tcp.flags & TCP_ECE;
    /* Acknowledges what was never sent, or what no window reaches back to (RFC 5961 section 5). */
    if ((diff > 0 && ack > c->nxt) || diff < -(int64_t)c->max_wnd) {
        tcp_ack_challenge(c, now_ps);
        return false;
    }
    if (diff < 0)
        return true;                             /* old: its payload may still be wanted */
    uint64_t flight_before = tcp_board_pipe(&c->board);
    bool outstanding = !tcp_board_empty(&c->board), recovering = c->ca == TCP_CA_RECOVERY;
    tcp_board_acked_init(&a);
    bool dsack = take_sacks(c, p, ack, &a);
    c->counters.sacked += a.segs_sacked;
    if (dsack)
        tcp_rack_dsack(c);
    if (diff > 0) {
        tcp_board_ack(&c->board, ack, &a);
        c->una = ack;
    }
    bool window_moved = take_window(c, p, seq, ack);
    if (ece)
        c->counters.ece_in++;
    int64_t rtt = sample_of(c, now_ps, p, &a);
    if (rtt >= 0)
        tcp_timer_sample(c, rtt);
    bool duplicate = diff == 0 && len == 0 && outstanding && !(p->tcp.flags & (TCP_SYN | TCP_FIN)) &&
                     (c->sack_ok ? a.segs_sacked > 0 : !window_moved);
    if (diff > 0)
        advanced(c, now_ps, (uint64_t)diff);
    if (duplicate)
        duplicate_ack(c);
    judge_probe(c, now_ps, dsack, diff == 0 && a.segs_sacked == 0);
    detect_loss(c, now_ps, p, &a);
    mend_tail(c, diff > 0);
    if (ece && c->ecn_ok && !c->ecn_exact)
        latched_echo(c, now_ps);
    /* Also what ends a recovery lets nothing grow (RFC 6582 3.2 step 3 sets the window), nor does what acknowledges nothing
     * cumulatively (RFC 5681 3.1). */
    bool held = recovering || c->ca == TCP_CA_RECOVERY || (ece && c->ecn_ok && !c->ecn_exact) || (diff == 0 && !(ece && c->ecn_exact));
    if (a.bytes)
        tell_cc(c, now_ps, &a, rtt, ece, flight_before, held);
    if (c->prr.on && outstanding) {
        int64_t before = c->cc.cwnd_bytes;
        tcp_prr_ack(c, a.bytes);
        tcp_trace_cwnd(c, now_ps, before);
    }
    c->fill_blocked = false;
    if (diff > 0) {
        tcp_timer_arm_tlp(c, now_ps);
        if (c->ops && c->ops->acked)
            c->ops->acked(c->user, now_ps, tcp_snd_una(c));
    } else if (c->board.sacked || c->ca != TCP_CA_OPEN) {
        tcp_timer_stop_tlp(c);
    }
    return true;
}
