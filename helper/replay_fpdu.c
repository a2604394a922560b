/* SPDX-License-Identifier: GPL-2.0-only */
/* A side's TCP stream as start-up frame and FPDUs, and two of them compared. How TCP cut them does not count. */
#include "replay_iwarp.h"

#include <stdlib.h>
#include <string.h>

#define QN_TERMINATE 2

static bool read_start(struct replay_script *s, const struct tcp_stream *t)
{
    s->status = t->len ? mpa_start_decode(t->bytes, t->len, &s->start, &s->start_len) : MPA_START_MORE;
    if (s->status != MPA_START_OK) {
        s->start_len = 0;
        return false;
    }
    uint32_t skip = MPA_START_BYTES + (s->start.flags & MPA_F_ENHANCED ? 4 : 0);
    s->private_len = (uint32_t)s->start_len - skip;
    memcpy(s->private_data, t->bytes + skip, s->private_len);
    return true;
}

/* siw on little-endian hosts swaps the halves of the control word's bytes (test/golden/README.md, caveat 1). Four bytes alone may be read both
 * ways: then errors of MPA start-up can only be the first that is said. */
static void read_terminate(struct replay_fpdu *f, bool first)
{
    uint8_t b[4 + 2 + DDP_UNTAGGED_BYTES + RDMAP_READ_REQUEST_BYTES];
    if (!f->headed || f->hdr.tagged || f->hdr.opcode != RDMAP_TERMINATE || f->hdr.qn != QN_TERMINATE || f->payload_len < 4)
        return;
    size_t n = f->payload_len < sizeof b ? f->payload_len : sizeof b;
    memcpy(b, f->payload, n);
    bool sense = rdmap_terminate_text(b[0] >> 4, b[0] & 15, b[1]) != NULL, turned = rdmap_terminate_text(b[0] & 15, b[0] >> 4, b[1]) != NULL;
    bool start_up = b[0] == 0x20 && (b[1] == 4 || b[1] >= 6);
    f->siw = n > 4 ? !(b[2] & 0xe0) && (b[2] & 7) : turned && (!sense || (start_up && !first));
    if (f->siw) {
        b[0] = (uint8_t)(b[0] << 4 | b[0] >> 4);
        b[2] = (uint8_t)((b[2] & 1) << 7 | (b[2] & 2) << 5 | (b[2] & 4) << 3);
    }
    f->terminate = rdmap_terminate_decode(b, n, &f->term);
}

static void add_fpdu(struct replay_script *s, const struct replay_fpdu *f, const uint8_t *ulpdu)
{
    s->fpdu = replay_alloc(realloc(s->fpdu, (s->n + 1) * sizeof *s->fpdu));
    struct replay_fpdu *x = &s->fpdu[s->n++];
    *x = *f;
    x->ulpdu = replay_alloc(malloc(f->ulpdu_len + 1));
    memcpy(x->ulpdu, ulpdu, f->ulpdu_len);
    x->headed = ddp_hdr_decode(x->ulpdu, x->ulpdu_len, &x->hdr);
    if (x->headed) {
        x->payload = x->ulpdu + ddp_hdr_bytes(&x->hdr);
        x->payload_len = x->ulpdu_len - (uint32_t)ddp_hdr_bytes(&x->hdr);
    }
    read_terminate(x, s->n == 1);
}

void replay_script_read(struct replay_script *s, const struct tcp_stream *t, const struct mpa_start *peer)
{
    *s = (struct replay_script){ 0 };
    if (!read_start(s, t) || peer == NULL || (s->start.flags | peer->flags) & MPA_F_REJECT)
        return;
    bool crc = (s->start.flags | peer->flags) & MPA_F_CRC, markers = peer->flags & MPA_F_MARKERS;
    uint8_t *ulpdu = replay_alloc(malloc(UINT16_MAX + 1));
    size_t at = s->start_len;
    while (at < t->len) {
        struct mpa_fpdu m;
        enum mpa_fpdu_status st = mpa_fpdu_check(t->bytes + at, t->len - at, crc, markers, at - s->start_len, &m, ulpdu);
        if (st == MPA_FPDU_MORE || st == MPA_FPDU_BAD_LENGTH)
            break;
        struct replay_fpdu f = { .off = at, .wire_len = m.wire_len, .ulpdu_len = m.ulpdu_len, .good = st == MPA_FPDU_OK };
        add_fpdu(s, &f, ulpdu);
        at += m.wire_len;
    }
    s->rest = t->len - at;
    free(ulpdu);
}

void replay_script_free(struct replay_script *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->fpdu[i].ulpdu);
    free(s->fpdu);
    *s = (struct replay_script){ 0 };
}

