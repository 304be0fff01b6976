// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import io.netty.buffer.ByteBuf;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.util.ManagedLedgerUtils;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/**
 * Sequence ids of ordinary producers after a reload, where the policy is on. The broker's own replay takes a replicated
 * entry's producer name for a local one: a producer that has the same name on two clusters would then find its next
 * messages dropped as duplicates of the other cluster's. This repeats the replay without replicated entries. Used once,
 * while the topic is loaded and nobody publishes.
 */
final class OrdinarySequences {
    private final ManagedLedger ledger;
    private final Position from;
    private final Map<String, Long> sequences;
    private final MessageMetadata metadata = new MessageMetadata();
    private boolean replicatedSeen;

    private OrdinarySequences(ManagedLedger ledger, Position from, Map<String, Long> sequences) {
        this.ledger = ledger;
        this.from = from;
        this.sequences = sequences;
    }

    /** What the deduplication cursor says before the broker's replay moves it; null where there is no cursor. */
    static OrdinarySequences before(ManagedLedger ledger, ManagedCursor cursor) {
        return cursor == null ? null : new OrdinarySequences(ledger, cursor.getMarkDeletedPosition(),
                new HashMap<>(cursor.getProperties()));
    }

    /** Puts the right numbers into both maps, and into the cursor if the broker's were wrong. */
    CompletableFuture<Void> restore(Executor executor, ManagedCursor cursor, Map<String, Long> pushed,
                                    Map<String, Long> persisted) {
        return new LogReplay(ledger, executor, this::take).run(from).thenCompose(last -> {
            if (!replicatedSeen) {
                return CompletableFuture.completedFuture(null);
            }
            pushed.clear();
            pushed.putAll(sequences);
            persisted.clear();
            persisted.putAll(sequences);
            return last.compareTo(cursor.getMarkDeletedPosition()) < 0 ? CompletableFuture.completedFuture(null)
                    : ManagedLedgerUtils.markDelete(cursor, last, sequences);
        });
    }

    private void take(ByteBuf entry) {
        try {
            Commands.parseMessageMetadata(entry, metadata.clear());
        } catch (RuntimeException e) {
            return; // the broker's replay has passed it by as well
        }
        if (metadata.hasReplicatedFrom()) {
            replicatedSeen = true;
        } else {
            sequences.put(metadata.getProducerName(), Math.max(metadata.getHighestSequenceId(),
                    metadata.getSequenceId()));
        }
    }
}
