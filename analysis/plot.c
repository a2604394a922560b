/* SPDX-License-Identifier: GPL-2.0-only */
/* Plots by gnuplot, as SVG and PNG. Colour tells the transport (Okabe and Ito's palette, told apart by the colour-blind), the
 * dash the fabric. Each plot's script with its data stays beside it, to be changed by hand. */
#include "plot_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_BINS 24
#define FLOW_PAIRS 16
#define FLOW_BARS 64

/* As dashes tell fabrics of curves, fills tell them of bars. */
static const char *const flow_fill[] = { "solid 1", "solid 0.45", "pattern 4", "pattern 1", "solid 0.2", "pattern 5" };

/* gnuplot's own dashes are five. */
static const char *const dashes[] = { "1", "2", "3", "4", "5", "'-_'", "'_. . '", "'- . . '" };
#define DASHES (sizeof dashes / sizeof dashes[0])

static bool same_load(double a, double b) { return !(a < b) && !(a > b); }

static int index_of(const struct plotter *p, size_t upto, bool fabric)
{
    int k = 0;
    for (size_t i = 0; i <= upto; i++) {
        const char *name = fabric ? p->all[i].fabric : p->all[i].transport;
        const char *want = fabric ? p->all[upto].fabric : p->all[upto].transport;
        size_t j = 0;
        while (j < i && strcmp(fabric ? p->all[j].fabric : p->all[j].transport, name) != 0)
            j++;
        if (strcmp(name, want) == 0)
            return k;
        if (j == i)
            k++;
    }
    return k;
}

static bool loads_vary(const struct plotter *p)
{
    for (size_t i = 1; i < p->nall; i++)
        if (!same_load(p->all[i].load, p->all[0].load))
            return true;
    return false;
}

static int make_curves(struct plotter *p)
{
    p->curves = calloc(p->nall ? p->nall : 1, sizeof *p->curves);
    if (!p->curves)
        return -1;
    bool one = true;
    for (size_t i = 1; i < p->nall; i++)
        one &= strcmp(p->all[i].transport, p->all[0].transport) == 0;
    for (size_t i = 0; i < p->nall; i++) {
        const struct result *r = &p->all[i];
        size_t c = 0;
        while (c < p->ncurves && !(strcmp(p->curves[c].r[0]->transport, r->transport) == 0 && strcmp(p->curves[c].r[0]->fabric, r->fabric) == 0 &&
                                   same_load(p->curves[c].r[0]->load, r->load)))
            c++;
        struct curve *v = &p->curves[c];
        const struct result **grown = realloc(v->r, (v->n + 1) * sizeof *grown);
        if (!grown)
            return -1;
        v->r = grown;
        v->r[v->n++] = r;
        if (c < p->ncurves)
            continue;
        p->ncurves++;
        /* One transport alone: colours tell the fabrics, too. */
        v->colour = index_of(p, i, one) % PLOT_COLOURS;
        v->dash = 1 + index_of(p, i, true);
        snprintf(v->title, sizeof v->title, "%s, %s", r->transport, r->fabric);
    }
    return 0;
}

static double *curve_values(const struct curve *c, enum result_metric metric, size_t *n, size_t *infinite)
{
    size_t all = 1;
    struct result_stats unused;
    for (size_t i = 0; i < c->n; i++)
        all += c->r[i]->nmessages;
    double *v = malloc(all * sizeof *v);
    *n = *infinite = 0;
    for (size_t i = 0; v && i < c->n; i++)
        result_metric_values(c->r[i], metric, v, n, infinite);
    if (v)
        result_stats_of(v, *n, *infinite, &unused); /* sorts */
    return v;
}

static void plot_item(struct plot_script *s, const struct curve *c, size_t block, const char *using, const char *with, const char *suffix, double width)
{
    fprintf(s->cmd, "%s$d%zu using %s with %s lc rgb '%s' dt %s lw %.1f title \"%s%s\"", ftell(s->cmd) > 0 ? ", \\\n     " : "plot ", block, using, with,
            plot_palette[c->colour], dashes[(size_t)(c->dash - 1) % DASHES], width, c->title, suffix);
}

