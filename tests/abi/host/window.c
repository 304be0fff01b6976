/* SPDX-License-Identifier: Apache-2.0
 *
 * A window's round trip: offer, send, acknowledge, delete, release, with a re-batch under the
 * budget, a parked entry, a refused send and a seal. */
#include "world.h"

enum { MAX = 16, ARENA = 1 << 16 };

static georep_action act[MAX];
static uint8_t arena[ARENA];
static uint32_t n_act;

/* One step; all actions have to come in one call. */
static void step(georep_window w, georep_event *ev, uint32_t n) {
    uint64_t used, needed;
    OK(georep_window_step(w, ev, n, arena, ARENA, act, MAX, &n_act, &used, &needed, &err));
    EQ(needed, 0);
    CHECK(n_act < MAX);
}

static const georep_action *only(uint32_t kind) {
    const georep_action *found = NULL;
    for (uint32_t i = 0; i < n_act; i++) {
        if (act[i].kind != kind) continue;
        CHECK(!found);
        found = &act[i];
    }
    if (!found) FAIL("no action of kind %u among %u", kind, n_act);
    return found;
}

static int count(uint32_t kind) {
    int n = 0;
    for (uint32_t i = 0; i < n_act; i++) n += act[i].kind == kind;
    return n;
}

static georep_event offer(const buf *b, int64_t ledger, int64_t entry) {
    return (georep_event){.kind = GEOREP_EV_OFFER,
                          .addr = (uintptr_t)b->p,
                          .len = (uint32_t)b->n,
                          .ledger = ledger,
                          .entry = entry,
                          .result = 99};
}

static const char *status_of(georep_window w) {
    static uint8_t p[4096];
    uint64_t n;
    OK(georep_window_status(w, p, sizeof p, &n, &err));
    return json_of("WindowStatus", p, n);
}

static georep_window open_window(const char *range_end, const char *more) {
    char json[1024];
    snprintf(json, sizeof json,
             "{\"cluster\":\"eu\",\"remote\":\"us\",\"segment\":5,\"range\":{\"start\":0,\"end\":%s},"
             "\"profile\":\"PROFILE_PIP486\",\"topic\":\"" TOPIC "\",\"instance\":\"" INSTANCE "\",\"generation\":3%s}",
             range_end, more);
    buf c = proto_of("WindowConfig", json);
    georep_window w = 0;
    OK(georep_window_new(c.p, c.n, &w, &err));
    buf_free(&c);
    return w;
}

