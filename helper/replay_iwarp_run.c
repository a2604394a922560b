/* SPDX-License-Identifier: GPL-2.0-only */
/* Our iWARP QP in place of one side. The other side's segments come as captured, their acknowledgements moved to our sequence numbers and
 * never ahead of what ours has sent. What ours sends is put together to a stream and compared as start-up frame and FPDUs. */
#include "replay_iwarp.h"

#include "testbed.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_DEPTH 65536
#define PAYLOAD_VA UINT64_C(0x10000)
#define RECV_BYTES (UINT32_C(1) << 31)
#define AFTERWARDS_PS SIM_PS_PER_S /* what ours may still want to send when the capture has ended */

struct run {
    struct replay_case c;
    struct replay_conn *conn;
    struct replay_iw_deeds d;
    struct iwarp_params params;
    struct tcp_params tcp;
    struct testbed_rnic card;
    struct testbed bed;
    struct rnic_mr *payload;
    struct tcp_stream ours;
    uint32_t seq, ts_val;            /* ours: one past the highest sent; its latest timestamp */
    bool     sent, ended;            /* ours has sent anything; a FIN or RST */
    bool     peer_reset;             /* by a captured RST */
    uint32_t post;
};

static void nothing(void *ctx, const struct rnic_wc *wc) { (void)ctx; (void)wc; }

/* --- what ours sends --- */

static void on_wire(void *ctx, struct testbed *b, struct pkt *p)
{
    struct run *u = ctx;
    const struct pkt_tcp *t = &p->tcp;
    (void)b;
    uint32_t end = t->seq + p->payload_len + (t->flags & TCP_SYN ? 1 : 0) + (t->flags & TCP_FIN ? 1 : 0);
    if (!u->sent || wire_seq_diff(end, u->seq) > 0)
        u->seq = end;
    u->sent = true;
    if (t->opt & TCP_OPT_TS)
        u->ts_val = t->ts_val;
    u->ended |= (t->flags & (TCP_FIN | TCP_RST)) != 0;
    if (tcp_stream_take(&u->ours, p) & TCP_STREAM_DIFFERS)
        replay_differs(&u->c, 0, "bytes that ours sent again", "as before", "others");
}

/* --- set-up --- */

static const struct replay_script *own_script(const struct run *u) { return &u->conn->script[u->c.side]; }
static const struct replay_script *peer_script(const struct run *u) { return &u->conn->script[!u->c.side]; }

static const struct pkt *syn_of(const struct replay_conn *c, unsigned side)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->item[i].side == side && (c->item[i].f->p.tcp.flags & TCP_SYN))
            return &c->item[i].f->p;
    return NULL;
}

static int64_t rtr_of(const struct mpa_start *m)
{
    unsigned set = (unsigned)(m->rtr_send << 2 | m->rtr_write << 1 | m->rtr_read);
    static const uint8_t param[8] = { IWARP_RTR_NONE, IWARP_RTR_READ, IWARP_RTR_WRITE, IWARP_RTR_WRITE_READ, IWARP_RTR_SEND, IWARP_RTR_ANY,
                                      IWARP_RTR_ANY, IWARP_RTR_ANY };
    return m->p2p_a ? param[set] : IWARP_RTR_NONE;
}

static void settings(struct run *u, const struct pkt *syn)
{
    const struct replay_script *own = own_script(u);
    struct iwarp_params *p = &u->params;
    param_defaults(&iwarp_params_table, p);
    (void)tcp_params_preset(&u->tcp, "linux");
    u->tcp.mss_bytes = syn->tcp.opt & TCP_OPT_MSS ? syn->tcp.mss : u->tcp.mss_bytes;
    u->tcp.timestamps = (syn->tcp.opt & TCP_OPT_TS) != 0;
    u->tcp.sack = (syn->tcp.opt & TCP_OPT_SACK_PERM) != 0;
    u->tcp.window_scale = (syn->tcp.opt & TCP_OPT_WSCALE) != 0;
    u->tcp.initial_window_count = 1000; /* when a segment leaves does not count */
    p->sq_depth = p->rq_depth = QUEUE_DEPTH;
    if (own->status != MPA_START_OK)
        return;
    p->crc = (own->start.flags & MPA_F_CRC) != 0;
    p->markers = (own->start.flags & MPA_F_MARKERS) != 0;
    if (!own->start.reply) {
        p->mpa_revision = own->start.revision;
        p->rtr = rtr_of(&own->start);
    }
    if (own->start.flags & MPA_F_ENHANCED) {
        p->ird = own->start.ird;
        p->ord = own->start.ord;
    }
}

