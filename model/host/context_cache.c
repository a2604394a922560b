/* SPDX-License-Identifier: GPL-2.0-only */
#include "context_cache.h"

#include <stdlib.h>

#include "../sim/rng.h"

#define FETCHES_MAX 64

/* Entries are numbered from 1; entry 0 is the head of a circular list, most recently used first. Free ones stand at its end. */
struct entry { uint32_t *where; uint32_t newer, older; int64_t ready_ps; };

struct context_cache {
    struct entry *e;
    uint32_t entries, used, fetches, next_fetch;
    bool     random;
    struct sim_rng rng;
    int64_t  fetched_ps[FETCHES_MAX];               /* ring of the last fetches' ends */
};

static void take_out(struct context_cache *c, uint32_t i)
{
    c->e[c->e[i].newer].older = c->e[i].older;
    c->e[c->e[i].older].newer = c->e[i].newer;
}

static void put_after(struct context_cache *c, uint32_t i, uint32_t newer)
{
    uint32_t older = c->e[newer].older;
    c->e[i].newer = newer;
    c->e[i].older = older;
    c->e[newer].older = c->e[older].newer = i;
}

struct context_cache *context_cache_new(uint32_t entries, bool random, uint32_t fetches, uint64_t seed, uint64_t node,
                                        enum sim_rng_purpose purpose)
{
    struct context_cache *c = calloc(1, sizeof *c);
    struct entry *e = calloc((size_t)entries + 1, sizeof *e);
    if (!c || !e) {
        free(c);
        free(e);
        return NULL;
    }
    *c = (struct context_cache){ .e = e, .entries = entries, .fetches = fetches, .random = random };
    sim_rng_init(&c->rng, seed, node, purpose);
    for (uint32_t i = 1; i <= entries; i++)
        put_after(c, i, c->e[0].newer);
    return c;
}

void context_cache_free(struct context_cache *c)
{
    if (c)
        free(c->e);
    free(c);
}

void context_cache_drop(struct context_cache *c, uint32_t *where)
{
    if (*where == 0)
        return;
    take_out(c, *where);
    put_after(c, *where, c->e[0].newer);
    c->e[*where].where = NULL;
    *where = 0;
    c->used--;
}

/* The entry that makes room: a free one while there is one. */
static uint32_t choose(struct context_cache *c)
{
    return c->random && c->used == c->entries ? 1 + sim_rng_below(&c->rng, c->entries) : c->e[0].newer;
}

struct context_use context_cache_touch(struct context_cache *c, uint32_t *where, int64_t now_ps, int64_t fetch_ps)
{
    struct context_use use = { .begin_ps = now_ps, .hit = *where != 0 };
    if (!use.hit) {
        uint32_t i = choose(c);
        use.replaced = c->e[i].where;
        if (use.replaced)
            *use.replaced = 0;
        else
            c->used++;
        c->e[i].where = where;
        *where = i;
        int64_t *fetched = &c->fetched_ps[c->next_fetch];
        c->next_fetch = (c->next_fetch + 1) % c->fetches;
        if (*fetched > now_ps)
            use.begin_ps = *fetched;
        *fetched = c->e[i].ready_ps = use.begin_ps + fetch_ps;
    }
    struct entry *e = &c->e[*where];
    use.ready_ps = e->ready_ps > use.begin_ps ? e->ready_ps : use.begin_ps;
    if (c->e[0].older != *where) {
        take_out(c, *where);
        put_after(c, *where, 0);
    }
    return use;
}
