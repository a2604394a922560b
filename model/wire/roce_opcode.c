/* SPDX-License-Identifier: GPL-2.0-only */
#include "roce_opcode.h"

#define HEADER_BYTES(code, flags) \
    (ROCE_BTH_BYTES + ((flags) & ROCE_OP_RETH ? ROCE_RETH_BYTES : 0) + ((flags) & ROCE_OP_AETH ? ROCE_AETH_BYTES : 0) + \
     ((flags) & ROCE_OP_IMM ? ROCE_IMM_BYTES : 0) + ((flags) & ROCE_OP_IETH ? ROCE_IETH_BYTES : 0) + \
     ((flags) & ROCE_OP_DETH ? ROCE_DETH_BYTES : 0) + ((flags) & ROCE_OP_ATOMICETH ? ROCE_ATOMICETH_BYTES : 0) + \
     ((flags) & ROCE_OP_ATOMICACK ? ROCE_ATOMICACK_BYTES : 0) + ((flags) & ROCE_OP_IRN_SN ? ROCE_IRN_SN_BYTES : 0) + \
     ((flags) & ROCE_OP_IRN_OFFSET ? ROCE_IRN_OFFSET_BYTES : 0) + ((flags) & ROCE_OP_IRN_SACK ? ROCE_IRN_SACK_BYTES : 0) + ((code) == ROCE_CNP ? ROCE_CNP_RESERVED_BYTES : 0))

#define ROW(code, text, opflags) [code] = { .name = text, .flags = (opflags), .header_bytes = HEADER_BYTES(code, opflags) },
const struct wire_roce_op wire_roce_op[256] = { ROCE_OPCODES(ROW) };
