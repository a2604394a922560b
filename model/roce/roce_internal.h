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
#include "roce_bits.h"

#define ROCE_OUTSTANDING_MAX (UINT64_C(1) << 22)  /* half of what 24 bits can tell apart, and room to spare */
#define ROCE_PSN_MASK UINT32_C(0xffffff)

enum roce_syndrome { ROCE_AETH_ACK = 0x00, ROCE_AETH_NO_CREDITS = 0x1f, ROCE_AETH_RNR = 0x20, ROCE_NAK_SEQUENCE = 0x60,
    ROCE_NAK_INVALID = 0x61, ROCE_NAK_ACCESS = 0x62, ROCE_NAK_OPERATION = 0x63 };

/* rnic_wqe: scratch[0] first packet number, scratch[1] count of packet numbers, scratch[2] its SSN; tflags: */
enum roce_wqe_flag { ROCE_WQE_STARTED = 1 };

struct roce_qp;

/** Loss recovery: what is sent again, and what the responder makes of a gap. One file each. */
struct roce_retry_ops {
    const char *name;
    bool whole_messages;                 /* partial progress of a message does not count */
    bool holds;                          /* what arrives out of order is kept */
    /** Packet `want` is missing: sequence NAK, or a gap in read responses. */
    void (*nak)(struct roce_qp *q, int64_t now_ps, uint64_t want);
    void (*timeout)(struct roce_qp *q, int64_t now_ps);
    /** Responder: packets before `got` are missing. Leave resp.expected at the number to ask for. */
    void (*gap)(struct roce_qp *q, uint64_t got);
    /** Requester: the packet that must be sent again before anything new, ROCE_NONE if none. NULL: the cursor goes back instead. */
    uint64_t (*lost)(const struct roce_qp *q);
    /** It has been sent, up to `end` in case of a READ. */
    void (*resent)(struct roce_qp *q);
    /** The cursor goes back to a packet, for whatever reason. May be NULL. */
    void (*rewound)(struct roce_qp *q);
    /** How long without progress is a timeout; 0: never. NULL: the local ACK timeout. */
    int64_t (*timeout_ps)(const struct roce_qp *q);
};
extern const struct roce_retry_ops roce_go_back_n, roce_go_back_0, roce_irn, roce_selective;

/** A request packet that came before its turn. */
struct roce_held {
    struct roce_held *next;
    uint64_t number;
    bool     placed;                     /* its bytes are where they belong already, and not here */
    struct pkt p;
};

/** A response that takes packets of its own: a READ being answered or an atomic's result. */
struct roce_response {
    uint64_t number, end;                /* next packet number, one past the last */
    uint64_t va, left;
    uint64_t orig;                       /* atomic: the value before */
    struct rnic_span span;
    uint32_t rkey, msn;
    uint8_t  atomic, begun;
    uint8_t  again;                      /* of a request seen before */
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
    int64_t  proven_ps;                  /* the same, but timeouts do not move it */
    int64_t  rnr_until_ps;               /* nothing is sent before */
    uint32_t wqe_una, wqe_nxt, wqe_end;  /* WQE indices: of una, of nxt, next to be numbered */
    uint32_t span_wqe;                   /* WQE that span describes */
    struct rnic_span span;
    uint32_t reads_out, ord;             /* READs and atomics under way, and at most */
    uint32_t since_ack_req;
    uint32_t ssn, lsn;                   /* messages begun; the last message that the peer has a receive for, if credits_known */
    uint64_t limited_at;                 /* the latest packet sent without credit; ROCE_NONE: none */
    uint8_t  retries_left, rnr_left;
    bool     credits_known, span_valid, force_ack_req, in_recovery, gap_seen;
    /* selective */
    uint64_t want;                       /* to be sent again, ROCE_NONE */
    struct roce_bits arrived;            /* responses beyond una */
    uint64_t arrived_high;               /* one past the highest of them */
    uint64_t implied;                    /* what they have told to have been executed */
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
    /* out of order: in order of number */
    struct roce_held *held, *held_tail, *held_spare;
    int64_t  gap_deadline_ps;            /* when a gap is taken for a loss; SIM_NEVER_PS */
    bool     placed;                     /* the packet being executed has been placed */
};
enum roce_resp_op { ROCE_RESP_IDLE, ROCE_RESP_SEND, ROCE_RESP_WRITE };

/** When packets left, for round-trip samples. */
struct roce_stamp { uint64_t number; int64_t at_ps /* -1: not to be sampled */; };
struct roce_stamps { struct roce_stamp *at; uint32_t mask; };
/** What the acknowledgement that is being taken in tells congestion control. */
struct roce_heard { int64_t rtt_ps; const struct pkt *pkt; };

