/* SPDX-License-Identifier: GPL-2.0-only */
/** The connection's inside, for the engine's own files. Sequence numbers are 64-bit and count from 0 at a side's SYN: the stream's
 *  byte n is n + 1, the FIN follows the last byte. Only tcp_wire_* turn them into the 32 bits on the wire and back.
 */
#ifndef RNICSIM_TCP_TCP_INTERNAL_H
#define RNICSIM_TCP_TCP_INTERNAL_H

#include "tcp.h"
#include "tcp_board.h"
#include "tcp_reasm.h"
#include "../sim/trace.h"
#include "../wire/codec.h"

#define TCP_OPTIONS_MAX 40
#define TCP_DEFAULT_MSS 536      /* RFC 9293 3.7.1 */
#define TCP_LEAST_MSS 64         /* what is obeyed of a smaller announcement; Linux 48 */
#define TCP_PRIOR_MAX 8

enum tcp_recovery { TCP_CA_OPEN, TCP_CA_RECOVERY, TCP_CA_LOSS };
enum tcp_tlp { TCP_TLP_NONE, TCP_TLP_NEW, TCP_TLP_AGAIN };

struct tcp_conn {
    struct endpoint ep;
    const struct tcp_params *params;
    const struct tcp_user_ops *ops;
    void *user;
    enum tcp_state state;
    int error;
    struct tcp_addr addr;
    uint32_t flow_hash, id;
    uint8_t dscp, ttl;

    /* agreed in the handshake */
    uint32_t emss, agreed_mss;   /* agreed_mss: before the path and the options take theirs */
    uint8_t snd_wscale, rcv_wscale;
    bool sack_ok, ts_ok, ws_ok, ecn_ok, ecn_exact, passive;

    /* sending */
    uint32_t iss;
    uint64_t una, nxt, end;      /* end: past the last byte the user has given */
    uint64_t wnd, max_wnd, wl1, wl2;
    bool fin_wanted, fin_sent, syn_wanted, rst_wanted, probe_wanted, override_sws, cwr_wanted, ece_latched, fill_blocked;
    bool rst_acks;               /* the reset carries an acknowledgement number */
    uint32_t rst_seq, rst_ack;
    struct tcp_board board;
    struct cc cc;
    const struct cc_ops *cc_ops;
    const void *cc_params;
    int64_t pace_ps, last_sent_ps;
    struct tcp_range sack_seen[PKT_TCP_SACK_MAX]; /* the peer's last SACK blocks: what they cover need not be looked at again */

    /* loss */
    enum tcp_recovery ca;
    uint64_t recover;            /* nxt when the last loss recovery began, 0 before the first */
    uint64_t cwr_until;          /* nxt at the last reduction: one window's congestion is answered once (RFC 3168 6.1.2) */
    struct { uint64_t delivered, out, flight; bool on; } prr; /* RFC 6937 */
    uint32_t dup_acks;
    int64_t  inflate;            /* the window's inflation without SACK (RFC 6582) and Limited Transmit's allowance */
    uint64_t limited;            /* bytes that Limited Transmit sent: not part of FlightSize */
    bool force_retx, rescued;
    enum tcp_tlp tlp_wanted;
    uint64_t tlp_end;            /* 0: no probe out */
    bool tlp_again;
    struct { int64_t sent_ps, rtt_ps, min_rtt_ps; uint64_t end, fack, dsack_round; uint32_t reo_mult, reo_persist; bool reordering; } rack;

    /* round trip and timers (SIM_NEVER_PS: off) */
    int64_t srtt_ps, rttvar_ps, rto_ps;
    uint32_t backoff, syn_resent, persist_count;
    int64_t rto_at, tlp_at, rack_at, persist_at, delack_at, wait_at;
    uint64_t rto_una;            /* una at the last timeout */
    bool rto_una_set;

    /* receiving */
    uint32_t irs;
    uint64_t rcv_nxt, rcv_adv, consumed, last_ack_sent, rcv_fin; /* rcv_fin: the peer's FIN, 0 if not seen */
    struct tcp_reasm reasm;
    uint32_t unacked_segs;
    bool ack_now, ce_state;
    uint32_t nprior;
    struct { uint64_t ack; bool ece; } prior[TCP_PRIOR_MAX]; /* acknowledgements due from before changes of the CE state, oldest first */
    struct tcp_range dsack;      /* to be reported, from == to: none */
    uint32_t ts_base, ts_recent;
    int64_t ts_recent_ps;
    int64_t answered_ps, challenged_ps; /* last answer to an unacceptable bare acknowledgement, last challenge ACK; -1: none */
    struct tcp_counters counters;
};

