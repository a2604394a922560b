/* SPDX-License-Identifier: GPL-2.0-only */
#include "headroom.h"
#include "mmu.h"
#include "../wire/pkt.h"

#define QUANTUM_BITS 512u
#define OVERHEAD (PKT_PREAMBLE_BYTES + PKT_IFG_BYTES)
#define PS_PER_S UINT64_C(1000000000000)

uint32_t headroom_reaction_quanta(int64_t rate_bps)
{
    static const struct { int64_t gbps; uint32_t quanta; } row[] = { { 10, 60 }, { 25, 80 }, { 40, 118 }, { 100, 394 }, { 400, 905 } };
    const unsigned n = sizeof row / sizeof row[0];
    const int64_t giga = 1000000000;
    if (rate_bps <= row[0].gbps * giga)
        return row[0].quanta;
    for (unsigned i = 1; i < n; i++) {
        int64_t lo = row[i - 1].gbps * giga, hi = row[i].gbps * giga;
        if (rate_bps <= hi)
            return row[i - 1].quanta + (uint32_t)((uint64_t)(row[i].quanta - row[i - 1].quanta) * (uint64_t)(rate_bps - lo) / (uint64_t)(hi - lo));
    }
    return (uint32_t)((uint64_t)rate_bps / (uint64_t)giga * row[n - 1].quanta / (uint64_t)row[n - 1].gbps);
}

static uint64_t bytes_in(int64_t ps, int64_t rate_bps)
{
    __uint128_t bits = (__uint128_t)(uint64_t)ps * (uint64_t)rate_bps;
    __uint128_t per_byte = (__uint128_t)8 * PS_PER_S;
    return (uint64_t)((bits + per_byte - 1) / per_byte);
}

/** Buffered bytes of `wire` bytes of back-to-back frames, at the frame size that fills most buffer. */
static uint64_t buffered(uint64_t wire, uint32_t max_frame, uint32_t cell)
{
    uint64_t num = mmu_in_cells(max_frame, cell), den = max_frame + OVERHEAD;
    for (uint64_t below = 0; cell > 1 && below + 1 <= max_frame; below += cell) {
        uint64_t first = below + 1 > PKT_FRAME_MIN_BYTES ? below + 1 : PKT_FRAME_MIN_BYTES; /* the shortest frame of its cell count */
        uint64_t n = mmu_in_cells(first, cell), d = first + OVERHEAD;
        if (n * den > num * d) {
            num = n;
            den = d;
        }
    }
    return (wire * num + den - 1) / den;
}

void headroom_compute(const struct headroom_link *l, struct headroom_terms *t)
{
    uint32_t frame = l->max_frame_bytes;
    t->reverse_frame = frame + OVERHEAD;
    t->pause_frame = PKT_FRAME_MIN_BYTES + OVERHEAD;
    t->reaction = (uint64_t)l->reaction_quanta * QUANTUM_BITS / 8;
    t->propagation = bytes_in(2 * l->propagation_ps, l->rate_bps);
    t->pipeline = bytes_in(l->pipeline_ps, l->rate_bps);
    t->last_frame = frame + OVERHEAD;
    uint64_t wire = t->reverse_frame + t->pause_frame + t->reaction + t->propagation + t->pipeline + t->last_frame;
    uint64_t plain = buffered(wire, frame, 1);
    t->overhead = wire - plain;
    uint64_t rounded = mmu_in_cells(buffered(wire, frame, l->cell_bytes), l->cell_bytes);
    t->cells = rounded - plain;
    t->crossing_frame = mmu_in_cells(frame, l->cell_bytes);
    t->total = rounded + t->crossing_frame;
}

uint64_t headroom_exact_bytes(const struct headroom_link *l)
{
    /* The crossing frame's last bit left one propagation (and pipeline) ago; the next frame began a gap later. All times in bytes. The PAUSE
     * counts when its own last bit has arrived, so without its gap. */
    uint64_t frame = l->max_frame_bytes, slot = frame + OVERHEAD;
    uint64_t until_stop = slot + PKT_FRAME_MIN_BYTES + PKT_PREAMBLE_BYTES + (uint64_t)l->reaction_quanta * QUANTUM_BITS / 8
                        + bytes_in(2 * l->propagation_ps + l->pipeline_ps, l->rate_bps) - PKT_IFG_BYTES;
    uint64_t frames = (until_stop + slot - 1) / slot;
    return (frames + 1) * mmu_in_cells(frame, l->cell_bytes);
}

double headroom_vendor_bytes(int64_t rate_bps, double cable_m, uint32_t mtu_bytes)
{
    return (301.0 + 2.16 * cable_m) * ((double)rate_bps / 1e9) + 2.72 * mtu_bytes;
}
