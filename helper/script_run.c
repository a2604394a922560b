/* SPDX-License-Identifier: GPL-2.0-only */
/* A script's lines in order against one endpoint: time, the queues of what was seen, what was expected. */
#include "script_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (16u << 20)
#define STEPS_MAX 2000000        /* of a whole script */

/* --- what was seen --- */

static void forget(struct script_seen *e)
{
    pkt_release_payload(&e->p);
    free(e->fpdu);
    free(e->mad);
    free(e);
}

static void view_of(struct script_run *r, struct script_seen *e, struct script_view *v)
{
    *v = (struct script_view){ .base = &e->wc, .has = ~0u };
    if (e->completion)
        return;
    if (e->form == &script_tcp_form)
        script_tcp_view(r, e, v);
    else if (e->form == &script_roce_form)
        script_roce_view(r, e, v);
    else if (e->form == &script_cm_form)
        script_cm_view(e, v);
    else
        script_iwarp_view(r, e, v);
}

static void describe_seen(struct script_run *r, struct script_seen *e, char *out, size_t len)
{
    struct script_view v;
    view_of(r, e, &v);
    script_describe(r, e->completion ? &script_wc_form : e->form, &v, out, len);
}

static void log_line(struct script_run *r, int64_t at_ps, const char *sign, const char *text)
{
    char t[40];
    if (r->log)
        fprintf(r->log, "%s %s %s\n", param_format_value(PARAM_TIME, NULL, (double)at_ps, t, sizeof t), sign, text);
}

static void append(struct script_run *r, struct script_seen *e)
{
    struct script_seen ***tail = e->completion ? &r->wc_tail : &r->tail;
    **tail = e;
    *tail = &e->next;
    if (r->log) {
        char text[1000];
        describe_seen(r, e, text, sizeof text);
        log_line(r, e->at_ps, e->completion ? "complete" : ">", text);
    }
}

void script_see(struct script_run *r, const struct script_form *form, struct pkt *p, void *part)
{
    struct script_seen *e = calloc(1, sizeof *e);
    e->at_ps = r->bed.now_ps;
    e->form = form;
    if (form == &script_cm_form)
        e->mad = part;
    else
        e->fpdu = part;
    if (p)
        e->p = *p;
    append(r, e);
}

void script_on_wc(void *ctx, const struct rnic_wc *wc)
{
    struct script_run *r = ctx;
    struct script_seen *e = calloc(1, sizeof *e);
    e->at_ps = r->bed.now_ps;
    e->completion = true;
    e->wc = *wc;
    append(r, e);
}

/* Our endpoint has sent: what the script sees is what its bytes say. */
static void wire(void *ctx, struct testbed *b, struct pkt *p)
{
    struct script_run *r = ctx;
    struct pkt seen;
    (void)b;
    size_t len = wire_encode(p, NULL, r->scratch, 2 * SCRIPT_PAYLOAD_MAX);
    memset(&seen, 0, sizeof seen);
    enum wire_status st = len ? wire_decode(r->scratch, len, &seen, NULL) : WIRE_TRUNCATED;
    if (st != WIRE_OK || !pkt_equal(p, &seen))
        script_mismatch(r, "our endpoint's packet does not survive its own bytes: %s", st == WIRE_OK ? "decoded otherwise" : wire_status_name(st));
    seen.stamp_ps = r->bed.now_ps;
    struct wire_cm *mad = r->cm ? script_cm_take(r, &seen) : NULL;
    if (script_kind_of(r) == SCRIPT_IWARP)
        script_iwarp_wire(r, &seen);
    else if (mad)
        script_see(r, &script_cm_form, &seen, mad);
    else
        script_see(r, script_kind_of(r) == SCRIPT_TCP ? &script_tcp_form : &script_roce_form, &seen, NULL);
}

/* --- packets of the peer's --- */

static void deliver_now(struct script_run *r, struct pkt *p)
{
    testbed_rx(&r->bed, p);
    pkt_release_payload(p);
}

void script_deliver_at(struct script_run *r, int64_t at_ps, struct pkt *p)
{
    struct script_late *n = calloc(1, sizeof *n), **at = &r->late;
    n->at_ps = at_ps;
    n->p = *p;
    while (*at && (*at)->at_ps <= at_ps)
        at = &(*at)->next;
    n->next = *at;
    *at = n;
}