/* Indices of at most CURVE_POINTS of n sorted samples: all of a small set; of a large one evenly, and densely in the tail. */
static size_t next_point(size_t i, size_t n)
{
    if (n <= CURVE_POINTS)
        return i + 1;
    size_t left = n - i;
    size_t step = left / (CURVE_POINTS / 8) + 1; /* geometric towards the tail */
    size_t even = n / (CURVE_POINTS / 2) + 1;
    return i + (step < even ? step : even);
}

static int plot_distribution(struct plotter *p, double load, bool tail, const char *base, const char *title)
{
    struct plot_script s;
    char failed[48];
    if (plot_script_begin(p, &s, base) != 0)
        return -1;
    plot_script_head(s.f, title, "latency (microseconds)", tail ? "share of messages slower" : "share of messages");
    fprintf(s.f, "set logscale x\nset format x '%%.12g'\n%s", tail ? "set logscale y\nset format y '10^{%L}'\n" : "set yrange [0:1]\n");
    for (size_t c = 0; c < p->ncurves; c++) {
        const struct curve *v = &p->curves[c];
        size_t n, infinite;
        if (!same_load(v->r[0]->load, load))
            continue;
        double *x = curve_values(v, RESULT_LATENCY_NS, &n, &infinite);
        if (x && n + infinite) {
            double all = (double)(n + infinite);
            fprintf(s.f, "$d%zu << EOD\n", c);
            /* The last sample has nothing beyond it: the tail's curve ends at 1/n, the CDF's at 1. */
            for (size_t i = 0; i < n; i = i + 1 < n && next_point(i, n) >= n ? n - 1 : next_point(i, n))
                fprintf(s.f, "%.6g,%.9g\n", x[i] / 1e3, tail ? (all - (double)i) / all : (double)(i + 1) / all);
            fprintf(s.f, n ? "EOD\n" : "NaN,NaN\nEOD\n"); /* nothing arrived: the key says it */
            failed[0] = 0;
            if (infinite)
                snprintf(failed, sizeof failed, " (%zu not ended well)", infinite);
            /* Dashes show on one path only, which `steps` is not; with many points the two look alike. */
            plot_item(&s, v, c, "1:2", n > 200 ? "lines" : "steps", failed, 2);
        }
        free(x);
    }
    return plot_script_end(p, &s);
}

struct sized { double bytes, slowdown; };
static int by_size(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes ? 1 : (x->slowdown > y->slowdown) - (x->slowdown < y->slowdown);
}

static size_t curve_sizes(const struct curve *v, struct sized **out)
{
    size_t n = 0, room = 1;
    for (size_t i = 0; i < v->n; i++)
        room += v->r[i]->nmessages;
    *out = malloc(room * sizeof **out);
    for (size_t i = 0; *out && i < v->n; i++)
        for (size_t j = 0; j < v->r[i]->nmessages; j++) {
            const struct result_message *m = &v->r[i]->messages[j];
            if (m->measured && m->outcome == RESULT_OK && m->ideal_ps > 0)
                (*out)[n++] = (struct sized){ (double)m->bytes, (double)m->latency_ps / (double)m->ideal_ps };
        }
    if (*out)
        qsort(*out, n, sizeof **out, by_size);
    return n;
}

/* Bins of equal counts, never splitting one size over two bins. True if any has enough messages for a 99th percentile. */
static bool put_size_bins(FILE *f, const struct sized *m, size_t n)
{
    size_t want = n / SIZE_BINS + 1;
    double *v = malloc((n ? n : 1) * sizeof *v);
    bool p99 = false;
    for (size_t from = 0; v && from < n;) {
        size_t to = from + want < n ? from + want : n;
        while (to < n && !(m[to].bytes > m[to - 1].bytes))
            to++;
        struct result_stats st;
        for (size_t i = from; i < to; i++)
            v[i - from] = m[i].slowdown;
        result_stats_of(v, to - from, 0, &st);
        fprintf(f, "%.0f,%.6g,", m[from + (to - from) / 2].bytes, st.p50);
        if (st.has[3])
            fprintf(f, "%.6g", st.p99);
        else
            fputs("NaN", f);
        fputc('\n', f);
        p99 |= st.has[3];
        from = to;
    }
    free(v);
    return p99;
}

