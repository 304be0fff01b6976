// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import georep.plugin.GeorepPlugin;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.apache.pulsar.common.policies.data.ErrorData;

/**
 * Lets calls of other clusters in, before their bodies are read: so many a second from one caller, and so many bytes of
 * bodies at a time. What is refused may come again; a peer does so by itself. One per broker; thread-safe.
 */
final class ExchangeGate {
    /** Of all calls that are being answered. In trees and messages they take some ten times as much. */
    static final long MAX_BYTES = 8L * BodyLimit.MAX_BYTES;
    private static final int TOO_MANY = 429;

    private final int perSecond;
    private final CallerBuckets calls;
    private final AtomicLong bytes = new AtomicLong();

    /** Twice as many calls as a second's worth may come at once. */
    ExchangeGate(int perSecond, LongSupplier nanos) {
        this.perSecond = perSecond;
        this.calls = new CallerBuckets(2 * perSecond, perSecond, nanos);
    }

    static ExchangeGate of(GeorepPlugin plugin) {
        return plugin.service(ExchangeGate.class,
                p -> new ExchangeGate(p.config().exchangeCallsPerSecond(), System::nanoTime));
    }

    /** Closed when the call has been answered. */
    interface Pass extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Lets a call in.
     *
     * @param caller role and address
     * @param length bytes that its body announces, negative where it announces none: it counts as the largest then
     * @throws WebApplicationException 429 with Retry-After
     */
    Pass enter(String caller, long length) {
        long wait = calls.take(caller);
        if (wait > 0) {
            throw tooMany("more than " + perSecond + " calls a second from " + caller, wait);
        }
        long n = length < 0 ? BodyLimit.MAX_BYTES : length;
        if (bytes.addAndGet(n) > MAX_BYTES) {
            bytes.addAndGet(-n);
            throw tooMany("more than " + MAX_BYTES + " bytes of calls are being answered", 1);
        }
        AtomicBoolean in = new AtomicBoolean(true);
        return () -> {
            if (in.getAndSet(false)) {
                bytes.addAndGet(-n);
            }
        };
    }

    static WebApplicationException tooMany(String why, long retrySeconds) {
        return new WebApplicationException(why, Response.status(TOO_MANY).header(HttpHeaders.RETRY_AFTER, retrySeconds)
                .type(MediaType.APPLICATION_JSON).entity(new ErrorData(why)).build());
    }
}
