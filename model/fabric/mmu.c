/* SPDX-License-Identifier: GPL-2.0-only */
/* Set-up of a switch: its buffer divided, its thresholds, and whether they are possible. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headroom.h"
#include "switch_internal.h"

#define ETHERNET_BYTES 18     /* header and FCS around an IP packet */

struct fabric_switch *switch_new(struct fabric *f, uint32_t node, const struct switch_params *params)
{
    struct fabric_switch *sw = aligned_alloc(64, (sizeof *sw + 63) / 64 * 64);
    if (!sw)
        return NULL;
    memset(sw, 0, sizeof *sw);
    sw->fabric = f;
    sw->sim = f->sim;
    sw->node = node;
    sw->params = *params;
    return sw;
}

static uint64_t fixed(double fraction, double one) { return (uint64_t)(fraction * one); }

/* Whether a switch has any feature that the plain path leaves out. */
static bool is_full(const struct fabric_switch *sw)
{
    const struct switch_params *p = &sw->params;
    const struct mmu_limits *l = &sw->limits;
    bool remarks = false, fixed_route = false;
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        remarks |= p->remark_dscp[i] != SWITCH_KEEP || p->remark_pcp[i] != SWITCH_KEEP;
    for (uint32_t i = 0; i < sw->fabric->nfixed; i++)
        fixed_route |= sw->fabric->fixed[i].sw == sw->node;
    return remarks || fixed_route || p->force_full || sw->shaped || l->ingress_alpha || l->lossless_alpha || l->headroom_pool || l->port_reserved || l->queue_reserved
        || (sw->lossless && p->pfc_ports != SWITCH_PFC_ALL) || p->forwarding == SWITCH_CUT_THROUGH || p->layer == SWITCH_BRIDGED
        || p->aqm.kind != SWITCH_AQM_NONE || p->aqm.ecn_weight < 1 || p->aqm.phantom_threshold_bytes || p->paths.balance != SWITCH_ECMP || p->paths.weights
        || p->watchdog.detection_ps || p->middlebox.delay_ps || p->middlebox.jitter_ps || p->middlebox.policy || p->classes.trust != SWITCH_TRUST_DSCP
        || sw->fabric->encapsulation == FABRIC_VLAN;
}

static void thresholds(struct fabric_switch *sw)
{
    const struct switch_params *p = &sw->params;
    const int64_t weight[PORT_PRIOS] = { p->weight_0, p->weight_1, p->weight_2, p->weight_3, p->weight_4, p->weight_5, p->weight_6, p->weight_7 };
    sw->lossless = p->pfc ? (uint8_t)p->lossless_prios : 0;
    sw->ecn = p->ecn ? (uint8_t)p->ecn_prios : 0;
    sw->ecn_dequeue = p->ecn && p->ecn_at == SWITCH_ECN_DEQUEUE;
    sw->wred = p->non_ect == SWITCH_NON_ECT_WRED;
    sw->dwrr = p->scheduler == SWITCH_DWRR;
    sw->strict = (uint8_t)p->strict_prios;
    sw->cell = (uint16_t)p->cell_bytes;
    sw->longest = p->mtu_bytes ? (uint32_t)p->mtu_bytes + ETHERNET_BYTES : UINT32_MAX;
    sw->kmin = (uint64_t)p->ecn_kmin_bytes;
    sw->kmax = (uint64_t)p->ecn_kmax_bytes;
    sw->pmax_32 = fixed(p->ecn_pmax, 0x1p32);
    sw->non_ect_limit = (uint64_t)p->non_ect_limit_bytes;
    sw->wred_kmin = (uint64_t)p->wred_kmin_bytes;
    sw->wred_kmax = (uint64_t)p->wred_kmax_bytes;
    sw->wred_pmax_32 = fixed(p->wred_pmax, 0x1p32);
    sw->limits.alpha = fixed(p->alpha, 0x1p16);
    sw->limits.pfc_alpha = fixed(p->pfc_alpha, 0x1p16);
    sw->limits.queue = (uint64_t)p->queue_limit_bytes;
    sw->limits.xoff = (uint64_t)p->pfc_xoff_bytes;
    sw->limits.xon_offset = (uint32_t)p->pfc_xon_offset_bytes;
    sw->limits.reserved = sw->lossless ? (uint32_t)p->reserved_bytes : 0;
    sw->limits.xon = (uint64_t)p->pfc_xon_bytes;
    sw->limits.ingress_alpha = fixed(p->ingress_alpha, 0x1p16);
    sw->limits.lossless_alpha = fixed(p->lossless_queue_alpha, 0x1p16);
    sw->limits.headroom_pool = sw->lossless ? (uint64_t)p->headroom_pool_bytes : 0;
    sw->limits.port_reserved = (uint32_t)p->port_reserved_bytes;
    sw->limits.queue_reserved = (uint32_t)p->queue_reserved_bytes;
    for (unsigned i = 0; i < PORT_PRIOS; i++) {
        sw->quantum[i] = (uint32_t)(p->dwrr_quantum_bytes * weight[i]);
    }
    for (unsigned d = 0; d < 64; d++)
        sw->own_prio_of[d] = (uint8_t)switch_params_prio(p, d);
    sw->prio_of = memcmp(sw->own_prio_of, sw->fabric->class_of, 64) == 0 ? sw->fabric->class_of : sw->own_prio_of;
    for (unsigned c = 0; c < 8; c++)
        sw->prio_of_pcp[c] = p->pcp_map[c] ? p->pcp_map[c] - 1u : c;
    const int64_t shape[PORT_PRIOS] = { p->shaper.rate_0_bps, p->shaper.rate_1_bps, p->shaper.rate_2_bps, p->shaper.rate_3_bps,
                                        p->shaper.rate_4_bps, p->shaper.rate_5_bps, p->shaper.rate_6_bps, p->shaper.rate_7_bps };
    for (unsigned i = 0; i < PORT_PRIOS; i++) {
        sw->shape_bps[i] = shape[i];
        sw->shaped |= (uint8_t)((shape[i] > 0) << i);
    }
    sw->full = is_full(sw);
}

