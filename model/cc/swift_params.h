/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of Swift (Kumar et al., SIGCOMM'20). */
#ifndef RNICSIM_CC_SWIFT_PARAMS_H
#define RNICSIM_CC_SWIFT_PARAMS_H

#include "../sim/param.h"
#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SWIFT_PARAMS(X) \
    X(base_target_ps, TIME, 25 * SIM_PS_PER_US, 0, SIM_PS_PER_S, NULL, "target delay of a path without switches and one full window", \
      "guess: Swift (SIGCOMM'20) section 3.5 sets it to the least fabric RTT and room for serialisation, tens of microseconds") \
    X(hop_ps, TIME, SIM_PS_PER_US, 0, SIM_PS_PER_S, NULL, "added to the target for each switch on the path, by the TTL of acknowledgements", \
      "form: Swift section 3.5.1; value: guess, a link's propagation and a packet's serialisation") \
    X(fs_range_ps, TIME, 100 * SIM_PS_PER_US, 0, SIM_PS_PER_S, NULL, "flow scaling: most that small windows add to the target", \
      "form: Swift section 3.5.2; value: guess, four times the base target") \
    X(fs_min_cwnd, NUMBER, 0.1, 0.0001, 1e6, NULL, "flow scaling: window in packets at and below which all of fs-range is added", "Swift section 3.5.2: 0.1") \
    X(fs_max_cwnd, NUMBER, 100, 0.001, 1e6, NULL, "flow scaling: window in packets from which nothing is added", "Swift section 3.5.2: 100") \
    X(ai, NUMBER, 1, 0.0001, 1000, NULL, "additive increase, packets a round trip", "Swift section 3.1: a constant; value: guess, one packet as TCP") \
    X(beta, FRACTION, 0.8, 1e-6, 1, NULL, "multiplicative decrease by the relative excess of the delay", "form: Swift section 3.1; value as TIMELY's") \
    X(max_mdf, FRACTION, 0.5, 1e-6, 1, NULL, "largest share of the window that one decrease takes", "Swift section 3.1: 0.5 as TCP") \
    X(min_cwnd, NUMBER, 0.001, 1e-6, 1, NULL, "least window in packets; below one a packet leaves each RTT / window", "Swift section 3.3") \
    X(retx_reset, COUNT, 4, 1, 1000, NULL, "timeouts in a row at which the window falls to min-cwnd", "form: Swift section 3.4; value: guess")

struct swift_params { PARAM_FIELDS(SWIFT_PARAMS) };
extern const struct param_table swift_params_table;

#ifdef __cplusplus
}
#endif
#endif
