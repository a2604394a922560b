/* SPDX-License-Identifier: GPL-2.0-only */
/** Networks of other tools' files, as an explicit topology. What a file is shows in its first character.
 *
 *  1. The topology file of the HPCC family of simulators: "nodes switches links", the switches' ids, then of each link "src dst rate delay
 *     error": ids from 0, rate and delay with their units, error the chance that a frame is lost on the link. As that reader does,
 *     this one stops after the announced number of links and takes what follows for a remark. A host has one link.
 *  2. GraphML: nodes with a `type` of host or switch; undirected edges with `rate`, `delay` (or `length`) and `loss`, each optional. Data of
 *     other names is passed over. A node's name is its id.
 */
#ifndef RNICSIM_HELPER_NETWORK_FILE_H
#define RNICSIM_HELPER_NETWORK_FILE_H

#include "topology.h"

#ifdef __cplusplus
extern "C" {
#endif

struct network_file {
    char **names;                /* by node: hosts in the order of their ids or of the file, then switches */
    uint32_t nhosts, nswitches;
    struct topology_link *links; size_t nlinks;
};
struct network_file_error { int line; char text[400]; int note_line; /* where unread lines begin; 0: none */ };

/** false: e says what is wrong and in which line (0: the file as a whole); n is empty. */
bool network_file_read(const char *path, struct network_file *n, struct network_file_error *e);
/** The same from memory. */
bool network_file_parse(const char *bytes, size_t len, struct network_file *n, struct network_file_error *e);
void network_file_fini(struct network_file *n);

#ifdef __cplusplus
}
#endif
#endif
