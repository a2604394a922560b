/* SPDX-License-Identifier: GPL-2.0-only */
/* The terminal's table: a column a variant (its seeds merged), a row a figure, in blocks as wide as the terminal. */
#include "result.h"

#include <inttypes.h>
#include <math.h>
#define MATHLIB_STANDALONE
#include <Rmath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL 20
#define LABEL 26

struct group {
    const struct result *const *r; /* its seeds */
    size_t n;
    struct result_stats stats[3]; /* latency, slowdown, self slowdown, all seeds' messages together */
};

static double *pooled(const struct group *g, enum result_metric metric, size_t *n, size_t *infinite)
{
    size_t all = 1;
    for (size_t i = 0; i < g->n; i++)
        all += g->r[i]->nmessages;
    double *v = malloc(all * sizeof *v);
    *n = *infinite = 0;
    for (size_t i = 0; v && i < g->n; i++)
        result_metric_values(g->r[i], metric, v, n, infinite);
    return v;
}

static void group_stats(struct group *g)
{
    static const enum result_metric metric[3] = { RESULT_LATENCY_NS, RESULT_SLOWDOWN, RESULT_SELF_SLOWDOWN };
    for (int k = 0; k < 3; k++) {
        size_t n, infinite;
        double *v = pooled(g, metric[k], &n, &infinite);
        result_stats_of(v, n, infinite, &g->stats[k]);
        free(v);
    }
}

/* 95 % confidence half-width of the mean over seeds of a percentile of latency, in ns; NAN with fewer than two seeds. */
static double tail_halfwidth(const struct group *g, int which)
{
    double sum = 0, sum2 = 0;
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        struct result_stats s;
        result_metric_stats(g->r[i], RESULT_LATENCY_NS, &s);
        double x = which == 3 ? s.p99 : s.p999;
        if (!s.has[which])
            return NAN;
        sum += x;
        sum2 += x * x;
        n++;
    }
    if (n < 2)
        return NAN;
    double mean = sum / (double)n, var = (sum2 - sum * mean) / (double)(n - 1);
    return qt(0.975, (double)(n - 1), 1, 0) * sqrt(var > 0 ? var : 0) / sqrt((double)n);
}

static void put_time(char *out, double ns, bool has)
{
    if (!has)
        snprintf(out, CELL, isinf(ns) ? "infinite" : "not supported");
    else if (ns < 1e4)
        snprintf(out, CELL, "%.3f us", ns / 1e3);
    else if (ns < 1e6)
        snprintf(out, CELL, "%.1f us", ns / 1e3);
    else
        snprintf(out, CELL, "%.2f ms", ns / 1e6);
}

static void put_bytes(char *out, uint64_t v)
{
    if (v < 10000)
        snprintf(out, CELL, "%" PRIu64 " B", v);
    else if (v < 10000000)
        snprintf(out, CELL, "%.1f KB", (double)v / 1e3);
    else
        snprintf(out, CELL, "%.1f MB", (double)v / 1e6);
}

static double stat_of(const struct result_stats *s, int which, bool *has)
{
    const double v[6] = { s->mean, s->p50, s->p90, s->p99, s->p999, s->max };
    *has = s->has[which];
    return v[which];
}

const char *result_verdict(const struct result *r, char *buf, size_t len)
{
    const struct result_class *nearest = r->classes, *least = r->classes;
    char peak[CELL], xoff[CELL], left[CELL], headroom[CELL];
    *buf = '\0';
    for (size_t i = 1; i < r->nclasses; i++) {
        const struct result_class *k = &r->classes[i];
        if ((double)k->peak_bytes * (double)nearest->xoff_bytes > (double)nearest->peak_bytes * (double)k->xoff_bytes)
            nearest = k;
        if (k->least_headroom_bytes < least->least_headroom_bytes)
            least = k;
    }
    if (!r->nclasses)
        return buf;
    put_bytes(peak, nearest->peak_bytes);
    put_bytes(xoff, nearest->xoff_bytes);
    put_bytes(left, least->least_headroom_bytes);
    put_bytes(headroom, least->headroom_bytes);
    if (r->lossless_drops) {
        put_bytes(left, r->headroom_short_bytes);
        snprintf(buf, len, "NOT LOSSLESS: %" PRIu64 " packets of a lossless class dropped; %s more headroom was needed beside %s", r->lossless_drops, left, headroom);
    } else if (r->pause_frames) {
        snprintf(buf, len, "%" PRIu64 " pause frames: peak queue %s of %s; least headroom left %s of %s", r->pause_frames, peak, xoff, left, headroom);
    } else {
        snprintf(buf, len, "no pauses: peak queue %s of %s", peak, xoff);
    }
    return buf;
}

typedef void cell_fn(const struct group *g, int arg, char *out);

