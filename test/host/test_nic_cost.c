/* SPDX-License-Identifier: GPL-2.0-only */
/* What the NIC charges beside its pipeline: PCIe in each direction with TLP headers, contexts that it does not hold, payload read again,
 * payload kept until its turn, connections beyond its limit. Expectations are closed forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "../../model/host/context_cache.h"
#include "../../model/host/pcie.h"
#include "../../model/sim/rng.h"
#include "flows.h"

/* --- PCIe --- */

static void a_transfer_takes_its_bytes_and_headers(void **state)
{
    (void)state;
    struct pcie p = { .rate_bps = INT64_C(64000000000) };        /* 8 bytes a ns */
    assert_int_equal(pcie_time_ps(&p, PCIE_READ, 1000), 125 * NS);
    p.max_payload_bytes = 256;
    assert_int_equal(pcie_time_ps(&p, PCIE_WRITE, 256), (256 + 24) * NS / 8);
    assert_int_equal(pcie_time_ps(&p, PCIE_READ, 256), (256 + 20) * NS / 8);
    assert_int_equal(pcie_time_ps(&p, PCIE_WRITE, 257), (257 + 48) * NS / 8);
    assert_int_equal(pcie_time_ps(&p, PCIE_WRITE, 0), 0);
    assert_int_equal(pcie_move(&p, PCIE_WRITE, 1000 * NS, 232), 1032 * NS);
    assert_int_equal(pcie_move(&p, PCIE_WRITE, 0, 232), 1064 * NS);   /* first come, first served */
    assert_int_equal(pcie_move(&p, PCIE_READ, 0, 236), 32 * NS);      /* the other direction has not noticed */
    assert_int_equal(p.bytes[PCIE_WRITE], 464);
    assert_int_equal(p.bytes[PCIE_READ], 236);
}

/* Between packets lies exactly the longer of pipeline, wire and PCIe; and a stream against it changes nothing. */
static void pcie_bounds_each_direction_alone(void **state)
{
    (void)state;
    const int64_t pcie_bps = INT64_C(40000000000);               /* 5 bytes a ns; the link 12.5 */
    for (int both = 0; both < 2; both++)
        for (int at_sender = 0; at_sender < 2; at_sender++) {
            struct host_params none = profile("ideal"), p = none;
            p.pcie_rate_bps = pcie_bps;
            p.pcie_max_payload_bytes = 256;
            struct world *w = world(at_sender ? &p : &none, at_sender ? &none : &p, PKT_ROCE);
            send_segments(w, 0, 200);
            if (both)
                send_segments(w, 3, 200);
            sim_run(w->n.s, SIM_NEVER_PS);
            assert_int_equal(w->flow[2].got, 200);
            assert_int_equal(w->flow[2].last_ps - w->flow[2].first_ps, 199 * (BODY + 4 * (at_sender ? 20 : 24)) * NS / 5);
            uint64_t to_nic, to_host;
            host_pcie_bytes(w->n.h[!at_sender], &to_nic, &to_host);
            assert_int_equal(to_nic, at_sender || both ? 200 * BODY : 0);
            assert_int_equal(to_host, !at_sender || both ? 200 * BODY : 0);
            world_free(w);
        }
}

/* --- the cache alone --- */

#define CONTEXTS_MAX 1000

/* Share of hits of `rounds` x n accesses to n connections, after one round to warm it. */
static double hit_ratio(uint32_t entries, bool random_replacement, uint32_t n, bool random_access, uint32_t rounds)
{
    uint32_t where[CONTEXTS_MAX] = { 0 };
    struct context_cache *c = context_cache_new(entries, random_replacement, 1, 1, 0, SIM_RNG_CONTEXT);
    struct sim_rng rng;
    uint64_t hits = 0;
    sim_rng_init(&rng, 7, 7, SIM_RNG_TEST);
    for (uint32_t r = 0; r <= rounds; r++)
        for (uint32_t i = 0; i < n; i++) {
            struct context_use u = context_cache_touch(c, &where[random_access ? sim_rng_below(&rng, n) : i], 0, 0);
            hits += r > 0 && u.hit;
        }
    context_cache_free(c);
    return (double)hits / ((double)rounds * n);
}

