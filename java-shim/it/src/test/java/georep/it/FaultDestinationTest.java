// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.OriginSession.Stream;
import georep.it.SourcePair.Rise;
import georep.plugin.source.ReplicationSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.client.PulsarMockLedgerHandle;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.util.Murmur3_32Hash;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Reported faults of the receiving side, and what it refuses; numbers as in tests/faults/README.md. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class FaultDestinationTest {
    private static final int LARGEST = 100_000;
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(false, s -> s.key("georepCutCapBytes", 2000).key("georepDedupSnapshotEntries", 4)
                .with(c -> c.setMaxMessageSize(c.getClusterName().equals("cluster-b") ? LARGEST : 5 << 20)));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static Object field(Class<?> in, Object of, String name) throws Exception {
        Field f = in.getDeclaredField(name);
        f.setAccessible(true);
        return f.get(of);
    }

    private PulsarMockBookKeeper bookies() throws Exception {
        return (PulsarMockBookKeeper) field(Cluster.class, p.b, "mockBookies");
    }

    private String only(Cluster c, String topic) throws Exception {
        return SegmentLog.segments(c, topic).get(0);
    }

    private Producer<byte[]> producer(Cluster c, String segment, java.util.function.Consumer<ProducerConfigurationData>
            tweak) throws Exception {
        ProducerConfigurationData conf = new ProducerConfigurationData();
        conf.setTopicName(segment);
        conf.setBatchingMaxMessages(1000);
        conf.setBatchingMaxBytes(1 << 20);
        conf.setBatchingMaxPublishDelayMicros(TimeUnit.SECONDS.toMicros(1));
        tweak.accept(conf);
        return c.internalClient().createSegmentProducerAsync(conf, Schema.BYTES).get(20, TimeUnit.SECONDS);
    }

    private static void batch(Producer<byte[]> to, List<String> keys, List<byte[]> values) throws Exception {
        List<CompletableFuture<?>> sent = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            sent.add(to.newMessage().key(keys.get(i)).value(values.get(i)).sendAsync());
        }
        to.flushAsync().get(20, TimeUnit.SECONDS);
        for (CompletableFuture<?> f : sent) {
            f.get(20, TimeUnit.SECONDS);
        }
    }

    private JsonNode parked(String topic) {
        JsonNode[] s = new JsonNode[1];
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> {
            s[0] = status(p.a, topic).get(0).path("window").path("parked").path(0);
            return !s[0].isMissingNode();
        });
        return s[0];
    }

    private void skip(String topic, JsonNode parked) throws Exception {
        JsonNode at = parked.path("position");
        ((ReplicationSource) p.a.segment(only(p.a, topic)).getReplicators().get(p.b.name))
                .skip(at.path("ledger").asLong(), at.path("entry").asLong());
    }

    private static MessageMetadata keyed(int i) {
        return new MessageMetadata().setProducerName("app").setSequenceId(i)
                .setPublishTime(System.currentTimeMillis()).setPartitionKey("k0");
    }

    private static ByteBuf text(int i) {
        return Unpooled.wrappedBuffer(("k0#" + i).getBytes(StandardCharsets.UTF_8));
    }

    /** A key of the half of the ring that begins there. */
    private static String key(int start) {
        return java.util.stream.IntStream.range(0, 1000).mapToObj(i -> "k" + i + "-").filter(k -> (Murmur3_32Hash
                .getInstance().makeHash(k.getBytes(StandardCharsets.UTF_8)) & 0x8000) == start).findFirst()
                .orElseThrow();
    }

    // ---- reports

    /**
     * The owner before died so that nobody told its connection. It gives way to the next owner; one that answers does
     * not, until its idle producer is closed.
     */
    @Test
    void fault38AHungConnectionGivesWay() throws Exception {
        String t = p.topic("hung", 1, 1);
        String segment = only(p.b, t);
        Stream s = new Stream("z", "i1", 0, 1);
        PulsarClientImpl dead = (PulsarClientImpl) p.b.v4();
        try (PulsarClientImpl alive = (PulsarClientImpl) p.b.v4()) {
            OriginSession first = OriginSession.open(dead, segment, s);
            assertThat(first.send("1:0", "a")).isEqualTo(Outcome.ACKED);
            first.hang();
            try (OriginSession second = OriginSession.open(alive, segment, s)) {
                assertThat(second.send("1:0", "a")).isEqualTo(Outcome.DUPLICATE);
                assertThat(second.send("1:1", "b")).isEqualTo(Outcome.ACKED);
                assertThatThrownBy(() -> OriginSession.open(p.b, segment, s)).hasRootCauseInstanceOf(
                        PulsarClientException.ProducerBusyException.class);
            }
            try (OriginSession third = OriginSession.open(p.b, segment, s)) {
                assertThat(third.send("1:1", "b")).isEqualTo(Outcome.DUPLICATE);
                assertThat(third.send("1:2", "c")).isEqualTo(Outcome.ACKED);
            }
        } finally {
            dead.shutdown();
        }
        assertThat(SegmentLog.read(p.b, segment)).hasSize(3);
    }

    /** A batch that was cut in several entries of one segment is read to its end, also by who stops in between. */
    @Tag("slow")
    @Test
    void fault13OneBatchInTwoEntries() throws Exception {
        String t = p.topic("two-entries", 1, 2);
        Rise r = new Rise(p.a, p.b, "parts", "rebatched");
        List<String> keys = new ArrayList<>();
        List<byte[]> values = new ArrayList<>();
        for (int i = 0; i < 40; i++) { // two keys of the two halves of B
            keys.add(i % 20 == 7 ? key(0x8000) : key(0));
            values.add((keys.get(i) + "#" + i + " ".repeat(300)).getBytes(StandardCharsets.UTF_8));
        }
        try (Producer<byte[]> to = producer(p.a, only(p.a, t), c -> { })) {
            batch(to, keys, values);
        }
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            assertThat(backlogs(p.a, t, p.b.name)).containsOnly(0L);
            assertThat(r.of("parts")).isGreaterThan(2);
        });
        assertThat(r.of("rebatched")).isEqualTo(1);
        List<String> got = new ArrayList<>();
        while (got.size() < 40) { // each time by a consumer that begins where the last one stopped
            try (PulsarClient client = p.b.v5(); StreamConsumer<byte[]> c = client.newStreamConsumer(
                    org.apache.pulsar.client.api.v5.schema.Schema.bytes()).topic(t).subscriptionName("application")
                    .consumerName("reader").subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST)
                    .subscribe()) {
                int before = got.size();
                while (got.size() < Math.min(40, before + 9)) {
                    Message<byte[]> m = c.receive(Duration.ofSeconds(20));
                    assertThat(m).as("after %s", got).isNotNull();
                    String v = new String(m.value(), StandardCharsets.UTF_8).trim();
                    if (!got.contains(v)) { // a position inside an entry may be given from its start again
                        got.add(v);
                    }
                    c.acknowledgeCumulative(m.id());
                }
            }
        }
        for (String k : List.of(key(0), key(0x8000))) {
            assertThat(got.stream().filter(v -> v.startsWith(k))).containsExactlyElementsOf(values.stream()
                    .map(v -> new String(v, StandardCharsets.UTF_8).trim()).filter(v -> v.startsWith(k)).toList());
        }
    }

    /** The bookies lost the end of the log: what lay there is new when it comes again, whatever a snapshot says. */
    @Test
    void fault52LogShorterOnReopen() throws Exception {
        String t = p.topic("shorter", 1, 1);
        String segment = only(p.b, t);
        Stream origin = new Stream("cluster-z", "00ff", 7, 1);
        List<String> all = new ArrayList<>();
        long ledger;
        try (OriginSession s = OriginSession.open(p.b, segment, origin)) {
            for (int i = 0; i < 12; i++) {
                assertThat(s.send("5:" + i, "5:" + i)).isEqualTo(Outcome.ACKED);
                all.add("5:" + i);
            }
            ledger = p.b.segment(segment).getManagedLedger().getLastConfirmedEntry().getLedgerId();
        }
        p.b.segment(segment).close(false).get(20, TimeUnit.SECONDS);
        cut(ledger, 5);
        try (OriginSession s = OriginSession.open(p.b, segment, origin)) {
            assertThat(SegmentLog.read(p.b, segment)).as("what the log has kept").hasSize(5);
            assertThat(s.send("5:4", "again")).as("kept").isEqualTo(Outcome.DUPLICATE);
            for (int i = 5; i < 12; i++) {
                assertThat(s.send("5:" + i, "5:" + i)).as("lost").isEqualTo(Outcome.ACKED);
            }
        }
        assertThat(SegmentLog.read(p.b, segment)).extracting(e -> new String(e.payload(), StandardCharsets.UTF_8))
                .isEqualTo(all);
    }

    /** Leaves so many entries of a ledger. */
    private void cut(long ledger, int entries) throws Exception {
        PulsarMockLedgerHandle h = bookies().getLedgerMap().get(ledger);
        List<?> stored = (List<?>) field(PulsarMockLedgerHandle.class, h, "entries");
        stored.subList(entries, stored.size()).clear();
        Field last = PulsarMockLedgerHandle.class.getDeclaredField("lastEntry");
        last.setAccessible(true);
        last.setLong(h, entries - 1);
    }

    // ---- refusals

    /** What the splice makes too large for B is cut where it can be, else parked; what follows waits and arrives. */
    @Test
    void tooLargeAfterTheSplice() throws Exception {
        String t = p.topic("too-large", 1, 1);
        Rise r = new Rise(p.a, p.b, "parts", "parked", "skipped");
        SourceRawProducer raw = new SourceRawProducer(p.a, only(p.a, t), "raw");
        ByteBuf three = Unpooled.buffer();
        MessageMetadata m = keyed(0).setNumMessagesInBatch(3);
        for (int i = 0; i < 3; i++) {
            int room = i < 2 ? LARGEST / 3 : LARGEST - 50 - 10 - m.getSerializedSize() - three.readableBytes() - 4 - 9;
            SingleMessageMetadata one = new SingleMessageMetadata().setPartitionKey("k0").setPayloadSize(room);
            three.writeInt(one.getSerializedSize());
            one.writeTo(three);
            three.writeBytes(("k0#" + i + " ".repeat(room)).substring(0, room).getBytes(StandardCharsets.UTF_8));
        }
        raw.send(m, new byte[0], three);
        StoredEntry one = SegmentLog.read(p.a, only(p.a, t)).get(0);
        int size = 10 + one.metadata().length + one.payload().length;
        assertThat(size).as("as stored at A").isBetween(LARGEST - 100, LARGEST);
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(30), 3);
        assertThat(r.of("parts")).isEqualTo(3);

        raw.send(keyed(3), new byte[0], Unpooled.wrappedBuffer(new byte[LARGEST - 100]));
        raw.send(keyed(4), new byte[0], text(4));
        JsonNode parked = parked(t);
        assertThat(parked.path("reason").asText()).isEqualTo("too-large-single");
        assertThat(SegmentLog.read(p.b, only(p.b, t))).hasSize(3);
        skip(t, parked);
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(30), 4);
        assertThat(r.of("parked")).isEqualTo(1);
        assertThat(r.of("skipped")).isEqualTo(1);
    }

    /** An entry that was damaged at A: B's ChecksumError is checked here, and the entry parked instead of retried. */
    @Test
    void damagedEntry() throws Exception {
        String t = p.topic("damaged", 1, 1);
        Rise r = new Rise(p.a, p.b, "checksumErrors", "parked");
        SourceRawProducer raw = new SourceRawProducer(p.a, only(p.a, t), "raw");
        raw.send(keyed(0), new byte[0], text(0));
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(30), 1);
        ByteBuf bad = Unpooled.buffer();
        MessageMetadata m = keyed(1);
        bad.writeShort(org.apache.pulsar.common.protocol.Commands.magicCrc32c).writeInt(0x12345678)
                .writeInt(m.getSerializedSize());
        m.writeTo(bad);
        bad.writeBytes(text(1));
        raw.send(bad);
        raw.send(keyed(2), new byte[0], text(2));
        JsonNode parked = parked(t);
        assertThat(parked.path("reason").asText()).isEqualTo("checksum");
        assertThat(SegmentLog.read(p.b, only(p.b, t))).hasSize(1);
        skip(t, parked);
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(30), 2);
        assertThat(r.of("checksumErrors")).isPositive();
        assertThat(r.of("parked")).isEqualTo(1);
    }

    /** B's bookies fail a write, which fences the topic for a while, and an application fences the producer out. */
    @Test
    void fencedAtTheDestination() throws Exception {
        String t = p.topic("fenced", 1, 2);
        Rise r = new Rise(p.a, p.b, "parts", "recoveries");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            // the write that fails may be a cursor's: until it was one of an entry
            for (int i = 0; i < 100 && (i < 4 || r.of("recoveries") == 0); i++) {
                x.more(200);
                bookies().addEntryFailAfter(i % 4, BKException.Code.WriteException);
            }
            x.more(200);
            for (int i = 0; i < 2; i++) {
                try (Producer<byte[]> exclusive = producer(p.b, SegmentLog.segments(p.b, t).get(i),
                        c -> c.setAccessMode(ProducerAccessMode.ExclusiveWithFencing))) {
                    assertThat(exclusive.isConnected()).isTrue();
                    x.more(300);
                }
            }
            x.more(200);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isPositive();
        assertThat(r.of("recoveries")).isPositive();
    }

    /** B's topic is deleted and made again, with other segments: everything behind the cursor goes to the new one. */
    @Test
    void deletedAndMadeAgain() throws Exception {
        String t = p.topic("again", 1, 1);
        Rise r = new Rise(p.a, p.b, "parts", "remoteReplaced");
        Publish.v5(p.a, t, 0, 300, 30);
        assertCopied(p.a, p.b, t);
        p.b.admin().scalableTopics().deleteScalableTopic(t, true);
        Publish.v5(p.a, t, 300, 500, 30);
        Federation.topic(t, 3, p.b);
        Publish.v5(p.a, t, 500, 600, 30);
        Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> assertThat(backlogs(p.a, t, p.b.name))
                .as("%s", status(p.a, t)).containsOnly(0L));
        assertThat(StoredMessages.of(p.b, t).all()).extracting(StoredMessages.Message::number)
                .containsExactlyInAnyOrderElementsOf(java.util.stream.IntStream.range(300, 600).boxed().toList());
        assertThat(r.of("parts")).isPositive();
        assertThat(r.of("remoteReplaced")).isPositive();
    }

    /** Segments leave their brokers on both sides, twenty times, under load. */
    @Test
    void unloadStorm() throws Exception {
        Federation.of("storm/ns", p.a, p.b);
        String t = "topic://storm/ns/x";
        Federation.topic(t, 2, p.a);
        Federation.topic(t, 3, p.b);
        Rise r = new Rise(p.a, p.b, "parts");
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            for (int i = 0; i < 20; i++) {
                (i % 2 == 0 ? p.b : p.a).admin().namespaces().unload("storm/ns");
                (i % 3 == 0 ? p.a : p.b).admin().namespaces().unload("storm/ns");
                x.more(50);
            }
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isPositive();
    }
}
