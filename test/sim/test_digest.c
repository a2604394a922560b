/* SPDX-License-Identifier: GPL-2.0-only */
/* The digest depends on what happened at each node in its order and on nothing else; so do random streams. */
#include "../../model/sim/pool.h"
#include "../../model/sim/rng.h"
#include "../../model/sim/sim.h"
#include "../../model/sim/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct note { uint32_t node; enum sim_note what; uint64_t value; };

static uint64_t digest_of(const struct note *n, size_t count)
{
    struct sim *s = sim_new(1);
    uint64_t d;

    for (size_t i = 0; i < count; i++)
        sim_note(s, n[i].node, n[i].what, n[i].value);
    d = sim_digest(s);
    sim_free(s);
    return d;
}

static void digest_is_independent_of_interleaving(void **state)
{
    enum { N = 600 };
    struct note a[N], b[N];
    struct sim_rng rng;
    size_t n = 0;

    (void)state;
    sim_rng_init(&rng, 3, 0, SIM_RNG_TEST);
    for (size_t i = 0; i < N; i++)
        a[i] = (struct note){ sim_rng_below(&rng, 40) * 1000, (enum sim_note)(1 + sim_rng_below(&rng, 5)), sim_rng_u64(&rng) };
    for (uint32_t node = 40; node-- > 0;)
        for (size_t i = 0; i < N; i++)
            if (a[i].node == node * 1000)
                b[n++] = a[i];
    assert_int_equal(n, N);
    assert_true(memcmp(a, b, sizeof a) != 0);
    assert_int_equal(digest_of(a, N), digest_of(b, N));
}

static void digest_feels_every_difference(void **state)
{
    static const struct note base[] = { { 1, SIM_NOTE_DELIVER, 7 }, { 1, SIM_NOTE_DROP, 8 }, { 2, SIM_NOTE_DELIVER, 7 } };
    static const struct note other[][3] = {
        { { 1, SIM_NOTE_DROP, 8 }, { 1, SIM_NOTE_DELIVER, 7 }, { 2, SIM_NOTE_DELIVER, 7 } },    /* order at a node */
        { { 1, SIM_NOTE_DELIVER, 7 }, { 1, SIM_NOTE_DROP, 8 }, { 3, SIM_NOTE_DELIVER, 7 } },    /* node */
        { { 1, SIM_NOTE_DELIVER, 7 }, { 1, SIM_NOTE_MARK, 8 }, { 2, SIM_NOTE_DELIVER, 7 } },    /* what */
        { { 1, SIM_NOTE_DELIVER, 7 }, { 1, SIM_NOTE_DROP, 9 }, { 2, SIM_NOTE_DELIVER, 7 } },    /* value */
        { { 2, SIM_NOTE_DELIVER, 7 }, { 2, SIM_NOTE_DROP, 8 }, { 1, SIM_NOTE_DELIVER, 7 } },    /* nodes swapped */
    };
    struct sim *s = sim_new(1);

    (void)state;
    assert_int_equal(sim_digest(s), 0);
    assert_true(digest_of(base, 3) != digest_of(base, 2));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_true(digest_of(base, 3) != digest_of(other[i], 3));
    sim_advance(s, 1);
    for (size_t i = 0; i < 3; i++)
        sim_note(s, base[i].node, base[i].what, base[i].value);
    assert_true(digest_of(base, 3) != sim_digest(s)); /* time */
    sim_free(s);
}

static void digest_is_the_same_everywhere(void **state)
{
    static const struct note base[] = { { 0, SIM_NOTE_PAUSE, 1 }, { 70, SIM_NOTE_COMPLETION, UINT64_MAX } };

    (void)state;
    assert_int_equal(digest_of(base, 2), UINT64_C(0x0449800849c11067));
}

/* Known answers of Random123's own kat_vectors file (philox 4x32, 10 rounds). */
static void philox_known_answers(void **state)
{
    static const struct { uint32_t ctr[4], key[2], out[4]; } row[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct sim_rng r;

        memset(&r, 0, sizeof r);
        memcpy(r.ctr, row[i].ctr, sizeof r.ctr);
        memcpy(r.key, row[i].key, sizeof r.key);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(sim_rng_u32(&r), row[i].out[j]);
    }
}

