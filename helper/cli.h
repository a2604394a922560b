/* SPDX-License-Identifier: GPL-2.0-only */
/** The command line of `rnicsim`: a table of commands, a table of options, one parser. */
#ifndef RNICSIM_HELPER_CLI_H
#define RNICSIM_HELPER_CLI_H

#include "replay.h"
#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Exit statuses. */
enum { CLI_OK = 0, CLI_WRONG = 1 /* a run went wrong, a check failed */, CLI_BAD = 2 /* bad input, no output */, CLI_INTERRUPTED = 130 };

/** Options of all commands; each command takes some of them. */
enum cli_option {
    CLI_SET = 1 << 0, CLI_SEED = 1 << 1, CLI_REPS = 1 << 2, CLI_JOBS = 1 << 3, CLI_ENGINE = 1 << 4, CLI_SIZE = 1 << 5, CLI_OUT = 1 << 6,
    CLI_PCAP = 1 << 7, CLI_QUIET = 1 << 8, CLI_THROUGH_BYTES = 1 << 9, CLI_SCHEMA = 1 << 10, CLI_MARKDOWN = 1 << 11, CLI_NO_PLOTS = 1 << 12,
    CLI_SIDE = 1 << 13, CLI_TRACE = 1 << 14, CLI_SEEN = 1 << 15,
};

#define CLI_SETS_MAX 256
struct cli {
    const struct cli_command *command;
    int nargs; char **args;                     /* what is not an option */
    const char *sets[CLI_SETS_MAX]; size_t nsets;
    bool has_seed; uint64_t seed;
    uint32_t reps; unsigned jobs;
    bool has_engine; enum run_engine engine;
    const char *size, *out, *trace;
    enum replay_sides sides;                    /* both unless given */
    unsigned given;                             /* enum cli_option: flags */
};

struct cli_command {
    const char *name, *args, *about;
    unsigned options;                           /* enum cli_option */
    int min_args, max_args;                     /* -1: any number */
    int (*main)(const struct cli *c);
    int (*raw)(int argc, char **argv);          /* parses its options itself */
    const char *more;                           /* shown below the options */
};
extern const struct cli_command cli_commands[];
extern const size_t cli_command_count;

/** The scenario options that the command line holds. */
struct scenario_options cli_scenario_options(const struct cli *c);
/** Run a loaded scenario as `run` does: files, table, plots. Takes sc, which may be NULL. An exit status. */
int cmd_run_scenario(const struct cli *c, struct scenario *sc);
/** Build its networks: false, and a message on stderr, if one cannot be. */
bool cmd_check_networks(const struct scenario *sc);

/** All of `rnicsim`. */
int cli_main(int argc, char **argv);

int cmd_run(const struct cli *c);
int cmd_check(const struct cli *c);
int cmd_hpcc(const struct cli *c);
int cmd_headroom(int argc, char **argv);
int cmd_describe(const struct cli *c);
int cmd_plot(const struct cli *c);
int cmd_dissect(const struct cli *c);
int cmd_replay(const struct cli *c);
int cmd_script(const struct cli *c);

#ifdef __cplusplus
}
#endif
#endif
