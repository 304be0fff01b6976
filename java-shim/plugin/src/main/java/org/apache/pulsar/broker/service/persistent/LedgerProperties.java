// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;

/** Properties of a managed ledger as futures; they outlive its cursors. */
final class LedgerProperties {
    private LedgerProperties() {
    }

    static CompletableFuture<Void> set(ManagedLedger ledger, String key, String value) {
        if (value.equals(ledger.getProperties().get(key))) {
            return CompletableFuture.completedFuture(null);
        }
        Outcome f = new Outcome();
        ledger.asyncSetProperty(key, value, f, null);
        return f;
    }

    static CompletableFuture<Void> remove(ManagedLedger ledger, String key) {
        if (!ledger.getProperties().containsKey(key)) {
            return CompletableFuture.completedFuture(null);
        }
        Outcome f = new Outcome();
        ledger.asyncDeleteProperty(key, f, null);
        return f;
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
