// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.TypedMessageBuilder;

/**
 * What users build where they have nothing else: a consumer on A and a producer to B for each partition, keys and
 * order kept, batches packed again as large as they were, acknowledged when B has them.
 */
final class MirrorRoute extends Route {
    private static final String SUBSCRIPTION = "mirror";
    private static final int PREFETCH_BATCHES = 10;
    private static final int PENDING_BATCHES = 20;
    private static int topics;

    private final String topic = "persistent://" + Pair.PLAIN + "/mirrored" + topics++;
    private final PulsarClient atA;
    private final List<Producer<byte[]>> producers = new ArrayList<>();
    private final List<Consumer<byte[]>> consumers = new ArrayList<>();
    private final LongAdder done = new LongAdder();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    /** The clients are connected before. */
    MirrorRoute(Pair pair, PulsarClient atA, PulsarClient atB, Entries entries) throws Exception {
        super(pair);
        this.atA = atA;
        pair.a.admin().topics().createPartitionedTopic(topic, Corpus.SEGMENTS);
        pair.b.admin().topics().createPartitionedTopic(topic, Corpus.SEGMENTS);
        List<String> names = Pair.partitions(topic);
        from = Pair.load(pair.a, names);
        to = Pair.load(pair.b, names);
        for (String name : names) {
            producers.add(atB.newProducer().topic(name).compressionType(entries.codec).enableBatching(true)
                    .batchingMaxMessages(Corpus.BATCH).batchingMaxBytes(4 << 20)
                    .batchingMaxPublishDelay(10, TimeUnit.MILLISECONDS).blockIfQueueFull(true)
                    .maxPendingMessages(PENDING_BATCHES * Corpus.BATCH).sendTimeout(0, TimeUnit.SECONDS).create());
        }
    }

    @Override
    String cursor() {
        return SUBSCRIPTION;
    }

    @Override
    void start() throws Exception {
        for (int i = 0; i < Corpus.SEGMENTS; i++) {
            Producer<byte[]> p = producers.get(i);
            consumers.add(atA.newConsumer().topic(from.get(i).getName()).subscriptionName(SUBSCRIPTION)
                    .subscriptionType(SubscriptionType.Exclusive)
                    .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                    .receiverQueueSize(PREFETCH_BATCHES * Corpus.BATCH)
                    .messageListener((c, m) -> copy(c, m, p)).subscribe());
        }
    }

    private void copy(Consumer<byte[]> c, Message<byte[]> m, Producer<byte[]> p) {
        TypedMessageBuilder<byte[]> b = p.newMessage().value(m.getData());
        if (m.hasKey()) {
            b.key(m.getKey());
        }
        if (!m.getProperties().isEmpty()) {
            b.properties(m.getProperties());
        }
        if (m.getEventTime() > 0) {
            b.eventTime(m.getEventTime());
        }
        MessageIdAdv id = (MessageIdAdv) m.getMessageId();
        boolean last = id.getBatchIndex() == id.getBatchSize() - 1;
        b.sendAsync().whenComplete((x, e) -> {
            if (e != null) {
                failure.compareAndSet(null, e);
                return;
            }
            done.increment();
            if (last) {
                c.acknowledgeCumulativeAsync(id);
            }
        });
    }

    @Override
    double arrived() {
        if (failure.get() != null) {
            throw new IllegalStateException("the mirror failed", failure.get());
        }
        return (double) done.sum() / Corpus.BATCH;
    }

    @Override
    void verify(Entries entries, long batchesPerSegment) throws Exception {
        new Messages(entries.corpus).read(to).assertAll(batchesPerSegment);
    }

    @Override
    public void close() throws Exception {
        for (Consumer<byte[]> c : consumers) {
            c.close();
        }
        for (Producer<byte[]> p : producers) {
            p.close();
        }
        pair.delete(from, to);
    }
}
