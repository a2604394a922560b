/* SPDX-License-Identifier: GPL-2.0-only */
#include "codec.h"

#include <string.h>

/* Slicing by eight: table k holds the CRC of a byte followed by k zero bytes. A CRC is linear, so each table follows from its
 * entries at the eight powers of two, which are all that is written here; a test holds them against bit by bit. */
#define CRC32_SLICES(T) \
    T(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320) \
    T(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b) \
    T(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80) \
    T(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b) \
    T(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092) \
    T(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8) \
    T(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2) \
    T(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da)

#define CRC32C_SLICES(T) \
    T(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78) \
    T(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9) \
    T(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743) \
    T(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f) \
    T(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c) \
    T(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6) \
    T(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4) \
    T(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664)

#define BIT(i, n, v) ((i) >> (n) & 1 ? UINT32_C(v) : 0)
#define T1(i, a, b, c, d, e, f, g, h) \
    (BIT(i, 0, a) ^ BIT(i, 1, b) ^ BIT(i, 2, c) ^ BIT(i, 3, d) ^ BIT(i, 4, e) ^ BIT(i, 5, f) ^ BIT(i, 6, g) ^ BIT(i, 7, h))
#define T4(i, ...) T1(i, __VA_ARGS__), T1(i + 1, __VA_ARGS__), T1(i + 2, __VA_ARGS__), T1(i + 3, __VA_ARGS__)
#define T16(i, ...) T4(i, __VA_ARGS__), T4(i + 4, __VA_ARGS__), T4(i + 8, __VA_ARGS__), T4(i + 12, __VA_ARGS__)
#define T64(i, ...) T16(i, __VA_ARGS__), T16(i + 16, __VA_ARGS__), T16(i + 32, __VA_ARGS__), T16(i + 48, __VA_ARGS__)
#define T256(...) { T64(0, __VA_ARGS__), T64(64, __VA_ARGS__), T64(128, __VA_ARGS__), T64(192, __VA_ARGS__) },

static const uint32_t crc32_slice[8][256] = { CRC32_SLICES(T256) };
static const uint32_t crc32c_slice[8][256] = { CRC32C_SLICES(T256) };

static uint32_t get32le(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint32_t sliced(const uint32_t t[8][256], uint32_t crc, const uint8_t *b, size_t len)
{
    crc = ~crc;
    for (; len >= 8; len -= 8, b += 8) {
        uint32_t lo = get32le(b) ^ crc, hi = get32le(b + 4);
        crc = t[7][lo & 255] ^ t[6][lo >> 8 & 255] ^ t[5][lo >> 16 & 255] ^ t[4][lo >> 24] ^ t[3][hi & 255] ^ t[2][hi >> 8 & 255] ^
              t[1][hi >> 16 & 255] ^ t[0][hi >> 24];
    }
    for (; len; len--)
        crc = crc >> 8 ^ t[0][(crc ^ *b++) & 255];
    return ~crc;
}

uint32_t wire_crc32(uint32_t crc, const void *bytes, size_t len)
{
    return sliced(crc32_slice, crc, bytes, len);
}

uint32_t wire_crc32c_portable(uint32_t crc, const void *bytes, size_t len)
{
    return sliced(crc32c_slice, crc, bytes, len);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *b, size_t len)
{
    uint64_t c = ~crc, word;
    for (; len >= 8; len -= 8, b += 8) {
        memcpy(&word, b, 8);
        c = __builtin_ia32_crc32di(c, word);
    }
    uint32_t c4 = (uint32_t)c;
    for (; len; len--)
        c4 = __builtin_ia32_crc32qi(c4, *b++);
    return ~c4;
}
#endif

uint32_t wire_crc32c(uint32_t crc, const void *bytes, size_t len)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, bytes, len);
#endif
    return wire_crc32c_portable(crc, bytes, len);
}

/* `skip` bytes after the UDP header are not covered. */
static uint32_t icrc(const uint8_t *ip, size_t len, size_t skip)
{
    /* Routers and rewriters change these fields; the ICRC sees ones in their place. */
    uint8_t head[8 + 60 + 8 + 12];
    bool v6 = ip[0] >> 4 == 6;
    size_t ip_len = v6 ? 40 : (size_t)(ip[0] & 15) * 4, n = ip_len + 8 + 12;
    assert(len >= n + skip);
    memset(head, 0xff, 8);
    memcpy(head + 8, ip, n - 12);
    memcpy(head + 8 + n - 12, ip + n - 12 + skip, 12);
    uint8_t *h = head + 8;
    if (v6) {
        h[0] |= 0x0f;
        memset(h + 1, 0xff, 3);
        h[7] = 0xff;
    } else {
        h[1] = h[8] = h[10] = h[11] = 0xff;
    }
    h[ip_len + 6] = h[ip_len + 7] = 0xff; /* UDP checksum */
    h[ip_len + 8 + 4] = 0xff;             /* FECN, BECN and reserved bits */
    return wire_crc32(wire_crc32(0, head, 8 + n), ip + n + skip, len - n - skip);
}

uint32_t wire_icrc(const uint8_t *ip, size_t len) { return icrc(ip, len, 0); }
uint32_t wire_icrc_telemetry(const uint8_t *ip, size_t len) { return icrc(ip, len, PKT_INT_BYTES); }
