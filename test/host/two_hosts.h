/* SPDX-License-Identifier: GPL-2.0-only */
/** Two hosts on one switch, 100 Gb/s and 1 us each way, for tests that attach endpoints of their own. Include after cmocka.h. */
#ifndef RNICSIM_TEST_HOST_TWO_HOSTS_H
#define RNICSIM_TEST_HOST_TWO_HOSTS_H

#include "../../model/fabric/fabric.h"
#include "../../model/fabric/link_params.h"
#include "../../model/fabric/switch_params.h"
#include "../../model/host/host.h"

struct two_hosts { struct sim *s; struct fabric *f; struct host *h[2]; };

static inline void two_hosts_open(struct two_hosts *w, const struct host_params *first, const struct host_params *second)
{
    struct link_params link;
    struct switch_params sw;
    char err[200];
    param_defaults(&link_params_table, &link);
    switch_params_init(&sw);
    w->s = sim_new(1);
    w->f = fabric_new(w->s, 3);
    fabric_add_host(w->f);
    fabric_add_host(w->f);
    uint32_t s = fabric_add_switch(w->f, &sw);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(fabric_connect(w->f, i, s, &link, NULL, NULL), SIM_OK);
    assert_int_equal(fabric_finish(w->f, err, sizeof err), SIM_OK);
    w->h[0] = host_new(w->s, fabric_port(w->f, 0, 0), first);
    w->h[1] = host_new(w->s, fabric_port(w->f, 1, 0), second);
}

/* The audit must hold at the end of every test. */
static inline void two_hosts_close(struct two_hosts *w)
{
    char audit[200];
    if (!fabric_audit_check(w->f, audit, sizeof audit))
        fail_msg("%s", audit);
    host_free(w->h[0]);
    host_free(w->h[1]);
    fabric_free(w->f);
    sim_free(w->s);
}

#endif
