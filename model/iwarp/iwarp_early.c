/* SPDX-License-Identifier: GPL-2.0-only */
/* Direct placement of segments that come out of order (RFC 5044 sections 3 and 6, RFC 5041 5.3 and 5.4). A segment is taken only if it is
 * whole FPDUs that are known to begin where it begins, are sound, and may be placed; otherwise TCP keeps it. An error is never found here:
 * what might be one is left to the stream's order. */
#include "iwarp_internal.h"
#include "../wire/codec.h"
#include <stdlib.h>
#include <string.h>

#define SEGMENT_FPDUS_MAX 64 /* more are not taken: they are small, TCP may keep them */

/* An FPDU of the segment: its payload is [at, at + e.len) of p's payload, or bytes. */
struct found { struct iwarp_early e; uint32_t at; const uint8_t *bytes; };

static struct iwarp_early *entry(const struct iwarp_qp *q, uint32_t i) { return &q->early[i & (q->early_cap - 1)]; }

/* --- the list --- */

/* The first entry that does not begin below off. */
static uint32_t lower(const struct iwarp_qp *q, uint64_t off)
{
    uint32_t n = 0, m = q->early_tail - q->early_head;
    while (n < m) {
        uint32_t mid = n + (m - n) / 2;
        if (entry(q, q->early_head + mid)->off < off)
            n = mid + 1;
        else
            m = mid;
    }
    return q->early_head + n;
}

static bool known(const struct iwarp_qp *q, uint64_t off)
{
    uint32_t i = lower(q, off);
    return i != q->early_tail && entry(q, i)->off == off;
}

static void insert(struct iwarp_qp *q, const struct iwarp_early *e)
{
    uint32_t at = lower(q, e->off);
    q->early = rnic_ring_room(q->early, &q->early_cap, sizeof *q->early, q->early_head, q->early_tail);
    for (uint32_t i = q->early_tail++; i != at; i--)
        *entry(q, i) = *entry(q, i - 1);
    *entry(q, at) = *e;
}

bool iwarp_early_take(struct iwarp_qp *q, uint64_t off, struct iwarp_early *out)
{
    while (q->early_head != q->early_tail && entry(q, q->early_head)->off < off)
        q->early_head++; /* an FPDU that the stream did not have there */
    if (q->early_head == q->early_tail || entry(q, q->early_head)->off != off)
        return false;
    *out = *entry(q, q->early_head++);
    return true;
}

/* --- what a segment holds --- */

/* Is off where an FPDU begins? RFC 5044 section 6: a marker tells (of the FPDU at off, wire bytes long), or an FPDU that is known ends here;
 * with CRC a sender that aligns its FPDUs is believed where the parameter says so. */
static bool begins_here(const struct iwarp_qp *q, uint64_t off, uint32_t wire)
{
    uint32_t i = lower(q, off);
    if (i != q->early_head && entry(q, i - 1)->off + entry(q, i - 1)->wire == off)
        return true;
    if (q->params->direct_placement == IWARP_PLACEMENT_ALIGNED && q->agreed.crc)
        return true;
    uint64_t from = off - q->rx_base, next = (from + MPA_MARKER_EVERY - 1) / MPA_MARKER_EVERY * MPA_MARKER_EVERY;
    return q->agreed.rx_markers && next < from + wire; /* mpa_fpdu_check has seen that its markers point to off */
}

/* One FPDU at b, of bytes. false: not whole, not sound, not known to begin here. */
static bool parse_bytes(const struct iwarp_qp *q, uint64_t off, const uint8_t *b, uint32_t len, uint8_t *plain, struct found *f)
{
    struct mpa_fpdu fpdu;
    bool markers = q->agreed.rx_markers;
    enum mpa_fpdu_status st = mpa_fpdu_check(b, len, q->agreed.crc, markers, markers ? off - q->rx_base : 0, &fpdu, markers ? plain : NULL);
    if (st != MPA_FPDU_OK || !begins_here(q, off, fpdu.wire_len))
        return false;
    const uint8_t *ulpdu = markers ? plain : b + 2;
    if (!ddp_hdr_decode(ulpdu, fpdu.ulpdu_len, &f->e.hdr))
        return false;
    uint32_t h = (uint32_t)ddp_hdr_bytes(&f->e.hdr);
    f->e.off = off;
    f->e.wire = fpdu.wire_len;
    f->e.ulpdu_len = fpdu.ulpdu_len;
    f->e.len = fpdu.ulpdu_len - h;
    f->bytes = ulpdu + h;
    return true;
}

