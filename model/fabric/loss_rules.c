/* SPDX-License-Identifier: GPL-2.0-only */
/* Losses by rule. Packets are counted as they leave their host, so that each rule's counts lie with one host and no partition changes them. */
#include "loss_rules.h"

#include <stdlib.h>

struct flow_count { uint64_t key, count; };  /* key 0: free */

struct rule {
    struct fabric_loss_rule is;
    uint64_t *host_count;                     /* every: by host */
    struct flow_count *flow;                  /* nth: by host and flow */
    uint32_t flows, cap;
    struct rule *next;
};

struct loss_rules { struct rule *first, **last; };

int fabric_add_loss(struct fabric *f, const struct fabric_loss_rule *rule)
{
    struct rule *r = calloc(1, sizeof *r);
    if (!f->rules && (f->rules = calloc(1, sizeof *f->rules)))
        f->rules->last = &f->rules->first;
    if (!r || !f->rules) {
        free(r);
        return SIM_ERR_NOMEM;
    }
    r->is = *rule;
    r->host_count = rule->every ? calloc(f->max_nodes, sizeof *r->host_count) : NULL;
    if (rule->every && !r->host_count) {
        free(r);
        return SIM_ERR_NOMEM;
    }
    *f->rules->last = r;
    f->rules->last = &r->next;
    f->watch |= FABRIC_WATCH_RULES;
    return SIM_OK;
}

static struct flow_count *slot(struct flow_count *t, uint32_t cap, uint64_t key)
{
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (cap - 1);
    while (t[i].key && t[i].key != key)
        i = (i + 1) & (cap - 1);
    return &t[i];
}

static uint64_t count_flow(struct rule *r, uint64_t key)
{
    if (2 * (r->flows + 1) > r->cap) {
        uint32_t cap = r->cap ? 2 * r->cap : 64;
        struct flow_count *t = calloc(cap, sizeof *t);
        if (!t)
            abort();
        for (uint32_t i = 0; i < r->cap; i++)
            if (r->flow[i].key)
                *slot(t, cap, r->flow[i].key) = r->flow[i];
        free(r->flow);
        r->flow = t;
        r->cap = cap;
    }
    struct flow_count *c = slot(r->flow, r->cap, key);
    r->flows += c->key == 0;
    c->key = key;
    return ++c->count;
}

static bool carries_data(const struct pkt *p) { return p->payload_len > 0; }

static bool hits(struct rule *r, int64_t now_ps, uint32_t host, const struct pkt *p)
{
    const struct fabric_loss_rule *is = &r->is;
    if ((is->src != FABRIC_ANY && is->src != pkt_node_of_addr(p->src)) || (is->dst != FABRIC_ANY && is->dst != pkt_node_of_addr(p->dst)))
        return false;
    if ((is->kind == FABRIC_LOSE_DATA && !carries_data(p)) || (is->kind == FABRIC_LOSE_CONTROL && carries_data(p)))
        return false;
    if (now_ps < is->from_ps || now_ps >= is->until_ps)
        return false;
    if (is->nth)
        return count_flow(r, ((uint64_t)host + 1) << 32 | p->flow_hash) == is->nth;
    return !is->every || ++r->host_count[host] % is->every == 0;
}

bool loss_rules_lose(struct fabric *f, const struct port *port, const struct pkt *p)
{
    bool lost = false;
    if (!(port->flags & PORT_F_HOST) || p->kind == PKT_PFC)
        return false;
    for (struct rule *r = f->rules->first; r; r = r->next)
        lost |= hits(r, sim_now(f->sim), port->node, p); /* each rule counts, whatever another loses */
    return lost;
}

void loss_rules_free(struct fabric *f)
{
    for (struct rule *r = f->rules ? f->rules->first : NULL, *next; r; r = next) {
        next = r->next;
        free(r->host_count);
        free(r->flow);
        free(r);
    }
    free(f->rules);
    f->rules = NULL;
}
