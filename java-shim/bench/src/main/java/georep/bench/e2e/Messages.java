// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.Commands;

/**
 * Reads logs whose messages should be those of A, each key's in order, in whatever entries they are. A key must be in
 * one log only.
 */
final class Messages {
    /** What one key's messages are, and how many have been seen. */
    private static final class Sequence {
        final List<Integer> cycle;
        long seen;
        int log = -1;

        Sequence(List<Integer> cycle) {
            this.cycle = cycle;
        }
    }

    private final Corpus corpus;
    private final Map<String, Sequence> sequences = new HashMap<>();
    private final SingleMessageMetadata single = new SingleMessageMetadata();

    Messages(Corpus corpus) {
        this.corpus = corpus;
        for (int s = 0; s < Corpus.SEGMENTS; s++) {
            corpus.sequences(s, Corpus.CYCLE).forEach((k, v) -> sequences.put(k, new Sequence(v)));
        }
    }

    /** Throws where anything is missing in between, repeated, changed, or out of its order. */
    Messages read(List<PersistentTopic> logs) throws Exception {
        for (int i = 0; i < logs.size(); i++) {
            int log = i;
            LogReader.read(logs.get(i).getManagedLedger(), e -> entry(e, log));
        }
        return this;
    }

    private void entry(ByteBuf e, int log) {
        MessageMetadata m = Commands.parseMessageMetadata(e);
        try {
            ByteBuf all = m.getCompression() == CompressionType.NONE ? e.retain()
                    : CompressionCodecProvider.getCompressionCodec(m.getCompression())
                    .decode(e, m.getUncompressedSize());
            try {
                if (!m.hasNumMessagesInBatch()) { // a batch of one goes as a message
                    message(m.getPartitionKey(), Corpus.crc(all), log);
                    return;
                }
                for (int i = 0; i < m.getNumMessagesInBatch(); i++) {
                    ByteBuf value = Commands.deSerializeSingleMessageInBatch(all, single, i, m.getNumMessagesInBatch());
                    message(single.getPartitionKey(), Corpus.crc(value), log);
                    value.release();
                }
            } finally {
                all.release();
            }
        } catch (IOException x) {
            throw new UncheckedIOException(x);
        }
    }

    private void message(String key, int crc, int log) {
        Sequence s = sequences.get(key);
        if (s == null || s.log != -1 && s.log != log
                || crc != s.cycle.get((int) (s.seen % s.cycle.size()))) {
            throw new IllegalStateException("log " + log + ": message " + (s == null ? "?" : s.seen) + " of key " + key
                    + " is not the one that A has there");
        }
        s.log = log;
        s.seen++;
    }

    /** Throws unless every key has all its messages of so many batches of each segment. */
    void assertAll(long batches) {
        for (int segment = 0; segment < Corpus.SEGMENTS; segment++) {
            Map<String, List<Integer>> rest = corpus.sequences(segment, (int) (batches % Corpus.CYCLE));
            corpus.sequences(segment, Corpus.CYCLE).forEach((key, cycle) -> {
                long want = batches / Corpus.CYCLE * cycle.size() + rest.getOrDefault(key, List.of()).size();
                if (sequences.get(key).seen != want) {
                    throw new IllegalStateException("key " + key + " has " + sequences.get(key).seen + " messages, "
                            + want + " were published");
                }
            });
        }
    }

    /** So many messages were read. */
    long count() {
        return sequences.values().stream().mapToLong(s -> s.seen).sum();
    }
}
