/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions: keys, access checks, placement, sources, atomics, watchers. */
#include "rnic_internal.h"
#include <stdlib.h>
#include <string.h>

#define GENERATION_BITS 8
#define MAX_SLOTS ((UINT32_C(1) << (32 - GENERATION_BITS)) - 1)

const char *rnic_fault_name(enum rnic_fault f)
{
    static const char *const names[] = { "none", "key", "protection domain", "access", "wrap", "bounds", "alignment", "shared" };
    return (unsigned)f < sizeof names / sizeof names[0] ? names[f] : "?";
}

static bool take_slot(struct rnic_dev *d, uint32_t *slot)
{
    if (d->free_slot != 0) {
        *slot = d->free_slot - 1;
        d->free_slot = d->slots[*slot].next_free;
        return true;
    }
    if (d->nslots == d->slot_cap) {
        uint32_t cap = d->slot_cap ? d->slot_cap * 2 : 8;
        struct rnic_mr_slot *s = d->nslots < MAX_SLOTS ? realloc(d->slots, cap * sizeof *s) : NULL;
        if (s == NULL)
            return false;
        d->slots = s;
        d->slot_cap = cap;
    }
    *slot = d->nslots++;
    d->slots[*slot] = (struct rnic_mr_slot){ 0 };
    return true;
}

static struct rnic_mr *mr_new(struct rnic_pd *pd, uint64_t va, uint64_t len, unsigned access, uint8_t *mem)
{
    if (pd == NULL || len == 0 || va + len - 1 < va || access > 0xf)
        return NULL;
    struct rnic_mr *mr = calloc(1, sizeof *mr);
    if (mr == NULL)
        return NULL;
    if (access & (RNIC_REMOTE_WRITE | RNIC_REMOTE_ATOMIC))
        access |= RNIC_LOCAL_WRITE;
    mr->pd = pd;
    mr->va = va;
    mr->len = len;
    mr->access = access;
    mr->mem = mem;
    return mr;
}

struct rnic_mr *rnic_mr_reg(struct rnic_pd *pd, uint64_t va, uint64_t len, unsigned access, uint8_t *mem)
{
    uint32_t slot;
    struct rnic_mr *mr = mr_new(pd, va, len, access, mem);
    if (mr == NULL || !take_slot(pd->dev, &slot)) {
        free(mr);
        return NULL;
    }
    mr->key = (slot + 1) << GENERATION_BITS | pd->dev->slots[slot].generation;
    pd->dev->slots[slot].mr = mr;
    return mr;
}

struct rnic_mr *rnic_mr_reg_as(struct rnic_pd *pd, uint32_t key, uint64_t va, uint64_t len, unsigned access, uint8_t *mem)
{
    if (pd == NULL || rnic_mr_find(pd->dev, key) != NULL)
        return NULL;
    struct rnic_mr *mr = mr_new(pd, va, len, access, mem);
    if (mr == NULL)
        return NULL;
    mr->key = key;
    mr->named = true;
    mr->next_named = pd->dev->named;
    pd->dev->named = mr;
    return mr;
}

static void mr_free(struct rnic_mr *mr)
{
    free(mr->cells);
    free(mr->events);
    free(mr);
}

void rnic_mr_dereg(struct rnic_mr *mr)
{
    struct rnic_dev *d = mr->pd->dev;
    if (mr->named) {
        struct rnic_mr **at = &d->named;
        while (*at != mr)
            at = &(*at)->next_named;
        *at = mr->next_named;
    } else {
        uint32_t slot = (mr->key >> GENERATION_BITS) - 1;
        d->slots[slot].mr = NULL;
        d->slots[slot].generation++;
        d->slots[slot].next_free = d->free_slot;
        d->free_slot = slot + 1;
    }
    if (mr->ev_head != mr->ev_tail)
        mr->dead = true; /* the last event on its way frees it */
    else
        mr_free(mr);
}

void rnic_mr_free_all(struct rnic_dev *d)
{
    for (uint32_t i = 0; i < d->nslots; i++)
        if (d->slots[i].mr != NULL)
            mr_free(d->slots[i].mr);
    for (struct rnic_mr *mr = d->named, *next; mr != NULL; mr = next) {
        next = mr->next_named;
        mr_free(mr);
    }
    free(d->slots);
}

uint32_t rnic_mr_key(const struct rnic_mr *mr) { return mr->key; }

struct rnic_mr *rnic_mr_find(const struct rnic_dev *d, uint32_t key)
{
    for (struct rnic_mr *mr = d->named; mr != NULL; mr = mr->next_named)
        if (mr->key == key)
            return mr;
    uint32_t slot = (key >> GENERATION_BITS) - 1;
    if (slot >= d->nslots)
        return NULL;
    struct rnic_mr *mr = d->slots[slot].mr;
    return mr != NULL && mr->key == key ? mr : NULL;
}

void rnic_mr_limit(struct rnic_mr *mr, const struct rnic_qp *only) { mr->only_qpn = only != NULL ? only->qpn : 0; }
void rnic_mr_set_shared(struct rnic_mr *mr, bool shared) { mr->shared = shared; }

