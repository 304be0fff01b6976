// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs tasks one after the other, in the order of {@link #execute}, on threads borrowed from a pool; a caller never
 * waits. After each burst of tasks one finishing step runs, so that many events cost one native call. When the pool is
 * shut down, tasks run on the caller's thread: what is held must be released even then.
 */
public final class SerialExecutor implements Executor {
    private static final Logger LOG = LoggerFactory.getLogger(SerialExecutor.class);
    private static final int BURST = 256;

    private final Executor pool;
    private final Runnable afterBurst;
    private final Consumer<Throwable> onFailure;
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicInteger pending = new AtomicInteger();

    /**
     * @param afterBurst runs after each burst, in the same order and under the same exclusion as the tasks
     * @param onFailure  gets what a task or a step has thrown, under the same exclusion; the tasks behind it run all
     *                   the same
     */
    public SerialExecutor(Executor pool, Runnable afterBurst, Consumer<Throwable> onFailure) {
        this.pool = pool;
        this.afterBurst = afterBurst;
        this.onFailure = onFailure;
    }

    @Override
    public void execute(Runnable task) {
        tasks.add(task);
        if (pending.getAndIncrement() == 0) {
            schedule();
        }
    }

    private void schedule() {
        try {
            pool.execute(this::run);
        } catch (RejectedExecutionException e) {
            run();
        }
    }

    private void run() {
        int done = 0;
        Runnable t;
        while (done < BURST && (t = tasks.poll()) != null) {
            safely(t);
            done++;
        }
        safely(afterBurst);
        // what was counted but not run yet keeps the right to the next turn
        if (done > 0 && pending.addAndGet(-done) > 0 || done == 0 && pending.get() > 0) {
            schedule();
        }
    }

    private void safely(Runnable r) {
        try {
            r.run();
        } catch (Throwable e) {
            LOG.error("replication task failed", e);
            try {
                onFailure.accept(e);
            } catch (Throwable again) { // the counting of tasks must go on
                LOG.error("its failure could not be handled", again);
            }
        }
    }
}
