/* SPDX-License-Identifier: GPL-2.0-only */
/* --set NAME=VALUE and the overrides of a size. NAME is a path to a parameter:
 *
 *      measure.duration             an element that belongs to none
 *      roce.mtu                     in every transport that has a <roce>
 *      fabric.loss                  in every fabric
 *      fabric.routed.loss           in the fabric "routed", whichever of its elements has a `loss`
 *      routed.switch.buffer         the same for a named one's element
 *      transport.iwarp.tcp.rto-min
 *
 *  and words that are not parameters: compare.loads, measure.seeds, expect.failures, expect.lossless-drops, and of a transport cc (its
 *  algorithm), host.profile, tcp.profile, switch.profile and cc.profile. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/cc/cc.h"
#include "scenario_internal.h"

#define PARTS_MAX 4

struct path { char text[160]; char *part[PARTS_MAX]; int n; const char *value; };

/* Whom a path names: any field NULL matches all. */
struct scope { const char *owner, *owner_name, *element; };

static const char *const owners[] = { "fabric", "transport", "workload" };

static bool split(struct path *p, const char *text)
{
    const char *eq = strchr(text, '=');
    if (!eq || eq == text || (size_t)(eq - text) >= sizeof p->text)
        return false;
    snprintf(p->text, sizeof p->text, "%.*s", (int)(eq - text), text);
    p->value = eq + 1;
    p->n = 0;
    for (char *s = p->text; s; ) {
        if (p->n == PARTS_MAX)
            return false;
        p->part[p->n++] = s;
        s = strchr(s, '.');
        if (s)
            *s++ = '\0';
    }
    for (int i = 0; i < p->n; i++)
        if (!*p->part[i])
            return false;
    return p->n >= 2;
}

static bool is_owner(const char *word)
{
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        if (strcmp(owners[i], word) == 0)
            return true;
    return false;
}

static bool matches(const struct scope *s, const struct scenario_params *p)
{
    return (!s->owner || strcmp(s->owner, p->owner) == 0) && (!s->owner_name || strcmp(s->owner_name, p->owner_name) == 0) &&
           (!s->element || strcmp(s->element, p->element) == 0);
}

static bool any_matches(const struct scenario *sc, const struct scope *s)
{
    for (size_t i = 0; i < sc->nparams; i++)
        if (matches(s, sc->params[i]))
            return true;
    return false;
}

/* The readings of all parts but the last, in order of preference; returns how many. */
static int scopes_of(const struct scenario *sc, const struct path *p, struct scope out[4])
{
    struct scope tries[4];
    int ntries = 0, n = 0, k = p->n - 1;
    const char *a = p->part[0], *b = k > 1 ? p->part[1] : NULL, *c = k > 2 ? p->part[2] : NULL;
    if (is_owner(a) && !b)
        tries[ntries++] = (struct scope){ a, NULL, NULL };
    if (is_owner(a) && b) {
        tries[ntries++] = (struct scope){ a, b, c };
        if (!c)
            tries[ntries++] = (struct scope){ a, NULL, b };
    }
    if (!b)
        tries[ntries++] = (struct scope){ NULL, NULL, a };
    if (!c && !is_owner(a))
        tries[ntries++] = (struct scope){ NULL, a, b };
    for (int i = 0; i < ntries; i++)
        if (any_matches(sc, &tries[i]))
            out[n++] = tries[i];
    return n;
}

/* A parameter that its element does not take (a fabric's link rate) is not settable either. */
static const struct param *row_of(const struct scenario_params *p, const char *name)
{
    const struct param *row = param_find(p->table, name);
    const struct scenario_element *e = scenario_element_find(strcmp(p->element, p->owner) == 0 || !*p->owner ? "scenario" : p->owner, p->element);
    return row && e && !scenario_element_takes(e, row) ? NULL : row;
}

/* 1: set; 0: nothing there has the parameter; -1: an error was written. */
static int set_in_scope(struct scenario *sc, const struct scope *s, const struct path *p, const char *shown, struct scenario_errors *e,
                        const char *file, int line)
{
    char err[400];
    int found = 0;
    const char *name = p->part[p->n - 1];
    for (size_t i = 0; i < sc->nparams; i++) {
        struct scenario_params *q = sc->params[i];
        const struct param *row = matches(s, q) ? row_of(q, name) : NULL;
        if (!row)
            continue;
        if (param_set(row, q->values, p->value, err, sizeof err) != SIM_OK) {
            scenario_error(e, file, line, "%s: %s", shown, err);
            return -1;
        }
        q->given |= UINT64_C(1) << (row - q->table->rows);
        found = 1;
    }
    return found;
}

