/* SPDX-License-Identifier: GPL-2.0-only */
#include "param.h"

#include "sim.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TWO63 9223372036854775808.0

struct unit { const char *name; double factor; };

/* Largest first; the first of a size is the one printed. */
static const struct unit time_units[] = {
    { "s", 1e12 }, { "ms", 1e9 }, { "us", 1e6 }, { "\u00b5s", 1e6 }, { "\u03bcs", 1e6 }, { "ns", 1e3 }, { "ps", 1 }, { NULL, 0 },
};
static const struct unit rate_units[] = {
    { "Tbps", 1e12 }, { "Gbps", 1e9 }, { "Mbps", 1e6 }, { "kbps", 1e3 }, { "bps", 1 }, { "Tb/s", 1e12 }, { "Gb/s", 1e9 },
    { "Mb/s", 1e6 }, { "kb/s", 1e3 }, { "b/s", 1 }, { "Tbit/s", 1e12 }, { "Gbit/s", 1e9 }, { "Mbit/s", 1e6 },
    { "kbit/s", 1e3 }, { "bit/s", 1 }, { NULL, 0 },
};
static const struct unit byte_units[] = {
    { "GiB", 0x1p30 }, { "MiB", 0x1p20 }, { "KiB", 0x1p10 }, { "kiB", 0x1p10 }, { "TB", 1e12 }, { "GB", 1e9 }, { "MB", 1e6 },
    { "kB", 1e3 }, { "KB", 1e3 }, { "kb", 1e3 }, { "B", 1 }, { NULL, 0 },
};

static const struct unit length_units[] = { { "km", 1e6 }, { "m", 1e3 }, { "cm", 10 }, { "mm", 1 }, { NULL, 0 } };

static const char *const forms[] = {
    [PARAM_TIME] = "a time with its unit, such as 500ns, 2us or 1.5ms, or never",
    [PARAM_RATE] = "a rate with its unit, such as 40Mbps or 100Gbps",
    [PARAM_BYTES] = "a size with its unit, such as 1024B, 240KiB or 9MB",
    [PARAM_COUNT] = "a whole number, such as 7",
    [PARAM_BOOL] = "yes, no, on, off, true or false",
    [PARAM_ENUM] = "one of the names",
    [PARAM_LENGTH] = "a length with its unit, such as 0.5m, 100m or 10km",
    [PARAM_FRACTION] = "a fraction, such as 70%, 0.7 or 1e-5",
    [PARAM_NUMBER] = "a number, such as 0.875",
};

static bool is_real(enum param_kind kind)
{
    return kind == PARAM_FRACTION || kind == PARAM_NUMBER;
}

static int64_t to_int(double v)
{
    if (v >= TWO63)
        return INT64_MAX;
    if (v <= -TWO63)
        return INT64_MIN;
    return (int64_t)v;
}

static double get(const struct param *p, const void *params)
{
    const char *at = (const char *)params + p->offset;
    int64_t i;
    double d;

    if (is_real(p->kind)) {
        memcpy(&d, at, sizeof d);
        return d;
    }
    memcpy(&i, at, sizeof i);
    return (double)i;
}

static void put(const struct param *p, void *params, double v)
{
    char *at = (char *)params + p->offset;
    int64_t i = is_real(p->kind) ? 0 : to_int(v);

    if (is_real(p->kind))
        memcpy(at, &v, sizeof v);
    else
        memcpy(at, &i, sizeof i);
}

void param_defaults(const struct param_table *t, void *params)
{
    for (size_t i = 0; i < t->count; i++)
        put(&t->rows[i], params, t->rows[i].def);
}

/* NaN is out of every range. */
static bool in_range(const struct param *p, double v)
{
    return v >= p->low && v <= p->high;
}

