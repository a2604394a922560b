/* SPDX-License-Identifier: GPL-2.0-only */
/** Kernel stream sockets over the TCP engine, in a host that charges system calls, copies, per-segment work, interrupts and
 *  wake-ups. Only byte counts and patterns cross this interface; the byte stream itself is on the wire.
 */
#ifndef RNICSIM_TCP_SOCKET_H
#define RNICSIM_TCP_SOCKET_H

#include "tcp.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tcp_socket;

struct tcp_socket_events {
    void (*connected)(void *ctx, struct tcp_socket *s);
    /** send() of `bytes` has returned: they are in the socket buffer. */
    void (*sent)(void *ctx, struct tcp_socket *s, uint64_t bytes);
    /** recv() has returned: literal bytes of the stream for [off, off + len) can be read with tcp_socket_peek until this returns. */
    void (*received)(void *ctx, struct tcp_socket *s, uint64_t off, uint64_t len);
    /** The peer has closed (recv() would return 0), also after this side did; or, with an error, reset or time-out. */
    void (*closed)(void *ctx, struct tcp_socket *s, int error);
};

/** A socket in host h whose application runs on `core`. */
struct tcp_socket *tcp_socket_new(struct host *h, uint32_t core, const struct tcp_params *params, const struct cc_ops *cc,
                                  const void *cc_params, uint32_t id, uint8_t prio, uint8_t dscp) SIM_MUST_CHECK;
void tcp_socket_free(struct tcp_socket *s);
void tcp_socket_on(struct tcp_socket *s, const struct tcp_socket_events *ev, void *ctx);
int  tcp_socket_connect(struct tcp_socket *s, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port);
/** The passive side of one connection: waits for a SYN from that address and port. */
int  tcp_socket_accept(struct tcp_socket *s, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port);
/** Write: head (head_len <= 24 literal bytes, copied) then body_len pattern bytes (seed, from offset 0). A full socket buffer delays
 *  the call's return (blocking send); calls queue in order. */
int  tcp_socket_send(struct tcp_socket *s, const void *head, uint32_t head_len, uint64_t body_len, uint64_t seed);
/** Copy stream bytes [off, off + len) of what `received` announced; false if they lie elsewhere. */
bool tcp_socket_peek(const struct tcp_socket *s, uint64_t off, void *out, uint32_t len);
void tcp_socket_close(struct tcp_socket *s);
const struct tcp_conn *tcp_socket_conn(const struct tcp_socket *s);

#ifdef __cplusplus
}
#endif
#endif
