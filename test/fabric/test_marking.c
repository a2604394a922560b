/* SPDX-License-Identifier: GPL-2.0-only */
/* What a switch writes into packets, or drops before its buffer is full: RED's curve, WRED, PIE, CoDel, phantom queues, telemetry. */
#include "net.h"

#include "../../model/wire/telemetry.h"

#define US SIM_PS_PER_US
#define FRAME 1086
#define WIRE (FRAME + 20)
#define RATE 100000000000
#define BATCH 64

enum { LOST, CAME, MARKED };
static int fate[BATCH];

static void note_fate(struct raw *r, struct pkt *p)
{
    (void)r;
    fate[p->roce.psn % BATCH] = p->ecn == 3 ? MARKED : CAME;
}

static void stop(struct net *n, bool stop)
{
    const uint16_t q[8] = { [3] = stop ? 65535 : 0 };
    port_send_pfc(fabric_port(n->f, 1, 0), 1 << 3, q);
}

/* The receiver holds the switch's port while a batch comes in, then lets it go: packet i of a batch meets i frames. */
static void batch(struct net *n, int64_t idle_ps)
{
    memset(fate, 0, sizeof fate);
    stop(n, true);
    sim_run(n->s, sim_now(n->s) + 4 * US);
    for (int i = 0; i < BATCH; i++)
        net_post(&n->raw[2]);
    sim_run(n->s, sim_now(n->s) + 8 * US);
    stop(n, false);
    sim_run(n->s, sim_now(n->s) + 10 * US + idle_ps);
}

/* --- RED --- */

struct curve { const char *what; int64_t kmin, kmax; double pmax; int at; double weight; bool wred; };

static double chance(const struct curve *c, double q)
{
    return q <= (double)c->kmin ? 0 : q > (double)c->kmax ? 1 : c->pmax * (q - (double)c->kmin) / (double)(c->kmax - c->kmin);
}

/* Trials and hits by the queue that was looked at. */
struct bins { uint64_t trials[BATCH], hits[BATCH]; double q[BATCH]; };

/* The length that RED looks at for each packet of a batch: what it meets, or leaves behind; or the average of what it and those before it met
 * (Floyd and Jacobson 1993, equation 2), which has decayed to nothing since the last batch. */
static void count_batch(const struct curve *c, struct bins *b)
{
    double average = 0;
    int held = 0;
    for (int i = 0; i < BATCH; i++) {
        int k = c->at == SWITCH_ECN_DEQUEUE ? BATCH - 1 - i : c->wred ? held : i;
        average += c->weight * ((double)(held * FRAME) - average);
        b->q[k] = c->weight < 1 ? floor(average) : (double)(k * FRAME);
        b->trials[k]++;
        b->hits[k] += fate[i] == (c->wred ? LOST : MARKED);
        held += fate[i] != LOST;
    }
}

static void check_curve(const struct curve *c, const struct bins *b)
{
    double chi = 0, degrees = 0;
    for (int k = 0; k < BATCH; k++) {
        double n = (double)b->trials[k], hits = (double)b->hits[k], p = chance(c, b->q[k]);
        if ((p == 0 && hits > 0) || (p >= 1 && hits < n))
            fail_msg("%s: %.0f of %.0f at a queue of %.0f B", c->what, hits, n, b->q[k]);
        if (n * p * (1 - p) < 5)
            continue;
        chi += (hits - n * p) * (hits - n * p) / (n * p * (1 - p));
        degrees++;
    }
    /* one in a thousand on either side */
    if (degrees < 10 || chi > net_chi_square(degrees, 3.09) || chi < net_chi_square(degrees, -3.09))
        fail_msg("%s: chi-square %.1f of %.0f degrees", c->what, chi, degrees);
}

