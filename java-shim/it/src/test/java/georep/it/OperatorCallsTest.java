// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
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
    void aPauseOutlivesAReloadAndEndsWithResume() throws Exception {
        started();
        Http.Answer paused = call("pause", B);
        assertThat(paused.status()).as(paused.body()).isEqualTo(200);
        assertThat(paused.json().path("segments").asInt()).isEqualTo(1);
        a.admin().namespaces().unload("t/op");
        Publish.v5(a, "topic://t/op/x", 0, 20, 4);
        await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(Http.get(a.broker, BASE
                + "segment/0000-ffff-0", null).json().path("remotes").path("cluster-b").path("window").path("state")
                .asText()).isEqualTo("paused"));
        assertThat(SegmentLog.read(b, SEGMENT)).isEmpty();
        assertThat(call("segment/0000-ffff-0/resume", B).status()).isEqualTo(200);
        await().atMost(Duration.ofSeconds(20)).until(() -> !SegmentLog.read(b, SEGMENT).isEmpty());
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
                "{\"remote\":\"cluster-b\",\"to\":\"5:1\"}").status()).isEqualTo(400);
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
