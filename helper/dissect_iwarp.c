/* SPDX-License-Identifier: GPL-2.0-only */
#include "dissect_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { QN_SEND, QN_READ, QN_TERMINATE, QN_ATOMIC, QN_COUNT };

/* What RFC 5040 figure 4 and RFC 7306 figure 3 fix for each opcode; payload -1: any. */
static const struct { bool known, tagged; uint8_t qn; int payload; } opcode_form[16] = {
    [RDMAP_WRITE] = { true, true, 0, -1 },             [RDMAP_READ_REQUEST] = { true, false, QN_READ, RDMAP_READ_REQUEST_BYTES },
    [RDMAP_READ_RESPONSE] = { true, true, 0, -1 },     [RDMAP_SEND] = { true, false, QN_SEND, -1 },
    [RDMAP_SEND_INV] = { true, false, QN_SEND, -1 },   [RDMAP_SEND_SE] = { true, false, QN_SEND, -1 },
    [RDMAP_SEND_SE_INV] = { true, false, QN_SEND, -1 }, [RDMAP_TERMINATE] = { true, false, QN_TERMINATE, -1 },
    [RDMAP_IMMEDIATE] = { true, false, QN_SEND, 8 },   [RDMAP_IMMEDIATE_SE] = { true, false, QN_SEND, 8 },
    [RDMAP_ATOMIC_REQUEST] = { true, false, QN_READ, RDMAP_ATOMIC_REQUEST_BYTES },
    [RDMAP_ATOMIC_RESPONSE] = { true, false, QN_ATOMIC, RDMAP_ATOMIC_RESPONSE_BYTES },
};

static void print_start(struct dissect *d, const struct mpa_start *m)
{
    fprintf(d->out, " | MPA %s rev %u%s%s%s, private data %u B", m->reply ? "Reply" : "Request", m->revision,
            m->flags & MPA_F_MARKERS ? ", markers wanted" : "", m->flags & MPA_F_CRC ? ", CRC" : "", m->flags & MPA_F_REJECT ? ", REJECT" : "",
            m->pd_len);
    if (m->flags & MPA_F_ENHANCED)
        fprintf(d->out, ", IRD %u ORD %u%s%s%s%s", m->ird, m->ord, m->p2p_a ? ", peer-to-peer" : "", m->rtr_send ? ", RTR by Send" : "",
                m->rtr_write ? ", RTR by Write" : "", m->rtr_read ? ", RTR by Read" : "");
}

/* RFC 6581 section 9: of the RTR types that a peer-to-peer request offers, the reply picks one. */
static void check_rtr(struct dissect *d, const struct mpa_start *request, const struct mpa_start *reply)
{
    if (!(request->flags & reply->flags & MPA_F_ENHANCED) || !request->p2p_a || !reply->p2p_a || reply->flags & MPA_F_REJECT)
        return;
    unsigned offered = (unsigned)(request->rtr_send << 2 | request->rtr_write << 1 | request->rtr_read);
    unsigned chosen = (unsigned)(reply->rtr_send << 2 | reply->rtr_write << 1 | reply->rtr_read);
    if (chosen != 1 && chosen != 2 && chosen != 4)
        dissect_wrong(d, "MPA Reply does not choose exactly one RTR type");
    else if (!(chosen & offered))
        dissect_wrong(d, "MPA Reply chooses an RTR type that was not offered");
}

static void broken(struct dissect *d, struct iwarp_dir *self, const char *why)
{
    self->state = IWARP_BROKEN;
    dissect_wrong(d, "%s", why);
}

static void start(struct dissect *d, struct iwarp_dir *self, struct iwarp_dir *peer, const uint8_t *bytes, size_t len, bool peer_silent)
{
    size_t used;
    enum mpa_start_status s = mpa_start_decode(bytes, len, &self->start, &used);
    bool meant = (len >= 7 && !memcmp(bytes, "MPA ID ", 7)) || peer->state == IWARP_FULL;
    switch (s) {
    case MPA_START_MORE:
        return;
    case MPA_START_OK:
        break;
    case MPA_START_BAD_KEY:
        if (meant)
            broken(d, self, "MPA start-up: wrong key");
        else
            self->state = IWARP_NOT_MPA;
        return;
    case MPA_START_BAD_LENGTH:   broken(d, self, "MPA start-up: more than 512 bytes of private data"); return;
    case MPA_START_BAD_REVISION: broken(d, self, "MPA start-up: unknown revision"); return;
    case MPA_START_BAD_ENHANCED: broken(d, self, "MPA start-up: no room for IRD and ORD in the private data"); return;
    }
    print_start(d, &self->start);
    if (self->start.reply && peer_silent) {
        broken(d, self, "MPA start-up: the key of a Reply where a Request is due");
        return;
    }
    if (peer->state == IWARP_FULL && self->start.reply == peer->start.reply) {
        broken(d, self, self->start.reply ? "MPA start-up: Reply on both sides" : "MPA start-up: Request on both sides");
        return;
    }
    self->state = IWARP_FULL;
    self->parsed = self->full = used;
    if (peer->state == IWARP_FULL)
        check_rtr(d, self->start.reply ? &peer->start : &self->start, self->start.reply ? &self->start : &peer->start);
    if (self->start.reply && self->start.flags & MPA_F_REJECT)
        self->state = peer->state = IWARP_REJECTED;
}