static int connect_qp(struct run *u)
{
    const struct replay_conn *c = u->conn;
    const struct replay_script *own = own_script(u);
    unsigned side = u->c.side;
    struct iwarp_peer peer = { .addr = { c->addr[side], c->addr[!side], c->port[side], c->port[!side] }, .ttl = 64 };
    for (uint32_t i = c->n; i-- > 0;)
        if (c->item[i].side == side)
            peer.dscp = c->item[i].f->p.dscp;
    if (own->status == MPA_START_OK && own->private_len) {
        int bad = iwarp_qp_set_private_data(u->card.qp, own->private_data, own->private_len);
        if (bad)
            return bad;
    }
    if (own->status == MPA_START_OK && own->start.reply && own->start.flags & MPA_F_REJECT)
        iwarp_qp_set_reject(u->card.qp);
    return c->opener == side ? iwarp_qp_connect(u->card.qp, &peer, NULL, NULL) : iwarp_qp_accept(u->card.qp, &peer, NULL, NULL);
}

static int post_receives(struct run *u)
{
    struct rnic_mr *mr = rnic_mr_reg(u->card.pd, 0, RECV_BYTES, RNIC_LOCAL_WRITE, NULL);
    for (uint32_t i = 0; mr != NULL && i < u->d.receives; i++) {
        bool shorter = i + 1 == u->d.receives && u->d.short_receive != UINT32_MAX;
        struct rnic_recv_wr wr = { i, { 0, shorter ? u->d.short_receive : RECV_BYTES, rnic_mr_key(mr) } };
        int bad = rnic_post_recv(u->card.qp, &wr);
        if (bad)
            return bad;
    }
    return mr != NULL ? SIM_OK : SIM_ERR_NOMEM;
}

static int set_up(struct run *u)
{
    settings(u, syn_of(u->conn, u->c.side));
    struct testbed_spec spec = { .iwarp = &u->params, .tcp = &u->tcp, .on_wc = nothing };
    int bad = testbed_iwarp(&u->card, &spec);
    if (bad)
        return bad;
    testbed_init(&u->bed, &u->card.qp->ep, on_wire, u);
    u->payload = rnic_mr_reg(u->card.pd, PAYLOAD_VA, u->d.payload_len + 1, RNIC_LOCAL_WRITE, u->d.payload);
    bad = u->payload == NULL ? SIM_ERR_NOMEM : replay_memory_register(&u->d.memory, u->card.pd);
    if (!bad)
        bad = post_receives(u);
    return bad ? bad : connect_qp(u);
}

/* --- the peer's segments --- */

static void feed(struct run *u, const struct replay_frame *f)
{
    struct pkt p;
    if (f->status != WIRE_OK) {
        u->c.malformed++;
        return;
    }
    u->peer_reset |= (f->p.tcp.flags & TCP_RST) != 0;
    pkt_copy(&p, &f->p);
    if (u->sent && p.tcp.flags & TCP_ACK) {
        const struct pkt *own_syn = syn_of(u->conn, u->c.side);
        uint32_t shift = u->ours.first_seq - 1 - own_syn->tcp.seq, kept = 0;
        p.tcp.ack += shift;
        if (wire_seq_diff(p.tcp.ack, u->seq) > 0)
            p.tcp.ack = u->seq; /* when what is acknowledged left does not count */
        for (unsigned i = 0; i < p.tcp.nsack; i++) {
            uint32_t from = p.tcp.sack[i].from + shift, to = p.tcp.sack[i].to + shift;
            if (wire_seq_diff(to, u->seq) > 0)
                continue;
            p.tcp.sack[kept].from = from;
            p.tcp.sack[kept++].to = to;
        }
        p.tcp.nsack = (uint8_t)kept;
        if (p.tcp.opt & TCP_OPT_TS)
            p.tcp.ts_ecr = u->ts_val;
    }
    testbed_rx(&u->bed, &p);
    testbed_settle(&u->bed);
    pkt_release_payload(&p);
}

/* --- the application --- */

