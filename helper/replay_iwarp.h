/* SPDX-License-Identifier: GPL-2.0-only */
/** Between the parts of the iWARP replay: streams into FPDUs (replay_fpdu.c), connections and what a side did (replay_iwarp.c), our
 *  QP in its place (replay_iwarp_run.c). */
#ifndef RNICSIM_HELPER_REPLAY_IWARP_H
#define RNICSIM_HELPER_REPLAY_IWARP_H

#include "replay_internal.h"
#include "tcp_stream.h"

#include "../model/wire/iwarp.h"

/** One FPDU of a stream. */
struct replay_fpdu {
    uint64_t off;                        /* of its length field */
    uint32_t wire_len, ulpdu_len, payload_len;
    bool     headed, good;               /* long enough for its header; its CRC, if any, is right */
    struct ddp_hdr hdr;
    uint8_t *ulpdu;
    const uint8_t *payload;              /* in ulpdu */
    bool     terminate, siw;             /* term is what it says; siw: its bits come in the order of siw on little-endian hosts */
    struct rdmap_terminate term;
};

/** What a side says from the first byte on. */
struct replay_script {
    enum mpa_start_status status;        /* of its start-up frame; MPA_START_MORE: none */
    struct mpa_start start;
    uint8_t  private_data[MPA_PRIVATE_MAX];
    uint32_t private_len;
    size_t   start_len;
    struct replay_fpdu *fpdu;
    uint32_t n;
    size_t   rest;                       /* bytes after the last whole FPDU */
};

/** Cut a stream. peer_start: the other side's start-up frame, for CRC and markers; NULL: not known, no FPDUs then. */
void replay_script_read(struct replay_script *s, const struct tcp_stream *t, const struct mpa_start *peer_start);
void replay_script_free(struct replay_script *s);
/** Compare start-up frames and FPDUs one by one. frame_of tells in which captured frame stream offset off was first sent. open: the
 *  captured side's last message is not whole, ours may go on. */
void replay_scripts_compare(struct replay_case *c, const struct replay_script *want, const struct replay_script *ours, bool open,
                            uint32_t (*frame_of)(void *ctx, uint64_t off), void *ctx);

/** The index of the FPDU that a Terminate is about: the one that it quotes, or without a quotation the last of `before` FPDUs; n if none. */
uint32_t replay_refused(const struct rdmap_terminate *t, const struct replay_script *peer, uint32_t before);
/** A Terminate as RFC 5040 figure 10 wants it: which headers follow, and of what. f: what it is about, NULL: not known. */
void replay_terminate_by_rfc(struct rdmap_terminate *t, const struct replay_fpdu *f);

struct replay_tcp_item { struct replay_frame *f; uint8_t side; uint64_t end; /* its sender's stream is known up to here after it */ };

/** One TCP connection; side 0 is A. */
struct replay_conn {
    struct replay_tcp_item *item;
    uint32_t n, cap;
    uint32_t addr[2];
    uint16_t port[2];
    unsigned opener;                     /* who sent the SYN */
    bool     syn[2];                     /* both SYNs were captured */
    struct tcp_stream stream[2];
    struct replay_script script[2];
    char     what[160];
};

/** A work request that the replaced side posted. */
struct replay_post {
    uint64_t off;                        /* of its first FPDU */
    uint64_t at;                         /* its bytes in replay_iw_deeds.payload */
    bool     whole;
    struct rnic_send_wr wr;
};
struct replay_iw_deeds {
    struct replay_post *post;
    uint32_t nposts;
    uint8_t *payload;
    uint64_t payload_len, payload_cap;
    uint32_t receives;                   /* posted */
    uint32_t short_receive;              /* bytes of the last of them; UINT32_MAX: as the others */
    struct replay_memory memory;
};
/** false: its memory comes to more than REPLAY_MEMORY_MAX. */
bool replay_iwarp_learn(const struct replay_conn *c, unsigned side, struct replay_iw_deeds *d);
void replay_iw_deeds_free(struct replay_iw_deeds *d);
void replay_iwarp_run(struct replay *r, struct replay_conn *c, unsigned side);

#endif
