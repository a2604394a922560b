/* SPDX-License-Identifier: GPL-2.0-only */
/** A packet with parsed headers. It carries everything its receiver learns and nothing more: no pointer into
 *  the sender's state. Bytes exist only at a boundary (codec.h), and decode(encode(p)) equals p.
 *
 *  Layout: line 0 is all that links and switches touch, line 1 the transport header, lines 2-3 the payload.
 */
#ifndef RNICSIM_WIRE_PKT_H
#define RNICSIM_WIRE_PKT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of a link that are no frame: preamble and start delimiter 8, inter-frame gap 12. frame_len below counts
 *  from the destination MAC through the FCS, at least 64. */
#define PKT_PREAMBLE_BYTES 8
#define PKT_IFG_BYTES 12
#define PKT_FRAME_MIN_BYTES 64
#define PKT_VXLAN_BYTES 50      /* outer IPv4, UDP and VXLAN headers, and the inner Ethernet header */

/** PKT_RAW is an IPv4 packet of no transport of ours: encoded with IP protocol 253 (for experiments, RFC 3692), the payload
 *  following the IP header, no ports. */
enum pkt_kind { PKT_ROCE, PKT_TCP, PKT_PFC, PKT_RAW };

enum pkt_flag {
    PKT_F_CORRUPT = 0x01, /* a bit error on the way: the FCS check will drop it */
    PKT_F_VLAN    = 0x02, /* carries an 802.1Q tag with pcp */
    PKT_F_IPV6    = 0x04, /* addresses are in struct wire_l3 (codec.h); simulations use IPv4 */
    PKT_F_INT     = 0x10, /* RoCE: carries telemetry, to port WIRE_ROCE_INT_PORT */
    PKT_F_OWNS    = 0x40, /* a chunk is CHUNK_BYTES: what frees the payload need not look at the others */
    PKT_F_VXLAN   = 0x20, /* is carried in VXLAN (RFC 7348) between its own addresses: ttl, dscp and ecn are those of the outer header */
    PKT_F_RETX    = 0x08  /* sender's own count of retransmissions; not on the wire, not read by a receiver */
};

/* RoCEv2: opcodes as on the wire, wire.md. */
struct pkt_roce {
    uint8_t  opcode;
    uint8_t  se, m, pad, tver, fecn, becn, ack_req;
    uint16_t pkey;
    uint8_t  syndrome;       /* AETH */
    uint8_t  resv8a;         /* reserved low 7 bits of the BTH's byte 8 as received; 0 when sent by us */
    uint32_t dqpn, psn;      /* 24 bits */
    uint32_t msn;            /* AETH, 24 bits */
    uint32_t imm_or_rkey;    /* ImmDt or IETH, host order */
    uint8_t  resv6;          /* reserved low 6 bits of the BTH's byte 4 as received; 0 when sent by us */
    uint8_t  resv_deth;      /* DETH's reserved byte, likewise */
    union {
        struct { uint64_t va; uint32_t rkey, len, irn_sn, irn_offset; } reth; /* irn_: IRN's SENDs too */
        struct { uint64_t va, swap_add, compare; uint32_t rkey, irn_sn; } atomic;
        struct { uint32_t psn; } irn_sack;
        struct { uint64_t orig; } atomic_ack;
        struct { uint32_t qkey, sqpn; } deth;
    } x;
};

enum pkt_tcp_flag { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32, TCP_ECE = 64, TCP_CWR = 128 };

#define PKT_TCP_SACK_MAX 4
struct pkt_tcp {
    uint32_t seq, ack;
    uint16_t window;         /* as on the wire, unscaled */
    uint16_t urgent;
    uint8_t  flags;          /* enum pkt_tcp_flag */
    uint8_t  opt;            /* which options are present: enum pkt_tcp_opt */
    uint8_t  wscale;
    uint8_t  nsack;          /* 0..4 */
    uint16_t mss;
    uint16_t opt_len;        /* bytes of options on the wire, a multiple of 4 (layout: codec.h) */
    uint32_t ts_val, ts_ecr;
    struct { uint32_t from, to; } sack[PKT_TCP_SACK_MAX];
};
enum pkt_tcp_opt { TCP_OPT_MSS = 1, TCP_OPT_WSCALE = 2, TCP_OPT_SACK_PERM = 4, TCP_OPT_TS = 8, TCP_OPT_SACK = 16 };

