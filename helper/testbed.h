/* SPDX-License-Identifier: GPL-2.0-only */
/** One endpoint of ours alone: virtual time that the caller moves, packets in, packets out to a callback instead of a fabric.
 *  What packet scripts, replayed captures and tests of a single end stand on. Hosts cost nothing here.
 *
 *  At one time: arrivals first, then timers, then transmissions, as in the simulation.
 */
#ifndef RNICSIM_HELPER_TESTBED_H
#define RNICSIM_HELPER_TESTBED_H

#include "../model/iwarp/iwarp_qp.h"
#include "../model/rnic/qp.h"
#include "../model/roce/roce.h"
#include "../model/tcp/tcp.h"

#ifdef __cplusplus
extern "C" {
#endif

struct testbed {
    struct endpoint *ep;
    int64_t now_ps;
    int64_t rate_bps;            /* of the port: a packet leaves when the one before has; 0: all at once */
    int64_t free_ps;             /* the port is free from then on */
    /** A packet has begun to leave at now_ps. It stays the testbed's, which releases it afterwards; its buffers may be taken out. */
    void (*wire)(void *ctx, struct testbed *b, struct pkt *p);
    void *ctx;
    uint64_t sent;
};

/** Time 0, rate 0. */
void testbed_init(struct testbed *b, struct endpoint *ep, void (*wire)(void *ctx, struct testbed *b, struct pkt *p), void *ctx);
/** When the endpoint will next do something by itself, never before now; SIM_NEVER_PS: it waits for a packet or a call. */
int64_t testbed_next_ps(const struct testbed *b);
/** A packet arrives now. It stays the caller's to release. What is sent in answer comes with the next testbed_settle or _run. */
void testbed_rx(struct testbed *b, struct pkt *p);
/** All that is due now: timers, then packets as long as the port is free. false: the endpoint asks for this time again and
 *  again, a fault of its. */
bool testbed_settle(struct testbed *b);
/** Move time on to the next at which something is due, if that is not after until_ps, and do it. false: there is none. What is due
 *  now must have been settled. */
bool testbed_step(struct testbed *b, int64_t until_ps);
/** Move time on to until_ps, doing what is due at each time on the way, until_ps included; now is until_ps then. SIM_NEVER_PS: until
 *  nothing is left to do, now is the last time. false as testbed_settle. */
bool testbed_run(struct testbed *b, int64_t until_ps);

/* --- an RNIC without a host, and a QP on it --- */

struct testbed_spec {            /* zero or NULL: as said */
    const struct roce_params *roce;      /* the three are kept by reference; needed by the maker that uses them */
    const struct iwarp_params *iwarp;
    const struct tcp_params *tcp;
    const struct cc_ops *cc;             /* NULL: RoCE none, iWARP reno */
    const void *cc_params;
    int64_t link_bps;                    /* 0: 100 Gbit/s */
    uint32_t id;
    uint64_t seed;
    void (*on_wc)(void *ctx, const struct rnic_wc *wc);
    void *ctx;
};
struct testbed_rnic { struct rnic_dev *dev; struct rnic_pd *pd; struct rnic_cq *cq; struct rnic_qp *qp; };
/** A QP in INIT whose sends and receives complete to on_wc; roce_qp_connect or iwarp_qp_connect/_accept come next.
 *  SIM_OK; SIM_ERR_PARAM: parameters that the QP refuses, or no memory. */
int  testbed_roce(struct testbed_rnic *r, const struct testbed_spec *spec) SIM_MUST_CHECK;
int  testbed_iwarp(struct testbed_rnic *r, const struct testbed_spec *spec) SIM_MUST_CHECK;
void testbed_rnic_free(struct testbed_rnic *r);

/* --- a TCP connection whose user reads all that comes --- */

struct testbed_stream {
    struct tcp_conn *conn;
    uint64_t seed;               /* of the pattern that it sends */
    uint64_t received, acked;    /* stream bytes in order; stream bytes acknowledged */
    int64_t  received_ps, acked_ps;
    bool     lazy;               /* the user does not read: tcp_consumed is left to the caller */
    bool     told;               /* a state has been told */
    enum tcp_state state;
    int      error;
    /** Optional: the bytes, as tcp_user_ops.deliver. */
    void (*deliver)(void *ctx, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len);
    void    *ctx;
};
/** A closed connection (tcp_connect or tcp_accept next). spec->tcp and spec->cc (NULL: reno) are used. */
int  testbed_tcp(struct testbed_stream *t, const struct testbed_spec *spec, const struct tcp_addr *addr) SIM_MUST_CHECK;
void testbed_tcp_free(struct testbed_stream *t);

#ifdef __cplusplus
}
#endif
#endif