/* In turn with replacement at random: between two uses of a connection (n - 1)(1 - h) others are fetched, each leaving it in place with
 * probability 1 - 1/entries. */
static double fixed_point(double entries, double n)
{
    double low = 0, high = 1;                                    /* below the root the right side is larger */
    for (int i = 0; i < 100; i++) {
        double h = (low + high) / 2;
        if (pow(1 - 1 / entries, (n - 1) * (1 - h)) > h && h < 1 - 1e-9)
            low = h;
        else
            high = h;
    }
    return low;
}

static void hit_ratios_follow_their_laws(void **state)
{
    (void)state;
    const uint32_t entries = 100;
    static const uint32_t n[] = { 50, 100, 101, 200, 400, 1000 };
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        double all = n[i] <= entries;
        assert_true(hit_ratio(entries, false, n[i], false, 20) == all);       /* LRU, in turn: all or nothing */
        for (int random = 0; random < 2; random++) {
            double h = hit_ratio(entries, random, n[i], true, 200), law = all ? 1 : (double)entries / n[i];
            if (fabs(h - law) > 0.01)
                fail_msg("%u connections at random, %s: %.4f, not %.4f", n[i], random ? "random" : "lru", h, law);
        }
        if (n[i] >= 200) {
            double h = hit_ratio(entries, true, n[i], false, 400), law = fixed_point(entries, n[i]);
            if (fabs(h - law) > 0.01)
                fail_msg("%u connections in turn, random: %.4f, not %.4f", n[i], h, law);
        }
    }
}

static void fetches_overlap_up_to_their_number(void **state)
{
    (void)state;
    uint32_t where[5] = { 0 };
    struct context_cache *c = context_cache_new(4, false, 2, 1, 0, SIM_RNG_CONTEXT);
    static const int64_t begin[] = { 0, 0, 100, 100 };
    for (int i = 0; i < 4; i++) {
        struct context_use u = context_cache_touch(c, &where[i], 0, 100);
        assert_int_equal(u.begin_ps, begin[i]);
        assert_int_equal(u.ready_ps, begin[i] + 100);
        assert_false(u.hit || u.replaced);
    }
    struct context_use u = context_cache_touch(c, &where[0], 50, 100);
    assert_true(u.hit && u.begin_ps == 50 && u.ready_ps == 100); /* on its way */
    u = context_cache_touch(c, &where[4], 300, 100);
    assert_true(!u.hit && u.replaced && where[1] == 0);          /* the least recently used */
    context_cache_drop(c, &where[0]);
    u = context_cache_touch(c, &where[1], 400, 100);
    assert_true(!u.hit && !u.replaced && where[4] != 0);
    context_cache_free(c);
}

/* --- the cache in a NIC --- */

static struct host_params with_contexts(int64_t contexts, int64_t fetches)
{
    struct host_params p = profile("ideal");
    p.contexts = contexts;
    p.context_fetches = fetches;
    p.dma_read_ps = 800 * NS;
    p.tx_packet_ps = p.rx_packet_ps = 100 * NS;
    p.rx_buffer_bytes = INT64_C(100000000);
    return p;
}

