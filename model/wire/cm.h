/* SPDX-License-Identifier: GPL-2.0-only */
/** Connection management datagrams: 256-byte MADs of class 7 that travel as UD SENDs between the QPs 1 of two nodes (IBTA vol. 1
 *  13.4.3 the common header, 12.6 the messages). Pure functions. */
#ifndef RNICSIM_WIRE_CM_H
#define RNICSIM_WIRE_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WIRE_MAD_BYTES 256
#define WIRE_CM_QPN 1
#define WIRE_CM_QKEY UINT32_C(0x80010000)   /* the well-known Q_Key of QP 1 (IBTA vol. 1 10.2.5) */
#define WIRE_CM_PRIVATE_MAX 224
#define WIRE_CM_ARI_BYTES 72

/** Attribute IDs, IBTA vol. 1 table 99. */
enum wire_cm_kind { CM_REQ = 0x10, CM_MRA, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP };
/** Reasons of a REJ that ours gives or heeds, IBTA vol. 1 table 107. */
enum wire_cm_reason { CM_REJ_NO_QP = 1, CM_REJ_NO_RESOURCES = 3, CM_REJ_TIMEOUT = 4, CM_REJ_UNSUPPORTED = 5, CM_REJ_INVALID_COMM_ID = 6,
    CM_REJ_INVALID_SERVICE = 8, CM_REJ_INVALID_TRANSPORT = 9, CM_REJ_INVALID_MTU = 26, CM_REJ_CONSUMER = 28 };
/** "no QP available"; "reason N" of table 107 that has no name here is "other". */
const char *wire_cm_reason_name(unsigned reason);

/** A path of a REQ. */
struct wire_cm_path {
    uint16_t local_lid, remote_lid;         /* 0xffff where there are no LIDs, as over Ethernet */
    uint8_t  local_gid[16], remote_gid[16]; /* an IPv4 address is ::ffff:a.b.c.d */
    uint32_t flow_label;                    /* 20 bits */
    uint8_t  rate, traffic_class, hop_limit, sl, subnet_local, ack_timeout; /* ack_timeout: 5 bits, 4.096 us * 2^t */
};

struct wire_cm_req {
    uint64_t service_id, ca_guid;
    uint32_t qkey, qpn, psn;                /* the sender's; 24 bits but the Q_Key */
    uint32_t local_eecn, remote_eecn;
    uint8_t  responder_resources, initiator_depth; /* READs and atomics that the sender takes, and that it would like to keep outstanding */
    uint8_t  remote_response_timeout, local_response_timeout; /* 5 bits: 4.096 us * 2^t in which the receiver, the sender answers a MAD */
    uint8_t  service_type;                  /* 0 RC, 1 UC */
    uint8_t  flow_control, retry_cnt, rnr_retry, max_cm_retries;
    uint8_t  mtu;                           /* 1..5: 256..4096 */
    uint8_t  rdc, srq, extended_transport;
    uint16_t pkey;
    struct wire_cm_path path[2];            /* primary, alternate */
};
struct wire_cm_rep {
    uint64_t ca_guid;
    uint32_t qkey, qpn, psn, eecn;
    uint8_t  responder_resources, initiator_depth;
    uint8_t  target_ack_delay, failover, flow_control, rnr_retry, srq;
};
struct wire_cm_rej { uint8_t rejected; uint8_t info_len; uint16_t reason; uint8_t ari[WIRE_CM_ARI_BYTES]; }; /* rejected: 0 REQ, 1 REP, 2 other */
struct wire_cm_mra { uint8_t answered, service_timeout; };
struct wire_cm_dreq { uint32_t qpn; };      /* of the receiver's QP */

/** One message. */
struct wire_cm {
    uint8_t  kind;                          /* enum wire_cm_kind */
    uint64_t transaction;
    uint32_t local_id, remote_id;           /* communication IDs; remote_id is not in a REQ */
    union {
        struct wire_cm_req req;
        struct wire_cm_rep rep;
        struct wire_cm_rej rej;
        struct wire_cm_mra mra;
        struct wire_cm_dreq dreq;
    } u;
    uint8_t  private_data[WIRE_CM_PRIVATE_MAX]; /* wire_cm_private_bytes(kind) of it count */
};

/** "REQ"; NULL for what is no message of ours. */
const char *wire_cm_name(unsigned kind);
/** Room for private data in a message of this kind: 92 in a REQ, 196 in a REP, 224 in RTU and DREP, 148 in a REJ, 220 in a DREQ, 222 in
 *  an MRA; 0 for others. */
size_t wire_cm_private_bytes(unsigned kind);

/** Encode a message of one of the seven kinds; reserved bits are 0, fields are cut to their width. */
void wire_cm_encode(const struct wire_cm *m, uint8_t out[WIRE_MAD_BYTES]);
/** false: not 256 bytes, not base version 1, class 7, class version 2, method Send, or of no kind above. Reserved bits are not looked at. */
bool wire_cm_decode(const uint8_t *in, size_t len, struct wire_cm *m);

/** Path MTU code to bytes and back: 1..5 and 256..4096; 0 for others. */
uint32_t wire_cm_mtu_bytes(unsigned code);
unsigned wire_cm_mtu_code(uint32_t bytes);
/** ::ffff:a.b.c.d of an IPv4 address in host order. */
void wire_cm_gid_of_ipv4(uint32_t addr, uint8_t gid[16]);

#ifdef __cplusplus
}
#endif
#endif
