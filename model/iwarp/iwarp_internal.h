/* SPDX-License-Identifier: GPL-2.0-only */
/** What the files of this room share.
 *
 *  Sending: the TCP stream is a start-up frame and then messages back to back, each cut into FPDUs of one size by its maximum
 *  ULPDU. So a message is one record, and any FPDU of it, first transmission or again, is arithmetic on the stream offset.
 *  Offsets here are plain: as if there were no markers; only what TCP gives and takes is turned into the stream's own.
 *  Receiving: FPDUs that lie whole and symbolic in a segment are taken as they are; everything else is gathered into a
 *  buffer until the FPDU is whole, and its CRC is checked for real. FPDUs that come out of order may be placed at once; they wait in a
 *  list until the stream reaches them, and only then are their messages checked in full, counted and completed.
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

enum iwarp_rx_class { IWARP_QN_SEND, IWARP_QN_READ, IWARP_QN_TERM, IWARP_QN_ATOMIC /* RFC 7306 */, IWARP_QUEUES };

#define IWARP_SMALL_MAX 56 /* Read Request 28, Terminate and Atomic Request 52 */
#define IWARP_IMMEDIATE_BYTES 8

/** A DDP message in the stream, from the first FPDU's length field to the last CRC; or a part of one: where the MULPDU changes a
 *  message goes on in another record. */
struct iwarp_msg {
    uint64_t start, end;           /* plain offsets; end may have been cut short by a Terminate */
    uint32_t len;                  /* payload of this record */
    uint32_t first;                /* of the message's payload, where this record begins */
    uint32_t seg;                  /* payload bytes of a full FPDU */
    uint32_t fpdu;                 /* wire bytes of a full FPDU */
    uint32_t wqe;                  /* to complete when the last byte has been given to TCP, or when acknowledged */
    uint8_t  has_wqe;
    uint8_t  literal;              /* payload is in small[] */
    uint8_t  goes_on;              /* the message does not end with this record */
    uint8_t  lends;                /* the copy is a later record's to free */
    struct ddp_hdr hdr;            /* of the first segment; to, mo and last follow from the FPDU's place */
    struct rnic_span src;          /* pattern */
    uint8_t *copy;                 /* memory mode: the NIC's copy of the payload, ours */
    uint8_t  small[IWARP_SMALL_MAX];
};

/** A Read or an atomic of ours that is under way. */
struct iwarp_read { uint64_t to; uint32_t wqe, stag, len, got; uint8_t has_wqe, atomic; uint32_t request_id; };
/** A Read or Atomic Request of the peer's, to be answered in order. */
struct iwarp_inread { struct ddp_hdr hdr; uint8_t body[RDMAP_ATOMIC_REQUEST_BYTES]; };

/** An FPDU that has been placed before its turn: stream offsets (with markers) [off, off + wire). */
struct iwarp_early { uint64_t off; struct ddp_hdr hdr; uint32_t wire, len, ulpdu_len; };

/** One DDP segment as it came: header, and payload either in a packet or in plain bytes. */
struct iwarp_segment {
    struct ddp_hdr hdr;
    const struct pkt *p;           /* NULL: bytes */
    uint32_t from;
    const uint8_t *bytes;
    uint32_t len;                  /* payload */
    uint32_t ulpdu_len;
    bool placed;                   /* the payload is where it belongs already; p and bytes are NULL */
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
    uint8_t  closing;              /* iwarp_qp_close: close when all that was posted is done */
    uint8_t  expect_rtr;           /* responder: the first FPDU is to be the agreed empty message */
    uint8_t  response_turn;        /* Read Responses and the send queue take turns */
    struct iwarp_agreed agreed;
    int32_t  term_sent, term_received, local_error;

