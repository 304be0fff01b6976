// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Messages;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;

/** The application on B: a stream consumer that notes what it gets, in order. */
final class Receiver implements AutoCloseable {
    static final String SUBSCRIPTION = "application";

    private final StreamConsumer<byte[]> consumer;
    private final Sequences received = new Sequences();
    private final AtomicInteger count = new AtomicInteger();
    private final Thread thread;
    private volatile boolean stopped;
    private volatile Throwable failure;

    Receiver(PulsarClient client, String topic) throws Exception {
        consumer = client.newStreamConsumer(Schema.bytes()).topic(topic).subscriptionName(SUBSCRIPTION)
                .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe();
        thread = new Thread(this::receive, "receiver");
        thread.setDaemon(true);
        thread.start();
    }

    private void receive() {
        try {
            while (!stopped) {
                Messages<byte[]> some = consumer.receiveMulti(1000, Duration.ofMillis(100));
                if (some == null || some.count() == 0) {
                    continue;
                }
                for (Message<byte[]> m : some) {
                    received.add(m.key().orElse(""), Load.number(m.value()));
                    // each, not the last: what two segments deliver at once may be queued against the order in which
                    // their positions were noted, and then the last one's id does not cover the other
                    consumer.acknowledgeCumulative(m.id());
                }
                count.addAndGet(some.count());
            }
        } catch (Exception e) {
            failure = e;
        }
    }

    int count() {
        return count.get();
    }

    void check() {
        if (failure != null) {
            throw new IllegalStateException("receiving failed", failure);
        }
    }

    /** Ends receiving and returns everything, by key. */
    Sequences stop() throws InterruptedException {
        stopped = true;
        thread.join();
        return received;
    }

    @Override
    public void close() throws Exception {
        stop();
        consumer.close();
    }
}
