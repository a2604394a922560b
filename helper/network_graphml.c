/* SPDX-License-Identifier: GPL-2.0-only */
/* GraphML (graphml.graphdrawing.org) by libxml2, without network access or entities. */
#include "network_file_internal.h"
#include "host_names.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (256u << 20)
#define KEYS_MAX 8

/* What we look for: its name, the element that it is for, and the ids of keys that carry it (several may, for node and edge). */
enum what { WHAT_TYPE, WHAT_RATE, WHAT_DELAY, WHAT_LENGTH, WHAT_LOSS, WHAT_COUNT };
static const char *const what_name[WHAT_COUNT] = { "type", "rate", "delay", "length", "loss" };

struct key { xmlChar *id, *dflt; enum what what; long line; };
struct graph {
    struct key key[KEYS_MAX];
    int nkeys;
    struct network_file *n;
    size_t room;
    struct network_file_error *e;
};

static bool fail(struct graph *g, long line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail(struct graph *g, long line, const char *format, ...)
{
    va_list ap;
    if (*g->e->text)
        return false;
    g->e->line = (int)line;
    va_start(ap, format);
    (void)vsnprintf(g->e->text, sizeof g->e->text, format, ap);
    va_end(ap);
    return false;
}

static void on_error(void *ctx, xmlErrorPtr error)
{
    struct graph *g = ctx;
    char message[300];
    if (error->level < XML_ERR_ERROR)
        return;
    snprintf(message, sizeof message, "%s", error->message ? error->message : "not well-formed");
    message[strcspn(message, "\n")] = '\0';
    fail(g, error->line, "not well-formed XML: %s", message);
}

static bool is(const xmlNode *n, const char *name) { return n->type == XML_ELEMENT_NODE && xmlStrcmp(n->name, BAD_CAST name) == 0; }

static xmlChar *attr(const xmlNode *n, const char *name) { return xmlGetNoNsProp((xmlNode *)n, BAD_CAST name); }

static xmlChar *trimmed(xmlChar *s)
{
    size_t from = 0, n = s ? (size_t)xmlStrlen(s) : 0;
    while (n > 0 && strchr(" \t\r\n", s[n - 1]))
        n--;
    while (from < n && strchr(" \t\r\n", s[from]))
        from++;
    if (s) {
        memmove(s, s + from, n - from);
        s[n - from] = '\0';
    }
    return s;
}

static xmlChar *text_of(const xmlNode *n) { return trimmed(xmlNodeGetContent((xmlNode *)n)); }

/* --- keys --- */

static bool read_key(struct graph *g, const xmlNode *n)
{
    xmlChar *id = attr(n, "id"), *name = attr(n, "attr.name");
    int what = 0;
    while (name && what < WHAT_COUNT && xmlStrcasecmp(name, BAD_CAST what_name[what]) != 0)
        what++;
    bool known = name && what < WHAT_COUNT;
    xmlFree(name);
    if (!known) {
        xmlFree(id);
        return true;                            /* data that means nothing here */
    }
    if (!id)
        return fail(g, xmlGetLineNo(n), "a <key> without an id");
    if (g->nkeys == KEYS_MAX) {
        xmlFree(id);
        return fail(g, xmlGetLineNo(n), "more than %d keys called type, rate, delay, length or loss", KEYS_MAX);
    }
    struct key *k = &g->key[g->nkeys++];
    *k = (struct key){ .id = id, .what = (enum what)what, .line = xmlGetLineNo(n) };
    for (const xmlNode *c = n->children; c; c = c->next)
        if (is(c, "default") && !k->dflt)
            k->dflt = text_of(c);
    return true;
}

/* The value of `what` at a node or edge, NULL if none; *line is where it stands. */
static xmlChar *value_of(const struct graph *g, const xmlNode *n, enum what what, long *line)
{
    xmlChar *dflt = NULL;
    for (int i = 0; i < g->nkeys; i++) {
        const struct key *k = &g->key[i];
        if (k->what != what)
            continue;
        for (const xmlNode *c = n->children; c; c = c->next) {
            xmlChar *key = is(c, "data") ? attr(c, "key") : NULL;
            bool found = key && xmlStrcmp(key, k->id) == 0;
            xmlFree(key);
            if (found) {
                *line = xmlGetLineNo(c);
                return text_of(c);
            }
        }
        if (k->dflt) {
            dflt = k->dflt;
            *line = k->line;
        }
    }
    return dflt ? xmlStrdup(dflt) : NULL;
}

/* --- nodes: hosts in the file's order, then switches --- */

struct node { char *id; bool is_switch; };

static bool read_node(struct graph *g, const xmlNode *n, struct node *out)
{
    long line = xmlGetLineNo(n);
    xmlChar *id = attr(n, "id");
    if (!id || !*id) {
        xmlFree(id);
        return fail(g, line, "a <node> without an id");
    }
    out->id = strdup((char *)id);
    xmlChar *type = value_of(g, n, WHAT_TYPE, &line);
    bool host = type && xmlStrcasecmp(type, BAD_CAST "host") == 0, sw = type && xmlStrcasecmp(type, BAD_CAST "switch") == 0;
    if (!type)
        fail(g, xmlGetLineNo(n), "node \"%.64s\" has no type: give host or switch", id);
    else if (!host && !sw)
        fail(g, line, "node \"%.64s\": type \"%.64s\" is neither host nor switch", id, type);
    for (const xmlNode *c = n->children; c; c = c->next)
        if (is(c, "graph"))
            fail(g, xmlGetLineNo(c), "a graph inside node \"%.64s\" is not read", id);
    xmlFree(type);
    xmlFree(id);
    out->is_switch = sw;
    return out->id && !*g->e->text;
}

static bool place_nodes(struct graph *g, struct node *node, uint32_t count)
{
    struct network_file *n = g->n;
    n->names = calloc(count ? count : 1, sizeof *n->names);
    if (!n->names)
        return fail(g, 0, "out of memory for %u nodes", count);
    for (uint32_t i = 0; i < count; i++)
        n->nhosts += !node[i].is_switch;
    n->nswitches = count - n->nhosts;
    uint32_t host = 0, sw = n->nhosts;
    for (uint32_t i = 0; i < count; i++) {
        n->names[node[i].is_switch ? sw++ : host++] = node[i].id;
        node[i].id = NULL;
    }
    return true;
}

static bool read_nodes(struct graph *g, const xmlNode *graph)
{
    uint32_t count = 0, i = 0;
    for (const xmlNode *c = graph->children; c; c = c->next)
        count += is(c, "node");
    struct node *node = calloc(count ? count : 1, sizeof *node);
    bool ok = node != NULL || fail(g, 0, "out of memory for %u nodes", count);
    if (count == 0)
        ok = fail(g, xmlGetLineNo(graph), "the graph has no nodes");
    for (const xmlNode *c = graph->children; c && ok; c = c->next)
        if (is(c, "node"))
            ok = read_node(g, c, &node[i++]);
    ok = ok && place_nodes(g, node, count);
    for (i = 0; node && i < count; i++)
        free(node[i].id);
    free(node);
    return ok;
}

/* --- edges --- */

static bool edge_end(struct graph *g, const xmlNode *n, const char *which, const struct host_names *names, uint32_t *out)
{
    xmlChar *id = attr(n, which);
    int64_t node = id ? host_names_node(names, (char *)id) : -1;
    if (!id)
        fail(g, xmlGetLineNo(n), "an <edge> without its %s", which);
    else if (node < 0)
        fail(g, xmlGetLineNo(n), "<edge> %s: no node has the id \"%.64s\"", which, id);
    xmlFree(id);
    *out = (uint32_t)node;
    return node >= 0;
}

static bool read_edge(struct graph *g, const xmlNode *n, const struct host_names *names)
{
    struct topology_link *l = network_add_link(g->n, &g->room);
    char why[300];
    if (!l)
        return fail(g, 0, "out of memory for %zu edges", g->n->nlinks);
    if (!edge_end(g, n, "source", names, &l->a) || !edge_end(g, n, "target", names, &l->b))
        return false;
    if (l->a == l->b)
        return fail(g, xmlGetLineNo(n), "<edge> joins \"%.64s\" to itself", g->n->names[l->a]);
    xmlChar *directed = attr(n, "directed");
    bool one_way = directed && xmlStrcmp(directed, BAD_CAST "true") == 0;
    xmlFree(directed);
    if (one_way)
        return fail(g, xmlGetLineNo(n), "<edge> is directed; links are full-duplex: one undirected edge each");
    for (int w = WHAT_RATE; w < WHAT_COUNT; w++) {
        long line = 0;
        xmlChar *v = value_of(g, n, (enum what)w, &line);
        if (v && !network_link_value(l, what_name[w], (char *)v, why, sizeof why))
            fail(g, line, "<edge>: %s", why);
        xmlFree(v);
    }
    return !*g->e->text;
}

static bool read_edges(struct graph *g, const xmlNode *graph)
{
    struct host_names names;
    uint32_t n = g->n->nhosts + g->n->nswitches;
    if (!host_names_init(&names, (const char *const *)g->n->names, n, g->n->nhosts))
        return fail(g, 0, "out of memory for %u nodes", n);
    bool ok = true;
    for (size_t i = 1; i < names.n && ok; i++)
        if (strcmp(names.sorted[i].name, names.sorted[i - 1].name) == 0)
            ok = fail(g, xmlGetLineNo(graph), "two nodes have the id \"%.64s\"", names.sorted[i].name);
    for (const xmlNode *c = graph->children; c && ok; c = c->next) {
        if (is(c, "edge"))
            ok = read_edge(g, c, &names);
        else if (is(c, "hyperedge"))
            ok = fail(g, xmlGetLineNo(c), "a <hyperedge> is no link");
    }
    host_names_fini(&names);
    return ok;
}

static bool read_root(struct graph *g, const xmlNode *root)
{
    const xmlNode *graph = NULL;
    if (!root || !is(root, "graphml"))
        return fail(g, root ? xmlGetLineNo(root) : 1, "the root element is <%.64s>, not <graphml>", root ? (const char *)root->name : "");
    for (const xmlNode *c = root->children; c; c = c->next) {
        if (is(c, "key") && !read_key(g, c))
            return false;
        if (is(c, "graph") && graph)
            return fail(g, xmlGetLineNo(c), "a second <graph>: one is read");
        if (is(c, "graph"))
            graph = c;
    }
    if (!graph)
        return fail(g, xmlGetLineNo(root), "<graphml> holds no <graph>");
    xmlChar *dflt = attr(graph, "edgedefault");
    bool directed = dflt && xmlStrcmp(dflt, BAD_CAST "directed") == 0;
    xmlFree(dflt);
    if (directed)
        return fail(g, xmlGetLineNo(graph), "edgedefault is directed; links are full-duplex: one undirected edge each");
    return read_nodes(g, graph) && read_edges(g, graph);
}

bool network_graphml_parse(const char *bytes, size_t len, struct network_file *n, struct network_file_error *e)
{
    struct graph g = { .n = n, .e = e };
    if (len > FILE_BYTES_MAX)
        return fail(&g, 0, "is larger than %u MiB", FILE_BYTES_MAX >> 20);
    xmlInitParser();
    xmlSetStructuredErrorFunc(&g, on_error);
    xmlDoc *doc = xmlReadMemory(bytes, (int)len, "graphml", NULL, XML_PARSE_NONET | XML_PARSE_NOCDATA | XML_PARSE_BIG_LINES | XML_PARSE_COMPACT);
    if (!doc)
        fail(&g, 1, "not well-formed XML");
    else if (doc->intSubset)
        fail(&g, 1, "a DOCTYPE is not accepted");
    else if (!*e->text)
        read_root(&g, xmlDocGetRootElement(doc));
    xmlSetStructuredErrorFunc(NULL, NULL);
    for (int i = 0; i < g.nkeys; i++) {
        xmlFree(g.key[i].id);
        xmlFree(g.key[i].dflt);
    }
    xmlFreeDoc(doc);
    return !*e->text;
}
