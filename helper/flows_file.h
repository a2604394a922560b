/* SPDX-License-Identifier: GPL-2.0-only */
/** Lists of flows as text, in two forms that tell themselves apart:
 *
 *  1. A table: one flow a line, columns separated by commas or blanks, '#' begins a comment. Its first line may name the columns, in any
 *     order: src, dst, bytes, start, priority. Without it the columns are these five; start and priority may be left out. start carries its
 *     unit ("12.5us"); in a column named start_ps, start_ns, start_us, start_ms or start_s it is a bare number.
 *  2. The flow file of the HPCC family of simulators: the number of flows, then of each "src dst priority port bytes start", start in
 *     seconds. As that reader does, this one stops after the announced number and takes what follows for a remark. The port is the destination's UDP port there; here connections choose theirs, so it is read and has no effect.
 */
#ifndef RNICSIM_HELPER_FLOWS_FILE_H
#define RNICSIM_HELPER_FLOWS_FILE_H

#include "../model/workload/workload.h"
#include "host_names.h"

#ifdef __cplusplus
extern "C" {
#endif

struct flows_file_error { int line; char text[400]; int note_line; /* where unread lines begin; 0: none */ };

/** Read a file. true: *flows (malloc'd) and *n. false: e says what is wrong and in which line. */
bool flows_file_read(const char *path, const struct host_names *names, struct wl_flow **flows, size_t *n, struct flows_file_error *e);
/** The same from memory. */
bool flows_file_parse(const char *bytes, size_t len, const struct host_names *names, struct wl_flow **flows, size_t *n, struct flows_file_error *e);

#ifdef __cplusplus
}
#endif
#endif
