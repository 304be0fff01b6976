// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import georep.nativelib.Layout;
import georep.nativelib.Placement;
import georep.nativelib.Placer;
import io.netty.buffer.ByteBuf;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;

/** Ours without a window: fit check and header splice alone. */
final class PlacePath {
    private static final int ARENA_BYTES = 64 * 1024;

    /** Takes the placed entries; addresses are good during the call. */
    @FunctionalInterface
    interface Sink {
        void placed(int index, Placer placer, ByteBuf arena);
    }

    private final Layout destination = Topology.destination();
    private final Placer placer;
    private final ByteBuf arena = PulsarByteBufAllocator.DEFAULT.directBuffer(ARENA_BYTES, ARENA_BYTES);
    private long next;

    PlacePath(int batch) {
        placer = new Placer(Topology.fitting(), batch);
    }

    /** Entry id of the next batch's first entry. */
    long next() {
        return next;
    }

    void pass(ByteBuf[] entries, Sink sink) {
        for (ByteBuf b : entries) {
            placer.add(b.memoryAddress() + b.readerIndex(), b.readableBytes(), 0, Topology.LEDGER, next++);
        }
        int n = placer.place(destination, arena.memoryAddress(), ARENA_BYTES);
        for (int i = 0; i < n; i++) {
            if (placer.action(i) != Placement.VERBATIM || placer.segment(i) != 0) {
                throw new IllegalStateException("action " + placer.action(i) + " to segment " + placer.segment(i));
            }
            sink.placed(i, placer, arena);
        }
    }
}
