/* SPDX-License-Identifier: GPL-2.0-only */
/** The inside of a QP: what the verbs share with the transport below them (RoCE, iWARP). Only those rooms include this.
 *
 *  A transport embeds struct rnic_qp first in its own struct, calls rnic_qp_init, and gives a const struct rnic_qp_ops. It reads
 *  WQEs from the send ring by index, tells their fate with rnic_complete_send or rnic_fail, and touches memory only through the
 *  checked calls below. Completions, flushes, state and the way to the application are the base's.
 *
 *  Calls may nest: outside a simulation a completion reaches the application at once, which may post again, which calls
 *  ops->kick. So a transport brings its own state up to date before it completes anything, and kick only takes note.
 */
#ifndef RNICSIM_RNIC_QP_H
#define RNICSIM_RNIC_QP_H

#include "verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rnic_qp_ops {
    const char *name;                        /* "RoCEv2", "iWARP" */
    /** What this transport cannot do though verbs could: SIM_OK or SIM_ERR_PARAM. May be NULL. */
    int  (*check_send)(const struct rnic_qp *qp, const struct rnic_send_wr *wr);
    /** WQEs have become visible to the NIC: [what it knew, sq_visible). May be NULL. */
    void (*kick)(struct rnic_qp *qp);
    /** A receive has been posted. May be NULL. */
    void (*recv_posted)(struct rnic_qp *qp);
    /** The state has become ERROR; everything has been flushed. Stop sending, stop timers. May be NULL. */
    void (*error)(struct rnic_qp *qp);
    /** Bring qp->count up to date from the transport's own counters. May be NULL. */
    void (*count)(struct rnic_qp *qp);
    /** Free what the transport owns and the QP's own memory (the block that embeds it), after rnic_qp_fini. */
    void (*destroy)(struct rnic_qp *qp);
};

/** A send WQE. scratch belongs to the transport and is zero when the WQE is posted. */
struct rnic_wqe {
    struct rnic_send_wr wr;
    uint64_t scratch[4];                     /* e.g. first and last PSN, stream offsets */
    uint8_t *inline_data;                    /* the copy that RNIC_SEND_INLINE makes of a memory region's bytes, else NULL */
    uint8_t  done;                           /* its fate is known; it waits for those before it */
    uint8_t  status;                         /* enum rnic_wc_status */
    uint8_t  tflags;                         /* the transport's */
    uint32_t dma_bytes;                      /* bytes still to be written to host memory when it was done */
};

struct rnic_qp {
    struct endpoint ep;                      /* first */
    const struct rnic_qp_ops *ops;
    struct rnic_dev *dev;
    struct rnic_pd  *pd;
    struct rnic_cq  *send_cq, *recv_cq;
    void            *ctx;                    /* the user's */
    uint32_t         qpn;
    uint8_t          state;                  /* enum rnic_qp_state; written by rnic_qp_modify alone */
    uint8_t          recv_open;              /* cur_recv holds a receive that has been taken and not completed */
    uint8_t          cq_overrun;             /* a completion has found its CQ full */
    uint8_t          dying;                  /* destroyed while doorbells were on their way */
    uint32_t         doorbells;              /* on their way to the NIC */
    uint32_t         stale_doorbells;        /* of these, of WQEs that have been flushed since */
    /* Rings: indices count on without wrapping to the ring's size; index & (cap - 1) is the slot. */
    struct rnic_wqe *sq;
    uint32_t         sq_cap, sq_depth;
    uint32_t         sq_head;                /* oldest WQE not completed */
    uint32_t         sq_visible;             /* the NIC may see WQEs before this */
    uint32_t         sq_tail;                /* next post */
    struct rnic_recv_wr *rq;
    uint32_t         rq_cap, rq_depth, rq_head, rq_tail;
    struct rnic_recv_wr cur_recv;
    struct rnic_counters count;
    struct rnic_qp  *next;                   /* the device's list */
    struct rnic_qp **link;
};

/* --- life --- */

/** Set up the base of a QP whose memory the transport has zeroed: INIT state, a QPN, membership of dev. Depths 1 .. 65536.
 *  0, SIM_ERR_FULL: the device has max_qps already, SIM_ERR_PARAM, SIM_ERR_NOMEM. The caller has set qp->ep.ops. */