struct pkt_pfc {
    uint16_t class_vector;   /* bit i: quanta[i] is to be heeded */
    uint16_t quanta[8];      /* 512 bit times of the link each; 0 resumes */
    uint8_t  link_wide;      /* the older PAUSE of IEEE 802.3 annex 31B, whose time is quanta[0]; class_vector is 0 then */
};

/** A run of payload bytes. */
enum pkt_chunk_kind {
    CHUNK_NONE = 0,
    CHUNK_PATTERN,  /* byte i is pkt_pattern_byte(seed, off + i) */
    CHUNK_LITERAL,  /* up to 24 bytes here */
    CHUNK_BYTES,    /* malloc'ed buffer owned by the packet */
    CHUNK_MPA_TAIL  /* the end of an FPDU that lies whole in this packet: len - 4 zero pad bytes, then CRC32c over the
                       `span` payload bytes before this chunk and the pad, least significant byte first; or, with
                       crc_off, four zero bytes in the CRC field */
};

#define PKT_LITERAL_MAX 24
struct pkt_chunk {
    uint8_t  kind;           /* enum pkt_chunk_kind */
    uint8_t  crc_off;        /* MPA_TAIL */
    uint16_t resv;
    uint32_t len;
    union {
        struct { uint64_t seed, off; } pattern;
        uint8_t  literal[PKT_LITERAL_MAX];
        uint8_t *bytes;
        uint32_t span;
    } u;
};

#define PKT_CHUNK_MAX 4

/** In-band telemetry between UDP header and BTH, 42 bytes as in HPCC (SIGCOMM'19, figure 7): a count of the switches that have told
 *  (4 bits) and an identifier of the path (12 bits, the exclusive or of the switches'), then a word a switch, laid out by
 *  telemetry.h. The sender makes room for PKT_INT_HOPS; words not yet written are zero. */
#define PKT_INT_HOPS 5
#define PKT_INT_BYTES (2 + 8 * PKT_INT_HOPS)
struct pkt_int { uint16_t path_id; uint8_t nhops, resv[5]; uint64_t hop[PKT_INT_HOPS]; };

struct pkt {
    /* line 0 */
    struct pkt *next;        /* whoever holds the packet */
    int64_t  stamp_ps;       /* the holder's scratch */
    uint32_t src, dst;       /* IPv4 addresses in host order; in simulations 10.0.0.0/8 + node id + 1 */
    uint32_t flow_hash;      /* pkt_flow_hash() of the 5-tuple, set by the sender */
    uint16_t frame_len;      /* pkt_set_len() */
    uint16_t payload_len;    /* bytes in chunks (RoCE: without pad) */
    uint16_t sport, dport;
    uint16_t ip_id;
    uint8_t  kind;           /* enum pkt_kind */
    uint8_t  flags;          /* enum pkt_flag */
    uint8_t  dscp, ecn;      /* ecn: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE */
    uint8_t  ttl, pcp;
    uint8_t  prio;           /* scratch: the holder's priority queue */
    uint8_t  nchunks;
    uint16_t in_port;        /* scratch: where it entered this node */
    uint32_t charged;        /* scratch: buffer bytes it is charged for here */
    uint32_t tag;            /* scratch */
    /* line 1 */
    union {
        struct pkt_roce roce;
        struct pkt_tcp  tcp;
        struct pkt_pfc  pfc;
    } __attribute__((aligned(64)));
    /* lines 2-3; with PKT_F_INT only two chunks, and telemetry in the others' place */
    union {
        struct pkt_chunk chunk[PKT_CHUNK_MAX];
        struct { struct pkt_chunk room[2]; struct pkt_int telemetry; };
    };
};
static_assert(sizeof(struct pkt_chunk) == 32, "two chunks a cache line");
static_assert(sizeof(struct pkt) == 256, "four cache lines");

