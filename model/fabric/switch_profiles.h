/* SPDX-License-Identifier: GPL-2.0-only */
/** Buffers of known switches, to start from: `<switch profile="...">` and `rnicsim headroom --switch`. Only what is published of a chip is set; its
 *  thresholds are the operator's. */
#ifndef RNICSIM_FABRIC_SWITCH_PROFILES_H
#define RNICSIM_FABRIC_SWITCH_PROFILES_H

#include "switch_params.h"

#ifdef __cplusplus
extern "C" {
#endif

struct switch_profile {
    const char *name, *about, *source;
    uint32_t ports;
    int64_t  port_bps;
    int64_t  buffer_bytes, cell_bytes;
};

#define SWITCH_PROFILE_NAMES "trident-plus|trident2|trident3|tomahawk|tomahawk3|spectrum"
/** By name, NULL if there is none. */
const struct switch_profile *switch_profile_find(const char *name);
/** In the order of SWITCH_PROFILE_NAMES; NULL past the end. */
const struct switch_profile *switch_profile_at(unsigned i);
/** Sets buffer and cell; all else keeps its value. */
void switch_profile_apply(const struct switch_profile *s, struct switch_params *p);

#ifdef __cplusplus
}
#endif
#endif
