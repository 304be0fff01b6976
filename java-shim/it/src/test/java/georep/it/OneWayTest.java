// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import georep.it.SourcePair.Rise;
import georep.nativelib.Json;
import georep.nativelib.Peer;
import georep.plugin.control.TopicRecord;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** A replicates to B, whose own policies name no other cluster and which does not even know A. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class OneWayTest {
    private static final String NS = "one/way";
    private Cluster a;
    private Cluster b;

    @BeforeAll
    void start() throws Exception {
        a = ClusterSpec.named("cluster-a").start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.oneWay(NS, a, b);
    }

    @AfterAll
    void stop() throws Exception {
        a.close();
        b.close();
    }

    private String topic(String name, int segmentsA, int segmentsB) throws Exception {
        String t = "topic://" + NS + "/" + name;
        Federation.topic(t, segmentsB, b);
        Federation.topic(t, segmentsA, a); // else it would be created at B with A's layout
        return t;
    }

    private static TopicRecord record(Cluster c, String topic) throws Exception {
        return TopicRecord.of(c.broker.getPulsarResources().getScalableTopicResources()
                .getScalableTopicMetadataAsync(TopicName.get(topic), true).get().orElseThrow());
    }

    private List<String> pins(String topic) throws Exception {
        return a.broker.getPulsarResources().getScalableTopicResources().listSubscriptionsAsync(TopicName.get(topic))
                .get();
    }

    private JsonNode report(String topic) throws Exception {
        return Http.get(a.broker, "/admin/v2/scalable-repl/status/" + topic.substring("topic://".length()), null)
                .json();
    }

    /** No pin, no cursor, no remote in the record; and the status says why. */
    private void assertDenied(String topic, String pattern) throws Exception {
        a.controller(topic).reconcile().get();
        assertThat(pins(topic)).isEmpty();
        assertThat(record(a, topic).remotes()).isEmpty();
        for (String s : SegmentLog.segments(a, topic)) {
            assertThat(a.segment(s).getReplicators()).as(s).isEmpty();
            assertThat(a.segment(s).replicationClusters()).as(s).isEmpty();
        }
        JsonNode n = report(topic);
        assertThat(n.path("denied").path(b.name).asText()).as("%s", n).isEqualTo("denied by pattern " + pattern);
        assertThat(n.path("remotes")).as("%s", n).isEmpty();
    }

    /** A denied topic leaves nothing anywhere; one that is allowed again begins anew. */
    @Test
    void patternsKeepTopicsAtHome() throws Exception {
        String ns = "one/patterns";
        Federation.oneWay(ns, a, b);
        a.admin().namespaces().setProperties(ns, Map.of("georep.deny.cluster-b", "no-.*"));
        String yes = "topic://" + ns + "/yes";
        String no = "topic://" + ns + "/no-1";
        for (String t : List.of(yes, no)) {
            Federation.topic(t, 2, a);
            Federation.topic(t, 1, b);
            Publish.v5(a, t, 0, 100, 10);
        }
        assertCopied(a, b, yes);
        assertDenied(no, "georep.deny.cluster-b");
        assertThat(record(a, no).instance()).isNull();
        assertThat(properties(no)).isEmpty();
        assertThat(StoredMessages.of(b, no).count(a.name)).isZero();

        a.admin().namespaces().removeProperty(ns, "georep.deny.cluster-b");
        a.controller(no).reconcile().get();
        assertThat(pins(no)).containsExactly("pulsar.repl.cluster-b");
        assertThat(record(a, no).generation(b.name)).isEqualTo(1);
        assertCopied(a, b, no);

        a.admin().namespaces().setProperties(ns, Map.of("georep.allow.*", "yes|other"));
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertDenied(no, "georep.allow.*"));
        Publish.v5(a, no, 100, 200, 10);
        a.admin().scalableTopics().splitSegment(no, 0);
        Publish.v5(a, yes, 100, 200, 10);
        assertCopied(a, b, yes);
        assertDenied(no, "georep.allow.*");
        assertThat(StoredMessages.of(b, no).count(a.name)).isEqualTo(100);

        try (LogLines log = LogLines.of("georep.plugin.control.TopicPatterns", Level.WARN)) {
            a.admin().namespaces().setProperties(ns, Map.of("georep.allow.*", "yes|other("));
            String trouble = "georep.allow.* counts for nothing: error parsing regexp: missing closing )";
            Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() ->
                    assertThat(record(a, no).generation(b.name)).isEqualTo(2));
            Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() ->
                    assertThat(SourcePair.backlogs(a, no, b.name)).as("%s", report(no)).containsOnly(0L));
            assertThat(report(no).path("trouble").asText()).contains(trouble);
            assertThat(log.with(trouble)).as("once, not for each topic and segment").hasSize(1);
        }
        assertThat(StoredMessages.of(b, no).from(a.name)).extracting(StoredMessages.Message::number)
                .as("all of it, in a new generation").hasSize(300)
                .containsAll(IntStream.range(0, 200).boxed().toList());
    }

    /** Layouts change on both sides under load and B is unloaded; B's own messages stay on B. */
    @Test
    void underLoadWithSplitsAndAnUnload() throws Exception {
        String t = topic("load", 2, 3);
        Publish.v5(b, t, 0, 200, 20);
        Rise r = new Rise(a, b, "parts", "unknownResends");
        try (Traffic x = Traffic.start(a, t, 50, 10_000)) {
            x.more(800);
            b.admin().scalableTopics().splitSegment(t, 1);
            x.more(800);
            a.admin().scalableTopics().splitSegment(t, 0);
            x.more(800);
            b.admin().namespaces().unload(NS);
            x.more(800);
            x.finish();
        }
        assertCopied(a, b, t);
        assertThat(r.of("parts")).isPositive();

        TopicRecord there = record(b, t);
        assertThat(there.instance()).matches("[0-9a-f]{32}");
        assertThat(there.remotes()).as("B replicates nowhere").isEmpty();
        for (String s : SegmentLog.segments(b, t)) {
            assertThat(there.segment(SourcePair.id(s))).as("record of %s", s).isNotNull();
            assertThat(b.segment(s).getReplicators()).isEmpty();
        }
        assertThat(r.of("unknownResends")).as("sealed segments of B answered for their watermark").isZero();
        assertThat(StoredMessages.of(a, t).all().stream().map(StoredMessages.Message::from).distinct())
                .as("nothing flows back").containsExactly("");
        assertThat(StoredMessages.of(b, t).count("")).as("B's own").isEqualTo(200);
    }

    /** B knows no way to A: A tells it which of its streams are gone. */
    @Test
    void streamsOfPrunedSegmentsAreForgotten() throws Exception {
        for (Cluster c : List.of(a, b)) {
            c.admin().namespaces().setRetention(NS, new RetentionPolicies(0, 0));
        }
        String t = topic("forget", 1, 1);
        Publish.v5(a, t, 0, 100, 10);
        String segment = SegmentLog.segments(b, t).get(0);
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> streams(segment).equals(Set.of(0)));
        a.admin().scalableTopics().splitSegment(t, 0);
        Publish.v5(a, t, 100, 200, 10);
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> streams(segment).equals(Set.of(0, 1, 2)));
        a.controller(t).forgetGoneStreams().get();
        assertThat(streams(segment)).as("sealed is not gone").containsExactlyInAnyOrder(0, 1, 2);
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            a.controller(t).collectGarbage().get();
            assertThat(SegmentLog.segments(a, t)).hasSize(2);
        });
        a.controller(t).forgetGoneStreams().get();
        assertThat(streams(segment)).containsExactlyInAnyOrder(1, 2);
        // a reload builds the table from snapshot and log: what is in the log counts again, and is forgotten again
        b.admin().namespaces().unload(NS);
        a.controller(t).forgetGoneStreams().get();
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            a.controller(t).forgetGoneStreams().get();
            assertThat(streams(segment)).containsExactlyInAnyOrder(1, 2);
        });
    }

    /** Segments of A that a segment of B holds a watermark of. */
    private Set<Integer> streams(String segment) throws Exception {
        String json = b.segment(segment).dedupStatusJson();
        Set<Integer> all = new HashSet<>();
        if (json != null) {
            for (JsonNode e : new ObjectMapper().readTree(json).path("entries")) {
                assertThat(e.path("key").path("cluster").asText()).isEqualTo(a.name);
                all.add(e.path("key").path("segment").asInt());
            }
        }
        return all;
    }

    /** GET changes nothing, nor does a call of one who may not write here; the handshake of one who may does. */
    @Test
    void aHandshakePreparesTheTopic() throws Exception {
        String t = "topic://" + NS + "/bare";
        Federation.topic(t, 2, b);
        String path = "/admin/v2/scalable-repl/" + NS + "/bare/state";
        assertThat(Http.get(b.broker, path, null).json().has("instance")).isFalse();
        for (String bad : List.of("", "[]", "{\"cluster\":7}", "{\"nosuch\":\"x\"}")) {
            assertThat(Http.post(b.broker, path, null, bad).status()).as(bad).isEqualTo(400);
        }
        for (byte[] caller : List.of(new byte[0], state("cluster-a", t, "m1", false), state("cluster-b", t, "m1", true),
                state("cluster-a", t + "2", "m1", true), state("cluster-a", t, "pip486", true))) {
            Http.Answer answer = Http.post(b.broker, path, null, Json.fromProto("PeerState", caller));
            assertThat(answer.status()).as(answer.body()).isEqualTo(200);
            assertThat(answer.json().has("instance")).as(answer.body()).isFalse();
            assertThat(properties(t)).as("after %s", Json.fromProto("PeerState", caller)).isEmpty();
        }
        JsonNode first = Http.post(b.broker, path, null, Json.fromProto("PeerState", state("cluster-a", t, "m1", true)))
                .json();
        assertThat(first.path("instance").asText()).matches("[0-9a-f]{32}");
        assertThat(properties(t)).containsOnlyKeys("georep.instance", "georep.segment.0", "georep.segment.1");
        JsonNode again = Http.get(b.broker, path, null).json();
        assertThat(again.path("instance")).isEqualTo(first.path("instance"));
        assertThat(again.path("counter").asLong()).isGreaterThan(first.path("counter").asLong());
    }

    private Map<String, String> properties(String topic) throws Exception {
        return b.broker.getPulsarResources().getScalableTopicResources()
                .getScalableTopicMetadataAsync(TopicName.get(topic), true).get().orElseThrow().getProperties();
    }

    /** What another cluster's broker says of itself in a handshake. */
    private static byte[] state(String cluster, String topic, String profile, boolean instance) {
        return Peer.buildState("{\"epoch\":0,\"nextSegmentId\":1,\"segments\":{\"0\":{\"segmentId\":0,\"hashRange\":"
                + "{\"start\":0,\"end\":65535},\"state\":\"ACTIVE\"}},\"properties\":{"
                + (instance ? "\"georep.instance\":\"00ff\"," : "") + "\"georep.segment.0\":\"{\\\"profile\\\":\\\""
                + profile + "\\\"}\"}}", cluster, topic, 1, 1, 5 << 20, 0, "0.1.0");
    }
}
