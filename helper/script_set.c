/* SPDX-License-Identifier: GPL-2.0-only */
/* `set NAME=VALUE` in scripts: the script's own parameters, the transports', the congestion control's. */
#define PARAM_STRUCT struct script_params
#include "script_internal.h"

#include <stdlib.h>
#include <string.h>

PARAM_TABLE(script_params, SCRIPT_PARAMS)

static bool take_cc(struct script *s, const char *value)
{
    const struct cc_ops *ops = cc_find(value);
    if (!ops) {
        const char *best = "none";
        for (size_t i = 0; cc_registry[i]; i++)
            if (param_edit_distance(value, cc_registry[i]->name) < param_edit_distance(value, best))
                best = cc_registry[i]->name;
        return script_complain(s, "there is no congestion control \"%s\"; nearest: %s", value, best);
    }
    s->cc = ops;
    free(s->cc_params);
    s->cc_params = NULL;
    if (ops->params) {
        s->cc_params = calloc(1, ops->params->struct_bytes);
        param_defaults(ops->params, s->cc_params);
    }
    return true;
}

static bool take_param(struct script *s, const struct param_table *t, void *params, const char *table, const char *name, const char *value)
{
    char err[300], near[64];
    const struct param *p = param_find(t, name);
    if (!p) {
        p = param_nearest(t, name);
        return script_complain(s, "there is no parameter \"%s%s\"; nearest: %s%s", table, name, table, p ? param_public_name(p, near, sizeof near) : "cc");
    }
    if (param_set(p, params, value, err, sizeof err) != SIM_OK)
        return script_complain(s, "%s%s: %s", table, name, err);
    return true;
}

bool script_take_setting(struct script *s, char *word)
{
    char *eq = strchr(word, '='), *dot = strchr(word, '.');
    if (!eq || eq == word)
        return script_complain(s, "set %s: expected NAME=VALUE", word);
    *eq = 0;
    const char *value = eq + 1;
    if (!dot || dot > eq) {
        if (strcmp(word, "cc") == 0)
            return take_cc(s, value);
        if (strcmp(word, "tcp") == 0)
            return tcp_params_preset(&s->tcp, value) == SIM_OK ? true : script_complain(s, "set tcp=%s: the sets are kernel, linux and toe", value);
        return take_param(s, &script_params_table, &s->params, "", word, value);
    }
    *dot = 0;
    const char *name = dot + 1;
    if (strcmp(word, "tcp") == 0)
        return take_param(s, &tcp_params_table, &s->tcp, "tcp.", name, value);
    if (strcmp(word, "iwarp") == 0)
        return take_param(s, &iwarp_params_table, &s->iwarp, "iwarp.", name, value);
    if (strcmp(word, "roce") == 0)
        return take_param(s, &roce_params_table, &s->roce, "roce.", name, value);
    if (strcmp(word, "cc") == 0 && s->cc && s->cc->params)
        return take_param(s, s->cc->params, s->cc_params, "cc.", name, value);
    return script_complain(s, "set %s.%s: the groups are tcp, iwarp, roce and (after set cc=NAME, if it has parameters) cc", word, name);
}