/* siw on little-endian hosts sends the control word's bits in reverse order within each byte's fields: nibbles swapped, M D R in
 * the low bits. Nobody who follows RFC 5040 sends reserved bits set, so it can be told. */
static bool siw_form(const uint8_t *b, size_t len)
{
    return len > 4 && !(b[2] & 0xe0) && (b[2] & 7);
}

static void terminate(struct dissect *d, const uint8_t *b, size_t len, const struct iwarp_dir *peer)
{
    struct rdmap_terminate t;
    uint8_t mended[4 + 2 + DDP_UNTAGGED_BYTES + RDMAP_READ_REQUEST_BYTES];
    bool siw = siw_form(b, len);
    if (len < 4) {
        dissect_wrong(d, "RDMAP Terminate shorter than its control word");
        return;
    }
    size_t n = len < sizeof mended ? len : sizeof mended;
    memcpy(mended, b, n);
    const char *text = rdmap_terminate_text(b[0] >> 4, b[0] & 15, b[1]), *turned = rdmap_terminate_text(b[0] & 15, b[0] >> 4, b[1]);
    if (siw || (!text && turned)) {
        mended[0] = (uint8_t)(b[0] << 4 | b[0] >> 4);
        mended[2] = (uint8_t)((b[2] & 1) << 7 | (b[2] & 2) << 5 | (b[2] & 4) << 3);
        text = turned;
        siw = true;
    }
    bool whole = rdmap_terminate_decode(mended, n, &t);
    fprintf(d->out, ": %u/%u/%u %s%s", mended[0] >> 4, mended[0] & 15, mended[1], text ? text : "undefined error",
            siw ? " (bits in siw's order)" : "");
    if (!siw && len == 4 && turned && turned != text) /* without headers the two orders cannot be told apart */
        fprintf(d->out, " (or, in siw's order, %s)", turned);
    if (!whole && !siw)
        dissect_wrong(d, "RDMAP Terminate without the headers that it announces");
    if (!text)
        dissect_wrong(d, "RDMAP Terminate with an undefined error");
    struct ddp_hdr h;
    if (whole && t.d && ddp_hdr_decode(t.ddp_hdr, t.ddp_hdr_len, &h))
        fprintf(d->out, ", about a %s of %u B", rdmap_opcode_name(h.opcode) ? rdmap_opcode_name(h.opcode) : "segment", t.ddp_seg_len);
    if ((mended[0] == 0x02 || (len == 4 && mended[0] == 0x20)) && mended[1] == 0x06 && peer->extended_frame)
        dissect_wrong(d, "opcode %u (%s) of frame %u refused: unexpected opcode", peer->extended_opcode,
                      rdmap_opcode_name(peer->extended_opcode), peer->extended_frame);
}

static void body(struct dissect *d, const struct ddp_hdr *h, const uint8_t *b, size_t len, const struct iwarp_dir *peer)
{
    struct rdmap_read_request r;
    struct rdmap_atomic_request a;
    switch (h->opcode) {
    case RDMAP_READ_REQUEST:
        rdmap_read_request_decode(b, &r);
        fprintf(d->out, ": %u B from 0x%08x:0x%" PRIx64 " to 0x%08x:0x%" PRIx64, r.size, r.src_stag, r.src_to, r.sink_stag, r.sink_to);
        break;
    case RDMAP_ATOMIC_REQUEST:
        rdmap_atomic_request_decode(b, &a);
        if (a.aop != RDMAP_FETCH_ADD && a.aop != RDMAP_CMP_SWAP)
            dissect_wrong(d, "RDMAP atomic operation %u is reserved", a.aop);
        fprintf(d->out, ": %s id %u at 0x%08x:0x%" PRIx64, a.aop == RDMAP_FETCH_ADD ? "FetchAdd" : "CmpSwap", a.request_id, a.stag, a.to);
        break;
    case RDMAP_TERMINATE:
        terminate(d, b, len, peer);
        break;
    default:
        break;
    }
}

/* MSN and MO of an untagged segment against what is due, RFC 5041 section 4.3. */
static void check_order(struct dissect *d, struct iwarp_dir *self, const struct ddp_hdr *h, size_t payload)
{
    if (h->qn == QN_TERMINATE) { /* one a stream at most; its number is always the first */
        if (h->msn != 1 || h->mo)
            dissect_wrong(d, "DDP MSN %u MO %u in the Terminate queue", h->msn, h->mo);
        return;
    }
    uint32_t *msn = &self->msn[h->qn], *mo = &self->mo[h->qn];
    if (h->msn != *msn + 1)
        dissect_wrong(d, "DDP MSN %u in queue %u where %u is due", h->msn, h->qn, *msn + 1);
    else if (h->mo != *mo)
        dissect_wrong(d, "DDP MO %u of MSN %u where %u is due", h->mo, h->msn, *mo);
    *mo = h->last ? 0 : h->mo + (uint32_t)payload;
    *msn = h->last ? h->msn : h->msn - 1;
}

