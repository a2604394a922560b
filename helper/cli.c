/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_elements.h"

#ifndef RNICSIM_VERSION
#define RNICSIM_VERSION "unknown"
#endif

#define RUN_OPTIONS (CLI_SET | CLI_SEED | CLI_REPS | CLI_SIZE)

const struct cli_command cli_commands[] = {
    { "run", "SCENARIO", "run a scenario's variants, write their results and plots, print a table",
      RUN_OPTIONS | CLI_JOBS | CLI_ENGINE | CLI_OUT | CLI_PCAP | CLI_TRACE | CLI_QUIET | CLI_THROUGH_BYTES | CLI_NO_PLOTS, 1, 1, cmd_run, NULL,
      "Exit status: 0 all well, 1 a run had unfinished or unexpectedly failed messages or a failed audit, 2 bad input or\n"
      "output that cannot be written, 130 interrupted (what had finished is kept).\n" },
    { "check", "SCENARIO", "read a scenario and say what would run, without running it", RUN_OPTIONS | CLI_QUIET, 1, 1, cmd_check, NULL, NULL },
    { "hpcc", "TOPOLOGY FLOWS [TRACE]", "run the files of the HPCC family of simulators as they are",
      (RUN_OPTIONS & ~CLI_SIZE) | CLI_JOBS | CLI_ENGINE | CLI_OUT | CLI_PCAP | CLI_QUIET | CLI_THROUGH_BYTES | CLI_NO_PLOTS, 2, 3, cmd_hpcc, NULL,
      "The topology may also be GraphML, the flows a table (src,dst,bytes,start,priority). Flows are RoCE writes with DCQCN, each on a QP of its\n"
      "own, over PFC and ECN switches, with the HPCC simulator's settings at 100 Gb/s; hosts cost nothing. --set changes what it does:\n"
      "--set transport.cc=NAME, --set fabric.pfc=off, --set roce.mtu=4096B. TRACE lists nodes: what they send is captured.\n" },
    { "describe", "[NAME]", "describe a parameter, transport, fabric, workload, ... ; without NAME, what there is",
      CLI_SCHEMA | CLI_MARKDOWN, 0, 1, cmd_describe, NULL, NULL },
    { "headroom", "", "PFC headroom of a port, what a buffer affords, and a scenario with it", 0, 0, -1, NULL, cmd_headroom, NULL },
    { "plot", "DIR", "make the plots of a result directory again", CLI_QUIET, 1, 1, cmd_plot, NULL, NULL },
    { "bench", "", "measure the speed of the simulator", 0, 0, -1, NULL, bench_main, NULL },
    { "dissect", "FILE.pcap...", "print each frame of captures and verify every checksum", 0, 1, -1, cmd_dissect, NULL,
      "Exit status: 0 all right, 1 something is wrong (the reason is on stderr), 2 a file cannot be read.\n" },
    { "replay", "FILE.pcap...", "put our endpoints in the place of captured ones and compare what they answer", CLI_SIDE, 1, -1, cmd_replay, NULL,
      "Side A of two nodes is the one whose frame comes first. Learnt from the capture: addresses, keys, memory, work requests.\n"
      "Exit status: 0 all equal, 1 something differs (stderr: frame, field, expected, seen), 2 a file cannot be read.\n" },
    { "script", "FILE...", "play the peer of one TCP, iWARP or RoCE endpoint as packet scripts say, and check what it sends",
      CLI_QUIET | CLI_SEEN, 1, -1, cmd_script, NULL,
      "Exit status: 0 all came as expected, 1 something differs (expected and seen are on stderr), 2 a script cannot be read.\n" },
};
const size_t cli_command_count = sizeof cli_commands / sizeof cli_commands[0];