uint32_t replay_refused(const struct rdmap_terminate *t, const struct replay_script *peer, uint32_t before)
{
    struct ddp_hdr h;
    if (!t->d || !ddp_hdr_decode(t->ddp_hdr, t->ddp_hdr_len, &h))
        return before ? before - 1 : peer->n;
    for (uint32_t i = 0; i < peer->n; i++) {
        const struct replay_fpdu *f = &peer->fpdu[i];
        if (f->headed && ddp_hdr_bytes(&f->hdr) == t->ddp_hdr_len && !memcmp(f->ulpdu, t->ddp_hdr, t->ddp_hdr_len))
            return i;
        bool read = t->r && f->headed && f->hdr.opcode == RDMAP_READ_REQUEST && f->payload_len == sizeof t->rdmap_hdr;
        if (read && !memcmp(f->payload, t->rdmap_hdr, sizeof t->rdmap_hdr)) /* whatever the quoted MSN: siw puts the size there */
            return i;
    }
    return peer->n;
}

void replay_terminate_by_rfc(struct rdmap_terminate *t, const struct replay_fpdu *f)
{
    bool local = t->layer < 2 && t->etype == 0, headers = t->layer < 2 && !local && f != NULL && f->headed;
    *t = (struct rdmap_terminate){ .layer = t->layer, .etype = t->etype, .code = t->code, .m = headers, .d = headers };
    if (!headers)
        return;
    t->ddp_seg_len = (uint16_t)f->ulpdu_len;
    t->ddp_hdr_len = (uint8_t)ddp_hdr_bytes(&f->hdr);
    memcpy(t->ddp_hdr, f->ulpdu, t->ddp_hdr_len);
    if (t->layer == 0 && t->etype == 1 && f->hdr.opcode == RDMAP_READ_REQUEST && f->payload_len == sizeof t->rdmap_hdr) {
        t->r = 1;
        memcpy(t->rdmap_hdr, f->payload, sizeof t->rdmap_hdr);
    }
}

/* --- comparing --- */

static void differs(struct replay_case *c, uint32_t frame, const char *field, uint64_t want, uint64_t ours, bool hex)
{
    if (want != ours)
        replay_differs_u64(c, frame, field, want, ours, hex);
}

static void bytes_differ(struct replay_case *c, uint32_t frame, const char *field, const uint8_t *want, size_t want_len, const uint8_t *ours, size_t len)
{
    char name[64];
    snprintf(name, sizeof name, "%s length", field);
    differs(c, frame, name, want_len, len, false);
    if (want_len == len && memcmp(want, ours, len))
        replay_differs_bytes(c, frame, field, want, ours, len);
}

static void compare_start(struct replay_case *c, uint32_t frame, const struct replay_script *want, const struct replay_script *ours)
{
    const struct mpa_start *a = &want->start, *b = &ours->start;
    if (want->status != ours->status) {
        static const char *const name[] = { "right", "none or not whole", "of a wrong key", "of a wrong length", "of an unknown revision", "without IRD and ORD" };
        replay_differs(c, frame, "MPA start-up frame", name[want->status], name[ours->status]);
        return;
    }
    if (want->status != MPA_START_OK)
        return;
    c->compared++;
    differs(c, frame, "MPA key: reply", a->reply, b->reply, false);
    differs(c, frame, "MPA flags", a->flags, b->flags, true);
    differs(c, frame, "MPA revision", a->revision, b->revision, false);
    differs(c, frame, "MPA private data length", a->pd_len, b->pd_len, false);
    differs(c, frame, "MPA peer-to-peer flag", a->p2p_a, b->p2p_a, false);
    differs(c, frame, "MPA RTR by Send flag", a->rtr_send, b->rtr_send, false);
    differs(c, frame, "MPA RTR by Write flag", a->rtr_write, b->rtr_write, false);
    differs(c, frame, "MPA RTR by Read flag", a->rtr_read, b->rtr_read, false);
    differs(c, frame, "MPA IRD", a->ird, b->ird, false);
    differs(c, frame, "MPA ORD", a->ord, b->ord, false);
    bytes_differ(c, frame, "MPA private data", want->private_data, want->private_len, ours->private_data, ours->private_len);
}

static void compare_terminate(struct replay_case *c, uint32_t frame, const struct rdmap_terminate *a, const struct rdmap_terminate *b)
{
    differs(c, frame, "Terminate layer", a->layer, b->layer, false);
    differs(c, frame, "Terminate error type", a->etype, b->etype, false);
    differs(c, frame, "Terminate error code", a->code, b->code, true);
    differs(c, frame, "Terminate M bit", a->m, b->m, false);
    differs(c, frame, "Terminate D bit", a->d, b->d, false);
    differs(c, frame, "Terminate R bit", a->r, b->r, false);
    if (a->m && b->m)
        differs(c, frame, "Terminate DDP segment length", a->ddp_seg_len, b->ddp_seg_len, false);
    if (a->d && b->d)
        bytes_differ(c, frame, "Terminate DDP header", a->ddp_hdr, a->ddp_hdr_len, b->ddp_hdr, b->ddp_hdr_len);
    if (a->r && b->r)
        bytes_differ(c, frame, "Terminate RDMAP header", a->rdmap_hdr, sizeof a->rdmap_hdr, b->rdmap_hdr, sizeof b->rdmap_hdr);
}

