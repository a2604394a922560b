/* SPDX-License-Identifier: GPL-2.0-only */
/** Counter-based random streams: Philox4x32-10 (Random123, SC'11) keyed by (seed, entity, purpose), so that
 *  a stream's values depend on nothing else that is drawn anywhere. */
#ifndef RNICSIM_SIM_RNG_H
#define RNICSIM_SIM_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sim_rng_purpose {
    SIM_RNG_LOSS = 1, SIM_RNG_MARK, SIM_RNG_ARRIVAL, SIM_RNG_SIZE, SIM_RNG_PEER, SIM_RNG_ECMP,
    SIM_RNG_PSN, SIM_RNG_ISN, SIM_RNG_HOST, SIM_RNG_TEST, SIM_RNG_JITTER, SIM_RNG_SPRAY, SIM_RNG_ACK_TIMEOUT, SIM_RNG_CONTEXT, SIM_RNG_TRANSLATION
};

struct sim_rng { uint32_t key[2]; uint32_t ctr[4]; uint32_t out[4]; uint32_t left; };

/** entity: what draws (a port, a flow, a node: any 64-bit name that no partition changes). */
void     sim_rng_init(struct sim_rng *r, uint64_t seed, uint64_t entity, enum sim_rng_purpose purpose);
uint32_t sim_rng_u32(struct sim_rng *r);
uint64_t sim_rng_u64(struct sim_rng *r);
/** Uniform in (0, 1): never 0, never 1. */
double   sim_rng_unit(struct sim_rng *r);
/** Uniform integer in [0, n), n > 0, unbiased. */
uint32_t sim_rng_below(struct sim_rng *r, uint32_t n);
/** Exponential with the given mean by inverse CDF (log1p, which glibc computes alike on every x86-64). */
double   sim_rng_exponential(struct sim_rng *r, double mean);

#ifdef __cplusplus
}
#endif
#endif
