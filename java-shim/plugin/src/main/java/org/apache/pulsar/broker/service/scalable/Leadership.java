// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import georep.plugin.SelfCheck;
import georep.plugin.control.TopicRecords;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.broker.resources.ScalableTopicResources.MetadataPathListener;
import org.apache.pulsar.metadata.api.Notification;
import org.apache.pulsar.metadata.api.NotificationType;
import org.apache.pulsar.metadata.api.coordination.LeaderElection;
import org.apache.pulsar.metadata.api.coordination.LeaderElectionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a controller to what the election says. The stock one takes over how its first election ended, and hears of a
 * later one without acting on it: a follower that is elected when the leader's broker dies would never lead, and a
 * leader whose lock went to another broker would lead on. Thread-safe.
 */
final class Leadership implements MetadataPathListener {
    private static final Logger LOG = LoggerFactory.getLogger(Leadership.class);
    private static final int AGAIN_SECONDS = 5;
    /** A topic is deleted from its leaves up: its lock first, and a moment later its record. */
    private static final int SETTLE_MILLIS = 500;

    private final ReplicatedController controller;
    private final TopicRecords records;
    private final ScalableTopicResources resources;
    private final ScheduledExecutorService executor;
    private final LeaderElection<?> election;
    private final CompletableFuture<Void> first = new CompletableFuture<>(); // the election that the base class sees
    private CompletableFuture<Void> tail = first; // guarded by this
    private final AtomicInteger losses = new AtomicInteger(); // of the lock, whoever had it
    private volatile int obeyed; // of them
    private volatile boolean closed;

    Leadership(ReplicatedController controller, TopicRecords records, ScheduledExecutorService executor) {
        this.controller = controller;
        this.records = records;
        this.resources = records.resources();
        this.executor = executor;
        this.election = (LeaderElection<?>) SelfCheck.LEADER_ELECTION.get(controller);
    }

    /** The controller takes part in an election; from its end on it is looked after. */
    void begins(CompletableFuture<Void> initialized) {
        if (!closed && !first.isDone()) {
            resources.registerPathListener(this);
        }
        initialized.whenComplete((x, e) -> {
            if (e != null && !first.isDone()) { // nobody keeps a controller that did not get so far
                close();
            }
            if (closed) {
                controller.leaveElection(); // joined again on the way
            }
            first.complete(null);
        });
    }

    /** True from when the lock was lost until its next owner is known and obeyed: whoever led may not any more. */
    boolean interrupted() {
        return losses.get() != obeyed;
    }

    /** The lock may be gone, or was for a moment: others may have led. */
    void interrupt() {
        losses.incrementAndGet();
    }

    @Override
    public String getMetadataPath() {
        return resources.controllerLockPath(controller.getTopicName());
    }

    @Override
    public void onNotification(Notification n) {
        if (n.getType() == NotificationType.Deleted && first.isDone()) { // else it was that of an earlier controller
            interrupt();
        }
        executor.schedule(this::follow, SETTLE_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Acts on the last election, once it is over; nothing to do where that is done already. */
    synchronized CompletableFuture<Void> follow() {
        tail = tail.thenComposeAsync(x -> controller.getLeaderBrokerId().handle((y, e) -> null), executor)
                .thenComposeAsync(x -> act(), executor).exceptionally(e -> {
                    LOG.warn("[{}] the outcome of an election cannot be acted on yet: {}", controller.getTopicName(),
                            e.toString());
                    interrupt();
                    executor.schedule(this::follow, AGAIN_SECONDS, TimeUnit.SECONDS);
                    return null;
                });
        return tail;
    }

    private CompletableFuture<Void> act() {
        int before = losses.get();
        LeaderElectionState state = election.getState();
        boolean leads = state == LeaderElectionState.Leading;
        if (closed || state == LeaderElectionState.NoLeader // still under way: its end is notified
                || leads == controller.believesToLead() && !(leads && interrupted())) {
            return CompletableFuture.completedFuture(null);
        }
        return (leads ? holdsLock() : CompletableFuture.completedFuture(true)).thenCombine(records.exists(
                controller.getTopicName()),
                (held, there) -> {
                    if (closed || !held) { // the election has not noticed yet, and will tell
                        return CompletableFuture.<Void>completedFuture(null);
                    }
                    if (!there) { // every election takes part again when the lock of a deleted topic goes
                        return controller.deleted();
                    }
                    LOG.info("[{}] the election says {}", controller.getTopicName(), state);
                    obeyed = before;
                    return controller.initialize();
                }).thenCompose(x -> x);
    }

    private CompletableFuture<Boolean> holdsLock() {
        return resources.getStore().get(getMetadataPath())
                .thenApply(r -> r.isPresent() && r.get().getStat().isCreatedBySelf());
    }

    /**
     * Leaves the election, too, as often as it takes: one that is closed while a step of it is under way goes on when
     * that step has ended, and would keep the lock of a topic that is deleted.
     */
    void close() {
        closed = true;
        resources.deregisterPathListener(this);
        try {
            executor.schedule(controller::leaveElection, SETTLE_MILLIS, TimeUnit.MILLISECONDS);
            executor.schedule(controller::leaveElection, AGAIN_SECONDS, TimeUnit.SECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("[{}] the broker ends, and its locks with it", controller.getTopicName());
        }
    }
}
