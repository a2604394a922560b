/* SPDX-License-Identifier: GPL-2.0-only */
#include "scenario_elements.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../model/cc/cc.h"
#include "../model/fabric/fabric_params.h"
#include "../model/fabric/link_params.h"
#include "../model/fabric/switch_params.h"
#include "../model/fabric/switch_profiles.h"
#include "../model/host/host_params.h"
#include "../model/iwarp/iwarp_params.h"
#include "../model/roce/roce_params.h"
#include "../model/tcp/tcp_params.h"
#include "../model/workload/workload.h"
#include "scenario.h"
#include "topology.h"

#define PARAM_STRUCT struct transport_params
PARAM_TABLE(transport_params, TRANSPORT_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct measure_params
PARAM_TABLE(measure_params, MEASURE_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct topology_link_params
PARAM_TABLE(topology_link_params, TOPOLOGY_LINK_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct flow_params
PARAM_TABLE(flow_params, FLOW_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct class_map_params
PARAM_TABLE(class_map_params, CLASS_MAP_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct class_remark_params
PARAM_TABLE(class_remark_params, CLASS_REMARK_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct failure_params
PARAM_TABLE(failure_params, FAILURE_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct lose_params
PARAM_TABLE(lose_params, LOSE_PARAMS)
#undef PARAM_STRUCT
#define PARAM_STRUCT struct cdf_point_params
PARAM_TABLE(cdf_point_params, CDF_POINT_PARAMS)
#undef PARAM_STRUCT

#define NAME_ATTR(what) { "name", ATTR_NAME, true, NULL, what }
#define HOST_PROFILES "ideal|rnic-roce|rnic-iwarp|connectx5-like|connectx6-like|connectx7-like|chelsio-t6-like|kernel"
#define TCP_PROFILES "kernel|linux|toe"

#define NO_ATTRS { { NULL, ATTR_TEXT, false, NULL, NULL } }

#define SWITCH_PARTS(parent) \
    { "aqm", parent, OCCURS_AT_MOST_ONCE, false, &aqm_params_table, NULL, NULL, "queue management beside RED on the length itself: PIE, CoDel, averages, phantom queues", NO_ATTRS }, \
    { "paths", parent, OCCURS_AT_MOST_ONCE, false, &paths_params_table, NULL, NULL, "which of the equal next hops a packet takes", NO_ATTRS }, \
    { "shapers", parent, OCCURS_AT_MOST_ONCE, false, &shaper_params_table, NULL, NULL, "the most that each egress queue may send", NO_ATTRS }, \
    { "watchdog", parent, OCCURS_AT_MOST_ONCE, false, &watchdog_params_table, NULL, NULL, "PFC watchdog: what ends a queue that a pause holds for too long", NO_ATTRS }, \
    { "middlebox", parent, OCCURS_AT_MOST_ONCE, false, &middlebox_params_table, NULL, NULL, "delay, jitter and a policy that every packet through the switch meets", NO_ATTRS }, \
    { "classes", parent, OCCURS_AT_MOST_ONCE, false, &classes_params_table, NULL, NULL, "from DSCP or PCP to the queue, and what is written on leaving", NO_ATTRS }

/* name, parent, occurs, text, table, without, chosen_by, meaning, attributes */
const struct scenario_element scenario_elements[] = {
    { "scenario", "", OCCURS_ONCE, false, NULL, NULL, NULL, "one experiment: transports compared on fabrics under a workload",
      { NAME_ATTR("name of the scenario, in results and plots") } },
    { "description", "scenario", OCCURS_AT_MOST_ONCE, true, NULL, NULL, NULL, "what the scenario shows, for people", NO_ATTRS },

    { "topology", "scenario", OCCURS_ONCE, false, &topology_params_table, NULL, NULL, "hosts, switches and how they are linked",
      { { "file", ATTR_TEXT, false, NULL, "an explicit topology in a file: GraphML, or the HPCC family's topology file; found from the scenario's directory" } } },
    { "host", "topology", OCCURS_ANY, false, NULL, NULL, NULL, "a host of an explicit topology", { NAME_ATTR("name that <link> refers to") } },
    { "switch", "topology", OCCURS_ANY, false, NULL, NULL, NULL, "a switch of an explicit topology", { NAME_ATTR("name that <link> refers to") } },
    { "link", "topology", OCCURS_ANY, false, &topology_link_params_table, NULL, NULL, "a link of an explicit topology",
      { { "a", ATTR_NAME, true, NULL, "a node's name" }, { "b", ATTR_NAME, true, NULL, "the other node's name" } } },

    { "fabric", "scenario", OCCURS_SOME, false, &fabric_params_table, NULL, NULL, "how switches and links behave: lossy, lossless or between",
      { NAME_ATTR("name of the fabric") } },
    { "switch", "fabric", OCCURS_AT_MOST_ONCE, false, &switch_params_table, NULL, NULL, "every switch: buffer, thresholds, PFC, ECN",
      { { "profile", ATTR_WORD, false, SWITCH_PROFILE_NAMES, "a chip's buffer and cells to start from; unless given, the defaults" } } },
    { "exception", "fabric", OCCURS_ANY, false, &switch_params_table, NULL, NULL,
      "a switch unlike the fabric's others: parameters of <switch>, of which those not given are the others'",
      { { "switch", ATTR_NAME, true, NULL, "its name, or its number from 0 where the topology names none (leaves before spines, edges before aggregations before cores)" } } },
    SWITCH_PARTS("fabric"),
    SWITCH_PARTS("exception"),
    { "map", "classes", OCCURS_ANY, false, &class_map_params_table, NULL, NULL, "packets with this DSCP, or tagged with this PCP, go to this priority", NO_ATTRS },
    { "remark", "classes", OCCURS_ANY, false, &class_remark_params_table, NULL, NULL, "packets of this priority leave with this DSCP, or PCP if they are tagged", NO_ATTRS },
    { "route", "fabric", OCCURS_ANY, false, NULL, NULL, NULL, "a next hop set by hand",
      { { "at", ATTR_NAME, true, NULL, "a switch: its name, or switch0, switch1 ... where the topology names none" },
        { "to", ATTR_NAME, true, NULL, "a host: its name, or host0, host1 ..." }, { "via", ATTR_NAME, true, NULL, "the neighbour, a switch or the host" } } },
    { "failure", "fabric", OCCURS_ANY, false, &failure_params_table, NULL, NULL, "a link that fails during the run",
      { { "a", ATTR_NAME, true, NULL, "one end: its name, or host0 ... or switch0 ... where the topology names none" }, { "b", ATTR_NAME, true, NULL, "the other end" } } },
    { "lose", "fabric", OCCURS_ANY, false, &lose_params_table, NULL, NULL, "packets to lose as they leave their host; without nth and every: all that match",
      { { "src", ATTR_NAME, false, NULL, "only those of this host" }, { "dst", ATTR_NAME, false, NULL, "only those to this host" } } },
    { "links", "fabric", OCCURS_AT_MOST_ONCE, false, &link_params_table, "rate|propagation", NULL,
      "every link: loss, bit errors, pause reaction (rate and propagation are the topology's)", NO_ATTRS },

    { "transport", "scenario", OCCURS_SOME, false, &transport_params_table, NULL, NULL, "one way to carry messages, with its host and its timers",
      { NAME_ATTR("name of the transport, in results and plots"),
        { "kind", ATTR_WORD, true, SCENARIO_TRANSPORT_KINDS, "iWARP over a TCP offload engine, RoCEv2 RC, or kernel TCP sockets" } } },
    { "host", "transport", OCCURS_AT_MOST_ONCE, false, &host_params_table, NULL, NULL, "what a message costs a host and its NIC",
      { { "profile", ATTR_WORD, false, HOST_PROFILES, "values to start from; unless given, those of the transport's kind" } } },
    { "tcp", "transport", OCCURS_AT_MOST_ONCE, false, &tcp_params_table, NULL, NULL, "the TCP engine (kinds iwarp and tcp)",
      { { "profile", ATTR_WORD, false, TCP_PROFILES, "values to start from; unless given, toe under iwarp and kernel for tcp" } } },
    { "roce", "transport", OCCURS_AT_MOST_ONCE, false, &roce_params_table, NULL, NULL, "RoCEv2 reliable connections (kind roce)", NO_ATTRS },
    { "iwarp", "transport", OCCURS_AT_MOST_ONCE, false, &iwarp_params_table, NULL, NULL, "RDMAP, DDP and MPA (kind iwarp)", NO_ATTRS },
    { "cc", "transport", OCCURS_AT_MOST_ONCE, false, NULL, NULL, "algorithm",
      "congestion control; without it, dcqcn for roce and reno for iwarp and tcp", { { "algorithm", ATTR_WORD, true, NULL, "name of the algorithm" },
        { "profile", ATTR_NAME, false, NULL, "values of the algorithm to start from; unless given, its paper's" } } },

    { "workload", "scenario", OCCURS_SOME, false, NULL, NULL, "kind", "who sends what to whom, and when; several run together",
      { { "kind", ATTR_WORD, true, NULL, "kind of workload" },
        { "name", ATTR_NAME, false, NULL, "name of the workload; unless given, its kind" },
        { "sizes", ATTR_NAME, false, NULL, "message sizes: the name of a <cdf>" },
        { "file", ATTR_TEXT, false, NULL, "kind flows: a text file of flows, found from the scenario's directory" } } },
    { "flow", "workload", OCCURS_ANY, false, &flow_params_table, NULL, NULL, "a flow of a workload of kind flows",
      { { "src", ATTR_NAME, true, NULL, "the sending host: its number, or its name where the topology names hosts" },
        { "dst", ATTR_NAME, true, NULL, "the receiving host" } } },
    { "cdf", "workload", OCCURS_AT_MOST_ONCE, false, NULL, NULL, NULL, "message sizes of this workload alone",
      { { "source", ATTR_TEXT, false, NULL, "where the figures come from" } } },
    { "cdf", "scenario", OCCURS_ANY, false, NULL, NULL, NULL, "a distribution of message sizes that workloads name in `sizes`; linear between points",
      { NAME_ATTR("name that workloads refer to"), { "source", ATTR_TEXT, false, NULL, "where the figures come from" } } },
    { "point", "cdf", OCCURS_SOME, false, &cdf_point_params_table, NULL, NULL, "a point of the distribution, sizes and shares ascending, the last at 100%", NO_ATTRS },

    { "measure", "scenario", OCCURS_AT_MOST_ONCE, false, &measure_params_table, NULL, NULL, "warm-up, measurement, drain, seeds",
      { { "seeds", ATTR_COUNTS, false, NULL, "the seeds themselves, instead of seed and reps" } } },
    { "compare", "scenario", OCCURS_AT_MOST_ONCE, false, NULL, NULL, NULL, "which combinations run; without pairs every transport on every fabric",
      { { "loads", ATTR_LOADS, false, NULL, "loads to sweep, in place of the workloads' own" } } },
    { "pair", "compare", OCCURS_ANY, false, NULL, NULL, NULL, "one combination",
      { { "transport", ATTR_NAME, true, NULL, "a transport's name" }, { "fabric", ATTR_NAME, true, NULL, "a fabric's name" } } },
    { "expect", "scenario", OCCURS_AT_MOST_ONCE, false, NULL, NULL, NULL, "what may go wrong without the run counting as wrong",
      { { "failures", ATTR_WORD, true, "yes|no", "messages may fail or stay unfinished (a livelock, retries exhausted)" },
        { "lossless-drops", ATTR_WORD, false, "yes|no", "buffers may drop packets of a lossless class (headroom too small)" } } },
    { "size", "scenario", OCCURS_ANY, false, NULL, NULL, NULL, "a size of the scenario that --size picks: overrides in order",
      { NAME_ATTR("name of the size: ci is the one that tests run") } },
    { "set", "size", OCCURS_ANY, false, NULL, NULL, NULL, "an override, as --set takes it",
      { { "name", ATTR_TEXT, true, NULL, "path of the parameter, such as measure.duration" }, { "value", ATTR_TEXT, true, NULL, "its value" } } },
};
const size_t scenario_element_count = sizeof scenario_elements / sizeof scenario_elements[0];

const struct scenario_element *scenario_element_find(const char *parent, const char *name)
{
    for (size_t i = 0; i < scenario_element_count; i++)
        if (strcmp(scenario_elements[i].parent, parent) == 0 && strcmp(scenario_elements[i].name, name) == 0)
            return &scenario_elements[i];
    return NULL;
}

bool scenario_element_takes(const struct scenario_element *e, const struct param *p)
{
    char name[64];
    return !e->without || scenario_word_index(e->without, param_public_name(p, name, sizeof name)) < 0;
}

const char *scenario_element_nearest(const char *parent, const char *name)
{
    const char *best = NULL;
    unsigned least = ~0u;
    for (size_t i = 0; i < scenario_element_count; i++) {
        unsigned d = param_edit_distance(name, scenario_elements[i].name);
        if (strcmp(scenario_elements[i].parent, parent) == 0 && d < least) {
            least = d;
            best = scenario_elements[i].name;
        }
    }
    return best;
}

const struct scenario_attr *scenario_attr_find(const struct scenario_element *e, const char *name)
{
    for (size_t i = 0; i < SCENARIO_ATTR_MAX && e->attrs[i].name; i++)
        if (strcmp(e->attrs[i].name, name) == 0)
            return &e->attrs[i];
    return NULL;
}

const char *scenario_attr_nearest(const struct scenario_element *e, const struct param_table *table, const char *name, char *buf, size_t len)
{
    const char *best = NULL;
    unsigned least = ~0u;
    for (size_t i = 0; i < SCENARIO_ATTR_MAX && e->attrs[i].name; i++) {
        unsigned d = param_edit_distance(name, e->attrs[i].name);
        if (d < least) {
            least = d;
            best = e->attrs[i].name;
        }
    }
    const struct param *nearest = NULL;
    for (size_t i = 0; table && i < table->count; i++) {
        if (!scenario_element_takes(e, &table->rows[i]))
            continue;
        unsigned d = param_edit_distance(name, param_public_name(&table->rows[i], buf, len));
        if (d < least) {
            least = d;
            nearest = &table->rows[i];
        }
    }
    return nearest ? param_public_name(nearest, buf, len) : best;
}

bool scenario_choice_at(const struct scenario_element *e, size_t i, struct scenario_choice *out)
{
    if (strcmp(e->name, "workload") == 0) {
        if (i >= WL_KIND_COUNT)
            return false;
        *out = (struct scenario_choice){ wl_kinds[i].name, wl_kinds[i].table, wl_kinds[i].about, NULL };
        return true;
    }
    for (size_t n = 0; cc_registry[n]; n++)
        if (n == i) {
            *out = (struct scenario_choice){ cc_registry[n]->name, cc_registry[n]->params, NULL, cc_registry[n] };
            return true;
        }
    return false;
}

bool scenario_choice_find(const struct scenario_element *e, const char *word, struct scenario_choice *out)
{
    for (size_t i = 0; scenario_choice_at(e, i, out); i++)
        if (strcmp(out->word, word) == 0)
            return true;
    return false;
}

const char *scenario_choice_nearest(const struct scenario_element *e, const char *word)
{
    struct scenario_choice c;
    const char *best = "";
    unsigned least = ~0u;
    for (size_t i = 0; scenario_choice_at(e, i, &c); i++) {
        unsigned d = param_edit_distance(word, c.word);
        if (d < least) {
            least = d;
            best = c.word;
        }
    }
    return best;
}

/* --- profiles --- */

bool scenario_profile_apply(const struct param_table *table, const char *profile, void *values)
{
    if (table == &host_params_table) {
        const struct host_profile *p = host_profile_find(profile);
        if (p)
            host_profile_apply(p, values);
        return p != NULL;
    }
    if (table == &tcp_params_table)
        return tcp_params_preset(values, profile) == 0;
    if (table == &switch_params_table) {
        const struct switch_profile *p = switch_profile_find(profile);
        switch_params_init(values);
        if (p)
            switch_profile_apply(p, values);
        return p != NULL;
    }
    for (size_t i = 0; cc_registry[i]; i++)
        if (cc_registry[i]->params == table)
            return cc_preset_apply(cc_registry[i], profile, values);
    return false;
}

void scenario_profile_words(const struct scenario_element *e, const struct param_table *table, char *buf, size_t len)
{
    const struct scenario_attr *a = scenario_attr_find(e, "profile");
    size_t n = 0;
    snprintf(buf, len, "%s", a && a->words ? a->words : "");
    for (size_t i = 0; cc_registry[i]; i++)
        for (const struct cc_preset *p = cc_registry[i]->params == table ? cc_registry[i]->presets : NULL; p && p->name && n < len; p++)
            n += (size_t)snprintf(buf + n, len - n, "%s%s", n ? "|" : "", p->name);
}

const char *scenario_profile_default(const struct param_table *table, int transport_kind)
{
    static const char *const host[] = { "rnic-iwarp", "rnic-roce", "kernel" }, *const tcp[] = { "toe", NULL, "kernel" };
    return table == &host_params_table ? host[transport_kind] : table == &tcp_params_table ? tcp[transport_kind] : NULL;
}

/* --- words --- */

int scenario_word_index(const char *words, const char *word)
{
    size_t len = strlen(word);
    int i = 0;
    for (const char *w = words; *w; i++) {
        size_t n = strcspn(w, "|");
        if (n == len && memcmp(w, word, n) == 0)
            return i;
        w += n + (w[n] == '|');
    }
    return -1;
}

const char *scenario_word_nearest(const char *words, const char *word, char *buf, size_t len)
{
    unsigned least = ~0u;
    char one[80];
    buf[0] = '\0';
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, "|");
        snprintf(one, sizeof one, "%.*s", (int)n, w);
        unsigned d = param_edit_distance(word, one);
        if (d < least) {
            least = d;
            snprintf(buf, len, "%s", one);
        }
        w += n + (w[n] == '|');
    }
    return buf;
}

bool scenario_name_valid(const char *s)
{
    size_t n = 0;
    for (; s[n]; n++)
        if (!isascii((unsigned char)s[n]) || (!isalnum((unsigned char)s[n]) && s[n] != '-' && s[n] != '_'))
            return false;
    return n > 0 && n < SCENARIO_NAME_MAX;
}