static uint32_t port_headroom(const struct fabric_switch *sw, const struct port *port)
{
    const struct switch_params *p = &sw->params;
    struct headroom_terms t;
    if (p->headroom_bytes)
        return (uint32_t)p->headroom_bytes;
    struct headroom_link l = { port->cls->rate_bps, port->cls->propagation_ps, p->pipeline_latency_ps, port->peer->reaction_quanta,
                               (uint32_t)p->max_frame_bytes, (uint32_t)p->cell_bytes };
    headroom_compute(&l, &t);
    return (uint32_t)t.total;
}

/* A pause must outlast the wait for its renewal: half of it, against the longest frame that a PFC frame waits for. */
static int check_quanta(const struct fabric_switch *sw, const struct port *port, char *err, size_t errlen)
{
    int64_t half_ps = pfc_quanta_ps(port, (uint32_t)sw->params.pfc_quanta) / 2;
    int64_t frame_ps = port_wire_time_ps((uint32_t)sw->params.max_frame_bytes, port->cls->rate_bps) + port_wire_time_ps(64, port->cls->rate_bps);
    if (half_ps >= frame_ps)
        return SIM_OK;
    snprintf(err, errlen, "switch %u: a pause of %lld quanta runs out before it can be renewed past a frame of %lld B; pfc-quanta of %lld is enough",
             sw->node, (long long)sw->params.pfc_quanta, (long long)sw->params.max_frame_bytes,
             (long long)((2 * (sw->params.max_frame_bytes + 104) * 8 + 511) / 512 + 1));
    return SIM_ERR_PARAM;
}

static void with_commas(uint64_t v, char out[32])
{
    char plain[24];
    int n = snprintf(plain, sizeof plain, "%llu", (unsigned long long)v), o = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out[o++] = ',';
        out[o++] = plain[i];
    }
    out[o] = 0;
}

static int check_buffer(struct fabric_switch *sw, uint64_t need, bool same, char *err, size_t errlen)
{
    uint64_t buffer = (uint64_t)sw->params.buffer_bytes;
    unsigned prios = (unsigned)__builtin_popcount(sw->lossless);
    if (need <= buffer) {
        sw->limits.shared = buffer - need;
        return SIM_OK;
    }
    char a[32], b[32], c[32], d[32], size[32], of[24] = "";
    with_commas(buffer, size);
    with_commas(need - buffer, a);
    with_commas(need, b);
    with_commas(sw->limits.reserved, d);
    if (prios > 1)
        snprintf(of, sizeof of, " x %u priorities", prios);
    if (same) {
        with_commas(sw->port[0].headroom, c);
        snprintf(err, errlen, "switch %u: its buffer of %s B is %s B short: PFC needs %u ports%s x (%s B headroom + %s B reserved) = %s B",
                 sw->node, size, a, sw->nports, of, c, d, b);
    } else {
        snprintf(err, errlen, "switch %u: its buffer of %s B is %s B short: headroom and what is reserved for %u ports%s take %s B",
                 sw->node, size, a, sw->nports, of, b);
    }
    return SIM_ERR_PARAM;
}

