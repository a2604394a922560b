/* SPDX-License-Identifier: GPL-2.0-only */
/** The engine entry: how a C program runs a simulation inside ns-3. libns3-rnic.so defines these symbols; the
 *  command opens that library by dlopen and looks them up by name, so it links to no C++.
 *
 *  ns-3 has one simulator a process: these are not reentrant and belong to one thread.
 */
#ifndef RNICSIM_NS3_ENGINE_H
#define RNICSIM_NS3_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RNIC_NS3_API __attribute__((visibility("default")))

/** Run s inside ns-3 until until_ps, which is absolute (SIM_NEVER_PS: until nothing is left), or until sim_stop().
 *  stock 0: on ns3::RnicSimulatorImpl, whose queue is s itself; stock 1: on the implementation that ns-3 itself
 *  would choose, DefaultSimulatorImpl by default, through the one-event pump. Leaves s as sim_run(s, until_ps)
 *  would: same time, same events, same digest. May be called again for the same s or another.
 *  Returns 0, or SIM_ERR_STATE with a sentence in err: ns-3's time resolution is not ps and can no longer be
 *  set, or a simulator is already in use in this process. */
RNIC_NS3_API int rnic_ns3_run(struct sim *s, int64_t until_ps, int stock, char *err, size_t errlen);

/** The release of ns-3 the library was built against, such as "3.37". */
RNIC_NS3_API const char *rnic_ns3_version(void);

/** Measure stock ns-3: wall-clock ns an event of DefaultSimulatorImpl on MapScheduler, with pending events pending,
 *  each rescheduling itself 0.1 to 1.1 us ahead, over at least events events. Negative on failure. */
RNIC_NS3_API double rnic_ns3_stock_event_ns(unsigned pending, unsigned long events);

/** For dlsym. */
typedef int rnic_ns3_run_fn(struct sim *s, int64_t until_ps, int stock, char *err, size_t errlen);
typedef const char *rnic_ns3_version_fn(void);
typedef double rnic_ns3_stock_event_ns_fn(unsigned pending, unsigned long events);

#ifdef __cplusplus
}
#endif
#endif
