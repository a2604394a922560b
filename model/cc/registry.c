/* SPDX-License-Identifier: GPL-2.0-only */
#include "cc_list.h"

#include <string.h>

const struct cc_ops *const cc_registry[] = {
    &cc_none,
    &cc_reno,
    &cc_cubic,
    &cc_dctcp,
    &cc_dcqcn,
    &cc_dctcp_roce,
    &cc_timely,
    &cc_swift,
    &cc_hpcc,
    NULL
};

const struct cc_ops *cc_find(const char *name)
{
    for (size_t i = 0; cc_registry[i]; i++)
        if (strcmp(cc_registry[i]->name, name) == 0)
            return cc_registry[i];
    return NULL;
}

void cc_start(struct cc *c, const struct cc_ops *ops, const void *params, int64_t now_ps)
{
    c->ops = ops;
    c->params = params;
    c->cwnd_bytes = CC_NO_WINDOW;
    c->ssthresh_bytes = INT64_MAX;
    c->rate_bps = CC_NO_RATE;
    c->next_wake_ps = SIM_NEVER_PS;
    c->ack_every = 0;
    c->cnp_interval_ps = 0;
    memset(&c->state, 0, sizeof c->state);
    if (ops->init)
        ops->init(c, now_ps);
}

bool cc_preset_apply(const struct cc_ops *ops, const char *name, void *params)
{
    if (!ops->params)
        return false;
    param_defaults(ops->params, params);
    for (const struct cc_preset *p = ops->presets; p && p->name; p++)
        if (strcmp(p->name, name) == 0) {
            if (p->set)
                p->set(params);
            return true;
        }
    return false;
}
