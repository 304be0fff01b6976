/* SPDX-License-Identifier: Apache-2.0
 *
 * Tier "advanced" but for the window: budget, gate, dedup. */
#include "world.h"

void check_budget(void) {
    buf c = proto_of("BudgetConfig", "{\"bytesPerSecond\":1000,\"burstBytes\":1000,\"slots\":1,\"inFlightBytes\":500,"
                                     "\"inFlightBytesPerRemote\":400}");
    georep_budget b = 0;
    uint64_t keys[4];
    uint32_t n = 9;
    int64_t wake = -1, room = -1;
    OK(georep_budget_new(c.p, c.n, &b, &err));
    OK(georep_budget_advance(b, 1));
    OK(georep_budget_request(b, 70, 1, 300));
    OK(georep_budget_request(b, 71, 1, 300));
    OK(georep_budget_granted(b, keys, 4, &n, &wake));
    EQ(n, 1); /* one slot */
    EQ(keys[0], 70);
    EQ(wake, 0); /* no time to wait for: no slot is free */
    OK(georep_budget_return(b, 70));
    OK(georep_budget_granted(b, keys, 4, &n, &wake));
    EQ(n, 1);
    EQ(keys[0], 71);
    OK(georep_budget_room(b, 1, &room));
    EQ(room, 100); /* what it may put in flight is set aside for the grant */
    OK(georep_budget_return(b, 71));
    OK(georep_budget_room(b, 1, &room));
    EQ(room, 400);
    OK(georep_budget_charge(b, 1, 150));
    OK(georep_budget_room(b, 1, &room));
    EQ(room, 250);
    OK(georep_budget_uncharge(b, 1, 150));
    OK(georep_budget_room(b, 1, &room));
    EQ(room, 400);
    OK(georep_budget_hold(b, 1, 120)); /* read, not sent: bounds reading only */
    OK(georep_budget_room(b, 1, &room));
    EQ(room, 280);
    OK(georep_budget_unhold(b, 1, 120));
    OK(georep_budget_room(b, 1, &room));
    EQ(room, 400);
    EQ(georep_budget_hold(b, 1, -1), GEOREP_E_ARG);
    EQ(georep_budget_unhold(b, 1, -1), GEOREP_E_ARG);
    EQ(georep_budget_charge(b, 1, -1), GEOREP_E_ARG);
    EQ(georep_budget_uncharge(b, 1, -1), GEOREP_E_ARG);

    /* The bucket holds 400 of 1000 now; 500 take another 100 ms. */
    OK(georep_budget_request(b, 72, 2, 500));
    OK(georep_budget_granted(b, keys, 4, &n, &wake));
    EQ(n, 0);
    EQ(wake, 1 + 100000000);
    OK(georep_budget_advance(b, wake));
    OK(georep_budget_granted(b, keys, 0, &n, NULL)); /* no room for the grant: it is kept */
    EQ(n, 0);
    uint8_t p[512];
    uint64_t len;
    STATUS(georep_budget_status(b, NULL, 0, &len, &err), GEOREP_E_SPACE);
    OK(georep_budget_status(b, p, sizeof p, &len, &err));
    CHECK(strstr(json_of("BudgetStatus", p, len), "\"slotsInUse\":1"));
    CHECK(strstr(json_of("BudgetStatus", p, len), "{\"name\":\"grants\",\"value\":\"3\"}"));
    OK(georep_budget_granted(b, keys, 4, &n, NULL));
    EQ(n, 1);
    EQ(keys[0], 72);
    OK(georep_budget_free(b));
    EQ(georep_budget_free(b), GEOREP_E_HANDLE);
    buf_free(&c);

    c = proto_of("BudgetConfig", "{\"bytesPerSecond\":0,\"slots\":1}");
    STATUS(georep_budget_new(c.p, c.n, &b, &err), GEOREP_E_ARG);
    buf_free(&c);
}

