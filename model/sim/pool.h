/* SPDX-License-Identifier: GPL-2.0-only */
/** Fixed-size objects taken from large blocks; no allocation per object in steady state. */
#ifndef RNICSIM_SIM_POOL_H
#define RNICSIM_SIM_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sim_pool {
    void    *free_list;
    void    *blocks;
    size_t   object_bytes;   /* a multiple of 64 once initialised */
    uint64_t in_use, peak, blocks_bytes;
    char    *fresh;          /* objects of the newest block that were never taken */
    size_t   fresh_left;
};

/** Objects of object_bytes (rounded up to 64, aligned to 64). Blocks are 2 MiB, advised to be huge pages. */
void sim_pool_init(struct sim_pool *p, size_t object_bytes);
/** Objects still taken go with it. A pool of all zeros is fine too. */
void sim_pool_fini(struct sim_pool *p);

/** An object with unspecified content. Aborts with a message when memory is exhausted. */
void *sim_pool_get(struct sim_pool *p);
void  sim_pool_put(struct sim_pool *p, void *object);

#ifdef __cplusplus
}
#endif
#endif
