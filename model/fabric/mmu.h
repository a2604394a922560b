/* SPDX-License-Identifier: GPL-2.0-only */
/** A switch's buffer: who may take a byte of it. The rule is one pure function, mmu_admit().
 *
 *  The buffer is divided into what is reserved (for each ingress port and lossless priority, for each ingress port, for each lossy egress
 *  queue), headroom of lossless priorities, and the shared rest. A packet is charged at its ingress and at its egress at once:
 *
 *  - lossless: it fills the reserved bytes of its ingress port and priority, then its port's, then the shared part up to the XOFF limit, else
 *    the headroom; the first byte in the headroom pauses the sender. Its egress queue may have a limit too.
 *  - lossy: it fills the reserved bytes of its egress queue, then its ingress port's, then the shared part, up to its egress queue's limit
 *    and, if there is one, its ingress port and priority's.
 */
#ifndef RNICSIM_FABRIC_MMU_H
#define RNICSIM_FABRIC_MMU_H

#include <stdbool.h>
#include <stdint.h>

/** What one (ingress port, priority) holds. */
struct mmu_pg { uint32_t reserved, port, shared, headroom; };

/** Limits of a switch; alpha in 1/65536. */
struct mmu_limits {
    uint64_t shared;             /* bytes of the shared part */
    uint64_t alpha, queue;       /* lossy egress queue: dynamic, or static when queue > 0 */
    uint64_t pfc_alpha, xoff;    /* lossless ingress: dynamic, or static when xoff > 0 (reserved included) */
    uint32_t reserved;           /* per ingress port and lossless priority */
    uint32_t xon_offset;
    uint64_t xon;                /* static XON level; 0: by xon_offset */
    uint64_t ingress_alpha;      /* lossy (ingress port, priority); 0: none */
    uint64_t lossless_alpha;     /* lossless egress queue; 0: none */
    uint64_t headroom_pool;      /* of one lossless priority over all ports; 0: none */
    uint32_t port_reserved, queue_reserved;
};

/** What is held where the packet would go. */
struct mmu_use {
    bool     lossless;
    uint64_t shared;             /* of the whole switch */
    struct mmu_pg pg;            /* of its ingress port and priority; lossy: only when ingress_alpha counts */
    uint64_t queue;              /* of its egress queue */
    uint32_t headroom_limit;     /* of its ingress port and priority */
    /* Looked at in full only: */
    uint32_t port_reserved;      /* of its ingress port, all priorities */
    uint32_t queue_reserved;     /* of its egress queue */
    uint64_t headroom_pool;      /* of its priority, all ports */
};

enum mmu_verdict {
    MMU_ADMIT,                   /* within limits */
    MMU_ADMIT_XOFF,              /* in headroom: the sender must be paused */
    MMU_DROP_QUEUE,              /* egress queue at its limit */
    MMU_DROP_SHARED,             /* lossy: nothing left of the shared part */
    MMU_DROP_INGRESS,            /* lossy: ingress port and priority at its limit */
    MMU_DROP_HEADROOM,           /* lossless: headroom of the port and priority full, an error */
    MMU_DROP_HEADROOM_POOL       /* lossless: headroom pool empty, an error */
};

struct mmu_answer {
    enum mmu_verdict verdict;
    uint32_t reserved, port, queue, shared, headroom; /* where the bytes go */
};

/** What bytes take in a buffer of cells. */
static inline uint64_t mmu_in_cells(uint64_t bytes, uint32_t cell) { return (bytes + cell - 1) / cell * cell; }

/** Dynamic thresholds: alpha x what is free of the shared part (Choudhury and Hahne 1998). */
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

/** The lesser. Without a branch: which it is changes from packet to packet. */
static inline int64_t mmu_least(int64_t a, int64_t b) { return b + ((a - b) & (a - b) >> 63); }

static inline uint32_t mmu_take(uint32_t len, uint32_t limit, uint32_t used)
{
    int64_t room = (int64_t)limit - used;
    return (uint32_t)mmu_least(len, room & ~(room >> 63));
}

/** Whether a packet of len bytes (in cells) is admitted, and where its bytes go. Changes nothing. full false: the limits that are rarely
 *  set (port_reserved, queue_reserved, ingress_alpha, lossless_alpha, headroom_pool) are known to be 0 and not looked at. */
