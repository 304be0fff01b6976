// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import com.google.common.hash.Hashing;
import georep.nativelib.EntryCalls;
import georep.nativelib.Georep;
import georep.nativelib.Layout;
import georep.nativelib.Peer;
import georep.nativelib.Placement;
import georep.nativelib.Status;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IntSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.KeyValue;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.util.Murmur3_32Hash;

/**
 * Gives one entry to Pulsar's classes and to the core, and names where they differ. What has no name is thrown as an
 * AssertionError.
 */
final class Comparison implements AutoCloseable {
    private static final Set<String> OWN = Set.of("__GEOREP_ORIGIN", "__MSG_PROP_REPL_SOURCE_POSITION");
    private static final int[] STARTS = {0x2000, 0x5555, 0xc000};

    static {
        Georep.init(new Georep.Options(0, 0, 0, 0, 0, 0, 0, JavaReader.MAX_DECOMPRESSED));
    }

    private final EntryCalls m1 = new EntryCalls(Peer.PROFILE_M1);
    private final EntryCalls pip486 = new EntryCalls(Peer.PROFILE_PIP486);
    private final Layout whole = layout(Peer.PROFILE_M1, "", 65_536);
    private final Layout thirds = layout(Peer.PROFILE_M1, "", 20_000, 40_000, 65_536);
    private final Layout halves = layout(Peer.PROFILE_PIP486, ",\"entryBucketSplits\":[8192,21845,49152]", 32_768,
            65_536);

    private final Map<String, Integer> agreed = new TreeMap<>();

    private static Layout layout(int profile, String buckets, int... ends) {
        StringBuilder b = new StringBuilder();
        int start = 0;
        for (int i = 0; i < ends.length; i++) {
            b.append(i == 0 ? "" : ",").append("\"%d\":{\"segmentId\":%d,\"hashRange\":{\"start\":%d,\"end\":%d},"
                    .formatted(i + 1, i + 1, start, ends[i] - 1)).append("\"state\":\"ACTIVE\"").append(buckets)
                    .append('}');
            start = ends[i];
        }
        return Layout.fromPulsarJson("{\"epoch\":1,\"segments\":{" + b + "}}", profile);
    }

    /** How the entries on which both agreed ended, by number. */
    Map<String, Integer> agreed() {
        return agreed;
    }

    private void agree(String how) {
        agreed.merge(how, 1, Integer::sum);
    }

    @Override
    public void close() {
        whole.close();
        thirds.close();
        halves.close();
    }

    /** The named differences of one entry; empty where both agree. */
    Set<Difference> compare(byte[] raw, int number) {
        Set<Difference> out = new TreeSet<>();
        Reading java = JavaReader.read(raw);
        EntryCalls.Decision d = m1.place(whole, raw, 3, number);
        if (!d.parsed() || java.stage() == Reading.Stage.METADATA) {
            refusedMetadata(java, d, out);
            return out;
        }
        if (java.metadata().hasChunkId() && !java.isChunk()) {
            out.add(Difference.CHUNK_ID_ALONE); // never opened here
        }
        if (d.action() == Placement.DROP) {
            dropped(java, d);
            return out;
        }
        if (d.header().length > 0) {
            wentWhole(raw, java, d, out);
        }
        if (!java.isBatch() || java.metadata().hasChunkId() || java.isChunk()) {
            require(d.action() == Placement.SINGLE, "not sent whole: " + Placement.action(d.action()));
            route(java, d, out);
            if (java.stage() != Reading.Stage.DONE) {
                out.add(Difference.NOT_OPENED);
            } else {
                agree("whole, not a batch");
            }
            return out;
        }
        if (java.isEncrypted()) {
            encrypted(java, d, out);
            return out;
        }
        boolean buckets = number % 2 == 0;
        Layout to = buckets ? halves : thirds;
        opened(java, buckets ? pip486.rebatch(to, raw, 3, number) : m1.rebatch(to, raw, 3, number), buckets, out);
        return out;
    }

    private static void require(boolean ok, String what) {
        if (!ok) {
            throw new AssertionError(what);
        }
    }

    // ------------------------------------------------------------------ metadata

