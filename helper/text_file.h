/* SPDX-License-Identifier: GPL-2.0-only */
/** A text file read as words, each with its line, for formats that are lists of numbers. */
#ifndef RNICSIM_HELPER_TEXT_FILE_H
#define RNICSIM_HELPER_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_WORD_MAX 128

struct text_file {
    char  *bytes;
    size_t len, at;
    int    line;                 /* of the word read last, from 1 */
    char   word[TEXT_WORD_MAX];
    char   err[400];             /* one sentence about the first fault; "" while there is none */
    int    err_line;             /* 0: the file as a whole */
};

/** Read a regular file whole (at most 2 GiB). false: err says why, nothing to close. */
bool text_file_open(struct text_file *t, const char *path);
/** The same from memory; bytes are copied. */
bool text_file_open_memory(struct text_file *t, const char *bytes, size_t len);
void text_file_close(struct text_file *t);

/** The next word into t->word; words are separated by blanks, ends of lines and commas. '#' begins a comment that ends with its line. false at
 *  the end of the file, or if it is too long or not text (then err is set). */
bool text_file_word(struct text_file *t);
/** The same, but only on the line that the cursor is in: false at its end, which it does not pass. */
bool text_file_word_in_line(struct text_file *t);
/** Go to the first word of the next line that has any; false at the end of the file. It does not read the word. */
bool text_file_next_line(struct text_file *t);
/** The line of the first word that has not been read; 0 at the end of the file. */
int text_file_rest(const struct text_file *t);
/** The next word as a whole number in [low, high]; what: what it should be, for the message ("the number of links"). false: err is set. */
bool text_file_count(struct text_file *t, const char *what, uint64_t low, uint64_t high, uint64_t *out);
/** t->word as such a number, without reading. */
bool text_file_word_count(struct text_file *t, const char *what, uint64_t low, uint64_t high, uint64_t *out);
/** Set err unless it is set. Returns false. */
bool text_file_fail(struct text_file *t, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
