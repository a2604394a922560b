/* SPDX-License-Identifier: GPL-2.0-only */
/* TCP in scripts: segments by their fields, and a peer that keeps count of sequence numbers so that a line need not say them. */
#include "script_internal.h"

#include <stdlib.h>
#include <string.h>

#define OUR_PORT 10000
#define PEER_PORT 7
#define HAS_ALL 0x10000u
#define FLAGS_SHOWN (TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK)
#define TS_TICK_PS SIM_PS_PER_US

static const struct { const char *name; uint8_t bit; } flag[] = { { "SYN", TCP_SYN }, { "FIN", TCP_FIN }, { "RST", TCP_RST }, { "ACK", TCP_ACK }, { "PSH", TCP_PSH },
    { "URG", TCP_URG }, { "ECE", TCP_ECE }, { "CWR", TCP_CWR } };
#define NFLAGS (sizeof flag / sizeof flag[0])

#define PKT(m) offsetof(struct pkt, m), sizeof(((struct pkt *)0)->m)
static const struct script_field rows[] = {
    { "seq", PKT(tcp.seq), SCRIPT_NUM, SCRIPT_SEQ, false, 0 },
    { "ack", PKT(tcp.ack), SCRIPT_NUM, SCRIPT_ACK, false, 0 },
    { "len", 0, 0, SCRIPT_LEN, 0, false, 0 },
    { "win", PKT(tcp.window), SCRIPT_NUM, 0, false, 0 },
    { "mss", PKT(tcp.mss), SCRIPT_NUM, 0, false, TCP_OPT_MSS },
    { "wscale", PKT(tcp.wscale), SCRIPT_NUM, 0, false, TCP_OPT_WSCALE },
    { "sack-ok", 0, 0, SCRIPT_OPTION, 0, false, TCP_OPT_SACK_PERM },
    { "ts", 0, 0, SCRIPT_OPTION, 0, false, TCP_OPT_TS },
    { "tsval", PKT(tcp.ts_val), SCRIPT_NUM, 0, false, TCP_OPT_TS },
    { "tsecr", PKT(tcp.ts_ecr), SCRIPT_NUM, 0, false, TCP_OPT_TS },
    { "sack", 0, 0, SCRIPT_SACK, SCRIPT_ACK, false, TCP_OPT_SACK },
    { "urgent", PKT(tcp.urgent), SCRIPT_NUM, 0, false, HAS_ALL },
    { "ecn", PKT(ecn), SCRIPT_NUM, 0, false, 0 },
    { "dscp", PKT(dscp), SCRIPT_NUM, 0, false, 0 },
    { "ttl", PKT(ttl), SCRIPT_NUM, 0, false, 0 },
    { "fill", 0, 0, SCRIPT_FILL, 0, true, 0 },
    { "bytes", 0, 0, SCRIPT_BYTES, 0, true, 0 },
};

/* ACK+PSH, FIN+ACK, ACK-ECE: named flags are set or, after -, clear; of SYN, FIN, RST and ACK the others are clear too. */
static bool head(const char *word, uint32_t *bits, uint32_t *mask, uint32_t *has)
{
    *bits = 0;
    *mask = FLAGS_SHOWN;
    *has = HAS_ALL | TCP_OPT_MSS | TCP_OPT_WSCALE | TCP_OPT_SACK_PERM | TCP_OPT_TS | TCP_OPT_SACK;
    for (bool set = true;; ) {
        size_t n = strcspn(word, "+-"), i = 0;
        while (i < NFLAGS && !(strlen(flag[i].name) == n && memcmp(flag[i].name, word, n) == 0))
            i++;
        if (i == NFLAGS)
            return false;
        *mask |= flag[i].bit;
        *bits = set ? *bits | flag[i].bit : *bits & ~(uint32_t)flag[i].bit;
        if (!word[n])
            return true;
        set = word[n] == '+';
        word += n + 1;
    }
}

static void print(const struct script_view *v, char *out, size_t len)
{
    uint8_t flags = ((const struct pkt *)v->base)->tcp.flags;
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < NFLAGS; i++)
        if (flags & flag[i].bit && used < len)
            used += (size_t)snprintf(out + used, len - used, "%s%s", used ? "+" : "", flag[i].name);
    if (!used)
        snprintf(out, len, "(no flags)");
}

