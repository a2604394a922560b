/* SPDX-License-Identifier: GPL-2.0-only */
/* The books: every packet is delivered, dropped for one cause, or in flight. */
#include <inttypes.h>
#include <stdio.h>

#include "../sim/trace.h"
#include "switch_internal.h"

const char *const fabric_drop_name[FABRIC_DROP_CAUSE_COUNT] = {
#define X(id, name, meaning) [FABRIC_DROP_##id] = name,
    FABRIC_DROP_CAUSES(X)
#undef X
};

const char *const fabric_limit_name[FABRIC_LIMIT_COUNT] = {
#define X(id, name, meaning) [FABRIC_LIMIT_##id] = name,
    FABRIC_LIMITS(X)
#undef X
};

void fabric_count_delivered(struct fabric *f, const struct pkt *p)
{
    unsigned c = fabric_class(f, p);
    f->audit.delivered[c]++;
    f->audit.delivered_bytes[c] += p->frame_len;
}

void fabric_drop(struct fabric *f, uint32_t node, uint32_t port, struct pkt *p, enum fabric_drop_cause cause)
{
    unsigned c = fabric_class(f, p);
    assert(cause < FABRIC_DROP_CAUSE_COUNT);
    f->audit.dropped[cause][c]++;
    f->audit.dropped_bytes[cause][c] += p->frame_len;
    sim_note(f->sim, node, SIM_NOTE_DROP, (uint64_t)cause << 56 ^ (uint64_t)port << 40 ^ (uint64_t)p->flow_hash << 8 ^ p->frame_len);
    if (sim_tracing(f->sim)) {
        struct sim_trace t = { .now_ps = sim_now(f->sim), .point = SIM_TRACE_DROP, .node = node, .id = port, .a = cause, .b = p->prio, .obj = p };
        sim_trace_emit(f->sim, &t);
    }
    fabric_pkt_free(f, p);
}

void fabric_count_waiting(struct fabric *f, int delta) { f->waiting += delta; }

const struct fabric_audit *fabric_audit(const struct fabric *f) { return &f->audit; }

/* One class: sent = delivered + dropped + in flight, in packets and bytes. */
static bool class_adds_up(const struct fabric_audit *a, unsigned c, uint64_t *flight, char *out, size_t len)
{
    uint64_t gone = a->delivered[c], bytes = a->delivered_bytes[c];
    for (unsigned d = 0; d < FABRIC_DROP_CAUSE_COUNT; d++) {
        gone += a->dropped[d][c];
        bytes += a->dropped_bytes[d][c];
    }
    if (gone > a->sent[c] || bytes > a->sent_bytes[c]) {
        snprintf(out, len, "priority %u: %" PRIu64 " packets (%" PRIu64 " B) delivered or dropped, but only %" PRIu64 " (%" PRIu64 " B) sent", c, gone,
                 bytes, a->sent[c], a->sent_bytes[c]);
        return false;
    }
    if (gone == a->sent[c] && bytes != a->sent_bytes[c]) {
        snprintf(out, len, "priority %u: all packets accounted for, but %" PRIu64 " B are not", c, a->sent_bytes[c] - bytes);
        return false;
    }
    *flight += a->sent[c] - gone;
    return true;
}

bool fabric_audit_check(const struct fabric *f, char *out, size_t len)
{
    const struct fabric_audit *a = &f->audit;
    uint64_t flight = 0, live = sim_packets(f->sim)->in_use - f->pfc_live - (uint64_t)f->waiting;
    for (unsigned c = 0; c < PORT_PRIOS; c++)
        if (!class_adds_up(a, c, &flight, out, len))
            return false;
    if (flight != live) {
        snprintf(out, len, "%" PRIu64 " packets should be in flight, %" PRIu64 " exist", flight, live);
        return false;
    }
    if (a->lossless_buffer_drops && !a->headroom_short_bytes) {
        snprintf(out, len, "%" PRIu64 " buffer drops in a lossless class at the limit of an egress queue", a->lossless_buffer_drops);
        return false;
    }
    if (a->lossless_buffer_drops) {
        snprintf(out, len, "%" PRIu64 " buffer drops in a lossless class: %" PRIu64 " B more headroom per port and priority needed",
                 a->lossless_buffer_drops, a->headroom_short_bytes);
        return false;
    }
    snprintf(out, len, "ok");
    return true;
}

