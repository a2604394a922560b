/* SPDX-License-Identifier: GPL-2.0-only */
/** Nodes, links, switches, routes, and the audit of every packet. */
#ifndef RNICSIM_FABRIC_FABRIC_H
#define RNICSIM_FABRIC_FABRIC_H

#include "../sim/param.h"
#include "../sim/pool.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Why a packet was lost: always exactly one. X(id, name in summary.json, meaning) */
#define FABRIC_DROP_CAUSES(X) \
    X(BUFFER,    "buffer",     "a switch buffer or queue limit was full") \
    X(AQM,       "aqm",        "dropped by WRED or AQM because it was not ECN-capable") \
    X(BIT_ERROR, "bit_error",  "corrupted on a link, dropped at the FCS check") \
    X(CHECKSUM,  "checksum",   "ICRC, MPA CRC or TCP checksum wrong at the host") \
    X(INJECTED,  "injected",   "random or listed loss injected by the scenario") \
    X(TTL,       "ttl",        "TTL ran out") \
    X(NO_ROUTE,  "no_route",   "no route to the destination") \
    X(LINK_DOWN, "link_down",  "the link was down") \
    X(WATCHDOG,  "watchdog",   "dropped by the PFC watchdog") \
    X(POLICY,    "policy",     "a middlebox does not let it pass") \
    X(NIC_RX,    "nic_rx",     "the receiving NIC's buffer was full") \
    X(REASSEMBLY,"reassembly", "the TCP offload engine's reassembly memory was full") \
    X(NO_ENDPOINT,"no_endpoint","no connection or QP for it at the host") \
    X(MTU,       "mtu",        "larger than a switch forwards")
enum fabric_drop_cause {
#define X(id, name, meaning) FABRIC_DROP_##id,
    FABRIC_DROP_CAUSES(X)
#undef X
    FABRIC_DROP_CAUSE_COUNT
};
extern const char *const fabric_drop_name[FABRIC_DROP_CAUSE_COUNT];

/** Which limit of a switch's buffer refused a packet (cause buffer). X(id, name, meaning) */
#define FABRIC_LIMITS(X) \
    X(QUEUE,         "queue",         "the egress queue's limit") \
    X(SHARED,        "shared",        "nothing left of the shared buffer") \
    X(INGRESS,       "ingress",       "the limit of the ingress port and priority") \
    X(HEADROOM,      "headroom",      "the headroom of the ingress port and priority") \
    X(HEADROOM_POOL, "headroom_pool", "the headroom pool of the priority")
enum fabric_limit {
#define X(id, name, meaning) FABRIC_LIMIT_##id,
    FABRIC_LIMITS(X)
#undef X
    FABRIC_LIMIT_COUNT
};
extern const char *const fabric_limit_name[FABRIC_LIMIT_COUNT];

/** Packets and bytes (frames) per priority: sent = delivered + dropped + in flight; a packet whose DSCP a switch sets anew moves from one
 *  priority's books to the other's. PFC frames are apart. */
struct fabric_audit {
    uint64_t sent[PORT_PRIOS], sent_bytes[PORT_PRIOS];
    uint64_t delivered[PORT_PRIOS], delivered_bytes[PORT_PRIOS];
    uint64_t dropped[FABRIC_DROP_CAUSE_COUNT][PORT_PRIOS], dropped_bytes[FABRIC_DROP_CAUSE_COUNT][PORT_PRIOS];
    uint64_t lossless_buffer_drops, headroom_short_bytes; /* an error: the headroom that would have been needed */
    uint64_t refused[FABRIC_LIMIT_COUNT];
    uint64_t marks, pause_frames, resume_frames;
    uint64_t storms;             /* that PFC watchdogs saw */
    uint64_t packet_hops;        /* packets that crossed a link, control frames included */
};

struct fabric_params;            /* fabric_params.h */
struct switch_params;            /* switch_params.h */
struct link_params;              /* link_params.h */

