/* SPDX-License-Identifier: GPL-2.0-only */
/* RoCEv2 in scripts: packets by BTH and extended headers. PSNs count from the first PSN of whoever requested. */
#include "script_internal.h"

#include <string.h>

#define PKT(m) offsetof(struct pkt, m), sizeof(((struct pkt *)0)->m)
static const struct script_field rows[] = {
    { "psn", PKT(roce.psn), SCRIPT_NUM, SCRIPT_PSN, false, 0 },
    { "msn", PKT(roce.msn), SCRIPT_NUM, 0, false, ROCE_OP_AETH },
    { "syndrome", PKT(roce.syndrome), SCRIPT_NUM, 0, true, ROCE_OP_AETH },
    { "va", PKT(roce.x.reth.va), SCRIPT_NUM, 0, true, ROCE_OP_RETH | ROCE_OP_ATOMICETH },
    { "rkey", PKT(roce.x.reth.rkey), SCRIPT_NUM, 0, true, ROCE_OP_RETH },
    { "rkey", PKT(roce.x.atomic.rkey), SCRIPT_NUM, 0, true, ROCE_OP_ATOMICETH },
    { "dmalen", PKT(roce.x.reth.len), SCRIPT_NUM, 0, false, ROCE_OP_RETH },
    { "add", PKT(roce.x.atomic.swap_add), SCRIPT_NUM, 0, false, ROCE_OP_ATOMICETH },
    { "swap", PKT(roce.x.atomic.swap_add), SCRIPT_NUM, 0, false, ROCE_OP_ATOMICETH },
    { "cmp", PKT(roce.x.atomic.compare), SCRIPT_NUM, 0, false, ROCE_OP_ATOMICETH },
    { "orig", PKT(roce.x.atomic_ack.orig), SCRIPT_NUM, 0, false, ROCE_OP_ATOMICACK },
    { "imm", PKT(roce.imm_or_rkey), SCRIPT_NUM, 0, false, ROCE_OP_IMM },
    { "inv", PKT(roce.imm_or_rkey), SCRIPT_NUM, 0, true, ROCE_OP_IETH },
    { "irn-sn", PKT(roce.x.reth.irn_sn), SCRIPT_NUM, 0, false, ROCE_OP_IRN_SN },
    { "irn-offset", PKT(roce.x.reth.irn_offset), SCRIPT_NUM, 0, false, ROCE_OP_IRN_OFFSET },
    { "sack", PKT(roce.x.irn_sack.psn), SCRIPT_NUM, SCRIPT_PSN, false, ROCE_OP_IRN_SACK },
    { "qkey", PKT(roce.x.deth.qkey), SCRIPT_NUM, 0, true, ROCE_OP_DETH },
    { "sqpn", PKT(roce.x.deth.sqpn), SCRIPT_NUM, 0, false, ROCE_OP_DETH },
    { "len", 0, 0, SCRIPT_LEN, 0, false, 0 },
    { "ackreq", PKT(roce.ack_req), SCRIPT_FLAG, 0, false, 0 },
    { "se", PKT(roce.se), SCRIPT_FLAG, 0, false, 0 },
    { "mig", PKT(roce.m), SCRIPT_FLAG, 0, false, 0 },
    { "pad", PKT(roce.pad), SCRIPT_NUM, 0, false, 0 },
    { "frame", PKT(frame_len), SCRIPT_NUM, 0, false, 0 },
    { "tver", PKT(roce.tver), SCRIPT_NUM, 0, false, 0 },
    { "pkey", PKT(roce.pkey), SCRIPT_NUM, 0, true, 0 },
    { "fecn", PKT(roce.fecn), SCRIPT_FLAG, 0, false, 0 },
    { "becn", PKT(roce.becn), SCRIPT_FLAG, 0, false, 0 },
    { "dqpn", PKT(roce.dqpn), SCRIPT_NUM, 0, false, 0 },
    { "ecn", PKT(ecn), SCRIPT_NUM, 0, false, 0 },
    { "dscp", PKT(dscp), SCRIPT_NUM, 0, false, 0 },
    { "ttl", PKT(ttl), SCRIPT_NUM, 0, false, 0 },
    { "sport", PKT(sport), SCRIPT_NUM, 0, false, 0 },
    { "dport", PKT(dport), SCRIPT_NUM, 0, false, 0 },
    { "fill", 0, 0, SCRIPT_FILL, 0, true, 0 },
    { "bytes", 0, 0, SCRIPT_BYTES, 0, true, 0 },
};

static const char *name_of(unsigned opcode)
{
    const char *n = wire_roce_op[opcode].name;
    return n && strncmp(n, "RC ", 3) == 0 ? n + 3 : n;
}

/* Atomics hold IRN's number elsewhere; scripts leave it alone. */
static uint32_t has_of(uint32_t opcode)
{
    uint32_t flags = wire_roce_op[opcode].flags;
    return flags & ROCE_OP_ATOMICETH ? flags & ~(uint32_t)ROCE_OP_IRN_SN : flags;
}

