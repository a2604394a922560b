/* SPDX-License-Identifier: GPL-2.0-only */
/* What a script says when it cannot be read, and when what comes is not what it expects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../helper/script_internal.h"

static char said[16384];

static enum script_status run(const char *text)
{
    FILE *err = tmpfile();
    assert_non_null(err);
    enum script_status st = script_run_text("x.script", text, strlen(text), NULL, err);
    rewind(err);
    said[fread(said, 1, sizeof said - 1, err)] = 0;
    fclose(err);
    return st;
}

/* Bad syntax: one line, with file, line and the nearest spelling. */
static void bad_scripts(void **state)
{
    (void)state;
    static const struct { const char *text, *says; } t[] = {
        { "", "x.script:1: a script begins with: transport" },
        { "transport tpc\n", "x.script:1: transport is tcp, iwarp or roce; nearest: tcp" },
        { "# head\ntransport tcp\n0 conect\n", "x.script:3: there is no \"conect\" here; nearest: connect" },
        { "transport tcp\n0 post send\n", "x.script:2: there is no \"post\" here" },
        { "transport tcp\nset tcp.rto-mim=5ms\n", "x.script:2: there is no parameter \"tcp.rto-mim\"; nearest: tcp.rto-min" },
        { "transport tcp\nset tcp.rto-min=5 parsecs\n", "x.script:2: tcp.rto-min: " },
        { "transport tcp\n0 connect\nset isn=1\n", "x.script:3: set stands before" },
        { "transport tcp\n0 < ACK sek=3\n", "x.script:2: ACK has no field \"sek\"; nearest: seq" },
        { "transport tcp\n0 < AKC\n", "x.script:2: there is no packet \"AKC\" here; nearest: ACK" },
        { "transport roce\n0 < SEND_ONLI\n", "x.script:2: there is no packet \"SEND_ONLI\" here; nearest: SEND_ONLY" },
        { "transport roce\n0 < REPP\n", "x.script:2: there is no packet \"REPP\" here; nearest: REP" },
        { "transport roce\n0 < ACK rkey=3\n", "x.script:2: ACK has no field \"rkey\"" },
        { "transport roce\n0 > ACK syndrome=nak-sek\n", "x.script:2: syndrome=nak-sek: not a number, a $variable or *; nearest word: nak-seq" },
        { "transport roce\n0 post recieve\n", "x.script:2: post what? " },
        { "transport iwarp\n0 < sned len=3\n", "x.script:2: there is no packet \"sned\" here; nearest: send" },
        { "transport tcp\n5 parsecs connect\n", "x.script:2: \"5\" is not a time" },
        { "transport tcp\n0\n", "x.script:2: nothing follows the time" },
        { "transport tcp\n0 <\n", "x.script:2: a packet is missing after <" },
        { "transport tcp\n0 > corrupt ACK\n", "x.script:2: of the faults an expected packet takes only drop" },
        { "transport tcp\n5ms..4ms > ACK\n", "x.script:2: \"4ms\" is not a time at or after 5ms" },
        { "transport tcp\n0 > ACK sack=5\n", "x.script:2: sack=5: up to four blocks" },
        { "transport roce\n0 complete status=local-lenght-error\n", "x.script:2: status=local-lenght-error: not a number, a $variable or *; nearest word: local-length-error" },
        { "transport tcp\n0 < ACK len\n", "x.script:2: len needs a value" },
        { "transport tcp\n0 < ACK len=-5\n", "x.script:2: len=-5: 0 to 4294967295" },
        { "transport tcp\n0 < ACK len=4GiB\n", "x.script:2: len=4GiB: 0 to 4294967295" },
        { "transport tcp\n0 < ACK win=-1\n", "x.script:2: win=-1: 0 to 65535" },
        { "transport tcp\n0 < ACK win=64KiB\n", "x.script:2: win=64KiB: 0 to 65535" },
        { "transport tcp\n0 < ACK len=3 fill=300\n", "x.script:2: fill=300: 0 to 255" },
        { "transport roce\n0 post write len=-1\n", "x.script:2: len=-1: 0 to 4294967295" },
        { "transport roce\n0 < WRITE_ONLY va=-8\n", "x.script:2: va=-8: 0 to 18446744073709551615" },
        { "transport iwarp\n0 < send mo=-1\n", "x.script:2: mo=-1: 0 to 4294967295" },
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        enum script_status st = run(t[i].text);
        if (st != SCRIPT_BAD || strncmp(said, t[i].says, strlen(t[i].says)) != 0 || !strchr(said, '\n') || strchr(said, '\n')[1])
            fail_msg("%s: status %d, said: %s", t[i].text, st, said);
    }
}

