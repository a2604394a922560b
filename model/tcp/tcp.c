/* SPDX-License-Identifier: GPL-2.0-only */
/** A connection's life and its user's calls (RFC 9293 section 3.10). */
#include "tcp_internal.h"

#include "../sim/rng.h"

#include <stdlib.h>

static const struct endpoint_ops endpoint_ops = {
    .rx = tcp_in_rx, .tx = tcp_out_tx, .wake = tcp_timer_wake, .ready_ps = tcp_out_ready_ps,
    .next_wake_ps = tcp_timer_next_ps, .tx_control = tcp_out_tx_control,
};

#define TO(s) (1u << TCP_##s)
static const uint16_t allowed[] = {
    [TCP_CLOSED]       = TO(LISTEN) | TO(SYN_SENT),
    [TCP_LISTEN]       = TO(SYN_RECEIVED) | TO(CLOSED),
    [TCP_SYN_SENT]     = TO(SYN_RECEIVED) | TO(ESTABLISHED) | TO(CLOSED),
    [TCP_SYN_RECEIVED] = TO(ESTABLISHED) | TO(FIN_WAIT_1) | TO(LISTEN) | TO(CLOSED),
    [TCP_ESTABLISHED]  = TO(FIN_WAIT_1) | TO(CLOSE_WAIT) | TO(CLOSED),
    [TCP_FIN_WAIT_1]   = TO(FIN_WAIT_2) | TO(CLOSING) | TO(TIME_WAIT) | TO(CLOSED),
    [TCP_FIN_WAIT_2]   = TO(TIME_WAIT) | TO(CLOSED),
    [TCP_CLOSE_WAIT]   = TO(LAST_ACK) | TO(CLOSED),
    [TCP_CLOSING]      = TO(TIME_WAIT) | TO(CLOSED),
    [TCP_LAST_ACK]     = TO(CLOSED),
    [TCP_TIME_WAIT]    = TO(CLOSED),
};
#undef TO

void tcp_trace(const struct tcp_conn *c, int64_t now_ps, enum sim_trace_point point, uint64_t a, uint64_t b)
{
    struct sim *s;
    if (!c->ep.host || !sim_tracing(s = host_sim(c->ep.host)))
        return;
    struct sim_trace t = { .now_ps = now_ps, .point = point, .node = host_node(c->ep.host), .id = c->id, .a = a, .b = b };
    sim_trace_emit(s, &t);
}

void tcp_trace_cwnd(const struct tcp_conn *c, int64_t now_ps, int64_t before)
{
    if (c->cc.cwnd_bytes != before)
        tcp_trace(c, now_ps, SIM_TRACE_CWND, (uint64_t)c->cc.cwnd_bytes, (uint64_t)c->cc.ssthresh_bytes);
}

void tcp_set_state(struct tcp_conn *c, int64_t now_ps, enum tcp_state to)
{
    if (!(allowed[c->state] >> to & 1u))
        assert(!"a transition that RFC 9293 does not know");
    tcp_trace(c, now_ps, SIM_TRACE_STATE, c->state, to);
    c->state = to;
    if (to == TCP_CLOSED)
        tcp_timer_stop_all(c);
}

void tcp_fail(struct tcp_conn *c, int64_t now_ps, int error)
{
    c->error = error;
    tcp_set_state(c, now_ps, TCP_CLOSED);
    if (c->ops && c->ops->state)
        c->ops->state(c->user, now_ps, TCP_CLOSED, error);
}

void tcp_tell_state(struct tcp_conn *c, int64_t now_ps)
{
    if (c->ops && c->ops->state)
        c->ops->state(c->user, now_ps, c->state, 0);
}

/* The least shift that lets the window field say the whole buffer (RFC 7323 2.3). */
static void choose_wscale(struct tcp_conn *c)
{
    c->rcv_wscale = 0;
    while (c->params->window_scale && c->params->receive_buffer_bytes >> c->rcv_wscale > UINT16_MAX && c->rcv_wscale < 14)
        c->rcv_wscale++;
}

