// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;

/**
 * Output memory of one step of a window: headers and re-batched parts. One per worker thread; what a part still needs
 * after the step is kept by its reference count, and the next step then gets other memory.
 */
final class Arena {
    private static final int BYTES = 64 * 1024;
    private static final int KEEP_BYTES = 1024 * 1024;
    /** A worker that was idle for long ends; its memory is not the collector's, so it is given back then. */
    private static final FastThreadLocal<Arena> LOCAL = new FastThreadLocal<>() {
        @Override
        protected Arena initialValue() {
            return new Arena();
        }

        @Override
        protected void onRemoval(Arena a) {
            a.free();
        }
    };

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
            free();
        }
        if (buf == null) {
            int size = Math.toIntExact(Math.max(BYTES, bytes));
            buf = PulsarByteBufAllocator.DEFAULT.directBuffer(size, size);
        }
    }

    /** Gives large memory back. */
    void shrink() {
        if (buf != null && (buf.capacity() > KEEP_BYTES || buf.refCnt() > 1)) {
            free();
        }
    }

    private void free() {
        if (buf != null) {
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
