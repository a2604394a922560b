/* SPDX-License-Identifier: GPL-2.0-only */
/* Loss recovery policies: what each sends again, IRN's timeouts and headers, packets out of order. test_efficiency.c has what they cost. */
#include "pair.h"
#include "../../model/roce/roce_internal.h"

/* The packets that have been seen leaving side 0, by number, in order. */
static uint32_t data_of(const struct pair *pr, struct pair_event *out, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pr->nlog; i++)
        if (pr->log[i].from == 0 && pr->log[i].len > 0 && n < max)
            out[n++] = pr->log[i];
    return n;
}

/* Drops side `from`'s packets by their place. */
struct script { int from; uint64_t drop[8]; unsigned ndrop; };
static enum pair_fate scripted(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    const struct script *s = ctx;
    (void)p;
    for (unsigned i = 0; from == s->from && i < s->ndrop; i++)
        if (pr->side[from].sent == s->drop[i])
            return PAIR_DROP;
    return PAIR_PASS;
}

static struct pair *scripted_pair(const struct pair_config *c, struct script *s)
{
    struct pair *pr = pair_new(c);
    pr->fate = scripted;
    pr->ctx = s;
    return pr;
}

/* Of 20 packets the 3rd and 7th are lost: each policy sends again what it says. */
static void what_is_sent_again(void **state)
{
    (void)state;
    static const struct { int retry; uint32_t again; } row[] = { { ROCE_IRN_RETRY, 2 }, { ROCE_SELECTIVE, 2 } };
    for (size_t i = 0; i < 2; i++) {
        struct pair_config c = pair_defaults();
        struct script s = { 0, { 3, 7 }, 2 };
        struct pair_event e[64];
        c.params.retry = row[i].retry;
        struct pair *pr = scripted_pair(&c, &s);
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 20 * 1024);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 20 * 1024);
        uint32_t n = data_of(pr, e, 64);
        assert_int_equal(n, 20 + row[i].again);
        assert_int_equal(PAIR_COUNTER(pr, 0, timeouts), 0);
        for (uint32_t k = 20; k < n; k++) {
            assert_int_equal(e[k].psn, 100 + (k == 20 ? 2 : 6));
            assert_int_equal(e[k].retx, 1);
        }
        /* selective: one NAK a hole, the second when the first is filled; IRN: a NACK for each packet beyond a hole */
        assert_int_equal(pair_count(pr, 1, ROCE_IRN_NACK), row[i].retry == ROCE_IRN_RETRY ? 16 : 0);
        assert_int_equal(PAIR_COUNTER(pr, 1, naks_sent), row[i].retry == ROCE_IRN_RETRY ? 16 : 2);
        pair_free(pr);
    }
}

/* With a 3 us wire each way 2 packets in flight wait for RTO_low, 8 for RTO_high; the last of a message is lost, which nothing else tells. */
static void irn_timeouts(void **state)
{
    (void)state;
    static const struct { uint32_t packets; int64_t rto_us; } row[] = { { 3, 100 }, { 1, 100 }, { 4, 320 }, { 8, 320 } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct pair_config c = pair_defaults();
        struct script s = { 0, { 0 }, 0 };
        struct pair_event e[32];
        c.params.retry = ROCE_IRN_RETRY;
        for (uint32_t k = 0; k < row[i].packets; k++)
            s.drop[s.ndrop++] = k + 1; /* all of them: nothing comes back */
        struct pair *pr = scripted_pair(&c, &s);
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, row[i].packets * 1024);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_SUCCESS);
        uint32_t n = data_of(pr, e, 32);
        assert_true(n >= 2 * row[i].packets);
        assert_int_equal(e[row[i].packets].psn, 100);
        assert_int_equal(e[row[i].packets].at_ps - e[0].at_ps, row[i].rto_us * SIM_PS_PER_US);
        pair_free(pr);
    }
}

/* Item 22: the last packet of a flow corrupted: the flow still finishes. */
static void item_22_last_packet_corrupted(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct script s = { 0, { 50 }, 1 };
    c.params.retry = ROCE_IRN_RETRY;
    struct pair *pr = scripted_pair(&c, &s);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 50 * 1024);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 1);
    assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_SUCCESS);
    assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 50 * 1024);
    assert_int_equal(PAIR_COUNTER(pr, 0, timeouts), 1);
    assert_true(pr->now_ps < 150 * SIM_PS_PER_US); /* RTO_low: it was alone */
    pair_free(pr);
}

