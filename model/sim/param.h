/* SPDX-License-Identifier: GPL-2.0-only */
/** Parameters, each declared once. A room lists its parameters in one X-macro; the struct, the defaults, the
 *  check, the XML schema, ns-3's attributes, `rnicsim describe` and the reference page all derive from it.
 *
 *      #define ROCE_PARAMS(X) \
 *          X(mtu_bytes, BYTES, 1024, 256, 4096, NULL, "path MTU", "IBTA vol. 1 ch. 9; 1024 is the common default")
 *      struct roce_params { PARAM_FIELDS(ROCE_PARAMS) };
 *      PARAM_TABLE(roce_params, struct roce_params, ROCE_PARAMS)       (in one .c file)
 *
 *  X(field, kind, default, low, high, names, meaning, source). Two C types only: double for FRACTION and
 *  NUMBER, int64_t for the rest. names lists an ENUM's or the words of values ("poll|event|adaptive"; the value is
 *  the position), NULL otherwise. Field names end in their unit; in XML and --set the unit suffix is dropped
 *  (mtu_bytes is `mtu`) and '_' is '-'.
 */
#ifndef RNICSIM_SIM_PARAM_H
#define RNICSIM_SIM_PARAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum param_kind {
    PARAM_TIME,     /* int64_t ps;    "2us", "500ns", "1.5ms", "never" */
    PARAM_RATE,     /* int64_t bit/s; "100Gbps", "40Mbps" */
    PARAM_BYTES,    /* int64_t B;     "1024B", "240KiB", "9MB" */
    PARAM_COUNT,    /* int64_t;       "7" */
    PARAM_BOOL,     /* int64_t 0/1;   "yes", "no", "on", "off", "true", "false" */
    PARAM_ENUM,     /* int64_t;       one of names */
    PARAM_LENGTH,   /* int64_t mm;    "100m", "10km", "0.5m" */
    PARAM_FRACTION, /* double 0..1;   "70%", "1e-5", "0.7" */
    PARAM_NUMBER    /* double;        "0.875" */
};

#define PARAM_T_TIME     int64_t
#define PARAM_T_RATE     int64_t
#define PARAM_T_BYTES    int64_t
#define PARAM_T_COUNT    int64_t
#define PARAM_T_BOOL     int64_t
#define PARAM_T_ENUM     int64_t
#define PARAM_T_LENGTH   int64_t
#define PARAM_T_FRACTION double
#define PARAM_T_NUMBER   double

#define PARAM_FIELD_(field, kind, def, lo, hi, names, meaning, source) PARAM_T_##kind field;
#define PARAM_FIELDS(LIST) LIST(PARAM_FIELD_)

struct param {
    const char     *field;      /* "mtu_bytes" */
    enum param_kind kind;
    size_t          offset;
    double          def, low, high;
    const char     *names;      /* "a|b|c" for ENUM, else NULL */
    const char     *meaning, *source;
};

struct param_table { const char *name; const struct param *rows; size_t count, struct_bytes; };

/* The row macro names the struct through a typedef made by PARAM_TABLE, since X has no room for it. */
#define PARAM_ROW_(f, k, d, lo, hi, nm, mean, src) \
    { .field = #f, .kind = PARAM_##k, .offset = offsetof(PARAM_STRUCT, f), .def = (double)(d), .low = (double)(lo), \
      .high = (double)(hi), .names = nm, .meaning = mean, .source = src },
/** Before use: #define PARAM_STRUCT struct roce_params; after: #undef PARAM_STRUCT. Defines
 *  `const struct param_table tag##_table`, which the room's header declares extern. */
#define PARAM_TABLE(tag, LIST) \
    static const struct param tag##_rows[] = { LIST(PARAM_ROW_) }; \
    const struct param_table tag##_table = { #tag, tag##_rows, sizeof tag##_rows / sizeof tag##_rows[0], sizeof(PARAM_STRUCT) };

/** Fill a struct with its defaults. */
void param_defaults(const struct param_table *t, void *params);
/** 0, or SIM_ERR_PARAM with *bad set to the first row out of range. */
int  param_check(const struct param_table *t, const void *params, const struct param **bad);
/** Name as people type it, without the unit suffix, '-' for '_'; returns buf. */
const char *param_public_name(const struct param *p, char *buf, size_t len);
/** Row by public name or field name; NULL if none. */
const struct param *param_find(const struct param_table *t, const char *name);
/** The row whose public name is nearest to name by edit distance; NULL for an empty table. */
const struct param *param_nearest(const struct param_table *t, const char *name);
/** Parse text into the field. On failure returns SIM_ERR_PARAM and writes one sentence into err: what was read,
 *  the accepted forms or range. */
int  param_set(const struct param *p, void *params, const char *text, char *err, size_t errlen);
/** Parse a bare quantity of a kind (no range check beyond the type); same error convention. */
int  param_parse(enum param_kind kind, const char *names, const char *text, double *out, char *err, size_t errlen);
/** Print a field's value, or a value, with the best unit ("100Gbps"); returns buf. */
const char *param_format(const struct param *p, const void *params, char *buf, size_t len);
const char *param_format_value(enum param_kind kind, const char *names, double value, char *buf, size_t len);
/** Edit distance, for "nearest spelling" messages elsewhere. */
unsigned param_edit_distance(const char *a, const char *b);

#ifdef __cplusplus
}
#endif
#endif
