/* SPDX-License-Identifier: GPL-2.0-only */
/* Segmentation and bytes of every operation, READ responses, limits, order, errors. */
#include "pair.h"
#include "../../model/roce/roce_internal.h"

static void expect_opcodes(const struct pair *pr, int from, const uint8_t *opcode, uint32_t n)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < pr->nlog; i++)
        if (pr->log[i].from == from && pr->log[i].opcode != ROCE_ACK) {
            assert_true(seen < n);
            assert_int_equal(pr->log[i].opcode, opcode[seen]);
            seen++;
        }
    assert_int_equal(seen, n);
}

/* IBTA vol. 1 table 35 and 9.7.2: opcodes by place, PSNs one a packet (a READ's responses count). */
static void opcodes_by_place(void **state)
{
    (void)state;
    static const struct { enum rnic_opcode op; uint32_t len; uint8_t n, opcode[4], nresp, resp[4]; } row[] = {
        { RNIC_OP_SEND, 0, 1, { ROCE_SEND_ONLY }, 0, { 0 } },
        { RNIC_OP_SEND, 1024, 1, { ROCE_SEND_ONLY }, 0, { 0 } },
        { RNIC_OP_SEND, 1025, 2, { ROCE_SEND_FIRST, ROCE_SEND_LAST }, 0, { 0 } },
        { RNIC_OP_SEND, 3073, 4, { ROCE_SEND_FIRST, ROCE_SEND_MIDDLE, ROCE_SEND_MIDDLE, ROCE_SEND_LAST }, 0, { 0 } },
        { RNIC_OP_SEND_IMM, 3, 1, { ROCE_SEND_ONLY_IMM }, 0, { 0 } },
        { RNIC_OP_SEND_IMM, 2048, 2, { ROCE_SEND_FIRST, ROCE_SEND_LAST_IMM }, 0, { 0 } },
        { RNIC_OP_SEND_INV, 3, 1, { ROCE_SEND_ONLY_INV }, 0, { 0 } },
        { RNIC_OP_SEND_INV, 2500, 3, { ROCE_SEND_FIRST, ROCE_SEND_MIDDLE, ROCE_SEND_LAST_INV }, 0, { 0 } },
        { RNIC_OP_WRITE, 0, 1, { ROCE_WRITE_ONLY }, 0, { 0 } },
        { RNIC_OP_WRITE, 2049, 3, { ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, ROCE_WRITE_LAST }, 0, { 0 } },
        { RNIC_OP_WRITE_IMM, 0, 1, { ROCE_WRITE_ONLY_IMM }, 0, { 0 } },
        { RNIC_OP_WRITE_IMM, 2049, 3, { ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, ROCE_WRITE_LAST_IMM }, 0, { 0 } },
        { RNIC_OP_READ, 0, 1, { ROCE_READ_REQUEST }, 1, { ROCE_READ_RESP_ONLY } },
        { RNIC_OP_READ, 1024, 1, { ROCE_READ_REQUEST }, 1, { ROCE_READ_RESP_ONLY } },
        { RNIC_OP_READ, 2048, 1, { ROCE_READ_REQUEST }, 2, { ROCE_READ_RESP_FIRST, ROCE_READ_RESP_LAST } },
        { RNIC_OP_READ, 3073, 1, { ROCE_READ_REQUEST }, 4, { ROCE_READ_RESP_FIRST, ROCE_READ_RESP_MIDDLE, ROCE_READ_RESP_MIDDLE, ROCE_READ_RESP_LAST } },
        { RNIC_OP_CMP_SWAP, 8, 1, { ROCE_CMP_SWAP }, 1, { ROCE_ATOMIC_ACK } },
        { RNIC_OP_FETCH_ADD, 8, 1, { ROCE_FETCH_ADD }, 1, { ROCE_ATOMIC_ACK } },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct pair_config c = pair_defaults();
        struct pair *pr = pair_new(&c);
        struct rnic_mr *victim = rnic_mr_reg(pr->side[1].pd, 0x9000000, 4096, RNIC_REMOTE_WRITE, NULL);
        pair_recv(pr, 1, 70, 0, 8192);
        struct rnic_send_wr wr = pair_wr(pr, 0, row[i].op, 1, 16384, row[i].len);
        wr.imm_or_inv = row[i].op == RNIC_OP_SEND_INV ? rnic_mr_key(victim) : 0x01020304;
        wr.flags |= RNIC_SEND_SOLICITED;
        assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
        pair_run(pr, SIM_NEVER_PS);
        expect_opcodes(pr, 0, row[i].opcode, row[i].n);
        expect_opcodes(pr, 1, row[i].resp, row[i].nresp);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_SUCCESS);
        for (uint32_t k = 0; k < pr->nlog; k++)
            if (pr->log[k].from == 0)
                assert_int_equal(pr->log[k].psn, 100 + k);
        bool takes = row[i].op == RNIC_OP_SEND || row[i].op == RNIC_OP_SEND_IMM || row[i].op == RNIC_OP_SEND_INV || row[i].op == RNIC_OP_WRITE_IMM;
        assert_int_equal(pr->side[1].nwc, takes);
        if (takes)
            assert_int_equal(pr->side[1].wc[0].byte_len, row[i].len);
        if (row[i].op == RNIC_OP_SEND_INV) {
            assert_int_equal(pr->side[1].wc[0].invalidated_key, rnic_mr_key(victim));
            assert_int_equal(rnic_check(pr->side[1].qp, rnic_mr_key(victim), 0x9000000, 1, 0), RNIC_FAULT_KEY);
        }
        pair_free(pr);
    }
}

