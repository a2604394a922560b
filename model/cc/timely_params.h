/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of TIMELY (Mittal et al., SIGCOMM'15) and of its patched form (Zhu et al., "ECN or Delay", CoNEXT'16). */
#ifndef RNICSIM_CC_TIMELY_PARAMS_H
#define RNICSIM_CC_TIMELY_PARAMS_H

#include "../sim/param.h"
#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIMELY_VARIANTS "timely|patched"
enum timely_variant { TIMELY_AS_PUBLISHED, TIMELY_PATCHED };

#define TIMELY_PARAMS(X) \
    X(variant, ENUM, 0, 0, 1, TIMELY_VARIANTS, \
      "timely: between the thresholds the gradient's sign decides; patched: a weight of the gradient mixes increase with a decrease towards t-low, which gives a fixed point", \
      "TIMELY (SIGCOMM'15) algorithm 1; ECN or Delay (CoNEXT'16) algorithm 2") \
    X(ewma_alpha, FRACTION, 0.875, 1e-6, 1, NULL, "weight of a new RTT difference in the gradient's moving average", "ECN or Delay (CoNEXT'16) table 2, TIMELY's authors' value: 0.875") \
    X(beta, FRACTION, 0.8, 1e-6, 1, NULL, "multiplicative decrease", "TIMELY section 4.3: 0.8; patched: 0.008") \
    X(t_low_ps, TIME, 50 * SIM_PS_PER_US, 0, SIM_PS_PER_S, NULL, "below this RTT the rate only grows; patched: the reference RTT too", "TIMELY section 4.4: 50 us") \
    X(t_high_ps, TIME, 500 * SIM_PS_PER_US, 1, SIM_PS_PER_S, NULL, "above this RTT the rate falls whatever the gradient", "TIMELY section 4.4: 500 us") \
    X(min_rtt_ps, TIME, 20 * SIM_PS_PER_US, 1, SIM_PS_PER_S, NULL, "the gradient is taken per this time", "TIMELY section 4.3: the fabric's known least RTT, 20 us") \
    X(delta_bps, RATE, 10000000, 1, INT64_C(1000000000000), NULL, "additive increase a completion", "TIMELY section 4.3: 10 Mb/s") \
    X(hai_threshold, COUNT, 5, 1, 1000, NULL, "completions in a row without a positive gradient after which increases are hai-steps times delta", "TIMELY section 4.4: five") \
    X(hai_steps, COUNT, 5, 1, 1000, NULL, "hyperactive increase in units of delta", "TIMELY algorithm 1: N = 5") \
    X(segment_bytes, BYTES, 16384, 1, 16777216, NULL, \
      "payload for which an acknowledgement is asked and the rate settled once; its last packet gives the RTT sample", \
      "ECN or Delay table 2: 16 KB; TIMELY: 16 to 64 KB") \
    X(initial_rate, FRACTION, 1, 1e-6, 1, NULL, "starting rate as a share of the line rate", "1: HPCC's ns-3; TIMELY section 4.2: C / (flows of the host + 1)") \
    X(min_rate_bps, RATE, 100000000, 1000, INT64_C(1000000000000), NULL, "least rate", "HPCC's ns-3: 100 Mb/s")

struct timely_params { PARAM_FIELDS(TIMELY_PARAMS) };
extern const struct param_table timely_params_table;

#ifdef __cplusplus
}
#endif
#endif
