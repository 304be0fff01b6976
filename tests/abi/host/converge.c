/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout algebra, and two clusters that agree on a layout by messages alone. */
#include "world.h"

/* The georep.v1.Layout of a record, as JSON in the caller's memory. */
static void layout_json(char *to, size_t cap, const char *record) {
    static uint8_t p[4096];
    uint64_t n = 0;
    georep_layout l = layout_of(record);
    OK(georep_layout_to_proto(l, p, sizeof p, &n, &err));
    CHECK(snprintf(to, cap, "%s", json_of("Layout", p, n)) < (int)cap);
    OK(georep_layout_free(l));
}

static void algebra(void) {
    static char us[4096], eu[4096], text[9000];
    static uint8_t out[4096];
    uint64_t n = 0;
    layout_json(us, sizeof us, US_JSON);
    layout_json(eu, sizeof eu, EU_JSON);

    snprintf(text, sizeof text, "{\"layouts\":[%s,%s]}", eu, us);
    buf q = proto_of("JoinRequest", text);
    STATUS(georep_join(q.p, q.n, NULL, 0, &n, &err), GEOREP_E_SPACE);
    CHECK(n > 0 && n < sizeof out);
    OK(georep_join(q.p, q.n, out, sizeof out, &n, &err));
    CHECK(!strcmp(json_of("Shape", out, n), "{\"profile\":\"PROFILE_PIP486\",\"segments\":[{\"bucketStarts\":[32768]},"
                                            "{\"start\":32768,\"bucketStarts\":[32768]}]}"));
    buf_free(&q);

    snprintf(text, sizeof text, "{\"local\":%s,\"peers\":[%s]}", eu, us);
    q = proto_of("PlanRequest", text);
    OK(georep_plan(q.p, q.n, out, sizeof out, &n, &err));
    CHECK(strstr(json_of("PlanResponse", out, n),
                 "\"ops\":[{\"kind\":\"LAYOUT_OP_KIND_SPLIT_EXPLICIT\",\"parents\":[\"0\"]"));
    buf_free(&q);
    snprintf(text, sizeof text, "{\"local\":%s,\"peers\":[%s],\"caps\":{\"maxSegments\":1}}", eu, us);
    q = proto_of("PlanRequest", text);
    STATUS(georep_plan(q.p, q.n, out, sizeof out, &n, &err), GEOREP_E_LIMIT);
    TEXT("2 segments, 1 allowed");
    buf_free(&q);

    snprintf(text, sizeof text, "{\"local\":%s,\"peer\":%s}", eu, us);
    q = proto_of("DiffRequest", text);
    OK(georep_diff(q.p, q.n, out, sizeof out, &n, &err));
    CHECK(!strcmp(json_of("DiffResponse", out, n), "{\"diverged\":[{\"range\":{\"end\":65535},\"localSegments\":1,"
                                                   "\"peerSegments\":2,\"localIsCoarser\":true}]}"));
    buf_free(&q);
    STATUS(georep_join("x", 1, out, sizeof out, &n, &err), GEOREP_E_FORMAT);
    STATUS(georep_join(NULL, 0, out, sizeof out, &n, &err), GEOREP_E_FORMAT);
}

static georep_converge machine(const char *cluster, const char *record) {
    static char text[4096];
    georep_converge m = 0;
    snprintf(text, sizeof text, "{\"cluster\":\"%s\",\"topic\":\"" TOPIC "\"}", cluster);
    buf c = proto_of("ConvergeConfig", text);
    OK(georep_converge_new(c.p, c.n, &m, &err));
    buf_free(&c);
    char *q = text + sprintf(text, "{\"stored\":\"");
    for (; *record; record++) {
        if (*record == '"') *q++ = '\\';
        *q++ = *record;
    }
    strcpy(q, "\"}");
    buf e = proto_of("ConvergeEvent", text);
    OK(georep_converge_step(m, e.p, e.n, &err));
    buf_free(&e);
    return m;
}

static void feed(georep_converge m, const char *event) {
    buf e = proto_of("ConvergeEvent", event);
    OK(georep_converge_step(m, e.p, e.n, &err));
    buf_free(&e);
}

static const char *result(georep_converge m) {
    static uint8_t out[8192];
    uint64_t n = 0, again = 0;
    if (georep_converge_ready(m, NULL, 0, &n, &err) == GEOREP_E_SPACE) { /* nothing is forgotten by that */
        STATUS(georep_converge_ready(m, NULL, 0, &again, &err), GEOREP_E_SPACE);
        EQ(n, again);
        OK(georep_converge_ready(m, out, sizeof out, &n, &err));
    }
    return json_of("ConvergeResult", out, n);
}

void check_converge(void) {
    algebra();
    georep_converge eu = machine("eu", EU_JSON), bad = 0;
    feed(eu, "{\"nowMillis\":\"1\",\"members\":{\"clusters\":[\"eu\",\"us\"]}}");
    feed(eu, "{\"nowMillis\":\"1\",\"lead\":{\"term\":\"1\"}}");
    CHECK(strstr(result(eu), "{\"push\":{\"cluster\":\"us\",\"token\":\"1\",\"state\":{\"cluster\":\"eu\""));
    CHECK(!strcmp(result(eu), "{\"wakeAtMillis\":\"60001\"}")); /* a new leader waits so long for its peers */
    feed(eu, "{\"nowMillis\":\"2\",\"pushFailed\":{\"cluster\":\"us\",\"token\":\"1\",\"text\":\"refused\"}}");
    CHECK(!strcmp(result(eu), "{\"wakeAtMillis\":\"502\"}"));
    feed(
        eu,
        "{\"nowMillis\":\"2\",\"received\":{\"token\":\"9\",\"state\":{\"cluster\":\"us\",\"instance\":\"i\",\"epoch\":"
        "\"4\",\"shape\":{\"profile\":\"PROFILE_PIP486\",\"segments\":[{},{\"start\":32768}]},\"caps\":{"
        "\"maxSegments\":8,"
        "\"maxBuckets\":8}}}}");
    const char *mutation = result(eu);
    CHECK(strstr(mutation, "\"mutate\":{\"token\":\"2\",\"ops\":[{\"kind\":\"LAYOUT_OP_KIND_SPLIT_MIDPOINT\""));
    CHECK(strstr(mutation, "\"childIds\":[\"1\",\"2\"]"));
    CHECK(strstr(mutation, "\"georep.splits\":\"[[32768,0,65535]]\""));

    static uint8_t out[4096];
    uint64_t n = 0;
    OK(georep_converge_status(eu, 5, out, sizeof out, &n, &err));
    CHECK(strstr(json_of("ConvergeStatus", out, n), "\"mutating\":\"fold\""));
    CHECK(strstr(json_of("ConvergeStatus", out, n), "\"effectiveCaps\":{\"maxSegments\":8,\"maxBuckets\":8}"));
    STATUS(georep_converge_step(eu, NULL, 0, &err), GEOREP_E_FORMAT);
    TEXT("event: absent");
    STATUS(georep_converge_new(NULL, 0, &bad, &err), GEOREP_E_ARG);
    TEXT("cluster: 0 bytes");
    OK(georep_converge_free(eu));
    EQ(georep_converge_free(eu), GEOREP_E_HANDLE);
}
