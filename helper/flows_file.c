/* SPDX-License-Identifier: GPL-2.0-only */
#include "flows_file.h"
#include "text_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column { COLUMN_SRC, COLUMN_DST, COLUMN_BYTES, COLUMN_START, COLUMN_PRIO, COLUMN_COUNT };
#define COLUMNS_MAX COLUMN_COUNT

struct list { struct wl_flow *flow; size_t n, room; };

static bool add(struct text_file *t, struct list *l, const struct wl_flow *f)
{
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 256;
        struct wl_flow *grown = realloc(l->flow, room * sizeof *grown);
        if (!grown)
            return text_file_fail(t, t->line, "out of memory for %zu flows", l->n);
        l->flow = grown;
        l->room = room;
    }
    l->flow[l->n++] = *f;
    return true;
}

static bool take_host(struct text_file *t, const struct host_names *names, const char *what, uint32_t *node)
{
    char why[200];
    if (host_names_find(names, t->word, node, why, sizeof why))
        return true;
    return text_file_fail(t, t->line, "%s: %s", what, why);
}

/* Seconds, as the HPCC family writes them, or another unit, given in picoseconds. */
static bool take_time(struct text_file *t, double unit_ps, int64_t *ps)
{
    char *end;
    double v = strtod(t->word, &end);
    if (end == t->word || *end || !isfinite(v))
        return text_file_fail(t, t->line, "start: \"%s\" is not a number", t->word);
    if (v < 0 || v * unit_ps > (double)WL_TIME_MAX)
        return text_file_fail(t, t->line, "start: %s is not between 0 and 1000 s", t->word);
    *ps = (int64_t)llround(v * unit_ps);
    return true;
}

/* --- the table --- */

struct table { enum column order[COLUMNS_MAX]; int n; double start_unit_ps; /* 0: each start has its unit */ };

static const struct { const char *name; enum column column; double unit_ps; } column_names[] = {
    { "src", COLUMN_SRC, 0 }, { "dst", COLUMN_DST, 0 }, { "bytes", COLUMN_BYTES, 0 }, { "priority", COLUMN_PRIO, 0 }, { "start", COLUMN_START, 0 },
    { "start_ps", COLUMN_START, 1 }, { "start_ns", COLUMN_START, 1e3 }, { "start_us", COLUMN_START, 1e6 }, { "start_ms", COLUMN_START, 1e9 },
    { "start_s", COLUMN_START, 1e12 },
};
#define NNAMES (sizeof column_names / sizeof column_names[0])

static int column_named(const char *word)
{
    for (size_t i = 0; i < NNAMES; i++)
        if (strcmp(column_names[i].name, word) == 0)
            return (int)i;
    return -1;
}

static bool bad_column(struct text_file *t)
{
    const char *best = "";
    unsigned least = ~0u;
    for (size_t i = 0; i < NNAMES; i++) {
        unsigned d = param_edit_distance(t->word, column_names[i].name);
        if (d < least) {
            least = d;
            best = column_names[i].name;
        }
    }
    return text_file_fail(t, t->line, "there is no column \"%s\"; nearest: %s", t->word, best);
}

/* t->word is the first name. */
static bool read_header(struct text_file *t, struct table *h)
{
    unsigned seen = 0;
    h->n = 0;
    do {
        int i = column_named(t->word);
        if (i < 0)
            return bad_column(t);
        if (seen >> column_names[i].column & 1)
            return text_file_fail(t, t->line, "a second column for \"%s\"", t->word);
        seen |= 1u << column_names[i].column;
        h->order[h->n++] = column_names[i].column;
        if (column_names[i].column == COLUMN_START)
            h->start_unit_ps = column_names[i].unit_ps;
    } while (text_file_word_in_line(t));
    const unsigned need = 1u << COLUMN_SRC | 1u << COLUMN_DST | 1u << COLUMN_BYTES;
    if (!*t->err && (seen & need) != need)
        return text_file_fail(t, t->line, "the columns src, dst and bytes are needed");
    return !*t->err;
}

static bool take_bytes(struct text_file *t, int64_t *bytes)
{
    uint64_t v;
    double d;
    char why[200];
    size_t n = strlen(t->word);
    if (n && t->word[n - 1] >= '0' && t->word[n - 1] <= '9') {
        if (!text_file_word_count(t, "bytes", 1, (uint64_t)WL_BYTES_MAX, &v))
            return false;
        *bytes = (int64_t)v;
        return true;
    }
    if (param_parse(PARAM_BYTES, NULL, t->word, &d, why, sizeof why) != SIM_OK)
        return text_file_fail(t, t->line, "bytes: %s", why);
    if (d < 1 || d > (double)WL_BYTES_MAX)
        return text_file_fail(t, t->line, "bytes: %s is not in 1 to %lld B", t->word, (long long)WL_BYTES_MAX);
    *bytes = (int64_t)d;
    return true;
}

static bool take_start(struct text_file *t, double unit_ps, int64_t *ps)
{
    double d;
    char why[200];
    if (unit_ps > 0)
        return take_time(t, unit_ps, ps);
    if (param_parse(PARAM_TIME, NULL, t->word, &d, why, sizeof why) != SIM_OK)
        return text_file_fail(t, t->line, "start: %s", why);
    if (d < 0 || d > (double)WL_TIME_MAX)
        return text_file_fail(t, t->line, "start: %s is not between 0 and 1000 s", t->word);
    *ps = (int64_t)d;
    return true;
}

