// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Topics that were plain ones before they became scalable (PIP-475): old partitions are sealed parents. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class KindLegacyTest {
    private static final int KEYS = 10;
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(true);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static String plain(String name) {
        return "persistent://" + SourcePair.NS + "/" + name;
    }

    private static String scalable(String name) {
        return "topic://" + SourcePair.NS + "/" + name;
    }

    /** Messages of the v4 client on a plain topic. */
    private static void publish(Cluster c, String name, int from, int to) throws Exception {
        try (PulsarClient client = c.v4(); Producer<byte[]> v4 = client.newProducer().topic(plain(name))
                .messageRoutingMode(MessageRoutingMode.SinglePartition).create()) {
            List<CompletableFuture<?>> sent = new ArrayList<>();
            for (int i = from; i < to; i++) {
                sent.add(v4.newMessage().key("k" + i % KEYS).value(Publish.text(i, KEYS)
                        .getBytes(StandardCharsets.UTF_8)).sendAsync());
            }
            for (CompletableFuture<?> f : sent) {
                f.get(20, TimeUnit.SECONDS);
            }
        }
    }

    private static void awaitClassic(Cluster from, Cluster to, String topic) {
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() -> assertThat(from.topic(topic).getReplicators()
                .get(to.name).getNumberOfEntriesInBacklog()).isZero());
    }

    /** All that was published at one side is at the other, once, in order per key: old partitions, then segments. */
    private static void awaitCopied(Cluster from, Cluster to, String topic, int messages) {
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() -> {
            StoredMessages source = StoredMessages.of(from, topic);
            assertThat(source.count("")).isEqualTo(messages);
            assertThat(StoredMessages.compare(source, StoredMessages.of(to, topic), from.name))
                    .as("%s", SourcePair.status(from, topic)).isEqualTo(StoredMessages.Difference.NONE);
        });
    }

    /** Two partitions, replicated by the broker's own replicator, then migrated at both sides, then by segment. */
    @Test
    void migratedAtBothSides() throws Exception {
        String name = "migrated";
        String t = scalable(name);
        p.a.admin().topics().createPartitionedTopic(plain(name), 2); // the other cluster gets it, too
        publish(p.a, name, 0, 100);
        for (int i = 0; i < 2; i++) {
            awaitClassic(p.a, p.b, plain(name) + "-partition-" + i);
        }
        p.a.admin().scalableTopics().migrateToScalable(t, true); // the other side's replicator is a v4 client
        p.b.admin().scalableTopics().migrateToScalable(t, true);
        Rise r = new Rise(p.a, p.b, "verbatim", "single", "parts");
        Publish.v5(p.a, t, 100, 200, KEYS);
        awaitCopied(p.a, p.b, t, 200);
        Publish.v5(p.b, t, 200, 300, KEYS);
        awaitCopied(p.b, p.a, t, 100);
        assertThat(r.of("verbatim")).as("the layouts are equal").isPositive();
        assertThat(r.of("parts")).isZero();
    }

    /** What the old topic still has to send holds back the segments that follow it. */
    @Test
    void childrenWaitForTheClassicReplicator() throws Exception {
        String name = "waiting";
        String t = scalable(name);
        p.b.admin().topics().createNonPartitionedTopic(plain(name));
        p.b.admin().topics().terminateTopic(plain(name)); // nothing can be sent there
        publish(p.a, name, 0, 20);
        p.a.admin().scalableTopics().migrateToScalable(t, true);
        p.b.admin().scalableTopics().migrateToScalable(t, true);
        Publish.v5(p.a, t, 20, 40, KEYS);
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() -> assertThat(SourcePair.status(p.a, t).get(0)
                .path("remoteStatus").asText()).as("%s", SourcePair.status(p.a, t)).isEqualTo("supported"));
        JsonNode s = SourcePair.status(p.a, t).get(0);
        assertThat(s.path("window").path("state").asText()).as("%s", s).isEqualTo("starting");
        assertThat(s.path("window").path("reason").asText()).isEqualTo("parent-drain");
        assertThat(s.path("backlog").asLong()).isPositive();
        assertThat(StoredMessages.of(p.b, t).all()).isEmpty();
        p.a.admin().topics().skipAllMessages(plain(name), "pulsar.repl." + p.b.name); // an operator gives them up
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() -> assertThat(StoredMessages.of(p.b, t).from(p.a.name))
                .extracting(StoredMessages.Message::number).containsExactlyInAnyOrderElementsOf(range(20, 40)));
    }

    private static List<Integer> range(int from, int to) {
        return java.util.stream.IntStream.range(from, to).boxed().toList();
    }

    /** A remote whose topic is still a plain one is not written to; after its migration it gets everything. */
    @Test
    void aRemoteThatIsNotMigratedYet() throws Exception {
        String name = "later";
        String t = scalable(name);
        p.b.admin().topics().createNonPartitionedTopic(plain(name));
        Federation.topic(t, 2, p.a);
        Publish.v5(p.a, t, 0, 50, KEYS);
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() -> {
            JsonNode s = SourcePair.status(p.a, t).get(0);
            assertThat(s.path("window").path("state").asText()).as("%s", s).isEqualTo("unsupported");
            assertThat(s.path("backlog").asLong()).isPositive();
        });
        assertThat(p.b.topic(plain(name)).getManagedLedger().getNumberOfEntries()).isZero();
        Rise r = new Rise(p.a, p.b, "verbatim", "single", "parts");
        p.b.admin().scalableTopics().migrateToScalable(t, true);
        awaitCopied(p.a, p.b, t, 50);
        assertThat(r.of("verbatim") + r.of("single")).isPositive();
        assertThat(r.of("parts")).as("one segment covers all").isZero();
    }
}
