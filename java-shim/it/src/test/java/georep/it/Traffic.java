// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.awaitility.Awaitility;

/** Keyed messages of the v5 client, published until it is closed; at most 400 unacknowledged. */
final class Traffic implements AutoCloseable {
    private static final int WINDOW = 400;
    private static final int ATTEMPTS = 100;

    private final PulsarClient client;
    private final Producer<byte[]> producer;
    private final int keys;
    private final int perSecond;
    private final AtomicInteger next;
    private final AtomicInteger stored = new AtomicInteger();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final Semaphore free = new Semaphore(WINDOW);
    private final Thread thread;
    private volatile boolean stop;

    private Traffic(Cluster c, String topic, int keys, int first, int perSecond) throws Exception {
        this.client = c.v5();
        this.producer = client.newProducer(Schema.bytes()).topic(topic).create();
        this.keys = keys;
        this.perSecond = perSecond;
        this.next = new AtomicInteger(first);
        this.thread = new Thread(this::publish, "traffic");
    }

    /** Begins to publish without a pause; numbers start at {@code first}. */
    static Traffic start(Cluster c, String topic, int keys, int first) throws Exception {
        return start(c, topic, keys, first, 0);
    }

    /** Begins to publish so many messages a second; 0: without a pause. */
    static Traffic start(Cluster c, String topic, int keys, int first, int perSecond) throws Exception {
        Traffic t = new Traffic(c, topic, keys, first, perSecond);
        t.thread.start();
        return t;
    }

    private void publish() {
        try {
            long began = System.nanoTime();
            for (int n = 0; !stop && failure.get() == null; n++) {
                pace(began, n);
                free.acquire();
                send(next.getAndIncrement(), 1);
            }
            free.acquire(WINDOW);
        } catch (Throwable e) {
            failure.compareAndSet(null, e);
        }
    }

    /** Waits until message n after the beginning is due. */
    private void pace(long began, int n) {
        long due = perSecond == 0 ? 0 : began + n * 1_000_000_000L / perSecond - System.nanoTime();
        if (due > 0) {
            LockSupport.parkNanos(due);
        }
    }

    /**
     * Sends a message until it is stored. At a seal this client may fail a message that it never sent, where it should
     * route it again; an application sends it again.
     */
    private void send(int n, int attempt) {
        producer.async().newMessage().key("k" + n % keys)
                .value(Publish.text(n, keys).getBytes(StandardCharsets.UTF_8)).send().whenComplete((id, e) -> {
                    if (e == null) {
                        stored.incrementAndGet();
                        free.release();
                    } else if (attempt < ATTEMPTS && sealed(String.valueOf(e.getMessage()))) {
                        CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS)
                                .execute(() -> send(n, attempt + 1));
                    } else {
                        failure.compareAndSet(null, e);
                        free.release();
                    }
                });
    }

    private static boolean sealed(String message) {
        return message.contains("not found in active") || message.contains("TopicTerminated");
    }

    /** Waits until so many more messages are stored. */
    void more(int messages) {
        int target = stored.get() + messages;
        Awaitility.await().atMost(60, TimeUnit.SECONDS).pollInterval(5,
                TimeUnit.MILLISECONDS)
                        .until(() -> stored.get() >= target || failure.get() != null);
    }

    /** Stops, and returns the number that would have been next. */
    int finish() throws Exception {
        stop = true;
        thread.join();
        if (failure.get() != null) {
            throw new AssertionError("publishing failed", failure.get());
        }
        return next.get();
    }

    @Override
    public void close() throws Exception {
        stop = true;
        thread.join();
        producer.close();
        client.close();
    }
}