struct fabric *fabric_new(struct sim *s, uint32_t max_nodes) SIM_MUST_CHECK;
void fabric_free(struct fabric *f);

/** What all switches and hosts do alike; before the first node, else the defaults hold. */
void fabric_set_params(struct fabric *f, const struct fabric_params *params);

/** Node ids count from 0 in the order of creation. Hosts have any number of ports; a host's owner attaches to them. */
uint32_t fabric_add_host(struct fabric *f);
uint32_t fabric_add_switch(struct fabric *f, const struct switch_params *params);
/** A full-duplex link. Returns the index of the new port at node a via *port_a, at b via *port_b (may be NULL). */
int  fabric_connect(struct fabric *f, uint32_t a, uint32_t b, const struct link_params *params, uint32_t *port_a, uint32_t *port_b);
/** A route set by hand: at switch sw, packets for host go to its neighbour via. Before fabric_finish. SIM_OK, or SIM_ERR_PARAM when via is no
 *  neighbour of sw. */
int  fabric_fix_route(struct fabric *f, uint32_t sw, uint32_t host, uint32_t via);
/** Shortest paths with all equal-cost next hops, from every switch to every host. Returns SIM_OK, or SIM_ERR_STATE with
 *  the first unreachable pair. Called once, after all connects; also sizes switch buffers and checks them: on an impossible
 *  buffer writes one sentence with the bytes short into err and returns SIM_ERR_PARAM. */
int  fabric_finish(struct fabric *f, char *err, size_t errlen);

uint32_t fabric_nodes(const struct fabric *f);
bool     fabric_is_host(const struct fabric *f, uint32_t node);
uint32_t fabric_ports(const struct fabric *f, uint32_t node);
struct port *fabric_port(const struct fabric *f, uint32_t node, uint32_t port);
struct sim *fabric_sim(const struct fabric *f);

/** Packets come from and return to the simulation's pool. pkt_new gives a packet whose line 0 and header are zeroed. */
struct pkt *fabric_pkt_new(struct fabric *f);
void fabric_pkt_free(struct fabric *f, struct pkt *p);

/** The books. A host counts a packet sent when it gives it to its port (the port does this in pull), delivered when the
 *  transport takes it; a drop anywhere goes through fabric_drop, which frees the packet. */
void fabric_count_delivered(struct fabric *f, const struct pkt *p);
/** A host keeps a packet between its pipeline and its port: delta +1 when it begins to, -1 when the port takes it. Such a packet exists
 *  but is not sent yet. */
void fabric_count_waiting(struct fabric *f, int delta);
void fabric_drop(struct fabric *f, uint32_t node, uint32_t port, struct pkt *p, enum fabric_drop_cause cause);
const struct fabric_audit *fabric_audit(const struct fabric *f);
/** Packets in the fabric and in hosts now, by walking nothing: sent - delivered - dropped must equal pool use.
 *  Writes "ok" or what failed into out; returns true when ok. */
bool fabric_audit_check(const struct fabric *f, char *out, size_t len);

/** --- failures --- */

/** A link, named by one of its ports, fails (up false) or returns now: what is on it or begins on it is lost, and after reroute_ps the routes
 *  know. */
void fabric_link_set(struct fabric *f, uint32_t node, uint32_t port, bool up);
/** The same at a time to come. */
void fabric_link_set_at(struct fabric *f, uint32_t node, uint32_t port, bool up, int64_t at_ps);
bool fabric_link_is_up(const struct fabric *f, uint32_t node, uint32_t port);

/** Packets to lose, by rule: those of kind, from src to dst (FABRIC_ANY: any), in [from_ps, until_ps), as they leave their host; of these the
 *  nth (from 1) of each flow (5-tuple), or each every-th of a host, or, with both 0, all. */
