/* SPDX-License-Identifier: GPL-2.0-only */
#include "describe.h"

#include <stdlib.h>
#include <string.h>

#include "../model/cc/cc.h"
#include "../model/fabric/switch_params.h"
#include "../model/fabric/switch_profiles.h"
#include "../model/host/host_params.h"
#include "scenario.h"
#include "scenario_elements.h"
#include "scenario_schema.h"

static const char *const occurs_text[] = { "once", "at most once", "once or more", "any number" };

/* --- values as people read them --- */

static void put_range(FILE *f, const struct param *p)
{
    char low[64], high[64];
    if (p->kind == PARAM_ENUM) {
        for (const char *c = p->names; *c; c++)
            fputs(*c == '|' ? ", " : (char[]){ *c, 0 }, f);
        return;
    }
    if (p->kind == PARAM_BOOL) {
        fputs("yes, no", f);
        return;
    }
    fprintf(f, "%s to %s", param_format_value(p->kind, p->names, p->low, low, sizeof low),
            param_format_value(p->kind, p->names, p->high, high, sizeof high));
}

/* Names in a "a|b" list. */
static const char *next_word(const char *words, char *out, size_t len)
{
    size_t n = strcspn(words, "|");
    snprintf(out, len, "%.*s", (int)n, words);
    return words + n + (words[n] == '|');
}

static void put_param(FILE *f, const char *path, const struct param *p)
{
    char name[64], def[64];
    fprintf(f, "%s.%s\n    %s\n    kind %s; default %s; range ", path, param_public_name(p, name, sizeof name), p->meaning,
            scenario_kind_name(p->kind), param_format_value(p->kind, p->names, p->def, def, sizeof def));
    put_range(f, p);
    fprintf(f, "\n    from: %s\n", p->source);
}

/* The value that a profile gives a row, if it differs from the default. */
static bool profile_differs(const struct param_table *t, const char *profile, const struct param *p, char *buf, size_t len)
{
    char def[64];
    void *values = calloc(1, t->struct_bytes);
    if (!values)
        abort();
    bool known = scenario_profile_apply(t, profile, values);
    if (known)
        param_format(p, values, buf, len);
    free(values);
    return known && strcmp(buf, param_format_value(p->kind, p->names, p->def, def, sizeof def)) != 0;
}

static bool profile_about(const struct param_table *table, const char *profile, char *buf, size_t len)
{
    const struct host_profile *host = table == &host_params_table ? host_profile_find(profile) : NULL;
    const struct switch_profile *sw = table == &switch_params_table ? switch_profile_find(profile) : NULL;
    bool cc = false;
    for (size_t i = 0; cc_registry[i]; i++)
        for (const struct cc_preset *p = cc_registry[i]->params == table ? cc_registry[i]->presets : NULL; p && p->name; p++)
            if (strcmp(p->name, profile) == 0) {
                snprintf(buf, len, "%s", p->about);
                cc = true;
            }
    if (host)
        snprintf(buf, len, "%s", host->about);
    if (sw)
        snprintf(buf, len, "%s; %s", sw->about, sw->source);
    return host || sw || cc;
}

/* table: of the element, or of the choice that the profiles are of. */
static void put_profiles(FILE *f, const struct scenario_element *e, const struct param_table *table)
{
    char words[300], word[64], value[64], name[64], about[600];
    scenario_profile_words(e, table, words, sizeof words);
    for (const char *w = words; *w;) {
        w = next_word(w, word, sizeof word);
        fprintf(f, "profile %s:", word);
        for (size_t i = 0; i < table->count; i++)
            if (profile_differs(table, word, &table->rows[i], value, sizeof value))
                fprintf(f, " %s=%s", param_public_name(&table->rows[i], name, sizeof name), value);
        fputc('\n', f);
        if (profile_about(table, word, about, sizeof about))
            fprintf(f, "    %s\n", about);
    }
}

/* Whether an element before it has the same parameters: they are shown once. */
static bool repeats(const struct scenario_element *e)
{
    for (const struct scenario_element *b = scenario_elements; e->table && b < e; b++)
        if (b->table == e->table)
            return true;
    return false;
}

static void put_table(FILE *f, const struct scenario_element *e, const char *path, const struct param_table *t)
{
    for (size_t i = 0; t && i < t->count; i++)
        if (scenario_element_takes(e, &t->rows[i]))
            put_param(f, path, &t->rows[i]);
}

