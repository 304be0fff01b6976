/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: what input claims is never what gets allocated. Each hostile input is given many times,
 * and the process's resident size has to stay below what the caps allow. */
#include <unistd.h>

#include "world.h"

#if defined(__SANITIZE_ADDRESS__) /* memory that was freed stays: sizes say nothing */
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static size_t resident(void) {
    unsigned long size, pages;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%lu %lu", &size, &pages) == 2);
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* An LZ4 block that decodes to n zero bytes, 255 times smaller; n is made a size that fits. */
static void lz4_zeros(buf *b, size_t *n) {
    size_t runs = *n / 255;
    buf_bytes(b, "\x1f\0\1\0", 4); /* one literal, then a match at distance 1 of 15 + 4 bytes and more */
    for (size_t i = 0; i < runs; i++) buf_bytes(b, "\xff", 1);
    buf_bytes(b, "\0", 1);
    buf_bytes(b, "\x50\0\0\0\0\0", 6); /* the block ends in five literals */
    *n = 1 + 19 + runs * 255 + 5;
}

/* A batch that says what it wants about itself. */
static void liar(buf *out, const buf *payload, uint64_t uncompressed, uint64_t messages) {
    buf meta = {0};
    wire_metadata(&meta, 1);
    pb_varint(&meta, 8, 1); /* LZ4 */
    pb_varint(&meta, 9, uncompressed);
    pb_varint(&meta, 11, messages);
    wire_entry(out, &meta, payload);
    buf_free(&meta);
}

static georep_status cut(georep_layout us, const buf *b) {
    georep_source src = source_of(0, 65535);
    georep_entry in = entry_of(b, 1, 1);
    georep_part part[8];
    uint8_t arena[64];
    uint64_t needed;
    uint32_t n;
    return georep_rebatch(us, &src, NULL, &in, arena, sizeof arena, part, 8, &n, &needed, &err);
}

static void refused(georep_layout us, const buf *b) {
    georep_status s = cut(us, b);
    if (s != GEOREP_E_FORMAT && s != GEOREP_E_LIMIT) FAIL("status %d (%s)", s, err.text);
}

void check_memory(void) {
    enum { MIB = 1 << 20 };
    georep_layout us = layout_of(US_JSON), l;
    buf small = {0}, bomb = {0}, huge = {0}, count = {0}, short_ = {0}, within = {0}, nested = {0};
    size_t tiny = 1000, size = 100 * MIB;
    lz4_zeros(&small, &tiny);
    lz4_zeros(&bomb, &size);
    liar(&huge, &small, 0x7fffffff, 1);     /* claims 2 GiB */
    liar(&count, &small, tiny, 0x7fffffff); /* claims 2^31 messages */
    liar(&short_, &bomb, tiny, 1);          /* decodes to more than it claims */
    liar(&within, &bomb, size, 1);          /* 100 MiB, below the cap: decoded, then refused as no batch */
    for (int i = 0; i < 8 * MIB; i++) buf_bytes(&nested, "\x12\0", 2); /* 8 Mi segments in 16 MiB */

    /* A soft limit for the heap, as a broker's plugin sets one. */
    georep_options o = {.struct_size = sizeof o, .memory_limit = 256 * MIB};
    OK(georep_init(&o, &err));
    size_t before = resident();
    uint64_t n;
    for (int i = 0; i < 50; i++) {
        refused(us, &huge);
        refused(us, &count);
        refused(us, &short_);
        STATUS(georep_layout_from_proto(nested.p, nested.n, &l, &err), GEOREP_E_LIMIT);
        STATUS(georep_proto_to_json("Layout", 6, nested.p, nested.n, NULL, 0, &n, &err), GEOREP_E_LIMIT);
    }
    size_t claims = resident();
    for (int i = 0; i < 8; i++) refused(us, &within);
    size_t decoded = resident();
    /* Claims cost nothing; what is decoded stays within the soft limit and one batch more. */
    if (!SANITIZED && claims > before + 64 * MIB) FAIL("claims took %zu MiB", (claims - before) / MIB);
    if (!SANITIZED && decoded > before + (256 + 128) * MIB) FAIL("decoding took %zu MiB", (decoded - before) / MIB);
    printf("  resident: %zu MiB at first, %zu after claims, %zu after 8 x 100 MiB decoded\n", before / MIB,
           claims / MIB, decoded / MIB);
    buf_free(&small), buf_free(&bomb), buf_free(&huge), buf_free(&count), buf_free(&short_), buf_free(&within);
    buf_free(&nested);
    OK(georep_layout_free(us));
}
