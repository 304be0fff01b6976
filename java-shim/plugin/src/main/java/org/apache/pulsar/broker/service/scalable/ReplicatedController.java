// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import georep.plugin.GeorepPlugin;
import georep.plugin.SelfCheck;
import georep.plugin.control.GoneStreams;
import georep.plugin.control.LayoutMutation;
import georep.plugin.control.ReplicationSetup;
import georep.plugin.control.SegmentTouch;
import georep.plugin.control.TopicRecord;
import jakarta.ws.rs.core.Response;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.resources.SubscriptionType;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.TransportCnx;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.api.proto.ScalableConsumerType;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.ScalableTopicStats;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.metadata.api.coordination.CoordinationService;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The controller of a scalable topic, replicated or not. Adds to the broker's own:
 *
 * <ul>
 * <li>one operation at a time, and each one begins with the record as the store has it now: the stock controller
 *     keeps its first reading for ever and would write names of segments that do not exist;</li>
 * <li>replication is prepared by the leader (see {@link ReplicationSetup}) when it is elected, when the namespace's
 *     policies change, before every split and merge and before every garbage collection;</li>
 * <li>splits and merges of a replicated topic are decided with its peers (see {@link TopicConvergence});</li>
 * <li>it leads when the election says so, the second one and those after it, too (see {@link Leadership});</li>
 * <li>the pins are nobody's subscriptions: not listed, not deleted, not moved.</li>
 * </ul>
 *
 * In this package for the package-private constructor and {@code runGcTickAsync}. Thread-safe.
 */
