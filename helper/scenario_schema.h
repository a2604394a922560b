/* SPDX-License-Identifier: GPL-2.0-only */
/** The RelaxNG schema of scenario files, generated. scenarios/rnicsim.rng is a copy of it, which a test compares. */
#ifndef RNICSIM_HELPER_SCENARIO_SCHEMA_H
#define RNICSIM_HELPER_SCENARIO_SCHEMA_H

#include <stdio.h>

#include "../model/sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

void scenario_schema_write(FILE *f);
/** "time", "rate", ...: a kind's name in the schema and in `describe`. */
const char *scenario_kind_name(enum param_kind kind);

#ifdef __cplusplus
}
#endif
#endif
