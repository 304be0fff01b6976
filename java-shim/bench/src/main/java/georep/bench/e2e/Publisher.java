// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;

/**
 * Publishes ready-made entries to the segments of a topic in turn, at the point where the broker takes them from a
 * connection.
 */
final class Publisher {
    private static final int UNANSWERED = 64;

    private final List<PersistentTopic> segments;
    private final Entries entries;
    private final Semaphore room = new Semaphore(UNANSWERED);
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    private final Topic.PublishContext receipt = new Topic.PublishContext() {
        @Override
        public void completed(Exception e, long ledgerId, long entryId) {
            if (e != null) {
                failure.compareAndSet(null, e);
            }
            room.release();
        }

        @Override
        public long getNumberOfMessages() {
            return Corpus.BATCH;
        }

        @Override
        public String getProducerName() {
            return "bench";
        }
    };
    private volatile long next; // one thread publishes

    /** Begins behind so many batches of each segment. */
    Publisher(List<PersistentTopic> segments, Entries entries, long behind) {
        this.next = behind * Corpus.SEGMENTS;
        this.segments = segments;
        this.entries = entries;
    }

    /** The next entry, of the next segment. */
    void publish() throws Exception {
        int segment = (int) (next % Corpus.SEGMENTS);
        room.acquire();
        ByteBuf e = entries.entry(segment, next / Corpus.SEGMENTS);
        next++;
        try {
            segments.get(segment).publishMessage(e, receipt);
        } finally {
            e.release();
        }
        check();
    }

    /** Returns when all is stored. */
    void flush() throws Exception {
        room.acquire(UNANSWERED);
        room.release(UNANSWERED);
        check();
    }

    private void check() {
        if (failure.get() != null) {
            throw new IllegalStateException("publishing failed", failure.get());
        }
    }

    /** Number of the next entry, all segments together. */
    long published() {
        return next;
    }
}
