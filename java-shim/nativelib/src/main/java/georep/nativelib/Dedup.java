// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Replication watermarks of one segment topic on the destination. Thread-safe. */
public final class Dedup extends NativeHandle {
    private static final int TICKET_BYTES = 56;

    /** The answers of {@link #check}, numbered as in georep.h. */
    public enum Verdict {
        /** No origin record, or bound to another topic: store it. */
        NOT_OURS,
        /** Store it, then call persisted. */
        NEW,
        /** Stored already. */
        DUPLICATE,
        /** Accepted earlier, not known to be stored yet: let the producer try again. */
        UNKNOWN,
        /** A new origin beyond the cap of keys: refuse it, nothing was stored. */
        FULL;

        private static final Verdict[] ALL = values();
    }

    /**
     * What check read; to be given back to {@link #persisted}.
     *
     * @param key the origin key's number inside this table
     * @param ledger source position
     * @param part part number, {@link Georep#WHOLE} for a whole entry
     * @param segment origin segment
     */
    public record Ticket(Verdict verdict, long key, long ledger, long entry, long part, long segment,
                         long generation) {}

    /**
     * A stored position; null where nothing is stored.
     *
     * @param part part number, {@link Georep#WHOLE} for a whole entry
     */
    public record Watermark(long ledger, long entry, long part) {}

    private final Scratch scratch = new Scratch();
    private final ByteBuffer ticket = Scratch.direct(TICKET_BYTES);
    private final long ticketAddr = Native.address(ticket);

    private Dedup(long handle) {
        super(handle);
    }

    /**
     * An empty table.
     *
     * @param boundTopic this segment topic's own name, as senders write it into the origin record
     * @param maxKeys origin keys that the table may hold; 0 = the default
     */
    public static Dedup open(String boundTopic, int maxKeys) {
        byte[] t = boundTopic.getBytes(StandardCharsets.UTF_8);
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(t, (in, n) -> Native.dedupNew(in, n, maxKeys, s.at(0), s.err)));
        return new Dedup(s.getLong(0));
    }

    /**
     * Judges an entry that is about to be stored; only what a replication producer sent may be given to it. Throws with
     * {@link Status#FORMAT} for a replicated entry whose record does not parse: it must not be stored.
     *
     * @param form {@link Georep#FORM_METADATA} or {@link Georep#FORM_ENTRY}
     * @param address of the first byte, in direct memory
     */
    public synchronized Ticket check(int form, long address, int len) {
        ticket.putInt(0, TICKET_BYTES);
        scratch.throwUnlessOk(Native.dedupCheck(handle(), form, address, len, ticketAddr, scratch.err));
        Reference.reachabilityFence(this);
        return new Ticket(Verdict.ALL[ticket.getInt(4)], ticket.getLong(8), ticket.getLong(16), ticket.getLong(24),
                ticket.getLong(32), ticket.getLong(40), ticket.getLong(48));
    }

    /** The same for the readable bytes of any buffer; a heap buffer is copied. */
    public Ticket check(int form, ByteBuffer bytes) {
        ByteBuffer d = directCopy(bytes);
        Ticket t = check(form, Native.address(d) + d.position(), d.remaining());
        Reference.reachabilityFence(d);
        return t;
    }

    /** The entry of that ticket is stored. */
    public synchronized void persisted(Ticket t) {
        ticket.putInt(0, TICKET_BYTES).putInt(4, t.verdict.ordinal()).putLong(8, t.key).putLong(16, t.ledger)
                .putLong(24, t.entry).putLong(32, t.part).putLong(40, t.segment).putLong(48, t.generation);
        Scratch.check(Native.dedupPersisted(handle(), ticketAddr));
    }

    /** Publishes failed, or the topic was fenced and opened again. */
    public void failed() {
        Scratch.check(Native.dedupFailed(handle()));
    }

    /** Rebuild: one stored entry, in log order. */
    public synchronized void replay(int form, long address, int len) {
        scratch.throwUnlessOk(Native.dedupReplay(handle(), form, address, len, scratch.err));
    }

    /** The same for the readable bytes of any buffer; a heap buffer is copied. */
    public void replay(int form, ByteBuffer bytes) {
        ByteBuffer d = directCopy(bytes);
        replay(form, Native.address(d) + d.position(), d.remaining());
        Reference.reachabilityFence(d);
    }

    /** What is known to be stored, for {@link #load}. */
    public byte[] snapshot() {
        return Scratch.local().bytes(1024, (out, cap, len, err) -> Native.dedupSnapshot(handle(), out, cap, len, err));
    }

    /** Loads a snapshot; watermarks only rise. On an exception nothing changed: replay the whole log instead. */
    public void load(byte[] snapshot) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(snapshot, (in, n) -> Native.dedupLoad(handle(), in, n, s.err)));
    }

    /** Highest stored position of a key, or null. */
    public Watermark watermark(String cluster, String instance, long segment, long generation) {
        byte[] k = key(cluster, instance, segment, generation);
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(k, (in, n) -> Native.dedupWatermark(handle(), in, n, s.at(0), s.at(8), s.err)));
        return s.getInt(0) == 0 ? null : new Watermark(s.getLong(8), s.getLong(16), s.getLong(24));
    }

    /** Forgets a key: only when its origin says that the segment is gone. */
    public void prune(String cluster, String instance, long segment, long generation) {
        byte[] k = key(cluster, instance, segment, generation);
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(k, (in, n) -> Native.dedupPrune(handle(), in, n, s.err)));
    }

    /** The JSON of a georep.v1.DedupStatus. */
    public String statusJson() {
        return Json.fromProto("DedupStatus", Scratch.local().bytes(4096, (out, cap, len, err) ->
                Native.dedupStatus(handle(), out, cap, len, err)));
    }

    private static byte[] key(String cluster, String instance, long segment, long generation) {
        return new Wire().string(1, cluster).string(2, instance).varint(3, segment).varint(4, generation).bytes();
    }

    private static ByteBuffer directCopy(ByteBuffer b) {
        if (b.isDirect()) {
            return b;
        }
        ByteBuffer d = Scratch.direct(Math.max(1, b.remaining()));
        d.put(0, b, b.position(), b.remaining());
        d.limit(b.remaining());
        return d;
    }

    @Override
    int free(long handle) {
        return Native.dedupFree(handle);
    }
}
