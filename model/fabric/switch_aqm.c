/* SPDX-License-Identifier: GPL-2.0-only */
/* Queue management beyond RED on the length itself: RED's average (Floyd and Jacobson 1993), PIE (RFC 8033), CoDel (RFC 8289), phantom
 * queues (HULL, NSDI'12). */
#include <math.h>

#include "switch_internal.h"

#define PS_PER_S ((double)SIM_PS_PER_S)

static bool manages(const struct fabric_switch *sw, unsigned prio) { return sw->params.aqm.prios >> prio & 1; }

static bool marks(const struct fabric_switch *sw, const struct pkt *p) { return PKT_ECT(p) && sw->params.aqm.kind != SWITCH_AQM_NONE; }

static void mark_once(struct fabric_switch *sw, struct switch_port *o, struct pkt *p)
{
    if (p->ecn != 3)
        switch_mark(sw, o->port->index, o->queue[p->prio].bytes, p);
}

/* --- RED's average --- */

uint64_t switch_aqm_average(struct fabric_switch *sw, struct switch_port *o, unsigned prio)
{
    double w = sw->params.aqm.ecn_weight;
    struct switch_extra *x = o->extra;
    const struct switch_queue *q = &o->queue[prio];
    if (w >= 1)
        return q->bytes;
    if (!q->head) {
        /* While it was empty, as many packets of 1,500 B might have come and found it so as the link would have carried. */
        double packets = (double)(sim_now(sw->sim) - x->empty_since_ps[prio]) * (double)o->port->cls->rate_bps / PS_PER_S / (8.0 * 1500);
        x->average[prio] *= pow(1 - w, packets);
        x->empty_since_ps[prio] = sim_now(sw->sim);
    }
    x->average[prio] += w * ((double)q->bytes - x->average[prio]);
    return (uint64_t)x->average[prio];
}

/* --- PIE: the clauses are of RFC 8033 --- */

/* 4.2: the steps scale with the probability, so that small ones are not overrun. */
static double pie_scale(double p)
{
    static const double bound[] = { 0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1 }, divide[] = { 2048, 512, 128, 32, 8, 2 };
    for (unsigned i = 0; i < sizeof bound / sizeof bound[0]; i++)
        if (p < bound[i])
            return divide[i];
    return 1;
}

static void pie_update(const struct aqm_params *a, struct switch_pie *s)
{
    double target = (double)a->target_ps / PS_PER_S;
    double step = (a->pie_alpha * (s->qdelay_s - target) + a->pie_beta * (s->qdelay_s - s->old_qdelay_s)) / pie_scale(s->p);
    if (s->p >= 0.1 && step > 0.02)
        step = 0.02; /* 5.5 */
    s->p += step;
    if (s->qdelay_s == 0 && s->old_qdelay_s == 0)
        s->p *= 0.98; /* 4.2: exponential decay when there is no queue */
    s->p = s->p < 0 ? 0 : s->p > 1 ? 1 : s->p;
    s->old_qdelay_s = s->qdelay_s;
    s->burst_ps = s->burst_ps > a->pie_update_ps ? s->burst_ps - a->pie_update_ps : 0;
    if (s->p == 0 && s->qdelay_s < target / 2 && s->old_qdelay_s < target / 2)
        s->burst_ps = a->pie_burst_ps; /* 4.4 */
}

static void pie_arm(struct fabric_switch *sw, struct switch_port *o)
{
    struct sim_timer *t = &o->extra->pie_timer;
    int64_t at_ps = sim_now(sw->sim) + sw->params.aqm.pie_update_ps;
    if (t->at_ps != SIM_NEVER_PS)
        return;
    sim_timer_set(sw->sim, t, at_ps);
}

static void pie_event(struct sim *s, void *ctx, void *arg)
{
    struct switch_port *o = ctx;
    struct fabric_switch *sw = o->sw;
    bool busy = false;
    (void)s;
    (void)arg;
    for (unsigned prio = 0; prio < PORT_PRIOS; prio++) {
        struct switch_pie *pie = &o->extra->pie[prio];
        if (!manages(sw, prio))
            continue;
        const struct pkt *head = o->queue[prio].head;
        if (!head)
            pie->qdelay_s = 0;
        pie_update(&sw->params.aqm, pie);
        busy |= head || pie->p > 1e-9;
        if (!head && pie->p <= 1e-9)
            *pie = (struct switch_pie){ .burst_ps = sw->params.aqm.pie_burst_ps };
    }
    if (busy)
        pie_arm(sw, o);
}

