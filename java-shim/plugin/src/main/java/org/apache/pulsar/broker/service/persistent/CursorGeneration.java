// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import georep.plugin.control.TopicRecord;
import georep.plugin.control.TopicRecords;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.pulsar.common.naming.TopicName;

/**
 * The generation of one replication cursor. The destination forgets nothing of a generation, so a cursor that begins
 * anew (replication off and on, even so quickly that no leader saw the gap) must never reuse one: what it reads again
 * would count as stored already. The cursor carries its generation as a property; the ledger remembers the last one
 * that any cursor for this remote had.
 */
final class CursorGeneration {
    static final String PROPERTY = "georep.generation";

    private final TopicRecords records;
    private final TopicName topic;
    private final ManagedLedger ledger;
    private final String remote;

    CursorGeneration(TopicRecords records, TopicName topic, ManagedLedger ledger, String remote) {
        this.records = records;
        this.topic = topic;
        this.ledger = ledger;
        this.remote = remote;
    }

    /** The cursor's generation, given one first where it has none. */
    CompletableFuture<Long> of(ManagedCursor cursor, TopicRecord record) {
        String own = cursor.getCursorProperties().get(PROPERTY);
        if (own != null) {
            return CompletableFuture.completedFuture(Long.parseUnsignedLong(own));
        }
        String lastText = ledger.getProperties().get(ledgerProperty());
        long last = lastText == null ? 0 : Long.parseUnsignedLong(lastText);
        return raised(record, last).thenCompose(g -> {
            String value = Long.toUnsignedString(g);
            // the ledger first: a crash in between costs a number, the other order would hand it out twice
            return LedgerProperties.set(ledger, ledgerProperty(), value)
                    .thenCompose(x -> cursor.putCursorProperty(PROPERTY, value)).thenApply(x -> g);
        });
    }

    private CompletableFuture<Long> raised(TopicRecord record, long last) {
        if (record.generation(remote) > last) {
            return CompletableFuture.completedFuture(record.generation(remote));
        }
        return records.change(topic, r -> r.raiseGeneration(remote, last))
                .thenApply(m -> TopicRecord.of(m).generation(remote));
    }

    private String ledgerProperty() {
        return PROPERTY + "." + remote;
    }
}