/* Through bytes; what a damaged bit makes of it. false: the receiver's checks drop it. */
static bool through_bytes(struct script_run *r, const struct script_line *l, const struct pkt *p, struct pkt *out)
{
    size_t len = wire_encode(p, NULL, r->scratch, 2 * SCRIPT_PAYLOAD_MAX);
    memset(out, 0, sizeof *out);
    if (len == 0)
        return script_mismatch(r, "this packet cannot be encoded");
    if (l && l->corrupt)
        r->scratch[len > 60 ? len - 6 : 40] ^= 0x10;
    enum wire_status st = wire_decode(r->scratch, len, out, NULL);
    if (st == WIRE_OK)
        return true;
    pkt_release_payload(out);
    r->corrupted++;
    if (!l || !l->corrupt)
        script_mismatch(r, "this packet has no valid form: %s", wire_status_name(st));
    return false;
}

void script_deliver(struct script_run *r, const struct script_line *l, struct pkt *p)
{
    struct pkt in, again;
    bool good = !(l && l->drop) && through_bytes(r, l, p, &in);
    pkt_release_payload(p);
    if (!good)
        return;
    bool twice = l && l->duplicate;
    if (twice) {
        memset(&again, 0, sizeof again);
        pkt_copy(&again, &in);
    }
    if (l && l->delay_ps)
        script_deliver_at(r, r->bed.now_ps + l->delay_ps, &in);
    else
        deliver_now(r, &in);
    if (twice) {
        if (l->delay_ps)
            script_deliver_at(r, r->bed.now_ps + l->delay_ps, &again);
        else
            deliver_now(r, &again);
    }
}

/* --- time --- */

/* The next thing that happens not after until_ps. false: nothing more. */
static bool step(struct script_run *r, int64_t until_ps)
{
    int64_t late = r->late ? r->late->at_ps : SIM_NEVER_PS;
    if (++r->steps > STEPS_MAX)
        return script_mismatch(r, "the endpoint has done %d things and this line waits still", STEPS_MAX);
    if (testbed_step(&r->bed, late <= until_ps ? late - 1 : until_ps))
        return true;
    if (late > until_ps)
        return false;
    struct script_late *n = r->late;
    r->late = n->next;
    r->bed.now_ps = late > r->bed.now_ps ? late : r->bed.now_ps;
    deliver_now(r, &n->p);
    free(n);
    if (!testbed_settle(&r->bed))
        script_mismatch(r, "the endpoint never comes to rest at this time");
    return true;
}

static void settle(struct script_run *r)
{
    if (!testbed_settle(&r->bed))
        script_mismatch(r, "the endpoint never comes to rest at this time");
    while (r->late && r->late->at_ps <= r->bed.now_ps && step(r, r->bed.now_ps))
        ;
}

/* Run until something is in the queue, or until_ps. */
static void run_until_seen(struct script_run *r, struct script_seen *const *queue, int64_t until_ps)
{
    settle(r);
    while (!*queue && !r->failed && step(r, until_ps))
        ;
}

static bool unexpected(struct script_run *r, struct script_seen *e, const char *before)
{
    char text[1000], t[40];
    describe_seen(r, e, text, sizeof text);
    const char *written = r->line ? r->line->text + strspn(r->line->text, " \t") : "end of the script";
    script_mismatch(r, "%s", written);
    fprintf(r->err, "  %-12s %-28s %-28s\n  %-12s %-28s %s\n", "", "expected", "seen", e->completion ? "completion" : "packet", before, text);
    fprintf(r->err, "  %-12s %-28s %s\n", "time", "", param_format_value(PARAM_TIME, NULL, (double)e->at_ps, t, sizeof t));
    return false;
}

/* Everything before until_ps happens and must bring nothing; now is until_ps then. What is due at until_ps itself comes after what the
 * line does: at one time arrivals are first, then timers, then transmissions. */
static bool pass_quietly(struct script_run *r, int64_t until_ps)
{
    if (until_ps > r->bed.now_ps)
        settle(r);
    do {
        if (r->head && r->head->at_ps < until_ps)
            return unexpected(r, r->head, "nothing before this line");
        if (r->wc_head && r->wc_head->at_ps < until_ps)
            return unexpected(r, r->wc_head, "nothing before this line");
    } while (!r->failed && step(r, until_ps - 1));
    if (until_ps > r->bed.now_ps)
        r->bed.now_ps = until_ps;
    return !r->failed;
}

/* --- lines --- */

