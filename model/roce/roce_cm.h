/* SPDX-License-Identifier: GPL-2.0-only */
/** Connections made by management datagrams between QPs 1: REQ, REP, RTU, REJ, MRA, DREQ, DREP (IBTA vol. 1 chapter 12; states 12.9.7). A
 *  connection manager is an endpoint like a QP: no clock, no I/O. It moves QPs from INIT to RTS and, when the connection ends, to ERROR.
 *
 *  What it leaves out: SIDR, path migration (LAP, APR), TIMEWAIT (QPs are not reused), private-data conventions of RDMA IP CM, which are
 *  the user's bytes.
 */
#ifndef RNICSIM_ROCE_ROCE_CM_H
#define RNICSIM_ROCE_ROCE_CM_H

#include "../wire/cm.h"
#include "roce.h"

#ifdef __cplusplus
extern "C" {
#endif

struct roce_cm;    /* a node's connection manager */
struct roce_conn;  /* a connection that is being made, or is made, or has ended */

enum roce_conn_state { ROCE_CONN_REQ_SENT, ROCE_CONN_REQ_RECEIVED, ROCE_CONN_REP_SENT, ROCE_CONN_ESTABLISHED, ROCE_CONN_DREQ_SENT, ROCE_CONN_CLOSED };
enum roce_cm_event_kind {
    ROCE_CM_REQUEST,       /* a peer asks: roce_conn_accept or roce_conn_reject, now or later */
    ROCE_CM_ESTABLISHED,   /* the QP is in RTS */
    ROCE_CM_REJECTED,      /* mad is the REJ */
    ROCE_CM_UNREACHABLE,   /* no answer to all retries */
    ROCE_CM_DISCONNECTED   /* the QP is in ERROR */
};
/** mad: what has arrived, NULL for UNREACHABLE and for a DREQ of ours without answer. */
struct roce_cm_event { enum roce_cm_event_kind kind; struct roce_conn *conn; const struct wire_cm *mad; };

struct roce_cm_config {
    uint32_t local_addr;
    uint64_t ca_guid;
    uint64_t seed;                 /* with local_addr: communication IDs and transactions */
    uint8_t  response_timeout;     /* 5 bits: a peer has 4.096 us * 2^t to answer; Linux: 20 (4.3 s) */
    uint8_t  max_retries;          /* 4 bits: repetitions of an unanswered REQ, REP or DREQ; Linux: 15 */
    uint8_t  target_ack_delay;     /* 5 bits, told in a REP; rxe: 15 */
    uint8_t  prio, dscp, ecn, ttl; /* of the datagrams and of the connections; ttl 0: 64 */
    uint16_t sport;                /* UDP source port; 0: derived */
    /** Something has happened; may be NULL. */
    void (*on_event)(void *ctx, const struct roce_cm_event *e);
    /** May change a message that is about to be sent for the first time, to imitate a given peer field by field; may be NULL. */
    void (*amend)(void *ctx, struct wire_cm *m);
    void *ctx;
};
/** Linux's values; the rest zero. */
struct roce_cm_config roce_cm_defaults(void);

/** The connection manager of dev's node; where dev is in a host it serves the host's QP number 1. NULL: out of memory, or the host has one. */
struct roce_cm *roce_cm_new(struct rnic_dev *dev, const struct roce_cm_config *config) SIM_MUST_CHECK;
/** Frees its connections' records too; QPs are their device's. Before the host goes. */
void roce_cm_free(struct roce_cm *cm);
struct endpoint *roce_cm_endpoint(struct roce_cm *cm);
/** Requests for this service are let through to on_event; others are rejected (invalid service ID). SIM_ERR_FULL after 16. */
int roce_cm_listen(struct roce_cm *cm, uint64_t service_id);

struct roce_conn_options {
    const void *private_data;
    size_t      private_len;       /* at most wire_cm_private_bytes of the message */
    int64_t     base_rtt_ps;       /* for the congestion control; 0: not known */
};
/** Ask for a connection of qp (in INIT, RC or UC) with a service at remote_addr. options may be NULL. A peer that cannot take so large a path MTU
 *  says which (REJ, invalid path MTU), and is asked again for that. NULL: wrong state or options, out of memory. */
struct roce_conn *roce_cm_connect(struct roce_cm *cm, int64_t now_ps, struct rnic_qp *qp, uint32_t remote_addr, uint64_t service_id,
                                  const struct roce_conn_options *options) SIM_MUST_CHECK;
/** Answer a request with qp (in INIT). SIM_ERR_PARAM: the QP is not of the service type asked for (a REJ, invalid transport service type, goes),
 *  its path MTU is smaller than what was asked for (a REJ that names it goes, and the peer may ask again), or of options; SIM_ERR_STATE: not
 *  asked. */
int roce_conn_accept(struct roce_conn *c, int64_t now_ps, struct rnic_qp *qp, const struct roce_conn_options *options);
/** Refuse a request: enum wire_cm_reason. */
int roce_conn_reject(struct roce_conn *c, int64_t now_ps, unsigned reason, const struct roce_conn_options *options);
/** End an established connection: its QP goes to ERROR, a DREQ to the peer. */
int roce_conn_disconnect(struct roce_conn *c, int64_t now_ps, const struct roce_conn_options *options);

enum roce_conn_state roce_conn_state(const struct roce_conn *c);
struct rnic_qp *roce_conn_qp(const struct roce_conn *c);
uint32_t roce_conn_remote_addr(const struct roce_conn *c);
/** The request that made it. */
const struct wire_cm *roce_conn_request(const struct roce_conn *c);

#ifdef __cplusplus
}
#endif
#endif
