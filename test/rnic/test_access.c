/* SPDX-License-Identifier: GPL-2.0-only */
/* Which operation needs which rights of which region, on iWARP (RFC 5040 5.2 and 7.2, RFC 5041 7.1, RFC 7306 5) and on RoCE (IBTA vol. 1, 10.6.3.2 and
 * 9.7.4): every operation with every set of rights on both sides. */
#define MEM 4096u
#include "../iwarp/pair.h"
#include "../../model/roce/roce.h"

struct need { enum rnic_opcode op; const char *name; unsigned local[2], remote; }; /* [0] iWARP, [1] RoCE */

#define L RNIC_LOCAL_WRITE
#define W RNIC_REMOTE_WRITE
#define R RNIC_REMOTE_READ
#define A RNIC_REMOTE_ATOMIC
static const struct need needs[] = {
    { RNIC_OP_SEND, "Send", { 0, 0 }, L },                   /* of the receive's buffer */
    { RNIC_OP_WRITE, "Write", { 0, 0 }, W },
    { RNIC_OP_WRITE_IMM, "Write with immediate", { 0, 0 }, W },
    { RNIC_OP_READ, "Read", { L | W, L }, R },               /* on iWARP the response is a tagged message to the sink, which its region must allow */
    { RNIC_OP_FETCH_ADD, "FetchAdd", { L, L }, A },          /* the answer is untagged: RFC 7306 5.2.2 */
    { RNIC_OP_CMP_SWAP, "CmpSwap", { L, L }, A },
};

struct two { struct side s[2]; struct line l; struct iwarp_params iwarp; struct roce_params roce; struct tcp_params tcp; };

static void open_roce(struct two *t)
{
    param_defaults(&roce_params_table, &t->roce);
    for (int i = 0; i < 2; i++) {
        rnic_qp_destroy(t->s[i].qp);
        t->s[i].qp = roce_qp_new(t->s[i].dev, t->s[i].pd, t->s[i].cq, t->s[i].cq, &t->roce, cc_find("none"), NULL, INT64_C(100000000000), (uint32_t)i, 1);
        assert_non_null(t->s[i].qp);
    }
    for (int i = 0; i < 2; i++) {
        struct roce_peer peer = { .local_addr = pkt_addr_of_node((uint32_t)i), .remote_addr = pkt_addr_of_node((uint32_t)!i), .remote_qpn = rnic_qp_num(t->s[!i].qp),
                                  .remote_psn = roce_qp_first_psn(t->s[!i].qp), .ttl = 64 };
        assert_int_equal(roce_qp_connect(t->s[i].qp, &peer), SIM_OK);
    }
    line_init(&t->l, &t->s[0].qp->ep, &t->s[1].qp->ep, 3);
}

static void open_iwarp(struct two *t)
{
    line_init(&t->l, &t->s[0].qp->ep, &t->s[1].qp->ep, 3);
    for (int i = 1; i >= 0; i--) {
        struct iwarp_peer peer = peer_of(i);
        assert_int_equal(i ? iwarp_qp_accept(t->s[1].qp, &peer, side_on_up, &t->s[1]) : iwarp_qp_connect(t->s[0].qp, &peer, side_on_up, &t->s[0]), SIM_OK);
    }
    line_run_for(&t->l, SIM_PS_PER_MS);
    assert_int_equal(t->s[1].status, SIM_OK);
}

