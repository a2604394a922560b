/* SPDX-License-Identifier: GPL-2.0-only */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#include "../model/fabric/switch_params.h"
#include "scenario_internal.h"

static bool apply_size(struct scenario *sc, const char *name, struct scenario_errors *e)
{
    char have[300] = "full";
    for (size_t i = 0; i < sc->nsizes; i++) {
        const struct scenario_size *s = &sc->sizes[i];
        if (strcmp(s->name, name) == 0) {
            for (size_t k = 0; k < s->nsets; k++)
                scenario_set(sc, s->sets[k].text, s->sets[k].file, s->sets[k].line, e);
            return e->count == 0;
        }
        size_t n = strlen(have);
        snprintf(have + n, sizeof have - n, ", %s", s->name);
    }
    if (strcmp(name, "full") == 0)
        return true;                            /* as written */
    scenario_error(e, sc->path, 0, "there is no size \"%s\"; the scenario has: %s", name, have);
    return false;
}

/* --seed and --reps go together: whatever the file lists, seeds then run upward from the first. */
static void apply_seeds(struct scenario *sc, const struct scenario_options *o, struct scenario_errors *e)
{
    char text[64];
    if (!o->has_seed && !o->reps)
        return;
    uint64_t first = o->has_seed ? o->seed : sc->nseeds ? sc->seeds[0] : (uint64_t)sc->measure->seed;
    uint64_t reps = o->reps ? o->reps : sc->nseeds ? sc->nseeds : (uint64_t)sc->measure->reps;
    sc->nseeds = 0;
    snprintf(text, sizeof text, "measure.seed=%llu", (unsigned long long)first);
    scenario_set(sc, text, NULL, 0, e);
    snprintf(text, sizeof text, "measure.reps=%llu", (unsigned long long)reps);
    scenario_set(sc, text, NULL, 0, e);
}

static bool build(struct scenario *sc, const struct scenario_xml *x, const struct scenario_options *o, struct scenario_errors *e)
{
    if (!scenario_words_check(x))
        return false;
    scenario_read(sc, x);
    if (e->count || !scenario_xml_validate(x))
        return false;
    if (o && o->size && !apply_size(sc, o->size, e))
        return false;
    if (o)
        apply_seeds(sc, o, e);
    for (size_t i = 0; o && i < o->nsets; i++)
        scenario_set(sc, o->sets[i], NULL, 0, e);
    return e->count == 0 && scenario_check(sc, e);
}

static struct scenario *load(const char *xml, size_t len, const char *name, const struct scenario_options *o, char *err, size_t errlen)
{
    struct scenario_errors e = { .text = err, .size = errlen };
    struct scenario_xml x;
    if (err && errlen)
        *err = '\0';
    struct scenario_memory *m = scenario_memory_new();
    struct scenario *sc = scenario_memory_get(m, 1, sizeof *sc);
    sc->memory = m;
    sc->path = scenario_memory_text(m, name);
    sc->description = "";
    bool ok = scenario_xml_load(&x, xml, len, name, &e) && build(sc, &x, o, &e);
    scenario_xml_free(&x);
    if (e.count > SCENARIO_ERRORS_MAX && e.used + 40 < e.size)
        snprintf(err + e.used, errlen - e.used, "\nand %u more", e.count - SCENARIO_ERRORS_MAX);
    if (ok)
        return sc;
    scenario_free(sc);
    return NULL;
}

struct scenario *scenario_load(const char *path, const struct scenario_options *options, char *err, size_t errlen)
{
    return load(NULL, 0, path, options, err, errlen);
}

struct scenario *scenario_load_memory(const char *xml, size_t len, const char *name, const struct scenario_options *options, char *err, size_t errlen)
{
    return load(xml, len, name, options, err, errlen);
}

void scenario_free(struct scenario *sc)
{
    if (sc)
        scenario_memory_free(sc->memory);
}

/* The rows of p that were given (all: every row) into the struct at `to`. */
static void put_rows(void *to, const struct scenario_params *p, bool all)
{
    for (size_t k = 0; k < p->table->count; k++)
        if (all || p->given >> k & 1)
            memcpy((char *)to + p->table->rows[k].offset, (char *)p->values + p->table->rows[k].offset, 8);
}

static void put_class_rules(struct switch_params *sw, const struct scenario_switch_parts *p)
{
    for (size_t i = 0; i < p->nrules; i++) {
        uint64_t given = p->rules[i].params->given;
        if (p->rules[i].remark) {
            const struct class_remark_params *v = p->rules[i].params->values;
            if (given & 2)
                sw->remark_dscp[v->prio] = (uint8_t)v->dscp;
            if (given & 4)
                sw->remark_pcp[v->prio] = (uint8_t)v->pcp;
        } else {
            const struct class_map_params *v = p->rules[i].params->values;
            if (given & 1)
                switch_params_map_dscp(sw, (unsigned)v->dscp, (unsigned)v->prio);
            if (given & 2)
                switch_params_map_pcp(sw, (unsigned)v->pcp, (unsigned)v->prio);
        }
    }
}

static void put_parts(struct switch_params *sw, const struct scenario_switch_parts *p, bool all)
{
    void *const at[SCENARIO_SWITCH_PARTS] = { &sw->aqm, &sw->paths, &sw->shaper, &sw->watchdog, &sw->middlebox, &sw->classes };
    for (size_t i = 0; i < SCENARIO_SWITCH_PARTS; i++)
        if (p->part[i])
            put_rows(at[i], p->part[i], all);
}

/* The transport's own classes first, then what the scenario maps. */
static void put_classes(struct switch_params *sw, const struct scenario_transport *t)
{
    memset(sw->dscp_map, 0, sizeof sw->dscp_map);
    memset(sw->pcp_map, 0, sizeof sw->pcp_map);
    if (sw->classes.map_transport) {
        switch_params_map_dscp(sw, (unsigned)t->params->dscp, (unsigned)t->params->prio);
        switch_params_map_pcp(sw, (unsigned)t->params->prio, (unsigned)t->params->prio);
    }
}

void scenario_switch_for(const struct scenario_fabric *f, const struct scenario_transport *t, struct switch_params *out)
{
    switch_params_init(out);
    for (size_t k = 0; k < switch_params_table.count; k++)
        memcpy((char *)out + switch_params_table.rows[k].offset, (const char *)f->sw + switch_params_table.rows[k].offset, 8);
    put_parts(out, &f->parts, true);
    put_classes(out, t);
    put_class_rules(out, &f->parts);
}

void scenario_exception_for(const struct scenario_fabric *f, size_t i, const struct scenario_transport *t, struct switch_params *out)
{
    const struct scenario_exception *x = &f->exceptions[i];
    scenario_switch_for(f, t, out);
    put_rows(out, x->params, false);
    put_parts(out, &x->parts, false);
    if (x->parts.part[SCENARIO_SWITCH_PARTS - 1]) { /* it has <classes> of its own */
        put_classes(out, t);
        put_class_rules(out, &x->parts);
    }
}

const char *scenario_variant_name(const struct scenario *sc, const struct variant *v, char *buf, size_t len)
{
    int n = snprintf(buf, len, "%s-%s", sc->transports[v->transport].name, sc->fabrics[v->fabric].name);
    if (sc->loads_swept && n >= 0 && (size_t)n < len)
        n += snprintf(buf + n, len - (size_t)n, "-load%g", v->load * 100);
    if (sc->nseeds > 1 && n >= 0 && (size_t)n < len)
        snprintf(buf + n, len - (size_t)n, "-seed%llu", (unsigned long long)v->seed);
    return buf;
}
