// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
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
 *         switch (w.kind(i)) { case Window.SEND -> ...; }
 *     }
 * } while (w.more());                               // first make room if w.needed() > 0
 * }</pre>
 *
 * Not thread-safe: one driver at a time. Nothing is allocated once the buffers have grown to the driver's size.
 * Closing while another thread is inside is safe in the library, but the entries lent to it are only free after close
 * has returned.
 */
public final class Window extends NativeHandle {
    // actions
    public static final int SEND = 1;
    public static final int DELETE = 2;
    public static final int RELEASE = 3;
    public static final int ASK_BUDGET = 4;
    public static final int RETURN_BUDGET = 5;
    public static final int ASK_WATERMARK = 6;
    public static final int ASK_SCHEMA = 7;
    public static final int CLOSE_PRODUCER = 8;
    public static final int PARKED = 9;

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

    private static final int STRIDE = 96;
    private static final int EV_OFFER = 1;
    private static final int EV_OUTCOME = 2;
    private static final int EV_SEALED = 3;
    private static final int EV_WATERMARK = 4;
    private static final int EV_GRANTED = 5;
    private static final int EV_SCHEMA_MAPPED = 6;
    private static final int EV_SCHEMA_FAILED = 7;
    private static final int EV_DELETED = 8;
    private static final int EV_DELETE_FAILED = 9;
    private static final int EV_SKIP = 10;
    private static final int EV_PAUSE = 11;
    private static final int EV_GATE = 12;
    private static final int EV_TICK = 13;
    private static final int EV_BLOCK = 14;

    private final Scratch scratch = new Scratch();
    private ByteBuffer events = Scratch.direct(64 * STRIDE);
    private long eventsAddr = Native.address(events);
    private int eventCount;
    private int applied;
    private ByteBuffer actions;
    private final long actionsAddr;
    private final int actionsCap;
    private int actionCount;
    private ByteBuffer versions = Scratch.direct(256); // schema versions of pending events
    private int versionsUsed;

    private Window(long handle, int maxActions) {
        super(handle);
        actionsCap = maxActions;
        actions = Scratch.direct(maxActions * STRIDE);
        actionsAddr = Native.address(actions);
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
        ByteBuffer in = Scratch.direct(config);
        Scratch s = Scratch.local();
        s.throwUnlessOk(Native.windowNew(Native.address(in), config.length, s.at(0), s.err));
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
        int at = event(EV_OFFER);
        events.putLong(at + 16, ledger).putLong(at + 24, entry).putLong(at + 40, address).putInt(at + 56, len)
                .putInt(at + 64, flags);
        return eventCount - 1;
    }

    /** What became of a send. */
    public void outcome(long sendId, int outcome) {
        int at = event(EV_OUTCOME);
        events.putInt(at + 4, outcome).putLong(at + 8, sendId);
    }

    /** The producer of a destination segment was told that the topic is terminated. */
    public void segmentSealed(long segment) {
        events.putLong(event(EV_SEALED) + 8, segment);
    }

    /** Answer to ASK_WATERMARK; the position counts for WATERMARK_KNOWN only. */
    public void watermark(long segment, int status, long ledger, long entry, long part) {
        int at = event(EV_WATERMARK);
        events.putInt(at + 4, status).putLong(at + 8, segment).putLong(at + 16, ledger).putLong(at + 24, entry)
                .putLong(at + 32, part);
    }

    /** The budget granted the asked operation. */
    public void granted() {
        event(EV_GRANTED);
    }

    /** The remote's schema version for a local one. */
    public void schemaMapped(byte[] local, byte[] remote) {
        int l = version(local);
        int r = version(remote);
        int at = event(EV_SCHEMA_MAPPED); // offsets now, addresses in step: the buffer may move until then
        events.putLong(at + 40, l).putLong(at + 48, r).putInt(at + 56, local.length).putInt(at + 60, remote.length);
    }

    /** The local schema version cannot be registered there. */
    public void schemaFailed(byte[] local) {
        int l = version(local);
        int at = event(EV_SCHEMA_FAILED);
        events.putLong(at + 40, l).putInt(at + 56, local.length);
    }

    /** The cursor has deleted a position. */
    public void deleted(long ledger, long entry) {
        position(EV_DELETED, ledger, entry);
    }

    /** It could not. */
    public void deleteFailed(long ledger, long entry) {
        position(EV_DELETE_FAILED, ledger, entry);
    }

    /** An operator lets one parked position go. */
    public int skip(long ledger, long entry) {
        position(EV_SKIP, ledger, entry);
        return eventCount - 1;
    }

    /** An operator pauses this window, or lets it go on. */
    public void pause(boolean on) {
        events.putInt(event(EV_PAUSE) + 4, on ? 1 : 0);
    }

    /** The parent-drain gate's answer. */
    public void gate(boolean open) {
        events.putInt(event(EV_GATE) + 4, open ? 1 : 0);
    }

    /** Milliseconds, never backward. */
    public void tick(long nowMillis) {
        events.putLong(event(EV_TICK) + 72, nowMillis);
    }

    /** Not allowed to write, until {@link #setRemote}. */
    public void block(int why) {
        events.putInt(event(EV_BLOCK) + 4, why);
    }

