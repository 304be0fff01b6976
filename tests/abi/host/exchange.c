/* SPDX-License-Identifier: Apache-2.0
 *
 * Two topics' states go from one cluster to another in one call, and the answers come back. */
#include "world.h"

#define OTHER "topic://public/default/refunds"
#define SHAPE                                                                                                          \
    "\"instance\":\"i\",\"shape\":{\"profile\":\"PROFILE_PIP486\",\"segments\":[{}]},"                                 \
    "\"caps\":{\"maxSegments\":8,\"maxBuckets\":8}"
#define STATE(cluster, topic) "{\"cluster\":\"" cluster "\",\"topic\":\"" topic "\"," SHAPE "}"

static georep_exchange broker(const char *config) {
    georep_exchange x = 0;
    buf c = proto_of("ExchangeConfig", config);
    OK(georep_exchange_new(c.p, c.n, &x, &err));
    buf_free(&c);
    return x;
}

static georep_status step(georep_exchange x, const char *event) {
    buf e = proto_of("ExchangeEvent", event);
    err.text[0] = 0;
    georep_status s = georep_exchange_step(x, e.p, e.n, &err);
    buf_free(&e);
    return s;
}

/* The ExchangeResult, as JSON. */
static const char *result(georep_exchange x) {
    static uint8_t out[8192];
    uint64_t n = 0, again = 0;
    if (georep_exchange_ready(x, NULL, 0, &n, &err) == GEOREP_E_SPACE) { /* nothing is forgotten by that */
        STATUS(georep_exchange_ready(x, NULL, 0, &again, &err), GEOREP_E_SPACE);
        EQ(n, again);
        OK(georep_exchange_ready(x, out, sizeof out, &n, &err));
    }
    return json_of("ExchangeResult", out, n);
}

/* Copies the JSON object that follows a key in text; the copy is static. */
static const char *object_after(const char *text, const char *key) {
    static char out[4096];
    const char *from = strstr(text, key);
    CHECK(from);
    from += strlen(key);
    size_t n = 0;
    int depth = 0;
    do {
        depth += from[n] == '{' ? 1 : from[n] == '}' ? -1 : 0;
        n++;
    } while (depth);
    CHECK(n < sizeof out);
    memcpy(out, from, n);
    out[n] = 0;
    return out;
}

static void refusals(georep_exchange us) {
    static const struct {
        const char *request, *text;
    } bad[] = {
        {"{\"cluster\":\"eu\"}", "protocolVersion: absent"},
        {"{\"protocolVersion\":1,\"cluster\":\"us\"}", "cluster: \"us\" is this cluster's own name"},
        {"{\"protocolVersion\":1,\"cluster\":\"eu\",\"states\":[" STATE("it", TOPIC) "]}", "states[0].cluster: \"it\""},
        {"{\"protocolVersion\":1,\"cluster\":\"eu\",\"states\":[{\"cluster\":\"eu\"}]}", "states[0].topic: "},
        {"{\"protocolVersion\":1,\"cluster\":\"eu\",\"states\":[" STATE("eu", TOPIC) "," STATE("eu", TOPIC) "]}",
         "states[1].topic: " TOPIC " is in states[0], too"},
    };
    static char event[4096];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(event, sizeof event, "{\"received\":{\"call\":\"1\",\"request\":%s}}", bad[i].request);
        EQ(step(us, event), GEOREP_E_FORMAT);
        TEXT(bad[i].text);
    }
    EQ(step(us,
            "{\"received\":{\"call\":\"1\",\"caller\":\"it\",\"request\":{\"protocolVersion\":1,\"cluster\":\"eu\"}}}"),
       GEOREP_E_FORMAT);
    TEXT("cluster: \"eu\" is said by \"it\"");
    EQ(step(us, "{}"), GEOREP_E_FORMAT);
    TEXT("event: absent");
    EQ(step(us, "{\"push\":{\"cluster\":\"us\",\"state\":" STATE("us", TOPIC) "}}"), GEOREP_E_FORMAT);
    EQ(step(us, "{\"push\":{\"cluster\":\"eu\"}}"), GEOREP_E_FORMAT);
    TEXT("push.state.topic");
    CHECK(!strcmp(result(us), "{\"wakeAtMillis\":\"-1\"}")); /* nothing was done */

    georep_exchange none = 0;
    STATUS(georep_exchange_new(NULL, 0, &none, &err), GEOREP_E_ARG);
    TEXT("cluster: 0 bytes");
    uint8_t *huge = calloc(50, 1 << 20); /* refused for its size, not read */
    STATUS(georep_exchange_step(us, huge, 50u << 20, &err), GEOREP_E_LIMIT);
    free(huge);
}

