/* SPDX-License-Identifier: Apache-2.0
 *
 * A host without a JVM: georep_place and georep_rebatch, each against what has to be done at
 * least without the library. benchmarks/cmd/core writes the entries and reads what is printed:
 *
 *     bench DIR ROUNDS SPAN_MILLIS
 *     round NAME OURS PEER      CPU nanoseconds of one entry, of one round; who is first changes
 *     bytes NAME OURS PEER      what an entry became
 *     peer NAME TEXT            what it is held against
 *     skipped NAME TEXT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crc32c.h"
#include "georep.h"

enum { BATCH = 64, PARTS = 4, LIMIT = 1 << 24 };

static georep_error err = {.struct_size = sizeof err};

static void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (%s)\n", err.text);
    exit(1);
}

static void *memory(size_t n) {
    void *p = malloc(n);
    if (!p) die("no memory");
    return p;
}

static uint8_t *file(const char *dir, const char *name, uint32_t *n) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) die("%s", path);
    uint8_t *p = memory(LIMIT);
    *n = (uint32_t)fread(p, 1, LIMIT, f);
    fclose(f);
    return p;
}

static uint32_t big_endian(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

/* ------------------------------------------------------------------ rounds */

typedef struct measured {
    const char *name;
    void (*run)(void *arg); /* one call */
    void *arg;
    int entries; /* of one call */
    long calls;  /* of one round */
} measured;

static double nanos(measured *m) {
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (long i = 0; i < m->calls; i++) m->run(m->arg);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
}

static void warm(measured *m, double span) {
    for (m->calls = 1; nanos(m) < span; m->calls *= 2) {}
}

static void compare(measured *ours, measured *peer, int rounds, double span) {
    warm(ours, span), warm(peer, span);
    for (int i = 0; i < rounds; i++) {
        double a = 0, b = 0;
        if (i % 2) b = nanos(peer);
        a = nanos(ours);
        if (i % 2 == 0) b = nanos(peer);
        printf("round %s %.3f %.3f\n", ours->name, a / (double)(ours->calls * ours->entries),
               b / (double)(peer->calls * peer->entries));
    }
}

/* ------------------------------------------------------------------ place */

typedef struct placing {
    georep_layout layout;
    georep_source source;
    georep_entry in[BATCH];
    georep_decision out[BATCH];
    uint8_t arena[64 << 10];
} placing;

static void place(void *arg) {
    placing *p = arg;
    uint64_t used, needed;
    if (georep_place(p->layout, &p->source, p->in, BATCH, p->out, p->arena, sizeof p->arena, &used, &needed, &err))
        die("georep_place");
}

static volatile uint32_t sink;

/* Reading every payload is what a new header costs whoever does not combine checksums. */
static void read_payloads(void *arg) {
    placing *p = arg;
    uint32_t all = 0;
    for (int i = 0; i < BATCH; i++)
        all ^= crc32c(0, (const uint8_t *)(uintptr_t)p->in[i].addr + p->out[i].payload_offset, p->out[i].payload_len);
    sink = all;
}

/* Each entry goes whole, and header and payload have the checksum that the header says. */
static void check_placed(const placing *p) {
    for (int i = 0; i < BATCH; i++) {
        const georep_decision *d = &p->out[i];
        const uint8_t *h = (const uint8_t *)(uintptr_t)d->header_addr;
        if (d->action != GEOREP_ACTION_VERBATIM || !h || h[0] != 0x0e || h[1] != 0x01) die("action %u", d->action);
        uint32_t crc = crc32c(0, h + 6, d->header_len - 6);
        crc = crc32c(crc, (const uint8_t *)(uintptr_t)p->in[i].addr + d->payload_offset, d->payload_len);
        if (crc != big_endian(h + 2)) die("checksum of entry %d", i);
    }
}

