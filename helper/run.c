/* SPDX-License-Identifier: GPL-2.0-only */
/* One run: build the network, connect, let the workload go, wait for its end or the drain limit, and take stock. */
#include "run.h"

#include "../model/fabric/switch_params.h"
#include "capture.h"
#include "engine.h"
#include "run_flows.h"
#include "run_ideal.h"
#include "run_net.h"

#include <malloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Connections have this long to come up before the workload starts without them. */
#define SETUP_LIMIT_PS (60 * SIM_PS_PER_S)
#define SETUP_POLL_PS (50 * SIM_PS_PER_US)

struct run {
    struct net net;
    const struct scenario *sc;
    const struct variant *v;
    const struct run_options *opt;
    struct wl *wl;
    int64_t start_ps;            /* of the workload */
    bool started, stopped, out_of_memory;
    struct result_queue_sample *queue;
    size_t nqueue, queue_room;
    struct run_flows flows;
    uint64_t setup_wire;
    size_t heap_before, net_bytes;
    char *err;
    size_t errlen;
};

/* The run's own events belong to no node and come after those of nodes at the same time. */
static uint64_t own_key(void) { return sim_key_node(0xffffff, SIM_KIND_WAKE, 0); }

/* --- set-up --- */

static struct wl_chan *on_connect(void *ctx, uint32_t src, uint32_t dst, uint8_t prio, uint32_t which, const struct wl_sink *sink, void *sink_ctx)
{
    struct run *r = ctx;
    (void)which;
    struct net_conn *c = net_connect(&r->net, src, dst, prio, sink, sink_ctx);
    if (!c)
        r->out_of_memory = true;
    return c ? c->chan : NULL;
}

static void on_done(void *ctx)
{
    struct run *r = ctx;
    sim_stop(r->net.sim);
}

static const struct wl_connect_ops connect_ops = { .connect = on_connect, .done = on_done };

static int open_workload(struct run *r)
{
    const struct scenario *sc = r->sc;
    struct wl_spec *specs = calloc(sc->nworkloads, sizeof *specs);
    struct wl_host *hosts = calloc(r->net.nhosts, sizeof *hosts);
    int rc = SIM_ERR_NOMEM;
    if (specs && hosts) {
        for (uint32_t i = 0; i < sc->nworkloads; i++)
            scenario_variant_spec(sc, r->v, i, &specs[i]);
        for (uint32_t i = 0; i < r->net.nhosts; i++)
            hosts[i] = (struct wl_host){ i, r->net.hosts[i].link_bps };
        struct wl_config config = {
            .specs = specs, .nspecs = sc->nworkloads, .hosts = hosts, .nhosts = r->net.nhosts,
            .window = { sc->measure->warmup_ps, sc->measure->duration_ps }, .seed = r->v->seed,
            .per_pair = (uint32_t)r->net.transport->params->connections_per_pair,
            .per_message = r->net.transport->params->connections == SCENARIO_PER_MESSAGE, .ops = &connect_ops, .ctx = r,
        };
        rc = wl_check(&config, r->err, r->errlen);
        if (rc == SIM_OK) {
            r->wl = wl_new(r->net.sim, &config);
            rc = r->wl ? SIM_OK : SIM_ERR_NOMEM;
        }
    }
    if (rc == SIM_ERR_NOMEM)
        snprintf(r->err, r->errlen, "out of memory for the workload");
    free(specs);
    free(hosts);
    return rc;
}

static void poll_setup(struct sim *s, void *ctx, void *arg)
{
    struct run *r = ctx;
    (void)arg;
    if (net_waiting(&r->net) == 0 || sim_now(s) > SETUP_LIMIT_PS || (r->opt->stop && *r->opt->stop))
        sim_stop(s);
    else
        sim_at(s, sim_now(s) + SETUP_POLL_PS, own_key(), poll_setup, r, NULL);
}

/* Wire bytes of all hosts so far: frames, preamble and gap. */
static uint64_t wire_bytes(const struct net *n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n->nhosts; i++) {
        const struct port_stats *st = port_stats(fabric_port(n->fabric, i, 0));
        sum += st->tx_bytes + st->tx_packets * (PKT_PREAMBLE_BYTES + PKT_IFG_BYTES);
    }
    return sum;
}

