/* SPDX-License-Identifier: GPL-2.0-only */
/* The admission rule as a pure function: a table of cases; and the switch that keeps its books by it. */
#include "net.h"

#include "../../model/fabric/mmu.h"

#define ALPHA(x) ((uint64_t)((x) * 65536))

struct admission {
    const char *what;
    struct mmu_limits l;
    struct mmu_use u;
    uint32_t len;
    struct mmu_answer want;      /* verdict, reserved, port, queue, shared, headroom */
};

static const struct admission table[] = {
    /* lossy, plain */
    { "dynamic limit: alpha 1 of 10000 free", { .shared = 10000, .alpha = ALPHA(1) }, { .queue = 0 }, 1000, { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
    { "just at alpha 1/2 of what is free", { .shared = 10000, .alpha = ALPHA(0.5) }, { .shared = 4000, .queue = 2000 }, 1000, { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
    { "one byte over it", { .shared = 10000, .alpha = ALPHA(0.5) }, { .shared = 4000, .queue = 2001 }, 1000, { MMU_DROP_QUEUE, 0, 0, 0, 1000, 0 } },
    { "static limit, just at it", { .shared = 10000, .queue = 3000 }, { .queue = 2000 }, 1000, { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
    { "static limit, over it", { .shared = 10000, .queue = 3000 }, { .queue = 2001 }, 1000, { MMU_DROP_QUEUE, 0, 0, 0, 1000, 0 } },
    { "static limit larger than what is left", { .shared = 10000, .queue = 30000 }, { .shared = 9001 }, 1000, { MMU_DROP_SHARED, 0, 0, 0, 1000, 0 } },
    { "the last shared byte", { .shared = 10000, .queue = 30000 }, { .shared = 9000 }, 1000, { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
    /* lossy, reserves and ingress */
    { "within the queue's reserve though nothing is shared", { .shared = 0, .alpha = ALPHA(1), .queue_reserved = 2000 }, { .queue_reserved = 900 }, 1000, { MMU_ADMIT, 0, 0, 1000, 0, 0 } },
    { "queue's reserve, then port's, then shared", { .shared = 10000, .alpha = ALPHA(1), .queue_reserved = 1000, .port_reserved = 500 }, { .queue_reserved = 700, .port_reserved = 100 }, 1000,
      { MMU_ADMIT, 0, 400, 300, 300, 0 } },
    { "a reserve that others use up", { .shared = 0, .queue = 9000, .queue_reserved = 1000 }, { .queue_reserved = 1000 }, 1, { MMU_DROP_SHARED, 0, 0, 0, 1, 0 } },
    { "ingress limit, at it", { .shared = 10000, .alpha = ALPHA(8), .ingress_alpha = ALPHA(0.25) }, { .shared = 2000, .pg = { .shared = 1000 } }, 1000, { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
    { "ingress limit, over it", { .shared = 10000, .alpha = ALPHA(8), .ingress_alpha = ALPHA(0.25) }, { .shared = 2000, .pg = { .shared = 1001 } }, 1000, { MMU_DROP_INGRESS, 0, 0, 0, 1000, 0 } },
    /* lossless */
    { "own reserve", { .shared = 10000, .pfc_alpha = ALPHA(1), .reserved = 4096 }, { .lossless = true }, 1000, { MMU_ADMIT, 1000, 0, 0, 0, 0 } },
    { "own reserve, then shared", { .shared = 10000, .pfc_alpha = ALPHA(1), .reserved = 4096 }, { .lossless = true, .pg = { .reserved = 4000 } }, 1000, { MMU_ADMIT, 96, 0, 0, 904, 0 } },
    { "own reserve, port's, shared", { .shared = 10000, .pfc_alpha = ALPHA(1), .reserved = 4096, .port_reserved = 100 }, { .lossless = true, .pg = { .reserved = 4000 } }, 1000, { MMU_ADMIT, 96, 100, 0, 804, 0 } },
    { "just at static XOFF", { .shared = 10000, .xoff = 5000 }, { .lossless = true, .pg = { .shared = 4000 }, .shared = 4000, .headroom_limit = 9000 }, 1000, { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
    { "over static XOFF: headroom", { .shared = 10000, .xoff = 5000 }, { .lossless = true, .pg = { .shared = 4001 }, .shared = 4001, .headroom_limit = 9000 }, 1000, { MMU_ADMIT_XOFF, 0, 0, 0, 0, 1000 } },
    { "dynamic XOFF counts reserved bytes on top", { .shared = 8000, .pfc_alpha = ALPHA(0.5), .reserved = 1000 }, { .lossless = true, .pg = { 1000, 0, 2000, 0 }, .shared = 2000, .headroom_limit = 9000 }, 1000,
      { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
    { "dynamic XOFF crossed", { .shared = 8000, .pfc_alpha = ALPHA(0.5), .reserved = 1000 }, { .lossless = true, .pg = { 1000, 0, 2001, 0 }, .shared = 2001, .headroom_limit = 9000 }, 1000,
      { MMU_ADMIT_XOFF, 0, 0, 0, 0, 1000 } },
    { "nothing shared is left: headroom before XOFF", { .shared = 3000, .xoff = 50000 }, { .lossless = true, .shared = 2500, .headroom_limit = 9000 }, 1000, { MMU_ADMIT_XOFF, 0, 0, 0, 0, 1000 } },
    { "the last byte of headroom", { .shared = 0, .xoff = 1 }, { .lossless = true, .pg = { .headroom = 8000 }, .headroom_limit = 9000 }, 1000, { MMU_ADMIT_XOFF, 0, 0, 0, 0, 1000 } },
    { "headroom full", { .shared = 0, .xoff = 1 }, { .lossless = true, .pg = { .headroom = 8001 }, .headroom_limit = 9000 }, 1000, { MMU_DROP_HEADROOM, 0, 0, 0, 0, 1000 } },
    { "headroom pool empty", { .shared = 0, .xoff = 1, .headroom_pool = 20000 }, { .lossless = true, .headroom_limit = 9000, .headroom_pool = 19001 }, 1000, { MMU_DROP_HEADROOM_POOL, 0, 0, 0, 0, 1000 } },
    { "headroom pool just enough", { .shared = 0, .xoff = 1, .headroom_pool = 20000 }, { .lossless = true, .headroom_limit = 9000, .headroom_pool = 19000 }, 1000, { MMU_ADMIT_XOFF, 0, 0, 0, 0, 1000 } },
    { "egress limit of a lossless queue", { .shared = 10000, .xoff = 50000, .lossless_alpha = ALPHA(0.5) }, { .lossless = true, .shared = 4000, .queue = 2001 }, 1000, { MMU_DROP_QUEUE, 0, 0, 0, 0, 0 } },
    { "no egress limit unless asked for", { .shared = 10000, .xoff = 50000 }, { .lossless = true, .shared = 4000, .queue = 2001 }, 1000, { MMU_ADMIT, 0, 0, 0, 1000, 0 } },
};

static bool rare(const struct mmu_limits *l)
{
    return l->port_reserved || l->queue_reserved || l->ingress_alpha || l->lossless_alpha || l->headroom_pool;
}

static void check(const struct admission *c, const struct mmu_answer *a)
{
    if (a->verdict != c->want.verdict)
        fail_msg("%s: verdict %d, not %d", c->what, a->verdict, c->want.verdict);
    if (a->reserved != c->want.reserved || a->port != c->want.port || a->queue != c->want.queue || a->shared != c->want.shared || a->headroom != c->want.headroom)
        fail_msg("%s: %u reserved, %u port, %u queue, %u shared, %u headroom", c->what, a->reserved, a->port, a->queue, a->shared, a->headroom);
}

static void admission_by_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct mmu_answer a = mmu_admit(&table[i].l, &table[i].u, table[i].len, true);
        check(&table[i], &a);
        if (rare(&table[i].l))
            continue;
        a = mmu_admit(&table[i].l, &table[i].u, table[i].len, false); /* the short form says the same */
        check(&table[i], &a);
    }
}

static void resume_by_table(void **state)
{
    static const struct { struct mmu_limits l; uint64_t shared_used; struct mmu_pg pg; bool want; } t[] = {
        { { .shared = 9000, .xoff = 5000, .xon_offset = 1000 }, 0, { 0, 0, 4000, 0 }, true },
        { { .shared = 9000, .xoff = 5000, .xon_offset = 1000 }, 0, { 0, 0, 4001, 0 }, false },
        { { .shared = 9000, .xoff = 5000, .xon_offset = 1000 }, 0, { 0, 0, 0, 1 }, false },      /* headroom first */
        { { .shared = 9000, .xoff = 500, .xon_offset = 1000 }, 0, { 0, 0, 0, 0 }, true },        /* nothing held */
        { { .shared = 9000, .xoff = 5000, .xon = 2000, .xon_offset = 1000 }, 0, { 1000, 0, 1000, 0 }, true },
        { { .shared = 9000, .xoff = 5000, .xon = 2000, .xon_offset = 1000 }, 0, { 1000, 0, 1001, 0 }, false },
        { { .shared = 9000, .pfc_alpha = ALPHA(0.5), .xon_offset = 1000 }, 5000, { 0, 0, 1000, 0 }, true },
        { { .shared = 9000, .pfc_alpha = ALPHA(0.5), .xon_offset = 1000 }, 5001, { 0, 0, 1000, 0 }, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        if (mmu_xon(&t[i].l, t[i].shared_used, &t[i].pg) != t[i].want)
            fail_msg("case %zu", i);
}

/* What admissions took, releases give back, in any order. */
static void release_gives_back_all(void **state)
{
    struct mmu_limits l = { .shared = 20000, .xoff = 6000, .reserved = 2000, .port_reserved = 1500 };
    struct mmu_pg pg = { 0 };
    struct sim_rng r;
    uint32_t held[200], n = 0, port = 0;
    uint64_t shared = 0;
    (void)state;
    sim_rng_init(&r, 3, 0, SIM_RNG_TEST);
    for (int step = 0; step < 20000; step++) {
        if (n < 200 && sim_rng_below(&r, 2)) {
            uint32_t len = 64 + sim_rng_below(&r, 1500);
            struct mmu_use u = { .lossless = true, .shared = shared, .pg = pg, .headroom_limit = 8000, .port_reserved = port };
            struct mmu_answer a = mmu_admit(&l, &u, len, true);
            if (a.verdict > MMU_ADMIT_XOFF)
                continue;
            assert_int_equal(a.reserved + a.port + a.shared + a.headroom, len);
            pg = (struct mmu_pg){ pg.reserved + a.reserved, pg.port + a.port, pg.shared + a.shared, pg.headroom + a.headroom };
            port += a.port;
            shared += a.shared;
            held[n++] = len;
        } else if (n) {
            struct mmu_answer freed;
            uint32_t k = sim_rng_below(&r, n), len = held[k];
            held[k] = held[--n];
            mmu_release(&pg, len, &freed);
            assert_int_equal(freed.reserved + freed.port + freed.shared + freed.headroom, len);
            port -= freed.port;
            shared -= freed.shared;
        }
        assert_true(pg.reserved <= l.reserved && port <= l.port_reserved && pg.headroom <= 8000 && shared == pg.shared && port == pg.port);
    }
    while (n) {
        struct mmu_answer freed;
        mmu_release(&pg, held[--n], &freed);
    }
    assert_int_equal(pg.reserved + pg.port + pg.shared + pg.headroom, 0);
}

/* --- in a switch --- */

static uint64_t refused_by(const struct switch_params *sw, enum fabric_limit which, uint64_t *others)
{
    struct link_params link = net_cable();
    struct net *n = net_star(6, &link, sw, NULL);
    for (uint32_t i = 2; i < 6; i++)
        net_greedy(&n->raw[i], 1, 200 * SIM_PS_PER_US);
    sim_run(n->s, SIM_PS_PER_MS);
    const struct fabric_audit *a = fabric_audit(n->f);
    uint64_t all = 0;
    for (int i = 0; i < FABRIC_LIMIT_COUNT; i++)
        all += a->refused[i];
    assert_int_equal(all, a->dropped[FABRIC_DROP_BUFFER][3]);
    *others = all - a->refused[which];
    uint64_t hits = a->refused[which];
    for (uint32_t i = 2; i < 6; i++) /* the buffer is empty again: whoever comes is admitted */
        assert_int_equal(fabric_queue_bytes(n->f, 6, i, 3), 0);
    net_free(n);
    return hits;
}

static void drops_name_the_limit_that_refused(void **state)
{
    uint64_t others;
    (void)state;
    struct switch_params sw = net_switch();
    sw.queue_limit_bytes = 50000;
    assert_true(refused_by(&sw, FABRIC_LIMIT_QUEUE, &others) > 100 && others == 0);
    sw.queue_limit_bytes = 1000000;
    sw.buffer_bytes = 100000;
    assert_true(refused_by(&sw, FABRIC_LIMIT_SHARED, &others) > 100 && others == 0);
    sw = net_switch();
    sw.alpha = 100;
    sw.buffer_bytes = 400000;
    sw.ingress_alpha = 0.125;
    assert_true(refused_by(&sw, FABRIC_LIMIT_INGRESS, &others) > 100 && others == 0);
    sw = net_switch();
    sw.pfc = 1;
    sw.pfc_xoff_bytes = 20000;
    sw.headroom_bytes = 5000;
    assert_true(refused_by(&sw, FABRIC_LIMIT_HEADROOM, &others) > 4 && others == 0);
    sw.headroom_bytes = 0;
    sw.headroom_pool_bytes = 30000;
    assert_true(refused_by(&sw, FABRIC_LIMIT_HEADROOM_POOL, &others) > 4 && others == 0);
}

/* A queue's reserve holds room for it though others have filled what is shared. */
static void reserve_keeps_room(void **state)
{
    (void)state;
    for (int reserved = 0; reserved < 2; reserved++) {
        struct link_params link = net_cable();
        struct switch_params sw = net_switch();
        sw.buffer_bytes = 300000;
        sw.queue_limit_bytes = 1000000; /* the first queue may take all that is shared */
        sw.queue_reserved_bytes = reserved ? 3000 : 0;
        struct net *n = net_star(6, &link, &sw, NULL);
        for (uint32_t i = 2; i < 5; i++)
            net_greedy(&n->raw[i], 1, SIM_PS_PER_MS);
        sim_run(n->s, 500 * SIM_PS_PER_US);
        n->raw[5].dst = 0; /* another port's queue, one packet at a time */
        for (int k = 0; k < 50; k++) {
            net_post(&n->raw[5]);
            sim_run(n->s, sim_now(n->s) + 10 * SIM_PS_PER_US);
        }
        if (reserved)
            assert_int_equal(n->raw[0].got, 50);
        else
            assert_true(n->raw[0].got < 40);
        net_free(n);
    }
}

/* Cells: a byte over a cell's size takes two cells. */
static void bytes_are_rounded_up_to_cells(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    sw.cell_bytes = 256;
    sw.pfc = 1;
    sw.buffer_bytes = 40000000;
    struct net *n = net_star(3, &link, &sw, NULL);
    const uint16_t stop[8] = { [3] = 65535 };
    port_send_pfc(fabric_port(n->f, 1, 0), 1 << 3, stop);
    sim_run(n->s, 50 * SIM_PS_PER_US);
    n->raw[2].payload = 257 - 62;
    for (int i = 0; i < 10; i++)
        net_post(&n->raw[2]);
    sim_run(n->s, 60 * SIM_PS_PER_US);
    assert_int_equal(fabric_queue_bytes(n->f, 3, 1, 3), 10 * 512);
    sim_run(n->s, SIM_PS_PER_MS);
    assert_int_equal(n->raw[1].got, 10);
    net_free(n);
}

/* Two senders in step overload a port: whose packet comes first must not be always the same one's luck, so both lose about alike. */
static void two_synchronised_senders_lose_alike(void **state)
{
    (void)state;
    struct link_params link = net_cable();
    struct switch_params sw = net_switch();
    sw.queue_limit_bytes = 50000;
    struct net *n = net_star(4, &link, &sw, NULL);
    for (uint32_t k = 2; k < 4; k++)
        net_greedy(&n->raw[k], 1, SIM_PS_PER_MS);
    sim_run(n->s, 2 * SIM_PS_PER_MS);
    assert_int_equal(n->raw[2].sent, n->raw[3].sent);
    double lost[2];
    for (int k = 0; k < 2; k++)
        lost[k] = (double)(n->raw[2 + k].sent - n->raw[1].from[2 + k]);
    assert_true(lost[0] + lost[1] > (double)n->raw[2].sent * 0.9);
    /* a fair coin for each of so many packets: four standard deviations */
    if (fabs(lost[0] - lost[1]) > 4 * sqrt(lost[0] + lost[1]))
        fail_msg("%.0f and %.0f lost", lost[0], lost[1]);
    net_free(n);
}

struct seen { uint64_t digest, queue, buffer, least_headroom, shared, shared_peak, window; struct fabric_class_peak of[PORT_PRIOS]; };

static void look(const struct net *n, struct seen *o)
{
    struct fabric_queue_peak k;
    fabric_queue_peaks(n->f, &k);
    *o = (struct seen){ .digest = sim_digest(n->s), .queue = k.peak_queue_bytes, .buffer = k.peak_buffer_bytes, .least_headroom = k.least_headroom_bytes };
    fabric_shared_peak(n->f, &o->shared_peak, &o->shared);
    o->window = fabric_queue_peak_take(n->f);
    fabric_class_peaks(n->f, o->of);
}

/* The switch compiled with the rarer features, none of them on, does and counts what the plain one does: where queues stand, and where nearly every
 * packet finds its port idle. */
static void both_switches_are_one(void **state)
{
    (void)state;
    for (int crowded = 0; crowded < 2; crowded++) {
        struct seen seen[2];
        for (int full = 0; full < 2; full++) {
            struct link_params link = net_cable();
            struct switch_params sw = net_switch();
            struct net *n = net_new(16, 4, 5, NULL);
            link.loss = 1e-3;
            sw.force_full = full;
            sw.pfc = 1;
            sw.ecn = 1;
            sw.ecn_kmin_bytes = 5000;
            sw.ecn_kmax_bytes = 200000;
            sw.queue_limit_bytes = 30000;
            sw.pfc_xoff_bytes = crowded ? 20000 : 0;
            for (uint32_t k = 0; k < 4; k++)
                fabric_add_switch(n->f, &sw);
            for (uint32_t i = 0; i < 16; i++)
                net_link(n, i, 16 + i / 8, &link);
            for (uint32_t l = 16; l < 18; l++)
                for (uint32_t s = 18; s < 20; s++)
                    net_link(n, l, s, &link);
            net_finish(n);
            for (uint32_t i = 0; i < (crowded ? 16 : 3); i++) {
                n->raw[i].dscp = i % 2 ? 26 : 0;
                n->raw[i].prio = i % 2 ? 3 : 0;
                n->raw[i].ecn = i % 3 ? 2 : 0;
                net_greedy(&n->raw[i], crowded ? (i + 5) % 4 : 9 + i, 300 * SIM_PS_PER_US);
            }
            sim_run(n->s, 2 * SIM_PS_PER_MS);
            if (crowded)
                assert_true(fabric_audit(n->f)->marks > 0 && fabric_audit(n->f)->pause_frames > 0 && fabric_audit(n->f)->dropped[FABRIC_DROP_BUFFER][0] > 0);
            look(n, &seen[full]);
            net_free(n);
        }
        const struct seen *x = &seen[0], *y = &seen[1];
        assert_true(x->digest == y->digest && x->queue == y->queue && x->buffer == y->buffer && x->least_headroom == y->least_headroom);
        assert_true(x->shared_peak == y->shared_peak && x->shared == y->shared && x->window == y->window && x->queue > 0);
        for (unsigned p = 0; p < PORT_PRIOS; p++)
            assert_true(x->of[p].peak_bytes == y->of[p].peak_bytes && x->of[p].xoff_bytes == y->of[p].xoff_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admission_by_table), cmocka_unit_test(resume_by_table), cmocka_unit_test(release_gives_back_all),
        cmocka_unit_test(drops_name_the_limit_that_refused), cmocka_unit_test(reserve_keeps_room), cmocka_unit_test(bytes_are_rounded_up_to_cells),
        cmocka_unit_test(two_synchronised_senders_lose_alike), cmocka_unit_test(both_switches_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
