// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import georep.plugin.GeorepPlugin;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.bookkeeper.mledger.util.ManagedLedgerUtils;
import org.apache.pulsar.broker.web.RestException;

/**
 * Reads pages of a segment's log for the raw reader, each through a cursor that lives no longer than the read, so that
 * no reader who went away holds back trimming. Blocks nobody; at most {@link #READERS} pages of a broker are in memory
 * at a time. Thread-safe.
 */
final class RawLog {
    static final int MAX_ENTRIES = 1000;
    static final int MAX_BYTES = 4 << 20;
    private static final int READERS = 4;
    private static final int HEAD = 8 + 8 + 4;

    private final Semaphore readers = new Semaphore(READERS);
    private final Executor executor;

    RawLog(GeorepPlugin plugin) {
        executor = plugin.pulsar().getExecutor();
    }

    /** What one read found; {@code next} is null at the end of the log. */
    record Page(byte[] bytes, Position next) {
        static final Page END = new Page(new byte[0], null);
    }

    /** The first bytes of one entry, and how many it has in all. */
    record Head(byte[] bytes, int size) { }

    /** Runs what reads one entry after another as one of the readers; 503 where there are too many. */
    <T> CompletableFuture<T> asReader(Supplier<CompletableFuture<T>> reading) {
        if (!readers.tryAcquire()) {
            return CompletableFuture.failedFuture(new RestException(503, "too many readers at once"));
        }
        CompletableFuture<T> done;
        try {
            done = reading.get();
        } catch (RuntimeException e) {
            done = CompletableFuture.failedFuture(e);
        }
        return done.whenComplete((x, e) -> readers.release());
    }

    /** The start of the entry at a position; for {@link #asReader}. */
    CompletableFuture<Head> head(ManagedLedger log, Position at, int max) {
        CompletableFuture<Head> head = new CompletableFuture<>();
        log.asyncReadEntry(at, new AsyncCallbacks.ReadEntryCallback() {
            @Override
            public void readEntryComplete(Entry entry, Object ctx) {
                byte[] b = new byte[Math.min(max, entry.getLength())];
                int size = entry.getLength();
                entry.getDataBuffer().getBytes(entry.getDataBuffer().readerIndex(), b);
                entry.release();
                executor.execute(() -> head.complete(new Head(b, size)));
            }

            @Override
            public void readEntryFailed(ManagedLedgerException e, Object ctx) {
                executor.execute(() -> head.completeExceptionally(e));
            }
        }, null);
        return head;
    }

    /** Reads on from a position, that one included; {@link PositionFactory#EARLIEST} is the start of the log. */
    CompletableFuture<Page> read(ManagedLedger log, Position from, int max) {
        Position last = log.getLastConfirmedEntry();
        if (last == null || last.getEntryId() < 0 && log.getNumberOfEntries() == 0 || from.compareTo(last) > 0) {
            return CompletableFuture.completedFuture(Page.END);
        }
        return asReader(() -> page(log, from, max, last));
    }

    private CompletableFuture<Page> page(ManagedLedger log, Position from, int max, Position last) {
        try {
            // a cursor starts behind the position that it is given
            ManagedCursor cursor = log.newNonDurableCursor(from.getLedgerId() < 0 ? from
                    : PositionFactory.create(from.getLedgerId(), from.getEntryId() - 1));
            cursor.setAlwaysInactive(); // what is read once need not be cached
            return (cursor.hasMoreEntries() ? ManagedLedgerUtils.readEntries(cursor, max, MAX_BYTES, last)
                    .thenApplyAsync(entries -> pack(entries, last), executor)
                    : CompletableFuture.completedFuture(Page.END))
                    .whenComplete((x, e) -> log.asyncDeleteCursor(cursor.getName(), IGNORE, null));
        } catch (ManagedLedgerException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static Page pack(List<Entry> entries, Position last) {
        try {
            int fit = 0;
            int size = 0;
            for (Entry e : entries) {
                int n = HEAD + e.getLength();
                if (fit > 0 && size + n > MAX_BYTES) {
                    break;
                }
                size += n;
                fit++;
            }
            ByteBuffer out = ByteBuffer.allocate(size);
            for (Entry e : entries.subList(0, fit)) {
                out.putLong(e.getLedgerId()).putLong(e.getEntryId()).putInt(e.getLength());
                int n = e.getLength();
                e.getDataBuffer().getBytes(e.getDataBuffer().readerIndex(), out.array(), out.position(), n);
                out.position(out.position() + n);
            }
            Position end = fit == 0 ? null : entries.get(fit - 1).getPosition();
            return new Page(out.array(), end == null || end.compareTo(last) >= 0 ? null
                    : PositionFactory.create(end.getLedgerId(), end.getEntryId() + 1));
        } finally {
            entries.forEach(Entry::release);
        }
    }

    private static final AsyncCallbacks.DeleteCursorCallback IGNORE = new AsyncCallbacks.DeleteCursorCallback() {
        @Override
        public void deleteCursorComplete(Object ctx) {
        }

        @Override
        public void deleteCursorFailed(ManagedLedgerException exception, Object ctx) {
        }
    };
}
