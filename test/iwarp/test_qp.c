/* SPDX-License-Identifier: GPL-2.0-only */
/* Two iWARP QPs back to back in virtual time: operations of all kinds and sizes, errors, and random operations over a bad wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/iwarp/iwarp_qp.h"
#include "../../model/rnic/qp.h"
#include "../../model/sim/rng.h"
#include "../../model/wire/codec.h"
#include "../../model/wire/iwarp.h"

#define VA UINT64_C(0x100000)
#define MEM (1u << 20)
#define AIR_MAX 8192
#define WC_MAX 4096

struct side {
    struct rnic_dev *dev;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_mr *mr;
    uint8_t *mem;
    struct rnic_wc wc[WC_MAX];
    uint32_t nwc;
    int status;                  /* of connecting; 1 until told */
    int64_t free_ps;
};

struct flying { int64_t at_ps; uint64_t order; int to; struct pkt p; };

struct pair {
    struct side s[2];
    struct iwarp_params par[2];
    struct tcp_params tcp;
    int64_t now;
    struct flying *air;
    size_t n;
    uint64_t order, segments;
    uint32_t largest_payload;
    bool bytes;                  /* each packet crosses as bytes */
    double loss, dup, late;
    struct sim_rng rng;
};

static void on_wc(void *ctx, const struct rnic_wc *wc)
{
    struct side *s = ctx;
    assert_true(s->nwc < WC_MAX);
    s->wc[s->nwc++] = *wc;
}

static void on_up(void *ctx, struct rnic_qp *qp, int status)
{
    (void)qp;
    ((struct side *)ctx)->status = status;
}

static struct iwarp_params iwarp_defaults(void)
{
    struct iwarp_params p;
    param_defaults(&iwarp_params_table, &p);
    return p;
}

static struct pair *pair_new(const struct iwarp_params *a, const struct iwarp_params *b, unsigned access)
{
    struct pair *w = calloc(1, sizeof *w);
    w->par[0] = *a;
    w->par[1] = *b;
    assert_int_equal(tcp_params_preset(&w->tcp, "toe"), SIM_OK);
    w->air = malloc(AIR_MAX * sizeof *w->air);
    sim_rng_init(&w->rng, 3, 1, SIM_RNG_TEST);
    for (int i = 0; i < 2; i++) {
        struct side *s = &w->s[i];
        s->dev = rnic_dev_new(NULL, 4);
        s->pd = rnic_pd_new(s->dev);
        s->cq = rnic_cq_new(s->dev, 65536, 0, on_wc, s);
        s->mem = malloc(MEM);
        for (size_t k = 0; k < MEM; k++)
            s->mem[k] = pkt_pattern_byte((uint64_t)i + 1, k);
        s->mr = rnic_mr_reg(s->pd, VA, MEM, access, s->mem);
        s->status = 1;
        s->qp = iwarp_qp_new(s->dev, s->pd, s->cq, s->cq, &w->par[i], &w->tcp, cc_find("reno"), NULL, INT64_C(100000000000), (uint32_t)i, 1);
        assert_non_null(s->qp);
    }
    for (int i = 1; i >= 0; i--) {
        struct iwarp_peer peer = { .addr = { pkt_addr_of_node((uint32_t)i), pkt_addr_of_node((uint32_t)!i), i ? 5001 : 10000, i ? 10000 : 5001 }, .ttl = 64 };
        assert_int_equal(i ? iwarp_qp_accept(w->s[1].qp, &peer, on_up, &w->s[1]) : iwarp_qp_connect(w->s[0].qp, &peer, on_up, &w->s[0]), SIM_OK);
    }
    return w;
}

static void pair_free(struct pair *w)
{
    for (size_t i = 0; i < w->n; i++)
        pkt_release_payload(&w->air[i].p);
    for (int i = 0; i < 2; i++) {
        rnic_dev_free(w->s[i].dev);
        free(w->s[i].mem);
    }
    free(w->air);
    free(w);
}

