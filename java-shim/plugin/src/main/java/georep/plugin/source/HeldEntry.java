// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import io.netty.buffer.ByteBuf;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;

/** An entry that a window has borrowed: its memory has an address that stays until the window releases it. */
final class HeldEntry {
    final SegmentSession.Offer offer;
    final ByteBuf data;
    final long address;
    final int length;
    int index;
    boolean released;
    private final ByteBuf copy;

    HeldEntry(SegmentSession.Offer offer) {
        this.offer = offer;
        ByteBuf b = offer.entry().getDataBuffer();
        length = b.readableBytes();
        if (b.hasMemoryAddress()) {
            copy = null;
            data = b;
        } else { // heap or composite
            copy = PulsarByteBufAllocator.DEFAULT.directBuffer(Math.max(1, length));
            copy.writeBytes(b, b.readerIndex(), length);
            data = copy;
        }
        address = data.memoryAddress() + data.readerIndex();
    }

    /** A slice that stays valid until it is released, whatever becomes of the entry. */
    ByteBuf retainedSlice(long from, int bytes) {
        return data.retainedSlice(data.readerIndex() + (int) (from - address), bytes);
    }

    /** Gives back what this object allocated; the entry itself is its reader's. */
    void free() {
        if (copy != null) {
            copy.release();
        }
    }
}
