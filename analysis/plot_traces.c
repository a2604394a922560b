/* SPDX-License-Identifier: GPL-2.0-only */
/* Congestion control over time, as its papers draw it: a plot a variant of rates (what control allows, thin, and what was acknowledged,
 * thick), of alpha, and of round trips; a colour a connection. */
#include "plot_internal.h"

#include <stdlib.h>

#define FLOWS_SHOWN 8      /* more cannot be told apart; the file has all */

static double rate_of(const struct result_flow_sample *s) { return s->rate_bps < 0 ? -1 : (double)s->rate_bps / 1e9; }
static double goodput_of(const struct result_flow_sample *s) { return (double)s->goodput_bps / 1e9; }
static double alpha_of(const struct result_flow_sample *s) { return s->alpha; }
static double rtt_of(const struct result_flow_sample *s) { return s->rtt_ps < 0 ? -1 : (double)s->rtt_ps / 1e6; }
static double window_of(const struct result_flow_sample *s) { return s->window_bytes < 0 ? -1 : (double)s->window_bytes / 1e3; }

typedef double value_fn(const struct result_flow_sample *s);
static const struct flow_plot { const char *name, *title, *ylabel; value_fn *thick, *thin; } plots[] = {
    { "rate", "rate of each connection", "Gb/s (thick: acknowledged, thin: allowed by control)", goodput_of, rate_of },
    { "alpha", "control's estimate of congestion", "alpha (of HPCC: utilisation U)", alpha_of, NULL },
    { "window", "window of each connection", "window (KB)", window_of, NULL },
    { "rtt", "round-trip samples", "round trip (us)", rtt_of, NULL },
};

/* Mean of each stretch of samples; true if there is anything but nothing. */
static bool put_block(FILE *f, const struct result *r, uint32_t flow, value_fn *value, const char *name)
{
    size_t n = 0, at = 0;
    bool any = false;
    for (size_t i = 0; i < r->nflows; i++)
        n += r->flows[i].flow == flow;
    size_t stretch = n / CURVE_POINTS + 1, in = 0;
    double sum = 0, time = 0;
    fprintf(f, "$%s%u << EOD\n", name, flow);
    for (size_t i = 0; i < r->nflows; i++) {
        const struct result_flow_sample *s = &r->flows[i];
        if (s->flow != flow)
            continue;
        at++;
        double v = value(s);
        if (v >= 0) {
            any |= v > 0;
            sum += v;
            time += (double)s->at_ps / 1e9;
            in++;
        }
        if (at % stretch == 0 || at == n) {
            if (in)
                fprintf(f, "%.6f,%.6g\n", time / (double)in, sum / (double)in);
            sum = time = 0;
            in = 0;
        }
    }
    fputs("EOD\n", f);
    return any;
}

static void put_curve(struct plot_script *s, const char *block, uint32_t flow, const struct result_flow_sample *first, unsigned colour, bool thick)
{
    fprintf(s->cmd, "%s$%s%u using 1:2 with lines lc rgb '%s' lw %s ", ftell(s->cmd) > 0 ? ", \\\n     " : "plot ", block, flow, plot_palette[colour % PLOT_COLOURS],
            thick ? "2.2" : "0.8");
    if (thick)
        fprintf(s->cmd, "title \"%u: host %u to %u\"", flow, first->src, first->dst);
    else
        fputs("notitle", s->cmd);
}

static uint32_t count_flows(const struct result *r)
{
    uint32_t most = 0;
    for (size_t i = 0; i < r->nflows; i++)
        most = r->flows[i].flow + 1 > most ? r->flows[i].flow + 1 : most;
    return most;
}

static int plot_one(struct plotter *p, const struct result *r, const struct flow_plot *what)
{
    struct plot_script s;
    char base[160], title[300];
    uint32_t shown[FLOWS_SHOWN];
    unsigned n = 0;
    snprintf(base, sizeof base, "%s-%s", what->name, r->name);
    uint32_t flows = count_flows(r);
    int len = snprintf(title, sizeof title, "%s, %s: %s", r->scenario, r->name, what->title);
    if (flows > FLOWS_SHOWN && (size_t)len < sizeof title)
        snprintf(title + len, sizeof title - (size_t)len, " (%d of %u)", FLOWS_SHOWN, flows);
    if (plot_script_begin(p, &s, base) != 0)
        return -1;
    plot_script_head(s.f, title, "time (ms)", what->ylabel);
    fputs("set yrange [0:*]\n", s.f);
    for (size_t i = 0; i < r->nflows && n < FLOWS_SHOWN; i++) {
        const struct result_flow_sample *first = &r->flows[i];
        unsigned k = 0;
        while (k < n && shown[k] != first->flow)
            k++;
        if (k < n)
            continue;
        shown[n] = first->flow;
        if (what->thin && put_block(s.f, r, first->flow, what->thin, "thin"))
            put_curve(&s, "thin", first->flow, first, n, false);
        if (put_block(s.f, r, first->flow, what->thick, "d"))
            put_curve(&s, "d", first->flow, first, n, true);
        n++;
    }
    return plot_script_end(p, &s);
}

int plot_traces(struct plotter *p)
{
    for (size_t i = 0; i < p->nall; i++)
        for (size_t k = 0; p->all[i].nflows && k < sizeof plots / sizeof plots[0]; k++)
            if (plot_one(p, &p->all[i], &plots[k]) != 0)
                return -1;
    return 0;
}
