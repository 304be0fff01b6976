// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import io.netty.buffer.ByteBuf;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;

/**
 * Output memory of one step of a window: headers and re-batched parts. One per worker thread; what a part still needs
 * after the step is kept by its reference count, and the next step then gets other memory.
 */
final class Arena {
    private static final int BYTES = 64 * 1024;
    private static final int KEEP_BYTES = 1024 * 1024;
    private static final ThreadLocal<Arena> LOCAL = ThreadLocal.withInitial(Arena::new);

    private ByteBuf buf;

    private Arena() {
    }

    /** The calling thread's own. */
    static Arena ofThread() {
        return LOCAL.get();
    }

    /** Makes memory ready that nobody else reads, of at least this many bytes. */
    void reserve(long bytes) {
        if (buf != null && (buf.refCnt() > 1 || buf.capacity() < bytes)) {
            buf.release();
            buf = null;
        }
        if (buf == null) {
            int size = Math.toIntExact(Math.max(BYTES, bytes));
            buf = PulsarByteBufAllocator.DEFAULT.directBuffer(size, size);
        }
    }

    /** Gives large memory back. */
    void shrink() {
        if (buf != null && (buf.capacity() > KEEP_BYTES || buf.refCnt() > 1)) {
            buf.release();
            buf = null;
        }
    }

    long address() {
        return buf.memoryAddress();
    }

    int capacity() {
        return buf.capacity();
    }

    boolean contains(long address) {
        return address >= buf.memoryAddress() && address < buf.memoryAddress() + buf.capacity();
    }

    void copyTo(ByteBuf out, long address, int length) {
        out.writeBytes(buf, (int) (address - buf.memoryAddress()), length);
    }

    /** A slice that stays valid until it is released. */
    ByteBuf retainedSlice(long address, int length) {
        return buf.retainedSlice((int) (address - buf.memoryAddress()), length);
    }
}
