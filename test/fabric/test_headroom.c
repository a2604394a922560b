/* SPDX-License-Identifier: GPL-2.0-only */
/* PFC headroom: enough in every phase, and one byte less is not in the worst one, which is constructed; a buffer too small is refused. */
#include "net.h"

#define US SIM_PS_PER_US

static const int64_t rates[] = { 10000000000, 25000000000, 40000000000, 100000000000, 200000000000, 400000000000 };
static const int64_t cells[] = { 1, 80, 208, 256 };

/* A link, a frame and a switch, drawn. */
struct draw { struct headroom_link l; uint32_t payload; int64_t mm; };

static struct draw draw(struct sim_rng *r)
{
    struct draw d;
    d.payload = 256 - 62 + sim_rng_below(r, 9000 - 256 + 1);
    d.payload -= d.payload % 4;                                          /* no pad bytes: frames of 62 B more */
    d.mm = (int64_t)(1e3 * pow(10, 4 * sim_rng_unit(r)));                /* 1 m to 10 km, evenly by magnitude */
    d.l = (struct headroom_link){ .rate_bps = rates[sim_rng_below(r, 6)], .propagation_ps = 5 * d.mm, .pipeline_ps = sim_rng_below(r, 3) * 250000,
                                  .max_frame_bytes = d.payload + 62, .cell_bytes = (uint32_t)cells[sim_rng_below(r, 4)] };
    d.l.reaction_quanta = headroom_reaction_quanta(d.l.rate_bps);
    return d;
}

static struct link_params drawn_link(const struct draw *d)
{
    struct link_params link = net_cable();
    link.rate_bps = d->l.rate_bps;
    link.propagation_ps = d->l.propagation_ps;
    return link;
}

static struct switch_params drawn_switch(const struct draw *d, int64_t headroom)
{
    struct switch_params sw = net_switch();
    sw.pfc = 1;
    sw.reserved_bytes = 0;
    sw.buffer_bytes = 4000000000;
    sw.pipeline_latency_ps = d->l.pipeline_ps;
    sw.max_frame_bytes = d->l.max_frame_bytes;
    sw.cell_bytes = d->l.cell_bytes;
    sw.headroom_bytes = headroom;
    return sw;
}

static const char *tell(const struct draw *d)
{
    static char text[200];
    snprintf(text, sizeof text, "%.0f Gb/s, %.3f m, frames of %u B, pipeline %.2f us, cells of %u B", (double)d->l.rate_bps / 1e9, (double)d->mm / 1e3,
             d->l.max_frame_bytes, (double)d->l.pipeline_ps / 1e6, d->l.cell_bytes);
    return text;
}

static void post_event(struct sim *s, void *ctx, void *arg)
{
    (void)s;
    (void)arg;
    net_post(ctx);
}

/* Host 2 sends back to back to host 1, whose link is so slow that nothing leaves the switch after the first frame. Frame k crosses XOFF. At that very
 * moment, less 1 ps, a maximum frame from host 0 begins on the link back to host 2 (early_ps: so much sooner), so the PAUSE waits for all of it.
 * Returns the drops. */
static uint64_t drops_in_phase(const struct draw *d, uint64_t headroom, int64_t early_ps, struct fabric_audit *books)
{
    struct link_params link = drawn_link(d), slow = link;
    struct switch_params sw = drawn_switch(d, (int64_t)headroom);
    uint64_t frame = (d->l.max_frame_bytes + d->l.cell_bytes - 1) / d->l.cell_bytes * d->l.cell_bytes;
    int64_t k = 20000 / (int64_t)frame + 3, slot_ps = port_wire_time_ps(d->l.max_frame_bytes, d->l.rate_bps);
    slow.rate_bps = 1000000;
    sw.pfc_xoff_bytes = (k - 1) * (int64_t)frame; /* frame 0 has gone out at once: 1 .. k-1 fit */
    struct net *n = net_new(3, 1, 1, NULL);
    uint32_t s = fabric_add_switch(n->f, &sw);
    net_link(n, 0, s, &link);
    net_link(n, 1, s, &slow);
    net_link(n, 2, s, &link);
    net_finish(n);
    for (uint32_t i = 0; i < 3; i++)
        n->raw[i].payload = d->payload;
    n->raw[0].dst = 2;
    sim_at(n->s, k * slot_ps - 1 - early_ps, sim_key_node(0, SIM_KIND_WAKE, 0), post_event, &n->raw[0], NULL);
    net_greedy(&n->raw[2], 1, k * slot_ps + 20 * slot_ps + 4 * d->l.propagation_ps + 20 * US);
    sim_run(n->s, n->raw[2].stop_ps + 2 * d->l.propagation_ps);
    *books = *fabric_audit(n->f);
    assert_true(books->pause_frames > 0);
    assert_int_equal(n->raw[2].got, 1);
    net_free(n);
    return books->lossless_buffer_drops;
}

