// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;

/** Moves a cursor, as a future. */
final class CursorReset {
    private CursorReset() {
    }

    /** The next entry read is the first at or after the position. */
    static CompletableFuture<Void> to(ManagedCursor cursor, Position position) {
        CompletableFuture<Void> f = new CompletableFuture<>();
        cursor.asyncResetCursor(position, true, new AsyncCallbacks.ResetCursorCallback() {
            @Override
            public void resetComplete(Object ctx) {
                f.complete(null);
            }

            @Override
            public void resetFailed(ManagedLedgerException exception, Object ctx) {
                f.completeExceptionally(exception);
            }
        });
        return f;
    }
}
