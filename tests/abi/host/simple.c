/* SPDX-License-Identifier: Apache-2.0
 *
 * Tier "simple": version, init, hashes, layouts, placement, re-batching. */
#include "world.h"

void check_simple(void) {
    char text[64];
    uint64_t n = 0;
    EQ(georep_abi_version(), GEOREP_ABI_MAJOR << 16 | GEOREP_ABI_MINOR);
    OK(georep_start());
    OK(georep_version(text, sizeof text, &n));
    EQ(strlen(text), n);
    CHECK(n >= 5);
    EQ(georep_version(text, n, &n), GEOREP_E_SPACE); /* no room for the NUL */
    EQ(georep_version(NULL, 0, &n), GEOREP_E_SPACE);

    georep_options o = {.struct_size = sizeof o, .max_procs = 16, .max_entry_bytes = 8 << 20, .max_messages = 1000};
    OK(georep_init(&o, &err));
    o.hash_tag_min = 40;
    o.hash_tag_max = 40;
    STATUS(georep_init(&o, &err), GEOREP_E_ARG);
    o = (georep_options){.struct_size = 3};
    STATUS(georep_init(&o, &err), GEOREP_E_ABI);
    OK(georep_init(NULL, &err));

    /* Vectors that were taken from Pulsar's own clients. */
    uint32_t h, segment, bucket;
    OK(georep_key_hash("k1", 2, GEOREP_PROFILE_PIP486, &h, &segment, &bucket, &err));
    EQ(h, 0xfdc6602a);
    EQ(segment, 0xfdc6);
    EQ(bucket, 0x602a);
    OK(georep_key_hash("k1", 2, GEOREP_PROFILE_M1, &h, &segment, NULL, &err));
    EQ(segment, 0x602a);
    OK(georep_key_hash(NULL, 0, GEOREP_PROFILE_M1, &h, NULL, NULL, &err));
    EQ(h, 0);
    STATUS(georep_key_hash("k1", 2, 3, &h, NULL, NULL, &err), GEOREP_E_ARG);

    georep_layout l = layout_of(US_JSON), again = 0;
    uint8_t p[4096];
    STATUS(georep_layout_to_proto(l, p, 10, &n, &err), GEOREP_E_SPACE);
    uint64_t want = n;
    OK(georep_layout_to_proto(l, p, n, &n, &err));
    EQ(n, want);
    CHECK(strstr(json_of("Layout", p, n),
                 "{\"id\":\"1\",\"range\":{\"end\":32767},\"state\":\"SEGMENT_STATE_ACTIVE\",\"parents\":[\"0\"],"
                 "\"profile\":\"PROFILE_PIP486\",\"bucketStarts\":[32768],\"bucketsKnown\":true}"));
    OK(georep_layout_from_proto(p, n, &again, &err));
    CHECK(again != 0 && again != l);
    OK(georep_layout_free(again));
    EQ(georep_layout_free(again), GEOREP_E_HANDLE);
    OK(georep_layout_free(l));
    STATUS(georep_layout_new("{\"epoch\":1,\"segments\":{\"0\":{}}}", 31, 0, &l, &err), GEOREP_E_FORMAT);
    TEXT("segments.0");
    STATUS(georep_layout_new(US_JSON, strlen(US_JSON), 9, &l, &err), GEOREP_E_ARG);
}

