/* SPDX-License-Identifier: GPL-2.0-only */
/* RoCE: which packets are one connection's. A packet names its receiver's QP only; which QP of the sender it comes from is told by the
 * DETH, by answers whose PSNs fit the requests, or by there being no other. */
#include "replay_roce.h"

#include <stdlib.h>
#include <string.h>

#define CM_QPN 1

/* The packets to one QP. */
struct half { uint32_t src, dst, dqpn, sqpn; enum roce_service service; unsigned side; uint32_t n; int32_t peer; uint32_t first; };
struct halves { struct half *h; uint32_t n; uint32_t *of_frame; }; /* of_frame: index + 1, 0 none */

static bool service_of(unsigned opcode, enum roce_service *out)
{
    if (wire_roce_op[opcode].name == NULL)
        return false;
    bool reliable = opcode < ROCE_UC || opcode == ROCE_CNP; /* a CNP names the QP that it is for */
    *out = wire_roce_op[opcode].flags & ROCE_OP_DETH ? ROCE_SERVICE_UD : reliable ? ROCE_SERVICE_RC : ROCE_SERVICE_UC;
    return true;
}

static void add_half(struct replay *r, struct halves *hs, uint32_t i)
{
    const struct replay_frame *f = &r->frame[i];
    enum roce_service service;
    uint32_t k = 0;
    if (f->p.kind != PKT_ROCE || !service_of(f->p.roce.opcode, &service))
        return;
    while (k < hs->n && !(hs->h[k].src == f->p.src && hs->h[k].dst == f->p.dst && hs->h[k].dqpn == f->p.roce.dqpn && hs->h[k].service == service))
        k++;
    if (k == hs->n) {
        hs->h = replay_alloc(realloc(hs->h, (hs->n + 1) * sizeof *hs->h));
        hs->h[hs->n++] = (struct half){ .src = f->p.src, .dst = f->p.dst, .dqpn = f->p.roce.dqpn, .service = service,
            .sqpn = service == ROCE_SERVICE_UD ? f->p.roce.x.deth.sqpn : 0, .side = replay_sender(r, f), .peer = -1, .first = i };
    }
    hs->h[k].n++;
    hs->of_frame[i] = k + 1;
}

/* score[a * n + b]: how many of b's answers are to PSNs that a's requests had. */
static uint32_t *fit(const struct replay *r, const struct halves *hs)
{
    uint32_t *score = replay_alloc(calloc((size_t)hs->n * hs->n + 1, sizeof *score));
    uint8_t *seen = replay_alloc(malloc(1 << 21));
    for (uint32_t a = 0; a < hs->n; a++) {
        if (hs->h[a].service != ROCE_SERVICE_RC)
            continue;
        memset(seen, 0, 1 << 21);
        for (uint32_t i = 0; i < r->nframes; i++) {
            const struct pkt_roce *h = &r->frame[i].p.roce;
            bool request = hs->of_frame[i] && (wire_roce_op[h->opcode].flags & ROCE_OP_REQUEST);
            if (hs->of_frame[i] == a + 1 && request)
                seen[h->psn >> 3] |= (uint8_t)(1 << (h->psn & 7));
            else if (hs->of_frame[i] && !request && (seen[h->psn >> 3] >> (h->psn & 7) & 1))
                score[a * hs->n + hs->of_frame[i] - 1]++;
        }
    }
    free(seen);
    return score;
}

static bool opposite(const struct half *a, const struct half *b)
{
    return a->src == b->dst && a->dst == b->src && a->service == b->service;
}

/* The half that may be the other direction of a: the only free one, or for UD the one whose QPs fit; -1: none or not to be told. */
static int32_t only_partner(const struct halves *hs, uint32_t a)
{
    int32_t found = -1;
    for (uint32_t b = 0; b < hs->n; b++) {
        if (hs->h[b].peer >= 0 || b == a || !opposite(&hs->h[a], &hs->h[b]))
            continue;
        if (hs->h[a].service == ROCE_SERVICE_UD) {
            if (hs->h[b].dqpn == hs->h[a].sqpn)
                return (int32_t)b;
            continue;
        }
        if (found >= 0)
            return -1;
        found = (int32_t)b;
    }
    return found;
}

static void join(struct halves *hs, uint32_t a, uint32_t b)
{
    hs->h[a].peer = (int32_t)b;
    hs->h[b].peer = (int32_t)a;
}

