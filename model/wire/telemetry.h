/* SPDX-License-Identifier: GPL-2.0-only */
/** A switch's word in a packet's telemetry, 64 bits as in HPCC (SIGCOMM'19, figure 7): speed code (4), time (24, ns), bytes sent
 *  (20, in units of 128), queue (16, in units of 80, the units of its simulator), the highest bits first. */
#ifndef RNICSIM_WIRE_TELEMETRY_H
#define RNICSIM_WIRE_TELEMETRY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TELEMETRY_TS_BITS 24
#define TELEMETRY_TX_BITS 20
#define TELEMETRY_QUEUE_BITS 16
#define TELEMETRY_TX_UNIT 128
#define TELEMETRY_QUEUE_UNIT 80

struct telemetry_hop {
    int64_t  rate_bps;
    uint64_t ts_ns, tx_bytes, queue_bytes;
};

/** Round to what the word can hold: the nearest of sixteen speeds, time and bytes modulo their fields, a queue beyond its field at
 *  its end. */
uint64_t telemetry_word(const struct telemetry_hop *h);
struct telemetry_hop telemetry_read(uint64_t word);

#ifdef __cplusplus
}
#endif
#endif
