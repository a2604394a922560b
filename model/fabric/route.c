/* SPDX-License-Identifier: GPL-2.0-only */
/* Shortest paths by breadth-first search from each destination class over the switches. */
#include "route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "switch_internal.h"

#define FAR UINT16_MAX

static bool is_switch(const struct fabric *f, uint32_t node) { return f->node[node].sw != NULL; }

static bool is_up(const struct port *p) { return !p->impair || !p->impair->down; }

/* What a search from one destination class finds. */
struct search {
    uint16_t *dist;              /* links to the destination's switch, FAR if none */
    uint16_t *height;            /* up-down: of a switch over the nearest host */
    uint8_t  *descends;          /* up-down: there is a way that only goes down */
    uint32_t *queue;
    uint32_t *ranked;            /* up-down: switches from the highest down */
    uint32_t nranked;
};

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
            if (is_switch(f, peer->node) && is_up(peer))
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

static uint32_t begin_search(const struct fabric *f, const struct route *r, uint32_t host, struct search *s)
{
    uint32_t tail = 0;
    memset(s->dist, 0xff, f->nnodes * sizeof *s->dist);
    for (uint32_t i = 0; i < r->host[host].links; i++) {
        uint32_t sw = r->link[r->first[host] + i].sw;
        if (s->dist[sw] == FAR) {
            s->dist[sw] = 0;
            s->queue[tail++] = sw;
        }
    }
    return tail;
}

/* --- shortest paths --- */

static void search_shortest(const struct fabric *f, const struct route *r, uint32_t host, struct search *s)
{
    uint32_t head = 0, tail = begin_search(f, r, host, s);
    while (head < tail) {
        uint32_t u = s->queue[head++];
        for (uint32_t i = 0; i < f->node[u].nports; i++) {
            uint32_t v = f->node[u].port[i]->peer->node;
            if (is_switch(f, v) && s->dist[v] == FAR && is_up(f->node[u].port[i])) {
                s->dist[v] = (uint16_t)(s->dist[u] + 1);
                s->queue[tail++] = v;
            }
        }
    }
}

/* --- up-down: up is away from the hosts; between switches of one height, towards the lower number. A way goes up, then down. Who has a
 * way that only goes down takes it, so that who came down goes on down, and a table by destination is enough. --- */

static bool higher(const struct search *s, uint32_t a, uint32_t b)
{
    return s->height[a] != s->height[b] ? s->height[a] > s->height[b] : a < b;
}

static void find_heights(const struct fabric *f, struct search *s)
{
    uint32_t head = 0, tail = 0;
    memset(s->height, 0xff, f->nnodes * sizeof *s->height);
    for (uint32_t u = 0; u < f->nnodes; u++)
        for (uint32_t i = 0; is_switch(f, u) && i < f->node[u].nports && s->height[u] == FAR; i++)
            if (!is_switch(f, f->node[u].port[i]->peer->node)) {
                s->height[u] = 0;
                s->queue[tail++] = u;
            }
    while (head < tail) {
        uint32_t u = s->queue[head++];
        for (uint32_t i = 0; i < f->node[u].nports; i++) {
            uint32_t v = f->node[u].port[i]->peer->node;
            if (is_switch(f, v) && s->height[v] == FAR) {
                s->height[v] = (uint16_t)(s->height[u] + 1);
                s->queue[tail++] = v;
            }
        }
    }
    s->nranked = 0;
    for (uint32_t level = tail ? s->height[s->queue[tail - 1]] + 1u : 0; level-- > 0;)
        for (uint32_t u = 0; u < f->nnodes; u++)
            if (is_switch(f, u) && s->height[u] == level)
                s->ranked[s->nranked++] = u;
}