/* Every path MTU, sizes around every multiple, each operation: equal bytes, nothing beside them. */
static void bytes_equal_at_all_sizes(void **state)
{
    (void)state;
    static const enum rnic_opcode op[] = { RNIC_OP_SEND, RNIC_OP_WRITE, RNIC_OP_READ, RNIC_OP_WRITE_IMM };
    for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
        for (size_t o = 0; o < 4; o++) {
            struct pair_config c = pair_defaults();
            c.params.mtu_bytes = mtu;
            c.psn[0] = 0xfffff0;
            struct pair *pr = pair_new(&c);
            uint64_t id = 0;
            for (uint32_t k = 0; k <= 5; k++)
                for (int d = -2; d <= 2; d++) {
                    if (k == 0 && d < 0)
                        continue;
                    uint32_t len = k * mtu + (uint32_t)d;
                    uint8_t *from = pr->side[op[o] == RNIC_OP_READ].mem + 4096, *to = pr->side[op[o] != RNIC_OP_READ].mem + 4096;
                    for (uint32_t b = 0; b < 32768; b++) {
                        from[b] = (uint8_t)(b * 7 + id);
                        to[b] = 0xee;
                    }
                    if (op[o] == RNIC_OP_SEND)
                        pair_recv(pr, 1, id, 4099, 30000);
                    if (op[o] == RNIC_OP_WRITE_IMM)
                        pair_recv(pr, 1, id, 0, 0);
                    pair_post(pr, 0, op[o], id, 4099, len);
                    pair_run(pr, SIM_NEVER_PS);
                    assert_int_equal(pr->side[0].nwc, ++id);
                    assert_int_equal(pr->side[0].wc[id - 1].status, RNIC_WC_SUCCESS);
                    assert_memory_equal(from + 3, to + 3, len);
                    assert_int_equal(to[2], 0xee);
                    assert_int_equal(to[3 + len], 0xee);
                }
            assert_int_equal(PAIR_COUNTER(pr, 0, retransmitted_packets), 0);
            pair_free(pr);
        }
}

/* 9.7.3.1: a READ takes as many PSNs as its answer has packets; what follows goes on behind it. */
static void read_takes_psns(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    pair_post(pr, 0, RNIC_OP_READ, 1, 0, 10000);
    pair_post(pr, 0, RNIC_OP_WRITE, 2, 20000, 5);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->log[0].psn, 100);
    assert_int_equal(pr->log[1].opcode, ROCE_WRITE_ONLY);
    assert_int_equal(pr->log[1].psn, 110);
    for (uint32_t i = 2; i < 12; i++) {
        assert_int_equal(pr->log[i].from, 1);
        assert_int_equal(pr->log[i].psn, 98 + i);
    }
    assert_int_equal(pr->log[12].opcode, ROCE_ACK); /* never before the answer to the READ */
    assert_int_equal(pr->side[0].nwc, 2);
    assert_int_equal(pr->side[0].wc[0].wr_id, 1);
    pair_free(pr);
}

