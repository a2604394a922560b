/* SPDX-License-Identifier: GPL-2.0-only */
/** Which host a word means: a name of an explicit topology, else its number. */
#ifndef RNICSIM_HELPER_HOST_NAMES_H
#define RNICSIM_HELPER_HOST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct host_name { const char *name; uint32_t node; };
/** Names in order; n 0: a topology without names. Nodes [0, nhosts) are hosts; nhosts 0: not known yet, any number is taken. */
struct host_names { struct host_name *sorted; size_t n; uint32_t nhosts; };

/** Index n names by node; names are kept by reference. false: out of memory. */
bool host_names_init(struct host_names *h, const char *const *names, size_t n, uint32_t nhosts);
void host_names_fini(struct host_names *h);
/** true: *node. false: one sentence in err. */
bool host_names_find(const struct host_names *h, const char *word, uint32_t *node, char *err, size_t errlen);
/** Any node with this name; -1 if none. */
int64_t host_names_node(const struct host_names *h, const char *word);

#ifdef __cplusplus
}
#endif
#endif
