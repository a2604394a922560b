/* SPDX-License-Identifier: GPL-2.0-only */
/** Frames as bytes: encoders, decoders, checks. Pure functions; formats as in IEEE 802.3/802.1Q/802.1Qbb, RFC 791,
 *  8200, 768, 9293, 7323, 2018, and the InfiniBand specification's RoCEv2 annex (A17).
 *
 *  Our layout of TCP options, the one that pkt_tcp_opt_bytes() counts: MSS; timestamps after SACK-permitted if that is present,
 *  else after two NOPs; SACK-permitted without timestamps after two NOPs; NOP and window scale; two NOPs and SACK blocks. So
 *  each option begins where its words are aligned, and a SYN looks as Linux's does. Any order is read.
 */
#ifndef RNICSIM_WIRE_CODEC_H
#define RNICSIM_WIRE_CODEC_H

#include "pkt.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What simulations derive from node ids and captures carry freely, and what is kept only so that a decoded frame encodes
 *  to the same bytes. All zero but for the addresses is a plain frame. */
struct wire_l3 {
    uint8_t  dmac[6], smac[6];
    uint16_t vlan_id;        /* and DEI in bit 12; pcp is in the packet */
    uint8_t  src6[16], dst6[16];
    uint32_t flow_label;
    uint8_t  ip_df;          /* IPv4 don't fragment */
    uint8_t  tcp_resv;       /* the four reserved bits after the data offset */
    uint8_t  ip_opt_len, ip_opt[40];   /* IPv4 options */
    uint8_t  tcp_opt_len, tcp_opt[40]; /* TCP options where they are not in our layout; tcp_opt_len 0: ours */
    uint8_t  roce_pad[3];    /* pad bytes, which others may not zero */
    uint8_t  have_ip;        /* decoded: there is an IP header, and addresses in the packet */
    uint8_t  unpadded;       /* shorter than 60 bytes: captured before its sender's port padded it */
    uint8_t  trailer_len, trailer[64]; /* bytes after the network packet: padding, or an FCS that was captured */
    uint16_t udp_checksum;   /* as received; 0 when sent by us. Not 0: computed when encoding */
};

enum wire_status {
    WIRE_OK = 0,
    WIRE_TRUNCATED, WIRE_UNKNOWN_ETHERTYPE, WIRE_UNKNOWN_PROTOCOL, WIRE_BAD_IP_HEADER, WIRE_BAD_IP_CHECKSUM,
    WIRE_FRAGMENT, WIRE_BAD_UDP_LENGTH, WIRE_BAD_UDP_CHECKSUM, WIRE_BAD_TCP_HEADER, WIRE_BAD_TCP_CHECKSUM,
    WIRE_BAD_TCP_OPTION, WIRE_BAD_OPCODE, WIRE_BAD_PAD, WIRE_BAD_ICRC, WIRE_BAD_PFC,
    WIRE_STATUS_COUNT
};
/** A phrase for people: "bad ICRC". */
const char *wire_status_name(enum wire_status s);

#define WIRE_FRAME_MAX 65600

/** Encode a whole frame, destination MAC first, without FCS, padded to 60 bytes; checksums and ICRC filled in.
 *  l3 NULL: MACs 02:00:00 + node id, DF set, IPv4 from p (IPv6, if flagged: fd00:: + the IPv4 address). Returns its length
 *  (frame_len - 4 with l3 NULL); 0 if cap is less or the packet cannot be sent (more than 40 bytes of TCP options). */
size_t wire_encode(const struct pkt *p, const struct wire_l3 *l3, uint8_t *out, size_t cap);

/** Decode a frame without FCS into *p, whatever it held; the caller releases the payload whatever the status. The payload
 *  becomes one chunk, CHUNK_LITERAL or CHUNK_BYTES. Checks every checksum and the ICRC; on a wrong checksum the packet is decoded
 *  all the same and the first fault returned. What is not ours to read becomes PKT_RAW without payload, addresses set if there
 *  are any. frame_len is that on the link (at least 64, a longer trailer not counted), flow_hash that of pkt_flow_hash(); IPv6 addresses are folded to
 *  their last 32 bits in p. l3 may be NULL. */
