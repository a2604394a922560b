/* SPDX-License-Identifier: GPL-2.0-only */
/* `rnicsim describe`. */
#include <stdio.h>

#include "cli.h"
#include "describe.h"
#include "scenario_schema.h"

int cmd_describe(const struct cli *c)
{
    char nearest[128] = "";
    if (c->given & CLI_SCHEMA)
        scenario_schema_write(stdout);
    else if (c->given & CLI_MARKDOWN)
        describe_markdown(stdout);
    else if (c->nargs == 0)
        describe_overview(stdout);
    else if (!describe_name(stdout, c->args[0], nearest, sizeof nearest)) {
        fprintf(stderr, "rnicsim describe: nothing is called \"%s\"; nearest: %s\n", c->args[0], nearest);
        return CLI_BAD;
    }
    return CLI_OK;
}