/* Endless flows take turns: the NIC's packet rate is the pipeline's while their contexts fit, else a miss each: fetches / round trip. */
static void packet_rate_falls_when_contexts_do_not_fit(void **state)
{
    (void)state;
    const struct { uint32_t flows; int64_t contexts, fetches, gap_ps; } row[] = {
        { 16, 16, 1, 100 * NS }, { 16, 0, 1, 100 * NS }, { 20, 16, 1, 800 * NS }, { 64, 16, 1, 800 * NS },
        { 64, 16, 2, 400 * NS }, { 64, 16, 4, 200 * NS }, { 64, 16, 16, 100 * NS },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        for (int at_sender = 0; at_sender < 2; at_sender++) {
            struct host_params none = profile("ideal"), p = with_contexts(row[i].contexts, row[i].fetches);
            uint32_t n = row[i].flows, each = 4096 / n;
            struct world *w = world_of(at_sender ? &p : &none, at_sender ? &none : &p, PKT_ROCE, n);
            for (uint32_t k = 0; k < n; k++)
                send_segments(w, k, each);
            sim_run(w->n.s, SIM_NEVER_PS);
            /* the first round fills the cache; each flow's later packets come a round apart. The first flow sends twice before the others are there, and
             * so has nothing left for the last round. */
            bool fit = row[i].contexts == 0 || n <= row[i].contexts;
            int64_t cold = row[i].contexts && fit ? p.dma_read_ps : 0;   /* what the first one waited for and the last did not */
            int64_t steps = (each - 1) * n - 1, span = w->flow[2 * n - 1].last_ps - w->flow[2 * n - 1].first_ps + cold;
            int64_t slack = row[i].fetches > 1 ? p.dma_read_ps : 0;      /* which of the fetches under way the first and the last are */
            const struct host_stats *st = host_stats(w->n.h[!at_sender]);
            if (llabs(span - steps * row[i].gap_ps) > slack || st->context_misses != (row[i].contexts == 0 ? 0 : fit ? n : n * each - 1))
                fail_msg("row %zu at the %s: %lld ps between packets, %llu misses", i, at_sender ? "sender" : "receiver", (long long)(span / steps),
                         (unsigned long long)st->context_misses);
            world_free(w);
        }
}

/* One packet: what is cold costs a round trip and the context's bytes at each end, what is warm nothing; the rest is as without a cache. */
static void unloaded_latency_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    struct host_params none = profile("ideal"), p = none;
    struct world *w = world(&none, &none, PKT_ROCE);
    send_segments(w, 0, 1);
    sim_run(w->n.s, SIM_NEVER_PS);
    const int64_t bare = w->flow[2].first_ps;
    world_free(w);
    p = with_contexts(4, 1);
    p.tx_latency_ps = 300 * NS;
    p.rx_latency_ps = 310 * NS;
    p.pcie_rate_bps = INT64_C(80000000000);                      /* 10 bytes a ns */
    p.context_size_bytes = 500;
    w = world(&p, &p, PKT_ROCE);
    for (int warm = 0; warm < 2; warm++) {
        int64_t begin = sim_now(w->n.s);
        send_segments(w, 0, 1);
        sim_run(w->n.s, SIM_NEVER_PS);
        /* the context's bytes pass before the payload */
        int64_t cold = warm ? 0 : 2 * (p.dma_read_ps + 50 * NS) + 2 * 50 * NS;
        int64_t parts = bare + p.tx_latency_ps + p.rx_latency_ps + 2 * (BODY / 10) * NS + cold;
        if (!warm)
            parts -= 50 * NS;                                    /* at the receiver they go the other way than payload */
        assert_int_equal(w->flow[2].last_ps - begin, parts);
    }
    assert_int_equal(host_stats(w->n.h[0])->context_hits, 1);
    assert_int_equal(host_stats(w->n.h[1])->context_misses, 1);
    world_free(w);
}

/* Packets of one connection never overtake each other, however their contexts come and go. */
static void contexts_keep_order_and_serve_tcp_alike(void **state)
{
    (void)state;
    enum pkt_kind kind[] = { PKT_ROCE, PKT_TCP };
    int64_t last[2];
    for (int k = 0; k < 2; k++) {
        struct host_params none = profile("ideal"), p = with_contexts(4, 3);
        struct world *w = world_of(&none, &p, kind[k], 8);
        for (uint32_t i = 0; i < 8; i++) {
            host_set_offloaded(w->n.h[1], &w->flow[8 + i].ep, true);
            send_segments(w, i, 50);
        }
        sim_run(w->n.s, SIM_NEVER_PS);
        uint64_t got = 0;
        for (uint32_t i = 0; i < 8; i++)
            got += w->flow[8 + i].got;
        assert_int_equal(got, 400);
        assert_int_equal(host_stats(w->n.h[1])->context_misses, 399);   /* the first sends twice before the others are there */
        last[k] = w->flow[15].last_ps - w->flow[8].first_ps;
        world_free(w);
    }
    assert_int_equal(last[0], last[1]);
}

