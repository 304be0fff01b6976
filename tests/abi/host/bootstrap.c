/* SPDX-License-Identifier: Apache-2.0
 *
 * Where replication of existing data starts: the machine of one cursor, what properties say, and an operator's reset. */
#include "world.h"

#define LEDGERS                                                                                                        \
    "{\"id\":\"10\",\"entries\":\"100\",\"bytes\":\"1000\",\"offload\":3,\"bookies\":2,\"driver\":\"file\"},"          \
    "{\"id\":\"11\",\"entries\":\"50\",\"bytes\":\"500\",\"offload\":%d,\"bookies\":1},"                               \
    "{\"id\":\"12\",\"offload\":1,\"bookies\":1,\"open\":true}"

static void step(georep_bootstrap m, const char *event, georep_status want) {
    buf e = proto_of("BootstrapEvent", event);
    STATUS(georep_bootstrap_step(m, e.p, e.n, &err), want);
    buf_free(&e);
}

static const char *result(georep_bootstrap m) {
    static uint8_t out[4096];
    uint64_t n = 0, again = 0;
    if (georep_bootstrap_ready(m, NULL, 0, &n, &err) == GEOREP_E_SPACE) { /* nothing is forgotten by that */
        STATUS(georep_bootstrap_ready(m, NULL, 0, &again, &err), GEOREP_E_SPACE);
        EQ(again, n);
        OK(georep_bootstrap_ready(m, out, sizeof out, &n, &err));
    }
    return json_of("BootstrapResult", out, n);
}

static void is(const char *got, const char *want) {
    if (strcmp(got, want)) FAIL("%s, want %s", got, want);
}

static void machine(void) {
    georep_bootstrap m = 0;
    static uint8_t out[4096];
    char read[1024];
    uint64_t n = 0;
    STATUS(georep_bootstrap_new(NULL, 0, &m, &err), GEOREP_E_ARG);
    TEXT("remote: empty");
    buf c = proto_of("BootstrapConfig", "{\"remote\":\"us\",\"segment\":\"7\",\"nowMillis\":\"5\","
                                        "\"end\":{\"ledger\":\"12\"},\"lineage\":[{\"id\":\"3\"}]}");
    OK(georep_bootstrap_new(c.p, c.n, &m, &err));
    buf_free(&c);
    is(result(m),
       "{\"actions\":[{\"hold\":{\"end\":{\"ledger\":\"12\"},\"sinceMillis\":\"5\"}}],\"wakeAtMillis\":\"-1\"}");
    step(m, "{\"placed\":{}}", GEOREP_E_FORMAT); /* not asked for */
    TEXT("not asked for while holding");
    step(m, "{}", GEOREP_E_FORMAT);
    TEXT("event: absent");
    step(m, "{\"held\":{}}", GEOREP_OK);
    is(result(m), "{\"actions\":[{\"read\":{}}],\"wakeAtMillis\":\"-1\"}");
    snprintf(read, sizeof read,
             "{\"nowMillis\":\"6\",\"read\":{\"policy\":{\"remote\":\"us\",\"topicProperties\":"
             "{\"georep.startAt.us\":\"earliestNotOffloaded\"}},\"log\":{\"ledgers\":[" LEDGERS "]}}}",
             4);
    step(m, read, GEOREP_OK); /* what cannot be read is not guessed */
    is(result(m), "{\"wakeAtMillis\":\"1006\"}");
    step(m, "{\"nowMillis\":\"1006\",\"tick\":{}}", GEOREP_OK);
    is(result(m), "{\"actions\":[{\"read\":{}}],\"wakeAtMillis\":\"-1\"}");
    snprintf(read, sizeof read,
             "{\"nowMillis\":\"1007\",\"read\":{\"policy\":{\"remote\":\"us\",\"namespaceProperties\":"
             "{\"georep.startAt\":\"earliestNotOffloaded\"}},\"log\":{\"ledgers\":[" LEDGERS "]}}}",
             1);
    step(m, read, GEOREP_OK);
    const char *place = result(m);
    CHECK(strstr(place,
                 "{\"place\":{\"action\":\"START_ACTION_START\",\"asked\":{\"at\":\"START_AT_EARLIEST_NOT_OFFLOADED"));
    CHECK(strstr(place, "\"source\":\"namespace georep.startAt\",\"start\":{\"ledger\":\"11\"},"
                        "\"horizon\":{\"ledger\":\"10\",\"entry\":\"99\"}"));
    CHECK(strstr(place, "\"entries\":\"100\",\"bytes\":\"1000\",\"offloadedEntries\":\"100\""));
    CHECK(strstr(place, "\"lineage\":[{\"id\":\"3\"}],\"plannedMillis\":\"1007\""));
    step(m, "{\"placed\":{}}", GEOREP_OK);
    is(result(m), "{\"actions\":[{\"begin\":{}}],\"wakeAtMillis\":\"-1\"}");
    is(result(m), "{\"wakeAtMillis\":\"-1\"}");
    OK(georep_bootstrap_status(m, out, sizeof out, &n, &err));
    CHECK(strstr(json_of("BootstrapStatus", out, n), "{\"state\":\"placed\",\"tries\":1,\"sinceMillis\":\"5\""));
    OK(georep_bootstrap_free(m));
    EQ(georep_bootstrap_free(m), GEOREP_E_HANDLE);
}