/* A mismatch: the line as written, expected and seen side by side. */
static void mismatches(void **state)
{
    (void)state;
    static const struct { const char *text, *says[3]; } t[] = {
        { "transport tcp\n0 connect\n+0 > SYN mss=1400\n", { "x.script:3: +0 > SYN mss=1400", "mss          1400                         1460", "<--" } },
        { "transport tcp\n0 connect\n+1ms > SYN\n", { "x.script:3: ", "time         1ms                          0ps", "<--" } },
        { "transport tcp\n0 connect\n+0 > ACK\n", { "x.script:3: ", "packet       ACK                          SYN", "<--" } },
        { "transport tcp\n0 connect\n+1ms < SYN+ACK\n", { "x.script:3: ", "nothing before this line     SYN", "0ps" } },
        { "transport tcp\n0 connect\n", { "end of the script", "nothing more", "SYN" } },
        { "transport tcp\n0 listen\n+5ms > SYN\n", { "x.script:3: ", "as written", "none" } },
        { "transport tcp\n0 check state=ESTABLISHED cwnd=5\n", { "x.script:2: ", "ESTABLISHED              CLOSED", "<--" } },
        { "transport roce\n0 post send len=10\n+0 > SEND_ONLY fill=7\n", { "x.script:3: ", "fill         0x7                          mixed", "<--" } },
        { "transport roce\n0 post send len=9999999\n", { "x.script:2: ", "expected ok, seen param", "" } },
        { "transport roce\n0 < REQ\n", { "x.script:2: ", "set cm=on", "" } },
        { "transport roce\nset cm=on\n0 connect\n+0 > REQ retry=3\n", { "x.script:4: +0 > REQ retry=3", "retry        3                            7", "<--" } },
        { "transport roce\n0 < WRITE_ONLY va=$nowhere\n", { "x.script:2: va: $nowhere has no value yet", "", "" } },
        { "transport roce\n0 post recv len=1\n+0 complete\n", { "x.script:3: ", "completion   as written", "none" } },
        { "transport roce\n0 post send len=1\n+0 > any\n+1us error\n+0 > ACK\n", { "x.script:5: ", "none", "meanwhile at 1us: completion id=1 status=flushed" } },
        { "transport iwarp\n0 connect\n+0 > mpa-request ird=7\n", { "x.script:3: ", "ird          7                            32", "<--" } },
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        enum script_status st = run(t[i].text);
        for (int k = 0; k < 3; k++)
            if (st != SCRIPT_MISMATCH || !strstr(said, t[i].says[k]))
                fail_msg("%s: status %d, without \"%s\": %s", t[i].text, st, t[i].says[k], said);
    }
}

/* Times, ranges, repetition, variables, faults. */
static void notation(void **state)
{
    (void)state;
    assert_int_equal(run("transport tcp\nset tcp.timestamps=off\n0 connect\n0ms..1ms > SYN tsval=* \n"), SCRIPT_MISMATCH); /* no timestamps there */
    assert_int_equal(run("transport tcp\nset tcp.timestamps=off\n0 connect\n0 > SYN no-tsval win=$w\n+1s~1ms > SYN win=$w\n* > any\n"), SCRIPT_OK);
    assert_int_equal(run("transport tcp\nset tcp.timestamps=off\n0 connect\n0 > SYN win=$w\n+1s > SYN win=$w+1\n"), SCRIPT_MISMATCH);
    assert_int_equal(run("transport tcp\nset tolerance=2us\n0 connect\n1us > SYN\n"), SCRIPT_OK);
    /* a packet that is damaged or dropped does not arrive; one that is late does, in its time; the other comes twice */
    assert_int_equal(run("transport roce\nset roce.cnp=off\n0 < corrupt SEND_ONLY len=5\n+1us < drop SEND_ONLY len=5\n+1ms nothing\n"), SCRIPT_OK);
    assert_int_equal(run("transport roce\n0 post recv len=9 id=3\n0 < delay=5us SEND_ONLY len=5 ackreq\n5us complete id=3 len=5\n+0 > ACK\n"), SCRIPT_OK);
    assert_int_equal(run("transport roce\n0 < duplicate WRITE_ONLY ackreq\n0 > ACK psn=0\ncheck duplicate_request=1\n"), SCRIPT_OK);
}

/* doc/scripts.md names every parameter, call, field and thing to check. */
static bool documented(const char *page, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(page, name); at; at = strstr(at + 1, name))
        if ((at == page || !strchr("abcdefghijklmnopqrstuvwxyz-_.0123456789", at[-1])) && !strchr("abcdefghijklmnopqrstuvwxyz-_0123456789", at[n]))
            return true;
    return false;
}

static void the_page_names_everything(void **state)
{
    (void)state;
    const char *top = getenv("RNICSIM_TOP");
    char path[4096], name[64];
    static char page[65536];
    snprintf(path, sizeof path, "%s/doc/scripts.md", top ? top : ".");
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    page[fread(page, 1, sizeof page - 1, f)] = 0;
    fclose(f);
    for (size_t i = 0; i < script_params_table.count; i++)
        if (!documented(page, param_public_name(&script_params_table.rows[i], name, sizeof name)))
            fail_msg("the page has no parameter %s", name);
    for (int i = 0; i < SCRIPT_CALL_COUNT; i++)
        if (!documented(page, script_calls[i].name))
            fail_msg("the page has no call %s", script_calls[i].name);
    const struct script_fields *const fields[] = { &script_tcp_form.fields, &script_roce_form.fields, &script_cm_form.fields, &script_fpdu_form.fields, &script_mpa_form.fields,
        &script_wc_form.fields, &script_arg_fields, &script_check_fields };
    for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++)
        for (size_t i = 0; i < fields[k]->n; i++)
            if (!documented(page, fields[k]->row[i].name) && !(k == 7 && strchr(fields[k]->row[i].name, '_')))
                fail_msg("the page has no field %s", fields[k]->row[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bad_scripts), cmocka_unit_test(mismatches), cmocka_unit_test(notation), cmocka_unit_test(the_page_names_everything) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