int param_check(const struct param_table *t, const void *params, const struct param **bad)
{
    for (size_t i = 0; i < t->count; i++) {
        if (in_range(&t->rows[i], get(&t->rows[i], params)))
            continue;
        if (bad)
            *bad = &t->rows[i];
        return SIM_ERR_PARAM;
    }
    return SIM_OK;
}

const char *param_public_name(const struct param *p, char *buf, size_t len)
{
    static const char *const suffix[] = { [PARAM_TIME] = "_ps", [PARAM_RATE] = "_bps", [PARAM_BYTES] = "_bytes", [PARAM_LENGTH] = "_mm",
                                          [PARAM_NUMBER] = NULL };
    const char *s = suffix[p->kind];
    size_t n = strlen(p->field), m = s ? strlen(s) : 0;

    if (m && n > m && strcmp(p->field + n - m, s) == 0)
        n -= m;
    snprintf(buf, len, "%.*s", (int)n, p->field);
    for (char *c = buf; len && *c; c++)
        if (*c == '_')
            *c = '-';
    return buf;
}

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '_' || *a == '-') && (*b == '_' || *b == '-')))
            return false;
    return *a == *b;
}

const struct param *param_find(const struct param_table *t, const char *name)
{
    char buf[128];

    for (size_t i = 0; i < t->count; i++)
        if (same_name(t->rows[i].field, name) || same_name(param_public_name(&t->rows[i], buf, sizeof buf), name))
            return &t->rows[i];
    return NULL;
}

unsigned param_edit_distance(const char *a, const char *b)
{
    unsigned row[128];
    size_t na = strlen(a), nb = strlen(b);

    if (nb >= sizeof row / sizeof row[0])
        nb = sizeof row / sizeof row[0] - 1;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

const struct param *param_nearest(const struct param_table *t, const char *name)
{
    const struct param *best = NULL;
    unsigned least = 0;
    char buf[128];

    for (size_t i = 0; i < t->count; i++) {
        unsigned d = param_edit_distance(name, param_public_name(&t->rows[i], buf, sizeof buf));

        if (!best || d < least) {
            best = &t->rows[i];
            least = d;
        }
    }
    return best;
}

/* Position of text among "a|b|c", -1 if none. */
static int name_index(const char *names, const char *text)
{
    size_t n = strlen(text);
    int i = 0;

    for (const char *p = names; p && *p; i++) {
        size_t m = strcspn(p, "|");

        if (m == n && memcmp(p, text, n) == 0)
            return i;
        p += m + (p[m] == '|');
    }
    return -1;
}

static bool name_at(const char *names, int64_t index, char *buf, size_t len)
{
    for (const char *p = names; p && *p && index >= 0; index--) {
        size_t m = strcspn(p, "|");

        if (index == 0) {
            snprintf(buf, len, "%.*s", (int)m, p);
            return true;
        }
        p += m + (p[m] == '|');
    }
    return false;
}

static int refuse_name(const char *names, const char *text, char *err, size_t errlen)
{
    char list[256] = "", one[64], best[64] = "";
    unsigned least = 0;
    size_t used = 0;

    for (int64_t i = 0; name_at(names, i, one, sizeof one); i++) {
        unsigned d = param_edit_distance(text, one);

        if (!best[0] || d < least) {
            snprintf(best, sizeof best, "%s", one);
            least = d;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", one);
    }
    if (best[0] && least <= 2)
        snprintf(err, errlen, "\"%.64s\" is none of %s; did you mean %s?", text, list, best);
    else
        snprintf(err, errlen, "\"%.64s\" is none of %s", text, list);
    return SIM_ERR_PARAM;
}

static int refuse(enum param_kind kind, const char *text, const char *why, char *err, size_t errlen)
{
    snprintf(err, errlen, "\"%.64s\" %s: give %s", text, why, forms[kind]);
    return SIM_ERR_PARAM;
}

/* A decimal number, as in XML: no hexadecimal, no infinity. Its end, or NULL. An e belongs to the number only where
 * an exponent follows. */
static const char *number_end(const char *p)
{
    const char *digits;
    size_t n = 0;

    p += *p == '+' || *p == '-';
    for (digits = p; isdigit((unsigned char)*p); p++)
        n++;
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++)
            n++;
    if (n == 0 || p == digits)
        return NULL;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1 + (p[1] == '+' || p[1] == '-');

        if (isdigit((unsigned char)*q)) {
            while (isdigit((unsigned char)*q))
                q++;
            p = q;
        }
    }
    return p;
}

