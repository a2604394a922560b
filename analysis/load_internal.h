/* SPDX-License-Identifier: GPL-2.0-only */
/** Reading a result directory back, for plots. */
#ifndef RNICSIM_ANALYSIS_LOAD_INTERNAL_H
#define RNICSIM_ANALYSIS_LOAD_INTERNAL_H

#include "result.h"

/** All variants of a directory that result_write_index described, in its order; an array of *n to be freed, each with result_fini.
 *  -1 and a sentence in err when a file is missing or is not ours. */
int result_load_dir(const char *dir, struct result **out, size_t *n, char *err, size_t errlen);

#endif
