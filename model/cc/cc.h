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

/** What a switch on the path told of the port that a packet left by: in-band telemetry (INT) as HPCC (SIGCOMM'19) has it. Clock
 *  and byte count are the switch's, and wrap: only differences between two samples of one port mean anything. */
struct cc_hop {
    int64_t  rate_bps;
    uint64_t queue_bytes;        /* behind the packet */
    uint32_t ts_ns;              /* modulo CC_HOP_TS_WRAP */
    uint32_t tx_bytes;           /* modulo CC_HOP_BYTES_WRAP, what occupied the wire: preamble and gap counted */
};
#define CC_HOP_TS_WRAP    (UINT32_C(1) << 24)
#define CC_HOP_BYTES_WRAP (UINT32_C(1) << 27)
#define CC_HOPS_MAX 5

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
    uint8_t  path_hops;          /* switches that the acknowledgement crossed, by its TTL; 0: not known */
    uint8_t  nhops;              /* of hop; 0: no telemetry */
    uint16_t path_id;            /* tells paths apart */
    const struct cc_hop *hop;    /* in order of the path */
};

/** Named sets of parameters: from the defaults, what a paper's artifact or a vendor sets. */
struct cc_preset { const char *name, *about; void (*set)(void *params); };

struct cc_ops {
    const char *name;
    const struct param_table *params;     /* NULL if it has none */
    const struct cc_preset *presets;      /* ends at a NULL name; NULL if it has none */
    bool ecn;                             /* packets are sent ECN-capable */
    void (*init)(struct cc *c, int64_t now_ps);
    void (*ack)(struct cc *c, const struct cc_ack *a);
    void (*loss)(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes);      /* once per loss event (window) */
    void (*recovered)(struct cc *c, int64_t now_ps);                           /* recovery ended */
    void (*timeout)(struct cc *c, int64_t now_ps, uint64_t in_flight_bytes);   /* RTO */
    void (*cnp)(struct cc *c, int64_t now_ps);                                 /* RoCE congestion notification */
    void (*sent)(struct cc *c, int64_t now_ps, uint32_t bytes);                /* wire bytes left */
    void (*wake)(struct cc *c, int64_t now_ps);                                /* next_wake_ps has come */
    double (*alpha)(const struct cc *c, int64_t now_ps);                       /* for traces: alpha as of now, where it is kept lazily */
    bool telemetry;                       /* packets carry room for INT, ACKs bring it back */
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
    uint32_t wire_mss_bytes;     /* what a full packet occupies on the wire, preamble and gap counted; 0: not known */
    /* set by init if it wants other than the transport's own ways; RoCE heeds them */
    uint32_t ack_every;          /* an acknowledgement is asked for on each so many packets; 0: as the transport likes */
    int64_t  cnp_interval_ps;    /* of this end as receiver; 0: the transport's */
    int64_t  rtt_ps;             /* written by the transport, read by traces: the latest sample, 0: none */
    double   alpha;              /* written by the algorithm, read by traces: its estimate of congestion (DCTCP, DCQCN), else 0 */
    union { uint64_t align; uint8_t bytes[CC_STATE_BYTES]; } state;
};

/** The algorithms that exist, NULL-terminated: the one registry. */
extern const struct cc_ops *const cc_registry[];
const struct cc_ops *cc_find(const char *name);
/** Sets ops and params (NULL: defaults), then calls init. */
void cc_start(struct cc *c, const struct cc_ops *ops, const void *params, int64_t now_ps);
/** Defaults, then the preset. false: the algorithm has none of that name, params hold the defaults. */
bool cc_preset_apply(const struct cc_ops *ops, const char *name, void *params);
/** The estimate of congestion as of now. */
static inline double cc_alpha(const struct cc *c, int64_t now_ps) { return c->ops->alpha ? c->ops->alpha(c, now_ps) : c->alpha; }

#ifdef __cplusplus
}
#endif
#endif
