/* SPDX-License-Identifier: GPL-2.0-only */
#include "run_flows.h"

#include <stdlib.h>

/* The sending end of a connection. */
struct view { const struct cc *cc; uint64_t acked, sent; int64_t rtt_ps; };

static void view_tcp(const struct tcp_conn *t, struct view *v)
{
    *v = (struct view){ tcp_cc(t), tcp_snd_una(t), tcp_snd_nxt(t), tcp_srtt_ps(t) };
}

static void view_of(const struct net *n, const struct net_conn *c, struct view *v)
{
    if (c->sock[0]) {
        view_tcp(tcp_socket_conn(c->sock[0]), v);
    } else if (n->transport->kind == SCENARIO_IWARP) {
        view_tcp(iwarp_qp_tcp(c->qp[0]), v);
    } else {
        *v = (struct view){ .cc = roce_qp_cc(c->qp[0]) };
        roce_qp_progress(c->qp[0], &v->acked, &v->sent);
        v->rtt_ps = v->cc->rtt_ps;
    }
}

static bool make_room(struct run_flows *f, uint32_t nconns)
{
    if (f->nacked < nconns) {
        uint64_t *grown = realloc(f->acked, nconns * sizeof *grown);
        if (!grown)
            return false;
        f->acked = grown;
        while (f->nacked < nconns)
            f->acked[f->nacked++] = 0;
    }
    if (f->room - f->n < nconns) {
        size_t room = 2 * f->room + nconns + 1024;
        struct result_flow_sample *grown = realloc(f->row, room * sizeof *grown);
        if (!grown)
            return false;
        f->row = grown;
        f->room = room;
    }
    return true;
}

bool run_flows_take(struct run_flows *f, const struct net *n, int64_t at_ps)
{
    if (!make_room(f, n->nconns))
        return false;
    size_t first = f->n;
    uint32_t id = n->nconns;
    for (const struct net_conn *c = n->conns; c; c = c->next) { /* the latest connection first */
        struct view v;
        id--;
        if (!c->chan)
            continue;
        view_of(n, c, &v);
        uint64_t progress = v.acked - f->acked[id];
        f->acked[id] = v.acked;
        if (progress == 0 && v.sent == v.acked)
            continue;
        int64_t since = at_ps - f->before_ps;
        f->row[f->n++] = (struct result_flow_sample){ .at_ps = at_ps, .flow = id, .src = c->src, .dst = c->dst,
            .rate_bps = v.cc->rate_bps == CC_NO_RATE ? -1 : v.cc->rate_bps, .window_bytes = v.cc->cwnd_bytes == CC_NO_WINDOW ? -1 : v.cc->cwnd_bytes,
            .goodput_bps = since > 0 ? (int64_t)((double)progress * 8 / (double)since * (double)SIM_PS_PER_S) : 0,
            .alpha = cc_alpha(v.cc, sim_now(n->sim)), .rtt_ps = v.rtt_ps > 0 ? v.rtt_ps : -1 };
    }
    for (size_t i = first, j = f->n; i + 1 < j; i++) { /* rows in order of connections */
        j--;
        struct result_flow_sample t = f->row[i];
        f->row[i] = f->row[j];
        f->row[j] = t;
    }
    f->before_ps = at_ps;
    return true;
}

void run_flows_fini(struct run_flows *f)
{
    free(f->row);
    free(f->acked);
}
