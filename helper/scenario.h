/* SPDX-License-Identifier: GPL-2.0-only */
/** A scenario: one XML file read into structs, every parameter declared once in its room and found here through its table.
 *
 *  Pointers to `*_params` structs are never NULL where the comment says "set": the loader fills defaults, then a profile,
 *  then the file, then the overrides of the size, then --set. Everything belongs to the scenario and is const after loading.
 */
#ifndef RNICSIM_HELPER_SCENARIO_H
#define RNICSIM_HELPER_SCENARIO_H

#include "../model/sim/param.h"
#include "../model/sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCENARIO_NAME_MAX 40
#define SCENARIO_VARIANT_NAME_MAX 128   /* scenario_variant_name never needs more */

struct cc_ops;
struct fabric_params;
struct host_params;
struct iwarp_params;
struct link_params;
struct roce_params;
struct switch_params;
struct tcp_params;
struct topology_list;
struct topology_params;
struct wl_cdf_point;
struct wl_spec;

/** A parameter struct made from its table: which rows were set by file, size or --set (bit = row), and from where. */
struct scenario_params {
    const struct param_table *table;
    void    *values;             /* the table's struct */
    uint64_t given;              /* rows that somebody set; the others hold the default or the profile's value */
    int      line;               /* of the element, 0 if it is not in the file */
    const char *file;            /* of the element: XInclude makes it another than the scenario's */
    const char *element;         /* "switch": its name in XML and in --set */
    const char *owner;           /* "fabric", "transport", "workload": the named element that it belongs to; "" if to none */
    const char *owner_name;
    const char *profile;         /* the named set that it starts from, NULL if its table has none */
};

/* --- what this room declares itself --- */

#define SCENARIO_TRANSPORT_KINDS "iwarp|roce|tcp"
#define SCENARIO_OPERATIONS "send|write|read"
#define SCENARIO_CONNECTIONS "persistent|per-message"
enum scenario_transport_kind { SCENARIO_IWARP, SCENARIO_ROCE, SCENARIO_TCP };
enum scenario_connections { SCENARIO_PERSISTENT, SCENARIO_PER_MESSAGE };

#define TRANSPORT_PARAMS(X) \
    X(operation, ENUM, 0, 0, 2, SCENARIO_OPERATIONS, "verb that carries a message (tcp: send only); enum wl_operation", "rnicsim") \
    X(dscp, COUNT, 0, 0, 63, NULL, "DSCP of its packets", "RFC 2474") \
    X(prio, COUNT, 0, 0, 7, NULL, "priority (PCP, queue and PFC class) of its packets", "IEEE 802.1Q") \
    X(ecn, BOOL, 0, 0, 1, NULL, "whether its packets are sent ECN-capable; unless given, as its congestion control wants", "RFC 3168 5") \
    X(connections, ENUM, 0, 0, 1, SCENARIO_CONNECTIONS, "one warm connection per pair of hosts, or a new one for each message", "design.md") \
    X(connections_per_pair, COUNT, 1, 1, 1024, NULL, "connections per pair of hosts when persistent; messages go round", "rnicsim")
struct transport_params { PARAM_FIELDS(TRANSPORT_PARAMS) };
extern const struct param_table transport_params_table;

#define MEASURE_PARAMS(X) \
    X(warmup_ps, TIME, 0, 0, INT64_C(1000000000000000), NULL, "messages posted before this are carried but not measured", "rnicsim") \
    X(duration_ps, TIME, 10000000000.0, 1000, INT64_C(1000000000000000), NULL, "messages posted in this time after the warm-up are measured", "rnicsim") \
    X(drain_ps, TIME, 100000000000.0, 0, INT64_C(10000000000000000), NULL, "time after the last post that messages have to end; then they are unfinished", "rnicsim") \
    X(seed, COUNT, 1, 0, INT64_C(9007199254740992), NULL, "first seed of the random streams", "rnicsim") \
    X(reps, COUNT, 1, 1, 10000, NULL, "repetitions, each with the next seed", "rnicsim") \
    X(sample_interval_ps, TIME, 10000000.0, 1000, INT64_C(1000000000000000), NULL, "interval of the queue depth samples in queue.csv", "rnicsim") \
    X(flow_interval_ps, TIME, 0, 0, INT64_C(1000000000000000), NULL, "interval of the samples of each connection's rate, alpha, window and round trip in flows.csv; 0: no such file", "rnicsim") \
    X(self_slowdown, BOOL, 1, 0, 1, NULL, "also compare each message with the same transport alone and warm (costs short simulations)", "rnicsim")
