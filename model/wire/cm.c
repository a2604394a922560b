/* SPDX-License-Identifier: GPL-2.0-only */
#include "cm.h"

#include <string.h>

#include "bytes.h"

enum { MAD_BASE_VERSION = 1, MAD_CLASS_CM = 7, MAD_CLASS_VERSION = 2, MAD_METHOD_SEND = 3, MAD_DATA = 24 };

/* Offset of the private data in the MAD's data, which are 232 bytes. */
static const struct { const char *name; uint8_t private_at; } kinds[] = {
    [CM_REQ - CM_REQ] = { "REQ", 140 }, [CM_MRA - CM_REQ] = { "MRA", 10 },   [CM_REJ - CM_REQ] = { "REJ", 84 },   [CM_REP - CM_REQ] = { "REP", 36 },
    [CM_RTU - CM_REQ] = { "RTU", 8 },   [CM_DREQ - CM_REQ] = { "DREQ", 12 }, [CM_DREP - CM_REQ] = { "DREP", 8 },
};

static bool known(unsigned kind) { return kind >= CM_REQ && kind <= CM_DREP; }
const char *wire_cm_name(unsigned kind) { return known(kind) ? kinds[kind - CM_REQ].name : NULL; }
size_t wire_cm_private_bytes(unsigned kind) { return known(kind) ? WIRE_MAD_BYTES - MAD_DATA - (size_t)kinds[kind - CM_REQ].private_at : 0; }

const char *wire_cm_reason_name(unsigned reason)
{
    switch (reason) {
    case CM_REJ_NO_QP:             return "no QP available";
    case CM_REJ_NO_RESOURCES:      return "no resources available";
    case CM_REJ_TIMEOUT:           return "timeout";
    case CM_REJ_UNSUPPORTED:       return "unsupported request";
    case CM_REJ_INVALID_COMM_ID:   return "invalid communication ID";
    case CM_REJ_INVALID_SERVICE:   return "invalid service ID";
    case CM_REJ_INVALID_TRANSPORT: return "invalid transport service type";
    case CM_REJ_INVALID_MTU:       return "invalid path MTU";
    case CM_REJ_CONSUMER:          return "consumer reject";
    default:                       return "other";
    }
}

/* --- the parts of a REQ --- */

static void put_path(const struct wire_cm_path *p, uint8_t *b)
{
    wire_put16(b, p->local_lid);
    wire_put16(b + 2, p->remote_lid);
    memcpy(b + 4, p->local_gid, 16);
    memcpy(b + 20, p->remote_gid, 16);
    wire_put32(b + 36, (p->flow_label & 0xfffff) << 12 | (p->rate & 0x3f));
    b[40] = p->traffic_class;
    b[41] = p->hop_limit;
    b[42] = (uint8_t)(p->sl << 4 | (p->subnet_local & 1) << 3);
    b[43] = (uint8_t)(p->ack_timeout << 3);
}

static void get_path(struct wire_cm_path *p, const uint8_t *b)
{
    p->local_lid = wire_get16(b);
    p->remote_lid = wire_get16(b + 2);
    memcpy(p->local_gid, b + 4, 16);
    memcpy(p->remote_gid, b + 20, 16);
    p->flow_label = wire_get32(b + 36) >> 12;
    p->rate = b[39] & 0x3f;
    p->traffic_class = b[40];
    p->hop_limit = b[41];
    p->sl = b[42] >> 4;
    p->subnet_local = b[42] >> 3 & 1;
    p->ack_timeout = b[43] >> 3;
}

static void put_req(const struct wire_cm *m, uint8_t *b)
{
    const struct wire_cm_req *r = &m->u.req;
    wire_put64(b + 8, r->service_id);
    wire_put64(b + 16, r->ca_guid);
    wire_put32(b + 28, r->qkey);
    wire_put24(b + 32, r->qpn);
    b[35] = r->responder_resources;
    wire_put24(b + 36, r->local_eecn);
    b[39] = r->initiator_depth;
    wire_put24(b + 40, r->remote_eecn);
    b[43] = (uint8_t)(r->remote_response_timeout << 3 | (r->service_type & 3) << 1 | (r->flow_control & 1));
    wire_put24(b + 44, r->psn);
    b[47] = (uint8_t)(r->local_response_timeout << 3 | (r->retry_cnt & 7));
    wire_put16(b + 48, r->pkey);
    b[50] = (uint8_t)(r->mtu << 4 | (r->rdc & 1) << 3 | (r->rnr_retry & 7));
    b[51] = (uint8_t)(r->max_cm_retries << 4 | (r->srq & 1) << 3 | (r->extended_transport & 7));
    put_path(&r->path[0], b + 52);
    put_path(&r->path[1], b + 96);
}

static void get_req(struct wire_cm *m, const uint8_t *b)
{
    struct wire_cm_req *r = &m->u.req;
    r->service_id = wire_get64(b + 8);
    r->ca_guid = wire_get64(b + 16);
    r->qkey = wire_get32(b + 28);
    r->qpn = wire_get24(b + 32);
    r->responder_resources = b[35];
    r->local_eecn = wire_get24(b + 36);
    r->initiator_depth = b[39];
    r->remote_eecn = wire_get24(b + 40);
    r->remote_response_timeout = b[43] >> 3;
    r->service_type = b[43] >> 1 & 3;
    r->flow_control = b[43] & 1;
    r->psn = wire_get24(b + 44);
    r->local_response_timeout = b[47] >> 3;
    r->retry_cnt = b[47] & 7;
    r->pkey = wire_get16(b + 48);
    r->mtu = b[50] >> 4;
    r->rdc = b[50] >> 3 & 1;
    r->rnr_retry = b[50] & 7;
    r->max_cm_retries = b[51] >> 4;
    r->srq = b[51] >> 3 & 1;
    r->extended_transport = b[51] & 7;
    get_path(&r->path[0], b + 52);
    get_path(&r->path[1], b + 96);
}

