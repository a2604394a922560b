/* SPDX-License-Identifier: GPL-2.0-only */
/** The inside of a host, shared by the host_*.c files only. */
#ifndef RNICSIM_HOST_HOST_INTERNAL_H
#define RNICSIM_HOST_HOST_INTERNAL_H

#include "../fabric/fabric.h"
#include "context_cache.h"
#include "host.h"
#include "pcie.h"
#include "translation_cache.h"

/* --- demultiplexing: open addressing, linear probing, deletion by moving back --- */
struct host_map { uint64_t *keys; struct endpoint **eps; uint32_t cap, used; };
struct endpoint *host_map_find(const struct host_map *m, uint64_t key);
int  host_map_put(struct host_map *m, uint64_t key, struct endpoint *ep);   /* SIM_ERR_STATE: taken */
void host_map_del(struct host_map *m, uint64_t key);
void host_map_del_endpoint(struct host_map *m, const struct endpoint *ep);
void host_map_fini(struct host_map *m);

struct host_listener {
    struct host_listener *next;
    uint16_t port;
    struct endpoint *(*accept)(void *ctx, struct host *h, const struct pkt *syn);
    void *ctx;
};

/* Something that waits for the CPU: a completion or a recv(). */
struct host_job {
    struct host_job *next;
    struct host_job *made;       /* the host's list of all its jobs: one may be anywhere, also in an event that will not come */
    struct host *h;
    sim_fn  *fn;
    void    *ctx, *arg;
    uint32_t core;
    int64_t  cost_ps;
};

/** What the application thread of a core does. */
enum host_app_state { HOST_APP_ASLEEP, HOST_APP_WAKING, HOST_APP_AWAKE };
enum host_napi_state { HOST_NAPI_IDLE, HOST_NAPI_IRQ, HOST_NAPI_RUNNING };

struct host_fifo { struct pkt *head, *tail; uint64_t bytes; uint32_t frames; };

struct host_core {
    struct host *h;
    uint32_t id;
    int64_t  free_ps, busy_ps;                      /* the FCFS server: when it is next free, what it has been given to do */
    /* application */
    uint8_t  app;                                   /* enum host_app_state */
    struct host_job *jobs, **jobs_tail;
    int64_t  poll_since_ps, poll_busy0_ps;          /* spinning since, and busy_ps then; SIM_NEVER_PS if not */
    int64_t  last_cq_irq_ps;
    /* softirq */
    uint8_t  napi;                                  /* enum host_napi_state */
    struct host_fifo ring, batch;
    int64_t  last_rx_irq_ps;
};

struct host {
    struct sim    *sim;
    struct port   *port;
    struct fabric *fabric;
    uint32_t node, addr;
    int64_t  rate_bps;
    struct host_params par;
    struct host_stats stats;
    struct host_map roce, tcp;
    struct host_listener *listeners;
    uint64_t key_cpu, key_rx, key_tx;
    /* transmit */
    struct endpoint *ring[PORT_PRIOS];              /* the last of a circular list; ring->next_ready is the next to be asked */
    struct host_fifo fifo[PORT_PRIOS];              /* behind the pipeline; stamp_ps: when it comes out */
    uint8_t  ring_mask, fifo_mask, next_prio;
    bool     direct;                                /* no transmit cost: the port's pull asks the endpoints */
    bool     in_pull, engine_armed;
    int64_t  port_free_ps;                          /* the frame on the wire, if any, ends then or later */
    int64_t  engine_free_ps;
    struct endpoint *current;                       /* inside one of its ops: it is looked at again afterwards */
    uint16_t ip_id;
    struct { uint32_t frame_len; int64_t wire_ps; } wire_cache[8];
    /* verbs */
    int64_t  wqe_free_ps;
    /* PCIe and contexts */
    struct pcie pcie;
    struct context_cache *contexts;                 /* NULL: all fit */
    struct translation_cache *translations;         /* NULL: all fit */
    int64_t  kept_ps;                               /* when the last kept payload has been placed */
    struct host_fifo rx_queue;                      /* with contexts or translations: what waits for the receive pipeline */
    bool     rx_armed;
    /* receive */
    int64_t  rx_free_ps;
    uint64_t rx_bytes;
    uint8_t  lossless, rx_paused;
    bool     rx_direct, napi_direct;
    struct sim_timer pause_timer;
    /* cpu */
    struct host_core *cores;
    struct host_job  *made_jobs, *spare_jobs;
};

/* host_tx.c */
extern const struct port_ops host_port_ops;
struct pkt *host_tx_pull(void *owner, struct port *port, uint8_t blocked);
void host_tx_paused(void *owner, struct port *port, unsigned prio, bool stop);
/** Re-read ready_ps and next_wake_ps; core: who pays for a kernel transmit pass that this needs. */
void host_tx_review(struct host *h, struct endpoint *ep, uint32_t core);
/** Have the port, or the engine, ask if anything is ready. */
void host_tx_kick(struct host *h);
void host_tx_forget(struct host *h, struct endpoint *ep);
void host_tx_timer(struct sim *s, void *ctx, void *arg);

/* host_rx.c */
/** Frees the packets in the receive pipeline. */
void host_rx_free(struct host *h);
void host_rx_arrive(void *owner, struct port *port, struct pkt *p);
void host_rx_deliver(struct host *h, struct pkt *p, uint32_t core);
struct endpoint *host_rx_lookup(struct host *h, const struct pkt *p);

/* host_softirq.c */
/** false: the core's receive ring is full, the packet stays the caller's. */
bool host_softirq_rx(struct host *h, struct pkt *p, uint32_t core);

/* host_nic.c */
#define HOST_TRANSLATION_BYTES 8u                    /* a page's bus address */
/** The NIC needs the context of ep for a packet: when its work on it can begin and when the context is there. */
struct context_use host_context(struct host *h, struct endpoint *ep);

/** p, a RoCE packet for ep that has had its context so, needs the translations of the pages that a WRITE's payload goes to: when work on it can
 *  begin and when it may be placed. */
struct context_use host_translate(struct host *h, struct endpoint *ep, const struct pkt *p, struct context_use context);

/* host_cpu.c */
struct host_job *host_job_new(struct host *h, uint32_t core, int64_t cost_ps, sim_fn *fn, void *ctx, void *arg);
void host_job_free(struct host *h, struct host_job *job);

static inline void host_fifo_push(struct host_fifo *f, struct pkt *p)
{
    p->next = NULL;
    if (f->head)
        f->tail->next = p;
    else
        f->head = p;
    f->tail = p;
    f->bytes += p->frame_len;
    f->frames++;
}

static inline struct pkt *host_fifo_pop(struct host_fifo *f)
{
    struct pkt *p = f->head;
    f->head = p->next;
    f->bytes -= p->frame_len;
    f->frames--;
    return p;
}

/** Time for bytes at a rate in bit/s, rounded up; 0 for rate 0. */
static inline int64_t host_bytes_ps(uint64_t bytes, int64_t rate_bps)
{
    if (rate_bps == 0)
        return 0;
    __uint128_t bits = (__uint128_t)bytes * 8u * (uint64_t)SIM_PS_PER_S;
    return (int64_t)((bits + (uint64_t)rate_bps - 1) / (uint64_t)rate_bps);
}

static inline struct host_core *host_core_at(struct host *h, uint32_t core)
{
    return &h->cores[core % (uint32_t)h->par.cores];
}

static inline int64_t host_max_ps(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t host_min_ps(int64_t a, int64_t b) { return a < b ? a : b; }

#endif