static int plot_slowdown(struct plotter *p, double load, const char *base, const char *title)
{
    struct plot_script s;
    char with[48];
    double least = HUGE_VAL, most = 0;
    if (plot_script_begin(p, &s, base) != 0)
        return -1;
    plot_script_head(s.f, title, "message size (bytes)", "slowdown (latency by the unloaded ideal)");
    fputs("set logscale xy\nset format x '%.0s%c'\nset yrange [1:*]\n", s.f);
    for (size_t c = 0; c < p->ncurves; c++) {
        const struct curve *v = &p->curves[c];
        struct sized *m;
        if (!same_load(v->r[0]->load, load))
            continue;
        size_t n = curve_sizes(v, &m);
        if (n) {
            fprintf(s.f, "$d%zu << EOD\n", c);
            bool p99 = put_size_bins(s.f, m, n);
            fputs("EOD\n", s.f);
            /* gnuplot's shapes come in pairs, open and filled, from 4 on; a shape a dash, since a lone point has no dash. */
            int shape = 4 + 2 * ((v->dash - 1) % 6);
            snprintf(with, sizeof with, "linespoints pt %d ps 0.7", shape);
            plot_item(&s, v, c, "1:2", with, ", median", 1);
            snprintf(with, sizeof with, "linespoints pt %d ps 0.7", shape + 1);
            if (p99)
                plot_item(&s, v, c, "1:3", with, ", p99", 2.2);
            least = fmin(least, m[0].bytes);
            most = fmax(most, m[n - 1].bytes);
        }
        free(m);
    }
    if (most > 0 && !(most > least)) /* one size: its points stand in the middle */
        fprintf(s.f, "set xrange [%.0f:%.0f]\nset xtics (%.0f)\n", floor(least / 2), ceil(least * 2), least);
    return plot_script_end(p, &s);
}

/* How far a plot of the queue goes: to the end, but not beyond twice the time of posting and half as long again as the shortest run: a
 * collapse that drags on for ever would squeeze the rest into the axis. */
static int64_t queue_shown_ps(const struct plotter *p, double load)
{
    int64_t posted_ps = 0, shortest_ps = 0, longest_ps = 0;
    for (size_t i = 0; i < p->nall; i++)
        for (size_t m = 0; m < p->all[i].nmessages; m++)
            posted_ps = p->all[i].messages[m].posted_ps > posted_ps ? p->all[i].messages[m].posted_ps : posted_ps;
    for (size_t c = 0; c < p->ncurves; c++) {
        const struct result *r = p->curves[c].r[0];
        if (!same_load(r->load, load) || r->nqueue == 0)
            continue;
        int64_t end_ps = r->queue[r->nqueue - 1].at_ps;
        shortest_ps = shortest_ps && shortest_ps < end_ps ? shortest_ps : end_ps;
        longest_ps = longest_ps > end_ps ? longest_ps : end_ps;
    }
    int64_t most_ps = 2 * posted_ps > shortest_ps + shortest_ps / 2 ? 2 * posted_ps : shortest_ps + shortest_ps / 2;
    return most_ps < longest_ps ? most_ps : longest_ps;
}

static int plot_queue(struct plotter *p, double load, const char *base, const char *title)
{
    struct plot_script s;
    if (plot_script_begin(p, &s, base) != 0)
        return -1;
    plot_script_head(s.f, title, "time (ms)", "largest egress queue (KB)");
    int64_t end_ps = queue_shown_ps(p, load);
    fprintf(s.f, "set yrange [0:*]\nset xrange [0:%.6f]\n", end_ps ? (double)end_ps / 1e9 : 1);
    for (size_t c = 0; c < p->ncurves; c++) {
        const struct curve *v = &p->curves[c];
        const struct result *r = v->r[0]; /* one seed: a mean over seeds would show a queue that never was */
        if (!same_load(r->load, load) || r->nqueue == 0)
            continue;
        /* Largest of each stretch, so that a peak is never thinned away. */
        size_t shown = 0;
        while (shown < r->nqueue && r->queue[shown].at_ps <= end_ps)
            shown++;
        size_t stretch = shown / CURVE_POINTS + 1;
        fprintf(s.f, "$d%zu << EOD\n", c);
        for (size_t i = 0; i < shown; i += stretch) {
            uint64_t peak = 0;
            for (size_t j = i; j < i + stretch && j < shown; j++)
                peak = r->queue[j].peak_bytes > peak ? r->queue[j].peak_bytes : peak;
            fprintf(s.f, "%.6f,%.3f\n", (double)r->queue[i].at_ps / 1e9, (double)peak / 1e3);
        }
        fputs("EOD\n", s.f);
        plot_item(&s, v, c, "1:2", "lines", "", 1.4);
    }
    return plot_script_end(p, &s);
}

