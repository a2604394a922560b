/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs in scripts: posts, completions, memory regions and what lies in them. */
#include "script_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REGION_MAX (UINT64_C(16) << 20)

/* --- completions --- */

#define WC(m) offsetof(struct rnic_wc, m), sizeof(((struct rnic_wc *)0)->m)
static const struct script_field rows[] = {
    { "id", WC(wr_id), SCRIPT_NUM, 0, false, 0 }, { "status", WC(status), SCRIPT_NUM, 0, false, 0 }, { "op", WC(op), SCRIPT_NUM, 0, false, 0 },
    { "len", WC(byte_len), SCRIPT_NUM, 0, false, 0 }, { "imm", WC(imm), SCRIPT_NUM, 0, false, 0 }, { "has-imm", WC(has_imm), SCRIPT_FLAG, 0, false, 0 },
    { "inv", WC(invalidated_key), SCRIPT_NUM, 0, true, 0 }, { "has-inv", WC(has_inv), SCRIPT_FLAG, 0, false, 0 },
    { "solicited", WC(solicited), SCRIPT_FLAG, 0, false, 0 },
};
static void print(const struct script_view *v, char *out, size_t len)
{
    (void)v;
    snprintf(out, len, "completion");
}
const struct script_form script_wc_form = { "completion", { rows, sizeof rows / sizeof rows[0] }, NULL, print, NULL };

/* --- regions --- */

static bool add_region(struct script_run *r, int var, uint64_t va, uint64_t len, unsigned access)
{
    if (len > REGION_MAX)
        return script_mismatch(r, "a region has at most %" PRIu64 " bytes", REGION_MAX);
    if (r->mems[var])
        return script_mismatch(r, "there was a region %s already", r->script->vars[var]);
    r->mems[var] = calloc(1, len + 1);
    for (uint64_t i = 0; i < len; i++)
        r->mems[var][i] = pkt_pattern_byte(1, i);
    r->mrs[var] = rnic_mr_reg(r->rnic.pd, va, len, access, r->mems[var]);
    if (!r->mrs[var])
        return script_mismatch(r, "this region cannot be registered");
    r->mem_va[var] = va;
    r->mem_len[var] = len;
    r->var[var] = rnic_mr_key(r->mrs[var]);
    r->known[var] = true;
    return true;
}

bool script_verbs_open(struct script_run *r) { return add_region(r, 0, SCRIPT_MEM_VA, SCRIPT_MEM_BYTES, 15); }

void script_verbs_close(struct script_run *r)
{
    testbed_rnic_free(&r->rnic);
    for (uint32_t i = 0; i < SCRIPT_VARS_MAX; i++)
        free(r->mems[i]);
}

/* The bytes [va, va + len) of whichever region holds them. */
static uint8_t *find_memory(struct script_run *r, uint64_t va, uint64_t len)
{
    for (uint32_t i = 0; i < SCRIPT_VARS_MAX; i++)
        if (r->mems[i] && va >= r->mem_va[i] && va - r->mem_va[i] <= r->mem_len[i] && len <= r->mem_len[i] - (va - r->mem_va[i]))
            return r->mems[i] + (va - r->mem_va[i]);
    script_mismatch(r, "no region holds %" PRIu64 " bytes at 0x%" PRIx64, len, va);
    return NULL;
}

/* store and memory: u64=, or len= with fill=, or bytes=. */
static bool touch_memory(struct script_run *r, const struct script_line *l, const struct script_args *a)
{
    uint8_t want[8];
    uint32_t len = 8;
    const uint8_t *bytes = want;
    if (script_find_set(l, "u64")) {
        for (int i = 0; i < 8; i++)
            want[i] = (uint8_t)(a->u64 >> 8 * i); /* as on little-endian hosts */
    } else {
        len = script_payload(r, l, r->scratch, SCRIPT_PAYLOAD_MAX);
        bytes = r->scratch;
    }
    uint8_t *at = r->failed ? NULL : find_memory(r, a->va, len);
    if (!at)
        return false;
    if (l->call == SCRIPT_CALL_store) {
        memcpy(at, bytes, len);
        return true;
    }
    /* memory without a value: as it was at the beginning */
    bool fresh = !script_find_set(l, "u64") && !script_find_set(l, "fill") && !script_find_set(l, "bytes");
    for (uint32_t i = 0; i < len; i++) {
        uint8_t b = fresh ? pkt_pattern_byte(1, a->va + i - SCRIPT_MEM_VA) : bytes[i];
        if (at[i] == b)
            continue;
        script_mismatch(r, "%s", l->text + strspn(l->text, " \t"));
        fprintf(r->err, "  %-12s %-28s %-28s\n  0x%-10" PRIx64 " 0x%02x%24s 0x%02x <--\n", "memory", "expected", "seen", a->va + i, b, "", at[i]);
        return false;
    }
    return true;
}