static void put_element(FILE *f, const struct scenario_element *e)
{
    struct scenario_choice c;
    fprintf(f, "<%s>%s%s%s (%s): %s\n", e->name, *e->parent ? " in <" : "", e->parent, *e->parent ? ">" : "", occurs_text[e->occurs], e->meaning);
    for (size_t i = 0; i < SCENARIO_ATTR_MAX && e->attrs[i].name; i++)
        fprintf(f, "%s=\"...\"%s\n    %s%s%s\n", e->attrs[i].name, e->attrs[i].required ? " (required)" : "", e->attrs[i].meaning,
                e->attrs[i].words ? ": " : "", e->attrs[i].words ? e->attrs[i].words : "");
    if (!repeats(e))
        put_table(f, e, e->name, e->table);
    put_profiles(f, e, e->table);
    for (size_t i = 0; e->chosen_by && scenario_choice_at(e, i, &c); i++) {
        fprintf(f, "\n%s=\"%s\"%s%s\n", e->chosen_by, c.word, c.about ? ": " : "", c.about ? c.about : "");
        put_table(f, e, e->name, c.table);
        if (c.cc)
            put_profiles(f, e, c.table);
    }
}

/* An element and, below it, its children: what `describe transport` wants. */
static void put_family(FILE *f, const struct scenario_element *e)
{
    put_element(f, e);
    for (size_t i = 0; i < scenario_element_count; i++)
        if (strcmp(scenario_elements[i].parent, e->name) == 0 && strcmp(e->name, "scenario") != 0) {
            fputc('\n', f);
            put_element(f, &scenario_elements[i]);
        }
}

void describe_overview(FILE *f)
{
    fputs("A scenario file is made of these elements. rnicsim describe NAME says more of an element, a parameter or a word.\n\n", f);
    for (size_t i = 0; i < scenario_element_count; i++) {
        const struct scenario_element *e = &scenario_elements[i];
        int depth = !*e->parent ? 0 : strcmp(e->parent, "scenario") == 0 ? 1 : 2;
        char tag[64];
        snprintf(tag, sizeof tag, "%*s<%s>", 2 * depth, "", e->name);
        fprintf(f, "%-18s %s\n", tag, e->meaning);
    }
    fputs("\nkinds of transport: iwarp, roce, tcp\nkinds of workload:", f);
    struct scenario_choice c;
    const struct scenario_element *w = scenario_element_find("scenario", "workload"), *cc = scenario_element_find("transport", "cc");
    for (size_t i = 0; scenario_choice_at(w, i, &c); i++)
        fprintf(f, "%s %s", i ? "," : "", c.word);
    fputs("\ncongestion control:", f);
    for (size_t i = 0; scenario_choice_at(cc, i, &c); i++)
        fprintf(f, "%s %s", i ? "," : "", c.word);
    fputc('\n', f);
}

/* --- finding --- */

struct search { FILE *f; const char *name; char *nearest; size_t len; unsigned least; int found; };

static bool hit(struct search *s, const char *candidate)
{
    unsigned d = param_edit_distance(s->name, candidate);
    if (d < s->least) {
        s->least = d;
        snprintf(s->nearest, s->len, "%s", candidate);
    }
    return d == 0;
}

static void search_table(struct search *s, const struct scenario_element *e, const struct param_table *t)
{
    char name[64], path[128];
    for (size_t i = 0; t && i < t->count; i++) {
        if (!scenario_element_takes(e, &t->rows[i]))
            continue;
        param_public_name(&t->rows[i], name, sizeof name);
        snprintf(path, sizeof path, "%s.%s", e->name, name);
        bool plain = hit(s, name), full = hit(s, path);
        if (!plain && !full)
            continue;
        snprintf(path, sizeof path, "%s%s%s", *e->parent && strcmp(e->parent, "scenario") != 0 ? e->parent : "",
                 *e->parent && strcmp(e->parent, "scenario") != 0 ? "." : "", e->name);
        put_param(s->f, path, &t->rows[i]);
        s->found++;
    }
}

static void search_element(struct search *s, const struct scenario_element *e)
{
    struct scenario_choice c;
    if (!repeats(e))
        search_table(s, e, e->table);
    for (size_t i = 0; e->chosen_by && scenario_choice_at(e, i, &c); i++) {
        search_table(s, e, c.table);
        if (!hit(s, c.word))
            continue;
        fprintf(s->f, "<%s %s=\"%s\">%s%s\n", e->name, e->chosen_by, c.word, c.about ? ": " : "", c.about ? c.about : "");
        put_table(s->f, e, e->name, c.table);
        if (c.cc)
            put_profiles(s->f, e, c.table);
        s->found++;
    }
    const struct scenario_attr *a = scenario_attr_find(e, "profile");
    char word[64];
    bool profile = false;
    for (const char *w = a && a->words ? a->words : ""; *w;) {
        w = next_word(w, word, sizeof word);
        profile |= hit(s, word);
    }
    if (profile) {
        fprintf(s->f, "<%s profile=\"%s\"> and its kin\n", e->name, s->name);
        put_profiles(s->f, e, e->table);
        s->found++;
    }
}

