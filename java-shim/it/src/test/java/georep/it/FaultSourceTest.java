// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.service.persistent.ReplicatorInside;
import org.apache.pulsar.broker.service.persistent.SegmentReplicator;
import org.apache.pulsar.common.api.proto.CommandSubscribe.InitialPosition;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.policies.data.BacklogQuota;
import org.apache.pulsar.common.policies.data.BacklogQuota.RetentionPolicy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Reported faults of the replicating side, on real brokers; numbers as in tests/faults/README.md. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class FaultSourceTest {
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(false, s -> s.key("georepStallSeconds", 2)
                .key("brokerClient_operationTimeoutMs", 5000) // a client tries so long to get over a quota by itself
                .with(c -> c.setTopicFactoryClassName(FaultTopicFactory.class.getName()))
                .with(c -> c.setManagedLedgerCacheSizeMB(0))
                .with(c -> c.setBacklogQuotaCheckEnabled(false))); // told when
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    /** A namespace of its own, and in it a topic. */
    private String topic(String namespace, int segmentsA, int segmentsB) throws Exception {
        Federation.of(namespace, p.a, p.b);
        String t = "topic://" + namespace + "/x";
        Federation.topic(t, segmentsA, p.a);
        Federation.topic(t, segmentsB, p.b);
        return t;
    }

    private static Object field(Class<?> in, Object of, String name) throws Exception {
        Field f = in.getDeclaredField(name);
        f.setAccessible(true);
        return f.get(of);
    }

    private static PulsarMockBookKeeper bookies(Cluster c) throws Exception {
        return (PulsarMockBookKeeper) field(Cluster.class, c, "mockBookies");
    }

    private static JsonNode awaitStatus(Cluster c, String topic, java.util.function.Predicate<JsonNode> is) {
        JsonNode[] s = new JsonNode[1];
        Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> {
            s[0] = status(c, topic).get(0);
            return s[0] != null && is.test(s[0]);
        });
        return s[0];
    }

    private SegmentReplicator replicator(String segment) throws Exception {
        return (SegmentReplicator) p.a.segment(segment).getReplicators().get(p.b.name);
    }

    // ---- what the remote refuses

    /** B takes nothing more from anybody until the quota is lifted. */
    private void overQuota(String namespace, String topic, RetentionPolicy policy) throws Exception {
        for (String s : SegmentLog.segments(p.b, topic)) {
            p.b.segment(s).createSubscription("slow", InitialPosition.Earliest, false, null).get();
        }
        quota(namespace, topic, 1, policy);
        p.b.broker.getBrokerService().monitorBacklogQuota(); // disconnects who is there …
        SourceConnections.cut(p.b); // … unless the slowest cursor is one of the broker's own
    }

    private void quota(String namespace, String topic, long bytes, RetentionPolicy policy) throws Exception {
        p.b.admin().namespaces().setBacklogQuota(namespace, BacklogQuota.builder().limitSize(bytes)
                .retentionPolicy(policy).build());
        Awaitility.await().until(() -> {
            for (String s : SegmentLog.segments(p.b, topic)) {
                BacklogQuota q = p.b.segment(s).getBacklogQuota(BacklogQuota.BacklogQuotaType.destination_storage);
                if (q.getLimitSize() != bytes) {
                    return false;
                }
            }
            return true;
        });
    }

    private void refusedForAWhile(String namespace, RetentionPolicy policy) throws Exception {
        String t = topic(namespace, 1, 2);
        Rise r = new Rise(p.a, p.b, "parts", "parked");
        Publish.v5(p.a, t, 0, 200, 20);
        assertCopied(p.a, p.b, t);
        overQuota(namespace, t, policy);
        Publish.v5(p.a, t, 200, 1500, 20);
        JsonNode s = awaitStatus(p.a, t, x -> x.path("stalled").asBoolean()
                && x.path("trouble").asText().contains("uota"));
        assertThat(s.path("backlog").asLong()).as("%s", s).isPositive();
        quota(namespace, t, 1 << 30, policy);
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isPositive();
        assertThat(r.of("parked")).isZero();
        Publish.v5(p.a, t, 1500, 1600, 20);
        assertCopied(p.a, p.b, t);
    }

    /** A send that fails leaks no credit: after a refusal by quota everything arrives. */
    @Test
    void fault01PermitLeak() throws Exception {
        refusedForAWhile("quota/exception", RetentionPolicy.producer_exception);
    }

    /** Held back by the remote's backlog quota, and resumed when that is lifted. */
    @Tag("slow")
    @Test
    void fault05PausedByQuotaIsResumed() throws Exception {
        refusedForAWhile("quota/hold", RetentionPolicy.producer_request_hold);
    }

    // ---- reading

    /** However many ask for a read at the same time, one is under way, with credits that are counted once. */
    @Tag("slow")
    @Test
    void fault03ConcurrentReads() throws Exception {
        String t = topic("reads/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        Awaitility.await().until(() -> p.a.segment(segment).getReplicators().get(p.b.name).isConnected());
        SegmentReplicator r = replicator(segment);
        int queue = p.a.broker.getConfiguration().getReplicationProducerQueueSize();
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger credits = new AtomicInteger();
        List<CompletableFuture<Void>> readers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            readers.add(CompletableFuture.runAsync(() -> {
                while (!stop.get()) {
                    r.read(100, 1 << 20);
                    ReplicatorInside.Credits now = ReplicatorInside.credits(r);
                    most.accumulateAndGet(now.pending(), Math::max);
                    credits.accumulateAndGet(now.taken(), Math::max);
                    LockSupport.parkNanos(20_000);
                }
            }, e -> new Thread(e, "reader").start()));
        }
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            x.more(3000);
            x.finish();
        } finally {
            stop.set(true);
            CompletableFuture.allOf(readers.toArray(CompletableFuture[]::new)).get();
        }
        assertCopied(p.a, p.b, t);
        assertThat(most.get()).as("reads under way").isEqualTo(1);
        assertThat(credits.get()).as("credits taken of %s", queue).isPositive().isLessThanOrEqualTo(queue);
    }

    /** A trickle, then thousands at once, while B's bookies and A's reads are slow. */
    @Test
    void fault04BurstWithSlowAcks() throws Exception {
        String t = topic("burst/ns", 1, 2);
        Rise r = new Rise(p.a, p.b, "parts");
        bookies(p.b).setDefaultAddEntryDelayMillis(5);
        bookies(p.a).setDefaultReadEntriesDelayMillis(20);
        try {
            for (int i = 0; i < 5; i++) {
                Publish.v5(p.a, t, i, i + 1, 50);
            }
            try (Traffic x = Traffic.start(p.a, t, 50, 5)) {
                x.more(20_000);
                x.finish();
            }
            Publish.v5(p.a, t, 1_000_000, 1_000_005, 50);
            SourcePair.await(p.a, p.b, t, Duration.ofSeconds(60));
        } finally {
            bookies(p.b).setDefaultAddEntryDelayMillis(0);
            bookies(p.a).setDefaultReadEntriesDelayMillis(0);
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isPositive();
    }

    // ---- the cursor

    /** Positions whose delete failed do not stay behind as a hole. */
    @Test
    void fault06HoleInTheCursor() throws Exception {
        FaultTopic.plan(p.a, "segment://hole/ns/x/0000-ffff-0").wrapped = true;
        String t = topic("hole/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        Rise r = new Rise(p.a, p.b, "deleteRetries");
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            for (int i = 0; i < 5; i++) {
                x.more(200);
                FaultTopic.plan(p.a, segment).deletes.incrementAndGet();
            }
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(FaultTopic.plan(p.a, segment).deletes).as("deletes that have not failed").hasValue(0);
        assertThat(r.of("deleteRetries")).isPositive();
        Position last = p.a.segment(segment).getManagedLedger().getLastConfirmedEntry();
        ManagedCursor cursor = replicator(segment).getCursor();
        assertThat(cursor.getMarkDeletedPosition()).isEqualTo(last);
        assertThat(cursor.getTotalNonContiguousDeletedMessagesRange()).isZero();
    }

    /** [message, marker, message] under way when the connection breaks. */
    @Test
    void fault09MarkerBetweenMessages() throws Exception {
        String t = topic("marker/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        Rise r = new Rise(p.a, p.b, "droppedBy.marker", "recoveries");
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        raw.send(keyed(0), new byte[0], text(0));
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(20), 1);
        bookies(p.b).setDefaultAddEntryDelayMillis(400);
        int n = 1;
        int markers = 0;
        try {
            // whether a cut meets sends without a receipt is chance: cut until one has
            while (markers < 3 || r.of("recoveries") == 0 && markers < 30) {
                raw.send(keyed(n), new byte[0], text(n++));
                raw.send(keyed(n).setMarkerType(10), new byte[0], Unpooled.wrappedBuffer(new byte[8]));
                raw.send(keyed(n), new byte[0], text(n++));
                markers++;
                awaitStatus(p.a, t, s -> s.path("window").path("inFlight").asInt() >= 2);
                Awaitility.await().until(() -> SourceConnections.cut(p.b) > 0); // back since the cut before
            }
        } finally {
            bookies(p.b).setDefaultAddEntryDelayMillis(0);
        }
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(30), n);
        assertThat(StoredMessages.of(p.b, t).all()).extracting(StoredMessages.Message::number)
                .containsExactlyElementsOf(IntStream.range(0, n).boxed().toList());
        assertThat(r.of("droppedBy.marker")).isEqualTo(markers);
        assertThat(r.of("recoveries")).isPositive();
    }

    private static MessageMetadata keyed(int i) {
        return new MessageMetadata().setProducerName("app").setSequenceId(i)
                .setPublishTime(System.currentTimeMillis()).setPartitionKey("k0");
    }

    private static io.netty.buffer.ByteBuf text(int i) {
        return Unpooled.wrappedBuffer(("k0#" + i).getBytes(StandardCharsets.UTF_8));
    }

    // ---- loading

    /** Loads that cannot read the policies, and ordinary ones, leave the cursor where it is. */
    @Test
    void fault37CursorDeletedBeforeThePoliciesLoad() throws Exception {
        String t = topic("policies/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        Publish.v5(p.a, t, 0, 100, 10);
        assertCopied(p.a, p.b, t);
        p.a.segment(segment).pauseReplication(p.b.name, true).get(10, TimeUnit.SECONDS);
        Publish.v5(p.a, t, 100, 300, 10);
        String cursor = "pulsar.repl." + p.b.name;
        Position at = p.a.segment(segment).getReplicators().get(p.b.name) instanceof SegmentReplicator r
                ? r.getCursor().getMarkDeletedPosition() : null;
        for (int i = 0; i < 4; i++) {
            FaultTopic.plan(p.a, segment).policies.set(i % 2);
            p.a.admin().namespaces().unload("policies/ns");
            Awaitility.await().until(() -> p.a.segment(segment).getReplicators().containsKey(p.b.name));
            assertThat(FaultTopic.plan(p.a, segment).policies).hasValue(0);
            assertThat(p.a.segment(segment).getManagedLedger().getCursors()).filteredOn(c -> c.getName().equals(cursor))
                    .singleElement().satisfies(c -> {
                        assertThat(c.getMarkDeletedPosition()).isEqualTo(at);
                        assertThat(c.getCursorProperties()).containsEntry("georep.generation", "1");
                    });
        }
        p.a.segment(segment).pauseReplication(p.b.name, false).get(10, TimeUnit.SECONDS);
        assertCopied(p.a, p.b, t);
    }

    /** A load that fails when the replicator already runs leaves none that holds the producer's name. */
    @Tag("slow")
    @Test
    void fault38OrphanReplicator() throws Exception {
        String t = topic("orphan/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            for (int i = 0; i < 3; i++) {
                x.more(300);
                FaultTopic.plan(p.a, segment).loads.set(2);
                p.a.admin().namespaces().unload("orphan/ns");
                Awaitility.await().until(() -> FaultTopic.plan(p.a, segment).loads.get() == 0);
            }
            x.more(300);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(status(p.a, t)).as("replicators").hasSize(1);
        assertThat(p.b.segment(SegmentLog.segments(p.b, t).get(0)).getProducers()).as("producers at the remote")
                .hasSize(1);
    }

    /** The replication cursor of a child is there before its first entry, wherever replication starts. */
    @Test
    void fault44WrittenToBeforeItsCursorExists() throws Exception {
        p.a.broker.getConfiguration().setReplicationStartAt("Latest");
        try {
            String t = topic("latest/ns", 1, 1);
            String segment = SegmentLog.segments(p.a, t).get(0);
            Awaitility.await().until(() -> p.a.segment(segment).getReplicators().containsKey(p.b.name));
            try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
                for (int i = 0; i < 3; i++) {
                    x.more(500);
                    p.a.admin().scalableTopics().splitSegment(t, SourcePair.id(SourcePair.active(p.a, t, 0)));
                }
                x.more(500);
                x.finish();
            }
            assertCopied(p.a, p.b, t);
        } finally {
            p.a.broker.getConfiguration().setReplicationStartAt("Earliest");
        }
    }

    // ---- time

    /** The TTL passes while the remote is out: what is too old leaves the cursor, what is new arrives, every time. */
    @Tag("slow")
    @Test
    void fault43TtlPassesDuringAnOutage() throws Exception {
        String t = topic("ttl/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        long hoursAgo = System.currentTimeMillis() - 10_000_000; // the broker searches by publish time, which rises
        raw.send(keyed(0).setPublishTime(hoursAgo), new byte[0], text(0));
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(20), 1);
        Rise r = new Rise(p.a, p.b, "parked");
        for (int round = 1; round <= 2; round++) {
            overQuota("ttl/ns", t, RetentionPolicy.producer_exception);
            for (int i = 0; i < 50; i++) {
                int n = 100 * round + i;
                raw.send(keyed(n).setPublishTime(hoursAgo + n), new byte[0], text(n));
            }
            awaitStatus(p.a, t, s -> s.path("backlog").asLong() >= 50 && s.path("stalled").asBoolean());
            ttl(segment, 600);
            Awaitility.await().untilAsserted(() -> {
                p.a.segment(segment).checkMessageExpiry();
                assertThat(backlogs(p.a, t, p.b.name)).containsOnly(0L);
            });
            ttl(segment, 0);
            List<Integer> late = new ArrayList<>();
            for (int i = 50; i < 60; i++) {
                int n = 100 * round + i;
                raw.send(keyed(n).setPublishTime(hoursAgo + n), new byte[0], text(n));
                late.add(n);
            }
            quota("ttl/ns", t, 1 << 30, RetentionPolicy.producer_exception);
            Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
                assertThat(backlogs(p.a, t, p.b.name)).containsOnly(0L);
                assertThat(StoredMessages.of(p.b, t).all()).extracting(StoredMessages.Message::number)
                        .containsAll(late);
            });
            p.b.segment(SegmentLog.segments(p.b, t).get(0)).getSubscription("slow").delete().get();
        }
        assertThat(r.of("parked")).isZero();
    }

    private void ttl(String segment, int seconds) throws Exception {
        if (seconds > 0) {
            p.a.admin().namespaces().setNamespaceMessageTTL("ttl/ns", seconds);
        } else {
            p.a.admin().namespaces().removeNamespaceMessageTTL("ttl/ns");
        }
        Awaitility.await().until(() -> ReplicatorInside.ttlSeconds(replicator(segment)) == seconds);
    }

    /** A segment that stands is told apart from one with nothing to do, also where its lag cannot be known. */
    @Test
    void fault53StallWhileTheLagIsUnknown() throws Exception {
        String t = topic("stall/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        raw.send(keyed(0), new byte[0], text(0));
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(20), 1);
        ReplicatedSegmentTopic topic = p.a.segment(segment);
        JsonNode idle = awaitStatus(p.a, t, s -> s.path("backlog").asLong() == 0);
        assertThat(idle.path("stalled").asBoolean()).as("%s", idle).isFalse();
        raw.send(Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 99, 1})); // no publish time can be read of it
        JsonNode s = awaitStatus(p.a, t, x -> x.path("stalled").asBoolean());
        assertThat(s.path("delaySeconds").asLong()).as("unknown, not 0: %s", s).isEqualTo(-1);
        assertThat(s.path("backlog").asLong()).isEqualTo(1);
        assertThat(s.path("window").path("reason").asText()).isEqualTo("parked");
        assertThat(metric("pulsar_georep_stalled")).isPositive();
        Position bad = topic.getManagedLedger().getLastConfirmedEntry();
        replicator(segment).skip(bad.getLedgerId(), bad.getEntryId());
        awaitStatus(p.a, t, x -> !x.path("stalled").asBoolean() && x.path("backlog").asLong() == 0);
    }

    /** What a quota or a truncation takes from the cursor unsent is counted, told and kept: no silent jump. */
    @Test
    void fault49TrimmedBelowTheCursor() throws Exception {
        String t = topic("trim/ns", 1, 1);
        String segment = SegmentLog.segments(p.a, t).get(0);
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        raw.send(keyed(0), new byte[0], text(0));
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(20), 1);
        assertThat(status(p.a, t).get(0).has("lapsed")).isFalse();
        long lapsedBefore = metric("pulsar_georep_lapsed");
        p.a.segment(segment).pauseReplication(p.b.name, true).get(10, TimeUnit.SECONDS);
        for (int i = 1; i <= 200; i++) {
            raw.send(keyed(i), new byte[0], text(i));
        }
        ManagedCursor cursor = replicator(segment).getCursor();
        p.a.admin().namespaces().setBacklogQuota("trim/ns", BacklogQuota.builder()
                .limitSize(p.a.segment(segment).getManagedLedger().getEstimatedBacklogSize() / 2)
                .retentionPolicy(RetentionPolicy.consumer_backlog_eviction).build());
        Awaitility.await().untilAsserted(() -> {
            p.a.broker.getBrokerService().monitorBacklogQuota();
            assertThat(cursor.getNumberOfEntriesInBacklog(true)).isLessThan(200);
        });
        p.a.admin().namespaces().removeBacklogQuota("trim/ns");
        long gone = 200 - cursor.getNumberOfEntriesInBacklog(true); // but for what the window had read already
        JsonNode s = awaitStatus(p.a, t, x -> x.path("lapsed").asLong() > gone - 20);
        Position at = cursor.getMarkDeletedPosition();
        assertThat(s.path("horizon").asText()).isEqualTo(at.getLedgerId() + ":" + at.getEntryId());
        p.a.segment(segment).pauseReplication(p.b.name, false).get(10, TimeUnit.SECONDS);
        long[] late = new long[1];
        long evicted = nothingButLapsed(t, 201, late);
        assertThat(metric("pulsar_georep_lapsed") - lapsedBefore).isEqualTo(evicted);

        p.a.segment(segment).pauseReplication(p.b.name, true).get(10, TimeUnit.SECONDS);
        for (int i = 201; i <= 300; i++) {
            raw.send(keyed(i), new byte[0], text(i));
        }
        p.a.segment(segment).getManagedLedger().asyncTruncate().get(20, TimeUnit.SECONDS);
        p.a.segment(segment).pauseReplication(p.b.name, false).get(10, TimeUnit.SECONDS);
        long all = nothingButLapsed(t, 301, late);
        assertThat(all).isGreaterThan(evicted + 50);
        p.a.admin().namespaces().unload("trim/ns");
        new SourceRawProducer(p.a, segment, "raw").send(keyed(301), new byte[0], text(301));
        assertThat(nothingButLapsed(t, 302, late)).as("kept with the cursor").isEqualTo(all);
    }

    /**
     * Of so many published, all have arrived but those that the status names; the number of those that lapsed. What had
     * been read and was taken from the cursor before the window saw it counts as expired, and is remembered in late.
     */
    private long nothingButLapsed(String topic, int published, long[] late) throws Exception {
        long[] n = new long[1];
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            JsonNode s = status(p.a, topic).get(0);
            n[0] = s.path("lapsed").asLong();
            assertThat(s.path("backlog").asLong()).as("%s", s).isZero();
            for (JsonNode c : s.path("window").path("counters")) {
                if (c.path("name").asText().equals("droppedBy.expired")) {
                    late[0] = Math.max(late[0], c.path("value").asLong());
                }
            }
            assertThat(StoredMessages.of(p.b, topic).count(p.a.name) + n[0] + late[0]).as("%s", s)
                    .isEqualTo(published);
        });
        return n[0];
    }

    private long metric(String name) throws Exception {
        return Http.get(p.a.broker, "/metrics/", null).body().lines()
                .filter(l -> l.startsWith(name + "{") && l.contains("remote_cluster=\"" + p.b.name + "\""))
                .mapToLong(l -> (long) Double.parseDouble(l.substring(l.lastIndexOf(' ') + 1))).sum();
    }

    /** Every way out of a window gives an entry's memory back: stored, cut, dropped, parked, refused, lost, ended. */
    @Tag("slow")
    @Test
    void fault47ReferenceCounts() throws Exception {
        FaultTopic.Plan plan = FaultTopic.plan(p.a, "segment://leak/ns/x/0000-ffff-0");
        plan.wrapped = true;
        String t = topic("leak/ns", 1, 2);
        String segment = SegmentLog.segments(p.a, t).get(0);
        Rise r = new Rise(p.a, p.b, "parts", "single", "dropped", "parked", "skipped", "recoveries");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(500);
            for (int i = 0; i < 3; i++) {
                x.more(200);
                SourceConnections.cut(p.b);
                for (String there : SegmentLog.segments(p.b, t)) {
                    p.b.segment(there).close(false).get(30, TimeUnit.SECONDS);
                }
                x.more(200);
                for (String there : SegmentLog.segments(p.b, t)) {
                    p.b.segment(there); // loaded again before one of them is sealed
                }
                p.b.admin().scalableTopics().splitSegment(t, SourcePair.id(SourcePair.active(p.b, t, 0x8000)));
                x.more(200);
                replicator(segment).restart(); // with entries held and under way
            }
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        raw.send(keyed(2_000_000), new byte[0], text(2_000_000));
        raw.send(keyed(0).setReplicatedFrom("cluster-z"), new byte[0], text(1));
        raw.send(Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 99, 1}));
        JsonNode s = awaitStatus(p.a, t, y -> y.path("window").path("parkedTotal").asInt() == 1);
        Awaitility.await().untilAsserted(() -> assertThat(plan.read.stream().filter(b -> b.refCnt() > 0))
                .as("the parked one alone is held").hasSize(1));
        JsonNode at = s.path("window").path("parked").get(0).path("position");
        replicator(segment).skip(at.path("ledger").asLong(), at.path("entry").asLong());
        Awaitility.await().untilAsserted(() -> assertThat(backlogs(p.a, t, p.b.name)).containsOnly(0L));
        raw.send(Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 99, 1}));
        awaitStatus(p.a, t, y -> y.path("window").path("parkedTotal").asInt() == 1);
        p.a.admin().namespaces().unload("leak/ns"); // ends a window that holds an entry
        p.a.segment(segment); // loads it
        awaitStatus(p.a, t, y -> y.path("window").path("parkedTotal").asInt() == 1);
        ReplicatedSegmentTopic topic = p.a.segment(segment);
        topic.getReplicators().get(p.b.name).terminate().get(20, TimeUnit.SECONDS);
        assertThat(plan.read).as("entries that were read").hasSizeGreaterThan(100)
                .allSatisfy(b -> assertThat(b.refCnt()).isZero());
        for (String way : List.of("parts", "single", "dropped", "parked", "skipped", "recoveries")) {
            assertThat(r.of(way)).as(way).isPositive();
        }
    }

    /** A topic becomes scalable under load, on A and then on B: the old topic's messages come first, none is lost. */
    @Tag("slow")
    @Test
    void fault48MigrationUnderLoad() throws Exception {
        Federation.of("migrate/ns", p.a, p.b);
        String old = "persistent://migrate/ns/x";
        String t = "topic://migrate/ns/x";
        for (Cluster c : List.of(p.a, p.b)) {
            c.admin().topics().createNonPartitionedTopic(old);
        }
        try (Traffic x = Traffic.start(p.a, old, 50, 0)) {
            x.more(1000);
            p.a.admin().scalableTopics().migrateToScalable(t, true);
            x.more(1000);
            Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(p.a.admin().topics()
                    .getStats(old).getReplication().get(p.b.name).getReplicationBacklog()).isZero());
            assertThat(status(p.a, t).findValuesAsText("remoteStatus")).as("B's topic is no scalable one yet")
                    .isNotEmpty().doesNotContain("supported");
            p.b.admin().scalableTopics().migrateToScalable(t, true);
            x.more(1000);
            x.finish();
        }
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            JsonNode s = status(p.a, t);
            assertThat(s.findValuesAsText("remoteStatus")).as("%s", s).containsOnly("supported");
            assertThat(s.findValues("backlog")).as("%s", s).isNotEmpty().allMatch(b -> b.asLong() == 0);
        });
        StoredMessages copy = StoredMessages.of(p.b, t);
        assertThat(StoredMessages.compare(StoredMessages.of(p.a, t), copy, p.a.name))
                .isEqualTo(StoredMessages.Difference.NONE);
        assertThat(copy.from(p.a.name).stream().filter(m -> m.segment() >= 0)).as("in segments").isNotEmpty();
        assertThat(copy.from(p.a.name).stream().filter(m -> m.segment() < 0)).as("in the old topic").isNotEmpty();
    }
}