static void window(const struct script_run *r, const struct script_line *l, int64_t *from, int64_t *to)
{
    int64_t base = l->when == SCRIPT_AFTER ? r->last_ps : 0;
    *from = base + l->from_ps;
    *to = base + l->to_ps;
    if (l->when == SCRIPT_TOGETHER)
        *from = *to = r->last_ps;
    if (l->when == SCRIPT_WHENEVER) {
        *from = r->last_ps;
        *to = SIM_NEVER_PS;
    }
}

static void not_seen(struct script_run *r, int64_t to_ps)
{
    char t[40], text[1000];
    const struct script_line *l = r->line;
    script_mismatch(r, "%s", l->text + strspn(l->text, " \t"));
    fprintf(r->err, "  %-12s %-28s %-28s\n  %-12s %-28s %s\n", "", "expected", "seen", l->what == SCRIPT_EXPECTS ? "packet" : "completion", "as written",
            l->what == SCRIPT_EXPECTS ? "none" : "none");
    fprintf(r->err, "  %-12s %-28s\n", "time", to_ps == SIM_NEVER_PS ? "any" : param_format_value(PARAM_TIME, NULL, (double)to_ps, t, sizeof t));
    struct script_seen *other = l->what == SCRIPT_EXPECTS ? r->wc_head : r->head;
    if (other) {
        describe_seen(r, other, text, sizeof text);
        fprintf(r->err, "  meanwhile at %s: %s\n", param_format_value(PARAM_TIME, NULL, (double)other->at_ps, t, sizeof t), text);
    }
}

static bool expect_one(struct script_run *r, int64_t from_ps, int64_t to_ps)
{
    struct script_seen **queue = r->line->what == SCRIPT_EXPECTS ? &r->head : &r->wc_head;
    struct script_view v;
    int64_t patience = r->bed.now_ps + r->script->params.patience_ps;
    run_until_seen(r, queue, to_ps < patience ? to_ps : patience);
    if (r->failed)
        return false;
    struct script_seen *e = *queue;
    if (!e) {
        not_seen(r, to_ps);
        return false;
    }
    view_of(r, e, &v);
    if (!script_match(r, &v, e->at_ps, from_ps, to_ps))
        return false;
    r->last_ps = e->at_ps;
    if (r->line->what == SCRIPT_EXPECTS && e->form == &script_tcp_form && !r->line->drop)
        script_tcp_heard(r, &e->p);
    *queue = e->next;
    if (!*queue)
        *(queue == &r->head ? &r->tail : &r->wc_tail) = queue;
    forget(e);
    return true;
}

/* `x10`: the fields that count go on by themselves. */
static void go_on(const struct script_run *r, struct script_line *l)
{
    const struct script_set *len = script_find_set(l, "len");
    for (uint32_t i = 0; i < l->nsets; i++) {
        struct script_set *s = &l->set[i];
        struct script_term *t = &s->value.term[0];
        if (s->field->rel == SCRIPT_PSN)
            t->add++;
        else if (len && (s->field->rel == SCRIPT_SEQ || (s->field->rel == SCRIPT_PLAIN && (strcmp(s->field->name, "mo") == 0 || strcmp(s->field->name, "to") == 0))))
            t->add += script_term_value(r, &len->value.term[0]);
    }
}

static bool expects(struct script_run *r, const struct script_line *l)
{
    struct script_line copy = *l;
    int64_t from, to;
    window(r, l, &from, &to);
    bool ok = true;
    r->line = &copy;
    for (uint32_t i = 0; ok && i < l->times; i++) {
        ok = expect_one(r, from, to);
        go_on(r, &copy);
    }
    r->line = l;
    return ok;
}

static bool sends(struct script_run *r, const struct script_line *l)
{
    struct script_line copy = *l;
    bool ok = true;
    r->line = &copy;
    for (uint32_t i = 0; ok && i < l->times; i++) {
        ok = l->form == &script_cm_form ? script_cm_send(r, &copy) : script_kind_of(r) == SCRIPT_TCP || l->form == &script_tcp_form ? script_tcp_send(r, &copy) : script_kind_of(r) == SCRIPT_ROCE ? script_roce_send(r, &copy)
                : script_iwarp_send(r, &copy);
        ok = ok && !r->failed;
        go_on(r, &copy);
    }
    r->line = l;
    return ok;
}

