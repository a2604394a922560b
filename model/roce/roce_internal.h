/* SPDX-License-Identifier: GPL-2.0-only */
/** The inside of a RoCE QP, shared by this room's files: qp (life, endpoint, arbitration), req (requester), resp (responder),
 *  message (SENDs and WRITEs arriving), unreliable (UC, UD), retry (what is sent again).
 *
 *  PSNs live here as 64-bit packet numbers that count from 0 at the first PSN: PSN = (psn0 + number) mod 2^24. What arrives is
 *  mapped to the number nearest to what is expected, so no other code knows about the wrap.
 */
#ifndef RNICSIM_ROCE_ROCE_INTERNAL_H
#define RNICSIM_ROCE_ROCE_INTERNAL_H

#include "../rnic/qp.h"
#include "../sim/trace.h"
#include "../wire/codec.h"
#include "roce.h"

#define ROCE_OUTSTANDING_MAX (UINT64_C(1) << 22)  /* half of what 24 bits can tell apart, and room to spare */
#define ROCE_PSN_MASK UINT32_C(0xffffff)

enum roce_syndrome { ROCE_AETH_ACK = 0x00, ROCE_AETH_NO_CREDITS = 0x1f, ROCE_AETH_RNR = 0x20, ROCE_NAK_SEQUENCE = 0x60,
    ROCE_NAK_INVALID = 0x61, ROCE_NAK_ACCESS = 0x62, ROCE_NAK_OPERATION = 0x63 };

/* rnic_wqe: scratch[0] first packet number, scratch[1] count of packet numbers, scratch[2] its SSN; tflags: */
enum roce_wqe_flag { ROCE_WQE_STARTED = 1 };

struct roce_qp;

/** What is sent again, and from where the responder asks for it. */
struct roce_retry_ops {
    const char *name;
    bool whole_messages;                 /* partial progress of a message does not count */
    /** Packet `want` is missing: sequence NAK, or a gap in read responses. */
    void (*nak)(struct roce_qp *q, int64_t now_ps, uint64_t want);
    void (*timeout)(struct roce_qp *q, int64_t now_ps);
    /** Responder: packets before `got` are missing. Leave resp.expected at the number to ask for. */
    void (*gap)(struct roce_qp *q, uint64_t got);
};
extern const struct roce_retry_ops *const roce_retry_kinds[2]; /* by enum roce_retry_kind */

/** A response that takes packets of its own: a READ being answered or an atomic's result. */
struct roce_response {
    uint64_t number, end;                /* next packet number, one past the last */
    uint64_t va, left;
    uint64_t orig;                       /* atomic: the value before */
    struct rnic_span span;
    uint32_t rkey, msn;
    uint8_t  atomic, begun;
};
struct roce_atomic_result { uint64_t number, orig; };

struct roce_req {
    uint64_t una, nxt, max;              /* packet numbers: oldest unacknowledged, next to send, one past the highest sent */
    uint64_t acked;                      /* windows count from here: the highest that ACKs have told; una unless whole_messages */
    uint64_t recover;                    /* loss recovery ends when una reaches it */
    uint64_t limit;                      /* most packets in flight by parameters */
    uint64_t gap_una;                    /* READ: where a gap in the responses was last answered */
    uint64_t timed;                      /* packet number of the round-trip sample */
    int64_t  timed_ps;                   /* when it left; -1: none is being timed */
    int64_t  progress_ps;                /* last time something was acknowledged, or the first was sent */
    int64_t  rnr_until_ps;               /* nothing is sent before */
    uint32_t wqe_una, wqe_nxt, wqe_end;  /* WQE indices: of una, of nxt, next to be numbered */
    uint32_t span_wqe;                   /* WQE that span describes */
    struct rnic_span span;
    uint32_t reads_out, ord;             /* READs and atomics under way, and at most */
    uint32_t since_ack_req;
    uint32_t ssn, lsn;                   /* messages begun; the last message that the peer has a receive for, if credits_known */
    uint8_t  retries_left, rnr_left;
    bool     credits_known, span_valid, force_ack_req, in_recovery, gap_seen;
};

