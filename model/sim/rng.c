/* SPDX-License-Identifier: GPL-2.0-only */
#include "rng.h"

#include <Random123/philox.h>
#include <assert.h>
#include <math.h>

/* The seed is the key; the counter's words name the draw: block (56 bits), purpose (8), entity (64). No two
 * streams of one seed can overlap. */
void sim_rng_init(struct sim_rng *r, uint64_t seed, uint64_t entity, enum sim_rng_purpose purpose)
{
    assert((unsigned)purpose < 256);
    *r = (struct sim_rng){
        .key = { (uint32_t)seed, (uint32_t)(seed >> 32) },
        .ctr = { 0, (uint32_t)purpose << 24, (uint32_t)entity, (uint32_t)(entity >> 32) },
    };
}

uint32_t sim_rng_u32(struct sim_rng *r)
{
    if (r->left == 0) {
        philox4x32_ctr_t c = { { r->ctr[0], r->ctr[1], r->ctr[2], r->ctr[3] } };
        philox4x32_key_t k = { { r->key[0], r->key[1] } };

        c = philox4x32(c, k);
        for (unsigned i = 0; i < 4; i++)
            r->out[i] = c.v[i];
        r->left = 4;
        if (++r->ctr[0] == 0)
            r->ctr[1]++;
    }
    return r->out[4 - r->left--];
}

uint64_t sim_rng_u64(struct sim_rng *r)
{
    uint64_t hi = sim_rng_u32(r);

    return hi << 32 | sim_rng_u32(r);
}

/* The midpoints of 2^52 equal intervals: each is a double, the ends are out of reach. */
double sim_rng_unit(struct sim_rng *r)
{
    return ((double)(sim_rng_u64(r) >> 12) + 0.5) * 0x1p-52;
}

/* Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019: the part of the range that
 * would favour some results is drawn again. */
uint32_t sim_rng_below(struct sim_rng *r, uint32_t n)
{
    uint64_t m;

    assert(n > 0);
    m = (uint64_t)sim_rng_u32(r) * n;
    if ((uint32_t)m < n) {
        uint32_t uneven = -n % n;

        while ((uint32_t)m < uneven)
            m = (uint64_t)sim_rng_u32(r) * n;
    }
    return (uint32_t)(m >> 32);
}

double sim_rng_exponential(struct sim_rng *r, double mean)
{
    return -mean * log1p(-sim_rng_unit(r));
}
