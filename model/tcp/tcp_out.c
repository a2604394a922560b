/* SPDX-License-Identifier: GPL-2.0-only */
/** What a connection sends next, and how it looks on the wire. */
#include "tcp_internal.h"

#include <string.h>

enum next { NEXT_NONE, NEXT_RST, NEXT_PRIOR_ACK, NEXT_SYN, NEXT_ACK, NEXT_RETX, NEXT_NEW, NEXT_PROBE };

static bool sends_data(const struct tcp_conn *c)
{
    return c->state == TCP_ESTABLISHED || c->state == TCP_CLOSE_WAIT || c->state == TCP_FIN_WAIT_1 || c->state == TCP_CLOSING ||
           c->state == TCP_LAST_ACK;
}

bool tcp_out_has_new(const struct tcp_conn *c)
{
    return sends_data(c) && (c->nxt < c->end || (c->fin_wanted && !c->fin_sent));
}

static uint64_t window_room(const struct tcp_conn *c)
{
    uint64_t edge = c->una + c->wnd;
    return edge > c->nxt ? edge - c->nxt : 0;
}

static uint32_t wanted(const struct tcp_conn *c)
{
    uint64_t left = c->end - c->nxt;
    return left < c->emss ? (uint32_t)left : c->emss;
}

/* Payload bytes of a new segment that the peer's window allows, by the sender's rule against silly windows (RFC 9293 3.8.6.2.1);
 * false: none, not even a FIN. */
static bool window_allows(const struct tcp_conn *c, uint32_t *len)
{
    uint32_t want = wanted(c);
    uint64_t room = window_room(c);
    *len = want;
    if (want == 0)
        return room > 0 || c->wnd == 0;         /* a FIN alone: also into a closed window, as a probe would */
    if (room >= want)
        return true;
    *len = (uint32_t)room;
    return room > 0 && (c->override_sws || (room >= c->max_wnd / 2 && c->max_wnd > 0));
}

bool tcp_out_window_blocked(const struct tcp_conn *c)
{
    uint32_t len;
    return tcp_out_has_new(c) && (c->fill_blocked || !window_allows(c, &len));
}

static bool cwnd_allows(const struct tcp_conn *c, uint32_t len)
{
    if (c->cc.cwnd_bytes == CC_NO_WINDOW)
        return true;
    uint64_t pipe = tcp_board_pipe(&c->board);
    if (pipe == 0)
        return true;
    return (int64_t)(pipe + len) <= c->cc.cwnd_bytes + c->inflate;
}

static bool may_resend(const struct tcp_conn *c)
{
    if (c->tlp_wanted == TCP_TLP_AGAIN)
        return true;
    if (!sends_data(c) && c->state != TCP_FIN_WAIT_2)
        return false;
    uint64_t i = tcp_board_next_lost(&c->board);
    if (i == c->board.tail)
        return false;
    return c->force_retx || cwnd_allows(c, tcp_board_at(&c->board, i)->len);
}

static bool may_send_new(const struct tcp_conn *c, uint32_t *len)
{
    if (!tcp_out_has_new(c) || c->fill_blocked || !window_allows(c, len))
        return false;
    if (c->tlp_wanted == TCP_TLP_NEW)
        return true;
    if (!cwnd_allows(c, *len))
        return false;
    if (!c->params->limited_transmit && c->ca == TCP_CA_OPEN && c->board.sacked)
        return false;
    /* Nagle: a small segment waits for what is outstanding (RFC 9293 3.7.4). */
    if (c->params->nagle && *len < c->emss && !tcp_board_empty(&c->board) && !(c->fin_wanted && c->nxt + *len == c->end))
        return false;
    return true;
}

/* SACK blocks are worth a packet of their own before data, since a full segment has no room for them. */
static bool sack_to_tell(const struct tcp_conn *c)
{
    return c->sack_ok && (!tcp_reasm_empty(&c->reasm) || c->dsack.from != c->dsack.to);
}

static enum next next_of(const struct tcp_conn *c)
{
    uint32_t len;
    if (c->rst_wanted)
        return NEXT_RST;
    if (c->state == TCP_CLOSED || c->state == TCP_LISTEN)
        return NEXT_NONE;
    if (c->syn_wanted)
        return NEXT_SYN;
    if (c->state == TCP_SYN_SENT)
        return NEXT_NONE;
    if (c->nprior)
        return NEXT_PRIOR_ACK;
    if (c->ack_now && sack_to_tell(c))
        return NEXT_ACK;
    if (may_resend(c))
        return NEXT_RETX;
    if (may_send_new(c, &len))
        return NEXT_NEW;
    if (c->probe_wanted)
        return NEXT_PROBE;
    return c->ack_now ? NEXT_ACK : NEXT_NONE;
}

