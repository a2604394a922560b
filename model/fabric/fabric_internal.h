/* SPDX-License-Identifier: GPL-2.0-only */
/** The inside of a fabric; fabric's own. */
#ifndef RNICSIM_FABRIC_FABRIC_INTERNAL_H
#define RNICSIM_FABRIC_FABRIC_INTERNAL_H

#include "fabric.h"
#include "fabric_params.h"
#include "port_internal.h"
#include "switch_params.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((cold, noinline))
#define NOINLINE __attribute__((noinline)) /* kept out of functions that mostly do without its registers */

struct fabric_switch;
struct route;

struct fabric_node {
    struct port **port;
    uint16_t nports, cap;
    struct fabric_switch *sw;    /* NULL: a host */
};

enum fabric_watch {
    FABRIC_WATCH_TAP = 1, FABRIC_WATCH_BYTES = 2, FABRIC_WATCH_LOSS = 4, FABRIC_WATCH_RULES = 8, FABRIC_WATCH_LINKS = 16,
    FABRIC_WATCH_ARRIVAL = FABRIC_WATCH_BYTES | FABRIC_WATCH_LINKS
};

#define FABRIC_ARENA_PORTS 128

struct fabric_arena { struct fabric_arena *next; uint32_t used; };

struct fabric {
    struct sim *sim;
    uint8_t  watch;              /* enum fabric_watch: what every frame must be shown to */
    uint8_t  finished;
    uint8_t  class_map_set;
    uint8_t  encapsulation;      /* enum fabric_encapsulation */
    uint8_t  class_of[64];       /* DSCP to the audit's priority: the switches' map */
    struct fabric_audit audit;
    int64_t  waiting;            /* packets in hosts, not yet sent */
    uint64_t pfc_live;           /* PFC frames that exist now */
    uint64_t window_peak_bytes;  /* largest egress queue since fabric_queue_peak_take */
    struct fabric_node *node;
    uint32_t nnodes, max_nodes;
    struct link_class *classes;
    struct fabric_arena *arena;  /* of ports */
    struct route *route;
    fabric_tap *tap;
    void *tap_ctx;
    fabric_loss_fn *loss;
    void *loss_ctx;
    struct fabric_params params;
    struct loss_rules *rules;
    struct fabric_fixed *fixed;  /* routes that a scenario sets by hand */
    uint32_t nfixed;
    struct sim_timer deadlock_timer;
    struct fabric_deadlock deadlock;
};

struct fabric_fixed { uint32_t sw, host, via; };

static inline unsigned fabric_class(const struct fabric *f, const struct pkt *p) { return f->class_of[p->dscp & 63]; }

/** The books, for port.c. */
static inline void fabric_count_sent(struct fabric *f, const struct pkt *p)
{
    unsigned c = fabric_class(f, p);
    f->audit.sent[c]++;
    f->audit.sent_bytes[c] += p->frame_len;
}

/* --- arrivals, for port.c and switch.c --- */

/** A frame has come in: the begin of an arrival's event. NULL: it is nobody's any more. */
static inline struct pkt *port_arrived(struct sim *s, struct port *port, struct pkt *p)
{
    port->stats.rx_packets++;
    port->stats.rx_bytes += p->frame_len;
    if (UNLIKELY(sim_tracing(s) || (p->flags & PKT_F_CORRUPT) || p->kind == PKT_PFC || (port->fabric->watch & FABRIC_WATCH_ARRIVAL))
        && !(p = port_arrive_unusual(port, p)))
        return NULL;
    p->in_port = port->index;
    return p;
}

/** The fabric goes: frees the packets (arg) of its ports' (ctx) pending events of function fn. */
void fabric_free_carried(struct fabric *f, sim_fn *fn);

/** A switch gives a packet another DSCP: it moves to that class's books. */
static inline void fabric_remark(struct fabric *f, struct pkt *p, uint8_t dscp)
{
    unsigned c = fabric_class(f, p);
    f->audit.sent[c]--;
    f->audit.sent_bytes[c] -= p->frame_len;
    p->dscp = dscp;
    fabric_count_sent(f, p);
}

#endif
