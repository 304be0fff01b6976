// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import georep.it.Cluster;
import georep.plugin.source.SourceBroker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** Whether the layouts of a topic are the same on all clusters, and what happens to entries once they are. */
final class Convergence {
    private static final Duration AT_MOST = Duration.ofSeconds(60);

    private final List<Cluster> clusters;
    private final String topic;

    /**
     * What was sent from any cluster to the others since some time.
     *
     * @param entries   keyed batches that were sent as they are
     * @param rebatched those that had to be cut
     */
    record Sent(long entries, long rebatched) {
        Sent since(Sent earlier) {
            return new Sent(entries - earlier.entries, rebatched - earlier.rebatched);
        }
    }

    Convergence(List<Cluster> clusters, String topic) {
        this.clusters = clusters;
        this.topic = topic;
    }

    /** Waits until all layouts are the same, drained or not; returns how long that took, milliseconds. */
    long await() throws Exception {
        long began = System.nanoTime();
        while (true) {
            List<String> layouts = layouts();
            if (layouts.stream().distinct().count() == 1 && layouts.equals(layouts())) {
                return (System.nanoTime() - began) / 1_000_000;
            }
            if (System.nanoTime() - began > AT_MOST.toNanos()) {
                throw new IllegalStateException("the layouts stay apart: " + layouts);
            }
            LockSupport.parkNanos(2_000_000);
        }
    }

    private List<String> layouts() throws Exception {
        List<String> all = new ArrayList<>();
        for (Cluster c : clusters) {
            all.add(Layouts.text(c, topic));
        }
        return all;
    }

    /** So far, as the core counts it. */
    Sent sent() {
        long entries = 0;
        long rebatched = 0;
        for (Cluster c : clusters) {
            for (Map<String, Long> n : SourceBroker.of(c.broker).status().counters().values()) {
                entries += n.getOrDefault("verbatim", 0L);
                rebatched += n.getOrDefault("rebatched", 0L);
            }
        }
        return new Sent(entries, rebatched);
    }
}
