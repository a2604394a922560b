/* SPDX-License-Identifier: GPL-2.0-only */
/* HPCC (Li et al., SIGCOMM'19, algorithm 1): a window by what switches tell of each link of the path, and the rate that spreads it
 * over a round trip. Every acknowledgement adjusts the window from a reference that moves once a round trip. */
#include "cc_list.h"
#include "hpcc_params.h"

#define PARAM_STRUCT struct hpcc_params
PARAM_TABLE(hpcc_params, HPCC_PARAMS)
#undef PARAM_STRUCT

#define DEFAULT_(f, k, d, lo, hi, nm, mean, src) .f = (PARAM_T_##k)(d),
static const struct hpcc_params defaults = { HPCC_PARAMS(DEFAULT_) };
#undef DEFAULT_

struct hpcc {
    double   window, reference;   /* W and W^c, bytes on the wire */
    double   u;                   /* U, the moving average of the most used link's utilisation */
    double   base_rtt_s;
    uint64_t last_update;         /* stream offset: the reference moves when it is acknowledged */
    uint32_t stage;
    uint16_t path_id;
    uint8_t  nhops;               /* of last; 0: none yet */
    struct { uint32_t ts_ns, tx_bytes, queue_bytes; } last[CC_HOPS_MAX];
};
_Static_assert(sizeof(struct hpcc) <= CC_STATE_BYTES, "fits in cc.state");

static struct hpcc *state_of(struct cc *c) { return (struct hpcc *)(void *)&c->state; }
static const struct hpcc_params *params_of(const struct cc *c) { return c->params ? c->params : &defaults; }

/* W in wire bytes to what transports know: payload in whole packets, rounded up (a sender may exceed W by less than a packet, as
 * in HPCC's simulator), and the rate W / T, which alone holds back windows of less than a packet. */
static void apply(struct cc *c, double window)
{
    struct hpcc *h = state_of(c);
    double full = (double)c->link_bps / 8 * h->base_rtt_s, least = (double)params_of(c)->min_rate_bps / 8 * h->base_rtt_s;
    uint32_t wire = c->wire_mss_bytes ? c->wire_mss_bytes : c->mss_bytes;
    window = window > full ? full : window;
    window = window < least ? least : window;
    h->window = window;
    double packets = window / wire;
    int64_t whole = (int64_t)packets;
    c->cwnd_bytes = (whole + ((double)whole < packets)) * (int64_t)c->mss_bytes;
    c->rate_bps = (int64_t)(window * 8 / h->base_rtt_s);
}

static void hpcc_init(struct cc *c, int64_t now_ps)
{
    struct hpcc *h = state_of(c);
    int64_t t = params_of(c)->base_rtt_ps ? params_of(c)->base_rtt_ps : c->base_rtt_ps;
    (void)now_ps;
    if (t == 0)
        t = 10 * SIM_PS_PER_US; /* the path is not known: a rack's order of magnitude */
    h->base_rtt_s = (double)t / (double)SIM_PS_PER_S;
    h->reference = (double)c->link_bps / 8 * h->base_rtt_s;
    h->u = 1;
    c->ack_every = 1;
    apply(c, h->reference);
}

static void remember(struct hpcc *h, const struct cc_ack *a)
{
    h->nhops = a->nhops;
    h->path_id = a->path_id;
    for (unsigned i = 0; i < a->nhops; i++) {
        h->last[i].ts_ns = a->hop[i].ts_ns;
        h->last[i].tx_bytes = a->hop[i].tx_bytes;
        h->last[i].queue_bytes = (uint32_t)a->hop[i].queue_bytes;
    }
}

/* MeasureInflight: the most used link since the sample before. false: no time has passed on any. */
static bool measure(struct hpcc *h, const struct cc_ack *a)
{
    double u = 0, tau = 0, t = h->base_rtt_s;
    for (unsigned i = 0; i < a->nhops; i++) {
        const struct cc_hop *l = &a->hop[i];
        uint32_t dt_ns = (l->ts_ns - h->last[i].ts_ns) & (CC_HOP_TS_WRAP - 1), sent = (l->tx_bytes - h->last[i].tx_bytes) & (CC_HOP_BYTES_WRAP - 1);
        if (dt_ns == 0)
            continue;
        double rate = (double)sent / dt_ns * 1e9, full = (double)l->rate_bps / 8;
        double queue = l->queue_bytes < h->last[i].queue_bytes ? (double)l->queue_bytes : (double)h->last[i].queue_bytes;
        double link = queue / (full * t) + rate / full;
        if (link > u) {
            u = link;
            tau = dt_ns * 1e-9;
        }
    }
    if (tau <= 0)
        return false;
    tau = tau < t ? tau : t;
    h->u = (1 - tau / t) * h->u + tau / t * u;
    return true;
}

/* ComputeWind. */
static double compute(struct cc *c, bool update)
{
    struct hpcc *h = state_of(c);
    const struct hpcc_params *p = params_of(c);
    bool multiply = h->u >= p->eta || h->stage >= (uint64_t)p->max_stage;
    double window = (multiply ? h->reference / (h->u / p->eta) : h->reference) + (double)p->wai_bytes;
    if (update) {
        h->stage = multiply ? 0 : h->stage + 1;
        double full = (double)c->link_bps / 8 * h->base_rtt_s;
        h->reference = window < full ? window : full;
    }
    return window;
}

static void hpcc_ack(struct cc *c, const struct cc_ack *a)
{
    struct hpcc *h = state_of(c);
    if (a->nhops == 0)
        return;
    bool same_path = h->nhops == a->nhops && h->path_id == a->path_id;
    if (same_path && measure(h, a)) {
        bool update = a->snd_una > h->last_update;
        apply(c, compute(c, update));
        if (update)
            h->last_update = a->snd_nxt;
    }
    remember(h, a);
}

static double hpcc_utilisation(const struct cc *c, int64_t now_ps)
{
    (void)now_ps;
    return ((const struct hpcc *)(const void *)&c->state)->u;
}

static void set_ns3(void *params) { ((struct hpcc_params *)params)->base_rtt_ps = 13 * SIM_PS_PER_US; }

static const struct cc_preset presets[] = {
    { "paper", "Li et al., SIGCOMM'19, T by path: the defaults", NULL },
    { "hpcc-ns3", "its 320-host simulations, one T of 13 us for all paths", set_ns3 },
    { NULL, NULL, NULL }
};

const struct cc_ops cc_hpcc = { .name = "hpcc", .params = &hpcc_params_table, .presets = presets, .telemetry = true, .init = hpcc_init,
    .ack = hpcc_ack, .alpha = hpcc_utilisation };
