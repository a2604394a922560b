/* SPDX-License-Identifier: GPL-2.0-only */
/** The schema of results: what a run of one variant and seed leaves behind, in memory and as files (messages.csv, summary.json). */
#ifndef RNICSIM_ANALYSIS_RESULT_H
#define RNICSIM_ANALYSIS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum result_outcome { RESULT_OK, RESULT_FAILED, RESULT_UNFINISHED };

/** One message; a row of messages.csv. */
struct result_message {
    uint64_t id;
    uint32_t src, dst, flow;
    uint16_t stream;
    uint8_t  outcome, measured, waited_timer;
    uint64_t bytes;
    int64_t  posted_ps, latency_ps /* -1: none */, completion_ps /* -1: none */;
    int64_t  ideal_ps, self_ideal_ps;     /* denominators of slowdown and self_slowdown */
    const char *status;                   /* of a failure, else "ok" */
};

#define RESULT_NAME_MAX 64
struct result_drop { char cause[24]; uint64_t packets, bytes; };
struct result_counter { char name[40]; uint64_t value; };
struct result_queue_sample { int64_t at_ps; uint64_t peak_bytes; };   /* largest egress queue since the sample before */

/** A lossless class: the ingress port that came nearest to its XOFF threshold, and the port with the least headroom left. */
struct result_class { uint32_t prio; uint64_t peak_bytes, xoff_bytes, headroom_bytes, least_headroom_bytes; uint32_t node, port; };

/** A connection's congestion control at a time; a row of flows.csv. */
struct result_flow_sample {
    int64_t  at_ps;
    uint32_t flow, src, dst;
    int64_t  rate_bps, window_bytes, rtt_ps;   /* -1: not limited so, or not known */
    int64_t  goodput_bps;                      /* acknowledged since the sample before */
    double   alpha;
};

struct result_host { uint32_t node; int64_t busy_ps; };

struct result {
    char transport[RESULT_NAME_MAX], fabric[RESULT_NAME_MAX], scenario[RESULT_NAME_MAX], engine[RESULT_NAME_MAX];
    char name[128];                       /* of its directory: "roce-lossless", "-load50", "-seed3" added where they vary */
    double load;                          /* 0..1; negative: no load in this workload */
    uint64_t seed;
    struct result_message *messages;      /* all, measured or not, by id */
    size_t nmessages;
    int64_t measure_from_ps, measure_to_ps, end_ps;
    uint64_t payload_bytes;               /* delivered to applications in the measurement window */
    uint64_t wire_bytes;                  /* host-transmitted frames with preamble and gap, whole run */
    uint64_t all_payload_bytes;           /* delivered, whole run: wire efficiency is all_payload / wire */
    struct result_drop drops[16]; size_t ndrops;   /* every cause, zero or not */
    struct result_counter counters[64]; size_t ncounters;
    uint64_t pause_frames; int64_t paused_ps;
    uint64_t ecn_marks, cnps, retransmitted_packets, timeouts;
    uint64_t reassembly_peak_bytes;       /* TCP: most out-of-order payload that one connection has held */
    uint64_t reassembly_drops, placed_early; /* segments without room for it; FPDUs placed before those ahead of them (iWARP) */
    uint64_t peak_queue_bytes, queue_limit_bytes, buffer_bytes, peak_buffer_bytes, least_headroom_bytes, headroom_bytes, xoff_bytes;
    bool lossless;                        /* the transport's class is */
    struct result_class classes[8]; size_t nclasses;
    uint64_t peak_shared_bytes, shared_bytes;
    uint64_t lossless_drops, headroom_short_bytes;
    struct result_host *hosts; size_t nhosts;
    struct result_queue_sample *queue; size_t nqueue;
    struct result_flow_sample *flows; size_t nflows;   /* by time, then flow */
    uint64_t faster_than_alone;           /* messages whose self_slowdown is 1 because the calibration was slower (run_ideal.h) */
    uint64_t packet_hops, events;
    double wall_s;                        /* not written to files that must be reproducible; nor is: */
    uint64_t memory_bytes; uint32_t nodes;/* heap that the run took, packets in it; hosts and switches */
    char audit[160];                      /* "ok" or what failed */
    char deadlock[200];                   /* pauses that wait in a circle: when and where; "" if there were none */
    uint64_t digest;
    bool expected_failures;               /* the scenario expects failures: they do not make the exit status 1 */
};
void result_fini(struct result *r);       /* frees the arrays */

/** --- percentiles --- */
struct result_stats { uint64_t n; double mean, p50, p90, p99, p999, max; bool has[6]; /* in that order; false: not supported */ };
/** Nearest rank over n values (sorted in place). infinite: further values at +infinity (failed messages). A percentile q is
 *  supported when (1 - q) * (n + infinite) >= 1; one that falls among the infinite ones is reported as unsupported with the value INFINITY. */
void result_stats_of(double *values, size_t n, size_t infinite, struct result_stats *out);
/** The nearest-rank percentile of sorted values, 0 < q <= 1. */
double result_percentile(const double *sorted, size_t n, double q);

enum result_metric { RESULT_LATENCY_NS, RESULT_SLOWDOWN, RESULT_SELF_SLOWDOWN, RESULT_COMPLETION_NS };
/** Statistics of the measured messages of a result. */
void result_metric_stats(const struct result *r, enum result_metric m, struct result_stats *out);

/** Append the metric's values of measured, successful messages to v (room for nmessages more) and count the others. */
void result_metric_values(const struct result *r, enum result_metric m, double *v, size_t *n, size_t *infinite);
/** Payload delivered in the measurement window by its length, bit/s. */
double result_goodput_bps(const struct result *r);
/** Measured messages that ended well by the window's length, 1/s. */
double result_message_rate(const struct result *r);
/** Payload over wire bytes (preamble, gap, headers, retransmissions, acknowledgements: all that hosts sent), whole run. */
double result_wire_efficiency(const struct result *r);
/** Share of the slowest 0.1 % (at least one) of the measured messages for which a retransmission timer fired. */
double result_timer_share_of_tail(const struct result *r);

/** --- files (written beside and renamed; 0, or -1 with errno and a sentence in err) --- */
int result_write_messages(const struct result *r, const char *path, char *err, size_t errlen);
int result_write_summary(const struct result *const *r, size_t n, const char *path, char *err, size_t errlen);
/** queue.csv: time and the largest egress queue since the sample before. */
int result_write_queue(const struct result *r, const char *path, char *err, size_t errlen);
/** flows.csv: the sampled congestion control of each connection. */
int result_write_flows(const struct result *r, const char *path, char *err, size_t errlen);
/** variants.csv in a result directory: one row a variant and seed (name, transport, fabric, load, seed), what plots start from. */
int result_write_index(const struct result *const *r, size_t n, const char *path, char *err, size_t errlen);
/** The terminal's table: a column a variant, its seeds merged (they must stand together in r) with 95 % confidence intervals of the
 *  tail over seeds, a row a figure; then a verdict a lossless variant. width: columns of the terminal. */
void result_print_table(const struct result *const *r, size_t n, int width, void *stdio_file);
/** What became of the lossless classes, in one line without an end: "no pauses: peak queue 41.0 KB of 220.0 KB". "" if there is none. Returns
 *  buf. */
const char *result_verdict(const struct result *r, char *buf, size_t len);
/** Plots of a result directory (it reads messages.csv, queue.csv, flows.csv and variants.csv there), as SVG and PNG by gnuplot. Names the files on
 *  stdio_file unless NULL. */
int result_plot_dir(const char *dir, void *stdio_file, char *err, size_t errlen);

#ifdef __cplusplus
}
#endif
#endif
