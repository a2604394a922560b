/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay_internal.h"

#include <stdlib.h>
#include <string.h>

struct replay_region *replay_region(struct replay_memory *m, uint32_t key, bool create)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->region[i].key == key)
            return &m->region[i];
    if (!create)
        return NULL;
    m->region = replay_alloc(realloc(m->region, (m->n + 1) * sizeof *m->region));
    m->region[m->n] = (struct replay_region){ .key = key };
    return &m->region[m->n++];
}

void replay_granted(struct replay_memory *m, uint32_t key, uint64_t va, uint64_t len, unsigned access)
{
    if (len == 0 || va + len < va)
        return;
    struct replay_region *g = replay_region(m, key, true);
    if (g->high == 0) {
        g->low = va;
        g->high = va + len;
    }
    g->low = va < g->low ? va : g->low;
    g->high = va + len > g->high ? va + len : g->high;
    g->access |= access;
}

bool replay_memory_fill(struct replay_memory *m)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        struct replay_region *g = &m->region[i];
        total += g->high - g->low < REPLAY_MEMORY_MAX ? g->high - g->low : REPLAY_MEMORY_MAX;
        if (total >= REPLAY_MEMORY_MAX)
            return false;
        g->mem = replay_alloc(calloc(1, g->high - g->low));
        g->known = replay_alloc(calloc(1, g->high - g->low));
    }
    return true;
}

/* The part of a region that [va, va + len) touches, cut to it; NULL if none. */
static struct replay_region *touched(struct replay_memory *m, uint32_t key, uint64_t va, uint64_t len)
{
    struct replay_region *g = replay_region(m, key, false);
    return g != NULL && g->mem != NULL && len > 0 && va >= g->low && va + len <= g->high && va + len > va ? g : NULL;
}

void replay_written(struct replay_memory *m, uint32_t key, uint64_t va, uint64_t len)
{
    struct replay_region *g = touched(m, key, va, len);
    if (g != NULL)
        memset(g->known + (va - g->low), 1, len);
}

void replay_shown(struct replay_memory *m, uint32_t key, uint64_t va, const uint8_t *bytes, uint64_t len)
{
    struct replay_region *g = touched(m, key, va, len);
    for (uint64_t i = 0; g != NULL && i < len; i++) {
        uint64_t at = va - g->low + i;
        if (!g->known[at])
            g->mem[at] = bytes[i];
        g->known[at] = 1;
    }
}

int replay_memory_register(struct replay_memory *m, struct rnic_pd *pd)
{
    for (uint32_t i = 0; i < m->n; i++) {
        struct replay_region *g = &m->region[i];
        if (rnic_mr_reg_as(pd, g->key, g->low, g->high - g->low, g->access, g->mem) == NULL)
            return SIM_ERR_NOMEM;
    }
    return SIM_OK;
}

void replay_memory_free(struct replay_memory *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        free(m->region[i].mem);
        free(m->region[i].known);
    }
    free(m->region);
    *m = (struct replay_memory){ 0 };
}