struct measure_params { PARAM_FIELDS(MEASURE_PARAMS) };
extern const struct param_table measure_params_table;

#define FLOW_PARAMS(X) \
    X(size_bytes, BYTES, 1024, 1, INT64_C(2147483647), NULL, "message size", "choice of the scenario") \
    X(start_ps, TIME, 0, 0, INT64_C(1000000000000000), NULL, "when it is posted, from the start of the workload", "choice of the scenario") \
    X(prio, COUNT, 0, 0, 7, NULL, "priority; unless given, the transport's. Another than that has its class selector for DSCP", "RFC 2474 4.2.2")
struct flow_params { PARAM_FIELDS(FLOW_PARAMS) };
extern const struct param_table flow_params_table;

#define CDF_POINT_PARAMS(X) \
    X(size_bytes, BYTES, 1, 0, INT64_C(2147483647), NULL, "message size", "the distribution's source") \
    X(cumulative, FRACTION, 1, 0, 1, NULL, "share of messages of at most this size", "the distribution's source")
struct cdf_point_params { PARAM_FIELDS(CDF_POINT_PARAMS) };
extern const struct param_table cdf_point_params_table;

/* --- the scenario --- */

#define TOPOLOGY_LINK_PARAMS(X) \
    X(rate_bps, RATE, 0, 0, 3.2e12, NULL, "rate; unless given, the topology's host-rate or fabric-rate", "topology.h") \
    X(propagation_ps, TIME, 0, 0, 1e12, NULL, "propagation; unless given, the topology's host-propagation or fabric-propagation", "topology.h") \
    X(length_mm, LENGTH, 0, 0, 2e11, NULL, "cable, in place of propagation", "5 ns a metre: fibre of index 1.5") \
    X(loss, FRACTION, 0, 0, 1, NULL, "chance that a frame is lost on it; unless given, the fabric's", "link_params.h")
struct topology_link_params { PARAM_FIELDS(TOPOLOGY_LINK_PARAMS) };
extern const struct param_table topology_link_params_table;

/** <topology>: what topology_build wants. */
struct scenario_topology {
    const struct topology_params *params;       /* set */
    const struct topology_list *list;           /* explicit (or a file) only, else NULL; hosts in file order, then switches */
    const char *const *node_names;              /* explicit only: by node id */
    uint32_t nhosts;                            /* topology_hosts() */
    const char *file; int line;
};

#define CLASS_MAP_PARAMS(X) \
    X(dscp, COUNT, 0, 0, 63, NULL, "packets with this DSCP", "RFC 2474") \
    X(pcp, COUNT, 0, 0, 7, NULL, "or tagged packets with this PCP", "IEEE 802.1Q") \
    X(prio, COUNT, 0, 0, 7, NULL, "go to this priority", "choice of the scenario")
struct class_map_params { PARAM_FIELDS(CLASS_MAP_PARAMS) };

#define CLASS_REMARK_PARAMS(X) \
    X(prio, COUNT, 0, 0, 7, NULL, "packets of this priority", "choice of the scenario") \
    X(dscp, COUNT, 0, 0, 63, NULL, "leave with this DSCP; unless given, with theirs", "RFC 2475") \
    X(pcp, COUNT, 0, 0, 7, NULL, "and with this PCP if tagged; unless given, with theirs", "IEEE 802.1Q 6.9.4")