static void compare_header(struct replay_case *c, uint32_t frame, const struct ddp_hdr *a, const struct ddp_hdr *b)
{
    differs(c, frame, "DDP tagged flag", a->tagged, b->tagged, false);
    differs(c, frame, "DDP last flag", a->last, b->last, false);
    differs(c, frame, "DDP reserved bits", a->resv, b->resv, true);
    differs(c, frame, "DDP version", a->ddp_version, b->ddp_version, false);
    differs(c, frame, "RDMAP version", a->rdmap_version, b->rdmap_version, false);
    differs(c, frame, "RDMAP reserved bits", a->resv2, b->resv2, true);
    differs(c, frame, "RDMAP opcode", a->opcode, b->opcode, false);
    differs(c, frame, a->tagged ? "DDP STag" : "STag to invalidate", a->stag, b->stag, true);
    if (a->tagged && b->tagged) {
        differs(c, frame, "DDP tagged offset", a->to, b->to, true);
    } else if (!a->tagged && !b->tagged) {
        differs(c, frame, "DDP queue number", a->qn, b->qn, false);
        differs(c, frame, "DDP MSN", a->msn, b->msn, false);
        differs(c, frame, "DDP MO", a->mo, b->mo, false);
    }
}

static void compare_read_request(struct replay_case *c, uint32_t frame, const uint8_t *want, const uint8_t *ours)
{
    struct rdmap_read_request a, b;
    rdmap_read_request_decode(want, &a);
    rdmap_read_request_decode(ours, &b);
    differs(c, frame, "Read Request sink STag", a.sink_stag, b.sink_stag, true);
    differs(c, frame, "Read Request sink offset", a.sink_to, b.sink_to, true);
    differs(c, frame, "Read Request size", a.size, b.size, false);
    differs(c, frame, "Read Request source STag", a.src_stag, b.src_stag, true);
    differs(c, frame, "Read Request source offset", a.src_to, b.src_to, true);
}

static void compare_fpdu(struct replay_case *c, uint32_t frame, const struct replay_fpdu *a, const struct replay_fpdu *b)
{
    c->compared++;
    if (!b->good)
        replay_differs(c, frame, "MPA CRC or marker", "right", "wrong");
    if (!a->headed || !b->headed) {
        bytes_differ(c, frame, "ULPDU", a->ulpdu, a->ulpdu_len, b->ulpdu, b->ulpdu_len);
        return;
    }
    compare_header(c, frame, &a->hdr, &b->hdr);
    if (a->terminate && b->terminate) {
        compare_terminate(c, frame, &a->term, &b->term);
        return;
    }
    differs(c, frame, "MPA ULPDU length", a->ulpdu_len, b->ulpdu_len, false);
    if (a->payload_len != b->payload_len)
        return;
    if (!a->hdr.tagged && a->hdr.opcode == RDMAP_READ_REQUEST && a->payload_len == RDMAP_READ_REQUEST_BYTES)
        compare_read_request(c, frame, a->payload, b->payload);
    else if (memcmp(a->payload, b->payload, a->payload_len))
        replay_differs_bytes(c, frame, "payload", a->payload, b->payload, a->payload_len);
}

static const char *fpdu_name(const struct replay_fpdu *f)
{
    const char *name = f->headed ? rdmap_opcode_name(f->hdr.opcode) : NULL;
    return name ? name : "an FPDU";
}

void replay_scripts_compare(struct replay_case *c, const struct replay_script *want, const struct replay_script *ours, bool open,
                            uint32_t (*frame_of)(void *ctx, uint64_t off), void *ctx)
{
    compare_start(c, frame_of(ctx, 0), want, ours);
    for (uint32_t i = 0; i < want->n; i++) {
        uint32_t frame = frame_of(ctx, want->fpdu[i].off + want->fpdu[i].wire_len - 1);
        if (i >= ours->n)
            replay_differs(c, frame, "FPDU", fpdu_name(&want->fpdu[i]), "none");
        else
            compare_fpdu(c, frame, &want->fpdu[i], &ours->fpdu[i]);
    }
    uint32_t frame = want->n ? frame_of(ctx, want->fpdu[want->n - 1].off) : 0;
    if (ours->n > want->n && !open)
        replay_differs(c, frame, "FPDU after it", "none", fpdu_name(&ours->fpdu[want->n]));
    if (want->n == ours->n && want->rest != ours->rest && !open)
        replay_differs_u64(c, frame, "bytes after the last FPDU", want->rest, ours->rest, false);
}
