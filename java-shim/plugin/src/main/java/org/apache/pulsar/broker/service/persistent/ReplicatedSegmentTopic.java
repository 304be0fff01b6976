// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.GeorepPlugin;
import georep.plugin.SelfCheck;
import georep.plugin.control.EnabledWait;
import georep.plugin.control.SegmentRecord;
import georep.plugin.control.TopicRecord;
import georep.plugin.dest.Mark;
import georep.plugin.dest.OriginKey;
import georep.plugin.source.RemoteClients;
import georep.plugin.source.ReplicationSource;
import georep.plugin.source.SourceIdentity;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerImpl;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.BrokerServiceException.NotAllowedException;
import org.apache.pulsar.broker.service.Consumer;
import org.apache.pulsar.broker.service.Producer;
import org.apache.pulsar.broker.service.Replicator;
import org.apache.pulsar.broker.service.Subscription;
import org.apache.pulsar.broker.service.SubscriptionOption;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.common.api.proto.CommandSubscribe.InitialPosition;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.scalable.HashRange;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.compaction.Compactor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A segment of a scalable topic on a broker with this plugin.
 *
 * <p>As a source: its replicators are Georep's, never the classic one, which would look for a segment of the same name
 * and loop. As a destination: replicated entries are deduplicated whatever the policy is. In between: the replication
 * cursors show as subscriptions that pin the segment, in no list, and that nobody can move or delete.
 *
 * <p>Where the start-up check failed, or the plugin's servlet is not configured, nothing replicates from this segment
 * and everything else is the broker's own.
 */
