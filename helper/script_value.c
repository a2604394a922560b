/* SPDX-License-Identifier: GPL-2.0-only */
/* Values in scripts: numbers with units, words, variables. */
#include "script_internal.h"

#include "../model/roce/roce_cm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words that stand for a value. field NULL: of any field. */
static const struct { const char *field, *word; uint64_t value; } words[] = {
    { "ecn", "not-ect", 0 }, { "ecn", "ect1", 1 }, { "ecn", "ect0", 2 }, { "ecn", "ce", 3 },
    { "syndrome", "ack", 0x1f }, { "syndrome", "credits", 0 }, { "syndrome", "rnr", 0x20 }, { "syndrome", "nak-seq", 0x60 },
    { "syndrome", "nak-invalid", 0x61 }, { "syndrome", "nak-access", 0x62 }, { "syndrome", "nak-operation", 0x63 },
    { "layer", "rdmap", 0 }, { "layer", "ddp", 1 }, { "layer", "mpa", 2 },
    { "aop", "fetch-add", 0 }, { "aop", "cmp-swap", 2 },
    { "result", "ok", 0 }, { "result", "param", (uint64_t)-1 }, { "result", "state", (uint64_t)-2 }, { "result", "full", (uint64_t)-3 },
    { "state", "CLOSED", TCP_CLOSED }, { "state", "LISTEN", TCP_LISTEN }, { "state", "SYN-SENT", TCP_SYN_SENT }, { "state", "SYN-RECEIVED", TCP_SYN_RECEIVED },
    { "state", "ESTABLISHED", TCP_ESTABLISHED }, { "state", "FIN-WAIT-1", TCP_FIN_WAIT_1 }, { "state", "FIN-WAIT-2", TCP_FIN_WAIT_2 },
    { "state", "CLOSE-WAIT", TCP_CLOSE_WAIT }, { "state", "CLOSING", TCP_CLOSING }, { "state", "LAST-ACK", TCP_LAST_ACK }, { "state", "TIME-WAIT", TCP_TIME_WAIT },
    { "qp", "RESET", RNIC_QP_RESET }, { "qp", "INIT", RNIC_QP_INIT }, { "qp", "RTR", RNIC_QP_RTR }, { "qp", "RTS", RNIC_QP_RTS }, { "qp", "SQD", RNIC_QP_SQD },
    { "qp", "SQE", RNIC_QP_SQE }, { "qp", "ERROR", RNIC_QP_ERROR },
    { "conn", "REQ-SENT", ROCE_CONN_REQ_SENT }, { "conn", "REQ-RECEIVED", ROCE_CONN_REQ_RECEIVED }, { "conn", "REP-SENT", ROCE_CONN_REP_SENT },
    { "conn", "ESTABLISHED", ROCE_CONN_ESTABLISHED }, { "conn", "DREQ-SENT", ROCE_CONN_DREQ_SENT }, { "conn", "CLOSED", ROCE_CONN_CLOSED },
    { "op", "send", RNIC_OP_SEND }, { "op", "send-imm", RNIC_OP_SEND_IMM }, { "op", "send-inv", RNIC_OP_SEND_INV }, { "op", "write", RNIC_OP_WRITE },
    { "op", "write-imm", RNIC_OP_WRITE_IMM }, { "op", "read", RNIC_OP_READ }, { "op", "cmp-swap", RNIC_OP_CMP_SWAP }, { "op", "fetch-add", RNIC_OP_FETCH_ADD },
    { "op", "local-inv", RNIC_OP_LOCAL_INV }, { "op", "recv", RNIC_OP_RECV },
    { "access", "none", 0 }, { "access", "local-write", RNIC_LOCAL_WRITE }, { "access", "remote-write", RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE },
    { "access", "remote-read", RNIC_REMOTE_READ }, { "access", "atomic", RNIC_LOCAL_WRITE | RNIC_REMOTE_ATOMIC },
    { "access", "read-write", RNIC_LOCAL_WRITE | RNIC_REMOTE_WRITE | RNIC_REMOTE_READ }, { "access", "all", 15 },
};
#define NWORDS (sizeof words / sizeof words[0])

