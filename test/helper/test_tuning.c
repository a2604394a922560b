/* SPDX-License-Identifier: GPL-2.0-only */
/* What the shipped scenarios about PFC and buffers claim, at their ci size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shipped.h"

#define VARIANTS_MAX 16

/* All variants of a scenario at its ci size, by name. */
struct all { struct result r[VARIANTS_MAX]; size_t n; };

static void run_all(const char *path, struct all *a)
{
    char err[300] = "";
    struct scenario *sc = shipped_load(path, "ci", NULL, 0);
    assert_true(sc->nvariants <= VARIANTS_MAX);
    a->n = sc->nvariants;
    for (size_t i = 0; i < a->n; i++) {
        struct run_options options = { .engine = RUN_NATIVE };
        if (run_variant(sc, &sc->variants[i], &options, &a->r[i], err, sizeof err) != 0)
            fail_msg("%s: %s", path, err);
    }
    scenario_free(sc);
}

static void done(struct all *a)
{
    for (size_t i = 0; i < a->n; i++)
        result_fini(&a->r[i]);
}

static const struct result *of(const struct all *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->r[i].name, name) == 0)
            return &a->r[i];
    fail_msg("no variant %s", name);
    return NULL;
}

/* Gb/s of a flow: its bytes from its post to its arrival. */
static double rate(const struct result *r, uint32_t src, uint32_t dst)
{
    for (size_t i = 0; i < r->nmessages; i++)
        if (r->messages[i].src == src && r->messages[i].dst == dst)
            return r->messages[i].latency_ps > 0 ? 8e3 * (double)r->messages[i].bytes / (double)r->messages[i].latency_ps : 0;
    fail_msg("%s: no flow from %u to %u", r->name, src, dst);
    return 0;
}

