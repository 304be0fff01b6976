// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import com.fasterxml.jackson.databind.JsonNode;
import georep.nativelib.Json;
import georep.plugin.source.Trees;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.apache.bookkeeper.mledger.AsyncCallbacks;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.service.BrokerServiceException.PersistenceException;
import org.apache.pulsar.common.api.proto.CommandSubscribe.InitialPosition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a replication cursor started and what that left out, and, until that is decided, that it is not: kept with the
 * cursor, so every later owner of the segment knows.
 *
 * <pre>
 *   georep.starting   JSON of georep.v1.BootstrapHold, while the cursor stands at the log start and waits for a plan
 *   georep.start      georep.v1.StartPlan: base64 of gzip, for a manifest may list thousands of ledgers
 * </pre>
 */
final class CursorStart {
    static final String STARTING = "georep.starting";
    static final String START = "georep.start";

    private static final Logger LOG = LoggerFactory.getLogger(CursorStart.class);

    private CursorStart() {
    }

    /** A cursor at the log start that says that its start is not decided; or the one that is there, as it is. */
    static CompletableFuture<ManagedCursor> open(ManagedLedger log, String name) {
        CompletableFuture<ManagedCursor> f = new CompletableFuture<>();
        log.asyncOpenCursor(name, InitialPosition.Earliest, Map.of(), Map.of(STARTING, starting(log)),
                new AsyncCallbacks.OpenCursorCallback() {
                    @Override
                    public void openCursorComplete(ManagedCursor cursor, Object ctx) {
                        f.complete(cursor);
                    }

                    @Override
                    public void openCursorFailed(ManagedLedgerException e, Object ctx) {
                        f.completeExceptionally(new PersistenceException(e));
                    }
                }, null);
        return f;
    }

    /** Nothing that follows what is stored now is ever skipped. */
    private static String starting(ManagedLedger log) {
        var hold = Trees.node().put("sinceMillis", System.currentTimeMillis());
        hold.set("end", Trees.of(Trees.behind(log.getLastConfirmedEntry())));
        return hold.toString();
    }

    /** JSON of the BootstrapHold, or null. */
    static String hold(ManagedCursor cursor) {
        return cursor.getCursorProperties().get(STARTING);
    }

    /** Bytes of the StartPlan, or null. */
    static byte[] plan(ManagedCursor cursor) {
        String v = cursor.getCursorProperties().get(START);
        if (v == null) {
            return null;
        }
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(v)))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(cursor.getName() + ": " + START, e);
        }
    }

    static CompletableFuture<Void> hold(ManagedCursor cursor, byte[] hold) {
        return cursor.putCursorProperty(STARTING, Json.fromProto("BootstrapHold", hold));
    }

    /** Keeps a plan. Who takes over before the cursor has moved finds the hold, where there is one, and plans again. */
    static CompletableFuture<Void> store(ManagedCursor cursor, byte[] plan) {
        return cursor.putCursorProperty(START, packed(plan));
    }

    /** The cursor starts where the plan says, and nothing is left to decide. */
    static CompletableFuture<Void> move(ManagedCursor cursor, byte[] plan) {
        JsonNode p = Trees.parse(Json.fromProto("StartPlan", plan));
        Position start = Trees.position(p.path("start"));
        return CursorReset.to(cursor, start).thenCompose(x -> forgetHold(cursor)).thenRun(() -> LOG.info("[{}] {} "
                + "starts at {}: {} entries, {} bytes are not replicated by choice", cursor.getManagedLedger()
                .getName(), cursor.getName(), start, p.path("entries").asLong(), p.path("bytes").asLong()));
    }

    /** The cursor starts at the position for a reason of its own: nothing is left out that was not left out before. */
    static CompletableFuture<Void> forget(ManagedCursor cursor) {
        return remove(cursor, START).thenCompose(x -> forgetHold(cursor));
    }

    private static CompletableFuture<Void> forgetHold(ManagedCursor cursor) {
        return remove(cursor, STARTING);
    }

    private static CompletableFuture<Void> remove(ManagedCursor cursor, String key) {
        return cursor.getCursorProperties().containsKey(key) ? cursor.removeCursorProperty(key)
                : CompletableFuture.completedFuture(null);
    }

    private static String packed(byte[] plan) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (GZIPOutputStream zip = new GZIPOutputStream(out)) {
            zip.write(plan);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Base64.getEncoder().encodeToString(out.toByteArray());
    }
}
