/* SPDX-License-Identifier: GPL-2.0-only */
/* DCTCP's sender (RFC 8257 section 3.3): alpha is the share of bytes that came marked, averaged over windows, and a window in which
 * any came marked costs alpha / 2 of the congestion window, once. Growth is Reno's, losses are answered as Reno does (3.4). What was
 * sent before a reduction lets nothing grow: with RFC 3168 the latched echo sees to that (6.1.2), with the exact one the sender must,
 * as Linux and ns-3 do (CWR state) and HPCC's simulator. */
#include "cc_list.h"
#include "dctcp_params.h"

#define PARAM_STRUCT struct dctcp_params
PARAM_TABLE(dctcp_params, DCTCP_PARAMS)
#undef PARAM_STRUCT

#define DEFAULT_(f, k, d, lo, hi, nm, mean, src) .f = (PARAM_T_##k)(d),
static const struct dctcp_params defaults = { DCTCP_PARAMS(DEFAULT_) };
#undef DEFAULT_

struct dctcp {
    double   alpha;
    uint64_t window_end;      /* of the window under observation */
    uint64_t acked, marked;   /* bytes in it */
    uint64_t cut_until;       /* until then this window's marks have been answered */
    bool     held;            /* and nothing grows until then; a timeout ends it */
    int64_t  counted_bytes;   /* acknowledged since the window last grew, in congestion avoidance */
};
_Static_assert(sizeof(struct dctcp) <= CC_STATE_BYTES, "fits in cc.state");

static struct dctcp *state_of(struct cc *c) { return (struct dctcp *)(void *)&c->state; }
static const struct dctcp_params *params_of(const struct cc *c) { return c->params ? c->params : &defaults; }

static int64_t at_least_two(const struct cc *c, double bytes)
{
    int64_t least = 2 * (int64_t)c->mss_bytes;
    return bytes > (double)least ? (int64_t)bytes : least;
}

static void dctcp_init(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    c->cwnd_bytes = c->initial_window_bytes;
    c->alpha = state_of(c)->alpha = params_of(c)->initial_alpha;
}

/* Steps 1 to 8. */
static void observe(struct cc *c, const struct cc_ack *a)
{
    struct dctcp *d = state_of(c);
    const double g = params_of(c)->g;
    d->acked += a->acked_bytes;
    d->marked += a->ece_bytes;
    if (a->snd_una <= d->window_end || d->acked == 0)
        return;
    d->alpha = d->alpha * (1 - g) + g * (double)d->marked / (double)d->acked;
    c->alpha = d->alpha;
    d->window_end = a->snd_nxt;
    d->acked = d->marked = 0;
}

static void grow(struct cc *c, const struct cc_ack *a)
{
    struct dctcp *d = state_of(c);
    int64_t acked = (int64_t)a->acked_bytes;
    if (c->cwnd_bytes < c->ssthresh_bytes) {
        int64_t room = c->ssthresh_bytes - c->cwnd_bytes, step = acked < room ? acked : room;
        c->cwnd_bytes += step;
        acked -= step;
    }
    d->counted_bytes += acked;
    while (d->counted_bytes >= c->cwnd_bytes && c->cwnd_bytes >= c->ssthresh_bytes) {
        d->counted_bytes -= c->cwnd_bytes;
        c->cwnd_bytes += c->mss_bytes;
    }
}

static void dctcp_ack(struct cc *c, const struct cc_ack *a)
{
    struct dctcp *d = state_of(c);
    observe(c, a);
    if (a->in_recovery)                          /* the loss has been answered for this window */
        return;
    if (a->snd_una <= d->cut_until && (a->ece_bytes || d->held))
        return;
    if (a->ece_bytes) {
        d->cut_until = a->snd_nxt;
        d->held = true;
        d->counted_bytes = 0;
        c->cwnd_bytes = c->ssthresh_bytes = at_least_two(c, (double)c->cwnd_bytes * (1 - d->alpha / 2));   /* step 9 */
    } else if (a->cwnd_limited) {
        grow(c, a);
    }
}

static void dctcp_loss(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    (void)now_ps;
    c->cwnd_bytes = c->ssthresh_bytes = at_least_two(c, (double)in_flight_bytes / 2);   /* RFC 5681 equation 4 */
    state_of(c)->counted_bytes = 0;
}

static void dctcp_recovered(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    c->cwnd_bytes = c->ssthresh_bytes;
}

static void dctcp_timeout(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    dctcp_loss(c, now_ps, in_flight_bytes);
    c->cwnd_bytes = c->mss_bytes;
    state_of(c)->held = false;
}

const struct cc_ops cc_dctcp = {
    .name = "dctcp", .params = &dctcp_params_table, .ecn = true, .ecn_exact = true,
    .init = dctcp_init, .ack = dctcp_ack, .loss = dctcp_loss, .recovered = dctcp_recovered, .timeout = dctcp_timeout,
};
