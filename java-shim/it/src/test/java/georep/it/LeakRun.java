// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.pulsar.broker.service.persistent.SegmentReplicator;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.awaitility.Awaitility;

/**
 * A process of its own in which Netty follows every buffer (paranoid): entries take every way through a source and a
 * destination, both clusters end, and what was forgotten is told.
 *
 * <pre>
 *   found deliberate N      one that is forgotten on purpose: 1, or the detector does not work
 *   leaks of georep N       buffers whose history names a class of this plugin
 *   other leaks N           the broker's own
 * </pre>
 */
final class LeakRun {
    private static final Queue<String> LEAKS = new ConcurrentLinkedQueue<>();
    private static final List<String> OURS = List.of("georep.plugin", "VerbatimProducer", "SegmentReplicator",
            "ReplicationDeduplication", "LogReplay", "ReplicatedSegmentTopic");

    private LeakRun() {
    }

    /** Tells leaks to this class instead of the log. */
    private static final class Factory extends ResourceLeakDetectorFactory {
        @Override
        @SuppressWarnings("deprecation")
        public <T> ResourceLeakDetector<T> newResourceLeakDetector(Class<T> resource, int samplingInterval,
                                                                   long maxActive) {
            return newResourceLeakDetector(resource, samplingInterval);
        }

        @Override
        public <T> ResourceLeakDetector<T> newResourceLeakDetector(Class<T> resource, int samplingInterval) {
            return new ResourceLeakDetector<T>(resource, samplingInterval) {
                @Override
                protected boolean needReport() {
                    return true;
                }

                @Override
                protected void reportTracedLeak(String resourceType, String records) {
                    LEAKS.add(resourceType + records);
                }

                @Override
                protected void reportUntracedLeak(String resourceType) {
                    LEAKS.add(resourceType);
                }
            };
        }
    }

    public static void main(String[] args) throws Exception {
        ResourceLeakDetectorFactory.setResourceLeakDetectorFactory(new Factory());
        deliberate();
        try (SourcePair p = SourcePair.apart(false, s -> s.with(c -> c.setManagedLedgerCacheSizeMB(0)))) {
            traffic(p);
            oddities(p);
        }
        for (int i = 0; i < 10; i++) { // a leak is told when the next buffer is followed
            System.gc();
            Thread.sleep(100);
            for (int k = 0; k < 100; k++) {
                PulsarByteBufAllocator.DEFAULT.directBuffer(16).release();
                Unpooled.directBuffer(16).release();
            }
        }
        long found = LEAKS.stream().filter(l -> l.contains("deliberate")).count();
        List<String> ours = LEAKS.stream().filter(l -> OURS.stream().anyMatch(l::contains)).toList();
        ours.forEach(System.out::println);
        System.out.println("found deliberate " + found);
        System.out.println("other leaks " + (LEAKS.size() - found - ours.size()));
        System.out.println("leaks of georep " + ours.size());
        System.exit(0); // whatever threads brokers leave behind
    }

    private static void deliberate() {
        ByteBuf forgotten = PulsarByteBufAllocator.DEFAULT.directBuffer(32);
        forgotten.writeLong(1);
    }

    /** Cut and whole entries, lost connections, unloads, splits, failed writes, a session that breaks. */
    private static void traffic(SourcePair p) throws Exception {
        String t = p.topic("x", 1, 2);
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(500);
            for (int i = 0; i < 2; i++) {
                SourceConnections.cut(p.b);
                x.more(100);
                ((PulsarMockBookKeeper) field(p.b, "mockBookies")).addEntryFailAfter(2,
                        BKException.Code.WriteException);
                x.more(100);
                p.b.admin().scalableTopics().splitSegment(t, SourcePair.id(SourcePair.active(p.b, t, 0x8000)));
                p.b.admin().namespaces().unload(SourcePair.NS);
                x.more(100);
                p.a.admin().namespaces().unload(SourcePair.NS);
                x.more(100);
                Awaitility.await().until(() -> session(replicator(p, t)) != null);
                SegmentReplicator r = replicator(p, t);
                ((AutoCloseable) field(field(session(r), "driver"), "window")).close(); // its next step fails
                x.more(100);
                Awaitility.await().until(() -> replicator(p, t) != r);
            }
            x.finish();
        }
        SourcePair.assertCopied(p.a, p.b, t);
        if (SourcePair.counter(p.a, p.b, "parts") == 0 || SourcePair.counter(p.a, p.b, "recoveries") == 0) {
            throw new IllegalStateException("nothing was cut, or nothing failed");
        }
    }

    /** Parked, skipped, and held when the window ends; sent twice and recognised. */
    private static void oddities(SourcePair p) throws Exception {
        String t = p.topic("y", 1, 1);
        SourceRawProducer raw = new SourceRawProducer(p.a, SegmentLog.segments(p.a, t).get(0), "raw");
        raw.send(Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 99, 1}));
        raw.send(Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 99, 2}));
        for (int i = 0; i < 2; i++) {
            var at = new Object() {
                long ledger;
                long entry;
            };
            Awaitility.await().until(() -> {
                var n = SourcePair.status(p.a, t).get(0).path("window").path("parked").path(0).path("position");
                at.ledger = n.path("ledger").asLong();
                at.entry = n.path("entry").asLong();
                return !n.isMissingNode();
            });
            if (i == 0) {
                replicator(p, t).skip(at.ledger, at.entry);
                Awaitility.await().until(() -> SourcePair.backlogs(p.a, t, p.b.name).get(0) == 1);
            }
        }
    }

    private static SegmentReplicator replicator(SourcePair p, String topic) throws Exception {
        return (SegmentReplicator) p.a.segment(SegmentLog.segments(p.a, topic).get(0)).getReplicators().get(p.b.name);
    }

    private static Object session(SegmentReplicator r) throws Exception {
        return r == null ? null : field(r, "session");
    }

    private static Object field(Object of, String name) throws Exception {
        Field f = of.getClass().getDeclaredField(name);
        f.setAccessible(true);
        return f.get(of);
    }
}
