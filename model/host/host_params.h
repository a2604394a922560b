/* SPDX-License-Identifier: GPL-2.0-only */
/** What a host and its NIC cost, and the named profiles. All zero (the defaults): no host cost at all, latency is the fabric's. */
#ifndef RNICSIM_HOST_HOST_PARAMS_H
#define RNICSIM_HOST_HOST_PARAMS_H

#include "../sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOST_COMPLETIONS "poll|event|adaptive"
#define HOST_PRIO_SCHEDULES "strict|rr"
#define HOST_SOFTIRQ_CORES "same|next"
#define HOST_CONTEXT_REPLACEMENTS "lru|random"
#define HOST_BEYONDS "refuse|software"
#define HOST_REASSEMBLY_MEMORIES "none|card|host"
enum host_completion_mode { HOST_POLL, HOST_EVENT, HOST_ADAPTIVE };
enum host_prio_schedule { HOST_PRIO_STRICT, HOST_PRIO_RR };
enum host_softirq_core { HOST_SOFTIRQ_SAME, HOST_SOFTIRQ_NEXT };
enum host_context_replacement { HOST_CONTEXT_LRU, HOST_CONTEXT_RANDOM };
enum host_beyond { HOST_BEYOND_REFUSE, HOST_BEYOND_SOFTWARE };
enum host_reassembly_memory { HOST_REASSEMBLY_NONE, HOST_REASSEMBLY_CARD, HOST_REASSEMBLY_HOST };

