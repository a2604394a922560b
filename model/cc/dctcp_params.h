/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of DCTCP's sender (RFC 8257). The marking threshold is the switch's (ecn-kmin = ecn-kmax), the echo the receiver's. */
#ifndef RNICSIM_CC_DCTCP_PARAMS_H
#define RNICSIM_CC_DCTCP_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DCTCP_PARAMS(X) \
    X(g, FRACTION, 0.0625, 1e-6, 1, NULL, "gain of alpha's moving average", "RFC 8257 4.2: 1/16 recommended") \
    X(initial_alpha, FRACTION, 1, 0, 1, NULL, "alpha before the first window", "RFC 8257 4.2: SHOULD be 1")

struct dctcp_params { PARAM_FIELDS(DCTCP_PARAMS) };
extern const struct param_table dctcp_params_table;

#ifdef __cplusplus
}
#endif
#endif