static void marks_follow_the_curve(void **state)
{
    static const struct curve t[] = {
        { "marks at enqueue", 5000, 60000, 0.2, SWITCH_ECN_ENQUEUE, 1, false },
        { "marks at enqueue, up to 1", 10 * FRAME, 40 * FRAME, 1, SWITCH_ECN_ENQUEUE, 1, false },
        { "marks at dequeue", 20000, 50000, 0.5, SWITCH_ECN_DEQUEUE, 1, false },
        { "marks by the average", 2000, 30000, 0.4, SWITCH_ECN_ENQUEUE, 0.05, false },
        { "WRED", 8000, 64000, 0.3, SWITCH_ECN_ENQUEUE, 1, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        const struct curve *c = &t[i];
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        struct bins b = { .trials = { 0 } };
        sw.ecn = 1;
        sw.ecn_at = c->at;
        sw.ecn_kmin_bytes = sw.wred_kmin_bytes = c->kmin;
        sw.ecn_kmax_bytes = sw.wred_kmax_bytes = c->kmax;
        sw.ecn_pmax = sw.wred_pmax = c->pmax;
        sw.aqm.ecn_weight = c->weight;
        sw.non_ect = c->wred ? SWITCH_NON_ECT_WRED : SWITCH_NON_ECT_TAIL;
        struct net *n = net_star(3, &link, &sw, NULL);
        n->raw[1].on_arrive = note_fate;
        n->raw[2].ecn = c->wred ? 0 : 2;
        for (int k = 0; k < 3000; k++) {
            batch(n, c->weight < 1 ? 100 * US : 0);
            count_batch(c, &b);
        }
        check_curve(c, &b);
        uint64_t hits = 0;
        for (int k = 0; k < BATCH; k++)
            hits += b.hits[k];
        assert_int_equal(hits, c->wred ? fabric_audit(n->f)->dropped[FABRIC_DROP_AQM][3] : fabric_audit(n->f)->marks);
        net_free(n);
    }
}

/* A marking queue has a shorter tail for what is not ECN-capable; what is goes on; queues that do not mark have none. */
static void not_capable_is_dropped_earlier(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        sw.ecn = 1;
        sw.ecn_prios = k == 2 ? 0xf7 : 0xff;
        sw.ecn_kmin_bytes = 1000000;
        sw.ecn_kmax_bytes = 2000000;
        sw.non_ect_limit_bytes = 20 * FRAME;
        struct net *n = net_star(3, &link, &sw, NULL);
        n->raw[1].on_arrive = note_fate;
        n->raw[2].ecn = k == 1 ? 2 : 0;
        batch(n, 0);
        for (int i = 0; i < BATCH; i++)
            assert_int_equal(fate[i], k == 0 && i >= 20 ? LOST : CAME);
        net_free(n);
    }
}

/* --- PIE --- */

struct drops { int64_t at_ps[64], first_mark_ps; uint64_t n; };
static void watch_drops(void *ctx, const struct sim_trace *t)
{
    struct drops *d = ctx;
    if (t->point == SIM_TRACE_MARK && !d->first_mark_ps)
        d->first_mark_ps = t->now_ps;
    if (t->point != SIM_TRACE_DROP || t->a != FABRIC_DROP_AQM)
        return;
    if (d->n < 64)
        d->at_ps[d->n] = t->now_ps;
    d->n++;
}

static double delay_sum;
static int64_t measure_from_ps;
static uint64_t delays;
static void note_delay(struct raw *r, struct pkt *p)
{
    int64_t made_ps = (int64_t)p->chunk[0].u.pattern.seed;
    if (sim_now(r->net->s) < measure_from_ps)
        return;
    delay_sum += (double)(sim_now(r->net->s) - made_ps);
    delays++;
}

