/* SPDX-License-Identifier: GPL-2.0-only */
/* The generators alone, over channels that deliver after a constant time: who posts what, and when; what failures do to closed loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../model/workload/chan_internal.h"
#include "../../model/workload/workload.h"

#define US SIM_PS_PER_US
#define DELAY_PS (3 * US)          /* post to delivery */
#define HOSTS 8

/* --- a channel without a network: delivered after DELAY_PS, completed 1 us later; fails from message fail_from on --- */

struct bench {
    struct sim *s;
    struct wl *w;
    struct wl_chan *chans[4 * HOSTS * HOSTS];
    uint32_t nchans, fail_from, refused, done, src[4 * HOSTS * HOSTS], dst[4 * HOSTS * HOSTS], prio[4 * HOSTS * HOSTS];
    bool started, refuse;
};
struct wire { struct wl_chan base; struct bench *b; uint64_t sent; };

static int64_t wire_now(const struct wl_chan *c) { return sim_now(((const struct wire *)c)->b->s); }
static void deliver(struct sim *s, void *ctx, void *arg) { (void)s; (void)arg; (void)chan_delivered(ctx); }
static void complete(struct sim *s, void *ctx, void *arg)
{
    struct wl_chan *c = ctx;
    (void)s;
    (void)arg;
    if (c->complete_seq < c->post_seq)
        chan_completed(c, RNIC_WC_SUCCESS);
}

static void wire_send(struct wl_chan *c)
{
    struct wire *x = (struct wire *)c;
    while (!c->broken && c->post_seq < c->tail_seq) {
        if (x->b->fail_from && ++x->sent >= x->b->fail_from) {
            chan_break_all(c, RNIC_WC_RETRY_EXC_ERR);
            return;
        }
        c->post_seq++;
        sim_at(x->b->s, sim_now(x->b->s) + DELAY_PS, 1, deliver, c, NULL);
        sim_at(x->b->s, sim_now(x->b->s) + DELAY_PS + US, 1, complete, c, NULL);
    }
}

static uint64_t wire_timeouts(const struct wl_chan *c) { (void)c; return 0; }
static const struct chan_ops wire_ops = { .send = wire_send, .timeouts = wire_timeouts };

static struct wl_chan *connect_wire(void *ctx, uint32_t src, uint32_t dst, uint8_t prio, uint32_t which, const struct wl_sink *sink, void *sink_ctx)
{
    struct bench *b = ctx;
    (void)which;
    if (b->refuse) {
        b->refused++;
        return NULL;
    }
    assert_false(b->started);                                    /* wl_connect_all has asked for all of them */
    assert_true(b->nchans < 4 * HOSTS * HOSTS);
    struct wire *x = calloc(1, sizeof *x);
    chan_init(&x->base, &wire_ops, b->nchans, sink, sink_ctx);
    x->base.now = wire_now;
    x->b = b;
    b->src[b->nchans] = src;
    b->dst[b->nchans] = dst;
    b->prio[b->nchans] = prio;
    return b->chans[b->nchans++] = &x->base;
}

static void all_done(void *ctx) { ((struct bench *)ctx)->done++; }
static const struct wl_connect_ops connect_ops = { .connect = connect_wire, .done = all_done };

static void setup(struct bench *b, const struct wl_spec *specs, uint32_t n, uint64_t seed, int64_t duration_ps)
{
    struct wl_host hosts[HOSTS];
    char err[200] = "";
    for (uint32_t i = 0; i < HOSTS; i++)
        hosts[i] = (struct wl_host){ 100 + i, INT64_C(100000000000) };
    b->s = sim_new(1);
    struct wl_config c = { .specs = specs, .nspecs = n, .hosts = hosts, .nhosts = HOSTS, .window = { 0, duration_ps }, .seed = seed,
                           .ops = &connect_ops, .ctx = b };
    if (wl_check(&c, err, sizeof err) != SIM_OK)
        fail_msg("%s", err);
    b->w = wl_new(b->s, &c);
    assert_non_null(b->w);
}

static const struct wl_message *play(struct bench *b, size_t *n)
{
    if (!b->refuse)
        (void)wl_connect_all(b->w);
    b->started = true;
    wl_start(b->w, 10 * US);
    sim_run(b->s, SIM_NEVER_PS);
    assert_true(wl_done(b->w));
    assert_int_equal(b->done, 1);
    return wl_messages(b->w, n);
}

static void teardown(struct bench *b)
{
    for (uint32_t i = 0; i < b->nchans; i++) {
        chan_fini(b->chans[i]);
        free(b->chans[i]);
    }
    wl_free(b->w);
    sim_free(b->s);
    memset(b, 0, sizeof *b);
}

