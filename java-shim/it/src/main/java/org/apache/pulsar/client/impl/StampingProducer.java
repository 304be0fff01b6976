// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.client.impl;

import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.ByteBufPair;

/**
 * A producer as PIP-486 has it, on a client that does not know the stamps: each batch carries, as metadata fields that
 * this client version cannot name, the smallest and largest bucket hash of its keys, or whatever fields a test invents.
 */
public final class StampingProducer extends ProducerImpl<byte[]> {
    public static final int HASH_MIN = 33;
    public static final int HASH_MAX = 34;

    /** Says what to append to an entry's metadata: field numbers and values, alternately; varints. */
    @FunctionalInterface
    public interface Stamp {
        long[] of(MessageMetadata metadata);
    }

    private final Stamp stamp;

    private StampingProducer(PulsarClientImpl client, String topic, ProducerConfigurationData conf,
                             CompletableFuture<Producer<byte[]>> created, Stamp stamp) {
        super(client, topic, conf, created, -1, Schema.BYTES, null, Optional.empty());
        this.stamp = stamp;
    }

    /** A producer on one segment. {@code conf} names the topic. */
    public static CompletableFuture<StampingProducer> create(PulsarClientImpl client, ProducerConfigurationData conf,
                                                             Stamp stamp) {
        CompletableFuture<Producer<byte[]>> f = new CompletableFuture<>();
        StampingProducer p = new StampingProducer(client, conf.getTopicName(), conf, f, stamp);
        return f.thenApply(x -> p);
    }

    @Override
    protected ByteBufPair sendMessage(long producerId, long lowestSequenceId, long highestSequenceId, int messages,
                                      MessageMetadata m, ByteBuf payload) {
        return stamped(super.sendMessage(producerId, lowestSequenceId, highestSequenceId, messages, m, payload), m,
                payload);
    }

    @Override
    protected ByteBufPair sendMessage(long producerId, long sequenceId, int messages, MessageId id, MessageMetadata m,
                                      ByteBuf payload) {
        return stamped(super.sendMessage(producerId, sequenceId, messages, id, m, payload), m, payload);
    }

    // [total][command size][command][0x0e01][crc][metadata size][metadata] | payload
    private ByteBufPair stamped(ByteBufPair wire, MessageMetadata m, ByteBuf payload) {
        ByteBuf header = wire.getFirst();
        int sizeAt = 8 + header.getInt(4) + 6;
        ByteBuf out = Unpooled.buffer(header.readableBytes() + 64);
        out.writeBytes(header, 0, header.readableBytes());
        int before = out.readableBytes();
        long[] fields = stamp.of(m);
        for (int i = 0; i < fields.length; i += 2) {
            varint(out, fields[i] << 3);
            varint(out, fields[i + 1]);
        }
        int added = out.readableBytes() - before;
        out.setInt(0, header.getInt(0) + added);
        out.setInt(sizeAt, header.getInt(sizeAt) + added);
        int crc = Crc32cIntChecksum.computeChecksum(out.slice(sizeAt, out.writerIndex() - sizeAt));
        out.setInt(sizeAt - 4, Crc32cIntChecksum.resumeChecksum(crc, payload));
        header.release();
        return ByteBufPair.get(out, payload);
    }

    private static void varint(ByteBuf b, long v) {
        long rest = v;
        while ((rest & ~0x7fL) != 0) {
            b.writeByte((int) (rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        b.writeByte((int) rest);
    }
}
