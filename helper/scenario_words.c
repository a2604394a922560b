/* SPDX-License-Identifier: GPL-2.0-only */
/* The structure of a scenario against its vocabulary, before RelaxNG, so that a misspelt word is answered with the nearest
 * known one and the place where it stands. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_internal.h"

static bool blank_text(const xmlNode *n)
{
    for (const xmlChar *c = n->content; c && *c; c++)
        if (!isspace(*c))
            return false;
    return true;
}

/* A list's items parse one by one. */
static bool loads_valid(const char *text, char *err, size_t errlen)
{
    char item[64];
    double v;
    int n, items = 0;
    while (sscanf(text, "%63s%n", item, &n) == 1) {
        if (param_parse(PARAM_FRACTION, NULL, item, &v, err, errlen) != SIM_OK)
            return false;
        text += n;
        items++;
    }
    if (!items)
        snprintf(err, errlen, "the list is empty: write loads such as \"30%% 50%% 70%%\"");
    return items > 0;
}

static bool counts_valid(const char *text, char *err, size_t errlen)
{
    char *end;
    int items = 0;
    for (const char *p = text; *p; items++) {
        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            break;
        strtoull(p, &end, 10);
        if (end == p || (*end && !isspace((unsigned char)*end)) || !isdigit((unsigned char)*p)) {
            snprintf(err, errlen, "\"%s\" is not a list of whole numbers such as \"1 2 3\"", text);
            return false;
        }
        p = end;
    }
    if (!items)
        snprintf(err, errlen, "the list is empty: write whole numbers such as \"1 2 3\"");
    return items > 0;
}

bool scenario_attr_valid(const struct scenario_attr *a, const char *value, char *err, size_t errlen)
{
    char near[80];
    switch (a->form) {
    case ATTR_TEXT:
        return true;
    case ATTR_NAME:
        if (scenario_name_valid(value))
            return true;
        snprintf(err, errlen, "\"%s\" is not a name: 1 to %d letters, digits, '-' or '_'", value, SCENARIO_NAME_MAX - 1);
        return false;
    case ATTR_WORD:
        if (scenario_word_index(a->words, value) >= 0)
            return true;
        scenario_word_nearest(a->words, value, near, sizeof near);
        snprintf(err, errlen, "\"%s\" is none of %s; nearest: %s", value, a->words, near);
        return false;
    case ATTR_LOADS:
        return loads_valid(value, err, errlen);
    case ATTR_COUNTS:
        return counts_valid(value, err, errlen);
    }
    return false;
}

const struct param_table *scenario_table_of(const struct scenario_element *e, const xmlNode *n)
{
    struct scenario_choice c;
    if (!e->chosen_by)
        return e->table;
    xmlChar *word = xmlGetNoNsProp((xmlNode *)n, BAD_CAST e->chosen_by);
    const struct param_table *t = word && scenario_choice_find(e, (const char *)word, &c) ? c.table : NULL;
    xmlFree(word);
    return t;
}

static bool takes(const struct scenario_element *e, const struct param_table *table, const char *name)
{
    const struct param *row = table && !strchr(name, '_') ? param_find(table, name) : NULL;
    char public[64];
    return row && scenario_element_takes(e, row) && strcmp(param_public_name(row, public, sizeof public), name) == 0;
}

static void check_attributes(const struct scenario_xml *x, const xmlNode *n, const struct scenario_element *e)
{
    char err[300], buf[64];
    const struct param_table *table = scenario_table_of(e, n);
    for (const xmlAttr *a = n->properties; a; a = a->next) {
        const char *name = (const char *)a->name;
        const struct scenario_attr *known = a->ns ? NULL : scenario_attr_find(e, name);
        if (known && e->chosen_by && strcmp(name, e->chosen_by) == 0) {
            xmlChar *value = xmlGetNoNsProp((xmlNode *)n, a->name);
            if (!table && !scenario_choice_find(e, (const char *)value, &(struct scenario_choice){ 0 }))
                scenario_xml_error(x, n, name, "there is no %s \"%s\"; nearest: %s", name, value, scenario_choice_nearest(e, (const char *)value));
            xmlFree(value);
        } else if (known) {
            xmlChar *value = xmlGetNoNsProp((xmlNode *)n, a->name);
            if (!scenario_attr_valid(known, (const char *)value, err, sizeof err))
                scenario_xml_error(x, n, name, "%s %s: %s", e->name, name, err);
            xmlFree(value);
        } else if (a->ns || !takes(e, table, name)) {
            const char *near = scenario_attr_nearest(e, table, name, buf, sizeof buf);
            if (near)
                scenario_xml_error(x, n, name, "<%s> has no attribute \"%s\"; nearest: %s", e->name, name, near);
            else
                scenario_xml_error(x, n, name, "<%s> takes no attribute; found \"%s\"", e->name, name);
        }
    }
    for (size_t i = 0; i < SCENARIO_ATTR_MAX && e->attrs[i].name; i++)
        if (e->attrs[i].required && !xmlHasProp((xmlNode *)n, BAD_CAST e->attrs[i].name))
            scenario_xml_error(x, n, NULL, "<%s> needs the attribute \"%s\" (%s)", e->name, e->attrs[i].name, e->attrs[i].meaning);
}