struct tcp_conn *tcp_new(const struct tcp_params *params, const struct cc_ops *cc, const void *cc_params,
                         const struct tcp_addr *addr, uint32_t id, uint64_t seed, int64_t link_bps)
{
    struct tcp_conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->ep.ops = &endpoint_ops;
    c->ep.id = id;
    c->params = params;
    c->addr = *addr;
    c->id = id;
    c->ttl = 64;
    c->flow_hash = pkt_flow_hash(addr->local_addr, addr->remote_addr, 6, addr->local_port, addr->remote_port);
    struct sim_rng r;
    uint64_t name = (uint64_t)addr->local_addr << 32 ^ (uint64_t)addr->local_port << 16 ^ addr->remote_port ^ (uint64_t)id << 20;
    sim_rng_init(&r, seed, name, SIM_RNG_ISN);
    c->iss = sim_rng_u32(&r);
    c->ts_base = sim_rng_u32(&r);
    c->emss = TCP_DEFAULT_MSS;
    c->end = c->consumed = 1;
    choose_wscale(c);
    c->answered_ps = c->challenged_ps = -1;
    c->rto_ps = params->rto_initial_ps;
    c->rack.min_rtt_ps = SIM_NEVER_PS;
    c->rack.reo_mult = 1;
    c->rack.sent_ps = -1;
    tcp_timer_stop_all(c);
    tcp_board_init(&c->board);
    tcp_reasm_init(&c->reasm);
    c->cc.link_bps = link_bps;
    c->cc.mss_bytes = (uint32_t)params->mss_bytes;
    c->cc.initial_window_bytes = (uint32_t)(params->initial_window_count * params->mss_bytes);
    c->cc_ops = cc;
    c->cc_params = cc_params;
    cc_start(&c->cc, cc, cc_params, 0);
    return c;
}

void tcp_free(struct tcp_conn *c)
{
    if (!c)
        return;
    tcp_board_fini(&c->board);
    tcp_reasm_fini(&c->reasm);
    free(c);
}

void tcp_set_user(struct tcp_conn *c, const struct tcp_user_ops *ops, void *user)
{
    c->ops = ops;
    c->user = user;
}

struct endpoint *tcp_endpoint(struct tcp_conn *c) { return &c->ep; }

void tcp_set_ip(struct tcp_conn *c, uint8_t dscp, uint8_t ttl)
{
    c->dscp = dscp;
    c->ttl = ttl;
}

void tcp_set_isn(struct tcp_conn *c, uint32_t isn) { c->iss = isn; }
void tcp_set_base_rtt(struct tcp_conn *c, int64_t base_rtt_ps) { c->cc.base_rtt_ps = base_rtt_ps; }

void tcp_set_path_mss(struct tcp_conn *c, uint32_t mss)
{
    uint32_t least = 64, most = c->agreed_mss ? c->agreed_mss : TCP_DEFAULT_MSS;
    mss = mss < least ? least : mss;
    c->emss = (mss < most ? mss : most) - (c->ts_ok ? 12 : 0);
    c->cc.mss_bytes = c->emss;
}

int tcp_connect(struct tcp_conn *c, int64_t now_ps)
{
    if (c->state != TCP_CLOSED || c->nxt || c->error)
        return SIM_ERR_STATE;
    tcp_set_state(c, now_ps, TCP_SYN_SENT);
    c->syn_wanted = true;
    return SIM_OK;
}

int tcp_accept(struct tcp_conn *c, int64_t now_ps)
{
    if (c->state != TCP_CLOSED || c->nxt || c->error)
        return SIM_ERR_STATE;
    c->passive = true;
    tcp_set_state(c, now_ps, TCP_LISTEN);
    return SIM_OK;
}

void tcp_listen_again(struct tcp_conn *c, int64_t now_ps)
{
    struct tcp_acked a;
    tcp_board_acked_init(&a);
    tcp_board_ack(&c->board, c->nxt, &a);
    tcp_set_state(c, now_ps, TCP_LISTEN);
    tcp_timer_stop_all(c);
    c->nxt = c->una = c->rcv_nxt = c->rcv_adv = c->last_ack_sent = 0;
    c->syn_resent = c->backoff = 0;
    c->rto_ps = c->params->rto_initial_ps;
    c->sack_ok = c->ts_ok = c->ws_ok = c->ecn_ok = c->ecn_exact = false;
    choose_wscale(c);
}