#define PKT_ECT(p) ((p)->ecn != 0)

/** Simulated nodes' IPv4 addresses: 10.0.0.1 for node 0 and so on, up to 2^24 - 2 nodes. */
static inline uint32_t pkt_addr_of_node(uint32_t node) { return UINT32_C(0x0a000001) + node; }
static inline uint32_t pkt_node_of_addr(uint32_t addr) { return addr - UINT32_C(0x0a000001); }

/** The content of pattern payloads: a pure function. seed names a memory region (or a stream), off the place in it; word
 *  i holds the bytes of [8 i, 8 i + 8), the lowest first. */
static inline uint64_t pkt_pattern_word(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + i * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}
static inline uint8_t pkt_pattern_byte(uint64_t seed, uint64_t off)
{
    return (uint8_t)(pkt_pattern_word(seed, off >> 3) >> 8 * (off & 7));
}

/** Hash of (src, dst, protocol, sport, dport), what ECMP sees. */
static inline uint32_t pkt_flow_hash(uint32_t src, uint32_t dst, uint8_t proto, uint16_t sport, uint16_t dport)
{
    uint64_t z = ((uint64_t)src << 32 | dst) ^ ((uint64_t)proto << 56 | (uint64_t)sport << 16 | dport) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

/** Bytes of TCP options on the wire in our layout (codec.h) for the options that t->opt and t->nsack announce: a multiple of
 *  4. More than 40 cannot be sent: with timestamps three SACK blocks are the most. */
uint32_t pkt_tcp_opt_bytes(const struct pkt_tcp *t);

/** Header bytes between the Ethernet header and the payload and after the payload, FCS excluded, for this packet's
 *  kind, opcode and options: IP + UDP + BTH + extended headers + pad + ICRC, or IP + TCP + options (opt_len if it is
 *  set, else our layout's), or the PFC body of 20, or the IP header of a raw packet. */
uint32_t pkt_overhead_bytes(const struct pkt *p);

/** Set frame_len from kind, headers, options and payload_len: Ethernet 14 (+4 VLAN), pkt_overhead_bytes, payload,
 *  FCS 4, at least 64. RoCE's pad field is set to -payload_len mod 4, TCP's opt_len to pkt_tcp_opt_bytes(). */
void pkt_set_len(struct pkt *p);

/** Make room for telemetry in a RoCE packet that has no payload yet. */
void pkt_add_telemetry(struct pkt *p);

/** Append payload chunks; they add to payload_len. Return false and change nothing when too few chunk slots are left or
 *  payload_len would pass 65535; an empty run is no chunk and true. */
bool pkt_add_pattern(struct pkt *p, uint32_t len, uint64_t seed, uint64_t off);
bool pkt_add_literal(struct pkt *p, const void *bytes, uint32_t len);          /* splits over slots if > 24 */
bool pkt_add_bytes(struct pkt *p, const void *bytes, uint32_t len);            /* copies into a buffer of its own */
bool pkt_add_mpa_tail(struct pkt *p, uint32_t pad, uint32_t span, bool crc_off);

/** Copy payload bytes [from, from + len) out, generating what is symbolic. */
void pkt_payload_read(const struct pkt *p, uint32_t from, uint32_t len, uint8_t *out);
/** Make dst a copy of src, headers and payload, with buffers of its own; dst->next is NULL. What dst held is overwritten, not
 *  freed. Aborts when memory is exhausted. */
void pkt_copy(struct pkt *dst, const struct pkt *src);
/** Free the buffers that the packet owns; the packet itself goes back to its pool by its holder. */
void pkt_release_payload(struct pkt *p);
/** Equal in everything that is on the wire, payload compared as bytes. Holders' scratch, flow_hash, PKT_F_CORRUPT and
 *  PKT_F_RETX are not; pcp is where a tag is. */
bool pkt_equal(const struct pkt *a, const struct pkt *b);

#ifdef __cplusplus
}
#endif
#endif
