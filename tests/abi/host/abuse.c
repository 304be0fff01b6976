/* SPDX-License-Identifier: Apache-2.0
 *
 * What a host may get wrong: null pointers, foreign and stale handles, garbage, wild addresses,
 * and many threads at once. Each ends in a status. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "world.h"

static void nulls(georep_layout us) {
    georep_source src = source_of(0, 65535);
    georep_decision d;
    georep_entry in = {0};
    georep_part part;
    uint64_t n;
    uint32_t k;
    STATUS(georep_layout_new(NULL, 5, 0, &us, &err), GEOREP_E_ARG);
    STATUS(georep_layout_new(US_JSON, strlen(US_JSON), 0, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_place(us, NULL, &in, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_ARG);
    STATUS(georep_place(us, &src, NULL, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_ARG);
    STATUS(georep_place(us, &src, &in, 1, NULL, NULL, 0, &n, &n, &err), GEOREP_E_ARG);
    STATUS(georep_place(us, &src, &in, 1, &d, NULL, 9, &n, &n, &err), GEOREP_E_ARG);
    STATUS(georep_place(us, &src, &in, 1, &d, NULL, 0, NULL, &n, &err), GEOREP_E_ARG);
    STATUS(georep_place(us, &src, &in, 70000, &d, NULL, 0, &n, &n, &err), GEOREP_E_LIMIT);
    in.flags = 4; /* no such flag */
    STATUS(georep_place(us, &src, &in, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_ARG);
    in.flags = 0;
    in.len = 3; /* at no address */
    STATUS(georep_place(us, &src, &in, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_ARG);
    src.range_end = 65536;
    STATUS(georep_place(us, &src, &in, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_ARG);
    src.struct_size = 8;
    STATUS(georep_place(us, &src, &in, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_ABI);
    src = source_of(0, 65535);
    src.topic = bytes_of("persistent://public/default/orders");
    STATUS(georep_place(us, &src, &in, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_ARG);
    TEXT("topic://");
    src = source_of(0, 65535);
    STATUS(georep_rebatch(us, &src, NULL, NULL, NULL, 0, &part, 1, &k, &n, &err), GEOREP_E_ARG);
    STATUS(georep_rebatch(us, &src, NULL, &in, NULL, 0, &part, 1, NULL, &n, &err), GEOREP_E_ARG);
    STATUS(georep_window_new(NULL, 4, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_budget_new(NULL, 0, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_gate_new(1, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_dedup_new("x", 1, 0, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_state_build(NULL, 0, NULL, 0, NULL, &err), GEOREP_E_FORMAT);
    STATUS(georep_peer_check(NULL, 0, NULL, 0, NULL, 0, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_peer_gone(NULL, 0, NULL, 0, NULL, 0, NULL, &err), GEOREP_E_FORMAT);
    STATUS(georep_topic_filter("\xff", 1, NULL, 0, &n, &err), GEOREP_E_FORMAT);
    STATUS(georep_topic_filter(NULL, 0, NULL, 0, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_bootstrap_new(NULL, 0, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_start_choose("\xff", 1, NULL, 0, &n, &err), GEOREP_E_FORMAT);
    STATUS(georep_start_choose(NULL, 0, NULL, 0, NULL, &err), GEOREP_E_ARG);
    STATUS(georep_reset_plan(NULL, 0, NULL, 0, &n, &err), GEOREP_E_FORMAT);
    STATUS(georep_proto_to_json(NULL, 0, NULL, 0, NULL, 0, &n, &err), GEOREP_E_FORMAT);
    EQ(georep_init(NULL, NULL), GEOREP_OK);
    EQ(georep_layout_new(NULL, 5, 0, &us, NULL), GEOREP_E_ARG); /* no error struct */
    georep_error small = {.struct_size = 8};
    EQ(georep_layout_new("{", 1, 0, &us, &small), GEOREP_E_FORMAT);
    EQ(small.code, 0); /* too small to be written to */
}

/* h is live, but of another kind; 0 and numbers that never were are handles of nothing. */
static void foreign(georep_layout us) {
    uint64_t handles[] = {us, 0, 1, UINT64_MAX, us ^ 1, us + (1ull << 32)};
    georep_dedup_ticket t = {.struct_size = sizeof t};
    georep_position pos;
    georep_action a;
    uint8_t p[64];
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        uint64_t h = handles[i], n;
        int64_t v;
        uint32_t k;
        EQ(georep_budget_request(h, 1, 1, 1), GEOREP_E_HANDLE);
        EQ(georep_budget_return(h, 1), GEOREP_E_HANDLE);
        EQ(georep_budget_charge(h, 1, 1), GEOREP_E_HANDLE);
        EQ(georep_budget_uncharge(h, 1, 1), GEOREP_E_HANDLE);
        EQ(georep_budget_hold(h, 1, 1), GEOREP_E_HANDLE);
        EQ(georep_budget_unhold(h, 1, 1), GEOREP_E_HANDLE);
        EQ(georep_budget_room(h, 1, &v), GEOREP_E_HANDLE);
        EQ(georep_budget_advance(h, 1), GEOREP_E_HANDLE);
        EQ(georep_budget_granted(h, &n, 1, &k, &v), GEOREP_E_HANDLE);
        EQ(georep_budget_status(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_budget_free(h), GEOREP_E_HANDLE);
        EQ(georep_window_step(h, NULL, 0, NULL, 0, &a, 1, &k, &n, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_window_set_remote(h, us, 0, &err), GEOREP_E_HANDLE);
        EQ(georep_window_remote_instance(h, "i1", 2, &err), GEOREP_E_HANDLE);
        EQ(georep_window_want(h, &k, &n), GEOREP_E_HANDLE);
        EQ(georep_window_status(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_window_free(h), GEOREP_E_HANDLE);
        EQ(georep_gate_layout(h, us, &err), GEOREP_E_HANDLE);
        EQ(georep_gate_backlog(h, 1, 1, 1, 1), GEOREP_E_HANDLE);
        EQ(georep_gate_ask(h, &n, 1, &k), GEOREP_E_HANDLE);
        EQ(georep_gate_open(h, &k), GEOREP_E_HANDLE);
        EQ(georep_gate_free(h), GEOREP_E_HANDLE);
        EQ(georep_dedup_check(h, GEOREP_FORM_METADATA, "", 0, &t, &err), GEOREP_E_HANDLE);
        EQ(georep_dedup_persisted(h, &t), GEOREP_E_HANDLE);
        EQ(georep_dedup_failed(h), GEOREP_E_HANDLE);
        EQ(georep_dedup_replay(h, GEOREP_FORM_METADATA, "", 0, &err), GEOREP_E_HANDLE);
        EQ(georep_dedup_snapshot(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_dedup_load(h, p, 1, &err), GEOREP_E_HANDLE);
        EQ(georep_dedup_watermark(h, NULL, 0, &k, &pos, &err), GEOREP_E_HANDLE);
        EQ(georep_dedup_prune(h, NULL, 0, &err), GEOREP_E_HANDLE);
        EQ(georep_dedup_status(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_dedup_free(h), GEOREP_E_HANDLE);
        EQ(georep_converge_step(h, NULL, 0, &err), GEOREP_E_HANDLE);
        EQ(georep_converge_ready(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_converge_status(h, 0, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_converge_free(h), GEOREP_E_HANDLE);
        EQ(georep_exchange_step(h, NULL, 0, &err), GEOREP_E_HANDLE);
        EQ(georep_exchange_ready(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_exchange_status(h, 0, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_exchange_free(h), GEOREP_E_HANDLE);
        EQ(georep_bootstrap_step(h, NULL, 0, &err), GEOREP_E_HANDLE);
        EQ(georep_bootstrap_ready(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_bootstrap_status(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_bootstrap_free(h), GEOREP_E_HANDLE);
        if (i == 0) continue; /* that one is a layout */
        EQ(georep_layout_to_proto(h, p, 64, &n, &err), GEOREP_E_HANDLE);
        EQ(georep_layout_free(h), GEOREP_E_HANDLE);
    }
}

/* Bytes that are almost right: each must be answered, and none may crash or hang. */
static void garbage(georep_layout us) {
    const char *keys[3] = {key_in(1, 0, 0), key_in(2, 0, 0), key_in(1, 1, 0)};
    georep_source src = source_of(0, 65535);
    buf good = {0};
    wire_batch(&good, keys, 3);
    uint8_t *bad = malloc(good.n);
    static uint8_t arena[1 << 14];
    georep_dedup t;
    OK(georep_dedup_new(SEGMENT_1, strlen(SEGMENT_1), 0, &t, &err));
    uint32_t seed = 1, cut = 0, parked = 0;
    for (int i = 0; i < 20000; i++) {
        georep_decision d;
        georep_part part[8];
        georep_layout l;
        uint64_t used, needed;
        uint32_t n;
        memcpy(bad, good.p, good.n);
        for (uint32_t k = i % 4 + 1; k; k--) {
            seed = seed * 1664525 + 1013904223;
            bad[(seed >> 8) % good.n] = (uint8_t)(seed >> 24);
        }
        georep_entry in = {
            .addr = (uintptr_t)bad, .len = (uint32_t)(i % 5 ? good.n : (seed >> 4) % good.n), .ledger = i};
        if (in.len > 6) { /* only what has the right checksum is cut */
            uint32_t crc = crc32c(bad + 6, in.len - 6);
            for (int k = 0; k < 4; k++) bad[2 + k] = (uint8_t)(crc >> (24 - 8 * k));
        }
        georep_status s = georep_place(us, &src, &in, 1, &d, arena, sizeof arena, &used, &needed, &err);
        EQ(s, GEOREP_OK);
        CHECK(d.action >= GEOREP_ACTION_VERBATIM && d.action <= GEOREP_ACTION_DROP);
        CHECK(d.reason != GEOREP_REASON_MALFORMED || d.error_offset <= in.len);
        parked += d.action == GEOREP_ACTION_PARK;
        s = georep_rebatch(us, &src, NULL, &in, arena, sizeof arena, part, 8, &n, &needed, &err);
        if (s != GEOREP_OK && s != GEOREP_E_FORMAT && s != GEOREP_E_UNSUPPORTED && s != GEOREP_E_LIMIT)
            FAIL("re-batch of garbage %d: status %d (%s)", i, s, err.text);
        cut += s == GEOREP_OK;
        s = georep_dedup_replay(t, GEOREP_FORM_ENTRY, bad, in.len, &err);
        CHECK(s == GEOREP_OK || s == GEOREP_E_FORMAT);
        CHECK(georep_layout_from_proto(bad, in.len, &l, &err) == GEOREP_E_FORMAT);
    }
    CHECK(cut > 100 && parked > 100); /* both ways were taken */
    OK(georep_dedup_free(t));
    free(bad);
    buf_free(&good);
}

/* An address behind which there is nothing: reported, and the library goes on. */
static void wild(georep_layout us) {
    uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    CHECK(!mprotect(page + 4096, 4096, PROT_NONE));
    georep_source src = source_of(0, 65535);
    georep_decision d;
    uint64_t n;
    memset(page, 0x0e, 4096);
    page[4090] = 0x0e, page[4091] = 0x01;
    georep_entry in = {.addr = (uintptr_t)page + 4090, .len = 100};
    for (int i = 0; i < 100; i++) STATUS(georep_place(us, &src, &in, 1, &d, NULL, 0, &n, &n, &err), GEOREP_E_FAULT);
    TEXT("can not be accessed");
    STATUS(georep_layout_new(page + 4096, 10, 0, &us, &err), GEOREP_E_FAULT);
    EQ(georep_layout_new("{", 1, 0, &us, (georep_error *)(void *)(page + 4096)), GEOREP_E_FAULT);
    munmap(page, 8192);
}

void check_abuse(void) {
    georep_layout us = layout_of(US_JSON);
    nulls(us);
    foreign(us);
    garbage(us);
    if (!getenv("ABI_NO_FAULTS")) wild(us);
    OK(georep_layout_free(us));
}

static georep_window shared;
static georep_layout shared_layout;

/* Steps one window from several threads while others place, and while it is freed. */
static void *worker(void *arg) {
    georep_error err = {.struct_size = sizeof err}; /* each thread its own */
    georep_source src = source_of(0, 32767);
    const buf *b = arg;
    static const char kinds[] = {GEOREP_EV_TICK, GEOREP_EV_GRANTED, GEOREP_EV_PAUSE};
    uint8_t arena[2048];
    for (int i = 0; i < 3000; i++) {
        georep_event ev = {.kind = (uint32_t)kinds[i % 3], .millis = i, .code = i & 1};
        georep_action a[4];
        georep_decision d;
        georep_entry in = entry_of(b, 1, i);
        uint64_t used, needed;
        uint32_t n;
        georep_status s = georep_window_step(shared, &ev, 1, arena, sizeof arena, a, 4, &n, &used, &needed, &err);
        if (s == GEOREP_E_HANDLE) return NULL; /* freed meanwhile */
        EQ(s, GEOREP_OK);
        EQ(georep_place(shared_layout, &src, &in, 1, &d, arena, sizeof arena, &used, &needed, &err), GEOREP_OK);
        EQ(d.action, GEOREP_ACTION_VERBATIM);
    }
    return NULL;
}

void check_threads(void) {
    pthread_t t[4];
    const char *keys[2] = {key_in(1, 0, 0), key_in(1, 0, 1)};
    buf b = {0};
    wire_batch(&b, keys, 2);
    shared_layout = layout_of(US_JSON);
    for (int round = 0; round < 3; round++) {
        buf c =
            proto_of("WindowConfig", "{\"cluster\":\"eu\",\"remote\":\"us\",\"range\":{\"end\":65535},\"profile\":1,"
                                     "\"topic\":\"" TOPIC "\",\"instance\":\"i\"}");
        OK(georep_window_new(c.p, c.n, &shared, &err));
        buf_free(&c);
        for (int i = 0; i < 4; i++) CHECK(!pthread_create(&t[i], NULL, worker, &b));
        if (round == 1) OK(georep_window_free(shared));
        for (int i = 0; i < 4; i++) CHECK(!pthread_join(t[i], NULL));
        if (round != 1) OK(georep_window_free(shared));
    }
    OK(georep_layout_free(shared_layout));
    buf_free(&b);
}
