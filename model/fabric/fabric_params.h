/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of a fabric as a whole: what all its switches and hosts do alike. */
#ifndef RNICSIM_FABRIC_FABRIC_PARAMS_H
#define RNICSIM_FABRIC_FABRIC_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fabric_routing { FABRIC_SHORTEST, FABRIC_UP_DOWN };
enum fabric_seeds { FABRIC_SEED_EACH, FABRIC_SEED_EQUAL };
enum fabric_encapsulation { FABRIC_PLAIN, FABRIC_VLAN, FABRIC_VXLAN };

#define FABRIC_PARAMS(X) \
    X(routing, ENUM, FABRIC_SHORTEST, 0, 1, "shortest|up-down", \
      "paths: shortest; or never up after down, seen from the first switch of the least depth, so that pauses cannot wait in a circle", \
      "up*/down*: Autonet (Schroeder et al. 1991)") \
    X(seeds, ENUM, FABRIC_SEED_EACH, 0, 1, "each|equal", "seeds of the switches' hashes: each its own, or all one, which polarises paths", "RFC 2992 and vendors' practice: each") \
    X(reroute_ps, TIME, 50e9, 0, 1e13, NULL, "from a link's failure or return until routes know of it; until then its packets are lost", "guess: 50 ms, a common goal of fast reroute") \
    X(encapsulation, ENUM, FABRIC_PLAIN, 0, 2, "none|vlan|vxlan", \
      "hosts send plain Ethernet, with an 802.1Q tag whose PCP is the priority, or in VXLAN, 50 B more a frame", "IEEE 802.1Q; RFC 7348") \
    X(deadlock_check_ps, TIME, 100e6, 0, 1e13, NULL, "while something is paused, look this often whether pauses wait in a circle; 0: never", "guess: 100 us")

struct fabric_params { PARAM_FIELDS(FABRIC_PARAMS) };
extern const struct param_table fabric_params_table;

#ifdef __cplusplus
}
#endif
#endif