/* --- the others --- */

static void put_rep(const struct wire_cm *m, uint8_t *b)
{
    const struct wire_cm_rep *r = &m->u.rep;
    wire_put32(b + 8, r->qkey);
    wire_put24(b + 12, r->qpn);
    wire_put24(b + 16, r->eecn);
    wire_put24(b + 20, r->psn);
    b[24] = r->responder_resources;
    b[25] = r->initiator_depth;
    b[26] = (uint8_t)(r->target_ack_delay << 3 | (r->failover & 3) << 1 | (r->flow_control & 1));
    b[27] = (uint8_t)(r->rnr_retry << 5 | (r->srq & 1) << 4);
    wire_put64(b + 28, r->ca_guid);
}

static void get_rep(struct wire_cm *m, const uint8_t *b)
{
    struct wire_cm_rep *r = &m->u.rep;
    r->qkey = wire_get32(b + 8);
    r->qpn = wire_get24(b + 12);
    r->eecn = wire_get24(b + 16);
    r->psn = wire_get24(b + 20);
    r->responder_resources = b[24];
    r->initiator_depth = b[25];
    r->target_ack_delay = b[26] >> 3;
    r->failover = b[26] >> 1 & 3;
    r->flow_control = b[26] & 1;
    r->rnr_retry = b[27] >> 5;
    r->srq = b[27] >> 4 & 1;
    r->ca_guid = wire_get64(b + 28);
}

static void put_body(const struct wire_cm *m, uint8_t *b)
{
    switch (m->kind) {
    case CM_REQ: put_req(m, b); break;
    case CM_REP: put_rep(m, b); break;
    case CM_REJ:
        b[8] = (uint8_t)(m->u.rej.rejected << 6);
        b[9] = (uint8_t)(m->u.rej.info_len << 1);
        wire_put16(b + 10, m->u.rej.reason);
        memcpy(b + 12, m->u.rej.ari, WIRE_CM_ARI_BYTES);
        break;
    case CM_MRA:
        b[8] = (uint8_t)(m->u.mra.answered << 6);
        b[9] = (uint8_t)(m->u.mra.service_timeout << 3);
        break;
    case CM_DREQ: wire_put24(b + 8, m->u.dreq.qpn); break;
    default: break;
    }
}

static void get_body(struct wire_cm *m, const uint8_t *b)
{
    switch (m->kind) {
    case CM_REQ: get_req(m, b); break;
    case CM_REP: get_rep(m, b); break;
    case CM_REJ:
        m->u.rej.rejected = b[8] >> 6;
        m->u.rej.info_len = b[9] >> 1;
        m->u.rej.reason = wire_get16(b + 10);
        memcpy(m->u.rej.ari, b + 12, WIRE_CM_ARI_BYTES);
        break;
    case CM_MRA:
        m->u.mra.answered = b[8] >> 6;
        m->u.mra.service_timeout = b[9] >> 3;
        break;
    case CM_DREQ: m->u.dreq.qpn = wire_get24(b + 8); break;
    default: break;
    }
}

void wire_cm_encode(const struct wire_cm *m, uint8_t out[WIRE_MAD_BYTES])
{
    uint8_t *b = out + MAD_DATA;
    memset(out, 0, WIRE_MAD_BYTES);
    out[0] = MAD_BASE_VERSION;
    out[1] = MAD_CLASS_CM;
    out[2] = MAD_CLASS_VERSION;
    out[3] = MAD_METHOD_SEND;
    wire_put64(out + 8, m->transaction);
    wire_put16(out + 16, m->kind);
    if (!known(m->kind))
        return;
    wire_put32(b, m->local_id);
    if (m->kind != CM_REQ)
        wire_put32(b + 4, m->remote_id);
    put_body(m, b);
    memcpy(b + kinds[m->kind - CM_REQ].private_at, m->private_data, wire_cm_private_bytes(m->kind));
}

bool wire_cm_decode(const uint8_t *in, size_t len, struct wire_cm *m)
{
    memset(m, 0, sizeof *m);
    if (len != WIRE_MAD_BYTES || in[0] != MAD_BASE_VERSION || in[1] != MAD_CLASS_CM || in[2] != MAD_CLASS_VERSION || in[3] != MAD_METHOD_SEND ||
        !known(wire_get16(in + 16)))
        return false;
    const uint8_t *b = in + MAD_DATA;
    m->kind = (uint8_t)wire_get16(in + 16);
    m->transaction = wire_get64(in + 8);
    m->local_id = wire_get32(b);
    m->remote_id = m->kind == CM_REQ ? 0 : wire_get32(b + 4);
    get_body(m, b);
    memcpy(m->private_data, b + kinds[m->kind - CM_REQ].private_at, wire_cm_private_bytes(m->kind));
    return true;
}

uint32_t wire_cm_mtu_bytes(unsigned code) { return code >= 1 && code <= 5 ? 128u << code : 0; }

unsigned wire_cm_mtu_code(uint32_t bytes)
{
    for (unsigned code = 1; code <= 5; code++)
        if (wire_cm_mtu_bytes(code) == bytes)
            return code;
    return 0;
}

void wire_cm_gid_of_ipv4(uint32_t addr, uint8_t gid[16])
{
    memset(gid, 0, 10);
    gid[10] = gid[11] = 0xff;
    wire_put32(gid + 12, addr);
}
