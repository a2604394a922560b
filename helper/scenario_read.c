/* SPDX-License-Identifier: GPL-2.0-only */
/* The checked tree into structs. Each parameter struct is filled in one way: defaults or a profile, then the attributes given. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/cc/cc.h"
#include "../model/fabric/fabric_params.h"
#include "../model/fabric/switch_params.h"
#include "../model/host/host_params.h"
#include "../model/iwarp/iwarp_params.h"
#include "../model/roce/roce_params.h"
#include "../model/tcp/tcp_params.h"
#include "../model/workload/workload.h"
#include "flows_file.h"
#include "network_file.h"
#include "scenario_internal.h"
#include "topology.h"

struct reader { struct scenario *sc; const struct scenario_xml *x; struct scenario_memory *m; };

static const char *attr(struct reader *r, const xmlNode *n, const char *name)
{
    xmlChar *v = n ? xmlGetNoNsProp((xmlNode *)n, BAD_CAST name) : NULL;
    const char *s = v ? scenario_memory_text(r->m, (const char *)v) : NULL;
    xmlFree(v);
    return s;
}

static void copy_name(char *to, const char *from) { snprintf(to, SCENARIO_NAME_MAX, "%s", from); }

static bool is(const xmlNode *n, const char *name)
{
    return n->type == XML_ELEMENT_NODE && !n->ns && xmlStrcmp(n->name, BAD_CAST name) == 0;
}

static const xmlNode *child(const xmlNode *n, const char *name)
{
    for (const xmlNode *c = n ? n->children : NULL; c; c = c->next)
        if (is(c, name))
            return c;
    return NULL;
}

static const char *text_of(struct reader *r, const xmlNode *n)
{
    xmlChar *v = xmlNodeGetContent((xmlNode *)n);
    const char *s = scenario_memory_text(r->m, v ? (const char *)v : "");
    xmlFree(v);
    return s;
}

static const char *place(struct reader *r, const xmlNode *n, int *line)
{
    *line = scenario_xml_line(r->x, n, NULL);
    return scenario_memory_text(r->m, scenario_xml_file(r->x, n));
}

/* --- parameter structs --- */

static void fill(struct reader *r, struct scenario_params *p, const xmlNode *n, const struct scenario_element *e)
{
    char err[400];
    for (const xmlAttr *a = n->properties; a; a = a->next) {
        const char *name = (const char *)a->name;
        if (a->ns || scenario_attr_find(e, name))
            continue;
        const struct param *row = param_find(p->table, name);
        const char *value = attr(r, n, name);
        if (!row || !value)
            continue;                           /* scenario_words_check has said it */
        if (param_set(row, p->values, value, err, sizeof err) != SIM_OK)
            scenario_xml_error(r->x, n, name, "<%s> %s", e->name, err);
        p->given |= UINT64_C(1) << (row - p->table->rows);
    }
}

/* Which element, whose: parent and element name its row in the vocabulary. */
struct part { const char *parent, *element, *owner, *owner_name; const struct param_table *table; const char *profile; };

/* n NULL: it is not in the file and holds defaults. Not listed for --set if owner is NULL. values NULL: a new struct. */
static struct scenario_params *params_read(struct reader *r, const struct part *part, const xmlNode *n, void *values)
{
    struct scenario *sc = r->sc;
    const struct param_table *table = part->table;
    const struct scenario_element *e = scenario_element_find(part->parent, part->element);
    struct scenario_params *p = scenario_memory_get(r->m, 1, sizeof *p);
    assert(table->count <= 64);
    *p = (struct scenario_params){ .table = table, .values = values, .element = part->element, .owner = part->owner, .owner_name = part->owner_name };
    if (!values)
        p->values = scenario_memory_get(r->m, 1, table->struct_bytes);
    const char *given = scenario_attr_find(e, "profile") ? attr(r, n, "profile") : NULL;
    p->profile = given ? given : part->profile;
    param_defaults(table, p->values);
    if (p->profile && !scenario_profile_apply(table, p->profile, p->values)) {
        char words[300];
        scenario_profile_words(e, table, words, sizeof words);
        scenario_xml_error(r->x, n, "profile", "<%s> profile: \"%s\" is none of %s", part->element, p->profile, *words ? words : "this algorithm's, which has none");
    }
    if (n) {
        p->file = place(r, n, &p->line);
        fill(r, p, n, e);
    }
    if (part->owner) {
        sc->params = scenario_memory_grow(r->m, sc->params, sc->nparams, sizeof *sc->params);
        sc->params[sc->nparams++] = p;
    }
    return p;
}

