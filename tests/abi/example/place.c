/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest useful host: where would this entry go on that layout?
 *
 *     cc -Iinclude place.c -lgeorep -o place
 *     place LAYOUT.json ENTRY.bin [OUT.bin]
 *
 * Prints action, reason, segment and bucket. With OUT the entry as it would be sent is written,
 * if it goes whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "georep.h"

static georep_error err = {.struct_size = sizeof err};

static void check(georep_status s) {
    if (s == GEOREP_OK) return;
    fprintf(stderr, "place: status %d: %s\n", s, err.text);
    exit(1);
}

static georep_bytes text(const char *s) { return (georep_bytes){.addr = (uintptr_t)s, .len = (uint32_t)strlen(s)}; }

static unsigned char *read_file(const char *path, uint32_t *n) {
    static const size_t limit = 16 << 20;
    unsigned char *b = malloc(limit);
    FILE *f = fopen(path, "rb");
    if (!f || !b) perror(path), exit(2);
    *n = (uint32_t)fread(b, 1, limit, f);
    fclose(f);
    return b;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: place LAYOUT.json ENTRY.bin [OUT.bin]\n"), 2;
    uint32_t json_len, entry_len;
    unsigned char *json = read_file(argv[1], &json_len), *entry = read_file(argv[2], &entry_len);

    check(georep_start());
    check(georep_init(NULL, &err));
    georep_layout layout;
    check(georep_layout_new(json, json_len, 0, &layout, &err));

    /* Who sends: segment 0 of cluster "eu", the whole ring, to cluster "us". */
    georep_source source = {.struct_size = sizeof source,
                            .profile = GEOREP_PROFILE_PIP486,
                            .cluster = text("eu"),
                            .remote = text("us"),
                            .topic = text("topic://public/default/t"),
                            .instance = text("00000000000000000000000000000001"),
                            .range_end = 65535};
    georep_entry in = {.addr = (uintptr_t)entry, .len = entry_len, .ledger = 1, .entry = 0};
    georep_decision d;
    uint64_t used, needed;
    check(georep_place(layout, &source, &in, 1, &d, NULL, 0, &used, &needed, &err)); /* how much arena? */
    unsigned char *arena = malloc(needed + 1);
    check(georep_place(layout, &source, &in, 1, &d, arena, needed, &used, &needed, &err));
    printf("action %u reason %u segment %lld bucket %d\n", d.action, d.reason, (long long)d.segment, d.bucket);

    if (argc > 3 && d.header_len) {
        FILE *f = fopen(argv[3], "wb");
        if (!f) perror(argv[3]), exit(2);
        fwrite((void *)(uintptr_t)d.header_addr, 1, d.header_len, f);
        fwrite(entry + d.payload_offset, 1, d.payload_len, f);
        fclose(f);
    }
    check(georep_layout_free(layout));
    free(arena), free(entry), free(json);
    return 0;
}