static void segment(struct dissect *d, struct iwarp_dir *self, const struct iwarp_dir *peer, const uint8_t *ulpdu, size_t len, bool trusted)
{
    struct ddp_hdr h;
    if (!ddp_hdr_decode(ulpdu, len, &h)) {
        dissect_wrong(d, "DDP segment of %zu bytes: no room for its header", len);
        return;
    }
    size_t n = ddp_hdr_bytes(&h), payload = len - n;
    const char *name = rdmap_opcode_name(h.opcode);
    fprintf(d->out, " %s", name ? name : "opcode ?");
    if (h.tagged)
        fprintf(d->out, " STag 0x%08x TO 0x%" PRIx64, h.stag, h.to);
    else
        fprintf(d->out, " QN %u MSN %u MO %u", h.qn, h.msn, h.mo);
    if (h.opcode == RDMAP_SEND_INV || h.opcode == RDMAP_SEND_SE_INV)
        fprintf(d->out, " inv 0x%08x", h.stag);
    fprintf(d->out, " %zu B%s%s", payload, h.last ? " last" : "", h.resv || h.resv2 ? " (reserved bits set)" : "");
    if (!trusted)
        return;
    if (h.ddp_version != 1) {
        dissect_wrong(d, "DDP version %u", h.ddp_version);
    } else if (h.rdmap_version != 1) {
        dissect_wrong(d, "RDMAP version %u", h.rdmap_version);
    } else if (!name) {
        dissect_wrong(d, "RDMAP opcode %u is undefined", h.opcode);
    } else if (opcode_form[h.opcode].tagged != h.tagged) {
        dissect_wrong(d, "RDMAP %s in %s segment", name, h.tagged ? "a tagged" : "an untagged");
    } else if (!h.tagged && h.qn != opcode_form[h.opcode].qn) {
        dissect_wrong(d, "RDMAP %s in queue %u", name, h.qn);
    } else if (opcode_form[h.opcode].payload >= 0 && payload != (size_t)opcode_form[h.opcode].payload) {
        dissect_wrong(d, "RDMAP %s of %zu bytes, not %d", name, payload, opcode_form[h.opcode].payload);
    } else {
        if (!h.tagged)
            check_order(d, self, &h, payload);
        if (h.opcode >= RDMAP_IMMEDIATE) {
            self->extended_frame = d->frame;
            self->extended_opcode = h.opcode;
        }
        body(d, &h, ulpdu + n, payload, peer);
    }
}

static bool fpdu(struct dissect *d, struct iwarp_dir *self, const struct iwarp_dir *peer, const uint8_t *bytes, size_t len, uint8_t *ulpdu)
{
    bool crc = (self->start.flags | peer->start.flags) & MPA_F_CRC, markers = peer->start.flags & MPA_F_MARKERS;
    struct mpa_fpdu f;
    enum mpa_fpdu_status s = mpa_fpdu_check(bytes + self->parsed, len - self->parsed, crc, markers, self->parsed - self->full, &f, ulpdu);
    if (s == MPA_FPDU_MORE)
        return false;
    fprintf(d->out, " | FPDU %u B", f.wire_len);
    if (s == MPA_FPDU_BAD_LENGTH) {
        self->state = IWARP_BROKEN;
        dissect_wrong(d, "MPA ULPDU length %u", f.ulpdu_len);
        return false;
    }
    self->parsed += f.wire_len;
    if (s == MPA_FPDU_BAD_MARKER)
        dissect_wrong(d, "MPA marker does not point to its FPDU's length");
    else if (s == MPA_FPDU_BAD_CRC)
        dissect_wrong(d, "MPA CRC32c");
    else
        fprintf(d->out, " CRC %s:", crc ? "ok" : "off");
    segment(d, self, peer, ulpdu, f.ulpdu_len, s == MPA_FPDU_OK);
    return true;
}

void dissect_iwarp(struct dissect *d, struct iwarp_dir *self, struct iwarp_dir *peer, const uint8_t *bytes, size_t len, bool peer_silent)
{
    if (self->state == IWARP_START && len)
        start(d, self, peer, bytes, len, peer_silent);
    if (self->state != IWARP_FULL || peer->state != IWARP_FULL || self->parsed >= len)
        return;
    uint8_t *ulpdu = malloc(UINT16_MAX + 1);
    if (!ulpdu)
        abort();
    while (self->state == IWARP_FULL && fpdu(d, self, peer, bytes, len, ulpdu))
        ;
    free(ulpdu);
}
