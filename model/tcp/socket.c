/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel sockets: the stream's content as records, blocking send() and recv() at the host's cost. */
#include "socket.h"

#include <stdlib.h>
#include <string.h>

#define TTL 64
#define HEAD_MAX PKT_LITERAL_MAX

/* What one send() wrote: [off, off + head_len + body_len) of the stream. */
struct record { uint64_t off, body_len, seed; uint32_t head_len; uint8_t head[HEAD_MAX]; };

/* In-order payload that recv() has not passed on yet. */
struct piece { struct piece *next; uint64_t off; uint32_t at, len; struct pkt pkt; };

struct tcp_socket {
    struct tcp_conn *conn;
    struct host *host;
    const struct tcp_params *params;
    const struct cc_ops *cc;
    const void *cc_params;
    const struct tcp_socket_events *ev;
    void *ctx;
    uint32_t core, id;
    uint8_t prio, dscp;
    struct tcp_addr addr;
    /* sending: records by index; [head, tail) are not wholly acknowledged, those before call have returned to the application */
    struct record *ring;
    uint64_t head, call, tail;
    uint32_t cap;
    uint64_t end, written;       /* of the stream: given by the application, in the socket buffer */
    uint64_t copying;            /* bytes that the system call under way copies; 0: none */
    /* receiving */
    struct piece *first, *last, *spare;
    uint64_t received, passed;   /* stream offsets: in order here, read by the application */
    uint64_t reading;            /* bytes that the recv() under way takes; 0: none */
};

static struct record *record_at(const struct tcp_socket *s, uint64_t i) { return &s->ring[i & (s->cap - 1)]; }
static uint64_t record_end(const struct record *r) { return r->off + r->head_len + r->body_len; }

/* --- the stream's content --- */

