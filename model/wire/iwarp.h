/* SPDX-License-Identifier: GPL-2.0-only */
/** MPA (RFC 5044, 6581), DDP (RFC 5041) and RDMAP (RFC 5040, 7306) headers as bytes. Pure functions. */
#ifndef RNICSIM_WIRE_IWARP_H
#define RNICSIM_WIRE_IWARP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rdmap_opcode { RDMAP_WRITE = 0, RDMAP_READ_REQUEST, RDMAP_READ_RESPONSE, RDMAP_SEND, RDMAP_SEND_INV, RDMAP_SEND_SE,
    RDMAP_SEND_SE_INV, RDMAP_TERMINATE, RDMAP_IMMEDIATE, RDMAP_IMMEDIATE_SE, RDMAP_ATOMIC_REQUEST, RDMAP_ATOMIC_RESPONSE };
const char *rdmap_opcode_name(unsigned opcode); /* NULL if undefined */

/** DDP segment header with the RDMAP control byte. */
struct ddp_hdr {
    uint8_t  tagged, last, ddp_version, rdmap_version, opcode;
    uint8_t  resv, resv2;       /* reserved bits of the two control bytes, in their places (0x3c, 0x30); 0 when sent by us */
    uint32_t stag;              /* tagged: STag; untagged: STag to invalidate, or the reserved word */
    uint64_t to;                /* tagged */
    uint32_t qn, msn, mo;       /* untagged */
};
#define DDP_TAGGED_BYTES 14
#define DDP_UNTAGGED_BYTES 18
/** Its length for h->tagged. */
size_t ddp_hdr_bytes(const struct ddp_hdr *h);
size_t ddp_hdr_encode(const struct ddp_hdr *h, uint8_t *out);
/** false when len is too short for the header its first byte announces. */
bool   ddp_hdr_decode(const uint8_t *in, size_t len, struct ddp_hdr *h);

struct rdmap_read_request { uint32_t sink_stag; uint64_t sink_to; uint32_t size; uint32_t src_stag; uint64_t src_to; };
#define RDMAP_READ_REQUEST_BYTES 28
void rdmap_read_request_encode(const struct rdmap_read_request *r, uint8_t *out);
void rdmap_read_request_decode(const uint8_t *in, struct rdmap_read_request *r);

/** RFC 7306 section 5.2.1: 52 bytes; FetchAdd adds add_swap, its carries cut at add_swap_mask's bits; CmpSwap compares under
 *  compare_mask and swaps under add_swap_mask. */
enum rdmap_atomic_op { RDMAP_FETCH_ADD = 0, RDMAP_CMP_SWAP = 2 };
struct rdmap_atomic_request { uint8_t aop; uint32_t request_id, stag; uint64_t to, add_swap, add_swap_mask, compare, compare_mask; };
#define RDMAP_ATOMIC_REQUEST_BYTES 52
void rdmap_atomic_request_encode(const struct rdmap_atomic_request *r, uint8_t *out);
void rdmap_atomic_request_decode(const uint8_t *in, struct rdmap_atomic_request *r);
/** RFC 7306 section 5.2.2. */
struct rdmap_atomic_response { uint32_t request_id; uint64_t original; };
#define RDMAP_ATOMIC_RESPONSE_BYTES 12
void rdmap_atomic_response_encode(const struct rdmap_atomic_response *r, uint8_t *out);
void rdmap_atomic_response_decode(const uint8_t *in, struct rdmap_atomic_response *r);

struct rdmap_terminate {
    uint8_t  layer, etype, code;
    uint8_t  m, d, r;           /* which parts follow */
    uint16_t ddp_seg_len;
    uint8_t  ddp_hdr_len;       /* 14 or 18 */
    uint8_t  ddp_hdr[18], rdmap_hdr[28];
};
size_t rdmap_terminate_encode(const struct rdmap_terminate *t, uint8_t *out); /* at most 4 + 2 + 18 + 28 bytes */
/** false when the parts that its bits announce are not there. */
bool   rdmap_terminate_decode(const uint8_t *in, size_t len, struct rdmap_terminate *t);
/** What an error code means; NULL if no RFC defines it. */
const char *rdmap_terminate_text(unsigned layer, unsigned etype, unsigned code);

