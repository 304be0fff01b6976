/* SPDX-License-Identifier: Apache-2.0
 *
 * The small world that the checks share: source eu has one segment, destination us has two with
 * two buckets each. */
#ifndef ABI_WORLD_H
#define ABI_WORLD_H

#include "check.h"
#include "wire.h"

#define TOPIC "topic://public/default/orders"
#define INSTANCE "00112233445566778899aabbccddeeff"

/* Pulsar's record of the destination topic. */
#define US_JSON                                                                                                        \
    "{\"epoch\":4,\"nextSegmentId\":3,\"properties\":{\"georep.instance\":\"ffeeddccbbaa99887766554433221100\"},"      \
    "\"segments\":{"                                                                                                   \
    "\"0\":{\"segmentId\":0,\"hashRange\":{\"start\":0,\"end\":65535},\"state\":\"SEALED\",\"parentIds\":[],"          \
    "\"childIds\":[1,2],\"entryBucketSplits\":[]},"                                                                    \
    "\"1\":{\"segmentId\":1,\"hashRange\":{\"start\":0,\"end\":32767},\"state\":\"ACTIVE\",\"parentIds\":[0],"         \
    "\"childIds\":[],\"entryBucketSplits\":[32768]},"                                                                  \
    "\"2\":{\"segmentId\":2,\"hashRange\":{\"start\":32768,\"end\":65535},\"state\":\"ACTIVE\",\"parentIds\":[0],"     \
    "\"childIds\":[],\"entryBucketSplits\":[32768]}}}"

/* ... of the source topic: one segment. */
#define EU_JSON                                                                                                        \
    "{\"epoch\":0,\"nextSegmentId\":1,\"properties\":{\"georep.instance\":\"" INSTANCE "\","                           \
    "\"georep.generation.us\":\"3\"},\"segments\":{"                                                                   \
    "\"0\":{\"segmentId\":0,\"hashRange\":{\"start\":0,\"end\":65535},\"state\":\"ACTIVE\",\"parentIds\":[],"          \
    "\"childIds\":[],\"entryBucketSplits\":[]}}}"

#define SEGMENT_1 "segment://public/default/orders/0000-7fff-1"
#define SEGMENT_2 "segment://public/default/orders/8000-ffff-2"

static inline georep_bytes bytes_of(const char *s) {
    return (georep_bytes){.addr = (uintptr_t)s, .len = (uint32_t)strlen(s)};
}

static inline void *at(uint64_t addr) { return (void *)(uintptr_t)addr; }

georep_layout layout_of(const char *json);
georep_source source_of(uint32_t first, uint32_t last); /* eu to us, generation 3 */
georep_entry entry_of(const buf *b, int64_t ledger, int64_t entry);

/* The bytes of a message given as JSON; free them. */
buf proto_of(const char *message, const char *json);

/* The JSON of a message's bytes, in static memory. */
const char *json_of(const char *message, const void *p, uint64_t n);

/* Keys whose hashes lie in segment 1 (0 or 1: their bucket there), and in segment 2. */
const char *key_in(int segment, int bucket, int which);

#endif
