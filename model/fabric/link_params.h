/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of a full-duplex link; both directions are alike. */
#ifndef RNICSIM_FABRIC_LINK_PARAMS_H
#define RNICSIM_FABRIC_LINK_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/** pfc_reaction_quanta: take the value for the link's rate (headroom_reaction_quanta() in headroom.h). */
#define LINK_REACTION_BY_RATE 65535

#define LINK_PARAMS(X) \
    X(rate_bps, RATE, 100e9, 1e6, 3.2e12, NULL, "rate of the link", \
      "100 Gb/s Ethernet, IEEE 802.3 clause 80; the rate of HPCC's and ConWeave's published set-ups") \
    X(propagation_ps, TIME, 1e6, 0, 1e12, NULL, "time of a bit on the cable", "1 us, as in HPCC (SIGCOMM'19) and ConWeave (SIGCOMM'23)") \
    X(loss, FRACTION, 0, 0, 1, NULL, "chance that a data frame is lost on the link (PFC frames are spared)", "none unless asked for") \
    X(loss_every, COUNT, 0, 0, 1e15, NULL, "lose each n-th data frame in each direction; 0: none", "Guo et al., SIGCOMM'16, section 4.1 (1 in 256)") \
    X(burst_begin, FRACTION, 0, 0, 1, NULL, "Gilbert-Elliott: chance that a data frame finds the link turning bad", "Gilbert 1960, Elliott 1963; 0: never bad") \
    X(burst_end, FRACTION, 0.1, 0, 1, NULL, "Gilbert-Elliott: chance that a data frame finds the link turning good again", "guess: bursts of 10 frames") \
    X(burst_loss, FRACTION, 1, 0, 1, NULL, "Gilbert-Elliott: chance that a data frame is lost while the link is bad (while it is good: loss)", "Gilbert 1960 with h = 0") \
    X(ber, FRACTION, 0, 0, 0.01, NULL, "bit error rate; a frame with an error fails the FCS check (PFC frames too)", "none unless asked for; IEEE 802.3 allows 1e-12") \
    X(pfc_reaction_quanta, COUNT, LINK_REACTION_BY_RATE, 0, 65535, NULL, \
      "time from a PFC frame's last bit until no new frame of its class begins, in quanta of 512 bit times; 65535: by rate", \
      "IEEE 802.3 annex 31B: 60, 80, 118, 394, 905 at 10, 25, 40, 100, 400 Gb/s; straight lines between")

struct link_params { PARAM_FIELDS(LINK_PARAMS) };
extern const struct param_table link_params_table;

#ifdef __cplusplus
}
#endif
#endif
