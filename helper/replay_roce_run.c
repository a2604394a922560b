/* SPDX-License-Identifier: GPL-2.0-only */
/* Our QP in place of one side. Requests leave when the captured ones did, one for one, so that what a NAK finds on its way is the same;
 * answers are compared with the captured ones in order, whenever those left. Time is the capture's, moved on where the captured side's
 * timer ran out before ours. */
#include "replay_roce.h"

#include "testbed.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_DEPTH 65536
#define READS_MAX 128
#define PAYLOAD_VA UINT64_C(0x10000)
#define RECV_BYTES (UINT32_C(1) << 31)
#define TIMEOUT_NEVER_SOON 27 /* 9 minutes: the capture says when */
#define NAK_INVALID 0x61
#define NAK_OPERATION 0x63

struct run {
    struct replay_case c;
    struct replay_flow *f;
    struct replay_deeds d;
    struct roce_params params;
    struct testbed_rnic card;
    struct endpoint *ep;
    struct rnic_mr *payload, *recv;
    struct wire_l3 l3;               /* of what the replaced side sends */
    int64_t  ahead_ps;               /* our clock less the capture's */
    uint32_t message;                /* next to be posted */
    int64_t  expected;               /* the peer's next packet number */
    uint32_t messages;               /* of the peer's that are whole */
    uint32_t answer, cnp;            /* items: the captured answer, CNP that is due next */
    int64_t  acked;                  /* highest packet number that an answer of ours told */
    struct pkt *early;               /* requests of ours that came out before the captured ones left */
    uint32_t nearly, early_cap;
    uint32_t requests, answers;
};

static void nothing(void *ctx, const struct rnic_wc *wc) { (void)ctx; (void)wc; }

/* --- set-up --- */

static int set_up(struct run *u)
{
    struct replay_deeds *d = &u->d;
    unsigned side = u->c.side;
    struct roce_params *p = &u->params;
    param_defaults(&roce_params_table, p);
    p->service = u->f->service;
    p->mtu_bytes = d->mtu;
    p->sq_depth = p->rq_depth = QUEUE_DEPTH;
    p->ack_packets = 0; /* answers where it is asked for them */
    p->ack_request_packets = d->ack_request_packets;
    p->ird = p->ord = READS_MAX;
    p->cnp = d->cnp;
    p->rnr_timer = d->rnr_timer;
    p->rnr_retry = d->rnr_retry;
    p->local_ack_timeout = d->timeout >= 0 ? d->timeout : TIMEOUT_NEVER_SOON;
    struct testbed_spec spec = { .roce = p, .on_wc = nothing };
    int bad = testbed_roce(&u->card, &spec);
    if (bad)
        return bad;
    u->ep = &u->card.qp->ep;
    u->payload = rnic_mr_reg(u->card.pd, PAYLOAD_VA, d->payload_len + 1, RNIC_LOCAL_WRITE, d->payload ? d->payload : NULL);
    u->recv = rnic_mr_reg(u->card.pd, 0, RECV_BYTES, RNIC_LOCAL_WRITE, NULL);
    bad = u->payload == NULL || u->recv == NULL ? SIM_ERR_NOMEM : replay_memory_register(&d->memory, u->card.pd);
    roce_qp_set_first_psn(u->card.qp, d->psn[side]);
    struct roce_peer peer = { .local_addr = u->f->addr[side], .remote_addr = u->f->addr[!side], .remote_qpn = u->f->qpn[!side],
        .remote_psn = d->psn[!side], .path_mtu_bytes = d->mtu, .dscp = d->dscp, .ecn = d->ecn, .qkey = d->qkey };
    return bad ? bad : roce_qp_connect(u->card.qp, &peer);
}

/* --- what ours sends --- */

/* The next packet of ours as its receiver would see it. */
static bool pull(struct run *u, int64_t now_ps, bool control, struct replay_frame *out)
{
    struct pkt p;
    memset(&p, 0, sizeof p);
    memset(out, 0, sizeof *out);
    bool sent = control && u->ep->ops->tx_control ? u->ep->ops->tx_control(u->ep, now_ps, &p) : u->ep->ops->tx(u->ep, now_ps, &p);
    if (!sent) {
        pkt_release_payload(&p);
        return false;
    }
    if (wire_roce_op[p.roce.opcode].flags & ROCE_OP_DETH && p.roce.x.deth.sqpn == rnic_qp_num(u->card.qp))
        p.roce.x.deth.sqpn = u->f->qpn[u->c.side]; /* a QP's number is a free choice */
    replay_as_seen(&u->c, &p, &u->l3, (u->f->item[0].f->p.flags & PKT_F_IPV6) != 0, out);
    return true;
}

