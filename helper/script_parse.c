/* SPDX-License-Identifier: GPL-2.0-only */
/* A script's text to lines. The first fault ends it, with file, line and the nearest spelling. */
#include "script_internal.h"

#include "../model/wire/cm.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 64
#define LINES_MAX 100000
#define TIMES_MAX 1000

const struct script_call_row script_calls[SCRIPT_CALL_COUNT] = {
#define X(n, t) { #n, t },
    SCRIPT_CALLS_LIST(X)
#undef X
};

bool script_complain(struct script *s, const char *format, ...)
{
    va_list ap;
    fprintf(s->err, "%s:%u: ", s->name, s->number);
    va_start(ap, format);
    vfprintf(s->err, format, ap);
    va_end(ap);
    fputc('\n', s->err);
    return false;
}

/* --- nearest spelling --- */

struct nearest { const char *word, *best; unsigned least; };
static void consider(struct nearest *n, const char *candidate)
{
    unsigned d = param_edit_distance(n->word, candidate);
    if (!n->best || d < n->least) {
        n->best = candidate;
        n->least = d;
    }
}

/* --- fields --- */

static bool has_field(const struct script_field *f, uint32_t has) { return !f->need || (f->need & has); }

static const struct script_field *find_field(const struct script_fields *t, const char *name, uint32_t has)
{
    for (size_t i = 0; i < t->n; i++)
        if (has_field(&t->row[i], has) && strcmp(t->row[i].name, name) == 0)
            return &t->row[i];
    return NULL;
}

static bool unknown_field(struct script *s, const struct script_fields *t, const char *name, uint32_t has, const char *of)
{
    struct nearest n = { .word = name };
    for (size_t i = 0; i < t->n; i++)
        if (has_field(&t->row[i], has))
            consider(&n, t->row[i].name);
    if (!n.best)
        return script_complain(s, "%s has no \"%s\", it takes nothing", of, name);
    return script_complain(s, "%s has no field \"%s\"; nearest: %s", of, name, n.best);
}

/* NAME=VALUE, NAME or no-NAME into the line. */
static bool take_field(struct script *s, struct script_line *l, const struct script_fields *t, uint32_t has, char *word, const char *of)
{
    char *eq = strchr(word, '=');
    if (l->nsets == SCRIPT_SETS_MAX)
        return script_complain(s, "at most %d fields in a line", SCRIPT_SETS_MAX);
    struct script_set *set = &l->set[l->nsets];
    memset(set, 0, sizeof *set);
    if (eq)
        *eq = 0;
    bool no = !eq && strncmp(word, "no-", 3) == 0;
    set->field = find_field(t, no ? word + 3 : word, has);
    if (!set->field)
        return unknown_field(s, t, no ? word + 3 : word, has, of);
    bool bare = set->field->kind == SCRIPT_FLAG || set->field->kind == SCRIPT_OPTION;
    if (!eq && !no && !bare)
        return script_complain(s, "%s needs a value: %s=VALUE", word, word);
    l->nsets++;
    if (no && set->field->kind != SCRIPT_FLAG) {
        set->absent = true;
        return true;
    }
    if (!eq) {
        set->value = (struct script_value){ .n = 1, .term = { { .var = -1, .add = !no } } };
        return true;
    }
    return script_parse_value(s, set->field, eq + 1, &set->value);
}

static bool take_fields(struct script *s, struct script_line *l, const struct script_fields *t, uint32_t has, char **word, int n, const char *of)
{
    for (int i = 0; i < n; i++)
        if (!take_field(s, l, t, has, word[i], of))
            return false;
    return true;
}

/* --- packets --- */

static bool count_word(const char *word, uint32_t *times)
{
    char *end;
    if (word[0] != 'x' || word[1] < '1' || word[1] > '9')
        return false;
    unsigned long v = strtoul(word + 1, &end, 10);
    if (*end || v > TIMES_MAX)
        return false;
    *times = (uint32_t)v;
    return true;
}

static bool cut_words(struct script *s, struct script_line *l, char *list)
{
    for (char *next = list; next; ) {
        char *end;
        unsigned long v = strtoul(next, &end, 10);
        if (end == next || (*end && *end != ',') || l->ncuts == 4 || v == 0 || v > SCRIPT_PAYLOAD_MAX || (l->ncuts && v <= l->cut[l->ncuts - 1]))
            return script_complain(s, "cut=%s: up to four growing numbers of bytes with commas between", list);
        l->cut[l->ncuts++] = (uint32_t)v;
        next = *end ? end + 1 : NULL;
    }
    return true;
}

