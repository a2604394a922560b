/* SPDX-License-Identifier: GPL-2.0-only */
#include "dissect_internal.h"

#include "../model/wire/cm.h"
#include "../model/wire/pcap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void dissect_wrong(struct dissect *d, const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(d->out, " ** wrong: %s", text);
    size_t used = strlen(d->reasons);
    snprintf(d->reasons + used, sizeof d->reasons - used, "%s\n", text);
}

static void print_time(struct dissect *d, int64_t ps)
{
    uint64_t ns = (uint64_t)(ps < 0 ? -ps : ps) / 1000;
    fprintf(d->out, "%5u %s%" PRIu64 ".%09" PRIu64, d->frame, ps < 0 ? "-" : "", ns / 1000000000, ns % 1000000000);
}

static void print_address(struct dissect *d, const struct pkt *p, const struct wire_l3 *l3, bool source)
{
    char text[INET6_ADDRSTRLEN];
    uint32_t v4 = htonl(source ? p->src : p->dst);
    if (p->flags & PKT_F_IPV6)
        inet_ntop(AF_INET6, source ? l3->src6 : l3->dst6, text, sizeof text);
    else
        inet_ntop(AF_INET, &v4, text, sizeof text);
    fputs(text, d->out);
}

static void print_network(struct dissect *d, const struct pkt *p, const struct wire_l3 *l3)
{
    static const char *const ecn[4] = { "", " ECT(1)", " ECT(0)", " CE" };
    const char *form = p->flags & PKT_F_IPV6 ? "[" : "", *end = p->flags & PKT_F_IPV6 ? "]" : "";
    if (p->flags & PKT_F_VLAN)
        fprintf(d->out, " vlan %u pcp %u", l3->vlan_id & 0xfffu, p->pcp);
    fprintf(d->out, " %s", form);
    print_address(d, p, l3, true);
    fputs(end, d->out);
    if (p->sport || p->dport)
        fprintf(d->out, ":%u", p->sport);
    fprintf(d->out, " > %s", form);
    print_address(d, p, l3, false);
    fputs(end, d->out);
    if (p->sport || p->dport)
        fprintf(d->out, ":%u", p->dport);
    if (p->dscp)
        fprintf(d->out, " dscp %u", p->dscp);
    fprintf(d->out, "%s ttl %u", ecn[p->ecn & 3], p->ttl);
}

static void print_syndrome(struct dissect *d, uint8_t s)
{
    /* InfiniBand specification volume 1 table 45, RNR timer codes, in us */
    static const uint32_t rnr_us[32] = { 655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840,
        5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520 };
    static const char *const nak[5] = { "PSN sequence error", "invalid request", "remote access error", "remote operational error",
        "invalid RD request" };
    switch (s >> 5) {
    case 0:
        if (s == 0x1f)
            fprintf(d->out, " ACK");
        else
            fprintf(d->out, " ACK credits %u", s);
        break;
    case 1: fprintf(d->out, " RNR NAK %u us", rnr_us[s & 31]); break;
    case 3: fprintf(d->out, " NAK %s", (s & 31) < 5 ? nak[s & 31] : "reserved code"); break;
    default: fprintf(d->out, " reserved syndrome 0x%02x", s); break;
    }
}

