/* SPDX-License-Identifier: GPL-2.0-only */
/* Unreliable connection and datagram: messages whole or not at all, nothing acknowledged. */
#include "pair.h"

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

static struct pair *open_pair(int service, struct script *s)
{
    struct pair_config c = pair_defaults();
    c.params.service = service;
    c.psn[0] = 0xfffffe;
    struct pair *pr = pair_new(&c);
    pr->fate = s ? scripted : NULL;
    pr->ctx = s;
    return pr;
}

static void uc_opcodes_and_completions(void **state)
{
    (void)state;
    struct pair *pr = open_pair(ROCE_SERVICE_UC, NULL);
    pair_recv(pr, 1, 70, 65536, 4000);
    pair_recv(pr, 1, 71, 0, 0);
    pair_post(pr, 0, RNIC_OP_WRITE, 1, 0, 3000);
    pair_post(pr, 0, RNIC_OP_SEND, 2, 8192, 2500);
    pair_post(pr, 0, RNIC_OP_WRITE_IMM, 3, 16384, 100);
    pair_post(pr, 0, RNIC_OP_WRITE, 4, 0, 0);
    pair_run(pr, SIM_NEVER_PS);
    static const uint8_t opcode[] = { 0x26, 0x27, 0x28, 0x20, 0x21, 0x22, 0x2b, 0x2a };
    assert_int_equal(pr->nlog, 8); /* nothing comes back */
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(pr->log[i].opcode, opcode[i]);
        assert_int_equal(pr->log[i].psn, (0xfffffe + i) & 0xffffff);
        assert_int_equal(pr->log[i].ack_req, 0);
    }
    assert_int_equal(pr->side[0].nwc, 4);
    assert_int_equal(pr->side[1].nwc, 2);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(pr->side[0].wc[i].wr_id, i + 1);
    assert_true(pr->side[0].wc_ps[3] <= pr->log[7].at_ps); /* done when they have left */
    assert_int_equal(pr->side[1].wc[0].byte_len, 2500);
    assert_int_equal(pr->side[1].wc[1].byte_len, 100);
    assert_memory_equal(pr->side[0].mem, pr->side[1].mem, 3000);
    assert_memory_equal(pr->side[0].mem + 8192, pr->side[1].mem + 65536, 2500);
    assert_memory_equal(pr->side[0].mem + 16384, pr->side[1].mem + 16384, 100);
    pair_free(pr);
}

/* A hole anywhere in a message costs that message alone, and not its receive. */
static void uc_message_with_a_hole_is_lost_whole(void **state)
{
    (void)state;
    for (uint64_t hole = 4; hole <= 6; hole++) {
        struct script s = { 0, { hole }, 1 };
        struct pair *pr = open_pair(ROCE_SERVICE_UC, &s);
        for (uint32_t m = 0; m < 3; m++)
            pair_recv(pr, 1, 70 + m, 65536 + 4096 * m, 4096);
        for (uint32_t m = 0; m < 3; m++)
            pair_post(pr, 0, RNIC_OP_SEND, m, 4096 * m, 3000);
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 3);
        assert_int_equal(pr->side[1].nwc, 2);
        assert_int_equal(pr->side[1].wc[0].wr_id, 70);
        assert_int_equal(pr->side[1].wc[1].wr_id, 71);
        assert_memory_equal(pr->side[0].mem, pr->side[1].mem + 65536, 3000);
        assert_memory_equal(pr->side[0].mem + 8192, pr->side[1].mem + 65536 + 4096, 3000);
        assert_int_equal(PAIR_COUNTER(pr, 1, out_of_sequence), 1);
        assert_int_equal(PAIR_COUNTER(pr, 1, dropped_messages), hole != 4); /* of the one whose first packet is lost nothing is known */
        pair_free(pr);
    }
}

