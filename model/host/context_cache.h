/* SPDX-License-Identifier: GPL-2.0-only */
/** The NIC's cache of connection contexts: so many entries; a connection whose context is not there waits until it has been fetched
 *  from host memory, in place of another. At most `fetches` are under way at a time. */
#ifndef RNICSIM_HOST_CONTEXT_CACHE_H
#define RNICSIM_HOST_CONTEXT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "../sim/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

struct context_cache;

/** entries > 0; random: a random entry makes room (drawn from the stream of seed, node and purpose), else the least recently used; fetches 1 .. 64.
 *  NULL if out of memory. */
struct context_cache *context_cache_new(uint32_t entries, bool random, uint32_t fetches, uint64_t seed, uint64_t node,
                                        enum sim_rng_purpose purpose);
void context_cache_free(struct context_cache *c);

/** begin_ps: when work on it can begin: now, or, a miss, when a fetch is free; ready_ps: when the context is there; replaced:
 *  the `where` of the connection that it took the place of, NULL if of none. */
struct context_use { int64_t begin_ps, ready_ps; uint32_t *replaced; bool hit; };
/** A packet of a connection at now_ps (never before an earlier call's). *where is the connection's own, 0 at first and while it is not
 *  held; the cache keeps the pointer until context_cache_drop or until it replaces the entry. fetch_ps: a fetch takes so long. */
struct context_use context_cache_touch(struct context_cache *c, uint32_t *where, int64_t now_ps, int64_t fetch_ps);
/** The connection ends. */
void context_cache_drop(struct context_cache *c, uint32_t *where);

#ifdef __cplusplus
}
#endif
#endif
