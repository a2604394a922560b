/* SPDX-License-Identifier: GPL-2.0-only */
/* FPDUs out of the TCP stream, however TCP has cut it. RFC 5044 section 4: nothing is placed before its CRC has been
 * checked, so an FPDU that does not lie whole and symbolic in one segment is gathered first. */
#include "iwarp_internal.h"
#include "../wire/codec.h"
#include <stdlib.h>
#include <string.h>

static uint32_t fpdu_bytes(uint32_t ulpdu_len) { return 2 + ulpdu_len + mpa_pad(ulpdu_len) + 4; }

static bool receiving(const struct iwarp_qp *q) { return q->phase == IWARP_FULL || q->phase == IWARP_WAIT_FIRST; }

static void segment(struct iwarp_qp *q, struct iwarp_segment *s, const uint8_t *head, uint32_t ulpdu_len)
{
    q->stats.fpdus_in++;
    s->ulpdu_len = ulpdu_len;
    if (ulpdu_len == 0 || !ddp_hdr_decode(head, ulpdu_len < DDP_UNTAGGED_BYTES ? ulpdu_len : DDP_UNTAGGED_BYTES, &s->hdr)) {
        iwarp_rdmap_short(q);
        return;
    }
    uint32_t h = (uint32_t)ddp_hdr_bytes(&s->hdr);
    s->len = ulpdu_len - h;
    if (s->p != NULL)
        s->from += 2 + h;
    else
        s->bytes += 2 + h;
    iwarp_rdmap_segment(q, s);
}

/* --- whole and symbolic: the sender's chunks are headers, a pattern and a tail, untouched on their way --- */

/* Length of an FPDU that begins at payload byte `from` and is made of unbroken symbolic chunks, its tail with a right CRC; 0 if
 * this is not one. */
static uint32_t symbolic_fpdu(const struct iwarp_qp *q, const struct pkt *p, uint32_t from, uint32_t len, uint32_t *ulpdu_len)
{
    uint8_t head[2];
    uint32_t at = 0, c = 0;
    if (len < 2)
        return 0;
    while (c < p->nchunks && at < from)
        at += p->chunk[c++].len;
    if (at != from || c == p->nchunks || p->chunk[c].kind != CHUNK_LITERAL || p->chunk[c].len < 2)
        return 0;
    memcpy(head, p->chunk[c].u.literal, 2);
    *ulpdu_len = (uint32_t)head[0] << 8 | head[1];
    uint32_t wire = fpdu_bytes(*ulpdu_len), covered = 0;
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
    uint32_t ulpdu_len, wire = symbolic_fpdu(q, p, from, len, &ulpdu_len);
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

static void take_gathered(struct iwarp_qp *q, uint32_t ulpdu_len, uint32_t wire)
{
    const uint8_t *b = q->rbuf;
    if (q->agreed.crc) {
        uint32_t crc = wire_crc32c(0, b, wire - 4);
        uint32_t got = (uint32_t)b[wire - 4] | (uint32_t)b[wire - 3] << 8 | (uint32_t)b[wire - 2] << 16 | (uint32_t)b[wire - 1] << 24;
        if (crc != got) {
            q->stats.crc_errors++;
            iwarp_term_send(q, IWARP_LAYER_MPA, 0, 2, IWARP_TERM_PLAIN, NULL);
            return;
        }
    }
    struct iwarp_segment s = { .bytes = b };
    segment(q, &s, b + 2, ulpdu_len);
}

/* Take bytes into the buffer up to the end of the FPDU that is being gathered; returns how many were taken. */
static uint32_t gather(struct iwarp_qp *q, const struct pkt *p, uint32_t from, uint32_t len)
{
    uint32_t want = 2;
    if (q->rlen >= 2)
        want = fpdu_bytes((uint32_t)q->rbuf[0] << 8 | q->rbuf[1]);
    uint32_t n = want - q->rlen < len ? want - q->rlen : len;
    room(q, want);
    pkt_payload_read(p, from, n, q->rbuf + q->rlen);
    q->rlen += n;
    if (q->rlen == want && want > 2) {
        q->rlen = 0;
        take_gathered(q, (uint32_t)q->rbuf[0] << 8 | q->rbuf[1], want);
    }
    return n;
}

/* --- start-up frames --- */

static uint32_t gather_start(struct iwarp_qp *q, const struct pkt *p, uint32_t from, uint32_t len)
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
    return used - had; /* what follows in the segment is full operation already */
}

void iwarp_rx_deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct iwarp_qp *q = user;
    uint64_t end = off + len;
    while (len > 0) {
        uint32_t n = len;
        if (q->phase == IWARP_START)
            n = gather_start(q, p, from, len);
        else if (receiving(q)) {
            n = q->rlen == 0 ? take_symbolic(q, p, from, len) : 0;
            if (n == 0)
                n = gather(q, p, from, len);
        }
        from += n;
        len -= n;
    }
    tcp_consumed(q->tcp, now_ps, end);
}
