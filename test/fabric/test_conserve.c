/* SPDX-License-Identifier: GPL-2.0-only */
/* Conservation, over random fabrics and workloads with failures in mid-run: the books balance at any moment and agree with what senders and receivers
 * count themselves; when all has drained, no switch holds a byte of its buffer; the same again gives the same digest. */
#include "net.h"

#include "../../model/fabric/switch_internal.h"

#define US SIM_PS_PER_US
#define SWITCHES_MAX 8

static double pick(struct sim_rng *r, double low, double high) { return low * pow(high / low, sim_rng_unit(r)); }
static bool one_in(struct sim_rng *r, uint32_t n) { return sim_rng_below(r, n) == 0; }

static const int64_t rates[] = { 10000000000, 25000000000, 40000000000, 100000000000 };

static struct link_params draw_link(struct sim_rng *r)
{
    struct link_params l = net_cable();
    l.rate_bps = rates[sim_rng_below(r, 4)];
    l.propagation_ps = (int64_t)pick(r, 1e3, 2e7);
    if (one_in(r, 4))
        l.loss = pick(r, 1e-4, 0.05);
    if (one_in(r, 6))
        l.loss_every = 2 + sim_rng_below(r, 500);
    if (one_in(r, 6)) {
        l.burst_begin = pick(r, 1e-4, 0.01);
        l.burst_end = pick(r, 0.01, 0.5);
        l.burst_loss = sim_rng_unit(r);
    }
    if (one_in(r, 4))
        l.ber = pick(r, 1e-8, 1e-5);
    return l;
}

static void draw_buffer(struct sim_rng *r, struct switch_params *sw)
{
    static const int64_t cell[] = { 1, 1, 80, 256 };
    sw->buffer_bytes = (int64_t)pick(r, 2e6, 2e7);
    sw->pfc = !one_in(r, 3);
    sw->lossless_prios = 1 + sim_rng_below(r, 255);
    sw->pfc_xoff_bytes = one_in(r, 2) ? 20000 + sim_rng_below(r, 100000) : 0;
    sw->pfc_xon_bytes = one_in(r, 4) && sw->pfc_xoff_bytes ? 10000 : 0;
    sw->pfc_xon_offset_bytes = sim_rng_below(r, 20000);
    sw->pause = one_in(r, 4);
    sw->pfc_ports = sim_rng_below(r, 3);
    sw->pfc_heed = !one_in(r, 8);
    sw->pfc_quanta = 2000 + sim_rng_below(r, 63000);
    sw->headroom_bytes = one_in(r, 3) ? 1 + sim_rng_below(r, 30000) : 0;
    sw->headroom_pool_bytes = one_in(r, 5) ? 20000 : 0;
    sw->reserved_bytes = one_in(r, 3) ? 0 : sim_rng_below(r, 5000);
    sw->port_reserved_bytes = one_in(r, 4) ? sim_rng_below(r, 5000) : 0;
    sw->queue_reserved_bytes = one_in(r, 4) ? sim_rng_below(r, 5000) : 0;
    sw->max_frame_bytes = 4200;
    sw->mtu_bytes = one_in(r, 6) ? 2000 : 0;
    sw->cell_bytes = cell[sim_rng_below(r, 4)];
    sw->alpha = pick(r, 0.1, 8);
    sw->queue_limit_bytes = one_in(r, 3) ? 5000 + sim_rng_below(r, 200000) : 0;
    sw->ingress_alpha = one_in(r, 4) ? pick(r, 0.05, 2) : 0;
    sw->lossless_queue_alpha = one_in(r, 5) ? pick(r, 0.05, 2) : 0;
}