public class ReplicatedController extends ScalableTopicController {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicatedController.class);
    private static final Method NOTIFY = SelfCheck.notifySubscriptions();
    /** Every so many garbage collections active segments are loaded as well, and remotes told what is gone here. */
    private static final int EVERY = 5;

    private final BrokerService brokerService;
    private final GeorepPlugin plugin;
    private final ReplicationSetup setup;
    private final AtomicLong counter = new AtomicLong();
    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null); // guarded by this
    private final TopicConvergence convergence;
    private final Leadership leadership;
    private volatile Set<String> remotes = Set.of();
    private volatile int collections;

    ReplicatedController(TopicName topic, BrokerService brokerService, CoordinationService coordination,
                         GeorepPlugin plugin) {
        super(topic, plugin.records().resources(), brokerService, coordination);
        this.brokerService = brokerService;
        this.plugin = plugin;
        this.setup = new ReplicationSetup(plugin.records(),
                brokerService.getPulsar().getConfiguration().getReplicatorPrefix(), plugin::firstSegment,
                plugin.config().convergence() && brokerService.getPulsar().getConfiguration()
                        .isCreateTopicToRemoteClusterForReplication());
        this.convergence = new TopicConvergence(this, plugin);
        this.leadership = new Leadership(this, plugin.records(),
                brokerService.getPulsar().getExecutor());
    }

    // ------------------------------------------------------------------ leadership and preparation

    /** Also called again whenever the leader has changed, or there is none. */
    @Override
    public CompletableFuture<Void> initialize() {
        convergence.end(); // of an earlier time as leader
        CompletableFuture<Void> f = super.initialize().thenCompose(x -> {
            if (!super.isLeader()) { // who only lost the lock for a moment still hears that the topic is deleted
                convergence.close();
                return CompletableFuture.completedFuture(null);
            }
            return serial(this::lead).exceptionally(e -> {
                LOG.warn("[{}] replication is not prepared yet, again before the next split, merge or garbage "
                        + "collection: {}", getTopicName(), e.toString());
                return null;
            });
        });
        leadership.begins(f);
        return f;
    }

    @Override
    public boolean isLeader() {
        return super.isLeader() && !leadership.interrupted();
    }

    /** What the base class believes. */
    boolean believesToLead() {
        return super.isLeader();
    }

    Leadership leadership() {
        return leadership;
    }

    /**
     * The lock goes, and comes back no more. Not while there is another controller of the topic here: the broker has
     * one election for all of them, and the topic may have been deleted and made again.
     */
    CompletableFuture<Void> leaveElection() {
        return ((ReplicatedScalableTopicService) brokerService.getScalableTopicService()).has(getTopicName())
                ? CompletableFuture.completedFuture(null) : super.close();
    }

    private CompletableFuture<Void> lead() {
        if (!isLeader()) { // not any more, by its turn in the queue
            return CompletableFuture.completedFuture(null);
        }
        counter.set(0);
        return prepare().thenAccept(r -> touch(r.remotes(), true));
    }

    @Override
    public CompletableFuture<Void> close() {
        leadership.close();
        convergence.close();
        return super.close();
    }

    /**
     * The namespace's policies may have changed, or a pin may be missing; nothing to do where this is not the
     * leader.
     */
    public CompletableFuture<Void> reconcile() {
        return isLeader() ? look().thenCompose(r -> convergence.lookAtPolicy())
                : CompletableFuture.completedFuture(null);
    }

    private CompletableFuture<ReplicationSetup.Result> prepare() {
        return setup.reconcile(getTopicName()).thenCompose(r -> {
            remotes = r.remotes();
            return convergence.update(r).thenApply(x -> {
                if (!r.added().isEmpty()) {
                    touch(r.remotes(), true);
                }
                return r;
            });
        });
    }

    private void touch(Set<String> clusters, boolean activeToo) {
        SegmentLayout layout = getLayout().join(); // the base class answers at once
        if (layout == null || clusters.isEmpty()) {
            return;
        }
        SegmentTouch.all(brokerService.getPulsar(), getTopicName(), segments(layout, s -> activeToo || s.isSealed()))
                .thenAccept(r -> r.ended().stream().filter(layout.getActiveSegments()::containsKey)
                        .forEach(this::finish));
    }

    /**
     * A segment that ended is still in the layout: its split or merge was not finished, the leader died in between.
     * Nobody can publish to its range, and neither load nor peer would ever ask for a split of it.
     */
    private void finish(long segment) {
        serial(this::refresh).thenCompose(l -> {
            if (!l.getActiveSegments().containsKey(segment)) {
                return CompletableFuture.completedFuture(l); // finished meanwhile
            }
            LOG.warn("[{}] segment {} has ended and is still in the layout: finishing what a leader had begun",
                    getTopicName(), segment);
            return splitSegment(segment);
        }).exceptionally(e -> {
            LOG.warn("[{}] segment {} takes nothing and cannot be split, again with a later garbage collection: {}",
                    getTopicName(), segment, FutureUtil.unwrapCompletionException(e).toString());
            return null;
        });
    }

    private static List<SegmentInfo> segments(SegmentLayout layout, Predicate<SegmentInfo> which) {
        return layout.getAllSegments().values().stream().filter(s -> !s.isLegacy()).filter(which).toList();
    }

    /** The remotes forget the streams of segments that are gone here. */
    public CompletableFuture<Void> forgetGoneStreams() {
        GoneStreams gone = new GoneStreams(plugin, getTopicName());
        return FutureUtil.waitForAll(remotes.stream().map(r -> gone.forgetAt(r).exceptionally(e -> {
            LOG.debug("[{}] {} does not forget what is gone here, again later: {}", getTopicName(), r, e.toString());
            return null;
        })).toList());
    }

    /**
     * Pauses or resumes replication to a remote, for the segments that there are and those to come: written before any
     * is told. The result has a line for each segment that could not be told; it finds the record when it is loaded, or
     * with a later garbage collection.
     */
    public CompletableFuture<List<String>> pause(String remote, boolean on) {
        return serial(() -> refresh().thenCompose(l -> plugin.records().change(getTopicName(), r -> {
            if (r.remotes().contains(remote)) {
                r.setPaused(remote, on);
            }
        }))).thenCompose(m -> {
            if (!TopicRecord.of(m).remotes().contains(remote)) {
                return FutureUtil.failedFuture(new RestException(Response.Status.NOT_FOUND, "remote: " + getTopicName()
                        + " is not replicated to " + remote));
            }
            return SegmentTouch.all(brokerService.getPulsar(), getTopicName(),
                    segments(SegmentLayout.fromMetadata(m), s -> true)).thenApply(SegmentTouch.Result::failures);
        });
    }

    /** Clusters that this topic is replicated to, as of the last look. */
    public Set<String> remotes() {
        return remotes;
    }

    /** A number that rises with every state that this leader tells a peer. */
    public long nextCounter() {
        return counter.incrementAndGet();
    }

    // ------------------------------------------------------------------ convergence

    /** How the topic's layout follows those of other clusters. */
    public TopicConvergence convergence() {
        return convergence;
    }

    /** Looks at record and policies again; what follows from them is known when it completes. */
    public CompletableFuture<ReplicationSetup.Result> look() {
        return serial(() -> refresh().thenCompose(l -> prepare()));
    }

    /** One change of the layout; fails, with nothing written, where the record is not the one it was made for. */
    CompletableFuture<ScalableTopicMetadata> change(LayoutMutation m) {
        return serial(() -> refresh().thenCompose(l -> prepare()).thenCompose(r -> new LayoutChange(
                brokerService.getPulsar(), plugin.records(), getTopicName(), m).run()).thenCompose(stored -> {
                    if (m.splits()) { // the policy's cooldowns count these too
                        SelfCheck.LAST_SPLIT.set(this, m.nowMillis());
                    }
                    if (m.merges()) {
                        SelfCheck.LAST_MERGE.set(this, m.nowMillis());
                    }
                    return adopt(stored).thenApply(l -> stored);
                }));
    }

    /** The topic is there, at this remote. */
    CompletableFuture<Void> created(String remote) {
        return serial(() -> plugin.records().change(getTopicName(), r -> r.setToCreate(remote, false)))
                .thenApply(m -> null);
    }

    /** The topic is deleted: ends this controller, whose lock and pins would keep the topic's name alive. */
    CompletableFuture<Void> deleted() {
        return serial(() -> brokerService.getScalableTopicService().releaseController(getTopicName()))
                .handle((x, e) -> null).thenCompose(x -> setup.removeAllPins(getTopicName()));
    }

    /** Names of the pins, one for each remote. */
    List<String> pins() {
        return remotes.stream().map(setup::pin).toList();
    }

    // ------------------------------------------------------------------ the queue

    private synchronized <T> CompletableFuture<T> serial(Supplier<CompletableFuture<T>> operation) {
        CompletableFuture<T> f = tail.handle((x, e) -> null).thenCompose(x -> operation.get());
        tail = f;
        return f;
    }

    /** Takes over the record as the store has it now. */
    private CompletableFuture<SegmentLayout> refresh() {
        return plugin.records().fresh(getTopicName()).thenCompose(this::adopt);
    }

    private CompletableFuture<SegmentLayout> adopt(ScalableTopicMetadata m) {
        convergence.stored(m);
        SegmentLayout stored = SegmentLayout.fromMetadata(m);
        SegmentLayout own = getLayout().join();
        if (own != null && own.getEpoch() == stored.getEpoch()) {
            return CompletableFuture.completedFuture(own);
        }
        SelfCheck.CURRENT_LAYOUT.set(this, stored);
        try {
            return ((CompletableFuture<?>) NOTIFY.invoke(this, stored)).thenApply(x -> stored);
        } catch (IllegalAccessException | InvocationTargetException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    // ------------------------------------------------------------------ layout changes

    @Override
    public CompletableFuture<SegmentLayout> splitSegment(long segmentId) {
        return !isLeader() ? super.splitSegment(segmentId)
                : either(() -> convergence.split(segmentId), () -> beforeSeal(List.of(segmentId), 2)
                        .thenCompose(first -> super.splitSegment(segmentId)
                                .thenCompose(l -> afterwards(l, first, 2))));
    }

    /** What the policy finds cold; with peers it is for them to agree, and nothing has changed when this completes. */
    @Override
    public CompletableFuture<SegmentLayout> mergeSegments(long segmentId1, long segmentId2) {
        return !isLeader() ? super.mergeSegments(segmentId1, segmentId2)
                : either(convergence::lookAtPolicy, () -> merge(segmentId1, segmentId2));
    }

    /** The same for an operator: with peers it is a mark that waits for them. */
    CompletableFuture<SegmentLayout> mergeAsked(long segmentId1, long segmentId2) {
        return !isLeader() ? super.mergeSegments(segmentId1, segmentId2)
                : either(() -> convergence.merge(segmentId1, segmentId2), () -> merge(segmentId1, segmentId2));
    }

    private CompletableFuture<SegmentLayout> merge(long segmentId1, long segmentId2) {
        return beforeSeal(List.of(segmentId1, segmentId2), 1).thenCompose(first -> super
                .mergeSegments(segmentId1, segmentId2).thenCompose(l -> afterwards(l, first, 1)));
    }

    /** A change that is decided with the peers; the broker's own way where there are none. */
    private CompletableFuture<SegmentLayout> either(Supplier<CompletableFuture<Void>> together,
                                                    Supplier<CompletableFuture<SegmentLayout>> alone) {
        return look().thenCompose(r -> convergence.on() ? together.get().thenCompose(x -> getLayout())
                : serial(alone));
    }

    /**
     * Pins are in place before anything is sealed, and the children's records before their layout: a peer that sees a
     * segment knows how it routes. The result is the first child's id.
     */
    private CompletableFuture<Long> beforeSeal(Collection<Long> parents, int children) {
        return refresh().thenCompose(l -> prepare().thenCompose(r -> !r.replicated()
                ? CompletableFuture.completedFuture(l.getNextSegmentId())
                : plugin.records().change(getTopicName(), (m, record) -> {
                    for (int i = 0; i < children; i++) {
                        record.recordChild(m.getNextSegmentId() + i, parents, plugin.firstSegment());
                    }
                }).thenApply(ScalableTopicMetadata::getNextSegmentId)));
    }

    /**
     * The stock operations name the children's topics first and take their ids when they write the layout. Where
     * another leader has written in between, the layout now has segments whose topics do not exist: they are made here.
     */
    private CompletableFuture<SegmentLayout> afterwards(SegmentLayout layout, long first, int children) {
        if (layout.getNextSegmentId() == first + children) {
            return CompletableFuture.completedFuture(layout);
        }
        LOG.warn("[{}] the layout changed during a split or merge: another broker also led this topic", getTopicName());
        return plugin.records().resources().listSubscriptionsAsync(getTopicName()).thenCompose(subscriptions -> {
            List<CompletableFuture<Void>> all = new ArrayList<>();
            for (SegmentInfo s : layout.getActiveSegments().values()) {
                if (s.segmentId() >= first) {
                    all.add(create(s, subscriptions));
                }
            }
            return FutureUtil.waitForAll(all);
        }).thenCompose(x -> setup.reconcile(getTopicName())).thenApply(r -> layout);
    }

    private CompletableFuture<Void> create(SegmentInfo s, List<String> subscriptions) {
        try {
            return brokerService.getPulsar().getAdminClient().scalableTopics().createSegmentAsync(
                    SegmentTopicName.fromParent(getTopicName(), s.hashRange(), s.segmentId()).toString(),
                    subscriptions);
        } catch (PulsarServerException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** No garbage collection without pins. */
    @Override
    CompletableFuture<Void> runGcTickAsync() {
        if (!isLeader()) {
            return super.runGcTickAsync();
        }
        return serial(() -> refresh().thenCompose(l -> prepare()).thenCompose(r -> {
            boolean full = ++collections % EVERY == 0;
            touch(r.remotes(), full);
            if (full) {
                forgetGoneStreams();
            }
            return super.runGcTickAsync().thenCompose(x -> refresh()).thenApply(l -> null);
        }));
    }

    /** One garbage collection now. */
    public CompletableFuture<Void> collectGarbage() {
        return runGcTickAsync();
    }

    // ------------------------------------------------------------------ pins are nobody's subscriptions

    private <T> CompletableFuture<T> refuse(String what, String subscription) {
        return CompletableFuture.failedFuture(new RestException(Response.Status.PRECONDITION_FAILED, what + " refused: "
                + subscription + " pins segments that are not replicated yet; disable replication to remove it"));
    }

    @Override
    public CompletableFuture<Void> createSubscription(String subscription, SubscriptionType type) {
        return setup.isPin(subscription) ? refuse("create-subscription", subscription)
                : super.createSubscription(subscription, type);
    }

    @Override
    public CompletableFuture<Void> deleteSubscription(String subscription) {
        return setup.isPin(subscription) ? refuse("delete-subscription", subscription)
                : super.deleteSubscription(subscription);
    }

    @Override
    public CompletableFuture<Void> seekSubscription(String subscription, long timestampMs) {
        return setup.isPin(subscription) ? refuse("seek", subscription)
                : super.seekSubscription(subscription, timestampMs);
    }

    @Override
    public CompletableFuture<Void> clearBacklog(String subscription) {
        return setup.isPin(subscription) ? refuse("clear-backlog", subscription) : super.clearBacklog(subscription);
    }

    @Override
    public CompletableFuture<ConsumerAssignment> registerConsumer(String subscription, String consumerName,
                                                                  long consumerId, ScalableConsumerType consumerType,
                                                                  TransportCnx cnx) {
        return setup.isPin(subscription) ? refuse("subscribe", subscription)
                : super.registerConsumer(subscription, consumerName, consumerId, consumerType, cnx);
    }

    @Override
    public CompletableFuture<ScalableTopicStats> getStats() {
        return super.getStats().thenApply(s -> {
            if (s.getSubscriptions() != null) {
                s.getSubscriptions().keySet().removeIf(setup::isPin);
            }
            return s;
        });
    }
}