/* A peer that is gone: given up after retry_cnt + 1 local ACK timeouts without progress, by the responder of a READ too. */
static enum pair_fate silence(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)p;
    return pr->side[from].sent > *(uint64_t *)ctx ? PAIR_DROP : PAIR_PASS;
}

static void irn_gives_up(void **state)
{
    (void)state;
    static const enum rnic_opcode op[] = { RNIC_OP_WRITE, RNIC_OP_READ };
    for (int i = 0; i < 2; i++) {
        struct pair_config c = pair_defaults();
        uint64_t last = 5;
        c.params.retry = ROCE_IRN_RETRY;
        c.params.local_ack_timeout = 8;
        c.params.retry_cnt = 3;
        struct pair *pr = pair_new(&c);
        pr->fate = silence;
        pr->ctx = &last;
        pair_post(pr, 0, op[i], 1, 0, 20 * 1024);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_RETRY_EXC_ERR);
        int64_t t = INT64_C(4096000) << 8;
        assert_true(pr->side[0].wc_ps[0] > 4 * t && pr->side[0].wc_ps[0] < 4 * t + SIM_PS_PER_MS);
        pair_free(pr);
    }
}

/* No more than the cap are in flight; without one given, the path's bandwidth-delay product. */
static void irn_cap(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        struct pair_config c = pair_defaults();
        c.params.retry = ROCE_IRN_RETRY;
        c.params.window_bytes = given ? 10 * 1024 : 0;
        c.delay_ps = 10 * SIM_PS_PER_US;
        struct pair *pr = pair_new(&c);
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 1 << 20);
        pair_run(pr, 2 * c.delay_ps);
        /* 20 us at 100 Gb/s are 250,000 bytes: 222.8 full packets of 1122 bytes on the wire, a part of one counts whole */
        assert_int_equal(pr->side[0].sent, given ? 10 : 223);
        pair_free(pr);
    }
}

/* Headers: each WRITE packet tells where it goes, SENDs which receive and where in the message, READs and atomics their number. */
struct header_log { struct pkt_roce h[64]; uint32_t n; };
static enum pair_fate note_header(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    struct header_log *l = ctx;
    (void)pr;
    if (from == 0 && l->n < 64 && (wire_roce_op[p->roce.opcode].flags & ROCE_OP_REQUEST))
        l->h[l->n++] = p->roce;
    return PAIR_PASS;
}

static void irn_headers(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct header_log l = { .n = 0 };
    c.params.retry = ROCE_IRN_RETRY;
    struct pair *pr = pair_new(&c);
    pr->fate = note_header;
    pr->ctx = &l;
    for (uint32_t i = 0; i < 3; i++)
        pair_recv(pr, 1, i, 65536 * (i + 1), 4096);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 3000);
    pair_post(pr, 0, RNIC_OP_SEND, 2, 4096, 2500);
    pair_post(pr, 0, RNIC_OP_READ, 3, 8192, 5000);
    pair_post(pr, 0, RNIC_OP_WRITE_IMM, 4, 16384, 1500);
    pair_post(pr, 0, RNIC_OP_FETCH_ADD, 5, 32768, 8);
    pair_post(pr, 0, RNIC_OP_SEND, 6, 20480, 100);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 6);
    static const uint8_t opcode[] = { 0xc6, 0xc7, 0xc8, 0xc0, 0xc1, 0xc2, 0xcc, 0xc6, 0xc9, 0xd4, 0xc4 };
    assert_int_equal(l.n, sizeof opcode);
    for (uint32_t i = 0; i < l.n; i++) {
        assert_int_equal(l.h[i].opcode, opcode[i]);
        assert_int_equal(l.h[i].psn, 100 + i); /* a READ takes one number, its responses have their own */
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(l.h[i].x.reth.va, PAIR_MEM_VA + 1024 * i);
    for (uint32_t i = 3; i < 6; i++) {
        assert_int_equal(l.h[i].x.reth.irn_sn, 0);
        assert_int_equal(l.h[i].x.reth.irn_offset, 1024 * (i - 3));
    }
    assert_int_equal(l.h[6].x.reth.irn_sn, 0);  /* the first read WQE */
    assert_int_equal(l.h[8].x.reth.irn_sn, 1);  /* the second receive */
    assert_int_equal(l.h[9].x.atomic.irn_sn, 1);
    assert_int_equal(l.h[10].x.reth.irn_sn, 2);
    assert_int_equal(pair_count(pr, 0, ROCE_IRN_READ_ACK), 5 + 1);
    pair_free(pr);
}

