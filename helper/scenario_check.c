/* SPDX-License-Identifier: GPL-2.0-only */
/* What no single parameter can say, after all overrides; then the list of variants. */
#include <stdio.h>
#include <string.h>

#include "../model/cc/cc.h"
#include "../model/fabric/link_params.h"
#include "../model/fabric/switch_params.h"
#include "../model/roce/roce_params.h"
#include "../model/workload/workload.h"
#include "scenario_internal.h"
#include "topology.h"

#define VARIANTS_MAX 100000u

static const struct scenario_params *params_of(const struct scenario *sc, const void *values)
{
    for (size_t i = 0; i < sc->nparams; i++)
        if (sc->params[i]->values == values)
            return sc->params[i];
    return NULL;
}

static bool given(const struct scenario *sc, const void *values, const char *name)
{
    const struct scenario_params *p = params_of(sc, values);
    const struct param *row = p ? param_find(p->table, name) : NULL;
    return row && (p->given >> (row - p->table->rows) & 1);
}

static void check_topology(struct scenario *sc, struct scenario_errors *e)
{
    struct scenario_topology *t = &sc->topology;
    char why[200];
    t->nhosts = topology_hosts(t->params, t->list, why, sizeof why);
    if (t->nhosts == 0)
        scenario_error(e, t->file, t->line, "<topology> makes no network: %s", t->params->kind == TOPOLOGY_EXPLICIT && !t->list ?
                       "kind explicit needs a file, or <host>, <switch> and <link> elements in the scenario" : why);
    else if (t->nhosts < 2)
        scenario_error(e, t->file, t->line, "<topology> has one host; messages need two");
}

static void check_fabrics(struct scenario *sc, struct scenario_errors *e)
{
    char err[300];
    for (uint32_t i = 0; i < sc->nfabrics; i++) {
        struct switch_params sw;
        scenario_switch_for(&sc->fabrics[i], &sc->transports[0], &sw);
        if (switch_params_check(&sw, err, sizeof err) != SIM_OK)
            scenario_error(e, sc->fabrics[i].file, sc->fabrics[i].line, "fabric \"%s\": %s", sc->fabrics[i].name, err);
    }
    for (uint32_t i = 0; i < sc->nfabrics; i++)
        for (size_t k = 0; k < sc->fabrics[i].nexceptions; k++) {
            const struct scenario_exception *x = &sc->fabrics[i].exceptions[k];
            struct switch_params sw;
            scenario_exception_for(&sc->fabrics[i], k, &sc->transports[0], &sw);
            if (switch_params_check(&sw, err, sizeof err) != SIM_OK)
                scenario_error(e, x->file, x->line, "<exception>: %s", err);
        }
}

static void check_transports(struct scenario *sc, struct scenario_errors *e)
{
    for (uint32_t i = 0; i < sc->ntransports; i++) {
        struct scenario_transport *t = &sc->transports[i];
        t->ecn = given(sc, t->params, "ecn") ? t->params->ecn != 0 : t->cc->ecn;
        if (t->kind == SCENARIO_TCP && t->params->operation != 0)
            scenario_error(e, t->file, t->line, "transport \"%s\": a socket only sends; operation write and read are verbs of iwarp and roce", t->name);
        if (t->roce && t->roce->service != ROCE_SERVICE_RC)
            scenario_error(e, t->file, t->line, "transport \"%s\": services uc and ud are for programs, a lost message cannot be told from a late one; a "
                           "scenario takes service rc", t->name);
    }
}

static int find_pair_end(struct scenario *sc, const struct scenario_pair *p, bool transport, struct scenario_errors *e)
{
    const char *wanted = transport ? p->transport : p->fabric, *near = "";
    uint32_t n = transport ? sc->ntransports : sc->nfabrics;
    unsigned least = ~0u;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = transport ? sc->transports[i].name : sc->fabrics[i].name;
        unsigned d = param_edit_distance(wanted, name);
        if (d == 0)
            return (int)i;
        if (d < least) {
            least = d;
            near = name;
        }
    }
    scenario_error(e, p->file, p->line, "<pair>: no %s is called \"%s\"; nearest: %s", transport ? "transport" : "fabric", wanted, near);
    return -1;
}

