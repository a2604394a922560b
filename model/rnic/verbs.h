/* SPDX-License-Identifier: GPL-2.0-only */
/** Verbs: PD, MR, CQ, QP, WQE, as libibverbs users know them, over RoCEv2 or iWARP. WQEs in order, completions in order,
 *  access checks, error states, flushes. The transport under a QP is a vtable (rnic_qp_ops).
 */
#ifndef RNICSIM_RNIC_VERBS_H
#define RNICSIM_RNIC_VERBS_H

#include "../host/endpoint.h"
#include "../host/host.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rnic_access { RNIC_LOCAL_WRITE = 1, RNIC_REMOTE_WRITE = 2, RNIC_REMOTE_READ = 4, RNIC_REMOTE_ATOMIC = 8 };
enum rnic_opcode { RNIC_OP_SEND, RNIC_OP_SEND_IMM, RNIC_OP_SEND_INV, RNIC_OP_WRITE, RNIC_OP_WRITE_IMM, RNIC_OP_READ, RNIC_OP_CMP_SWAP,
    RNIC_OP_FETCH_ADD, RNIC_OP_LOCAL_INV, RNIC_OP_RECV };
enum rnic_wc_status { RNIC_WC_SUCCESS, RNIC_WC_LOC_LEN_ERR, RNIC_WC_LOC_QP_OP_ERR, RNIC_WC_LOC_PROT_ERR, RNIC_WC_WR_FLUSH_ERR,
    RNIC_WC_BAD_RESP_ERR, RNIC_WC_LOC_ACCESS_ERR, RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_REM_OP_ERR,
    RNIC_WC_RETRY_EXC_ERR, RNIC_WC_RNR_RETRY_EXC_ERR, RNIC_WC_FATAL_ERR, RNIC_WC_STATUS_COUNT };
const char *rnic_wc_status_name(enum rnic_wc_status s);
enum rnic_qp_state { RNIC_QP_RESET, RNIC_QP_INIT, RNIC_QP_RTR, RNIC_QP_RTS, RNIC_QP_SQD, RNIC_QP_SQE, RNIC_QP_ERROR, RNIC_QP_STATES };
enum rnic_send_flag { RNIC_SEND_SIGNALED = 1, RNIC_SEND_FENCE = 2, RNIC_SEND_SOLICITED = 4, RNIC_SEND_INLINE = 8 };

struct rnic_dev;  /* a card in a host; NULL host: outside a simulation (scripts, replay, fuzzing), all costs zero */
struct rnic_pd;
struct rnic_mr;
struct rnic_cq;
struct rnic_qp;

struct rnic_dev *rnic_dev_new(struct host *h, uint32_t max_qps) SIM_MUST_CHECK;
void rnic_dev_free(struct rnic_dev *d);    /* frees everything made on it */
struct host *rnic_dev_host(const struct rnic_dev *d);
struct rnic_pd *rnic_pd_new(struct rnic_dev *d);

/** Register [va, va + len). mem NULL: `pattern` mode, the bytes are pkt_pattern_byte(seed = the key, offset from va) and what
 *  peers place is checked for bounds but not kept; else `memory` mode, len bytes at mem. One key serves as lkey, rkey and STag. */
struct rnic_mr *rnic_mr_reg(struct rnic_pd *pd, uint64_t va, uint64_t len, unsigned access, uint8_t *mem);
/** The same under a key of the caller's choice, for a card that stands in for another. NULL also if the device has that key. */
struct rnic_mr *rnic_mr_reg_as(struct rnic_pd *pd, uint32_t key, uint64_t va, uint64_t len, unsigned access, uint8_t *mem);
void     rnic_mr_dereg(struct rnic_mr *mr);
uint32_t rnic_mr_key(const struct rnic_mr *mr);
/** Limit a region to one QP (NULL: again any of its protection domain): other QPs' peers find the key not associated with their stream
 *  (RFC 5041 8.2, RFC 5040 8.1.1). The QP must be of the region's protection domain. */
void     rnic_mr_limit(struct rnic_mr *mr, const struct rnic_qp *only);
/** A shared region's key is in use on several streams: no peer may invalidate it (RFC 5040 8.1.1). Off unless set. */
void     rnic_mr_set_shared(struct rnic_mr *mr, bool shared);
/** What an application polling memory sees: fn is called (through the host's completion cost) when the last byte of a Write
 *  that touches the region has been placed: offset and length of the whole message. */
