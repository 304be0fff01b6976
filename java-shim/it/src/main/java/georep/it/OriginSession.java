// SPDX-License-Identifier: Apache-2.0
package georep.it;

import com.scurrilous.circe.checksum.Crc32cIntChecksum;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.VerbatimProducer;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/**
 * Plays the source: a replication producer on one segment of a cluster, sending entries of an origin that does not
 * exist, with the positions that a test says.
 */
public final class OriginSession implements AutoCloseable, VerbatimProducer.Owner {
    /** The stream that a session sends. */
    public record Stream(String cluster, String instance, long segment, long generation) {
        /** JSON of georep.v1.OriginKey. */
        public String json() {
            return "{\"cluster\":\"" + cluster + "\",\"instance\":\"" + instance + "\",\"segment\":\"" + segment
                    + "\",\"generation\":\"" + generation + "\"}";
        }
    }

    private static final String POSITION = "__MSG_PROP_REPL_SOURCE_POSITION";
    private static final String ORIGIN = "__GEOREP_ORIGIN";

    private final String segmentTopic;
    private final Stream stream;
    private final VerbatimProducer producer;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, CompletableFuture<Outcome>> waiting = new ConcurrentHashMap<>();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();

    private OriginSession(PulsarClientImpl client, String segmentTopic, Stream stream) {
        this.segmentTopic = segmentTopic;
        this.stream = stream;
        this.producer = VerbatimProducer.open(client, segmentTopic,
                "pulsar.repl." + stream.cluster() + "." + stream.segment(), null, this);
    }

    /** Connects; fails as the broker answers. */
    public static OriginSession open(Cluster c, String segmentTopic, Stream stream) throws Exception {
        return open(c.internalClient(), segmentTopic, stream);
    }

    /** The same over the connections of another client. */
    public static OriginSession open(PulsarClientImpl client, String segmentTopic, Stream stream) throws Exception {
        OriginSession s = new OriginSession(client, segmentTopic, stream);
        s.producer.ready().get(20, TimeUnit.SECONDS);
        return s;
    }

    public String record(String position) {
        return "1|" + stream.cluster() + "|" + stream.instance() + "|" + stream.segment() + "|"
                + stream.generation() + "|" + position + "|" + segmentTopic;
    }

    /** Sends one entry whose source position is {@code ledger:entry} or {@code ledger:entry:part}. */
    public CompletableFuture<Outcome> sendAsync(String position, String text) {
        CompletableFuture<Outcome> f = queue(position, text, false);
        producer.flush();
        return f;
    }

    /** The same, but it leaves with the next one that is sent; a damaged one does not match its checksum. */
    public CompletableFuture<Outcome> queue(String position, String text, boolean damaged) {
        String[] p = position.split(":");
        MessageMetadata m = new MessageMetadata().setProducerName("app").setSequenceId(1_000_000)
                .setPublishTime(System.currentTimeMillis()).setReplicatedFrom(stream.cluster());
        m.addProperty().setKey(POSITION).setValue(position);
        m.addProperty().setKey(ORIGIN).setValue(record(position));
        m.setPartitionKey("k");
        ByteBuf payload = Unpooled.wrappedBuffer(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        long id = ids.incrementAndGet();
        CompletableFuture<Outcome> f = new CompletableFuture<>();
        waiting.put(id, f);
        ByteBuf header = header(m, payload);
        if (damaged) {
            header.setByte(2, ~header.getByte(2));
        }
        if (!producer.send(id, Long.parseLong(p[0]), Long.parseLong(p[1]), 1, header, payload)) {
            waiting.remove(id);
            f.completeExceptionally(new IllegalStateException("session is closed"));
        }
        return f;
    }

    public Outcome send(String position, String text) throws Exception {
        return sendAsync(position, text).get(20, TimeUnit.SECONDS);
    }

    /** [0x0e01][crc][size][metadata]. */
    static ByteBuf header(MessageMetadata m, ByteBuf payload) {
        ByteBuf h = Unpooled.buffer();
        h.writeShort(Commands.magicCrc32c).writeInt(0).writeInt(m.getSerializedSize());
        m.writeTo(h);
        int crc = Crc32cIntChecksum.computeChecksum(h.slice(6, h.readableBytes() - 6));
        h.setInt(2, Crc32cIntChecksum.resumeChecksum(crc, payload));
        return h;
    }

    /** From now on nothing that its connection sends arrives, and it answers nothing; to the other side it is open. */
    public void hang() {
        Channel c = producer.getClientCnx().ctx().channel();
        c.config().setAutoRead(false);
        c.pipeline().addFirst(new ChannelOutboundHandlerAdapter() {
            @Override
            public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
                ReferenceCountUtil.release(message);
            }
        });
    }

    @Override
    public void outcome(VerbatimProducer p, long sendId, Outcome outcome) {
        CompletableFuture<Outcome> f = waiting.remove(sendId);
        if (f != null) {
            f.complete(outcome);
        }
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