/* Percentile q of the latency of a stream, us; infinite where a message failed. */
static int ascending(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }
static double latency_us(const struct result *r, unsigned stream, double q)
{
    double *v = malloc((r->nmessages + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < r->nmessages; i++)
        if (r->messages[i].measured && r->messages[i].stream == stream)
            v[n++] = r->messages[i].outcome == RESULT_OK ? (double)r->messages[i].latency_ps / 1e6 : INFINITY;
    qsort(v, n, sizeof *v, ascending);
    assert_true(n > 0);
    double x = result_percentile(v, n, q);
    free(v);
    return x;
}

static uint64_t drops(const struct result *r, const char *cause)
{
    for (size_t i = 0; i < r->ndrops; i++)
        if (strcmp(r->drops[i].cause, cause) == 0)
            return r->drops[i].packets;
    fail_msg("no cause %s", cause);
    return 0;
}

#define CLAIM(what) do { if (!(what)) fail_msg("does not hold: %s", #what); } while (0)

/* DCQCN (SIGCOMM'15) 2.2: with PFC alone the nearest sender takes 20 of 40 Gb/s where 10 is fair, and the victim's rate is a fraction of what is
 * free; with DCQCN Jain's index is above .95. */
static void pfc_is_unfair_and_has_victims(void **state)
{
    (void)state;
    struct all a;
    run_all("scenarios/pfc-victim.xml", &a);
    const struct result *pfc = of(&a, "no-cc-pfc"), *dcqcn = of(&a, "dcqcn-pfc-ecn"), *lossy = of(&a, "iwarp-lossy"), *iwarp = of(&a, "iwarp-pfc");
    CLAIM(pfc->pause_frames > 0 && drops(pfc, "buffer") == 0);
    double near = rate(pfc, 7, 6), far = rate(pfc, 0, 6), between = rate(pfc, 3, 6);
    CLAIM(near > 16 && near < 20);
    CLAIM(near > between && between > far);
    CLAIM(near > 1.8 * far);
    CLAIM(rate(pfc, 2, 4) < 8);
    CLAIM(rate(dcqcn, 2, 4) > 2 * rate(pfc, 2, 4));
    /* the same transport with and without PFC */
    CLAIM(rate(iwarp, 2, 4) < 8);
    CLAIM(rate(lossy, 2, 4) > 3 * rate(iwarp, 2, 4));
    const double x[] = { rate(dcqcn, 0, 6), rate(dcqcn, 1, 6), rate(dcqcn, 3, 6), rate(dcqcn, 7, 6) };
    double sum = 0, squares = 0;
    for (int i = 0; i < 4; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    CLAIM(sum * sum / (4 * squares) > 0.95);
    done(&a);
}

static void a_slow_receiver_stops_the_others(void **state)
{
    (void)state;
    struct all a;
    run_all("scenarios/pause-storm.xml", &a);
    const struct result *pfc = of(&a, "no-cc-pfc"), *dcqcn = of(&a, "dcqcn-pfc-ecn"), *iwarp = of(&a, "iwarp-pfc"), *lossy = of(&a, "iwarp-lossy");
    CLAIM(pfc->pause_frames > 100 && drops(pfc, "buffer") == 0 && drops(lossy, "buffer") > 0);
    CLAIM(latency_us(pfc, 1, 0.9) > 20 * latency_us(lossy, 1, 0.9));
    CLAIM(latency_us(iwarp, 1, 0.9) > 20 * latency_us(lossy, 1, 0.9));
    CLAIM(latency_us(lossy, 1, 0.9) < 20);
    CLAIM(dcqcn->paused_ps < pfc->paused_ps);
    CLAIM(latency_us(dcqcn, 1, 0.5) < latency_us(pfc, 1, 0.5) / 2);
    done(&a);
}

/* 4 KB a fetch of 700 ns (and its 8 bytes over PCIe) are below 46.9 Gb/s. */
static void small_pages_pause_a_victim(void **state)
{
    (void)state;
    struct all a;
    run_all("scenarios/slow-receiver.xml", &a);
    const struct result *small = of(&a, "pages-4k-pfc"), *large = of(&a, "pages-2m-pfc"), *lossy = of(&a, "pages-4k-lossy");
    CLAIM(small->pause_frames > 0 && large->pause_frames == 0);
    CLAIM(drops(small, "nic_rx") == 0 && drops(large, "nic_rx") == 0 && drops(lossy, "nic_rx") > 0);
    CLAIM(rate(small, 0, 3) < 46.9 && rate(small, 0, 3) > 44);
    CLAIM(rate(large, 0, 3) > 75);
    CLAIM(latency_us(small, 1, 1) > 4 * latency_us(large, 1, 1));
    CLAIM(latency_us(lossy, 1, 1) < 1.5 * latency_us(large, 1, 1));
    done(&a);
}

/* As many paths as flows: all are used when each packet takes the shortest queue; hashed flows share some. Random paths reorder, which go-back-N pays
 * and TCP sorts. */
static void spraying_uses_all_paths(void **state)
{
    (void)state;
    struct all a;
    run_all("scenarios/spraying.xml", &a);
    static const char *const transports[] = { "iwarp", "roce", "roce-ooo" };
    for (int t = 0; t < 3; t++) {
        char name[64];
        snprintf(name, sizeof name, "%s-ecmp", transports[t]);
        const struct result *ecmp = of(&a, name);
        snprintf(name, sizeof name, "%s-spray-adaptive", transports[t]);
        const struct result *adaptive = of(&a, name);
        CLAIM(latency_us(ecmp, 0, 1) > 1.5 * latency_us(adaptive, 0, 1));
        CLAIM(adaptive->retransmitted_packets == 0 && ecmp->retransmitted_packets == 0);
        CLAIM(adaptive->peak_queue_bytes < 10000 && ecmp->peak_queue_bytes > adaptive->peak_queue_bytes);
    }
    CLAIM(latency_us(of(&a, "roce-spray-adaptive"), 0, 1) < 1.2 * latency_us(of(&a, "roce-spray-adaptive"), 0, 0.01));
    const struct result *iwarp = of(&a, "iwarp-spray-random"), *roce = of(&a, "roce-spray-random");
    CLAIM(roce->retransmitted_packets > 100 * (iwarp->retransmitted_packets + 1));
    CLAIM(latency_us(roce, 0, 0.5) > 5 * latency_us(iwarp, 0, 0.5));
    CLAIM(latency_us(roce, 0, 0.5) > 5 * latency_us(of(&a, "roce-ecmp"), 0, 0.5));
    CLAIM(latency_us(iwarp, 0, 1) < latency_us(of(&a, "iwarp-ecmp"), 0, 1));
    const struct result *kept = of(&a, "roce-ooo-spray-random");
    CLAIM(latency_us(roce, 0, 0.5) > 5 * latency_us(kept, 0, 0.5) && kept->retransmitted_packets * 10 < roce->retransmitted_packets);
    done(&a);
}

/* ps from the post to the arrival. */
static int64_t took_ps(const struct result *r, uint32_t src, uint32_t dst)
{
    for (size_t i = 0; i < r->nmessages; i++)
        if (r->messages[i].src == src && r->messages[i].dst == dst && r->messages[i].outcome == RESULT_OK)
            return r->messages[i].latency_ps;
    fail_msg("%s: no message from %u to %u", r->name, src, dst);
    return 0;
}

/* Three hops of 500 ns more when routed; the tag of a bridged frame is 4 B on two links of 100 Gb/s and two of 400 Gb/s. Inside a pod nothing is ever
 * lost; between pods only where the class is kept. */
static void a_boundary_ends_losslessness(void **state)
{
    (void)state;
    static const char *const transports[] = { "iwarp", "roce" };
    struct all a;
    run_all("scenarios/pod-boundary.xml", &a);
    for (int t = 0; t < 2; t++) {
        const struct result *r[4];
        static const char *const fabrics[] = { "bridged", "routed", "boundary", "remarked" };
        for (int f = 0; f < 4; f++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s", transports[t], fabrics[f]);
            r[f] = of(&a, name);
            CLAIM(strcmp(r[f]->audit, "ok") == 0 && (r[f]->pause_frames > 0 || f >= 2));
            CLAIM((drops(r[f], "buffer") > 0) == (f >= 2));
            CLAIM((r[f]->retransmitted_packets > 0) == (f >= 2));
            CLAIM(r[f]->nclasses == 1 && r[f]->classes[0].headroom_bytes > 0 && r[f]->classes[0].least_headroom_bytes > 0);
            for (uint32_t src = 1; src <= 4; src++)
                CLAIM(took_ps(r[f], src, 0) == took_ps(r[f ? 1 : 0], src, 0));
        }
        CLAIM(took_ps(r[1], 8, 7) - took_ps(r[0], 8, 7) == 3 * 500000 - 2 * 320 - 2 * 80);
        for (int f = 2; f < 4; f++) /* the local ACK timeout is 67 ms, TCP's at least 5 ms */
            CLAIM(t ? latency_us(r[f], 2, 1) > 67000 : latency_us(r[f], 2, 1) > latency_us(r[1], 2, 1) && latency_us(r[f], 2, 1) < latency_us(r[1], 2, 1) + 12000);
    }
    CLAIM(of(&a, "roce-boundary")->retransmitted_packets > 10 * of(&a, "iwarp-boundary")->retransmitted_packets);
    done(&a);
}

static void a_middlebox_lets_tcp_through(void **state)
{
    (void)state;
    static const char *const transports[] = { "iwarp", "roce" };
    struct all a;
    run_all("scenarios/wan-middlebox.xml", &a);
    for (int t = 0; t < 2; t++) {
        const struct result *r[4];
        static const char *const fabrics[] = { "plain", "delay", "jitter", "tcp-only" };
        for (int f = 0; f < 4; f++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s", transports[t], fabrics[f]);
            r[f] = of(&a, name);
            CLAIM(strcmp(r[f]->audit, "ok") == 0);
            CLAIM(took_ps(r[f], 0, 1) == took_ps(r[0], 0, 1));
            CLAIM((drops(r[f], "policy") > 0) == (f == 3 && t == 1));
        }
        /* 80 km at 5 ns a metre, and what is less than 1 % of it. */
        CLAIM(took_ps(r[0], 0, 3) > INT64_C(400000000) && took_ps(r[0], 0, 3) < INT64_C(405000000));
        CLAIM(took_ps(r[1], 0, 3) - took_ps(r[0], 0, 3) == 3000000);
        int64_t jitter_ps = took_ps(r[2], 0, 3) - took_ps(r[1], 0, 3);
        CLAIM(jitter_ps > 0 && jitter_ps < 7000000);
    }
    CLAIM(took_ps(of(&a, "iwarp-tcp-only"), 0, 3) == took_ps(of(&a, "iwarp-plain"), 0, 3));
    const struct result *roce = of(&a, "roce-tcp-only");
    for (size_t i = 0; i < roce->nmessages; i++) {
        const struct result_message *m = &roce->messages[i];
        CLAIM((m->src == 0 && m->dst == 1) || strcmp(m->status, "transport retries exceeded") == 0);
    }
    /* 10 segments at first and twice as many each round trip (RFC 6928, RFC 5681): 1 MiB, 719 of them, in the seventh flight. */
    double round_trips = (double)(took_ps(of(&a, "iwarp-plain"), 2, 1) - took_ps(of(&a, "roce-plain"), 2, 1)) / 800e6;
    CLAIM(round_trips > 5.9 && round_trips < 6.1);
    done(&a);
}

static void one_class_blocks_another_does_not(void **state)
{
    (void)state;
    struct all a;
    run_all("scenarios/head-of-line.xml", &a);
    static const char *const blocked[] = { "roce-pfc", "iwarp-pfc" };
    for (int i = 0; i < 2; i++) {
        const struct result *r = of(&a, blocked[i]);
        CLAIM(r->pause_frames > 0 && drops(r, "buffer") == 0);
        CLAIM(r->nclasses == 2);
        CLAIM(rate(r, 0, 7) > 50);
        CLAIM(rate(r, 0, 8) < rate(r, 0, 7) / 4);
    }
    CLAIM(rate(of(&a, "iwarp-lossy"), 0, 8) > 2 * rate(of(&a, "iwarp-pfc"), 0, 8));
    done(&a);
}

/* Choudhury and Hahne 1998: a queue alone holds at most alpha / (1 + alpha) of the buffer, here to within a frame. */
static void thresholds_share_the_buffer(void **state)
{
    (void)state;
    static const struct { const char *fabric; double alpha; } sweep[] = { { "alpha-1-8", 0.125 }, { "alpha-1-2", 0.5 }, { "alpha-1", 1 }, { "alpha-2", 2 }, { "alpha-8", 8 } };
    struct all a;
    run_all("scenarios/buffer-sharing.xml", &a);
    for (size_t i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "iwarp-%s", sweep[i].fabric);
        const struct result *r = of(&a, name);
        double most = 1e6 * sweep[i].alpha / (1 + sweep[i].alpha);
        if (fabs((double)r->peak_queue_bytes - most) > 1538)
            fail_msg("%s: a peak of %llu B, expected %.0f", name, (unsigned long long)r->peak_queue_bytes, most);
    }
    CLAIM(drops(of(&a, "iwarp-alpha-1-8"), "buffer") > drops(of(&a, "iwarp-alpha-8"), "buffer"));
    done(&a);
}

static void each_mistake_has_its_price(void **state)
{
    (void)state;
    struct all a;
    run_all("scenarios/tuning-mistakes.xml", &a);
    const struct result *right = of(&a, "roce-right");
    CLAIM(drops(right, "buffer") == 0 && right->timeouts == 0 && right->retransmitted_packets == 0 && right->lossless_drops == 0);
    CLAIM(drops(of(&a, "roce-hop-without-pfc"), "buffer") > 0 && of(&a, "roce-hop-without-pfc")->retransmitted_packets > 0);
    CLAIM(of(&a, "roce-wrong-class")->pause_frames == 0 && drops(of(&a, "roce-wrong-class"), "buffer") > 0);
    CLAIM(latency_us(of(&a, "roce-wrong-class"), 0, 1) > 5 * latency_us(right, 0, 1));
    CLAIM(of(&a, "roce-ecn-off")->pause_frames > 2 * right->pause_frames && of(&a, "roce-ecn-off")->cnps == 0 && right->cnps > 0);
    CLAIM(drops(of(&a, "roce-ecn-off"), "buffer") == 0);
    CLAIM(of(&a, "roce-headroom-short")->lossless_drops > 0 && of(&a, "roce-headroom-short")->headroom_short_bytes > 10000);
    CLAIM(latency_us(of(&a, "roce-headroom-short"), 0, 1) > 5 * latency_us(right, 0, 1));
    CLAIM(drops(of(&a, "roce-mtu-1500"), "mtu") > 0 && isinf(latency_us(of(&a, "roce-mtu-1500"), 0, 0.5)));
    /* iWARP delivers all in each of them. */
    static const char *const mistakes[] = { "right", "hop-without-pfc", "wrong-class", "ecn-off", "headroom-short", "mtu-1500" };
    for (size_t i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "iwarp-%s", mistakes[i]);
        const struct result *r = of(&a, name);
        for (size_t k = 0; k < r->nmessages; k++)
            CLAIM(r->messages[k].outcome == RESULT_OK);
        CLAIM(latency_us(r, 0, 1) < 100000);
    }
    CLAIM(latency_us(of(&a, "iwarp-mtu-1500"), 0, 1) < 1.01 * latency_us(of(&a, "iwarp-right"), 0, 1));
    done(&a);
}

