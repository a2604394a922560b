/* SPDX-License-Identifier: GPL-2.0-only */
/* The RelaxNG schema, made from scenario_elements and the parameter tables; and validation against it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/relaxng.h>

#include "scenario_internal.h"
#include "scenario_schema.h"

/* Exact ranges and spellings are param_set's business, which says more when they are wrong; the schema holds the shape, for
 * editors and for other tools. */
static const char *kind_pattern(enum param_kind kind)
{
#define NUM "[+\\-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+\\-]?[0-9]+)?"
    switch (kind) {
    case PARAM_TIME:     return "\\s*(never|[+\\-]?0+([.]0*)?|" NUM " *(ps|ns|us|\302\265s|\316\274s|ms|s))\\s*";
    case PARAM_RATE:     return "\\s*([+\\-]?0+([.]0*)?|" NUM " *[kKmMgGtT]?b(ps|/s|it/s))\\s*";
    case PARAM_BYTES:    return "\\s*([+\\-]?0+([.]0*)?|" NUM " *([GMKk]iB|[TGMkK]?B|kb))\\s*";
    case PARAM_LENGTH:   return "\\s*([+\\-]?0+([.]0*)?|" NUM " *(km|m|cm|mm))\\s*";
    case PARAM_COUNT:    return "\\s*" NUM "\\s*";
    case PARAM_FRACTION: return "\\s*" NUM " *%?\\s*";
    case PARAM_NUMBER:   return "\\s*" NUM "\\s*";
    case PARAM_BOOL:     return "\\s*([yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\\s*";
    default:             return NULL;
    }
#undef NUM
}

static void put_escaped(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            fputs("&lt;", f);
        else if (*s == '>')
            fputs("&gt;", f);
        else if (*s == '&')
            fputs("&amp;", f);
        else
            fputc(*s, f);
    }
}

static void put_words(FILE *f, const char *words, int indent)
{
    fprintf(f, "%*s<choice>\n", indent, "");
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, "|");
        fprintf(f, "%*s<value>%.*s</value>\n", indent + 2, "", (int)n, w);
        w += n + (w[n] == '|');
    }
    fprintf(f, "%*s</choice>\n", indent, "");
}

static void put_doc(FILE *f, const char *text, int indent)
{
    fprintf(f, "%*s<a:documentation>", indent, "");
    put_escaped(f, text);
    fputs("</a:documentation>\n", f);
}

static void put_param(FILE *f, const struct param *p, int indent)
{
    char name[64], def[64], doc[600];
    param_public_name(p, name, sizeof name);
    param_format_value(p->kind, p->names, p->def, def, sizeof def);
    snprintf(doc, sizeof doc, "%s; default %s", p->meaning, def);
    fprintf(f, "%*s<optional>\n%*s<attribute name=\"%s\">\n", indent, "", indent + 2, "", name);
    put_doc(f, doc, indent + 4);
    if (p->kind == PARAM_ENUM)
        put_words(f, p->names, indent + 4);
    else
        fprintf(f, "%*s<ref name=\"%s\"/>\n", indent + 4, "", scenario_kind_name(p->kind));
    fprintf(f, "%*s</attribute>\n%*s</optional>\n", indent + 2, "", indent, "");
}

static void put_table(FILE *f, const struct scenario_element *e, const struct param_table *t, int indent)
{
    for (size_t i = 0; t && i < t->count; i++)
        if (scenario_element_takes(e, &t->rows[i]))
            put_param(f, &t->rows[i], indent);
}

static void put_attr(FILE *f, const struct scenario_attr *a, int indent)
{
    int in = indent;
    if (!a->required) {
        fprintf(f, "%*s<optional>\n", indent, "");
        in += 2;
    }
    fprintf(f, "%*s<attribute name=\"%s\">\n", in, "", a->name);
    put_doc(f, a->meaning, in + 2);
    switch (a->form) {
    case ATTR_WORD:   put_words(f, a->words, in + 2); break;
    case ATTR_TEXT:   fprintf(f, "%*s<text/>\n", in + 2, ""); break;
    case ATTR_NAME:   fprintf(f, "%*s<ref name=\"name\"/>\n", in + 2, ""); break;
    case ATTR_LOADS:  fprintf(f, "%*s<list><oneOrMore><ref name=\"fraction\"/></oneOrMore></list>\n", in + 2, ""); break;
    case ATTR_COUNTS: fprintf(f, "%*s<list><oneOrMore><ref name=\"count\"/></oneOrMore></list>\n", in + 2, ""); break;
    }
    fprintf(f, "%*s</attribute>\n", in, "");
    if (!a->required)
        fprintf(f, "%*s</optional>\n", indent, "");
}

static void put_ref(FILE *f, const struct scenario_element *e, int indent)
{
    static const char *const wrap[] = { NULL, "optional", "oneOrMore", "zeroOrMore" };
    const char *w = wrap[e->occurs];
    char ref[80];
    snprintf(ref, sizeof ref, "<ref name=\"%s%s%s\"/>", e->parent, *e->parent ? "." : "", e->name);
    if (w)
        fprintf(f, "%*s<%s>%s</%s>\n", indent, "", w, ref, w);
    else
        fprintf(f, "%*s%s\n", indent, "", ref);
}