static void search_up_down(const struct fabric *f, const struct route *r, uint32_t host, struct search *s)
{
    uint32_t head = 0, tail = begin_search(f, r, host, s);
    while (head < tail) { /* backwards over links that lead down */
        uint32_t v = s->queue[head++];
        for (uint32_t i = 0; i < f->node[v].nports; i++) {
            uint32_t u = f->node[v].port[i]->peer->node;
            if (is_switch(f, u) && s->dist[u] == FAR && higher(s, u, v) && is_up(f->node[v].port[i])) {
                s->dist[u] = (uint16_t)(s->dist[v] + 1);
                s->queue[tail++] = u;
            }
        }
    }
    for (uint32_t u = 0; u < f->nnodes; u++)
        s->descends[u] = s->dist[u] != FAR;
    for (uint32_t k = 0; k < s->nranked; k++) { /* the others climb, to switches that are done already */
        uint32_t u = s->ranked[k];
        for (uint32_t i = 0; !s->descends[u] && i < f->node[u].nports; i++) {
            uint32_t v = f->node[u].port[i]->peer->node;
            if (is_switch(f, v) && higher(s, v, u) && s->dist[v] != FAR && is_up(f->node[u].port[i]) && s->dist[v] + 1 < s->dist[u])
                s->dist[u] = (uint16_t)(s->dist[v] + 1);
        }
    }
}

static bool leads_on(const struct fabric *f, const struct search *s, uint32_t u, const struct port *port)
{
    uint32_t v = port->peer->node;
    if (!is_switch(f, v) || s->dist[v] + 1 != s->dist[u] || !is_up(port))
        return false;
    return f->params.routing != FABRIC_UP_DOWN || (s->descends[u] ? s->descends[v] && higher(s, u, v) : higher(s, v, u));
}