/* Two senders of 62.5 Gb/s each that heed nothing, into 100 Gb/s. */
static struct net *overload(const struct switch_params *sw, unsigned ecn, int64_t until_ps)
{
    struct link_params link = net_cable(), slower = link;
    slower.rate_bps = RATE / 8 * 5;
    struct net *n = net_new(4, 1, 3, NULL);
    uint32_t s = fabric_add_switch(n->f, sw);
    for (uint32_t i = 0; i < 4; i++)
        net_link(n, i, s, i < 2 ? &link : &slower);
    net_finish(n);
    for (uint32_t i = 2; i < 4; i++) {
        n->raw[i].ecn = (uint8_t)ecn;
        net_greedy(&n->raw[i], 1, until_ps);
    }
    return n;
}

static struct switch_params pie(void)
{
    struct switch_params sw = net_switch();
    sw.buffer_bytes = 200000000;
    sw.queue_limit_bytes = 100000000;
    sw.aqm.kind = SWITCH_AQM_PIE;
    sw.aqm.target_ps = 30 * US;
    sw.aqm.pie_update_ps = 30 * US;
    sw.aqm.pie_alpha = 0.125 * 15000 / 30; /* the gains of RFC 8033 4.2 for a target so much shorter */
    sw.aqm.pie_beta = 1.25 * 15000 / 30;
    sw.aqm.pie_burst_ps = 900 * US;
    return sw;
}

/* The integral term moves until the delay is at its target: under a constant overload the queue rests there, and what is over is dropped (RFC 8033
 * 4.2). Nothing is dropped in the burst allowance before (4.4). */
static void pie_rests_at_its_target(void **state)
{
    (void)state;
    struct switch_params sw = pie();
    struct drops d = { .n = 0 };
    struct net *n = overload(&sw, 0, 60 * SIM_PS_PER_MS);
    delay_sum = 0;
    delays = 0;
    measure_from_ps = 30 * SIM_PS_PER_MS;
    n->raw[1].on_arrive = note_delay;
    sim_trace_set(n->s, watch_drops, &d);
    sim_run(n->s, measure_from_ps);
    uint64_t before = d.n, sent = n->raw[2].sent + n->raw[3].sent;
    sim_run(n->s, 60 * SIM_PS_PER_MS);
    double share = (double)(d.n - before) / (double)(n->raw[2].sent + n->raw[3].sent - sent);
    double unloaded = (double)(FRAME + 8) * (80 + 128) + 2e6, wait_us = (delay_sum / (double)delays - unloaded) / 1e6;
    if (fabs(share - 0.2) > 0.002 || fabs(wait_us / 30 - 1) > 0.05)
        fail_msg("%.4f dropped, delay %.2f us", share, wait_us);
    assert_true(d.at_ps[0] >= 900 * US && d.at_ps[0] < 3 * SIM_PS_PER_MS);
    assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_BUFFER][3], 0);
    sim_run(n->s, SIM_NEVER_PS);
    net_free(n);
}

/* ECN-capable packets are marked while the probability is at most mark-limit, and dropped above it (RFC 8033 5.1). */
static void pie_marks_first(void **state)
{
    (void)state;
    for (int always = 0; always < 2; always++) {
        struct switch_params sw = pie();
        struct drops d = { .n = 0 };
        sw.aqm.mark_limit = always ? 1 : 0.1;
        struct net *n = overload(&sw, 2, 20 * SIM_PS_PER_MS);
        sim_trace_set(n->s, watch_drops, &d);
        sim_run(n->s, 20 * SIM_PS_PER_MS);
        assert_true(d.first_mark_ps >= 900 * US && fabric_audit(n->f)->marks > 100);
        if (always)
            assert_int_equal(d.n, 0);
        else
            assert_true(d.n > 100 && d.at_ps[0] > d.first_mark_ps + 30 * US);
        sim_run(n->s, SIM_NEVER_PS);
        net_free(n);
    }
}

/* --- CoDel --- */

/* Under a constant overload: the sojourn time of what leaves at t is t (1 - 1 / 1.25), which reaches the target at a known time; the first drop comes
 * an interval later, each further one interval / sqrt(count) after the last (RFC 8289 3.3, 5.4). */