int64_t tcp_out_ready_ps(const struct endpoint *ep)
{
    const struct tcp_conn *c = (const struct tcp_conn *)ep;
    enum next n = next_of(c);
    if (n == NEXT_NONE)
        return SIM_NEVER_PS;
    if ((n == NEXT_RETX || n == NEXT_NEW) && !c->ack_now)
        return c->pace_ps;
    return 0;
}

/* --- the window this side advertises --- */

static uint64_t window_edge(const struct tcp_conn *c)
{
    /* what the field can say bounds it: without scaling a large buffer would else look like an opening at every read */
    uint64_t room = c->consumed + (uint64_t)c->params->receive_buffer_bytes, most = c->rcv_nxt + ((uint64_t)UINT16_MAX << c->rcv_wscale);
    return room < most ? room : most;
}

uint64_t tcp_out_window_gain(const struct tcp_conn *c)
{
    uint64_t edge = window_edge(c), half = (uint64_t)c->params->receive_buffer_bytes / 2, least = half < c->emss ? half : c->emss;
    /* RFC 9293 3.8.6.2.2: the edge moves by a segment or half the buffer at least. */
    return edge > c->rcv_adv && edge - c->rcv_adv >= least ? edge - c->rcv_adv : 0;
}

static uint16_t window_field(struct tcp_conn *c, bool syn)
{
    c->rcv_adv += tcp_out_window_gain(c);
    uint64_t window = c->rcv_adv > c->rcv_nxt ? c->rcv_adv - c->rcv_nxt : 0;
    unsigned shift = syn ? 0 : c->rcv_wscale;
    if (window >> shift > UINT16_MAX) {
        window = (uint64_t)UINT16_MAX << shift;
        c->rcv_adv = c->rcv_nxt + window;
    }
    return (uint16_t)(window >> shift);
}

/* --- packets --- */

/* What is not new data is not ECN-capable (RFC 3168 6.1.4 to 6.1.6), but DCTCP's SYN, SYN-ACK and RST are to be treated in
 * the fabric as its data (RFC 8257 3.5). */
static bool control_is_ect(const struct tcp_conn *c, uint8_t flags)
{
    if (!(flags & (TCP_SYN | TCP_RST)))
        return c->ecn_exact && c->params->ect_all;
    bool offer = flags & TCP_SYN && !(flags & TCP_ACK);
    return offer ? c->cc_ops->ecn && c->cc_ops->ecn_exact : c->ecn_exact;
}

static void put_head(struct tcp_conn *c, int64_t now_ps, struct pkt *p, uint64_t seq, uint8_t flags)
{
    p->kind = PKT_TCP;
    p->src = c->addr.local_addr;
    p->dst = c->addr.remote_addr;
    p->sport = c->addr.local_port;
    p->dport = c->addr.remote_port;
    p->flow_hash = c->flow_hash;
    p->dscp = c->dscp;
    p->ttl = c->ttl;
    p->ecn = 0;
    struct pkt_tcp *t = &p->tcp;
    t->seq = tcp_wire_seq(c, seq);
    t->flags = flags;
    if (flags & TCP_ACK)
        t->ack = tcp_wire_ack(c, c->rcv_nxt);
    t->window = window_field(c, flags & TCP_SYN);
    if (c->ecn_ok && flags & TCP_ACK && !(flags & TCP_SYN) && (c->ecn_exact ? c->ce_state : c->ece_latched))
        t->flags |= TCP_ECE;
    if (c->ts_ok) {
        t->opt |= TCP_OPT_TS;
        t->ts_val = c->ts_base + (uint32_t)(now_ps / c->params->timestamp_tick_ps);
        t->ts_ecr = flags & TCP_ACK ? c->ts_recent : 0;
    }
    if (control_is_ect(c, flags))
        p->ecn = 2;
    c->counters.sent_segments++;
}

static void put_sack(struct tcp_conn *c, struct pkt *p)
{
    struct tcp_range r[PKT_TCP_SACK_MAX];
    uint32_t max = c->ts_ok ? 3 : 4, n = 0;
    bool dsack = c->dsack.from != c->dsack.to;
    if (dsack)
        r[n++] = c->dsack;
    n += tcp_reasm_recent(&c->reasm, r + n, max - n);
    c->dsack = (struct tcp_range){ 0, 0 };
    if (!n)
        return;
    p->tcp.opt |= TCP_OPT_SACK;
    p->tcp.nsack = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        p->tcp.sack[i].from = tcp_wire_ack(c, r[i].from);
        p->tcp.sack[i].to = tcp_wire_ack(c, r[i].to);
    }
}

