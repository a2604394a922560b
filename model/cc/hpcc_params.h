/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of HPCC (Li et al., SIGCOMM'19). */
#ifndef RNICSIM_CC_HPCC_PARAMS_H
#define RNICSIM_CC_HPCC_PARAMS_H

#include "../sim/param.h"
#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HPCC_PARAMS(X) \
    X(eta, FRACTION, 0.95, 0.01, 1, NULL, "utilisation that is aimed at", "HPCC (SIGCOMM'19) section 5.1: 95 %") \
    X(max_stage, COUNT, 5, 0, 1000, NULL, "additive increases in a row before a multiplicative one", "HPCC section 5.1: maxStage 5") \
    X(wai_bytes, BYTES, 80, 0, 1000000, NULL, "additive increase of the window, W_AI, on the wire", "HPCC section 5.1: 80 B") \
    X(base_rtt_ps, TIME, 0, 0, SIM_PS_PER_S, NULL, \
      "T, the time to which windows and rates are related; 0: the path's own unloaded RTT", \
      "HPCC section 3.2: one T a network, the largest (13 us in its simulations)") \
    X(min_rate_bps, RATE, 100000000, 1000, INT64_C(1000000000000), NULL, "least rate; the window is at least this times T", "HPCC's ns-3: 100 Mb/s")

struct hpcc_params { PARAM_FIELDS(HPCC_PARAMS) };
extern const struct param_table hpcc_params_table;

#ifdef __cplusplus
}
#endif
#endif
