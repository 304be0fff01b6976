// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiPredicate;
import org.apache.bookkeeper.mledger.AsyncCallbacks.DeleteCallback;
import org.apache.bookkeeper.mledger.AsyncCallbacks.ReadEntriesCallback;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.ManagedLedgerException;
import org.apache.bookkeeper.mledger.impl.EntryImpl;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;

/** The plugin's segment topic on a broker whose parts fail when a test says so. */
final class FaultTopic extends ReplicatedSegmentTopic {
    /** What fails in one segment topic, of whichever broker. */
    static final class Plan {
        /** So many calls to delete positions from a replication cursor fail. */
        final AtomicInteger deletes = new AtomicInteger();
        /** Replicators that start from now on get a cursor that can fail, and entries whose memory is told in read. */
        volatile boolean wrapped;
        /** Memory of every entry that was read. */
        final Queue<ByteBuf> read = new ConcurrentLinkedQueue<>();
        /** So many loads fail after the replicators have started. */
        final AtomicInteger loads = new AtomicInteger();
        /** So many loads cannot read the topic's policies. */
        final AtomicInteger policies = new AtomicInteger();
        /** Sees every replicated publish; true: it has been dealt with. */
        volatile BiPredicate<ByteBuf, PublishContext> publish = (entry, context) -> false;
    }

    private static final Map<String, Plan> PLANS = new ConcurrentHashMap<>();

    FaultTopic(String topic, ManagedLedger ledger, BrokerService brokerService) {
        super(topic, ledger, brokerService);
    }

    /** The plan for a segment topic of a cluster. */
    static Plan plan(Cluster at, String segmentTopic) {
        return plan(at.name, segmentTopic);
    }

    private static Plan plan(String cluster, String segmentTopic) {
        return PLANS.computeIfAbsent(cluster + " " + segmentTopic, k -> new Plan());
    }

    private Plan plan() { // the super constructor comes by here
        return plan(brokerService.pulsar().getConfiguration().getClusterName(), getName());
    }

    private static boolean due(AtomicInteger left) {
        return left.getAndUpdate(n -> Math.max(0, n - 1)) > 0;
    }

    @Override
    protected CompletableFuture<Void> addReplicationCluster(String remote, ManagedCursor cursor, String local) {
        return super.addReplicationCluster(remote, plan().wrapped ? wrap(cursor) : cursor, local);
    }

    private ManagedCursor wrap(ManagedCursor cursor) {
        return (ManagedCursor) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {ManagedCursor.class},
                (proxy, method, args) -> {
                    if (method.getName().equals("asyncDelete") && due(plan().deletes)) {
                        ((DeleteCallback) args[1]).deleteFailed(new ManagedLedgerException("planned"), args[2]);
                        return null;
                    }
                    for (int i = 0; args != null && i < args.length; i++) {
                        args[i] = args[i] instanceof ReadEntriesCallback c ? owned(c) : args[i];
                    }
                    try {
                        return method.invoke(cursor, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Entries over memory of their own, so that its reference count says whether somebody still has them. */
    private ReadEntriesCallback owned(ReadEntriesCallback to) {
        return new ReadEntriesCallback() {
            @Override
            public void readEntriesComplete(List<Entry> entries, Object ctx) {
                List<Entry> own = new ArrayList<>(entries.size());
                for (Entry e : entries) {
                    ByteBuf memory = Unpooled.directBuffer(Math.max(1, e.getLength())).writeBytes(e.getDataBuffer());
                    own.add(EntryImpl.create(e.getLedgerId(), e.getEntryId(), memory));
                    memory.release(); // the entry has retained it
                    plan().read.add(memory);
                    e.release();
                }
                to.readEntriesComplete(own, ctx);
            }

            @Override
            public void readEntriesFailed(ManagedLedgerException e, Object ctx) {
                to.readEntriesFailed(e, ctx);
            }
        };
    }

    @Override
    protected CompletableFuture<Void> initTopicPolicy() {
        return due(plan().policies) ? CompletableFuture.failedFuture(new IllegalStateException("planned"))
                : super.initTopicPolicy();
    }

    @Override
    public CompletableFuture<Void> checkDeduplicationStatus() {
        return super.checkDeduplicationStatus().thenAccept(x -> {
            if (due(plan().loads)) {
                throw new IllegalStateException("planned");
            }
        });
    }

    @Override
    public void publishMessage(ByteBuf entry, PublishContext context) {
        String producer = context.getProducerName();
        if (producer == null || !producer.startsWith("pulsar.repl.") || !plan().publish.test(entry, context)) {
            super.publishMessage(entry, context);
        }
    }
}
