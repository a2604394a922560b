/* SPDX-License-Identifier: GPL-2.0-only */
/** Between the parts of the dissector: frames (dissect.c), TCP streams (dissect_stream.c), iWARP (dissect_iwarp.c). */
#ifndef RNICSIM_HELPER_DISSECT_INTERNAL_H
#define RNICSIM_HELPER_DISSECT_INTERNAL_H

#include "../model/wire/codec.h"
#include "../model/wire/iwarp.h"
#include "dissect.h"

/** One file being dissected. */
struct dissect {
    const char *name;
    FILE       *out, *err;
    uint32_t    frame;         /* the frame being printed, from 1 */
    uint32_t    wrong_frames;
    bool        has_fcs;       /* an earlier frame ended in its FCS: all should */
    char        reasons[2048]; /* what is wrong with this frame, a line each */
    struct dissect_streams *streams;
};

/** Something is wrong with the current frame: marks its line and keeps the reason. */
void dissect_wrong(struct dissect *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** One direction of an MPA connection, RFC 5044; its bytes are the stream's. */
enum iwarp_state { IWARP_START, IWARP_NOT_MPA, IWARP_FULL, IWARP_REJECTED, IWARP_BROKEN };
struct iwarp_dir {
    enum iwarp_state state;
    struct mpa_start start;    /* from IWARP_FULL on */
    size_t   parsed;           /* stream offset of the first byte not yet parsed */
    size_t   full;             /* stream offset where full operation begins */
    uint32_t msn[4], mo[4];    /* what is due next in each untagged queue */
    uint32_t extended_frame;   /* the last frame that carried an opcode of RFC 7306, 0 if none */
    uint8_t  extended_opcode;
};

/** Parse on in the stream's in-order bytes; peer_silent: the other side has sent nothing, and from its SYN on everything is there. */
void dissect_iwarp(struct dissect *d, struct iwarp_dir *self, struct iwarp_dir *peer, const uint8_t *bytes, size_t len, bool peer_silent);

struct dissect_streams *dissect_streams_new(void);
void dissect_streams_free(struct dissect_streams *s);
/** Put a segment in its stream, print what became whole by it. */
void dissect_segment(struct dissect *d, const struct pkt *p, const struct wire_l3 *l3);
/** At the end of the file: name the streams that have a hole or end within a frame. */
void dissect_streams_end(struct dissect *d);

#endif
