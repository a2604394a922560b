/* SPDX-License-Identifier: GPL-2.0-only */
/** PFC headroom: what still arrives after a port has decided to pause its sender, as a closed form whose terms can be printed. */
#ifndef RNICSIM_FABRIC_HEADROOM_H
#define RNICSIM_FABRIC_HEADROOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the headroom of one port depends on. */
struct headroom_link {
    int64_t  rate_bps, propagation_ps;
    int64_t  pipeline_ps;         /* of the switch that pauses: bits that came in but are not yet counted */
    uint32_t reaction_quanta;     /* of the sender that is paused */
    uint32_t max_frame_bytes;     /* frame, preamble and gap excluded */
    uint32_t cell_bytes;          /* 1: bytes */
};

/** Terms in bytes on the wire, in the order of time; then what of them is buffered. */
struct headroom_terms {
    uint64_t reverse_frame;       /* a maximum frame, just begun, that the PAUSE waits for */
    uint64_t pause_frame;         /* 64 B, preamble and gap: 84 B */
    uint64_t reaction;
    uint64_t propagation;         /* there and back */
    uint64_t pipeline;
    uint64_t last_frame;          /* begun just before the sender stopped */
    uint64_t overhead;            /* to deduct: 20 B of each frame are not buffered */
    uint64_t cells;               /* to add: rounding of each frame up to cells, at the worst frame size */
    uint64_t crossing_frame;      /* the frame that crosses XOFF: this MMU charges it to the headroom */
    uint64_t total;               /* bytes to set aside for a port and priority */
};

/** Reaction time in quanta (512 bit times) allowed at a rate: IEEE 802.3 annex 31B's values, a straight line between rates, the time
 *  of 400 Gb/s above it. */
uint32_t headroom_reaction_quanta(int64_t rate_bps);
/** Zero drops at t->total or more. */
void headroom_compute(const struct headroom_link *l, struct headroom_terms *t);
/** The least that the worst phase really takes, for a sender of back-to-back maximum frames: what is charged to headroom. */
uint64_t headroom_exact_bytes(const struct headroom_link *l);
/** A vendor's published formula, to print beside ours: (301 + 2.16 m) x Gb/s + 2.72 x MTU. */
double headroom_vendor_bytes(int64_t rate_bps, double cable_m, uint32_t mtu_bytes);

#ifdef __cplusplus
}
#endif
#endif
