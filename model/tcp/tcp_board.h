/* SPDX-License-Identifier: GPL-2.0-only */
/** The scoreboard: what is outstanding, segment by segment in sequence order, with what is known of each (RFC 6675, RFC
 *  8985). Sequence numbers here are 64-bit and count from 0 at the SYN; the stream's first byte is 1.
 */
#ifndef RNICSIM_TCP_TCP_BOARD_H
#define RNICSIM_TCP_TCP_BOARD_H

#include "../sim/sim.h"

enum tcp_seg_flag {
    SEG_SACKED = 1,
    SEG_LOST   = 2,   /* judged lost */
    SEG_RETX   = 4,   /* sent again since it was judged lost, and that copy is thought to be in the network */
    SEG_EVER   = 8,   /* sent more than once at some time: no round-trip sample (Karn) */
    SEG_SYN    = 16,
    SEG_FIN    = 32   /* its last unit of sequence space is the FIN */
};

struct tcp_seg { uint64_t from; int64_t sent_ps; uint32_t len; uint32_t flags; };

struct tcp_board {
    struct tcp_seg *ring;
    uint64_t head, tail;          /* indices of the first segment and past the last; ring[i & (cap - 1)] */
    uint32_t cap;
    uint32_t sacked_segs;
    uint64_t sacked, lost, retx;  /* bytes with that flag; what is RETX is LOST too */
    uint64_t hint;                /* no segment before this index waits for retransmission */
    uint64_t judged;              /* IsLost has been applied to everything before this index */
    uint64_t high_sacked;         /* end of the highest SACKed range */
};

/** What one acknowledgement newly covered. */
struct tcp_acked {
    uint64_t bytes;               /* cumulatively or selectively, each byte once */
    uint64_t sacked_bytes;        /* of these, by SACK */
    uint32_t segs_sacked;
    bool     again_acked;         /* a segment sent more than once was cumulatively acknowledged */
    int64_t  first_sent_ps, last_sent_ps;   /* send times of what was sent once and cumulatively acknowledged; -1 if none */
    int64_t  first_sacked_ps, last_sacked_ps;
    /* RACK (RFC 8985 6.2 step 2): the most recently sent segment delivered */
    int64_t  rack_sent_ps;
    uint64_t rack_end;
    bool     rack_again;
    uint64_t high_end;            /* end of the highest newly delivered */
    uint64_t low_once;            /* lowest start of what was newly delivered and sent once; UINT64_MAX if none */
};

void tcp_board_init(struct tcp_board *b);
void tcp_board_fini(struct tcp_board *b);
void tcp_board_acked_init(struct tcp_acked *a);

static inline bool tcp_board_empty(const struct tcp_board *b) { return b->head == b->tail; }
static inline struct tcp_seg *tcp_board_at(const struct tcp_board *b, uint64_t i) { return &b->ring[i & (b->cap - 1)]; }

/** A segment sent for the first time. */
void tcp_board_push(struct tcp_board *b, uint64_t from, uint32_t len, uint32_t flags, int64_t now_ps);
/** Everything below upto is acknowledged. */
void tcp_board_ack(struct tcp_board *b, uint64_t upto, struct tcp_acked *a);
/** [from, to) has been received (RFC 2018). */
void tcp_board_sack(struct tcp_board *b, uint64_t from, uint64_t to, struct tcp_acked *a);
/** Index of the segment that holds seq; tail if none. */
uint64_t tcp_board_find(const struct tcp_board *b, uint64_t seq);
/** Segment i becomes two, the first of len bytes. */
void tcp_board_split(struct tcp_board *b, uint64_t i, uint32_t len);

void tcp_board_mark_lost(struct tcp_board *b, uint64_t i);
/** Everything that is not SACKed is lost, retransmissions too (a timeout). */
void tcp_board_all_lost(struct tcp_board *b);
/** The receiver has dropped what it had SACKed (RFC 2018 section 8). */
void tcp_board_forget_sacks(struct tcp_board *b);
/** IsLost (RFC 6675 section 4) for every segment never sent again: dup_threshold separate ranges, or more than
 *  (dup_threshold - 1) * mss bytes, SACKed above it. */
void tcp_board_judge(struct tcp_board *b, uint32_t dup_threshold, uint32_t mss);
/** First segment that is lost and not yet sent again; tail if none. */
uint64_t tcp_board_next_lost(const struct tcp_board *b);
/** Segment i goes again now. */
void tcp_board_resent(struct tcp_board *b, uint64_t i, int64_t now_ps);

/** Bytes thought to be in the network (RFC 6675 SetPipe). */
static inline uint64_t tcp_board_pipe(const struct tcp_board *b)
{
    if (b->head == b->tail)
        return 0;
    const struct tcp_seg *first = tcp_board_at(b, b->head), *last = tcp_board_at(b, b->tail - 1);
    return last->from + last->len - first->from - b->sacked - b->lost + b->retx;
}

#endif
