/* SPDX-License-Identifier: GPL-2.0-only */
/** What a packet script may set beside the transports' own parameters. */
#ifndef RNICSIM_HELPER_SCRIPT_PARAMS_H
#define RNICSIM_HELPER_SCRIPT_PARAMS_H

#include "../model/sim/param.h"
#include "../model/sim/sim.h"

#define SCRIPT_PEER_TCP "auto|manual"
#define SCRIPT_PARAMS(X) \
    X(tolerance_ps, TIME, 0, 0, SIM_PS_PER_S, NULL, "how far from its time an expected packet or completion may come", "exact: the time is virtual") \
    X(patience_ps, TIME, 3600 * SIM_PS_PER_S, 0, 1000000 * SIM_PS_PER_S, NULL, "how long a line with the time * is waited for", "an hour, more than any timer") \
    X(wire_rate_bps, RATE, 0, 0, INT64_C(1600000000000), NULL, "rate of our endpoint's port; 0: packets leave at once", "0 keeps scripts' times plain") \
    X(isn, COUNT, 1000, 0, UINT32_MAX, NULL, "TCP: our initial sequence number", "any; near 2^32 tests the wrap") \
    X(peer_isn, COUNT, 5000, 0, UINT32_MAX, NULL, "TCP: the peer's initial sequence number", "any") \
    X(peer_window, COUNT, 65535, 0, 65535, NULL, "TCP: window field of the peer's segments that do not name one", "the largest") \
    X(peer_mss, BYTES, 1460, 64, 65000, NULL, "iWARP: segment size that the peer's TCP announces and sends", "MTU 1500") \
    X(peer_tcp, ENUM, 0, 0, 1, SCRIPT_PEER_TCP, "iWARP: the peer's TCP shakes hands, reassembles and acknowledges by itself, or the script does it", "scripts of MPA and above") \
    X(peer_rtt_ps, TIME, 10 * SIM_PS_PER_US, 0, SIM_PS_PER_S, NULL, "round trip to the peer: of a handshake, and of the acknowledgements of iWARP's automatic peer", "a rack's") \
    X(psn, COUNT, 100, 0, 16777215, NULL, "RoCE: our first PSN", "any; near 2^24 tests the wrap") \
    X(peer_psn, COUNT, 7000, 0, 16777215, NULL, "RoCE: the peer's first PSN", "any") \
    X(peer_mtu, BYTES, 0, 0, 4096, NULL, "RoCE: the peer's path MTU; 0: as ours", "as ours") \
    X(peer_ird, COUNT, 0, 0, 255, NULL, "RoCE: READs and atomics that the peer takes at a time; 0: not known", "not known") \
    X(cm, BOOL, 0, 0, 1, NULL, "RoCE: the QP is connected by management datagrams (connect, listen); off: from the start", "scripts of the transport") \
    X(cm_timeout, COUNT, 20, 0, 31, NULL, "RoCE: our connection manager waits 4.096 us * 2^this for an answer", "Linux: 20 (4.3 s)") \
    X(cm_retries, COUNT, 15, 0, 15, NULL, "RoCE: and repeats so often", "Linux: 15") \
    X(ecn, BOOL, 0, 0, 1, NULL, "TCP: congestion control that is not ECN-capable by itself (reno, cubic) is, as RFC 3168 has it", "off: as a transport without ecn") \
    X(read, BOOL, 1, 0, 1, NULL, "TCP: the application reads at once what comes; off: only when the script says read", "as a waiting application")

struct script_params { PARAM_FIELDS(SCRIPT_PARAMS) };
extern const struct param_table script_params_table;

#endif