/* A READ whose responses are lost: IRN's responder repeats them, with selective only what is missing is asked for again. */
static void lost_responses(void **state)
{
    (void)state;
    static const int retry[] = { ROCE_IRN_RETRY, ROCE_SELECTIVE };
    for (int i = 0; i < 2; i++) {
        struct pair_config c = pair_defaults();
        struct script s = { 1, { retry[i] == ROCE_IRN_RETRY ? 4 : 3, retry[i] == ROCE_IRN_RETRY ? 8 : 7 }, 2 };
        c.params.retry = retry[i];
        struct pair *pr = scripted_pair(&c, &s);
        pair_post(pr, 0, RNIC_OP_READ, 1, 0, 20 * 1024);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_SUCCESS);
        assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 20 * 1024);
        assert_int_equal(PAIR_COUNTER(pr, 0, timeouts) + PAIR_COUNTER(pr, 1, timeouts), 0);
        uint32_t responses = 0, requests = 0;
        for (uint32_t k = 0; k < pr->nlog; k++) {
            responses += pr->log[k].from == 1 && pr->log[k].len > 0;
            requests += pr->log[k].from == 0 && wire_roce_op[pr->log[k].opcode].flags & ROCE_OP_RETH ? 1 : 0;
        }
        assert_int_equal(responses, 22);
        assert_int_equal(requests, retry[i] == ROCE_IRN_RETRY ? 1 : 3);
        pair_free(pr);
    }
}

/* --- out of order --- */

/* Every fifth packet takes longer, as if it had been sprayed over another path. */
static enum pair_fate spray(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    (void)p;
    pr->late_ps = 2 * SIM_PS_PER_US;
    return from == 0 && pr->side[0].sent % 5 == 2 ? PAIR_LATE : PAIR_PASS;
}

static struct pair *sprayed(int retry, bool place, int64_t reorder_ps)
{
    struct pair_config c = pair_defaults();
    c.params.retry = retry;
    c.params.ooo_placement = place;
    c.params.reorder_ps = reorder_ps;
    struct pair *pr = pair_new(&c);
    pr->fate = spray;
    pair_recv(pr, 1, 70, 262144, 65536);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 60 * 1024);
    pair_post(pr, 0, RNIC_OP_SEND, 2, 65536, 60 * 1024);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 2);
    assert_int_equal(pr->side[1].nwc, 1);
    assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 60 * 1024);
    assert_memory_equal(pr->side[0].mem + 65536, pr->side[1].mem + 262144, 60 * 1024);
    return pr;
}

/* Kept and given time, sprayed packets cost nothing; dropped, or taken for lost at once, they cost repetitions. */
static void sprayed_packets(void **state)
{
    (void)state;
    static const int retry[] = { ROCE_GO_BACK_N, ROCE_IRN_RETRY, ROCE_SELECTIVE };
    for (int i = 0; i < 3; i++) {
        struct pair *pr = sprayed(retry[i], true, 5 * SIM_PS_PER_US);
        assert_int_equal(PAIR_COUNTER(pr, 0, retransmitted_packets), 0);
        assert_int_equal(PAIR_COUNTER(pr, 1, naks_sent), 0);
        assert_true(PAIR_COUNTER(pr, 1, out_of_sequence) > 20);
        pair_free(pr);
        pr = sprayed(retry[i], retry[i] != ROCE_GO_BACK_N, 0);
        assert_true(PAIR_COUNTER(pr, 0, retransmitted_packets) > 0);
        pair_free(pr);
    }
}

/* A gap that stays open is a loss after `reorder`, and not before. */
static void a_gap_counts_after_the_reorder_time(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct script s = { 0, { 3 }, 1 };
    c.params.ooo_placement = 1;
    c.params.reorder_ps = 7 * SIM_PS_PER_US;
    struct pair *pr = scripted_pair(&c, &s);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 20 * 1024);
    pair_run(pr, SIM_NEVER_PS);
    int64_t fourth = 0, nak = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pr->nlog; i++) {
        if (pr->log[i].from == 0 && ++n == 4)
            fourth = pr->log[i].at_ps + pair_wire_ps(pr, pr->log[i].frame_len) + c.delay_ps;
        if (pr->log[i].from == 1 && pr->log[i].syndrome == ROCE_NAK_SEQUENCE)
            nak = pr->log[i].at_ps;
    }
    assert_int_equal(nak - fourth, c.params.reorder_ps);
    assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 20 * 1024);
    pair_free(pr);
}