void tcp_established(struct tcp_conn *c, int64_t now_ps)
{
    tcp_set_state(c, now_ps, TCP_ESTABLISHED);
    c->cc.mss_bytes = c->emss;
    /* RFC 6928 section 2: a lost SYN or SYN-ACK makes the initial window one segment (RFC 5681 3.1). */
    int64_t segments = c->syn_resent ? 1 : c->params->initial_window_count;
    c->cc.initial_window_bytes = (uint32_t)(segments * c->emss);
    cc_start(&c->cc, c->cc_ops, c->cc_params, now_ps);
    /* RFC 6298 5.7: 3 s where the initial timeout is 1 s, if the SYN timed out and gave no sample. */
    if (c->syn_resent && !c->srtt_ps)
        c->rto_ps = 3 * c->params->rto_initial_ps;
    c->backoff = 0;
    c->last_sent_ps = now_ps;
    tcp_trace_cwnd(c, now_ps, -1);
    if (c->ops && c->ops->state)
        c->ops->state(c->user, now_ps, TCP_ESTABLISHED, 0);
}

void tcp_stream_end(struct tcp_conn *c, int64_t now_ps, uint64_t end)
{
    if (c->fin_wanted || c->state == TCP_TIME_WAIT || (c->state == TCP_CLOSED && c->error))
        return;
    assert(end + 1 >= c->end);
    c->end = end + 1;
    c->fill_blocked = false;
    tcp_timer_settle(c, now_ps);
}

void tcp_consumed(struct tcp_conn *c, int64_t now_ps, uint64_t off)
{
    (void)now_ps;
    assert(off + 1 >= c->consumed && off + 1 <= c->rcv_nxt);
    c->consumed = off + 1;
    /* As Linux: tell the peer when what it may send has shrunk to half the buffer or less and would at least double. */
    uint64_t window = c->rcv_adv - c->rcv_nxt, gain = tcp_out_window_gain(c);
    if (2 * window <= (uint64_t)c->params->receive_buffer_bytes && gain >= window && gain > 0)
        c->ack_now = true;
}

void tcp_close(struct tcp_conn *c, int64_t now_ps)
{
    if (c->fin_wanted)
        return;
    switch (c->state) {
    case TCP_LISTEN:
    case TCP_SYN_SENT:
        tcp_set_state(c, now_ps, TCP_CLOSED);
        break;
    case TCP_SYN_RECEIVED:      /* the FIN waits until the SYN is acknowledged */
    case TCP_ESTABLISHED:
    case TCP_CLOSE_WAIT:
        c->fin_wanted = true;
        break;
    default:
        break;
    }
    tcp_timer_settle(c, now_ps);
}

/* RFC 9293 3.10.5: not before the peer knows of the connection, nor when both sides have closed. */
static bool aborts_by_reset(enum tcp_state s)
{
    return s == TCP_SYN_RECEIVED || s == TCP_ESTABLISHED || s == TCP_FIN_WAIT_1 || s == TCP_FIN_WAIT_2 || s == TCP_CLOSE_WAIT;
}

void tcp_abort(struct tcp_conn *c, int64_t now_ps)
{
    if (c->state == TCP_CLOSED)
        return;
    if (aborts_by_reset(c->state)) {
        c->rst_wanted = true;
        c->rst_acks = c->rcv_nxt > 0;
        c->rst_seq = tcp_wire_seq(c, c->nxt);
        c->rst_ack = tcp_wire_ack(c, c->rcv_nxt);
    }
    c->error = SIM_ERR_STATE;
    tcp_set_state(c, now_ps, TCP_CLOSED);
}

enum tcp_state tcp_state(const struct tcp_conn *c) { return c->state; }
uint32_t tcp_emss(const struct tcp_conn *c) { return c->emss; }

/* A stream offset from a sequence number: neither SYN nor FIN is of the stream. */
static uint64_t stream_off(const struct tcp_conn *c, uint64_t seq)
{
    return seq == 0 ? 0 : (seq > c->end ? c->end : seq) - 1;
}

uint64_t tcp_snd_una(const struct tcp_conn *c) { return stream_off(c, c->una); }
uint64_t tcp_snd_nxt(const struct tcp_conn *c) { return stream_off(c, c->nxt); }
const struct cc *tcp_cc(const struct tcp_conn *c) { return &c->cc; }
int64_t tcp_rto_ps(const struct tcp_conn *c) { return c->rto_ps; }
int64_t tcp_srtt_ps(const struct tcp_conn *c) { return c->srtt_ps; }
uint64_t tcp_pipe(const struct tcp_conn *c) { return tcp_board_pipe(&c->board); }
const struct tcp_counters *tcp_counters(const struct tcp_conn *c) { return &c->counters; }
