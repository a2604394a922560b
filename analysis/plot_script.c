/* SPDX-License-Identifier: GPL-2.0-only */
/* Gnuplot scripts: written beside their plots, run, and left to be changed by hand. */
#include "plot_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Okabe and Ito's palette, told apart by the colour-blind; grey for their yellow, which white paper swallows. */
const char *const plot_palette[PLOT_COLOURS] = { "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#888888" };

void plot_script_head(FILE *f, const char *title, const char *xlabel, const char *ylabel)
{
    fprintf(f,
            "# Made by rnicsim; change it and run: gnuplot THIS_FILE\n"
            "set encoding utf8\nset datafile separator ','\n"
            "set title \"%s\" noenhanced\nset xlabel \"%s\" noenhanced\nset ylabel \"%s\" noenhanced\n"
            "set key outside below center horizontal noenhanced samplen 4 width 2 height 0.6 spacing 1.1\nset xlabel offset 0,0.6\n"
            "set rmargin 5\nset grid xtics ytics mxtics lc rgb '#dddddd' lw 0.6\nset border 3\nset xtics nomirror\nset ytics nomirror\n",
            title, xlabel, ylabel);
}

/* The plot command twice, for both terminals. */
static void script_tail(FILE *f, const char *base, const char *plot)
{
    fprintf(f, "set terminal svg size 960,600 font 'Helvetica,14' background rgb 'white'\nset output '%s.svg.part'\n%s\nunset output\n", base, plot);
    fprintf(f, "set terminal pngcairo size 1280,800 font 'Helvetica,13' background rgb 'white'\nset output '%s.png.part'\n%s\nunset output\n", base, plot);
}

/* Runs gnuplot on dir/plots/base.gp and renames what it wrote. */
static int run_gnuplot(struct plotter *p, const char *base)
{
    char cmd[4600], from[4200], to[4200];
    snprintf(cmd, sizeof cmd, "cd '%s/plots' && gnuplot '%s.gp' 2>'%s.log'", p->dir, base, base);
    int rc = system(cmd);
    if (rc != 0) {
        if (WIFEXITED(rc) && WEXITSTATUS(rc) == 127)
            snprintf(p->err, p->errlen, "gnuplot is not installed (Debian package gnuplot-nox): no plots made; the data is in %s", p->dir);
        else
            snprintf(p->err, p->errlen, "gnuplot failed on %s/plots/%s.gp; its words are in %s.log beside it", p->dir, base, base);
        return -1;
    }
    snprintf(from, sizeof from, "%s/plots/%s.log", p->dir, base);
    unlink(from);
    static const char *const suffix[] = { "svg", "png" };
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s/plots/%s.%s.part", p->dir, base, suffix[i]);
        snprintf(to, sizeof to, "%s/plots/%s.%s", p->dir, base, suffix[i]);
        if (rename(from, to) != 0) {
            snprintf(p->err, p->errlen, "%s: %s", to, strerror(errno));
            return -1;
        }
        if (p->say)
            fprintf(p->say, "%s%s", i ? "  " : "", to);
    }
    if (p->say)
        fputc('\n', p->say);
    return 0;
}

int plot_script_begin(struct plotter *p, struct plot_script *s, const char *base)
{
    char path[4200];
    memset(s, 0, sizeof *s);
    snprintf(s->base, sizeof s->base, "%s", base);
    snprintf(path, sizeof path, "%s/plots/%s.gp", p->dir, base);
    s->f = fopen(path, "w");
    s->cmd = open_memstream(&s->plot, &s->plotlen);
    if (s->f && s->cmd)
        return 0;
    snprintf(p->err, p->errlen, "%s: %s", path, strerror(errno));
    if (s->f)
        fclose(s->f);
    if (s->cmd)
        fclose(s->cmd);
    free(s->plot);
    return -1;
}

int plot_script_end(struct plotter *p, struct plot_script *s)
{
    fclose(s->cmd);
    if (s->plotlen)
        script_tail(s->f, s->base, s->plot);
    free(s->plot);
    int bad = ferror(s->f);
    if (fclose(s->f) != 0 || bad) {
        snprintf(p->err, p->errlen, "%s/plots/%s.gp: %s", p->dir, s->base, strerror(errno));
        return -1;
    }
    if (s->plotlen)
        return run_gnuplot(p, s->base);
    char path[4200];
    snprintf(path, sizeof path, "%s/plots/%s.gp", p->dir, s->base);
    unlink(path); /* nothing to be drawn */
    return 0;
}
