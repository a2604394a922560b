/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_params.h"

#include <string.h>

#define PARAM_STRUCT struct tcp_params
PARAM_TABLE(tcp_params, TCP_PARAMS)
#undef PARAM_STRUCT

int tcp_params_preset(struct tcp_params *p, const char *name)
{
    param_defaults(&tcp_params_table, p);
    if (strcmp(name, "kernel") == 0)
        return SIM_OK;
    if (strcmp(name, "linux") == 0) {
        p->rto_min_ps = 200 * SIM_PS_PER_MS;          /* Linux TCP_RTO_MIN */
        p->delayed_ack_time_ps = 40 * SIM_PS_PER_MS;  /* Linux TCP_DELACK_MIN */
        p->ect_all = 1;
        p->timestamp_tick_ps = SIM_PS_PER_MS;         /* Linux before tcp_usec_ts */
        return SIM_OK;
    }
    if (strcmp(name, "toe") == 0) {
        /* Guesses: offload engines publish none of these. Timers as the kernel set's, so that a comparison is of
         * transports and not of two TCPs; no probe, no RACK, no PRR (later inventions), little reassembly memory. */
        p->tlp = 0;
        p->rack = 0;
        p->prr = 0;
        p->idle_restart = 0;
        p->receive_buffer_bytes = 1048576;
        p->reassembly_limit_bytes = 262144;
        return SIM_OK;
    }
    return SIM_ERR_PARAM;
}