/* --- tests --- */

static void ping_pong_alternates(void **state)
{
    (void)state;
    struct bench b = { 0 };
    struct wl_spec spec;
    struct wl_progress p;
    size_t n;
    wl_spec_init(&spec, WL_PINGPONG);
    spec.u.pingpong.pairs = 2;
    spec.u.pingpong.rounds = 5;
    spec.u.pingpong.think_ps = 2 * US;
    setup(&b, &spec, 1, 1, 20 * US);                             /* rounds that are given are carried to the end, */
    const struct wl_message *m = play(&b, &n);
    wl_progress(b.w, &p);
    assert_int_equal(n, 2 * 2 * 5);
    assert_int_equal(p.expected, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t pair = (m[i].src - 100) / 2;
        uint64_t turn = i / 2;                                   /* both pairs keep step */
        assert_int_equal(m[i].src, 100 + 2 * pair + turn % 2);
        assert_int_equal(m[i].dst, 100 + 2 * pair + (turn + 1) % 2);
        assert_int_equal(m[i].posted_ps, 10 * US + (int64_t)turn * (DELAY_PS + 2 * US));
        assert_int_equal(m[i].delivered_ps, m[i].posted_ps + DELAY_PS);
        assert_int_equal(m[i].completed_ps, m[i].posted_ps + DELAY_PS + US);
        assert_int_equal(m[i].outcome, WL_OK);
        assert_int_equal(m[i].measured, m[i].posted_ps < 30 * US); /* and not measured after the window */
    }
    teardown(&b);
}

static void incast_at_intervals_with_jitter(void **state)
{
    (void)state;
    struct bench b = { 0 };
    struct wl_spec spec;
    size_t n, late = 0;
    wl_spec_init(&spec, WL_INCAST);
    spec.u.incast.receiver = 2;
    spec.u.incast.fan_in = 4;
    spec.u.incast.senders = WL_SENDERS_RANDOM;
    spec.u.incast.rounds = 200;
    spec.u.incast.interval_ps = 50 * US;
    spec.u.incast.jitter_ps = 10 * US;
    setup(&b, &spec, 1, 7, 1000 * US);
    const struct wl_message *m = play(&b, &n);
    uint32_t per_sender[HOSTS] = { 0 };
    assert_int_equal(n, 800);
    for (size_t i = 0; i < n; i++) {
        int64_t after = m[i].posted_ps - 10 * US - (int64_t)(i / 4) * 50 * US;
        assert_true(after >= 0 && after < 10 * US);
        late += after >= 5 * US;
        assert_int_equal(m[i].dst, 102);
        assert_int_not_equal(m[i].src, 102);
        for (size_t k = i / 4 * 4; k < i; k++)
            assert_int_not_equal(m[i].src, m[k].src);            /* each sender once a round */
        per_sender[m[i].src - 100]++;
    }
    assert_in_range(late, 330, 470);                             /* half of 800, 5 sigma */
    for (uint32_t h = 0; h < HOSTS; h++)
        assert_in_range(per_sender[h], h == 2 ? 0 : 70, h == 2 ? 0 : 160);
    teardown(&b);
}

/* interval 0: the next round begins when the last message of the one before has arrived. */
static void incast_rounds_follow_each_other(void **state)
{
    (void)state;
    struct bench b = { 0 };
    struct wl_spec spec;
    size_t n;
    wl_spec_init(&spec, WL_INCAST);
    spec.u.incast.rounds = 10;
    setup(&b, &spec, 1, 1, 1000 * US);
    const struct wl_message *m = play(&b, &n);
    assert_int_equal(n, 10 * (HOSTS - 1));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(m[i].posted_ps, 10 * US + (int64_t)(i / (HOSTS - 1)) * DELAY_PS);
    teardown(&b);
}

