/* SPDX-License-Identifier: GPL-2.0-only */
/* Frame times and lanes of a kind of link, and what may befall a frame on it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_internal.h"

/* A length that has come this often gets lanes of its own. */
#define LANE_AFTER_USES 32

static int64_t bits_ps(uint64_t bytes, int64_t rate_bps)
{
    __uint128_t bits = (__uint128_t)bytes * 8u * (uint64_t)SIM_PS_PER_S;
    return (int64_t)((bits + (uint64_t)rate_bps - 1) / (uint64_t)rate_bps);
}

struct link_class *link_class_get(struct fabric *f, int64_t rate_bps, int64_t propagation_ps, int64_t pipeline_ps, uint32_t cut_bytes)
{
    struct link_class *c;
    for (c = f->classes; c; c = c->next)
        if (c->rate_bps == rate_bps && c->propagation_ps == propagation_ps && c->pipeline_ps == pipeline_ps && c->cut_bytes == cut_bytes)
            return c;
    c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->sim = f->sim;
    c->fabric = f;
    c->rate_bps = rate_bps;
    c->propagation_ps = propagation_ps;
    c->pipeline_ps = pipeline_ps;
    c->cut_bytes = cut_bytes;
    c->next = f->classes;
    f->classes = c;
    return c;
}

struct link_lane *link_lane_slow(struct link_class *c, struct link_lane *l, uint32_t len)
{
    if (l->len != len) {
        l->len = len;
        l->uses = 0;
        l->arrive = l->free = NULL;
        uint32_t in = c->cut_bytes && c->cut_bytes < len ? c->cut_bytes : len;
        l->whole_ps = bits_ps(len + PKT_PREAMBLE_BYTES, c->rate_bps) + c->propagation_ps;
        l->arrive_ps = bits_ps(in + PKT_PREAMBLE_BYTES, c->rate_bps) + c->propagation_ps + c->pipeline_ps;
        l->free_ps = bits_ps(len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES, c->rate_bps);
    }
    if (++l->uses == LANE_AFTER_USES) {
        l->arrive = sim_lane_get(c->sim, l->arrive_ps);
        l->free = sim_lane_get(c->sim, l->free_ps);
    }
    return l;
}

struct link_impair *link_impair_new(const struct link_params *params, uint64_t seed, uint32_t node, uint32_t port)
{
    struct link_impair *i = calloc(1, sizeof *i);
    if (!i)
        return NULL;
    i->loss = params->loss;
    i->burst_begin = params->burst_begin;
    i->burst_end = params->burst_end;
    i->burst_loss = params->burst_loss;
    i->cut_ps = -1;
    i->loss_every = i->until_loss = (uint64_t)params->loss_every;
    sim_rng_init(&i->rng, seed, (uint64_t)node << 16 | port, SIM_RNG_LOSS);
    if (params->ber > 0) {
        i->mean_bits = -1.0 / log1p(-params->ber);
        i->bits_left = sim_rng_exponential(&i->rng, i->mean_bits);
    }
    return i;
}

/* Gilbert and Elliott: the state moves with each frame, then decides. */
static bool burst_loses(struct link_impair *i)
{
    double turn = i->bad ? i->burst_end : i->burst_begin;
    if (sim_rng_unit(&i->rng) < turn)
        i->bad = !i->bad;
    return i->bad && sim_rng_unit(&i->rng) < i->burst_loss;
}

enum link_fate link_impair_frame(struct link_impair *i, struct pkt *p)
{
    if (i->down)
        return LINK_IS_DOWN;
    if (i->mean_bits > 0) {
        double bits = 8.0 * p->frame_len;
        if (i->bits_left < bits) {
            p->flags |= PKT_F_CORRUPT;
            i->bits_left = sim_rng_exponential(&i->rng, i->mean_bits);
        } else {
            i->bits_left -= bits;
        }
    }
    if (p->kind == PKT_PFC)
        return LINK_PASSES;
    if (i->loss_every && --i->until_loss == 0) {
        i->until_loss = i->loss_every;
        return LINK_LOSES;
    }
    if (i->burst_begin > 0 && burst_loses(i))
        return LINK_LOSES;
    return i->loss > 0 && !i->bad && sim_rng_unit(&i->rng) < i->loss ? LINK_LOSES : LINK_PASSES;
}
