/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables from connection keys to endpoints: open addressing, at most half full, deletion by moving back. */
#include <stdlib.h>

#include "host_internal.h"

static uint32_t slot_of(const struct host_map *m, uint64_t key)
{
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->cap - 1);
}

struct endpoint *host_map_find(const struct host_map *m, uint64_t key)
{
    if (m->cap == 0)
        return NULL;
    for (uint32_t i = slot_of(m, key); m->eps[i]; i = (i + 1) & (m->cap - 1))
        if (m->keys[i] == key)
            return m->eps[i];
    return NULL;
}

static int grow(struct host_map *m)
{
    struct host_map old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->keys = calloc(m->cap, sizeof *m->keys);
    m->eps = calloc(m->cap, sizeof *m->eps);
    if (!m->keys || !m->eps) {
        free(m->keys);
        free(m->eps);
        *m = old;
        return SIM_ERR_NOMEM;
    }
    m->used = 0;
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.eps[i])
            (void)host_map_put(m, old.keys[i], old.eps[i]);
    free(old.keys);
    free(old.eps);
    return SIM_OK;
}

int host_map_put(struct host_map *m, uint64_t key, struct endpoint *ep)
{
    if (host_map_find(m, key))
        return SIM_ERR_STATE;
    if (2 * (m->used + 1) > m->cap && grow(m) != SIM_OK)
        return SIM_ERR_NOMEM;
    uint32_t i = slot_of(m, key);
    while (m->eps[i])
        i = (i + 1) & (m->cap - 1);
    m->keys[i] = key;
    m->eps[i] = ep;
    m->used++;
    return SIM_OK;
}

static void del_slot(struct host_map *m, uint32_t i)
{
    uint32_t mask = m->cap - 1;
    m->used--;
    for (uint32_t j = (i + 1) & mask; m->eps[j]; j = (j + 1) & mask) {
        uint32_t home = slot_of(m, m->keys[j]);
        if (((j - home) & mask) >= ((j - i) & mask)) {
            m->keys[i] = m->keys[j];
            m->eps[i] = m->eps[j];
            i = j;
        }
    }
    m->eps[i] = NULL;
}

void host_map_del(struct host_map *m, uint64_t key)
{
    if (m->cap == 0)
        return;
    for (uint32_t i = slot_of(m, key); m->eps[i]; i = (i + 1) & (m->cap - 1))
        if (m->keys[i] == key) {
            del_slot(m, i);
            return;
        }
}

void host_map_del_endpoint(struct host_map *m, const struct endpoint *ep)
{
    for (uint32_t i = 0; i < m->cap; )
        if (m->eps[i] == ep)
            del_slot(m, i);                         /* another may have moved here: look again */
        else
            i++;
}

void host_map_fini(struct host_map *m)
{
    free(m->keys);
    free(m->eps);
    *m = (struct host_map){ 0 };
}
