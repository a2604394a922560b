/* SPDX-License-Identifier: GPL-2.0-only */
#include "host_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/sim/param.h"

static int by_name(const void *a, const void *b)
{
    const struct host_name *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->node > y->node) - (x->node < y->node);
}

bool host_names_init(struct host_names *h, const char *const *names, size_t n, uint32_t nhosts)
{
    *h = (struct host_names){ .nhosts = nhosts };
    if (!n)
        return true;
    h->sorted = malloc(n * sizeof *h->sorted);
    if (!h->sorted)
        return false;
    h->n = n;
    for (size_t i = 0; i < n; i++)
        h->sorted[i] = (struct host_name){ names[i], (uint32_t)i };
    qsort(h->sorted, n, sizeof *h->sorted, by_name);
    return true;
}

void host_names_fini(struct host_names *h)
{
    free(h->sorted);
    *h = (struct host_names){ 0 };
}

int64_t host_names_node(const struct host_names *h, const char *word)
{
    size_t lo = 0, hi = h->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = strcmp(h->sorted[mid].name, word);
        if (c == 0)
            return h->sorted[mid].node;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

static const char *nearest_host(const struct host_names *h, const char *word)
{
    const char *best = "";
    unsigned least = ~0u;
    for (size_t i = 0; i < h->n; i++) {
        unsigned d = h->sorted[i].node < h->nhosts ? param_edit_distance(word, h->sorted[i].name) : ~0u;
        if (d < least) {
            least = d;
            best = h->sorted[i].name;
        }
    }
    return best;
}

bool host_names_find(const struct host_names *h, const char *word, uint32_t *node, char *err, size_t errlen)
{
    int64_t named = h->n ? host_names_node(h, word) : -1;
    if (named >= 0 && named < h->nhosts) {
        *node = (uint32_t)named;
        return true;
    }
    if (named >= 0) {
        snprintf(err, errlen, "\"%s\" is a switch, not a host", word);
        return false;
    }
    if (h->n) {
        snprintf(err, errlen, "no host is called \"%s\"; nearest: %s", word, nearest_host(h, word));
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long v = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end) {
        snprintf(err, errlen, "\"%s\" is not a host's number", word);
        return false;
    }
    if (errno || v >= (h->nhosts ? h->nhosts : UINT32_MAX)) {
        if (h->nhosts)
            snprintf(err, errlen, "host %s: hosts are 0 to %u", word, h->nhosts - 1);
        else
            snprintf(err, errlen, "\"%s\" is not a host's number", word);
        return false;
    }
    *node = (uint32_t)v;
    return true;
}
