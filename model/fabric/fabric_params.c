/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "../sim/sim.h"
#include "fabric_params.h"
#include "link_params.h"
#include "switch_params.h"

#define PARAM_STRUCT struct link_params
PARAM_TABLE(link_params, LINK_PARAMS)
#undef PARAM_STRUCT

#define PARAM_STRUCT struct switch_params
PARAM_TABLE(switch_params, SWITCH_PARAMS)
#undef PARAM_STRUCT

#define PARAM_STRUCT struct aqm_params
PARAM_TABLE(aqm_params, AQM_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct paths_params
PARAM_TABLE(paths_params, PATHS_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct shaper_params
PARAM_TABLE(shaper_params, SHAPER_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct watchdog_params
PARAM_TABLE(watchdog_params, WATCHDOG_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct middlebox_params
PARAM_TABLE(middlebox_params, MIDDLEBOX_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct classes_params
PARAM_TABLE(classes_params, CLASSES_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct fabric_params
PARAM_TABLE(fabric_params, FABRIC_PARAMS)
#undef PARAM_STRUCT

void switch_params_init(struct switch_params *p)
{
    memset(p, 0, sizeof *p);
    param_defaults(&switch_params_table, p);
    param_defaults(&aqm_params_table, &p->aqm);
    param_defaults(&paths_params_table, &p->paths);
    param_defaults(&shaper_params_table, &p->shaper);
    param_defaults(&watchdog_params_table, &p->watchdog);
    param_defaults(&middlebox_params_table, &p->middlebox);
    param_defaults(&classes_params_table, &p->classes);
    memset(p->remark_dscp, SWITCH_KEEP, sizeof p->remark_dscp);
    memset(p->remark_pcp, SWITCH_KEEP, sizeof p->remark_pcp);
}

void switch_params_map_dscp(struct switch_params *p, unsigned dscp, unsigned prio)
{
    assert(dscp < 64 && prio < 8);
    p->dscp_map[dscp] = (uint8_t)(prio + 1);
}

void switch_params_map_pcp(struct switch_params *p, unsigned pcp, unsigned prio)
{
    assert(pcp < 8 && prio < 8);
    p->pcp_map[pcp] = (uint8_t)(prio + 1);
}

int switch_params_check(const struct switch_params *p, char *err, size_t errlen)
{
    const struct { const struct param_table *table; const void *values; } part[] = {
        { &switch_params_table, p }, { &aqm_params_table, &p->aqm }, { &paths_params_table, &p->paths }, { &shaper_params_table, &p->shaper },
        { &watchdog_params_table, &p->watchdog }, { &middlebox_params_table, &p->middlebox }, { &classes_params_table, &p->classes } };
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        const struct param *bad;
        if (param_check(part[i].table, part[i].values, &bad) == SIM_OK)
            continue;
        char name[64];
        snprintf(err, errlen, "%s is out of its range %g to %g", param_public_name(bad, name, sizeof name), bad->low, bad->high);
        return SIM_ERR_PARAM;
    }
    if (p->ecn && p->ecn_kmin_bytes > p->ecn_kmax_bytes) {
        snprintf(err, errlen, "ecn-kmin (%lld B) is above ecn-kmax (%lld B)", (long long)p->ecn_kmin_bytes, (long long)p->ecn_kmax_bytes);
        return SIM_ERR_PARAM;
    }
    if (p->ecn && p->non_ect == SWITCH_NON_ECT_WRED && p->wred_kmin_bytes > p->wred_kmax_bytes) {
        snprintf(err, errlen, "wred-kmin (%lld B) is above wred-kmax (%lld B)", (long long)p->wred_kmin_bytes, (long long)p->wred_kmax_bytes);
        return SIM_ERR_PARAM;
    }
    if (p->pfc && p->pfc_xoff_bytes && p->pfc_xoff_bytes < p->reserved_bytes) {
        snprintf(err, errlen, "pfc-xoff (%lld B) is below reserved (%lld B)", (long long)p->pfc_xoff_bytes, (long long)p->reserved_bytes);
        return SIM_ERR_PARAM;
    }
    if (p->pfc && p->pfc_xon_bytes && p->pfc_xoff_bytes && p->pfc_xon_bytes > p->pfc_xoff_bytes) {
        snprintf(err, errlen, "pfc-xon (%lld B) is above pfc-xoff (%lld B)", (long long)p->pfc_xon_bytes, (long long)p->pfc_xoff_bytes);
        return SIM_ERR_PARAM;
    }
    return SIM_OK;
}
