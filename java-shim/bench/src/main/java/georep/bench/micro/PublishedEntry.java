// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodec;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.Commands;

/** Entries as a Java client publishes them, in direct memory as a broker reads them. */
final class PublishedEntry {
    private static final long SEQUENCE = 48_000;

    private PublishedEntry() { }

    /** A batch whose messages have keys of their own. */
    static ByteBuf batch(Shape shape, CompressionType codec, String content, long seed) {
        Bodies bodies = new Bodies(content, seed);
        ByteBuf batch = PulsarByteBufAllocator.DEFAULT.directBuffer(shape.messages() * (shape.messageBytes() + 64));
        for (int i = 0; i < shape.messages(); i++) {
            SingleMessageMetadata single = new SingleMessageMetadata().setPartitionKey(key(i))
                    .setSequenceId(SEQUENCE + i).setPayloadSize(shape.messageBytes());
            ByteBuf body = Unpooled.wrappedBuffer(bodies.next(shape.messageBytes()));
            Commands.serializeSingleMessageInBatchWithPayload(single, body, batch);
        }
        CompressionCodec c = CompressionCodecProvider.getCompressionCodec(codec);
        ByteBuf payload = c.encode(batch);
        MessageMetadata metadata = metadata(shape.messages());
        if (codec != CompressionType.NONE) {
            metadata.setCompression(codec).setUncompressedSize(batch.readableBytes());
        }
        batch.release();
        return entry(metadata, payload);
    }

    /** An entry of a payload of so many bytes that nobody opens. */
    static ByteBuf opaque(int payloadBytes, long seed) {
        ByteBuf payload = PulsarByteBufAllocator.DEFAULT.directBuffer(payloadBytes);
        payload.writeBytes(new Bodies("random", seed).next(payloadBytes));
        return entry(metadata(10), payload);
    }

    private static String key(int i) {
        return "customer-" + i * 7907L % 1_000_003; // such that ten reach all four segments
    }

    private static MessageMetadata metadata(int messages) {
        return new MessageMetadata().setProducerName("orders-eu-1-27").setSequenceId(SEQUENCE)
                .setPublishTime(1_764_470_000_123L).setPartitionKey(key(0)).setNumMessagesInBatch(messages)
                .setHighestSequenceId(SEQUENCE + messages - 1);
    }

    private static ByteBuf entry(MessageMetadata metadata, ByteBuf payload) {
        ByteBuf wire = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, metadata, payload);
        payload.release();
        return wire;
    }
}