/* The need of the worst phase, to the byte: no drop at it, one at one byte less, and that byte is what the audit says was short. In other phases
 * it is no larger. The closed form covers it, and by no more than the two frames that it reckons whole and the crossing one. */
static void exact_need_of_the_worst_phase(void **state)
{
    struct sim_rng r;
    int cases = getenv("RNICSIM_TEST_LONG") ? 1000 : 120;
    (void)state;
    sim_rng_init(&r, 41, 0, SIM_RNG_TEST);
    for (int i = 0; i < cases; i++) {
        struct draw d = draw(&r);
        struct headroom_terms t;
        struct fabric_audit books;
        uint64_t exact = headroom_exact_bytes(&d.l);
        int64_t slot_ps = port_wire_time_ps(d.l.max_frame_bytes, d.l.rate_bps);
        headroom_compute(&d.l, &t);
        if (exact > t.total)
            fail_msg("%s: exact need %llu B, computed %llu B", tell(&d), (unsigned long long)exact, (unsigned long long)t.total);
        if (drops_in_phase(&d, exact, 0, &books))
            fail_msg("%s: drops at the exact need of %llu B", tell(&d), (unsigned long long)exact);
        if (drops_in_phase(&d, exact - 1, 0, &books) != 1)
            fail_msg("%s: %llu drops one byte below the exact need of %llu B", tell(&d), (unsigned long long)books.lossless_buffer_drops, (unsigned long long)exact);
        assert_int_equal(books.headroom_short_bytes, 1);
        int64_t other_ps = 1 + (int64_t)(sim_rng_unit(&r) * 1.5 * (double)slot_ps); /* past a whole frame: nothing to wait for */
        if (drops_in_phase(&d, exact, other_ps, &books))
            fail_msg("%s: drops at the exact need, %lld ps from the worst phase", tell(&d), (long long)other_ps);
    }
}

/* --- incast --- */

struct incast {
    struct draw d;
    uint32_t senders;
    bool mixed, dynamic;         /* frames of other sizes; a dynamic threshold */
    bool tiers, two, cut;        /* the paused sender is a switch; two lossless priorities; cut-through */
};

static void begin(struct sim *s, void *ctx, void *arg)
{
    struct raw *r = ctx;
    (void)s;
    (void)arg;
    net_greedy(r, r->dst, r->stop_ps);
}

/* A star, or two switches: then hosts 0, 1 and 3 hang on the second, the others on the first. */
static struct net *incast_net(const struct incast *c, const struct switch_params *sw)
{
    struct link_params link = drawn_link(&c->d);
    if (!c->tiers)
        return net_star(c->senders + 2, &link, sw, NULL);
    struct net *n = net_new(c->senders + 2, 2, 7, NULL);
    uint32_t a = fabric_add_switch(n->f, sw), b = fabric_add_switch(n->f, sw);
    for (uint32_t i = 0; i < c->senders + 2; i++)
        net_link(n, i, i < 2 || i == 3 ? b : a, &link);
    net_link(n, a, b, &link);
    net_finish(n);
    return n;
}

/* Host 1 receives from hosts 2 ..; host 0 keeps the way to host 2 full, so that PAUSEs there always wait. Times of begin are drawn. */
static void run_incast(const struct incast *c, int64_t headroom, struct sim_rng *r, struct fabric_audit *books)
{
    const struct draw *d = &c->d;
    struct switch_params sw = drawn_switch(d, headroom);
    struct headroom_terms t;
    headroom_compute(&d->l, &t);
    sw.lossless_prios = c->two ? 24 : 8;
    sw.forwarding = c->cut ? SWITCH_CUT_THROUGH : SWITCH_STORE_AND_FORWARD;
    if (c->dynamic)
        sw.buffer_bytes = (int64_t)((t.total + 40000) * (c->senders + 3) * 2); /* the dynamic threshold moves */
    else
        sw.pfc_xoff_bytes = 20000;
    struct net *n = incast_net(c, &sw);
    /* Long enough to fill the headroom of all, drain it and fill it again. */
    double fill_s = 8.0 * (double)((t.total + 20000) * c->senders) / (double)d->l.rate_bps;
    int64_t stop_ps = (int64_t)(1.5e12 * fill_s) + 6 * d->l.propagation_ps + 20 * US;
    for (uint32_t i = 0; i < c->senders + 2; i++) {
        struct raw *s = &n->raw[i];
        s->dst = i ? 1 : 2;
        s->payload = c->mixed && i > 2 ? 64 + 4 * sim_rng_below(r, d->payload / 4 - 15) : d->payload;
        s->stop_ps = stop_ps;
        s->prio = c->two && i % 4 > 1 ? 4 : 3;
        s->dscp = s->prio == 4 ? 32 : 26;
        if (i != 1)
            sim_at(n->s, (int64_t)(sim_rng_unit(r) * 2e6), sim_key_node(i, SIM_KIND_WAKE, 0), begin, s, NULL);
    }
    sim_run(n->s, stop_ps);
    *books = *fabric_audit(n->f);
    if (!books->pause_frames)
        fail_msg("%s, %u:1: nothing was paused", tell(d), c->senders);
    net_free(n);
}

