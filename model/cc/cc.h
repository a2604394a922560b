/* SPDX-License-Identifier: GPL-2.0-only */
/** Congestion control: a const vtable, one algorithm a file. TCP and RoCE use the same one. An algorithm reads only what it is
 *  told here, and writes cwnd_bytes (window) and rate_bps (pacing); the transport obeys both. No clock: time is an argument.
 */
#ifndef RNICSIM_CC_CC_H
#define RNICSIM_CC_CC_H

#include "../sim/sim.h"
#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CC_NO_WINDOW INT64_MAX   /* cwnd_bytes: window not limited */
#define CC_NO_RATE   INT64_MAX   /* rate_bps: not paced */
#define CC_STATE_BYTES 192

struct cc;

/** What an acknowledgement told. */
struct cc_ack {
    int64_t  now_ps;
    uint64_t acked_bytes;        /* newly acknowledged, cumulative or selective */
    uint64_t in_flight_bytes;    /* after this ACK */
    int64_t  rtt_ps;             /* sample, or -1 */
    uint64_t ece_bytes;          /* of acked_bytes, those reported as CE-marked */
    uint64_t snd_nxt, snd_una;   /* stream offsets, for once-a-window rules */
    bool     in_recovery;        /* loss recovery under way: windows do not grow */
    bool     cwnd_limited;       /* the sender used its whole window (RFC 9293/5681; RFC 7661 in spirit) */
};

struct cc_ops {
    const char *name;
    const struct param_table *params;     /* NULL if it has none */
    bool ecn;                             /* packets are sent ECN-capable */
    void (*init)(struct cc *c, int64_t now_ps);
    void (*ack)(struct cc *c, const struct cc_ack *a);
    void (*loss)(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes);      /* once per loss event (window) */
    void (*recovered)(struct cc *c, int64_t now_ps);                           /* recovery ended */
    void (*timeout)(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes);   /* RTO */
    void (*cnp)(struct cc *c, int64_t now_ps);                                 /* RoCE congestion notification */
    void (*sent)(struct cc *c, int64_t now_ps, uint32_t bytes);                /* wire bytes left */
    void (*wake)(struct cc *c, int64_t now_ps);                                /* next_wake_ps has come */
    bool ecn_exact;                       /* receivers echo each mark as it comes (RFC 8257 3.2), not latched (RFC 3168 6.1.3) */
};

struct cc {
    const struct cc_ops *ops;
    const void *params;          /* the algorithm's parameter struct, shared and const */
    int64_t  cwnd_bytes, ssthresh_bytes, rate_bps;
    int64_t  next_wake_ps;       /* SIM_NEVER_PS if none */
    /* set by the transport before init */
    int64_t  link_bps;           /* line rate of the NIC */
    uint32_t mss_bytes;
    uint32_t initial_window_bytes;
    int64_t  base_rtt_ps;        /* of the path unloaded, 0 if unknown */
    double   alpha;              /* written by the algorithm, read by traces: its estimate of congestion (DCTCP, DCQCN), else 0 */
    union { uint64_t align; uint8_t bytes[CC_STATE_BYTES]; } state;
};

/** The algorithms that exist, NULL-terminated: the one registry. */
extern const struct cc_ops *const cc_registry[];
const struct cc_ops *cc_find(const char *name);
/** Sets ops and params (NULL: defaults), then calls init. */
void cc_start(struct cc *c, const struct cc_ops *ops, const void *params, int64_t now_ps);

#ifdef __cplusplus
}
#endif
#endif
