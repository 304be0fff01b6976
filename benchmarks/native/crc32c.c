/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32C as a host without Georep would compute it over a payload. SSE 4.2's instruction takes
 * three cycles and can be started in each, so three stretches are read side by side and joined:
 *
 *     crc(A B) = zeros(crc(A), len B) ^ crc(B)
 *
 * zeros is linear, so for one length it is four look-ups. */
#include "crc32c.h"

#include <string.h>

enum { STRETCH = 336 }; /* bytes; three of them are just below 1 KiB */

static uint32_t bytes[256];    /* of one byte */
static uint32_t zeros[4][256]; /* STRETCH zero bytes behind a checksum */
static int hardware;

static uint32_t plain(uint32_t c, const uint8_t *p, size_t n) {
    for (; n; p++, n--) c = bytes[(c ^ *p) & 0xff] ^ c >> 8;
    return c;
}

void crc32c_init(void) {
    static const uint8_t none[STRETCH];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
        bytes[i] = c;
    }
    for (int k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 256; i++) zeros[k][i] = plain(i << 8 * k, none, STRETCH);
#if defined(__x86_64__)
    hardware = __builtin_cpu_supports("sse4.2");
#endif
}

#if defined(__x86_64__)
static uint32_t append_zeros(uint32_t c) {
    return zeros[0][c & 0xff] ^ zeros[1][c >> 8 & 0xff] ^ zeros[2][c >> 16 & 0xff] ^ zeros[3][c >> 24];
}

static uint64_t word(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

__attribute__((target("sse4.2"))) static uint32_t fast(uint32_t crc, const uint8_t *p, size_t n) {
    uint64_t a = crc;
    for (; n >= 3 * STRETCH; p += 3 * STRETCH, n -= 3 * STRETCH) {
        uint64_t b = 0, c = 0;
        for (size_t i = 0; i < STRETCH; i += 8) {
            a = __builtin_ia32_crc32di(a, word(p + i));
            b = __builtin_ia32_crc32di(b, word(p + STRETCH + i));
            c = __builtin_ia32_crc32di(c, word(p + 2 * STRETCH + i));
        }
        a = append_zeros(append_zeros((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
    }
    for (; n >= 8; p += 8, n -= 8) a = __builtin_ia32_crc32di(a, word(p));
    return plain((uint32_t)a, p, n);
}
#else
static uint32_t fast(uint32_t crc, const uint8_t *p, size_t n) { return plain(crc, p, n); }
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n) {
    crc = ~crc;
    return ~(hardware ? fast(crc, p, n) : plain(crc, p, n));
}

const char *crc32c_kind(void) { return hardware ? "SSE 4.2, three streams" : "a table"; }
