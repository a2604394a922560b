/* SPDX-License-Identifier: GPL-2.0-only */
/** Shipped scenarios in tests. Include after cmocka.h. */
#ifndef RNICSIM_TEST_HELPER_SHIPPED_H
#define RNICSIM_TEST_HELPER_SHIPPED_H

#include "../../helper/run.h"

/** The scenario at one of its sizes, with `sets` as the command's --set; fails the test with the loader's message. */
static inline struct scenario *shipped_load(const char *path, const char *size, const char *const *sets, size_t nsets)
{
    char err[1000] = "";
    struct scenario_options o = { .size = size, .sets = sets, .nsets = nsets };
    struct scenario *sc = scenario_load(path, &o, err, sizeof err);
    if (!sc)
        fail_msg("%s", err);
    return sc;
}

#endif