/* The same of symbolic chunks. */
static bool parse_symbolic(const struct iwarp_qp *q, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len, struct found *f)
{
    uint8_t head[DDP_UNTAGGED_BYTES];
    uint32_t ulpdu_len, wire = iwarp_rx_symbolic(q, p, from, len, &ulpdu_len);
    if (wire == 0 || !begins_here(q, off, wire))
        return false;
    uint32_t n = ulpdu_len < sizeof head ? ulpdu_len : (uint32_t)sizeof head;
    pkt_payload_read(p, from + 2, n, head);
    if (!ddp_hdr_decode(head, n, &f->e.hdr))
        return false;
    uint32_t h = (uint32_t)ddp_hdr_bytes(&f->e.hdr);
    f->e.off = off;
    f->e.wire = wire;
    f->e.ulpdu_len = ulpdu_len;
    f->e.len = ulpdu_len - h;
    f->at = from + 2 + h;
    return true;
}

/* --- placement --- */

static bool is_send(unsigned opcode) { return opcode >= RDMAP_SEND && opcode <= RDMAP_SEND_SE_INV; }

static enum rnic_fault place_at(struct iwarp_qp *q, const struct found *f, const struct pkt *p, unsigned need)
{
    const struct ddp_hdr *h = &f->e.hdr;
    return f->bytes != NULL ? rnic_place_bytes(&q->base, h->stag, h->to, f->e.len, need, f->bytes)
                            : rnic_place(&q->base, h->stag, h->to, f->e.len, need, p, f->at);
}

/* A Read that is under way and has asked for these bytes. */
static bool asked_for(const struct iwarp_qp *q, const struct iwarp_early *e)
{
    for (uint32_t i = q->read_head; i != q->read_tail; i++) {
        const struct iwarp_read *r = &q->reads[i & (q->read_cap - 1)];
        if (!r->atomic && r->stag == e->hdr.stag && e->hdr.to >= r->to && e->hdr.to - r->to <= r->len && e->len <= r->len - (e->hdr.to - r->to))
            return true;
    }
    return false;
}

static bool may_place(const struct iwarp_qp *q, const struct iwarp_early *e)
{
    const struct ddp_hdr *h = &e->hdr;
    if (h->ddp_version != 1 || h->rdmap_version != 1)
        return false;
    if (h->tagged)
        return (h->opcode == RDMAP_WRITE || (h->opcode == RDMAP_READ_RESPONSE && asked_for(q, e))) &&
               rnic_check(&q->base, h->stag, h->to, e->len, RNIC_REMOTE_WRITE) == RNIC_FAULT_NONE;
    uint32_t ahead = h->msn - q->rx_msn[IWARP_QN_SEND]; /* messages of queue 0 before it, each with a receive of its own */
    return h->qn == IWARP_QN_SEND && is_send(h->opcode) && ahead < UINT32_C(1) << 31 && rnic_recv_fits(&q->base, ahead, h->mo, e->len);
}

static void place(struct iwarp_qp *q, const struct found *f, const struct pkt *p)
{
    enum rnic_fault fault;
    if (f->e.hdr.tagged)
        fault = place_at(q, f, p, RNIC_REMOTE_WRITE);
    else
        fault = rnic_recv_place_ahead(&q->base, f->e.hdr.msn - q->rx_msn[IWARP_QN_SEND], f->e.hdr.mo, f->e.len, f->bytes != NULL ? NULL : p, f->at, f->bytes);
    assert(fault == RNIC_FAULT_NONE); /* may_place has looked */
    (void)fault;
    q->stats.fpdus_early++;
}

/* Place the FPDUs of a segment that is nothing else. */
static bool take(struct iwarp_qp *q, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len, const uint8_t *b, uint8_t *plain)
{
    struct found f[SEGMENT_FPDUS_MAX];
    uint32_t n = 0;
    for (uint32_t done = 0; done < len; done += f[n++].e.wire) {
        if (n == SEGMENT_FPDUS_MAX)
            return false;
        memset(&f[n], 0, sizeof f[n]);
        if (b != NULL ? !parse_bytes(q, off + done, b + done, len - done, plain + done, &f[n]) : !parse_symbolic(q, off + done, p, from + done, len - done, &f[n]))
            return false;
        if (!known(q, f[n].e.off) && !may_place(q, &f[n].e))
            return false;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!known(q, f[i].e.off)) {
            place(q, &f[i], p);
            insert(q, &f[i].e);
        }
    return true;
}

bool iwarp_early_rx(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct iwarp_qp *q = user;
    uint32_t ulpdu_len;
    (void)now_ps;
    if (q->params->direct_placement == IWARP_PLACEMENT_OFF || q->phase != IWARP_FULL || len < 8 || (off - q->rx_base) % 4 != 0)
        return false;
    if (iwarp_rx_symbolic(q, p, from, len, &ulpdu_len) != 0)
        return take(q, off, p, from, len, NULL, NULL);
    uint8_t *b = malloc(2 * (size_t)len);
    if (b == NULL)
        abort();
    pkt_payload_read(p, from, len, b);
    bool taken = take(q, off, p, from, len, b, b + len);
    free(b);
    return taken;
}
