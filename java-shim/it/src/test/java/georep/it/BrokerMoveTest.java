// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.NS;
import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.counter;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.HeldSegment.Hold;
import georep.it.HeldSegment.What;
import georep.plugin.source.SourceBroker;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.common.naming.TopicName;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Segments move between two brokers that both live, on either side, in the middle of an entry. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class BrokerMoveTest {
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(false, s -> s.zookeeper().with(c ->
                c.setTopicFactoryClassName(HeldSegment.Factory.class.getName())));
        p.a.addBroker();
        p.b.addBroker();
        Federation.introduce(p.a, p.b);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static PulsarService other(Cluster c, PulsarService than) {
        return c.brokers().stream().filter(x -> x != than).findFirst().orElseThrow();
    }

    private static CompletableFuture<Void> move(Cluster c, PulsarService to) {
        return CompletableFuture.runAsync(() -> {
            try {
                c.move(NS, to);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private int replicated(String segment) throws Exception {
        return (int) SegmentLog.read(p.b, segment).stream().filter(e -> e.parsed().hasReplicatedFrom()).count();
    }

    /** The first owner has parts of an entry stored, with and without receipt, when the segment moves. */
    @Test
    void sourceMovesInMidEntry() throws Exception {
        String t = p.topic("source", 1, 2);
        String segment = SegmentLog.segments(p.a, t).get(0);
        String left = active(p.b, t, 0);
        String right = active(p.b, t, 0xffff);
        PulsarService first = p.a.owner(segment);
        PulsarService second = other(p.a, first);
        try (Traffic x = Traffic.start(p.a, t, 50, 0, 1000); Hold hold = HeldSegment.hold(right, What.RECEIPTS)) {
            Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> hold.count() > 0 && replicated(left) > 0);
            assertThat(counter(first, p.b.name, "parts")).as("entries cut by the first owner").isPositive();
            CompletableFuture<Void> moved = move(p.a, second);
            p.b.admin().scalableTopics().splitSegment(t, id(left));
            Awaitility.await().atMost(Duration.ofSeconds(40)).ignoreExceptions()
                    .until(() -> p.a.owner(segment) == second);
            hold.close();
            moved.get(60, TimeUnit.SECONDS);
            x.more(1000);
            x.finish();
        }
        assertThat(p.a.owner(segment)).isSameAs(second);
        assertCopied(p.a, p.b, t);
        assertThat(SourceBroker.of(first).status().topic(TopicName.get(t))).as("replicators of the first owner")
                .isEmpty();
        assertThat(counter(second, p.b.name, "maskedMessages")).as("known from the watermark of the sealed segment")
                .isPositive();
        assertThat(counter(second, p.b.name, "duplicateReceipts")).as("known from receipts of the open one")
                .isPositive();
    }

    /** Entries are neither stored nor refused when their segment moves to another broker of the destination. */
    @Test
    void destinationMovesInMidSend() throws Exception {
        destination("dest-entries", What.ENTRIES, "goBacks");
    }

    /** Entries are stored, and their receipts lost with the broker that had them. */
    @Test
    void destinationMovesBeforeItsReceipts() throws Exception {
        destination("dest-receipts", What.RECEIPTS, "duplicateReceipts");
    }

    private void destination(String name, What what, String path) throws Exception {
        String t = p.topic(name, 1, 2);
        String right = active(p.b, t, 0xffff);
        PulsarService source = p.a.owner(SegmentLog.segments(p.a, t).get(0));
        PulsarService first = p.b.owner(right);
        PulsarService second = other(p.b, first);
        long before = counter(source, p.b.name, path);
        try (Traffic x = Traffic.start(p.a, t, 50, 0, 1000); Hold hold = HeldSegment.hold(right, what)) {
            Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> hold.count() > 0);
            CompletableFuture<Void> moved = move(p.b, second);
            Awaitility.await().atMost(Duration.ofSeconds(40)).ignoreExceptions()
                    .until(() -> p.b.owner(right) == second);
            hold.close();
            moved.get(60, TimeUnit.SECONDS);
            x.more(1000);
            x.finish();
        }
        assertThat(p.b.owner(right)).isSameAs(second);
        assertCopied(p.a, p.b, t);
        assertThat(counter(source, p.b.name, path) - before).as(path).isPositive();
    }

    /** A call that waits for something that does not come is answered before its caller gives up. */
    @Test
    @Tag("slow")
    void aCallIsAnsweredWhateverItWaitsFor() throws Exception {
        String t = p.topic("waits", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        CompletableFuture<Void> split;
        try (Hold hold = HeldSegment.hold(segment, What.SEAL)) {
            split = p.a.admin().scalableTopics().splitSegmentAsync(t, id(segment));
            Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> hold.count() > 0);
            Http.Answer waited = pause(t); // after the split, in the queue of the topic's controller
            assertThat(waited.status()).isEqualTo(503);
            assertThat(waited.body()).contains("not answered within 25 s");
        }
        split.get(30, TimeUnit.SECONDS);
        assertThat(pause(t).status()).isEqualTo(200);
    }

    /** What the leader says. */
    private Http.Answer pause(String topic) throws Exception {
        for (PulsarService b : p.a.brokers()) {
            Http.Answer a = Http.post(b, "/admin/v2/scalable-repl/" + topic.substring("topic://".length()) + "/pause",
                    null, "{\"remote\":\"" + p.b.name + "\"}");
            if (a.status() != 307) {
                return a;
            }
        }
        throw new AssertionError("no leader of " + topic);
    }
}