/* Words before the packet: what happens to it. Returns how many were taken, -1 on a fault. */
static int take_faults(struct script *s, struct script_line *l, char **word, int n)
{
    int i = 0;
    for (; i < n; i++) {
        if (strcmp(word[i], "drop") == 0)
            l->drop = true;
        else if (strcmp(word[i], "corrupt") == 0)
            l->corrupt = true;
        else if (strcmp(word[i], "duplicate") == 0)
            l->duplicate = true;
        else if (strcmp(word[i], "more") == 0 && s->transport == SCRIPT_IWARP)
            l->more = true;
        else if (strncmp(word[i], "cut=", 4) == 0 && s->transport == SCRIPT_IWARP) {
            if (!cut_words(s, l, word[i] + 4))
                return -1;
        } else if (strncmp(word[i], "delay=", 6) == 0) {
            if (!script_parse_time(word[i] + 6, &l->delay_ps)) {
                script_complain(s, "%s: a time such as 10us", word[i]);
                return -1;
            }
        } else
            break;
    }
    if (l->what == SCRIPT_EXPECTS && (l->corrupt || l->duplicate || l->delay_ps || l->more || l->ncuts)) {
        script_complain(s, "of the faults an expected packet takes only drop");
        return -1;
    }
    return i;
}

static bool unknown_packet(struct script *s, const char *word)
{
    struct nearest n = { .word = word };
    for (unsigned i = 0; s->transport == SCRIPT_ROCE && i < 256; i++)
        if (wire_roce_op[i].name)
            consider(&n, strncmp(wire_roce_op[i].name, "RC ", 3) == 0 ? wire_roce_op[i].name + 3 : wire_roce_op[i].name);
    for (unsigned k = CM_REQ; s->transport == SCRIPT_ROCE && k <= CM_DREP; k++)
        consider(&n, wire_cm_name(k));
    static const char *const tcp[] = { "SYN", "SYN+ACK", "ACK", "FIN+ACK", "RST", "RST+ACK", "ACK+PSH" };
    static const char *const iwarp[] = { "write", "read-request", "read-response", "send", "send-inv", "send-se", "send-se-inv", "terminate", "immediate",
        "immediate-se", "atomic-request", "atomic-response", "fpdu", "mpa-request", "mpa-reply", "FIN", "RST", "tcp" };
    for (size_t i = 0; s->transport == SCRIPT_TCP && i < sizeof tcp / sizeof tcp[0]; i++)
        consider(&n, tcp[i]);
    for (size_t i = 0; s->transport == SCRIPT_IWARP && i < sizeof iwarp / sizeof iwarp[0]; i++)
        consider(&n, iwarp[i]);
    return script_complain(s, "there is no packet \"%s\" here; nearest: %s", word, n.best ? n.best : "any");
}

static bool take_packet(struct script *s, struct script_line *l, char **word, int n)
{
    static const struct script_form *const tcp[] = { &script_tcp_form, NULL }, *const roce[] = { &script_roce_form, &script_cm_form, NULL },
        *const iwarp[] = { &script_fpdu_form, &script_mpa_form, NULL };
    const struct script_form *const *form = s->transport == SCRIPT_TCP ? tcp : s->transport == SCRIPT_ROCE ? roce : iwarp;
    int used = take_faults(s, l, word, n);
    if (used < 0)
        return false;
    word += used;
    n -= used;
    l->times = 1;
    if (n && count_word(word[n - 1], &l->times))
        n--;
    if (n == 0)
        return script_complain(s, "a packet is missing after %c", l->what == SCRIPT_SENDS ? '<' : '>');
    if (strcmp(word[0], "any") == 0 && l->what == SCRIPT_EXPECTS) {
        l->any = true;
        return n == 1 ? true : script_complain(s, "any takes no fields");
    }
    if (s->transport == SCRIPT_IWARP && (strcmp(word[0], "tcp") == 0 || strcmp(word[0], "FIN") == 0 || strcmp(word[0], "RST") == 0)) {
        form = tcp;
        if (word[0][0] == 't') {
            word++;
            if (--n == 0)
                return script_complain(s, "tcp: its flags are missing, such as ACK");
        }
    }
    uint32_t has = 0;
    while (*form && !(*form)->head(word[0], &l->head, &l->head_mask, &has))
        form++;
    if (!*form)
        return unknown_packet(s, word[0]);
    l->form = *form;
    if (s->transport == SCRIPT_IWARP && (l->head == TCP_FIN || l->head == TCP_RST) && *form == &script_tcp_form) {
        l->head_mask = l->head; /* whether it acknowledges is the automatic peer's concern */
        l->head |= TCP_ACK;
    }
    return take_fields(s, l, &l->form->fields, has, word + 1, n - 1, word[0]);
}

