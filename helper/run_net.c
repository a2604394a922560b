/* SPDX-License-Identifier: GPL-2.0-only */
#include "run_net.h"

#include "../model/fabric/link_params.h"
#include "../model/fabric/switch_params.h"
#include "topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernel sockets: the echo service's port (RFC 862). Its payload is any bytes at all, and dissectors of captures take it for no more. */
#define TCP_SERVER_PORT 7
#define IWARP_SERVER_PORT 5001
#define CLIENT_PORT_FIRST 10000
#define CLIENT_PORTS 55000
#define QPS_MAX (1u << 22)
#define TTL 64
#define PATH_MAX_HOPS 64
/* Ethernet, IP, UDP, BTH, RETH, ICRC and FCS of a WRITE ONLY with a whole MTU, and an ACK's frame. */
#define ROCE_WRITE_OVERHEAD 78
#define ROCE_ACK_FRAME 66

static int add_hosts(struct net *n, const struct host_params *params, uint8_t lossless, char *err, size_t errlen)
{
    n->hosts = calloc(n->nhosts, sizeof *n->hosts);
    for (uint32_t i = 0; n->hosts && i < n->nhosts; i++) {
        struct net_host *h = &n->hosts[i];
        struct port *port = fabric_port(n->fabric, i, 0);
        h->link_bps = port_rate_bps(port);
        h->host = host_new(n->sim, port, params);
        if (!h->host)
            goto nomem;
        host_set_lossless(h->host, lossless);
        if (n->transport->kind == SCENARIO_TCP)
            continue;
        h->dev = rnic_dev_new(h->host, QPS_MAX);
        h->pd = h->dev ? rnic_pd_new(h->dev) : NULL;
        if (!h->pd)
            goto nomem;
    }
    if (n->hosts)
        return SIM_OK;
nomem:
    snprintf(err, errlen, "out of memory for %u hosts", n->nhosts);
    return SIM_ERR_NOMEM;
}

/* What would make a lone message slower than it must be is off when one is timed for comparison. */
static void calm_switch(struct switch_params *sw)
{
    sw->mtu_bytes = 0;
    sw->middlebox.jitter_ps = 0;
}

static int build_fabric(struct net *n, const struct scenario_fabric *f, enum net_mode mode, struct switch_params *sw, char *err, size_t errlen)
{
    const struct scenario *sc = n->sc;
    struct link_params link = *f->link;
    struct topology_exception *ex = calloc(f->nexceptions + 1, sizeof *ex);
    struct topology_route *routes = calloc(f->nroutes + 1, sizeof *routes);
    if (!ex || !routes) {
        free(ex);
        free(routes);
        return snprintf(err, errlen, "out of memory"), SIM_ERR_NOMEM;
    }
    scenario_switch_for(f, n->transport, sw);
    for (size_t i = 0; i < f->nexceptions; i++) {
        ex[i].number = f->exceptions[i].number;
        scenario_exception_for(f, i, n->transport, &ex[i].sw);
        if (mode != NET_AS_IS)
            calm_switch(&ex[i].sw);
    }
    if (mode != NET_AS_IS) {
        calm_switch(sw);
        link.loss = link.ber = link.burst_begin = 0;
        link.loss_every = 0;
    }
    for (size_t i = 0; i < f->nroutes; i++)
        routes[i] = (struct topology_route){ f->routes[i].at, f->routes[i].to, f->routes[i].via };
    struct topology_behaviour how = { .sw = sw, .ex = ex, .nex = f->nexceptions, .link = &link, .fabric = f->params, .routes = routes, .nroutes = f->nroutes };
    n->fabric = topology_build(n->sim, sc->topology.params, sc->topology.list, &how, &n->nhosts, err, errlen);
    free(ex);
    free(routes);
    return n->fabric ? SIM_OK : SIM_ERR_PARAM;
}

/* The port at node a of its link to b; -1 if there is none. */
static int port_between(const struct fabric *f, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < fabric_ports(f, a); i++)
        if (port_peer_node(fabric_port(f, a, i)) == b)
            return (int)i;
    return -1;
}