/* Decides for entries, and takes the written headers apart. */
void check_place(void) {
    enum { N = 6 };
    georep_layout us = layout_of(US_JSON);
    georep_source src = source_of(0, 32767); /* lies in the destination's segment 1 */
    buf b[N] = {{0}};
    const char *fits[3] = {key_in(1, 0, 0), key_in(1, 0, 1), key_in(1, 0, 2)};
    const char *both[2] = {key_in(1, 0, 0), key_in(1, 1, 0)};
    buf meta = {0}, empty = {0};

    wire_batch(&b[0], fits, 3);                 /* verbatim, bucket 0 */
    wire_batch(&b[1], both, 2);                 /* two buckets: has to be cut */
    wire_single(&b[2], key_in(2, 1, 0), "one"); /* single, by its key */
    wire_metadata(&meta, 1);
    pb_text(&meta, 5, "elsewhere");
    wire_entry(&b[3], &meta, &empty);                     /* replicated already */
    buf_bytes(&b[4], "\x0e\x01\0\0\0\0\0\0\xff\xff", 10); /* says 65535 bytes of metadata */
    wire_single(&b[5], key_in(1, 0, 0), "old");

    georep_entry in[N];
    georep_decision d[N];
    for (int i = 0; i < N; i++) in[i] = entry_of(&b[i], 9, i);
    in[5].flags = GEOREP_ENTRY_EXPIRED;
    uint64_t used = 1, needed = 0;
    OK(georep_place(us, &src, in, N, d, NULL, 0, &used, &needed, &err));
    EQ(used, 0);
    CHECK(needed > 0);
    EQ(d[0].action, GEOREP_ACTION_VERBATIM);
    EQ(d[0].reason, GEOREP_REASON_OK);
    EQ(d[0].segment, 1);
    EQ(d[0].bucket, 0);
    EQ(d[0].messages, 3);
    EQ(d[0].header_addr, 0);
    EQ(d[1].action, GEOREP_ACTION_REBATCH);
    EQ(d[1].reason, GEOREP_REASON_BUCKET_MISFIT);
    CHECK(d[1].segment == GEOREP_NO_SEGMENT);
    EQ(d[1].bucket, -1);
    EQ(d[2].action, GEOREP_ACTION_SINGLE);
    EQ(d[2].segment, 2);
    EQ(d[2].bucket, 1);
    EQ(d[2].messages, 1);
    EQ(d[3].action, GEOREP_ACTION_DROP);
    EQ(d[3].reason, GEOREP_REASON_REPLICATED);
    EQ(d[4].action, GEOREP_ACTION_PARK);
    EQ(d[4].reason, GEOREP_REASON_MALFORMED);
    EQ(d[4].error_offset, 6);
    EQ(d[5].action, GEOREP_ACTION_DROP);
    EQ(d[5].reason, GEOREP_REASON_EXPIRED);
    EQ(needed, d[0].header_len + d[2].header_len);

    /* One byte short: the last header is missing; then an arena that fits exactly. */
    uint8_t *arena = malloc(needed);
    uint64_t again = 0;
    STATUS(georep_place(us, &src, in, N, d, arena, needed - 1, &used, &again, &err), GEOREP_E_SPACE);
    EQ(again, needed);
    CHECK(d[0].header_addr != 0 && d[2].header_addr == 0);
    OK(georep_place(us, &src, in, N, d, arena, needed, &used, &again, &err));
    EQ(used, needed);

    frame f = wire_frame(at(d[0].header_addr), d[0].header_len, b[0].p + d[0].payload_offset, d[0].payload_len);
    char v[512];
    CHECK(wire_property(&f, "__MSG_PROP_REPL_SOURCE_POSITION", v, sizeof v));
    CHECK(!strcmp(v, "9:0"));
    CHECK(wire_property(&f, "__GEOREP_ORIGIN", v, sizeof v));
    CHECK(!strcmp(v, "1|eu|" INSTANCE "|5|3|9:0|" SEGMENT_1));
    EQ(pb_find_varint(f.meta, f.meta_len, 33), pb_find_varint(b[0].p + 10, d[0].payload_offset - 10, 33));
    f = wire_frame(at(d[2].header_addr), d[2].header_len, b[2].p + d[2].payload_offset, d[2].payload_len);
    CHECK(wire_property(&f, "__GEOREP_ORIGIN", v, sizeof v));
    CHECK(strstr(v, "|9:2|" SEGMENT_2));

    /* The destination's limit counts the new header. */
    src.max_message_bytes = d[2].header_len + d[2].payload_len - 1;
    OK(georep_place(us, &src, &in[2], 1, &d[2], NULL, 0, &used, &again, &err));
    EQ(d[2].action, GEOREP_ACTION_PARK);
    EQ(d[2].reason, GEOREP_REASON_TOO_LARGE_SINGLE);

    free(arena);
    for (int i = 0; i < N; i++) buf_free(&b[i]);
    buf_free(&meta);
    OK(georep_layout_free(us));
}

struct seen {
    uint32_t segment;
    int32_t bucket;
    int n;
    unsigned bodies; /* bit per batch index */
};

static void see(void *arg, const char *key, const char *body) {
    struct seen *s = arg;
    uint32_t h = hash_of(key);
    EQ((h >> 31) + 1, s->segment);
    EQ(h >> 15 & 1, s->bucket);
    s->bodies |= 1u << atoi(body + 5);
    s->n++;
}

