// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import georep.it.Publish;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.config.BatchingPolicy;
import org.apache.pulsar.client.api.v5.config.CompressionPolicy;
import org.apache.pulsar.client.api.v5.config.CompressionType;
import org.apache.pulsar.client.api.v5.config.MemorySize;
import org.apache.pulsar.client.api.v5.schema.Schema;

/**
 * An application: keyed messages at a steady rate, one producer per codec. It sends again what fails or is not
 * answered, and begins anew with another client when nothing is answered any more; so a message may be stored twice.
 */
final class CrashLoad implements AutoCloseable {
    private static final int KEYS = 64;
    private static final int BODY = 300;
    private static final int UNACKED = 500;
    private static final int UNANSWERED_SECONDS = 20;
    private static final Duration STUCK = Duration.ofSeconds(60);

    private final String serviceUrl;
    private final String topic;
    private final int perSecond;
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicInteger acked = new AtomicInteger();
    private final AtomicInteger restarts = new AtomicInteger();
    private final Semaphore room = new Semaphore(UNACKED);
    private final Thread thread;
    private volatile List<Producer<byte[]>> producers = List.of();
    private volatile long answeredNanos;
    private volatile boolean running;
    private volatile boolean closed;
    private PulsarClient client;

    CrashLoad(String serviceUrl, String topic, int perSecond) {
        this.serviceUrl = serviceUrl;
        this.topic = topic;
        this.perSecond = perSecond;
        this.thread = new Thread(this::publish, "load");
        thread.setDaemon(true);
        thread.start();
    }

    private void publish() {
        long due = System.nanoTime();
        while (!closed) {
            try {
                if (producers.isEmpty() || System.nanoTime() - answeredNanos > STUCK.toNanos()) {
                    open();
                    due = System.nanoTime();
                }
                if (!running || !room.tryAcquire(100, TimeUnit.MILLISECONDS)) {
                    idle();
                    due = System.nanoTime();
                    continue;
                }
                send(next.getAndIncrement());
                due += 1_000_000_000L / perSecond;
                LockSupport.parkNanos(due - System.nanoTime());
            } catch (InterruptedException e) {
                return;
            } catch (Exception e) {
                LockSupport.parkNanos(500_000_000L); // no broker is up
            }
        }
    }

    private void idle() {
        if (outstanding() == 0) {
            answeredNanos = System.nanoTime();
        }
        LockSupport.parkNanos(10_000_000L);
    }

    private void open() throws Exception {
        PulsarClient old = client;
        producers = List.of();
        if (old != null) {
            restarts.incrementAndGet();
            client = null;
            old.closeAsync();
        }
        client = PulsarClient.builder().serviceUrl(serviceUrl).build();
        List<Producer<byte[]>> all = new ArrayList<>();
        for (CompressionType c : CompressionType.values()) {
            all.add(client.newProducer(Schema.bytes()).topic(topic).compressionPolicy(CompressionPolicy.of(c))
                    .batchingPolicy(BatchingPolicy.builder().maxMessages(50).maxSize(MemorySize.ofKilobytes(64))
                            .maxPublishDelay(Duration.ofMillis(50)).build()).create());
        }
        answeredNanos = System.nanoTime();
        producers = all;
    }

    private void send(int n) {
        List<Producer<byte[]>> p = producers;
        CompletableFuture<?> sent;
        try {
            sent = p.get(n % p.size()).async().newMessage().key("k" + n % KEYS).value(body(n)).send()
                    .orTimeout(UNANSWERED_SECONDS, TimeUnit.SECONDS);
        } catch (RuntimeException e) {
            sent = CompletableFuture.failedFuture(e);
        }
        sent.whenComplete((id, e) -> {
            if (e == null) {
                answeredNanos = System.nanoTime();
                acked.incrementAndGet();
                room.release();
            } else if (!closed) {
                CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS).execute(() -> send(n));
            }
        });
    }

    private static byte[] body(int n) {
        StringBuilder s = new StringBuilder(Publish.text(n, KEYS));
        while (s.length() < BODY) {
            s.append(" item ").append(n * 31L % 5000);
        }
        return s.toString().getBytes(StandardCharsets.US_ASCII);
    }

    void run(boolean on) {
        running = on;
    }

    int acked() {
        return acked.get();
    }

    int outstanding() {
        return next.get() - acked.get();
    }

    /** How often the application had to begin anew. */
    int restarts() {
        return restarts.get();
    }

    @Override
    public void close() throws Exception {
        closed = true;
        thread.join();
        if (client != null) {
            client.close();
        }
    }
}
