/* SPDX-License-Identifier: GPL-2.0-only */
/** Reassembly: payload that came out of order, kept in runs of adjacent bytes until the hole before it is filled. The
 *  packets' payload descriptors are kept, so a pattern costs no bytes. Sequence numbers as in tcp_board.h.
 */
#ifndef RNICSIM_TCP_TCP_REASM_H
#define RNICSIM_TCP_TCP_REASM_H

#include "../wire/pkt.h"

/** Bytes [from, to) of the sequence space, at offset at in pkt's payload; not held: the user has them already. */
struct tcp_piece { struct tcp_piece *next; uint64_t from, to; uint32_t at; bool held; struct pkt pkt; };

struct tcp_run { struct tcp_run *next; uint64_t from, to, stamp; struct tcp_piece *first, *last; };

struct tcp_reasm {
    struct tcp_run   *runs;     /* in sequence order, never adjacent */
    struct tcp_piece *free_pieces;
    uint64_t bytes;             /* payload held */
    uint64_t stamp;             /* arrivals so far: a run's stamp says how recent it is */
};

struct tcp_range { uint64_t from, to; };

void tcp_reasm_init(struct tcp_reasm *r);
void tcp_reasm_fini(struct tcp_reasm *r);
static inline bool tcp_reasm_empty(const struct tcp_reasm *r) { return !r->runs; }

enum tcp_reasm_result { TCP_REASM_KEPT, TCP_REASM_DUPLICATE, TCP_REASM_FULL };
/** Keep p's payload bytes from `at` on as [from, to); of a packet without chunks the place alone, which costs no bytes. Takes the payload's buffers out of p when it keeps it. *dup tells a range
 *  that was there already (from == to if none). At most limit bytes are kept. */
enum tcp_reasm_result tcp_reasm_add(struct tcp_reasm *r, struct pkt *p, uint32_t at, uint64_t from, uint64_t to, uint64_t limit,
                                    struct tcp_range *dup);
/** Take out the first piece if it begins at or before next; its bytes below next have come otherwise. NULL if there is a hole.
 *  The caller gives it back with tcp_reasm_done. */
struct tcp_piece *tcp_reasm_take(struct tcp_reasm *r, uint64_t next);
void tcp_reasm_done(struct tcp_reasm *r, struct tcp_piece *piece);
/** The runs for SACK blocks, most recently grown first (RFC 2018 section 4); returns how many, at most max. */
uint32_t tcp_reasm_recent(const struct tcp_reasm *r, struct tcp_range *out, uint32_t max);

#endif