    private void refusedMetadata(Reading java, EntryCalls.Decision d, Set<Difference> out) {
        boolean javaRefused = java.stage() == Reading.Stage.METADATA;
        if (javaRefused && !d.parsed()) {
            require(d.action() == Placement.PARK && Placement.reason(d.reason()).equals("malformed"), "not parked");
            agree("metadata refused");
            return;
        }
        require(!javaRefused, "the core read metadata that Java refuses: " + java.cause());
        require(java.metadataBytes() != null, "the core refused a frame that Java reads");
        Difference oddity = Strict.oddity(java.metadataBytes(), Strict.Shape.METADATA);
        require(oddity != null, "the core refused metadata without an oddity");
        out.add(oddity);
    }

    private void dropped(Reading java, EntryCalls.Decision d) {
        MessageMetadata m = java.metadata();
        String want = m.hasReplicatedFrom() ? "replicated"
                : m.getReplicateTosCount() > 0 && !m.getReplicateTosList().contains("west") ? "not-in-replicate-to"
                : m.hasMarkerType() ? "marker" : "none";
        require(Placement.reason(d.reason()).equals(want), "dropped for " + Placement.reason(d.reason())
                + ", Java's metadata says " + want);
        agree("dropped");
    }

    /** The new header with the old payload is, to Java, the entry with replication's fields. */
    private void wentWhole(byte[] raw, Reading java, EntryCalls.Decision d, Set<Difference> out) {
        byte[] sent = Arrays.copyOf(d.header(), d.header().length + java.payload().length);
        System.arraycopy(java.payload(), 0, sent, d.header().length, java.payload().length);
        Reading after = JavaReader.read(sent);
        require(after.stage() == java.stage(), "sent whole, Java reads it up to " + after.stage() + " instead of "
                + java.stage());
        require(Arrays.equals(after.payload(), java.payload()), "another payload");
        require(Arrays.equals(normal(java.metadata(), false), normal(after.metadata(), true)), "metadata changed:\n"
                + java.metadata() + "\n" + after.metadata());
        require(after.checksumValid() == java.checksumValid(), "checksum was " + java.checksumValid() + ", is "
                + after.checksumValid());
        if (!java.checksumValid()) {
            out.add(Difference.CHECKSUM_TRAVELS);
        }
        require(java.stage() != Reading.Stage.DONE || after.messages().equals(before(java, after)), "messages changed");
    }

    /** An entry that is no batch shows its outer properties as its message's, and two were added. */
    private static List<Reading.Message> before(Reading java, Reading after) {
        if (java.isBatch() || java.messages().isEmpty()) {
            return java.messages();
        }
        Reading.Message m = java.messages().get(0);
        List<String> properties = new ArrayList<>(m.properties());
        properties.removeIf(p -> OWN.stream().anyMatch(o -> p.startsWith(o + "=")));
        for (String p : after.messages().get(0).properties()) {
            if (OWN.stream().anyMatch(o -> p.startsWith(o + "="))) {
                properties.add(p);
            }
        }
        return List.of(new Reading.Message(m.key(), m.b64(), m.orderingKey(), properties, m.body(), m.eventTime(),
                m.sequenceId(), m.nullValue(), m.nullKey(), m.compactedOut()));
    }

    /** The metadata without what replication sets and cuts, serialised by Java. */
    private static byte[] normal(MessageMetadata m, boolean replicated) {
        MessageMetadata c = new MessageMetadata().copyFrom(m);
        if (replicated) {
            require(c.hasReplicatedFrom() && c.getReplicatedFrom().equals("east"), "replicated_from is not set");
            require(!c.hasTxnidLeastBits() && !c.hasTxnidMostBits(), "transaction ids are still there");
            long own = c.getPropertiesList().stream().filter(kv -> OWN.contains(kv.getKey())).count();
            require(own == 2, own + " properties of replication");
        }
        c.clearReplicatedFrom().clearTxnidLeastBits().clearTxnidMostBits();
        List<KeyValue> kept = c.getPropertiesList().stream().filter(kv -> !OWN.contains(kv.getKey()))
                .map(kv -> new KeyValue().copyFrom(kv)).toList();
        c.clearProperties();
        kept.forEach(kv -> c.addProperty().copyFrom(kv));
        return c.toByteArray();
    }

    // ------------------------------------------------------------------ keys

    private static int murmur(byte[] bytes) {
        int h = Hashing.murmur3_32_fixed().hashBytes(bytes).asInt();
        require((h & 0x7fffffff) == Murmur3_32Hash.getInstance().makeHash(bytes), "two Murmurs");
        return h;
    }

    private static byte[] utf8(String s) {
        return s.getBytes(StandardCharsets.UTF_8);
    }