static void permutation_keeps_its_window(void **state)
{
    (void)state;
    struct bench b = { 0 };
    for (int pattern = 0; pattern < 2; pattern++) {
        struct wl_spec spec;
        size_t n;
        wl_spec_init(&spec, WL_PERMUTATION);
        spec.u.permutation.pattern = pattern;
        spec.u.permutation.shift = 3;
        spec.u.permutation.messages = 10;
        spec.u.permutation.outstanding = 4;
        setup(&b, &spec, 1, 5, 1000 * US);
        const struct wl_message *m = play(&b, &n);
        uint32_t to[HOSTS] = { 0 }, from[HOSTS] = { 0 };
        assert_int_equal(n, 10 * HOSTS);
        for (size_t i = 0; i < n; i++) {
            uint32_t s = m[i].src - 100, d = m[i].dst - 100;
            assert_int_not_equal(s, d);
            if (pattern == WL_PATTERN_SHIFT)
                assert_int_equal(d, (s + 3) % HOSTS);
            assert_true(from[s] == 0 || to[s] == d);             /* always the same partner */
            to[s] = d;
            /* four at once, then four when those have completed, then two */
            assert_int_equal(m[i].posted_ps, 10 * US + (int64_t)(from[s]++ / 4) * (DELAY_PS + US));
        }
        uint32_t seen = 0;
        for (uint32_t h = 0; h < HOSTS; h++)
            seen |= 1u << to[h];
        assert_int_equal(seen, (1u << HOSTS) - 1);               /* everybody receives */
        teardown(&b);
    }
}

static void poisson_peers_are_uniform_among_others(void **state)
{
    (void)state;
    struct bench b = { 0 };
    struct wl_spec spec;
    size_t n;
    wl_spec_init(&spec, WL_POISSON);
    spec.u.poisson.messages = 2000;
    setup(&b, &spec, 1, 3, 1000 * US);
    const struct wl_message *m = play(&b, &n);
    uint32_t count[HOSTS][HOSTS] = { { 0 } };
    assert_int_equal(n, 2000 * HOSTS);
    for (size_t i = 0; i < n; i++)
        count[m[i].src - 100][m[i].dst - 100]++;
    double chi = 0, each = 2000.0 / (HOSTS - 1);
    for (int s = 0; s < HOSTS; s++)
        for (int d = 0; d < HOSTS; d++) {
            if (s == d)
                assert_int_equal(count[s][d], 0);
            else
                chi += ((double)count[s][d] - each) * ((double)count[s][d] - each) / each;
        }
    assert_true(chi < 80.0);                                     /* 48 degrees of freedom: 0.3 % beyond */
    teardown(&b);
}

static void ranges_split_senders_from_receivers(void **state)
{
    (void)state;
    struct bench b = { 0 };
    for (int perm = 0; perm < 2; perm++) {
        struct wl_spec spec;
        size_t n;
        wl_spec_init(&spec, WL_POISSON);
        spec.u.poisson.sources = 4;
        spec.u.poisson.destination_from = 4;
        spec.u.poisson.destination = perm;
        spec.u.poisson.messages = 50;
        setup(&b, &spec, 1, 3, 1000 * US);
        const struct wl_message *m = play(&b, &n);
        uint32_t seen = 0;
        assert_int_equal(n, 200);
        for (size_t i = 0; i < n; i++) {
            assert_true(m[i].src < 104 && m[i].dst >= 104);
            seen |= 1u << (m[i].dst - 104);
        }
        assert_int_equal(seen, 15);
        teardown(&b);
    }
}

/* Same seed: the same book. Another seed: another. A stream more: the first stream's posts do not change. */
static void determined_by_seed_and_stream_alone(void **state)
{
    (void)state;
    struct { uint32_t src, dst; uint64_t bytes; int64_t at; } *book = calloc(4096, sizeof *book);
    static const struct wl_cdf_point points[] = { { 100, 0 }, { 1000, 0.5 }, { 20000, 1 } };
    for (int round = 0; round < 4; round++) {
        struct bench b = { 0 };
        struct wl_spec spec[2];
        size_t n, k = 0, same = 0;
        wl_spec_init(&spec[0], WL_POISSON);
        spec[0].cdf = (struct wl_cdf){ points, 3 };
        spec[0].u.poisson.messages = 100;
        wl_spec_init(&spec[1], WL_INCAST);
        spec[1].u.incast.rounds = 20;
        spec[1].u.incast.interval_ps = US;
        setup(&b, spec, round == 3 ? 2 : 1, round == 2 ? 2 : 1, 1000 * US);
        const struct wl_message *m = play(&b, &n);
        for (size_t i = 0; i < n; i++) {
            if (m[i].stream != 0)
                continue;
            if (round == 0) {
                book[k].src = m[i].src;
                book[k].dst = m[i].dst;
                book[k].bytes = m[i].bytes;
                book[k].at = m[i].posted_ps;
            }
            same += book[k].src == m[i].src && book[k].dst == m[i].dst && book[k].bytes == m[i].bytes && book[k].at == m[i].posted_ps;
            k++;
        }
        assert_int_equal(k, 800);
        if (round == 2)
            assert_true(same < 10);
        else
            assert_int_equal(same, 800);
        teardown(&b);
    }
    free(book);
}

