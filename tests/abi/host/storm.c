/* SPDX-License-Identifier: Apache-2.0
 *
 * A small remote cluster around one window, driven through the ABI alone: segments that split twice
 * under way, sends that fail with and without being stored, late and failing deletes. At the end
 * every message is stored once, every entry deleted and its memory given back.
 *
 * Memory that is released is freed at once, so that AddressSanitizer sees the library touch it.
 * ABI_SEED=n takes another course. */
#include "world.h"

enum { ENTRIES = 1500, KEYS = 6, DESTS = 5, QUEUE = 4096, ACTIONS = 32, EVENTS = 64 };

typedef struct message { /* one publish in flight */
    uint64_t id;
    int64_t entry, part;
    buf header, payload;
} message;

typedef struct dest {
    int sealed, any;      /* any: something of ours is stored */
    int64_t entry, part;  /* the highest */
    message queue[QUEUE]; /* sent, without outcome, in order */
    uint32_t head, tail;
} dest;

static dest dests[DESTS];
static buf entries[ENTRIES];
static uint8_t stored[ENTRIES][KEYS], messages[ENTRIES];
static char released[ENTRIES], deleted[ENTRIES];
static georep_event ev[EVENTS];
static uint32_t n_ev, seed = 7;
static int asked_budget, asked_mark[DESTS], to_delete[ENTRIES], n_delete, ambiguous, duplicates, failures, parts;