static int check_failures(const struct net *n, const struct scenario_fabric *f, char *err, size_t errlen)
{
    for (size_t i = 0; i < f->nfailures; i++)
        if (port_between(n->fabric, f->failures[i].a, f->failures[i].b) < 0)
            return snprintf(err, errlen, "%s:%d: <failure>: no link joins a and b", f->failures[i].file, f->failures[i].line), SIM_ERR_PARAM;
    return SIM_OK;
}

int net_unleash(struct net *n, const struct scenario_fabric *f, int64_t start_ps)
{
    for (size_t i = 0; i < f->nfailures; i++) {
        const struct scenario_failure *x = &f->failures[i];
        const struct failure_params *v = x->params->values;
        uint32_t port = (uint32_t)port_between(n->fabric, x->a, x->b);
        fabric_link_set_at(n->fabric, x->a, port, false, start_ps + v->down_ps);
        if (x->params->given & 2)
            fabric_link_set_at(n->fabric, x->a, port, true, start_ps + v->up_ps);
    }
    for (size_t i = 0; i < f->nloses; i++) {
        const struct lose_params *v = f->loses[i].params;
        struct fabric_loss_rule rule = { f->loses[i].src, f->loses[i].dst, (uint64_t)v->nth, (uint64_t)v->every, start_ps + v->from_ps, start_ps + v->until_ps,
                                         (enum fabric_loss_kind)v->packets };
        if (fabric_add_loss(n->fabric, &rule) != SIM_OK)
            return SIM_ERR_NOMEM;
    }
    return SIM_OK;
}

int net_open(struct net *n, const struct scenario *sc, const struct variant *v, enum net_mode mode, char *err, size_t errlen)
{
    const struct scenario_fabric *f = &sc->fabrics[v->fabric];
    struct switch_params sw;
    struct host_params host;

    memset(n, 0, sizeof *n);
    n->sc = sc;
    n->transport = &sc->transports[v->transport];
    char why[300];
    if (n->transport->roce && roce_params_check(n->transport->roce, why, sizeof why) != SIM_OK)
        return snprintf(err, errlen, "transport \"%s\" (line %d): %s", n->transport->name, n->transport->line, why), SIM_ERR_PARAM;
    n->seed = v->seed;
    n->cc = *n->transport->cc;
    n->cc.ecn = n->transport->ecn;
    host = *n->transport->host;
    if (mode == NET_NO_LOSS_AWAKE)
        host.wakeup_ps = host.wakeup_cpu_ps = host.irq_latency_ps = host.irq_ps = host.irq_gap_ps = 0;
    n->sim = sim_new(v->seed);
    if (!n->sim)
        return snprintf(err, errlen, "out of memory"), SIM_ERR_NOMEM;
    int rc = build_fabric(n, f, mode, &sw, err, errlen);
    if (rc == SIM_OK)
        rc = check_failures(n, f, err, errlen);
    if (rc == SIM_OK)
        rc = add_hosts(n, &host, sw.pfc ? (uint8_t)sw.lossless_prios : 0, err, errlen);
    if (rc != SIM_OK)
        net_close(n);
    return rc;
}