/* The attribute that picks a table and the table's parameters, one alternative a word. */
static void put_choices(FILE *f, const struct scenario_element *e, int indent)
{
    struct scenario_choice c;
    fprintf(f, "%*s<choice>\n", indent, "");
    for (size_t i = 0; scenario_choice_at(e, i, &c); i++) {
        fprintf(f, "%*s<group>\n", indent + 2, "");
        fprintf(f, "%*s<attribute name=\"%s\"><value>%s</value></attribute>\n", indent + 4, "", e->chosen_by, c.word);
        put_table(f, e, c.table, indent + 4);
        fprintf(f, "%*s</group>\n", indent + 2, "");
    }
    fprintf(f, "%*s</choice>\n", indent, "");
}

static void put_element(FILE *f, const struct scenario_element *e)
{
    fprintf(f, "\n  <define name=\"%s%s%s\">\n    <element name=\"%s\">\n", e->parent, *e->parent ? "." : "", e->name, e->name);
    put_doc(f, e->meaning, 6);
    for (size_t i = 0; i < SCENARIO_ATTR_MAX && e->attrs[i].name; i++)
        if (!e->chosen_by || strcmp(e->attrs[i].name, e->chosen_by) != 0)
            put_attr(f, &e->attrs[i], 6);
    if (e->chosen_by)
        put_choices(f, e, 6);
    put_table(f, e, e->table, 6);
    bool children = false;
    for (size_t i = 0; i < scenario_element_count; i++)
        if (strcmp(scenario_elements[i].parent, e->name) == 0) {
            if (!children)
                fputs("      <interleave>\n", f);
            children = true;
            put_ref(f, &scenario_elements[i], 8);
        }
    if (children)
        fputs("      </interleave>\n", f);
    else if (e->text)
        fputs("      <text/>\n", f);
    else
        fputs("      <empty/>\n", f);
    fputs("    </element>\n  </define>\n", f);
}

void scenario_schema_write(FILE *f)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n"
          "<!-- Generated from the parameter declarations by `rnicsim describe -schema` (two dashes); do not edit. -->\n"
          "<grammar xmlns=\"http://relaxng.org/ns/structure/1.0\" xmlns:a=\"http://relaxng.org/ns/compatibility/annotations/1.0\"\n"
          "         datatypeLibrary=\"http://www.w3.org/2001/XMLSchema-datatypes\">\n"
          "  <start>\n    <choice>\n      <ref name=\"scenario\"/>\n      <ref name=\"scenario.cdf\"/>\n    </choice>\n  </start>\n\n", f);
    fprintf(f, "  <define name=\"name\"><data type=\"string\"><param name=\"pattern\">[A-Za-z0-9_\\-]{1,%d}</param></data></define>\n",
            SCENARIO_NAME_MAX - 1);
    for (int k = PARAM_TIME; k <= PARAM_NUMBER; k++) {
        const char *pattern = kind_pattern((enum param_kind)k);
        if (!pattern)
            continue;
        fprintf(f, "  <define name=\"%s\"><data type=\"string\"><param name=\"pattern\">%s</param></data></define>\n",
                scenario_kind_name((enum param_kind)k), pattern);
    }
    for (size_t i = 0; i < scenario_element_count; i++)
        put_element(f, &scenario_elements[i]);
    fputs("</grammar>\n", f);
}

const char *scenario_kind_name(enum param_kind kind)
{
    static const char *const names[] = { "time", "rate", "bytes", "count", "bool", "enum", "length", "fraction", "number" };
    return names[kind];
}

/* --- validation --- */

static void on_schema_error(void *ctx, xmlErrorPtr error)
{
    const struct scenario_xml *x = ctx;
    char message[400];
    if (x->errors->count)
        return;
    snprintf(message, sizeof message, "%s", error->message ? error->message : "does not match the schema");
    message[strcspn(message, "\n")] = '\0';
    const xmlNode *node = error->node;
    if (node && node->type == XML_ELEMENT_NODE)
        scenario_xml_error(x, node, NULL, "%s", message);
    else
        scenario_error(x->errors, error->file, error->line, "%s", message);
}

bool scenario_xml_validate(const struct scenario_xml *x)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        abort();
    scenario_schema_write(f);
    fclose(f);
    bool ok = false;
    xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewMemParserCtxt(text, (int)len);
    xmlRelaxNGPtr schema = parser ? xmlRelaxNGParse(parser) : NULL;
    xmlRelaxNGValidCtxtPtr valid = schema ? xmlRelaxNGNewValidCtxt(schema) : NULL;
    if (valid) {
        xmlRelaxNGSetValidStructuredErrors(valid, on_schema_error, (void *)x);
        ok = xmlRelaxNGValidateDoc(valid, x->doc) == 0;
        if (!ok && !x->errors->count)
            scenario_xml_error(x, xmlDocGetRootElement(x->doc), NULL, "does not match the schema");
    } else {
        scenario_xml_error(x, xmlDocGetRootElement(x->doc), NULL, "the built-in schema cannot be read");
    }
    xmlRelaxNGFreeValidCtxt(valid);
    xmlRelaxNGFree(schema);
    xmlRelaxNGFreeParserCtxt(parser);
    free(text);
    return ok;
}
