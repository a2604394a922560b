/* SPDX-License-Identifier: GPL-2.0-only */
#include "../../model/sim/param.h"
#include "../../model/sim/rng.h"
#include "../../model/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define DEMO_PARAMS(X) \
    X(ack_timeout_ps, TIME, 67108864000, 0, SIM_NEVER_PS, NULL, "timeout", "test") \
    X(link_rate_bps, RATE, 100000000000, 1000000, 1600000000000, NULL, "rate", "test") \
    X(mtu_bytes, BYTES, 1024, 256, 4096, NULL, "path MTU", "test") \
    X(retry_count, COUNT, 7, 0, 7, NULL, "retries", "test") \
    X(pfc, BOOL, 1, 0, 1, NULL, "pause", "test") \
    X(completion, ENUM, 2, 0, 2, "poll|event|adaptive", "mode", "test") \
    X(loss_rate, FRACTION, 0.25, 0, 1, NULL, "loss", "test") \
    X(gain, NUMBER, 0.0625, -1, 4, NULL, "g", "test")
struct demo_params { PARAM_FIELDS(DEMO_PARAMS) };
#define PARAM_STRUCT struct demo_params
PARAM_TABLE(demo_params, DEMO_PARAMS)
#undef PARAM_STRUCT

static void quantities(void **state)
{
    static const struct { enum param_kind kind; const char *text; double value; } row[] = {
        { PARAM_TIME, "2us", 2e6 }, { PARAM_TIME, "500ns", 5e5 }, { PARAM_TIME, "1.5ms", 1.5e9 }, { PARAM_TIME, "3s", 3e12 },
        { PARAM_TIME, "7ps", 7 }, { PARAM_TIME, "0.1us", 1e5 }, { PARAM_TIME, " 10 us ", 1e7 }, { PARAM_TIME, "2\u00b5s", 2e6 },
        { PARAM_TIME, "0", 0 }, { PARAM_TIME, "1e3ns", 1e6 }, { PARAM_TIME, "never", 9223372036854775808.0 },
        { PARAM_RATE, "100Gbps", 1e11 }, { PARAM_RATE, "40Mbps", 4e7 }, { PARAM_RATE, "1.6Tbps", 1.6e12 },
        { PARAM_RATE, "25Gb/s", 2.5e10 }, { PARAM_RATE, "9kbps", 9000 }, { PARAM_RATE, "8bps", 8 }, { PARAM_RATE, "10gbps", 1e10 },
        { PARAM_RATE, "10Gbit/s", 1e10 }, { PARAM_BYTES, "1024B", 1024 }, { PARAM_BYTES, "240KiB", 245760 },
        { PARAM_BYTES, "9MB", 9e6 }, { PARAM_BYTES, "1.5KiB", 1536 }, { PARAM_BYTES, "1kB", 1000 }, { PARAM_BYTES, "1kb", 1000 },
        { PARAM_BYTES, "2MiB", 2097152 }, { PARAM_BYTES, "1GiB", 1073741824 }, { PARAM_COUNT, "7", 7 }, { PARAM_COUNT, "1e6", 1e6 },
        { PARAM_BOOL, "yes", 1 }, { PARAM_BOOL, "off", 0 }, { PARAM_BOOL, "true", 1 }, { PARAM_BOOL, "False", 0 },
        { PARAM_FRACTION, "70%", 0.7 }, { PARAM_FRACTION, "1e-5", 1e-5 }, { PARAM_FRACTION, "0.7", 0.7 }, { PARAM_FRACTION, ".5", 0.5 },
        { PARAM_LENGTH, "100m", 1e5 }, { PARAM_LENGTH, "10km", 1e7 }, { PARAM_LENGTH, "0.5 m", 500 }, { PARAM_LENGTH, "3cm", 30 }, { PARAM_LENGTH, "0", 0 },
        { PARAM_NUMBER, "-0.875", -0.875 }, { PARAM_NUMBER, "+2", 2 },
    };
    char err[256];

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        double v = -1;

        if (param_parse(row[i].kind, NULL, row[i].text, &v, err, sizeof err) != SIM_OK)
            fail_msg("%s: %s", row[i].text, err);
        if (v != row[i].value)
            fail_msg("%s read as %.17g", row[i].text, v);
    }
}