static int fill_row(const struct fabric *f, uint32_t u, const struct search *s, uint32_t cls, bool one_link)
{
    const uint16_t *dist = s->dist;
    struct route_table *t = &f->node[u].sw->table;
    uint16_t *row = (uint16_t *)(uintptr_t)&t->group_of[cls];
    struct route_span *span = (struct route_span *)(uintptr_t)&t->span[cls];
    uint16_t ports[4096], n = 0;
    *span = (struct route_span){ ROUTE_SLOW, 0 };
    if (dist[u] == 0 || dist[u] == FAR) {
        *row = dist[u] == 0 ? ROUTE_LOCAL : ROUTE_NONE;
        if (dist[u] == 0 && one_link)
            span->first = ROUTE_LOCAL;
        return SIM_OK;
    }
    for (uint32_t i = 0; i < f->node[u].nports && n < 4096; i++)
        if (leads_on(f, s, u, f->node[u].port[i]))
            ports[n++] = (uint16_t)i;
    int g = group_of(t, ports, n);
    if (g < 0 || g >= (int)ROUTE_LOCAL)
        return SIM_ERR_NOMEM;
    *row = (uint16_t)g;
    if (ports[n - 1] - ports[0] == n - 1)
        *span = (struct route_span){ ports[0], n };
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

/* A table for each switch, with a last row for hosts that have no link. */
static int new_tables(struct fabric *f, struct route *r)
{
    for (uint32_t u = 0; u < f->nnodes; u++) {
        struct sim_rng rng;
        if (!is_switch(f, u))
            continue;
        struct route_table *t = &f->node[u].sw->table;
        uint16_t *rows = calloc(r->nclasses + 1, sizeof *rows);
        struct route_span *spans = calloc(r->nclasses + 1, sizeof *spans);
        t->group_of = rows;
        t->span = spans;
        if (!rows || !spans)
            return SIM_ERR_NOMEM;
        rows[r->nclasses] = ROUTE_NONE;
        spans[r->nclasses].first = ROUTE_SLOW;
        sim_rng_init(&rng, sim_seed(f->sim), f->params.seeds == FABRIC_SEED_EQUAL ? UINT32_MAX : u, SIM_RNG_ECMP);
        t->seed = sim_rng_u32(&rng);
        t->ngroups = t->nports = 0;
        f->node[u].sw->route = r;
    }
    for (uint32_t h = 0; h < r->nhosts; h++)
        if (r->host[h].cls == UINT32_MAX)
            r->host[h].cls = r->nclasses;
    return SIM_OK;
}

/* again: links have failed or returned; hosts may be out of reach. */
static int build(struct fabric *f, struct route *r, uint32_t *words, struct search *s, bool again, char *err, size_t errlen)
{
    uint32_t *example = words, *head = words + f->nnodes, *chain = head + f->nnodes;
    memset(head, 0xff, f->nnodes * sizeof *head);
    assign_classes(f, r, example, head, chain);
    if (new_tables(f, r) != SIM_OK)
        return SIM_ERR_NOMEM;
    if (f->params.routing == FABRIC_UP_DOWN)
        find_heights(f, s);
    for (uint32_t c = 0; c < r->nclasses; c++) {
        if (f->params.routing == FABRIC_UP_DOWN)
            search_up_down(f, r, example[c], s);
        else
            search_shortest(f, r, example[c], s);
        for (uint32_t u = 0; u < f->nnodes; u++)
            if (is_switch(f, u) && fill_row(f, u, s, c, r->host[example[c]].links == 1) != SIM_OK)
                return SIM_ERR_NOMEM;
        int st = again ? SIM_OK : check_class(r, s->dist, example, c, err, errlen);
        if (st != SIM_OK)
            return st;
    }
    return again ? SIM_OK : check_direct(f, r, err, errlen);
}

static int renew_switches(struct fabric *f)
{
    for (uint32_t u = 0; u < f->nnodes; u++)
        if (is_switch(f, u) && f->node[u].sw->full && switch_paths_renew(f->node[u].sw) != SIM_OK)
            return SIM_ERR_NOMEM;
    return SIM_OK;
}

static int make(struct fabric *f, bool again, char *err, size_t errlen)
{
    size_t n = f->nnodes + 1u;
    struct route *r = f->route = calloc(1, sizeof *r);
    uint32_t *words = calloc(5 * n, sizeof *words);
    uint16_t *dist = calloc(2 * n, sizeof *dist);
    uint8_t *descends = calloc(n, 1);
    struct search s = { .dist = dist, .descends = descends };
    int st = r && words && dist && descends ? collect_links(f, r) : SIM_ERR_NOMEM;
    if (st == SIM_OK) {
        s.height = dist + n;
        s.queue = words + 3 * n;
        s.ranked = words + 4 * n;
        st = build(f, r, words, &s, again, err, errlen);
    }
    if (st == SIM_OK)
        st = renew_switches(f);
    if (st == SIM_ERR_NOMEM)
        snprintf(err, errlen, "out of memory for the routes of %u nodes", f->nnodes);
    free(words);
    free(dist);
    free(descends);
    return st;
}

int route_build(struct fabric *f, char *err, size_t errlen) { return make(f, false, err, errlen); }

int route_rebuild(struct fabric *f)
{
    char err[100];
    route_free(f);
    return make(f, true, err, sizeof err);
}

void route_free(struct fabric *f)
{
    if (!f->route)
        return;
    for (uint32_t u = 0; u < f->nnodes; u++)
        if (f->node[u].sw) {
            struct route_table *t = &f->node[u].sw->table;
            free((void *)(uintptr_t)t->group_of);
            free((void *)(uintptr_t)t->span);
            t->group_of = NULL;
            t->span = NULL;
        }
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

int route_lookup_slow(const struct route *r, const struct route_table *t, uint32_t self, uint32_t dst, uint32_t flow_hash)
{
    uint32_t g = t->group_of[r->host[dst].cls];
    if (g == ROUTE_LOCAL)
        return route_local_port(r, dst, self, flow_hash);
    if (g == ROUTE_NONE)
        return -1;
    const struct route_group *e = &t->group[g];
    return t->port[e->first + (uint32_t)((uint64_t)route_mix(flow_hash, t->seed) * e->count >> 32)];
}

size_t route_bytes(const struct fabric *f)
{
    const struct route *r = f->route;
    size_t n = sizeof *r + (r->nhosts + 1) * (sizeof *r->host + sizeof *r->first) + (r->first[r->nhosts] + 1) * sizeof *r->link;
    for (uint32_t u = 0; u < f->nnodes; u++)
        if (f->node[u].sw) {
            const struct route_table *t = &f->node[u].sw->table;
            n += (r->nclasses + 1) * (sizeof *t->group_of + sizeof *t->span) + t->ngroups * sizeof *t->group + t->nports * sizeof *t->port;
        }
    return n;
}
