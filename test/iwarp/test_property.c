/* SPDX-License-Identifier: GPL-2.0-only */
/* Random work on random connections over a bad line: loss, late packets, copies, segments cut and joined on the way, a path whose MTU changes.
 * Every byte is where it should be when its message completes and none comes later, completions are in order, nothing is left behind, and
 * each packet is accounted for. */
#define MEM (1u << 18)
#include "pair.h"
#include "../../model/rnic/rnic_internal.h"

#define OPS 12
#define SLOT 8192
#define REMOTE (OPS * SLOT)      /* where the other side's operations go */
#define CELL (2 * REMOTE)        /* what its atomics add to */

struct op {
    enum rnic_opcode kind;
    uint32_t len, imm, inv, flags;
    uint64_t orig;               /* atomics: what must come back */
    bool recv_seen;
};

struct play;
struct half { struct play *play; int side; struct op op[OPS]; uint32_t nops, next_send, next_recv; };

struct play {
    struct pair *w;
    struct half h[2];            /* operations of each side */
    uint8_t *start[2];           /* memory as it was */
    uint64_t seed;
};

static void wrong(const struct play *p, const char *what, int side, uint32_t i)
{
    fail_msg("connection %llu: %s, side %d, operation %u", (unsigned long long)p->seed, what, side, i);
}

static bool takes_receive(const struct op *o) { return o->kind == RNIC_OP_SEND || o->kind == RNIC_OP_SEND_INV || o->kind == RNIC_OP_WRITE_IMM; }

/* The bytes have come to side `at`: look, then write over them; nothing may come there any more. */
static void look(struct play *p, int at, uint64_t off, const uint8_t *want, uint32_t len, uint32_t i)
{
    if (memcmp(p->w->s[at].mem + off, want, len) != 0)
        wrong(p, "bytes differ at the completion", at, i);
    memset(p->w->s[at].mem + off, 0x77, len);
}

static void sent(struct play *p, int side, const struct rnic_wc *wc)
{
    struct half *h = &p->h[side];
    uint32_t i = h->next_send++;
    const struct op *o = &h->op[i];
    if (i >= h->nops || wc->wr_id != i || wc->status != RNIC_WC_SUCCESS)
        wrong(p, rnic_wc_status_name(wc->status), side, i);
    uint8_t value[8];
    for (unsigned k = 0; k < 8; k++)
        value[k] = (uint8_t)(o->orig >> 8 * k);
    if (o->kind == RNIC_OP_READ)
        look(p, side, (uint64_t)i * SLOT, p->start[!side] + REMOTE + (uint64_t)i * SLOT, o->len, i);
    else if (o->kind == RNIC_OP_FETCH_ADD || o->kind == RNIC_OP_CMP_SWAP)
        look(p, side, (uint64_t)i * SLOT, value, 8, i);
}

static void received(struct play *p, int side, const struct rnic_wc *wc)
{
    struct half *h = &p->h[!side];
    while (h->next_recv < h->nops && !takes_receive(&h->op[h->next_recv]))
        h->next_recv++;
    uint32_t i = h->next_recv++;
    struct op *o = &h->op[i];
    if (i >= h->nops || wc->wr_id != 1000 + i || wc->status != RNIC_WC_SUCCESS || wc->byte_len != o->len)
        wrong(p, "receive", side, i);
    if (wc->has_imm != (o->kind == RNIC_OP_WRITE_IMM) || (wc->has_imm && wc->imm != o->imm))
        wrong(p, "immediate data", side, i);
    if (wc->has_inv != (o->kind == RNIC_OP_SEND_INV) || (wc->has_inv && wc->invalidated_key != o->inv))
        wrong(p, "invalidated key", side, i);
    if (wc->solicited != ((o->flags & RNIC_SEND_SOLICITED) != 0))
        wrong(p, "solicited", side, i);
    look(p, side, REMOTE + (uint64_t)i * SLOT, p->start[!side] + (uint64_t)i * SLOT, o->len, i);
    o->recv_seen = true;
}

static void on_wc(void *ctx, const struct rnic_wc *wc)
{
    struct half *h = ctx;
    if (wc->op == RNIC_OP_RECV)
        received(h->play, h->side, wc);
    else
        sent(h->play, h->side, wc);
}

static void random_params(struct iwarp_params *p, struct sim_rng *g)
{
    *p = iwarp_defaults();
    p->crc = sim_rng_below(g, 4) > 0;
    p->markers = sim_rng_below(g, 2);
    p->pack = sim_rng_below(g, 2);
    p->complete = sim_rng_below(g, 2);
    p->direct_placement = sim_rng_below(g, 3);
    p->ird = 1 + sim_rng_below(g, 4);
    p->ord = 1 + sim_rng_below(g, 4);
    p->immediate = p->atomics = 1;
}