/** What IRN has on top (roce_irn.c): two more sequences, of the responses that we take and of those that we send. */
struct roce_irn_read { uint64_t first, end; uint32_t wqe; };
struct roce_sacks { uint64_t *number; uint32_t cap, head, tail; }; /* selective acknowledgements to be sent: a ring */
struct roce_irn {
    struct roce_board requests;
    struct roce_sacks nacks;             /* of requests */
    /* responses that we take */
    struct roce_bits arrived;
    uint64_t expected, issued;           /* of responses: the next in order, one past the last asked for */
    struct roce_irn_read *reads;         /* ring of READs and atomics under way */
    uint32_t reads_cap, reads_head, reads_tail;
    struct roce_sacks read_nacks;
    int64_t  read_progress_ps;
    bool     read_ack;
    /* responses that we send */
    struct roce_board responses;
    uint64_t sent, end;                  /* one past the highest sent, one past the last that there is */
    int64_t  response_progress_ps;
    int64_t  response_give_up_ps;
    uint32_t read_sn, recv_sn;           /* READs and atomics numbered so far; messages that take a receive */
};

struct roce_qp {
    struct rnic_qp base;                 /* first */
    const struct roce_params *params;
    const struct roce_retry_ops *retry;
    struct roce_irn *irn;                /* NULL: another policy */
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
    bool     holds;                      /* the responder keeps what is out of order */
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
/** Everything before packet number `to` has arrived, says the peer, or responses say so. A READ or atomic of the standard's numbering is done only
 *  by its responses and stops the advance: then false. */
bool roce_req_advance(struct roce_qp *q, int64_t now_ps, uint64_t to);
/** The WQE that packet number n >= una belongs to; wqe_end if n is of none so far. */
uint32_t roce_req_wqe_of(struct roce_qp *q, uint64_t n);
/** Put a response packet of a READ or atomic where WQE w wants it, off bytes from its start. RNIC_WC_SUCCESS, or why the QP must fail. */
enum rnic_wc_status roce_req_place(struct roce_qp *q, const struct rnic_wqe *w, uint64_t off, const struct pkt *p, uint32_t *len);
void roce_req_fail_oldest(struct roce_qp *q, enum rnic_wc_status status);
/** A gap in responses at una: heeded once until there is progress. */
void roce_req_response_gap(struct roce_qp *q, int64_t now_ps);
static inline uint64_t roce_first_of(const struct rnic_wqe *w) { return w->scratch[0]; }
static inline uint64_t roce_end_of(const struct rnic_wqe *w) { return w->scratch[0] + w->scratch[1]; }
static inline bool roce_is_atomic(enum rnic_opcode op) { return op == RNIC_OP_CMP_SWAP || op == RNIC_OP_FETCH_ADD; }
static inline bool roce_takes_receive(enum rnic_opcode op)
{
    return op == RNIC_OP_SEND || op == RNIC_OP_SEND_IMM || op == RNIC_OP_SEND_INV || op == RNIC_OP_WRITE_IMM;
}
static inline bool roce_has_response(enum rnic_opcode op) { return op == RNIC_OP_READ || roce_is_atomic(op); }
static inline bool roce_alive(const struct roce_qp *q) { return q->base.state == RNIC_QP_RTS || q->base.state == RNIC_QP_SQD; }
/** Send from packet number `to` again, una <= to <= max. */
void roce_req_rewind(struct roce_qp *q, uint64_t to);
/** A loss has been noticed: once per window the congestion control is told. */
void roce_req_loss(struct roce_qp *q, int64_t now_ps);

/* roce_resp.c */
void roce_resp_rx(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
bool roce_resp_ack_ready(const struct roce_qp *q);
void roce_resp_ack_tx(struct roce_qp *q, struct pkt *p);
bool roce_irn_data_ready(const struct roce_qp *q);
static inline bool roce_resp_data_ready(const struct roce_qp *q)
{
    return q->irn != NULL ? roce_irn_data_ready(q) : q->resp.queue_head != q->resp.queue_tail;
}
bool roce_resp_data_tx(struct roce_qp *q, int64_t now_ps, struct pkt *p);

/** Acknowledge all that has been executed. */
void roce_resp_acknowledge(struct roce_qp *q);
/** NAK the request with packet number n; the QP is done. */
void roce_resp_refuse_at(struct roce_qp *q, uint64_t n, unsigned syndrome);
/** The syndrome of a positive acknowledgement that leaves now. */
unsigned roce_resp_syndrome(const struct roce_qp *q);
/** What a positive acknowledgement tells the sender's congestion control: marks, telemetry. */
void roce_resp_news(struct roce_qp *q, struct pkt *p);
/** A place in the ring of responses, allocated at the first call; NULL: full. */
struct roce_response *roce_resp_push(struct roce_qp *q);
static inline struct roce_response *roce_resp_at(const struct roce_qp *q, uint32_t i)
{
    return &q->resp.queue[i % (2 * (uint32_t)q->params->ird)];
}
/** Fill p's payload with len bytes of a READ's answer at va; false: the region has gone. */
bool roce_resp_source(struct roce_qp *q, const struct roce_response *e, uint64_t off, uint32_t len, struct pkt *p);
/** Response packets of a READ of len bytes. */
static inline uint64_t roce_response_packets(const struct roce_qp *q, uint32_t len) { return len ? ((uint64_t)len + q->mtu - 1) >> q->mtu_shift : 1; }
/** The gap has been open for long enough (roce_next_wake). */
void roce_resp_gap_expired(struct roce_qp *q, int64_t now_ps);

/* roce_hold.c: requests out of order. */
/** Keep packet n, placing what may be placed (a WRITE whose message is known). false: it is held already, or too far ahead. */
bool roce_hold(struct roce_qp *q, const struct pkt *p, uint64_t n);
/** The next one if its number is at most n, else NULL. Hand it back to roce_hold_spare or roce_hold_back. */
struct roce_held *roce_hold_take(struct roce_qp *q, uint64_t n);
void roce_hold_spare(struct roce_qp *q, struct roce_held *h);
void roce_hold_back(struct roce_qp *q, struct roce_held *h);
void roce_hold_drop_all(struct roce_qp *q);
void roce_hold_free(struct roce_qp *q);

/* roce_goback.c: what policies share. */
void roce_back_to(struct roce_qp *q, int64_t now_ps, uint64_t want);
void roce_back_to_una(struct roce_qp *q, int64_t now_ps);
void roce_gap_stays(struct roce_qp *q, uint64_t got);

/* roce_selective.c */
void roce_selective_response(struct roce_qp *q, int64_t now_ps, const struct pkt *p);

/* roce_irn.c: requests */
bool roce_irn_new(struct roce_qp *q);
void roce_irn_stop(struct roce_qp *q);
void roce_irn_free(struct roce_qp *q);
/** A packet that acknowledges requests. */
void roce_irn_ack(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
/** Responder: packet n has come out of order or again. */
void roce_irn_nack(struct roce_qp *q, uint64_t n);
bool roce_irn_control_ready(const struct roce_qp *q);
bool roce_irn_control_tx(struct roce_qp *q, struct pkt *p);
/** What IRN adds to a request packet's headers: index of its packet in its message. */
void roce_irn_headers(struct roce_qp *q, const struct rnic_wqe *w, uint64_t index, struct pkt *p);
int64_t roce_irn_rto_ps(const struct roce_qp *q, uint64_t in_flight);
void roce_sacks_push(struct roce_sacks *s, uint64_t n);
static inline bool roce_sacks_any(const struct roce_sacks *s) { return s->head != s->tail; }
static inline uint64_t roce_sacks_pop(struct roce_sacks *s) { return s->number[s->head++ & (s->cap - 1)]; }
/* roce_irn_read.c: responses, at both ends */
void roce_irn_read_posted(struct roce_qp *q, int64_t now_ps, const struct rnic_wqe *w, uint32_t index);
void roce_irn_response(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
void roce_irn_read_ack(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
void roce_irn_read_request(struct roce_qp *q, int64_t now_ps, const struct pkt *p);
bool roce_irn_data_tx(struct roce_qp *q, int64_t now_ps, struct pkt *p);
int64_t roce_irn_read_wake_ps(const struct roce_qp *q);
void roce_irn_read_wake(struct roce_qp *q, int64_t now_ps);

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

/* roce_credit.c */
/** AETH credit code for so many posted receives, rounded down, and back (IBTA vol. 1 table 46). */
unsigned roce_credit_code(uint32_t receives);
uint32_t roce_credit_count(unsigned code);
/** An AETH's credits: the peer has receives for so many messages after the last it completed. */
void roce_req_take_credits(struct roce_qp *q, const struct pkt *p);
/** The next packet of w (the WQE at the cursor) needs a receive that the peer has not told of: a limited packet (IBTA 9.7.7.2.5). */
bool roce_limited(const struct roce_qp *q, const struct rnic_wqe *w);
/** A limited packet has been sent and nothing has been heard of it: the next one waits. It has asked for an ACK, so it never waits for a timeout; what
 *  went before and needed no receive is no reason to wait, since nobody may have asked for an ACK of that. */
static inline bool roce_limited_in_flight(const struct roce_req *r) { return r->limited_at >= r->acked && r->limited_at < r->nxt; }

#endif
