/* SPDX-License-Identifier: GPL-2.0-only */
/* FPDUs as TCP asks for them: whole and symbolic where they fit, as bytes where TCP cuts them, where many share a segment, and where there
 * are markers. */
#include "iwarp_internal.h"
#include "../wire/codec.h"
#include <stdlib.h>
#include <string.h>

/* One FPDU of a record. */
struct fpdu { uint64_t start; uint32_t plain, wire, ulpdu, pay_off, pay_len; struct ddp_hdr hdr; };

static struct fpdu fpdu_at(const struct iwarp_qp *q, const struct iwarp_msg *m, uint64_t off)
{
    uint32_t n = (uint32_t)((off - m->start) / m->fpdu), done = n * m->seg;
    struct fpdu f = { .start = m->start + (uint64_t)n * m->fpdu, .pay_off = m->first + done, .hdr = m->hdr };
    uint32_t left = m->len - done;
    f.pay_len = left < m->seg ? left : m->seg;
    f.ulpdu = (uint32_t)ddp_hdr_bytes(&m->hdr) + f.pay_len;
    f.plain = iwarp_fpdu_bytes(f.ulpdu);
    f.wire = (uint32_t)(iwarp_stream_off(q, f.start + f.plain) - iwarp_stream_off(q, f.start));
    f.hdr.last = f.pay_len == left && !m->goes_on;
    if (f.hdr.tagged)
        f.hdr.to = m->hdr.to + f.pay_off;
    else
        f.hdr.mo = f.pay_off;
    return f;
}

static uint32_t encode_head(const struct fpdu *f, uint8_t *out)
{
    out[0] = (uint8_t)(f->ulpdu >> 8);
    out[1] = (uint8_t)f->ulpdu;
    return 2 + (uint32_t)ddp_hdr_encode(&f->hdr, out + 2);
}

static uint8_t *buffer(uint32_t len)
{
    uint8_t *b = malloc(len);
    if (b == NULL)
        abort();
    return b;
}

static void put_crc(const struct iwarp_qp *q, uint8_t *fpdu, uint32_t len)
{
    uint32_t crc = q->agreed.crc ? wire_crc32c(0, fpdu, len - 4) : 0;
    for (unsigned i = 0; i < 4; i++, crc >>= 8)
        fpdu[len - 4 + i] = (uint8_t)crc;
}

/* The FPDU as bytes with its markers and its real CRC. */
static void materialise(const struct iwarp_qp *q, const struct iwarp_msg *m, const struct fpdu *f, uint8_t *out)
{
    uint8_t *b = q->agreed.tx_markers ? buffer(f->plain) : out;
    uint32_t n = encode_head(f, b);
    if (m->literal)
        memcpy(b + n, m->small + f->pay_off, f->pay_len);
    else if (m->copy != NULL)
        memcpy(b + n, m->copy + f->pay_off, f->pay_len);
    else
        for (uint32_t i = 0; i < f->pay_len; i++)
            b[n + i] = pkt_pattern_byte(m->src.seed, m->src.off + f->pay_off + i);
    memset(b + n + f->pay_len, 0, f->plain - n - f->pay_len);
    if (q->agreed.tx_markers) {
        (void)mpa_put_markers(b, f->plain, f->start - q->startup_len, out);
        free(b);
    }
    put_crc(q, out, f->wire);
}

/* Chunks that a whole FPDU takes in symbolic form. */
static unsigned slots_needed(const struct iwarp_qp *q, const struct iwarp_msg *m, const struct fpdu *f)
{
    uint32_t head = f->ulpdu - f->pay_len + 2;
    if (q->agreed.tx_markers)
        return PKT_CHUNK_MAX + 1; /* in bytes */
    if (m->literal)
        return (head + f->pay_len + PKT_LITERAL_MAX - 1) / PKT_LITERAL_MAX + 1;
    return f->pay_len == 0 ? 2 : 3;
}

