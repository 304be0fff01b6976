// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;

import georep.nativelib.Window;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.mledger.impl.ManagedCursorImpl;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.service.persistent.SegmentReplicator;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
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
        p = SourcePair.start(false, s -> s.key("georepInFlightBytes", 2 * CAP).key("georepInFlightBytesPerRemote", CAP)
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
            Object session = field(p.a.segment(segment).getReplicators().get(p.b.name), "session");
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
