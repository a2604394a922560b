/* SPDX-License-Identifier: GPL-2.0-only */
#include "iwarp.h"
#include "bytes.h"

#include <string.h>

/* Control bytes, RFC 5041 section 4.1 and RFC 5040 section 4.1. */
enum { DDP_TAGGED = 0x80, DDP_LAST = 0x40, DDP_RESERVED = 0x3c, DDP_VERSION = 0x03,
       RDMAP_VERSION_SHIFT = 6, RDMAP_RESERVED = 0x30, RDMAP_OPCODE = 0x0f };
enum { TERM_M = 0x80, TERM_D = 0x40, TERM_R = 0x20 };

const char *rdmap_opcode_name(unsigned opcode)
{
    static const char *const names[16] = {
        [RDMAP_WRITE] = "Write", [RDMAP_READ_REQUEST] = "Read Request", [RDMAP_READ_RESPONSE] = "Read Response",
        [RDMAP_SEND] = "Send", [RDMAP_SEND_INV] = "Send Inv", [RDMAP_SEND_SE] = "Send SE", [RDMAP_SEND_SE_INV] = "Send SE+Inv",
        [RDMAP_TERMINATE] = "Terminate", [RDMAP_IMMEDIATE] = "Immediate", [RDMAP_IMMEDIATE_SE] = "Immediate SE",
        [RDMAP_ATOMIC_REQUEST] = "Atomic Request", [RDMAP_ATOMIC_RESPONSE] = "Atomic Response",
    };
    return opcode < 16 ? names[opcode] : NULL;
}

size_t ddp_hdr_bytes(const struct ddp_hdr *h)
{
    return h->tagged ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES;
}

size_t ddp_hdr_encode(const struct ddp_hdr *h, uint8_t *out)
{
    out[0] = (uint8_t)((h->tagged ? DDP_TAGGED : 0) | (h->last ? DDP_LAST : 0) | (h->resv & DDP_RESERVED) | (h->ddp_version & DDP_VERSION));
    out[1] = (uint8_t)(h->rdmap_version << RDMAP_VERSION_SHIFT | (h->resv2 & RDMAP_RESERVED) | (h->opcode & RDMAP_OPCODE));
    wire_put32(out + 2, h->stag);
    if (h->tagged) {
        wire_put64(out + 6, h->to);
        return DDP_TAGGED_BYTES;
    }
    wire_put32(out + 6, h->qn);
    wire_put32(out + 10, h->msn);
    wire_put32(out + 14, h->mo);
    return DDP_UNTAGGED_BYTES;
}

bool ddp_hdr_decode(const uint8_t *in, size_t len, struct ddp_hdr *h)
{
    memset(h, 0, sizeof *h);
    if (!len || len < (in[0] & DDP_TAGGED ? (size_t)DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES))
        return false;
    h->tagged = in[0] >> 7;
    h->last = in[0] >> 6 & 1;
    h->ddp_version = in[0] & DDP_VERSION;
    h->rdmap_version = in[1] >> RDMAP_VERSION_SHIFT;
    h->opcode = in[1] & RDMAP_OPCODE;
    h->resv = in[0] & DDP_RESERVED;
    h->resv2 = in[1] & RDMAP_RESERVED;
    h->stag = wire_get32(in + 2);
    if (h->tagged) {
        h->to = wire_get64(in + 6);
    } else {
        h->qn = wire_get32(in + 6);
        h->msn = wire_get32(in + 10);
        h->mo = wire_get32(in + 14);
    }
    return true;
}

void rdmap_read_request_encode(const struct rdmap_read_request *r, uint8_t *out)
{
    wire_put32(out, r->sink_stag);
    wire_put64(out + 4, r->sink_to);
    wire_put32(out + 12, r->size);
    wire_put32(out + 16, r->src_stag);
    wire_put64(out + 20, r->src_to);
}

void rdmap_read_request_decode(const uint8_t *in, struct rdmap_read_request *r)
{
    r->sink_stag = wire_get32(in);
    r->sink_to = wire_get64(in + 4);
    r->size = wire_get32(in + 12);
    r->src_stag = wire_get32(in + 16);
    r->src_to = wire_get64(in + 20);
}

void rdmap_atomic_request_encode(const struct rdmap_atomic_request *r, uint8_t *out)
{
    wire_put32(out, r->aop & 15u);
    wire_put32(out + 4, r->request_id);
    wire_put32(out + 8, r->stag);
    wire_put64(out + 12, r->to);
    wire_put64(out + 20, r->add_swap);
    wire_put64(out + 28, r->add_swap_mask);
    wire_put64(out + 36, r->compare);
    wire_put64(out + 44, r->compare_mask);
}

void rdmap_atomic_request_decode(const uint8_t *in, struct rdmap_atomic_request *r)
{
    r->aop = in[3] & 15;
    r->request_id = wire_get32(in + 4);
    r->stag = wire_get32(in + 8);
    r->to = wire_get64(in + 12);
    r->add_swap = wire_get64(in + 20);
    r->add_swap_mask = wire_get64(in + 28);
    r->compare = wire_get64(in + 36);
    r->compare_mask = wire_get64(in + 44);
}

void rdmap_atomic_response_encode(const struct rdmap_atomic_response *r, uint8_t *out)
{
    wire_put32(out, r->request_id);
    wire_put64(out + 4, r->original);
}

