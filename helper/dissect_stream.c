/* SPDX-License-Identifier: GPL-2.0-only */
#include "dissect_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that came before those that precede them. */
struct early { struct early *next; uint64_t off; uint32_t len; uint8_t bytes[]; };

/* One direction: its bytes in order from the first after the SYN, or from the first that the capture saw. */
struct stream {
    bool     known;       /* first_seq is set */
    bool     syn;         /* its SYN was seen: nothing came before */
    uint32_t first_seq;   /* sequence number of bytes[0] */
    uint8_t *bytes;
    size_t   len, cap;
    struct early *early;  /* by offset */
    struct iwarp_dir iwarp;
};

struct conn {
    struct conn *next;
    uint8_t  addr[2][16]; /* of side 0, which sent first, and side 1 */
    uint16_t port[2];
    struct stream dir[2]; /* what side 0 sends, what side 1 sends */
};

enum { BUCKETS = 4096 };
struct dissect_streams { struct conn *bucket[BUCKETS]; };

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "rnicsim: out of memory\n");
        abort();
    }
    return p;
}

struct dissect_streams *dissect_streams_new(void)
{
    return need(calloc(1, sizeof(struct dissect_streams)));
}

static void stream_clear(struct stream *s)
{
    for (struct early *e = s->early, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    free(s->bytes);
    memset(s, 0, sizeof *s);
}

void dissect_streams_free(struct dissect_streams *s)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct conn *c = s->bucket[i], *next; c; c = next) {
            next = c->next;
            stream_clear(&c->dir[0]);
            stream_clear(&c->dir[1]);
            free(c);
        }
    free(s);
}

static void address(const struct pkt *p, const struct wire_l3 *l3, bool source, uint8_t out[16])
{
    memset(out, 0, 16);
    if (p->flags & PKT_F_IPV6)
        memcpy(out, source ? l3->src6 : l3->dst6, 16);
    else
        memcpy(out, source ? &p->src : &p->dst, 4);
}

/* The packet's connection and which side sent it. */
static struct conn *find(struct dissect_streams *s, const struct pkt *p, const struct wire_l3 *l3, unsigned *side)
{
    uint8_t from[16], to[16];
    address(p, l3, true, from);
    address(p, l3, false, to);
    unsigned b = (p->src + p->dst + p->sport + p->dport) * 2654435761u >> 20;
    for (struct conn *c = s->bucket[b]; c; c = c->next)
        for (unsigned i = 0; i < 2; i++)
            if (!memcmp(c->addr[i], from, 16) && !memcmp(c->addr[!i], to, 16) && c->port[i] == p->sport && c->port[!i] == p->dport) {
                *side = i;
                return c;
            }
    struct conn *c = need(calloc(1, sizeof *c));
    memcpy(c->addr[0], from, 16);
    memcpy(c->addr[1], to, 16);
    c->port[0] = p->sport;
    c->port[1] = p->dport;
    c->next = s->bucket[b];
    s->bucket[b] = c;
    *side = 0;
    return c;
}

static void append(struct stream *s, const uint8_t *b, size_t n)
{
    if (s->len + n > s->cap) {
        s->cap = (s->len + n) * 2;
        s->bytes = need(realloc(s->bytes, s->cap));
    }
    memcpy(s->bytes + s->len, b, n);
    s->len += n;
}

/* Bytes at off <= len: what is there already must be the same again, the rest is appended. */
static bool merge(struct stream *s, uint64_t off, const uint8_t *b, size_t n)
{
    size_t old = s->len - (size_t)off < n ? s->len - (size_t)off : n;
    bool same = !old || !memcmp(s->bytes + off, b, old);
    if (n > old)
        append(s, b + old, n - old);
    return same;
}

static void keep_early(struct stream *s, uint64_t off, const uint8_t *b, uint32_t n)
{
    struct early **at = &s->early;
    while (*at && (*at)->off < off)
        at = &(*at)->next;
    struct early *e = need(malloc(sizeof *e + n));
    e->off = off;
    e->len = n;
    memcpy(e->bytes, b, n);
    e->next = *at;
    *at = e;
}

static void take(struct dissect *d, struct stream *s, uint32_t seq, const uint8_t *b, uint32_t n)
{
    int64_t off = (int64_t)s->len + wire_seq_diff(seq, s->first_seq + (uint32_t)s->len);
    if (off < 0) { /* before what the capture saw */
        uint32_t skip = -off < n ? (uint32_t)-off : n;
        b += skip;
        n -= skip;
        off += skip;
    }
    if (!n || off < 0)
        return;
    if ((uint64_t)off > s->len) {
        fprintf(d->out, " (early)");
        keep_early(s, (uint64_t)off, b, n);
        return;
    }
    if ((uint64_t)off < s->len)
        fprintf(d->out, " (again)");
    bool same = merge(s, (uint64_t)off, b, n);
    while (s->early && s->early->off <= s->len) {
        struct early *e = s->early;
        same = merge(s, e->off, e->bytes, e->len) && same;
        s->early = e->next;
        free(e);
    }
    if (!same)
        dissect_wrong(d, "TCP bytes sent again differ from those sent before");
}

void dissect_segment(struct dissect *d, const struct pkt *p, const struct wire_l3 *l3)
{
    const struct pkt_tcp *t = &p->tcp;
    bool syn = t->flags & TCP_SYN;
    unsigned side;
    struct conn *c = find(d->streams, p, l3, &side);
    struct stream *self = &c->dir[side], *peer = &c->dir[!side];
    uint32_t seq = t->seq + (syn ? 1 : 0);
    if (syn && !(t->flags & TCP_ACK) && self->known && self->first_seq != seq) { /* the ports are used again */
        stream_clear(self);
        stream_clear(peer);
    }
    if (!self->known && (syn || p->payload_len)) {
        self->known = true;
        self->syn = syn;
        self->first_seq = seq;
    }
    if (!p->payload_len)
        return;
    uint8_t *b = need(malloc(p->payload_len));
    pkt_payload_read(p, 0, p->payload_len, b);
    take(d, self, seq, b, p->payload_len);
    free(b);
    dissect_iwarp(d, &self->iwarp, &peer->iwarp, self->bytes, self->len, peer->syn && !peer->len && !peer->early);
    dissect_iwarp(d, &peer->iwarp, &self->iwarp, peer->bytes, peer->len, false);
}

void dissect_streams_end(struct dissect *d)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct conn *c = d->streams->bucket[i]; c; c = c->next)
            for (unsigned side = 0; side < 2; side++) {
                const struct stream *s = &c->dir[side];
                if (s->early)
                    fprintf(d->out, "note: TCP port %u to %u: the capture lacks %" PRIu64 " bytes at stream offset %zu\n", c->port[side],
                            c->port[!side], s->early->off - s->len, s->len);
                else if (s->iwarp.state == IWARP_FULL && c->dir[!side].iwarp.state == IWARP_FULL && s->iwarp.parsed < s->len)
                    fprintf(d->out, "note: TCP port %u to %u: the capture ends %zu bytes into an FPDU\n", c->port[side], c->port[!side],
                            s->len - s->iwarp.parsed);
            }
}
