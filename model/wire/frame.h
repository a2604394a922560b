/* SPDX-License-Identifier: GPL-2.0-only */
/** What encoder and decoder share: numbers of protocols, lengths of headers, the Internet checksum. */
#ifndef RNICSIM_WIRE_FRAME_H
#define RNICSIM_WIRE_FRAME_H

#include "codec.h"

enum {
    FRAME_ETHERTYPE_IPV4 = 0x0800, FRAME_ETHERTYPE_VLAN = 0x8100, FRAME_ETHERTYPE_IPV6 = 0x86dd,
    FRAME_ETHERTYPE_MAC_CONTROL = 0x8808, FRAME_PAUSE_OPCODE = 0x0001, FRAME_PFC_OPCODE = 0x0101,
    FRAME_PROTO_TCP = 6, FRAME_PROTO_UDP = 17, FRAME_PROTO_EXPERIMENT = 253,
    FRAME_ETHERNET_BYTES = 14, FRAME_VLAN_BYTES = 4, FRAME_FCS_BYTES = 4, FRAME_IPV4_BYTES = 20, FRAME_IPV6_BYTES = 40,
    FRAME_UDP_BYTES = 8, FRAME_TCP_BYTES = 20, FRAME_TCP_OPT_MAX = 40, FRAME_PAUSE_BYTES = 4, FRAME_PFC_BYTES = 20, FRAME_BODY_MIN = 60,
    FRAME_VXLAN_PORT = 4789, FRAME_VXLAN_BYTES = 8
};

/** Sum of 16-bit words for RFC 1071's checksum, an odd last byte padded with zero; feed on only after even lengths. */
static inline uint32_t frame_sum(uint32_t sum, const uint8_t *b, size_t len)
{
    for (; len >= 2; len -= 2, b += 2)
        sum += (uint32_t)b[0] << 8 | b[1];
    if (len)
        sum += (uint32_t)b[0] << 8;
    return sum;
}
static inline uint16_t frame_fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}
/** Checksum of a TCP or UDP segment with its pseudo header, to be written where the segment holds zero; over a segment that
 *  holds its checksum it gives 0. ip is the encoded IP header. */
uint16_t frame_l4_checksum(const uint8_t *ip, bool ipv6, uint8_t proto, const uint8_t *segment, size_t len);
/** TCP options in our layout; returns their length, at most 60. */
size_t frame_tcp_options(const struct pkt_tcp *t, uint8_t out[60]);
/** What VXLAN (RFC 7348) puts between the outer Ethernet header and an inner IP packet of ip_len bytes, which has FRAME_INNER_TTL and frame_inner_ecn(). */
void frame_vxlan(const struct pkt *p, size_t ip_len, uint8_t out[PKT_VXLAN_BYTES]);
/** The inner header's TTL, which no router sees, and its ECN field: a congestion mark is in the outer one only (RFC 6040 4.1). */
#define FRAME_INNER_TTL 64
static inline uint8_t frame_inner_ecn(const struct pkt *p) { return p->ecn == 3 ? 2 : p->ecn; }

#endif
