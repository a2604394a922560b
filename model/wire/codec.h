/* SPDX-License-Identifier: GPL-2.0-only */
/** Frames as bytes: encoders, decoders, checks. Pure functions; formats as in IEEE 802.3/802.1Q/802.1Qbb, RFC 791,
 *  8200, 768, 9293, 7323, 2018, and the InfiniBand specification's RoCEv2 annex (A17).
 */
#ifndef RNICSIM_WIRE_CODEC_H
#define RNICSIM_WIRE_CODEC_H

#include "pkt.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What simulations derive from node ids and captures carry freely. */
struct wire_l3 {
    uint8_t  dmac[6], smac[6];
    uint16_t vlan_id;        /* and DEI in bit 12; pcp is in the packet */
    uint8_t  src6[16], dst6[16];
    uint32_t flow_label;
    uint8_t  ip_df;          /* IPv4 don't fragment */
    uint16_t udp_checksum;   /* as received; 0 when sent by us */
};

enum wire_status {
    WIRE_OK = 0,
    WIRE_TRUNCATED, WIRE_UNKNOWN_ETHERTYPE, WIRE_UNKNOWN_PROTOCOL, WIRE_BAD_IP_HEADER, WIRE_BAD_IP_CHECKSUM,
    WIRE_FRAGMENT, WIRE_BAD_UDP_LENGTH, WIRE_BAD_UDP_CHECKSUM, WIRE_BAD_TCP_HEADER, WIRE_BAD_TCP_CHECKSUM,
    WIRE_BAD_TCP_OPTION, WIRE_BAD_OPCODE, WIRE_BAD_PAD, WIRE_BAD_ICRC, WIRE_BAD_PFC
};
const char *wire_status_name(enum wire_status s);

#define WIRE_FRAME_MAX 65600

/** Encode a whole frame, destination MAC first, without FCS, padded to 60 bytes; checksums and ICRC filled in.
 *  l3 NULL: MACs 02:00:00 + node id, DF set for RoCE, IPv4 from p. Returns its length, at most cap
 *  (a frame is at most frame_len - 4). */
size_t wire_encode(const struct pkt *p, const struct wire_l3 *l3, uint8_t *out, size_t cap);

/** Decode a frame without FCS. The payload becomes one CHUNK_BYTES (caller releases) or CHUNK_LITERAL. Checks every
 *  checksum and the ICRC; on a wrong checksum the packet is decoded all the same and the first fault returned.
 *  l3 may be NULL. orig_len: the length on the wire if the capture is cut (else len). */
enum wire_status wire_decode(const uint8_t *frame, size_t len, struct pkt *p, struct wire_l3 *l3);

/** CRC32c (RFC 3720 B.4): "123456789" gives 0xe3069283. Start with 0, feed on. Hardware-assisted where available;
 *  same value everywhere. */
uint32_t wire_crc32c(uint32_t crc, const void *bytes, size_t len);
/** The Ethernet FCS and ICRC polynomial, zlib's form. */
uint32_t wire_crc32(uint32_t crc, const void *bytes, size_t len);
/** ICRC over an encoded IP packet (IP header through payload and pad), in wire order of its value. */
uint32_t wire_icrc(const uint8_t *ip, size_t len);

/** One RoCE opcode, from the table in roce_opcode.h. */
struct wire_roce_op {
    const char *name;        /* "RC SEND_FIRST" */
    uint16_t    flags;       /* enum wire_roce_op_flag */
    uint8_t     header_bytes;/* BTH and extended headers */
};
enum wire_roce_op_flag {
    ROCE_OP_REQUEST = 1, ROCE_OP_FIRST = 2, ROCE_OP_LAST = 4, ROCE_OP_PAYLOAD = 8, ROCE_OP_SEND = 0x10, ROCE_OP_WRITE = 0x20,
    ROCE_OP_READ = 0x40, ROCE_OP_ATOMIC = 0x80, ROCE_OP_RETH = 0x100, ROCE_OP_AETH = 0x200, ROCE_OP_IMM = 0x400, ROCE_OP_IETH = 0x800,
    ROCE_OP_ACK = 0x1000, ROCE_OP_DETH = 0x2000, ROCE_OP_ATOMICETH = 0x4000, ROCE_OP_ATOMICACK = 0x8000
};
/** ONLY is FIRST | LAST. NULL name for undefined opcodes. */
extern const struct wire_roce_op wire_roce_op[256];
enum { /* the names of opcodes; UC and UD share the low five bits */
    ROCE_SEND_FIRST = 0x00, ROCE_SEND_MIDDLE, ROCE_SEND_LAST, ROCE_SEND_LAST_IMM, ROCE_SEND_ONLY, ROCE_SEND_ONLY_IMM,
    ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, ROCE_WRITE_LAST, ROCE_WRITE_LAST_IMM, ROCE_WRITE_ONLY, ROCE_WRITE_ONLY_IMM,
    ROCE_READ_REQUEST, ROCE_READ_RESP_FIRST, ROCE_READ_RESP_MIDDLE, ROCE_READ_RESP_LAST, ROCE_READ_RESP_ONLY,
    ROCE_ACK, ROCE_ATOMIC_ACK, ROCE_CMP_SWAP, ROCE_FETCH_ADD, ROCE_SEND_LAST_INV = 0x16, ROCE_SEND_ONLY_INV = 0x17,
    ROCE_CNP = 0x81
};

#define WIRE_ROCE_PORT 4791

/** a - b of 24-bit serial numbers, in [-2^23, 2^23). */
static inline int32_t wire_psn_diff(uint32_t a, uint32_t b)
{
    uint32_t d = (a - b) & 0xffffff;
    return d < 0x800000 ? (int32_t)d : (int32_t)d - 0x1000000;
}
/** a - b of 32-bit sequence numbers (RFC 9293 3.4). */
static inline int32_t wire_seq_diff(uint32_t a, uint32_t b) { return (int32_t)(a - b); }

#ifdef __cplusplus
}
#endif
#endif
