/* SPDX-License-Identifier: GPL-2.0-only */
/* iWARP in scripts: MPA start-up frames and FPDUs by their fields, over a TCP peer that shakes hands, puts our endpoint's stream
 * together and acknowledges by itself. */
#include "script_internal.h"

#include <stdlib.h>
#include <string.h>

#define OUR_PORT 10000
#define PEER_PORT 5001
#define STREAM_MAX (1u << 20)    /* of our endpoint's stream not yet understood */
#define STARTS_MAX 4096
#define RAW 0x100u               /* head of `fpdu`: bytes as they are */

/* What a message may carry: bits of script_field.need. */
enum { HAS_TAGGED = 1, HAS_UNTAGGED = 2, HAS_READ = 4, HAS_ATOMIC = 8, HAS_RESULT = 0x10, HAS_TERM = 0x20, HAS_IMM = 0x40, HAS_RAW = 0x80, HAS_DDP = 0x100, HAS_START = 0x200,
    HAS_ENHANCED = 0x400, HAS_INV = 0x800 };

struct script_fpdu {
    uint32_t head;                       /* opcode, or RAW */
    struct ddp_hdr h;
    struct rdmap_read_request rr;
    struct rdmap_atomic_request ar;
    struct rdmap_atomic_response as;
    struct rdmap_terminate t;
    uint64_t imm;
    uint32_t ulpdu;                      /* bytes of the ULPDU; sent: what the length field says */
    uint8_t  crc;                        /* the CRC is right */
    uint8_t  aligned;                    /* begins where a TCP segment begins */
    uint16_t segments;                   /* it lies in so many */
    uint8_t  terminated;                 /* Terminate: which message it blames */
    struct mpa_start ms;
    uint8_t  markers, crc_flag, reject, enhanced;
    uint32_t len;
    uint8_t  payload[];
};

struct script_iwarp {
    uint8_t *in;                         /* of our endpoint's stream, from in_at on */
    uint32_t in_len;
    uint64_t in_at, full_at;             /* stream offsets; full_at: where full operation begins */
    uint64_t starts[STARTS_MAX];         /* where segments began */
    uint32_t nstarts;
    bool start_seen, broken, our_crc, peer_crc;
    bool markers_in;                     /* our endpoint has been asked for markers */
    bool markers_out;                    /* and asks for them */
    uint64_t out_at;                     /* bytes of the peer's full operation so far */
    uint32_t msn[4];
    uint8_t *out;                        /* `more`: bytes that wait for the next line */
    uint32_t out_len;
    uint64_t lose, skip;
    bool fin_seen;
};

