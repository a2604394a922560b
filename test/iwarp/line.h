/* SPDX-License-Identifier: GPL-2.0-only */
/** Two endpoints and the line between them in virtual time: 100 Gb/s, 5 us each way, and on request loss, duplicates, late packets, and a
 *  box in the middle that cuts segments in two or joins neighbours. Packets cross as structs or as bytes. */
#ifndef RNICSIM_TEST_IWARP_LINE_H
#define RNICSIM_TEST_IWARP_LINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/host/endpoint.h"
#include "../../model/sim/rng.h"
#include "../../model/sim/sim.h"
#include "../../model/wire/codec.h"

#ifndef LINE_AIR_MAX
#define LINE_AIR_MAX 16384
#endif
#define LINE_JOIN_MAX 9000

struct flying { int64_t at_ps; uint64_t order; int to; struct pkt p; };

struct line {
    struct endpoint *ep[2];
    int64_t now, free_ps[2];
    struct flying *air;
    size_t n;
    uint64_t order;
    bool bytes;                  /* each packet crosses as bytes */
    double loss, dup, late, cut, join; /* chances of a packet */
    struct sim_rng rng;
    /** Sees each packet as it leaves side `from`: false loses it. May be NULL. */
    bool (*tap)(void *ctx, int from, const struct pkt *p);
    void *tap_ctx;
    uint32_t largest_payload;
    uint64_t sent[2], lost, copies, cuts, joins, delivered; /* sent + copies + cuts = lost + joins + delivered + n */
};

static inline void line_init(struct line *l, struct endpoint *a, struct endpoint *b, uint64_t seed)
{
    memset(l, 0, sizeof *l);
    l->ep[0] = a;
    l->ep[1] = b;
    l->air = malloc(LINE_AIR_MAX * sizeof *l->air);
    sim_rng_init(&l->rng, seed, 1, SIM_RNG_TEST);
}

static inline void line_fini(struct line *l)
{
    for (size_t i = 0; i < l->n; i++)
        pkt_release_payload(&l->air[i].p);
    free(l->air);
}

static inline bool line_chance(struct line *l, double p) { return p > 0 && sim_rng_unit(&l->rng) < p; }

/** Each packet is accounted for. */
static inline void line_audit(const struct line *l)
{
    assert_int_equal(l->sent[0] + l->sent[1] + l->copies + l->cuts, l->lost + l->joins + l->delivered + l->n);
}

/* The payload's bytes [from, from + n) as a segment of their own. */
static inline void line_part(struct pkt *out, const struct pkt *p, uint32_t from, uint32_t n)
{
    uint8_t *b = malloc(n + 1);
    pkt_payload_read(p, from, n, b);
    *out = *p;
    out->nchunks = 0;
    out->payload_len = 0;
    out->tcp.seq += from;
    assert_true(pkt_add_bytes(out, b, n));
    if (from + n < p->payload_len)
        out->tcp.flags &= (uint8_t)~(TCP_FIN | TCP_PSH);
    pkt_set_len(out);
    free(b);
}

static inline void line_put(struct line *l, int to, const struct pkt *p, int64_t extra_ps)
{
    assert_true(l->n < LINE_AIR_MAX);
    struct flying *f = &l->air[l->n++];
    f->at_ps = l->now + 5 * SIM_PS_PER_US + extra_ps;
    f->order = l->order++;
    f->to = to;
    memset(&f->p, 0, sizeof f->p);
    if (!l->bytes) {
        pkt_copy(&f->p, p);
        return;
    }
    uint8_t *frame = malloc(65536 + 100);
    size_t len = wire_encode(p, NULL, frame, 65536);
    assert_int_equal(wire_decode(frame, len, &f->p, NULL), WIRE_OK);
    assert_true(pkt_equal(&f->p, p));
    free(frame);
}

/* Join p to a packet on its way whose end it goes on from. */
static inline bool line_join(struct line *l, int to, const struct pkt *p)
{
    for (size_t i = 0; i < l->n; i++) {
        struct pkt *a = &l->air[i].p;
        uint32_t sum = (uint32_t)a->payload_len + p->payload_len;
        if (l->air[i].to != to || a->payload_len == 0 || a->tcp.seq + a->payload_len != p->tcp.seq || (a->tcp.flags & (TCP_SYN | TCP_FIN)) || sum > LINE_JOIN_MAX)
            continue;
        uint8_t *b = malloc(sum);
        pkt_payload_read(a, 0, a->payload_len, b);
        pkt_payload_read(p, 0, p->payload_len, b + a->payload_len);
        pkt_release_payload(a);
        assert_true(pkt_add_bytes(a, b, sum));
        a->tcp.flags |= p->tcp.flags;
        pkt_set_len(a);
        free(b);
        return true;
    }
    return false;
}

