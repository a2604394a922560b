/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory and error lines of scenarios. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_internal.h"

struct block { struct block *next; _Alignas(16) unsigned char bytes[]; };
struct scenario_memory { struct block *blocks; };

struct scenario_memory *scenario_memory_new(void)
{
    struct scenario_memory *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    return m;
}

void scenario_memory_free(struct scenario_memory *m)
{
    if (!m)
        return;
    while (m->blocks) {
        struct block *b = m->blocks;
        m->blocks = b->next;
        free(b);
    }
    free(m);
}

void *scenario_memory_get(struct scenario_memory *m, size_t n, size_t size)
{
    if (size && n > (SIZE_MAX - sizeof(struct block)) / size)
        abort();
    struct block *b = calloc(1, sizeof *b + n * size);
    if (!b)
        abort();
    b->next = m->blocks;
    m->blocks = b;
    return b->bytes;
}

const char *scenario_memory_text(struct scenario_memory *m, const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(scenario_memory_get(m, n, 1), s, n);
}

/* Capacity doubles: the array is moved only when n is 0 or a power of two. */
void *scenario_memory_grow(struct scenario_memory *m, const void *old, size_t n, size_t size)
{
    if (n & (n - 1))
        return (void *)old;
    void *array = scenario_memory_get(m, n ? 2 * n : 1, size);
    return n ? memcpy(array, old, n * size) : array;
}

void scenario_error(struct scenario_errors *e, const char *file, int line, const char *format, ...)
{
    char message[700];
    e->count++;
    if (!e->text || e->used + 1 >= e->size || e->count > SCENARIO_ERRORS_MAX)
        return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    int n;
    const char *end = e->used ? "\n" : "";
    size_t left = e->size - e->used;
    if (!file)
        n = snprintf(e->text + e->used, left, "%s%s", end, message);
    else if (line > 0)
        n = snprintf(e->text + e->used, left, "%s%s:%d: %s", end, file, line, message);
    else
        n = snprintf(e->text + e->used, left, "%s%s: %s", end, file, message);
    e->used += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}
