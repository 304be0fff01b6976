// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import georep.plugin.control.TopicRecord;
import georep.plugin.source.SourceBroker;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.broker.resources.ClusterResources;
import org.apache.pulsar.broker.resources.NamespaceResources;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.naming.TopicName;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** The set of clusters changes: while a broker is away, in mid-send, without this cluster; and cursors vanish. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class ReplicationSetTest {
    private static final String CURSOR = "pulsar.repl.cluster-b";
    private volatile String startAt = "Earliest";
    private volatile boolean topicPolicies = true;
    private Cluster a;
    private Cluster b;

    @BeforeAll
    void start() throws Exception {
        // fixed: where topic policies are on, Pulsar's own code at B goes on asking A at the address that it knows
        a = ClusterSpec.named("cluster-a").apart().fixedPorts().key("georepIdleProducerSeconds", 2)
                .with(c -> c.setReplicationStartAt(startAt))
                .with(c -> c.setTopicLevelPoliciesEnabled(topicPolicies)).start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").apart().dedup(true).start(Dirs.fresh());
        Federation.introduce(a, b);
    }

    @AfterAll
    void stop() throws Exception {
        a.close();
        b.close();
    }

    /** A topic in a namespace of its own that both clusters replicate. */
    private String topic(String tenant, int segmentsA, int segmentsB) throws Exception {
        Federation.of(tenant + "/ns", a, b);
        String t = "topic://" + tenant + "/ns/x";
        Federation.topic(t, segmentsA, a);
        Federation.topic(t, segmentsB, b);
        return t;
    }

    private void operate(String tenant, String call) throws Exception {
        Http.Answer n = Http.post(a.broker, "/admin/v2/scalable-repl/" + tenant + "/ns/x/" + call, null,
                "{\"remote\":\"cluster-b\"}");
        assertThat(n.status()).as("%s: %s", call, n.body()).isEqualTo(200);
    }

    /** While no broker of A runs, something changes in its metadata store. */
    private void whileAway(Change change) throws Exception {
        a.broker.close();
        change.run();
        a.startAgain();
        Federation.introduce(a, b);
    }

    private interface Change {
        void run() throws Exception;
    }

    private TopicRecord record(String topic) throws Exception {
        return TopicRecord.of(a.broker.getPulsarResources().getScalableTopicResources()
                .getScalableTopicMetadataAsync(TopicName.get(topic), true).get().orElseThrow());
    }

    private List<String> pins(String topic) throws Exception {
        return a.broker.getPulsarResources().getScalableTopicResources().listSubscriptionsAsync(TopicName.get(topic))
                .get();
    }

    private List<String> cursors(String segment) throws Exception {
        List<String> names = new java.util.ArrayList<>();
        for (ManagedCursor c : a.segment(segment).getManagedLedger().getCursors()) {
            names.add(c.getName());
        }
        return names;
    }

    private static List<Integer> numbers(StoredMessages m, String from) {
        return m.from(from).stream().map(StoredMessages.Message::number).distinct().sorted().toList();
    }

    private static List<Integer> range(int from, int to) {
        return IntStream.range(from, to).boxed().toList();
    }

    /** Cursor, pin and pause of a remote that left meanwhile keep no segment from loading, and go. */
    @Test
    void aRemoteThatLeftWhileTheBrokerWasAwayLeavesNothing() throws Exception {
        String t = topic("offline", 2, 1);
        operate("offline", "pause");
        Publish.v5(a, t, 0, 200, 20);
        a.admin().scalableTopics().splitSegment(t, 0);
        assertThat(pins(t)).containsExactly(CURSOR);
        whileAway(() -> new NamespaceResources(a.store(), 30).setPolicies(NamespaceName.get("offline/ns"), p -> {
            p.replication_clusters = Set.of("cluster-a");
            return p;
        }));
        Publish.v5(a, t, 200, 300, 20);
        for (String s : SegmentLog.segments(a, t)) {
            assertThat(a.segment(s).getReplicators()).as(s).isEmpty();
            assertThat(cursors(s)).as(s).doesNotContain(CURSOR);
        }
        a.controller(t).reconcile().get();
        assertThat(pins(t)).isEmpty();
        assertThat(record(t).remotes()).isEmpty();
        assertThat(record(t).paused()).isEmpty();
        assertThat(numbers(StoredMessages.of(a, t), "")).as("A keeps its own").isEqualTo(range(0, 300));
        assertThat(StoredMessages.of(b, t).count("cluster-a")).isZero();
        // the remote is back: everything goes there, and nothing of the pause is left
        Federation.replicate(a, "offline/ns", Set.of(a.name, b.name));
        assertCopied(a, b, t);
    }

    /**
     * Policies that name a cluster which nobody has registered keep no segment from loading. Without topic policies:
     * where a namespace has those, Pulsar itself loads none of its topics then.
     */
    @Test
    void aRemoteThatIsNotRegisteredIsWaitedFor() throws Exception {
        String t = topic("unknown", 1, 1);
        Publish.v5(a, t, 0, 100, 10);
        assertCopied(a, b, t);
        a.broker.close();
        new ClusterResources(a.store(), a.store(), 30).deleteCluster("cluster-b");
        topicPolicies = false;
        a.startAgain();
        topicPolicies = true;
        b.admin().clusters().updateCluster(a.name, a.addresses());
        Publish.v5(a, t, 100, 200, 10);
        String segment = SegmentLog.segments(a, t).get(0);
        assertThat(a.segment(segment).getReplicators()).isEmpty();
        assertThat(cursors(segment)).contains(CURSOR);
        Federation.introduce(a, b);
        assertCopied(a, b, t);
        assertThat(StoredMessages.of(b, t).count("cluster-a")).as("from where it was").isEqualTo(200);
    }

    /** A remote goes and comes back while entries are under way to it. */
    @Test
    void aRemoteLeavesInMidSendAndComesBack() throws Exception {
        String t = topic("mid", 2, 3);
        try (Traffic x = Traffic.start(a, t, 50, 0)) {
            x.more(1000);
            Federation.replicate(a, "mid/ns", Set.of(a.name));
            await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
                for (String s : SegmentLog.segments(a, t)) {
                    assertThat(a.segment(s).getReplicators()).isEmpty();
                    assertThat(cursors(s)).doesNotContain(CURSOR);
                }
                JsonNode budget = SourceBroker.of(a.broker).status().budget();
                assertThat(budget.path("inFlightBytes").asLong()).as("%s", budget).isZero();
                assertThat(budget.path("slotsInUse").asLong()).as("%s", budget).isZero();
            });
            x.more(500);
            Federation.replicate(a, "mid/ns", Set.of(a.name, b.name));
            x.more(500);
            x.finish();
        }
        await().atMost(Duration.ofSeconds(60)).untilAsserted(() ->
                assertThat(backlogs(a, t, b.name)).as("%s", status(a, t)).containsOnly(0L));
        StoredMessages source = StoredMessages.of(a, t);
        StoredMessages.Difference d = StoredMessages.compare(source, StoredMessages.of(b, t), a.name);
        assertThat(d.lost()).isEmpty();
        assertThat(d.disorder()).isEmpty();
        assertThat(d.duplicates()).as("a new generation repeats what the first one had sent, and nothing else")
                .isPositive().isLessThanOrEqualTo(source.count(""));
    }

    /** A cluster that is left out of its own namespace's list keeps its data, pins and cursors until it is back. */
    @Test
    void theLocalClusterLeaves() throws Exception {
        String t = topic("local", 1, 2);
        Publish.v5(a, t, 0, 100, 10);
        assertCopied(a, b, t);
        operate("local", "pause");
        Publish.v5(a, t, 100, 200, 10);
        a.admin().scalableTopics().splitSegment(t, 0);
        List<String> segments = SegmentLog.segments(a, t);
        Federation.replicate(a, "local/ns", Set.of(b.name));
        a.controller(t).reconcile().get();
        assertThat(SegmentLog.segments(a, t)).isEqualTo(segments);
        assertThat(pins(t)).containsExactly(CURSOR);
        assertThat(record(t).remotes()).containsExactly(b.name);
        JsonNode report = Http.get(a.broker, "/admin/v2/scalable-repl/status/local/ns/x", null).json();
        assertThat(report.path("trouble").asText()).as("%s", report).contains("do not include this one");
        // Pulsar unloads the namespace and lets nobody load it
        await().atMost(Duration.ofSeconds(30)).until(() -> segments.stream().noneMatch(s ->
                a.broker.getBrokerService().getTopics().containsKey(s)));
        Federation.replicate(a, "local/ns", Set.of(a.name, b.name));
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() ->
                assertThat(numbers(StoredMessages.of(a, t), "")).isEqualTo(range(0, 200)));
        assertThat(StoredMessages.of(b, t).count(a.name)).as("still paused").isEqualTo(100);
        operate("local", "resume");
        assertCopied(a, b, t);
        assertThat(StoredMessages.of(b, t).count(a.name)).as("from where it was").isEqualTo(200);
    }

    /** A cursor that vanishes under a running replicator: noticed without traffic, told, nothing is jumped over. */
    @Test
    void aCursorIsDeletedUnderItsReplicator() throws Exception {
        String t = topic("live", 1, 1);
        Publish.v5(a, t, 0, 100, 10);
        assertCopied(a, b, t);
        String segment = SegmentLog.segments(a, t).get(0);
        long lost = a.plugin().counters().cursorsLost.sum();
        a.broker.getConfiguration().setReplicationStartAt("Latest");
        try (LogLines audit = LogLines.of("georep.audit", Level.INFO)) {
            a.segment(segment).getManagedLedger().deleteCursor(CURSOR);
            await().atMost(Duration.ofSeconds(30)).until(() -> a.plugin().counters().cursorsLost.sum() == lost + 1);
            await().atMost(Duration.ofSeconds(10)).until(() -> audit.with("call=cursor-lost").stream().anyMatch(l ->
                    l.contains("live/ns") && l.contains("remote=cluster-b")));
        } finally {
            a.broker.getConfiguration().setReplicationStartAt("Earliest");
        }
        Publish.v5(a, t, 100, 200, 10);
        arrivedAgain(t, segment);
    }

    /** The same while no broker runs, and new cursors start at the end. */
    @Test
    void aCursorIsDeletedWhileTheBrokerIsAway() throws Exception {
        String t = topic("gone", 1, 1);
        Publish.v5(a, t, 0, 100, 10);
        assertCopied(a, b, t);
        operate("gone", "pause");
        Publish.v5(a, t, 100, 200, 10);
        String segment = SegmentLog.segments(a, t).get(0);
        String path = "/managed-ledgers/" + a.segment(segment).getManagedLedger().getName() + "/" + CURSOR;
        startAt = "Latest";
        try {
            whileAway(() -> a.store().delete(path, Optional.empty()).get());
            operate("gone", "resume");
            arrivedAgain(t, segment);
        } finally {
            startAt = "Earliest";
            a.broker.getConfiguration().setReplicationStartAt("Earliest");
        }
    }

    /** Of messages 0 to 199 the first hundred twice, in two generations; and the status tells. */
    private void arrivedAgain(String topic, String segment) {
        await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> {
            assertThat(backlogs(a, topic, b.name)).as("%s", status(a, topic)).containsOnly(0L);
            StoredMessages copy = StoredMessages.of(b, topic);
            assertThat(numbers(copy, a.name)).isEqualTo(range(0, 200));
            assertThat(copy.count(a.name)).isEqualTo(300);
        });
        await().atMost(Duration.ofSeconds(10)).untilAsserted(() -> {
            JsonNode s = Http.get(a.broker, "/admin/v2/scalable-repl/" + topic.substring("topic://".length())
                    + "/segment/" + segment.substring(segment.lastIndexOf('/') + 1), null).json();
            assertThat(s.path("remotes").path("cluster-b").path("cursorLost").asText()).as("%s", s).contains("T");
        });
    }
}