static void draw_queues(struct sim_rng *r, struct switch_params *sw)
{
    sw->ecn = sim_rng_below(r, 2);
    sw->ecn_kmin_bytes = sw->wred_kmin_bytes = 1000 + sim_rng_below(r, 20000);
    sw->ecn_kmax_bytes = sw->wred_kmax_bytes = 30000 + sim_rng_below(r, 100000);
    sw->ecn_at = sim_rng_below(r, 2);
    sw->non_ect = sim_rng_below(r, 2);
    sw->non_ect_limit_bytes = one_in(r, 3) ? 20000 : 0;
    sw->scheduler = sim_rng_below(r, 2);
    sw->strict_prios = sim_rng_below(r, 256);
    sw->weight_3 = 1 + sim_rng_below(r, 10);
    sw->forwarding = one_in(r, 3) ? SWITCH_CUT_THROUGH : SWITCH_STORE_AND_FORWARD;
    sw->layer = one_in(r, 5);
    sw->pipeline_latency_ps = sim_rng_below(r, 500000);
    sw->telemetry = sim_rng_below(r, 2);
    sw->aqm.kind = one_in(r, 2) ? 0 : sim_rng_below(r, 3);
    sw->aqm.target_ps = 5 * US;
    sw->aqm.interval_ps = 50 * US;
    sw->aqm.pie_update_ps = 10 * US;
    sw->aqm.pie_burst_ps = 20 * US;
    sw->aqm.pie_alpha = 200;
    sw->aqm.pie_beta = 2000;
    sw->aqm.ecn_weight = one_in(r, 4) ? 0.01 : 1;
    sw->aqm.phantom_threshold_bytes = one_in(r, 5) ? 3000 : 0;
    sw->paths.balance = one_in(r, 2) ? 0 : sim_rng_below(r, 5);
    sw->paths.weights = sim_rng_below(r, 2);
    sw->paths.flowlet_gap_ps = 5 * US;
    if (one_in(r, 5))
        sw->shaper.rate_3_bps = (int64_t)pick(r, 1e9, 5e10);
    if (one_in(r, 2)) {
        sw->watchdog.detection_ps = (2 + sim_rng_below(r, 50)) * US;
        sw->watchdog.restoration_ps = (2 + sim_rng_below(r, 100)) * US;
        sw->watchdog.action = sim_rng_below(r, 2);
    }
    if (one_in(r, 6)) {
        sw->middlebox.delay_ps = sim_rng_below(r, 5000000);
        sw->middlebox.jitter_ps = sim_rng_below(r, 2000000);
        sw->middlebox.policy = one_in(r, 3);
    }
    if (one_in(r, 5))
        sw->remark_dscp[sim_rng_below(r, 8)] = (uint8_t)sim_rng_below(r, 64);
    sw->classes.trust = one_in(r, 3) ? sim_rng_below(r, 3) : 0;
}

/* A receiver that stops its switch for a while, all priorities. */
static void hold(struct sim *s, void *ctx, void *arg)
{
    uint16_t q[8];
    (void)arg;
    for (int i = 0; i < 8; i++)
        q[i] = (uint16_t)(sim_now(s) % 60000);
    port_send_pfc(ctx, 0xff, q);
}

struct drawn { struct net *n; uint32_t switches; int64_t stop_ps; };

