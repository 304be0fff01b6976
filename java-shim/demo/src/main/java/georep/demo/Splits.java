// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import georep.it.Cluster;
import georep.plugin.source.ReplicationStatus;
import georep.plugin.source.SourceBroker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;

/**
 * Splits segments of both clusters while traffic is in flight, each at a share of the load, and waits until the other
 * cluster has followed:
 *
 * <pre>
 *   at first     0000 4000 8000 c000               what both agreed on before the load
 *   1/6          0000 4000 8000 c000 e000          B splits c000: what A has in it is re-batched until A has, too
 *   2/6          0000 2000 4000 8000 c000 e000     A splits 0000: a segment of A covers less than B's: verbatim
 *   3/6          … 8000 a000 …                     A splits 8000
 *   4/6          0000 2000 3000 …                  B splits 2000
 * </pre>
 */
final class Splits {
    /**
     * One split; inFlight: messages without acknowledgement from A, or entries of A without one from B; followedMs:
     * until the other cluster had the same layout.
     */
    record Split(String cluster, long segment, int inFlight, long followedMs) {
    }

    /** A segment of B that is not split. */
    static final long KEPT = 1;

    private final Cluster a;
    private final Cluster b;
    private final String topic;
    private final Load load;
    private final Convergence convergence;
    private final int messages;
    private final List<Split> done = new ArrayList<>();
    private final Thread thread = new Thread(this::run, "splits");
    private volatile Throwable failure;

    Splits(Cluster a, Cluster b, String topic, Convergence convergence, Load load, int messages) {
        this.a = a;
        this.b = b;
        this.topic = topic;
        this.load = load;
        this.convergence = convergence;
        this.messages = messages;
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            split(1, b, 0xc000, this::replicating);
            split(2, a, 0x0000, load::inFlight);
            split(3, a, 0x8000, load::inFlight);
            split(4, b, 0x2000, this::replicating);
        } catch (Exception e) {
            failure = e;
        }
    }

    private void split(int sixth, Cluster c, int hash, IntSupplier inFlight) throws Exception {
        while (load.published() < messages / 6L * sixth) {
            LockSupport.parkNanos(1_000_000);
        }
        int n = underLoad(inFlight);
        long segment = Layouts.at(c, topic, hash);
        c.admin().scalableTopics().splitSegment(topic, segment);
        long ms = convergence.await();
        synchronized (done) {
            done.add(new Split(c.name, segment, n, ms));
        }
    }

    /** Waits until something is in flight; returns how much. */
    static int underLoad(IntSupplier inFlight) {
        long give = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        int n;
        while ((n = inFlight.getAsInt()) == 0) {
            if (System.nanoTime() > give) {
                throw new IllegalStateException("nothing is in flight to split under");
            }
            LockSupport.parkNanos(200_000);
        }
        return n;
    }

    /** Entries that A has stored and B has not acknowledged. */
    private int replicating() {
        return (int) SourceBroker.of(a.broker).status().all().stream()
                .mapToLong(ReplicationStatus.Replicator::backlog).sum();
    }

    void check() {
        if (failure != null) {
            throw new IllegalStateException("a split failed", failure);
        }
    }

    /** Waits for the last split. */
    List<Split> finish() throws InterruptedException {
        thread.join();
        check();
        return done;
    }
}