void     rnic_mr_watch(struct rnic_mr *mr, uint32_t core, void (*fn)(void *ctx, uint64_t va, uint32_t len), void *ctx);

struct rnic_sge { uint64_t va; uint32_t len, lkey; };
struct rnic_send_wr {
    uint64_t wr_id;
    enum rnic_opcode op;
    unsigned flags;              /* enum rnic_send_flag */
    struct rnic_sge sge;         /* one element: local buffer */
    uint64_t remote_va;          /* WRITE, READ, atomics */
    uint32_t rkey;
    uint32_t imm_or_inv;         /* immediate data, or the key to invalidate */
    union {
        struct { uint64_t compare, swap_add; };              /* atomics */
        struct { uint32_t addr, qpn, qkey; } ud;             /* unreliable datagram: its address handle; qpn 0: the QP's own peer */
    };
};
struct rnic_recv_wr { uint64_t wr_id; struct rnic_sge sge; };
struct rnic_wc {
    uint64_t wr_id;
    enum rnic_wc_status status;
    enum rnic_opcode op;         /* RNIC_OP_RECV for receives, also of a Write with immediate */
    uint32_t byte_len, imm, qpn, invalidated_key;
    uint8_t  has_imm, has_inv;
    uint8_t  solicited;          /* receives: the sender asked for an event */
    uint32_t src_addr, src_qpn;  /* unreliable datagram: where it came from */
};

#define RNIC_GRH_BYTES 40        /* an unreliable datagram's payload begins so far into its receive, and byte_len counts it */

/** A CQ whose entries the application on `core` picks up at the host's completion cost: on_wc is called once per completion,
 *  in order, when the application sees it. Outside a simulation it is called at once. Full (more than depth entries not yet seen):
 *  the QP goes to Error with RNIC_WC_FATAL_ERR. */
struct rnic_cq *rnic_cq_new(struct rnic_dev *d, uint32_t depth, uint32_t core, void (*on_wc)(void *ctx, const struct rnic_wc *wc), void *ctx);

/** Only solicited receives and errors raise an event (ibv_req_notify_cq with solicited_only): entries before one are seen with it. Off
 *  unless set; turning it off shows what waits. */
void rnic_cq_notify_solicited(struct rnic_cq *cq, bool only);

/** 0; SIM_ERR_FULL: queue full; SIM_ERR_STATE: not in a state that takes posts; SIM_ERR_PARAM: bad lkey, length over 2^31, ... */
int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *wr) SIM_MUST_CHECK;
int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *wr) SIM_MUST_CHECK;
uint32_t rnic_qp_num(const struct rnic_qp *qp);
enum rnic_qp_state rnic_qp_state(const struct rnic_qp *qp);
int rnic_qp_set_error(struct rnic_qp *qp);
/** Free a QP before its device goes (which frees the rest). Work still queued ends without completions; completions already
 *  made still reach the application. */
void rnic_qp_destroy(struct rnic_qp *qp);
/** User context, for callbacks. */
void  rnic_qp_set_ctx(struct rnic_qp *qp, void *ctx);
void *rnic_qp_ctx(const struct rnic_qp *qp);

/** Counters by the names that `rdma statistic` uses; a transport fills what it has. */
#define RNIC_COUNTERS(X) \
    X(packet_seq_err) X(local_ack_timeout_err) X(rnr_nak_retry_err) X(out_of_sequence) X(duplicate_request) X(out_of_buffer) \
    X(np_cnp_sent) X(rp_cnp_handled) X(np_ecn_marked_roce_packets) X(retransmitted_packets) X(retransmitted_bytes) X(timeouts) \
    X(remote_access_err) X(sent_packets) X(received_packets) X(timer_waits) X(acks_sent) X(naks_sent) X(dropped_messages) X(qkey_viol) X(bad_pkey) X(bad_version)
struct rnic_counters {
#define X(n) uint64_t n;
    RNIC_COUNTERS(X)
#undef X
};
const struct rnic_counters *rnic_qp_counters(const struct rnic_qp *qp);

#ifdef __cplusplus
}
#endif
#endif