/* A fitting batch: verbatim, whole, and its memory comes back. */
static void verbatim(georep_layout us) {
    georep_window w = open_window("32767", "");
    const char *keys[2] = {key_in(1, 1, 0), key_in(1, 1, 1)};
    buf b = {0};
    wire_batch(&b, keys, 2);
    uint32_t entries;
    uint64_t bytes;
    georep_event ev[3] = {offer(&b, 3, 0), {.kind = GEOREP_EV_GATE, .code = 1}, {.kind = GEOREP_EV_TICK, .millis = 1}};
    step(w, ev, 3);
    EQ(ev[0].result, GEOREP_OK);
    EQ(ev[0].code, 0);
    EQ(n_act, 0); /* blocked until the handshake */
    OK(georep_window_want(w, &entries, &bytes));
    EQ(entries, 0);
    CHECK(strstr(status_of(w), "\"state\":\"starting\""));

    OK(georep_window_remote_instance(w, "i1", 2, &err));
    OK(georep_window_set_remote(w, us, 5 << 20, &err));
    OK(georep_window_want(w, &entries, &bytes));
    CHECK(entries > 0 && bytes > 0);

    /* Too small an arena loses nothing. */
    uint64_t used, needed;
    OK(georep_window_step(w, NULL, 0, arena, 8, act, MAX, &n_act, &used, &needed, &err));
    EQ(n_act, 0);
    CHECK(needed > 8);
    step(w, NULL, 0);
    const georep_action *s = only(GEOREP_DO_SEND);
    EQ(s->path, GEOREP_ACTION_VERBATIM);
    EQ(s->segment, 1);
    EQ(s->bucket, 1);
    EQ(s->ledger, 3);
    EQ(s->messages, 2);
    CHECK(s->part == GEOREP_WHOLE);
    CHECK(at(s->payload_addr) > (void *)b.p && at(s->payload_addr) < (void *)(b.p + b.n)); /* not copied */
    CHECK(at(s->header_addr) >= (void *)arena && at(s->header_addr) < (void *)(arena + ARENA));
    frame f = wire_frame(at(s->header_addr), s->header_len, at(s->payload_addr), s->payload_len);
    char v[512];
    CHECK(wire_property(&f, "__GEOREP_ORIGIN", v, sizeof v));
    CHECK(!strcmp(v, "1|eu|" INSTANCE "|5|3|3:0|" SEGMENT_1));
    CHECK(strstr(status_of(w), "\"inFlight\":\"1\""));

    /* A position that is offered again is not borrowed again. */
    georep_event again = offer(&b, 3, 0);
    step(w, &again, 1);
    EQ(again.result, GEOREP_OK);
    EQ(again.code, GEOREP_OFFER_KNOWN);

    georep_event ack = {.kind = GEOREP_EV_OUTCOME, .id = s->send_id, .code = GEOREP_OUTCOME_ACKED};
    step(w, &ack, 1);
    EQ(only(GEOREP_DO_DELETE)->ledger, 3);
    EQ(only(GEOREP_DO_RELEASE)->entry, 0);
    buf_free(&b); /* released */
    georep_event failed = {.kind = GEOREP_EV_DELETE_FAILED, .ledger = 3},
                 later = {.kind = GEOREP_EV_TICK, .millis = 60000};
    georep_event retry[2] = {failed, later};
    step(w, retry, 2);
    EQ(only(GEOREP_DO_DELETE)->ledger, 3); /* asked for again */
    georep_event deleted = {.kind = GEOREP_EV_DELETED, .ledger = 3};
    step(w, &deleted, 1);
    EQ(n_act, 0);
    CHECK(strstr(status_of(w), "\"state\":\"replicating\""));
    CHECK(strstr(status_of(w), "{\"name\":\"verbatim\",\"value\":\"1\"}"));
    OK(georep_window_free(w));
}

/* A batch over both segments: budget, parts, one refused and sent again. */
static void parts(georep_layout us) {
    georep_window w = open_window("65535", ",\"keepCodec\":true");
    const char *keys[3] = {key_in(1, 0, 0), key_in(2, 1, 0), key_in(1, 0, 1)};
    buf b = {0};
    wire_batch(&b, keys, 3);
    OK(georep_window_set_remote(w, us, 0, &err));
    georep_event ev[3] = {{.kind = GEOREP_EV_TICK, .millis = 1}, {.kind = GEOREP_EV_GATE, .code = 1}, offer(&b, 4, 7)};
    step(w, ev, 3);
    /* Sealed segment 0 may hold something of ours: asked before anything is sent. */
    EQ(only(GEOREP_DO_ASK_WATERMARK)->segment, 0);
    georep_event none = {.kind = GEOREP_EV_WATERMARK, .id = 0, .code = GEOREP_WATERMARK_NONE};
    step(w, &none, 1);
    CHECK(only(GEOREP_DO_ASK_BUDGET)->bytes >= 0);
    georep_event granted = {.kind = GEOREP_EV_GRANTED};
    step(w, &granted, 1);
    EQ(count(GEOREP_DO_SEND), 2);
    EQ(count(GEOREP_DO_RETURN_BUDGET), 1);
    georep_action first = act[0], second = act[1];
    EQ(first.kind, GEOREP_DO_SEND);
    EQ(first.path, GEOREP_ACTION_REBATCH);
    EQ(first.segment, 1);
    EQ(first.part, 1); /* two messages: the last one's rank */
    EQ(first.messages, 2);
    EQ(second.segment, 2);
    EQ(second.part, 0);
    wire_frame(at(first.header_addr), first.header_len, at(first.payload_addr), first.payload_len);

    georep_event out[2] = {{.kind = GEOREP_EV_OUTCOME, .id = second.send_id, .code = GEOREP_OUTCOME_ACKED},
                           {.kind = GEOREP_EV_OUTCOME, .id = first.send_id, .code = GEOREP_OUTCOME_UNKNOWN}};
    step(w, out, 2);
    EQ(count(GEOREP_DO_DELETE), 0); /* one part is not acknowledged */
    georep_event later = {.kind = GEOREP_EV_TICK, .millis = 60000};
    step(w, &later, 1);
    EQ(count(GEOREP_DO_ASK_BUDGET), 1);
    step(w, &granted, 1);
    const georep_action *s = only(GEOREP_DO_SEND); /* that part alone, with its number */
    EQ(s->segment, 1);
    EQ(s->part, 1);
    EQ(s->messages, 2);
    georep_event dup = {.kind = GEOREP_EV_OUTCOME, .id = s->send_id, .code = GEOREP_OUTCOME_DUPLICATE};
    step(w, &dup, 1);
    EQ(only(GEOREP_DO_DELETE)->entry, 7);
    EQ(only(GEOREP_DO_RELEASE)->entry, 7);
    buf_free(&b);
    OK(georep_window_free(w));
}