static double frames_of(const struct incast *c)
{
    struct headroom_terms t;
    headroom_compute(&c->d.l, &t);
    return 2 * (double)t.total * c->senders / c->d.l.max_frame_bytes;
}

/* No drop at the computed headroom, whatever the rate, length, frame, cell and number of senders. */
static void no_drops_at_the_computed_headroom(void **state)
{
    struct sim_rng r;
    bool longer = getenv("RNICSIM_TEST_LONG") != NULL;
    (void)state;
    sim_rng_init(&r, 43, 0, SIM_RNG_TEST);
    for (int i = 0; i < (longer ? 400 : 100); i++) {
        struct fabric_audit books;
        struct incast c = { draw(&r), 2 + sim_rng_below(&r, 63), sim_rng_below(&r, 2), sim_rng_below(&r, 2), sim_rng_below(&r, 2), sim_rng_below(&r, 2),
                            sim_rng_below(&r, 2) };
        while (!longer && frames_of(&c) > 20000 && c.senders > 2) /* long cables are cheap with few senders */
            c.senders = (c.senders + 2) / 2;
        if (!longer && frames_of(&c) > 40000)
            continue;
        c.tiers &= c.senders > 2;
        run_incast(&c, 0, &r, &books);
        if (books.lossless_buffer_drops)
            fail_msg("%s, %u:1%s%s%s: %llu drops at the computed headroom, %llu B short", tell(&c.d), c.senders, c.tiers ? ", two tiers" : "",
                     c.two ? ", two priorities" : "", c.cut ? ", cut-through" : "", (unsigned long long)books.lossless_buffer_drops,
                     (unsigned long long)books.headroom_short_bytes);
    }
}

/* 16 to 1 loses nothing at the computed headroom, and much with none. */
static void sixteen_to_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct sim_rng r;
        struct fabric_audit books;
        struct incast c = { .d = { { .rate_bps = rates[i], .propagation_ps = 500000, .max_frame_bytes = 1086, .cell_bytes = 1 }, 1024, 100000 }, .senders = 16 };
        c.d.l.reaction_quanta = headroom_reaction_quanta(rates[i]);
        sim_rng_init(&r, 44, i, SIM_RNG_TEST);
        run_incast(&c, 0, &r, &books);
        assert_int_equal(books.lossless_buffer_drops, 0);
        run_incast(&c, 1, &r, &books);
        assert_true(books.lossless_buffer_drops > 16);
        assert_true(books.headroom_short_bytes > 0);
    }
}

/* 32 ports x (33,000 + 4,096 B) in 1 MiB: refused at load, 138,496 B short. */
static void headroom_larger_than_the_buffer_is_refused(void **state)
{
    (void)state;
    struct switch_params sw = net_switch();
    struct link_params link = net_cable();
    char err[300] = "";
    sw.pfc = 1;
    sw.buffer_bytes = 1048576;
    sw.headroom_bytes = 33000;
    sw.reserved_bytes = 4096;
    struct net *n = net_new(32, 1, 1, NULL);
    uint32_t s = fabric_add_switch(n->f, &sw);
    for (uint32_t i = 0; i < 32; i++)
        net_link(n, i, s, &link);
    assert_int_equal(fabric_finish(n->f, err, sizeof err), SIM_ERR_PARAM);
    if (!strstr(err, "138,496 B short"))
        fail_msg("\"%s\" does not say 138,496 B short", err);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_need_of_the_worst_phase), cmocka_unit_test(no_drops_at_the_computed_headroom), cmocka_unit_test(sixteen_to_one),
        cmocka_unit_test(headroom_larger_than_the_buffer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
