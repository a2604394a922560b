/* SPDX-License-Identifier: GPL-2.0-only */
/* RFC 7306: Immediate Data and atomic operations over iWARP. */
#include "raw.h"

static struct iwarp_params extended(void)
{
    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1;
    p.immediate = p.atomics = 1;
    return p;
}

static struct raw *started(void)
{
    struct iwarp_params p = extended();
    struct raw *r = raw_new(&p, false);
    raw_start(r);
    return r;
}

static uint32_t key(const struct raw *r) { return rnic_mr_key(r->s.mr); }

static uint64_t get64(const uint8_t *b)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | b[i];
    return v;
}

static void put64(uint8_t *b, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        b[i] = (uint8_t)(v >> 8 * i);
}

/* Section 6.3: a Write, then 8 bytes to queue 0 with the next MSN of it; the verbs' 32 bits last. Section 6.1: the completion brings them. */
static void immediate_on_the_wire(void **state)
{
    (void)state;
    for (int se = 0; se < 2; se++)
        for (uint32_t len = 0; len < 20; len += 10) {
            struct raw *r = started();
            struct rnic_send_wr wr = { .op = RNIC_OP_WRITE_IMM, .flags = RNIC_SEND_SIGNALED | (se ? RNIC_SEND_SOLICITED : 0), .sge = { VA, len, key(r) }, .imm_or_inv = 0x01020304 };
            static uint8_t b[65536];
            struct ddp_hdr h;
            uint32_t n;
            assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
            raw_run_us(r, 100);
            if (len > 0) {
                assert_true(raw_heard(r, &h, b, &n));
                assert_true(h.tagged && h.opcode == RDMAP_WRITE && n == len && h.last);
            }
            assert_true(raw_heard(r, &h, b, &n));
            assert_true(!h.tagged && h.qn == 0 && h.msn == 1 && h.mo == 0 && h.last && h.stag == 0);
            assert_int_equal(h.opcode, se ? RDMAP_IMMEDIATE_SE : RDMAP_IMMEDIATE);
            assert_int_equal(n, 8);
            assert_memory_equal(b, "\0\0\0\0\1\2\3\4", 8);
            assert_int_equal(r->in_used, r->in_len);
            assert_int_equal(r->s.nwc, 1);
            assert_int_equal(r->s.wc[0].status, RNIC_WC_SUCCESS);
            raw_free(r);
        }
}

/* Section 6.3, 6.4: Sends and Immediate Data take receives in the order sent; the Write before is all there. */
static void immediate_is_delivered_in_order(void **state)
{
    (void)state;
    struct iwarp_params p = extended();
    struct pair *w = pair_up(&p, &p, true);
    for (uint64_t k = 0; k < 4; k++)
        post_recv(&w->s[1], k, 1000 * k, 200);
    post(w, 0, RNIC_OP_SEND, 0, 0, 100);
    struct rnic_send_wr wr = work(w, 0, RNIC_OP_WRITE_IMM, 1, 50000, 20000);
    wr.imm_or_inv = 0xdeadbeef;
    wr.flags |= RNIC_SEND_SOLICITED;
    post_wr(w, 0, &wr);
    post(w, 0, RNIC_OP_SEND, 2, 2000, 100);
    wr = work(w, 0, RNIC_OP_WRITE_IMM, 3, 0, 0);
    wr.imm_or_inv = 7;
    post_wr(w, 0, &wr);
    uint8_t *untouched = malloc(200);
    memcpy(untouched, w->s[1].mem + 1000, 200);
    pair_run_us(w, 1000);
    assert_int_equal(w->s[0].nwc, 4);
    assert_int_equal(w->s[1].nwc, 4);
    for (uint32_t k = 0; k < 4; k++)
        assert_true(w->s[1].wc[k].wr_id == k && w->s[1].wc[k].has_imm == k % 2 && w->s[1].wc[k].solicited == (k == 1));
    assert_true(w->s[1].wc[1].imm == 0xdeadbeef && w->s[1].wc[1].byte_len == 20000);
    assert_true(w->s[1].wc[3].imm == 7 && w->s[1].wc[3].byte_len == 0);
    assert_memory_equal(w->s[0].mem + 50000, w->s[1].mem + 50000, 20000);
    assert_memory_equal(w->s[1].mem + 1000, untouched, 200); /* the data is in the completion */
    free(untouched);
    pair_free(w);
}

