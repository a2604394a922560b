/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tcp_seg *ring_of(uint32_t cap)
{
    struct tcp_seg *r = malloc(cap * sizeof *r);
    if (!r) {
        fprintf(stderr, "rnicsim: out of memory\n");
        abort();
    }
    return r;
}

void tcp_board_init(struct tcp_board *b)
{
    memset(b, 0, sizeof *b);
    b->cap = 16;
    b->ring = ring_of(b->cap);
}

void tcp_board_fini(struct tcp_board *b)
{
    free(b->ring);
    b->ring = NULL;
}

void tcp_board_acked_init(struct tcp_acked *a)
{
    memset(a, 0, sizeof *a);
    a->first_sent_ps = a->last_sent_ps = a->first_sacked_ps = a->last_sacked_ps = a->rack_sent_ps = -1;
    a->low_once = UINT64_MAX;
}

static void grow(struct tcp_board *b)
{
    if (b->tail - b->head < b->cap)
        return;
    struct tcp_seg *r = ring_of(2 * b->cap);
    for (uint64_t i = b->head; i < b->tail; i++)
        r[i & (2 * b->cap - 1)] = *tcp_board_at(b, i);
    free(b->ring);
    b->ring = r;
    b->cap *= 2;
}

void tcp_board_push(struct tcp_board *b, uint64_t from, uint32_t len, uint32_t flags, int64_t now_ps)
{
    grow(b);
    *tcp_board_at(b, b->tail++) = (struct tcp_seg){ .from = from, .len = len, .flags = flags, .sent_ps = now_ps };
}

uint64_t tcp_board_find(const struct tcp_board *b, uint64_t seq)
{
    uint64_t lo = b->head, hi = b->tail;
    if (lo == hi || seq < tcp_board_at(b, lo)->from)
        return b->tail;
    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (tcp_board_at(b, mid)->from <= seq)
            lo = mid;
        else
            hi = mid;
    }
    const struct tcp_seg *s = tcp_board_at(b, lo);
    return seq < s->from + s->len ? lo : b->tail;
}

void tcp_board_split(struct tcp_board *b, uint64_t i, uint32_t len)
{
    grow(b);
    assert(len > 0 && len < tcp_board_at(b, i)->len);
    for (uint64_t j = b->tail++; j > i + 1; j--)
        *tcp_board_at(b, j) = *tcp_board_at(b, j - 1);
    struct tcp_seg *first = tcp_board_at(b, i), *second = tcp_board_at(b, i + 1);
    *second = *first;
    second->from += len;
    second->len -= len;
    second->flags &= ~(uint32_t)SEG_SYN;
    first->len = len;
    first->flags &= ~(uint32_t)SEG_FIN;
    if (first->flags & SEG_SACKED)
        b->sacked_segs++;
    if (b->hint > i)
        b->hint++;
    if (b->judged > i)
        b->judged++;
}

static void drop_flags(struct tcp_board *b, struct tcp_seg *s)
{
    if (s->flags & SEG_LOST)
        b->lost -= s->len;
    if (s->flags & SEG_RETX)
        b->retx -= s->len;
    s->flags &= ~(uint32_t)(SEG_LOST | SEG_RETX);
}

/* A segment is known to have arrived for the first time. */
static void delivered(const struct tcp_seg *s, struct tcp_acked *a)
{
    uint64_t end = s->from + s->len;
    a->bytes += s->len;
    if (s->sent_ps > a->rack_sent_ps || (s->sent_ps == a->rack_sent_ps && end > a->rack_end)) {
        a->rack_sent_ps = s->sent_ps;
        a->rack_end = end;
        a->rack_again = s->flags & SEG_EVER;
    }
    if (end > a->high_end)
        a->high_end = end;
    if (!(s->flags & SEG_EVER) && s->from < a->low_once)
        a->low_once = s->from;
}

void tcp_board_ack(struct tcp_board *b, uint64_t upto, struct tcp_acked *a)
{
    while (b->head < b->tail) {
        struct tcp_seg *s = tcp_board_at(b, b->head);
        if (s->from >= upto)
            break;
        if (s->from + s->len > upto)
            tcp_board_split(b, b->head, (uint32_t)(upto - s->from));
        s = tcp_board_at(b, b->head);
        if (s->flags & SEG_EVER)
            a->again_acked = true;
        if (s->flags & SEG_SACKED) {
            b->sacked -= s->len;
            b->sacked_segs--;
        } else {
            if (!(s->flags & SEG_EVER)) {
                if (a->first_sent_ps < 0)
                    a->first_sent_ps = s->sent_ps;
                a->last_sent_ps = s->sent_ps;
            }
            delivered(s, a);
        }
        drop_flags(b, s);
        b->head++;
    }
    if (b->hint < b->head)
        b->hint = b->head;
    if (b->judged < b->head)
        b->judged = b->head;
}

