/* SPDX-License-Identifier: GPL-2.0-only */
/* Result files: written beside their place and renamed, so that a reader sees a whole file or none. */
#include "result.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct out_file { FILE *f; const char *path; char temp[4096]; };

static int fail(const char *what, const char *path, char *err, size_t errlen)
{
    int e = errno;
    snprintf(err, errlen, "%s: %s: %s", path, what, strerror(e));
    errno = e;
    return -1;
}

static int out_open(struct out_file *o, const char *path, char *err, size_t errlen)
{
    o->path = path;
    /* A device (/dev/stdout, /dev/full) has no "beside". */
    if (strncmp(path, "/dev/", 5) == 0)
        o->temp[0] = 0;
    else if (snprintf(o->temp, sizeof o->temp, "%s.part", path) >= (int)sizeof o->temp)
        return errno = ENAMETOOLONG, fail("cannot write", path, err, errlen);
    o->f = fopen(o->temp[0] ? o->temp : path, "w");
    return o->f ? 0 : fail("cannot write", path, err, errlen);
}

static int out_close(struct out_file *o, char *err, size_t errlen)
{
    int bad = fflush(o->f) != 0 || ferror(o->f);
    int e = errno;
    if (fclose(o->f) != 0 && !bad) {
        bad = 1;
        e = errno;
    }
    if (!bad && o->temp[0] && rename(o->temp, o->path) != 0) {
        bad = 1;
        e = errno;
    }
    if (!bad)
        return 0;
    if (o->temp[0])
        unlink(o->temp);
    errno = e;
    return fail("cannot write", o->path, err, errlen);
}

/* Picoseconds as nanoseconds, exactly; nothing for "none". */
static void put_ns(FILE *f, int64_t ps)
{
    if (ps >= 0)
        fprintf(f, "%" PRId64 ".%03d", ps / 1000, (int)(ps % 1000));
}

static void put_ratio(FILE *f, int64_t num, int64_t den)
{
    if (num >= 0 && den > 0)
        fprintf(f, "%.6f", (double)num / (double)den);
}

int result_write_messages(const struct result *r, const char *path, char *err, size_t errlen)
{
    static const char *const outcome[] = { "ok", "failed", "unfinished" };
    struct out_file o;
    if (out_open(&o, path, err, errlen) != 0)
        return -1;
    fputs("id,stream,src,dst,flow,size_B,posted_ns,latency_ns,completion_ns,ideal_ns,slowdown,self_slowdown,outcome,status,measured,timer\n", o.f);
    for (size_t i = 0; i < r->nmessages; i++) {
        const struct result_message *m = &r->messages[i];
        fprintf(o.f, "%" PRIu64 ",%u,%u,%u,%u,%" PRIu64 ",", m->id, m->stream, m->src, m->dst, m->flow, m->bytes);
        put_ns(o.f, m->posted_ps);
        fputc(',', o.f);
        put_ns(o.f, m->latency_ps);
        fputc(',', o.f);
        put_ns(o.f, m->completion_ps);
        fputc(',', o.f);
        put_ns(o.f, m->ideal_ps);
        fputc(',', o.f);
        put_ratio(o.f, m->latency_ps, m->ideal_ps);
        fputc(',', o.f);
        put_ratio(o.f, m->latency_ps, m->self_ideal_ps);
        fprintf(o.f, ",%s,%s,%d,%d\n", outcome[m->outcome], m->status ? m->status : "", m->measured, m->waited_timer);
    }
    return out_close(&o, err, errlen);
}

int result_write_queue(const struct result *r, const char *path, char *err, size_t errlen)
{
    struct out_file o;
    if (out_open(&o, path, err, errlen) != 0)
        return -1;
    fputs("time_ns,peak_queue_B\n", o.f);
    for (size_t i = 0; i < r->nqueue; i++) {
        put_ns(o.f, r->queue[i].at_ps);
        fprintf(o.f, ",%" PRIu64 "\n", r->queue[i].peak_bytes);
    }
    return out_close(&o, err, errlen);
}

int result_write_flows(const struct result *r, const char *path, char *err, size_t errlen)
{
    struct out_file o;
    if (out_open(&o, path, err, errlen) != 0)
        return -1;
    fputs("time_ns,flow,src,dst,rate_bps,goodput_bps,alpha,window_B,rtt_ns\n", o.f);
    for (size_t i = 0; i < r->nflows; i++) {
        const struct result_flow_sample *s = &r->flows[i];
        put_ns(o.f, s->at_ps);
        fprintf(o.f, ",%u,%u,%u,", s->flow, s->src, s->dst);
        if (s->rate_bps >= 0)
            fprintf(o.f, "%" PRId64, s->rate_bps);
        fprintf(o.f, ",%" PRId64 ",%.6g,", s->goodput_bps, s->alpha);
        if (s->window_bytes >= 0)
            fprintf(o.f, "%" PRId64, s->window_bytes);
        fputc(',', o.f);
        put_ns(o.f, s->rtt_ps);
        fputc('\n', o.f);
    }
    return out_close(&o, err, errlen);
}

