// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.async.AsyncMessageBuilder;
import org.apache.pulsar.client.api.v5.config.BatchingPolicy;
import org.apache.pulsar.client.api.v5.config.CompressionPolicy;
import org.apache.pulsar.client.api.v5.config.CompressionType;
import org.apache.pulsar.client.api.v5.config.MemorySize;
import org.apache.pulsar.client.api.v5.schema.Schema;

/** Publishes: one producer per codec and one without keys, all at once, evenly over the time that was set. */
final class Load implements AutoCloseable {
    static final int KEYS = 64;
    private static final int BODY = 400;
    private static final int UNACKED = 4000; // per producer
    private static final int ATTEMPTS = 20;
    private static final int UNANSWERED_SECONDS = 10;
    private static final Duration BATCH_DELAY = Duration.ofMillis(50); // long enough to fill batches of two
    private static final int KEYLESS = 20;   // one message in so many has no key

    private final List<Producer<byte[]>> producers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicInteger next;
    private final AtomicInteger acked = new AtomicInteger();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final int first;
    private final int messages;
    private final double perNano;
    private volatile boolean open;

    /** Messages {@code first} and so on, in batches of so many at most. */
    Load(PulsarClient client, String topic, int first, int messages, int batch, double seconds) throws Exception {
        this.first = first;
        this.next = new AtomicInteger(first);
        this.messages = messages;
        this.perNano = messages / (seconds * 1e9);
        for (CompressionType c : CompressionType.values()) {
            producers.add(producer(client, topic, c, batch));
        }
        producers.add(producer(client, topic, CompressionType.LZ4, batch));
    }

    private static Producer<byte[]> producer(PulsarClient client, String topic, CompressionType c, int batch)
            throws Exception {
        return client.newProducer(Schema.bytes()).topic(topic).sendTimeout(Duration.ofSeconds(60))
                .compressionPolicy(CompressionPolicy.of(c)).blockIfQueueFull(true)
                .batchingPolicy(BatchingPolicy.builder().maxMessages(batch).maxSize(MemorySize.ofKilobytes(128))
                        .maxPublishDelay(BATCH_DELAY).build())
                .create();
    }

    /** Goes on at the same pace beyond its messages, until {@link #end}. */
    void startOpen() {
        open = true;
        start();
    }

    void end() {
        open = false;
    }

    void start() {
        long began = System.nanoTime();
        for (int i = 0; i < producers.size(); i++) {
            Producer<byte[]> p = producers.get(i);
            boolean keyless = i == producers.size() - 1;
            int share = keyless ? messages / KEYLESS : share(i);
            double pace = perNano * share / messages;
            Thread t = new Thread(() -> publish(p, share, keyless, began, pace), "load-" + i);
            t.setDaemon(true);
            threads.add(t);
            t.start();
        }
    }

    /** The keyed producers share what the keyless one leaves, the first takes the rest of the division. */
    private int share(int producer) {
        int keyed = messages - messages / KEYLESS;
        int n = producers.size() - 1;
        return keyed / n + (producer == 0 ? keyed % n : 0);
    }

    private void publish(Producer<byte[]> p, int share, boolean keyless, long began, double pace) {
        Semaphore room = new Semaphore(UNACKED);
        try {
            for (int i = 0; (i < share || open) && failure.get() == null; i++) {
                for (double wait; (wait = i / pace - (System.nanoTime() - began)) > 0;) {
                    LockSupport.parkNanos((long) Math.min(wait, 5e6));
                }
                room.acquire();
                send(p, next.getAndIncrement(), keyless, room, 1);
            }
        } catch (InterruptedException | RuntimeException e) {
            failure.compareAndSet(null, e);
        }
    }

    /**
     * Sends a message until it is stored. When a segment is sealed this client may throw, or never answer, where it
     * should route again; an application sends again, so the message may be stored twice on A.
     */
    private void send(Producer<byte[]> p, int number, boolean keyless, Semaphore room, int attempt) {
        AsyncMessageBuilder<byte[]> m = p.async().newMessage().value(body(number));
        if (!keyless) {
            m = m.key("user-" + number % KEYS);
        }
        CompletableFuture<?> sent;
        try {
            sent = m.send().orTimeout(UNANSWERED_SECONDS, TimeUnit.SECONDS);
        } catch (RuntimeException e) {
            sent = CompletableFuture.failedFuture(e);
        }
        sent.whenComplete((id, e) -> {
            if (e == null) {
                room.release();
                acked.incrementAndGet();
            } else if (attempt == ATTEMPTS) {
                failure.compareAndSet(null, e);
                room.release();
            } else {
                CompletableFuture.delayedExecutor(50L * attempt, TimeUnit.MILLISECONDS)
                        .execute(() -> send(p, number, keyless, room, attempt + 1));
            }
        });
    }

    /** A message's number, then text that compresses like text. */
    private static byte[] body(int number) {
        StringBuilder s = new StringBuilder(BODY);
        for (int i = 0; s.length() < BODY - 4; i++) {
            s.append("{\"item\":").append((number * 31L + i * 17L) % 5000).append(",\"state\":\"")
                    .append((number + i) % 3 == 0 ? "open" : "closed").append("\"},");
        }
        return ByteBuffer.allocate(BODY).putInt(number)
                .put(s.toString().getBytes(StandardCharsets.US_ASCII), 0, BODY - 4).array();
    }

    /** The number that a body tells. */
    static int number(byte[] body) {
        return ByteBuffer.wrap(body).getInt();
    }

    int published() {
        return next.get() - first;
    }

    int acked() {
        return acked.get();
    }

    /** Sent and not yet acknowledged by A. */
    int inFlight() {
        return published() - acked.get();
    }

    boolean done() {
        return !open && acked.get() >= messages && threads.stream().noneMatch(Thread::isAlive) && inFlight() == 0;
    }

    void check() throws Exception {
        if (failure.get() != null) {
            throw new IllegalStateException("publishing failed", failure.get());
        }
    }

    @Override
    public void close() throws Exception {
        for (Producer<byte[]> p : producers) {
            p.close();
        }
    }
}
