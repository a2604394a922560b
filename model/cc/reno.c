/* SPDX-License-Identifier: GPL-2.0-only */
/** NewReno's window (RFC 5681, RFC 6582): slow start, congestion avoidance by byte counting (RFC 3465), halving. Which
 *  segments are lost, and the window's inflation without SACK, are the transport's business.
 */
#include "cc_list.h"

struct reno { int64_t counted_bytes; };
_Static_assert(sizeof(struct reno) <= CC_STATE_BYTES, "state fits");

static void reno_init(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    c->cwnd_bytes = c->initial_window_bytes;
}

static void reno_ack(struct cc *c, const struct cc_ack *a)
{
    struct reno *r = (struct reno *)&c->state;
    int64_t acked = (int64_t)a->acked_bytes, mss = c->mss_bytes;
    if (a->in_recovery || !a->cwnd_limited || acked == 0)
        return;
    if (c->cwnd_bytes < c->ssthresh_bytes) {
        /* RFC 3465 2.1 with no limit on what one ACK may add beyond the bytes it acknowledges, as Linux; a window that
         * reaches ssthresh goes on linearly with the rest. */
        int64_t room = c->ssthresh_bytes - c->cwnd_bytes;
        int64_t grow = acked < room ? acked : room;
        c->cwnd_bytes += grow;
        acked -= grow;
    }
    r->counted_bytes += acked;
    while (r->counted_bytes >= c->cwnd_bytes && c->cwnd_bytes >= c->ssthresh_bytes) {
        r->counted_bytes -= c->cwnd_bytes;
        c->cwnd_bytes += mss;
    }
}

static void halve(struct cc *c, uint64_t in_flight_bytes)
{
    int64_t half = (int64_t)(in_flight_bytes / 2), floor = 2 * (int64_t)c->mss_bytes;
    c->ssthresh_bytes = half > floor ? half : floor;    /* RFC 5681 equation 4 */
    ((struct reno *)&c->state)->counted_bytes = 0;
}

static void reno_loss(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    (void)now_ps;
    halve(c, in_flight_bytes);
    c->cwnd_bytes = c->ssthresh_bytes;
}

static void reno_recovered(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    c->cwnd_bytes = c->ssthresh_bytes;
}

static void reno_timeout(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    (void)now_ps;
    halve(c, in_flight_bytes);
    c->cwnd_bytes = c->mss_bytes;                       /* loss window, RFC 5681 3.1 */
}

const struct cc_ops cc_reno = {
    .name = "reno", .init = reno_init, .ack = reno_ack, .loss = reno_loss, .recovered = reno_recovered, .timeout = reno_timeout,
};