void check_gate(void) {
    georep_layout us = layout_of(US_JSON);
    georep_gate g = 0;
    uint64_t ask[4];
    uint32_t n = 9, open = 9;
    OK(georep_gate_new(1, &g, &err)); /* child of the sealed segment 0 */
    OK(georep_gate_open(g, &open));
    EQ(open, 0);
    OK(georep_gate_layout(g, us, &err));
    OK(georep_gate_ask(g, ask, 4, &n));
    EQ(n, 1);
    EQ(ask[0], 0);
    EQ(georep_gate_ask(g, ask, 0, &n), GEOREP_E_SPACE);
    EQ(n, 1);
    OK(georep_gate_backlog(g, 0, 0, 0, 1)); /* read before the seal: does not count */
    OK(georep_gate_backlog(g, 0, 1, 5, 1));
    OK(georep_gate_backlog(g, 0, 1, 0, 0)); /* no cursor: not drained */
    OK(georep_gate_open(g, &open));
    EQ(open, 0);
    EQ(georep_gate_backlog(g, 0, 1, -1, 1), GEOREP_E_ARG);
    OK(georep_gate_backlog(g, 0, 1, 0, 1));
    OK(georep_gate_open(g, &open));
    EQ(open, 1);
    OK(georep_gate_ask(g, ask, 4, &n));
    EQ(n, 0);
    OK(georep_gate_free(g));
    EQ(georep_gate_open(g, &open), GEOREP_E_HANDLE);
    OK(georep_layout_free(us));
}

/* An entry as the destination gets it: placed by the library, bound to segment 1. */
static void replicated(buf *out, georep_layout us, int64_t ledger, int64_t entry) {
    georep_source src = source_of(0, 32767);
    const char *keys[2] = {key_in(1, 0, 0), key_in(1, 0, 1)};
    buf b = {0};
    uint8_t arena[2048];
    uint64_t used, needed;
    georep_decision d;
    wire_batch(&b, keys, 2);
    georep_entry in = entry_of(&b, ledger, entry);
    OK(georep_place(us, &src, &in, 1, &d, arena, sizeof arena, &used, &needed, &err));
    EQ(d.action, GEOREP_ACTION_VERBATIM);
    out->n = 0;
    buf_bytes(out, at(d.header_addr), d.header_len);
    buf_bytes(out, b.p + d.payload_offset, d.payload_len);
    buf_free(&b);
}

