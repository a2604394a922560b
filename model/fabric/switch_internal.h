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

/** What a switch keeps of one port: egress queues, and as ingress its share of the buffer. */
struct switch_port {
    struct port *port;
    uint8_t  nonempty;           /* priorities with packets waiting */
    uint8_t  xoff;               /* priorities that we have paused at the other end */
    uint8_t  dwrr_at, dwrr_fresh;/* DWRR: whose turn it is, and whether its quantum is still to be given */
    uint32_t headroom;           /* limit of each lossless priority here */
    struct switch_queue queue[PORT_PRIOS];
    struct mmu_pg pg[PORT_PRIOS];
    struct sim_rng mark;
    struct sim_timer refresh;    /* PFC frames are renewed before they run out */
    uint32_t least_headroom;     /* least that was ever left */
    struct fabric_switch *sw;
} __attribute__((aligned(64)));

struct fabric_switch {
    struct fabric *fabric;
    struct sim *sim;
    struct switch_port *port;
    const struct route *route;
    struct route_table table;
    uint32_t node;
    uint8_t  lossless;           /* priorities under PFC */
    uint8_t  ecn;                /* priorities that mark */
    uint8_t  dwrr, strict;
    uint8_t  ecn_dequeue, wred;
    uint32_t cell;
    uint32_t longest;            /* frame that is forwarded */
    uint64_t shared_used;
    uint64_t used;               /* all bytes held */
    struct mmu_limits limits;
    uint64_t peak_used, peak_queue, peak_shared;
    uint32_t peak_pg[PORT_PRIOS];                 /* the fullest ingress of each priority */
    uint64_t kmin, kmax, pmax_32, non_ect_limit, wred_kmin, wred_kmax, wred_pmax_32;
    uint32_t peak_port, peak_prio;
    struct { uint64_t xoff; uint32_t port; } peak_pg_at[PORT_PRIOS]; /* its port and XOFF threshold then */
    uint32_t nports;
    uint32_t quantum[PORT_PRIOS];
    uint8_t  prio_of[64];
    struct switch_params params;
};

struct fabric_switch *switch_new(struct fabric *f, uint32_t node, const struct switch_params *params);
/** All ports are connected: sizes and checks the buffer. SIM_OK or a status with one sentence in err. */
int  switch_finish(struct fabric_switch *sw, char *err, size_t errlen);
void switch_free(struct fabric_switch *sw);

extern const struct port_ops switch_port_ops;

/** Whose turn it is among the priorities of mask (not 0). */
unsigned switch_sched_pick(struct fabric_switch *sw, struct switch_port *o, uint8_t mask);

/** Pause or resume the sender at an ingress port, and keep it paused. */
void switch_pfc_xoff(struct fabric_switch *sw, struct switch_port *in, unsigned prio);
void switch_pfc_xon(struct fabric_switch *sw, struct switch_port *in, unsigned prio);
void switch_pfc_init(struct switch_port *in);

#endif
