/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures of the Linux kernel's rxe and siw with one side replaced by ours: it answers as the kernel did, in every field. And a
 * changed field is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../helper/replay.h"
#include "../../model/wire/codec.h"
#include "../../model/wire/pcap.h"
#include "../wire/golden.h"

struct told { int status; char *out, *err; };

static struct told replay(const char *name, const uint8_t *file, size_t len, enum replay_sides sides)
{
    struct told t = { 0 };
    size_t nout, nerr;
    FILE *out = open_memstream(&t.out, &nout), *err = open_memstream(&t.err, &nerr);
    t.status = replay_bytes(name, file, len, sides, out, err);
    fclose(out);
    fclose(err);
    return t;
}

static void forget(struct told *t)
{
    free(t->out);
    free(t->err);
}

static void equal(const char *name, enum replay_sides side)
{
    size_t len;
    uint8_t *file = golden_read(name, &len);
    struct told t = replay(name, file, len, side);
    print_message("%s", t.out);
    if (t.status != 0)
        fail_msg("%s side %c: status %d\n%s", name, side == REPLAY_A ? 'A' : 'B', t.status, t.err);
    assert_string_equal(t.err, "");
    assert_non_null(strstr(t.out, "; equal\n"));
    forget(&t);
    free(file);
}

static void kernel_side_a(void **state) { equal(*state, REPLAY_A); }
static void kernel_side_b(void **state) { equal(*state, REPLAY_B); }

/* --- changed fields --- */

static void set_pkey(struct pkt *p) { p->roce.pkey = 0x7fff; }
static void clear_ack_req(struct pkt *p) { p->roce.ack_req = 0; }
static void set_ack_req(struct pkt *p) { p->roce.ack_req = 1; }
static void next_psn(struct pkt *p) { p->roce.psn++; }
static void next_msn(struct pkt *p) { p->roce.msn++; }
static void other_nak(struct pkt *p) { p->roce.syndrome = 0x61; }
static void add_orig(struct pkt *p) { p->roce.x.atomic_ack.orig++; }
static void set_fecn(struct pkt *p) { p->roce.fecn = 1; }
static void set_reserved(struct pkt *p) { p->roce.resv8a = 1; }
static void other_dscp(struct pkt *p) { p->dscp = 7; }
static void other_qp(struct pkt *p) { p->roce.dqpn ^= 1; }
static void other_byte(struct pkt *p)
{
    uint8_t b[4096];
    uint16_t len = p->payload_len;
    pkt_payload_read(p, 0, len, b);
    b[len / 2] ^= 1;
    pkt_release_payload(p);
    p->nchunks = 0;
    p->payload_len = 0;
    (void)pkt_add_bytes(p, b, len);
}

/* One byte of a frame that is one FPDU; its CRC made right again. */
static void fpdu_byte(struct pkt *p, unsigned at, uint8_t bits)
{
    uint8_t b[2048];
    uint16_t len = p->payload_len;
    pkt_payload_read(p, 0, len, b);
    b[at] ^= bits;
    uint32_t crc = wire_crc32c(0, b, len - 4u);
    for (unsigned i = 0; i < 4; i++, crc >>= 8)
        b[len - 4 + i] = (uint8_t)crc;
    pkt_release_payload(p);
    p->nchunks = 0;
    p->payload_len = 0;
    (void)pkt_add_bytes(p, b, len);
}
static void fpdu_last(struct pkt *p) { fpdu_byte(p, 2, 0x40); }
static void fpdu_reserved(struct pkt *p) { fpdu_byte(p, 2, 0x20); }
static void fpdu_opcode(struct pkt *p) { fpdu_byte(p, 3, 0x08); }
static void fpdu_stag(struct pkt *p) { fpdu_byte(p, 4, 0x01); }
static void fpdu_offset(struct pkt *p) { fpdu_byte(p, 15, 0x01); }
static void fpdu_msn(struct pkt *p) { fpdu_byte(p, 15, 0x04); }
static void fpdu_payload(struct pkt *p) { fpdu_byte(p, 30, 0x01); }
static void fpdu_term_code(struct pkt *p) { fpdu_byte(p, 21, 0x03); }
/* MPA Reply: the choice of Read in place of Write. */
static void start_byte(struct pkt *p, unsigned at, uint8_t bits)
{
    uint8_t b[2048];
    uint16_t len = p->payload_len;
    pkt_payload_read(p, 0, len, b);
    b[at] ^= bits;
    pkt_release_payload(p);
    p->nchunks = 0;
    p->payload_len = 0;
    (void)pkt_add_bytes(p, b, len);
}
static void other_rtr(struct pkt *p) { start_byte(p, 22, 0xc0); }
static void mad_transaction(struct pkt *p) { start_byte(p, 15, 1); }
static void mad_reserved(struct pkt *p) { start_byte(p, 6, 1); }
static void no_peer_to_peer(struct pkt *p) { start_byte(p, 20, 0x80); }

