// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import georep.nativelib.Window;
import georep.plugin.source.SegmentSession;
import georep.plugin.source.SourceBroker;
import georep.plugin.source.SourceIdentity;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.mledger.impl.ManagedCursorImpl;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.service.persistent.SegmentReplicator;
import org.apache.pulsar.broker.transaction.buffer.TransactionBuffer;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Segments that get into trouble on their own broker go on. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SourceTroubleTest {
    private static final int CAP = 1 << 20;
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(false, s -> s.key("georepInFlightBytes", 2 * CAP).key("georepInFlightBytesPerRemote", CAP)
                .key("georepWindowBytes", CAP).with(c -> c.setManagedLedgerCacheSizeMB(0)));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static Object field(Object of, String name) throws Exception {
        Field f = of.getClass().getDeclaredField(name);
        f.setAccessible(true);
        return f.get(of);
    }

    @Test
    void aSessionThatFailedBeginsAnew() throws Exception {
        String t = p.topic("failed", 1, 2);
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            x.more(200);
            String segment = SegmentLog.segments(p.a, t).get(0);
            Object replicator = p.a.segment(segment).getReplicators().get(p.b.name);
            Awaitility.await().until(() -> field(replicator, "session") != null
                    && field(field(replicator, "session"), "driver") != null);
            Object session = field(replicator, "session");
            Window window = (Window) field(field(session, "driver"), "window");
            window.close(); // its next step throws
            x.more(200);
            x.finish();
            assertThat(window.isClosed()).isTrue();
        }
        assertCopied(p.a, p.b, t);
    }

    /** A read that outlives its replicator moves the cursor's read position when it ends. */
    @Test
    void aLateReadOfAnEarlierReplicatorSkipsNothing() throws Exception {
        String t = p.topic("late-read", 1, 1);
        ReplicatedSegmentTopic topic = p.a.segment(SegmentLog.segments(p.a, t).get(0));
        Awaitility.await().until(() -> topic.getReplicators().get(p.b.name).isConnected());
        topic.pauseReplication(p.b.name, true).get(10, TimeUnit.SECONDS);
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            x.more(500);
            x.finish();
        }
        SegmentReplicator first = (SegmentReplicator) topic.getReplicators().get(p.b.name);
        ManagedCursorImpl cursor = (ManagedCursorImpl) first.getCursor();
        PulsarMockBookKeeper bookies = (PulsarMockBookKeeper) field(p.a, "mockBookies");
        CompletableFuture<Void> slow = new CompletableFuture<>();
        bookies.setReadHandleInterceptor((ledger, from, to, entries) -> slow.thenApply(x -> entries));
        try {
            topic.pauseReplication(p.b.name, false).get(10, TimeUnit.SECONDS);
            Awaitility.await().until(() -> cursor.getPendingReadOpsCount() > 0);
            topic.pauseReplication(p.b.name, true).get(10, TimeUnit.SECONDS);
            first.restart();
            Awaitility.await().until(() -> topic.getReplicators().get(p.b.name) instanceof SegmentReplicator r
                    && r != first);
            topic.sourceIdentity(p.b.name).get(10, TimeUnit.SECONDS); // all that the second one's start waits for
            CompletableFuture.delayedExecutor(300, TimeUnit.MILLISECONDS).execute(() -> slow.complete(null));
            Awaitility.await().until(() -> cursor.getPendingReadOpsCount() == 0);
        } finally {
            slow.complete(null);
            bookies.setReadHandleInterceptor(null);
        }
        topic.pauseReplication(p.b.name, false).get(10, TimeUnit.SECONDS);
        assertCopied(p.a, p.b, t);
    }

    /** What the broker cannot say of an entry now it is asked again; nothing is sent past the entry. */
    @Test
    void entriesThatCannotBeJudgedAreReadAgain() throws Exception {
        String t = p.topic("judged", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        ReplicatedSegmentTopic topic = p.a.segment(segment);
        AtomicInteger failures = new AtomicInteger(3);
        Field f = PersistentTopic.class.getDeclaredField("transactionBuffer");
        f.setAccessible(true);
        Object real = f.get(topic);
        f.set(topic, Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[]{TransactionBuffer.class},
                (proxy, method, args) -> {
                    if (method.getName().equals("isTxnAborted") && failures.getAndDecrement() > 0) {
                        throw new IllegalStateException("not ready");
                    }
                    return method.invoke(real, args);
                }));
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        for (int i = 0; i < 20; i++) {
            MessageMetadata m = new MessageMetadata().setProducerName("app").setSequenceId(i)
                    .setPublishTime(System.currentTimeMillis()).setPartitionKey("k");
            if (i % 5 == 2) {
                m.setTxnidMostBits(1).setTxnidLeastBits(i);
            }
            raw.send(m, new byte[0], Unpooled.wrappedBuffer(("k#" + i).getBytes(StandardCharsets.UTF_8)));
        }
        await(p.a, p.b, t, Duration.ofSeconds(30), 20);
        assertThat(failures.get()).as("failures left").isNegative();
        assertThat(SegmentLog.read(p.b, SegmentLog.segments(p.b, t).get(0))).extracting(e -> e.parsed()
                .getSequenceId()).containsExactlyElementsOf(LongStream.range(0, 20).boxed().toList());
    }

    /** Replication that could not begin does so once it can, long before the broker looks at its policies again. */
    @Test
    void replicationBeginsWhenTheRemoteBecomesKnown() throws Exception {
        String t = p.topic("unknown-remote", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        ReplicatedSegmentTopic topic = p.a.segment(segment);
        Awaitility.await().until(() -> topic.getReplicators().get(p.b.name).isConnected());
        var clusters = p.a.broker.getPulsarResources().getClusterResources();
        ClusterData known = clusters.getCluster(p.b.name).orElseThrow();
        clusters.deleteCluster(p.b.name); // the broker ends replication to it, and tells nobody
        try {
            Map<?, ?> clients = (Map<?, ?>) field(p.a.broker.getBrokerService(), "replicationClients");
            Awaitility.await().until(() -> !clients.containsKey(p.b.name));
            Awaitility.await().until(() -> {
                if (topic.getReplicators().get(p.b.name) instanceof SegmentReplicator r && !r.isTerminated()) {
                    r.restart(); // one that was not connected is left alone, and its client is closed
                }
                return topic.getReplicators().get(p.b.name) == null;
            });
        } finally {
            clusters.createCluster(p.b.name, known);
        }
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            x.more(100);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
    }

    /** A session that cannot be made keeps nothing alive. */
    @Test
    void aSessionThatFailsGivesItsTopicBack() throws Exception {
        String t = p.topic("references", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        ReplicatedSegmentTopic topic = p.a.segment(segment);
        SegmentReplicator r = (SegmentReplicator) topic.getReplicators().get(p.b.name);
        Awaitility.await().until(r::isConnected);
        SourceBroker broker = SourceBroker.of(p.a.broker);
        Map<?, ?> locals = (Map<?, ?>) field(broker, "locals");
        Object local = locals.get(TopicName.get(t));
        Object before = field(local, "users");
        PulsarAdmin foreign = (PulsarAdmin) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[]{PulsarAdmin.class}, (proxy, method, args) -> null);
        SourceIdentity identity = topic.sourceIdentity(p.b.name).get(10, TimeUnit.SECONDS);
        PulsarClientImpl other = (PulsarClientImpl) p.b.internalClient();
        assertThatThrownBy(() -> new SegmentSession(broker, identity, r, other, foreign))
                .isInstanceOf(RuntimeException.class);
        assertThat(field(local, "users")).isEqualTo(before);
        assertThat(locals.get(TopicName.get(t))).isSameAs(local);
    }

    @Test
    void aChunkedMessageMayHaveMoreChunksThanAQueueHasPlaces() throws Exception {
        String t = p.topic("many", 1, 1);
        int chunks = p.a.broker.getConfiguration().getReplicationProducerQueueSize() + 50;
        chunked(t, 1000, chunks * 1000);
        await(p.a, p.b, t, Duration.ofSeconds(60), chunks);
    }

    @Test
    void aChunkedMessageMayBeLargerThanWhatOthersMayHold() throws Exception {
        String t = p.topic("large", 1, 1);
        chunked(t, 200_000, 3 * CAP);
        await(p.a, p.b, t, Duration.ofSeconds(30), (int) Math.ceil(3.0 * CAP / 200_000));
    }

    private void chunked(String topic, int chunk, int bytes) throws Exception {
        ProducerConfigurationData c = new ProducerConfigurationData();
        c.setTopicName(SegmentLog.segments(p.a, topic).get(0));
        c.setBatchingEnabled(false);
        c.setChunkingEnabled(true);
        c.setChunkMaxMessageSize(chunk);
        c.setMaxPendingMessages(0);
        try (Producer<byte[]> producer = p.a.internalClient().createSegmentProducerAsync(c, Schema.BYTES)
                .get(20, TimeUnit.SECONDS)) {
            producer.newMessage().value(new byte[bytes]).send();
        }
    }
}