struct class_remark_params { PARAM_FIELDS(CLASS_REMARK_PARAMS) };

#define FAILURE_PARAMS(X) \
    X(down_ps, TIME, 0, 0, 1e16, NULL, "fails at this time of the results' clock", "choice of the scenario") \
    X(up_ps, TIME, 0, 0, 1e16, NULL, "returns at this time; unless given, never", "choice of the scenario")
struct failure_params { PARAM_FIELDS(FAILURE_PARAMS) };

#define LOSE_PARAMS(X) \
    X(packets, ENUM, 0, 0, 2, "data|control|both", "packets with payload, without, or both; enum fabric_loss_kind", "choice of the scenario") \
    X(nth, COUNT, 0, 0, 1e15, NULL, "the n-th of each flow (5-tuple), from 1; 0: see every", "choice of the scenario") \
    X(every, COUNT, 0, 0, 1e15, NULL, "each n-th of a host; 0: all", "Guo et al., SIGCOMM'16, section 4.1 (1 in 256)") \
    X(from_ps, TIME, 0, 0, 1e16, NULL, "from this time of the results' clock", "choice of the scenario") \
    X(until_ps, TIME, 1e16, 0, 1e16, NULL, "before this time", "choice of the scenario")
struct lose_params { PARAM_FIELDS(LOSE_PARAMS) };
extern const struct param_table class_map_params_table, class_remark_params_table, failure_params_table, lose_params_table;

/** The parts of a switch beside <switch> itself: aqm, paths, shapers, watchdog, middlebox, classes, in this order; NULL in an exception that
 *  does not have them. */
#define SCENARIO_SWITCH_PARTS 6
struct scenario_class_rule { bool remark; const struct scenario_params *params; };
struct scenario_switch_parts {
    const struct scenario_params *part[SCENARIO_SWITCH_PARTS];
    struct scenario_class_rule *rules; size_t nrules;
};

/** <exception>: a switch unlike the others. */
struct scenario_exception { uint32_t number; const struct scenario_params *params; struct scenario_switch_parts parts; const char *file; int line; };

struct scenario_route { uint32_t at, to, via; const char *file; int line; };
struct scenario_failure { uint32_t a, b; const struct scenario_params *params; const char *file; int line; };
struct scenario_lose { uint32_t src, dst; const struct lose_params *params; }; /* src, dst: UINT32_MAX is any */

struct scenario_fabric {
    char name[SCENARIO_NAME_MAX];
    struct scenario_exception *exceptions; size_t nexceptions;
    const struct fabric_params *params;         /* set */
    struct scenario_switch_parts parts;         /* all set */
    struct scenario_route *routes; size_t nroutes;
    struct scenario_failure *failures; size_t nfailures;
    struct scenario_lose *loses; size_t nloses;
    const struct switch_params *sw;             /* set; scenario_switch_for() maps the transport's class */
    const struct link_params *link;             /* set; rate and propagation are the topology's */
    const char *file; int line;
};

struct scenario_transport {
    char name[SCENARIO_NAME_MAX];
    enum scenario_transport_kind kind;
    const struct transport_params *params;      /* set */
    const struct host_params *host;             /* set */
    const struct tcp_params *tcp;               /* set for iwarp and tcp, else NULL */
    const struct roce_params *roce;             /* set for roce, else NULL */
    const struct iwarp_params *iwarp;           /* set for iwarp, else NULL */
    const struct cc_ops *cc;                    /* set */
    const void *cc_params;                      /* the algorithm's struct; NULL if it has no parameters */
    bool ecn;                                   /* params->ecn if given, else cc->ecn */
    const char *file; int line;
};

/** A size distribution: bytes ascending, cumulative fraction ascending from 0 or more to exactly 1, linear between points. */
struct scenario_cdf {
    char name[SCENARIO_NAME_MAX];
    const char *source;                         /* "" if none */
    struct wl_cdf_point *points; size_t npoints; /* model/workload/cdf.h */
    double mean_bytes;
    const char *file; int line;
};

