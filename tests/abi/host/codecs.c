/* SPDX-License-Identifier: Apache-2.0
 *
 * The codecs, from many threads at once: a batch in each of them is cut, and what was written is
 * opened again. The host compresses nothing: it writes the forms that hold the bytes as they are. */
#include <pthread.h>

#include "world.h"

enum { MESSAGES = 400, THREADS = 4, ROUNDS = 12, PARTS = 4 };

static georep_layout us_layout;
static buf entries[5]; /* by number of the codec */

static void lz4_of(buf *b, const buf *in) {
    buf_bytes(b, "\xf0", 1); /* literals: 15 and what follows */
    size_t left = in->n - 15;
    for (; left >= 255; left -= 255) buf_bytes(b, "\xff", 1);
    uint8_t last = (uint8_t)left;
    buf_bytes(b, &last, 1);
    buf_bytes(b, in->p, in->n);
}

/* Stored blocks and the flush that Java's client ends with. */
static void zlib_of(buf *b, const buf *in) {
    buf_bytes(b, "\x78\x9c", 2);
    for (size_t done = 0; done < in->n;) {
        size_t n = in->n - done < 60000 ? in->n - done : 60000;
        uint8_t head[5] = {0, n & 255, n >> 8, ~n & 255, (~n >> 8) & 255};
        buf_bytes(b, head, 5);
        buf_bytes(b, in->p + done, n);
        done += n;
    }
    buf_bytes(b, "\0\0\0\xff\xff", 5);
}

static void zstd_of(buf *b, const buf *in) {
    uint32_t n = (uint32_t)in->n, block = n << 3 | 1;
    CHECK(n <= 128 << 10); /* one block */
    uint8_t head[] = {0x28,
                      0xb5,
                      0x2f,
                      0xfd,
                      0xa0,
                      n & 255,
                      n >> 8 & 255,
                      n >> 16 & 255,
                      n >> 24,
                      block & 255,
                      block >> 8 & 255,
                      block >> 16 & 255};
    buf_bytes(b, head, sizeof head);
    buf_bytes(b, in->p, in->n);
}

static void snappy_of(buf *b, const buf *in) {
    uint32_t n = (uint32_t)in->n, k = n - 1;
    uint8_t head[] = {(n & 127) | 128, (n >> 7 & 127) | 128, n >> 14 & 127, 62 << 2, k & 255, k >> 8 & 255, k >> 16};
    buf_bytes(b, head, sizeof head);
    buf_bytes(b, in->p, in->n);
}

static void body_of(char *out, size_t cap, int i) {
    snprintf(out, cap, "{\"id\":%d,\"name\":\"name %d\",\"total\":%d,\"state\":\"%s\",\"note\":\"%08x\"}", i, i % 17,
             i * 7919 % 10007, i % 3 ? "shipped" : "paid", (unsigned)i * 2654435761u);
}

/* A batch entry around a payload of the codec. */
static void entry_around(buf *out, int codec, const buf *payload, uint64_t plain, uint64_t messages) {
    buf meta = {0};
    wire_metadata(&meta, 100);
    pb_varint(&meta, 8, codec);
    pb_varint(&meta, 9, plain);
    pb_varint(&meta, 11, messages);
    wire_entry(out, &meta, payload);
    buf_free(&meta);
}

static void write_entries(void) {
    static void (*const pack[5])(buf *, const buf *) = {NULL, lz4_of, zlib_of, zstd_of, snappy_of};
    buf plain = {0};
    for (int i = 0; i < MESSAGES; i++) {
        char key[16], body[200];
        snprintf(key, sizeof key, "k%d", i);
        body_of(body, sizeof body, i);
        wire_message(&plain, key, body);
    }
    for (int c = 1; c < 5; c++) {
        buf packed = {0};
        pack[c](&packed, &plain);
        entry_around(&entries[c], c, &packed, plain.n, MESSAGES);
        buf_free(&packed);
    }
    buf_free(&plain);
}

static void tick_off(void *arg, const char *key, const char *body) {
    char want[200];
    int i = atoi(key + 1);
    body_of(want, sizeof want, i);
    CHECK(!strcmp(body, want));
    ((uint8_t *)arg)[i]++;
}

/* Opens a part again and ticks its messages off; returns how many bytes it had been packed into. */
static uint32_t open_part(const georep_part *p, int codec, uint8_t *seen) {
    georep_error err = {.struct_size = sizeof err};
    georep_source src = source_of(0, 65535);
    frame f = wire_frame(at(p->addr), p->header_len, (uint8_t *)at(p->addr) + p->header_len, p->payload_len);
    EQ(pb_find_varint(f.meta, f.meta_len, 8), codec);
    buf b = {0}, payload = {.p = (uint8_t *)f.payload, .n = f.payload_len};
    entry_around(&b, codec, &payload, p->uncompressed_bytes, p->messages); /* not as a copy: those are not cut */
    georep_entry in = entry_of(&b, 7, 1);
    georep_rebatch_options plain = {.struct_size = sizeof plain};
    static _Thread_local uint8_t arena[256 << 10];
    georep_part again[PARTS];
    uint64_t needed;
    uint32_t n;
    OK(georep_rebatch(us_layout, &src, &plain, &in, arena, sizeof arena, again, PARTS, &n, &needed, &err));
    EQ(n, 1);
    EQ(again[0].messages, p->messages);
    f = wire_frame(at(again[0].addr), again[0].header_len, (uint8_t *)at(again[0].addr) + again[0].header_len,
                   again[0].payload_len);
    wire_each(&f, tick_off, seen);
    buf_free(&b);
    return p->payload_len;
}

static void *cut_all(void *arg) {
    georep_error err = {.struct_size = sizeof err};
    georep_source src = source_of(0, 65535);
    georep_rebatch_options keep = {.struct_size = sizeof keep, .keep_codec = 1};
    static _Thread_local uint8_t arena[256 << 10];
    (void)arg;
    for (int round = 0; round < 4 * ROUNDS; round++) {
        int codec = 1 + round % 4;
        georep_entry in = entry_of(&entries[codec], 7, round);
        georep_part parts[PARTS];
        uint8_t seen[MESSAGES] = {0};
        uint64_t needed;
        uint32_t n, packed = 0, unpacked = 0;
        OK(georep_rebatch(us_layout, &src, &keep, &in, arena, sizeof arena, parts, PARTS, &n, &needed, &err));
        EQ(n, PARTS);
        for (uint32_t i = 0; i < n; i++) {
            packed += open_part(&parts[i], codec, seen);
            unpacked += parts[i].uncompressed_bytes;
        }
        for (int i = 0; i < MESSAGES; i++) EQ(seen[i], 1);
        CHECK(packed < unpacked * 3 / 4); /* really compressed */
    }
    return NULL;
}

void check_codecs(void) {
    pthread_t t[THREADS];
    us_layout = layout_of(US_JSON);
    write_entries();
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&t[i], NULL, cut_all, NULL));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(t[i], NULL));
    for (int c = 1; c < 5; c++) buf_free(&entries[c]);
    OK(georep_layout_free(us_layout));
}
