/* SPDX-License-Identifier: GPL-2.0-only */
/** A message channel from one host to another, the same to a workload whatever carries it: verbs over RoCE or iWARP, or a kernel
 *  socket with length framing. Latency runs from the post to the peer's application being able to use the last byte.
 */
#ifndef RNICSIM_WORKLOAD_CHAN_H
#define RNICSIM_WORKLOAD_CHAN_H

#include "../rnic/verbs.h"
#include "../tcp/socket.h"

#ifdef __cplusplus
extern "C" {
#endif

enum wl_operation { WL_OP_SEND, WL_OP_WRITE, WL_OP_READ };

enum wl_outcome { WL_OK, WL_FAILED, WL_UNFINISHED };

/** What befell one message; the workload owns the array, a channel fills rows by index. Times -1 until they happen. */
struct wl_message {
    uint32_t src, dst;           /* host nodes */
    uint32_t flow;               /* channel id */
    uint16_t stream;             /* which workload element it belongs to */
    uint8_t  outcome;            /* enum wl_outcome; WL_UNFINISHED until it ends */
    uint8_t  status;             /* enum rnic_wc_status when failed */
    uint8_t  measured;           /* inside the measurement window */
    uint8_t  waited_timer;       /* a retransmission timer fired for its connection while it was under way */
    uint64_t bytes;
    int64_t  posted_ps, delivered_ps, completed_ps;
};

struct wl_chan;
struct wl_sink {
    /** The peer's application can use the last byte of message `id`. */
    void (*delivered)(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps);
    /** The requester's completion: status 0 or an error. After an error the message counts as failed; one that completed with success
     *  but can no longer arrive is told again, with the error. */
    void (*completed)(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps, enum rnic_wc_status status);
};

/** Send message `id` of `bytes` (1 .. 2^31 - 1) now. Queues without bound if the transport's queue is full. */
void wl_chan_send(struct wl_chan *c, uint64_t id, uint64_t bytes);
/** The connection has come up: post what has been queued since. Verbs only (a socket tells itself); harmless otherwise. */
void wl_chan_up(struct wl_chan *c);
/** The connection could not be made, or is lost: everything under way and later fails with status. */
void wl_chan_fail(struct wl_chan *c, enum rnic_wc_status status);
/** How often this channel's connection(s) have waited for a timer (retransmission, RNR, tail-loss probe) so far, both ends. */
uint64_t wl_chan_timeouts(const struct wl_chan *c);
/** An error has ended it: what has not arrived by now, and all that follows, fails. */
bool wl_chan_broken(const struct wl_chan *c);
uint32_t wl_chan_id(const struct wl_chan *c);
void wl_chan_free(struct wl_chan *c);

/** What stands between a QP's completion queues and its channel. The caller keeps one (chan NULL, host and core set) per QP until the QP is
 *  gone, makes the QP's CQs with wl_cq_on_wc and the link as context, and gives it to the QP as user context (rnic_qp_set_ctx).
 *  A CQ that many QPs share has its own callback instead, which calls wl_cq_on_wc with the link of wc->qpn. */
struct wl_cq_link { struct wl_chan *chan; struct host *host; uint32_t core; };
void wl_cq_on_wc(void *link, const struct rnic_wc *wc);

/** Over two QPs, connected or connecting (then wl_chan_up is called when both are in RTS). qp is at the host that the data comes
 *  from, peer where it goes; MRs and receives are made here. SEND and WRITE are posted at qp; READ is posted by peer, so
 *  that an operation does not change who loads which link; its latency includes the request's way. A Write's receiver polls memory
 *  (rnic_mr_watch). Depth of queues: the QPs' own; receives are topped up to theirs, at most 1024. NULL: out of memory. */
struct wl_chan *wl_chan_verbs(uint32_t id, struct rnic_pd *pd, struct rnic_qp *qp, struct rnic_pd *peer_pd, struct rnic_qp *peer, enum wl_operation op,
                              uint64_t max_message_bytes, const struct wl_sink *sink, void *ctx);
/** Over two sockets, connected or connecting (it takes their events). A message is 8 bytes, its length and a tag, and then its
 *  body; the receiver finds messages by the lengths in the stream. */
struct wl_chan *wl_chan_socket(uint32_t id, struct tcp_socket *sender, struct tcp_socket *receiver, const struct wl_sink *sink, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
