/* SPDX-License-Identifier: GPL-2.0-only */
/* `rnicsim headroom`: what a lossless class needs of a switch's buffer, term by term; what a buffer affords; and a scenario with it. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../model/fabric/headroom.h"
#include "../model/fabric/link_params.h"
#include "../model/fabric/switch_params.h"
#include "../model/fabric/switch_profiles.h"
#include "scenario_elements.h"
#include "topology.h"

/* The largest RoCEv2 packet beside its payload: Ethernet 18, IPv4 20, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4 B. */
#define ROCE_HEADERS 82
#define ROCE_MTU_MAX 4096
#define ETHERNET_HEADERS 18
#define CLASSES 8

#define HEADROOM_PARAMS(X) \
    X(rate_bps, RATE, 100e9, 1e9, 1.6e12, NULL, "rate of the port", "100 Gb/s Ethernet") \
    X(length_mm, LENGTH, 100000, 0, 2e11, NULL, "cable, at 5 ns a metre", "the usual example: 100 m across a hall") \
    X(mtu, COUNT, 4096, 256, 9216, NULL, "RoCE path MTU (up to 4096, 82 B of headers come on top), or above an IP MTU (18 B on top)", "the largest path MTU of InfiniBand") \
    X(ports, COUNT, 32, 1, 4094, NULL, "ports of the switch, all alike", "switches of one unit; --switch has its own") \
    X(buffer_bytes, BYTES, 33554432, 1024, 4e9, NULL, "buffer of the switch", "as <switch buffer>; --switch has its own") \
    X(cell_bytes, BYTES, 1, 1, 4096, NULL, "buffer is taken in cells of this size", "as <switch cell>; --switch has its own") \
    X(reserved_bytes, BYTES, 4096, 0, 4e9, NULL, "buffer guaranteed to each port and class", "as <switch reserved>") \
    X(pipeline_ps, TIME, 0, 0, 1e9, NULL, "from a frame's last bit to where the switch counts it", "as <switch pipeline-latency>") \
    X(reaction, COUNT, LINK_REACTION_BY_RATE, 0, 65535, NULL, "reaction of the paused sender in quanta; 65535: by rate", "IEEE 802.3 annex 31B")
struct headroom_params { PARAM_FIELDS(HEADROOM_PARAMS) };
#define PARAM_STRUCT struct headroom_params
PARAM_TABLE(headroom_params, HEADROOM_PARAMS)
#undef PARAM_STRUCT

static void help(FILE *f)
{
    char name[64], left[64], def[64];
    fputs("Usage: rnicsim headroom [OPTIONS]\n\nThe PFC headroom of a port and class, each of its terms, how many classes and ports a buffer affords, and a scenario with it.\n\nOptions:\n", f);
    for (size_t i = 0; i < headroom_params_table.count; i++) {
        const struct param *p = &headroom_params_table.rows[i];
        snprintf(left, sizeof left, "--%s %s", param_public_name(p, name, sizeof name), "VALUE");
        fprintf(f, "  %-18s %s (default: %s)\n", left, p->meaning, param_format_value(p->kind, NULL, p->def, def, sizeof def));
    }
    fputs("  --switch PROFILE   ports, rate, buffer and cells of a chip:", f);
    for (unsigned i = 0; switch_profile_at(i); i++)
        fprintf(f, "%s %s", i ? "," : "", switch_profile_at(i)->name);
    fputs("\n\nExit status: 0, or 1 if the buffer affords no lossless class on these ports, 2 bad input.\n", f);
}

