// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;

/**
 * The replication window of one (source segment, remote). Events are collected by the methods named after them and
 * applied by {@link #step}, which leaves actions to be read by index:
 *
 * <pre>{@code
 * w.offer(address, length, flags, ledger, entry);   // borrowed until RELEASE of that position
 * w.outcome(sendId, Window.ACKED);
 * do {
 *     int n = w.step(arenaAddress, arenaCapacity);
 *     for (int i = 0; i < n; i++) {
 *         switch (w.actions().kind(i)) { case Actions.SEND -> ...; }
 *     }
 * } while (w.more());                               // first make room if w.needed() > 0
 * }</pre>
 *
 * Not thread-safe: one driver at a time. Nothing is allocated once the buffers have grown to the driver's size.
 * Closing while another thread is inside is safe in the library, but the entries lent to it are only free after close
 * has returned.
 */
public final class Window extends NativeHandle {
    // outcomes of a send
    public static final int ACKED = 1;
    public static final int DUPLICATE = 2;
    public static final int REFUSED = 3;
    public static final int OUTCOME_UNKNOWN = 4;
    public static final int TOO_LARGE = 5;
    public static final int CHECKSUM_ERROR = 6;

    // answers about a watermark
    public static final int WATERMARK_KNOWN = 1;
    public static final int WATERMARK_NONE = 2;
    public static final int WATERMARK_NOT_FINAL = 3;
    public static final int WATERMARK_GONE = 4;
    public static final int WATERMARK_FAILED = 5;

    // blocks
    public static final int BLOCK_HANDSHAKE = 1;
    public static final int BLOCK_UNSUPPORTED = 2;
    public static final int BLOCK_INCOMPATIBLE = 3;
    public static final int BLOCK_DENIED = 4;

    private final Scratch scratch = new Scratch();
    private final EventBuffer events = new EventBuffer();
    private final Actions actions;

    private Window(long handle, int maxActions) {
        super(handle);
        actions = new Actions(maxActions);
    }

    /** A blocked window with a closed gate. */
    public static Window open(WindowConfig config) {
        return open(config.toProto(), 256);
    }

