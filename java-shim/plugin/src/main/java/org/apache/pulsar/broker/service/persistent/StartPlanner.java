// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Bootstrap;
import georep.nativelib.Json;
import georep.nativelib.Result;
import georep.plugin.source.EntrySearch;
import georep.plugin.source.Trees;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.common.util.FutureUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the core's planner of where a replication cursor starts: reads for it what the store says, moves the cursor
 * where it tells. Until it says so the cursor stays at the log start, so nothing is trimmed beneath it. Thread-safe;
 * nothing blocks.
 */
final class StartPlanner implements AutoCloseable {
    /** What there is to be read for a plan. */
    interface Store {
        /** georep.v1.BootstrapRead, as it is now. */
        CompletableFuture<ObjectNode> read();
    }

    private static final Logger LOG = LoggerFactory.getLogger(StartPlanner.class);

    private final String name;
    private final ManagedCursor cursor;
    private final Store store;
    private final ScheduledExecutorService timer;
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private final Bootstrap machine;
    private boolean closed; // guarded by this
    private String told = "";

    /** @param config JSON of georep.v1.BootstrapConfig */
    StartPlanner(String name, ManagedCursor cursor, ObjectNode config, Store store, ScheduledExecutorService timer) {
        this.name = name;
        this.cursor = cursor;
        this.store = store;
        this.timer = timer;
        this.machine = Bootstrap.open(Json.toProto("BootstrapConfig", config.toString()));
    }

    void start() {
        tick();
    }

    /** Completes when the cursor stands where it shall. */
    CompletableFuture<Void> done() {
        return done;
    }

    /** JSON of georep.v1.BootstrapStatus; null once it is closed. */
    synchronized String status() {
        return closed ? null : Json.fromProto("BootstrapStatus", machine.status());
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            machine.close();
            done.cancel(false);
        }
    }

    private void tick() {
        event("tick", Trees.node());
    }

    private void event(String kind, JsonNode value) {
        ObjectNode e = Trees.node().put("nowMillis", System.currentTimeMillis());
        e.set(kind, value);
        Result todo;
        synchronized (this) {
            if (closed) {
                return;
            }
            try {
                machine.step(Json.toProto("BootstrapEvent", e.toString()));
                todo = machine.result();
                tell();
            } catch (RuntimeException failed) {
                done.completeExceptionally(failed);
                return;
            }
        }
        todo.actions().forEach(this::carryOut);
        if (todo.wakeAtMillis() >= 0) {
            timer.schedule(this::tick, Math.max(1, todo.wakeAtMillis() - System.currentTimeMillis()),
                    TimeUnit.MILLISECONDS);
        }
    }

    /** Somebody will look for why nothing is replicated. */
    private void tell() {
        JsonNode status = Trees.parse(Json.fromProto("BootstrapStatus", machine.status()));
        String why = status.path("why").asText();
        if (!why.equals(told)) {
            told = why;
            if (!why.isEmpty()) {
                LOG.warn("[{}] where replication starts is not known yet, the cursor waits at the log start: {}", name,
                        why);
            }
        }
    }

    private void carryOut(Result.Action a) {
        JsonNode nothing = Trees.node();
        try {
            switch (a.kind()) {
                case Bootstrap.HOLD -> report("held", CursorReset.to(cursor, PositionFactory.EARLIEST)
                        .thenCompose(x -> CursorStart.hold(cursor, a.message())).thenApply(x -> nothing));
                case Bootstrap.READ -> report("read", store.read());
                case Bootstrap.FIND -> report("found", find(Trees.parse(Json.fromProto("BootstrapFind",
                        a.message()))));
                case Bootstrap.PLACE -> report("placed", CursorStart.store(cursor, a.message())
                        .thenCompose(x -> CursorStart.move(cursor, a.message())).thenApply(x -> nothing));
                case Bootstrap.BEGIN -> done.complete(null);
                default -> throw new IllegalStateException("action " + a.kind());
            }
        } catch (RuntimeException e) {
            report("", CompletableFuture.failedFuture(e));
        }
    }

    private void report(String kind, CompletableFuture<? extends JsonNode> outcome) {
        outcome.whenComplete((value, e) -> {
            if (e == null) {
                event(kind, value);
            } else {
                String why = String.valueOf(FutureUtil.unwrapCompletionException(e));
                event("failed", Trees.text(why));
            }
        });
    }

    private CompletableFuture<JsonNode> find(JsonNode f) {
        return EntrySearch.first(cursor.getManagedLedger(), Trees.position(f.path("first")),
                Trees.position(f.path("last")), f.path("millis").asLong()).thenApply(Trees::of);
    }
}
