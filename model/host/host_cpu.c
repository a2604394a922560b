/* SPDX-License-Identifier: GPL-2.0-only */
/* Cores as first-come-first-served servers, and the application thread on each: how it learns of completions and data. */
#include <stdlib.h>

#include "host_internal.h"

struct host_job *host_job_new(struct host *h, uint32_t core, int64_t cost_ps, sim_fn *fn, void *ctx, void *arg)
{
    struct host_job *job = h->spare_jobs;
    if (job) {
        h->spare_jobs = job->next;
    } else {
        if (!(job = malloc(sizeof *job)))
            abort();
        job->made = h->made_jobs;
        h->made_jobs = job;
    }
    *job = (struct host_job){ .made = job->made, .h = h, .fn = fn, .ctx = ctx, .arg = arg, .core = core, .cost_ps = cost_ps };
    return job;
}

void host_job_free(struct host *h, struct host_job *job)
{
    job->next = h->spare_jobs;
    h->spare_jobs = job;
}

/* --- cores --- */

static int64_t core_charge(struct host_core *c, int64_t cost_ps)
{
    c->free_ps = host_max_ps(c->free_ps, sim_now(c->h->sim)) + cost_ps;
    c->busy_ps += cost_ps;
    return c->free_ps;
}

int64_t host_cpu_charge(struct host *h, uint32_t core, int64_t cost_ps)
{
    return core_charge(host_core_at(h, core), cost_ps);
}

void host_cpu_run(struct host *h, uint32_t core, int64_t cost_ps, sim_fn *fn, void *ctx, void *arg)
{
    sim_at(h->sim, host_cpu_charge(h, core, cost_ps), h->key_cpu, fn, ctx, arg);
}

/* --- polling and spinning: the idle part of a core's time that it burns all the same --- */

static bool polls(const struct host *h)
{
    return h->par.completion == HOST_POLL && h->par.cqe_ps > 0;
}

/* What the core has burnt idle since it began to spin, until until_ps. */
static int64_t spun(const struct host_core *c, int64_t until_ps)
{
    if (c->poll_since_ps == SIM_NEVER_PS)
        return 0;
    if (c->h->par.completion == HOST_ADAPTIVE)
        until_ps = host_min_ps(until_ps, c->poll_since_ps + c->h->par.spin_ps);
    /* work given to the core meanwhile is busy time already; what is not yet done of it lies after until_ps */
    int64_t worked = c->busy_ps - c->poll_busy0_ps - host_max_ps(0, c->free_ps - until_ps);
    return host_max_ps(0, until_ps - c->poll_since_ps - host_max_ps(0, worked));
}

static void spin_begin(struct host_core *c)
{
    c->poll_since_ps = host_max_ps(c->free_ps, sim_now(c->h->sim));
    c->poll_busy0_ps = c->busy_ps;
}

static void spin_end(struct host_core *c)
{
    int64_t idle = spun(c, sim_now(c->h->sim));
    c->busy_ps += idle;
    c->h->stats.polls_busy_ps += (uint64_t)idle;
    c->poll_since_ps = SIM_NEVER_PS;
}

static void core_used(struct host_core *c)
{
    if (polls(c->h) && c->poll_since_ps == SIM_NEVER_PS)
        spin_begin(c);
}

int64_t host_cpu_busy_ps(const struct host *h)
{
    int64_t sum = 0, now = sim_now(h->sim);
    for (int64_t i = 0; i < h->par.cores; i++) {
        const struct host_core *c = &h->cores[i];
        sum += c->busy_ps - host_max_ps(0, c->free_ps - now) + spun(c, now);
    }
    return sum;
}

/* --- the application thread --- */

static void app_next(struct host_core *c);

static void app_run(struct sim *s, void *ctx, void *arg)
{
    struct host_core *c = ctx;
    struct host_job *job = arg;
    sim_fn *fn = job->fn;
    void *fn_ctx = job->ctx, *fn_arg = job->arg;
    host_job_free(c->h, job);
    fn(s, fn_ctx, fn_arg);
    app_next(c);
}

static void app_next(struct host_core *c)
{
    struct host *h = c->h;
    struct host_job *job = c->jobs;
    if (!job) {
        c->app = HOST_APP_ASLEEP;
        if (h->par.completion == HOST_ADAPTIVE)
            spin_begin(c);
        return;
    }
    c->app = HOST_APP_AWAKE;
    c->jobs = job->next;
    if (!c->jobs)
        c->jobs_tail = &c->jobs;
    host_cpu_run(h, c->id, job->cost_ps, app_run, c, job);
}

static void app_woken(struct sim *s, void *ctx, void *arg)
{
    (void)s;
    (void)arg;
    app_next(ctx);
}

static void app_switch(struct sim *s, void *ctx, void *arg)
{
    struct host_core *c = ctx;
    (void)arg;
    c->h->stats.wakeups++;
    sim_at(s, core_charge(c, c->h->par.wakeup_cpu_ps) + c->h->par.wakeup_ps, c->h->key_cpu, app_woken, c, NULL);
}

