// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.counter;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Remotes that go, come, lack the plugin, are switched off and on, or join late. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class SourceRemoteTest {
    private Cluster a;
    private Cluster b;

    @BeforeAll
    void start() throws Exception {
        a = ClusterSpec.named("cluster-a").apart().key("georepStallSeconds", 2).start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").apart().fixedPorts().start(Dirs.fresh());
        Federation.introduce(a, b);
    }

    @AfterAll
    void stop() throws Exception {
        a.close();
        b.close();
    }

    private String topic(String namespace, String name, int segmentsA, int segmentsB) throws Exception {
        String t = "topic://" + namespace + "/" + name;
        Federation.topic(t, segmentsA, a);
        Federation.topic(t, segmentsB, b);
        return t;
    }

    @Test
    void remoteGoesAndComesBack() throws Exception {
        Federation.of("down/ns", a, b);
        String t = topic("down/ns", "x", 1, 2);
        Rise r = new Rise(a, b, "parts");
        try (Traffic x = Traffic.start(a, t, 50, 0)) {
            x.more(1000);
            b.broker.close();
            x.more(1000);
            JsonNode[] s = new JsonNode[1];
            Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
                s[0] = status(a, t).get(0);
                assertThat(s[0].path("stalled").asBoolean()).as("%s", s[0]).isTrue();
                // where the window is full of what was sent, nothing is tried anew that could tell of trouble
                assertThat(s[0].path("stallReason").asText().equals("no-receipt")
                        || !s[0].path("trouble").asText().isEmpty()).as("%s", s[0]).isTrue();
            });
            assertThat(s[0].path("backlog").asLong()).isPositive();
            assertThat(s[0].path("delaySeconds").asLong()).as("age of the oldest entry").isPositive();
            assertThat(s[0].path("stallReason").asText()).isNotEmpty();
            String labels = "{cluster=\"" + a.name + "\",namespace=\"down/ns\",topic=\"" + t + "\",segment=\"0\","
                    + "remote_cluster=\"" + b.name + "\"";
            Awaitility.await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> // the broker keeps a page for a while
                    assertThat(Http.get(a.broker, "/metrics/", null).body().lines())
                            .anyMatch(l -> l.startsWith("pulsar_georep_segment_stalled" + labels + ",reason=\"")
                                    && !l.contains("reason=\"\"") && l.endsWith(" 1"))
                            .anyMatch(l -> l.startsWith("pulsar_georep_segment_delay_seconds" + labels + "} ")));
            b.startAgain();
            x.more(1000);
            x.finish();
        }
        assertCopied(a, b, t);
        assertThat(r.of("parts")).isPositive();
        assertThat(status(a, t).get(0).path("stalled").asBoolean()).isFalse();
    }

    @Test
    void nothingIsWrittenToARemoteWithoutThePlugin() throws Exception {
        try (Cluster stock = ClusterSpec.named("cluster-s").stock().start(Dirs.fresh())) {
            Federation.introduce(a, stock);
            Federation.create("stock/ns", a, stock);
            Federation.replicate(a, "stock/ns", Set.of(a.name, stock.name)); // the stock broker's own replicator spins
            String t = "topic://stock/ns/x";
            Federation.topic(t, 1, a, stock);
            Publish.v5(a, t, 0, 500, 10);
            Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
                JsonNode s = status(a, t).get(0);
                assertThat(s.path("window").path("state").asText()).as("%s", s).isEqualTo("unsupported");
                assertThat(s.path("remoteStatus").asText()).contains("no plugin");
                assertThat(s.path("backlog").asLong()).isPositive();
                assertThat(s.path("connected").asBoolean()).isFalse();
            });
            long calls = requests(stock);
            TimeUnit.SECONDS.sleep(5); // calls per time are the measure; the stock replicator makes over a thousand
            assertThat(requests(stock) - calls).as("calls to the remote in 5 s, this one among them").isLessThan(30);
            assertThat(stock.broker.getBrokerService().getTopicIfExists("segment://stock/ns/x/0000-ffff-0").get()
                    .orElseThrow().getProducers()).as("producers at the remote").isEmpty();
            assertThat(((org.apache.pulsar.broker.service.persistent.PersistentTopic) stock.broker.getBrokerService()
                    .getTopicIfExists("segment://stock/ns/x/0000-ffff-0").get().orElseThrow()).getManagedLedger()
                    .getNumberOfEntries()).as("entries at the remote").isZero();
            Federation.stop(a, "stock/ns");
        }
    }

    /** HTTP requests that a cluster's broker has answered. */
    private static long requests(Cluster c) throws Exception {
        double n = Http.get(c.broker, "/metrics/", null).body().lines()
                .filter(l -> l.startsWith("jetty_requests_total"))
                .mapToDouble(l -> Double.parseDouble(l.substring(l.lastIndexOf(' ') + 1))).sum();
        assertThat(n).as("the broker counts its requests").isPositive();
        return (long) n;
    }

    /** A segment whose batches wait for the slow path's budget says for how long, in its status and in /metrics. */
    @Test
    @Tag("slow")
    void waitsForTheBudgetAreTold() throws Exception {
        try (Cluster slow = ClusterSpec.named("cluster-slow").apart().key("georepSlowPathBytesPerSecond", 2000)
                .key("georepSlowPathBurstBytes", 1).start(Dirs.fresh())) {
            Federation.introduce(slow, b);
            Federation.of("slow/ns", slow, b);
            String t = "topic://slow/ns/x";
            Federation.topic(t, 1, slow);
            Federation.topic(t, 2, b);
            try (PulsarClient client = slow.v5(); Producer<byte[]> p = client.newProducer(Schema.bytes()).topic(t)
                    .create()) {
                for (int i = 0; i < 20; i++) { // each a batch or more
                    Publish.v5(p, 20 * i, 20 * (i + 1), 10);
                }
            }
            assertCopied(slow, b, t);
            assertThat(counter(slow, b, "rebatched")).isGreaterThanOrEqualTo(20);
            JsonNode s = status(slow, t).get(0);
            long waited = s.path("throttledMillis").asLong();
            assertThat(waited).as("%s", s).isGreaterThan(1000);
            String start = "pulsar_georep_segment_throttled_seconds_total{cluster=\"cluster-slow\","
                    + "namespace=\"slow/ns\",topic=\"" + t + "\",segment=\"0\",remote_cluster=\"cluster-b\"} ";
            Awaitility.await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> // the broker keeps a page for a while
                    assertThat(Http.get(slow.broker, "/metrics/", null).body().lines())
                            .contains(start + String.format("%d.%03d", waited / 1000, waited % 1000)));
        }
    }

    @Test
    void earliestAfterLatestSendsTheOldEntries() throws Exception {
        Federation.create("start-at/ns", a, b);
        String t = topic("start-at/ns", "x", 2, 3);
        Publish.v5(a, t, 0, 300, 30);

        a.broker.getConfiguration().setReplicationStartAt("Latest");
        try {
            Federation.replicate(a, "start-at/ns", Set.of(a.name, b.name));
            replicated(t, true);
            Publish.v5(a, t, 300, 600, 30);
            drained(t);
            assertThat(StoredMessages.of(b, t).from(a.name).stream().map(StoredMessages.Message::number).sorted())
                    .as("latest").containsExactlyElementsOf(range(300, 600));

            Federation.stop(a, "start-at/ns");
            replicated(t, false);
            Publish.v5(a, t, 600, 700, 30);
            assertThat(StoredMessages.of(b, t).count(a.name)).as("while it is off").isEqualTo(300);

            a.broker.getConfiguration().setReplicationStartAt("Earliest");
            Federation.replicate(a, "start-at/ns", Set.of(a.name, b.name));
            replicated(t, true);
        } finally {
            a.broker.getConfiguration().setReplicationStartAt("Earliest");
        }
        drained(t);
        StoredMessages copy = StoredMessages.of(b, t);
        assertThat(copy.from(a.name).stream().map(StoredMessages.Message::number).distinct().sorted())
                .as("everything is there").containsExactlyElementsOf(range(0, 700));
        assertThat(copy.count(a.name)).as("a new generation sends all of it, by the operator's choice")
                .isEqualTo(300 + 700);
    }

    private static java.util.List<Integer> range(int from, int to) {
        return java.util.stream.IntStream.range(from, to).boxed().toList();
    }

    private void replicated(String topic, boolean on) throws Exception {
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            for (String s : SegmentLog.segments(a, topic)) {
                var r = a.segment(s).getReplicators().get(b.name);
                assertThat(r != null && r.isConnected()).as(s).isEqualTo(on);
            }
        });
        if (!on) {
            assertThat(status(a, topic)).as("replicators left").isEmpty();
        }
    }

    private void drained(String topic) {
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() ->
                assertThat(backlogs(a, topic, b.name)).containsOnly(0L));
    }

    @Test
    void aThirdClusterJoins() throws Exception {
        Federation.of("third/ns", a, b);
        String t = topic("third/ns", "x", 2, 1);
        try (Traffic x = Traffic.start(a, t, 50, 0);
                Cluster c = ClusterSpec.named("cluster-c").dedup(true).start(Dirs.fresh())) {
            x.more(1000);
            Federation.introduce(a, b, c);
            Federation.create("third/ns", a, b, c);
            c.admin().scalableTopics().createScalableTopic(t, 3);
            for (Cluster at : new Cluster[]{a, b, c}) {
                Federation.replicate(at, "third/ns", Set.of(a.name, b.name, c.name));
            }
            x.more(1000);
            x.finish();
            assertCopied(a, c, t);
            assertCopied(a, b, t);
            assertThat(counter(a, c, "parts")).isPositive();
            assertThat(StoredMessages.of(c, t).all().stream().map(StoredMessages.Message::from).distinct())
                    .as("B forwards nothing").containsExactly(a.name);
            Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() ->
                    assertThat(counter(b, c, "dropped")).as("B drops what it has from A").isPositive());
            for (Cluster at : new Cluster[]{a, b}) {
                Federation.replicate(at, "third/ns", Set.of(a.name, b.name));
            }
            Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
                for (String s : SegmentLog.segments(a, t)) {
                    assertThat(a.segment(s).getReplicators()).as("the remote was removed").doesNotContainKey(c.name);
                }
            });
        }
    }
}
