/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters of the TCP engine. The table's defaults are the `kernel` set; tcp_params.c lists what other sets change. */
#ifndef RNICSIM_TCP_TCP_PARAMS_H
#define RNICSIM_TCP_TCP_PARAMS_H

#include "../sim/param.h"
#include "../sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* field, kind, default, low, high, names, meaning, source */
#define TCP_PARAMS(X) \
    X(mss_bytes, BYTES, 1460, 64, 65000, NULL, \
      "maximum segment size announced: IP MTU less 40 B; options come out of it", "RFC 9293 3.7.1, RFC 6691; MTU 1500") \
    X(rto_min_ps, TIME, 5 * SIM_PS_PER_MS, SIM_PS_PER_US, 10 * SIM_PS_PER_S, NULL, \
      "lower bound of the retransmission timeout", "RFC 6298 2.4; Linux 200 ms, data centres set 1 to 5 ms") \
    X(rto_max_ps, TIME, 120 * SIM_PS_PER_S, SIM_PS_PER_MS, 3600 * SIM_PS_PER_S, NULL, \
      "upper bound of the backed-off timeout", "Linux TCP_RTO_MAX") \
    X(rto_initial_ps, TIME, SIM_PS_PER_S, SIM_PS_PER_US, 60 * SIM_PS_PER_S, NULL, \
      "timeout before the first round-trip sample", "RFC 6298 2.1") \
    X(clock_granularity_ps, TIME, SIM_PS_PER_US, 1, SIM_PS_PER_S, NULL, \
      "clock granularity G: RTO is SRTT + max(G, 4 RTTVAR)", "RFC 6298 2.2; Linux samples in us") \
    X(dup_ack_threshold, COUNT, 3, 1, 1000, NULL, \
      "duplicate acknowledgements that mean loss", "RFC 5681 3.2") \
    X(delayed_ack_count, COUNT, 2, 1, 1000, NULL, \
      "data segments that one acknowledgement may cover; 1 acknowledges each", "RFC 9293 3.8.6.3") \
    X(delayed_ack_time_ps, TIME, SIM_PS_PER_MS, 0, 500 * SIM_PS_PER_MS, NULL, \
      "longest delay of an acknowledgement", "guess: lowered with the RTO as data centres do; Linux 40 ms") \
    X(initial_window_count, COUNT, 10, 1, 1000, NULL, \
      "initial congestion window, in segments", "RFC 6928; Linux") \
    X(sack, BOOL, 1, 0, 1, NULL, \
      "selective acknowledgements offered", "RFC 2018; Linux on") \
    X(dsack, BOOL, 1, 0, 1, NULL, \
      "duplicates reported in the first SACK block", "RFC 2883; Linux on") \
    X(timestamps, BOOL, 1, 0, 1, NULL, \
      "timestamps option offered", "RFC 7323; Linux on") \
    X(timestamp_tick_ps, TIME, SIM_PS_PER_US, SIM_PS_PER_NS, SIM_PS_PER_S, NULL, \
      "one tick of the timestamp clock", "Linux 6.7 tcp_usec_ts; 1 ms before") \
    X(window_scale, BOOL, 1, 0, 1, NULL, \
      "window scaling offered", "RFC 7323 2; Linux on") \
    X(receive_buffer_bytes, BYTES, 6291456, 2048, INT64_C(1073725440), NULL, \
      "receive buffer, all of it window", "Linux tcp_rmem maximum") \
    X(send_buffer_bytes, BYTES, 4194304, 1024, INT64_C(1) << 40, NULL, \
      "send buffer of a socket: what send() may leave unacknowledged", "Linux tcp_wmem maximum") \
    X(reassembly_limit_bytes, BYTES, 6291456, 0, INT64_C(1) << 40, NULL, \
      "out-of-order payload kept; what comes beyond is dropped", "Linux: the receive buffer") \
    X(limited_transmit, BOOL, 1, 0, 1, NULL, \
      "new data on the first two duplicate acknowledgements", "RFC 3042") \
    X(tlp, BOOL, 1, 0, 1, NULL, \
      "tail-loss probe after two round trips (needs SACK)", "RFC 8985 7; Linux on") \
    X(rack, BOOL, 1, 0, 1, NULL, \
      "time-based loss detection instead of counting duplicates (needs SACK)", "RFC 8985 6; Linux on") \
    X(prr, ENUM, 2, 0, 2, "off|crb|ssrb", \
      "proportional rate reduction during fast recovery (needs SACK), and how it refills a pipe below ssthresh", "RFC 6937 3; Linux on, ssrb while recovery advances") \
    X(pacing, BOOL, 0, 0, 1, NULL, \
      "segments are spaced by window over smoothed round trip, where congestion control sets no rate of its own", "Linux: on with the fq queueing discipline") \
    X(pacing_slow_start_gain, NUMBER, 2, 1, 10, NULL, \
      "pacing rate over window per round trip, below half of ssthresh", "Linux tcp_pacing_ss_ratio 200 %") \
    X(pacing_gain, NUMBER, 1.2, 1, 10, NULL, \
      "pacing rate over window per round trip, otherwise", "Linux tcp_pacing_ca_ratio 120 %") \
    X(ect_all, BOOL, 0, 0, 1, NULL, \
      "under an exact echo (DCTCP) pure acknowledgements, probes and retransmissions are ECN-capable too", \
      "no: RFC 3168 6.1.4 to 6.1.6, which RFC 8257 changes for SYN and RST only; Linux sends all of them ECN-capable") \
    X(challenge_gap_ps, TIME, 500 * SIM_PS_PER_MS, 0, 60 * SIM_PS_PER_S, NULL, \
      "least time between two challenge ACKs, and between two answers to bare acknowledgements outside the window", \
      "RFC 5961 7 (throttling); Linux tcp_invalid_ratelimit") \
    X(idle_restart, ENUM, 2, 0, 2, "off|reset|decay", \
      "congestion window after an idle RTO: kept, reset to the initial window, or halved per RTO down to it", \
      "RFC 5681 4.1 (reset), RFC 2861 and Linux (decay)") \
    X(nagle, BOOL, 0, 0, 1, NULL, \
      "small segments wait while data is unacknowledged", "RFC 9293 3.7.4; RPC stacks set TCP_NODELAY") \
    X(retries, COUNT, 15, 1, 255, NULL, \
      "timeouts in a row before the connection is given up", "Linux tcp_retries2") \
    X(syn_retries, COUNT, 6, 0, 255, NULL, \
      "SYN retransmissions before connecting fails", "Linux tcp_syn_retries") \
    X(time_wait_ps, TIME, 60 * SIM_PS_PER_S, 0, 600 * SIM_PS_PER_S, NULL, \
      "length of TIME-WAIT", "Linux TCP_TIMEWAIT_LEN")

struct tcp_params { PARAM_FIELDS(TCP_PARAMS) };
extern const struct param_table tcp_params_table;

/** Named sets: "kernel" (Linux with data-centre timers: the table's defaults), "linux" (stock timers), "toe" (offload engine
 *  under iWARP). Fills *p and returns SIM_OK, or SIM_ERR_PARAM for an unknown name. */
int tcp_params_preset(struct tcp_params *p, const char *name);

#ifdef __cplusplus
}
#endif
#endif