static void random_op(struct play *p, int side, uint32_t i, struct sim_rng *g)
{
    static const enum rnic_opcode kinds[] = { RNIC_OP_WRITE, RNIC_OP_WRITE, RNIC_OP_SEND, RNIC_OP_SEND, RNIC_OP_SEND_INV, RNIC_OP_READ, RNIC_OP_READ, RNIC_OP_WRITE_IMM,
                                              RNIC_OP_FETCH_ADD, RNIC_OP_CMP_SWAP };
    struct op *o = &p->h[side].op[i];
    struct side *peer = &p->w->s[!side];
    *o = (struct op){ .kind = kinds[sim_rng_below(g, 10)], .imm = sim_rng_u32(g), .flags = RNIC_SEND_SIGNALED };
    o->len = sim_rng_below(g, 3) ? sim_rng_below(g, SLOT + 1) : sim_rng_below(g, 60);
    if (o->kind == RNIC_OP_FETCH_ADD || o->kind == RNIC_OP_CMP_SWAP)
        o->len = 8;
    o->flags |= (takes_receive(o) && sim_rng_below(g, 2) ? RNIC_SEND_SOLICITED : 0) | (sim_rng_below(g, 4) ? 0 : RNIC_SEND_FENCE);
    if (o->kind == RNIC_OP_SEND_INV)
        o->inv = rnic_mr_key(rnic_mr_reg(peer->pd, VA, MEM, ALL, peer->mem));
    if (takes_receive(o))
        post_recv(peer, 1000 + i, REMOTE + (uint64_t)i * SLOT, SLOT);
}

static uint64_t get64(const uint8_t *b)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | b[i];
    return v;
}

static void post_op(struct play *p, int side, uint32_t i, uint64_t *cell)
{
    struct op *o = &p->h[side].op[i];
    struct rnic_send_wr wr = work(p->w, side, o->kind, i, (uint64_t)i * SLOT, o->len);
    wr.flags = o->flags;
    wr.remote_va = VA + REMOTE + (uint64_t)i * SLOT;
    wr.imm_or_inv = o->kind == RNIC_OP_SEND_INV ? o->inv : o->imm;
    if (o->kind == RNIC_OP_FETCH_ADD || o->kind == RNIC_OP_CMP_SWAP) {
        wr.remote_va = VA + CELL;
        o->orig = *cell;
        wr.swap_add = o->imm;
        wr.compare = i & 1 ? *cell : *cell + 1;
        *cell = o->kind == RNIC_OP_FETCH_ADD ? *cell + o->imm : wr.compare == *cell ? o->imm : *cell;
    }
    post_wr(p->w, side, &wr);
}

/* Memory at the end: written over where a completion told of the bytes, the source where none did, else as it was. */
static void check_memory(const struct play *p, int side, uint64_t cell)
{
    uint8_t *want = malloc(MEM);
    memcpy(want, p->start[side], MEM);
    for (uint32_t i = 0; i < p->h[side].nops; i++) {
        const struct op *o = &p->h[side].op[i];
        if (o->kind == RNIC_OP_READ || o->kind == RNIC_OP_FETCH_ADD || o->kind == RNIC_OP_CMP_SWAP)
            memset(want + (size_t)i * SLOT, 0x77, o->len);
    }
    for (uint32_t i = 0; i < p->h[!side].nops; i++) {
        const struct op *o = &p->h[!side].op[i];
        if (takes_receive(o))
            memset(want + REMOTE + (size_t)i * SLOT, 0x77, o->len);
        else if (o->kind == RNIC_OP_WRITE)
            memcpy(want + REMOTE + (size_t)i * SLOT, p->start[!side] + (size_t)i * SLOT, o->len);
    }
    for (unsigned k = 0; k < 8; k++)
        want[CELL + k] = (uint8_t)(cell >> 8 * k);
    for (uint32_t i = 0; i < MEM; i++)
        if (want[i] != p->w->s[side].mem[i])
            wrong(p, "memory at the end", side, i);
    free(want);
}

/* Nothing waits any more: no message, no Read, no FPDU half gathered or placed before its turn. */
static void check_empty(const struct play *p, int side)
{
    const struct iwarp_qp *q = inside(&p->w->s[side]);
    if (q->msg_head != q->msg_tail || q->read_head != q->read_tail || q->inread_head != q->inread_tail || q->early_head != q->early_tail || q->rlen != 0 ||
        q->base.sq_head != q->base.sq_tail || q->startup != NULL || q->base.recv_open)
        wrong(p, "something is left", side, 0);
    if (q->base.state != RNIC_QP_RTS || q->term_sent >= 0 || q->term_received >= 0)
        wrong(p, "not in RTS", side, 0);
}

struct totals { uint64_t early, cut, packed, again, cuts, joins, copies, reassembly_drops; };

