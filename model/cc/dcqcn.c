/* SPDX-License-Identifier: GPL-2.0-only */
/* DCQCN's reaction point (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM'15, section 3).
 *
 * A CNP cuts the rate by alpha / 2 and only then raises alpha. Without CNPs alpha decays by (1 - g) each alpha timer; nothing
 * but a CNP reads alpha, so it is settled then and needs no events. The increase timer runs only while the rate
 * is below the line rate. */
#include "cc_list.h"
#include "dcqcn_params.h"

#define PARAM_STRUCT struct dcqcn_params
PARAM_TABLE(dcqcn_params, DCQCN_PARAMS)
#undef PARAM_STRUCT

#define DEFAULT_(f, k, d, lo, hi, nm, mean, src) .f = (PARAM_T_##k)(d),
static const struct dcqcn_params defaults = { DCQCN_PARAMS(DEFAULT_) };
#undef DEFAULT_

struct dcqcn {
    double   alpha;
    int64_t  alpha_at_ps;     /* up to when alpha's decay is settled */
    int64_t  target_bps;
    int64_t  timer_at_ps;     /* next timer increase, SIM_NEVER_PS when at line rate */
    int64_t  last_cut_ps;
    uint64_t bytes;           /* sent since the last byte-counter increase */
    uint32_t timer_steps, byte_steps; /* increases since the last cut */
    bool     active;          /* a CNP has come */
    bool     cnp_in_period;   /* alpha_rule timer */
    bool     cut_due;         /* a CNP came within decrease_interval of the last cut */
};
_Static_assert(sizeof(struct dcqcn) <= CC_STATE_BYTES, "fits in cc.state");

static struct dcqcn *state_of(struct cc *c) { return (struct dcqcn *)(void *)&c->state; }
static const struct dcqcn_params *params_of(const struct cc *c) { return c->params ? c->params : &defaults; }

/* base to the n by squaring: multiplications only, so the same bits everywhere. */
static double power(double base, uint64_t n)
{
    double r = 1;
    for (; n; n >>= 1, base *= base)
        if (n & 1)
            r *= base;
    return r;
}

static int64_t most_bps(const struct cc *c)
{
    int64_t most = params_of(c)->max_rate_bps;
    return most && most < c->link_bps ? most : c->link_bps;
}

static void settle_alpha(struct dcqcn *d, const struct dcqcn_params *p, int64_t now_ps)
{
    if (now_ps - d->alpha_at_ps < p->alpha_timer_ps)
        return;
    uint64_t n = (uint64_t)((now_ps - d->alpha_at_ps) / p->alpha_timer_ps);
    d->alpha_at_ps += (int64_t)n * p->alpha_timer_ps;
    if (d->cnp_in_period) {
        d->alpha = (1 - p->g) * d->alpha + p->g;
        d->cnp_in_period = false;
        n--;
    }
    d->alpha *= power(1 - p->g, n);
}

static void set_wake(struct cc *c)
{
    struct dcqcn *d = state_of(c);
    c->next_wake_ps = d->timer_at_ps;
    if (d->cut_due && d->last_cut_ps + params_of(c)->decrease_interval_ps < c->next_wake_ps)
        c->next_wake_ps = d->last_cut_ps + params_of(c)->decrease_interval_ps;
}

static void set_rate(struct cc *c, double bps)
{
    int64_t least = params_of(c)->min_rate_bps < most_bps(c) ? params_of(c)->min_rate_bps : most_bps(c);
    c->rate_bps = (int64_t)bps > least ? (int64_t)bps : least;
}

static void cut(struct cc *c, int64_t now_ps)
{
    struct dcqcn *d = state_of(c);
    const struct dcqcn_params *p = params_of(c);
    if (p->clamp_target || d->byte_steps > 0 || (p->clamp_after_timer && d->timer_steps > 0))
        d->target_bps = c->rate_bps;
    double left = 1 - d->alpha * p->decrease_factor;
    set_rate(c, (double)c->rate_bps * (left > p->min_decrease ? left : p->min_decrease));
    d->timer_steps = d->byte_steps = 0;
    d->bytes = 0;
    d->timer_at_ps = now_ps + p->increase_timer_ps;
    d->last_cut_ps = now_ps;
    d->cut_due = false;
}

/* One step of recovery: steps already taken by either counter choose the stage. A counter that is switched off counts as
 * the other one, which gives HPCC's ns-3 rule (below F, at F, above F). */
static void increase(struct cc *c, uint32_t timer_steps, uint32_t byte_steps)
{
    struct dcqcn *d = state_of(c);
    const struct dcqcn_params *p = params_of(c);
    uint32_t f = (uint32_t)p->fast_recovery;
    uint32_t most = timer_steps > byte_steps ? timer_steps : byte_steps, least = timer_steps + byte_steps - most;
    if (most >= f)
        d->target_bps += least > f ? p->rhai_bps : p->rai_bps;
    int64_t full = most_bps(c);
    if (d->target_bps > full)
        d->target_bps = full;
    c->rate_bps = (c->rate_bps + d->target_bps + 1) / 2;
    if (c->rate_bps >= full && d->target_bps >= full)
        d->timer_at_ps = SIM_NEVER_PS;
}

