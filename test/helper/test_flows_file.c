/* SPDX-License-Identifier: GPL-2.0-only */
/* Flow lists as text: both forms give the same flows; each fault is told with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../helper/flows_file.h"

static const char *const node_names[] = { "0", "7", "left", "sw" };

static size_t parse(const char *text, bool named, struct wl_flow **flows, struct flows_file_error *e)
{
    struct host_names names;
    size_t n;
    memset(e, 0, sizeof *e);
    assert_true(host_names_init(&names, node_names, named ? 4 : 0, named ? 3 : 10));
    bool ok = flows_file_parse(text, strlen(text), &names, flows, &n, e);
    assert_int_equal(ok, *e->text == '\0');
    assert_int_equal(ok, n > 0);
    host_names_fini(&names);
    return n;
}

static void every_form_gives_the_same_flows(void **state)
{
    (void)state;
    static const struct wl_flow want[] = { { 1, 2, 3, 1500, INT64_C(2000000012000) }, { 0, 9, 0, 2000000, 0 } };
    static const char *const forms[] = {
        "2\n1 2 3 100 1500 2.000000012\n0 9 0 65535 2000000 0\n",
        "2 \r\n\r\n1 2 3 100 1500 2.000000012\r\n 0\t9 0 0 2000000\n0.0",
        "src,dst,bytes,start,priority\n1,2,1500,2000000012ns,3\n0,9,2MB,0,0\n",
        "# a comment\n1 2 1500B 2000000.012us 3 # another\n\n0 9 2MB 0ns 0",
        "priority, start_s, dst, src, bytes\n3, 2.000000012, 2, 1, 1500\n0, 0, 9, 0, 2000000\n",
        "start_ns bytes src dst priority\n2000000012 1500 1 2 3\n0 2000000 0 9 0",
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct wl_flow *f;
        struct flows_file_error e;
        size_t n = parse(forms[i], false, &f, &e);
        if (n != 2)
            fail_msg("form %zu: line %d: %s", i, e.line, e.text);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(f[k].src, want[k].src);
            assert_int_equal(f[k].dst, want[k].dst);
            assert_int_equal(f[k].prio, want[k].prio);
            assert_int_equal(f[k].bytes, want[k].bytes);
            assert_int_equal(f[k].start_ps, want[k].start_ps);
        }
        free(f);
    }
}

/* The files that come with that simulator announce fewer flows than they list, and close with prose. */
static void what_is_not_announced_is_a_remark(void **state)
{
    (void)state;
    struct wl_flow *f;
    struct flows_file_error e;
    assert_int_equal(parse("1\n1 2 3 100 1500 2\n1 99 3 100 1500 2\n\nFirst line: # of flows\n...\n", false, &f, &e), 1);
    assert_int_equal(e.note_line, 3);
    free(f);
    assert_int_equal(parse("1\n1 2 3 100 1500 2\n\n", false, &f, &e), 1);
    assert_int_equal(e.note_line, 0);
    free(f);
}

static void names_and_what_is_left_out(void **state)
{
    (void)state;
    struct wl_flow *f;
    struct flows_file_error e;
    assert_int_equal(parse("7 left 10\nleft 0 20 1us", true, &f, &e), 2);
    assert_true(f[0].src == 1 && f[0].dst == 2 && f[0].start_ps == 0 && f[0].prio == WL_PRIO_OWN);
    assert_true(f[1].src == 2 && f[1].dst == 0 && f[1].start_ps == 1000000 && f[1].prio == WL_PRIO_OWN);
    free(f);
}

static void faults_have_lines(void **state)
{
    (void)state;
    static const struct { const char *text; bool named; int line; const char *says; } bad[] = {
        { "", false, 1, "holds no flow" }, { "# nothing\n\n", false, 3, "holds no flow" },
        { "2\n1 2 3 100 1500 0\n", false, 3, "the file ends in flow 2 of 2, where its source should stand" },
        { "1\n1 2 3 100 1500", false, 2, "where its start should stand" },
        { "1\n1 2 8 100 1500 0\n", false, 2, "priority: 8 is not in 0 to 7" },
        { "1\n1 2 3 65536 1500 0\n", false, 2, "port: 65536 is not in 0 to 65535" },
        { "1\n1 2 3 100 0 0\n", false, 2, "bytes: 0 is not in 1 to 2147483647" },
        { "1\n1 2 3 100 1e9 0\n", false, 2, "bytes: \"1e9\" is not a whole number" },
        { "1\n1 2 3 100 1500 nan\n", false, 2, "start: \"nan\" is not a number" },
        { "1\n1 2 3 100 1500 -1\n", false, 2, "start: -1 is not between" },
        { "1\n1 2 3 100 1500 1001\n", false, 2, "start: 1001 is not between" },
        { "1\n1 10 3 100 1500 0\n", false, 2, "destination: host 10: hosts are 0 to 9" },
        { "1\n4 4 3 100 1500 0\n", false, 2, "the same host" },
        { "0\n", false, 1, "the number of flows: 0 is not in 1" },
        { "src,dst,bytes\n1,2\n", false, 2, "the line has 2 columns" },
        { "src,dst,bytes\n# none\n", false, 3, "holds no flow" },
        { "src,dst,byts\n", false, 1, "no column \"byts\"; nearest: bytes" },
        { "src,dst,dst\n", false, 1, "a second column for \"dst\"" },
        { "src,dst,start\n1,2,0", false, 1, "are needed" },
        { "1 2 1500 12us 3 9\n", false, 1, "\"9\" is one word too many" },
        { "1 2 1500 12\n", false, 1, "start: \"12\" has no unit" },
        { "1 2 1500 12us x\n", false, 1, "priority: \"x\" is not a whole number" },
        { "0 7 5\n0 sw 5\n", true, 2, "\"sw\" is a switch" }, { "0 7 5\n0 lft 5\n", true, 2, "no host is called \"lft\"; nearest: left" },
        { "1 2 \x01\n", false, 1, "byte 0x01" },
        { "1 2 1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\n", false, 1, "more than 127 letters" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct wl_flow *f;
        struct flows_file_error e;
        if (parse(bad[i].text, bad[i].named, &f, &e) != 0)
            fail_msg("\"%s\" is taken", bad[i].text);
        assert_null(f);
        if (!strstr(e.text, bad[i].says) || e.line != bad[i].line)
            fail_msg("\"%s\": line %d: \"%s\" instead of line %d, \"%s\"", bad[i].text, e.line, e.text, bad[i].line, bad[i].says);
    }
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct host_names none = { 0 };
    struct wl_flow *f;
    struct flows_file_error e;
    size_t n;
    assert_false(flows_file_read("no-such-file", &none, &f, &n, &e));
    assert_true(e.line == 0 && strstr(e.text, "No such file") && !f);
    assert_false(flows_file_read(".", &none, &f, &n, &e));
    assert_true(strstr(e.text, "is not a file") && !f);
    assert_false(flows_file_read("/dev/zero", &none, &f, &n, &e));
    assert_true(strstr(e.text, "is not a file") && !f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_the_same_flows), cmocka_unit_test(names_and_what_is_left_out), cmocka_unit_test(what_is_not_announced_is_a_remark), cmocka_unit_test(faults_have_lines),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
