/* SPDX-License-Identifier: GPL-2.0-only */
/** Packets as structs: lengths, payload chunks, copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../model/wire/codec.h"
#include "../../model/wire/iwarp.h"

static struct pkt fresh(enum pkt_kind kind)
{
    struct pkt p;
    memset(&p, 0, sizeof p);
    p.kind = (uint8_t)kind;
    return p;
}

/* IEEE 802.3 and annex A17: what each packet takes on the link, destination MAC through FCS. */
static void frame_lengths(void **state)
{
    (void)state;
    static const struct { uint8_t opcode; uint16_t payload; uint8_t vlan; uint16_t frame; uint8_t pad; } roce[] = {
        { ROCE_WRITE_MIDDLE, 1024, 0, 14 + 20 + 8 + 12 + 1024 + 4 + 4, 0 },
        { ROCE_WRITE_MIDDLE, 1024, 1, 18 + 20 + 8 + 12 + 1024 + 4 + 4, 0 },
        { ROCE_WRITE_FIRST, 4096, 0, 14 + 20 + 8 + 12 + 16 + 4096 + 4 + 4, 0 },
        { ROCE_WRITE_ONLY_IMM, 9, 0, 14 + 20 + 8 + 12 + 16 + 4 + 9 + 3 + 4 + 4, 3 },
        { ROCE_SEND_ONLY, 0, 0, 64, 0 }, /* 62 bytes by its headers */
        { ROCE_SEND_ONLY, 1, 0, 66, 3 },
        { ROCE_ACK, 0, 0, 66, 0 },
        { ROCE_ATOMIC_ACK, 0, 0, 74, 0 },
        { ROCE_CMP_SWAP, 0, 0, 90, 0 },
        { ROCE_READ_REQUEST, 0, 0, 78, 0 },
        { ROCE_CNP, 0, 0, 78, 0 },
        { ROCE_UD_SEND_ONLY_IMM, 256, 0, 14 + 20 + 8 + 12 + 8 + 4 + 256 + 4 + 4, 0 },
        { ROCE_UC | ROCE_SEND_ONLY, 2, 0, 66, 2 },
    };
    for (size_t i = 0; i < sizeof roce / sizeof roce[0]; i++) {
        struct pkt p = fresh(PKT_ROCE);
        p.roce.opcode = roce[i].opcode;
        p.flags = roce[i].vlan ? PKT_F_VLAN : 0;
        assert_true(pkt_add_pattern(&p, roce[i].payload, 1, 0));
        pkt_set_len(&p);
        assert_int_equal(p.frame_len, roce[i].frame);
        assert_int_equal(p.roce.pad, roce[i].pad);
    }
    static const struct { uint8_t opt, nsack; uint16_t payload, opt_len, frame; } tcp[] = {
        { 0, 0, 0, 0, 64 },
        { TCP_OPT_TS, 0, 1448, 12, 1518 },
        { 0, 0, 1460, 0, 1518 },
        { TCP_OPT_MSS | TCP_OPT_SACK_PERM | TCP_OPT_TS | TCP_OPT_WSCALE, 0, 0, 20, 78 },
        { TCP_OPT_MSS, 0, 0, 4, 64 },
        { TCP_OPT_MSS | TCP_OPT_SACK_PERM, 0, 0, 8, 66 },
        { TCP_OPT_TS | TCP_OPT_SACK, 3, 0, 40, 98 },
        { TCP_OPT_SACK, 4, 0, 36, 94 },
        { TCP_OPT_SACK, 0, 0, 0, 64 },
    };
    for (size_t i = 0; i < sizeof tcp / sizeof tcp[0]; i++) {
        struct pkt p = fresh(PKT_TCP);
        p.tcp.opt = tcp[i].opt;
        p.tcp.nsack = tcp[i].nsack;
        assert_true(pkt_add_pattern(&p, tcp[i].payload, 1, 0));
        assert_int_equal(pkt_overhead_bytes(&p), 40 + tcp[i].opt_len);
        pkt_set_len(&p);
        assert_int_equal(p.tcp.opt_len, tcp[i].opt_len);
        assert_int_equal(p.frame_len, tcp[i].frame);
    }
    struct pkt pfc = fresh(PKT_PFC);
    pkt_set_len(&pfc);
    assert_int_equal(pfc.frame_len, 64);
}

