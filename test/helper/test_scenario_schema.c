/* SPDX-License-Identifier: GPL-2.0-only */
/* The schema in scenarios/ is the one that the declarations make; so is the reference page; shipped scenarios fit both. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libxml/relaxng.h>

#include "../../helper/describe.h"
#include "../../helper/scenario.h"
#include "../../helper/scenario_elements.h"
#include "../../helper/scenario_schema.h"

static const char *top(void)
{
    const char *t = getenv("RNICSIM_TOP");
    return t ? t : ".";
}

static void same_as_file(const char *name, void (*write)(FILE *f), const char *how)
{
    char path[512], *made = NULL, *have;
    size_t made_len = 0, have_len;
    snprintf(path, sizeof path, "%s/%s", top(), name);
    FILE *m = open_memstream(&made, &made_len), *f = fopen(path, "r");
    if (!f)
        fail_msg("%s is not there", path);
    write(m);
    fclose(m);
    have = malloc(made_len + 2);
    have_len = fread(have, 1, made_len + 1, f);
    fclose(f);
    if (have_len != made_len || memcmp(have, made, made_len) != 0)
        fail_msg("%s is out of date: run rnicsim describe %s > %s", name, how, name);
    free(have);
    free(made);
}

static void committed_schema_is_current(void **state)
{
    (void)state;
    same_as_file("scenarios/rnicsim.rng", scenario_schema_write, "--schema");
}

static void committed_reference_is_current(void **state)
{
    (void)state;
    same_as_file("doc/parameters.md", describe_markdown, "--markdown");
}

/* The schema alone, as an editor would use it. */
static int validates(const char *xml)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    scenario_schema_write(f);
    fclose(f);
    xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewMemParserCtxt(text, (int)len);
    xmlRelaxNGPtr schema = xmlRelaxNGParse(parser);
    assert_non_null(schema);
    xmlRelaxNGValidCtxtPtr valid = xmlRelaxNGNewValidCtxt(schema);
    xmlRelaxNGSetValidErrors(valid, NULL, NULL, NULL);
    xmlDocPtr doc = xmlReadMemory(xml, (int)strlen(xml), "t.xml", NULL, XML_PARSE_NONET);
    assert_non_null(doc);
    int rc = xmlRelaxNGValidateDoc(valid, doc);
    xmlFreeDoc(doc);
    xmlRelaxNGFreeValidCtxt(valid);
    xmlRelaxNGFree(schema);
    xmlRelaxNGFreeParserCtxt(parser);
    free(text);
    return rc == 0;
}

#define AROUND(topology, workload, measure) "<scenario name=\"s\">" topology "<fabric name=\"f\"/><transport name=\"t\" kind=\"roce\"/>" workload measure "</scenario>"
#define STAR "<topology kind=\"star\"/>"
#define POISSON "<workload kind=\"poisson\" load=\"50%\"/>"
static const struct { const char *xml; int right; } shapes[] = {
    { AROUND(STAR, POISSON, ""), 1 },
    { AROUND(STAR, POISSON, "<measure duration=\"1.5 ms\" drain=\"0\" seeds=\"1 2\"/>"), 1 },
    { AROUND(POISSON, STAR, ""), 1 },
    { AROUND(STAR, POISSON, "<measure duration=\"5\"/>"), 0 },
    { AROUND(STAR, POISSON, "<measure duration=\"5Gbps\"/>"), 0 },
    { AROUND(STAR, POISSON, "<measure duraton=\"5us\"/>"), 0 },
    { AROUND(STAR, POISSON, "<mesure/>"), 0 },
    { AROUND(STAR, "", ""), 0 },
    { AROUND("<topology kind=\"hypercube\"/>", POISSON, ""), 0 },
    { AROUND("<topology kind=\"star\" host-rate=\"100\"/>", POISSON, ""), 0 },
    { AROUND(STAR, "<workload kind=\"poisson\" fan-in=\"3\"/>", ""), 0 },
    { AROUND(STAR, "<workload kind=\"incast\" fan-in=\"3\"/>", ""), 1 },
    { "<cdf name=\"c\"><point size=\"1KiB\" cumulative=\"100%\"/></cdf>", 1 },
    { "<cdf name=\"c\"/>", 0 },
};

static void schema_knows_the_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (validates(shapes[i].xml) != shapes[i].right)
            fail_msg("%s: the schema %s it", shapes[i].xml, shapes[i].right ? "refuses" : "takes");
}

/* Each parameter once: its names, its default in range, its source. */
static void every_row_is_whole(void **state)
{
    (void)state;
    char name[64];
    for (size_t i = 0; i < scenario_element_count; i++) {
        const struct scenario_element *e = &scenario_elements[i];
        assert_true(strlen(e->meaning) > 5);
        for (size_t k = 0; e->table && k < e->table->count; k++) {
            const struct param *p = &e->table->rows[k];
            param_public_name(p, name, sizeof name);
            if (p->def < p->low || p->def > p->high)
                fail_msg("%s.%s: the default is out of range", e->name, name);
            if (strlen(p->meaning) < 5 || !*p->source)
                fail_msg("%s.%s: no meaning or no source", e->name, name);
            if (scenario_attr_find(e, name))
                fail_msg("%s.%s: also an attribute of its element", e->name, name);
            for (size_t m = 0; m < k; m++) {
                char other[64];
                if (strcmp(name, param_public_name(&e->table->rows[m], other, sizeof other)) == 0)
                    fail_msg("%s.%s: declared twice", e->name, name);
            }
        }
        if (e->table)
            assert_true(e->table->count <= 64);
    }
}

/* A scenario that is shipped loads as written and at its ci size. */
static void shipped_scenarios_load(void **state)
{
    (void)state;
    char dir[512], path[1024], err[4096];
    int n = 0;
    snprintf(dir, sizeof dir, "%s/scenarios", top());
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 4, ".xml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        for (int k = 0; k < 2; k++) {
            struct scenario_options o = { .size = k ? "ci" : NULL };
            struct scenario *sc = scenario_load(path, &o, err, sizeof err);
            if (!sc)
                fail_msg("%s", err);
            if (strlen(sc->description) < 20)
                fail_msg("%s has no description", path);
            scenario_free(sc);
        }
        n++;
    }
    closedir(d);
    assert_true(n >= 4);
}

static void describe_finds_and_suggests(void **state)
{
    (void)state;
    static const char *const known[] = { "transport", "fabric", "workload", "topology", "roce", "roce.mtu", "mtu", "dcqcn", "poisson", "kernel", "measure.duration" };
    char near[128], *text = NULL;
    size_t len = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        FILE *f = open_memstream(&text, &len);
        bool found = describe_name(f, known[i], near, sizeof near);
        fclose(f);
        if (!found || len < 40)
            fail_msg("describe %s says nothing", known[i]);
        free(text);
    }
    FILE *f = open_memstream(&text, &len);
    assert_false(describe_name(f, "roce.mtuu", near, sizeof near));
    assert_string_equal(near, "roce.mtu");
    fclose(f);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_schema_is_current),
        cmocka_unit_test(committed_reference_is_current),
        cmocka_unit_test(schema_knows_the_shape),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(shipped_scenarios_load),
        cmocka_unit_test(describe_finds_and_suggests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