/* With placement the bytes behind a hole are in memory before the hole is filled, and the completion waits; without, they wait too. */
static void writes_are_placed_on_arrival(void **state)
{
    (void)state;
    static const struct { int retry; bool place, there; } row[] = { { ROCE_GO_BACK_N, false, false }, { ROCE_GO_BACK_N, true, true },
        { ROCE_SELECTIVE, false, false }, { ROCE_SELECTIVE, true, true }, { ROCE_IRN_RETRY, false, true } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct pair_config c = pair_defaults();
        struct script s = { 0, { 3 }, 1 };
        c.params.retry = row[i].retry;
        c.params.ooo_placement = row[i].place;
        struct pair *pr = scripted_pair(&c, &s);
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 10 * 1024);
        pair_run(pr, 2 * SIM_PS_PER_US); /* all ten have arrived, no repetition yet */
        assert_int_equal(pr->side[0].sent, 10);
        assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 2048);
        assert_int_equal(memcmp(pr->side[0].mem + 3072, pr->side[1].mem + 3072, 7168) == 0, row[i].there);
        assert_int_equal(pr->side[0].nwc, 0);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 10240);
        pair_free(pr);
    }
}

/* What does not go together is refused in a sentence. */
static void combinations(void **state)
{
    (void)state;
    struct roce_params p;
    char err[200];
    param_defaults(&roce_params_table, &p);
    p.retry = ROCE_GO_BACK_0;
    p.ooo_placement = 1;
    assert_int_equal(roce_params_check(&p, err, sizeof err), SIM_ERR_PARAM);
    assert_non_null(strstr(err, "go-back-0"));
    param_defaults(&roce_params_table, &p);
    p.nak_rule = ROCE_NAK_REWIND;
    p.retry = ROCE_SELECTIVE;
    assert_int_equal(roce_params_check(&p, err, sizeof err), SIM_ERR_PARAM);
    assert_non_null(strstr(err, "rewind"));
}

/* A WRITE is lost twice, so the READs behind it, as many as IRD, are repeated too while the responder keeps them. What is queued to be answered is not
 * queued again; and a READ that the requester posts when it has had its first answer is not one too many. */
static void repeated_reads_do_not_count(void **state)
{
    (void)state;
    for (int retry = ROCE_GO_BACK_N; retry <= ROCE_SELECTIVE; retry++) {
        struct pair_config c = pair_defaults();
        struct script s = { 0, { 1, 6 }, 2 };
        c.params.retry = retry;
        c.params.ord = c.params.ird = 4;
        c.params.local_ack_timeout = 5;
        c.params.ooo_placement = retry == ROCE_GO_BACK_N;
        struct pair *pr = scripted_pair(&c, &s);
        pair_post(pr, 0, RNIC_OP_WRITE, 0, 0, 1024);
        for (uint32_t i = 1; i < 8; i++)
            pair_post(pr, 0, RNIC_OP_READ, i, 65536 * i, 65536);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 8);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(pr->side[0].wc[i].status, RNIC_WC_SUCCESS);
        if (retry == ROCE_SELECTIVE) {
            assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 1);
            uint64_t answers = 0; /* 7 x 64, and what of the first READ's had left when its repetition came */
            for (unsigned op = ROCE_READ_RESP_FIRST; op <= ROCE_READ_RESP_ONLY; op++)
                answers += pair_count(pr, 1, op);
            assert_in_range(answers, 448, 452);
        }
        pair_free(pr);
    }
}

/* The first answer's first packet is lost while three more answers are queued: given again it goes before them. */
static void an_answer_given_again_goes_first(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct script s = { 1, { 1 }, 1 };
    c.params.retry = ROCE_SELECTIVE;
    struct pair *pr = scripted_pair(&c, &s);
    for (uint32_t i = 0; i < 4; i++)
        pair_post(pr, 0, RNIC_OP_READ, i, 65536 * i, 65536);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 4);
    /* out, the first packet, back; asked for again, out, back: before the second answer, of 5.6 us as the first, is over */
    assert_in_range(pr->side[0].wc_ps[0], 4 * pr->delay_ps, pr->side[0].wc_ps[3] - 11 * SIM_PS_PER_US);
    assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), 0);
    pair_free(pr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent_again), cmocka_unit_test(irn_timeouts),
        cmocka_unit_test(item_22_last_packet_corrupted), cmocka_unit_test(irn_gives_up), cmocka_unit_test(irn_cap), cmocka_unit_test(irn_headers),
        cmocka_unit_test(lost_responses), cmocka_unit_test(sprayed_packets), cmocka_unit_test(a_gap_counts_after_the_reorder_time),
        cmocka_unit_test(writes_are_placed_on_arrival), cmocka_unit_test(combinations),
        cmocka_unit_test(repeated_reads_do_not_count), cmocka_unit_test(an_answer_given_again_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