void fabric_queue_peaks(const struct fabric *f, struct fabric_queue_peak *out)
{
    struct fabric_queue_peak k = { 0 };
    uint64_t least = UINT64_MAX;
    for (uint32_t v = 0; v < f->nnodes; v++) {
        const struct fabric_switch *sw = f->node[v].sw;
        if (!sw || !f->finished)
            continue;
        if (sw->peak_queue > k.peak_queue_bytes) {
            k.peak_queue_bytes = sw->peak_queue;
            k.node = v;
            k.port = sw->peak_port;
            k.prio = sw->peak_prio;
        }
        if (sw->peak_used > k.peak_buffer_bytes)
            k.peak_buffer_bytes = sw->peak_used;
        k.buffer_bytes = (uint64_t)sw->params.buffer_bytes;
        if (!sw->lossless)
            continue;
        if (sw->limits.xoff)
            k.xoff_bytes = sw->limits.xoff;
        else if (!k.xoff_bytes)
            k.xoff_bytes = mmu_xoff_limit(&sw->limits, 0);
        for (uint32_t i = 0; i < sw->nports; i++) {
            if (sw->port[i].headroom > k.headroom_bytes)
                k.headroom_bytes = sw->port[i].headroom;
            if (sw->port[i].lossless && sw->port[i].least_headroom < least)
                least = sw->port[i].least_headroom;
        }
    }
    k.least_headroom_bytes = least == UINT64_MAX ? 0 : least;
    *out = k;
}

/* Nearer: the larger share of its threshold. */
static bool nearer(uint64_t bytes, uint64_t xoff, const struct fabric_class_peak *k)
{
    return k->xoff_bytes == 0 || (__uint128_t)bytes * k->xoff_bytes > (__uint128_t)k->peak_bytes * xoff;
}

void fabric_class_peaks(const struct fabric *f, struct fabric_class_peak out[PORT_PRIOS])
{
    for (unsigned prio = 0; prio < PORT_PRIOS; prio++) {
        struct fabric_class_peak k = { .least_headroom_bytes = UINT64_MAX };
        for (uint32_t v = 0; v < f->nnodes; v++) {
            const struct fabric_switch *sw = f->node[v].sw;
            if (!sw || !f->finished || !(sw->lossless >> prio & 1))
                continue;
            k.lossless = true;
            uint64_t xoff = sw->peak_pg[prio] ? sw->peak_pg_at[prio].xoff : mmu_xoff_limit(&sw->limits, 0);
            if (nearer(sw->peak_pg[prio], xoff, &k)) {
                k.peak_bytes = sw->peak_pg[prio];
                k.xoff_bytes = xoff;
                k.node = v;
                k.port = sw->peak_pg_at[prio].port;
            }
            for (uint32_t i = 0; i < sw->nports; i++)
                if (sw->port[i].lossless >> prio & 1 && sw->port[i].least_headroom < k.least_headroom_bytes) {
                    k.least_headroom_bytes = sw->port[i].least_headroom;
                    k.headroom_bytes = sw->port[i].headroom;
                }
        }
        if (k.least_headroom_bytes == UINT64_MAX)
            k.least_headroom_bytes = 0;
        out[prio] = k;
    }
}

void fabric_shared_peak(const struct fabric *f, uint64_t *peak_bytes, uint64_t *shared_bytes)
{
    *peak_bytes = *shared_bytes = 0;
    for (uint32_t v = 0; v < f->nnodes; v++) {
        const struct fabric_switch *sw = f->node[v].sw;
        if (sw && f->finished && (sw->peak_shared > *peak_bytes || *shared_bytes == 0)) {
            *peak_bytes = sw->peak_shared;
            *shared_bytes = sw->limits.shared;
        }
    }
}

uint64_t fabric_queue_bytes(const struct fabric *f, uint32_t node, uint32_t port, uint32_t prio)
{
    const struct fabric_switch *sw = f->node[node].sw;
    return sw && sw->port && port < sw->nports && prio < PORT_PRIOS ? sw->port[port].queue[prio].bytes : 0;
}

uint64_t fabric_queue_peak_take(struct fabric *f)
{
    uint64_t peak = f->window_peak_bytes, now = 0;
    for (uint32_t v = 0; v < f->nnodes; v++) {
        const struct fabric_switch *sw = f->node[v].sw;
        for (uint32_t i = 0; sw && sw->port && i < sw->nports; i++)
            for (uint8_t m = sw->link[i]->queued; m; m &= (uint8_t)(m - 1)) {
                uint64_t q = sw->port[i].queue[__builtin_ctz(m)].bytes;
                now = q > now ? q : now;
            }
    }
    f->window_peak_bytes = now; /* what stands now counts for the next interval too */
    return peak;
}
