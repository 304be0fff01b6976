// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.List;
import java.util.function.LongSupplier;

/**
 * How much a dispatch rate lets be read. The limiter is charged for what is sent, with its messages and bytes; a cursor
 * reads entries, and reads on before what it read is sent. So what was read and is not sent yet has a claim on what the
 * limiter has, and only the rest may be read:
 *
 * <pre>
 *   the limiter has     |------- claims -------|--- rest / messages of the largest entry of the last read = entries -|
 *
 *   grant -> (read) -> arrived: claims of its entries begin -> sent: charged, then the claim is less -> released: ends
 * </pre>
 *
 * The caller grants nothing between a grant and the {@link #arrived} of its read. Then what is sent never exceeds what
 * the limiter has by more than one entry, unless a read brings larger entries than the one before it; that, too, is the
 * limiter's debt, paid off before the next grant. Thread-safe.
 */
public final class ReadAllowance {
    /** What an entry that was read needs of the limiter: its messages and bytes, as long as they are not sent. */
    public static final class Claim {
        private final int ofMessages;
        private final int ofBytes;
        private long messages;
        private long bytes;

        /** Counts from {@link ReadAllowance#arrived} on. */
        public Claim(int messages, int bytes) {
            ofMessages = messages;
            ofBytes = bytes;
        }
    }

    /**
     * What may be read.
     *
     * @param entries 0: nothing
     * @param bytes   at least 1 where entries are
     * @param claimed nothing, because claims take what the limiter has
     */
    public record Grant(int entries, long bytes, boolean claimed) { }

    private long messages;
    private long bytes;
    private int largest = Integer.MAX_VALUE; // nothing known: one entry shows

    /** The entries of one read, all of them, before any of them can be sent. */
    public synchronized void arrived(List<Claim> claims) {
        if (!claims.isEmpty()) {
            largest = 1;
        }
        for (Claim c : claims) {
            largest = Math.max(largest, c.ofMessages);
            c.messages = c.ofMessages;
            c.bytes = c.ofBytes;
            messages += c.messages;
            bytes += c.bytes;
        }
    }

    /** So many messages of the entry were sent and charged; all that it has once it is sent again. */
    public synchronized void sent(Claim c, int n) {
        long sent = Math.min(n, c.messages);
        c.messages -= sent;
        messages -= sent;
        if (c.messages == 0) {
            bytes -= c.bytes;
            c.bytes = 0;
        }
    }

    /** Nothing more of the entry will be sent. */
    public void released(Claim c) {
        sent(c, Integer.MAX_VALUE);
    }

    /**
     * What of the entries and bytes wanted may be read now.
     *
     * @param limitMessages what the limiter has, negative: it does not limit messages; asked after the claims are
     *                      known, because a send is charged before its claim is less
     * @param limitBytes    the same for bytes
     */
    public Grant grant(int wantEntries, long wantBytes, LongSupplier limitMessages, LongSupplier limitBytes) {
        long claimedMessages;
        long claimedBytes;
        int each;
        synchronized (this) {
            claimedMessages = messages;
            claimedBytes = bytes;
            each = largest;
        }
        long haveMessages = limitMessages.getAsLong();
        long haveBytes = limitBytes.getAsLong();
        if (haveMessages == 0 || haveBytes == 0) {
            return new Grant(0, 0, false);
        }
        int entries = wantEntries;
        long size = Math.max(1, wantBytes);
        if (haveMessages > 0) {
            long rest = haveMessages - claimedMessages;
            entries = rest <= 0 ? 0 : (int) Math.min(entries, Math.max(1, rest / each));
        }
        if (haveBytes > 0) {
            size = Math.min(size, haveBytes - claimedBytes);
        }
        return entries > 0 && size > 0 ? new Grant(entries, size, false) : new Grant(0, 0, true);
    }
}