void check_rebatch(void) {
    georep_layout us = layout_of(US_JSON);
    georep_source src = source_of(0, 65535);
    const char *keys[6] = {key_in(2, 1, 0), key_in(1, 0, 0), key_in(1, 1, 0),
                           key_in(1, 0, 1), key_in(2, 0, 0), key_in(1, 0, 2)};
    buf b = {0};
    wire_batch(&b, keys, 6);
    georep_entry in = entry_of(&b, 12, 34);
    georep_part part[8];
    uint32_t n = 0;
    uint64_t needed = 0, again = 0;
    STATUS(georep_rebatch(us, &src, NULL, &in, NULL, 0, part, 8, &n, &needed, &err), GEOREP_E_SPACE);
    EQ(n, 4);
    uint8_t *arena = malloc(needed);
    STATUS(georep_rebatch(us, &src, NULL, &in, arena, needed - 1, part, 8, &n, &again, &err), GEOREP_E_SPACE);
    STATUS(georep_rebatch(us, &src, NULL, &in, arena, needed, part, 3, &n, &again, &err), GEOREP_E_SPACE);
    EQ(again, needed);
    OK(georep_rebatch(us, &src, NULL, &in, arena, needed, part, 8, &n, &again, &err));
    EQ(n, 4);
    EQ(again, needed);

    /* Segment, bucket, messages, part number: the rank of the last message among the segment's. */
    static const int want[4][4] = {{1, 0, 3, 2}, {1, 1, 1, 3}, {2, 0, 1, 0}, {2, 1, 1, 1}};
    struct seen s = {0};
    for (int i = 0; i < 4; i++) {
        s.segment = want[i][0];
        s.bucket = want[i][1];
        s.n = 0;
        EQ(part[i].segment, want[i][0]);
        EQ(part[i].bucket, want[i][1]);
        EQ(part[i].messages, want[i][2]);
        EQ(part[i].part, want[i][3]);
        frame f = wire_frame(at(part[i].addr), part[i].header_len, (uint8_t *)at(part[i].addr) + part[i].header_len,
                             part[i].payload_len);
        wire_each(&f, see, &s);
        EQ(s.n, want[i][2]);
        EQ(part[i].hash_min, pb_find_varint(f.meta, f.meta_len, 33));
        EQ(part[i].hash_max, pb_find_varint(f.meta, f.meta_len, 34));
        char v[512], pos[64];
        CHECK(wire_property(&f, "__GEOREP_ORIGIN", v, sizeof v));
        snprintf(pos, sizeof pos, "|12:34:%d|", want[i][3]);
        if (!strstr(v, pos)) FAIL("origin %s lacks %s", v, pos);
    }
    EQ(s.bodies, 0x3f);

    /* A mask leaves messages out and changes no number. */
    uint8_t bits = 1u << 3 | 1u << 0;
    georep_rebatch_options o = {.struct_size = sizeof o, .mask = {.addr = (uintptr_t)&bits, .len = 1}};
    OK(georep_rebatch(us, &src, &o, &in, arena, needed, part, 8, &n, &again, &err));
    EQ(n, 2);
    EQ(part[0].part, 2);
    EQ(part[0].messages, 1);
    EQ(part[0].first_message, 3);
    EQ(part[1].segment, 2);
    EQ(part[1].part, 1);
    o.mask.len = 2;
    STATUS(georep_rebatch(us, &src, &o, &in, arena, needed, part, 8, &n, &again, &err), GEOREP_E_ARG);

    /* A batch without keys comes back whole. */
    buf meta = {0}, payload = {0}, unkeyed = {0};
    wire_message(&payload, NULL, "a");
    wire_message(&payload, NULL, "b");
    wire_metadata(&meta, 1);
    pb_varint(&meta, 11, 2);
    wire_entry(&unkeyed, &meta, &payload);
    in = entry_of(&unkeyed, 1, 2);
    uint8_t room[1024];
    OK(georep_rebatch(us, &src, NULL, &in, room, sizeof room, part, 8, &n, &again, &err));
    EQ(n, 1);
    CHECK(part[0].part == GEOREP_WHOLE);
    EQ(part[0].segment, 1);
    EQ(part[0].messages, 2);
    EQ(part[0].payload_len, payload.n);
    wire_frame(at(part[0].addr), part[0].header_len, payload.p, payload.n);

    /* What is not to be cut, and what can not be opened. */
    buf one = {0};
    wire_single(&one, "k1", "x");
    in = entry_of(&one, 1, 3);
    STATUS(georep_rebatch(us, &src, NULL, &in, room, sizeof room, part, 8, &n, &again, &err), GEOREP_E_UNSUPPORTED);
    TEXT("single");
    pb_varint(&meta, 11, 3); /* one more than there are */
    buf liar = {0};
    wire_entry(&liar, &meta, &payload);
    in = entry_of(&liar, 1, 4);
    STATUS(georep_rebatch(us, &src, NULL, &in, room, sizeof room, part, 8, &n, &again, &err), GEOREP_E_FORMAT);
    EQ(n, 0);

    /* A wrong checksum is not covered up by the parts' own. */
    in = entry_of(&b, 1, 5);
    b.p[b.n - 1] ^= 1;
    STATUS(georep_rebatch(us, &src, NULL, &in, room, sizeof room, part, 8, &n, &again, &err), GEOREP_E_FORMAT);
    TEXT("checksum: ");

    free(arena);
    buf_free(&b), buf_free(&meta), buf_free(&payload), buf_free(&unkeyed), buf_free(&one), buf_free(&liar);
    OK(georep_layout_free(us));
}
