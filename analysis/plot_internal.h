/* SPDX-License-Identifier: GPL-2.0-only */
/** What the files of plots share: the directory's results, and a gnuplot script being written. */
#ifndef RNICSIM_ANALYSIS_PLOT_INTERNAL_H
#define RNICSIM_ANALYSIS_PLOT_INTERNAL_H

#include "load_internal.h"

#include <stdio.h>

#define CURVE_POINTS 800

/** Results that share transport, fabric and load: the seeds of one curve. */
struct curve {
    const struct result **r;
    size_t n;
    int colour, dash;
    char title[2 * RESULT_NAME_MAX + 40];
};

struct plotter {
    const char *dir;
    struct result *all;
    size_t nall;
    struct curve *curves;
    size_t ncurves;
    FILE *say;
    char *err;
    size_t errlen;
};

#define PLOT_COLOURS 8
extern const char *const plot_palette[PLOT_COLOURS];

/** A script being written: the data blocks go straight to the file, the plot command grows aside. */
struct plot_script { FILE *f; char *plot; size_t plotlen; FILE *cmd; char base[160]; };
int  plot_script_begin(struct plotter *p, struct plot_script *s, const char *base);
void plot_script_head(FILE *f, const char *title, const char *xlabel, const char *ylabel);
/** Close it and run gnuplot, if anything is to be plotted. 0, or -1 with a sentence in p->err. */
int  plot_script_end(struct plotter *p, struct plot_script *s);

/** Rates, alphas and round trips of connections over time, for each variant with a flows.csv. */
int plot_traces(struct plotter *p);

#endif