#define FP(m) offsetof(struct script_fpdu, m), sizeof(((struct script_fpdu *)0)->m)
static const struct script_field fpdu_rows[] = {
    { "last", FP(h.last), SCRIPT_FLAG, 0, false, HAS_DDP }, { "stag", FP(h.stag), SCRIPT_NUM, 0, true, HAS_TAGGED }, { "to", FP(h.to), SCRIPT_NUM, 0, true, HAS_TAGGED },
    { "qn", FP(h.qn), SCRIPT_NUM, 0, false, HAS_UNTAGGED }, { "msn", FP(h.msn), SCRIPT_NUM, 0, false, HAS_UNTAGGED }, { "mo", FP(h.mo), SCRIPT_NUM, 0, false, HAS_UNTAGGED },
    { "inv", FP(h.stag), SCRIPT_NUM, 0, true, HAS_UNTAGGED }, { "dv", FP(h.ddp_version), SCRIPT_NUM, 0, false, HAS_DDP }, { "rv", FP(h.rdmap_version), SCRIPT_NUM, 0, false, HAS_DDP },
    { "opcode", FP(h.opcode), SCRIPT_NUM, 0, false, HAS_DDP }, { "tagged", FP(h.tagged), SCRIPT_FLAG, 0, false, HAS_DDP },
    { "sink-stag", FP(rr.sink_stag), SCRIPT_NUM, 0, true, HAS_READ }, { "sink-to", FP(rr.sink_to), SCRIPT_NUM, 0, true, HAS_READ }, { "size", FP(rr.size), SCRIPT_NUM, 0, false, HAS_READ },
    { "src-stag", FP(rr.src_stag), SCRIPT_NUM, 0, true, HAS_READ }, { "src-to", FP(rr.src_to), SCRIPT_NUM, 0, true, HAS_READ },
    { "aop", FP(ar.aop), SCRIPT_NUM, 0, false, HAS_ATOMIC }, { "reqid", FP(ar.request_id), SCRIPT_NUM, 0, false, HAS_ATOMIC }, { "astag", FP(ar.stag), SCRIPT_NUM, 0, true, HAS_ATOMIC },
    { "ato", FP(ar.to), SCRIPT_NUM, 0, true, HAS_ATOMIC }, { "add", FP(ar.add_swap), SCRIPT_NUM, 0, false, HAS_ATOMIC }, { "swap", FP(ar.add_swap), SCRIPT_NUM, 0, false, HAS_ATOMIC },
    { "mask", FP(ar.add_swap_mask), SCRIPT_NUM, 0, true, HAS_ATOMIC }, { "cmp", FP(ar.compare), SCRIPT_NUM, 0, false, HAS_ATOMIC },
    { "cmp-mask", FP(ar.compare_mask), SCRIPT_NUM, 0, true, HAS_ATOMIC },
    { "reqid", FP(as.request_id), SCRIPT_NUM, 0, false, HAS_RESULT }, { "orig", FP(as.original), SCRIPT_NUM, 0, false, HAS_RESULT },
    { "layer", FP(t.layer), SCRIPT_NUM, 0, false, HAS_TERM }, { "etype", FP(t.etype), SCRIPT_NUM, 0, false, HAS_TERM }, { "code", FP(t.code), SCRIPT_NUM, 0, false, HAS_TERM },
    { "m", FP(t.m), SCRIPT_FLAG, 0, false, HAS_TERM }, { "d", FP(t.d), SCRIPT_FLAG, 0, false, HAS_TERM }, { "r", FP(t.r), SCRIPT_FLAG, 0, false, HAS_TERM },
    { "seglen", FP(t.ddp_seg_len), SCRIPT_NUM, 0, false, HAS_TERM }, { "blames", FP(terminated), SCRIPT_NUM, 0, false, HAS_TERM },
    { "imm", FP(imm), SCRIPT_NUM, 0, false, HAS_IMM },
    { "len", 0, 0, SCRIPT_LEN, 0, false, 0 }, { "ulpdu", FP(ulpdu), SCRIPT_NUM, 0, false, 0 }, { "crc", FP(crc), SCRIPT_FLAG, 0, false, 0 },
    { "aligned", FP(aligned), SCRIPT_FLAG, 0, false, 0 }, { "segments", FP(segments), SCRIPT_NUM, 0, false, 0 },
    { "fill", 0, 0, SCRIPT_FILL, 0, true, 0 }, { "bytes", 0, 0, SCRIPT_BYTES, 0, true, 0 },
};
static const struct script_field mpa_rows[] = {
    { "rev", FP(ms.revision), SCRIPT_NUM, 0, false, 0 }, { "markers", FP(markers), SCRIPT_FLAG, 0, false, 0 }, { "crc", FP(crc_flag), SCRIPT_FLAG, 0, false, 0 },
    { "reject", FP(reject), SCRIPT_FLAG, 0, false, 0 }, { "enhanced", FP(enhanced), SCRIPT_FLAG, 0, false, 0 },
    { "p2p", FP(ms.p2p_a), SCRIPT_FLAG, 0, false, HAS_ENHANCED }, { "rtr-send", FP(ms.rtr_send), SCRIPT_FLAG, 0, false, HAS_ENHANCED },
    { "rtr-write", FP(ms.rtr_write), SCRIPT_FLAG, 0, false, HAS_ENHANCED }, { "rtr-read", FP(ms.rtr_read), SCRIPT_FLAG, 0, false, HAS_ENHANCED },
    { "ird", FP(ms.ird), SCRIPT_NUM, 0, false, HAS_ENHANCED }, { "ord", FP(ms.ord), SCRIPT_NUM, 0, false, HAS_ENHANCED },
    { "pd-len", FP(ms.pd_len), SCRIPT_NUM, 0, false, 0 }, { "aligned", FP(aligned), SCRIPT_FLAG, 0, false, 0 },
    { "len", 0, 0, SCRIPT_LEN, 0, false, 0 }, { "fill", 0, 0, SCRIPT_FILL, 0, true, 0 }, { "bytes", 0, 0, SCRIPT_BYTES, 0, true, 0 },
};

