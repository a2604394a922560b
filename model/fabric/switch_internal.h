/* SPDX-License-Identifier: GPL-2.0-only */
/** The inside of a switch; fabric's own. */
#ifndef RNICSIM_FABRIC_SWITCH_INTERNAL_H
#define RNICSIM_FABRIC_SWITCH_INTERNAL_H

#include "fabric_internal.h"
#include "mmu.h"
#include "route.h"

/** An egress queue: a port and priority. */
struct switch_queue {
    struct pkt *head, *tail;
    uint32_t bytes;              /* charged */
    uint32_t packets;
    int64_t  deficit;            /* DWRR */
};

/** What a switch keeps of one port: egress queues, and as ingress its share of the buffer. A packet touches the line of its priority's share
 *  at its ingress port, and if it must wait the line of its queue at its egress port. */
struct switch_port {
    struct port *port;
    struct fabric_switch *sw;
    struct switch_extra *extra;  /* full switches only */
    uint8_t  dwrr_at, dwrr_fresh;/* DWRR: whose turn it is, and whether its quantum is still to be given */
    uint32_t headroom;           /* limit of each lossless priority here */
    uint32_t least_headroom;     /* least that was ever left */
    uint8_t  lossless;           /* priorities that this link's PFC protects */
    struct switch_queue queue[PORT_PRIOS] __attribute__((aligned(64)));
    struct mmu_pg pg[PORT_PRIOS];
    struct sim_rng mark;
    struct sim_timer refresh;    /* PFC frames are renewed before they run out */
    uint32_t missed[PORT_PRIOS]; /* dropped for want of headroom since XOFF */
} __attribute__((aligned(64)));

/** What only the rarer features need of a port. */
struct switch_codel { int64_t first_above_ps, drop_next_ps; uint32_t count, last_count; bool dropping; };
struct switch_pie { double p, qdelay_s, old_qdelay_s, accumulated; int64_t burst_ps; };
enum switch_watch_state { SWITCH_WATCH_IDLE, SWITCH_WATCH_STANDS, SWITCH_WATCH_STORM };

struct switch_extra {
    uint32_t port_reserved;                       /* bytes used of what the ingress port has reserved */
    uint32_t queue_reserved[PORT_PRIOS];          /* bytes used of what the egress queue has reserved */
    double   average[PORT_PRIOS];                 /* RED's average length */
    int64_t  empty_since_ps[PORT_PRIOS];
    struct switch_codel codel[PORT_PRIOS];
    struct switch_pie pie[PORT_PRIOS];
    struct sim_timer pie_timer;
    double   tokens[PORT_PRIOS];                  /* bytes on the wire */
    int64_t  tokens_ps[PORT_PRIOS];
    struct sim_timer shaper;
    double   phantom_bytes;
    int64_t  phantom_ps;
    struct { struct sim_timer timer; struct switch_port *of; uint8_t state; } watch[PORT_PRIOS];
    uint8_t  storm;                               /* priorities in a storm */
    int64_t  released_ps;                         /* middlebox: when the latest packet of this ingress port leaves it */
    struct sim_rng jitter;
};

struct switch_flowlet { int64_t last_ps; uint16_t port; uint16_t used; };
struct switch_static_route { uint32_t host; uint16_t port; };

struct fabric_switch {
    /* line 0: the way of a packet and its class */
    struct sim *sim;
    struct switch_port *port;
    struct port *const *link;    /* the fabric's side of the same ports */
    const struct route *route;
    const uint8_t *prio_of;      /* by DSCP */
    uint32_t node;
    uint32_t longest;            /* frame that is forwarded */
    struct route_table table;    /* its first 16 bytes */
    /* line 2: the buffer */
    uint64_t shared_used __attribute__((aligned(64)));
    uint64_t used;               /* all bytes held */
    uint64_t peak_used, peak_queue, peak_shared;
    uint64_t kmin;
    struct fabric *fabric;
    uint8_t  lossless;           /* priorities under PFC */
    uint8_t  ecn;                /* priorities that mark */
    uint8_t  dwrr, strict;
    uint8_t  ecn_dequeue, wred;
    uint16_t cell;
    /* lines 3 and 4 */
    struct mmu_limits limits __attribute__((aligned(64)));
    uint32_t peak_pg[PORT_PRIOS];                 /* the fullest ingress of each priority */
    uint8_t  own_prio_of[64];    /* if not every switch's */
    uint64_t kmax, pmax_32, non_ect_limit, wred_kmin, wred_kmax, wred_pmax_32;
    uint32_t peak_port, peak_prio;
    struct { uint64_t xoff; uint32_t port; } peak_pg_at[PORT_PRIOS]; /* its port and XOFF threshold then */
    uint32_t nports;
    uint32_t quantum[PORT_PRIOS];
    /* full switches only */
    uint8_t  full, shaped;
    uint8_t  prio_of_pcp[8];
    uint64_t headroom_used[PORT_PRIOS];           /* of the pool */
    int64_t  shape_bps[PORT_PRIOS];
    struct sim_rng spray;
    struct switch_flowlet *flowlet;
    uint32_t *turn;                               /* round robin: by group */
    uint32_t turns;
    struct switch_static_route *fixed;
    uint32_t nfixed;
    uint64_t storms;                              /* the watchdog saw */
    struct switch_params params;
};

