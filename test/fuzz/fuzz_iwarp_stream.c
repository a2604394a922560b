/* SPDX-License-Identifier: GPL-2.0-only */
/* An iWARP QP whose peer says anything: start-up frames, FPDUs, DDP segments and RDMAP messages right and wrong, cut anywhere, lost or not, while
 * the QP has work of its own. The first two bytes set the connection up, then records follow: what to do, how long, bytes. */
#define MEM 16384u
#define LINE_AIR_MAX 4096
#define WC_MAX 2048
#define RAW_MAX (1u << 18)
#include "../iwarp/raw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input { const uint8_t *at, *end; };

static uint32_t take(struct input *in) { return in->at < in->end ? *in->at++ : 0; }

static const uint8_t *run_of(struct input *in, uint32_t *len)
{
    uint32_t left = (uint32_t)(in->end - in->at);
    const uint8_t *b = in->at;
    if (*len > left)
        *len = left;
    in->at += *len;
    return b;
}

static bool lose(void *ctx, int from, const struct pkt *p)
{
    uint32_t *n = ctx;
    return from != 1 || p->payload_len == 0 || *n == 0 || --*n > 0;
}

/* A segment that is right but for what the input wants: opcode and flags, place, length. */
static void segment(struct raw *r, struct input *in)
{
    uint32_t kind = take(in), place = take(in), len = take(in) * 4 + (kind >> 6);
    uint8_t payload[1100] = { 0 };
    uint32_t given = len;
    const uint8_t *b = run_of(in, &given);
    memcpy(payload, b, given);
    struct ddp_hdr h = { .last = !(kind & 0x10), .ddp_version = 1, .rdmap_version = 1, .opcode = kind & 15 };
    h.tagged = h.opcode == RDMAP_WRITE || h.opcode == RDMAP_READ_RESPONSE;
    h.stag = kind & 0x20 ? place : rnic_mr_key(r->s.mr);
    h.to = VA + place * 64u;
    h.qn = h.opcode == RDMAP_READ_REQUEST || h.opcode == RDMAP_ATOMIC_REQUEST ? 1 : h.opcode == RDMAP_TERMINATE ? 2 : h.opcode == RDMAP_ATOMIC_RESPONSE ? 3 : 0;
    h.msn = r->msn[h.qn] + (place >> 6);
    if (!h.tagged && h.last)
        r->msn[h.qn]++;
    if (h.opcode == RDMAP_READ_REQUEST && len >= 28) {
        struct rdmap_read_request rr = { .sink_stag = 1, .size = place * 16u, .src_stag = h.stag, .src_to = VA + payload[0] };
        rdmap_read_request_encode(&rr, payload);
        len = 28;
    } else if (h.opcode == RDMAP_ATOMIC_REQUEST && len >= 52) {
        struct rdmap_atomic_request a = { .aop = payload[0], .stag = h.stag, .to = h.to, .add_swap = payload[1], .compare_mask = payload[2] };
        rdmap_atomic_request_encode(&a, payload);
        len = 52;
    }
    raw_ddp(r, &h, payload, len);
}

static void post_any(struct raw *r, struct input *in)
{
    static const enum rnic_opcode ops[] = { RNIC_OP_WRITE, RNIC_OP_SEND, RNIC_OP_READ, RNIC_OP_FETCH_ADD, RNIC_OP_SEND_INV, RNIC_OP_WRITE_IMM, RNIC_OP_CMP_SWAP, RNIC_OP_LOCAL_INV };
    uint32_t k = take(in), len = take(in) * 16;
    enum rnic_opcode op = ops[k & 7];
    struct rnic_send_wr wr = { .op = op, .flags = RNIC_SEND_SIGNALED | (k & 8 ? RNIC_SEND_FENCE : 0), .sge = { VA, op == RNIC_OP_FETCH_ADD || op == RNIC_OP_CMP_SWAP ? 8 : len, rnic_mr_key(r->s.mr) },
                               .remote_va = VA, .rkey = k, .imm_or_inv = k };
    struct rnic_recv_wr rr = { 1, { VA + 4096, len, rnic_mr_key(r->s.mr) } };
    if (k & 16)
        (void)!rnic_post_recv(r->s.qp, &rr);
    else
        (void)!rnic_post_send(r->s.qp, &wr);
}

static void act(struct raw *r, struct input *in, uint32_t *losses)
{
    uint32_t what = take(in), len = what >> 4;
    const uint8_t *b;
    if (r->out_len > RAW_MAX - 70000 || r->ncuts + 2 > sizeof r->cut / sizeof r->cut[0])
        return;
    switch (what & 7) {
    case 0:
        b = run_of(in, &len);
        raw_add(r, b, len);
        break;
    case 1:
        len = take(in);
        b = run_of(in, &len);
        raw_ulpdu(r, b, len, NULL);
        break;
    case 2:
    case 3: segment(r, in); break;
    case 4: raw_cut(r); break;
    case 5: post_any(r, in); break;
    case 6: *losses = len; break;
    default:
        if (what & 8 && r->s.qp->state == RNIC_QP_RTS)
            iwarp_qp_path_mss(r->s.qp, 64 + len * 100);
        raw_send(r);
        raw_run_us(r, 1 + len);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, data + size };
    uint32_t set = take(&in), more = take(&in), losses = 0;
    struct iwarp_params p = iwarp_defaults();
    p.mpa_revision = 1 + (set & 1);
    p.crc = set >> 1 & 1;
    p.markers = set >> 2 & 1;
    p.direct_placement = (set >> 3 & 3) % 3;
    p.immediate = p.atomics = set >> 5 & 1;
    p.ird = more & 3;
    p.startup_timeout_ps = 100 * SIM_PS_PER_MS;
    struct raw *r = raw_new(&p, set >> 6 & 1);
    r->crc = p.crc;
    r->tx_markers = p.markers;
    r->rx_markers = more >> 2 & 1;
    r->l.bytes = more >> 3 & 1;
    r->l.tap = lose;
    r->l.tap_ctx = &losses;
    if (set >> 7)
        raw_run_us(r, 100); /* start-up is the input's, too */
    else
        raw_start(r);
    r->deaf = true;
    while (in.at < in.end)
        act(r, &in, &losses);
    raw_send(r);
    raw_run_us(r, 200000);
    raw_free(r);
    return 0;
}