/* --- topology --- */

struct node_list { const char **names; const xmlNode **nodes; size_t n; };

static void collect_nodes(struct reader *r, const xmlNode *top, const char *what, struct node_list *list)
{
    for (const xmlNode *c = top->children; c; c = c->next) {
        if (!is(c, what))
            continue;
        const char *name = attr(r, c, "name");
        for (size_t i = 0; i < list->n; i++)
            if (strcmp(list->names[i], name) == 0)
                scenario_xml_error(r->x, c, "name", "a second node \"%s\"", name);
        list->names = scenario_memory_grow(r->m, list->names, list->n, sizeof *list->names);
        list->nodes = scenario_memory_grow(r->m, list->nodes, list->n, sizeof *list->nodes);
        list->nodes[list->n] = c;
        list->names[list->n++] = name;
    }
}

static uint32_t find_node(struct reader *r, const xmlNode *link, const char *end, const struct node_list *list)
{
    const char *name = attr(r, link, end), *near = NULL;
    unsigned least = ~0u;
    for (size_t i = 0; i < list->n; i++) {
        unsigned d = param_edit_distance(name, list->names[i]);
        if (d == 0)
            return (uint32_t)i;
        if (d < least) {
            least = d;
            near = list->names[i];
        }
    }
    if (near)
        scenario_xml_error(r->x, link, end, "<link> %s: no node is called \"%s\"; nearest: %s", end, name, near);
    else
        scenario_xml_error(r->x, link, end, "<link> %s: no node is called \"%s\"", end, name);
    return 0;
}

/* Every host from the first one, without passing through a host: only switches forward. */
static void check_reach(struct reader *r, const struct topology_list *t, const struct node_list *nodes)
{
    int64_t lost = topology_unreachable(t);
    if (lost < 0)
        abort();
    if (lost > 0)
        scenario_xml_error(r->x, nodes->nodes[lost], NULL, "host \"%s\" cannot be reached from host \"%s\": no links and switches join them",
                           nodes->names[lost], nodes->names[0]);
}

static bool given(const struct scenario_params *p, const char *name)
{
    const struct param *row = param_find(p->table, name);
    return row && p->given >> (row - p->table->rows) & 1;
}

static void read_explicit(struct reader *r, const xmlNode *n)
{
    struct node_list nodes = { 0 };
    struct topology_list *list = scenario_memory_get(r->m, 1, sizeof *list);
    struct topology_link *links = NULL;
    collect_nodes(r, n, "host", &nodes);
    list->nhosts = (uint32_t)nodes.n;
    collect_nodes(r, n, "switch", &nodes);
    list->nswitches = (uint32_t)nodes.n - list->nhosts;
    for (const xmlNode *c = n->children; c; c = c->next) {
        if (!is(c, "link"))
            continue;
        const struct scenario_params *p = params_read(r, &(struct part){ .parent = "topology", .element = "link", .table = &topology_link_params_table }, c, NULL);
        const struct topology_link_params *v = p->values;
        links = scenario_memory_grow(r->m, links, list->nlinks, sizeof *links);
        links[list->nlinks++] = (struct topology_link){ .a = find_node(r, c, "a", &nodes), .b = find_node(r, c, "b", &nodes),
            .rate_bps = given(p, "rate") ? v->rate_bps : 0, .loss = given(p, "loss") ? v->loss : -1,
            .propagation_ps = given(p, "length") ? v->length_mm * TOPOLOGY_PS_PER_MM : given(p, "propagation") ? v->propagation_ps : -1 };
        if (given(p, "length") && given(p, "propagation"))
            scenario_xml_error(r->x, c, "length", "<link> has both a propagation and a length");
        const struct topology_link *l = &links[list->nlinks - 1];
        if (l->a == l->b && !r->x->errors->count)
            scenario_xml_error(r->x, c, "b", "<link> joins \"%s\" to itself", nodes.names[l->a]);
    }
    list->links = links;
    if (!list->nhosts)
        scenario_xml_error(r->x, n, NULL, "an explicit topology needs <host> elements");
    else if (!r->x->errors->count)
        check_reach(r, list, &nodes);
    r->sc->topology.list = list;
    r->sc->topology.node_names = nodes.names;
}

