/* SPDX-License-Identifier: GPL-2.0-only */
#include "pool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define POOL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ASAN 1
#endif
#endif
#ifdef POOL_ASAN
#include <sanitizer/asan_interface.h>
#define HIDE(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define SHOW(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define HIDE(p, n) ((void)0)
#define SHOW(p, n) ((void)0)
#endif

#define BLOCK_BYTES ((size_t)2 << 20)
#define LINE 64

void sim_pool_init(struct sim_pool *p, size_t object_bytes)
{
    memset(p, 0, sizeof *p);
    p->object_bytes = (object_bytes + LINE - 1) / LINE * LINE;
    if (p->object_bytes == 0)
        p->object_bytes = LINE;
    assert(p->object_bytes <= BLOCK_BYTES - LINE);
}

void sim_pool_fini(struct sim_pool *p)
{
    while (p->blocks) {
        void *next;

        memcpy(&next, p->blocks, sizeof next);
        SHOW(p->blocks, BLOCK_BYTES);
        free(p->blocks);
        p->blocks = next;
    }
    memset(p, 0, sizeof *p);
}

/* A block's first line links it to the block before; objects follow and are touched only when first taken. */
static void add_block(struct sim_pool *p)
{
    char *b = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);

    assert(p->object_bytes);
    if (!b) {
        fprintf(stderr, "rnicsim: out of memory after %llu objects of %zu bytes\n", (unsigned long long)p->in_use,
                p->object_bytes);
        abort();
    }
    (void)madvise(b, BLOCK_BYTES, MADV_HUGEPAGE); /* only faster; the pool works without */
    memcpy(b, &p->blocks, sizeof p->blocks);
    p->blocks = b;
    p->blocks_bytes += BLOCK_BYTES;
    p->fresh = b + LINE;
    p->fresh_left = (BLOCK_BYTES - LINE) / p->object_bytes;
    HIDE(b + LINE, BLOCK_BYTES - LINE);
}

void *sim_pool_get(struct sim_pool *p)
{
    void *o = p->free_list;

    if (o) {
        SHOW(o, p->object_bytes);
        memcpy(&p->free_list, o, sizeof p->free_list);
    } else {
        if (p->fresh_left == 0)
            add_block(p);
        o = p->fresh;
        p->fresh += p->object_bytes;
        p->fresh_left--;
        SHOW(o, p->object_bytes);
    }
    if (++p->in_use > p->peak)
        p->peak = p->in_use;
    return o;
}

void sim_pool_put(struct sim_pool *p, void *object)
{
    assert(p->in_use > 0);
    memcpy(object, &p->free_list, sizeof p->free_list);
    p->free_list = object;
    p->in_use--;
    HIDE(object, p->object_bytes);
}
