/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the priorities of a port: strict ones first, the others by deficit weighted round robin (Shreedhar and Varghese,
 * SIGCOMM'95). A paused queue keeps its deficit and is passed over. */
#include "switch_internal.h"

unsigned switch_sched_pick(struct fabric_switch *sw, struct switch_port *o, uint8_t mask)
{
    uint8_t first = mask & sw->strict;
    if (first)
        return 31u - (unsigned)__builtin_clz(first);
    for (;;) {
        unsigned at = o->dwrr_at;
        struct switch_queue *q = &o->queue[at];
        if (mask >> at & 1) {
            if (o->dwrr_fresh) {
                q->deficit += sw->quantum[at];
                o->dwrr_fresh = 0;
            }
            if (q->deficit >= q->head->frame_len) {
                q->deficit -= q->head->frame_len;
                return at;
            }
        }
        o->dwrr_at = (uint8_t)((at + 1) % PORT_PRIOS);
        o->dwrr_fresh = 1;
    }
}

/* --- shapers: a token bucket per queue; a packet may go when the bucket is not empty, and is paid for whole --- */

static void refill(struct fabric_switch *sw, struct switch_extra *x, unsigned prio, int64_t now_ps)
{
    double burst = (double)sw->params.shaper.burst_bytes;
    x->tokens[prio] += (double)(now_ps - x->tokens_ps[prio]) * (double)sw->shape_bps[prio] / (8.0 * (double)SIM_PS_PER_S);
    x->tokens_ps[prio] = now_ps;
    if (x->tokens[prio] > burst)
        x->tokens[prio] = burst;
}

uint8_t switch_shaper_mask(struct fabric_switch *sw, struct switch_port *o, uint8_t mask)
{
    struct switch_extra *x = o->extra;
    int64_t now_ps = sim_now(sw->sim), next_ps = SIM_NEVER_PS;
    for (uint8_t m = mask & sw->shaped; m; m &= (uint8_t)(m - 1)) {
        unsigned prio = (unsigned)__builtin_ctz(m);
        refill(sw, x, prio, now_ps);
        if (x->tokens[prio] > 0)
            continue;
        int64_t at_ps = now_ps + 1 + (int64_t)(-x->tokens[prio] * 8.0 * (double)SIM_PS_PER_S / (double)sw->shape_bps[prio]);
        next_ps = at_ps < next_ps ? at_ps : next_ps;
        mask &= (uint8_t)~(1u << prio);
    }
    if (next_ps < x->shaper.at_ps)
        sim_timer_set(sw->sim, &x->shaper, next_ps);
    return mask;
}

void switch_shaper_sent(struct fabric_switch *sw, struct switch_port *o, unsigned prio, uint32_t frame_len)
{
    if (sw->shaped >> prio & 1)
        o->extra->tokens[prio] -= frame_len + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES;
}