static void check_children(const struct scenario_xml *x, const xmlNode *n, const struct scenario_element *e);

static void check_child(const struct scenario_xml *x, const xmlNode *c, const struct scenario_element *e)
{
    const char *name = (const char *)c->name;
    const struct scenario_element *child = c->ns ? NULL : scenario_element_find(e->name, name);
    if (!child) {
        const char *near = scenario_element_nearest(e->name, name);
        if (c->ns)
            scenario_xml_error(x, c, NULL, "<%s> of namespace \"%s\" is not known here", name, c->ns->href);
        else if (near)
            scenario_xml_error(x, c, NULL, "<%s> is not known in <%s>; nearest: <%s>", name, e->name, near);
        else
            scenario_xml_error(x, c, NULL, "<%s> holds no elements; found <%s>", e->name, name);
        return;
    }
    check_attributes(x, c, child);
    check_children(x, c, child);
}

static void check_occurrence(const struct scenario_xml *x, const xmlNode *n, const struct scenario_element *parent, const struct scenario_element *child)
{
    const xmlNode *second = NULL;
    int count = 0;
    for (const xmlNode *c = n->children; c; c = c->next)
        if (c->type == XML_ELEMENT_NODE && !c->ns && xmlStrcmp(c->name, BAD_CAST child->name) == 0 && ++count == 2)
            second = c;
    bool needed = child->occurs == OCCURS_ONCE || child->occurs == OCCURS_SOME, single = child->occurs == OCCURS_ONCE || child->occurs == OCCURS_AT_MOST_ONCE;
    if (needed && count == 0)
        scenario_xml_error(x, n, NULL, "<%s> needs a <%s> (%s)", parent->name, child->name, child->meaning);
    if (single && second)
        scenario_xml_error(x, second, NULL, "a second <%s>: <%s> takes one", child->name, parent->name);
}

static void check_children(const struct scenario_xml *x, const xmlNode *n, const struct scenario_element *e)
{
    for (const xmlNode *c = n->children; c; c = c->next) {
        if (c->type == XML_ELEMENT_NODE)
            check_child(x, c, e);
        else if (c->type == XML_TEXT_NODE && !e->text && !blank_text(c))
            scenario_xml_error(x, n, NULL, "<%s> holds no text; found \"%.20s\"", e->name, (const char *)c->content + strspn((const char *)c->content, " \t\r\n"));
        else if (c->type == XML_ENTITY_REF_NODE)
            scenario_xml_error(x, n, NULL, "entity references are not accepted: &%s;", c->name);
    }
    for (size_t i = 0; i < scenario_element_count; i++)
        if (strcmp(scenario_elements[i].parent, e->name) == 0)
            check_occurrence(x, n, e, &scenario_elements[i]);
}

bool scenario_words_check(const struct scenario_xml *x)
{
    const xmlNode *root = xmlDocGetRootElement(x->doc);
    const struct scenario_element *e = scenario_element_find("", "scenario");
    if (root->ns || xmlStrcmp(root->name, BAD_CAST e->name) != 0) {
        scenario_xml_error(x, root, NULL, "the root element is <%s>; a scenario file begins with <scenario>", root->name);
        return false;
    }
    check_attributes(x, root, e);
    check_children(x, root, e);
    return x->errors->count == 0;
}
