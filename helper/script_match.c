/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields of packets and completions: read, written, compared with what a line names, and shown side by side when they differ. */
#include "script_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers that count from somewhere --- */

static uint64_t base_of(const struct script_run *r, const struct script_view *v, const struct script_field *f)
{
    const struct script_params *p = &r->script->params;
    switch (f->rel) {
    case SCRIPT_SEQ: return (uint64_t)(v->from_us ? p->isn : p->peer_isn);
    case SCRIPT_ACK: return (uint64_t)(v->from_us ? p->peer_isn : p->isn);
    case SCRIPT_PSN: return (uint64_t)(v->request == v->from_us ? p->psn : p->peer_psn); /* requests and their responses count as the requester does */
    default:         return 0;
    }
}

uint64_t script_field_mask(const struct script_field *f) { return f->rel == SCRIPT_PSN ? 0xffffff : f->size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * f->size) - 1; }

uint64_t script_term_value(const struct script_run *r, const struct script_term *t)
{
    return (t->var >= 0 ? r->var[t->var] : 0) + t->add;
}

static uint64_t load(const struct script_view *v, const struct script_field *f)
{
    const uint8_t *at = (const uint8_t *)v->base + f->off;
    uint16_t h;
    uint32_t w;
    uint64_t d;
    switch (f->size) {
    case 1: return *at;
    case 2: memcpy(&h, at, 2); return h;
    case 4: memcpy(&w, at, 4); return w;
    default: memcpy(&d, at, 8); return d;
    }
}

static void save(const struct script_view *v, const struct script_field *f, uint64_t value)
{
    uint8_t *at = (uint8_t *)v->base + f->off;
    uint16_t h = (uint16_t)value;
    uint32_t w = (uint32_t)value;
    switch (f->size) {
    case 1: *at = (uint8_t)value; break;
    case 2: memcpy(at, &h, 2); break;
    case 4: memcpy(at, &w, 4); break;
    default: memcpy(at, &value, 8); break;
    }
}

bool script_get(const struct script_run *r, const struct script_view *v, const struct script_field *f, uint64_t out[SCRIPT_LIST_MAX], uint32_t *n)
{
    *n = 1;
    if (f->need && !(v->has & f->need))
        return false;
    switch (f->kind) {
    case SCRIPT_OPTION:
        out[0] = 1;
        return true;
    case SCRIPT_LEN:
        out[0] = v->len;
        return true;
    case SCRIPT_FILL:
        out[0] = v->len ? v->payload[0] : 0;
        for (uint32_t i = 0; i < v->len; i++)
            if (v->payload[i] != out[0])
                out[0] = 256; /* not all alike */
        return v->len > 0;
    case SCRIPT_BYTES:
        return true;
    case SCRIPT_SACK: {
        const struct pkt_tcp *t = &((const struct pkt *)v->base)->tcp;
        uint32_t base = (uint32_t)base_of(r, v, f);
        *n = 2u * t->nsack;
        for (uint32_t i = 0; i < t->nsack; i++) {
            out[2 * i] = t->sack[i].from - base;
            out[2 * i + 1] = t->sack[i].to - base;
        }
        return t->nsack > 0;
    }
    default:
        out[0] = (load(v, f) - base_of(r, v, f)) & script_field_mask(f);
        return true;
    }
}

/* --- comparing --- */

static bool bytes_fit(const struct script_set *s, const struct script_view *v)
{
    return v->len == s->value.nbytes && memcmp(v->payload, s->value.bytes, v->len) == 0;
}

/* Variables that the line meets for the first time learn their values if learn is true. */
static bool set_fits(struct script_run *r, const struct script_set *s, const struct script_view *v, bool learn)
{
    uint64_t got[SCRIPT_LIST_MAX];
    uint32_t n;
    bool there = script_get(r, v, s->field, got, &n);
    if (!there || s->absent)
        return there != !s->absent ? false : true;
    if (s->field->kind == SCRIPT_BYTES)
        return bytes_fit(s, v);
    if (n != s->value.n)
        return false;
    uint64_t mask = s->field->kind == SCRIPT_NUM ? script_field_mask(s->field) : s->field->kind == SCRIPT_SACK ? UINT32_MAX : UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct script_term *t = &s->value.term[i];
        if (t->any)
            continue;
        if (t->var >= 0 && !r->known[t->var]) {
            if (learn) {
                r->var[t->var] = got[i] - t->add;
                r->known[t->var] = true;
            }
            continue;
        }
        if (((script_term_value(r, t) ^ got[i]) & mask) != 0)
            return false;
    }
    return true;
}

static uint32_t head_of(const struct script_form *form, const struct script_view *v) { return form->head_of ? form->head_of(v) : 0; }

