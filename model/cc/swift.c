/* SPDX-License-Identifier: GPL-2.0-only */
/* Swift (Kumar et al., SIGCOMM'20, algorithm 1): a window that aims at a target delay scaled by path and by the number of flows. The
 * delay is the card's round-trip sample; the end-host window of the paper, which guards against a slow receiver's stack, has no
 * counterpart where cards acknowledge. */
#include "cc_list.h"
#include "swift_params.h"

#define PARAM_STRUCT struct swift_params
PARAM_TABLE(swift_params, SWIFT_PARAMS)
#undef PARAM_STRUCT

#define DEFAULT_(f, k, d, lo, hi, nm, mean, src) .f = (PARAM_T_##k)(d),
static const struct swift_params defaults = { SWIFT_PARAMS(DEFAULT_) };
#undef DEFAULT_

#define CWND_MAX 1e6

struct swift {
    double  cwnd;             /* packets */
    int64_t rtt_ps, last_decrease_ps;
    double  fs_alpha, fs_beta; /* flow scaling: alpha / sqrt(cwnd) + beta, ps */
    int64_t timeouts;
    uint8_t hops;
};
_Static_assert(sizeof(struct swift) <= CC_STATE_BYTES, "fits in cc.state");

static struct swift *state_of(struct cc *c) { return (struct swift *)(void *)&c->state; }
static const struct swift_params *params_of(const struct cc *c) { return c->params ? c->params : &defaults; }

/* Newton's iteration from above: the same bits on every machine. */
static double root(double x)
{
    double r = x > 1 ? x : 1;
    for (double next; (next = (r + x / r) / 2) < r; r = next)
        ;
    return r;
}

static void apply(struct cc *c, double cwnd)
{
    struct swift *s = state_of(c);
    double least = params_of(c)->min_cwnd;
    s->cwnd = cwnd < least ? least : cwnd > CWND_MAX ? CWND_MAX : cwnd;
    c->cwnd_bytes = s->cwnd < 1 ? (int64_t)c->mss_bytes : (int64_t)(s->cwnd * c->mss_bytes);
    if (s->cwnd < 1 && s->rtt_ps > 0) { /* one packet each RTT / cwnd (3.3) */
        uint32_t wire = c->wire_mss_bytes ? c->wire_mss_bytes : c->mss_bytes;
        c->rate_bps = (int64_t)(wire * 8. * s->cwnd / (double)s->rtt_ps * (double)SIM_PS_PER_S);
        if (c->rate_bps < 1000)
            c->rate_bps = 1000;
    } else {
        c->rate_bps = CC_NO_RATE;
    }
}

static void swift_init(struct cc *c, int64_t now_ps)
{
    struct swift *s = state_of(c);
    const struct swift_params *p = params_of(c);
    double a = 1 / root(p->fs_min_cwnd), b = 1 / root(p->fs_max_cwnd);
    if (a > b) {
        s->fs_alpha = (double)p->fs_range_ps / (a - b);
        s->fs_beta = -s->fs_alpha * b;
    }
    s->rtt_ps = c->base_rtt_ps;
    s->last_decrease_ps = now_ps - SIM_PS_PER_S;
    c->ack_every = 1;
    apply(c, (double)c->initial_window_bytes / c->mss_bytes);
}

static double target_ps(struct cc *c)
{
    const struct swift *s = state_of(c);
    const struct swift_params *p = params_of(c);
    double scale = s->fs_alpha / root(s->cwnd) + s->fs_beta;
    scale = scale < 0 ? 0 : scale > (double)p->fs_range_ps ? (double)p->fs_range_ps : scale;
    return (double)p->base_target_ps + s->hops * (double)p->hop_ps + scale;
}

static bool may_decrease(const struct swift *s, int64_t now_ps) { return now_ps - s->last_decrease_ps >= s->rtt_ps; }

static void decrease(struct cc *c, int64_t now_ps, double factor)
{
    struct swift *s = state_of(c);
    double least = 1 - params_of(c)->max_mdf;
    s->last_decrease_ps = now_ps;
    apply(c, s->cwnd * (factor > least ? factor : least));
}

static void swift_ack(struct cc *c, const struct cc_ack *a)
{
    struct swift *s = state_of(c);
    const struct swift_params *p = params_of(c);
    double acked = (double)a->acked_bytes / c->mss_bytes;
    s->timeouts = 0;
    if (a->rtt_ps < 0)
        return;
    s->rtt_ps = a->rtt_ps;
    s->hops = a->path_hops;
    double delay = (double)a->rtt_ps, target = target_ps(c);
    if (delay < target) {
        if (a->cwnd_limited || s->cwnd < 1)
            apply(c, s->cwnd + p->ai * acked / (s->cwnd >= 1 ? s->cwnd : 1));
    } else if (may_decrease(s, a->now_ps)) {
        decrease(c, a->now_ps, 1 - p->beta * (delay - target) / delay);
    }
}

static void swift_loss(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    (void)in_flight_bytes;
    if (may_decrease(state_of(c), now_ps))
        decrease(c, now_ps, 0);
}

static void swift_timeout(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    struct swift *s = state_of(c);
    (void)in_flight_bytes;
    if (++s->timeouts >= params_of(c)->retx_reset)
        apply(c, params_of(c)->min_cwnd);
    else if (may_decrease(s, now_ps))
        decrease(c, now_ps, 0);
}

static const struct cc_preset presets[] = { { "paper", "Kumar et al., SIGCOMM'20: the defaults", NULL }, { NULL, NULL, NULL } };

const struct cc_ops cc_swift = { .name = "swift", .params = &swift_params_table, .presets = presets, .init = swift_init, .ack = swift_ack,
    .loss = swift_loss, .timeout = swift_timeout };
