/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls in scripts: sockets, and what may be checked by name. */
#include "script_internal.h"

#include <inttypes.h>
#include <string.h>

#define OF(m) offsetof(struct script_args, m), sizeof(((struct script_args *)0)->m)
#define IN(c) (1u << SCRIPT_CALL_##c)
#define NUM(n, m, calls) { n, OF(m), SCRIPT_NUM, 0, false, calls },
#define HEX(n, m, calls) { n, OF(m), SCRIPT_NUM, 0, true, calls },
#define FLAG(n, m, calls) { n, OF(m), SCRIPT_FLAG, 0, false, calls },
static const struct script_field args[] = {
    NUM("id", id, IN(post))
    NUM("va", va, IN(post) | IN(region) | IN(store) | IN(memory))
    HEX("key", key, IN(post) | IN(region) | IN(dereg))
    HEX("rva", rva, IN(post))
    HEX("rkey", rkey, IN(post))
    NUM("imm", imm, IN(post))
    HEX("inv", inv, IN(post))
    NUM("add", add, IN(post))
    NUM("swap", swap, IN(post))
    NUM("cmp", cmp, IN(post))
    NUM("result", result, IN(post) | IN(connect) | IN(listen))
    NUM("access", access, IN(region))
    NUM("u64", u64, IN(store) | IN(memory))
    NUM("count", count, IN(lose))
    NUM("skip", skip, IN(lose))
    NUM("mss", mss, IN(handshake))
    NUM("win", win, IN(handshake))
    NUM("wscale", wscale, IN(handshake))
    { "sack-ok", OF(sack_ok), SCRIPT_FLAG, 0, false, IN(handshake) },
    { "ts", OF(ts), SCRIPT_FLAG, 0, false, IN(handshake) },
    FLAG("passive", passive, IN(handshake))
    FLAG("unsignaled", unsignaled, IN(post))
    FLAG("fence", fence, IN(post))
    FLAG("solicited", solicited, IN(post))
    FLAG("inline", inlined, IN(post))
    FLAG("reject", reject, IN(listen))
    { "len", 0, 0, SCRIPT_LEN, 0, false, IN(post) | IN(region) | IN(send) | IN(read) | IN(store) | IN(memory) },
    { "fill", 0, 0, SCRIPT_FILL, 0, true, IN(store) | IN(memory) },
    { "bytes", 0, 0, SCRIPT_BYTES, 0, true, IN(store) | IN(memory) | IN(connect) | IN(listen) },
};
const struct script_fields script_arg_fields = { args, sizeof args / sizeof args[0] };

/* --- check --- */

static bool tcp_counter(const struct script_run *r, uint16_t off, uint64_t *out)
{
    const struct tcp_conn *c = script_conn(r);
    if (c)
        *out = *(const uint64_t *)(const void *)((const char *)tcp_counters(c) + off);
    return c != NULL;
}
static bool qp_counter(const struct script_run *r, uint16_t off, uint64_t *out)
{
    *out = *(const uint64_t *)(const void *)((const char *)rnic_qp_counters(r->rnic.qp) + off);
    return true;
}
enum tcp_number { TCP_N_STATE, TCP_N_RTO, TCP_N_SRTT, TCP_N_CWND, TCP_N_SSTHRESH, TCP_N_PIPE, TCP_N_EMSS, TCP_N_SND_UNA, TCP_N_SND_NXT };
static bool tcp_number(const struct script_run *r, uint16_t what, uint64_t *out)
{
    const struct tcp_conn *c = script_conn(r);
    if (!c)
        return false;
    switch (what) {
    case TCP_N_STATE:    *out = (uint64_t)tcp_state(c); break;
    case TCP_N_RTO:      *out = (uint64_t)tcp_rto_ps(c); break;
    case TCP_N_SRTT:     *out = (uint64_t)tcp_srtt_ps(c); break;
    case TCP_N_CWND:     *out = (uint64_t)tcp_cc(c)->cwnd_bytes; break;
    case TCP_N_SSTHRESH: *out = (uint64_t)tcp_cc(c)->ssthresh_bytes; break;
    case TCP_N_PIPE:     *out = tcp_pipe(c); break;
    case TCP_N_EMSS:     *out = tcp_emss(c); break;
    case TCP_N_SND_UNA:  *out = tcp_snd_una(c); break;
    default:             *out = tcp_snd_nxt(c); break;
    }
    return true;
}
static bool stream_number(const struct script_run *r, uint16_t off, uint64_t *out)
{
    *out = *(const uint64_t *)(const void *)((const char *)&r->stream + off);
    return true;
}
static bool stream_error(const struct script_run *r, uint16_t off, uint64_t *out)
{
    (void)off;
    *out = r->stream.error != 0;
    return true;
}
static bool qp_state(const struct script_run *r, uint16_t off, uint64_t *out)
{
    (void)off;
    *out = rnic_qp_state(r->rnic.qp);
    return true;
}
static bool corrupted(const struct script_run *r, uint16_t off, uint64_t *out)
{
    (void)off;
    *out = r->corrupted;
    return true;
}
static bool conn_state(const struct script_run *r, uint16_t off, uint64_t *out)
{
    (void)off;
    *out = script_cm_state(r);
    return *out != UINT64_MAX;
}
static bool rate(const struct script_run *r, uint16_t off, uint64_t *out)
{
    (void)off;
    *out = (uint64_t)roce_qp_cc(r->rnic.qp)->rate_bps;
    return true;
}
static bool agreed(const struct script_run *r, uint16_t off, uint64_t *out)
{
    struct iwarp_agreed a = iwarp_qp_agreed(r->rnic.qp);
    const uint64_t v[] = { a.up, a.revision, a.crc, a.rtr, a.ird, a.ord, a.peer_ird, a.peer_ord };
    *out = v[off];
    return true;
}

