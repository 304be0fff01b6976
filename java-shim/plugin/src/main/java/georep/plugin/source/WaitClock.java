// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

/** How long somebody has waited for something in all, the wait that goes on included. Thread-safe. */
final class WaitClock {
    private long nanos;
    private long since;
    private boolean waiting;

    /** A wait begins; nothing where one goes on. */
    synchronized void start(long nowNanos) {
        if (!waiting) {
            waiting = true;
            since = nowNanos;
        }
    }

    /** It ends, by what was waited for or without; nothing where none goes on. */
    synchronized void stop(long nowNanos) {
        nanos = total(nowNanos);
        waiting = false;
    }

    synchronized long total(long nowNanos) {
        return waiting ? nanos + Math.max(0, nowNanos - since) : nanos;
    }
}