static void pattern_bytes_are_words_lowest_first(void **state)
{
    (void)state;
    struct pkt p = fresh(PKT_TCP);
    uint8_t all[1000], part[1000];
    assert_true(pkt_add_pattern(&p, sizeof all, 0x123456789abcdef0u, 0xfffffffffffffff0u));
    pkt_payload_read(&p, 0, sizeof all, all);
    for (unsigned i = 0; i < sizeof all; i++) {
        assert_int_equal(all[i], pkt_pattern_byte(0x123456789abcdef0u, 0xfffffffffffffff0u + i));
        uint32_t n = (i * 7 + 3) % (uint32_t)(sizeof all - i) + 1;
        pkt_payload_read(&p, i, n, part);
        assert_memory_equal(part, all + i, n);
    }
    assert_int_not_equal(pkt_pattern_byte(1, 0) | pkt_pattern_byte(1, 1) << 8 | pkt_pattern_byte(1, 2) << 16,
                         pkt_pattern_byte(2, 0) | pkt_pattern_byte(2, 1) << 8 | pkt_pattern_byte(2, 2) << 16);
}

static void chunks_join_and_run_out(void **state)
{
    (void)state;
    struct pkt p = fresh(PKT_TCP);
    uint8_t lit[60], out[200];
    for (unsigned i = 0; i < sizeof lit; i++)
        lit[i] = (uint8_t)(i + 1);
    assert_true(pkt_add_pattern(&p, 0, 5, 5));
    assert_int_equal(p.nchunks, 0);
    assert_true(pkt_add_pattern(&p, 100, 7, 40));
    assert_true(pkt_add_pattern(&p, 28, 7, 140)); /* goes on where the last ends */
    assert_int_equal(p.nchunks, 1);
    assert_true(pkt_add_literal(&p, lit, 10));
    assert_true(pkt_add_literal(&p, lit + 10, 20)); /* 14 in the slot that is begun, 6 in the next */
    assert_int_equal(p.nchunks, 3);
    assert_true(pkt_add_literal(&p, lit + 30, 18));
    assert_int_equal(p.nchunks, 3);
    assert_false(pkt_add_literal(&p, lit, 25));
    assert_int_equal(p.payload_len, 128 + 48);
    assert_true(pkt_add_bytes(&p, lit, 20));
    assert_false(pkt_add_pattern(&p, 1, 9, 9));
    assert_false(pkt_add_bytes(&p, lit, 1));
    assert_false(pkt_add_mpa_tail(&p, 0, 0, false));
    assert_int_equal(p.payload_len, 196);
    pkt_payload_read(&p, 0, 196, out);
    for (unsigned i = 0; i < 128; i++)
        assert_int_equal(out[i], pkt_pattern_byte(7, 40 + i));
    assert_memory_equal(out + 128, lit, 48);
    assert_memory_equal(out + 176, lit, 20);
    struct pkt q;
    pkt_copy(&q, &p);
    assert_true(pkt_equal(&p, &q));
    assert_ptr_not_equal(p.chunk[3].u.bytes, q.chunk[3].u.bytes);
    q.chunk[3].u.bytes[19] ^= 1;
    assert_false(pkt_equal(&p, &q));
    pkt_release_payload(&p);
    pkt_release_payload(&q);
    assert_int_equal(p.payload_len, 0);
    assert_true(pkt_add_pattern(&p, 65535, 1, 1));
    assert_false(pkt_add_pattern(&p, 1, 1, 65536)); /* payload_len has 16 bits */
    assert_false(pkt_add_literal(&p, lit, 1));
}

/* RFC 5044 section 4: an FPDU made of symbolic chunks holds the pad and CRC32c that its bytes ask for. */
static void mpa_tail_is_pad_and_crc(void **state)
{
    (void)state;
    for (uint32_t len = 0; len <= 1400; len += len < 40 ? 1 : 97)
        for (int crc_off = 0; crc_off < 2; crc_off++) {
            struct pkt p = fresh(PKT_TCP);
            uint8_t head[2 + DDP_TAGGED_BYTES], out[1600], ulpdu[65536];
            struct ddp_hdr h = { .tagged = 1, .last = 1, .ddp_version = 1, .rdmap_version = 1, .stag = 7, .to = 9 };
            uint32_t n = DDP_TAGGED_BYTES + len;
            struct mpa_fpdu f;
            head[0] = (uint8_t)(n >> 8);
            head[1] = (uint8_t)n;
            ddp_hdr_encode(&h, head + 2);
            assert_true(pkt_add_literal(&p, "x", 1)); /* the end of what came before: not in the span */
            p.nchunks = 1;
            assert_true(pkt_add_bytes(&p, head, sizeof head));
            assert_true(pkt_add_pattern(&p, len, 3, 11));
            assert_true(pkt_add_mpa_tail(&p, mpa_pad(n), 2 + n, crc_off));
            assert_int_equal((p.payload_len - 1) % 4, 0);
            pkt_payload_read(&p, 0, p.payload_len, out);
            assert_int_equal(mpa_fpdu_check(out + 1, p.payload_len - 1u, !crc_off, false, 0, &f, ulpdu), MPA_FPDU_OK);
            assert_int_equal(f.wire_len, p.payload_len - 1);
            assert_int_equal(f.crc_zero, crc_off);
            for (uint32_t i = 0; i < mpa_pad(n); i++)
                assert_int_equal(out[1 + 2 + n + i], 0);
            uint8_t tail[3]; /* a read that begins within the CRC */
            pkt_payload_read(&p, p.payload_len - 3u, 3, tail);
            assert_memory_equal(tail, out + p.payload_len - 3, 3);
            pkt_release_payload(&p);
        }
}

