/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of DCQCN's reaction point (the sender). The notification point's CNP interval belongs to RoCE, the marking
 *  thresholds to the switch. The two known rule sets are reached by these rows alone:
 *    paper  (Zhu et al., SIGCOMM'15): the defaults below;
 *    HPCC's ns-3 (SIGCOMM'19 artifact): alpha-timer 1us, decrease-interval 4us, increase-timer 300us, byte-counter 0,
 *    fast-recovery 1, alpha-rule timer.
 */
#ifndef RNICSIM_CC_DCQCN_PARAMS_H
#define RNICSIM_CC_DCQCN_PARAMS_H

#include "../sim/param.h"
#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DCQCN_PARAMS(X) \
    X(g, FRACTION, 1.0 / 256, 1e-6, 1, NULL, "gain of alpha's moving average", "DCQCN paper (SIGCOMM'15) table 14: 1/256") \
    X(initial_alpha, FRACTION, 1, 0, 1, NULL, "alpha before the first CNP", "DCQCN paper section 3: alpha starts at 1") \
    X(alpha_timer_ps, TIME, 55 * SIM_PS_PER_US, SIM_PS_PER_NS, SIM_PS_PER_S, NULL, \
      "alpha decays by (1 - g) for each such time without a CNP", "DCQCN paper: K = 55 us, more than the CNP interval") \
    X(alpha_rule, ENUM, 0, 0, 1, "cnp|timer", \
      "cnp: alpha rises with each CNP; timer: once per alpha timer in which a CNP came", "cnp: DCQCN paper; timer: HPCC's ns-3") \
    X(decrease_interval_ps, TIME, 0, 0, SIM_PS_PER_S, NULL, \
      "least time between two rate cuts; a CNP meanwhile cuts at its end; 0: each CNP cuts", \
      "0: DCQCN paper, CNPs are spaced by the receiver; 4 us: HPCC's ns-3 and vendor's rate_reduce_monitor_period") \
    X(increase_timer_ps, TIME, 55 * SIM_PS_PER_US, SIM_PS_PER_NS, SIM_PS_PER_S, NULL, "rate increase timer", \
      "DCQCN paper: T = 55 us; HPCC's ns-3 300 us") \
    X(byte_counter_bytes, BYTES, 10000000, 0, INT64_C(1000000000000), NULL, \
      "rate increase for each so many bytes sent; 0: no byte counter", "DCQCN paper: B = 10 MB") \
    X(fast_recovery, COUNT, 5, 0, 1000, NULL, "steps of fast recovery (F) before the target rate grows", "DCQCN paper: F = 5 (802.1Qau)") \
    X(rai_bps, RATE, 40000000, 0, INT64_C(1000000000000), NULL, "additive increase of the target rate", "DCQCN paper: R_AI = 40 Mb/s") \
    X(rhai_bps, RATE, 200000000, 0, INT64_C(1000000000000), NULL, "hyper increase of the target rate", \
      "ns3-rdma's and HPCC's value, 200 Mb/s") \
    X(min_rate_bps, RATE, 100000000, 1000, INT64_C(1000000000000), NULL, "least rate", "ns3-rdma and HPCC's ns-3: 100 Mb/s") \
    X(clamp_target, BOOL, 1, 0, 1, NULL, \
      "yes: each cut sets the target to the rate cut from; no: only a cut after a timer increase does, so cuts in a row keep the target", \
      "yes: DCQCN paper equation 1; no: the vendor's clamp_tgt_rate off, as in HPCC's ns-3") \
    X(first_cnp_rate, FRACTION, 1, 1e-6, 1, NULL, "on the first CNP the rate is first set to this share of itself", \
      "1: DCQCN paper; rate_on_first_cnp of HPCC's ns-3") \
    X(initial_rate, FRACTION, 1, 1e-6, 1, NULL, "starting rate as a share of the line rate", "DCQCN paper section 3: flows start at line rate")

struct dcqcn_params { PARAM_FIELDS(DCQCN_PARAMS) };
extern const struct param_table dcqcn_params_table;

#ifdef __cplusplus
}
#endif
#endif
