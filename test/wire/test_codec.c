/* SPDX-License-Identifier: GPL-2.0-only */
/** Frames: every field at its extremes, layouts, refusals, and decode(encode(p)) == p for random packets of all kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../model/wire/codec.h"

static struct pkt plain(enum pkt_kind kind, uint8_t opcode)
{
    struct pkt p;
    memset(&p, 0, sizeof p);
    p.kind = (uint8_t)kind;
    p.src = pkt_addr_of_node(0);
    p.dst = pkt_addr_of_node(1);
    p.ttl = 64;
    p.sport = 0xc001;
    p.dport = WIRE_ROCE_PORT;
    if (kind == PKT_ROCE)
        p.roce.opcode = opcode;
    return p;
}

/* Encodes p, decodes the bytes, compares; returns the frame's length in out. */
static size_t trip(const struct pkt *p, uint8_t *out, size_t cap)
{
    struct pkt q;
    struct wire_l3 l3;
    size_t n = wire_encode(p, NULL, out, cap);
    assert_int_equal(n, p->frame_len - 4);
    enum wire_status s = wire_decode(out, n, &q, &l3);
    if (s != WIRE_OK)
        fail_msg("kind %u opcode 0x%02x: %s", p->kind, p->roce.opcode, wire_status_name(s));
    if (!pkt_equal(p, &q))
        fail_msg("kind %u opcode 0x%02x is not what it was", p->kind, p->roce.opcode);
    assert_int_equal(l3.tcp_opt_len, 0); /* our own layout is recognised */
    pkt_release_payload(&q);
    return n;
}