static void refused(const struct run *r)
{
    const struct scenario_transport *t = r->net.transport;
    const struct host_params *h = t->host;
    snprintf(r->err, r->errlen, "%s:%d: transport \"%s\": host %u would need more than the %" PRId64 " connections that its NIC takes (host max-connections)%s", r->sc->path, t->line,
             t->name, r->net.refused_host, h->max_connections, t->kind == SCENARIO_IWARP ? "; with beyond=\"software\" the rest would run in software" : "");
}

static int set_up(struct run *r)
{
    wl_connect_all(r->wl);
    if (r->net.refused)
        return refused(r), SIM_ERR_PARAM;
    if (r->out_of_memory)
        return snprintf(r->err, r->errlen, "a connection was refused or memory is exhausted"), SIM_ERR_NOMEM;
    if (net_waiting(&r->net) > 0) {
        sim_at(r->net.sim, sim_now(r->net.sim) + SETUP_POLL_PS, own_key(), poll_setup, r, NULL);
        int rc = engine_run(r->opt->engine, r->net.sim, SIM_NEVER_PS, r->err, r->errlen);
        if (rc != SIM_OK)
            return rc;
    }
    r->setup_wire = wire_bytes(&r->net);
    return SIM_OK;
}

/* --- the run itself --- */

static bool take_sample(struct run *r, int64_t now_ps)
{
    if (r->nqueue == r->queue_room) {
        size_t room = r->queue_room ? 2 * r->queue_room : 1024;
        struct result_queue_sample *grown = realloc(r->queue, room * sizeof *grown);
        if (!grown)
            return false;
        r->queue = grown;
        r->queue_room = room;
    }
    r->queue[r->nqueue++] = (struct result_queue_sample){ now_ps - r->start_ps, fabric_queue_peak_take(r->net.fabric) };
    return true;
}

/* Each sample interval: the queue's depth, progress, and whether waiting any longer is worth it. */
static void tick(struct sim *s, void *ctx, void *arg)
{
    struct run *r = ctx;
    const struct measure_params *m = r->sc->measure;
    int64_t now = sim_now(s), window = m->warmup_ps + m->duration_ps;
    struct wl_progress p;
    (void)arg;
    take_sample(r, now);
    wl_progress(r->wl, &p);
    if (r->opt->progress) {
        double f = p.expected ? (double)p.ended / (double)p.expected : (double)(now - r->start_ps) / (double)window;
        r->opt->progress(r->opt->progress_ctx, f < 1 ? f : 1);
    }
    int64_t last = r->start_ps + window;
    if (p.all_posted || p.last_post_ps > last)
        last = p.last_post_ps;
    r->stopped = r->opt->stop && *r->opt->stop;
    if (r->stopped || now > last + m->drain_ps)
        sim_stop(s);
    else
        sim_at(s, now + m->sample_interval_ps, own_key(), tick, r, NULL);
}

/* Its own rhythm: control moves faster than queues need to be seen. */
static void flow_tick(struct sim *s, void *ctx, void *arg)
{
    struct run *r = ctx;
    (void)arg;
    run_flows_take(&r->flows, &r->net, sim_now(s) - r->start_ps);
    sim_at(s, sim_now(s) + r->sc->measure->flow_interval_ps, own_key(), flow_tick, r, NULL);
}

static int let_go(struct run *r)
{
    struct sim *s = r->net.sim;
    r->start_ps = sim_now(s) + SIM_PS_PER_US;
    fabric_queue_peak_take(r->net.fabric);
    if (net_unleash(&r->net, &r->sc->fabrics[r->v->fabric], r->start_ps) != SIM_OK)
        return snprintf(r->err, r->errlen, "out of memory for what is to be lost"), SIM_ERR_NOMEM;
    wl_start(r->wl, r->start_ps);
    sim_at(s, r->start_ps, own_key(), tick, r, NULL);
    if (r->sc->measure->flow_interval_ps)
        sim_at(s, r->start_ps, own_key(), flow_tick, r, NULL);
    return engine_run(r->opt->engine, s, SIM_NEVER_PS, r->err, r->errlen);
}

