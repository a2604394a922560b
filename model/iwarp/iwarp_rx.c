/* SPDX-License-Identifier: GPL-2.0-only */
/* FPDUs out of the TCP stream, however TCP has cut it. RFC 5044 section 4: nothing is placed before its CRC has been
 * checked, so an FPDU that does not lie whole and symbolic in one segment is gathered first. */
#include "iwarp_internal.h"
#include "../wire/codec.h"
#include <stdlib.h>
#include <string.h>

static bool receiving(const struct iwarp_qp *q) { return q->phase == IWARP_FULL || q->phase == IWARP_WAIT_FIRST; }

static void segment(struct iwarp_qp *q, struct iwarp_segment *s, const uint8_t *ulpdu, uint32_t ulpdu_len)
{
    q->stats.fpdus_in++;
    s->ulpdu_len = ulpdu_len;
    if (ulpdu_len == 0 || !ddp_hdr_decode(ulpdu, ulpdu_len < DDP_UNTAGGED_BYTES ? ulpdu_len : DDP_UNTAGGED_BYTES, &s->hdr)) {
        iwarp_rdmap_short(q);
        return;
    }
    uint32_t h = (uint32_t)ddp_hdr_bytes(&s->hdr);
    s->len = ulpdu_len - h;
    if (s->p != NULL)
        s->from += 2 + h;
    else
        s->bytes = ulpdu + h;
    iwarp_rdmap_segment(q, s);
}

/* --- whole and symbolic: the sender's chunks are headers, a pattern and a tail, untouched on their way --- */

uint32_t iwarp_rx_symbolic(const struct iwarp_qp *q, const struct pkt *p, uint32_t from, uint32_t len, uint32_t *ulpdu_len)
{
    uint8_t head[2];
    uint32_t at = 0, c = 0;
    if (len < 2 || q->agreed.rx_markers)
        return 0;
    while (c < p->nchunks && at < from)
        at += p->chunk[c++].len;
    if (at != from || c == p->nchunks || p->chunk[c].kind != CHUNK_LITERAL || p->chunk[c].len < 2)
        return 0;
    memcpy(head, p->chunk[c].u.literal, 2);
    *ulpdu_len = (uint32_t)head[0] << 8 | head[1];
    uint32_t wire = iwarp_fpdu_bytes(*ulpdu_len), covered = 0;
    if (wire > len)
        return 0;
    while (c < p->nchunks && (p->chunk[c].kind == CHUNK_LITERAL || p->chunk[c].kind == CHUNK_PATTERN))
        covered += p->chunk[c++].len;
    if (c == p->nchunks || p->chunk[c].kind != CHUNK_MPA_TAIL || covered != 2 + *ulpdu_len || p->chunk[c].u.span != covered ||
        p->chunk[c].len != mpa_pad(*ulpdu_len) + 4 || (q->agreed.crc && p->chunk[c].crc_off))
        return 0;
    return wire;
}

static uint32_t take_symbolic(struct iwarp_qp *q, const struct pkt *p, uint32_t from, uint32_t len)
{
    uint8_t head[DDP_UNTAGGED_BYTES];
    uint32_t ulpdu_len, wire = iwarp_rx_symbolic(q, p, from, len, &ulpdu_len);
    if (wire == 0)
        return 0;
    pkt_payload_read(p, from + 2, ulpdu_len < sizeof head ? ulpdu_len : sizeof head, head);
    q->stats.fpdus_symbolic++;
    struct iwarp_segment s = { .p = p, .from = from };
    segment(q, &s, head, ulpdu_len);
    return wire;
}

/* --- gathered --- */

static void room(struct iwarp_qp *q, uint32_t bytes)
{
    if (bytes <= q->rbuf_cap)
        return;
    q->rbuf = realloc(q->rbuf, bytes);
    if (q->rbuf == NULL)
        abort();
    q->rbuf_cap = bytes;
}

static void marker_error(struct iwarp_qp *q)
{
    q->stats.marker_errors++;
    iwarp_term_send(q, IWARP_LAYER_MPA, 0, 3, IWARP_TERM_PLAIN, NULL);
}

/* RFC 5044 section 8: a wrong CRC is code 2; code 3 is for a marker that disagrees where the CRC is right (or not in use). */
static void take_gathered(struct iwarp_qp *q, uint32_t ulpdu_len, uint32_t wire, uint64_t start)
{
    struct iwarp_segment s = { .p = NULL };
    const uint8_t *b = q->rbuf;
    if (q->agreed.crc) {
        uint32_t got = (uint32_t)b[wire - 4] | (uint32_t)b[wire - 3] << 8 | (uint32_t)b[wire - 2] << 16 | (uint32_t)b[wire - 1] << 24;
        if (wire_crc32c(0, b, wire - 4) != got) {
            q->stats.crc_errors++;
            iwarp_term_send(q, IWARP_LAYER_MPA, 0, 2, IWARP_TERM_PLAIN, NULL);
            return;
        }
    }
    if (!q->agreed.rx_markers) {
        segment(q, &s, b + 2, ulpdu_len);
        return;
    }
    struct mpa_fpdu f;
    uint8_t *plain = malloc(ulpdu_len + 1);
    if (plain == NULL)
        abort();
    if (mpa_fpdu_check(b, wire, false, true, start - q->rx_base, &f, plain) == MPA_FPDU_BAD_MARKER)
        marker_error(q);
    else
        segment(q, &s, plain, ulpdu_len); /* an empty ULPDU is refused there */
    free(plain);
}