static const struct { const char *word; uint32_t opcode; } names[] = { { "write", RDMAP_WRITE }, { "read-request", RDMAP_READ_REQUEST }, { "read-response", RDMAP_READ_RESPONSE },
    { "send", RDMAP_SEND }, { "send-inv", RDMAP_SEND_INV }, { "send-se", RDMAP_SEND_SE }, { "send-se-inv", RDMAP_SEND_SE_INV }, { "terminate", RDMAP_TERMINATE },
    { "immediate", RDMAP_IMMEDIATE }, { "immediate-se", RDMAP_IMMEDIATE_SE }, { "atomic-request", RDMAP_ATOMIC_REQUEST }, { "atomic-response", RDMAP_ATOMIC_RESPONSE },
    { "fpdu", RAW } };
#define NNAMES (sizeof names / sizeof names[0])

static uint32_t has_of(uint32_t head)
{
    switch (head) {
    case RAW:                   return HAS_RAW;
    case RDMAP_WRITE:
    case RDMAP_READ_RESPONSE:   return HAS_DDP | HAS_TAGGED;
    case RDMAP_READ_REQUEST:    return HAS_DDP | HAS_UNTAGGED | HAS_READ;
    case RDMAP_TERMINATE:       return HAS_DDP | HAS_UNTAGGED | HAS_TERM;
    case RDMAP_ATOMIC_REQUEST:  return HAS_DDP | HAS_UNTAGGED | HAS_ATOMIC;
    case RDMAP_ATOMIC_RESPONSE: return HAS_DDP | HAS_UNTAGGED | HAS_RESULT;
    case RDMAP_IMMEDIATE:
    case RDMAP_IMMEDIATE_SE:    return HAS_DDP | HAS_UNTAGGED | HAS_IMM;
    default:                    return HAS_DDP | HAS_UNTAGGED;
    }
}

static bool fpdu_head(const char *word, uint32_t *head, uint32_t *mask, uint32_t *has)
{
    for (size_t i = 0; i < NNAMES; i++)
        if (strcmp(names[i].word, word) == 0) {
            *head = names[i].opcode;
            *mask = UINT32_MAX;
            *has = has_of(*head);
            return true;
        }
    return false;
}

static void fpdu_print(const struct script_view *v, char *out, size_t len)
{
    uint32_t head = ((const struct script_fpdu *)v->base)->head;
    snprintf(out, len, "opcode %u", head);
    for (size_t i = 0; i < NNAMES; i++)
        if (names[i].opcode == head)
            snprintf(out, len, "%s", names[i].word);
}

static uint32_t fpdu_head_of(const struct script_view *v) { return ((const struct script_fpdu *)v->base)->head; }

static bool mpa_head(const char *word, uint32_t *head, uint32_t *mask, uint32_t *has)
{
    *mask = 1;
    *has = HAS_ENHANCED;
    *head = strcmp(word, "mpa-reply") == 0;
    return *head || strcmp(word, "mpa-request") == 0;
}

static void mpa_print(const struct script_view *v, char *out, size_t len)
{
    snprintf(out, len, "%s", ((const struct script_fpdu *)v->base)->ms.reply ? "mpa-reply" : "mpa-request");
}

static uint32_t mpa_head_of(const struct script_view *v) { return ((const struct script_fpdu *)v->base)->ms.reply; }

