/* SPDX-License-Identifier: GPL-2.0-only */
/* The capture, read whole, and the report. */
#include "replay_internal.h"

#include "../model/wire/pcap.h"
#include "dissect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 12 /* differences of one case that are told one by one */

void *replay_alloc(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "rnicsim: out of memory\n");
        abort();
    }
    return p;
}

int replay_side_of(const char *name, enum replay_sides *out)
{
    if (strlen(name) != 1 || !strchr("AaBb", name[0]))
        return SIM_ERR_PARAM;
    *out = name[0] == 'A' || name[0] == 'a' ? REPLAY_A : REPLAY_B;
    return SIM_OK;
}

bool replay_wants(const struct replay *r, unsigned side)
{
    return r->sides == REPLAY_BOTH || r->sides == (side ? REPLAY_B : REPLAY_A);
}

const char *replay_addr(const struct replay_frame *f, bool source, char out[46])
{
    uint32_t v4 = htonl(source ? f->p.src : f->p.dst);
    if (f->p.flags & PKT_F_IPV6)
        inet_ntop(AF_INET6, source ? f->l3.src6 : f->l3.dst6, out, 46);
    else
        inet_ntop(AF_INET, &v4, out, 46);
    return out;
}

unsigned replay_sender(const struct replay *r, const struct replay_frame *f)
{
    for (uint32_t i = 0; i < r->nframes; i++) {
        const struct pkt *p = &r->frame[i].p;
        if (p->src == f->p.src && p->dst == f->p.dst)
            return 0;
        if (p->src == f->p.dst && p->dst == f->p.src)
            return 1;
    }
    return 0;
}

/* --- report --- */

void replay_differs(struct replay_case *c, uint32_t frame, const char *field, const char *expected, const char *seen)
{
    struct replay *r = c->r;
    if (c->differ++ >= TOLD_MAX)
        return;
    fprintf(r->err, "%s: ", r->name);
    if (frame)
        fprintf(r->err, "frame %u: ", frame);
    fprintf(r->err, "side %c, %s: %s: expected %s, seen %s\n", 'A' + (int)c->side, c->what, field, expected, seen);
}

void replay_differs_u64(struct replay_case *c, uint32_t frame, const char *field, uint64_t expected, uint64_t seen, bool hex)
{
    char a[24], b[24];
    snprintf(a, sizeof a, hex ? "0x%" PRIx64 : "%" PRIu64, expected);
    snprintf(b, sizeof b, hex ? "0x%" PRIx64 : "%" PRIu64, seen);
    replay_differs(c, frame, field, a, b);
}

void replay_differs_bytes(struct replay_case *c, uint32_t frame, const char *field, const uint8_t *expected, const uint8_t *seen, size_t len)
{
    size_t at = 0, n = 0;
    char where[80], a[40] = "", b[40] = "";
    while (at < len && expected[at] == seen[at])
        at++;
    for (; n < 8 && at + n < len; n++) {
        snprintf(a + 2 * n, sizeof a - 2 * n, "%02x", expected[at + n]);
        snprintf(b + 2 * n, sizeof b - 2 * n, "%02x", seen[at + n]);
    }
    snprintf(where, sizeof where, "%s from byte %zu on", field, at);
    replay_differs(c, frame, where, a, b);
}

void replay_end(struct replay_case *c, const char *format, ...)
{
    struct replay *r = c->r;
    va_list ap;
    if (c->differ > TOLD_MAX)
        fprintf(r->err, "%s: side %c, %s: %u more differences\n", r->name, 'A' + (int)c->side, c->what, c->differ - TOLD_MAX);
    fprintf(r->out, "%s: side %c, %s: ", r->name, 'A' + (int)c->side, c->what);
    va_start(ap, format);
    vfprintf(r->out, format, ap);
    va_end(ap);
    if (c->coalesced)
        fprintf(r->out, ", %u acknowledgements coalesced otherwise", c->coalesced);
    if (c->lost)
        fprintf(r->out, ", %u captured frames lost on their way", c->lost);
    if (c->malformed)
        fprintf(r->out, ", %u malformed frames not delivered", c->malformed);
    if (c->early_timeouts)
        fprintf(r->out, ", %u timeouts when the capture had them", c->early_timeouts);
    if (c->differ)
        fprintf(r->out, "; %u differences\n", c->differ);
    else
        fprintf(r->out, "; equal\n");
    r->cases++;
    r->differing += c->differ > 0;
    r->compared += c->compared;
}