/* --- calls --- */

static bool take_region(struct script *s, struct script_line *l, char **word, int n)
{
    if (n < 1 || strchr(word[0], '='))
        return script_complain(s, "region needs a name: region NAME va=... len=...");
    char key[64];
    snprintf(key, sizeof key, "key=$%.40s", word[0]);
    return take_field(s, l, &script_arg_fields, 1u << l->call, key, "region") &&
           take_fields(s, l, &script_arg_fields, 1u << l->call, word + 1, n - 1, "region");
}

static bool take_call(struct script *s, struct script_line *l, char **word, int n)
{
    struct nearest near = { .word = word[0] };
    int call = -1;
    for (int i = 0; i < SCRIPT_CALL_COUNT; i++) {
        if (!(script_calls[i].transports & s->transport))
            continue;
        consider(&near, script_calls[i].name);
        if (strcmp(script_calls[i].name, word[0]) == 0)
            call = i;
    }
    consider(&near, "complete");
    consider(&near, "set");
    consider(&near, "transport");
    if (call < 0)
        return script_complain(s, "there is no \"%s\" here; nearest: %s", word[0], near.best);
    l->what = SCRIPT_CALLS;
    l->call = (uint8_t)call;
    if (call == SCRIPT_CALL_region)
        return take_region(s, l, word + 1, n - 1);
    if (call == SCRIPT_CALL_check) {
        if (n == 1)
            return script_complain(s, "check needs NAME=VALUE");
        return take_fields(s, l, &script_check_fields, s->transport, word + 1, n - 1, "check");
    }
    const char *of = word[0];
    if (call == SCRIPT_CALL_post) {
        int op = n > 1 ? script_post_op(word[1]) : -2;
        if (op == -2)
            return script_complain(s, "post what? send, send-imm, send-inv, write, write-imm, read, cmp-swap, fetch-add, local-inv or recv");
        l->op = (uint32_t)op;
        word++;
        n--;
    }
    return take_fields(s, l, &script_arg_fields, 1u << call, word + 1, n - 1, of);
}

/* --- lines --- */

/* T, T..T or T~TOLERANCE after an optional +; =; *. */
static bool take_time(struct script *s, struct script_line *l, char *word)
{
    if (strcmp(word, "=") == 0 || strcmp(word, "*") == 0) {
        l->when = *word == '=' ? SCRIPT_TOGETHER : SCRIPT_WHENEVER;
        return true;
    }
    l->when = *word == '+' ? SCRIPT_AFTER : SCRIPT_AT;
    char *from = word + (*word == '+'), *dots = strstr(from, ".."), *tilde = strchr(from, '~');
    int64_t about = s->params.tolerance_ps;
    char *cut = dots ? dots : tilde;
    if (cut)
        *cut = 0;
    if (!script_parse_time(from, &l->from_ps))
        return script_complain(s, "\"%s\" is not a time such as 5ms, +10us, +1ms..2ms, +5ms~10us, = or *", word);
    l->to_ps = l->from_ps;
    if (dots) {
        if (!script_parse_time(dots + 2, &l->to_ps) || l->to_ps < l->from_ps)
            return script_complain(s, "\"%s\" is not a time at or after %s", dots + 2, from);
        return true;
    }
    if (tilde && !script_parse_time(tilde + 1, &about))
        return script_complain(s, "\"%s\" is not a time", tilde + 1);
    l->from_ps -= about;
    l->to_ps += about;
    return true;
}

static bool is_time(const char *w) { return (*w >= '0' && *w <= '9') || *w == '+' || strcmp(w, "=") == 0 || strcmp(w, "*") == 0; }

static bool take_transport(struct script *s, char **word, int n)
{
    static const struct { const char *name; enum script_transport t; } row[] = { { "tcp", SCRIPT_TCP }, { "iwarp", SCRIPT_IWARP }, { "roce", SCRIPT_ROCE } };
    struct nearest near = { .word = n == 2 ? word[1] : "" };
    if (s->transport)
        return script_complain(s, "transport is said once");
    for (size_t i = 0; i < 3; i++) {
        consider(&near, row[i].name);
        if (n == 2 && strcmp(row[i].name, word[1]) == 0)
            s->transport = row[i].t;
    }
    if (s->transport == SCRIPT_IWARP && tcp_params_preset(&s->tcp, "toe") != SIM_OK)
        return script_complain(s, "no parameters of an offload engine");
    return s->transport ? true : script_complain(s, "transport is tcp, iwarp or roce; nearest: %s", near.best);
}