static void bench_place(const char *name, const char *dir, placing *p, int rounds, double span) {
    uint32_t n;
    uint8_t *raw = file(dir, name, &n);
    for (int i = 0; i < BATCH; i++) { /* each in memory of its own, as they come from a cache */
        uint8_t *copy = memory(n);
        memcpy(copy, raw, n);
        p->in[i] = (georep_entry){.addr = (uintptr_t)copy, .len = n, .ledger = 5, .entry = i};
    }
    place(p);
    check_placed(p);
    printf("peer %s CRC32C of the payload in C, %s\n", name, crc32c_kind());
    measured ours = {.name = name, .run = place, .arg = p, .entries = BATCH};
    measured peer = {.name = name, .run = read_payloads, .arg = p, .entries = BATCH};
    compare(&ours, &peer, rounds, span);
    check_placed(p);
    for (int i = 0; i < BATCH; i++) free((void *)(uintptr_t)p->in[i].addr);
    free(raw);
}

/* ------------------------------------------------------------------ re-batch */

/* liblz4's own interface, of which no header need be there. */
static int (*lz4_decompress)(const char *src, char *dst, int n, int cap);
static int (*lz4_compress)(const char *src, char *dst, int n, int cap);

static int load_lz4(void) {
    void *lib = dlopen("liblz4.so.1", RTLD_NOW);
    if (!lib) return 0;
    *(void **)&lz4_decompress = dlsym(lib, "LZ4_decompress_safe");
    *(void **)&lz4_compress = dlsym(lib, "LZ4_compress_default");
    return lz4_decompress && lz4_compress;
}

typedef struct cutting {
    georep_layout layout;
    georep_source source;
    georep_entry in;
    georep_part parts[PARTS];
    uint32_t n_parts;
    uint8_t *arena;
    const uint8_t *payload; /* of the entry */
    uint32_t payload_len;
    uint8_t *plain[PARTS]; /* of each part, decompressed */
    uint8_t *opened, *packed;
    uint64_t packed_len;
} cutting;

static void rebatch(void *arg) {
    cutting *c = arg;
    uint64_t needed;
    georep_rebatch_options opt = {.struct_size = sizeof opt, .keep_codec = 1};
    if (georep_rebatch(c->layout, &c->source, &opt, &c->in, c->arena, LIMIT, c->parts, PARTS, &c->n_parts, &needed,
                       &err))
        die("georep_rebatch");
    if (c->n_parts != PARTS) die("%u parts", c->n_parts);
}

static void codec_alone(void *arg) {
    cutting *c = arg;
    if (lz4_decompress((const char *)c->payload, (char *)c->opened, (int)c->payload_len, LIMIT) <= 0) die("lz4");
    c->packed_len = 0;
    for (int i = 0; i < PARTS; i++) {
        int n = lz4_compress((const char *)c->plain[i], (char *)c->packed, (int)c->parts[i].uncompressed_bytes, LIMIT);
        if (n <= 0) die("lz4");
        c->packed_len += (uint64_t)n;
    }
}

/* Without a codec: the entry's checksum, a copy of what each part holds, a checksum of each. */
static void copy_alone(void *arg) {
    cutting *c = arg;
    uint32_t all = crc32c(0, c->payload, c->payload_len);
    uint8_t *to = c->packed;
    for (int i = 0; i < PARTS; i++) {
        memcpy(to, c->plain[i], c->parts[i].uncompressed_bytes);
        all ^= crc32c(0, to, c->parts[i].uncompressed_bytes);
        to += c->parts[i].uncompressed_bytes;
    }
    c->packed_len = (uint64_t)(to - c->packed);
    sink = all;
}

