/* SPDX-License-Identifier: GPL-2.0-only */
/** What a message costs a host: CPU cores, interrupts, PCIe, NIC pipelines; and the NIC's port scheduler. */
#ifndef RNICSIM_HOST_HOST_H
#define RNICSIM_HOST_HOST_H

#include "../sim/param.h"
#include "../fabric/port.h"
#include "endpoint.h"
#include "host_params.h"

#ifdef __cplusplus
extern "C" {
#endif

struct host;

/** A host on a fabric port (it attaches itself). The parameters are copied. */
struct host *host_new(struct sim *s, struct port *port, const struct host_params *params) SIM_MUST_CHECK;
void host_free(struct host *h);
struct sim *host_sim(const struct host *h);
uint32_t host_node(const struct host *h);
uint32_t host_addr(const struct host *h);
const struct host_params *host_params(const struct host *h);
int64_t host_now(const struct host *h);
/** Line rate of its port, bit/s. */
int64_t host_link_bps(const struct host *h);

/** Endpoints. Demultiplexing: RoCE by destination QPN, TCP by (remote address, remote port, local port), then by local
 *  port alone (a listener: called with the SYN to create the endpoint, or NULL to refuse). */
void host_attach(struct host *h, struct endpoint *ep);
void host_detach(struct host *h, struct endpoint *ep);
int  host_bind_roce(struct host *h, uint32_t qpn, struct endpoint *ep);
int  host_bind_tcp(struct host *h, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port, struct endpoint *ep);
void host_unbind_tcp(struct host *h, uint32_t remote_addr, uint16_t remote_port, uint16_t local_port);
int  host_listen_tcp(struct host *h, uint16_t local_port, struct endpoint *(*accept)(void *ctx, struct host *h, const struct pkt *syn), void *ctx);

/** Which path packets take: `offloaded` endpoints (RNIC: RoCE, iWARP) run in the NIC at its pipeline's cost; others are
 *  kernel TCP: rx is charged to a core (interrupt, per-segment, GRO), tx to the core that sends. */
void host_set_offloaded(struct host *h, struct endpoint *ep, bool offloaded);
/** One more connection for the NIC (until it is detached). Beyond max_connections: SIM_ERR_FULL, or, where software is possible and `beyond`
 *  says so, it is kernel TCP from now on. Both are counted. */
int  host_claim_connection(struct host *h, struct endpoint *ep, bool software_possible) SIM_MUST_CHECK;
/** The core of its application (0 unless said): kernel TCP's softirq and transmit passes go by it. */
void host_set_core(struct host *h, struct endpoint *ep, uint32_t core);
/** Priorities (bit i: i) in which the NIC, when its receive buffer passes rx_xoff_bytes, sends PFC pauses. Default none. */
void host_set_lossless(struct host *h, uint8_t prios);

/* --- CPU --- */
/** Work of cost_ps on a core, first come first served: fn(s, ctx, arg) runs when it is done. Core numbers wrap.
 *  Here and below fn never runs before the call has returned, even at no cost: it is always an event of its own. */
void host_cpu_run(struct host *h, uint32_t core, int64_t cost_ps, sim_fn *fn, void *ctx, void *arg);
/** The same without waiting for its end: only busy time and the core's queue grow. Returns when it would end. */
int64_t host_cpu_charge(struct host *h, uint32_t core, int64_t cost_ps);
/** Busy time of all cores so far. In poll mode a core counts as busy all the time from its first verbs or socket use on (unless
 *  a completion costs nothing, cqe_ps 0: then nothing is charged for the loop either); in adaptive mode while it spins. */
int64_t host_cpu_busy_ps(const struct host *h);

/* --- RNIC (verbs) path --- */
/** The application has posted: charges post cost to the core; after the doorbell has crossed PCIe and the NIC has fetched the
 *  WQE fn(s, ctx, arg) runs (in order of posting per host). */
void host_doorbell(struct host *h, uint32_t core, sim_fn *fn, void *ctx, void *arg);
/** The NIC has `bytes` to place in host memory and then a completion to show (0 bytes: completion only). fn runs when the
 *  application on core sees it: DMA write, CQE write, then poll or interrupt and wake-up by completion mode. In order per core.
 *  PCIe is charged for payload as packets arrive (what had to be kept until its turn: host_place_kept), so bytes, the end of the message,
 *  adds no more than the DMA latency and the CQE's own way. */
void host_complete(struct host *h, uint32_t core, uint32_t bytes, sim_fn *fn, void *ctx, void *arg);
/** Payload that the NIC has kept, since a hole came before it, goes to its place now: moved again as reassembly_memory says; what
 *  completes from now on is written after it. */
void host_place_kept(struct host *h, uint64_t bytes);

/* --- kernel socket path --- */
/** A system call that copies bytes into the kernel; fn runs when the data is in the socket buffer. */
void host_syscall_send(struct host *h, uint32_t core, uint64_t bytes, sim_fn *fn, void *ctx, void *arg);
/** In-order data is in the socket: wake the reader (coalesced while it is awake), copy bytes out; fn runs when recv() returns. */
void host_syscall_recv(struct host *h, uint32_t core, uint64_t bytes, sim_fn *fn, void *ctx, void *arg);

struct host_stats {
    uint64_t doorbells, interrupts, syscalls, completions, rx_packets, tx_packets, rx_drops;
    uint64_t polls_busy_ps;      /* of the busy time, what polling and spinning took (up to the last host_cpu_busy_ps) */
    uint64_t wakeups, softirq_passes, gro_segments, tx_passes, pause_frames;
    uint64_t context_hits, context_misses;
    uint64_t translation_hits, translation_misses;
    uint64_t refetches;          /* retransmitted packets whose payload was read from host memory again */
    uint64_t kept_bytes;         /* payload moved a second time */
    uint64_t connections, refused_connections, software_connections;
    uint64_t tx_asked;           /* endpoints asked for a packet: those that had none are the scheduler's waste */
};
const struct host_stats *host_stats(const struct host *h);
/** Bytes that have crossed PCIe, TLP headers not counted: to the NIC, to host memory. */
void host_pcie_bytes(const struct host *h, uint64_t *to_nic, uint64_t *to_host);

#ifdef __cplusplus
}
#endif
#endif
