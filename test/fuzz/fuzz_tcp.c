/* SPDX-License-Identifier: GPL-2.0-only */
/* A TCP connection that is sent any segments: flags, numbers near what it expects or far from it, option bytes in any order and length. Each
 * segment crosses as bytes. The first byte sets the connection up, then records follow: kind, flags, distances, options, payload. */
#include <stdlib.h>
#include <string.h>

#include "../../model/cc/cc.h"
#include "../../model/tcp/tcp.h"
#include "../../model/wire/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input { const uint8_t *at, *end; };
struct talk { struct tcp_conn *c; struct endpoint *ep; int64_t now; uint32_t peer_seq, seen_seq; uint64_t delivered; int steps; };

static uint32_t take(struct input *in) { return in->at < in->end ? *in->at++ : 0; }

static uint32_t fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    (void)user;
    return pkt_add_pattern(p, len, 1, off) ? len : 0;
}

static void deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct talk *t = user;
    uint8_t b[64];
    if (off != t->delivered)
        abort(); /* in order, each byte once */
    pkt_payload_read(p, from, len < sizeof b ? len : (uint32_t)sizeof b, b);
    t->delivered += len;
    tcp_consumed(t->c, now_ps, off + len);
}

static void acked(void *user, int64_t now_ps, uint64_t off) { (void)user, (void)now_ps, (void)off; }
static void state(void *user, int64_t now_ps, enum tcp_state s, int error) { (void)user, (void)now_ps, (void)s, (void)error; }
static const struct tcp_user_ops ops = { .fill = fill, .deliver = deliver, .acked = acked, .state = state };

static void drain(struct talk *t)
{
    for (int k = 0; k < 64 && t->ep->ops->ready_ps(t->ep) <= t->now; k++) {
        struct pkt p;
        uint8_t frame[2048];
        memset(&p, 0, sizeof p);
        if (!t->ep->ops->tx(t->ep, t->now, &p))
            break;
        t->seen_seq = p.tcp.seq + p.payload_len + (p.tcp.flags & (TCP_SYN | TCP_FIN) ? 1 : 0);
        if (wire_encode(&p, NULL, frame, sizeof frame) == 0)
            abort(); /* what it sends can be sent */
        pkt_release_payload(&p);
    }
}

static void wait(struct talk *t, int64_t ps)
{
    int64_t until = t->now + ps;
    for (int k = 0; k < 100; k++) {
        int64_t next = t->ep->ops->next_wake_ps(t->ep);
        drain(t);
        if (next > until)
            break;
        t->now = next > t->now ? next : t->now;
        t->ep->ops->wake(t->ep, t->now);
    }
    t->now = until;
    drain(t);
}

static void segment(struct talk *t, struct input *in)
{
    static const int32_t far[] = { 0, 1, -1, 1460, -1460, 65535, 0x40000000, INT32_MIN };
    uint32_t flags = take(in), numbers = take(in), opt = take(in) % 41, len = take(in);
    struct wire_l3 l3;
    struct pkt p, got;
    uint8_t frame[2048];
    memset(&l3, 0, sizeof l3);
    memset(&p, 0, sizeof p);
    p.kind = PKT_TCP;
    p.src = 2;
    p.dst = 1;
    p.sport = 20;
    p.dport = 10;
    p.ttl = 64;
    p.ecn = numbers >> 6;
    p.tcp.seq = t->peer_seq + (uint32_t)far[numbers & 7];
    p.tcp.ack = t->seen_seq + (uint32_t)far[numbers >> 3 & 7];
    p.tcp.flags = (uint8_t)flags;
    p.tcp.window = (uint16_t)(take(in) * 256);
    (void)pkt_add_pattern(&p, len, 2, 0);
    opt = opt / 4 * 4;
    l3.tcp_opt_len = (uint8_t)opt;
    for (uint32_t i = 0; i < opt; i++)
        l3.tcp_opt[i] = (uint8_t)take(in);
    size_t n = wire_encode(&p, &l3, frame, sizeof frame);
    enum wire_status s = wire_decode(frame, n, &got, NULL);
    if (s == WIRE_OK) {
        if ((numbers & 7) == 0)
            t->peer_seq += len + (flags & TCP_SYN ? 1 : 0) + (flags & TCP_FIN ? 1 : 0);
        t->ep->ops->rx(t->ep, t->now, &got);
    }
    pkt_release_payload(&got);
    drain(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, data + size };
    struct talk t = { .peer_seq = 1000 };
    struct tcp_params par;
    struct tcp_addr addr = { 1, 2, 10, 20 };
    uint32_t set = take(&in);
    if (tcp_params_preset(&par, set & 1 ? "toe" : "kernel"))
        abort();
    par.retries = 3;
    t.c = tcp_new(&par, cc_find(set & 2 ? "cubic" : "reno") ? cc_find(set & 2 ? "cubic" : "reno") : cc_find("reno"), NULL, &addr, 1, 1, INT64_C(100000000000));
    t.ep = tcp_endpoint(t.c);
    tcp_set_user(t.c, &ops, &t);
    if (set & 4 ? tcp_connect(t.c, 0) : tcp_accept(t.c, 0))
        abort();
    tcp_stream_end(t.c, 0, 3000);
    drain(&t);
    while (in.at < in.end) {
        uint32_t what = take(&in);
        switch (what & 7) {
        case 0: wait(&t, (int64_t)(what + 1) * SIM_PS_PER_MS); break;
        case 1: tcp_close(t.c, t.now); drain(&t); break;
        case 2: tcp_set_path_mss(t.c, what * 8); break;
        default: segment(&t, &in); break;
        }
    }
    wait(&t, 100 * SIM_PS_PER_S);
    tcp_free(t.c);
    return 0;
}
