/* SPDX-License-Identifier: GPL-2.0-only */
#include "bytes.h"
#include "codec.h"
#include "iwarp.h"

#include <string.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))

enum { KEY_BYTES = 16, ENHANCED_BYTES = 4, MARKER_EVERY = MPA_MARKER_EVERY, MARKER_BYTES = MPA_MARKER_BYTES, LENGTH_BYTES = 2, CRC_BYTES = 4,
       ULPDU_MAX = 64768 /* RFC 5044 appendix A.1 */, MULPDU_MIN = 128 };

static const char request_key[KEY_BYTES + 1] = "MPA ID Req Frame";
static const char reply_key[KEY_BYTES + 1] = "MPA ID Rep Frame";

size_t mpa_start_encode(const struct mpa_start *m, const uint8_t *user_pd, size_t user_pd_len, uint8_t *out)
{
    uint8_t *b = out + MPA_START_BYTES;
    bool enhanced = m->flags & MPA_F_ENHANCED;
    memcpy(out, m->reply ? reply_key : request_key, KEY_BYTES);
    out[16] = m->flags;
    out[17] = m->revision;
    wire_put16(out + 18, (uint32_t)(user_pd_len + (enhanced ? ENHANCED_BYTES : 0)));
    if (enhanced) {
        wire_put16(b, (m->p2p_a ? 0x8000u : 0) | (m->rtr_send ? 0x4000u : 0) | (m->ird & 0x3fffu));
        wire_put16(b + 2, (m->rtr_write ? 0x8000u : 0) | (m->rtr_read ? 0x4000u : 0) | (m->ord & 0x3fffu));
        b += ENHANCED_BYTES;
    }
    if (user_pd_len)
        memcpy(b, user_pd, user_pd_len);
    return (size_t)(b - out) + user_pd_len;
}

enum mpa_start_status mpa_start_decode(const uint8_t *in, size_t len, struct mpa_start *m, size_t *used)
{
    size_t key = MIN(len, (size_t)KEY_BYTES);
    bool reply = len && memcmp(in, reply_key, key) == 0;
    memset(m, 0, sizeof *m);
    if (len && !reply && memcmp(in, request_key, key) != 0)
        return MPA_START_BAD_KEY;
    if (len < 18)
        return MPA_START_MORE;
    m->reply = reply;
    m->flags = in[16];
    m->revision = in[17];
    if (m->revision != 1 && m->revision != 2)
        return MPA_START_BAD_REVISION;
    if (m->revision == 1)
        m->flags &= (uint8_t)~MPA_F_ENHANCED; /* a reserved bit then */
    if (len < MPA_START_BYTES)
        return MPA_START_MORE;
    m->pd_len = wire_get16(in + 18);
    if (m->pd_len > MPA_PRIVATE_MAX)
        return MPA_START_BAD_LENGTH;
    bool enhanced = m->flags & MPA_F_ENHANCED;
    if (enhanced && m->pd_len < ENHANCED_BYTES)
        return MPA_START_BAD_ENHANCED;
    if (len < (size_t)MPA_START_BYTES + m->pd_len)
        return MPA_START_MORE;
    if (enhanced) {
        const uint8_t *b = in + MPA_START_BYTES;
        m->p2p_a = b[0] >> 7;
        m->rtr_send = b[0] >> 6 & 1;
        m->ird = wire_get16(b) & 0x3fff;
        m->rtr_write = b[2] >> 7;
        m->rtr_read = b[2] >> 6 & 1;
        m->ord = wire_get16(b + 2) & 0x3fff;
    }
    *used = (size_t)MPA_START_BYTES + m->pd_len;
    return MPA_START_OK;
}

uint32_t mpa_mulpdu(uint32_t emss, bool markers)
{
    uint32_t cost = LENGTH_BYTES + CRC_BYTES + emss % 4 + (markers ? MARKER_BYTES * ((emss + MARKER_EVERY - 1) / MARKER_EVERY) : 0);
    if (emss < cost + MULPDU_MIN)
        return MULPDU_MIN;
    return MIN(emss - cost, (uint32_t)ULPDU_MAX);
}