    /** Whether Java's text of a key may differ from its bytes. */
    private static boolean notUtf8(String key) {
        return key != null && key.indexOf('\uFFFD') >= 0;
    }

    private void route(Reading java, EntryCalls.Decision d, Set<Difference> out) {
        MessageMetadata m = java.metadata();
        int want = m.hasPartitionKey() ? murmur(utf8(m.getPartitionKey())) & 0xffff : 0;
        if (d.route() != want) {
            require(m.hasPartitionKey() && notUtf8(m.getPartitionKey()), "route " + d.route() + ", want " + want);
            out.add(Difference.KEY_NOT_UTF8);
        }
    }

    /** Destination of a message: segment and bucket, 16 bits each. */
    private static int destination(Reading.Message m, boolean buckets) {
        int hash = m.key() == null ? 0 : murmur(utf8(m.key()));
        if (!buckets) {
            int h = hash & 0xffff;
            return (h < 20_000 ? 1 : h < 40_000 ? 2 : 3) << 16;
        }
        int low = bucketHash(m);
        int bucket = (int) Arrays.stream(STARTS).filter(s -> s <= low).count();
        return (hash >= 0 ? 1 : 2) << 16 | bucket;
    }

    // ------------------------------------------------------------------ batches

    private void encrypted(Reading java, EntryCalls.Decision d, Set<Difference> out) {
        if (d.action() == Placement.VERBATIM) {
            agree("encrypted batch, whole");
            return;
        }
        require(d.action() == Placement.PARK && Placement.reason(d.reason()).equals("malformed"), "encrypted batch: "
                + Placement.action(d.action()));
        out.add(implausible(java));
    }

    /** Why a count of messages can not be true. */
    private static Difference implausible(Reading java) {
        int n = java.metadata().getNumMessagesInBatch();
        if (n <= 0) {
            return Difference.COUNT_NOT_POSITIVE;
        }
        long size = java.metadata().hasUncompressedSize() ? java.metadata().getUncompressedSize() & 0xffffffffL
                : java.payload().length;
        require(n > size / 6, "a plausible count of " + n + " was refused");
        return Difference.COUNT_IMPLAUSIBLE;
    }

    private void opened(Reading java, EntryCalls.Cut cut, boolean buckets, Set<Difference> out) {
        if (cut.status() == Status.OK) {
            accepted(java, cut, buckets, out);
            return;
        }
        require(cut.status() == Status.FORMAT || cut.status() == Status.LIMIT, "status: " + cut.text());
        if (!java.checksumValid() && cut.text().contains("checksum")) {
            agree("checksum wrong");
            return;
        }
        if (java.stage() != Reading.Stage.DONE && Refusal.notByPayload(java, cut.text())) {
            agree("batch refused");
            return;
        }
        out.add(Refusal.of(java, cut.text()));
    }

    private void accepted(Reading java, EntryCalls.Cut cut, boolean buckets, Set<Difference> out) {
        require(java.checksumValid(), "a wrong checksum was covered up");
        if (java.stage() == Reading.Stage.PAYLOAD && java.codec() == CompressionType.ZLIB_VALUE
                && Codecs.zlibTailBroken(java.payload(), java.metadata().getUncompressedSize())) {
            out.add(Difference.ZLIB_TAIL);
            return;
        }
        require(java.stage() == Reading.Stage.DONE, "the core cut what Java refuses at " + java.stage() + ": "
                + java.cause());
        require(java.left() == 0, java.left() + " bytes behind the last message were lost");
        Map<Integer, List<Reading.Message>> want = new LinkedHashMap<>();
        boolean keyed = java.messages().stream().anyMatch(Reading.Message::keyed);
        boolean gone = java.messages().stream().allMatch(Reading.Message::compactedOut);
        if (gone) {
            require(cut.parts().isEmpty(), "parts of a batch that compaction took");
            agree("compacted out");
            return;
        }
        for (Reading.Message m : java.messages()) {
            int to = keyed ? destination(m, buckets) : 1 << 16;
            want.computeIfAbsent(to, k -> new ArrayList<>()).add(m);
        }
        Map<Integer, List<Reading.Message>> got = parts(java, cut, keyed);
        if (got.equals(want)) {
            agree(keyed ? "cut into parts" : "unkeyed, whole");
            return;
        }
        require(java.messages().stream().anyMatch(m -> notUtf8(m.key())), "parts:\n got " + got + "\nwant " + want);
        require(sorted(got).equals(sorted(want)), "messages of parts differ:\n got " + got + "\nwant " + want);
        out.add(Difference.KEY_NOT_UTF8);
    }

