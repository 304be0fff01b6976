// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.concurrent.ThreadLocalRandom;

/** Doubling pauses with jitter (half to full), in milliseconds. Not thread-safe. */
final class Retry {
    private final long firstMillis;
    private final long maxMillis;
    private long nextMillis;

    Retry(long firstMillis, long maxMillis) {
        this.firstMillis = firstMillis;
        this.maxMillis = maxMillis;
        this.nextMillis = firstMillis;
    }

    /** The next pause. */
    long next() {
        long pause = nextMillis;
        nextMillis = Math.min(maxMillis, nextMillis * 2);
        return pause / 2 + ThreadLocalRandom.current().nextLong(pause / 2 + 1);
    }

    /** The next pause will be the first again. */
    void reset() {
        nextMillis = firstMillis;
    }
}
