// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * georep_place and georep_rebatch for one entry at a time, as a native host calls them. The source is segment 0 of
 * cluster "east", the remote is "west". Not thread-safe.
 */
public final class EntryCalls {
    /** Bytes of the largest entry, and of all that is made of one. */
    private static final int ARENA = 8 << 20;
    private static final int MAX_PARTS = 4096;
    private static final int PART = 56;

    private final ByteBuffer source = Scratch.direct(112);
    private final ByteBuffer names = Scratch.direct(256);
    private final ByteBuffer in = Scratch.direct(ARENA);
    private final ByteBuffer arena = Scratch.direct(ARENA);
    private final ByteBuffer entry = Scratch.direct(32);
    private final ByteBuffer decision = Scratch.direct(56);
    private final ByteBuffer options = Scratch.direct(48);
    private final ByteBuffer parts = Scratch.direct(PART * MAX_PARTS);

    /** What becomes of an entry. {@code parsed}: its frame and metadata were understood. */
    public record Decision(int action, int reason, long segment, int bucket, int route, boolean parsed, byte[] header) {
    }

    /** One entry that was written; {@code rank} is {@link Georep#WHOLE} where the source's payload went as it was. */
    public record Part(long segment, int bucket, long rank, int messages, int hashMin, int hashMax, byte[] bytes) {
    }

    /** What cutting gave: the status, its text where it is not OK, the parts where it is. */
    public record Cut(int status, String text, List<Part> parts) {
    }

    /** Calls for a source segment with the whole ring and this routing profile. */
    public EntryCalls(int profile) {
        source.putInt(0, 112).putInt(4, profile).putInt(92, 0xffff).putLong(72, 1);
        name(8, "east");
        name(24, "west");
        name(40, "topic://public/default/t");
        name(56, "00112233445566778899aabbccddeeff");
        options.putInt(0, 48).putInt(4, 1);
    }

    private void name(int at, String text) {
        byte[] b = text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        source.putLong(at, Native.address(names) + names.position()).putInt(at + 8, b.length);
        names.put(b);
    }

    private void offer(byte[] raw, long ledger, long id) {
        in.put(0, raw);
        entry.putLong(0, Native.address(in)).putInt(8, raw.length).putLong(16, ledger).putLong(24, id);
    }

    /** Decides, and writes the header of an entry that goes whole. */
    public Decision place(Layout dst, byte[] raw, long ledger, long id) {
        offer(raw, ledger, id);
        Scratch s = Scratch.local();
        s.throwUnlessOk(Native.place(dst.handle(), Native.address(source), Native.address(entry), 1,
                Native.address(decision), Native.address(arena), ARENA, s.at(0), s.at(8), s.err));
        byte[] header = new byte[decision.getLong(16) == 0 ? 0 : decision.getInt(24)];
        arena.get(0, header);
        keep();
        return new Decision(decision.getInt(0), decision.getInt(4), decision.getLong(8), decision.getInt(28),
                decision.getInt(32), decision.getInt(36) > 0, header);
    }

    /** Cuts a batch. A refusal is no exception: it is what the caller asks for. */
    public Cut rebatch(Layout dst, byte[] raw, long ledger, long id) {
        offer(raw, ledger, id);
        Scratch s = Scratch.local();
        int status = Native.rebatch(dst.handle(), Native.address(source), Native.address(options),
                Native.address(entry), Native.address(arena), ARENA, Native.address(parts), MAX_PARTS, s.at(0),
                s.at(8), s.err);
        if (status != Status.OK) {
            return new Cut(status, s.error(status).getMessage(), List.of());
        }
        List<Part> out = new ArrayList<>();
        for (int i = 0; i < s.getInt(0); i++) {
            int at = i * PART;
            byte[] b = new byte[parts.getInt(at + 24) + parts.getInt(at + 28)];
            Native.view(parts.getLong(at + 16), b.length).get(0, b);
            out.add(new Part(parts.getLong(at), parts.getInt(at + 32), parts.getLong(at + 8), parts.getInt(at + 36),
                    parts.getInt(at + 44), parts.getInt(at + 48), b));
        }
        keep();
        return new Cut(status, "", out);
    }

    private void keep() {
        Reference.reachabilityFence(names);
        Reference.reachabilityFence(in);
    }
}
