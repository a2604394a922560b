/* SPDX-License-Identifier: GPL-2.0-only */
/* Percentiles by nearest rank, means, and what the samples can support. */
#include "result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void result_fini(struct result *r)
{
    free(r->messages);
    free(r->hosts);
    free(r->queue);
    free(r->flows);
    r->messages = NULL;
    r->hosts = NULL;
    r->queue = NULL;
    r->flows = NULL;
    r->nmessages = r->nhosts = r->nqueue = r->nflows = 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rank of percentile q among n values, 1-based: the smallest k with k >= q n. The guard keeps 0.99 * 100 from becoming 100. */
static size_t nearest_rank(size_t n, double q)
{
    double exact = q * (double)n;
    size_t k = (size_t)ceil(exact - exact * 1e-12);
    return k < 1 ? 1 : k > n ? n : k;
}

double result_percentile(const double *sorted, size_t n, double q)
{
    return n ? sorted[nearest_rank(n, q) - 1] : NAN;
}

void result_stats_of(double *values, size_t n, size_t infinite, struct result_stats *out)
{
    static const double q[4] = { 0.50, 0.90, 0.99, 0.999 };
    double *slot[4] = { &out->p50, &out->p90, &out->p99, &out->p999 };
    size_t all = n + infinite;

    memset(out, 0, sizeof *out);
    out->n = all;
    out->mean = out->p50 = out->p90 = out->p99 = out->p999 = out->max = NAN;
    if (all == 0)
        return;
    qsort(values, n, sizeof *values, ascending);
    if (infinite == 0) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += values[i];
        out->mean = sum / (double)n;
        out->max = values[n - 1];
        out->has[0] = out->has[5] = true;
    } else {
        out->mean = out->max = INFINITY;
    }
    for (int i = 0; i < 4; i++) {
        size_t k = nearest_rank(all, q[i]);
        /* Fewer than one sample beyond the percentile: the sample cannot tell it. */
        bool supported = (1 - q[i]) * (double)all >= 1 - 1e-9;
        *slot[i] = k > n ? INFINITY : values[k - 1];
        out->has[1 + i] = supported && k <= n;
    }
}

static double metric_of(const struct result_message *m, enum result_metric metric)
{
    switch (metric) {
    case RESULT_LATENCY_NS:    return (double)m->latency_ps / 1000;
    case RESULT_COMPLETION_NS: return m->completion_ps < 0 ? NAN : (double)m->completion_ps / 1000;
    case RESULT_SLOWDOWN:      return m->ideal_ps > 0 ? (double)m->latency_ps / (double)m->ideal_ps : NAN;
    case RESULT_SELF_SLOWDOWN: return m->self_ideal_ps > 0 ? (double)m->latency_ps / (double)m->self_ideal_ps : NAN;
    }
    return NAN;
}

void result_metric_values(const struct result *r, enum result_metric metric, double *v, size_t *n, size_t *infinite)
{
    for (size_t i = 0; i < r->nmessages; i++) {
        const struct result_message *m = &r->messages[i];
        if (!m->measured)
            continue;
        if (m->outcome != RESULT_OK) {
            ++*infinite;
            continue;
        }
        double x = metric_of(m, metric);
        if (!isnan(x))
            v[(*n)++] = x;
    }
}

void result_metric_stats(const struct result *r, enum result_metric metric, struct result_stats *out)
{
    double *v = malloc((r->nmessages ? r->nmessages : 1) * sizeof *v);
    size_t n = 0, infinite = 0;
    if (v)
        result_metric_values(r, metric, v, &n, &infinite);
    result_stats_of(v, n, infinite, out);
    free(v);
}

double result_goodput_bps(const struct result *r)
{
    int64_t window = r->measure_to_ps - r->measure_from_ps;
    return window > 0 ? (double)r->payload_bytes * 8 * 1e12 / (double)window : 0;
}

double result_message_rate(const struct result *r)
{
    int64_t window = r->measure_to_ps - r->measure_from_ps;
    size_t n = 0;
    for (size_t i = 0; i < r->nmessages; i++)
        n += r->messages[i].measured && r->messages[i].outcome == RESULT_OK;
    return window > 0 ? (double)n * 1e12 / (double)window : 0;
}

double result_wire_efficiency(const struct result *r)
{
    return r->wire_bytes ? (double)r->all_payload_bytes / (double)r->wire_bytes : 0;
}

double result_timer_share_of_tail(const struct result *r)
{
    struct result_stats s;
    size_t tail = 0, waited = 0;
    result_metric_stats(r, RESULT_LATENCY_NS, &s);
    for (size_t i = 0; i < r->nmessages; i++) {
        const struct result_message *m = &r->messages[i];
        double ns = m->outcome == RESULT_OK ? (double)m->latency_ps / 1000 : INFINITY;
        if (!m->measured || ns < s.p999)
            continue;
        tail++;
        waited += m->waited_timer;
    }
    return tail ? (double)waited / (double)tail : 0;
}