    private static List<String> sorted(Map<Integer, List<Reading.Message>> parts) {
        return parts.values().stream().flatMap(List::stream).map(Reading.Message::toString).sorted().toList();
    }

    /** What Java reads in the parts. */
    private static Map<Integer, List<Reading.Message>> parts(Reading java, EntryCalls.Cut cut, boolean keyed) {
        Map<Integer, List<Reading.Message>> got = new LinkedHashMap<>();
        for (EntryCalls.Part p : cut.parts()) {
            Reading r = JavaReader.read(p.bytes());
            require(r.stage() == Reading.Stage.DONE, "Java cannot read a part: " + r.cause());
            require(r.checksumValid() && r.left() == 0 && r.messages().size() == p.messages(), "part of "
                    + p.messages() + " messages");
            require((p.rank() == Georep.WHOLE) == !keyed, "rank " + p.rank());
            outer(java, r);
            if (keyed) {
                own(p, java, r);
            }
            got.computeIfAbsent((int) p.segment() << 16 | p.bucket(), k -> new ArrayList<>()).addAll(r.messages());
        }
        return got;
    }

    /** What a part says of its own messages: keys as its first, sequence ids, the stamp. */
    private static void own(EntryCalls.Part p, Reading source, Reading part) {
        MessageMetadata m = part.metadata();
        Reading.Message first = part.messages().get(0);
        require(m.getNumMessagesInBatch() == part.messages().size(), "count");
        require(first.key() == null ? !m.hasPartitionKey() : m.hasPartitionKey()
                && m.getPartitionKey().equals(first.key()) && m.isPartitionKeyB64Encoded() == first.b64(), "outer key");
        require(Arrays.equals(first.orderingKey(), m.hasOrderingKey() ? m.getOrderingKey() : null), "ordering key");
        long whole = source.metadata().getSequenceId();
        long lowest = part.messages().stream().map(x -> x.sequenceId() == null ? whole : x.sequenceId())
                .min(Long::compareUnsigned).orElseThrow();
        require(m.getSequenceId() == lowest, "sequence id " + m.getSequenceId() + ", the lowest is " + lowest);
        require(m.isNullPartitionKey() == (first.nullKey() && source.metadata().isNullPartitionKey()), "null key");
        IntSummaryStatistics stamp = part.messages().stream().filter(x -> !notUtf8(x.key()))
                .mapToInt(x -> bucketHash(x)).summaryStatistics();
        require(stamp.getCount() < part.messages().size()
                || p.hashMin() == stamp.getMin() && p.hashMax() == stamp.getMax(), "stamp " + p.hashMin() + "-"
                + p.hashMax() + ", hashes " + stamp);
    }

    private static int bucketHash(Reading.Message m) {
        return m.orderingKey() != null ? murmur(m.orderingKey()) & 0xffff
                : m.key() == null ? 0 : murmur(utf8(m.key())) & 0xffff;
    }

    /** What a part says as a whole must be what its source said. */
    private static void outer(Reading source, Reading part) {
        MessageMetadata a = source.metadata();
        MessageMetadata b = part.metadata();
        require(b.getReplicatedFrom().equals("east") && !b.hasTxnidLeastBits() && !b.hasTxnidMostBits(), "origin");
        require(a.getProducerName().equals(b.getProducerName()) && a.getPublishTime() == b.getPublishTime(),
                "producer or time");
        require(a.getReplicateTosList().equals(b.getReplicateTosList()), "replicate_to");
        require(a.hasSchemaVersion() == b.hasSchemaVersion()
                && (!a.hasSchemaVersion() || Arrays.equals(a.getSchemaVersion(), b.getSchemaVersion())), "schema");
        require(a.hasDeliverAtTime() == b.hasDeliverAtTime() && a.getDeliverAtTime() == b.getDeliverAtTime(), "delay");
        List<String> properties = JavaReader.properties(a.getPropertiesList());
        properties.removeIf(p -> OWN.stream().anyMatch(o -> p.startsWith(o + "=")));
        List<String> after = JavaReader.properties(b.getPropertiesList());
        after.removeIf(p -> OWN.stream().anyMatch(o -> p.startsWith(o + "=")));
        require(properties.equals(after), "outer properties");
        require(b.hasNumMessagesInBatch(), "a part that is no batch");
    }
}