/* Found from the directory of the file that names it. */
static const char *path_beside(struct reader *r, const xmlNode *n, const char *path)
{
    const char *file = scenario_xml_file(r->x, n), *slash = file ? strrchr(file, '/') : NULL;
    char joined[4096];
    if (*path == '/' || !slash)
        return path;
    snprintf(joined, sizeof joined, "%.*s/%s", (int)(slash - file), file, path);
    return scenario_memory_text(r->m, joined);
}

static void read_network_file(struct reader *r, const xmlNode *n, const char *path)
{
    struct scenario_topology *t = &r->sc->topology;
    struct network_file net;
    struct network_file_error e;
    path = path_beside(r, n, path);
    if (!network_file_read(path, &net, &e)) {
        scenario_error(r->x->errors, path, e.line, "%s", e.text);
        return;
    }
    uint32_t nodes = net.nhosts + net.nswitches;
    struct topology_list *list = scenario_memory_get(r->m, 1, sizeof *list);
    struct topology_link *links = scenario_memory_get(r->m, net.nlinks + 1, sizeof *links);
    const char **names = scenario_memory_get(r->m, nodes, sizeof *names);
    if (net.nlinks)
        memcpy(links, net.links, net.nlinks * sizeof *links);
    for (uint32_t i = 0; i < nodes; i++)
        names[i] = scenario_memory_text(r->m, net.names[i]);
    *list = (struct topology_list){ net.nhosts, net.nswitches, links, net.nlinks };
    t->list = list;
    t->node_names = names;
    network_file_fini(&net);
}

static void check_lengths(struct reader *r, const xmlNode *n, const struct scenario_params *p)
{
    static const char *const of[] = { "host", "fabric", "trunk" };
    char length[32], propagation[32];
    for (int i = 0; i < 3; i++) {
        snprintf(length, sizeof length, "%s-length", of[i]);
        snprintf(propagation, sizeof propagation, "%s-propagation", of[i]);
        if (given(p, length) && given(p, propagation))
            scenario_xml_error(r->x, n, length, "<topology> has both %s and %s", propagation, length);
    }
}

static void read_topology(struct reader *r, const xmlNode *n)
{
    struct scenario_topology *t = &r->sc->topology;
    const struct scenario_params *p = params_read(r, &(struct part){ "scenario", "topology", "", "", &topology_params_table, NULL }, n, NULL);
    struct topology_params *v = p->values;
    const char *path = attr(r, n, "file");
    t->params = v;
    t->file = place(r, n, &t->line);
    check_lengths(r, n, p);
    const xmlNode *listed = NULL;
    for (const xmlNode *c = n->children; c && !listed; c = c->next)
        if (c->type == XML_ELEMENT_NODE)
            listed = c;
    if (path && given(p, "kind") && v->kind != TOPOLOGY_EXPLICIT)
        scenario_xml_error(r->x, n, "file", "a topology from a file is of kind=\"explicit\"");
    else if (path && listed)
        scenario_xml_error(r->x, listed, NULL, "<%s> has no use in a topology from a file", listed->name);
    else if (path) {
        v->kind = TOPOLOGY_EXPLICIT;
        read_network_file(r, n, path);
    } else if (v->kind == TOPOLOGY_EXPLICIT)
        read_explicit(r, n);
    else if (listed)
        scenario_xml_error(r->x, listed, NULL, "<%s> belongs to a topology of kind=\"explicit\" only", listed->name);
}

/* --- fabrics --- */

/* A switch's name, or where there are none its number. */
static uint32_t find_switch(struct reader *r, const xmlNode *n)
{
    const struct scenario_topology *t = &r->sc->topology;
    const char *name = attr(r, n, "switch");
    uint32_t nodes = t->list ? t->list->nhosts + t->list->nswitches : topology_nodes(t->params), first = t->list ? t->list->nhosts : topology_hosts(t->params, NULL, NULL, 0);
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    for (uint32_t i = first; t->node_names && i < nodes; i++)
        if (strcmp(t->node_names[i], name) == 0)
            return i - first;
    if (t->node_names)
        scenario_xml_error(r->x, n, "switch", "<exception> switch: no switch is called \"%s\"", name);
    else if (*end || *name < '0' || *name > '9' || number >= nodes - first)
        scenario_xml_error(r->x, n, "switch", "<exception> switch: \"%s\" is not a switch's number: they are 0 to %u", name, nodes - first - 1);
    return (uint32_t)number;
}

