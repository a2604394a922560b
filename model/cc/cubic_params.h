/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of CUBIC (RFC 9438). */
#ifndef RNICSIM_CC_CUBIC_PARAMS_H
#define RNICSIM_CC_CUBIC_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUBIC_PARAMS(X) \
    X(c, NUMBER, 0.4, 0.001, 100, NULL, "aggressiveness of the cubic function, segments per second cubed", "RFC 9438 5: SHOULD be 0.4") \
    X(beta, FRACTION, 0.7, 0.1, 0.95, NULL, "what a congestion event leaves of the window", "RFC 9438 4.6: SHOULD be 0.7") \
    X(fast_convergence, BOOL, 1, 0, 1, NULL, "a flow that loses below its last maximum aims lower, so that new flows gain room", "RFC 9438 4.7: SHOULD") \
    X(reno_friendly, BOOL, 1, 0, 1, NULL, "the window is never less than Reno's would be", "RFC 9438 4.3")

struct cubic_params { PARAM_FIELDS(CUBIC_PARAMS) };
extern const struct param_table cubic_params_table;

#ifdef __cplusplus
}
#endif
#endif
