// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.OriginSession.Stream;
import java.time.Duration;
import java.util.Map;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The calls that another cluster's broker makes: state, and the watermarks of sealed segments. */
class PeerCallsTest {
    private static final String BASE = "/admin/v2/scalable-repl/t/peer/";
    private static final Stream ORIGIN = new Stream("cluster-z", "00ff", 7, 3);
    private static Cluster b;

    @BeforeAll
    static void start() throws Exception {
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.introduce(b);
        Federation.create("t/peer", b);
        b.admin().namespaces().setRetention("t/peer", new RetentionPolicies(-1, -1));
    }

    @AfterAll
    static void stop() throws Exception {
        b.close();
    }

    private static JsonNode watermark(String topic, int segment, Stream s) throws Exception {
        Http.Answer a = Http.post(b.broker, BASE + topic + "/watermark", null, "{\"topic\":\"topic://t/peer/" + topic
                + "\",\"segment\":\"" + segment + "\",\"key\":" + s.json() + "}");
        assertThat(a.status()).as(a.body()).isEqualTo(200);
        return a.json();
    }

    @Test
    void stateTellsTheWholeLayout() throws Exception {
        Federation.topic("topic://t/peer/state", 1, b);
        b.admin().scalableTopics().splitSegment("topic://t/peer/state", 0);
        b.plugin().records().change(TopicName.get("topic://t/peer/state"), (m, r) -> {
            r.ensureInstance();
            r.recordSegments(m, b.plugin().firstSegment());
        }).get();
        JsonNode s = Http.get(b.broker, BASE + "state/state", null).json();
        assertThat(s.path("protocolVersion").asInt()).isEqualTo(1);
        assertThat(s.path("cluster").asText()).isEqualTo("cluster-b");
        assertThat(s.path("topic").asText()).isEqualTo("topic://t/peer/state");
        assertThat(s.path("instance").asText()).matches("[0-9a-f]{32}");
        assertThat(s.path("maxMessageBytes").asInt()).isEqualTo(5 << 20);
        JsonNode segments = s.path("layout").path("segments");
        assertThat(segments).hasSize(3);
        assertThat(segments.get(0).path("state").asText()).isEqualTo("SEGMENT_STATE_SEALED");
        assertThat(segments.get(1).path("profile").asText()).isEqualTo("PROFILE_M1");
        assertThat(segments.get(1).path("bucketsKnown").asBoolean()).isTrue();
        assertThat(segments.get(1).path("cutCap").asInt()).isEqualTo(4 << 20);
        // the counter goes on
        JsonNode again = Http.post(b.broker, BASE + "state/state", null, "{}").json();
        assertThat(again.path("instance")).isEqualTo(s.path("instance"));
        assertThat(again.path("counter").asLong()).isGreaterThan(s.path("counter").asLong());
        assertThat(Http.get(b.broker, BASE + "nosuch/state", null).status()).isEqualTo(404);
    }

    @Test
    void watermarksAreFinalOnceSealed() throws Exception {
        String topic = "topic://t/peer/mark";
        String segment = "segment://t/peer/mark/0000-ffff-0";
        Federation.topic(topic, 1, b);
        try (OriginSession s = OriginSession.open(b, segment, ORIGIN)) {
            assertThat(s.send("5:1:4", "part")).isEqualTo(Outcome.ACKED);
        }
        assertThat(watermark("mark", 0, ORIGIN).path("status").asText()).isEqualTo("WATERMARK_STATUS_NOT_FINAL");
        b.admin().scalableTopics().splitSegment(topic, 0);
        JsonNode known = watermark("mark", 0, ORIGIN);
        assertThat(known.path("status").asText()).isEqualTo("WATERMARK_STATUS_KNOWN");
        assertThat(known.path("position").path("ledger").asLong()).isEqualTo(5);
        assertThat(known.path("position").path("entry").asLong()).isEqualTo(1);
        assertThat(known.path("part").asLong()).isEqualTo(4);
        // a sealed segment that is not loaded is loaded for the question
        b.admin().namespaces().unload("t/peer");
        assertThat(watermark("mark", 0, ORIGIN)).isEqualTo(known);
        Stream other = new Stream(ORIGIN.cluster(), ORIGIN.instance(), ORIGIN.segment(), ORIGIN.generation() + 1);
        assertThat(watermark("mark", 0, other).path("status").asText()).isEqualTo("WATERMARK_STATUS_NONE");
        assertThat(watermark("mark", 99, ORIGIN).path("status").asText()).isEqualTo("WATERMARK_STATUS_GONE");
        assertThat(watermark("mark", 1, ORIGIN).path("status").asText()).isEqualTo("WATERMARK_STATUS_NOT_FINAL");
    }

    @Test
    void aWholeEntryHasNoPart() throws Exception {
        String topic = "topic://t/peer/whole";
        String segment = "segment://t/peer/whole/0000-ffff-0";
        Federation.topic(topic, 1, b);
        try (OriginSession s = OriginSession.open(b, segment, ORIGIN)) {
            assertThat(s.send("5:1:4", "part")).isEqualTo(Outcome.ACKED);
            assertThat(s.send("5:2", "whole")).isEqualTo(Outcome.ACKED);
        }
        b.admin().scalableTopics().splitSegment(topic, 0);
        JsonNode known = watermark("whole", 0, ORIGIN);
        assertThat(known.path("position").path("entry").asLong()).isEqualTo(2);
        assertThat(known.has("part")).isFalse();
    }

    @Test
    void aPrunedSegmentIsGone() throws Exception {
        String topic = "topic://t/gone/x";
        Federation.create("t/gone", b);
        b.admin().namespaces().setRetention("t/gone", new RetentionPolicies(0, 0));
        Federation.topic(topic, 1, b);
        try (OriginSession s = OriginSession.open(b, "segment://t/gone/x/0000-ffff-0", ORIGIN)) {
            assertThat(s.send("5:1", "x")).isEqualTo(Outcome.ACKED);
        }
        b.admin().scalableTopics().splitSegment(topic, 0);
        b.controller(topic).collectGarbage().get();
        await().atMost(Duration.ofSeconds(10)).until(() -> SegmentLog.segments(b, topic).size() == 2);
        JsonNode n = Http.post(b.broker, "/admin/v2/scalable-repl/t/gone/x/watermark", null,
                "{\"segment\":\"0\",\"key\":"
                + ORIGIN.json() + "}").json();
        assertThat(n.path("status").asText()).isEqualTo("WATERMARK_STATUS_GONE");
    }

    @Test
    void badRequestsNameTheField() throws Exception {
        Federation.topic("topic://t/peer/bad", 1, b);
        Map<String, String> bad = Map.of("", "body", "[]", "body", "{}", "key", "{\"key\":{\"instance\":\"x\"}}",
                "key.cluster", "{\"segment\":\"x\",\"key\":" + ORIGIN.json() + "}", "segment",
                "{\"key\":{\"cluster\":\"c\",\"instance\":\"i\",\"generation\":\"-1\"}}", "key.generation");
        for (Map.Entry<String, String> e : bad.entrySet()) {
            Http.Answer a = Http.post(b.broker, BASE + "bad/watermark", null, e.getKey());
            assertThat(a.status()).as(e.getKey()).isEqualTo(400);
            assertThat(a.body()).contains(e.getValue() + ":");
        }
    }
}