static void streams_are_apart(void **state)
{
    struct sim_rng r;
    uint64_t first[5];
    static const struct { uint64_t seed, entity; enum sim_rng_purpose purpose; } name[5] = {
        { 1, 2, SIM_RNG_LOSS }, { 2, 2, SIM_RNG_LOSS }, { 1, 3, SIM_RNG_LOSS }, { 1, 2, SIM_RNG_MARK },
        { 1, UINT64_C(0x200000000), SIM_RNG_LOSS },
    };

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        sim_rng_init(&r, name[i].seed, name[i].entity, name[i].purpose);
        first[i] = sim_rng_u64(&r);
        for (size_t j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    }
}

/* A modulo of 32 random bits by 3 << 30 would give the lower half twice as often: 1/2 for the first third. */
static void below_is_unbiased(void **state)
{
    enum { N = 300000 };
    uint32_t n = UINT32_C(3) << 30, third[3] = { 0 };
    struct sim_rng r;
    double sum = 0, exponential = 0;

    (void)state;
    sim_rng_init(&r, 1, 1, SIM_RNG_TEST);
    for (int i = 0; i < N; i++) {
        uint32_t v = sim_rng_below(&r, n);

        assert_true(v < n);
        third[v >> 30]++;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(third[i], N / 3 - 1300, N / 3 + 1300); /* 5 standard deviations of a binomial */
    for (int i = 0; i < N; i++) {
        double u = sim_rng_unit(&r);

        assert_true(u > 0 && u < 1);
        sum += u;
        exponential += sim_rng_exponential(&r, 7);
    }
    assert_true(sum / N > 0.4973 && sum / N < 0.5027);
    assert_true(exponential / N > 6.935 && exponential / N < 7.065);
    assert_int_equal(sim_rng_below(&r, 1), 0);
    r.ctr[0] = 0xffffffff;
    r.left = 0;
    (void)sim_rng_u32(&r);
    assert_true(r.ctr[0] == 0 && (r.ctr[1] & 0xffffff) == 1);
}

static void pool_gives_each_object_once(void **state)
{
    enum { N = 40000 };
    struct sim_pool p = { 0 };
    char **o = calloc(N, sizeof *o);
    uint64_t blocks_bytes;

    (void)state;
    sim_pool_fini(&p);
    sim_pool_init(&p, 200);
    assert_int_equal(p.object_bytes, 256);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            o[i] = sim_pool_get(&p);
            assert_int_equal((uintptr_t)o[i] % 64, 0);
            memset(o[i], 0, 256);
            *(int *)o[i] = i;
        }
        for (int i = 0; i < N; i++)
            assert_int_equal(*(int *)o[i], i);
        assert_int_equal(p.in_use, N);
        for (int i = 0; i < N; i++)
            sim_pool_put(&p, o[i]);
        if (round == 0)
            blocks_bytes = p.blocks_bytes;
    }
    assert_int_equal(p.peak, N);
    assert_int_equal(p.in_use, 0);
    assert_int_equal(p.blocks_bytes, blocks_bytes);
    assert_in_range(p.blocks_bytes, (uint64_t)N * 256, (uint64_t)N * 256 + (4 << 20));
    sim_pool_fini(&p);
    free(o);
}

static void hear(void *ctx, const struct sim_trace *t)
{
    *(struct sim_trace *)ctx = *t;
}

static void tracing_is_off_until_set(void **state)
{
    struct sim *s = sim_new(1);
    struct sim_trace heard = { 0 }, t = { .point = SIM_TRACE_MARK, .node = 4, .a = 9 };

    (void)state;
    assert_false(sim_tracing(s));
    sim_trace_emit(s, &t);
    sim_trace_set(s, hear, &heard);
    assert_true(sim_tracing(s));
    sim_trace_emit(s, &t);
    assert_true(heard.point == SIM_TRACE_MARK && heard.node == 4 && heard.a == 9);
    sim_trace_set(s, NULL, NULL);
    assert_false(sim_tracing(s));
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_is_independent_of_interleaving), cmocka_unit_test(digest_feels_every_difference),
        cmocka_unit_test(digest_is_the_same_everywhere),         cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(streams_are_apart),                     cmocka_unit_test(below_is_unbiased),
        cmocka_unit_test(pool_gives_each_object_once),           cmocka_unit_test(tracing_is_off_until_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