static void each_field_at_its_extremes(void **state)
{
    (void)state;
    uint8_t out[512];
#define ENDS(set_up, field, max) \
    do { \
        set_up; \
        p.field = 0, trip(&p, out, sizeof out); \
        p.field = (max), trip(&p, out, sizeof out); \
        p.field = (max) ^ ((max) >> 1), trip(&p, out, sizeof out); /* the top bit alone */ \
    } while (0)
#define ROCE(op) struct pkt p = plain(PKT_ROCE, op); pkt_set_len(&p)
    for (int v6 = 0; v6 < 2; v6++) {
#define ROCE_ANY(op) ROCE(op); p.flags = v6 ? PKT_F_IPV6 | PKT_F_VLAN : 0; pkt_set_len(&p)
        ENDS(ROCE_ANY(ROCE_ACK), src, UINT32_MAX);
        ENDS(ROCE_ANY(ROCE_ACK), dst, UINT32_MAX);
        ENDS(ROCE_ANY(ROCE_ACK), sport, 0xffff);
        if (!v6)
            ENDS(ROCE_ANY(ROCE_ACK), ip_id, 0xffff);
        ENDS(ROCE_ANY(ROCE_ACK), dscp, 63);
        ENDS(ROCE_ANY(ROCE_ACK), ecn, 3);
        ENDS(ROCE_ANY(ROCE_ACK), ttl, 255);
        if (v6)
            ENDS(ROCE_ANY(ROCE_ACK), pcp, 7);
    }
    ENDS(ROCE(ROCE_ACK), roce.se, 1);
    ENDS(ROCE(ROCE_ACK), roce.m, 1);
    ENDS(ROCE(ROCE_ACK), roce.tver, 15);
    ENDS(ROCE(ROCE_ACK), roce.fecn, 1);
    ENDS(ROCE(ROCE_ACK), roce.becn, 1);
    ENDS(ROCE(ROCE_ACK), roce.resv6, 63);
    ENDS(ROCE(ROCE_ACK), roce.ack_req, 1);
    ENDS(ROCE(ROCE_ACK), roce.resv8a, 127);
    ENDS(ROCE(ROCE_ACK), roce.pkey, 0xffff);
    ENDS(ROCE(ROCE_ACK), roce.dqpn, 0xffffff);
    ENDS(ROCE(ROCE_ACK), roce.psn, 0xffffff);
    ENDS(ROCE(ROCE_ACK), roce.syndrome, 0xff);
    ENDS(ROCE(ROCE_ACK), roce.msn, 0xffffff);
    ENDS(ROCE(ROCE_SEND_ONLY_IMM), roce.imm_or_rkey, UINT32_MAX);
    ENDS(ROCE(ROCE_SEND_ONLY_INV), roce.imm_or_rkey, UINT32_MAX);
    ENDS(ROCE(ROCE_READ_REQUEST), roce.x.reth.va, UINT64_MAX);
    ENDS(ROCE(ROCE_READ_REQUEST), roce.x.reth.rkey, UINT32_MAX);
    ENDS(ROCE(ROCE_READ_REQUEST), roce.x.reth.len, UINT32_MAX);
    ENDS(ROCE(ROCE_CMP_SWAP), roce.x.atomic.va, UINT64_MAX);
    ENDS(ROCE(ROCE_CMP_SWAP), roce.x.atomic.rkey, UINT32_MAX);
    ENDS(ROCE(ROCE_CMP_SWAP), roce.x.atomic.swap_add, UINT64_MAX);
    ENDS(ROCE(ROCE_CMP_SWAP), roce.x.atomic.compare, UINT64_MAX);
    ENDS(ROCE(ROCE_ATOMIC_ACK), roce.x.atomic_ack.orig, UINT64_MAX);
    ENDS(ROCE(ROCE_IRN + ROCE_SEND_MIDDLE), roce.x.reth.irn_sn, UINT32_MAX);
    ENDS(ROCE(ROCE_IRN + ROCE_SEND_MIDDLE), roce.x.reth.irn_offset, UINT32_MAX);
    ENDS(ROCE(ROCE_IRN + ROCE_WRITE_ONLY_IMM), roce.x.reth.irn_sn, UINT32_MAX);
    ENDS(ROCE(ROCE_IRN + ROCE_CMP_SWAP), roce.x.atomic.irn_sn, UINT32_MAX);
    ENDS(ROCE(ROCE_IRN_NACK), roce.x.irn_sack.psn, 0xffffff);
    ENDS(ROCE(ROCE_UD_SEND_ONLY), roce.x.deth.qkey, UINT32_MAX);
    ENDS(ROCE(ROCE_UD_SEND_ONLY), roce.x.deth.sqpn, 0xffffff);
    ENDS(ROCE(ROCE_UD_SEND_ONLY), roce.resv_deth, 0xff);
#define TCP(options) struct pkt p = plain(PKT_TCP, 0); p.tcp.opt = (options); p.tcp.nsack = (options) & TCP_OPT_SACK ? 3 : 0; pkt_set_len(&p)
    ENDS(TCP(0), dport, 0xffff);
    ENDS(TCP(0), tcp.seq, UINT32_MAX);
    ENDS(TCP(0), tcp.ack, UINT32_MAX);
    ENDS(TCP(0), tcp.window, 0xffff);
    ENDS(TCP(0), tcp.urgent, 0xffff);
    ENDS(TCP(0), tcp.flags, 0xff);
    ENDS(TCP(TCP_OPT_MSS), tcp.mss, 0xffff);
    ENDS(TCP(TCP_OPT_WSCALE), tcp.wscale, 0xff);
    ENDS(TCP(TCP_OPT_TS), tcp.ts_val, UINT32_MAX);
    ENDS(TCP(TCP_OPT_TS), tcp.ts_ecr, UINT32_MAX);
    ENDS(TCP(TCP_OPT_SACK), tcp.sack[0].from, UINT32_MAX);
    ENDS(TCP(TCP_OPT_SACK), tcp.sack[2].to, UINT32_MAX);
#define PFC struct pkt p = plain(PKT_PFC, 0); pkt_set_len(&p)
    ENDS(PFC, pfc.class_vector, 0xff);
    ENDS(PFC, pfc.quanta[0], 0xffff);
    ENDS(PFC, pfc.quanta[7], 0xffff);
    ENDS(PFC; p.pfc.link_wide = 1, pfc.quanta[0], 0xffff);
}

