/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands that work on files: `rnicsim plot`, `rnicsim dissect`, `rnicsim replay`. */
#include <stdio.h>

#include "../analysis/result.h"
#include "cli.h"
#include "dissect.h"
#include "replay.h"

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

int cmd_replay(const struct cli *c)
{
    int worst = 0;
    for (int i = 0; i < c->nargs; i++) {
        int status = replay_file(c->args[i], c->sides, stdout, stderr);
        worst = status > worst ? status : worst;
    }
    return worst;
}
