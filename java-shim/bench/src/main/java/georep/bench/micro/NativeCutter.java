// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import georep.nativelib.Layout;
import georep.nativelib.Rebatcher;
import io.netty.buffer.ByteBuf;
import org.apache.pulsar.client.impl.SendFrame;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;

/** Ours: one call into the library, whose parts are sent from the arena that it wrote them to. */
final class NativeCutter implements Cutter {
    private final Layout destination = Topology.destination();
    private final Rebatcher rebatcher = new Rebatcher(Topology.whole(), true);
    private final SendFrame frame = new SendFrame(1);
    private long sequence;
    private int room = 64 * 1024;

    @Override
    public void cut(ByteBuf entry, long entryId, Sink out) {
        ByteBuf arena = PulsarByteBufAllocator.DEFAULT.directBuffer(room, room);
        int n = cut(entry, entryId, arena);
        if (rebatcher.needed() > room) {
            arena.release();
            room = Math.toIntExact(rebatcher.needed() * 9 / 8); // as a driver does that has seen larger ones
            arena = PulsarByteBufAllocator.DEFAULT.directBuffer(room, room);
            n = cut(entry, entryId, arena);
        }
        long base = arena.memoryAddress();
        for (int i = 0; i < n; i++) {
            int at = (int) (rebatcher.address(i) - base);
            int headerLength = rebatcher.headerLength(i);
            ByteBuf header = PulsarByteBufAllocator.DEFAULT.directBuffer(headerLength);
            header.writeBytes(arena, at, headerLength);
            ByteBuf payload = arena.retainedSlice(at + headerLength, rebatcher.payloadLength(i));
            out.part(rebatcher.segment(i), frame.of(sequence++, rebatcher.messages(i), header, payload));
            header.release();
        }
        arena.release();
    }

    private int cut(ByteBuf entry, long entryId, ByteBuf arena) {
        return rebatcher.cut(destination, entry.memoryAddress() + entry.readerIndex(), entry.readableBytes(),
                Topology.LEDGER, entryId, arena.memoryAddress(), room);
    }
}
