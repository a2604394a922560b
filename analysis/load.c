/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading a result directory back: variants.csv, then each variant's messages.csv, queue.csv and flows.csv. */
#include "load_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits a CSV line in place (our files quote nothing); returns the fields found. */
static size_t split(char *line, char **field, size_t max)
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *p = line; p && n < max; n++) {
        field[n] = p;
        p = strchr(p, ',');
        if (p)
            *p++ = 0;
    }
    return n;
}

static int64_t ps_of(const char *ns)
{
    return *ns ? (int64_t)(strtod(ns, NULL) * 1000 + 0.5) : -1;
}

static bool message_of(char **f, struct result_message *m)
{
    memset(m, 0, sizeof *m);
    m->id = strtoull(f[0], NULL, 10);
    m->stream = (uint16_t)strtoul(f[1], NULL, 10);
    m->src = (uint32_t)strtoul(f[2], NULL, 10);
    m->dst = (uint32_t)strtoul(f[3], NULL, 10);
    m->flow = (uint32_t)strtoul(f[4], NULL, 10);
    m->bytes = strtoull(f[5], NULL, 10);
    m->posted_ps = ps_of(f[6]);
    m->latency_ps = ps_of(f[7]);
    m->completion_ps = ps_of(f[8]);
    m->ideal_ps = ps_of(f[9]);
    double self = strtod(f[11], NULL);
    m->self_ideal_ps = self > 0 ? (int64_t)((double)m->latency_ps / self + 0.5) : 0;
    m->outcome = strcmp(f[12], "ok") == 0 ? RESULT_OK : strcmp(f[12], "failed") == 0 ? RESULT_FAILED : RESULT_UNFINISHED;
    m->measured = f[14][0] == '1';
    m->waited_timer = f[15][0] == '1';
    return m->outcome != RESULT_OK || m->latency_ps >= 0;
}

static int load_messages(const char *path, struct result *r, char *err, size_t errlen)
{
    FILE *f = fopen(path, "r");
    char *line = NULL, *field[16];
    size_t cap = 0, room = 0, no = 0;
    int rc = 0;
    if (!f)
        return snprintf(err, errlen, "%s: %s", path, strerror(errno)), -1;
    while (getline(&line, &cap, f) > 0) {
        if (no++ == 0)
            continue;
        if (r->nmessages == room) {
            room = room ? 2 * room : 4096;
            struct result_message *grown = realloc(r->messages, room * sizeof *grown);
            if (!grown) {
                rc = -1;
                snprintf(err, errlen, "%s: out of memory", path);
                break;
            }
            r->messages = grown;
        }
        if (split(line, field, 16) != 16 || !message_of(field, &r->messages[r->nmessages])) {
            rc = -1;
            snprintf(err, errlen, "%s:%zu: not a row of messages.csv", path, no);
            break;
        }
        r->nmessages++;
    }
    free(line);
    fclose(f);
    return rc;
}

/* A missing queue.csv is no error: the plot of queues leaves that variant out. */
static void load_queue(const char *path, struct result *r)
{
    FILE *f = fopen(path, "r");
    char *line = NULL, *field[2];
    size_t cap = 0, room = 0, no = 0;
    if (!f)
        return;
    while (getline(&line, &cap, f) > 0) {
        if (no++ == 0 || split(line, field, 2) != 2)
            continue;
        if (r->nqueue == room) {
            room = room ? 2 * room : 1024;
            struct result_queue_sample *grown = realloc(r->queue, room * sizeof *grown);
            if (!grown)
                break;
            r->queue = grown;
        }
        r->queue[r->nqueue++] = (struct result_queue_sample){ ps_of(field[0]), strtoull(field[1], NULL, 10) };
    }
    free(line);
    fclose(f);
}

static int64_t whole_of(const char *s) { return *s ? strtoll(s, NULL, 10) : -1; }

/* Nor is a missing flows.csv, which a scenario must ask for. */
static void load_flows(const char *path, struct result *r)
{
    FILE *f = fopen(path, "r");
    char *line = NULL, *field[9];
    size_t cap = 0, room = 0, no = 0;
    if (!f)
        return;
    while (getline(&line, &cap, f) > 0) {
        if (no++ == 0 || split(line, field, 9) != 9)
            continue;
        if (r->nflows == room) {
            room = room ? 2 * room : 1024;
            struct result_flow_sample *grown = realloc(r->flows, room * sizeof *grown);
            if (!grown)
                break;
            r->flows = grown;
        }
        r->flows[r->nflows++] = (struct result_flow_sample){ .at_ps = ps_of(field[0]), .flow = (uint32_t)strtoul(field[1], NULL, 10),
            .src = (uint32_t)strtoul(field[2], NULL, 10), .dst = (uint32_t)strtoul(field[3], NULL, 10), .rate_bps = whole_of(field[4]),
            .goodput_bps = whole_of(field[5]), .alpha = strtod(field[6], NULL), .window_bytes = whole_of(field[7]), .rtt_ps = ps_of(field[8]) };
    }
    free(line);
    fclose(f);
}

static int load_variant(const char *dir, char **field, struct result *r, char *err, size_t errlen)
{
    char path[4096];
    memset(r, 0, sizeof *r);
    snprintf(r->name, sizeof r->name, "%s", field[0]);
    snprintf(r->scenario, sizeof r->scenario, "%s", field[1]);
    snprintf(r->transport, sizeof r->transport, "%s", field[2]);
    snprintf(r->fabric, sizeof r->fabric, "%s", field[3]);
    r->load = field[4][0] ? strtod(field[4], NULL) : -1;
    r->seed = strtoull(field[5], NULL, 10);
    r->queue_limit_bytes = strtoull(field[6], NULL, 10);
    r->xoff_bytes = strtoull(field[7], NULL, 10);
    r->lossless = r->xoff_bytes > 0;
    snprintf(path, sizeof path, "%s/%s/queue.csv", dir, r->name);
    load_queue(path, r);
    snprintf(path, sizeof path, "%s/%s/flows.csv", dir, r->name);
    load_flows(path, r);
    snprintf(path, sizeof path, "%s/%s/messages.csv", dir, r->name);
    return load_messages(path, r, err, errlen);
}

int result_load_dir(const char *dir, struct result **out, size_t *n, char *err, size_t errlen)
{
    char path[4096], *line = NULL, *field[8];
    size_t cap = 0, no = 0;
    int rc = 0;
    *out = NULL;
    *n = 0;
    snprintf(path, sizeof path, "%s/variants.csv", dir);
    FILE *f = fopen(path, "r");
    if (!f)
        return snprintf(err, errlen, "%s: %s (not a directory that `rnicsim run` wrote?)", path, strerror(errno)), -1;
    while (rc == 0 && getline(&line, &cap, f) > 0) {
        if (no++ == 0)
            continue;
        struct result *grown = realloc(*out, (*n + 1) * sizeof *grown);
        if (!grown || split(line, field, 8) != 8) {
            rc = -1;
            snprintf(err, errlen, "%s:%zu: not a row of variants.csv", path, no);
            *out = grown ? grown : *out;
            break;
        }
        *out = grown;
        rc = load_variant(dir, field, &grown[(*n)++], err, errlen);
    }
    free(line);
    fclose(f);
    if (rc != 0) {
        for (size_t i = 0; i < *n; i++)
            result_fini(&(*out)[i]);
        free(*out);
        *out = NULL;
        *n = 0;
    }
    return rc;
}
