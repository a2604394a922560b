/* SPDX-License-Identifier: GPL-2.0-only */
#include "roce_bits.h"

#include <stdio.h>
#include <stdlib.h>

#define CAP_FIRST 256

static void grow(struct roce_bits *b, uint64_t base, uint64_t span)
{
    struct roce_bits old = *b;
    uint64_t cap = old.cap ? old.cap : CAP_FIRST;
    while (cap <= span)
        cap *= 2;
    b->word = calloc(cap / 64, sizeof *b->word);
    b->cap = cap;
    if (b->word == NULL) {
        fprintf(stderr, "rnicsim: out of memory for a window of %llu packets\n", (unsigned long long)cap);
        abort();
    }
    for (uint64_t i = 0; i < old.cap; i++)
        if (roce_bits_test(&old, base, base + i))
            b->word[((base + i) & (cap - 1)) >> 6] |= UINT64_C(1) << ((base + i) & 63);
    free(old.word);
}

void roce_bits_set(struct roce_bits *b, uint64_t base, uint64_t n)
{
    if (n - base >= b->cap)
        grow(b, base, n - base);
    b->word[(n & (b->cap - 1)) >> 6] |= UINT64_C(1) << (n & 63);
}

void roce_bits_free(struct roce_bits *b)
{
    free(b->word);
    *b = (struct roce_bits){ 0 };
}

/* --- the scoreboard --- */

static void find_lost(struct roce_board *b)
{
    b->lost = ROCE_NONE;
    if (!b->recovering)
        return;
    if (b->rtx < b->una) {
        b->rtx = b->una;
        b->first = false;
    }
    if (b->first) {
        b->lost = b->una;
        return;
    }
    while (b->rtx < b->high && roce_bits_test(&b->sacked, b->una, b->rtx))
        b->rtx++;
    if (b->rtx < b->high)
        b->lost = b->rtx;
}

void roce_board_init(struct roce_board *b) { *b = (struct roce_board){ .lost = ROCE_NONE }; }

void roce_board_ack(struct roce_board *b, uint64_t una)
{
    if (b->sacked.cap)
        for (uint64_t n = b->una; n < una && n < b->high; n++)
            roce_bits_clear(&b->sacked, n);
    b->una = una;
    if (b->recovering && una >= b->recover)
        b->recovering = false;
    find_lost(b);
}

void roce_board_sack(struct roce_board *b, uint64_t n)
{
    roce_bits_set(&b->sacked, b->una, n);
    if (n >= b->high)
        b->high = n + 1;
    find_lost(b);
}

void roce_board_timeout(struct roce_board *b, uint64_t max)
{
    b->recovering = b->first = true;
    b->rtx = b->una;
    b->recover = max;
    find_lost(b);
}

void roce_board_enter(struct roce_board *b, uint64_t max)
{
    if (!b->recovering)
        roce_board_timeout(b, max);
}

void roce_board_resent(struct roce_board *b)
{
    b->rtx = b->lost + 1;
    b->first = false;
    find_lost(b);
}

void roce_board_stop(struct roce_board *b)
{
    b->recovering = false;
    find_lost(b);
}
