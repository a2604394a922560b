/* SPDX-License-Identifier: GPL-2.0-only */
/* RoCE QPs in hosts on a fabric: latency to the picosecond, loss, traces. */
#include "star.h"
#include "../../model/cc/dcqcn_params.h"

extern const struct cc_ops cc_dcqcn;

/* Host, switch, host at 100 Gb/s and 1 us a link: WRITE ONLY of 1024 B (1102 B with FCS), ACK 66 B, 8 B of preamble each. */
static void unloaded_write_is_exact(void **state)
{
    (void)state;
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct host_params hp;
    star_defaults(&link, &sp, &rp, &hp);
    for (int through_bytes = 0; through_bytes < 2; through_bytes++) {
        struct star *s = star_new(2, &link, &sp, &hp);
        fabric_through_bytes(s->fabric, through_bytes);
        struct rnic_qp *qp = star_connect(s, 0, 1, &rp, NULL, NULL, NULL);
        star_write(s, qp, 0, 1, 1024, 1);
        sim_run(s->sim, SIM_PS_PER_S);
        assert_int_equal(s->completions, 1);
        assert_int_equal(s->completed_ps, 4189440);
        star_free(s);
    }
}

/* --- many QPs over links that lose --- */

struct outcome { uint64_t digest, hops, retx, timeouts, naks, cnps; int64_t end_ps; };

static void read_or_write(struct star *s, uint32_t from, uint32_t to, struct rnic_qp *qp, uint64_t i)
{
    struct rnic_send_wr wr = { .wr_id = i, .op = i % 3 ? RNIC_OP_WRITE : RNIC_OP_READ, .flags = RNIC_SEND_SIGNALED,
        .sge = { VA, (uint32_t)(i * 7919 % 70000), rnic_mr_key(s->mr[from]) }, .remote_va = VA, .rkey = rnic_mr_key(s->mr[to]) };
    assert_int_equal(rnic_post_send(qp, &wr), SIM_OK);
}

static struct outcome all_to_all(double loss, bool through_bytes, bool separate_control)
{
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct host_params hp;
    star_defaults(&link, &sp, &rp, &hp);
    link.loss = loss;
    sp.ecn = 1;
    rp.local_ack_timeout = 6;
    if (separate_control) {
        hp.separate_control = 1;
        rp.control_prio = 6;
        rp.control_dscp = 48;
    }
    struct star *s = star_new(5, &link, &sp, &hp);
    fabric_through_bytes(s->fabric, through_bytes);
    struct rnic_qp *qp[40];
    uint32_t n = 0, posted = 0;
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 5; b++)
            if (a != b) {
                qp[n] = star_connect(s, a, b, &rp, &cc_dcqcn, NULL, &qp[n + 1]);
                for (uint32_t i = 0; i < 30; i++, posted++)
                    read_or_write(s, a, b, qp[n], 100 * n + i);
                n += 2;
            }
    sim_run(s->sim, 2 * SIM_PS_PER_S);
    assert_int_equal(s->completions, posted);
    char why[200];
    assert_true(fabric_audit_check(s->fabric, why, sizeof why));
    struct outcome o = { .digest = sim_digest(s->sim), .hops = fabric_audit(s->fabric)->packet_hops, .end_ps = s->completed_ps };
    for (uint32_t i = 0; i < n; i++) {
        const struct rnic_counters *c = rnic_qp_counters(qp[i]);
        o.retx += c->retransmitted_packets;
        o.timeouts += c->local_ack_timeout_err;
        o.naks += c->naks_sent;
        o.cnps += c->np_cnp_sent;
    }
    const uint64_t *sent = fabric_audit(s->fabric)->sent;
    assert_int_equal(sent[6] > 0, separate_control);
    star_free(s);
    return o;
}

static void lossy_fabric_delivers_all(void **state)
{
    (void)state;
    struct outcome clean = all_to_all(0, false, false), a = all_to_all(1e-3, false, false), b = all_to_all(1e-3, false, false),
                   bytes = all_to_all(1e-3, true, false), apart = all_to_all(1e-3, false, true);
    print_message("clean %.1f us, %llu CNPs; lossy %.1f us: %llu retransmitted, %llu NAKs, %llu timeouts\n", (double)clean.end_ps / 1e6,
                  (unsigned long long)clean.cnps, (double)a.end_ps / 1e6, (unsigned long long)a.retx, (unsigned long long)a.naks, (unsigned long long)a.timeouts);
    assert_int_equal(clean.retx + clean.timeouts + clean.naks, 0);
    assert_true(a.retx > 0 && a.naks > 0);
    assert_memory_equal(&a, &b, sizeof a);     /* the same run twice */
    assert_memory_equal(&a, &bytes, sizeof a); /* and with each packet through its bytes at each hop */
    assert_true(apart.digest != a.digest);
}

/* --- traces --- */