static const struct unit *unit_of(const struct unit *u, const char *text, bool any_case_prefix)
{
    for (; u->name; u++) {
        if (strcmp(u->name, text) == 0)
            return u;
        if (any_case_prefix && text[0] && strcmp(u->name + 1, text + 1) == 0 &&
            tolower((unsigned char)u->name[0]) == tolower((unsigned char)text[0]) && u->name[0] != 'b')
            return u;
    }
    return NULL;
}

static int parse_bool(const char *text, double *out, char *err, size_t errlen)
{
    static const char *const yes[] = { "yes", "on", "true" }, *const no[] = { "no", "off", "false" };

    for (size_t i = 0; i < 3; i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *out = strcasecmp(text, yes[i]) == 0;
            return SIM_OK;
        }
    }
    return refuse(PARAM_BOOL, text, "is not a yes or no", err, errlen);
}

static int parse_quantity(enum param_kind kind, const char *text, const char *shown, double *out, char *err, size_t errlen)
{
    const struct unit *units = kind == PARAM_TIME ? time_units : kind == PARAM_RATE ? rate_units
                             : kind == PARAM_BYTES ? byte_units : kind == PARAM_LENGTH ? length_units : NULL;
    const char *end = number_end(text);
    double v, whole;

    if (!end)
        return refuse(kind, shown, "is not understood", err, errlen);
    v = strtod(text, NULL);
    while (*end == ' ')
        end++;
    if (units && !*end && v != 0)
        return refuse(kind, shown, "has no unit", err, errlen);
    if (kind == PARAM_FRACTION && strcmp(end, "%") == 0) {
        v /= 100;
    } else if (units && *end) {
        const struct unit *u = unit_of(units, end, kind == PARAM_RATE);

        if (!u)
            return refuse(kind, shown, "has an unknown unit", err, errlen);
        v *= u->factor;
    } else if (*end) {
        return refuse(kind, shown, "is not understood", err, errlen);
    }
    if (is_real(kind)) {
        if (!isfinite(v))
            return refuse(kind, shown, "is too large", err, errlen);
        *out = v;
        return SIM_OK;
    }
    if (fabs(v) >= TWO63)
        return refuse(kind, shown, "is too large", err, errlen);
    /* 0.1 has no exact double: a thousand-millionth off is what decimal fractions leave behind. */
    whole = round(v);
    if (fabs(v - whole) > 1e-9 * fmax(1, fabs(v)))
        return refuse(kind, shown, kind == PARAM_TIME ? "is not a whole number of ps" : kind == PARAM_RATE ?
                      "is not a whole number of bit/s" : kind == PARAM_BYTES ? "is not a whole number of bytes" :
                      kind == PARAM_LENGTH ? "is not a whole number of mm" : "is not a whole number", err, errlen);
    *out = whole;
    return SIM_OK;
}

