// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * Cuts batches into the parts of a destination, one entry a call: the simple tier, for a caller that keeps no
 * {@link Window}. The parts are read by index until the next call. Not thread-safe.
 */
public final class Rebatcher {
    private static final int OPTIONS = 48;
    private static final int ENTRY = 32;
    private static final int PART = 56;
    private static final int FIRST_PARTS = 64;

    private final Scratch scratch = new Scratch();
    private final ByteBuffer source;
    private final ByteBuffer options = Scratch.direct(OPTIONS);
    private final ByteBuffer entry = Scratch.direct(ENTRY);
    private final long sourceAddress;
    private final long optionsAddress = Native.address(options);
    private final long entryAddress = Native.address(entry);
    private ByteBuffer parts = Scratch.direct(FIRST_PARTS * PART);
    private int count;

    /** @param keepCodec parts are compressed as their entry was; false: they go uncompressed */
    public Rebatcher(SourceSegment segment, boolean keepCodec) {
        source = segment.toStruct();
        sourceAddress = Native.address(source);
        options.putInt(0, OPTIONS).putInt(4, keepCodec ? 1 : 0);
    }

    /**
     * Cuts one entry; headers and payloads go into the arena. Where it is too small nothing is valid, 0 is returned and
     * {@link #needed} is above its capacity: call again with as much.
     *
     * @return the number of parts; 0 with a large enough arena: nothing in the entry is to be sent
     */
    public int cut(Layout destination, long address, int len, long ledger, long entryId, long arenaAddress,
                   long arenaCapacity) {
        entry.putLong(0, address).putInt(8, len).putLong(16, ledger).putLong(24, entryId);
        count = 0;
        int s = call(destination, arenaAddress, arenaCapacity);
        int n = scratch.getInt(0);
        if (s == Status.SPACE && n * PART > parts.capacity()) {
            parts = Scratch.direct(n * PART);
            s = call(destination, arenaAddress, arenaCapacity);
        }
        if (s == Status.SPACE && needed() > arenaCapacity) {
            return 0;
        }
        scratch.throwUnlessOk(s);
        count = n;
        return n;
    }

    private int call(Layout destination, long arenaAddress, long arenaCapacity) {
        int s = Native.rebatch(destination.handle(), sourceAddress, optionsAddress, entryAddress, arenaAddress,
                arenaCapacity, Native.address(parts), parts.capacity() / PART, scratch.at(0), scratch.at(8),
                scratch.err);
        Reference.reachabilityFence(this); // its buffers are known to the call by their addresses alone
        return s;
    }

    /** Arena bytes that the last entry's parts take. */
    public long needed() {
        return scratch.getLong(8);
    }

    private int slot(int i) {
        return Window.slot(i, count, PART);
    }

    public long segment(int i) {
        return parts.getLong(slot(i));
    }

    /** Its number: rank of its last message among those of the entry that go to its segment. */
    public long part(int i) {
        return parts.getLong(slot(i) + 8);
    }

    /** Of the header; the payload follows it. */
    public long address(int i) {
        return parts.getLong(slot(i) + 16);
    }

    public int headerLength(int i) {
        return parts.getInt(slot(i) + 24);
    }

    public int payloadLength(int i) {
        return parts.getInt(slot(i) + 28);
    }

    public int bucket(int i) {
        return parts.getInt(slot(i) + 32);
    }

    public int messages(int i) {
        return parts.getInt(slot(i) + 36);
    }
}