const struct script_form script_fpdu_form = { "FPDU", { fpdu_rows, sizeof fpdu_rows / sizeof fpdu_rows[0] }, fpdu_head, fpdu_print, fpdu_head_of };
const struct script_form script_mpa_form = { "start-up frame", { mpa_rows, sizeof mpa_rows / sizeof mpa_rows[0] }, mpa_head, mpa_print, mpa_head_of };

void script_iwarp_view(struct script_run *r, struct script_seen *e, struct script_view *v)
{
    struct script_fpdu *f = e->fpdu;
    (void)r;
    *v = (struct script_view){ .base = f, .has = e->form == &script_mpa_form ? (f->enhanced ? HAS_ENHANCED : 0) : has_of(f->head), .from_us = true, .len = f->len, .payload = f->payload };
}

/* --- our endpoint's stream --- */

static struct script_fpdu *new_fpdu(const uint8_t *payload, uint32_t len)
{
    struct script_fpdu *f = calloc(1, sizeof *f + len + 1);
    f->len = len;
    if (len)
        memcpy(f->payload, payload, len);
    return f;
}

/* How many segments [from, to) touches, and whether it begins with one. */
static void place_in_segments(const struct script_iwarp *w, struct script_fpdu *f, uint64_t from, uint64_t to)
{
    f->segments = 1;
    for (uint32_t i = 0; i < w->nstarts; i++) {
        f->aligned |= w->starts[i] == from;
        f->segments = (uint16_t)(f->segments + (w->starts[i] > from && w->starts[i] < to));
    }
}

static struct script_fpdu *take_apart(const uint8_t *ulpdu, uint32_t len, bool crc_right)
{
    struct ddp_hdr h;
    bool readable = ddp_hdr_decode(ulpdu, len, &h);
    uint32_t used = readable ? (uint32_t)ddp_hdr_bytes(&h) : 0;
    const uint8_t *body = ulpdu + used;
    uint32_t n = len - used;
    struct script_fpdu *f = new_fpdu(body, n);
    f->head = readable ? h.opcode : RAW;
    if (readable)
        f->h = h;
    f->ulpdu = len;
    f->crc = crc_right;
    if (f->head == RDMAP_READ_REQUEST && n >= RDMAP_READ_REQUEST_BYTES)
        rdmap_read_request_decode(body, &f->rr);
    else if (f->head == RDMAP_ATOMIC_REQUEST && n >= RDMAP_ATOMIC_REQUEST_BYTES)
        rdmap_atomic_request_decode(body, &f->ar);
    else if (f->head == RDMAP_ATOMIC_RESPONSE && n >= RDMAP_ATOMIC_RESPONSE_BYTES)
        rdmap_atomic_response_decode(body, &f->as);
    else if (f->head == RDMAP_TERMINATE && rdmap_terminate_decode(body, n, &f->t))
        f->terminated = f->t.d ? f->t.ddp_hdr[1] & 0xf : 0xff;
    for (int i = 0; (f->head == RDMAP_IMMEDIATE || f->head == RDMAP_IMMEDIATE_SE) && n >= 8 && i < 8; i++)
        f->imm = f->imm << 8 | body[i];
    return f;
}

static uint32_t take_start(struct script_run *r)
{
    struct script_iwarp *w = r->iwarp;
    struct mpa_start m;
    size_t used = 0;
    enum mpa_start_status st = mpa_start_decode(w->in, w->in_len, &m, &used);
    if (st == MPA_START_MORE)
        return 0;
    if (st != MPA_START_OK) {
        script_mismatch(r, "our endpoint's stream does not begin with a start-up frame that RFC 5044 and 6581 know");
        return 0;
    }
    uint32_t own = (m.flags & MPA_F_ENHANCED) && m.revision >= 2 ? 4 : 0, n = m.pd_len - own;
    struct script_fpdu *f = new_fpdu(w->in + MPA_START_BYTES + own, n);
    f->ms = m;
    f->markers = (m.flags & MPA_F_MARKERS) != 0;
    f->crc_flag = (m.flags & MPA_F_CRC) != 0;
    f->reject = (m.flags & MPA_F_REJECT) != 0;
    f->enhanced = own > 0;
    place_in_segments(w, f, w->in_at, w->in_at + used);
    w->start_seen = true;
    w->full_at = w->in_at + used;
    w->markers_out = f->markers;
    w->our_crc = f->crc_flag;
    script_see(r, &script_mpa_form, NULL, f);
    return (uint32_t)used;
}

