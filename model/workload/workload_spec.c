/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of workload, their parameters, and what a specification must satisfy. */
#include <stdarg.h>
#include <stdio.h>

#include "workload_internal.h"

#define PARAM_STRUCT struct wl_pingpong_params
PARAM_TABLE(wl_pingpong_params, WL_PINGPONG_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct wl_poisson_params
PARAM_TABLE(wl_poisson_params, WL_POISSON_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct wl_incast_params
PARAM_TABLE(wl_incast_params, WL_INCAST_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct wl_permutation_params
PARAM_TABLE(wl_permutation_params, WL_PERMUTATION_PARAMS)
#undef PARAM_STRUCT

#define PARAM_STRUCT struct wl_flows_params
PARAM_TABLE(wl_flows_params, WL_FLOWS_PARAMS)
#undef PARAM_STRUCT

const struct wl_kind_info wl_kinds[WL_KIND_COUNT] = {
    [WL_PINGPONG] = { "ping-pong", "pairs of hosts with one message under way, there and back in turn", &wl_pingpong_params_table, false },
    [WL_POISSON] = { "poisson", "open loop: each source posts at exponential gaps at a load of its link", &wl_poisson_params_table, true },
    [WL_INCAST] = { "incast", "many hosts post one message each to one receiver, in rounds", &wl_incast_params_table, false },
    [WL_PERMUTATION] = { "permutation", "each host sends to one other and receives from one other", &wl_permutation_params_table, false },
    [WL_FLOWS] = { "flows", "a list of messages, each with its source, destination, size, start and priority", &wl_flows_params_table, false },
};

const struct wl_generator *const wl_generators[WL_KIND_COUNT] = {
    [WL_PINGPONG] = &wl_pingpong_generator, [WL_POISSON] = &wl_poisson_generator,
    [WL_INCAST] = &wl_incast_generator, [WL_PERMUTATION] = &wl_permutation_generator, [WL_FLOWS] = &wl_flows_generator,
};

void wl_spec_init(struct wl_spec *s, enum wl_kind kind)
{
    *s = (struct wl_spec){ .kind = kind };
    param_defaults(wl_kinds[kind].table, &s->u);
}

int wl_refuse(char *err, size_t errlen, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(err, errlen, format, ap);
    va_end(ap);
    return SIM_ERR_PARAM;
}

static int check_spec(const struct wl_spec *spec, const struct wl_config *c, char *err, size_t errlen)
{
    const struct param *bad;
    char name[64];
    if ((unsigned)spec->kind >= WL_KIND_COUNT)
        return wl_refuse(err, errlen, "there is no workload kind %d", (int)spec->kind);
    if (param_check(wl_kinds[spec->kind].table, &spec->u, &bad) != SIM_OK)
        return wl_refuse(err, errlen, "%s of the %s workload is out of its range", param_public_name(bad, name, sizeof name),
                         wl_kinds[spec->kind].name);
    if (spec->cdf.n) {
        size_t at;
        enum wl_cdf_fault fault = wl_cdf_check(&spec->cdf, &at);
        if (fault != WL_CDF_OK)
            return wl_refuse(err, errlen, "size distribution, point %zu: %s", at + 1, wl_cdf_fault_text(fault));
    }
    return wl_generators[spec->kind]->check(spec, c, err, errlen);
}

int wl_check(const struct wl_config *c, char *err, size_t errlen)
{
    if (c->nhosts < 2)
        return wl_refuse(err, errlen, "a workload needs at least two hosts, there %s %u", c->nhosts == 1 ? "is" : "are", c->nhosts);
    if (c->nspecs == 0 || c->nspecs > UINT16_MAX)
        return wl_refuse(err, errlen, "a run has between 1 and 65535 workload streams, not %u", c->nspecs);
    if (c->window.warmup_ps < 0 || c->window.duration_ps <= 0 || c->window.warmup_ps > WL_TIME_MAX || c->window.duration_ps > WL_TIME_MAX)
        return wl_refuse(err, errlen, "the warm-up must not be negative and the duration must be above zero");
    for (uint32_t i = 0; i < c->nspecs; i++) {
        int status = check_spec(&c->specs[i], c, err, errlen);
        if (status != SIM_OK)
            return status;
    }
    return SIM_OK;
}

/* Of flows, the largest. */
static int64_t fixed_size(const struct wl_spec *s)
{
    switch (s->kind) {
    case WL_PINGPONG:    return s->u.pingpong.size_bytes;
    case WL_POISSON:     return s->u.poisson.size_bytes;
    case WL_INCAST:      return s->u.incast.size_bytes;
    case WL_PERMUTATION: return s->u.permutation.size_bytes;
    case WL_FLOWS:       return wl_flows_max_bytes(s);
    default:             return 0;
    }
}

uint64_t wl_max_bytes(const struct wl *w)
{
    int64_t max = 1;
    for (uint32_t i = 0; i < w->conf.nspecs; i++) {
        const struct wl_spec *s = &w->streams[i].spec;
        int64_t bytes = s->cdf.n ? wl_cdf_max(&s->cdf) : fixed_size(s);
        if (bytes > max)
            max = bytes;
    }
    return (uint64_t)max;
}