static const struct change { const char *capture; uint32_t frame; enum replay_sides side; void (*change)(struct pkt *p); const char *field; } changes[] = {
    { "rxe/roce_multi_mtu1024.pcap", 12, REPLAY_A, set_pkey, "BTH P_Key: expected 0x7fff, seen 0xffff" },
    { "rxe/roce_multi_mtu1024.pcap", 13, REPLAY_A, clear_ack_req, "BTH acknowledge request: expected 0, seen 1" },
    { "rxe/roce_multi_mtu1024.pcap", 19, REPLAY_A, set_fecn, "BTH FECN" },
    { "rxe/roce_multi_mtu1024.pcap", 19, REPLAY_A, set_reserved, "BTH reserved 7 bits" },
    { "rxe/roce_multi_mtu1024.pcap", 24, REPLAY_A, other_dscp, "DSCP: expected 7, seen 0" },
    { "rxe/roce_multi_mtu1024.pcap", 27, REPLAY_B, next_msn, "AETH MSN: expected 7, seen 6" },
    { "rxe/roce_multi_mtu1024.pcap", 47, REPLAY_B, other_byte, "payload from byte 512 on" },
    { "rxe/roce_multi_mtu1024.pcap", 48, REPLAY_B, set_ack_req, "BTH acknowledge request" },
    { "rxe/roce_basic.pcap", 23, REPLAY_B, other_qp, "answer: expected RC ACK, seen none" }, /* of no connection */
    { "rxe/roce_nak_badkey_write.pcap", 7, REPLAY_B, other_nak, "AETH syndrome: expected 0x61, seen 0x1f" },
    { "rxe/roce_loss_nak_seq.pcap", 17, REPLAY_A, other_byte, "payload from byte 512 on" }, /* sent again: not as before */
    { "rxe/roce_atomic_lat.pcap", 6, REPLAY_B, add_orig, "AtomicAckETH original value" },
    { "rxe/roce_basic.pcap", 3, REPLAY_A, other_byte, "payload from byte 128 on" }, /* RTU: no private data of the user's */
    { "rxe/roce_basic.pcap", 2, REPLAY_B, mad_transaction, "payload from byte 15 on" }, /* REP: not the REQ's transaction */
    { "rxe/roce_basic.pcap", 39, REPLAY_B, mad_transaction, "payload from byte 15 on" },
    { "rxe/roce_reject.pcap", 2, REPLAY_B, mad_reserved, "payload from byte 6 on" },
    { "siw/iw_crc_basic.pcap", 9, REPLAY_A, fpdu_msn, "DDP MSN: expected 6, seen 2" },
    { "siw/iw_crc_basic.pcap", 9, REPLAY_A, fpdu_reserved, "DDP reserved bits" },
    { "siw/iw_crc_basic.pcap", 31, REPLAY_B, fpdu_stag, "DDP STag" },
    { "siw/iw_crc_basic.pcap", 31, REPLAY_B, fpdu_offset, "DDP tagged offset" },
    { "siw/iw_crc_basic.pcap", 31, REPLAY_B, fpdu_last, "DDP last flag: expected 0, seen 1" },
    { "siw/iw_crc_basic.pcap", 34, REPLAY_B, fpdu_opcode, "RDMAP opcode: expected 10, seen 2" },
    { "siw/iw_crc_batch.pcap", 55, REPLAY_B, fpdu_payload, "payload from byte 14 on" }, /* read before, with nothing written since */
    { "siw/iw_crc_p2p_rtr.pcap", 6, REPLAY_B, other_rtr, "MPA RTR by Write flag" },
    { "siw/iw_crc_p2p_rtr.pcap", 6, REPLAY_B, no_peer_to_peer, "MPA peer-to-peer flag" },
    { "siw/iw_crc_term_badkey_write.pcap", 11, REPLAY_B, fpdu_term_code, "Terminate error code: expected 0x3, seen 0x0" },
    { "rxe/roce_write_mtu4096.pcap", 8, REPLAY_A, next_psn, "BTH PSN" },
};