    /* sending */
    uint8_t *startup;              /* stream bytes [0, startup_len) until acknowledged */
    uint32_t startup_len;
    struct iwarp_msg *msgs;        /* ring: [msg_head, msg_tail); before msg_sent: wholly given to TCP once */
    uint32_t msg_cap, msg_head, msg_sent, msg_tail;
    uint32_t emss;                 /* that messages have been cut for */
    uint64_t framed;               /* plain offset where the last message ends */
    uint64_t announced;            /* what TCP knows of: an FPDU boundary at most a little ahead of given */
    uint64_t given;                /* highest offset given to TCP so far */
    uint32_t sq_next;              /* the WQE to look at next */
    uint32_t tx_msn[IWARP_QUEUES];
    struct iwarp_read *reads;      /* ring of Reads under way */
    uint32_t read_cap, read_head, read_tail;
    uint32_t request_id;           /* of the next atomic */
    struct rdmap_terminate term;
    uint8_t  term_pending;

    /* receiving */
    uint8_t *rbuf;                 /* the FPDU (or start-up frame) being gathered */
    uint32_t rbuf_cap, rlen;
    uint64_t rx_base;              /* stream offset where full operation begins */
    uint64_t placed_to;            /* what is delivered below this has been placed and dealt with */
    struct iwarp_early *early;     /* ring, by offset */
    uint32_t early_cap, early_head, early_tail;
    uint64_t kept_bytes;        /* of TCP's reassembled_bytes, what the host has been told of */
    uint32_t rx_msn[IWARP_QUEUES]; /* expected */
    uint32_t recv_bytes;           /* placed of the Send that is coming in */
    uint8_t  recv_opcode;
    uint8_t  write_open;           /* a Write has begun and not ended */
    uint32_t write_stag, write_bytes;
    uint32_t write_before;         /* bytes of the Write that the stream's last message was; 0 if it was another */
    uint64_t write_to;
    struct iwarp_inread *inreads;  /* ring */
    uint32_t inread_cap, inread_head, inread_tail;
    uint8_t *peer_pd, *own_pd;
    uint32_t peer_pd_len, own_pd_len;

