// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.common.api.proto.KeyValue;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.Commands;

/** Reads an entry with Pulsar's classes, in the order in which its consumer does. */
final class JavaReader {
    /** The core's cap in this test. Pulsar has none: it allocates what the entry declares. */
    static final int MAX_DECOMPRESSED = 4 << 20;

    private JavaReader() {}

    static Reading read(byte[] raw) {
        ByteBuf in = Unpooled.directBuffer(Math.max(1, raw.length), Math.max(1, raw.length)).writeBytes(raw);
        try {
            return read(in);
        } finally {
            in.release();
        }
    }

    private static Reading read(ByteBuf in) {
        byte[] declared = null;
        boolean valid = true;
        MessageMetadata metadata = new MessageMetadata();
        try {
            Commands.skipBrokerEntryMetadataIfExist(in);
            if (Commands.hasChecksum(in)) {
                ByteBuf copy = in.duplicate();
                valid = Commands.readChecksum(copy) == Crc32cIntChecksum.computeChecksum(copy);
            }
            ByteBuf peek = in.duplicate();
            Commands.skipChecksumIfPresent(peek);
            int size = peek.readInt();
            if (size >= 0 && size <= peek.readableBytes()) {
                declared = ByteBufUtil.getBytes(peek, peek.readerIndex(), size);
            }
            Commands.parseMessageMetadata(in, metadata);
            metadata.materialize();
        } catch (RuntimeException e) {
            return new Reading(Reading.Stage.METADATA, e.toString(), null, declared, valid, null, null, null, 0);
        }
        return payload(in, metadata, declared, valid);
    }

    private static Reading payload(ByteBuf in, MessageMetadata m, byte[] declared, boolean valid) {
        byte[] payload = ByteBufUtil.getBytes(in);
        int size = m.hasUncompressedSize() ? m.getUncompressedSize() : 0;
        if (m.getEncryptionKeysCount() > 0 || m.hasNumChunksFromMsg() && m.getNumChunksFromMsg() > 1) {
            return new Reading(Reading.Stage.DONE, "opaque", m, declared, valid, payload, null, List.of(), 0);
        }
        ByteBuf plain;
        try {
            if (size > MAX_DECOMPRESSED) {
                throw new IllegalArgumentException("not asked: " + size + " bytes");
            }
            plain = CompressionCodecProvider.getCompressionCodec(m.getCompression()).decode(in, size);
        } catch (Exception e) {
            return new Reading(Reading.Stage.PAYLOAD, e.toString(), m, declared, valid, payload, null, null, 0);
        }
        try {
            return messages(plain, m, declared, valid, payload);
        } finally {
            plain.release();
        }
    }

    private static Reading messages(ByteBuf plain, MessageMetadata m, byte[] declared, boolean valid, byte[] payload) {
        byte[] bytes = ByteBufUtil.getBytes(plain);
        List<Reading.Message> out = new ArrayList<>();
        if (!m.hasNumMessagesInBatch()) {
            out.add(single(m, bytes));
            return new Reading(Reading.Stage.DONE, "", m, declared, valid, payload, bytes, out, 0);
        }
        int n = m.getNumMessagesInBatch();
        SingleMessageMetadata s = new SingleMessageMetadata();
        try {
            for (int i = 0; i < n; i++) {
                ByteBuf body = Commands.deSerializeSingleMessageInBatch(plain, s, i, n);
                out.add(message(s, ByteBufUtil.getBytes(body)));
                body.release();
            }
        } catch (Exception e) {
            return new Reading(Reading.Stage.MESSAGES, e.toString(), m, declared, valid, payload, bytes, null, 0);
        }
        int left = n > 0 ? plain.readableBytes() : bytes.length;
        return new Reading(Reading.Stage.DONE, "", m, declared, valid, payload, bytes, out, left);
    }

    private static Reading.Message single(MessageMetadata m, byte[] body) {
        return new Reading.Message(m.hasPartitionKey() ? m.getPartitionKey() : null, m.isPartitionKeyB64Encoded(),
                m.hasOrderingKey() ? m.getOrderingKey() : null, properties(m.getPropertiesList()), body,
                m.hasEventTime() ? m.getEventTime() : null, m.getSequenceId(), m.isNullValue(),
                m.isNullPartitionKey(), false);
    }

    private static Reading.Message message(SingleMessageMetadata s, byte[] body) {
        return new Reading.Message(s.hasPartitionKey() ? s.getPartitionKey() : null, s.isPartitionKeyB64Encoded(),
                s.hasOrderingKey() ? s.getOrderingKey() : null, properties(s.getPropertiesList()), body,
                s.hasEventTime() ? s.getEventTime() : null, s.hasSequenceId() ? s.getSequenceId() : null,
                s.isNullValue(), s.isNullPartitionKey(), s.isCompactedOut());
    }

    static List<String> properties(List<KeyValue> list) {
        List<String> out = new ArrayList<>();
        for (KeyValue kv : list) {
            out.add(kv.getKey() + "=" + kv.getValue());
        }
        return out;
    }
}
