/* SPDX-License-Identifier: GPL-2.0-only */
/** The inside of packet scripts: parse (text to lines), match (fields of packets), run (time, queues, what is expected), and a file
 *  per transport that knows its packets and plays its peer.
 */
#ifndef RNICSIM_HELPER_SCRIPT_INTERNAL_H
#define RNICSIM_HELPER_SCRIPT_INTERNAL_H

#include "../model/wire/codec.h"
#include "../model/wire/iwarp.h"
#include "script.h"
#include "script_params.h"
#include "testbed.h"

struct wire_cm;

enum script_transport { SCRIPT_TCP = 1, SCRIPT_IWARP = 2, SCRIPT_ROCE = 4 };

#define SCRIPT_LIST_MAX 8
#define SCRIPT_VARS_MAX 64
#define SCRIPT_SETS_MAX 24       /* fields that a line names */
#define SCRIPT_BYTES_MAX 512     /* bytes=... */
#define SCRIPT_MEM_VA UINT64_C(0x100000)
#define SCRIPT_MEM_BYTES (1u << 20)
#define SCRIPT_PAYLOAD_MAX (1u << 16)
#define SCRIPT_PEER_QPN 153

/* --- values --- */

/** A number, a variable, a variable plus a number, or anything. */
struct script_term { int16_t var; bool any; uint64_t add; };
struct script_value { uint8_t n; struct script_term term[SCRIPT_LIST_MAX]; uint16_t nbytes; uint8_t *bytes; };

enum script_kind {
    SCRIPT_NUM,
    SCRIPT_FLAG,     /* bare word 1, "no-" 0 */
    SCRIPT_OPTION,   /* there or not: bare word, "no-" */
    SCRIPT_SACK,     /* list of A-B */
    SCRIPT_LEN, SCRIPT_FILL, SCRIPT_BYTES /* of the payload */
};
/** What a number counts from. */
enum script_rel { SCRIPT_PLAIN, SCRIPT_SEQ, SCRIPT_ACK, SCRIPT_PSN };

/** A field of a packet, a completion or a call: size bytes at off of the view's base. need: it is there only if the view has one of these bits. */
struct script_field { const char *name; uint16_t off; uint8_t size, kind, rel; bool hex; uint32_t need; };
struct script_fields { const struct script_field *row; size_t n; };

/** A packet taken apart. */
struct script_view { void *base; uint32_t has; bool from_us, request; uint32_t len; const uint8_t *payload; };

struct script_set { const struct script_field *field; bool absent; struct script_value value; };

/* --- lines --- */

enum script_when { SCRIPT_AT, SCRIPT_AFTER, SCRIPT_TOGETHER, SCRIPT_WHENEVER };
enum script_do { SCRIPT_SENDS /* < */, SCRIPT_EXPECTS /* > */, SCRIPT_COMPLETES, SCRIPT_CALLS };

struct script_form;
struct script_line {
    uint32_t number;
    uint8_t when, what;
    int64_t from_ps, to_ps;              /* the time, or the range of it */
    const char *text;                    /* as written, for messages; the script's */
    /* faults */
    bool drop, corrupt, duplicate, more;
    int64_t delay_ps;
    uint32_t times;                      /* x10 */
    uint32_t cut[4], ncuts;              /* iWARP: a segment ends after so many bytes of this line */
    const struct script_form *form;
    uint32_t head, head_mask;            /* opcode or flags; the mask of what is compared */
    bool any;                            /* any packet */
    uint8_t call;
    uint32_t op;                         /* post: the operation; check: nothing */
    uint32_t nsets;
    struct script_set set[SCRIPT_SETS_MAX];
    struct script_line *next;
};

/** A family of packets: how its first word reads and which fields it has. */
struct script_form {
    const char *name;
    struct script_fields fields;
    /** The first word of a packet; false: not one of this form's. *has: what fields such a packet may have. */
    bool (*head)(const char *word, uint32_t *head, uint32_t *mask, uint32_t *has);
    /** Print the head of a packet. */
    void (*print)(const struct script_view *v, char *out, size_t len);
    uint32_t (*head_of)(const struct script_view *v);
};
extern const struct script_form script_tcp_form, script_roce_form, script_cm_form, script_fpdu_form, script_mpa_form, script_wc_form;

struct script {
    const char *name;
    char *text;                          /* ours, cut into words */
    FILE *err;
    uint32_t number;
    enum script_transport transport;
    struct script_params params;
    struct tcp_params tcp;
    struct iwarp_params iwarp;
    struct roce_params roce;
    const struct cc_ops *cc;
    struct cc_ops cc_ecn;                /* cc with ECN, where the script sets it */
    void *cc_params;
    char (*vars)[32];
    uint32_t nvars;
    struct script_line *first, **tail;
};

