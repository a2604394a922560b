/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of a switch. Lossy and lossless are settings of the same switch; PFC and ECN switch on and off apart. */
#ifndef RNICSIM_FABRIC_SWITCH_PARAMS_H
#define RNICSIM_FABRIC_SWITCH_PARAMS_H

#include "../sim/param.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum switch_ecn_at { SWITCH_ECN_ENQUEUE, SWITCH_ECN_DEQUEUE };
enum switch_non_ect { SWITCH_NON_ECT_TAIL, SWITCH_NON_ECT_WRED };
enum switch_scheduler { SWITCH_STRICT, SWITCH_DWRR };
enum switch_pause { SWITCH_PAUSE_PRIORITY, SWITCH_PAUSE_GLOBAL };
enum switch_pfc_ports { SWITCH_PFC_ALL, SWITCH_PFC_HOSTS, SWITCH_PFC_SWITCHES };
enum switch_forwarding { SWITCH_STORE_AND_FORWARD, SWITCH_CUT_THROUGH };
enum switch_layer { SWITCH_ROUTED, SWITCH_BRIDGED };

#define SWITCH_PARAMS(X) \
    X(buffer_bytes, BYTES, 33554432, 64, 4e9, NULL, "shared packet buffer", "HPCC (SIGCOMM'19): 32 MB at 100 Gb/s; Guo'16: 9 to 12 MB") \
    X(pipeline_latency_ps, TIME, 0, 0, 1e9, NULL, \
      "from a frame's last bit to its egress queue, beyond storing and forwarding", "0 as in published simulations; chips take 300 to 800 ns (data sheets)") \
    X(forwarding, ENUM, SWITCH_STORE_AND_FORWARD, 0, 1, "store-and-forward|cut-through", \
      "cut-through: forwards once the head is in, unless the way out is faster than the way in; a corrupt frame then passes", "published simulations store and forward") \
    X(cut_through_bytes, BYTES, 64, 64, 9216, NULL, "cut-through: bytes of a frame that must be in", "guess: the headers that a switch parses") \
    X(layer, ENUM, SWITCH_ROUTED, 0, 1, "routed|bridged", \
      "a routed hop takes one from the TTL and drops at 1, and a tag's PCP is set anew; a bridged hop changes neither", "RFC 1812 5.3.1; IEEE 802.1Q") \
    X(pfc, BOOL, 0, 0, 1, NULL, "priority flow control for the lossless priorities", "a fabric is lossy unless asked") \
    X(lossless_prios, COUNT, 8, 0, 255, NULL, "mask of the priorities that PFC protects; 8 is priority 3", "RoCE on priority 3 is vendors' common practice") \
    X(pfc_xoff_bytes, BYTES, 0, 0, 4e9, NULL, \
      "bytes of one ingress port and priority at which it pauses its sender; 0: dynamic, by pfc-alpha", "IRN (SIGCOMM'18) uses 220 KB") \
    X(pfc_alpha, NUMBER, 0.125, 0, 128, NULL, "dynamic XOFF: pause above reserved + pfc-alpha x free shared buffer", "HPCC's simulator: 1/8; ConWeave's: 1/16") \
    X(pfc_xon_offset_bytes, BYTES, 9216, 0, 4e9, NULL, "resume when this far below XOFF (or empty)", "guess: two 4 KB frames and more; HPCC's simulator has 3 KB") \
    X(pfc_xon_bytes, BYTES, 0, 0, 4e9, NULL, "resume at this or below instead, whatever XOFF is; 0: by pfc-xon-offset", "switches offer both forms (SAI: xon_th, xon_offset_th)") \
    X(pause, ENUM, SWITCH_PAUSE_PRIORITY, 0, 1, "priority|global", \
      "what is sent at XOFF: PFC of the one priority, or a PAUSE that stops the whole link", "IEEE 802.1Qbb; IEEE 802.3 annex 31B") \
    X(pfc_ports, ENUM, SWITCH_PFC_ALL, 0, 2, "all|hosts|switches", \
      "which links have PFC: all, those to hosts, those to switches; on the others its priorities are lossy", "lossless inside a pod, lossy between, is a common design") \
    X(pfc_heed, BOOL, 1, 0, 1, NULL, "obey the pauses that come, whether or not it sends any", "IEEE 802.1Qbb; off to show a hop that ignores them") \
    X(pfc_quanta, COUNT, 65535, 1, 65535, NULL, "pause time sent, in quanta of 512 bit times; renewed at half of it", "IEEE 802.1Qbb; the longest, as switches send") \
    X(headroom_bytes, BYTES, 0, 0, 4e9, NULL, \
      "buffer kept per port and lossless priority for what arrives after XOFF; 0: computed from the link, 1B: none", "closed form in headroom.h") \
    X(headroom_pool_bytes, BYTES, 0, 0, 4e9, NULL, \
      "headroom of one lossless priority over all ports together, each port still at most headroom; 0: every port has its own", "chips share a headroom pool (Broadcom, SAI)") \
    X(reserved_bytes, BYTES, 4096, 0, 4e9, NULL, "buffer guaranteed to each port and lossless priority before the shared part", "HPCC's simulator: 4 KB") \
    X(port_reserved_bytes, BYTES, 0, 0, 4e9, NULL, "buffer guaranteed to each ingress port, all priorities together, taken before the shared part", "none in published simulations") \
    X(queue_reserved_bytes, BYTES, 0, 0, 4e9, NULL, "buffer guaranteed to each lossy egress queue", "none in published simulations") \
    X(max_frame_bytes, BYTES, 9216, 64, 65535, NULL, "largest frame that headroom is computed for", "common jumbo limit of switches") \
    X(mtu_bytes, BYTES, 0, 0, 65535, NULL, "largest IP packet that is forwarded; larger ones are dropped; 0: any", "choice of the scenario; 1500 and 9000 are common") \
    X(cell_bytes, BYTES, 1, 1, 4096, NULL, "buffer is taken in cells of this size", "1: bytes, as published simulations count; chips use 80 to 256 B") \
    X(alpha, NUMBER, 1, 0, 128, NULL, "dynamic limit of a lossy egress queue: alpha x free shared buffer", "Choudhury and Hahne 1998; ConWeave's egress alpha 1") \
    X(queue_limit_bytes, BYTES, 0, 0, 4e9, NULL, "static limit of a lossy egress queue; 0: dynamic, by alpha", "choice of the scenario") \
    X(ingress_alpha, NUMBER, 0, 0, 128, NULL, \
      "lossy: an ingress port and priority may hold ingress-alpha x free shared buffer as well; 0: no such limit", "chips check ingress and egress at once") \
    X(lossless_queue_alpha, NUMBER, 0, 0, 128, NULL, \
      "lossless: dynamic limit of an egress queue, above which a lossless packet is dropped; 0: no such limit", "0: ingress alone decides, as it should") \
    X(ecn, BOOL, 0, 0, 1, NULL, "mark ECN-capable packets (RED on the instantaneous egress queue)", "off unless asked") \
    X(ecn_prios, COUNT, 255, 0, 255, NULL, "mask of the priorities that mark", "all") \
    X(ecn_kmin_bytes, BYTES, 100000, 0, 4e9, NULL, "egress queue above which marking begins", "ConWeave: 100 KB at 100 Gb/s; DCQCN'15: 5 KB at 40 Gb/s") \
    X(ecn_kmax_bytes, BYTES, 400000, 0, 4e9, NULL, "egress queue above which every packet is marked", "ConWeave: 400 KB at 100 Gb/s; DCQCN'15: 200 KB at 40 Gb/s") \
    X(ecn_pmax, FRACTION, 0.2, 0, 1, NULL, "chance of a mark just below ecn-kmax", "ConWeave and HPCC: 0.2; DCQCN'15: 1 %") \
    X(ecn_at, ENUM, SWITCH_ECN_ENQUEUE, 0, 1, "enqueue|dequeue", "queue is looked at when the packet enters, or leaves", "RFC 3168 marks on arrival; HPCC's simulator on departure") \
    X(telemetry, BOOL, 1, 0, 1, NULL, "write into packets that make room for telemetry (INT) what it tells of the port they leave by", \
      "HPCC (SIGCOMM'19) section 4.1; costs nothing to other packets") \
    X(non_ect, ENUM, SWITCH_NON_ECT_TAIL, 0, 1, "tail-drop|wred-drop", \
      "what a marking, lossy queue does to packets that are not ECN-capable", "RFC 3168 section 7: drop where one would mark; many switches only tail-drop") \
    X(non_ect_limit_bytes, BYTES, 0, 0, 4e9, NULL, "tail-drop: queue limit for packets that are not ECN-capable; 0: the queue's own", "choice of the scenario") \
    X(wred_kmin_bytes, BYTES, 100000, 0, 4e9, NULL, "wred-drop: queue above which drops begin", "as ecn-kmin") \
    X(wred_kmax_bytes, BYTES, 400000, 0, 4e9, NULL, "wred-drop: queue above which every such packet is dropped", "as ecn-kmax") \
    X(wred_pmax, FRACTION, 0.2, 0, 1, NULL, "wred-drop: chance of a drop just below wred-kmax", "as ecn-pmax") \
    X(scheduler, ENUM, SWITCH_STRICT, 0, 1, "strict|dwrr", "between the priorities of a port", "IEEE 802.1Q: strict priority is the default") \
    X(strict_prios, COUNT, 192, 0, 255, NULL, "dwrr: mask of priorities served strictly first; 192 is 6 and 7", "vendors' common practice for CNP and control") \
    X(dwrr_quantum_bytes, BYTES, 9216, 64, 1e6, NULL, "dwrr: bytes a round and unit of weight", "Shreedhar and Varghese 1995: at least a maximum frame") \
    X(weight_0, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 0", "equal shares") \
    X(weight_1, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 1", "equal shares") \
    X(weight_2, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 2", "equal shares") \
    X(weight_3, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 3", "equal shares") \
    X(weight_4, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 4", "equal shares") \
    X(weight_5, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 5", "equal shares") \
    X(weight_6, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 6", "equal shares") \
    X(weight_7, COUNT, 1, 1, 1000, NULL, "dwrr weight of priority 7", "equal shares")

/** <aqm>: what else a queue may do beside RED on its instantaneous length. */
enum switch_aqm { SWITCH_AQM_NONE, SWITCH_AQM_PIE, SWITCH_AQM_CODEL };
#define AQM_PARAMS(X) \
    X(kind, ENUM, SWITCH_AQM_NONE, 0, 2, "none|pie|codel", \
      "active queue management of lossy queues: marks what is ECN-capable, drops the rest", "RFC 8033; RFC 8289") \
    X(prios, COUNT, 255, 0, 255, NULL, "mask of the priorities that it looks after", "all") \
    X(target_ps, TIME, 15e9, 1e3, 1e12, NULL, "pie: delay aimed at; codel: acceptable standing delay", "RFC 8033 5.1: 15 ms; RFC 8289 4.4 has 5 ms; data centres need microseconds") \
    X(interval_ps, TIME, 100e9, 1e3, 1e13, NULL, "codel: time above target before it acts, a worst round trip", "RFC 8289 4.3: 100 ms") \
    X(pie_update_ps, TIME, 15e9, 1e6, 1e12, NULL, "pie: time between updates of the drop probability", "RFC 8033 5.2: T_UPDATE 15 ms") \
    X(pie_alpha, NUMBER, 0.125, 0, 1e6, NULL, "pie: weight of the deviation from target, per second", "RFC 8033 4.2: 1/8") \
    X(pie_beta, NUMBER, 1.25, 0, 1e6, NULL, "pie: weight of the trend, per second", "RFC 8033 4.2: 1 + 1/4") \
    X(pie_burst_ps, TIME, 150e9, 0, 1e13, NULL, "pie: time after idleness in which nothing is dropped", "RFC 8033 5.1: MAX_BURST 150 ms") \
    X(mark_limit, FRACTION, 0.1, 0, 1, NULL, "pie: above this probability ECN-capable packets are dropped too", "RFC 8033 5.1: mark_ecnth 10 %") \
    X(ecn_weight, FRACTION, 1, 0, 1, NULL, "RED and WRED look at an average of the queue with this weight for the newest length; 1: the length itself", \
      "Floyd and Jacobson 1993 use 0.002; data centres use the length itself") \
    X(phantom_threshold_bytes, BYTES, 0, 0, 4e9, NULL, \
      "phantom queue: mark ECN-capable packets when a virtual queue that drains slower than the link holds more; 0: none", "HULL (NSDI'12): 1 KB to 15 KB") \
    X(phantom_drain, FRACTION, 0.95, 0.01, 1, NULL, "phantom queue: its rate over the link's", "HULL (NSDI'12): 0.95")

/** <paths>: which of the equal next hops a packet takes. */
enum switch_balance { SWITCH_ECMP, SWITCH_FLOWLET, SWITCH_SPRAY_RANDOM, SWITCH_SPRAY_ROUND_ROBIN, SWITCH_SPRAY_ADAPTIVE };
#define PATHS_PARAMS(X) \
    X(balance, ENUM, SWITCH_ECMP, 0, 4, "ecmp|flowlet|spray-random|spray-round-robin|spray-adaptive", \
      "by hash of the 5-tuple; by flowlet; or each packet anew: at random, in turn, to the shortest queue", "RFC 2992; Sinha et al. 2004; Dixit et al., INFOCOM'13") \
    X(flowlet_gap_ps, TIME, 50e6, 0, 1e12, NULL, "flowlet: a flow that paused this long may take another path", "LetFlow (NSDI'17): 50 to 500 us") \
    X(flowlet_entries, COUNT, 4096, 16, 1048576, NULL, "flowlet: entries of a switch's table", "CONGA (SIGCOMM'14): 64K") \
    X(weights, ENUM, 0, 0, 1, "equal|rate", "weight of each next hop: equal, or by the rate of its link", "WCMP (EuroSys'14)")

/** <shapers>: the most that an egress queue may send. */
#define SHAPER_PARAMS(X) \
    X(rate_0_bps, RATE, 0, 0, 3.2e12, NULL, "rate of priority 0 on the wire; 0: not shaped", "IEEE 802.1Q 8.6.8") \
    X(rate_1_bps, RATE, 0, 0, 3.2e12, NULL, "of priority 1", "as rate-0") \
    X(rate_2_bps, RATE, 0, 0, 3.2e12, NULL, "of priority 2", "as rate-0") \
    X(rate_3_bps, RATE, 0, 0, 3.2e12, NULL, "of priority 3", "as rate-0") \
    X(rate_4_bps, RATE, 0, 0, 3.2e12, NULL, "of priority 4", "as rate-0") \
    X(rate_5_bps, RATE, 0, 0, 3.2e12, NULL, "of priority 5", "as rate-0") \
    X(rate_6_bps, RATE, 0, 0, 3.2e12, NULL, "of priority 6", "as rate-0") \
    X(rate_7_bps, RATE, 0, 0, 3.2e12, NULL, "of priority 7", "as rate-0") \
    X(burst_bytes, BYTES, 16384, 64, 1e9, NULL, "bytes that may go at the link's rate after idleness", "guess: one jumbo frame and more")

/** <watchdog>: of a paused egress queue. */
enum switch_watchdog_action { SWITCH_WATCHDOG_DROP, SWITCH_WATCHDOG_FORWARD };
#define WATCHDOG_PARAMS(X) \
    X(detection_ps, TIME, 0, 0, 1e13, NULL, "a lossless queue that is paused and stands still this long is in a storm; 0: no watchdog", "SONiC: 200 ms usual, 100 ms least") \
    X(restoration_ps, TIME, 200e9, 1e3, 1e13, NULL, "a storm is over when the queue has not been paused this long", "SONiC: 200 ms") \
    X(action, ENUM, SWITCH_WATCHDOG_DROP, 0, 1, "drop|forward", "in a storm: drop what waits and comes for the queue, or send it in spite of the pause", "SONiC: drop")

/** <middlebox>: a firewall, a WAN optimiser, a router of another's. */
enum switch_policy { SWITCH_POLICY_ANY, SWITCH_POLICY_TCP };
#define MIDDLEBOX_PARAMS(X) \
    X(delay_ps, TIME, 0, 0, 1e12, NULL, "added to every packet", "choice of the scenario") \
    X(jitter_ps, TIME, 0, 0, 1e12, NULL, "added on top, uniform from 0 to this; packets of an ingress port keep their order", "choice of the scenario") \
    X(policy, ENUM, SWITCH_POLICY_ANY, 0, 1, "any|tcp-only", "tcp-only drops what is not TCP", "firewalls that pass TCP and drop unknown UDP")

/** <classes>: from a packet's DSCP or PCP to its queue. */
enum switch_trust { SWITCH_TRUST_DSCP, SWITCH_TRUST_PCP, SWITCH_TRUST_PORT };
#define CLASSES_PARAMS(X) \
    X(trust, ENUM, SWITCH_TRUST_DSCP, 0, 2, "dscp|pcp|port", "what picks the priority: DSCP, the tag's PCP (untagged: port-prio), or port-prio alone", "IEEE 802.1Q 6.9.3; RFC 2474") \
    X(port_prio, COUNT, 0, 0, 7, NULL, "priority of what carries nothing that is trusted", "IEEE 802.1Q: 0") \
    X(map_transport, BOOL, 1, 0, 1, NULL, "each transport's DSCP and PCP lead to its own priority; off: only the maps given here, else DSCP / 8 and PCP", \
      "off to show a forgotten map")

#define SWITCH_KEEP 255 /* remark_*: leave as it is */

struct aqm_params { PARAM_FIELDS(AQM_PARAMS) };
struct paths_params { PARAM_FIELDS(PATHS_PARAMS) };
struct shaper_params { PARAM_FIELDS(SHAPER_PARAMS) };
struct watchdog_params { PARAM_FIELDS(WATCHDOG_PARAMS) };
struct middlebox_params { PARAM_FIELDS(MIDDLEBOX_PARAMS) };
struct classes_params { PARAM_FIELDS(CLASSES_PARAMS) };
extern const struct param_table aqm_params_table, paths_params_table, shaper_params_table, watchdog_params_table, middlebox_params_table,
                                classes_params_table;

struct switch_params {
    PARAM_FIELDS(SWITCH_PARAMS)
    /** DSCP to priority: 0 means dscp >> 3 (the class selector), n + 1 means priority n. */
    uint8_t dscp_map[64];
    uint8_t pcp_map[8];          /* PCP to priority, in the same way */
    uint8_t remark_dscp[PORT_PRIOS], remark_pcp[PORT_PRIOS]; /* by priority, on leaving; SWITCH_KEEP: as it is */
    struct aqm_params aqm;
    struct paths_params paths;
    struct shaper_params shaper;
    struct watchdog_params watchdog;
    struct middlebox_params middlebox;
    struct classes_params classes;
    bool force_full;             /* tests: take the path of the rarer features though none is on */
};
extern const struct param_table switch_params_table;

/** The defaults, dscp_map included. */
void switch_params_init(struct switch_params *p);
/** Packets with this DSCP (0..63) go to priority prio (0..7). */
void switch_params_map_dscp(struct switch_params *p, unsigned dscp, unsigned prio);
/** Tagged packets with this PCP (0..7) go to priority prio (0..7). */
void switch_params_map_pcp(struct switch_params *p, unsigned pcp, unsigned prio);
/** Priority of a DSCP. */
static inline unsigned switch_params_prio(const struct switch_params *p, unsigned dscp)
{
    return p->dscp_map[dscp & 63] ? p->dscp_map[dscp & 63] - 1u : (dscp & 63) >> 3;
}
/** What the table cannot say: thresholds out of order. SIM_OK, or SIM_ERR_PARAM with one sentence in err. */
int switch_params_check(const struct switch_params *p, char *err, size_t errlen);

#ifdef __cplusplus
}
#endif
#endif