/* Connection management datagrams, between QPs 1. */
static void print_cm(struct dissect *d, const struct pkt *p)
{
    uint8_t mad[WIRE_MAD_BYTES];
    struct wire_cm m;
    if (p->payload_len != sizeof mad)
        return;
    pkt_payload_read(p, 0, sizeof mad, mad);
    if (!wire_cm_decode(mad, sizeof mad, &m))
        return;
    fprintf(d->out, " CM %s tid 0x%" PRIx64 " local 0x%08x", wire_cm_name(m.kind), m.transaction, m.local_id);
    if (m.kind != CM_REQ)
        fprintf(d->out, " remote 0x%08x", m.remote_id);
    switch (m.kind) {
    case CM_REQ:
        fprintf(d->out, " service 0x%016" PRIx64 " %s qp 0x%06x psn %u mtu %u resources %u depth %u retry %u rnr %u timeout %u", m.u.req.service_id,
                m.u.req.service_type == 0 ? "RC" : m.u.req.service_type == 1 ? "UC" : "other", m.u.req.qpn, m.u.req.psn, wire_cm_mtu_bytes(m.u.req.mtu),
                m.u.req.responder_resources, m.u.req.initiator_depth, m.u.req.retry_cnt, m.u.req.rnr_retry, m.u.req.path[0].ack_timeout);
        break;
    case CM_REP:
        fprintf(d->out, " qp 0x%06x psn %u resources %u depth %u rnr %u ack delay %u", m.u.rep.qpn, m.u.rep.psn, m.u.rep.responder_resources,
                m.u.rep.initiator_depth, m.u.rep.rnr_retry, m.u.rep.target_ack_delay);
        break;
    case CM_REJ: fprintf(d->out, " reason %u (%s)", m.u.rej.reason, wire_cm_reason_name(m.u.rej.reason)); break;
    case CM_MRA: fprintf(d->out, " service timeout %u", m.u.mra.service_timeout); break;
    case CM_DREQ: fprintf(d->out, " qp 0x%06x", m.u.dreq.qpn); break;
    default: break;
    }
}

static void print_roce(struct dissect *d, const struct pkt *p, bool icrc_ok)
{
    const struct pkt_roce *r = &p->roce;
    const struct wire_roce_op *op = &wire_roce_op[r->opcode];
    fprintf(d->out, " RoCE %s qp 0x%06x psn %u pkey 0x%04x%s%s%s%s%s", op->name, r->dqpn, r->psn, r->pkey, r->se ? " SE" : "",
            r->m ? " M" : "", r->ack_req ? " ackreq" : "", r->fecn ? " FECN" : "", r->becn ? " BECN" : "");
    if (op->flags & ROCE_OP_DETH)
        fprintf(d->out, " DETH qkey 0x%08x from 0x%06x", r->x.deth.qkey, r->x.deth.sqpn);
    if (op->flags & ROCE_OP_RETH)
        fprintf(d->out, " RETH va 0x%" PRIx64 " rkey 0x%08x len %u", r->x.reth.va, r->x.reth.rkey, r->x.reth.len);
    if (op->flags & ROCE_OP_ATOMICETH)
        fprintf(d->out, " AtomicETH va 0x%" PRIx64 " rkey 0x%08x swap/add 0x%" PRIx64 " compare 0x%" PRIx64, r->x.atomic.va,
                r->x.atomic.rkey, r->x.atomic.swap_add, r->x.atomic.compare);
    if (op->flags & ROCE_OP_AETH) {
        fprintf(d->out, " AETH");
        print_syndrome(d, r->syndrome);
        fprintf(d->out, " msn %u", r->msn);
    }
    if (op->flags & ROCE_OP_ATOMICACK)
        fprintf(d->out, " original 0x%" PRIx64, r->x.atomic_ack.orig);
    if (op->flags & ROCE_OP_IMM)
        fprintf(d->out, " imm 0x%08x", r->imm_or_rkey);
    if (op->flags & ROCE_OP_IETH)
        fprintf(d->out, " inv 0x%08x", r->imm_or_rkey);
    if (op->flags & ROCE_OP_IRN_SN)
        fprintf(d->out, " IRN wqe %u", op->flags & ROCE_OP_ATOMICETH ? r->x.atomic.irn_sn : r->x.reth.irn_sn);
    if (op->flags & ROCE_OP_IRN_OFFSET)
        fprintf(d->out, " offset %u", r->x.reth.irn_offset);
    if (op->flags & ROCE_OP_IRN_SACK)
        fprintf(d->out, " sack %u", r->x.irn_sack.psn);
    if (op->flags & ROCE_OP_PAYLOAD)
        fprintf(d->out, " %u B pad %u", p->payload_len, r->pad);
    if (op->flags & ROCE_OP_DETH && r->dqpn == 1)
        print_cm(d, p);
    if (icrc_ok)
        fprintf(d->out, " ICRC ok");
    if (r->tver)
        dissect_wrong(d, "BTH transport version %u", r->tver);
}