static void post(struct run *u, uint64_t end)
{
    while (u->post < u->d.nposts && u->d.post[u->post].off < end) {
        struct replay_post *p = &u->d.post[u->post++];
        if (p->wr.op != RNIC_OP_READ)
            p->wr.sge = (struct rnic_sge){ PAYLOAD_VA + p->at, p->wr.sge.len, rnic_mr_key(u->payload) };
        int bad = rnic_post_send(u->card.qp, &p->wr);
        if (bad)
            replay_differs_u64(&u->c, 0, "our QP takes the work request: status", 0, (uint64_t)-bad, false);
    }
    testbed_settle(&u->bed);
}

/* The captured side ended the stream at item i. Had something moved it to, or was it the application's wish? */
static bool by_itself(const struct run *u, uint32_t i)
{
    const struct replay_script *own = own_script(u), *peer = peer_script(u);
    if (own->status != MPA_START_OK || peer->status != MPA_START_OK || (own->start.flags | peer->start.flags) & MPA_F_REJECT)
        return true;
    for (uint32_t k = 0; k < own->n; k++)
        if (own->fpdu[k].terminate)
            return true;
    for (uint32_t k = 0; k < peer->n; k++)
        if (peer->fpdu[k].terminate)
            return true;
    for (uint32_t k = 0; k < i; k++)
        if (u->conn->item[k].side != u->c.side && u->conn->item[k].f->p.tcp.flags & (TCP_FIN | TCP_RST))
            return true;
    return false;
}

static void captured_end(struct run *u, uint32_t i)
{
    if (u->ended || by_itself(u, i))
        return;
    (void)iwarp_qp_close(u->card.qp); /* in another state it would have to have ended by itself, which is seen at the end */
    testbed_settle(&u->bed);
}

/* --- the run --- */

static uint32_t frame_of(void *ctx, uint64_t off)
{
    const struct run *u = ctx;
    for (uint32_t i = 0; i < u->conn->n; i++)
        if (u->conn->item[i].side == u->c.side && u->conn->item[i].end > off)
            return u->conn->item[i].f->no;
    return 0;
}

static void compare(struct run *u, bool end_captured, uint32_t end_frame)
{
    struct replay_script ours;
    const struct replay_script *peer = peer_script(u);
    bool open = u->d.nposts && !u->d.post[u->d.nposts - 1].whole;
    replay_script_read(&ours, &u->ours, peer->status == MPA_START_OK && own_script(u)->status == MPA_START_OK ? &peer->start : NULL);
    replay_scripts_compare(&u->c, own_script(u), &ours, open, frame_of, u);
    u->c.compared++;
    if (end_captured != u->ended && !(u->peer_reset && !end_captured)) /* after a reset there is nothing left to end */
        replay_differs(&u->c, end_frame, "end of the TCP stream", end_captured ? "FIN or RST" : "none", u->ended ? "FIN or RST" : "none");
    replay_script_free(&ours);
}

static void replay_all(struct run *u)
{
    const struct replay_conn *c = u->conn;
    bool end_captured = false;
    uint32_t end_frame = c->item[c->n - 1].f->no;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct replay_tcp_item *it = &c->item[i];
        if (!testbed_run(&u->bed, it->f->at_ps)) {
            replay_differs(&u->c, it->f->no, "our endpoint", "waits for a packet", "asks for one time again and again");
            return;
        }
        if (it->side != u->c.side) {
            feed(u, it->f);
            continue;
        }
        post(u, it->end);
        if (!(it->f->p.tcp.flags & (TCP_FIN | TCP_RST)) || end_captured)
            continue;
        end_captured = true;
        end_frame = it->f->no;
        captured_end(u, i);
    }
    (void)testbed_run(&u->bed, u->bed.now_ps + AFTERWARDS_PS);
    compare(u, end_captured, end_frame);
}

void replay_iwarp_run(struct replay *r, struct replay_conn *c, unsigned side)
{
    struct run *u = replay_alloc(calloc(1, sizeof *u));
    *u = (struct run){ .c = { .r = r, .what = c->what, .side = side }, .conn = c };
    if (!replay_iwarp_learn(c, side, &u->d))
        replay_differs(&u->c, 0, "memory that the peer touches", "at most 1 GiB", "more");
    else if (set_up(u) != SIM_OK)
        replay_differs(&u->c, 0, "our QP", "made and connected", "out of memory or parameters out of range");
    else
        replay_all(u);
    replay_end(&u->c, "%u start-up frames and FPDUs", own_script(u)->n + (own_script(u)->status == MPA_START_OK));
    testbed_rnic_free(&u->card);
    tcp_stream_clear(&u->ours);
    replay_iw_deeds_free(&u->d);
    free(u);
}
