// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.pulsar.client.impl.GeoReplicationProducerImpl;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodec;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.ByteBufPair;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.util.Hash;
import org.apache.pulsar.common.util.Murmur3_32Hash;

/**
 * The peer: how one would write it in a broker with Pulsar's classes, and with care. Metadata objects are used again,
 * buffers are pooled and direct, a message is parsed for its key alone and its bytes are copied once, as they are, and
 * a part's payload is not copied behind its header.
 */
final class PulsarCutter implements Cutter {
    private static final class Group {
        ByteBuf messages;
        int count;
        String firstKey;
        long lowest;
        long highest;
        int rank;
    }

    private final MessageMetadata metadata = new MessageMetadata();
    private final MessageMetadata part = new MessageMetadata();
    private final SingleMessageMetadata single = new SingleMessageMetadata();
    private final Hash hash = Murmur3_32Hash.getInstance();
    private final Group[] groups = new Group[Topology.SEGMENTS];

    PulsarCutter() {
        for (int i = 0; i < groups.length; i++) {
            groups[i] = new Group();
        }
    }

    @Override
    public void cut(ByteBuf entry, long entryId, Sink out) {
        int start = entry.readerIndex();
        try {
            verify(entry);
            Commands.parseMessageMetadata(entry, metadata);
            CompressionCodec codec = CompressionCodecProvider.getCompressionCodec(metadata.getCompression());
            ByteBuf batch = codec.decode(entry, metadata.getUncompressedSize());
            group(batch, metadata.getNumMessagesInBatch());
            batch.release();
            for (int i = 0; i < groups.length; i++) {
                if (groups[i].count > 0) {
                    out.part(i, finish(groups[i], codec, entryId));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            entry.readerIndex(start);
        }
    }

    /** Parts get checksums of their own, so a wrong one would be covered up here. */
    private static void verify(ByteBuf entry) throws IOException {
        if (Commands.hasChecksum(entry)) {
            int stored = Commands.readChecksum(entry);
            if (Crc32cIntChecksum.computeChecksum(entry) != stored) {
                throw new IOException("checksum");
            }
        }
    }

    private void group(ByteBuf batch, int messages) {
        int size = batch.readableBytes();
        for (int i = 0; i < messages; i++) {
            int from = batch.readerIndex();
            single.parseFrom(batch, (int) batch.readUnsignedInt());
            batch.skipBytes(single.getPayloadSize());
            String key = single.getPartitionKey();
            Group g = groups[Topology.segment(hash.makeHash(key.getBytes(UTF_8)) & 0xffff)];
            if (g.count == 0) {
                g.messages = PulsarByteBufAllocator.DEFAULT.directBuffer(size);
                g.firstKey = key;
                g.lowest = single.getSequenceId();
            }
            g.messages.writeBytes(batch, from, batch.readerIndex() - from);
            g.highest = single.getSequenceId();
            g.rank = g.count++;
        }
    }

    private ByteBufPair finish(Group g, CompressionCodec codec, long entryId) {
        int size = g.messages.readableBytes();
        ByteBuf payload = codec.encode(g.messages);
        g.messages.release();
        g.messages = null;
        part.clear();
        part.copyFrom(metadata);
        part.setReplicatedFrom(Topology.LOCAL).setSequenceId(g.lowest).setHighestSequenceId(g.highest)
                .setNumMessagesInBatch(g.count).setPartitionKey(g.firstKey);
        if (part.getCompression() != CompressionType.NONE) {
            part.setUncompressedSize(size);
        }
        part.clearTxnidMostBits().clearTxnidLeastBits();
        part.addProperty().setKey(GeoReplicationProducerImpl.MSG_PROP_REPL_SOURCE_POSITION)
                .setValue(Topology.LEDGER + ":" + entryId + ":" + g.rank);
        ByteBufPair wire = Commands.newSend(1, g.lowest, g.highest, g.count, Commands.ChecksumType.Crc32c, part,
                payload);
        g.count = 0;
        return wire;
    }
}