static void launch(struct pair *w, int to, struct pkt *p, int64_t extra_ps)
{
    assert_true(w->n < AIR_MAX);
    struct flying *f = &w->air[w->n++];
    f->at_ps = w->now + 5 * SIM_PS_PER_US + extra_ps;
    f->order = w->order++;
    f->to = to;
    memset(&f->p, 0, sizeof f->p);
    if (!w->bytes) {
        pkt_copy(&f->p, p);
        return;
    }
    uint8_t frame[16384];
    size_t len = wire_encode(p, NULL, frame, sizeof frame);
    assert_int_equal(wire_decode(frame, len, &f->p, NULL), WIRE_OK);
}

static void speak(struct pair *w, int i)
{
    struct endpoint *ep = &w->s[i].qp->ep;
    while (ep->ops->ready_ps(ep) <= w->now && w->s[i].free_ps <= w->now) {
        struct pkt p;
        memset(&p, 0, sizeof p);
        if (!ep->ops->tx(ep, w->now, &p))
            return;
        w->segments++;
        if (p.payload_len > w->largest_payload)
            w->largest_payload = p.payload_len;
        w->s[i].free_ps = w->now + ((int64_t)p.frame_len + 20) * 80;
        if (!(w->loss > 0 && sim_rng_unit(&w->rng) < w->loss))
            launch(w, !i, &p, w->late > 0 && sim_rng_unit(&w->rng) < w->late ? 30 * SIM_PS_PER_US : 0);
        if (w->dup > 0 && sim_rng_unit(&w->rng) < w->dup)
            launch(w, !i, &p, SIM_PS_PER_US);
        pkt_release_payload(&p);
    }
}

static void run(struct pair *w, int64_t until_ps)
{
    for (;;) {
        size_t best = SIZE_MAX;
        int64_t next = SIM_NEVER_PS;
        speak(w, 0);
        speak(w, 1);
        for (size_t i = 0; i < w->n; i++)
            if (w->air[i].at_ps < next || (best != SIZE_MAX && w->air[i].at_ps == next && w->air[i].order < w->air[best].order)) {
                next = w->air[i].at_ps;
                best = i;
            }
        for (int i = 0; i < 2; i++) {
            struct endpoint *ep = &w->s[i].qp->ep;
            int64_t t = ep->ops->next_wake_ps(ep), r = ep->ops->ready_ps(ep);
            if (r != SIM_NEVER_PS && r < w->s[i].free_ps)
                r = w->s[i].free_ps;
            t = r > w->now && r < t ? r : t;
            if (t < next) {
                next = t;
                best = SIZE_MAX;
            }
        }
        if (next == SIM_NEVER_PS || next > until_ps)
            break;
        w->now = next > w->now ? next : w->now;
        if (best != SIZE_MAX) {
            struct flying f = w->air[best];
            w->air[best] = w->air[--w->n];
            w->s[f.to].qp->ep.ops->rx(&w->s[f.to].qp->ep, w->now, &f.p);
            pkt_release_payload(&f.p);
        }
        for (int i = 0; i < 2; i++) {
            struct endpoint *ep = &w->s[i].qp->ep;
            if (ep->ops->next_wake_ps(ep) <= w->now)
                ep->ops->wake(ep, w->now);
        }
    }
    w->now = until_ps > w->now ? until_ps : w->now;
}

#define ALL (RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE | RNIC_REMOTE_READ)

static struct pair *connected(bool bytes)
{
    struct iwarp_params p = iwarp_defaults();
    struct pair *w = pair_new(&p, &p, ALL);
    w->bytes = bytes;
    run(w, 5 * SIM_PS_PER_MS);
    assert_int_equal(w->s[0].status, 0);
    assert_int_equal(w->s[1].status, 0);
    return w;
}