static uint64_t record_of(const struct tcp_socket *s, uint64_t off)
{
    uint64_t lo = s->head, hi = s->tail;
    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (record_at(s, mid)->off <= off)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Bytes [off, off + len) of one record, as far as one chunk goes; false: no slot. */
static bool add_part(struct pkt *p, const struct record *r, uint64_t off, uint32_t *len)
{
    uint64_t at = off - r->off;
    if (at < r->head_len) {
        if (*len > r->head_len - at)
            *len = (uint32_t)(r->head_len - at);
        return pkt_add_literal(p, r->head + at, *len);
    }
    uint64_t left = record_end(r) - off;
    if (*len > left)
        *len = (uint32_t)left;
    return pkt_add_pattern(p, *len, r->seed, at - r->head_len);
}

static void put_bytes(const struct tcp_socket *s, uint64_t i, uint64_t off, uint32_t len, uint8_t *out)
{
    for (uint32_t k = 0; k < len; k++, off++) {
        while (off >= record_end(record_at(s, i)))
            i++;
        const struct record *r = record_at(s, i);
        uint64_t at = off - r->off;
        out[k] = at < r->head_len ? r->head[at] : pkt_pattern_byte(r->seed, at - r->head_len);
    }
}

static uint32_t fill(void *user, uint64_t off, uint32_t len, struct pkt *p)
{
    const struct tcp_socket *s = user;
    uint64_t i = record_of(s, off);
    uint32_t done = 0;
    assert(s->head < s->tail && off >= record_at(s, i)->off && off + len <= s->written);
    while (done < len) {
        const struct record *r = record_at(s, i);
        uint32_t part = len - done;
        /* The last slot takes all that is left, as bytes if it is more than one run. */
        bool last_slot = p->nchunks == PKT_CHUNK_MAX - 1;
        uint64_t at = off + done - r->off;
        uint64_t run = at < r->head_len ? r->head_len - at : record_end(r) - (off + done);
        if (last_slot && run < part) {
            uint8_t *bytes = malloc(part);
            if (!bytes)
                return done;
            put_bytes(s, i, off + done, part, bytes);
            bool ok = pkt_add_bytes(p, bytes, part);
            free(bytes);
            return ok ? len : done;
        }
        if (!add_part(p, r, off + done, &part))
            return done;
        done += part;
        if (off + done == record_end(r))
            i++;
    }
    return done;
}

/* --- sending --- */

static void copied(struct sim *sim, void *ctx, void *arg);

/* The system call under way copies what fits; a writer that found the buffer full sleeps until a third of it is free. */
static void go_on_sending(struct tcp_socket *s)
{
    if (s->copying || s->written == s->end || tcp_state(s->conn) == TCP_CLOSED)
        return;
    const struct record *r = record_at(s, s->call);
    uint64_t left = record_end(r) - s->written, held = s->written - tcp_snd_una(s->conn), size = (uint64_t)s->params->send_buffer_bytes;
    uint64_t space = size > held ? size - held : 0, least = left < size / 3 ? left : size / 3;
    if (space < least || space == 0)
        return;
    s->copying = left < space ? left : space;
    host_syscall_send(s->host, s->core, s->copying, copied, s, NULL);
}

static void copied(struct sim *sim, void *ctx, void *arg)
{
    struct tcp_socket *s = ctx;
    (void)arg;
    s->written += s->copying;
    s->copying = 0;
    tcp_stream_end(s->conn, sim_now(sim), s->written);
    const struct record *r = record_at(s, s->call);
    bool returned = s->written == record_end(r);
    uint64_t bytes = r->head_len + r->body_len;
    if (returned)
        s->call++;
    endpoint_changed(tcp_endpoint(s->conn));
    go_on_sending(s);
    if (returned && s->ev && s->ev->sent)
        s->ev->sent(s->ctx, s, bytes);
}

static void acked(void *user, int64_t now_ps, uint64_t off)
{
    struct tcp_socket *s = user;
    (void)now_ps;
    while (s->head < s->call && record_end(record_at(s, s->head)) <= off)
        s->head++;
    go_on_sending(s);
}

int tcp_socket_send(struct tcp_socket *s, const void *head, uint32_t head_len, uint64_t body_len, uint64_t seed)
{
    if (head_len > HEAD_MAX || head_len + body_len == 0)
        return SIM_ERR_PARAM;
    if (!s->conn || tcp_state(s->conn) == TCP_CLOSED)
        return SIM_ERR_STATE;
    if (s->tail - s->head == s->cap) {
        uint32_t cap = s->cap ? 2 * s->cap : 16;
        struct record *grown = malloc(cap * sizeof *grown);
        if (!grown)
            return SIM_ERR_NOMEM;
        for (uint64_t i = s->head; i < s->tail; i++)
            grown[i & (cap - 1)] = *record_at(s, i);
        free(s->ring);
        s->ring = grown;
        s->cap = cap;
    }
    struct record *r = record_at(s, s->tail++);
    *r = (struct record){ .off = s->end, .body_len = body_len, .seed = seed, .head_len = head_len };
    memcpy(r->head, head, head_len);
    s->end += head_len + body_len;
    go_on_sending(s);
    return SIM_OK;
}

/* --- receiving --- */

static void read_returned(struct sim *sim, void *ctx, void *arg);

static void go_on_reading(struct tcp_socket *s)
{
    if (s->reading || s->received == s->passed)
        return;
    s->reading = s->received - s->passed;
    host_syscall_recv(s->host, s->core, s->reading, read_returned, s, NULL);
}

static void drop_read(struct tcp_socket *s)
{
    while (s->first && s->first->off + s->first->len <= s->passed) {
        struct piece *p = s->first;
        s->first = p->next;
        if (!s->first)
            s->last = NULL;
        pkt_release_payload(&p->pkt);
        p->next = s->spare;
        s->spare = p;
    }
}

static void read_returned(struct sim *sim, void *ctx, void *arg)
{
    struct tcp_socket *s = ctx;
    uint64_t off = s->passed, len = s->reading;
    (void)arg;
    s->passed += len;
    s->reading = 0;
    if (s->ev && s->ev->received)
        s->ev->received(s->ctx, s, off, len);
    drop_read(s);
    tcp_consumed(s->conn, sim_now(sim), s->passed);
    endpoint_changed(tcp_endpoint(s->conn));
    go_on_reading(s);
}

static void deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len)
{
    struct tcp_socket *s = user;
    struct piece *piece = s->spare ? s->spare : malloc(sizeof *piece);
    (void)now_ps;
    if (!piece)
        abort();
    if (piece == s->spare)
        s->spare = piece->next;
    *piece = (struct piece){ .off = off, .at = from, .len = len };
    pkt_copy(&piece->pkt, p);
    if (s->last)
        s->last->next = piece;
    else
        s->first = piece;
    s->last = piece;
    s->received = off + len;
    go_on_reading(s);
}

