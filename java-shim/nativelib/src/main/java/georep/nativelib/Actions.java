// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.nio.ByteBuffer;

/**
 * The actions of a window's last step, read by index: a view of the georep_action array that the library filled. Which
 * of them are set depends on the kind, see georep.h. Not thread-safe.
 */
public final class Actions {
    public static final int SEND = 1;
    public static final int DELETE = 2;
    public static final int RELEASE = 3;
    public static final int ASK_BUDGET = 4;
    public static final int RETURN_BUDGET = 5;
    public static final int ASK_WATERMARK = 6;
    public static final int ASK_SCHEMA = 7;
    public static final int CLOSE_PRODUCER = 8;
    public static final int PARKED = 9;
    public static final int LAPSE = 10;

    private static final int STRIDE = 96;

    private final ByteBuffer buffer;
    private final long address;
    private final int capacity;
    private int count;

    Actions(int capacity) {
        this.capacity = capacity;
        this.buffer = Scratch.direct(capacity * STRIDE);
        this.address = Native.address(buffer);
    }

    long address() {
        return address;
    }

    int capacity() {
        return capacity;
    }

    boolean isFull() {
        return count == capacity;
    }

    /** Of the last step. */
    public int count() {
        return count;
    }

    void filled(int n) {
        count = n;
    }

    private int slot(int i) {
        return Window.slot(i, count, STRIDE);
    }

    public int kind(int i) {
        return buffer.getInt(slot(i));
    }

    /** SEND: the way it took, as {@link Placement} numbers it. */
    public int path(int i) {
        return buffer.getInt(slot(i) + 4);
    }

    public int reason(int i) {
        return buffer.getInt(slot(i) + 8);
    }

    public int bucket(int i) {
        return buffer.getInt(slot(i) + 12);
    }

    public long sendId(int i) {
        return buffer.getLong(slot(i) + 16);
    }

    public long segment(int i) {
        return buffer.getLong(slot(i) + 24);
    }

    public long ledger(int i) {
        return buffer.getLong(slot(i) + 32);
    }

    public long entry(int i) {
        return buffer.getLong(slot(i) + 40);
    }

    public long part(int i) {
        return buffer.getLong(slot(i) + 48);
    }

    public long headerAddress(int i) {
        return buffer.getLong(slot(i) + 56);
    }

    public long payloadAddress(int i) {
        return buffer.getLong(slot(i) + 64);
    }

    public int headerLength(int i) {
        return buffer.getInt(slot(i) + 72);
    }

    public int payloadLength(int i) {
        return buffer.getInt(slot(i) + 76);
    }

    public long bytes(int i) {
        return buffer.getLong(slot(i) + 80);
    }

    /** PARKED: whether later entries go on past it. */
    public boolean passed(int i) {
        return bytes(i) != 0;
    }

    public int messages(int i) {
        return buffer.getInt(slot(i) + 88);
    }

    /** ASK_SCHEMA: a copy of the local schema version. */
    public byte[] version(int i) {
        byte[] v = new byte[payloadLength(i)];
        if (v.length > 0) {
            Native.view(payloadAddress(i), v.length).get(v);
        }
        return v;
    }
}
