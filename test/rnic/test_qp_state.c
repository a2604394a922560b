/* SPDX-License-Identifier: GPL-2.0-only */
/* The QP's states: every pair of IBTA vol. 1 figure 124 and section 10.3.1, what a post meets in each, and what each change does to work. */
#include "../iwarp/pair.h"
#include "../../model/rnic/rnic_internal.h"

/* Row: from; column: to. 1 where 10.3.1 has a transition by Modify QP, by a completion error, or the state again. */
static const uint8_t table[RNIC_QP_STATES][RNIC_QP_STATES] = {
    /*            RESET INIT RTR RTS SQD SQE ERROR */
    /* RESET */ { 1,    1,   0,  0,  0,  0,  0 },
    /* INIT  */ { 1,    1,   1,  0,  0,  0,  1 },
    /* RTR   */ { 1,    0,   0,  1,  0,  0,  1 },
    /* RTS   */ { 1,    0,   0,  1,  1,  1,  1 },
    /* SQD   */ { 1,    0,   0,  1,  1,  0,  1 },
    /* SQE   */ { 1,    0,   0,  1,  0,  0,  1 },
    /* ERROR */ { 1,    0,   0,  0,  0,  0,  1 },
};

struct fake { struct rnic_qp base; int errors; };

static void on_error(struct rnic_qp *qp) { ((struct fake *)qp)->errors++; }

static void destroy(struct rnic_qp *qp)
{
    rnic_qp_fini(qp);
    free(qp);
}

static int64_t never(const struct endpoint *ep) { return (void)ep, SIM_NEVER_PS; }

static struct fake *new_qp(struct side *s)
{
    static const struct rnic_qp_ops ops = { .name = "none", .error = on_error, .destroy = destroy };
    static const struct endpoint_ops ep = { .ready_ps = never, .next_wake_ps = never };
    struct fake *f = calloc(1, sizeof *f);
    f->base.ep.ops = &ep;
    assert_int_equal(rnic_qp_init(&f->base, &ops, s->dev, s->pd, s->cq, s->cq, 16, 16, 1), SIM_OK);
    return f;
}

static void reach(struct fake *f, unsigned state)
{
    static const enum rnic_qp_state way[] = { RNIC_QP_INIT, RNIC_QP_RTR, RNIC_QP_RTS };
    if (state == RNIC_QP_RESET || state == RNIC_QP_ERROR) {
        assert_int_equal(rnic_qp_modify(&f->base, (enum rnic_qp_state)state), SIM_OK);
        return;
    }
    for (int i = 1; i < 3 && f->base.state < state; i++)
        assert_int_equal(rnic_qp_modify(&f->base, way[i]), SIM_OK);
    if (f->base.state != state)
        assert_int_equal(rnic_qp_modify(&f->base, (enum rnic_qp_state)state), SIM_OK);
}

static struct side device(void)
{
    struct side s;
    memset(&s, 0, sizeof s);
    s.dev = rnic_dev_new(NULL, 4);
    s.pd = rnic_pd_new(s.dev);
    s.mem = calloc(1, 4096);
    s.mr = rnic_mr_reg(s.pd, VA, 4096, ALL, s.mem);
    return s;
}

static void listen_to(struct side *s) { s->cq = rnic_cq_new(s->dev, 64, 0, side_on_wc, s); }

static void every_pair(void **state)
{
    (void)state;
    for (unsigned from = 0; from < RNIC_QP_STATES; from++)
        for (unsigned to = 0; to < RNIC_QP_STATES; to++) {
            struct side s = device();
            listen_to(&s);
            struct fake *f = new_qp(&s);
            reach(f, from);
            assert_int_equal(f->base.state, from);
            int errors = f->errors, rc = rnic_qp_modify(&f->base, (enum rnic_qp_state)to);
            if ((rc == SIM_OK) != table[from][to] || rnic_qp_may_modify((enum rnic_qp_state)from, (enum rnic_qp_state)to) != table[from][to])
                fail_msg("from %u to %u: %d", from, to, rc);
            assert_int_equal(f->base.state, rc == SIM_OK ? to : from);
            assert_int_equal(f->errors - errors, rc == SIM_OK && to == RNIC_QP_ERROR && from != to);
            side_fini(&s);
        }
}

