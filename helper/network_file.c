/* SPDX-License-Identifier: GPL-2.0-only */
#include "network_file_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void network_file_fini(struct network_file *n)
{
    for (uint32_t i = 0; n->names && i < n->nhosts + n->nswitches; i++)
        free(n->names[i]);
    free(n->names);
    free(n->links);
    *n = (struct network_file){ 0 };
}

struct topology_link *network_add_link(struct network_file *n, size_t *room)
{
    if (n->nlinks == *room) {
        size_t more = *room ? 2 * *room : 256;
        struct topology_link *grown = realloc(n->links, more * sizeof *grown);
        if (!grown)
            return NULL;
        n->links = grown;
        *room = more;
    }
    struct topology_link *l = &n->links[n->nlinks++];
    *l = (struct topology_link){ .propagation_ps = -1, .loss = -1 };
    return l;
}

bool network_link_value(struct topology_link *l, const char *what, const char *text, char *err, size_t errlen)
{
    static const struct { const char *what; enum param_kind kind; double low, high; } rows[] = {
        { "rate", PARAM_RATE, 1e6, 3.2e12 }, { "delay", PARAM_TIME, 0, 1e12 }, { "length", PARAM_LENGTH, 0, 2e11 }, { "loss", PARAM_FRACTION, 0, 1 },
        { "error", PARAM_FRACTION, 0, 1 },
    };
    char why[300], low[48], high[48];
    size_t i = 0;
    double v;
    while (strcmp(rows[i].what, what) != 0)
        i++;
    if (param_parse(rows[i].kind, NULL, text, &v, why, sizeof why) != SIM_OK) {
        snprintf(err, errlen, "%s: %s", what, why);
        return false;
    }
    if (!(v >= rows[i].low && v <= rows[i].high)) {
        snprintf(err, errlen, "%s: \"%.64s\" is out of range: give %s to %s", what, text, param_format_value(rows[i].kind, NULL, rows[i].low, low, sizeof low),
                 param_format_value(rows[i].kind, NULL, rows[i].high, high, sizeof high));
        return false;
    }
    switch (i) {
    case 0:  l->rate_bps = (int64_t)v; break;
    case 1:  l->propagation_ps = (int64_t)v; break;
    case 2:  l->propagation_ps = (int64_t)v * TOPOLOGY_PS_PER_MM; break;
    default: l->loss = v; break;
    }
    return true;
}

/* Whatever the form: hosts there, each with a way to the others. */
static bool whole(const struct network_file *n, struct network_file_error *e)
{
    struct topology_list list = { n->nhosts, n->nswitches, n->links, n->nlinks };
    if (n->nhosts == 0) {
        snprintf(e->text, sizeof e->text, "the network has no hosts: all %u nodes are switches", n->nswitches);
        return false;
    }
    int64_t lost = topology_unreachable(&list);
    if (lost < 0)
        snprintf(e->text, sizeof e->text, "out of memory for %u nodes", n->nhosts + n->nswitches);
    else if (lost > 0)
        snprintf(e->text, sizeof e->text, "host %.64s cannot be reached from host %.64s: no links and switches join them", n->names[lost], n->names[0]);
    return lost == 0;
}

static bool parse_open(struct text_file *t, struct network_file *n, struct network_file_error *e)
{
    size_t i = t->len >= 3 && memcmp(t->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < t->len && (t->bytes[i] == ' ' || t->bytes[i] == '\t' || t->bytes[i] == '\r' || t->bytes[i] == '\n'))
        i++;
    bool ok;
    int rest = 0;
    if (i < t->len && t->bytes[i] == '<') {
        ok = network_graphml_parse(t->bytes, t->len, n, e);
    } else {
        ok = network_hpcc_parse(t, n);
        rest = text_file_rest(t);
        if (!ok) {
            e->line = t->err_line;
            snprintf(e->text, sizeof e->text, "%s", t->err);
        }
    }
    e->note_line = ok ? rest : 0;
    text_file_close(t);
    ok = ok && whole(n, e);
    if (!ok)
        network_file_fini(n);
    return ok;
}

static bool open_failed(const struct text_file *t, struct network_file_error *e)
{
    snprintf(e->text, sizeof e->text, "%s", t->err);
    return false;
}

bool network_file_read(const char *path, struct network_file *n, struct network_file_error *e)
{
    struct text_file t;
    *n = (struct network_file){ 0 };
    *e = (struct network_file_error){ 0 };
    return text_file_open(&t, path) ? parse_open(&t, n, e) : open_failed(&t, e);
}

bool network_file_parse(const char *bytes, size_t len, struct network_file *n, struct network_file_error *e)
{
    struct text_file t;
    *n = (struct network_file){ 0 };
    *e = (struct network_file_error){ 0 };
    return text_file_open_memory(&t, bytes, len) ? parse_open(&t, n, e) : open_failed(&t, e);
}