static void print_tcp(struct dissect *d, const struct pkt *p, const struct wire_l3 *l3)
{
    static const char letters[] = "FSRPAUEC";
    const struct pkt_tcp *t = &p->tcp;
    char flags[9];
    unsigned n = 0;
    for (unsigned i = 0; i < 8; i++)
        if (t->flags >> i & 1)
            flags[n++] = letters[i];
    flags[n] = 0;
    fprintf(d->out, " TCP [%s] seq %u", flags, t->seq);
    if (t->flags & TCP_ACK)
        fprintf(d->out, " ack %u", t->ack);
    fprintf(d->out, " win %u", t->window);
    if (t->flags & TCP_URG)
        fprintf(d->out, " urg %u", t->urgent);
    if (t->opt & TCP_OPT_MSS)
        fprintf(d->out, " mss %u", t->mss);
    if (t->opt & TCP_OPT_WSCALE)
        fprintf(d->out, " wscale %u", t->wscale);
    if (t->opt & TCP_OPT_SACK_PERM)
        fprintf(d->out, " sackok");
    if (t->opt & TCP_OPT_TS)
        fprintf(d->out, " ts %u ecr %u", t->ts_val, t->ts_ecr);
    for (unsigned i = 0; i < t->nsack; i++)
        fprintf(d->out, "%s%u-%u", i ? "," : " sack ", t->sack[i].from, t->sack[i].to);
    fprintf(d->out, " %u B", p->payload_len);
    dissect_segment(d, p, l3);
}

static void print_pfc(struct dissect *d, const struct pkt *p, const uint8_t *frame)
{
    const struct pkt_pfc *f = &p->pfc;
    fprintf(d->out, " %02x:%02x:%02x:%02x:%02x:%02x", frame[6], frame[7], frame[8], frame[9], frame[10], frame[11]);
    if (f->link_wide) {
        fprintf(d->out, " PAUSE %u quanta", f->quanta[0]);
        return;
    }
    fprintf(d->out, " PFC");
    for (unsigned i = 0; i < 8; i++)
        if (f->class_vector >> i & 1) {
            if (f->quanta[i])
                fprintf(d->out, " class %u: %u quanta", i, f->quanta[i]);
            else
                fprintf(d->out, " class %u: resume", i);
        }
}

/* Four bytes beyond what the frame needs may be its FCS. */
static void check_fcs(struct dissect *d, const uint8_t *frame, size_t len, const struct wire_l3 *l3)
{
    if (len < PKT_FRAME_MIN_BYTES || l3->trailer_len < 4 || (l3->trailer_len > 4 && len != PKT_FRAME_MIN_BYTES))
        return;
    uint32_t want = wire_crc32(0, frame, len - 4), got = 0;
    for (unsigned i = 0; i < 4; i++)
        got |= (uint32_t)frame[len - 4 + i] << 8 * i;
    if (want == got) {
        d->has_fcs = true;
        fprintf(d->out, " FCS ok");
    } else if (d->has_fcs) {
        dissect_wrong(d, "FCS");
    }
}

