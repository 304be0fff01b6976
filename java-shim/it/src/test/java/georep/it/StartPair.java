// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.pulsar.broker.service.persistent.RecordFault;
import org.awaitility.Awaitility;

/**
 * Cluster "cluster-a" with real bookies, short ledgers and a folder for those that are offloaded, and "cluster-b", the
 * new remote of one topic after another.
 */
final class StartPair implements AutoCloseable {
    static final int PER_LEDGER = 5;
    private static final Duration SOON = Duration.ofSeconds(40);

    final FileOffloader tier;
    final Cluster a;
    final Cluster b;
    private final AtomicInteger next = new AtomicInteger();

    StartPair() throws Exception {
        tier = new FileOffloader(Dirs.fresh().resolve("tier"));
        a = ClusterSpec.named("cluster-a").realBookies().ledgers(PER_LEDGER).offloader(tier)
                .with(c -> c.setTopicFactoryClassName(RecordFault.Factory.class.getName())).start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").start(Dirs.fresh());
        Federation.introduce(a, b);
    }

    /** A topic of one segment on both sides, in a namespace of its own that replicates nowhere yet. */
    String topic() throws Exception {
        String namespace = "t/s" + next.incrementAndGet();
        Federation.create(namespace, a, b);
        String topic = "topic://" + namespace + "/x";
        Federation.topic(topic, 1, a, b);
        return topic;
    }

    private static String local(String topic) {
        return topic.substring("topic://".length());
    }

    static String namespace(String topic) {
        return local(topic).substring(0, local(topic).lastIndexOf('/'));
    }

    /** B joins. */
    void join(String topic) throws Exception {
        Federation.replicate(a, namespace(topic), Federation.names(a, b));
        Federation.replicate(b, namespace(topic), Federation.names(a, b));
    }

    void startAt(String topic, String at) throws Exception {
        Http.Answer r = call(topic, "start-at", "{\"remote\":\"cluster-b\",\"at\":\"" + at + "\"}");
        assertThat(r.status()).as(r.body()).isEqualTo(200);
    }

    Http.Answer call(String topic, String call, String body) throws Exception {
        return Http.post(a.broker, "/admin/v2/scalable-repl/" + local(topic) + "/" + call, null, body);
    }

    JsonNode get(String path) throws Exception {
        Http.Answer r = Http.get(a.broker, "/admin/v2/scalable-repl/" + path, null);
        assertThat(r.status()).as(r.body()).isEqualTo(200);
        return r.json();
    }

    /** georep.v1.BootstrapStatus of a segment. */
    JsonNode start(String topic, long segment) throws Exception {
        for (JsonNode s : get(local(topic) + "/bootstrap?remote=cluster-b").path("segments")) {
            if (s.path("id").asLong() == segment) {
                return s.path("remotes").path("cluster-b");
            }
        }
        throw new AssertionError("no segment " + segment);
    }

    /** The same, once it is placed. */
    JsonNode placed(String topic, long segment) {
        List<JsonNode> found = new ArrayList<>();
        Awaitility.await().atMost(SOON).untilAsserted(() -> {
            JsonNode s = start(topic, segment);
            assertThat(s.path("state").asText()).as("%s", s).isEqualTo("placed");
            found.add(s);
        });
        return found.get(0).path("plan");
    }

    /** The same, once it waits for something. */
    JsonNode waiting(String topic, long segment) {
        List<JsonNode> found = new ArrayList<>();
        Awaitility.await().atMost(SOON).untilAsserted(() -> {
            JsonNode s = start(topic, segment);
            assertThat(s.path("tries").asInt()).as("%s", s).isPositive();
            found.add(s);
        });
        return found.get(0);
    }

    /** B has got exactly these, by number, when nothing is behind the cursors any more. */
    void assertArrived(String topic, int from, int to) throws Exception {
        assertArrived(topic, IntStream.range(from, to).boxed().toList());
    }

    void assertArrived(String topic, List<Integer> numbers) throws Exception {
        Awaitility.await().atMost(SOON).pollInterval(Duration.ofMillis(200)).untilAsserted(() -> {
            assertThat(numbers(topic)).as("status %s", SourcePair.status(a, topic))
                    .containsExactlyInAnyOrderElementsOf(numbers);
            assertThat(SourcePair.backlogs(a, topic, b.name)).containsOnly(0L);
        });
    }

    /** What B has from A, in the order of its logs. */
    List<Integer> numbers(String topic) throws Exception {
        return StoredMessages.of(b, topic).from(a.name).stream().map(StoredMessages.Message::number).toList();
    }

    static String position(JsonNode p) {
        return p.path("ledger").asLong() + ":" + p.path("entry").asLong();
    }

    @Override
    public void close() throws Exception {
        a.close();
        b.close();
    }
}