static void cell_latency(const struct group *g, int which, char *out)
{
    bool has;
    double v = stat_of(&g->stats[0], which, &has);
    put_time(out, v, has);
    if (has && (which == 3 || which == 4)) {
        double h = tail_halfwidth(g, which);
        if (!isnan(h) && v < 1e6)
            snprintf(out, CELL, v < 1e4 ? "%.3f+-%.3f us" : "%.1f+-%.1f us", v / 1e3, h / 1e3);
        else if (!isnan(h))
            snprintf(out, CELL, "%.2f+-%.2f ms", v / 1e6, h / 1e6);
    }
}

static void cell_slowdown(const struct group *g, int which, char *out)
{
    bool has;
    double v = stat_of(&g->stats[which >= 6 ? 2 : 1], which % 6, &has);
    if (has)
        snprintf(out, CELL, "%.2f", v);
    else
        snprintf(out, CELL, isinf(v) ? "infinite" : "not supported");
}

enum count { COUNT_MEASURED, COUNT_EXCLUDED, COUNT_UNFINISHED, COUNT_FAILED };
static void cell_messages(const struct group *g, int what, char *out)
{
    uint64_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        for (size_t j = 0; j < g->r[i]->nmessages; j++) {
            const struct result_message *m = &g->r[i]->messages[j];
            n += what == COUNT_MEASURED ? m->measured : what == COUNT_EXCLUDED ? !m->measured :
                 what == COUNT_UNFINISHED ? m->outcome == RESULT_UNFINISHED : m->outcome == RESULT_FAILED;
        }
    snprintf(out, CELL, "%" PRIu64, n);
}

enum mean { MEAN_GOODPUT, MEAN_EFFICIENCY, MEAN_RATE, MEAN_CPU, MEAN_CPU_MAX, MEAN_TIMER, MEAN_PAUSED };
static double mean_of(const struct result *r, int what)
{
    double busy = 0, most = 0;
    for (size_t i = 0; i < r->nhosts; i++) {
        busy += (double)r->hosts[i].busy_ps;
        most = fmax(most, (double)r->hosts[i].busy_ps);
    }
    double span = r->end_ps > 0 ? (double)r->end_ps : 1;
    switch (what) {
    case MEAN_GOODPUT:    return result_goodput_bps(r) / 1e9;
    case MEAN_EFFICIENCY: return 100 * result_wire_efficiency(r);
    case MEAN_RATE:       return result_message_rate(r) / 1e6;
    case MEAN_CPU:        return r->nhosts ? busy / span / (double)r->nhosts : 0;
    case MEAN_CPU_MAX:    return most / span;
    case MEAN_TIMER:      return 100 * result_timer_share_of_tail(r);
    case MEAN_PAUSED:     return (double)r->paused_ps / 1e6;
    }
    return 0;
}

static void cell_mean(const struct group *g, int what, char *out)
{
    static const char *const form[] = { "%.3g Gb/s", "%.1f %%", "%.3g M/s", "%.2f cores", "%.2f cores", "%.0f %%", "%.1f us" };
    double sum = 0;
    for (size_t i = 0; i < g->n; i++)
        sum += mean_of(g->r[i], what);
    snprintf(out, CELL, form[what], sum / (double)g->n);
}

enum total { TOTAL_RETX, TOTAL_TIMEOUTS, TOTAL_MARKS, TOTAL_CNPS, TOTAL_PAUSES };
static void cell_total(const struct group *g, int what, char *out)
{
    uint64_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct result *r = g->r[i];
        const uint64_t v[] = { r->retransmitted_packets, r->timeouts, r->ecn_marks, r->cnps, r->pause_frames };
        n += v[what];
    }
    snprintf(out, CELL, "%" PRIu64, n);
}

static uint64_t drops_of(const struct group *g, int cause)
{
    uint64_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        n += (size_t)cause < g->r[i]->ndrops ? g->r[i]->drops[cause].packets : 0;
    return n;
}

static void cell_drops(const struct group *g, int cause, char *out)
{
    snprintf(out, CELL, "%" PRIu64, drops_of(g, cause));
}

enum class_row { CLASS_PEAK, CLASS_XOFF, CLASS_LEAST, CLASS_HEADROOM };
/* Of the class and seed that came nearest to its threshold; of headroom, with the least left. */
static void cell_class(const struct group *g, int what, char *out)
{
    const struct result_class *nearest = NULL, *least = NULL;
    for (size_t i = 0; i < g->n; i++)
        for (size_t c = 0; c < g->r[i]->nclasses; c++) {
            const struct result_class *k = &g->r[i]->classes[c];
            if (!nearest || (double)k->peak_bytes * (double)nearest->xoff_bytes > (double)nearest->peak_bytes * (double)k->xoff_bytes)
                nearest = k;
            if (!least || k->least_headroom_bytes < least->least_headroom_bytes)
                least = k;
        }
    if (!nearest)
        snprintf(out, CELL, "-");
    else
        put_bytes(out, what == CLASS_PEAK ? nearest->peak_bytes : what == CLASS_XOFF ? nearest->xoff_bytes :
                  what == CLASS_LEAST ? least->least_headroom_bytes : least->headroom_bytes);
}