static uint32_t roll(uint32_t n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static georep_event *event(uint32_t kind) {
    CHECK(n_ev < EVENTS);
    ev[n_ev] = (georep_event){.kind = kind};
    return &ev[n_ev++];
}

static int64_t storing;

static void store_message(void *arg, const char *key, const char *body) {
    uint32_t h = hash_of(key), id = *(uint32_t *)arg;
    /* Segment 0 is the ring; 1 and 2 its halves; 3 and 4 the halves of 1. */
    uint32_t want[DESTS] = {0, h >> 31 ? 2 : 1, h >> 31 ? 2 : 1, 0, 0};
    if (id == 3 || id == 4)
        EQ(h >> 30, id - 3);
    else if (id)
        EQ(want[1], id);
    stored[storing][atoi(body + 5)]++;
}

/* What the destination does with one publish: 1 stored, 0 had it already. */
static int publish(uint32_t id, const message *m) {
    dest *d = &dests[id];
    if (d->any && (m->entry < d->entry || (m->entry == d->entry && m->part <= d->part))) return 0;
    frame f = wire_frame(m->header.p, m->header.n, m->payload.p, m->payload.n);
    d->any = 1;
    d->entry = m->entry;
    d->part = m->part;
    storing = m->entry;
    wire_each(&f, store_message, &id);
    return 1;
}

static void outcome(dest *d, uint32_t code) {
    message *m = &d->queue[d->head++ % QUEUE];
    georep_event *e = event(GEOREP_EV_OUTCOME);
    e->id = m->id;
    e->code = code;
    buf_free(&m->header);
    buf_free(&m->payload);
}

/* The connection is gone: nobody knows of any send to it, and a few at the front are stored. */
static void lose(uint32_t id, uint32_t kept) {
    dest *d = &dests[id];
    while (d->head != d->tail && n_ev < EVENTS - 8) {
        if (kept && !d->sealed) {
            kept--;
            ambiguous += publish(id, &d->queue[d->head % QUEUE]);
        } else {
            kept = 0;
        }
        outcome(d, GEOREP_OUTCOME_UNKNOWN);
    }
}

static void answer(uint32_t id) {
    dest *d = &dests[id];
    if (d->head == d->tail || roll(3) == 0) return;
    if (d->sealed) {
        if (roll(2)) event(GEOREP_EV_SEALED)->id = id;
        lose(id, 0);
    } else if (roll(30) == 0) {
        failures++;
        lose(id, roll(4));
    } else {
        int fresh = publish(id, &d->queue[d->head % QUEUE]);
        duplicates += !fresh;
        outcome(d, fresh ? GEOREP_OUTCOME_ACKED : GEOREP_OUTCOME_DUPLICATE);
    }
}

/* Events of one round: outcomes, deletes, what was asked for, time. */
static void round_events(int64_t now) {
    event(GEOREP_EV_TICK)->millis = now;
    for (uint32_t id = 0; id < DESTS; id++) {
        if (n_ev < EVENTS / 2) answer(id);
        if (!asked_mark[id] || roll(2)) continue;
        asked_mark[id] = 0;
        georep_event *e = event(GEOREP_EV_WATERMARK);
        e->id = id;
        e->code = !dests[id].sealed ? GEOREP_WATERMARK_NOT_FINAL
                  : dests[id].any   ? GEOREP_WATERMARK_KNOWN
                                    : GEOREP_WATERMARK_NONE;
        e->ledger = 1;
        e->entry = dests[id].entry;
        e->part = dests[id].part;
    }
    if (asked_budget && roll(2)) asked_budget = 0, event(GEOREP_EV_GRANTED);
    for (; n_delete && n_ev < EVENTS - 8; n_delete--) {
        int i = to_delete[n_delete - 1];
        georep_event *e = event(roll(10) ? GEOREP_EV_DELETED : GEOREP_EV_DELETE_FAILED);
        e->ledger = 1;
        e->entry = i;
        if (e->kind == GEOREP_EV_DELETED) deleted[i] = 1;
    }
}

static void carry_out(const georep_action *a) {
    dest *d = &dests[a->segment % DESTS];
    switch (a->kind) {
    case GEOREP_DO_SEND: {
        CHECK(d->tail - d->head < QUEUE && !released[a->entry]);
        message *m = &d->queue[d->tail++ % QUEUE];
        *m = (message){.id = a->send_id, .entry = a->entry, .part = a->part};
        buf_bytes(&m->header, at(a->header_addr), a->header_len);
        buf_bytes(&m->payload, at(a->payload_addr), a->payload_len);
        parts += a->path == GEOREP_ACTION_REBATCH;
        break;
    }
    case GEOREP_DO_DELETE:
        CHECK(!deleted[a->entry]);
        for (int k = 0; k < messages[a->entry]; k++) EQ(stored[a->entry][k], 1);
        to_delete[n_delete++] = (int)a->entry;
        break;
    case GEOREP_DO_RELEASE:
        CHECK(!released[a->entry]);
        released[a->entry] = 1;
        buf_free(&entries[a->entry]);
        break;
    case GEOREP_DO_ASK_BUDGET:
        asked_budget = 1;
        break;
    case GEOREP_DO_RETURN_BUDGET:
        asked_budget = 0;
        break;
    case GEOREP_DO_ASK_WATERMARK:
        asked_mark[a->segment] = 1;
        break;
    case GEOREP_DO_CLOSE_PRODUCER:
        lose((uint32_t)a->segment, 0);
        break;
    default:
        FAIL("action %u of entry %" PRId64 ", reason %u", a->kind, a->entry, a->reason);
    }
}

static void offer_entry(int i) {
    const char *keys[KEYS];
    char names[KEYS][16];
    messages[i] = (uint8_t)(1 + roll(KEYS));
    for (int k = 0; k < messages[i]; k++) {
        snprintf(names[k], sizeof names[k], "key-%u", roll(50));
        keys[k] = names[k];
    }
    wire_batch(&entries[i], keys, messages[i]);
    georep_event *e = event(GEOREP_EV_OFFER);
    e->addr = (uintptr_t)entries[i].p;
    e->len = (uint32_t)entries[i].n;
    e->ledger = 1;
    e->entry = i;
}

#define SEGMENT(id, start, end, state, parents, children)                                                              \
    "\"" #id "\":{\"segmentId\":" #id ",\"hashRange\":{\"start\":" #start ",\"end\":" #end "},\"state\":\"" #state     \
    "\",\"parentIds\":[" parents "],\"childIds\":[" children "],\"entryBucketSplits\":[]}"

static const char *const LAYOUTS[3] = {
    "{\"epoch\":1,\"segments\":{" SEGMENT(0, 0, 65535, ACTIVE, "", "") "}}",
    "{\"epoch\":2,\"segments\":{" SEGMENT(0, 0, 65535, SEALED, "", "1,2") "," SEGMENT(
        1, 0, 32767, ACTIVE, "0", "") "," SEGMENT(2, 32768, 65535, ACTIVE, "0", "") "}}",
    "{\"epoch\":3,\"segments\":{" SEGMENT(0, 0, 65535, SEALED, "", "1,2") "," SEGMENT(
        1, 0, 32767, SEALED, "0", "3,4") "," SEGMENT(2, 32768, 65535, ACTIVE, "0",
                                                     "") "," SEGMENT(3, 0, 16383, ACTIVE, "1",
                                                                     "") "," SEGMENT(4, 16384, 32767, ACTIVE, "1",
                                                                                     "") "}}"};

/* The remote splits: the parent takes nothing more; the source learns it some rounds later. */
static void layout_step(georep_window w, int next, int *shown, int *wait) {
    int want = next < ENTRIES / 3 ? 0 : next < 2 * ENTRIES / 3 ? 1 : 2;
    if (*shown < want && *wait < 0) {
        *wait = (int)roll(20);
        dests[*shown].sealed = 1; /* 0, then 1 */
    }
    if (*shown < want && (*wait)-- <= 0) {
        georep_layout l = layout_of(LAYOUTS[++*shown]);
        OK(georep_window_set_remote(w, l, 0, &err));
        OK(georep_layout_free(l));
        *wait = -1;
    }
}

static georep_window storm_window(void) {
    buf c = proto_of("WindowConfig", "{\"cluster\":\"eu\",\"remote\":\"us\",\"segment\":5,\"range\":{\"end\":65535},"
                                     "\"profile\":2,\"topic\":\"" TOPIC "\",\"instance\":\"i\",\"generation\":1,"
                                     "\"maxInFlightEntries\":40,\"retryMillis\":10}");
    georep_window w;
    OK(georep_window_new(c.p, c.n, &w, &err));
    buf_free(&c);
    georep_layout l = layout_of(LAYOUTS[0]);
    OK(georep_window_set_remote(w, l, 0, &err));
    OK(georep_layout_free(l));
    event(GEOREP_EV_GATE)->code = 1;
    return w;
}

void check_storm(void) {
    if (getenv("ABI_SEED")) seed = (uint32_t)strtoul(getenv("ABI_SEED"), NULL, 10);
    georep_window w = storm_window();
    static uint8_t arena[1 << 13];
    int next = 0, done = 0, shown = 0, wait = -1;
    for (int64_t now = 1; done < ENTRIES; now += 5) {
        uint32_t want, n;
        uint64_t bytes, used, needed;
        if (now > 2000000) FAIL("%d of %d entries after %" PRId64 " ms", done, ENTRIES, now);
        round_events(now);
        OK(georep_window_want(w, &want, &bytes));
        for (; want && next < ENTRIES && n_ev < EVENTS - 4 && roll(3); want--) offer_entry(next++);
        do {
            georep_action act[ACTIONS];
            uint32_t given = n_ev;
            n_ev = 0;
            OK(georep_window_step(w, ev, given, arena, sizeof arena, act, ACTIONS, &n, &used, &needed, &err));
            for (uint32_t i = 0; i < given; i++) EQ(ev[i].result, GEOREP_OK);
            for (uint32_t i = 0; i < n; i++) carry_out(&act[i]);
        } while (n == ACTIONS || needed);
        layout_step(w, next, &shown, &wait);
        for (done = 0; done < ENTRIES && released[done] && deleted[done];) done++;
    }
    OK(georep_window_free(w));
    printf("  %d entries, %d parts, %d failures, %d stored without a receipt, %d receipts \"duplicate\"\n", ENTRIES,
           parts, failures, ambiguous, duplicates);
    for (int i = 0; i < ENTRIES; i++)
        for (int k = 0; k < messages[i]; k++) EQ(stored[i][k], 1);
    CHECK(parts > 100 && failures > 10 && ambiguous > 10 && duplicates > 0 && shown == 2);
}
