// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import georep.it.Cluster;
import georep.plugin.source.SourceBroker;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** Whether the layouts of a topic are the same on both clusters, and what happens to entries once they are. */
final class Convergence {
    private static final Duration AT_MOST = Duration.ofSeconds(60);

    private final Cluster a;
    private final Cluster b;
    private final String topic;

    /**
     * What was sent from either cluster to the other since some time.
     *
     * @param entries   keyed batches that were sent as they are
     * @param rebatched those that had to be cut
     */
    record Sent(long entries, long rebatched) {
        Sent since(Sent earlier) {
            return new Sent(entries - earlier.entries, rebatched - earlier.rebatched);
        }
    }

    Convergence(Cluster a, Cluster b, String topic) {
        this.a = a;
        this.b = b;
        this.topic = topic;
    }

    /** Waits until both layouts are the same; returns how long that took, milliseconds. */
    long await() throws Exception {
        long began = System.nanoTime();
        while (true) {
            String at = Layouts.text(a, topic);
            if (at.equals(Layouts.text(b, topic)) && at.equals(Layouts.text(a, topic))) {
                return (System.nanoTime() - began) / 1_000_000;
            }
            if (System.nanoTime() - began > AT_MOST.toNanos()) {
                throw new IllegalStateException("the layouts stay apart: A " + at + ", B " + Layouts.text(b, topic));
            }
            LockSupport.parkNanos(2_000_000);
        }
    }

    /** So far, as the core counts it. */
    Sent sent() {
        long entries = 0;
        long rebatched = 0;
        for (Cluster c : List.of(a, b)) {
            for (Map<String, Long> n : SourceBroker.of(c.broker).status().counters().values()) {
                entries += n.getOrDefault("verbatim", 0L);
                rebatched += n.getOrDefault("rebatched", 0L);
            }
        }
        return new Sent(entries, rebatched);
    }
}