static bool act(struct script_run *r, const struct script_line *l)
{
    int64_t at, to;
    window(r, l, &at, &to);
    at = (at + to) / 2; /* a tolerance is for what is expected */
    if (at < r->bed.now_ps && l->when != SCRIPT_TOGETHER)
        return script_mismatch(r, "this line's time has passed: what was expected came later");
    if (l->when != SCRIPT_TOGETHER && !pass_quietly(r, at))
        return false;
    r->last_ps = r->bed.now_ps;
    if (l->what == SCRIPT_CALLS && (l->call == SCRIPT_CALL_check || l->call == SCRIPT_CALL_memory || l->call == SCRIPT_CALL_nothing))
        settle(r); /* these look at what this time brings */
    bool ok = l->what == SCRIPT_SENDS ? sends(r, l) : script_call(r, l);
    r->last_ps = r->bed.now_ps; /* a handshake takes time */
    return ok;
}

static bool run_lines(struct script_run *r)
{
    for (const struct script_line *l = r->script->first; l; l = l->next) {
        r->line = l;
        bool expected = l->what == SCRIPT_EXPECTS || l->what == SCRIPT_COMPLETES;
        if (!(expected ? expects(r, l) : act(r, l)) || r->failed)
            return false;
        if (!expected && !(l->next && l->next->when == SCRIPT_TOGETHER))
            settle(r);
    }
    r->line = NULL;
    settle(r);
    if (r->failed)
        return false;
    if (r->head)
        return unexpected(r, r->head, "nothing more");
    return r->wc_head ? unexpected(r, r->wc_head, "nothing more") : true;
}

static void close_run(struct script_run *r)
{
    for (int i = 0; i < 2; i++)
        for (struct script_seen *e = i ? r->wc_head : r->head, *next; e; e = next) {
            next = e->next;
            forget(e);
        }
    r->head = r->wc_head = NULL;
    r->tail = &r->head;
    r->wc_tail = &r->wc_head;
    for (struct script_late *n = r->late, *next; n; n = next) {
        next = n->next;
        pkt_release_payload(&n->p);
        free(n);
    }
    script_cm_free(r);
    script_verbs_close(r);
    script_iwarp_free(r);
    if (r->stream.conn)
        testbed_tcp_free(&r->stream);
    for (int i = 0; i < 2; i++)
        for (struct script_seen *e = i ? r->wc_head : r->head, *next; e; e = next) { /* completions of what was torn down */
            next = e->next;
            forget(e);
        }
    free(r->scratch);
}

static enum script_status run_parsed(struct script *s, FILE *log, FILE *err)
{
    struct script_run *r = calloc(1, sizeof *r);
    r->script = s;
    r->log = log;
    r->err = err;
    r->tail = &r->head;
    r->wc_tail = &r->wc_head;
    r->scratch = malloc(2 * SCRIPT_PAYLOAD_MAX);
    bool ok = s->transport == SCRIPT_TCP ? script_tcp_open(r) : s->transport == SCRIPT_IWARP ? script_iwarp_open(r) : script_roce_open(r);
    r->bed.wire = wire;
    r->bed.ctx = r;
    r->bed.rate_bps = s->params.wire_rate_bps;
    if (ok)
        ok = run_lines(r);
    r->log = NULL;
    bool failed = r->failed;
    close_run(r);
    free(r);
    return ok && !failed ? SCRIPT_OK : SCRIPT_MISMATCH;
}

enum script_status script_run_text(const char *name, const char *text, size_t len, FILE *log, FILE *err)
{
    struct script s;
    enum script_status st = script_parse(&s, name, text, len, err) ? run_parsed(&s, log, err) : SCRIPT_BAD;
    script_free(&s);
    return st;
}

enum script_status script_check_text(const char *name, const char *text, size_t len, FILE *err)
{
    struct script s;
    enum script_status st = script_parse(&s, name, text, len, err) ? SCRIPT_OK : SCRIPT_BAD;
    script_free(&s);
    return st;
}

enum script_status script_run_file(const char *path, FILE *log, FILE *err)
{
    FILE *f = fopen(path, "rb");
    char *text = malloc(FILE_MAX + 1);
    size_t n = f && text ? fread(text, 1, FILE_MAX + 1, f) : 0;
    enum script_status st = SCRIPT_BAD;
    if (!f || ferror(f))
        fprintf(err, "%s: %s\n", path, strerror(errno));
    else if (n > FILE_MAX)
        fprintf(err, "%s: longer than %u bytes\n", path, FILE_MAX);
    else
        st = script_run_text(path, text, n, log, err);
    if (f)
        fclose(f);
    free(text);
    return st;
}