static bool take_cell(struct text_file *t, const struct table *h, enum column c, const struct host_names *names, struct wl_flow *f)
{
    uint64_t v;
    switch (c) {
    case COLUMN_SRC:   return take_host(t, names, "src", &f->src);
    case COLUMN_DST:   return take_host(t, names, "dst", &f->dst);
    case COLUMN_BYTES: return take_bytes(t, &f->bytes);
    case COLUMN_START: return take_start(t, h->start_unit_ps, &f->start_ps);
    default:
        if (!text_file_word_count(t, "priority", 0, 7, &v))
            return false;
        f->prio = (uint8_t)v;
        return true;
    }
}

static bool to_itself(struct text_file *t, const struct wl_flow *f)
{
    return f->src == f->dst ? (text_file_fail(t, t->line, "src and dst are the same host"), true) : false;
}

/* A row whose first word has been read. */
static bool read_row(struct text_file *t, const struct table *h, const struct host_names *names, struct list *l)
{
    struct wl_flow f = { .prio = WL_PRIO_OWN };
    int i = 0, needed = 0;
    do {
        if (i == h->n)
            return text_file_fail(t, t->line, "\"%s\" is one word too many: the table has %d columns", t->word, h->n);
        if (!take_cell(t, h, h->order[i++], names, &f))
            return false;
    } while (text_file_word_in_line(t));
    for (int k = 0; k < h->n; k++)
        if (h->order[k] != COLUMN_PRIO && h->order[k] != COLUMN_START)
            needed = k + 1;
    if (*t->err || i < needed)
        return text_file_fail(t, t->line, "the line has %d columns; src, dst and bytes are needed", i);
    return !to_itself(t, &f) && add(t, l, &f);
}

static bool read_table(struct text_file *t, const struct host_names *names, struct list *l)
{
    struct table h = { { COLUMN_SRC, COLUMN_DST, COLUMN_BYTES, COLUMN_START, COLUMN_PRIO }, COLUMNS_MAX, 0 };
    char first = *t->word;
    bool header = column_named(t->word) >= 0 || (!names->n && (first < '0' || first > '9'));
    if (header && (!read_header(t, &h) || !text_file_word(t)))
        return false;                           /* without a fault: there is no flow */
    do {
        if (!read_row(t, &h, names, l))
            return false;
    } while (text_file_word(t));
    return !*t->err;
}

/* --- the HPCC family's --- */

static bool need(struct text_file *t, const char *what, uint64_t done, uint64_t of)
{
    return text_file_word(t) || text_file_fail(t, t->line, "the file ends in flow %llu of %llu, where its %s should stand", (unsigned long long)done + 1,
                                               (unsigned long long)of, what);
}

static bool read_hpcc(struct text_file *t, uint64_t n, const struct host_names *names, struct list *l)
{
    for (uint64_t i = 0; i < n; i++) {
        struct wl_flow f = { 0 };
        uint64_t prio, port, bytes;
        if (!need(t, "source", i, n) || !take_host(t, names, "source", &f.src) || !need(t, "destination", i, n) ||
            !take_host(t, names, "destination", &f.dst) || !need(t, "priority", i, n) || !text_file_word_count(t, "priority", 0, 7, &prio) ||
            !need(t, "port", i, n) || !text_file_word_count(t, "port", 0, 65535, &port) || !need(t, "size", i, n) ||
            !text_file_word_count(t, "bytes", 1, (uint64_t)WL_BYTES_MAX, &bytes) || !need(t, "start", i, n) || !take_time(t, 1e12, &f.start_ps))
            return false;
        f.prio = (uint8_t)prio;
        f.bytes = (int64_t)bytes;
        if (to_itself(t, &f) || !add(t, l, &f))
            return false;
    }
    return true;
}

/* --- both --- */

/* A first line of one number alone announces the HPCC family's form. */
static bool read_any(struct text_file *t, const struct host_names *names, struct list *l)
{
    if (!text_file_word(t))
        return text_file_fail(t, t->line, "the file holds no flow");
    struct text_file ahead = *t;
    if (text_file_word_in_line(&ahead) || *ahead.err)
        return read_table(t, names, l);
    uint64_t n;
    if (column_named(t->word) >= 0)
        return read_table(t, names, l);
    return text_file_word_count(t, "the number of flows", 1, 100000000, &n) && read_hpcc(t, n, names, l);
}

static bool read_open(struct text_file *t, const struct host_names *names, struct wl_flow **flows, size_t *n, struct flows_file_error *e)
{
    struct list l = { 0 };
    bool ok = read_any(t, names, &l);
    *e = (struct flows_file_error){ .note_line = ok ? text_file_rest(t) : 0 };
    if (l.n == 0)
        ok = text_file_fail(t, t->line, "the file holds no flow");
    *flows = ok ? l.flow : NULL;
    *n = ok ? l.n : 0;
    if (!ok) {
        free(l.flow);
        e->line = t->err_line;
        snprintf(e->text, sizeof e->text, "%s", t->err);
    }
    text_file_close(t);
    return ok;
}

static bool not_open(const struct text_file *t, struct flows_file_error *e)
{
    e->line = 0;
    snprintf(e->text, sizeof e->text, "%s", t->err);
    return false;
}

bool flows_file_read(const char *path, const struct host_names *names, struct wl_flow **flows, size_t *n, struct flows_file_error *e)
{
    struct text_file t;
    *flows = NULL;
    return text_file_open(&t, path) ? read_open(&t, names, flows, n, e) : not_open(&t, e);
}

bool flows_file_parse(const char *bytes, size_t len, const struct host_names *names, struct wl_flow **flows, size_t *n, struct flows_file_error *e)
{
    struct text_file t;
    *flows = NULL;
    return text_file_open_memory(&t, bytes, len) ? read_open(&t, names, flows, n, e) : not_open(&t, e);
}
