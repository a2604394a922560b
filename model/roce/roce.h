/* SPDX-License-Identifier: GPL-2.0-only */
/** RoCEv2 reliable connection under the verbs: requester, responder, retry policy. IBTA vol. 1 chapter 9, annex A17. */
#ifndef RNICSIM_ROCE_ROCE_H
#define RNICSIM_ROCE_ROCE_H

#include "../cc/cc.h"
#include "../rnic/verbs.h"
#include "roce_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An RC QP in INIT; NULL if parameters are out of range or do not fit (roce_params_check), or memory or QPs are exhausted. params and cc_params are kept by reference and const. link_bps: the NIC's line rate (the host port's rate in a
 *  simulation). id names its random streams. The QP is dev's and freed with it. */
struct rnic_qp *roce_qp_new(struct rnic_dev *dev, struct rnic_pd *pd, struct rnic_cq *send_cq, struct rnic_cq *recv_cq,
                            const struct roce_params *params, const struct cc_ops *cc, const void *cc_params,
                            int64_t link_bps, uint32_t id, uint64_t seed) SIM_MUST_CHECK;

/** What no single parameter's range can say: the path MTU is one of five. 0, or SIM_ERR_PARAM with one sentence in err. */
int roce_params_check(const struct roce_params *params, char *err, size_t errlen);

/** path_mtu_bytes 0: as our own; ttl 0: 64; base_rtt_ps 0: not known; ird: READs and atomics that the peer takes at a time, 0: as many as
 *  our ord. */
struct roce_peer { uint32_t local_addr, remote_addr, remote_qpn, remote_psn; uint32_t path_mtu_bytes; uint8_t prio, dscp, ttl; int64_t base_rtt_ps; uint32_t ird; };
/** INIT to RTS with what a connection manager would have exchanged; path MTU is the smaller of both sides'. */
int roce_qp_connect(struct rnic_qp *qp, const struct roce_peer *peer);
/** The PSN this QP will start sending at (a pure function of seed and id unless set). */
uint32_t roce_qp_first_psn(const struct rnic_qp *qp);
void roce_qp_set_first_psn(struct rnic_qp *qp, uint32_t psn);
const struct cc *roce_qp_cc(const struct rnic_qp *qp);

#ifdef __cplusplus
}
#endif
#endif
