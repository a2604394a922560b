/* SPDX-License-Identifier: GPL-2.0-only */
/** The algorithms by name, for the registry: one line a file. */
#ifndef RNICSIM_CC_CC_LIST_H
#define RNICSIM_CC_CC_LIST_H

#include "cc.h"

extern const struct cc_ops cc_none;
extern const struct cc_ops cc_reno;
extern const struct cc_ops cc_cubic;
extern const struct cc_ops cc_dctcp;
extern const struct cc_ops cc_dcqcn;
extern const struct cc_ops cc_dctcp_roce;
extern const struct cc_ops cc_timely;
extern const struct cc_ops cc_swift;
extern const struct cc_ops cc_hpcc;

#endif
