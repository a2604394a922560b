/* SPDX-License-Identifier: GPL-2.0-only */
/** Big-endian fields, put and got a byte at a time. */
#ifndef RNICSIM_WIRE_BYTES_H
#define RNICSIM_WIRE_BYTES_H

#include <stdint.h>

static inline void wire_put16(uint8_t *b, uint32_t v) { b[0] = (uint8_t)(v >> 8); b[1] = (uint8_t)v; }
static inline void wire_put24(uint8_t *b, uint32_t v) { b[0] = (uint8_t)(v >> 16); wire_put16(b + 1, v & 0xffff); }
static inline void wire_put32(uint8_t *b, uint32_t v) { wire_put16(b, v >> 16); wire_put16(b + 2, v & 0xffff); }
static inline void wire_put64(uint8_t *b, uint64_t v) { wire_put32(b, (uint32_t)(v >> 32)); wire_put32(b + 4, (uint32_t)v); }
static inline void wire_put32le(uint8_t *b, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        b[i] = (uint8_t)(v >> 8 * i);
}
static inline uint16_t wire_get16(const uint8_t *b) { return (uint16_t)(b[0] << 8 | b[1]); }
static inline uint32_t wire_get24(const uint8_t *b) { return (uint32_t)b[0] << 16 | wire_get16(b + 1); }
static inline uint32_t wire_get32(const uint8_t *b) { return (uint32_t)wire_get16(b) << 16 | wire_get16(b + 2); }
static inline uint64_t wire_get64(const uint8_t *b) { return (uint64_t)wire_get32(b) << 32 | wire_get32(b + 4); }
static inline uint32_t wire_get32le(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

#endif
