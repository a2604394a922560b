/* SPDX-License-Identifier: GPL-2.0-only */
/** The round trip, the retransmission timeout (RFC 6298) and every other timer. */
#include "tcp_internal.h"

#include <string.h>

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

void tcp_timer_stop_all(struct tcp_conn *c)
{
    c->rto_at = c->rack_at = c->persist_at = c->delack_at = c->wait_at = SIM_NEVER_PS;
    tcp_timer_stop_tlp(c);
    c->syn_wanted = c->probe_wanted = c->ack_now = false;
    c->nprior = 0;
}

void tcp_timer_sample(struct tcp_conn *c, int64_t rtt_ps)
{
    const struct tcp_params *p = c->params;
    if (!c->srtt_ps) {
        c->srtt_ps = rtt_ps > 0 ? rtt_ps : 1;
        c->rttvar_ps = rtt_ps / 2;
    } else {
        int64_t d = c->srtt_ps > rtt_ps ? c->srtt_ps - rtt_ps : rtt_ps - c->srtt_ps;
        c->rttvar_ps += (d - c->rttvar_ps) / 4;
        c->srtt_ps += (rtt_ps - c->srtt_ps) / 8;
    }
    int64_t spread = 4 * c->rttvar_ps > p->clock_granularity_ps ? 4 * c->rttvar_ps : p->clock_granularity_ps;
    c->rto_ps = clamp(c->srtt_ps + spread, p->rto_min_ps, p->rto_max_ps);
    c->backoff = 0;
}

void tcp_timer_stop_tlp(struct tcp_conn *c)
{
    c->tlp_at = SIM_NEVER_PS;
    c->tlp_wanted = TCP_TLP_NONE;
}

void tcp_timer_arm_tlp(struct tcp_conn *c, int64_t now_ps)
{
    const struct tcp_board *b = &c->board;
    tcp_timer_stop_tlp(c);
    if (!c->params->tlp || !c->sack_ok || c->ca != TCP_CA_OPEN || tcp_board_empty(b) || b->sacked || b->lost || c->tlp_end || c->rto_at == SIM_NEVER_PS)
        return;
    int64_t pto = c->srtt_ps ? 2 * c->srtt_ps : c->params->rto_initial_ps;
    if (c->srtt_ps && b->tail - b->head == 1)    /* one segment: its ACK may be delayed (RFC 8985 7.2) */
        pto += c->params->delayed_ack_time_ps;
    c->tlp_at = now_ps + pto < c->rto_at ? now_ps + pto : c->rto_at;
}

void tcp_timer_settle(struct tcp_conn *c, int64_t now_ps)
{
    if (!tcp_board_empty(&c->board) || !tcp_out_window_blocked(c)) {
        c->persist_at = SIM_NEVER_PS;
        c->persist_count = 0;
        return;
    }
    if (c->persist_at == SIM_NEVER_PS && !c->probe_wanted) {
        int64_t d = c->rto_ps;
        for (uint32_t i = 0; i < c->persist_count && d < c->params->rto_max_ps; i++)
            d *= 2;
        c->persist_at = now_ps + clamp(d, c->params->rto_min_ps, c->params->rto_max_ps);
    }
}