/* 10.3.1: sends are taken in RTS, SQD, SQE and Error, receives in all but Reset; in SQE and Error sends, in Error receives, are flushed. */
static void posts_in_each_state(void **state)
{
    (void)state;
    for (unsigned st = 0; st < RNIC_QP_STATES; st++) {
        struct side s = device();
        listen_to(&s);
        struct fake *f = new_qp(&s);
        reach(f, st);
        struct rnic_send_wr wr = { .wr_id = 1, .op = RNIC_OP_SEND, .flags = RNIC_SEND_SIGNALED, .sge = { VA, 10, rnic_mr_key(s.mr) } };
        struct rnic_recv_wr rr = { 2, { VA, 10, rnic_mr_key(s.mr) } };
        bool sends = st == RNIC_QP_RTS || st == RNIC_QP_SQD || st == RNIC_QP_SQE || st == RNIC_QP_ERROR;
        assert_int_equal(rnic_post_send(&f->base, &wr), sends ? SIM_OK : SIM_ERR_STATE);
        assert_int_equal(s.nwc, st == RNIC_QP_SQE || st == RNIC_QP_ERROR);
        assert_int_equal(rnic_post_recv(&f->base, &rr), st == RNIC_QP_RESET ? SIM_ERR_STATE : SIM_OK);
        assert_int_equal(s.nwc, st == RNIC_QP_ERROR ? 2 : st == RNIC_QP_SQE);
        for (uint32_t i = 0; i < s.nwc; i++)
            assert_int_equal(s.wc[i].status, RNIC_WC_WR_FLUSH_ERR);
        side_fini(&s);
    }
}

/* To Error: work not done is flushed in order, unsignaled work too, what is done already keeps its status; to Reset: it goes without a word. */
static void work_in_the_end(void **state)
{
    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        struct side s = device();
        listen_to(&s);
        struct fake *f = new_qp(&s);
        reach(f, RNIC_QP_RTS);
        for (uint64_t k = 0; k < 4; k++) {
            struct rnic_send_wr wr = { .wr_id = k, .op = RNIC_OP_SEND, .flags = k == 3 ? 0 : RNIC_SEND_SIGNALED, .sge = { VA, 10, rnic_mr_key(s.mr) } };
            struct rnic_recv_wr rr = { 10 + k, { VA, 10, rnic_mr_key(s.mr) } };
            assert_int_equal(rnic_post_send(&f->base, &wr), SIM_OK);
            assert_int_equal(rnic_post_recv(&f->base, &rr), SIM_OK);
        }
        rnic_complete_send(&f->base, 1, RNIC_WC_SUCCESS, 0); /* waits for 0 */
        assert_int_equal(s.nwc, 0);
        assert_int_equal(rnic_qp_modify(&f->base, reset ? RNIC_QP_RESET : RNIC_QP_ERROR), SIM_OK);
        assert_int_equal(s.nwc, reset ? 0 : 8);
        for (uint32_t k = 0; k < s.nwc; k++) {
            assert_int_equal(s.wc[k].wr_id, k < 4 ? k : 10 + k - 4);
            assert_int_equal(s.wc[k].status, k == 1 ? RNIC_WC_SUCCESS : RNIC_WC_WR_FLUSH_ERR);
        }
        side_fini(&s);
    }
}

/* RFC 5040 8.1.1: a CQ that overflows ends the QPs that use it and no other. */
static void a_full_cq(void **state)
{
    (void)state;
    struct side s = device();
    listen_to(&s);
    struct fake *b = new_qp(&s);
    reach(b, RNIC_QP_RTS);
    struct rnic_cq *rest = s.cq;
    s.cq = rnic_cq_new(s.dev, 2, 0, side_on_wc, &s);
    struct fake *a = new_qp(&s);
    reach(a, RNIC_QP_RTS);
    rnic_cq_notify_solicited(s.cq, true); /* nobody looks */
    for (uint64_t k = 0; k < 3; k++) {
        struct rnic_send_wr wr = { .wr_id = k, .op = RNIC_OP_SEND, .flags = RNIC_SEND_SIGNALED, .sge = { VA, 10, rnic_mr_key(s.mr) } };
        assert_int_equal(rnic_post_send(&a->base, &wr), SIM_OK);
        rnic_complete_send(&a->base, (uint32_t)k, RNIC_WC_SUCCESS, 0);
    }
    assert_int_equal(a->base.state, RNIC_QP_ERROR);
    assert_int_equal(b->base.state, RNIC_QP_RTS);
    assert_int_equal(s.nwc, 3); /* the error is an event */
    assert_int_equal(s.wc[2].status, RNIC_WC_FATAL_ERR);
    s.cq = rest;
    side_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_pair), cmocka_unit_test(posts_in_each_state), cmocka_unit_test(work_in_the_end),
                                        cmocka_unit_test(a_full_cq) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
