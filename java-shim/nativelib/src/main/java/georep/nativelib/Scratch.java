// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Out-parameters and the error struct of one caller, in direct memory; not thread-safe. Layout: 64 bytes of results,
 * then georep_error.
 */
final class Scratch {
    static final int RESULTS = 64;
    private static final int ERROR_BYTES = 512;
    private static final int TEXT_AT = 8;
    private static final ThreadLocal<Scratch> LOCAL = ThreadLocal.withInitial(Scratch::new);

    final ByteBuffer mem = direct(RESULTS + ERROR_BYTES);
    final long addr = Native.address(mem);
    final long err = addr + RESULTS;

    Scratch() {
        mem.putInt(RESULTS, ERROR_BYTES);
    }

    /** The calling thread's own. */
    static Scratch local() {
        return LOCAL.get();
    }

    static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    static ByteBuffer direct(byte[] bytes) {
        ByteBuffer b = direct(Math.max(1, bytes.length));
        b.put(0, bytes);
        return b;
    }

    long at(int offset) {
        return addr + offset;
    }

    long getLong(int offset) {
        return mem.getLong(offset);
    }

    int getInt(int offset) {
        return mem.getInt(offset);
    }

    /** Throws unless status is OK, with the text that the library left in this error struct. */
    void throwUnlessOk(int status) {
        if (status != Status.OK) {
            throw error(status);
        }
    }

    StatusException error(int status) {
        int n = 0;
        while (n < ERROR_BYTES - TEXT_AT - 1 && mem.get(RESULTS + TEXT_AT + n) != 0) {
            n++;
        }
        byte[] text = new byte[n];
        mem.get(RESULTS + TEXT_AT, text);
        mem.put(RESULTS + TEXT_AT, (byte) 0); // not to be shown again for a call that leaves no text
        return new StatusException(status, new String(text, StandardCharsets.UTF_8));
    }

    /** For calls without an error struct. */
    static void check(int status) {
        if (status != Status.OK) {
            throw new StatusException(status, null);
        }
    }

    /** A native call that reads the bytes at an address. */
    @FunctionalInterface
    interface Reader {
        int read(long address, int len);
    }

    /**
     * Runs a call on a copy of bytes in direct memory. The fence keeps the copy until the call has returned: to the
     * compiler an address is no use of a buffer.
     */
    static int with(byte[] bytes, Reader r) {
        ByteBuffer b = direct(bytes);
        try {
            return r.read(Native.address(b), bytes.length);
        } finally {
            Reference.reachabilityFence(b);
        }
    }

    /** A native call that writes bytes of a size known only to it: (out, cap, lenOut, err) to status. */
    @FunctionalInterface
    interface Writer {
        int write(long out, long cap, long lenOut, long err);
    }

    /** Runs a writer with memory that grows until the result fits. */
    byte[] bytes(int firstCap, Writer w) {
        int cap = firstCap;
        while (true) {
            ByteBuffer out = direct(cap);
            int s = w.write(Native.address(out), cap, addr, err);
            long len = mem.getLong(0);
            if (s == Status.SPACE && len > cap && len <= Integer.MAX_VALUE) {
                cap = (int) len;
                continue;
            }
            throwUnlessOk(s);
            byte[] b = new byte[(int) len];
            out.get(0, b);
            return b;
        }
    }
}