static uint32_t take_fpdu(struct script_run *r)
{
    struct script_iwarp *w = r->iwarp;
    struct mpa_fpdu got;
    uint8_t *ulpdu = r->scratch;
    enum mpa_fpdu_status st = mpa_fpdu_check(w->in, w->in_len, w->our_crc || w->peer_crc, w->markers_in, w->in_at - w->full_at, &got, ulpdu);
    if (st == MPA_FPDU_MORE)
        return 0;
    if (st != MPA_FPDU_OK && st != MPA_FPDU_BAD_CRC) {
        script_mismatch(r, "our endpoint's stream has no FPDU here: %s", st == MPA_FPDU_BAD_MARKER ? "a marker is wrong" : "its length is wrong");
        return 0;
    }
    struct script_fpdu *f = take_apart(ulpdu, got.ulpdu_len, st == MPA_FPDU_OK);
    place_in_segments(w, f, w->in_at, w->in_at + got.wire_len);
    script_see(r, &script_fpdu_form, NULL, f);
    return got.wire_len;
}

static void take_stream(struct script_run *r)
{
    struct script_iwarp *w = r->iwarp;
    for (uint32_t used; !r->failed && w->in_len && (used = w->start_seen ? take_fpdu(r) : take_start(r)) > 0; ) {
        w->in_len -= used;
        w->in_at += used;
        memmove(w->in, w->in + used, w->in_len);
        uint32_t keep = 0;
        for (uint32_t i = 0; i < w->nstarts; i++)
            if (w->starts[i] >= w->in_at)
                w->starts[keep++] = w->starts[i];
        w->nstarts = keep;
    }
}

/* --- the peer's TCP --- */

static void start_segment(struct script_run *r, struct pkt *p, uint8_t flags)
{
    memset(p, 0, sizeof *p);
    p->kind = PKT_TCP;
    p->src = pkt_addr_of_node(1);
    p->dst = pkt_addr_of_node(0);
    p->sport = r->peer_port;
    p->dport = r->our_port;
    p->ttl = 64;
    p->tcp.flags = flags;
    p->tcp.seq = (uint32_t)r->script->params.peer_isn + r->peer.snd_nxt;
    p->tcp.ack = flags & TCP_ACK ? (uint32_t)r->script->params.isn + r->peer.rcv_nxt : 0;
    p->tcp.window = (uint16_t)r->script->params.peer_window;
}

static void send_syn(struct script_run *r, bool answer)
{
    struct pkt p;
    start_segment(r, &p, answer ? TCP_SYN | TCP_ACK : TCP_SYN);
    p.tcp.opt = TCP_OPT_MSS;
    p.tcp.mss = (uint16_t)r->script->params.peer_mss;
    pkt_set_len(&p);
    r->peer.snd_nxt = 1;
    script_deliver_at(r, r->bed.now_ps, &p);
}

static void send_ack(struct script_run *r, int64_t at_ps)
{
    struct pkt p;
    start_segment(r, &p, TCP_ACK);
    pkt_set_len(&p);
    script_deliver_at(r, at_ps, &p);
}

static void take_payload(struct script_run *r, const struct pkt *p)
{
    struct script_iwarp *w = r->iwarp;
    if (w->in_len + p->payload_len > STREAM_MAX || w->nstarts == STARTS_MAX) {
        script_mismatch(r, "our endpoint's stream has %u bytes that are no whole FPDU", w->in_len);
        return;
    }
    w->starts[w->nstarts++] = w->in_at + w->in_len;
    pkt_payload_read(p, 0, p->payload_len, w->in + w->in_len);
    w->in_len += p->payload_len;
    r->peer.rcv_nxt += p->payload_len;
    take_stream(r);
}