static void dissect_frame(struct dissect *d, const struct pcap_frame *f)
{
    struct pkt p;
    struct wire_l3 l3;
    enum wire_status s = wire_decode(f->bytes, f->captured, &p, &l3);
    d->frame = f->no;
    d->reasons[0] = 0;
    print_time(d, f->at_ps);
    if (l3.have_ip)
        print_network(d, &p, &l3);
    if (p.kind == PKT_ROCE)
        print_roce(d, &p, s != WIRE_BAD_ICRC && s != WIRE_BAD_UDP_LENGTH);
    else if (p.kind == PKT_TCP)
        print_tcp(d, &p, &l3);
    else if (p.kind == PKT_PFC)
        print_pfc(d, &p, f->bytes);
    switch (s) {
    case WIRE_OK:
        check_fcs(d, f->bytes, f->captured, &l3);
        break;
    case WIRE_UNKNOWN_ETHERTYPE:
    case WIRE_UNKNOWN_PROTOCOL:
    case WIRE_FRAGMENT:
        fprintf(d->out, " %u B, not read: %s", f->original, wire_status_name(s));
        break;
    case WIRE_TRUNCATED:
        if (f->captured < f->original) {
            fprintf(d->out, " %u of %u B captured: not verified", f->captured, f->original);
            break;
        } /* fall through */
    default:
        dissect_wrong(d, "%s", wire_status_name(s));
        break;
    }
    fputc('\n', d->out);
    if (d->reasons[0]) {
        d->wrong_frames++;
        char *save = NULL;
        for (char *line = strtok_r(d->reasons, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            fprintf(d->err, "%s: frame %u: %s\n", d->name, d->frame, line);
    }
    pkt_release_payload(&p);
}

int dissect_bytes(const char *name, const uint8_t *file, size_t len, FILE *out, FILE *err)
{
    struct dissect d = { .name = name, .out = out, .err = err };
    struct pcap_reader r;
    struct pcap_frame f;
    if (!len) {
        fprintf(err, "%s: empty, not a pcap file\n", name);
        return 2;
    }
    enum pcap_status s = pcap_open(&r, file, len);
    if (s == PCAP_OK) {
        d.streams = dissect_streams_new();
        while ((s = pcap_next(&r, &f)) == PCAP_OK)
            dissect_frame(&d, &f);
        dissect_streams_end(&d);
        dissect_streams_free(d.streams);
        fprintf(out, "%s: %u frames, %u wrong\n", name, r.frame_no, d.wrong_frames);
    }
    size_t at = (size_t)(r.at - r.begin);
    switch (s) {
    case PCAP_END:
        return d.wrong_frames ? 1 : 0;
    case PCAP_TRUNCATED:
        fprintf(err, "%s: truncated: the file ends at byte %zu within what begins at byte %zu, after frame %u\n", name, len, at, r.frame_no);
        return 2;
    case PCAP_BAD_LENGTH:
        fprintf(err, "%s: %s at byte %zu, after frame %u\n", name, pcap_status_text(s), at, r.frame_no);
        return 2;
    default:
        fprintf(err, "%s: %s\n", name, pcap_status_text(s));
        return 2;
    }
}

uint8_t *dissect_read_file(const char *path, size_t *len)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t cap = 0;
    *len = 0;
    if (!f)
        return NULL;
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        goto fail;
    }
    for (size_t n = 1; n; *len += n) {
        if (*len == cap) {
            uint8_t *more = realloc(bytes, cap = cap ? 2 * cap : 1 << 16);
            if (!more)
                goto fail;
            bytes = more;
        }
        n = fread(bytes + *len, 1, cap - *len, f);
    }
    if (ferror(f))
        goto fail;
    fclose(f);
    return bytes;
fail:;
    int error = errno;
    free(bytes);
    fclose(f);
    errno = error;
    return NULL;
}

int dissect_files(int n, char *const *paths, FILE *out, FILE *err)
{
    int worst = 0;
    for (int i = 0; i < n; i++) {
        size_t len;
        uint8_t *bytes = dissect_read_file(paths[i], &len);
        int status = 2;
        if (bytes)
            status = dissect_bytes(paths[i], bytes, len, out, err);
        else
            fprintf(err, "%s: cannot be read: %s\n", paths[i], strerror(errno));
        free(bytes);
        worst = status > worst ? status : worst;
    }
    if (fflush(out) || ferror(out)) {
        fprintf(err, "cannot write the dissection: %s\n", strerror(errno));
        return 2;
    }
    return worst;
}