int param_parse(enum param_kind kind, const char *names, const char *text, double *out, char *err, size_t errlen)
{
    char word[128];
    size_t n;

    while (isspace((unsigned char)*text))
        text++;
    for (n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
        ;
    if (n == 0)
        return refuse(kind, text, "is empty", err, errlen);
    if (n >= sizeof word)
        return refuse(kind, text, "is too long", err, errlen);
    memcpy(word, text, n);
    word[n] = 0;
    if (kind == PARAM_BOOL)
        return parse_bool(word, out, err, errlen);
    if (kind != PARAM_ENUM && kind != PARAM_TIME)
        return parse_quantity(kind, word, word, out, err, errlen);
    if (kind == PARAM_TIME) {
        if (strcmp(word, "never") != 0)
            return parse_quantity(kind, word, word, out, err, errlen);
        *out = TWO63;
        return SIM_OK;
    }
    if (name_index(names, word) < 0)
        return refuse_name(names, word, err, errlen);
    *out = name_index(names, word);
    return SIM_OK;
}

int param_set(const struct param *p, void *params, const char *text, char *err, size_t errlen)
{
    char name[128], why[384], low[48], high[48];
    double v;

    param_public_name(p, name, sizeof name);
    if (param_parse(p->kind, p->names, text, &v, why, sizeof why) < 0) {
        snprintf(err, errlen, "%s: %s", name, why);
        return SIM_ERR_PARAM;
    }
    if (!in_range(p, v)) {
        snprintf(err, errlen, "%s: \"%.64s\" is out of range: give %s to %s", name, text,
                 param_format_value(p->kind, p->names, p->low, low, sizeof low),
                 param_format_value(p->kind, p->names, p->high, high, sizeof high));
        return SIM_ERR_PARAM;
    }
    put(p, params, v);
    return SIM_OK;
}

/* The fewest digits that read back as the same number. */
static void shortest(double v, double scale, char *buf, size_t len)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, len, "%.*g", digits, v / scale);
        if (strchr(buf, 'e') && fabs(v / scale) >= 1 && digits < 17)
            continue;
        if (strtod(buf, NULL) * scale == v || (scale > 1 && round(strtod(buf, NULL) * scale) == v))
            return;
    }
}

static void format_units(const struct unit *u, double v, char *buf, size_t len)
{
    char digits[40];

    while (u[1].name && u->factor > 1 && fabs(v) < u->factor)
        u++;
    shortest(v, u->factor, digits, sizeof digits);
    snprintf(buf, len, "%s%s", digits, u->name);
}

/* Small sizes are frames and headers, which people write in bytes. */
static void format_bytes(double v, char *buf, size_t len)
{
    static const struct unit shown[] = { { "GiB", 0x1p30 }, { "GB", 1e9 }, { "MiB", 0x1p20 }, { "MB", 1e6 }, { "KiB", 0x1p10 },
                                         { "kB", 1e3 } };

    if (fabs(v) >= 10000) {
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
            if (fmod(v, shown[i].factor) == 0) {
                snprintf(buf, len, "%.0f%s", v / shown[i].factor, shown[i].name);
                return;
            }
        }
    }
    snprintf(buf, len, "%.0fB", v);
}

const char *param_format_value(enum param_kind kind, const char *names, double value, char *buf, size_t len)
{
    switch (kind) {
    case PARAM_TIME:
        if (value >= TWO63)
            snprintf(buf, len, "never");
        else
            format_units(time_units, value, buf, len);
        break;
    case PARAM_RATE:
        format_units(rate_units, value, buf, len);
        break;
    case PARAM_BYTES:
        format_bytes(value, buf, len);
        break;
    case PARAM_LENGTH:
        format_units(length_units, value, buf, len);
        break;
    case PARAM_COUNT:
        snprintf(buf, len, "%.0f", value);
        break;
    case PARAM_BOOL:
        snprintf(buf, len, "%s", value != 0 ? "yes" : "no");
        break;
    case PARAM_ENUM:
        if (!name_at(names, to_int(value), buf, len))
            snprintf(buf, len, "%.0f", value);
        break;
    case PARAM_FRACTION:
    case PARAM_NUMBER:
        shortest(value, 1, buf, len);
        break;
    }
    return buf;
}

const char *param_format(const struct param *p, const void *params, char *buf, size_t len)
{
    return param_format_value(p->kind, p->names, get(p, params), buf, len);
}