/* Parked, skipped, paused, blocked; refused events. */
static void operator_calls(georep_layout us) {
    georep_window w = open_window("65535", "");
    buf junk = {0};
    buf_bytes(&junk, "no entry at all", 15);
    OK(georep_window_set_remote(w, us, 0, &err));
    georep_event ev[4] = {{.kind = GEOREP_EV_TICK, .millis = 1},
                          {.kind = GEOREP_EV_GATE, .code = 1},
                          offer(&junk, 1, 1),
                          {.kind = GEOREP_EV_WATERMARK, .id = 0, .code = GEOREP_WATERMARK_NONE}};
    step(w, ev, 4);
    EQ(only(GEOREP_DO_PARKED)->reason, GEOREP_REASON_MALFORMED);
    EQ(count(GEOREP_DO_DELETE), 0);
    CHECK(strstr(status_of(w), "\"state\":\"stalled\""));
    CHECK(strstr(status_of(w),
                 "\"parked\":[{\"position\":{\"ledger\":\"1\",\"entry\":\"1\"},\"reason\":\"malformed\"}]"));

    uint64_t used, needed;
    georep_event bad[5] = {{.kind = GEOREP_EV_SKIP, .ledger = 1, .entry = 2}, /* not parked */
                           {.kind = 99},
                           {.kind = GEOREP_EV_OUTCOME, .code = 77},
                           {.kind = GEOREP_EV_OFFER, .len = 5, .ledger = 2}, /* no address */
                           {.kind = GEOREP_EV_PAUSE, .code = 1}};
    STATUS(georep_window_step(w, bad, 5, arena, ARENA, act, MAX, &n_act, &used, &needed, &err), GEOREP_E_EVENT);
    TEXT("event 0");
    for (int i = 0; i < 4; i++) EQ(bad[i].result, GEOREP_E_ARG);
    EQ(bad[4].result, GEOREP_OK);
    CHECK(strstr(status_of(w), "\"state\":\"paused\""));
    georep_event go[4] = {{.kind = GEOREP_EV_PAUSE},
                          {.kind = GEOREP_EV_SKIP, .ledger = 1, .entry = 1},
                          {.kind = GEOREP_EV_SEALED, .id = 1},
                          {.kind = GEOREP_EV_SCHEMA_FAILED, .addr = (uintptr_t) "v1", .len = 2}};
    step(w, go, 4);
    EQ(only(GEOREP_DO_DELETE)->entry, 1);
    EQ(only(GEOREP_DO_RELEASE)->entry, 1);
    /* Five positions have left the cursor, one of them by this window's delete. */
    georep_event moved[2] = {{.kind = GEOREP_EV_DELETED, .ledger = 1, .entry = 1},
                             {.kind = GEOREP_EV_CURSOR, .ledger = 1, .entry = 5, .id = 5}};
    step(w, moved, 2);
    EQ(only(GEOREP_DO_LAPSE)->bytes, 4);
    EQ(only(GEOREP_DO_LAPSE)->entry, 5);
    CHECK(strstr(status_of(w), "\"lapsed\":\"4\",\"horizon\":{\"ledger\":\"1\",\"entry\":\"5\"}"));
    georep_event last[2] = {
        {.kind = GEOREP_EV_SCHEMA_MAPPED, .addr = (uintptr_t) "v1", .len = 2, .addr2 = (uintptr_t) "v2", .len2 = 2},
        {.kind = GEOREP_EV_BLOCK, .code = GEOREP_BLOCK_INCOMPATIBLE}};
    step(w, last, 2);
    CHECK(strstr(status_of(w), "\"state\":\"incompatible\""));
    OK(georep_window_free(w));
    EQ(georep_window_free(w), GEOREP_E_HANDLE);
    buf_free(&junk);
}

