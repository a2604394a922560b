/* SPDX-License-Identifier: GPL-2.0-only */
/** One run: a variant of a scenario from an empty simulation to a result. */
#ifndef RNICSIM_HELPER_RUN_H
#define RNICSIM_HELPER_RUN_H

#include "../analysis/result.h"
#include "scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

enum run_engine { RUN_NS3, RUN_NS3_STOCK, RUN_NATIVE };
#define RUN_ENGINES "ns3|ns3-stock|native"

/** What a run takes of the heap, bytes. */
struct run_memory {
    uint32_t conns, hosts;
    size_t conn_bytes;                          /* connections with their channels and the workload's book */
    size_t net_bytes;                           /* switches, links, hosts and routes */
    size_t packet_bytes;                        /* one packet */
    size_t grown_bytes;                         /* growth during the run proper, packets apart (they are in the pool) */
};

struct run_options {
    enum run_engine engine;
    const char *pcap_path;                      /* NULL: no capture */
    const uint32_t *pcap_nodes; size_t npcap_nodes; /* whose frames it holds; 0: those of all hosts */
    bool through_bytes;                         /* debug: every hop through bytes; the same digest */
    void (*progress)(void *ctx, double fraction); /* may be NULL; 0..1, now and then, from within the run */
    void *progress_ctx;
    struct run_memory *memory;                  /* may be NULL; else filled */
    const volatile int *stop;                   /* may be NULL; once non-zero the run ends soon with RUN_STOPPED */
};

#define RUN_STOPPED 1

/** Run variant v. 0: out is filled (the caller calls result_fini), whatever befell its messages. RUN_STOPPED: *stop was
 *  set, out is empty. Negative enum sim_status: the scenario cannot be run (unreachable hosts, an impossible buffer, no such
 *  engine), a sentence is in err. Deterministic but for out->wall_s. */
int run_variant(const struct scenario *sc, const struct variant *v, const struct run_options *options, struct result *out,
                char *err, size_t errlen) SIM_MUST_CHECK;

/** What fabric_finish would refuse (unreachable hosts, headroom over the buffer) and loads over the access links, for every
 *  variant without running it: 0, or negative with a sentence in err. */
int run_check(const struct scenario *sc, char *err, size_t errlen) SIM_MUST_CHECK;

/** Whether an engine can be had here; if not, why is in err. */
bool run_engine_available(enum run_engine engine, char *err, size_t errlen);

/** `rnicsim bench` (bench.c): its own options; an exit status. */
int bench_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
