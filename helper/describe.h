/* SPDX-License-Identifier: GPL-2.0-only */
/** What people can set, from the declarations alone: as text, and as the reference page. */
#ifndef RNICSIM_HELPER_DESCRIBE_H
#define RNICSIM_HELPER_DESCRIBE_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** All elements, a line each. */
void describe_overview(FILE *f);
/** Everything that name stands for: an element ("transport", "roce"), a choice ("poisson", "dcqcn"), a profile ("kernel"), a parameter
 *  ("mtu", "roce.mtu", as --set takes it). false: nothing; then nearest holds the closest name. */
bool describe_name(FILE *f, const char *name, char *nearest, size_t len);
/** The reference page, Markdown. */
void describe_markdown(FILE *f);

#ifdef __cplusplus
}
#endif
#endif
