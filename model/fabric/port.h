/* SPDX-License-Identifier: GPL-2.0-only */
/** A port and its link. Ports pull: a free port asks its owner (a switch's queues, a host's NIC scheduler) for the next
 *  packet, so pause and pacing act where hardware acts. At most two events a packet-hop: the frame's last bit arrives,
 *  and the port becomes free (scheduled only if something waits).
 */
#ifndef RNICSIM_FABRIC_PORT_H
#define RNICSIM_FABRIC_PORT_H

#include "../sim/sim.h"
#include "../sim/rng.h"
#include "../wire/pkt.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fabric;
struct port;

#define PORT_PRIOS 8

struct port_ops {
    /** The next packet to send whose priority is not in the blocked mask; NULL if none. The owner knows pkt->prio. */
    struct pkt *(*pull)(void *owner, struct port *port, uint8_t blocked);
    /** A frame's last bit has arrived, FCS right. Ownership passes. */
    void (*arrive)(void *owner, struct port *port, struct pkt *p);
    /** A priority stops or resumes; may be NULL. */
    void (*paused)(void *owner, struct port *port, unsigned prio, bool stop);
    /** The event of an arrival itself (port, packet), for an owner in this room: arrive is not called then. */
    sim_fn *arrive_event;
};

/** Counters as `ethtool -S` names them. */
struct port_stats {
    uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;       /* bytes: frames with FCS */
    uint64_t tx_prio_pause[PORT_PRIOS], rx_prio_pause[PORT_PRIOS]; /* PFC frames that stop (quanta > 0) */
    uint64_t tx_prio_resume[PORT_PRIOS];
    int64_t  paused_ps[PORT_PRIOS];                            /* time this port's sender stood still */
    uint64_t rx_crc_errors, link_drops;
};

struct port; /* whole in port_internal.h (fabric's own) */

/** The port belongs to owner from now on. */
void port_attach(struct port *port, const struct port_ops *ops, void *owner);
/** The owner has something to send: if the port is free it pulls now, else when it becomes free. Cheap when busy. */
void port_kick(struct port *port);
/** Send a PFC frame ahead of all else (after the frame on the wire): classes of vector, quanta each (0 resumes). */
void port_send_pfc(struct port *port, uint8_t vector, const uint16_t quanta[8]);
/** The same for the whole link, the older PAUSE of IEEE 802.3 annex 31B. A port sends one form or the other. */
void port_send_pause(struct port *port, uint16_t quanta);

uint32_t port_node(const struct port *port);
uint32_t port_index(const struct port *port);
/** The node at the other end of the link. */
uint32_t port_peer_node(const struct port *port);
int64_t  port_rate_bps(const struct port *port);
int64_t  port_propagation_ps(const struct port *port);
uint8_t  port_paused_mask(const struct port *port);
/** Total time paused for a priority, an unfinished pause included. */
int64_t  port_paused_ps(const struct port *port, unsigned prio);
const struct port_stats *port_stats(const struct port *port);
struct sim *port_sim(const struct port *port);
struct fabric *port_fabric(const struct port *port);

/** Time on the wire of a frame of frame_len bytes with preamble and gap, rounded up to a whole ps. */
static inline int64_t port_wire_time_ps(uint32_t frame_len, int64_t rate_bps)
{
    __uint128_t bits = (__uint128_t)(frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES) * 8u * (uint64_t)SIM_PS_PER_S;
    return (int64_t)((bits + (uint64_t)rate_bps - 1) / (uint64_t)rate_bps);
}

#ifdef __cplusplus
}
#endif
#endif