void tcp_board_sack(struct tcp_board *b, uint64_t from, uint64_t to, struct tcp_acked *a)
{
    uint64_t i = tcp_board_find(b, from);
    if (i == b->tail) {                         /* begins below what is outstanding: a stale or a wrong block */
        if (tcp_board_empty(b) || from >= tcp_board_at(b, b->head)->from || to <= tcp_board_at(b, b->head)->from)
            return;
        i = b->head;
        from = tcp_board_at(b, i)->from;
    }
    for (; i < b->tail; i++) {
        struct tcp_seg *s = tcp_board_at(b, i);
        if (s->from >= to)
            break;
        if (s->flags & SEG_SACKED)
            continue;
        if (s->from < from) {                   /* covered in part: only the part counts */
            tcp_board_split(b, i, (uint32_t)(from - s->from));
            continue;
        }
        if (s->from + s->len > to)
            tcp_board_split(b, i, (uint32_t)(to - s->from));
        s = tcp_board_at(b, i);
        drop_flags(b, s);
        if (!(s->flags & SEG_EVER)) {
            if (a->first_sacked_ps < 0)
                a->first_sacked_ps = s->sent_ps;
            a->last_sacked_ps = s->sent_ps;
        }
        delivered(s, a);
        s->flags |= SEG_SACKED;
        b->sacked += s->len;
        b->sacked_segs++;
        a->segs_sacked++;
        a->sacked_bytes += s->len;
        if (s->from + s->len > b->high_sacked)
            b->high_sacked = s->from + s->len;
    }
}

void tcp_board_mark_lost(struct tcp_board *b, uint64_t i)
{
    struct tcp_seg *s = tcp_board_at(b, i);
    if (s->flags & SEG_SACKED)
        return;
    if (s->flags & SEG_RETX)
        b->retx -= s->len;
    if (!(s->flags & SEG_LOST))
        b->lost += s->len;
    s->flags = (s->flags & ~(uint32_t)SEG_RETX) | SEG_LOST;
    if (i < b->hint)
        b->hint = i;
}

void tcp_board_all_lost(struct tcp_board *b)
{
    for (uint64_t i = b->head; i < b->tail; i++)
        tcp_board_mark_lost(b, i);
    b->hint = b->head;
}

void tcp_board_forget_sacks(struct tcp_board *b)
{
    for (uint64_t i = b->head; i < b->tail; i++)
        tcp_board_at(b, i)->flags &= ~(uint32_t)SEG_SACKED;
    b->sacked = 0;
    b->sacked_segs = 0;
    b->high_sacked = 0;
    b->judged = b->head;
}

void tcp_board_judge(struct tcp_board *b, uint32_t dup_threshold, uint32_t mss)
{
    if (!b->sacked || b->high_sacked == 0)
        return;
    uint64_t bytes = 0, i = tcp_board_find(b, b->high_sacked - 1) + 1;
    uint32_t ranges = 0;
    bool in_range = false, enough = false;
    if (i > b->tail)
        return;
    while (i > b->judged && !enough) {
        const struct tcp_seg *s = tcp_board_at(b, --i);
        if (s->flags & SEG_SACKED) {
            ranges += !in_range;
            bytes += s->len;
            enough = ranges >= dup_threshold || bytes > (uint64_t)(dup_threshold - 1) * mss;
        }
        in_range = s->flags & SEG_SACKED;
    }
    if (!enough)
        return;
    for (uint64_t j = b->judged; j < i; j++)
        if (!(tcp_board_at(b, j)->flags & (SEG_SACKED | SEG_LOST | SEG_EVER)))
            tcp_board_mark_lost(b, j);
    b->judged = i;
}

uint64_t tcp_board_next_lost(const struct tcp_board *b)
{
    if (b->lost == b->retx)                     /* all that is lost has been sent again */
        return b->tail;
    for (uint64_t i = b->hint; i < b->tail; i++)
        if ((tcp_board_at(b, i)->flags & (SEG_LOST | SEG_RETX)) == SEG_LOST)
            return i;
    assert(!"bytes are lost, so a segment is");
    return b->tail;
}

void tcp_board_resent(struct tcp_board *b, uint64_t i, int64_t now_ps)
{
    struct tcp_seg *s = tcp_board_at(b, i);
    if (tcp_board_next_lost(b) == i)
        b->hint = i + 1;
    if (!(s->flags & SEG_LOST))                 /* a probe: the copy is in the network beside the first */
        b->lost += s->len;
    if (!(s->flags & SEG_RETX))
        b->retx += s->len;
    s->flags |= SEG_LOST | SEG_RETX | SEG_EVER;
    s->sent_ps = now_ps;
}
