// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * One backlog that goes over: published while nothing carries, then started. What happens before the first entry is
 * asked for is the start-up; what is measured is from there until the last is stored at B. (Not from the first that is
 * stored there: some read all of a backlog before.)
 */
final class Drain {
    private static final OperatingSystemMXBean OS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(90);
    private static final long POLL_NANOS = 500_000;
    private static final int SETTLE_MILLIS = 200;
    private static final boolean THREADS = Boolean.getBoolean("bench.threads");

    private Drain() {
    }

    /**
     * What it took.
     *
     * @param rate    raw MB/s
     * @param cpu     CPU seconds of the whole process per raw GB, in the same span
     * @param startup seconds from the call that starts it to the first read of A's log
     */
    record Result(double rate, double cpu, double startup, double seconds) {
    }

    /** Publishes, drains, and checks everything that came. */
    static Result run(Route route, Entries entries, long batchesPerSegment) throws Exception {
        long total = batchesPerSegment * Corpus.SEGMENTS;
        Publisher p = new Publisher(route.from, entries, route.primed());
        for (long i = 0; i < total; i++) {
            p.publish();
        }
        p.flush();
        Thread.sleep(SETTLE_MILLIS);
        Result r = measure(route, total);
        route.assertWay(total);
        route.verify(entries, batchesPerSegment + route.primed());
        return r;
    }

    private static Result measure(Route route, long batches) throws Exception {
        double all = (double) batches * route.entriesPerEntry();
        long called = System.nanoTime();
        CompletableFuture<Void> started = CompletableFuture.runAsync(() -> { // the call may return when all is over
            try {
                route.start();
            } catch (Exception e) {
                throw new CompletionException(e);
            }
        });
        await(route, "nothing is read", called, route::reads);
        ThreadTimes threads = THREADS ? new ThreadTimes() : null;
        long t = System.nanoTime();
        long cpu = OS.getProcessCpuTime();
        await(route, "not everything arrives", called, () -> route.arrived() >= all);
        double seconds = (System.nanoTime() - t) / 1e9;
        double cpuSeconds = (OS.getProcessCpuTime() - cpu) / 1e9;
        started.get(PATIENCE_NANOS, TimeUnit.NANOSECONDS);
        if (threads != null) {
            System.err.println(route.getClass().getSimpleName() + ": " + threads);
        }
        double raw = (double) batches * Corpus.RAW;
        return new Result(raw / 1e6 / seconds, cpuSeconds / (raw / 1e9), (t - called) / 1e9, seconds);
    }

    private static void await(Route route, String what, long since, BooleanSupplier done) {
        while (!done.getAsBoolean()) {
            if (System.nanoTime() - since > PATIENCE_NANOS) {
                throw new IllegalStateException(route.getClass().getSimpleName() + ": " + what + ": "
                        + route.arrived());
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }
}
