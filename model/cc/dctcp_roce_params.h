/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of DCTCP's rule for RoCE. */
#ifndef RNICSIM_CC_DCTCP_ROCE_PARAMS_H
#define RNICSIM_CC_DCTCP_ROCE_PARAMS_H

#include "../sim/param.h"
#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DCTCP_ROCE_PARAMS(X) \
    X(g, FRACTION, 1.0 / 16, 1e-6, 1, NULL, "gain of alpha's moving average", "RFC 8257 4.2; DCTCP (SIGCOMM'10): 1/16") \
    X(initial_alpha, FRACTION, 1, 0, 1, NULL, "alpha at the start", "RFC 8257 3.3: 1") \
    X(increase_packets, NUMBER, 1, 0.001, 1000, NULL, "additive increase of the window in packets a round trip", "RFC 8257 3.4, RFC 5681: one segment") \
    X(initial_window, NUMBER, 1, 0.001, 1000, NULL, "starting window in bandwidth-delay products: cards start at line rate, not slowly", "HPCC's ns-3 starts DCTCP at line rate") \
    X(min_packets, COUNT, 1, 1, 1000, NULL, "least window in packets", "guess: a window of nothing would stand still; TCP has two")

struct dctcp_roce_params { PARAM_FIELDS(DCTCP_ROCE_PARAMS) };
extern const struct param_table dctcp_roce_params_table;

#ifdef __cplusplus
}
#endif
#endif