enum mpa_flag { MPA_F_MARKERS = 0x80, MPA_F_CRC = 0x40, MPA_F_REJECT = 0x20, MPA_F_ENHANCED = 0x10 };
#define MPA_START_BYTES 20
#define MPA_PRIVATE_MAX 512
struct mpa_start {
    uint8_t  reply;             /* 0 request, 1 reply */
    uint8_t  flags, revision;
    uint16_t pd_len;            /* all private data, the 4 enhanced bytes included */
    /* enhanced (revision 2 with S): */
    uint8_t  p2p_a, rtr_send, rtr_write, rtr_read; /* A B C D */
    uint16_t ird, ord;          /* 14 bits */
};
enum mpa_start_status { MPA_START_OK, MPA_START_MORE, MPA_START_BAD_KEY, MPA_START_BAD_LENGTH, MPA_START_BAD_REVISION, MPA_START_BAD_ENHANCED };
/** Encode the frame with its private data (the enhanced words first when S is set); returns bytes written. */
size_t mpa_start_encode(const struct mpa_start *m, const uint8_t *user_pd, size_t user_pd_len, uint8_t *out);
/** Decode from a prefix of the stream; MPA_START_MORE until complete. *used is the frame's length when OK; a wrong key
 *  is reported as soon as a byte differs. */
enum mpa_start_status mpa_start_decode(const uint8_t *in, size_t len, struct mpa_start *m, size_t *used);

/** Pad bytes of a ULPDU of len bytes: the FPDU is 2 + len + pad + 4. */
static inline uint32_t mpa_pad(uint32_t ulpdu_len) { return (0u - (ulpdu_len + 2)) & 3; }
/** Largest ULPDU for an effective MSS (after TCP options), RFC 5044 section 4.2 and appendix A.1. Never below 128. */
uint32_t mpa_mulpdu(uint32_t emss, bool markers);

/** Markers (RFC 5044 4.3): 4 of every 512 stream bytes from the start of full operation, so 508 bytes of FPDU follow each. Where byte
 *  `plain` of the FPDUs counted without markers begins (with the marker before it, if one stands there), and back: the last plain
 *  byte's place that begins at or before `marked`. */
#define MPA_MARKER_EVERY 512
#define MPA_MARKER_BYTES 4
static inline uint64_t mpa_marked(uint64_t plain) { return plain + MPA_MARKER_BYTES * ((plain + 507) / 508); }
static inline uint64_t mpa_unmarked(uint64_t marked)
{
    uint64_t in = marked % MPA_MARKER_EVERY;
    return marked / MPA_MARKER_EVERY * 508 + (in > MPA_MARKER_BYTES ? in - MPA_MARKER_BYTES : 0);
}
/** Copy an FPDU of n bytes that begins at plain offset `plain` to out with the markers that fall before and into it; returns
 *  mpa_marked(plain + n) - mpa_marked(plain), what was written. plain and n are multiples of 4. */
uint32_t mpa_put_markers(const uint8_t *fpdu, uint32_t n, uint64_t plain, uint8_t *out);

/** Lengths, pads, markers and CRC of one FPDU in a byte buffer (used by dissectors and checks; marker_off is the stream
 *  offset of in[0] from the first byte of full operation, ignored without markers). in[0] is the FPDU's first byte, or the
 *  marker's before it where one is due. wire_len is known from MPA_FPDU_MORE on once the length field is there, else 0;
 *  ulpdu, without markers, is filled on OK, BAD_CRC and BAD_MARKER. */
enum mpa_fpdu_status { MPA_FPDU_OK, MPA_FPDU_MORE, MPA_FPDU_BAD_CRC, MPA_FPDU_BAD_LENGTH, MPA_FPDU_BAD_MARKER };
struct mpa_fpdu { uint32_t ulpdu_len, wire_len; uint8_t crc_zero; };
enum mpa_fpdu_status mpa_fpdu_check(const uint8_t *in, size_t len, bool crc, bool markers, uint64_t marker_off, struct mpa_fpdu *f, uint8_t *ulpdu /* 65536, may be NULL */);

#ifdef __cplusplus
}
#endif
#endif
