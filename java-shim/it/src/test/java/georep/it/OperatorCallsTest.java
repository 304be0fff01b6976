// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Pausing and resuming, and the answers to calls that make no sense. */
class OperatorCallsTest {
    private static final String BASE = "/admin/v2/scalable-repl/t/op/x/";
    private static final String B = "{\"remote\":\"cluster-b\"}";
    private static final String SEGMENT = "segment://t/op/x/0000-ffff-0";
    private static Cluster a;
    private static Cluster b;

    @BeforeAll
    static void start() throws Exception {
        a = ClusterSpec.named("cluster-a").start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.of("t/op", a, b);
        Federation.topic("topic://t/op/x", 1, a, b);
    }

    @AfterAll
    static void stop() throws Exception {
        a.close();
        b.close();
    }

    private static Http.Answer call(String path, String json) throws Exception {
        return Http.post(a.broker, BASE + path, null, json);
    }

    private static void started() {
        await().atMost(Duration.ofSeconds(20))
                .until(() -> a.segment(SEGMENT).getReplicators().containsKey("cluster-b"));
    }

    @Test
    void aSegmentsPauseOutlivesAReloadAndEndsWithResume() throws Exception {
        started();
        Http.Answer paused = call("segment/0000-ffff-0/pause", B);
        assertThat(paused.status()).as(paused.body()).isEqualTo(200);
        a.admin().namespaces().unload("t/op");
        Publish.v5(a, "topic://t/op/x", 0, 20, 4);
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(Http.get(a.broker, BASE
                + "segment/0000-ffff-0", null).json().path("remotes").path("cluster-b").path("window").path("state")
                .asText()).isEqualTo("paused"));
        assertThat(SegmentLog.read(b, SEGMENT)).isEmpty();
        assertThat(call("segment/0000-ffff-0/resume", B).status()).isEqualTo(200);
        await().atMost(Duration.ofSeconds(20)).until(() -> !SegmentLog.read(b, SEGMENT).isEmpty());
    }

    /** A pause is the topic's: segments that a split makes afterwards are paused too, also on a broker that starts. */
    @Test
    void aTopicsPauseHoldsForSegmentsToCome() throws Exception {
        String topic = "topic://t/op/still";
        String base = "/admin/v2/scalable-repl/t/op/still/";
        Federation.topic(topic, 1, a, b);
        try (LogLines audit = LogLines.of("georep.audit", Level.INFO)) {
            Publish.v5(a, topic, 0, 100, 10);
            SourcePair.assertCopied(a, b, topic);
            assertThat(Http.post(a.broker, base + "pause", null, "{\"remote\":\"nobody\"}").status()).isEqualTo(404);
            Http.Answer paused = Http.post(a.broker, base + "pause", null, B);
            assertThat(paused.status()).as(paused.body()).isEqualTo(200);
            assertThat(audit.with("call=pause topic=" + topic + " remote=cluster-b")).hasSize(1);
        }
        a.admin().scalableTopics().splitSegment(topic, 0);
        Publish.v5(a, topic, 100, 200, 10);
        states(topic, "paused", 3);
        a.restart();
        Federation.introduce(a, b);
        Publish.v5(a, topic, 200, 300, 10);
        states(topic, "paused", 3);
        assertThat(Http.get(a.broker, "/admin/v2/scalable-repl/status/t/op/still", null).json().path("remotes")
                .path("cluster-b").path("paused").asBoolean()).isTrue();
        assertThat(StoredMessages.of(b, topic).count("cluster-a")).as("only what was sent before").isEqualTo(100);
        // what one segment was told stays its own: the topic goes on without it
        String child = "0000-7fff-1";
        assertThat(Http.post(a.broker, base + "segment/" + child + "/pause", null, B).status()).isEqualTo(200);
        assertThat(Http.post(a.broker, base + "resume", null, B).json().path("paused").asBoolean(true)).isFalse();
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(SourcePair.backlogs(a, topic, b.name)
                .stream().filter(n -> n > 0)).as("segments with a backlog").hasSize(1));
        assertThat(Http.post(a.broker, base + "segment/" + child + "/resume", null, B).json().path("paused")
                .asBoolean(true)).isFalse();
        SourcePair.assertCopied(a, b, topic);
        assertThat(StoredMessages.of(b, topic).count("cluster-a")).isEqualTo(300);
    }

    private static void states(String topic, String state, int segments) {
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            for (String s : SegmentLog.segments(a, topic)) {
                a.segment(s); // loaded
            }
            assertThat(SourcePair.status(a, topic)).as("segments of %s", topic).hasSize(segments).allSatisfy(n ->
                    assertThat(n.path("window").path("state").asText()).as("%s", n).isEqualTo(state));
        });
    }

    @Test
    void aResetCursorSendsEverythingAgainUnderANewGeneration() throws Exception {
        String topic = "topic://t/op/again";
        String segment = "segment://t/op/again/0000-ffff-0";
        Federation.topic(topic, 1, a, b);
        Publish.v5(a, topic, 0, 20, 4);
        int entries = SegmentLog.read(a, segment).size();
        await().atMost(Duration.ofSeconds(20)).until(() -> SegmentLog.read(b, segment).size() == entries);
        assertThat(Http.post(a.broker, "/admin/v2/scalable-repl/t/op/again/reset-cursor", null,
                "{\"remote\":\"cluster-b\",\"to\":\"the start\"}").status()).isEqualTo(400);
        Http.Answer reset = Http.post(a.broker, "/admin/v2/scalable-repl/t/op/again/reset-cursor", null,
                "{\"remote\":\"cluster-b\",\"to\":\"earliest\"}");
        assertThat(reset.status()).as(reset.body()).isEqualTo(200);
        await().atMost(Duration.ofSeconds(20)).until(() -> SegmentLog.read(b, segment).size() == 2 * entries);
        var stored = SegmentLog.read(b, segment);
        assertThat(stored.get(0).property("__GEOREP_ORIGIN").get(0)).contains("|0|1|");
        assertThat(stored.get(entries).property("__GEOREP_ORIGIN").get(0)).contains("|0|2|");
        assertThat(stored.get(entries).payload()).isEqualTo(stored.get(0).payload());
        assertThat(a.segment(segment).sourceIdentity("cluster-b").get().generation()).isEqualTo(2);
    }

    @Test
    void callsThatMakeNoSense() throws Exception {
        started();
        assertThat(call("pause", "{}").status()).isEqualTo(400);
        assertThat(call("pause", "{}").body()).contains("remote:");
        assertThat(call("segment/0000-ffff-0/pause", "{\"remote\":\"nobody\"}").status()).isEqualTo(404);
        assertThat(call("segment/0000-ffff-7/pause", B).status()).isEqualTo(404);
        assertThat(call("segment/0000-ffff-0/skip", B).body()).contains("ledger:");
        Http.Answer skip = call("segment/0000-ffff-0/skip", "{\"remote\":\"cluster-b\",\"ledger\":1,\"entry\":999}");
        assertThat(skip.status()).as(skip.body()).isEqualTo(409); // nothing is parked there
    }
}