static void acknowledged(struct tcp_conn *c)
{
    c->ack_now = false;
    c->unacked_segs = 0;
    c->delack_at = SIM_NEVER_PS;
    c->last_ack_sent = c->rcv_nxt;
}

static void tx_ack(struct tcp_conn *c, int64_t now_ps, struct pkt *out, uint64_t seq)
{
    put_head(c, now_ps, out, seq, TCP_ACK);
    if (c->sack_ok)
        put_sack(c, out);
    acknowledged(c);
    c->counters.acks_sent++;
    pkt_set_len(out);
}

/* RFC 8257 3.2: what came before the CE state changed is acknowledged with the old state. */
static void tx_prior_ack(struct tcp_conn *c, int64_t now_ps, struct pkt *out)
{
    put_head(c, now_ps, out, c->nxt, TCP_ACK);
    out->tcp.ack = tcp_wire_ack(c, c->prior[0].ack);
    out->tcp.flags = (uint8_t)((out->tcp.flags & ~TCP_ECE) | (c->prior[0].ece ? TCP_ECE : 0));
    memmove(c->prior, c->prior + 1, --c->nprior * sizeof c->prior[0]);
    c->counters.acks_sent++;
    pkt_set_len(out);
}

static void tx_rst(struct tcp_conn *c, struct pkt *out)
{
    bool ts = c->ts_ok;
    c->ts_ok = false;
    put_head(c, 0, out, 0, c->rst_acks ? TCP_RST | TCP_ACK : TCP_RST);
    c->ts_ok = ts;
    out->tcp.seq = c->rst_seq;
    out->tcp.ack = c->rst_acks ? c->rst_ack : 0;
    out->tcp.flags &= (uint8_t)~TCP_ECE;
    c->rst_wanted = false;
    pkt_set_len(out);
}

static void start_rto(struct tcp_conn *c, int64_t now_ps)
{
    if (c->rto_at == SIM_NEVER_PS)
        c->rto_at = now_ps + c->rto_ps;          /* RFC 6298 5.1 */
}

static void tx_syn(struct tcp_conn *c, int64_t now_ps, struct pkt *out)
{
    const struct tcp_params *pp = c->params;
    bool answer = c->state == TCP_SYN_RECEIVED, peer_known = c->rcv_nxt > 0;
    bool ts = c->ts_ok;
    if (!peer_known)
        c->ts_ok = pp->timestamps;               /* offered; what is agreed is known when the peer's SYN comes */
    put_head(c, now_ps, out, 0, answer ? TCP_SYN | TCP_ACK : TCP_SYN);
    if (!peer_known)
        c->ts_ok = ts;
    struct pkt_tcp *t = &out->tcp;
    t->opt |= TCP_OPT_MSS;
    t->mss = (uint16_t)pp->mss_bytes;
    if (peer_known ? c->sack_ok : pp->sack != 0)
        t->opt |= TCP_OPT_SACK_PERM;
    if (peer_known ? c->ws_ok : pp->window_scale != 0) {
        t->opt |= TCP_OPT_WSCALE;
        t->wscale = c->rcv_wscale;
    }
    if (!answer && c->cc_ops->ecn)
        t->flags |= TCP_ECE | TCP_CWR;           /* RFC 3168 6.1.1 */
    else if (answer && c->ecn_ok)
        t->flags |= TCP_ECE;
    c->syn_wanted = false;
    if (tcp_board_empty(&c->board)) {
        tcp_board_push(&c->board, 0, 1, SEG_SYN, now_ps);
        c->nxt = 1;
    } else {
        tcp_board_resent(&c->board, c->board.head, now_ps);
        out->flags |= PKT_F_RETX;
        c->counters.retransmitted_segments++;
        tcp_trace(c, now_ps, SIM_TRACE_RETRANSMIT, t->seq, 0);
    }
    if (answer)
        acknowledged(c);
    start_rto(c, now_ps);
    pkt_set_len(out);
}

/* The window over the smoothed round trip, with some to spare so that the window and not the pace limits (as Linux). */
static int64_t window_rate(const struct tcp_conn *c)
{
    const struct tcp_params *p = c->params;
    int64_t window = c->cc.cwnd_bytes;
    if (!p->pacing || !c->srtt_ps || window == CC_NO_WINDOW)
        return CC_NO_RATE;
    double gain = window < c->cc.ssthresh_bytes / 2 ? p->pacing_slow_start_gain : p->pacing_gain;
    double rate = gain * (double)(window > c->emss ? window : c->emss) * 8 * SIM_PS_PER_S / (double)c->srtt_ps;
    return rate < 1e15 ? (int64_t)rate : CC_NO_RATE;
}