static bool take_words(struct script *s, char **word, int n, const char *text)
{
    if (strcmp(word[0], "transport") == 0)
        return take_transport(s, word, n);
    if (!s->transport)
        return script_complain(s, "a script begins with: transport tcp, iwarp or roce");
    if (strcmp(word[0], "set") == 0) {
        if (s->first)
            return script_complain(s, "set stands before the first line of the timeline");
        if (n == 1)
            return script_complain(s, "set needs NAME=VALUE");
        for (int i = 1; i < n; i++)
            if (!script_take_setting(s, word[i]))
                return false;
        return true;
    }
    struct script_line *l = calloc(1, sizeof *l);
    *s->tail = l;
    s->tail = &l->next;
    l->number = s->number;
    l->text = text;
    l->times = 1;
    l->when = SCRIPT_AFTER;
    l->to_ps = s->params.tolerance_ps;
    l->from_ps = -l->to_ps;
    if (is_time(word[0])) {
        if (!take_time(s, l, word[0]))
            return false;
        word++;
        if (--n == 0)
            return script_complain(s, "nothing follows the time");
    }
    bool out = strcmp(word[0], ">") == 0, done = strcmp(word[0], "complete") == 0;
    if (!out && !done && (l->when == SCRIPT_WHENEVER || strcmp(word[0], "nothing") == 0) && l->when != SCRIPT_AFTER && l->when != SCRIPT_AT)
        return script_complain(s, "%s needs a time of its own", word[0]);
    if (strcmp(word[0], "<") == 0 || out) {
        l->what = out ? SCRIPT_EXPECTS : SCRIPT_SENDS;
        return take_packet(s, l, word + 1, n - 1);
    }
    if (done) {
        l->what = SCRIPT_COMPLETES;
        l->form = &script_wc_form;
        return take_fields(s, l, &script_wc_form.fields, ~0u, word + 1, n - 1, "complete");
    }
    return take_call(s, l, word, n);
}

static bool take_line(struct script *s, char *line, const char *text)
{
    char *word[WORDS_MAX];
    int n = 0;
    for (char *w = strtok_r(line, " \t\r\f\v", &line); w && *w != '#'; w = strtok_r(NULL, " \t\r\f\v", &line)) {
        if (n == WORDS_MAX)
            return script_complain(s, "at most %d words in a line", WORDS_MAX);
        word[n++] = w;
    }
    return n == 0 || take_words(s, word, n, text);
}

bool script_parse(struct script *s, const char *name, const char *text, size_t len, FILE *err)
{
    memset(s, 0, sizeof *s);
    s->name = name;
    s->err = err;
    s->tail = &s->first;
    s->vars = calloc(SCRIPT_VARS_MAX, sizeof *s->vars);
    strcpy(s->vars[s->nvars++], "mem");
    param_defaults(&script_params_table, &s->params);
    param_defaults(&tcp_params_table, &s->tcp);
    param_defaults(&iwarp_params_table, &s->iwarp);
    param_defaults(&roce_params_table, &s->roce);
    /* two copies: one is cut into words, the other stays for messages */
    s->text = malloc(2 * len + 2);
    memcpy(s->text, text, len);
    memcpy(s->text + len + 1, text, len);
    s->text[len] = s->text[2 * len + 1] = 0;
    if (memchr(text, 0, len))
        return script_complain(s, "not a text: it has a zero byte");
    char *next = s->text, *shown = s->text + len + 1;
    while (next) {
        char *line = next, *told = shown;
        if ((next = strchr(line, '\n')) != NULL) {
            shown += next - line;
            *next++ = *shown++ = 0;
        }
        if (++s->number > LINES_MAX)
            return script_complain(s, "more than %d lines", LINES_MAX);
        if (!take_line(s, line, told))
            return false;
    }
    return s->transport ? true : script_complain(s, "a script begins with: transport tcp, iwarp or roce");
}

void script_free(struct script *s)
{
    for (struct script_line *l = s->first, *next; l; l = next) {
        next = l->next;
        for (uint32_t i = 0; i < l->nsets; i++)
            free(l->set[i].value.bytes);
        free(l);
    }
    free(s->vars);
    free(s->text);
    free(s->cc_params);
}