#define ANY_TCP (SCRIPT_TCP | SCRIPT_IWARP)
#define VERBS (SCRIPT_IWARP | SCRIPT_ROCE)
/* X(name, transports, what of it, how) */
#define TCP_COUNTER(X, n) X(#n, ANY_TCP, offsetof(struct tcp_counters, n), tcp_counter)
#define CHECKED(X) \
    X("state", ANY_TCP, TCP_N_STATE, tcp_number) X("rto", ANY_TCP, TCP_N_RTO, tcp_number) X("srtt", ANY_TCP, TCP_N_SRTT, tcp_number) \
    X("cwnd", ANY_TCP, TCP_N_CWND, tcp_number) X("ssthresh", ANY_TCP, TCP_N_SSTHRESH, tcp_number) X("pipe", ANY_TCP, TCP_N_PIPE, tcp_number) \
    X("emss", ANY_TCP, TCP_N_EMSS, tcp_number) X("snd-una", ANY_TCP, TCP_N_SND_UNA, tcp_number) X("snd-nxt", ANY_TCP, TCP_N_SND_NXT, tcp_number) \
    X("received", SCRIPT_TCP, offsetof(struct testbed_stream, received), stream_number) \
    X("acked", SCRIPT_TCP, offsetof(struct testbed_stream, acked), stream_number) X("error", SCRIPT_TCP, 0, stream_error) \
    X("qp", VERBS, 0, qp_state) X("corrupted", ANY_TCP | SCRIPT_ROCE, 0, corrupted) X("rate", SCRIPT_ROCE, 0, rate) X("conn", SCRIPT_ROCE, 0, conn_state) \
    X("up", SCRIPT_IWARP, 0, agreed) X("revision", SCRIPT_IWARP, 1, agreed) X("crc", SCRIPT_IWARP, 2, agreed) X("rtr", SCRIPT_IWARP, 3, agreed) \
    X("ird", SCRIPT_IWARP, 4, agreed) X("ord", SCRIPT_IWARP, 5, agreed) X("peer-ird", SCRIPT_IWARP, 6, agreed) X("peer-ord", SCRIPT_IWARP, 7, agreed) \
    TCP_COUNTER(X, timeouts) TCP_COUNTER(X, retransmitted_segments) TCP_COUNTER(X, fast_retransmits) TCP_COUNTER(X, tlp_probes) \
    TCP_COUNTER(X, dup_acks_in) TCP_COUNTER(X, out_of_order_in) TCP_COUNTER(X, paws_drops) TCP_COUNTER(X, duplicates_in) TCP_COUNTER(X, ce_in) \
    TCP_COUNTER(X, ece_in) TCP_COUNTER(X, window_probes) TCP_COUNTER(X, sent_bytes) TCP_COUNTER(X, delivered_bytes) TCP_COUNTER(X, reassembly_drops)

struct checked { uint16_t off; bool (*get)(const struct script_run *r, uint16_t off, uint64_t *out); };
#define ROW(n, t, o, g) { (uint16_t)(o), g },
#define QP_ROW(n) { (uint16_t)offsetof(struct rnic_counters, n), qp_counter },
static const struct checked checked[] = { CHECKED(ROW) RNIC_COUNTERS(QP_ROW) };
#define FIELD(n, t, o, g) { n, 0, 8, SCRIPT_NUM, SCRIPT_PLAIN, false, t },
#define QP_FIELD(n) { #n, 0, 8, SCRIPT_NUM, SCRIPT_PLAIN, false, SCRIPT_ROCE },
static const struct script_field check_rows[] = { CHECKED(FIELD) RNIC_COUNTERS(QP_FIELD) };
const struct script_fields script_check_fields = { check_rows, sizeof check_rows / sizeof check_rows[0] };