/* pkt_equal must see every field that is on the wire and none that is not. */
static void equality_sees_what_is_on_the_wire(void **state)
{
    (void)state;
    struct pkt a = fresh(PKT_ROCE), b;
    a.roce.opcode = ROCE_WRITE_ONLY_IMM;
    assert_true(pkt_add_pattern(&a, 64, 1, 2));
    pkt_set_len(&a);
#define SEES(field) pkt_copy(&b, &a), b.field ^= 1, assert_false(pkt_equal(&a, &b))
#define BLIND(field) pkt_copy(&b, &a), b.field ^= 1, assert_true(pkt_equal(&a, &b))
    SEES(src), SEES(dst), SEES(sport), SEES(dport), SEES(ip_id), SEES(dscp), SEES(ecn), SEES(ttl), SEES(frame_len);
    SEES(roce.se), SEES(roce.m), SEES(roce.tver), SEES(roce.fecn), SEES(roce.becn), SEES(roce.ack_req), SEES(roce.pkey), SEES(roce.dqpn);
    SEES(roce.psn), SEES(roce.imm_or_rkey), SEES(roce.x.reth.va), SEES(roce.x.reth.rkey), SEES(roce.x.reth.len), SEES(roce.resv6);
    SEES(roce.resv8a), SEES(chunk[0].u.pattern.off);
    BLIND(roce.syndrome), BLIND(roce.msn), BLIND(pcp), BLIND(prio), BLIND(in_port), BLIND(charged), BLIND(tag), BLIND(flow_hash);
    BLIND(stamp_ps);
    a.roce.opcode = ROCE_ATOMIC_ACK;
    SEES(roce.syndrome), SEES(roce.msn), SEES(roce.x.atomic_ack.orig);
    a.roce.opcode = ROCE_CMP_SWAP;
    SEES(roce.x.atomic.va), SEES(roce.x.atomic.swap_add), SEES(roce.x.atomic.compare), SEES(roce.x.atomic.rkey);
    a.roce.opcode = ROCE_UD_SEND_ONLY;
    SEES(roce.x.deth.qkey), SEES(roce.x.deth.sqpn), SEES(roce.resv_deth);
    a.flags = PKT_F_VLAN;
    SEES(pcp);
    pkt_copy(&b, &a), b.flags ^= PKT_F_RETX | PKT_F_CORRUPT, assert_true(pkt_equal(&a, &b));
    pkt_copy(&b, &a), b.flags ^= PKT_F_VLAN, assert_false(pkt_equal(&a, &b));
    a = fresh(PKT_TCP);
    a.tcp.opt = TCP_OPT_MSS | TCP_OPT_WSCALE | TCP_OPT_TS | TCP_OPT_SACK;
    a.tcp.nsack = 1;
    SEES(tcp.seq), SEES(tcp.ack), SEES(tcp.window), SEES(tcp.urgent), SEES(tcp.flags), SEES(tcp.opt), SEES(tcp.wscale), SEES(tcp.mss);
    SEES(tcp.ts_val), SEES(tcp.ts_ecr), SEES(tcp.sack[0].from), SEES(tcp.sack[0].to), SEES(tcp.nsack), SEES(tcp.opt_len);
    BLIND(tcp.sack[1].from);
    a = fresh(PKT_PFC);
    SEES(pfc.class_vector), SEES(pfc.quanta[7]), SEES(pfc.link_wide);
    BLIND(ttl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_lengths),
        cmocka_unit_test(pattern_bytes_are_words_lowest_first),
        cmocka_unit_test(chunks_join_and_run_out),
        cmocka_unit_test(mpa_tail_is_pad_and_crc),
        cmocka_unit_test(equality_sees_what_is_on_the_wire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
