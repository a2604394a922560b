/* SPDX-License-Identifier: GPL-2.0-only */
/** Between the parts of the RoCE replay: which packets belong together and what a side did (replay_roce.c), our QP in its place
 *  (replay_roce_run.c), our connection manager in its place (replay_cm.c). */
#ifndef RNICSIM_HELPER_REPLAY_ROCE_H
#define RNICSIM_HELPER_REPLAY_ROCE_H

#include "replay_internal.h"

#include "../model/roce/roce.h"

/** A captured packet of one connection. */
struct replay_item {
    struct replay_frame *f;
    uint8_t side;                        /* who sent it */
    bool    lost;                        /* by the replaced side's later doings it never arrived */
};

/** One connection; side 0 is A. */
struct replay_flow {
    uint32_t addr[2], qpn[2];            /* qpn 0: not seen */
    enum roce_service service;
    bool     cm;                         /* QPs 1: management datagrams */
    struct replay_item *item;
    uint32_t n;
    char     what[200];
};

/** A work request that the replaced side posted. */
struct replay_message {
    uint32_t first;                      /* item of its first packet */
    int64_t  number;                     /* of its first packet, counted from the side's first PSN */
    uint64_t at, len;                    /* its bytes in replay_deeds.payload */
    bool     whole;                      /* its last packet was captured */
    struct rnic_send_wr wr;
};

/** What the replaced side did, from what it sent and what came back. */
struct replay_deeds {
    uint32_t mtu;
    uint32_t psn[2];                     /* first PSN of each side */
    bool     sends[2];                   /* the side sent requests */
    struct replay_message *message;
    uint32_t nmessages;
    uint8_t *payload;                    /* of all SENDs and WRITEs */
    uint64_t payload_len, payload_cap;
    uint64_t recv_len;                   /* longest SEND that came */
    struct replay_memory memory;
    uint32_t qkey;
    uint8_t  dscp, ecn;
    uint32_t ack_request_packets;
    uint8_t  rnr_timer, rnr_retry;
    bool     cnp;                        /* it sent CNPs */
    int64_t  rnr_last;                   /* packet number of the latest RNR NAK to it */
    int32_t  timeout;                    /* local ACK timeout code from the connection's REQ; -1: not known */
};

static inline unsigned replay_op_flags(const struct replay_item *it) { return wire_roce_op[it->f->p.roce.opcode].flags; }
static inline bool replay_is_request(const struct replay_item *it) { return replay_op_flags(it) & ROCE_OP_REQUEST; }
/** Packet number of a PSN that counts from psn0. */
static inline int64_t replay_number(uint32_t psn, uint32_t psn0) { return wire_psn_diff(psn, psn0); }
/** Packet numbers that a request takes: a READ's are its responses'. */
uint32_t replay_span(const struct replay_item *it, uint32_t mtu);

/** The first answer of `side` after item i that tells the fate of packet number n of the peer: an ACK or NAK for it, a response, or a
 *  positive ACK of something later. NULL: none. */
const struct replay_item *replay_outcome(const struct replay_flow *f, const struct replay_deeds *d, unsigned side, uint32_t i, int64_t n);

void replay_learn(struct replay *r, struct replay_flow *f, unsigned side, struct replay_deeds *d);
/** After that: its memory's contents. false: it comes to more than REPLAY_MEMORY_MAX. */
bool replay_learn_memory(struct replay_flow *f, unsigned side, struct replay_deeds *d);
void replay_deeds_free(struct replay_deeds *d);
/** Addresses of what a side sends. */
void replay_l3(const struct replay_flow *f, unsigned side, struct wire_l3 *out);
void replay_cm_run(struct replay *r, struct replay_flow *f, unsigned side);
void replay_roce_run(struct replay *r, struct replay_flow *f, unsigned side);

#endif