/* WRITE_FIRST, or UC.WRITE_FIRST, UD.SEND_ONLY, IRN.NACK. */
static bool head(const char *word, uint32_t *op, uint32_t *mask, uint32_t *has)
{
    for (unsigned i = 0; i < 256; i++) {
        const char *n = name_of(i);
        if (!n || strlen(n) != strlen(word))
            continue;
        size_t k = 0;
        while (n[k] && (n[k] == word[k] || (n[k] == ' ' && word[k] == '.')))
            k++;
        if (n[k])
            continue;
        *op = i;
        *mask = 0xff;
        *has = has_of(i);
        return true;
    }
    return false;
}

static void print(const struct script_view *v, char *out, size_t len)
{
    const char *n = name_of(((const struct pkt *)v->base)->roce.opcode);
    snprintf(out, len, "%s", n ? n : "?");
    for (char *c = out; *c; c++)
        if (*c == ' ')
            *c = '.';
}

static uint32_t head_of(const struct script_view *v) { return ((const struct pkt *)v->base)->roce.opcode; }

const struct script_form script_roce_form = { "packet", { rows, sizeof rows / sizeof rows[0] }, head, print, head_of };

/* Whose PSNs it has: IRN's acknowledgements of responses come from the requester too. */
static bool is_request(uint32_t opcode)
{
    unsigned flags = wire_roce_op[opcode].flags;
    return flags & ROCE_OP_REQUEST || (flags & ROCE_OP_ACK && flags & ROCE_OP_READ);
}

void script_roce_view(struct script_run *r, struct script_seen *e, struct script_view *v)
{
    *v = (struct script_view){ .base = &e->p, .has = has_of(e->p.roce.opcode), .from_us = true, .request = is_request(e->p.roce.opcode),
        .len = e->p.payload_len, .payload = r->scratch };
    pkt_payload_read(&e->p, 0, e->p.payload_len, r->scratch);
}

bool script_roce_open(struct script_run *r)
{
    struct script *s = r->script;
    char why[200];
    struct testbed_spec spec = { .roce = &s->roce, .cc = s->cc, .cc_params = s->cc_params, .seed = 1, .on_wc = script_on_wc, .ctx = r };
    if (roce_params_check(&s->roce, why, sizeof why) != SIM_OK)
        return script_mismatch(r, "%s", why);
    if (testbed_roce(&r->rnic, &spec) != SIM_OK)
        return script_mismatch(r, "no QP can be made with these parameters");
    roce_qp_set_first_psn(r->rnic.qp, (uint32_t)s->params.psn);
    if (s->params.cm)
        return script_cm_open(r) && script_verbs_open(r);
    struct roce_peer peer = { .local_addr = pkt_addr_of_node(0), .remote_addr = pkt_addr_of_node(1), .remote_qpn = SCRIPT_PEER_QPN, .remote_psn = (uint32_t)s->params.peer_psn,
        .path_mtu_bytes = (uint32_t)s->params.peer_mtu, .ird = (uint32_t)s->params.peer_ird };
    if (roce_qp_connect(r->rnic.qp, &peer) != SIM_OK)
        return script_mismatch(r, "the QP cannot be connected with these parameters");
    testbed_init(&r->bed, &r->rnic.qp->ep, NULL, NULL);
    return script_verbs_open(r);
}

void script_roce_packet(const struct script_run *r, uint8_t opcode, struct pkt *p)
{
    memset(p, 0, sizeof *p);
    p->kind = PKT_ROCE;
    p->src = pkt_addr_of_node(1);
    p->dst = pkt_addr_of_node(0);
    p->sport = 0xc001;
    p->dport = WIRE_ROCE_PORT;
    p->ttl = 64;
    p->ecn = 2;
    p->roce.opcode = opcode;
    p->roce.pkey = 0xffff;
    p->roce.dqpn = rnic_qp_num(r->rnic.qp);
}

bool script_roce_send(struct script_run *r, const struct script_line *l)
{
    struct pkt p;
    script_roce_packet(r, (uint8_t)l->head, &p);
    struct script_view v = { .base = &p, .has = has_of(l->head), .request = is_request(l->head) };
    p.roce.psn = (uint32_t)(v.request ? r->script->params.peer_psn : r->script->params.psn) & 0xffffff;
    if (v.has & ROCE_OP_AETH)
        p.roce.syndrome = 0x1f;
    if (l->head == ROCE_CNP) {
        p.roce.becn = 1;
        p.roce.psn = 0;
    }
    uint32_t len = script_payload(r, l, r->scratch, 8192);
    if (v.has & ROCE_OP_RETH)
        p.roce.x.reth.len = len; /* of a message in one packet */
    if (!script_fill(r, l, &v) || r->failed || !pkt_add_bytes(&p, r->scratch, len))
        return false;
    if (len && !(v.has & ROCE_OP_PAYLOAD))
        return script_mismatch(r, "this packet carries no payload");
    pkt_set_len(&p);
    script_deliver(r, l, &p);
    return true;
}