static bool head_fits(const struct script_line *l, const struct script_form *form, const struct script_view *v)
{
    return l->form == form && ((head_of(form, v) ^ l->head) & l->head_mask) == 0;
}

/* --- showing --- */

static const char *time_text(int64_t ps, char *buf, size_t len) { return param_format_value(PARAM_TIME, NULL, (double)ps, buf, len); }

static void expected_text(const struct script_run *r, const struct script_set *s, char *out, size_t len)
{
    size_t used = 0;
    char word[64];
    out[0] = 0;
    if (s->absent) {
        snprintf(out, len, "absent");
        return;
    }
    if (s->field->kind == SCRIPT_BYTES) {
        for (uint32_t i = 0; i < s->value.nbytes && used + 3 < len; i++)
            used += (size_t)snprintf(out + used, len - used, "%02x", s->value.bytes[i]);
        return;
    }
    for (uint32_t i = 0; i < s->value.n && used < len; i++) {
        const struct script_term *t = &s->value.term[i];
        const char *between = i == 0 ? "" : i % 2 ? "-" : ",";
        if (t->any)
            snprintf(word, sizeof word, "*");
        else if (t->var >= 0 && !r->known[t->var])
            snprintf(word, sizeof word, "$%s", r->script->vars[t->var]);
        else
            script_word_of(s->field->name, script_term_value(r, t) & (s->field->kind == SCRIPT_NUM ? script_field_mask(s->field) : UINT64_MAX), s->field->hex, word, sizeof word);
        used += (size_t)snprintf(out + used, len - used, "%s%s", between, word);
    }
}

static void seen_text(const struct script_run *r, const struct script_field *f, const struct script_view *v, char *out, size_t len)
{
    uint64_t got[SCRIPT_LIST_MAX];
    uint32_t n;
    char word[64];
    size_t used = 0;
    out[0] = 0;
    if (!script_get(r, v, f, got, &n)) {
        snprintf(out, len, "absent");
        return;
    }
    if (f->kind == SCRIPT_BYTES) {
        for (uint32_t i = 0; i < v->len && used + 3 < len; i++)
            used += (size_t)snprintf(out + used, len - used, "%02x", v->payload[i]);
        return;
    }
    if (f->kind == SCRIPT_FILL && got[0] == 256) {
        snprintf(out, len, "mixed");
        return;
    }
    for (uint32_t i = 0; i < n && used < len; i++)
        used += (size_t)snprintf(out + used, len - used, "%s%s", i == 0 ? "" : i % 2 ? "-" : ",", script_word_of(f->name, got[i], f->hex, word, sizeof word));
}

void script_describe(struct script_run *r, const struct script_form *form, const struct script_view *v, char *out, size_t len)
{
    char word[200];
    form->print(v, out, len);
    size_t used = strlen(out);
    for (size_t i = 0; i < form->fields.n && used < len; i++) {
        const struct script_field *f = &form->fields.row[i];
        uint64_t got[SCRIPT_LIST_MAX];
        uint32_t n;
        if (f->kind == SCRIPT_BYTES || f->kind == SCRIPT_FILL || !script_get(r, v, f, got, &n))
            continue;
        if (f->kind == SCRIPT_FLAG || f->kind == SCRIPT_OPTION) {
            if (got[0])
                used += (size_t)snprintf(out + used, len - used, " %s", f->name);
            continue;
        }
        seen_text(r, f, v, word, sizeof word);
        used += (size_t)snprintf(out + used, len - used, " %s=%s", f->name, word);
    }
}

bool script_mismatch(struct script_run *r, const char *format, ...)
{
    va_list ap;
    if (!r->failed) {
        fprintf(r->err, "%s:%u: ", r->script->name, r->line ? r->line->number : r->script->number);
        va_start(ap, format);
        vfprintf(r->err, format, ap);
        va_end(ap);
        fputc('\n', r->err);
    }
    r->failed = true;
    return false;
}

static void row(struct script_run *r, const char *name, const char *expected, const char *seen, bool differs)
{
    fprintf(r->err, "  %-12s %-28s %-28s%s\n", name, expected, seen, differs ? " <--" : "");
}

