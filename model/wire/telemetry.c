/* SPDX-License-Identifier: GPL-2.0-only */
#include "telemetry.h"

#define G INT64_C(1000000000)
static const int64_t speed[16] = { G, 5 * G / 2, 5 * G, 10 * G, 20 * G, 25 * G, 40 * G, 50 * G, 56 * G, 80 * G, 100 * G, 150 * G, 200 * G, 400 * G, 800 * G, 1600 * G };

static unsigned speed_code(int64_t bps)
{
    unsigned best = 0;
    for (unsigned i = 1; i < 16; i++) {
        int64_t now = speed[best] > bps ? speed[best] - bps : bps - speed[best], then = speed[i] > bps ? speed[i] - bps : bps - speed[i];
        if (then < now)
            best = i;
    }
    return best;
}

uint64_t telemetry_word(const struct telemetry_hop *h)
{
    uint64_t queue = (h->queue_bytes + TELEMETRY_QUEUE_UNIT / 2) / TELEMETRY_QUEUE_UNIT, most = (UINT64_C(1) << TELEMETRY_QUEUE_BITS) - 1;
    uint64_t ts = h->ts_ns & ((UINT64_C(1) << TELEMETRY_TS_BITS) - 1);
    uint64_t tx = h->tx_bytes / TELEMETRY_TX_UNIT & ((UINT64_C(1) << TELEMETRY_TX_BITS) - 1);
    return (uint64_t)speed_code(h->rate_bps) << 60 | ts << 36 | tx << 16 | (queue < most ? queue : most);
}

struct telemetry_hop telemetry_read(uint64_t word)
{
    return (struct telemetry_hop){ .rate_bps = speed[word >> 60], .ts_ns = word >> 36 & ((UINT64_C(1) << TELEMETRY_TS_BITS) - 1),
        .tx_bytes = (word >> 16 & ((UINT64_C(1) << TELEMETRY_TX_BITS) - 1)) * TELEMETRY_TX_UNIT,
        .queue_bytes = (word & ((UINT64_C(1) << TELEMETRY_QUEUE_BITS) - 1)) * TELEMETRY_QUEUE_UNIT };
}
