/* SPDX-License-Identifier: GPL-2.0-only */
/** The captures of test/golden, read whole. */
#ifndef RNICSIM_TEST_GOLDEN_H
#define RNICSIM_TEST_GOLDEN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Path of a file below test/golden; the tests may be started anywhere with RNICSIM_TOP set, else from the top. */
static inline const char *golden_path(const char *name, char buf[512])
{
    const char *top = getenv("RNICSIM_TOP");
    snprintf(buf, 512, "%s/test/golden/%s", top ? top : ".", name);
    return buf;
}

/* The file's bytes, to be freed; exits with a message if there is none. */
static inline uint8_t *golden_read(const char *name, size_t *len)
{
    char path[512];
    FILE *f = fopen(golden_path(name, path), "rb");
    if (!f) {
        fprintf(stderr, "cannot read %s (start the tests from the top of the tree, or set RNICSIM_TOP)\n", path);
        exit(2);
    }
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *b = malloc(*len + 1);
    if (!b || fread(b, 1, *len, f) != *len)
        exit(2);
    b[*len] = 0;
    fclose(f);
    return b;
}

/* What is right from end to end, and what a hand-written peer sent to a kernel. */
#define GOLDEN_GOOD(X) \
    X("rxe/roce_atomic_lat.pcap") X("rxe/roce_basic.pcap") X("rxe/roce_batch.pcap") X("rxe/roce_ce_ttl.pcap") \
    X("rxe/roce_ipv6_write_lat.pcap") X("rxe/roce_loss_acks.pcap") X("rxe/roce_loss_nak_seq.pcap") X("rxe/roce_multi_mtu1024.pcap") \
    X("rxe/roce_nak_badkey_read.pcap") X("rxe/roce_nak_badkey_write.pcap") X("rxe/roce_nak_oob_write.pcap") \
    X("rxe/roce_nak_send_too_long.pcap") X("rxe/roce_read_mtu256.pcap") X("rxe/roce_reject.pcap") X("rxe/roce_rnr.pcap") \
    X("rxe/roce_sinv.pcap") X("rxe/roce_tos.pcap") X("rxe/roce_uc_write_lat.pcap") X("rxe/roce_ud_send_lat.pcap") \
    X("rxe/roce_write_mtu256.pcap") X("rxe/roce_write_mtu4096.pcap") X("rxe/roce_write_mtu512.pcap") \
    X("siw/iw_crc_basic.pcap") X("siw/iw_crc_batch.pcap") X("siw/iw_crc_loss.pcap") X("siw/iw_crc_mpa_rev1.pcap") \
    X("siw/iw_crc_multi.pcap") X("siw/iw_crc_p2p_rtr.pcap") X("siw/iw_crc_reject.pcap") X("siw/iw_crc_sinv.pcap") \
    X("siw/iw_crc_ssinv.pcap") X("siw/iw_crc_term_badkey_read.pcap") X("siw/iw_crc_term_badkey_write.pcap") \
    X("siw/iw_crc_term_oob_write.pcap") X("siw/iw_crc_term_ro_write.pcap") X("siw/iw_crc_term_send_norecv.pcap") \
    X("siw/iw_crc_term_send_too_long.pcap") X("siw/iw_crc_tos.pcap") X("siw/iw_nocrc_basic.pcap") \
    X("synthetic/iw_markers.pcap") X("synthetic/iw_terminate_rfc.pcap") X("synthetic/scapy_vectors.pcap")

#define GOLDEN_FOREIGN(X) \
    X("foreign/iw_foreign_badcrc.pcap") X("foreign/iw_foreign_badkey.pcap") X("foreign/iw_foreign_badmsn.pcap") \
    X("foreign/iw_foreign_badop.pcap") X("foreign/iw_foreign_badver.pcap") X("foreign/iw_foreign_marker.pcap") \
    X("foreign/iw_foreign_rev3.pcap") X("foreign/iw_foreign_v2.pcap") X("foreign/roce_foreign.pcap")

/* Pause frames; frame 5 sets reserved bits of the class vector, frame 6 is sent to one station. */
#define GOLDEN_PFC(X) X("synthetic/pfc.pcap") X("synthetic/pfc_fcs.pcap")

#endif