/* --- checks --- */

static enum rnic_fault check(const struct rnic_qp *qp, uint32_t key, uint64_t va, uint64_t len, unsigned need, struct rnic_mr **out)
{
    struct rnic_mr *mr = rnic_mr_find(qp->dev, key);
    *out = mr;
    if (mr == NULL || mr->invalid)
        return RNIC_FAULT_KEY;
    if (mr->pd != qp->pd || (mr->only_qpn != 0 && mr->only_qpn != qp->qpn))
        return RNIC_FAULT_PD;
    if ((mr->access & need) != need)
        return RNIC_FAULT_ACCESS;
    if (va + len < va)
        return RNIC_FAULT_WRAP;
    if (va < mr->va || len > mr->len || va - mr->va > mr->len - len)
        return RNIC_FAULT_BOUNDS;
    return RNIC_FAULT_NONE;
}

enum rnic_fault rnic_check(const struct rnic_qp *qp, uint32_t key, uint64_t va, uint64_t len, unsigned need)
{
    struct rnic_mr *mr;
    return len == 0 ? RNIC_FAULT_NONE : check(qp, key, va, len, need, &mr);
}

enum rnic_fault rnic_place(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, unsigned need, const struct pkt *p, uint32_t from)
{
    struct rnic_mr *mr;
    if (len == 0)
        return RNIC_FAULT_NONE;
    enum rnic_fault f = check(qp, key, va, len, need, &mr);
    if (f == RNIC_FAULT_NONE && mr->mem != NULL)
        pkt_payload_read(p, from, len, mr->mem + (va - mr->va));
    return f;
}

enum rnic_fault rnic_place_bytes(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, unsigned need, const uint8_t *bytes)
{
    struct rnic_mr *mr;
    if (len == 0)
        return RNIC_FAULT_NONE;
    enum rnic_fault f = check(qp, key, va, len, need, &mr);
    if (f == RNIC_FAULT_NONE && mr->mem != NULL)
        memcpy(mr->mem + (va - mr->va), bytes, len);
    return f;
}

/* --- sources --- */

enum rnic_fault rnic_describe(const struct rnic_qp *qp, uint32_t key, uint64_t va, uint64_t len, unsigned need, struct rnic_span *out)
{
    struct rnic_mr *mr;
    *out = (struct rnic_span){ 0 };
    if (len == 0)
        return RNIC_FAULT_NONE;
    enum rnic_fault f = check(qp, key, va, len, need, &mr);
    if (f == RNIC_FAULT_NONE) {
        out->off = va - mr->va;
        out->seed = key;
        out->mem = mr->mem != NULL ? mr->mem + out->off : NULL;
    }
    return f;
}

enum rnic_fault rnic_describe_wqe(const struct rnic_qp *qp, const struct rnic_wqe *w, struct rnic_span *out)
{
    if (w->inline_data != NULL) {
        *out = (struct rnic_span){ .mem = w->inline_data };
        return RNIC_FAULT_NONE;
    }
    return rnic_describe(qp, w->wr.sge.lkey, w->wr.sge.va, w->wr.sge.len, 0, out);
}

static void append(struct pkt *p, const struct rnic_span *s, uint32_t off, uint32_t len)
{
    bool ok = s->mem != NULL ? pkt_add_bytes(p, s->mem + off, len) : pkt_add_pattern(p, len, s->seed, s->off + off);
    assert(ok);
    (void)ok;
}

enum rnic_fault rnic_source(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, unsigned need, struct pkt *p)
{
    struct rnic_span s;
    enum rnic_fault f = rnic_describe(qp, key, va, len, need, &s);
    if (f == RNIC_FAULT_NONE && len > 0)
        append(p, &s, 0, len);
    return f;
}

enum rnic_fault rnic_source_wqe(struct rnic_qp *qp, const struct rnic_wqe *w, uint32_t off, uint32_t len, struct pkt *p)
{
    struct rnic_span s;
    assert((uint64_t)off + len <= w->wr.sge.len);
    enum rnic_fault f = rnic_describe_wqe(qp, w, &s);
    if (f == RNIC_FAULT_NONE && len > 0)
        append(p, &s, off, len);
    return f;
}

/* --- atomics --- */

static uint64_t get_le64(const uint8_t *b)
{
    uint64_t v = 0;
    for (unsigned i = 8; i-- > 0;)
        v = v << 8 | b[i];
    return v;
}

static void put_le64(uint8_t *b, uint64_t v)
{
    for (unsigned i = 0; i < 8; i++, v >>= 8)
        b[i] = (uint8_t)v;
}

