/* SPDX-License-Identifier: GPL-2.0-only */
/** The readers of network_file.h; network_*.c only. */
#ifndef RNICSIM_HELPER_NETWORK_FILE_INTERNAL_H
#define RNICSIM_HELPER_NETWORK_FILE_INTERNAL_H

#include "network_file.h"
#include "text_file.h"

/** Both add to an empty n; what it holds on failure the caller frees. */
bool network_hpcc_parse(struct text_file *t, struct network_file *n);
bool network_graphml_parse(const char *bytes, size_t len, struct network_file *n, struct network_file_error *e);

/** A link grown at the end of n; NULL: out of memory. */
struct topology_link *network_add_link(struct network_file *n, size_t *room);
/** A quantity of a link into *l: what is "rate", "delay", "length", "loss" or "error". false: a sentence in err. */
bool network_link_value(struct topology_link *l, const char *what, const char *text, char *err, size_t errlen);

#endif
