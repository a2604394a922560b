/* SPDX-License-Identifier: GPL-2.0-only */
/** One direction of a captured TCP connection: its bytes in order, whatever order and how often segments came. */
#ifndef RNICSIM_HELPER_TCP_STREAM_H
#define RNICSIM_HELPER_TCP_STREAM_H

#include "../model/wire/pkt.h"

#include <stddef.h>

struct tcp_early;

struct tcp_stream {
    bool     known;       /* first_seq is set */
    bool     syn;         /* its SYN was seen: nothing came before */
    uint32_t first_seq;   /* sequence number of bytes[0], the first after the SYN or the first that was captured */
    uint8_t *bytes;
    size_t   len, cap;
    struct tcp_early *early; /* what came before bytes that precede it, by offset */
};

enum tcp_stream_seen { TCP_STREAM_EARLY = 1, TCP_STREAM_AGAIN = 2, TCP_STREAM_DIFFERS = 4 /* bytes sent again are not the same */ };

/** Put a segment in its stream. What was noticed: enum tcp_stream_seen flags. */
unsigned tcp_stream_take(struct tcp_stream *s, const struct pkt *p);
/** Offset of the first byte after a hole; the stream's length if there is none. */
uint64_t tcp_stream_resumes(const struct tcp_stream *s);
/** Free what it holds and begin anew. */
void tcp_stream_clear(struct tcp_stream *s);

#endif
