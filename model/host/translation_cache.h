/* SPDX-License-Identifier: GPL-2.0-only */
/** The NIC's cache of memory translations: which host page a place in a memory region lies in. Pages stand in a context_cache, so
 *  replacement and fetches are as those of contexts. */
#ifndef RNICSIM_HOST_TRANSLATION_CACHE_H
#define RNICSIM_HOST_TRANSLATION_CACHE_H

#include "context_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

struct translation_cache;

/** entries > 0 pages of page_bytes (> 0) each; the rest as context_cache_new. NULL if out of memory. */
struct translation_cache *translation_cache_new(uint32_t entries, uint64_t page_bytes, bool random, uint32_t fetches, uint64_t seed, uint64_t node);
void translation_cache_free(struct translation_cache *c);

/** len bytes (0 counts as 1) at address va of the region rkey are about to be written, at now_ps (never before an earlier call's): each page that they
 *  touch is looked up, in order. begin_ps: when the last of the fetches begins, or now; ready_ps: when all translations are there. Adds to
 *  *hits and *misses, one per page. */
struct context_use translation_cache_touch(struct translation_cache *c, uint32_t rkey, uint64_t va, uint32_t len, int64_t now_ps, int64_t fetch_ps,
                                           uint64_t *hits, uint64_t *misses);

#ifdef __cplusplus
}
#endif
#endif