enum buffer_row { BUFFER_PEAK, BUFFER_SIZE };
static void cell_buffer(const struct group *g, int what, char *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < g->n; i++) {
        uint64_t x = what == BUFFER_PEAK ? g->r[i]->peak_buffer_bytes : g->r[i]->buffer_bytes;
        v = x > v ? x : v;
    }
    put_bytes(out, v);
}

static void cell_memory(const struct group *g, int what, char *out)
{
    uint64_t most = 0;
    (void)what;
    for (size_t i = 0; i < g->n; i++) {
        uint64_t v = g->r[i]->nodes ? g->r[i]->memory_bytes / g->r[i]->nodes : 0;
        most = v > most ? v : most;
    }
    put_bytes(out, most);
}

enum queue { QUEUE_PEAK, QUEUE_LIMIT };
static void cell_queue(const struct group *g, int what, char *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct result *r = g->r[i];
        if (what == QUEUE_PEAK && r->peak_queue_bytes > v)
            v = r->peak_queue_bytes;
        else if (what == QUEUE_LIMIT && r->queue_limit_bytes > v)
            v = r->queue_limit_bytes;
    }
    if (what == QUEUE_LIMIT && v == 0)
        snprintf(out, CELL, "-");
    else
        put_bytes(out, v);
}

enum reassembly { REASSEMBLY_PEAK, REASSEMBLY_DROPS, REASSEMBLY_EARLY };
static uint64_t reassembly_of(const struct group *g, int what)
{
    uint64_t v = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct result *r = g->r[i];
        if (what == REASSEMBLY_PEAK)
            v = r->reassembly_peak_bytes > v ? r->reassembly_peak_bytes : v;
        else
            v += what == REASSEMBLY_DROPS ? r->reassembly_drops : r->placed_early;
    }
    return v;
}

static void cell_reassembly(const struct group *g, int what, char *out)
{
    if (what == REASSEMBLY_PEAK)
        put_bytes(out, reassembly_of(g, what));
    else
        snprintf(out, CELL, "%" PRIu64, reassembly_of(g, what));
}

static void cell_audit(const struct group *g, int what, char *out)
{
    (void)what;
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->r[i]->audit, "ok") != 0) {
            snprintf(out, CELL, "FAILED");
            return;
        }
    snprintf(out, CELL, "ok");
}

static void cell_digest(const struct group *g, int what, char *out)
{
    (void)what;
    uint64_t d = 0;
    for (size_t i = 0; i < g->n; i++)
        d += g->r[i]->digest;
    snprintf(out, CELL, "%016" PRIx64, d);
}

static void cell_path(const struct group *g, int what, char *out)
{
    const struct result *r = g->r[0];
    if (what == 0)
        snprintf(out, CELL, "%.*s", CELL - 1, r->transport);
    else if (what == 1)
        snprintf(out, CELL, "%.*s", CELL - 1, r->fabric);
    else if (r->load >= 0)
        snprintf(out, CELL, "%.3g %%", 100 * r->load);
    else
        snprintf(out, CELL, "-");
}