static const char *opcode_name(const struct pkt *p) { return wire_roce_op[p->roce.opcode].name; }

/* --- answers --- */

static bool positive_ack(const struct pkt *p) { return p->roce.opcode == ROCE_ACK && p->roce.syndrome < 0x20; }

static void next_captured(struct run *u, uint32_t *at, bool cnp)
{
    while (*at < u->f->n) {
        const struct replay_item *it = &u->f->item[*at];
        if (it->side == u->c.side && !replay_is_request(it) && (it->f->p.roce.opcode == ROCE_CNP) == cnp)
            return;
        ++*at;
    }
}

static int64_t peer_number(const struct run *u, const struct pkt *p) { return replay_number(p->roce.psn, u->d.psn[!u->c.side]); }

/* An answer of ours, to frame `to`. Acknowledgements may be coalesced in other ways than the captured side did. */
static void check_answer(struct run *u, const struct replay_frame *ours, uint32_t to)
{
    int64_t n = peer_number(u, &ours->p);
    bool ack = positive_ack(&ours->p);
    u->acked = n > u->acked ? n : u->acked;
    for (next_captured(u, &u->answer, false); u->answer < u->f->n; next_captured(u, &u->answer, false)) {
        const struct replay_item *it = &u->f->item[u->answer];
        int64_t m = peer_number(u, &it->f->p);
        if (ack && m > n && m - n < 1 << 22) { /* the captured side told it with what comes next */
            u->c.coalesced++;
            return;
        }
        u->answer++;
        if (positive_ack(&it->f->p) && m < n) { /* ours tells it with this one */
            u->c.coalesced++;
            continue;
        }
        u->answers++;
        (void)replay_roce_compare(&u->c, it->f, &ours->p, &ours->l3);
        return;
    }
    replay_differs(&u->c, to, "answer", "none", opcode_name(&ours->p));
}

static void check_cnp(struct run *u, const struct replay_frame *ours)
{
    next_captured(u, &u->cnp, true);
    if (u->cnp < u->f->n)
        (void)replay_roce_compare(&u->c, u->f->item[u->cnp++].f, &ours->p, &ours->l3);
}

static void keep_early(struct run *u, struct replay_frame *ours)
{
    if (u->nearly == u->early_cap) {
        u->early_cap = u->early_cap ? 2 * u->early_cap : 16;
        struct pkt *more = replay_alloc(aligned_alloc(_Alignof(struct pkt), u->early_cap * sizeof *more));
        if (u->nearly)
            memcpy(more, u->early, u->nearly * sizeof *more);
        free(u->early);
        u->early = more;
    }
    u->early[u->nearly++] = ours->p;
    memset(&ours->p, 0, sizeof ours->p);
}

/* Sort a packet of ours; true if it was a request that has been kept. */
static bool take(struct run *u, struct replay_frame *ours, uint32_t to)
{
    bool request = wire_roce_op[ours->p.roce.opcode].flags & ROCE_OP_REQUEST;
    if (request)
        keep_early(u, ours);
    else if (ours->p.roce.opcode == ROCE_CNP)
        check_cnp(u, ours);
    else
        check_answer(u, ours, to);
    pkt_release_payload(&ours->p);
    return request;
}

/* All answers that are due now. Data packets are asked for only if the packet that came wants some. */
static void collect_answers(struct run *u, int64_t now_ps, uint32_t to, bool data)
{
    struct replay_frame ours;
    while (pull(u, now_ps, true, &ours))
        (void)take(u, &ours, to);
    for (unsigned kept = 0; data && kept < 2 && pull(u, now_ps, false, &ours);)
        kept += take(u, &ours, to);
}

/* --- what the peer sends --- */

