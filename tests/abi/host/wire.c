/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include "check.h"

void buf_bytes(buf *b, const void *p, size_t n) {
    if (b->n + n > b->cap) {
        b->cap = (b->n + n) * 2;
        b->p = realloc(b->p, b->cap);
        CHECK(b->p);
    }
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
}

void buf_free(buf *b) {
    free(b->p);
    *b = (buf){0};
}

static void raw_varint(buf *b, uint64_t v) {
    do {
        uint8_t c = v & 0x7f;
        v >>= 7;
        if (v) c |= 0x80;
        buf_bytes(b, &c, 1);
    } while (v);
}

void pb_varint(buf *b, uint32_t field, uint64_t v) {
    raw_varint(b, (uint64_t)field << 3);
    raw_varint(b, v);
}

void pb_bytes(buf *b, uint32_t field, const void *p, size_t n) {
    raw_varint(b, (uint64_t)field << 3 | 2);
    raw_varint(b, n);
    buf_bytes(b, p, n);
}

void pb_text(buf *b, uint32_t field, const char *s) { pb_bytes(b, field, s, strlen(s)); }

static void be32(buf *b, uint32_t v) {
    uint8_t c[4] = {v >> 24, v >> 16, v >> 8, v};
    buf_bytes(b, c, 4);
}

static uint32_t rd32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

static uint32_t crc_more(uint32_t crc, const uint8_t *p, size_t n) {
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

uint32_t crc32c(const void *p, size_t n) { return crc_more(0, p, n); }

void wire_message(buf *payload, const char *key, const char *body) {
    buf m = {0};
    if (key) pb_text(&m, 2, key);
    pb_varint(&m, 3, strlen(body));
    be32(payload, m.n);
    buf_bytes(payload, m.p, m.n);
    buf_bytes(payload, body, strlen(body));
    buf_free(&m);
}

void wire_metadata(buf *meta, uint64_t sequence) {
    pb_text(meta, 1, "producer-1");
    pb_varint(meta, 2, sequence);
    pb_varint(meta, 3, 1764470000000);
}

void wire_entry(buf *out, const buf *meta, const buf *payload) {
    buf body = {0};
    be32(&body, meta->n);
    buf_bytes(&body, meta->p, meta->n);
    buf_bytes(&body, payload->p, payload->n);
    buf_bytes(out, "\x0e\x01", 2);
    be32(out, crc32c(body.p, body.n));
    buf_bytes(out, body.p, body.n);
    buf_free(&body);
}

uint32_t hash_of(const char *key) {
    uint32_t h = 0;
    OK(georep_key_hash(key, strlen(key), GEOREP_PROFILE_PIP486, &h, NULL, NULL, &err));
    return h;
}

void wire_batch(buf *out, const char *const *keys, int n) {
    buf meta = {0}, payload = {0};
    uint32_t lo = 0xffff, hi = 0;
    for (int i = 0; i < n; i++) {
        char body[32];
        uint32_t b = hash_of(keys[i]) & 0xffff;
        if (b < lo) lo = b;
        if (b > hi) hi = b;
        snprintf(body, sizeof body, "body-%d", i);
        wire_message(&payload, keys[i], body);
    }
    wire_metadata(&meta, 100);
    pb_text(&meta, 6, keys[0]);
    pb_varint(&meta, 11, n);
    pb_varint(&meta, 33, lo);
    pb_varint(&meta, 34, hi);
    pb_text(&meta, 777, "a field that nobody knows");
    wire_entry(out, &meta, &payload);
    buf_free(&meta);
    buf_free(&payload);
}

void wire_single(buf *out, const char *key, const char *body) {
    buf meta = {0}, payload = {0};
    wire_metadata(&meta, 7);
    pb_text(&meta, 6, key);
    buf_bytes(&payload, body, strlen(body));
    wire_entry(out, &meta, &payload);
    buf_free(&meta);
    buf_free(&payload);
}

frame wire_frame(const void *header, uint32_t header_len, const void *payload, uint32_t payload_len) {
    const uint8_t *h = header;
    frame f;
    CHECK(header_len >= 10 && h[0] == 0x0e && h[1] == 0x01);
    f.meta_len = rd32(h + 6);
    f.meta = h + 10;
    f.payload = payload;
    f.payload_len = payload_len;
    EQ(f.meta_len + 10, header_len);
    EQ(rd32(h + 2), crc_more(crc_more(0, h + 6, header_len - 6), payload, payload_len));
    return f;
}

static int take_varint(const uint8_t *p, uint32_t n, uint32_t *at, uint64_t *v) {
    *v = 0;
    for (int shift = 0; *at < n && shift < 64; shift += 7) {
        uint8_t c = p[(*at)++];
        *v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) return 1;
    }
    return 0;
}

/* Takes the next field; for lengths v is the length and *data its bytes. */
static int take_field(const uint8_t *p, uint32_t n, uint32_t *at, uint32_t *field, uint64_t *v, const uint8_t **data) {
    uint64_t tag;
    if (*at >= n) return 0;
    CHECK(take_varint(p, n, at, &tag));
    *field = tag >> 3;
    *data = NULL;
    CHECK((tag & 7) == 0 || (tag & 7) == 2);
    CHECK(take_varint(p, n, at, v));
    if ((tag & 7) == 2) {
        CHECK(*v <= n - *at);
        *data = p + *at;
        *at += *v;
    }
    return 1;
}

int64_t pb_find_varint(const uint8_t *p, uint32_t n, uint32_t want) {
    uint32_t at = 0, field;
    uint64_t v;
    const uint8_t *data;
    int64_t found = -1;
    while (take_field(p, n, &at, &field, &v, &data))
        if (field == want && !data) found = v;
    return found;
}

static int text_field(const uint8_t *p, uint32_t n, uint32_t want, char *out, size_t cap) {
    uint32_t at = 0, field;
    uint64_t v;
    const uint8_t *data;
    int found = 0;
    while (take_field(p, n, &at, &field, &v, &data)) {
        if (field != want || !data) continue;
        CHECK(v < cap);
        memcpy(out, data, v);
        out[v] = 0;
        found++;
    }
    return found;
}

int wire_property(const frame *f, const char *key, char *out, size_t cap) {
    uint32_t at = 0, field;
    uint64_t v;
    const uint8_t *data;
    int found = 0;
    while (take_field(f->meta, f->meta_len, &at, &field, &v, &data)) {
        char k[256];
        if (field != 4 || !data || !text_field(data, v, 1, k, sizeof k) || strcmp(k, key)) continue;
        CHECK(text_field(data, v, 2, out, cap));
        found++;
    }
    return found == 1;
}

void wire_each(const frame *f, void (*fn)(void *arg, const char *key, const char *body), void *arg) {
    uint32_t at = 0;
    int n = 0;
    while (at < f->payload_len) {
        char key[256] = "", body[256];
        uint32_t m = rd32(f->payload + at);
        at += 4;
        CHECK(m <= f->payload_len - at);
        text_field(f->payload + at, m, 2, key, sizeof key);
        int64_t size = pb_find_varint(f->payload + at, m, 3);
        at += m;
        CHECK(size >= 0 && size < (int64_t)sizeof body && size <= f->payload_len - at);
        memcpy(body, f->payload + at, size);
        body[size] = 0;
        at += size;
        fn(arg, key, body);
        n++;
    }
    EQ(n, pb_find_varint(f->meta, f->meta_len, 11));
}
