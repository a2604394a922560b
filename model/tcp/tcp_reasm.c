/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_reasm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must_alloc(size_t n)
{
    void *p = malloc(n);
    if (!p) {
        fprintf(stderr, "rnicsim: out of memory\n");
        abort();
    }
    return p;
}

void tcp_reasm_init(struct tcp_reasm *r)
{
    memset(r, 0, sizeof *r);
}

void tcp_reasm_done(struct tcp_reasm *r, struct tcp_piece *piece)
{
    pkt_release_payload(&piece->pkt);
    piece->next = r->free_pieces;
    r->free_pieces = piece;
}

static uint64_t held_bytes(const struct tcp_piece *p) { return p->held ? p->to - p->from : 0; }

/* The run's pieces are given back and the run freed; returns the next run. */
static struct tcp_run *drop_run(struct tcp_reasm *r, struct tcp_run *run)
{
    struct tcp_run *next = run->next;
    for (struct tcp_piece *p = run->first, *n; p; p = n) {
        n = p->next;
        r->bytes -= held_bytes(p);
        tcp_reasm_done(r, p);
    }
    free(run);
    return next;
}

void tcp_reasm_fini(struct tcp_reasm *r)
{
    while (r->runs)
        r->runs = drop_run(r, r->runs);
    for (struct tcp_piece *p = r->free_pieces, *n; p; p = n) {
        n = p->next;
        free(p);
    }
    memset(r, 0, sizeof *r);
}

static struct tcp_piece *piece_of(struct tcp_reasm *r, struct pkt *p, uint32_t at, struct tcp_range range)
{
    struct tcp_piece *piece = r->free_pieces;
    if (piece)
        r->free_pieces = piece->next;
    else
        piece = must_alloc(sizeof *piece);
    piece->next = NULL;
    piece->from = range.from;
    piece->to = range.to;
    piece->at = at;
    piece->held = p->nchunks > 0;
    piece->pkt = *p;                            /* the buffers move */
    for (unsigned i = 0; i < p->nchunks; i++)
        p->chunk[i].kind = CHUNK_NONE;
    p->nchunks = 0;
    return piece;
}

static struct tcp_run *run_of(struct tcp_piece *piece, struct tcp_run *next)
{
    struct tcp_run *run = must_alloc(sizeof *run);
    *run = (struct tcp_run){ .next = next, .from = piece->from, .to = piece->to, .first = piece, .last = piece };
    return run;
}

/* a and its successor have become adjacent. */
static void join_next(struct tcp_run *a)
{
    struct tcp_run *b = a->next;
    a->last->next = b->first;
    a->last = b->last;
    a->to = b->to;
    a->next = b->next;
    free(b);
}

static void note_dup(struct tcp_range *dup, uint64_t from, uint64_t to)
{
    if (dup->from == dup->to)
        *dup = (struct tcp_range){ from, to };
}

enum tcp_reasm_result tcp_reasm_add(struct tcp_reasm *r, struct pkt *p, uint32_t at, uint64_t from, uint64_t to, uint64_t limit,
                                    struct tcp_range *dup)
{
    struct tcp_run **link = &r->runs;
    while (*link && (*link)->to < from)
        link = &(*link)->next;
    /* *link ends at or after from: it may hold the beginning. */
    struct tcp_run *left = *link && (*link)->from <= from ? *link : NULL;
    if (left && left->to >= to) {
        left->stamp = ++r->stamp;
        *dup = (struct tcp_range){ from, to };
        return TCP_REASM_DUPLICATE;
    }
    uint64_t begin = left ? left->to : from, end = to;
    if (begin > from)
        note_dup(dup, from, begin);
    struct tcp_run **rest = left ? &left->next : link;
    for (struct tcp_run *q = *rest; q && q->from < end; q = q->next)
        if (q->to > end)
            end = q->from;                      /* the last one trims, those wholly inside are replaced below */
    if (p->nchunks > 0 && r->bytes + (end - begin) > limit)
        return TCP_REASM_FULL;
    while (*rest && (*rest)->to <= end) {
        note_dup(dup, (*rest)->from, (*rest)->to);
        *rest = drop_run(r, *rest);
    }
    if (end < to)
        note_dup(dup, end, to);
    struct tcp_piece *piece = piece_of(r, p, at + (uint32_t)(begin - from), (struct tcp_range){ begin, end });
    r->bytes += held_bytes(piece);
    if (left) {
        left->last->next = piece;
        left->last = piece;
        left->to = end;
    } else {
        left = *link = run_of(piece, *link);
    }
    if (left->next && left->next->from == left->to)
        join_next(left);
    left->stamp = ++r->stamp;
    return TCP_REASM_KEPT;
}

struct tcp_piece *tcp_reasm_take(struct tcp_reasm *r, uint64_t next)
{
    for (struct tcp_run *run; (run = r->runs) && run->from <= next;) {
        struct tcp_piece *p = run->first;
        run->first = p->next;
        run->from = p->to;
        r->bytes -= held_bytes(p);
        if (!run->first) {
            r->runs = run->next;
            free(run);
        }
        if (p->to > next) {
            if (p->from < next) {
                p->at += (uint32_t)(next - p->from);
                p->from = next;
            }
            return p;
        }
        tcp_reasm_done(r, p);                   /* came again in order meanwhile */
    }
    return NULL;
}

uint32_t tcp_reasm_recent(const struct tcp_reasm *r, struct tcp_range *out, uint32_t max)
{
    uint32_t n = 0;
    uint64_t stamps[PKT_TCP_SACK_MAX];
    assert(max <= PKT_TCP_SACK_MAX);
    for (const struct tcp_run *run = r->runs; run; run = run->next) {
        uint32_t at = n;
        while (at > 0 && stamps[at - 1] < run->stamp)
            at--;
        if (at >= max)
            continue;
        if (n < max)
            n++;
        for (uint32_t i = n - 1; i > at; i--) {
            out[i] = out[i - 1];
            stamps[i] = stamps[i - 1];
        }
        out[at] = (struct tcp_range){ run->from, run->to };
        stamps[at] = run->stamp;
    }
    return n;
}