bool describe_name(FILE *f, const char *name, char *nearest, size_t len)
{
    struct search s = { f, name, nearest, len, ~0u, 0 };
    for (size_t i = 0; i < scenario_element_count; i++)
        if (hit(&s, scenario_elements[i].name)) {
            if (s.found++)
                fputc('\n', f);
            put_family(f, &scenario_elements[i]);
        }
    for (size_t i = 0, elements = (size_t)s.found; !elements && i < scenario_element_count; i++)
        search_element(&s, &scenario_elements[i]);
    return s.found > 0;
}

/* --- the reference page --- */

static void md_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '|' || *s == '<' || *s == '*' || *s == '_')
            fputc('\\', f);
        fputc(*s, f);
    }
}

static void md_table(FILE *f, const struct scenario_element *e, const struct param_table *t)
{
    char name[64], def[64];
    if (!t || !t->count)
        return;
    fputs("\n| parameter | kind | default | range | meaning | from |\n|---|---|---|---|---|---|\n", f);
    for (size_t i = 0; i < t->count; i++) {
        const struct param *p = &t->rows[i];
        if (!scenario_element_takes(e, p))
            continue;
        fprintf(f, "| `%s` | %s | %s | ", param_public_name(p, name, sizeof name), scenario_kind_name(p->kind),
                param_format_value(p->kind, p->names, p->def, def, sizeof def));
        put_range(f, p);
        fputs(" | ", f);
        md_text(f, p->meaning);
        fputs(" | ", f);
        md_text(f, p->source);
        fputs(" |\n", f);
    }
}

static void md_profiles(FILE *f, const struct scenario_element *e, const struct param_table *table)
{
    char words[300], word[64], value[64], name[64], about[600];
    scenario_profile_words(e, table, words, sizeof words);
    for (const char *w = words; *w;) {
        w = next_word(w, word, sizeof word);
        fprintf(f, "\nProfile `%s`", word);
        if (profile_about(table, word, about, sizeof about)) {
            fputs(" (", f);
            md_text(f, about);
            fputs(")", f);
        }
        fputs(":", f);
        int n = 0;
        for (size_t i = 0; i < table->count; i++)
            if (profile_differs(table, word, &table->rows[i], value, sizeof value))
                fprintf(f, "%s `%s` %s", n++ ? "," : "", param_public_name(&table->rows[i], name, sizeof name), value);
        fputs(n ? ".\n" : " the defaults.\n", f);
    }
}

void describe_markdown(FILE *f)
{
    struct scenario_choice c;
    fputs("# Parameters of scenario files\n\nGenerated from the declarations by `rnicsim describe --markdown`; do not edit. Each parameter is an attribute\n"
          "of its element, and a path for `--set`: `roce.mtu=4096B`, `fabric.routed.loss=1e-4`. Which elements stand where, and examples:\n"
          "scenario.md.\n", f);
    for (size_t i = 0; i < scenario_element_count; i++) {
        const struct scenario_element *e = &scenario_elements[i];
        fprintf(f, "\n## `<%s>`%s%s%s\n\n", e->name, *e->parent ? " in `<" : "", e->parent, *e->parent ? ">`" : "");
        md_text(f, e->meaning);
        fprintf(f, " (%s).\n", occurs_text[e->occurs]);
        if (e->attrs[0].name)
            fputc('\n', f);
        for (size_t k = 0; k < SCENARIO_ATTR_MAX && e->attrs[k].name; k++) {
            fprintf(f, "- `%s`%s: ", e->attrs[k].name, e->attrs[k].required ? " (required)" : "");
            md_text(f, e->attrs[k].meaning);
            if (e->attrs[k].words)
                fprintf(f, " (`%s`)", e->attrs[k].words);
            fputc('\n', f);
        }
        if (!repeats(e))
            md_table(f, e, e->table);
        md_profiles(f, e, e->table);
        for (size_t k = 0; e->chosen_by && scenario_choice_at(e, k, &c); k++) {
            fprintf(f, "\n### `%s=\"%s\"`\n\n", e->chosen_by, c.word);
            if (c.about)
                fprintf(f, "%s.\n", c.about);
            if (!c.table)
                fputs("No parameters.\n", f);
            md_table(f, e, c.table);
            if (c.cc)
                md_profiles(f, e, c.table);
        }
    }
}
