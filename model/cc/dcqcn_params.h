/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of DCQCN's reaction point (the sender). How the notification point spaces CNPs is RoCE's (cnp, cnp-rule and, unless
 *  a preset sets another here, cnp-interval), the marking thresholds are the switch's. Names that cards' documents have for the same
 *  thing stand in the sources (NVIDIA, "DCQCN parameters" of ConnectX-4 and later).
 */
#ifndef RNICSIM_CC_DCQCN_PARAMS_H
#define RNICSIM_CC_DCQCN_PARAMS_H

#include "../sim/param.h"
#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DCQCN_PARAMS(X) \
    X(g, FRACTION, 1.0 / 256, 1e-6, 1, NULL, "gain of alpha's moving average", "DCQCN paper (SIGCOMM'15) table 14: 1/256; dce_tcp_g: 1 - 1019/1024") \
    X(initial_alpha, FRACTION, 1, 0, 1, NULL, "alpha before the first CNP", "DCQCN paper section 3: alpha starts at 1; initial_alpha_value 1023/1024") \
    X(alpha_timer_ps, TIME, 55 * SIM_PS_PER_US, SIM_PS_PER_NS, SIM_PS_PER_S, NULL, \
      "alpha decays by (1 - g) for each such time without a CNP", "DCQCN paper: K = 55 us, more than the CNP interval; dce_tcp_rtt 1 us") \
    X(alpha_rule, ENUM, 0, 0, 1, "cnp|timer", \
      "cnp: alpha rises with each CNP; timer: once per alpha timer in which a CNP came", "cnp: DCQCN paper; timer: cards (dce_tcp_rtt) and HPCC's ns-3") \
    X(decrease_interval_ps, TIME, 0, 0, SIM_PS_PER_S, NULL, \
      "least time between two rate cuts; a CNP meanwhile cuts at its end; 0: each CNP cuts", \
      "0: DCQCN paper, CNPs are spaced by the receiver; 4 us: HPCC's ns-3 and vendor's rate_reduce_monitor_period") \
    X(decrease_factor, FRACTION, 0.5, 1e-6, 1, NULL, "a cut takes alpha times this off the rate", \
      "DCQCN paper: alpha / 2; rpg_gd 11, a shift of alpha's 10 bits") \
    X(min_decrease, FRACTION, 0, 0, 1, NULL, "a cut leaves at least this share of the rate", "none in the paper; rpg_min_dec_fac 50 %") \
    X(increase_timer_ps, TIME, 55 * SIM_PS_PER_US, SIM_PS_PER_NS, SIM_PS_PER_S, NULL, "rate increase timer", \
      "DCQCN paper: T = 55 us; rpg_time_reset and HPCC's ns-3: 300 us") \
    X(byte_counter_bytes, BYTES, 10000000, 0, INT64_C(1000000000000), NULL, \
      "rate increase for each so many bytes sent; 0: no byte counter", "DCQCN paper: B = 10 MB; rpg_byte_reset 32767") \
    X(fast_recovery, COUNT, 5, 0, 1000, NULL, "steps of fast recovery (F) before the target rate grows", "DCQCN paper: F = 5 (802.1Qau); rpg_threshold 1") \
    X(rai_bps, RATE, 40000000, 0, INT64_C(1000000000000), NULL, "additive increase of the target rate", "DCQCN paper: R_AI = 40 Mb/s; rpg_ai_rate 5 Mb/s") \
    X(rhai_bps, RATE, 200000000, 0, INT64_C(1000000000000), NULL, "hyper increase of the target rate", \
      "ns3-rdma's and HPCC's value, 200 Mb/s; rpg_hai_rate 50 Mb/s") \
    X(min_rate_bps, RATE, 100000000, 1000, INT64_C(1000000000000), NULL, "least rate", "ns3-rdma and HPCC's ns-3: 100 Mb/s; rpg_min_rate 1 Mb/s") \
    X(max_rate_bps, RATE, 0, 0, INT64_C(10000000000000), NULL, "most that a rate recovers to; 0: the line rate", "rpg_max_rate 0") \
    X(clamp_target, BOOL, 1, 0, 1, NULL, \
      "yes: each cut sets the target to the rate cut from; no: only a cut after an increase does, so cuts in a row keep the target", \
      "DCQCN paper equation 1: yes; clamp_tgt_rate and HPCC's ns-3: no") \
    X(clamp_after_timer, BOOL, 1, 0, 1, NULL, \
      "without clamp-target: an increase by the timer counts, and not only one by the byte counter", "clamp_tgt_rate_after_time_inc: yes") \
    X(first_cnp_rate, FRACTION, 1, 1e-6, 1, NULL, "on the first CNP the rate is first set to this share of itself", \
      "1: DCQCN paper; rate_to_set_on_first_cnp 0 (off); rate_on_first_cnp of HPCC's ns-3") \
    X(initial_rate, FRACTION, 1, 1e-6, 1, NULL, "starting rate as a share of the line rate", "DCQCN paper section 3: flows start at line rate") \
    X(cnp_interval_ps, TIME, 0, 0, INT64_C(1000000000000), NULL, "notification point: interval of CNPs in place of <roce>'s; 0: that one", \
      "0: <roce cnp-interval>; min_time_between_cnps 4 us")

struct dcqcn_params { PARAM_FIELDS(DCQCN_PARAMS) };
extern const struct param_table dcqcn_params_table;

#ifdef __cplusplus
}
#endif
#endif