/* --- taking stock --- */

static int take_messages(struct run *r, struct result *out)
{
    size_t n;
    const struct wl_message *m = wl_messages(r->wl, &n);
    int64_t from = r->start_ps + r->sc->measure->warmup_ps, to = from + r->sc->measure->duration_ps;
    int64_t first = INT64_MAX, last = 0;
    out->messages = calloc(n ? n : 1, sizeof *out->messages);
    if (!out->messages)
        return snprintf(r->err, r->errlen, "out of memory for %zu messages", n), SIM_ERR_NOMEM;
    out->nmessages = n;
    for (size_t i = 0; i < n; i++) {
        struct result_message *o = &out->messages[i];
        bool delivered = m[i].outcome == WL_OK && m[i].delivered_ps >= 0;
        *o = (struct result_message){
            .id = i, .src = m[i].src, .dst = m[i].dst, .flow = m[i].flow, .stream = m[i].stream, .measured = m[i].measured,
            .waited_timer = m[i].waited_timer, .bytes = m[i].bytes, .posted_ps = m[i].posted_ps - r->start_ps,
            .latency_ps = delivered ? m[i].delivered_ps - m[i].posted_ps : -1,
            .completion_ps = m[i].outcome == WL_OK && m[i].completed_ps >= 0 ? m[i].completed_ps - m[i].posted_ps : -1,
            .outcome = m[i].outcome == WL_OK ? RESULT_OK : m[i].outcome == WL_FAILED ? RESULT_FAILED : RESULT_UNFINISHED,
            .status = m[i].outcome == WL_OK ? "ok" : m[i].outcome == WL_FAILED ? rnic_wc_status_name((enum rnic_wc_status)m[i].status) : "unfinished",
        };
        if (!delivered)
            continue;
        out->all_payload_bytes += m[i].bytes;
        if (m[i].delivered_ps >= from && m[i].delivered_ps < to)
            out->payload_bytes += m[i].bytes;
        if (m[i].measured) {
            first = m[i].posted_ps < first ? m[i].posted_ps : first;
            last = m[i].delivered_ps > last ? m[i].delivered_ps : last;
        }
    }
    out->measure_from_ps = from - r->start_ps;
    out->measure_to_ps = to - r->start_ps;
    /* A workload bounded by counts can be over long before the window is: then its own span is the window. */
    if (wl_done(r->wl) && last > first && last < to) {
        out->measure_to_ps = last - r->start_ps;
        if (first > from)
            out->measure_from_ps = first - r->start_ps;
    }
    return SIM_OK;
}

static void add_counter(struct result *out, const char *name, uint64_t value)
{
    size_t i = 0;
    while (i < out->ncounters && strcmp(out->counters[i].name, name) != 0)
        i++;
    if (i == sizeof out->counters / sizeof out->counters[0])
        return;
    if (i == out->ncounters) {
        snprintf(out->counters[i].name, sizeof out->counters[i].name, "%s", name);
        out->counters[i].value = 0;
        out->ncounters++;
    }
    out->counters[i].value += value;
}

