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
        CompletableFuture<Void> f = new CompletableFuture<>();
        ledger.asyncSetProperty(key, value, new AsyncCallbacks.UpdatePropertiesCallback() {
            @Override
            public void updatePropertiesComplete(Map<String, String> properties, Object ctx) {
                f.complete(null);
            }

            @Override
            public void updatePropertiesFailed(ManagedLedgerException exception, Object ctx) {
                f.completeExceptionally(exception);
            }
        }, null);
        return f;
    }
}
