/* SPDX-License-Identifier: GPL-2.0-only */
#include "run_ideal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOPS_MAX 64
/* The least that a packet carries beside its payload: Ethernet 14 + 4, IPv4 20, TCP 20, preamble and gap 20; and the most that one carries
 * in a 9,000 byte MTU. RoCEv2's least is 82 on 4,096. */
#define LEAST_HEADERS 78
#define MOST_PAYLOAD 8960
/* Up to the smallest path MTU a message is one packet for every transport, so each link but the first adds all of it. */
#define ONE_PACKET 256
/* Warm-up of a calibration: enough to open any window. */
#define WARM_BYTES (8u << 20)
#define WARM_MESSAGES 4
#define TRIALS 3

static int64_t bits_ps(uint64_t bytes, int64_t rate_bps)
{
    return (int64_t)((__uint128_t)bytes * 8 * (uint64_t)SIM_PS_PER_S / (uint64_t)rate_bps);
}

/* Of `last`, what a hop waits for before the next one begins: all, or the head where it cuts through. */
static uint64_t stored(const struct fabric_hop *hop, uint64_t last)
{
    uint64_t head = (uint64_t)hop->cut_bytes + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES;
    return hop->cut_bytes && head < last ? head : last;
}

int64_t run_ideal_ps(const struct fabric_hop *hop, uint32_t nhops, uint64_t bytes)
{
    uint64_t packets = (bytes + MOST_PAYLOAD - 1) / MOST_PAYLOAD;
    uint64_t wire = bytes + packets * LEAST_HEADERS;
    uint64_t least = PKT_FRAME_MIN_BYTES + PKT_PREAMBLE_BYTES + PKT_IFG_BYTES;
    uint64_t last = bytes <= ONE_PACKET && wire > least ? wire : least; /* what must be stored and forwarded at the end */
    uint32_t slowest = 0;
    int64_t ps = 0;
    if (wire < least)
        wire = least;
    for (uint32_t i = 0; i < nhops; i++)
        if (hop[i].rate_bps < hop[slowest].rate_bps)
            slowest = i;
    for (uint32_t i = 0; i < nhops; i++)
        /* The gap after the last frame is not waited for. */
        ps += hop[i].propagation_ps + hop[i].latency_ps + bits_ps((i == slowest ? wire : stored(&hop[i], last)) - PKT_IFG_BYTES, hop[i].rate_bps);
    return ps;
}

/* A kind of path: all pairs of hosts with the same links between them. */
struct path_class {
    struct fabric_hop hop[HOPS_MAX];
    uint32_t nhops;
    uint32_t src, dst;           /* a pair of this kind */
    uint64_t *sizes;             /* ascending, distinct */
    size_t nsizes, room;
    int64_t *alone, *awake;      /* by size; awake NULL until needed */
    bool want_awake;
};

#define NO_CLASS UINT32_MAX
/* The kinds of path of a result, and of each message which one (NO_CLASS: none). */
struct classes { struct path_class *c; size_t n; uint32_t *of; };

static uint32_t class_between(struct classes *k, const struct net *n, uint32_t src, uint32_t dst)
{
    struct fabric_hop hop[HOPS_MAX];
    memset(hop, 0, sizeof hop);
    uint32_t nhops = fabric_path(n->fabric, src, dst, hop, HOPS_MAX);
    if (nhops == 0 || nhops > HOPS_MAX)
        return NO_CLASS;
    for (size_t i = 0; i < k->n; i++)
        if (k->c[i].nhops == nhops && memcmp(k->c[i].hop, hop, nhops * sizeof hop[0]) == 0)
            return (uint32_t)i;
    struct path_class *grown = realloc(k->c, (k->n + 1) * sizeof *grown);
    if (!grown)
        return NO_CLASS;
    k->c = grown;
    struct path_class *c = &grown[k->n];
    memset(c, 0, sizeof *c);
    memcpy(c->hop, hop, sizeof hop);
    c->nhops = nhops;
    c->src = src;
    c->dst = dst;
    return (uint32_t)k->n++;
}

