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