void check_dedup(void) {
    georep_layout us = layout_of(US_JSON);
    georep_dedup t = 0, other = 0, small = 0;
    georep_dedup_ticket first = {.struct_size = sizeof first}, k = first;
    georep_position pos;
    uint32_t found = 9;
    buf e1 = {0}, e2 = {0},
        key =
            proto_of("OriginKey", "{\"cluster\":\"eu\",\"instance\":\"" INSTANCE "\",\"segment\":5,\"generation\":3}");
    replicated(&e1, us, 8, 1);
    replicated(&e2, us, 8, 2);
    OK(georep_dedup_new(SEGMENT_1, strlen(SEGMENT_1), 0, &t, &err));
    OK(georep_dedup_new(SEGMENT_2, strlen(SEGMENT_2), 0, &other, &err));

    OK(georep_dedup_check(t, GEOREP_FORM_ENTRY, e1.p, e1.n, &first, &err));
    EQ(first.verdict, GEOREP_VERDICT_NEW);
    EQ(first.ledger, 8);
    EQ(first.entry, 1);
    CHECK(first.part == GEOREP_WHOLE);
    EQ(first.segment, 5);
    EQ(first.generation, 3);
    OK(georep_dedup_check(t, GEOREP_FORM_ENTRY, e1.p, e1.n, &k, &err));
    EQ(k.verdict, GEOREP_VERDICT_UNKNOWN); /* pushed, not known to be stored */
    OK(georep_dedup_persisted(t, &k));     /* no NEW: proves nothing */
    OK(georep_dedup_watermark(t, key.p, key.n, &found, &pos, &err));
    EQ(found, 0);
    OK(georep_dedup_failed(t));
    OK(georep_dedup_check(t, GEOREP_FORM_ENTRY, e1.p, e1.n, &first, &err));
    EQ(first.verdict, GEOREP_VERDICT_NEW);
    OK(georep_dedup_persisted(t, &first));
    OK(georep_dedup_watermark(t, key.p, key.n, &found, &pos, &err));
    EQ(found, 1);
    EQ(pos.ledger, 8);
    EQ(pos.entry, 1);
    CHECK(pos.part == GEOREP_WHOLE);

    /* The metadata alone says the same as the whole entry. */
    uint32_t m = (uint32_t)e1.p[6] << 24 | e1.p[7] << 16 | e1.p[8] << 8 | e1.p[9];
    OK(georep_dedup_check(t, GEOREP_FORM_METADATA, e1.p + 10, m, &k, &err));
    EQ(k.verdict, GEOREP_VERDICT_DUPLICATE);
    OK(georep_dedup_persisted(t, &k)); /* no NEW: changes nothing */

    /* Bound to segment 1: nothing to segment 2. */
    OK(georep_dedup_check(other, GEOREP_FORM_ENTRY, e1.p, e1.n, &k, &err));
    EQ(k.verdict, GEOREP_VERDICT_NOT_OURS);
    STATUS(georep_dedup_check(t, GEOREP_FORM_ENTRY, e1.p, 7, &k, &err), GEOREP_E_FORMAT);
    STATUS(georep_dedup_check(t, 7, e1.p, e1.n, &k, &err), GEOREP_E_ARG);

    /* Reload: snapshot, then what was stored after it. */
    uint8_t snap[512], p[512];
    uint64_t n = 0, len = 0;
    STATUS(georep_dedup_snapshot(t, snap, 3, &n, &err), GEOREP_E_SPACE);
    OK(georep_dedup_snapshot(t, snap, n, &len, &err));
    EQ(len, n);
    georep_dedup fresh = 0;
    OK(georep_dedup_new(SEGMENT_1, strlen(SEGMENT_1), 0, &fresh, &err));
    STATUS(georep_dedup_load(other, snap, n, &err), GEOREP_E_FORMAT); /* of another topic */
    OK(georep_dedup_load(fresh, snap, n, &err));
    OK(georep_dedup_check(fresh, GEOREP_FORM_ENTRY, e1.p, e1.n, &k, &err));
    EQ(k.verdict, GEOREP_VERDICT_DUPLICATE);
    OK(georep_dedup_replay(fresh, GEOREP_FORM_ENTRY, e2.p, e2.n, &err));
    OK(georep_dedup_watermark(fresh, key.p, key.n, &found, &pos, &err));
    EQ(pos.entry, 2);
    OK(georep_dedup_status(fresh, p, sizeof p, &len, &err));
    CHECK(!strcmp(json_of("DedupStatus", p, len),
                  "{\"boundTopic\":\"" SEGMENT_1 "\",\"entries\":[{\"key\":{\"cluster\":\"eu\",\"instance\":\"" INSTANCE
                  "\",\"segment\":\"5\",\"generation\":\"3\"},\"position\":{\"ledger\":\"8\",\"entry\":\"2\"}}],"
                  "\"maxKeys\":65536}"));
    OK(georep_dedup_prune(fresh, key.p, key.n, &err));
    OK(georep_dedup_watermark(fresh, key.p, key.n, &found, &pos, &err));
    EQ(found, 0);

    /* A table that is full refuses new origins. */
    OK(georep_dedup_new(SEGMENT_1, strlen(SEGMENT_1), 1, &small, &err));
    OK(georep_dedup_check(small, GEOREP_FORM_ENTRY, e1.p, e1.n, &k, &err));
    EQ(k.verdict, GEOREP_VERDICT_NEW);
    STATUS(georep_dedup_new(NULL, 0, 1, &small, &err), GEOREP_E_ARG);

    OK(georep_dedup_free(t));
    OK(georep_dedup_free(other));
    OK(georep_dedup_free(fresh));
    OK(georep_dedup_free(small));
    EQ(georep_dedup_failed(t), GEOREP_E_HANDLE);
    buf_free(&e1), buf_free(&e2), buf_free(&key);
    OK(georep_layout_free(us));
}