void net_close(struct net *n)
{
    /* Channels look into QPs and sockets, those into hosts, those into ports. */
    for (struct net_conn *c = n->conns; c; c = c->next)
        wl_chan_free(c->chan);
    for (struct net_conn *c = n->conns, *next; c; c = next) {
        next = c->next;
        tcp_socket_free(c->sock[0]);
        tcp_socket_free(c->sock[1]);
        c->chan = NULL;
    }
    for (uint32_t i = 0; n->hosts && i < n->nhosts; i++)
        rnic_dev_free(n->hosts[i].dev);
    for (struct net_conn *c = n->conns, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    for (uint32_t i = 0; n->hosts && i < n->nhosts; i++)
        host_free(n->hosts[i].host);
    free(n->hosts);
    fabric_free(n->fabric);
    sim_free(n->sim);
    memset(n, 0, sizeof *n);
}

int64_t net_base_rtt_ps(const struct net *n, uint32_t a, uint32_t b)
{
    struct fabric_hop hop[PATH_MAX_HOPS];
    uint32_t hops = fabric_path(n->fabric, a, b, hop, PATH_MAX_HOPS);
    bool telemetry = n->cc.telemetry;
    /* Frames with their preamble, as a bit arrives: no gap after the last. */
    uint32_t data = n->transport->roce ? (uint32_t)n->transport->roce->mtu_bytes + ROCE_WRITE_OVERHEAD : 1518, ack = n->transport->roce ? ROCE_ACK_FRAME : PKT_FRAME_MIN_BYTES;
    int64_t rtt = 0;
    for (uint32_t i = 0; i < hops; i++)
        rtt += 2 * (hop[i].propagation_ps + hop[i].latency_ps) + port_wire_time_ps(data - PKT_IFG_BYTES + (telemetry ? PKT_INT_BYTES : 0), hop[i].rate_bps) +
               port_wire_time_ps(ack - PKT_IFG_BYTES + (telemetry ? PKT_INT_BYTES : 0), hop[i].rate_bps);
    return rtt;
}

static void on_up(void *ctx, struct rnic_qp *qp, int status)
{
    struct net_conn *c = ctx;
    (void)qp;
    if (status != SIM_OK) {
        if (c->up < 2) {
            c->up = 2;
            c->net->waiting--;
        }
        if (c->chan)
            wl_chan_fail(c->chan, RNIC_WC_RETRY_EXC_ERR);
        return;
    }
    if (c->up < 2 && ++c->up == 2) {
        c->net->waiting--;
        if (c->chan)
            wl_chan_up(c->chan);
    }
}

static struct rnic_cq *new_cq(struct net_conn *c, int end, uint32_t depth)
{
    return rnic_cq_new(c->net->hosts[end ? c->dst : c->src].dev, depth, c->link[end].core, wl_cq_on_wc, &c->link[end]);
}

static int connect_roce(struct net *n, struct net_conn *c, uint32_t id)
{
    const struct scenario_transport *t = n->transport;
    uint32_t depth = (uint32_t)(t->roce->sq_depth + t->roce->rq_depth + 1);
    uint32_t at[2] = { c->src, c->dst };
    for (int e = 0; e < 2; e++) {
        struct net_host *h = &n->hosts[at[e]];
        struct rnic_cq *cq = new_cq(c, e, depth);
        c->qp[e] = cq ? roce_qp_new(h->dev, h->pd, cq, cq, t->roce, &n->cc, t->cc_params, h->link_bps, 2 * id + (uint32_t)e, n->seed) : NULL;
        if (!c->qp[e])
            return SIM_ERR_NOMEM;
        rnic_qp_set_ctx(c->qp[e], &c->link[e]);
    }
    for (int e = 0; e < 2; e++) {
        struct roce_peer peer = {
            .local_addr = pkt_addr_of_node(at[e]), .remote_addr = pkt_addr_of_node(at[!e]), .remote_qpn = rnic_qp_num(c->qp[!e]),
            .remote_psn = roce_qp_first_psn(c->qp[!e]), .path_mtu_bytes = (uint32_t)t->roce->mtu_bytes, .prio = c->prio,
            .dscp = c->dscp, .ttl = TTL, .base_rtt_ps = net_base_rtt_ps(n, c->src, c->dst),
        };
        int rc = roce_qp_connect(c->qp[e], &peer);
        if (rc != SIM_OK)
            return rc;
    }
    c->up = 2;
    return SIM_OK;
}

static int connect_iwarp(struct net *n, struct net_conn *c, uint32_t id, uint16_t port)
{
    const struct scenario_transport *t = n->transport;
    uint32_t depth = (uint32_t)(t->iwarp->sq_depth + t->iwarp->rq_depth + 1);
    uint32_t at[2] = { c->src, c->dst };
    for (int e = 0; e < 2; e++) {
        struct net_host *h = &n->hosts[at[e]];
        struct rnic_cq *cq = new_cq(c, e, depth);
        c->qp[e] = cq ? iwarp_qp_new(h->dev, h->pd, cq, cq, t->iwarp, t->tcp, &n->cc, t->cc_params, h->link_bps, 2 * id + (uint32_t)e, n->seed) : NULL;
        if (!c->qp[e])
            return SIM_ERR_NOMEM;
        rnic_qp_set_ctx(c->qp[e], &c->link[e]);
    }
    n->waiting++;
    for (int e = 1; e >= 0; e--) { /* the responder listens before the initiator speaks */
        struct iwarp_peer peer = {
            .addr = { pkt_addr_of_node(at[e]), pkt_addr_of_node(at[!e]), e ? IWARP_SERVER_PORT : port, e ? port : IWARP_SERVER_PORT },
            .prio = c->prio, .dscp = c->dscp, .ttl = TTL,
        };
        int rc = e ? iwarp_qp_accept(c->qp[e], &peer, on_up, c) : iwarp_qp_connect(c->qp[e], &peer, on_up, c);
        if (rc != SIM_OK)
            return rc;
    }
    return SIM_OK;
}

static int connect_tcp(struct net *n, struct net_conn *c, uint32_t id, uint16_t port)
{
    const struct scenario_transport *t = n->transport;
    uint32_t at[2] = { c->src, c->dst };
    for (int e = 0; e < 2; e++) {
        c->sock[e] = tcp_socket_new(n->hosts[at[e]].host, c->link[e].core, t->tcp, &n->cc, t->cc_params, 2 * id + (uint32_t)e,
                                    c->prio, c->dscp);
        if (!c->sock[e])
            return SIM_ERR_NOMEM;
    }
    n->waiting++;
    int rc = tcp_socket_accept(c->sock[1], pkt_addr_of_node(c->src), port, TCP_SERVER_PORT);
    return rc == SIM_OK ? tcp_socket_connect(c->sock[0], pkt_addr_of_node(c->dst), TCP_SERVER_PORT, port) : rc;
}

struct net_conn *net_connect(struct net *n, uint32_t src, uint32_t dst, uint8_t prio, const struct wl_sink *sink, void *sink_ctx)
{
    const struct transport_params *tp = n->transport->params;
    struct net_conn *c = calloc(1, sizeof *c);
    uint32_t id = n->nconns;
    int rc;
    if (!c)
        return NULL;
    c->net = n;
    c->src = src;
    c->dst = dst;
    c->prio = prio == WL_PRIO_OWN ? (uint8_t)tp->prio : prio;
    c->dscp = c->prio == tp->prio ? (uint8_t)tp->dscp : (uint8_t)(c->prio << 3);
    c->next = n->conns;
    n->conns = c;
    n->nconns++;
    uint16_t port = (uint16_t)(CLIENT_PORT_FIRST + n->hosts[src].next_conn % CLIENT_PORTS);
    uint32_t at[2] = { src, dst };
    for (int e = 0; e < 2; e++) {
        struct net_host *h = &n->hosts[at[e]];
        c->link[e] = (struct wl_cq_link){ .host = h->host, .core = h->next_conn++ % (uint32_t)host_params(h->host)->cores };
    }
    switch (n->transport->kind) {
    case SCENARIO_ROCE:  rc = connect_roce(n, c, id); break;
    case SCENARIO_IWARP: rc = connect_iwarp(n, c, id, port); break;
    default:             rc = connect_tcp(n, c, id, port); break;
    }
    if (rc == SIM_ERR_FULL && !n->refused) {
        n->refused = true;
        n->refused_host = host_stats(n->hosts[src].host)->refused_connections ? src : dst;
    }
    if (rc != SIM_OK)
        return NULL;
    c->chan = c->sock[0] ? wl_chan_socket(id, c->sock[0], c->sock[1], sink, sink_ctx)
                         : wl_chan_verbs(id, n->hosts[src].pd, c->qp[0], n->hosts[dst].pd, c->qp[1], (enum wl_operation)n->transport->params->operation,
                                         n->max_message_bytes, sink, sink_ctx);
    return c->chan ? c : NULL;
}

uint32_t net_waiting(struct net *n)
{
    if (n->transport->kind != SCENARIO_TCP || n->waiting == 0)
        return n->waiting;
    for (struct net_conn *c = n->conns; c; c = c->next) {
        if (c->up == 2 || !c->sock[1])
            continue;
        enum tcp_state a = tcp_state(tcp_socket_conn(c->sock[0])), b = tcp_state(tcp_socket_conn(c->sock[1]));
        /* One that has failed waits no more; its messages will say so. */
        if ((a == TCP_ESTABLISHED && b == TCP_ESTABLISHED) || a == TCP_CLOSED) {
            c->up = 2;
            n->waiting--;
        }
    }
    return n->waiting;
}