static inline __attribute__((always_inline)) struct mmu_answer mmu_admit(const struct mmu_limits *l, const struct mmu_use *u, uint32_t len, const bool full)
{
    struct mmu_answer a = { MMU_ADMIT, 0, 0, 0, 0, 0 };
    uint32_t rest = len;
    if (!u->lossless) {
        if (full) {
            a.queue = mmu_take(rest, l->queue_reserved, u->queue_reserved);
            a.port = mmu_take(rest - a.queue, l->port_reserved, u->port_reserved);
            rest -= a.queue + a.port;
        }
        a.shared = rest;
        if (full && rest == 0)
            return a;
        uint64_t limit = l->queue ? l->queue : mmu_dynamic(l->alpha, l, u->shared);
        if (u->shared + rest > l->shared)
            a.verdict = MMU_DROP_SHARED;
        else if (u->queue + len > limit + (full && !l->queue ? l->queue_reserved : 0))
            a.verdict = MMU_DROP_QUEUE;
        else if (full && l->ingress_alpha && (uint64_t)u->pg.shared + rest > mmu_dynamic(l->ingress_alpha, l, u->shared))
            a.verdict = MMU_DROP_INGRESS;
        return a;
    }
    a.reserved = mmu_take(len, l->reserved, u->pg.reserved);
    rest -= a.reserved;
    if (full) {
        a.port = mmu_take(rest, l->port_reserved, u->port_reserved);
        rest -= a.port;
    }
    if (full && l->lossless_alpha && u->queue + len > mmu_dynamic(l->lossless_alpha, l, u->shared)) {
        a.verdict = MMU_DROP_QUEUE;
        return a;
    }
    uint64_t held = (uint64_t)u->pg.reserved + u->pg.shared;
    bool below = held + len - a.port <= mmu_xoff_limit(l, u->shared), shared = u->shared + rest <= l->shared;
    if (__builtin_expect((rest == 0) | (below & shared), 1)) {
        a.shared = rest;
        return a;
    }
    a.headroom = rest;
    if ((uint64_t)u->pg.headroom + rest > u->headroom_limit)
        a.verdict = MMU_DROP_HEADROOM;
    else if (full && l->headroom_pool && u->headroom_pool + rest > l->headroom_pool)
        a.verdict = MMU_DROP_HEADROOM_POOL;
    else
        a.verdict = MMU_ADMIT_XOFF;
    return a;
}

/** A paused sender may go on: at the XON level, or the hysteresis below the XOFF limit, or nothing held. */
static inline bool mmu_xon(const struct mmu_limits *l, uint64_t shared_used, const struct mmu_pg *pg)
{
    uint64_t held = (uint64_t)pg->reserved + pg->shared;
    if (pg->headroom)
        return false;
    return held == 0 || (l->xon ? held <= l->xon : held + l->xon_offset <= mmu_xoff_limit(l, shared_used));
}

static inline uint32_t mmu_give(uint32_t *part, uint32_t len)
{
    uint32_t n = len < *part ? len : *part;
    *part -= n;
    return n;
}

/** Take len bytes of a lossless packet back: headroom first, then shared, then the port's reserved, then its own. freed says how much of which. */
static inline void mmu_release(struct mmu_pg *pg, uint32_t len, struct mmu_answer *freed)
{
    freed->headroom = mmu_give(&pg->headroom, len);
    len -= freed->headroom;
    freed->shared = mmu_give(&pg->shared, len);
    len -= freed->shared;
    freed->port = mmu_give(&pg->port, len);
    freed->reserved = len - freed->port;
    pg->reserved -= freed->reserved;
}

/** RED's line: the chance, in 1/2^32, that a packet meeting a queue of q bytes is marked or dropped; 2^32 is always.
 *  0 up to kmin, then straight to pmax at kmax, always above it. kmax < 2^32, pmax_32 <= 2^32. */
static inline uint64_t mmu_red(uint64_t q, uint64_t kmin, uint64_t kmax, uint64_t pmax_32)
{
    if (q <= kmin)
        return 0;
    if (q > kmax)
        return UINT64_C(1) << 32;
    return pmax_32 * (q - kmin) / (kmax - kmin);
}

#endif
