// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A token bucket for every caller, of whom it knows the thousand that called last. Thread-safe.
 */
final class CallerBuckets {
    private static final int MAX_CALLERS = 1000;

    private final double burst;
    private final double perNano;
    private final LongSupplier nanos;
    private final Map<String, Bucket> buckets = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Bucket> eldest) {
            return size() > MAX_CALLERS;
        }
    };

    private static final class Bucket {
        private double tokens;
        private long at;
    }

    /** {@code burst} tokens at first and at most; {@code nanos}: a clock that does not go back. */
    CallerBuckets(int burst, int perSecond, LongSupplier nanos) {
        this.burst = burst;
        this.perNano = (double) perSecond / TimeUnit.SECONDS.toNanos(1);
        this.nanos = nanos;
    }

    /** Takes one token: 0. Where there is none: in how many seconds, rounded up, there will be one. */
    synchronized long take(String caller) {
        long now = nanos.getAsLong();
        Bucket b = buckets.computeIfAbsent(caller, c -> {
            Bucket full = new Bucket();
            full.tokens = burst;
            full.at = now;
            return full;
        });
        b.tokens = Math.min(burst, b.tokens + (now - b.at) * perNano);
        b.at = now;
        if (b.tokens >= 1) {
            b.tokens--;
            return 0;
        }
        return Math.max(1, (long) Math.ceil((1 - b.tokens) / perNano / TimeUnit.SECONDS.toNanos(1)));
    }

    synchronized int size() {
        return buckets.size();
    }
}