void script_iwarp_wire(struct script_run *r, struct pkt *p)
{
    struct script_iwarp *w = r->iwarp;
    const struct script_params *par = &r->script->params;
    uint8_t flags = p->tcp.flags;
    if (flags & TCP_SYN)
        r->script->params.isn = p->tcp.seq;
    if (par->peer_tcp) {
        script_see(r, &script_tcp_form, p, NULL);
        return;
    }
    if (p->payload_len && w->skip)
        w->skip--;
    else if (p->payload_len && w->lose) {
        w->lose--;
        pkt_release_payload(p);
        return;
    }
    if (flags & TCP_RST) {
        script_see(r, &script_tcp_form, p, NULL);
        return;
    }
    if (flags & TCP_SYN) {
        r->peer.rcv_nxt = 1;
        if (flags & TCP_ACK)
            send_ack(r, r->bed.now_ps);
        else
            send_syn(r, true);
        pkt_release_payload(p);
        return;
    }
    uint32_t seq = p->tcp.seq - (uint32_t)par->isn;
    bool fin = flags & TCP_FIN, in_order = seq == r->peer.rcv_nxt;
    if (in_order && p->payload_len)
        take_payload(r, p);
    bool ended = fin && !w->fin_seen && seq + p->payload_len == r->peer.rcv_nxt;
    if (ended) {
        w->fin_seen = true;
        r->peer.rcv_nxt++;
    }
    if (p->payload_len || fin)
        send_ack(r, r->bed.now_ps + par->peer_rtt_ps);
    if (ended)
        script_see(r, &script_tcp_form, p, NULL);
    else
        pkt_release_payload(p);
}

/* --- what the peer sends --- */

static void defaults(const struct script_iwarp *w, struct script_fpdu *f)
{
    static const uint8_t queue[] = { [RDMAP_READ_REQUEST] = 1, [RDMAP_TERMINATE] = 2, [RDMAP_ATOMIC_REQUEST] = 1, [RDMAP_ATOMIC_RESPONSE] = 3 };
    f->h = (struct ddp_hdr){ .last = 1, .ddp_version = 1, .rdmap_version = 1, .opcode = (uint8_t)(f->head & 0xf), .tagged = f->head == RDMAP_WRITE || f->head == RDMAP_READ_RESPONSE };
    f->h.qn = f->head < sizeof queue ? queue[f->head] : 0;
    f->h.msn = w->msn[f->h.qn];
    f->ar.add_swap_mask = f->ar.compare_mask = UINT64_MAX;
    f->crc = 1;
    f->t.layer = f->t.etype = f->t.code = 0;
}

/* The ULPDU's bytes. */
static uint32_t put_together(const struct script_fpdu *f, const uint8_t *payload, uint32_t len, uint8_t *out)
{
    uint32_t n = 0;
    if (f->head != RAW)
        n = (uint32_t)ddp_hdr_encode(&f->h, out);
    switch (f->head) {
    case RDMAP_READ_REQUEST:
        rdmap_read_request_encode(&f->rr, out + n);
        n += RDMAP_READ_REQUEST_BYTES;
        break;
    case RDMAP_ATOMIC_REQUEST:
        rdmap_atomic_request_encode(&f->ar, out + n);
        n += RDMAP_ATOMIC_REQUEST_BYTES;
        break;
    case RDMAP_ATOMIC_RESPONSE:
        rdmap_atomic_response_encode(&f->as, out + n);
        n += RDMAP_ATOMIC_RESPONSE_BYTES;
        break;
    case RDMAP_TERMINATE:
        n += (uint32_t)rdmap_terminate_encode(&f->t, out + n);
        break;
    case RDMAP_IMMEDIATE:
    case RDMAP_IMMEDIATE_SE:
        for (int i = 7; i >= 0; i--)
            out[n++] = (uint8_t)(f->imm >> 8 * i);
        break;
    default:
        break;
    }
    memcpy(out + n, payload, len);
    return n + len;
}

