// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.plugin.GeorepPlugin;
import georep.plugin.source.SourceBroker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.common.naming.TopicName;
import org.awaitility.Awaitility;

/** Two clusters that replicate a namespace to each other, and what the tests of the source side ask of them. */
final class SourcePair implements AutoCloseable {
    static final String NS = "t/ns";

    final Cluster a;
    final Cluster b;

    private SourcePair(Cluster a, Cluster b) {
        this.a = a;
        this.b = b;
    }

    /** Clusters "cluster-a" and "cluster-b"; dedup is the namespaces' policy, which replication must not need. */
    static SourcePair start(boolean dedup, UnaryOperator<ClusterSpec> also) throws Exception {
        Cluster a = also.apply(ClusterSpec.named("cluster-a").dedup(dedup)).start(Dirs.fresh());
        Cluster b = also.apply(ClusterSpec.named("cluster-b").dedup(!dedup)).start(Dirs.fresh());
        Federation.of(NS, a, b);
        return new SourcePair(a, b);
    }

    static SourcePair start(boolean dedup) throws Exception {
        return start(dedup, s -> s);
    }

    /** Clusters whose layouts stay as different as the test makes them. */
    static SourcePair apart(boolean dedup, UnaryOperator<ClusterSpec> also) throws Exception {
        return start(dedup, s -> also.apply(s.apart()));
    }

    static SourcePair apart(boolean dedup) throws Exception {
        return apart(dedup, s -> s);
    }

    /** A topic of so many segments on each side. */
    String topic(String name, int segmentsA, int segmentsB) throws Exception {
        String t = "topic://" + NS + "/" + name;
        Federation.topic(t, segmentsA, a);
        Federation.topic(t, segmentsB, b);
        return t;
    }

    /** Waits until the copy at {@code to} has so many messages from {@code from}, and no more come. */
    static void await(Cluster from, Cluster to, String topic, Duration atMost) throws Exception {
        int want = StoredMessages.of(from, topic).count("");
        Awaitility.await().atMost(atMost).pollInterval(Duration.ofMillis(100)).untilAsserted(() ->
                assertThat(backlogs(from, topic, to.name)).as("backlog of %s, status %s", topic, status(from, topic))
                        .containsOnly(0L));
        assertThat(want).as("messages to replicate").isPositive();
    }

    /** Waits until nothing is behind the cursors and so many entries from there are stored, and no more. */
    static void await(Cluster from, Cluster to, String topic, Duration atMost, int entries) throws Exception {
        Awaitility.await().atMost(atMost).pollInterval(Duration.ofMillis(100)).untilAsserted(() -> {
            int n = 0;
            for (String s : SegmentLog.segments(to, topic)) {
                n += (int) SegmentLog.read(to, s).stream().filter(e -> e.parsed().hasReplicatedFrom()).count();
            }
            assertThat(n).as("entries of %s, status %s", topic, status(from, topic)).isEqualTo(entries);
            assertThat(backlogs(from, topic, to.name)).containsOnly(0L);
        });
    }

    /** Entries behind the replication cursors of all segments that are in the layout. */
    static List<Long> backlogs(Cluster c, String topic, String remote) throws Exception {
        List<Long> all = new ArrayList<>();
        for (String s : SegmentLog.segments(c, topic)) {
            var r = c.segment(s).getReplicators().get(remote);
            all.add(r == null ? -1L : r.getNumberOfEntriesInBacklog());
        }
        return all;
    }

    /** Nothing lost, nothing twice, order per key as at the source. */
    static void assertCopied(Cluster from, Cluster to, String topic) throws Exception {
        await(from, to, topic, Duration.ofSeconds(60));
        StoredMessages source = StoredMessages.of(from, topic);
        StoredMessages copy = StoredMessages.of(to, topic);
        assertThat(StoredMessages.compare(source, copy, from.name)).as("%s from %s at %s", topic, from.name, to.name)
                .isEqualTo(StoredMessages.Difference.NONE);
    }

    /** One of the core's counters, all windows of the broker to the remote together. */
    static long counter(PulsarService broker, String remote, String name) {
        if (GeorepPlugin.of(broker) == null) {
            return 0;
        }
        return SourceBroker.of(broker).status().counters().getOrDefault(remote, Map.of()).getOrDefault(name, 0L);
    }

    static long counter(Cluster from, Cluster to, String name) {
        return counter(from.broker, to.name, name);
    }

    /** How counters rose since this was made. */
    static final class Rise {
        private final Cluster from;
        private final Cluster to;
        private final Map<String, Long> before = new java.util.HashMap<>();

        Rise(Cluster from, Cluster to, String... names) {
            this.from = from;
            this.to = to;
            Arrays.asList(names).forEach(n -> before.put(n, counter(from, to, n)));
        }

        long of(String name) {
            return counter(from, to, name) - before.get(name);
        }
    }

    /** Status of a topic's replicators on the first broker of a cluster. */
    static JsonNode status(Cluster c, String topic) {
        return SourceBroker.of(c.broker).status().topic(TopicName.get(topic));
    }

    /** A segment that is active, by hash range start. */
    static String active(Cluster c, String topic, int hash) throws Exception {
        return c.broker.getPulsarResources().getScalableTopicResources()
                .getScalableTopicMetadataAsync(TopicName.get(topic), true).get().orElseThrow().getSegments().values()
                .stream().filter(s -> s.isActive() && s.hashRange().contains(hash))
                .map(s -> org.apache.pulsar.common.scalable.SegmentTopicName.fromParent(TopicName.get(topic),
                        s.hashRange(), s.segmentId()).toString()).findFirst().orElseThrow();
    }

    static long id(String segmentTopic) {
        return Long.parseLong(segmentTopic.substring(segmentTopic.lastIndexOf('-') + 1));
    }

    @Override
    public void close() throws Exception {
        a.close();
        b.close();
    }
}