static void post(struct pair *w, int from, enum rnic_opcode op, uint64_t id, uint64_t off, uint32_t len)
{
    struct rnic_send_wr wr = { .wr_id = id, .op = op, .flags = RNIC_SEND_SIGNALED, .sge = { VA + off, len, rnic_mr_key(w->s[from].mr) },
                               .remote_va = VA + off, .rkey = rnic_mr_key(w->s[!from].mr) };
    assert_int_equal(rnic_post_send(w->s[from].qp, &wr), SIM_OK);
}

static void post_recv(struct pair *w, int at, uint64_t id, uint64_t off, uint32_t len)
{
    struct rnic_recv_wr wr = { id, { VA + off, len, rnic_mr_key(w->s[at].mr) } };
    assert_int_equal(rnic_post_recv(w->s[at].qp, &wr), SIM_OK);
}

static void start_up_in_both_revisions(void **state)
{
    (void)state;
    static const struct { int64_t rev, rtr, crc0, crc1; } t[] = { { 1, 0, 1, 1 }, { 2, 4, 1, 1 }, { 2, 0, 1, 0 }, { 2, 1, 0, 0 }, { 2, 2, 0, 1 }, { 2, 3, 1, 1 } };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        for (int bytes = 0; bytes < 2; bytes++) {
            struct iwarp_params a = iwarp_defaults(), b;
            a.mpa_revision = t[i].rev;
            a.rtr = t[i].rtr;
            b = a;
            a.crc = t[i].crc0;
            b.crc = t[i].crc1;
            struct pair *w = pair_new(&a, &b, ALL);
            w->bytes = bytes;
            run(w, 5 * SIM_PS_PER_MS);
            if (w->s[0].status || w->s[1].status)
                fail_msg("case %zu: %d %d", i, w->s[0].status, w->s[1].status);
            post(w, 0, RNIC_OP_WRITE, 1, 0, 10000);
            run(w, w->now + SIM_PS_PER_MS);
            post(w, 1, RNIC_OP_WRITE, 1, 20000, 10000);
            run(w, w->now + SIM_PS_PER_MS);
            assert_memory_equal(w->s[0].mem, w->s[1].mem, 10000);
            assert_memory_equal(w->s[0].mem + 20000, w->s[1].mem + 20000, 10000);
            pair_free(w);
        }
}

static void bytes_equal_at_all_sizes(void **state)
{
    (void)state;
    static const uint32_t size[] = { 0, 1, 2, 3, 4, 5, 100, 1423, 1424, 1427, 1428, 1429, 1440, 2856, 2857, 10000, 65535, 65536, 200000 };
    static const enum rnic_opcode op[] = { RNIC_OP_WRITE, RNIC_OP_SEND, RNIC_OP_READ };
    for (int bytes = 0; bytes < 2; bytes++)
        for (size_t o = 0; o < 3; o++)
            for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
                struct pair *w = connected(bytes);
                uint64_t off = 17;
                if (op[o] == RNIC_OP_SEND)
                    post_recv(w, 1, 9, off, 300000);
                uint8_t after0 = w->s[0].mem[off + size[i]], after1 = w->s[1].mem[off + size[i]];
                post(w, 0, op[o], 1, off, size[i]);
                run(w, w->now + 100 * SIM_PS_PER_MS);
                assert_int_equal(w->s[0].nwc, 1);
                assert_int_equal(w->s[0].wc[0].status, RNIC_WC_SUCCESS);
                assert_memory_equal(w->s[0].mem + off, w->s[1].mem + off, size[i]);
                assert_int_equal(w->s[0].mem[off + size[i]], after0);
                assert_int_equal(w->s[1].mem[off + size[i]], after1);
                if (op[o] == RNIC_OP_SEND) {
                    assert_int_equal(w->s[1].nwc, 1);
                    assert_int_equal(w->s[1].wc[0].byte_len, size[i]);
                }
                pair_free(w);
            }
}

/* truth.md section 4, item 8: EMSS 1448 here; no segment of a clean stream is longer than an FPDU of MULPDU. */
static void fpdus_fill_segments(void **state)
{
    (void)state;
    struct pair *w = connected(false);
    post(w, 0, RNIC_OP_WRITE, 1, 0, 65536);
    run(w, w->now + 10 * SIM_PS_PER_MS);
    assert_int_equal(w->largest_payload, 2 + 1442 + 4);
    pair_free(w);
}

