/* SPDX-License-Identifier: GPL-2.0-only */
#include "translation_cache.h"

#include <stdlib.h>

/* A page that is held; `where` must stay where it is: context_cache keeps its address. */
struct page { uint32_t where; uint32_t rkey; uint64_t number; struct page *next; };

struct translation_cache {
    struct context_cache *held;
    struct page *pages;          /* one more than entries: the page that comes needs room before another goes */
    struct page *spare;
    struct page **bucket;
    uint32_t mask;
    uint64_t page_bytes;
};

struct translation_cache *translation_cache_new(uint32_t entries, uint64_t page_bytes, bool random, uint32_t fetches, uint64_t seed, uint64_t node)
{
    struct translation_cache *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    uint32_t buckets = 16;
    while (buckets < entries)
        buckets *= 2;
    c->held = context_cache_new(entries, random, fetches, seed, node, SIM_RNG_TRANSLATION);
    c->pages = calloc((size_t)entries + 1, sizeof *c->pages);
    c->bucket = calloc(buckets, sizeof(struct page *));
    if (!c->held || !c->pages || !c->bucket) {
        translation_cache_free(c);
        return NULL;
    }
    c->mask = buckets - 1;
    c->page_bytes = page_bytes;
    for (uint32_t i = 0; i <= entries; i++) {
        c->pages[i].next = c->spare;
        c->spare = &c->pages[i];
    }
    return c;
}

void translation_cache_free(struct translation_cache *c)
{
    if (!c)
        return;
    context_cache_free(c->held);
    free(c->pages);
    free(c->bucket);
    free(c);
}

static struct page **bucket_of(struct translation_cache *c, uint32_t rkey, uint64_t number)
{
    uint64_t z = (number ^ (uint64_t)rkey << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &c->bucket[(uint32_t)(z >> 32) & c->mask];
}

static void forget(struct translation_cache *c, struct page *gone)
{
    struct page **at = bucket_of(c, gone->rkey, gone->number);
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    gone->next = c->spare;
    c->spare = gone;
}

static struct context_use touch_page(struct translation_cache *c, uint32_t rkey, uint64_t number, int64_t now_ps, int64_t fetch_ps)
{
    struct page **first = bucket_of(c, rkey, number), *p = *first;
    while (p && (p->rkey != rkey || p->number != number))
        p = p->next;
    if (!p) {
        p = c->spare;
        c->spare = p->next;
        *p = (struct page){ 0, rkey, number, *first };
        *first = p;
    }
    struct context_use use = context_cache_touch(c->held, &p->where, now_ps, fetch_ps);
    if (use.replaced)
        forget(c, (struct page *)(void *)use.replaced);
    return use;
}

struct context_use translation_cache_touch(struct translation_cache *c, uint32_t rkey, uint64_t va, uint32_t len, int64_t now_ps, int64_t fetch_ps,
                                           uint64_t *hits, uint64_t *misses)
{
    struct context_use all = { .begin_ps = now_ps, .ready_ps = now_ps, .hit = true };
    uint64_t first = va / c->page_bytes, last = (va + (len ? len - 1 : 0)) / c->page_bytes;
    for (uint64_t number = first; number <= last; number++) {
        struct context_use use = touch_page(c, rkey, number, now_ps, fetch_ps);
        *hits += use.hit;
        *misses += !use.hit;
        all.hit = all.hit && use.hit;
        all.begin_ps = use.begin_ps > all.begin_ps ? use.begin_ps : all.begin_ps;
        all.ready_ps = use.ready_ps > all.ready_ps ? use.ready_ps : all.ready_ps;
    }
    return all;
}