bool switch_pie_drops(struct fabric_switch *sw, struct switch_port *o, struct pkt *p)
{
    const struct aqm_params *a = &sw->params.aqm;
    struct switch_pie *s = &o->extra->pie[p->prio];
    if (a->kind != SWITCH_AQM_PIE || !manages(sw, p->prio))
        return false;
    pie_arm(sw, o);
    double target = (double)a->target_ps / PS_PER_S;
    if (s->burst_ps > 0 || (s->old_qdelay_s < target / 2 && s->p < 0.2) || o->queue[p->prio].packets <= 2) {
        s->accumulated = 0;
        return false; /* 4.1: the safeguards */
    }
    s->accumulated = s->p == 0 ? 0 : s->accumulated + s->p;
    if (s->accumulated < 0.85)
        return false; /* 5.4: derandomised */
    if (s->accumulated < 8.5 && sim_rng_unit(&o->mark) >= s->p)
        return false;
    s->accumulated = 0;
    if (marks(sw, p) && s->p <= a->mark_limit) {
        mark_once(sw, o, p);
        return false;
    }
    return true;
}

/* --- CoDel: names and steps of RFC 8289 section 5 --- */

static int64_t control_law(int64_t t, int64_t interval_ps, uint32_t count) { return t + (int64_t)((double)interval_ps / sqrt(count)); }

/* dodequeue(): whether the standing queue has been above target for an interval. */
static bool above_for_long(const struct aqm_params *a, struct switch_codel *c, int64_t sojourn_ps, bool small, int64_t now_ps)
{
    if (sojourn_ps < a->target_ps || small) {
        c->first_above_ps = 0;
        return false;
    }
    if (c->first_above_ps == 0)
        c->first_above_ps = now_ps + a->interval_ps;
    return now_ps >= c->first_above_ps;
}

/* True: this packet is the one to drop (or mark). */
static bool codel(const struct aqm_params *a, struct switch_codel *c, int64_t sojourn_ps, bool small, int64_t now_ps)
{
    bool ok_to_drop = above_for_long(a, c, sojourn_ps, small, now_ps);
    if (c->dropping) {
        if (!ok_to_drop) {
            c->dropping = false;
            return false;
        }
        if (now_ps < c->drop_next_ps)
            return false;
        c->count++;
        c->drop_next_ps = control_law(c->drop_next_ps, a->interval_ps, c->count);
        return true;
    }
    if (!ok_to_drop)
        return false;
    c->dropping = true;
    uint32_t delta = c->count - c->last_count;
    c->count = delta > 1 && now_ps - c->drop_next_ps < 16 * a->interval_ps ? delta : 1;
    c->drop_next_ps = control_law(now_ps, a->interval_ps, c->count);
    c->last_count = c->count;
    return true;
}

bool switch_aqm_leaves(struct fabric_switch *sw, struct switch_port *o, unsigned prio, struct pkt *p)
{
    const struct aqm_params *a = &sw->params.aqm;
    int64_t now_ps = sim_now(sw->sim);
    if (a->kind == SWITCH_AQM_NONE || !manages(sw, prio) || switch_lossless(&sw->port[p->in_port], prio))
        return false;
    if (a->kind == SWITCH_AQM_PIE) {
        o->extra->pie[prio].qdelay_s = (double)(now_ps - p->stamp_ps) / PS_PER_S;
        return false;
    }
    if (!codel(a, &o->extra->codel[prio], now_ps - p->stamp_ps, o->queue[prio].packets == 0, now_ps))
        return false;
    if (!marks(sw, p))
        return true;
    mark_once(sw, o, p);
    return false;
}

/* --- phantom queue --- */

void switch_phantom(struct fabric_switch *sw, struct switch_port *o, struct pkt *p)
{
    const struct aqm_params *a = &sw->params.aqm;
    struct switch_extra *x = o->extra;
    int64_t now_ps = sim_now(sw->sim);
    x->phantom_bytes -= (double)(now_ps - x->phantom_ps) * (double)o->port->cls->rate_bps * a->phantom_drain / (8.0 * PS_PER_S);
    x->phantom_ps = now_ps;
    if (x->phantom_bytes < 0)
        x->phantom_bytes = 0;
    x->phantom_bytes += p->frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES;
    if (x->phantom_bytes > (double)a->phantom_threshold_bytes && PKT_ECT(p))
        mark_once(sw, o, p);
}

void switch_aqm_init(struct switch_port *o)
{
    sim_timer_init(&o->extra->pie_timer, sim_key_port(o->sw->node, o->port->index, SIM_KIND_WAKE) | 10, pie_event, o);
    for (unsigned i = 0; i < PORT_PRIOS; i++)
        o->extra->pie[i].burst_ps = o->sw->params.aqm.pie_burst_ps;
}