static const struct switch_part { const char *element; const struct param_table *table; } switch_parts[SCENARIO_SWITCH_PARTS] = {
    { "aqm", &aqm_params_table }, { "paths", &paths_params_table }, { "shapers", &shaper_params_table }, { "watchdog", &watchdog_params_table },
    { "middlebox", &middlebox_params_table }, { "classes", &classes_params_table } };

static void read_class_rules(struct reader *r, const xmlNode *classes, struct scenario_switch_parts *p)
{
    for (const xmlNode *c = classes ? classes->children : NULL; c; c = c->next) {
        bool remark = is(c, "remark");
        if (!remark && !is(c, "map"))
            continue;
        const struct param_table *table = remark ? &class_remark_params_table : &class_map_params_table;
        p->rules = scenario_memory_grow(r->m, p->rules, p->nrules, sizeof *p->rules);
        p->rules[p->nrules++] = (struct scenario_class_rule){ remark,
            params_read(r, &(struct part){ .parent = "classes", .element = remark ? "remark" : "map", .table = table }, c, NULL) };
        if (!xmlHasProp((xmlNode *)c, BAD_CAST "prio") || (!xmlHasProp((xmlNode *)c, BAD_CAST "dscp") && !xmlHasProp((xmlNode *)c, BAD_CAST "pcp")))
            scenario_xml_error(r->x, c, NULL, "<%s> needs prio, and dscp or pcp", c->name);
    }
}

/* Of a fabric (fabric its name, every part set) or of an exception (fabric NULL). */
static void read_switch_parts(struct reader *r, const xmlNode *n, const char *fabric, struct scenario_switch_parts *p)
{
    for (size_t i = 0; i < SCENARIO_SWITCH_PARTS; i++) {
        const xmlNode *c = child(n, switch_parts[i].element);
        if (c || fabric)
            p->part[i] = params_read(r, &(struct part){ fabric ? "fabric" : "exception", switch_parts[i].element, fabric ? "fabric" : NULL, fabric,
                                                        switch_parts[i].table, NULL }, c, NULL);
    }
    read_class_rules(r, child(n, "classes"), p);
}

enum wanted_node { WANT_HOST = 1, WANT_SWITCH = 2, WANT_EITHER = 3 };

/* A node by its name, or by host0, switch0 and so on where the topology names none. */
static uint32_t find_any_node(struct reader *r, const xmlNode *n, const char *which, enum wanted_node want)
{
    static const char *const what[] = { "", "host", "switch", "node" };
    const struct scenario_topology *t = &r->sc->topology;
    const char *name = attr(r, n, which);
    uint32_t nodes = t->list ? t->list->nhosts + t->list->nswitches : topology_nodes(t->params), hosts = t->list ? t->list->nhosts : topology_hosts(t->params, NULL, NULL, 0);
    uint32_t from = want & WANT_HOST ? 0 : hosts, to = want & WANT_SWITCH ? nodes : hosts;
    char candidate[40];
    for (uint32_t i = from; i < to; i++) {
        if (!t->node_names)
            snprintf(candidate, sizeof candidate, "%s%u", i < hosts ? "host" : "switch", i < hosts ? i : i - hosts);
        if (strcmp(t->node_names ? t->node_names[i] : candidate, name) == 0)
            return i;
    }
    scenario_xml_error(r->x, n, which, t->node_names ? "<%s> %s: no %s is called \"%s\"" : "<%s> %s: no %s is called \"%s\"; hosts are host0 and on, switches switch0 and on",
                       n->name, which, what[want], name);
    return 0;
}

