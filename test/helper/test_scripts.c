/* SPDX-License-Identifier: GPL-2.0-only */
/* Every packet script under test/scripts comes out as its clause has it, and does not when what it expects is changed: a test a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../helper/script.h"

static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text = malloc(1 << 16);
    assert_non_null(f);
    *len = fread(text, 1, (1 << 16) - 1, f);
    text[*len] = 0;
    fclose(f);
    return text;
}

/* Does this line say what must be seen? */
static bool expects(const char *line)
{
    line += strspn(line, " \t");
    if (isdigit((unsigned char)*line) || strchr("+=*", *line))
        line += strcspn(line, " \t\n");
    line += strspn(line, " \t");
    return *line == '>' || strncmp(line, "complete ", 9) == 0 || strncmp(line, "check ", 6) == 0;
}

/* The first decimal digit of a value in an expectation becomes another; false: there is none. */
static bool change_one(char *text)
{
    for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        size_t n = strcspn(line, "\n");
        for (char *c = line; expects(line) && c < line + n && *c != '#'; c++)
            if (*c == '=' && isdigit((unsigned char)c[1]) && c > line && isalpha((unsigned char)c[-1]) && strspn(c + 1, "0123456789") == strcspn(c + 1, " \t\n")) {
                char *last = c + strspn(c + 1, "0123456789");
                *last = *last == '9' ? '8' : (char)(*last + 1);
                return true;
            }
    }
    return false;
}

static void run_file(void **state)
{
    size_t len;
    char *text = read_file(*state, &len);
    assert_int_equal(script_run_text(*state, text, len, NULL, stderr), SCRIPT_OK);
    if (change_one(text)) {
        FILE *err = tmpfile();
        if (script_run_text(*state, text, len, NULL, err) == SCRIPT_OK)
            fail_msg("comes out the same with another expectation:\n%s", text);
        assert_true(ftell(err) > 0);
        fclose(err);
    }
    free(text);
}

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
