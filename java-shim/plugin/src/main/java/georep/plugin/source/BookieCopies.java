// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.pulsar.common.util.FutureUtil;

/** Asks bookkeeper's own metadata about ledgers; no entry is read. */
public final class BookieCopies {
    /**
     * What bookkeeper says of one ledger.
     *
     * @param there         it has it
     * @param gone          it has not; neither: it does not say
     * @param createdMillis 0 = not known
     */
    public record Copy(boolean there, boolean gone, long createdMillis) {
    }

    private static final Copy NOT_SAID = new Copy(false, false, 0);

    private BookieCopies() {
    }

    public static CompletableFuture<Map<Long, Copy>> of(BookKeeper bookies, Collection<Long> ledgers) {
        Map<Long, Copy> copies = new ConcurrentHashMap<>();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (long id : ledgers) {
            all.add(of(bookies, id).thenAccept(c -> copies.put(id, c)));
        }
        return FutureUtil.waitForAll(all).thenApply(x -> copies);
    }

    private static CompletableFuture<Copy> of(BookKeeper bookies, long ledger) {
        try {
            return bookies.getLedgerManager().readLedgerMetadata(ledger).handle((m, e) -> {
                if (e == null) {
                    return new Copy(true, false, Math.max(0, m.getValue().getCtime()));
                }
                return FutureUtil.unwrapCompletionException(e) instanceof BKException b && isGone(b.getCode())
                        ? new Copy(false, true, 0) : NOT_SAID;
            });
        } catch (RuntimeException e) { // a client without metadata of its own
            return CompletableFuture.completedFuture(NOT_SAID);
        }
    }

    private static boolean isGone(int code) {
        return code == BKException.Code.NoSuchLedgerExistsException
                || code == BKException.Code.NoSuchLedgerExistsOnMetadataServerException;
    }
}