static struct rnic_cell *cell(struct rnic_mr *mr, uint64_t off)
{
    for (uint32_t i = 0; i < mr->ncells; i++)
        if (mr->cells[i].off == off)
            return &mr->cells[i];
    if (mr->ncells == mr->cell_cap) {
        mr->cell_cap = mr->cell_cap ? mr->cell_cap * 2 : 4;
        mr->cells = realloc(mr->cells, mr->cell_cap * sizeof *mr->cells);
        if (mr->cells == NULL)
            abort();
    }
    uint8_t b[8];
    for (unsigned i = 0; i < 8; i++)
        b[i] = pkt_pattern_byte(mr->key, off + i);
    struct rnic_cell *c = &mr->cells[mr->ncells++];
    *c = (struct rnic_cell){ off, get_le64(b) };
    return c;
}

/* Each field ends at a bit set in mask: the carry out of it is lost. Adding without the fields' top bits carries into no other field. */
static uint64_t masked_add(uint64_t x, uint64_t y, uint64_t mask)
{
    uint64_t low = (x & ~mask) + (y & ~mask);
    return low ^ ((x ^ y) & mask);
}

enum rnic_fault rnic_atomic_check(const struct rnic_qp *qp, uint32_t key, uint64_t va)
{
    struct rnic_mr *mr;
    enum rnic_fault f = check(qp, key, va, 8, RNIC_REMOTE_ATOMIC, &mr);
    return f == RNIC_FAULT_NONE && va & 7 ? RNIC_FAULT_ALIGN : f;
}

enum rnic_fault rnic_atomic_masked(struct rnic_qp *qp, uint32_t key, uint64_t va, enum rnic_opcode op, const struct rnic_atomic_args *a, uint64_t *orig)
{
    enum rnic_fault f = rnic_atomic_check(qp, key, va);
    if (f != RNIC_FAULT_NONE)
        return f;
    struct rnic_mr *mr = rnic_mr_find(qp->dev, key);
    uint64_t off = va - mr->va;
    struct rnic_cell *c = mr->mem != NULL ? NULL : cell(mr, off);
    *orig = c != NULL ? c->value : get_le64(mr->mem + off);
    uint64_t after = *orig;
    if (op == RNIC_OP_FETCH_ADD)
        after = masked_add(*orig, a->swap_add, a->mask);
    else if (((a->compare ^ *orig) & a->compare_mask) == 0)
        after = (*orig & ~a->mask) | (a->swap_add & a->mask);
    if (c != NULL)
        c->value = after;
    else
        put_le64(mr->mem + off, after);
    return RNIC_FAULT_NONE;
}

enum rnic_fault rnic_atomic(struct rnic_qp *qp, uint32_t key, uint64_t va, enum rnic_opcode op, uint64_t compare, uint64_t swap_add, uint64_t *orig)
{
    struct rnic_atomic_args a = { .compare = compare, .compare_mask = UINT64_MAX, .swap_add = swap_add, .mask = op == RNIC_OP_FETCH_ADD ? 0 : UINT64_MAX };
    return rnic_atomic_masked(qp, key, va, op, &a, orig);
}

/* --- invalidation --- */

enum rnic_fault rnic_remote_inv(struct rnic_qp *qp, uint32_t key)
{
    struct rnic_mr *mr = rnic_mr_find(qp->dev, key);
    if (mr == NULL || mr->invalid)
        return RNIC_FAULT_KEY;
    if (mr->pd != qp->pd || (mr->only_qpn != 0 && mr->only_qpn != qp->qpn))
        return RNIC_FAULT_PD;
    if (mr->shared)
        return RNIC_FAULT_SHARED;
    mr->invalid = true;
    return RNIC_FAULT_NONE;
}

/* --- watchers --- */

void rnic_mr_watch(struct rnic_mr *mr, uint32_t core, void (*fn)(void *ctx, uint64_t va, uint32_t len), void *ctx)
{
    mr->core = core;
    mr->watch = fn;
    mr->watch_ctx = ctx;
}

static void push_event(struct rnic_mr *mr, uint64_t va, uint32_t len)
{
    mr->events = rnic_ring_room(mr->events, &mr->ev_cap, sizeof *mr->events, mr->ev_head, mr->ev_tail);
    mr->events[mr->ev_tail++ & (mr->ev_cap - 1)] = (struct rnic_watch_event){ va, len };
}

static void watched(struct sim *s, void *ctx, void *arg)
{
    struct rnic_mr *mr = ctx;
    (void)s;
    (void)arg;
    struct rnic_watch_event e = mr->events[mr->ev_head++ & (mr->ev_cap - 1)];
    if (!mr->dead && mr->watch != NULL)
        mr->watch(mr->watch_ctx, e.va, e.len);
    else if (mr->dead && mr->ev_head == mr->ev_tail)
        mr_free(mr);
}

void rnic_write_done(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, uint32_t dma_bytes)
{
    struct rnic_mr *mr = rnic_mr_find(qp->dev, key);
    if (mr == NULL || mr->watch == NULL)
        return;
    if (qp->dev->host == NULL) {
        mr->watch(mr->watch_ctx, va, len);
        return;
    }
    push_event(mr, va, len);
    host_complete(qp->dev->host, mr->core, dma_bytes, watched, mr, NULL);
}