/* Each opcode of the table and nothing else; header lengths as annex A17 and volume 1 chapter 9 give them. */
static void the_opcode_table(void **state)
{
    (void)state;
    unsigned defined = 0;
    uint8_t out[512];
    for (unsigned op = 0; op < 256; op++) {
        const struct wire_roce_op *o = &wire_roce_op[op];
        bool sends = (op & 0x1f) <= 0x0b && (op >> 5) <= 1;
        bool rc = op <= 0x14 || op == 0x16 || op == 0x17;
        bool irn = op >= 0xc0 && op <= 0xd9; /* ours, in the manufacturers' range */
        assert_int_equal(o->name != NULL, sends || rc || irn || op == 0x64 || op == 0x65 || op == 0x81);
        struct pkt p = plain(PKT_ROCE, (uint8_t)op);
        if (!o->name) {
            pkt_set_len(&p);
            assert_int_equal(wire_encode(&p, NULL, out, sizeof out), 0);
            continue;
        }
        defined++;
        if (o->flags & ROCE_OP_PAYLOAD)
            assert_true(pkt_add_pattern(&p, 17, op, 3));
        pkt_set_len(&p);
        trip(&p, out, sizeof out);
    }
    assert_int_equal(defined, 23 + 12 + 2 + 1 + 26);
    static const struct { uint8_t op, bytes; } lengths[] = { { ROCE_SEND_ONLY, 12 }, { ROCE_WRITE_FIRST, 28 }, { ROCE_WRITE_MIDDLE, 12 },
        { ROCE_WRITE_ONLY_IMM, 32 }, { ROCE_READ_REQUEST, 28 }, { ROCE_READ_RESP_FIRST, 16 }, { ROCE_READ_RESP_MIDDLE, 12 }, { ROCE_ACK, 16 },
        { ROCE_ATOMIC_ACK, 24 }, { ROCE_FETCH_ADD, 40 }, { ROCE_SEND_ONLY_INV, 16 }, { ROCE_UD_SEND_ONLY, 20 }, { ROCE_UD_SEND_ONLY_IMM, 24 },
        { ROCE_CNP, 28 },
        /* IRN: a RETH on each WRITE packet; 8 bytes more on SENDs, 4 on READs, atomics, WRITEs that take a receive, NACKs */
        { ROCE_IRN + ROCE_SEND_MIDDLE, 20 }, { ROCE_IRN + ROCE_SEND_ONLY_INV, 24 }, { ROCE_IRN + ROCE_WRITE_MIDDLE, 28 }, { ROCE_IRN + ROCE_WRITE_LAST_IMM, 36 },
        { ROCE_IRN + ROCE_READ_REQUEST, 32 }, { ROCE_IRN + ROCE_READ_RESP_MIDDLE, 12 }, { ROCE_IRN + ROCE_ACK, 16 }, { ROCE_IRN + ROCE_FETCH_ADD, 44 },
        { ROCE_IRN_NACK, 20 }, { ROCE_IRN_READ_ACK, 16 }, { ROCE_IRN_READ_NACK, 20 } };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        assert_int_equal(wire_roce_op[lengths[i].op].header_bytes, lengths[i].bytes);
}

