/* SPDX-License-Identifier: GPL-2.0-only */
/** Topology builders. Hosts are made first: node ids 0 .. hosts-1 are hosts, in the order of their places (host i hangs on leaf
 *  i / hosts-per-leaf, and so on); switches follow, leaves before spines, edges before aggregation before core, site by site.
 */
#ifndef RNICSIM_HELPER_TOPOLOGY_H
#define RNICSIM_HELPER_TOPOLOGY_H

#include "../model/fabric/fabric.h"
#include "../model/fabric/link_params.h"
#include "../model/fabric/switch_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Light in a fibre of index 1.5, as cable plants are reckoned: 5 ns a metre, 5 ps a millimetre. */
#define TOPOLOGY_PS_PER_MM 5

#define TOPOLOGY_KINDS "star|dumbbell|leaf-spine|fat-tree|explicit|parking-lot|ring|three-tier|dragonfly|wan"
enum topology_kind {
    TOPOLOGY_STAR, TOPOLOGY_DUMBBELL, TOPOLOGY_LEAF_SPINE, TOPOLOGY_FAT_TREE, TOPOLOGY_EXPLICIT, TOPOLOGY_PARKING_LOT, TOPOLOGY_RING, TOPOLOGY_THREE_TIER,
    TOPOLOGY_DRAGONFLY, TOPOLOGY_WAN, TOPOLOGY_KIND_COUNT
};

#define TOPOLOGY_PARAMS(X) \
    X(kind, ENUM, TOPOLOGY_STAR, 0, TOPOLOGY_KIND_COUNT - 1, TOPOLOGY_KINDS, "shape of the network", "choice of the scenario") \
    X(hosts, COUNT, 8, 1, 1e6, NULL, "star: hosts; dumbbell: hosts on each side; parking-lot and ring: hosts on each switch", "choice of the scenario") \
    X(switches, COUNT, 3, 2, 100000, NULL, "parking-lot: switches in a row; ring: switches in a circle, at least 3", "DCQCN (SIGCOMM'15) and others: two or three bottlenecks") \
    X(leaves, COUNT, 4, 1, 4095, NULL, "leaf-spine and each site of a wan: leaf switches", "choice of the scenario") \
    X(spines, COUNT, 2, 1, 4095, NULL, "leaf-spine and each site of a wan: spine switches; each leaf is linked to each", "choice of the scenario") \
    X(hosts_per_leaf, COUNT, 4, 1, 4095, NULL, "leaf-spine and wan: hosts on each leaf", "choice of the scenario") \
    X(oversubscription, NUMBER, 0, 0, 1000, NULL, \
      "leaf-spine, wan and three-tier: hosts' rate over uplinks' rate of a leaf (edge), by setting fabric-rate; 0: fabric-rate as given", "1 is full bisection; 2 to 4 are common") \
    X(trunk_oversubscription, NUMBER, 0, 0, 1000, NULL, \
      "three-tier: rate from the edges over rate to the cores of an aggregation switch, by setting trunk-rate; 0: trunk-rate as given", "as oversubscription") \
    X(k, COUNT, 4, 2, 64, NULL, "fat-tree: ports of a switch, even; k^3/4 hosts", "Al-Fares et al., SIGCOMM'08") \
    X(hosts_per_edge, COUNT, 0, 0, 4000, NULL, "fat-tree and three-tier: hosts on an edge switch; 0: k/2", "Al-Fares et al., SIGCOMM'08") \
    X(pods, COUNT, 5, 1, 4095, NULL, "three-tier: pods", "HPCC (SIGCOMM'19): 320 hosts in 5 pods of 4 edges and 4 aggregations, 16 cores") \
    X(edges, COUNT, 4, 1, 4095, NULL, "three-tier: edge switches of a pod, each linked to each of the pod's aggregations", "as pods") \
    X(aggregations, COUNT, 4, 1, 4095, NULL, "three-tier: aggregation switches of a pod", "as pods") \
    X(cores, COUNT, 16, 1, 100000, NULL, \
      "three-tier: core switches, a multiple of the aggregations: the n-th aggregation of each pod is linked to the n-th share of them", "as pods") \
    X(groups, COUNT, 9, 2, 4095, NULL, "dragonfly: groups, at most routers x global-links + 1; each two have the same number of links", "Kim et al., ISCA'08: a x h + 1") \
    X(routers, COUNT, 4, 1, 4095, NULL, "dragonfly: switches of a group, each linked to each", "Kim et al., ISCA'08: a = 2h") \
    X(hosts_per_router, COUNT, 2, 1, 4095, NULL, "dragonfly: hosts on each switch", "Kim et al., ISCA'08: p = h") \
    X(global_links, COUNT, 2, 1, 4095, NULL, "dragonfly: links of a switch to other groups", "Kim et al., ISCA'08: h") \
    X(host_rate_bps, RATE, 100e9, 1e6, 3.2e12, NULL, "rate of host links", "100 Gb/s Ethernet") \
    X(fabric_rate_bps, RATE, 100e9, 1e6, 3.2e12, NULL, "rate of links between switches", "1:1 fat tree: as host-rate") \
    X(trunk_rate_bps, RATE, 0, 0, 3.2e12, NULL, \
      "rate of three-tier's links to the cores, dragonfly's between groups and the wan's long link; 0: as fabric-rate", "choice of the scenario") \
    X(slow_every, COUNT, 0, 0, 1e6, NULL, "each so-manieth host has a link of slow-rate; 0: none", "choice of the scenario") \
    X(slow_rate_bps, RATE, 25e9, 1e6, 3.2e12, NULL, "rate of slow hosts' links", "25 Gb/s Ethernet, the generation before 100") \
    X(lag, COUNT, 1, 1, 256, NULL, "parallel links between each two switches that are linked; flows are hashed over them", "IEEE 802.1AX") \
    X(host_propagation_ps, TIME, 1e6, 0, 1e12, NULL, "propagation on host links", "HPCC (SIGCOMM'19): 1 us") \
    X(fabric_propagation_ps, TIME, 1e6, 0, 1e12, NULL, "propagation on links between switches", "HPCC (SIGCOMM'19): 1 us") \
    X(trunk_propagation_ps, TIME, 0, 0, 1e12, NULL, "propagation on the links of trunk-rate; 0: as fabric-propagation", "choice of the scenario") \
    X(host_length_mm, LENGTH, 0, 0, 2e11, NULL, "cable of host links, in place of host-propagation; 0: that", "5 ns a metre: fibre of index 1.5") \
    X(fabric_length_mm, LENGTH, 0, 0, 2e11, NULL, "cable between switches, in place of fabric-propagation; 0: that", "5 ns a metre: fibre of index 1.5") \
    X(trunk_length_mm, LENGTH, 0, 0, 2e11, NULL, "cable of the links of trunk-rate, in place of trunk-propagation; 0: that", "5 ns a metre: fibre of index 1.5") \
    X(border_buffer_bytes, BYTES, 0, 0, 4e9, NULL, \
      "wan: buffer of the two switches at the long link, whose headroom grows with its length; 0: as every switch's", "choice of the scenario")