static int use_switch(struct headroom_params *p, const char *name, uint64_t *given)
{
    const struct switch_profile *s = switch_profile_find(name);
    char near[64];
    if (!s) {
        fprintf(stderr, "rnicsim headroom: --switch: there is no profile \"%s\"; nearest: %s\n", name, scenario_word_nearest(SWITCH_PROFILE_NAMES, name, near, sizeof near));
        return CLI_BAD;
    }
    const struct { const char *field; int64_t *at, value; } row[] = {
        { "rate_bps", &p->rate_bps, s->port_bps }, { "ports", &p->ports, s->ports }, { "buffer_bytes", &p->buffer_bytes, s->buffer_bytes },
        { "cell_bytes", &p->cell_bytes, s->cell_bytes },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        if (!(*given >> (param_find(&headroom_params_table, row[i].field) - headroom_params_table.rows) & 1))
            *row[i].at = row[i].value;
    return CLI_OK;
}

/* Options are those of the table by their public names, whole and without their unit as well for the MTU ("4096B"). */
static int parse(int argc, char **argv, struct headroom_params *p, const char **profile)
{
    uint64_t given = 0;
    char err[400], word[64];
    *profile = NULL;
    param_defaults(&headroom_params_table, p);
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *eq = strchr(a, '=');
        if (strncmp(a, "--", 2) != 0) {
            fprintf(stderr, "rnicsim headroom: takes no argument \"%s\"; see rnicsim headroom --help\n", a);
            return CLI_BAD;
        }
        snprintf(word, sizeof word, "%.*s", (int)(eq ? eq - a - 2 : (long)strlen(a) - 2), a + 2);
        const struct param *row = param_find(&headroom_params_table, word);
        bool is_switch = strcmp(word, "switch") == 0;
        if (!row && !is_switch) {
            char near[64];
            const struct param *best = param_nearest(&headroom_params_table, word);
            fprintf(stderr, "rnicsim headroom: there is no option --%s; nearest: --%s\n", word, param_public_name(best, near, sizeof near));
            return CLI_BAD;
        }
        const char *value = eq ? eq + 1 : i + 1 < argc ? argv[++i] : NULL;
        if (!value) {
            fprintf(stderr, "rnicsim headroom: --%s needs a value\n", word);
            return CLI_BAD;
        }
        if (is_switch) {
            *profile = value;
            continue;
        }
        size_t n = strlen(value);
        char bare[64];
        snprintf(bare, sizeof bare, "%.*s", (int)(row->kind == PARAM_COUNT && n > 1 && n < sizeof bare && value[n - 1] == 'B' ? n - 1 : n), value);
        if (param_set(row, p, bare, err, sizeof err) != SIM_OK) {
            fprintf(stderr, "rnicsim headroom: --%s\n", err);
            return CLI_BAD;
        }
        given |= UINT64_C(1) << (row - headroom_params_table.rows);
    }
    return *profile ? use_switch(p, *profile, &given) : CLI_OK;
}

static void put_term(const char *what, uint64_t bytes, char sign) { printf("  %-48s %c %10" PRIu64 " B\n", what, sign, bytes); }

static void put_terms(const struct headroom_params *p, const struct headroom_link *l, const struct headroom_terms *t)
{
    char rate[48], length[48], delay[48], what[96];
    param_format_value(PARAM_RATE, NULL, (double)p->rate_bps, rate, sizeof rate);
    param_format_value(PARAM_LENGTH, NULL, (double)p->length_mm, length, sizeof length);
    param_format_value(PARAM_TIME, NULL, (double)l->propagation_ps, delay, sizeof delay);
    printf("PFC headroom of a port and class: %s, %s of cable (%s), MTU %" PRId64 " B (frames of %u B)\n\n", rate, length, delay, p->mtu, l->max_frame_bytes);
    put_term("a frame the other way, just begun", t->reverse_frame, ' ');
    put_term("the PAUSE frame", t->pause_frame, '+');
    snprintf(what, sizeof what, "reaction of the sender, %u quanta", l->reaction_quanta);
    put_term(what, t->reaction, '+');
    put_term("propagation, there and back", t->propagation, '+');
    put_term("the switch's pipeline", t->pipeline, '+');
    put_term("the last frame, begun before the sender stopped", t->last_frame, '+');
    put_term("preambles and gaps, which are not buffered", t->overhead, '-');
    snprintf(what, sizeof what, "rounding up to cells of %u B, at the worst size", l->cell_bytes);
    put_term(what, t->cells, '+');
    put_term("the frame that crosses XOFF", t->crossing_frame, '+');
    put_term("headroom", t->total, '=');
    printf("\n  %-48s   %10" PRIu64 " B\n", "the worst phase of maximum frames takes", headroom_exact_bytes(l));
    printf("  %-48s   %10.0f B\n\n", "a vendor's: (301 + 2.16 m) Gb/s + 2.72 MTU", headroom_vendor_bytes(p->rate_bps, (double)p->length_mm / 1000, (uint32_t)p->mtu));
}

