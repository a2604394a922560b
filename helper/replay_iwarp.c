/* SPDX-License-Identifier: GPL-2.0-only */
/* iWARP: which segments are one connection's, and what the replaced side must have done and had, from what it said and what it heard. */
#include "replay_iwarp.h"

#include <stdlib.h>
#include <string.h>

/* --- connections --- */

struct conns { struct replay_conn *c; uint32_t n; };

static struct replay_conn *find(struct replay *r, struct conns *cs, const struct replay_frame *f)
{
    unsigned side = replay_sender(r, f);
    bool opens = (f->p.tcp.flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
    for (uint32_t i = cs->n; i-- > 0;) {
        struct replay_conn *c = &cs->c[i];
        if (c->addr[side] != f->p.src || c->addr[!side] != f->p.dst || c->port[side] != f->p.sport || c->port[!side] != f->p.dport)
            continue;
        if (opens && c->stream[side].known && c->stream[side].first_seq != f->p.tcp.seq + 1)
            break; /* the ports are used again */
        return c;
    }
    cs->c = replay_alloc(realloc(cs->c, (cs->n + 1) * sizeof *cs->c));
    struct replay_conn *c = &cs->c[cs->n++];
    *c = (struct replay_conn){ .opener = side };
    c->addr[side] = f->p.src;
    c->addr[!side] = f->p.dst;
    c->port[side] = f->p.sport;
    c->port[!side] = f->p.dport;
    char a[46], b[46];
    snprintf(c->what, sizeof c->what, "TCP %s port %u and %s port %u", replay_addr(f, side == 0, a), c->port[0], replay_addr(f, side != 0, b), c->port[1]);
    return c;
}

static void add_segment(struct replay *r, struct conns *cs, struct replay_frame *f)
{
    struct replay_conn *c = find(r, cs, f);
    unsigned side = replay_sender(r, f);
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        c->item = replay_alloc(realloc(c->item, c->cap * sizeof *c->item));
    }
    if (f->p.tcp.flags & TCP_SYN)
        c->syn[side] = true;
    if (f->status == WIRE_OK)
        (void)tcp_stream_take(&c->stream[side], &f->p);
    c->item[c->n++] = (struct replay_tcp_item){ .f = f, .side = (uint8_t)side, .end = c->stream[side].len };
}

static bool mpa_meant(const struct tcp_stream *s) { return s->syn && s->len >= 7 && !memcmp(s->bytes, "MPA ID ", 7); }

static void read_scripts(struct replay_conn *c)
{
    struct replay_script *s = c->script;
    for (unsigned side = 0; side < 2; side++)
        replay_script_read(&s[side], &c->stream[side], NULL);
    if (s[0].status != MPA_START_OK || s[1].status != MPA_START_OK)
        return;
    for (unsigned side = 0; side < 2; side++) {
        struct mpa_start peer = s[!side].start;
        replay_script_free(&s[side]);
        replay_script_read(&s[side], &c->stream[side], &peer);
    }
}

/* FPDUs of a side's that the other had when it sent stream offset off. */
static uint32_t fpdus_before(const struct replay_conn *c, unsigned side, uint64_t off)
{
    uint64_t there = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->item[i].side == side)
            there = c->item[i].end;
        else if (c->item[i].end > off)
            break;
    }
    while (n < c->script[side].n && c->script[side].fpdu[n].off + c->script[side].fpdu[n].wire_len <= there)
        n++;
    return n;
}

/* What siw's Terminates ought to say beside layer, type and code, which are right. */
static void mend_terminates(struct replay_conn *c)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < c->script[side].n; i++) {
            struct replay_fpdu *f = &c->script[side].fpdu[i];
            const struct replay_script *peer = &c->script[!side];
            if (!f->terminate || !f->siw)
                continue;
            uint32_t k = replay_refused(&f->term, peer, fpdus_before(c, !side, f->off));
            replay_terminate_by_rfc(&f->term, k < peer->n ? &peer->fpdu[k] : NULL);
        }
}

void replay_iwarp(struct replay *r)
{
    struct conns cs = { 0 };
    for (uint32_t i = 0; i < r->nframes; i++)
        if (r->frame[i].p.kind == PKT_TCP)
            add_segment(r, &cs, &r->frame[i]);
    for (uint32_t i = 0; i < cs.n; i++) {
        struct replay_conn *c = &cs.c[i];
        bool iwarp = mpa_meant(&c->stream[0]) || mpa_meant(&c->stream[1]);
        if (iwarp && c->syn[0] && c->syn[1]) {
            read_scripts(c);
            mend_terminates(c);
            for (unsigned side = 0; side < 2; side++)
                if (replay_wants(r, side))
                    replay_iwarp_run(r, c, side);
        } else if (iwarp) {
            fprintf(r->out, "%s: %s: not replayed: the capture begins after its handshake\n", r->name, c->what);
        }
        for (unsigned side = 0; side < 2; side++) {
            replay_script_free(&c->script[side]);
            tcp_stream_clear(&c->stream[side]);
        }
        free(c->item);
    }
    free(cs.c);
}