struct roce_resp {
    uint64_t expected;                   /* packet number */
    uint64_t gap_last;                   /* the last out-of-sequence number seen since the NAK */
    uint64_t message_first;              /* of the message under way */
    uint64_t reads_end;                  /* one past the latest READ or atomic */
    uint32_t psn0, msn;
    uint64_t va, start_va;               /* WRITE under way: where the next byte goes */
    uint32_t rkey, left, total;          /* WRITE: bytes to come, whole length; SEND: total counts up */
    uint32_t ack_packets, ack_bytes;     /* since the last ACK */
    /* the ACK or NAK to be sent */
    uint64_t ack_number;
    uint32_t ack_msn;
    uint8_t  ack_pending, ack_syndrome;
    bool     ack_marked;                 /* of what came since the last ACK some were marked; where ACKs echo marks */
    uint8_t  nak_sent;                   /* silent until the expected packet comes */
    uint8_t  op;                         /* enum roce_resp_op */
    bool     fatal;                      /* the pending NAK is this QP's last word */
    /* rings of ird slots, allocated at the first READ or atomic */
    struct roce_response *queue;
    struct roce_atomic_result *results;
    uint32_t queue_head, queue_tail, results_tail;
    struct pkt_int telemetry;            /* of the latest request that brought any, for the next ACK */
};
enum roce_resp_op { ROCE_RESP_IDLE, ROCE_RESP_SEND, ROCE_RESP_WRITE };

/** When packets left, for round-trip samples. */
struct roce_stamp { uint64_t number; int64_t at_ps /* -1: not to be sampled */; };
struct roce_stamps { struct roce_stamp *at; uint32_t mask; };
/** What the acknowledgement that is being taken in tells congestion control. */
struct roce_heard { int64_t rtt_ps; const struct pkt *pkt; };

struct roce_qp {
    struct rnic_qp base;                 /* first */
    const struct roce_params *params;
    const struct roce_retry_ops *retry;
    int64_t  pace_ps;                    /* data may leave from then on */
    int64_t  timeout_ps;                 /* local ACK timeout, 0: none */
    int64_t  timeout_extra_ps;           /* by which the wait under way is longer */
    uint64_t seed;
    int64_t  cnp_next_ps;                /* no CNP before */
    uint32_t mtu, mtu_shift;
    uint32_t src, dst, dqpn, flow_hash;
    uint32_t psn0;
    uint16_t sport;
    uint32_t qkey;                       /* UD */
    uint8_t  dscp, control_dscp, cnp_dscp, ttl, ecn;
    uint8_t  service;                    /* enum roce_service */
    uint8_t  opcode_base;                /* of the service's SEND and WRITE opcodes */
    uint8_t  retry_cnt, rnr_retry;
    bool     connected, cnp_pending, resp_turn;
    bool     cnp_owed;                   /* a marked packet came within the interval after a CNP */
    bool     telemetry;                  /* packets carry telemetry */
    struct roce_req  req;
    struct roce_resp resp;
    struct roce_stamps stamps;           /* where control wants samples */
    struct roce_heard heard;             /* pkt NULL but while an ACK is taken in */
    struct cc cc;
};

static inline struct roce_qp *roce_of(struct rnic_qp *qp) { return (struct roce_qp *)(void *)qp; }

/** The packet number nearest to `near` whose PSN is psn (may be below 0 at the very start: then far above all others). */
static inline uint64_t roce_number(uint64_t near, uint32_t psn0, uint32_t psn)
{
    return near + (uint64_t)(int64_t)wire_psn_diff(psn, (uint32_t)(psn0 + near) & ROCE_PSN_MASK);
}
static inline uint32_t roce_psn(uint32_t psn0, uint64_t number) { return (uint32_t)(psn0 + number) & ROCE_PSN_MASK; }
/** a - b as a signed distance. */
static inline int64_t roce_ahead(uint64_t a, uint64_t b) { return (int64_t)(a - b); }

/* roce_qp.c */
/** Fill what all packets of this QP share. */
void roce_start_packet(struct roce_qp *q, struct pkt *p, uint8_t opcode, uint32_t psn);
void roce_trace(struct roce_qp *q, int64_t now_ps, enum sim_trace_point point, uint64_t a, uint64_t b);

