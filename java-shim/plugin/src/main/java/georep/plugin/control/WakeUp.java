// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** The one time at which a machine wants to be called next: set anew it only comes earlier. Not thread-safe. */
final class WakeUp {
    private final ScheduledExecutorService executor;
    private final Runnable task;
    private ScheduledFuture<?> timer;
    private long at;

    WakeUp(ScheduledExecutorService executor, Runnable task) {
        this.executor = executor;
        this.task = task;
    }

    /** Runs the task at a time (ms since 1970), or when it was to run anyway; a time below 0 asks for nothing. */
    void at(long millis) {
        long now = System.currentTimeMillis();
        // one that is due may be just ending, and has told what this wake comes from
        if (millis < 0 || timer != null && !timer.isDone() && at > now && at <= millis) {
            return;
        }
        cancel();
        at = millis;
        timer = executor.schedule(task, Math.max(1, millis - now), TimeUnit.MILLISECONDS);
    }

    void cancel() {
        if (timer != null) {
            timer.cancel(false);
        }
    }
}
