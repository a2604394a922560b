/* SPDX-License-Identifier: GPL-2.0-only */
/* Networks of raw sources and sinks for tests of the fabric: no transport, no host cost. */
#ifndef RNICSIM_TEST_FABRIC_NET_H
#define RNICSIM_TEST_FABRIC_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/fabric/fabric.h"
#include "../../model/fabric/fabric_params.h"
#include "../../model/fabric/headroom.h"
#include "../../model/fabric/link_params.h"
#include "../../model/fabric/switch_params.h"
#include "../../model/sim/trace.h"
#include "../../model/wire/codec.h"

#define NET_HOSTS 80

struct net;

/* A host that sends its queue, or without end, and counts what comes. Its frames carry psn 0, 1, 2 ... */
struct raw {
    struct net *net;
    uint32_t node, dst, payload;
    uint16_t sport;
    uint8_t  dscp, prio, ecn, ttl;
    bool     tcp;                /* PKT_TCP instead of RoCE */
    bool     telemetry;          /* room for it */
    bool     greedy;             /* always has another frame, until stop_ps */
    int64_t  stop_ps;
    uint64_t sent, got, got_bytes, marked, misordered;
    int64_t  first_ps, last_ps;  /* of arrivals */
    int64_t  last_sent_ps, longest_gap_ps;
    uint64_t from[NET_HOSTS];    /* arrivals by sender */
    uint64_t prio_got[8], prio_bytes[8];
    int64_t  next_psn[NET_HOSTS];
    struct pkt *head, *tail;
    void   (*on_arrive)(struct raw *r, struct pkt *p);
};

struct net {
    struct sim *s;
    struct fabric *f;
    struct raw raw[NET_HOSTS];
    uint32_t hosts, waiting;
};

static inline struct pkt *net_frame(struct raw *r)
{
    struct pkt *p = fabric_pkt_new(r->net->f);
    p->kind = r->tcp ? PKT_TCP : PKT_ROCE;
    p->src = pkt_addr_of_node(r->node);
    p->dst = pkt_addr_of_node(r->dst);
    p->sport = r->sport;
    p->dport = r->tcp ? 5001 : WIRE_ROCE_PORT;
    p->ttl = r->ttl;
    p->dscp = r->dscp;
    p->ecn = r->ecn;
    p->prio = r->prio;
    if (r->tcp) {
        p->tcp.flags = TCP_ACK;
        p->tcp.seq = (uint32_t)r->sent;
    } else {
        p->roce.opcode = ROCE_SEND_ONLY;
        p->roce.pkey = 0xffff;
        p->roce.psn = (uint32_t)(r->sent & 0xffffff);
        if (r->telemetry)
            pkt_add_telemetry(p);
    }
    pkt_add_pattern(p, r->payload, (uint64_t)sim_now(r->net->s), 0); /* the seed tells when it was made */
    pkt_set_len(p);
    p->flow_hash = pkt_flow_hash(p->src, p->dst, r->tcp ? 6 : 17, p->sport, p->dport);
    return p;
}

static inline struct pkt *net_pull(void *owner, struct port *port, uint8_t blocked)
{
    struct raw *r = owner;
    int64_t now = sim_now(r->net->s);
    struct pkt *p = r->head;
    (void)port;
    if (blocked >> (p ? p->prio : r->prio) & 1)
        return NULL;
    if (p) {
        r->head = p->next;
        r->net->waiting--;
        fabric_count_waiting(r->net->f, -1);
    } else if (r->greedy && now < r->stop_ps) {
        p = net_frame(r);
    } else {
        return NULL;
    }
    r->sent++;
    if (r->last_sent_ps && now - r->last_sent_ps > r->longest_gap_ps)
        r->longest_gap_ps = now - r->last_sent_ps;
    r->last_sent_ps = now;
    return p;
}

static inline void net_arrive(void *owner, struct port *port, struct pkt *p)
{
    struct raw *r = owner;
    uint32_t src = pkt_node_of_addr(p->src);
    int64_t psn = p->kind == PKT_ROCE ? (int64_t)p->roce.psn : p->kind == PKT_TCP ? (int64_t)p->tcp.seq : 0;
    (void)port;
    if (!r->got)
        r->first_ps = sim_now(r->net->s);
    r->last_ps = sim_now(r->net->s);
    r->got++;
    r->got_bytes += p->frame_len;
    r->marked += p->ecn == 3;
    r->prio_got[p->dscp >> 3]++;
    r->prio_bytes[p->dscp >> 3] += p->frame_len + 20u;
    if (src < NET_HOSTS) {
        r->from[src]++;
        r->misordered += psn < r->next_psn[src];
        r->next_psn[src] = psn > r->next_psn[src] ? psn : r->next_psn[src];
    }
    if (r->on_arrive)
        r->on_arrive(r, p);
    fabric_count_delivered(r->net->f, p);
    fabric_pkt_free(r->net->f, p);
}

