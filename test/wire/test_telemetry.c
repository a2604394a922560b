/* SPDX-License-Identifier: GPL-2.0-only */
/* In-band telemetry on the wire (HPCC, SIGCOMM'19, figure 7): 42 bytes between UDP header and BTH, words of 64 bits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "../../model/wire/codec.h"
#include "../../model/wire/telemetry.h"

static struct pkt packet(unsigned opcode, uint32_t len)
{
    struct pkt p;
    memset(&p, 0, sizeof p);
    p.kind = PKT_ROCE;
    p.src = pkt_addr_of_node(3);
    p.dst = pkt_addr_of_node(4);
    p.sport = 0xc123;
    p.ttl = 64;
    p.roce.opcode = (uint8_t)opcode;
    p.roce.pkey = 0xffff;
    p.roce.dqpn = 0x123456;
    p.roce.psn = 0xabcdef;
    pkt_add_telemetry(&p);
    assert_true(pkt_add_pattern(&p, len, 7, 0));
    pkt_set_len(&p);
    return p;
}

/* The bytes that HPCC counts: 2 and 8 for each of 5 switches. WRITE ONLY of 1000 B: 14 + 20 + 8 + 42 + 12 + 16 + 1000 + 4 + 4. */
static void its_bytes_are_charged(void **state)
{
    (void)state;
    struct pkt p = packet(ROCE_WRITE_ONLY, 1000);
    assert_int_equal(p.frame_len, 1120);
    p = packet(ROCE_ACK, 0);
    assert_int_equal(p.frame_len, 66 + 42);
}

static void words(void **state)
{
    (void)state;
    struct telemetry_hop h = { .rate_bps = INT64_C(100000000000), .ts_ns = 0x123456789, .tx_bytes = 128 * UINT64_C(0x9abcd3) + 5, .queue_bytes = 80 * 300 + 30 };
    uint64_t w = telemetry_word(&h);
    assert_true(w == (UINT64_C(10) << 60 | UINT64_C(0x456789) << 36 | (UINT64_C(0x9abcd3) & 0xfffff) << 16 | 300));
    struct telemetry_hop r = telemetry_read(w);
    assert_int_equal(r.rate_bps, h.rate_bps);
    assert_int_equal(r.ts_ns, 0x456789);
    assert_int_equal(r.tx_bytes, 128 * (0x9abcd3 & 0xfffff));
    assert_int_equal(r.queue_bytes, 24000);
    h.queue_bytes = 10000000; /* beyond the field */
    assert_int_equal(telemetry_read(telemetry_word(&h)).queue_bytes, 80 * 65535);
    static const int64_t speeds[] = { 10, 25, 40, 50, 100, 200, 400, 800 };
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        h.rate_bps = speeds[i] * 1000000000;
        assert_int_equal(telemetry_read(telemetry_word(&h)).rate_bps, h.rate_bps);
    }
}

static void round_trip(void **state)
{
    (void)state;
    static const unsigned op[] = { ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, ROCE_SEND_ONLY, ROCE_ACK, ROCE_READ_REQUEST };
    for (size_t i = 0; i < sizeof op / sizeof op[0]; i++)
        for (uint8_t hops = 0; hops <= PKT_INT_HOPS; hops++) {
            struct pkt p = packet(op[i], op[i] == ROCE_ACK || op[i] == ROCE_READ_REQUEST ? 0 : 1021), q;
            uint8_t frame[2048];
            p.telemetry.nhops = hops;
            p.telemetry.path_id = hops ? 0xfff : 0;
            for (unsigned k = 0; k < hops; k++)
                p.telemetry.hop[k] = ~UINT64_C(0) - k;
            size_t n = wire_encode(&p, NULL, frame, sizeof frame);
            assert_int_equal(n, p.frame_len - 4u);
            assert_int_equal(frame[36] << 8 | frame[37], WIRE_ROCE_INT_PORT);
            assert_int_equal(frame[42] >> 4, hops);
            memset(&q, 0xee, sizeof q);
            assert_int_equal(wire_decode(frame, n, &q, NULL), WIRE_OK);
            assert_true(pkt_equal(&p, &q));
            assert_int_equal(q.frame_len, p.frame_len);
            /* what a switch writes does not touch the ICRC; anything else does */
            uint8_t icrc[4];
            memcpy(icrc, frame + n - 4, 4);
            p.telemetry.hop[0] ^= 5;
            assert_int_equal(wire_encode(&p, NULL, frame, sizeof frame), n);
            assert_memory_equal(icrc, frame + n - 4, 4);
            pkt_release_payload(&q);
            assert_int_equal(wire_decode(frame, n, &q, NULL), WIRE_OK);
            assert_false(pkt_equal(&p, &q) && p.telemetry.hop[0] == 0);
            frame[n - 5] ^= 1;
            pkt_release_payload(&q);
            assert_int_equal(wire_decode(frame, n, &q, NULL), WIRE_BAD_ICRC);
            pkt_release_payload(&q);
        }
}

/* Truncated anywhere it is refused, and nothing is read beyond its end. */
static void truncated(void **state)
{
    (void)state;
    struct pkt p = packet(ROCE_WRITE_ONLY, 64), q;
    uint8_t frame[512];
    size_t n = wire_encode(&p, NULL, frame, sizeof frame);
    for (size_t len = 0; len < n; len++) {
        assert_int_not_equal(wire_decode(frame, len, &q, NULL), WIRE_OK);
        pkt_release_payload(&q);
    }
}

/* Its place in the packet is two chunks': the third does not fit. */
static void leaves_room_for_two_chunks(void **state)
{
    (void)state;
    struct pkt p = packet(ROCE_SEND_ONLY, 10);
    assert_true(pkt_add_bytes(&p, "abc", 3));
    assert_false(pkt_add_bytes(&p, "abc", 3));
    pkt_release_payload(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(its_bytes_are_charged), cmocka_unit_test(words), cmocka_unit_test(round_trip), cmocka_unit_test(truncated),
        cmocka_unit_test(leaves_room_for_two_chunks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
