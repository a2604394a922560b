/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of a switch. Lossy and lossless are settings of the same switch; PFC and ECN switch on and off apart. */
#ifndef RNICSIM_FABRIC_SWITCH_PARAMS_H
#define RNICSIM_FABRIC_SWITCH_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

enum switch_ecn_at { SWITCH_ECN_ENQUEUE, SWITCH_ECN_DEQUEUE };
enum switch_non_ect { SWITCH_NON_ECT_TAIL, SWITCH_NON_ECT_WRED };
enum switch_scheduler { SWITCH_STRICT, SWITCH_DWRR };

#define SWITCH_PARAMS(X) \
    X(buffer_bytes, BYTES, 33554432, 64, 4e9, NULL, "shared packet buffer", "HPCC (SIGCOMM'19): 32 MB at 100 Gb/s; Guo'16: 9 to 12 MB") \
    X(pipeline_latency_ps, TIME, 0, 0, 1e9, NULL, \
      "from a frame's last bit to its egress queue, beyond storing and forwarding", "0 as in published simulations; chips take 300 to 800 ns (data sheets)") \
    X(pfc, BOOL, 0, 0, 1, NULL, "priority flow control for the lossless priorities", "a fabric is lossy unless asked") \
    X(lossless_prios, COUNT, 8, 0, 255, NULL, "mask of the priorities that PFC protects; 8 is priority 3", "RoCE on priority 3 is vendors' common practice") \
    X(pfc_xoff_bytes, BYTES, 0, 0, 4e9, NULL, \
      "bytes of one ingress port and priority at which it pauses its sender; 0: dynamic, by pfc-alpha", "IRN (SIGCOMM'18) uses 220 KB") \
    X(pfc_alpha, NUMBER, 0.125, 0, 128, NULL, "dynamic XOFF: pause above reserved + pfc-alpha x free shared buffer", "HPCC's simulator: 1/8; ConWeave's: 1/16") \
    X(pfc_xon_offset_bytes, BYTES, 9216, 0, 4e9, NULL, "resume when this far below XOFF (or empty)", "guess: two 4 KB frames and more; HPCC's simulator has 3 KB") \
    X(pfc_quanta, COUNT, 65535, 1, 65535, NULL, "pause time sent, in quanta of 512 bit times; renewed at half of it", "IEEE 802.1Qbb; the longest, as switches send") \
    X(headroom_bytes, BYTES, 0, 0, 4e9, NULL, \
      "buffer kept per port and lossless priority for what arrives after XOFF; 0: computed from the link, 1B: none", "closed form in headroom.h") \
    X(reserved_bytes, BYTES, 4096, 0, 4e9, NULL, "buffer guaranteed to each port and lossless priority before the shared part", "HPCC's simulator: 4 KB") \
    X(max_frame_bytes, BYTES, 9216, 64, 65535, NULL, "largest frame that headroom is computed for", "common jumbo limit of switches") \
    X(mtu_bytes, BYTES, 0, 0, 65535, NULL, "largest IP packet that is forwarded; larger ones are dropped; 0: any", "choice of the scenario; 1500 and 9000 are common") \
    X(cell_bytes, BYTES, 1, 1, 4096, NULL, "buffer is taken in cells of this size", "1: bytes, as published simulations count; chips use 80 to 256 B") \
    X(alpha, NUMBER, 1, 0, 128, NULL, "dynamic limit of a lossy egress queue: alpha x free shared buffer", "Choudhury and Hahne 1998; ConWeave's egress alpha 1") \
    X(queue_limit_bytes, BYTES, 0, 0, 4e9, NULL, "static limit of a lossy egress queue; 0: dynamic, by alpha", "choice of the scenario") \
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

struct switch_params {
    PARAM_FIELDS(SWITCH_PARAMS)
    /** DSCP to priority: 0 means dscp >> 3 (the class selector), n + 1 means priority n. */
    uint8_t dscp_map[64];
};
extern const struct param_table switch_params_table;

/** The defaults, dscp_map included. */
void switch_params_init(struct switch_params *p);
/** Packets with this DSCP (0..63) go to priority prio (0..7). */
void switch_params_map_dscp(struct switch_params *p, unsigned dscp, unsigned prio);
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
