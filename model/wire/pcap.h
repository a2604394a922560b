/* SPDX-License-Identifier: GPL-2.0-only */
/** pcap files (libpcap 2.4, Ethernet; nanosecond magic when written, both endians and both resolutions when read), as
 *  memory operations: the caller does the I/O. */
#ifndef RNICSIM_WIRE_PCAP_H
#define RNICSIM_WIRE_PCAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PCAP_FILE_HEADER_BYTES 24
#define PCAP_RECORD_HEADER_BYTES 16
/** The header of a file whose records are cut at snaplen bytes. */
void pcap_file_header(uint8_t out[PCAP_FILE_HEADER_BYTES], uint32_t snaplen);
/** The header of a record at a simulated time (>= 0, kept to the ns) with captured of original bytes following. */
void pcap_record_header(uint8_t out[PCAP_RECORD_HEADER_BYTES], int64_t at_ps, uint32_t captured, uint32_t original);

enum pcap_status { PCAP_OK, PCAP_END, PCAP_NOT_PCAP, PCAP_PCAPNG, PCAP_NOT_ETHERNET, PCAP_TRUNCATED, PCAP_BAD_LENGTH };
const char *pcap_status_text(enum pcap_status s);
/** at - begin is where reading stands: after a fault, the byte at which the record that cannot be read begins. */
struct pcap_reader {
    const uint8_t *begin, *at, *end;
    int      swapped, nano;
    uint32_t frame_no;
    uint32_t zero_s, zero_ns; /* what at_ps counts from */
};
/** at_ps counts from the capture's own zero if its first stamp lies within 104 days of it (a simulated clock), else from the
 *  first frame, since int64 picoseconds reach no further. no counts from 1. */
struct pcap_frame { const uint8_t *bytes; uint32_t captured, original; int64_t at_ps; uint32_t no; };
/** Read the file header. file must stay as long as the reader is used. PCAP_OK, NOT_PCAP, PCAPNG, NOT_ETHERNET or TRUNCATED. */
enum pcap_status pcap_open(struct pcap_reader *r, const uint8_t *file, size_t len);
/** The next frame; PCAP_END after the last, PCAP_TRUNCATED or PCAP_BAD_LENGTH where a record is not whole or cannot be. */
enum pcap_status pcap_next(struct pcap_reader *r, struct pcap_frame *f);

#ifdef __cplusplus
}
#endif
#endif