/* --- rates of single flows, where pairs of hosts are few --- */

struct pair { uint32_t src, dst; };

/* Distinct (src, dst) of the measured messages, in order of their first post; more than FLOW_PAIRS: one more. */
static size_t flow_pairs(const struct plotter *p, double load, struct pair *pair)
{
    size_t n = 0;
    for (size_t i = 0; i < p->nall; i++)
        for (size_t j = 0; same_load(p->all[i].load, load) && j < p->all[i].nmessages; j++) {
            const struct result_message *m = &p->all[i].messages[j];
            size_t k = 0;
            while (k < n && (pair[k].src != m->src || pair[k].dst != m->dst))
                k++;
            if (!m->measured || k < n)
                continue;
            if (n == FLOW_PAIRS)
                return n + 1;
            pair[n++] = (struct pair){ m->src, m->dst };
        }
    return n;
}

/* Bytes of all messages by their latencies together, Gb/s; 0 if none arrived. */
static double pair_rate(const struct curve *v, struct pair pair)
{
    double bits = 0, ns = 0;
    for (size_t i = 0; i < v->n; i++)
        for (size_t j = 0; j < v->r[i]->nmessages; j++) {
            const struct result_message *m = &v->r[i]->messages[j];
            if (!m->measured || m->outcome != RESULT_OK || m->src != pair.src || m->dst != pair.dst)
                continue;
            bits += 8.0 * (double)m->bytes;
            ns += (double)m->latency_ps / 1e3;
        }
    return ns > 0 ? bits / ns : 0;
}

static int plot_flows(struct plotter *p, double load, const char *base, const char *title)
{
    struct pair pair[FLOW_PAIRS];
    struct plot_script s;
    size_t n = flow_pairs(p, load, pair);
    size_t bars = 0;
    for (size_t c = 0; c < p->ncurves; c++)
        bars += same_load(p->curves[c].r[0]->load, load) ? n : 0;
    if (n < 2 || n > FLOW_PAIRS || bars > FLOW_BARS)
        return 0;
    if (plot_script_begin(p, &s, base) != 0)
        return -1;
    plot_script_head(s.f, title, "from host > to host", "rate while under way (Gb/s)");
    fputs("set yrange [0:*]\nset style data histograms\nset style histogram clustered gap 1.5\nset style fill solid 1 border lc rgb '#444444'\n"
          "set xtics noenhanced\n", s.f);
    for (size_t c = 0; c < p->ncurves; c++) {
        const struct curve *v = &p->curves[c];
        if (!same_load(v->r[0]->load, load))
            continue;
        fprintf(s.f, "$d%zu << EOD\n", c);
        for (size_t k = 0; k < n; k++)
            fprintf(s.f, "%u > %u,%.6g\n", pair[k].src, pair[k].dst, pair_rate(v, pair[k]));
        fputs("EOD\n", s.f);
        fprintf(s.cmd, "%s$d%zu using 2:xtic(1) lc rgb '%s' fs %s title \"%s\"", ftell(s.cmd) > 0 ? ", \\\n     " : "plot ", c, plot_palette[v->colour],
                flow_fill[(size_t)(v->dash - 1) % (sizeof flow_fill / sizeof flow_fill[0])], v->title);
    }
    return plot_script_end(p, &s);
}