/* The class that message i is calibrated in, NULL if it is not. */
static struct path_class *calibrated(const struct classes *k, const struct result *r, size_t i)
{
    const struct result_message *m = &r->messages[i];
    return m->measured && m->latency_ps >= 0 && k->of[i] != NO_CLASS ? &k->c[k->of[i]] : NULL;
}

static bool add_size(struct path_class *c, uint64_t bytes)
{
    if (c->nsizes == c->room) {
        size_t room = c->room ? 2 * c->room : 256;
        uint64_t *grown = realloc(c->sizes, room * sizeof *grown);
        if (!grown)
            return false;
        c->sizes = grown;
        c->room = room;
    }
    c->sizes[c->nsizes++] = bytes;
    return true;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Distinct sizes; of many, about evenly spread ones by logarithm, the smallest and the largest among them. */
static void thin_sizes(struct path_class *c)
{
    size_t n = 0;
    qsort(c->sizes, c->nsizes, sizeof *c->sizes, ascending);
    for (size_t i = 0; i < c->nsizes; i++)
        if (i == 0 || c->sizes[i] != c->sizes[n - 1])
            c->sizes[n++] = c->sizes[i];
    c->nsizes = n;
    for (double ratio = 1.02; c->nsizes > RUN_IDEAL_SIZES; ratio *= 1.02) {
        size_t kept = 1;
        for (size_t i = 1; i < c->nsizes; i++)
            if ((double)c->sizes[i] >= ratio * (double)c->sizes[kept - 1] || i + 1 == c->nsizes)
                c->sizes[kept++] = c->sizes[i];
        c->nsizes = kept;
    }
}

struct trial { int64_t delivered_ps; bool delivered, completed, failed; };

static void on_delivered(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps)
{
    struct trial *t = ctx;
    (void)c;
    (void)id;
    t->delivered = true;
    t->delivered_ps = now_ps;
}

static void on_completed(void *ctx, struct wl_chan *c, uint64_t id, int64_t now_ps, enum rnic_wc_status status)
{
    struct trial *t = ctx;
    (void)c;
    (void)id;
    (void)now_ps;
    t->completed = true;
    if (status != RNIC_WC_SUCCESS)
        t->failed = true;
}

static const struct wl_sink sink = { on_delivered, on_completed };

static int64_t one_message(struct net *n, struct net_conn *conn, struct trial *t, uint64_t id, uint64_t bytes, int64_t gap_ps)
{
    int64_t from = sim_now(n->sim);
    memset(t, 0, sizeof *t);
    wl_chan_send(conn->chan, id, bytes);
    while (!(t->delivered && t->completed) && !t->failed && sim_step(n->sim))
        continue;
    if (!t->delivered || t->failed)
        return -1;
    sim_run(n->sim, sim_now(n->sim) + gap_ps);
    return t->delivered_ps - from;
}

/* Latencies of the class's sizes, alone and warm; never falling with size. */
static int64_t *calibrate(const struct path_class *c, const struct scenario *sc, const struct variant *v, enum net_mode mode, char *err, size_t errlen)
{
    struct net n;
    struct trial t;
    int64_t *out = malloc((c->nsizes ? c->nsizes : 1) * sizeof *out);
    uint64_t id = 0;
    if (!out || net_open(&n, sc, v, mode, err, errlen) != SIM_OK) {
        free(out);
        return NULL;
    }
    n.max_message_bytes = c->sizes[c->nsizes - 1] > WARM_BYTES ? c->sizes[c->nsizes - 1] : WARM_BYTES;
    struct net_conn *conn = net_connect(&n, c->src, c->dst, WL_PRIO_OWN, &sink, &t);
    bool ok = conn != NULL;
    while (ok && net_waiting(&n) > 0 && sim_step(n.sim))
        continue;
    /* Long enough to put a reader to sleep, and for acknowledgements to come home. */
    int64_t gap = 4 * net_base_rtt_ps(&n, c->src, c->dst) + SIM_PS_PER_MS;
    uint64_t warm = c->sizes[c->nsizes - 1] < WARM_BYTES / 64 ? WARM_BYTES / 64 : WARM_BYTES;
    for (int i = 0; ok && i < WARM_MESSAGES; i++)
        ok = one_message(&n, conn, &t, id++, warm, gap) >= 0;
    for (size_t i = 0; ok && i < c->nsizes; i++) {
        out[i] = INT64_MAX;
        for (int k = 0; ok && k < TRIALS; k++) {
            int64_t ps = one_message(&n, conn, &t, id++, c->sizes[i], gap);
            ok = ps >= 0;
            out[i] = ps < out[i] ? ps : out[i];
        }
    }
    net_close(&n);
    if (!ok) {
        snprintf(err, errlen, "a single message alone on the network did not arrive (for self_slowdown); is a QP's limit too small?");
        free(out);
        return NULL;
    }
    for (size_t i = c->nsizes; i-- > 1;)
        if (out[i - 1] > out[i])
            out[i - 1] = out[i];
    return out;
}

static int64_t alone_ps(const struct path_class *c, const int64_t *known, uint64_t bytes)
{
    size_t lo = 0, hi = c->nsizes;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (c->sizes[mid] <= bytes)
            lo = mid;
        else
            hi = mid;
    }
    int64_t rate = c->hop[0].rate_bps;
    for (uint32_t i = 1; i < c->nhops; i++)
        rate = c->hop[i].rate_bps < rate ? c->hop[i].rate_bps : rate;
    return known[lo] + bits_ps(bytes - c->sizes[lo], rate);
}

