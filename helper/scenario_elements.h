/* SPDX-License-Identifier: GPL-2.0-only */
/** The vocabulary of scenario files: which element stands where, with which attributes, and whose parameter table gives it more.
 *  The loader, its messages, the RelaxNG schema, `describe` and the reference page all walk these rows. A room's parameters
 *  become an element by one row here.
 */
#ifndef RNICSIM_HELPER_SCENARIO_ELEMENTS_H
#define RNICSIM_HELPER_SCENARIO_ELEMENTS_H

#include "../model/sim/param.h"

#ifdef __cplusplus
extern "C" {
#endif

enum scenario_attr_form {
    ATTR_NAME,                 /* letters, digits, '-' and '_'; not longer than SCENARIO_NAME_MAX - 1 */
    ATTR_TEXT,                 /* anything */
    ATTR_WORD,                 /* one of words */
    ATTR_LOADS,                /* fractions separated by blanks: "30% 50% 0.7" */
    ATTR_COUNTS                /* whole numbers separated by blanks */
};
struct scenario_attr {
    const char *name;
    enum scenario_attr_form form;
    bool required;
    const char *words;         /* ATTR_WORD: "a|b|c" */
    const char *meaning;
};

enum scenario_occurs { OCCURS_ONCE, OCCURS_AT_MOST_ONCE, OCCURS_SOME /* one or more */, OCCURS_ANY };
/** Tables that depend on an attribute: the element's parameters are those of the table that its `choice` attribute picks. */
struct cc_ops;
struct scenario_choice { const char *word; const struct param_table *table; const char *about; const struct cc_ops *cc /* NULL: not of <cc> */; };

#define SCENARIO_ATTR_MAX 5
struct scenario_element {
    const char *name, *parent;                  /* parent "" for the root */
    enum scenario_occurs occurs;
    bool text;                                  /* holds text */
    const struct param_table *table;            /* its parameters, NULL if none */
    const char *without;                        /* "a|b": parameters of the table that are not taken here, NULL if all are */
    const char *chosen_by;                      /* attribute that picks a table from scenario_choices(), NULL if none */
    const char *meaning;
    struct scenario_attr attrs[SCENARIO_ATTR_MAX]; /* attributes that are not parameters; ends at a NULL name */
};
extern const struct scenario_element scenario_elements[];
extern const size_t scenario_element_count;

/** The row for an element under a parent; NULL if none. */
const struct scenario_element *scenario_element_find(const char *parent, const char *name);
/** Whether the element takes a row of its table. */
bool scenario_element_takes(const struct scenario_element *e, const struct param *p);
/** The nearest known child name of parent; NULL if it has no children. */
const char *scenario_element_nearest(const char *parent, const char *name);
const struct scenario_attr *scenario_attr_find(const struct scenario_element *e, const char *name);
/** Nearest attribute or parameter name of e (table NULL: none); buf holds parameter names. NULL if it takes none. */
const char *scenario_attr_nearest(const struct scenario_element *e, const struct param_table *table, const char *name, char *buf, size_t len);

/** The choices of an element with chosen_by, by index; false past the end. */
bool scenario_choice_at(const struct scenario_element *e, size_t i, struct scenario_choice *out);
bool scenario_choice_find(const struct scenario_element *e, const char *word, struct scenario_choice *out);
const char *scenario_choice_nearest(const struct scenario_element *e, const char *word);

/** Profiles: named sets of values to start from, for tables that have them. */
bool scenario_profile_apply(const struct param_table *table, const char *profile, void *values);
/** The profiles that a table has in this element, "a|b"; "" if it has none. */
void scenario_profile_words(const struct scenario_element *e, const struct param_table *table, char *buf, size_t len);
/** The profile that a kind of transport starts from; NULL if the table has none. */
const char *scenario_profile_default(const struct param_table *table, int transport_kind);

/** Whether word is one of "a|b|c"; its position or -1. */
int scenario_word_index(const char *words, const char *word);
/** The nearest of "a|b|c" into buf. */
const char *scenario_word_nearest(const char *words, const char *word, char *buf, size_t len);
/** Whether s can be a name (ATTR_NAME). */
bool scenario_name_valid(const char *s);

#ifdef __cplusplus
}
#endif
#endif
