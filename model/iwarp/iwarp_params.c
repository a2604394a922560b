/* SPDX-License-Identifier: GPL-2.0-only */
#include "iwarp_params.h"

#define PARAM_STRUCT struct iwarp_params
PARAM_TABLE(iwarp_params, IWARP_PARAMS)
