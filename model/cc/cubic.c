/* SPDX-License-Identifier: GPL-2.0-only */
/* CUBIC (RFC 9438). Windows are in segments and times in seconds inside, as the RFC's formulas are. Only additions, multiplications,
 * divisions and own roots are used, so that every machine gets the same bits. */
#include "cc_list.h"
#include "cubic_params.h"

#define PARAM_STRUCT struct cubic_params
PARAM_TABLE(cubic_params, CUBIC_PARAMS)
#undef PARAM_STRUCT

#define DEFAULT_(f, k, d, lo, hi, nm, mean, src) .f = (PARAM_T_##k)(d),
static const struct cubic_params defaults = { CUBIC_PARAMS(DEFAULT_) };
#undef DEFAULT_

struct cubic {
    double  w_max;            /* window before the last reduction, or less by fast convergence */
    double  w_est;            /* Reno's window */
    double  cwnd_prior;       /* window when it was last reduced */
    double  k;                /* seconds from the epoch until w_max is reached again */
    double  cwnd;             /* with its fraction of a byte; cwnd_bytes is it rounded down */
    double  srtt;             /* seconds, 0: no sample */
    int64_t epoch_ps;         /* when this congestion avoidance began; -1: not yet */
    int64_t last_ps;          /* the last acknowledgement */
    bool    timed_out;        /* the next congestion avoidance starts from nothing (4.8) */
};
_Static_assert(sizeof(struct cubic) <= CC_STATE_BYTES, "fits in cc.state");

static struct cubic *state_of(struct cc *c) { return (struct cubic *)(void *)&c->state; }
static const struct cubic_params *params_of(const struct cc *c) { return c->params ? c->params : &defaults; }

/* Newton's iteration from above: it falls until it stands. */
static double cube_root(double x)
{
    if (x <= 0)
        return 0;
    double r = x > 1 ? x : 1;
    for (;;) {
        double next = (2 * r + x / (r * r)) / 3;
        if (next >= r)
            return r;
        r = next;
    }
}

static double segments(const struct cc *c, int64_t bytes) { return (double)bytes / c->mss_bytes; }

static void set_window(struct cc *c, double cwnd)
{
    state_of(c)->cwnd = cwnd;
    c->cwnd_bytes = (int64_t)(cwnd * c->mss_bytes);
}

static void cubic_init(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    c->cwnd_bytes = c->initial_window_bytes;
    state_of(c)->epoch_ps = -1;
}

/* 4.2, 4.8: congestion avoidance begins. */
static void begin_epoch(struct cc *c, int64_t now_ps)
{
    struct cubic *q = state_of(c);
    q->epoch_ps = now_ps;
    q->cwnd = q->w_est = segments(c, c->cwnd_bytes);
    if (q->timed_out || q->w_max < q->cwnd) {
        q->w_max = q->cwnd;
        q->k = 0;
    } else {
        q->k = cube_root((q->w_max - q->cwnd) / params_of(c)->c);
    }
    q->timed_out = false;
}

/* Equation 1. */
static double cubic_window(const struct cubic *q, double c, double t)
{
    double d = t - q->k;
    return c * d * d * d + q->w_max;
}

/* 4.3: what Reno would have, with the additive step that beta's gentler decrease makes fair, and Reno's own once it has caught up. */
static void estimate_reno(struct cubic *q, const struct cubic_params *p, double acked)
{
    double alpha = q->w_est >= q->cwnd_prior ? 1 : 3 * (1 - p->beta) / (1 + p->beta);
    q->w_est += alpha * acked / q->cwnd;
}

static void avoid_congestion(struct cc *c, const struct cc_ack *a, double acked)
{
    struct cubic *q = state_of(c);
    const struct cubic_params *p = params_of(c);
    if (q->epoch_ps < 0 || (int64_t)(q->cwnd * c->mss_bytes) != c->cwnd_bytes)
        begin_epoch(c, a->now_ps);               /* also where a restart after idling took the window down */
    double t = (double)(a->now_ps - q->epoch_ps) / SIM_PS_PER_S, target = cubic_window(q, p->c, t + q->srtt), cwnd = q->cwnd;
    estimate_reno(q, p, acked);
    if (target < cwnd)
        target = cwnd;
    else if (target > 1.5 * cwnd)
        target = 1.5 * cwnd;
    if (p->reno_friendly && cubic_window(q, p->c, t) < q->w_est)
        cwnd = q->w_est > cwnd ? q->w_est : cwnd;
    else
        cwnd += (target - cwnd) / cwnd * acked;  /* 4.4, 4.5, for each segment acknowledged */
    set_window(c, cwnd);
}

static void cubic_ack(struct cc *c, const struct cc_ack *a)
{
    struct cubic *q = state_of(c);
    if (a->rtt_ps >= 0) {
        double rtt = (double)a->rtt_ps / SIM_PS_PER_S;
        q->srtt = q->srtt > 0 ? q->srtt + (rtt - q->srtt) / 8 : rtt;
    }
    int64_t since = a->now_ps - q->last_ps;
    q->last_ps = a->now_ps;
    if (a->in_recovery)
        return;
    if (!a->cwnd_limited) {                      /* 5.8: time in which the window did not matter is no time of growth */
        if (q->epoch_ps >= 0)
            q->epoch_ps += since;
        return;
    }
    int64_t acked = (int64_t)a->acked_bytes;
    if (c->cwnd_bytes < c->ssthresh_bytes) {     /* Reno's slow start (4.10) */
        int64_t room = c->ssthresh_bytes - c->cwnd_bytes, step = acked < room ? acked : room;
        c->cwnd_bytes += step;
        acked -= step;
    }
    if (acked)
        avoid_congestion(c, a, segments(c, acked));
}

/* 4.6, 4.7. */
static void reduce(struct cc *c, uint64_t in_flight_bytes)
{
    struct cubic *q = state_of(c);
    const struct cubic_params *p = params_of(c);
    double cwnd = segments(c, c->cwnd_bytes), flight = segments(c, (int64_t)in_flight_bytes) * p->beta;
    q->w_max = p->fast_convergence && cwnd < q->w_max ? cwnd * (1 + p->beta) / 2 : cwnd;
    q->cwnd_prior = cwnd;
    q->epoch_ps = -1;
    c->ssthresh_bytes = (int64_t)((flight > 2 ? flight : 2) * c->mss_bytes);
}

static void cubic_loss(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    (void)now_ps;
    reduce(c, in_flight_bytes);
    c->cwnd_bytes = c->ssthresh_bytes;
}

static void cubic_recovered(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    c->cwnd_bytes = c->ssthresh_bytes;
}

static void cubic_timeout(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    (void)now_ps;
    reduce(c, in_flight_bytes);
    state_of(c)->timed_out = true;
    c->cwnd_bytes = c->mss_bytes;
}

const struct cc_ops cc_cubic = {
    .name = "cubic", .params = &cubic_params_table,
    .init = cubic_init, .ack = cubic_ack, .loss = cubic_loss, .recovered = cubic_recovered, .timeout = cubic_timeout,
};