/* --- posts --- */

static const struct { const char *word; int op; } ops[] = { { "send", RNIC_OP_SEND }, { "send-imm", RNIC_OP_SEND_IMM }, { "send-inv", RNIC_OP_SEND_INV },
    { "write", RNIC_OP_WRITE }, { "write-imm", RNIC_OP_WRITE_IMM }, { "read", RNIC_OP_READ }, { "cmp-swap", RNIC_OP_CMP_SWAP },
    { "fetch-add", RNIC_OP_FETCH_ADD }, { "local-inv", RNIC_OP_LOCAL_INV }, { "recv", RNIC_OP_RECV } };

int script_post_op(const char *word)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i].word, word) == 0)
            return ops[i].op;
    return -2;
}

static bool post(struct script_run *r, const struct script_line *l, const struct script_args *a)
{
    char w1[32], w2[32];
    bool atomic = l->op == RNIC_OP_CMP_SWAP || l->op == RNIC_OP_FETCH_ADD;
    if (a->len > UINT32_MAX)
        return script_mismatch(r, "a work request has at most 2^32 - 1 bytes");
    uint64_t id = a->id == UINT64_MAX ? ++r->wrs : a->id;
    struct rnic_sge sge = { a->va == UINT64_MAX ? SCRIPT_MEM_VA : a->va, atomic && !a->len ? 8 : (uint32_t)a->len,
        a->key == UINT64_MAX ? (uint32_t)r->var[0] : (uint32_t)a->key };
    int rc;
    if (l->op == RNIC_OP_RECV) {
        struct rnic_recv_wr wr = { id, sge };
        rc = rnic_post_recv(r->rnic.qp, &wr);
    } else {
        struct rnic_send_wr wr = { .wr_id = id, .op = (enum rnic_opcode)l->op, .sge = sge, .remote_va = a->rva, .rkey = (uint32_t)a->rkey,
            .imm_or_inv = (uint32_t)(l->op == RNIC_OP_SEND_INV || l->op == RNIC_OP_LOCAL_INV ? a->inv : a->imm), .compare = a->cmp,
            .swap_add = l->op == RNIC_OP_FETCH_ADD ? a->add : a->swap };
        wr.flags = (a->unsignaled ? 0u : RNIC_SEND_SIGNALED) | (a->fence ? RNIC_SEND_FENCE : 0u) | (a->solicited ? RNIC_SEND_SOLICITED : 0u) |
                   (a->inlined ? RNIC_SEND_INLINE : 0u);
        rc = rnic_post_send(r->rnic.qp, &wr);
    }
    if ((int64_t)a->result == rc)
        return true;
    return script_mismatch(r, "the post's result: expected %s, seen %s", script_word_of("result", a->result, false, w1, sizeof w1),
                           script_word_of("result", (uint64_t)(int64_t)rc, false, w2, sizeof w2));
}

static int named_region(const struct script_line *l)
{
    const struct script_set *key = script_find_set(l, "key");
    return key && key->value.n == 1 ? key->value.term[0].var : -1;
}

bool script_verbs_call(struct script_run *r, const struct script_line *l, const struct script_args *a)
{
    int var = named_region(l);
    switch (l->call) {
    case SCRIPT_CALL_post: return post(r, l, a);
    case SCRIPT_CALL_error:
        return rnic_qp_set_error(r->rnic.qp) == SIM_OK ? true : script_mismatch(r, "the QP does not go to ERROR from here");
    case SCRIPT_CALL_region:
        return add_region(r, var, a->va == UINT64_MAX ? SCRIPT_MEM_VA : a->va, a->len, (unsigned)a->access);
    case SCRIPT_CALL_dereg:
        if (var < 0 || !r->mrs[var])
            return script_mismatch(r, "dereg key=$NAME: NAME is not a region");
        rnic_mr_dereg(r->mrs[var]);
        r->mrs[var] = NULL;
        return true;
    default:
        return touch_memory(r, l, a);
    }
}
