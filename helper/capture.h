/* SPDX-License-Identifier: GPL-2.0-only */
/** A pcap file of a run: every frame that leaves a host, once, and the PFC frames on host links. */
#ifndef RNICSIM_HELPER_CAPTURE_H
#define RNICSIM_HELPER_CAPTURE_H

#include "../model/fabric/fabric.h"

#ifdef __cplusplus
extern "C" {
#endif

struct capture;

/** Start capturing on a fabric, beside path: what the listed nodes send, hosts or switches; nnodes 0: what all hosts send, and the PFC frames
 *  sent to them. NULL with a sentence in err if the file cannot be opened. */
struct capture *capture_open(struct fabric *f, const char *path, const uint32_t *nodes, size_t nnodes, char *err, size_t errlen) SIM_MUST_CHECK;
/** Stop; keep: rename into place, else remove. 0, or -1 with a sentence in err when writing failed. */
int capture_close(struct capture *c, bool keep, char *err, size_t errlen);

#ifdef __cplusplus
}
#endif
#endif