static void read_events(struct reader *r, const xmlNode *n, struct scenario_fabric *f)
{
    for (const xmlNode *c = n->children; c; c = c->next) {
        if (is(c, "route")) {
            f->routes = scenario_memory_grow(r->m, f->routes, f->nroutes, sizeof *f->routes);
            struct scenario_route *o = &f->routes[f->nroutes++];
            *o = (struct scenario_route){ .at = find_any_node(r, c, "at", WANT_SWITCH), .to = find_any_node(r, c, "to", WANT_HOST), .via = find_any_node(r, c, "via", WANT_EITHER) };
            o->file = place(r, c, &o->line);
        } else if (is(c, "failure")) {
            f->failures = scenario_memory_grow(r->m, f->failures, f->nfailures, sizeof *f->failures);
            struct scenario_failure *o = &f->failures[f->nfailures++];
            *o = (struct scenario_failure){ .a = find_any_node(r, c, "a", WANT_EITHER), .b = find_any_node(r, c, "b", WANT_EITHER),
                .params = params_read(r, &(struct part){ .parent = "fabric", .element = "failure", .table = &failure_params_table }, c, NULL) };
            o->file = place(r, c, &o->line);
            const struct failure_params *v = o->params->values;
            if ((o->params->given & 2) && v->up_ps <= v->down_ps)
                scenario_xml_error(r->x, c, "up", "<failure> up: the link returns before it fails");
        } else if (is(c, "lose")) {
            f->loses = scenario_memory_grow(r->m, f->loses, f->nloses, sizeof *f->loses);
            f->loses[f->nloses++] = (struct scenario_lose){
                attr(r, c, "src") ? find_any_node(r, c, "src", WANT_HOST) : UINT32_MAX, attr(r, c, "dst") ? find_any_node(r, c, "dst", WANT_HOST) : UINT32_MAX,
                params_read(r, &(struct part){ .parent = "fabric", .element = "lose", .table = &lose_params_table }, c, NULL)->values };
        }
    }
}

static void read_exceptions(struct reader *r, const xmlNode *n, struct scenario_fabric *f)
{
    for (const xmlNode *c = n->children; c; c = c->next) {
        if (!is(c, "exception"))
            continue;
        f->exceptions = scenario_memory_grow(r->m, f->exceptions, f->nexceptions, sizeof *f->exceptions);
        struct scenario_exception *e = &f->exceptions[f->nexceptions++];
        e->number = find_switch(r, c);
        e->file = place(r, c, &e->line);
        e->params = params_read(r, &(struct part){ .parent = "fabric", .element = "exception", .table = &switch_params_table }, c, NULL);
        read_switch_parts(r, c, NULL, &e->parts);
        for (size_t i = 0; i + 1 < f->nexceptions; i++)
            if (f->exceptions[i].number == e->number)
                scenario_xml_error(r->x, c, "switch", "a second <exception> for this switch");
    }
}

static void read_fabric(struct reader *r, const xmlNode *n)
{
    struct scenario *sc = r->sc;
    sc->fabrics = scenario_memory_grow(r->m, sc->fabrics, sc->nfabrics, sizeof *sc->fabrics);
    struct scenario_fabric *f = &sc->fabrics[sc->nfabrics++];
    const char *name = attr(r, n, "name");
    copy_name(f->name, name);
    f->file = place(r, n, &f->line);
    for (uint32_t i = 0; i + 1 < sc->nfabrics; i++)
        if (strcmp(sc->fabrics[i].name, name) == 0)
            scenario_xml_error(r->x, n, "name", "a second fabric \"%s\"", name);
    read_exceptions(r, n, f);
    f->params = params_read(r, &(struct part){ "scenario", "fabric", "fabric", name, &fabric_params_table, NULL }, n, NULL)->values;
    read_switch_parts(r, n, name, &f->parts);
    read_events(r, n, f);
    f->sw = params_read(r, &(struct part){ "fabric", "switch", "fabric", name, &switch_params_table, NULL }, child(n, "switch"), NULL)->values;
    f->link = params_read(r, &(struct part){ "fabric", "links", "fabric", name, &link_params_table, NULL }, child(n, "links"), NULL)->values;
}

/* --- transports --- */

static const struct transport_part { const char *element; const struct param_table *table; unsigned kinds; } transport_parts[] = {
    { "host",  &host_params_table,  1u << SCENARIO_IWARP | 1u << SCENARIO_ROCE | 1u << SCENARIO_TCP },
    { "tcp",   &tcp_params_table,   1u << SCENARIO_IWARP | 1u << SCENARIO_TCP },
    { "roce",  &roce_params_table,  1u << SCENARIO_ROCE },
    { "iwarp", &iwarp_params_table, 1u << SCENARIO_IWARP },
};

static void read_cc(struct reader *r, struct scenario_transport *t, const xmlNode *n, const char *owner_name)
{
    const char *name = attr(r, n, "algorithm");
    if (!name)
        name = t->kind == SCENARIO_ROCE ? "dcqcn" : "reno";
    t->cc = cc_find(name);
    if (!t->cc)
        return;                                 /* scenario_words_check has said it */
    static const struct param_table none = { "none", NULL, 0, 1 };
    t->cc_params = params_read(r, &(struct part){ "transport", "cc", "transport", owner_name, t->cc->params ? t->cc->params : &none, NULL }, n, NULL)->values;
}