/** Draw by how much the next wait for the local ACK timeout is longer than it must be. */
void roce_draw_timeout(struct roce_qp *q);
/* roce_cc.c */
void roce_cc_start(struct roce_qp *q, int64_t base_rtt_ps);
/** A data packet leaves: charge its time on the wire to the rate. */
void roce_cc_charge(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
/** A CNP has come. */
void roce_cc_cnp(struct roce_qp *q, int64_t now_ps);
/** A packet marked CE has come. */
void roce_cc_marked(struct roce_qp *q, int64_t now_ps);
int64_t roce_cc_next_wake_ps(const struct roce_qp *q);
void roce_cc_wake(struct roce_qp *q, int64_t now_ps);
/** The request packet p with this number leaves: its time is noted. */
void roce_cc_sent(struct roce_qp *q, int64_t now_ps, uint64_t number, const struct pkt *p);
/** An ACK or NAK of this number has come; what it tells goes into q->heard until it is taken in. */
void roce_cc_heard(struct roce_qp *q, int64_t now_ps, uint64_t number, const struct pkt *p);
/** Tell control of progress, a's transport part being filled. */
void roce_cc_ack(struct roce_qp *q, struct cc_ack *a);

/* roce_req.c */
/** SIM_NEVER_PS: nothing may go; else the earliest time by the requester's own rules (0: at once). */
int64_t roce_req_ready_ps(const struct roce_qp *q);
/** The next request packet. The caller has seen to readiness and pacing. false: none after all. */
bool roce_req_tx(struct roce_qp *q, int64_t now_ps, struct pkt *p);
void roce_req_ack(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
void roce_req_response(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
void roce_req_timeout(struct roce_qp *q, int64_t now_ps);
/** Send from packet number `to` again, una <= to <= max. */
void roce_req_rewind(struct roce_qp *q, uint64_t to);
/** A loss has been noticed: once per window the congestion control is told. */
void roce_req_loss(struct roce_qp *q, int64_t now_ps);

/* roce_resp.c */
void roce_resp_rx(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
bool roce_resp_ack_ready(const struct roce_qp *q);
void roce_resp_ack_tx(struct roce_qp *q, struct pkt *p);
static inline bool roce_resp_data_ready(const struct roce_qp *q) { return q->resp.queue_head != q->resp.queue_tail; }
bool roce_resp_data_tx(struct roce_qp *q, struct pkt *p);

/* roce_message.c: each returns 0, or the NAK's syndrome where the packet is at fault. */
/** Is a packet of len bytes as long as its place in its message says: full unless it is the last, not empty unless it is the only one? */
bool roce_message_fits(const struct roce_qp *q, unsigned flags, uint32_t len);
/** The first packet of a message: what its RETH says is checked and kept (IBTA 9.7.4.1.2 to .4). */
unsigned roce_message_begin(struct roce_qp *q, const struct pkt *p, unsigned flags);
unsigned roce_message_place_send(struct roce_qp *q, const struct pkt *p);
unsigned roce_message_place_write(struct roce_qp *q, const struct pkt *p, unsigned flags);
/** A message is complete: completions and watchers. The responder's own state is settled before. */
void roce_message_finish(struct roce_qp *q, const struct pkt *p, unsigned flags);

/* roce_unreliable.c: UC and UD. */
/** A packet of a service that is not acknowledged has left: it is done. */
void roce_unreliable_sent(struct roce_qp *q, const struct rnic_wqe *w, uint32_t index);
void roce_unreliable_rx(struct roce_qp *q, const struct pkt *p);
/** The rnic_qp_ops.check_send of all services. */
int roce_check_send(const struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* roce_params.c */
/** RNR NAK timer code to time (IBTA vol. 1 table 45). */
int64_t roce_rnr_timer_ps(unsigned code);
/** AETH credit code for so many posted receives, rounded down, and back (IBTA vol. 1 table 46). */
unsigned roce_credit_code(uint32_t receives);
uint32_t roce_credit_count(unsigned code);

#endif
