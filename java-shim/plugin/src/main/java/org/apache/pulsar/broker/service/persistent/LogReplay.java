// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.bookkeeper.mledger.util.ManagedLedgerUtils;

/** Reads a log from a position to its end, once, through a cursor of its own that is gone afterwards. */
final class LogReplay {
    private static final int ENTRIES_PER_READ = 100;

    private final ManagedLedger ledger;
    private final Executor executor;
    private final Consumer<ByteBuf> reader;
    private ManagedCursor cursor;
    private Position last;

    /** {@code reader} gets each entry's bytes; it must not keep them. */
    LogReplay(ManagedLedger ledger, Executor executor, Consumer<ByteBuf> reader) {
        this.ledger = ledger;
        this.executor = executor;
        this.reader = reader;
    }

    /** False where entries up to the position are missing at the end of the log or of a ledger; trimmed is not. */
    static boolean reaches(ManagedLedger ledger, Position position) {
        Position end = ledger.getLastConfirmedEntry();
        LedgerInfo its = ledger.getLedgersInfo().get(position.getLedgerId());
        boolean open = position.getLedgerId() == end.getLedgerId(); // an open ledger's entries are not in its info
        return position.compareTo(end) <= 0 && (its == null || open || its.getEntries() > position.getEntryId());
    }

    /** Reads what comes after the position; the result is the last position read, or {@code after}. */
    CompletableFuture<Position> run(Position after) {
        last = after;
        try {
            cursor = ledger.newNonDurableCursor(after);
            cursor.setAlwaysInactive(); // what is read once need not be cached
        } catch (ManagedLedgerException e) {
            return CompletableFuture.failedFuture(e);
        }
        return next().whenComplete((x, e) -> ledger.asyncDeleteCursor(cursor.getName(), IGNORE, null));
    }

    private CompletableFuture<Position> next() {
        if (!cursor.hasMoreEntries()) {
            return CompletableFuture.completedFuture(last);
        }
        return ManagedLedgerUtils.readEntries(cursor, ENTRIES_PER_READ, PositionFactory.LATEST)
                .thenComposeAsync(this::take, executor);
    }

    private CompletableFuture<Position> take(List<Entry> entries) {
        try {
            for (Entry e : entries) {
                reader.accept(e.getDataBuffer());
                last = e.getPosition();
            }
        } finally {
            entries.forEach(Entry::release);
        }
        return next();
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