/* Section 6.3: exactly 8 bytes; and a receive must be there. */
static void immediate_of_another_length(void **state)
{
    (void)state;
    static const struct { uint32_t len; bool recv; int code; } t[] = { { 7, true, 0x002ff }, { 9, true, 0x10205 }, { 0, true, 0x002ff }, { 8, false, 0x10202 } };
    for (size_t i = 0; i < 4; i++) {
        struct raw *r = started();
        if (t[i].recv)
            post_recv(&r->s, 1, 0, 100);
        struct ddp_hdr h = untagged(RDMAP_IMMEDIATE, 0, 1);
        raw_say_ddp(r, &h, "123456789", t[i].len);
        struct rdmap_terminate term;
        raw_heard_terminate(r, &term);
        assert_int_equal(term.layer << 16 | term.etype << 8 | term.code, t[i].code);
        raw_free(r);
    }
}

/* In the middle of a Send of several segments: not expected there. */
static void immediate_inside_a_send(void **state)
{
    (void)state;
    struct raw *r = started();
    post_recv(&r->s, 1, 0, 100);
    post_recv(&r->s, 2, 200, 100);
    struct ddp_hdr h = untagged(RDMAP_SEND, 0, 1);
    h.last = 0;
    raw_say_ddp(r, &h, "first", 5);
    h = untagged(RDMAP_IMMEDIATE, 0, 1);
    raw_say_ddp(r, &h, "12345678", 8);
    assert_int_equal(iwarp_qp_terminate_sent(r->s.qp), 0x00206);
    assert_int_equal(r->s.nwc, 2);
    assert_true(r->s.wc[0].status == RNIC_WC_WR_FLUSH_ERR && r->s.wc[1].status == RNIC_WC_WR_FLUSH_ERR);
    raw_free(r);
}

/* --- atomics --- */

/* Section 5.2.1, figures 4 and 5; the answer of 5.2.2 completes it, its identifier reflected. */
static void atomic_request_on_the_wire(void **state)
{
    (void)state;
    struct raw *r = started();
    static uint8_t b[65536];
    for (uint32_t k = 0; k < 2; k++) {
        struct rnic_send_wr wr = { .wr_id = k, .op = k ? RNIC_OP_CMP_SWAP : RNIC_OP_FETCH_ADD, .flags = RNIC_SEND_SIGNALED, .sge = { VA + 8 * k, 8, key(r) },
                                   .remote_va = 0x1122334455667788, .rkey = 0xaabbccdd, .compare = 0x5566, .swap_add = 0x1234 };
        struct ddp_hdr h;
        struct rdmap_atomic_request a;
        uint32_t n;
        assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
        raw_run_us(r, 100);
        assert_true(raw_heard(r, &h, b, &n));
        assert_true(!h.tagged && h.opcode == RDMAP_ATOMIC_REQUEST && h.qn == 1 && h.msn == k + 1 && h.mo == 0 && h.last && h.stag == 0);
        assert_int_equal(n, 52);
        assert_memory_equal(b, k ? "\0\0\0\2" : "\0\0\0\0", 4);
        rdmap_atomic_request_decode(b, &a);
        assert_true(a.stag == 0xaabbccdd && a.to == 0x1122334455667788 && a.add_swap == 0x1234);
        assert_true(a.add_swap_mask == (k ? UINT64_MAX : 0)); /* a 64-bit add; a whole swap */
        assert_true(a.compare == (k ? 0x5566 : 0) && a.compare_mask == UINT64_MAX);
        struct rdmap_atomic_response resp = { a.request_id, 0x0102030405060708 + k };
        rdmap_atomic_response_encode(&resp, b);
        assert_int_equal(r->s.nwc, k); /* 5.4 rule 7: not before its answer */
        h = untagged(RDMAP_ATOMIC_RESPONSE, 3, k + 1);
        raw_say_ddp(r, &h, b, 12);
        assert_int_equal(r->s.nwc, k + 1);
        assert_true(r->s.wc[k].status == RNIC_WC_SUCCESS && r->s.wc[k].wr_id == k);
        assert_true(get64(r->s.mem + 8 * k) == UINT64_C(0x0102030405060708) + k);
    }
    raw_free(r);
}

static uint64_t fetch_add(uint64_t orig, uint64_t add, uint64_t mask) /* the pseudocode of 5.1.1 */
{
    uint64_t out = 0, bit_location = 1, carry = 0;
    for (int bit = 0; bit < 64; bit++) {
        if (bit != 0)
            bit_location <<= 1;
        uint64_t sum = carry + ((orig & bit_location) >> bit) + ((add & bit_location) >> bit);
        carry = (sum & 2) >> 1;
        if (sum & 1)
            out |= bit_location;
        carry = carry && !(mask & bit_location);
    }
    return out;
}

