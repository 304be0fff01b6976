/* SPDX-License-Identifier: Apache-2.0
 *
 * Tier "control plane": JSON, states, the handshake. */
#include "world.h"

/* The PeerState that a cluster makes of Pulsar's record. */
static buf state_of(const char *cluster, const char *json) {
    static char request[1 << 14];
    char *q =
        request + sprintf(request,
                          "{\"cluster\":\"%s\",\"topic\":\"" TOPIC "\",\"leaderTerm\":7,\"maxMessageBytes\":5242880,"
                          "\"pluginVersion\":\"0.1.0\",\"metadataJson\":\"",
                          cluster);
    for (; *json; json++) {
        if (*json == '"') *q++ = '\\';
        *q++ = *json;
    }
    strcpy(q, "\"}");
    buf r = proto_of("StateRequest", request), out = {0};
    uint64_t n = 0;
    STATUS(georep_state_build(r.p, r.n, NULL, 0, &n, &err), GEOREP_E_SPACE);
    out.p = malloc(n);
    out.n = n;
    OK(georep_state_build(r.p, r.n, out.p, n, &n, &err));
    buf_free(&r);
    return out;
}

static const char *verdict(const buf *local, const buf *remote) {
    uint8_t p[1024];
    uint64_t n;
    OK(georep_peer_check(local->p, local->n, remote->p, remote->n, p, sizeof p, &n, &err));
    return json_of("PeerCheck", p, n);
}

void check_control(void) {
    buf eu = state_of("eu", EU_JSON), us = state_of("us", US_JSON), none = {0};
    CHECK(strstr(json_of("PeerState", eu.p, eu.n), "\"instance\":\"" INSTANCE "\",\"leaderTerm\":\"7\""));
    CHECK(strstr(json_of("PeerState", eu.p, eu.n), "\"generations\":{\"us\":\"3\"}"));
    CHECK(!strcmp(verdict(&eu, &us), "{\"verdict\":\"PEER_VERDICT_SUPPORTED\"}"));
    CHECK(strstr(verdict(&eu, &none), "\"verdict\":\"PEER_VERDICT_UNSUPPORTED\",\"reason\":\"no-state\""));
    CHECK(strstr(verdict(&eu, &eu), "\"verdict\":\"PEER_VERDICT_INCOMPATIBLE\",\"reason\":\"same-cluster\""));

    /* What a remote holds of segments and topic instances that are gone here, it may forget. */
    uint8_t gone[256];
    uint64_t len;
    buf held =
        proto_of("DedupStatus", "{\"entries\":[{\"key\":{\"cluster\":\"eu\",\"instance\":\"older\",\"segment\":\"0\"}},"
                                "{\"key\":{\"cluster\":\"us\",\"instance\":\"older\"}}]}");
    OK(georep_peer_gone(eu.p, eu.n, held.p, held.n, gone, sizeof gone, &len, &err));
    CHECK(!strcmp(json_of("OriginKeys", gone, len), "{\"keys\":[{\"cluster\":\"eu\",\"instance\":\"older\"}]}"));
    STATUS(georep_peer_gone(NULL, 0, held.p, held.n, gone, sizeof gone, &len, &err), GEOREP_E_FORMAT);
    buf_free(&held);

    buf filter = proto_of("TopicFilter", "{\"topic\":\"tmp-1\",\"remotes\":[\"us\",\"eu\"],\"properties\":{"
                                         "\"georep.deny.us\":\"tmp-.*\",\"georep.allow.*\":\"(\"}}");
    uint8_t verdicts[256];
    OK(georep_topic_filter(filter.p, filter.n, verdicts, sizeof verdicts, &len, &err));
    CHECK(strstr(json_of("TopicVerdicts", verdicts, len),
                 "{\"remotes\":[{\"remote\":\"us\",\"denied\":true,\"why\":\"denied by pattern georep.deny.us\"},"
                 "{\"remote\":\"eu\"}],\"troubles\":[\"georep.allow.* counts for nothing: "));
    buf_free(&filter);

    /* The layout inside a state is the one that the record makes. */
    georep_layout a = layout_of(US_JSON), b = 0;
    uint8_t pa[1024], pb[1024];
    uint64_t na, nb;
    OK(georep_layout_from_state(us.p, us.n, &b, &err));
    OK(georep_layout_to_proto(a, pa, sizeof pa, &na, &err));
    OK(georep_layout_to_proto(b, pb, sizeof pb, &nb, &err));
    EQ(na, nb);
    CHECK(!memcmp(pa, pb, na));
    OK(georep_layout_free(a));
    OK(georep_layout_free(b));
    STATUS(georep_layout_from_state(NULL, 0, &b, &err), GEOREP_E_FORMAT);

    uint64_t n;
    uint8_t p[64];
    STATUS(georep_proto_from_json("Nothing", 7, "{}", 2, p, sizeof p, &n, &err), GEOREP_E_FORMAT);
    TEXT("Nothing");
    STATUS(georep_proto_from_json("Range", 5, "{\"begin\":1}", 11, p, sizeof p, &n, &err), GEOREP_E_FORMAT);
    TEXT("begin");
    OK(georep_proto_from_json("Range", 5, "{\"start\":1,\"end\":2}", 19, p, sizeof p, &n, &err));
    EQ(n, 4);
    CHECK(!memcmp(p, "\x08\x01\x10\x02", 4));
    CHECK(!strcmp(json_of("Range", p, n), "{\"start\":1,\"end\":2}"));
    STATUS(georep_proto_to_json("Range", 5, "\xff", 1, p, sizeof p, &n, &err), GEOREP_E_FORMAT);
    STATUS(georep_state_build("\x0a\x01{", 3, p, sizeof p, &n, &err), GEOREP_E_FORMAT);
    buf_free(&eu), buf_free(&us);
}