#define FABRIC_ANY UINT32_MAX
enum fabric_loss_kind { FABRIC_LOSE_DATA, FABRIC_LOSE_CONTROL, FABRIC_LOSE_BOTH };
struct fabric_loss_rule { uint32_t src, dst; uint64_t nth, every; int64_t from_ps, until_ps; enum fabric_loss_kind kind; };
/** SIM_OK or SIM_ERR_NOMEM. */
int fabric_add_loss(struct fabric *f, const struct fabric_loss_rule *rule) SIM_MUST_CHECK;

/** --- deadlock --- */

/** Pauses that wait for each other in a circle: each egress queue is stopped by the next one's switch, whose buffer of that ingress holds
 *  only packets for stopped queues of the circle. at_ps: since when all of them stand; -1: there was none. */
#define FABRIC_CYCLE_MAX 32
struct fabric_deadlock {
    int64_t at_ps;
    uint32_t length;             /* queues in the circle; the first FABRIC_CYCLE_MAX are listed */
    struct { uint32_t node, port, prio; } queue[FABRIC_CYCLE_MAX];
    uint32_t queues;             /* queues that stand for good, those that wait for the circle included */
};
/** The first that was found. */
const struct fabric_deadlock *fabric_deadlock(const struct fabric *f);
/** Look now. True when there is one. */
bool fabric_deadlock_find(const struct fabric *f, struct fabric_deadlock *out);

/** Links crossed from host a to host b, with the rate and propagation of each, along one shortest path.
 *  Returns the number of links, 0 if unreachable. For ideals and BDPs. */
struct fabric_hop {
    int64_t rate_bps, propagation_ps, latency_ps;
    int64_t cut_bytes;           /* the receiver forwards after so many bytes; 0: it stores the frame */
};
uint32_t fabric_path(const struct fabric *f, uint32_t a, uint32_t b, struct fabric_hop *hops, uint32_t max);

/** Queue statistics over all switches, for the summary. */
struct fabric_queue_peak { uint64_t peak_queue_bytes, peak_buffer_bytes, buffer_bytes, least_headroom_bytes, headroom_bytes, xoff_bytes; uint32_t node, port, prio; };
void fabric_queue_peaks(const struct fabric *f, struct fabric_queue_peak *out);
/** Of a lossless priority over all switches: the ingress port that came nearest to its XOFF threshold (what it held of its reserved and shared
 *  bytes, and the threshold at that moment), and the port with the least headroom left. */
struct fabric_class_peak {
    bool lossless;               /* anywhere; else the rest is 0 */
    uint64_t peak_bytes, xoff_bytes;
    uint64_t headroom_bytes, least_headroom_bytes;
    uint32_t node, port;         /* the ingress port that came nearest */
};
void fabric_class_peaks(const struct fabric *f, struct fabric_class_peak out[PORT_PRIOS]);
/** Most that the shared part of any switch's buffer held, and its size there. */
void fabric_shared_peak(const struct fabric *f, uint64_t *peak_bytes, uint64_t *shared_bytes);
/** Largest egress queue of any switch since the last call (or the start), for plots of depth over time. */
uint64_t fabric_queue_peak_take(struct fabric *f);
/** Bytes now in the egress queue of (node, port, prio) of a switch. */
uint64_t fabric_queue_bytes(const struct fabric *f, uint32_t node, uint32_t port, uint32_t prio);

/** A tap sees every frame as it begins on a link (for pcap). NULL removes it. */
typedef void fabric_tap(void *ctx, int64_t now_ps, const struct port *from, const struct pkt *p);
void fabric_tap_set(struct fabric *f, fabric_tap *tap, void *ctx);
/** A test's or scenario's own loss: called for each frame that begins on a link, PFC frames too; true loses it (cause: injected).
 *  NULL removes it. */
typedef bool fabric_loss_fn(void *ctx, const struct port *from, const struct pkt *p);
void fabric_loss_set(struct fabric *f, fabric_loss_fn *lose, void *ctx);
/** Debug mode: every hop goes through bytes (encode, decode, compare). Must give the same digest. */
void fabric_through_bytes(struct fabric *f, bool on);

#ifdef __cplusplus
}
#endif
#endif
