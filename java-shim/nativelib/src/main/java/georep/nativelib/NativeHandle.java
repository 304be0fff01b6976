// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Owner of one native handle. Closing is idempotent; any use after it throws IllegalStateException. The library itself
 * tells stale handles apart too, so a race between close and a call ends in a status, never in foreign memory.
 */
abstract class NativeHandle implements AutoCloseable {
    private final AtomicLong handle;

    NativeHandle(long handle) {
        this.handle = new AtomicLong(handle);
    }

    /** The live handle. */
    final long handle() {
        long h = handle.get();
        if (h == 0) {
            throw new IllegalStateException(getClass().getSimpleName() + " is closed");
        }
        return h;
    }

    /** Whether close has been called. */
    public final boolean isClosed() {
        return handle.get() == 0;
    }

    abstract int free(long handle);

    @Override
    public void close() {
        long h = handle.getAndSet(0);
        if (h != 0) {
            Scratch.check(free(h));
        }
    }
}