/* --- words --- */

static double *parse_loads(struct scenario *sc, const char *text, size_t *n)
{
    char item[64], err[8];
    double *loads = NULL, v;
    int used;
    for (*n = 0; sscanf(text, "%63s%n", item, &used) == 1; text += used) {
        param_parse(PARAM_FRACTION, NULL, item, &v, err, sizeof err);
        loads = scenario_memory_grow(sc->memory, loads, *n, sizeof *loads);
        loads[(*n)++] = v;
    }
    return loads;
}

static uint64_t *parse_seeds(struct scenario *sc, const char *text, size_t *n)
{
    uint64_t *seeds = NULL;
    char *end;
    for (*n = 0;; text = end) {
        while (isspace((unsigned char)*text))
            text++;
        uint64_t v = strtoull(text, &end, 10);
        if (end == text)
            return seeds;
        seeds = scenario_memory_grow(sc->memory, seeds, *n, sizeof *seeds);
        seeds[(*n)++] = v;
    }
}

void scenario_set_loads(struct scenario *sc, const char *text) { sc->loads = parse_loads(sc, text, &sc->nloads); }
void scenario_set_seeds(struct scenario *sc, const char *text) { sc->seeds = parse_seeds(sc, text, &sc->nseeds); }

static bool set_cc(struct scenario *sc, const struct path *p, const struct scope *s, const char *shown, struct scenario_errors *e, const char *file, int line)
{
    const struct cc_ops *ops = cc_find(p->value);
    static const struct param_table none = { "none", NULL, 0, 1 };
    if (!ops) {
        scenario_error(e, file, line, "%s: there is no congestion control \"%s\"; nearest: %s", shown, p->value,
                       scenario_choice_nearest(scenario_element_find("transport", "cc"), p->value));
        return false;
    }
    struct scope cc = { s->owner, s->owner_name, "cc" };
    for (size_t i = 0; i < sc->nparams; i++) {
        struct scenario_params *q = sc->params[i];
        if (!matches(&cc, q))
            continue;
        q->table = ops->params ? ops->params : &none;
        q->values = scenario_memory_get(sc->memory, 1, q->table->struct_bytes);
        q->given = 0;
        q->profile = NULL;
        param_defaults(q->table, q->values);
        for (uint32_t t = 0; t < sc->ntransports; t++)
            if (strcmp(sc->transports[t].name, q->owner_name) == 0) {
                sc->transports[t].cc = ops;
                sc->transports[t].cc_params = q->values;
            }
    }
    return true;
}

/* Rows that were given keep their values. */
static bool set_profile(struct scenario *sc, const struct path *p, const struct scope *s, const char *shown, struct scenario_errors *e, const char *file, int line)
{
    bool found = false;
    for (size_t i = 0; i < sc->nparams; i++) {
        struct scenario_params *q = sc->params[i];
        const struct scenario_element *owned = matches(s, q) ? scenario_element_find(q->owner, q->element) : NULL;
        const struct scenario_attr *a = owned ? scenario_attr_find(owned, "profile") : NULL;
        if (!a)
            continue;
        void *fresh = scenario_memory_get(sc->memory, 1, q->table->struct_bytes);
        if (!scenario_profile_apply(q->table, p->value, fresh)) {
            char words[300];
            scenario_profile_words(owned, q->table, words, sizeof words);
            scenario_error(e, file, line, "%s: \"%s\" is none of %s", shown, p->value, *words ? words : "this algorithm's, which has none");
            return false;
        }
        for (size_t k = 0; k < q->table->count; k++)
            if (!(q->given >> k & 1))
                memcpy((char *)q->values + q->table->rows[k].offset, (char *)fresh + q->table->rows[k].offset, 8);
        q->profile = scenario_memory_text(sc->memory, p->value);
        found = true;
    }
    if (!found)
        scenario_error(e, file, line, "%s: only host, tcp, switch and cc have a profile", shown);
    return found;
}

