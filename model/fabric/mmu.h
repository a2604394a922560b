/* SPDX-License-Identifier: GPL-2.0-only */
/** A switch's buffer: who may take a byte of it. The rule is one pure function, mmu_admit().
 *
 *  The buffer is divided into reserved bytes and headroom of each (ingress port, lossless priority), and the shared rest.
 *  A lossless packet fills its reserved bytes first, then the shared part up to its XOFF limit, else the headroom; the first
 *  byte in the headroom pauses the sender. A lossy packet takes shared bytes, up to its egress queue's limit.
 */
#ifndef RNICSIM_FABRIC_MMU_H
#define RNICSIM_FABRIC_MMU_H

#include <stdbool.h>
#include <stdint.h>

/** What one (ingress port, lossless priority) holds. */
struct mmu_pg {
    uint32_t reserved, shared, headroom;
    uint32_t missed;             /* dropped for want of headroom since XOFF */
};

/** Limits of a switch; alpha in 1/65536. */
struct mmu_limits {
    uint64_t shared;             /* bytes of the shared part */
    uint64_t alpha, queue;       /* lossy egress queue: dynamic, or static when queue > 0 */
    uint64_t pfc_alpha, xoff;    /* lossless ingress: dynamic, or static when xoff > 0 (reserved included) */
    uint32_t reserved;           /* per ingress port and lossless priority */
    uint32_t xon_offset;
};

enum mmu_verdict {
    MMU_ADMIT,                   /* within limits */
    MMU_ADMIT_XOFF,              /* in headroom: the sender must be paused */
    MMU_DROP_QUEUE,              /* lossy: egress queue at its limit */
    MMU_DROP_SHARED,             /* lossy: nothing left */
    MMU_DROP_HEADROOM            /* lossless: headroom full, an error */
};

struct mmu_answer { enum mmu_verdict verdict; uint32_t reserved, shared, headroom; /* where the bytes go */ };

/** Dynamic thresholds: alpha x what is free of the shared part. */
static inline uint64_t mmu_dynamic(uint64_t alpha, const struct mmu_limits *l, uint64_t shared_used)
{
    uint64_t free = l->shared > shared_used ? l->shared - shared_used : 0;
    return free * alpha >> 16;
}

/** Bytes at which a lossless (ingress port, priority) pauses its sender, now. */
static inline uint64_t mmu_xoff_limit(const struct mmu_limits *l, uint64_t shared_used)
{
    return l->xoff ? l->xoff : l->reserved + mmu_dynamic(l->pfc_alpha, l, shared_used);
}

static inline struct mmu_answer mmu_admit_lossy(const struct mmu_limits *l, uint64_t shared_used, uint64_t queue_bytes, uint32_t len)
{
    struct mmu_answer a = { MMU_ADMIT, 0, len, 0 };
    uint64_t limit = l->queue ? l->queue : mmu_dynamic(l->alpha, l, shared_used);
    if (shared_used + len > l->shared)
        a.verdict = MMU_DROP_SHARED;
    else if (queue_bytes + len > limit)
        a.verdict = MMU_DROP_QUEUE;
    return a;
}

static inline struct mmu_answer mmu_admit_lossless(const struct mmu_limits *l, uint64_t shared_used, const struct mmu_pg *pg, uint32_t headroom_limit,
                                                   uint32_t len)
{
    struct mmu_answer a = { MMU_ADMIT, 0, 0, 0 };
    uint32_t room = l->reserved - pg->reserved;
    a.reserved = len < room ? len : room;
    uint32_t rest = len - a.reserved;
    uint64_t used = (uint64_t)pg->reserved + pg->shared;
    if (rest == 0 || (used + len <= mmu_xoff_limit(l, shared_used) && shared_used + rest <= l->shared)) {
        a.shared = rest;
        return a;
    }
    a.headroom = rest;
    a.verdict = (uint64_t)pg->headroom + rest <= headroom_limit ? MMU_ADMIT_XOFF : MMU_DROP_HEADROOM;
    return a;
}

/** A paused sender may go on: hysteresis below the XOFF limit, or nothing held. */
static inline bool mmu_xon(const struct mmu_limits *l, uint64_t shared_used, const struct mmu_pg *pg)
{
    uint64_t used = (uint64_t)pg->reserved + pg->shared;
    return pg->headroom == 0 && (used == 0 || used + l->xon_offset <= mmu_xoff_limit(l, shared_used));
}

/** Take len bytes back: headroom first, then shared, then reserved. Returns the shared bytes freed. */
static inline uint32_t mmu_release(struct mmu_pg *pg, uint32_t len)
{
    uint32_t h = len < pg->headroom ? len : pg->headroom;
    pg->headroom -= h;
    len -= h;
    uint32_t s = len < pg->shared ? len : pg->shared;
    pg->shared -= s;
    pg->reserved -= len - s;
    return s;
}

/** RED's line: the chance, in 1/2^32, that a packet meeting a queue of q bytes is marked or dropped; 2^32 is always.
 *  0 up to kmin, then straight to pmax at kmax, always above it. */
static inline uint64_t mmu_red(uint64_t q, uint64_t kmin, uint64_t kmax, uint64_t pmax_32)
{
    if (q <= kmin)
        return 0;
    if (q > kmax)
        return UINT64_C(1) << 32;
    return (uint64_t)((__uint128_t)pmax_32 * (q - kmin) / (kmax - kmin));
}

#endif
