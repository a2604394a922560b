/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages over a stream: 8 bytes, big-endian length and tag, then the body. */
#include <stdlib.h>
#include <string.h>

#include "chan_internal.h"

#define HEAD_BYTES 8

struct chan_socket {
    struct wl_chan base;
    struct tcp_socket *sender, *receiver;
    bool     connected;
    uint64_t sent_off, complete_off;                  /* stream offset send() has returned for; end of the oldest not completed */
    uint64_t expect_off;                              /* receiver: end of the head (in_head) or of the message */
    bool     in_head;
    uint8_t  head[HEAD_BYTES];
    uint32_t head_have, tag;
};

static struct chan_socket *socket_of(const struct wl_chan *c) { return (struct chan_socket *)c; }

static int64_t socket_now(const struct wl_chan *c)
{
    return host_now(tcp_endpoint((struct tcp_conn *)tcp_socket_conn(socket_of(c)->sender))->host);
}

static void put32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 24);
    at[1] = (uint8_t)(v >> 16);
    at[2] = (uint8_t)(v >> 8);
    at[3] = (uint8_t)v;
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void socket_send(struct wl_chan *c)
{
    struct chan_socket *k = socket_of(c);
    while (k->connected && !c->broken && c->post_seq < c->tail_seq) {
        uint64_t seq = c->post_seq++;
        uint8_t head[HEAD_BYTES];
        put32(head, (uint32_t)chan_at(c, seq)->bytes);
        put32(head + 4, (uint32_t)seq);
        if (tcp_socket_send(k->sender, head, HEAD_BYTES, chan_at(c, seq)->bytes, (uint64_t)c->id << 32 | (uint32_t)seq) != SIM_OK)
            chan_break_all(c, RNIC_WC_RETRY_EXC_ERR);
    }
}

static void socket_fail(struct wl_chan *c, enum rnic_wc_status status) { chan_break_all(c, status); }

static void on_connected(void *ctx, struct tcp_socket *s)
{
    struct chan_socket *k = ctx;
    if (s == k->sender) {
        k->connected = true;
        socket_send(&k->base);
    }
}

static void on_sent(void *ctx, struct tcp_socket *s, uint64_t bytes)
{
    struct chan_socket *k = ctx;
    struct wl_chan *c = &k->base;
    if (s != k->sender)
        return;
    k->sent_off += bytes;
    while (c->complete_seq < c->post_seq) {
        uint64_t end = k->complete_off + HEAD_BYTES + chan_at(c, c->complete_seq)->bytes;
        if (k->sent_off < end)
            return;
        k->complete_off = end;
        chan_completed(c, RNIC_WC_SUCCESS);
    }
}

/* recv() has returned [off, off + len): pick up heads, pass over bodies. */
static void on_received(void *ctx, struct tcp_socket *s, uint64_t off, uint64_t len)
{
    struct chan_socket *k = ctx;
    uint64_t end = off + len;
    if (s != k->receiver)
        return;
    while (off < end) {
        if (!k->in_head) {
            if (end < k->expect_off)
                return;
            off = k->expect_off;
            k->in_head = true;
            k->head_have = 0;
            if (!chan_delivered(&k->base))
                return;
            continue;
        }
        uint32_t take = HEAD_BYTES - k->head_have;
        if (take > end - off)
            take = (uint32_t)(end - off);
        if (!tcp_socket_peek(s, off, k->head + k->head_have, take))
            abort();                                  /* the socket broke its word */
        k->head_have += take;
        off += take;
        if (k->head_have < HEAD_BYTES)
            return;
        assert(get32(k->head + 4) == (uint32_t)k->base.deliver_seq); /* else the stream is not what was sent */
        k->in_head = false;
        k->expect_off = off + get32(k->head);
    }
}

static void on_closed(void *ctx, struct tcp_socket *s, int error)
{
    struct chan_socket *k = ctx;
    (void)s;
    chan_break_all(&k->base, error ? RNIC_WC_RETRY_EXC_ERR : RNIC_WC_WR_FLUSH_ERR);
}

static uint64_t socket_timeouts(const struct wl_chan *c)
{
    const struct chan_socket *k = socket_of(c);
    return tcp_counters(tcp_socket_conn(k->sender))->timer_waits + tcp_counters(tcp_socket_conn(k->receiver))->timer_waits;
}

static const struct tcp_socket_events no_events = { 0 };

static void socket_free(struct wl_chan *c)
{
    struct chan_socket *k = socket_of(c);
    tcp_socket_on(k->sender, &no_events, NULL);
    tcp_socket_on(k->receiver, &no_events, NULL);
    chan_fini(c);
    free(k);
}

static const struct chan_ops socket_ops = { socket_send, socket_send, socket_fail, socket_timeouts, socket_free };
static const struct tcp_socket_events socket_events = { on_connected, on_sent, on_received, on_closed };

struct wl_chan *wl_chan_socket(uint32_t id, struct tcp_socket *sender, struct tcp_socket *receiver, const struct wl_sink *sink, void *ctx)
{
    struct chan_socket *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    chan_init(&k->base, &socket_ops, id, sink, ctx);
    k->base.now = socket_now;
    k->sender = sender;
    k->receiver = receiver;
    k->in_head = true;
    k->connected = tcp_state(tcp_socket_conn(sender)) == TCP_ESTABLISHED;
    tcp_socket_on(sender, &socket_events, k);
    tcp_socket_on(receiver, &socket_events, k);
    return &k->base;
}
