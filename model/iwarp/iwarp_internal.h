/* SPDX-License-Identifier: GPL-2.0-only */
/** What the files of this room share.
 *
 *  Sending: the TCP stream is a start-up frame and then messages back to back, each cut into FPDUs of one size by its maximum
 *  ULPDU. So a message is one record, and any FPDU of it, first transmission or again, is arithmetic on the stream offset.
 *  Receiving: FPDUs that lie whole and symbolic in a segment are taken as they are; everything else is gathered into a
 *  buffer until the FPDU is whole, and its CRC is checked for real.
 */
#ifndef RNICSIM_IWARP_IWARP_INTERNAL_H
#define RNICSIM_IWARP_IWARP_INTERNAL_H

#include "iwarp_qp.h"
#include "../rnic/qp.h"
#include "../wire/iwarp.h"

enum iwarp_phase {
    IWARP_IDLE,       /* neither connect nor accept */
    IWARP_CONNECTING, /* TCP handshake */
    IWARP_START,      /* waiting for the peer's start-up frame */
    IWARP_WAIT_FIRST, /* responder: may not send before the initiator's first FPDU (RFC 5044 7.1.2) */
    IWARP_FULL,       /* full operation */
    IWARP_TERMINATING,/* our Terminate is the last message; what comes in is dropped */
    IWARP_CLOSED
};

enum iwarp_rx_class { IWARP_QN_SEND, IWARP_QN_READ, IWARP_QN_TERM, IWARP_QUEUES };

#define IWARP_SMALL_MAX 56 /* Read Request 28, Terminate 52 */
#define IWARP_NO_WQE UINT32_MAX

/** A DDP message in the stream, from the first FPDU's length field to the last CRC. */
struct iwarp_msg {
    uint64_t start, end;           /* stream offsets; end may have been cut short by a Terminate */
    uint32_t len;                  /* payload */
    uint32_t seg;                  /* payload bytes of a full FPDU */
    uint32_t fpdu;                 /* wire bytes of a full FPDU */
    uint32_t wqe;                  /* to complete when the last byte has been given to TCP, or when acknowledged */
    uint8_t  has_wqe;
    uint8_t  literal;              /* payload is in small[] */
    struct ddp_hdr hdr;            /* of the first segment; to, mo and last follow from the FPDU's place */
    struct rnic_span src;          /* pattern */
    uint8_t *copy;                 /* memory mode: the NIC's copy of the payload, ours */
    uint8_t  small[IWARP_SMALL_MAX];
};

/** A Read of ours that is under way. */
struct iwarp_read { uint64_t to; uint32_t wqe, stag, len, got; uint8_t has_wqe; };
/** A Read Request of the peer's, to be answered in order. */
struct iwarp_inread { struct rdmap_read_request rr; uint32_t msn; };

/** One DDP segment as it came: header, and payload either in a packet or in plain bytes. */
struct iwarp_segment {
    struct ddp_hdr hdr;
    const struct pkt *p;           /* NULL: bytes */
    uint32_t from;
    const uint8_t *bytes;
    uint32_t len;                  /* payload */
    uint32_t ulpdu_len;
};

struct iwarp_qp {
    struct rnic_qp base;           /* first */
    const struct iwarp_params *params;
    const struct tcp_params *tcp_params;
    const struct cc_ops *cc;
    const void *cc_params;
    int64_t  link_bps, now_ps, start_deadline_ps;
    uint64_t seed;
    struct tcp_conn *tcp;
    struct endpoint *tcp_ep;
    struct iwarp_peer peer;
    void   (*up)(void *ctx, struct rnic_qp *qp, int status);
    void    *up_ctx;

    uint8_t  phase;                /* enum iwarp_phase */
    uint8_t  initiator, reject, up_told;
    uint8_t  open_pending;         /* connect or accept waits for the first call that brings the time */
    uint8_t  dirty;                /* posts have become visible, not looked at yet */
    uint8_t  abort_pending, close_pending;
    uint8_t  expect_rtr;           /* responder: the first FPDU is to be the agreed empty message */
    uint8_t  response_turn;        /* Read Responses and the send queue take turns */
    struct iwarp_agreed agreed;
    int32_t  term_sent, term_received;

    /* sending */
    uint8_t *startup;              /* stream bytes [0, startup_len) until acknowledged */
    uint32_t startup_len;
    struct iwarp_msg *msgs;        /* ring: [msg_head, msg_tail); before msg_sent: wholly given to TCP once */
    uint32_t msg_cap, msg_head, msg_sent, msg_tail;
    uint64_t framed;               /* stream offset where the last message ends */
    uint64_t announced;            /* what TCP knows of: an FPDU boundary at most a little ahead of given */
    uint64_t given;                /* highest offset given to TCP so far */
    uint32_t sq_next;              /* the WQE to look at next */
    uint32_t tx_msn[IWARP_QUEUES];
    struct iwarp_read *reads;      /* ring of Reads under way */
    uint32_t read_cap, read_head, read_tail;
    uint32_t reads_in_wire;        /* high-water mark of read_tail - read_head, for tests and traces */
    struct rdmap_terminate term;
    uint8_t  term_pending;