/* Flows at their own times from their own hosts, in the order of the list where times are equal. */
static void list_some_flows(struct wl_spec *spec)
{
    static struct wl_flow some[200];
    for (uint32_t i = 0; i < 200; i++)
        some[i] = (struct wl_flow){ i * 7 % HOSTS, (i * 7 + 1) % HOSTS, WL_PRIO_OWN, 100 + i, (int64_t)(199 - i) / 2 * US };
    spec->flows = (struct wl_flow_list){ some, 200 };
}

static void flows_are_posted_as_listed(void **state)
{
    (void)state;
    static const struct wl_flow list[] = {
        { 3, 1, WL_PRIO_OWN, 1000, 9 * US }, { 0, 1, 5, 2000, 4 * US }, { 0, 1, WL_PRIO_OWN, 3000, 4 * US }, { 3, 2, 0, 4000, 4 * US + 1 }, { 0, 1, 5, 5000, 30 * US },
    };
    for (int limited = 0; limited < 2; limited++) {
        struct bench b = { 0 };
        struct wl_spec spec;
        size_t n;
        wl_spec_init(&spec, WL_FLOWS);
        spec.flows = (struct wl_flow_list){ list, 5 };
        spec.u.flows.from_first = limited;
        spec.u.flows.limit = limited ? 4 : 0;
        spec.u.flows.start_ps = limited ? 2 * US : 0;
        int64_t shift = limited ? -2 * US : 0;
        setup(&b, &spec, 1, 1, 20 * US);
        assert_int_equal(wl_max_bytes(b.w), 5000);
        const struct wl_message *m = play(&b, &n);
        assert_int_equal(n, limited ? 4 : 5);
        static const int order[] = { 1, 2, 3, 0, 4 };
        for (size_t i = 0; i < n; i++) {
            const struct wl_flow *f = &list[order[i]];
            assert_int_equal(m[i].src, 100 + f->src);
            assert_int_equal(m[i].dst, 100 + f->dst);
            assert_int_equal(m[i].bytes, f->bytes);
            assert_int_equal(m[i].posted_ps, 10 * US + f->start_ps + shift);
            assert_int_equal(m[i].measured, f->start_ps + shift < 20 * US);
            assert_int_equal(b.prio[m[i].flow], f->prio);
        }
        assert_int_equal(b.nchans, 4);           /* one a (src, dst, priority), a pair's own priority first */
        assert_true(b.src[0] == 0 && b.prio[0] == WL_PRIO_OWN && b.src[1] == 0 && b.prio[1] == 5 && b.src[2] == 3 && b.dst[2] == 1);
        assert_int_equal(b.done, 1);
        teardown(&b);
    }
}

static void flows_can_be_shrunk(void **state)
{
    (void)state;
    static const struct wl_flow list[] = { { 0, 1, WL_PRIO_OWN, 1000, 9 * US }, { 1, 0, WL_PRIO_OWN, 4, 2 * US } };
    struct bench b = { 0 };
    struct wl_spec spec;
    size_t n;
    wl_spec_init(&spec, WL_FLOWS);
    spec.flows = (struct wl_flow_list){ list, 2 };
    spec.u.flows.size_scale = 0.1;
    spec.u.flows.time_scale = 0.5;
    setup(&b, &spec, 1, 1, 20 * US);
    assert_int_equal(wl_max_bytes(b.w), 100);
    const struct wl_message *m = play(&b, &n);
    assert_int_equal(n, 2);
    assert_true(m[0].bytes == 1 && m[0].posted_ps == 11 * US && m[1].bytes == 100 && m[1].posted_ps == 14 * US + US / 2);
    teardown(&b);
}

/* The window is [warm-up, warm-up + duration); a stream that nothing else bounds stops with it. */
static void the_window_bounds_and_measures(void **state)
{
    (void)state;
    for (int kind = 0; kind < WL_KIND_COUNT; kind++) {
        struct bench b = { 0 };
        struct wl_spec spec;
        size_t n, measured = 0;
        wl_spec_init(&spec, (enum wl_kind)kind);
        if (kind == WL_INCAST) {
            spec.u.incast.rounds = 0;
            spec.u.incast.interval_ps = 7 * US;
        } else if (kind == WL_PERMUTATION) {
            spec.u.permutation.messages = 0;
        } else if (kind == WL_FLOWS) {
            list_some_flows(&spec);
        }
        b.s = sim_new(1);
        struct wl_host hosts[HOSTS];
        for (uint32_t i = 0; i < HOSTS; i++)
            hosts[i] = (struct wl_host){ 100 + i, INT64_C(1000000000) };
        struct wl_config c = { .specs = &spec, .nspecs = 1, .hosts = hosts, .nhosts = HOSTS, .window = { 40 * US, 60 * US }, .seed = 1,
                               .ops = &connect_ops, .ctx = &b };
        b.w = wl_new(b.s, &c);
        const struct wl_message *m = play(&b, &n);
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++) {
            int64_t at = m[i].posted_ps - 10 * US;
            assert_true(at < 100 * US);
            assert_int_equal(m[i].measured, at >= 40 * US);
            measured += m[i].measured;
        }
        assert_true(measured > 0 && measured < n);
        teardown(&b);
    }
}

