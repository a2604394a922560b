/* SPDX-License-Identifier: GPL-2.0-only */
/** A set of numbers from a window that moves up a sequence: which packets have arrived, which have been acknowledged selectively. */
#ifndef RNICSIM_ROCE_ROCE_BITS_H
#define RNICSIM_ROCE_ROCE_BITS_H

#include <stdbool.h>
#include <stdint.h>

/** All zero is empty. cap: numbers that fit, a power of two. */
struct roce_bits { uint64_t *word; uint64_t cap; };

/** Is n, base <= n, in the set? base: the oldest number that counts. */
static inline bool roce_bits_test(const struct roce_bits *b, uint64_t base, uint64_t n)
{
    return n - base < b->cap && (b->word[(n & (b->cap - 1)) >> 6] >> (n & 63) & 1);
}
/** Take n out; it was within the window. */
static inline void roce_bits_clear(struct roce_bits *b, uint64_t n)
{
    if (b->cap)
        b->word[(n & (b->cap - 1)) >> 6] &= ~(UINT64_C(1) << (n & 63));
}
/** Put n >= base in; grows as needed. Numbers below base have been taken out. Aborts when memory is exhausted. */
void roce_bits_set(struct roce_bits *b, uint64_t base, uint64_t n);
void roce_bits_free(struct roce_bits *b);

/** A sender's scoreboard for selective repeat (IRN, SIGCOMM'18, section 3.1). In recovery the first packet sent again is the cumulative
 *  acknowledgement's; any further one counts as lost only when a higher one has been acknowledged selectively. Each is sent again once in a recovery. */
#define ROCE_NONE UINT64_MAX
struct roce_board {
    struct roce_bits sacked;
    uint64_t una;        /* oldest not acknowledged cumulatively */
    uint64_t high;       /* one past the highest acknowledged selectively */
    uint64_t rtx;        /* lower ones have been sent again in this recovery, or needed not */
    uint64_t recover;    /* recovery ends when una reaches it */
    uint64_t lost;       /* to be sent again next, ROCE_NONE: nothing */
    bool     recovering, first;
};
void roce_board_init(struct roce_board *b);
/** All before una is acknowledged. */
void roce_board_ack(struct roce_board *b, uint64_t una);
/** n has been acknowledged selectively. */
void roce_board_sack(struct roce_board *b, uint64_t n);
/** A NACK has come: recovery begins unless it is under way; max: one past the highest sent. */
void roce_board_enter(struct roce_board *b, uint64_t max);
/** A timeout: recovery begins anew. */
void roce_board_timeout(struct roce_board *b, uint64_t max);
/** b->lost has been sent again. */
void roce_board_resent(struct roce_board *b);
/** Recovery, if any, is called off: everything will be sent again. */
void roce_board_stop(struct roce_board *b);

#endif
