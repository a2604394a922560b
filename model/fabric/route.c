/* SPDX-License-Identifier: GPL-2.0-only */
/* Shortest paths by breadth-first search from each destination class over the switches. */
#include "route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "switch_internal.h"

#define FAR UINT16_MAX

static bool is_switch(const struct fabric *f, uint32_t node) { return f->node[node].sw != NULL; }

/* --- destination classes --- */

static int by_switch_port(const void *a, const void *b)
{
    const struct route_link *x = a, *y = b;
    if (x->sw != y->sw)
        return x->sw < y->sw ? -1 : 1;
    return x->port < y->port ? -1 : x->port > y->port;
}

/* Collects the links of all hosts to switches. */
static int collect_links(struct fabric *f, struct route *r)
{
    uint32_t total = 0, n = 0;
    for (uint32_t v = 0; v < f->nnodes; v++)
        if (!is_switch(f, v)) {
            r->nhosts = v + 1;
            total += f->node[v].nports;
        }
    r->host = calloc(r->nhosts + 1, sizeof *r->host);
    r->first = calloc(r->nhosts + 1, sizeof *r->first);
    r->link = calloc(total + 1, sizeof *r->link);
    if (!r->host || !r->first || !r->link)
        return SIM_ERR_NOMEM;
    for (uint32_t v = 0; v < r->nhosts; v++) {
        struct route_host *h = &r->host[v];
        r->first[v] = n;
        for (uint32_t i = 0; !is_switch(f, v) && i < f->node[v].nports; i++) {
            const struct port *peer = f->node[v].port[i]->peer;
            if (is_switch(f, peer->node))
                r->link[n++] = (struct route_link){ peer->node, peer->index };
        }
        h->links = n - r->first[v];
        qsort(&r->link[r->first[v]], h->links, sizeof *r->link, by_switch_port);
        if (h->links) {
            h->sw = r->link[r->first[v]].sw;
            h->port = r->link[r->first[v]].port;
        }
    }
    r->first[r->nhosts] = n;
    return SIM_OK;
}

static bool same_switches(const struct route *r, uint32_t a, uint32_t b)
{
    if (r->host[a].links != r->host[b].links)
        return false;
    for (uint32_t i = 0; i < r->host[a].links; i++)
        if (r->link[r->first[a] + i].sw != r->link[r->first[b] + i].sw)
            return false;
    return true;
}

/* Gives each host its class; example[c] is a host of class c. Classes are looked up by their first switch. */
static void assign_classes(const struct fabric *f, struct route *r, uint32_t *example, uint32_t *head /* by switch, 0xff.. */, uint32_t *chain)
{
    for (uint32_t v = 0; v < r->nhosts; v++) {
        struct route_host *h = &r->host[v];
        h->cls = UINT32_MAX;
        if (is_switch(f, v) || !h->links)
            continue;
        for (uint32_t c = head[h->sw]; c != UINT32_MAX; c = chain[c])
            if (same_switches(r, v, example[c])) {
                h->cls = c;
                break;
            }
        if (h->cls == UINT32_MAX) {
            h->cls = r->nclasses++;
            example[h->cls] = v;
            chain[h->cls] = head[h->sw];
            head[h->sw] = h->cls;
        }
    }
}

/* --- tables --- */

/* The group of these ports, made if new; ports are in ascending order. */
static int group_of(struct route_table *t, const uint16_t *ports, uint16_t n)
{
    for (uint32_t g = 0; g < t->ngroups; g++)
        if (t->group[g].count == n && memcmp(&t->port[t->group[g].first], ports, n * sizeof *ports) == 0)
            return (int)g;
    struct route_group *group = realloc(t->group, (t->ngroups + 1) * sizeof *group);
    if (!group)
        return -1;
    t->group = group;
    uint16_t *port = realloc(t->port, (t->nports + n) * sizeof *port);
    if (!port)
        return -1;
    t->port = port;
    memcpy(&t->port[t->nports], ports, n * sizeof *ports);
    t->group[t->ngroups] = (struct route_group){ t->nports, n };
    t->nports += n;
    return (int)t->ngroups++;
}

static void search(const struct fabric *f, const struct route *r, uint32_t host, uint16_t *dist, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    memset(dist, 0xff, f->nnodes * sizeof *dist);
    for (uint32_t i = 0; i < r->host[host].links; i++) {
        uint32_t sw = r->link[r->first[host] + i].sw;
        if (dist[sw] == FAR) {
            dist[sw] = 0;
            queue[tail++] = sw;
        }
    }
    while (head < tail) {
        uint32_t u = queue[head++];
        for (uint32_t i = 0; i < f->node[u].nports; i++) {
            uint32_t v = f->node[u].port[i]->peer->node;
            if (is_switch(f, v) && dist[v] == FAR) {
                dist[v] = (uint16_t)(dist[u] + 1);
                queue[tail++] = v;
            }
        }
    }
}

static int fill_row(const struct fabric *f, uint32_t u, const uint16_t *dist, uint16_t *row)
{
    struct fabric_switch *sw = f->node[u].sw;
    uint16_t ports[4096], n = 0;
    if (dist[u] == 0 || dist[u] == FAR) {
        *row = dist[u] == 0 ? ROUTE_LOCAL : ROUTE_NONE;
        return SIM_OK;
    }
    for (uint32_t i = 0; i < f->node[u].nports && n < 4096; i++) {
        uint32_t v = f->node[u].port[i]->peer->node;
        if (is_switch(f, v) && dist[v] + 1 == dist[u])
            ports[n++] = (uint16_t)i;
    }
    int g = group_of(&sw->table, ports, n);
    if (g < 0 || g >= (int)ROUTE_LOCAL)
        return SIM_ERR_NOMEM;
    *row = (uint16_t)g;
    return SIM_OK;
}

