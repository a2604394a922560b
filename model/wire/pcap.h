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
void pcap_file_header(uint8_t out[PCAP_FILE_HEADER_BYTES], uint32_t snaplen);
void pcap_record_header(uint8_t out[PCAP_RECORD_HEADER_BYTES], int64_t at_ps, uint32_t captured, uint32_t original);

enum pcap_status { PCAP_OK, PCAP_END, PCAP_NOT_PCAP, PCAP_PCAPNG, PCAP_NOT_ETHERNET, PCAP_TRUNCATED, PCAP_BAD_LENGTH };
const char *pcap_status_text(enum pcap_status s);
struct pcap_reader { const uint8_t *at, *end; int swapped, nano; uint32_t frame_no; };
struct pcap_frame { const uint8_t *bytes; uint32_t captured, original; int64_t at_ps; uint32_t no; };
enum pcap_status pcap_open(struct pcap_reader *r, const uint8_t *file, size_t len);
enum pcap_status pcap_next(struct pcap_reader *r, struct pcap_frame *f);

#ifdef __cplusplus
}
#endif
#endif