struct fabric_switch *switch_new(struct fabric *f, uint32_t node, const struct switch_params *params);
/** All ports are connected: sizes and checks the buffer. SIM_OK or a status with one sentence in err. */
int  switch_finish(struct fabric_switch *sw, char *err, size_t errlen);
void switch_free(struct fabric_switch *sw);
/** The packets between a switch's ports and its queues: being stored whole, or in a middlebox. */
void switch_free_inside(struct fabric *f);

/** Of a switch with the common features only, and of one with any other: the same code, compiled twice. */
extern const struct port_ops switch_port_ops, switch_full_ops;

static inline bool switch_lossless(const struct switch_port *in, unsigned prio) { return in->lossless >> prio & 1; }

/** Whose turn it is among the priorities of mask (not 0). */
unsigned switch_sched_pick(struct fabric_switch *sw, struct switch_port *o, uint8_t mask);
/** Of the priorities of mask, those whose shaper lets their first packet go; for the others a timer is set. */
uint8_t switch_shaper_mask(struct fabric_switch *sw, struct switch_port *o, uint8_t mask);
void switch_shaper_sent(struct fabric_switch *sw, struct switch_port *o, unsigned prio, uint32_t frame_len);

/** Pause or resume the sender at an ingress port, and keep it paused. */
void switch_pfc_xoff(struct fabric_switch *sw, struct switch_port *in, unsigned prio);
void switch_pfc_xon(struct fabric_switch *sw, struct switch_port *in, unsigned prio);
void switch_pfc_init(struct switch_port *in);

/** --- switch_aqm.c --- */
/** The queue length that RED looks at as a packet arrives: an average. */
uint64_t switch_aqm_average(struct fabric_switch *sw, struct switch_port *o, unsigned prio);
/** PIE's lot for a packet that arrives: true, drop it; it may mark instead. */
bool switch_pie_drops(struct fabric_switch *sw, struct switch_port *o, struct pkt *p);
/** A packet leaves its queue: PIE learns its delay; CoDel may want it dropped (true) or marks it. */
bool switch_aqm_leaves(struct fabric_switch *sw, struct switch_port *o, unsigned prio, struct pkt *p);
void switch_phantom(struct fabric_switch *sw, struct switch_port *o, struct pkt *p);
void switch_aqm_init(struct switch_port *o);
/** Marks a packet CE and notes it. */
void switch_mark(struct fabric_switch *sw, uint32_t port, uint64_t queue_bytes, struct pkt *p);

/** --- switch_paths.c --- */
/** The egress port for a packet, -1 if there is none. */
int  switch_paths_choose(struct fabric_switch *sw, const struct pkt *p, unsigned prio);
int  switch_paths_init(struct fabric_switch *sw);
/** Routes have changed. */
int  switch_paths_renew(struct fabric_switch *sw);

/** --- switch_watchdog.c --- */
void switch_watchdog_init(struct switch_port *o);
/** An egress priority was paused or resumed; something stands in a queue that was empty; a packet has left it. */
void switch_watchdog_paused(struct switch_port *o, unsigned prio, bool stop);
void switch_watchdog_waits(struct switch_port *o, unsigned prio);
void switch_watchdog_sent(struct switch_port *o, unsigned prio);
/** Drops everything in an egress queue. */
void switch_drain(struct fabric_switch *sw, struct switch_port *o, unsigned prio, enum fabric_drop_cause cause);

#endif