/* A lost response is asked for again from where it is missing, not from the start. */
static enum pair_fate third_response(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    int *left = ctx;
    (void)pr;
    return from == 1 && p->roce.psn == 103 && (*left)-- > 0 ? PAIR_DROP : PAIR_PASS;
}
static void read_resumes_where_it_broke(void **state)
{
    (void)state;
    for (int losses = 1; losses <= 2; losses++) {
        struct pair_config c = pair_defaults();
        struct pair *pr = pair_new(&c);
        int left = losses;
        pr->fate = third_response;
        pr->ctx = &left;
        pair_post(pr, 0, RNIC_OP_READ, 1, 0, 10000);
        pair_run(pr, SIM_NEVER_PS);
        uint32_t requests = 0;
        for (uint32_t i = 0; i < pr->nlog; i++)
            if (pr->log[i].opcode == ROCE_READ_REQUEST)
                assert_int_equal(pr->log[i].psn, requests++ ? 103 : 100);
        assert_int_equal(requests, 1 + losses);
        assert_int_equal(PAIR_COUNTER(pr, 0, local_ack_timeout_err), losses - 1);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 10000);
        pair_free(pr);
    }
}

/* Both ends send data and answer READs: responses and requests of a QP alternate. */
static void responses_and_requests_take_turns(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    pair_post(pr, 0, RNIC_OP_READ, 1, 0, 100 * 1024);
    pair_post(pr, 1, RNIC_OP_WRITE, 1, 200 * 1024, 100 * 1024);
    pair_run(pr, SIM_NEVER_PS);
    uint32_t writes = 0, reads = 0, both = 0;
    for (uint32_t i = 0; i < pr->nlog; i++) {
        bool w = pr->log[i].opcode >= ROCE_WRITE_FIRST && pr->log[i].opcode <= ROCE_WRITE_ONLY;
        bool r = pr->log[i].opcode >= ROCE_READ_RESP_FIRST && pr->log[i].opcode <= ROCE_READ_RESP_ONLY;
        writes += w;
        reads += r;
        if (reads > 0 && reads < 70 && w)
            both++;
    }
    assert_int_equal(writes, 100);
    assert_int_equal(reads, 100);
    assert_in_range(both, 65, 75);
    pair_free(pr);
}

/* ORD: at most so many READs are outstanding; all complete (item 7 of iWARP's list, the same for RoCE). */
static void outstanding_reads_are_limited(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.params.ord = 8;
    struct pair *pr = pair_new(&c);
    for (uint32_t i = 0; i < 31; i++)
        pair_post(pr, 0, RNIC_OP_READ, i, 4096 * i, 4096);
    pair_run(pr, SIM_NEVER_PS);
    int outstanding = 0, most = 0;
    uint32_t requests = 0;
    for (uint32_t i = 0; i < pr->nlog; i++) {
        outstanding += pr->log[i].opcode == ROCE_READ_REQUEST;
        outstanding -= pr->log[i].opcode == ROCE_READ_RESP_LAST;
        requests += pr->log[i].opcode == ROCE_READ_REQUEST;
        most = outstanding > most ? outstanding : most;
    }
    assert_int_equal(requests, 31);
    assert_int_equal(most, 8);
    assert_int_equal(pr->side[0].nwc, 31);
    pair_free(pr);
}

/* More than the responder's IRD: refused (9.7.4.1.5). */
static void too_many_reads_are_refused(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    c.params.ord = 8;
    c.params1 = c.params;
    c.params1.ird = 4;
    struct pair *pr = pair_new(&c);
    for (uint32_t i = 0; i < 8; i++)
        pair_post(pr, 0, RNIC_OP_READ, i, 65536 * i, 65536);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(rnic_qp_state(pr->side[0].qp), RNIC_QP_ERROR);
    assert_int_equal(pr->side[0].nwc, 8);
    uint32_t invalid = 0;
    for (uint32_t i = 0; i < 8; i++)
        invalid += pr->side[0].wc[i].status == RNIC_WC_REM_INV_REQ_ERR;
    assert_int_equal(invalid, 1);
    for (uint32_t i = 0; i < 4; i++) /* those that it had taken were answered first */
        assert_int_equal(pr->side[0].wc[i].status, RNIC_WC_SUCCESS);
    pair_free(pr);
}

