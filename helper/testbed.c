/* SPDX-License-Identifier: GPL-2.0-only */
#include "testbed.h"

#include <string.h>

#define TURNS_MAX 1000000        /* at one time: more is a fault */
#define CQ_DEPTH 65536
#define LINK_BPS INT64_C(100000000000)

void testbed_init(struct testbed *b, struct endpoint *ep, void (*wire)(void *ctx, struct testbed *b, struct pkt *p), void *ctx)
{
    *b = (struct testbed){ .ep = ep, .wire = wire, .ctx = ctx };
}

/* When tx may be asked: SIM_NEVER_PS, or not before now. */
static int64_t ready_ps(const struct testbed *b)
{
    int64_t t = b->ep->ops->ready_ps(b->ep);
    if (t == SIM_NEVER_PS)
        return t;
    t = t > b->free_ps ? t : b->free_ps;
    return t > b->now_ps ? t : b->now_ps;
}

static int64_t wake_ps(const struct testbed *b)
{
    int64_t t = b->ep->ops->next_wake_ps(b->ep);
    return t > b->now_ps ? t : b->now_ps;
}

int64_t testbed_next_ps(const struct testbed *b)
{
    int64_t ready = ready_ps(b), wake = wake_ps(b);
    return ready < wake ? ready : wake;
}

void testbed_rx(struct testbed *b, struct pkt *p) { b->ep->ops->rx(b->ep, b->now_ps, p); }

static bool transmit(struct testbed *b)
{
    struct pkt p;
    memset(&p, 0, sizeof p);
    if (!b->ep->ops->tx(b->ep, b->now_ps, &p))
        return false;
    b->sent++;
    if (b->rate_bps > 0)
        b->free_ps = b->now_ps + (int64_t)((uint64_t)(p.frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES) * 8 * (uint64_t)SIM_PS_PER_S / (uint64_t)b->rate_bps);
    if (b->wire)
        b->wire(b->ctx, b, &p);
    pkt_release_payload(&p);
    return true;
}

/* true: something was done, ask again. */
static bool turn(struct testbed *b)
{
    bool woken = b->ep->ops->next_wake_ps(b->ep) <= b->now_ps;
    if (woken)
        b->ep->ops->wake(b->ep, b->now_ps);
    return (ready_ps(b) <= b->now_ps && transmit(b)) || woken;
}

bool testbed_settle(struct testbed *b)
{
    for (int i = 0; i < TURNS_MAX; i++)
        if (!turn(b))
            return true;
    return false;
}

bool testbed_step(struct testbed *b, int64_t until_ps)
{
    int64_t ready = ready_ps(b), next = wake_ps(b);
    /* ready now and yet nothing came: it waits for something else */
    if (ready > b->now_ps && ready < next)
        next = ready;
    if (next == SIM_NEVER_PS || next > until_ps)
        return false;
    b->now_ps = next;
    (void)testbed_settle(b);
    return true;
}

bool testbed_run(struct testbed *b, int64_t until_ps)
{
    if (!testbed_settle(b))
        return false;
    while (testbed_step(b, until_ps))
        ;
    if (until_ps != SIM_NEVER_PS && until_ps > b->now_ps)
        b->now_ps = until_ps;
    return testbed_settle(b);
}

/* --- RNIC --- */

static int open_rnic(struct testbed_rnic *r, const struct testbed_spec *spec)
{
    memset(r, 0, sizeof *r);
    r->dev = rnic_dev_new(NULL, 64);
    r->pd = r->dev ? rnic_pd_new(r->dev) : NULL;
    r->cq = r->pd ? rnic_cq_new(r->dev, CQ_DEPTH, 0, spec->on_wc, spec->ctx) : NULL;
    return r->cq ? SIM_OK : SIM_ERR_NOMEM;
}

static int opened(struct testbed_rnic *r)
{
    if (r->qp)
        return SIM_OK;
    testbed_rnic_free(r);
    return SIM_ERR_PARAM;
}

int testbed_roce(struct testbed_rnic *r, const struct testbed_spec *spec)
{
    if (open_rnic(r, spec) == SIM_OK)
        r->qp = roce_qp_new(r->dev, r->pd, r->cq, r->cq, spec->roce, spec->cc, spec->cc_params, spec->link_bps ? spec->link_bps : LINK_BPS, spec->id, spec->seed);
    return opened(r);
}

int testbed_iwarp(struct testbed_rnic *r, const struct testbed_spec *spec)
{
    if (open_rnic(r, spec) == SIM_OK)
        r->qp = iwarp_qp_new(r->dev, r->pd, r->cq, r->cq, spec->iwarp, spec->tcp, spec->cc ? spec->cc : cc_find("reno"), spec->cc_params,
                             spec->link_bps ? spec->link_bps : LINK_BPS, spec->id, spec->seed);
    return opened(r);
}

void testbed_rnic_free(struct testbed_rnic *r)
{
    if (r->dev)
        rnic_dev_free(r->dev);
    memset(r, 0, sizeof *r);
}

/* --- TCP --- */

static uint32_t stream_fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    struct testbed_stream *t = user;
    return pkt_add_pattern(p, len, t->seed, off) ? len : 0;
}

static void stream_deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct testbed_stream *t = user;
    t->received = off + len;
    t->received_ps = now_ps;
    if (t->deliver)
        t->deliver(t->ctx, now_ps, off, p, from, len);
    if (!t->lazy)
        tcp_consumed(t->conn, now_ps, t->received);
}

static void stream_acked(void *user, int64_t now_ps, uint64_t off)
{
    struct testbed_stream *t = user;
    t->acked = off;
    t->acked_ps = now_ps;
}

static void stream_state(void *user, int64_t now_ps, enum tcp_state state, int error)
{
    struct testbed_stream *t = user;
    (void)now_ps;
    t->told = true;
    t->state = state;
    t->error = error;
}

static const struct tcp_user_ops stream_ops = { .fill = stream_fill, .deliver = stream_deliver, .acked = stream_acked, .state = stream_state };

int testbed_tcp(struct testbed_stream *t, const struct testbed_spec *spec, const struct tcp_addr *addr)
{
    memset(t, 0, sizeof *t);
    t->seed = spec->seed;
    t->conn = tcp_new(spec->tcp, spec->cc ? spec->cc : cc_find("reno"), spec->cc_params, addr, spec->id, spec->seed, spec->link_bps ? spec->link_bps : LINK_BPS);
    if (!t->conn)
        return SIM_ERR_NOMEM;
    tcp_set_user(t->conn, &stream_ops, t);
    return SIM_OK;
}

void testbed_tcp_free(struct testbed_stream *t)
{
    tcp_free(t->conn);
    t->conn = NULL;
}
