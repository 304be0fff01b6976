// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;

/** A topic on A, one on B, and what carries entries over once it is started. */
abstract class Route implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 60;

    final Pair pair;
    /** A's segments or partitions, four. */
    List<PersistentTopic> from;
    /** B's. */
    List<PersistentTopic> to;

    Route(Pair pair) {
        this.pair = pair;
    }

    /** Begins to carry; returns at once. */
    abstract void start() throws Exception;

    /** How many of so many batches' bytes are stored at B, as far as can be told without reading: entries. */
    double arrived() {
        return stored();
    }

    /** Entries at B of one at A. */
    int entriesPerEntry() {
        return 1;
    }

    /** Throws where the way that entries took is not the one that is measured. */
    void assertWay(long entries) {
        // there is only one
    }

    /** Throws unless B has exactly what A has, so many batches of each segment. */
    abstract void verify(Entries entries, long batchesPerSegment) throws Exception;

    final long stored() {
        long n = 0;
        for (PersistentTopic t : to) {
            n += t.getManagedLedger().getNumberOfEntries();
        }
        return n;
    }

    static void await(String what, BooleanSupplier done) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!done.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("waited " + PATIENCE_SECONDS + " s in vain for " + what);
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    @Override
    public abstract void close() throws Exception;
}