/* --- what it posted --- */

static uint64_t payload_room(struct replay_iw_deeds *d, uint64_t len)
{
    uint64_t at = d->payload_len;
    d->payload_len += len;
    if (d->payload_len > d->payload_cap) {
        d->payload = replay_alloc(realloc(d->payload, 2 * d->payload_len));
        memset(d->payload + d->payload_cap, 0, 2 * d->payload_len - d->payload_cap);
        d->payload_cap = 2 * d->payload_len;
    }
    return at;
}

static struct replay_post *begin_post(struct replay_iw_deeds *d, const struct replay_fpdu *f)
{
    d->post = replay_alloc(realloc(d->post, (d->nposts + 1) * sizeof *d->post));
    struct replay_post *p = &d->post[d->nposts++];
    *p = (struct replay_post){ .off = f->off, .at = payload_room(d, 0) };
    p->wr.flags = RNIC_SEND_SIGNALED;
    return p;
}

static void read_post(struct replay_iw_deeds *d, const struct replay_fpdu *f)
{
    struct replay_post *p = begin_post(d, f);
    struct rdmap_read_request q;
    p->whole = true;
    p->wr.op = RNIC_OP_READ;
    if (f->payload_len < RDMAP_READ_REQUEST_BYTES)
        return;
    rdmap_read_request_decode(f->payload, &q);
    p->wr.sge = (struct rnic_sge){ q.sink_to, q.size, q.sink_stag };
    p->wr.remote_va = q.src_to;
    p->wr.rkey = q.src_stag;
    replay_granted(&d->memory, q.sink_stag, q.sink_to, q.size, RNIC_REMOTE_WRITE | RNIC_LOCAL_WRITE);
}

/* A segment of a Write or Send, the first of its message or the next of *open. */
static void data_post(struct replay_iw_deeds *d, const struct replay_fpdu *f, int64_t *open)
{
    unsigned op = f->hdr.opcode;
    struct replay_post *p = *open >= 0 ? &d->post[*open] : begin_post(d, f);
    if (*open < 0) {
        bool inv = op == RDMAP_SEND_INV || op == RDMAP_SEND_SE_INV;
        p->wr.op = op == RDMAP_WRITE ? RNIC_OP_WRITE : inv ? RNIC_OP_SEND_INV : RNIC_OP_SEND;
        p->wr.remote_va = f->hdr.to;
        p->wr.rkey = f->hdr.stag;
        p->wr.imm_or_inv = inv ? f->hdr.stag : 0;
        if (op == RDMAP_SEND_SE || op == RDMAP_SEND_SE_INV)
            p->wr.flags |= RNIC_SEND_SOLICITED;
    }
    (void)payload_room(d, f->payload_len);
    if (f->payload_len > 0)
        memcpy(d->payload + p->at + p->wr.sge.len, f->payload, f->payload_len);
    p->wr.sge.len += f->payload_len;
    p->whole = f->hdr.last;
    *open = p->whole ? -1 : p - d->post;
}

static void posts(const struct replay_conn *c, unsigned side, struct replay_iw_deeds *d)
{
    const struct replay_script *own = &c->script[side], *peer = &c->script[!side];
    bool rtr = !own->start.reply && own->start.p2p_a && peer->start.p2p_a;
    int64_t open = -1;
    for (uint32_t i = rtr ? 1 : 0; i < own->n; i++) {
        const struct replay_fpdu *f = &own->fpdu[i];
        if (!f->headed)
            continue;
        if (f->hdr.opcode == RDMAP_READ_REQUEST)
            read_post(d, f);
        else if (f->hdr.opcode == RDMAP_WRITE || (f->hdr.opcode >= RDMAP_SEND && f->hdr.opcode <= RDMAP_SEND_SE_INV))
            data_post(d, f, &open);
    }
    if (open >= 0) { /* the capture, or the connection, ends within it: it was longer */
        (void)payload_room(d, 1);
        d->post[open].wr.sge.len++;
    }
}

/* --- what its peer was allowed --- */

/* Its Terminate, NULL if it sent none; refused: index of the peer's FPDU that it is about, or n. */
static const struct rdmap_terminate *own_terminate(const struct replay_conn *c, unsigned side, uint32_t *refused)
{
    const struct replay_script *own = &c->script[side], *peer = &c->script[!side];
    *refused = peer->n;
    for (uint32_t i = 0; i < own->n; i++)
        if (own->fpdu[i].terminate) {
            *refused = replay_refused(&own->fpdu[i].term, peer, 0);
            return &own->fpdu[i].term;
        }
    return NULL;
}

