// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.it.SourcePair.Rise;
import georep.plugin.BrokerField;
import georep.plugin.SelfCheck;
import georep.plugin.control.RemoteDeletion;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.broker.service.scalable.ReplicatedController;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentLoadStats;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Layouts of two clusters become the same under load, and then nothing is re-batched any more. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class ConvergenceTest {
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.start(false);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private void awaitStarts(String topic, Integer... starts) {
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            assertThat(Layouts.starts(p.a, topic)).as("layout of A").containsExactly(starts);
            assertThat(Layouts.starts(p.b, topic)).as("layout of B").containsExactly(starts);
        });
    }

    /** ConvergeStatus of the topic's leader. */
    private static JsonNode convergence(Cluster c, String topic) throws Exception {
        return c.controller(topic).convergence().status();
    }

    /** The one peer in it. */
    private static JsonNode peer(Cluster c, String topic) throws Exception {
        return convergence(c, topic).path("peers").path(0);
    }

    private void awaitQuiet(String topic) {
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            for (Cluster c : List.of(p.a, p.b)) {
                JsonNode peer = peer(c, topic);
                assertThat(peer.path("known").asBoolean()).as("%s", peer).isTrue();
                assertThat(peer.path("diverged")).as("%s", peer).isEmpty();
                assertThat(peer.path("acknowledgedEpoch").asLong()).as("%s", peer)
                        .isEqualTo(Layouts.stored(c, topic).getEpoch());
            }
        });
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            assertThat(SourcePair.backlogs(p.a, topic, p.b.name)).containsOnly(0L);
            assertThat(SourcePair.backlogs(p.b, topic, p.a.name)).containsOnly(0L);
        });
    }

    /** A topic that is created on one cluster is there on the other with the same layout, and goes with it. */
    @Test
    void aTopicIsCreatedAndDeletedEverywhere() throws Exception {
        String t = "topic://" + SourcePair.NS + "/everywhere";
        p.a.admin().scalableTopics().createScalableTopic(t, 3, Map.of("mine", "1"));
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            assertThat(p.b.admin().scalableTopics().listScalableTopics(SourcePair.NS)).contains(t);
            assertThat(Layouts.stored(p.a, t).getProperties()).doesNotContainKey("georep.create.cluster-b");
        });
        awaitQuiet(t);
        assertThat(Layouts.stored(p.b, t).getProperties()).containsEntry("mine", "1");
        assertThat(Layouts.stored(p.a, t).getProperties().get("georep.instance")).as("two lives of one name")
                .isNotEqualTo(Layouts.stored(p.b, t).getProperties().get("georep.instance"));
        for (Cluster c : List.of(p.a, p.b)) {
            assertThat(Layouts.stored(c, t).getEpoch()).isZero();
            assertThat(Layouts.starts(c, t)).containsExactly(0, 0x5555, 0xaaaa);
        }
        Publish.v5(p.a, t, 0, 300, 30);
        assertCopied(p.a, p.b, t);
        p.b.admin().scalableTopics().deleteScalableTopic(t, true);
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            for (Cluster c : List.of(p.a, p.b)) {
                assertThat(c.admin().scalableTopics().listScalableTopics(SourcePair.NS)).as(c.name).doesNotContain(t);
            }
        });
    }

    /** What another cluster passes on of a deletion must not hit what was made since under the same name. */
    @Test
    void onlyTheLifeThatEndedGoesElsewhere() throws Exception {
        Federation.create("t/again", p.a, p.b);
        Federation.replicate(p.b, "t/again", Set.of(p.a.name, p.b.name));
        String t = "topic://t/again/lives";
        p.a.admin().scalableTopics().createScalableTopic(t, 1, Map.of("georep.instance", "0123456789abcdef"));
        RemoteDeletion deletion = new RemoteDeletion(p.b.plugin(), TopicName.get(t));
        deletion.delete(p.a.name, "fedcba9876543210").get(30, TimeUnit.SECONDS);
        assertThat(p.a.admin().scalableTopics().listScalableTopics("t/again")).as("of another life").containsExactly(t);
        p.b.admin().scalableTopics().createScalableTopic(t, 1);
        deletion.delete(p.a.name, "0123456789abcdef").get(30, TimeUnit.SECONDS);
        assertThat(p.a.admin().scalableTopics().listScalableTopics("t/again")).as("made again").containsExactly(t);
        Federation.stop(p.a, "t/again");
        p.b.admin().scalableTopics().deleteScalableTopic(t, true);
        deletion.delete(p.a.name, "0123456789abcdef").get(30, TimeUnit.SECONDS);
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(p.a.admin().scalableTopics()
                .listScalableTopics("t/again")).as("the one that ended").isEmpty());
    }

    @Test
    void aTopicMadeAgainIsThereEverywhere() throws Exception {
        String t = "topic://" + SourcePair.NS + "/again";
        p.a.admin().scalableTopics().createScalableTopic(t, 2);
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(p.b.admin().scalableTopics()
                .listScalableTopics(SourcePair.NS)).contains(t));
        awaitQuiet(t);
        String first = Layouts.stored(p.a, t).getProperties().get("georep.instance");
        p.a.admin().scalableTopics().deleteScalableTopic(t, true);
        p.a.admin().scalableTopics().createScalableTopic(t, 3);
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> assertThat(p.b.admin().scalableTopics()
                .listScalableTopics(SourcePair.NS)).contains(t));
        awaitQuiet(t);
        assertThat(Layouts.stored(p.a, t).getProperties().get("georep.instance")).isNotEqualTo(first);
        assertThat(Layouts.starts(p.a, t)).contains(0, 0x5555, 0xaaaa).isEqualTo(Layouts.starts(p.b, t));
        Publish.v5(p.a, t, 0, 300, 30);
        assertCopied(p.a, p.b, t);
        long term = Layouts.term(p.a, t);
        Awaitility.await().during(Duration.ofSeconds(6)).atMost(Duration.ofSeconds(20)).until(() -> // the late end of
                p.a.controller(t).isLeader() && Layouts.term(p.a, t) == term); // the first life's controller
    }

    /** The broker deletes a topic's record with all that is below, then its segments, which still report their load. */
    @Test
    void aLoadReportedWhileATopicIsDeletedKeepsNothing() throws Exception {
        String t = p.topic("late-load", 1, 1);
        awaitQuiet(t);
        String segment = active(p.a, t, 0);
        ScalableTopicResources records = p.a.plugin().records().resources();
        records.deleteScalableTopicAsync(TopicName.get(t)).get();
        records.reportSegmentLoadAsync(TopicName.get(t), id(segment), new SegmentLoadStats(1, 2, 3, 4)).get();
        p.a.admin().scalableTopics().deleteSegment(segment, true);
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            for (Cluster c : List.of(p.a, p.b)) {
                assertThat(c.admin().scalableTopics().listScalableTopics(SourcePair.NS)).as(c.name).doesNotContain(t);
            }
        });
    }

    @Test
    void unrelatedLayoutsBecomeTheSame() throws Exception {
        String t = "topic://t/met/unrelated";
        Federation.create("t/met", p.a, p.b);
        Federation.topic(t, 2, p.a);
        Federation.topic(t, 3, p.b);
        Federation.of("t/met", p.a, p.b);
        try (Traffic x = Traffic.start(p.a, t, 50, 0); Traffic y = Traffic.start(p.b, t, 50, 1_000_000)) {
            x.more(500);
            awaitStarts(t, 0, 0x5555, 0x8000, 0xaaaa);
            x.more(1000);
            y.more(1000);
            x.finish();
            y.finish();
        }
        assertCopied(p.a, p.b, t);
        assertCopied(p.b, p.a, t);
        awaitQuiet(t);
        assertThat(Layouts.sealed(p.a, t)).as("each is cut once").hasSize(2);
        assertThat(Layouts.sealed(p.b, t)).hasSize(1);
    }

    @Test
    void aSplitIsFollowedAndThenNothingIsRebatched() throws Exception {
        String t = p.topic("follow", 1, 1);
        try (Traffic x = Traffic.start(p.a, t, 200, 0); Traffic y = Traffic.start(p.b, t, 200, 10_000_000)) {
            x.more(2000);
            p.a.admin().scalableTopics().splitSegment(t, 0);
            awaitStarts(t, 0, 0x8000);
            p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0)));
            awaitStarts(t, 0, 0x4000, 0x8000);
            x.finish();
            y.finish();
        }
        awaitQuiet(t);
        Rise there = new Rise(p.a, p.b, "rebatched", "parts", "verbatim");
        Rise back = new Rise(p.b, p.a, "rebatched", "parts", "verbatim");
        try (Traffic x = Traffic.start(p.a, t, 200, 20_000_000, 4000);
                Traffic y = Traffic.start(p.b, t, 200, 30_000_000, 4000)) {
            Awaitility.await().atMost(Duration.ofSeconds(90)).until(() -> there.of("verbatim") + back.of("verbatim")
                    >= 10_000);
            x.finish();
            y.finish();
        }
        assertCopied(p.a, p.b, t);
        assertCopied(p.b, p.a, t);
        for (Rise r : List.of(there, back)) {
            assertThat(r.of("rebatched")).isZero();
            assertThat(r.of("parts")).isZero();
        }
    }

    /** The lag is not over before what the fold has sealed is drained, and then it is. */
    @Test
    void theLagLastsUntilWhatWasSealedIsDrained() throws Exception {
        String t = p.topic("lag", 1, 1);
        Publish.v5(p.b, t, 0, 100, 10);
        assertCopied(p.b, p.a, t);
        awaitQuiet(t);
        ReplicatedController b = p.b.controller(t);
        assertThat(b.pause(p.a.name, true).get()).isEmpty();
        Publish.v5(p.b, t, 100, 200, 10);
        p.a.admin().scalableTopics().splitSegment(t, 0);
        awaitStarts(t, 0, 0x8000);
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            assertThat(peer(p.b, t).path("diverged")).as("%s", peer(p.b, t)).isEmpty();
            assertThat(peer(p.b, t).path("lagMillis").asLong()).isPositive();
        });
        long folded = lagMillis(t);
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> lagMillis(t) > folded + 3000);
        long paused = lagMillis(t);
        assertThat(b.pause(p.a.name, false).get()).isEmpty();
        assertCopied(p.b, p.a, t);
        AtomicLong last = new AtomicLong();
        Awaitility.await().atMost(Duration.ofSeconds(20)).pollInterval(Duration.ofMillis(200)).until(() ->
                last.getAndSet(lagMillis(t)) == lagMillis(t));
        assertThat(last).hasValueGreaterThan(paused);
    }

    /** As B sees it. */
    private long lagMillis(String topic) throws Exception {
        return peer(p.b, topic).path("lagMillis").asLong();
    }

    /** A split or merge that follows another cluster's is one for the policy's cooldowns, too. */
    private static void awaitClock(BrokerField clock, long since, ReplicatedController... of) {
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            for (ReplicatedController c : of) {
                assertThat((Long) clock.get(c)).as(c.getTopicName().toString()).isGreaterThanOrEqualTo(since);
            }
        });
    }

    @Test
    void aMergeNeedsBoth() throws Exception {
        String t = p.topic("merge", 1, 1);
        ReplicatedController[] both = {p.a.controller(t), p.b.controller(t)};
        long before = System.currentTimeMillis();
        p.a.admin().scalableTopics().splitSegment(t, 0);
        awaitStarts(t, 0, 0x8000);
        awaitClock(SelfCheck.LAST_SPLIT, before, both);
        for (ReplicatedController c : both) {
            assertThat((Long) SelfCheck.LAST_MERGE.get(c)).as("nothing is merged yet").isLessThan(before);
        }
        long split = System.currentTimeMillis();
        try (Traffic x = Traffic.start(p.a, t, 50, 0, 1000); Traffic y = Traffic.start(p.b, t, 50, 1_000_000, 1000)) {
            x.more(500);
            Http.Answer asked = merge(p.a, t);
            assertThat(asked.status()).as(asked.body()).isEqualTo(202);
            assertThat(asked.body()).contains("marked");
            Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() ->
                    assertThat(peer(p.b, t).path("cold").path(0).asInt()).as("%s", peer(p.b, t)).isEqualTo(0x8000));
            x.more(1000);
            assertThat(Layouts.starts(p.a, t)).containsExactly(0, 0x8000);
            assertThat(Layouts.starts(p.b, t)).containsExactly(0, 0x8000);
            merge(p.b, t);
            awaitStarts(t, 0);
            awaitClock(SelfCheck.LAST_MERGE, split, both);
            x.more(500);
            y.more(500);
            x.finish();
            y.finish();
        }
        assertCopied(p.a, p.b, t);
        assertCopied(p.b, p.a, t);
        awaitQuiet(t);
        for (Cluster c : List.of(p.a, p.b)) {
            assertThat(Layouts.sealed(c, t)).as("merged once at %s", c.name).hasSize(3);
            assertThat(Layouts.stored(c, t).getProperties()).doesNotContainKey("georep.marks");
        }
    }

    /** The broker's /metrics name every metric of convergence once, with help and type. */
    @Test
    void metricsTellOfConvergence() throws Exception {
        String t = p.topic("metrics", 1, 1);
        awaitQuiet(t);
        String peer = "{cluster=\"cluster-a\",remote_cluster=\"cluster-b\"";
        Awaitility.await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> { // the broker keeps a page for a while
            List<String> lines = Http.get(p.a.broker, "/metrics/", null).body().lines().toList();
            for (String name : List.of("diverged_ranges", "convergence_lag_seconds", "peer_state_age_seconds",
                    "layouts_refused", "peer_exchanges_total", "peer_exchange_bytes_total", "topic_diverged_ranges",
                    "topic_convergence_lag_seconds")) {
                String full = "pulsar_georep_" + name;
                for (String head : List.of("# HELP ", "# TYPE ")) {
                    assertThat(lines.stream().filter(l -> l.startsWith(head + full + " "))).as(name).hasSize(1);
                }
                assertThat(lines).as(name).anyMatch(l -> l.startsWith(full + peer));
            }
            assertThat(lines).contains("pulsar_georep_topic_diverged_ranges" + peer + ",topic=\"" + t + "\"} 0.0");
            assertThat(lines).anyMatch(l -> l.startsWith("pulsar_georep_peer_exchanges_total" + peer
                    + ",result=\"success\"} ") && !l.endsWith("} 0"));
            assertThat(lines).anyMatch(l -> l.startsWith("pulsar_georep_peer_exchange_bytes_total" + peer)
                    && !l.endsWith("} 0"));
        });
    }

    /** What no honest peer says gets a clear answer each, and changes nothing. */
    @Test
    void aLyingPeerChangesNothing() throws Exception {
        String t = p.topic("lies", 1, 1);
        awaitQuiet(t);
        String before = new ObjectMapper().writeValueAsString(Layouts.stored(p.b, t));
        try (LogLines log = LogLines.of("georep.plugin.http.RefusalLog", Level.WARN)) {
            Map.of("version: 9223372036854775807", lie(t).put("epoch", Long.toString(Long.MAX_VALUE)),
                    "segments: 20000 are above the cap", shape(lie(t), IntStream.range(0, 20_000).toArray()),
                    "starts[0]", shape(lie(t), 5, 9), "starts[2]", shape(lie(t), 0, 9, 9),
                    "65536 is above 65535", shape(lie(t), 0, 65_536),
                    "caps: max_segments 0", lie(t).without("caps")).forEach((want, state) -> {
                        JsonNode answer = told(exchange("cluster-a", state), 200).path("answers").path(0);
                        assertThat(answer.path("code").asText()).as("%s", answer).isEqualTo("CONVERGE_CODE_BAD_STATE");
                        assertThat(answer.path("text").asText()).contains(want);
                    });
            JsonNode stranger = told(exchange("cluster-z", lie(t).put("cluster", "cluster-z")), 200);
            assertThat(stranger.path("answers").path(0).path("code").asText()).isEqualTo("CONVERGE_CODE_NOT_MEMBER");
            ObjectNode missing = lie(t).put("topic", t + "-nosuch");
            assertThat(told(exchange("cluster-a", missing), 200).path("answers").path(0).path("code").asText())
                    .isEqualTo("CONVERGE_CODE_NO_TOPIC");
            Map.of("own name", exchange("cluster-b", lie(t).put("cluster", "cluster-b")),
                    "states[0].cluster", exchange("cluster-a", lie(t).put("cluster", "cluster-b")),
                    "states[0].topic", exchange("cluster-a", lie(t).put("topic", "persistent://a/b/c"))).forEach(
                            (want, call) -> assertThat(told(call, 400).toString()).contains(want));
            for (String bad : List.of("", "[]", "{\"states\":" + "[".repeat(50_000), "{\"states\":7}")) {
                assertThat(post(bad).status()).as(bad.substring(0, Math.min(20, bad.length()))).isEqualTo(400);
            }
            assertThat(post("{\"cluster\":\"" + "x".repeat(9 << 20) + "\"}").status()).isEqualTo(413);
            assertThat(log.with("refused")).anyMatch(l -> l.contains("@127.0.0.1") && l.contains("own name"));
        }
        assertThat(new ObjectMapper().writeValueAsString(Layouts.stored(p.b, t))).isEqualTo(before);
        assertThat(Layouts.starts(p.a, t)).containsExactly(0);
    }

    /** What A might say next, in order, of its one segment. */
    private ObjectNode lie(String topic) throws Exception {
        ObjectNode n = new ObjectMapper().createObjectNode().put("cluster", "cluster-a").put("topic", topic)
                .put("instance", Layouts.stored(p.a, topic).getProperties().get("georep.instance"))
                .put("leaderTerm", "100");
        n.putObject("caps").put("maxSegments", 64).put("maxBuckets", 64);
        return shape(n, 0);
    }

    private static ObjectNode shape(ObjectNode state, int... starts) {
        ArrayNode segments = state.putObject("shape").put("profile", "PROFILE_M1").putArray("segments");
        Arrays.stream(starts).forEach(s -> segments.addObject().put("start", s));
        return state;
    }

    private static String exchange(String cluster, ObjectNode state) {
        ObjectNode n = new ObjectMapper().createObjectNode().put("protocolVersion", 1).put("cluster", cluster);
        n.putArray("states").add(state);
        return n.toString();
    }

    private JsonNode told(String call, int status) {
        try {
            Http.Answer a = post(call);
            assertThat(a.status()).as(a.body()).isEqualTo(status);
            return a.json();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private Http.Answer post(String body) throws Exception {
        return Http.post(p.b.broker, "/admin/v2/scalable-repl/exchange", null, body);
    }

    /** A mark that was taken back is not at the peer any more, and nothing comes of it. */
    @Test
    void aMarkIsTakenBack() throws Exception {
        String t = p.topic("taken-back", 1, 1);
        p.a.admin().scalableTopics().splitSegment(t, 0);
        awaitStarts(t, 0, 0x8000);
        assertThat(cancel(t, 0x8000).status()).as("there is none").isEqualTo(412);
        assertThat(merge(p.a, t).status()).isEqualTo(202);
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() ->
                assertThat(peer(p.b, t).path("cold")).hasSize(1));
        Http.Answer cancelled = cancel(t, 0x8000);
        assertThat(cancelled.status()).as(cancelled.body()).isEqualTo(200);
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() ->
                assertThat(peer(p.b, t).path("cold")).isEmpty());
        assertThat(merge(p.b, t).status()).isEqualTo(202);
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() ->
                assertThat(peer(p.a, t).path("cold")).hasSize(1));
        assertThat(Layouts.starts(p.a, t)).containsExactly(0, 0x8000);
        assertThat(cancel(t, 70_000).status()).isEqualTo(400);
    }

    private Http.Answer cancel(String t, int boundary) throws Exception {
        return Http.post(p.a.broker, "/admin/v2/scalable-repl/" + t.substring("topic://".length()) + "/cancel-mark",
                null, "{\"boundary\":" + boundary + "}");
    }

    private static Http.Answer merge(Cluster c, String t) throws Exception {
        return Http.post(c.broker, "/admin/v2/scalable/" + t.substring("topic://".length()) + "/merge/"
                + id(active(c, t, 0)) + "/" + id(active(c, t, 0x8000)), null, "");
    }
}