    /**
     * The same from the bytes of a georep.v1.WindowConfig.
     *
     * @param maxActions that one step returns
     */
    public static Window open(byte[] config, int maxActions) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(config, (in, n) -> Native.windowNew(in, n, s.at(0), s.err)));
        return new Window(s.getLong(0), maxActions);
    }

    // ------------------------------------------------------------------ events

    /**
     * An entry read from the cursor, in rising order. Its bytes are borrowed: they must stay there until the RELEASE
     * action of the position, or until close has returned. After the step {@link #offerKept} says whether it was.
     *
     * @return index of the event in the coming step
     */
    public int offer(long address, int len, int flags, long ledger, long entry) {
        events.begin(EventBuffer.OFFER).position(ledger, entry).data(address, len, flags);
        return events.last();
    }

    /** What became of a send. */
    public void outcome(long sendId, int outcome) {
        events.begin(EventBuffer.OUTCOME).id(sendId).code(outcome);
    }

    /** The producer of a destination segment was told that the topic is terminated. */
    public void segmentSealed(long segment) {
        events.begin(EventBuffer.SEALED).id(segment);
    }

    /** Answer to ASK_WATERMARK; the position counts for WATERMARK_KNOWN only. */
    public void watermark(long segment, int status, long ledger, long entry, long part) {
        events.begin(EventBuffer.WATERMARK).id(segment).code(status).position(ledger, entry).part(part);
    }

    /** The budget granted the asked operation. */
    public void granted() {
        events.begin(EventBuffer.GRANTED);
    }

    /** The remote's schema version for a local one. */
    public void schemaMapped(byte[] local, byte[] remote) {
        events.begin(EventBuffer.SCHEMA_MAPPED).local(local).remote(remote);
    }

    /** The local schema version cannot be registered there. */
    public void schemaFailed(byte[] local) {
        events.begin(EventBuffer.SCHEMA_FAILED).local(local);
    }

    /** The cursor has deleted a position. */
    public void deleted(long ledger, long entry) {
        events.begin(EventBuffer.DELETED).position(ledger, entry);
    }

    /** It could not. */
    public void deleteFailed(long ledger, long entry) {
        events.begin(EventBuffer.DELETE_FAILED).position(ledger, entry);
    }

    /** An operator lets one parked position go. */
    public int skip(long ledger, long entry) {
        events.begin(EventBuffer.SKIP).position(ledger, entry);
        return events.last();
    }

    /** An operator pauses this window, or lets it go on. */
    public void pause(boolean on) {
        events.begin(EventBuffer.PAUSE).code(on ? 1 : 0);
    }

    /** The parent-drain gate's answer. */
    public void gate(boolean open) {
        events.begin(EventBuffer.GATE).code(open ? 1 : 0);
    }

    /** Where the cursor stands, and how many positions have left it since this window began, read in reverse order. */
    public void cursor(long ledger, long entry, long left) {
        events.begin(EventBuffer.CURSOR).position(ledger, entry).id(left);
    }

    /** Milliseconds, never backward. */
    public void tick(long nowMillis) {
        events.begin(EventBuffer.TICK).millis(nowMillis);
    }

    /** Not allowed to write, until {@link #setRemote}. */
    public void block(int why) {
        events.begin(EventBuffer.BLOCK).code(why);
    }

    /** The source segment is sealed, and all that it holds was offered: what is incomplete now stays so. */
    public void sourceEnded() {
        events.begin(EventBuffer.SOURCE_ENDED);
    }

    /** Which life of its topic the remote is in; before {@link #setRemote}, with the same rule. */
    public void remoteInstance(String id) {
        stepFirst();
        byte[] text = id.getBytes(StandardCharsets.UTF_8);
        scratch.throwUnlessOk(Scratch.with(text, (b, n) -> Native.windowRemoteInstance(handle(), b, n, scratch.err)));
    }

    /**
     * The remote's layout and largest message. Follow with a step. Applied at once, so not while events wait for a
     * step: a block that was meant to come before would come after.
     */
    public void setRemote(Layout layout, int maxMessageBytes) {
        stepFirst();
        scratch.throwUnlessOk(Native.windowSetRemote(handle(), layout.handle(), maxMessageBytes, scratch.err));
    }

    private void stepFirst() {
        if (!events.isEmpty()) {
            throw new IllegalStateException("events wait for a step, which has to come first");
        }
    }

    // ------------------------------------------------------------------ step

    /**
     * Applies the collected events and drains actions; headers and parts go into the arena, which must stay untouched
     * until the sends that point into it have been copied or sent.
     *
     * @return the number of actions
     */
    public int step(long arenaAddress, long arenaCapacity) {
        long h = handle();
        int n = events.give();
        actions.filled(0);
        int s = Native.windowStep(h, events.address(), n, arenaAddress, arenaCapacity, actions.address(),
                actions.capacity(), scratch.at(0), scratch.at(8), scratch.at(16), scratch.err);
        Reference.reachabilityFence(this); // its buffers are known to the call by their addresses alone
        if (s != Status.EVENT) { // refused events have their own results
            scratch.throwUnlessOk(s);
        }
        actions.filled(scratch.getInt(0));
        return actions.count();
    }

    /** The actions of the last step. */
    public Actions actions() {
        return actions;
    }

    /** Whether step has to be called again at once. */
    public boolean more() {
        return actions.isFull() || needed() > 0;
    }

    /** Free arena bytes that the next action needs; 0 if the last step's arena was large enough. */
    public long needed() {
        return scratch.getLong(16);
    }

    /** Arena bytes that the last step's actions point to. */
    public long arenaUsed() {
        return scratch.getLong(8);
    }

    /** Status of event i of the last step, see {@link Status}; to be read before the next event is added. */
    public int result(int i) {
        return events.result(i);
    }

    /**
     * Whether the window kept the memory of offer i of the last step; if not it is the caller's to release. To be read
     * before the next event is added.
     */
    public boolean offerKept(int i) {
        return result(i) == Status.OK && events.answer(i) == 0;
    }

    // ------------------------------------------------------------------ state

    /** How many more entries may be read now; 0 = stop reading until a step has made room. */
    public int wantEntries() {
        Scratch s = Scratch.local();
        Scratch.check(Native.windowWant(handle(), s.at(0), s.at(8)));
        return s.getInt(0);
    }

    /** How many more bytes may be read now. */
    public long wantBytes() {
        Scratch s = Scratch.local();
        Scratch.check(Native.windowWant(handle(), s.at(0), s.at(8)));
        return s.getLong(8);
    }

    /** The bytes of a georep.v1.WindowStatus; any thread. */
    public byte[] status() {
        return Scratch.local().bytes(4096, (out, cap, len, err) -> Native.windowStatus(handle(), out, cap, len, err));
    }

    /** Its JSON. */
    public String statusJson() {
        return Json.fromProto("WindowStatus", status());
    }

    @Override
    int free(long handle) {
        return Native.windowFree(handle);
    }

    static int slot(int i, int count, int stride) {
        if (i < 0 || i >= count) {
            throw new IndexOutOfBoundsException("index " + i + " of " + count);
        }
        return i * stride;
    }
}
