/* SPDX-License-Identifier: GPL-2.0-only */
/** What each connection's congestion control does over time, sampled: the rows of flows.csv. */
#ifndef RNICSIM_HELPER_RUN_FLOWS_H
#define RNICSIM_HELPER_RUN_FLOWS_H

#include "../analysis/result.h"
#include "run_net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct run_flows {
    struct result_flow_sample *row; size_t n, room;
    uint64_t *acked; uint32_t nacked;    /* by connection, at the sample before */
    int64_t before_ps;                   /* when that was */
};

/** Sample every connection that has something under way or has made progress since the sample before. at_ps: from the start of the
 *  workload. false: out of memory, what was taken stays. */
bool run_flows_take(struct run_flows *f, const struct net *n, int64_t at_ps);
void run_flows_fini(struct run_flows *f);

#ifdef __cplusplus
}
#endif
#endif