static void pace(struct tcp_conn *c, int64_t now_ps, const struct pkt *out)
{
    bool own = c->cc.rate_bps != CC_NO_RATE;     /* congestion control's, of the wire; a window counts payload, as Linux charges it */
    int64_t rate = own ? c->cc.rate_bps : window_rate(c);
    if (rate == CC_NO_RATE || rate <= 0)
        return;
    int64_t from = c->pace_ps > now_ps ? c->pace_ps : now_ps;
    uint64_t bits = 8 * (uint64_t)(own ? out->frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES : out->payload_len);
    c->pace_ps = from + (int64_t)((__uint128_t)bits * (uint64_t)SIM_PS_PER_S / (uint64_t)rate);
}

/* After a data segment: acknowledged by it, paced, timed. */
static void left(struct tcp_conn *c, int64_t now_ps, struct pkt *out)
{
    acknowledged(c);
    pkt_set_len(out);
    start_rto(c, now_ps);
    c->last_sent_ps = now_ps;
    pace(c, now_ps, out);
    if (c->prr.on)
        c->prr.out += out->payload_len + (out->tcp.flags & TCP_FIN);
    if (c->cc.ops->sent)
        c->cc.ops->sent(&c->cc, now_ps, out->frame_len);
}

static void fin_leaves(struct tcp_conn *c, int64_t now_ps)
{
    c->fin_sent = true;
    if (c->state == TCP_ESTABLISHED)
        tcp_set_state(c, now_ps, TCP_FIN_WAIT_1);
    else if (c->state == TCP_CLOSE_WAIT)
        tcp_set_state(c, now_ps, TCP_LAST_ACK);
}

static bool tx_again(struct tcp_conn *c, int64_t now_ps, struct pkt *out)
{
    struct tcp_board *b = &c->board;
    uint64_t i = c->tlp_wanted == TCP_TLP_AGAIN ? b->tail - 1 : tcp_board_next_lost(b);
    assert(b->head <= i && i < b->tail);
    struct tcp_seg *s = tcp_board_at(b, i);
    bool fin = s->flags & SEG_FIN;
    uint32_t bytes = s->len - fin, got = 0;
    if (bytes > c->emss) {                       /* the path has become narrower: RFC 8201 */
        tcp_board_split(b, i, c->emss);
        s = tcp_board_at(b, i);
        bytes = s->len;
        fin = false;
    }
    if (bytes) {
        got = c->ops->fill(c->user, s->from - 1, bytes, out);
        assert(got <= bytes);
        if (got == 0) {
            c->fill_blocked = true;
            return false;
        }
        if (got < bytes) {                       /* the user ends segments elsewhere this time */
            tcp_board_split(b, i, got);
            s = tcp_board_at(b, i);
            fin = false;
        }
    }
    put_head(c, now_ps, out, s->from, (uint8_t)(TCP_ACK | (fin ? TCP_FIN : 0) | (s->from + got == c->end && got ? TCP_PSH : 0)));
    tcp_board_resent(b, i, now_ps);
    out->flags |= PKT_F_RETX;
    c->counters.retransmitted_segments++;
    c->counters.retransmitted_bytes += got;
    if (c->tlp_wanted == TCP_TLP_AGAIN) {
        c->tlp_wanted = TCP_TLP_NONE;
        c->tlp_end = c->nxt;
        c->tlp_again = true;
        c->counters.tlp_probes++;
    } else {
        c->force_retx = false;
    }
    tcp_trace(c, now_ps, SIM_TRACE_RETRANSMIT, out->tcp.seq, got);
    if (c->ca == TCP_CA_RECOVERY && c->sack_ok)
        c->rto_at = SIM_NEVER_PS;                /* started anew below: RFC 6675 section 6, as Linux */
    left(c, now_ps, out);
    return true;
}

/* RFC 5681 4.1 and RFC 2861: a window that was not used for an RTO says nothing of the path now. */
static void idle_restart(struct tcp_conn *c, int64_t now_ps)
{
    int64_t idle = now_ps - c->last_sent_ps, restart = c->cc.initial_window_bytes, before = c->cc.cwnd_bytes;
    if (!c->params->idle_restart || !tcp_board_empty(&c->board) || idle <= c->rto_ps || before == CC_NO_WINDOW || before <= restart)
        return;
    if (c->params->idle_restart == 1) {
        c->cc.cwnd_bytes = restart;
    } else {
        int64_t keep = before / 4 * 3;
        if (c->cc.ssthresh_bytes < keep)
            c->cc.ssthresh_bytes = keep;
        for (; idle > c->rto_ps && c->cc.cwnd_bytes > restart; idle -= c->rto_ps)
            c->cc.cwnd_bytes /= 2;
        if (c->cc.cwnd_bytes < restart)
            c->cc.cwnd_bytes = restart;
    }
    tcp_trace_cwnd(c, now_ps, before);
}