/* Our options as bytes: Linux's SYN, its ACK with timestamps, its SACK. */
static void tcp_option_layout(void **state)
{
    (void)state;
    static const struct { uint8_t opt, nsack; const char *bytes; size_t len; } rows[] = {
        { TCP_OPT_MSS | TCP_OPT_SACK_PERM | TCP_OPT_TS | TCP_OPT_WSCALE, 0, "\2\4\5\xb4\4\2\x8\xa\0\0\0\1\0\0\0\2\1\3\3\7", 20 },
        { TCP_OPT_TS, 0, "\1\1\x8\xa\0\0\0\1\0\0\0\2", 12 },
        { TCP_OPT_TS | TCP_OPT_SACK, 1, "\1\1\x8\xa\0\0\0\1\0\0\0\2\1\1\5\xa\0\0\0\3\0\0\0\4", 24 },
        { TCP_OPT_MSS | TCP_OPT_SACK_PERM | TCP_OPT_WSCALE, 0, "\2\4\5\xb4\1\1\4\2\1\3\3\7", 12 },
        { TCP_OPT_MSS, 0, "\2\4\5\xb4", 4 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pkt p = plain(PKT_TCP, 0);
        uint8_t out[128];
        p.tcp.opt = rows[i].opt;
        p.tcp.nsack = rows[i].nsack;
        p.tcp.mss = 1460;
        p.tcp.wscale = 7;
        p.tcp.ts_val = 1;
        p.tcp.ts_ecr = 2;
        p.tcp.sack[0].from = 3;
        p.tcp.sack[0].to = 4;
        pkt_set_len(&p);
        assert_int_equal(p.tcp.opt_len, rows[i].len);
        trip(&p, out, sizeof out);
        assert_memory_equal(out + 54, rows[i].bytes, rows[i].len);
    }
    struct pkt p = plain(PKT_TCP, 0); /* 44 bytes of options do not fit a TCP header */
    uint8_t out[128];
    p.tcp.opt = TCP_OPT_TS | TCP_OPT_SACK;
    p.tcp.nsack = 4;
    pkt_set_len(&p);
    assert_int_equal(wire_encode(&p, NULL, out, sizeof out), 0);
}

static void mend_checksums(uint8_t *frame, size_t tcp_len) /* of an untagged IPv4 TCP frame whose checksums hold 0 */
{
    uint32_t ip = 0, tcp = 6 + (uint32_t)tcp_len;
    for (unsigned i = 14; i < 34; i += 2)
        ip += (uint32_t)frame[i] << 8 | frame[i + 1];
    for (unsigned i = 26; i < 34 + tcp_len; i += 2)
        tcp += (uint32_t)frame[i] << 8 | frame[i + 1];
    ip = (ip & 0xffff) + (ip >> 16);
    for (int i = 0; i < 2; i++)
        tcp = (tcp & 0xffff) + (tcp >> 16);
    frame[24] = (uint8_t)(~ip >> 8), frame[25] = (uint8_t)~ip;
    frame[50] = (uint8_t)(~tcp >> 8), frame[51] = (uint8_t)~tcp;
}

/* Other orders of options are read, and written back as they were; malformed ones are refused. RFC 9293 section 3.1. */
static void tcp_options_of_others(void **state)
{
    (void)state;
    static const struct { const char *bytes; size_t len; enum wire_status status; uint8_t opt, nsack; } rows[] = {
        { "\x8\xa\0\0\0\1\0\0\0\2\1\1", 12, WIRE_OK, TCP_OPT_TS, 0 },
        { "\3\3\7\1\2\4\5\xb4", 8, WIRE_OK, TCP_OPT_MSS | TCP_OPT_WSCALE, 0 },
        { "\5\xa\0\0\0\1\0\0\0\2\0\0", 12, WIRE_OK, TCP_OPT_SACK, 1 },
        { "\xfd\4\xf9\x89\2\4\5\xb4", 8, WIRE_OK, TCP_OPT_MSS, 0 },          /* an unknown kind is skipped */
        { "\x1e\2\1\1", 4, WIRE_OK, 0, 0 },
        { "\0\2\4\5", 4, WIRE_OK, 0, 0 },                                     /* nothing is read after the end of the list */
        { "\2\3\5\xb4", 4, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\3\4\7\1", 4, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\4\3\0\1", 4, WIRE_BAD_TCP_OPTION, TCP_OPT_SACK_PERM, 0 },
        { "\5\x9\0\0\0\1\0\0\0\2\0\0", 12, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\5\2\1\1", 4, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\x8\x8\0\0\0\1\0\0", 8, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\xfd\1\1\1", 4, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\xfd\0\1\1", 4, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\xfd\5\1\1", 4, WIRE_BAD_TCP_OPTION, 0, 0 },
        { "\1\1\1\2", 4, WIRE_BAD_TCP_OPTION, 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pkt p = plain(PKT_TCP, 0), q;
        struct wire_l3 l3;
        uint8_t out[128], again[128];
        pkt_set_len(&p);
        size_t n = 54 + rows[i].len;
        wire_encode(&p, NULL, out, sizeof out);
        memcpy(out + 54, rows[i].bytes, rows[i].len);
        memset(out + n, 0, sizeof out - n);
        n = n < 60 ? 60 : n;
        out[17] = (uint8_t)(40 + rows[i].len);
        out[46] = (uint8_t)((20 + rows[i].len) / 4 << 4);
        out[24] = out[25] = out[50] = out[51] = 0;
        mend_checksums(out, 20 + rows[i].len);
        enum wire_status s = wire_decode(out, n, &q, &l3);
        if (s != rows[i].status || q.tcp.opt != rows[i].opt || q.tcp.nsack != rows[i].nsack)
            fail_msg("row %zu: %s, options 0x%x", i, wire_status_name(s), q.tcp.opt);
        assert_int_equal(wire_encode(&q, &l3, again, sizeof again), n);
        assert_memory_equal(out, again, n);
    }
}

static size_t sample(struct pkt *p, uint8_t *out, size_t cap, uint8_t opcode, uint16_t payload)
{
    *p = opcode == 0xff ? plain(PKT_TCP, 0) : plain(PKT_ROCE, opcode);
    assert_true(pkt_add_pattern(p, payload, 1, 2));
    pkt_set_len(p);
    size_t n = wire_encode(p, NULL, out, cap);
    assert_true(n);
    return n;
}

/* One byte changed, and what the decoder says of it (the checksums that the change breaks are mended). */
static void refusals(void **state)
{
    (void)state;
    static const struct { const char *what; uint8_t opcode; unsigned at; uint8_t value; enum wire_status status; } rows[] = {
        { "another Ethertype", ROCE_SEND_ONLY, 13, 0x06, WIRE_UNKNOWN_ETHERTYPE },
        { "IP version 5", ROCE_SEND_ONLY, 14, 0x55, WIRE_BAD_IP_HEADER },
        { "IP header of 16 bytes", ROCE_SEND_ONLY, 14, 0x44, WIRE_BAD_IP_HEADER },
        { "IP total length below its header", ROCE_SEND_ONLY, 17, 19, WIRE_BAD_IP_HEADER },
        { "IP total length beyond the frame", ROCE_SEND_ONLY, 17, 0xff, WIRE_TRUNCATED },
        { "more fragments", ROCE_SEND_ONLY, 20, 0x20, WIRE_FRAGMENT },
        { "a later fragment", ROCE_SEND_ONLY, 21, 1, WIRE_FRAGMENT },
        { "the reserved IP flag", ROCE_SEND_ONLY, 20, 0x80, WIRE_BAD_IP_HEADER },
        { "ICMP", ROCE_SEND_ONLY, 23, 1, WIRE_UNKNOWN_PROTOCOL },
        { "another port", ROCE_SEND_ONLY, 37, 0xb8, WIRE_UNKNOWN_PROTOCOL },
        { "UDP length short", ROCE_SEND_ONLY, 39, 7, WIRE_BAD_UDP_LENGTH },
        { "an undefined opcode", ROCE_SEND_ONLY, 42, 0x1f, WIRE_BAD_OPCODE },
        { "an RD opcode", ROCE_SEND_ONLY, 42, 0x44, WIRE_BAD_OPCODE },
        { "an opcode with more headers than bytes", ROCE_SEND_ONLY, 42, ROCE_CMP_SWAP, WIRE_BAD_UDP_LENGTH },
        { "an opcode without payload", ROCE_SEND_ONLY, 42, ROCE_ACK, WIRE_BAD_UDP_LENGTH },
        { "a payload byte", ROCE_SEND_ONLY, 54, 0, WIRE_BAD_ICRC },
        { "TCP data offset 4", 0xff, 46, 0x40, WIRE_BAD_TCP_HEADER },
        { "TCP data offset beyond the packet", 0xff, 46, 0xf0, WIRE_BAD_TCP_HEADER },
        { "a TCP payload byte", 0xff, 54, 0, WIRE_BAD_TCP_CHECKSUM },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pkt p, q;
        uint8_t out[256];
        size_t n = sample(&p, out, sizeof out, rows[i].opcode, 20);
        assert_int_not_equal(out[rows[i].at], rows[i].value);
        out[rows[i].at] = rows[i].value;
        uint32_t sum = 0;
        out[24] = out[25] = 0;
        for (unsigned k = 14; k < 34; k += 2)
            sum += (uint32_t)out[k] << 8 | out[k + 1];
        sum = (sum & 0xffff) + (sum >> 16);
        out[24] = (uint8_t)(~sum >> 8), out[25] = (uint8_t)~sum;
        if (rows[i].opcode != 0xff && rows[i].status != WIRE_BAD_ICRC) {
            uint32_t c = wire_icrc(out + 14, n - 14 - 4);
            for (unsigned k = 0; k < 4; k++)
                out[n - 4 + k] = (uint8_t)(c >> 8 * k);
        }
        enum wire_status s = wire_decode(out, n, &q, NULL);
        if (s != rows[i].status)
            fail_msg("%s: %s", rows[i].what, wire_status_name(s));
        pkt_release_payload(&q);
    }
    for (enum wire_status s = WIRE_OK; s < WIRE_STATUS_COUNT; s++)
        assert_non_null(wire_status_name(s));
}

static void frames_cut_anywhere_are_truncated(void **state)
{
    (void)state;
    struct pkt p, q;
    uint8_t out[256];
    static const uint8_t opcodes[] = { ROCE_SEND_ONLY, 0xff };
    for (unsigned k = 0; k < 2; k++) {
        size_t n = sample(&p, out, sizeof out, opcodes[k], 20);
        for (size_t cut = 0; cut < n; cut++) {
            uint8_t *exact = malloc(cut + 1); /* so that a sanitizer sees a read beyond the end */
            memcpy(exact, out, cut);
            assert_int_equal(wire_decode(exact, cut, &q, NULL), WIRE_TRUNCATED);
            pkt_release_payload(&q);
            free(exact);
        }
        for (size_t cap = 0; cap < n; cap++) {
            uint8_t *exact = malloc(cap + 1);
            assert_int_equal(wire_encode(&p, NULL, exact, cap), 0);
            free(exact);
        }
    }
}

/* RFC 768: a UDP checksum that is there is verified, and computed when it was; RFC 8200 for IPv6. */
static void udp_checksums(void **state)
{
    (void)state;
    for (int v6 = 0; v6 < 2; v6++) {
        struct pkt p = plain(PKT_ROCE, ROCE_WRITE_ONLY), q;
        struct wire_l3 l3;
        uint8_t out[512];
        size_t udp = 14 + (v6 ? 40 : 20);
        p.flags = v6 ? PKT_F_IPV6 : 0;
        assert_true(pkt_add_pattern(&p, 99, 1, 2));
        pkt_set_len(&p);
        size_t n = wire_encode(&p, NULL, out, sizeof out);
        assert_int_equal(out[udp + 6] | out[udp + 7], 0);
        assert_int_equal(wire_decode(out, n, &q, &l3), WIRE_OK);
        assert_int_equal(l3.udp_checksum, 0);
        l3.udp_checksum = 1;
        n = wire_encode(&q, &l3, out, sizeof out);
        pkt_release_payload(&q);
        assert_int_not_equal(out[udp + 6] | out[udp + 7], 0);
        assert_int_equal(wire_decode(out, n, &q, &l3), WIRE_OK);
        pkt_release_payload(&q);
        out[udp + 7] ^= 1;
        assert_int_equal(wire_decode(out, n, &q, &l3), WIRE_BAD_UDP_CHECKSUM);
        pkt_release_payload(&q);
    }
}

/* What a decoded frame holds beyond the packet comes back: addresses, options, tag, pads and trailers of others. */
static void cold_fields_survive(void **state)
{
    (void)state;
    struct pkt p = plain(PKT_ROCE, ROCE_SEND_ONLY), q;
    struct wire_l3 l3, back;
    uint8_t out[512], again[512];
    memset(&l3, 0, sizeof l3);
    for (unsigned i = 0; i < 6; i++)
        l3.dmac[i] = (uint8_t)(i + 1), l3.smac[i] = (uint8_t)(0xf0 + i);
    p.flags = PKT_F_VLAN;
    p.pcp = 5;
    l3.vlan_id = 0x1abc; /* DEI and an id */
    l3.ip_opt_len = 8;
    memset(l3.ip_opt, 1, 8);
    memset(l3.roce_pad, 0xee, 3);
    l3.trailer_len = 4;
    memset(l3.trailer, 0x99, 4);
    assert_true(pkt_add_pattern(&p, 33, 1, 2));
    pkt_set_len(&p);
    size_t n = wire_encode(&p, &l3, out, sizeof out);
    assert_int_equal(n, 18 + 28 + 8 + 12 + 36 + 4 + 4);
    assert_int_equal(wire_decode(out, n, &q, &back), WIRE_OK);
    assert_memory_equal(back.dmac, l3.dmac, 6);
    assert_memory_equal(back.smac, l3.smac, 6);
    assert_int_equal(back.vlan_id, l3.vlan_id);
    assert_int_equal(back.ip_df, 0);
    assert_int_equal(back.ip_opt_len, 8);
    assert_memory_equal(back.roce_pad, l3.roce_pad, 3);
    assert_int_equal(back.trailer_len, 4);
    assert_int_equal(wire_encode(&q, &back, again, sizeof again), n);
    assert_memory_equal(out, again, n);
    pkt_release_payload(&q);
}

/* A small generator of its own, so that the same packets are tried everywhere. */
static uint64_t draw(uint64_t *s)
{
    *s += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (*s ^ *s >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void random_payload(struct pkt *p, uint64_t *s, uint32_t most)
{
    uint8_t bytes[256];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)draw(s);
    for (unsigned k = (unsigned)(draw(s) % 5); k; k--) {
        uint32_t n = (uint32_t)(draw(s) % (most / 5)), before = p->payload_len;
        switch (draw(s) % 4) {
        case 0: (void)pkt_add_pattern(p, n, draw(s), draw(s)); break;
        case 1: (void)pkt_add_literal(p, bytes, n % 30); break;
        case 2: (void)pkt_add_bytes(p, bytes, n % 256); break;
        default:
            if (p->kind == PKT_TCP)
                (void)pkt_add_mpa_tail(p, n % 4, before ? n % before : 0, draw(s) % 4 == 0);
            break;
        }
    }
}

static struct pkt random_packet(uint64_t *s)
{
    struct pkt p;
    memset(&p, 0, sizeof p);
    p.kind = (uint8_t)(draw(s) % 4);
    p.src = (uint32_t)draw(s);
    p.dst = (uint32_t)draw(s);
    p.sport = (uint16_t)draw(s);
    p.dport = p.kind == PKT_ROCE ? WIRE_ROCE_PORT : (uint16_t)draw(s);
    p.ip_id = (uint16_t)draw(s);
    p.flags = p.kind == PKT_PFC ? 0 : (uint8_t)(draw(s) % 4 == 0 ? PKT_F_VLAN : 0) | (draw(s) % 4 == 0 ? PKT_F_IPV6 : 0);
    if (p.kind != PKT_PFC && !(p.flags & PKT_F_IPV6) && draw(s) % 4 == 0)
        p.flags |= PKT_F_VXLAN;
    p.dscp = draw(s) & 63;
    p.ecn = draw(s) & 3;
    p.ttl = (uint8_t)draw(s);
    p.pcp = draw(s) & 7;
    if (p.kind == PKT_TCP) {
        for (unsigned i = 0; i < sizeof p.tcp; i++)
            ((uint8_t *)&p.tcp)[i] = (uint8_t)draw(s);
        p.tcp.opt &= 31;
        p.tcp.nsack = draw(s) % 5;
        if (pkt_tcp_opt_bytes(&p.tcp) > 40)
            p.tcp.opt &= (uint8_t)~TCP_OPT_SACK;
    } else if (p.kind == PKT_ROCE) {
        do
            p.roce.opcode = (uint8_t)draw(s);
        while (!wire_roce_op[p.roce.opcode].name);
        p.roce.se = draw(s) & 1, p.roce.m = draw(s) & 1, p.roce.fecn = draw(s) & 1, p.roce.becn = draw(s) & 1, p.roce.ack_req = draw(s) & 1;
        p.roce.tver = draw(s) & 15;
        p.roce.pkey = (uint16_t)draw(s);
        p.roce.syndrome = (uint8_t)draw(s);
        p.roce.dqpn = draw(s) & 0xffffff, p.roce.psn = draw(s) & 0xffffff, p.roce.msn = draw(s) & 0xffffff;
        p.roce.imm_or_rkey = (uint32_t)draw(s);
        unsigned f = wire_roce_op[p.roce.opcode].flags;
        p.roce.x.atomic.va = draw(s), p.roce.x.atomic.swap_add = draw(s), p.roce.x.atomic.compare = draw(s);
        p.roce.x.atomic.rkey = (uint32_t)draw(s), p.roce.x.atomic.irn_sn = (uint32_t)draw(s);
        if (f & ROCE_OP_IRN_SACK)
            p.roce.x.irn_sack.psn = draw(s) & 0xffffff;
        if (f & ROCE_OP_DETH)
            p.roce.x.deth.sqpn = draw(s) & 0xffffff;
    } else if (p.kind == PKT_PFC) {
        p.pfc.class_vector = draw(s) & 0xff;
        for (unsigned i = 0; i < 8; i++)
            p.pfc.quanta[i] = (uint16_t)draw(s);
        p.pfc.link_wide = draw(s) % 8 == 0;
        if (p.pfc.link_wide)
            p.pfc.class_vector = 0;
    }
    if (p.kind == PKT_TCP || p.kind == PKT_RAW || (p.kind == PKT_ROCE && wire_roce_op[p.roce.opcode].flags & ROCE_OP_PAYLOAD))
        random_payload(&p, s, draw(s) % 32 == 0 ? 60000 : 4096);
    pkt_set_len(&p);
    return p;
}

/* RFC 7348 5: the outer headers, 50 B with the inner Ethernet header; a congestion mark and the TTL are in the outer one (RFC 6040 4.1). */
static void vxlan_as_in_rfc_7348(void **state)
{
    (void)state;
    uint8_t out[512], bare[512];
    struct pkt p = plain(PKT_ROCE, ROCE_SEND_ONLY), q;
    assert_true(pkt_add_pattern(&p, 40, 1, 2));
    p.ttl = 61;
    p.dscp = 26;
    p.ecn = 2;
    pkt_set_len(&p);
    size_t n = wire_encode(&p, NULL, bare, sizeof bare);
    p.flags |= PKT_F_VXLAN;
    p.ecn = 3;
    pkt_set_len(&p);
    assert_int_equal(trip(&p, out, sizeof out), n + 50);
    static const uint8_t vxlan[8] = { 0x08, 0, 0, 0, 0, 0, 1, 0 };
    const uint8_t *ip = out + 14, *udp = ip + 20, *inner = udp + 16;
    assert_int_equal(ip[0], 0x45);
    assert_int_equal(ip[1], 26 << 2 | 3);
    assert_int_equal(ip[2] << 8 | ip[3], n + 50 - 14);
    assert_int_equal(ip[8], 61);
    assert_int_equal(ip[9], 17);
    assert_true(udp[0] >= 0xc0);                                      /* 49152 to 65535 */
    assert_int_equal(udp[2] << 8 | udp[3], 4789);
    assert_int_equal(udp[4] << 8 | udp[5], n + 50 - 34);
    assert_int_equal(udp[6] << 8 | udp[7], 0);
    assert_memory_equal(udp + 8, vxlan, 8);
    /* The inner frame is the bare one, but for its TTL and the header checksum that covers it. */
    assert_memory_equal(inner, bare, 14 + 8);
    assert_int_equal(inner[14 + 8], 64);
    assert_memory_equal(inner + 14 + 12, bare + 14 + 12, n - 14 - 12);
    /* Another's VXLAN, of another network, is not taken apart. */
    out[14 + 20 + 8 + 6] = 2;
    assert_int_equal(wire_decode(out, n + 50, &q, NULL), WIRE_UNKNOWN_PROTOCOL);
    assert_int_equal(q.kind, PKT_RAW);
    assert_int_equal(q.dport, 4789);
    pkt_release_payload(&q);
}

/* No telepathy: what a receiver learns from the bytes is what the packet held. */
static void random_packets_survive_bytes(void **state)
{
    (void)state;
    static uint8_t out[WIRE_FRAME_MAX];
    uint64_t s = 20261201;
    unsigned n = getenv("RNICSIM_TEST_LONG") ? 1000000 : 20000;
    for (unsigned i = 0; i < n; i++) {
        struct pkt p = random_packet(&s), q;
        size_t len = trip(&p, out, sizeof out);
        wire_decode(out, len, &q, NULL);
        uint8_t proto = p.kind == PKT_TCP ? 6 : p.kind == PKT_ROCE ? 17 : 253;
        if (p.kind == PKT_TCP || p.kind == PKT_ROCE)
            assert_int_equal(q.flow_hash, pkt_flow_hash(p.src, p.dst, proto, p.sport, p.dport));
        pkt_release_payload(&q);
        pkt_release_payload(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_at_its_extremes), cmocka_unit_test(the_opcode_table), cmocka_unit_test(tcp_option_layout),
        cmocka_unit_test(tcp_options_of_others),      cmocka_unit_test(refusals),         cmocka_unit_test(frames_cut_anywhere_are_truncated),
        cmocka_unit_test(udp_checksums),              cmocka_unit_test(cold_fields_survive), cmocka_unit_test(vxlan_as_in_rfc_7348), cmocka_unit_test(random_packets_survive_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
