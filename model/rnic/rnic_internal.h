/* SPDX-License-Identifier: GPL-2.0-only */
/** What the files of this room share: device, protection domain, memory region, completion queue. */
#ifndef RNICSIM_RNIC_RNIC_INTERNAL_H
#define RNICSIM_RNIC_RNIC_INTERNAL_H

#include "qp.h"

struct rnic_pd {
    struct rnic_dev *dev;
    struct rnic_pd  *next;
};

/** An 8-byte cell of a pattern region that an atomic has changed. */
struct rnic_cell { uint64_t off, value; };

struct rnic_watch_event { uint64_t va; uint32_t len; };

struct rnic_mr {
    struct rnic_pd *pd;
    uint64_t  va, len;
    uint8_t  *mem;                   /* NULL: pattern mode */
    uint32_t  key;
    unsigned  access;
    uint32_t  only_qpn;              /* 0: any QP of the protection domain */
    bool      shared;                /* no peer may invalidate it */
    bool      invalid;               /* after LOCAL_INV or a peer's SEND with invalidate */
    struct rnic_mr *next_named;      /* rnic_mr_reg_as: the device's list */
    bool      named;
    bool      dead;                  /* deregistered while the watcher had events on their way */
    struct rnic_cell *cells;
    uint32_t  ncells, cell_cap;
    uint32_t  core;
    void    (*watch)(void *ctx, uint64_t va, uint32_t len);
    void     *watch_ctx;
    struct rnic_watch_event *events; /* ring of Writes the application has not seen yet */
    uint32_t  ev_cap, ev_head, ev_tail;
};

/** A key is (slot + 1) << 8 | generation, so that a stale key of a reused slot is not taken for the new one. */
struct rnic_mr_slot { struct rnic_mr *mr; uint32_t next_free; uint8_t generation; };

struct rnic_cq {
    struct rnic_dev *dev;
    struct rnic_cq  *next;
    void (*on_wc)(void *ctx, const struct rnic_wc *wc);
    void *ctx;
    uint32_t depth, core;
    struct rnic_wc *ring;            /* entries that the application has not seen: [head, tail) */
    uint32_t cap, head, tail;
    bool solicited_only;
    uint32_t quiet;                  /* entries that have raised no event: the newest ones */
    bool delivering;                 /* outside a simulation: the application is being called */
};

struct rnic_dev {
    struct host *host;
    uint32_t max_qps, nqps, next_qpn;
    struct rnic_qp *qps;
    struct rnic_pd *pds;
    struct rnic_cq *cqs;
    struct rnic_mr *named;           /* regions whose keys name no slot */
    struct rnic_mr_slot *slots;
    uint32_t nslots, slot_cap, free_slot; /* free_slot: index + 1, 0 none */
};

/** The region of a key, valid or invalidated; NULL if there is none. */
struct rnic_mr *rnic_mr_find(const struct rnic_dev *d, uint32_t key);
/** Free every region of the device. */
void rnic_mr_free_all(struct rnic_dev *d);

/** Append a completion; false: the CQ was full and the entry has become RNIC_WC_FATAL_ERR (the caller moves the QP to ERROR).
 *  Errors are kept beyond the depth, so that no failed message goes unreported. */
bool rnic_cq_push(struct rnic_cq *cq, const struct rnic_wc *wc, uint32_t dma_bytes);
void rnic_cq_free(struct rnic_cq *cq);

#endif