int  rnic_qp_init(struct rnic_qp *qp, const struct rnic_qp_ops *ops, struct rnic_dev *dev, struct rnic_pd *pd, struct rnic_cq *send_cq,
                  struct rnic_cq *recv_cq, uint32_t sq_depth, uint32_t rq_depth, uint32_t id) SIM_MUST_CHECK;
/** Release the rings and the place in the device; called by ops->destroy. */
void rnic_qp_fini(struct rnic_qp *qp);

/** The one writer of state. SIM_ERR_STATE if from x to is not in the table (IBTA 10.3.1). To ERROR flushes both queues and
 *  calls ops->error; to RESET drops what is queued without completions. */
int  rnic_qp_modify(struct rnic_qp *qp, enum rnic_qp_state to);
/** May the state change so? */
bool rnic_qp_may_modify(enum rnic_qp_state from, enum rnic_qp_state to);

/* --- send queue --- */

/** The WQE at index i, sq_head <= i < sq_tail. The pointer is good until the next post. */
static inline struct rnic_wqe *rnic_sq_wqe(struct rnic_qp *qp, uint32_t i) { return &qp->sq[i & (qp->sq_cap - 1)]; }

/** The fate of WQE i is known. Completions are shown in order of posting: this one waits for those before it. Success of an
 *  unsignaled WQE shows nothing; an error always does. dma_bytes: what had to be written to host memory at the very end
 *  (the last Read Response segment, 8 for an atomic; else 0). An error does not change the QP's state: use rnic_fail. */
void rnic_complete_send(struct rnic_qp *qp, uint32_t i, enum rnic_wc_status status, uint32_t dma_bytes);
/** WQE i fails and takes the QP with it: it completes with status, the others are flushed, the state becomes ERROR. WQEs
 *  before i that are not done are flushed too (complete them first if they succeeded). */
void rnic_fail(struct rnic_qp *qp, uint32_t i, enum rnic_wc_status status);
/** Execute a LOCAL_INV WQE (the transport's cursor has reached it) and complete it; on failure the QP fails. */
void rnic_local_inv(struct rnic_qp *qp, uint32_t i);

/* --- memory --- */

/** Why an access is refused; each transport maps it to its own NAK or Terminate. Checked in this order. */
enum rnic_fault { RNIC_FAULT_NONE, RNIC_FAULT_KEY /* no such key, or invalidated */, RNIC_FAULT_PD /* of another protection domain, or limited to another QP */,
    RNIC_FAULT_ACCESS /* right missing */, RNIC_FAULT_WRAP /* va + len passes 2^64 */, RNIC_FAULT_BOUNDS, RNIC_FAULT_ALIGN /* atomics */,
    RNIC_FAULT_SHARED /* invalidation of a key that is in use on several streams */ };
const char *rnic_fault_name(enum rnic_fault f);

/** May [va, va + len) of key be used with all rights in `need` (enum rnic_access; 0: none, as for a local source)? A va of
 *  2^64 - len exactly counts as wrapping (its end is not representable). Zero len: nothing is checked (an
 *  empty access may carry any key: RFC 5041 5.2 for tagged segments, IBTA chapter 9 for empty Writes and Reads). */
enum rnic_fault rnic_check(const struct rnic_qp *qp, uint32_t key, uint64_t va, uint64_t len, unsigned need);
/** Check, then put bytes [from, from + len) of p's payload at va. In pattern mode only the check is done. */
enum rnic_fault rnic_place(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, unsigned need, const struct pkt *p, uint32_t from);
/** The same from plain bytes. */
enum rnic_fault rnic_place_bytes(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, unsigned need, const uint8_t *bytes);
/** Check, then append bytes [va, va + len) to p's payload: one pattern chunk, or a copy of memory. The caller has seen to a
 *  free chunk slot. Zero len appends nothing. */
