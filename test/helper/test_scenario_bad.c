/* SPDX-License-Identifier: GPL-2.0-only */
/* Bad scenarios: each is refused, at its file and line, in words that say what would be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../helper/scenario.h"

/* A good scenario in parts; a case replaces one of them. Lines: 1 root, 2 topology, 3 fabric, 4 transport, 5 workload, 6 measure, 7 extra. */
struct parts { const char *root, *topology, *fabric, *transport, *workload, *measure, *extra; };
#define ROOT "<scenario name=\"s\">"
#define TOPOLOGY "<topology kind=\"star\" hosts=\"4\"/>"
#define FABRIC "<fabric name=\"f\"/>"
#define TRANSPORT "<transport name=\"t\" kind=\"roce\"/>"
#define WORKLOAD "<workload kind=\"poisson\" load=\"50%\"/>"
#define MEASURE "<measure duration=\"1ms\"/>"
#define CDF(points) "<cdf name=\"c\">" points "</cdf>"
#define SIZED "<workload kind=\"poisson\" sizes=\"c\"/>"

static const struct bad { const char *name; struct parts p; const char *want[3]; } cases[] = {
    { "malformed: tag not closed", { .extra = "<expect failures=\"no\">" }, { "t.xml:8: not well-formed XML", "expect" } },
    { "malformed: attribute without quotes", { .measure = "<measure duration=1ms/>" }, { "t.xml:6: not well-formed XML" } },
    { "unknown element", { .extra = "<mesure/>" }, { "t.xml:7: <mesure> is not known in <scenario>; nearest: <measure>" } },
    { "unknown element within", { .fabric = "<fabric name=\"f\"><swich/></fabric>" }, { "t.xml:3: <swich> is not known in <fabric>; nearest: <switch>" } },
    { "unknown attribute", { .measure = "<measure duraton=\"1ms\"/>" }, { "t.xml:6: <measure> has no attribute \"duraton\"; nearest: duration" } },
    { "unknown parameter on a later line", { .transport = "<transport name=\"t\"\n  kind=\"roce\"\n  dcsp=\"3\"\n  prio=\"3\"/>" },
      { "t.xml:6: <transport> has no attribute \"dcsp\"; nearest: dscp" } },
    { "field name is no parameter name", { .transport = "<transport name=\"t\" kind=\"roce\"><roce mtu_bytes=\"1024B\"/></transport>" },
      { "t.xml:4: <roce> has no attribute \"mtu_bytes\"; nearest: mtu" } },
    { "required attribute", { .transport = "<transport name=\"t\"/>" }, { "t.xml:4: <transport> needs the attribute \"kind\"" } },
    { "required element", { .fabric = "" }, { "t.xml:1: <scenario> needs a <fabric>" } },
    { "second of one", { .extra = MEASURE }, { "t.xml:7: a second <measure>" } },
    { "text between elements", { .measure = "<measure duration=\"1ms\">soon</measure>" }, { "t.xml:6: <measure> holds no text; found \"soon\"" } },
    { "foreign namespace", { .extra = "<x:y xmlns:x=\"urn:x\"/>" }, { "t.xml:7: <y> of namespace \"urn:x\"" } },

    { "bare number for a time", { .measure = "<measure duration=\"5\"/>" }, { "t.xml:6: <measure> duration: \"5\" has no unit", "500ns, 2us" } },
    { "bare number for a rate", { .topology = "<topology kind=\"star\" host-rate=\"100\"/>" }, { "t.xml:2: <topology> host-rate: \"100\" has no unit", "100Gbps" } },
    { "bare number for bytes", { .fabric = "<fabric name=\"f\">\n<switch buffer=\"9000000\"/></fabric>" }, { "t.xml:4: <switch> buffer: \"9000000\" has no unit", "240KiB" } },
    { "wrong unit", { .measure = "<measure duration=\"5Gbps\"/>" }, { "t.xml:6: <measure> duration: \"5Gbps\" has an unknown unit" } },
    { "unit for a count", { .topology = "<topology kind=\"star\" hosts=\"4B\"/>" }, { "t.xml:2: <topology> hosts: \"4B\"", "whole number" } },
    { "out of range", { .transport = "<transport name=\"t\" kind=\"roce\" dscp=\"64\"/>" }, { "t.xml:4: <transport> dscp: \"64\" is out of range: give 0 to 63" } },
    { "not a number", { .topology = "<topology kind=\"star\" hosts=\"nan\"/>" }, { "t.xml:2: <topology> hosts: \"nan\"" } },
    { "unknown word", { .topology = "<topology kind=\"strar\"/>" }, { "t.xml:2: <topology> kind: \"strar\" is none of star, dumbbell", "did you mean star" } },
    { "unknown transport kind", { .transport = "<transport name=\"t\" kind=\"rocee\"/>" }, { "t.xml:4: transport kind: \"rocee\" is none of", "nearest: roce" } },
    { "unknown algorithm", { .transport = "<transport name=\"t\" kind=\"roce\"><cc algorithm=\"dqcn\"/></transport>" }, { "t.xml:4: there is no algorithm \"dqcn\"; nearest: dcqcn" } },
    { "unknown workload", { .workload = "<workload kind=\"possion\"/>" }, { "t.xml:5: there is no kind \"possion\"; nearest: poisson" } },
    { "bad name", { .fabric = "<fabric name=\"a/b\"/>" }, { "t.xml:3: fabric name: \"a/b\" is not a name" } },
    { "long name", { .fabric = "<fabric name=\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"/>" }, { "t.xml:3: fabric name", "is not a name" } },

    { "load over 100 %", { .workload = "<workload kind=\"poisson\" load=\"120%\"/>" }, { "t.xml:5: <workload> load: \"120%\" is out of range" } },
    { "loads over 100 % swept", { .extra = "<compare loads=\"50% 130%\"/>" }, { "compare loads: 130% is not a load" } },
    { "loads that add up", { .workload = "<workload kind=\"poisson\" load=\"60%\"/><workload name=\"w2\" kind=\"poisson\" load=\"50%\"/>" },
      { "t.xml:5: workloads of the same hosts add up to a load of 110%" } },
    { "sweep without a load", { .workload = "<workload kind=\"incast\"/>", .extra = "<compare loads=\"50%\"/>" }, { "no workload has a load to sweep" } },
    { "loads no numbers", { .extra = "<compare loads=\"50% high\"/>" }, { "t.xml:7: compare loads: \"high\"" } },
    { "seeds no numbers", { .measure = "<measure seeds=\"1 x\"/>" }, { "t.xml:6: measure seeds: \"1 x\" is not a list" } },
    { "seed twice", { .measure = "<measure seeds=\"1 1\"/>" }, { "measure seeds: 1 is listed twice" } },

    { "CDF: sizes fall", { .workload = SIZED, .extra = CDF("<point size=\"10B\" cumulative=\"50%\"/>\n<point size=\"5B\" cumulative=\"100%\"/>") },
      { "t.xml:8: the distribution is not monotone: 5B at 100% comes after 10B at 50%" } },
    { "CDF: shares fall", { .workload = SIZED, .extra = CDF("<point size=\"10B\" cumulative=\"50%\"/>\n<point size=\"20B\" cumulative=\"40%\"/>\n<point size=\"30B\" cumulative=\"1\"/>") },
      { "t.xml:8: the distribution is not monotone: 20B at 40% comes after 10B at 50%" } },
    { "CDF: does not end at 1", { .workload = SIZED, .extra = CDF("<point size=\"10B\" cumulative=\"50%\"/>") }, { "t.xml:7: the distribution \"c\" ends at 50%" } },
    { "CDF: share over 1", { .workload = SIZED, .extra = CDF("<point size=\"10B\" cumulative=\"110%\"/>") }, { "t.xml:7: <point> cumulative: \"110%\" is out of range" } },
    { "CDF: half a point", { .workload = SIZED, .extra = CDF("<point size=\"10B\"/>") }, { "t.xml:7: <point> needs both" } },
    { "CDF: none of that name", { .workload = SIZED, .extra = "<cdf name=\"d\"><point size=\"10B\" cumulative=\"1\"/></cdf>" },
      { "t.xml:5: <workload> sizes: there is no <cdf> called \"c\"; nearest: d" } },
    { "CDF: empty", { .workload = SIZED, .extra = "<cdf name=\"c\"/>" }, { "t.xml:7: <cdf> needs a <point>" } },
    { "size and sizes", { .workload = "<workload kind=\"poisson\" size=\"1KiB\" sizes=\"c\"/>", .extra = CDF("<point size=\"10B\" cumulative=\"1\"/>") },
      { "t.xml:5: <workload> has both" } },

    { "part of another kind", { .transport = "<transport name=\"t\" kind=\"tcp\"><roce/></transport>" }, { "t.xml:4: <roce> has no use in a transport of kind tcp" } },
    { "socket that reads", { .transport = "<transport name=\"t\" kind=\"tcp\" operation=\"read\"/>" }, { "t.xml:4: transport \"t\": a socket only sends" } },
    { "datagrams", { .transport = "<transport name=\"t\" kind=\"roce\"><roce service=\"ud\"/></transport>" }, { "t.xml:4: transport \"t\": services uc and ud are for programs" } },
    { "fabric sets a rate", { .fabric = "<fabric name=\"f\"><links rate=\"1Gbps\"/></fabric>" }, { "t.xml:3: <links> has no attribute \"rate\"" } },
    { "thresholds out of order", { .fabric = "<fabric name=\"f\"><switch ecn=\"on\" ecn-kmin=\"400kB\" ecn-kmax=\"100kB\"/></fabric>" }, { "t.xml:3: fabric \"f\": " } },
    { "two fabrics of a name", { .fabric = FABRIC FABRIC }, { "t.xml:3: a second fabric \"f\"" } },
    { "pair of nobody", { .extra = "<compare><pair transport=\"tt\" fabric=\"f\"/></compare>" }, { "t.xml:7: <pair>: no transport is called \"tt\"; nearest: t" } },
    { "pair twice", { .extra = "<compare><pair transport=\"t\" fabric=\"f\"/>\n<pair transport=\"t\" fabric=\"f\"/></compare>" }, { "t.xml:8: <pair>: t on f is listed twice" } },
    { "host out of range", { .workload = "<workload kind=\"incast\" receiver=\"9\"/>" }, { "t.xml:5: workload \"incast\": " } },
    { "exception for no switch", { .fabric = "<fabric name=\"f\">\n<exception switch=\"1\" pfc=\"off\"/></fabric>" }, { "t.xml:4: <exception> switch: \"1\" is not a switch's number: they are 0 to 0" } },
    { "two exceptions for a switch", { .fabric = "<fabric name=\"f\"><exception switch=\"0\"/>\n<exception switch=\"0\"/></fabric>" }, { "t.xml:4: a second <exception>" } },
    { "exception out of order", { .fabric = "<fabric name=\"f\"><switch ecn=\"on\"/>\n<exception switch=\"0\" ecn-kmin=\"900kB\"/></fabric>" }, { "t.xml:4: <exception>: ecn-kmin (900000 B) is above" } },
    { "flows without any", { .workload = "<workload kind=\"flows\"/>" }, { "t.xml:5: a workload of kind flows needs a file or <flow> elements" } },
    { "flow to nobody", { .workload = "<workload kind=\"flows\">\n<flow src=\"0\" dst=\"4\"/></workload>" }, { "t.xml:5: workload \"flows\": flow 1: host 4" } },
    { "flow of a name", { .topology = "<topology kind=\"explicit\"><host name=\"a\"/><host name=\"b\"/><link a=\"a\" b=\"b\"/></topology>",
                         .workload = "<workload kind=\"flows\">\n<flow src=\"a\"\n dst=\"c\"/></workload>" }, { "t.xml:7: <flow> dst: no host is called \"c\"" } },
    { "flow of a priority", { .workload = "<workload kind=\"flows\"><flow src=\"0\" dst=\"1\" prio=\"8\"/></workload>" }, { "t.xml:5: <flow> prio: \"8\" is out of range" } },
    { "flow whose class is another's", { .transport = "<transport name=\"t\" kind=\"roce\" dscp=\"24\" prio=\"4\"/>",
                         .workload = "<workload kind=\"flows\"><flow src=\"0\" dst=\"1\" prio=\"3\"/></workload>" }, { "t.xml:5: workload \"flows\" has flows of priority 3, whose DSCP is 24" } },
    { "flow elsewhere", { .workload = "<workload kind=\"incast\">\n<flow src=\"0\" dst=\"1\"/></workload>" }, { "t.xml:6: <flow> belongs to a workload of kind=\"flows\" only" } },
    { "file elsewhere", { .workload = "<workload kind=\"incast\" file=\"x\"/>" }, { "t.xml:5: file has no use in a workload of kind incast" } },
    { "flows of no file", { .workload = "<workload kind=\"flows\" file=\"no-such-flows.csv\"/>" }, { "no-such-flows.csv: cannot be read: No such file" } },
    { "odd fat tree", { .topology = "<topology kind=\"fat-tree\" k=\"5\"/>" }, { "t.xml:2: <topology> makes no network" } },
    { "one host", { .topology = "<topology kind=\"star\" hosts=\"1\"/>" }, { "t.xml:2: <topology> has one host" } },
    { "link to nowhere", { .topology = "<topology kind=\"explicit\"><host name=\"a\"/><host name=\"b\"/>\n<link a=\"a\" b=\"c\"/></topology>" },
      { "t.xml:3: <link> b: no node is called \"c\"; nearest: a" } },
    { "unreachable host", { .topology = "<topology kind=\"explicit\"><host name=\"a\"/><host name=\"b\"/>\n<host name=\"c\"/><switch name=\"s\"/>"
                            "<link a=\"a\" b=\"s\"/><link a=\"b\" b=\"s\"/></topology>" },
      { "t.xml:3: host \"c\" cannot be reached from host \"a\"" } },
    { "reached through a host only", { .topology = "<topology kind=\"explicit\"><host name=\"a\"/><host name=\"b\"/>\n<host name=\"c\"/>"
                                       "<link a=\"a\" b=\"b\"/><link a=\"b\" b=\"c\"/></topology>" },
      { "t.xml:3: host \"c\" cannot be reached from host \"a\"" } },
    { "link of a node to itself", { .topology = "<topology kind=\"explicit\"><host name=\"a\"/><host name=\"b\"/>\n<link a=\"a\" b=\"a\"/></topology>" },
      { "t.xml:3: <link> joins \"a\" to itself" } },
    { "two nodes of a name", { .topology = "<topology kind=\"explicit\"><host name=\"a\"/>\n<switch name=\"a\"/></topology>" }, { "t.xml:3: a second node \"a\"" } },
    { "nodes in a star", { .topology = "<topology kind=\"star\"><host name=\"a\"/></topology>" }, { "t.xml:2: <host> belongs to a topology of kind=\"explicit\" only" } },
    { "size sets the unknown", { .extra = "<size name=\"ci\">\n<set name=\"measure.duratio\" value=\"1us\"/></size>" },
      { "t.xml:8: set measure.duratio: there is no such parameter in this scenario; nearest: measure.duration" } },

    { "DOCTYPE", { .root = "<!DOCTYPE scenario [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>" ROOT }, { "t.xml:1: a DOCTYPE is not accepted" } },
    { "DOCTYPE below a comment", { .root = "<!-- x -->\n<?p q?>\n<!DOCTYPE scenario SYSTEM \"http://example.org/x.dtd\">" ROOT }, { "t.xml:3: a DOCTYPE is not accepted" } },
    { "undefined entity", { .extra = "<description>&bomb;</description>" }, { "t.xml:7: not well-formed XML: Entity 'bomb' not defined" } },
    { "another encoding", { .root = "<?xml version=\"1.0\" encoding=\"UTF-7\"?>" ROOT }, { "t.xml:1: only UTF-8 is read" } },
    { "inclusion over the network", { .extra = "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"http://example.org/x.xml\"/>" },
      { "t.xml:7: \"http://example.org/x.xml\" is not a local file" } },
    { "inclusion of text", { .extra = "<description><xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" parse=\"text\" href=\"/etc/hostname\"/></description>" },
      { "t.xml:7: inclusion of text is not accepted" } },
    { "inclusion of what is not there", { .extra = "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"no-such-file.xml\"/>" },
      { "no-such-file.xml: cannot be read: No such file" } },
};

static char *document(const struct parts *p)
{
    char *xml = NULL;
    if (asprintf(&xml, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n</scenario>\n", p->root ? p->root : ROOT, p->topology ? p->topology : TOPOLOGY,
                 p->fabric ? p->fabric : FABRIC, p->transport ? p->transport : TRANSPORT, p->workload ? p->workload : WORKLOAD,
                 p->measure ? p->measure : MEASURE, p->extra ? p->extra : "") < 0)
        abort();
    return xml;
}

static void each_is_refused(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct bad *c = &cases[i];
        struct scenario_options ci = { .size = strstr(c->name, "size sets") ? "ci" : NULL };
        char err[4096] = "", *xml = document(&c->p);
        struct scenario *sc = scenario_load_memory(xml, strlen(xml), "t.xml", &ci, err, sizeof err);
        for (int k = 0; k < 3 && c->want[k]; k++)
            if (sc || !strstr(err, c->want[k])) {
                print_error("%s: wanted \"%s\", got: %s\n", c->name, c->want[k], sc ? "no error" : err);
                wrong++;
            }
        scenario_free(sc);
        free(xml);
    }
    assert_int_equal(wrong, 0);
}

static void the_good_one_is_taken(void **state)
{
    (void)state;
    struct parts p = { 0 };
    char err[4096], *xml = document(&p);
    struct scenario *sc = scenario_load_memory(xml, strlen(xml), "t.xml", NULL, err, sizeof err);
    if (!sc)
        fail_msg("%s", err);
    assert_int_equal(sc->nvariants, 1);
    scenario_free(sc);
    free(xml);
}

static void several_errors_are_told_at_once(void **state)
{
    (void)state;
    struct parts p = { .measure = "<measure duration=\"5\" warmup=\"x\"/>", .topology = "<topology kind=\"sta\"/>" };
    char err[4096], *xml = document(&p);
    assert_null(scenario_load_memory(xml, strlen(xml), "t.xml", NULL, err, sizeof err));
    assert_non_null(strstr(err, "t.xml:6: <measure> duration"));
    assert_non_null(strstr(err, "t.xml:6: <measure> warmup"));
    assert_non_null(strstr(err, "t.xml:2: <topology> kind"));
    free(xml);
}

static void another_root_is_refused(void **state)
{
    (void)state;
    char err[512];
    static const char xml[] = "<!-- x -->\n<scene name=\"s\"/>";
    assert_null(scenario_load_memory(xml, sizeof xml - 1, "t.xml", NULL, err, sizeof err));
    assert_string_equal(err, "t.xml:2: the root element is <scene>; a scenario file begins with <scenario>");
}

static void truncated_anywhere_is_refused(void **state)
{
    (void)state;
    struct parts p = { 0 };
    char err[512], *xml = document(&p);
    size_t end = (size_t)(strstr(xml, "</scenario>") - xml) + strlen("</scenario>");
    for (size_t n = 0; n < end; n++)
        assert_null(scenario_load_memory(xml, n, "t.xml", NULL, err, sizeof err));
    free(xml);
}

/* --- files that include files --- */

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *load_dir(const char *dir, const char *name, char *err, size_t len)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    struct scenario *sc = scenario_load(path, NULL, err, len);
    scenario_free(sc);
    return sc ? NULL : err;
}

#define INCLUDE(file) "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"" file "\"/>\n"
#define MAIN(extra) ROOT "\n" TOPOLOGY "\n" FABRIC "\n" TRANSPORT "\n" SIZED "\n" MEASURE "\n" extra "</scenario>\n"

static void errors_in_included_files_name_them(void **state)
{
    (void)state;
    char dir[] = "/tmp/rnicsim-test-XXXXXX", err[4096], path[256];
    static const char *const files[] = { "good.xml", "sizes.xml", "bad.xml", "falls.xml", "doctype.xml", "d.xml", "dd.xml", "bomb.xml", "b1.xml", "b2.xml", "b3.xml", "b4.xml", "loop.xml", "loop2.xml" };
    assert_non_null(mkdtemp(dir));
    write_file(dir, "sizes.xml", "<!-- a\ncomment -->\n" CDF("<point size=\"10B\" cumulative=\"1\"/>"));
    write_file(dir, "falls.xml", "<!-- a\ncomment -->\n<cdf name=\"c\">\n<point size=\"10B\" cumulative=\"50%\"/>\n<point size=\"5B\" cumulative=\"1\"/></cdf>");
    write_file(dir, "doctype.xml", "<!DOCTYPE cdf [<!ENTITY x \"y\">]>\n<cdf name=\"c\"/>");
    write_file(dir, "good.xml", MAIN(INCLUDE("sizes.xml")));
    write_file(dir, "bad.xml", MAIN(INCLUDE("falls.xml")));
    write_file(dir, "d.xml", MAIN(INCLUDE("doctype.xml")));
    write_file(dir, "loop.xml", MAIN(INCLUDE("loop2.xml")));
    write_file(dir, "loop2.xml", INCLUDE("loop2.xml"));
#define TEN(x) x x x x x x x x x x
    write_file(dir, "b4.xml", "<cdf name=\"c\">" TEN(TEN(INCLUDE("sizes.xml"))) "</cdf>");
    write_file(dir, "b3.xml", "<cdf name=\"c\">" TEN(TEN(INCLUDE("b4.xml"))) "</cdf>");
    write_file(dir, "b2.xml", "<cdf name=\"c\">" TEN(TEN(INCLUDE("b3.xml"))) "</cdf>");
    write_file(dir, "b1.xml", "<cdf name=\"c\">" TEN(TEN(INCLUDE("b2.xml"))) "</cdf>");
    write_file(dir, "bomb.xml", MAIN(INCLUDE("b1.xml")));

    assert_null(load_dir(dir, "good.xml", err, sizeof err));
    assert_non_null(load_dir(dir, "bad.xml", err, sizeof err));
    assert_non_null(strstr(err, "falls.xml:5: the distribution is not monotone"));
    assert_non_null(load_dir(dir, "d.xml", err, sizeof err));
    assert_non_null(strstr(err, "doctype.xml:1: a DOCTYPE is not accepted"));
    assert_non_null(load_dir(dir, "loop.xml", err, sizeof err));
    assert_non_null(load_dir(dir, "bomb.xml", err, sizeof err));
    assert_non_null(strstr(err, "inclusions could unfold"));
    assert_non_null(load_dir(dir, "nothing.xml", err, sizeof err));
    assert_non_null(strstr(err, "nothing.xml: cannot be read: No such file or directory"));
    assert_non_null(load_dir(dir, ".", err, sizeof err));
    assert_non_null(strstr(err, "is a directory"));

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_one_is_taken),
        cmocka_unit_test(each_is_refused),
        cmocka_unit_test(several_errors_are_told_at_once),
        cmocka_unit_test(another_root_is_refused),
        cmocka_unit_test(truncated_anywhere_is_refused),
        cmocka_unit_test(errors_in_included_files_name_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
