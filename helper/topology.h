/* SPDX-License-Identifier: GPL-2.0-only */
/** Topology builders. Hosts are made first: node ids 0 .. hosts-1 are hosts, in the order of their places (host i hangs on leaf
 *  i / hosts-per-leaf, and so on); switches follow, leaves before spines, edges before aggregation before core.
 */
#ifndef RNICSIM_HELPER_TOPOLOGY_H
#define RNICSIM_HELPER_TOPOLOGY_H

#include "../model/fabric/fabric.h"
#include "../model/fabric/link_params.h"
#include "../model/fabric/switch_params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum topology_kind { TOPOLOGY_STAR, TOPOLOGY_DUMBBELL, TOPOLOGY_LEAF_SPINE, TOPOLOGY_FAT_TREE, TOPOLOGY_EXPLICIT };

#define TOPOLOGY_PARAMS(X) \
    X(kind, ENUM, TOPOLOGY_STAR, 0, 4, "star|dumbbell|leaf-spine|fat-tree|explicit", "shape of the network", "choice of the scenario") \
    X(hosts, COUNT, 8, 1, 1e6, NULL, "star: hosts; dumbbell: hosts on each side", "choice of the scenario") \
    X(leaves, COUNT, 4, 1, 4095, NULL, "leaf-spine: leaf switches", "choice of the scenario") \
    X(spines, COUNT, 2, 1, 4095, NULL, "leaf-spine: spine switches; each leaf has one link to each", "choice of the scenario") \
    X(hosts_per_leaf, COUNT, 4, 1, 4095, NULL, "leaf-spine: hosts on each leaf", "choice of the scenario") \
    X(oversubscription, NUMBER, 0, 0, 1000, NULL, \
      "leaf-spine: hosts' rate over uplinks' rate of a leaf, by setting fabric-rate; 0: fabric-rate as given", "1 is full bisection; 2 to 4 are common") \
    X(k, COUNT, 4, 2, 64, NULL, "fat-tree: ports of a switch, even; k^3/4 hosts", "Al-Fares et al., SIGCOMM'08") \
    X(hosts_per_edge, COUNT, 0, 0, 4000, NULL, "fat-tree: hosts on an edge switch; 0: k/2", "Al-Fares et al., SIGCOMM'08") \
    X(host_rate_bps, RATE, 100e9, 1e6, 3.2e12, NULL, "rate of host links", "100 Gb/s Ethernet") \
    X(fabric_rate_bps, RATE, 100e9, 1e6, 3.2e12, NULL, "rate of links between switches", "1:1 fat tree: as host-rate") \
    X(host_propagation_ps, TIME, 1e6, 0, 1e12, NULL, "propagation on host links", "HPCC (SIGCOMM'19): 1 us") \
    X(fabric_propagation_ps, TIME, 1e6, 0, 1e12, NULL, "propagation on links between switches", "HPCC (SIGCOMM'19): 1 us")

struct topology_params { PARAM_FIELDS(TOPOLOGY_PARAMS) };
extern const struct param_table topology_params_table;

/** An explicit network, as a scenario lists it. Nodes [0, nhosts) are hosts, [nhosts, nhosts + nswitches) switches. rate_bps 0 or
 *  propagation_ps -1: the topology's host or fabric value. */
struct topology_link { uint32_t a, b; int64_t rate_bps, propagation_ps; };
struct topology_list { uint32_t nhosts, nswitches; const struct topology_link *links; size_t nlinks; };

/** Hosts, switches and links that the parameters stand for, without building. list: for explicit only, else NULL. 0 if they are refused. */
uint32_t topology_hosts(const struct topology_params *t, const struct topology_list *list);

/** Build and finish a fabric. sw: parameters of every switch; link: loss, bit errors and reaction of every link (its rate and
 *  propagation are the topology's). Returns the fabric and the number of hosts, or NULL with one sentence in err. */
struct fabric *topology_build(struct sim *s, const struct topology_params *t, const struct topology_list *list, const struct switch_params *sw,
                              const struct link_params *link, uint32_t *nhosts, char *err, size_t errlen) SIM_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