bool tcp_socket_peek(const struct tcp_socket *s, uint64_t off, void *out, uint32_t len)
{
    uint8_t *to = out;
    for (const struct piece *p = s->first; p && len; p = p->next) {
        if (off < p->off)
            return false;
        if (off >= p->off + p->len)
            continue;
        uint64_t skip = off - p->off, room = p->len - skip;
        uint32_t take = len < room ? len : (uint32_t)room;
        pkt_payload_read(&p->pkt, p->at + (uint32_t)skip, take, to);
        to += take;
        off += take;
        len -= take;
    }
    return len == 0;
}

/* --- life --- */

/* States that the user is told of when the peer's FIN arrives. */
static bool peer_closed(enum tcp_state state) { return state == TCP_CLOSE_WAIT || state == TCP_CLOSING || state == TCP_TIME_WAIT; }

static void moved(void *user, int64_t now_ps, enum tcp_state state, int error)
{
    struct tcp_socket *s = user;
    (void)now_ps;
    if (!s->ev)
        return;
    if (state == TCP_ESTABLISHED && s->ev->connected)
        s->ev->connected(s->ctx, s);
    else if ((peer_closed(state) || (state == TCP_CLOSED && error)) && s->ev->closed)
        s->ev->closed(s->ctx, s, error);
}

static const struct tcp_user_ops user_ops = { .fill = fill, .deliver = deliver, .acked = acked, .state = moved };

struct tcp_socket *tcp_socket_new(struct host *h, uint32_t core, const struct tcp_params *params, const struct cc_ops *cc,
                                  const void *cc_params, uint32_t id, uint8_t prio, uint8_t dscp)
{
    struct tcp_socket *s = calloc(1, sizeof *s);
    if (s)
        *s = (struct tcp_socket){ .host = h, .params = params, .cc = cc, .cc_params = cc_params, .core = core, .id = id, .prio = prio, .dscp = dscp };
    return s;
}

void tcp_socket_free(struct tcp_socket *s)
{
    if (!s)
        return;
    if (s->conn) {
        host_unbind_tcp(s->host, s->addr.remote_addr, s->addr.remote_port, s->addr.local_port);
        host_detach(s->host, tcp_endpoint(s->conn));
        tcp_free(s->conn);
    }
    for (struct piece *p = s->first, *next; p; p = next) {
        next = p->next;
        pkt_release_payload(&p->pkt);
        free(p);
    }
    for (struct piece *p = s->spare, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    free(s->ring);
    free(s);
}

void tcp_socket_on(struct tcp_socket *s, const struct tcp_socket_events *ev, void *ctx)
{
    s->ev = ev;
    s->ctx = ctx;
}

static int open_conn(struct tcp_socket *s, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port)
{
    if (s->conn)
        return SIM_ERR_STATE;
    s->addr = (struct tcp_addr){ host_addr(s->host), remote_addr, local_port, remote_port };
    s->conn = tcp_new(s->params, s->cc, s->cc_params, &s->addr, s->id, sim_seed(host_sim(s->host)), host_link_bps(s->host));
    if (!s->conn)
        return SIM_ERR_NOMEM;
    struct endpoint *ep = tcp_endpoint(s->conn);
    tcp_set_user(s->conn, &user_ops, s);
    tcp_set_ip(s->conn, s->dscp, TTL);
    ep->prio = ep->urgent_prio = s->prio;
    host_attach(s->host, ep);
    host_set_offloaded(s->host, ep, false);
    host_set_core(s->host, ep, s->core);
    return host_bind_tcp(s->host, remote_addr, remote_port, local_port, ep);
}

int tcp_socket_connect(struct tcp_socket *s, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port)
{
    int rc = open_conn(s, remote_addr, remote_port, local_port);
    if (rc != SIM_OK)
        return rc;
    rc = tcp_connect(s->conn, host_now(s->host));
    endpoint_changed(tcp_endpoint(s->conn));
    return rc;
}

int tcp_socket_accept(struct tcp_socket *s, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port)
{
    int rc = open_conn(s, remote_addr, remote_port, local_port);
    return rc == SIM_OK ? tcp_accept(s->conn, host_now(s->host)) : rc;
}

void tcp_socket_close(struct tcp_socket *s)
{
    if (!s->conn)
        return;
    tcp_close(s->conn, host_now(s->host));
    endpoint_changed(tcp_endpoint(s->conn));
}

const struct tcp_conn *tcp_socket_conn(const struct tcp_socket *s) { return s->conn; }
