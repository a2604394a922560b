/* SPDX-License-Identifier: GPL-2.0-only */
/** pcap-savefile(5): what is written is read, in all four magics; what is no pcap file is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/wire/pcap.h"

static void what_is_written_is_read(void **state)
{
    (void)state;
    uint8_t file[PCAP_FILE_HEADER_BYTES + 3 * (PCAP_RECORD_HEADER_BYTES + 60)], *b = file;
    static const int64_t at_ps[3] = { 0, 1234567, INT64_C(7200) * 1000000000000 + 999999999999 };
    struct pcap_reader r;
    struct pcap_frame f;
    pcap_file_header(b, 65535);
    b += PCAP_FILE_HEADER_BYTES;
    for (unsigned i = 0; i < 3; i++) {
        pcap_record_header(b, at_ps[i], 60, 1000 + i);
        memset(b + PCAP_RECORD_HEADER_BYTES, (int)i + 1, 60);
        b += PCAP_RECORD_HEADER_BYTES + 60;
    }
    assert_int_equal(pcap_open(&r, file, sizeof file), PCAP_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pcap_next(&r, &f), PCAP_OK);
        assert_int_equal(f.no, i + 1);
        assert_int_equal(f.captured, 60);
        assert_int_equal(f.original, 1000 + i);
        assert_true(f.at_ps == at_ps[i] / 1000 * 1000); /* kept to the ns */
        assert_int_equal(f.bytes[59], i + 1);
    }
    assert_int_equal(pcap_next(&r, &f), PCAP_END);
    assert_int_equal(pcap_next(&r, &f), PCAP_END);
}

static void put(uint8_t *b, uint32_t v, bool big)
{
    for (unsigned i = 0; i < 4; i++)
        b[i] = (uint8_t)(v >> 8 * (big ? 3 - i : i));
}

static void all_four_magics(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 4; form++) {
        bool big = form & 1, nano = form & 2;
        uint8_t file[24 + 16 + 4] = { 0 };
        put(file, nano ? 0xa1b23c4d : 0xa1b2c3d4, big);
        put(file + 20, 1, big);
        put(file + 24, 5, big);
        put(file + 28, 250000, big);
        put(file + 32, 4, big);
        put(file + 36, 4, big);
        struct pcap_reader r;
        struct pcap_frame f;
        assert_int_equal(pcap_open(&r, file, sizeof file), PCAP_OK);
        assert_int_equal(pcap_next(&r, &f), PCAP_OK);
        assert_true(f.at_ps == INT64_C(5000000000000) + (nano ? INT64_C(250000000) : INT64_C(250000000000)));
        assert_int_equal(pcap_next(&r, &f), PCAP_END);
    }
}

/* A wall clock's seconds do not fit picoseconds: time counts from the first frame. */
static void real_clocks_count_from_the_first_frame(void **state)
{
    (void)state;
    uint8_t file[24 + 4 * 16] = { 0 };
    static const uint32_t s[4] = { 1700000000, 1700000001, 1699999999, UINT32_MAX }, us[4] = { 999999, 0, 0, 0 };
    static const int64_t want[4] = { 0, 1000000, INT64_C(-1999999000000), INT64_C(9000000) * 1000000000000 - 999999000000 };
    put(file, 0xa1b2c3d4, false);
    put(file + 20, 1, false);
    for (unsigned i = 0; i < 4; i++) {
        put(file + 24 + 16 * i, s[i], false);
        put(file + 28 + 16 * i, us[i], false);
    }
    struct pcap_reader r;
    struct pcap_frame f;
    assert_int_equal(pcap_open(&r, file, sizeof file), PCAP_OK);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pcap_next(&r, &f), PCAP_OK);
        assert_true(f.at_ps == want[i]);
    }
}

static void what_is_no_pcap_is_named(void **state)
{
    (void)state;
    static const struct { const char *bytes; size_t len; enum pcap_status open; } rows[] = {
        { "", 0, PCAP_NOT_PCAP },
        { "\xd4\xc3\xb2", 3, PCAP_NOT_PCAP },
        { "<?xml version=\"1.0\"?>      ", 27, PCAP_NOT_PCAP },
        { "\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0\0\0\0\0\0\0\0\0", 24, PCAP_PCAPNG },
        { "\xd4\xc3\xb2\xa1\2\0\4\0", 8, PCAP_TRUNCATED },
        { "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x71\0\0\0", 24, PCAP_NOT_ETHERNET },
        { "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\1\0\0\0", 24, PCAP_OK },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pcap_reader r;
        assert_int_equal(pcap_open(&r, (const uint8_t *)rows[i].bytes, rows[i].len), rows[i].open);
    }
    for (enum pcap_status s = PCAP_OK; s <= PCAP_BAD_LENGTH; s++)
        assert_true(strlen(pcap_status_text(s)) > 0);
}

static void records_that_cannot_be(void **state)
{
    (void)state;
    static const struct { uint32_t captured, original; size_t cut; enum pcap_status next; } rows[] = {
        { 10, 10, 0, PCAP_OK },           { 10, 10, 1, PCAP_TRUNCATED }, { 10, 10, 11, PCAP_TRUNCATED },
        { 11, 11, 0, PCAP_TRUNCATED },    { 10, 9, 0, PCAP_BAD_LENGTH }, { 0xffffffff, 0xffffffff, 0, PCAP_BAD_LENGTH },
        { 262145, 262145, 0, PCAP_BAD_LENGTH },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t file[24 + 16 + 10] = { 0 };
        struct pcap_reader r;
        struct pcap_frame f;
        pcap_file_header(file, 65535);
        put(file + 32, rows[i].captured, false);
        put(file + 36, rows[i].original, false);
        assert_int_equal(pcap_open(&r, file, sizeof file - rows[i].cut), PCAP_OK);
        assert_int_equal(pcap_next(&r, &f), rows[i].next);
        if (rows[i].next != PCAP_OK)
            assert_int_equal(r.at - r.begin, 24); /* says where */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(all_four_magics),
        cmocka_unit_test(real_clocks_count_from_the_first_frame), cmocka_unit_test(what_is_no_pcap_is_named),
        cmocka_unit_test(records_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