static void report(struct script_run *r, const struct script_form *form, const struct script_view *v, int64_t at_ps, int64_t from_ps, int64_t to_ps)
{
    const struct script_line *l = r->line;
    char a[600], b[600], t1[40], t2[40];
    bool late = at_ps < from_ps || at_ps > to_ps, head = l->any || head_fits(l, form, v);
    script_mismatch(r, "%s", l->text + strspn(l->text, " \t"));
    row(r, "", "expected", "seen", false);
    if (to_ps == SIM_NEVER_PS)
        snprintf(a, sizeof a, "any");
    else if (from_ps == to_ps)
        time_text(from_ps, a, sizeof a);
    else
        snprintf(a, sizeof a, "%s..%s", time_text(from_ps, t1, sizeof t1), time_text(to_ps, t2, sizeof t2));
    row(r, "time", a, time_text(at_ps, t1, sizeof t1), late);
    form->print(v, b, sizeof b);
    if (!head) {
        const char *w = l->text + strcspn(l->text, "<>");
        w += strspn(w, "<> \t");
        snprintf(a, sizeof a, "%.*s", (int)strcspn(w, " \t\r"), w);
        row(r, "packet", a, b, true);
    } else if (!l->any) {
        row(r, "packet", b, b, false);
    }
    if (l->form == form)
        for (uint32_t i = 0; i < l->nsets; i++) {
            expected_text(r, &l->set[i], a, sizeof a);
            seen_text(r, l->set[i].field, v, b, sizeof b);
            row(r, l->set[i].field->name, a, b, !set_fits(r, &l->set[i], v, false));
        }
    script_describe(r, form, v, b, sizeof b);
    fprintf(r->err, "  seen whole: %s\n", b);
}

bool script_match(struct script_run *r, const struct script_view *v, int64_t at_ps, int64_t from_ps, int64_t to_ps)
{
    const struct script_line *l = r->line;
    const struct script_form *form = r->head && l->what == SCRIPT_EXPECTS ? r->head->form : &script_wc_form;
    bool fits = at_ps >= from_ps && at_ps <= to_ps && (l->any || head_fits(l, form, v));
    for (uint32_t i = 0; fits && i < l->nsets; i++)
        fits = set_fits(r, &l->set[i], v, false);
    if (!fits) {
        report(r, form, v, at_ps, from_ps, to_ps);
        return false;
    }
    for (uint32_t i = 0; i < l->nsets; i++)
        if (!set_fits(r, &l->set[i], v, true)) { /* the same new variable twice with two values */
            report(r, form, v, at_ps, from_ps, to_ps);
            return false;
        }
    return true;
}

/* --- writing --- */

bool script_fill(struct script_run *r, const struct script_line *l, struct script_view *v)
{
    for (uint32_t i = 0; i < l->nsets; i++) {
        const struct script_set *s = &l->set[i];
        const struct script_field *f = s->field;
        if (f->kind >= SCRIPT_LEN)
            continue;
        if (s->absent) {
            v->has &= ~f->need;
            continue;
        }
        for (uint32_t k = 0; k < s->value.n; k++) {
            const struct script_term *t = &s->value.term[k];
            if (t->any || (t->var >= 0 && !r->known[t->var]))
                return script_mismatch(r, "%s: %s%s has no value yet", f->name, t->any ? "*" : "$", t->any ? "" : r->script->vars[t->var]);
        }
        v->has |= f->need & (f->kind == SCRIPT_OPTION ? f->need : ~0u);
        uint64_t base = base_of(r, v, f);
        if (f->kind == SCRIPT_SACK) {
            struct pkt_tcp *t = &((struct pkt *)v->base)->tcp;
            t->nsack = (uint8_t)(s->value.n / 2);
            for (uint32_t k = 0; k < t->nsack; k++) {
                t->sack[k].from = (uint32_t)(script_term_value(r, &s->value.term[2 * k]) + base);
                t->sack[k].to = (uint32_t)(script_term_value(r, &s->value.term[2 * k + 1]) + base);
            }
        } else if (f->kind != SCRIPT_OPTION) {
            save(v, f, (script_term_value(r, &s->value.term[0]) + base) & script_field_mask(f));
        }
    }
    return true;
}

const struct script_set *script_find_set(const struct script_line *l, const char *name)
{
    for (uint32_t i = 0; i < l->nsets; i++)
        if (strcmp(l->set[i].field->name, name) == 0)
            return &l->set[i];
    return NULL;
}

uint32_t script_payload(struct script_run *r, const struct script_line *l, uint8_t *buf, uint32_t cap)
{
    const struct script_set *len = script_find_set(l, "len"), *fill = script_find_set(l, "fill"), *bytes = script_find_set(l, "bytes");
    uint32_t n = 0;
    if (len && !len->absent) {
        uint64_t want = script_term_value(r, &len->value.term[0]);
        if (want > cap)
            script_mismatch(r, "len=%" PRIu64 ": at most %u bytes go into this packet", want, cap);
        n = want > cap ? 0 : (uint32_t)want;
    }
    uint64_t value = fill && !fill->absent ? script_term_value(r, &fill->value.term[0]) : 0x5a;
    memset(buf, (int)(value & 0xff), n);
    if (bytes && bytes->value.bytes) {
        if (bytes->value.nbytes <= cap)
            memcpy(buf, bytes->value.bytes, bytes->value.nbytes);
        n = n > bytes->value.nbytes ? n : bytes->value.nbytes;
    }
    return n;
}
