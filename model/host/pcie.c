/* SPDX-License-Identifier: GPL-2.0-only */
#include "pcie.h"

#include "../sim/sim.h"

int64_t pcie_time_ps(const struct pcie *p, enum pcie_direction d, uint64_t bytes)
{
    if (p->rate_bps == 0 || bytes == 0)
        return 0;
    if (p->max_payload_bytes)
        bytes += (bytes + p->max_payload_bytes - 1) / p->max_payload_bytes * (d == PCIE_READ ? PCIE_COMPLETION_HEADER_BYTES : PCIE_WRITE_HEADER_BYTES);
    __uint128_t bits = (__uint128_t)bytes * 8u * (uint64_t)SIM_PS_PER_S;
    return (int64_t)((bits + (uint64_t)p->rate_bps - 1) / (uint64_t)p->rate_bps);
}

int64_t pcie_move(struct pcie *p, enum pcie_direction d, int64_t at_ps, uint64_t bytes)
{
    int64_t begin_ps = p->free_ps[d] > at_ps ? p->free_ps[d] : at_ps;
    p->bytes[d] += bytes;
    return p->free_ps[d] = begin_ps + pcie_time_ps(p, d, bytes);
}