#define HOST_MS INT64_C(1000000000)
/* Rates of 0 mean: costs no time. */
#define HOST_PARAMS(X) \
    X(cores, COUNT, 1, 1, 1024, NULL, "CPU cores that serve applications and interrupts", "guess; one application thread per host is the least that all profiles share") \
    X(prio_schedule, ENUM, 0, 0, 1, HOST_PRIO_SCHEDULES, "between the NIC's priorities: the highest first, or a packet each in turn", "IEEE 802.1Q 8.6.8.1: strict priority is the default selection") \
    X(separate_control, BOOL, 0, 0, 1, NULL, "ACKs and CNPs leave in their endpoint's urgent priority instead of its data priority", "guess; vendors map CNPs to a priority of their own") \
    /* verbs: the application to the NIC */ \
    X(post_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time to build a WQE and ring the doorbell", "zero in the ideal host") \
    X(doorbell_latency_ps, TIME, 0, 0, HOST_MS, NULL, "doorbell over PCIe, fetch of the WQE and of the message's first payload", "zero in the ideal host") \
    X(wqe_ps, TIME, 0, 0, HOST_MS, NULL, "NIC's time per WQE, caps the message rate", "zero in the ideal host") \
    /* the NIC */ \
    X(tx_latency_ps, TIME, 0, 0, HOST_MS, NULL, "NIC transmit pipeline, per packet in passing", "zero in the ideal host") \
    X(tx_packet_ps, TIME, 0, 0, HOST_MS, NULL, "NIC's time per transmitted packet, caps the packet rate", "zero in the ideal host") \
    X(tx_fifo_bytes, BYTES, 16384, 1, 16777216, NULL, "frames of one priority between the transmit pipeline and the wire; pause and pacing act before it", "guess; covers 300 ns at 400 Gb/s") \
    X(rx_latency_ps, TIME, 0, 0, HOST_MS, NULL, "NIC receive pipeline, per packet in passing", "zero in the ideal host") \
    X(rx_packet_ps, TIME, 0, 0, HOST_MS, NULL, "NIC's time per received packet, caps the packet rate", "zero in the ideal host") \
    X(rx_buffer_bytes, BYTES, 2097152, 2048, INT64_C(1099511627776), NULL, "NIC receive buffer; a frame that does not fit is dropped (nic_rx)", "guess, of the size of vendors' receive buffers") \
    X(rx_xoff_bytes, BYTES, 1048576, 2048, INT64_C(1099511627776), NULL, "receive buffer in use at which the NIC pauses its lossless priorities; half of it resumes them", "guess; leaves headroom for 1 MiB on the way") \
    X(pcie_rate_bps, RATE, 0, 0, 10000000000000.0, NULL, "PCIe throughput each way for payload; 0: costs no time", "zero in the ideal host") \
    X(pcie_max_payload_bytes, BYTES, 0, 0, 4096, NULL, "PCIe Max_Payload_Size: each so many bytes of a transfer are a packet whose header is charged too (24 bytes of a write, 20 of a read's completion); 0: headers are not charged", "Intel AN 829: 5 to 7 dwords a TLP without ECRC; their division from memory of PCI Express Base Specification 3.0, 2.2, 3.6, 4.2.2") \
    X(dma_read_ps, TIME, 0, 0, HOST_MS, NULL, "round trip of a DMA read from host memory that the NIC must wait for: a context that it does not hold, payload to retransmit, doorbell reads; its bytes are charged to PCIe beside", "zero in the ideal host; Neugebauer et al., SIGCOMM'18, measure such round trips") \
    X(doorbell_reads, COUNT, 0, 0, 4, NULL, "DMA reads one after another from doorbell to the first packet: 2 for WQE and then payload, 1 if the doorbell carries the WQE; 0: inline, or doorbell-latency covers them", "from memory of Kalia, Kaminsky and Andersen, ATC'16: the NIC reads the WQE and then the payload, unless the CPU writes the WQE itself or inlines the payload") \
    X(wqe_read_bytes, BYTES, 0, 0, 4096, NULL, "PCIe bytes read per WQE", "zero in the ideal host") \
    X(cqe_write_bytes, BYTES, 0, 0, 4096, NULL, "PCIe bytes written per completion", "zero in the ideal host") \
    /* connection contexts */ \
    X(contexts, COUNT, 0, 0, 10000000, NULL, "contexts of connections (QPs) that the NIC's cache holds; a packet, sent or received, of another waits for a DMA read of its context; 0: all fit", "zero in the ideal host") \
    X(context_size_bytes, BYTES, 0, 0, 65536, NULL, "PCIe bytes of a context: read when it is missed, and as many written for the one that it replaces", "zero in the ideal host") \
    X(context_replacement, ENUM, 0, 0, 1, HOST_CONTEXT_REPLACEMENTS, "which context makes room: the least recently used or a random one", "guess; vendors do not tell") \
    X(context_fetches, COUNT, 1, 1, 64, NULL, "contexts fetched at the same time; a further miss holds up the pipeline", "guess; vendors do not tell") \
    /* memory translation */ \
    X(translations, COUNT, 0, 0, 10000000, NULL, "pages whose translation (MTT) the NIC's cache holds; the payload of a RoCE WRITE for another waits for a DMA read of it; 0: all fit", "zero in the ideal host; Guo et al., SIGCOMM'16, section 4.4: 2,000 entries") \
    X(page_size_bytes, BYTES, 4096, 4096, 1073741824, NULL, "host memory that one translation covers", "x86's smallest page; Guo et al., SIGCOMM'16, section 4.4, went to 2 MB") \
    X(translation_replacement, ENUM, 0, 0, 1, HOST_CONTEXT_REPLACEMENTS, "which translation makes room: the least recently used or a random one", "guess; vendors do not tell") \
    X(translation_fetches, COUNT, 1, 1, 64, NULL, "translations fetched at the same time; a further miss holds up the pipeline", "guess; vendors do not tell") \
    X(max_connections, COUNT, 0, 0, 100000000, NULL, "connections (QPs) that the NIC takes; 0: any number", "zero in the ideal host") \
    X(beyond, ENUM, 0, 0, 1, HOST_BEYONDS, "a connection beyond max-connections is refused, or (iWARP) runs in software: its TCP at the costs of kernel TCP", "Linux iw_cxgb4, cm.c: a connect for which no TID is left fails with ENOMEM; siw is the software iWARP") \
    X(reassembly_memory, ENUM, 0, 0, 2, HOST_REASSEMBLY_MEMORIES, "iWARP payload that waits for a hole to be filled: moved once, when it arrives; kept on the card and moved again when it is its turn; or kept in host memory, read back and written to its place", "guess; arrival charges the same way into any of these memories") \
    X(dma_latency_ps, TIME, 0, 0, HOST_MS, NULL, "DMA write of the last payload and of the CQE until the CPU can see them", "zero in the ideal host") \
    /* completions and interrupts */ \
    X(completion, ENUM, 0, 0, 2, HOST_COMPLETIONS, "how applications learn of completions: polling (the core is busy all the time from its first use), an interrupt and a wake-up, or polling for spin and then sleeping", "ibv_poll_cq, ibv_req_notify_cq") \
    X(cqe_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time to find and handle one completion", "zero in the ideal host") \
    X(spin_ps, TIME, 50000000.0, 0, HOST_MS * 1000, NULL, "adaptive: how long the core polls before it sleeps", "guess; net.core.busy_poll's documentation suggests 50 us") \
    X(irq_latency_ps, TIME, 0, 0, HOST_MS, NULL, "from the NIC's interrupt message until a core runs its handler", "zero in the ideal host") \
    X(irq_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time of an interrupt and of entering softirq or the completion handler", "zero in the ideal host") \
    X(irq_gap_ps, TIME, 0, 0, HOST_MS, NULL, "interrupt moderation: least time between two interrupts of a core (ethtool -C rx-usecs)", "zero in the ideal host") \
    X(wakeup_ps, TIME, 0, 0, HOST_MS, NULL, "from waking a sleeping thread until it runs", "zero in the ideal host") \
    X(wakeup_cpu_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time of waking a thread and switching to it", "zero in the ideal host") \
    /* kernel sockets */ \
    X(syscall_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time of entering and leaving send() or recv(), socket work included", "zero in the ideal host") \
    X(copy_rate_bps, RATE, 0, 0, 10000000000000.0, NULL, "copying between user and kernel memory on one core; 0: costs no time", "zero in the ideal host") \
    X(tcp_tx_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time of one pass through the TCP, IP and driver transmit path; it carries up to tso bytes", "zero in the ideal host") \
    X(tso_bytes, BYTES, 65536, 1, 1048576, NULL, "segmentation offload: bytes that one pass of the transmit path may send", "Linux GSO_MAX_SIZE before BIG TCP") \
    X(tcp_rx_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time of one pass through the IP and TCP receive path; it carries up to gro bytes", "zero in the ideal host") \
    X(tcp_ack_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time of receiving a segment without payload", "zero in the ideal host") \
    X(gro_bytes, BYTES, 65536, 1, 1048576, NULL, "receive offload: consecutive segments of a connection, of one batch, merged before the stack up to this", "Linux GRO_MAX_SIZE before BIG TCP") \
    X(napi_packet_ps, TIME, 0, 0, HOST_MS, NULL, "CPU time per received frame in the driver and GRO", "zero in the ideal host") \
    X(napi_budget, COUNT, 64, 1, 4096, NULL, "frames that one softirq pass takes", "Linux NAPI_POLL_WEIGHT") \
    X(rx_ring_frames, COUNT, 1024, 1, 65536, NULL, "receive descriptors per core; frames beyond are dropped (nic_rx)", "common driver default") \
    X(softirq_core, ENUM, 1, 0, 1, HOST_SOFTIRQ_CORES, "softirq of a connection runs on its application's core or on the next one", "guess; RSS spreads interrupts without regard to applications")

struct host_params { PARAM_FIELDS(HOST_PARAMS) };
extern const struct param_table host_params_table;

/** A named set: defaults, then the rows it sets. `about` says what was measured, where, and what is a guess. */
struct host_profile { const char *name; const char *about; void (*set)(struct host_params *p); };
extern const struct host_profile host_profiles[];
extern const size_t host_profile_count;
/** NULL if there is none of that name. */
const struct host_profile *host_profile_find(const char *name);
/** Fill p with the defaults and then the profile's values. */
void host_profile_apply(const struct host_profile *profile, struct host_params *p);

#ifdef __cplusplus
}
#endif
#endif