/* Returns the classes that the ports can have, 0 to CLASSES. */
static unsigned put_affords(const struct headroom_params *p, const struct headroom_terms *t)
{
    uint64_t each = t->total + (uint64_t)p->reserved_bytes, buffer = (uint64_t)p->buffer_bytes;
    char size[48];
    unsigned can = 0;
    printf("A buffer of %s with %" PRIu64 " B of headroom and %" PRId64 " B reserved for each port and class affords:\n\n"
           "  classes   ports at most   shared with %" PRId64 " ports\n", param_format_value(PARAM_BYTES, NULL, (double)buffer, size, sizeof size), t->total,
           p->reserved_bytes, p->ports);
    for (unsigned c = 1; c <= CLASSES; c++) {
        uint64_t need = each * c * (uint64_t)p->ports;
        printf("  %7u   %13" PRIu64 "   ", c, buffer / (each * c));
        if (need <= buffer) {
            printf("%" PRIu64 " B (%.0f %%)\n", buffer - need, 100 * (double)(buffer - need) / (double)buffer);
            can = c;
        } else {
            printf("%" PRIu64 " B short\n", need - buffer);
        }
    }
    if (can)
        printf("\nThese %" PRId64 " ports can have %u lossless class%s.\n", p->ports, can, can == 1 ? "" : "es");
    else
        printf("\nThese %" PRId64 " ports cannot have a lossless class.\n", p->ports);
    return can;
}

static void put_scenario(const struct headroom_params *p, const struct headroom_link *l, const struct headroom_terms *t, const char *profile)
{
    char rate[48], length[48], buffer[48], chip[80] = "";
    param_format_value(PARAM_RATE, NULL, (double)p->rate_bps, rate, sizeof rate);
    param_format_value(PARAM_LENGTH, NULL, (double)p->length_mm, length, sizeof length);
    param_format_value(PARAM_BYTES, NULL, (double)p->buffer_bytes, buffer, sizeof buffer);
    if (profile)
        snprintf(chip, sizeof chip, "profile=\"%s\" ", profile);
    printf("\nA scenario with it (one lossless class, an incast to one port):\n\n"
           "<scenario name=\"headroom\">\n"
           "  <topology kind=\"star\" hosts=\"%" PRId64 "\" host-rate=\"%s\" %s=\"%s\"/>\n"
           "  <fabric name=\"lossless\">\n"
           "    <switch %sbuffer=\"%s\" cell=\"%uB\" pfc=\"on\" lossless-prios=\"8\" headroom=\"%" PRIu64 "B\" reserved=\"%" PRId64 "B\" max-frame=\"%uB\" pipeline-latency=\"%" PRId64 "ps\"/>\n"
           "    <links pfc-reaction-quanta=\"%u\"/>\n"
           "  </fabric>\n"
           "  <transport name=\"roce\" kind=\"roce\" operation=\"write\" prio=\"3\" dscp=\"26\"><roce mtu=\"%uB\"/></transport>\n"
           "  <workload kind=\"incast\" size=\"256KiB\"/>\n"
           "</scenario>\n", p->ports < 2 ? 2 : p->ports, rate, p->length_mm ? "host-length" : "host-propagation", p->length_mm ? length : "0ps", chip, buffer, l->cell_bytes, t->total,
           p->reserved_bytes, l->max_frame_bytes, l->pipeline_ps, l->reaction_quanta, p->mtu >= 4096 ? 4096 : p->mtu >= 2048 ? 2048 : p->mtu >= 1024 ? 1024 : p->mtu >= 512 ? 512 : 256);
}

int cmd_headroom(int argc, char **argv)
{
    struct headroom_params p;
    struct headroom_terms t;
    const char *profile;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            help(stdout);
            return CLI_OK;
        }
    int rc = parse(argc, argv, &p, &profile);
    if (rc != CLI_OK)
        return rc;
    struct headroom_link l = {
        .rate_bps = p.rate_bps, .propagation_ps = p.length_mm * TOPOLOGY_PS_PER_MM, .pipeline_ps = p.pipeline_ps,
        .reaction_quanta = p.reaction == LINK_REACTION_BY_RATE ? headroom_reaction_quanta(p.rate_bps) : (uint32_t)p.reaction,
        .max_frame_bytes = (uint32_t)p.mtu + (p.mtu > ROCE_MTU_MAX ? ETHERNET_HEADERS : ROCE_HEADERS), .cell_bytes = (uint32_t)p.cell_bytes,
    };
    headroom_compute(&l, &t);
    put_terms(&p, &l, &t);
    unsigned classes = put_affords(&p, &t);
    if (classes)
        put_scenario(&p, &l, &t, profile);
    return classes ? CLI_OK : CLI_WRONG;
}
