/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of a RoCEv2 QP. Both ends of a connection are given their own. */
#ifndef RNICSIM_ROCE_ROCE_PARAMS_H
#define RNICSIM_ROCE_ROCE_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROCE_SERVICES "rc|uc|ud"
#define ROCE_RETRIES "go-back-n|go-back-0|irn|selective"
#define ROCE_NAK_RULES "once|rewind"
#define ROCE_ACK_REQUESTS "message|drain"
enum roce_service { ROCE_SERVICE_RC, ROCE_SERVICE_UC, ROCE_SERVICE_UD };
enum roce_retry_kind { ROCE_GO_BACK_N, ROCE_GO_BACK_0, ROCE_IRN_RETRY, ROCE_SELECTIVE };
enum roce_nak_rule { ROCE_NAK_ONCE, ROCE_NAK_REWIND };
#define ROCE_CNP_RULES "window|spacing|owed"
enum roce_cnp_rule { ROCE_CNP_WINDOW, ROCE_CNP_SPACING, ROCE_CNP_OWED };
enum roce_ack_request { ROCE_ACK_REQ_MESSAGE, ROCE_ACK_REQ_DRAIN };

#define ROCE_PARAMS(X) \
    X(service, ENUM, 0, 0, 2, ROCE_SERVICES, \
      "rc: reliable connection; uc: unreliable connection (SEND and WRITE, a message with a gap is lost); ud: unreliable datagram (SENDs of one packet); scenarios take rc", \
      "IBTA vol. 1 9.7 (RC), 9.8.2 (UC), 9.8.3 (UD)") \
    X(mtu_bytes, BYTES, 1024, 256, 4096, NULL, "path MTU: payload of a full packet; 256, 512, 1024, 2048 or 4096", \
      "IBTA vol. 1 9.7; 1024 fits a 1500-byte Ethernet, the common default") \
    X(sq_depth, COUNT, 128, 1, 65536, NULL, "send WQEs that fit", "perftest's tx-depth 128") \
    X(rq_depth, COUNT, 512, 1, 65536, NULL, "receive WQEs that fit", "perftest's rx-depth 512") \
    X(retry, ENUM, 0, 0, 3, ROCE_RETRIES, \
      "loss recovery, the same at both ends. go-back-n: from the lost packet on; go-back-0: the whole message; irn: selective repeat with SACKs, its own " \
      "timeouts and headers; selective: the packet that a NAK names, on the standard's wire", \
      "go-back-n: IBTA vol. 1 9.7.5; go-back-0: early firmware (Guo et al., SIGCOMM'16); irn: SIGCOMM'18; selective: what NVIDIA calls selective repeat " \
      "(ROCE_ACCL selective_repeat_forced_en); how its packets look is not published") \
    X(irn_rto_low_ps, TIME, 100000000, 1000, INT64_C(1000000000000000), NULL, "irn: timeout with at most irn-rto-low-packets in flight", "IRN (SIGCOMM'18) 4.1: 100 us") \
    X(irn_rto_high_ps, TIME, 320000000, 1000, INT64_C(1000000000000000), NULL, "irn: timeout otherwise", "IRN (SIGCOMM'18) 4.1: 320 us") \
    X(irn_rto_low_packets, COUNT, 3, 0, 4194304, NULL, "irn: packets in flight up to which the low timeout holds", "IRN (SIGCOMM'18) 4.1: N = 3") \
    X(ooo_placement, BOOL, 0, 0, 1, NULL, \
      "request packets that come out of order are kept, the bytes of WRITEs placed at once, completions in order; irn and selective keep them anyway", \
      "NVIDIA's out-of-order data placement, ConnectX-5 and later; off by default there") \
    X(reorder_ps, TIME, 0, 0, INT64_C(1000000000000), NULL, \
      "where packets out of order are kept: how long a gap is open before it counts as a loss; 0: at once", \
      "0: networks that keep order; sprayed packets need about the spread of the paths' delays") \
    X(nak_rule, ENUM, 0, 0, 1, ROCE_NAK_RULES, \
      "once: one NAK until the expected PSN arrives; rewind: again when the arriving PSNs step back, that is when a resent packet was lost too (for wires that keep order)", \
      "once: IBTA vol. 1 9.7.5.2; rewind: guess, for responders that recover a lost resend without a timeout") \
    X(local_ack_timeout, COUNT, 14, 0, 31, NULL, "local ACK timeout t: 4.096 us * 2^t after the last progress; 0: never", \
      "IBTA vol. 1 9.7.6.1.3; 14 (67 ms) is a common default") \
    X(ack_timeout_spread, NUMBER, 0, 0, 3, NULL, \
      "each wait for the local ACK timeout is drawn anew between once and 1 + this times as long; 0: exact, and QPs that lost together repeat together", \
      "IBTA vol. 1 9.7.6.1.3 lets a timer last one to four times as long; exact is what analysis and peers' simulators assume") \
    X(retry_cnt, COUNT, 7, 0, 7, NULL, "retries after timeouts and sequence NAKs without progress", "IBTA vol. 1 9.7.5.2.8 (3 bits); 7 is a common default") \
    X(rnr_retry, COUNT, 7, 0, 7, NULL, "retries after RNR NAKs without progress; 7: without end", "IBTA vol. 1 9.7.5.2.8; 7 is a common default") \
    X(rnr_timer, COUNT, 12, 0, 31, NULL, "the RNR NAK timer code that this end sends when it has no receive", "IBTA vol. 1 table 45; 12 (0.64 ms) is a common default") \
    X(ack_request, ENUM, 0, 0, 1, ROCE_ACK_REQUESTS, \
      "where AckReq is set besides every ack-request-packets and where the window closes: each message's last packet, or only where nothing further may go", \
      "message: rxe; drain: guess, for cards that coalesce over messages") \
    X(ack_request_packets, COUNT, 64, 0, 1000000, NULL, "AckReq also on each such packet; 0: not", "guess; mlx5 asks every 2^log_ack_req_freq packets") \
    X(ack_packets, COUNT, 16, 0, 1000000, NULL, "the responder acknowledges each such packet unasked; 0: only when asked", "guess; 1 in HPCC's ns-3") \
    X(ack_bytes, BYTES, 0, 0, INT64_C(1000000000000), NULL, "the responder acknowledges after so many payload bytes unasked; 0: not", "guess") \
    X(ord, COUNT, 16, 1, 128, NULL, "READs and atomics that this end keeps outstanding (max_rd_atomic)", "16: max_qp_rd_atom of common cards") \
    X(ird, COUNT, 16, 1, 128, NULL, "READs and atomics that this end takes together (max_dest_rd_atomic); more are refused", "16: max_qp_init_rd_atom of common cards") \
    X(window_packets, COUNT, 0, 0, 4194304, NULL, "packets in flight at most; 0: no limit but the PSN space", "IBTA sets none but 2^23") \
    X(window_bytes, BYTES, 0, 0, INT64_C(1000000000000), NULL, "bytes in flight at most, in full packets; 0: no limit", "0: IBTA; the BDP: cap of IRN (SIGCOMM'18) and window of HPCC (SIGCOMM'19)") \
    X(credits, BOOL, 0, 0, 1, NULL, \
      "acknowledgements tell how many receives are posted, and the peer's SENDs beyond them go a packet at a time", \
      "IBTA vol. 1 9.7.7.2 end-to-end flow control; off in rxe and over RoCE in general") \
    X(cnp, BOOL, 1, 0, 1, NULL, "packets marked CE are answered with CNPs", "RoCEv2 annex A17.9.3; rxe sends none") \
    X(cnp_rule, ENUM, 0, 0, 2, ROCE_CNP_RULES, \
      "window: the first marked packet in each interval of the QP's own clock brings a CNP; spacing: none within the interval after a CNP, and marks meanwhile are forgotten; owed: as spacing, but marks meanwhile bring a CNP at the interval's end", \
      "window: what the fluid models of DCQCN's authors say (SIGCOMM'15 section 5, CoNEXT'16); spacing: cards' min_time_between_cnps; owed: DCQCN paper section 3, figure 6") \
    X(cnp_interval_ps, TIME, 50000000, 0, INT64_C(1000000000000), NULL, "interval of cnp-rule, for each QP apart", "DCQCN paper (SIGCOMM'15): N = 50 us; min_time_between_cnps: 4 us") \
    X(control_prio, COUNT, 8, 0, 8, NULL, \
      "NIC priority of ACKs, NAKs and CNPs where the host has separate-control; 8: as the data", "guess: one class; vendors often give CNPs priority 6") \
    X(control_dscp, COUNT, 64, 0, 64, NULL, "DSCP of ACKs, NAKs and CNPs; 64: as the data", "guess: one class; a ConnectX-4 Lx sends CNPs with 48") \
    X(cnp_prio, COUNT, 8, 0, 8, NULL, "NIC priority of CNPs where the host has separate-control; 8: as control-prio", "8: one class; cards' cnp_802p_prio: 6") \
    X(cnp_dscp, COUNT, 64, 0, 64, NULL, "DSCP of CNPs; 64: as control-dscp", "64: one class; cards' cnp_dscp: 48") \
    X(rate_limit_bps, RATE, 0, 0, INT64_C(10000000000000), NULL, "a QP sends data no faster than this, whatever congestion control says; 0: no limit", \
      "ibv_modify_qp_rate_limit's rate_limit, 0 by default") \
    X(window_bdp, NUMBER, 0, 0, 1000, NULL, "bytes in flight at most, in bandwidth-delay products of the unloaded path, headers counted; 0: no limit", \
      "0: IBTA; 1: the BDP cap of IRN (SIGCOMM'18) and the static window of HPCC (SIGCOMM'19)") \
    X(weight, COUNT, 1, 1, 64, NULL, "packets that a QP sends in its turn: the NIC asks the QPs of a priority round robin, weighted by this", \
      "1: plain round robin; cards weigh virtual functions and traffic classes (ETS), QPs are told apart by rate limits") \
    X(pace_burst_packets, COUNT, 1, 0, 64, NULL, "packets by which a paced QP may catch up after the port was busy: over any time it sends no more than its rate and this many and one", \
      "guess; keeps two paced QPs at their rates on one port; ibv_modify_qp_rate_limit's max_burst_sz in packets")

struct roce_params { PARAM_FIELDS(ROCE_PARAMS) };
extern const struct param_table roce_params_table;

#ifdef __cplusplus
}
#endif
#endif
