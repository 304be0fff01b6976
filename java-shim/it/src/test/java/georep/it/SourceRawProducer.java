// SPDX-License-Identifier: Apache-2.0
package georep.it;

import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.impl.VerbatimProducer;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/** An ordinary application producer that publishes metadata bytes as they are, unknown fields included. */
final class SourceRawProducer implements AutoCloseable, VerbatimProducer.Owner {
    private final VerbatimProducer producer;
    private final Map<Long, CompletableFuture<Outcome>> waiting = new ConcurrentHashMap<>();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private long next;

    SourceRawProducer(Cluster c, String segmentTopic, String name) throws Exception {
        producer = VerbatimProducer.open(c.internalClient(), segmentTopic, name, null, this);
        producer.ready().get(20, TimeUnit.SECONDS);
    }

    /** Publishes [metadata + extra bytes | payload]; returns when it is stored. */
    void send(MessageMetadata m, byte[] extra, ByteBuf payload) throws Exception {
        ByteBuf h = Unpooled.buffer();
        h.writeShort(Commands.magicCrc32c).writeInt(0).writeInt(m.getSerializedSize() + extra.length);
        m.writeTo(h);
        h.writeBytes(extra);
        int crc = Crc32cIntChecksum.computeChecksum(h.slice(6, h.readableBytes() - 6));
        h.setInt(2, Crc32cIntChecksum.resumeChecksum(crc, payload));
        long sequence = next++;
        CompletableFuture<Outcome> f = new CompletableFuture<>();
        waiting.put(sequence, f);
        // the receipt of an ordinary producer names (sequence id, highest sequence id)
        producer.send(sequence, sequence, 0, Math.max(1, m.getNumMessagesInBatch()), h, payload);
        producer.flush();
        Outcome o = f.get(20, TimeUnit.SECONDS);
        if (o != Outcome.ACKED) {
            throw new IllegalStateException("not stored: " + o);
        }
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

    @Override
    public void outcome(VerbatimProducer p, long sendId, Outcome outcome) {
        waiting.remove(sendId).complete(outcome);
    }

    @Override
    public void sealed(VerbatimProducer p) {
        // outcomes follow
    }

    @Override
    public void closed(VerbatimProducer p) {
        closed.complete(null);
    }

    @Override
    public void close() throws Exception {
        producer.shutdown();
        closed.get(20, TimeUnit.SECONDS);
    }
}