static void add_tcp(struct result *out, const struct tcp_conn *c)
{
    const struct tcp_counters *k = tcp_counters(c);
    const struct { const char *name; uint64_t value; } row[] = {
        { "tcp_sent_segments", k->sent_segments }, { "tcp_retransmitted_segments", k->retransmitted_segments }, { "tcp_timeouts", k->timeouts },
        { "tcp_fast_retransmits", k->fast_retransmits }, { "tcp_tlp_probes", k->tlp_probes }, { "tcp_out_of_order_in", k->out_of_order_in },
        { "tcp_reassembly_drops", k->reassembly_drops },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        add_counter(out, row[i].name, row[i].value);
    out->retransmitted_packets += k->retransmitted_segments;
    out->timeouts += k->timeouts;
    out->reassembly_drops += k->reassembly_drops;
    if (k->reassembly_peak_bytes > out->reassembly_peak_bytes)
        out->reassembly_peak_bytes = k->reassembly_peak_bytes;
}

static void take_counters(const struct run *r, struct result *out)
{
    for (const struct net_conn *c = r->net.conns; c; c = c->next)
        for (int e = 0; e < 2; e++) {
            if (c->sock[e])
                add_tcp(out, tcp_socket_conn(c->sock[e]));
            if (!c->qp[e])
                continue;
            if (r->net.transport->kind == SCENARIO_IWARP) {
                add_tcp(out, iwarp_qp_tcp(c->qp[e]));
                out->placed_early += iwarp_qp_stats(c->qp[e])->fpdus_early;
                continue;
            }
            const struct rnic_counters *k = rnic_qp_counters(c->qp[e]);
#define X(n) add_counter(out, #n, k->n);
            RNIC_COUNTERS(X)
#undef X
            out->retransmitted_packets += k->retransmitted_packets;
            out->timeouts += k->local_ack_timeout_err;
            out->cnps += k->np_cnp_sent;
        }
}

/* What NICs with contexts, kept payload or a limit have to tell. */
static void take_nics(const struct net *n, struct result *out)
{
    for (uint32_t i = 0; i < n->nhosts; i++) {
        const struct host_stats *s = host_stats(n->hosts[i].host);
        const struct host_params *p = host_params(n->hosts[i].host);
        if (p->contexts > 0) {
            add_counter(out, "context_hits", s->context_hits);
            add_counter(out, "context_misses", s->context_misses);
        }
        if (p->translations > 0) {
            add_counter(out, "translation_hits", s->translation_hits);
            add_counter(out, "translation_misses", s->translation_misses);
        }
        if (p->dma_read_ps > 0)
            add_counter(out, "dma_refetches", s->refetches);
        if (p->reassembly_memory != HOST_REASSEMBLY_NONE)
            add_counter(out, "kept_bytes", s->kept_bytes);
        if (p->max_connections > 0) {
            add_counter(out, "connections_refused", s->refused_connections);
            add_counter(out, "connections_in_software", s->software_connections);
        }
    }
}

static int take_hosts(const struct run *r, struct result *out)
{
    const struct net *n = &r->net;
    take_nics(n, out);
    out->hosts = calloc(n->nhosts, sizeof *out->hosts);
    if (!out->hosts)
        return snprintf(r->err, r->errlen, "out of memory for %u hosts", n->nhosts), SIM_ERR_NOMEM;
    out->nhosts = n->nhosts;
    for (uint32_t i = 0; i < n->nhosts; i++)
        out->hosts[i] = (struct result_host){ i, host_cpu_busy_ps(n->hosts[i].host) };
    for (uint32_t node = 0; node < fabric_nodes(n->fabric); node++)
        for (uint32_t k = 0; k < fabric_ports(n->fabric, node); k++)
            for (unsigned prio = 0; prio < PORT_PRIOS; prio++)
                out->paused_ps += port_paused_ps(fabric_port(n->fabric, node, k), prio);
    return SIM_OK;
}

static void take_classes(const struct run *r, struct result *out)
{
    struct fabric_class_peak peak[PORT_PRIOS];
    fabric_class_peaks(r->net.fabric, peak);
    for (uint32_t prio = 0; prio < PORT_PRIOS; prio++) {
        const struct fabric_class_peak *p = &peak[prio];
        if (p->lossless)
            out->classes[out->nclasses++] = (struct result_class){ prio, p->peak_bytes, p->xoff_bytes, p->headroom_bytes, p->least_headroom_bytes, p->node, p->port };
    }
    fabric_shared_peak(r->net.fabric, &out->peak_shared_bytes, &out->shared_bytes);
}

/* A circle of pauses is an error of the fabric, told with its time and its first links. */
static void tell_deadlock(const struct run *r, struct result *out)
{
    const struct fabric_deadlock *d = fabric_deadlock(r->net.fabric);
    add_counter(out, "pfc_deadlock_queues", d->at_ps >= 0 ? d->queues : 0);
    if (d->at_ps < 0)
        return;
    int n = snprintf(out->deadlock, sizeof out->deadlock, "since %.3f us, %u queues of priority %u:", (double)(d->at_ps - r->start_ps) * 1e-6, d->length,
                     d->queue[0].prio);
    for (uint32_t i = 0; i < d->length && i < FABRIC_CYCLE_MAX && (size_t)n < sizeof out->deadlock - 40; i++)
        n += snprintf(out->deadlock + n, sizeof out->deadlock - (size_t)n, " switch%u ->", d->queue[i].node - r->net.nhosts);
    bool whole = d->length <= FABRIC_CYCLE_MAX && (size_t)n < sizeof out->deadlock - 40;
    snprintf(out->deadlock + n, sizeof out->deadlock - (size_t)n, "%s switch%u", whole ? "" : " ... ->", d->queue[0].node - r->net.nhosts);
}

static void take_fabric(const struct run *r, struct result *out)
{
    const struct fabric_audit *a = fabric_audit(r->net.fabric);
    struct fabric_queue_peak peak;
    struct switch_params sw;
    out->ndrops = FABRIC_DROP_CAUSE_COUNT;
    for (int c = 0; c < FABRIC_DROP_CAUSE_COUNT; c++) {
        snprintf(out->drops[c].cause, sizeof out->drops[c].cause, "%s", fabric_drop_name[c]);
        for (int p = 0; p < PORT_PRIOS; p++) {
            out->drops[c].packets += a->dropped[c][p];
            out->drops[c].bytes += a->dropped_bytes[c][p];
        }
    }
    out->pause_frames = a->pause_frames;
    out->ecn_marks = a->marks;
    out->packet_hops = a->packet_hops;
    for (int l = 0; l < FABRIC_LIMIT_COUNT; l++) {
        char name[40];
        snprintf(name, sizeof name, "buffer_refused_%s", fabric_limit_name[l]);
        add_counter(out, name, a->refused[l]);
    }
    add_counter(out, "pfc_watchdog_storms", a->storms);
    tell_deadlock(r, out);
    fabric_queue_peaks(r->net.fabric, &peak);
    scenario_switch_for(&r->sc->fabrics[r->v->fabric], r->net.transport, &sw);
    out->peak_queue_bytes = peak.peak_queue_bytes;
    out->peak_buffer_bytes = peak.peak_buffer_bytes;
    out->buffer_bytes = peak.buffer_bytes;
    out->least_headroom_bytes = peak.least_headroom_bytes;
    out->headroom_bytes = peak.headroom_bytes;
    out->xoff_bytes = peak.xoff_bytes;
    take_classes(r, out);
    out->lossless_drops = a->lossless_buffer_drops;
    out->headroom_short_bytes = a->headroom_short_bytes;
    out->lossless = sw.pfc && (sw.lossless_prios >> r->net.transport->params->prio & 1);
    out->queue_limit_bytes = out->lossless ? 0 : (uint64_t)sw.queue_limit_bytes;
    /* Drops in a lossless class are what the audit looks at last: with them alone the books are right. */
    if (!fabric_audit_check(r->net.fabric, out->audit, sizeof out->audit) && r->sc->expect_lossless_drops && strstr(out->audit, "drops in a lossless class"))
        snprintf(out->audit, sizeof out->audit, "ok");
}

static int take_stock(struct run *r, struct result *out)
{
    snprintf(out->scenario, sizeof out->scenario, "%s", r->sc->name);
    snprintf(out->transport, sizeof out->transport, "%s", r->net.transport->name);
    snprintf(out->fabric, sizeof out->fabric, "%s", r->sc->fabrics[r->v->fabric].name);
    scenario_variant_name(r->sc, r->v, out->name, sizeof out->name);
    engine_describe(r->opt->engine, out->engine, sizeof out->engine);
    out->load = r->v->load;
    out->seed = r->v->seed;
    out->end_ps = sim_now(r->net.sim) - r->start_ps;
    out->events = sim_events_run(r->net.sim);
    out->digest = sim_digest(r->net.sim);
    out->expected_failures = r->sc->expect_failures;
    wl_finish(r->wl);
    int rc = take_messages(r, out);
    if (rc != SIM_OK)
        return rc;
    take_counters(r, out);
    take_fabric(r, out);
    out->wire_bytes = wire_bytes(&r->net) - r->setup_wire;
    out->queue = r->queue;
    out->nqueue = r->nqueue;
    r->queue = NULL;
    out->flows = r->flows.row;
    out->nflows = r->flows.n;
    r->flows.row = NULL;
    rc = take_hosts(r, out);
    return rc == SIM_OK ? run_ideal_fill(&r->net, r->sc, r->v, r->sc->measure->self_slowdown != 0, out, r->err, r->errlen) : rc;
}

/* --- the whole --- */

static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static int run_opened(struct run *r, struct result *out)
{
    struct capture *cap = NULL;
    struct timespec t0, t1;
    struct run_memory *mem = r->opt->memory;
    size_t before = heap_bytes();
    int rc = open_workload(r);
    if (rc != SIM_OK)
        return rc;
    r->net.max_message_bytes = wl_max_bytes(r->wl);
    if (r->opt->pcap_path && !(cap = capture_open(r->net.fabric, r->opt->pcap_path, r->opt->pcap_nodes, r->opt->npcap_nodes, r->err, r->errlen)))
        return SIM_ERR_PARAM;
    fabric_through_bytes(r->net.fabric, r->opt->through_bytes);
    rc = set_up(r);
    if (mem)
        *mem = (struct run_memory){ .conns = r->net.nconns, .conn_bytes = heap_bytes() - before, .hosts = r->net.nhosts, .net_bytes = r->net_bytes,
                                    .packet_bytes = sim_packets(r->net.sim)->object_bytes };
    before = heap_bytes();
    clock_gettime(CLOCK_MONOTONIC, &t0);
    if (rc == SIM_OK)
        rc = let_go(r);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    if (mem)
        mem->grown_bytes = heap_bytes() > before ? heap_bytes() - before : 0;
    size_t heap_now = heap_bytes();
    if (rc == SIM_OK && r->stopped)
        rc = RUN_STOPPED;
    if (capture_close(cap, rc == SIM_OK, r->err, r->errlen) != 0 && rc == SIM_OK)
        rc = SIM_ERR_PARAM;
    if (rc == SIM_OK)
        rc = take_stock(r, out);
    out->memory_bytes = heap_now > r->heap_before ? heap_now - r->heap_before : 0;
    out->nodes = fabric_nodes(r->net.fabric);
    out->wall_s = (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) * 1e-9;
    return rc;
}

int run_variant(const struct scenario *sc, const struct variant *v, const struct run_options *options, struct result *out, char *err, size_t errlen)
{
    struct run r = { .sc = sc, .v = v, .opt = options, .err = err, .errlen = errlen };
    memset(out, 0, sizeof *out);
    size_t before = r.heap_before = heap_bytes();
    int rc = net_open(&r.net, sc, v, NET_AS_IS, err, errlen);
    if (rc != SIM_OK)
        return rc;
    r.net_bytes = heap_bytes() - before;
    rc = run_opened(&r, out);
    wl_free(r.wl);
    net_close(&r.net);
    free(r.queue);
    run_flows_fini(&r.flows);
    if (rc != SIM_OK)
        result_fini(out);
    return rc;
}

int run_check(const struct scenario *sc, char *err, size_t errlen)
{
    for (size_t i = 0; i < sc->nvariants; i++) {
        const struct variant *v = &sc->variants[i];
        /* Seeds change nothing that is checked. */
        if (i > 0 && v->transport == sc->variants[i - 1].transport && v->fabric == sc->variants[i - 1].fabric && v->load == sc->variants[i - 1].load)
            continue;
        struct run_options none = { .engine = RUN_NATIVE };
        struct run r = { .sc = sc, .v = v, .opt = &none, .err = err, .errlen = errlen };
        int rc = net_open(&r.net, sc, v, NET_AS_IS, err, errlen);
        if (rc != SIM_OK)
            return rc;
        rc = open_workload(&r);
        wl_free(r.wl);
        net_close(&r.net);
        if (rc != SIM_OK)
            return rc;
    }
    return SIM_OK;
}