/* Parameters and connections that cannot be are refused, with a sentence where one is wanted. */
static void bad_parameters(void **state)
{
    (void)state;
    char err[160] = "";
    struct roce_params p;
    param_defaults(&roce_params_table, &p);
    assert_int_equal(roce_params_check(&p, err, sizeof err), SIM_OK);
    p.mtu_bytes = 1000;
    assert_int_equal(roce_params_check(&p, err, sizeof err), SIM_ERR_PARAM);
    assert_non_null(strstr(err, "1024B"));
    p.mtu_bytes = 1024;
    p.retry_cnt = 8;
    assert_int_equal(roce_params_check(&p, err, sizeof err), SIM_ERR_PARAM);
    assert_non_null(strstr(err, "retry-cnt"));
    for (size_t i = 0; i < roce_params_table.count; i++)
        assert_true(strlen(roce_params_table.rows[i].source) > 4);
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    struct roce_params ok = c.params;
    struct rnic_qp *qp = roce_qp_new(pr->side[0].dev, pr->side[0].pd, pr->side[0].cq, pr->side[0].cq, &ok, NULL, NULL, 1, 1, 1);
    struct roce_peer peer = { .path_mtu_bytes = 1000 };
    assert_int_equal(roce_qp_connect(qp, &peer), SIM_ERR_PARAM);
    peer = (struct roce_peer){ .prio = 8 };
    assert_int_equal(roce_qp_connect(qp, &peer), SIM_ERR_PARAM);
    peer = (struct roce_peer){ 0 };
    assert_int_equal(roce_qp_connect(qp, &peer), SIM_OK);
    assert_int_equal(roce_qp_connect(qp, &peer), SIM_ERR_STATE);
    assert_null(roce_qp_new(pr->side[0].dev, pr->side[0].pd, pr->side[0].cq, pr->side[0].cq, &p, NULL, NULL, 1, 1, 1));
    pair_free(pr);
}

/* A fenced request waits for the READs before it (10.8.3.3). */
static void fence(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    pair_post(pr, 0, RNIC_OP_READ, 1, 0, 50000);
    pair_post(pr, 0, RNIC_OP_READ, 2, 50000, 50000);
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_WRITE, 3, 200000, 100);
    wr.flags |= RNIC_SEND_FENCE;
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 3);
    for (uint32_t i = 0; i < pr->nlog; i++)
        if (pr->log[i].opcode == ROCE_WRITE_ONLY)
            assert_true(pr->log[i].at_ps >= pr->side[0].wc_ps[1]);
    pair_free(pr);
}

/* LOCAL_INV takes no packet and holds its place in the order of completions, also among retransmissions. */
static void local_invalidate_in_order(void **state)
{
    (void)state;
    struct pair_config c = pair_defaults();
    struct pair *pr = pair_new(&c);
    int left = 1;
    pr->fate = third_response;
    pr->ctx = &left;
    for (uint32_t i = 0; i < 12; i++) {
        struct rnic_mr *mr = rnic_mr_reg(pr->side[0].pd, 0x9000000, 4096, RNIC_REMOTE_WRITE, NULL);
        struct rnic_send_wr wr = pair_wr(pr, 0, i % 4 == 0 ? RNIC_OP_READ : i % 4 == 2 ? RNIC_OP_WRITE : RNIC_OP_LOCAL_INV, i, 8192 * i, 8192);
        wr.imm_or_inv = rnic_mr_key(mr);
        assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    }
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 12);
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(pr->side[0].wc[i].wr_id, i);
        assert_int_equal(pr->side[0].wc[i].status, RNIC_WC_SUCCESS);
    }
    pair_free(pr);
}

