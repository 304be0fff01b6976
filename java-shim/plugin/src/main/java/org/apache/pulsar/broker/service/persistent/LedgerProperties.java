// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;

/**
 * Properties of a managed ledger as futures; they outlive its cursors. They lie in the ledger's record, which a
 * termination writes without waiting for a write under way: the loser would fence the ledger. So both take turns here.
 * One per segment. Thread-safe.
 */
final class LedgerProperties {
    private final ManagedLedger ledger;
    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null); // guarded by this

    LedgerProperties(ManagedLedger ledger) {
        this.ledger = ledger;
    }

    /** The value; null where there is none. */
    String get(String key) {
        return ledger.getProperties().get(key);
    }

    CompletableFuture<Void> set(String key, String value) {
        return inTurn(() -> {
            Outcome f = new Outcome();
            if (value.equals(get(key))) {
                f.complete(null);
            } else {
                ledger.asyncSetProperty(key, value, f, null);
            }
            return f;
        });
    }

    CompletableFuture<Void> remove(String key) {
        return inTurn(() -> {
            Outcome f = new Outcome();
            if (get(key) == null) {
                f.complete(null);
            } else {
                ledger.asyncDeleteProperty(key, f, null);
            }
            return f;
        });
    }

    /** Another write of the ledger's record: after those that have begun, before those to come. */
    synchronized <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> write) {
        CompletableFuture<T> next = tail.handle((x, e) -> null).thenCompose(x -> write.get());
        tail = next;
        return next;
    }

    private static final class Outcome extends CompletableFuture<Void>
            implements AsyncCallbacks.UpdatePropertiesCallback {
        @Override
        public void updatePropertiesComplete(Map<String, String> properties, Object ctx) {
            complete(null);
        }

        @Override
        public void updatePropertiesFailed(ManagedLedgerException exception, Object ctx) {
            completeExceptionally(exception);
        }
    }
}