/* Sections 5.1.1 and 5.1.2 with random values and masks; the answers of 5.2.2 in order, on queue 3 with its own MSN. */
static void masked_operations(void **state)
{
    (void)state;
    struct raw *r = started();
    struct sim_rng rng;
    sim_rng_init(&rng, 11, 1, SIM_RNG_TEST);
    static uint8_t b[65536];
    for (uint32_t k = 0; k < 500; k++) {
        uint64_t v[5];
        for (int i = 0; i < 5; i++)
            v[i] = (uint64_t)sim_rng_u32(&rng) << 32 | sim_rng_u32(&rng);
        bool add = sim_rng_below(&rng, 2), whole = sim_rng_below(&rng, 4) == 0;
        struct rdmap_atomic_request a = { .aop = add ? RDMAP_FETCH_ADD : RDMAP_CMP_SWAP, .request_id = 7 * k, .stag = key(r), .to = VA + 8 * k, .add_swap = v[1],
                                          .add_swap_mask = whole ? 0 : v[2], .compare = v[3], .compare_mask = sim_rng_below(&rng, 2) ? v[4] & v[2] & 0xf0 : v[4] };
        uint64_t orig = sim_rng_below(&rng, 2) ? (v[3] & a.compare_mask) | (v[0] & ~a.compare_mask) : v[0], want = orig;
        if (add)
            want = fetch_add(orig, a.add_swap, a.add_swap_mask);
        else if (!((a.compare ^ orig) & a.compare_mask))
            want = (orig & ~a.add_swap_mask) | (a.add_swap & a.add_swap_mask);
        put64(r->s.mem + 8 * k, orig);
        struct ddp_hdr h = untagged(RDMAP_ATOMIC_REQUEST, 1, k + 1);
        uint32_t n;
        rdmap_atomic_request_encode(&a, b);
        raw_say_ddp(r, &h, b, 52);
        assert_true(get64(r->s.mem + 8 * k) == want);
        assert_true(raw_heard(r, &h, b, &n));
        assert_true(!h.tagged && h.opcode == RDMAP_ATOMIC_RESPONSE && h.qn == 3 && h.msn == k + 1 && h.mo == 0 && h.last && n == 12);
        struct rdmap_atomic_response resp;
        rdmap_atomic_response_decode(b, &resp);
        assert_true(resp.request_id == 7 * k && resp.original == orig);
    }
    assert_int_equal(r->s.nwc, 0); /* nothing for the application here */
    raw_free(r);
}

/* Sections 5.1, 5.2.1 rule 4, 8.2: what is refused; memory stays as it was. */
static void refused_atomics(void **state)
{
    (void)state;
    static const struct { uint8_t aop; uint64_t off; uint32_t key_xor; bool bare; uint32_t len; int code; } t[] = {
        { RDMAP_FETCH_ADD, 4, 0, false, 52, 0x00207 }, { RDMAP_CMP_SWAP, 1, 0, false, 52, 0x00207 },   /* not aligned: catastrophic, this stream */
        { 1, 0, 0, false, 52, 0x00206 }, { 3, 0, 0, false, 52, 0x00206 }, { 15, 0, 0, false, 52, 0x00206 }, /* operations that are not defined */
        { RDMAP_FETCH_ADD, 0, 0x5500, false, 52, 0x00100 }, { RDMAP_FETCH_ADD, MEM, 0, false, 52, 0x00101 }, { RDMAP_CMP_SWAP, 0, 0, true, 52, 0x00102 },
        { RDMAP_FETCH_ADD, 0, 0, false, 51, 0x002ff }, { RDMAP_FETCH_ADD, 0, 0, false, 53, 0x10205 },
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct raw *r = started();
        struct rnic_mr *bare = rnic_mr_reg(r->s.pd, VA, MEM, RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE | RNIC_REMOTE_READ, r->s.mem);
        uint8_t b[64] = { 0 }, *was = malloc(MEM);
        memcpy(was, r->s.mem, MEM);
        struct rdmap_atomic_request a = { .aop = t[i].aop, .stag = t[i].bare ? rnic_mr_key(bare) : key(r) ^ t[i].key_xor, .to = VA + t[i].off, .add_swap = 5, .add_swap_mask = UINT64_MAX };
        struct ddp_hdr h = untagged(RDMAP_ATOMIC_REQUEST, 1, 1);
        rdmap_atomic_request_encode(&a, b);
        raw_say_ddp(r, &h, b, t[i].len);
        struct rdmap_terminate term;
        raw_heard_terminate(r, &term);
        if ((term.layer << 16 | term.etype << 8 | term.code) != t[i].code)
            fail_msg("case %zu: %d/%d/%02x", i, term.layer, term.etype, term.code);
        assert_int_equal(term.d, t[i].len != 51);
        assert_false(term.r); /* section 8.1: no RDMA header */
        assert_memory_equal(r->s.mem, was, MEM);
        free(was);
        raw_free(r);
    }
}