/* NULL: this one is refused, with a reason. */
static struct net *draw_net(uint64_t seed, struct drawn *d)
{
    struct sim_rng r;
    struct fabric_params fp = net_fabric();
    char err[300] = "";
    sim_rng_init(&r, 71, seed, SIM_RNG_TEST);
    uint32_t hosts = 2 + sim_rng_below(&r, 12), switches = d->switches = 1 + sim_rng_below(&r, SWITCHES_MAX);
    fp.routing = sim_rng_below(&r, 2);
    fp.seeds = sim_rng_below(&r, 2);
    fp.reroute_ps = (1 + sim_rng_below(&r, 100)) * US;
    fp.encapsulation = sim_rng_below(&r, 3);
    struct net *n = d->n = net_new(hosts, switches, seed, &fp);
    for (uint32_t k = 0; k < switches; k++) {
        struct switch_params sw = net_switch();
        draw_buffer(&r, &sw);
        draw_queues(&r, &sw);
        fabric_add_switch(n->f, &sw);
    }
    for (uint32_t i = 0; i < hosts; i++) {
        struct link_params l = draw_link(&r);
        net_link(n, i, hosts + (i < switches ? i : sim_rng_below(&r, switches)), &l);
    }
    for (uint32_t k = 1; k < switches; k++) { /* a tree, and more */
        struct link_params l = draw_link(&r);
        net_link(n, hosts + k, hosts + sim_rng_below(&r, k), &l);
        if (one_in(&r, 2))
            net_link(n, hosts + k, hosts + sim_rng_below(&r, k), &l);
    }
    if (fabric_finish(n->f, err, sizeof err) != SIM_OK) {
        assert_true(strlen(err) > 10);
        return NULL;
    }
    net_attach(n);
    fabric_through_bytes(n->f, one_in(&r, 3));
    d->stop_ps = (20 + sim_rng_below(&r, 150)) * US;
    for (uint32_t i = 0; i < hosts; i++) {
        struct raw *h = &n->raw[i];
        h->dst = (i + 1 + sim_rng_below(&r, hosts - 1)) % hosts;
        h->prio = (uint8_t)sim_rng_below(&r, 8);
        h->dscp = (uint8_t)(h->prio * 8);
        h->ecn = (uint8_t)sim_rng_below(&r, 3);
        h->payload = 1 + sim_rng_below(&r, 4000);
        h->tcp = one_in(&r, 3);
        h->telemetry = !h->tcp && one_in(&r, 3);
        h->ttl = one_in(&r, 6) ? 2 : 64;
        if (one_in(&r, 3))
            for (int k = 0; k < 200; k++)
                net_post(h);
        else if (!one_in(&r, 6))
            net_greedy(h, h->dst, d->stop_ps);
    }
    for (uint32_t k = sim_rng_below(&r, 5); k > 0; k--) { /* failures; each link returns, as some do twice */
        uint32_t node = sim_rng_below(&r, hosts + switches), port = sim_rng_below(&r, fabric_ports(n->f, node));
        int64_t down_ps = 1 + (int64_t)(sim_rng_unit(&r) * (double)d->stop_ps);
        fabric_link_set_at(n->f, node, port, false, down_ps);
        fabric_link_set_at(n->f, node, port, true, down_ps + 1 + (int64_t)(sim_rng_unit(&r) * 1e8));
    }
    for (uint32_t k = sim_rng_below(&r, 4); k > 0; k--) {
        uint32_t host = sim_rng_below(&r, hosts);
        sim_at(n->s, sim_rng_below(&r, 100) * US + k, sim_key_node(host, SIM_KIND_WAKE, 2), hold, fabric_port(n->f, host, 0), NULL);
    }
    for (uint32_t k = sim_rng_below(&r, 3); k > 0; k--) {
        struct fabric_loss_rule rule = { .src = sim_rng_below(&r, hosts), .dst = FABRIC_ANY, .nth = one_in(&r, 2) ? 3 : 0, .every = 50, .until_ps = SIM_NEVER_PS,
                                         .kind = (enum fabric_loss_kind)sim_rng_below(&r, 3) };
        assert_int_equal(fabric_add_loss(n->f, &rule), SIM_OK);
    }
    return n;
}

struct books { uint64_t sent, got, lost, flight, by_cause[FABRIC_DROP_CAUSE_COUNT]; };

static struct books books(const struct net *n, uint64_t seed)
{
    const struct fabric_audit *a = fabric_audit(n->f);
    struct books b = { 0 };
    char text[300];
    if (!fabric_audit_check(n->f, text, sizeof text) && !strstr(text, "lossless"))
        fail_msg("network %llu at %.3f us: %s", (unsigned long long)seed, (double)sim_now(n->s) / 1e6, text);
    for (uint32_t i = 0; i < n->hosts; i++) {
        b.sent += n->raw[i].sent;
        b.got += n->raw[i].got;
    }
    uint64_t sent = 0, delivered = 0;
    for (unsigned c = 0; c < PORT_PRIOS; c++) {
        sent += a->sent[c];
        delivered += a->delivered[c];
        for (unsigned k = 0; k < FABRIC_DROP_CAUSE_COUNT; k++) {
            b.lost += a->dropped[k][c];
            b.by_cause[k] += a->dropped[k][c];
        }
    }
    if (sent != b.sent || delivered != b.got || b.got + b.lost > b.sent)
        fail_msg("network %llu: hosts sent %llu and got %llu, the books say %llu and %llu, and %llu lost", (unsigned long long)seed, (unsigned long long)b.sent,
                 (unsigned long long)b.got, (unsigned long long)sent, (unsigned long long)delivered, (unsigned long long)b.lost);
    uint64_t refused = 0, buffer = 0;
    for (unsigned k = 0; k < FABRIC_LIMIT_COUNT; k++)
        refused += a->refused[k];
    for (unsigned c = 0; c < PORT_PRIOS; c++)
        buffer += a->dropped[FABRIC_DROP_BUFFER][c];
    assert_int_equal(refused, buffer); /* each buffer drop names its limit */
    b.flight = b.sent - b.got - b.lost;
    return b;
}