static const struct row { const char *label; cell_fn *fn; int arg; } rows[] = {
    { "transport", cell_path, 0 }, { "fabric", cell_path, 1 }, { "load", cell_path, 2 },
    { "messages measured", cell_messages, COUNT_MEASURED }, { "  outside the window", cell_messages, COUNT_EXCLUDED },
    { "  unfinished", cell_messages, COUNT_UNFINISHED }, { "  failed", cell_messages, COUNT_FAILED },
    { "latency mean", cell_latency, 0 }, { "  p50", cell_latency, 1 }, { "  p90", cell_latency, 2 }, { "  p99", cell_latency, 3 },
    { "  p99.9", cell_latency, 4 }, { "  max", cell_latency, 5 },
    { "slowdown mean", cell_slowdown, 0 }, { "  p50", cell_slowdown, 1 }, { "  p90", cell_slowdown, 2 }, { "  p99", cell_slowdown, 3 },
    { "  p99.9", cell_slowdown, 4 }, { "  max", cell_slowdown, 5 },
    { "self slowdown p50", cell_slowdown, 7 }, { "  p99", cell_slowdown, 9 },
    { "tail that met a timer", cell_mean, MEAN_TIMER },
    { "goodput", cell_mean, MEAN_GOODPUT }, { "message rate", cell_mean, MEAN_RATE }, { "wire efficiency", cell_mean, MEAN_EFFICIENCY },
    { "packets sent again", cell_total, TOTAL_RETX }, { "timeouts", cell_total, TOTAL_TIMEOUTS },
    { "ECN marks", cell_total, TOTAL_MARKS }, { "CNPs", cell_total, TOTAL_CNPS },
    { "pause frames", cell_total, TOTAL_PAUSES }, { "time paused, all ports", cell_mean, MEAN_PAUSED },
    { "peak queue", cell_queue, QUEUE_PEAK }, { "  its limit", cell_queue, QUEUE_LIMIT }, { "lossless ingress, peak", cell_class, CLASS_PEAK },
    { "  its XOFF", cell_class, CLASS_XOFF }, { "  least headroom left", cell_class, CLASS_LEAST }, { "  of", cell_class, CLASS_HEADROOM },
    { "peak buffer", cell_buffer, BUFFER_PEAK }, { "  of", cell_buffer, BUFFER_SIZE },
    { "reassembly memory, most", cell_reassembly, REASSEMBLY_PEAK }, { "  segments without room", cell_reassembly, REASSEMBLY_DROPS },
    { "  FPDUs placed early", cell_reassembly, REASSEMBLY_EARLY },
    { "CPU busy, mean host", cell_mean, MEAN_CPU }, { "  busiest host", cell_mean, MEAN_CPU_MAX },
    { "memory a node", cell_memory, 0 }, { "audit", cell_audit, 0 }, { "digest", cell_digest, 0 },
};

static void print_row(FILE *f, const struct group *g, size_t from, size_t to, const char *label, cell_fn *fn, int arg)
{
    fprintf(f, "%-*s", LABEL, label);
    for (size_t i = from; i < to; i++) {
        char cell[CELL] = "";
        fn(&g[i], arg, cell);
        fprintf(f, " %*s", CELL - 2, cell);
    }
    fputc('\n', f);
}

static void print_block(FILE *f, const struct group *g, size_t from, size_t to)
{
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        uint64_t some = rows[k].fn != cell_reassembly;
        for (size_t i = from; i < to && !some; i++)
            some = reassembly_of(&g[i], rows[k].arg);
        if (!some)
            continue;
        print_row(f, g, from, to, rows[k].label, rows[k].fn, rows[k].arg);
        if (rows[k].fn != cell_total || rows[k].arg != TOTAL_TIMEOUTS)
            continue;
        for (size_t c = 0; c < g[from].r[0]->ndrops; c++) {
            uint64_t n = 0;
            for (size_t i = from; i < to; i++)
                n += drops_of(&g[i], (int)c);
            char label[64];
            snprintf(label, sizeof label, "drops: %.40s", g[from].r[0]->drops[c].cause);
            if (n)
                print_row(f, g, from, to, label, cell_drops, (int)c);
        }
    }
}

static bool same_variant(const struct result *a, const struct result *b)
{
    return strcmp(a->transport, b->transport) == 0 && strcmp(a->fabric, b->fabric) == 0 &&
           (a->load < b->load || a->load > b->load ? false : true);
}

static void print_verdicts(FILE *f, const struct group *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < g[i].n; k++)
            if (strcmp(g[i].r[k]->audit, "ok") != 0)
                fprintf(f, "%s, seed %" PRIu64 ": audit: %s\n", g[i].r[k]->name, g[i].r[k]->seed, g[i].r[k]->audit);
        for (size_t k = 0; k < g[i].n; k++)
            if (*g[i].r[k]->deadlock)
                fprintf(f, "%s, seed %" PRIu64 ": pauses wait in a circle %s\n", g[i].r[k]->name, g[i].r[k]->seed, g[i].r[k]->deadlock);
        for (size_t k = 0; k < g[i].n; k++) {
            char verdict[200];
            if (g[i].r[k]->nclasses)
                fprintf(f, "%s: %s\n", g[i].r[k]->name, result_verdict(g[i].r[k], verdict, sizeof verdict));
        }
    }
}

void result_print_table(const struct result *const *r, size_t n, int width, void *stdio_file)
{
    FILE *f = stdio_file;
    struct group *g = calloc(n ? n : 1, sizeof *g);
    size_t ng = 0;
    for (size_t i = 0; g && i < n; i++) {
        if (ng && same_variant(g[ng - 1].r[0], r[i])) {
            g[ng - 1].n++;
            continue;
        }
        g[ng].r = &r[i];
        g[ng++].n = 1;
    }
    for (size_t i = 0; i < ng; i++)
        group_stats(&g[i]);
    size_t per = width > LABEL + CELL ? (size_t)(width - LABEL) / (CELL - 1) : 1;
    for (size_t from = 0; from < ng; from += per) {
        if (from)
            fputc('\n', f);
        print_block(f, g, from, from + per < ng ? from + per : ng);
    }
    print_verdicts(f, g, ng);
    free(g);
}