struct framer { struct script_iwarp *w; uint8_t *out; uint32_t n, field_at; uint64_t from; bool started; };

/* One byte of an FPDU, before it the marker that is due (RFC 5044 4.3): a pointer back to the length field, 0 before an FPDU. */
static void put_byte(struct framer *m, uint8_t b)
{
    if (m->w->markers_out && (m->from + m->n) % 512 == 0) {
        uint32_t back = m->started ? m->n - m->field_at : 0;
        m->out[m->n] = m->out[m->n + 1] = 0;
        m->out[m->n + 2] = (uint8_t)(back >> 8);
        m->out[m->n + 3] = (uint8_t)back;
        m->n += 4;
    }
    if (!m->started) {
        m->started = true;
        m->field_at = m->n;
    }
    m->out[m->n++] = b;
}

static uint32_t frame(struct script_iwarp *w, const struct script_fpdu *f, const uint8_t *ulpdu, uint32_t len, uint8_t *out)
{
    struct framer m = { .w = w, .out = out, .from = w->out_at };
    put_byte(&m, (uint8_t)(f->ulpdu >> 8));
    put_byte(&m, (uint8_t)f->ulpdu);
    for (uint32_t i = 0; i < len; i++)
        put_byte(&m, ulpdu[i]);
    for (uint32_t i = 0; i < mpa_pad(len); i++)
        put_byte(&m, 0);
    if (w->markers_out && (m.from + m.n) % 512 == 0) {
        uint32_t back = m.n - m.field_at;
        memset(out + m.n, 0, 4);
        out[m.n + 2] = (uint8_t)(back >> 8);
        out[m.n + 3] = (uint8_t)back;
        m.n += 4;
    }
    uint32_t crc = w->our_crc || w->peer_crc ? wire_crc32c(0, out, m.n) : 0;
    if (!f->crc)
        crc ^= 0x01000000;
    for (int i = 0; i < 4; i++)
        out[m.n++] = (uint8_t)(crc >> 8 * i);
    w->out_at += m.n;
    return m.n;
}

/* The bytes that wait leave as segments. */
static bool flush(struct script_run *r, const struct script_line *l)
{
    struct script_iwarp *w = r->iwarp;
    uint32_t at = 0, cut = 0;
    while (at < w->out_len) {
        uint32_t end = at + (uint32_t)r->script->params.peer_mss;
        if (cut < l->ncuts && l->cut[cut] <= end)
            end = l->cut[cut++];
        end = end < w->out_len ? end : w->out_len;
        if (end == at)
            continue;
        struct pkt p;
        start_segment(r, &p, TCP_ACK | TCP_PSH);
        if (!pkt_add_bytes(&p, w->out + at, end - at))
            return script_mismatch(r, "this segment cannot be built");
        pkt_set_len(&p);
        r->peer.snd_nxt += end - at;
        script_deliver(r, l, &p);
        at = end;
    }
    w->out_len = 0;
    return !r->failed;
}

