// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.function.BooleanSupplier;

/**
 * Lets a replicator begin when no read of its cursor is under way. A read that an earlier replicator of the same cursor
 * has begun moves the read position when it ends; after a rewind it would skip entries, and what is sent behind them
 * would make them count as stored. One per cursor, shared by the replicators that follow each other. Thread-safe.
 */
final class CursorReads {
    private BooleanSupplier busy;
    private Runnable waiting;

    /** Runs the task once {@code reading} is false: now, or at the end of a read. The latest caller counts. */
    void whenIdle(BooleanSupplier reading, Runnable then) {
        synchronized (this) {
            busy = reading;
            waiting = then;
        }
        ended(); // it may have ended before
    }

    /** A read has ended. */
    void ended() {
        Runnable r;
        synchronized (this) {
            if (waiting == null || busy.getAsBoolean()) {
                return;
            }
            r = waiting;
            waiting = null;
            busy = null;
        }
        r.run();
    }
}