bool script_parse_time(const char *text, int64_t *ps)
{
    char err[200];
    double v;
    if (strcmp(text, "0") == 0) {
        *ps = 0;
        return true;
    }
    if (param_parse(PARAM_TIME, NULL, text, &v, err, sizeof err) != SIM_OK || !(v >= 0 && v < 9e18))
        return false;
    *ps = (int64_t)v;
    return true;
}

static bool scaled(char *end, uint64_t *v)
{
    static const struct { const char *suffix; uint64_t by; } unit[] = { { "", 1 }, { "B", 1 }, { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 } };
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
        if (strcmp(end, unit[i].suffix) == 0) {
            *v *= unit[i].by;
            return true;
        }
    return false;
}

static bool number(const char *text, uint64_t *v)
{
    char *end;
    int64_t ps;
    bool negative = *text == '-';
    text += negative;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *v = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
    if (errno || !scaled(end, v)) {
        if (!script_parse_time(text, &ps))
            return false;
        *v = (uint64_t)ps;
    }
    *v = negative ? 0 - *v : *v;
    return true;
}

/* A status of a completion as one word: "local-length-error". */
static const char *status_word(int i, char *buf, size_t len)
{
    snprintf(buf, len, "%s", rnic_wc_status_name((enum rnic_wc_status)i));
    for (char *c = buf; *c; c++)
        if (*c == ' ')
            *c = '-';
    return buf;
}

static bool status(const char *text, uint64_t *v)
{
    char word[64];
    for (int i = 0; i < RNIC_WC_STATUS_COUNT; i++)
        if (strcmp(status_word(i, word, sizeof word), text) == 0) {
            *v = (uint64_t)i;
            return true;
        }
    return false;
}

static bool word_value(struct script *s, const char *field, const char *text, uint64_t *v)
{
    const char *best = NULL;
    char name[64], nearest[64];
    unsigned least = ~0u;
    bool of_status = strcmp(field, "status") == 0;
    for (size_t i = 0; i < NWORDS; i++) {
        if (strcmp(words[i].field, field) != 0)
            continue;
        if (strcmp(words[i].word, text) == 0) {
            *v = words[i].value;
            return true;
        }
        unsigned d = param_edit_distance(text, words[i].word);
        if (d < least) {
            least = d;
            best = words[i].word;
        }
    }
    if (of_status && status(text, v))
        return true;
    for (int i = 0; of_status && i < RNIC_WC_STATUS_COUNT; i++) {
        unsigned d = param_edit_distance(text, status_word(i, name, sizeof name));
        if (d < least) {
            least = d;
            best = strcpy(nearest, name);
        }
    }
    return script_complain(s, "%s=%s: not a number, a $variable or *%s%s", field, text, best ? "; nearest word: " : "", best ? best : "");
}

static int16_t variable(struct script *s, const char *name)
{
    for (uint32_t i = 0; i < s->nvars; i++)
        if (strcmp(s->vars[i], name) == 0)
            return (int16_t)i;
    if (!*name || strlen(name) >= sizeof s->vars[0]) {
        script_complain(s, "$%s: a variable has a name of 1 to 31 letters", name);
        return -1;
    }
    if (s->nvars == SCRIPT_VARS_MAX) {
        script_complain(s, "$%s: at most %d variables", name, SCRIPT_VARS_MAX);
        return -1;
    }
    strcpy(s->vars[s->nvars], name);
    return (int16_t)s->nvars++;
}

