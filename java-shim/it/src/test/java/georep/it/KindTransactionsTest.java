// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.SourcePair.Rise;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.Transaction;
import org.apache.pulsar.client.api.v5.config.BatchingPolicy;
import org.apache.pulsar.client.api.v5.config.TransactionPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Transactions of the client of Pulsar 5 with the broker's coordinator for scalable topics. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class KindTransactionsTest {
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(true, s -> s.with(c -> {
            c.setTransactionCoordinatorEnabled(true);
            c.setTransactionBufferProviderClassName(KindSlowBuffers.class.getName());
        }));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    /** A client of one cluster and its producer; messages go out one by one. */
    private static final class Application implements AutoCloseable {
        private final PulsarClient client;
        private final Producer<byte[]> producer;

        Application(Cluster c, String topic) throws Exception {
            client = PulsarClient.builder().serviceUrl(c.broker.getBrokerServiceUrl()).transactionPolicy(
                    TransactionPolicy.builder().timeout(Duration.ofMinutes(10)).build()).build();
            producer = client.newProducer(Schema.bytes()).topic(topic).batchingPolicy(BatchingPolicy.ofDisabled())
                    .create();
        }

        Transaction begin() throws Exception {
            return client.newTransaction();
        }

        void send(Transaction txn, String key, String... texts) throws Exception {
            for (String text : texts) {
                var m = producer.newMessage().key(key).value(text.getBytes(StandardCharsets.UTF_8));
                if (txn != null) {
                    m.transaction(txn);
                }
                m.send();
            }
        }

        @Override
        public void close() throws Exception {
            producer.close();
            client.close();
        }
    }

    private static void assertOrdinary(List<StoredEntry> entries) {
        assertThat(entries).allSatisfy(e -> {
            assertThat(e.parsed().hasTxnidLeastBits()).as("transaction id, least").isFalse();
            assertThat(e.parsed().hasTxnidMostBits()).as("transaction id, most").isFalse();
        });
    }

    @Test
    void committedArriveAndAbortedDoNot() throws Exception {
        String t = p.topic("txn", 1, 2);
        Rise r = new Rise(p.a, p.b, "droppedBy.txn-aborted", "single");
        try (Application app = new Application(p.a, t)) {
            app.send(null, "k", "first");
            await(p.a, p.b, t, Kinds.SOON, 1);
            Transaction one = app.begin();
            Transaction two = app.begin();
            app.send(one, "k", "one-0", "one-1");
            app.send(two, "k", "two-0");
            app.send(null, "k", "between");
            app.send(one, "k", "one-2");
            app.send(two, "k", "two-1");
            assertThat(Kinds.payloads(Kinds.stored(p.a, t))).as("a marker's payload is empty").contains("first",
                    "one-0", "one-1", "two-0", "between", "one-2", "two-1");
            two.abort();
            one.commit();
            await(p.a, p.b, t, Kinds.SOON, 5);
            app.send(null, "k", "last");
            await(p.a, p.b, t, Kinds.SOON, 6);
        }
        List<String> want = List.of("first", "one-0", "one-1", "between", "one-2", "last");
        assertThat(Kinds.payloads(Kinds.stored(p.b, t))).isEqualTo(want);
        assertThat(Kinds.read(p.b, t, 6, null)).isEqualTo(Kinds.read(p.a, t, 6, null)).isEqualTo(want);
        assertThat(Kinds.stored(p.a, t)).as("the source's own copies are in transactions")
                .filteredOn(e -> e.parsed().hasTxnidLeastBits() && !e.parsed().hasMarkerType()).hasSize(5);
        assertOrdinary(Kinds.stored(p.b, t));
        assertThat(r.of("droppedBy.txn-aborted")).isEqualTo(2);
        assertThat(r.of("single")).isEqualTo(6);
    }

    /** Ids count from 0 at every coordinator: one of A's committed may be the number of one that B aborted. */
    @Test
    void equalIdsDoNotCollide() throws Exception {
        String t = p.topic("txn-ids", 1, 1);
        try (Application b = new Application(p.b, t)) {
            Transaction aborted = b.begin();
            b.send(aborted, "k", "aborted at b");
            aborted.abort();
            MessageMetadata atB = Kinds.stored(p.b, t).get(0).parsed();
            assertThat(atB.hasTxnidLeastBits()).isTrue();
            MessageMetadata m = new MessageMetadata().setProducerName("app").setSequenceId(0).setPartitionKey("k")
                    .setPublishTime(System.currentTimeMillis()).setTxnidLeastBits(atB.getTxnidLeastBits())
                    .setTxnidMostBits(atB.getTxnidMostBits());
            new SourceRawProducer(p.a, SegmentLog.segments(p.a, t).get(0), "raw").send(m, new byte[0],
                    Unpooled.wrappedBuffer("committed at a".getBytes(StandardCharsets.UTF_8)));
            await(p.a, p.b, t, Kinds.SOON, 1);
            b.send(null, "k", "last");
        }
        assertThat(Kinds.read(p.b, t, 2, null)).containsExactly("committed at a", "last");
        assertOrdinary(Kinds.stored(p.b, t).stream().filter(e -> e.parsed().hasReplicatedFrom()).toList());
    }

    /** The segment is sealed in the middle of a transaction: its children wait for the outcome. */
    @Test
    void openWhenTheSegmentIsSealed() throws Exception {
        String t = p.topic("txn-seal", 1, 1);
        Rise r = new Rise(p.a, p.b, "droppedBy.txn-aborted");
        try (Application app = new Application(p.a, t)) {
            Transaction one = app.begin();
            Transaction two = app.begin();
            app.send(two, "k", "aborted");
            app.send(one, "k", "committed");
            app.send(null, "k", "plain");
            p.a.admin().scalableTopics().splitSegment(t, 0);
            app.send(null, "k", "child");
            two.abort();
            one.commit();
            await(p.a, p.b, t, Kinds.SOON, 3);
            app.send(null, "k", "last");
            await(p.a, p.b, t, Kinds.SOON, 4);
        }
        assertThat(Kinds.read(p.b, t, 4, null)).containsExactly("committed", "plain", "child", "last");
        assertOrdinary(Kinds.stored(p.b, t));
        assertThat(r.of("droppedBy.txn-aborted")).isEqualTo(1);
    }

    /** After a load the broker has to find out first what is open and what was aborted. */
    @Test
    void nothingTravelsBeforeTheBufferHasRecovered() throws Exception {
        String slow = p.topic("txn-slow", 1, 1);
        String other = p.topic("txn-other", 1, 1);
        String segment = SegmentLog.segments(p.a, slow).get(0);
        CompletableFuture<Void> recovered = KindSlowBuffers.hold(segment);
        Rise r = new Rise(p.a, p.b, "droppedBy.txn-aborted");
        try (Application app = new Application(p.a, slow); Application apart = new Application(p.a, other)) {
            app.send(null, "k", "first"); // stock buffers show what is open where no plain message was ever there
            await(p.a, p.b, slow, Kinds.SOON, 1);
            Transaction open = app.begin();
            app.send(open, "k", "open");
            p.a.admin().namespaces().unload(SourcePair.NS);
            p.a.segment(segment).sourceIdentity(p.b.name).get(20, TimeUnit.SECONDS);
            apart.send(null, "k", "elsewhere"); // the same way from the same start; when this is there, the other were
            await(p.a, p.b, other, Kinds.SOON, 1);
            assertThat(Kinds.stored(p.b, slow)).hasSize(1);
            recovered.complete(null);
            app.send(null, "k", "plain");
            open.abort();
            await(p.a, p.b, slow, Kinds.SOON, 2);
        }
        assertThat(Kinds.payloads(Kinds.stored(p.b, slow))).containsExactly("first", "plain");
        Awaitility.await().atMost(Kinds.SOON).untilAsserted(() ->
                assertThat(r.of("droppedBy.txn-aborted")).isEqualTo(1));
    }
}
