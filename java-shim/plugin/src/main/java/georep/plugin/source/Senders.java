// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongFunction;

/** A window's senders, one per remote segment, made when they are needed. On the window's executor. */
final class Senders {
    private final LongFunction<SegmentSender> factory;
    private final Map<Long, SegmentSender> bySegment = new HashMap<>();
    private volatile boolean anyOpen;

    Senders(LongFunction<SegmentSender> factory) {
        this.factory = factory;
    }

    SegmentSender to(long segment) {
        return bySegment.computeIfAbsent(segment, factory::apply);
    }

    void close(long segment) {
        SegmentSender s = bySegment.get(segment);
        if (s != null) {
            s.close();
        }
    }

    /** Writes what was sent since the last call. */
    void flush() {
        bySegment.values().forEach(SegmentSender::flush);
        note();
    }

    private void note() {
        anyOpen = bySegment.values().stream().anyMatch(SegmentSender::isOpen);
    }

    /** Whether one has a connection; any thread. */
    boolean anyOpen() {
        return anyOpen;
    }

    /** Closes those that had nothing to send for so long. */
    void closeIdle(long idleNanos) {
        for (SegmentSender s : bySegment.values()) {
            if (s.isOpen() && s.idleNanos() > idleNanos) {
                s.close();
            }
        }
        bySegment.values().removeIf(SegmentSender::isIdle);
        note();
    }

    /** Closes all; completes when no producer is left behind. */
    CompletableFuture<Void> shutdown() {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (SegmentSender s : bySegment.values()) {
            CompletableFuture<Void> f = new CompletableFuture<>();
            all.add(f);
            s.shutdown(() -> f.complete(null));
        }
        return CompletableFuture.allOf(all.toArray(CompletableFuture[]::new));
    }
}