/* Nothing waits: all shares of every buffer are back. */
static void switches_are_empty(const struct net *n, uint32_t switches, uint64_t seed)
{
    for (uint32_t k = 0; k < switches; k++) {
        const struct fabric_switch *sw = n->f->node[n->hosts + k].sw;
        uint64_t held = sw->used + sw->shared_used;
        for (uint32_t i = 0; i < sw->nports; i++) {
            const struct switch_port *p = &sw->port[i];
            held += p->extra ? p->extra->port_reserved : 0;
            for (unsigned prio = 0; prio < PORT_PRIOS; prio++) {
                held += p->queue[prio].bytes + p->queue[prio].packets + p->pg[prio].reserved + p->pg[prio].port + p->pg[prio].shared + p->pg[prio].headroom;
                held += p->extra ? p->extra->queue_reserved[prio] : 0;
                held += sw->headroom_used[prio];
            }
            if (p->port->xoff)
                fail_msg("network %llu, switch %u: port %u still pauses its sender, with an empty buffer", (unsigned long long)seed, k, i);
        }
        if (held)
            fail_msg("network %llu, switch %u: empty, but %llu B are charged", (unsigned long long)seed, k, (unsigned long long)held);
    }
}

/* Returns the digest; 0 when the network was refused. */
static uint64_t run_one(uint64_t seed, struct books *total, uint64_t *drained)
{
    struct drawn d;
    struct net *n = draw_net(seed, &d);
    if (!n) {
        net_free(d.n);
        return 0;
    }
    for (int k = 1; k <= 4; k++) {
        sim_run(n->s, d.stop_ps * k / 4);
        books(n, seed);
    }
    sim_run(n->s, d.stop_ps + 20 * SIM_PS_PER_MS);
    struct books b = books(n, seed);
    if (b.flight == 0 && n->waiting == 0)
        switches_are_empty(n, d.switches, seed);
    else if (fabric_deadlock(n->f)->at_ps < 0)
        fail_msg("network %llu: %llu packets in flight and %u waiting, and no circle of pauses", (unsigned long long)seed, (unsigned long long)b.flight, n->waiting);
    *drained += b.flight == 0;
    total->sent += b.sent;
    total->got += b.got;
    total->lost += b.lost;
    for (unsigned k = 0; k < FABRIC_DROP_CAUSE_COUNT; k++)
        total->by_cause[k] += b.by_cause[k];
    uint64_t digest = sim_digest(n->s);
    net_free(n);
    return digest;
}

static void books_balance(void **state)
{
    uint64_t networks = getenv("RNICSIM_TEST_LONG") ? 1000 : 100, built = 0, drained = 0;
    struct books total = { 0 };
    (void)state;
    for (uint64_t seed = 0; built < networks; seed++) {
        uint64_t digest = run_one(seed, &total, &drained);
        built += digest != 0;
        if (seed % 8 == 0 && run_one(seed, &total, &drained) != digest)
            fail_msg("network %llu: another digest when run again", (unsigned long long)seed);
        assert_true(seed < 4 * networks); /* most draws are possible */
    }
    assert_true(total.lost * 50 > total.sent && total.got * 4 > total.sent && drained * 10 > built * 9);
    for (unsigned k = 0; k < FABRIC_DROP_CAUSE_COUNT; k++) { /* every cause that a fabric has was met */
        bool transport = k == FABRIC_DROP_CHECKSUM || k == FABRIC_DROP_NIC_RX || k == FABRIC_DROP_REASSEMBLY || k == FABRIC_DROP_NO_ENDPOINT;
        if (!transport && total.by_cause[k] == 0)
            fail_msg("nothing was lost for the cause %s", fabric_drop_name[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(books_balance) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
