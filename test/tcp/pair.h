/* SPDX-License-Identifier: GPL-2.0-only */
/* Two ends of the TCP engine in virtual time, with scripted and random losses. */
#ifndef RNICSIM_TEST_TCP_PAIR_H
#define RNICSIM_TEST_TCP_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../model/cc/cc.h"
#include "../../model/sim/rng.h"
#include "../../model/tcp/tcp.h"

#define US SIM_PS_PER_US
#define MS SIM_PS_PER_MS
#define SEED 99
#define FLIGHT_MAX 8192

struct end {
    struct tcp_conn *c;
    struct pair *pair;
    uint64_t got;                /* stream bytes received in order */
    int64_t got_ps;              /* when the last came */
    uint64_t acked;
    int64_t acked_ps;
    bool lazy;                   /* does not consume */
    enum tcp_state told;
    int error;
};

struct flying { int64_t at_ps; uint64_t order; int to; struct pkt p; };

struct pair {
    struct end e[2];
    int64_t now, delay_ps, jitter_ps;
    int64_t gap_ps, free_ps[2];            /* time a packet takes to leave; 0: all at once */
    struct flying *air;
    size_t n;
    uint64_t order;
    struct sim_rng rng;
    double loss, dup, data_loss;           /* data_loss: of end 0's data packets only */
    bool (*see)(struct pair *w, int from, struct pkt *p); /* looks at each packet that leaves, may mark it; true: it is lost */
    void *see_ctx;
    uint64_t data_sent, data_packets, drop_every, resent;
    const uint64_t *drops; size_t ndrops;  /* indices of data packets of end 0 (retransmissions count on) to lose */
};

static inline uint32_t fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    (void)user;
    assert_true(pkt_add_pattern(p, len, SEED, off));
    return len;
}

static inline void deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct end *e = user;
    uint8_t bytes[65536];
    assert_int_equal(off, e->got);
    pkt_payload_read(p, from, len, bytes);
    for (uint32_t i = 0; i < len; i += len > 64 ? 31 : 1)
        assert_int_equal(bytes[i], pkt_pattern_byte(SEED, off + i));
    e->got += len;
    e->got_ps = now_ps;
    if (!e->lazy)
        tcp_consumed(e->c, now_ps, e->got);
}

static inline void acked(void *user, int64_t now_ps, uint64_t off)
{
    struct end *e = user;
    e->acked = off;
    e->acked_ps = now_ps;
}

static inline void moved(void *user, int64_t now_ps, enum tcp_state state, int error)
{
    struct end *e = user;
    (void)now_ps;
    e->told = state;
    e->error = error;
}

static const struct tcp_user_ops pair_ops = { .fill = fill, .deliver = deliver, .acked = acked, .state = moved };

static inline struct pair *pair_new_cc(const struct tcp_params *a, const struct tcp_params *b, int64_t delay_ps, uint32_t isn, const struct cc_ops *cc,
                                       const void *cc_params)
{
    struct pair *w = calloc(1, sizeof *w);
    const struct tcp_params *par[2] = { a, b };
    w->delay_ps = delay_ps;
    w->air = malloc(FLIGHT_MAX * sizeof *w->air);
    for (int i = 0; i < 2; i++) {
        struct tcp_addr addr = { pkt_addr_of_node((uint32_t)i), pkt_addr_of_node((uint32_t)!i), i ? 7 : 10000, i ? 10000 : 7 };
        w->e[i].c = tcp_new(par[i], cc, cc_params, &addr, (uint32_t)i, 1, INT64_C(100000000000));
        w->e[i].pair = w;
        tcp_set_user(w->e[i].c, &pair_ops, &w->e[i]);
        if (isn)
            tcp_set_isn(w->e[i].c, isn);
    }
    assert_int_equal(tcp_accept(w->e[1].c, 0), SIM_OK);
    assert_int_equal(tcp_connect(w->e[0].c, 0), SIM_OK);
    return w;
}

static inline struct pair *pair_new(const struct tcp_params *a, const struct tcp_params *b, int64_t delay_ps, uint32_t isn)
{
    return pair_new_cc(a, b, delay_ps, isn, cc_find("reno"), NULL);
}

static inline void pair_free(struct pair *w)
{
    for (size_t i = 0; i < w->n; i++)
        pkt_release_payload(&w->air[i].p);
    tcp_free(w->e[0].c);
    tcp_free(w->e[1].c);
    free(w->air);
    free(w);
}