static bool succeeds(const struct need *n, bool roce, unsigned local, unsigned remote)
{
    struct two *t = calloc(1, sizeof *t);
    t->iwarp = iwarp_defaults();
    t->iwarp.immediate = t->iwarp.atomics = 1;
    t->tcp = toe();
    for (int i = 0; i < 2; i++)
        side_init(&t->s[i], i, &t->iwarp, &t->tcp, i ? remote : local);
    if (roce)
        open_roce(t);
    else
        open_iwarp(t);
    uint32_t len = 8;
    struct rnic_recv_wr recv = { 9, { VA + 64, len, rnic_mr_key(t->s[1].mr) } };
    bool ok = n->op != RNIC_OP_SEND || rnic_post_recv(t->s[1].qp, &recv) == SIM_OK;
    if (n->op == RNIC_OP_WRITE_IMM) {
        recv.sge.len = 0;
        assert_int_equal(rnic_post_recv(t->s[1].qp, &recv), SIM_OK);
    }
    struct rnic_send_wr wr = { .op = n->op, .flags = RNIC_SEND_SIGNALED, .sge = { VA, len, rnic_mr_key(t->s[0].mr) }, .remote_va = VA + 64, .rkey = rnic_mr_key(t->s[1].mr),
                               .swap_add = 1 };
    ok = ok && rnic_post_send(t->s[0].qp, &wr) == SIM_OK;
    line_run_for(&t->l, SIM_PS_PER_MS);
    ok = ok && t->s[0].nwc == 1 && t->s[0].wc[0].status == RNIC_WC_SUCCESS && rnic_qp_state(t->s[1].qp) != RNIC_QP_ERROR;
    bool to_remote = n->op != RNIC_OP_READ && n->op != RNIC_OP_FETCH_ADD && n->op != RNIC_OP_CMP_SWAP;
    bool moved = to_remote ? memcmp(t->s[1].mem + 64, t->s[0].mem, len) == 0 : t->s[0].mem[0] != pkt_pattern_byte(1, 0);
    if (ok != moved)
        fail_msg("%s, %s, local %x, remote %x: success %d, bytes moved %d", n->name, roce ? "RoCE" : "iWARP", local, remote, ok, moved);
    line_fini(&t->l);
    side_fini(&t->s[0]);
    side_fini(&t->s[1]);
    free(t);
    return ok;
}

/* Registering for remote writes or atomics gives local write, as both verbs demand it. */
static unsigned with_local(unsigned access) { return access | (access & (W | A) ? L : 0u); }

static void rights_decide(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        for (int roce = 0; roce < 2; roce++)
            for (unsigned k = 0; k < 256; k++) {
                unsigned local = k & 15, remote = k >> 4, want = needs[i].local[roce];
                bool may = (with_local(local) & want) == want && (with_local(remote) & needs[i].remote) == needs[i].remote;
                if (succeeds(&needs[i], roce, local, remote) != may)
                    fail_msg("%s, %s, local %x, remote %x: expected %d", needs[i].name, roce ? "RoCE" : "iWARP", local, remote, may);
            }
}

/* A region limited to a QP serves that one (RFC 5041 8.2), one of another protection domain none (RFC 5040 8.1.1); a revoked one nobody. */
static void scope_of_a_region(void **state)
{
    (void)state;
    struct side s;
    struct iwarp_params p = iwarp_defaults();
    struct tcp_params tcp = toe();
    memset(&s, 0, sizeof s);
    side_init(&s, 0, &p, &tcp, ALL);
    struct rnic_qp *second = iwarp_qp_new(s.dev, s.pd, s.cq, s.cq, &p, &tcp, cc_find("reno"), NULL, INT64_C(100000000000), 1, 1);
    struct rnic_pd *other = rnic_pd_new(s.dev);
    struct rnic_qp *third = iwarp_qp_new(s.dev, other, s.cq, s.cq, &p, &tcp, cc_find("reno"), NULL, INT64_C(100000000000), 2, 1);
    uint32_t key = rnic_mr_key(s.mr);
    assert_int_equal(rnic_check(s.qp, key, VA, 1, W), RNIC_FAULT_NONE);
    assert_int_equal(rnic_check(second, key, VA, 1, W), RNIC_FAULT_NONE);
    assert_int_equal(rnic_check(third, key, VA, 1, W), RNIC_FAULT_PD);
    assert_int_equal(rnic_remote_inv(third, key), RNIC_FAULT_PD);
    rnic_mr_limit(s.mr, s.qp);
    assert_int_equal(rnic_check(s.qp, key, VA, 1, W), RNIC_FAULT_NONE);
    assert_int_equal(rnic_check(second, key, VA, 1, W), RNIC_FAULT_PD);
    assert_int_equal(rnic_remote_inv(second, key), RNIC_FAULT_PD);
    rnic_mr_limit(s.mr, NULL);
    rnic_mr_set_shared(s.mr, true);
    assert_int_equal(rnic_remote_inv(second, key), RNIC_FAULT_SHARED);
    assert_int_equal(rnic_check(second, key, VA, 1, W), RNIC_FAULT_NONE);
    rnic_mr_set_shared(s.mr, false);
    assert_int_equal(rnic_remote_inv(second, key), RNIC_FAULT_NONE);
    assert_int_equal(rnic_check(s.qp, key, VA, 1, 0), RNIC_FAULT_KEY);
    rnic_mr_dereg(s.mr);
    assert_int_equal(rnic_check(s.qp, key, VA, 1, 0), RNIC_FAULT_KEY);
    struct rnic_mr *again = rnic_mr_reg(s.pd, VA, MEM, ALL, s.mem);
    assert_int_not_equal(rnic_mr_key(again), key); /* the old key is not the new region's */
    assert_int_equal(rnic_check(s.qp, key, VA, 1, 0), RNIC_FAULT_KEY);
    side_fini(&s);
}