static uint32_t head_of(const struct script_view *v) { return ((const struct pkt *)v->base)->tcp.flags; }

const struct script_form script_tcp_form = { "segment", { rows, sizeof rows / sizeof rows[0] }, head, print, head_of };

void script_tcp_view(struct script_run *r, struct script_seen *e, struct script_view *v)
{
    *v = (struct script_view){ .base = &e->p, .has = e->p.tcp.opt | (e->p.tcp.flags & TCP_URG ? HAS_ALL : 0), .from_us = true, .len = e->p.payload_len, .payload = r->scratch };
    pkt_payload_read(&e->p, 0, e->p.payload_len, r->scratch);
}

bool script_tcp_open(struct script_run *r)
{
    struct script *s = r->script;
    const struct tcp_addr addr = { pkt_addr_of_node(0), pkt_addr_of_node(1), OUR_PORT, PEER_PORT };
    struct testbed_spec spec = { .tcp = &s->tcp, .cc = s->cc, .cc_params = s->cc_params, .seed = 1 };
    if (s->params.ecn) {
        s->cc_ecn = *(s->cc ? s->cc : cc_find("reno"));
        s->cc_ecn.ecn = true;
        spec.cc = &s->cc_ecn;
    }
    if (testbed_tcp(&r->stream, &spec, &addr) != SIM_OK)
        return script_mismatch(r, "no TCP connection can be made with these parameters");
    r->our_port = OUR_PORT;
    r->peer_port = PEER_PORT;
    r->stream.lazy = !s->params.read;
    tcp_set_isn(r->stream.conn, (uint32_t)s->params.isn);
    testbed_init(&r->bed, tcp_endpoint(r->stream.conn), NULL, NULL);
    return true;
}

/* The peer has received a segment of ours: what it would acknowledge. */
void script_tcp_heard(struct script_run *r, const struct pkt *p)
{
    struct script_peer_tcp *t = &r->peer;
    uint32_t seq = p->tcp.seq - (uint32_t)r->script->params.isn;
    uint32_t end = seq + p->payload_len + ((p->tcp.flags & TCP_SYN) != 0) + ((p->tcp.flags & TCP_FIN) != 0);
    if (wire_seq_diff(seq, t->rcv_nxt) <= 0 && wire_seq_diff(end, t->rcv_nxt) > 0)
        t->rcv_nxt = end;
    if (p->tcp.opt & TCP_OPT_TS)
        t->ts_recent = p->tcp.ts_val;
    if (p->tcp.flags & TCP_SYN)
        t->ts = p->tcp.opt & TCP_OPT_TS; /* offered, or agreed to */
}

bool script_tcp_send(struct script_run *r, const struct script_line *l)
{
    const struct script_params *par = &r->script->params;
    struct script_peer_tcp *t = &r->peer;
    struct pkt p;
    static const uint8_t syn = TCP_SYN;
    memset(&p, 0, sizeof p);
    p.kind = PKT_TCP;
    p.src = pkt_addr_of_node(1);
    p.dst = pkt_addr_of_node(0);
    p.sport = r->peer_port;
    p.dport = r->our_port;
    p.ttl = 64;
    p.tcp.flags = (uint8_t)l->head;
    p.tcp.seq = (uint32_t)par->peer_isn + t->snd_nxt;
    if (l->head & TCP_ACK)
        p.tcp.ack = (uint32_t)par->isn + t->rcv_nxt;
    p.tcp.window = (uint16_t)par->peer_window;
    struct script_view v = { .base = &p, .has = t->ts && !(l->head & (syn | TCP_RST)) ? TCP_OPT_TS : 0 };
    p.tcp.ts_val = (uint32_t)(r->bed.now_ps / TS_TICK_PS) + 1;
    p.tcp.ts_ecr = l->head & TCP_ACK ? t->ts_recent : 0;
    if (!script_fill(r, l, &v))
        return false;
    p.tcp.opt = (uint8_t)(v.has & 0x1f);
    if (p.tcp.opt & TCP_OPT_SACK && !p.tcp.nsack)
        p.tcp.opt &= (uint8_t)~TCP_OPT_SACK;
    uint32_t len = script_payload(r, l, r->scratch, 65000);
    if (r->failed || !pkt_add_bytes(&p, r->scratch, len))
        return false;
    if (l->head & syn)
        t->ts = t->ts ? (p.tcp.opt & TCP_OPT_TS) != 0 : !(l->head & TCP_ACK) && p.tcp.opt & TCP_OPT_TS;
    uint32_t end = p.tcp.seq - (uint32_t)par->peer_isn + len + ((l->head & syn) != 0) + ((l->head & TCP_FIN) != 0);
    if (wire_seq_diff(end, t->snd_nxt) > 0)
        t->snd_nxt = end;
    pkt_set_len(&p);
    script_deliver(r, l, &p);
    return true;
}