static void app_irq(struct sim *s, void *ctx, void *arg)
{
    struct host_core *c = ctx;
    (void)arg;
    sim_at(s, core_charge(c, c->h->par.irq_ps), c->h->key_cpu, app_switch, c, NULL);
}

/* Something for the application of a core: at once if it is awake or polling, else after an interrupt (by_irq: the NIC
 * tells; else the softirq does) and a wake-up. What comes while it wakes or works is picked up without either. */
static void app_tell(struct host_core *c, struct host_job *job, bool by_irq)
{
    struct host *h = c->h;
    int64_t now = sim_now(h->sim);
    *c->jobs_tail = job;
    c->jobs_tail = &job->next;
    if (c->app != HOST_APP_ASLEEP)
        return;
    if (h->par.completion == HOST_POLL) {
        core_used(c);
        app_next(c);
        return;
    }
    if (h->par.completion == HOST_ADAPTIVE && c->poll_since_ps != SIM_NEVER_PS) {
        bool spinning = now <= c->poll_since_ps + h->par.spin_ps;
        spin_end(c);
        if (spinning) {
            app_next(c);
            return;
        }
    }
    c->app = HOST_APP_WAKING;
    if (!by_irq) {
        app_switch(h->sim, c, NULL);
        return;
    }
    int64_t fires = now;
    if (c->last_cq_irq_ps != SIM_NEVER_PS)
        fires = host_max_ps(now, c->last_cq_irq_ps + h->par.irq_gap_ps);
    c->last_cq_irq_ps = fires;
    h->stats.interrupts++;
    sim_at(h->sim, fires + h->par.irq_latency_ps, h->key_cpu, app_irq, c, NULL);
}

/* --- verbs --- */

/* The WQE's own bytes take their turn on PCIe, between payload. */
static void wqe_there(struct sim *s, void *ctx, void *arg)
{
    struct host_job *job = arg;
    sim_fn *fn = job->fn;
    void *fn_ctx = job->ctx, *fn_arg = job->arg;
    host_job_free(ctx, job);
    fn(s, fn_ctx, fn_arg);
}

static void wqe_comes(struct sim *s, void *ctx, void *arg)
{
    struct host *h = ctx;
    sim_at(s, pcie_move(&h->pcie, PCIE_READ, sim_now(s), (uint64_t)h->par.wqe_read_bytes), h->key_cpu, wqe_there, h, arg);
}

void host_doorbell(struct host *h, uint32_t core, sim_fn *fn, void *ctx, void *arg)
{
    struct host_core *c = host_core_at(h, core);
    core_used(c);
    int64_t at = core_charge(c, h->par.post_ps) + h->par.doorbell_latency_ps + h->par.doorbell_reads * h->par.dma_read_ps;
    h->stats.doorbells++;
    at = host_max_ps(at, h->wqe_free_ps) + h->par.wqe_ps;
    h->wqe_free_ps = at;                            /* so doorbells stay in order too */
    if (h->par.wqe_read_bytes > 0)
        sim_at(h->sim, at, h->key_cpu, wqe_comes, h, host_job_new(h, core, 0, fn, ctx, arg));
    else
        sim_at(h->sim, at, h->key_cpu, fn, ctx, arg);
}

static void completion_visible(struct sim *s, void *ctx, void *arg)
{
    (void)s;
    app_tell(ctx, arg, true);
}

void host_complete(struct host *h, uint32_t core, uint32_t bytes, sim_fn *fn, void *ctx, void *arg)
{
    struct host_core *c = host_core_at(h, core);
    (void)bytes;
    h->stats.completions++;
    struct host_job *job = host_job_new(h, c->id, h->par.cqe_ps, fn, ctx, arg);
    int64_t wait = h->par.dma_latency_ps;
    if (h->par.cqe_write_bytes > 0) {                     /* it goes in turn with what has already been received, not after what waits to be */
        (void)pcie_move(&h->pcie, PCIE_WRITE, sim_now(h->sim), (uint64_t)h->par.cqe_write_bytes);
        wait += pcie_time_ps(&h->pcie, PCIE_WRITE, (uint64_t)h->par.cqe_write_bytes);
    }
    wait += host_max_ps(0, h->kept_ps - sim_now(h->sim));
    if (wait > 0)
        sim_at(h->sim, sim_now(h->sim) + wait, h->key_cpu, completion_visible, c, job);
    else
        app_tell(c, job, true);
}

/* --- kernel sockets --- */

void host_syscall_send(struct host *h, uint32_t core, uint64_t bytes, sim_fn *fn, void *ctx, void *arg)
{
    struct host_core *c = host_core_at(h, core);
    core_used(c);
    h->stats.syscalls++;
    host_cpu_run(h, core, h->par.syscall_ps + host_bytes_ps(bytes, h->par.copy_rate_bps), fn, ctx, arg);
}

void host_syscall_recv(struct host *h, uint32_t core, uint64_t bytes, sim_fn *fn, void *ctx, void *arg)
{
    struct host_core *c = host_core_at(h, core);
    h->stats.syscalls++;
    int64_t cost = h->par.syscall_ps + host_bytes_ps(bytes, h->par.copy_rate_bps);
    app_tell(c, host_job_new(h, c->id, cost, fn, ctx, arg), false);
}