struct topology_params { PARAM_FIELDS(TOPOLOGY_PARAMS) };
extern const struct param_table topology_params_table;

/** An explicit network, as a scenario lists it. Nodes [0, nhosts) are hosts, [nhosts, nhosts + nswitches) switches. rate_bps 0 or
 *  propagation_ps -1: the topology's host or fabric value; loss -1: the fabric's. */
struct topology_link { uint32_t a, b; int64_t rate_bps, propagation_ps; double loss; };
struct topology_list { uint32_t nhosts, nswitches; const struct topology_link *links; size_t nlinks; };

/** Hosts, switches and links that the parameters stand for, without building. list: for explicit only, else NULL. 0 if they are refused:
 *  then one sentence is in err (may be NULL). */
uint32_t topology_hosts(const struct topology_params *t, const struct topology_list *list, char *err, size_t errlen);
/** Hosts and switches of a topology with parameters of its own; 0 if it is explicit or refused. */
uint32_t topology_nodes(const struct topology_params *t);
/** The first host that no chain of links and switches joins to host 0; 0 if all are. Negative: out of memory. */
int64_t topology_unreachable(const struct topology_list *list);

/** A switch unlike the others; number counts switches from 0, in the order of their nodes. */
struct topology_exception { uint32_t number; struct switch_params sw; };

/** A next hop set by hand: node ids of a switch, a host and a neighbour. */
struct topology_route { uint32_t at, to, via; };

/** How the nodes of a topology behave. */
struct topology_behaviour {
    const struct switch_params *sw;              /* every switch but the exceptions */
    const struct topology_exception *ex; size_t nex;
    const struct link_params *link;              /* loss, bit errors and reaction of every link; its rate and propagation are the topology's */
    const struct fabric_params *fabric;          /* NULL: the defaults */
    const struct topology_route *routes; size_t nroutes;
};

/** Build and finish a fabric. Returns the fabric and the number of hosts, or NULL with one sentence in err. */
struct fabric *topology_build(struct sim *s, const struct topology_params *t, const struct topology_list *list, const struct topology_behaviour *how,
                              uint32_t *nhosts, char *err, size_t errlen) SIM_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
