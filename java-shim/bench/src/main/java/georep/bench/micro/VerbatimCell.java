// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import georep.nativelib.Actions;
import georep.nativelib.Placer;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.client.impl.SendFrame;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.apache.pulsar.common.protocol.ByteBufPair;

/**
 * Entries of one size and all ways to send them; made once in a JVM, and only if all make the same of each: payload,
 * replicated_from, source position and the producer's fields.
 */
final class VerbatimCell {
    static final int BATCH = 64;
    private static final Map<String, VerbatimCell> CELLS = new ConcurrentHashMap<>();

    final ByteBuf[] entries = new ByteBuf[BATCH];
    final ClassicPath classic = new ClassicPath();
    final WindowPath window;
    final PlacePath place = new PlacePath(BATCH);
    private final SendFrame frame = new SendFrame(1);
    private long sequence;

    private VerbatimCell(String payload) {
        int bytes = Shape.bytes(payload);
        for (int i = 0; i < BATCH; i++) {
            entries[i] = PublishedEntry.opaque(bytes, i);
        }
        window = new WindowPath(BATCH, 4L * BATCH * (bytes + 1024L));
        List<SentEntry> expected = new ArrayList<>();
        for (int i = 0; i < BATCH; i++) {
            ByteBuf copy = entries[i].duplicate(); // what the peer sends is read to its end
            expected.add(SentEntry.read(0, classic.send(copy, i), false));
        }
        List<SentEntry> viaWindow = new ArrayList<>();
        window.pass(entries, (index, actions, i, arena) ->
                viaWindow.add(SentEntry.read(actions.segment(i), frame(index, actions, i, arena), false)));
        List<SentEntry> viaPlace = new ArrayList<>();
        place.pass(entries, (i, placer, arena) ->
                viaPlace.add(SentEntry.read(placer.segment(i), frame(i, placer, arena), false)));
        if (!expected.equals(viaWindow) || !expected.equals(viaPlace)) {
            throw new IllegalStateException(payload + ": an entry is sent that is not the peer's");
        }
    }

    /** From "64KiB". */
    static VerbatimCell of(String payload) {
        return CELLS.computeIfAbsent(payload, VerbatimCell::new);
    }

    /** A send up to the SEND command, as the plugin makes it. */
    ByteBufPair frame(int index, Actions actions, int i, ByteBuf arena) {
        return frame(index, arena, actions.headerAddress(i), actions.headerLength(i),
                actions.payloadAddress(i) - entries[index].memoryAddress(), actions.payloadLength(i),
                actions.messages(i));
    }

    private ByteBufPair frame(int i, Placer placer, ByteBuf arena) {
        return frame(i, arena, placer.headerAddress(i), placer.headerLength(i),
                entries[i].readerIndex() + placer.payloadOffset(i), placer.payloadLength(i), placer.messages(i));
    }

    private ByteBufPair frame(int index, ByteBuf arena, long headerAddress, int headerLength, long payloadAt,
                              int payloadLength, int messages) {
        ByteBuf header = PulsarByteBufAllocator.DEFAULT.directBuffer(headerLength);
        header.writeBytes(arena, (int) (headerAddress - arena.memoryAddress()), headerLength);
        ByteBufPair wire = frame.of(sequence++, messages, header,
                entries[index].retainedSlice((int) payloadAt, payloadLength));
        header.release();
        return wire;
    }
}
