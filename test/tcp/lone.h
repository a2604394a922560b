/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection whose peer the test plays, segment by segment. Sequence numbers here are relative: 0 is a side's SYN. */
#ifndef RNICSIM_TEST_TCP_LONE_H
#define RNICSIM_TEST_TCP_LONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../../model/cc/cc.h"
#include "../../model/tcp/tcp.h"

#define US SIM_PS_PER_US
#define MS SIM_PS_PER_MS
#define LONE_ISS 0xfffffff0u     /* ours wraps within the first segment */
#define LONE_IRS 0xffffff80u     /* the peer's soon after */

struct lone {
    struct tcp_conn *c;
    struct tcp_params params;
    const struct cc_ops *cc;
    int64_t now;
    uint64_t got, acked;
    enum tcp_state told;
    unsigned told_times;
    int error;
    uint32_t ts;                 /* our peer's timestamp, 0: none is sent */
};

static inline uint32_t lone_fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    (void)user;
    return pkt_add_pattern(p, len, 1, off) ? len : 0;
}
static inline void lone_deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct lone *l = user;
    (void)p, (void)from, (void)now_ps;
    assert_int_equal(off, l->got);
    l->got += len;
    tcp_consumed(l->c, now_ps, l->got);
}
static inline void lone_acked(void *user, int64_t now_ps, uint64_t off)
{
    (void)now_ps;
    ((struct lone *)user)->acked = off;
}
static inline void lone_state(void *user, int64_t now_ps, enum tcp_state state, int error)
{
    struct lone *l = user;
    (void)now_ps;
    l->told = state;
    l->error = error;
    l->told_times++;
}
static const struct tcp_user_ops lone_ops = { .fill = lone_fill, .deliver = lone_deliver, .acked = lone_acked, .state = lone_state };

static inline void lone_new(struct lone *l, const char *cc)
{
    memset(l, 0, sizeof *l);
    param_defaults(&tcp_params_table, &l->params);
    l->params.timestamps = 0;
    l->params.delayed_ack_count = 1;
    l->cc = cc_find(cc);
    l->now = SIM_PS_PER_S;
}
/* After params have been changed. */
static inline void lone_make(struct lone *l)
{
    struct tcp_addr addr = { 1, 2, 10, 20 };
    l->c = tcp_new(&l->params, l->cc, NULL, &addr, 0, 1, INT64_C(100000000000));
    tcp_set_user(l->c, &lone_ops, l);
    tcp_set_isn(l->c, LONE_ISS);
}
static inline void lone_free(struct lone *l) { tcp_free(l->c); }

