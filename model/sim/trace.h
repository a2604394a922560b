/* SPDX-License-Identifier: GPL-2.0-only */
/** What trace hooks are told. Points are few and stable; a consumer switches on `point`. */
#ifndef RNICSIM_SIM_TRACE_H
#define RNICSIM_SIM_TRACE_H

#include "sim.h"

/* name, meaning of id, of a, of b */
#define SIM_TRACE_POINTS(X) \
    X(FRAME_TX,  "frame begins on a link; obj is the packet",   "port", "frame bytes", "priority") \
    X(FRAME_RX,  "frame's last bit has arrived; obj is the packet", "port", "frame bytes", "priority") \
    X(QUEUE,     "an egress queue changed",                     "port", "bytes now", "priority") \
    X(DROP,      "packet dropped; obj is the packet",           "port", "cause", "priority") \
    X(MARK,      "packet marked CE",                            "port", "queue bytes", "priority") \
    X(PAUSE_TX,  "PFC frame sent",                              "port", "priority vector", "quanta") \
    X(PAUSED,    "a priority of a port stops or resumes",       "port", "1 stop 0 resume", "priority") \
    X(RATE,      "congestion control set a rate",               "QP", "bit/s", "alpha in 1e-6") \
    X(CWND,      "congestion control set a window",             "connection", "bytes", "ssthresh bytes") \
    X(TIMEOUT,   "a retransmission timer fired",                "QP or connection", "backoff", "0") \
    X(RETRANSMIT,"a packet is sent again",                      "QP or connection", "PSN or sequence", "bytes") \
    X(STATE,     "a state machine moved",                       "QP or connection", "from", "to")

enum sim_trace_point {
#define X(n, meaning, id, a, b) SIM_TRACE_##n,
    SIM_TRACE_POINTS(X)
#undef X
    SIM_TRACE_POINT_COUNT
};

struct sim_trace {
    int64_t     now_ps;
    uint32_t    point;   /* enum sim_trace_point */
    uint32_t    node;
    uint32_t    id;
    uint64_t    a, b;
    const void *obj;
};

#endif