static void dcqcn_init(struct cc *c, int64_t now_ps)
{
    const struct dcqcn_params *p = params_of(c);
    struct dcqcn *d = state_of(c);
    *d = (struct dcqcn){ .alpha = p->initial_alpha, .alpha_at_ps = now_ps, .timer_at_ps = SIM_NEVER_PS };
    double start = (double)c->link_bps * p->initial_rate, most = (double)most_bps(c);
    set_rate(c, start < most ? start : most);
    c->alpha = d->alpha;
    c->cnp_interval_ps = p->cnp_interval_ps;
    d->target_bps = most_bps(c);
    c->cwnd_bytes = CC_NO_WINDOW;
    c->next_wake_ps = SIM_NEVER_PS;
}

static void dcqcn_cnp(struct cc *c, int64_t now_ps)
{
    struct dcqcn *d = state_of(c);
    const struct dcqcn_params *p = params_of(c);
    if (!d->active) {
        d->active = true;
        d->alpha_at_ps = now_ps;
        set_rate(c, (double)c->rate_bps * p->first_cnp_rate);
        d->target_bps = c->rate_bps;
        d->last_cut_ps = now_ps - p->decrease_interval_ps;
    }
    settle_alpha(d, p, now_ps);
    if (now_ps - d->last_cut_ps >= p->decrease_interval_ps)
        cut(c, now_ps);
    else
        d->cut_due = true;
    if (p->alpha_rule == 0) {
        d->alpha = (1 - p->g) * d->alpha + p->g;
        d->alpha_at_ps = now_ps;
    } else {
        d->cnp_in_period = true;
    }
    c->alpha = d->alpha;
    set_wake(c);
}

static void dcqcn_sent(struct cc *c, int64_t now_ps, uint32_t bytes)
{
    struct dcqcn *d = state_of(c);
    const struct dcqcn_params *p = params_of(c);
    (void)now_ps;
    if (d->timer_at_ps == SIM_NEVER_PS || p->byte_counter_bytes == 0)
        return;
    d->bytes += bytes;
    if (d->bytes < (uint64_t)p->byte_counter_bytes)
        return;
    d->bytes -= (uint64_t)p->byte_counter_bytes;
    increase(c, d->timer_steps, d->byte_steps);
    d->byte_steps++;
    set_wake(c);
}

static void dcqcn_wake(struct cc *c, int64_t now_ps)
{
    struct dcqcn *d = state_of(c);
    const struct dcqcn_params *p = params_of(c);
    if (d->cut_due && now_ps - d->last_cut_ps >= p->decrease_interval_ps) {
        settle_alpha(d, p, now_ps);
        cut(c, now_ps);
    }
    while (d->timer_at_ps <= now_ps) {
        d->timer_at_ps += p->increase_timer_ps;
        increase(c, d->timer_steps, p->byte_counter_bytes ? d->byte_steps : d->timer_steps);
        d->timer_steps++;
    }
    set_wake(c);
}

static double dcqcn_alpha(const struct cc *c, int64_t now_ps)
{
    struct dcqcn d = *(const struct dcqcn *)(const void *)&c->state;
    if (d.active)
        settle_alpha(&d, params_of(c), now_ps);
    return d.alpha;
}

/* --- presets --- */

/* What HPCC's and ConWeave's ns-3 have in common. Their receivers echo each mark in an ACK, and senders act once in 4 us on it: a CNP
 * each 4 us does the same. */
static void set_ns3(struct dcqcn_params *p)
{
    p->alpha_timer_ps = SIM_PS_PER_US;
    p->alpha_rule = 1;
    p->decrease_interval_ps = 4 * SIM_PS_PER_US;
    p->increase_timer_ps = 300 * SIM_PS_PER_US;
    p->byte_counter_bytes = 0;
    p->fast_recovery = 1;
    p->clamp_target = 0;
    p->cnp_interval_ps = 4 * SIM_PS_PER_US;
}

static void set_hpcc_ns3(void *params)
{
    struct dcqcn_params *p = params;
    set_ns3(p);
    p->rai_bps = 20000000;
    p->rhai_bps = 200000000;
}

static void set_conweave(void *params)
{
    struct dcqcn_params *p = params;
    set_ns3(p);
    p->rai_bps = 40000000;
    p->rhai_bps = 100000000;
}

static void set_connectx(void *params)
{
    struct dcqcn_params *p = params;
    set_ns3(p);
    p->g = 5. / 1024;
    p->initial_alpha = 1023. / 1024;
    p->min_decrease = .5;
    p->byte_counter_bytes = 32767;
    p->rai_bps = 5000000;
    p->rhai_bps = 50000000;
    p->min_rate_bps = 1000000;
}

static const struct cc_preset presets[] = {
    { "paper", "Zhu et al., SIGCOMM'15, 40 Gb/s: the defaults", NULL },
    { "hpcc-ns3", "HPCC's simulator (SIGCOMM'19) at 100 Gb/s; it marks at 400 to 1600 KB, 0.2, on departure", set_hpcc_ns3 },
    { "conweave", "ConWeave's simulator (SIGCOMM'23) at 100 Gb/s; it marks at 100 to 400 KB, 0.2, on departure", set_conweave },
    { "connectx", "firmware defaults of ConnectX-4 and later, as NVIDIA's \"DCQCN parameters\" and mlxconfig print them", set_connectx },
    { NULL, NULL, NULL }
};

const struct cc_ops cc_dcqcn = {
    .name = "dcqcn", .params = &dcqcn_params_table, .presets = presets, .ecn = true,
    .init = dcqcn_init, .cnp = dcqcn_cnp, .sent = dcqcn_sent, .wake = dcqcn_wake, .alpha = dcqcn_alpha,
};
