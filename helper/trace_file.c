/* SPDX-License-Identifier: GPL-2.0-only */
#include "trace_file.h"
#include "text_file.h"

#include <stdio.h>
#include <stdlib.h>

static bool read_nodes(struct text_file *f, const struct host_names *names, struct trace_file *t)
{
    uint64_t n;
    char why[200];
    if (!text_file_count(f, "the number of nodes", 0, 1 << 24, &n))
        return false;
    t->nodes = calloc(n ? n : 1, sizeof *t->nodes);
    if (!t->nodes)
        return text_file_fail(f, 0, "out of memory for %llu nodes", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number;
        if (!text_file_word(f))
            return text_file_fail(f, f->line, "the file ends after %llu of %llu nodes", (unsigned long long)i, (unsigned long long)n);
        if (host_names_find(names, f->word, &t->nodes[t->n], why, sizeof why))
            t->n++;
        else if (*f->word >= '0' && *f->word <= '9' && text_file_word_count(f, "a node", 0, UINT32_MAX, &number))
            t->unknown++;
        else
            return text_file_fail(f, f->line, "%s", why);
    }
    return true;
}

static bool finish(struct text_file *f, bool ok, struct trace_file *t)
{
    if (!ok) {
        free(t->nodes);
        *t = (struct trace_file){ .err_line = f->err_line };
        snprintf(t->err, sizeof t->err, "%s", f->err);
    }
    text_file_close(f);
    return ok;
}

bool trace_file_read(const char *path, const struct host_names *names, struct trace_file *t)
{
    struct text_file f;
    *t = (struct trace_file){ 0 };
    return finish(&f, text_file_open(&f, path) && read_nodes(&f, names, t), t);
}

bool trace_file_parse(const char *bytes, size_t len, const struct host_names *names, struct trace_file *t)
{
    struct text_file f;
    *t = (struct trace_file){ 0 };
    return finish(&f, text_file_open_memory(&f, bytes, len) && read_nodes(&f, names, t), t);
}
