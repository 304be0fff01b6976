// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.broker.service.persistent.DispatchRateLimiter;
import org.apache.pulsar.broker.service.persistent.DispatchRateLimiterAsyncTokenBucketImpl;
import org.apache.pulsar.broker.service.persistent.DispatchRateLimiterFactoryAsyncTokenBucket;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;

/** The broker's own limiters; those of replicators tell what they were charged. Named in the broker's configuration. */
public final class CountingRates extends DispatchRateLimiterFactoryAsyncTokenBucket {
    @Override
    public DispatchRateLimiter createReplicatorDispatchRateLimiter(PersistentTopic topic, String subscriptionName) {
        return new Counting(topic, subscriptionName);
    }

    /** Never forgets what it was charged, also when the rate changes. */
    static final class Counting extends DispatchRateLimiterAsyncTokenBucketImpl {
        final AtomicLong messages = new AtomicLong();
        final AtomicLong bytes = new AtomicLong();
        final AtomicLong refusals = new AtomicLong();

        Counting(PersistentTopic topic, String subscriptionName) {
            super(topic, subscriptionName, Type.REPLICATOR);
        }

        /** The limiter of a segment's replicator, which is there. */
        static Counting of(Cluster c, String segment, Cluster remote) throws Exception {
            return (Counting) c.segment(segment).getReplicators().get(remote.name).getRateLimiter().orElseThrow();
        }

        @Override
        public void consumeDispatchQuota(long numberOfMessages, long byteSize) {
            super.consumeDispatchQuota(numberOfMessages, byteSize);
            messages.addAndGet(numberOfMessages);
            bytes.addAndGet(byteSize);
        }

        @Override
        public long getAvailableDispatchRateLimitOnMsg() {
            return counted(super.getAvailableDispatchRateLimitOnMsg());
        }

        @Override
        public long getAvailableDispatchRateLimitOnByte() {
            return counted(super.getAvailableDispatchRateLimitOnByte());
        }

        private long counted(long available) {
            if (available == 0) {
                refusals.incrementAndGet();
            }
            return available;
        }
    }
}
