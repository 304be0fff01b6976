// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.Commands;

/** The messages of {@link Publish} in a topic's logs, sealed segments first, and what is wrong with them. */
final class StoredMessages {
    /**
     * @param key    as published
     * @param number as published
     * @param from   cluster that it was replicated from; empty = published here
     */
    record Message(String key, int number, String from, long segment) { }

    private final List<Message> messages = new ArrayList<>();

    private StoredMessages() {
    }

    /** All messages of a topic; a segment's parents come before it, so per key this is the order of storing. */
    static StoredMessages of(Cluster c, String topic) throws Exception {
        StoredMessages all = new StoredMessages();
        for (String segment : SegmentLog.segments(c, topic)) {
            boolean legacy = !segment.startsWith("segment:");
            long id = legacy ? -1 : Long.parseLong(segment.substring(segment.lastIndexOf('-') + 1));
            for (StoredEntry e : SegmentLog.read(c, segment)) {
                all.add(e, id);
            }
        }
        return all;
    }

    private void add(StoredEntry e, long segment) throws Exception {
        MessageMetadata m = e.parsed();
        String from = m.hasReplicatedFrom() ? m.getReplicatedFrom() : "";
        if (m.hasMarkerType()) {
            return;
        }
        ByteBuf payload = decode(m, e.payload());
        int n = m.hasNumMessagesInBatch() ? m.getNumMessagesInBatch() : 0;
        if (n == 0) {
            add(m.getPartitionKey(), payload, from, segment);
        }
        for (int i = 0; i < n; i++) {
            SingleMessageMetadata s = new SingleMessageMetadata();
            ByteBuf one = Commands.deSerializeSingleMessageInBatch(payload, s, i, n);
            add(s.getPartitionKey(), one, from, segment);
            one.release();
        }
        payload.release();
    }

    private void add(String key, ByteBuf value, String from, long segment) {
        String text = value.toString(StandardCharsets.UTF_8);
        messages.add(new Message(key, Integer.parseInt(text.substring(text.indexOf('#') + 1)), from, segment));
    }

    private static ByteBuf decode(MessageMetadata m, byte[] payload) throws Exception {
        ByteBuf in = Unpooled.wrappedBuffer(payload);
        return !m.hasCompression() || m.getCompression() == CompressionType.NONE ? in
                : CompressionCodecProvider.getCompressionCodec(m.getCompression()).decode(in, m.getUncompressedSize());
    }

    List<Message> all() {
        return messages;
    }

    /** Those that came from one cluster; empty = those published here. */
    List<Message> from(String cluster) {
        return messages.stream().filter(m -> m.from.equals(cluster)).toList();
    }

    int count(String from) {
        return from(from).size();
    }

    /** What one cluster's copy of another's messages lacks, has twice, or has in another order per key. */
    record Difference(Set<Integer> lost, int duplicates, List<String> disorder, int foreign) {
        static final Difference NONE = new Difference(Set.of(), 0, List.of(), 0);
    }

    /** Compares messages published at the source with what came from there. */
    static Difference compare(StoredMessages source, StoredMessages copy, String sourceCluster) {
        Map<String, List<Integer>> want = byKey(source.from(""));
        Map<String, List<Integer>> got = byKey(copy.from(sourceCluster));
        Set<Integer> lost = new TreeSet<>();
        List<String> disorder = new ArrayList<>();
        int duplicates = 0;
        int foreign = 0;
        for (Map.Entry<String, List<Integer>> e : want.entrySet()) {
            List<Integer> stored = got.getOrDefault(e.getKey(), List.of());
            // a client whose segment is sealed publishes again, so the source itself may have a message twice
            Map<Integer, Integer> more = new HashMap<>();
            stored.forEach(n -> more.merge(n, 1, Integer::sum));
            e.getValue().forEach(n -> more.merge(n, -1, Integer::sum));
            duplicates += more.values().stream().filter(n -> n > 0).mapToInt(n -> n).sum();
            List<Integer> first = stored.stream().distinct().toList();
            Set<Integer> seen = new HashSet<>(first);
            List<Integer> expected = e.getValue().stream().distinct().filter(seen::contains).toList();
            e.getValue().stream().filter(n -> !seen.contains(n)).forEach(lost::add);
            if (!first.equals(expected)) {
                disorder.add(e.getKey() + ": " + first + " instead of " + expected);
            }
        }
        for (String key : got.keySet()) {
            foreign += want.containsKey(key) ? 0 : 1;
        }
        return new Difference(lost, duplicates, disorder, foreign);
    }

    private static Map<String, List<Integer>> byKey(List<Message> messages) {
        Map<String, List<Integer>> m = new LinkedHashMap<>();
        messages.forEach(x -> m.computeIfAbsent(x.key, k -> new ArrayList<>()).add(x.number));
        return m;
    }
}