static inline bool lost(struct pair *w, int from, const struct pkt *p)
{
    if (from == 0 && p->payload_len) {
        uint64_t k = w->data_packets++;
        w->resent += (p->flags & PKT_F_RETX) != 0;
        for (size_t i = 0; i < w->ndrops; i++)
            if (w->drops[i] == k)
                return true;
        if (w->drop_every && !(p->flags & PKT_F_RETX) && ++w->data_sent % w->drop_every == 0)
            return true;
    }
    if (from == 0 && p->payload_len && w->data_loss > 0 && sim_rng_unit(&w->rng) < w->data_loss)
        return true;
    return w->loss > 0 && sim_rng_unit(&w->rng) < w->loss;
}

static inline void launch(struct pair *w, int to, const struct pkt *p)
{
    assert_true(w->n < FLIGHT_MAX);
    struct flying *f = &w->air[w->n++];
    f->at_ps = w->now + w->delay_ps + (w->jitter_ps ? (int64_t)sim_rng_below(&w->rng, (uint32_t)(w->jitter_ps / 1000)) * 1000 : 0);
    f->order = w->order++;
    f->to = to;
    memset(&f->p, 0, sizeof f->p);
    pkt_copy(&f->p, p);
}

static inline void let_speak(struct pair *w)
{
    for (int i = 0; i < 2; i++) {
        struct endpoint *ep = tcp_endpoint(w->e[i].c);
        while (ep->ops->ready_ps(ep) <= w->now && w->free_ps[i] <= w->now) {
            struct pkt p;
            memset(&p, 0, sizeof p);
            if (!ep->ops->tx(ep, w->now, &p))
                break;
            w->free_ps[i] = w->now + w->gap_ps;
            if (!(w->see && w->see(w, i, &p)) && !lost(w, i, &p)) {
                launch(w, !i, &p);
                if (w->dup > 0 && sim_rng_unit(&w->rng) < w->dup)
                    launch(w, !i, &p);
            }
            pkt_release_payload(&p);
        }
    }
}

/* Run until then, or until nothing more will happen. */
static inline void run(struct pair *w, int64_t until_ps)
{
    for (;;) {
        let_speak(w);
        size_t best = SIZE_MAX;
        int64_t next = SIM_NEVER_PS;
        for (size_t i = 0; i < w->n; i++)
            if (w->air[i].at_ps < next || (w->air[i].at_ps == next && best != SIZE_MAX && w->air[i].order < w->air[best].order)) {
                next = w->air[i].at_ps;
                best = i;
            }
        for (int i = 0; i < 2; i++) {
            struct endpoint *ep = tcp_endpoint(w->e[i].c);
            int64_t t = ep->ops->next_wake_ps(ep), r = ep->ops->ready_ps(ep);
            r = r < w->free_ps[i] ? w->free_ps[i] : r;
            t = r > w->now && r < t ? r : t;
            if (t < next) {
                next = t;
                best = SIZE_MAX;
            }
        }
        if (next == SIM_NEVER_PS || next > until_ps)
            break;
        w->now = next > w->now ? next : w->now;
        if (best != SIZE_MAX) {
            struct flying f = w->air[best];
            w->air[best] = w->air[--w->n];
            struct endpoint *ep = tcp_endpoint(w->e[f.to].c);
            ep->ops->rx(ep, w->now, &f.p);
            pkt_release_payload(&f.p);
        } else {
            for (int i = 0; i < 2; i++) {
                struct endpoint *ep = tcp_endpoint(w->e[i].c);
                if (ep->ops->next_wake_ps(ep) <= w->now)
                    ep->ops->wake(ep, w->now);
            }
        }
    }
    if (until_ps != SIM_NEVER_PS && until_ps > w->now)
        w->now = until_ps;
}

static inline struct tcp_params defaults(void)
{
    struct tcp_params p;
    param_defaults(&tcp_params_table, &p);
    return p;
}

static inline void open_up(struct pair *w)
{
    run(w, w->now + 10 * MS);
    assert_int_equal(tcp_state(w->e[0].c), TCP_ESTABLISHED);
    assert_int_equal(tcp_state(w->e[1].c), TCP_ESTABLISHED);
}

static inline void send_to(struct pair *w, uint64_t end) { tcp_stream_end(w->e[0].c, w->now, end); }

#endif
