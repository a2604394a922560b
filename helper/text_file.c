/* SPDX-License-Identifier: GPL-2.0-only */
#include "text_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (INT64_C(1) << 31)

bool text_file_fail(struct text_file *t, int line, const char *format, ...)
{
    va_list ap;
    if (*t->err)
        return false;
    t->err_line = line;
    va_start(ap, format);
    (void)vsnprintf(t->err, sizeof t->err, format, ap);
    va_end(ap);
    return false;
}

bool text_file_open(struct text_file *t, const char *path)
{
    struct stat st;
    memset(t, 0, sizeof *t);
    t->line = 1;
    FILE *f = fopen(path, "rb");
    if (!f)
        return text_file_fail(t, 0, "cannot be read: %s", strerror(errno));
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode))
        text_file_fail(t, 0, "is not a file");
    else if (st.st_size > FILE_BYTES_MAX)
        text_file_fail(t, 0, "is larger than 2 GiB");
    else if (!(t->bytes = malloc((size_t)st.st_size + 1)))
        text_file_fail(t, 0, "is too large for the memory");
    if (t->bytes) {
        t->len = fread(t->bytes, 1, (size_t)st.st_size, f);
        if (ferror(f))
            text_file_fail(t, 0, "cannot be read: %s", strerror(errno));
    }
    fclose(f);
    if (*t->err)
        text_file_close(t);
    return !*t->err;
}

bool text_file_open_memory(struct text_file *t, const char *bytes, size_t len)
{
    memset(t, 0, sizeof *t);
    t->line = 1;
    t->bytes = malloc(len + 1);
    if (!t->bytes)
        return text_file_fail(t, 0, "is too large for the memory");
    memcpy(t->bytes, bytes, len);
    t->len = len;
    return true;
}

void text_file_close(struct text_file *t)
{
    free(t->bytes);
    t->bytes = NULL;
    t->len = t->at = 0;
}

static bool is_gap(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ',' || c == '\v' || c == '\f'; }

/* Past blanks and comments; stays at the end of the line unless lines may be crossed. */
static void skip(struct text_file *t, bool across)
{
    while (t->at < t->len) {
        char c = t->bytes[t->at];
        if (c == '#')
            while (t->at < t->len && t->bytes[t->at] != '\n')
                t->at++;
        else if (c == '\n' && across)
            t->line++, t->at++;
        else if (is_gap(c))
            t->at++;
        else
            return;
    }
}

static bool word(struct text_file *t, bool across)
{
    size_t n = 0;
    skip(t, across);
    if (*t->err || t->at >= t->len || t->bytes[t->at] == '\n')
        return false;
    for (; t->at < t->len; t->at++) {
        char c = t->bytes[t->at];
        if (is_gap(c) || c == '\n' || c == '#')
            break;
        if ((unsigned char)c < 0x20 || c == 0x7f)
            return text_file_fail(t, t->line, "is not text (it holds the byte 0x%02x)", (unsigned char)c);
        if (n + 1 == sizeof t->word)
            return text_file_fail(t, t->line, "a word of more than %zu letters", sizeof t->word - 1);
        t->word[n++] = c;
    }
    t->word[n] = '\0';
    return true;
}

bool text_file_word(struct text_file *t) { return word(t, true); }
bool text_file_word_in_line(struct text_file *t) { return word(t, false); }

bool text_file_next_line(struct text_file *t)
{
    skip(t, false);
    while (t->at < t->len && t->bytes[t->at] != '\n')
        t->at++;
    skip(t, true);
    return !*t->err && t->at < t->len;
}

int text_file_rest(const struct text_file *t)
{
    struct text_file ahead = *t;
    skip(&ahead, true);
    return ahead.at < ahead.len ? ahead.line : 0;
}

bool text_file_word_count(struct text_file *t, const char *what, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(t->word, &end, 10);
    if (*t->word < '0' || *t->word > '9' || *end)
        return text_file_fail(t, t->line, "%s: \"%s\" is not a whole number", what, t->word);
    if (errno || *out < low || *out > high)
        return text_file_fail(t, t->line, "%s: %s is not in %llu to %llu", what, t->word, (unsigned long long)low, (unsigned long long)high);
    return true;
}

bool text_file_count(struct text_file *t, const char *what, uint64_t low, uint64_t high, uint64_t *out)
{
    if (!text_file_word(t))
        return text_file_fail(t, t->line, "the file ends where %s should stand", what);
    return text_file_word_count(t, what, low, high, out);
}