static void refusals(void **state)
{
    static const struct { enum param_kind kind; const char *text, *says; } row[] = {
        { PARAM_TIME, "5", "500ns, 2us or 1.5ms" }, { PARAM_RATE, "100", "100Gbps" }, { PARAM_BYTES, "1024", "1024B" },
        { PARAM_TIME, "5Gbps", "unknown unit" }, { PARAM_TIME, "", "empty" }, { PARAM_TIME, "us", "not understood" },
        { PARAM_TIME, "0x10us", "unit" }, { PARAM_TIME, "infs", "not understood" }, { PARAM_TIME, "nan", "not understood" },
        { PARAM_TIME, "0.5ps", "whole number of ps" }, { PARAM_TIME, "1e9s", "too large" }, { PARAM_RATE, "100GBps", "unit" },
        { PARAM_RATE, "100G", "unit" }, { PARAM_BYTES, "0.3B", "whole" }, { PARAM_BYTES, "9Mb", "unit" }, { PARAM_BYTES, "9us", "unit" },
        { PARAM_LENGTH, "100", "has no unit" }, { PARAM_LENGTH, "5us", "unknown unit" }, { PARAM_LENGTH, "0.1mm", "whole number of mm" },
        { PARAM_COUNT, "7.5", "whole" }, { PARAM_COUNT, "7 apples", "not understood" }, { PARAM_BOOL, "maybe", "yes, no" },
        { PARAM_FRACTION, "70 percent", "70%" }, { PARAM_NUMBER, "1,5", "0.875" }, { PARAM_NUMBER, "1e999", "too large" },
        { PARAM_TIME, "1.2.3us", "unit" }, { PARAM_TIME, "--1us", "not understood" }, { PARAM_TIME, "2us3", "unit" },
    };
    char err[256];

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        double v = 42;

        if (param_parse(row[i].kind, NULL, row[i].text, &v, err, sizeof err) != SIM_ERR_PARAM)
            fail_msg("%s accepted as %g", row[i].text, v);
        if (!strstr(err, row[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", row[i].text, err, row[i].says);
        assert_true(v == 42);
    }
}

static void fields(void **state)
{
    struct demo_params p;
    const struct param *bad = NULL;
    char err[256], buf[64];

    (void)state;
    param_defaults(&demo_params_table, &p);
    assert_int_equal(param_check(&demo_params_table, &p, &bad), SIM_OK);
    assert_true(p.ack_timeout_ps == 67108864000 && p.retry_count == 7 && p.completion == 2 && p.loss_rate == 0.25);
    assert_string_equal(param_public_name(&demo_params_table.rows[0], buf, sizeof buf), "ack-timeout");
    assert_string_equal(param_public_name(&demo_params_table.rows[1], buf, sizeof buf), "link-rate");
    assert_string_equal(param_public_name(&demo_params_table.rows[2], buf, sizeof buf), "mtu");
    assert_ptr_equal(param_find(&demo_params_table, "mtu"), &demo_params_table.rows[2]);
    assert_ptr_equal(param_find(&demo_params_table, "mtu_bytes"), &demo_params_table.rows[2]);
    assert_ptr_equal(param_find(&demo_params_table, "ack_timeout"), &demo_params_table.rows[0]);
    assert_null(param_find(&demo_params_table, "mt"));
    assert_string_equal(param_nearest(&demo_params_table, "retry-cuont")->field, "retry_count");

    assert_int_equal(param_set(param_find(&demo_params_table, "mtu"), &p, "4096B", err, sizeof err), SIM_OK);
    assert_int_equal(p.mtu_bytes, 4096);
    assert_int_equal(param_set(param_find(&demo_params_table, "mtu"), &p, "9000B", err, sizeof err), SIM_ERR_PARAM);
    assert_string_equal(err, "mtu: \"9000B\" is out of range: give 256B to 4096B");
    assert_int_equal(param_set(param_find(&demo_params_table, "mtu"), &p, "1024", err, sizeof err), SIM_ERR_PARAM);
    assert_non_null(strstr(err, "has no unit"));
    assert_int_equal(p.mtu_bytes, 4096);
    assert_int_equal(param_set(param_find(&demo_params_table, "completion"), &p, "event", err, sizeof err), SIM_OK);
    assert_int_equal(p.completion, 1);
    assert_int_equal(param_set(param_find(&demo_params_table, "completion"), &p, "evnt", err, sizeof err), SIM_ERR_PARAM);
    assert_non_null(strstr(err, "did you mean event?"));
    assert_int_equal(param_set(param_find(&demo_params_table, "ack-timeout"), &p, "never", err, sizeof err), SIM_OK);
    assert_true(p.ack_timeout_ps == SIM_NEVER_PS);
    assert_int_equal(param_set(param_find(&demo_params_table, "loss-rate"), &p, "101%", err, sizeof err), SIM_ERR_PARAM);
    assert_int_equal(param_set(param_find(&demo_params_table, "ack-timeout"), &p, "-1us", err, sizeof err), SIM_ERR_PARAM);

    p.mtu_bytes = 8192;
    assert_int_equal(param_check(&demo_params_table, &p, &bad), SIM_ERR_PARAM);
    assert_ptr_equal(bad, &demo_params_table.rows[2]);
}

static void printed_values_read_back(void **state)
{
    static const struct { enum param_kind kind; double value; const char *text; } row[] = {
        { PARAM_TIME, 2e6, "2us" }, { PARAM_TIME, 1.5e9, "1.5ms" }, { PARAM_TIME, 0, "0ps" }, { PARAM_TIME, 50000001, "50.000001us" },
        { PARAM_TIME, 67108864000, "67.108864ms" }, { PARAM_TIME, 999, "999ps" }, { PARAM_TIME, 9223372036854775808.0, "never" },
        { PARAM_TIME, 1e14, "100s" }, { PARAM_RATE, 1e11, "100Gbps" }, { PARAM_RATE, 4e7, "40Mbps" }, { PARAM_RATE, 1.6e12, "1.6Tbps" },
        { PARAM_BYTES, 1024, "1024B" }, { PARAM_BYTES, 245760, "240KiB" }, { PARAM_BYTES, 9e6, "9MB" }, { PARAM_BYTES, 12345, "12345B" },
        { PARAM_COUNT, 1000000, "1000000" }, { PARAM_BOOL, 1, "yes" }, { PARAM_FRACTION, 0.7, "0.7" }, { PARAM_FRACTION, 1e-5, "1e-05" },
        { PARAM_LENGTH, 1e5, "100m" }, { PARAM_LENGTH, 1e7, "10km" }, { PARAM_LENGTH, 500, "50cm" }, { PARAM_NUMBER, 1.0 / 3, "0.3333333333333333" }, { PARAM_NUMBER, 1200, "1200" },
    };
    char buf[64], err[128];
    double v;

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_string_equal(param_format_value(row[i].kind, NULL, row[i].value, buf, sizeof buf), row[i].text);
        assert_int_equal(param_parse(row[i].kind, NULL, buf, &v, err, sizeof err), SIM_OK);
        assert_true(v == row[i].value);
    }
    assert_string_equal(param_format_value(PARAM_ENUM, "poll|event|adaptive", 2, buf, sizeof buf), "adaptive");
}

/* Any text is taken or refused with a sentence, never worse (run under ASan). */
static void any_text_is_survived(void **state)
{
    static const char alphabet[] = "0123456789.eE+-% \tKMGTkmunpsBbi/ovr\xc2\xb5";
    struct sim_rng rng;
    char text[200], err[40], one[1];

    (void)state;
    sim_rng_init(&rng, 1, 1, SIM_RNG_TEST);
    for (int i = 0; i < 200000; i++) {
        enum param_kind kind = (enum param_kind)sim_rng_below(&rng, PARAM_NUMBER + 1);
        uint32_t n = sim_rng_below(&rng, i % 16 ? 9 : sizeof text);
        double v = 0;
        int r;

        for (uint32_t j = 0; j < n; j++)
            text[j] = i % 3 ? alphabet[sim_rng_below(&rng, sizeof alphabet - 1)] : (char)sim_rng_u32(&rng);
        text[n] = 0;
        err[0] = 0;
        r = param_parse(kind, kind == PARAM_ENUM ? "poll|event" : NULL, text, &v, err, sizeof err);
        assert_true(r == SIM_OK ? v == v : r == SIM_ERR_PARAM && err[0] && memchr(err, 0, sizeof err));
        (void)param_parse(kind, kind == PARAM_ENUM ? "poll|event" : NULL, text, &v, one, sizeof one);
    }
}

static void edit_distances(void **state)
{
    (void)state;
    assert_int_equal(param_edit_distance("", "abc"), 3);
    assert_int_equal(param_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(param_edit_distance("same", "same"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities), cmocka_unit_test(refusals), cmocka_unit_test(fields),
        cmocka_unit_test(printed_values_read_back), cmocka_unit_test(edit_distances), cmocka_unit_test(any_text_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
