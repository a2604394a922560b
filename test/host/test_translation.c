/* SPDX-License-Identifier: GPL-2.0-only */
/* The NIC's cache of memory translations: hit ratios by law, throughput by fetches, and the slow receiver of Guo et al. (SIGCOMM'16, 4.4), whose
 * only fault is the size of its pages. */
#include "../roce/star.h"

#include <math.h>

#include "../../model/host/translation_cache.h"
#include "../../model/sim/rng.h"

#define PAGE UINT64_C(4096)

/* Share of hits of `rounds` x n accesses to n pages, after a round to warm it. */
static double hit_ratio(uint32_t entries, bool random_replacement, uint32_t n, bool random_access, uint32_t rounds)
{
    struct translation_cache *c = translation_cache_new(entries, PAGE, random_replacement, 1, 1, 0);
    struct sim_rng rng;
    uint64_t hits = 0, misses = 0;
    sim_rng_init(&rng, 7, 7, SIM_RNG_TEST);
    for (uint32_t r = 0; r <= rounds; r++) {
        if (r == 1)
            hits = misses = 0;
        for (uint32_t i = 0; i < n; i++)
            (void)translation_cache_touch(c, 5, PAGE * (random_access ? sim_rng_below(&rng, n) : i), 100, 0, 0, &hits, &misses);
    }
    translation_cache_free(c);
    assert_int_equal(hits + misses, (uint64_t)rounds * n);
    return (double)hits / (double)(hits + misses);
}

/* In turn with LRU: all or nothing. At random: entries / pages. */
static void hit_ratios_follow_their_laws(void **state)
{
    (void)state;
    static const uint32_t n[] = { 50, 100, 101, 200, 1000 };
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        bool all = n[i] <= 100;
        assert_true(hit_ratio(100, false, n[i], false, 20) == all);
        for (int random = 0; random < 2; random++) {
            double h = hit_ratio(100, random, n[i], true, 200), law = all ? 1 : 100. / n[i];
            if (fabs(h - law) > 0.01)
                fail_msg("%u pages at random, %s: %.4f, not %.4f", n[i], random ? "random" : "lru", h, law);
        }
    }
}

static void pages_are_told_apart(void **state)
{
    (void)state;
    static const struct { uint32_t rkey; uint64_t va; uint32_t len; uint64_t hits, misses; } row[] = {
        { 1, 0, 4096, 0, 1 }, { 1, 4095, 1, 1, 0 }, { 1, 4095, 2, 1, 1 }, { 2, 0, 1, 0, 1 },    /* another region */
        { 1, 4096, 0, 1, 0 }, { 1, UINT64_C(0xfffffffffffffc00), 0x400, 0, 1 }, { 1, 4096, 3 * 4096, 1, 2 },
    };
    struct translation_cache *c = translation_cache_new(100, PAGE, false, 2, 1, 0);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint64_t hits = 0, misses = 0;
        struct context_use u = translation_cache_touch(c, row[i].rkey, row[i].va, row[i].len, 1000 * (int64_t)i, 100, &hits, &misses);
        assert_int_equal(hits, row[i].hits);
        assert_int_equal(misses, row[i].misses);
        assert_int_equal(u.hit, misses == 0);
        assert_int_equal(u.ready_ps, 1000 * (int64_t)i + (misses ? 100 : 0));   /* two fetches at a time */
    }
    translation_cache_free(c);
}

/* Which page makes room is drawn apart from which context does, on the same node and from the same seed. */
static void contexts_and_translations_draw_apart(void **state)
{
    (void)state;
    enum { HELD = 8, ALL = 16, TIMES = 4000 };
    struct translation_cache *pages = translation_cache_new(HELD, PAGE, true, 1, 3, 5);
    struct context_cache *contexts = context_cache_new(HELD, true, 1, 3, 5, SIM_RNG_CONTEXT);
    uint32_t where[ALL] = { 0 }, alike = 0;
    for (uint32_t i = 0; i < TIMES; i++) {
        uint64_t hits = 0, misses = 0;
        bool hit = translation_cache_touch(pages, 1, PAGE * (i % ALL), 1, 0, 0, &hits, &misses).hit;
        alike += hit == context_cache_touch(contexts, &where[i % ALL], 0, 0).hit;
    }
    assert_in_range(alike, TIMES / 4, 3 * TIMES / 4);
    translation_cache_free(pages);
    context_cache_free(contexts);
}

struct setup { struct link_params link; struct switch_params sw; struct host_params host; struct roce_params roce; };

static struct setup setup(void)
{
    struct setup u;
    param_defaults(&link_params_table, &u.link);
    param_defaults(&host_params_table, &u.host);
    switch_params_init(&u.sw);
    param_defaults(&roce_params_table, &u.roce);
    return u;
}

/* Time of the last of three messages over the same `bytes`. */
static int64_t message_ps(const struct setup *u, const struct host_params *receiver, uint32_t bytes, uint64_t *misses)
{
    const struct host_params *each[] = { &u->host, receiver };
    struct star *s = star_new_each(2, &u->link, &u->sw, each);
    struct rnic_qp *qp = star_connect(s, 0, 1, &u->roce, NULL, NULL, NULL);
    int64_t second_ps = 0;
    for (uint64_t i = 0; i < 3; i++)
        star_write(s, qp, 0, 1, bytes, i);
    for (int64_t t = 0; s->completions < 3 && t < 10 * SIM_PS_PER_MS; t += 10 * SIM_PS_PER_NS) {
        sim_run(s->sim, t);
        if (s->completions == 2)
            second_ps = s->completed_ps;
    }
    assert_int_equal(s->completions, 3);
    assert_int_equal(rnic_qp_counters(qp)->retransmitted_packets, 0);
    int64_t took = s->completed_ps - second_ps;
    *misses = host_stats(s->host[1])->translation_misses;
    star_free(s);
    return took;
}