/* Give our responder what the captured one had for the message that begins with item i. */
static void provide(struct run *u, uint32_t i)
{
    const struct replay_item *it = &u->f->item[i];
    unsigned flags = replay_op_flags(it), side = u->c.side;
    int64_t n = u->expected;
    const struct replay_item *o = replay_outcome(u->f, &u->d, side, i, n);
    const struct pkt_roce *h = o ? &o->f->p.roce : NULL;
    bool nak = h && h->opcode == ROCE_ACK && h->syndrome >= 0x20;
    bool counted = h && (h->msn > u->messages || replay_number(h->psn, u->d.psn[!side]) > n); /* else the key was not its to invalidate */
    if (flags & ROCE_OP_IETH && !nak && (counted || !h))
        (void)rnic_mr_reg_as(u->card.pd, it->f->p.roce.imm_or_rkey, PAYLOAD_VA, 1, 0, NULL);
    if (!((flags & ROCE_OP_SEND) && (flags & ROCE_OP_FIRST)) && !((flags & ROCE_OP_WRITE) && (flags & ROCE_OP_IMM)))
        return;
    if (nak && (h->syndrome & 0x60) == 0x20 && replay_number(h->psn, u->d.psn[!side]) == n)
        return; /* it had none */
    struct rnic_recv_wr wr = { 0, { 0, RECV_BYTES, rnic_mr_key(u->recv) } };
    struct rnic_mr *gone = NULL;
    if (nak && h->syndrome == NAK_INVALID)
        wr.sge.len = (uint32_t)(replay_number(h->psn, u->d.psn[!side]) - n) * u->d.mtu; /* too short for that packet */
    if (nak && h->syndrome == NAK_OPERATION) {
        gone = rnic_mr_reg(u->card.pd, 0, RECV_BYTES, RNIC_LOCAL_WRITE, NULL);
        wr.sge.lkey = gone ? rnic_mr_key(gone) : 0;
    }
    int bad = rnic_post_recv(u->card.qp, &wr);
    if (bad)
        replay_differs_u64(&u->c, it->f->no, "our QP takes the receive: status", 0, (uint64_t)-bad, false);
    if (gone)
        rnic_mr_dereg(gone);
}

static bool not_ready(const struct run *u, uint32_t i)
{
    const struct replay_item *o = replay_outcome(u->f, &u->d, u->c.side, i, u->expected);
    return o && o->f->p.roce.opcode == ROCE_ACK && (o->f->p.roce.syndrome & 0x60) == 0x20 && peer_number(u, &o->f->p) == u->expected;
}

static void feed(struct run *u, uint32_t i, int64_t now_ps)
{
    const struct replay_item *it = &u->f->item[i];
    bool request = replay_is_request(it);
    if (it->f->status != WIRE_OK) {
        u->c.malformed++;
        return;
    }
    if (it->lost) {
        u->c.lost++;
        return;
    }
    bool next = request && (u->f->service == ROCE_SERVICE_UD || peer_number(u, &it->f->p) == u->expected);
    if (next)
        provide(u, i);
    bool refused = next && u->f->service == ROCE_SERVICE_RC && not_ready(u, i);
    struct pkt p;
    pkt_copy(&p, &it->f->p);
    u->ep->ops->rx(u->ep, now_ps, &p);
    pkt_release_payload(&p);
    if (next && !refused) {
        u->expected += replay_span(it, u->d.mtu);
        u->messages += (replay_op_flags(it) & ROCE_OP_LAST) != 0;
    }
    if (request)
        collect_answers(u, now_ps, it->f->no, replay_op_flags(it) & (ROCE_OP_READ | ROCE_OP_ATOMIC));
}

/* --- requests --- */

static void wake_until(struct run *u, int64_t now_ps)
{
    for (int64_t at; (at = u->ep->ops->next_wake_ps(u->ep)) <= now_ps;)
        u->ep->ops->wake(u->ep, at);
}

static void post(struct run *u, uint32_t i)
{
    while (u->message < u->d.nmessages && u->d.message[u->message].first <= i) {
        struct replay_message *m = &u->d.message[u->message++];
        bool sink = m->wr.op == RNIC_OP_READ || m->wr.op == RNIC_OP_CMP_SWAP || m->wr.op == RNIC_OP_FETCH_ADD;
        m->wr.sge.va = sink ? 0 : PAYLOAD_VA + m->at;
        m->wr.sge.lkey = rnic_mr_key(sink ? u->recv : u->payload);
        int bad = rnic_post_send(u->card.qp, &m->wr);
        if (bad)
            replay_differs_u64(&u->c, u->f->item[m->first].f->no, "our QP takes the work request: status", 0, (uint64_t)-bad, false);
    }
}