static void check_loads(struct scenario *sc, struct scenario_errors *e, bool have_load)
{
    for (size_t i = 0; i < sc->nloads; i++)
        if (!(sc->loads[i] > 0 && sc->loads[i] <= 1))
            scenario_error(e, sc->path, 0, "compare loads: %g%% is not a load: give more than 0%% and at most 100%% of the hosts' links", sc->loads[i] * 100);
    if (sc->nloads && !have_load)
        scenario_error(e, sc->path, 0, "compare loads: no workload has a load to sweep (kind poisson has)");
    sc->loads_swept = sc->nloads > 0;
}

/* --- expansion --- */

static void add_variants(struct scenario *sc, uint32_t transport, uint32_t fabric, double own_load)
{
    size_t nloads = sc->nloads ? sc->nloads : 1;
    for (size_t l = 0; l < nloads; l++)
        for (size_t s = 0; s < sc->nseeds; s++) {
            sc->variants = scenario_memory_grow(sc->memory, sc->variants, sc->nvariants, sizeof *sc->variants);
            sc->variants[sc->nvariants++] = (struct variant){ transport, fabric, sc->nloads ? sc->loads[l] : own_load, sc->seeds[s] };
        }
}

static void make_seeds(struct scenario *sc)
{
    if (sc->nseeds)
        return;
    sc->nseeds = (size_t)sc->measure->reps;
    sc->seeds = scenario_memory_get(sc->memory, sc->nseeds, sizeof *sc->seeds);
    for (size_t i = 0; i < sc->nseeds; i++)
        sc->seeds[i] = (uint64_t)sc->measure->seed + i;
}

static void check_duplicates(struct scenario *sc, struct scenario_errors *e)
{
    for (size_t i = 0; i < sc->nseeds && sc->nseeds < 1000; i++)
        for (size_t k = 0; k < i; k++)
            if (sc->seeds[k] == sc->seeds[i])
                scenario_error(e, sc->path, 0, "measure seeds: %llu is listed twice", (unsigned long long)sc->seeds[i]);
    for (size_t i = 0; i < sc->nloads; i++)
        for (size_t k = 0; k < i; k++)
            if (sc->loads[k] == sc->loads[i])
                scenario_error(e, sc->path, 0, "compare loads: %g%% is listed twice", sc->loads[i] * 100);
}

bool scenario_check(struct scenario *sc, struct scenario_errors *e)
{
    double own_load = -1;
    bool have_load = false;
    check_topology(sc, e);
    check_fabrics(sc, e);
    check_transports(sc, e);
    scenario_check_workloads(sc, e, &own_load, &have_load);
    check_loads(sc, e, have_load);
    make_seeds(sc);
    check_duplicates(sc, e);
    uint64_t pairs = sc->npairs ? sc->npairs : (uint64_t)sc->ntransports * sc->nfabrics;
    if (pairs * (sc->nloads ? sc->nloads : 1) * sc->nseeds > VARIANTS_MAX)
        scenario_error(e, sc->path, 0, "the scenario expands to more than %u runs", VARIANTS_MAX);
    if (e->count)
        return false;
    for (size_t i = 0; i < sc->npairs; i++) {
        int t = find_pair_end(sc, &sc->pairs[i], true, e), f = find_pair_end(sc, &sc->pairs[i], false, e);
        for (size_t k = 0; k < i && t >= 0 && f >= 0; k++)
            if (strcmp(sc->pairs[k].transport, sc->pairs[i].transport) == 0 && strcmp(sc->pairs[k].fabric, sc->pairs[i].fabric) == 0)
                scenario_error(e, sc->pairs[i].file, sc->pairs[i].line, "<pair>: %s on %s is listed twice", sc->pairs[i].transport, sc->pairs[i].fabric);
        if (t >= 0 && f >= 0)
            add_variants(sc, (uint32_t)t, (uint32_t)f, own_load);
    }
    for (uint32_t t = 0; t < sc->ntransports && !sc->npairs; t++)
        for (uint32_t f = 0; f < sc->nfabrics; f++)
            add_variants(sc, t, f, own_load);
    return e->count == 0;
}