/* Kernel TCP has no context in the NIC. */
static void kernel_connections_need_no_context(void **state)
{
    (void)state;
    struct host_params p = with_contexts(1, 1);
    struct world *w = world_of(&p, &p, PKT_TCP, 8);
    for (uint32_t i = 0; i < 8; i++)
        send_segments(w, i, 10);
    sim_run(w->n.s, SIM_NEVER_PS);
    for (int e = 0; e < 2; e++)
        assert_int_equal(host_stats(w->n.h[e])->context_hits + host_stats(w->n.h[e])->context_misses, 0);
    world_free(w);
}

static void a_detached_connection_leaves_its_entry(void **state)
{
    (void)state;
    struct host_params none = profile("ideal"), p = with_contexts(2, 1);
    struct world *w = world_of(&p, &none, PKT_ROCE, 4);
    for (uint32_t i = 0; i < 2; i++)
        send_segments(w, i, 1);
    sim_run(w->n.s, SIM_NEVER_PS);
    host_detach(w->n.h[0], &w->flow[0].ep);
    send_segments(w, 2, 1);                                      /* into the free entry: flow 1 stays */
    sim_run(w->n.s, SIM_NEVER_PS);
    send_segments(w, 1, 1);
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(host_stats(w->n.h[0])->context_misses, 3);
    assert_int_equal(host_stats(w->n.h[0])->context_hits, 1);
    world_free(w);
}

/* --- payload that is read or moved once more --- */

static void a_retransmission_reads_host_memory_again(void **state)
{
    (void)state;
    int64_t took[2];
    for (int again = 0; again < 2; again++) {
        struct host_params none = profile("ideal"), p = none;
        p.dma_read_ps = 700 * NS;
        struct world *w = world(&p, &none, PKT_ROCE);
        w->flow[0].flags = again ? PKT_F_RETX : 0;
        send_segments(w, 0, 1);
        sim_run(w->n.s, SIM_NEVER_PS);
        took[again] = w->flow[2].first_ps;
        assert_int_equal(host_stats(w->n.h[0])->refetches, again);
        world_free(w);
    }
    assert_int_equal(took[1] - took[0], 700 * NS);
}

struct seen { int64_t at_ps; };
static void see(struct sim *s, void *ctx, void *arg) { (void)arg; ((struct seen *)ctx)->at_ps = sim_now(s); }

