// SPDX-License-Identifier: Apache-2.0
package georep.it;

import georep.nativelib.Georep;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;

/** Publishes messages of {@link Publish} in batches with the stamps that PIP-486 clients write. */
final class StampedEntries {
    private final SourceRawProducer raw;
    private final String name;
    private final int keys;

    /** At most one of a name on a segment: a second one's numbers begin anew, and deduplication knows them. */
    StampedEntries(Cluster c, String segmentTopic, String name, int keys) throws Exception {
        this.raw = new SourceRawProducer(c, segmentTopic, name);
        this.name = name;
        this.keys = keys;
    }

    /** Publishes one entry, stamped with the smallest and the largest bucket hash of its keys. */
    void send(List<Integer> numbers) throws Exception {
        ByteBuf payload = Unpooled.buffer();
        for (int n : numbers) {
            byte[] value = Publish.text(n, keys).getBytes(StandardCharsets.UTF_8);
            SingleMessageMetadata s = new SingleMessageMetadata().setPartitionKey("k" + n % keys)
                    .setPayloadSize(value.length);
            payload.writeInt(s.getSerializedSize());
            s.writeTo(payload);
            payload.writeBytes(value);
        }
        MessageMetadata m = new MessageMetadata().setProducerName(name).setSequenceId(numbers.get(0))
                .setPublishTime(System.currentTimeMillis()).setPartitionKey("k" + numbers.get(0) % keys)
                .setNumMessagesInBatch(numbers.size());
        int[] low = numbers.stream().mapToInt(n -> low("k" + n % keys)).sorted().toArray();
        raw.send(m, SourceRawProducer.join(SourceRawProducer.field(33, low[0]),
                SourceRawProducer.field(34, low[low.length - 1])), payload);
    }

    /**
     * Publishes messages {@code from} to {@code to - 1}, in an order that keeps that of each key, and in batches as a
     * client makes them that knows these bucket starts: a key each at most, and no two buckets in one.
     */
    int send(int from, int to, List<Integer> starts) throws Exception {
        int entries = 0;
        for (int first = from; first < to; first += keys) {
            List<List<Integer>> batches = new ArrayList<>();
            IntStream.rangeClosed(0, starts.size()).forEach(i -> batches.add(new ArrayList<>()));
            for (int n = first; n < Math.min(first + keys, to); n++) {
                batches.get(bucket("k" + n % keys, starts)).add(n);
            }
            for (List<Integer> b : batches) {
                if (!b.isEmpty()) {
                    send(b);
                    entries++;
                }
            }
        }
        return entries;
    }

    static long hash(String key) {
        return Georep.keyHash(key.getBytes(StandardCharsets.UTF_8));
    }

    private static int low(String key) {
        return (int) (hash(key) & 0xffff);
    }

    static int bucket(String key, List<Integer> starts) {
        int low = low(key);
        return (int) starts.stream().filter(x -> x <= low).count();
    }
}
