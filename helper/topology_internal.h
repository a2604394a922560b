/* SPDX-License-Identifier: GPL-2.0-only */
/** Shapes of networks; topology*.c only. */
#ifndef RNICSIM_HELPER_TOPOLOGY_INTERNAL_H
#define RNICSIM_HELPER_TOPOLOGY_INTERNAL_H

#include "topology.h"

/** What a shape adds links to; the first failure stays. */
struct builder {
    const struct topology_params *t;
    struct fabric *f;
    const struct link_params *link;
    int rc;
};

struct shape { uint64_t hosts, switches; };

/** Rates and propagations that the parameters stand for. */
struct topology_wires { int64_t host_ps, fabric_ps, trunk_ps, fabric_bps, trunk_bps; };
struct topology_wires topology_wires(const struct topology_params *t);

/** One link; loss < 0: the fabric's. */
void topology_link_up(struct builder *b, uint32_t x, uint32_t y, int64_t rate_bps, int64_t propagation_ps, double loss);

/** A kind of topology. */
struct topology_shape {
    /** Numbers that are not possible together: false, with a sentence. NULL: all are. */
    bool (*check)(const struct topology_params *t, char *err, size_t errlen);
    struct shape (*size)(const struct topology_params *t);
    /** Links; hosts are [0, first_switch). */
    void (*build)(struct builder *b, uint32_t first_switch);
    /** Whether switch number i (from 0) stands at a wan's long link. NULL: none. */
    bool (*is_border)(const struct topology_params *t, uint32_t i);
};
/** By enum topology_kind; that of explicit is empty. */
extern const struct topology_shape topology_shapes[TOPOLOGY_KIND_COUNT];

#endif
