/* SPDX-License-Identifier: GPL-2.0-only */
/** Flows of segments between two hosts, for tests of what hosts and NICs charge. Include after cmocka.h. */
#ifndef RNICSIM_TEST_HOST_FLOWS_H
#define RNICSIM_TEST_HOST_FLOWS_H

#include <stdlib.h>

#include "../../model/wire/codec.h"
#include "two_hosts.h"

#define NS SIM_PS_PER_NS
#define BODY 1000

/* A sender of `left` segments, TCP or RoCE, and the record of what the other end got. */
struct flow { struct endpoint ep; enum pkt_kind kind; uint32_t dst, number, left, seq; uint8_t flags; uint64_t got; int64_t first_ps, last_ps; };
#define FLOWS_MAX 64
struct world { struct two_hosts n; struct flow flow[2 * FLOWS_MAX]; };

static inline bool flow_tx(struct endpoint *ep, int64_t now_ps, struct pkt *out)
{
    struct flow *f = (struct flow *)ep;
    (void)now_ps;
    if (!f->left)
        return false;
    f->left--;
    out->kind = (uint8_t)f->kind;
    out->src = host_addr(ep->host);
    out->dst = pkt_addr_of_node(f->dst);
    out->ttl = 64;
    out->flags = f->flags;
    if (f->kind == PKT_TCP) {
        out->sport = out->dport = (uint16_t)f->number;
        out->tcp.flags = TCP_ACK;
        out->tcp.seq = f->seq;
        f->seq += BODY;
    } else {
        out->dport = WIRE_ROCE_PORT;
        out->roce.opcode = ROCE_SEND_ONLY;
        out->roce.dqpn = f->number;
    }
    pkt_add_pattern(out, BODY, 1, 0);
    pkt_set_len(out);
    return true;
}

static inline void flow_rx(struct endpoint *ep, int64_t now_ps, struct pkt *p)
{
    struct flow *f = (struct flow *)ep;
    (void)p;
    if (f->got++ == 0)
        f->first_ps = now_ps;
    f->last_ps = now_ps;
}

static inline void flow_wake(struct endpoint *ep, int64_t now_ps) { (void)ep; (void)now_ps; }
static inline int64_t flow_ready(const struct endpoint *ep) { return ((const struct flow *)ep)->left ? 0 : SIM_NEVER_PS; }
static inline int64_t flow_next(const struct endpoint *ep) { (void)ep; return SIM_NEVER_PS; }
static const struct endpoint_ops flow_ops = { .rx = flow_rx, .tx = flow_tx, .wake = flow_wake, .ready_ps = flow_ready, .next_wake_ps = flow_next };

/* Flows 0 .. n-1 at host 0 send to flows n .. 2n-1 at host 1, and those to them. Host 0 costs `tx`, host 1 `rx`. */
static inline struct world *world_of(const struct host_params *tx, const struct host_params *rx, enum pkt_kind kind, uint32_t n)
{
    struct world *w = calloc(1, sizeof *w);
    two_hosts_open(&w->n, tx, rx);
    for (uint32_t k = 0; k < 2 * n; k++) {
        struct flow *f = &w->flow[k];
        struct host *h = w->n.h[k / n];
        *f = (struct flow){ .ep = { .ops = &flow_ops, .id = k }, .kind = kind, .dst = k < n, .number = 1 + k % n };
        host_attach(h, &f->ep);
        int status = kind == PKT_TCP ? host_bind_tcp(h, host_addr(w->n.h[!(k / n)]), (uint16_t)f->number, (uint16_t)f->number, &f->ep)
                                     : host_bind_roce(h, f->number, &f->ep);
        assert_int_equal(status, SIM_OK);
    }
    return w;
}

static inline struct world *world(const struct host_params *tx, const struct host_params *rx, enum pkt_kind kind) { return world_of(tx, rx, kind, 2); }

static inline void send_segments(struct world *w, uint32_t flow, uint32_t n)
{
    w->flow[flow].left = n;
    endpoint_changed(&w->flow[flow].ep);
}

static inline void world_free(struct world *w)
{
    two_hosts_close(&w->n);
    free(w);
}

static inline struct host_params profile(const char *name)
{
    struct host_params p;
    host_profile_apply(host_profile_find(name), &p);
    return p;
}

#endif
