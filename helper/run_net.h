/* SPDX-License-Identifier: GPL-2.0-only */
/** A network with its hosts and connections, as one variant of a scenario wants it. */
#ifndef RNICSIM_HELPER_RUN_NET_H
#define RNICSIM_HELPER_RUN_NET_H

#include "../model/cc/cc.h"
#include "../model/fabric/fabric.h"
#include "../model/host/host.h"
#include "../model/iwarp/iwarp_qp.h"
#include "../model/roce/roce.h"
#include "../model/tcp/socket.h"
#include "../model/workload/workload.h"
#include "scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

struct net_host {
    struct host *host;
    struct rnic_dev *dev;        /* NULL for kernel TCP */
    struct rnic_pd *pd;
    int64_t link_bps;
    uint32_t next_conn;          /* counts connections, for cores and ports */
};

/** One connection: a pair of QPs or of sockets, and the channel over it. */
struct net_conn {
    struct net_conn *next;
    struct net *net;
    struct wl_chan *chan;
    uint32_t src, dst;
    uint8_t prio, dscp;          /* of its packets */
    struct rnic_qp *qp[2];       /* at src, at dst */
    struct wl_cq_link link[2];
    struct tcp_socket *sock[2];
    uint8_t up;                  /* 2: both ends */
};

struct net {
    struct sim *sim;
    struct fabric *fabric;
    const struct scenario *sc;
    const struct scenario_transport *transport;
    struct cc_ops cc;            /* the transport's, with the scenario's word on ECN */
    uint64_t seed;
    uint32_t nhosts;
    struct net_host *hosts;
    struct net_conn *conns;
    uint32_t nconns;             /* made so far */
    bool     refused;            /* a NIC has as many connections as it takes */
    uint32_t refused_host;
    uint32_t waiting;            /* connections that are not up yet */
    uint64_t max_message_bytes;
};

/** What a calibration changes: see run_ideal.h. */
enum net_mode { NET_AS_IS, NET_NO_LOSS, NET_NO_LOSS_AWAKE };

/** Build the fabric of variant v and its hosts, with a new sim. 0, or negative with a sentence in err. */
int  net_open(struct net *n, const struct scenario *sc, const struct variant *v, enum net_mode mode, char *err, size_t errlen) SIM_MUST_CHECK;
/** Failures and losses that the scenario lists, on the clock that begins at start_ps. SIM_OK or SIM_ERR_NOMEM. */
int net_unleash(struct net *n, const struct scenario_fabric *f, int64_t start_ps) SIM_MUST_CHECK;
void net_close(struct net *n);

/** A channel from host src to host dst in a priority (WL_PRIO_OWN: the transport's, with the transport's DSCP; another has its class
 *  selector for DSCP, RFC 2474 4.2.2). NULL if out of memory or refused. */
struct net_conn *net_connect(struct net *n, uint32_t src, uint32_t dst, uint8_t prio, const struct wl_sink *sink, void *sink_ctx);
/** Connections that are still being made; asks the sockets. */
uint32_t net_waiting(struct net *n);
/** Unloaded round trip of a full packet and its acknowledgement between two hosts, without host cost. */
int64_t net_base_rtt_ps(const struct net *n, uint32_t a, uint32_t b);

#ifdef __cplusplus
}
#endif
#endif