/* --- reachability --- */

static int unreachable(char *err, size_t errlen, uint32_t a, uint32_t b)
{
    snprintf(err, errlen, "host %u cannot be reached from host %u: no path of links joins them", b, a);
    return SIM_ERR_STATE;
}

/* Hosts that only have host neighbours reach those and no other. */
static int check_direct(const struct fabric *f, const struct route *r, char *err, size_t errlen)
{
    for (uint32_t a = 0; a < r->nhosts; a++) {
        if (is_switch(f, a) || r->host[a].links)
            continue;
        for (uint32_t b = 0; b < r->nhosts; b++) {
            bool near = b == a || is_switch(f, b);
            for (uint32_t i = 0; !near && i < f->node[a].nports; i++)
                near = f->node[a].port[i]->peer->node == b;
            if (!near)
                return a < b ? unreachable(err, errlen, a, b) : unreachable(err, errlen, b, a);
        }
    }
    return SIM_OK;
}

static int check_class(const struct route *r, const uint16_t *dist, const uint32_t *example, uint32_t c, char *err, size_t errlen)
{
    for (uint32_t d = 0; d < c; d++) /* links are two-way: looking back is enough */
        if (dist[r->host[example[d]].sw] == FAR)
            return unreachable(err, errlen, example[d], example[c]);
    return SIM_OK;
}

static int build(struct fabric *f, struct route *r, uint32_t *words, uint16_t *dist, char *err, size_t errlen)
{
    uint32_t *example = words, *head = words + f->nnodes, *chain = head + f->nnodes, *queue = chain + f->nnodes;
    memset(head, 0xff, f->nnodes * sizeof *head);
    assign_classes(f, r, example, head, chain);
    for (uint32_t u = 0; u < f->nnodes; u++) {
        if (!is_switch(f, u))
            continue;
        struct sim_rng rng;
        sim_rng_init(&rng, sim_seed(f->sim), u, SIM_RNG_ECMP);
        f->node[u].sw->table.seed = sim_rng_u32(&rng);
        f->node[u].sw->table.group_of = calloc(r->nclasses + 1, sizeof(uint16_t));
        f->node[u].sw->route = r;
        if (!f->node[u].sw->table.group_of)
            return SIM_ERR_NOMEM;
    }
    for (uint32_t c = 0; c < r->nclasses; c++) {
        search(f, r, example[c], dist, queue);
        for (uint32_t u = 0; u < f->nnodes; u++)
            if (is_switch(f, u) && fill_row(f, u, dist, (uint16_t *)&f->node[u].sw->table.group_of[c]) != SIM_OK)
                return SIM_ERR_NOMEM;
        int st = check_class(r, dist, example, c, err, errlen);
        if (st != SIM_OK)
            return st;
    }
    return check_direct(f, r, err, errlen);
}

int route_build(struct fabric *f, char *err, size_t errlen)
{
    struct route *r = f->route = calloc(1, sizeof *r);
    uint32_t *words = calloc(4 * (size_t)f->nnodes + 1, sizeof *words);
    uint16_t *dist = calloc(f->nnodes + 1, sizeof *dist);
    int st = r && words && dist ? collect_links(f, r) : SIM_ERR_NOMEM;
    if (st == SIM_OK)
        st = build(f, r, words, dist, err, errlen);
    if (st == SIM_ERR_NOMEM)
        snprintf(err, errlen, "out of memory for the routes of %u nodes", f->nnodes);
    free(words);
    free(dist);
    return st;
}

void route_free(struct fabric *f)
{
    if (!f->route)
        return;
    for (uint32_t u = 0; u < f->nnodes; u++)
        if (f->node[u].sw)
            free((void *)(uintptr_t)f->node[u].sw->table.group_of);
    free(f->route->host);
    free(f->route->first);
    free(f->route->link);
    free(f->route);
    f->route = NULL;
}

int route_local_port(const struct route *r, uint32_t host, uint32_t sw, uint32_t flow_hash)
{
    const struct route_link *l = &r->link[r->first[host]];
    uint32_t n = r->host[host].links, lo = 0, count = 0;
    while (lo < n && l[lo].sw != sw)
        lo++;
    while (lo + count < n && l[lo + count].sw == sw)
        count++;
    if (!count)
        return -1;
    return l[lo + (count == 1 ? 0 : (uint32_t)((uint64_t)route_mix(flow_hash, sw) * count >> 32))].port;
}

size_t route_bytes(const struct fabric *f)
{
    const struct route *r = f->route;
    size_t n = sizeof *r + (r->nhosts + 1) * (sizeof *r->host + sizeof *r->first) + (r->first[r->nhosts] + 1) * sizeof *r->link;
    for (uint32_t u = 0; u < f->nnodes; u++)
        if (f->node[u].sw) {
            const struct route_table *t = &f->node[u].sw->table;
            n += (r->nclasses + 1) * sizeof *t->group_of + t->ngroups * sizeof *t->group + t->nports * sizeof *t->port;
        }
    return n;
}
