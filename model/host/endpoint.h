/* SPDX-License-Identifier: GPL-2.0-only */
/** A transport endpoint: a QP's requester and responder, a TCP connection. It has no clock and does no I/O: it is given
 *  the time and a packet, is asked for the next packet, is woken, and tells when it next wants to be woken. So the same
 *  object runs in the simulator, in a packet script, against a replayed capture and under a fuzzer.
 */
#ifndef RNICSIM_HOST_ENDPOINT_H
#define RNICSIM_HOST_ENDPOINT_H

#include "../sim/sim.h"
#include "../wire/pkt.h"

#ifdef __cplusplus
extern "C" {
#endif

struct endpoint;

struct endpoint_ops {
    /** A packet for this endpoint. It may take its payload buffers out (nulling the chunks); the packet stays the caller's. */
    void (*rx)(struct endpoint *ep, int64_t now_ps, struct pkt *p);
    /** Fill *out (zeroed line 0 and header) with the next packet, all fields but ip_id and prio. false when there is none
     *  that may go now. Sets dscp, ecn, ttl, addresses, flow_hash and calls pkt_set_len. */
    bool (*tx)(struct endpoint *ep, int64_t now_ps, struct pkt *out);
    /** The time asked for has come. */
    void (*wake)(struct endpoint *ep, int64_t now_ps);
    /** Earliest time tx may have a packet, now or past: at once; SIM_NEVER_PS: nothing to send or waiting for a peer. */
    int64_t (*ready_ps)(const struct endpoint *ep);
    /** When wake wants to be called; SIM_NEVER_PS if not. */
    int64_t (*next_wake_ps)(const struct endpoint *ep);
    /** Optional (NULL): as tx, but only a pure control packet (ACK, NAK, CNP) that is due; false if none. Where the NIC separates
     *  control (host parameter separate_control) it is asked after every rx, wake and change, so control leaves in urgent_prio
     *  also while PFC stands on prio. Without it, what tx yields is told apart by its headers and a pause of prio holds it. */
    bool (*tx_control)(struct endpoint *ep, int64_t now_ps, struct pkt *out);
};

/** First member of every endpoint. Fields below ops belong to the host that schedules it. */
struct endpoint {
    const struct endpoint_ops *ops;
    struct host     *host;       /* NULL outside a simulation */
    struct endpoint *next_ready; /* the NIC scheduler's ring */
    int64_t          credit_bytes; /* kernel TCP: what the transmit path's last pass may still send */
    void            *pass;       /* kernel TCP: the pass of the transmit path that is under way */
    struct sim_timer timer;
    int64_t          armed_ps;
    uint32_t         id;         /* names it in keys, traces and streams: stable for a scenario */
    uint8_t          prio;       /* NIC and fabric priority of what it sends */
    uint8_t          in_ring;
    uint8_t          urgent_prio;/* priority of its acknowledgements if the NIC separates control */
    uint8_t          cnp_prio;   /* and of its CNPs: 0 as urgent_prio, else one more than the priority */
    uint8_t          offloaded;  /* host_set_offloaded */
    uint8_t          ring_prio;  /* the ring it is in */
    uint16_t         core;       /* host_set_core */
    uint8_t          more_a_turn;/* packets beyond one that it may send before the next in its ring: weighted round robin */
    uint8_t          turn_left;  /* of these, how many are left */
    uint32_t         context;    /* its entry in the NIC's context cache; 0: not there */
    uint8_t          claimed;    /* host_claim_connection */
    /* with a cache of translations: the WRITE that is coming in, and when the packet before is through */
    uint32_t         write_rkey, write_psn, write_mtu;
    uint64_t         write_va;   /* of packet write_psn */
    int64_t          placed_ps;
};

/** Called by an endpoint's owner (verbs, sockets) after anything outside rx/tx/wake changed what it could send, for
 *  example a post. In a simulation the host re-reads ready_ps and next_wake_ps; outside it does nothing. */
void endpoint_changed(struct endpoint *ep);

#ifdef __cplusplus
}
#endif
#endif
