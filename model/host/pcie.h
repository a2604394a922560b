/* SPDX-License-Identifier: GPL-2.0-only */
/** PCIe between a NIC and host memory: two directions that do not disturb each other, each first come first served. What a transfer
 *  takes up is its bytes and, if max_payload_bytes is set, the headers of its transaction layer packets (TLPs). */
#ifndef RNICSIM_HOST_PCIE_H
#define RNICSIM_HOST_PCIE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** PCIE_READ: from host memory to the NIC (completions of the NIC's reads). PCIE_WRITE: from the NIC to host memory. */
enum pcie_direction { PCIE_READ, PCIE_WRITE };

/** A TLP's framing (4 bytes with the sequence number), header (16 for a write or a read request with 64-bit address, 12 for a completion) and
 *  LCRC (4): from memory of PCI Express Base Specification 3.0, 2.2, 3.6 and 4.2.2; Intel AN 829 has 5 to 7 dwords for the whole. */
#define PCIE_WRITE_HEADER_BYTES 24u
#define PCIE_COMPLETION_HEADER_BYTES 20u

struct pcie {
    int64_t  rate_bps;           /* each way; 0: a transfer takes no time */
    uint32_t max_payload_bytes;  /* of a TLP; 0: headers are not charged */
    int64_t  free_ps[2];         /* by direction: when what it has been given is over */
    uint64_t bytes[2];           /* moved so far, headers not counted */
};

/** Time that a transfer of so many bytes takes up of its direction, rounded up to a whole ps. */
int64_t pcie_time_ps(const struct pcie *p, enum pcie_direction d, uint64_t bytes);
/** A transfer that may begin at at_ps: it begins then, or when the direction is free. Returns its end. */
int64_t pcie_move(struct pcie *p, enum pcie_direction d, int64_t at_ps, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
