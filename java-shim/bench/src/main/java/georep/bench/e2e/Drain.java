// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * One backlog that goes over: published while nothing carries, then started. What happens before the first bytes are
 * stored at B is the start-up; what is measured is from there to the last.
 */
final class Drain {
    private static final OperatingSystemMXBean OS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(90);
    private static final long POLL_NANOS = 500_000;
    private static final int SETTLE_MILLIS = 200;

    private Drain() {
    }

    /**
     * What it took.
     *
     * @param rate    raw MB/s
     * @param cpu     CPU seconds of the whole process per raw GB, in the same span
     * @param startup seconds from the call that starts it to the first bytes at B
     */
    record Result(double rate, double cpu, double startup, double seconds) {
    }

    /** Publishes, drains, and checks everything that came. */
    static Result run(Route route, Entries entries, long batchesPerSegment) throws Exception {
        long total = batchesPerSegment * Corpus.SEGMENTS;
        long t0 = System.nanoTime();
        Publisher p = new Publisher(route.from, entries);
        while (p.published() < total) {
            p.publish();
        }
        p.flush();
        long t1 = System.nanoTime();
        System.gc();
        Thread.sleep(SETTLE_MILLIS);
        Result r = measure(route, total);
        route.assertWay(total);
        long t2 = System.nanoTime();
        route.verify(entries, batchesPerSegment);
        System.err.printf("publish %.2f verify %.2f%n", (t1 - t0) / 1e9, (System.nanoTime() - t2) / 1e9);
        return r;
    }

    private static Result measure(Route route, long batches) throws Exception {
        double all = (double) batches * route.entriesPerEntry();
        long called = System.nanoTime();
        route.start();
        long deadline = called + PATIENCE_NANOS;
        double first = await(route, Double.MIN_VALUE, deadline);
        long t = System.nanoTime();
        long cpu = OS.getProcessCpuTime();
        await(route, all, deadline);
        double seconds = (System.nanoTime() - t) / 1e9;
        double cpuSeconds = (OS.getProcessCpuTime() - cpu) / 1e9;
        double raw = (1 - first / all) * batches * Corpus.RAW;
        return new Result(raw / 1e6 / seconds, cpuSeconds / (raw / 1e9), (t - called) / 1e9, seconds);
    }

    private static double await(Route route, double want, long deadline) {
        for (;;) {
            double n = route.arrived();
            if (n >= want) {
                return n;
            }
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("only " + n + " of " + want + " arrived");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }
}