void check_exchange(void) {
    static char event[8192];
    static uint8_t out[4096];
    uint64_t n = 0;
    georep_exchange eu = broker("{\"cluster\":\"eu\",\"gatherMillis\":\"20\"}"),
                    us = broker("{\"cluster\":\"us\",\"maxOpen\":2}");
    refusals(us);

    /* Two pushes wait for each other and are one call. */
    EQ(step(eu,
            "{\"nowMillis\":\"100\",\"push\":{\"cluster\":\"us\",\"token\":\"4\",\"state\":" STATE("eu", TOPIC) "}}"),
       0);
    EQ(step(eu,
            "{\"nowMillis\":\"105\",\"push\":{\"cluster\":\"us\",\"token\":\"9\",\"state\":" STATE("eu", OTHER) "}}"),
       0);
    CHECK(!strcmp(result(eu), "{\"wakeAtMillis\":\"120\"}"));
    EQ(step(eu, "{\"nowMillis\":\"120\",\"tick\":{}}"), 0);
    const char *text = result(eu);
    CHECK(strstr(text, "{\"actions\":[{\"call\":{\"call\":\"1\",\"cluster\":\"us\",\"request\":"));

    /* The other side hands them to their topics; what a newer cluster adds is no error. */
    const char *request = object_after(text, "\"request\":");
    CHECK(strstr(request, "\"protocolVersion\":1,\"cluster\":\"eu\""));
    buf newer = proto_of("ExchangeRequest", "{\"protocolVersion\":2,\"cluster\":\"eu\",\"mood\":[[{}]]}");
    buf_free(&newer);
    snprintf(event, sizeof event,
             "{\"nowMillis\":\"7\",\"received\":{\"call\":\"77\",\"caller\":\"eu\",\"request\":%s}}", request);
    EQ(step(us, event), 0);
    text = result(us);
    CHECK(strstr(text,
                 "{\"deliver\":{\"topic\":\"" TOPIC "\",\"event\":{\"nowMillis\":\"7\",\"received\":{\"token\":\"1\""));
    CHECK(strstr(text,
                 "{\"deliver\":{\"topic\":\"" OTHER "\",\"event\":{\"nowMillis\":\"7\",\"received\":{\"token\":\"2\""));
    EQ(step(us, event), GEOREP_E_FORMAT);
    TEXT("call: 77 is being answered");
    EQ(step(us, "{\"received\":{\"call\":\"78\",\"request\":{\"protocolVersion\":1,\"cluster\":\"eu\"}}}"),
       GEOREP_E_STATE);
    TEXT("too many calls at once");

    /* Its answers are in the order of the request, whoever is first. */
    EQ(step(us, "{\"nowMillis\":\"8\",\"replied\":{\"token\":\"2\",\"answer\":{\"code\":\"CONVERGE_CODE_NO_TOPIC\"}}}"),
       0);
    EQ(step(us, "{\"nowMillis\":\"9\",\"replied\":{\"token\":\"1\",\"answer\":{\"code\":\"CONVERGE_CODE_OK\","
                "\"state\":" STATE("us", TOPIC) "}}}"),
       0);
    const char *response = object_after(result(us), "\"respond\":{\"call\":\"77\",\"response\":");
    CHECK(
        strstr(response, "{\"protocolVersion\":1,\"cluster\":\"us\",\"answers\":[{\"topic\":\"" TOPIC "\",\"code\":"));

    /* And come to the machines that wait for them. */
    snprintf(event, sizeof event, "{\"nowMillis\":\"130\",\"returned\":{\"call\":\"1\",\"response\":%s}}", response);
    EQ(step(eu, event), 0);
    text = result(eu);
    CHECK(strstr(text, "\"topic\":\"" TOPIC "\",\"event\":{\"nowMillis\":\"130\",\"answered\":{\"cluster\":\"us\","
                       "\"token\":\"4\",\"answer\":{\"topic\":\"" TOPIC "\",\"code\":\"CONVERGE_CODE_OK\""));
    CHECK(strstr(text, "\"token\":\"9\",\"answer\":{\"topic\":\"" OTHER "\",\"code\":\"CONVERGE_CODE_NO_TOPIC\"}"));
    OK(georep_exchange_status(eu, 140, out, sizeof out, &n, &err));
    CHECK(!strcmp(json_of("ExchangeStatus", out, n),
                  "{\"peers\":[{\"cluster\":\"us\",\"calls\":\"1\",\"states\":\"2\"}]}"));
    OK(georep_exchange_free(eu));
    OK(georep_exchange_free(us));
    EQ(georep_exchange_free(us), GEOREP_E_HANDLE);
}