static int plot_against_load(struct plotter *p)
{
    struct plot_script s;
    if (plot_script_begin(p, &s, "latency-load") != 0)
        return -1;
    plot_script_head(s.f, p->nall ? p->all[0].scenario : "", "load (percent of the access links)", "latency (microseconds)");
    fputs("set logscale y\n", s.f);
    for (size_t c = 0; c < p->ncurves; c++) {
        const struct curve *v = &p->curves[c];
        size_t first = 0;
        while (!(p->curves[first].colour == v->colour && p->curves[first].dash == v->dash))
            first++;
        if (first != c)
            continue;
        fprintf(s.f, "$d%zu << EOD\n", c);
        for (size_t k = 0; k < p->ncurves; k++) {
            const struct curve *w = &p->curves[k];
            size_t n, infinite;
            if (w->colour != v->colour || w->dash != v->dash)
                continue;
            double *x = curve_values(w, RESULT_LATENCY_NS, &n, &infinite);
            struct result_stats st;
            result_stats_of(x, n, infinite, &st);
            fprintf(s.f, "%.6g,", 100 * w->r[0]->load);
            fprintf(s.f, st.has[1] ? "%.6g," : "NaN,", st.p50 / 1e3);
            fprintf(s.f, st.has[3] ? "%.6g\n" : "NaN\n", st.p99 / 1e3);
            free(x);
        }
        fputs("EOD\n", s.f);
        plot_item(&s, v, c, "1:2", "linespoints pt 6 ps 0.7", ", median", 1);
        plot_item(&s, v, c, "1:3", "linespoints pt 7 ps 0.7", ", p99", 2.2);
    }
    return plot_script_end(p, &s);
}

static int plot_load(struct plotter *p, double load, bool name_it)
{
    char base[96], title[200], suffix[32] = "", more[48] = "";
    if (name_it) {
        snprintf(suffix, sizeof suffix, "-load%.0f", 100 * load);
        snprintf(more, sizeof more, ", load %.3g %%", 100 * load);
    }
    const char *scenario = p->all[0].scenario;
    snprintf(base, sizeof base, "latency-cdf%s", suffix);
    snprintf(title, sizeof title, "%s: latency%s", scenario, more);
    if (plot_distribution(p, load, false, base, title) != 0)
        return -1;
    snprintf(base, sizeof base, "latency-tail%s", suffix);
    snprintf(title, sizeof title, "%s: latency's tail%s", scenario, more);
    if (plot_distribution(p, load, true, base, title) != 0)
        return -1;
    snprintf(base, sizeof base, "slowdown-size%s", suffix);
    snprintf(title, sizeof title, "%s: slowdown by message size%s", scenario, more);
    if (plot_slowdown(p, load, base, title) != 0)
        return -1;
    snprintf(base, sizeof base, "flows%s", suffix);
    snprintf(title, sizeof title, "%s: rate of each flow%s", scenario, more);
    if (plot_flows(p, load, base, title) != 0)
        return -1;
    snprintf(base, sizeof base, "queue%s", suffix);
    snprintf(title, sizeof title, "%s: queue depth%s", scenario, more);
    return plot_queue(p, load, base, title);
}

static int plot_all(struct plotter *p)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/plots", p->dir);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        snprintf(p->err, p->errlen, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (make_curves(p) != 0) {
        snprintf(p->err, p->errlen, "out of memory");
        return -1;
    }
    bool vary = loads_vary(p);
    for (size_t i = 0; i < p->nall; i++) {
        size_t j = 0;
        while (!same_load(p->all[j].load, p->all[i].load))
            j++;
        if (j == i && plot_load(p, p->all[i].load, vary) != 0)
            return -1;
    }
    if (plot_traces(p) != 0)
        return -1;
    return vary ? plot_against_load(p) : 0;
}

int result_plot_dir(const char *dir, void *stdio_file, char *err, size_t errlen)
{
    struct plotter p = { .dir = dir, .say = stdio_file, .err = err, .errlen = errlen };
    int rc = -1;
    if (strchr(dir, '\'')) {
        snprintf(err, errlen, "%s: plots cannot be made in a directory with a ' in its name", dir);
        return -1;
    }
    if (result_load_dir(dir, &p.all, &p.nall, err, errlen) == 0) {
        if (p.nall == 0)
            snprintf(err, errlen, "%s: no variants to plot", dir);
        else
            rc = plot_all(&p);
    }
    for (size_t i = 0; i < p.ncurves; i++)
        free(p.curves[i].r);
    free(p.curves);
    for (size_t i = 0; i < p.nall; i++)
        result_fini(&p.all[i]);
    free(p.all);
    return rc;
}