/* The file with one frame changed, checksums made right again. */
static uint8_t *changed(const uint8_t *file, size_t len, const struct change *c, size_t *out_len)
{
    struct pcap_reader r;
    struct pcap_frame f;
    static uint8_t bytes[WIRE_FRAME_MAX];
    uint8_t *out = malloc(len + WIRE_FRAME_MAX);
    pcap_file_header(out, WIRE_FRAME_MAX);
    *out_len = PCAP_FILE_HEADER_BYTES;
    assert_int_equal(pcap_open(&r, file, len), PCAP_OK);
    while (pcap_next(&r, &f) == PCAP_OK) {
        const uint8_t *from = f.bytes;
        size_t n = f.captured;
        if (f.no == c->frame) {
            struct pkt p;
            struct wire_l3 l3;
            assert_int_equal(wire_decode(f.bytes, f.captured, &p, &l3), WIRE_OK);
            c->change(&p);
            n = wire_encode(&p, &l3, bytes, sizeof bytes);
            from = bytes;
            pkt_release_payload(&p);
        }
        pcap_record_header(out + *out_len, f.at_ps, (uint32_t)n, (uint32_t)n);
        memcpy(out + *out_len + PCAP_RECORD_HEADER_BYTES, from, n);
        *out_len += PCAP_RECORD_HEADER_BYTES + n;
    }
    return out;
}

static void a_changed_field_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct change *c = &changes[i];
        size_t len, clen;
        uint8_t *file = golden_read(c->capture, &len), *other = changed(file, len, c, &clen);
        struct told t = replay(c->capture, other, clen, c->side);
        char frame[32];
        snprintf(frame, sizeof frame, ": frame %u: ", c->frame);
        if (t.status != 1 || !strstr(t.err, frame) || !strstr(t.err, c->field))
            fail_msg("%s frame %u (%s): status %d, told:\n%s", c->capture, c->frame, c->field, t.status, t.err);
        forget(&t);
        free(other);
        free(file);
    }
}

/* --- bad files --- */

static void bad_files(void **state)
{
    (void)state;
    size_t len;
    uint8_t *file = golden_read("rxe/roce_basic.pcap", &len);
    struct told t = replay("cut.pcap", file, len - 5, REPLAY_BOTH);
    assert_int_equal(t.status, 2);
    assert_string_equal(t.out, "");
    assert_non_null(strstr(t.err, "cut.pcap: after frame 38: "));
    forget(&t);
    t = replay("none.pcap", file, 0, REPLAY_BOTH);
    assert_int_equal(t.status, 2);
    assert_string_equal(t.err, "none.pcap: empty, not a pcap file\n");
    forget(&t);
    uint8_t late[4] = { 0xff, 0xff, 0xff, 0x7f }; /* the second frame's seconds */
    size_t second = PCAP_FILE_HEADER_BYTES + PCAP_RECORD_HEADER_BYTES + file[PCAP_FILE_HEADER_BYTES + 8] + 256u * file[PCAP_FILE_HEADER_BYTES + 9];
    uint8_t was[4];
    memcpy(was, file + second, 4);
    memcpy(file + second, late, 4);
    t = replay("late.pcap", file, len, REPLAY_BOTH);
    assert_int_equal(t.status, 2);
    assert_string_equal(t.err, "late.pcap: frame 2: its time is more than 30 days after the capture's begin\n");
    forget(&t);
    memcpy(file + second, was, 4);
    t = replay("head.pcap", file, PCAP_FILE_HEADER_BYTES, REPLAY_BOTH);
    assert_int_equal(t.status, 1);
    assert_non_null(strstr(t.err, "nothing in it that could be replayed"));
    forget(&t);
    free(file);
    enum replay_sides side;
    assert_int_equal(replay_side_of("b", &side), 0);
    assert_int_equal(side, REPLAY_B);
    assert_int_not_equal(replay_side_of("C", &side), 0);
    assert_int_not_equal(replay_side_of("", &side), 0);
}