/* Error completions: what the peer's NAK codes become, and what follows is flushed. */
static void nak_codes_become_completions(void **state)
{
    (void)state;
    static const struct { enum rnic_opcode op; uint32_t len; unsigned access; uint64_t skew; bool bad_key; uint32_t recv; uint8_t syndrome; enum rnic_wc_status status, at_peer; } row[] = {
        { RNIC_OP_WRITE, 100, 0x7, 0, true, 0, 0x62, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_SUCCESS },
        { RNIC_OP_WRITE, 100, RNIC_REMOTE_READ, 0, false, 0, 0x62, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_SUCCESS },
        { RNIC_OP_WRITE, 5000, 0xf, (1 << 20) - 4999, false, 0, 0x62, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_SUCCESS },
        { RNIC_OP_READ, 100, RNIC_REMOTE_WRITE | RNIC_LOCAL_WRITE, 0, false, 0, 0x62, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_SUCCESS },
        { RNIC_OP_FETCH_ADD, 8, 0x7, 0, false, 0, 0x62, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_SUCCESS },
        { RNIC_OP_FETCH_ADD, 8, 0xf, 4, false, 0, 0x61, RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_SUCCESS },
        { RNIC_OP_SEND, 5000, 0xf, 0, false, 4999, 0x61, RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_LOC_LEN_ERR },
        { RNIC_OP_SEND, 5000, 0xf, 0, false, 100, 0x61, RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_LOC_LEN_ERR },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct pair_config c = pair_defaults();
        c.access = row[i].access | RNIC_LOCAL_WRITE;
        struct pair *pr = pair_new(&c);
        if (row[i].recv) {
            pair_recv(pr, 1, 70, 0, row[i].recv);
            pair_recv(pr, 1, 71, 0, row[i].recv);
        }
        struct rnic_send_wr wr = pair_wr(pr, 0, row[i].op, 1, 0, row[i].len);
        wr.remote_va += row[i].skew;
        wr.rkey ^= row[i].bad_key ? 0x500 : 0;
        assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
        pair_post(pr, 0, RNIC_OP_WRITE, 2, 0, 10);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 2);
        assert_int_equal(pr->side[0].wc[0].status, row[i].status);
        assert_int_equal(pr->side[0].wc[1].status, RNIC_WC_WR_FLUSH_ERR);
        assert_int_equal(rnic_qp_state(pr->side[0].qp), RNIC_QP_ERROR);
        assert_int_equal(rnic_qp_state(pr->side[1].qp), RNIC_QP_ERROR);
        uint32_t naks = 0;
        for (uint32_t k = 0; k < pr->nlog; k++)
            if (pr->log[k].from == 1 && pr->log[k].syndrome >= 0x60) {
                assert_int_equal(pr->log[k].syndrome, row[i].syndrome);
                naks++;
            }
        assert_int_equal(naks, 1);
        if (row[i].recv) {
            assert_int_equal(pr->side[1].nwc, 2);
            assert_int_equal(pr->side[1].wc[0].status, row[i].at_peer);
            assert_int_equal(pr->side[1].wc[1].status, RNIC_WC_WR_FLUSH_ERR);
        }
        pair_free(pr);
    }
}

static enum pair_fate none_arrive(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    (void)ctx;
    (void)pr;
    (void)p;
    return from == 0 ? PAIR_DROP : PAIR_PASS;
}

/* 9.7.6.1.3: retry_cnt retries a timeout apart, then the QP is in error. */
static void retries_run_out(void **state)
{
    (void)state;
    for (unsigned n = 0; n <= 7; n++) {
        struct pair_config c = pair_defaults();
        c.params.retry_cnt = n;
        c.params.local_ack_timeout = 10;
        struct pair *pr = pair_new(&c);
        pr->fate = none_arrive;
        pair_post(pr, 0, RNIC_OP_SEND, 1, 0, 10);
        pair_post(pr, 0, RNIC_OP_SEND, 2, 0, 10);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 2);
        assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_RETRY_EXC_ERR);
        assert_int_equal(pr->side[0].wc[1].status, RNIC_WC_WR_FLUSH_ERR);
        assert_int_equal(pr->side[0].wc_ps[0], (n + 1) * (INT64_C(4096000) << 10));
        assert_int_equal(pr->side[0].sent, 2 * (n + 1));
        pair_free(pr);
    }
}

