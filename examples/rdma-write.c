/* SPDX-License-Identifier: GPL-2.0-only */
/* The library without ns-3 and without scenarios: two hosts and a switch, one RDMA write over RoCEv2 with real bytes, when it
 * was complete and that the bytes are there. */
#include "../model/fabric/fabric.h"
#include "../model/fabric/link_params.h"
#include "../model/fabric/switch_params.h"
#include "../model/roce/roce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VA UINT64_C(0x10000)
enum { LEN = 9000 };

struct end { struct host *host; struct rnic_dev *dev; struct rnic_pd *pd; struct rnic_qp *qp; uint8_t bytes[LEN]; };

static void on_completion(void *ctx, const struct rnic_wc *wc)
{
    const struct sim *s = ctx;
    char at[32];

    printf("work request %" PRIu64 ": %s, %" PRIu32 " B, at %s\n", wc->wr_id, rnic_wc_status_name(wc->status), wc->byte_len,
           param_format_value(PARAM_TIME, NULL, (double)sim_now(s), at, sizeof at));
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "rdma-write: %s failed\n", what);
        exit(1);
    }
}

/* Two hosts, nodes 0 and 1, each by a link to a switch. */
static struct fabric *build(struct sim *s)
{
    struct fabric *f = fabric_new(s, 3);
    struct switch_params switch_params;
    struct link_params link;
    char err[200];
    uint32_t sw;

    must(f, "the fabric");
    switch_params_init(&switch_params);
    param_defaults(&link_params_table, &link);
    must(param_set(param_find(&link_params_table, "rate"), &link, "25Gbps", err, sizeof err) == SIM_OK, err);
    fabric_add_host(f);
    fabric_add_host(f);
    sw = fabric_add_switch(f, &switch_params);
    for (uint32_t host = 0; host < 2; host++)
        must(fabric_connect(f, host, sw, &link, NULL, NULL) == SIM_OK, "a link");
    must(fabric_finish(f, err, sizeof err) == SIM_OK, err);
    return f;
}

static void open_end(struct end *e, struct sim *s, struct port *port, uint32_t id, const struct roce_params *roce)
{
    struct host_params params;
    struct rnic_cq *cq;

    host_profile_apply(host_profile_find("rnic-roce"), &params);
    must((e->host = host_new(s, port, &params)), "a host");
    must((e->dev = rnic_dev_new(e->host, 16)), "a card");
    must((e->pd = rnic_pd_new(e->dev)), "a protection domain");
    must((cq = rnic_cq_new(e->dev, 256, 0, on_completion, s)), "a completion queue");
    must((e->qp = roce_qp_new(e->dev, e->pd, cq, cq, roce, NULL, NULL, port_rate_bps(port), id, sim_seed(s))), "a queue pair");
}

/* What a connection manager would exchange. */
static void connect_to(struct end *e, const struct end *peer)
{
    struct roce_peer p = { .local_addr = host_addr(e->host), .remote_addr = host_addr(peer->host), .remote_qpn = rnic_qp_num(peer->qp),
                           .remote_psn = roce_qp_first_psn(peer->qp), .prio = 3, .dscp = 24 };

    must(roce_qp_connect(e->qp, &p) == SIM_OK, "connecting");
}

int main(void)
{
    static struct end a, b;
    struct sim *s = sim_new(1);
    struct fabric *f;
    struct roce_params roce;
    struct rnic_mr *from, *to;
    char audit[200];
    bool ok;

    must(s, "the simulation");
    f = build(s);
    param_defaults(&roce_params_table, &roce);
    open_end(&a, s, fabric_port(f, 0, 0), 1, &roce);
    open_end(&b, s, fabric_port(f, 1, 0), 2, &roce);
    connect_to(&a, &b);
    connect_to(&b, &a);

    memset(a.bytes, 0x5a, LEN);
    must((from = rnic_mr_reg(a.pd, VA, LEN, RNIC_LOCAL_WRITE, a.bytes)), "registering");
    must((to = rnic_mr_reg(b.pd, VA, LEN, RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE, b.bytes)), "registering");
    must(rnic_post_send(a.qp, &(struct rnic_send_wr){ .wr_id = 7, .op = RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED,
                                                      .sge = { VA, LEN, rnic_mr_key(from) }, .remote_va = VA,
                                                      .rkey = rnic_mr_key(to) }) == SIM_OK, "posting");
    sim_run(s, SIM_PS_PER_MS);

    ok = fabric_audit_check(f, audit, sizeof audit) && memcmp(a.bytes, b.bytes, LEN) == 0;
    printf("bytes %s, audit %s, %" PRIu64 " packet-hops, %" PRIu64 " events\n", memcmp(a.bytes, b.bytes, LEN) == 0 ? "equal" : "differ",
           audit, fabric_audit(f)->packet_hops, sim_events_run(s));
    rnic_dev_free(a.dev);
    rnic_dev_free(b.dev);
    host_free(a.host);
    host_free(b.host);
    fabric_free(f);
    sim_free(s);
    return ok ? 0 : 1;
}
