/* SPDX-License-Identifier: GPL-2.0-only */
/** A result directory:
 *
 *      DIR/summary.json, variants.csv                      written last, when all runs that will end have ended
 *      DIR/<variant>/messages.csv, queue.csv, flows.csv, capture.pcap a directory for each run
 *      DIR/plots/                                          by result_plot_dir
 *
 *  Every file is written beside its place and renamed. A directory that holds an earlier run's results (it has a variants.csv of ours)
 *  loses them when a new run begins, so that old and new never stand mixed; other files are left alone.
 */
#ifndef RNICSIM_HELPER_OUTPUT_H
#define RNICSIM_HELPER_OUTPUT_H

#include "jobs.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Make DIR and the directories of all variants, see that files can be written there, and remove an earlier run's results. 0, or -1
 *  with a sentence in err. */
int output_begin(const char *dir, const struct scenario *sc, char *err, size_t errlen) SIM_MUST_CHECK;
/** The files of one run (r->name names its directory). */
int output_run(const char *dir, const struct result *r, char *err, size_t errlen) SIM_MUST_CHECK;
/** summary.json and variants.csv over the runs that ended; directories of runs that did not are removed. On failure takes all back. */
int output_end(const char *dir, const struct scenario *sc, const struct jobs_result *jobs, char *err, size_t errlen) SIM_MUST_CHECK;

/** Take back all of this run's files: when writing failed, nothing half-written stays. */
void output_discard(const char *dir, const struct scenario *sc);

#ifdef __cplusplus
}
#endif
#endif
