// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import georep.plugin.Audit;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.TopicRecord;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.common.naming.TopicName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The generation of one replication cursor. The destination forgets nothing of a generation, so a cursor that begins
 * anew (replication off and on, even so quickly that no leader saw the gap) must never reuse one: what it reads again
 * would count as stored already. The cursor carries its generation as a property; the ledger remembers the last one
 * that any cursor for this remote had.
 *
 * <p>The ledger also remembers that there is a cursor, from its first generation until it is removed on purpose. A new
 * cursor where there should be an old one means that somebody deleted the old one, and with it what it had not
 * replicated: wherever new cursors start here, this one starts at the first entry that is still there, and it is told.
 *
 * <pre>
 *   ledger   georep.generation.REMOTE   last generation given out
 *            georep.cursor.REMOTE       there is a cursor
 *   cursor   georep.generation          its own
 *            georep.lost                when its predecessor was found missing
 * </pre>
 */
final class CursorGeneration {
    static final String PROPERTY = "georep.generation";
    static final String LOST = "georep.lost";
    private static final String EXISTS = "georep.cursor.";
    private static final Logger LOG = LoggerFactory.getLogger(CursorGeneration.class);

    private final GeorepPlugin plugin;
    private final TopicName topic;
    private final ManagedLedger ledger;
    private final LedgerProperties properties;
    private final String remote;

    CursorGeneration(GeorepPlugin plugin, TopicName topic, ManagedLedger ledger, LedgerProperties properties,
                     String remote) {
        this.plugin = plugin;
        this.topic = topic;
        this.ledger = ledger;
        this.properties = properties;
        this.remote = remote;
    }

    /** The cursor's generation, given one first where it has none. */
    CompletableFuture<Long> of(ManagedCursor cursor, TopicRecord record) {
        String own = cursor.getCursorProperties().get(PROPERTY);
        if (own != null) {
            return exists().thenApply(x -> Long.parseUnsignedLong(own));
        }
        CompletableFuture<Void> start = isLost(cursor) ? lost(cursor) : CompletableFuture.completedFuture(null);
        return start.thenCompose(x -> next(cursor, record)).thenCompose(g -> exists().thenApply(x -> g));
    }

    /** The cursor is new, and there should be an old one. */
    boolean isLost(ManagedCursor cursor) {
        return cursor.getCursorProperties().get(PROPERTY) == null && properties.get(EXISTS + remote) != null;
    }

    /** The cursor is removed, or given a new generation, on purpose. */
    static CompletableFuture<Void> forget(LedgerProperties properties, String remote) {
        return properties.remove(EXISTS + remote);
    }

    private CompletableFuture<Void> exists() {
        return properties.set(EXISTS + remote, "1");
    }

    private CompletableFuture<Void> lost(ManagedCursor cursor) {
        return CursorReset.to(cursor, PositionFactory.EARLIEST).thenCompose(x -> CursorStart.forget(cursor))
                .thenCompose(x -> cursor.putCursorProperty(LOST, Instant.now().toString())).thenRun(() -> {
                    String from = String.valueOf(ledger.getFirstPosition());
                    plugin.counters().cursorsLost.increment();
                    LOG.error("[{}] the replication cursor for {} was deleted by hand; the new one starts at the first "
                            + "entry that is still there, {}: what had arrived arrives again, in a new generation",
                            ledger.getName(), remote, from);
                    Audit.log("replication", "cursor-lost", ledger.getName(), "remote=" + remote + " from=" + from
                            + " entries=" + cursor.getNumberOfEntriesInBacklog(false));
                });
    }

    private CompletableFuture<Long> next(ManagedCursor cursor, TopicRecord record) {
        String lastText = properties.get(ledgerProperty());
        long last = lastText == null ? 0 : Long.parseUnsignedLong(lastText);
        return raised(record, last).thenCompose(g -> {
            String value = Long.toUnsignedString(g);
            // the ledger first: a crash in between costs a number, the other order would hand it out twice
            return properties.set(ledgerProperty(), value)
                    .thenCompose(x -> cursor.putCursorProperty(PROPERTY, value)).thenApply(x -> g);
        });
    }

    private CompletableFuture<Long> raised(TopicRecord record, long last) {
        if (record.generation(remote) > last) {
            return CompletableFuture.completedFuture(record.generation(remote));
        }
        return plugin.records().change(topic, r -> r.raiseGeneration(remote, last))
                .thenApply(m -> TopicRecord.of(m).generation(remote));
    }

    private String ledgerProperty() {
        return PROPERTY + "." + remote;
    }
}
