/* SPDX-License-Identifier: GPL-2.0-only */
#include "dissect_internal.h"

#include "tcp_stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct conn {
    struct conn *next;
    uint8_t  addr[2][16]; /* of side 0, which sent first, and side 1 */
    uint16_t port[2];
    struct tcp_stream dir[2]; /* what side 0 sends, what side 1 sends */
    struct iwarp_dir iwarp[2];
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

void dissect_streams_free(struct dissect_streams *s)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct conn *c = s->bucket[i], *next; c; c = next) {
            next = c->next;
            tcp_stream_clear(&c->dir[0]);
            tcp_stream_clear(&c->dir[1]);
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

void dissect_segment(struct dissect *d, const struct pkt *p, const struct wire_l3 *l3)
{
    const struct pkt_tcp *t = &p->tcp;
    bool syn = t->flags & TCP_SYN;
    unsigned side;
    struct conn *c = find(d->streams, p, l3, &side);
    struct tcp_stream *self = &c->dir[side], *peer = &c->dir[!side];
    if (syn && !(t->flags & TCP_ACK) && self->known && self->first_seq != t->seq + 1) { /* the ports are used again */
        tcp_stream_clear(self);
        tcp_stream_clear(peer);
        memset(c->iwarp, 0, sizeof c->iwarp);
    }
    unsigned seen = tcp_stream_take(self, p);
    if (!p->payload_len)
        return;
    fputs(seen & TCP_STREAM_EARLY ? " (early)" : seen & TCP_STREAM_AGAIN ? " (again)" : "", d->out);
    if (seen & TCP_STREAM_DIFFERS)
        dissect_wrong(d, "TCP bytes sent again differ from those sent before");
    dissect_iwarp(d, &c->iwarp[side], &c->iwarp[!side], self->bytes, self->len, peer->syn && !peer->len && !peer->early);
    dissect_iwarp(d, &c->iwarp[!side], &c->iwarp[side], peer->bytes, peer->len, false);
}

void dissect_streams_end(struct dissect *d)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct conn *c = d->streams->bucket[i]; c; c = c->next)
            for (unsigned side = 0; side < 2; side++) {
                const struct tcp_stream *s = &c->dir[side];
                const struct iwarp_dir *w = &c->iwarp[side];
                if (s->early)
                    fprintf(d->out, "note: TCP port %u to %u: the capture lacks %" PRIu64 " bytes at stream offset %zu\n", c->port[side],
                            c->port[!side], tcp_stream_resumes(s) - s->len, s->len);
                else if (w->state == IWARP_FULL && c->iwarp[!side].state == IWARP_FULL && w->parsed < s->len)
                    fprintf(d->out, "note: TCP port %u to %u: the capture ends %zu bytes into an FPDU\n", c->port[side], c->port[!side],
                            s->len - w->parsed);
            }
}