static inline struct pkt lone_seg(const struct lone *l, unsigned flags, uint32_t seq, uint32_t ack, uint32_t len)
{
    struct pkt p;
    memset(&p, 0, sizeof p);
    p.kind = PKT_TCP;
    p.tcp.flags = (uint8_t)flags;
    p.tcp.seq = LONE_IRS + seq;
    p.tcp.ack = flags & TCP_ACK ? LONE_ISS + ack : 0;
    p.tcp.window = 60000;
    if (l->ts) {
        p.tcp.opt |= TCP_OPT_TS;
        p.tcp.ts_val = l->ts;
    }
    if (len)
        assert_true(pkt_add_pattern(&p, len, 2, seq - 1));
    return p;
}
static inline void lone_rx_pkt(struct lone *l, struct pkt *p)
{
    struct endpoint *ep = tcp_endpoint(l->c);
    pkt_set_len(p);
    ep->ops->rx(ep, l->now, p);
    pkt_release_payload(p);
}
static inline void lone_rx(struct lone *l, unsigned flags, uint32_t seq, uint32_t ack, uint32_t len)
{
    struct pkt p = lone_seg(l, flags, seq, ack, len);
    lone_rx_pkt(l, &p);
}
/* An acknowledgement with one SACK block. */
static inline void lone_sack(struct lone *l, uint32_t ack, uint32_t from, uint32_t to)
{
    struct pkt p = lone_seg(l, TCP_ACK, 1, ack, 0);
    p.tcp.opt |= TCP_OPT_SACK;
    p.tcp.nsack = 1;
    p.tcp.sack[0].from = LONE_ISS + from;
    p.tcp.sack[0].to = LONE_ISS + to;
    lone_rx_pkt(l, &p);
}
/* The next packet, with relative numbers; false: none now. Payload is not kept. */
static inline bool lone_tx(struct lone *l, struct pkt *out)
{
    struct endpoint *ep = tcp_endpoint(l->c);
    memset(out, 0, sizeof *out);
    if (ep->ops->ready_ps(ep) > l->now || !ep->ops->tx(ep, l->now, out))
        return false;
    uint16_t len = out->payload_len;
    pkt_release_payload(out);
    out->payload_len = len;
    out->tcp.seq -= LONE_ISS;
    if (out->tcp.flags & TCP_ACK)
        out->tcp.ack -= LONE_IRS;
    return true;
}
static inline void lone_quiet(struct lone *l)
{
    struct pkt p;
    if (lone_tx(l, &p))
        fail_msg("flags %#x seq %u ack %u len %u sent", p.tcp.flags, p.tcp.seq, p.tcp.ack, p.payload_len);
}
static inline struct pkt lone_expect(struct lone *l, unsigned flags, uint32_t seq, uint32_t ack, uint32_t len)
{
    struct pkt p;
    assert_true(lone_tx(l, &p));
    if (p.tcp.flags != flags || p.tcp.seq != seq || p.tcp.ack != ack || p.payload_len != len)
        fail_msg("flags %#x seq %u ack %u len %u, not %#x %u %u %u", p.tcp.flags, p.tcp.seq, p.tcp.ack, p.payload_len, flags, seq, ack, len);
    return p;
}
/* To the next timer, at most until then. */
static inline void lone_wait(struct lone *l, int64_t until_ps)
{
    struct endpoint *ep = tcp_endpoint(l->c);
    while (ep->ops->next_wake_ps(ep) <= until_ps) {
        l->now = ep->ops->next_wake_ps(ep) > l->now ? ep->ops->next_wake_ps(ep) : l->now;
        ep->ops->wake(ep, l->now);
        if (ep->ops->ready_ps(ep) <= l->now)
            return;
    }
    l->now = until_ps;
}
static inline void lone_offer(struct pkt *p)
{
    p->tcp.opt |= TCP_OPT_MSS | TCP_OPT_SACK_PERM | TCP_OPT_WSCALE;
    p->tcp.mss = 1460;
    p->tcp.wscale = 7;
}
/* Active open to ESTABLISHED; the round trip is 1 ms. */
static inline void lone_open(struct lone *l)
{
    struct pkt p;
    assert_int_equal(tcp_connect(l->c, l->now), SIM_OK);
    assert_true(lone_tx(l, &p));
    l->now += MS;
    p = lone_seg(l, TCP_SYN | TCP_ACK | (l->cc->ecn ? TCP_ECE : 0), 0, 1, 0);
    lone_offer(&p);
    lone_rx_pkt(l, &p);
    lone_expect(l, TCP_ACK, 1, 1, 0);
    lone_rx(l, TCP_ACK, 1, 1, 0);                          /* with a scaled window */
    lone_quiet(l);
    assert_int_equal(tcp_state(l->c), TCP_ESTABLISHED);
}
static inline void lone_write(struct lone *l, uint64_t end) { tcp_stream_end(l->c, l->now, end); }
/* All that may go now; returns the payload bytes. */
static inline uint32_t lone_drain(struct lone *l)
{
    struct pkt p;
    uint32_t bytes = 0;
    while (lone_tx(l, &p))
        bytes += p.payload_len;
    return bytes;
}

#endif