static void codel_keeps_its_control_law(void **state)
{
    (void)state;
    struct switch_params sw = net_switch();
    const int64_t target_ps = 10 * US, interval_ps = 200 * US;
    struct drops d = { .n = 0 };
    sw.buffer_bytes = 200000000;
    sw.queue_limit_bytes = 100000000;
    sw.aqm.kind = SWITCH_AQM_CODEL;
    sw.aqm.target_ps = target_ps;
    sw.aqm.interval_ps = interval_ps;
    struct net *n = overload(&sw, 0, 3 * SIM_PS_PER_MS);
    sim_trace_set(n->s, watch_drops, &d);
    sim_run(n->s, 3 * SIM_PS_PER_MS);
    assert_true(d.n > 20);
    double t = 1e6 + (FRAME + 8) * 128 + 5 * (double)target_ps + (double)interval_ps; /* the first packet's arrival, then the queue's growth */
    for (unsigned k = 0; k < 20; k++) {
        if (fabs((double)d.at_ps[k] - t) > (k ? 0.1e6 : 1e6)) /* a departure is the next of the link's; the first also a target's grain */
            fail_msg("drop %u at %.3f us, %.3f expected", k + 1, (double)d.at_ps[k] / 1e6, t / 1e6);
        if (k == 0)
            t = (double)d.at_ps[0];
        t += (double)interval_ps / sqrt(k + 1);
    }
    sim_run(n->s, SIM_NEVER_PS);
    net_free(n);
}

/* A burst that is gone within an interval costs nothing, nor does a load that the link carries; ECN-capable packets are marked instead. */
static void codel_lets_bursts_pass(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct switch_params sw = net_switch();
        sw.buffer_bytes = 200000000;
        sw.queue_limit_bytes = 100000000;
        sw.aqm.kind = SWITCH_AQM_CODEL;
        sw.aqm.target_ps = 10 * US;
        sw.aqm.interval_ps = 200 * US;
        struct net *n = overload(&sw, k == 2 ? 2 : 0, k == 2 ? 2 * SIM_PS_PER_MS : 150 * US);
        if (k == 1) {
            n->raw[3].stop_ps = 0;
            n->raw[2].stop_ps = 5 * SIM_PS_PER_MS;
        }
        sim_run(n->s, SIM_NEVER_PS);
        assert_int_equal(fabric_audit(n->f)->dropped[FABRIC_DROP_AQM][3], 0);
        assert_int_equal(fabric_audit(n->f)->marks > 5, k == 2);
        assert_int_equal(n->raw[1].got, n->raw[2].sent + n->raw[3].sent);
        net_free(n);
    }
}

/* --- phantom queue --- */

static uint64_t first_marked, marked_after;
static void note_marked(struct raw *r, struct pkt *p)
{
    (void)r;
    if (p->ecn == 3 && first_marked == UINT64_MAX)
        first_marked = p->roce.psn;
    marked_after += p->ecn == 3;
}

/* HULL (NSDI'12): a counter that fills by what is sent and drains at 0.95 of the rate. A full link adds 5 % of each packet, so the packet that is marked
 * first is known; a link at 94 % is never marked, though the real queue is as empty. */
static void phantom_queue_marks_a_full_link(void **state)
{
    (void)state;
    const int64_t threshold = 6000;
    for (int full = 0; full < 2; full++) {
        struct link_params link = net_cable(), in = link;
        struct switch_params sw = net_switch();
        in.rate_bps = full ? RATE : RATE / 100 * 94;
        sw.aqm.phantom_threshold_bytes = threshold;
        sw.aqm.phantom_drain = 0.95;
        struct net *n = net_new(3, 1, 3, NULL);
        uint32_t s = fabric_add_switch(n->f, &sw);
        for (uint32_t i = 0; i < 3; i++)
            net_link(n, i, s, i < 2 ? &link : &in);
        net_finish(n);
        first_marked = UINT64_MAX;
        marked_after = 0;
        n->raw[1].on_arrive = note_marked;
        net_greedy(&n->raw[2], 1, 500 * US);
        sim_run(n->s, SIM_NEVER_PS);
        if (full) {
            uint64_t first = 0;
            for (double v = WIRE; v <= (double)threshold; v += 0.05 * WIRE)
                first++;
            assert_in_range(first_marked, first - 1, first + 1);
            assert_int_equal(marked_after, n->raw[2].sent - first_marked);
        } else {
            assert_int_equal(marked_after, 0);
        }
        net_free(n);
    }
}