static void rnr_retries_run_out(void **state)
{
    (void)state;
    for (unsigned n = 0; n <= 7; n++) {
        struct pair_config c = pair_defaults();
        c.params.rnr_retry = n;
        c.params.rnr_timer = 14; /* 1.28 ms: 16 times in 20 ms */
        struct pair *pr = pair_new(&c);
        pair_post(pr, 0, RNIC_OP_SEND, 1, 0, 10);
        pair_run(pr, 20 * SIM_PS_PER_MS);
        assert_int_equal(pr->side[0].nwc, n < 7); /* 7: for ever */
        if (n < 7)
            assert_int_equal(pr->side[0].wc[0].status, RNIC_WC_RNR_RETRY_EXC_ERR);
        assert_int_equal(PAIR_COUNTER(pr, 0, rnr_nak_retry_err), n < 7 ? n + 1 : 16);
        assert_int_equal(PAIR_COUNTER(pr, 1, out_of_buffer), n < 7 ? n + 1 : 16);
        pair_free(pr);
    }
}

/* Fields that end a message wrongly are refused as invalid, whatever the payload. */
static void malformed_requests(void **state)
{
    (void)state;
    static const struct { uint8_t opcode; uint32_t reth, len; } row[] = {
        { ROCE_SEND_MIDDLE, 0, 1024 }, { ROCE_SEND_LAST, 0, 10 }, { ROCE_WRITE_MIDDLE, 0, 1024 }, { ROCE_WRITE_LAST, 0, 1 },
        { ROCE_WRITE_ONLY, 11, 10 }, { ROCE_WRITE_FIRST, 1024, 1024 }, { ROCE_WRITE_FIRST, 2000, 1000 }, { ROCE_SEND_FIRST, 0, 1000 },
        { ROCE_SEND_ONLY, 0, 1025 }, { ROCE_WRITE_FIRST, UINT32_C(0x80000001), 1024 }, { ROCE_READ_REQUEST, UINT32_C(0x80000001), 0 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct pair_config c = pair_defaults();
        struct pair *pr = pair_new(&c);
        struct pkt p;
        pair_recv(pr, 1, 1, 0, 10000);
        memset(&p, 0, sizeof p);
        p.kind = PKT_ROCE;
        p.roce = (struct pkt_roce){ .opcode = row[i].opcode, .pkey = 0xffff, .psn = 100, .ack_req = 1 };
        p.roce.x.reth.va = PAIR_MEM_VA;
        p.roce.x.reth.len = row[i].reth;
        p.roce.x.reth.rkey = rnic_mr_key(pr->side[1].mr);
        assert_true(pkt_add_pattern(&p, row[i].len, 1, 0));
        pr->side[1].qp->ep.ops->rx(&pr->side[1].qp->ep, 0, &p);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->nlog, 1);
        assert_int_equal(pr->log[0].syndrome, 0x61);
        assert_int_equal(rnic_qp_state(pr->side[1].qp), RNIC_QP_ERROR);
        pair_free(pr);
    }
}

/* The window by packets and by bytes; AckReq where it closes, so nothing stalls. */
static void window_limits_packets_in_flight(void **state)
{
    (void)state;
    static const struct { int64_t packets, bytes; uint64_t most; } row[] = { { 7, 0, 7 }, { 0, 9000, 8 }, { 0, 100, 1 }, { 3, 9000, 3 }, { 1, 0, 1 } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct pair_config c = pair_defaults();
        c.params.window_packets = row[i].packets;
        c.params.window_bytes = row[i].bytes;
        c.params.ack_packets = 0;
        struct pair *pr = pair_new(&c);
        pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 100 * 1024);
        pair_run(pr, 60 * SIM_PS_PER_MS);
        assert_int_equal(pr->side[0].nwc, 1);
        assert_int_equal(pair_most_in_flight(pr), row[i].most);
        pair_free(pr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opcodes_by_place), cmocka_unit_test(bytes_equal_at_all_sizes), cmocka_unit_test(read_takes_psns),
        cmocka_unit_test(read_resumes_where_it_broke), cmocka_unit_test(responses_and_requests_take_turns),
        cmocka_unit_test(outstanding_reads_are_limited), cmocka_unit_test(too_many_reads_are_refused), cmocka_unit_test(fence), cmocka_unit_test(bad_parameters),
        cmocka_unit_test(local_invalidate_in_order), cmocka_unit_test(nak_codes_become_completions), cmocka_unit_test(retries_run_out),
        cmocka_unit_test(rnr_retries_run_out), cmocka_unit_test(malformed_requests), cmocka_unit_test(window_limits_packets_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