bool script_iwarp_send(struct script_run *r, const struct script_line *l)
{
    struct script_iwarp *w = r->iwarp;
    static const uint32_t room = 65000;
    uint8_t *payload = malloc(SCRIPT_PAYLOAD_MAX), *ulpdu = malloc(SCRIPT_PAYLOAD_MAX + 256);
    struct script_fpdu f;
    memset(&f, 0, sizeof f);
    bool start = l->form == &script_mpa_form, ok;
    f.head = start ? 0 : l->head;
    if (start) {
        f.ms.reply = l->head & 1;
        f.ms.revision = 2;
        f.crc_flag = f.enhanced = 1;
    } else {
        defaults(w, &f);
    }
    struct script_view v = { .base = &f, .has = start ? HAS_ENHANCED : has_of(f.head) };
    uint32_t len = script_payload(r, l, payload, start ? MPA_PRIVATE_MAX : room);
    ok = script_fill(r, l, &v) && !r->failed;
    if (ok && w->out_len + len + 1000 > STREAM_MAX)
        ok = script_mismatch(r, "more: too many bytes wait");
    if (ok && start) {
        if (f.ms.revision < 2)
            f.enhanced = 0;
        f.ms.flags = (uint8_t)((f.markers ? MPA_F_MARKERS : 0) | (f.crc_flag ? MPA_F_CRC : 0) | (f.reject ? MPA_F_REJECT : 0) | (f.enhanced ? MPA_F_ENHANCED : 0));
        w->peer_crc = f.crc_flag;
        w->markers_in = f.markers;
        w->out_len += (uint32_t)mpa_start_encode(&f.ms, payload, len, w->out + w->out_len);
    } else if (ok) {
        uint32_t n = put_together(&f, payload, len, ulpdu);
        if (!script_find_set(l, "ulpdu"))
            f.ulpdu = n;
        w->out_len += frame(w, &f, ulpdu, n, w->out + w->out_len);
        if (!f.h.tagged && f.h.last && f.h.qn < 4 && f.head != RAW)
            w->msn[f.h.qn] = f.h.msn + 1;
    }
    free(payload);
    free(ulpdu);
    return ok && (l->more || flush(r, l));
}

/* --- life --- */

bool script_iwarp_open(struct script_run *r)
{
    struct script *s = r->script;
    struct testbed_spec spec = { .iwarp = &s->iwarp, .tcp = &s->tcp, .cc = s->cc, .cc_params = s->cc_params, .seed = 1, .on_wc = script_on_wc, .ctx = r };
    if (testbed_iwarp(&r->rnic, &spec) != SIM_OK)
        return script_mismatch(r, "no QP can be made with these parameters");
    struct script_iwarp *w = r->iwarp = calloc(1, sizeof *w);
    w->in = malloc(STREAM_MAX + SCRIPT_PAYLOAD_MAX);
    w->out = malloc(STREAM_MAX + 4 * SCRIPT_PAYLOAD_MAX);
    for (int i = 0; i < 4; i++)
        w->msn[i] = 1; /* RFC 5041 5.1 */
    testbed_init(&r->bed, &r->rnic.qp->ep, NULL, NULL);
    return script_verbs_open(r);
}

void script_iwarp_free(struct script_run *r)
{
    if (!r->iwarp)
        return;
    free(r->iwarp->in);
    free(r->iwarp->out);
    free(r->iwarp);
}

bool script_iwarp_connect(struct script_run *r, const struct script_line *l, const struct script_args *a)
{
    bool listen = l->call == SCRIPT_CALL_listen;
    const struct script_set *pd = script_find_set(l, "bytes");
    if (pd && iwarp_qp_set_private_data(r->rnic.qp, pd->value.bytes, pd->value.nbytes) != SIM_OK)
        return script_mismatch(r, "this private data is not taken");
    r->our_port = listen ? PEER_PORT : OUR_PORT;
    r->peer_port = listen ? OUR_PORT : PEER_PORT;
    struct iwarp_peer peer = { .addr = { pkt_addr_of_node(0), pkt_addr_of_node(1), r->our_port, r->peer_port }, .ttl = 64 };
    if (a->reject)
        iwarp_qp_set_reject(r->rnic.qp);
    int rc = listen ? iwarp_qp_accept(r->rnic.qp, &peer, NULL, NULL) : iwarp_qp_connect(r->rnic.qp, &peer, NULL, NULL);
    if ((int64_t)a->result != rc)
        return script_mismatch(r, "the call's result is %d", rc);
    testbed_settle(&r->bed);
    if (listen && !r->script->params.peer_tcp)
        send_syn(r, false);
    return true;
}

void script_iwarp_lose(struct script_run *r, uint64_t count, uint64_t skip)
{
    r->iwarp->lose = count;
    r->iwarp->skip = skip;
}