/* --- telemetry --- */

#define HOPS 3
static void within(double got, double want, double tolerance)
{
    if (fabs(got - want) > tolerance)
        fail_msg("%.0f, %.0f expected", got, want);
}

static void note_words(struct raw *r, struct pkt *p)
{
    struct telemetry_hop first = telemetry_read(p->telemetry.hop[0]), h;
    uint64_t i = p->roce.psn % BATCH, frame = p->frame_len;
    int64_t slot_ps = port_wire_time_ps(p->frame_len, RATE), arrived_ps = sim_now(r->net->s);
    assert_int_equal(p->telemetry.nhops, HOPS);
    assert_int_equal(p->telemetry.path_id, (r->net->hosts + 1) ^ (r->net->hosts + 2) ^ (r->net->hosts + 3));
    /* The first port held them all: behind packet i stay the rest, and it has sent i frames. */
    assert_true(first.rate_bps == RATE);
    within((double)first.queue_bytes, (double)((BATCH - 1 - i) * frame), TELEMETRY_QUEUE_UNIT);
    within((double)first.tx_bytes, (double)(i * (frame + 20)), TELEMETRY_TX_UNIT);
    for (unsigned k = 0; k < HOPS; k++) {
        h = telemetry_read(p->telemetry.hop[k]);
        if (k)
            assert_int_equal(h.queue_bytes, 0); /* equal links: no queue */
        /* From that port's first bit: the frame and 1 us of cable for each link on. */
        within((double)h.ts_ns, (double)(arrived_ps - (HOPS - k) * (slot_ps - 12 * 80 + US)) / 1e3, 1);
    }
}

static void telemetry_tells_port_queue_bytes_and_time(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    struct net *n = net_new(2, HOPS, 3, NULL);
    for (uint32_t k = 0; k < HOPS; k++)
        fabric_add_switch(n->f, &sw);
    net_link(n, 0, 2, &link);
    for (uint32_t k = 2; k + 1 < 2 + HOPS; k++)
        net_link(n, k, k + 1, &link);
    net_link(n, 1 + HOPS, 1, &link);
    net_finish(n);
    const uint16_t hold[8] = { [3] = 65535 }, go[8] = { 0 };
    port_send_pfc(fabric_port(n->f, 3, 0), 8, hold); /* the second switch holds the first */
    sim_run(n->s, 4 * US);
    n->raw[0].telemetry = true;
    n->raw[0].dst = 1;
    n->raw[1].on_arrive = note_words;
    for (int i = 0; i < BATCH; i++)
        net_post(&n->raw[0]);
    sim_run(n->s, 20 * US);
    port_send_pfc(fabric_port(n->f, 3, 0), 8, go);
    sim_run(n->s, SIM_NEVER_PS);
    assert_int_equal(n->raw[1].got, BATCH);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_follow_the_curve), cmocka_unit_test(not_capable_is_dropped_earlier), cmocka_unit_test(pie_rests_at_its_target),
        cmocka_unit_test(pie_marks_first), cmocka_unit_test(codel_keeps_its_control_law), cmocka_unit_test(codel_lets_bursts_pass),
        cmocka_unit_test(phantom_queue_marks_a_full_link), cmocka_unit_test(telemetry_tells_port_queue_bytes_and_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
