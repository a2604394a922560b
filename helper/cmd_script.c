/* SPDX-License-Identifier: GPL-2.0-only */
/* `rnicsim script FILE...`: packet scripts. */
#include "cli.h"
#include "script.h"

int cmd_script(const struct cli *c)
{
    int failed = 0, bad = 0;
    for (int i = 0; i < c->nargs; i++) {
        enum script_status st = script_run_file(c->args[i], c->given & CLI_SEEN ? stdout : NULL, stderr);
        failed += st == SCRIPT_MISMATCH;
        bad += st == SCRIPT_BAD;
        if (st == SCRIPT_OK && !(c->given & CLI_QUIET))
            printf("ok %s\n", c->args[i]);
    }
    if (failed + bad && c->nargs > 1)
        fprintf(stderr, "rnicsim script: of %d scripts %d differ and %d cannot be read\n", c->nargs, failed, bad);
    return bad ? CLI_BAD : failed ? CLI_WRONG : CLI_OK;
}
