/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

georep_layout layout_of(const char *json) {
    georep_layout l = 0;
    OK(georep_layout_new(json, strlen(json), 0, &l, &err));
    CHECK(l != 0);
    return l;
}

georep_source source_of(uint32_t first, uint32_t last) {
    return (georep_source){.struct_size = sizeof(georep_source),
                           .profile = GEOREP_PROFILE_PIP486,
                           .cluster = bytes_of("eu"),
                           .remote = bytes_of("us"),
                           .topic = bytes_of(TOPIC),
                           .instance = bytes_of(INSTANCE),
                           .generation = 3,
                           .segment = 5,
                           .range_start = first,
                           .range_end = last};
}

georep_entry entry_of(const buf *b, int64_t ledger, int64_t entry) {
    return (georep_entry){.addr = (uintptr_t)b->p, .len = (uint32_t)b->n, .ledger = ledger, .entry = entry};
}

buf proto_of(const char *message, const char *json) {
    buf b = {0};
    uint64_t n = 0;
    georep_status s = georep_proto_from_json(message, strlen(message), json, strlen(json), NULL, 0, &n, &err);
    CHECK(s == GEOREP_E_SPACE || (s == GEOREP_OK && n == 0));
    b.p = malloc(n + 1);
    b.cap = n + 1;
    b.n = n;
    OK(georep_proto_from_json(message, strlen(message), json, strlen(json), b.p, n, &n, &err));
    EQ(n, b.n);
    return b;
}

const char *json_of(const char *message, const void *p, uint64_t n) {
    static char out[1 << 16];
    uint64_t len = 0;
    OK(georep_proto_to_json(message, strlen(message), p, n, out, sizeof out - 1, &len, &err));
    out[len] = 0;
    return out;
}

const char *key_in(int segment, int bucket, int which) {
    static char key[8][32];
    static int next;
    char *k = key[next++ % 8];
    for (int i = 0, found = 0;; i++) {
        snprintf(k, sizeof key[0], "key-%d", i);
        uint32_t h = hash_of(k);
        if ((int)(h >> 31) + 1 == segment && (int)(h >> 15 & 1) == bucket && found++ == which) return k;
    }
}