    /* receiving */
    uint8_t *rbuf;                 /* the FPDU (or start-up frame) being gathered */
    uint32_t rbuf_cap, rlen;
    uint32_t rx_msn[IWARP_QUEUES]; /* expected */
    uint32_t recv_bytes;           /* placed of the Send that is coming in */
    uint8_t  recv_opcode;
    uint8_t  write_open;           /* a Write has begun and not ended */
    uint32_t write_stag, write_bytes;
    uint64_t write_to;
    struct iwarp_inread *inreads;  /* ring */
    uint32_t inread_cap, inread_head, inread_tail;
    uint8_t *peer_pd, *own_pd;
    uint32_t peer_pd_len, own_pd_len;

    struct { uint64_t crc_errors, fpdus_in, fpdus_symbolic, fpdus_out, fpdus_cut; } stats;
};

/* iwarp_qp.c */
/** After anything happened: complete what was sent, frame what may be sent, tell TCP, do what waited for the time. */
void iwarp_qp_settle(struct iwarp_qp *q, int64_t now_ps);
/** Start-up ended: success moves the QP to RTS, failure to ERROR; the user is told once. */
void iwarp_qp_up(struct iwarp_qp *q, int status);

/* iwarp_start.c: MPA start-up (RFC 5044 7.1, 6581) */
void iwarp_start_established(struct iwarp_qp *q);
/** A prefix of the stream; returns bytes used: 0 for more needed or an end (phase tells). */
uint32_t iwarp_start_rx(struct iwarp_qp *q, const uint8_t *bytes, uint32_t len);
/** The responder's first FPDU: true when it is the agreed RTR message and has been dealt with. */
bool iwarp_start_rtr(struct iwarp_qp *q, const struct iwarp_segment *s);

/* iwarp_tx.c: messages, FPDUs, the stream */
struct iwarp_msg *iwarp_tx_add(struct iwarp_qp *q, const struct ddp_hdr *hdr, uint32_t len);
void iwarp_tx_own_source(struct iwarp_msg *m, const struct rnic_span *src);
/** Frame the next message, if one may go now: false when there is nothing. */
bool iwarp_tx_frame_next(struct iwarp_qp *q);
void iwarp_tx_complete_sent(struct iwarp_qp *q);
/** Move announced ahead of given where framed allows: true if it moved. */
bool iwarp_tx_announce(struct iwarp_qp *q);
/** A Terminate is to be the last message: drop what TCP does not know of and append it. */
void iwarp_tx_terminate(struct iwarp_qp *q);
uint32_t iwarp_tx_fill(void *user, uint64_t off, uint32_t len, struct pkt *p);
void iwarp_tx_acked(void *user, int64_t now_ps, uint64_t off);
void iwarp_tx_free(struct iwarp_qp *q);

/* iwarp_rx.c: FPDUs out of the stream */
void iwarp_rx_deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len);

/* iwarp_rdmap.c: DDP segments and RDMAP messages as they arrive */
void iwarp_rdmap_segment(struct iwarp_qp *q, struct iwarp_segment *s);
/** A ULPDU too short for its header. */
void iwarp_rdmap_short(struct iwarp_qp *q);

/* iwarp_term.c */
enum iwarp_term_parts { IWARP_TERM_PLAIN, IWARP_TERM_DDP, IWARP_TERM_DDP_RDMAP };
/** Send a Terminate and move to ERROR; s may be NULL with IWARP_TERM_PLAIN. fail_wqe: complete that WQE with status first. */
void iwarp_term_send(struct iwarp_qp *q, unsigned layer, unsigned etype, unsigned code, enum iwarp_term_parts parts, const struct iwarp_segment *s);
void iwarp_term_send_for(struct iwarp_qp *q, uint32_t wqe, enum rnic_wc_status status, unsigned layer, unsigned etype, unsigned code,
                         enum iwarp_term_parts parts, const struct iwarp_segment *s);
/** A placement of a tagged segment was refused. */
void iwarp_term_tagged(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s);
/** The source of a Read Request was refused. */
void iwarp_term_read(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s);
void iwarp_term_received(struct iwarp_qp *q, const struct iwarp_segment *s);

/** Copy payload bytes [from, from + len) of a segment. */
static inline void iwarp_segment_read(const struct iwarp_segment *s, uint32_t from, uint32_t len, uint8_t *out)
{
    if (s->p != NULL)
        pkt_payload_read(s->p, s->from + from, len, out);
    else
        for (uint32_t i = 0; i < len; i++)
            out[i] = s->bytes[from + i];
}

enum { IWARP_LAYER_RDMAP = 0, IWARP_LAYER_DDP = 1, IWARP_LAYER_MPA = 2 };

#endif
