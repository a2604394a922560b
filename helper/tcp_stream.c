/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_stream.h"

#include "../model/wire/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tcp_early { struct tcp_early *next; uint64_t off; uint32_t len; uint8_t bytes[]; };

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "rnicsim: out of memory\n");
        abort();
    }
    return p;
}

void tcp_stream_clear(struct tcp_stream *s)
{
    for (struct tcp_early *e = s->early, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    free(s->bytes);
    memset(s, 0, sizeof *s);
}

uint64_t tcp_stream_resumes(const struct tcp_stream *s) { return s->early ? s->early->off : s->len; }

static void append(struct tcp_stream *s, const uint8_t *b, size_t n)
{
    if (s->len + n > s->cap) {
        s->cap = (s->len + n) * 2;
        s->bytes = need(realloc(s->bytes, s->cap));
    }
    memcpy(s->bytes + s->len, b, n);
    s->len += n;
}

/* Bytes at off <= len: what is there already must be the same again, the rest is appended. */
static bool merge(struct tcp_stream *s, uint64_t off, const uint8_t *b, size_t n)
{
    size_t old = s->len - (size_t)off < n ? s->len - (size_t)off : n;
    bool same = !old || !memcmp(s->bytes + off, b, old);
    if (n > old)
        append(s, b + old, n - old);
    return same;
}

static void keep_early(struct tcp_stream *s, uint64_t off, const uint8_t *b, uint32_t n)
{
    struct tcp_early **at = &s->early;
    while (*at && (*at)->off < off)
        at = &(*at)->next;
    struct tcp_early *e = need(malloc(sizeof *e + n));
    e->off = off;
    e->len = n;
    memcpy(e->bytes, b, n);
    e->next = *at;
    *at = e;
}

static unsigned take(struct tcp_stream *s, uint32_t seq, const uint8_t *b, uint32_t n)
{
    int64_t off = (int64_t)s->len + wire_seq_diff(seq, s->first_seq + (uint32_t)s->len);
    if (off < 0) { /* before what the capture saw */
        uint32_t skip = -off < n ? (uint32_t)-off : n;
        b += skip;
        n -= skip;
        off += skip;
    }
    if (!n || off < 0)
        return 0;
    if ((uint64_t)off > s->len) {
        keep_early(s, (uint64_t)off, b, n);
        return TCP_STREAM_EARLY;
    }
    unsigned seen = (uint64_t)off < s->len ? TCP_STREAM_AGAIN : 0;
    bool same = merge(s, (uint64_t)off, b, n);
    while (s->early && s->early->off <= s->len) {
        struct tcp_early *e = s->early;
        same = merge(s, e->off, e->bytes, e->len) && same;
        s->early = e->next;
        free(e);
    }
    return same ? seen : seen | TCP_STREAM_DIFFERS;
}

unsigned tcp_stream_take(struct tcp_stream *s, const struct pkt *p)
{
    bool syn = p->tcp.flags & TCP_SYN;
    uint32_t seq = p->tcp.seq + (syn ? 1 : 0);
    if (!s->known && (syn || p->payload_len)) {
        s->known = true;
        s->syn = syn;
        s->first_seq = seq;
    }
    if (!p->payload_len)
        return 0;
    uint8_t *b = need(malloc(p->payload_len));
    pkt_payload_read(p, 0, p->payload_len, b);
    unsigned seen = take(s, seq, b, p->payload_len);
    free(b);
    return seen;
}
