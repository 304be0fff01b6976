// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import georep.it.Cluster;
import georep.it.SegmentLog;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.function.LongPredicate;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.Commands;

/** Reads what a cluster has stored of a topic, by the broker's own classes: parents before children. */
final class StoredMessages {
    /** What was read. */
    record Part(Sequences messages, long entries, long bytes) {
    }

    private StoredMessages() {
    }

    static Sequences read(Cluster c, String topic) throws Exception {
        return read(c, topic, ledger -> true).messages();
    }

    /** Reads all and keeps what lies in some of the ledgers. */
    static Part read(Cluster c, String topic, LongPredicate ledgers) throws Exception {
        Sequences all = new Sequences();
        long entries = 0;
        long bytes = 0;
        for (String segment : SegmentLog.segments(c, topic)) {
            ManagedLedger log = c.segment(segment).getManagedLedger();
            ManagedCursor cursor = log.newNonDurableCursor(PositionFactory.EARLIEST);
            try {
                while (cursor.hasMoreEntries()) {
                    List<Entry> some = cursor.readEntries(100);
                    try {
                        for (Entry e : some) {
                            if (ledgers.test(e.getLedgerId())) {
                                entries++;
                                bytes += e.getLength();
                                entry(e.getDataBuffer(), all);
                            }
                        }
                    } finally {
                        some.forEach(Entry::release);
                    }
                }
            } finally {
                log.deleteCursor(cursor.getName());
            }
        }
        return new Part(all, entries, bytes);
    }

    /** Adds what is in an entry; reads the buffer up. */
    static void entry(ByteBuf b, Sequences into) throws Exception {
        MessageMetadata m = Commands.parseMessageMetadata(b);
        if (!m.hasNumMessagesInBatch()) {
            ByteBuf body = CompressionCodecProvider.getCompressionCodec(m.getCompression())
                    .decode(b, m.getUncompressedSize());
            into.add(m.hasPartitionKey() ? m.getPartitionKey() : "", number(body));
            body.release();
            return;
        }
        int size = m.hasUncompressedSize() ? m.getUncompressedSize() : b.readableBytes();
        ByteBuf batch = CompressionCodecProvider.getCompressionCodec(m.getCompression()).decode(b, size);
        SingleMessageMetadata s = new SingleMessageMetadata();
        int n = m.getNumMessagesInBatch();
        for (int i = 0; i < n; i++) {
            ByteBuf body = Commands.deSerializeSingleMessageInBatch(batch, s, i, n);
            into.add(s.hasPartitionKey() ? s.getPartitionKey() : "", number(body));
            body.release();
        }
        batch.release();
    }

    private static int number(ByteBuf body) {
        return body.getInt(body.readerIndex());
    }
}