static bool term(struct script *s, const char *field, char *text, struct script_term *t)
{
    *t = (struct script_term){ .var = -1 };
    if (strcmp(text, "*") == 0) {
        t->any = true;
        return true;
    }
    char *plus = strchr(text, '+');
    if (plus) {
        *plus = 0;
        if (!number(plus + 1, &t->add))
            return script_complain(s, "%s=%s+%s: what follows + is not a number", field, text, plus + 1);
    }
    uint64_t base = 0;
    if (*text == '$')
        return (t->var = variable(s, text + 1)) >= 0;
    if (!number(text, &base) && !word_value(s, field, text, &base))
        return false;
    t->add += base;
    return true;
}

static bool hex_bytes(struct script *s, const struct script_field *f, const char *text, struct script_value *v)
{
    size_t n = strlen(text);
    v->bytes = NULL;
    if (n % 2 || n / 2 > SCRIPT_BYTES_MAX || strspn(text, "0123456789abcdefABCDEF") != n)
        return script_complain(s, "%s=%s: pairs of hexadecimal digits, at most %d", f->name, text, SCRIPT_BYTES_MAX);
    v->bytes = malloc(n / 2 + 1);
    for (size_t i = 0; i < n / 2; i++) {
        char pair[3] = { text[2 * i], text[2 * i + 1], 0 };
        v->bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    v->nbytes = (uint16_t)(n / 2);
    return true;
}

/* The greatest number that a field holds. Where it counts from a peer's number, below zero is before that. */
static uint64_t greatest(const struct script_field *f)
{
    return f->kind == SCRIPT_LEN ? UINT32_MAX : f->kind == SCRIPT_FILL ? UINT8_MAX : script_field_mask(f);
}

static bool number_of_field(struct script *s, const struct script_field *f, char *text, struct script_term *t)
{
    bool negative = *text == '-';
    char shown[48];
    snprintf(shown, sizeof shown, "%s", text); /* term takes it apart */
    if (!term(s, f->name, text, t))
        return false;
    if (f->rel != SCRIPT_PLAIN || t->any || t->var >= 0 || (!negative && t->add <= greatest(f)))
        return true;
    return script_complain(s, "%s=%s: 0 to %" PRIu64, f->name, shown, greatest(f));
}

bool script_parse_value(struct script *s, const struct script_field *f, char *text, struct script_value *v)
{
    *v = (struct script_value){ .n = 1 };
    if (f->kind == SCRIPT_BYTES)
        return hex_bytes(s, f, text, v);
    if (f->kind != SCRIPT_SACK)
        return number_of_field(s, f, text, &v->term[0]);
    v->n = 0;
    for (char *next = text; next; ) {
        char *block = next, *dash = strchr(block, '-');
        if ((next = strchr(block, ',')) != NULL)
            *next++ = 0;
        if (!dash || (next && dash > next) || v->n + 2 > SCRIPT_LIST_MAX)
            return script_complain(s, "%s=%s: up to four blocks FROM-TO with commas between", f->name, block);
        *dash = 0;
        if (!term(s, f->name, block, &v->term[v->n]) || !term(s, f->name, dash + 1, &v->term[v->n + 1]))
            return false;
        v->n = (uint8_t)(v->n + 2);
    }
    return true;
}

const char *script_word_of(const char *field, uint64_t value, bool hex, char *buf, size_t len)
{
    if (strcmp(field, "status") == 0 && value < RNIC_WC_STATUS_COUNT) {
        return status_word((int)value, buf, len);
    }
    if (strcmp(field, "syndrome") == 0 && value > 0x20 && value < 0x40) {
        snprintf(buf, len, "rnr+%u", (unsigned)value - 0x20);
        return buf;
    }
    for (size_t i = 0; i < NWORDS; i++)
        if (words[i].value == value && strcmp(words[i].field, field) == 0) {
            snprintf(buf, len, "%s", words[i].word);
            return buf;
        }
    snprintf(buf, len, hex ? "0x%llx" : "%llu", (unsigned long long)value);
    return buf;
}
