// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * Decides for many entries in one call where each goes, and writes the new header of those that go whole: the simple
 * tier, for a caller that keeps no {@link Window}. Entries are added, placed together, and the decisions read by index
 * until the next {@link #add}. Not thread-safe; nothing is allocated after the constructor.
 */
public final class Placer {
    private static final int ENTRY = 32;
    private static final int DECISION = 56;

    private final Scratch scratch = new Scratch();
    private final ByteBuffer source;
    private final ByteBuffer entries;
    private final ByteBuffer decisions;
    private final long sourceAddress;
    private final long entriesAddress;
    private final long decisionsAddress;
    private int added;
    private int placed;

    /** @param capacity entries in one call, at most 65536 */
    public Placer(SourceSegment segment, int capacity) {
        source = segment.toStruct();
        entries = Scratch.direct(capacity * ENTRY);
        decisions = Scratch.direct(capacity * DECISION);
        sourceAddress = Native.address(source);
        entriesAddress = Native.address(entries);
        decisionsAddress = Native.address(decisions);
    }

    /** An entry as read from the log; its bytes stay the caller's, and are read during {@link #place} only. */
    public void add(long address, int len, int flags, long ledger, long entry) {
        int at = Window.slot(added, entries.capacity() / ENTRY, ENTRY);
        entries.putLong(at, address).putInt(at + 8, len).putInt(at + 12, flags).putLong(at + 16, ledger)
                .putLong(at + 24, entry);
        added++;
    }

    /**
     * Places what was added since the last call. An arena too small for the headers is a StatusException with
     * {@link Status#SPACE}; {@link #needed} then tells the size, and the entries have to be added again.
     *
     * @return the number of decisions
     */
    public int place(Layout destination, long arenaAddress, long arenaCapacity) {
        int n = added;
        added = 0;
        placed = 0;
        int s = Native.place(destination.handle(), sourceAddress, entriesAddress, n, decisionsAddress, arenaAddress,
                arenaCapacity, scratch.at(0), scratch.at(8), scratch.err);
        Reference.reachabilityFence(this); // its buffers are known to the call by their addresses alone
        scratch.throwUnlessOk(s);
        placed = n;
        return n;
    }

    /** Arena bytes that hold all headers of the last call. */
    public long needed() {
        return scratch.getLong(8);
    }

    private int slot(int i) {
        return Window.slot(i, placed, DECISION);
    }

    /** As {@link Placement} numbers it. */
    public int action(int i) {
        return decisions.getInt(slot(i));
    }

    public int reason(int i) {
        return decisions.getInt(slot(i) + 4);
    }

    public long segment(int i) {
        return decisions.getLong(slot(i) + 8);
    }

    /** In the arena; 0 where the entry does not go whole. */
    public long headerAddress(int i) {
        return decisions.getLong(slot(i) + 16);
    }

    public int headerLength(int i) {
        return decisions.getInt(slot(i) + 24);
    }

    /** -1 where there is none. */
    public int bucket(int i) {
        return decisions.getInt(slot(i) + 28);
    }

    /** Where in the entry the payload begins, which is sent behind the header. */
    public int payloadOffset(int i) {
        return decisions.getInt(slot(i) + 36);
    }

    public int payloadLength(int i) {
        return decisions.getInt(slot(i) + 40);
    }

    public int messages(int i) {
        return decisions.getInt(slot(i) + 44);
    }
}