static bool check(struct script_run *r, const struct script_line *l)
{
    char a[64], b[64];
    bool all = true;
    for (uint32_t i = 0; i < l->nsets; i++) {
        const struct script_field *f = l->set[i].field;
        const struct checked *c = &checked[f - check_rows];
        const struct script_term *t = &l->set[i].value.term[0];
        uint64_t got = 0;
        bool there = c->get(r, c->off, &got), learn = t->var >= 0 && !r->known[t->var];
        if (there && learn) {
            r->var[t->var] = got - t->add;
            r->known[t->var] = true;
        }
        uint64_t want = script_term_value(r, t);
        if (there && (t->any || want == got))
            continue;
        if (all) {
            script_mismatch(r, "%s", l->text + strspn(l->text, " \t"));
            fprintf(r->err, "  %-22s %-24s %-24s\n", "", "expected", "seen");
        }
        all = false;
        fprintf(r->err, "  %-22s %-24s %-24s <--\n", f->name, script_word_of(f->name, want, false, a, sizeof a),
                there ? script_word_of(f->name, got, false, b, sizeof b) : "not yet");
    }
    return all;
}

/* --- sockets --- */

static bool result(struct script_run *r, const struct script_args *a, int got)
{
    char w1[32], w2[32];
    if ((int64_t)a->result == got)
        return true;
    return script_mismatch(r, "the call's result: expected %s, seen %s", script_word_of("result", a->result, false, w1, sizeof w1),
                           script_word_of("result", (uint64_t)(int64_t)got, false, w2, sizeof w2));
}

static bool socket_call(struct script_run *r, const struct script_line *l, const struct script_args *a)
{
    struct tcp_conn *c = r->stream.conn;
    int64_t now = r->bed.now_ps;
    switch (l->call) {
    case SCRIPT_CALL_connect:   return result(r, a, tcp_connect(c, now));
    case SCRIPT_CALL_listen:    return result(r, a, tcp_accept(c, now));
    case SCRIPT_CALL_handshake: return script_tcp_handshake(r, a);
    case SCRIPT_CALL_send:
        r->stream_end += a->len;
        tcp_stream_end(c, now, r->stream_end);
        return true;
    case SCRIPT_CALL_read:
        if (!r->stream.lazy)
            return script_mismatch(r, "read needs: set read=off");
        if (r->stream_read + a->len > r->stream.received)
            return script_mismatch(r, "read len=%" PRIu64 ": only %" PRIu64 " bytes are there", a->len, r->stream.received - r->stream_read);
        r->stream_read += a->len;
        tcp_consumed(c, now, r->stream_read);
        return true;
    case SCRIPT_CALL_close:
        tcp_close(c, now);
        return true;
    default:
        tcp_abort(c, now);
        return true;
    }
}

bool script_call(struct script_run *r, const struct script_line *l)
{
    if (l->call == SCRIPT_CALL_nothing)
        return true;
    if (l->call == SCRIPT_CALL_check)
        return check(r, l);
    struct script_args a = { .mss = 1460, .win = UINT64_MAX, .wscale = UINT64_MAX, .count = 1, .va = UINT64_MAX, .key = UINT64_MAX, .access = 15, .id = UINT64_MAX };
    struct script_view v = { .base = &a };
    if (l->call == SCRIPT_CALL_region)
        r->known[script_find_set(l, "key")->value.term[0].var] = true; /* its name learns the key now */
    if (!script_fill(r, l, &v))
        return false;
    const struct script_set *len = script_find_set(l, "len");
    a.len = len ? script_term_value(r, &len->value.term[0]) : 0;
    if (a.len > UINT64_C(1) << 26)
        return script_mismatch(r, "len=%" PRIu64 ": at most 64 MiB", a.len);
    switch (l->call) {
    case SCRIPT_CALL_connect:
    case SCRIPT_CALL_listen:
    case SCRIPT_CALL_close:
        return script_kind_of(r) == SCRIPT_ROCE ? script_cm_call(r, l, &a) : script_kind_of(r) == SCRIPT_IWARP ? script_iwarp_connect(r, l, &a) : socket_call(r, l, &a);
    case SCRIPT_CALL_lose:
        script_iwarp_lose(r, a.count, a.skip);
        return true;
    case SCRIPT_CALL_handshake:
    case SCRIPT_CALL_send:
    case SCRIPT_CALL_read:
    case SCRIPT_CALL_abort:
        return socket_call(r, l, &a);
    default:
        return script_verbs_call(r, l, &a);
    }
}