static void shaper_event(struct sim *s, void *ctx, void *arg)
{
    struct switch_port *o = ctx;
    (void)s;
    (void)arg;
    port_kick(o->port);
}

/* The links whose PFC is on. */
static uint8_t port_lossless(const struct fabric_switch *sw, const struct port *port)
{
    bool host = !sw->fabric->node[port->peer->node].sw;
    int64_t which = sw->params.pfc_ports;
    return which == SWITCH_PFC_ALL || (which == SWITCH_PFC_HOSTS) == host ? sw->lossless : 0;
}

static void finish_port(struct fabric_switch *sw, uint32_t i, struct port *port)
{
    struct switch_port *sp = &sw->port[i];
    sp->port = port;
    sp->sw = sw;
    sp->dwrr_fresh = 1;
    sp->lossless = port_lossless(sw, port);
    sp->headroom = sp->lossless ? port_headroom(sw, port) : 0;
    sp->least_headroom = sp->headroom;
    if (!sw->params.pfc_heed || sp->lossless != sw->lossless)
        port->heeds = port->heeds_link = 0;
    sim_rng_init(&sp->mark, sim_seed(sw->sim), (uint64_t)sw->node << 16 | i, SIM_RNG_MARK);
    switch_pfc_init(sp);
    port_attach(port, sw->full ? &switch_full_ops : &switch_port_ops, sw);
    if (!sw->full)
        return;
    sim_rng_init(&sp->extra->jitter, sim_seed(sw->sim), (uint64_t)sw->node << 16 | i, SIM_RNG_JITTER);
    switch_aqm_init(sp);
    switch_watchdog_init(sp);
    sim_timer_init(&sp->extra->shaper, sim_key_port(sw->node, sp->port->index, SIM_KIND_WAKE) | 9, shaper_event, sp);
    for (unsigned prio = 0; prio < PORT_PRIOS; prio++)
        sp->extra->tokens[prio] = (double)sw->params.shaper.burst_bytes;
}

static int allocate(struct fabric_switch *sw)
{
    sw->port = aligned_alloc(64, (sw->nports + 1u) * sizeof *sw->port);
    if (!sw->port)
        return SIM_ERR_NOMEM;
    memset(sw->port, 0, (sw->nports + 1u) * sizeof *sw->port);
    if (!sw->full)
        return SIM_OK;
    struct switch_extra *extra = calloc(sw->nports + 1u, sizeof *extra);
    for (uint32_t i = 0; extra && i <= sw->nports; i++)
        sw->port[i].extra = &extra[i];
    return extra ? switch_paths_init(sw) : SIM_ERR_NOMEM;
}

int switch_finish(struct fabric_switch *sw, char *err, size_t errlen)
{
    const struct fabric_node *n = &sw->fabric->node[sw->node];
    uint64_t need = 0, prios, pool;
    bool same = true;
    sw->nports = n->nports;
    sw->link = n->port;
    thresholds(sw);
    if (allocate(sw) != SIM_OK) {
        snprintf(err, errlen, "out of memory for switch %u", sw->node);
        return SIM_ERR_NOMEM;
    }
    prios = (uint64_t)__builtin_popcount(sw->lossless);
    pool = sw->limits.headroom_pool;
    for (uint32_t i = 0; i < sw->nports; i++) {
        struct switch_port *sp = &sw->port[i];
        finish_port(sw, i, n->port[i]);
        same &= sp->headroom == sw->port[0].headroom;
        if (sp->lossless)
            need += prios * ((pool ? 0 : (uint64_t)sp->headroom) + sw->limits.reserved);
        need += sw->limits.port_reserved + (PORT_PRIOS - (sw->params.pfc_ports == SWITCH_PFC_ALL ? prios : 0)) * (uint64_t)sw->limits.queue_reserved;
        if (sp->lossless && check_quanta(sw, sp->port, err, errlen) != SIM_OK)
            return SIM_ERR_PARAM;
    }
    need += prios * pool;
    same &= !pool && sw->params.pfc_ports == SWITCH_PFC_ALL && !sw->limits.port_reserved && !sw->limits.queue_reserved;
    return check_buffer(sw, need, same, err, errlen);
}
