/* SPDX-License-Identifier: GPL-2.0-only */
/* Request packets that came before their turn, in order of number. A WRITE's bytes go to their place at once where it is known: the packet has
 * a RETH, or its message's first packet has come. All else (SENDs, requests, completions) waits for its turn. */
#include "roce_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define SPAN_MAX 65536 /* packets ahead that are kept */

static struct roce_held *new_held(struct roce_qp *q)
{
    struct roce_held *h = q->resp.held_spare;
    if (h != NULL) {
        q->resp.held_spare = h->next;
        return h;
    }
    h = malloc(sizeof *h);
    if (h == NULL) {
        fprintf(stderr, "rnicsim: out of memory for packets out of order\n");
        abort();
    }
    return h;
}

void roce_hold_spare(struct roce_qp *q, struct roce_held *h)
{
    pkt_release_payload(&h->p);
    h->next = q->resp.held_spare;
    q->resp.held_spare = h;
}

void roce_hold_back(struct roce_qp *q, struct roce_held *h)
{
    struct roce_resp *r = &q->resp;
    h->next = r->held;
    r->held = h;
    if (r->held_tail == NULL)
        r->held_tail = h;
}

struct roce_held *roce_hold_take(struct roce_qp *q, uint64_t n)
{
    struct roce_resp *r = &q->resp;
    struct roce_held *h = r->held;
    if (h == NULL || h->number > n)
        return NULL;
    r->held = h->next;
    if (r->held == NULL)
        r->held_tail = NULL;
    return h;
}

/* Where the bytes of WRITE packet n belong, of which before is the last one held before it; false: not known. */
static bool destination(const struct roce_qp *q, const struct pkt *p, uint64_t n, const struct roce_held *first, uint64_t *va, uint32_t *rkey)
{
    const struct roce_resp *r = &q->resp;
    if (wire_roce_op[p->roce.opcode].flags & ROCE_OP_RETH) {
        *va = p->roce.x.reth.va;
        *rkey = p->roce.x.reth.rkey;
        return true;
    }
    uint64_t begin, start;
    uint32_t total;
    if (first != NULL) {
        begin = first->number;
        start = first->p.roce.x.reth.va;
        total = first->p.roce.x.reth.len;
        *rkey = first->p.roce.x.reth.rkey;
    } else if (r->op == ROCE_RESP_WRITE) {
        begin = r->message_first;
        start = r->start_va;
        total = r->total;
        *rkey = r->rkey;
    } else {
        return false;
    }
    uint64_t off = (n - begin) << q->mtu_shift;
    *va = start + off;
    return off + p->payload_len <= total;
}

static void fill(struct roce_qp *q, struct roce_held *h, const struct pkt *p, uint64_t n, const struct roce_held *first)
{
    unsigned flags = wire_roce_op[p->roce.opcode].flags;
    uint64_t va;
    uint32_t rkey;
    h->number = n;
    h->placed = (flags & ROCE_OP_WRITE) && (q->params->ooo_placement || q->irn != NULL) && destination(q, p, n, first, &va, &rkey) &&
                rnic_place(&q->base, rkey, va, p->payload_len, RNIC_REMOTE_WRITE, p, 0) == RNIC_FAULT_NONE;
    if (h->placed) {
        h->p = *p;
        h->p.nchunks = 0;
    } else {
        pkt_copy(&h->p, p);
    }
}

static bool starts_write(const struct pkt *p)
{
    unsigned f = wire_roce_op[p->roce.opcode].flags;
    return (f & ROCE_OP_WRITE) && (f & ROCE_OP_FIRST);
}

bool roce_hold(struct roce_qp *q, const struct pkt *p, uint64_t n)
{
    struct roce_resp *r = &q->resp;
    const struct roce_held *first = NULL;
    if (n - r->expected >= SPAN_MAX)
        return false;
    struct roce_held **at = &r->held;
    bool known = (wire_roce_op[p->roce.opcode].flags & (ROCE_OP_RETH | ROCE_OP_SEND)) != 0;
    if (known && r->held_tail != NULL && r->held_tail->number < n)
        at = &r->held_tail->next;
    for (; *at != NULL && (*at)->number < n; at = &(*at)->next)
        if (starts_write(&(*at)->p))
            first = *at;
    if (*at != NULL && (*at)->number == n)
        return false;
    struct roce_held *h = new_held(q);
    fill(q, h, p, n, first);
    h->next = *at;
    *at = h;
    if (h->next == NULL)
        r->held_tail = h;
    return true;
}

void roce_hold_drop_all(struct roce_qp *q)
{
    struct roce_held *h;
    while ((h = roce_hold_take(q, UINT64_MAX)) != NULL)
        roce_hold_spare(q, h);
}

void roce_hold_free(struct roce_qp *q)
{
    roce_hold_drop_all(q);
    for (struct roce_held *h = q->resp.held_spare, *next; h != NULL; h = next) {
        next = h->next;
        free(h);
    }
    q->resp.held_spare = NULL;
}