struct scenario_workload {
    char name[SCENARIO_NAME_MAX];
    struct wl_spec *spec;                       /* set, its cdf and flows too; its load is replaced by the variant's (scenario_variant_spec) */
    const char *sizes;                          /* name of its <cdf>, NULL: none or inline */
    const struct scenario_cdf *cdf;             /* NULL: fixed size */
    bool has_load;                              /* Poisson: a swept load applies */
    const char *file; int line;
};

/** <size>: overrides that --size picks, in order. */
struct scenario_override { const char *text /* "NAME=VALUE" */, *file; int line; };
struct scenario_size { char name[SCENARIO_NAME_MAX]; struct scenario_override *sets; size_t nsets; };

struct scenario_pair { const char *transport, *fabric; const char *file; int line; };

/** One run. */
struct variant {
    uint32_t transport, fabric;                 /* indices */
    double   load;                              /* 0..1; negative when no workload has a load */
    uint64_t seed;
};

struct scenario {
    char name[SCENARIO_NAME_MAX];
    const char *path;                           /* as given */
    const char *description;                    /* "" if none */
    struct scenario_topology topology;
    struct scenario_fabric    *fabrics;    uint32_t nfabrics;
    struct scenario_transport *transports; uint32_t ntransports;
    struct scenario_workload  *workloads;  uint32_t nworkloads;
    const struct scenario_cdf **cdfs;      uint32_t ncdfs;
    const struct measure_params *measure;       /* set */
    bool loads_swept;                           /* <compare loads="..."> */
    double   *loads; size_t nloads;             /* swept loads */
    uint64_t *seeds; size_t nseeds;             /* after expansion: every seed that runs */
    struct scenario_pair *pairs; size_t npairs; /* <pair>; none: all combinations */
    struct scenario_size *sizes; size_t nsizes;
    bool expect_failures;                       /* <expect failures="yes"/> */
    bool expect_lossless_drops;                 /* <expect lossless-drops="yes"/> */
    struct variant *variants; size_t nvariants; /* transports x fabrics x loads x seeds, in this order of nesting, or the listed pairs */
    struct scenario_params **params; size_t nparams; /* every parameter struct above, for --set, describe and dumps */
    struct scenario_memory *memory;             /* owner of all of it */
};

struct scenario_options {
    const char *size;                           /* "ci", "full" or NULL: as written */
    const char *const *sets; size_t nsets;      /* "NAME=VALUE", in order */
    bool has_seed; uint64_t seed;               /* --seed, --reps: before sets */
    uint32_t reps;                              /* 0: as written */
};

/** Read, validate and expand. NULL on bad input: err holds one or more lines "file:line: message". options may be NULL. */
struct scenario *scenario_load(const char *path, const struct scenario_options *options, char *err, size_t errlen) SIM_MUST_CHECK;
/** The same from memory (fuzzing, tests); name stands for the file in messages and relative XIncludes. */
struct scenario *scenario_load_memory(const char *xml, size_t len, const char *name, const struct scenario_options *options, char *err, size_t errlen) SIM_MUST_CHECK;
void scenario_free(struct scenario *sc);

/** The switches of fabric f when transport t uses it: f's parameters with t's DSCP mapped to t's priority. */
void scenario_switch_for(const struct scenario_fabric *f, const struct scenario_transport *t, struct switch_params *out);
/** The same of its i-th exception. */
void scenario_exception_for(const struct scenario_fabric *f, size_t i, const struct scenario_transport *t, struct switch_params *out);
/** Workload w's specification for a variant: with its load. out has the type of model/workload/workload.h. */
void scenario_variant_spec(const struct scenario *sc, const struct variant *v, uint32_t w, struct wl_spec *out);
/** "iwarp-routed", "-load70" added when loads are swept, "-seed3" when there are several seeds: a directory name. Returns buf. */
const char *scenario_variant_name(const struct scenario *sc, const struct variant *v, char *buf, size_t len);

#ifdef __cplusplus
}
#endif
#endif
