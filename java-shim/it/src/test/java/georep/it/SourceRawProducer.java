// SPDX-License-Identifier: Apache-2.0
package georep.it;

import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/** An application that publishes metadata bytes as they are, unknown fields included. */
final class SourceRawProducer {
    private final Topic segment;
    private final String name;
    private long next;

    SourceRawProducer(Cluster c, String segmentTopic, String name) throws Exception {
        this.segment = c.segment(segmentTopic);
        this.name = name;
    }

    /** Publishes [metadata + extra bytes | payload]; returns when it is stored. */
    void send(MessageMetadata m, byte[] extra, ByteBuf payload) throws Exception {
        ByteBuf e = Unpooled.buffer();
        e.writeShort(Commands.magicCrc32c).writeInt(0).writeInt(m.getSerializedSize() + extra.length);
        m.writeTo(e);
        e.writeBytes(extra).writeBytes(payload);
        e.setInt(2, Crc32cIntChecksum.computeChecksum(e.slice(6, e.readableBytes() - 6)));
        send(e);
    }

    /** Publishes bytes as they are. */
    void send(ByteBuf e) throws Exception {
        CompletableFuture<Void> stored = new CompletableFuture<>();
        long sequence = next++;
        segment.publishMessage(e, new Topic.PublishContext() {
            @Override
            public String getProducerName() {
                return name;
            }

            @Override
            public long getSequenceId() {
                return sequence;
            }

            @Override
            public void completed(Exception failure, long ledgerId, long entryId) {
                if (failure == null) {
                    stored.complete(null);
                } else {
                    stored.completeExceptionally(failure);
                }
            }
        });
        stored.get(20, TimeUnit.SECONDS);
    }

    /** A varint field of protobuf. */
    static byte[] field(int number, long value) {
        ByteBuf b = Unpooled.buffer();
        varint(b, (long) number << 3);
        varint(b, value);
        byte[] out = new byte[b.readableBytes()];
        b.readBytes(out);
        return out;
    }

    private static void varint(ByteBuf b, long v) {
        while ((v & ~0x7fL) != 0) {
            b.writeByte((int) (v & 0x7f | 0x80));
            v >>>= 7;
        }
        b.writeByte((int) v);
    }

    static byte[] join(byte[]... parts) {
        ByteBuf b = Unpooled.buffer();
        for (byte[] p : parts) {
            b.writeBytes(p);
        }
        byte[] out = new byte[b.readableBytes()];
        b.readBytes(out);
        return out;
    }
}