/* Our endpoint connects and the peer answers with what the call names; ends when both are established. */
bool script_tcp_handshake(struct script_run *r, const struct script_args *a)
{
    int bad = a->passive ? tcp_accept(r->stream.conn, r->bed.now_ps) : tcp_connect(r->stream.conn, r->bed.now_ps);
    if (bad)
        return script_mismatch(r, "the connection is open already");
    struct pkt p;
    for (int turn = 0; turn < 2; turn++) {
        bool first = turn == 0;
        testbed_settle(&r->bed);
        if (r->head) {
            script_tcp_heard(r, &r->head->p);
            struct script_seen *e = r->head;
            r->head = e->next;
            if (!r->head)
                r->tail = &r->head;
            pkt_release_payload(&e->p);
            free(e);
        }
        if (first != a->passive) /* our SYN waits a round trip for its answer */
            testbed_run(&r->bed, r->bed.now_ps + r->script->params.peer_rtt_ps);
        memset(&p, 0, sizeof p);
        p.kind = PKT_TCP;
        p.src = pkt_addr_of_node(1);
        p.dst = pkt_addr_of_node(0);
        p.sport = r->peer_port;
        p.dport = r->our_port;
        p.ttl = 64;
        p.tcp.seq = (uint32_t)r->script->params.peer_isn + r->peer.snd_nxt;
        p.tcp.ack = (uint32_t)r->script->params.isn + r->peer.rcv_nxt;
        p.tcp.window = (uint16_t)(a->win <= 65535 ? a->win : (uint64_t)r->script->params.peer_window);
        if (first) {
            p.tcp.flags = a->passive ? TCP_SYN : TCP_SYN | TCP_ACK;
            p.tcp.mss = (uint16_t)a->mss;
            p.tcp.wscale = (uint8_t)a->wscale;
            p.tcp.opt = (uint8_t)(TCP_OPT_MSS | (a->wscale <= 14 ? TCP_OPT_WSCALE : 0) | (a->sack_ok ? TCP_OPT_SACK_PERM : 0) | (a->ts ? TCP_OPT_TS : 0));
            r->peer.snd_nxt = 1;
        } else {
            if (!a->passive)
                break;
            p.tcp.flags = TCP_ACK;
            p.tcp.opt = (uint8_t)(r->peer.ts && a->ts ? TCP_OPT_TS : 0);
        }
        if (a->passive && first)
            p.tcp.ack = 0;
        p.tcp.ts_val = (uint32_t)(r->bed.now_ps / TS_TICK_PS) + 1;
        p.tcp.ts_ecr = p.tcp.flags & TCP_ACK ? r->peer.ts_recent : 0;
        pkt_set_len(&p);
        script_deliver(r, NULL, &p);
    }
    testbed_settle(&r->bed);
    for (struct script_seen *e = r->head, *next; e; e = next) {
        next = e->next;
        script_tcp_heard(r, &e->p);
        pkt_release_payload(&e->p);
        free(e);
    }
    r->head = NULL;
    r->tail = &r->head;
    r->peer.ts = r->script->tcp.timestamps && a->ts;
    if (tcp_state(r->stream.conn) != TCP_ESTABLISHED)
        return script_mismatch(r, "the handshake did not end in ESTABLISHED");
    return true;
}

const struct tcp_conn *script_conn(const struct script_run *r)
{
    return r->stream.conn ? r->stream.conn : r->rnic.qp && script_kind_of(r) == SCRIPT_IWARP ? iwarp_qp_tcp(r->rnic.qp) : NULL;
}