/* The next request of ours, or false. */
static bool next_request(struct run *u, int64_t now_ps, uint32_t to, struct replay_frame *ours)
{
    if (u->nearly) {
        memset(ours, 0, sizeof *ours);
        ours->p = u->early[0];
        ours->l3 = u->l3;
        memmove(u->early, u->early + 1, --u->nearly * sizeof *u->early);
        return true;
    }
    while (pull(u, now_ps, false, ours)) {
        if (wire_roce_op[ours->p.roce.opcode].flags & ROCE_OP_REQUEST)
            return true;
        (void)take(u, ours, to);
    }
    return false;
}

/* Our timer has not run out when the captured side's had. */
static bool run_timer_out(struct run *u, int64_t *now_ps)
{
    int64_t wake = u->ep->ops->next_wake_ps(u->ep), ready = u->ep->ops->ready_ps(u->ep);
    int64_t at = wake < ready ? wake : ready;
    if (at == SIM_NEVER_PS || at <= *now_ps || at > REPLAY_TIME_MAX_PS)
        return false;
    u->ahead_ps += at - *now_ps;
    *now_ps = at;
    u->c.early_timeouts++;
    wake_until(u, at);
    return true;
}

static void own_request(struct run *u, uint32_t i, int64_t now_ps)
{
    struct replay_frame ours;
    const struct replay_frame *want = u->f->item[i].f;
    post(u, i);
    bool sent = next_request(u, now_ps, want->no, &ours);
    if (!sent && run_timer_out(u, &now_ps))
        sent = next_request(u, now_ps, want->no, &ours);
    if (!sent) {
        replay_differs(&u->c, want->no, "request", opcode_name(&want->p), "nothing");
        return;
    }
    u->requests++;
    (void)replay_roce_compare(&u->c, want, &ours.p, &ours.l3);
    pkt_release_payload(&ours.p);
}

/* --- the run --- */

static void finish(struct run *u, int64_t now_ps)
{
    struct replay_frame ours;
    bool open = u->d.nmessages && !u->d.message[u->d.nmessages - 1].whole; /* the capture ends within a message */
    uint32_t last = u->f->item[u->f->n - 1].f->no;
    collect_answers(u, now_ps, last, true);
    while (next_request(u, now_ps, last, &ours)) {
        if (!open && u->c.differ == 0)
            replay_differs(&u->c, last, "request after it", "none", opcode_name(&ours.p));
        pkt_release_payload(&ours.p);
    }
    for (next_captured(u, &u->answer, false); u->answer < u->f->n; next_captured(u, &u->answer, false)) {
        const struct replay_frame *f = u->f->item[u->answer++].f;
        if (positive_ack(&f->p) && u->d.sends[!u->c.side] && peer_number(u, &f->p) <= u->acked)
            u->c.coalesced++;
        else
            replay_differs(&u->c, f->no, "answer", opcode_name(&f->p), "none");
    }
}

static void replay_all(struct run *u)
{
    int64_t now_ps = 0;
    for (uint32_t i = 0; i < u->f->n; i++) {
        const struct replay_item *it = &u->f->item[i];
        now_ps = it->f->at_ps + u->ahead_ps;
        wake_until(u, now_ps);
        if (it->side != u->c.side)
            feed(u, i, now_ps);
        else if (it->f->status != WIRE_OK)
            replay_differs(&u->c, it->f->no, "the captured packet", "well formed", wire_status_name(it->f->status));
        else if (replay_is_request(it))
            own_request(u, i, now_ps);
        now_ps = it->f->at_ps + u->ahead_ps;
    }
    finish(u, now_ps);
}

void replay_roce_run(struct replay *r, struct replay_flow *f, unsigned side)
{
    struct run *u = replay_alloc(calloc(1, sizeof *u));
    *u = (struct run){ .c = { .r = r, .what = f->what, .side = side }, .f = f, .acked = -1 };
    replay_learn(r, f, side, &u->d);
    replay_l3(f, side, &u->l3);
    if (!replay_learn_memory(f, side, &u->d))
        replay_differs(&u->c, 0, "memory that the peer touches", "at most 1 GiB", "more");
    else if (set_up(u) != SIM_OK)
        replay_differs(&u->c, 0, "our QP", "made and connected", "out of memory or parameters out of range");
    else
        replay_all(u);
    replay_end(&u->c, "%u requests, %u answers", u->requests, u->answers);
    testbed_rnic_free(&u->card);
    for (uint32_t i = 0; i < u->nearly; i++)
        pkt_release_payload(&u->early[i]);
    free(u->early);
    replay_deeds_free(&u->d);
    free(u);
}