static const struct option_row { enum cli_option bit; const char *name, *value, *about; } options[] = {
    { CLI_SET, "set", "NAME=VALUE", "override a parameter, such as roce.mtu=4096B or fabric.routed.loss=1e-4; repeatable" },
    { CLI_SEED, "seed", "N", "first seed of the random streams" },
    { CLI_REPS, "reps", "N", "repetitions, each with the next seed" },
    { CLI_SIZE, "size", "NAME", "a size of the scenario: ci or full (as written), or another that it declares" },
    { CLI_JOBS, "jobs", "N", "runs at once as parallel processes (default: one per CPU)" },
    { CLI_ENGINE, "engine", "NAME", "ns3, ns3-stock or native (default: ns3 if it can be loaded)" },
    { CLI_OUT, "out", "DIR", "result directory (default: out/<scenario's name>)" },
    { CLI_PCAP, "pcap", NULL, "write captures of what hosts send" },
    { CLI_TRACE, "trace", "FILE", "capture what the nodes send that FILE lists: their number, then their ids" },
    { CLI_NO_PLOTS, "no-plots", NULL, "make no plots" },
    { CLI_QUIET, "quiet", NULL, "print errors only" },
    { CLI_THROUGH_BYTES, "through-bytes", NULL, "debug: push every packet through its bytes at each hop" },
    { CLI_SIDE, "side", "A|B", "replace this side only (default: each in turn)" },
    { CLI_SEEN, "trace", NULL, "print each packet and completion that is seen" },
    { CLI_SCHEMA, "schema", NULL, "print the RelaxNG schema of scenario files" },
    { CLI_MARKDOWN, "markdown", NULL, "print the reference page of all parameters" },
};
#define NOPTIONS (sizeof options / sizeof options[0])

static void print_usage(FILE *f)
{
    fputs("Usage: rnicsim COMMAND [OPTIONS] [ARGUMENTS]\n\n"
          "Simulates RDMA network cards (iWARP, RoCEv2) and kernel TCP over lossy and PFC-enabled Ethernet, packet by packet.\n\nCommands:\n", f);
    for (size_t i = 0; i < cli_command_count; i++)
        fprintf(f, "  %-9s %-13s %s\n", cli_commands[i].name, cli_commands[i].args, cli_commands[i].about);
    fputs("\nrnicsim COMMAND --help says more. Quantities carry units: 100Gbps, 2us, 240KiB, 1e-5, 70%.\n", f);
}

static void print_help(FILE *f, const struct cli_command *c)
{
    fprintf(f, "Usage: rnicsim %s%s%s%s\n\n%s\n\nOptions:\n", c->name, c->options || c->raw ? " [OPTIONS]" : "", *c->args ? " " : "", c->args, c->about);
    for (size_t i = 0; i < NOPTIONS; i++) {
        char left[40];
        if (!(c->options & options[i].bit))
            continue;
        snprintf(left, sizeof left, "--%s%s%s", options[i].name, options[i].value ? " " : "", options[i].value ? options[i].value : "");
        fprintf(f, "  %-18s %s\n", left, options[i].about);
    }
    fprintf(f, "  %-18s %s\n  %-18s %s\n", "--help", "this text", "--version", "the version");
    if (c->more)
        fprintf(f, "\n%s", c->more);
}

static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < cli_command_count; i++)
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    return NULL;
}

static const char *nearest_command(const char *name)
{
    const char *best = "";
    unsigned least = ~0u;
    for (size_t i = 0; i < cli_command_count; i++) {
        unsigned d = param_edit_distance(name, cli_commands[i].name);
        if (d < least) {
            least = d;
            best = cli_commands[i].name;
        }
    }
    return best;
}

/* The row of "--name" or "--name=..."; n is the name's length. */
static const struct option_row *find_option(const struct cli_command *c, const char *name, size_t n)
{
    for (size_t i = 0; i < NOPTIONS; i++)
        if ((c->options & options[i].bit) && strlen(options[i].name) == n && memcmp(options[i].name, name, n) == 0)
            return &options[i];
    return NULL;
}

static int unknown_option(const struct cli_command *c, const char *name, size_t n)
{
    char wanted[64];
    const char *best = "help";
    snprintf(wanted, sizeof wanted, "%.*s", (int)n, name);
    unsigned least = param_edit_distance(wanted, best);
    for (size_t i = 0; i < NOPTIONS; i++) {
        unsigned d = param_edit_distance(wanted, options[i].name);
        if ((c->options & options[i].bit) && d < least) {
            least = d;
            best = options[i].name;
        }
    }
    fprintf(stderr, "rnicsim %s: there is no option --%s; nearest: --%s\n", c->name, wanted, best);
    return CLI_BAD;
}

static bool parse_count(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0 && *out >= low && *out <= high;
}

static int bad_value(const struct cli *c, const struct option_row *o, const char *text, const char *accepted)
{
    fprintf(stderr, "rnicsim %s: --%s: \"%s\" is not %s\n", c->command->name, o->name, text, accepted);
    return CLI_BAD;
}

