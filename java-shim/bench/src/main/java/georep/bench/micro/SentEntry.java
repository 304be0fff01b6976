// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.client.impl.GeoReplicationProducerImpl;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.KeyValue;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.ByteBufPair;
import org.apache.pulsar.common.protocol.Commands;

/**
 * What was sent, read by Pulsar's classes as the other cluster's broker and its consumers would.
 *
 * @param segment      where it goes
 * @param messages     the batch's messages as bytes, in order; empty where the payload is not to be opened
 * @param payload      as it travels
 * @param headMetadata what both sides have to agree on
 */
record SentEntry(long segment, List<String> messages, ByteBuf payload, String headMetadata) {
    /** Reads and releases a SEND command. */
    static SentEntry read(long segment, ByteBufPair wire, boolean open) {
        ByteBuf all = ByteBufPair.coalesce(wire);
        check(all.readInt() == all.readableBytes(), "frame size");
        all.skipBytes(all.readInt());
        check(Commands.hasChecksum(all), "no checksum");
        int stored = Commands.readChecksum(all);
        check(Crc32cIntChecksum.computeChecksum(all) == stored, "checksum");
        MessageMetadata m = Commands.parseMessageMetadata(all);
        return new SentEntry(segment, open ? messages(m, all) : List.of(), all, describe(m, open));
    }

    private static List<String> messages(MessageMetadata m, ByteBuf payload) {
        try {
            ByteBuf batch = CompressionCodecProvider.getCompressionCodec(m.getCompression())
                    .decode(payload.duplicate(), m.getUncompressedSize());
            check(m.getCompression() == CompressionType.NONE || batch.readableBytes() == m.getUncompressedSize(),
                    "uncompressed size");
            List<String> messages = new ArrayList<>();
            SingleMessageMetadata single = new SingleMessageMetadata();
            while (batch.isReadable()) {
                int from = batch.readerIndex();
                single.parseFrom(batch, (int) batch.readUnsignedInt());
                batch.skipBytes(single.getPayloadSize());
                messages.add(ByteBufUtil.hexDump(batch, from, batch.readerIndex() - from));
            }
            check(messages.size() == m.getNumMessagesInBatch(), "number of messages");
            return messages;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String describe(MessageMetadata m, boolean part) {
        StringBuilder s = new StringBuilder();
        for (KeyValue p : m.getPropertiesList()) {
            if (p.getKey().equals(GeoReplicationProducerImpl.MSG_PROP_REPL_SOURCE_POSITION)) {
                s.append(p.getValue()).append(' ');
            }
        }
        return s.append(m.getReplicatedFrom()).append(' ').append(m.getProducerName()).append(' ')
                .append(m.getPartitionKey()).append(' ').append(m.getPublishTime()).append(' ')
                .append(m.getSequenceId()).append('-').append(m.getHighestSequenceId()).append(' ')
                .append(m.getCompression()).append(' ').append(m.getNumMessagesInBatch())
                .append(part ? " " + m.getUncompressedSize() : "").toString();
    }

    private static void check(boolean ok, String what) {
        if (!ok) {
            throw new IllegalStateException(what + " is wrong");
        }
    }
}
