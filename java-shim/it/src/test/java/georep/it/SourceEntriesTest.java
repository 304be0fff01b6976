// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import georep.plugin.source.ReplicationSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pulsar.broker.service.Replicator;
import org.apache.pulsar.broker.service.persistent.SegmentReplicator;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.policies.data.DispatchRate;
import org.apache.pulsar.common.policies.data.SchemaCompatibilityStrategy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Entries of every kind that clients write, as they arrive. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SourceEntriesTest {
    private static final int A_DAY = 86_400;
    private static final int FRAME = 10; // of a stored entry: magic, checksum, size of its metadata

    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(true, s -> s.with(c ->
                c.setDispatchRateLimiterFactoryClassName(CountingRates.class.getName())));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private Producer<byte[]> producer(String segment, Consumer<ProducerConfigurationData> tweak) throws Exception {
        ProducerConfigurationData c = new ProducerConfigurationData();
        c.setTopicName(segment);
        c.setBatchingEnabled(true);
        c.setBatchingMaxMessages(200);
        c.setBatchingMaxPublishDelayMicros(TimeUnit.MILLISECONDS.toMicros(20));
        tweak.accept(c);
        return p.a.internalClient().createSegmentProducerAsync(c, Schema.BYTES).get(20, TimeUnit.SECONDS);
    }

    private String onlySegment(String topic) throws Exception {
        return SegmentLog.segments(p.a, topic).get(0);
    }

    private List<StoredEntry> stored(Cluster c, String topic) throws Exception {
        List<StoredEntry> all = new ArrayList<>();
        for (String s : SegmentLog.segments(c, topic)) {
            all.addAll(SegmentLog.read(c, s));
        }
        return all;
    }

    /** Without the fields that the splice adds or replaces: what is left must be the source's bytes. */
    private static byte[] withoutSplice(byte[] metadata) {
        ByteBuf out = Unpooled.buffer();
        ByteBuf in = Unpooled.wrappedBuffer(metadata);
        while (in.isReadable()) {
            int from = in.readerIndex();
            long tag = varint(in);
            int field = (int) (tag >>> 3);
            boolean ours = field == 5;
            if ((tag & 7) == 2) {
                int n = (int) varint(in);
                String text = in.toString(in.readerIndex(), n, StandardCharsets.ISO_8859_1);
                ours |= field == 4 && (text.contains("__GEOREP_ORIGIN")
                        || text.contains("__MSG_PROP_REPL_SOURCE_POSITION"));
                in.skipBytes(n);
            } else {
                varint(in);
            }
            if (!ours) {
                out.writeBytes(in, from, in.readerIndex() - from);
            }
        }
        byte[] b = new byte[out.readableBytes()];
        out.readBytes(b);
        return b;
    }

    private static long varint(ByteBuf b) {
        long v = 0;
        for (int shift = 0;; shift += 7) {
            byte x = b.readByte();
            v |= (long) (x & 0x7f) << shift;
            if (x >= 0) {
                return v;
            }
        }
    }

    @Test
    void verbatimDiffersByTheSpliceAlone() throws Exception {
        String t = p.topic("splice", 1, 1);
        Rise r = new Rise(p.a, p.b, "verbatim", "single", "parts");
        byte[] unknown = SourceRawProducer.join(SourceRawProducer.field(33, 5), SourceRawProducer.field(34, 0xffff),
                SourceRawProducer.field(777, 123_456));
        SourceRawProducer raw = new SourceRawProducer(p.a, onlySegment(t), "raw");
        for (int i = 0; i < 5; i++) {
            MessageMetadata m = new MessageMetadata().setProducerName("app").setSequenceId(i)
                    .setPublishTime(System.currentTimeMillis()).setPartitionKey("k" + i);
            m.addProperty().setKey("mine").setValue("kept");
            m.addProperty().setKey("__MSG_PROP_REPL_SOURCE_POSITION").setValue("9:9"); // a user's, to be replaced
            raw.send(m, unknown, Unpooled.wrappedBuffer(("payload " + i).getBytes(StandardCharsets.UTF_8)));
        }
        await(p.a, p.b, t, Duration.ofSeconds(20), 5);
        List<StoredEntry> a = stored(p.a, t);
        List<StoredEntry> b = stored(p.b, t);
        assertThat(b).hasSize(5);
        for (int i = 0; i < 5; i++) {
            assertThat(b.get(i).payload()).isEqualTo(a.get(i).payload());
            assertThat(withoutSplice(b.get(i).metadata())).as("metadata but for the splice")
                    .isEqualTo(withoutSplice(a.get(i).metadata()));
            assertThat(b.get(i).parsed().getReplicatedFrom()).isEqualTo(p.a.name);
            assertThat(b.get(i).property("__MSG_PROP_REPL_SOURCE_POSITION")).containsExactly(a.get(i).position());
            assertThat(b.get(i).property("__GEOREP_ORIGIN")).singleElement().asString().startsWith("1|cluster-a|")
                    .endsWith("|" + SegmentLog.segments(p.b, t).get(0));
        }
        assertThat(r.of("verbatim") + r.of("single")).isEqualTo(5);
        assertThat(r.of("parts")).isZero();
    }

    /** What cannot be understood is kept, stops its segment, and goes only when an operator says so. */
    @Test
    void anEntryThatDoesNotParseIsParkedUntilItIsSkipped() throws Exception {
        String t = p.topic("parked", 1, 1);
        Rise r = new Rise(p.a, p.b, "parked", "skipped");
        String segment = onlySegment(t);
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        raw.send(keyed(0), new byte[0], Unpooled.wrappedBuffer("k0#0".getBytes(StandardCharsets.UTF_8)));
        raw.send(Unpooled.wrappedBuffer(HexFormat.of().parseHex("0e01000000000000000affffffffffffffffffff" + "aabb")));
        raw.send(keyed(1), new byte[0], Unpooled.wrappedBuffer("k1#1".getBytes(StandardCharsets.UTF_8)));
        JsonNode[] s = new JsonNode[1];
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            s[0] = SourcePair.status(p.a, t).get(0);
            assertThat(s[0].path("window").path("state").asText()).as("%s", s[0]).isEqualTo("stalled");
            assertThat(s[0].path("backlog").asLong()).isEqualTo(2);
        });
        JsonNode parked = s[0].path("window").path("parked").get(0);
        assertThat(parked.path("reason").asText()).isEqualTo("malformed");
        assertThat(stored(p.b, t)).hasSize(1);
        ReplicationSource source = (ReplicationSource) p.a.segment(segment).getReplicators().get(p.b.name);
        long ledger = parked.path("position").path("ledger").asLong();
        long entry = parked.path("position").path("entry").asLong();
        assertThatThrownBy(() -> source.skip(ledger, entry + 1).get(10, TimeUnit.SECONDS))
                .hasCauseInstanceOf(IllegalArgumentException.class).hasMessageContaining(ledger + ":" + (entry + 1));
        source.skip(ledger, entry).get(10, TimeUnit.SECONDS);
        await(p.a, p.b, t, Duration.ofSeconds(20), 2);
        assertThat(r.of("parked")).isEqualTo(1);
        assertThat(r.of("skipped")).isEqualTo(1);
    }

    /** What has outlived its TTL when it is read does not travel, and does not stay behind the cursor. */
    @Test
    void expiredEntriesDoNotTravel() throws Exception {
        String ns = SourcePair.NS + "-ttl";
        Federation.of(ns, p.a, p.b);
        p.a.admin().namespaces().setNamespaceMessageTTL(ns, 600);
        String t = "topic://" + ns + "/x";
        Federation.topic(t, 1, p.a, p.b);
        Rise r = new Rise(p.a, p.b, "droppedBy.expired");
        SourceRawProducer raw = new SourceRawProducer(p.a, onlySegment(t), "raw");
        for (int i = 0; i < 9; i++) {
            MessageMetadata m = keyed(i);
            if (i % 3 == 1) {
                m.setPublishTime(System.currentTimeMillis() - 3_600_000);
            }
            raw.send(m, new byte[0], Unpooled.wrappedBuffer(("k" + i + "#" + i).getBytes(StandardCharsets.UTF_8)));
        }
        await(p.a, p.b, t, Duration.ofSeconds(20), 6);
        assertThat(stored(p.b, t)).extracting(e -> e.parsed().getSequenceId()).containsExactly(0L, 2L, 3L, 5L, 6L, 8L);
        assertThat(r.of("droppedBy.expired")).isEqualTo(3);
    }

    private static MessageMetadata keyed(int i) {
        return new MessageMetadata().setProducerName("app").setSequenceId(i)
                .setPublishTime(System.currentTimeMillis()).setPartitionKey("k" + i);
    }

    @Test
    void everyCodecIsCutAndKept() throws Exception {
        String t = p.topic("codecs", 1, 3);
        Rise r = new Rise(p.a, p.b, "parts", "rebatched");
        int n = 0;
        for (CompressionType codec : CompressionType.values()) {
            try (Producer<byte[]> producer = producer(onlySegment(t), c -> c.setCompressionType(codec))) {
                List<CompletableFuture<?>> sent = new ArrayList<>();
                for (int i = 0; i < 400; i++, n++) {
                    sent.add(producer.newMessage().key("k" + n % 40).value((("x".repeat(300)) + Publish.text(n, 40))
                            .getBytes(StandardCharsets.UTF_8)).sendAsync());
                }
                for (CompletableFuture<?> f : sent) {
                    f.get(20, TimeUnit.SECONDS);
                }
            }
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isGreaterThanOrEqualTo(10);
        Set<org.apache.pulsar.common.api.proto.CompressionType> codecs = new HashSet<>();
        stored(p.b, t).forEach(e -> codecs.add(e.parsed().getCompression()));
        assertThat(codecs).as("codecs of the parts").containsExactlyInAnyOrder(
                org.apache.pulsar.common.api.proto.CompressionType.values());
    }

    @Test
    void allChunksOfAMessageStayTogether() throws Exception {
        String t = p.topic("chunks", 1, 4);
        Rise r = new Rise(p.a, p.b, "single");
        try (Producer<byte[]> producer = producer(onlySegment(t), c -> {
            c.setBatchingEnabled(false);
            c.setChunkingEnabled(true);
            c.setChunkMaxMessageSize(1000);
        })) {
            for (int i = 0; i < 8; i++) {
                producer.newMessage().key("k" + i).value(new byte[4500]).send();
            }
        }
        await(p.a, p.b, t, Duration.ofSeconds(20), 8 * 5);
        Set<String> segmentsUsed = new HashSet<>();
        Set<String> uuids = new HashSet<>();
        for (String s : SegmentLog.segments(p.b, t)) {
            List<MessageMetadata> chunks = SegmentLog.read(p.b, s).stream().map(StoredEntry::parsed).toList();
            Set<String> here = new HashSet<>();
            chunks.forEach(m -> here.add(m.getUuid()));
            for (String u : here) {
                assertThat(uuids.add(u)).as("uuid in one segment only").isTrue();
                assertThat(chunks.stream().filter(m -> m.getUuid().equals(u)).map(MessageMetadata::getChunkId))
                        .containsExactlyElementsOf(java.util.stream.IntStream.range(0, chunks.stream()
                                .filter(m -> m.getUuid().equals(u)).findFirst().orElseThrow().getNumChunksFromMsg())
                                .boxed().toList());
                segmentsUsed.add(s);
            }
        }
        assertThat(uuids).hasSize(8);
        assertThat(segmentsUsed.size()).as("segments used").isGreaterThan(1);
        assertThat(r.of("single")).isPositive();
    }

    @Test
    void replicateToIsHonoured() throws Exception {
        String t = p.topic("replicate-to", 1, 2);
        Rise r = new Rise(p.a, p.b, "dropped");
        try (Producer<byte[]> producer = producer(onlySegment(t), c -> { })) {
            producer.newMessage().key("k0").value("k0#0".getBytes(StandardCharsets.UTF_8)).send();
            producer.newMessage().key("k1").value("k1#1".getBytes(StandardCharsets.UTF_8)).disableReplication().send();
            producer.newMessage().key("k2").value("k2#2".getBytes(StandardCharsets.UTF_8))
                    .replicationClusters(List.of("cluster-b")).send();
            producer.newMessage().key("k3").value("k3#3".getBytes(StandardCharsets.UTF_8))
                    .replicationClusters(List.of("cluster-x")).send();
        }
        await(p.a, p.b, t, Duration.ofSeconds(20), 2);
        assertThat(StoredMessages.of(p.b, t).from(p.a.name).stream().map(StoredMessages.Message::number))
                .containsExactlyInAnyOrder(0, 2);
        assertThat(r.of("dropped")).isEqualTo(2);
    }

    /** Two versions of a schema, at a remote that enforces validation. */
    @Test
    void schemaVersionsAreTranslated() throws Exception {
        String ns = SourcePair.NS + "-schema";
        Federation.of(ns, p.a, p.b);
        for (Cluster c : new Cluster[]{p.a, p.b}) {
            c.admin().namespaces().setSchemaCompatibilityStrategy(ns, SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE);
            c.admin().namespaces().setSchemaValidationEnforced(ns, true);
        }
        String t = "topic://" + ns + "/x";
        Federation.topic(t, 1, p.a);
        Federation.topic(t, 2, p.b);
        Rise r = new Rise(p.a, p.b, "schemaAsks");
        String segment = SegmentLog.segments(p.a, t).get(0);
        send(segment, Schema.JSON(One.class), new One("x"));
        send(segment, Schema.JSON(Two.class), new Two("y", 2));
        send(segment, Schema.JSON(One.class), new One("z"));
        await(p.a, p.b, t, Duration.ofSeconds(30), 3);
        var registry = p.b.broker.getSchemaRegistryService();
        String id = org.apache.pulsar.common.naming.TopicName.get(segment).getSchemaName();
        List<StoredEntry> b = stored(p.b, t);
        assertThat(b).hasSize(3);
        for (StoredEntry e : b) {
            String text = new String(e.payload(), StandardCharsets.UTF_8);
            String schema = new String(registry.getSchema(id, registry.versionFromBytes(e.parsed().getSchemaVersion()))
                    .get().schema.getData(), StandardCharsets.UTF_8);
            assertThat(schema.contains("number")).as("schema of %s", text).isEqualTo(text.contains("number"));
        }
        assertThat(r.of("schemaAsks")).isEqualTo(2);
    }

    /** Entries that have no schema, at a remote that refuses sessions without one; a schema comes late. */
    @Test
    void entriesWithoutSchemaReachARemoteThatEnforcesOne() throws Exception {
        String ns = SourcePair.NS + "-enforced";
        Federation.of(ns, p.a, p.b);
        for (Cluster c : new Cluster[]{p.a, p.b}) {
            c.admin().namespaces().setSchemaCompatibilityStrategy(ns, SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE);
        }
        p.b.admin().namespaces().setSchemaValidationEnforced(ns, true);
        String t = "topic://" + ns + "/x";
        Federation.topic(t, 1, p.a, p.b);
        send(p.b, SegmentLog.segments(p.b, t).get(0), Schema.JSON(One.class), new One("at home")); // goes to A as well
        String segment = SegmentLog.segments(p.a, t).get(0);
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        for (int i = 0; i < 3; i++) {
            raw.send(keyed(i), new byte[0], Unpooled.wrappedBuffer(("k#" + i).getBytes(StandardCharsets.UTF_8)));
        }
        await(p.a, p.b, t, Duration.ofSeconds(40), 3);
        send(segment, Schema.JSON(Two.class), new Two("late", 2));
        await(p.a, p.b, t, Duration.ofSeconds(40), 4);
        List<StoredEntry> copies = stored(p.b, t).stream().filter(e -> e.parsed().hasReplicatedFrom()).toList();
        assertThat(copies).extracting(e -> e.parsed().hasSchemaVersion()).containsExactly(false, false, false, true);
    }

    private <T> void send(String segment, Schema<T> schema, T value) throws Exception {
        send(p.a, segment, schema, value);
    }

    private static <T> void send(Cluster at, String segment, Schema<T> schema, T value) throws Exception {
        ProducerConfigurationData c = new ProducerConfigurationData();
        c.setTopicName(segment);
        c.setBatchingEnabled(false);
        try (Producer<T> producer = at.internalClient().createSegmentProducerAsync(c, schema)
                .get(20, TimeUnit.SECONDS)) {
            producer.newMessage().key("k").value(value).send();
        }
    }

    /** First version. */
    public static final class One {
        public String name;

        public One() { }

        One(String name) {
            this.name = name;
        }
    }

    /** Second version. */
    public static final class Two {
        public String name;
        public int number;

        public Two() { }

        Two(String name, int number) {
            this.name = name;
            this.number = number;
        }
    }

    private static void rate(Cluster at, String ns, int messages, long bytes, int seconds) throws Exception {
        at.admin().namespaces().setReplicatorDispatchRate(ns, DispatchRate.builder()
                .dispatchThrottlingRateInMsg(messages).dispatchThrottlingRateInByte(bytes)
                .ratePeriodInSecond(seconds).build());
    }

    private CountingRates.Counting limiter(String segment) throws Exception {
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> p.a.segment(segment).getReplicators()
                .get(p.b.name) instanceof ReplicationSource s && s instanceof Replicator r
                && r.getRateLimiter().isPresent());
        return CountingRates.Counting.of(p.a, segment, p.b);
    }

    /** Messages from {@code first} on, in batches of ten. */
    private void tens(String segment, int first, int n, int keys) throws Exception {
        try (Producer<byte[]> producer = producer(segment, c -> {
            c.setBatchingMaxMessages(10);
            c.setBatchingMaxPublishDelayMicros(TimeUnit.HOURS.toMicros(1));
        })) {
            for (int i = first; i < first + n; i++) {
                producer.newMessage().key("k" + i % keys)
                        .value(Publish.text(i, keys).getBytes(StandardCharsets.UTF_8)).sendAsync();
            }
            producer.flush();
        }
    }

    /** What the limiter is charged is what was replicated, by either path: every message, every byte. */
    @Test
    void theDispatchRateIsChargedForEveryMessage() throws Exception {
        String ns = SourcePair.NS + "-charged";
        Federation.of(ns, p.a, p.b);
        rate(p.a, ns, 100_000, 1 << 30, A_DAY);
        for (int segments : new int[]{1, 3}) {
            String t = "topic://" + ns + "/x" + segments;
            Federation.topic(t, 1, p.a);
            Federation.topic(t, segments, p.b);
            Rise r = new Rise(p.a, p.b, "verbatim", "parts");
            CountingRates.Counting limiter = limiter(onlySegment(t));
            tens(onlySegment(t), 0, 120, 40);
            assertCopied(p.a, p.b, t);
            assertThat(r.of(segments == 1 ? "verbatim" : "parts")).isGreaterThanOrEqualTo(12);
            assertThat(limiter.messages).hasValue(120);
            assertThat(limiter.getAvailableDispatchRateLimitOnMsg()).isEqualTo(100_000 - 120);
            long bytes = stored(p.b, t).stream().mapToLong(e -> FRAME + e.metadata().length + e.payload().length).sum();
            assertThat(limiter.bytes).hasValue(bytes);
            assertThat(limiter.getAvailableDispatchRateLimitOnByte()).isEqualTo((1 << 30) - bytes);
        }
    }

    /** Where the limiter has nothing, nothing goes, until the rate is raised or taken away. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void nothingIsSentBeyondTheDispatchRate(int segments) throws Exception {
        String ns = SourcePair.NS + "-rate" + segments;
        Federation.of(ns, p.a, p.b);
        rate(p.a, ns, 30, -1, A_DAY);
        String t = "topic://" + ns + "/x";
        Federation.topic(t, 1, p.a);
        Federation.topic(t, segments, p.b);
        String segment = onlySegment(t);
        CountingRates.Counting limiter = limiter(segment);
        tens(segment, 0, 100, 40);
        awaitRefusals(limiter, 30);
        awaitCopies(t, 30);

        rate(p.a, ns, 1000, -1, A_DAY);
        awaitCopies(t, 100);
        assertThat(limiter.messages).hasValue(100);

        rate(p.a, ns, -1, 1, A_DAY); // a batch is larger, so one goes
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> limiter.getDispatchRateOnByte() == 1);
        tens(segment, 100, 20, 1);
        awaitRefusals(limiter, 110);
        awaitCopies(t, 110);

        p.a.admin().namespaces().removeReplicatorDispatchRate(ns);
        awaitCopies(t, 120);
        assertCopied(p.a, p.b, t);
    }

    private static void chunk(SourceRawProducer raw, int i) throws Exception {
        raw.send(new MessageMetadata().setProducerName("app").setSequenceId(1).setUuid("whole").setPartitionKey("k")
                .setPublishTime(System.currentTimeMillis()).setNumChunksFromMsg(3).setTotalChunkMsgSize(3)
                .setChunkId(i), new byte[0], Unpooled.wrappedBuffer(new byte[]{(byte) i}));
    }

    /**
     * Chunks 0 and 1 are in a segment that is sealed now. A new window sees that 2 is not there and sends 0 again, but
     * only once it has read 1: what waits and takes all that the limiter has must not keep it from that.
     */
    @Test
    void aDispatchRateOfOneMessageLetsAChunkedMessagePass() throws Exception {
        String ns = SourcePair.NS + "-chunks";
        Federation.of(ns, p.a, p.b);
        String t = "topic://" + ns + "/x";
        Federation.topic(t, 1, p.a, p.b);
        String segment = onlySegment(t);
        String before = SegmentLog.segments(p.b, t).get(0);
        SourceRawProducer raw = new SourceRawProducer(p.a, segment, "raw");
        chunk(raw, 0);
        chunk(raw, 1);
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> SegmentLog.read(p.b, before).size() == 2);

        rate(p.a, ns, 1, -1, 1);
        assertThat(limiter(segment).getDispatchRateOnMsg()).isEqualTo(1);
        SegmentReplicator old = (SegmentReplicator) p.a.segment(segment).getReplicators().get(p.b.name);
        old.pause(true); // it would send them again at once
        p.b.admin().scalableTopics().splitSegment(t, 0);
        old.restart();
        chunk(raw, 2);
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            List<List<Integer>> logs = new ArrayList<>();
            for (String s : SegmentLog.segments(p.b, t)) {
                logs.add(SegmentLog.read(p.b, s).stream().map(e -> (int) e.payload()[0]).toList());
            }
            assertThat(logs).as("%s", SourcePair.status(p.a, t))
                    .containsExactlyInAnyOrder(List.of(0, 1), List.of(0, 1, 2), List.of());
        });
        assertThat(limiter(segment).messages).as("of the new window's").hasValue(3);
    }

    /** The limiter was asked again and again with so many messages charged, and had nothing. */
    private static void awaitRefusals(CountingRates.Counting limiter, int charged) {
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> limiter.messages.get() >= charged);
        long before = limiter.refusals.get();
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> limiter.refusals.get() >= before + 5);
        assertThat(limiter.messages).hasValue(charged);
    }

    private void awaitCopies(String topic, int n) {
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() ->
                assertThat(StoredMessages.of(p.b, topic).count(p.a.name)).as("%s", SourcePair.status(p.a, topic))
                        .isEqualTo(n));
    }
}