static int take_option(struct cli *c, const struct option_row *o, const char *v)
{
    uint64_t n;
    int word;
    c->given |= o->bit;
    switch (o->bit) {
    case CLI_SET:
        if (c->nsets == CLI_SETS_MAX)
            return bad_value(c, o, v, "taken: too many of them");
        c->sets[c->nsets++] = v;
        return CLI_OK;
    case CLI_SEED:
        c->has_seed = true;
        return parse_count(v, 0, UINT64_C(9007199254740992), &c->seed) ? CLI_OK : bad_value(c, o, v, "a whole number up to 2^53");
    case CLI_REPS:
        if (!parse_count(v, 1, 10000, &n))
            return bad_value(c, o, v, "a whole number from 1 to 10000");
        c->reps = (uint32_t)n;
        return CLI_OK;
    case CLI_JOBS:
        if (!parse_count(v, 1, 1024, &n))
            return bad_value(c, o, v, "a whole number from 1 to 1024");
        c->jobs = (unsigned)n;
        return CLI_OK;
    case CLI_ENGINE:
        word = scenario_word_index(RUN_ENGINES, v);
        c->has_engine = true;
        c->engine = (enum run_engine)word;
        return word >= 0 ? CLI_OK : bad_value(c, o, v, "an engine: ns3, ns3-stock or native");
    case CLI_SIDE:
        return replay_side_of(v, &c->sides) == 0 ? CLI_OK : bad_value(c, o, v, "a side: A or B");
    case CLI_SIZE: c->size = v; return CLI_OK;
    case CLI_TRACE: c->trace = v; return CLI_OK;
    case CLI_OUT:  c->out = v;  return *v ? CLI_OK : bad_value(c, o, v, "a directory");
    default:       return CLI_OK;
    }
}

/* Options may stand anywhere; "--" ends them. Arguments are moved to the front of argv. */
static int parse(struct cli *c, int argc, char **argv)
{
    bool ended = false;
    c->args = argv;
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i];
        if (ended || a[0] != '-' || !a[1]) {
            c->args[c->nargs++] = argv[i];
            continue;
        }
        if (strcmp(a, "--") == 0) {
            ended = true;
            continue;
        }
        const char *name = a + strspn(a, "-"), *eq = strchr(name, '=');
        size_t n = eq ? (size_t)(eq - name) : strlen(name);
        const struct option_row *o = a[1] == '-' ? find_option(c->command, name, n) : NULL;
        if (!o)
            return unknown_option(c->command, name, n);
        const char *value = eq ? eq + 1 : NULL;
        if (!o->value && value)
            return bad_value(c, o, value, "expected: the option takes no value");
        if (o->value && !value && ++i == argc) {
            fprintf(stderr, "rnicsim %s: --%s needs a value: --%s %s\n", c->command->name, o->name, o->name, o->value);
            return CLI_BAD;
        }
        int rc = take_option(c, o, !o->value ? NULL : value ? value : argv[i]);
        if (rc != CLI_OK)
            return rc;
    }
    return CLI_OK;
}

static int run_command(const struct cli_command *command, int argc, char **argv)
{
    struct cli c = { .command = command, .sides = REPLAY_BOTH };
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            if (command->raw)
                break;
            print_help(stdout, command);
            return CLI_OK;
        }
        if (strcmp(argv[i], "--version") == 0) {
            puts("rnicsim " RNICSIM_VERSION);
            return CLI_OK;
        }
    }
    if (command->raw)
        return command->raw(argc + 1, argv - 1);
    int rc = parse(&c, argc, argv);
    if (rc != CLI_OK)
        return rc;
    if (c.nargs < command->min_args || (command->max_args >= 0 && c.nargs > command->max_args)) {
        fprintf(stderr, "rnicsim %s: takes %s; see rnicsim %s --help\n", command->name, *command->args ? command->args : "no argument", command->name);
        return CLI_BAD;
    }
    return command->main(&c);
}

/* Output that did not reach its place (a full disk) must not pass for success. */
static int close_stdout(int rc)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if ((fflush(stdout) != 0 || failed) && errno != EPIPE) {
        fprintf(stderr, "rnicsim: standard output: %s\n", errno ? strerror(errno) : "cannot write");
        return rc == CLI_OK ? CLI_BAD : rc;
    }
    return rc;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_usage(stderr);
        return CLI_BAD;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return CLI_OK;
    }
    if (strcmp(name, "--version") == 0) {
        puts("rnicsim " RNICSIM_VERSION);
        return CLI_OK;
    }
    const struct cli_command *command = find_command(name);
    if (!command) {
        fprintf(stderr, "rnicsim: there is no command \"%s\"; nearest: %s (rnicsim --help lists them)\n", name, nearest_command(name));
        return CLI_BAD;
    }
    return run_command(command, argc - 2, argv + 2);
}

int cli_main(int argc, char **argv)
{
    return close_stdout(dispatch(argc, argv));
}
