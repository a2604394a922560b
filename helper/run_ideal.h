/* SPDX-License-Identifier: GPL-2.0-only */
/** The denominators of slowdown and self_slowdown.
 *
 *  ideal: the same for every transport: line rate, the least headers that any of them has, no host cost. A lower bound of every latency.
 *  self ideal: the same transport alone on the same topology, warm (connected, window open) and without loss: simulated, message by
 *  message, for each kind of path. Where a run has more than RUN_IDEAL_SIZES sizes on one kind of path, sizes between two
 *  simulated ones take the smaller one's latency and the difference at line rate. A message that found its reader awake can be
 *  faster than one alone that has to wake it: it is measured against the transport alone with a reader that is awake. What is faster even than that (windows in another
 *  state) is its own ideal, and counted in faster_than_alone.
 */
#ifndef RNICSIM_HELPER_RUN_IDEAL_H
#define RNICSIM_HELPER_RUN_IDEAL_H

#include "../analysis/result.h"
#include "run_net.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RUN_IDEAL_SIZES 96

/** Latency of `bytes` over these links at best, in ps. bytes >= 1, nhops >= 1. */
int64_t run_ideal_ps(const struct fabric_hop *hop, uint32_t nhops, uint64_t bytes);

/** Fill ideal_ps and self_ideal_ps of r's messages; n is the network they ran on. self: also the second (costs simulations).
 *  0, or negative with a sentence in err. */
int run_ideal_fill(const struct net *n, const struct scenario *sc, const struct variant *v, bool self, struct result *r, char *err, size_t errlen) SIM_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
