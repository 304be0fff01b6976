// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.mledger.AsyncCallbacks.ReadEntryCallback;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedCursor.IndividualDeletedEntries;
import org.apache.bookkeeper.mledger.ManagedLedgerException;

/**
 * Publish time of the first entry behind a cursor, for a segment that is not reading (its remote is not written to): a
 * delay that showed 0 there would hide the outage. The entry is looked up in the background, every few seconds at most,
 * and only when somebody asks. Thread-safe.
 */
public final class OldestEntry {
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final ManagedCursor cursor;
    private final AtomicBoolean looking = new AtomicBoolean();
    private volatile long lookedNanos = System.nanoTime() - FRESH_NANOS;
    private volatile long publishTime = -1;

    public OldestEntry(ManagedCursor cursor) {
        this.cursor = cursor;
    }

    /** Milliseconds since 1970, as of the last look; -1 = not known yet. */
    public long publishTime() {
        if (System.nanoTime() - lookedNanos >= FRESH_NANOS && looking.compareAndSet(false, true)) {
            lookedNanos = System.nanoTime();
            cursor.asyncGetNthEntry(1, IndividualDeletedEntries.Exclude, new ReadEntryCallback() {
                @Override
                public void readEntryComplete(Entry entry, Object ctx) {
                    if (entry != null) {
                        EntryFlags f = new EntryFlags();
                        publishTime = f.read(entry.getDataBuffer()) && f.publishTime() > 0 ? f.publishTime() : -1;
                        entry.release();
                    }
                    looking.set(false);
                }

                @Override
                public void readEntryFailed(ManagedLedgerException e, Object ctx) {
                    looking.set(false);
                }
            }, null);
        }
        return publishTime;
    }
}