/* A chunked message whose segment is sealed in the middle; and who may pass a parked entry. */
static void source_ends(georep_layout plain) {
    georep_window w = open_window("65535", ",\"parkedPass\":true");
    buf chunk = {0}, meta = {0}, payload = {0}, junk = {0};
    wire_metadata(&meta, 1);
    pb_text(&meta, 6, key_in(1, 1, 0));
    pb_text(&meta, 26, "uuid");
    pb_varint(&meta, 27, 3);
    pb_varint(&meta, 28, 15);
    pb_varint(&meta, 29, 0);
    buf_bytes(&payload, "chunk", 5);
    wire_entry(&chunk, &meta, &payload);
    buf_bytes(&junk, "no entry", 8);
    OK(georep_window_set_remote(w, plain, 0, &err));
    georep_event ev[4] = {{.kind = GEOREP_EV_TICK, .millis = 1},
                          {.kind = GEOREP_EV_GATE, .code = 1},
                          offer(&junk, 1, 0),
                          offer(&chunk, 1, 1)};
    step(w, ev, 4);
    EQ(only(GEOREP_DO_PARKED)->reason, GEOREP_REASON_MALFORMED);
    EQ(only(GEOREP_DO_PARKED)->bytes, 1); /* the chunk passes it */
    georep_event ack = {.kind = GEOREP_EV_OUTCOME, .id = only(GEOREP_DO_SEND)->send_id, .code = GEOREP_OUTCOME_ACKED};
    step(w, &ack, 1);
    EQ(n_act, 0); /* stored, and kept for the other two */
    georep_event ended = {.kind = GEOREP_EV_SOURCE_ENDED};
    step(w, &ended, 1);
    EQ(only(GEOREP_DO_PARKED)->reason, GEOREP_REASON_CHUNK_INCOMPLETE);
    EQ(only(GEOREP_DO_PARKED)->entry, 1);
    EQ(only(GEOREP_DO_PARKED)->bytes, 0);
    CHECK(strstr(status_of(w), "\"parkedTotal\":\"2\""));
    CHECK(strstr(status_of(w), "\"passedTotal\":\"1\""));
    OK(georep_window_free(w));
    buf_free(&chunk);
    buf_free(&meta);
    buf_free(&payload);
    buf_free(&junk);
}

void check_window(void) {
    georep_layout us = layout_of(US_JSON), one = layout_of(EU_JSON);
    buf c = proto_of("WindowConfig", "{\"cluster\":\"eu\"}");
    georep_window w;
    STATUS(georep_window_new(c.p, c.n, &w, &err), GEOREP_E_ARG);
    TEXT("range");
    buf_free(&c);
    /* Without a sealed segment on the way the first entry goes out at once. */
    const char *active = "{\"epoch\":9,\"segments\":{\"1\":{\"segmentId\":1,\"hashRange\":{\"start\":0,\"end\":32767},"
                         "\"state\":\"ACTIVE\",\"entryBucketSplits\":[32768]},\"2\":{\"segmentId\":2,\"hashRange\":"
                         "{\"start\":32768,\"end\":65535},\"state\":\"ACTIVE\",\"entryBucketSplits\":[32768]}}}";
    georep_layout plain = layout_of(active);
    verbatim(plain);
    parts(us);
    operator_calls(us);
    source_ends(plain);
    OK(georep_layout_free(plain));
    OK(georep_layout_free(us));
    OK(georep_layout_free(one));
}