static int fill_self(struct classes *k, const struct scenario *sc, const struct variant *v, struct result *r, char *err, size_t errlen)
{
    for (size_t i = 0; i < r->nmessages; i++) {
        const struct result_message *m = &r->messages[i];
        struct path_class *c = calibrated(k, r, i);
        if (c && !add_size(c, m->bytes))
            return snprintf(err, errlen, "out of memory"), SIM_ERR_NOMEM;
    }
    for (size_t i = 0; i < k->n; i++) {
        if (k->c[i].nsizes == 0)
            continue;
        thin_sizes(&k->c[i]);
        k->c[i].alone = calibrate(&k->c[i], sc, v, NET_NO_LOSS, err, errlen);
        if (!k->c[i].alone)
            return SIM_ERR_STATE;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < r->nmessages; i++) {
            struct result_message *m = &r->messages[i];
            struct path_class *c = calibrated(k, r, i);
            if (!c)
                continue;
            if (pass == 0) {
                m->self_ideal_ps = alone_ps(c, c->alone, m->bytes);
                c->want_awake |= m->latency_ps < m->self_ideal_ps;
            } else if (m->latency_ps < m->self_ideal_ps) {
                m->self_ideal_ps = alone_ps(c, c->awake, m->bytes);
                /* A smaller window can spread a message's packets better than sending all at once, by parts in a thousand. */
                if (m->latency_ps < m->self_ideal_ps) {
                    m->self_ideal_ps = m->latency_ps;
                    r->faster_than_alone++;
                }
            }
        }
        for (size_t i = 0; pass == 0 && i < k->n; i++) {
            if (!k->c[i].want_awake)
                continue;
            k->c[i].awake = calibrate(&k->c[i], sc, v, NET_NO_LOSS_AWAKE, err, errlen);
            if (!k->c[i].awake)
                return SIM_ERR_STATE;
        }
    }
    return SIM_OK;
}

int run_ideal_fill(const struct net *n, const struct scenario *sc, const struct variant *v, bool self, struct result *r, char *err, size_t errlen)
{
    struct classes k = { .of = malloc((r->nmessages ? r->nmessages : 1) * sizeof *k.of) };
    int rc = SIM_OK;
    if (!k.of)
        return snprintf(err, errlen, "out of memory"), SIM_ERR_NOMEM;
    for (size_t i = 0; i < r->nmessages; i++) {
        struct result_message *m = &r->messages[i];
        k.of[i] = class_between(&k, n, m->src, m->dst);
        m->ideal_ps = k.of[i] != NO_CLASS ? run_ideal_ps(k.c[k.of[i]].hop, k.c[k.of[i]].nhops, m->bytes) : 0;
    }
    if (self)
        rc = fill_self(&k, sc, v, r, err, errlen);
    for (size_t i = 0; i < k.n; i++) {
        free(k.c[i].sizes);
        free(k.c[i].alone);
        free(k.c[i].awake);
    }
    free(k.c);
    free(k.of);
    return rc;
}
