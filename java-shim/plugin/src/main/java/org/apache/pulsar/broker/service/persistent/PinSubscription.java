// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import georep.plugin.source.ReplicationSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.Position;
import org.apache.pulsar.broker.service.BrokerServiceException.NotAllowedException;
import org.apache.pulsar.broker.service.Consumer;
import org.apache.pulsar.broker.service.Subscription;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLookupData;

/**
 * The garbage-collection pin of one segment and remote, as the broker's endpoints see it: a subscription over the
 * replication cursor that answers for its backlog and refuses everything that would move or remove the cursor. It is in
 * no list of subscriptions, and closing the topic closes the cursor with the ledger, not with this.
 */
final class PinSubscription extends PersistentSubscription {
    private final ReplicatedSegmentTopic segment;
    private final String remote;

    PinSubscription(ReplicatedSegmentTopic topic, String name, String remote, ManagedCursor cursor) {
        super(topic, name, cursor, null); // null: the cursor's properties stay as they are
        this.segment = topic;
        this.remote = remote;
    }

    boolean over(ManagedCursor c) {
        return getCursor() == c;
    }

    /**
     * Entries that are not replicated. An empty segment whose ancestors still have a backlog is not drained either:
     * pruning it would cut the children's line to them, so it counts as one.
     */
    @Override
    public long getNumberOfEntriesInBacklog(boolean precise) {
        long n = super.getNumberOfEntriesInBacklog(true);
        return n > 0 || !(segment.getReplicators().get(remote) instanceof ReplicationSource s) || s.gateOpen() ? n : 1;
    }

    private <T> CompletableFuture<T> refuse(String what) {
        return CompletableFuture.failedFuture(new NotAllowedException(what + " refused: " + getName()
                + " is the replication cursor for cluster " + remote + "; disable replication to remove it"));
    }

    @Override
    public CompletableFuture<Void> addConsumer(Consumer consumer) {
        return refuse("subscribe");
    }

    @Override
    public CompletableFuture<Void> delete() {
        return refuse("delete");
    }

    @Override
    public CompletableFuture<Void> deleteForcefully() {
        return refuse("delete");
    }

    @Override
    public CompletableFuture<Void> clearBacklog() {
        return refuse("clear-backlog");
    }

    @Override
    public CompletableFuture<Void> skipMessages(int numMessagesToSkip) {
        return refuse("skip");
    }

    @Override
    public CompletableFuture<Void> resetCursor(long timestamp) {
        return refuse("seek");
    }

    @Override
    public CompletableFuture<Void> resetCursor(Position finalPosition) {
        return refuse("seek");
    }

    @Override
    public boolean expireMessages(int messageTTLInSeconds) {
        return false; // the replicator expires by the topic's TTL
    }

    @Override
    public CompletableFuture<Boolean> expireMessagesAsync(int messageTTLInSeconds) {
        return CompletableFuture.completedFuture(false);
    }

    @Override
    public boolean expireMessages(Position position) {
        return false;
    }

    @Override
    public CompletableFuture<Void> updateSubscriptionProperties(Map<String, String> subscriptionProperties) {
        return refuse("update-properties");
    }

    @Override
    public CompletableFuture<Void> close(boolean disconnectConsumers, Optional<BrokerLookupData> assigned) {
        return CompletableFuture.completedFuture(null);
    }

    /** For {@code createSubscription}, which answers with the general type. */
    static CompletableFuture<Subscription> asCreated(PinSubscription pin) {
        return CompletableFuture.completedFuture(pin);
    }
}