void rdmap_atomic_response_decode(const uint8_t *in, struct rdmap_atomic_response *r)
{
    r->request_id = wire_get32(in);
    r->original = wire_get64(in + 4);
}

size_t rdmap_terminate_encode(const struct rdmap_terminate *t, uint8_t *out)
{
    uint8_t *b = out + 4;
    out[0] = (uint8_t)(t->layer << 4 | (t->etype & 15));
    out[1] = t->code;
    out[2] = (uint8_t)((t->m ? TERM_M : 0) | (t->d ? TERM_D : 0) | (t->r ? TERM_R : 0));
    out[3] = 0;
    if (t->m || t->d) { /* the length is there whenever a header follows, RFC 5040 section 4.8 */
        wire_put16(b, t->ddp_seg_len);
        b += 2;
    }
    if (t->d) {
        memcpy(b, t->ddp_hdr, t->ddp_hdr_len);
        b += t->ddp_hdr_len;
    }
    if (t->r) {
        memcpy(b, t->rdmap_hdr, sizeof t->rdmap_hdr);
        b += sizeof t->rdmap_hdr;
    }
    return (size_t)(b - out);
}

bool rdmap_terminate_decode(const uint8_t *in, size_t len, struct rdmap_terminate *t)
{
    memset(t, 0, sizeof *t);
    if (len < 4)
        return false;
    t->layer = in[0] >> 4;
    t->etype = in[0] & 15;
    t->code = in[1];
    t->m = (in[2] & TERM_M) != 0;
    t->d = (in[2] & TERM_D) != 0;
    t->r = (in[2] & TERM_R) != 0;
    size_t at = 4;
    if (t->m || t->d) {
        if (len < at + 2)
            return false;
        t->ddp_seg_len = wire_get16(in + at);
        at += 2;
    }
    if (t->d) {
        if (len < at + 1)
            return false;
        t->ddp_hdr_len = in[at] & DDP_TAGGED ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES;
        if (len < at + t->ddp_hdr_len)
            return false;
        memcpy(t->ddp_hdr, in + at, t->ddp_hdr_len);
        at += t->ddp_hdr_len;
    }
    if (t->r) {
        if (len < at + sizeof t->rdmap_hdr)
            return false;
        memcpy(t->rdmap_hdr, in + at, sizeof t->rdmap_hdr);
    }
    return true;
}

struct terminate_row { uint8_t layer, etype; int code; const char *text; };
/* RFC 5040 figure 9, RFC 5041 section 8.2, RFC 5044 section 8 and RFC 6581 section 10; code -1 is any. */
static const struct terminate_row terminate_rows[] = {
    { 0, 0, -1, "RDMAP local catastrophic error" },
    { 0, 1, 0x00, "RDMAP protection: invalid STag" }, { 0, 1, 0x01, "RDMAP protection: base or bounds" },
    { 0, 1, 0x02, "RDMAP protection: access rights" }, { 0, 1, 0x03, "RDMAP protection: STag of another stream" },
    { 0, 1, 0x04, "RDMAP protection: TO wrap" }, { 0, 1, 0x09, "RDMAP protection: STag cannot be invalidated" },
    { 0, 1, 0xff, "RDMAP protection: unspecified" },
    { 0, 2, 0x05, "RDMAP operation: invalid version" }, { 0, 2, 0x06, "RDMAP operation: unexpected opcode" },
    { 0, 2, 0x07, "RDMAP operation: catastrophic, this stream" }, { 0, 2, 0x08, "RDMAP operation: catastrophic, global" },
    { 0, 2, 0x09, "RDMAP operation: STag cannot be invalidated" }, { 0, 2, 0xff, "RDMAP operation: unspecified" },
    { 1, 0, -1, "DDP local catastrophic error" },
    { 1, 1, 0x00, "DDP tagged buffer: invalid STag" }, { 1, 1, 0x01, "DDP tagged buffer: base or bounds" },
    { 1, 1, 0x02, "DDP tagged buffer: STag of another stream" }, { 1, 1, 0x03, "DDP tagged buffer: TO wrap" },
    { 1, 1, 0x04, "DDP tagged buffer: invalid version" },
    { 1, 2, 0x01, "DDP untagged buffer: invalid queue" }, { 1, 2, 0x02, "DDP untagged buffer: no buffer" },
    { 1, 2, 0x03, "DDP untagged buffer: MSN out of range" }, { 1, 2, 0x04, "DDP untagged buffer: invalid offset" },
    { 1, 2, 0x05, "DDP untagged buffer: message too long" }, { 1, 2, 0x06, "DDP untagged buffer: invalid version" },
    { 2, 0, 0x01, "MPA: connection lost" }, { 2, 0, 0x02, "MPA: CRC" }, { 2, 0, 0x03, "MPA: marker and length disagree" },
    { 2, 0, 0x04, "MPA: invalid request or reply frame" }, { 2, 0, 0x05, "MPA: local catastrophic error" },
    { 2, 0, 0x06, "MPA: insufficient IRD" }, { 2, 0, 0x07, "MPA: no common RTR" },
};

const char *rdmap_terminate_text(unsigned layer, unsigned etype, unsigned code)
{
    for (size_t i = 0; i < sizeof terminate_rows / sizeof terminate_rows[0]; i++) {
        const struct terminate_row *r = &terminate_rows[i];
        if (r->layer == layer && r->etype == etype && (r->code < 0 || (unsigned)r->code == code))
            return r->text;
    }
    return NULL;
}