uint32_t mpa_put_markers(const uint8_t *fpdu, uint32_t n, uint64_t plain, uint8_t *out)
{
    uint32_t in_block = (uint32_t)(plain % (MARKER_EVERY - MARKER_BYTES)), at = 0;
    uint32_t head = in_block == 0 ? MARKER_BYTES : 0; /* where the length field is in out */
    for (uint32_t done = 0; done < n; in_block = 0) {
        if (in_block == 0) {
            wire_put16(out + at, 0);
            wire_put16(out + at + 2, done == 0 ? 0 : at - head);
            at += MARKER_BYTES;
        }
        uint32_t run = MIN(n - done, (uint32_t)(MARKER_EVERY - MARKER_BYTES) - in_block);
        memcpy(out + at, fpdu + done, run);
        done += run;
        at += run;
    }
    return at;
}

/* Stream bytes that n bytes of FPDU take from stream offset off on, markers at multiples of 512 strictly inside included;
 * at off itself only if `leading`. */
static uint64_t span_with_markers(uint64_t off, uint32_t n, bool leading)
{
    uint64_t end = off;
    for (bool skip = !leading; n; skip = false) {
        if (end % MARKER_EVERY == 0 && !skip)
            end += MARKER_BYTES;
        uint32_t run = MIN(n, (uint32_t)(MARKER_EVERY - end % MARKER_EVERY));
        end += run;
        n -= run;
    }
    return end - off;
}

/* Takes the markers out of the FPDU in[0 .. wire_len); its length field is at `head`. Returns false if one does not point there. */
static bool take_out_markers(const uint8_t *in, uint32_t wire_len, uint64_t off, uint32_t head, uint32_t ulpdu_len, uint8_t *ulpdu)
{
    bool right = true;
    uint32_t done = 0, skip = LENGTH_BYTES;
    for (uint32_t at = 0; at < wire_len;) {
        if ((off + at) % MARKER_EVERY == 0) {
            uint32_t back = at < head ? 0 : at - head;
            right = right && (wire_get16(in + at + 2) & ~3u) == back;
            at += MARKER_BYTES;
            continue;
        }
        uint32_t run = MIN(wire_len - at, (uint32_t)(MARKER_EVERY - (off + at) % MARKER_EVERY)), from = MIN(skip, run);
        uint32_t n = MIN(run - from, ulpdu_len - done);
        skip -= from;
        if (ulpdu && n)
            memcpy(ulpdu + done, in + at + from, n);
        done += n;
        at += run;
    }
    return right;
}

enum mpa_fpdu_status mpa_fpdu_check(const uint8_t *in, size_t len, bool crc, bool markers, uint64_t marker_off, struct mpa_fpdu *f, uint8_t *ulpdu)
{
    uint32_t head = markers && marker_off % MARKER_EVERY == 0 ? MARKER_BYTES : 0;
    memset(f, 0, sizeof *f);
    if (len < head + LENGTH_BYTES)
        return MPA_FPDU_MORE;
    f->ulpdu_len = wire_get16(in + head);
    uint32_t n = LENGTH_BYTES + f->ulpdu_len + mpa_pad(f->ulpdu_len) + CRC_BYTES;
    f->wire_len = markers ? (uint32_t)span_with_markers(marker_off, n, true) : n;
    if (!f->ulpdu_len || f->ulpdu_len > ULPDU_MAX || (markers && marker_off % 4))
        return MPA_FPDU_BAD_LENGTH;
    if (len < f->wire_len)
        return MPA_FPDU_MORE;
    bool right = true;
    if (markers)
        right = take_out_markers(in, f->wire_len, marker_off, head, f->ulpdu_len, ulpdu);
    else if (ulpdu)
        memcpy(ulpdu, in + LENGTH_BYTES, f->ulpdu_len);
    uint32_t got = wire_get32le(in + f->wire_len - CRC_BYTES);
    f->crc_zero = got == 0;
    if (!right)
        return MPA_FPDU_BAD_MARKER;
    return crc && got != wire_crc32c(0, in, f->wire_len - CRC_BYTES) ? MPA_FPDU_BAD_CRC : MPA_FPDU_OK;
}