static void add(struct totals *t, const struct pair *w)
{
    for (int s = 0; s < 2; s++) {
        const struct iwarp_stats *i = iwarp_qp_stats(w->s[s].qp);
        const struct tcp_counters *k = tcp_counters(iwarp_qp_tcp(w->s[s].qp));
        t->early += i->fpdus_early;
        t->cut += i->fpdus_cut;
        t->packed += i->fpdus_packed;
        t->again += k->retransmitted_segments;
        t->reassembly_drops += k->reassembly_drops;
    }
    t->cuts += w->l.cuts;
    t->joins += w->l.joins;
    t->copies += w->l.copies;
}

static void play(uint64_t seed, struct totals *t)
{
    struct sim_rng g;
    struct iwarp_params par[2];
    struct play p = { .seed = seed };
    sim_rng_init(&g, 17, seed, SIM_RNG_TEST);
    random_params(&par[0], &g);
    random_params(&par[1], &g);
    par[0].mpa_revision = par[1].mpa_revision = 1 + sim_rng_below(&g, 2);
    for (int s = 0; s < 2; s++) /* revision 1 agrees on no depths: the applications have */
        if (par[0].mpa_revision == 1 && par[s].ord > par[!s].ird)
            par[s].ord = par[!s].ird;
    struct pair *w = p.w = pair_new(&par[0], &par[1], ALL);
    w->l.bytes = sim_rng_below(&g, 3) == 0;
    w->tcp.reassembly_limit_bytes = sim_rng_below(&g, 4) ? w->tcp.reassembly_limit_bytes : 3000;
    pair_open(w);
    uint64_t cell[2];
    for (int s = 0; s < 2; s++) {
        w->s[s].cq->on_wc = on_wc;
        w->s[s].cq->ctx = &p.h[s];
        p.start[s] = malloc(MEM);
        memcpy(p.start[s], w->s[s].mem, MEM);
        p.h[s] = (struct half){ .play = &p, .side = s, .nops = s ? sim_rng_below(&g, OPS + 1) : 1 + sim_rng_below(&g, OPS) }; /* the initiator speaks first */
    }
    for (int s = 0; s < 2; s++)
        cell[s] = get64(w->s[!s].mem + CELL);
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < p.h[s].nops; i++)
            random_op(&p, s, i, &g);
    w->l.loss = 0.001 * sim_rng_below(&g, 60);
    w->l.dup = 0.001 * sim_rng_below(&g, 30);
    w->l.late = 0.001 * sim_rng_below(&g, 100);
    w->l.cut = sim_rng_below(&g, 2) ? 0.01 * sim_rng_below(&g, 50) : 0;
    w->l.join = sim_rng_below(&g, 2) ? 0.01 * sim_rng_below(&g, 50) : 0;
    sim_rng_init(&w->l.rng, 18, seed, SIM_RNG_TEST);
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < p.h[s].nops; i++)
            post_op(&p, s, i, &cell[s]);
    for (int k = 0; k < 4; k++) { /* the path changes while there is work */
        pair_run_us(w, sim_rng_below(&g, 60));
        if (sim_rng_below(&g, 2))
            iwarp_qp_path_mss(w->s[k & 1].qp, 200 + sim_rng_below(&g, 1400));
    }
    line_run_for(&w->l, 3000 * SIM_PS_PER_S);
    for (int s = 0; s < 2; s++) {
        if (p.h[s].next_send != p.h[s].nops)
            wrong(&p, "completions missing", s, p.h[s].next_send);
        for (uint32_t i = 0; i < p.h[s].nops; i++)
            if (takes_receive(&p.h[s].op[i]) && !p.h[s].op[i].recv_seen)
                wrong(&p, "receive missing", !s, i);
    }
    for (int s = 0; s < 2; s++) {
        check_memory(&p, s, cell[!s]);
        check_empty(&p, s);
    }
    add(t, w);
    free(p.start[0]);
    free(p.start[1]);
    pair_free(w);
}

static void random_connections(void **state)
{
    (void)state;
    uint64_t n = getenv("RNICSIM_TEST_LONG") ? 4000 : getenv("RNICSIM_SANITIZED") ? 400 : 2000;
    struct totals t = { 0 };
    for (uint64_t k = 0; k < n; k++)
        play(k, &t);
    print_message("%llu connections: %llu FPDUs placed early, %llu cut, %llu packed; %llu segments again, %llu cut and %llu joined on the way, %llu copies, %llu reassembly drops\n",
                  (unsigned long long)n, (unsigned long long)t.early, (unsigned long long)t.cut, (unsigned long long)t.packed, (unsigned long long)t.again,
                  (unsigned long long)t.cuts, (unsigned long long)t.joins, (unsigned long long)t.copies, (unsigned long long)t.reassembly_drops);
    assert_true(t.early > n && t.cut > n && t.packed > n && t.again > n && t.cuts > n && t.joins > n && t.copies > n / 4 && t.reassembly_drops > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_connections) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