static void pair_halves(const struct replay *r, struct halves *hs)
{
    uint32_t *score = fit(r, hs);
    for (;;) { /* the best fit first */
        uint32_t best = 0, x = 0, y = 0;
        for (uint32_t a = 0; a < hs->n; a++)
            for (uint32_t b = 0; b < hs->n; b++) {
                if (hs->h[a].peer >= 0 || hs->h[b].peer >= 0 || !opposite(&hs->h[a], &hs->h[b]))
                    continue;
                if (score[a * hs->n + b] > best) {
                    best = score[a * hs->n + b];
                    x = a;
                    y = b;
                }
            }
        if (best == 0)
            break;
        join(hs, x, y);
    }
    free(score);
    for (uint32_t a = 0; a < hs->n; a++) {
        int32_t b = hs->h[a].peer < 0 ? only_partner(hs, a) : -1;
        if (b >= 0 && only_partner(hs, (uint32_t)b) == (int32_t)a)
            join(hs, a, (uint32_t)b);
    }
}

static void name_flow(const struct replay *r, struct replay_flow *f, const struct half *h)
{
    static const char *const service[] = { "RC", "UC", "UD" };
    char a[46], b[46];
    const struct replay_frame *first = &r->frame[h->first];
    bool a_sent = h->side == 0;
    replay_addr(first, a_sent, a);
    replay_addr(first, !a_sent, b);
    if (f->cm)
        snprintf(f->what, sizeof f->what, "CM %s and %s", a, b);
    else
        snprintf(f->what, sizeof f->what, "%s %s QP 0x%x and %s QP 0x%x", service[f->service], a, f->qpn[0], b, f->qpn[1]);
}

static void gather(struct replay *r, const struct halves *hs, uint32_t a, struct replay_flow *f)
{
    const struct half *h = &hs->h[a];
    f->service = h->service;
    f->addr[h->side] = h->src;
    f->addr[!h->side] = h->dst;
    f->qpn[!h->side] = h->dqpn;
    f->qpn[h->side] = h->peer >= 0 ? hs->h[h->peer].dqpn : h->sqpn;
    f->cm = h->service == ROCE_SERVICE_UD && h->dqpn == CM_QPN;
    f->item = replay_alloc(calloc(h->n + (h->peer >= 0 ? hs->h[h->peer].n : 0), sizeof *f->item));
    for (uint32_t i = 0; i < r->nframes; i++)
        if (hs->of_frame[i] == a + 1 || (h->peer >= 0 && hs->of_frame[i] == (uint32_t)h->peer + 1))
            f->item[f->n++] = (struct replay_item){ .f = &r->frame[i], .side = (uint8_t)(hs->of_frame[i] == a + 1 ? h->side : !h->side) };
    name_flow(r, f, h);
}

void replay_l3(const struct replay_flow *f, unsigned side, struct wire_l3 *out)
{
    *out = (struct wire_l3){ .ip_df = 1 };
    for (uint32_t i = 0; i < f->n; i++) {
        const struct wire_l3 *l = &f->item[i].f->l3;
        bool own = f->item[i].side == side;
        memcpy(out->smac, own ? l->smac : l->dmac, 6);
        memcpy(out->dmac, own ? l->dmac : l->smac, 6);
        memcpy(out->src6, own ? l->src6 : l->dst6, 16);
        memcpy(out->dst6, own ? l->dst6 : l->src6, 16);
        if (own)
            return;
    }
}

void replay_roce(struct replay *r)
{
    struct halves hs = { .of_frame = replay_alloc(calloc(r->nframes + 1, sizeof *hs.of_frame)) };
    for (uint32_t i = 0; i < r->nframes; i++)
        add_half(r, &hs, i);
    pair_halves(r, &hs);
    for (uint32_t a = 0; a < hs.n; a++) {
        if (hs.h[a].peer >= 0 && hs.h[a].peer < (int32_t)a)
            continue; /* done with its partner */
        struct replay_flow f = { 0 };
        gather(r, &hs, a, &f);
        for (unsigned side = 0; side < 2; side++)
            if (replay_wants(r, side)) {
                for (uint32_t i = 0; i < f.n; i++)
                    f.item[i].lost = false;
                if (f.cm)
                    replay_cm_run(r, &f, side);
                else
                    replay_roce_run(r, &f, side);
            }
        free(f.item);
    }
    free(hs.h);
    free(hs.of_frame);
}
