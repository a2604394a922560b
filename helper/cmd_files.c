/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands that work on files of earlier runs: `rnicsim plot` and `rnicsim dissect`. */
#include <stdio.h>

#include "../analysis/result.h"
#include "cli.h"
#include "dissect.h"

int cmd_plot(const struct cli *c)
{
    char err[1024];
    if (result_plot_dir(c->args[0], c->given & CLI_QUIET ? NULL : stdout, err, sizeof err) == 0)
        return CLI_OK;
    fprintf(stderr, "rnicsim plot: %s\n", err);
    return CLI_BAD;
}

int cmd_dissect(const struct cli *c)
{
    return dissect_files(c->nargs, c->args, stdout, stderr);
}
