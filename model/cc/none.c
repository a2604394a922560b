/* SPDX-License-Identifier: GPL-2.0-only */
/** No congestion control: neither window nor rate is limited. */
#include "cc_list.h"

const struct cc_ops cc_none = { .name = "none" };