struct seen { uint32_t rate, timeout, retransmit; uint64_t last_rate; };
static void watch_trace(void *ctx, const struct sim_trace *t)
{
    struct seen *w = ctx;
    w->rate += t->point == SIM_TRACE_RATE;
    w->timeout += t->point == SIM_TRACE_TIMEOUT;
    w->retransmit += t->point == SIM_TRACE_RETRANSMIT;
    if (t->point == SIM_TRACE_RATE)
        w->last_rate = t->a;
}
static bool lose_first_acks(void *ctx, const struct port *from, const struct pkt *p)
{
    (void)from;
    return p->roce.opcode == ROCE_ACK && (*(int *)ctx)-- > 0;
}

static void traces(void **state)
{
    (void)state;
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct host_params hp;
    star_defaults(&link, &sp, &rp, &hp);
    sp.ecn = 1;
    sp.ecn_kmin_bytes = 2000;
    sp.ecn_kmax_bytes = 3000;
    rp.local_ack_timeout = 6;
    rp.ack_packets = 0;
    struct star *s = star_new(3, &link, &sp, &hp);
    struct seen seen = { 0 };
    int lose = 1;
    sim_trace_set(s->sim, watch_trace, &seen);
    fabric_loss_set(s->fabric, lose_first_acks, &lose);
    for (uint32_t h = 0; h < 2; h++) {
        s->flow[h] = star_connect(s, h, 2, &rp, &cc_dcqcn, NULL, NULL);
        star_write(s, s->flow[h], h, 2, 40000, h);
    }
    sim_run(s->sim, 400 * SIM_PS_PER_US);
    assert_int_equal(s->completions, 2);
    const struct rnic_counters *a = rnic_qp_counters(s->flow[0]), *b = rnic_qp_counters(s->flow[1]);
    assert_int_equal(seen.timeout, 1);
    assert_int_equal(seen.retransmit, a->retransmitted_packets + b->retransmitted_packets);
    assert_true(seen.retransmit > 0);
    assert_true(seen.rate >= 2);
    star_free(s);
}

/* Loses the first copy of the frame that carries a PSN of host 0's flow, as its FCS would have it. */
struct corrupted { uint32_t psn, dqpn, times; };
static bool corrupt_once(void *ctx, const struct port *from, const struct pkt *p)
{
    struct corrupted *c = ctx;
    if (c->times || port_node(from) != 0 || p->kind != PKT_ROCE || p->roce.dqpn != c->dqpn || p->roce.psn != c->psn)
        return false;
    return ++c->times;
}

/* Three flows into one port under PFC, so that all are paused again and again; then the last packet of one of them is corrupted. No later packet tells the
 * responder of the hole and PFC does not repair it: a timeout must, though nothing is ever dropped for want of room. */
static void irn_finishes_under_pfc_when_its_last_packet_is_corrupted(void **state)
{
    (void)state;
    enum { PACKETS = 1000 };
    struct link_params link;
    struct switch_params sp;
    struct roce_params rp;
    struct host_params hp;
    star_defaults(&link, &sp, &rp, &hp);
    sp.pfc = 1;
    sp.pfc_xoff_bytes = 20000;
    rp.retry = ROCE_IRN_RETRY;
    for (int corrupt = 0; corrupt < 2; corrupt++) {
        struct star *s = star_new(4, &link, &sp, &hp);
        struct rnic_qp *peer = NULL;
        struct corrupted c = { .times = !corrupt };
        for (uint32_t h = 0; h < 3; h++) {
            s->flow[h] = star_connect(s, h, 3, &rp, NULL, NULL, h == 0 ? &peer : NULL);
            star_write(s, s->flow[h], h, 3, PACKETS * 1024, h);
        }
        c.dqpn = rnic_qp_num(peer);
        c.psn = (roce_qp_first_psn(s->flow[0]) + PACKETS - 1) & 0xffffff;
        fabric_loss_set(s->fabric, corrupt_once, &c);
        sim_run(s->sim, 50 * SIM_PS_PER_MS);
        const struct rnic_counters *k = rnic_qp_counters(s->flow[0]);
        assert_int_equal(s->completions, 3);
        assert_int_equal(c.times, 1);
        assert_true(port_stats(fabric_port(s->fabric, 0, 0))->rx_prio_pause[3] > 10);
        assert_int_equal(k->local_ack_timeout_err, corrupt);
        assert_int_equal(k->retransmitted_packets, corrupt);
        for (uint32_t h = 1; h < 3; h++)
            assert_int_equal(rnic_qp_counters(s->flow[h])->retransmitted_packets, 0);
        star_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(unloaded_write_is_exact), cmocka_unit_test(lossy_fabric_delivers_all),
        cmocka_unit_test(traces), cmocka_unit_test(irn_finishes_under_pfc_when_its_last_packet_is_corrupted) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
