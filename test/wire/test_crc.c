/* SPDX-License-Identifier: GPL-2.0-only */
/** CRC32c (RFC 3720 B.4) and the Ethernet CRC: known answers, and against a bit at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../model/wire/codec.h"

typedef uint32_t crc_fn(uint32_t crc, const void *bytes, size_t len);

static uint32_t by_bits(uint32_t polynomial, const uint8_t *b, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= b[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}

/* The sequences of RFC 3720 B.4 and the usual check string. */
static void known_answers(void **state)
{
    (void)state;
    uint8_t zeros[32] = { 0 }, ones[32], up[32], down[32];
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < 32; i++) {
        up[i] = (uint8_t)i;
        down[i] = (uint8_t)(31 - i);
    }
    crc_fn *const c[] = { wire_crc32c, wire_crc32c_portable };
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(c[i](0, "123456789", 9), 0xe3069283);
        assert_int_equal(c[i](0, zeros, 32), 0x8a9136aa);
        assert_int_equal(c[i](0, ones, 32), 0x62a8ab43);
        assert_int_equal(c[i](0, up, 32), 0x46dd794e);
        assert_int_equal(c[i](0, down, 32), 0x113fdb5c);
        assert_int_equal(c[i](0, "", 0), 0);
    }
    assert_int_equal(wire_crc32(0, "123456789", 9), 0xcbf43926);
}

static void every_length_and_split(void **state)
{
    (void)state;
    uint8_t b[300];
    for (unsigned i = 0; i < sizeof b; i++)
        b[i] = pkt_pattern_byte(42, i);
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; n + from <= sizeof b; n += n < 40 ? 1 : 13) {
            uint32_t c = by_bits(0x82f63b78, b + from, n), e = by_bits(0xedb88320, b + from, n);
            size_t cut = n / 3;
            assert_int_equal(wire_crc32c(0, b + from, n), c);
            assert_int_equal(wire_crc32c_portable(0, b + from, n), c);
            assert_int_equal(wire_crc32c(wire_crc32c(0, b + from, cut), b + from + cut, n - cut), c);
            assert_int_equal(wire_crc32c_portable(wire_crc32c(0, b + from, cut), b + from + cut, n - cut), c);
            assert_int_equal(wire_crc32(0, b + from, n), e);
            assert_int_equal(wire_crc32(wire_crc32(0, b + from, cut), b + from + cut, n - cut), e);
        }
}

/* All table entries, one byte after the other. */
static void every_byte_value(void **state)
{
    (void)state;
    uint8_t b[8] = { 0 };
    for (unsigned at = 0; at < 8; at++)
        for (unsigned v = 0; v < 256; v++) {
            b[at] = (uint8_t)v;
            assert_int_equal(wire_crc32c_portable(0, b, 8), by_bits(0x82f63b78, b, 8));
            assert_int_equal(wire_crc32(0, b, 8), by_bits(0xedb88320, b, 8));
            b[at] = 0;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(known_answers), cmocka_unit_test(every_length_and_split),
                                        cmocka_unit_test(every_byte_value) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
