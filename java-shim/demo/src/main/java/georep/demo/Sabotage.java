// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Spoils one entry that arrives at B, so that a test sees the verdict notice it. One spoilt entry per process: the
 * broker makes the topics, so they find their orders here.
 */
final class Sabotage {
    /** What happens to the entry; SWAP: the next one of its stream is stored before it. */
    enum Kind { NONE, REMOVE, SWAP, REPEAT }

    private static final int AFTER = 20; // replicated entries are left alone

    private static volatile Kind kind = Kind.NONE;
    private static final AtomicInteger SEEN = new AtomicInteger();
    private static final AtomicBoolean DONE = new AtomicBoolean();

    private Sabotage() {
    }

    static void order(Kind k) {
        kind = k;
        SEEN.set(0);
        DONE.set(false);
    }

    /** The entry that was taken can not be spoilt: another one, please. */
    static void takeAnother() {
        DONE.set(false);
    }

    /** What to do with an entry that has arrived; something else than NONE once. */
    static Kind take() {
        return kind != Kind.NONE && SEEN.incrementAndGet() > AFTER && DONE.compareAndSet(false, true) ? kind
                : Kind.NONE;
    }
}