static void put_symbolic(const struct iwarp_qp *q, const struct iwarp_msg *m, const struct fpdu *f, struct pkt *p)
{
    uint8_t head[20 + IWARP_SMALL_MAX];
    uint32_t n = encode_head(f, head);
    bool ok = true;
    if (m->literal) {
        memcpy(head + n, m->small + f->pay_off, f->pay_len);
        n += f->pay_len;
    }
    ok &= pkt_add_literal(p, head, n);
    if (!m->literal && f->pay_len > 0)
        ok &= m->copy != NULL ? pkt_add_bytes(p, m->copy + f->pay_off, f->pay_len)
                              : pkt_add_pattern(p, f->pay_len, m->src.seed, m->src.off + f->pay_off);
    ok &= pkt_add_mpa_tail(p, mpa_pad(f->ulpdu), 2 + f->ulpdu, !q->agreed.crc);
    assert(ok);
    (void)ok;
}

/* Bytes [from, from + len) of one FPDU: what TCP sends when it cannot take it whole. */
static void put_cut(struct iwarp_qp *q, const struct iwarp_msg *m, const struct fpdu *f, uint32_t from, uint32_t len, struct pkt *p)
{
    uint8_t *b = buffer(f->wire);
    materialise(q, m, f, b);
    bool ok = pkt_add_bytes(p, b + from, len);
    assert(ok);
    (void)ok;
    free(b);
    q->stats.fpdus_cut++;
}

/* Whole FPDUs as bytes: more chunks than a packet has. */
static void put_packed(struct iwarp_qp *q, uint64_t plain, uint32_t len, struct pkt *p)
{
    uint8_t *b = buffer(len);
    for (uint32_t n = 0; n < len;) {
        struct iwarp_msg *m = iwarp_stream_find(q, plain);
        struct fpdu f = fpdu_at(q, m, plain);
        materialise(q, m, &f, b + n);
        n += f.wire;
        plain += f.plain;
        q->stats.fpdus_out++;
        q->stats.fpdus_packed += n < len;
    }
    bool ok = pkt_add_bytes(p, b, len);
    assert(ok);
    (void)ok;
    free(b);
}

/* How many bytes of whole FPDUs fit from plain on, and how many chunks they need. */
static uint32_t whole_fpdus(const struct iwarp_qp *q, uint64_t plain, uint32_t len, unsigned *slots)
{
    uint32_t n = 0;
    *slots = 0;
    while (plain < q->announced) {
        struct iwarp_msg *m = iwarp_stream_find(q, plain);
        struct fpdu f = fpdu_at(q, m, plain);
        if (f.wire > len - n)
            break;
        n += f.wire;
        plain += f.plain;
        *slots += slots_needed(q, m, &f);
        if (!q->params->pack)
            break;
    }
    return n;
}

static uint32_t fill_fpdus(struct iwarp_qp *q, uint64_t off, uint32_t len, struct pkt *p)
{
    unsigned slots = 0;
    uint64_t plain = iwarp_stream_plain(q, off);
    if (plain >= q->announced)
        return 0;
    struct iwarp_msg *m = iwarp_stream_find(q, plain);
    struct fpdu f = fpdu_at(q, m, plain);
    uint32_t in = (uint32_t)(off - iwarp_stream_off(q, f.start));
    uint32_t n = in == 0 ? whole_fpdus(q, plain, len, &slots) : 0;
    if (n == 0) {
        n = f.wire - in < len ? f.wire - in : len;
        put_cut(q, m, &f, in, n, p);
    } else if (slots > PKT_CHUNK_MAX) {
        put_packed(q, plain, n, p);
    } else {
        for (uint32_t done = 0; done < n; done += f.wire) {
            m = iwarp_stream_find(q, plain + done);
            f = fpdu_at(q, m, plain + done);
            put_symbolic(q, m, &f, p);
            q->stats.fpdus_out++;
            q->stats.fpdus_packed += done > 0;
        }
    }
    return n;
}

uint32_t iwarp_fpdu_fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    struct iwarp_qp *q = user;
    uint32_t n;
    if (off < q->startup_len) {
        n = q->startup_len - off < len ? q->startup_len - (uint32_t)off : len;
        if (q->startup == NULL || !pkt_add_bytes(p, q->startup + off, n))
            return 0;
    } else {
        n = fill_fpdus(q, off, len, p);
    }
    uint64_t upto = iwarp_stream_plain(q, off + n);
    if (upto > q->given)
        q->given = upto;
    return n;
}