/* Without CRC a marker is the only check, and it is made as soon as it has come: with a wrong length the FPDU's end may never come. Looks at
 * the markers that lie in rbuf[had, rlen); head is where the length field is. */
static bool markers_agree(const struct iwarp_qp *q, uint64_t start, uint32_t head, uint32_t had)
{
    uint64_t from = start - q->rx_base;
    uint32_t at = (uint32_t)((MPA_MARKER_EVERY - from % MPA_MARKER_EVERY) % MPA_MARKER_EVERY);
    for (; at + MPA_MARKER_BYTES <= q->rlen; at += MPA_MARKER_EVERY) {
        uint32_t back = at < head ? 0 : at - head, ptr = ((uint32_t)q->rbuf[at + 2] << 8 | q->rbuf[at + 3]) & ~3u;
        if (at + MPA_MARKER_BYTES > had && ptr != back)
            return false;
    }
    return true;
}

/* Take bytes into the buffer up to the end of the FPDU that is being gathered; returns how many were taken. */
static uint32_t gather(struct iwarp_qp *q, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    uint64_t start = off - q->rlen; /* of the FPDU, or of the marker before it */
    uint32_t head = q->agreed.rx_markers && (start - q->rx_base) % MPA_MARKER_EVERY == 0 ? MPA_MARKER_BYTES : 0, want = head + 2, ulpdu_len = 0;
    bool sized = q->rlen >= head + 2;
    if (sized) {
        ulpdu_len = (uint32_t)q->rbuf[head] << 8 | q->rbuf[head + 1];
        want = iwarp_fpdu_bytes(ulpdu_len);
        if (q->agreed.rx_markers) {
            uint64_t plain = mpa_unmarked(start - q->rx_base);
            want = (uint32_t)(mpa_marked(plain + want) - mpa_marked(plain));
        }
    }
    uint32_t n = want - q->rlen < len ? want - q->rlen : len, had = q->rlen;
    room(q, want);
    pkt_payload_read(p, from, n, q->rbuf + q->rlen);
    q->rlen += n;
    if (q->agreed.rx_markers && !q->agreed.crc && !markers_agree(q, start, head, had)) {
        marker_error(q);
    } else if (sized && q->rlen == want) {
        q->rlen = 0;
        take_gathered(q, ulpdu_len, want, start);
    }
    return n;
}

/* --- placed before its turn --- */

static bool take_early(struct iwarp_qp *q, uint64_t off)
{
    struct iwarp_early e;
    if (!iwarp_early_take(q, off, &e))
        return false;
    q->placed_to = off + e.wire;
    q->stats.fpdus_in++;
    struct iwarp_segment s = { .hdr = e.hdr, .len = e.len, .ulpdu_len = e.ulpdu_len, .placed = true };
    iwarp_rdmap_segment(q, &s);
    return true;
}

static uint32_t take_fpdus(struct iwarp_qp *q, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    if (q->early_head != q->early_tail && q->rlen == 0 && off >= q->placed_to)
        (void)take_early(q, off);
    if (off < q->placed_to)
        return q->placed_to - off < len ? (uint32_t)(q->placed_to - off) : len;
    if (p == NULL) { /* bytes that were placed as FPDUs which the stream does not have there */
        marker_error(q);
        return len;
    }
    uint32_t n = q->rlen == 0 ? take_symbolic(q, p, from, len) : 0;
    return n > 0 ? n : gather(q, off, p, from, len);
}

/* --- start-up frames --- */

static uint32_t gather_start(struct iwarp_qp *q, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    uint32_t n = MPA_START_BYTES + MPA_PRIVATE_MAX - q->rlen;
    if (n > len)
        n = len;
    room(q, MPA_START_BYTES + MPA_PRIVATE_MAX);
    pkt_payload_read(p, from, n, q->rbuf + q->rlen);
    uint32_t had = q->rlen;
    q->rlen += n;
    uint32_t used = iwarp_start_rx(q, q->rbuf, q->rlen);
    if (used == 0)
        return n;
    q->rlen = 0;
    q->rx_base = off + used - had;
    return used - had; /* what follows in the segment is full operation already */
}

void iwarp_rx_deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct iwarp_qp *q = user;
    uint64_t kept = tcp_counters(q->tcp)->reassembled_bytes - q->kept_bytes;
    if (kept > 0 && rnic_dev_host(q->base.dev) != NULL) {
        q->kept_bytes += kept;
        host_place_kept(rnic_dev_host(q->base.dev), kept);
    }
    while (len > 0) {
        uint32_t n = len;
        if (q->phase == IWARP_START && p != NULL)
            n = gather_start(q, off, p, from, len);
        else if (receiving(q))
            n = take_fpdus(q, off, p, from, len);
        off += n;
        from += n;
        len -= n;
    }
    tcp_consumed(q->tcp, now_ps, off);
}
