// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.buffer.ByteBuf;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.TopicFactory;
import org.apache.pulsar.broker.service.nonpersistent.NonPersistentTopic;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.common.naming.TopicName;

/**
 * A segment of which a test holds back replicated entries, the receipts of those that are stored, the seal, or the
 * receipt of that.
 */
final class HeldSegment extends ReplicatedSegmentTopic {
    /** What is held back. */
    enum What { ENTRIES, RECEIPTS, SEAL, SEALED }

    /** Holds a segment, on whatever broker of a cluster made by {@link Factory}, until it is closed. */
    static final class Hold implements AutoCloseable {
        private final String segment;
        private final What what;
        private final List<Runnable> held = new ArrayList<>();
        private boolean over;

        private Hold(String segment, What what) {
            this.segment = segment;
            this.what = what;
        }

        /** False: too late to be held. */
        private synchronized boolean add(Runnable later) {
            return !over && held.add(later);
        }

        synchronized int count() {
            return held.size();
        }

        /** Lets go what is held, in order. */
        @Override
        public void close() {
            HOLDS.remove(segment, this);
            List<Runnable> all;
            synchronized (this) {
                over = true;
                all = List.copyOf(held);
                held.clear();
            }
            all.forEach(Runnable::run);
        }
    }

    /** For topicFactoryClassName, in place of the plugin's. */
    public static final class Factory implements TopicFactory {
        @Override
        public <T extends Topic> T create(String topic, ManagedLedger ledger, BrokerService brokerService,
                                          Class<T> type) {
            return type == NonPersistentTopic.class || !TopicName.get(topic).isSegment() ? null
                    : type.cast(new HeldSegment(topic, ledger, brokerService));
        }

        @Override
        public void close() {
            // nothing is open
        }
    }

    private static final Map<String, Hold> HOLDS = new ConcurrentHashMap<>();

    private HeldSegment(String topic, ManagedLedger ledger, BrokerService brokerService) {
        super(topic, ledger, brokerService);
    }

    static Hold hold(String segment, What what) {
        Hold h = new Hold(segment, what);
        HOLDS.put(segment, h);
        return h;
    }

    @Override
    public void publishMessage(ByteBuf entry, PublishContext context) {
        Hold h = HOLDS.get(getName());
        String producer = context.getProducerName();
        if (h == null || h.what == What.SEAL || h.what == What.SEALED || producer == null
                || !producer.startsWith("pulsar.repl.")) {
            super.publishMessage(entry, context);
        } else if (h.what == What.RECEIPTS) {
            super.publishMessage(entry, late(context, h));
        } else {
            ByteBuf copy = entry.copy();
            if (h.add(() -> publish(copy, context))) {
                return;
            }
            publish(copy, context);
        }
    }

    @Override
    public CompletableFuture<MessageId> terminate() {
        Hold h = HOLDS.get(getName());
        return held(h, What.SEAL).thenCompose(x -> super.terminate())
                .thenCompose(last -> held(h, What.SEALED).thenApply(x -> last));
    }

    /** Completes when this is not held back, or not any more. */
    private static CompletableFuture<Void> held(Hold h, What what) {
        CompletableFuture<Void> go = new CompletableFuture<>();
        return h != null && h.what == what && h.add(() -> go.complete(null)) ? go
                : CompletableFuture.completedFuture(null);
    }

    private void publish(ByteBuf copy, PublishContext context) {
        super.publishMessage(copy, context);
        copy.release();
    }

    /** The same context; its end is put off. */
    private static PublishContext late(PublishContext context, Hold h) {
        return (PublishContext) Proxy.newProxyInstance(PublishContext.class.getClassLoader(),
                new Class<?>[]{PublishContext.class}, (proxy, method, args) -> {
                    if (method.getName().equals("completed")) {
                        Runnable end = () -> context.completed((Exception) args[0], (long) args[1], (long) args[2]);
                        if (!h.add(end)) {
                            end.run();
                        }
                        return null;
                    }
                    try {
                        return method.invoke(context, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