enum rnic_fault rnic_source(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, unsigned need, struct pkt *p);
/** The same for a send WQE's local buffer (offset off from its start), from the inline copy if there is one. */
enum rnic_fault rnic_source_wqe(struct rnic_qp *qp, const struct rnic_wqe *w, uint32_t off, uint32_t len, struct pkt *p);
/** Where a source's bytes are: either a pattern (mem NULL: seed and the offset of va) or memory. */
struct rnic_span { uint64_t seed, off; const uint8_t *mem; };
enum rnic_fault rnic_describe(const struct rnic_qp *qp, uint32_t key, uint64_t va, uint64_t len, unsigned need, struct rnic_span *out);
enum rnic_fault rnic_describe_wqe(const struct rnic_qp *qp, const struct rnic_wqe *w, struct rnic_span *out);
/** An atomic on 8 aligned bytes, little-endian as on the hosts we model. *orig: the value before. compare is ignored by
 *  FETCH_ADD. In pattern mode the cell is kept once it has been touched; Reads of the region do not show it. */
enum rnic_fault rnic_atomic(struct rnic_qp *qp, uint32_t key, uint64_t va, enum rnic_opcode op, uint64_t compare, uint64_t swap_add, uint64_t *orig);
/** The masked forms of RFC 7306 5.1: FETCH_ADD drops the carry out of each bit set in mask; CMP_SWAP compares under compare_mask and
 *  swaps the bits of mask. rnic_atomic is FETCH_ADD with mask 0, CMP_SWAP with all ones. */
struct rnic_atomic_args { uint64_t compare, compare_mask, swap_add, mask; };
enum rnic_fault rnic_atomic_masked(struct rnic_qp *qp, uint32_t key, uint64_t va, enum rnic_opcode op, const struct rnic_atomic_args *a, uint64_t *orig);
/** Would rnic_atomic be refused? */
enum rnic_fault rnic_atomic_check(const struct rnic_qp *qp, uint32_t key, uint64_t va);
/** The peer invalidates one of our keys (SEND with invalidate): checked against the QP's protection domain. */
enum rnic_fault rnic_remote_inv(struct rnic_qp *qp, uint32_t key);
/** The last byte of a Write of len bytes at va has been placed: whoever watches the region is told. dma_bytes as above. */
void rnic_write_done(struct rnic_qp *qp, uint32_t key, uint64_t va, uint32_t len, uint32_t dma_bytes);

/* --- receive queue --- */

/** Take the next receive as the current one (cur_recv, recv_open). false: none is posted (counts nothing). */
bool rnic_recv_begin(struct rnic_qp *qp);
/** Receives posted and not taken. */
static inline uint32_t rnic_recv_posted(const struct rnic_qp *qp) { return qp->rq_tail - qp->rq_head; }
/** Put payload bytes at offset off of the current receive's buffer. RNIC_FAULT_BOUNDS: the message is longer than it. */
enum rnic_fault rnic_recv_place(struct rnic_qp *qp, uint32_t off, uint32_t len, const struct pkt *p, uint32_t from);
enum rnic_fault rnic_recv_place_bytes(struct rnic_qp *qp, uint32_t off, uint32_t len, const uint8_t *bytes);
/** The receive `ahead` messages on: 0 is the current one, or if none has been taken the next one. Is it posted, and do len bytes fit at off? */
bool rnic_recv_fits(const struct rnic_qp *qp, uint32_t ahead, uint32_t off, uint32_t len);
/** Put bytes, or if NULL those at `from` of p's payload, at offset off of that receive. RNIC_FAULT_BOUNDS also when none is posted there. */
enum rnic_fault rnic_recv_place_ahead(struct rnic_qp *qp, uint32_t ahead, uint32_t off, uint32_t len, const struct pkt *p, uint32_t from,
                                      const uint8_t *bytes);
/** What a receive completion tells beside its length. */
struct rnic_recv_info { uint32_t byte_len, imm, invalidated_key; uint8_t has_imm, has_inv, solicited; uint32_t dma_bytes, src_addr, src_qpn; };
/** The current receive is complete. An error status does not change the QP's state. */
void rnic_complete_recv(struct rnic_qp *qp, enum rnic_wc_status status, const struct rnic_recv_info *info);

/** Make room for one more entry in a ring of `size`-byte slots whose capacity is a power of two and whose entries are [head, tail);
 *  *ring may be NULL with *cap 0. Aborts when memory is exhausted. */
void *rnic_ring_room(void *ring, uint32_t *cap, size_t size, uint32_t head, uint32_t tail) SIM_MUST_CHECK;

/* --- time --- */

/** In a simulation the host's clock; else fallback. */
int64_t rnic_qp_now(const struct rnic_qp *qp, int64_t fallback_ps);

#ifdef __cplusplus
}
#endif
#endif