/* Why the FPDU was refused tells what was there instead. */
static void refusal(struct replay_iw_deeds *d, const struct replay_fpdu *f, const struct rdmap_terminate *t)
{
    struct rdmap_read_request q = { 0 };
    uint32_t key = f->hdr.stag;
    uint64_t va = f->hdr.to;
    bool read = f->hdr.opcode == RDMAP_READ_REQUEST && f->payload_len == RDMAP_READ_REQUEST_BYTES;
    if (read) {
        rdmap_read_request_decode(f->payload, &q);
        key = q.src_stag;
        va = q.src_to;
    }
    if (t->etype != 1 || (!f->hdr.tagged && !read))
        return;
    if (t->code == 1) /* bounds: there is such a region, of one byte for all we know */
        replay_granted(&d->memory, key, va, 1, read ? RNIC_REMOTE_READ : RNIC_REMOTE_WRITE);
    else if (t->layer == 0 && t->code == 2) /* access */
        replay_granted(&d->memory, key, va, read ? q.size : f->payload_len, 0);
}

static void grants(const struct replay_conn *c, unsigned side, struct replay_iw_deeds *d)
{
    const struct replay_script *peer = &c->script[!side];
    uint32_t refused;
    bool rtr = !peer->start.reply && peer->start.p2p_a && c->script[side].start.p2p_a;
    const struct rdmap_terminate *t = own_terminate(c, side, &refused);
    for (uint32_t i = 0; i < peer->n && i < refused; i++) {
        const struct replay_fpdu *f = &peer->fpdu[i];
        if (!f->headed || !f->good || (i == 0 && rtr))
            continue;
        if (f->hdr.tagged && f->hdr.opcode == RDMAP_WRITE) {
            replay_granted(&d->memory, f->hdr.stag, f->hdr.to, f->payload_len, RNIC_REMOTE_WRITE);
        } else if (f->hdr.opcode == RDMAP_READ_REQUEST && f->payload_len == RDMAP_READ_REQUEST_BYTES) {
            struct rdmap_read_request q;
            rdmap_read_request_decode(f->payload, &q);
            replay_granted(&d->memory, q.src_stag, q.src_to, q.size, RNIC_REMOTE_READ);
        } else if (f->hdr.opcode >= RDMAP_SEND && f->hdr.opcode <= RDMAP_SEND_SE_INV) {
            d->receives += f->hdr.mo == 0;
            if (f->hdr.opcode == RDMAP_SEND_INV || f->hdr.opcode == RDMAP_SEND_SE_INV)
                replay_granted(&d->memory, f->hdr.stag, 0x1000, 1, 0);
        }
    }
    if (t != NULL && refused < peer->n) {
        const struct replay_fpdu *f = &peer->fpdu[refused];
        bool no_buffer = t->layer == 1 && t->etype == 2 && t->code == 2;
        refusal(d, f, t);
        if (!f->hdr.tagged && f->hdr.opcode >= RDMAP_SEND && f->hdr.opcode <= RDMAP_SEND_SE_INV && f->hdr.mo == 0 && !no_buffer) {
            d->receives++; /* it had a buffer, and it was something else */
            if (t->layer == 1 && t->etype == 2 && t->code == 5)
                d->short_receive = f->hdr.mo;
        }
    }
}

/* --- what was in its memory --- */

/* The replaced side's answer to the peer's Read number k. */
static void shown(const struct replay_script *own, struct replay_iw_deeds *d, uint32_t k, const struct rdmap_read_request *q)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < own->n; i++) {
        const struct replay_fpdu *f = &own->fpdu[i];
        if (!f->headed || !f->hdr.tagged || f->hdr.opcode != RDMAP_READ_RESPONSE)
            continue;
        if (reads == k)
            replay_shown(&d->memory, q->src_stag, q->src_to + (f->hdr.to - q->sink_to), f->payload, f->payload_len);
        reads += f->hdr.last;
    }
}

static void contents(const struct replay_conn *c, unsigned side, struct replay_iw_deeds *d)
{
    const struct replay_script *own = &c->script[side], *peer = &c->script[!side];
    uint32_t reads = 0;
    for (uint32_t i = 0; i < peer->n; i++) {
        const struct replay_fpdu *f = &peer->fpdu[i];
        struct rdmap_read_request q;
        if (!f->headed)
            continue;
        if (f->hdr.tagged && f->hdr.opcode == RDMAP_WRITE)
            replay_written(&d->memory, f->hdr.stag, f->hdr.to, f->payload_len);
        if (f->hdr.opcode != RDMAP_READ_REQUEST || f->payload_len != RDMAP_READ_REQUEST_BYTES)
            continue;
        rdmap_read_request_decode(f->payload, &q);
        shown(own, d, reads++, &q);
    }
}

bool replay_iwarp_learn(const struct replay_conn *c, unsigned side, struct replay_iw_deeds *d)
{
    *d = (struct replay_iw_deeds){ .short_receive = UINT32_MAX };
    posts(c, side, d);
    grants(c, side, d);
    if (!replay_memory_fill(&d->memory))
        return false;
    contents(c, side, d);
    return true;
}

void replay_iw_deeds_free(struct replay_iw_deeds *d)
{
    free(d->post);
    free(d->payload);
    replay_memory_free(&d->memory);
}