static void on_rto(struct tcp_conn *c, int64_t now_ps)
{
    const struct tcp_params *p = c->params;
    c->counters.timeouts++;
    c->counters.timer_waits++;
    c->backoff++;
    tcp_trace(c, now_ps, SIM_TRACE_TIMEOUT, c->backoff, 0);
    bool opening = c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED;
    if (opening ? c->syn_resent >= p->syn_retries : c->backoff > p->retries) {
        tcp_fail(c, now_ps, SIM_ERR_STATE);
        return;
    }
    c->rto_ps = clamp(2 * c->rto_ps, p->rto_min_ps, p->rto_max_ps);   /* RFC 6298 5.5 */
    c->rto_at = now_ps + c->rto_ps;
    tcp_timer_stop_tlp(c);
    if (opening) {
        c->syn_resent++;
        tcp_board_all_lost(&c->board);
        c->syn_wanted = true;
        return;
    }
    struct tcp_board *b = &c->board;
    if (tcp_board_at(b, b->head)->flags & SEG_SACKED) {
        tcp_board_forget_sacks(b);               /* RFC 2018 section 8: the receiver has let go of what it reported */
        memset(c->sack_seen, 0, sizeof c->sack_seen);
    }
    uint64_t flight = tcp_ack_flight(c);
    bool again = c->rto_una_set && c->rto_una == c->una;
    int64_t ssthresh = c->cc.ssthresh_bytes, before = c->cc.cwnd_bytes;
    if (c->cc.ops->timeout)
        c->cc.ops->timeout(&c->cc, now_ps, flight);
    if (again)
        c->cc.ssthresh_bytes = ssthresh;         /* RFC 5681 3.1: once for what is sent again and times out again */
    tcp_trace_cwnd(c, now_ps, before);
    c->rto_una = c->una;
    c->rto_una_set = true;
    if (p->rack && c->sack_ok)
        tcp_rack_on_rto(c, now_ps);
    else
        tcp_board_all_lost(b);
    c->ca = TCP_CA_LOSS;
    c->recover = c->cwr_until = c->nxt;
    c->cwr_wanted = c->ecn_ok;                   /* RFC 3168 6.1.2: for whatever reason the window came down */
    c->prr.on = false;
    c->dup_acks = 0;
    c->inflate = 0;
    c->limited = 0;
    c->force_retx = true;
    c->tlp_end = 0;
    c->fill_blocked = false;
}

static void on_tlp(struct tcp_conn *c, int64_t now_ps)
{
    uint32_t in_flight = (uint32_t)(c->board.tail - c->board.head);
    tcp_timer_stop_tlp(c);
    if (!in_flight || c->ca != TCP_CA_OPEN)
        return;
    c->counters.timer_waits++;
    c->tlp_wanted = tcp_out_has_new(c) && !tcp_out_window_blocked(c) ? TCP_TLP_NEW : TCP_TLP_AGAIN;
    c->rto_at = now_ps + c->rto_ps;
}

static void on_persist(struct tcp_conn *c)
{
    c->persist_at = SIM_NEVER_PS;
    c->persist_count++;
    c->counters.timer_waits++;
    c->probe_wanted = true;
    c->override_sws = true;                      /* RFC 9293 3.8.6.2.1 (4) */
    c->fill_blocked = false;
}

void tcp_timer_wake(struct endpoint *ep, int64_t now_ps)
{
    struct tcp_conn *c = (struct tcp_conn *)ep;
    if (now_ps >= c->delack_at) {
        c->delack_at = SIM_NEVER_PS;
        c->ack_now = true;
        c->counters.delayed_ack_timeouts++;
    }
    if (now_ps >= c->rack_at) {
        tcp_rack_detect(c, now_ps);
        if (c->ca == TCP_CA_OPEN && c->board.lost > c->board.retx)
            tcp_ack_enter_recovery(c, now_ps);
    }
    if (now_ps >= c->tlp_at)
        on_tlp(c, now_ps);
    if (now_ps >= c->rto_at)
        on_rto(c, now_ps);
    if (now_ps >= c->persist_at)
        on_persist(c);
    if (now_ps >= c->wait_at) {
        tcp_set_state(c, now_ps, TCP_CLOSED);
        tcp_tell_state(c, now_ps);
    }
    if (now_ps >= c->cc.next_wake_ps && c->cc.ops->wake)
        c->cc.ops->wake(&c->cc, now_ps);
    tcp_timer_settle(c, now_ps);
}

int64_t tcp_timer_next_ps(const struct endpoint *ep)
{
    const struct tcp_conn *c = (const struct tcp_conn *)ep;
    int64_t t[] = { c->rto_at, c->tlp_at, c->rack_at, c->persist_at, c->delack_at, c->wait_at,
                    c->state == TCP_CLOSED ? SIM_NEVER_PS : c->cc.next_wake_ps };
    int64_t least = SIM_NEVER_PS;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        if (t[i] < least)
            least = t[i];
    return least;
}
