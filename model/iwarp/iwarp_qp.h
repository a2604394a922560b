/* SPDX-License-Identifier: GPL-2.0-only */
/** iWARP under the verbs: RDMAP (RFC 5040) over DDP (RFC 5041) over MPA (RFC 5044, 6581) over the TCP offload engine. */
#ifndef RNICSIM_IWARP_IWARP_QP_H
#define RNICSIM_IWARP_IWARP_QP_H

#include "../rnic/verbs.h"
#include "../tcp/tcp.h"
#include "iwarp_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An RC-like QP in INIT. Its endpoint is the QP; it feeds its TCP connection itself. Parameters are kept by reference and const. */
struct rnic_qp *iwarp_qp_new(struct rnic_dev *dev, struct rnic_pd *pd, struct rnic_cq *send_cq, struct rnic_cq *recv_cq,
                             const struct iwarp_params *params, const struct tcp_params *tcp, const struct cc_ops *cc, const void *cc_params,
                             int64_t link_bps, uint32_t id, uint64_t seed) SIM_MUST_CHECK;

struct iwarp_peer { struct tcp_addr addr; uint8_t prio, dscp, ttl; };
/** Start the TCP handshake, then MPA start-up as initiator; `up` is called with 0 when the QP is in RTS, or a negative status. */
int iwarp_qp_connect(struct rnic_qp *qp, const struct iwarp_peer *peer, void (*up)(void *ctx, struct rnic_qp *qp, int status), void *ctx);
/** Wait for the peer's SYN and MPA request as responder. */
int iwarp_qp_accept(struct rnic_qp *qp, const struct iwarp_peer *peer, void (*up)(void *ctx, struct rnic_qp *qp, int status), void *ctx);
/** Private data to send with the MPA request or reply, copied; before connect or accept. SIM_ERR_PARAM if longer than 512 bytes (508 at
 *  revision 2). */
int iwarp_qp_set_private_data(struct rnic_qp *qp, const void *bytes, uint32_t len);
/** What the peer sent with its start-up frame; NULL and 0 before it has come. Good while the QP lives. */
const uint8_t *iwarp_qp_peer_private_data(const struct rnic_qp *qp, uint32_t *len);
/** The application is done: what has been posted goes and its Reads are answered, then the stream ends (RFC 5040 6.2, LLP graceful termination) and the QP goes
 *  to ERROR. SIM_ERR_STATE: not in full operation. */
int iwarp_qp_close(struct rnic_qp *qp);
/** The responder will reject the request that comes (before accept's request arrives): reply with R, then close. */
void iwarp_qp_set_reject(struct rnic_qp *qp);
/** What start-up agreed on; zero before. */
struct iwarp_agreed { uint8_t up, revision, crc, rtr /* enum iwarp_rtr */, tx_markers, rx_markers; uint16_t ird, ord, peer_ird, peer_ord; };
struct iwarp_agreed iwarp_qp_agreed(const struct rnic_qp *qp);
/** The last Terminate sent or received: layer << 16 | etype << 8 | code, or -1. */
int32_t iwarp_qp_terminate_sent(const struct rnic_qp *qp);
int32_t iwarp_qp_terminate_received(const struct rnic_qp *qp);
/** The error that this side met first and what it is called, as above: one it sent a Terminate for, or one that no Terminate can tell (RFC
 *  5044 section 8: 1, the connection was lost; 4, a bad start-up frame). -1: none. */
int32_t iwarp_qp_local_error(const struct rnic_qp *qp);
/** Something broke on this side: the peer is told by the Terminate that names the scope, if it can be told (RFC 5040 7.1 case 1, RFC 6581 9.3). */
enum iwarp_scope { IWARP_BROKEN_RDMAP, IWARP_BROKEN_STREAM, IWARP_BROKEN_GLOBAL, IWARP_BROKEN_DDP, IWARP_BROKEN_MPA };
void iwarp_qp_break(struct rnic_qp *qp, enum iwarp_scope scope);
/** The path's MTU has changed: FPDUs not given to TCP yet are cut anew for the new MULPDU (RFC 5044 4.5). */
void iwarp_qp_path_mss(struct rnic_qp *qp, uint32_t mss);
/** Counts of one QP. early: FPDUs placed before those ahead of them had come; cut: FPDUs that TCP sent in pieces. */
struct iwarp_stats { uint64_t crc_errors, marker_errors, fpdus_in, fpdus_symbolic, fpdus_early, fpdus_out, fpdus_cut, fpdus_packed; uint32_t reads_peak; };
const struct iwarp_stats *iwarp_qp_stats(const struct rnic_qp *qp);
/** NULL before connect or accept. */
const struct tcp_conn *iwarp_qp_tcp(const struct rnic_qp *qp);

#ifdef __cplusplus
}
#endif
#endif