static unsigned delivered(const struct result *r)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->nmessages; i++)
        n += r->messages[i].outcome == RESULT_OK;
    return n;
}

/* Round a circle with PFC nothing arrives, and the circle is named; with up-down routes all does and nothing is lost; a watchdog pays in packets;
 * without PFC there is no circle. */
static void a_circle_of_pauses_locks(void **state)
{
    (void)state;
    struct all a;
    run_all("scenarios/deadlock.xml", &a);
    const struct result *locked = of(&a, "no-cc-shortest"), *open = of(&a, "no-cc-up-down"), *watched = of(&a, "no-cc-watchdog"), *lossy = of(&a, "iwarp-lossy");
    CLAIM(delivered(locked) == 0 && locked->nmessages == 5);
    if (!strstr(locked->deadlock, "5 queues of priority 3: switch0 -> switch1 -> switch2 -> switch3 -> switch4 -> switch0"))
        fail_msg("\"%s\"", locked->deadlock);
    CLAIM(strncmp(locked->deadlock, "since ", 6) == 0 && atof(locked->deadlock + 6) > 1 && atof(locked->deadlock + 6) < 200);
    CLAIM(delivered(open) == 5 && !*open->deadlock && open->pause_frames > 0 && drops(open, "buffer") == 0 && latency_us(open, 0, 1) < 1000);
    CLAIM(delivered(watched) == 5 && *watched->deadlock && drops(watched, "watchdog") > 1000 && latency_us(watched, 0, 1) > 10000);
    CLAIM(delivered(lossy) == 5 && !*lossy->deadlock && lossy->pause_frames == 0 && drops(lossy, "buffer") > 0);
    done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spraying_uses_all_paths), cmocka_unit_test(a_boundary_ends_losslessness), cmocka_unit_test(a_middlebox_lets_tcp_through),
        cmocka_unit_test(pfc_is_unfair_and_has_victims), cmocka_unit_test(a_slow_receiver_stops_the_others), cmocka_unit_test(small_pages_pause_a_victim), cmocka_unit_test(one_class_blocks_another_does_not),
        cmocka_unit_test(thresholds_share_the_buffer), cmocka_unit_test(each_mistake_has_its_price), cmocka_unit_test(a_circle_of_pauses_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