    /** Which life of its topic the remote is in; before {@link #setRemote}, applied at once. */
    public void remoteInstance(String id) {
        byte[] text = id.getBytes(StandardCharsets.UTF_8);
        ByteBuffer b = Scratch.direct(text);
        scratch.throwUnlessOk(Native.windowRemoteInstance(handle(), Native.address(b), text.length, scratch.err));
        Reference.reachabilityFence(b);
    }

    /** The remote's layout and largest message; applied at once. Follow with a step. */
    public void setRemote(Layout layout, int maxMessageBytes) {
        scratch.throwUnlessOk(Native.windowSetRemote(handle(), layout.handle(), maxMessageBytes, scratch.err));
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
        fixVersions();
        applied = eventCount;
        eventCount = 0;
        versionsUsed = 0;
        actionCount = 0;
        int s = Native.windowStep(h, applied == 0 ? 0 : eventsAddr, applied, arenaAddress, arenaCapacity, actionsAddr,
                actionsCap, scratch.at(0), scratch.at(8), scratch.at(16), scratch.err);
        if (s != Status.EVENT) { // refused events have their own results
            scratch.throwUnlessOk(s);
        }
        actionCount = scratch.getInt(0);
        return actionCount;
    }

    /** Whether step has to be called again at once. */
    public boolean more() {
        return actionCount == actionsCap || needed() > 0;
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
        return events.getInt(slot(i, applied) + 68);
    }

    /**
     * Whether the window kept the memory of offer i of the last step; if not it is the caller's to release. To be read
     * before the next event is added.
     */
    public boolean offerKept(int i) {
        return result(i) == Status.OK && events.getInt(i * STRIDE + 4) == 0;
    }

    // ------------------------------------------------------------------ actions of the last step

    public int kind(int i) {
        return actions.getInt(slot(i, actionCount));
    }

    /** SEND: the way it took, as {@link Placement} numbers it. */
    public int path(int i) {
        return actions.getInt(slot(i, actionCount) + 4);
    }

    public int reason(int i) {
        return actions.getInt(slot(i, actionCount) + 8);
    }

    public int bucket(int i) {
        return actions.getInt(slot(i, actionCount) + 12);
    }

    public long sendId(int i) {
        return actions.getLong(slot(i, actionCount) + 16);
    }

    public long segment(int i) {
        return actions.getLong(slot(i, actionCount) + 24);
    }

    public long ledger(int i) {
        return actions.getLong(slot(i, actionCount) + 32);
    }

    public long entry(int i) {
        return actions.getLong(slot(i, actionCount) + 40);
    }

    public long part(int i) {
        return actions.getLong(slot(i, actionCount) + 48);
    }

    public long headerAddress(int i) {
        return actions.getLong(slot(i, actionCount) + 56);
    }

    public long payloadAddress(int i) {
        return actions.getLong(slot(i, actionCount) + 64);
    }

    public int headerLength(int i) {
        return actions.getInt(slot(i, actionCount) + 72);
    }

    public int payloadLength(int i) {
        return actions.getInt(slot(i, actionCount) + 76);
    }

    public long bytes(int i) {
        return actions.getLong(slot(i, actionCount) + 80);
    }

    public int messages(int i) {
        return actions.getInt(slot(i, actionCount) + 88);
    }

    /** ASK_SCHEMA: a copy of the local schema version. */
    public byte[] version(int i) {
        byte[] v = new byte[payloadLength(i)];
        if (v.length > 0) {
            Native.view(payloadAddress(i), v.length).get(v);
        }
        return v;
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

    // ------------------------------------------------------------------ memory

    private int event(int kind) {
        if ((eventCount + 1) * STRIDE > events.capacity()) {
            ByteBuffer bigger = Scratch.direct(events.capacity() * 2);
            bigger.put(0, events, 0, eventCount * STRIDE);
            events = bigger;
            eventsAddr = Native.address(bigger);
        }
        int at = eventCount++ * STRIDE;
        for (int i = 0; i < STRIDE; i += 8) {
            events.putLong(at + i, 0);
        }
        events.putInt(at, kind);
        return at;
    }

    private void position(int kind, long ledger, long entry) {
        int at = event(kind);
        events.putLong(at + 16, ledger).putLong(at + 24, entry);
    }

    private int version(byte[] v) {
        if (versionsUsed + v.length > versions.capacity()) {
            ByteBuffer bigger = Scratch.direct(Math.max(versions.capacity() * 2, versionsUsed + v.length));
            bigger.put(0, versions, 0, versionsUsed);
            versions = bigger;
        }
        versions.put(versionsUsed, v);
        int at = versionsUsed;
        versionsUsed += v.length;
        return at;
    }

    private void fixVersions() {
        if (versionsUsed == 0) {
            return;
        }
        long base = Native.address(versions);
        for (int i = 0; i < eventCount; i++) {
            int at = i * STRIDE;
            int kind = events.getInt(at);
            if (kind == EV_SCHEMA_MAPPED || kind == EV_SCHEMA_FAILED) {
                events.putLong(at + 40, base + events.getLong(at + 40));
            }
            if (kind == EV_SCHEMA_MAPPED) {
                events.putLong(at + 48, base + events.getLong(at + 48));
            }
        }
    }

    private static int slot(int i, int count) {
        if (i < 0 || i >= count) {
            throw new IndexOutOfBoundsException("index " + i + " of " + count);
        }
        return i * STRIDE;
    }
}
