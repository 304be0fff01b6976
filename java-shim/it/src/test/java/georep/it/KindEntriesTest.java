// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.SourcePair.Rise;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Entries that are not opened, that must not travel, and that pretend to be what they are not. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class KindEntriesTest {
    private static final String POSITION = "__MSG_PROP_REPL_SOURCE_POSITION";
    private static final String ORIGIN = "__GEOREP_ORIGIN";
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(true);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private String onlySegment(String topic) throws Exception {
        return SegmentLog.segments(p.a, topic).get(0);
    }

    /** Unbatched entries by an application, one after the other, each with a change to its metadata. */
    private final class Raw {
        private final SourceRawProducer producer;
        private int n;

        Raw(String topic) throws Exception {
            producer = new SourceRawProducer(p.a, onlySegment(topic), "raw");
        }

        void send(String text, Consumer<MessageMetadata> change, byte... extra) throws Exception {
            MessageMetadata m = new MessageMetadata().setProducerName("app").setSequenceId(n++)
                    .setPublishTime(System.currentTimeMillis()).setPartitionKey("k" + n);
            change.accept(m);
            producer.send(m, extra, Unpooled.wrappedBuffer(text.getBytes(StandardCharsets.UTF_8)));
        }
    }

    private List<String> arrived(String topic) throws Exception {
        return Kinds.payloads(Kinds.stored(p.b, topic));
    }

    /** A delayed message is never batched; it arrives at once and is delivered when its time has come. */
    @Test
    void delayed() throws Exception {
        String t = p.topic("delayed", 1, 2);
        Rise r = new Rise(p.a, p.b, "single", "parts");
        long later = System.currentTimeMillis() + TimeUnit.HOURS.toMillis(1);
        try (Producer<byte[]> v4 = Kinds.producer(p.a, onlySegment(t), c -> { })) {
            Kinds.batch(v4, List.of("later", "now"), (m, i) -> {
                m.key("k");
                if (i == 0) {
                    m.deliverAt(later);
                }
            });
        }
        await(p.a, p.b, t, Kinds.SOON, 2);
        String used = "";
        for (String s : SegmentLog.segments(p.b, t)) {
            List<StoredEntry> here = SegmentLog.read(p.b, s);
            if (!here.isEmpty()) {
                assertThat(here).hasSize(2);
                assertThat(here).filteredOn(e -> e.parsed().hasDeliverAtTime()).singleElement()
                        .satisfies(e -> assertThat(e.parsed().getDeliverAtTime()).isEqualTo(later));
                used = s;
            }
        }
        try (PulsarClient client = p.b.v5(); QueueConsumer<byte[]> c = client.newQueueConsumer(Schema.bytes()).topic(t)
                .subscriptionName("q").subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe()) {
            assertThat(c.receive(Kinds.SOON).value()).asString(StandardCharsets.UTF_8).isEqualTo("now");
            assertThat(p.b.segment(used).getSubscription("q").getNumberOfEntriesDelayed()).isEqualTo(1);
        }
        assertThat(r.of("single")).isEqualTo(2);
        assertThat(r.of("parts")).isZero();
    }

    /** Batches without any key go whole, in order, all to one segment. */
    @Test
    void unkeyedBatches() throws Exception {
        String t = p.topic("unkeyed", 1, 3);
        Rise r = new Rise(p.a, p.b, "unkeyed", "parts", "single");
        List<String> texts = Kinds.texts("no key", 30);
        try (Producer<byte[]> v4 = Kinds.producer(p.a, onlySegment(t), c -> { })) {
            for (int i = 0; i < 30; i += 10) {
                Kinds.batch(v4, texts.subList(i, i + 10), (m, n) -> { });
            }
        }
        await(p.a, p.b, t, Kinds.SOON, 3);
        assertThat(Kinds.payloads(Kinds.stored(p.b, t))).isEqualTo(Kinds.payloads(Kinds.stored(p.a, t)));
        List<Integer> sizes = new ArrayList<>();
        for (String s : SegmentLog.segments(p.b, t)) {
            sizes.add(SegmentLog.read(p.b, s).size());
        }
        assertThat(sizes).as("entries by segment").containsExactlyInAnyOrder(3, 0, 0);
        assertThat(Kinds.read(p.b, t, 30, null)).isEqualTo(texts);
        assertThat(r.of("unkeyed")).isEqualTo(3);
        assertThat(r.of("parts") + r.of("single")).isZero();
    }

    /** What is no batch goes by its outer key, stamped or not; a stamp, and whatever else is there, travels with it. */
    @Test
    void unbatchedStampedOrNot() throws Exception {
        String t = p.topic("stamped", 1, 4);
        Rise r = new Rise(p.a, p.b, "single", "parts");
        Raw raw = new Raw(t);
        byte[] stamp = SourceRawProducer.join(SourceRawProducer.field(33, 77), SourceRawProducer.field(34, 77));
        for (int i = 0; i < 10; i++) {
            raw.send("stamped", m -> { }, stamp);
            raw.send("plain", m -> { });
            raw.send("ordering", m -> m.clearPartitionKey().setOrderingKey(new byte[]{1}));
        }
        await(p.a, p.b, t, Kinds.SOON, 30);
        List<StoredEntry> b = Kinds.stored(p.b, t);
        for (StoredEntry e : b) {
            String metadata = new String(e.metadata(), StandardCharsets.ISO_8859_1);
            assertThat(metadata.contains(new String(stamp, StandardCharsets.ISO_8859_1)))
                    .isEqualTo(new String(e.payload(), StandardCharsets.UTF_8).equals("stamped"));
        }
        for (String s : SegmentLog.segments(p.b, t)) {
            int from = Integer.parseInt(s.substring(s.lastIndexOf('/') + 1, s.lastIndexOf('/') + 5), 16);
            int to = Integer.parseInt(s.substring(s.lastIndexOf('/') + 6, s.lastIndexOf('/') + 10), 16);
            assertThat(SegmentLog.read(p.b, s)).allSatisfy(e -> assertThat(!e.parsed().hasPartitionKey() ? 0
                    : org.apache.pulsar.common.util.Murmur3_32Hash.getInstance().makeHash(e.parsed().getPartitionKey()
                    .getBytes(StandardCharsets.UTF_8)) & 0xffff).isBetween(from, to));
        }
        assertThat(r.of("single")).isEqualTo(30);
        assertThat(r.of("parts")).isZero();
    }

    /** Markers belong to the log that they are in: of replicated subscriptions (10-13) and of transactions (20-22). */
    @Test
    void markersStay() throws Exception {
        String t = p.topic("markers", 1, 2);
        Rise r = new Rise(p.a, p.b, "droppedBy.marker", "dropped", "single");
        Raw raw = new Raw(t);
        for (int type : new int[]{10, 11, 12, 13, 20, 21, 22}) {
            raw.send("marker", m -> m.setMarkerType(type));
            raw.send("message " + type, m -> { });
        }
        await(p.a, p.b, t, Kinds.SOON, 7);
        assertThat(arrived(t)).containsExactlyInAnyOrder("message 10", "message 11", "message 12", "message 13",
                "message 20", "message 21", "message 22");
        assertThat(r.of("droppedBy.marker")).isEqualTo(7);
        assertThat(r.of("dropped")).isEqualTo(7);
        assertThat(r.of("single")).isEqualTo(7);
    }

    /** Whom a message names is who gets it; none named is all, and a list that names only others is none. */
    @Test
    void replicateTo() throws Exception {
        String t = p.topic("replicate-to-lists", 1, 2);
        Rise r = new Rise(p.a, p.b, "droppedBy.not-in-replicate-to", "single");
        Raw raw = new Raw(t);
        raw.send("absent", m -> { });
        raw.send("only local", m -> m.addReplicateTo(p.a.name));
        raw.send("no replication", m -> m.addReplicateTo("__local__"));
        raw.send("an empty name", m -> m.addReplicateTo(""));
        raw.send("another", m -> m.addReplicateTo("cluster-x"));
        raw.send("this", m -> m.addReplicateTo(p.b.name));
        raw.send("this among others", m -> {
            m.addReplicateTo("cluster-x");
            m.addReplicateTo(p.b.name);
        });
        try (Producer<byte[]> v4 = Kinds.producer(p.a, onlySegment(t), c -> { })) {
            Kinds.batch(v4, List.of("an empty list"), (m, i) -> m.key("k").replicationClusters(List.of()));
        }
        await(p.a, p.b, t, Kinds.SOON, 4);
        assertThat(arrived(t)).containsExactlyInAnyOrder("absent", "this", "this among others", "an empty list");
        assertThat(Kinds.stored(p.b, t)).filteredOn(e -> e.parsed().getReplicateTosCount() > 1).singleElement()
                .satisfies(e -> assertThat(e.parsed().getReplicateTosList()).containsExactly("cluster-x", p.b.name));
        assertThat(r.of("droppedBy.not-in-replicate-to")).isEqualTo(4);
        assertThat(r.of("single")).isEqualTo(4);
    }

    /** What came by replication does not go on: not back, and not where somebody only says so. */
    @Test
    void replicatedIsNotForwarded() throws Exception {
        String t = p.topic("forwarded", 1, 1);
        Rise back = new Rise(p.b, p.a, "droppedBy.replicated", "single", "verbatim");
        Rise r = new Rise(p.a, p.b, "droppedBy.replicated", "single");
        Raw raw = new Raw(t);
        raw.send("published here", m -> { });
        raw.send("spoofed", m -> m.setReplicatedFrom("cluster-x"));
        raw.send("spoofed as the remote's", m -> m.setReplicatedFrom(p.b.name));
        raw.send("spoofed as our own", m -> m.setReplicatedFrom(p.a.name));
        raw.send("published here, too", m -> { });
        await(p.a, p.b, t, Kinds.SOON, 2);
        assertThat(arrived(t)).containsExactly("published here", "published here, too");
        SourcePair.await(p.b, p.a, t, Kinds.SOON, 3); // the spoofed ones; nothing came back
        assertThat(r.of("droppedBy.replicated")).isEqualTo(3);
        assertThat(r.of("single")).isEqualTo(2);
        assertThat(back.of("droppedBy.replicated")).isEqualTo(2);
        assertThat(back.of("single") + back.of("verbatim")).isZero();
    }

    /** Properties that look like ours are replaced, all of them, and move no watermark. */
    @Test
    void presetPositionsAndOrigins() throws Exception {
        String t = p.topic("preset", 1, 1);
        Rise r = new Rise(p.a, p.b, "single", "duplicateReceipts");
        Raw raw = new Raw(t);
        raw.send("first", m -> { });
        await(p.a, p.b, t, Kinds.SOON, 1);
        String real = Kinds.stored(p.b, t).get(0).property(ORIGIN).get(0);
        String[] fields = real.split("\\|");
        fields[5] = "9999999:0"; // far ahead in the true stream: believed, it would make all that follows a duplicate
        String forged = String.join("|", fields);
        raw.send("forged", m -> {
            for (String position : new String[]{"9999999:0", "no position", "9999999:0:7"}) {
                m.addProperty().setKey(POSITION).setValue(position);
            }
            m.addProperty().setKey(ORIGIN).setValue(forged);
            m.addProperty().setKey("mine").setValue("kept");
            m.addProperty().setKey(ORIGIN).setValue("2|of|a|later|version");
        });
        raw.send("last", m -> { });
        await(p.a, p.b, t, Kinds.SOON, 3);
        List<StoredEntry> a = Kinds.stored(p.a, t);
        List<StoredEntry> b = Kinds.stored(p.b, t);
        assertThat(Kinds.payloads(b)).containsExactly("first", "forged", "last");
        for (int i = 0; i < 3; i++) {
            assertThat(b.get(i).property(POSITION)).containsExactly(a.get(i).position());
            assertThat(b.get(i).property(ORIGIN)).containsExactly(real.replace(a.get(0).position(),
                    a.get(i).position()));
        }
        assertThat(b.get(1).property("mine")).containsExactly("kept");
        assertThat(r.of("single")).isEqualTo(3);
        assertThat(r.of("duplicateReceipts")).isZero();
    }

    /** The same names on messages inside a batch are the application's business. */
    @Test
    void presetPropertiesInsideABatch() throws Exception {
        String t = p.topic("preset-inside", 1, 2);
        Rise r = new Rise(p.a, p.b, "rebatched", "parts");
        List<String> texts = Kinds.texts("inside", 20);
        try (Producer<byte[]> v4 = Kinds.producer(p.a, onlySegment(t), c -> { })) {
            Kinds.batch(v4, texts, (m, i) -> m.key("k" + i).property(POSITION, "9:9").property("i", "" + i));
        }
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(30), 2);
        List<String> seen = new ArrayList<>();
        try (PulsarClient client = p.b.v5(); var c = client.newStreamConsumer(Schema.bytes()).topic(t)
                .subscriptionName("s").subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe()) {
            while (seen.size() < 20) {
                var m = c.receive(Kinds.SOON);
                assertThat(m).as("after %s", seen).isNotNull();
                assertThat(m.properties()).containsEntry(POSITION, "9:9").containsKey("i");
                seen.add(new String(m.value(), StandardCharsets.UTF_8));
            }
        }
        assertThat(seen).containsExactlyInAnyOrderElementsOf(texts);
        assertThat(r.of("rebatched")).isEqualTo(1);
        assertThat(r.of("parts")).isEqualTo(2);
    }
}
