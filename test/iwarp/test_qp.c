/* SPDX-License-Identifier: GPL-2.0-only */
/* Two iWARP QPs back to back: operations of all sizes, as structs and as bytes; what the headers cost. */
#include "pair.h"

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
                    post_recv(&w->s[1], 9, off, 300000);
                uint8_t after0 = w->s[0].mem[off + size[i]], after1 = w->s[1].mem[off + size[i]];
                post(w, 0, op[o], 1, off, size[i]);
                pair_run_us(w, 100000);
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

/* RFC 5040 6.2: what was posted before the close arrives whole and is answered, then both streams end without a reset. */
static void graceful_close(void **state)
{
    (void)state;
    struct pair *w = connected(false);
    assert_int_equal(w->s[0].nwc, 0);
    post(w, 0, RNIC_OP_WRITE, 1, 0, 300000);
    post(w, 0, RNIC_OP_READ, 2, 400000, 50000);
    assert_int_equal(iwarp_qp_close(w->s[0].qp), SIM_OK);
    pair_run_us(w, 50000);
    assert_int_equal(w->s[0].nwc, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(w->s[0].wc[i].status, RNIC_WC_SUCCESS);
    assert_memory_equal(w->s[1].mem, w->s[0].mem, 300000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rnic_qp_state(w->s[i].qp), RNIC_QP_ERROR);
        assert_int_equal(iwarp_qp_terminate_sent(w->s[i].qp), -1);
        assert_int_equal(iwarp_qp_close(w->s[i].qp), SIM_ERR_STATE);
    }
    assert_int_equal(tcp_state(iwarp_qp_tcp(w->s[0].qp)), TCP_TIME_WAIT);
    assert_int_equal(tcp_state(iwarp_qp_tcp(w->s[1].qp)), TCP_CLOSED);
    pair_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(graceful_close), cmocka_unit_test(bytes_equal_at_all_sizes), cmocka_unit_test(wire_efficiency) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