/* Item 9: the sink of a Read needs remote write access on iWARP. */
static void read_into_a_region_without_remote_write(void **state)
{
    (void)state;
    struct iwarp_params p = iwarp_defaults();
    struct pair *w = pair_new(&p, &p, RNIC_LOCAL_WRITE | RNIC_REMOTE_READ);
    run(w, 5 * SIM_PS_PER_MS);
    post(w, 0, RNIC_OP_READ, 1, 0, 1000);
    run(w, w->now + 100 * SIM_PS_PER_MS);
    assert_int_equal(w->s[0].nwc, 1);
    assert_int_not_equal(w->s[0].wc[0].status, RNIC_WC_SUCCESS);
    pair_free(w);
}

/* Item 7: a peer with IRD 8, 31 Reads posted: all complete. */
static void reads_beyond_the_peers_ird(void **state)
{
    (void)state;
    struct iwarp_params a = iwarp_defaults(), b = iwarp_defaults();
    b.ird = 8;
    struct pair *w = pair_new(&a, &b, ALL);
    run(w, 5 * SIM_PS_PER_MS);
    for (uint64_t k = 0; k < 31; k++)
        post(w, 0, RNIC_OP_READ, k, 1000 * k, 1000);
    run(w, w->now + 100 * SIM_PS_PER_MS);
    assert_int_equal(w->s[0].nwc, 31);
    for (uint32_t k = 0; k < 31; k++) {
        assert_int_equal(w->s[0].wc[k].wr_id, k);
        assert_int_equal(w->s[0].wc[k].status, RNIC_WC_SUCCESS);
    }
    assert_memory_equal(w->s[0].mem, w->s[1].mem, 31000);
    pair_free(w);
}

/* RFC 5040 section 7: bad keys, bounds, a Send without a buffer: the stream ends with a Terminate; both QPs leave RTS. */
static void errors_end_the_stream(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int bytes = 0; bytes < 2; bytes++) {
            struct pair *w = connected(bytes);
            struct rnic_send_wr wr = { .wr_id = 1, .op = k == 3 ? RNIC_OP_SEND : k == 2 ? RNIC_OP_READ : RNIC_OP_WRITE, .flags = RNIC_SEND_SIGNALED,
                                       .sge = { VA, 100, rnic_mr_key(w->s[0].mr) }, .remote_va = VA, .rkey = rnic_mr_key(w->s[1].mr) };
            if (k == 0 || k == 2)
                wr.rkey ^= 0x5500;
            if (k == 1)
                wr.remote_va = VA + MEM - 50;
            assert_int_equal(rnic_post_send(w->s[0].qp, &wr), SIM_OK);
            run(w, w->now + 100 * SIM_PS_PER_MS);
            if (rnic_qp_state(w->s[0].qp) != RNIC_QP_ERROR || rnic_qp_state(w->s[1].qp) != RNIC_QP_ERROR)
                fail_msg("case %d: states %d %d", k, rnic_qp_state(w->s[0].qp), rnic_qp_state(w->s[1].qp));
            struct rnic_send_wr late = wr;
            assert_int_not_equal(rnic_post_send(w->s[0].qp, &late) == SIM_OK && w->s[0].wc[w->s[0].nwc - 1].status == RNIC_WC_SUCCESS, 1);
            pair_free(w);
        }
}

