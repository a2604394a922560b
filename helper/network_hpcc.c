/* SPDX-License-Identifier: GPL-2.0-only */
/* The HPCC family's topology file. Its own reader takes words wherever lines end, so this one does too. */
#include "network_file_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX ((UINT64_C(1) << 24) - 2)

/* node[id]: the node's place among hosts, or among switches where is_switch. */
struct ids { uint32_t *node; bool *is_switch, *linked; uint64_t n; };

static bool read_switches(struct text_file *t, struct ids *ids, uint64_t nswitches)
{
    for (uint64_t i = 0; i < nswitches; i++) {
        uint64_t id;
        if (!text_file_count(t, "a switch's id", 0, ids->n - 1, &id))
            return false;
        if (ids->is_switch[id])
            return text_file_fail(t, t->line, "switch %llu is listed twice", (unsigned long long)id);
        ids->is_switch[id] = true;
    }
    return true;
}

static bool name_nodes(struct text_file *t, struct ids *ids, struct network_file *n, uint64_t nswitches)
{
    uint32_t host = 0, sw = (uint32_t)(ids->n - nswitches);
    n->names = calloc(ids->n, sizeof *n->names);
    if (!n->names)
        return text_file_fail(t, 0, "out of memory for %llu nodes", (unsigned long long)ids->n);
    n->nhosts = sw;
    n->nswitches = (uint32_t)nswitches;
    for (uint64_t id = 0; id < ids->n; id++) {
        char name[24];
        ids->node[id] = ids->is_switch[id] ? sw++ : host++;
        snprintf(name, sizeof name, "%llu", (unsigned long long)id);
        n->names[ids->node[id]] = strdup(name);
        if (!n->names[ids->node[id]])
            return text_file_fail(t, 0, "out of memory for %llu nodes", (unsigned long long)ids->n);
    }
    return true;
}

static bool read_link(struct text_file *t, const struct ids *ids, struct topology_link *l, uint64_t i, uint64_t of)
{
    static const char *const parts[] = { "source", "destination", "rate", "delay", "error" };
    uint64_t end[2] = { 0, 0 };
    char why[400];
    for (int k = 0; k < 5; k++) {
        if (!text_file_word(t))
            return text_file_fail(t, t->line, "the file ends in link %llu of %llu, where its %s should stand", (unsigned long long)i + 1, (unsigned long long)of, parts[k]);
        if (k < 2 && !text_file_word_count(t, parts[k], 0, ids->n - 1, &end[k]))
            return false;
        if (k >= 2 && !network_link_value(l, parts[k], t->word, why, sizeof why))
            return text_file_fail(t, t->line, "link %llu: %s", (unsigned long long)i + 1, why);
    }
    if (end[0] == end[1])
        return text_file_fail(t, t->line, "link %llu joins node %llu to itself", (unsigned long long)i + 1, (unsigned long long)end[0]);
    for (int k = 0; k < 2; k++) {
        if (!ids->is_switch[end[k]] && ids->linked[end[k]])
            return text_file_fail(t, t->line, "link %llu is the second one of host %llu: hosts have one link", (unsigned long long)i + 1, (unsigned long long)end[k]);
        ids->linked[end[k]] = true;
    }
    l->a = ids->node[end[0]];
    l->b = ids->node[end[1]];
    return true;
}

static bool read_links(struct text_file *t, const struct ids *ids, struct network_file *n, uint64_t nlinks)
{
    size_t room = 0;
    for (uint64_t i = 0; i < nlinks; i++) {
        struct topology_link *l = network_add_link(n, &room);
        if (!l)
            return text_file_fail(t, 0, "out of memory for %llu links", (unsigned long long)nlinks);
        if (!read_link(t, ids, l, i, nlinks))
            return false;
    }
    return true;
}

bool network_hpcc_parse(struct text_file *t, struct network_file *n)
{
    uint64_t nswitches, nlinks;
    struct ids ids = { 0 };
    if (!text_file_count(t, "the number of nodes", 1, NODES_MAX, &ids.n) || !text_file_count(t, "the number of switches", 0, ids.n, &nswitches) ||
        !text_file_count(t, "the number of links", 0, UINT32_MAX, &nlinks))
        return false;
    if (ids.n - 1 > nlinks)
        return text_file_fail(t, t->line, "%llu nodes cannot be joined by %llu links", (unsigned long long)ids.n, (unsigned long long)nlinks);
    if (nlinks > t->len)
        return text_file_fail(t, t->line, "the file is too short for %llu links", (unsigned long long)nlinks);
    ids.node = calloc(ids.n, sizeof *ids.node);
    ids.is_switch = calloc(ids.n, sizeof *ids.is_switch);
    ids.linked = calloc(ids.n, sizeof *ids.linked);
    bool ok = ids.node && ids.is_switch && ids.linked;
    if (!ok)
        text_file_fail(t, 0, "out of memory for %llu nodes", (unsigned long long)ids.n);
    ok = ok && read_switches(t, &ids, nswitches) && name_nodes(t, &ids, n, nswitches) && read_links(t, &ids, n, nlinks);
    free(ids.node);
    free(ids.is_switch);
    free(ids.linked);
    return ok;
}
