/* SPDX-License-Identifier: GPL-2.0-only */
/** Variants and seeds as parallel processes. A run is a function of its variant and seed alone, so results do not depend on how
 *  many run at once or in which order they end.
 */
#ifndef RNICSIM_HELPER_JOBS_H
#define RNICSIM_HELPER_JOBS_H

#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

struct jobs_options {
    struct run_options run;      /* engine and through_bytes; progress, stop and pcap_path are set here */
    unsigned parallel;           /* processes at once; 0: one per online CPU */
    bool progress;               /* a line on stderr */
    const char *pcap_dir;        /* NULL: no captures; else DIR/<variant>/capture.pcap, whose directory exists */
    /** A run has ended; called in the order in which runs end. Non-zero stops the others. */
    int (*done)(void *ctx, size_t variant, struct result *r);
    void *ctx;
    /** How a variant is run: run_variant, but tests put another here. */
    int (*run_one)(const struct scenario *sc, const struct variant *v, const struct run_options *o, struct result *out, char *err, size_t errlen);
};

struct jobs_result {
    struct result *results;      /* by variant index */
    bool *have;                  /* which of them ended */
    size_t n, nhave;
    bool interrupted;            /* SIGINT or SIGTERM */
    bool failed;                 /* a run could not be made (its sentence is in err), or done() asked to stop */
};

/** Run all variants. 0 when all ended, else negative; what ended is in out in any case. Free with jobs_result_fini. */
int  jobs_run(const struct scenario *sc, const struct jobs_options *o, struct jobs_result *out, char *err, size_t errlen) SIM_MUST_CHECK;
void jobs_result_fini(struct jobs_result *r);

#ifdef __cplusplus
}
#endif
#endif
