/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobs_ship.h"

#include <stdlib.h>
#include <string.h>

static bool put(FILE *f, const void *p, size_t size, size_t n)
{
    return n == 0 || fwrite(p, size, n, f) == n;
}

static void *get(FILE *f, size_t size, size_t n, bool *ok)
{
    void *p = *ok && n > 0 && n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (n > 0 && (!p || fread(p, size, n, f) != n))
        *ok = false;
    return p;
}

bool jobs_ship_write(FILE *f, const struct result *r)
{
    return put(f, r, sizeof *r, 1) && put(f, r->messages, sizeof *r->messages, r->nmessages) &&
           put(f, r->hosts, sizeof *r->hosts, r->nhosts) && put(f, r->queue, sizeof *r->queue, r->nqueue) &&
           put(f, r->flows, sizeof *r->flows, r->nflows) && fflush(f) == 0;
}

bool jobs_ship_read(FILE *f, struct result *r)
{
    bool ok = fread(r, sizeof *r, 1, f) == 1;
    if (!ok) {
        memset(r, 0, sizeof *r);
        return false;
    }
    r->messages = get(f, sizeof *r->messages, r->nmessages, &ok);
    r->hosts = get(f, sizeof *r->hosts, r->nhosts, &ok);
    r->queue = get(f, sizeof *r->queue, r->nqueue, &ok);
    r->flows = get(f, sizeof *r->flows, r->nflows, &ok);
    if (!ok) {
        result_fini(r);
        memset(r, 0, sizeof *r);
    }
    return ok;
}
