/* SPDX-License-Identifier: GPL-2.0-only */
/** A struct result through a file, from a forked child to its parent. Texts that a result points to (the statuses of messages) are
 *  constants of the program, which stand at the same address in both, so pointers to them travel as they are.
 */
#ifndef RNICSIM_HELPER_JOBS_SHIP_H
#define RNICSIM_HELPER_JOBS_SHIP_H

#include <stdio.h>

#include "../analysis/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/** false when it could not be written or read whole; a result that was not read is empty. */
bool jobs_ship_write(FILE *f, const struct result *r);
bool jobs_ship_read(FILE *f, struct result *r);

#ifdef __cplusplus
}
#endif
#endif
