/* SPDX-License-Identifier: GPL-2.0-only */
/** `rnicsim dissect`: captures as text, one line a frame, through our own decoders, with every checksum verified. */
#ifndef RNICSIM_HELPER_DISSECT_H
#define RNICSIM_HELPER_DISSECT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Print every frame of n pcap files to out and what is wrong with them, by file and frame number, to err. Verified: lengths,
 *  IP, UDP and TCP checksums, ICRC, RoCE opcodes and pads, PFC's form, an FCS if one was captured; in each TCP stream, reassembled,
 *  that bytes sent again are the same, and if it is MPA its start-up, markers, lengths, CRC32c (when negotiated) and the order of
 *  DDP segments. What is not ours (ARP, other protocols, TCP streams that are not MPA) is named and is not wrong.
 *  Returns 0 if all is right, 1 if something is wrong, 2 if a file cannot be read or is no whole pcap file (the rest is still
 *  dissected) or out cannot be written. */
int dissect_files(int n, char *const *paths, FILE *out, FILE *err);

/** The same of one file in memory. */
int dissect_bytes(const char *name, const uint8_t *file, size_t len, FILE *out, FILE *err);

/** A whole file's bytes, to be freed; NULL with the reason in errno. */
uint8_t *dissect_read_file(const char *path, size_t *len);

#ifdef __cplusplus
}
#endif
#endif