static bool tx_new(struct tcp_conn *c, int64_t now_ps, struct pkt *out, uint32_t len)
{
    uint32_t got = 0;
    idle_restart(c, now_ps);
    if (len) {
        got = c->ops->fill(c->user, c->nxt - 1, len, out);
        assert(got <= len);
        if (got == 0) {
            c->fill_blocked = true;
            return false;
        }
    }
    bool fin = c->fin_wanted && c->nxt + got == c->end;
    put_head(c, now_ps, out, c->nxt, (uint8_t)(TCP_ACK | (fin ? TCP_FIN : 0) | (got && c->nxt + got == c->end ? TCP_PSH : 0)));
    if (c->ecn_ok && got) {
        out->ecn = 2;                            /* ECT(0) on new data only: RFC 3168 6.1.5 */
        if (c->cwr_wanted) {
            out->tcp.flags |= TCP_CWR;
            c->cwr_wanted = false;
        }
    }
    uint32_t units = got + fin;
    if (c->ca == TCP_CA_OPEN && (c->dup_acks || c->board.sacked))
        c->limited += units;
    tcp_board_push(&c->board, c->nxt, units, fin ? SEG_FIN : 0, now_ps);
    c->nxt += units;
    c->counters.sent_bytes += got;
    c->override_sws = c->probe_wanted = false;
    if (fin)
        fin_leaves(c, now_ps);
    left(c, now_ps, out);
    if (c->tlp_wanted == TCP_TLP_NEW) {
        c->tlp_wanted = TCP_TLP_NONE;
        c->tlp_end = c->nxt;
        c->tlp_again = false;
        c->counters.tlp_probes++;
    } else {
        tcp_timer_arm_tlp(c, now_ps);
    }
    return true;
}

/* An empty segment below the window makes the peer say where its window is, and does not cut a record in two (as Linux;
 * RFC 9293 3.8.6.1 would send a byte). */
static void tx_probe(struct tcp_conn *c, int64_t now_ps, struct pkt *out)
{
    tx_ack(c, now_ps, out, c->una - 1);
    c->counters.acks_sent--;
    c->counters.window_probes++;
    c->probe_wanted = false;
}

bool tcp_out_tx(struct endpoint *ep, int64_t now_ps, struct pkt *out)
{
    struct tcp_conn *c = (struct tcp_conn *)ep;
    bool sent = true;
    uint32_t len = 0;
    enum next n = next_of(c);
    if ((n == NEXT_RETX || n == NEXT_NEW) && now_ps < c->pace_ps)
        n = c->ack_now ? NEXT_ACK : NEXT_NONE;
    switch (n) {
    case NEXT_NONE:      return false;
    case NEXT_RST:       tx_rst(c, out); break;
    case NEXT_PRIOR_ACK: tx_prior_ack(c, now_ps, out); break;
    case NEXT_SYN:       tx_syn(c, now_ps, out); break;
    case NEXT_ACK:       tx_ack(c, now_ps, out, c->nxt); break;
    case NEXT_RETX:      sent = tx_again(c, now_ps, out); break;
    case NEXT_NEW:
        may_send_new(c, &len);
        sent = tx_new(c, now_ps, out, len);
        break;
    case NEXT_PROBE:     tx_probe(c, now_ps, out); break;
    }
    if (!sent && c->ack_now) {
        tx_ack(c, now_ps, out, c->nxt);
        sent = true;
    }
    tcp_timer_settle(c, now_ps);
    return sent;
}

bool tcp_out_tx_control(struct endpoint *ep, int64_t now_ps, struct pkt *out)
{
    struct tcp_conn *c = (struct tcp_conn *)ep;
    if (c->state == TCP_CLOSED || c->state == TCP_LISTEN || c->state == TCP_SYN_SENT || c->syn_wanted || c->rst_wanted)
        return false;
    if (c->nprior)
        tx_prior_ack(c, now_ps, out);
    else if (c->ack_now)
        tx_ack(c, now_ps, out, c->nxt);
    else
        return false;
    tcp_timer_settle(c, now_ps);
    return true;
}
