/* SPDX-License-Identifier: GPL-2.0-only */
/* Networks from files: the HPCC family's text and GraphML give what they say; each fault is told with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../helper/network_file.h"

static void check_star(const char *form, const char *text)
{
    struct network_file n;
    struct network_file_error e;
    if (!network_file_parse(text, strlen(text), &n, &e))
        fail_msg("%s: line %d: %s", form, e.line, e.text);
    assert_int_equal(n.nhosts, 2);
    assert_int_equal(n.nswitches, 1);
    assert_int_equal(n.nlinks, 2);
    assert_true(n.links[0].a == 0 && n.links[0].b == 2 && n.links[1].a == 2 && n.links[1].b == 1);
    assert_int_equal(n.links[0].rate_bps, INT64_C(100000000000));
    assert_int_equal(n.links[0].propagation_ps, 1000000);
    assert_true(n.links[0].loss == 0 && n.links[1].loss == 1e-5);
    assert_int_equal(n.links[1].rate_bps, INT64_C(25000000000));
    assert_int_equal(n.links[1].propagation_ps, 500000);
    network_file_fini(&n);
}

static void every_form_gives_the_same_network(void **state)
{
    (void)state;
    check_star("HPCC", "3 1 2\n1\n0 1 100Gbps 1000ns 0\n1 2 25Gbps 0.0005ms 0.00001\n");
    check_star("HPCC in one line", "3 1 2 1 0 1 100Gbps 1us 0.000000 1 2 25Gb/s 500ns 1e-5");
    check_star("GraphML",
        "<?xml version='1.0'?>\n<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>\n<key id='d0' for='node' attr.name='type' attr.type='string'/>\n"
        "<key id='r' for='edge' attr.name='rate'><default>100Gbps</default></key><key id='p' for='edge' attr.name='delay'/><key id='l' attr.name='loss'><default>0</default></key>"
        "<key id='m' for='edge' attr.name='length'/><key id='x' for='node' attr.name='x'/>\n"
        "<graph edgedefault='undirected'><node id='h1'><data key='d0'>host</data><data key='x'>3.5</data></node><node id='s'><data key='d0'> switch\n</data></node>"
        "<node id='h2'><data key='d0'>host</data></node><edge source='h1' target='s'><data key='p'>1us</data></edge>"
        "<edge id='e' source='s' target='h2'><data key='r'>25Gbps</data><data key='m'>100m</data><data key='l'>1e-5</data></edge></graph></graphml>");
}

#define KEYS "<graphml>\n<key id='t' attr.name='type'/><key id='r' attr.name='rate'/>\n"
#define HOST(id) "<node id='" id "'><data key='t'>host</data></node>\n"

static void faults_have_lines(void **state)
{
    (void)state;
    static const struct { const char *text; int line; const char *says; } bad[] = {
        { "", 1, "the number of nodes" }, { "3 1", 1, "the file ends where the number of links" }, { "3 4 2\n", 1, "the number of switches: 4 is not in 0 to 3" },
        { "x 1 2\n", 1, "the number of nodes: \"x\" is not a whole number" }, { "3 1 1\n2\n", 1, "3 nodes cannot be joined by 1 links" },
        { "3 1 99999\n2\n", 1, "too short for 99999 links" }, { "3 2 2\n2 2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", 2, "switch 2 is listed twice" },
        { "3 1 2\n3\n", 2, "a switch's id: 3 is not in 0 to 2" }, { "3 1 2\n2\n0 2 1Gbps 1us 0\n", 4, "the file ends in link 2 of 2, where its source" },
        { "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 100 1us 0\n", 4, "link 2: rate: \"100\" has no unit" }, { "3 1 2\n2\n0 2 1Gbps 1 0\n", 3, "link 1: delay: \"1\" has no unit" },
        { "3 1 2\n2\n0 2 1Gbps 1us 2\n", 3, "link 1: error: \"2\" is out of range" }, { "3 1 2\n2\n0 2 9Tbps 1us 0\n", 3, "rate: \"9Tbps\" is out of range: give 1Mbps to 3.2Tbps" },
        { "3 1 2\n2\n0 2 1Gbps 1us 0\n0 0 1Gbps 1us 0\n", 4, "link 2 joins node 0 to itself" }, { "3 1 2\n2\n0 3 1Gbps 1us 0\n", 3, "destination: 3 is not in 0 to 2" },
        { "3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n0 2 1Gbps 1us 0\n", 5, "link 3 is the second one of host 0" }, { "2 2 1\n0 1\n0 1 1Gbps 1us 0\n", 0, "has no hosts" },
        { "6 3 5\n3 4 5\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 4 1Gbps 1us 0\n4 5 1Gbps 1us 0\n4 5 1Gbps 1us 0\n", 0, "host 2 cannot be reached from host 0" },
        { "<graphml>\n<grap>", 2, "not well-formed XML" }, { "<scenario/>", 1, "the root element is <scenario>" }, { "<graphml/>", 1, "holds no <graph>" },
        { "<graphml>\n<graph/></graphml>", 2, "no nodes" }, { KEYS "<graph>\n<node id='a'/></graph></graphml>", 4, "node \"a\" has no type" },
        { KEYS "<graph>\n<node id='a'>\n<data key='t'>router</data></node></graph></graphml>", 5, "type \"router\" is neither" },
        { KEYS "<graph>\n<node/></graph></graphml>", 4, "without an id" },
        { KEYS "<graph>\n" HOST("a") HOST("a") "</graph></graphml>", 3, "two nodes have the id \"a\"" },
        { KEYS "<graph>\n" HOST("a") HOST("b") "<edge source='a' target='c'/></graph></graphml>", 6, "<edge> target: no node has the id \"c\"" },
        { KEYS "<graph>\n" HOST("a") HOST("b") "<edge source='a'/></graph></graphml>", 6, "without its target" },
        { KEYS "<graph>\n" HOST("a") HOST("b") "<edge source='a' target='b'>\n<data key='r'>10</data></edge></graph></graphml>", 7, "<edge>: rate: \"10\" has no unit" },
        { KEYS "<graph>\n" HOST("a") HOST("b") "<edge source='a' target='a'/></graph></graphml>", 6, "joins \"a\" to itself" },
        { KEYS "<graph>\n" HOST("a") HOST("b") "<edge source='a' target='b' directed='true'/></graph></graphml>", 6, "is directed" },
        { KEYS "<graph edgedefault='directed'>\n" HOST("a") "</graph></graphml>", 3, "edgedefault is directed" },
        { KEYS "<graph>\n" HOST("a") HOST("b") "<hyperedge/></graph></graphml>", 6, "<hyperedge>" },
        { KEYS "<graph>\n" HOST("a") HOST("b") "</graph></graphml>", 0, "host b cannot be reached from host a" },
        { KEYS "<graph/>\n<graph/></graphml>", 4, "a second <graph>" },
        { "<!DOCTYPE graphml [<!ENTITY a 'b'>]>\n<graphml/>", 1, "DOCTYPE" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct network_file n;
        struct network_file_error e;
        if (network_file_parse(bad[i].text, strlen(bad[i].text), &n, &e))
            fail_msg("\"%s\" is taken", bad[i].text);
        assert_true(!n.names && !n.links);
        if (!strstr(e.text, bad[i].says) || e.line != bad[i].line)
            fail_msg("\"%s\": line %d: \"%s\" instead of line %d, \"%s\"", bad[i].text, e.line, e.text, bad[i].line, bad[i].says);
    }
}

/* The files that come with that simulator announce fewer links than they list, to nodes that are not there, and close with prose. */
static void what_is_not_announced_is_a_remark(void **state)
{
    (void)state;
    static const char text[] = "3 1 2\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 67 25Gbps 0.001ms 0\n\nFirst line: total node #\n";
    struct network_file n;
    struct network_file_error e;
    assert_true(network_file_parse(text, sizeof text - 1, &n, &e));
    assert_true(n.nlinks == 2 && n.nhosts == 2 && e.note_line == 5);
    network_file_fini(&n);
}

/* Hosts need not come first in the file: they do in the network. */
static void ids_in_any_order(void **state)
{
    (void)state;
    static const char text[] = "5 2 4\n0 3\n1 0 10Gbps 1us 0\n2 3 10Gbps 1us 0\n4 3 10Gbps 1us 0\n0 3 40Gbps 2us 0\n";
    struct network_file n;
    struct network_file_error e;
    assert_true(network_file_parse(text, sizeof text - 1, &n, &e));
    static const char *const names[] = { "1", "2", "4", "0", "3" };
    for (int i = 0; i < 5; i++)
        assert_string_equal(n.names[i], names[i]);
    assert_true(n.links[3].a == 3 && n.links[3].b == 4 && n.links[2].a == 2);
    network_file_fini(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_the_same_network), cmocka_unit_test(faults_have_lines), cmocka_unit_test(ids_in_any_order), cmocka_unit_test(what_is_not_announced_is_a_remark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