    struct iwarp_stats stats;
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

/* iwarp_tx.c: work requests into messages */
/** Frame the next message, if one may go now: false when there is nothing. */
bool iwarp_tx_frame_next(struct iwarp_qp *q);
void iwarp_tx_complete_sent(struct iwarp_qp *q);
/** The header of an untagged message, with the queue's next MSN. */
struct ddp_hdr iwarp_tx_untagged(struct iwarp_qp *q, enum rdmap_opcode op, enum iwarp_rx_class qn, uint32_t inv);
/** The message's end completes the WQE. */
void iwarp_tx_ends_wqe(struct iwarp_msg *m, uint32_t wqe);
/** An answer to r is expected after those asked for before. */
void iwarp_tx_await(struct iwarp_qp *q, const struct iwarp_read *r);

/* iwarp_stream.c: messages in the stream */
struct iwarp_msg *iwarp_stream_add(struct iwarp_qp *q, const struct ddp_hdr *hdr, uint32_t len);
/** Add a message whose payload is these bytes, at most IWARP_SMALL_MAX. */
struct iwarp_msg *iwarp_stream_add_small(struct iwarp_qp *q, const struct ddp_hdr *hdr, const void *bytes, uint32_t len);
void iwarp_stream_own_source(struct iwarp_msg *m, const struct rnic_span *src);
static inline struct iwarp_msg *iwarp_stream_msg(const struct iwarp_qp *q, uint32_t i) { return &q->msgs[i & (q->msg_cap - 1)]; }
/** The message that holds plain offset off, startup_len <= off < framed. */
struct iwarp_msg *iwarp_stream_find(const struct iwarp_qp *q, uint64_t off);
/** Move announced ahead of given where framed allows: true if it moved. */
bool iwarp_stream_announce(struct iwarp_qp *q);
/** A Terminate is to be the last message: drop what TCP does not know of and append it. */
void iwarp_stream_terminate(struct iwarp_qp *q);
/** If TCP's EMSS has changed, cut anew what TCP does not know of yet. */
void iwarp_stream_resize(struct iwarp_qp *q);
void iwarp_stream_acked(void *user, int64_t now_ps, uint64_t off);
void iwarp_stream_free(struct iwarp_qp *q);
/** A plain offset in the stream as TCP counts it, and back (the last that begins at or before it). */
static inline uint64_t iwarp_stream_off(const struct iwarp_qp *q, uint64_t plain)
{
    return plain <= q->startup_len || !q->agreed.tx_markers ? plain : q->startup_len + mpa_marked(plain - q->startup_len);
}
static inline uint64_t iwarp_stream_plain(const struct iwarp_qp *q, uint64_t off)
{
    return off <= q->startup_len || !q->agreed.tx_markers ? off : q->startup_len + mpa_unmarked(off - q->startup_len);
}

/* iwarp_fpdu.c: FPDUs as TCP asks for them */
uint32_t iwarp_fpdu_fill(void *user, uint64_t off, uint32_t len, struct pkt *p);
static inline uint32_t iwarp_fpdu_bytes(uint32_t ulpdu_len) { return 2 + ulpdu_len + mpa_pad(ulpdu_len) + 4; }

/* iwarp_rx.c: FPDUs out of the stream */
void iwarp_rx_deliver(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len);
/** Length of an FPDU that begins at payload byte `from` and is made of unbroken symbolic chunks, its tail with a right CRC; 0 if
 *  this is not one. */
uint32_t iwarp_rx_symbolic(const struct iwarp_qp *q, const struct pkt *p, uint32_t from, uint32_t len, uint32_t *ulpdu_len);

/* iwarp_early.c: FPDUs that come out of order */
bool iwarp_early_rx(void *user, int64_t now_ps, uint64_t off, const struct pkt *p, uint32_t from, uint32_t len);
/** The stream has reached off, an FPDU's beginning: if it has been placed already, *out is it. */
bool iwarp_early_take(struct iwarp_qp *q, uint64_t off, struct iwarp_early *out);

/* iwarp_rdmap.c: DDP segments and RDMAP messages in the stream's order */
void iwarp_rdmap_segment(struct iwarp_qp *q, struct iwarp_segment *s);
/** A ULPDU too short for its header. */
void iwarp_rdmap_short(struct iwarp_qp *q);

void iwarp_rdmap_opcode(struct iwarp_qp *q, const struct iwarp_segment *s); /* one that is not expected here */
/** Is the segment the next of its queue, with MO 0, of exactly len bytes and the message's last? Else the stream has been terminated. */
bool iwarp_rdmap_single(struct iwarp_qp *q, enum iwarp_rx_class qn, const struct iwarp_segment *s, uint32_t len);

/* iwarp_ext.c: RFC 7306 */
void iwarp_ext_immediate(struct iwarp_qp *q, const struct iwarp_segment *s);
void iwarp_ext_atomic_request(struct iwarp_qp *q, const struct iwarp_segment *s);
void iwarp_ext_atomic_response(struct iwarp_qp *q, const struct iwarp_segment *s);
/** The turn of an Atomic Request: perform it and frame the response. */
void iwarp_ext_answer(struct iwarp_qp *q, const struct iwarp_inread *in);
void iwarp_ext_frame_immediate(struct iwarp_qp *q, uint32_t wqe, const struct rnic_send_wr *wr);
void iwarp_ext_frame_atomic(struct iwarp_qp *q, uint32_t wqe, const struct rnic_send_wr *wr);

/* iwarp_term.c */
/** This side's first error, told to no peer by itself. */
void iwarp_term_note(struct iwarp_qp *q, unsigned layer, unsigned etype, unsigned code);
enum iwarp_term_parts { IWARP_TERM_PLAIN, IWARP_TERM_DDP, IWARP_TERM_DDP_RDMAP };
/** Send a Terminate and move to ERROR; s may be NULL with IWARP_TERM_PLAIN. fail_wqe: complete that WQE with status first. */
void iwarp_term_send(struct iwarp_qp *q, unsigned layer, unsigned etype, unsigned code, enum iwarp_term_parts parts, const struct iwarp_segment *s);
void iwarp_term_send_for(struct iwarp_qp *q, uint32_t wqe, enum rnic_wc_status status, unsigned layer, unsigned etype, unsigned code,
                         enum iwarp_term_parts parts, const struct iwarp_segment *s);
/** A placement of a tagged segment was refused. */
void iwarp_term_tagged(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s);
/** The source of a Read Request was refused; s holds the request as bytes. */
void iwarp_term_read(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s);
/** An atomic or an invalidation was refused. */
void iwarp_term_protection(struct iwarp_qp *q, enum rnic_fault f, const struct iwarp_segment *s);
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
