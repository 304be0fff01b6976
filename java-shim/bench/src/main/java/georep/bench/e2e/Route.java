// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.impl.ManagedCursorImpl;
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

    /** Name of the cursor of A's logs by which it reads. */
    abstract String cursor();

    /** Batches of each segment that went over before, to have everything connected. */
    long primed() {
        return 0;
    }

    /** Whether an entry of the backlog has been read, or been asked for: a bookie may read much before it answers. */
    final boolean reads() {
        for (PersistentTopic t : from) {
            ManagedCursor c = find(t);
            if (c instanceof ManagedCursorImpl m && (m.getPendingReadOpsCount() > 0
                    || c.getNumberOfEntries() < t.getManagedLedger().getNumberOfEntries() - primed())) {
                return true;
            }
        }
        return false;
    }

    private ManagedCursor find(PersistentTopic t) {
        for (ManagedCursor c : t.getManagedLedger().getCursors()) {
            if (c.getName().equals(cursor())) {
                return c;
            }
        }
        return null;
    }

    /** Begins to carry; may have begun before it returns. */
    abstract void start() throws Exception;

    /** How many entries of the backlog, or entries' worth of messages, are stored at B. */
    double arrived() {
        return stored() - primed() * Corpus.SEGMENTS * entriesPerEntry();
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
