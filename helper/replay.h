/* SPDX-License-Identifier: GPL-2.0-only */
/** `rnicsim replay`: our endpoints take the place of a side of captured connections and must answer as it did. */
#ifndef RNICSIM_HELPER_REPLAY_H
#define RNICSIM_HELPER_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum replay_sides { REPLAY_A, REPLAY_B, REPLAY_BOTH };
/** "A" or "B", in either case. */
int replay_side_of(const char *name, enum replay_sides *out);

/** Replay every connection of a capture: RoCEv2 (RC, UC, UD, connection management) and iWARP. Side A is the node whose frame comes first
 *  among those of two nodes. For each connection and side a line to out says what was compared; what differs is told to err with the
 *  frame's number, the field, what was expected and what was seen.
 *  Returns 0 if all is equal, 1 if something differs or nothing could be compared, 2 if the file cannot be read or is no whole pcap file. */
int replay_file(const char *path, enum replay_sides sides, FILE *out, FILE *err);

/** The same of a file in memory. */
int replay_bytes(const char *name, const uint8_t *file, size_t len, enum replay_sides sides, FILE *out, FILE *err);

#ifdef __cplusplus
}
#endif
#endif
