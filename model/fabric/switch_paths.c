/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of the equal next hops: by hash, by flowlet (Sinha et al. 2004; LetFlow, NSDI'17), or each packet anew (Dixit et al., INFOCOM'13). */
#include <stdlib.h>
#include <string.h>

#include "switch_internal.h"

int switch_paths_init(struct fabric_switch *sw)
{
    const struct paths_params *p = &sw->params.paths;
    sim_rng_init(&sw->spray, sim_seed(sw->sim), sw->node, SIM_RNG_SPRAY);
    if (p->balance != SWITCH_FLOWLET)
        return SIM_OK;
    sw->flowlet = calloc((size_t)p->flowlet_entries, sizeof *sw->flowlet);
    return sw->flowlet ? SIM_OK : SIM_ERR_NOMEM;
}

int switch_paths_renew(struct fabric_switch *sw)
{
    const struct fabric *f = sw->fabric;
    free(sw->turn);
    free(sw->fixed);
    sw->turn = NULL;
    sw->fixed = NULL;
    sw->nfixed = 0;
    sw->turns = sw->table.ngroups + 1;
    sw->turn = calloc(sw->turns, sizeof *sw->turn);
    sw->fixed = calloc(f->nfixed + 1, sizeof *sw->fixed);
    if (!sw->turn || !sw->fixed)
        return SIM_ERR_NOMEM;
    for (uint32_t i = 0; i < f->nfixed; i++) {
        if (f->fixed[i].sw != sw->node)
            continue;
        for (uint32_t k = 0; k < sw->nports; k++)
            if (sw->port[k].port->peer->node == f->fixed[i].via && fabric_link_is_up(f, sw->node, k)) {
                sw->fixed[sw->nfixed++] = (struct switch_static_route){ f->fixed[i].host, (uint16_t)k };
                break;
            }
    }
    return SIM_OK;
}

static uint64_t weight(const struct fabric_switch *sw, uint16_t port)
{
    return sw->params.paths.weights ? (uint64_t)sw->port[port].port->cls->rate_bps / 1000000 : 1;
}

/* The member at `at` (of 2^32) of the weights' sum. */
static uint16_t weighted(const struct fabric_switch *sw, const uint16_t *port, uint32_t n, uint32_t at)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += weight(sw, port[i]);
    uint64_t x = (uint64_t)((__uint128_t)at * sum >> 32);
    for (uint32_t i = 0; i < n; i++) {
        if (x < weight(sw, port[i]))
            return port[i];
        x -= weight(sw, port[i]);
    }
    return port[n - 1];
}

static uint16_t flowlet(struct fabric_switch *sw, const uint16_t *port, uint32_t n, uint32_t flow_hash)
{
    const struct paths_params *p = &sw->params.paths;
    struct switch_flowlet *e = &sw->flowlet[route_mix(flow_hash, sw->table.seed) % (uint32_t)p->flowlet_entries];
    int64_t now_ps = sim_now(sw->sim);
    bool member = false;
    for (uint32_t i = 0; i < n; i++)
        member |= port[i] == e->port;
    if (!e->used || !member || now_ps - e->last_ps > p->flowlet_gap_ps)
        e->port = weighted(sw, port, n, sim_rng_u32(&sw->spray));
    e->used = 1;
    e->last_ps = now_ps;
    return e->port;
}

/* The shortest queue of this priority; the turn decides among equal ones. */
static uint16_t shortest(struct fabric_switch *sw, const uint16_t *port, uint32_t n, unsigned prio, uint32_t *turn)
{
    uint32_t best = *turn % n;
    for (uint32_t k = 1; k < n; k++) {
        uint32_t i = (*turn + k) % n;
        if (sw->port[port[i]].queue[prio].bytes < sw->port[port[best]].queue[prio].bytes)
            best = i;
    }
    *turn = (best + 1) % n;
    return port[best];
}

int switch_paths_choose(struct fabric_switch *sw, const struct pkt *p, unsigned prio)
{
    uint32_t dst = pkt_node_of_addr(p->dst), group;
    for (uint32_t i = 0; i < sw->nfixed; i++)
        if (sw->fixed[i].host == dst)
            return sw->fixed[i].port;
    const uint16_t *port = route_members(sw->route, &sw->table, dst, &group);
    if (!port)
        return route_lookup(sw->route, &sw->table, sw->node, dst, p->flow_hash);
    uint32_t n = sw->table.group[group].count, *turn = &sw->turn[group];
    switch (sw->params.paths.balance) {
    case SWITCH_FLOWLET:           return flowlet(sw, port, n, p->flow_hash);
    case SWITCH_SPRAY_RANDOM:      return weighted(sw, port, n, sim_rng_u32(&sw->spray));
    case SWITCH_SPRAY_ROUND_ROBIN: return port[(*turn)++ % n];
    case SWITCH_SPRAY_ADAPTIVE:    return shortest(sw, port, n, prio, turn);
    default:                       return weighted(sw, port, n, route_mix(p->flow_hash, sw->table.seed));
    }
}