static inline void line_launch(struct line *l, int to, const struct pkt *p)
{
    int64_t extra = line_chance(l, l->late) ? 30 * SIM_PS_PER_US : 0;
    bool data = p->payload_len > 1 && !(p->tcp.flags & TCP_SYN);
    if (data && line_chance(l, l->cut)) {
        struct pkt part;
        uint32_t at = 1 + sim_rng_below(&l->rng, p->payload_len - 1u);
        line_part(&part, p, 0, at);
        line_put(l, to, &part, extra);
        pkt_release_payload(&part);
        line_part(&part, p, at, p->payload_len - at);
        line_put(l, to, &part, line_chance(l, l->late) ? 30 * SIM_PS_PER_US : 0);
        pkt_release_payload(&part);
        l->cuts++;
    } else if (data && line_chance(l, l->join) && line_join(l, to, p)) {
        l->joins++;
    } else {
        line_put(l, to, p, extra);
    }
}

static inline void line_speak(struct line *l, int i)
{
    struct endpoint *ep = l->ep[i];
    while (ep->ops->ready_ps(ep) <= l->now && l->free_ps[i] <= l->now) {
        struct pkt p;
        memset(&p, 0, sizeof p);
        if (!ep->ops->tx(ep, l->now, &p))
            return;
        l->sent[i]++;
        if (p.payload_len > l->largest_payload)
            l->largest_payload = p.payload_len;
        l->free_ps[i] = l->now + ((int64_t)p.frame_len + 20) * 80;
        if ((l->tap != NULL && !l->tap(l->tap_ctx, i, &p)) || line_chance(l, l->loss)) {
            l->lost++;
        } else {
            line_launch(l, !i, &p);
            if (line_chance(l, l->dup)) {
                l->copies++;
                line_put(l, !i, &p, SIM_PS_PER_US);
            }
        }
        pkt_release_payload(&p);
    }
}

static inline size_t line_next(const struct line *l, int64_t *at)
{
    size_t best = SIZE_MAX;
    *at = SIM_NEVER_PS;
    for (size_t i = 0; i < l->n; i++)
        if (l->air[i].at_ps < *at || (best != SIZE_MAX && l->air[i].at_ps == *at && l->air[i].order < l->air[best].order)) {
            *at = l->air[i].at_ps;
            best = i;
        }
    for (int i = 0; i < 2; i++) {
        int64_t t = l->ep[i]->ops->next_wake_ps(l->ep[i]), r = l->ep[i]->ops->ready_ps(l->ep[i]);
        if (r != SIM_NEVER_PS && r < l->free_ps[i])
            r = l->free_ps[i];
        t = r > l->now && r < t ? r : t;
        if (t < *at) {
            *at = t;
            best = SIZE_MAX;
        }
    }
    return best;
}

/** Run until nothing happens any more or until_ps has come. */
static inline void line_run(struct line *l, int64_t until_ps)
{
    for (;;) {
        int64_t next;
        line_speak(l, 0);
        line_speak(l, 1);
        size_t best = line_next(l, &next);
        if (next == SIM_NEVER_PS || next > until_ps)
            break;
        l->now = next > l->now ? next : l->now;
        if (best != SIZE_MAX) {
            struct flying f = l->air[best];
            l->air[best] = l->air[--l->n];
            l->delivered++;
            l->ep[f.to]->ops->rx(l->ep[f.to], l->now, &f.p);
            pkt_release_payload(&f.p);
        }
        for (int i = 0; i < 2; i++)
            if (l->ep[i]->ops->next_wake_ps(l->ep[i]) <= l->now)
                l->ep[i]->ops->wake(l->ep[i], l->now);
    }
    l->now = until_ps > l->now ? until_ps : l->now;
}

static inline void line_run_for(struct line *l, int64_t ps) { line_run(l, l->now + ps); }

#endif
