/* SPDX-License-Identifier: GPL-2.0-only */
#include "pcap.h"

#include <string.h>

/* libpcap's savefile format 2.4, pcap-savefile(5). */
enum { LINKTYPE_ETHERNET = 1, CAPTURED_MAX = 262144, NS_PER_S = 1000000000 };
#define MAGIC_MICRO UINT32_C(0xa1b2c3d4)
#define MAGIC_NANO UINT32_C(0xa1b23c4d)
#define MAGIC_PCAPNG UINT32_C(0x0a0d0d0a)
#define PS_PER_S INT64_C(1000000000000)
#define SIMULATED_CLOCK_MAX_S 9000000u /* 104 days: what fits int64 picoseconds */

static void put32le(uint8_t *b, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        b[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get32(const uint8_t *b, int swapped)
{
    return swapped ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
                   : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

void pcap_file_header(uint8_t out[PCAP_FILE_HEADER_BYTES], uint32_t snaplen)
{
    memset(out, 0, PCAP_FILE_HEADER_BYTES);
    put32le(out, MAGIC_NANO);
    out[4] = 2;
    out[6] = 4;
    put32le(out + 16, snaplen);
    put32le(out + 20, LINKTYPE_ETHERNET);
}

void pcap_record_header(uint8_t out[PCAP_RECORD_HEADER_BYTES], int64_t at_ps, uint32_t captured, uint32_t original)
{
    put32le(out, (uint32_t)(at_ps / PS_PER_S));
    put32le(out + 4, (uint32_t)(at_ps % PS_PER_S / 1000));
    put32le(out + 8, captured);
    put32le(out + 12, original);
}

const char *pcap_status_text(enum pcap_status s)
{
    switch (s) {
    case PCAP_OK:           return "ok";
    case PCAP_END:          return "end of file";
    case PCAP_NOT_PCAP:     return "not a pcap file";
    case PCAP_PCAPNG:       return "a pcapng file; convert it to pcap first (editcap -F pcap IN OUT)";
    case PCAP_NOT_ETHERNET: return "not a capture of Ethernet frames";
    case PCAP_TRUNCATED:    return "truncated";
    case PCAP_BAD_LENGTH:   return "a record with an impossible length";
    }
    return "unknown status";
}

enum pcap_status pcap_open(struct pcap_reader *r, const uint8_t *file, size_t len)
{
    memset(r, 0, sizeof *r);
    r->begin = r->at = file;
    r->end = file + len;
    if (len < 4)
        return PCAP_NOT_PCAP;
    uint32_t magic = get32(file, 0), other = get32(file, 1);
    if (magic == MAGIC_PCAPNG)
        return PCAP_PCAPNG;
    r->swapped = other == MAGIC_MICRO || other == MAGIC_NANO;
    r->nano = magic == MAGIC_NANO || other == MAGIC_NANO;
    if (!r->swapped && magic != MAGIC_MICRO && magic != MAGIC_NANO)
        return PCAP_NOT_PCAP;
    if (len < PCAP_FILE_HEADER_BYTES)
        return PCAP_TRUNCATED;
    if ((get32(file + 20, r->swapped) & 0xffff) != LINKTYPE_ETHERNET)
        return PCAP_NOT_ETHERNET;
    r->at = file + PCAP_FILE_HEADER_BYTES;
    return PCAP_OK;
}

/* Seconds and fraction as picoseconds from the reader's zero, held in what int64 has room for. */
static int64_t stamp_ps(const struct pcap_reader *r, uint32_t s, uint32_t ns)
{
    int64_t since_s = (int64_t)s - r->zero_s;
    if (since_s > SIMULATED_CLOCK_MAX_S || since_s < -(int64_t)SIMULATED_CLOCK_MAX_S)
        since_s = since_s < 0 ? -(int64_t)SIMULATED_CLOCK_MAX_S : (int64_t)SIMULATED_CLOCK_MAX_S;
    return since_s * PS_PER_S + ((int64_t)ns - r->zero_ns) * 1000;
}

enum pcap_status pcap_next(struct pcap_reader *r, struct pcap_frame *f)
{
    size_t left = (size_t)(r->end - r->at);
    memset(f, 0, sizeof *f);
    if (!left)
        return PCAP_END;
    if (left < PCAP_RECORD_HEADER_BYTES)
        return PCAP_TRUNCATED;
    uint32_t s = get32(r->at, r->swapped), fraction = get32(r->at + 4, r->swapped);
    f->captured = get32(r->at + 8, r->swapped);
    f->original = get32(r->at + 12, r->swapped);
    uint32_t ns = r->nano ? fraction : fraction < NS_PER_S / 1000 ? fraction * 1000 : NS_PER_S - 1;
    if (f->captured > CAPTURED_MAX || f->captured > f->original)
        return PCAP_BAD_LENGTH;
    if (left - PCAP_RECORD_HEADER_BYTES < f->captured)
        return PCAP_TRUNCATED;
    if (!r->frame_no && s > SIMULATED_CLOCK_MAX_S) {
        r->zero_s = s;
        r->zero_ns = ns;
    }
    f->at_ps = stamp_ps(r, s, ns);
    f->bytes = r->at + PCAP_RECORD_HEADER_BYTES;
    f->no = ++r->frame_no;
    r->at = f->bytes + f->captured;
    return PCAP_OK;
}