public class ReplicatedSegmentTopic extends PersistentTopic {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicatedSegmentTopic.class);

    private static final String PAUSED = "georep.paused";

    private final TopicName segmentName;
    private final TopicName parent;
    private final ReplicationDeduplication dedup; // null: the broker's own is in place
    private volatile boolean sealed; // terminated, and every write that was stored is accounted for
    private final Map<String, PinSubscription> pins = new ConcurrentHashMap<>();
    private final Map<String, CompletableFuture<SourceIdentity>> identities = new ConcurrentHashMap<>();
    private final Set<String> resetting = ConcurrentHashMap.newKeySet(); // remotes whose cursors are being moved
    private volatile Set<String> pausedRemotes = Set.of(); // by the topic's record as it was read last
    private CompletableFuture<?> reading = CompletableFuture.completedFuture(null); // guarded by pins
    private final Map<String, CursorReads> reads = new ConcurrentHashMap<>();
    private final ReplicatorStart start;
    private final LedgerProperties properties;
    private final SegmentStarts starts;

    public ReplicatedSegmentTopic(String topic, ManagedLedger ledger, BrokerService brokerService) {
        super(topic, ledger, brokerService);
        this.segmentName = TopicName.get(topic);
        this.parent = SegmentTopicName.getParentTopicName(segmentName);
        this.properties = new LedgerProperties(ledger);
        this.start = new ReplicatorStart(this, brokerService.executor());
        this.starts = new SegmentStarts(this, parent, segmentName.getSegmentId());
        GeorepPlugin plugin = plugin();
        this.dedup = plugin == null || !plugin.usable() ? null : new ReplicationDeduplication(brokerService.pulsar(),
                this, ledger, properties, topic, plugin.watermarks(),
                plugin.config().dedupMaxKeys(), plugin.config().dedupSnapshotEntries(), plugin.counters());
        if (dedup != null) {
            SelfCheck.MESSAGE_DEDUPLICATION.set(this, dedup);
        }
    }

    private GeorepPlugin plugin() {
        return GeorepPlugin.of(brokerService.pulsar());
    }

    /** The scalable topic that this segment belongs to. */
    public TopicName parent() {
        return parent;
    }

    // ------------------------------------------------------------------ source

    /** To a segment, a remote that its topic is denied is one that the namespace does not name. */
    @Override
    protected void updateTopicPolicyByNamespacePolicy(Policies ofNamespace) {
        GeorepPlugin plugin = plugin();
        super.updateTopicPolicyByNamespacePolicy(plugin == null || !plugin.usable() ? ofNamespace
                : plugin.records().policiesOf(parent, ofNamespace));
    }

    /** Where the list of the segment's ledgers comes from. */
    SegmentLogRecord logRecord() {
        return new SegmentLogRecord(brokerService, segmentName, getManagedLedger());
    }

    /** Compacted: positions do not say what is left. */
    boolean compacted() {
        return isCompactionEnabled() || getSubscriptions().containsKey(Compactor.COMPACTION_SUBSCRIPTION);
    }

    /**
     * The stock one makes the cursor at the log's start or end, as the broker is configured. Here every new cursor
     * stands at the log start until it is decided where it begins, so that nothing is trimmed beneath it; and it says
     * so, so that the next owner goes on deciding.
     */
    @Override
    CompletableFuture<Void> startReplicator(String remote) {
        GeorepPlugin plugin = plugin();
        if (plugin == null || !plugin.usable() || replicationCursor(remote) != null) {
            return super.startReplicator(remote);
        }
        return CursorStart.open(getManagedLedger(), replicatorPrefix + "." + remote).thenCompose(cursor ->
                addReplicationCluster(remote, cursor, brokerService.pulsar().getConfiguration().getClusterName()));
    }

    @Override
    protected CompletableFuture<Void> addReplicationCluster(String remote, ManagedCursor cursor, String local) {
        GeorepPlugin plugin = plugin();
        if (plugin == null || !plugin.usable()) {
            LOG.error("[{}] not replicated to {}: {}", topic, remote,
                    plugin == null ? "the servlet of georep.nar is not configured" : plugin.problems());
            return CompletableFuture.completedFuture(null);
        }
        if (plugin.config().uninstall()) {
            LOG.info("[{}] not replicated to {}: georepUninstall", topic, remote);
            return CompletableFuture.completedFuture(null);
        }
        identities.remove(remote); // of an earlier cursor
        return brokerService.pulsar().getPulsarResources().getClusterResources().getClusterAsync(remote)
                .thenAccept(data -> startReplicator(plugin, remote, cursor, local, data)).exceptionally(e -> {
                    LOG.error("[{}] not replicated to {} yet: {}", topic, remote,
                            FutureUtil.unwrapCompletionException(e).toString());
                    start.later(remote); // a topic that does not load would lose its producers, too
                    return null;
                });
    }

    private void startReplicator(GeorepPlugin plugin, String remote, ManagedCursor cursor, String local,
                                 Optional<ClusterData> data) {
        RemoteClients.Clients c = RemoteClients.of(plugin).get(remote, data);
        lock.readLock().lock();
        try {
            if (isClosingOrDeleting()) {
                return;
            }
            getReplicators().computeIfAbsent(remote, r -> {
                try {
                    return plugin.replicators().create(this, cursor, local, remote, brokerService, c.client(),
                            c.admin());
                } catch (PulsarServerException e) {
                    throw new IllegalStateException(e);
                }
            });
            applyPause(remote); // one that came while the replicator was made
        } finally {
            lock.readLock().unlock();
        }
    }

    /** It has ended and is to begin anew. */
    void replicateAgain(String remote) {
        start.now(remote);
    }

    /** The policies name the remote, and nothing replicates to it. */
    boolean wantsReplicator(String remote) {
        GeorepPlugin plugin = plugin();
        Replicator r = getReplicators().get(remote);
        List<String> clusters = topicPolicies.getReplicationClusters().get();
        return !isClosingOrDeleting() && plugin != null && plugin.usable() && !plugin.config().uninstall()
                && clusters != null && clusters.contains(remote) && !resetting.contains(remote)
                && (r == null || r.isTerminated());
    }

    /** Reads of the replication cursor for a remote. */
    CursorReads reads(String remote) {
        return reads.computeIfAbsent(remote, r -> new CursorReads());
    }

    /** Whether nothing is to be read for a remote now: the whole topic is paused, or this segment. */
    public boolean paused(String remote) {
        ManagedCursor cursor = replicationCursor(remote);
        return pausedRemotes.contains(remote) || cursor != null && cursor.getCursorProperties().containsKey(PAUSED);
    }

    private synchronized void applyPause(String remote) {
        if (getReplicators().get(remote) instanceof ReplicationSource s) {
            s.pause(paused(remote));
        }
    }

    /**
     * Takes over what the topic's record says of all its segments. Each reading begins after the one before has been
     * applied, so what was true before the call is in force when it completes, and nothing older comes after it.
     */
    public CompletableFuture<Void> readRecord() {
        GeorepPlugin plugin = plugin();
        if (plugin == null || !plugin.usable()) {
            return CompletableFuture.failedFuture(new IllegalStateException("georep does not work with this broker"));
        }
        synchronized (pins) {
            CompletableFuture<Void> next = reading.handle((x, e) -> null).thenCompose(x -> plugin.records()
                    .fresh(parent)).thenAccept(m -> {
                        pausedRemotes = TopicRecord.of(m).paused();
                        getReplicators().keySet().forEach(this::applyPause);
                    });
            reading = next;
            return next;
        }
    }

    /** Stops reading for a remote, or goes on; kept with the cursor, so a reload changes nothing. */
    public CompletableFuture<Void> pauseReplication(String remote, boolean on) {
        ManagedCursor cursor = replicationCursor(remote);
        if (cursor == null || !(getReplicators().get(remote) instanceof ReplicationSource)) {
            return CompletableFuture.failedFuture(new IllegalStateException("not replicated to " + remote));
        }
        return (on ? cursor.putCursorProperty(PAUSED, "1") : cursor.removeCursorProperty(PAUSED))
                .thenRun(() -> applyPause(remote));
    }

    /**
     * Begins anew as a plan (georep.v1.StartPlan) says: everything from its start on is sent again under a new
     * generation, so nothing of it counts as stored already. The replicator is ended for it and started again. The
     * generation goes before the cursor moves: who takes over in between begins a generation where the cursor was.
     */
    public CompletableFuture<Void> resetReplication(String remote, byte[] plan) {
        ManagedCursor cursor = replicationCursor(remote);
        Replicator r = getReplicators().get(remote);
        if (cursor == null || r == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("not replicated to " + remote));
        }
        resetting.add(remote);
        forgetIdentity(remote);
        return r.terminate()
                .thenCompose(x -> CursorStart.store(cursor, plan))
                .thenCompose(x -> CursorGeneration.forget(properties, remote))
                .thenCompose(x -> cursor.removeCursorProperty(CursorGeneration.PROPERTY))
                .thenCompose(x -> cursor.removeCursorProperty(CursorLapse.PROPERTY))
                .thenCompose(x -> CursorStart.move(cursor, plan))
                .handle((x, e) -> {
                    resetting.remove(remote);
                    return checkReplication().thenAccept(y -> { // replicate again, whatever came of it
                        if (e != null) {
                            throw FutureUtil.wrapToCompletionException(e);
                        }
                    });
                }).thenCompose(f -> f);
    }

    /** What a reset of the cursor for a remote is planned from: JSON of georep.v1.ResetSegment without parents. */
    public CompletableFuture<ObjectNode> resetFacts(String remote) {
        ManagedCursor cursor = replicationCursor(remote);
        return cursor == null ? CompletableFuture.failedFuture(new IllegalStateException("not replicated to " + remote))
                : starts.resetFacts(remote, cursor);
    }

    /** JSON of georep.v1.BootstrapStatus; null where there is no cursor for the remote. */
    public ObjectNode startStatus(String remote) {
        ManagedCursor cursor = replicationCursor(remote);
        return cursor == null ? null : starts.status(remote, cursor);
    }

    /**
     * Instance, generation and profile for the replicator to a remote; completes when the topic's controller leader has
     * prepared replication. The same future for the life of a cursor; cancelled when the topic closes.
     */
    public CompletableFuture<SourceIdentity> sourceIdentity(String remote) {
        return identities.compute(remote, (r, f) -> f != null && !f.isCompletedExceptionally() ? f : identify(r));
    }

    private CompletableFuture<SourceIdentity> identify(String remote) {
        GeorepPlugin plugin = plugin();
        ManagedCursor cursor = replicationCursor(remote);
        if (plugin == null || cursor == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("not replicated to " + remote));
        }
        CompletableFuture<TopicRecord> wait = EnabledWait.start(brokerService.pulsar(), plugin.records(), parent,
                segmentName.getSegmentId(), remote);
        CursorGeneration generation = new CursorGeneration(plugin, parent, getManagedLedger(), properties, remote);
        CompletableFuture<Void> over = new CompletableFuture<>();
        CompletableFuture<SourceIdentity> identity = wait.thenCompose(record -> readRecord()
                .thenCompose(x -> generation.isLost(cursor) ? CompletableFuture.completedFuture(null)
                        : starts.begin(plugin, remote, cursor, over))
                .thenCompose(x -> generation.of(cursor, record)).thenApply(g -> identity(record, g)));
        identity.whenComplete((x, e) -> {
            wait.cancel(false); // cancelling the result ends the wait
            over.complete(null);
        });
        return identity;
    }

    private SourceIdentity identity(TopicRecord record, long generation) {
        HashRange range = segmentName.getSegmentRange().orElseThrow();
        SegmentRecord s = record.segment(segmentName.getSegmentId());
        return new SourceIdentity(parent, segmentName.getSegmentId(), range.start(), range.end(), record.instance(),
                generation, s.profile(), s.bucketStarts(), s.cutCap());
    }

    /**
     * The stock one deletes a topic whose namespace no longer names the local cluster. Segments keep their data and
     * cursors, as the topic keeps its pins: nothing is lost when the cluster was left out by mistake or too early, and
     * replication goes on from where it was when it is back.
     */
    @Override
    protected CompletableFuture<Boolean> removeTopicIfLocalClusterNotAllowed() {
        return checkAllowedCluster(brokerService.pulsar().getConfiguration().getClusterName()).thenApply(allowed -> {
            if (!allowed) {
                LOG.warn("[{}] the namespace's clusters do not include this one: everything is kept as it is", topic);
            }
            return !allowed;
        });
    }

    // ------------------------------------------------------------------ destination

    @Override
    public CompletableFuture<Optional<Long>> addProducer(Producer producer,
                                                         CompletableFuture<Void> producerQueuedFuture) {
        if (dedup == null || !dedup.isReplicationProducer(producer.getProducerName())) {
            return super.addProducer(producer, producerQueuedFuture);
        }
        return dedup.ready().thenCompose(x -> super.addProducer(producer, producerQueuedFuture)).thenApply(epoch -> {
            dedup.connected(producer);
            return epoch;
        });
    }

    @Override
    protected void handleProducerRemoved(Producer producer) {
        super.handleProducerRemoved(producer);
        if (dedup != null) {
            dedup.disconnected(producer);
        }
    }

    @Override
    public void publishMessage(ByteBuf headersAndPayload, PublishContext context) {
        if (dedup != null && !dedup.isReplicationProducer(context.getProducerName())
                && dedup.forged(headersAndPayload)) {
            LOG.warn("[{}] producer {}: entry refused, it carries replicated_from and an origin record of this topic",
                    topic, context.getProducerName());
            context.completed(new NotAllowedException("an ordinary producer may not publish a replicated entry"), -1,
                    -1);
            return;
        }
        super.publishMessage(headersAndPayload, context);
    }

    /**
     * A ledger that is terminated drops the writes in flight and answers none of them, so the pending ones may never be
     * counted down. Those that were stored are answered on the ledger's own thread, before what it is given afterwards.
     */
    @Override
    public CompletableFuture<MessageId> terminate() {
        boolean first = !getManagedLedger().isTerminated();
        return properties.inTurn(super::terminate).thenApply(last -> {
            if (first && getManagedLedger() instanceof ManagedLedgerImpl own) {
                own.getExecutor().execute(() -> {
                    sealed = true;
                    getReplicators().values().forEach(r -> {
                        if (r instanceof SegmentReplicator s) {
                            s.sourceSealed(); // nobody wakes a cursor that waits for an entry
                        }
                    });
                });
            }
            return last;
        });
    }

    /** Nothing more comes, and what has come can be read. Writes are counted down after a watermark has moved. */
    boolean ended() {
        return getManagedLedger().isTerminated() && (getPendingWriteOps().get() == 0 || sealed);
    }

    /**
     * The last stored position of a stream in this segment; final: empty and {@link NotFinalException} tell apart
     * "nothing stored" and "may still change".
     */
    public CompletableFuture<Optional<Mark>> finalWatermark(OriginKey key) {
        if (dedup == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("replication is not available"));
        }
        if (!ended()) {
            return CompletableFuture.failedFuture(new NotFinalException());
        }
        return dedup.watermark(key);
    }

    /** The segment can still take entries. */
    public static final class NotFinalException extends Exception {
        private static final long serialVersionUID = 1L;

        NotFinalException() {
            super("segment is not sealed, or has writes in flight", null, false, false);
        }
    }

    /** JSON of georep.v1.DedupStatus, or null. */
    public String dedupStatusJson() {
        return dedup == null ? null : dedup.statusJson();
    }

    /** Why nothing is taken from other clusters; empty where all is well. */
    public String receiveTrouble() {
        return dedup == null ? "" : dedup.problem();
    }

    /** Forgets streams that are gone at their origin; only it may ask for that. Returns how many there are. */
    public int forgetStreams(List<OriginKey> keys) {
        return dedup == null ? 0 : dedup.forget(keys);
    }

    // ------------------------------------------------------------------ pins

    private String remoteOf(String subscription) {
        String prefix = replicatorPrefix + ".";
        return subscription != null && subscription.startsWith(prefix) ? subscription.substring(prefix.length()) : null;
    }

    private ManagedCursor replicationCursor(String remote) {
        String name = replicatorPrefix + "." + remote;
        for (ManagedCursor c : getManagedLedger().getCursors()) {
            if (c.getName().equals(name)) {
                return c;
            }
        }
        return null;
    }

    /** The clusters that there is a replication cursor for. */
    public List<String> replicationClusters() {
        List<String> all = new ArrayList<>();
        for (ManagedCursor c : getManagedLedger().getCursors()) {
            String remote = remoteOf(c.getName());
            if (remote != null && !remote.equals(ReplicationDeduplication.RESERVED)) {
                all.add(remote);
            }
        }
        return all;
    }

    /**
     * What a gate of the segment's children asks: entries behind the remote's cursor but for parked ones that others
     * may pass by; -1: there is no cursor.
     */
    public long undrained(String remote) {
        if (getReplicators().get(remote) instanceof ReplicationSource s) {
            return s.undrained();
        }
        ManagedCursor cursor = replicationCursor(remote);
        return cursor == null ? -1 : cursor.getNumberOfEntriesInBacklog(true);
    }

    @Override
    public PersistentSubscription getSubscription(String name) {
        String remote = remoteOf(name);
        return remote == null ? super.getSubscription(name) : pin(name, remote);
    }

    private PinSubscription pin(String name, String remote) {
        ManagedCursor cursor = remote.equals(ReplicationDeduplication.RESERVED) ? null : replicationCursor(remote);
        if (cursor == null) {
            pins.remove(name);
            return null;
        }
        return pins.compute(name, (n, p) -> p != null && p.over(cursor) ? p
                : new PinSubscription(this, n, remote, cursor));
    }

    /** The controller provisions a child with every subscription; its replication cursors come with the load. */
    @Override
    public CompletableFuture<Subscription> createSubscription(String name, InitialPosition position, boolean replicate,
                                                              Map<String, String> properties) {
        String remote = remoteOf(name);
        return remote == null ? super.createSubscription(name, position, replicate, properties)
                : PinSubscription.asCreated(pin(name, remote));
    }

    @Override
    public CompletableFuture<Consumer> subscribe(SubscriptionOption option) {
        return remoteOf(option.getSubscriptionName()) == null ? super.subscribe(option)
                : CompletableFuture.failedFuture(new NotAllowedException("subscription names beginning with "
                        + replicatorPrefix + " belong to replication"));
    }

    @Override
    public CompletableFuture<Void> unsubscribe(String name) {
        return remoteOf(name) == null ? super.unsubscribe(name)
                : CompletableFuture.failedFuture(new NotAllowedException(name + " belongs to replication"));
    }

    /**
     * The remote was removed from the namespace, perhaps while no broker ran: then the cursor is found at load. The
     * watermarks' cursor only looks like one. A cursor that is missing already is no reason to keep its replicator.
     */
    @Override
    CompletableFuture<Void> removeReplicator(String remote) {
        if (remote.equals(ReplicationDeduplication.RESERVED)) {
            return CompletableFuture.completedFuture(null);
        }
        forget(remote);
        return super.removeReplicator(remote).exceptionally(e -> {
            if (replicationCursor(remote) != null) {
                throw FutureUtil.wrapToCompletionException(e);
            }
            getReplicators().remove(remote);
            return null;
        }).thenCompose(x -> CursorGeneration.forget(properties, remote));
    }

    /** When the cursor for a remote was found deleted and began anew; null: never. */
    public String cursorLost(String remote) {
        ManagedCursor cursor = replicationCursor(remote);
        return cursor == null ? null : cursor.getCursorProperties().get(CursorGeneration.LOST);
    }

    // ------------------------------------------------------------------ end

    private void forget(String remote) {
        forgetIdentity(remote);
        pins.remove(replicatorPrefix + "." + remote);
    }

    private void forgetIdentity(String remote) {
        CompletableFuture<SourceIdentity> f = identities.remove(remote);
        if (f != null) {
            f.cancel(false);
        }
    }

    private CompletableFuture<Void> ended(CompletableFuture<Void> closing) {
        return closing.whenComplete((x, e) -> {
            if (e == null) {
                identities.keySet().forEach(this::forget);
                if (dedup != null) {
                    dedup.close();
                }
            }
        });
    }

    @Override
    public CompletableFuture<Void> close(boolean disconnectClients, boolean closeWithoutWaitingClientDisconnect) {
        return ended(super.close(disconnectClients, closeWithoutWaitingClientDisconnect));
    }

    /**
     * A deleted segment takes its load report along. When the whole topic goes, its record is deleted with all that is
     * below, and then the segments: a report of one in between would keep the topic's name in the namespace's list.
     */
    private CompletableFuture<Void> deleted(CompletableFuture<Void> deletion) {
        return ended(deletion).thenCompose(x -> brokerService.pulsar().getPulsarResources().getScalableTopicResources()
                .deleteSegmentLoadAsync(parent, SegmentTopicName.getSegmentId(segmentName)).exceptionally(e -> {
                    LOG.warn("[{}] is deleted, and its load report stays: {}", topic, e.toString());
                    return null;
                }));
    }

    @Override
    public CompletableFuture<Void> delete() {
        return deleted(super.delete());
    }

    @Override
    public CompletableFuture<Void> deleteForcefully() {
        return deleted(super.deleteForcefully());
    }
}
