/* SPDX-License-Identifier: GPL-2.0-only */
/** RoCEv2 under the verbs: reliable connection (requester, responder, retry policy), unreliable connection and datagram. IBTA vol. 1
 *  chapter 9, annex A17. */
#ifndef RNICSIM_ROCE_ROCE_H
#define RNICSIM_ROCE_ROCE_H

#include "../cc/cc.h"
#include "../rnic/verbs.h"
#include "roce_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A QP of params->service in INIT; NULL if parameters are out of range or do not fit (roce_params_check), or memory or QPs are exhausted. params and cc_params are kept by reference and const. link_bps: the NIC's line rate (the host port's rate in a
 *  simulation). id names its random streams. The QP is dev's and freed with it. */
struct rnic_qp *roce_qp_new(struct rnic_dev *dev, struct rnic_pd *pd, struct rnic_cq *send_cq, struct rnic_cq *recv_cq,
                            const struct roce_params *params, const struct cc_ops *cc, const void *cc_params,
                            int64_t link_bps, uint32_t id, uint64_t seed) SIM_MUST_CHECK;

/** What no single parameter's range can say: the path MTU is one of five. 0, or SIM_ERR_PARAM with one sentence in err. */
int roce_params_check(const struct roce_params *params, char *err, size_t errlen);

/** What a connection manager tells a QP of its peer. path_mtu_bytes 0: as our own; ttl 0: 64; base_rtt_ps 0: not known; ird: READs and atomics
 *  that the peer takes at a time, 0: as many as our ord. qkey: UD's, of both ends. A UD QP's peer is where a SEND goes that names no
 *  destination; remote_psn counts for nothing there. limits_given: the retry limits and the timeout code are those that the peer asked for, in
 *  place of params' (IBTA vol. 1 12.7.27, 12.7.28, 12.7.34). ecn: the ECN field that goes with dscp in the traffic class where the congestion
 *  control sets none. */
struct roce_peer {
    uint32_t local_addr, remote_addr, remote_qpn, remote_psn;
    uint32_t path_mtu_bytes;
    uint8_t  prio, dscp, ttl, ecn;
    int64_t  base_rtt_ps;
    uint32_t ird, qkey;
    bool     limits_given;
    uint8_t  retry_cnt, rnr_retry, local_ack_timeout; /* 0..7, 0..7, 0..31 */
};
/** INIT to RTS with what a connection manager would have exchanged; path MTU is the smaller of both sides'. SIM_ERR_PARAM, SIM_ERR_STATE: not
 *  in INIT; of the host: SIM_ERR_NOMEM. */
int roce_qp_connect(struct rnic_qp *qp, const struct roce_peer *peer);
/** Its two halves: INIT to RTR, where requests are served, and RTR to RTS. */
int roce_qp_ready_to_receive(struct rnic_qp *qp, const struct roce_peer *peer);
int roce_qp_ready_to_send(struct rnic_qp *qp);
/** What the QP was made with, for who connects it. */
const struct roce_params *roce_qp_params(const struct rnic_qp *qp);
/** The PSN this QP will start sending at (a pure function of seed and id unless set). */
uint32_t roce_qp_first_psn(const struct rnic_qp *qp);
void roce_qp_set_first_psn(struct rnic_qp *qp, uint32_t psn);
const struct cc *roce_qp_cc(const struct rnic_qp *qp);
/** Requester: bytes acknowledged and bytes sent so far, in full packets. */
void roce_qp_progress(const struct rnic_qp *qp, uint64_t *acked_bytes, uint64_t *sent_bytes);

#ifdef __cplusplus
}
#endif
#endif