static inline uint32_t tcp_wire_seq(const struct tcp_conn *c, uint64_t seq) { return c->iss + (uint32_t)seq; }
static inline uint32_t tcp_wire_ack(const struct tcp_conn *c, uint64_t seq) { return c->irs + (uint32_t)seq; }
/** The peer's acknowledgement number as a distance from una (RFC 9293 3.4). */
static inline int64_t tcp_wire_ack_diff(const struct tcp_conn *c, uint32_t ack) { return wire_seq_diff(ack, tcp_wire_seq(c, c->una)); }
/** The peer's sequence number as a distance from rcv_nxt. */
static inline int64_t tcp_wire_seq_diff(const struct tcp_conn *c, uint32_t seq) { return wire_seq_diff(seq, tcp_wire_ack(c, c->rcv_nxt)); }

/* tcp.c */
void tcp_set_state(struct tcp_conn *c, int64_t now_ps, enum tcp_state to);
void tcp_fail(struct tcp_conn *c, int64_t now_ps, int error);
void tcp_trace(const struct tcp_conn *c, int64_t now_ps, enum sim_trace_point point, uint64_t a, uint64_t b);
void tcp_trace_cwnd(const struct tcp_conn *c, int64_t now_ps, int64_t before);
/** Window and state after the handshake. */
void tcp_established(struct tcp_conn *c, int64_t now_ps);
/** A half-open passive connection waits for another SYN (RFC 9293 3.10.7.4, RST and SYN in SYN-RECEIVED). */
void tcp_listen_again(struct tcp_conn *c, int64_t now_ps);
void tcp_tell_state(struct tcp_conn *c, int64_t now_ps);

/* tcp_in.c, tcp_ack.c, tcp_prr.c, tcp_rack.c, tcp_out.c */
void tcp_in_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p);
/** The acknowledgement part of a segment at seq with len payload bytes; false: not acceptable, drop the segment. */
bool tcp_ack_in(struct tcp_conn *c, int64_t now_ps, const struct pkt *p, uint64_t seq, uint32_t len);
void tcp_ack_enter_recovery(struct tcp_conn *c, int64_t now_ps);
/** FlightSize of RFC 5681, without Limited Transmit's part, and never more than the window: what is SACKed above a hole has left
 *  the network, and a second loss right after a recovery must not be answered with a larger window. */
uint64_t tcp_ack_flight(const struct tcp_conn *c);
/** A challenge ACK, throttled (RFC 5961 section 7). */
void tcp_ack_challenge(struct tcp_conn *c, int64_t now_ps);
/** Proportional rate reduction (RFC 6937 3.1): recovery begins, an acknowledgement of `delivered` bytes came, recovery is over. */
void tcp_prr_enter(struct tcp_conn *c);
void tcp_prr_ack(struct tcp_conn *c, uint64_t delivered);
void tcp_prr_leave(struct tcp_conn *c);
void tcp_rack_update(struct tcp_conn *c, int64_t now_ps, const struct pkt *p, const struct tcp_acked *a);
void tcp_rack_dsack(struct tcp_conn *c);
void tcp_rack_recovered(struct tcp_conn *c);
/** Mark what was sent long enough before something delivered (RFC 8985 6.2 step 5) and set the reordering timer. */
void tcp_rack_detect(struct tcp_conn *c, int64_t now_ps);
void tcp_rack_on_rto(struct tcp_conn *c, int64_t now_ps);
bool tcp_out_tx(struct endpoint *ep, int64_t now_ps, struct pkt *out);
bool tcp_out_tx_control(struct endpoint *ep, int64_t now_ps, struct pkt *out);
int64_t tcp_out_ready_ps(const struct endpoint *ep);
/** May new data or the FIN go now as far as the peer's window says? */
bool tcp_out_window_blocked(const struct tcp_conn *c);
bool tcp_out_has_new(const struct tcp_conn *c);
/** Window that this side could advertise beyond what it has (bytes the right edge would move). */
uint64_t tcp_out_window_gain(const struct tcp_conn *c);

/* tcp_timer.c */
void tcp_timer_wake(struct endpoint *ep, int64_t now_ps);
int64_t tcp_timer_next_ps(const struct endpoint *ep);
void tcp_timer_sample(struct tcp_conn *c, int64_t rtt_ps);
/** The probe timer stops; a probe that has not left yet is not sent. */
void tcp_timer_stop_tlp(struct tcp_conn *c);
/** Something was sent or acknowledged: the probe timer begins anew (RFC 8985 7.2), if there is to be a probe. */
void tcp_timer_arm_tlp(struct tcp_conn *c, int64_t now_ps);
/** After every entry: the window-probe timer runs exactly while the peer's window alone stops the sender. */
void tcp_timer_settle(struct tcp_conn *c, int64_t now_ps);
void tcp_timer_stop_all(struct tcp_conn *c);

#endif