/* What RC would NAK is dropped, and the QP lives on. */
static void uc_faults_are_silent(void **state)
{
    (void)state;
    struct pair *pr = open_pair(ROCE_SERVICE_UC, NULL);
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_WRITE, 1, 0, 2000);
    wr.rkey ^= 0x100;
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    pair_post(pr, 0, RNIC_OP_SEND, 2, 0, 2000);       /* no receive */
    pair_run(pr, SIM_NEVER_PS);
    pair_recv(pr, 1, 70, 65536, 1500);
    pair_post(pr, 0, RNIC_OP_SEND, 3, 0, 2000);       /* longer than the receive */
    pair_post(pr, 0, RNIC_OP_SEND, 4, 4096, 1500);    /* which serves this one */
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->side[0].nwc, 4);
    assert_int_equal(pr->side[1].nwc, 1);
    assert_int_equal(pr->side[1].wc[0].status, RNIC_WC_SUCCESS);
    assert_memory_equal(pr->side[0].mem + 4096, pr->side[1].mem + 65536, 1500);
    assert_int_equal(PAIR_COUNTER(pr, 1, dropped_messages), 3);
    assert_int_equal(PAIR_COUNTER(pr, 1, out_of_buffer), 1);
    assert_int_equal(rnic_qp_state(pr->side[1].qp), RNIC_QP_RTS);
    static const enum rnic_opcode no[] = { RNIC_OP_READ, RNIC_OP_FETCH_ADD, RNIC_OP_CMP_SWAP, RNIC_OP_SEND_INV };
    for (size_t i = 0; i < 4; i++) {
        wr = pair_wr(pr, 0, no[i], 9, 0, 8);
        assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_ERR_PARAM);
    }
    pair_free(pr);
}

static void ud_datagram(void **state)
{
    (void)state;
    struct pair *pr = open_pair(ROCE_SERVICE_UD, NULL);
    pair_recv(pr, 1, 70, 65536, 1024 + RNIC_GRH_BYTES);
    pair_recv(pr, 1, 71, 69632, 1024 + RNIC_GRH_BYTES);
    pair_post(pr, 0, RNIC_OP_SEND, 1, 0, 1024);
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_SEND_IMM, 2, 2048, 5);
    wr.imm_or_inv = 0x12345678;
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    pair_run(pr, SIM_NEVER_PS);
    assert_int_equal(pr->nlog, 2);
    assert_int_equal(pr->log[0].opcode, ROCE_UD_SEND_ONLY);
    assert_int_equal(pr->log[1].opcode, ROCE_UD_SEND_ONLY_IMM);
    assert_int_equal(pr->log[1].frame_len, 14 + 20 + 8 + 12 + 8 + 4 + 5 + 3 + 4 + 4);
    assert_int_equal(pr->side[1].nwc, 2);
    const struct rnic_wc *wc = pr->side[1].wc;
    assert_int_equal(wc[0].byte_len, 1024 + 40);
    assert_int_equal(wc[1].byte_len, 5 + 40);
    assert_int_equal(wc[1].imm, 0x12345678);
    assert_int_equal(wc[0].src_qpn, rnic_qp_num(pr->side[0].qp));
    assert_int_equal(wc[0].src_addr, pkt_addr_of_node(0));
    assert_memory_equal(pr->side[0].mem, pr->side[1].mem + 65536 + 40, 1024);
    assert_memory_equal(pr->side[0].mem + 2048, pr->side[1].mem + 69632 + 40, 5);
    /* the IP header: version, addresses, a checksum that holds */
    const uint8_t *ip = pr->side[1].mem + 65536 + 20;
    static const uint8_t addresses[] = { 10, 0, 0, 1, 10, 0, 0, 2 };
    assert_int_equal(ip[0], 0x45);
    assert_int_equal(ip[2] << 8 | ip[3], 20 + 8 + 12 + 8 + 1024 + 4);
    assert_int_equal(ip[9], 17);
    assert_memory_equal(ip + 12, addresses, 8);
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
    pair_free(pr);
}

