/* SPDX-License-Identifier: GPL-2.0-only */
/* TIMELY: rates by the gradient of round-trip times (Mittal et al., SIGCOMM'15, algorithm 1), and the patched form with a fixed point
 * (Zhu et al., "ECN or Delay", CoNEXT'16, algorithm 2). A sample is the time from a segment's last packet leaving to its
 * acknowledgement, so the segment's own serialisation is not in it (section 3.1). */
#include "cc_list.h"
#include "timely_params.h"

#define PARAM_STRUCT struct timely_params
PARAM_TABLE(timely_params, TIMELY_PARAMS)
#undef PARAM_STRUCT

#define DEFAULT_(f, k, d, lo, hi, nm, mean, src) .f = (PARAM_T_##k)(d),
static const struct timely_params defaults = { TIMELY_PARAMS(DEFAULT_) };
#undef DEFAULT_

struct timely {
    int64_t  prev_rtt_ps;     /* 0: none yet */
    double   rtt_diff_ps;     /* moving average */
    double   rate_bps;        /* with its fraction */
    uint64_t bytes;           /* acknowledged since the last settlement */
    int64_t  calm;            /* completions in a row without a positive gradient */
};
_Static_assert(sizeof(struct timely) <= CC_STATE_BYTES, "fits in cc.state");

static struct timely *state_of(struct cc *c) { return (struct timely *)(void *)&c->state; }
static const struct timely_params *params_of(const struct cc *c) { return c->params ? c->params : &defaults; }

static void set_rate(struct cc *c, double bps)
{
    double least = (double)params_of(c)->min_rate_bps, most = (double)c->link_bps;
    bps = bps < least ? least : bps;
    bps = bps > most ? most : bps;
    state_of(c)->rate_bps = bps;
    c->rate_bps = (int64_t)bps;
}

static void timely_init(struct cc *c, int64_t now_ps)
{
    const struct timely_params *p = params_of(c);
    (void)now_ps;
    c->ack_every = (uint32_t)((uint64_t)p->segment_bytes / c->mss_bytes);
    if (c->ack_every == 0)
        c->ack_every = 1;
    set_rate(c, (double)c->link_bps * p->initial_rate);
}

static void by_sign(struct cc *c, double gradient)
{
    struct timely *t = state_of(c);
    const struct timely_params *p = params_of(c);
    if (gradient <= 0) {
        t->calm++;
        set_rate(c, t->rate_bps + (double)(t->calm >= p->hai_threshold ? p->hai_steps : 1) * (double)p->delta_bps);
    } else {
        t->calm = 0;
        set_rate(c, t->rate_bps * (1 - p->beta * (gradient < 1 / p->beta ? gradient : 1 / p->beta)));
    }
}

static void by_weight(struct cc *c, double gradient, int64_t rtt_ps)
{
    const struct timely_params *p = params_of(c);
    double w = gradient <= -.25 ? 0 : gradient >= .25 ? 1 : 2 * gradient + .5;
    double error = p->t_low_ps ? (double)(rtt_ps - p->t_low_ps) / (double)p->t_low_ps : 0, cut = p->beta * w * error;
    set_rate(c, (double)p->delta_bps * (1 - w) + state_of(c)->rate_bps * (1 - (cut < 1 ? cut : 1)));
}

static void settle(struct cc *c, int64_t rtt_ps)
{
    struct timely *t = state_of(c);
    const struct timely_params *p = params_of(c);
    double diff = t->prev_rtt_ps ? (double)(rtt_ps - t->prev_rtt_ps) : 0;
    t->prev_rtt_ps = rtt_ps;
    t->rtt_diff_ps = (1 - p->ewma_alpha) * t->rtt_diff_ps + p->ewma_alpha * diff;
    double gradient = t->rtt_diff_ps / (double)p->min_rtt_ps;
    if (rtt_ps < p->t_low_ps) {
        set_rate(c, t->rate_bps + (double)p->delta_bps);
    } else if (rtt_ps > p->t_high_ps) {
        t->calm = 0;
        set_rate(c, t->rate_bps * (1 - p->beta * (1 - (double)p->t_high_ps / (double)rtt_ps)));
    } else if (p->variant == TIMELY_PATCHED) {
        by_weight(c, gradient, rtt_ps);
    } else {
        by_sign(c, gradient);
    }
}

static void timely_ack(struct cc *c, const struct cc_ack *a)
{
    struct timely *t = state_of(c);
    t->bytes += a->acked_bytes;
    if (a->rtt_ps < 0 || t->bytes < (uint64_t)c->ack_every * c->mss_bytes)
        return;
    t->bytes = 0;
    settle(c, a->rtt_ps);
}

static void set_patched(void *params)
{
    struct timely_params *p = params;
    p->variant = TIMELY_PATCHED;
    p->beta = .008;
}

static const struct cc_preset presets[] = {
    { "paper", "Mittal et al., SIGCOMM'15: the defaults", NULL },
    { "patched", "Zhu et al., CoNEXT'16: the patched rule with beta 0.008", set_patched },
    { NULL, NULL, NULL }
};

const struct cc_ops cc_timely = { .name = "timely", .params = &timely_params_table, .presets = presets, .init = timely_init, .ack = timely_ack };