/* Where channels fail, every kind ends by itself, each post fails by name, and time does not stand still. */
static void failures_end_closed_loops(void **state)
{
    (void)state;
    for (int kind = 0; kind < WL_KIND_COUNT; kind++)
        for (int refuse = 0; refuse < 2; refuse++) {
            struct bench b = { .fail_from = 3, .refuse = refuse };
            struct wl_spec spec;
            struct wl_progress p;
            size_t n, failed = 0;
            wl_spec_init(&spec, (enum wl_kind)kind);
            if (kind == WL_PERMUTATION) {
                spec.u.permutation.messages = 0;
                spec.u.permutation.outstanding = 2;
            } else if (kind == WL_FLOWS) {
                list_some_flows(&spec);
            }
            setup(&b, &spec, 1, 1, 300 * US);
            const struct wl_message *m = play(&b, &n);
            for (size_t i = 0; i < n; i++) {
                assert_int_not_equal(m[i].outcome, WL_UNFINISHED);
                failed += m[i].outcome == WL_FAILED;
                if (m[i].outcome == WL_FAILED)
                    assert_int_equal(m[i].status, refuse ? RNIC_WC_FATAL_ERR : RNIC_WC_RETRY_EXC_ERR);
            }
            wl_progress(b.w, &p);
            assert_int_equal(p.failed, failed);
            assert_int_equal(p.ended, n);
            if (refuse)
                assert_int_equal(failed, n);
            else if (kind != WL_INCAST)                          /* one round: nobody sends a third message */
                assert_true(failed > 0 && failed < n);
            teardown(&b);
        }
}

static void refusals_say_why(void **state)
{
    (void)state;
    static const struct wl_cdf_point falls[] = { { 100, 0.5 }, { 50, 1 } };
    struct wl_host hosts[4] = { { 0, 1000 }, { 1, 1000 }, { 2, 1000 }, { 3, 0 } };
    struct wl_spec s[6];
    static const char *const says[6] = { "point 2: sizes must not decrease", "there are only 4 hosts", "hosts are 0 to 3", "only 3 other hosts",
                                         "sends to itself", "has no link" };
    wl_spec_init(&s[0], WL_INCAST);
    s[0].cdf = (struct wl_cdf){ falls, 2 };
    wl_spec_init(&s[1], WL_POISSON);
    s[1].u.poisson.sources = 5;
    wl_spec_init(&s[2], WL_INCAST);
    s[2].u.incast.receiver = 4;
    wl_spec_init(&s[3], WL_INCAST);
    s[3].u.incast.fan_in = 4;
    wl_spec_init(&s[4], WL_PERMUTATION);
    s[4].u.permutation.pattern = WL_PATTERN_SHIFT;
    s[4].u.permutation.shift = 8;
    wl_spec_init(&s[5], WL_POISSON);
    for (int i = 0; i < 6; i++) {
        char err[200] = "";
        struct wl_config c = { .specs = &s[i], .nspecs = 1, .hosts = hosts, .nhosts = 4, .window = { 0, US }, .ops = &connect_ops };
        assert_int_equal(wl_check(&c, err, sizeof err), SIM_ERR_PARAM);
        if (!strstr(err, says[i]))
            fail_msg("\"%s\" does not say \"%s\"", err, says[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ping_pong_alternates), cmocka_unit_test(incast_at_intervals_with_jitter),
        cmocka_unit_test(incast_rounds_follow_each_other), cmocka_unit_test(permutation_keeps_its_window),
        cmocka_unit_test(poisson_peers_are_uniform_among_others), cmocka_unit_test(ranges_split_senders_from_receivers),
        cmocka_unit_test(determined_by_seed_and_stream_alone), cmocka_unit_test(the_window_bounds_and_measures),
        cmocka_unit_test(flows_are_posted_as_listed), cmocka_unit_test(flows_can_be_shrunk), cmocka_unit_test(failures_end_closed_loops), cmocka_unit_test(refusals_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