static void read_transport(struct reader *r, const xmlNode *n)
{
    struct scenario *sc = r->sc;
    sc->transports = scenario_memory_grow(r->m, sc->transports, sc->ntransports, sizeof *sc->transports);
    struct scenario_transport *t = &sc->transports[sc->ntransports++];
    const char *name = attr(r, n, "name"), *kind = attr(r, n, "kind");
    copy_name(t->name, name);
    t->file = place(r, n, &t->line);
    t->kind = (enum scenario_transport_kind)scenario_word_index(SCENARIO_TRANSPORT_KINDS, kind);
    for (uint32_t i = 0; i + 1 < sc->ntransports; i++)
        if (strcmp(sc->transports[i].name, name) == 0)
            scenario_xml_error(r->x, n, "name", "a second transport \"%s\"", name);
    t->params = params_read(r, &(struct part){ "scenario", "transport", "transport", name, &transport_params_table, NULL }, n, NULL)->values;
    const void *parts[4] = { NULL };
    for (size_t i = 0; i < sizeof transport_parts / sizeof transport_parts[0]; i++) {
        const struct transport_part *part = &transport_parts[i];
        const xmlNode *c = child(n, part->element);
        if (part->kinds & 1u << t->kind)
            parts[i] = params_read(r, &(struct part){ "transport", part->element, "transport", name, part->table,
                                                      scenario_profile_default(part->table, t->kind) }, c, NULL)->values;
        else if (c)
            scenario_xml_error(r->x, c, NULL, "<%s> has no use in a transport of kind %s", part->element, kind);
    }
    t->host = parts[0];
    t->tcp = parts[1];
    t->roce = parts[2];
    t->iwarp = parts[3];
    read_cc(r, t, child(n, "cc"), name);
}

/* --- workloads and size distributions --- */

static struct scenario_cdf *read_cdf(struct reader *r, const xmlNode *n, const char *name)
{
    struct scenario_cdf *c = scenario_memory_get(r->m, 1, sizeof *c);
    const char *source = attr(r, n, "source");
    copy_name(c->name, name);
    c->source = source ? source : "";
    c->file = place(r, n, &c->line);
    for (const xmlNode *p = n->children; p; p = p->next) {
        if (!is(p, "point"))
            continue;
        const struct cdf_point_params *v = params_read(r, &(struct part){ .parent = "cdf", .element = "point", .table = &cdf_point_params_table }, p, NULL)->values;
        const struct wl_cdf_point *last = c->npoints ? &c->points[c->npoints - 1] : NULL;
        if (!xmlHasProp((xmlNode *)p, BAD_CAST "size") || !xmlHasProp((xmlNode *)p, BAD_CAST "cumulative"))
            scenario_xml_error(r->x, p, NULL, "<point> needs both size and cumulative");
        else if (last && (v->size_bytes <= last->bytes || v->cumulative < last->cumulative))
            scenario_xml_error(r->x, p, NULL, "the distribution is not monotone: %lldB at %.6g%% comes after %lldB at %.6g%%",
                               (long long)v->size_bytes, v->cumulative * 100, (long long)last->bytes, last->cumulative * 100);
        c->points = scenario_memory_grow(r->m, c->points, c->npoints, sizeof *c->points);
        c->points[c->npoints++] = (struct wl_cdf_point){ v->size_bytes, v->cumulative };
    }
    const struct wl_cdf_point *p = c->points;
    if (c->npoints && p[c->npoints - 1].cumulative != 1)
        scenario_xml_error(r->x, n, NULL, "the distribution \"%s\" ends at %.6g%%, not at 100%%", name, p[c->npoints - 1].cumulative * 100);
    for (size_t i = 0; i < c->npoints; i++)
        c->mean_bytes += i ? (p[i].cumulative - p[i - 1].cumulative) * ((double)p[i].bytes + (double)p[i - 1].bytes) / 2
                           : p[i].cumulative * (double)p[i].bytes;
    return c;
}

