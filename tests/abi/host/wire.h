/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C host needs of Pulsar's format: it writes entries and takes apart what the library
 * made of them, with code of its own. */
#ifndef ABI_WIRE_H
#define ABI_WIRE_H

#include <stddef.h>
#include <stdint.h>

typedef struct buf {
    uint8_t *p;
    size_t n, cap;
} buf;

void buf_bytes(buf *b, const void *p, size_t n);
void buf_free(buf *b);
void pb_varint(buf *b, uint32_t field, uint64_t v);
void pb_bytes(buf *b, uint32_t field, const void *p, size_t n);
void pb_text(buf *b, uint32_t field, const char *s);

uint32_t crc32c(const void *p, size_t n);

/* Appends one message of a batch; key NULL = none. */
void wire_message(buf *payload, const char *key, const char *body);

/* MessageMetadata with the required fields. */
void wire_metadata(buf *meta, uint64_t sequence);

/* Makes an entry: checksum, size, metadata, payload. */
void wire_entry(buf *out, const buf *meta, const buf *payload);

/* A batch of n messages with these keys, stamped with the lowest and highest of their bucket
 * hashes. */
void wire_batch(buf *out, const char *const *keys, int n);

/* A single message with a key. */
void wire_single(buf *out, const char *key, const char *body);

/* An entry taken apart; checks magic, sizes and checksum, and ends the process if they are wrong. */
typedef struct frame {
    const uint8_t *meta, *payload;
    uint32_t meta_len, payload_len;
} frame;
frame wire_frame(const void *header, uint32_t header_len, const void *payload, uint32_t payload_len);

/* The last value of a varint field of a message, or -1. */
int64_t pb_find_varint(const uint8_t *p, uint32_t n, uint32_t field);

/* The value of a property in MessageMetadata, copied into out; 0 if it is not there once. */
int wire_property(const frame *f, const char *key, char *out, size_t cap);

/* Calls fn for each message of an uncompressed batch; ends the process if it does not add up. */
void wire_each(const frame *f, void (*fn)(void *arg, const char *key, const char *body), void *arg);

uint32_t hash_of(const char *key); /* through georep_key_hash */

#endif