enum wire_status wire_decode(const uint8_t *frame, size_t len, struct pkt *p, struct wire_l3 *l3);

/** CRC32c (RFC 3720 B.4): "123456789" gives 0xe3069283. Start with 0, feed on. Hardware-assisted where available;
 *  same value everywhere. */
uint32_t wire_crc32c(uint32_t crc, const void *bytes, size_t len);
/** The same without help from the processor. */
uint32_t wire_crc32c_portable(uint32_t crc, const void *bytes, size_t len);
/** The Ethernet FCS and ICRC polynomial, zlib's form. */
uint32_t wire_crc32(uint32_t crc, const void *bytes, size_t len);
/** ICRC of an encoded IPv4 or IPv6 packet, IP header through payload and pad (the ICRC itself not included). Goes on the wire
 *  least significant byte first. */
uint32_t wire_icrc(const uint8_t *ip, size_t len);

/** The same of a packet with telemetry, which switches change on the way: its 42 bytes after the UDP header are left out, as a sink
 *  would strip them; all else is as it is on the wire. */
uint32_t wire_icrc_telemetry(const uint8_t *ip, size_t len);

/** One RoCE opcode, from the table in roce_opcode.h. */
struct wire_roce_op {
    const char *name;        /* "RC SEND_FIRST" */
    uint32_t    flags;       /* enum wire_roce_op_flag */
    uint8_t     header_bytes;/* BTH and extended headers */
};
enum wire_roce_op_flag {
    ROCE_OP_REQUEST = 1, ROCE_OP_FIRST = 2, ROCE_OP_LAST = 4, ROCE_OP_PAYLOAD = 8, ROCE_OP_SEND = 0x10, ROCE_OP_WRITE = 0x20,
    ROCE_OP_READ = 0x40, ROCE_OP_ATOMIC = 0x80, ROCE_OP_RETH = 0x100, ROCE_OP_AETH = 0x200, ROCE_OP_IMM = 0x400, ROCE_OP_IETH = 0x800,
    ROCE_OP_ACK = 0x1000, ROCE_OP_DETH = 0x2000, ROCE_OP_ATOMICETH = 0x4000, ROCE_OP_ATOMICACK = 0x8000,
    ROCE_OP_IRN_SN = 0x10000, ROCE_OP_IRN_OFFSET = 0x20000, ROCE_OP_IRN_SACK = 0x40000 /* headers of IRN, roce_opcode.h */
};
/** ONLY is FIRST | LAST. NULL name for undefined opcodes. */
extern const struct wire_roce_op wire_roce_op[256];
enum { /* the names of opcodes */
    ROCE_SEND_FIRST = 0x00, ROCE_SEND_MIDDLE, ROCE_SEND_LAST, ROCE_SEND_LAST_IMM, ROCE_SEND_ONLY, ROCE_SEND_ONLY_IMM,
    ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, ROCE_WRITE_LAST, ROCE_WRITE_LAST_IMM, ROCE_WRITE_ONLY, ROCE_WRITE_ONLY_IMM,
    ROCE_READ_REQUEST, ROCE_READ_RESP_FIRST, ROCE_READ_RESP_MIDDLE, ROCE_READ_RESP_LAST, ROCE_READ_RESP_ONLY,
    ROCE_ACK, ROCE_ATOMIC_ACK, ROCE_CMP_SWAP, ROCE_FETCH_ADD, ROCE_SEND_LAST_INV = 0x16, ROCE_SEND_ONLY_INV = 0x17,
    ROCE_UC = 0x20,          /* added to SEND and WRITE */
    ROCE_UD_SEND_ONLY = 0x64, ROCE_UD_SEND_ONLY_IMM, ROCE_CNP = 0x81,
    ROCE_IRN = 0xc0,         /* added to RC's; and of its own: */
    ROCE_IRN_NACK = 0xd5, ROCE_IRN_READ_ACK = 0xd8, ROCE_IRN_READ_NACK
};

#define WIRE_ROCE_PORT 4791
/** UDP destination of RoCE packets that carry telemetry before the BTH. No number is assigned to it: this one is of the range for
 *  private use (RFC 6335). */
#define WIRE_ROCE_INT_PORT 54791

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