/* More pages than are held, in turn: each costs a fetch, so a message takes pages / fetches round trips, to the picosecond. Where pages fit, being few
 * or large, it takes the wire's time. */
static void a_fetch_a_page_bounds_the_receiver(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    const int64_t ns = SIM_PS_PER_NS;
    const struct { int64_t entries, page, fetches, dma_ps, page_ps; uint64_t misses; } row[] = {
        { 64, 4096, 1, 700 * ns, 700 * ns, 3 * 256 }, { 64, 4096, 2, 2800 * ns, 1400 * ns, 3 * 256 }, { 64, 8192, 1, 2000 * ns, 2000 * ns, 3 * 129 },
        { 300, 4096, 1, 700 * ns, 0, 256 }, { 64, 2097152, 1, 700 * ns, 0, 1 }, { 0, 4096, 1, 700 * ns, 0, 0 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct setup u = setup();
        struct host_params p = u.host;
        uint64_t misses;
        p.rx_buffer_bytes = 100000000;
        int64_t wire_ps = message_ps(&u, &p, BYTES, &misses);
        p.translations = row[i].entries;
        p.page_size_bytes = row[i].page;
        p.translation_fetches = row[i].fetches;
        p.dma_read_ps = row[i].dma_ps;
        int64_t took = message_ps(&u, &p, BYTES, &misses), due = wire_ps;
        if (row[i].page_ps)                         /* the region begins at VA, 4096: with pages of 8192 it touches one more */
            due = (int64_t)row[i].misses / 3 * row[i].page_ps;
        if (took != due || misses != row[i].misses)
            fail_msg("row %zu: %lld ps, not %lld; %llu misses", i, (long long)took, (long long)due, (unsigned long long)misses);
    }
}

/* --- the slow receiver --- */

struct outcome { uint64_t nic_pauses, switch_pauses, drops; double slow_bps, innocent_bps; };

static void again(struct star *s, const struct rnic_wc *wc)
{
    star_write(s, s->flow[wc->wr_id], 0, (uint32_t)wc->wr_id + 1, 1 << 20, wc->wr_id);
}

/* Host 0 writes to host 1, whose NIC has a cache of translations, and to host 2, which has nothing to do with it. */
static struct outcome with_pages_of(int64_t page_size)
{
    struct setup u = setup();
    struct host_params slow = u.host;
    const struct host_params *each[] = { &u.host, &slow, &u.host };
    const int64_t end_ps = 6 * SIM_PS_PER_MS;
    struct outcome o = { 0 };
    uint64_t acked[2], sent;
    u.sw.pfc = true;
    u.sw.pfc_xoff_bytes = 220000;
    slow.translations = 100;
    slow.dma_read_ps = 1600 * SIM_PS_PER_NS;
    slow.page_size_bytes = page_size;
    struct star *s = star_new_each(3, &u.link, &u.sw, each);
    for (uint32_t i = 0; i < 3; i++)
        host_set_lossless(s->host[i], 1 << 3);
    s->on_wc = again;
    for (uint32_t i = 0; i < 2; i++) {
        s->flow[i] = star_connect(s, 0, i + 1, &u.roce, NULL, NULL, NULL);
        for (int k = 0; k < 4; k++)
            star_write(s, s->flow[i], 0, i + 1, 1 << 20, i);
    }
    sim_run(s->sim, end_ps);
    for (uint32_t i = 0; i < 2; i++)
        roce_qp_progress(s->flow[i], &acked[i], &sent);
    o.slow_bps = (double)acked[0] * 8e12 / (double)end_ps;
    o.innocent_bps = (double)acked[1] * 8e12 / (double)end_ps;
    o.nic_pauses = host_stats(s->host[1])->pause_frames;
    o.switch_pauses = port_stats(fabric_port(s->fabric, 0, 0))->rx_prio_pause[3];
    o.drops = host_stats(s->host[1])->rx_drops;
    star_free(s);
    return o;
}

/* 4 KB a fetch of 1.6 us are 20.48 Gb/s: the NIC pauses, its switch pauses the sender, and who shares the sender gets no more. 2 MB pages mend it. */
static void small_pages_make_a_slow_receiver(void **state)
{
    (void)state;
    struct outcome small = with_pages_of(4096), large = with_pages_of(2097152);
    print_message("innocent: %.2f Gb/s beside 4 KB pages, %.2f beside 2 MB pages\n", small.innocent_bps / 1e9, large.innocent_bps / 1e9);
    assert_true(small.nic_pauses > 0 && small.switch_pauses > 0);
    assert_true(fabs(small.slow_bps / 20.48e9 - 1) < .02);
    assert_true(small.innocent_bps < 1.3 * 20.48e9);
    assert_int_equal(large.nic_pauses + large.switch_pauses, 0);
    assert_true(large.innocent_bps > 45e9 && large.slow_bps > 45e9);
    assert_int_equal(small.drops + large.drops, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(hit_ratios_follow_their_laws), cmocka_unit_test(pages_are_told_apart), cmocka_unit_test(contexts_and_translations_draw_apart),
        cmocka_unit_test(a_fetch_a_page_bounds_the_receiver), cmocka_unit_test(small_pages_make_a_slow_receiver) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
