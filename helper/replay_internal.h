/* SPDX-License-Identifier: GPL-2.0-only */
/** Between the parts of the replay: capture and report (replay.c), memory (replay_memory.c), RoCE (replay_roce*.c), iWARP
 *  (replay_iwarp*.c). */
#ifndef RNICSIM_HELPER_REPLAY_INTERNAL_H
#define RNICSIM_HELPER_REPLAY_INTERNAL_H

#include "../model/rnic/verbs.h"
#include "../model/wire/codec.h"
#include "replay.h"

#define REPLAY_TIME_MAX_PS (INT64_C(30) * 86400 * SIM_PS_PER_S) /* a capture's length at most; half of what a clock of int64 ps could tell is left */

struct replay_frame {
    struct pkt p;
    struct wire_l3 l3;
    enum wire_status status;
    int64_t  at_ps;
    uint32_t no;
};

/** One capture. */
struct replay {
    const char *name;
    FILE *out, *err;
    enum replay_sides sides;
    struct replay_frame *frame;
    uint32_t nframes, cap;
    uint32_t cases, differing;           /* connections' sides replayed; of these, with differences */
    uint32_t compared;
    struct dissect_streams *streams;
};

/** One connection with one side replaced. */
struct replay_case {
    struct replay *r;
    const char *what;                    /* names the connection */
    unsigned side;                       /* 0: A */
    uint32_t compared, differ;           /* messages or packets */
    uint32_t coalesced;                  /* acknowledgements that only one of the two sent */
    uint32_t lost;                       /* captured frames that never arrived */
    uint32_t early_timeouts;             /* timers of the captured side that ran out before their time */
    uint32_t malformed;                  /* captured frames that no endpoint gets to see: bad checksums */
};

/** A field of a frame (0: of none) is not what it should be. */
void replay_differs(struct replay_case *c, uint32_t frame, const char *field, const char *expected, const char *seen);
void replay_differs_u64(struct replay_case *c, uint32_t frame, const char *field, uint64_t expected, uint64_t seen, bool hex);
/** Bytes at offset `at` of a field. */
void replay_differs_bytes(struct replay_case *c, uint32_t frame, const char *field, const uint8_t *expected, const uint8_t *seen, size_t len);
/** The case's summary line. */
void replay_end(struct replay_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool replay_wants(const struct replay *r, unsigned side);
/** Which side of its two nodes sent a frame: 0 is the node that sent first. */
unsigned replay_sender(const struct replay *r, const struct replay_frame *f);
/** Memory or abort. */
void *replay_alloc(void *p);
/** A packet's address as text. */
const char *replay_addr(const struct replay_frame *f, bool source, char out[46]);

/* --- memory that the capture shows (replay_memory.c) --- */

/** A region of the replaced side: what its peer was allowed to touch, and what was in it. */
struct replay_region {
    uint32_t key;
    uint64_t low, high;
    unsigned access;
    uint8_t *mem, *known;                /* known: bytes that have been written or seen */
};
struct replay_memory { struct replay_region *region; uint32_t n; };
#define REPLAY_MEMORY_MAX (UINT64_C(1) << 30) /* bytes of all of them */

/** The region of a key; made when there is none and create. */
struct replay_region *replay_region(struct replay_memory *m, uint32_t key, bool create);
/** An access of this kind to [va, va + len) was granted. */
void replay_granted(struct replay_memory *m, uint32_t key, uint64_t va, uint64_t len, unsigned access);
/** After all grants: give the regions their bytes. false: they come to more than REPLAY_MEMORY_MAX. */
bool replay_memory_fill(struct replay_memory *m);
/** The peer has written these bytes. */
void replay_written(struct replay_memory *m, uint32_t key, uint64_t va, uint64_t len);
/** The replaced side has shown these bytes: what nobody had written is what was there before. */
void replay_shown(struct replay_memory *m, uint32_t key, uint64_t va, const uint8_t *bytes, uint64_t len);
/** Register them. SIM_OK or SIM_ERR_NOMEM. */
int  replay_memory_register(struct replay_memory *m, struct rnic_pd *pd);
void replay_memory_free(struct replay_memory *m);

/* --- transports --- */

void replay_roce(struct replay *r);
void replay_iwarp(struct replay *r);

/** A packet of ours as its receiver sees it: through its bytes. p's payload is released. */
void replay_as_seen(struct replay_case *c, struct pkt *p, const struct wire_l3 *l3, bool ipv6, struct replay_frame *out);
/** Compare two RoCE packets in all fields that are no free choice; true if equal. */
bool replay_roce_compare(struct replay_case *c, const struct replay_frame *want, const struct pkt *ours, const struct wire_l3 *ours_l3);

#endif