static void kept_payload_is_moved_again_before_the_completion(void **state)
{
    (void)state;
    const struct { int64_t memory, wait_ps; uint64_t to_nic, to_host; } row[] = {
        { HOST_REASSEMBLY_NONE, 0, 0, 0 }, { HOST_REASSEMBLY_CARD, 1000 * NS, 0, 10000 }, { HOST_REASSEMBLY_HOST, 1800 * NS, 10000, 10000 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct host_params p = profile("ideal");
        p.pcie_rate_bps = INT64_C(80000000000);
        p.dma_latency_ps = 180 * NS;
        p.dma_read_ps = 800 * NS;
        p.reassembly_memory = row[i].memory;
        struct world *w = world(&p, &p, PKT_TCP);
        struct seen seen = { -1 };
        host_place_kept(w->n.h[0], 4000);
        host_place_kept(w->n.h[0], 6000);
        host_complete(w->n.h[0], 0, 64, see, &seen, NULL);
        sim_run(w->n.s, SIM_NEVER_PS);
        uint64_t to_nic, to_host;
        host_pcie_bytes(w->n.h[0], &to_nic, &to_host);
        assert_int_equal(seen.at_ps, row[i].wait_ps + 180 * NS);
        assert_int_equal(to_nic, row[i].to_nic);
        assert_int_equal(to_host, row[i].to_host);
        world_free(w);
    }
}

/* --- verbs --- */

static void doorbells_read_and_completions_write(void **state)
{
    (void)state;
    struct host_params p = profile("ideal");
    p.post_ps = 50 * NS;
    p.doorbell_latency_ps = 150 * NS;
    p.doorbell_reads = 2;
    p.dma_read_ps = 600 * NS;
    p.pcie_rate_bps = INT64_C(64000000000);                      /* 8 bytes a ns */
    p.pcie_max_payload_bytes = 256;
    p.wqe_read_bytes = 60;
    p.cqe_write_bytes = 64;
    p.dma_latency_ps = 180 * NS;
    struct world *w = world(&p, &p, PKT_ROCE);
    struct seen posted = { -1 }, done = { -1 };
    host_doorbell(w->n.h[0], 0, see, &posted, NULL);
    host_complete(w->n.h[0], 0, 0, see, &done, NULL);
    sim_run(w->n.s, SIM_NEVER_PS);
    assert_int_equal(posted.at_ps, (50 + 150 + 2 * 600 + (60 + 20) / 8) * NS);
    assert_int_equal(done.at_ps, (180 + (64 + 24) / 8) * NS);
    world_free(w);
}

/* --- the limit --- */

static void connections_beyond_the_limit(void **state)
{
    (void)state;
    for (int beyond = HOST_BEYOND_REFUSE; beyond <= HOST_BEYOND_SOFTWARE; beyond++) {
        struct host_params none = profile("ideal"), p = none;
        p.max_connections = 3;
        p.beyond = beyond;
        struct world *w = world_of(&p, &none, PKT_TCP, 5);
        const struct host_stats *st = host_stats(w->n.h[0]);
        for (uint32_t i = 0; i < 5; i++) {
            host_set_offloaded(w->n.h[0], &w->flow[i].ep, true);
            int got = host_claim_connection(w->n.h[0], &w->flow[i].ep, true);
            assert_int_equal(got, i < 3 || beyond == HOST_BEYOND_SOFTWARE ? SIM_OK : SIM_ERR_FULL);
            assert_int_equal(w->flow[i].ep.offloaded, i < 3 || beyond == HOST_BEYOND_REFUSE);
        }
        assert_int_equal(host_claim_connection(w->n.h[0], &w->flow[0].ep, true), SIM_OK);   /* has its place already */
        assert_int_equal(st->connections, 3);
        assert_int_equal(st->refused_connections, beyond == HOST_BEYOND_REFUSE ? 2 : 0);
        assert_int_equal(st->software_connections, beyond == HOST_BEYOND_SOFTWARE ? 2 : 0);
        host_detach(w->n.h[0], &w->flow[1].ep);
        assert_int_equal(st->connections, 2);
        assert_int_equal(host_claim_connection(w->n.h[0], &w->flow[4].ep, false), SIM_OK);
        assert_int_equal(host_claim_connection(w->n.h[0], &w->flow[3].ep, false), SIM_ERR_FULL);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_takes_its_bytes_and_headers), cmocka_unit_test(pcie_bounds_each_direction_alone),
        cmocka_unit_test(hit_ratios_follow_their_laws), cmocka_unit_test(fetches_overlap_up_to_their_number),
        cmocka_unit_test(packet_rate_falls_when_contexts_do_not_fit), cmocka_unit_test(unloaded_latency_is_the_sum_of_its_parts),
        cmocka_unit_test(contexts_keep_order_and_serve_tcp_alike), cmocka_unit_test(kernel_connections_need_no_context),
        cmocka_unit_test(a_detached_connection_leaves_its_entry), cmocka_unit_test(a_retransmission_reads_host_memory_again),
        cmocka_unit_test(kept_payload_is_moved_again_before_the_completion), cmocka_unit_test(doorbells_read_and_completions_write),
        cmocka_unit_test(connections_beyond_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
