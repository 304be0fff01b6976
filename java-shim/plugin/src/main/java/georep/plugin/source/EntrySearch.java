// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.AsyncCallbacks.ReadEntryCallback;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;

/**
 * Looks for the first entry of a ledger that was published at some time or later. Publish times rise with positions but
 * for what clocks do, so this halves; an entry that tells no time is taken for a late one: nothing is skipped for it.
 */
public final class EntrySearch {
    private final ManagedLedger log;
    private final long ledger;
    private final long millis;

    private EntrySearch(ManagedLedger log, long ledger, long millis) {
        this.log = log;
        this.ledger = ledger;
        this.millis = millis;
    }

    /** From first to last, both included; the position behind the last: none was. */
    public static CompletableFuture<Position> first(ManagedLedger log, Position first, Position last, long millis) {
        return new EntrySearch(log, first.getLedgerId(), millis).between(first.getEntryId(), last.getEntryId() + 1);
    }

    /** All before {@code low} are early, {@code high} and what follows is late. */
    private CompletableFuture<Position> between(long low, long high) {
        if (low >= high) {
            return CompletableFuture.completedFuture(PositionFactory.create(ledger, low));
        }
        long middle = low + (high - low) / 2;
        return late(middle).thenComposeAsync(late -> late ? between(low, middle) : between(middle + 1, high));
    }

    private CompletableFuture<Boolean> late(long entry) {
        CompletableFuture<Boolean> f = new CompletableFuture<>();
        log.asyncReadEntry(PositionFactory.create(ledger, entry), new ReadEntryCallback() {
            @Override
            public void readEntryComplete(Entry e, Object ctx) {
                try {
                    EntryFlags flags = new EntryFlags();
                    f.complete(!flags.read(e.getDataBuffer()) || flags.publishTime() <= 0
                            || flags.publishTime() >= millis);
                } finally {
                    e.release();
                }
            }

            @Override
            public void readEntryFailed(ManagedLedgerException e, Object ctx) {
                f.completeExceptionally(e);
            }
        }, null);
        return f;
    }
}