/* --- reading --- */

static void add_frame(struct replay *r, const struct pcap_frame *in)
{
    if (r->nframes == r->cap) {
        uint32_t cap = r->cap ? 2 * r->cap : 256;
        struct replay_frame *more = replay_alloc(aligned_alloc(_Alignof(struct replay_frame), cap * sizeof *more));
        if (r->nframes)
            memcpy(more, r->frame, r->nframes * sizeof *more);
        free(r->frame);
        r->frame = more;
        r->cap = cap;
    }
    struct replay_frame *f = &r->frame[r->nframes];
    memset(f, 0, sizeof *f);
    f->status = wire_decode(in->bytes, in->captured, &f->p, &f->l3);
    f->at_ps = in->at_ps;
    f->no = in->no;
    if ((f->p.kind == PKT_ROCE || f->p.kind == PKT_TCP) && f->l3.have_ip)
        r->nframes++;
    else
        pkt_release_payload(&f->p);
}

/* Frames are fed in the file's order: a stamp that steps back counts as the one before. */
static bool set_time(struct replay *r)
{
    struct replay_frame *f = &r->frame[r->nframes - 1];
    int64_t before = r->nframes > 1 ? f[-1].at_ps : 0;
    f->at_ps = f->at_ps > before ? f->at_ps : before;
    return f->at_ps <= REPLAY_TIME_MAX_PS;
}

static int read_frames(struct replay *r, const uint8_t *file, size_t len)
{
    struct pcap_reader in;
    struct pcap_frame f;
    enum pcap_status s = len ? pcap_open(&in, file, len) : PCAP_NOT_PCAP;
    uint32_t frames = 0;
    if (s == PCAP_OK)
        while ((s = pcap_next(&in, &f)) == PCAP_OK) {
            frames = f.no;
            if (f.captured < f.original) {
                fprintf(r->err, "%s: frame %u: only %u of its %u bytes were captured; replay needs whole frames\n", r->name, f.no, f.captured,
                        f.original);
                return 2;
            }
            uint32_t had = r->nframes;
            add_frame(r, &f);
            if (r->nframes > had && !set_time(r)) {
                fprintf(r->err, "%s: frame %u: its time is more than 30 days after the capture's begin\n", r->name, f.no);
                return 2;
            }
        }
    if (s == PCAP_END)
        return 0;
    if (s == PCAP_TRUNCATED || s == PCAP_BAD_LENGTH)
        fprintf(r->err, "%s: after frame %u: %s\n", r->name, frames, pcap_status_text(s));
    else
        fprintf(r->err, "%s: %s\n", r->name, len ? pcap_status_text(s) : "empty, not a pcap file");
    return 2;
}

int replay_bytes(const char *name, const uint8_t *file, size_t len, enum replay_sides sides, FILE *out, FILE *err)
{
    struct replay r = { .name = name, .out = out, .err = err, .sides = sides };
    int status = read_frames(&r, file, len);
    if (status == 0) {
        replay_roce(&r);
        replay_iwarp(&r);
        if (r.compared == 0) {
            fprintf(err, "%s: nothing in it that could be replayed: no RoCEv2 or iWARP connection%s\n", name,
                    sides == REPLAY_BOTH ? "" : " with packets of that side");
            status = 1;
        }
        if (r.differing)
            status = 1;
    }
    for (uint32_t i = 0; i < r.nframes; i++)
        pkt_release_payload(&r.frame[i].p);
    free(r.frame);
    return status;
}

int replay_file(const char *path, enum replay_sides sides, FILE *out, FILE *err)
{
    size_t len;
    uint8_t *bytes = dissect_read_file(path, &len);
    if (bytes == NULL) {
        fprintf(err, "%s: cannot be read: %s\n", path, strerror(errno));
        return 2;
    }
    int status = replay_bytes(path, bytes, len, sides, out, err);
    free(bytes);
    return status;
}