/* What a pure call answers, as JSON. */
static const char *answer(georep_status (*call)(const void *, uint32_t, void *, uint64_t, uint64_t *, georep_error *),
                          const char *question, const char *json, const char *reply) {
    static uint8_t out[8192];
    uint64_t n = 0;
    buf q = proto_of(question, json);
    OK(call(q.p, q.n, out, sizeof out, &n, &err));
    buf_free(&q);
    return json_of(reply, out, n);
}

static void choices(void) {
    is(answer(georep_start_choose, "StartQuery", "{\"remote\":\"us\",\"text\":\"12:34\"}", "StartChoice"),
       "{\"start\":{\"at\":\"START_AT_POSITION\",\"position\":{\"ledger\":\"12\",\"entry\":\"34\"}},"
       "\"source\":\"operator\",\"ordinary\":\"START_AT_LATEST\",\"text\":\"12:34\"}");
    CHECK(strstr(answer(georep_start_choose, "StartQuery", "{\"remote\":\"us\",\"text\":\"soon\"}", "StartChoice"),
                 "\"trouble\":\"bootstrap: bad start: \\\"soon\\\" is none of earliest"));
}

static void resets(void) {
    char text[4096];
    const char *known = "{\"remote\":\"us\",\"to\":{\"at\":1},%s\"known\":[{\"segment\":\"1\",\"published\":true,"
                        "\"generation\":\"4\",\"log\":{\"sealed\":true,\"ledgers\":[{\"id\":\"10\",\"entries\":\"4\","
                        "\"bytes\":\"40\",\"offload\":3,\"bookies\":2}]},\"next\":{\"ledger\":\"10\",\"entry\":\"4\"}},"
                        "{\"segment\":\"2\",\"parents\":[\"1\"],\"published\":true,\"generation\":\"1\",\"log\":"
                        "{\"ledgers\":[{\"id\":\"11\",\"entries\":\"6\",\"bytes\":\"60\",\"offload\":1,\"bookies\":1,"
                        "\"open\":true}]},\"next\":{\"ledger\":\"11\",\"entry\":\"2\"}}]}";
    snprintf(text, sizeof text, known, "\"segments\":[\"1\"],");
    const char *plan = answer(georep_reset_plan, "ResetRequest", text, "ResetPlan");
    CHECK(strstr(plan, "\"refused\":\"segment 2 follows 1 and has published already: reset segments 1, 2 together"));
    CHECK(strstr(plan, "\"together\":[\"1\",\"2\"]"));
    snprintf(text, sizeof text, known, "");
    plan = answer(georep_reset_plan, "ResetRequest", text, "ResetPlan");
    CHECK(!strstr(plan, "refused"));
    CHECK(strstr(plan, "{\"segment\":\"2\",\"start\":{\"ledger\":\"11\"},\"generation\":\"2\",\"readEntries\":\"6\","
                       "\"readBytes\":\"60\",\"againEntries\":\"2\",\"againBytes\":\"20\""));
    CHECK(strstr(plan, "\"total\":{\"readEntries\":\"10\",\"readBytes\":\"100\",\"readOffloadedBytes\":\"40\","
                       "\"againEntries\":\"6\",\"againBytes\":\"60\",\"againOffloadedBytes\":\"40\"}"));
    uint64_t n = 0;
    buf q = proto_of("ResetRequest", "{\"to\":{\"at\":1},\"known\":[{\"log\":{\"ledgers\":[{\"entries\":\"-4\"}]}}]}");
    STATUS(georep_reset_plan(q.p, q.n, NULL, 0, &n, &err), GEOREP_E_FORMAT);
    TEXT("segment 0: bootstrap: bad ledgers: ledger 0: -4 entries");
    buf_free(&q);
}

void check_bootstrap(void) {
    machine();
    choices();
    resets();
}
