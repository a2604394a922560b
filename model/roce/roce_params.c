/* SPDX-License-Identifier: GPL-2.0-only */
#include "roce_internal.h"

#include <stdio.h>

#define PARAM_STRUCT struct roce_params
PARAM_TABLE(roce_params, ROCE_PARAMS)
#undef PARAM_STRUCT

int roce_params_check(const struct roce_params *params, char *err, size_t errlen)
{
    const struct param *bad;
    char name[64];
    if (param_check(&roce_params_table, params, &bad) != SIM_OK) {
        snprintf(err, errlen, "%s is out of its range", param_public_name(bad, name, sizeof name));
        return SIM_ERR_PARAM;
    }
    if (params->mtu_bytes & (params->mtu_bytes - 1)) {
        snprintf(err, errlen, "mtu is 256B, 512B, 1024B, 2048B or 4096B, not %lldB", (long long)params->mtu_bytes);
        return SIM_ERR_PARAM;
    }
    if (params->ooo_placement && params->retry == ROCE_GO_BACK_0) {
        snprintf(err, errlen, "retry go-back-0 begins messages anew: it cannot keep packets out of order (ooo-placement)");
        return SIM_ERR_PARAM;
    }
    if (params->nak_rule == ROCE_NAK_REWIND && (params->ooo_placement || params->retry == ROCE_IRN_RETRY || params->retry == ROCE_SELECTIVE)) {
        snprintf(err, errlen, "nak-rule rewind is for responders that drop what is out of order, not for retry irn and selective and not for ooo-placement");
        return SIM_ERR_PARAM;
    }
    return SIM_OK;
}

int64_t roce_rnr_timer_ps(unsigned code)
{
    static const uint32_t in_10us[32] = { 65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
        2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152 };
    return (int64_t)in_10us[code & 31] * 10 * SIM_PS_PER_US;
}
