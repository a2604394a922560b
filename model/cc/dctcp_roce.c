/* SPDX-License-Identifier: GPL-2.0-only */
/* DCTCP's rule (RFC 8257, Alizadeh et al., SIGCOMM'10) as cards could have it: the share of marked packets, echoed by the BECN bit
 * of acknowledgements, settles a window once a round trip. It starts with the path's worth, without slow start. */
#include "cc_list.h"
#include "dctcp_roce_params.h"

#define PARAM_STRUCT struct dctcp_roce_params
PARAM_TABLE(dctcp_roce_params, DCTCP_ROCE_PARAMS)
#undef PARAM_STRUCT

#define DEFAULT_(f, k, d, lo, hi, nm, mean, src) .f = (PARAM_T_##k)(d),
static const struct dctcp_roce_params defaults = { DCTCP_ROCE_PARAMS(DEFAULT_) };
#undef DEFAULT_

struct dctcp_roce {
    double   cwnd;                /* bytes, with their fraction */
    uint64_t window_end;          /* stream offset: a round trip ends when it is acknowledged */
    uint64_t acked, marked;       /* bytes of this round trip */
    bool     cut;                 /* the window has been cut in this round trip (RFC 8257 3.3: once a window) */
};
_Static_assert(sizeof(struct dctcp_roce) <= CC_STATE_BYTES, "fits in cc.state");

static struct dctcp_roce *state_of(struct cc *c) { return (struct dctcp_roce *)(void *)&c->state; }
static const struct dctcp_roce_params *params_of(const struct cc *c) { return c->params ? c->params : &defaults; }

static void apply(struct cc *c, double cwnd)
{
    double least = (double)params_of(c)->min_packets * c->mss_bytes;
    state_of(c)->cwnd = cwnd > least ? cwnd : least;
    c->cwnd_bytes = (int64_t)state_of(c)->cwnd;
}

static void dctcp_init(struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    c->alpha = params_of(c)->initial_alpha;
    c->ack_every = 1;
    apply(c, params_of(c)->initial_window * c->initial_window_bytes);
}

static void dctcp_ack(struct cc *c, const struct cc_ack *a)
{
    struct dctcp_roce *d = state_of(c);
    const struct dctcp_roce_params *p = params_of(c);
    d->acked += a->acked_bytes;
    d->marked += a->ece_bytes;
    if (a->ece_bytes > 0 && !d->cut) {
        d->cut = true;
        apply(c, d->cwnd * (1 - c->alpha / 2));
    } else if (!d->cut && a->cwnd_limited && !a->in_recovery) {
        apply(c, d->cwnd + p->increase_packets * c->mss_bytes * (double)a->acked_bytes / d->cwnd);
    }
    if (a->snd_una < d->window_end)
        return;
    if (d->acked > 0)
        c->alpha = (1 - p->g) * c->alpha + p->g * (double)d->marked / (double)d->acked;
    d->acked = d->marked = 0;
    d->cut = false;
    d->window_end = a->snd_nxt;
}

static void dctcp_loss(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes)
{
    (void)now_ps;
    (void)in_flight_bytes;
    apply(c, state_of(c)->cwnd / 2); /* RFC 8257 3.5: as other TCP */
}

static const struct cc_preset presets[] = { { "paper", "RFC 8257: the defaults", NULL }, { NULL, NULL, NULL } };

const struct cc_ops cc_dctcp_roce = { .name = "dctcp-roce", .params = &dctcp_roce_params_table, .presets = presets, .ecn = true, .ecn_exact = true,
    .init = dctcp_init, .ack = dctcp_ack, .loss = dctcp_loss, .timeout = dctcp_loss };