static const struct port_ops net_ops = { .pull = net_pull, .arrive = net_arrive };

/* Add hosts 0 .. hosts-1; the caller adds switches and links, then net_finish. */
static inline struct net *net_new(uint32_t hosts, uint32_t switches, uint64_t seed, const struct fabric_params *fp)
{
    struct net *n = calloc(1, sizeof *n);
    assert_true(n != NULL && hosts <= NET_HOSTS);
    n->s = sim_new(seed);
    n->f = fabric_new(n->s, hosts + switches);
    if (fp)
        fabric_set_params(n->f, fp);
    n->hosts = hosts;
    for (uint32_t i = 0; i < hosts; i++)
        fabric_add_host(n->f);
    return n;
}

/* The fabric is finished: its hosts are raw. */
static inline void net_attach(struct net *n)
{
    for (uint32_t i = 0; i < n->hosts; i++) {
        n->raw[i] = (struct raw){ .net = n, .node = i, .dst = 1, .payload = 1024, .stop_ps = SIM_NEVER_PS, .sport = (uint16_t)(0xc000 + i),
                                  .dscp = 26, .prio = 3, .ecn = 2, .ttl = 64 };
        port_attach(fabric_port(n->f, i, 0), &net_ops, &n->raw[i]);
    }
}

static inline void net_finish(struct net *n)
{
    char err[300];
    if (fabric_finish(n->f, err, sizeof err) != SIM_OK)
        fail_msg("%s", err);
    net_attach(n);
}

static inline void net_link(struct net *n, uint32_t a, uint32_t b, const struct link_params *link)
{
    assert_int_equal(fabric_connect(n->f, a, b, link, NULL, NULL), SIM_OK);
}

static inline struct net *net_star(uint32_t hosts, const struct link_params *link, const struct switch_params *sw, const struct fabric_params *fp)
{
    struct net *n = net_new(hosts, 1, 7, fp);
    uint32_t s = fabric_add_switch(n->f, sw);
    for (uint32_t i = 0; i < hosts; i++)
        net_link(n, i, s, link);
    net_finish(n);
    return n;
}

static inline void net_free(struct net *n)
{
    char audit[200];
    if (!fabric_audit_check(n->f, audit, sizeof audit) && !strstr(audit, "lossless"))
        fail_msg("%s", audit);
    for (uint32_t i = 0; i < n->hosts; i++)
        for (struct pkt *p = n->raw[i].head, *next; p; p = next) {
            next = p->next;
            fabric_count_waiting(n->f, -1);
            fabric_pkt_free(n->f, p);
        }
    fabric_free(n->f);
    sim_free(n->s);
    free(n);
}

/* Put a frame of the host's settings into its queue. */
static inline struct pkt *net_post(struct raw *r)
{
    struct pkt *p = net_frame(r);
    p->next = NULL;
    if (p->kind == PKT_ROCE)
        p->roce.psn = (uint32_t)(r->sent + r->net->waiting) & 0xffffff;
    if (r->head)
        r->tail->next = p;
    else
        r->head = p;
    r->tail = p;
    r->net->waiting++;
    fabric_count_waiting(r->net->f, 1);
    port_kick(fabric_port(r->net->f, r->node, 0));
    return p;
}

static inline void net_greedy(struct raw *r, uint32_t dst, int64_t stop_ps)
{
    r->dst = dst;
    r->greedy = true;
    r->stop_ps = stop_ps;
    port_kick(fabric_port(r->net->f, r->node, 0));
}

static inline struct switch_params net_switch(void)
{
    struct switch_params sw;
    switch_params_init(&sw);
    switch_params_map_dscp(&sw, 26, 3);
    return sw;
}

static inline struct link_params net_cable(void)
{
    struct link_params link;
    param_defaults(&link_params_table, &link);
    return link;
}

static inline struct fabric_params net_fabric(void)
{
    struct fabric_params f;
    param_defaults(&fabric_params_table, &f);
    return f;
}

/* Upper quantile of chi-square by Wilson and Hilferty's cube; z: the normal quantile. */
static inline double net_chi_square(double degrees, double z)
{
    double a = 2 / (9 * degrees), b = 1 - a + z * sqrt(a);
    return degrees * b * b * b;
}

#endif
