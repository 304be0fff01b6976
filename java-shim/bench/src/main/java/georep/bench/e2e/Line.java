// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;

/**
 * An application's producers on A and its consumers at the other end, one for each segment. A batch is due at a time
 * that is known beforehand, and a message's latency is from then until the consumer has it, so a publisher that is held
 * up does not make it smaller. Consumers compare every message with what was published.
 */
final class Line implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 30;
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** Batches of one window are due every so many nanoseconds, first at the base, the segments in turn. */
    private record Window(long base, long gap, long first, long measuredFrom, Histogram to) {
    }

    private final Corpus corpus;
    private final List<Producer<byte[]>> producers = new ArrayList<>();
    private final List<Consumer<byte[]>> consumers = new ArrayList<>();
    private final AtomicLong received = new AtomicLong();
    private final AtomicReference<String> wrong = new AtomicReference<>();
    private volatile Window window;
    private long sent; // batches of each segment
    private long late;

    /** {@code behind}: batches of each segment that are there already. */
    Line(Entries entries, PulsarClientImpl atA, List<PersistentTopic> from, PulsarClientImpl atEnd,
         List<PersistentTopic> to, long behind) throws Exception {
        this.corpus = entries.corpus;
        this.sent = behind;
        this.window = new Window(0, 0, 0, Long.MAX_VALUE, new ConcurrentHistogram(MAX_NANOS, 3));
        for (int s = 0; s < Corpus.SEGMENTS; s++) {
            consumers.add(consumer(atEnd, to.get(s).getName(), s));
            producers.add(producer(atA, from.get(s).getName(), entries));
        }
    }

    private Producer<byte[]> producer(PulsarClientImpl client, String topic, Entries entries) throws Exception {
        ProducerConfigurationData c = new ProducerConfigurationData();
        c.setTopicName(topic);
        c.setBatchingEnabled(true);
        c.setBatchingMaxMessages(Corpus.BATCH);
        c.setBatchingMaxBytes(4 << 20);
        c.setBatchingMaxPublishDelayMicros(1, TimeUnit.SECONDS);
        c.setCompressionType(entries.codec);
        c.setMaxPendingMessages(20 * Corpus.BATCH);
        c.setBlockIfQueueFull(true);
        c.setSendTimeoutMs(0);
        return client.createSegmentProducerAsync(c, Schema.BYTES).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private Consumer<byte[]> consumer(PulsarClientImpl client, String topic, int segment) throws Exception {
        ConsumerConfigurationData<byte[]> c = new ConsumerConfigurationData<>();
        c.getTopicNames().add(topic);
        c.setSubscriptionName("receiver");
        c.setReceiverQueueSize(10 * Corpus.BATCH);
        c.setSubscriptionInitialPosition(SubscriptionInitialPosition.Earliest);
        long[] n = {0};
        c.setMessageListener((x, m) -> receive(x, m, segment, n[0]++));
        return client.subscribeSegmentAsync(c, Schema.BYTES).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Message n of a segment. */
    private void receive(Consumer<byte[]> c, Message<byte[]> m, int segment, long n) {
        long now = System.nanoTime();
        long batch = n / Corpus.BATCH;
        Window w = window;
        long due = w.base + ((batch - w.first) * Corpus.SEGMENTS + segment) * w.gap;
        if (batch >= w.first && due >= w.measuredFrom) {
            w.to.recordValue(Math.min(MAX_NANOS, Math.max(0, now - due)));
        }
        Corpus.Message want = corpus.batch(segment, batch)[(int) (n % Corpus.BATCH)];
        if (!want.key().equals(m.getKey()) || Corpus.crc(Unpooled.wrappedBuffer(m.getData()))
                != want.crc()) {
            wrong.compareAndSet(null, c.getTopic() + ": message " + n + " is not A's");
        }
        MessageIdAdv id = (MessageIdAdv) m.getMessageId();
        if (id.getBatchIndex() == id.getBatchSize() - 1) {
            c.acknowledgeCumulativeAsync(id);
        }
        received.incrementAndGet();
    }

    /** Publishes at a rate for a while and returns the latencies, nanoseconds, of what was due after the warm-up. */
    Histogram run(double bytesPerSecond, long warmUpNanos, long nanos) throws Exception {
        long gap = (long) (Corpus.RAW / bytesPerSecond * 1e9);
        long rounds = (warmUpNanos + nanos) / gap / Corpus.SEGMENTS;
        long base = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
        Histogram h = new ConcurrentHistogram(MAX_NANOS, 3);
        window = new Window(base, gap, sent, base + warmUpNanos, h);
        for (long i = 0; i < rounds * Corpus.SEGMENTS; i++) {
            long wait;
            while ((wait = base + i * gap - System.nanoTime()) > 0) {
                LockSupport.parkNanos(wait);
            }
            late = Math.max(late, -wait);
            int s = (int) (i % Corpus.SEGMENTS);
            for (Corpus.Message m : corpus.batch(s, sent + i / Corpus.SEGMENTS)) {
                producers.get(s).newMessage().key(m.key()).value(m.value()).sendAsync();
            }
        }
        sent += rounds;
        long all = sent * Corpus.SEGMENTS * Corpus.BATCH;
        Route.await("everything to be received", () -> received.get() >= all);
        if (wrong.get() != null || received.get() != all) {
            throw new IllegalStateException(wrong.get() + "; received " + received.get() + " of " + all);
        }
        return h;
    }

    /** How late the publisher was at most, nanoseconds. */
    long late() {
        return late;
    }

    @Override
    public void close() throws Exception {
        for (Producer<byte[]> p : producers) {
            p.close();
        }
        for (Consumer<byte[]> c : consumers) {
            c.close();
        }
    }
}