static void ud_addresses_and_drops(void **state)
{
    (void)state;
    struct pair *pr = open_pair(ROCE_SERVICE_UD, NULL);
    struct rnic_send_wr wr = pair_wr(pr, 0, RNIC_OP_SEND, 1, 0, 100);
    wr.ud.addr = pkt_addr_of_node(5);
    wr.ud.qpn = 0x4321;
    wr.ud.qkey = 0x11111111;
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_OK);
    struct pkt p;
    memset(&p, 0, sizeof p);
    struct endpoint *ep = &pr->side[0].qp->ep;
    assert_true(ep->ops->tx(ep, 0, &p));
    assert_int_equal(p.dst, pkt_addr_of_node(5));
    assert_int_equal(p.roce.dqpn, 0x4321);
    assert_int_equal(p.roce.x.deth.qkey, 0x11111111);
    assert_int_equal(p.roce.x.deth.sqpn, rnic_qp_num(pr->side[0].qp));
    assert_int_equal(p.flow_hash, pkt_flow_hash(p.src, p.dst, 17, p.sport, p.dport));
    /* another Q_Key, no receive, a receive too short: dropped, each counted by its name */
    ep = &pr->side[1].qp->ep;
    ep->ops->rx(ep, 0, &p);
    assert_int_equal(PAIR_COUNTER(pr, 1, qkey_viol), 1);
    p.roce.x.deth.qkey = 0;
    ep->ops->rx(ep, 0, &p);
    assert_int_equal(PAIR_COUNTER(pr, 1, out_of_buffer), 1);
    pair_recv(pr, 1, 70, 65536, 139);
    ep->ops->rx(ep, 0, &p);
    assert_int_equal(PAIR_COUNTER(pr, 1, dropped_messages), 1);
    assert_int_equal(pr->side[1].nwc, 0);
    pkt_release_payload(&p);
    wr.sge.len = 1025; /* one packet is all there is */
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_ERR_PARAM);
    wr = pair_wr(pr, 0, RNIC_OP_WRITE, 1, 0, 100);
    assert_int_equal(rnic_post_send(pr->side[0].qp, &wr), SIM_ERR_PARAM);
    pair_free(pr);
}

/* Random loss, duplication and delay: what is delivered is whole and was sent, in order, none twice. */
static enum pair_fate weather(void *ctx, struct pair *pr, int from, const struct pkt *p)
{
    uint32_t x = sim_rng_below(ctx, 100);
    (void)from;
    (void)p;
    pr->late_ps = (int64_t)sim_rng_below(ctx, 3000) * SIM_PS_PER_NS;
    return x < 5 ? PAIR_DROP : x < 8 ? PAIR_TWICE : x < 11 ? PAIR_LATE : PAIR_PASS;
}

static void uc_delivers_whole_messages_only(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct sim_rng rng;
        struct pair *pr = open_pair(ROCE_SERVICE_UC, NULL);
        sim_rng_init(&rng, seed, 0, SIM_RNG_TEST);
        pr->fate = weather;
        pr->ctx = &rng;
        uint32_t len[40];
        for (uint32_t m = 0; m < 40; m++)
            pair_recv(pr, 1, m, 524288 + 8192 * m, 8192);
        for (uint32_t m = 0; m < 40; m++)
            pair_post(pr, 0, RNIC_OP_SEND, m, 8192 * m, len[m] = sim_rng_below(&rng, 5000));
        pair_run(pr, SIM_NEVER_PS);
        assert_int_equal(pr->side[0].nwc, 40);
        assert_true(pr->side[1].nwc < 44);
        for (uint32_t i = 0; i < pr->side[1].nwc; i++) {
            const struct rnic_wc *wc = &pr->side[1].wc[i];
            uint32_t m = 0;
            assert_int_equal(wc->wr_id, i);
            while (m < 40 && (len[m] != wc->byte_len || memcmp(pr->side[0].mem + 8192 * m, pr->side[1].mem + 524288 + 8192 * i, len[m])))
                m++;
            assert_true(m < 40);
        }
        pair_free(pr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uc_opcodes_and_completions), cmocka_unit_test(uc_message_with_a_hole_is_lost_whole), cmocka_unit_test(uc_faults_are_silent),
        cmocka_unit_test(ud_datagram), cmocka_unit_test(ud_addresses_and_drops), cmocka_unit_test(uc_delivers_whole_messages_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
