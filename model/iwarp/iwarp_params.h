/* SPDX-License-Identifier: GPL-2.0-only */
/** What an iWARP connection may be told: MPA options, read depths, queue depths. TCP's own are in tcp_params.h. */
#ifndef RNICSIM_IWARP_IWARP_PARAMS_H
#define RNICSIM_IWARP_IWARP_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IWARP_RTR_NAMES "none|send|write|read|any|write-or-read"
enum iwarp_rtr { IWARP_RTR_NONE, IWARP_RTR_SEND, IWARP_RTR_WRITE, IWARP_RTR_READ, IWARP_RTR_ANY, IWARP_RTR_WRITE_READ };
#define IWARP_COMPLETE_NAMES "sent|acked"
enum iwarp_complete { IWARP_COMPLETE_SENT, IWARP_COMPLETE_ACKED };

#define IWARP_PLACEMENT_NAMES "off|markers|aligned"
enum iwarp_placement { IWARP_PLACEMENT_OFF, IWARP_PLACEMENT_MARKERS, IWARP_PLACEMENT_ALIGNED };

#define IWARP_PARAMS(X) \
    X(crc, BOOL, 1, 0, 1, NULL, "ask for the MPA CRC; it is used if either side asks", "RFC 5044 7.1.1: CRC is the default") \
    X(markers, BOOL, 0, 0, 1, NULL, "ask the peer for MPA markers in what it sends; each side asks for its own direction", "RFC 5044 4.3, 7.1.1; Linux siw and common cards run without") \
    X(mpa_revision, COUNT, 2, 1, 2, NULL, "MPA revision: 1, or 2 with enhanced start-up (IRD, ORD, RTR)", "RFC 6581; Linux siw starts with 2 and falls back by module option") \
    X(rtr, ENUM, 4, 0, 5, IWARP_RTR_NAMES, "ready-to-receive messages offered (initiator) or supported (responder) at revision 2; none: client-server model", "RFC 6581 9.2; Linux siw offers write-or-read") \
    X(ird, COUNT, 32, 0, 16382, NULL, "inbound Read Requests accepted at once", "guess; RNICs take 16 to 128 a QP (siw 128)") \
    X(ord, COUNT, 32, 0, 16382, NULL, "outbound Reads outstanding at once, before the peer's IRD limits it", "guess; as ird") \
    X(sq_depth, COUNT, 1024, 1, 65536, NULL, "send queue entries", "guess; common in storage stacks (128 to 1024)") \
    X(rq_depth, COUNT, 1024, 1, 65536, NULL, "receive queue entries", "guess; as sq-depth") \
    X(complete, ENUM, 0, 0, 1, IWARP_COMPLETE_NAMES, "a Send or Write completes when its last byte has been given to TCP, or when it has been acknowledged", "RFC 5040 5.5 rule 14 asks only for completion at DDP; sent is the least it allows") \
    X(pack, BOOL, 1, 0, 1, NULL, "several small FPDUs may share a segment", "RFC 5044 section 5: a segment may hold a whole number of FPDUs") \
    X(direct_placement, ENUM, 0, 0, 2, IWARP_PLACEMENT_NAMES, "segments that come out of order are placed at once, without reassembly memory: off; markers: where one tells the FPDU's start; aligned: also where a segment begins with an FPDU whose CRC is right", "RFC 5044 section 6 (markers), appendix A.4 (aligned); off: the least a card does") \
    X(immediate, BOOL, 0, 0, 1, NULL, "Immediate Data messages (write with immediate)", "RFC 7306 section 6, optional; Linux siw has none") \
    X(atomics, BOOL, 0, 0, 1, NULL, "atomic operations FetchAdd and CmpSwap", "RFC 7306 section 5, optional; Linux siw has none") \
    X(startup_timeout_ps, TIME, 10e12, 1e6, 1e15, NULL, "MPA start-up must end within this", "guess; RFC 5044 7.1.2 asks for a limit of the implementation's choice")

struct iwarp_params { PARAM_FIELDS(IWARP_PARAMS) };
extern const struct param_table iwarp_params_table;

#ifdef __cplusplus
}
#endif
#endif