/** Parse; false: one line has been printed on err. The caller frees in either case. */
bool script_parse(struct script *s, const char *name, const char *text, size_t len, FILE *err);
void script_free(struct script *s);
/** "file:line: ..." on err; returns false. */
bool script_complain(struct script *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** script_set.c: `set NAME=VALUE`. */
bool script_take_setting(struct script *s, char *word);
/** script_value.c: a word that stands for a number (NULL: only numbers, variables and anything); false and *err: one phrase. */
bool script_parse_value(struct script *s, const struct script_field *f, char *text, struct script_value *v);
/** The word for a value of this field, or the number in its base; returns buf. */
const char *script_word_of(const char *field, uint64_t value, bool hex, char *buf, size_t len);
bool script_parse_time(const char *text, int64_t *ps);

/* --- calls --- */

/** X(name, transports) */
#define SCRIPT_CALLS_LIST(X) \
    X(connect,   SCRIPT_TCP | SCRIPT_IWARP | SCRIPT_ROCE) \
    X(listen,    SCRIPT_TCP | SCRIPT_IWARP | SCRIPT_ROCE) \
    X(handshake, SCRIPT_TCP) \
    X(send,      SCRIPT_TCP) \
    X(read,      SCRIPT_TCP) \
    X(close,     SCRIPT_TCP | SCRIPT_ROCE) \
    X(abort,     SCRIPT_TCP) \
    X(lose,      SCRIPT_IWARP) \
    X(post,      SCRIPT_IWARP | SCRIPT_ROCE) \
    X(error,     SCRIPT_IWARP | SCRIPT_ROCE) \
    X(region,    SCRIPT_IWARP | SCRIPT_ROCE) \
    X(dereg,     SCRIPT_IWARP | SCRIPT_ROCE) \
    X(store,     SCRIPT_IWARP | SCRIPT_ROCE) \
    X(memory,    SCRIPT_IWARP | SCRIPT_ROCE) \
    X(check,     SCRIPT_TCP | SCRIPT_IWARP | SCRIPT_ROCE) \
    X(nothing,   SCRIPT_TCP | SCRIPT_IWARP | SCRIPT_ROCE)
enum script_call {
#define X(n, t) SCRIPT_CALL_##n,
    SCRIPT_CALLS_LIST(X)
#undef X
    SCRIPT_CALL_COUNT
};
struct script_call_row { const char *name; unsigned transports; };
extern const struct script_call_row script_calls[SCRIPT_CALL_COUNT];

/** Arguments of calls. */
struct script_args {
    uint64_t id, len, va, key, rva, rkey, imm, inv, add, swap, cmp, result, fill, u64, access, name, count, skip, mss, win, wscale, pd;
    uint64_t unsignaled, fence, solicited, inlined, reject, passive;
    uint8_t sack_ok, ts;
};
extern const struct script_fields script_arg_fields, script_check_fields;
/** The words of `post`: the operation, or -1 recv, or -2 no such word. */
int script_post_op(const char *word);

/* --- running --- */

struct script_seen {                     /* what our endpoint did, in order */
    struct script_seen *next;
    int64_t at_ps;
    bool completion;
    struct rnic_wc wc;
    struct pkt p;                        /* as decoded from its bytes; payload ours */
    const struct script_form *form;
    struct script_fpdu *fpdu;            /* iWARP */
    struct wire_cm *mad;                 /* connection management */
};
struct script_late { struct script_late *next; int64_t at_ps; struct pkt p; };

struct script_peer_tcp {
    uint32_t snd_nxt, rcv_nxt;           /* relative to the initial sequence numbers; rcv_nxt from 0 before our SYN */
    bool ts, sack, closed;
    uint32_t ts_recent;
};
struct script_iwarp;                     /* the automatic peer's state */
struct script_cm;                        /* the connection manager's */

struct script_run {
    struct script *script;
    const struct script_line *line;
    FILE *log, *err;
    struct testbed bed;
    int64_t last_ps;                     /* of the line before */
    uint64_t var[SCRIPT_VARS_MAX];
    bool known[SCRIPT_VARS_MAX];
    struct script_seen *head, **tail;    /* packets */
    struct script_seen *wc_head, **wc_tail;
    struct script_late *late;
    /* the endpoint */
    struct testbed_stream stream;
    struct testbed_rnic rnic;
    struct rnic_mr *mr;
    struct rnic_mr *mrs[SCRIPT_VARS_MAX];/* by variable */
    uint8_t *mems[SCRIPT_VARS_MAX];
    uint64_t mem_va[SCRIPT_VARS_MAX], mem_len[SCRIPT_VARS_MAX];
    uint32_t wrs;
    uint64_t stream_end, stream_read;
    struct script_peer_tcp peer;
    struct script_iwarp *iwarp;
    struct script_cm *cm;
    uint16_t our_port, peer_port;
    uint32_t corrupted;                  /* packets whose damage the checksum found */
    uint8_t *scratch;                    /* SCRIPT_PAYLOAD_MAX * 2 */
    uint32_t steps;
    bool failed;
};

/** Deliver a packet of the peer's to our endpoint now, through its bytes, with the line's faults. */
void script_deliver(struct script_run *r, const struct script_line *l, struct pkt *p);
/** A packet to be delivered at at_ps. */
void script_deliver_at(struct script_run *r, int64_t at_ps, struct pkt *p);
/** Queue what our endpoint sent; part: the FPDU or the management datagram in it, or NULL; owned from now on. */
void script_see(struct script_run *r, const struct script_form *form, struct pkt *p, void *part);
const struct tcp_conn *script_conn(const struct script_run *r);
/** script_match.c */
uint64_t script_term_value(const struct script_run *r, const struct script_term *t);
/** Does the view fit the line? Binds variables. When not, prints the table of both. */
bool script_match(struct script_run *r, const struct script_view *v, int64_t at_ps, int64_t from_ps, int64_t to_ps);
/** Put the line's fields into a view (calls, packets that are sent). false: complained. */
bool script_fill(struct script_run *r, const struct script_line *l, struct script_view *v);
/** The bits that a field has: numbers of it are taken modulo the next power of two. */
uint64_t script_field_mask(const struct script_field *f);
/** The field's value in the view; false: not there. */
bool script_get(const struct script_run *r, const struct script_view *v, const struct script_field *f, uint64_t out[SCRIPT_LIST_MAX], uint32_t *n);
/** A one-line description. */
void script_describe(struct script_run *r, const struct script_form *form, const struct script_view *v, char *out, size_t len);
const struct script_set *script_find_set(const struct script_line *l, const char *name);
/** Payload of a line: len, fill and bytes into buf; returns the length. */
uint32_t script_payload(struct script_run *r, const struct script_line *l, uint8_t *buf, uint32_t cap);
bool script_mismatch(struct script_run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Per transport: make the endpoint; the view of what was seen; what to do with a `<` line; after a `>` line matched. */
bool script_tcp_open(struct script_run *r);
bool script_iwarp_open(struct script_run *r);
bool script_roce_open(struct script_run *r);
void script_tcp_view(struct script_run *r, struct script_seen *e, struct script_view *v);
void script_roce_view(struct script_run *r, struct script_seen *e, struct script_view *v);
void script_iwarp_view(struct script_run *r, struct script_seen *e, struct script_view *v);
bool script_tcp_send(struct script_run *r, const struct script_line *l);
bool script_roce_send(struct script_run *r, const struct script_line *l);
/** A packet of the peer's to our QP with nothing but its headers' defaults. */
void script_roce_packet(const struct script_run *r, uint8_t opcode, struct pkt *p);
/** script_cm.c: RoCE with set cm=on. */
bool script_cm_open(struct script_run *r);
void script_cm_free(struct script_run *r);
bool script_cm_call(struct script_run *r, const struct script_line *l, const struct script_args *a);
/** enum roce_conn_state; UINT64_MAX: no connection yet. */
uint64_t script_cm_state(const struct script_run *r);
struct wire_cm *script_cm_take(struct script_run *r, const struct pkt *p);
void script_cm_view(struct script_seen *e, struct script_view *v);
bool script_cm_send(struct script_run *r, const struct script_line *l);
bool script_iwarp_send(struct script_run *r, const struct script_line *l);
void script_tcp_heard(struct script_run *r, const struct pkt *p);
bool script_tcp_handshake(struct script_run *r, const struct script_args *a);
/** iWARP, automatic peer: takes a packet of ours (already decoded). */
void script_iwarp_wire(struct script_run *r, struct pkt *p);
bool script_iwarp_connect(struct script_run *r, const struct script_line *l, const struct script_args *a);
void script_iwarp_lose(struct script_run *r, uint64_t count, uint64_t skip);
void script_iwarp_free(struct script_run *r);
bool script_call(struct script_run *r, const struct script_line *l);
bool script_verbs_call(struct script_run *r, const struct script_line *l, const struct script_args *a);
bool script_verbs_open(struct script_run *r);
void script_verbs_close(struct script_run *r);
void script_on_wc(void *ctx, const struct rnic_wc *wc);

static inline enum script_transport script_kind_of(const struct script_run *r) { return r->script->transport; }

#endif