/* Section 5.2.2 rule 7: answers that are not what was asked for. */
static void wrong_answers(void **state)
{
    (void)state;
    static const struct { bool asked; uint32_t id, msn, len; int code; } t[] = {
        { false, 0, 1, 12, 0x00206 }, { true, 1, 1, 12, 0x002ff }, { true, 0, 2, 12, 0x10203 }, { true, 0, 1, 13, 0x10205 }, { true, 0, 1, 11, 0x002ff } };
    for (size_t i = 0; i < 5; i++) {
        struct raw *r = started();
        struct rnic_send_wr wr = { .op = RNIC_OP_FETCH_ADD, .sge = { VA, 8, key(r) }, .remote_va = 0x1000, .rkey = 1, .swap_add = 1 };
        if (t[i].asked)
            assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
        raw_run_us(r, 100);
        uint8_t b[16] = { 0 };
        struct rdmap_atomic_response resp = { t[i].id, 5 };
        struct ddp_hdr h = untagged(RDMAP_ATOMIC_RESPONSE, 3, t[i].msn);
        rdmap_atomic_response_encode(&resp, b);
        raw_say_ddp(r, &h, b, t[i].len);
        if (iwarp_qp_terminate_sent(r->s.qp) != t[i].code)
            fail_msg("case %zu: %x", i, (unsigned)iwarp_qp_terminate_sent(r->s.qp));
        raw_free(r);
    }
}

/* Section 5.4: many, on a line that loses packets, each done once and in order; Reads among them show what came before. */
static void atomics_add_up(void **state)
{
    (void)state;
    struct iwarp_params p = extended();
    struct pair *w = pair_up(&p, &p, true);
    w->l.loss = 0.02;
    put64(w->s[1].mem, 0);
    for (uint64_t k = 0; k < 100; k++) {
        struct rnic_send_wr wr = work(w, 0, RNIC_OP_FETCH_ADD, 2 * k, 1024 + 16 * k, 8);
        wr.remote_va = VA;
        wr.swap_add = 1;
        post_wr(w, 0, &wr);
        wr = work(w, 0, RNIC_OP_READ, 2 * k + 1, 1032 + 16 * k, 8);
        wr.remote_va = VA;
        post_wr(w, 0, &wr);
    }
    pair_run_us(w, 10000000);
    assert_int_equal(w->s[0].nwc, 200);
    for (uint64_t k = 0; k < 100; k++) {
        assert_true(w->s[0].wc[2 * k].wr_id == 2 * k && w->s[0].wc[2 * k].status == RNIC_WC_SUCCESS);
        assert_true(get64(w->s[0].mem + 1024 + 16 * k) == k);
        assert_true(get64(w->s[0].mem + 1032 + 16 * k) == k + 1);
    }
    assert_true(get64(w->s[1].mem) == 100);
    assert_true(iwarp_qp_stats(w->s[0].qp)->reads_peak <= 32); /* atomics count as Reads: section 5.2 */
    pair_free(w);
}

/* A fence waits for atomics as for Reads. */
static void fence_after_an_atomic(void **state)
{
    (void)state;
    struct raw *r = started();
    static uint8_t b[65536];
    struct rnic_send_wr wr = { .op = RNIC_OP_FETCH_ADD, .sge = { VA, 8, key(r) }, .remote_va = 0x1000, .rkey = 1, .swap_add = 1 };
    assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
    wr = (struct rnic_send_wr){ .op = RNIC_OP_WRITE, .flags = RNIC_SEND_FENCE, .sge = { VA, 8, key(r) }, .remote_va = 0x1000, .rkey = 1 };
    assert_int_equal(rnic_post_send(r->s.qp, &wr), SIM_OK);
    raw_run_us(r, 1000);
    struct ddp_hdr h;
    uint32_t n;
    assert_true(raw_heard(r, &h, b, &n));
    assert_int_equal(r->in_used, r->in_len);
    struct rdmap_atomic_response resp = { 0, 99 };
    h = untagged(RDMAP_ATOMIC_RESPONSE, 3, 1);
    rdmap_atomic_response_encode(&resp, b);
    raw_say_ddp(r, &h, b, 12);
    assert_true(raw_heard(r, &h, b, &n));
    assert_true(h.opcode == RDMAP_WRITE && get64(b) == 99);
    raw_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(immediate_on_the_wire), cmocka_unit_test(immediate_is_delivered_in_order), cmocka_unit_test(immediate_of_another_length),
        cmocka_unit_test(immediate_inside_a_send),
        cmocka_unit_test(atomic_request_on_the_wire), cmocka_unit_test(masked_operations), cmocka_unit_test(refused_atomics),
        cmocka_unit_test(wrong_answers), cmocka_unit_test(atomics_add_up), cmocka_unit_test(fence_after_an_atomic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
