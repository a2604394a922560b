/* SPDX-License-Identifier: GPL-2.0-only */
/** One TCP engine (RFC 9293), used as offload engine by iWARP and as kernel TCP by sockets. A connection is an endpoint; its
 *  stream's bytes come from and go to its user through the two vtables below, so no payload is copied in pattern mode.
 */
#ifndef RNICSIM_TCP_TCP_H
#define RNICSIM_TCP_TCP_H

#include "../cc/cc.h"
#include "../host/endpoint.h"
#include "../host/host.h"
#include "tcp_params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tcp_state { TCP_CLOSED, TCP_LISTEN, TCP_SYN_SENT, TCP_SYN_RECEIVED, TCP_ESTABLISHED, TCP_FIN_WAIT_1, TCP_FIN_WAIT_2, TCP_CLOSE_WAIT,
    TCP_CLOSING, TCP_LAST_ACK, TCP_TIME_WAIT };

struct tcp_conn;

/** The connection's user. Stream offsets are 64-bit and count from 0 at the first byte after the SYN. */
struct tcp_user_ops {
    /** Append the stream's bytes [off, off + len) to p's payload (first transmission or again), at most len; return how many were
     *  put. A record-oriented user (MPA) may put fewer so that a segment ends where it wants. */
    uint32_t (*fill)(void *user, uint64_t off, uint32_t len, struct pkt *p);
    /** In-order payload: bytes [from, from + len) of p's payload are stream bytes [off, off + len). May take CHUNK_BYTES buffers.
     *  p is NULL for bytes that early took. */
    void (*deliver)(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len);
    /** Everything below off is acknowledged and will not be asked for again. */
    void (*acked)(void *user, int64_t now_ps, uint64_t off);
    /** ESTABLISHED; the peer's FIN (CLOSE_WAIT, or after our own CLOSING or TIME_WAIT: nothing more comes); CLOSED by a reset, a time-out,
     *  or both sides' agreement. */
    void (*state)(void *user, int64_t now_ps, enum tcp_state state, int error /* 0, or SIM_ERR_STATE for a reset or time-out */);
    /** Out-of-order payload has arrived (optional, NULL): same arguments as deliver, which still follows in order. true: the user has
     *  taken all of it and TCP keeps its place only, no bytes; false: TCP keeps it. */
    bool (*early)(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len);
};

struct tcp_addr { uint32_t local_addr, remote_addr; uint16_t local_port, remote_port; };

/** A connection, closed. params and cc are kept by reference and const. id names it in streams and traces. */
struct tcp_conn *tcp_new(const struct tcp_params *params, const struct cc_ops *cc, const void *cc_params,
                         const struct tcp_addr *addr, uint32_t id, uint64_t seed, int64_t link_bps) SIM_MUST_CHECK;
void tcp_free(struct tcp_conn *c);
void tcp_set_user(struct tcp_conn *c, const struct tcp_user_ops *ops, void *user);
struct endpoint *tcp_endpoint(struct tcp_conn *c);

/** DSCP and TTL of what it sends; 0 and 64 unless set. */
void tcp_set_ip(struct tcp_conn *c, uint8_t dscp, uint8_t ttl);
/** Initial sequence number; a function of seed and id unless set before opening. */
void tcp_set_isn(struct tcp_conn *c, uint32_t isn);
/** Unloaded round trip of the path, for congestion control that wants it; 0 (unknown) unless set before opening. */
void tcp_set_base_rtt(struct tcp_conn *c, int64_t base_rtt_ps);

/** The path's MTU has changed (RFC 1191, 8201): from now on a segment's options and payload are at most mss bytes (64 at least) and what the
 *  peer's MSS allows; larger segments that must go again are cut. */
void tcp_set_path_mss(struct tcp_conn *c, uint32_t mss);

/* None of the calls below calls the user back or endpoint_changed: the owner does that. The
 * user must not free the connection from a callback. */
int  tcp_connect(struct tcp_conn *c, int64_t now_ps);   /* active open; SIM_ERR_STATE unless closed */
int  tcp_accept(struct tcp_conn *c, int64_t now_ps);    /* passive open: next a SYN comes to rx */
/** The stream now ends at offset end: bytes below it may be sent. */
void tcp_stream_end(struct tcp_conn *c, int64_t now_ps, uint64_t end);
/** The user has consumed up to off: the receive window opens (buffer set by params). */
void tcp_consumed(struct tcp_conn *c, int64_t now_ps, uint64_t off);
void tcp_close(struct tcp_conn *c, int64_t now_ps);
void tcp_abort(struct tcp_conn *c, int64_t now_ps);

enum tcp_state tcp_state(const struct tcp_conn *c);
/** Effective MSS: payload bytes of a full segment after options (EMSS of RFC 5044). */
uint32_t tcp_emss(const struct tcp_conn *c);
/** Stream offsets: first byte not acknowledged, first never sent. */
uint64_t tcp_snd_una(const struct tcp_conn *c);
uint64_t tcp_snd_nxt(const struct tcp_conn *c);
const struct cc *tcp_cc(const struct tcp_conn *c);
/** RTO in force (backed off), smoothed round trip (0 before a sample), bytes thought to be in the network. */
int64_t  tcp_rto_ps(const struct tcp_conn *c);
int64_t  tcp_srtt_ps(const struct tcp_conn *c);
uint64_t tcp_pipe(const struct tcp_conn *c);

/** reassembly_peak_bytes: most out-of-order payload kept at once. sent_segments: all packets; acks_sent: those with neither data, SYN nor FIN; sacked: segments; timer_waits: times a
 *  retransmission, tail-loss or window-probe timer fired with something to send; delayed_ack_timeouts are apart. */
struct tcp_counters { uint64_t sent_segments, retransmitted_segments, retransmitted_bytes, timeouts, fast_retransmits, tlp_probes, dup_acks_in,
    out_of_order_in, sacked, received_segments, reassembly_drops, reassembled_bytes, acks_sent, timer_waits, delayed_ack_timeouts, window_probes, paws_drops,
    duplicates_in, challenge_acks, ce_in, ece_in, sent_bytes, delivered_bytes, reassembly_peak_bytes; };
const struct tcp_counters *tcp_counters(const struct tcp_conn *c);

#ifdef __cplusplus
}
#endif
#endif