static void read_named_cdf(struct reader *r, const xmlNode *n)
{
    struct scenario *sc = r->sc;
    const char *name = attr(r, n, "name");
    for (uint32_t i = 0; i < sc->ncdfs; i++)
        if (strcmp(sc->cdfs[i]->name, name) == 0)
            scenario_xml_error(r->x, n, "name", "a second distribution \"%s\"", name);
    const struct scenario_cdf *c = read_cdf(r, n, name);
    sc->cdfs = scenario_memory_grow(r->m, sc->cdfs, sc->ncdfs, sizeof *sc->cdfs);
    sc->cdfs[sc->ncdfs++] = c;
}

/* --- flows --- */

static void add_flow(struct reader *r, const xmlNode *n, const struct host_names *names, struct wl_flow *out)
{
    static const char *const end[] = { "src", "dst" };
    const struct scenario_params *p = params_read(r, &(struct part){ .parent = "workload", .element = "flow", .table = &flow_params_table }, n, NULL);
    const struct flow_params *v = p->values;
    char err[200];
    uint32_t node[2] = { 0, 1 };
    bool found = true;
    for (int i = 0; i < 2; i++)
        if (!host_names_find(names, attr(r, n, end[i]), &node[i], err, sizeof err)) {
            scenario_xml_error(r->x, n, end[i], "<flow> %s: %s", end[i], err);
            found = false;
        }
    if (found && node[0] == node[1])
        scenario_xml_error(r->x, n, "dst", "<flow> src and dst are the same host");
    *out = (struct wl_flow){ node[0], node[1], given(p, "prio") ? (uint8_t)v->prio : WL_PRIO_OWN, v->size_bytes, v->start_ps };
}

static size_t count_children(const xmlNode *n, const char *name)
{
    size_t count = 0;
    for (const xmlNode *c = n->children; c; c = c->next)
        count += is(c, name);
    return count;
}

static void read_flows(struct reader *r, const xmlNode *n, struct scenario_workload *w)
{
    const struct scenario_topology *t = &r->sc->topology;
    const char *file = attr(r, n, "file");
    size_t listed = count_children(n, "flow"), nfile = 0;
    struct wl_flow *from_file = NULL;
    struct flows_file_error e;
    struct host_names names;
    if (!host_names_init(&names, t->node_names, t->list ? t->list->nhosts + t->list->nswitches : 0, t->list ? t->list->nhosts : 0))
        abort();
    if (file) {
        file = path_beside(r, n, file);
        if (!flows_file_read(file, &names, &from_file, &nfile, &e))
            scenario_error(r->x->errors, file, e.line, "%s", e.text);
    } else if (!listed) {
        scenario_xml_error(r->x, n, NULL, "a workload of kind flows needs a file or <flow> elements");
    }
    struct wl_flow *all = scenario_memory_get(r->m, nfile + listed + 1, sizeof *all);
    if (nfile)
        memcpy(all, from_file, nfile * sizeof *all);
    size_t k = nfile;
    for (const xmlNode *c = n->children; c; c = c->next)
        if (is(c, "flow"))
            add_flow(r, c, &names, &all[k++]);
    w->spec->flows = (struct wl_flow_list){ all, k };
    host_names_fini(&names);
    free(from_file);
}

static int workload_kind(const char *word)
{
    for (int i = 0; i < WL_KIND_COUNT; i++)
        if (strcmp(wl_kinds[i].name, word) == 0)
            return i;
    return -1;
}

static void read_workload(struct reader *r, const xmlNode *n)
{
    struct scenario *sc = r->sc;
    sc->workloads = scenario_memory_grow(r->m, sc->workloads, sc->nworkloads, sizeof *sc->workloads);
    struct scenario_workload *w = &sc->workloads[sc->nworkloads++];
    const char *word = attr(r, n, "kind"), *name = attr(r, n, "name");
    int kind = workload_kind(word);
    name = name ? name : word;
    copy_name(w->name, name);
    w->file = place(r, n, &w->line);
    for (uint32_t i = 0; i + 1 < sc->nworkloads; i++)
        if (strcmp(sc->workloads[i].name, name) == 0)
            scenario_xml_error(r->x, n, "name", "a second workload \"%s\": give them names", name);
    w->spec = scenario_memory_get(r->m, 1, sizeof *w->spec);
    wl_spec_init(w->spec, (enum wl_kind)kind);
    w->has_load = wl_kinds[kind].has_load;
    const struct scenario_params *p = params_read(r, &(struct part){ "scenario", "workload", "workload", name, wl_kinds[kind].table, NULL }, n, wl_spec_params(w->spec));
    if (kind == WL_FLOWS)
        read_flows(r, n, w);
    else if (attr(r, n, "file"))
        scenario_xml_error(r->x, n, "file", "file has no use in a workload of kind %s: it lists flows", word);
    else if (child(n, "flow"))
        scenario_xml_error(r->x, child(n, "flow"), NULL, "<flow> belongs to a workload of kind=\"flows\" only");
    w->sizes = attr(r, n, "sizes");
    const xmlNode *points = child(n, "cdf");
    const struct param *size = param_find(p->table, "size");
    if (w->sizes && points)
        scenario_xml_error(r->x, points, NULL, "<workload> has both sizes=\"%s\" and a <cdf> of its own", w->sizes);
    else if (points)
        w->cdf = read_cdf(r, points, name);
    if ((w->sizes || points) && size && (p->given >> (size - p->table->rows) & 1))
        scenario_xml_error(r->x, n, "size", "<workload> has both a fixed size and a distribution of sizes");
}

