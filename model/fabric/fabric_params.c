/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "../sim/sim.h"
#include "link_params.h"
#include "switch_params.h"

#define PARAM_STRUCT struct link_params
PARAM_TABLE(link_params, LINK_PARAMS)
#undef PARAM_STRUCT

#define PARAM_STRUCT struct switch_params
PARAM_TABLE(switch_params, SWITCH_PARAMS)
#undef PARAM_STRUCT

void switch_params_init(struct switch_params *p)
{
    memset(p, 0, sizeof *p);
    param_defaults(&switch_params_table, p);
    memset(p->dscp_map, 0, sizeof p->dscp_map);
}

void switch_params_map_dscp(struct switch_params *p, unsigned dscp, unsigned prio)
{
    assert(dscp < 64 && prio < 8);
    p->dscp_map[dscp] = (uint8_t)(prio + 1);
}

int switch_params_check(const struct switch_params *p, char *err, size_t errlen)
{
    const struct param *bad;
    if (param_check(&switch_params_table, p, &bad) != SIM_OK) {
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
    return SIM_OK;
}
