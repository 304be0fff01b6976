// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/**
 * The corpus as Pulsar's client packs it with one codec: published once, read from the log, kept. A backlog is made of
 * these bytes, so that making it takes no codec's time.
 */
final class Entries {
    final CompressionType codec;
    final Corpus corpus;
    private final List<List<ByteBuf>> entries = new ArrayList<>();
    private final int[][] payloadCrc = new int[Corpus.SEGMENTS][Corpus.CYCLE];
    private long bytes;

    Entries(Pair pair, Corpus corpus, CompressionType codec) throws Exception {
        this.codec = codec;
        this.corpus = corpus;
        String topic = "persistent://" + Pair.PLAIN + "/corpus-" + codec;
        pair.a.admin().topics().createPartitionedTopic(topic, Corpus.SEGMENTS);
        List<PersistentTopic> logs = Pair.load(pair.a, Pair.partitions(topic));
        try (PulsarClient client = Pair.client(pair.a)) {
            for (int s = 0; s < Corpus.SEGMENTS; s++) {
                publish(client, logs.get(s).getName(), s);
                read(logs.get(s), s);
            }
        }
        pair.a.admin().topics().deletePartitionedTopic(topic, true);
    }

    private void publish(PulsarClient client, String topic, int segment) throws Exception {
        try (Producer<byte[]> p = client.newProducer().topic(topic).compressionType(codec).enableBatching(true)
                .batchingMaxMessages(Corpus.BATCH).batchingMaxBytes(4 << 20)
                .batchingMaxPublishDelay(10, TimeUnit.SECONDS).blockIfQueueFull(true)
                .maxPendingMessages(4 * Corpus.BATCH).create()) {
            for (int i = 0; i < Corpus.CYCLE; i++) {
                for (Corpus.Message m : corpus.batch(segment, i)) {
                    p.newMessage().key(m.key()).value(m.value()).sendAsync();
                }
            }
            p.flush();
        }
    }

    private void read(PersistentTopic log, int segment) throws Exception {
        List<ByteBuf> all = new ArrayList<>();
        LogReader.read(log.getManagedLedger(), e -> all.add(Unpooled.directBuffer(e.readableBytes()).writeBytes(e)));
        if (all.size() != Corpus.CYCLE) {
            throw new IllegalStateException("the client made " + all.size() + " batches of " + Corpus.CYCLE);
        }
        for (int i = 0; i < all.size(); i++) {
            ByteBuf payload = all.get(i).duplicate();
            MessageMetadata m = Commands.parseMessageMetadata(payload);
            if (m.getNumMessagesInBatch() != Corpus.BATCH) {
                throw new IllegalStateException("a batch of " + m.getNumMessagesInBatch());
            }
            payloadCrc[segment][i] = Corpus.crc(payload);
            bytes += all.get(i).readableBytes();
        }
        entries.add(all);
    }

    /** One entry, to be released by the caller. */
    ByteBuf entry(int segment, long number) {
        return entries.get(segment).get((int) (number % Corpus.CYCLE)).retainedDuplicate();
    }

    /** Checksum of an entry's payload, as it is: compressed. */
    int payloadCrc(int segment, long number) {
        return payloadCrc[segment][(int) (number % Corpus.CYCLE)];
    }

    /** Bytes of an entry, on average. */
    long meanBytes() {
        return bytes / (Corpus.SEGMENTS * Corpus.CYCLE);
    }

    /** Raw bytes of a segment's next entries, all segments together. */
    static long raw(long batchesPerSegment) {
        return Corpus.SEGMENTS * batchesPerSegment * Corpus.RAW;
    }
}