/* --- the rest --- */

static void read_measure(struct reader *r, const xmlNode *n)
{
    r->sc->measure = params_read(r, &(struct part){ "scenario", "measure", "", "", &measure_params_table, NULL }, n, NULL)->values;
    const char *seeds = attr(r, n, "seeds");
    if (seeds)
        scenario_set_seeds(r->sc, seeds);
}

static void read_compare(struct reader *r, const xmlNode *n)
{
    struct scenario *sc = r->sc;
    const char *loads = attr(r, n, "loads");
    if (loads)
        scenario_set_loads(sc, loads);
    for (const xmlNode *c = n->children; c; c = c->next) {
        if (!is(c, "pair"))
            continue;
        sc->pairs = scenario_memory_grow(r->m, sc->pairs, sc->npairs, sizeof *sc->pairs);
        struct scenario_pair *p = &sc->pairs[sc->npairs++];
        p->transport = attr(r, c, "transport");
        p->fabric = attr(r, c, "fabric");
        p->file = place(r, c, &p->line);
    }
}

static void read_size(struct reader *r, const xmlNode *n)
{
    struct scenario *sc = r->sc;
    char text[600];
    sc->sizes = scenario_memory_grow(r->m, sc->sizes, sc->nsizes, sizeof *sc->sizes);
    struct scenario_size *s = &sc->sizes[sc->nsizes++];
    copy_name(s->name, attr(r, n, "name"));
    for (size_t i = 0; i + 1 < sc->nsizes; i++)
        if (strcmp(sc->sizes[i].name, s->name) == 0)
            scenario_xml_error(r->x, n, "name", "a second size \"%s\"", s->name);
    for (const xmlNode *c = n->children; c; c = c->next) {
        if (!is(c, "set"))
            continue;
        s->sets = scenario_memory_grow(r->m, s->sets, s->nsets, sizeof *s->sets);
        struct scenario_override *o = &s->sets[s->nsets++];
        snprintf(text, sizeof text, "%s=%s", attr(r, c, "name"), attr(r, c, "value"));
        o->text = scenario_memory_text(r->m, text);
        o->file = place(r, c, &o->line);
    }
}

static void read_description(struct reader *r, const xmlNode *n) { r->sc->description = text_of(r, n); }
static void read_expect(struct reader *r, const xmlNode *n)
{
    const char *drops = attr(r, n, "lossless-drops");
    r->sc->expect_failures = strcmp(attr(r, n, "failures"), "yes") == 0;
    r->sc->expect_lossless_drops = drops && strcmp(drops, "yes") == 0;
}

void scenario_read(struct scenario *sc, const struct scenario_xml *x)
{
    static const struct { const char *name; void (*read)(struct reader *r, const xmlNode *n); } parts[] = {
        { "description", read_description }, { "fabric", read_fabric }, { "transport", read_transport },
        { "workload", read_workload }, { "cdf", read_named_cdf }, { "compare", read_compare }, { "expect", read_expect }, { "size", read_size },
    };
    struct reader r = { sc, x, sc->memory };
    const xmlNode *root = xmlDocGetRootElement(x->doc);
    copy_name(sc->name, attr(&r, root, "name"));
    read_measure(&r, child(root, "measure"));
    read_topology(&r, child(root, "topology")); /* before workloads, which may name its hosts */
    for (const xmlNode *c = root->children; c; c = c->next)
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            if (is(c, parts[i].name))
                parts[i].read(&r, c);
}