/* RFC 7306 5.3: atomic operations of two streams of one card on one cell add up, and each has seen a value of its own. */
static void atomics_of_two_streams(void **state)
{
    (void)state;
    struct side s;
    struct iwarp_params p = iwarp_defaults();
    struct tcp_params tcp = toe();
    memset(&s, 0, sizeof s);
    side_init(&s, 0, &p, &tcp, ALL);
    struct rnic_qp *qp[2] = { s.qp, iwarp_qp_new(s.dev, s.pd, s.cq, s.cq, &p, &tcp, cc_find("reno"), NULL, INT64_C(100000000000), 1, 1) };
    uint64_t orig;
    memset(s.mem, 0, 8);
    for (uint64_t k = 0; k < 200; k++) {
        assert_int_equal(rnic_atomic(qp[k % 3 == 0], rnic_mr_key(s.mr), VA, RNIC_OP_FETCH_ADD, 0, 1, &orig), RNIC_FAULT_NONE);
        assert_true(orig == k);
    }
    assert_int_equal(rnic_atomic(qp[0], rnic_mr_key(s.mr), VA, RNIC_OP_CMP_SWAP, 200, 7, &orig), RNIC_FAULT_NONE);
    assert_int_equal(rnic_atomic(qp[1], rnic_mr_key(s.mr), VA, RNIC_OP_CMP_SWAP, 200, 8, &orig), RNIC_FAULT_NONE);
    assert_true(orig == 7 && s.mem[0] == 7);
    side_fini(&s);
}

/* Ends of a region: RFC 5041 7.1 checks 3 to 5. */
static void bounds_of_a_region(void **state)
{
    (void)state;
    struct side s;
    struct iwarp_params p = iwarp_defaults();
    struct tcp_params tcp = toe();
    memset(&s, 0, sizeof s);
    side_init(&s, 0, &p, &tcp, ALL);
    struct rnic_mr *high = rnic_mr_reg(s.pd, UINT64_MAX - 99, 100, ALL, NULL);
    uint32_t key = rnic_mr_key(s.mr), top = rnic_mr_key(high);
    const struct { uint32_t key; uint64_t va, len; enum rnic_fault want; } t[] = {
        { key, VA, MEM, RNIC_FAULT_NONE }, { key, VA, MEM + 1, RNIC_FAULT_BOUNDS }, { key, VA - 1, 1, RNIC_FAULT_BOUNDS }, { key, VA + MEM - 1, 1, RNIC_FAULT_NONE },
        { key, VA + MEM, 1, RNIC_FAULT_BOUNDS }, { key, VA, UINT32_MAX, RNIC_FAULT_BOUNDS }, { key, 0, 0, RNIC_FAULT_NONE }, { 12345, 1, 0, RNIC_FAULT_NONE },
        { top, UINT64_MAX - 98, 50, RNIC_FAULT_NONE }, { top, UINT64_MAX - 98, 200, RNIC_FAULT_WRAP }, { key, UINT64_MAX, 2, RNIC_FAULT_WRAP },
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        if (rnic_check(s.qp, t[i].key, t[i].va, t[i].len, RNIC_REMOTE_WRITE) != t[i].want)
            fail_msg("case %zu", i);
    side_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rights_decide), cmocka_unit_test(scope_of_a_region), cmocka_unit_test(atomics_of_two_streams), cmocka_unit_test(bounds_of_a_region) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