int result_write_index(const struct result *const *r, size_t n, const char *path, char *err, size_t errlen)
{
    struct out_file o;
    if (out_open(&o, path, err, errlen) != 0)
        return -1;
    fputs("name,scenario,transport,fabric,load,seed,queue_limit_B,xoff_B\n", o.f);
    for (size_t i = 0; i < n; i++) {
        fprintf(o.f, "%s,%s,%s,%s,", r[i]->name, r[i]->scenario, r[i]->transport, r[i]->fabric);
        if (r[i]->load >= 0)
            fprintf(o.f, "%.6g", r[i]->load);
        fprintf(o.f, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", r[i]->seed, r[i]->queue_limit_bytes, r[i]->lossless ? r[i]->xoff_bytes : 0);
    }
    return out_close(&o, err, errlen);
}

/* --- summary.json --- */

static void put_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void put_number(FILE *f, double v, bool has)
{
    if (!has || isnan(v) || isinf(v))
        fputs("null", f);
    else
        fprintf(f, "%.10g", v);
}

static void put_stats(FILE *f, const char *name, const struct result_stats *s)
{
    const double v[6] = { s->mean, s->p50, s->p90, s->p99, s->p999, s->max };
    static const char *const key[6] = { "mean", "p50", "p90", "p99", "p999", "max" };
    fprintf(f, "      \"%s\": {", name);
    for (int i = 0; i < 6; i++) {
        fprintf(f, "%s\"%s\": ", i ? ", " : " ", key[i]);
        put_number(f, v[i], s->has[i]);
    }
    fputs(" },\n", f);
}

static void put_counts(FILE *f, const struct result *r)
{
    uint64_t measured = 0, failed = 0, unfinished = 0, timer = 0;
    for (size_t i = 0; i < r->nmessages; i++) {
        const struct result_message *m = &r->messages[i];
        measured += m->measured;
        failed += m->outcome == RESULT_FAILED;
        unfinished += m->outcome == RESULT_UNFINISHED;
        timer += m->measured && m->waited_timer;
    }
    fprintf(f, "      \"messages\": %" PRIu64 ", \"messages_excluded\": %" PRIu64 ", \"unfinished\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"waited_timer\": %" PRIu64 ",\n",
            measured, (uint64_t)r->nmessages - measured, unfinished, failed, timer);
}

static void put_drops(FILE *f, const struct result *r)
{
    fputs("      \"drops\": {", f);
    for (size_t i = 0; i < r->ndrops; i++) {
        fputs(i ? ", " : " ", f);
        put_string(f, r->drops[i].cause);
        fprintf(f, ": %" PRIu64, r->drops[i].packets);
    }
    fputs(" },\n      \"counters\": {", f);
    for (size_t i = 0; i < r->ncounters; i++) {
        fputs(i ? ", " : " ", f);
        put_string(f, r->counters[i].name);
        fprintf(f, ": %" PRIu64, r->counters[i].value);
    }
    fputs(" },\n", f);
}

static void put_hosts(FILE *f, const struct result *r)
{
    fputs("      \"cpu_busy_ns\": {", f);
    for (size_t i = 0; i < r->nhosts; i++)
        fprintf(f, "%s\"%u\": %" PRId64, i ? ", " : " ", r->hosts[i].node, r->hosts[i].busy_ps / 1000);
    fputs(" },\n", f);
}

static void put_classes(FILE *f, const struct result *r)
{
    char verdict[200];
    fprintf(f, "      \"peak_shared_bytes\": %" PRIu64 ", \"shared_bytes\": %" PRIu64 ",\n      \"lossless_classes\": [", r->peak_shared_bytes, r->shared_bytes);
    for (size_t i = 0; i < r->nclasses; i++) {
        const struct result_class *k = &r->classes[i];
        fprintf(f, "%s{ \"prio\": %u, \"peak_ingress_bytes\": %" PRIu64 ", \"xoff_bytes\": %" PRIu64 ", \"node\": %u, \"port\": %u, \"headroom_bytes\": %" PRIu64
                   ", \"least_headroom_left_bytes\": %" PRIu64 " }", i ? ", " : "", k->prio, k->peak_bytes, k->xoff_bytes, k->node, k->port, k->headroom_bytes,
                k->least_headroom_bytes);
    }
    fputs("],\n", f);
    if (r->nclasses) {
        fputs("      \"verdict\": ", f);
        put_string(f, result_verdict(r, verdict, sizeof verdict));
        fputs(",\n", f);
    }
}

static void put_variant(FILE *f, const struct result *r)
{
    struct result_stats s;
    fputs("    {\n      \"name\": ", f);
    put_string(f, r->name);
    fputs(", \"transport\": ", f);
    put_string(f, r->transport);
    fputs(", \"fabric\": ", f);
    put_string(f, r->fabric);
    fputs(", \"load\": ", f);
    put_number(f, r->load, r->load >= 0);
    fprintf(f, ", \"seed\": %" PRIu64 ", \"engine\": ", r->seed);
    put_string(f, r->engine);
    fputs(",\n", f);
    put_counts(f, r);
    result_metric_stats(r, RESULT_LATENCY_NS, &s);
    put_stats(f, "latency_ns", &s);
    result_metric_stats(r, RESULT_COMPLETION_NS, &s);
    put_stats(f, "completion_ns", &s);
    result_metric_stats(r, RESULT_SLOWDOWN, &s);
    put_stats(f, "slowdown", &s);
    result_metric_stats(r, RESULT_SELF_SLOWDOWN, &s);
    put_stats(f, "self_slowdown", &s);
    fprintf(f, "      \"goodput_bps\": ");
    put_number(f, result_goodput_bps(r), true);
    fprintf(f, ", \"message_rate_per_s\": ");
    put_number(f, result_message_rate(r), true);
    fprintf(f, ", \"wire_efficiency\": ");
    put_number(f, result_wire_efficiency(r), r->wire_bytes > 0);
    fputs(",\n", f);
    put_drops(f, r);
    fprintf(f, "      \"pause_frames\": %" PRIu64 ", \"paused_ns\": %" PRId64 ", \"ecn_marks\": %" PRIu64 ", \"cnps\": %" PRIu64
               ", \"retransmitted_packets\": %" PRIu64 ", \"timeouts\": %" PRIu64
               ", \"reassembly_peak_bytes\": %" PRIu64 ", \"reassembly_drops\": %" PRIu64 ", \"placed_early\": %" PRIu64 ",\n",
            r->pause_frames, r->paused_ps / 1000, r->ecn_marks, r->cnps, r->retransmitted_packets, r->timeouts,
            r->reassembly_peak_bytes, r->reassembly_drops, r->placed_early);
    fprintf(f, "      \"peak_queue_bytes\": %" PRIu64 ", \"queue_limit_bytes\": %" PRIu64 ", \"peak_buffer_bytes\": %" PRIu64 ", \"buffer_bytes\": %" PRIu64 ",\n",
            r->peak_queue_bytes, r->queue_limit_bytes, r->peak_buffer_bytes, r->buffer_bytes);
    if (r->lossless)
        fprintf(f, "      \"xoff_bytes\": %" PRIu64 ", \"headroom_bytes\": %" PRIu64 ", \"least_headroom_left_bytes\": %" PRIu64 ",\n",
                r->xoff_bytes, r->headroom_bytes, r->least_headroom_bytes);
    put_classes(f, r);
    put_hosts(f, r);
    fprintf(f, "      \"measure_ns\": [%" PRId64 ", %" PRId64 "], \"end_ns\": %" PRId64 ", \"faster_than_alone\": %" PRIu64 ", \"packet_hops\": %" PRIu64 ", \"events\": %" PRIu64 ",\n      \"audit\": ",
            r->measure_from_ps / 1000, r->measure_to_ps / 1000, r->end_ps / 1000, r->faster_than_alone, r->packet_hops, r->events);
    put_string(f, r->audit);
    if (*r->deadlock) {
        fputs(", \"deadlock\": ", f);
        put_string(f, r->deadlock);
    }
    fprintf(f, ", \"digest\": \"%016" PRIx64 "\"\n    }", r->digest);
}

int result_write_summary(const struct result *const *r, size_t n, const char *path, char *err, size_t errlen)
{
    struct out_file o;
    if (out_open(&o, path, err, errlen) != 0)
        return -1;
    fputs("{\n  \"format\": 1,\n  \"scenario\": ", o.f);
    put_string(o.f, n ? r[0]->scenario : "");
    fputs(",\n  \"variants\": [\n", o.f);
    for (size_t i = 0; i < n; i++) {
        put_variant(o.f, r[i]);
        fputs(i + 1 < n ? ",\n" : "\n", o.f);
    }
    fputs("  ]\n}\n", o.f);
    return out_close(&o, err, errlen);
}
