/* SPDX-License-Identifier: GPL-2.0-only */
/** The HPCC family's trace file: the number of nodes whose packets are traced, then their ids. */
#ifndef RNICSIM_HELPER_TRACE_FILE_H
#define RNICSIM_HELPER_TRACE_FILE_H

#include "host_names.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trace_file { uint32_t *nodes; size_t n, unknown; char err[400]; int err_line; };

/** Read a list of nodes, hosts or switches; names with nhosts as the number of all nodes. true: nodes (malloc'd) and n, which may be 0; as that
 *  reader does, this one passes over numbers of nodes that are not there (counted in unknown) and what follows the announced number.
 *  false: err and its line (0: the file as a whole). */
bool trace_file_read(const char *path, const struct host_names *names, struct trace_file *t);
/** The same from memory. */
bool trace_file_parse(const char *bytes, size_t len, const struct host_names *names, struct trace_file *t);

#ifdef __cplusplus
}
#endif
#endif
