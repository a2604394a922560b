/* SPDX-License-Identifier: GPL-2.0-only */
/** The engines that drive a simulation: our own loop, or ns-3 through the module library, opened when first asked for. */
#ifndef RNICSIM_HELPER_ENGINE_H
#define RNICSIM_HELPER_ENGINE_H

#include "../model/sim/sim.h"
#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Run s until until_ps or sim_stop() on an engine. 0, or negative with a sentence in err. */
int engine_run(enum run_engine engine, struct sim *s, int64_t until_ps, char *err, size_t errlen) SIM_MUST_CHECK;
/** "native", "ns-3 3.37 (RnicSimulatorImpl)", "ns-3 3.37 (stock)". */
const char *engine_describe(enum run_engine engine, char *buf, size_t len);
/** ns an event of stock ns-3 costs here (engine.h of the ns3 room); negative without ns-3. */
double engine_stock_event_ns(unsigned pending, unsigned long events);

#ifdef __cplusplus
}
#endif
#endif
