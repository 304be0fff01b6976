// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * A steady stream of ready-made entries over a route, in two threads: one publishes each entry when it is due, one sees
 * when it is stored at B. Spans of time are measured while it goes on.
 */
final class Steady implements AutoCloseable {
    private static final long POLL_NANOS = 500_000;
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** What arrived in a span: entries, and how long after they were due, nanoseconds. */
    record Span(double entriesPerSecond, Histogram latency) {
    }

    private final Route route;
    private final Publisher publisher;
    private final long gap;
    private final long base;
    private final long[] seen = new long[Corpus.SEGMENTS];
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final Thread publishes;
    private final Thread sees;
    private Histogram histogram = new Histogram(MAX_NANOS, 3);
    private volatile boolean stop;

    Steady(Route route, Entries entries, double bytesPerSecond) {
        this.route = route;
        this.publisher = new Publisher(route.from, entries, route.primed());
        this.gap = (long) (Corpus.RAW / bytesPerSecond * 1e9);
        this.base = System.nanoTime();
        this.publishes = new Thread(() -> guarded(this::publish), "bench-publish");
        this.sees = new Thread(() -> guarded(this::see), "bench-see");
        publishes.start();
        sees.start();
    }

    /** Something that may fail. */
    private interface Work {
        void run() throws Exception;
    }

    private void guarded(Work w) {
        try {
            w.run();
        } catch (Exception e) {
            failure.compareAndSet(null, e);
        }
    }

    /** Ends with whole rounds of the segments. */
    private void publish() throws Exception {
        for (long i = 0; !stop || i % Corpus.SEGMENTS != 0; i++) {
            long wait;
            while ((wait = base + i * gap - System.nanoTime()) > 0) {
                LockSupport.parkNanos(wait);
            }
            publisher.publish();
        }
        publisher.flush();
    }

    private void see() {
        while (publishes.isAlive() || !arrivedAll()) {
            look();
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    private synchronized void look() {
        long now = System.nanoTime();
        for (int s = 0; s < Corpus.SEGMENTS; s++) {
            long n = route.to.get(s).getManagedLedger().getNumberOfEntries() - route.primed();
            for (; seen[s] < n; seen[s]++) {
                histogram.recordValue(Math.min(MAX_NANOS, Math.max(0, now - base - (seen[s] * Corpus.SEGMENTS + s)
                        * gap)));
            }
        }
    }

    private boolean arrivedAll() {
        return route.arrived() >= published();
    }

    /** Entries so far, without those that primed the route. */
    long published() {
        return publisher.published() - route.primed() * Corpus.SEGMENTS;
    }

    /** Whether what is published is stored at B within so much time. */
    boolean follows(long nanos) {
        return published() - route.arrived() <= (double) nanos / gap;
    }

    Span span(long nanos) throws Exception {
        start();
        long t = System.nanoTime();
        TimeUnit.NANOSECONDS.sleep(nanos);
        look();
        Histogram h = start();
        if (failure.get() != null) {
            throw new IllegalStateException("the steady stream failed", failure.get());
        }
        return new Span(h.getTotalCount() / ((System.nanoTime() - t) / 1e9), h);
    }

    private synchronized Histogram start() {
        Histogram before = histogram;
        histogram = new Histogram(MAX_NANOS, 3);
        return before;
    }

    /** Returns when everything published is stored at B. */
    @Override
    public void close() throws Exception {
        stop = true;
        publishes.join();
        sees.join(TimeUnit.SECONDS.toMillis(60));
        if (failure.get() != null || sees.isAlive()) {
            throw new IllegalStateException("the steady stream failed; " + route.arrived() + " of " + published(),
                    failure.get());
        }
    }
}
