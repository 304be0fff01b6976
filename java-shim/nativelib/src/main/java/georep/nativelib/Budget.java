// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.nio.ByteBuffer;

/**
 * The broker-wide budget of the slow path. Callers are numbers (one per window), remotes too. Thread-safe; grants are
 * drained by one thread.
 */
public final class Budget extends NativeHandle {
    private final Scratch scratch = new Scratch();
    private final ByteBuffer grants = Scratch.direct(64 * 8);
    private final long grantsAddr = Native.address(grants);
    private long wakeNanos;

    private Budget(long handle) {
        super(handle);
    }

    /** All must be above zero. */
    public static Budget open(long bytesPerSecond, long burstBytes, int slots, long inFlightBytes,
                              long inFlightBytesPerRemote) {
        byte[] c = new Wire().varint(1, bytesPerSecond).varint(2, burstBytes).varint(3, slots).varint(4, inFlightBytes)
                .varint(5, inFlightBytesPerRemote).bytes();
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(c, (in, n) -> Native.budgetNew(in, n, s.at(0), s.err)));
        return new Budget(s.getLong(0));
    }

    /** Asks for a slot and for decompressed bytes; repeating it changes nothing. */
    public void request(long key, int remote, long bytes) {
        Scratch.check(Native.budgetRequest(handle(), key, remote, bytes));
    }

    /** Gives the slot back, or cancels the request. */
    public void giveBack(long key) {
        Scratch.check(Native.budgetReturn(handle(), key));
    }

    /** Counts bytes in flight to a remote: payloads given to a producer that have no outcome yet. */
    public void charge(int remote, long bytes) {
        Scratch.check(Native.budgetCharge(handle(), remote, bytes));
    }

    /** Takes them off. */
    public void uncharge(int remote, long bytes) {
        Scratch.check(Native.budgetUncharge(handle(), remote, bytes));
    }

    /** Counts bytes of entries read for a remote and not released; they bound reading, and never a slot. */
    public void hold(int remote, long bytes) {
        Scratch.check(Native.budgetHold(handle(), remote, bytes));
    }

    /** Takes them off. */
    public void unhold(int remote, long bytes) {
        Scratch.check(Native.budgetUnhold(handle(), remote, bytes));
    }

    /** How much more may be read for a remote now; 0 or less: nothing. */
    public synchronized long room(int remote) {
        Scratch.check(Native.budgetRoom(handle(), remote, scratch.at(0)));
        return scratch.getLong(0);
    }

    /** Tells the time: monotonic nanoseconds (System.nanoTime minus a constant, so that it starts at zero or above). */
    public void advance(long nowNanos) {
        Scratch.check(Native.budgetAdvance(handle(), nowNanos));
    }

    /** Gives every new grant to the consumer, and returns when to advance next (0: no time to wait for). */
    public synchronized long granted(java.util.function.LongConsumer consumer) {
        int cap = grants.capacity() / 8;
        int n;
        do {
            Scratch.check(Native.budgetGranted(handle(), grantsAddr, cap, scratch.at(0), scratch.at(8)));
            n = scratch.getInt(0);
            wakeNanos = scratch.getLong(8);
            for (int i = 0; i < n; i++) {
                consumer.accept(grants.getLong(i * 8));
            }
        } while (n == cap);
        return wakeNanos;
    }

    /** The bytes of a georep.v1.BudgetStatus. */
    public byte[] status() {
        return Scratch.local().bytes(1024, (out, cap, len, err) -> Native.budgetStatus(handle(), out, cap, len, err));
    }

    /** Its JSON. */
    public String statusJson() {
        return Json.fromProto("BudgetStatus", status());
    }

    @Override
    int free(long handle) {
        return Native.budgetFree(handle);
    }
}