/* Opens the parts, and checks that together they are as many bytes and messages as the entry. */
static void open_parts(cutting *c, int lz4) {
    uint32_t messages = 0, bytes = 0;
    for (int i = 0; i < PARTS; i++) {
        const georep_part *p = &c->parts[i];
        const uint8_t *at = (const uint8_t *)(uintptr_t)p->addr, *payload = at + p->header_len;
        if (crc32c(0, at + 6, p->header_len - 6 + p->payload_len) != big_endian(at + 2)) die("checksum of part %d", i);
        c->plain[i] = memory(p->uncompressed_bytes);
        if (!lz4)
            memcpy(c->plain[i], payload, p->payload_len);
        else if (lz4_decompress((const char *)payload, (char *)c->plain[i], (int)p->payload_len,
                                (int)p->uncompressed_bytes) != (int)p->uncompressed_bytes)
            die("part %d", i);
        messages += p->messages;
        bytes += p->uncompressed_bytes;
    }
    int all = lz4 ? lz4_decompress((const char *)c->payload, (char *)c->opened, (int)c->payload_len, LIMIT)
                  : (int)c->payload_len;
    if (messages != 1000 || (int)bytes != all) die("%u messages, %u bytes of %d", messages, bytes, all);
}

static void bench_rebatch(const char *name, const char *dir, cutting *c, int lz4, int rounds, double span) {
    uint32_t n;
    uint8_t *raw = file(dir, name, &n);
    c->in = (georep_entry){.addr = (uintptr_t)raw, .len = n, .ledger = 5, .entry = 17};
    uint32_t head = 10 + big_endian(raw + 6); /* magic, checksum, size, metadata */
    c->payload = raw + head, c->payload_len = n - head;
    rebatch(c);
    open_parts(c, lz4);
    uint64_t made = 0;
    for (int i = 0; i < PARTS; i++) made += c->parts[i].header_len + c->parts[i].payload_len;
    measured ours = {.name = name, .run = rebatch, .arg = c, .entries = 1};
    measured peer = {.name = name, .run = lz4 ? codec_alone : copy_alone, .arg = c, .entries = 1};
    printf("peer %s %s\n", name, lz4 ? "liblz4 alone" : "CRC32C and memcpy in C");
    compare(&ours, &peer, rounds, span);
    printf("bytes %s %llu %llu\n", name, (unsigned long long)made, (unsigned long long)c->packed_len);
    for (int i = 0; i < PARTS; i++) free(c->plain[i]);
    free(raw);
}

/* ------------------------------------------------------------------ */

static georep_bytes text(const char *s) { return (georep_bytes){.addr = (uintptr_t)s, .len = (uint32_t)strlen(s)}; }

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: bench DIR ROUNDS SPAN_MILLIS\n"), 2;
    const char *dir = argv[1];
    int rounds = atoi(argv[2]);
    double span = atof(argv[3]) * 1e6;

    crc32c_init();
    if (crc32c(0, "123456789", 9) != 0xe3069283) die("crc32c");
    if (georep_start() || georep_init(NULL, &err)) die("georep_init");
    uint32_t n;
    uint8_t *json = file(dir, "layout.json", &n);
    georep_layout layout;
    if (georep_layout_new(json, n, GEOREP_PROFILE_PIP486, &layout, &err)) die("layout");
    georep_source source = {.struct_size = sizeof source,
                            .profile = GEOREP_PROFILE_PIP486,
                            .cluster = text("eu"),
                            .remote = text("us"),
                            .topic = text("topic://public/default/orders"),
                            .instance = text("00112233445566778899aabbccddeeff"),
                            .generation = 3,
                            .segment = 5,
                            .range_end = 65535};

    placing *p = memory(sizeof *p);
    p->layout = layout, p->source = source;
    p->source.range_end = 65536 / PARTS - 1; /* inside one segment of the destination */
    bench_place("place-1KiB", dir, p, rounds, span);
    bench_place("place-1MiB", dir, p, rounds, span);

    cutting c = {.layout = layout, .source = source, .arena = memory(LIMIT)};
    c.opened = memory(LIMIT), c.packed = memory(LIMIT);
    bench_rebatch("rebatch-none", dir, &c, 0, rounds, span);
    if (load_lz4())
        bench_rebatch("rebatch-lz4", dir, &c, 1, rounds, span);
    else
        printf("skipped rebatch-lz4 there is no liblz4.so.1\n");
    return 0;
}
