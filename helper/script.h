/* SPDX-License-Identifier: GPL-2.0-only */
/** Packet scripts: a text plays the peer of one endpoint of ours and says what the endpoint must send, and when. The notation is
 *  described in doc/scripts.md.
 */
#ifndef RNICSIM_HELPER_SCRIPT_H
#define RNICSIM_HELPER_SCRIPT_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** OK: all came as expected; MISMATCH: it did not, the report is on err; BAD: the script cannot be read, one line on err. */
enum script_status { SCRIPT_OK = 0, SCRIPT_MISMATCH = 1, SCRIPT_BAD = 2 };

/** Run the text of a script; name stands in messages. log, if not NULL, gets a line per packet and completion that was seen. */
enum script_status script_run_text(const char *name, const char *text, size_t len, FILE *log, FILE *err);
/** Read only, without running. */
enum script_status script_check_text(const char *name, const char *text, size_t len, FILE *err);
/** Run a file. A file that cannot be read is BAD. */
enum script_status script_run_file(const char *path, FILE *log, FILE *err);

#ifdef __cplusplus
}
#endif
#endif