/* Loss, duplicates, reordering, as structs and as bytes: every byte where it should be, completions in order, each once. */
static void random_operations_on_a_bad_wire(void **state)
{
    (void)state;
    int runs = getenv("RNICSIM_TEST_LONG") ? 2000 : 150;
    for (int k = 0; k < runs; k++) {
        struct pair *w = connected(k % 3 == 0);
        sim_rng_init(&w->rng, 17, (uint64_t)k, SIM_RNG_TEST);
        w->loss = 0.001 * sim_rng_below(&w->rng, 60);
        w->dup = 0.001 * sim_rng_below(&w->rng, 30);
        w->late = 0.001 * sim_rng_below(&w->rng, 100);
        uint32_t ops = 1 + sim_rng_below(&w->rng, 20), recvs = 0;
        for (uint32_t i = 0; i < ops; i++)
            post_recv(w, 1, i, 0x80000 + i * 20000, 20000);
        uint32_t at[20], len[20];
        enum rnic_opcode kind[20];
        for (uint32_t i = 0; i < ops; i++) {
            kind[i] = (enum rnic_opcode[]){ RNIC_OP_WRITE, RNIC_OP_SEND, RNIC_OP_READ }[sim_rng_below(&w->rng, 3)];
            len[i] = sim_rng_below(&w->rng, 3) ? sim_rng_below(&w->rng, 20000) : sim_rng_below(&w->rng, 50);
            at[i] = i * 20000;
            post(w, 0, kind[i], i, at[i], len[i]);
        }
        run(w, w->now + 3000 * SIM_PS_PER_S);
        if (w->s[0].nwc != ops)
            fail_msg("run %d: %u of %u completions", k, w->s[0].nwc, ops);
        for (uint32_t i = 0; i < ops; i++) {
            assert_int_equal(w->s[0].wc[i].wr_id, i);
            assert_int_equal(w->s[0].wc[i].status, RNIC_WC_SUCCESS);
            if (kind[i] == RNIC_OP_SEND) {
                assert_int_equal(w->s[1].wc[recvs].byte_len, len[i]);
                assert_memory_equal(w->s[1].mem + 0x80000 + recvs * 20000, w->s[0].mem + at[i], len[i]);
                recvs++;
            } else {
                assert_memory_equal(w->s[1].mem + at[i], w->s[0].mem + at[i], len[i]);
            }
        }
        assert_int_equal(w->s[1].nwc, recvs);
        pair_free(w);
    }
}

/* RFC 5044 4.2 with the usual headers: payload over wire bytes of full segments. */
static void wire_efficiency(void **state)
{
    (void)state;
    static const struct { uint32_t emss; bool markers; double want; } t[] = { { 1448, false, 0.928 }, { 1448, true, 0.921 }, { 1460, false, 0.936 }, { 1460, true, 0.929 } };
    for (size_t i = 0; i < 4; i++) {
        double payload = (double)mpa_mulpdu(t[i].emss, t[i].markers) - DDP_TAGGED_BYTES, wire = 1500 + 14 + 4 + 20;
        if (payload / wire < t[i].want - 0.0006 || payload / wire > t[i].want + 0.0006)
            fail_msg("EMSS %u: %.4f, expected %.3f", t[i].emss, payload / wire, t[i].want);
    }
    static const struct { uint32_t mtu; double want; } roce[] = { { 1024, 0.926 }, { 4096, 0.980 } };
    for (size_t i = 0; i < 2; i++) {
        struct pkt p;
        memset(&p, 0, sizeof p);
        p.kind = PKT_ROCE;
        p.roce.opcode = ROCE_WRITE_MIDDLE;
        pkt_add_pattern(&p, roce[i].mtu, 1, 0);
        pkt_set_len(&p);
        double e = (double)roce[i].mtu / (p.frame_len + 20.0);
        if (e < roce[i].want - 0.0006 || e > roce[i].want + 0.0006)
            fail_msg("RoCE MTU %u: %.4f, expected %.3f", roce[i].mtu, e, roce[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_up_in_both_revisions), cmocka_unit_test(bytes_equal_at_all_sizes), cmocka_unit_test(fpdus_fill_segments),
        cmocka_unit_test(read_into_a_region_without_remote_write), cmocka_unit_test(reads_beyond_the_peers_ird), cmocka_unit_test(errors_end_the_stream),
        cmocka_unit_test(random_operations_on_a_bad_wire), cmocka_unit_test(wire_efficiency),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
