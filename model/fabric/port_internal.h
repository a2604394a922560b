/* SPDX-License-Identifier: GPL-2.0-only */
/** The inside of a port; fabric's own. */
#ifndef RNICSIM_FABRIC_PORT_INTERNAL_H
#define RNICSIM_FABRIC_PORT_INTERNAL_H

#include "link_params.h"
#include "port.h"

/** How long frames of one length take on one kind of link, and the lanes for it. A lane is asked for once the length has shown
 *  that it comes again; until then the heap serves. */
struct link_lane {
    uint32_t len, uses;
    int64_t  arrive_ps;          /* begin of the frame to its handling by the peer: preamble, frame (cut-through: its head), propagation, pipeline */
    int64_t  whole_ps;           /* begin of the frame to its last bit at the peer */
    int64_t  free_ps;            /* begin of the frame to begin of the next: preamble, frame, gap */
    struct sim_lane *arrive, *free;
};

#define LINK_LANES 64

/** What ports on links of equal rate, propagation and receiving pipeline and cut share. */
struct link_class {
    struct sim *sim;
    struct fabric *fabric;
    int64_t rate_bps, propagation_ps, pipeline_ps;
    uint32_t cut_bytes;          /* the receiver cuts through after so many; 0: it stores */
    struct link_class *next;
    struct link_lane lane[LINK_LANES];
};

/** Loss and errors of one direction of a link. */
struct link_impair {
    double   loss;
    double   burst_begin, burst_end, burst_loss;
    bool     bad;                /* Gilbert-Elliott's state */
    bool     down;               /* the link has failed */
    int64_t  cut_ps;             /* when it last failed; -1: never */
    uint64_t loss_every, until_loss;
    double   mean_bits;          /* between bit errors; 0: none */
    double   bits_left;          /* until the next bit error */
    struct sim_rng rng;
};

/** PFC state of a port, made when it first sends or receives a PFC frame. */
struct port_pause {
    struct sim_timer timer[PORT_PRIOS];  /* when blocked: expiry; else: the reaction is over */
    int64_t  until_ps[PORT_PRIOS], since_ps[PORT_PRIOS];
    int64_t  reaction_ps;
    uint16_t tx_quanta[PORT_PRIOS];
    uint8_t  tx_vector;          /* classes of the PFC frame that waits for the wire */
    bool     tx_link;            /* a PAUSE of the whole link waits instead */
};

enum port_flag {
    PORT_F_FREE_EVENT = 1,       /* the event at free_at_ps is pending */
    PORT_F_BUSY_KICKS = 2,       /* was kicked while busy with no event pending: expect it again */
    PORT_F_PULLING = 4,
    PORT_F_KICKED = 8,           /* kicked while pulling */
    PORT_F_PFC_WAITS = 16,
    PORT_F_HOST = 32,
    PORT_F_READY = 64,           /* fabric_finish has been called */
    PORT_F_CUT = 128             /* receives heads of frames: its switch cuts through */
};

struct port {
    /* line 0: transmit */
    struct port *peer;
    struct link_class *cls;
    void    *owner;
    const struct port_ops *ops;
    int64_t  free_at_ps;
    uint64_t free_key, arrive_key; /* of the event at free_at_ps, and of a frame's arrival at the peer */
    uint16_t index;
    uint8_t  flags;              /* enum port_flag */
    uint8_t  blocked;            /* priorities that are paused */
    uint8_t  more;               /* set before pull; an owner that knows it has nothing else clears it */
    uint8_t  queued;             /* of a switch: priorities with packets waiting here */
    uint8_t  xoff;               /* of a switch: priorities that it has paused at the other end */
    /* line 1: receive, and the counters that every frame touches */
    struct fabric *fabric;
    struct port_pause *pause;
    struct link_impair *impair;
    uint32_t free_fn, arrive_fn; /* numbers of the event functions that go with the keys */
    struct port_stats stats;
    uint32_t node;
    uint16_t reaction_quanta;    /* as in link_params */
    uint8_t  heeds;              /* priorities that PFC frames may stop here */
    uint8_t  heeds_link;         /* PAUSE of the whole link stops it */
};

/** The entry for frames of this length. */
struct link_lane *link_lane_slow(struct link_class *c, struct link_lane *l, uint32_t len);
static inline struct link_lane *link_lane(struct link_class *c, uint32_t len)
{
    struct link_lane *l = &c->lane[(len ^ len >> 6) & (LINK_LANES - 1)];
    return __builtin_expect(l->len == len && l->arrive != NULL, 1) ? l : link_lane_slow(c, l, len);
}
/** The class for these values, made if new. */
struct link_class *link_class_get(struct fabric *f, int64_t rate_bps, int64_t propagation_ps, int64_t pipeline_ps, uint32_t cut_bytes);
/** What befalls a frame that begins; may set PKT_F_CORRUPT. */
enum link_fate { LINK_PASSES, LINK_LOSES, LINK_IS_DOWN };
enum link_fate link_impair_frame(struct link_impair *i, struct pkt *p);
struct link_impair *link_impair_new(const struct link_params *params, uint64_t seed, uint32_t node, uint32_t port);

/** Nothing keeps a packet of this priority from being sent at once: no frame, no event to come, no pause. */
static inline bool port_is_idle(const struct port *port, unsigned prio)
{
    return !(port->flags & (PORT_F_FREE_EVENT | PORT_F_PULLING | PORT_F_PFC_WAITS)) && !(port->blocked >> prio & 1) && sim_now(port->cls->sim) >= port->free_at_ps;
}
/** What seldom befalls an arriving frame; NULL: it is nobody's any more. */
struct pkt *port_arrive_unusual(struct port *port, struct pkt *p);
/** The port has its peer. */
void port_finish(struct port *port);
/** Send a packet of an idle port whose owner has nothing else for it. */
void port_send_now(struct port *port, struct pkt *p);

/** A PFC frame has arrived (the packet is freed). */
void pfc_receive(struct port *port, struct pkt *p);
/** The frame that waits, as a packet; the port sends it. */
struct pkt *pfc_take(struct port *port);
/** Time of `quanta` at this port's rate. */
int64_t pfc_quanta_ps(const struct port *port, uint32_t quanta);

/** Push a frame through bytes; returns the packet decoded from them. Aborts with a message when it differs. */
struct pkt *bytes_hop(struct fabric *f, struct pkt *p);

void port_fini(struct port *port);
/** The fabric goes, and with it the packets on its wires. */
void port_free_in_flight(struct fabric *f);

#endif