/* 1: was a word and is set, 0: no word, -1: error written. */
static int set_word(struct scenario *sc, const struct path *p, const char *shown, struct scenario_errors *e, const char *file, int line)
{
    static const struct { const char *element, *attr; } words[] = { { "compare", "loads" }, { "measure", "seeds" }, { "expect", "failures" }, { "expect", "lossless-drops" } };
    char err[300];
    const char *last = p->part[p->n - 1];
    for (size_t i = 0; p->n == 2 && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(p->part[0], words[i].element) != 0 || strcmp(last, words[i].attr) != 0)
            continue;
        const struct scenario_attr *a = scenario_attr_find(scenario_element_find("scenario", words[i].element), words[i].attr);
        if (!scenario_attr_valid(a, p->value, err, sizeof err)) {
            scenario_error(e, file, line, "%s: %s", shown, err);
            return -1;
        }
        if (i == 0)
            scenario_set_loads(sc, p->value);
        else if (i == 1)
            scenario_set_seeds(sc, p->value);
        else
            *(i == 2 ? &sc->expect_failures : &sc->expect_lossless_drops) = strcmp(p->value, "yes") == 0;
        return 1;
    }
    bool cc = strcmp(last, "cc") == 0 || (strcmp(last, "algorithm") == 0 && strcmp(p->part[p->n - 2], "cc") == 0), profile = strcmp(last, "profile") == 0;
    if (!cc && !profile)
        return 0;
    struct scope scopes[4];
    int n = scopes_of(sc, p, scopes);
    for (int i = 0; i < n; i++) {
        const char *element = scopes[i].element;
        bool fits = cc ? !element || strcmp(element, "cc") == 0 : element && (strcmp(element, "host") == 0 || strcmp(element, "tcp") == 0 || strcmp(element, "switch") == 0 || strcmp(element, "cc") == 0);
        const char *owner = element && strcmp(element, "switch") == 0 ? "fabric" : "transport";
        if (fits && (!scopes[i].owner || strcmp(scopes[i].owner, owner) == 0))
            return (cc ? set_cc : set_profile)(sc, p, &scopes[i], shown, e, file, line) ? 1 : -1;
    }
    return 0;
}

/* --- messages --- */

static void consider(const char *wanted, const char *candidate, unsigned *least, char *best, size_t len)
{
    unsigned d = param_edit_distance(wanted, candidate);
    if (d < *least) {
        *least = d;
        snprintf(best, len, "%s", candidate);
    }
}

/* The nearest of all names that would have been accepted, in the forms that people write. */
static void nearest_name(const struct scenario *sc, const char *wanted, char *best, size_t len)
{
    unsigned least = ~0u;
    char name[64], candidate[260];
    consider(wanted, "compare.loads", &least, best, len);
    consider(wanted, "measure.seeds", &least, best, len);
    consider(wanted, "expect.failures", &least, best, len);
    consider(wanted, "expect.lossless-drops", &least, best, len);
    for (size_t i = 0; i < sc->nparams; i++) {
        const struct scenario_params *p = sc->params[i];
        for (size_t k = 0; k < p->table->count; k++) {
            if (!row_of(p, param_public_name(&p->table->rows[k], name, sizeof name)))
                continue;
            snprintf(candidate, sizeof candidate, "%s.%s", p->element, name);
            consider(wanted, candidate, &least, best, len);
            if (!*p->owner)
                continue;
            snprintf(candidate, sizeof candidate, "%s.%s.%s", p->owner, p->owner_name, name);
            consider(wanted, candidate, &least, best, len);
            snprintf(candidate, sizeof candidate, "%s.%s.%s.%s", p->owner, p->owner_name, p->element, name);
            consider(wanted, candidate, &least, best, len);
        }
    }
}

bool scenario_set(struct scenario *sc, const char *text, const char *file, int line, struct scenario_errors *e)
{
    struct path p;
    struct scope scopes[4];
    char shown[200], best[260] = "";
    if (!split(&p, text)) {
        scenario_error(e, file, line, "%s\"%.100s\" is not NAME=VALUE with a NAME such as roce.mtu, fabric.routed.loss or measure.duration",
                       file ? "" : "--set ", text);
        return false;
    }
    snprintf(shown, sizeof shown, "%s%.*s", file ? "set " : "--set ", (int)(p.value - 1 - text), text);
    int done = set_word(sc, &p, shown, e, file, line);
    int n = done ? 0 : scopes_of(sc, &p, scopes);
    for (int i = 0; i < n && !done; i++)
        done = set_in_scope(sc, &scopes[i], &p, shown, e, file, line);
    if (done == 0) {
        char wanted[160];
        snprintf(wanted, sizeof wanted, "%.*s", (int)(p.value - 1 - text), text);
        nearest_name(sc, wanted, best, sizeof best);
        scenario_error(e, file, line, "%s: there is no such parameter in this scenario; nearest: %s", shown, best);
    }
    return done > 0;
}
