/* SPDX-License-Identifier: GPL-2.0-only */
/** Shared by the scenario_*.c files only. */
#ifndef RNICSIM_HELPER_SCENARIO_INTERNAL_H
#define RNICSIM_HELPER_SCENARIO_INTERNAL_H

#include <libxml/tree.h>

#include "scenario.h"
#include "scenario_elements.h"

/* --- memory: everything of a scenario is freed at once --- */

struct scenario_memory *scenario_memory_new(void);
void  scenario_memory_free(struct scenario_memory *m);
/** Zeroed; aborts when memory is out, as a few kilobytes at set-up must not fail. */
void *scenario_memory_get(struct scenario_memory *m, size_t n, size_t size);
const char *scenario_memory_text(struct scenario_memory *m, const char *s);
/** An array grown by one: copies old (n elements) and returns the new one, last element zeroed. */
void *scenario_memory_grow(struct scenario_memory *m, const void *old, size_t n, size_t size);

/* --- errors: lines "file:line: message" in the caller's buffer --- */

struct scenario_errors { char *text; size_t size, used; unsigned count; };
#define SCENARIO_ERRORS_MAX 20
/** line <= 0: no line is known; file NULL: the message stands alone. */
void scenario_error(struct scenario_errors *e, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* --- scenario_xml.c: bytes to a checked tree --- */

struct scenario_source { char *url; char *bytes; size_t len, number; struct scenario_source *next; };
struct scenario_xml {
    xmlDoc *doc;
    struct scenario_source *sources;            /* every file read, the scenario (number 0) last in the list */
    struct scenario_errors *errors;
    uint64_t expansion;                         /* product of include counts over documents that include */
    size_t   largest, nsources;
};
/** Parse and resolve XIncludes. false: errors were written. bytes NULL: read the file `name`. */
bool scenario_xml_load(struct scenario_xml *x, const char *bytes, size_t len, const char *name, struct scenario_errors *e);
void scenario_xml_free(struct scenario_xml *x);
/** Where a node (or its attribute, NULL: the element) stands. The file is x's memory. */
const char *scenario_xml_file(const struct scenario_xml *x, const xmlNode *node);
int scenario_xml_line(const struct scenario_xml *x, const xmlNode *node, const char *attribute);
/** Error at a node, or at its attribute. */
void scenario_xml_error(const struct scenario_xml *x, const xmlNode *node, const char *attribute, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** Validate against the schema generated from the parameter tables. */
bool scenario_xml_validate(const struct scenario_xml *x);

/* --- scenario_words.c: structure against scenario_elements --- */

/** Every element and attribute is a known one in its place and every required one is there. */
bool scenario_words_check(const struct scenario_xml *x);
/** Whether an attribute's value has its form; if not, a sentence in err. */
bool scenario_attr_valid(const struct scenario_attr *a, const char *value, char *err, size_t errlen);
/** The parameters of a node of this element: its table, or the chosen one. NULL if none. */
const struct param_table *scenario_table_of(const struct scenario_element *e, const xmlNode *n);

/* --- scenario_read.c --- */

/** The tree into structs; errors are written. */
void scenario_read(struct scenario *sc, const struct scenario_xml *x);

/* --- scenario_set.c --- */

/** Apply NAME=VALUE. file and line name its place (file NULL: the command line). false: an error was written. */
bool scenario_set(struct scenario *sc, const char *text, const char *file, int line, struct scenario_errors *e);
/** Lists whose form is checked. */
void scenario_set_loads(struct scenario *sc, const char *text);
void scenario_set_seeds(struct scenario *sc, const char *text);

/* --- scenario_check.c --- */

/** Ranges across parameters, then the variants. */
bool scenario_check(struct scenario *sc, struct scenario_errors *e);
/** Workloads: sizes found, hosts in range; own_load is the largest of their loads, negative if none has one. */
void scenario_check_workloads(struct scenario *sc, struct scenario_errors *e, double *own_load, bool *have_load);

#endif
