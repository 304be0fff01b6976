// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;

/**
 * Output memory of one step of a window: headers and re-batched parts. One per worker thread. Parts that fill most of
 * it keep it by its reference count, and the next step then gets other memory; few bytes in a large one are copied, so
 * that what is in flight never holds more than twice its size.
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
    private boolean mostlyUsed;

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

    ByteBuf memory() {
        return buf;
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

    /** How many bytes of it the step has filled. */
    void filled(long bytes) {
        mostlyUsed = bytes * 2 >= buf.capacity();
    }

    /** Bytes of a part, valid until they are released. */
    ByteBuf part(long address, int length) {
        int from = (int) (address - buf.memoryAddress());
        if (mostlyUsed) {
            return buf.retainedSlice(from, length);
        }
        return PulsarByteBufAllocator.DEFAULT.directBuffer(length, length).writeBytes(buf, from, length);
    }
}
