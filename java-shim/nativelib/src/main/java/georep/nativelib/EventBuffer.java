// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.nio.ByteBuffer;

/**
 * The georep_event array of a window's next step, in direct memory that grows. An event is begun, and its fields are
 * set one by one; nothing is allocated once the memory has its size. Not thread-safe.
 */
final class EventBuffer {
    static final int OFFER = 1;
    static final int OUTCOME = 2;
    static final int SEALED = 3;
    static final int WATERMARK = 4;
    static final int GRANTED = 5;
    static final int SCHEMA_MAPPED = 6;
    static final int SCHEMA_FAILED = 7;
    static final int DELETED = 8;
    static final int DELETE_FAILED = 9;
    static final int SKIP = 10;
    static final int PAUSE = 11;
    static final int GATE = 12;
    static final int TICK = 13;
    static final int BLOCK = 14;
    static final int CURSOR = 16;
    static final int SOURCE_ENDED = 15;

    private static final int STRIDE = 96;
    private static final int FIRST = 64;

    private ByteBuffer events = Scratch.direct(FIRST * STRIDE);
    private int count;
    private int applied;
    private int at; // of the event that is being filled
    private ByteBuffer versions = Scratch.direct(256); // schema versions that the events name
    private int versionsUsed;

    /** Begins an event; the calls that follow fill it. */
    EventBuffer begin(int kind) {
        if ((count + 1) * STRIDE > events.capacity()) {
            ByteBuffer bigger = Scratch.direct(events.capacity() * 2);
            bigger.put(0, events, 0, count * STRIDE);
            events = bigger;
        }
        at = count++ * STRIDE;
        for (int i = 0; i < STRIDE; i += 8) {
            events.putLong(at + i, 0);
        }
        events.putInt(at, kind);
        return this;
    }

    EventBuffer code(int v) {
        events.putInt(at + 4, v);
        return this;
    }

    EventBuffer id(long v) {
        events.putLong(at + 8, v);
        return this;
    }

    EventBuffer position(long ledger, long entry) {
        events.putLong(at + 16, ledger).putLong(at + 24, entry);
        return this;
    }

    EventBuffer part(long v) {
        events.putLong(at + 32, v);
        return this;
    }

    EventBuffer data(long address, int len, int flags) {
        events.putLong(at + 40, address).putInt(at + 56, len).putInt(at + 64, flags);
        return this;
    }

    EventBuffer millis(long v) {
        events.putLong(at + 72, v);
        return this;
    }

    /** Copies the local schema version; its offset becomes an address in {@link #give}, because the copies may move. */
    EventBuffer local(byte[] v) {
        events.putLong(at + 40, copy(v)).putInt(at + 56, v.length);
        return this;
    }

    /** Copies the remote schema version. */
    EventBuffer remote(byte[] v) {
        events.putLong(at + 48, copy(v)).putInt(at + 60, v.length);
        return this;
    }

    private int copy(byte[] v) {
        if (versionsUsed + v.length > versions.capacity()) {
            ByteBuffer bigger = Scratch.direct(Math.max(versions.capacity() * 2, versionsUsed + v.length));
            bigger.put(0, versions, 0, versionsUsed);
            versions = bigger;
        }
        versions.put(versionsUsed, v);
        int offset = versionsUsed;
        versionsUsed += v.length;
        return offset;
    }

    /** Whether nothing waits for a step. */
    boolean isEmpty() {
        return count == 0;
    }

    /** Index of the event that was begun last. */
    int last() {
        return count - 1;
    }

    /** Ends the collecting: the events are now those of a step, and new ones take their place after it. */
    int give() {
        if (versionsUsed > 0) {
            long base = Native.address(versions);
            for (int i = 0; i < count; i++) {
                int e = i * STRIDE;
                int kind = events.getInt(e);
                if (kind == SCHEMA_MAPPED || kind == SCHEMA_FAILED) {
                    events.putLong(e + 40, base + events.getLong(e + 40));
                }
                if (kind == SCHEMA_MAPPED) {
                    events.putLong(e + 48, base + events.getLong(e + 48));
                }
            }
        }
        applied = count;
        count = 0;
        versionsUsed = 0;
        return applied;
    }

    long address() {
        return Native.address(events);
    }

    /** Status of event i of the last step. */
    int result(int i) {
        return events.getInt(Window.slot(i, applied, STRIDE) + 68);
    }

    /** What the library answered in the code of event i of the last step. */
    int answer(int i) {
        return events.getInt(Window.slot(i, applied, STRIDE) + 4);
    }
}
