// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.nio.ByteBuffer;

/** Parent-drain gate of one (source segment, remote): open when every ancestor is drained. Thread-safe. */
public final class Gate extends NativeHandle {
    private static final int FIRST_ASK = 16;
    private final Scratch scratch = new Scratch();
    private ByteBuffer asks = Scratch.direct(FIRST_ASK * 8);

    private Gate(long handle) {
        super(handle);
    }

    /** A closed gate for this source segment. */
    public static Gate open(long segment) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Native.gateNew(segment, s.at(0), s.err));
        return new Gate(s.getLong(0));
    }

    /** The source cluster's layout, at the start and at every change. */
    public synchronized void layout(Layout layout) {
        scratch.throwUnlessOk(Native.gateLayout(handle(), layout.handle(), scratch.err));
    }

    /**
     * Answer about one ancestor.
     *
     * @param sealedWhenRead the segment was sealed before the backlog was read; otherwise the answer does not count
     * @param backlog entries behind the remote's cursor
     * @param found false: there is no such cursor
     */
    public void backlog(long segment, boolean sealedWhenRead, long backlog, boolean found) {
        Scratch.check(Native.gateBacklog(handle(), segment, sealedWhenRead ? 1 : 0, backlog, found ? 1 : 0));
    }

    /** The ancestors to ask about now. */
    public synchronized long[] ask() {
        while (true) {
            int cap = asks.capacity() / 8;
            int s = Native.gateAsk(handle(), Native.address(asks), cap, scratch.at(0));
            int n = scratch.getInt(0);
            if (s == Status.SPACE && n > cap) {
                asks = Scratch.direct(n * 8);
                continue;
            }
            Scratch.check(s);
            long[] out = new long[n];
            asks.asLongBuffer().get(0, out);
            return out;
        }
    }

    /** Whether the segment may publish; give it to the window. */
    public synchronized boolean isOpen() {
        Scratch.check(Native.gateOpen(handle(), scratch.at(0)));
        return scratch.getInt(0) != 0;
    }

    @Override
    int free(long handle) {
        return Native.gateFree(handle);
    }
}