#define ROCE_CAPTURES(X) \
    X("rxe/roce_atomic_lat.pcap") X("rxe/roce_basic.pcap") X("rxe/roce_batch.pcap") X("rxe/roce_ce_ttl.pcap") X("rxe/roce_ipv6_write_lat.pcap") \
    X("rxe/roce_loss_acks.pcap") X("rxe/roce_loss_nak_seq.pcap") X("rxe/roce_multi_mtu1024.pcap") X("rxe/roce_nak_badkey_read.pcap") \
    X("rxe/roce_nak_badkey_write.pcap") X("rxe/roce_nak_oob_write.pcap") X("rxe/roce_nak_send_too_long.pcap") X("rxe/roce_read_mtu256.pcap") \
    X("rxe/roce_reject.pcap") X("rxe/roce_rnr.pcap") X("rxe/roce_sinv.pcap") X("rxe/roce_tos.pcap") X("rxe/roce_uc_write_lat.pcap") X("rxe/roce_ud_send_lat.pcap") \
    X("rxe/roce_write_mtu256.pcap") X("rxe/roce_write_mtu4096.pcap") X("rxe/roce_write_mtu512.pcap")

#define IWARP_CAPTURES(X) \
    X("siw/iw_crc_basic.pcap") X("siw/iw_crc_batch.pcap") X("siw/iw_crc_loss.pcap") X("siw/iw_crc_mpa_rev1.pcap") X("siw/iw_crc_multi.pcap") \
    X("siw/iw_crc_p2p_rtr.pcap") X("siw/iw_crc_reject.pcap") X("siw/iw_crc_sinv.pcap") X("siw/iw_crc_ssinv.pcap") \
    X("siw/iw_crc_term_badkey_read.pcap") X("siw/iw_crc_term_badkey_write.pcap") X("siw/iw_crc_term_oob_write.pcap") \
    X("siw/iw_crc_term_ro_write.pcap") X("siw/iw_crc_term_send_norecv.pcap") X("siw/iw_crc_term_send_too_long.pcap") \
    X("siw/iw_crc_tos.pcap") X("siw/iw_nocrc_basic.pcap")

/* The hand-written peer was side A. */
#define FOREIGN_CAPTURES(X) X("foreign/roce_foreign.pcap") \
    X("foreign/iw_foreign_badcrc.pcap") X("foreign/iw_foreign_badkey.pcap") X("foreign/iw_foreign_badmsn.pcap") \
    X("foreign/iw_foreign_badop.pcap") X("foreign/iw_foreign_badver.pcap") X("foreign/iw_foreign_marker.pcap") \
    X("foreign/iw_foreign_rev3.pcap") X("foreign/iw_foreign_v2.pcap")

int main(void)
{
#define A(n) { n " side A", kernel_side_a, NULL, NULL, (void *)(uintptr_t)n },
#define B(n) { n " side B", kernel_side_b, NULL, NULL, (void *)(uintptr_t)n },
    const struct CMUnitTest tests[] = {
        ROCE_CAPTURES(A) ROCE_CAPTURES(B) IWARP_CAPTURES(A) IWARP_CAPTURES(B) FOREIGN_CAPTURES(B)
        cmocka_unit_test(a_changed_field_is_noticed), cmocka_unit_test(bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
