/* SPDX-License-Identifier: GPL-2.0-only */
/* Every packet script under test/scripts comes out as its clause has it: a test a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../helper/script.h"

static void run_file(void **state) { assert_int_equal(script_run_file(*state, NULL, stderr), SCRIPT_OK); }

int main(void)
{
    const char *top = getenv("RNICSIM_TOP");
    char pattern[4096];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/test/scripts/*/*.script", top ? top : ".");
    if (glob(pattern, 0, NULL, &g) != 0)
        return 1;
    struct CMUnitTest *tests = calloc(g.gl_pathc, sizeof *tests);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *slash = strrchr(g.gl_pathv[i], '/');
        tests[i] = (struct CMUnitTest){ .name = slash ? slash + 1 : g.gl_pathv[i], .test_func = run_file, .initial_state = g.gl_pathv[i] };
    }
    int rc = _cmocka_run_group_tests("packet scripts", tests, g.gl_pathc, NULL, NULL);
    globfree(&g);
    free(tests);
    return rc;
}
